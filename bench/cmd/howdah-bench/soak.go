package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/howdah/howdah/bench/internal/experiment"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/soak"
)

// soakFlags are those of "soak" that are not its load.
type soakFlags struct {
	out, document, images string
	render                bool
	config                soak.Config
}

func parseSoak(args []string) (soakFlags, error) {
	f := soakFlags{config: soak.Defaults()}
	c := &f.config
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	set.Usage = func() {
		fmt.Fprintln(set.Output(), "howdah-bench soak [flags]: Howdah and a hand-tuned table under the same churn")
		set.PrintDefaults()
	}
	set.DurationVar(&c.Duration, "duration", 0, "of the load (default 15m; with --pin, 15m more than the snapshot and what comes before it)")
	set.Float64Var(&c.Reads, "reads", c.Reads, "reads a second for each contender, open loop")
	set.Float64Var(&c.Sets, "sets", c.Sets, "sets a second for each contender, open loop")
	set.Float64Var(&c.Sliding, "sliding", c.Sliding, "share of the reads that extend the life of what they read, 0 to 1")
	set.IntVar(&c.Callers, "callers", c.Callers, "so many requests may wait at once")
	set.IntVar(&c.Keys, "keys", c.Keys, "how many")
	set.Float64Var(&c.Zipf, "zipf", c.Zipf, "exponent above 1 for the popularity of keys among reads; 0: uniform")
	set.Var(&c.Values, "values", "sizes in bytes, small ones more often")
	set.Var(&c.TTLs, "ttls", "lives, and the per cent of keys that have them")
	set.Float64Var(&c.Overload, "overload", c.Overload, "what would live without a budget, as a multiple of the budget")
	set.StringVar(&c.Class, "class", c.Class, "durability: unlogged, async or sync")
	set.DurationVar(&c.Pin, "pin", 0, "hold a snapshot in an open transaction for so long (default: none)")
	set.DurationVar(&c.PinAt, "pin-at", c.PinAt, "from then on")
	set.DurationVar(&c.Every, "every", c.Every, "between two samples")
	set.BoolVar(&c.Turns, "turns", false, "one contender after the other, each with the whole machine, instead of beside each other")
	set.BoolVar(&c.Force, "force", false, "run although the machine is not quiet")
	set.StringVar(&f.out, "out", "results/soak", "folder for the records")
	set.StringVar(&f.document, "document", "../docs/soak.md", "page that receives the numbers")
	set.StringVar(&f.images, "images", "../docs/img", "folder for the charts")
	set.BoolVar(&f.render, "render", false, "run nothing: write the page and the charts from the newest records")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("soak takes no arguments, but got %q", set.Args())
	}
	c.Command = strings.Join(append([]string{"howdah-bench", "soak"}, args...), " ")
	c.Progress = func(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
	return f, c.Complete()
}

func runSoak(ctx context.Context, args []string) error {
	f, err := parseSoak(args)
	if err != nil {
		return err
	}
	if f.render {
		return renderSoak(f)
	}
	if _, err := service.Postgres.Find(); err != nil {
		return err
	}
	quiet := experiment.Options{Force: f.config.Force}
	if err := checkQuiet(ctx, &quiet); err != nil {
		return err
	}
	f.config.Force = quiet.Force
	fmt.Printf("soak: %v\n", f.config.Duration)
	r, err := soak.Soak(ctx, f.config)
	if r == nil {
		return err
	}
	path, failed := soak.Save(f.out, r)
	if failed != nil {
		return errors.Join(err, failed)
	}
	for _, v := range soak.Judge(r) {
		fmt.Println(" ", v)
	}
	fmt.Printf("  %s\n  \"howdah-bench soak --render\" writes it into the page\n", path)
	return err
}

func renderSoak(f soakFlags) error {
	records, err := soak.LoadAll(f.out)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("there are no records in %s: run a soak first, or give --out", f.out)
	}
	if err := soak.WritePage(f.document, f.images, records); err != nil {
		return err
	}
	fmt.Printf("%s holds %d soaks\n", f.document, len(records))
	return nil
}
