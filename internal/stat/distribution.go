package stat

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Distribution is how the entries of one cache are spread, from a sample. Numbers of
// entries and bytes are estimates unless Exact; bytes are as budgets count them.
type Distribution struct {
	Cache   string    `json:"cache"`
	At      time.Time `json:"at"`                // by the database's clock
	Exact   bool      `json:"exact"`             // the whole cache was read
	Missing []string  `json:"missing,omitempty"` // addresses of servers that did not answer: what they hold is not counted
	Looked  int       `json:"looked"`            // entries that were looked at
	Entries int64     `json:"entries"`
	Bytes   int64     `json:"bytes"`
	Expired int64     `json:"expired"` // rows that wait for removal

	TTL  []Bucket `json:"ttl"`  // by the seconds that are left; the last, without a bound, never expire
	Size []Bucket `json:"size"` // by the bytes of the value; the last without a bound
	Idle []Bucket `json:"idle"` // by the seconds since the last use, noted to the minute; the last without a bound

	Kinds []Kind `json:"kinds"` // the most entries first

	// Of the entries that were looked at; null if there were none.
	OldestWrite *time.Time `json:"oldest_write"`
	NewestWrite *time.Time `json:"newest_write"`
	NextExpiry  *time.Time `json:"next_expiry"` // null also if none expires
	LastExpiry  *time.Time `json:"last_expiry"`
}

// Bucket is the entries up to a bound, and beyond that of the bucket before.
type Bucket struct {
	UpTo    *float64 `json:"up_to"` // inclusive; null: there is no bound
	Entries int64    `json:"entries"`
	Bytes   int64    `json:"bytes"`
}

// Kind is the entries of one type.
type Kind struct {
	Kind    string `json:"kind"` // as Redis names types: string, hash, list, set, zset
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

// kinds are the types by the column kind, as howdah_internal._kind_name has them.
var kinds = []string{"string", "hash", "list", "set", "zset"}

// The bounds of the buckets. TTLs and idle times are in seconds.
var (
	ttlBounds  = []float64{60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, forever}
	idleBounds = []float64{60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400}
	sizeBounds = []float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}
)

// forever is the bound of TTLs, in seconds: a thousand years.
const forever = 1000 * 365.25 * 86400

// Distribution sums the sample up.
func (s *Sampling) Distribution() *Distribution {
	d := &Distribution{Cache: s.Cache, At: s.At, Exact: s.Exact, Missing: s.missing(), Looked: len(s.Entries)}
	ttl, size, idle := buckets(ttlBounds), buckets(sizeBounds), buckets(idleBounds)
	byKind := make(map[string]*Kind)
	for i := range s.Entries {
		e := &s.Entries[i]
		d.Entries++
		d.Bytes += e.Charge()
		left := 2 * forever
		if !e.ExpiresAt.IsZero() {
			left = e.ExpiresAt.Sub(s.At).Seconds()
			d.NextExpiry, d.LastExpiry = earlier(d.NextExpiry, e.ExpiresAt), later(d.LastExpiry, e.ExpiresAt)
		}
		ttl.add(left, e)
		size.add(float64(e.Bytes), e)
		idle.add(s.At.Sub(e.Used).Seconds(), e)
		d.OldestWrite, d.NewestWrite = earlier(d.OldestWrite, e.Written), later(d.NewestWrite, e.Written)
		name := kindName(e.Kind)
		if byKind[name] == nil {
			byKind[name] = &Kind{Kind: name}
		}
		byKind[name].Entries++
		byKind[name].Bytes += e.Charge()
	}
	d.Expired = s.estimate(int64(s.Rows) - d.Entries)
	d.Entries, d.Bytes = s.estimate(d.Entries), s.estimate(d.Bytes)
	d.TTL, d.Size, d.Idle = ttl.scale(s), size.scale(s), idle.scale(s)
	d.Kinds = []Kind{}
	for _, k := range byKind {
		d.Kinds = append(d.Kinds, Kind{k.Kind, s.estimate(k.Entries), s.estimate(k.Bytes)})
	}
	slices.SortFunc(d.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Entries, a.Entries), cmp.Compare(a.Kind, b.Kind))
	})
	return d
}

func kindName(kind int16) string {
	if kind < 0 || int(kind) >= len(kinds) {
		return "unknown"
	}
	return kinds[kind]
}

// spread counts entries by upper bounds.
type spread []Bucket

func buckets(bounds []float64) spread {
	all := make(spread, len(bounds)+1)
	for i := range bounds {
		all[i].UpTo = &bounds[i]
	}
	return all
}

func (all spread) add(value float64, e *Sampled) {
	i := sort.Search(len(all)-1, func(i int) bool { return value <= *all[i].UpTo })
	all[i].Entries++
	all[i].Bytes += e.Charge()
}

func (all spread) scale(s *Sampling) []Bucket {
	for i := range all {
		all[i].Entries, all[i].Bytes = s.estimate(all[i].Entries), s.estimate(all[i].Bytes)
	}
	return all
}

func earlier(a *time.Time, b time.Time) *time.Time {
	if a == nil || b.Before(*a) {
		return &b
	}
	return a
}

func later(a *time.Time, b time.Time) *time.Time {
	if a == nil || b.After(*a) {
		return &b
	}
	return a
}
