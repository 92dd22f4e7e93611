package schema_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// articles makes the cache "c" and a table with the rows 1 to 9, watched.
func articles(t testing.TB) *pgxpool.Pool {
	t.Helper()
	db := open(t)
	run(t, db, `CREATE TABLE public.articles (id int PRIMARY KEY, title text DEFAULT 'new', author int DEFAULT 0);
	            INSERT INTO public.articles SELECT i FROM generate_series(1, 9) AS i`)
	watch(t, db, "public.articles", "c", "'article:' || id")
	return db
}

func watch(t testing.TB, q querier, relation, cache, key string) {
	t.Helper()
	run(t, q, "SELECT howdah.watch_table($1::text::regclass, $2, $3)", relation, cache, key)
}

// fill stores an entry for each of the numbers from 1 to n.
func fill(t testing.TB, q querier, cache, prefix string, n int) {
	t.Helper()
	run(t, q, "SELECT howdah.set_many_text($1, array_agg($2::text || i), array_agg('v'::text)) FROM generate_series(1, $3::int) AS i", cache, prefix, n)
}

// left returns the numbers of the entries that are left.
func left(t testing.TB, q querier, cache, prefix string, n int) string {
	t.Helper()
	return strings.Join(all[string](t, q, `SELECT i::text FROM generate_series(1, $3::int) AS i
		WHERE howdah.get_text($1, $2::text || i) IS NOT NULL ORDER BY i`, cache, prefix, n), " ")
}

