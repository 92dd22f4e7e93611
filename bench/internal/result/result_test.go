package result

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	full := &Result{Experiment: "x", Title: "X <&>", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Command: "howdah-bench run x",
		Versions: map[string]string{"redis": "7"}, Settings: []Setting{{"rounds", "3"}},
		Verdicts: []Verdict{{Claim: "c", Word: Refuted}}, Notes: []string{"a note"}}
	for _, v := range []float64{123456.789, 0.000012345, 0} {
		full.Add("g", "c", "s", "rate", "/s", v)
	}
	full.Ratios = []Ratio{
		{Group: "g", Case: "c", Of: "s", To: "t", Rounds: []float64{1.5, 2.5}, Target: 1.2, AtMost: true},
		{Group: "g", Case: "c", Of: "s", To: "without a goal", Rounds: []float64{1}},
	}
	path, err := Save(dir, full)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	full.Points[0].Metrics[0].Rounds = []float64{123460, 0.000012345, 0} // five digits
	full.Ratios = full.Ratios[:1]                                        // the other is in the points
	if !reflect.DeepEqual(full, back) {
		t.Errorf("wrote %+v, read %+v", full, back)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if line := ` ["g","c","s",["rate","/s",123460,0.000012345,0]]`; !strings.Contains(string(text), "\n"+line+"\n") {
		t.Errorf("the line %s is missing from\n%s", line, text)
	}
}

// A result takes the place of the published one unless that is better.
func TestSaveKeepsTheBetter(t *testing.T) {
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	of := func(rounds int, change func(r *Result)) *Result {
		r := &Result{Experiment: "x", Date: day}
		for range rounds {
			r.Add("g", "c", "s", "rate", "/s", 1)
		}
		change(r)
		return r
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name     string
		r        *Result
		replaces bool
	}{
		{"the first", of(2, func(r *Result) { r.Quick, r.Forced = true, true }), true},
		{"a quiet one", of(2, func(r *Result) { r.Quick = true }), true},
		{"a full one of one round", of(1, func(r *Result) {}), true},
		{"one of three rounds", of(3, func(r *Result) {}), true},
		{"an older one", of(3, func(r *Result) { r.Date = day.Add(-time.Hour) }), false},
		{"a newer one of one round", of(1, func(r *Result) { r.Date = day.Add(time.Hour) }), false},
		{"a newer quick one", of(3, func(r *Result) { r.Quick, r.Date = true, day.Add(time.Hour) }), false},
		{"a newer forced one", of(3, func(r *Result) { r.Forced, r.Date = true, day.Add(time.Hour) }), false},
		{"a newer one", of(3, func(r *Result) { r.Date = day.Add(time.Hour) }), true},
		{"five rounds do not keep newer results out", of(5, func(r *Result) { r.Date = day.Add(2 * time.Hour) }), true},
		{"the newest", of(3, func(r *Result) { r.Date = day.Add(3 * time.Hour) }), true},
	} {
		c.r.Title = c.name
		path, err := Save(dir, c.r)
		if err != nil {
			t.Fatal(err)
		}
		published, err := LoadAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(published) != 1 || (published[0].Title == c.name) != c.replaces {
			t.Errorf("%s went to %s; %q is published", c.name, path, published[0].Title)
		}
		if inTrial := filepath.Base(filepath.Dir(path)) == Trial; inTrial == c.replaces {
			t.Errorf("%s went to %s", c.name, path)
		}
	}
	if _, err := Save(dir, &Result{Experiment: "a"}); err != nil {
		t.Fatal(err)
	}
	if all, err := LoadAll(dir); err != nil || len(all) != 2 || all[0].Experiment != "a" {
		t.Errorf("all results are %+v, %v", all, err)
	}
}

func TestLoadRefusesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	for _, text := range []string{"", "{}", "[1]", "hello", `{"experiment":"x","points":[["GET"]]}`, `{"experiment":"x","settings":[["a","b","c"]]}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
