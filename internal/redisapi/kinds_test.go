package redisapi

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// aHash is the hash of one field f with the value v, packed, and as its kind.
const (
	aHash     = "\x01\x01f\x01v"
	aHashKind = 1
)

// collection stores a collection in database 0.
func (s *testServer) collection(key string, kind int, packed string) {
	s.t.Helper()
	pool, ctx := s.db.Pool(), s.t.Context()
	var table string
	err := pool.QueryRow(ctx, "SELECT 'howdah_internal.cache_' || id FROM howdah_internal.cache WHERE name = 'db0'").Scan(&table)
	if err == nil {
		_, err = pool.Exec(ctx, "SELECT howdah.set('db0', $1, $2)", []byte(key), []byte(packed))
	}
	if err == nil {
		_, err = pool.Exec(ctx, "UPDATE "+table+" SET kind = $2 WHERE key = $1", []byte(key), kind)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

const wrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"

// onStrings are commands on strings, of a key "k" that holds a hash.
var onStrings = []string{
	"GET k", "STRLEN k", "GETRANGE k 0 -1", "SUBSTR k 0 -1", "GETEX k", "GETEX k PERSIST", "GETEX k EX 100", "GETDEL k", "GETSET k v",
	"SET k v GET", "SET k v XX GET", "SET k v NX GET", "SET k v KEEPTTL GET", "INCR k", "DECR k", "INCRBY k 5", "DECRBY k 5",
	"INCRBYFLOAT k 1.5", "INCRBYFLOAT k inf", "APPEND k v", "SETRANGE k 1 v",
}

// onKinds are commands on keys of any kind, with their replies; "k" holds a hash and
// "s" a string.
var onKinds = []struct{ command, reply string }{
	{"TYPE k", "+hash\r\n"}, {"TYPE s", "+string\r\n"}, {"TYPE none", "+none\r\n"},
	{"EXISTS k", ":1\r\n"}, {"EXISTS k s none", ":2\r\n"}, {"TOUCH k", ":1\r\n"},
	{"TTL k", ":-1\r\n"}, {"EXPIRE k 100", ":1\r\n"}, {"TTL k", ":100\r\n"}, {"PERSIST k", ":1\r\n"}, {"PTTL k", ":-1\r\n"},
	{"MGET k", "*1\r\n$-1\r\n"}, {"MGET k s none", "*3\r\n$-1\r\n$1\r\n1\r\n$-1\r\n"},
	{"SETNX k v", ":0\r\n"}, {"SET k v NX", "$-1\r\n"}, {"MSETNX j v k v", ":0\r\n"}, {"EXISTS j", ":0\r\n"},
	{"OBJECT ENCODING k", "$8\r\nlistpack\r\n"}, {"OBJECT ENCODING s", "$3\r\nint\r\n"}, {"OBJECT REFCOUNT k", ":1\r\n"},
	{"SCAN 0 COUNT 100 TYPE hash", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n"}, {"SCAN 0 COUNT 100 TYPE string", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\ns\r\n"},
	{"SCAN 0 COUNT 100 TYPE zset", "*2\r\n$1\r\n0\r\n*0\r\n"},
	{"COPY k copy", ":1\r\n"}, {"TYPE copy", "+hash\r\n"}, {"RENAME copy s", "+OK\r\n"}, {"TYPE s", "+hash\r\n"}, {"GET s", wrongType},
	{"SET k v", "+OK\r\n"}, {"TYPE k", "+string\r\n"}, {"MSET s v", "+OK\r\n"}, {"GET s", "$1\r\nv\r\n"}, {"DEL k s", ":2\r\n"},
}

// Commands on strings refuse other kinds, alone, in a pipeline and in a transaction, and change nothing.
func TestWrongType(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	s.collection("k", aHashKind, aHash)
	c := dial(t, s.addr())
	for _, command := range append(onStrings, "HOWDAH.FETCH k") {
		c.want(wrongType, strings.Fields(command)...)
	}
	c.want(wrongType, "SETRANGE", "k", "1", "")
	c.want(resp.OK, "MULTI")
	var pipeline []byte
	for _, command := range onStrings {
		pipeline = resp.AppendCommand(pipeline, strings.Fields(command)...)
	}
	c.send(pipeline)
	for range onStrings {
		if reply := c.reply(); reply != "+QUEUED\r\n" {
			t.Fatal(reply)
		}
	}
	c.want(string(resp.AppendArray(nil, len(onStrings)))+strings.Repeat(wrongType, len(onStrings)), "EXEC")
	c.send(pipeline)
	for _, command := range onStrings {
		if reply := c.reply(); reply != wrongType {
			t.Fatalf("%s: %q", command, reply)
		}
	}
	var kind int
	var value string
	if err := s.db.Pool().QueryRow(t.Context(), "SELECT kind, convert_from(value, 'UTF8') FROM howdah.cache_db0 WHERE key = 'k'").Scan(&kind, &value); err != nil {
		t.Fatal(err)
	}
	if kind != aHashKind || value != aHash {
		t.Fatalf("kind %d, value %q", kind, value)
	}
}

// wantOfKind is want for a line of onKinds.
func (c *testClient) wantOfKind(reply, command string) {
	c.t.Helper()
	words := strings.Fields(command)
	if got := c.do(words...); got != reply && !(words[0] == "TTL" && sameLife(reply, got, 5)) {
		c.t.Fatalf("%q: got %q, want %q", command, got, reply)
	}
}

// The other commands take keys of every kind.
func TestEveryType(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	s.collection("k", aHashKind, aHash)
	c := dial(t, s.addr())
	c.want(resp.OK, "SET", "s", "1")
	for _, line := range onKinds {
		c.wantOfKind(line.reply, line.command)
	}
}

// WATCH of an absent key that another client finds to hold a collection.
func TestWatchSeesCollections(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	for _, command := range []string{"GET k", "MGET k j", "INCR k"} {
		c.want(resp.OK, "WATCH", "k")
		s.collection("k", aHashKind, aHash)
		other.do(strings.Fields(command)...)
		other.want(resp.One, "DEL", "k")
		c.want(resp.OK, "MULTI")
		c.want("+QUEUED\r\n", "PING")
		c.want("*-1\r\n", "EXEC")
	}
}