// What fires, statement by statement: exactly the entries of the rows that it
// names go.
func TestWatchVoidsWhatAStatementChanges(t *testing.T) {
	t.Parallel()
	db := articles(t)
	run(t, db, `
		CREATE TABLE public.authors (id int PRIMARY KEY);
		INSERT INTO public.authors VALUES (0), (7);
		ALTER TABLE public.articles ADD FOREIGN KEY (author) REFERENCES public.authors ON DELETE CASCADE ON UPDATE CASCADE;
		CREATE VIEW public.titles AS SELECT id, title FROM public.articles`)
	statements := []struct{ sql, left string }{
		{"UPDATE public.articles SET title = 'x' WHERE id = 1", "2 3 4 5 6 7 8 9"},
		{"UPDATE public.articles SET title = title WHERE id IN (1, 2)", "3 4 5 6 7 8 9"},
		{"UPDATE public.articles SET id = 19 WHERE id = 9", "1 2 3 4 5 6 7 8"},
		{"UPDATE public.articles SET id = 9 WHERE id = 19", "1 2 3 4 5 6 7 8"},
		{"DELETE FROM public.articles WHERE id > 7", "1 2 3 4 5 6 7"},
		{"INSERT INTO public.articles VALUES (8), (9)", "1 2 3 4 5 6 7"},
		{"UPDATE public.articles SET title = 'x' WHERE id > 100", "1 2 3 4 5 6 7 8 9"},
		{"INSERT INTO public.articles VALUES (1), (2) ON CONFLICT DO NOTHING", "1 2 3 4 5 6 7 8 9"},
		{"INSERT INTO public.articles VALUES (1, 'y') ON CONFLICT (id) DO UPDATE SET title = excluded.title", "2 3 4 5 6 7 8 9"},
		{"WITH a AS (UPDATE public.articles SET title = 'x' WHERE id = 1), b AS (DELETE FROM public.articles WHERE id = 2) SELECT", "3 4 5 6 7 8 9"},
		{"UPDATE public.titles SET title = 'z' WHERE id = 3", "1 2 4 5 6 7 8 9"},
		{"DO 'BEGIN UPDATE public.articles SET author = 7 WHERE id IN (4, 5); END'", "1 2 3 6 7 8 9"},
		{"UPDATE public.authors SET id = 8 WHERE id = 7", "1 2 3 6 7 8 9"},
		{"DELETE FROM public.authors WHERE id = 8", "1 2 3 6 7 8 9"},
		{"TRUNCATE public.authors CASCADE", ""},
	}
	if one[int](t, db, "SELECT current_setting('server_version_num')::int") >= 150000 {
		statements = append(statements, struct{ sql, left string }{`
			MERGE INTO public.articles AS a USING (VALUES (1), (2)) AS s (id) ON a.id = s.id
			WHEN MATCHED THEN UPDATE SET title = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'm', NULL)`, "3 4 5 6 7 8 9"})
	}
	for _, s := range statements {
		fill(t, db, "c", "article:", 9)
		run(t, db, s.sql)
		require.Equal(t, s.left, left(t, db, "c", "article:", 9), s.sql)
		require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.watch_note"), s.sql)
	}
	fill(t, db, "c", "article:", 9)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Conn().PgConn().CopyFrom(ctx(t), strings.NewReader("5\n6\n"), "COPY public.articles (id) FROM STDIN")
	require.Error(t, err, "no such author")
	require.Equal(t, "1 2 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))
	_, err = conn.Conn().PgConn().CopyFrom(ctx(t), strings.NewReader("5\t\\N\n6\t\\N\n"), "COPY public.articles (id, author) FROM STDIN")
	require.NoError(t, err)
	require.Equal(t, "1 2 3 4 7 8 9", left(t, db, "c", "article:", 9))
}

// Keys are what the expression gives: one or several, none for NULL, and the
// names of columns mean columns, whatever they are.
func TestWatchKeys(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `
		CREATE SCHEMA "It's";
		CREATE TABLE "It's"."T "" %I $1" (id int, howdah_keys text, "new_rows" text, "tg_op" text);
		INSERT INTO "It's"."T "" %I $1" SELECT i, i, i, i FROM generate_series(1, 9) AS i`)
	const relation = `"It's"."T "" %I $1"`
	for _, x := range []struct{ key, sql, left string }{
		{"id", "UPDATE %t SET id = id WHERE id = 1", "2 3 4 5 6 7 8 9"},
		{"ARRAY[id, id + 1, NULL]", "UPDATE %t SET id = id WHERE id = 1", "3 4 5 6 7 8 9"},
		{"ARRAY[howdah_keys, new_rows, tg_op]", "UPDATE %t SET tg_op = '5' WHERE id = 1", "2 3 4 6 7 8 9"},
		{`"T "" %I $1".id -- a comment`, "UPDATE %t SET id = id WHERE id = 1", "2 3 4 5 6 7 8 9"},
		{"nullif(id, 1)", "UPDATE %t SET id = id WHERE id < 3", "1 3 4 5 6 7 8 9"},
		{"CASE id WHEN 1 THEN '{}'::text[] WHEN 2 THEN NULL ELSE ARRAY['3', '4'] END", "UPDATE %t SET id = id WHERE id < 3", "1 2 3 4 5 6 7 8 9"},
		{"CASE id WHEN 1 THEN '{}'::text[] WHEN 2 THEN NULL ELSE ARRAY['3', '4'] END", "UPDATE %t SET id = id", "1 2 5 6 7 8 9"},
		{"repeat('x', 65534 + id)", "UPDATE %t SET id = id", "1 2 3 4 5 6 7 8 9"},
		{"(SELECT max(i)::text FROM generate_series(1, id) AS i)", "UPDATE %t SET id = id WHERE id = 4", "1 2 3 5 6 7 8 9"},
		{`'9' || E'\u00e9'`, "UPDATE %t SET id = id", "1 2 3 4 5 6 7 8 9"},
	} {
		watch(t, db, relation, "c", x.key)
		fill(t, db, "c", "", 9)
		run(t, db, replaceAll(x.sql, "%t", relation))
		require.Equal(t, x.left, left(t, db, "c", "", 9), x.key)
		require.Equal(t, "active 0", one[string](t, db, "SELECT state || ' ' || failures FROM howdah.watches()"), x.key)
	}
	require.True(t, one[bool](t, db, "SELECT howdah.unwatch_table($1, 'c')", relation))
}

