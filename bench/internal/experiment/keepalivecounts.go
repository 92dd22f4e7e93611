package experiment

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah/bench/internal/result"
)

const countsGroup, countsCase = "A session that is read 100 times in its lifetime", "every way at the same time"

// keepaliveCounts reads every session 100 times within its idle timeout, kept
// in every way at the same time, and counts the updates. The source's times
// are scaled: 30 minutes become a few seconds, and the window of 10 minutes and
// the interval of 30 seconds with them.
func (b *Bench) keepaliveCounts(ctx context.Context, d *db, super, url string, r *result.Result) (updates map[string]float64, err error) {
	const reads = 100
	lifetime := time.Duration(b.scale(6, 3)) * time.Second // whole seconds, as Howdah counts
	sessions := b.scale(40, 20)
	times := lifetimes{idle: lifetime, skip: lifetime / 3, flush: lifetime / 60, timeout: lifetime / 3}
	ways := keepers[1:] // nothing to count where nothing is kept
	all := make([]keeper, 0, len(ways))
	defer func() {
		for _, k := range all {
			k.close()
		}
	}()
	if err := d.run(ctx, `TRUNCATE howdah.session`); err != nil {
		return nil, err
	}
	for i, way := range ways {
		var k keeper
		if way == keepHowdah || way == keepHowdahAll {
			k, err = newManagerKeeper(ctx, url, way, sessions, times)
		} else {
			k, err = newKeeper(ctx, d, super, url, way, fmt.Sprintf("bench_keepalive_%d", i), sessions, times)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	before, err := d.updates(ctx, "howdah.session", 0)
	if err != nil {
		return nil, err
	}
	group, reading := errgroup.WithContext(ctx)
	start := time.Now()
	for i, k := range all {
		k.start(ctx)
		group.Go(func() error {
			for step := range reads {
				select {
				case <-time.After(time.Until(start.Add(lifetime * time.Duration(step) / reads))):
				case <-reading.Done():
					return nil
				}
				for s := range sessions {
					if err := k.read(reading, s); err != nil {
						return fmt.Errorf("%s: %w", ways[i], err)
					}
				}
			}
			return nil
		})
	}
	err = group.Wait()
	took := time.Since(start)
	updates = map[string]float64{}
	var written [2]int64 // in the source's tables, and in Howdah's one
	for i, k := range all {
		n, stopErr := k.stop()
		if err == nil {
			err = stopErr
		}
		k.close()
		updates[ways[i]] = float64(n) / float64(sessions)
		r.Add(countsGroup, countsCase, ways[i], rowVersions, "UPDATEs", updates[ways[i]])
		if k.table() == "howdah.session" {
			written[1] += n
		} else if err == nil {
			_, err = d.updates(ctx, k.table(), n) // PostgreSQL counts what we do
		}
		b.Progress("%-42s %5.1f updates for 100 reads of a session", ways[i], updates[ways[i]])
	}
	if err != nil {
		return nil, err
	}
	after, err := d.updates(ctx, "howdah.session", before.all+written[1])
	if err != nil {
		return nil, err
	}
	if n := after.all - before.all; n != written[1] {
		return nil, fmt.Errorf("PostgreSQL counted %d updates of howdah.session, the managers %d", n, written[1])
	}
	for _, way := range []string{keepSkip, keepHowdah} {
		if updates[keepEvery] < 10*updates[way] {
			return nil, fmt.Errorf("%s: %.1f updates for 100 reads, an UPDATE for every read %.1f: skipping is to save nine tenths", way, updates[way], updates[keepEvery])
		}
	}
	r.Set("reads per lifetime", fmt.Sprintf("%d of each of %d sessions, 100 times in %v (it took %.1f s); window %v, batches every %v",
		reads, sessions, lifetime, took.Seconds(), times.skip, times.flush))
	return updates, nil
}
