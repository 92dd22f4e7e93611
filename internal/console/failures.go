package console

import (
	"context"
	"time"
)

// Wrong tokens are answered at this rate, for all visitors together. A burst is allowed for
// typing errors. No visitor waits longer than maxFailureDelay.
const (
	failurePace     = 100 * time.Millisecond
	failureBurst    = 10
	maxFailureDelay = 2 * time.Second
)

// delayFailure delays the answer to a wrong token.
func (c *Console) delayFailure(ctx context.Context) {
	timer := time.NewTimer(c.failures.Delay(c.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
