package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A session table as articles on the subject have it.
const sessionTable = `
	CREATE UNLOGGED TABLE sessions (
	    id         BIGINT GENERATED ALWAYS AS IDENTITY (CACHE 100) PRIMARY KEY,
	    payload    TEXT,
	    expires_at TIMESTAMP NOT NULL
	);
	CREATE INDEX sessions_expires_at ON sessions (expires_at);
	INSERT INTO sessions (payload, expires_at) SELECT repeat('x', 250), now() + interval '30 min' FROM generate_series(1, 400);
	-- The expiry slides on every read.
	DO $$ BEGIN
	    FOR i IN 1..2000 LOOP
	        PERFORM payload FROM sessions WHERE id = i % 400;
	        UPDATE sessions SET expires_at = now() + interval '30 min' WHERE id = i % 400;
	    END LOOP;
	END $$`

// A cache table as articles on the subject have it, with its procedures.
const cacheTable = `
	CREATE UNLOGGED TABLE cache (
	    id          serial PRIMARY KEY,
	    key         text UNIQUE NOT NULL,
	    value       jsonb,
	    kind        varchar(20),
	    inserted_at timestamp
	);
	CREATE INDEX idx_cache_key ON cache (key);
	ALTER TABLE cache ADD COLUMN last_read_timestamp timestamp;
	CREATE INDEX idx_cache_read ON cache (last_read_timestamp);
	CREATE PROCEDURE expire_rows(retention_period interval) AS $$
	BEGIN
	    DELETE FROM cache WHERE inserted_at < NOW() - retention_period;
	    COMMIT;
	END;
	$$ LANGUAGE plpgsql;
	CREATE PROCEDURE lru_eviction(eviction_count integer) AS $$
	BEGIN
	    DELETE FROM cache WHERE ctid IN (SELECT ctid FROM cache ORDER BY last_read_timestamp ASC LIMIT eviction_count);
	    COMMIT;
	END;
	$$ LANGUAGE plpgsql;
	INSERT INTO cache (key, value, inserted_at) SELECT 'k' || i, '{"a": 1}', now() - interval '1 day' FROM generate_series(1, 400) AS i;
	DO $$ BEGIN
	    FOR i IN 1..2000 LOOP
	        PERFORM value FROM cache WHERE key = 'k' || i % 200;
	        UPDATE cache SET last_read_timestamp = now() WHERE key = 'k' || i % 200;
	    END LOOP;
	END $$`

// Every planted fault is named, and nothing else; each repair works as it is.
func TestTablesOfArticles(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn := connect(t, databaseURL)
	run(t, conn, sessionTable, cacheTable)
	low := doctor.Options{MinRows: 500}
	want := []string{
		"autovacuum-default public.cache",
		"autovacuum-default public.sessions",
		"duplicate-index public.idx_cache_key",
		"expiry-index public.sessions_expires_at",
		"fillfactor-full public.cache",
		"fillfactor-full public.sessions",
		"integer-id public.cache",
		"json-payload public.cache",
		"last-read-index public.idx_cache_read",
		"lru-null-last-read public.cache",
		"lru-order-nulls public.lru_eviction(integer)",
		"sequential-session-id public.sessions",
		"timestamp-without-zone public.cache",
		"timestamp-without-zone public.sessions",
		"unbounded-delete-procedure public.expire_rows(interval)",
		"unlogged-sessions public.sessions",
		"varchar-limit public.cache",
		"write-per-read public.cache",
		"write-per-read public.sessions",
	}
	await(t, conn, low, "write-per-read", "public.cache")
	await(t, conn, low, "write-per-read", "public.sessions")
	r := examine(t, conn, low)
	got := slices.DeleteFunc(about(r), func(s string) bool { return strings.HasPrefix(s, "dead-rows ") })
	require.Equal(t, want, got)

	for _, f := range r.Findings {
		if len(f.Repair) > 0 && f.Severity != doctor.Info && slices.Contains(want, f.ID+" "+f.Object) {
			repair(t, conn, conn, low, &f)
		}
	}
	// The habit of writing on every read is the application's to repair; its
	// counts, and dead rows, stay for a while.
	after := slices.DeleteFunc(about(examine(t, conn, low)), func(s string) bool {
		return strings.HasPrefix(s, "dead-rows ") || strings.HasPrefix(s, "write-per-read ")
	})
	require.Empty(t, after, "repairs plant nothing new")

	// The rewritten procedures do what the old ones did.
	run(t, conn, "UPDATE cache SET last_read_timestamp = NULL WHERE false", "CALL lru_eviction(10)")
	require.Equal(t, 390, one[int](t, conn, "SELECT count(*)::integer FROM cache"))
	run(t, conn, "CALL expire_rows('1 hour')")
	require.Zero(t, one[int](t, conn, "SELECT count(*)::integer FROM cache"))
}

