package core

import (
	"fmt"

	"github.com/howdah/howdah/internal/observe"
)

// newSlowLog makes the log of slow calls, which can be turned on at any time.
func newSlowLog(o Options) (*observe.SlowLog, error) {
	mask, err := observe.NewMask(o.MaskKeys)
	if err != nil {
		return nil, fmt.Errorf("howdah: Options.MaskKeys: %w", err)
	}
	threshold := o.SlowCall
	if threshold == 0 {
		threshold = observe.SlowOff
	}
	return observe.NewSlowLog(threshold, mask, o.Logger), nil
}

// SlowLog remembers the calls of the DB that took long.
func (db *DB) SlowLog() *observe.SlowLog { return db.slow }

// Mask hides the secrets in keys: those of Options.MaskKeys are among its patterns.
func (db *DB) Mask() *observe.Mask { return db.slow.Mask() }

// Part returns the same cache, whose calls are parts of something that is timed as a
// whole.
func (c *Cache) Part() *Cache {
	d := c.derive()
	d.piece = true
	d.known.Store(c.known.Load())
	return d
}
