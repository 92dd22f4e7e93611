package transfer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// openDB opens a new database with Howdah's schema.
func openDB(t testing.TB) *core.DB {
	t.Helper()
	return openURL(t, pgtest.New(t))
}

func openURL(t testing.TB, url string) *core.DB {
	t.Helper()
	db, err := core.Open(t.Context(), url, core.Options{Timeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// set stores a value of any kind.
func set(t testing.TB, c *core.Cache, key string, value values.Value, ttl time.Duration) {
	t.Helper()
	call := &verb.Call{Verb: statement.Set, Key: []byte(key), Kind: int16(value.Kind()), Value: values.Encode(nil, value), Condition: verb.IfAbsent, Expiry: verb.ExpireIn(ttl)}
	require.NoError(t, c.One(t.Context(), call))
}

// content is what a cache holds: for each key its value and its expiry.
func content(t testing.TB, c *core.Cache) map[string]readable {
	t.Helper()
	all := map[string]readable{}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, next, err := c.Scan(context.WithoutCancel(t.Context()), cursor, core.ScanOptions{Count: 1000})
		require.NoError(t, err)
		var keys [][]byte
		for _, e := range page {
			keys = append(keys, e.Key)
		}
		list, err := c.Stored(context.WithoutCancel(t.Context()), keys)
		require.NoError(t, err)
		for _, e := range list {
			value, err := values.Decode(values.Kind(e.Kind), e.Value)
			require.NoError(t, err)
			all[string(e.Key)] = read(value, e.ExpiresAt)
		}
		cursor = next
	}
	return all
}

// readable is a value in the form in which tests compare it.
type readable struct {
	kind    string
	text    string            // of a string
	list    []string          // of a list; of a sorted set member, score and so on
	members map[string]string // of a hash, and of a set with ""
	expires time.Time         // zero: never
}

func read(value values.Value, expires time.Time) readable {
	r := readable{kind: value.Kind().String(), expires: expires}
	switch v := value.(type) {
	case values.String:
		r.text = string(v)
	case *values.List:
		r.list = v.Range(0, -1)
	case *values.Set:
		r.members = map[string]string{}
		for _, m := range v.Members() {
			r.members[m] = ""
		}
	case *values.Hash:
		r.members = map[string]string{}
		for field, text := range v.All() {
			r.members[field] = text
		}
	case *values.SortedSet:
		for _, m := range v.ByRank(0, -1, false) {
			r.list = append(r.list, m.Name, formatScore(m.Score))
		}
	}
	return r
}

// requireEqual compares contents. Expiries may differ by 5 s.
func requireEqual(t testing.TB, want, got map[string]readable) {
	t.Helper()
	for key, w := range want {
		g, ok := got[key]
		require.True(t, ok, "%.100q is missing", key)
		require.WithinDuration(t, w.expires, g.expires, 5*time.Second, "the expiry of %.100q", key)
		w.expires, g.expires = time.Time{}, time.Time{}
		require.Equal(t, w, g, "%.100q", key)
	}
	for key := range got {
		require.Contains(t, want, key, "nobody has stored it")
	}
}

// decoded is the value of a key.
func decoded(t testing.TB, db *core.DB, cache, key string) values.Value {
	t.Helper()
	list, err := db.Cache(cache).Stored(t.Context(), [][]byte{[]byte(key)})
	require.NoError(t, err)
	require.Len(t, list, 1)
	value, err := values.Decode(values.Kind(list[0].Kind), list[0].Value)
	require.NoError(t, err)
	return value
}
