package redisapi

import (
	"strings"
	"testing"
	"time"
)

func TestMatchGlob(t *testing.T) {
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
		if got := matchGlob([]byte(test.pattern), []byte(test.text)); got != test.want {
			t.Errorf("matchGlob(%q, %q) = %v", test.pattern, test.text, got)
		}
	}
}

// TestGlobTime checks that no pattern takes exponential time.
func TestGlobTime(t *testing.T) {
	begin := time.Now()
	matchGlob([]byte(strings.Repeat("a*", 200)+"b"), []byte(strings.Repeat("a", 20000)))
	matchGlob([]byte(strings.Repeat("*", 5000)+"b"), []byte(strings.Repeat("a", 20000)))
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestGlobPrefix(t *testing.T) {
	for pattern, want := range map[string]string{
		"user:*":    "user:",
		"*":         "",
		"a?":        "a",
		"a[bc]":     "a",
		"a\\*b*":    "a*b",
		"a\\":       "a\\",
		"plain":     "plain",
		"\x00\xff*": "\x00\xff",
	} {
		if got := string(globPrefix([]byte(pattern))); got != want {
			t.Errorf("globPrefix(%q) = %q, want %q", pattern, got, want)
		}
	}
}
