package schema_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// effect is what a statement or function does to the entries that readers see,
// and so to the change log.
type effect int

const (
	logs     effect = iota // changes entries, and notes each of them
	idle                   // changes nothing: notes nothing and takes no transaction id
	hidden                 // changes nothing that a reader of values sees: notes nothing
	unlogged               // changes what readers see, and notes nothing on purpose
	wakes                  // changes nothing that a reader of values sees, and notes it for those who wait
	expires                // removes what no reader sees any more, and notes it where the log has keys
)

// wantsEvents has events published, and a process that wants messages.
const wantsEvents = "WITH s AS (INSERT INTO howdah_internal.server (id, name, kinds, notified, subscribers, waiters, renewed_at) VALUES (1, 'p', 2, false, 1, 0, 'infinity')) " +
	"UPDATE howdah_internal.notification SET events = 'KEA'"

// step is one run of a statement or function on the cache "n", whose entries are
// k = 1, l = 2 and the expired x. H(k) stands for the hash of a key, V(k) for the
// version of its row.
type step struct {
	effect effect
	call   string // of a statement: its arguments
	first  string // runs before it in the same transaction
}

const (
	array = "ARRAY[H(k)], ARRAY['k'::bytea], "
	gone  = "ARRAY[H(none)], ARRAY['none'::bytea], "
	fresh = "ARRAY[H(new)], ARRAY['new'::bytea], "
)

