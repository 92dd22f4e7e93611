package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// valueSizes repeats the comparison of the libraries with other values than
// those of 250 bytes, and with keys of unequal popularity.
func valueSizes() Experiment {
	return Experiment{
		Name:  "value-sizes",
		Title: "Values from 64 bytes to 64 KiB, and keys of unequal popularity",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 35 * time.Second, Full: 220 * time.Second,
		Run: runValueSizes,
	}
}

// sizedBytes is how much a round of the largest values may store with each
// contestant: there are fewer keys of them.
const sizedBytes = 64 << 20

func runValueSizes(ctx context.Context, b *Bench, r *result.Result) error {
	const goroutines = 64
	keys := min(b.Workload.Keys, b.scale(b.Workload.Keys, 10_000))
	cases := []struct {
		name string
		spec workload.Spec
	}{
		{"64 B", workload.Spec{ValueSize: 64}},
		{"1 KiB", workload.Spec{ValueSize: 1 << 10}},
		{"8 KiB", workload.Spec{ValueSize: 8 << 10}},
		{"64 KiB", workload.Spec{ValueSize: 64 << 10}},
		{"250 B, Zipf 1.1", workload.Spec{ValueSize: 250, Zipf: 1.1}},
	}
	a := &arena{Bench: b, result: r}
	if err := a.enter(ctx); err != nil {
		return err
	}
	for _, c := range cases {
		c.spec.Seed = b.Workload.Seed
		c.spec.Keys = min(keys, sizedBytes/c.spec.ValueSize)
		if err := a.load(ctx, c.spec); err != nil {
			return err
		}
		for _, mix := range mixes[:2] {
			if err := a.compete(ctx, contest{mix.name, c.name, mix.reads, goroutines, c.spec}); err != nil {
				return err
			}
			for _, to := range []string{rival.PgxName, rival.GoRedisName, rival.RueidisName, rival.MemcachedName} {
				r.Compare(mix.name, c.name, throughput, rival.HowdahName, to, 0, false)
			}
		}
	}
	r.Set("workload", fmt.Sprintf("%d goroutines, up to %d keys and at most %d MiB of values; uniform unless said", goroutines, keys, sizedBytes>>20))
	r.Set("measurement", fmt.Sprintf("%d rounds of %v each, in turns, closed loop", b.Rounds, b.Duration))
	r.Notes = append(r.Notes, "PostgreSQL keeps values above about 2 kB outside of the row, in several pieces, and writes each change of them anew.")
	return nil
}
