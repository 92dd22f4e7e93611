package result

import "slices"

// A verdict must not hang on one lucky round. A comparison therefore holds
// only if it does so in every round, and fails only if it fails in every
// round; what lies in between depends on the round. "Every" needs two rounds
// at least.
const fewestRounds = 2

// AtLeast judges the claim that a number is not below a bound, from its
// rounds. Fewer than two of them neither confirm nor refute anything.
func AtLeast(rounds []float64, bound float64) string {
	if len(rounds) < fewestRounds {
		return Depends
	}
	switch {
	case slices.Min(rounds) >= bound:
		return Confirmed
	case slices.Max(rounds) < bound:
		return Refuted
	}
	return Depends
}

// AtMost judges the claim that a number is not above a bound.
func AtMost(rounds []float64, bound float64) string {
	if len(rounds) < fewestRounds {
		return Depends
	}
	switch {
	case slices.Max(rounds) <= bound:
		return Confirmed
	case slices.Min(rounds) > bound:
		return Refuted
	}
	return Depends
}

// Within judges the claim that a number lies between two bounds.
func Within(rounds []float64, low, high float64) string {
	return All(AtLeast(rounds, low), AtMost(rounds, high))
}

// All judges a claim of several parts: one part that is refuted refutes it,
// and it is confirmed if all of them are.
func All(words ...string) string {
	switch {
	case slices.Contains(words, Refuted):
		return Refuted
	case slices.Contains(words, Depends):
		return Depends
	}
	return Confirmed
}

// Agree judges a claim from several sides: what they all say, or Depends.
func Agree(words ...string) string {
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return w != words[0] }) {
		return Depends
	}
	return words[0]
}
