package contract

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// testTags is the part of the contract that is about tags.
func testTags(t *testing.T, f *fixture) {
	ctx := t.Context()
	c := f.Cache
	tag := func(name string) string { return f.prefix + name }
	version := func(key string) int64 {
		entry, err := c.Stat(ctx, f.key(key))
		require.NoError(t, err)
		return entry.Version
	}
	set := func(key string, tags ...string) {
		t.Helper()
		for i := range tags {
			tags[i] = tag(tags[i])
		}
		require.NoError(t, c.SetWith(ctx, f.key(key), []byte(key), time.Hour, howdah.SetOptions{Tags: tags}))
	}
	invalidate := func(want int64, tags ...string) {
		t.Helper()
		for i := range tags {
			tags[i] = tag(tags[i])
		}
		n, err := c.InvalidateTags(ctx, tags)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	set("a", "x", "y", "x")
	set("b", "y")
	set("u")
	f.lives("a", time.Hour)
	f.holds("a", []byte("a"))
	invalidate(1, "x")
	f.holds("a", nil)
	invalidate(1, "none", "y")
	f.holds("b", nil)
	f.holds("u", []byte("u"))
	invalidate(0, "x", "y")
	invalidate(0)

	// Every other write keeps the tags, or takes the entry away.
	for name, write := range map[string]func() error{
		"set":       func() error { return c.Set(ctx, f.key("a"), []byte("1"), 0) },
		"set many":  func() error { return c.SetMany(ctx, []howdah.Item{{Key: f.key("a"), Value: []byte("1")}}, 0) },
		"append":    func() error { _, err := c.Append(ctx, f.key("a"), []byte("1"), 0); return err },
		"replace":   func() error { return c.Replace(ctx, f.key("a"), []byte("1"), 0) },
		"touch":     func() error { return c.Touch(ctx, f.key("a"), 2*time.Hour) },
		"nothing":   func() error { return c.SetWith(ctx, f.key("a"), []byte("1"), 0, howdah.SetOptions{}) },
		"set again": func() error { return errors.Join(c.Delete(ctx, f.key("a")), c.Set(ctx, f.key("a"), []byte("1"), 0)) },
	} {
		set("a", "x")
		require.NoError(t, write(), name)
		invalidate(1, "x")
		f.holds("a", nil)
	}
	set("a", "x")
	set("a", "y")
	invalidate(0, "x")
	invalidate(1, "y")

	// A load that began before the invalidation is not stored.
	k := []byte(f.key("l"))
	claim := f.claim("l")
	require.True(t, claim.Claim.Won)
	invalidate(0, "z")
	store := verb.Call{Key: k, Token: claim.Result.Version, Snapshot: claim.Claim.Snapshot, Value: []byte("old"), Tags: []string{tag("w"), tag("z")}}
	require.Equal(t, verb.NotStored, f.fulfil(store).Status)
	store.Value, store.Tags = []byte("l"), []string{tag("w")}
	require.Equal(t, verb.OK, f.fulfil(store).Status)
	f.holds("l", []byte("l"))
	refresh := f.do(&verb.Call{Verb: statement.Refresh, Key: k, Token: version("l"), Lease: time.Minute})
	require.Equal(t, verb.OK, refresh.Status)
	absent := verb.Call{Key: k, Token: version("l"), Snapshot: refresh.Claim.Snapshot, Tags: []string{tag("w")}, Absent: true}
	require.Equal(t, verb.OK, f.fulfil(absent).Status)
	require.Equal(t, verb.KnownAbsent, f.claim("l").Claim.State)
	invalidate(0, "w")
	claim = f.claim("l")
	require.Equal(t, verb.Won, claim.Claim.State, "that there is nothing was invalidated too")
	without := &verb.Call{Verb: statement.Fulfil, Key: k, Token: claim.Result.Version, Value: []byte("l"), Tags: []string{tag("w")}}
	require.ErrorContains(t, (*core.Cache)(c).Do(ctx, without), "snapshot")

	for _, bad := range [][]string{{""}, {strings.Repeat("t", howdah.MaxTagBytes+1)}, {strings.Repeat("t", 1<<20)}, {"\xff"}, {"a\x00"}, strings.Split(strings.Repeat("t ", 10_000)+"t", " ")} {
		require.ErrorIs(t, c.SetWith(ctx, f.key("a"), nil, 0, howdah.SetOptions{Tags: bad}), howdah.ErrInvalidTag)
		if len(bad) == 1 {
			_, err := c.InvalidateTag(ctx, bad[0])
			require.ErrorIs(t, err, howdah.ErrInvalidTag)
		}
	}
	require.ErrorIs(t, c.SetWith(ctx, f.key("a"), nil, -1, howdah.SetOptions{Tags: []string{"t"}}), howdah.ErrInvalidTTL)
	f.holds("a", nil)
}
