package redisapi

import "testing"

func TestGlobPrefix(t *testing.T) {
	t.Parallel()
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
