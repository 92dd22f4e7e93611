package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

func (f *fixture) claim(key string) *verb.Call {
	f.Helper()
	return f.do(&verb.Call{Verb: statement.Claim, Key: []byte(f.key(key)), Lease: time.Hour})
}

// wins claims a key and returns the token.
func (f *fixture) wins(key string) int64 {
	f.Helper()
	claim := f.claim(key)
	require.Equal(f, verb.Won, claim.Claim.State)
	require.True(f, claim.Claim.Won)
	require.Equal(f, verb.Miss, claim.Status)
	f.nearly(time.Hour, claim.Claim.Left)
	return claim.Result.Version
}

// nearly asserts what remains of a time that began a moment ago.
func (f *fixture) nearly(want, left time.Duration) {
	f.Helper()
	require.LessOrEqual(f, left, want)
	require.Greater(f, left, want-20*time.Second)
}

func (f *fixture) fulfil(call verb.Call) *verb.Call {
	f.Helper()
	call.Verb = statement.Fulfil
	if call.Expiry == (verb.Expiry{}) {
		call.Expiry = verb.ExpireIn(time.Hour)
	}
	return f.do(&call)
}

func (f *fixture) release(key string, token int64) verb.Status {
	f.Helper()
	return f.do(&verb.Call{Verb: statement.Release, Key: []byte(f.key(key)), Token: token}).Status
}

func (f *fixture) refresh(key string, version int64) verb.Status {
	f.Helper()
	return f.do(&verb.Call{Verb: statement.Refresh, Key: []byte(f.key(key)), Token: version, Lease: time.Hour}).Status
}

func testLease(t *testing.T, f *fixture) {
	k := []byte(f.key("k"))
	token := f.wins("k")
	lost := f.claim("k")
	require.Equal(t, verb.Lost, lost.Claim.State)
	require.False(t, lost.Claim.Won)
	require.Equal(t, verb.Miss, lost.Status)
	f.nearly(time.Hour, lost.Claim.Left)
	f.holds("k", nil)
	_, err := f.TTL(t.Context(), f.key("k"))
	require.ErrorIs(t, err, howdah.ErrMiss)

	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: k, Token: token - 1, Value: []byte("wrong")}).Status)
	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: []byte(f.key("l")), Token: token, Value: []byte("wrong")}).Status)
	f.holds("k", nil)
	stored := f.fulfil(verb.Call{Key: k, Token: token, Value: []byte("v")})
	require.Equal(t, verb.OK, stored.Status)
	require.Greater(t, stored.Result.Version, token)
	f.holds("k", []byte("v"))
	f.lives("k", time.Hour)
	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: k, Token: token, Value: []byte("late")}).Status)

	hit := f.claim("k")
	require.Equal(t, verb.OK, hit.Status)
	require.Equal(t, verb.Claim{State: verb.Hit}, hit.Claim)
	require.Equal(t, "v", string(hit.Result.Value))
	require.Equal(t, stored.Result.Version, hit.Result.Version)
	f.nearly(time.Hour, hit.Result.TTL)

	// Early: the value is served on, and one of many loads.
	require.Equal(t, verb.NotStored, f.refresh("k", token))
	require.Equal(t, verb.OK, f.refresh("k", hit.Result.Version))
	require.Equal(t, verb.NotStored, f.refresh("k", hit.Result.Version))
	require.Equal(t, verb.NotStored, f.refresh("none", hit.Result.Version))
	leased := f.claim("k")
	require.Equal(t, verb.Hit, leased.Claim.State)
	require.False(t, leased.Claim.Won)
	require.Equal(t, hit.Result.Version, leased.Result.Version)
	f.nearly(time.Hour, leased.Claim.Left)
	require.Equal(t, verb.OK, f.release("k", hit.Result.Version))
	require.Equal(t, verb.NotStored, f.release("k", hit.Result.Version))
	require.Equal(t, verb.OK, f.refresh("k", hit.Result.Version))
	require.Equal(t, verb.OK, f.fulfil(verb.Call{Key: k, Token: hit.Result.Version, Value: []byte("v2")}).Status)
	f.holds("k", []byte("v2"))
	require.Zero(t, f.claim("k").Claim.Left, "a store ends the lease")

	// A load that failed.
	token = f.wins("l")
	require.Equal(t, verb.NotStored, f.release("l", token+1))
	require.Equal(t, verb.Lost, f.claim("l").Claim.State)
	require.Equal(t, verb.OK, f.release("l", token))
	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: []byte(f.key("l")), Token: token, Value: []byte("late")}).Status)
	f.wins("l")

	for _, bad := range []*verb.Call{
		{Verb: statement.Claim, Key: k}, {Verb: statement.Refresh, Key: k, Lease: -1},
		{Verb: statement.Fulfil, Key: k, Stale: -1}, {Verb: statement.Fulfil, Key: k, Absent: true},
	} {
		require.ErrorIs(t, statement.Prepare(bad, 100), howdah.ErrInvalidTTL)
	}
}

