package transfer

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/server"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/values"
)

// serve serves a new database to Redis clients.
func serve(t *testing.T) (url string, a Address) {
	t.Helper()
	url = pgtest.New(t)
	ready, ended := make(chan server.Addresses, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		ended <- server.Run(ctx, server.Config{
			DatabaseURL: url, RedisAddr: "127.0.0.1:0", Timeout: 30 * time.Second, ShutdownTimeout: 10 * time.Second,
			Ready: func(a server.Addresses) { ready <- a },
		})
	}()
	select {
	case at := <-ready:
		a.Host = at.Redis.String()
	case err := <-ended:
		t.Fatalf("the server ended: %v", err)
	}
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return url, a
}

// A server of Howdah is a source, too. Collections are copied alike by DUMP and by the commands
// of their types, with the expiry of fields.
func TestImportFromHowdah(t *testing.T) {
	t.Parallel()
	url, a := serve(t)
	source, conn := openURL(t, url), dial(t, a)
	fill(t, source.Cache("db0"))
	_, err := conn.Do("SELECT", "2")
	require.NoError(t, err)
	_, err = conn.Do("HSET", "hash", "a", "1", "b", "2", "c\xff", "3")
	require.NoError(t, err)
	_, err = conn.Do("HPEXPIREAT", "hash", "4102444800000", "FIELDS", "1", "b")
	require.NoError(t, err)

	db := openDB(t)
	o := Options{Source: a, MaxValueBytes: 64 << 20, StateFile: t.TempDir() + "/state", PageKeys: 300}
	counts, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.Empty(t, counts.Refused)
	requireEqual(t, content(t, source.Cache("db0")), content(t, db.Cache("db0")))
	found, err := Verify(t.Context(), db, VerifyOptions{Options: o, Tolerance: 5 * time.Second})
	require.NoError(t, err)
	require.Zero(t, found.Open(), "%+v", found)

	for _, number := range []int{0, 2} {
		r := &reader{conn: conn, limits: limits{64 << 20}, now: clock(time.Now())}
		require.NoError(t, conn.selects(number))
		dumped := everything(t, r)
		r.noDump = true
		for key, e := range everything(t, r) {
			d := dumped[key]
			how, err := difference(&d, &e, 5000)
			require.NoError(t, err)
			require.Empty(t, how, "%q", key)
		}
	}
	hash := decoded(t, db, "db2", "hash").(*values.Hash)
	at, _ := hash.FieldExpiry("b")
	require.EqualValues(t, 4102444800000, at)
	at, _ = hash.FieldExpiry("a")
	require.Zero(t, at)
}

func dial(t *testing.T, a Address) *Conn {
	t.Helper()
	conn, err := Dial(context.WithoutCancel(t.Context()), a)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// everything reads all keys of the database that is selected.
func everything(t *testing.T, r *reader) map[string]Entry {
	t.Helper()
	all := map[string]Entry{}
	for cursor, more := "0", true; more; more = cursor != "0" {
		keys, next, err := r.conn.scan(cursor, "", 500)
		require.NoError(t, err)
		require.NoError(t, r.page(keys, func(p part) error {
			require.Empty(t, p.refused)
			for _, e := range p.entries {
				all[e.Key] = e
			}
			return nil
		}))
		cursor = next
	}
	return all
}

func TestDifference(t *testing.T) {
	t.Parallel()
	hash := func(expiry int64, fields ...string) []byte {
		h := new(values.Hash)
		for _, field := range fields {
			h.Set(field, "v")
		}
		h.SetFieldExpiry("a", expiry)
		return values.Encode(nil, h)
	}
	members := func(list string) []byte {
		s := new(values.Set)
		for m := range strings.SplitSeq(list, "") {
			s.Add(m)
		}
		return values.Encode(nil, s)
	}
	h, s := values.KindHash, values.KindSet
	for i, c := range []struct {
		a, b Entry
		want string
	}{
		{Entry{Value: []byte("x")}, Entry{Value: []byte("x")}, ""},
		{Entry{Value: []byte("x")}, Entry{Value: []byte("y")}, "value"},
		{Entry{Value: []byte("x")}, Entry{Kind: s, Value: members("x")}, "type"},
		{Entry{ExpiresAt: 5000}, Entry{ExpiresAt: 6000}, ""},
		{Entry{ExpiresAt: 5000}, Entry{ExpiresAt: 6001}, "ttl"},
		{Entry{ExpiresAt: 500}, Entry{}, "ttl"},
		{Entry{Kind: s, Value: members("abc")}, Entry{Kind: s, Value: members("cab")}, ""},
		{Entry{Kind: s, Value: members("abc")}, Entry{Kind: s, Value: members("abd")}, "value"},
		{Entry{Kind: s, Value: members("abc")}, Entry{Kind: s, Value: members("ab")}, "value"},
		{Entry{Kind: h, Value: hash(0, "a", "b")}, Entry{Kind: h, Value: hash(0, "b", "a")}, ""},
		{Entry{Kind: h, Value: hash(7000, "a", "b")}, Entry{Kind: h, Value: hash(7500, "b", "a")}, ""},
		{Entry{Kind: h, Value: hash(7000, "a", "b")}, Entry{Kind: h, Value: hash(9000, "b", "a")}, "value"},
		{Entry{Kind: h, Value: hash(7, "a", "b")}, Entry{Kind: h, Value: hash(0, "b", "a")}, "value"},
	} {
		got, err := difference(&c.a, &c.b, 1000)
		require.NoError(t, err)
		require.Equal(t, c.want, got, strconv.Itoa(i))
	}
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	a, err := ParseAddress("redis://user:pass%40word@host/7")
	require.NoError(t, err)
	require.Equal(t, Address{Host: "host:6379", User: "user", Password: "pass@word", Database: 7, Named: true}, a)
	require.Equal(t, "redis://host:6379", a.String(), "no secret")
	a, err = ParseAddress("rediss://[::1]:7000")
	require.NoError(t, err)
	require.Equal(t, "[::1]:7000", a.Host)
	require.Equal(t, "::1", a.TLS.ServerName)
	for _, text := range []string{"redis://", "redis://:secret@", "http://secret@h", "redis://h/secret", "redis://h/-1", "redis://h?secret=1", "redis://u:secret%zz@h", "postgres://u:secret@h/d"} {
		_, err := ParseAddress(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "secret", text)
	}
}
