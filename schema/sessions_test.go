package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

const (
	sessionID = "'01890000-0000-7000-8000-000000000001'"
	hash      = "sha256('secret')"
)

// What a runtime role needs for sessions it has, and no more.
func TestRuntimeRoleAndSessions(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "app")
	refused(t, app, "42501", "SELECT * FROM howdah.sessions")
	run(t, owner, "SELECT howdah.grant_runtime($1)", role)
	for _, call := range []string{
		"session_create(" + sessionID + ", " + hash + ", 'ada', user_limit => 1, revoke_oldest => true)",
		"session_get(" + sessionID + ", " + hash + ")", "session_save(" + sessionID + ", " + hash + ", 1, '{}')",
		"session_merge(" + sessionID + ", " + hash + `, '{"a": 1}')`, "session_touch('{}')", "session_touch(ARRAY[" + sessionID + "::uuid])",
		"session_rotate(" + sessionID + ", " + hash + ", sha256('new'), user_limit => 1)",
		"session_list('ada')", "session_count()", "session_count('ada')",
		"session_end(" + sessionID + ", " + hash + ")", "session_revoke(" + sessionID + ")", "session_revoke_user('ada')",
		"session_put(" + sessionID + ", " + hash + ", '', '1 hour')", "session_bury(" + sessionID + ", " + hash + ")", "session_expire()",
	} {
		run(t, app, "SELECT * FROM howdah."+call)
	}
	for _, sql := range []string{
		"TRUNCATE howdah.session", "ALTER TABLE howdah.session DROP COLUMN ip", "DROP VIEW howdah.sessions", "DELETE FROM howdah.session_hand",
	} {
		refused(t, app, "42501", sql)
	}

	// Support looks at the view, and at nothing else.
	support, desk := newRole(t, databaseURL, "support")
	run(t, owner, "GRANT USAGE ON SCHEMA howdah TO "+pgx.Identifier{support}.Sanitize())
	run(t, owner, "GRANT SELECT ON howdah.sessions TO "+pgx.Identifier{support}.Sanitize())
	require.Equal(t, 0, one[int](t, desk, "SELECT count(*) FROM howdah.sessions"))
	refused(t, desk, "42501", "SELECT secret_hash FROM howdah.session")
	require.Equal(t, []string{"id", "user_id", "created_at", "last_seen_at", "expires_at", "absolute_expires_at", "ip", "user_agent", "version", "payload_bytes"},
		all[string](t, desk, "SELECT attname::text FROM pg_attribute WHERE attrelid = 'howdah.sessions'::regclass AND attnum > 0 ORDER BY attnum"))
}

func TestSessionArguments(t *testing.T) {
	t.Parallel()
	db := open(t)
	create := func(rest string) string { return "SELECT howdah.session_create(" + sessionID + ", " + rest + ")" }
	for code, calls := range map[string][]string{
		"HW012": {
			"SELECT howdah.session_create(NULL, " + hash + ")", create("NULL"), create("'secret'"), create("sha512('secret')"),
			create(hash + ", ''"), create(hash + ", repeat('u', 1025)"), create(hash + ", payload => NULL"),
			create(hash + ", user_agent => repeat('u', 1025)"), create(hash + ", user_limit => 0"),
			"SELECT howdah.session_rotate(" + sessionID + ", " + hash + ", 'short')",
			"SELECT howdah.session_rotate(" + sessionID + ", " + hash + ", " + hash + ", user_limit => -1)",
			"SELECT howdah.session_save(" + sessionID + ", " + hash + ", 1, NULL)",
			"SELECT howdah.session_put(" + sessionID + ", " + hash + ", NULL, '1 s')",
			"SELECT howdah.session_expire(0)", "SELECT howdah.session_expire(1, 0)", "SELECT howdah.session_expire(NULL)",
		},
		"HW009": {
			create(hash + ", idle => '0 s'"), create(hash + ", idle => '-1 s'"), create(hash + ", idle => '100 years'"), create(hash + ", lifetime => '0'"),
			create(hash + ", skip => '-1 s'"), "SELECT howdah.session_put(" + sessionID + ", " + hash + ", '', NULL)",
			"SELECT howdah.session_rotate(" + sessionID + ", " + hash + ", " + hash + ", lifetime => '-1 s')",
		},
		"HW008": {
			create(hash + ", payload => convert_to(repeat('x', 1048577), 'UTF8')"),
		},
	} {
		for _, call := range calls {
			refused(t, db, code, call)
		}
	}
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM howdah.session"))

	run(t, db, create(hash+", 'ada', user_limit => 1, idle => '1 microsecond', lifetime => '1 ms'"))
	require.Equal(t, "00:00:01", one[string](t, db, "SELECT (absolute_expires_at - created_at)::text FROM howdah.session"), "whole seconds, rounded up")
	refused(t, db, "23505", create(hash))
	refused(t, db, "HW013", "SELECT howdah.session_create(gen_random_uuid(), "+hash+", 'ada', user_limit => 1)")
	run(t, db, "SELECT howdah.session_create(gen_random_uuid(), "+hash+", idle => NULL, lifetime => NULL)")
}

