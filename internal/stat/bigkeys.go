package stat

import (
	"fmt"
	"math"
	"strings"
)

// BigKeys says what fills one cache, from a sample of its entries; the JSON of "howdah
// bigkeys". Numbers of entries and bytes are estimates unless Exact; bytes are as budgets
// count them.
type BigKeys struct {
	Cache   string   `json:"cache"`
	Exact   bool     `json:"exact"`             // the whole cache was read
	Missing []string `json:"missing,omitempty"` // addresses of servers that did not answer: what they hold is not counted
	Looked  int      `json:"looked"`            // entries that were looked at
	Entries int64    `json:"entries"`
	Bytes   int64    `json:"bytes"`
	Expired int64    `json:"expired"` // rows that wait for removal

	Forever      int64 `json:"without_ttl"` // entries that no TTL removes
	ForeverBytes int64 `json:"without_ttl_bytes"`

	// What the table takes, and by how much that exceeds the entries: null without any.
	TableBytes int64    `json:"table_bytes"`
	IndexBytes int64    `json:"index_bytes"`
	ToastBytes int64    `json:"toast_bytes"`
	Dead       int64    `json:"dead"`
	Bloat      *float64 `json:"bloat"` // bytes on disk for each byte of an entry

	Level *Level   `json:"prefixes,omitempty"` // if they are asked for by prefix
	Keys  []BigKey `json:"keys,omitempty"`     // otherwise
}

// BigKey is one entry that was looked at.
type BigKey struct {
	Key   Text     `json:"key"` // at most its first 512 bytes
	Kind  string   `json:"kind"`
	Bytes int64    `json:"bytes"`
	TTL   *float64 `json:"ttl"`  // seconds left; null: it does not expire
	Idle  float64  `json:"idle"` // seconds since the last use, noted to the minute
}

// newBigKeys sums up the sample of a cache and what its table takes.
func newBigKeys(row *Row, s *Sampling) *BigKeys {
	b := &BigKeys{
		Cache: row.Name, Exact: s.Exact, Missing: s.missing(), Looked: len(s.Entries),
		TableBytes: row.TableBytes, IndexBytes: row.IndexBytes, ToastBytes: row.ToastBytes, Dead: row.Dead,
	}
	for i := range s.Entries {
		e := &s.Entries[i]
		b.Bytes += e.Charge()
		if e.ExpiresAt.IsZero() {
			b.Forever++
			b.ForeverBytes += e.Charge()
		}
	}
	b.Expired = s.estimate(int64(s.Rows - len(s.Entries)))
	b.Entries = s.estimate(int64(len(s.Entries)))
	for _, n := range []*int64{&b.Bytes, &b.Forever, &b.ForeverBytes} {
		*n = s.estimate(*n)
	}
	if b.Bytes > 0 {
		bloat := math.Round(float64(row.Size())/float64(b.Bytes)*100) / 100
		b.Bloat = &bloat
	}
	return b
}

// BigPrefixes returns what fills a cache by the prefixes of its keys below one prefix, as
// Sampling.Level does.
func BigPrefixes(row *Row, s *Sampling, prefix []byte, limit int) *BigKeys {
	b := newBigKeys(row, s)
	b.Level = s.Level(prefix, limit)
	return b
}

// BigEntries returns what fills a cache with the first entries in an order, as Sampling.Top
// does.
func BigEntries(row *Row, s *Sampling, by Order, limit int) *BigKeys {
	b := newBigKeys(row, s)
	b.Keys = []BigKey{}
	for _, e := range s.Top(by, limit) {
		key := BigKey{Key: e.Key, Kind: kindName(e.Kind), Bytes: e.Charge(), Idle: max(0, s.At.Sub(e.Used).Seconds())}
		if !e.ExpiresAt.IsZero() {
			left := e.ExpiresAt.Sub(s.At).Seconds()
			key.TTL = &left
		}
		b.Keys = append(b.Keys, key)
	}
	return b
}

// Text lays it out in lines of at most width characters; 0 is without limit.
func (b *BigKeys) Text(width int) string {
	about := "about "
	if b.Exact {
		about = ""
	}
	lines := []string{
		fmt.Sprintf("%s: %s%s entries, %s; looked at %s", printable(b.Cache), about, short(float64(b.Entries)), sizeText(&b.Bytes), short(float64(b.Looked))),
		fmt.Sprintf("  without a TTL  %s%s entries, %s", about, short(float64(b.Forever)), sizeText(&b.ForeverBytes)),
		fmt.Sprintf("  on disk        table %s, index %s, out of line %s; %s dead rows, %s%s expired",
			sizeText(&b.TableBytes), sizeText(&b.IndexBytes), sizeText(&b.ToastBytes), short(float64(b.Dead)), about, short(float64(b.Expired))),
	}
	if b.Missing != nil {
		lines = append(lines, "  missing        what these servers hold, which do not answer: "+strings.Join(b.Missing, ", "))
	}
	if b.Bloat != nil {
		lines = append(lines, fmt.Sprintf("                 %.2f bytes for each byte of an entry", *b.Bloat))
	}
	if b.Level != nil {
		lines = append(append(lines, ""), b.Level.table(b.Exact)...)
	} else if len(b.Keys) > 0 {
		lines = append(append(lines, ""), b.keys()...)
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(cut(line, width), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// table has a line for each group, the rest and the keys without a separator behind them.
func (l *Level) table(exact bool) []string {
	cells := [][]string{{"ENTRIES"}, {"BYTES"}, {"SHARE"}, {"NO TTL"}, {"PREFIX"}}
	about := "~"
	if exact {
		about = ""
	}
	add := func(g Group, name string) {
		if g.Looked == 0 {
			return
		}
		for i, cell := range []string{
			about + short(float64(g.Entries)), about + sizeText(&g.Bytes), percent(share(g.Bytes, l.All.Bytes)), about + short(float64(g.Forever)), name,
		} {
			cells[i] = append(cells[i], cell)
		}
	}
	for _, g := range l.Groups {
		add(g, printable(string(g.Prefix)))
	}
	add(l.Others, "(other prefixes)")
	add(l.Keys, "(keys without a further : or /)")
	return columnsOf(cells)
}

func (b *BigKeys) keys() []string {
	cells := [][]string{{"BYTES"}, {"TTL"}, {"IDLE"}, {"KIND"}, {"KEY"}}
	for _, k := range b.Keys {
		ttl := "none"
		if k.TTL != nil {
			ttl = age(seconds(*k.TTL))
		}
		for i, cell := range []string{sizeText(&k.Bytes), ttl, age(seconds(k.Idle)), k.Kind, printable(string(k.Key))} {
			cells[i] = append(cells[i], cell)
		}
	}
	return columnsOf(cells)
}

// columnsOf puts columns beside each other, the last one flush left.
func columnsOf(columns [][]string) []string {
	lines := pad(columns[0], true)
	for c, cells := range columns[1:] {
		for i, cell := range pad(cells, c < len(columns)-2) {
			lines[i] += "  " + cell
		}
	}
	return lines
}