// Every file of schema/statements. A statement that is not here fails the test.
var statementEffects = map[string][]step{
	"add":     {{logs, fresh + "'{2}', '{NULL}', '{0}'", ""}, {logs, "ARRAY[H(x)], ARRAY['x'::bytea], '{2}', '{NULL}', '{0}'", ""}, {idle, array + "'{2}', '{NULL}', '{0}'", ""}},
	"add_all": {{logs, fresh + "'{2}', '{NULL}'", ""}, {idle, "ARRAY[H(k), H(new)], ARRAY['k'::bytea, 'new'], '{2,2}', '{NULL,NULL}'", ""}},
	"append":  {{logs, array + "'{2}', '{NULL}', 100", ""}, {logs, fresh + "'{2}', '{NULL}', 100", ""}},
	"claim": {{idle, array + "'{1000000}', false", ""}, {hidden, fresh + "'{1000000}', false", ""}, {idle, fresh + "'{1000000}', true", ""},
		{hidden, "ARRAY[H(x)], ARRAY['x'::bytea], '{1000000}', false", ""}, {hidden, fresh + "'{1000000}', false", "SELECT howdah.claim('n', 'new')"}},
	"commit": {
		{logs, array + "'{2}', '{NULL}', ARRAY[V(k)], '{1}', '{0}'", ""}, {logs, array + "'{2}', '{NULL}', ARRAY[V(k)], '{3}', '{0}'", ""},
		{hidden, array + "'{2}', '{NULL}', ARRAY[V(k)], '{0}', '{0}'", ""}, {idle, array + "'{2}', '{NULL}', '{7}', '{1}', '{0}'", ""},
		{idle, gone + "'{2}', '{NULL}', '{0}', '{1}', '{0}'", ""}, // its place is not held
		{logs, "ARRAY[H(x)], ARRAY['x'::bytea], '{2}', '{NULL}', '{0}', '{1}', '{0}'", ""},
	},
	"compare_delete":      {{logs, array + "'{NULL}', '{1}'", ""}, {idle, array + "'{NULL}', '{7}'", ""}, {idle, array + "'{7}', '{NULL}'", ""}, {idle, gone + "'{NULL}', '{1}'", ""}},
	"count":               {{idle, "", ""}},
	"count_ttls":          {{idle, "", ""}},
	"count_tagged":        {{idle, "1, 10", ""}},
	"delete":              {{logs, array[:len(array)-2], ""}, {idle, gone[:len(gone)-2], ""}},
	"delete_page_by_hash": {{logs, "0, 9223372036854775807, 'k', false", ""}, {logs, "0, 9223372036854775807, '', true", ""}, {idle, "0, 9223372036854775807, 'none', true", ""}},
	"delete_page_by_key":  {{logs, "'', '\\xff', 'k', false", ""}, {idle, "'', '\\xff', 'none', true", ""}},
	"exchange": {{logs, "H(k), 'k', '2', NULL, false, 0, NULL", ""}, {logs, "H(new), 'new', '2', NULL, false, 1, NULL", ""},
		{hidden, "H(k), 'k', '2', NULL, false, 1, NULL", ""}, {idle, "H(none), 'none', '2', NULL, false, 2, NULL", ""}},
	"expire": {{logs, array + "'{1000000}', '{0}'", ""}, {logs, array + "'{-1}', '{0}'", ""}, {idle, array + "'{1000000}', '{1}'", ""}, {idle, gone + "'{1000000}', '{0}'", ""},
		{unlogged, array + "'{7200000000}', '{16}'", ""}},
	"fulfil": {{logs, array + "'{2}', '{NULL}', ARRAY[V(k)], '{0}'", ""}, {logs, array + "'{2}', '{1000000}', ARRAY[V(k)], '{-1}'", ""},
		{logs, fresh + "'{2}', '{NULL}', ARRAY[V(new)], '{0}'", "SELECT howdah.claim('n', 'new')"}, {idle, array + "'{2}', '{NULL}', '{7}', '{0}'", ""}},
	"fulfil_tagged": {{logs, array + "'{2}', '{NULL}', ARRAY[V(k)], '{0}', ARRAY[H(k)], '{7}', ARRAY[pg_current_snapshot()::text]", ""}, {idle, array + "'{2}', '{NULL}', '{7}', '{0}', ARRAY[H(k)], '{7}', ARRAY[pg_current_snapshot()::text]", ""},
		{hidden, array + "'{2}', '{NULL}', ARRAY[V(k)], '{0}', ARRAY[H(k)], '{7}', ARRAY[pg_current_snapshot()::text]", "INSERT INTO G VALUES (-1, 7, '9223372036854775807')"}},
	"get":             {{idle, "ARRAY[H(k)]", ""}},
	"get_delete":      {{logs, array[:len(array)-2], ""}, {idle, gone[:len(gone)-2], ""}},
	"get_entry":       {{idle, "ARRAY[H(k)]", ""}},
	"get_expire":      {{logs, array + "'{1000000}', '{0}'", ""}, {idle, gone + "'{1000000}', '{0}'", ""}, {unlogged, array + "'{7200000000}', '{16}'", ""}},
	"get_near":        {{idle, "ARRAY[H(k)]", ""}},
	"get_one":         {{idle, "H(k)", ""}},
	"here":            nil, // needs Citus
	"hold_place":      nil, // likewise
	"hold":            {{hidden, fresh[:len(fresh)-2], ""}, {hidden, array[:len(array)-2], ""}},
	"increment":       {{logs, array + "'{1}', '{NULL}'", ""}, {logs, fresh + "'{1}', '{NULL}'", ""}},
	"increment_float": {{logs, array + "'{1}', '{NULL}'", ""}, {logs, fresh + "'{1}', '{NULL}'", ""}},
	"keys":            {{idle, "'k', NULL", ""}},
	"lock":            {{hidden, "ARRAY[H(k)]", ""}},
	"locked":          {{hidden, "ARRAY[H(k)]", ""}},
	"note_frequency":  {{hidden, "ARRAY[H(k)], '{3}'", ""}},
	"note_recency":    {{hidden, "ARRAY[H(k)], '{3}'", ""}},
	"random_key":      {{idle, "0", ""}},
	"refresh":         {{hidden, array + "ARRAY[V(k)], '{1000000}'", ""}, {idle, array + "'{7}', '{1000000}'", ""}},
	"release": {{wakes, fresh + "ARRAY[V(new)]", "SELECT howdah.claim('n', 'new')"}, {wakes, "ARRAY[H(x)], ARRAY['x'::bytea], ARRAY[V(x)]", "SELECT howdah.claim('n', 'x')"},
		{idle, array + "ARRAY[V(k)]", ""}},
	"remove":         {{logs, "H(k), 'k'", ""}},
	"remove_expired": {{expires, "ARRAY[H(x)], ARRAY['x'::bytea]", ""}, {idle, array[:len(array)-2], ""}, {idle, gone[:len(gone)-2], ""}},
	"replace":        {{logs, array + "'{2}', '{NULL}', '{f}', '{NULL}', '{0}'", ""}, {idle, gone + "'{2}', '{NULL}', '{f}', '{NULL}', '{0}'", ""}, {idle, array + "'{2}', '{NULL}', '{f}', '{7}', '{0}'", ""}},
	"replace_version": {{logs, array + "'{2}', ARRAY[V(k)], '{0}'", ""}, {hidden, gone + "'{2}', '{7}', '{0}'", ""}, {hidden, array + "'{2}', '{7}', '{0}'", ""},
		{hidden, "ARRAY[H(x)], ARRAY['x'::bytea], '{2}', ARRAY[V(x)], '{0}'", ""}},
	"scan_page": {{idle, "0, 10, '', 1023", ""}},
	"set":       {{logs, array + "'{2}', '{NULL}'", ""}, {logs, "ARRAY[H(k), H(new)], ARRAY['k'::bytea, 'new'], '{2,2}', '{NULL,NULL}'", ""}},
	"set_keep":  {{logs, array + "'{2}', '{NULL}'", ""}},
	"set_one":   {{logs, "H(k), 'k', '2', NULL", ""}},
	"set_range": {{logs, "H(k), 'k', '2', NULL, 0", ""}},
	"set_tagged": {{logs, array + "'{2}', '{NULL}', ARRAY[H(k)], '{7}'", ""}, {logs, fresh + "'{2}', '{NULL}', ARRAY[H(new)], '{7}'", ""},
		{hidden, array + "'{2}', '{NULL}', ARRAY[H(k)], '{7}'", "INSERT INTO G VALUES (-1, 7, '9223372036854775807')"}},
	"set_version":   {{logs, array + "'{2}', '{NULL}'", ""}},
	"stat":          {{idle, "ARRAY[H(k)]", ""}},
	"stored":        {{idle, "ARRAY[H(k)]", ""}},
	"transfer":      {{logs, "H(k), 'k', H(l), 'l', false", ""}},
	"transfer_tags": {{idle, "H(k), H(l)", ""}, {hidden, "H(l), H(k)", ""}},
	"vacuum":        nil, // changes nothing that anybody reads, and cannot run in a transaction
	"watch": {{idle, array[:len(array)-2], ""}, {hidden, fresh[:len(fresh)-2], ""}, {hidden, "ARRAY[H(x)], ARRAY['x'::bytea]", ""},
		{hidden, "ARRAY[H(k), H(new)], ARRAY['k'::bytea, 'new']", ""}},
	"set_near":     {{logs, array + "'{2}', '{NULL}'", ""}},
	"set_one_near": {{logs, "H(k), 'k', '2', NULL", ""}},
}