// A transaction whose snapshot is older than another login would not count that.
func TestSessionLimitNeedsReadCommitted(t *testing.T) {
	t.Parallel()
	db := open(t)
	const login = "SELECT howdah.session_create(gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'ada'"
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		tx, err := db.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: level})
		require.NoError(t, err)
		defer tx.Rollback(ctx(t))
		run(t, tx, login+")")
		run(t, tx, "SELECT howdah.session_create(gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), user_limit => 1)") // of nobody
		refused(t, tx, "HW016", login+", user_limit => 1)")
		require.NoError(t, tx.Rollback(ctx(t)))
	}
	run(t, db, login+", user_limit => 1)")
	refused(t, db, "HW013", login+", user_limit => 1)")
}

// Each round is bounded, and rounds go all the way around.
func TestSessionExpireIsBounded(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `
		INSERT INTO howdah.session (id, secret_hash, idle_expires_at, absolute_expires_at, payload)
		SELECT gen_random_uuid(), `+hash+`, statement_timestamp() + CASE WHEN i % 10 = 0 THEN 1 ELSE -1 END * interval '1 hour',
		       statement_timestamp() + '1 day', convert_to(repeat('x', 1000), 'UTF8')
		FROM generate_series(1, 5000) AS i`)
	round := func(args string) (expired int64, more bool) {
		require.NoError(t, db.QueryRow(ctx(t), "SELECT * FROM howdah.session_expire("+args+")").Scan(&expired, &more))
		return expired, more
	}
	expired, more := round("100")
	require.EqualValues(t, 100, expired)
	require.True(t, more)
	expired, more = round("5000, 256") // 256 of some 900 blocks
	require.Less(t, expired, int64(2000))
	require.Positive(t, expired)
	require.False(t, more)
	total := 100 + expired
	for range 4 {
		expired, _ = round("5000, 256")
		total += expired
	}
	require.EqualValues(t, 4500, total)
	require.Equal(t, 500, one[int](t, db, "SELECT count(*) FROM howdah.session"))
	require.Equal(t, 500, one[int](t, db, "SELECT howdah.session_count()"))

	// One at a time; and a row that somebody holds is left for the next lap.
	run(t, db, "UPDATE howdah.session SET idle_expires_at = statement_timestamp()")
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	require.Len(t, all[string](t, tx, "SELECT id::text FROM howdah.session LIMIT 3 FOR UPDATE"), 3)
	expired, _ = round("5000")
	require.EqualValues(t, 497, expired)
	run(t, tx, "SELECT howdah.session_expire()")
	expired, _ = round("")
	require.Zero(t, expired)
	require.NoError(t, tx.Rollback(ctx(t)))
	expired, _ = round("")
	require.EqualValues(t, 3, expired)
	run(t, db, "TRUNCATE howdah.session")
	expired, more = round("")
	require.Zero(t, expired)
	require.False(t, more)
}

// A read is one probe of the primary key, and the plan of every verb stays
// with the index however small the table was.
func TestSessionReadsUseTheIndex(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `
		INSERT INTO howdah.session (id, secret_hash, user_id, idle_expires_at, absolute_expires_at)
		SELECT gen_random_uuid(), `+hash+`, 'u' || i % 1000, 'infinity', 'infinity' FROM generate_series(1, 20000) AS i`)
	run(t, db, "ANALYZE howdah.session")
	for sql, index := range map[string]string{
		"SELECT * FROM howdah.session_get(" + sessionID + ", " + hash + ")": "Index Scan using session_pkey",
		"SELECT * FROM howdah.session_list('u7')":                           "session_by_user",
	} {
		plan := ""
		for _, line := range all[string](t, db, "EXPLAIN "+sql) {
			plan += line + "\n"
		}
		require.Contains(t, plan, index, "the function is inlined: %s", plan)
	}
}

// Where VACUUM has last seen no session, the planner expects one, and to read
// the table costs as little as to look one up: a touch looks up all the same.
func TestTouchLooksUp(t *testing.T) {
	t.Parallel()
	db := open(t)
	const fill = `INSERT INTO howdah.session (id, secret_hash, idle_seconds, idle_expires_at, absolute_expires_at)
		SELECT gen_random_uuid(), sha256('x'), 1800, statement_timestamp() + '1 min', statement_timestamp() + '1 day' FROM generate_series(1, 10000)`
	for _, sql := range []string{
		"ALTER TABLE howdah.session SET (autovacuum_enabled = off)", fill, "DELETE FROM howdah.session", "VACUUM howdah.session", fill,
	} {
		run(t, db, sql)
	}
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "SET LOCAL enable_seqscan = off") // as the library does
	const fetched = "SELECT pg_stat_get_xact_tuples_fetched('howdah.session_pkey'::regclass)"
	before := one[int64](t, tx, fetched)
	require.EqualValues(t, 1000, one[int64](t, tx, "SELECT touched FROM howdah.session_touch(ARRAY(SELECT id FROM howdah.session LIMIT 1000))"))
	read := one[int64](t, tx, fetched) - before
	require.Positive(t, read)
	require.Less(t, read, int64(9000), "1000 sessions were looked up in three steps; the table has 10000")
}
