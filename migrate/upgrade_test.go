package migrate_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

// firstVersion is the source of the last program that knows schema 5, without its
// tests: "git archive 330a13b" of this repository, so that neither git nor the
// history is needed to run this test.
const firstVersion = "testdata/first-version.tar.gz"

// The program of the first version, built from the sources of that time, makes
// the databases that are upgraded here.
func TestUpgradeFromTheFirstVersion(t *testing.T) {
	t.Parallel()
	program := buildFirstVersion(t)
	t.Run("data", func(t *testing.T) { upgradeKeepsData(t, program) })
	t.Run("role", func(t *testing.T) { upgradeByAdministrator(t, program) })
	t.Run("load", func(t *testing.T) { upgradeUnderLoad(t, program) })
	t.Run("uninstall", func(t *testing.T) {
		conn := connect(t, oldSchema(t, program))
		_, err := migrate.Uninstall(ctx(t), conn, true)
		require.ErrorIs(t, err, migrate.ErrMissing)
		require.ErrorContains(t, err, "run \"howdah migrate\" first")
		status, err := migrate.ReadStatus(ctx(t), conn)
		require.NoError(t, err)
		require.Equal(t, since(6), status.Pending)
		require.Equal(t, []string{"db0"}, status.Caches)
	})
}

func buildFirstVersion(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "howdah")
	file, err := os.Open(firstVersion)
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	unpack(t, tar.NewReader(unzipped), dir)
	build := exec.Command("go", "build", "-o", program, "./cmd/howdah")
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// unpack writes the files of an archive below a folder.
func unpack(t *testing.T, archive *tar.Reader, dir string) {
	t.Helper()
	for {
		entry, err := archive.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(entry.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		text, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, text, 0o644))
	}
}

