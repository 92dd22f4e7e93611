package fetch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/bubble"
)

// A miss that loads is two calls, and the next Fetch is one.
func TestMiss(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		l := &loading{takes: time.Second, value: "v"}
		for range 2 {
			got, err := fetchOne(t.Context(), g, "k", l.load, plain)
			require.NoError(t, err)
			require.Equal(t, "v", got)
		}
		require.Equal(t, []string{"claim k", "fulfil k", "claim k"}, w.calls())
		require.Equal(t, 1, l.loads())
		require.Equal(t, Stats{Hits: 1, Loads: 1}, g.Stats())
	})
}

// Fetches of all processes share one load, and those who wait ask at most every
// 50 ms.
func TestOneLoadForAll(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		l := &loading{takes: 2 * time.Second, value: "v"}
		groups := []*Group{g, New(w, nil), New(w, nil), New(w, nil)}
		var all []*pending
		for i := range 200 {
			all = append(all, start(t.Context(), groups[i%len(groups)], "k", l.load, plain))
		}
		began := time.Now()
		for _, p := range all {
			<-p.done
			require.NoError(t, p.err)
			require.Equal(t, "v", p.value)
		}
		require.Equal(t, 1, l.loads())
		require.LessOrEqual(t, bubble.Since(began), l.takes+longestPause)
		require.Less(t, len(w.polls), 200)
	})
}

// Where changes are told of, those who wait hardly ask, and learn of a store, of a
// release and of a removal when it is told.
func TestNews(t *testing.T) {
	t.Parallel()
	const within = 30 * time.Millisecond
	for name, end := range map[string]func(*world, Token){
		"stored":   func(w *world, _ Token) { w.set("k", "v", time.Minute, 0) },
		"removed":  func(w *world, _ Token) { w.remove("k") },
		"released": func(w *world, token Token) { w.Release(context.Background(), []Lease{{"k", token}}) },
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world, g *Group) {
				w.within = within
				token := w.Claim(t.Context(), []string{"k"}, 10*time.Second)[0].Token
				l := &loading{value: "v"}
				p := start(t.Context(), g, "k", l.load, plain)
				bubble.Pass(5 * time.Second)
				asked, _ := w.now()
				require.LessOrEqual(t, asked, 5*4+7)
				end(w, token)
				told := time.Now()
				<-p.done
				require.NoError(t, p.err)
				require.Equal(t, "v", p.value)
				require.Equal(t, within, bubble.Since(told))
				polls, listening := w.now()
				require.Equal(t, asked+1, polls)
				require.Zero(t, listening)
			})
		})
	}
}

// Without news, pauses are as short as without any: where they end, where they come
// later than the next pause ends, and, but for one toldPause, where they fail.
func TestNoNews(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(*world){
		"late":   func(w *world) { w.tell(2*longestPause, false) },
		"ended":  func(w *world) { w.tell(0, false) },
		"silent": func(w *world) { w.tell(time.Millisecond, true) },
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world, g *Group) {
				w.within = time.Millisecond
				w.Claim(t.Context(), []string{"k"}, time.Minute)
				l := &loading{}
				p := start(t.Context(), g, "k", l.load, plain)
				bubble.Pass(5 * time.Second)
				from(w)
				bubble.Pass(toldPause) // the pause of that moment
				w.set("k", "v", time.Minute, 0)
				began := time.Now()
				<-p.done
				require.Zero(t, l.loads())
				longest := longestPause
				if name == "silent" {
					longest = toldPause
				}
				require.LessOrEqual(t, bubble.Since(began), longest)
				_, listening := w.now()
				require.Zero(t, listening)
			})
		})
	}
}

// A caller that leaves, and the end of the Group, end the news.
func TestNewsEnd(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		w.within = time.Millisecond
		w.Claim(t.Context(), []string{"k"}, time.Minute)
		l := &loading{}
		ctx, leave := context.WithTimeout(t.Context(), 3*time.Second)
		defer leave()
		_, err := fetchOne(ctx, g, "k", l.load, plain)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		bubble.Pass(toldPause)
		_, listening := w.now()
		require.Zero(t, listening)
		p := start(t.Context(), g, "k", l.load, plain)
		bubble.Pass(3 * time.Second)
		_, listening = w.now()
		require.Equal(t, 1, listening)
		g.Close()
		<-p.done
		require.ErrorIs(t, p.err, ErrClosed)
		_, listening = w.now()
		require.Zero(t, listening)
	})
}

