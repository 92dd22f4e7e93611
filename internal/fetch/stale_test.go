package fetch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/bubble"
)

// An expired value is served while one load is under way, for as long as asked.
func TestStaleWhileLoading(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		o := plain
		o.Stale = time.Minute
		l := &loading{takes: time.Second, value: "new"}
		w.set("k", "old", time.Second, o.Stale)
		bubble.Pass(2 * time.Second)
		for range 3 {
			began := time.Now()
			got, err := fetchOne(t.Context(), g, "k", l.load, o)
			require.NoError(t, err)
			require.Equal(t, "old", got)
			require.Zero(t, bubble.Since(began))
		}
		bubble.Pass(l.takes)
		synctest.Wait()
		got, err := fetchOne(t.Context(), g, "k", l.load, o)
		require.NoError(t, err)
		require.Equal(t, "new", got)
		require.Equal(t, 1, l.loads())
		require.EqualValues(t, 3, g.Stats().Stale)

		bubble.Pass(o.TTL + o.Stale)
		began := time.Now()
		_, err = fetchOne(t.Context(), g, "k", l.load, o)
		require.NoError(t, err)
		require.Equal(t, l.takes, bubble.Since(began), "it is too old to be served")
	})
}

// While the origin is down, it is asked once a second for the values that are served
// stale.
func TestStaleWhileDown(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		o := plain
		o.Stale = time.Minute
		l := &loading{err: errors.New("the origin is down")}
		w.set("k", "old", time.Second, o.Stale)
		bubble.Pass(2 * time.Second)
		for range 1000 {
			got, err := fetchOne(t.Context(), g, "k", l.load, o)
			require.NoError(t, err)
			require.Equal(t, "old", got)
			bubble.Pass(10 * time.Millisecond)
		}
		require.InDelta(t, 10, l.loads(), 1)
	})
}

// Each caller gets an expired value for as long as its own options say.
func TestStaleByCaller(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		takes := plain
		takes.Stale = time.Minute
		l := &loading{takes: time.Second, value: "new"}
		w.set("k", "old", time.Second, time.Hour)
		bubble.Pass(2 * time.Second)
		stop := make(chan struct{})
		w.delay = func() { <-stop }
		first := start(t.Context(), g, "k", l.load, takes)
		synctest.Wait() // the next two share a claim
		one := start(t.Context(), g, "k", l.load, takes)
		other := start(t.Context(), g, "k", l.load, plain)
		synctest.Wait()
		w.delay = nil
		close(stop)
		for _, p := range []*pending{first, one} {
			<-p.done
			require.Equal(t, "old", p.value)
		}
		<-other.done
		require.Equal(t, "new", other.value)
		require.Equal(t, 1, l.loads())
	})
}

// A value that a write has removed is not served stale.
func TestStaleIsVoided(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		o := plain
		o.StaleIfError = time.Minute
		broken := &loading{takes: time.Second, err: errors.New("broken")}
		w.set("k", "old", time.Second, time.Minute)
		bubble.Pass(2 * time.Second)
		first := start(t.Context(), g, "k", broken.load, o)
		bubble.Pass(500 * time.Millisecond)
		w.remove("k")
		second := start(t.Context(), g, "k", broken.load, o)
		<-first.done
		require.Equal(t, "old", first.value)
		<-second.done
		require.Equal(t, broken.err, second.err)
	})
}

// While the origin is down, the expired value is served for as long as asked;
// then come errors.
func TestStaleIfError(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		o := plain
		o.StaleIfError = 30 * time.Second
		l := &loading{value: "v"}
		_, err := fetchOne(t.Context(), g, "k", l.load, o)
		require.NoError(t, err)
		l.err = errors.New("the origin is down")
		stored := time.Now()
		for bubble.Since(stored) < 2*time.Minute {
			bubble.Pass(700 * time.Millisecond)
			got, err := fetchOne(t.Context(), g, "k", l.load, o)
			if bubble.Since(stored) < o.TTL+o.StaleIfError {
				require.NoError(t, err)
				require.Equal(t, "v", got)
			} else {
				require.Equal(t, l.err, err)
			}
		}
	})
}

// Hits near the end of a value's life begin a load, of many callers one, and get
// the present value.
func TestEarly(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		o := plain
		o.Early = 1
		l := &loading{takes: time.Second, value: "v"}
		_, err := fetchOne(t.Context(), g, "k", l.load, o)
		require.NoError(t, err)
		stored := time.Now()
		require.False(t, g.Due(time.Minute, 1), "a minute is 60 times what a load takes")
		for l.loads() == 1 {
			bubble.Pass(10 * time.Millisecond)
			began := time.Now()
			_, err := fetchOne(t.Context(), g, "k", l.load, o)
			require.NoError(t, err)
			require.Zero(t, bubble.Since(began))
			require.Less(t, bubble.Since(stored), o.TTL, "no hit was early")
			synctest.Wait()
		}
		require.Greater(t, bubble.Since(stored), o.TTL-longestGap*l.takes)
		for range 100 { // the lease of the refresh keeps others from another one
			g.Refresh(t.Context(), "k", w.rows["k"].version, l.load, o)
			_, err := fetchOne(t.Context(), New(w, nil), "k", l.load, o)
			require.NoError(t, err)
		}
		bubble.Pass(l.takes)
		synctest.Wait()
		require.Equal(t, 2, l.loads())
		require.EqualValues(t, 1, g.Stats().Early)
		require.Greater(t, time.Until(w.rows["k"].expires), o.TTL-2*l.takes)
	})
}

