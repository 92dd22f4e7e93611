package transfer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// target is a cache that entries are put into.
type target struct {
	cache   *core.Cache
	replace bool // what is there already is replaced, else it is kept
}

var numbered = regexp.MustCompile(`^db([1-9]|1[0-5])$`)

// openTarget finds a cache. One of a numbered database is made if it is not there. Errors:
// ErrCacheNotFound, and ErrPermission for a role that may not make it.
func openTarget(ctx context.Context, db *core.DB, name string, replace bool) (*target, core.Standing, error) {
	t := &target{cache: db.Cache(name), replace: replace}
	standing, err := t.cache.Standing(ctx)
	if errors.Is(err, fault.ErrCacheNotFound) {
		match := numbered.FindStringSubmatch(name)
		if match == nil {
			return nil, standing, fmt.Errorf("%w: make it with SELECT howdah.create_cache('%s')", err, name)
		}
		number, _ := strconv.Atoi(match[1])
		if err = db.CreateDatabase(ctx, number); err != nil {
			return nil, standing, fmt.Errorf("there is no cache %s, and it cannot be made: %w; run SELECT howdah.create_database(%d) as the owner of the schema", name, err, number)
		}
		standing, err = t.cache.Standing(ctx)
	}
	return t, standing, err
}

// outcome is what became of an entry: stored, kept or the reason of a refusal.
type outcome string

const (
	stored outcome = "stored"
	kept   outcome = "kept" // the cache has the key already
)

// put stores entries, and returns what became of each.
func (t *target) put(ctx context.Context, entries []Entry) ([]outcome, error) {
	outcomes := make([]outcome, len(entries))
	open := make([]int, len(entries))
	for i := range open {
		open[i] = i
	}
	if !t.replace {
		_, err := t.attempt(ctx, entries, open, outcomes, verb.IfAbsent)
		return outcomes, err
	}
	var err error
	// A set with a condition stores any kind. Whoever removes or stores a key meanwhile makes
	// one of them fail.
	for round := 0; len(open) > 0 && round < 10; round++ {
		for _, condition := range []verb.Condition{verb.IfPresent, verb.IfAbsent} {
			if open, err = t.attempt(ctx, entries, open, outcomes, condition); err != nil || len(open) == 0 {
				return outcomes, err
			}
		}
	}
	for _, index := range open {
		outcomes[index] = reasonHash // class sync does not evict that key
	}
	return outcomes, nil
}

// attempt stores some of the entries under a condition. It returns those whose condition was
// not met, and marks them as kept.
func (t *target) attempt(ctx context.Context, entries []Entry, open []int, outcomes []outcome, condition verb.Condition) (unmet []int, err error) {
	calls := make([]*verb.Call, len(open))
	for i, index := range open {
		e := &entries[index]
		calls[i] = &verb.Call{Verb: statement.Set, Key: []byte(e.Key), Value: notNil(e.Value), Kind: int16(e.Kind), Condition: condition, Expiry: e.expiry()}
		if condition == verb.IfPresent && e.Kind == values.KindString {
			calls[i].Condition = verb.Always
		}
	}
	failed := t.cache.Do(ctx, calls...)
	for i, index := range open {
		if outcomes[index], err = outcomeOf(calls[i]); err != nil {
			return nil, err
		}
		if outcomes[index] == kept {
			unmet = append(unmet, index)
		}
	}
	if failed != nil && !isRefusal(failed) {
		return nil, failed
	}
	return unmet, nil
}

// outcomeOf is the outcome of a set. An error is not about its entry.
func outcomeOf(c *verb.Call) (outcome, error) {
	switch {
	case errors.Is(c.Err, fault.ErrKeyTooLong):
		return reasonKey, nil
	case errors.Is(c.Err, fault.ErrValueTooLarge):
		return reasonSize, nil
	case c.Err != nil && isRefusal(c.Err):
		return outcome(c.Err.Error()), nil
	case c.Err != nil:
		return "", c.Err
	}
	switch c.Status {
	case verb.OK:
		return stored, nil
	case verb.NotStored:
		return kept, nil
	case verb.CacheFull:
		return reasonFull, nil
	case verb.Collision:
		return reasonHash, nil
	}
	return outcome(c.Status.Err().Error()), nil
}

// isRefusal reports whether an error is about one entry, and not about the database.
func isRefusal(err error) bool {
	if errors.Is(err, fault.ErrKeyTooLong) || errors.Is(err, fault.ErrValueTooLarge) {
		return true
	}
	state := fault.State(err)
	return len(state) == 5 && (state[:2] == "22" || state[:2] == "23") // data, constraints
}

// isPassing reports whether the same may succeed later.
func isPassing(err error) bool {
	for _, passing := range []error{ErrSource, errLost, fault.ErrUnavailable, fault.ErrTimeout, fault.ErrOverloaded, fault.ErrUnknownOutcome} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// notNil makes of no bytes the empty value.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