// Every function that may write, but those of sessions, which nobody keeps in
// memory. A function that is not here fails the test.
var functionEffects = map[string][]step{
	"add":                  {{logs, "howdah.add('n', 'new', '2')", ""}, {logs, "howdah.add('n', 'x', '2')", ""}, {hidden, "howdah.add('n', 'k', '2')", ""}},
	"add_text":             {{logs, "howdah.add_text('n', 'new', '2')", ""}},
	"alter_cache":          {{logs, "howdah.alter_cache('n', empty => true)", ""}, {logs, "howdah.alter_cache('n', empty => true, durability => 'sync', near => false)", ""}, {hidden, "howdah.alter_cache('n', durability => 'sync', max_ttl => '1 s')", ""}},
	"claim":                {{idle, "howdah.claim('n', 'k')", ""}, {hidden, "howdah.claim('n', 'new')", ""}, {hidden, "howdah.claim('n', 'x')", ""}, {hidden, "howdah.claim('n', 'new')", "SELECT howdah.claim('n', 'new')"}},
	"claim_text":           {{idle, "howdah.claim_text('n', 'k')", ""}},
	"compare_and_set":      {{logs, "howdah.compare_and_set('n', 'k', (SELECT version FROM howdah.get_entry('n', 'k')), '2')", ""}, {logs, "howdah.compare_and_set('n', 'new', 0, '2')", ""}, {idle, "howdah.compare_and_set('n', 'k', 7, '2')", ""}},
	"compare_and_set_text": {{logs, "howdah.compare_and_set_text('n', 'new', 0, '2')", ""}},
	"create_cache":         {{hidden, "howdah.create_cache('other', near => true)", ""}},
	"create_database":      {{hidden, "howdah.create_database(7)", ""}},
	"delete":               {{logs, "howdah.delete('n', 'k')", ""}, {hidden, "howdah.delete('n', 'none')", ""}},
	"delete_text":          {{logs, "howdah.delete_text('n', 'k')", ""}},
	"delete_many":          {{logs, "howdah.delete_many('n', '{k,l,none}')", ""}, {hidden, "howdah.delete_many('n', '{none}')", ""}},
	"delete_many_text":     {{logs, "howdah.delete_many_text('n', '{k}')", ""}},
	"delete_prefix":        {{logs, "howdah.delete_prefix('n', '')", ""}, {idle, "howdah.delete_prefix('n', 'none')", ""}},
	"delete_prefix_text":   {{logs, "howdah.delete_prefix_text('n', 'k')", ""}},
	"drop_cache":           {{logs, "howdah.drop_cache('n')", ""}},
	"expire":               {{logs, "howdah.expire('n', 'k', '1 s')", ""}, {idle, "howdah.expire('n', 'none', '1 s')", ""}},
	"expire_text":          {{logs, "howdah.expire_text('n', 'k', '1 s')", ""}},
	"flush":                {{logs, "howdah.flush('n')", ""}},
	"fulfil":               {{logs, "howdah.fulfil('n', 'k', V(k), '2')", ""}, {logs, "howdah.fulfil('n', 'k', V(k), NULL, '1 s')", ""}, {idle, "howdah.fulfil('n', 'k', 7, '2')", ""}},
	"fulfil_text":          {{logs, "howdah.fulfil_text('n', 'k', V(k), '2')", ""}},
	"get_and_delete":       {{logs, "howdah.get_and_delete('n', 'k')", ""}, {hidden, "howdah.get_and_delete('n', 'none')", ""}},
	"get_and_delete_text":  {{logs, "howdah.get_and_delete_text('n', 'k')", ""}},
	"grant_runtime":        {{hidden, "howdah.grant_runtime('pg_monitor')", ""}},
	"increment":            {{logs, "howdah.increment('n', 'k')", ""}},
	"increment_text":       {{logs, "howdah.increment_text('n', 'new')", ""}},
	"invalidate_tag":       {{logs, "howdah.invalidate_tag('n', 't')", ""}, {hidden, "howdah.invalidate_tag('n', 'none')", ""}},
	"invalidate_tags":      {{logs, "howdah.invalidate_tags('n', '{none,t}')", ""}, {idle, "howdah.invalidate_tags('n', NULL)", ""}},
	"_invalidate_tags":     {{logs, "howdah_internal._invalidate_tags(c, '{t}') FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"invalidate_all":       {{logs, "howdah.invalidate_all('n')", "UPDATE T SET value = '3'"}},
	// A delete of an evicted entry finds no row, so its eviction has to be noted.
	"maintain":        {{logs, "howdah.maintain('n')", "SELECT howdah.alter_cache('n', max_entries => 1, eviction => 'allkeys-random')"}},
	"persist":         {{logs, "howdah.persist('n', 'k')", ""}},
	"persist_text":    {{logs, "howdah.persist_text('n', 'k')", ""}},
	"release":         {{wakes, "howdah.release('n', 'new', V(new))", "SELECT howdah.claim('n', 'new')"}, {idle, "howdah.release('n', 'k', V(k))", ""}},
	"release_text":    {{idle, "howdah.release_text('n', 'k', V(k))", ""}},
	"replace":         {{logs, "howdah.replace('n', 'k', '2')", ""}, {idle, "howdah.replace('n', 'none', '2')", ""}},
	"replace_text":    {{logs, "howdah.replace_text('n', 'k', '2')", ""}},
	"revoke_runtime":  {{hidden, "howdah.revoke_runtime('pg_monitor')", "SELECT howdah.grant_runtime('pg_monitor')"}},
	"set":             {{logs, "howdah.set('n', 'k', '2')", ""}, {logs, "howdah.set('n', 'new', '2')", ""}},
	"set_tagged":      {{logs, "howdah.set_tagged('n', 'k', '2', '{t}')", ""}, {logs, "howdah.set_tagged('n', 'new', '2', NULL)", ""}},
	"set_tagged_text": {{logs, "howdah.set_tagged_text('n', 'k', '2', '{t}')", ""}},
	"set_json":        {{logs, "howdah.set_json('n', 'k', '2')", ""}},
	"set_text":        {{logs, "howdah.set_text('n', 'k', '2')", ""}},
	"set_many":        {{logs, "howdah.set_many('n', '{k,new,k}', '{2,2,3}')", ""}},
	"set_many_text":   {{logs, "howdah.set_many_text('n', '{k}', '{2}')", ""}},
	"swap_caches":     {{logs, "howdah.swap_caches('n', 'twin')", "SELECT howdah.create_cache('twin', near => true, log_keys => KEYS)"}, {hidden, "howdah.swap_caches('n', 'n')", ""}},
	"touch":           {{unlogged, "howdah.touch('n', 'k', '2 h')", ""}}, // a copy expires early
	"touch_text":      {{unlogged, "howdah.touch_text('n', 'k', '2 h')", ""}},
	"_detect_reset":   {{hidden, "howdah_internal._detect_reset()", "DELETE FROM howdah_internal.change_state"}},
	"_maintain":       {{logs, "howdah_internal._maintain(c, 100, 100, clock_timestamp() + interval '1 s', 100, false) FROM howdah_internal.cache AS c WHERE c.name = 'n'", "SELECT howdah.alter_cache('n', max_entries => 1, eviction => 'allkeys-random')"}},
	"_put_absent":     {{logs, "howdah_internal._put_absent(c, 'new', '2', NULL) FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_put_present":    {{logs, "howdah_internal._put_present(c, 'k', NULL, '2', NULL) FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	// They touch tags only.
	"_refused":      {{idle, "howdah_internal._refused(c.id, '{1}', '{7}', NULL, pg_current_snapshot()) FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_add_tags":     {{hidden, "howdah_internal._add_tags(howdah_internal._tag_table(c), 1, '{7}') FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_replace_tags": {{hidden, "howdah_internal._replace_tags(c, 1, '{7}') FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_copy_tags":    {{hidden, "howdah_internal._copy_tags(c.id, H(l), c.id, H(k)) FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_sweep_tags":   {{hidden, "howdah_internal._sweep_tags(c, 100) FROM howdah_internal.cache AS c WHERE c.name = 'n'", "INSERT INTO G VALUES (1, 7)"}},
	"_create_tags":  {{hidden, "howdah_internal._create_tags(c) FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_invalidate":   {{logs, "howdah_internal._invalidate('n', '{k}', '{}', false)", ""}, {logs, "howdah_internal._invalidate('n', '{}', '{}', true)", ""}},
	// Parts of a watch, whose effect TestWatchNotesInTheChangeLog shows.
	"_apply_watches": nil, "_bury": nil, "_check_expression": nil, "_invalidate_table": nil, "_note_watch": nil, "_share": nil, "watch_table": nil, "unwatch_table": nil, "_unwatch": nil,
	// swap_caches, alter_cache and drop_cache show what they do.
	"_rename_table": nil, "_swap_parts": nil, "_alter_part": nil, "_lock_rows": nil, "_lock_tables": nil,
	"_flush":        {{logs, "howdah_internal._flush(c, now()) FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_divide":       nil, // TestDivide
	"_turn_log":     {{hidden, "howdah.alter_cache('n', near => false)", ""}},
	"_trim_log":     {{hidden, "howdah_internal._trim_log('infinity')", "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'"}},
	"_trim_bus":     {{hidden, "howdah_internal._trim_bus(1000, '1:1:', 'infinity')", "INSERT INTO howdah_internal.change_tick VALUES (900, pg_current_snapshot())"}},
	"publish":       {{hidden, "howdah.publish('c', 'm')", ""}},
	"publish_text":  {{hidden, "howdah.publish_text('c', 'm')", ""}},
	"_set_events":   {{hidden, "howdah_internal._set_events('')", ""}, {hidden, "howdah_internal._set_events('KEA')", ""}},
	"_announce_set": {{idle, "howdah_internal._announce_set(c, ARRAY['k'::bytea], '1 h') FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_announce": {{idle, "howdah_internal._announce('n', 'x', 'expired', ARRAY['k'::bytea])", ""},
		{hidden, "howdah_internal._announce('n', 'x', 'expired', ARRAY['k'::bytea])", wantsEvents}},
	"_hold":           {{hidden, "howdah_internal._hold(c, ARRAY[H(new), H(k)], ARRAY['new'::bytea, 'k']) FROM howdah_internal.cache AS c WHERE c.name = 'n'", ""}},
	"_log":            {{logs, "howdah_internal._log(c, NULL) FROM howdah_internal.cache AS c WHERE c.name = 'n'", "DELETE FROM T"}},
	"_mark_full":      {{hidden, "howdah_internal._mark_full(c, 9, 9, true) FROM howdah_internal.cache AS c WHERE c.name = 'n'", "SELECT howdah.alter_cache('n', max_entries => 1)"}},
	"_refuse_program": nil, // raise
	"_refuse_write":   nil,
	"_evict":          {{idle, "howdah_internal._evict('unlogged')", ""}},
	// Of a database on several servers: TestCitusPrepare.
	"_here": nil, "_stay": nil, "_keep_toast": nil, "_adopt": nil, "_follow": nil, "_grant_places": nil, "_note_places": nil, "_place_steps": nil, "_remake_parts": nil,
	// They touch no entry: catalogs, grants, arithmetic.
	"_clock": nil, "_reserve_id": nil, "_create_prefix_index": nil, "_create_part": nil, "_create_table": nil, "_create_view": nil, "_grant_cache": nil,
	"_grant_runtime": nil, "_jitter": nil, "_own_table": nil, "_replication_lag": nil, "_sample": nil,
}

// Whatever changes an entry of a cache with a change log notes it in the same
// transaction, and a conditional write that finds its condition not met costs no
// transaction id.
func TestEveryWriteIsNoted(t *testing.T) {
	t.Parallel()
	testNotes(t, false)
}

// With log_keys the keys are noted too, and they are those of the hashes.
func TestEveryWriteIsNotedWithKeys(t *testing.T) {
	t.Parallel()
	testNotes(t, true)
}

func testNotes(t *testing.T, keyed bool) {
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true, log_keys => $1)", keyed)
	run(t, db, "SELECT howdah.set('n', 'k', '1', '1 h'), howdah.set_tagged('n', 'l', '2', '{t}'), howdah.set('n', 'x', '3')")
	expireNow(t, db, "n", "x")
	versionOf(t, db, "n")
	w := &walker{t, db, table(t, db, "n"), one[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'n'"), keyed}

	files, err := filepath.Glob("statements/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		steps, known := statementEffects[name]
		require.True(t, known, "say in statementEffects what the statement %s does", name)
		for _, s := range steps {
			sql := "PREPARE p AS " + schema.Statement(name, schema.Table{Name: w.table, Source: w.table, Log: w.id, LogKeys: keyed})
			end := "DEALLOCATE p"
			execute := "EXECUTE p (" + s.call + ")"
			if s.call == "" {
				execute = "EXECUTE p"
			}
			w.run(s, name+" ("+s.call+")", sql, execute, end)
		}
	}

	functions := all[string](t, db, `
		SELECT proname::text FROM pg_proc
		WHERE pronamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace)
		  AND provolatile = 'v' AND proname !~ '^_?(maintain_)?session'`)
	require.Greater(t, len(functions), 40)
	for _, name := range functions {
		steps, known := functionEffects[name]
		require.True(t, known, "say in functionEffects what the function %s does", name)
		for _, s := range steps {
			w.run(s, s.call, "", "SELECT "+s.call, "")
		}
	}
	require.Subset(t, functions, slices.DeleteFunc(keys(functionEffects), func(name string) bool {
		return name == "_maintain_sessions"
	}), "what is no function any more")
}

func keys[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}

// walker runs steps on the cache "n", each in a transaction that is rolled back.
type walker struct {
	t  *testing.T
	db interface {
		Begin(context.Context) (pgx.Tx, error)
	}
	table string
	id    int32
	keyed bool // the log has keys
}

func (w *walker) run(s step, what, prepare, call, end string) {
	w.t.Helper()
	tx, err := w.db.Begin(ctx(w.t))
	require.NoError(w.t, err)
	defer tx.Rollback(ctx(w.t))
	hashed := func(sql string) string {
		sql = replaceAll(sql, "UPDATE T ", "UPDATE "+w.table+" ", "FROM T", "FROM "+w.table, "INTO G ", "INTO "+replaceAll(w.table, ".cache_", ".tag_")+" ",
			"KEYS", fmt.Sprint(w.keyed))
		for _, key := range []string{"k", "l", "x", "new", "none"} {
			sql = replaceAll(sql, "H("+key+")", "howdah.key_hash('"+key+"')", "V("+key+")", "version_of('"+key+"')")
		}
		return sql
	}
	for _, sql := range []string{prepare, hashed(s.first)} {
		if sql != "" {
			run(w.t, tx, sql)
		}
	}
	before := w.entries(tx)
	if strings.Contains(s.first, " T") { // the change is what came first
		before = map[int64]string{0: "anything"}
	}
	run(w.t, tx, hashed(call))
	assigned := one[bool](w.t, tx, "SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
	var changed []int64
	for hash, was := range before {
		if w.entries(tx)[hash] != was {
			changed = append(changed, hash)
		}
	}
	for hash := range w.entries(tx) {
		if _, was := before[hash]; !was {
			changed = append(changed, hash)
		}
	}
	rows, everything := w.logged(tx)
	switch s.effect {
	case logs:
		require.NotEmpty(w.t, changed, "%s changes nothing: the step tests nothing", what)
		if !everything {
			require.Subset(w.t, rows, changed, "%s does not note what it changes", what)
		}
	case idle:
		require.False(w.t, assigned, "%s takes a transaction id", what)
		fallthrough
	case hidden:
		require.Empty(w.t, changed, what)
		if strings.Contains(what, "near => false") {
			break // noted under the former id
		}
		require.Empty(w.t, rows, what)
		require.False(w.t, everything, what)
	case expires:
		require.Empty(w.t, changed, what)
		require.Len(w.t, rows, map[bool]int{true: 1}[w.keyed], what)
	case wakes:
		require.Empty(w.t, changed, what)
		require.Len(w.t, rows, 1, what)
	case unlogged:
		require.NotEmpty(w.t, changed, what)
		require.Empty(w.t, rows, what)
		require.False(w.t, everything, what)
	}
	if end != "" {
		run(w.t, tx, end)
	}
}

// entries are what readers see, by hash.
func (w *walker) entries(tx pgx.Tx) map[int64]string {
	seen := map[int64]string{}
	if one[bool](w.t, tx, "SELECT NOT EXISTS (SELECT FROM howdah_internal.cache WHERE name = 'n')") {
		return seen // dropped
	}
	rows, err := tx.Query(ctx(w.t), "SELECT hash, concat_ws('|', key, value, version, expires_at, kind) FROM "+table(w.t, tx, "n")+" WHERE expires_at > statement_timestamp()")
	require.NoError(w.t, err)
	var hash int64
	var entry string
	_, err = pgx.ForEachRow(rows, []any{&hash, &entry}, func() error { seen[hash] = entry; return nil })
	require.NoError(w.t, err)
	return seen
}

// logged is what this transaction has noted of the cache.
func (w *walker) logged(tx pgx.Tx) (hashes []int64, everything bool) {
	rows, err := tx.Query(ctx(w.t), `SELECT hashes, CASE WHEN keys IS NOT NULL THEN ARRAY(SELECT howdah.key_hash(k.key) FROM unnest(keys) AS k (key)) END
		FROM howdah_internal.change WHERE cache = $1 AND xid = pg_current_xact_id_if_assigned()`, w.id)
	require.NoError(w.t, err)
	var noted, named []int64
	_, err = pgx.ForEachRow(rows, []any{&noted, &named}, func() error {
		if w.keyed {
			require.ElementsMatch(w.t, noted, named, "the keys are not those of the hashes")
		} else {
			require.Nil(w.t, named, "keys are noted that nobody has asked for")
		}
		hashes = append(hashes, noted...)
		everything = everything || noted == nil
		return nil
	})
	require.NoError(w.t, err)
	return hashes, everything
}