// The lease of a process that has died is taken by another when it ends.
func TestDeadWinner(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		require.Equal(t, Won, w.Claim(t.Context(), []string{"k"}, 10*time.Second)[0].State)
		ends := time.Now().Add(10 * time.Second)
		l := &loading{takes: time.Second, value: "v"}
		got, err := fetchOne(t.Context(), g, "k", l.load, plain)
		require.NoError(t, err)
		require.Equal(t, "v", got)
		require.False(t, l.began[0].Before(ends))
		require.LessOrEqual(t, l.began[0].Sub(ends), longestPause)
		for i := range w.polls[1:] {
			require.LessOrEqual(t, w.polls[i+1].Sub(w.polls[i]), longestPause)
		}
		require.EqualValues(t, 1, g.Stats().Waits)
	})
}

// What is invalidated while it is loaded is not stored, and not given to those who
// came after the load began.
func TestVoided(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		l := &loading{takes: time.Second, value: "old"}
		first := start(t.Context(), g, "k", l.load, plain)
		bubble.Pass(500 * time.Millisecond)
		l.becomes("new")
		w.remove("k")
		second := start(t.Context(), g, "k", l.load, plain)
		<-first.done
		<-second.done
		require.Equal(t, "old", first.value, "it asked before the change")
		require.Equal(t, "new", second.value)
		require.Equal(t, 2, l.loads())
		require.EqualValues(t, 1, g.Stats().Voided)
		got, err := fetchOne(t.Context(), g, "k", l.load, plain)
		require.NoError(t, err)
		require.Equal(t, "new", got)
	})
}

// A key that changes all the time is loaded twice at most for one caller.
func TestVoidedForEver(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		l := &loading{takes: time.Second, value: "v"}
		w.stored = func([]Value) { w.remove("k") }
		first := start(t.Context(), g, "k", l.load, plain)
		bubble.Pass(500 * time.Millisecond)
		began := time.Now()
		got, err := fetchOne(t.Context(), g, "k", l.load, plain)
		require.NoError(t, err)
		require.Equal(t, "v", got)
		require.Equal(t, 1500*time.Millisecond, bubble.Since(began))
		<-first.done
		require.Equal(t, 2, l.loads())
	})
}

// Where other processes win again and again what is voided again and again, a
// Fetch loads for itself.
func TestPatience(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		stop := make(chan struct{})
		go func() { // others
			for {
				w.remove("k")
				w.Claim(t.Context(), []string{"k"}, 10*time.Second)
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
				}
			}
		}()
		synctest.Wait()
		l := &loading{takes: time.Second, value: "v"}
		began := time.Now()
		got, err := fetchOne(t.Context(), g, "k", l.load, plain)
		close(stop)
		require.NoError(t, err)
		require.Equal(t, "v", got)
		require.LessOrEqual(t, bubble.Since(began), 5*time.Second)
		require.EqualValues(t, 1, g.Stats().Unstored)
	})
}

func TestLocalDoesNotWait(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		w.Claim(t.Context(), []string{"k"}, 10*time.Second)
		o := plain
		o.Local = true
		l := &loading{takes: time.Second, value: "v"}
		began := time.Now()
		got, err := fetchOne(t.Context(), g, "k", l.load, o)
		require.NoError(t, err)
		require.Equal(t, "v", got)
		require.Equal(t, time.Second, bubble.Since(began))
		require.Equal(t, []string{"claim k", "claim k"}, w.calls(), "nothing is stored without a lease")
	})
}

