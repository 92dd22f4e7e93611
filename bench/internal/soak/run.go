package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/service"
)

// Soak runs both contenders and returns what happened to them.
func Soak(ctx context.Context, c Config) (*Record, error) {
	if err := c.Complete(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "howdah-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// PostgreSQL runs as another user if we are root, and must pass through.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	r := &Record{
		Date: time.Now().UTC().Truncate(time.Second), Forced: c.Force, Command: c.Command, Machine: machine.Describe(),
		Versions: map[string]string{}, Settings: c.settings(), Budget: c.budget(), Turns: c.Turns,
		Seconds: c.Duration.Seconds(),
	}
	if c.Pin > 0 {
		r.PinFrom, r.PinTo = c.PinAt.Seconds(), (c.PinAt + c.Pin).Seconds()
	}
	r.Soak = r.kind()
	groups := [][]int{{0, 1}}
	if c.Turns {
		groups = [][]int{{0}, {1}}
	}
	for _, group := range groups {
		if err := runGroup(ctx, &c, dir, group, r); err != nil {
			return nil, err
		}
	}
	r.Doubts = r.doubts()
	if len(r.Doubts) > 0 {
		err = fmt.Errorf("this soak did not measure what it says: %s", strings.Join(r.Doubts, "; "))
	}
	return r, err
}

// doubts says where something else was measured than what is claimed.
func (r *Record) doubts() (all []string) {
	doubt := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, run := range r.Runs {
		if float64(run.Made) < 0.99*float64(run.Due) {
			doubt("%s: %d requests were due and %d were made", run.Name, run.Due, run.Made)
		}
		if run.Upkeep != "" {
			doubt("%s: its upkeep ended with an error: %s", run.Name, run.Upkeep)
		}
		must := []string{hitShare, entries, hotShare}
		if run.Name == HowdahName {
			must = append(must, evictedRate) // the control's job may not have come yet
		}
		for _, name := range must {
			if v := run.Series[name]; len(v) == 0 || slices.Max(v) <= 0 {
				doubt("%s: %q was never above zero", run.Name, name)
			}
		}
		if age := run.Series[xminAge]; r.PinTo > 0 && (len(age) == 0 || slices.Max(age) < 100) {
			doubt("%s: no snapshot was held", run.Name)
		}
	}
	return all
}

// lane is one contender on its server.
type lane struct {
	contender
	config   *Config
	pg       *service.PostgresServer
	sampler  *sampler
	recorder recorder
	run      *Run
	windows  []*tally // of run.Windows

	before  facts
	upkeep0 upkeepWork
	cpu     float64
	worked  error // what ended the upkeep
}

// runGroup lets some contenders live through the load at the same time.
func runGroup(ctx context.Context, c *Config, dir string, which []int, r *Record) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lanes []*lane
	var working sync.WaitGroup
	defer func() {
		cancel()
		working.Wait()
		for _, l := range lanes {
			l.close()
		}
	}()
	for _, i := range which {
		l, err := enter(ctx, c, filepath.Join(dir, fmt.Sprint(i)), makers[i])
		if err != nil {
			return err
		}
		lanes = append(lanes, l)
		r.Runs = append(r.Runs, l.run)
		r.Versions["PostgreSQL"] = l.pg.Version
		working.Go(func() {
			l.worked = l.contender.run(ctx)
			if l.worked != nil {
				c.Progress("%s: its upkeep ended: %v", l.name(), l.worked)
			}
		})
	}
	c.Progress("storing the first %.0f MB", float64(c.budget())/1e6)
	loads, loading := errgroup.WithContext(ctx)
	for _, l := range lanes { // together: what was stored at one time expires at one time
		loads.Go(func() error {
			if err := preload(loading, c, l.contender); err != nil {
				return fmt.Errorf("%s: %w", l.name(), err)
			}
			return nil
		})
	}
	if err := loads.Wait(); err != nil {
		return err
	}
	if err := live(ctx, c, lanes); err != nil {
		return err
	}
	for _, l := range lanes {
		if err := l.finish(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// enter starts a server and makes a contender on it.
func enter(ctx context.Context, c *Config, dir string, make func(context.Context, *Config, *service.PostgresServer) (contender, error)) (*lane, error) {
	pg, err := service.StartPostgres(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	who, err := make(ctx, c, pg)
	if err != nil {
		pg.Stop()
		return nil, err
	}
	s, err := newSampler(ctx, pg.SuperURL(), who.table())
	if err != nil {
		who.close()
		pg.Stop()
		return nil, err
	}
	l := &lane{contender: who, config: c, pg: pg, sampler: s, recorder: recorder{now: newTally()}}
	l.run = &Run{Name: who.name(), Series: map[string]Samples{}, Windows: c.windows()}
	for range l.run.Windows {
		l.windows = append(l.windows, newTally())
	}
	return l, nil
}

// live offers the load to all lanes and watches them until it ends.
func live(ctx context.Context, c *Config, lanes []*lane) error {
	ctx, cancel := context.WithCancel(ctx)
	var loads sync.WaitGroup
	ended := make(chan struct{})
	failed := make(chan error, len(lanes))
	w, err := newWatch(ctx, lanes)
	if err != nil {
		cancel()
		return err
	}
	for _, l := range lanes {
		loads.Go(func() { l.run.Made, l.run.Due = pace(ctx, c, l.contender, &l.recorder, w.start) })
		if c.Pin > 0 {
			loads.Go(func() {
				if err := pin(ctx, l.pg.URL, w.start.Add(c.PinAt), c.Pin); err != nil {
					failed <- fmt.Errorf("%s: holding a snapshot: %w", l.name(), err)
				}
			})
		}
	}
	go func() { loads.Wait(); close(ended) }()
	defer func() { cancel(); <-ended }()
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	for {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if err := w.sample(ctx); err != nil {
				return err
			}
		case <-ended:
			select {
			case err := <-failed:
				return err
			default:
				return w.sample(ctx) // what came after the last tick
			}
		}
	}
}

// pin holds a snapshot open, as a forgotten transaction or a long report does.
func pin(ctx context.Context, url string, from time.Time, length time.Duration) error {
	awaitDue(ctx, from)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT 1`); err != nil { // takes the snapshot
		return err
	}
	awaitDue(ctx, from.Add(length))
	return tx.Commit(ctx)
}

// finish closes the books of a lane.
func (l *lane) finish(ctx context.Context) error {
	for i, t := range l.windows {
		l.run.Windows[i].Latency = t.percentiles()
	}
	if l.recorder.first != nil {
		l.run.FirstError = l.recorder.first.Error()
	}
	if l.worked != nil {
		l.run.Upkeep = l.worked.Error()
	}
	var err error
	l.run.Size, l.run.Fresh, err = l.sampler.rewritten(ctx)
	return err
}

func (l *lane) close() {
	l.sampler.close(context.Background())
	l.contender.close()
	l.pg.Stop()
}
