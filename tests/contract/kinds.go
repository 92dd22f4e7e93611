package contract

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/verb"
)

// aHash is what these tests store as a collection. The statements do not look into it.
const aHash = int16(1)

// collection stores a collection under an absent key, and returns its version.
func (f *fixture) collection(key string, kind int16, packed string) int64 {
	f.Helper()
	call := f.do(&verb.Call{Verb: statement.Set, Key: []byte(f.key(key)), Value: []byte(packed), Kind: kind, Condition: verb.IfAbsent})
	require.Equal(f, verb.OK, call.Status)
	return call.Result.Version
}

// any reads an entry of any kind.
func (f *fixture) any(key string) verb.Entry {
	f.Helper()
	call := f.do(&verb.Call{Verb: statement.GetEntry, Key: []byte(f.key(key)), AnyKind: true})
	require.Equal(f, verb.OK, call.Status)
	return call.Result
}

// lasting is an entry without its expiry, which a maximum TTL sets, and the time of the read.
func lasting(e verb.Entry) verb.Entry {
	e.ExpiresAt, e.TTL, e.Now = time.Time{}, 0, 0
	return e
}

// testKinds is the part of the contract that is about entries that are no strings.
func testKinds(t *testing.T, f *fixture) {
	testKindsRead(t, f)
	testKindsSet(t, f)
	testKindsEdit(t, f)
	testKindsKept(t, f)
}

// A read takes entries of the kinds that it says.
func testKindsRead(t *testing.T, f *fixture) {
	ctx := t.Context()
	version := f.collection("h", aHash, "packed")
	hash := verb.Entry{Found: true, Value: []byte("packed"), Length: 6, Version: version, Kind: aHash}
	require.NoError(t, f.Set(ctx, f.key("s"), []byte("string"), time.Hour))
	for range 3 { // by PostgreSQL, and by memory if there is one
		_, err := f.Get(ctx, f.key("h"))
		require.ErrorIs(t, err, howdah.ErrWrongType)
		_, err = f.GetEntry(ctx, f.key("h"))
		require.ErrorIs(t, err, howdah.ErrWrongType)
		many, err := f.GetMany(ctx, []string{f.key("h"), f.key("s"), f.key("none")})
		require.NoError(t, err)
		require.Equal(t, map[string][]byte{f.key("s"): []byte("string")}, many)
		ttl, err := f.TTL(ctx, f.key("h"))
		require.NoError(t, err)
		require.Greater(t, ttl, 100*time.Hour)

		for _, v := range []*verb.Verb{statement.Get, statement.GetEntry} {
			for _, fresh := range []bool{false, true} {
				call := f.do(&verb.Call{Verb: v, Key: []byte(f.key("h")), AnyKind: true, Recall: true, Fresh: fresh})
				require.Equal(t, verb.OK, call.Status)
				require.Equal(t, hash, lasting(call.Result))
			}
		}
		call := f.do(&verb.Call{Verb: statement.GetMany, Keys: [][]byte{[]byte(f.key("s")), []byte(f.key("h")), []byte(f.key("none"))}, AnyKind: true})
		require.Equal(t, []byte("string"), call.Entries[0].Value)
		require.NotZero(t, call.Entries[0].Version)
		require.Equal(t, hash, lasting(call.Entries[1]))
		require.Zero(t, call.Entries[2])

		stat := f.do(&verb.Call{Verb: statement.Stat, Key: []byte(f.key("h"))})
		require.Equal(t, verb.Entry{Found: true, Length: 6, Version: version, Kind: aHash}, lasting(stat.Result))
		require.Zero(t, f.any("s").Kind)
	}
}