// The rule of XFetch.
func TestDue(t *testing.T) {
	t.Parallel()
	g := New(newWorld(), nil)
	require.False(t, g.Due(0, -1), "off")
	g.noteCost(time.Second)
	for _, c := range []struct {
		random, early float64
		left          time.Duration
		due           bool
	}{
		{0, 1, 1, false}, {0.5, 1, 693 * time.Millisecond, true}, {0.5, 1, 694 * time.Millisecond, false},
		{0.5, 2, 1386 * time.Millisecond, true}, {0.5, -1, 0, false}, {0.5, 1, Forever, false},
		{1 - 1.0/(1<<53), 1, 36 * time.Second, true}, {1 - 1.0/(1<<53), 1, longestGap * time.Second, false},
	} {
		g.random = func() float64 { return c.random }
		require.Equal(t, c.due, g.Due(c.left, c.early), c)
	}
	for range 100 {
		g.noteCost(3 * time.Second)
	}
	require.InDelta(t, 3*time.Second, g.cost.Load(), float64(time.Millisecond))
}

// A refresh that fails is reported where no caller learns of it, and leaves the
// value.
func TestRefreshFails(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		var reported []error
		g.failed = func(err error) { reported = append(reported, err) }
		broken := &loading{err: errors.New("broken")}
		w.set("k", "v", time.Minute, 0)
		g.Refresh(t.Context(), "k", w.rows["k"].version, broken.load, plain)
		synctest.Wait()
		require.Equal(t, []error{broken.err}, reported)
		for range 3 { // an origin that is down is not asked again at once
			g.Refresh(t.Context(), "k", w.rows["k"].version, broken.load, plain)
		}
		bubble.Pass(retryPause)
		synctest.Wait()
		require.Equal(t, []string{"refresh k", "release k"}, w.calls())
		got, err := fetchOne(t.Context(), g, "k", nil, plain)
		require.NoError(t, err)
		require.Equal(t, "v", got)
	})
}

// A Fetch of many keys loads those that are missing at once, and waits for those
// that others load.
func TestMany(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		w.set("hit", "h", time.Minute, 0)
		w.Claim(t.Context(), []string{"elsewhere"}, 10*time.Second)
		l := &loading{takes: time.Second, value: "one"}
		shared := start(t.Context(), g, "shared", l.load, plain)
		synctest.Wait()
		w.calls()
		go func() {
			bubble.Pass(3 * time.Second)
			w.set("elsewhere", "e", time.Minute, 0)
		}()
		var asked [][]string
		results := g.Fetch(t.Context(), []string{"a", "absent", "b", "elsewhere", "hit", "shared"}, func(_ context.Context, keys []string) (map[string][]byte, error) {
			asked = append(asked, keys)
			bubble.Pass(2 * time.Second)
			return map[string][]byte{"a": []byte("a"), "b": {}, "c": []byte("not asked for")}, nil
		}, plain)
		<-shared.done
		require.Equal(t, [][]string{{"a", "absent", "b"}}, asked)
		require.Equal(t, []Result{
			{Value: []byte("a"), Found: true, Loaded: true}, {Loaded: true}, {Value: []byte{}, Found: true, Loaded: true},
			{Value: []byte("e"), Found: true}, {Value: []byte("h"), Found: true}, {Value: []byte("one"), Found: true, Loaded: true},
		}, results)
		require.Nil(t, w.rows["c"])
	})
}

// The caller of a Fetch of many keys leaves: one who waits for one of its keys, and
// can load no other, gets it all the same.
func TestManyLeaves(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		l := &loading{takes: time.Second, value: "many"}
		ctx, leave := context.WithCancel(t.Context())
		stop := make(chan struct{})
		w.delay = func() { <-stop }
		go g.Fetch(ctx, []string{"a", "b"}, l.load, plain)
		synctest.Wait()
		single := &loading{takes: time.Second, value: "single"}
		a := start(t.Context(), g, "a", single.load, plain)
		leave()
		synctest.Wait()
		w.delay = nil
		close(stop)
		<-a.done
		require.NoError(t, a.err)
		require.Equal(t, "many", a.value)
		require.Zero(t, single.loads())
		got, err := fetchOne(t.Context(), g, "b", nil, plain)
		require.NoError(t, err)
		require.Equal(t, "many", got)
	})
}

// Each caller may change the value that it got.
func TestValuesAreOwn(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, w *world, g *Group) {
		l := &loading{takes: time.Second, value: "value"}
		results := make(chan []byte)
		for round := range 2 { // a load, then a hit
			for range 10 {
				go func() { results <- g.Fetch(t.Context(), []string{"k"}, l.load, plain)[0].Value }()
			}
			for range 10 {
				value := <-results
				require.Equal(t, "value", string(value), round)
				copy(value, "XXXXX")
			}
		}
	})
}
