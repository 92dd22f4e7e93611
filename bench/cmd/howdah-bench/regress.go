package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/experiment"
	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
)

// regress fails if a published ratio is not nearly reached any more.
func regress(ctx context.Context, args []string) error {
	var o experiment.Options
	set := flag.NewFlagSet("regress", flag.ContinueOnError)
	in := set.String("in", "results", "folder with the published results")
	set.StringVar(&o.Howdah, "howdah", "", "path of the program howdah (default: it is built from the source)")
	set.DurationVar(&o.Duration, "duration", time.Second, "of one measurement")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("regress takes no names, but got %q", set.Args())
	}
	o.Progress = func(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
	if err := o.Complete(); err != nil {
		return err
	}
	published, err := result.LoadAll(*in)
	if err != nil {
		return err
	}
	checks, err := experiment.Checks(published)
	if err != nil {
		return err
	}
	// Ratios are taken in one run, so a busy machine is only noted.
	var busy *machine.BusyError
	if errors.As(machine.CheckQuiet(time.Second), &busy) {
		fmt.Printf("note: other programs use %.0f %% of this machine\n", 100*busy.Share)
	}
	start := time.Now()
	checks, err = experiment.Regress(ctx, o, checks)
	if err != nil {
		return err
	}
	failed := 0
	for _, c := range checks {
		fmt.Println(c)
		if !c.Passed() {
			failed++
		}
	}
	fmt.Printf("%.0f s\n", time.Since(start).Seconds())
	if failed > 0 {
		return fmt.Errorf("%d of %d ratios are below their limits in the best of three: something has become slower", failed, len(checks))
	}
	return nil
}
