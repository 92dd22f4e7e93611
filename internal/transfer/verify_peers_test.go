//go:build peers

package transfer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

func cacheConfig(name, durability string) core.CacheConfig {
	return core.CacheConfig{Name: name, Durability: durability}
}

var alterDurability = core.AlterOptions{Only: []string{"durability"}}

// requireVerified expects Verify to find no difference.
func requireVerified(t *testing.T, db *core.DB, o Options) {
	t.Helper()
	found, err := Verify(t.Context(), db, VerifyOptions{Options: o, Tolerance: 5 * time.Second})
	require.NoError(t, err)
	require.Zero(t, found.Open(), "%+v", found)
	require.Equal(t, found.Keys, found.Equal)
}

// Verify names each kind of difference, and repairs it if it may.
func TestVerify(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db, o := connect(t, a), openDB(t), optionsFor(t, a)
	cache := db.Cache("db0")
	c.do("MSET", "same", "x", "missing", "x", "value", "x", "type", "x", "ttl", "x", "no ttl", "x")
	c.do("SADD", "set", "b", "a")
	c.do("HSET", "hash", "b", "1", "a", "2")
	c.do("EXPIRE", "ttl", "1000")
	set(t, cache, "same", values.String("x"), verb.NoExpiry)
	set(t, cache, "value", values.String("y"), verb.NoExpiry)
	list := new(values.List)
	list.Push("x", true)
	set(t, cache, "type", list, verb.NoExpiry)
	set(t, cache, "ttl", values.String("x"), 500*time.Second)
	set(t, cache, "no ttl", values.String("x"), 500*time.Second)
	set(t, cache, "extra", values.String("x"), verb.NoExpiry)
	members, hash := new(values.Set), new(values.Hash)
	members.Add("a")
	members.Add("b") // in another order
	hash.Set("a", "2")
	hash.Set("b", "1")
	set(t, cache, "set", members, verb.NoExpiry)
	set(t, cache, "hash", hash, verb.NoExpiry)

	v := VerifyOptions{Options: o, Tolerance: 5 * time.Second}
	found, err := Verify(t.Context(), db, v)
	require.NoError(t, err)
	want := Differences{Keys: 8, Equal: 3, Missing: 1, Differ: map[string]int64{"value": 1, "type": 1, "ttl": 2}, Extra: 1, Refused: map[string]int64{}, ExtrasSeen: true}
	require.Len(t, found.Named, 6)
	found.Named = nil
	require.Equal(t, want, found)
	require.EqualValues(t, 6, found.Open())
	text, err := os.ReadFile(o.RefusedFile)
	require.NoError(t, err)
	for _, line := range []string{
		`{"cache":"db0","key":"missing","type":"string","reason":"missing in the cache"}`,
		`{"cache":"db0","key":"no ttl","type":"string","reason":"another ttl in the cache"}`,
		`{"cache":"db0","key":"extra","type":"string","reason":"not in the source"}`,
	} {
		require.Contains(t, string(text), line)
	}
	require.Equal(t, 6, strings.Count(string(text), "\n"))

	v.Repair = true
	found, err = Verify(t.Context(), db, v)
	require.NoError(t, err)
	want.Repaired = 5
	found.Named = nil
	require.Equal(t, want, found)
	require.EqualValues(t, 1, found.Open())
	v.Delete = true
	found, err = Verify(t.Context(), db, v)
	require.NoError(t, err)
	require.EqualValues(t, 1, found.Deleted)
	require.Zero(t, found.Open())
	requireEqual(t, c.content(), content(t, cache))
}

// A user who may not ask for a key does not learn that the source has it.
func TestVerifyWithoutExists(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db, o := connect(t, a), openDB(t), optionsFor(t, a)
	c.do("SET", "same", "x")
	c.do("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@all", "-exists")
	set(t, db.Cache("db0"), "same", values.String("x"), verb.NoExpiry)
	set(t, db.Cache("db0"), "extra", values.String("x"), verb.NoExpiry)
	o.Source.User, o.Source.Password = "reader", "secret"
	found, err := Verify(t.Context(), db, VerifyOptions{Options: o, Repair: true, Delete: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, found.Equal)
	require.EqualValues(t, 2, found.Open(), "%+v", found)
	text, err := os.ReadFile(o.RefusedFile)
	require.NoError(t, err)
	require.Contains(t, string(text), `"key":"extra","type":"string","reason":"whether the source has the key is not known: NOPERM`)
	require.Len(t, content(t, db.Cache("db0")), 2)
}

// TestWritesGoOn copies a database that clients write to, interrupted twice. When they have
// stopped, the second pass makes both equal.
func TestWritesGoOn(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	g := random(t)
	c, db, o := connect(t, a), openDB(t), optionsFor(t, a)
	c.populate(g, "k", 1500)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int, 1)
	go func() { ended <- write(ctx, c, rand.New(rand.NewPCG(g.Uint64(), 2))) }()
	for kills := 0; ; kills++ {
		left := 10
		o.at = func(s step) error {
			if left--; left == 0 && kills < 2 {
				return errKilled
			}
			return nil
		}
		if _, err := Import(t.Context(), db, o); err == nil {
			break
		} else {
			require.ErrorIs(t, err, errKilled)
		}
	}
	stop()
	require.NotZero(t, <-ended)

	found, err := Verify(t.Context(), db, VerifyOptions{Options: o, Tolerance: 5 * time.Second, Repair: true, Delete: true})
	require.NoError(t, err)
	t.Logf("the second pass found %+v", found)
	require.Zero(t, found.Open())
	requireEqual(t, c.content(), content(t, db.Cache("db0")))
	requireVerified(t, db, o)
}

// write changes, stores and deletes keys until ctx ends.
func write(ctx context.Context, c client, g *rand.Rand) (n int) {
	for ; ctx.Err() == nil; n++ {
		key := "k" + strconv.Itoa(g.IntN(2000))
		b := new(batch)
		switch g.IntN(4) {
		case 0:
			b.add("DEL", key)
		case 1:
			b.add("SET", key, fmt.Sprint("new", n), "EX", "5000")
		case 2:
			b.add("DEL", key).add(words(g, key, 20)...)
		default:
			b.add("EXPIRE", key, "9000")
		}
		if _, err := c.exchange(b); err != nil {
			return 0
		}
	}
	return n
}

// A key that somebody writes in the cache while it is repaired stays as it was written.
func TestRepairLeavesNewerValues(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	cache := db.Cache("db0")
	set(t, cache, "k", values.String("old"), verb.NoExpiry)
	v := &verifier{run: newRun(db, Options{}), cache: cache, found: Differences{Differ: map[string]int64{}}}
	list, err := cache.Stored(t.Context(), [][]byte{[]byte("k")})
	require.NoError(t, err)
	source := Entry{Key: "k", Value: []byte("source")}
	version, differs, err := v.judge(&source, &list[0])
	require.NoError(t, err)
	require.True(t, differs)
	var calls []*verb.Call
	calls = append(calls, repairing(&source, version), repairing(&Entry{Key: "new", Value: []byte("source")}, 0))
	_, err = (&target{cache: cache, replace: true}).put(t.Context(), []Entry{{Key: "k", Value: []byte("newer")}, {Key: "new", Value: []byte("newer")}})
	require.NoError(t, err)
	require.NoError(t, v.repair(t.Context(), calls, &v.found.Repaired))
	require.Zero(t, v.found.Repaired)
	got := content(t, cache)
	require.Equal(t, "newer", got["k"].text)
	require.Equal(t, "newer", got["new"].text)
}
