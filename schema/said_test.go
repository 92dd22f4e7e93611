package schema_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// listen returns a connection of the owner that is told of everything, and what it was told.
func listen(t *testing.T, url string) (*pgx.Conn, func() []string) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	var mu sync.Mutex
	var said []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, n.Severity+": "+n.Message)
	}
	conn, err := pgx.ConnectConfig(ctx(t), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(ctx(t)) })
	run(t, conn, "SET client_min_messages = notice")
	return conn, func() []string {
		mu.Lock()
		defer mu.Unlock()
		last := said
		said = nil
		return last
	}
}

// sayNothing are calls of public functions that no other test table has, and what must be there
// before them.
var sayNothing = map[string][2]string{
	"caches":              {"SELECT * FROM howdah.caches()"},
	"count":               {"SELECT howdah.count('n')"},
	"get":                 {"SELECT howdah.get('n', 'k')"},
	"get_entry":           {"SELECT howdah.get_entry('n', 'k')"},
	"get_entry_text":      {"SELECT howdah.get_entry_text('n', 'k')"},
	"get_json":            {"SELECT howdah.get_json('n', 'none')"},
	"get_many":            {"SELECT howdah.get_many('n', '{k}')"},
	"get_many_text":       {"SELECT howdah.get_many_text('n', '{k}')"},
	"get_text":            {"SELECT howdah.get_text('n', 'k')"},
	"hgetall":             {"SELECT howdah.hgetall('n', 'none')"},
	"hgetall_text":        {"SELECT howdah.hgetall_text('n', 'none')"},
	"key_hash":            {"SELECT howdah.key_hash('k')"},
	"key_hash_text":       {"SELECT howdah.key_hash_text('k')"},
	"lrange":              {"SELECT howdah.lrange('n', 'none')"},
	"lrange_text":         {"SELECT howdah.lrange_text('n', 'none')"},
	"no_expiry":           {"SELECT howdah.no_expiry()"},
	"scan":                {"SELECT howdah.scan('n')"},
	"scan_text":           {"SELECT howdah.scan_text('n')"},
	"session_beat":        {"SELECT howdah.session_beat(gen_random_uuid(), 0)"},
	"session_bury":        {"SELECT howdah.session_bury(gen_random_uuid())"},
	"session_count":       {"SELECT howdah.session_count()"},
	"session_create":      {"SELECT howdah.session_create(gen_random_uuid(), sha256('s'), 'u', '', '1 h', '1 h')"},
	"session_end":         {"SELECT howdah.session_end(gen_random_uuid(), sha256('s'))"},
	"session_expire":      {"SELECT howdah.session_expire()"},
	"session_get":         {"SELECT howdah.session_get(gen_random_uuid(), sha256('s'))"},
	"session_list":        {"SELECT howdah.session_list('u')"},
	"session_merge":       {"SELECT howdah.session_merge(gen_random_uuid(), sha256('s'), '{}')"},
	"session_put":         {"SELECT howdah.session_put(gen_random_uuid(), sha256('s'), '', '1 h')"},
	"session_revoke":      {"SELECT howdah.session_revoke(gen_random_uuid())"},
	"session_revoke_user": {"SELECT howdah.session_revoke_user('u')"},
	"session_rotate":      {"SELECT howdah.session_rotate(gen_random_uuid(), sha256('s'), sha256('t'))"},
	"session_save":        {"SELECT howdah.session_save(gen_random_uuid(), sha256('s'), 1, '')"},
	"session_touch":       {"SELECT howdah.session_touch(ARRAY[gen_random_uuid()])"},
	"smembers":            {"SELECT howdah.smembers('n', 'none')"},
	"smembers_text":       {"SELECT howdah.smembers_text('n', 'none')"},
	"ttl":                 {"SELECT howdah.ttl('n', 'k')"},
	"ttl_text":            {"SELECT howdah.ttl_text('n', 'k')"},
	"type":                {"SELECT howdah.type('n', 'k')"},
	"type_text":           {"SELECT howdah.type_text('n', 'k')"},
	"unwatch_table":       {"SELECT howdah.unwatch_table('public.articles', 'n')", "SELECT howdah.watch_table('public.articles', 'n', 'id')"},
	"watch_table":         {"SELECT howdah.watch_table('public.articles', 'n', 'id'), howdah.watch_table('public.articles', 'n', 'id', 'id')"},
	"watches":             {"SELECT * FROM howdah.watches()"},
	"zrange":              {"SELECT howdah.zrange('n', 'none')"},
	"zrange_text":         {"SELECT howdah.zrange_text('n', 'none')"},
}