// A load that fails ends its lease, and all who wait in this process get its error.
func TestLoadFails(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		broken := errors.New("broken")
		for what, load := range map[string]func() (map[string][]byte, error){
			"error":  func() (map[string][]byte, error) { return nil, broken },
			"panic":  func() (map[string][]byte, error) { panic(broken) },
			"goexit": func() (map[string][]byte, error) { runtime.Goexit(); return nil, nil },
		} {
			loads := 0
			failing := func(context.Context, []string) (map[string][]byte, error) {
				loads++
				bubble.Pass(time.Second)
				return load()
			}
			first := start(t.Context(), g, "k", failing, plain)
			bubble.Pass(500 * time.Millisecond)
			second := start(t.Context(), g, "k", failing, plain)
			<-first.done
			<-second.done
			require.Error(t, first.err)
			require.Equal(t, first.err, second.err, what)
			require.Equal(t, 1, loads, what)
			var panicked *PanicError
			require.Equal(t, what != "error", errors.As(first.err, &panicked), what)
			require.Equal(t, what != "goexit", errors.Is(first.err, broken), what)
			if what == "panic" {
				require.Contains(t, first.err.Error(), "TestLoadFails", "the stack")
			}
			require.Equal(t, []string{"claim k", "release k"}, w.calls())
		}
	})
}

// A load that ignores its context holds no caller beyond its Timeout.
func TestLoadIsLate(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		early := plain
		early.Timeout = 5 * time.Second
		var ended atomic.Bool
		began := time.Now()
		_, err := fetchOne(t.Context(), g, "k", func(ctx context.Context, _ []string) (map[string][]byte, error) {
			bubble.Pass(time.Minute)
			ended.Store(ctx.Err() != nil)
			return map[string][]byte{"k": []byte("late")}, nil
		}, early)
		var late *LateError
		require.ErrorAs(t, err, &late)
		require.Equal(t, early.Timeout, bubble.Since(began))
		_, err = fetchOne(t.Context(), g, "k", func(ctx context.Context, _ []string) (map[string][]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, early)
		require.ErrorAs(t, err, &late, "one that obeys its context fails alike")
		bubble.Pass(time.Minute)
		require.True(t, ended.Load())
		require.Equal(t, []string{"claim k", "release k", "claim k", "release k"}, w.calls(), "what came late is not stored")
	})
}

// A lease that has ended is not released: another process may have it.
func TestLateLoadLeavesTheNextLease(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		hangs := &loading{takes: time.Hour}
		longer := plain
		longer.Timeout = plain.Lease + 2*longestPause
		first := start(t.Context(), g, "k", hangs.load, longer)
		synctest.Wait()
		l := &loading{takes: 5 * time.Second, value: "v"}
		var others []*pending
		for range 3 {
			others = append(others, start(t.Context(), New(w, nil), "k", l.load, plain))
		}
		<-first.done
		require.Error(t, first.err)
		for _, p := range others {
			<-p.done
			require.Equal(t, "v", p.value)
		}
		require.Equal(t, 1, l.loads())
		require.NotContains(t, w.calls(), "release k")
		bubble.Pass(hangs.takes)
	})
}

// A caller that leaves does not end the load of the others; with the last one
// gone, what is loaded is still stored.
func TestLeaving(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		type name struct{}
		ctx, leave := context.WithCancel(context.WithValue(t.Context(), name{}, "trace"))
		load := func(ctx context.Context, _ []string) (map[string][]byte, error) {
			bubble.Pass(time.Second)
			return map[string][]byte{"k": []byte(fmt.Sprint(ctx.Value(name{}), ctx.Err()))}, nil
		}
		first := start(ctx, g, "k", load, plain)
		synctest.Wait()
		second := start(t.Context(), g, "k", load, plain)
		bubble.Pass(100 * time.Millisecond)
		leave()
		synctest.Wait()
		<-first.done
		require.ErrorIs(t, first.err, context.Canceled)
		<-second.done
		require.NoError(t, second.err)
		require.Equal(t, "trace<nil>", second.value)

		w.remove("k")
		w.calls()
		ctx, leave = context.WithCancel(t.Context())
		alone := start(ctx, g, "k", load, plain)
		bubble.Pass(100 * time.Millisecond)
		leave()
		<-alone.done
		bubble.Pass(time.Second)
		require.Equal(t, []string{"claim k", "fulfil k"}, w.calls())
	})
}

