package experiment

import (
	"context"
	"time"
)

// waits is how often sessions that had work were seen waiting, and for what.
type waits struct {
	seen int64            // sessions with work, over all looks
	on   map[string]int64 // by wait event, such as LWLock:BufferContent
}

// share is how many of the looks found a session waiting for one thing, in
// percent.
func (w waits) share(event string) float64 {
	if w.seen == 0 {
		return 0
	}
	return 100 * float64(w.on[event]) / float64(w.seen)
}

// watchWaits looks at the sessions of one application_name every few
// milliseconds until it is stopped: pg_stat_activity shows an instant, and
// counts nothing.
func watchWaits(ctx context.Context, d *db, application string) (stop func() (waits, error)) {
	const every = 5 * time.Millisecond
	type found struct {
		waits
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan found, 1)
	go func() {
		f := found{waits: waits{on: map[string]int64{}}}
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- f
				return
			case <-tick.C:
			}
			// The look itself is not cut short: its connection goes on to live.
			if f.err = f.look(context.WithoutCancel(ctx), d, application); f.err != nil {
				done <- f
				return
			}
		}
	}()
	return func() (waits, error) {
		cancel()
		f := <-done
		return f.waits, f.err
	}
}

func (w *waits) look(ctx context.Context, d *db, application string) error {
	rows, err := d.Query(ctx, `
		SELECT coalesce(wait_event_type || ':' || wait_event, ''), count(*)
		FROM pg_stat_activity
		WHERE application_name = $1 AND state = 'active'
		GROUP BY 1`, application)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var event string
		var n int64
		if err := rows.Scan(&event, &n); err != nil {
			return err
		}
		w.seen += n
		w.on[event] += n
	}
	return rows.Err()
}