func testStale(t *testing.T, f *fixture) {
	k := []byte(f.key("k"))
	expired := func(stale time.Duration) int64 {
		stored := f.fulfil(verb.Call{Key: k, Token: f.wins("k"), Value: []byte("old"), Expiry: verb.ExpireIn(1), Stale: stale})
		require.Equal(t, verb.OK, stored.Status)
		require.Eventually(t, func() bool {
			return f.do(&verb.Call{Verb: statement.Stat, Key: k}).Status == verb.Miss
		}, time.Minute, time.Millisecond)
		return stored.Result.Version
	}
	version := expired(time.Hour)
	f.holds("k", nil)
	won := f.claim("k")
	require.Equal(t, verb.Stale, won.Claim.State)
	require.True(t, won.Claim.Won)
	require.Equal(t, verb.Miss, won.Status)
	require.Equal(t, "old", string(won.Result.Value))
	require.Equal(t, version, won.Result.Version, "the token is the version of the value")
	require.Positive(t, won.Claim.Expired)
	require.Less(t, won.Claim.Expired, time.Minute)
	f.nearly(time.Hour, won.Claim.Left)
	lost := f.claim("k")
	require.Equal(t, verb.Stale, lost.Claim.State)
	require.False(t, lost.Claim.Won)
	require.Equal(t, "old", string(lost.Result.Value))
	f.nearly(time.Hour, lost.Claim.Left)
	f.holds("k", nil)
	require.Equal(t, verb.OK, f.release("k", version))
	require.True(t, f.claim("k").Claim.Won)
	require.Equal(t, verb.OK, f.fulfil(verb.Call{Key: k, Token: version, Value: []byte("new")}).Status)
	f.holds("k", []byte("new"))

	// What is made to expire is served no more, and neither is what was never stale.
	require.NoError(t, f.Delete(t.Context(), f.key("k")))
	expired(0)
	f.wins("k")
	require.NoError(t, f.Delete(t.Context(), f.key("k")))
	f.fulfil(verb.Call{Key: k, Token: f.wins("k"), Value: []byte("v"), Stale: 100 * 365 * 24 * time.Hour})
	require.Equal(t, verb.Hit, f.claim("k").Claim.State)
	f.kill("k")
	f.wins("k")
}

func testKnownAbsent(t *testing.T, f *fixture) {
	ctx := t.Context()
	k := []byte(f.key("k"))
	absent := func(ttl time.Duration) int64 {
		token := f.wins("k")
		stored := f.fulfil(verb.Call{Key: k, Token: token, Absent: true, Expiry: verb.ExpireIn(ttl)})
		require.Equal(t, verb.OK, stored.Status)
		require.Greater(t, stored.Result.Version, token)
		return stored.Result.Version
	}
	version := absent(time.Minute)
	claim := f.claim("k")
	require.Equal(t, verb.KnownAbsent, claim.Claim.State)
	require.Equal(t, verb.Miss, claim.Status)
	require.False(t, claim.Claim.Won)
	f.nearly(time.Minute, claim.Claim.Left)
	f.holds("k", nil)
	require.NoError(t, f.Add(ctx, f.key("k"), []byte("there"), 0))
	require.Equal(t, verb.NotStored, f.fulfil(verb.Call{Key: k, Token: version}).Status)
	f.holds("k", []byte("there"))

	require.NoError(t, f.Delete(ctx, f.key("k")))
	absent(time.Minute)
	require.NoError(t, f.Delete(ctx, f.key("k")))
	absent(time.Nanosecond)
	require.Eventually(t, func() bool { return f.claim("k").Claim.State == verb.Won }, time.Minute, time.Millisecond)
	token := f.claim("k").Result.Version
	require.Zero(t, token, "who has lost gets no token")

	// A value that is gone at its source.
	require.NoError(t, f.Set(ctx, f.key("k"), []byte("v"), 0))
	version = f.claim("k").Result.Version
	require.Equal(t, verb.OK, f.refresh("k", version))
	require.Equal(t, verb.OK, f.fulfil(verb.Call{Key: k, Token: version, Absent: true, Expiry: verb.ExpireIn(time.Minute)}).Status)
	f.holds("k", nil)
	require.Equal(t, verb.KnownAbsent, f.claim("k").Claim.State)
}

