//go:build peers

package pgtest_test

import (
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/stretchr/testify/require"
)

// The copy that tests make restores as that of PostgreSQL's own program does.
func TestPgBaseBackup(t *testing.T) {
	s := pgtest.Own(t, "fsync", "off")
	run(t, s.URL(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1); CREATE UNLOGGED TABLE lost (n int); INSERT INTO lost VALUES (1)")
	for name, b := range map[string]*pgtest.Backup{"ours": s.Backup(), "pg_basebackup": s.PgBaseBackup()} {
		t.Run(name, func(t *testing.T) {
			restored := b.Restore()
			require.Equal(t, 1, count(t, restored.URL()))
			conn := connect(t, restored.URL())
			require.EqualValues(t, 0, ask[int](t, conn, "SELECT count(*) FROM lost"))
			run(t, restored.URL(), "INSERT INTO lost VALUES (1)")
		})
	}
}
