package upkeep

import (
	"slices"
	"time"
)

// backlog is a cache of which more has expired than a round removes.
type backlog struct {
	cache       string
	since, last time.Time
}

// roundTime doubles every quarter of a minute once patience is over.
func (b backlog) roundTime(now time.Time) time.Duration {
	bound := gentleTime
	for late := now.Sub(b.since) - patience; late > 0 && bound < roundTime; late -= 15 * time.Second {
		bound *= 2
	}
	return min(bound, roundTime)
}

// backlogs take turns.
type backlogs []backlog

// note follows the rounds.
func (s *backlogs) note(r Round, now time.Time) {
	if !r.More || r.Expired == 0 || r.HeldBack {
		return
	}
	for i := range *s {
		if (*s)[i].cache == r.Cache {
			(*s)[i].last = now
			return
		}
	}
	*s = append(*s, backlog{cache: r.Cache, since: now, last: now})
}

// forget drops those that nothing was seen of for a while: a hand may also
// meet blocks where nothing has expired.
func (s *backlogs) forget(now time.Time) {
	*s = slices.DeleteFunc(*s, func(b backlog) bool { return now.Sub(b.last) > 2*time.Second })
}

// turn puts the first one last, and returns it.
func (s backlogs) turn() backlog {
	first := s[0]
	copy(s, s[1:])
	s[len(s)-1] = first
	return first
}
