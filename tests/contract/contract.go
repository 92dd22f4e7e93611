// Package contract judges that a cache does what its methods promise, behind every door:
// its own pool and the application's, transactions, poolers, classes of durability,
// partitions, memory. Run holds one cache to the whole contract, also for tests in other
// folders. The tests here add what the contract does not ask of every door.
package contract

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/verb"
)

// Run holds a cache to the contract. With divided, the keys of one part get a hash tag in
// common: in a cache with partitions the calls on several keys ask for that.
func Run(t *testing.T, cache *howdah.Cache, divided bool) {
	for _, part := range parts {
		prefix := part.name + ":"
		if divided {
			prefix = "{" + part.name + "}:"
		}
		ok := t.Run(part.name, func(t *testing.T) {
			part.test(t, &fixture{T: t, Cache: cache, prefix: prefix})
		})
		if !ok {
			return // inside a transaction the rest would only follow
		}
	}
}

// fixture is a cache whose keys do not meet those of other parts.
type fixture struct {
	*testing.T
	*howdah.Cache
	prefix string
}

func (f *fixture) key(k string) string { return f.prefix + k }

func (f *fixture) do(call *verb.Call) *verb.Call {
	f.Helper()
	require.NoError(f, dbtest.Do(f.Context(), f.Cache, call))
	return call
}

// holds asserts the value of a key; nil asserts a miss.
func (f *fixture) holds(key string, want []byte) {
	f.Helper()
	got, err := f.Get(f.Context(), f.key(key))
	if want == nil {
		require.ErrorIs(f, err, howdah.ErrMiss)
		return
	}
	require.NoError(f, err)
	require.Equal(f, want, got)
}

func (f *fixture) ttl(key string) time.Duration {
	f.Helper()
	ttl, err := f.TTL(f.Context(), f.key(key))
	require.NoError(f, err)
	return ttl
}

// lives asserts that a key has at most want to live, and nearly that.
func (f *fixture) lives(key string, want time.Duration) {
	f.Helper()
	ttl := f.ttl(key)
	require.LessOrEqual(f, ttl, want)
	require.Greater(f, ttl, want-20*time.Second)
}

// kill makes a key's expiry pass without waiting for it.
func (f *fixture) kill(key string) {
	f.Helper()
	call := f.do(&verb.Call{Verb: statement.Expire, Key: []byte(f.key(key)), Expiry: verb.ExpireAt(time.Unix(1, 0))})
	require.Equal(f, verb.OK, call.Status)
}