// Nobody waits for the lease of another process when its callers have left.
func TestLeavingWhileWaiting(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		w.Claim(t.Context(), []string{"k"}, 10*time.Second)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		_, err := fetchOne(ctx, g, "k", nil, plain)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		bubble.Pass(longestPause)
		w.calls()
		bubble.Pass(time.Second)
		require.Empty(t, w.calls())
		g.mu.Lock()
		defer g.mu.Unlock()
		require.Empty(t, g.flights)
	})
}

// Without the database, each load is still shared, but stored nowhere.
func TestAway(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		w.away = true
		l := &loading{takes: time.Second, value: "v"}
		var all []*pending
		for range 10 {
			all = append(all, start(t.Context(), g, "k", l.load, plain))
		}
		for _, p := range all {
			<-p.done
			require.NoError(t, p.err)
			require.Equal(t, "v", p.value)
		}
		require.LessOrEqual(t, l.loads(), 2, "those who came while one ran share the next")
		require.NotZero(t, g.Stats().Unstored)
	})
}

// A value that cannot be stored is returned, and its lease ends.
func TestNotStorable(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		w.full = errors.New("the cache is full")
		l := &loading{value: "v"}
		got, err := fetchOne(t.Context(), g, "k", l.load, plain)
		require.NoError(t, err)
		require.Equal(t, "v", got)
		bubble.Pass(time.Second)
		require.Equal(t, []string{"claim k", "fulfil k", "release k"}, w.calls())
		require.EqualValues(t, 1, g.Stats().Unstored)
	})
}

// That a key is absent is remembered where that is asked for.
func TestAbsent(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		loads := 0
		absent := func(context.Context, []string) (map[string][]byte, error) { loads++; return nil, nil }
		for range 2 {
			r := g.Fetch(t.Context(), []string{"k"}, absent, plain)[0]
			require.Equal(t, Result{Loaded: true}, r)
		}
		require.Equal(t, 2, loads)
		o := plain
		o.Absent = 5 * time.Second
		for i := range 3 {
			require.Equal(t, Result{Loaded: i == 0}, g.Fetch(t.Context(), []string{"k"}, absent, o)[0])
		}
		require.Equal(t, 3, loads)
		bubble.Pass(o.Absent)
		g.Fetch(t.Context(), []string{"k"}, absent, o)
		require.Equal(t, 4, loads)
	})
}

// That a key is absent is a value like any other: those who came after the load
// began do not get it if something has changed the key since.
func TestAbsentIsVoided(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		for _, remembered := range []time.Duration{0, time.Second} {
			var exists atomic.Bool
			load := func(_ context.Context, keys []string) (map[string][]byte, error) {
				was := exists.Load()
				bubble.Pass(time.Second)
				if !was {
					return nil, nil
				}
				return map[string][]byte{keys[0]: []byte("v")}, nil
			}
			o := plain
			o.Absent = remembered
			w.remove("k")
			first := start(t.Context(), g, "k", load, o)
			bubble.Pass(500 * time.Millisecond)
			exists.Store(true)
			w.remove("k")
			second := start(t.Context(), g, "k", load, o)
			<-first.done
			<-second.done
			require.Empty(t, first.value)
			require.Equal(t, "v", second.value)
		}
	})
}

// Fetches that wait for another process end with the Group; loads are waited for.
func TestClose(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		w.Claim(t.Context(), []string{"other"}, 10*time.Second)
		waits := start(t.Context(), g, "other", nil, plain)
		l := &loading{takes: 2 * time.Second, value: "v"}
		loads := start(t.Context(), g, "k", l.load, plain)
		bubble.Pass(time.Second)
		began := time.Now()
		g.Close()
		require.Equal(t, time.Second, bubble.Since(began))
		<-waits.done
		<-loads.done
		require.ErrorIs(t, waits.err, ErrClosed)
		require.NoError(t, loads.err)
		_, err := fetchOne(t.Context(), g, "k", l.load, plain)
		require.ErrorIs(t, err, ErrClosed)
	})
}
