package observe

import (
	"bytes"
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

// Bounds of Removals.
const (
	DefaultRemovals = 4096 // how many are kept
	MaxKey          = 256  // bytes of a key, of a prefix and of tags that are kept
)

// roundSpan is for how long rounds of upkeep of one cache are added up in one row.
const roundSpan = time.Minute

// Reason is why entries ended.
type Reason string

// The reasons.
const (
	Deleted     Reason = "deleted"     // one key, by its name
	Renamed     Reason = "renamed"     // one key, whose entry has another name or is in another cache
	Expired     Reason = "expired"     // their time was up, and they were removed
	Evicted     Reason = "evicted"     // by the budget of the cache
	Flushed     Reason = "flushed"     // all of a cache
	Dropped     Reason = "dropped"     // the cache itself
	Swapped     Reason = "swapped"     // the entries of a cache, for those of another
	Invalidated Reason = "invalidated" // by their tags
	ByPrefix    Reason = "prefix"      // those whose keys begin with a prefix
	Changed     Reason = "changed"     // a change by a person in the console: see Audit
)

// Unknown is the Count of a removal that does not know how many entries ended.
const Unknown = -1

// Removal is what ended an entry, or several. The fields of a client that are not known
// are "".
type Removal struct {
	Time   time.Time
	Until  time.Time // the last one, where several rounds of upkeep are one row
	Cache  string
	Reason Reason

	// Key is what was removed, at most MaxKey bytes of it, and KeyBytes its length. Where
	// Whole is set there is no key, but the prefix of ByPrefix: Count entries ended, or
	// Unknown many.
	Key      []byte
	KeyBytes int
	Whole    bool
	Count    int64

	// Detail says more: the tags, the other cache, or what a person changed.
	Detail string

	// Unsure says that the connection to PostgreSQL was lost before the answer came:
	// the entry may still be there.
	Unsure bool

	Client
	Command string // or the verb
	Role    string // of a person in the console

	// Persons says that Detail names users or their sessions, which only those may see who
	// may see sessions.
	Persons bool
}

// Removals remembers which entries ended lately, and who ended them: those that this
// process has removed. What others remove by SQL, or through other servers, is not among
// them. It is safe for concurrent use. A nil *Removals remembers nothing.
type Removals struct {
	since time.Time
	seed  maphash.Seed

	mu     sync.Mutex
	total  uint64
	ring   []slot
	rounds map[round]uint64 // the number of the last row of upkeep
}

// round is what rows of upkeep are added up by.
type round struct {
	cache  string
	reason Reason
}

// slot is a Removal as it is kept. Its memory for keys is used again.
type slot struct {
	Removal
	client *Client
	key    []byte
	sum    uint64 // of the whole key, if it is longer than what is kept
}

// NewRemovals keeps the last n removals. 0 or less returns nil, which keeps none.
func NewRemovals(n int) *Removals {
	if n <= 0 {
		return nil
	}
	return &Removals{since: time.Now(), seed: maphash.MakeSeed(), ring: make([]slot, n), rounds: make(map[round]uint64)}
}

// Since returns when this began to remember; the zero time if it is off.
func (r *Removals) Since() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.since
}

// Kept returns how many removals are kept at most.
func (r *Removals) Kept() int {
	if r == nil {
		return 0
	}
	return len(r.ring)
}

// Key remembers that a key was removed. It keeps nothing of key. Unsure is that of
// Removal.
func (r *Removals) Key(by Caller, cache string, reason Reason, key []byte, unsure bool) {
	if r == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.next()
	s.Removal = Removal{Time: now, Cache: cache, Reason: reason, Count: 1, Unsure: unsure, Command: by.Command}
	s.client = by.Client
	s.setKey(r.seed, key)
}

// Whole remembers that entries of a cache ended together: count, or Unknown many. detail is
// that of Removal, and prefix what the keys begin with, where that is the Reason.
func (r *Removals) Whole(by Caller, cache string, reason Reason, count int64, detail string, prefix []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.next()
	s.Removal = Removal{
		Time: time.Now(), Cache: cache, Reason: reason, Whole: true, Count: count,
		Detail: cut(detail), Command: by.Command,
	}
	s.client = by.Client
	s.setKey(r.seed, prefix)
}

// upkeeper is the client of upkeep.
var upkeeper = Client{Door: DoorUpkeep}

