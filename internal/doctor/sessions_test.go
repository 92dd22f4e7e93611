package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// 3,000 sessions of an hour, beginning at a time.
func sessionsFrom(since string) string {
	return `INSERT INTO howdah.session (id, secret_hash, created_at, idle_expires_at, absolute_expires_at)
		SELECT gen_random_uuid(), decode(repeat('00', 32), 'hex'), s, s + interval '1 h', s + interval '1 h'
		FROM (SELECT ` + since + ` AS s) AS s, generate_series(1, 3000)`
}

// Howdah's own session table is examined as its caches are.
func TestSessionFaults(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	noAutovacuum := "ALTER TABLE howdah.session SET (autovacuum_enabled = off)"
	for _, c := range []struct {
		name, id, object string
		severity         doctor.Severity
		plant            []string
		mend             string
	}{
		{"unlogged", "unlogged-sessions", "howdah.session", doctor.Error, []string{"ALTER TABLE howdah.session SET UNLOGGED"}, ""},
		{"fillfactor", "cache-settings-drift", "howdah.session", doctor.Warning, []string{"ALTER TABLE howdah.session SET (fillfactor = 100)"}, ""},
		{"autovacuum", "cache-settings-drift", "howdah.session", doctor.Warning, []string{noAutovacuum,
			"ALTER TABLE howdah.session RESET (autovacuum_vacuum_scale_factor)"}, ""},
		{"index on the expiry", "cache-index-breaks-hot", "howdah.by_expiry", doctor.Warning,
			[]string{"CREATE INDEX by_expiry ON howdah.session (idle_expires_at)"}, ""},
		{"index on the address", "cache-extra-index", "howdah.by_ip", doctor.Warning, []string{"CREATE INDEX by_ip ON howdah.session (ip)"}, ""},
		{"dead rows", "dead-rows", "howdah.session", doctor.Warning, []string{noAutovacuum, sessionsFrom("now()"), "DELETE FROM howdah.session"},
			"ALTER TABLE howdah.session RESET (autovacuum_enabled)"},
		{"bloat", "bloat", "howdah.session", doctor.Warning, []string{noAutovacuum, sessionsFrom("now()"),
			"DELETE FROM howdah.session WHERE id NOT IN (SELECT id FROM howdah.session LIMIT 50)"},
			"ALTER TABLE howdah.session RESET (autovacuum_enabled)"},
		{"backlog", "expiry-backlog", "howdah.session", doctor.Warning, []string{sessionsFrom("now() - interval '61 min'")}, ""},
		{"nobody", "upkeep-missing", "upkeep", doctor.Warning, []string{"DELETE FROM howdah.upkeep", sessionsFrom("now() - interval '2 h'")}, ""},
		{"moved rows", "low-hot-ratio", "howdah.session", doctor.Warning, []string{"ALTER TABLE howdah.session SET (fillfactor = 100)", sessionsFrom("now()"),
			"ALTER TABLE howdah.session SET (fillfactor = 80)", "UPDATE howdah.session SET last_seen_at = now()"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			eventually(t, func() bool { // what the case before did may be counted late
				if len(about(examine(t, conn, low))) == 0 {
					return true
				}
				run(t, conn, "VACUUM (ANALYZE) howdah.session")
				return false
			}, "the sessions of the case before are still found")
			run(t, conn, c.plant...)
			f := await(t, conn, low, c.id, c.object)
			require.Equal(t, c.severity, f.Severity)
			if c.id == "low-hot-ratio" { // the counts stay; only the repair is to be looked at
				require.Equal(t, []string{"ALTER TABLE howdah.session SET (fillfactor = 65)"}, f.Repair)
				run(t, conn, f.Repair...)
				require.Nil(t, find(examine(t, conn, low), "cache-settings-drift", ""), "a lower fillfactor is the owner's choice")
				return
			}
			repair(t, conn, conn, low, f)
			if c.mend != "" {
				run(t, conn, c.mend)
			}
			run(t, conn, "TRUNCATE howdah.session")
		})
	}
}

// Sessions that were ended are kept on purpose, and are no backlog.
func TestEndedSessions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, sessionsFrom("now()"), "UPDATE howdah.session SET idle_expires_at = '-infinity'")
	r := examine(t, conn, low)
	require.Nil(t, find(r, "expiry-backlog", ""))
	require.Nil(t, find(r, "upkeep-missing", ""))
}
