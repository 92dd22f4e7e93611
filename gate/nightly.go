package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// step is a part of the nightly run: a target of the Makefile with variables for it.
type step struct {
	what string   // for the page
	make []string // arguments of make
}

// steps are the nightly run, in its order: what fails most often comes first.
func steps(changed []string) []step {
	all := []step{
		{"linters", []string{"lint"}},
		{"all tests, the long ones too, under the race detector, beside the originals", []string{"test-long"}},
	}
	for _, v := range []string{"14", "15", "16", "17", "18"} {
		all = append(all, step{"what knows SQL, on PostgreSQL " + v, []string{"test-postgres", "VERSIONS=" + v}})
	}
	all = append(all,
		step{"several servers, with Citus", []string{"test-citus"}},
		step{"clients in other languages", []string{"test-clients"}},
		step{"the console in a browser", []string{"test-browser"}},
		step{"the other modules", []string{"test-modules"}},
		step{"the benchmark harness", []string{"test-bench"}},
	)
	if len(changed) > 0 {
		all = append(all, step{"random tests of what changed, 20 seeds each", []string{"hunt", "PACKAGES=" + strings.Join(changed, " ")}})
	}
	return append(all,
		step{"fuzzing", []string{"fuzz"}},
		step{"speed, by ratio", []string{"regress"}},
	)
}

// result is how a step went.
type result struct {
	step
	took   time.Duration
	failed []string // tests, or a sentence
}

// nightly runs all steps, whatever the earlier ones say, writes docs/nightly.md, and fails if
// one of them did.
func nightly(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("gate nightly", flag.ContinueOnError)
	page := flags.String("page", "docs/nightly.md", "where the result is written")
	since := flags.String("since", "HEAD~50", "commit since which packages count as changed")
	only := flags.String("only", "", "run only the steps whose description this regular expression finds")
	logs := flags.String("logs", "", "folder for the output of the steps; empty: a new one for temporary files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("--only is not a regular expression: %w", err)
	}
	if *logs == "" {
		if *logs, err = os.MkdirTemp("", "howdah-nightly-"); err != nil {
			return err
		}
	}
	changed, err := changedPackages(ctx, *since)
	if err != nil {
		return err
	}
	var results []result
	begun := time.Now()
	for i, s := range steps(changed) {
		if !wanted.MatchString(s.what) {
			continue
		}
		fmt.Printf("\n== %s (make %s)\n", s.what, strings.Join(s.make, " "))
		r, err := s.run(ctx, filepath.Join(*logs, fmt.Sprintf("%02d-%s.log", i+1, s.make[0])))
		if err != nil {
			return err
		}
		results = append(results, r)
		if err := os.WriteFile(*page, []byte(report(ctx, begun, results)), 0o644); err != nil {
			return err
		}
	}
	return verdict(results)
}

// run makes the step and keeps its output in a file.
func (s step) run(ctx context.Context, log string) (result, error) {
	f, err := os.Create(log)
	if err != nil {
		return result{}, err
	}
	defer f.Close()
	begun := time.Now()
	c := exec.CommandContext(ctx, "make", s.make...)
	c.Stdout, c.Stderr = io.MultiWriter(f, os.Stdout), io.MultiWriter(f, os.Stderr)
	failure := c.Run()
	r := result{step: s, took: time.Since(begun)}
	if failure == nil {
		return r, nil
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return result{}, err
	}
	if r.failed = failures(string(text)); len(r.failed) == 0 {
		r.failed = []string{failure.Error()}
	}
	return r, nil
}

var failure = regexp.MustCompile(`(?m)^\s*(?:--- FAIL: |=== FAIL: \S+ )(\w+)`)

// failures finds the names of the tests that failed in the output of a step.
func failures(output string) []string {
	var found []string
	for _, m := range failure.FindAllStringSubmatch(output, -1) {
		if !slices.Contains(found, m[1]) {
			found = append(found, m[1])
		}
	}
	return found
}

// changedPackages returns the folders of this module with Go files that changed since a commit.
func changedPackages(ctx context.Context, since string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "git", "diff", "--name-only", "--diff-filter=d", since, "--", "*.go").Output()
	if err != nil {
		return nil, fmt.Errorf("git does not say what has changed since %s: %w", since, err)
	}
	listed, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go does not list the packages: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, dir := range strings.Fields(string(listed)) {
		relative, err := filepath.Rel(root, dir)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(strings.Fields(string(out)), func(file string) bool { return filepath.Dir(file) == relative }) {
			found = append(found, "./"+filepath.ToSlash(relative))
		}
	}
	return found, nil
}

// report is docs/nightly.md.
func report(ctx context.Context, begun time.Time, results []result) string {
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	var total time.Duration
	for _, r := range results {
		total += r.took
	}
	var b strings.Builder
	b.WriteString("# The last nightly run\n\n`make nightly` wrote this page. CONTRIBUTING.md says when it runs.\n\n")
	fmt.Fprintf(&b, "Commit %s, begun %s, %d minutes on %d processors (%s, %s/%s).\n\n", strings.TrimSpace(string(commit)),
		begun.UTC().Format("2006-01-02 15:04 UTC"), int(total.Minutes()+0.5), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("| Step | Target | Minutes | Result |\n|---|---|---|---|\n")
	for _, r := range results {
		said := "passed"
		if len(r.failed) > 0 {
			said = "**failed**: " + strings.Join(r.failed, ", ")
		}
		fmt.Fprintf(&b, "| %s | `make %s` | %.1f | %s |\n", r.what, r.make[0], r.took.Minutes(), said)
	}
	return b.String()
}

func verdict(results []result) error {
	var failed []error
	for _, r := range results {
		if len(r.failed) > 0 {
			failed = append(failed, fmt.Errorf("%s: %s", r.what, strings.Join(r.failed, ", ")))
		}
	}
	return errors.Join(failed...)
}
