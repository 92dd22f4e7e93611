package redisapi

import (
	"sync"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// Wrong passwords are answered at this rate, for all clients together. A burst is
// allowed for typing errors. No client waits longer than maxAuthDelay.
const (
	authPace     = 20 * time.Millisecond
	authBurst    = 10
	maxAuthDelay = 2 * time.Second
)

// authFailures limits the rate of wrong passwords.
type authFailures struct {
	mu   sync.Mutex
	next time.Time // when the next answer is due, without the burst
}

// delay returns how long the answer to one more wrong password has to wait.
func (f *authFailures) delay(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next.Before(now) {
		f.next = now
	}
	f.next = f.next.Add(authPace)
	wait := f.next.Sub(now) - authBurst*authPace
	if wait > maxAuthDelay {
		f.next = now.Add(maxAuthDelay + authBurst*authPace)
	}
	return min(max(wait, 0), maxAuthDelay)
}

// wrongPassword answers a wrong password, perhaps after a delay during which the
// connection waits.
func (c *Conn) wrongPassword(reply []byte) []byte {
	e := c.engine
	e.stats.authFailures.Add(1)
	e.log("wrong password", "client", c.info.RemoteAddr)
	wait := e.failures.delay(time.Now())
	if wait == 0 || c.pipe.Exclusively() { // the task is EXEC; its client is authenticated
		return resp.AppendError(reply, string(errWrongPassword))
	}
	c.block(c.ctx, func(t *task) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-t.ctx.Done():
		}
		t.out = resp.AppendError(t.out, string(errWrongPassword))
		e.stats.countError(t.out)
	})
	return reply
}
