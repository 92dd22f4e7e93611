package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	until "github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return c
}

func connect(t testing.TB, databaseURL string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	config.RuntimeParams["search_path"] = "public" // the role is named as the schema is
	conn, err := pgx.ConnectConfig(ctx(t), config)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if strings.Contains(sql, "{c}") { // the table of the cache c
			sql = strings.ReplaceAll(sql, "{c}", pgtest.Table(t, conn, "c"))
		}
		require.NoError(t, conn.PgConn().Exec(ctx(t), sql).Close(), sql)
	}
}

func one[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, conn.QueryRow(ctx(t), sql, args...).Scan(&v), sql)
	return v
}

// low are thresholds that a test reaches quickly.
var low = doctor.Options{MinRows: 500, MinBytes: 256 << 10, StatementTimeout: time.Minute}

func examine(t testing.TB, conn *pgx.Conn, opts doctor.Options) *doctor.Report {
	t.Helper()
	r, err := doctor.Examine(ctx(t), conn, opts)
	require.NoError(t, err)
	for _, f := range r.Findings {
		// A query of ours that is wrong must not pass for something hidden.
		require.False(t, f.ID == "not-checked" && !strings.Contains(f.Evidence, "permission denied") && f.Object != "sessions and standbys of other roles",
			"%s: %s", f.Object, f.Evidence)
	}
	return r
}

func find(r *doctor.Report, id, object string) *doctor.Finding {
	for i, f := range r.Findings {
		if f.ID == id && (object == "" || strings.Contains(f.Object, object)) {
			return &r.Findings[i]
		}
	}
	return nil
}

// about are the findings about one object or all, as "id object", that are
// more than information. Those about the settings of the shared test server,
// which trades durability for speed, are left out.
func about(r *doctor.Report) (list []string) {
	for _, f := range r.Findings {
		if f.Severity != doctor.Info && f.ID != "fsync-off" && f.ID != "full-page-writes-off" {
			list = append(list, f.ID+" "+f.Object)
		}
	}
	slices.Sort(list)
	return list
}

// eventually is require.Eventually on the goroutine of the test, which owns the
// connection.
func eventually(t testing.TB, condition func() bool, message string) {
	t.Helper()
	until.True(t, message, condition)
}

// await examines until the finding is there: statistics arrive late.
func await(t testing.TB, conn *pgx.Conn, opts doctor.Options, id, object string) (f *doctor.Finding) {
	t.Helper()
	eventually(t, func() bool { f = find(examine(t, conn, opts), id, object); return f != nil }, id+" "+object+" is not found")
	require.NotEmpty(t, f.Evidence)
	require.NotEmpty(t, f.Why)
	require.True(t, len(f.Repair) > 0 || f.Note != "", "%s has neither repair nor note", id)
	return f
}

// repair runs the statements of a finding as they are and waits until it is
// gone. A VACUUM is run again while it is not: one keeps the rows that an older
// snapshot may still see, and on PostgreSQL 14 and 15 that is for a moment the
// snapshot of any connection that starts on the server.
func repair(t testing.TB, conn, admin *pgx.Conn, opts doctor.Options, f *doctor.Finding) {
	t.Helper()
	require.NotEmpty(t, f.Repair, f.ID)
	t.Logf("%s %s: %s\n%s", f.ID, f.Object, f.Evidence, strings.Join(f.Repair, "\n"))
	run(t, admin, f.Repair...)
	eventually(t, func() bool {
		if find(examine(t, conn, opts), f.ID, f.Object) == nil {
			return true
		}
		for _, statement := range f.Repair {
			if strings.HasPrefix(statement, "VACUUM") {
				run(t, admin, statement)
			}
		}
		return false
	}, f.ID+" is still found after its repair")
}

func gone(t testing.TB, conn *pgx.Conn, opts doctor.Options, f *doctor.Finding) {
	t.Helper()
	eventually(t, func() bool { return find(examine(t, conn, opts), f.ID, f.Object) == nil }, f.ID+" is still found after its repair")
}

func TestSilentOnFreshDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	conn := connect(t, server.NewURL())
	run(t, conn, "SELECT howdah.set('db0', 'k', 'v')",
		"SELECT howdah.create_cache('s', durability => 'sync', prefix_index => true, fillfactor => 70, max_bytes => 1000000)")
	for _, c := range []*pgx.Conn{conn, connect(t, server.SuperURL())} {
		r := examine(t, c, doctor.Options{})
		for _, f := range r.Findings {
			require.Equal(t, doctor.Info, f.Severity, "%+v", f)
		}
		require.Equal(t, []string{"howdah.cache_db0", "howdah.cache_s", "howdah.session"}, r.Caches)
		require.Empty(t, r.HandMade)
		var text bytes.Buffer
		require.NoError(t, r.WriteText(&text, doctor.Style{}))
		require.Contains(t, text.String(), "Nothing is wrong.")
		require.LessOrEqual(t, strings.Count(text.String(), "\n"), 8, text.String())
	}
}

func TestEmptyDatabase(t *testing.T) {
	t.Parallel()
	r := examine(t, connect(t, pgtest.Empty(t)), doctor.Options{})
	require.Empty(t, about(r))
	require.NotNil(t, find(r, "schema-absent", ""))
}

