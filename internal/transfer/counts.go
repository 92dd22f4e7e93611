package transfer

import (
	"maps"
	"slices"
)

// Counts are what a transfer has done.
type Counts struct {
	Keys    int64            `json:"keys"`            // that were seen
	Stored  int64            `json:"stored"`          // in a dry run: that would be
	Kept    int64            `json:"kept"`            // that were in the cache already, and were left as they are
	Gone    int64            `json:"gone"`            // that were deleted or had expired before they were read
	Skipped int64            `json:"skipped"`         // of a type that was not wanted
	Refused map[string]int64 `json:"refused"`         // by reason
	Types   map[string]int64 `json:"types"`           // of those that were seen
	Bytes   int64            `json:"bytes"`           // of keys and values that were stored
	Named   []Refusal        `json:"named,omitempty"` // the first of the refusals, at most maxNamed
}

func (c *Counts) add(o Counts) {
	c.Keys += o.Keys
	c.Stored += o.Stored
	c.Kept += o.Kept
	c.Gone += o.Gone
	c.Skipped += o.Skipped
	c.Bytes += o.Bytes
	c.Refused = sums(c.Refused, o.Refused)
	c.Types = sums(c.Types, o.Types)
	c.Named = named(c.Named, o.Named)
}

// maxNamed is how many refused keys a result names. A file has them all.
const maxNamed = 20

// named adds refusals to those that a result names.
func named(list, more []Refusal) []Refusal {
	return append(list, more[:min(len(more), maxNamed-len(list))]...)
}

func sums(to, from map[string]int64) map[string]int64 {
	if to == nil {
		to = map[string]int64{}
	}
	for name, n := range from {
		to[name] += n
	}
	return to
}

// RefusedKeys is how many keys were refused, for all reasons.
func (c *Counts) RefusedKeys() (n int64) {
	for _, count := range c.Refused {
		n += count
	}
	return n
}

// Reasons returns the reasons of refusals, in order.
func (c *Counts) Reasons() []string { return slices.Sorted(maps.Keys(c.Refused)) }

// refuse counts refusals.
func (c *Counts) refuse(list []Refusal) {
	c.Named = named(c.Named, list)
	for _, r := range list {
		c.Refused = sums(c.Refused, map[string]int64{r.Reason: 1})
		if r.Type != "" {
			c.Types = sums(c.Types, map[string]int64{r.Type: 1})
		}
	}
}
