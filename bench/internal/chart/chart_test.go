package chart

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
)

func sample() Chart {
	return Chart{Title: "GET <by> goroutines & more", Axis: Axis{"requests per second", More}, Across: "goroutines", Cases: []string{"1", "64"}, Series: []Series{
		{"Howdah", Howdah, []float64{6000, 98000}},
		{"other", Redis, []float64{math.NaN(), 65000}},
	}}
}

func TestPicturesAreWellFormed(t *testing.T) {
	for name, picture := range map[string]string{
		"lines": sample().Lines(), "bars": sample().Bars(),
		"empty lines": Chart{}.Lines(), "empty bars": Chart{}.Bars(),
		"zeros": Chart{Cases: []string{"a"}, Series: []Series{{"s", Plain, []float64{0}}}}.Bars(),
	} {
		d := xml.NewDecoder(strings.NewReader(picture))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, picture)
			}
		}
		if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
			t.Errorf("%s holds what is not a number:\n%s", name, picture)
		}
	}
	for _, picture := range []string{sample().Lines(), sample().Bars()} {
		for _, want := range []string{"Howdah", "98 k", "other", string(Howdah), string(Redis), "requests per second (more is better)"} {
			if !strings.Contains(picture, want) {
				t.Errorf("%q is missing from\n%s", want, picture)
			}
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0312: "0.031", 0.5: "0.5", 1: "1", 1.256: "1.26", 12.34: "12.3", 456.7: "457",
		1500: "1.5 k", 9000: "9 k", 98123: "98 k", 1234567: "1.23 M", -20: "-20",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
	if Number(math.NaN()) != "–" {
		t.Error("what was not measured must be a dash")
	}
}

func TestTicks(t *testing.T) {
	for _, top := range []float64{0.003, 1, 7, 10, 99, 100, 166_000} {
		got := ticks(top)
		if got[0] != 0 || got[len(got)-1] < top || len(got) < 3 || len(got) > 12 {
			t.Errorf("ticks up to %v: %v", top, got)
		}
	}
}

func TestLabelsDoNotCoverEachOther(t *testing.T) {
	got := spread([]label{{y: 50}, {y: 10}, {y: 12}, {y: 11}}, 16)
	for i := 1; i < len(got); i++ {
		if got[i].y-got[i-1].y < 16 {
			t.Errorf("%v", got)
		}
	}
}

func TestOverTime(t *testing.T) {
	c := OverTime{
		Title: "p99 <ms>", Axis: Axis{"milliseconds", Less}, Log: true, Limit: 2, Band: [2]float64{1, 2}, Legend: "snapshot held",
		Lines: []Line{{"a", Howdah, []float64{0, 1, 3}, []float64{0.5, 200, 0}}, {"nothing", Plain, nil, nil}},
	}
	picture := c.SVG()
	for _, want := range []string{"p99 &lt;ms&gt;", "snapshot held", "milliseconds (less is better)", "stroke-dasharray", ">1 k<", ">0.1<"} {
		if !strings.Contains(picture, want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	for _, bad := range []string{"NaN", "Inf"} {
		if strings.Contains(picture, bad) || strings.Contains(OverTime{}.SVG(), bad) {
			t.Errorf("the picture holds %s", bad)
		}
	}
}

// One contestant, one colour; and no colour is that of two contestants.
func TestColours(t *testing.T) {
	if _, err := ColourOf("a new rival"); err == nil {
		t.Error("a contestant without a colour has one")
	}
	seen := map[Colour]string{}
	for name, colour := range map[string]Colour{
		"Howdah": Howdah, "Howdah in memory": Memory, "Redis": Redis, "rueidis": Rueidis, "Memcached": Memcached, "plain": Plain, "nothing": Nothing,
	} {
		if other, taken := seen[colour]; taken {
			t.Errorf("%s and %s have the colour %s", name, other, colour)
		}
		seen[colour] = name
	}
	for name, colour := range contestants {
		if seen[colour] == "" {
			t.Errorf("%s has a colour of its own, %s", name, colour)
		}
	}
}
