package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// member is a key of a group.
type member struct {
	key   string
	value string
	verb.Edit
}

func (f *fixture) commit(members ...member) *verb.Call {
	f.Helper()
	call := &verb.Call{Verb: statement.Commit}
	for _, m := range members {
		call.Keys = append(call.Keys, []byte(f.key(m.key)))
		call.Values = append(call.Values, []byte(m.value))
		call.Group = append(call.Group, m.Edit)
	}
	return f.do(call)
}

func put(key, value string, version int64) member {
	return member{key, value, verb.Edit{Version: version, Act: verb.Put, Expiry: verb.ExpireIn(time.Hour)}}
}

func onlyRead(key string, version int64) member {
	return member{key, "", verb.Edit{Version: version}}
}

func remove(key string, version int64) member {
	return member{key, "", verb.Edit{Version: version, Act: verb.Remove}}
}

// stored stores a key and returns its version.
func (f *fixture) stored(key, value string) int64 {
	f.Helper()
	return f.do(&verb.Call{Verb: statement.Set, Key: []byte(f.key(key)), Value: []byte(value), WantVersion: true}).Result.Version
}

func (f *fixture) version(key string) int64 {
	f.Helper()
	return f.do(&verb.Call{Verb: statement.Stat, Key: []byte(f.key(key))}).Result.Version
}

func testCommit(t *testing.T, f *fixture) {
	ctx := t.Context()
	// What was absent, and what was there.
	a := f.stored("a", "a1")
	done := f.commit(put("b", "b1", 0), onlyRead("a", a), onlyRead("none", 0), remove("gone", 0))
	require.Equal(t, verb.OK, done.Status)
	b := done.Entries[0].Version
	require.Equal(t, b, f.version("b"))
	require.Equal(t, []verb.Entry{{Version: b}, {}, {}, {}}, done.Entries)
	f.holds("a", []byte("a1"))
	f.holds("b", []byte("b1"))
	f.lives("b", time.Hour)
	f.holds("none", nil)
	f.holds("gone", nil)
	require.Zero(t, f.version("none"))

	done = f.commit(put("a", "a2", a), remove("b", b))
	require.Equal(t, verb.OK, done.Status)
	require.Greater(t, done.Entries[0].Version, a)
	a = done.Entries[0].Version
	f.holds("a", []byte("a2"))
	f.holds("b", nil)

	// Nothing is written if one key has changed, whatever the group does with it.
	for what, changed := range map[string]member{
		"read of a former version":       onlyRead("a", a-1),
		"read as absent":                 onlyRead("a", 0),
		"read, and gone since":           onlyRead("b", b),
		"stored over a former version":   put("a", "wrong", a-1),
		"stored as if it were new":       put("a", "wrong", 0),
		"stored, and gone since":         put("b", "wrong", b),
		"deleted in a former version":    remove("a", a-1),
		"deleted, and gone since":        remove("b", b),
		"read as absent, a row of it":    {"a", "", verb.Edit{Version: a, Absent: true}},
		"read as absent, a row not held": {"b", "", verb.Edit{Version: b, Absent: true}},
	} {
		other := f.stored("other", "1")
		refused := f.commit(changed, put("new", "wrong", 0), put("other", "wrong", other))
		require.Equal(t, verb.NotStored, refused.Status, what)
		require.Equal(t, make([]verb.Entry, 3), refused.Entries, what)
		f.holds("a", []byte("a2"))
		f.holds("b", nil)
		f.holds("new", nil)
		f.holds("other", []byte("1"))
	}
	f.holds("a", []byte("a2"))

	// The expiry is kept, or replaced by the cache's default.
	kept := put("a", "a3", a)
	kept.Expiry = verb.KeepExpiry()
	require.Equal(t, verb.OK, f.do(&verb.Call{Verb: statement.Expire, Key: []byte(f.key("a")), Expiry: verb.ExpireIn(2 * time.Hour)}).Status)
	kept.Version = f.version("a")
	fresh := put("n", "n1", 0)
	fresh.Expiry = verb.KeepExpiry()
	done = f.commit(kept, fresh)
	require.Equal(t, verb.OK, done.Status)
	f.lives("a", 2*time.Hour)
	require.Equal(t, howdah.NoExpiry, f.ttlOrMax("n"))

	// An entry that has expired is absent.
	require.NoError(t, f.Set(ctx, f.key("x"), []byte("x1"), time.Microsecond))
	require.Eventually(t, func() bool {
		return f.do(&verb.Call{Verb: statement.Stat, Key: []byte(f.key("x"))}).Status == verb.Miss
	}, time.Minute, time.Millisecond)
	require.Equal(t, verb.OK, f.commit(put("x", "x2", 0), onlyRead("a", f.version("a"))).Status)
	f.holds("x", []byte("x2"))

	// A kind is stored, and a plain write makes a string of the key again.
	hash := put("h", "packed", 0)
	hash.Kind = 1
	require.Equal(t, verb.OK, f.commit(hash).Status)
	entry := f.commit() // an empty group
	require.Equal(t, verb.OK, entry.Status)
	require.Error(t, statement.Prepare(&verb.Call{Verb: statement.Commit, Keys: [][]byte{nil}, Values: [][]byte{nil}}, 100))
	require.Error(t, statement.Prepare(&verb.Call{Verb: statement.Commit, Keys: [][]byte{nil}, Values: [][]byte{nil}, Group: []verb.Edit{{Version: -1}}}, 100))
}