// A set with a condition stores the kind that it says; every other one a string.
func testKindsSet(t *testing.T, f *fixture) {
	ctx := t.Context()
	set := func(key string, call verb.Call) *verb.Call {
		t.Helper()
		call.Verb, call.Key, call.Value = statement.Set, []byte(f.key(key)), []byte("v2")
		return f.do(&call)
	}
	for name, expiry := range map[string]verb.Expiry{
		"default": {}, "never": verb.ExpireNever(), "in": verb.ExpireIn(time.Hour), "at": verb.ExpireAt(time.Now().Add(time.Hour)), "keep": verb.KeepExpiry(),
	} {
		f.collection(name, aHash, "v1")
		require.NoError(t, f.Expire(ctx, f.key(name), 2*time.Hour))
		before := f.any(name)
		stale := set(name, verb.Call{Kind: 2, Condition: verb.IfVersion, IfVersion: before.Version - 1, Expiry: expiry})
		require.Equal(t, verb.NotStored, stale.Status)
		require.Equal(t, before.Version, f.any(name).Version)
		call := set(name, verb.Call{Kind: 2, Condition: verb.IfVersion, IfVersion: before.Version, Expiry: expiry})
		require.Equal(t, verb.OK, call.Status)
		after := f.any(name)
		require.Equal(t, "v2", string(after.Value))
		require.Equal(t, int16(2), after.Kind)
		require.Equal(t, call.Result.Version, after.Version)
		switch name {
		case "keep":
			f.lives(name, 2*time.Hour)
		case "in", "at":
			f.lives(name, time.Hour)
		}

		absent := set("new "+name, verb.Call{Kind: 3, Condition: verb.IfVersion, Expiry: expiry})
		require.Equal(t, verb.OK, absent.Status)
		require.Equal(t, int16(3), f.any("new "+name).Kind)
		require.Equal(t, verb.NotStored, set("new "+name, verb.Call{Kind: 4, Condition: verb.IfAbsent, Expiry: expiry}).Status)
		require.Equal(t, int16(3), f.any("new "+name).Kind)
	}
	for name, write := range map[string]func(key string) error{
		"set":      func(key string) error { return f.Set(ctx, key, []byte("s"), 0) },
		"set many": func(key string) error { return f.SetMany(ctx, []howdah.Item{{Key: key, Value: []byte("s")}}, 0) },
		"replace":  func(key string) error { return f.Replace(ctx, key, []byte("s"), 0) },
		"keep": func(key string) error {
			return dbtest.Do(ctx, f.Cache, &verb.Call{Verb: statement.Set, Key: []byte(key), Value: []byte("s"), Expiry: verb.KeepExpiry()})
		},
		"tags": func(key string) error {
			return f.SetWith(ctx, key, []byte("s"), 0, howdah.SetOptions{Tags: []string{"t"}})
		},
		"a version": func(key string) error {
			_, err := f.CompareAndSet(ctx, key, f.any("over a version").Version, []byte("s"), 0)
			return err
		},
	} {
		f.collection("over "+name, aHash, "v1")
		require.NoError(t, write(f.key("over "+name)), name)
		f.holds("over "+name, []byte("s"))
		require.Zero(t, f.any("over "+name).Kind, name)
	}
	version := f.collection("old", aHash, "v1")
	for _, condition := range []verb.Condition{verb.Always, verb.IfAbsent, verb.IfPresent, verb.IfVersion} {
		call := set("old", verb.Call{WantOld: true, Condition: condition, IfVersion: version})
		require.Equal(t, verb.WrongType, call.Status, condition)
		require.False(t, call.Result.Found)
		require.Equal(t, "v1", string(f.any("old").Value))
	}
	for _, call := range []*verb.Call{{}, {Condition: verb.IfAbsent, WantOld: true}, {Condition: verb.IfAbsent, Tags: []string{"t"}}} {
		call.Verb, call.Key, call.Kind = statement.Set, []byte(f.key("old")), aHash
		require.Error(t, dbtest.Do(ctx, f.Cache, call))
	}

	compare := func(call verb.Call) verb.Status {
		call.Verb, call.Key = statement.CompareDelete, []byte(f.key("old"))
		return f.do(&call).Status
	}
	require.Equal(t, verb.NotStored, compare(verb.Call{Condition: verb.IfValue, Value: []byte("v1")}), "a value is a string")
	require.Equal(t, verb.NotStored, compare(verb.Call{Condition: verb.IfVersion, IfVersion: version - 1}))
	require.Equal(t, verb.OK, compare(verb.Call{Condition: verb.IfVersion, IfVersion: version}))
	f.holds("old", nil)
}