// leaseEffect is what a call does to a lease that is under way.
type leaseEffect struct {
	live  bool // the key has a value, which is being loaded anew; else it is absent
	keeps bool // the lease may still store
	call  func(key []byte, token int64) *verb.Call
}

func of(v *verb.Verb, more ...func(*verb.Call)) func([]byte, int64) *verb.Call {
	return func(key []byte, _ int64) *verb.Call {
		call := &verb.Call{Verb: v, Key: key}
		if v.Many {
			call.Key, call.Keys = nil, [][]byte{key}
		}
		if v.Values {
			call.Values = [][]byte{[]byte("1")}
		} else if v.Writes {
			call.Value = []byte("1")
		}
		for _, m := range more {
			m(call)
		}
		return call
	}
}

// ofVersion commits a key that is being loaded anew.
func ofVersion(act verb.Act) func([]byte, int64) *verb.Call {
	return func(key []byte, token int64) *verb.Call {
		return of(statement.Commit, func(c *verb.Call) { c.Group = []verb.Edit{{Version: token, Act: act}} })(key, token)
	}
}

// leaseEffects are those of every verb. A verb that is not here fails the test.
var leaseEffects = map[string][]leaseEffect{
	"get":       {{false, true, of(statement.Get)}, {true, true, of(statement.Get)}},
	"get_entry": {{true, true, of(statement.GetEntry)}},
	"get_many":  {{true, true, of(statement.GetMany)}},
	"stat":      {{true, true, of(statement.Stat)}},
	"stat_many": {{true, true, of(statement.StatMany)}},
	"probe":     {{true, true, of(statement.Probe)}},
	"touch":     {{true, true, of(statement.Touch)}, {false, true, of(statement.Touch)}},
	"claim": {{false, true, of(statement.Claim, func(c *verb.Call) { c.Lease = time.Hour })},
		{true, true, of(statement.Claim, func(c *verb.Call) { c.Lease = time.Hour })}},
	"refresh": {{true, true, func(key []byte, token int64) *verb.Call {
		return &verb.Call{Verb: statement.Refresh, Key: key, Token: token, Lease: time.Hour}
	}}},
	"watch": {{false, true, of(statement.Watch)}, {true, true, of(statement.Watch)}},
	"lock":  {{false, true, of(statement.Lock)}, {true, true, of(statement.Lock)}},
	"set": {{false, false, of(statement.Set)}, {true, false, of(statement.Set)},
		{false, false, of(statement.Set, func(c *verb.Call) { c.Condition = verb.IfAbsent })},
		{true, false, of(statement.Set, func(c *verb.Call) { c.Condition = verb.IfPresent })},
		{true, false, of(statement.Set, func(c *verb.Call) { c.Expiry = verb.KeepExpiry() })},
		{false, false, of(statement.Set, func(c *verb.Call) { c.WantVersion = true })},
		{false, false, of(statement.Set, func(c *verb.Call) { c.WantOld = true })},
		{true, false, of(statement.Set, func(c *verb.Call) { c.WantOld = true })},
		{false, true, of(statement.Set, func(c *verb.Call) { c.Condition = verb.IfPresent })},
		{true, true, of(statement.Set, func(c *verb.Call) { c.Condition = verb.IfAbsent })}},
	"set_many":           {{false, false, of(statement.SetMany)}, {true, false, of(statement.SetMany)}},
	"set_many_if_absent": {{false, false, of(statement.SetManyIfAbsent)}, {true, true, of(statement.SetManyIfAbsent)}},
	"increment":          {{false, false, of(statement.Increment)}, {true, false, of(statement.Increment)}},
	"increment_float": {{false, false, of(statement.IncrementFloat, func(c *verb.Call) { c.DeltaFloat = "1" })},
		{true, false, of(statement.IncrementFloat, func(c *verb.Call) { c.DeltaFloat = "1" })}},
	"append":         {{false, false, of(statement.Append)}, {true, false, of(statement.Append)}},
	"set_range":      {{false, false, of(statement.SetRange)}, {true, false, of(statement.SetRange)}},
	"remove_expired": {{false, true, of(statement.RemoveExpired)}, {true, true, of(statement.RemoveExpired)}},
	"delete":         {{false, false, of(statement.Delete)}, {true, false, of(statement.Delete)}},
	"delete_many":    {{false, false, of(statement.DeleteMany)}, {true, false, of(statement.DeleteMany)}},
	"get_delete":     {{false, false, of(statement.GetDelete)}, {true, false, of(statement.GetDelete)}},
	"compare_delete": {{true, false, of(statement.CompareDelete, func(c *verb.Call) { c.Condition = verb.IfValue })}},
	"commit": {
		{false, false, of(statement.Commit, func(c *verb.Call) { c.Group = []verb.Edit{{Act: verb.Put}} })},
		{false, true, of(statement.Commit, func(c *verb.Call) { c.Group = []verb.Edit{{}} })},
		{true, false, ofVersion(verb.Put)}, {true, false, ofVersion(verb.Remove)}, {true, true, ofVersion(verb.OnlyRead)},
		{true, true, of(statement.Commit, func(c *verb.Call) { c.Group = []verb.Edit{{Act: verb.Put}} })},
	},
	"expire": {{true, false, of(statement.Expire, func(c *verb.Call) { c.Expiry = verb.ExpireIn(time.Hour) })},
		{true, false, of(statement.Expire, func(c *verb.Call) { c.Expiry = verb.ExpireAt(time.Unix(1, 0)) })}},
	"get_expire": {{true, false, of(statement.GetExpire, func(c *verb.Call) { c.Expiry = verb.ExpireIn(time.Hour) })}},
	"fulfil": {{false, false, func(key []byte, token int64) *verb.Call {
		return &verb.Call{Verb: statement.Fulfil, Key: key, Token: token, Value: []byte("1")}
	}}, {true, false, func(key []byte, token int64) *verb.Call {
		return &verb.Call{Verb: statement.Fulfil, Key: key, Token: token, Absent: true, Expiry: verb.ExpireIn(time.Hour)}
	}}},
	"release": {{false, false, func(key []byte, token int64) *verb.Call {
		return &verb.Call{Verb: statement.Release, Key: key, Token: token}
	}}, {true, true, func(key []byte, token int64) *verb.Call { // nothing has changed since it was won
		return &verb.Call{Verb: statement.Release, Key: key, Token: token}
	}}},
}