// No function has a NOTICE to say where it does what it was asked for. A function that is in no
// table fails the test.
func TestFunctionsSayNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true); CREATE TABLE public.articles (id int)")
	run(t, db, "SELECT howdah.set('n', 'k', '1', '1 h'), howdah.set_tagged('n', 'l', '2', '{t}'), howdah.set('n', 'x', '3')")
	versionOf(t, db, "n")
	conn, said := listen(t, db.Config().ConnString())
	for _, name := range all[string](t, db, "SELECT proname::text FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace ORDER BY 1") {
		calls := [][2]string{sayNothing[name]}
		if calls[0][0] == "" {
			calls = nil
			for _, s := range functionEffects[name] {
				calls = append(calls, [2]string{"SELECT " + s.call, s.first})
			}
		}
		require.NotEmpty(t, calls, "say in sayNothing how the function %s is called", name)
		for _, c := range calls {
			resolve := func(sql string) string {
				return replaceAll(sql, "V(k)", "public.version_of('k')", "V(new)", "public.version_of('new')", "V(x)", "public.version_of('x')", "T SET", table(t, db, "n")+" SET", "KEYS", "false")
			}
			tx, err := conn.Begin(ctx(t))
			require.NoError(t, err)
			if c[1] != "" {
				run(t, tx, resolve(c[1]))
			}
			run(t, tx, resolve(c[0]))
			require.NoError(t, tx.Rollback(ctx(t)))
			require.Empty(t, said(), c[0])
		}
	}
	for _, sql := range []string{
		"SELECT howdah.create_cache('quiet', prefix_index => true)",
		"SELECT howdah.create_cache('quiet', if_not_exists => true)",
		"SELECT howdah.alter_cache('quiet', near => true, empty => true)",
		"SELECT howdah.drop_cache('quiet')",
		"SELECT howdah.drop_cache('quiet', if_exists => true)",
	} {
		run(t, conn, sql)
		require.Empty(t, said(), sql)
	}
}

// An error about data says where it comes from in a few lines, without the text of our statements:
// psql prints all of it below the sentence.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set('c', 'text', 'abc'), howdah.set('c', 'most', '9223372036854775807'), howdah.set('c', 'h', '')")
	run(t, db, "UPDATE "+table(t, db, "c")+" SET kind = 1 WHERE key = 'h'")
	plant(t, db, "s", "taken", "other", "1")
	for _, x := range []struct{ code, call string }{
		{"HW001", "get_text('none', 'k')"}, {"HW001", "set_text('none', 'k', 'v')"}, {"HW001", "flush('none')"},
		{"HW002", "get_text('No', 'k')"}, {"HW002", "create_cache('No')"}, {"HW003", "create_cache('c')"}, {"HW004", "create_cache('d', max_bytes => -1)"},
		{"HW005", "increment_text('c', 'text')"}, {"HW006", "increment_text('c', 'most')"},
		{"HW007", "set_text('c', repeat('k', 70000), 'v')"}, {"HW007", "get_text('c', repeat('k', 70000))"},
		{"HW009", "set_text('c', 'k', 'v', '-1 s')"}, {"HW009", "claim_text('c', 'k', '-1 s')"},
		{"HW010", "set_text('s', 'taken', 'v')"}, {"HW010", "add_text('s', 'taken', 'v')"}, {"HW010", "increment_text('s', 'taken')"},
		{"HW010", "set_many_text('s', '{taken,free}', '{v,w}')"},
		{"HW012", "set_text('c', NULL, 'v')"}, {"HW012", "set_text('c', 'k', NULL)"},
		{"HW018", "get_text('c', 'h')"}, {"HW018", "get_entry_text('c', 'h')"}, {"HW018", "get_and_delete_text('c', 'h')"}, {"HW018", "increment_text('c', 'h')"},
		{"HW018", "claim_text('c', 'h')"}, {"HW018", "lrange_text('c', 'text')"}, {"HW018", "hgetall_text('c', 'text')"},
	} {
		_, err := db.Exec(ctx(t), "SELECT * FROM howdah."+x.call)
		var pgErr *pgconn.PgError
		require.ErrorAs(t, err, &pgErr, x.call)
		require.Equal(t, x.code, pgErr.Code, "%s: %v", x.call, err)
		require.NotRegexp(t, `(?i)\b(INSERT INTO|DELETE FROM|ON CONFLICT|WHERE)\b`, pgErr.Where, x.call)
		require.Less(t, len(strings.Split(pgErr.Where, "\n")), 9, fmt.Sprintf("%s\n%s", x.call, pgErr.Where))
	}
	require.Equal(t, "9223372036854775807", string(one[[]byte](t, db, "SELECT howdah.get('c', 'most')")))
	require.Equal(t, "1", string(one[[]byte](t, db, "SELECT value FROM "+tableOf(t, db, "s", "taken")+" WHERE key = 'other'")))
}
