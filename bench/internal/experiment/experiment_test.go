package experiment

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// tiny is as little as an experiment can do.
func tiny(t *testing.T) Options {
	o := Options{
		Quick: true, Rounds: 1, Duration: 100 * time.Millisecond, Goroutines: []int{1, 64}, Rate: 200,
		Workload: workload.Spec{Keys: 1024, ValueSize: 64}, Progress: t.Logf, Command: "howdah-bench run",
	}
	if err := o.Complete(); err != nil {
		t.Fatal(err)
	}
	return o
}

func named(t *testing.T, name string) Experiment {
	chosen, err := Choose([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return chosen[0]
}

func TestChoose(t *testing.T) {
	all, err := Choose([]string{"all"})
	if err != nil || len(all) < 12 {
		t.Errorf("all: %d experiments, %v", len(all), err)
	}
	seen := map[string]bool{}
	for _, e := range all {
		if seen[e.Name] || e.Title == "" || len(e.Needs) == 0 {
			t.Errorf("%+v is listed twice or incomplete", e)
		}
		seen[e.Name] = true
	}
	if _, err := Choose([]string{"library", "libary"}); err == nil || !strings.Contains(err.Error(), "locked-row") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestMissingProgramNamesItsPackage(t *testing.T) {
	absent := service.Program{Name: "no-such-server", Package: "no-such-package"}
	e := Experiment{Needs: []service.Program{absent}}
	err := e.Missing(Options{})
	var missing *service.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "no-such-package") {
		t.Errorf("got %v", err)
	}
	t.Setenv("PATH", "")
	e.Needs = []service.Program{service.Redis}
	if e.Missing(Options{}) == nil {
		t.Error("redis-server was found without a PATH")
	}
	if err := e.Missing(Options{RedisURL: "redis://127.0.0.1"}); err != nil {
		t.Errorf("a URL replaces the program: %v", err)
	}
}

func TestOptionsRefuseNonsense(t *testing.T) {
	for _, o := range []Options{
		{Rounds: -1}, {Duration: -1}, {Goroutines: []int{0}}, {Rate: -5},
		{Workload: workload.Spec{ValueSize: 3}}, {Workload: workload.Spec{Zipf: 0.5}},
	} {
		if o.Complete() == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestTurnsRotate(t *testing.T) {
	b := &Bench{Options: Options{Rounds: 3}}
	var order []int
	b.turns(2, func(i int) error { order = append(order, i); return nil })
	want := []int{0, 1, 1, 0, 0, 1}
	for i := range want {
		if i >= len(order) || order[i] != want[i] {
			t.Fatalf("the turns were %v, want %v", order, want)
		}
	}
}

func TestParseBenchmark(t *testing.T) {
	out := `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"SET","86956.52","0.305","0.080","0.303","0.431","0.559","1.207"
"GET","90909.09","0.291","0.088","0.287","0.415","0.527","0.999"
`
	row, err := parseBenchmark(out, "GET")
	if err != nil {
		t.Fatal(err)
	}
	if want := (benchmarkRow{90909.09, 0.287, 0.527}); row != want {
		t.Errorf("got %+v, want %+v", row, want)
	}
	for _, bad := range []string{"", "ERR unknown", `"test","rps"` + "\n" + `"GET","x"`, strings.ReplaceAll(out, `"GET"`, `"PING"`), strings.ReplaceAll(out, "0.527", "fast")} {
		if _, err := parseBenchmark(bad, "GET"); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// A whole experiment, on a PostgreSQL of its own: the least that shows that
// everything fits together.
func TestSmoke(t *testing.T) {
	for _, name := range []string{"expiry-index", "locked-row", "few-connections", "noeviction-budget", "near-log", "near-storm"} {
		t.Run(name, func(t *testing.T) {
			r, err := named(t, name).Do(t.Context(), tiny(t))
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, r)
		})
	}
}

// checkResult holds what every result must have, and its way through a file.
func checkResult(t *testing.T, r *result.Result) {
	t.Helper()
	if len(r.Points) == 0 || r.Versions["PostgreSQL"] == "" || r.Machine.Cores == 0 {
		t.Fatalf("incomplete: %+v", r)
	}
	for _, p := range r.Points {
		for _, m := range p.Metrics {
			if len(m.Rounds) == 0 || m.Unit == "" {
				t.Errorf("%s, %s, %s: %s has no rounds or no unit", p.Group, p.Case, p.Series, m.Name)
			}
			for _, v := range m.Rounds {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Errorf("%s, %s, %s: %s is %v", p.Group, p.Case, p.Series, m.Name, v)
				}
			}
		}
	}
	path, err := result.Save(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := result.Load(path); err != nil {
		t.Fatal(err)
	}
}
