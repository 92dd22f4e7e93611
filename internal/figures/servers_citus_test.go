//go:build citus

package figures

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// The doctor of the console examines all servers, with the rights of an application.
func TestCitusDoctor(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	c.Role("app")
	c.Divide(4)
	f := open(t, pgtest.AsRole(c.Coordinator().URL(), "app"), Options{})
	unfit := func() (evidence string) {
		for _, finding := range f.Examine(t.Context()).Value.Findings {
			if finding.ID == "server-unfit" {
				evidence += finding.Object + ": " + finding.Evidence
			}
			require.False(t, finding.ID == "not-checked" && strings.Contains(finding.Object, "Citus"), finding.Evidence)
		}
		return evidence
	}
	require.Empty(t, unfit())
	conn, err := pgx.Connect(t.Context(), pgtest.LocalURL(c.Nodes()[1].URL()))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "UPDATE howdah_internal.cache SET fillfactor = 40")
	require.NoError(t, err)
	require.Contains(t, unfit(), "it knows other caches, or other settings, than the coordinator")
}
