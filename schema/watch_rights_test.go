package schema_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// shop is a database with three roles: the owner of Howdah, the owner of an
// application's tables, and one that may only change rows of them.
type shop struct {
	howdah, owner, clerk *pgxpool.Pool
	ownerName, clerkName string
}

func newShop(t *testing.T) shop {
	t.Helper()
	databaseURL := newDatabase(t)
	s := shop{howdah: connect(t, databaseURL)}
	run(t, s.howdah, "SELECT howdah.create_cache('c')")
	s.ownerName, s.owner = newRole(t, databaseURL, "shop owner")
	s.clerkName, s.clerk = newRole(t, databaseURL, "clerk")
	owner, clerk := pgx.Identifier{s.ownerName}.Sanitize(), pgx.Identifier{s.clerkName}.Sanitize()
	super := connect(t, pgtest.SuperURL(databaseURL))
	run(t, super, "CREATE SCHEMA shop AUTHORIZATION "+owner+"; CREATE SCHEMA clerk AUTHORIZATION "+clerk)
	run(t, s.owner, "CREATE TABLE shop.articles (id int PRIMARY KEY, title text); INSERT INTO shop.articles SELECT i FROM generate_series(1, 9) AS i")
	run(t, s.owner, "GRANT USAGE ON SCHEMA shop TO "+clerk+"; GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON shop.articles TO "+clerk)
	return s
}

// Who changes a watched table needs no right on Howdah, and gets none.
func TestWatchNeedsNoRightsOfWriters(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const ask = "SELECT howdah.watch_table('shop.articles', 'c', $$'article:' || id$$)"
	refused(t, s.owner, "42501", ask)
	run(t, s.howdah, "SELECT howdah.grant_runtime($1)", s.clerkName)
	_, err := s.clerk.Exec(ctx(t), ask)
	require.Equal(t, "42501", state(err))
	require.ErrorContains(t, err, "may not watch table shop.articles", "it is not his")
	require.True(t, one[bool](t, s.howdah, "SELECT howdah.revoke_runtime($1)", s.clerkName))
	_, err = connect(t, pgtest.SuperURL(s.howdah.Config().ConnString())).Exec(ctx(t), ask)
	require.Equal(t, "42501", state(err))
	require.ErrorContains(t, err, "may not use the caches", "its owner may not, whoever asks")
	run(t, s.howdah, "SELECT howdah.grant_runtime($1)", s.ownerName)
	run(t, s.owner, ask)
	require.Equal(t, s.ownerName, one[string](t, s.howdah, "SELECT pg_get_userbyid(proowner)::text FROM pg_proc WHERE proname LIKE 'howdah\\_watch\\_%'"))

	fill(t, s.howdah, "c", "article:", 9)
	require.NoError(t, pgx.BeginFunc(ctx(t), s.clerk, func(tx pgx.Tx) error {
		run(t, tx, "UPDATE shop.articles SET title = 'x' WHERE id = 1")
		run(t, tx, "SET CONSTRAINTS ALL IMMEDIATE")
		run(t, tx, "DELETE FROM shop.articles WHERE id = 2")
		return nil
	}))
	run(t, s.clerk, "INSERT INTO shop.articles VALUES (2)")
	require.Equal(t, "3 4 5 6 7 8 9", left(t, s.howdah, "c", "article:", 9))
	function := one[string](t, s.howdah, "SELECT oid::regprocedure::text FROM pg_proc WHERE proname LIKE 'howdah\\_watch\\_%'")
	for _, sql := range []string{
		"SELECT howdah.get('c', 'article:3')", "SELECT * FROM howdah.watches()", "SELECT howdah.unwatch_table('shop.articles', 'c')",
		"SELECT howdah_internal._note_watch('x', 'c', NULL, NULL, NULL)", "INSERT INTO howdah_internal.watch_note (watch, cache) VALUES ('x', 'c')",
		"CREATE TABLE clerk.mine (id int); CREATE TRIGGER t AFTER INSERT ON clerk.mine REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION " + function,
		"CREATE TABLE clerk.mine (id int); CREATE TRIGGER t AFTER INSERT ON clerk.mine EXECUTE FUNCTION howdah_internal._apply_watches()",
	} {
		refused(t, s.clerk, "42501", sql)
	}
	run(t, s.clerk, "TRUNCATE shop.articles")
	require.Empty(t, left(t, s.howdah, "c", "article:", 9))
	// A runtime role notes for its own transaction only.
	refused(t, s.owner, "42501", "INSERT INTO howdah_internal.watch_note (xid, watch, cache) VALUES ('1', 'x', 'c')")
	refused(t, s.owner, "42501", "UPDATE howdah_internal.watch SET failure = 'x'")
	refused(t, s.owner, "42501", "SELECT * FROM howdah_internal.watch_note")
}