// Examining needs no privilege, and says what it could not see.
func TestStranger(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner, super := connect(t, databaseURL), connect(t, pgtest.SuperURL(databaseURL))
	run(t, owner, `CREATE TABLE "My Sessions" (sid text PRIMARY KEY, data text, expires_at timestamptz NOT NULL)`,
		`INSERT INTO "My Sessions" SELECT i, 'x', now() FROM generate_series(1, 100) AS i`)
	role := fmt.Sprintf("stranger %s", one[string](t, owner, "SELECT current_database()::text"))
	quoted := pgx.Identifier{role}.Sanitize()
	run(t, super, "CREATE ROLE "+quoted+" LOGIN PASSWORD 'p'")
	t.Cleanup(func() { run(t, super, "DROP OWNED BY "+quoted, "DROP ROLE "+quoted) })
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "p")
	stranger := connect(t, u.String())

	r := examine(t, stranger, low)
	require.Empty(t, about(r))
	for _, object := range []string{"the schema howdah", `the rows of public."My Sessions"`, "sessions and standbys of other roles"} {
		require.NotNil(t, find(r, "not-checked", object), object)
	}
	repair(t, stranger, super, low, find(r, "not-checked", "other roles"))
}

// Nothing can be written, whoever asks; nothing takes long; and no setting of
// the session is left changed.
func TestReadsOnly(t *testing.T) {
	t.Parallel()
	super := connect(t, pgtest.SuperURL(pgtest.New(t)))
	run(t, super, "SET search_path = evil, public")
	opts := low
	opts.StatementTimeout = 30 * time.Second
	opts.CheckSchema = func(ctx context.Context, tx pgx.Tx) error {
		var statement, lock, path string
		require.NoError(t, tx.QueryRow(ctx, "SELECT current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('search_path')").
			Scan(&statement, &lock, &path))
		require.Equal(t, "30s 1s pg_catalog, pg_temp", statement+" "+lock+" "+path)
		_, err := tx.Exec(ctx, "CREATE TABLE public.x ()")
		require.ErrorContains(t, err, "25006")
		return nil
	}
	examine(t, super, opts)
	require.Equal(t, "evil, public", one[string](t, super, "SHOW search_path"))
	require.Equal(t, "off", one[string](t, super, "SHOW transaction_read_only"))
}

func TestOneCache(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "SELECT howdah.create_cache('c')", "ALTER TABLE {c} SET (fillfactor = 100)",
		"ALTER TABLE "+pgtest.Table(t, conn, "db0")+" SET (fillfactor = 100)", "CREATE TABLE sessions (id bigserial PRIMARY KEY, data text)")
	opts := low
	opts.Cache = "c"
	r := examine(t, conn, opts)
	require.Equal(t, []string{"cache-settings-drift howdah.cache_c"}, about(r))
	require.Empty(t, r.HandMade)
	opts.Cache = "none"
	_, err := doctor.Examine(ctx(t), conn, opts)
	require.ErrorIs(t, err, doctor.ErrCacheNotFound)
}

func TestJSON(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "ALTER TABLE "+pgtest.Table(t, conn, "db0")+" SET (fillfactor = 100)")
	r := examine(t, conn, low)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back map[string]any
	require.NoError(t, json.Unmarshal(text, &back))
	for _, field := range []string{"database", "role", "server", "caches", "hand_made", "findings", "checked_at"} {
		require.NotNil(t, back[field], field)
	}
	for _, f := range back["findings"].([]any) {
		for _, field := range []string{"id", "severity", "object", "evidence", "why", "repair", "harm"} {
			require.NotNil(t, f.(map[string]any)[field], field)
		}
	}
}

// Words that PostgreSQL reserves are quoted in every statement.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	words, err := conn.Query(ctx(t), "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')")
	require.NoError(t, err)
	list, err := pgx.CollectRows(words, pgx.RowTo[string])
	require.NoError(t, err)
	for _, word := range list {
		require.Equal(t, `"`+word+`"`, doctor.Quote(word))
	}
	run(t, conn, `CREATE SCHEMA "select"`, `CREATE TABLE "select"."order cache" (key varchar(9) PRIMARY KEY, value text, "user" char(3))`)
	repair(t, conn, conn, low, await(t, conn, low, "varchar-limit", `"select"."order cache"`))
}

func TestText(t *testing.T) {
	t.Parallel()
	r := &doctor.Report{Database: "app", Role: "me", Server: "18", Findings: []doctor.Finding{
		{ID: "bad", Severity: doctor.Error, Object: "public.\x1b[2Jx", Evidence: strings.Repeat("word ", 40), Why: "Why.", Repair: []string{"SELECT\n  1;", "SELECT 2"}},
		{ID: "worse", Severity: doctor.Warning, Object: "o", Evidence: "e", Why: "w", Note: "n"},
		{ID: "known", Severity: doctor.Info, Object: "o", Evidence: "e", Why: "w", Note: "n"},
	}}
	var plain, full bytes.Buffer
	require.NoError(t, r.WriteText(&plain, doctor.Style{Width: 60}))
	require.NotContains(t, plain.String(), "\x1b")
	require.NotContains(t, plain.String(), "known")
	require.Contains(t, plain.String(), "    SELECT\n      1;\n    SELECT 2;\n")
	require.Contains(t, plain.String(), "1 error, 1 warning.")
	for line := range strings.Lines(plain.String()) {
		require.LessOrEqual(t, len(line), 61, line)
	}
	require.NoError(t, r.WriteText(&full, doctor.Style{Color: true, Verbose: true}))
	require.Contains(t, full.String(), "known")
	require.Contains(t, full.String(), "\x1b[1;31mERRORS (1)")
}
