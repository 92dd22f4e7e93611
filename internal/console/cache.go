package console

import (
	"bytes"
	"math"
	"net/http"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/stat"
)

// prefixesShown bounds the prefixes on a page.
const prefixesShown = 20

// cacheView is the page of one cache.
type cacheView struct {
	Fresh    freshness
	Name     string
	Config   core.CacheConfig
	Row      *cacheRow
	Trends   []trend
	Verbs    []verbRow
	Sample   freshness
	Spread   *stat.Distribution
	TTL      []bucketRow
	Size     []bucketRow
	Idle     []bucketRow
	Prefix   shownKey // below which the groups are
	Below    bool     // Prefix is not empty
	Level    *stat.Level
	Groups   []groupRow
	Reads    []readRow
	Sampled  int // one read in so many is counted
	Findings []doctor.Finding
}

// verbRow is what this process counted of one verb.
type verbRow struct {
	Name                        string
	Calls, Hits, Misses, Errors int64
	Hit                         *float64
	P50, P99                    *float64
}

// bucketRow is one line of a distribution.
type bucketRow struct {
	Label   string
	Entries int64
	Bytes   int64
	Share   *float64
}

// groupRow are the entries below one prefix.
type groupRow struct {
	Prefix shownKey
	Open   bool // there may be more levels below
	stat.Group
	Share *float64 // of the bytes
}

// readRow is how often the keys of one prefix are read.
type readRow struct {
	Prefix       string
	Hits, Misses int64
	Hit          *float64
}

func (c *Console) cache(r *request) error {
	config, err := r.config(r.PathValue("cache"))
	if err != nil {
		return err
	}
	name := config.Name
	seen := c.figures.Report(r.Context())
	view := &cacheView{Fresh: freshnessOf(seen), Name: name, Config: config}
	history := c.figures.History()
	examined := c.figures.LastDoctor().Value
	if seen.Value != nil {
		for i := range seen.Value.Tables {
			if row := &seen.Value.Tables[i]; row.Name == name && !row.Sessions {
				found := rowOf(row, history, nil)
				view.Row = &found
			}
		}
	}
	if examined != nil {
		view.Findings = findingsOf(examined.Findings, name)
	}
	reads := trend{Name: "Reads a second", Points: curve(history, func(p *figures.Point) *float64 { return p.Caches[name].Reads })}
	writes := trend{Name: "Writes a second", Points: curve(history, func(p *figures.Point) *float64 { return p.Caches[name].Writes })}
	hit := trend{Name: "Hit ratio here", Points: curve(history, func(p *figures.Point) *float64 { return p.Caches[name].Process.Hit })}
	if n := len(history); n > 0 {
		last := history[n-1].Caches[name]
		reads.Now, writes.Now, hit.Now = rate(last.Reads), rate(last.Writes), percent(last.Process.Hit)
	}
	view.Trends = []trend{reads, writes, hit}
	view.Verbs = verbsOf(c.db.Stats(), name)
	if err := view.sample(r); err != nil {
		return err
	}
	view.countReads(r)
	return r.show(http.StatusOK, "cache.html", frame{Title: name, Section: "caches", Live: true, Waiting: view.Fresh.Waiting || view.Sample.Waiting, Page: view})
}

// verbsOf are the calls on a cache that this process has counted.
func verbsOf(stats core.Stats, cache string) (rows []verbRow) {
	for i := range stats.Caches {
		if stats.Caches[i].Name != cache {
			continue
		}
		for _, v := range stats.Caches[i].Verbs {
			row := verbRow{Name: v.Verb, Calls: int64(v.Calls), Hits: int64(v.Hits), Misses: int64(v.Misses), Errors: int64(v.Errors)}
			row.Hit = shareOf(row.Hits, row.Hits+row.Misses)
			row.P50, row.P99 = v.Latency.Quantile(0.5), v.Latency.Quantile(0.99)
			rows = append(rows, row)
		}
	}
	return rows
}

// sample adds the distributions, and the prefixes below the one that was asked for.
func (view *cacheView) sample(r *request) error {
	prefix, err := r.prefixOf()
	if err != nil {
		return err
	}
	if err := r.lookable(prefix); err != nil {
		return err
	}
	seen := r.console.figures.Sample(r.Context(), view.Name)
	view.Sample = freshnessOf(seen)
	view.Prefix, view.Below = r.shown(prefix), len(prefix) > 0
	if seen.Value == nil {
		return nil
	}
	view.Spread = seen.Value.Distribution()
	view.TTL = bucketRows(view.Spread.TTL, view.Spread.Entries, "never", secondsLabel)
	view.Size = bucketRows(view.Spread.Size, view.Spread.Entries, "more", func(n float64) string { return size(int64(n)) })
	view.Idle = bucketRows(view.Spread.Idle, view.Spread.Entries, "longer", secondsLabel)
	if r.seesKeys() {
		view.Level = seen.Value.Level(prefix, prefixesShown)
	} else {
		view.Level = seen.Value.LevelBy(prefix, prefixesShown, r.console.mask.Visible)
	}
	for _, group := range view.Level.Groups {
		shown := r.shown(group.Prefix)
		view.Groups = append(view.Groups, groupRow{Prefix: shown, Open: shown.Named && !bytes.Equal(group.Prefix, prefix), Group: group, Share: shareOf(group.Bytes, view.Level.All.Bytes)})
	}
	return nil
}

// countReads adds the hits and misses by prefix, as this process has seen them.
func (view *cacheView) countReads(r *request) {
	top := r.console.prefixes.Top(view.Name)
	view.Sampled = top.Sample
	rows := map[string]int{} // those that the visitor sees alike are one
	for _, p := range top.Prefixes {
		prefix := r.shown([]byte(p.Prefix)).Text
		i, ok := rows[prefix]
		if !ok {
			i = len(view.Reads)
			rows[prefix] = i
			view.Reads = append(view.Reads, readRow{Prefix: prefix})
		}
		view.Reads[i].Hits += int64(p.Hits)
		view.Reads[i].Misses += int64(p.Misses)
	}
	view.Reads = view.Reads[:min(len(view.Reads), prefixesShown)]
	for i := range view.Reads {
		row := &view.Reads[i]
		row.Hit = shareOf(row.Hits, row.Hits+row.Misses)
	}
}

// secondsLabel writes a bound in seconds. The longest is that of TTLs, a thousand years.
func secondsLabel(n float64) string {
	if n > time.Duration(math.MaxInt64).Seconds() {
		return "1,000 years"
	}
	return duration(time.Duration(n * float64(time.Second)))
}

// bucketRows are the lines of a distribution; last is the label of the one without a bound.
func bucketRows(buckets []stat.Bucket, all int64, last string, label func(float64) string) []bucketRow {
	rows := make([]bucketRow, len(buckets))
	for i, b := range buckets {
		rows[i] = bucketRow{Label: last, Entries: b.Entries, Bytes: b.Bytes, Share: shareOf(b.Entries, all)}
		if b.UpTo != nil {
			rows[i].Label = "up to " + label(*b.UpTo)
		}
	}
	for len(rows) > 1 && rows[len(rows)-1].Entries == 0 && rows[len(rows)-2].Entries == 0 { // one says that there is nothing beyond
		rows = rows[:len(rows)-1]
	}
	return rows
}

// removalsOn returns the last removals that may concern a key.
func (r *request) removalsOn(cache string, key []byte) []removalRow {
	return r.removalRows(observe.Filter{Cache: cache, Key: key, Limit: 20})
}
