// Package rival puts client libraries behind one interface, each used the way
// its documentation recommends.
package rival

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah/bench/internal/workload"
)

// Rival stores values under keys. It is safe for concurrent use.
type Rival interface {
	// Name is what the report calls it, with the settings that matter.
	Name() string
	// Get returns the value; a miss is an error, since every key was loaded.
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
	Close() error
}

// Load stores every key of a workload.
func Load(ctx context.Context, r Rival, spec workload.Spec) error {
	const workers = 64
	spec.Seed++ // other values than those that are measured
	sources := workload.NewSources(spec, workers)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() error {
			src := sources[w]
			for i := w; i < spec.Keys; i += workers {
				if err := r.Set(ctx, src.Key(i), src.Value(i)); err != nil {
					return fmt.Errorf("loading %s: %w", r.Name(), err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Do is one request of a mix: a read with the given probability, else a
// write. The answer of a read is checked.
func Do(ctx context.Context, r Rival, spec workload.Spec, src *workload.Source, reads float64) error {
	i := src.Next()
	key := src.Key(i)
	if reads < 1 && (reads == 0 || !src.Chance(reads)) {
		if err := r.Set(ctx, key, src.Value(i)); err != nil {
			return fmt.Errorf("%s, SET %s: %w", r.Name(), key, err)
		}
		return nil
	}
	value, err := r.Get(ctx, key)
	if err == nil {
		err = spec.Check(i, value)
	}
	if err != nil {
		return fmt.Errorf("%s, GET %s: %w", r.Name(), key, err)
	}
	return nil
}
