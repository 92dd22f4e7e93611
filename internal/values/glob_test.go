package values

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", false}, // Redis treats a lone star apart, and so do KEYS and SCAN
		{"*", "a", true},
		{"**a**", "ba", true},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "aXbY", false},
		{"?", "", false},
		{"?", "\xff", true},
		{"h[ae]llo", "hallo", true},
		{"h[^e]llo", "hello", false},
		{"h[a-c]llo", "hbllo", true},
		{"h[c-a]llo", "hbllo", true},
		{"h[a-]llo", "h-llo", false}, // the range from a to ], and no end
		{"h[\\]]llo", "h]llo", true},
		{"h[abc", "ha", true},
		{"h[^abc", "hx", true},
		{"h[", "h", false},
		{"h[]llo", "hllo", false},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\", "a\\", true},
		{"", "", true},
		{"", "a", false},
		{"a", "A", false},
	} {
		if got := Match([]byte(test.pattern), []byte(test.text)); got != test.want {
			t.Errorf("Match(%q, %q) = %v", test.pattern, test.text, got)
		}
	}
}

// TestGlobTime checks that no pattern takes exponential time, in which the test would not end.
func TestGlobTime(t *testing.T) {
	t.Parallel()
	Match([]byte(strings.Repeat("a*", 200)+"b"), []byte(strings.Repeat("a", 20000)))
	Match([]byte(strings.Repeat("*", 5000)+"b"), []byte(strings.Repeat("a", 20000)))
}
