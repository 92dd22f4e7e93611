package doctor

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each check has one harm, and no harm names a check that there is not.
func TestEachCheckHasAHarm(t *testing.T) {
	t.Parallel()
	var weighed []string
	for _, group := range harms {
		weighed = append(weighed, strings.Fields(group.checks)...)
	}
	var known []string
	for id := range Checks() {
		known = append(known, id)
	}
	require.ElementsMatch(t, known, weighed)
}

// The report begins with what is worst, and with tables that are not Howdah's last.
func TestTheGreatestHarmComesFirst(t *testing.T) {
	t.Parallel()
	finding := func(id string, severity Severity, handMade bool) Finding {
		harm, _ := harmOf(id)
		return Finding{ID: id, Severity: severity, Object: "o", Evidence: "e", Why: "w", Harm: harm, handMade: handMade}
	}
	r := &Report{Findings: []Finding{
		finding("jit-on", Info, false), finding("timestamp-without-zone", Warning, true), finding("bloat", Warning, false),
		finding("sequential-session-id", Error, true), finding("cache-extra-index", Warning, false),
		finding("synchronous-commit-off", Warning, false), finding("fsync-off", Error, false),
	}}
	slices.SortStableFunc(r.Findings, heavier)
	var ids []string
	for _, f := range r.Findings {
		ids = append(ids, f.ID)
	}
	require.Equal(t, []string{"fsync-off", "sequential-session-id", "synchronous-commit-off", "bloat", "cache-extra-index",
		"timestamp-without-zone", "jit-on"}, ids)
	require.Equal(t, "Begin with fsync-off of o: it loses data or makes answers wrong.", r.Begin())
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text, Style{Width: 100}))
	require.Contains(t, text.String(), r.Begin())

	r.Findings = r.Findings[6:]
	require.Empty(t, r.Begin(), "information alone asks for nothing")
}
