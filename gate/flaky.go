package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// flaky runs each test of docs/flaky.md many times while the processors are busy with other
// work, and fails if one of them does.
func flaky(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("gate flaky", flag.ContinueOnError)
	count := flags.Int("count", 50, "how often each test runs")
	load := flags.Int("load", 5*runtime.NumCPU(), "busy loops beside the tests")
	if err := flags.Parse(args); err != nil {
		return err
	}
	page, err := os.ReadFile(flakyPage)
	if err != nil {
		return err
	}
	tests := once(entries(string(page)))
	if len(tests) == 0 {
		fmt.Println("docs/flaky.md lists no test.")
		return nil
	}
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	for range *load {
		if err := exec.CommandContext(loaded, "sh", "-c", "while :; do :; done").Start(); err != nil {
			return err
		}
	}
	var failures []error
	for _, n := range tests {
		fmt.Printf("\n== %s of %s, %d times at a load of %d\n", n.test, n.pkg, *count, *load)
		c := exec.CommandContext(ctx, "go", "test", "-tags", "peers,citus,clients", "-timeout", "60m", "-count", fmt.Sprint(*count),
			"-failfast", "-run", "^"+n.test+"$", n.pkg)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			failures = append(failures, fmt.Errorf("%s of %s: %w", n.test, n.pkg, err))
		}
	}
	return errors.Join(failures...)
}

// once returns names without those that stood before.
func once(names []name) []name {
	seen := map[name]bool{}
	var kept []name
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			kept = append(kept, n)
		}
	}
	return kept
}