// Round remembers what a round of upkeep has removed of a cache, whose keys are not known.
// Rounds within a minute are one row.
func (r *Removals) Round(cache string, expired, evicted int64) {
	if r == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range []struct {
		reason Reason
		count  int64
	}{{Expired, expired}, {Evicted, evicted}} {
		if n.count > 0 {
			r.addRound(round{cache, n.reason}, n.count, now)
		}
	}
}

func (r *Removals) addRound(key round, count int64, now time.Time) {
	last, ok := r.rounds[key]
	if ok && r.total-last < uint64(len(r.ring)) {
		if s := r.at(last); now.Sub(s.Time) < roundSpan {
			s.Count += count
			s.Until = now
			return
		}
	}
	if !ok && len(r.rounds) >= len(r.ring) { // caches that were dropped
		clear(r.rounds)
	}
	r.rounds[key] = r.total
	s := r.next()
	s.Removal = Removal{Time: now, Until: now, Cache: key.cache, Reason: key.reason, Whole: true, Count: count, Command: "maintain"}
	s.client = &upkeeper
	s.setKey(r.seed, nil)
}

// Audit remembers a change that a person has made in the console: who (Client), in which
// role, and what, such as "default_ttl 1h, was 10m". key is nil if it concerns no single
// one.
func (r *Removals) Audit(who *Client, role, cache string, key []byte, what string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.next()
	s.Removal = Removal{Time: time.Now(), Cache: cache, Reason: Changed, Whole: key == nil, Count: Unknown, Detail: cut(what), Role: role}
	s.client = who
	s.setKey(r.seed, key)
}

// AuditPersons is Audit for a change of sessions. Only those who may see sessions may see it.
func (r *Removals) AuditPersons(who *Client, role, what string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.next()
	s.Removal = Removal{Time: time.Now(), Reason: Changed, Whole: true, Count: Unknown, Detail: cut(what), Role: role, Persons: true}
	s.client = who
	s.setKey(r.seed, nil)
}

// cut is what is kept of a text.
func cut(text string) string {
	if len(text) > MaxKey {
		return strings.ToValidUTF8(text[:MaxKey], "") + "..."
	}
	return text
}

// next takes the place of the oldest removal. The lock is held.
func (r *Removals) next() *slot {
	s := r.at(r.total)
	r.total++
	return s
}

// at is the place of a removal by its number.
func (r *Removals) at(number uint64) *slot { return &r.ring[number%uint64(len(r.ring))] }

func (s *slot) setKey(seed maphash.Seed, key []byte) {
	s.KeyBytes, s.sum = len(key), 0
	if len(key) > MaxKey {
		s.sum = maphash.Bytes(seed, key)
	}
	s.key = append(s.key[:0], key[:min(len(key), MaxKey)]...)
}

// Filter chooses among removals. Its zero value chooses all.
type Filter struct {
	Cache string // "": all caches
	// Key chooses what has removed this key or may have: what concerned all of the cache,
	// or keys by a prefix that it has, is among it. nil: all keys.
	Key []byte
	// NoPersons leaves out what names users or their sessions.
	NoPersons bool
	// Limit is how many at most, the last ones. 0: all.
	Limit int
}

// Recent returns the removals that a filter chooses, the last one first.
func (r *Removals) Recent(f Filter) []Removal {
	if r == nil {
		return nil
	}
	var sum uint64
	if len(f.Key) > MaxKey {
		sum = maphash.Bytes(r.seed, f.Key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Removal
	for n := uint64(1); n <= min(r.total, uint64(len(r.ring))); n++ {
		s := r.at(r.total - n)
		if !s.matches(&f, sum) {
			continue
		}
		if found = append(found, s.removal()); len(found) == f.Limit {
			break
		}
	}
	return found
}

// removal is the removal with memory of its own.
func (s *slot) removal() Removal {
	removal := s.Removal
	removal.Client = *s.client.orDirect()
	if !s.Whole || s.Reason == ByPrefix {
		removal.Key = append([]byte{}, s.key...)
	}
	return removal
}

// matches reports whether a filter chooses it; sum is of the filter's key, if that is long.
func (s *slot) matches(f *Filter, sum uint64) bool {
	switch {
	case f.Cache != "" && f.Cache != s.Cache, f.NoPersons && s.Persons:
		return false
	case f.Key == nil:
		return true
	case s.Whole && s.Reason == ByPrefix:
		return bytes.HasPrefix(f.Key, s.key)
	case s.Whole:
		return true
	}
	return s.KeyBytes == len(f.Key) && s.sum == sum && bytes.HasPrefix(f.Key, s.key)
}
