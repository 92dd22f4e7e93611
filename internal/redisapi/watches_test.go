package redisapi

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// watches returns clients of two servers of one database, and a connection to it.
func watches(t *testing.T) (watcher, other *testClient, db *pgx.Conn) {
	url := pgtest.New(t)
	watcher, other = dial(t, serveURL(t, url, Options{}).addr()), dial(t, serveURL(t, url, Options{}).addr())
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(t.Context()) })
	return watcher, other, db
}

const maintain = "SELECT howdah.maintain(max_time => '1 min')"

// A key that was absent at WATCH, was created and was removed again, by whatever
// means: EXEC must fail, because what its client read was not true all the time.
func TestWatchedKeyMadeAndGone(t *testing.T) {
	t.Parallel()
	watcher, other, db := watches(t)
	query := func(statements ...string) func() {
		return func() {
			for _, sql := range statements {
				if _, err := db.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, change := range map[string]func(){
		"by Redis": func() {
			other.want(resp.OK, "SET", "k", "1")
			other.want(":1\r\n", "DEL", "k")
		},
		"in a transaction": func() {
			other.want(resp.OK, "MULTI")
			other.want(resp.Queued, "SET", "k", "1")
			other.want(resp.Queued, "DEL", "k")
			other.want("*2\r\n+OK\r\n:1\r\n", "EXEC")
		},
		"by expiry": func() {
			other.want(resp.OK, "SET", "k", "1", "PX", "1")
			waitFor(t, "k has expired", func() bool { return other.do("EXISTS", "k") == ":0\r\n" })
		},
		"with another watch after it": func() {
			other.want(":1\r\n", "SETNX", "k", "1")
			other.want(bulk("1"), "GETDEL", "k")
			other.want(resp.OK, "WATCH", "k")
			other.want(resp.OK, "UNWATCH")
		},
		"by a rename to it": func() {
			other.want(resp.OK, "SET", "l", "1")
			other.want(resp.OK, "RENAME", "l", "k")
			other.want(resp.OK, "RENAME", "k", "m")
		},
		"by SQL":                  query("SELECT howdah.set('db0', 'k', '1')", "SELECT howdah.delete('db0', 'k')"),
		"by SQL, at once":         query("SELECT howdah.set('db0', 'k', '1'), howdah.delete('db0', 'k')"),
		"by SQL and a prefix":     query("SELECT howdah.add('db0', 'k', '1')", "SELECT howdah.delete_prefix('db0', 'k')"),
		"by SQL and its removal":  query("SELECT howdah.increment('db0', 'k', 1)", "SELECT howdah.get_and_delete('db0', 'k')"),
		"by SQL and invalidation": query("SELECT howdah.set('db0', 'k', '1')", "SELECT howdah_internal._invalidate('db0', '{k}', '{}', false)"),
		"by SQL, and upkeep":      query("SELECT howdah.set('db0', 'k', '1', '1 us')", maintain),
		"and left there":          func() { other.want(resp.OK, "SET", "k", "1") },
	} {
		other.do("DEL", "k")
		watcher.want(resp.OK, "WATCH", "other", "k")
		change()
		watcher.want(resp.OK, "MULTI")
		watcher.want(resp.Queued, "SET", "result", "1")
		if got := watcher.do("EXEC"); got != "*-1\r\n" {
			t.Errorf("%s: EXEC answers %q", name, got)
		}
		watcher.want(":0\r\n", "EXISTS", "result")
	}
}

// What does not store the key leaves a watch of its absence alone, those of others
// included.
func TestWatchedKeyStaysAbsent(t *testing.T) {
	t.Parallel()
	watcher, other, db := watches(t)
	for name, change := range map[string]func(){
		"nothing":   func() {},
		"reads":     func() { other.want("$-1\r\n", "GET", "k"); other.want(":-2\r\n", "TTL", "k") },
		"a watch":   func() { other.want(resp.OK, "WATCH", "k"); other.want(resp.OK, "UNWATCH") },
		"a removal": func() { other.want(":0\r\n", "DEL", "k"); other.want("$-1\r\n", "GETDEL", "k") },
		"a refusal": func() { other.want("$-1\r\n", "SET", "k", "1", "XX"); other.want(":0\r\n", "EXPIRE", "k", "1") },
		"an EXEC that is undone": func() {
			other.want(resp.OK, "WATCH", "k", "l")
			watcher.want(":1\r\n", "INCR", "l")
			other.want(resp.OK, "MULTI")
			other.want(resp.Queued, "SET", "k", "1")
			other.want("*-1\r\n", "EXEC")
			other.want(":1\r\n", "DEL", "l")
		},
		"upkeep": func() {
			if _, err := db.Exec(t.Context(), maintain); err != nil {
				t.Fatal(err)
			}
		},
	} {
		watcher.want(resp.OK, "WATCH", "k")
		watcher.want(resp.OK, "WATCH", "k")
		change()
		watcher.want(resp.OK, "MULTI")
		watcher.want(resp.Queued, "SET", "k", "mine")
		if got := watcher.do("EXEC"); got != "*1\r\n+OK\r\n" {
			t.Errorf("%s: EXEC answers %q", name, got)
		}
		watcher.want(":1\r\n", "DEL", "k")
	}
}

// Nor does it matter whether there was no row of the key before, or one that has expired.
func TestWatchedKeyHasExpired(t *testing.T) {
	t.Parallel()
	watcher, other, _ := watches(t)
	watcher.want(resp.OK, "SET", "k", "1")
	watcher.want(":1\r\n", "PEXPIRE", "k", "-1")
	watcher.want(resp.OK, "WATCH", "k")
	other.want(":0\r\n", "DEL", "k")
	watcher.want(resp.OK, "MULTI")
	watcher.want(resp.Queued, "SET", "k", "mine")
	watcher.want("*1\r\n+OK\r\n", "EXEC")
}

// The row in the place of a watched key is no entry to any reader.
func TestWatchedAbsentKeyIsNoEntry(t *testing.T) {
	t.Parallel()
	watcher, other, db := watches(t)
	other.want(resp.OK, "SET", "there", "1")
	watcher.want(resp.OK, "WATCH", "k")
	for _, c := range []struct {
		reply string
		args  []string
	}{
		{":0\r\n", []string{"EXISTS", "k"}}, {"$-1\r\n", []string{"GET", "k"}}, {"*1\r\n$-1\r\n", []string{"MGET", "k"}},
		{":-2\r\n", []string{"PTTL", "k"}}, {"+none\r\n", []string{"TYPE", "k"}}, {":1\r\n", []string{"DBSIZE"}},
		{"*1\r\n" + bulk("there"), []string{"KEYS", "*"}}, {bulk("there"), []string{"RANDOMKEY"}},
		{"*2\r\n" + bulk("0") + "*1\r\n" + bulk("there"), []string{"SCAN", "0"}},
		{"-ERR no such key\r\n", []string{"RENAME", "k", "l"}}, {":0\r\n", []string{"COPY", "k", "l"}}, {":0\r\n", []string{"STRLEN", "k"}},
	} {
		other.want(c.reply, c.args...)
	}
	for sql, want := range map[string]string{
		"SELECT howdah.count('db0')":                             "1",
		"SELECT count(*) FROM howdah.scan('db0')":                "1",
		"SELECT coalesce(howdah.get_text('db0', 'k'), 'absent')": "absent",
		"SELECT state FROM howdah.claim('db0', 'k')":             "won",
		"SELECT count(*) FROM howdah_internal.change":            "0",
		"SELECT sum(r.rows) FROM howdah_internal.cache AS c, howdah_internal._sample(c, 1, 1, 1) AS r WHERE c.name = 'db0'": "1",
	} {
		var got string
		if err := db.QueryRow(t.Context(), "SELECT ("+sql+")::text").Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s, %v", sql, got, err)
		}
	}
}

// Two clients of two servers watch two absent keys, and each stores one of them: one
// EXEC fails, whatever their order is.
func TestWatchedAbsenceOnTwoServers(t *testing.T) {
	t.Parallel()
	one, two, _ := watches(t)
	for round := range 150 {
		a, b := fmt.Sprint("a", round), fmt.Sprint("b", round)
		for _, c := range []*testClient{one, two} {
			c.want(resp.OK, "WATCH", a, b)
			c.want(resp.OK, "MULTI")
		}
		one.want(resp.Queued, "SET", a, "1")
		two.want(resp.Queued, "SET", b, "1")
		answers := make(chan string)
		for _, c := range []*testClient{one, two} {
			go func() { answers <- c.do("EXEC") }()
		}
		got := []string{<-answers, <-answers}
		slices.Sort(got)
		if want := []string{"*-1\r\n", "*1\r\n+OK\r\n"}; !slices.Equal(got, want) {
			t.Fatalf("round %d: %q", round, got)
		}
	}
}
