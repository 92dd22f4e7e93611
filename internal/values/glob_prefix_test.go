package values

import "testing"

// The bytes before the first wildcard are sought by PostgreSQL.
func TestMatchPrefix(t *testing.T) {
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
		if got := string(MatchPrefix([]byte(pattern))); got != want {
			t.Errorf("MatchPrefix(%q) = %q, want %q", pattern, got, want)
		}
	}
}