// Faults that need a table of their own.
func TestHandMadeFaults(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	for _, c := range []struct{ name, id, object, plant string }{
		{"autovacuum", "autovacuum-off-table", "a.sessions", `
			CREATE TABLE a.sessions (sid text PRIMARY KEY, data bytea, expiry timestamptz) WITH (autovacuum_enabled = off)`},
		{"char", "varchar-limit", "a.sessions", `
			CREATE TABLE a.sessions (sid varchar(64) PRIMARY KEY, data char(10), expire timestamptz)`},
		{"json", "json-payload", "a.sessions", `
			CREATE TABLE a.sessions (sid text PRIMARY KEY, sess json DEFAULT '{}', expire timestamptz)`},
		{"expiry in an expression", "expiry-index", "a.odd", `
			CREATE TABLE a."Page Cache" (key text PRIMARY KEY, body text, "Exp" int, expires_at bigint);
			CREATE INDEX odd ON a."Page Cache" ((expires_at / 60)) WHERE expires_at IS NOT NULL;
			INSERT INTO a."Page Cache" SELECT i, '', 0, 9e9 FROM generate_series(1, 1000) AS i;
			UPDATE a."Page Cache" SET expires_at = expires_at + 60`},
		{"expiry behind the key", "expiry-index", `a."Odd Name"`, `
			CREATE TABLE a.cache (key text PRIMARY KEY, value text, expires timestamptz);
			CREATE INDEX "Odd Name" ON a.cache (key, expires);
			INSERT INTO a.cache SELECT i, '', 'infinity' FROM generate_series(1, 1000) AS i;
			UPDATE a.cache SET expires = 'infinity'`},
		{"no unique key", "no-unique-key", "a.cache", `
			CREATE TABLE a.cache (key text NOT NULL, value text, expires_at timestamptz);
			INSERT INTO a.cache VALUES ('a', '1'), ('a', '2'), ('b', '1')`},
		{"expired rows", "expiry-backlog", "a.sessions", `
			CREATE TABLE a.sessions (token text PRIMARY KEY, data text, expires_at timestamptz);
			INSERT INTO a.sessions SELECT i, repeat('x', 300), now() - interval '1 day' FROM generate_series(1, 15000) AS i;
			INSERT INTO a.sessions SELECT 'live' || i, '', now() + interval '1 day' FROM generate_series(1, 100) AS i`},
		{"expired epochs", "expiry-backlog", "a.sessions", `
			CREATE TABLE a.sessions (token text PRIMARY KEY, data text, expires_at integer);
			INSERT INTO a.sessions SELECT i, '', extract(epoch FROM now()) - 5 FROM generate_series(1, 2000) AS i`},
		{"expired milliseconds without a zone", "expiry-backlog", "a.sessions", `
			CREATE TABLE a.sessions (token text PRIMARY KEY, data text, expires_at bigint);
			INSERT INTO a.sessions SELECT i, '', 1000 * extract(epoch FROM now()) - 5 FROM generate_series(1, 2000) AS i`},
		{"bloat", "bloat", "a.sessions", `
			CREATE TABLE a.sessions (token text PRIMARY KEY, data text, expires_at timestamptz) WITH (autovacuum_enabled = off);
			INSERT INTO a.sessions SELECT i, repeat('x', 300), 'infinity' FROM generate_series(1, 3000) AS i;
			DELETE FROM a.sessions WHERE token::int % 10 > 0`},
		{"dead rows", "dead-rows", "a.sessions", `
			CREATE TABLE a.sessions (token text PRIMARY KEY, data text, expires_at timestamptz) WITH (autovacuum_enabled = off);
			INSERT INTO a.sessions SELECT i, '', 'infinity' FROM generate_series(1, 3000) AS i;
			DELETE FROM a.sessions WHERE token::int % 2 > 0`},
		{"never analysed", "never-analysed", "a.sessions", `
			CREATE TABLE a.sessions (token text PRIMARY KEY, data text, expires_at timestamptz) WITH (autovacuum_enabled = off);
			INSERT INTO a.sessions SELECT i, '', 'infinity' FROM generate_series(1, 3000) AS i`},
		{"identity of four bytes", "integer-id", "a.caches", `
			CREATE TABLE a.caches (id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, key text UNIQUE, value text);
			INSERT INTO a.caches (key) VALUES ('x')`},
		{"constraint twice", "duplicate-index", "a.cache_key_idx", `
			CREATE TABLE a.cache (key text PRIMARY KEY, value text, expires_at timestamptz);
			CREATE UNIQUE INDEX cache_key_idx ON a.cache (key)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, conn, "CREATE SCHEMA a", "SET search_path = a", c.plant, "RESET search_path")
			defer run(t, conn, "DROP SCHEMA a CASCADE")
			repair(t, conn, conn, low, await(t, conn, low, c.id, c.object))
		})
	}
}

// An index that a framework made is left alone while nothing is updated: it costs inserts a little,
// and the framework may delete by it.
func TestAnExpiryIndexThatDoesNoHarm(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	run(t, conn, "CREATE TABLE django_session (session_key text PRIMARY KEY, session_data text, expire_date timestamptz)",
		"CREATE INDEX ON django_session (expire_date)", "INSERT INTO django_session SELECT i, '', 'infinity' FROM generate_series(1, 1000) AS i")
	r := examine(t, conn, low)
	require.Contains(t, r.HandMade, "public.django_session")
	require.Nil(t, find(r, "expiry-index", ""))
}

// Tables that only look alike, and partitions.
func TestNotACache(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	run(t, conn,
		"CREATE TABLE products (id serial PRIMARY KEY, name varchar(20), value jsonb, created_at timestamp)",
		"CREATE TABLE training_plan (session_count int, data jsonb)",
		"CREATE TABLE orders (id serial PRIMARY KEY, payload jsonb)",
		"CREATE TABLE parts (key text, value text, expires_at timestamptz) PARTITION BY HASH (key)",
		"CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0)", "CREATE INDEX ON parts (expires_at)",
		"CREATE TEMP TABLE cache (id serial PRIMARY KEY, key text, value jsonb)")
	r := examine(t, conn, low)
	require.Empty(t, r.HandMade)
	require.Empty(t, about(r))
}

// A good table is left in peace.
func TestGoodTable(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	run(t, conn, `CREATE TABLE sessions (token_hash bytea, sid uuid PRIMARY KEY, data bytea NOT NULL, expires_at timestamptz NOT NULL)
		WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01)`,
		"INSERT INTO sessions SELECT '', gen_random_uuid(), 'x', now() + interval '1 hour' FROM generate_series(1, 1000)",
		"UPDATE sessions SET expires_at = now() + interval '2 hours'")
	r := examine(t, conn, doctor.Options{})
	require.Equal(t, []string{"public.sessions"}, r.HandMade)
	require.Empty(t, about(r))
}

func TestInvalidIndex(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	run(t, conn, "CREATE TABLE cache (id bigint PRIMARY KEY, key text, value text)", "INSERT INTO cache VALUES (1, 'a', ''), (2, 'a', '')")
	require.Error(t, conn.PgConn().Exec(ctx(t), "CREATE UNIQUE INDEX CONCURRENTLY half ON cache (key)").Close())
	repair(t, conn, conn, low, await(t, conn, low, "invalid-index", "public.half"))
	repair(t, conn, conn, low, await(t, conn, low, "no-unique-key", "public.cache"))
	require.Empty(t, about(examine(t, conn, low)))
}