// What changes a part of a string refuses other kinds, and changes nothing.
func testKindsEdit(t *testing.T, f *fixture) {
	ctx := t.Context()
	// The packed value would do as a number.
	version := f.collection("n", aHash, "41")
	key := f.key("n")
	for name, edit := range map[string]func() error{
		"increment":       func() error { _, err := f.Increment(ctx, key, 1, 0); return err },
		"increment float": func() error { _, err := f.IncrementFloat(ctx, key, 1, 0); return err },
		"append":          func() error { _, err := f.Append(ctx, key, []byte("1"), 0); return err },
		"set range":       func() error { _, err := f.SetRange(ctx, key, 1, []byte("1"), 0); return err },
		"set empty range": func() error { _, err := f.SetRange(ctx, key, 1, nil, 0); return err },
		"get and delete":  func() error { _, err := f.GetAndDelete(ctx, key); return err },
		"get and expire":  func() error { _, err := f.GetAndExpire(ctx, key, time.Hour); return err },
		"claim": func() error {
			return (*core.Cache)(f.Cache).One(ctx, &verb.Call{Verb: statement.Claim, Key: []byte(key), Lease: time.Minute})
		},
	} {
		require.ErrorIs(t, edit(), howdah.ErrWrongType, name)
		require.Equal(t, verb.Entry{Found: true, Value: []byte("41"), Length: 2, Version: version, Kind: aHash}, lasting(f.any("n")), name)
	}
	for name, call := range map[string]*verb.Call{
		"refresh": {Verb: statement.Refresh, Lease: time.Minute},
		"fulfil":  {Verb: statement.Fulfil, Value: []byte("1")},
	} {
		call.Key, call.Token = []byte(key), version
		require.Equal(t, verb.NotStored, f.do(call).Status, name)
		require.Equal(t, version, f.any("n").Version, name)
	}
	many := f.do(&verb.Call{Verb: statement.SetManyIfAbsent, Keys: [][]byte{[]byte(f.key("other")), []byte(key)}, Values: [][]byte{{1}, {2}}})
	require.Equal(t, verb.NotStored, many.Status)

	// Strings are edited as ever, beside it and after it.
	_, err := f.Append(ctx, f.key("s"), []byte("1"), 0)
	require.NoError(t, err)
	f.kill("n")
	n, err := f.Increment(ctx, key, 1, 0)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Zero(t, f.any("n").Kind)
}

// What changes no value takes entries of every kind, and leaves the kind as it is.
func testKindsKept(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.collection("k", aHash, "packed")
	require.NoError(t, f.Expire(ctx, f.key("k"), time.Hour))
	f.lives("k", time.Hour)
	require.NoError(t, f.Touch(ctx, f.key("k"), 2*time.Hour))
	f.lives("k", 2*time.Hour)
	require.NoError(t, f.Persist(ctx, f.key("k")))
	require.Equal(t, howdah.NoExpiry, f.ttlOrMax("k"))
	require.Equal(t, aHash, f.any("k").Kind)

	f.collection("k2", 2, "list")
	require.NoError(t, f.Copy(ctx, f.key("k"), f.Cache, f.key("copy"), howdah.CopyOptions{}))
	require.NoError(t, f.Copy(ctx, f.key("k2"), f.Cache, f.key("copy"), howdah.CopyOptions{Replace: true}))
	require.Equal(t, int16(2), f.any("copy").Kind)
	require.NoError(t, f.Rename(ctx, f.key("k"), f.key("k2"), howdah.RenameOptions{}))
	require.Equal(t, aHash, f.any("k2").Kind)
	require.Equal(t, "packed", string(f.any("k2").Value))
	var kinds []int16
	for entry, err := range (*core.Cache)(f.Cache).All(ctx, []byte(f.key(""))) {
		require.NoError(t, err)
		if bytes.HasSuffix(entry.Key, []byte(":k2")) || bytes.HasSuffix(entry.Key, []byte(":copy")) {
			kinds = append(kinds, entry.Kind)
		}
	}
	require.ElementsMatch(t, []int16{aHash, 2}, kinds)
	n, err := f.DeleteMany(ctx, []string{f.key("k2"), f.key("copy")})
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}