// leased makes a key whose load is under way, and returns the token.
func (f *fixture) leased(key string, live bool) int64 {
	f.Helper()
	require.NoError(f, f.Delete(f.Context(), f.key(key)))
	if !live {
		return f.wins(key)
	}
	set := f.do(&verb.Call{Verb: statement.Set, Key: []byte(f.key(key)), Value: []byte("1"), WantVersion: true, Expiry: verb.ExpireIn(time.Minute)})
	require.Equal(f, verb.OK, f.refresh(key, set.Result.Version))
	return set.Result.Version
}

// stores asserts whether a load that is under way may still store. Where it may
// not, nobody waits for it in vain either.
func (f *fixture) stores(key, what string, token int64, want bool) {
	f.Helper()
	if !want {
		claim := f.claim(key)
		if claim.Claim.State != verb.KnownAbsent && !claim.Claim.Won {
			require.Zero(f, claim.Claim.Left, "%s leaves the lease", what)
		}
	}
	status := f.fulfil(verb.Call{Key: []byte(f.key(key)), Token: token, Value: []byte("loaded")}).Status
	require.Equal(f, want, status == verb.OK, "%s: %v", what, status)
}

func testVoided(t *testing.T, f *fixture) {
	ctx := t.Context()
	for _, v := range statement.Verbs() {
		effects := leaseEffects[v.Name]
		require.NotEmpty(t, effects, "say in leaseEffects what the verb %s does to a lease", v.Name)
		for i, e := range effects {
			token := f.leased("k", e.live)
			f.do(e.call([]byte(f.key("k")), token))
			f.stores("k", fmt.Sprint(v.Name, " ", i), token, e.keeps)
		}
	}
	for name, change := range map[string]func() error{
		"DeletePrefix": func() error { _, err := f.DeletePrefix(ctx, f.key("k")); return err },
		"Flush":        func() error { return f.Flush(ctx) },
		"Copy": func() error {
			return f.Copy(ctx, f.key("other"), f.Cache, f.key("k"), howdah.CopyOptions{Replace: true})
		},
		"Rename": func() error { return f.Rename(ctx, f.key("other"), f.key("k"), howdah.RenameOptions{}) },
	} {
		for _, live := range []bool{false, true} {
			require.NoError(t, f.Set(ctx, f.key("other"), []byte("2"), 0))
			token := f.leased("k", live)
			require.NoError(t, change(), name)
			f.stores("k", name, token, false)
		}
	}
	token := f.leased("k", true)
	require.NoError(t, f.Rename(ctx, f.key("k"), f.key("other"), howdah.RenameOptions{}))
	f.stores("k", "Rename of it", token, false)
}
