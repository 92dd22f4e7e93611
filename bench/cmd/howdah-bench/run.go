package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/experiment"
	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
)

// runFlags are those of "run" that are not options of an experiment.
type runFlags struct {
	names   []string
	flags   []string // as they were given
	out     string
	profile string
	options experiment.Options
}

func parseRun(args []string) (runFlags, error) {
	var f runFlags
	var goroutines string
	o := &f.options
	set := flag.NewFlagSet("run", flag.ContinueOnError)
	set.Usage = func() {
		fmt.Fprintln(set.Output(), "howdah-bench run NAME... [flags]")
		set.PrintDefaults()
	}
	set.BoolVar(&o.Quick, "quick", false, "short runs, which show that everything works")
	set.BoolVar(&o.Force, "force", false, "run although the machine is not quiet")
	set.StringVar(&f.out, "out", "results", "folder for the results")
	set.StringVar(&o.DatabaseURL, "database-url", "", "PostgreSQL to use instead of starting one: an empty database, as its owner; the schemas howdah, howdah_internal, howdah_bench and bench_scs come and go")
	set.StringVar(&o.RedisURL, "redis-url", "", "Redis to use instead of starting one; its keys key:* are overwritten and deleted")
	set.StringVar(&o.Howdah, "howdah", "", "path of the program howdah (default: it is built from the source)")
	set.IntVar(&o.Rounds, "rounds", 0, "rounds of each measurement (default 3, of some experiments 5; quick 2)")
	set.DurationVar(&o.Duration, "duration", 0, "of one measurement (default 1s, quick 300ms)")
	set.StringVar(&goroutines, "goroutines", "", "comma-separated (default 1,16,64,256,1024)")
	set.IntVar(&o.Workload.Keys, "keys", 0, "how many (default 100000)")
	set.IntVar(&o.Workload.ValueSize, "value-size", 0, "bytes (default 250)")
	set.Float64Var(&o.Workload.Zipf, "zipf", 0, "exponent above 1 for keys of unequal popularity (default: uniform)")
	set.IntVar(&o.Entries, "entries", 0, "seed of http-cache, largest N of kv-scale (default 1000000; quick less)")
	set.Float64Var(&o.Rate, "rate", 0, "requests a second of open loops (default 5000)")
	set.StringVar(&f.profile, "cpu-profile", "", "write a CPU profile of this process")
	// Names may stand before the flags and after them.
	for len(args) > 0 {
		if !strings.HasPrefix(args[0], "-") {
			f.names, args = append(f.names, args[0]), args[1:]
			continue
		}
		if err := set.Parse(args); err != nil {
			return f, err
		}
		f.flags = append(f.flags, args[:len(args)-set.NArg()]...)
		args = set.Args()
	}
	if len(f.names) == 0 {
		return f, errors.New(`run what? Give names from "howdah-bench list", or all`)
	}
	for text := range strings.SplitSeq(goroutines, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return f, fmt.Errorf("--goroutines %q: give numbers, such as 1,16,64", goroutines)
		}
		o.Goroutines = append(o.Goroutines, n)
	}
	return f, o.Complete()
}

// watch is how long we look at the machine before we trust it, and looks how
// often a busy one gets another chance.
const (
	watch = 2 * time.Second
	looks = 10
)

func runExperiments(ctx context.Context, args []string) error {
	f, err := parseRun(args)
	if err != nil {
		return err
	}
	chosen, err := experiment.Choose(f.names)
	if err != nil {
		return err
	}
	if f.profile != "" {
		file, err := os.Create(f.profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	p := &plan{chosen: chosen, quick: f.options.Quick, start: time.Now()}
	p.print()
	var failures []error
	ran := 0
	for i, e := range chosen {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := e.Missing(f.options); err != nil {
			fmt.Printf("%s is left out: %v\n", e.Name, err)
			failures = append(failures, fmt.Errorf("%s: %w", e.Name, err))
			continue
		}
		one := f
		if err := checkQuiet(ctx, &one.options); err != nil {
			if ran == 0 {
				return err
			}
			fmt.Printf("%s is left out: %v\n", e.Name, err)
			failures = append(failures, fmt.Errorf("%s: %w", e.Name, err))
			continue
		}
		ran++
		fmt.Println(p.heading(i))
		if err := runOne(ctx, e, one); err != nil {
			fmt.Println(err)
			failures = append(failures, err)
		}
	}
	if len(chosen) > 1 {
		fmt.Printf("%d of %d experiments ended well, in %s\n", len(chosen)-len(failures), len(chosen), minutes(time.Since(p.start)))
	}
	return errors.Join(failures...)
}

func runOne(ctx context.Context, e experiment.Experiment, f runFlags) error {
	f.options.Command = commandLine(e.Name, f.flags)
	f.options.Progress = func(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
	r, err := e.Do(ctx, f.options)
	if err != nil {
		return err
	}
	path, err := result.Save(f.out, r)
	if err != nil {
		return err
	}
	printRatios(r)
	for _, v := range r.Verdicts {
		fmt.Printf("  %q (%s): %s. Here: %s\n", v.Claim, v.Source, v.Word, v.Ours)
	}
	fmt.Printf("  %s\n", path)
	return nil
}

// printRatios shows at once what the report will.
func printRatios(r *result.Result) {
	for _, x := range r.Ratios {
		note := ""
		if x.Target != 0 {
			note = map[bool]string{true: "reached", false: "missed"}[x.Met()]
			note = fmt.Sprintf("  target %g %s", x.Target, note)
		}
		fmt.Printf("  %-20s %-6s %s / %s: %.2f ± %.0f %%%s\n", x.Group, x.Case, x.Of, x.To, x.Median(), 100*result.Spread(x.Rounds), note)
	}
}

// checkQuiet waits a little for a machine that is busy, and then refuses it; or
// notes at once that it was told not to.
func checkQuiet(ctx context.Context, o *experiment.Options) error {
	err := machine.CheckQuiet(watch)
	var busy *machine.BusyError
	for look := 1; look < looks && errors.As(err, &busy) && !o.Force; look++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Printf("other programs use %.0f %% of this machine: waiting\n", 100*busy.Share)
		err = machine.CheckQuiet(watch)
	}
	switch {
	case err == nil:
		o.Force = false // nothing had to be forced
		return nil
	case errors.As(err, &busy) && o.Force:
		fmt.Printf("other programs use %.0f %% of this machine: the results will say so\n", 100*busy.Share)
		return nil
	}
	return err
}

// commandLine is what a reader types to run one experiment again, without
// passwords.
func commandLine(name string, flags []string) string {
	kept := []string{"howdah-bench", "run", name}
	for _, a := range flags {
		if i := strings.Index(a, "://"); i >= 0 {
			a = a[:i] + "://..."
		}
		kept = append(kept, a)
	}
	return strings.Join(kept, " ")
}
