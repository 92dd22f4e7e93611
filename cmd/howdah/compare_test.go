package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/transfer"
)

// What a terminal shows has neither links of Markdown nor blanks at the ends of lines.
func TestComparisonIsPlainText(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, printComparison(&out, &transfer.Comparison{
		Server:  "Redis 7.0.15",
		Missing: []transfer.Use{{Command: "xadd", Calls: 1}},
		Differs: []transfer.Use{{Command: "config|set", Calls: 1, Note: "It is kept in the database ([events.md](events.md))."}},
		Notes:   []transfer.Setting{{Name: "maxmemory", Value: "0", Note: "no limit"}},
		Suggest: []string{"howdah serve"},
	}))
	require.Contains(t, out.String(), "It is kept in the database (events.md).\n")
	require.NotContains(t, out.String(), " \n")
}
