//go:build peers

package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/peers"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

func random(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(seed.Of(t), 1)) }

// All types in all encodings, binary keys and TTLs, in three databases.
func TestImport(t *testing.T) {
	t.Parallel()
	small := []string{"--hash-max-listpack-entries", "8", "--zset-max-listpack-entries", "8", "--set-max-intset-entries", "2", "--list-max-listpack-size", "3"}
	for name, settings := range map[string][]string{"compact encodings": nil, "tables": small} {
		t.Run(name, func(t *testing.T) {
			a := startRedis(t, settings...)
			c, g, db := connect(t, a), random(t), openDB(t)
			want := map[int]map[string]readable{}
			for _, number := range []int{0, 3, 15} {
				c.do("SELECT", strconv.Itoa(number))
				c.populate(g, fmt.Sprintf("k%d:", number), 200)
				want[number] = c.content()
			}
			o := optionsFor(t, a)
			counts, err := Import(t.Context(), db, o)
			require.NoError(t, err)
			require.Empty(t, counts.Refused)
			total := 0
			for number, keys := range want {
				requireEqual(t, keys, content(t, db.Cache("db"+strconv.Itoa(number))))
				total += len(keys)
			}
			require.EqualValues(t, total, counts.Stored)
			require.NoFileExists(t, o.StateFile)
			requireVerified(t, db, o)
		})
	}
}

// What DUMP gives may be of a version that is not known, or DUMP may be forbidden: then the
// collections are read by their own commands.
func TestImportWithoutDump(t *testing.T) {
	t.Parallel()
	a := startRedis(t, "--rename-command", "DUMP", "", "--set-max-intset-entries", "2")
	c, db := connect(t, a), openDB(t)
	c.populate(random(t), "k", 200)
	c.all(new(batch).add(words(rand.New(rand.NewPCG(1, 2)), "long", 3000)...))
	c.all(new(batch).add(append([]string{"RPUSH", "long list"}, strings.Fields(strings.Repeat("word ", 1500))...)...))
	o := optionsFor(t, a)
	counts, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.Empty(t, counts.Refused)
	requireEqual(t, c.content(), content(t, db.Cache("db0")))
	requireVerified(t, db, o)
}

// What Howdah cannot hold is named, and the rest is copied.
func TestRefusedKeys(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db := connect(t, a), openDB(t)
	c.do("SET", "good", "x")
	c.do("XADD", "stream\xff", "*", "a", "b")
	c.do("SET", strings.Repeat("k", verb.MaxKeyBytes+1), "x")
	c.do("SET", "large", strings.Repeat("x", 1001))
	c.do("HSET", "large hash", "a", strings.Repeat("x", fault.MaxCollectionBytes))
	many := []string{"SADD", "many"}
	for i := range 200_000 {
		many = append(many, strconv.Itoa(i)+"-member")
	}
	c.do(many...)
	c.do("LPUSH", "huge", strings.Repeat("y", dumpBytes+1))
	o := optionsFor(t, a)
	o.MaxValueBytes = 1000
	survey, err := DryRun(t.Context(), db, o)
	require.NoError(t, err)
	require.EqualValues(t, 3, survey.Large)
	require.Empty(t, content(t, db.Cache("db0")), "a dry run stores nothing")
	require.NoFileExists(t, o.StateFile)

	counts, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.EqualValues(t, 1, counts.Stored)
	require.Equal(t, map[string]int64{reasonType: 1, reasonKey: 1, reasonSize: 4}, counts.Refused)
	require.Equal(t, counts.Refused, survey.Refused)
	for _, list := range [][]Refusal{counts.Named, survey.Named} {
		require.Len(t, list, 6)
		sizes := map[string][2]int64{}
		for _, r := range list {
			sizes[r.Key+r.Key64] = [2]int64{r.Bytes, r.Limit}
		}
		require.Equal(t, [2]int64{1001, 1000}, sizes["large"])
		require.Equal(t, [2]int64{verb.MaxKeyBytes + 1, verb.MaxKeyBytes}, sizes[strings.Repeat("k", verb.MaxKeyBytes+1)])
		for _, key := range []string{"large hash", "many", "huge"} {
			require.EqualValues(t, fault.MaxCollectionBytes, sizes[key][1], key)
			require.Greater(t, sizes[key][0], sizes[key][1], key)
		}
		require.Zero(t, sizes["c3RyZWFt/w=="], "of a stream no size is too large")
	}
	text, err := os.ReadFile(o.RefusedFile)
	require.NoError(t, err)
	reasons := map[string]string{}
	for text := range strings.Lines(string(text)) {
		var r Refusal
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		reasons[r.Key+r.Key64] = r.Type + ": " + r.Reason
	}
	require.Len(t, reasons, 6)
	require.Equal(t, "stream: "+reasonType, reasons["c3RyZWFt/w=="])
	require.Equal(t, "set: "+reasonSize, reasons["many"])
	require.Equal(t, "list: "+reasonSize, reasons["huge"])
}

