package soak

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestConfigRefusesNonsense(t *testing.T) {
	good := Defaults()
	if err := good.Complete(); err != nil || good.Duration != 15*time.Minute {
		t.Fatalf("the defaults: %v, %v", good.Duration, err)
	}
	pinned := Defaults()
	pinned.Pin = 10 * time.Minute
	if err := pinned.Complete(); err != nil || pinned.Duration != 30*time.Minute {
		t.Fatalf("with a snapshot: %v, %v", pinned.Duration, err)
	}
	for name, change := range map[string]func(*Config){
		"no reads":     func(c *Config) { c.Reads = 0 },
		"sliding":      func(c *Config) { c.Sliding = 1.5 },
		"callers":      func(c *Config) { c.Callers = 0 },
		"zipf":         func(c *Config) { c.Zipf = 0.9 },
		"overload":     func(c *Config) { c.Overload = 0 },
		"too short":    func(c *Config) { c.Duration = 10 * time.Second },
		"class":        func(c *Config) { c.Class = "durable" },
		"sizes":        func(c *Config) { c.Values = Sizes{100, 50} },
		"TTLs":         func(c *Config) { c.TTLs = TTLMix{{time.Minute, 0.5}} },
		"pin too long": func(c *Config) { c.Duration, c.Pin = 10*time.Minute, 10*time.Minute },
	} {
		c := Defaults()
		change(&c)
		if c.Complete() == nil {
			t.Errorf("%s: %+v was accepted", name, c)
		}
	}
}

func TestFlagsReadWhatTheyPrint(t *testing.T) {
	var m TTLMix
	if err := m.Set("30s=20, 5m=60,none=20"); err != nil || len(m) != 3 || m[0].TTL != 30*time.Second || m[2].TTL != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	var again TTLMix
	if err := again.Set(m.String()); err != nil || again.String() != m.String() {
		t.Errorf("%s became %s: %v", m, again, err)
	}
	for _, bad := range []string{"", "30s", "30s=20", "soon=100", "-5s=100", "none=101"} {
		if err := (&TTLMix{}).Set(bad); err == nil {
			t.Errorf("TTLs %q were accepted", bad)
		}
	}
	var s Sizes
	if err := s.Set("250"); err != nil || s != (Sizes{250, 250}) || s.mean() != 250 {
		t.Errorf("%v, %v", s, err)
	}
	for _, bad := range []string{"", "x", "10-5", "1-5", "5-"} {
		if err := (&Sizes{}).Set(bad); err == nil {
			t.Errorf("sizes %q were accepted", bad)
		}
	}
}

// What the load is said to be is what the sources make.
func TestSourcesMakeTheLoad(t *testing.T) {
	c := Defaults()
	const requests = 200_000
	src := newSources(&c)[0]
	var count [kinds]float64
	var bytes float64
	for range requests {
		k, key := src.next()
		count[k]++
		value := src.make(key)
		bytes += float64(len(value))
		if err := src.check(key, value); err != nil {
			t.Fatal(err)
		}
		if src.check(key+1, value) == nil {
			t.Fatal("the value of another key was accepted")
		}
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.05*want {
			t.Errorf("%s is %g, want about %g", what, got, want)
		}
	}
	near("the share of sets", count[set]/requests, c.Sets/(c.Sets+c.Reads))
	near("the size of values", bytes/requests, c.Values.mean())
	lives := map[time.Duration]float64{}
	for key := range c.Keys {
		lives[c.TTLs.of(key)]++
	}
	for _, life := range c.TTLs {
		near("the share of "+life.TTL.String(), lives[life.TTL]/float64(c.Keys), life.Share)
	}
	if count[sliding] == 0 || count[sliding] > c.Sliding*(count[read]+count[sliding]) {
		t.Errorf("%g of %g reads slide", count[sliding], count[read]+count[sliding])
	}
}

func TestPercentiles(t *testing.T) {
	h := newTally().latency[read]
	for i := range 1000 {
		h.RecordValue(int64(i+1) * int64(time.Millisecond))
	}
	p := percentilesOf(h)
	if math.Abs(p.P50-500) > 10 || math.Abs(p.P99-990) > 20 || p.Count != 1000 {
		t.Errorf("%+v", p)
	}
	if p := percentilesOf(hdrhistogram.New(1000, 1e9, 2)); p != (Percentiles{}) {
		t.Errorf("of nothing: %+v", p)
	}
}

