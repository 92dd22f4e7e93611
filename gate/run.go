package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// flakyPage lists the tests that have passed only the second time.
const flakyPage = "docs/flaky.md"

// run runs the tests of all packages, and those that failed once more if they are few. It fails
// if a test failed twice, if a package failed beside its tests (a leak, say), and after a panic or
// a data race, which gotestsum does not run again.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("gate run", flag.ContinueOnError)
	packages := flags.String("packages", "./...", "packages to test, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return err
	}
	events, err := os.CreateTemp("", "howdah-events-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(events.Name())
	defer events.Close()
	tests := gotestsum(ctx, "gate/go.mod", events.Name(), *packages, flags.Args())
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	failure := tests.Run()
	page, err := os.ReadFile(flakyPage)
	if err != nil {
		return err
	}
	return judge(events, failure, string(page), os.Stdout)
}

// gotestsum is the command that runs the tests and writes their events to a file. tools is the
// go.mod that names its version.
func gotestsum(ctx context.Context, tools, events, packages string, args []string) *exec.Cmd {
	return exec.CommandContext(ctx, "go", append([]string{"tool", "-modfile=" + tools, "gotestsum",
		"--format=pkgname", "--hide-summary=skipped", "--jsonfile=" + events,
		"--rerun-fails=1", "--rerun-fails-max-failures=5", "--rerun-fails-abort-on-data-race", "--rerun-fails-run-root-test",
		"--packages=" + packages, "--"}, args...)...)
}

// judge prints the ledger of a run that gotestsum ended with failure, or nil. page is what
// docs/flaky.md says.
func judge(events io.Reader, failure error, page string, w io.Writer) error {
	l, err := readLedger(events)
	if err != nil {
		return errors.Join(failure, err)
	}
	entered := map[string]int{}
	for _, n := range entries(page) {
		entered[n.test]++
	}
	l.print(w, entered)
	if failure != nil {
		return fmt.Errorf("the tests failed: %w", failure)
	}
	if failed := l.failed(); len(failed) > 0 {
		return fmt.Errorf("%d tests failed twice, the first is %s of %s", len(failed), failed[0].test, failed[0].pkg)
	}
	if len(l.leaks) > 0 {
		return fmt.Errorf("%s failed although its tests passed: look for a leak above", l.leaks[0])
	}
	if len(l.tests) == 0 {
		return errors.New("no test ran")
	}
	return nil
}