// The right to use the caches cannot be taken from the owner of a watched table
// without ending the watch; if it is gone all the same, the table can be written.
func TestRevokeFromTheOwnerOfAWatchedTable(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	run(t, s.howdah, "SELECT howdah.grant_runtime($1)", s.ownerName)
	watch(t, s.owner, "shop.articles", "c", "'article:' || id")
	_, err := s.howdah.Exec(ctx(t), "SELECT howdah.revoke_runtime($1)", s.ownerName)
	require.Equal(t, "2BP01", state(err))
	require.ErrorContains(t, err, "owns tables that are watched: shop.articles.")
	fill(t, s.howdah, "c", "article:", 9)
	run(t, s.clerk, "UPDATE shop.articles SET title = 'x' WHERE id = 1")
	require.Equal(t, "2 3 4 5 6 7 8 9", left(t, s.howdah, "c", "article:", 9), "nothing was revoked")

	run(t, s.howdah, "REVOKE USAGE ON SCHEMA howdah_internal FROM "+pgx.Identifier{s.ownerName}.Sanitize())
	require.Equal(t, "no rights", one[string](t, s.howdah, "SELECT state FROM howdah.watches()"))
	config, err := pgx.ParseConfig(s.clerk.Config().ConnString())
	require.NoError(t, err)
	var warnings []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { warnings = append(warnings, n.Severity+" "+n.Message) }
	conn, err := pgx.ConnectConfig(ctx(t), config)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	run(t, conn, "UPDATE shop.articles SET title = 'y' WHERE id = 2")
	require.Equal(t, []string{"WARNING Entries of cache c may be out of date now."}, warnings)

	run(t, s.howdah, "SELECT howdah.grant_runtime($1)", s.ownerName)
	require.True(t, one[bool](t, s.owner, "SELECT howdah.unwatch_table('shop.articles', 'c')"))
	require.True(t, one[bool](t, s.howdah, "SELECT howdah.revoke_runtime($1)", s.ownerName))
}

// An expression runs with the rights of the table's owner, whoever writes: not with
// those of Howdah's owner, nor of an administrator.
func TestExpressionRunsAsTheOwnerOfTheTable(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	run(t, s.howdah, "SELECT howdah.grant_runtime($1)", s.ownerName)
	run(t, s.howdah, "CREATE TABLE howdah_internal.secret (s text); INSERT INTO howdah_internal.secret VALUES ('s')")
	run(t, s.owner, `CREATE FUNCTION shop.tries() RETURNS text LANGUAGE plpgsql AS $$
		BEGIN UPDATE howdah_internal.cache SET max_ttl = '1 s'; RETURN 'tried'; END $$;
		GRANT USAGE ON SCHEMA shop TO PUBLIC`)
	super := connect(t, pgtest.SuperURL(s.howdah.Config().ConnString()))
	for who, db := range map[string]*pgxpool.Pool{"owner": s.owner, "clerk": s.clerk, "administrator": super} {
		watch(t, super, "shop.articles", "c", "current_user")
		run(t, s.howdah, "SELECT howdah.set_text('c', $1, 'v'), howdah.set_text('c', 'other', 'v')", s.ownerName)
		run(t, db, "UPDATE shop.articles SET title = 'x' WHERE id = 1")
		require.Equal(t, []string{"other"}, all[string](t, s.howdah, "SELECT convert_from(key, 'UTF8') FROM howdah.cache_c"), who)

		watch(t, s.owner, "shop.articles", "c", "shop.tries()")
		run(t, db, "UPDATE shop.articles SET title = 'x' WHERE id = 1")
		require.Contains(t, one[string](t, s.howdah, "SELECT failure FROM howdah.watches()"), "42501", who)
		require.Zero(t, one[int](t, s.howdah, "SELECT count(max_ttl) FROM howdah_internal.cache"), who)
	}
	_, err := s.owner.Exec(ctx(t), "SELECT howdah.watch_table('shop.articles', 'c', '(SELECT s FROM howdah_internal.secret)')")
	require.Equal(t, "42501", state(err))
}

