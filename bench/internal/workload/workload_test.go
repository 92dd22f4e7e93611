package workload

import (
	"bytes"
	"math"
	"testing"
)

func TestSourceIsRepeatableAndVaries(t *testing.T) {
	spec := Spec{Keys: 1000, ValueSize: 250, Seed: 1}
	first, second := NewSources(spec, 5), NewSources(spec, 4)
	a, b, other := first[3], second[3], first[4]
	same := true
	for range 100 {
		i := a.Next()
		if j := b.Next(); i != j {
			t.Fatalf("one seed gave %d and %d", i, j)
		}
		if i < 0 || i >= spec.Keys {
			t.Fatalf("key %d is out of range", i)
		}
		same = same && i == other.Next()
		if a.Key(i) != Key(i) {
			t.Fatalf("key %d is called %q", i, a.Key(i))
		}
		v := bytes.Clone(a.Value(i))
		if err := spec.Check(i, v); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(v, a.Value(i)) {
			t.Fatal("two values of one key are equal")
		}
		b.Value(i)
		b.Value(i)
	}
	if same {
		t.Error("two workers choose the same keys")
	}
}

func TestCheckFindsWrongAnswers(t *testing.T) {
	spec := Spec{Keys: 10, ValueSize: 16}
	v := NewSources(spec, 1)[0].Value(3)
	if spec.Check(4, v) == nil {
		t.Error("the value of another key was accepted")
	}
	if spec.Check(3, v[:15]) == nil || spec.Check(3, nil) == nil {
		t.Error("a short value was accepted")
	}
}

func TestZipfPrefersFew(t *testing.T) {
	src := NewSources(Spec{Keys: 10000, ValueSize: 8, Zipf: 1.2, Seed: 5}, 1)[0]
	first := 0
	for range 10000 {
		if src.Next() < 100 {
			first++
		}
	}
	if first < 5000 {
		t.Errorf("the first hundredth of the keys got %d of 10000 choices", first)
	}
}

func TestValidate(t *testing.T) {
	for _, bad := range []Spec{{}, {Keys: 1, ValueSize: 7}, {Keys: 1, ValueSize: 8, Zipf: 1}, {Keys: -1, ValueSize: 8},
		{Keys: 1, ValueSize: 8, Zipf: math.NaN()}, {Keys: 1, ValueSize: 8, Zipf: math.Inf(1)}} {
		if bad.Validate() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	if err := (Spec{Keys: 1, ValueSize: 8, Zipf: 1.01}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestKeyHasSixteenBytes(t *testing.T) {
	if k := Key(99999); k != "key:000000099999" {
		t.Errorf("got %q", k)
	}
}