// twoRuns is a record whose contenders grew dead rows while a snapshot was
// held; the second did not recover.
func twoRuns() *Record {
	r := &Record{Soak: Pinned, Seconds: 300, PinFrom: 100, PinTo: 200, Budget: 1000}
	c := Config{Duration: 300 * time.Second, PinAt: 100 * time.Second, Pin: 100 * time.Second}
	for i, name := range []string{HowdahName, ControlName} {
		run := &Run{Name: name, Series: map[string]Samples{}, Windows: c.windows(), Size: 300, Fresh: 100, Made: 10, Due: 10}
		for s := 5.0; s <= 300; s += 5 {
			dead := 100.0
			if s > 100 && s <= 230 || s > 100 && i == 1 {
				dead = 5000
			}
			run.At = append(run.At, s)
			run.add(deadRows, dead)
			run.add(sizeMB, s)
			run.add(budgetShare, 99)
			run.add(latencySeries("reads", "p99"), 2)
			run.add(latencySeries("sets", "p99"), 2)
		}
		for j := range run.Windows {
			run.Windows[j].Latency = map[string]Percentiles{"reads": {P99: 2}, "sets": {P99: 2}}
		}
		r.Runs = append(r.Runs, run)
	}
	return r
}

func TestJudgePinned(t *testing.T) {
	text := ""
	for _, l := range Judge(twoRuns()) {
		text += l.String() + "\n"
	}
	for _, want := range []string{"3.00, " + ControlName + " 3.00", "dead rows within 1.5 of before, after the release", " 35 s, " + ControlName + " not by the end"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestJudgeChurn(t *testing.T) {
	r := twoRuns()
	r.Soak = Churn
	r.Runs[0].Windows[2].Latency = map[string]Percentiles{"reads": {P99: 4}, "sets": {P99: 1}}
	text := ""
	for _, l := range Judge(r) {
		text += l.String() + "\n"
	}
	for _, want := range []string{
		"3.00 (goal ≤ 2: missed)", "99.0 % (goal ≤ 110 %: reached)", "2.00 (goal ≤ 1.5: missed)", "0.50 (goal ≤ 1.5: reached)",
		"4.00 ms (goal ≤ that of the " + ControlName + ": missed)", "1.00 ms (goal ≤ that of the " + ControlName + ": reached)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// The page says where Howdah is behind, from the record.
func TestSummary(t *testing.T) {
	r := twoRuns()
	r.Runs[0].Windows[1].Latency = map[string]Percentiles{"reads": {P99: 4}, "sets": {P99: 1}}
	for i, run := range r.Runs {
		for range run.At {
			run.add(databaseCPU, float64(3-2*i))
			run.add(walRate, 2)
			run.add(hitShare, float64(70+i))
		}
	}
	var b strings.Builder
	r.summary(&b)
	for _, want := range []string{"reads 1.00 to 2.00 times", "sets 0.50 to 1.00 times", "finds 70.0 %", "the table 71.0 %", "3.0 times the CPU", "1.0 times the WAL"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestDoubts(t *testing.T) {
	r := twoRuns()
	r.Runs[0].Made = 5
	r.Runs[1].Upkeep = "broken"
	text := strings.Join(r.doubts(), "\n")
	for _, want := range []string{"10 requests were due and 5 were made", "broken", `"hits %" was never above zero`, "no snapshot was held"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// A soak as short as it can be, with a snapshot, on servers of its own: through
// the file, to the page.
func TestSoak(t *testing.T) {
	c := Defaults()
	c.Duration, c.Every = 20*time.Second, time.Second
	c.Pin, c.PinAt = 6*time.Second, 5*time.Second
	c.Reads, c.Sets, c.Keys, c.Callers = 300, 200, 2000, 16
	c.TTLs = TTLMix{{3 * time.Second, 0.2}, {time.Minute, 0.8}}
	c.Command, c.Progress = "howdah-bench soak", t.Logf
	r, err := Soak(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range r.Runs {
		if run.Errors > 0 {
			t.Errorf("%s: %d errors, the first: %s", run.Name, run.Errors, run.FirstError)
		}
		if len(run.At) < 8 {
			t.Errorf("%s: %d samples", run.Name, len(run.At))
		}
		for name, values := range run.Series {
			if len(values) != len(run.At) {
				t.Errorf("%s: %d values of %q in %d samples", run.Name, len(values), name, len(run.At))
			}
		}
		if run.Fresh == 0 || run.Size < run.Fresh/2 {
			t.Errorf("%s: %d bytes, %d rewritten", run.Name, run.Size, run.Fresh)
		}
	}
	dir := t.TempDir()
	if _, err := Save(dir, r); err != nil {
		t.Fatal(err)
	}
	records, err := LoadAll(dir)
	if err != nil || len(records) != 1 || records[0].Runs[1].Name != ControlName {
		t.Fatalf("%v, %v", records, err)
	}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("# Soak\n\n"+begin+"\nstale numbers\n"+end+"\nlast\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WritePage(page, filepath.Join(dir, "img"), records); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(page)
	if s := string(text); !strings.Contains(s, "| p99 of sets ") || strings.Contains(s, "stale numbers") || !strings.HasSuffix(s, "last\n") {
		t.Errorf("the page is\n%s", s)
	}
	if pictures, _ := filepath.Glob(filepath.Join(dir, "img", "soak-pinned-*.svg")); len(pictures) != len(plots) {
		t.Errorf("%d pictures", len(pictures))
	}
}
