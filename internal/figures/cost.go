package figures

import (
	"time"

	"github.com/howdah/howdah/internal/stat"
)

// Cost is what Howdah takes of the database beside the application: since
// pg_stat_statements was reset, in the last hour, and minute by minute as far as somebody
// looked.
type Cost struct {
	*stat.Cost
	Hour    *stat.Shares  `json:"last_hour"` // of at most an hour; null: one measurement only, or none
	Minutes []stat.Shares `json:"minutes"`   // between one measurement and the next, the oldest first
}

// costs are the measurements of the last hour, oldest first.
type costs struct{ measured []*stat.Cost }

// add keeps a measurement, and forgets those that are older than an hour and those that
// cannot be compared with it.
func (c *costs) add(now *stat.Cost) *Cost {
	var kept []*stat.Cost
	for _, old := range c.measured {
		if now.At.Sub(old.At) <= time.Hour && now.Since(old) != nil {
			kept = append(kept, old)
		}
	}
	c.measured = append(kept, now)
	found := &Cost{Cost: now, Minutes: []stat.Shares{}}
	for i := 1; i < len(c.measured); i++ {
		if minute := c.measured[i].Since(c.measured[i-1]); minute != nil {
			found.Minutes = append(found.Minutes, *minute)
		}
	}
	if len(kept) > 0 {
		found.Hour = now.Since(kept[0])
	}
	return found
}
