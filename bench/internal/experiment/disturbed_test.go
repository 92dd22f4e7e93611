package experiment

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
)

func TestDisturbancesAreNoted(t *testing.T) {
	for _, c := range []struct {
		whole  float64
		others []float64
		note   string
	}{
		{0.02, []float64{0.01, 0.09}, ""},
		{0.02, []float64{0.01, 0.3, 0.02}, "used 2 % of the machine, and more than 10 % in 1 of 3 turns."},
		{0.4, nil, "used 40 % of the machine."},
	} {
		b, r := &Bench{others: c.others}, &result.Result{}
		b.describeOthers(r, c.whole)
		if notes := strings.Join(r.Notes, " "); !strings.HasSuffix(notes, c.note) || (notes == "") != (c.note == "") {
			t.Errorf("%v, %v: the notes are %q", c.whole, c.others, notes)
		}
		if len(r.Settings) != 1 {
			t.Errorf("%v, %v: the settings are %v", c.whole, c.others, r.Settings)
		}
	}
}
