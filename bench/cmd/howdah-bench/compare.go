package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/experiment"
	"github.com/howdah/howdah/bench/internal/machine"
)

// compare measures two source trees in turns and prints a table.
func compare(ctx context.Context, args []string) (err error) {
	var o experiment.Options
	set := flag.NewFlagSet("compare", flag.ContinueOnError)
	before := set.String("before", "HEAD", "the old source tree: a folder, or a commit of this repository")
	after := set.String("after", "..", "the new source tree: a folder, or a commit")
	set.IntVar(&o.Rounds, "rounds", 5, "turns of each tree")
	set.DurationVar(&o.Duration, "duration", time.Second, "of one measurement")
	set.IntVar(&o.Workload.Keys, "keys", 0, "how many (default 100000)")
	set.BoolVar(&o.Quick, "quick", false, "fewer requests by redis-benchmark")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("compare takes no names, but got %q", set.Args())
	}
	o.Progress = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "  "+format+"\n", args...) }
	if err := o.Complete(); err != nil {
		return err
	}
	for _, tree := range []*string{before, after} {
		dir, remove, err := checkout(ctx, *tree)
		if err != nil {
			return err
		}
		defer remove()
		*tree = dir
	}
	var busy *machine.BusyError
	if errors.As(machine.CheckQuiet(time.Second), &busy) {
		fmt.Printf("note: other programs use %.0f %% of this machine\n", 100*busy.Share)
	}
	r, err := experiment.Compare(ctx, o, *before, *after)
	if err != nil {
		return err
	}
	fmt.Println(experiment.Heading)
	for _, c := range experiment.Comparisons(r) {
		fmt.Println(c)
	}
	fmt.Printf("Medians of %d rounds, requests per second; \"before again\" is the old tree beside itself, the least and the most of the rounds.\n", o.Rounds)
	return nil
}

// checkout is the folder of a source tree. A commit gets a worktree of its own,
// outside the repository, which remove takes away.
func checkout(ctx context.Context, tree string) (dir string, remove func(), err error) {
	if _, err := os.Stat(filepath.Join(tree, "go.mod")); err == nil {
		return tree, func() {}, nil
	}
	parent, err := os.MkdirTemp("", "howdah-compare-")
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(parent, "tree")
	out, err := exec.CommandContext(ctx, "git", "worktree", "add", "--detach", dir, tree).CombinedOutput()
	if err != nil {
		os.RemoveAll(parent)
		return "", nil, fmt.Errorf("%q is neither the folder of a source tree nor a commit: %s", tree, strings.TrimSpace(string(out)))
	}
	return dir, func() {
		exec.CommandContext(context.WithoutCancel(ctx), "git", "worktree", "remove", "--force", dir).Run()
		os.RemoveAll(parent)
	}, nil
}