// oldSchema makes a database with schema 5.
func oldSchema(t *testing.T, program string, args ...string) string {
	t.Helper()
	databaseURL := pgtest.Empty(t)
	out, err := exec.CommandContext(ctx(t), program, append([]string{"migrate", "--database-url", databaseURL}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return databaseURL
}

// Nothing is lost and nothing is rewritten: files on the disk stay the same.
func upgradeKeepsData(t *testing.T, program string) {
	databaseURL := oldSchema(t, program)
	conn := connect(t, databaseURL)
	require.Equal(t, 5, one[int](t, conn, "SELECT max(version) FROM howdah.migration"))
	run(t, conn, "SELECT howdah.create_cache('pages', prefix_index => true, max_entries => 100000), howdah.create_cache('kept', 'sync', '1 day'), howdah.create_cache('id_key')")
	role, app := newRole(t, databaseURL, "app")
	run(t, conn, "SELECT howdah.grant_runtime('"+role+"')")
	run(t, conn, `SELECT howdah.set_many('pages', array_agg(convert_to('page:' || i, 'UTF8')), array_agg(decode(repeat('61', i % 4000), 'hex')))
	              FROM generate_series(1, 20000) AS i`)
	run(t, conn, "SELECT howdah.set_text('kept', 'k' || i, 'v' || i) FROM generate_series(1, 100) AS i")
	run(t, conn, "SELECT howdah.set_text('id_key', 'k', 'v', '1 hour'), howdah.set_text('db0', 'k', 'v')")
	run(t, conn, "SELECT howdah.session_create(gen_random_uuid(), decode(repeat('00', 32), 'hex'), 'ada', '{}') FROM generate_series(1, 50)")

	const files = `
		SELECT string_agg(f::text, ',' ORDER BY f)
		FROM pg_class AS t, LATERAL (
		    SELECT t.relfilenode AS f
		    UNION ALL SELECT i.relfilenode FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid WHERE x.indrelid = t.oid
		    UNION ALL SELECT o.relfilenode FROM pg_class AS o WHERE o.oid = t.reltoastrelid) AS f
		WHERE t.relkind = 'r' AND t.relname LIKE 'cache\_%' AND t.relnamespace::regnamespace::text LIKE 'howdah%'`
	const rows = "SELECT md5(string_agg(concat_ws('|', hash, version, expires_at, key, md5(value)), ',' ORDER BY hash)) FROM "
	filesBefore := one[string](t, conn, files)
	before := map[string]string{}
	for _, name := range []string{"pages", "kept", "id_key", "db0"} {
		before[name] = one[string](t, conn, rows+"howdah.cache_"+name)
	}

	result := up(t, conn)
	require.Equal(t, 5, result.From)
	require.Equal(t, since(6), result.Applied)
	require.NoError(t, migrate.Check(ctx(t), conn))
	require.NoError(t, migrate.Check(ctx(t), app), "the recorded role may use what is new")
	require.Equal(t, filesBefore, one[string](t, conn, files))
	for name, want := range before {
		require.Equal(t, want, one[string](t, conn, rows+pgtest.Table(t, conn, name)), name)
	}
	require.Equal(t, 50, one[int](t, conn, "SELECT howdah.session_count('ada')"))

	// All of it works, for the role of the application too, and new caches have
	// columns that mean the same.
	for _, q := range []*pgx.Conn{conn, app} {
		require.Equal(t, 100, one[int](t, q, "SELECT howdah.count('kept')"))
		require.Equal(t, 500, one[int](t, q, "SELECT howdah.delete_prefix_text('pages', 'page:2', 500)"))
		require.Equal(t, 100, one[int](t, q, "SELECT howdah.set_many_text('pages', array_agg('page:' || i), array_agg('v'::text)) FROM generate_series(1, 100) AS i"))
		run(t, q, "SELECT howdah.maintain()")
		require.Equal(t, "v", one[string](t, q, "SELECT convert_from(value, 'UTF8') FROM howdah.cache_id_key"))
	}
	require.Equal(t, []string{"create_cache"}, column(t, conn, `SELECT proname::text FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace AND proname = 'create_cache'`), "one signature")
	require.Equal(t, []string{"_session_due"}, column(t, conn, `SELECT proname::text FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace AND proname LIKE '\_%'`),
		"what sessions of older programs call")
	run(t, conn, "SELECT howdah.alter_cache('pages', prefix_index => false, durability => 'async'), howdah.drop_cache('id_key'), howdah.create_cache('id_key')")
	require.Equal(t, []string{}, column(t, conn, "SELECT key::text FROM howdah.cache_id_key"))
	const layout = `SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attstorage), ', ' ORDER BY attname)
		FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0`
	require.Equal(t, one[string](t, conn, layout, pgtest.Table(t, conn, "id_key")), one[string](t, conn, layout, pgtest.Table(t, conn, "db0")))

	_, err := migrate.Uninstall(ctx(t), conn, false)
	require.NoError(t, err)
}

func column(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(ctx(t), sql)
	require.NoError(t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return values
}

// The owner may have no right to make a schema; an administrator has it, and
// what he makes belongs to the owner.
func upgradeByAdministrator(t *testing.T, program string) {
	databaseURL := oldSchema(t, program)
	conn, super := connect(t, databaseURL), connect(t, pgtest.SuperURL(databaseURL))
	owner := one[string](t, conn, "SELECT current_user::text")
	database := pgx.Identifier{conn.Config().Database}.Sanitize()
	run(t, super, "ALTER DATABASE "+database+" OWNER TO postgres")
	_, err := migrate.Up(ctx(t), conn, migrate.Options{})
	require.ErrorIs(t, err, migrate.ErrPermission)
	require.ErrorContains(t, err, "GRANT CREATE ON DATABASE")
	up(t, super)
	require.Equal(t, owner, one[string](t, super, "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'howdah_internal'"))
	run(t, conn, "SELECT howdah.set('db0', 'k', 'v'), howdah.create_cache('mine')")
	run(t, super, "ALTER DATABASE "+database+" OWNER TO "+pgx.Identifier{owner}.Sanitize())
}

// oldServer is a server of the first version.
type oldServer struct {
	redis *redis.Client
	http  string
}

var ready = regexp.MustCompile(`msg="ready for (Redis|HTTP) clients" addr=(\S+)`)

func serveFirstVersion(t *testing.T, program, databaseURL string) *oldServer {
	t.Helper()
	cmd := exec.Command(program, "serve", "--database-url", databaseURL, "--redis-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
		"--session-token", "m4nage", "--timeout", "10s")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var log strings.Builder
	addresses := make(chan []string, 2)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if m := ready.FindStringSubmatch(lines.Text()); m != nil {
				addresses <- m[1:]
			}
		}
	}()
	s := &oldServer{}
	for range 2 {
		select {
		case a := <-addresses:
			if a[0] == "HTTP" {
				s.http = a[1]
			} else {
				s.redis = redis.NewClient(&redis.Options{Addr: a[1], MaxRetries: -1})
				t.Cleanup(func() { _ = s.redis.Close() })
			}
		case <-ended:
			t.Fatalf("the server of the first version ended:\n%s", log.String())
		case <-time.After(time.Minute):
			t.Fatal("the server of the first version is not ready after a minute")
		}
	}
	return s
}

func (s *oldServer) ask(t *testing.T, method, path, token, body string, want int) (answer map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx(t), method, "http://"+s.http+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, want, response.StatusCode, "%s %s: %s", method, path, text)
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &answer), string(text))
	}
	return answer
}