// Bad input is a sentence with its SQLSTATE, and leaves nothing behind.
func TestWatchRefuses(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `CREATE TABLE public.articles (id int); CREATE VIEW public.v AS SELECT * FROM public.articles;
		CREATE MATERIALIZED VIEW public.m AS SELECT * FROM public.articles; CREATE SEQUENCE public.s; CREATE INDEX i ON public.articles (id)`)
	super := connect(t, pgtest.SuperURL(db.Config().ConnString()))
	run(t, super, `CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE public.f (id int) SERVER s;
		CREATE TABLE public.theirs (id int);
		CREATE TABLE public.parted (id int) PARTITION BY LIST (id); CREATE TABLE public.part PARTITION OF public.parted FOR VALUES IN (1) PARTITION BY LIST (id);
		CREATE FOREIGN TABLE public.far PARTITION OF public.part FOR VALUES IN (1) SERVER s`)
	for _, x := range []struct{ code, call string }{
		{"42P01", "'public.nothing', 'c', 'id'"}, {"42809", "NULL, 'c', 'id'"}, {"HW001", "'public.articles', 'nothing', 'id'"}, {"HW002", "'public.articles', NULL, 'id'"},
		{"HW012", "'public.articles', 'c'"}, {"42703", "'public.articles', 'c', 'nothing'"}, {"42601", "'public.articles', 'c', 'id) FROM ('"},
		{"42601", "'public.articles', 'c', ''"}, {"42883", "'public.articles', 'c', 'slug(id)'"}, {"42703", "'public.articles', 'c', 'id', 'nothing'"},
		{"42809", "'public.v', 'c', 'id'"}, {"42809", "'public.m', 'c', 'id'"}, {"42809", "'public.f', 'c', 'id'"}, {"42809", "'public.parted', 'c', 'id'"}, {"42809", "'public.s', 'c', 'id'"},
		{"42809", "'public.i', 'c', 'id'"}, {"42809", "'howdah_internal.change', 'c', 'xid'"}, {"42809", "'pg_catalog.pg_class', 'c', 'oid'"},
		{"42501", "'public.theirs', 'c', 'id'"},
	} {
		_, err := db.Exec(ctx(t), "SELECT howdah.watch_table("+x.call+")")
		require.Equal(t, x.code, state(err), "%s: %v", x.call, err)
	}
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	run(t, conn, "CREATE TEMP TABLE mine (id int)")
	refused(t, conn, "42809", "SELECT howdah.watch_table('mine', 'c', 'id')")
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM pg_proc WHERE proname LIKE 'howdah\\_watch\\_%'"))
	require.False(t, one[bool](t, db, "SELECT howdah.unwatch_table('public.articles', 'c') OR howdah.unwatch_table('x.y', 'z')"))

	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "INSERT INTO public.articles VALUES (1)")
	_, err = db.Exec(ctx(t), "SELECT howdah.watch_table('public.articles', 'c', 'id')")
	require.Equal(t, "55P03", state(err))
	require.ErrorContains(t, err, "is in use, and is not watched")
}

// An expression that fails for a row does not fail the statement. Which entry is
// out of date is not known, so all go, and the failure is there to see.
func TestWatchWhoseExpressionFails(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `CREATE TABLE public.articles (id int, parts int); INSERT INTO public.articles SELECT i, i - 1 FROM generate_series(1, 9) AS i`)
	watch(t, db, "public.articles", "c", "'article:' || id / parts")
	fill(t, db, "c", "article:", 9)
	run(t, db, "UPDATE public.articles SET id = id WHERE id = 9")
	require.Equal(t, "2 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))
	run(t, db, "UPDATE public.articles SET id = id WHERE id = 1")
	require.Empty(t, left(t, db, "c", "article:", 9))
	require.Equal(t, 1, one[int](t, db, "SELECT parts + 1 FROM public.articles WHERE id = 1"), "the statement went on")
	require.Equal(t, "1 22012: division by zero", one[string](t, db, "SELECT failures || ' ' || failure FROM howdah.watches() WHERE failed_at <= clock_timestamp()"))

	// What is to be repeated must be repeated, and an assertion is a failure like others.
	run(t, db, `CREATE FUNCTION public.fails(code text) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN IF code = 'assert' THEN ASSERT false; END IF; RAISE 'on purpose' USING ERRCODE = code; END $$`)
	for code, want := range map[string]string{"40001": "40001", "40P01": "40P01", "assert": "", "53200": "", "42P01": "", "XX000": ""} {
		watch(t, db, "public.articles", "c", "public.fails('"+code+"')")
		_, err := db.Exec(ctx(t), "UPDATE public.articles SET id = id")
		require.Equal(t, want, state(err), code)
	}

	// A column that the expression needs goes: every change empties the cache.
	watch(t, db, "public.articles", "c", "parts")
	run(t, db, "ALTER TABLE public.articles DROP COLUMN parts")
	fill(t, db, "c", "article:", 9)
	run(t, db, "UPDATE public.articles SET id = id")
	require.Empty(t, left(t, db, "c", "article:", 9))
	require.Contains(t, one[string](t, db, "SELECT failure FROM howdah.watches()"), "42703")
}

