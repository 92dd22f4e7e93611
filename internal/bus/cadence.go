package bus

import "time"

const (
	// rush is how many polls with messages a second make a receiver poll each rushPause
	// instead of being notified; a quarter of them makes it be notified again.
	rush      = 400
	rushPause = 2 * time.Millisecond
)

// cadence decides between notifications, which are soon, and polls, which cost the same
// however many messages come: each notification takes a lock of the whole cluster at its
// sender's commit, and wakes a backend, this process, and a poll. Network drivers do
// likewise (Salim, Olsson, Kuznetsov: Beyond Softnet, 2001).
type cadence struct {
	rush    float64   // as the constant
	rushing bool      // polls each rushPause, without being notified
	rung    time.Time // when senders were last told to notify
	since   time.Time // since when polls are counted
	found   int       // polls since then that found messages
}

// look counts a poll.
func (c *cadence) look(rows int) {
	if rows > 0 {
		c.found++
	}
}

// decide judges the polls since it last did, if that is as long ago as rows are renewed.
func (c *cadence) decide(now time.Time) {
	if now.Sub(c.since) < renewal {
		return
	}
	rate := float64(c.found) / now.Sub(c.since).Seconds()
	if c.rushing {
		c.rushing = rate >= c.rush/4
	} else {
		c.rushing = rate > c.rush
	}
	c.since, c.found = now, 0
}

// pause is how long a receiver waits for its next poll at most. notified says that senders
// were told to notify it, and listening that notifications arrive.
func (c *cadence) pause(now time.Time, notified, listening bool) time.Duration {
	switch {
	case c.rushing:
		return rushPause
	case !notified || !listening || now.Sub(c.rung) < known:
		return unnotified // a statement under way may not have seen that it has to notify
	default:
		return backstop
	}
}
