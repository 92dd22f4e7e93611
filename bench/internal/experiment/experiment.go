// Package experiment holds the experiments, a file each.
package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// Experiment is one question with a way to answer it.
type Experiment struct {
	Name  string
	Title string
	Needs []service.Program
	// Quick and Full are how long a run takes on two cores: what the plan
	// promises, and when no further round begins. 0: 20 s and 45 s.
	Quick, Full time.Duration
	// Rounds are those of a full run for which none were asked for; 0: 3.
	Rounds int
	Run    func(ctx context.Context, b *Bench, r *result.Result) error
	// Judge finds the verdicts from the numbers alone, so that stored results
	// can be judged anew, beside those of other experiments; nil: Run does.
	Judge func(r *result.Result, others []*result.Result) []result.Verdict
}

// Budget is the time that the experiment is given, start of the servers and
// loading included.
func (e Experiment) Budget(quick bool) time.Duration {
	switch {
	case quick && e.Quick > 0:
		return e.Quick
	case quick:
		return 20 * time.Second
	case e.Full > 0:
		return e.Full
	}
	return 45 * time.Second
}

// All are the experiments in the order in which they are listed and run.
func All() []Experiment {
	return []Experiment{
		library(), manyCaches(), redisBenchmark(), lockedRow(), valueSizes(), processes(), httpCache(), kvScale(), pgPool(), footprint(),
		insertLatency(), keepalive(), fillfactor(), expiryIndex(), indexKind(),
		columnTypes(), reapChunks(), durabilityParity(), bulkLoad(),
		identityCache(), autovacuum(), network(), spill(), sessions(), pgbenchWrite(), pgbenchRead(), ramTablespace(),
		massExpiry(), neighbours(), stalledReaders(), fewConnections(), noeviction(),
		near(), nearServe(), nearLog(), nearStorm(), watch(), collections(), scripts(), pubsub(), wakeups(), notify(), observing(),
		partitions(), scaleOut(),
	}
}

// Choose finds experiments by name; "all" is all of them.
func Choose(names []string) ([]Experiment, error) {
	all := All()
	if len(names) == 1 && names[0] == "all" {
		return all, nil
	}
	var chosen []Experiment
	for _, name := range names {
		i := slices.IndexFunc(all, func(e Experiment) bool { return e.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no experiment %q: choose from %s, or all", name, strings.Join(namesOf(all), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func namesOf(all []Experiment) []string {
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names
}

// Missing returns an error that names the packages to install, if programs
// are missing that an experiment needs and that no URL replaces.
func (e Experiment) Missing(o Options) error {
	for _, p := range e.Needs {
		if p == service.Postgres && o.DatabaseURL != "" || p == service.Redis && o.RedisURL != "" {
			continue
		}
		if _, err := p.Find(); err != nil {
			return err
		}
	}
	return nil
}

// Do runs an experiment on servers of its own and returns what it found.
func (e Experiment) Do(ctx context.Context, o Options) (*result.Result, error) {
	if e.Rounds > 0 && !o.Quick && !o.counted {
		o.Rounds = e.Rounds
	}
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	b.deadline = time.Now().Add(e.Budget(o.Quick))
	// Far more than the budget is a hang, which must not take the others along.
	ctx, cancel := context.WithTimeoutCause(ctx, 5*e.Budget(o.Quick)+2*time.Minute, fmt.Errorf("it did not end within five times its %v", e.Budget(o.Quick)))
	defer cancel()
	r := &result.Result{
		Experiment: e.Name, Title: e.Title, Date: time.Now().UTC().Truncate(time.Second),
		Quick: o.Quick, Forced: o.Force, Command: o.Command, Machine: machine.Describe(), Versions: map[string]string{},
	}
	if err := e.Run(ctx, b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	if e.Judge != nil {
		r.Verdicts = e.Judge(r, nil)
	}
	r.Seconds = time.Since(r.Date).Round(time.Second).Seconds()
	b.describe(r)
	if b.short > 0 {
		r.Set("rounds", fmt.Sprintf("fewer than %d for %d loads: the experiment had used its %v", b.Rounds, b.short, e.Budget(o.Quick)))
	}
	return r, nil
}

// Judge judges stored results anew, where their numbers are enough for it.
func Judge(results []*result.Result) {
	for _, e := range All() {
		for _, r := range results {
			if r.Experiment == e.Name && e.Judge != nil {
				r.Verdicts = e.Judge(r, results)
			}
		}
	}
}

// resultOf finds the result of an experiment; an empty one if there is none.
func resultOf(name string, results []*result.Result) *result.Result {
	for _, r := range results {
		if r.Experiment == name {
			return r
		}
	}
	return &result.Result{}
}