func (f *fixture) watch(key string) *verb.Call {
	f.Helper()
	return f.do(&verb.Call{Verb: statement.Watch, Key: []byte(f.key(key))})
}

func testWatch(t *testing.T, f *fixture) {
	ctx := t.Context()
	// Absence is shared by those who watch it, and is seen by no other reader.
	watched := f.watch("k")
	require.Equal(t, verb.Miss, watched.Status)
	require.False(t, watched.Result.Found)
	absent := watched.Result.Version
	require.Positive(t, absent)
	require.Equal(t, absent, f.watch("k").Result.Version)
	f.holds("k", nil)
	require.Zero(t, f.version("k"))
	require.NoError(t, f.Delete(ctx, f.key("k")))
	require.Equal(t, absent, f.watch("k").Result.Version, "nothing was removed")

	still := member{"k", "", verb.Edit{Version: absent, Absent: true}}
	require.Equal(t, verb.OK, f.commit(still, put("a", "1", 0)).Status)
	require.Equal(t, verb.OK, f.commit(onlyRead("k", 0), put("b", "1", 0)).Status)
	require.Equal(t, verb.OK, f.commit(still.and(verb.Remove), put("c", "1", 0)).Status)
	require.Equal(t, verb.OK, f.commit(still, put("d", "1", 0)).Status)

	// Stored and removed: the version does not come back.
	for what, end := range map[string]func(){
		"removed":      func() { require.NoError(t, f.Delete(ctx, f.key("k"))) },
		"expired":      func() { f.kill("k") },
		"taken":        func() { _, err := f.GetAndDelete(ctx, f.key("k")); require.NoError(t, err) },
		"there still":  func() {},
		"in a group":   func() { require.Equal(t, verb.OK, f.commit(remove("k", f.version("k"))).Status) },
		"watched anew": func() { require.NoError(t, f.Delete(ctx, f.key("k"))); f.watch("k") },
	} {
		require.NoError(t, f.Delete(ctx, f.key("k")))
		watched := f.watch("k")
		require.Equal(t, verb.OK, f.commit(put("k", "1", 0)).Status)
		require.Greater(t, f.version("k"), watched.Result.Version)
		end()
		changed := member{"k", "", verb.Edit{Version: watched.Result.Version, Absent: true}}
		for _, act := range []verb.Act{verb.OnlyRead, verb.Put, verb.Remove} {
			require.Equal(t, verb.NotStored, f.commit(changed.and(act), put("wrong", "1", 0)).Status, what)
		}
		f.holds("wrong", nil)
	}

	// A group stores what was watched as absent.
	require.NoError(t, f.Delete(ctx, f.key("k")))
	new := put("k", "mine", f.watch("k").Result.Version)
	new.Absent = true
	stored := f.commit(new, onlyRead("a", f.version("a")))
	require.Equal(t, verb.OK, stored.Status)
	f.holds("k", []byte("mine"))
	f.lives("k", time.Hour)

	// What is there has the version of its entry.
	watched = f.watch("k")
	require.Equal(t, verb.OK, watched.Status)
	require.True(t, watched.Result.Found)
	require.Equal(t, stored.Entries[0].Version, watched.Result.Version)
	require.Equal(t, verb.OK, f.commit(put("k", "2", watched.Result.Version)).Status)
}

// A lease on the row of a watched key changes nothing for those who watch it, and
// ends as any other does.
func testWatchedLease(t *testing.T, f *fixture) {
	k := []byte(f.key("k"))
	absent := f.watch("k").Result.Version
	still := member{"k", "", verb.Edit{Version: absent, Absent: true}}
	holds := func(what string) {
		require.Equal(t, absent, f.watch("k").Result.Version, what)
		require.Equal(t, verb.OK, f.commit(still).Status, what)
	}
	token := f.wins("k")
	holds("claimed")
	require.Equal(t, verb.Lost, f.claim("k").Claim.State)
	require.Equal(t, verb.OK, f.release("k", token))
	holds("released")
	require.Equal(t, verb.NotStored, f.release("k", token))
	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: k, Token: token, Value: []byte("late")}).Status)
	require.NoError(t, f.Delete(t.Context(), f.key("k")))
	holds("deleted, though it was absent")
	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: k, Token: token, Value: []byte("late")}).Status)

	token = f.wins("k")
	require.NoError(t, f.Delete(t.Context(), f.key("k")))
	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: k, Token: token, Value: []byte("deleted since")}).Status)
	f.watch("k")
	token = f.wins("k")
	require.Equal(t, verb.OK, f.fulfil(verb.Call{Key: k, Token: token, Value: []byte("loaded")}).Status)
	require.Equal(t, verb.NotStored, f.commit(still).Status)
	f.holds("k", []byte("loaded"))
}

// and is a member with another act.
func (m member) and(act verb.Act) member {
	m.Act = act
	return m
}
