package tracking

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/long"
	"github.com/howdah/howdah/internal/test/seed"
)

// broadcast begins a client that broadcasts.
func broadcast(t *Table, number int64, noLoop bool, prefixes ...string) (*Client, *told) {
	c, s := t.NewClient(number), new(told)
	c.Broadcast(s, noLoop, false, prefixes...)
	return c, s
}

// changedBy are keys that a client has changed.
func changedBy(writer *Client, keys ...string) (list []Key) {
	for _, key := range keys {
		list = append(list, Key{Name: key, Writer: writer})
	}
	return list
}

func TestBroadcast(t *testing.T) {
	t.Parallel()
	table := New()
	require.False(t, table.Broadcasts())
	require.False(t, (*Table)(nil).Broadcasts())
	table.ChangedKeys(changedBy(nil, "k"))
	table.MissedKeys()
	a, toldA := broadcast(table, 1, false, "user:", "item:")
	b, toldB := broadcast(table, 2, true)
	c, toldC := begin(table, 3, false)
	require.True(t, table.Broadcasts())
	require.Equal(t, Stats{Clients: 3, Prefixes: 3}, table.Stats())
	require.Equal(t, []string{"item:", "user:"}, a.Prefixes())
	require.Equal(t, []string{""}, b.Prefixes())
	require.Empty(t, c.Prefixes())

	table.ChangedKeys(changedBy(nil, "user:2", "user:1", "other", "user:1", "item:1", "user", ""))
	require.Equal(t, []string{"item:: item:1", "user:: user:1 user:2"}, toldA.take(), "one message for each prefix, of sorted keys")
	require.Equal(t, []string{":  item:1 other user user:1 user:2"}, toldB.take())
	require.Empty(t, toldC.take())

	table.ChangedKeys(append(changedBy(b, "user:1", "x"), changedBy(a, "user:2")...))
	require.Equal(t, []string{"user:: user:2 own", "user:: user:1"}, toldA.take())
	require.Equal(t, []string{": user:2"}, toldB.take(), "NOLOOP")
	table.ChangedKeys(append(changedBy(b, "x"), changedBy(a, "x")...))
	require.Equal(t, []string{": x"}, toldB.take(), "another client has changed it too")

	// A key that it reads is not registered.
	table.Track(a, 7, []byte("user:1"))
	table.Changed(7, nil)
	require.Empty(t, toldA.take())

	a.Broadcast(toldA, true, false, "order:")
	require.Equal(t, []string{"item:", "order:", "user:"}, a.Prefixes())
	table.ChangedKeys(changedBy(a, "order:1"))
	require.Empty(t, toldA.take())
	a.End()
	require.Empty(t, a.Prefixes())
	require.EqualValues(t, 1, table.Stats().Prefixes)
	table.ChangedKeys(changedBy(nil, "user:1"))
	require.Empty(t, toldA.take())
	b.End()
	require.False(t, table.Broadcasts())
	require.Empty(t, table.prefixes.clients)
	require.Empty(t, table.prefixes.lengths)
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	table := New()
	a, _ := broadcast(table, 1, false, "ab", "c")
	for prefix, want := range map[string]string{"ab": "ab", "a": "ab", "abc": "ab", "": "ab", "cd": "c"} {
		other, overlaps := a.Overlap(prefix)
		require.True(t, overlaps, prefix)
		require.Equal(t, want, other)
	}
	_, overlaps := a.Overlap("b")
	require.False(t, overlaps)
}

// What clients have that broadcast is not known, so they are told in any case.
func TestBroadcastsMiss(t *testing.T) {
	t.Parallel()
	table := New()
	_, toldA := broadcast(table, 1, true, "k")
	_, toldB := begin(table, 2, false)
	table.Missed()
	table.Missed()
	require.Equal(t, []string{"*", "*"}, toldA.take())
	toldB.take()
	table.MissedKeys()
	require.Equal(t, []string{"*"}, toldA.take())
	require.Empty(t, toldB.take(), "who has registered what it reads knows its keys")
	told := table.Told()
	table.Missed()
	table.Flushed(nil, told)
	require.Equal(t, []string{"*", "*"}, toldA.take(), "another database may have been flushed since")
}

// A client that nobody can tell of keys is told to drop everything all the time.
func TestBlindClients(t *testing.T) {
	t.Parallel()
	table := New()
	now := time.Now()
	table.Tick(now)
	_, toldA := broadcast(table, 1, false)
	blind, toldB := table.NewClient(2), new(told)
	blind.Broadcast(toldB, false, true)
	table.Tick(now)
	require.Equal(t, []string{"*"}, toldB.take())
	table.Tick(now.Add(blindPeriod / 2))
	require.Empty(t, toldB.take())
	table.Tick(now.Add(blindPeriod))
	require.Equal(t, []string{"*"}, toldB.take())
	table.Tick(now) // the clock was set back
	require.Equal(t, []string{"*"}, toldB.take())
	require.Empty(t, toldA.take())
	blind.Broadcast(toldB, false, false) // it has asked again, and now there are keys
	table.Tick(now.Add(time.Hour))
	require.Empty(t, toldB.take())
	blind.Broadcast(toldB, false, true)
	blind.End()
	require.Zero(t, table.blind.Load())
	table.Tick(now.Add(2 * time.Hour))
	require.Empty(t, toldB.take())
}

// A value that gets its place after its key was told of is told of again.
func TestReadsOfBroadcasts(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := broadcast(table, 1, true, "k")
	for name, step := range map[string]struct {
		change func()
		told   bool
	}{
		"nothing":           {func() {}, false},
		"its key":           {func() { table.ChangedKeys(changedBy(nil, "k1")) }, true},
		"another key":       {func() { table.ChangedKeys(changedBy(nil, "k2", "x")) }, false},
		"its key by itself": {func() { table.ChangedKeys(changedBy(a, "k1")) }, false},
		"everything":        {table.Missed, true},
		"unknown keys":      {table.MissedKeys, true},
	} {
		a.Reads([]byte("k1"))
		step.change()
		require.Equal(t, step.told, a.HasRead([]byte("k1")), name)
		require.False(t, a.HasRead([]byte("k1")), "it is over")
		toldA.take()
	}
	require.Empty(t, a.reads.told)
}

// The table of prefixes finds what a walk over all of them finds.
func TestPrefixesAsAWalk(t *testing.T) {
	t.Parallel()
	rng := seed.Rand(t)
	word := func() string {
		b := make([]byte, rng.IntN(5))
		for i := range b {
			b[i] = "ab\x00"[rng.IntN(3)]
		}
		return string(b)
	}
	var p prefixes
	has := map[*Client][]string{}
	for step := range long.Or(1000, 5000) {
		switch {
		case rng.IntN(3) > 0 || len(has) == 0:
			c := &Client{number: int64(step)}
			for range 1 + rng.IntN(4) {
				c.prefixes = append(c.prefixes, word())
				p.add(c.prefixes[len(c.prefixes)-1], c)
			}
			has[c] = c.prefixes
		default:
			for c := range has {
				p.remove(c)
				delete(has, c)
				break
			}
		}
		key := word() + word()
		var want, got []string
		for c, list := range has {
			for _, prefix := range list {
				if strings.HasPrefix(key, prefix) {
					want = append(want, fmt.Sprintf("%q %d", prefix, c.number))
				}
			}
		}
		p.of(key, func(prefix string) {
			for _, c := range p.listed(prefix) {
				got = append(got, fmt.Sprintf("%q %d", prefix, c.number))
			}
		})
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, slices.Compact(want), got, "%q", key)
	}
}
