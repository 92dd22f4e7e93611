package experiment

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

//go:embed driver/main.go
var driverSource []byte

// The contestants of a comparison. The old tree takes part twice: how far it
// lies from itself is what a difference has to exceed.
const (
	oldTree, newTree, oldAgain = "before", "after", "before, again"
	allocations                = "allocations"
)

var compareCallers = []int{1, 16, 64, 256, 1024}

// tree is a source tree with its programs and its own database.
type tree struct {
	dir    string
	driver string // path of the program
	url    string // of its database
	server served
}

// Compare measures two source trees in turns: the library by 1 to 1024 callers
// and howdah serve by redis-benchmark. The result is not for the report. It
// writes nothing into the trees.
func Compare(ctx context.Context, o Options, before, after string) (*result.Result, error) {
	for _, p := range []service.Program{service.Postgres, service.RedisBenchmark} {
		if _, err := p.Find(); err != nil {
			return nil, err
		}
	}
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	var trees []*tree
	for i, dir := range []string{before, after} {
		t, err := b.prepare(ctx, []string{"before", "after"}[i], dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		trees = append(trees, t)
	}
	r := &result.Result{Experiment: "compare"}
	names := []string{oldTree, newTree, oldAgain}
	contestants := []*tree{trees[0], trees[1], trees[0]}
	for _, verb := range []string{"GET", "SET"} {
		for _, callers := range compareCallers {
			err := b.turns(len(names), func(i int) error {
				return b.drive(ctx, r, contestants[i], names[i], verb, callers)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for _, verb := range []string{"GET", "SET"} {
		for _, p := range []pipeline{{name: "RESP", depth: 1, requests: b.scale(100_000, 20_000)}, {name: "RESP -P 16", depth: 16, requests: b.scale(400_000, 100_000)}} {
			err := b.turns(len(names), func(i int) error {
				s := contestants[i].server
				s.name = names[i]
				return b.benchmark(ctx, r, s, verb, p)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// prepare builds the programs of a tree, and makes a database with the schema
// of the tree and every key in it.
func (b *Bench) prepare(ctx context.Context, name, dir string) (*tree, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	t := &tree{dir: dir, driver: filepath.Join(b.dir, name+"-driver")}
	program := filepath.Join(b.dir, name+"-howdah")
	b.Progress("building %s", dir)
	if err := t.build(ctx, b.dir, program); err != nil {
		return nil, err
	}
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	if t.url, err = b.newDatabase(ctx, pg.URL, "compare_"+name); err != nil {
		return nil, err
	}
	if _, err := output(exec.CommandContext(ctx, program, "migrate", "--database-url", t.url)); err != nil {
		return nil, err
	}
	db, err := connect(ctx, t.url)
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	if err := db.run(ctx, `SELECT howdah.create_cache('compare')`); err != nil {
		return nil, err
	}
	b.Progress("loading %d keys", b.Workload.Keys)
	if _, err := b.call(ctx, t, "-verb", "LOAD"); err != nil {
		return nil, err
	}
	s, err := service.StartHowdah(ctx, program, t.url)
	if err != nil {
		return nil, err
	}
	b.later(s.Stop)
	t.server = served{addr: s.Addr, parts: []part{server(s.Process)}}
	if err := loadOver(ctx, s.Addr, b.Workload); err != nil {
		return nil, err
	}
	return t, db.run(ctx, "VACUUM ANALYZE")
}

// build compiles the driver, as if it were a command of the tree, and howdah.
func (t *tree) build(ctx context.Context, dir, program string) error {
	source := filepath.Join(dir, "driver.go")
	if err := os.WriteFile(source, driverSource, 0o644); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(t.dir, "cmd", "compare-driver", "main.go"): source}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"build", "-o", program, "./cmd/howdah"},
		{"build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", t.driver, "./cmd/compare-driver"},
	} {
		build := exec.CommandContext(ctx, "go", args...)
		build.Dir = t.dir
		if _, err := output(build); err != nil {
			return err
		}
	}
	return nil
}

// newDatabase makes a database of the name, empty, on the PostgreSQL of this
// experiment, and returns the URL with which to reach it as another is reached.
func (b *Bench) newDatabase(ctx context.Context, another, name string) (string, error) {
	u, err := url.Parse(another)
	if err != nil {
		return "", err
	}
	super, err := b.sql(ctx)
	if err != nil {
		return "", err
	}
	if err := super.run(ctx, fmt.Sprintf("CREATE DATABASE %s OWNER %s", name, pgx.Identifier{u.User.Username()}.Sanitize())); err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// call runs the driver of a tree.
func (b *Bench) call(ctx context.Context, t *tree, args ...string) ([]byte, error) {
	args = append([]string{"-url", t.url, "-keys", strconv.Itoa(b.Workload.Keys), "-size", strconv.Itoa(b.Workload.ValueSize)}, args...)
	return output(exec.CommandContext(ctx, t.driver, args...))
}

// drive is one turn of the library.
func (b *Bench) drive(ctx context.Context, r *result.Result, t *tree, name, verb string, callers int) error {
	out, err := b.call(ctx, t, "-verb", verb, "-callers", strconv.Itoa(callers), "-duration", b.Duration.String(), "-warmup", b.warmup().String())
	if err != nil {
		return err
	}
	var got struct{ Rate, Allocs float64 }
	if err := json.Unmarshal(out, &got); err != nil {
		return fmt.Errorf("the driver printed %q: %w", out, err)
	}
	which := strconv.Itoa(callers)
	r.Add(verb, which, name, throughput, perSecond, got.Rate)
	r.Add(verb, which, name, allocations, "a call", got.Allocs)
	b.Progress("%s %5d callers  %-14s %9.0f/s  %6.1f allocations a call", verb, callers, name, got.Rate, got.Allocs)
	return nil
}

// output runs a command, and gives what it said if it fails.
func output(cmd *exec.Cmd) ([]byte, error) {
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(said.String()+string(out)))
	}
	return out, nil
}

// Comparison is one line of what Compare found.
type Comparison struct {
	Verb, Case              string
	Before, After           float64 // medians, a second
	Ratio                   float64 // median of the rounds
	Least, Most             float64 // of the old tree to itself, by round
	AllocsBefore, AllocsNow float64 // a call; 0: not known
}

// Comparisons are the lines of a result of Compare.
func Comparisons(r *result.Result) (all []Comparison) {
	for _, verb := range r.Groups() {
		for _, which := range r.Cases(verb) {
			itself := r.RatioOf(verb, which, throughput, oldAgain, oldTree)
			c := Comparison{
				Verb: verb, Case: which,
				Before: r.Value(verb, which, oldTree, throughput), After: r.Value(verb, which, newTree, throughput),
				Ratio:        result.Median(r.RatioOf(verb, which, throughput, newTree, oldTree)),
				AllocsBefore: r.Value(verb, which, oldTree, allocations), AllocsNow: r.Value(verb, which, newTree, allocations),
			}
			for i, v := range itself {
				if i == 0 {
					c.Least = v
				}
				c.Least, c.Most = min(c.Least, v), max(c.Most, v)
			}
			all = append(all, c)
		}
	}
	return all
}

// String is a row of the table; Heading is that above it.
func (c Comparison) String() string {
	allocs := ""
	if c.AllocsBefore > 0 {
		allocs = fmt.Sprintf("%6.1f %6.1f", c.AllocsBefore, c.AllocsNow)
	}
	return fmt.Sprintf("%-4s %-11s %9.0f %9.0f  %5.2f   %4.2f to %4.2f  %s", c.Verb, c.Case, c.Before, c.After, c.Ratio, c.Least, c.Most, allocs)
}

// Heading is above the rows of a table of comparisons.
const Heading = "     callers      before     after  ratio   before again  allocations a call, before and after"