func TestImportOptions(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db := connect(t, a), openDB(t)
	c.do("MSET", "a:1", "new", "a:2", "new", "b:1", "new")
	c.do("SADD", "a:set", "x")
	set(t, db.Cache("db0"), "a:1", values.String("old"), verb.NoExpiry)
	set(t, db.Cache("db0"), "a:set", values.String("old"), verb.NoExpiry)
	o := optionsFor(t, a)
	o.Match = "a:*"
	counts, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.EqualValues(t, 2, counts.Kept)
	require.EqualValues(t, 1, counts.Stored)
	require.Equal(t, "old", content(t, db.Cache("db0"))["a:1"].text)

	o.Replace, o.Type = true, "set"
	counts, err = Import(t.Context(), db, o)
	require.NoError(t, err)
	require.EqualValues(t, 1, counts.Stored)
	require.EqualValues(t, 2, counts.Skipped)
	require.Equal(t, "set", content(t, db.Cache("db0"))["a:set"].kind)

	o.Match, o.Type, o.Into = "", "", "none"
	_, err = Import(t.Context(), db, o)
	require.ErrorIs(t, err, fault.ErrCacheNotFound)
	o.Into = ""
	_, err = Import(t.Context(), db, o)
	require.NoError(t, err)
	requireEqual(t, c.content(), content(t, db.Cache("db0")))
}

// errKilled ends an import in a test as a crash would: nothing more is written.
var errKilled = errors.New("killed")

// TestInterruptedImport ends an import at each kind of step and at random ones, and lets another
// go on, until one comes to the end. Nothing may be missing, and no TTL be wrong.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, g := connect(t, a), random(t)
	c.populate(g, "k", 600)
	c.do("SELECT", "1")
	c.populate(g, "other", 100)
	for _, replace := range []bool{false, true} {
		for _, kill := range []step{afterRead, afterCommit, beforeSave, afterSave} {
			t.Run(fmt.Sprintf("%s, replace %t", kill, replace), func(t *testing.T) {
				db, o := openDB(t), optionsFor(t, a)
				o.Replace = replace
				kills := 0
				for done := false; !done; {
					left := 1 + g.IntN(6)
					o.at = func(s step) error {
						if s == kill {
							left--
						}
						if left == 0 {
							kills++
							return errKilled
						}
						return nil
					}
					if kills == 25 {
						o.at = nil
					}
					_, err := Import(t.Context(), db, o)
					if done = err == nil; !done {
						require.ErrorIs(t, err, errKilled)
					}
				}
				require.NotZero(t, kills)
				c.do("SELECT", "0")
				requireEqual(t, c.content(), content(t, db.Cache("db0")))
				c.do("SELECT", "1")
				requireEqual(t, c.content(), content(t, db.Cache("db1")))
				require.NoFileExists(t, o.StateFile)
			})
		}
	}
}

// interrupt ends an import when four pages are saved.
func interrupt(t *testing.T, db *core.DB, o Options) {
	t.Helper()
	pages := 0
	o.at = func(s step) error {
		if s == afterSave {
			pages++
		}
		if pages == 4 {
			return errKilled
		}
		return nil
	}
	_, err := Import(t.Context(), db, o)
	require.ErrorIs(t, err, errKilled)
	require.FileExists(t, o.StateFile)
}

// With Restart nothing goes on from the old state, also not what comes after a failure before
// the first page is saved.
func TestRestart(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db := connect(t, a), openDB(t)
	c.populate(random(t), "k", 500)
	cache := db.Cache("db0")
	restarted := func(t *testing.T) Options {
		o := optionsFor(t, a)
		interrupt(t, db, o)
		require.NoError(t, cache.Flush(t.Context()))
		o.Restart = true
		return o
	}
	// once returns an error at the first save only.
	once := func(err error) func(step) error {
		return func(s step) error {
			if s != beforeSave {
				return nil
			}
			defer func() { err = nil }()
			return err
		}
	}
	t.Run("passing error", func(t *testing.T) {
		o := restarted(t)
		o.at = once(fault.ErrUnavailable)
		_, err := Import(t.Context(), db, o)
		require.NoError(t, err)
		requireEqual(t, c.content(), content(t, cache))
	})
	t.Run("killed", func(t *testing.T) {
		o := restarted(t)
		o.at = once(errKilled)
		_, err := Import(t.Context(), db, o)
		require.ErrorIs(t, err, errKilled)
		o.Restart = false
		_, err = Import(t.Context(), db, o)
		require.NoError(t, err)
		requireEqual(t, c.content(), content(t, cache))
	})
	t.Run("unreadable state", func(t *testing.T) {
		o := restarted(t)
		require.NoError(t, os.WriteFile(o.StateFile, []byte("torn"), 0o600))
		_, err := Import(t.Context(), db, o)
		require.NoError(t, err)
		requireEqual(t, c.content(), content(t, cache))
		require.NoFileExists(t, o.StateFile)
	})
}

