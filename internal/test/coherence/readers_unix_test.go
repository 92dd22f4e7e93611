//go:build unix

package coherence

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// memo is an answer that a mutant keeps.
type memo struct {
	value int64
	until int64
}

// reads reads keys one after another, as fast as Pace allows. Most come in
// bursts, as a page that is rendered reads.
func (a *actor) reads(ctx context.Context) {
	var reads []Read
	kept := map[int]memo{}
	for a.pause(ctx, a.Pace) {
		for range 16 {
			if r, ok := a.read(ctx, a.key(), kept); ok {
				reads = append(reads, r)
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Reads = append(a.report.Reads, reads...)
}

// read asks for one key. A read that failed says nothing.
func (a *actor) read(ctx context.Context, key int, kept map[int]memo) (r Read, ok bool) {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	cache := a.cache(key)
	r = Read{Process: a.Process, Key: key}
	r.Begin = now()
	if m, found := kept[key]; found && r.Begin < m.until {
		r.Value, r.End, r.Source = m.value, now(), Memory
		return r, true
	}
	value, source, err := a.get(ctx, cache, KeyName(key))
	r.End, r.Source = now(), source
	if r.Value, err = answer(value, err); !a.answered(err) {
		return r, false
	}
	if a.Memo > 0 {
		kept[key] = memo{r.Value, r.Begin + int64(a.Memo)}
	}
	return r, true
}

// get reads by one of the methods, most often by what Get does, and says where
// the answer came from.
func (a *actor) get(ctx context.Context, cache *howdah.Cache, name string) (value []byte, source Source, err error) {
	switch a.rng.IntN(40) {
	case 0:
		value, err = cache.Fresh().Get(ctx, name)
		return value, Database, err
	case 1:
		e, err := cache.GetEntry(ctx, name)
		return e.Value, Database, err
	case 2:
		found, err := cache.GetMany(ctx, []string{name})
		value, ok := found[name]
		if err == nil && !ok {
			err = howdah.ErrMiss
		}
		return value, Database, err
	case 3:
		value, err = cache.GetAppend(ctx, nil, name)
		return value, Unknown, err
	}
	call := &verb.Call{Verb: statement.Get, Key: []byte(name)}
	err = (*core.Cache)(cache).One(ctx, call)
	source = Database
	if call.Recalled {
		source = Memory
	}
	return call.Result.Value, source, err
}

// answered counts the reads that failed, and reports whether this one did not.
func (a *actor) answered(err error) bool {
	if err != nil {
		a.mu.Lock()
		a.report.Errors[a.name]++
		a.mu.Unlock()
	}
	return err == nil
}

// answer makes a value of what Get returned.
func answer(value []byte, err error) (int64, error) {
	if errors.Is(err, howdah.ErrMiss) {
		return Absent, nil
	}
	if err != nil {
		return 0, err
	}
	return ParseValue(value)
}

// short is a pause between writes.
const short = 10 * time.Millisecond

// rest lets others work for a while, at most until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
