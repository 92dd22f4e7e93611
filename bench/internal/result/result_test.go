package result

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestMedianAndSpread(t *testing.T) {
	for _, c := range []struct {
		values         []float64
		median, spread float64
	}{
		{nil, 0, 0},
		{[]float64{7}, 7, 0},
		{[]float64{3, 1, 2}, 2, 0.5},
		{[]float64{4, 1, 3, 2}, 2.5, 0.6},
		{[]float64{0, 0}, 0, 0},
	} {
		if got := Median(c.values); got != c.median {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.median)
		}
		if got := Spread(c.values); math.Abs(got-c.spread) > 1e-9 {
			t.Errorf("spread of %v is %v, want %v", c.values, got, c.spread)
		}
	}
	in := []float64{3, 1, 2}
	Median(in)
	if in[0] != 3 {
		t.Error("the median sorted its argument")
	}
}

// A ratio is taken within each round: what a round's neighbours did to the
// machine must not count.
func TestCompareByRound(t *testing.T) {
	var r Result
	for _, v := range []float64{100, 10, 50} {
		r.Add("GET", "64", "Howdah", "rate", "/s", 2*v)
		r.Add("GET", "64", "other", "rate", "/s", v)
	}
	r.Compare("GET", "64", "rate", "Howdah", "other", 1.5, false)
	r.Compare("GET", "64", "rate", "Howdah", "nobody", 1.5, false)
	if len(r.Ratios) != 1 {
		t.Fatalf("%d ratios", len(r.Ratios))
	}
	if got := r.Ratios[0]; got.Median() != 2 || Spread(got.Rounds) != 0 || !got.Met() {
		t.Errorf("%+v", got)
	}
	if (Ratio{Rounds: []float64{2}, Target: 1.5, AtMost: true}).Met() {
		t.Error("2 is not at most 1.5")
	}
	if (Ratio{Rounds: []float64{1}, Target: 1.5}).Met() {
		t.Error("1 is not at least 1.5")
	}
}

func TestRoundTripAndLatest(t *testing.T) {
	dir := t.TempDir()
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := &Result{Experiment: "x", Title: "X", Date: day, Command: "howdah-bench run x",
		Versions: map[string]string{"redis": "7"}, Settings: []Setting{{"rounds", "3"}},
		Verdicts: []Verdict{{Claim: "c", Word: Refuted}}, Charts: []Chart{{Kind: Bars, Group: "g"}}}
	for range 3 {
		full.Add("g", "c", "s", "rate", "/s", 123456.789)
	}
	once := Result{Experiment: "x", Date: day.Add(3 * time.Hour)}
	once.Add("g", "c", "s", "rate", "/s", 1)
	path, err := Save(dir, full)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(full, back) {
		t.Errorf("wrote %+v, read %+v", full, back)
	}
	if got := back.Value("g", "c", "s", "rate"); got != 123460 {
		t.Errorf("the value is %v, want five digits of it", got)
	}
	for _, other := range []Result{
		once,
		{Experiment: "x", Quick: true, Date: day.Add(time.Hour)},
		{Experiment: "x", Forced: true, Date: day.Add(2 * time.Hour)},
		{Experiment: "x", Date: day.Add(-time.Hour)},
		{Experiment: "a", Date: day},
	} {
		if _, err := Save(dir, &other); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Experiment != "a" || all[1].Title != "X" {
		t.Errorf("the latest are %+v", all)
	}
}

func TestLoadRefusesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	for _, text := range []string{"", "{}", "[1]", "hello"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
