package howdah

import (
	"context"
	"strconv"
	"time"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Increment adds delta to the decimal integer of a key and returns the sum. An
// absent key counts as 0 and is made with ttl; an existing one keeps its TTL.
// Errors: ErrNotInteger, ErrOverflow.
func (c *Cache) Increment(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	call := &verb.Call{Verb: statement.Increment, Key: []byte(key), Delta: delta}
	if err := c.store(ctx, call, ttl); err != nil {
		return 0, err
	}
	return call.Int, nil
}

// IncrementFloat adds delta to the decimal number of a key and returns the sum.
// An absent key counts as 0 and is made with ttl; an existing one keeps its TTL.
// The number is stored as Redis stores it, with up to 17 decimals. Error:
// ErrNotFloat, also for a delta that is not finite.
func (c *Cache) IncrementFloat(ctx context.Context, key string, delta float64, ttl time.Duration) (float64, error) {
	call := &verb.Call{Verb: statement.IncrementFloat, Key: []byte(key), DeltaFloat: strconv.FormatFloat(delta, 'g', -1, 64)}
	if err := c.store(ctx, call, ttl); err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(call.Result.Value), 64)
}