// A state of a source that was restarted, of another one, of other options or into another
// database is not gone on with.
func TestForeignState(t *testing.T) {
	t.Parallel()
	server := peers.Redis(t)
	a := Address{Host: server.Addr}
	db := openDB(t)
	fill := func() {
		for i := range 500 {
			connect(t, a).do("SET", strconv.Itoa(i), "x")
		}
	}
	fill()
	o := optionsFor(t, a)
	interrupt(t, db, o)

	other := o
	other.Replace = true
	_, err := Import(t.Context(), db, other)
	require.ErrorIs(t, err, ErrUse)
	require.ErrorContains(t, err, "other options")
	other = o
	other.Into = "db2"
	_, err = Import(t.Context(), db, other)
	require.ErrorIs(t, err, ErrUse)
	require.ErrorContains(t, err, "into another cache")
	_, err = Import(t.Context(), openDB(t), o)
	require.ErrorIs(t, err, ErrUse)
	require.ErrorContains(t, err, "another PostgreSQL database")
	other = o
	other.Source = startRedis(t)
	_, err = Import(t.Context(), db, other)
	require.ErrorIs(t, err, ErrUse)
	require.ErrorContains(t, err, "is of an import from")

	other = o
	other.Match, other.Restart, other.Into = "1*", true, "db3"
	_, err = Import(t.Context(), db, other)
	require.NoError(t, err)
	require.Len(t, content(t, db.Cache("db3")), 111)
	interrupt(t, db, o)

	server.Restart(t) // its cursors are others, even with the same keys
	fill()
	said := ""
	o.Say = func(format string, args ...any) { said += fmt.Sprintf(format, args...) }
	counts, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.Contains(t, said, "restarted")
	require.EqualValues(t, 500, counts.Keys)
	require.Len(t, content(t, db.Cache("db0")), 500)
}

// A crash of PostgreSQL empties an unlogged cache, and may take the last commits of one of class
// async. Whatever was saved as done is there at the end all the same.
func TestCrashOfPostgreSQL(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c := connect(t, a)
	c.populate(random(t), "k", 1000)
	for _, class := range []string{"unlogged", "async", "sync"} {
		t.Run(class, func(t *testing.T) {
			server := pgtest.Own(t)
			db := openURL(t, server.NewURL())
			require.NoError(t, db.AlterCache(t.Context(), cacheConfig("db0", class), alterDurability))
			o, pages := optionsFor(t, a), 0
			o.at = func(s step) error {
				if s == beforeSave {
					if pages++; pages == 8 {
						server.Kill()
						server.Start()
					}
				}
				return nil
			}
			_, err := Import(t.Context(), db, o)
			require.NoError(t, err)
			requireEqual(t, c.content(), content(t, db.Cache("db0")))
		})
	}
}

// A source that goes away for a moment does not end the import.
func TestLostSource(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db, o := connect(t, a), openDB(t), optionsFor(t, a)
	c.populate(random(t), "k", 500)
	pages := 0
	o.at = func(s step) error {
		if s == afterSave {
			if pages++; pages == 3 {
				c.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			}
		}
		return nil
	}
	_, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	requireEqual(t, c.content(), content(t, db.Cache("db0")))
}

// Ctrl-C: the batch in flight is finished, and the next run goes on behind it.
func TestStoppedImport(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db, o := connect(t, a), openDB(t), optionsFor(t, a)
	c.populate(random(t), "k", 500)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p Progress) {
		if p.Keys > 100 {
			cancel()
		}
	}
	counts, err := Import(ctx, db, o)
	require.ErrorIs(t, err, context.Canceled)
	require.FileExists(t, o.StateFile)
	require.Len(t, content(t, db.Cache("db0")), int(counts.Stored))
	o.Progress = nil
	rest, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.Greater(t, rest.Stored, counts.Stored)
	requireEqual(t, c.content(), content(t, db.Cache("db0")))
}

// Keys that expire while they are copied are not there afterwards, and no error.
func TestExpiredInFlight(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db, o := connect(t, a), openDB(t), optionsFor(t, a)
	b := new(batch)
	for i := range 2000 {
		b.add("SET", strconv.Itoa(i), "x", "PX", strconv.Itoa(1+i%200))
	}
	b.add("SET", "stays", "x")
	c.all(b)
	counts, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.Empty(t, counts.Refused)
	require.Eventually(t, func() bool { return len(content(t, db.Cache("db0"))) == 1 }, time.Minute, 10*time.Millisecond)
}

func TestRate(t *testing.T) {
	t.Parallel()
	a := startRedis(t)
	c, db, o := connect(t, a), openDB(t), optionsFor(t, a)
	for i := range 200 {
		c.do("SET", strconv.Itoa(i), "x")
	}
	o.Rate = 400
	began := time.Now()
	_, err := Import(t.Context(), db, o)
	require.NoError(t, err)
	require.Greater(t, time.Since(began), 400*time.Millisecond, "200 keys at 400 a second")
}