// Names that a writer puts in the way do not count: neither those of a session,
// nor what others may create in public, also for operators of the expression.
func TestWatchAndDecoys(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	run(t, s.howdah, "SELECT howdah.grant_runtime($1)", s.ownerName)
	pgtest.Decoys(t, s.howdah.Config().ConnString(), "functions/*.sql")
	run(t, s.owner, "SELECT howdah.watch_table('shop.articles', 'c', $$ARRAY['article:' || id, upper(title)]$$)")
	run(t, s.clerk, `
		CREATE FUNCTION clerk.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE 'decoy called'; END $$;
		CREATE FUNCTION clerk.upper(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'decoy called'; END $$;
		CREATE FUNCTION clerk.join(text, int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'decoy called'; END $$;
		CREATE OPERATOR clerk.|| (FUNCTION = clerk.join, LEFTARG = text, RIGHTARG = int);
		CREATE DOMAIN clerk.text AS pg_catalog.text CHECK (false)`)
	conn, err := pgx.Connect(ctx(t), s.clerk.Config().ConnString())
	require.NoError(t, err)
	defer conn.Close(context.Background())
	run(t, conn, `CREATE TEMP TABLE new_rows (id int, title text); CREATE TEMP TABLE old_rows (id int); CREATE TEMP TABLE watch_note (x int);
		CREATE TEMP TABLE cache (name text); CREATE DOMAIN pg_temp.bytea AS pg_catalog.text`)
	for _, path := range []string{"''", "pg_temp", "clerk, public", "clerk, public, pg_temp, howdah_internal, pg_catalog"} {
		run(t, s.howdah, "SELECT howdah.set_text('c', 'article:1', 'v'), howdah.set_text('c', 'article:2', 'v'), howdah.set_text('c', 'X', 'v')")
		run(t, conn, "SELECT pg_catalog.set_config('search_path', $1, false)", path)
		run(t, conn, "UPDATE shop.articles SET title = 'x' WHERE id OPERATOR(pg_catalog.=) 1")
		require.Equal(t, []string{"article:2"}, all[string](t, s.howdah, "SELECT pg_catalog.convert_from(key, 'UTF8') FROM howdah.cache_c"), path)
	}
	require.Zero(t, one[int](t, s.howdah, "SELECT pg_catalog.max(failures)::int FROM howdah.watches()"))
	for _, path := range []string{"''", "public", "public, pg_catalog"} {
		require.NoError(t, pgx.BeginFunc(ctx(t), s.owner, func(tx pgx.Tx) error {
			run(t, tx, "SELECT pg_catalog.set_config('search_path', $1, true)", path)
			run(t, tx, "SELECT howdah.watch_table('shop.articles', 'c', $$'article:' || id$$)")
			require.Equal(t, "active", one[string](t, tx, "SELECT state FROM howdah.watches()"))
			run(t, tx, "SELECT howdah.unwatch_table('shop.articles', 'c')")
			return nil
		}))
	}
}