// From the migration on every cache call of a running server of the first
// version fails, soon with a sentence that says what to do; its sessions go on.
func upgradeUnderLoad(t *testing.T, program string) {
	databaseURL := oldSchema(t, program)
	s := serveFirstVersion(t, program, databaseURL)
	session := s.ask(t, "POST", "/v1/sessions", "m4nage", `{"user":"ada"}`, http.StatusCreated)
	token := session["token"].(string)

	var migrated atomic.Bool
	var worked, toldWhy atomic.Int64
	stop := make(chan struct{})
	var callers sync.WaitGroup
	// What runs in a transaction (EXEC) never reads the settings again: it fails
	// with PostgreSQL's own words.
	const shared = 4
	calls := []func(ctx context.Context) error{
		func(ctx context.Context) error { return s.redis.Get(ctx, "k").Err() },
		func(ctx context.Context) error { return s.redis.Set(ctx, "k", "v", 0).Err() },
		func(ctx context.Context) error { return s.redis.Incr(ctx, "n").Err() },
		func(ctx context.Context) error { return s.redis.Del(ctx, "gone").Err() },
		func(ctx context.Context) error {
			_, err := s.redis.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Set(ctx, "t", "v", 0); return nil })
			return err
		},
	}
	for _, call := range calls {
		callers.Go(func() {
			told := false
			for {
				select {
				case <-stop:
					return
				default:
				}
				after := migrated.Load()
				err := call(context.Background())
				switch {
				case err == nil || err == redis.Nil:
					worked.Add(1)
					if after {
						t.Error("a cache call of the old program worked after the migration")
						return
					}
				case after && !told && strings.Contains(err.Error(), "upgrade the program"):
					told = true
					toldWhy.Add(1)
				}
			}
		})
	}
	defer func() { close(stop); callers.Wait() }()
	require.Eventually(t, func() bool { return worked.Load() > 200 }, time.Minute, time.Millisecond)

	began := time.Now()
	up(t, connect(t, databaseURL))
	migrated.Store(true)
	t.Logf("migrated under load in %v", time.Since(began))
	require.Eventually(t, func() bool { return toldWhy.Load() == shared }, time.Minute, time.Millisecond, "not all calls say what to do")
	t.Logf("shared calls said what to do %v after the migration began", time.Since(began))

	require.Equal(t, "ada", s.ask(t, "GET", "/v1/sessions/current", token, "", http.StatusOK)["user"])
	other := s.ask(t, "POST", "/v1/sessions", "m4nage", `{"user":"bob"}`, http.StatusCreated)["token"].(string)
	require.Equal(t, "bob", s.ask(t, "GET", "/v1/sessions/current", other, "", http.StatusOK)["user"])
	s.ask(t, "DELETE", "/v1/sessions/current", token, "", http.StatusNoContent)
	require.Equal(t, 1, one[int](t, connect(t, databaseURL), "SELECT howdah.session_count()"))
}

// since names the migrations from a version on.
func since(version int) (names []string) {
	for _, m := range schema.Migrations() {
		if m.Version >= version {
			names = append(names, fmt.Sprintf("%03d_%s", m.Version, m.Name))
		}
	}
	return names
}