// A watch follows its table and its cache through every change of their names.
func TestWatchFollows(t *testing.T) {
	t.Parallel()
	db := articles(t)
	state := func() string {
		return strings.Join(all[string](t, db, "SELECT relation || ' ' || cache || ' ' || state FROM howdah.watches()"), ", ")
	}
	works := func(relation string) {
		t.Helper()
		fill(t, db, "c", "article:", 9)
		run(t, db, "UPDATE "+relation+" SET title = 'x' WHERE id = 1")
		require.Equal(t, "2 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))
	}
	works("public.articles")
	run(t, db, "SELECT howdah.alter_cache('c', near => true)")
	works("public.articles")
	run(t, db, "CREATE SCHEMA app; ALTER TABLE public.articles SET SCHEMA app; ALTER TABLE app.articles RENAME TO pages")
	works("app.pages")
	require.Equal(t, "app.pages c active", state())
	run(t, db, "SELECT howdah.drop_cache('c')")
	run(t, db, "UPDATE app.pages SET title = 'x'")
	require.Equal(t, "app.pages c cache gone", state())
	run(t, db, "SELECT howdah.create_cache('c')")
	works("app.pages")

	// A second one of the same table and cache replaces the first; another cache is another watch.
	watch(t, db, "app.pages", "c", "'article:' || id")
	watch(t, db, "app.pages", "s", "'article:' || id")
	require.Equal(t, "app.pages c active, app.pages s active", state())
	require.Equal(t, 8, one[int](t, db, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.pages'::regclass AND NOT tgisinternal"))
	fill(t, db, "s", "article:", 9)
	works("app.pages")
	require.Equal(t, "2 3 4 5 6 7 8 9", left(t, db, "s", "article:", 9))
	require.True(t, one[bool](t, db, "SELECT howdah.unwatch_table('app.pages', 's')"))
	works("app.pages")

	run(t, db, "ALTER TABLE app.pages DISABLE TRIGGER howdah_c_update")
	require.Equal(t, "app.pages c disabled", state())
	run(t, db, "DROP TABLE app.pages")
	require.Equal(t, "public.articles c table gone", strings.Replace(state(), "app.pages", "public.articles", 1))
	gone := one[string](t, db, "SELECT relation FROM howdah.watches()")
	require.True(t, one[bool](t, db, "SELECT howdah.unwatch_table($1, 'c')", gone))
	require.Empty(t, state())
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM pg_proc WHERE proname LIKE 'howdah\\_watch\\_%'"), "nothing is left of it")
}

// A watch of a partitioned table is about statements that name that table; one of
// a partition is about those that name the partition.
func TestWatchedPartitions(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `CREATE TABLE public.articles (id int PRIMARY KEY, title text) PARTITION BY RANGE (id);
		CREATE TABLE public.low PARTITION OF public.articles FOR VALUES FROM (0) TO (5);
		CREATE TABLE public.high PARTITION OF public.articles FOR VALUES FROM (5) TO (100);
		INSERT INTO public.articles SELECT i FROM generate_series(1, 9) AS i`)
	watch(t, db, "public.articles", "c", "'article:' || id")
	for _, x := range []struct{ sql, left string }{
		{"UPDATE public.articles SET title = 'x' WHERE id IN (1, 9)", "2 3 4 5 6 7 8"},
		{"UPDATE public.articles SET id = id + 10 WHERE id = 4", "1 2 3 5 6 7 8 9"},
		{"UPDATE public.high SET title = 'x' WHERE id = 5", "1 2 3 4 5 6 7 8 9"},
		{"ALTER TABLE public.articles DETACH PARTITION public.high", "1 2 3 4 5 6 7 8 9"},
	} {
		fill(t, db, "c", "article:", 9)
		run(t, db, x.sql)
		require.Equal(t, x.left, left(t, db, "c", "article:", 9), x.sql)
	}
	run(t, db, "ALTER TABLE public.articles ATTACH PARTITION public.high FOR VALUES FROM (5) TO (100)")
	watch(t, db, "public.high", "c", "'article:' || id")
	fill(t, db, "c", "article:", 9)
	run(t, db, "UPDATE public.high SET title = 'x' WHERE id = 5")
	require.Equal(t, "1 2 3 4 6 7 8 9", left(t, db, "c", "article:", 9))
	run(t, db, "UPDATE public.articles SET title = 'x' WHERE id = 6")
	require.Equal(t, "1 2 3 4 7 8 9", left(t, db, "c", "article:", 9))
}

// Whoever changes a row, its key is written as in the session that made the watch.
func TestWatchKeysOfEverySession(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	run(t, conn, "SET timezone = 'Europe/Zurich'")
	run(t, conn, `CREATE TABLE public.reports (day date, at timestamptz, took interval, share float8, digest bytea, title text);
		INSERT INTO public.reports VALUES ('2025-12-31', '2025-12-31 23:30Z', '90 min', 0.1, '\x00ff', 'old')`)
	const key = "concat_ws('|', day, at, took, share, digest)"
	watch(t, conn, "public.reports", "c", key)
	stored := one[string](t, conn, "SELECT "+key+" FROM public.reports")
	require.Equal(t, `2025-12-31|2026-01-01 00:30:00+01|01:30:00|0.1|\x00ff`, stored)
	run(t, db, "SELECT howdah.set_text('c', $1, 'v')", stored)

	run(t, conn, "SET datestyle = german; SET timezone = 'Asia/Tokyo'; SET intervalstyle = iso_8601; SET extra_float_digits = -3; SET bytea_output = escape")
	run(t, conn, "UPDATE public.reports SET title = 'new'")
	require.Nil(t, one[*string](t, db, "SELECT howdah.get_text('c', $1)", stored))
	require.Equal(t, "German, DMY|Asia/Tokyo", one[string](t, conn, "SELECT concat_ws('|', current_setting('datestyle'), current_setting('timezone'))"), "the session keeps its own")
}

// Triggers find no value in VIRTUAL columns: a watch over one would never invalidate.
func TestWatchGeneratedColumns(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "CREATE TABLE public.users (id int, email text, k text GENERATED ALWAYS AS (lower(email)) STORED)")
	watch(t, db, "public.users", "c", "'user:' || k")
	run(t, db, "INSERT INTO public.users VALUES (1, 'Ada@example.org'); SELECT howdah.set_text('c', 'user:ada@example.org', 'old')")
	run(t, db, "UPDATE public.users SET email = 'ADA@example.org'")
	require.Nil(t, one[*string](t, db, "SELECT howdah.get_text('c', 'user:ada@example.org')"))
	if one[int](t, db, "SELECT current_setting('server_version_num')::int") < 180000 {
		return
	}
	run(t, db, "ALTER TABLE public.users ADD COLUMN v text GENERATED ALWAYS AS (lower(email)) VIRTUAL")
	for _, call := range []string{"'public.users', 'c', $$'user:' || v$$", "'public.users', 'c', tag => 'v'"} {
		refused(t, db, "42703", "SELECT howdah.watch_table("+call+")")
	}
	watch(t, db, "public.users", "c", "'user:' || lower(email)")
}

// notes returns what a transaction has noted and not yet applied.
func notes(t testing.TB, q querier) []string {
	t.Helper()
	return all[string](t, q, "SELECT coalesce(cardinality(keys)::text, 'all') FROM howdah_internal.watch_note ORDER BY 1")
}

// A change that is noted is in the log of the same transaction, whether the entry
// was there or not: memory may hold what was evicted.
func TestWatchNotesInTheChangeLog(t *testing.T) {
	t.Parallel()
	db := articles(t)
	run(t, db, "SELECT howdah.alter_cache('c', near => true)")
	id := one[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'c'")
	hash := one[int64](t, db, "SELECT howdah.key_hash_text('article:1')")
	for _, sql := range []string{
		"UPDATE public.articles SET title = 'x' WHERE id = 1", "UPDATE public.articles SET title = 'y' WHERE id = 1",
		"SELECT howdah.set_text('c', 'article:1', 'v')",
	} {
		from := one[string](t, db, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
		run(t, db, sql)
		require.Equal(t, []change{{Cache: id, Hashes: []int64{hash}}}, ask(t, db, from).Changes, sql)
	}
	var xids []string
	require.NoError(t, pgx.BeginFunc(ctx(t), db, func(tx pgx.Tx) error {
		xids = append(xids, one[string](t, tx, "SELECT pg_current_xact_id()::text"))
		run(t, tx, "UPDATE public.articles SET title = 'z' WHERE id = 1")
		return nil
	}))
	xids = append(xids, one[string](t, db, "SELECT xid::text FROM howdah_internal.change ORDER BY xid DESC LIMIT 1"))
	require.Equal(t, xids[0], xids[1])
}

// Without Howdah, as after a restore of the application's schema alone, the table
// can be written, with a warning.
func TestWatchWithoutHowdah(t *testing.T) {
	t.Parallel()
	db := articles(t)
	conn, err := pgx.Connect(ctx(t), db.Config().ConnString())
	require.NoError(t, err)
	defer conn.Close(context.Background())
	run(t, conn, "DROP SCHEMA howdah_internal, howdah CASCADE")
	run(t, conn, "SET client_min_messages = error; UPDATE public.articles SET title = 'x'")
	require.Equal(t, 9, one[int](t, conn, "SELECT count(*) FROM public.articles WHERE title = 'x'"))
	for _, sql := range []string{"INSERT INTO public.articles VALUES (10)", "DELETE FROM public.articles", "TRUNCATE public.articles"} {
		run(t, conn, sql)
	}
}

// The text that watch_table makes calls nothing of Howdah's but the one function
// that keeps its name and arguments.
func TestBodyOfAWatch(t *testing.T) {
	t.Parallel()
	var found int
	for _, f := range schema.Functions() {
		if f.Name == "_note_watch" {
			found++
			require.Equal(t, "howdah_internal._note_watch(text, text, bytea[], text[], text)", f.Signature)
		}
		if f.Name == "_watch_body" {
			found++
			_, body, _ := strings.Cut(f.SQL, "RETURN format($body$")
			body, _, _ = strings.Cut(body, "$body$")
			for part := range strings.SplitSeq(body, "howdah_internal.") {
				if part != strings.Split(body, "howdah_internal.")[0] {
					require.Regexp(t, `^_note_watch\b`, part)
				}
			}
		}
	}
	require.Equal(t, 2, found)
}

// What names a table for watch_table names it for unwatch_table: a name in the search_path, a quoted
// one, an OID, and the name that a dropped table had.
func TestUnwatchTakesWhatWatchTakes(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	run(t, conn, `CREATE SCHEMA app; CREATE SCHEMA "It's"; CREATE SCHEMA other;
		CREATE TABLE app.articles (id int); CREATE TABLE app."Big One" (id int); CREATE TABLE "It's"."T.x" (id int); CREATE TABLE other.articles (id int)`)
	run(t, conn, "SET search_path = app, public")
	oid := one[string](t, conn, "SELECT 'app.articles'::regclass::oid::text")
	count := func() int { return one[int](t, conn, "SELECT count(*) FROM howdah.watches()") }
	for _, x := range [][2]string{
		{"articles", "articles"}, {"articles", "app.articles"}, {"app.articles", "articles"}, {"articles", `"articles"`}, {"articles", "ARTICLES"},
		{`"Big One"`, `"Big One"`}, {`app."Big One"`, `"Big One"`}, {`"It's"."T.x"`, `"It's"."T.x"`}, {oid, oid}, {oid, "articles"}, {"articles", oid},
	} {
		run(t, conn, "SELECT howdah.watch_table('"+strings.ReplaceAll(x[0], "'", "''")+"', 'c', 'id')")
		require.Equal(t, 1, count())
		require.False(t, one[bool](t, conn, "SELECT howdah.unwatch_table($1, 's')", x[1]), "another cache")
		require.False(t, one[bool](t, conn, "SELECT howdah.unwatch_table('other.articles', 'c')"), "another table")
		require.True(t, one[bool](t, conn, "SELECT howdah.unwatch_table($1, 'c')", x[1]), x)
		require.Zero(t, count(), x)
		require.False(t, one[bool](t, conn, "SELECT howdah.unwatch_table($1, 'c')", x[1]), "it was ended before")
	}
	for _, name := range []string{"articles", "app.articles", `app."articles"`, "App.Articles"} {
		run(t, conn, "SELECT howdah.watch_table('articles', 'c', 'id'); DROP TABLE app.articles")
		require.False(t, one[bool](t, conn, "SELECT howdah.unwatch_table('other.articles', 'c')"))
		require.True(t, one[bool](t, conn, "SELECT howdah.unwatch_table($1, 'c')", name), name)
		require.Zero(t, count(), name)
		run(t, conn, "CREATE TABLE app.articles (id int)")
	}
	// A table that was made in its place does not hide the watch of the one that is gone.
	run(t, conn, "SELECT howdah.watch_table('articles', 'c', 'id'); DROP TABLE app.articles; CREATE TABLE app.articles (id int)")
	require.True(t, one[bool](t, conn, "SELECT howdah.unwatch_table('articles', 'c')"))
	require.Zero(t, count())
	require.False(t, one[bool](t, conn, "SELECT howdah.unwatch_table('4294967295', 'c')"))
	_, err = conn.Exec(ctx(t), "SELECT howdah.unwatch_table('a b', 'c')")
	var refusal *pgconn.PgError
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, []string{"42602", "22023"}, refusal.Code, "PostgreSQL says it by to_regclass, newer ones by parse_ident")
}