// parts are the parts of the contract. They run in this order.
var parts = []struct {
	name string
	test func(*testing.T, *fixture)
}{
	{"tags", testTags},
	{"kinds", testKinds},
	{"collections", testCollections},
	{"a group of keys is written all or nothing", testCommit},
	{"absence has a version", testWatch},
	{"absence has a version beside leases", testWatchedLease},
	{"set and get", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.holds("k", nil)
		for _, v := range [][]byte{[]byte("v1"), {}, {0, 1, 0xff, '\'', '\\'}, bytes.Repeat([]byte{7}, 100_000)} {
			require.NoError(t, f.Set(ctx, f.key("k"), v, 0))
			f.holds("k", v)
		}
		require.NoError(t, f.Set(ctx, f.key("k"), nil, 0))
		f.holds("k", []byte{})
	}},
	{"keys are bytes", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for i, k := range []string{"", "\x00", "\xff\xfe", "a'b\\c", "ключ", strings.Repeat("k", howdah.MaxKeyBytes)} {
			v := []byte(fmt.Sprint(i))
			require.NoError(t, f.Set(ctx, k, v, time.Hour))
			got, err := f.Get(ctx, k)
			require.NoError(t, err)
			require.Equal(t, v, got)
			require.NoError(t, f.Delete(ctx, k))
		}
		require.ErrorIs(t, f.Set(ctx, strings.Repeat("k", howdah.MaxKeyBytes+1), nil, 0), howdah.ErrKeyTooLong)
		_, err := f.GetMany(ctx, []string{strings.Repeat("k", howdah.MaxKeyBytes+1)})
		require.ErrorIs(t, err, howdah.ErrKeyTooLong)
	}},
	{"values have a limit", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		big := make([]byte, howdah.DefaultMaxValueBytes+1)
		require.ErrorIs(t, f.Set(ctx, f.key("k"), big, 0), howdah.ErrValueTooLarge)
		require.ErrorIs(t, f.SetMany(ctx, []howdah.Item{{Key: "a"}, {Key: "b", Value: big}}, 0), howdah.ErrValueTooLarge)
		f.holds("k", nil)
	}},
	{"ttl", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.Set(ctx, f.key("k"), nil, time.Hour))
		f.lives("k", time.Hour)
		require.ErrorIs(t, f.Set(ctx, f.key("k"), nil, -1), howdah.ErrInvalidTTL)
		require.NoError(t, f.Set(ctx, f.key("k"), nil, 1)) // a nanosecond is not for ever
		require.Eventually(t, func() bool {
			_, err := f.Get(ctx, f.key("k"))
			return errors.Is(err, howdah.ErrMiss)
		}, time.Minute, time.Millisecond)
		_, err := f.TTL(ctx, f.key("k"))
		require.ErrorIs(t, err, howdah.ErrMiss)
		far := time.Now().Add(100 * time.Hour)
		f.do(&verb.Call{Verb: statement.Set, Key: []byte(f.key("k")), Expiry: verb.ExpireAt(far)})
		e, err := f.Stat(ctx, f.key("k"))
		require.NoError(t, err)
		require.WithinDuration(t, far, e.ExpiresAt, time.Millisecond)
	}},
	{"expired is absent to every verb", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		k := f.key("k")
		revive := func() {
			t.Helper()
			require.NoError(t, f.Set(ctx, k, []byte("41"), time.Hour))
			f.kill("k")
		}
		revive()
		f.holds("k", nil)
		many, err := f.GetMany(ctx, []string{k})
		require.NoError(t, err)
		require.Empty(t, many)
		require.ErrorIs(t, f.Replace(ctx, k, nil, 0), howdah.ErrNotStored)
		require.ErrorIs(t, f.Touch(ctx, k, time.Hour), howdah.ErrMiss)
		require.ErrorIs(t, f.Persist(ctx, k), howdah.ErrMiss)
		_, err = f.GetAndDelete(ctx, k)
		require.ErrorIs(t, err, howdah.ErrMiss)
		revive()
		n, err := f.DeleteMany(ctx, []string{k})
		require.NoError(t, err)
		require.Zero(t, n)
		revive()
		sum, err := f.Increment(ctx, k, 1, 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, sum)
		revive()
		require.NoError(t, f.Add(ctx, k, []byte("new"), 0))
		f.holds("k", []byte("new"))
		revive()
		old := f.do(&verb.Call{Verb: statement.Set, Key: []byte(k), Value: []byte("x"), WantOld: true})
		require.False(t, old.Result.Found)
		revive()
		f.do(&verb.Call{Verb: statement.Append, Key: []byte(k), Value: []byte("x")})
		f.holds("k", []byte("x"))
		revive()
		f.do(&verb.Call{Verb: statement.SetRange, Key: []byte(k), Value: []byte("x"), Offset: 1})
		f.holds("k", []byte("\x00x"))
		revive()
		_, err = f.CompareAndSet(ctx, k, 0, []byte("cas"), 0)
		require.NoError(t, err)
		revive()
		all := f.do(&verb.Call{Verb: statement.SetManyIfAbsent, Keys: [][]byte{[]byte(k)}, Values: [][]byte{[]byte("m")}})
		require.Equal(t, verb.OK, all.Status)
		f.holds("k", []byte("m"))
	}},
	{"add and replace", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.ErrorIs(t, f.Replace(ctx, f.key("k"), []byte("r"), 0), howdah.ErrNotStored)
		require.NoError(t, f.Add(ctx, f.key("k"), []byte("a"), time.Hour))
		require.ErrorIs(t, f.Add(ctx, f.key("k"), []byte("b"), 0), howdah.ErrNotStored)
		f.holds("k", []byte("a"))
		f.lives("k", time.Hour)
		require.NoError(t, f.Replace(ctx, f.key("k"), []byte("r"), 2*time.Hour))
		f.holds("k", []byte("r"))
		f.lives("k", 2*time.Hour)
	}},
	{"keep the expiry", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for _, condition := range []verb.Condition{verb.Always, verb.IfPresent} {
			require.NoError(t, f.Set(ctx, f.key("k"), []byte("a"), time.Hour))
			for _, old := range []bool{false, true} {
				call := f.do(&verb.Call{Verb: statement.Set, Key: []byte(f.key("k")), Value: []byte("b"),
					Expiry: verb.KeepExpiry(), Condition: condition, WantOld: old})
				require.Equal(t, verb.OK, call.Status)
				f.holds("k", []byte("b"))
				f.lives("k", time.Hour)
			}
		}
	}},
	{"exchange", func(t *testing.T, f *fixture) {
		k := []byte(f.key("k"))
		set := func(v string, condition verb.Condition) *verb.Call {
			return f.do(&verb.Call{Verb: statement.Set, Key: k, Value: []byte(v), Condition: condition, WantOld: true})
		}
		call := set("1", verb.IfPresent)
		require.Equal(t, verb.NotStored, call.Status)
		require.False(t, call.Result.Found)
		call = set("2", verb.IfAbsent)
		require.Equal(t, verb.OK, call.Status)
		require.False(t, call.Result.Found)
		call = set("3", verb.IfAbsent)
		require.Equal(t, verb.NotStored, call.Status)
		require.Equal(t, "2", string(call.Result.Value))
		call = set("4", verb.Always)
		require.Equal(t, verb.OK, call.Status)
		require.Equal(t, "2", string(call.Result.Value))
		f.holds("k", []byte("4"))
		require.Equal(t, howdah.NoExpiry, f.ttlOrMax("k"))
	}},
	{"compare and delete", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		k := f.key("k")
		require.ErrorIs(t, f.CompareAndDelete(ctx, k, 1), howdah.ErrNotStored)
		require.ErrorIs(t, f.CompareValueAndDelete(ctx, k, nil), howdah.ErrNotStored)
		require.NoError(t, f.Set(ctx, k, []byte("mine"), 0))
		e, err := f.Stat(ctx, k)
		require.NoError(t, err)
		require.ErrorIs(t, f.CompareAndDelete(ctx, k, e.Version-1), howdah.ErrNotStored)
		require.ErrorIs(t, f.CompareAndDelete(ctx, k, 0), howdah.ErrNotStored)
		require.ErrorIs(t, f.CompareValueAndDelete(ctx, k, []byte("other")), howdah.ErrNotStored)
		f.holds("k", []byte("mine"))
		require.NoError(t, f.CompareAndDelete(ctx, k, e.Version))
		require.ErrorIs(t, f.CompareAndDelete(ctx, k, e.Version), howdah.ErrNotStored)
		for _, value := range []string{"mine", ""} {
			require.NoError(t, f.Set(ctx, k, []byte(value), 0))
			require.NoError(t, f.CompareValueAndDelete(ctx, k, []byte(value)))
			_, err = f.Get(ctx, k)
			require.ErrorIs(t, err, howdah.ErrMiss)
		}
		require.NoError(t, f.Set(ctx, k, []byte("gone"), 0))
		e, err = f.Stat(ctx, k)
		require.NoError(t, err)
		f.kill("k")
		require.ErrorIs(t, f.CompareAndDelete(ctx, k, e.Version), howdah.ErrNotStored)
	}},
	{"the rest of the face", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		k := f.key("k")
		n, err := f.Append(ctx, k, []byte("ab"), time.Hour)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		n, err = f.SetRange(ctx, k, 3, []byte("d"), 0)
		require.NoError(t, err)
		require.Equal(t, 4, n)
		value, err := f.GetAndExpire(ctx, k, time.Minute)
		require.NoError(t, err)
		require.Equal(t, "ab\x00d", string(value))
		ttl, err := f.TTL(ctx, k)
		require.NoError(t, err)
		require.LessOrEqual(t, ttl, time.Minute)
		require.NoError(t, f.ExpireAt(ctx, k, time.Now().Add(time.Hour)))
		require.NoError(t, f.ExpireAt(ctx, k, time.Unix(1, 0)))
		require.ErrorIs(t, f.ExpireAt(ctx, k, time.Now().Add(time.Hour)), howdah.ErrMiss)
		_, err = f.GetAndExpire(ctx, k, time.Minute)
		require.ErrorIs(t, err, howdah.ErrMiss)
		_, err = f.GetAndExpire(ctx, k, -1)
		require.ErrorIs(t, err, howdah.ErrInvalidTTL)
		sum, err := f.IncrementFloat(ctx, k, 0.5, time.Hour)
		require.NoError(t, err)
		require.InDelta(t, 0.5, sum, 0)
		sum, err = f.IncrementFloat(ctx, k, -2, 0)
		require.NoError(t, err)
		require.InDelta(t, -1.5, sum, 0)
		_, err = f.IncrementFloat(ctx, k, math.Inf(1), 0)
		require.ErrorIs(t, err, howdah.ErrNotFloat)
	}},
	{"versions", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		k := f.key("k")
		var last int64
		grows := func() {
			t.Helper()
			e, err := f.GetEntry(ctx, k)
			require.NoError(t, err)
			require.Greater(t, e.Version, last)
			last = e.Version
		}
		require.NoError(t, f.Set(ctx, k, nil, 0))
		grows()
		require.NoError(t, f.Set(ctx, k, nil, 0))
		grows()
		require.NoError(t, f.Delete(ctx, k))
		require.NoError(t, f.Set(ctx, k, nil, 0))
		grows()
		call := f.do(&verb.Call{Verb: statement.Set, Key: []byte(k), Value: []byte("v"), WantVersion: true})
		grows()
		require.Equal(t, last, call.Result.Version)
		_, err := f.CompareAndSet(ctx, k, last-1, []byte("no"), 0)
		require.ErrorIs(t, err, howdah.ErrNotStored)
		_, err = f.CompareAndSet(ctx, k, 0, []byte("no"), 0)
		require.ErrorIs(t, err, howdah.ErrNotStored)
		version, err := f.CompareAndSet(ctx, k, last, []byte("yes"), 0)
		require.NoError(t, err)
		grows()
		require.Equal(t, last, version)
		require.NoError(t, f.Touch(ctx, k, time.Hour))
		e, err := f.Stat(ctx, k)
		require.NoError(t, err)
		require.Equal(t, last, e.Version, "a touch keeps the version")
		require.NoError(t, f.Expire(ctx, k, time.Hour))
		grows()
	}},
	{"many", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var items []howdah.Item
		var keys []string
		for i := range 1000 {
			items = append(items, howdah.Item{Key: f.key(fmt.Sprint(i)), Value: []byte(fmt.Sprint(i))})
			keys = append(keys, f.key(fmt.Sprint(i)), f.key(fmt.Sprint("absent", i)))
		}
		items = append(items, howdah.Item{Key: f.key("7"), Value: []byte("last wins")})
		require.NoError(t, f.SetMany(ctx, items, time.Hour))
		keys = append(keys, f.key("3"), f.key("3"))
		got, err := f.GetMany(ctx, keys)
		require.NoError(t, err)
		require.Len(t, got, 1000)
		require.Equal(t, "last wins", string(got[f.key("7")]))
		f.lives("7", time.Hour)
		call := f.do(&verb.Call{Verb: statement.GetMany, Keys: [][]byte{[]byte(f.key("3")), []byte(f.key("x")), []byte(f.key("3"))}})
		require.Equal(t, []bool{true, false, true}, []bool{call.Entries[0].Found, call.Entries[1].Found, call.Entries[2].Found})
		call = f.do(&verb.Call{Verb: statement.StatMany, Keys: [][]byte{[]byte(f.key("7")), []byte(f.key("x"))}})
		require.Equal(t, len("last wins"), call.Entries[0].Length)
		require.Nil(t, call.Entries[0].Value)
		n, err := f.DeleteMany(ctx, keys)
		require.NoError(t, err)
		require.EqualValues(t, 1000, n)
		got, err = f.GetMany(ctx, keys)
		require.NoError(t, err)
		require.Empty(t, got)
		require.NoError(t, f.SetMany(ctx, nil, 0))
		got, err = f.GetMany(ctx, nil)
		require.NoError(t, err)
		require.Empty(t, got)
	}},
	{"all or none", func(t *testing.T, f *fixture) {
		add := func(keys ...string) verb.Status {
			call := &verb.Call{Verb: statement.SetManyIfAbsent}
			for _, k := range keys {
				call.Keys, call.Values = append(call.Keys, []byte(f.key(k))), append(call.Values, []byte(k))
			}
			return f.do(call).Status
		}
		require.Equal(t, verb.OK, add("a", "b"))
		require.Equal(t, verb.NotStored, add("b", "c"))
		f.holds("c", nil)
		f.kill("b")
		require.Equal(t, verb.OK, add("b", "c"))
	}},
	{"delete", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.Delete(ctx, f.key("k")))
		require.NoError(t, f.Set(ctx, f.key("k"), []byte("v"), 0))
		v, err := f.GetAndDelete(ctx, f.key("k"))
		require.NoError(t, err)
		require.Equal(t, "v", string(v))
		_, err = f.GetAndDelete(ctx, f.key("k"))
		require.ErrorIs(t, err, howdah.ErrMiss)
	}},
	{"touch and expire", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		k := f.key("k")
		require.NoError(t, f.Set(ctx, k, []byte("v"), 2*time.Hour))
		require.NoError(t, f.Touch(ctx, k, time.Hour))
		f.lives("k", 2*time.Hour)
		require.NoError(t, f.Touch(ctx, k, 3*time.Hour))
		f.lives("k", 3*time.Hour)
		require.NoError(t, f.Expire(ctx, k, time.Hour))
		f.lives("k", time.Hour)
		require.NoError(t, f.Persist(ctx, k))
		require.Equal(t, howdah.NoExpiry, f.ttlOrMax("k"))
		require.NoError(t, f.Persist(ctx, k))
		call := f.do(&verb.Call{Verb: statement.GetExpire, Key: []byte(k), Expiry: verb.ExpireIn(time.Hour)})
		require.Equal(t, "v", string(call.Result.Value))
		f.lives("k", time.Hour)
		call = f.do(&verb.Call{Verb: statement.GetExpire, Key: []byte(k), Expiry: verb.ExpireNever()})
		require.Equal(t, "v", string(call.Result.Value))
		call = f.do(&verb.Call{Verb: statement.GetExpire, Key: []byte(k), Expiry: verb.ExpireNever()})
		require.Equal(t, "v", string(call.Result.Value))
		require.ErrorIs(t, f.Expire(ctx, f.key("absent"), time.Hour), howdah.ErrMiss)
	}},
	{"conditional expire", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		expire := func(in time.Duration, condition verb.ExpireIf) bool {
			return f.do(&verb.Call{Verb: statement.Expire, Key: []byte(f.key("k")), Expiry: verb.ExpireIn(in), ExpireIf: condition}).Status == verb.OK
		}
		require.NoError(t, f.Set(ctx, f.key("k"), nil, howdah.NoExpiry))
		if f.ttl("k") == howdah.NoExpiry {
			require.False(t, expire(time.Hour, verb.ExpireHasTTL))
			require.False(t, expire(time.Hour, verb.ExpireGreater), "no TTL is infinite")
			require.True(t, expire(2*time.Hour, verb.ExpireNoTTL))
		} else {
			require.True(t, expire(2*time.Hour, verb.ExpireAlways))
		}
		require.False(t, expire(time.Hour, verb.ExpireNoTTL))
		require.False(t, expire(time.Hour, verb.ExpireGreater))
		f.lives("k", 2*time.Hour)
		require.True(t, expire(time.Hour, verb.ExpireLess))
		f.lives("k", time.Hour)
		require.True(t, expire(3*time.Hour, verb.ExpireGreater|verb.ExpireHasTTL))
		f.lives("k", 3*time.Hour)
	}},
	{"increment", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		k := f.key("k")
		add := func(delta int64) int64 {
			t.Helper()
			n, err := f.Increment(ctx, k, delta, time.Hour)
			require.NoError(t, err)
			return n
		}
		require.EqualValues(t, 5, add(5))
		f.lives("k", time.Hour)
		require.NoError(t, f.Expire(ctx, k, 2*time.Hour))
		require.EqualValues(t, -5, add(-10))
		f.lives("k", 2*time.Hour)
		f.holds("k", []byte("-5"))
		for _, v := range []string{"", " 1", "1 ", "+1", "01", "-0", "1.5", "abc", "9223372036854775808", "\xff", strings.Repeat("1", 30), "1\n"} {
			require.NoError(t, f.Set(ctx, k, []byte(v), 0))
			_, err := f.Increment(ctx, k, 1, 0)
			require.ErrorIs(t, err, howdah.ErrNotInteger, "%q", v)
			f.holds("k", []byte(v))
		}
		require.NoError(t, f.Set(ctx, k, []byte(fmt.Sprint(math.MaxInt64)), 0))
		_, err := f.Increment(ctx, k, 1, 0)
		require.ErrorIs(t, err, howdah.ErrOverflow)
		require.EqualValues(t, math.MaxInt64-1, add(-1))
		require.NoError(t, f.Set(ctx, k, []byte(fmt.Sprint(math.MinInt64)), 0))
		_, err = f.Increment(ctx, k, -1, 0)
		require.ErrorIs(t, err, howdah.ErrOverflow)
		require.EqualValues(t, -1, add(math.MaxInt64))
	}},
	{"increment by a fraction", func(t *testing.T, f *fixture) {
		add := func(delta string) string {
			t.Helper()
			call := f.do(&verb.Call{Verb: statement.IncrementFloat, Key: []byte(f.key("k")), DeltaFloat: delta})
			require.Equal(t, verb.OK, call.Status)
			return string(call.Result.Value)
		}
		require.Equal(t, "0.1", add("0.1"))
		require.Equal(t, "0.3", add("0.2"))
		// With the digits of a long double, as redis-server answers.
		require.Equal(t, "5000.29999999999999982", add("5.0e3"))
		require.Equal(t, "-0.70000000000000018", add("-5001"))
		require.NoError(t, f.Delete(t.Context(), f.key("k")))
		require.Equal(t, "0.02439024390243902", add("0.024390243902439025"))
		require.Equal(t, "0", add("-0.024390243902439025"))
		require.Equal(t, "0.00000381469726562", add("0.000003814697265625"))
		require.Equal(t, "36893488147419103233.5", add("36893488147419103233.49999618530273438"))
		require.NoError(t, f.Set(t.Context(), f.key("k"), []byte("ten"), 0))
		call := f.do(&verb.Call{Verb: statement.IncrementFloat, Key: []byte(f.key("k")), DeltaFloat: "1"})
		require.Equal(t, verb.NotFloat, call.Status)
	}},
	{"append and set range", func(t *testing.T, f *fixture) {
		k := []byte(f.key("k"))
		call := f.do(&verb.Call{Verb: statement.Append, Key: k, Value: []byte("Hello")})
		require.EqualValues(t, 5, call.Int)
		call = f.do(&verb.Call{Verb: statement.Append, Key: k, Value: []byte(" World")})
		require.EqualValues(t, 11, call.Int)
		call = f.do(&verb.Call{Verb: statement.SetRange, Key: k, Offset: 6, Value: []byte("Redis")})
		require.EqualValues(t, 11, call.Int)
		f.holds("k", []byte("Hello Redis"))
		call = f.do(&verb.Call{Verb: statement.SetRange, Key: k, Offset: 13, Value: []byte("!")})
		require.EqualValues(t, 14, call.Int)
		f.holds("k", []byte("Hello Redis\x00\x00!"))
		call = f.do(&verb.Call{Verb: statement.SetRange, Key: []byte(f.key("new")), Offset: 2, Value: []byte("x")})
		require.EqualValues(t, 3, call.Int)
		f.holds("new", []byte("\x00\x00x"))
		call = f.do(&verb.Call{Verb: statement.SetRange, Key: []byte(f.key("none")), Offset: 5})
		require.Zero(t, call.Int)
		f.holds("none", nil)
		call = f.do(&verb.Call{Verb: statement.SetRange, Key: k, Offset: 50})
		require.EqualValues(t, 14, call.Int, "no value: nothing is padded")
		err := dbtest.Do(t.Context(), f.Cache, &verb.Call{Verb: statement.SetRange, Key: k, Offset: howdah.DefaultMaxValueBytes, Value: []byte("x")})
		require.ErrorIs(t, err, howdah.ErrValueTooLarge)
		require.NoError(t, f.Set(t.Context(), f.key("big"), make([]byte, howdah.DefaultMaxValueBytes-1), 0))
		call = f.do(&verb.Call{Verb: statement.Append, Key: []byte(f.key("big")), Value: []byte("xy")})
		require.Equal(t, verb.TooLarge, call.Status)
		require.NoError(t, f.Delete(t.Context(), f.key("big")))
	}},
	{"rename and copy", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.ErrorIs(t, f.Rename(ctx, f.key("a"), f.key("b"), howdah.RenameOptions{}), howdah.ErrMiss)
		require.NoError(t, f.Set(ctx, f.key("a"), []byte("A"), time.Hour))
		require.NoError(t, f.Set(ctx, f.key("b"), []byte("B"), 0))
		require.ErrorIs(t, f.Rename(ctx, f.key("a"), f.key("b"), howdah.RenameOptions{IfAbsent: true}), howdah.ErrNotStored)
		require.NoError(t, f.Rename(ctx, f.key("a"), f.key("b"), howdah.RenameOptions{}))
		f.holds("a", nil)
		f.holds("b", []byte("A"))
		f.lives("b", time.Hour)
		require.NoError(t, f.Rename(ctx, f.key("b"), f.key("b"), howdah.RenameOptions{}))
		require.ErrorIs(t, f.Rename(ctx, f.key("b"), f.key("b"), howdah.RenameOptions{IfAbsent: true}), howdah.ErrNotStored)
		require.NoError(t, f.Copy(ctx, f.key("b"), f.Cache, f.key("c"), howdah.CopyOptions{}))
		require.ErrorIs(t, f.Copy(ctx, f.key("b"), f.Cache, f.key("c"), howdah.CopyOptions{}), howdah.ErrNotStored)
		f.holds("b", []byte("A"))
		f.holds("c", []byte("A"))
		f.lives("c", time.Hour)
		f.kill("c")
		require.NoError(t, f.Copy(ctx, f.key("b"), f.Cache, f.key("c"), howdah.CopyOptions{}))
	}},
	{"whole cache", func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.Flush(ctx))
		_, err := f.RandomKey(ctx)
		require.ErrorIs(t, err, howdah.ErrMiss)
		var items []howdah.Item
		for i := range 2500 {
			items = append(items, howdah.Item{Key: fmt.Sprintf("p%d:%d", i%2, i), Value: []byte("v")})
		}
		require.NoError(t, f.SetMany(ctx, items, time.Hour))
		require.NoError(t, f.Set(ctx, f.key("expired"), nil, time.Hour))
		f.kill("expired")
		n, err := f.Count(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 2500, n)
		require.NoError(t, f.Set(ctx, f.key("stays"), nil, howdah.NoExpiry))
		counted, err := f.CountTTLs(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 2501, counted.Entries)
		if f.ttl("stays") == howdah.NoExpiry {
			require.EqualValues(t, 2500, counted.WithTTL)
			require.InDelta(t, time.Hour, counted.MeanTTL, float64(time.Minute))
		} else { // the cache has a maximum
			require.EqualValues(t, 2501, counted.WithTTL)
			require.Greater(t, counted.MeanTTL, 2*time.Hour)
		}
		require.NoError(t, f.Delete(ctx, f.key("stays")))
		seen := map[string]int{}
		pages := 0
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			page, next, err := f.Scan(ctx, cursor, howdah.ScanOptions{Count: 77})
			require.NoError(t, err)
			require.Less(t, next, uint64(1)<<53)
			for _, e := range page {
				seen[string(e.Key)]++
				require.Equal(t, 1, e.Length)
				require.InDelta(t, time.Hour, e.TTL, float64(time.Minute))
			}
			cursor = next
			pages++
		}
		require.Len(t, seen, 2500)
		require.Greater(t, pages, 30)
		ones := 0
		for e, err := range f.All(ctx, "p1:") {
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(e.Key, "p1:"))
			ones++
		}
		require.Equal(t, 1250, ones)
		keys, err := f.Keys(ctx, "p0:")
		require.NoError(t, err)
		require.Len(t, keys, 1250)
		key, err := f.RandomKey(ctx)
		require.NoError(t, err)
		require.Contains(t, seen, string(key))
		n, err = f.DeletePrefix(ctx, "p1:")
		require.NoError(t, err)
		require.EqualValues(t, 1250, n)
		n, err = f.Count(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1250, n)
		require.NoError(t, f.Flush(ctx))
		n, err = f.Count(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
	}},
	{"one of many loads", testLease},
	{"a stale value is served by claims only", testStale},
	{"an absent value is known by claims only", testKnownAbsent},
	{"what changes a key ends the right to store", testVoided},
}

// ttlOrMax is the TTL of a key, where the TTL of a cache with a maximum
// counts as none.
func (f *fixture) ttlOrMax(key string) time.Duration {
	ttl := f.ttl(key)
	if ttl > 150*365*24*time.Hour {
		return howdah.NoExpiry
	}
	return ttl
}
