package redisapi

import (
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

// wrongPassword answers a wrong password, perhaps after a delay during which the
// connection waits.
func (c *Conn) wrongPassword(reply []byte) []byte {
	e := c.engine
	e.stats.authFailures.Add(1)
	e.log("wrong password", "client", c.info.RemoteAddr)
	wait := e.failures.Delay(time.Now())
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
