package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
)

// What waits for an exclusive lock waits briefly; what would leave a half-made
// index, or blocks no other session, may wait.
func TestSteps(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]struct {
		wait    time.Duration
		warning string
	}{
		"CREATE INDEX CONCURRENTLY a ON b (c)":                                {0, "invalid index"},
		"DROP INDEX CONCURRENTLY a":                                           {0, "invalid index"},
		"DROP INDEX IF EXISTS howdah_internal.a":                              {2 * time.Second, "for a moment"},
		"VACUUM (FULL, ANALYZE) a":                                            {2 * time.Second, "disk space"},
		"VACUUM (FREEZE)":                                                     {0, ""},
		"ANALYZE a":                                                           {0, ""},
		"ALTER TABLE public.cache SET (fillfactor = 70)":                      {2 * time.Second, ""},
		"ALTER TABLE public.cache ALTER COLUMN key TYPE text":                 {2 * time.Second, "locks the table"},
		"ALTER TABLE a SET LOGGED":                                            {2 * time.Second, "locks the table"},
		"SELECT howdah.alter_cache('a', max_bytes => 1)":                      {2 * time.Second, ""},
		"SELECT howdah.alter_cache('a', durability => 'async')":               {2 * time.Second, "locks the table"},
		"SELECT howdah.drop_cache('a')":                                       {2 * time.Second, "all that it holds"},
		"SELECT pg_terminate_backend(1)":                                      {2 * time.Second, "another program"},
		"ALTER SYSTEM SET fsync = 'on'":                                       {2 * time.Second, "all databases"},
		"DELETE FROM a AS old USING a AS new WHERE old.k = new.k":             {30 * time.Second, "rows"},
		"DO $$\nBEGIN\n DELETE FROM a; COMMIT;\nEND\n$$":                      {30 * time.Second, "rows"},
		"GRANT pg_read_all_stats TO a":                                        {2 * time.Second, ""},
		"ALTER DATABASE a SET idle_in_transaction_session_timeout = '1min'":   {2 * time.Second, ""},
		"ALTER TABLE x.\"a (b\" ALTER COLUMN key TYPE text USING key::text":   {2 * time.Second, "locks the table"},
		"SELECT howdah.alter_cache('durability', fillfactor => 70)":           {2 * time.Second, ""},
		"REVOKE GRANT OPTION FOR SELECT ON howdah.cache_db0 FROM app CASCADE": {2 * time.Second, ""},
	} {
		f := doctor.Finding{Repair: []string{statement}}
		steps := f.Steps()
		require.Len(t, steps, 1)
		require.Equal(t, statement, steps[0].Statement)
		require.Equal(t, want.wait, steps[0].LockTimeout, statement)
		require.Equal(t, !strings.Contains(statement, "CONCURRENTLY") && !strings.HasPrefix(statement, "VACUUM") && !strings.HasPrefix(statement, "DO "), steps[0].Atomic, statement)
		if want.warning == "" {
			require.Empty(t, steps[0].Warning, statement)
		} else {
			require.Contains(t, steps[0].Warning, want.warning, statement)
		}
	}
	require.Empty(t, (&doctor.Finding{}).Steps())
}
