package result

import "testing"

// A claim is judged from the spread of its rounds, not from their median.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		rounds []float64
		least  string // of "at least 1"
		most   string // of "at most 1"
	}{
		{"clearly above", []float64{1.4, 1.2, 1.3}, Confirmed, Refuted},
		{"clearly below", []float64{0.7, 0.9, 0.8}, Refuted, Confirmed},
		{"the median is above, one round is not", []float64{1.5, 0.9, 1.6}, Depends, Depends},
		{"the median is below, one round is not", []float64{0.5, 1.1, 0.6}, Depends, Depends},
		{"at the bound", []float64{1, 1, 1}, Confirmed, Confirmed},
		{"not measured", nil, Depends, Depends},
		{"one round", []float64{3}, Depends, Depends},
	} {
		if got := AtLeast(c.rounds, 1); got != c.least {
			t.Errorf("%s: at least 1 is %s, want %s", c.name, got, c.least)
		}
		if got := AtMost(c.rounds, 1); got != c.most {
			t.Errorf("%s: at most 1 is %s, want %s", c.name, got, c.most)
		}
	}
	for _, c := range []struct {
		rounds []float64
		want   string
	}{
		{[]float64{1.01, 0.97, 1}, Confirmed}, {[]float64{1.2, 1.01, 0.97}, Depends},
		{[]float64{1.2, 1.3}, Refuted}, {[]float64{0.8, 0.7}, Refuted}, {[]float64{0.8, 1.2}, Depends},
	} {
		if got := Within(c.rounds, 0.9, 1.1); got != c.want {
			t.Errorf("%v lies between 0.9 and 1.1: %s, want %s", c.rounds, got, c.want)
		}
	}
	if got := All(Confirmed, Depends, Refuted); got != Refuted {
		t.Errorf("one refuted part gives %s", got)
	}
	if got := All(Confirmed, Depends); got != Depends {
		t.Errorf("one doubtful part gives %s", got)
	}
	if got := All(Confirmed, Confirmed); got != Confirmed {
		t.Errorf("confirmed parts give %s", got)
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, Depends}, {[]string{Refuted, Refuted}, Refuted}, {[]string{Confirmed, Confirmed}, Confirmed}, {[]string{Confirmed, Refuted}, Depends},
	} {
		if got := Agree(c.words...); got != c.want {
			t.Errorf("%v agree on %s, want %s", c.words, got, c.want)
		}
	}
}

// The words come from ratios within each round, so that a busy moment, which
// slows both, does not decide.
func TestRatioOf(t *testing.T) {
	var r Result
	for _, v := range []float64{100, 10, 55} {
		r.Add("g", "c", "fast", "rate", "/s", 3*v)
		r.Add("g", "c", "slow", "rate", "/s", v)
	}
	if got := AtLeast(r.RatioOf("g", "c", "rate", "fast", "slow"), 2.9); got != Confirmed {
		t.Errorf("three times in every round is %s", got)
	}
	if got := r.RatioOf("g", "c", "rate", "fast", "nobody"); got != nil {
		t.Errorf("a ratio to nobody is %v", got)
	}
}
