package soak

import (
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
)

// windows are the parts of a run that are compared: thirds, or before, during
// and after the pin. The first third is for getting used to the load.
func (c *Config) windows() []Window {
	name := func(from, to time.Duration) string {
		return fmt.Sprintf("minutes %s to %s", minutes(from), minutes(to))
	}
	span := func(from, to time.Duration) Window {
		return Window{Name: name(from, to), From: from.Seconds(), To: to.Seconds()}
	}
	d := c.Duration
	if c.Pin == 0 {
		return []Window{span(0, d/3), span(d/3, 2*d/3), span(2*d/3, d)}
	}
	end := c.PinAt + c.Pin
	after := span(end, end+(d-end)/2)
	last := span(end+(d-end)/2, d)
	before, during := span(0, c.PinAt), span(c.PinAt, end)
	before.Name, during.Name = "before", "snapshot held"
	after.Name, last.Name = "after: "+after.Name, "after: "+last.Name
	return []Window{before, during, after, last}
}

func minutes(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", d.Minutes()), "0"), ".")
}

// settings tell a reader what was done.
func (c *Config) settings() []result.Setting {
	popularity := "uniform"
	if c.Zipf > 1 {
		popularity = fmt.Sprintf("Zipf %g, flattened at the top", c.Zipf)
	}
	return []result.Setting{
		{Name: "load", Value: fmt.Sprintf("%g reads/s (%g %% of those of keys with a TTL extend it) and %g sets/s for each contender, open loop, at most %d waiting", c.Reads, 100*c.Sliding, c.Sets, c.Callers)},
		{Name: "keys", Value: fmt.Sprintf("%d; sets uniform, reads %s", c.Keys, popularity)},
		{Name: "values", Value: fmt.Sprintf("%s bytes, small ones more often, %.0f on average; noise", c.Values, c.Values.mean())},
		{Name: "TTLs, % of keys", Value: c.TTLs.String()},
		{Name: "budget", Value: fmt.Sprintf("%.1f MB; without it %.1f MB would live (%g times)", float64(c.budget())/1e6, c.offered()/1e6, c.Overload)},
		{Name: "class", Value: c.Class},
		{Name: "servers", Value: "a PostgreSQL for each contender, with PostgreSQL's stock settings, over TCP on loopback"},
		{Name: "Howdah", Value: "the library, max_bytes, allkeys-lru, DB.Run in the same process; sliding reads are GETEX: each writes"},
		{Name: "hand-tuned table", Value: fmt.Sprintf("one statement a call by a pgx pool of %d; fillfactor 70, no index on expires_at, autovacuum threshold 2000, scale factor 0.01, cost delay 2 ms; every %v one job extends what was read in one UPDATE per TTL, and another deletes what has expired in chunks of %d, then counts, and deletes what would expire soonest until the rest fits into the budget", controlPool, controlEvery, controlChunk)},
	}
}
