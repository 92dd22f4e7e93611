package core

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// twoServers is a database whose partitions are at another server, as far as it knows: a
// second database stands for that. former is the connection to it.
func twoServers(t *testing.T) (s *servers, away *DB, former *pgx.Conn) {
	t.Helper()
	home := openDB(t, pgtest.Divided(t, 2))
	url := pgtest.Divided(t, 2)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	away, err = build(pool, home.opts, true, false, home.shared)
	require.NoError(t, err)
	t.Cleanup(func() { _ = away.closeServer() })
	home.Waiters().Include(away.engines)
	away.partitions = home.partitions
	s = &servers{home: home, gates: make([]gate, 2), listens: map[bus.Kind]int{}, known: []Server{{Partitions: []int{0, 1}}}}
	s.route.Store(&[]*DB{away, away})
	home.partitions.servers, home.partitions.holder = s, s.holder
	former, err = pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = former.Close(t.Context()) })
	return s, away, former
}

// A caller that is about to wait at a server when its partition leaves, or when that is
// given up, waits where the partition is then.
func TestWaitWhileThePartitionLeaves(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, s *servers, away *DB){
		"moved": func(_ *testing.T, s *servers, away *DB) {
			s.moved([]*DB{away, away}, []*DB{s.home, s.home})
		},
		"left": func(_ *testing.T, s *servers, away *DB) { s.home.Waiters().Exclude(away.engines) },
	} {
		t.Run(name, func(t *testing.T) {
			s, away, former := twoServers(t)
			cache, key := s.home.Cache("db0"), []byte("l")
			looks, goOn := make(chan struct{}), make(chan struct{})
			first := true
			ended := make(chan error, 1)
			w, _ := popper(s.home, key)
			pop := w.Run
			w.Run = func(v *edit.View, keys [][]byte) bool {
				if first {
					first = false
					close(looks)
					<-goOn
				}
				return pop(v, keys)
			}
			cache.Wait(w, func(w *edit.Waiter) { ended <- w.Err })
			<-looks
			s.route.Store(&[]*DB{s.home, s.home})
			leave(t, s, away)
			close(goOn)
			require.Eventually(t, w.HasWaited, time.Minute, time.Millisecond)
			for _, e := range away.engines.All() {
				_, err := former.Exec(t.Context(), "DROP TABLE "+e.Table().Name()+" CASCADE")
				require.NoError(t, err)
			}
			_, err := cache.RPush(t.Context(), key, [][]byte{[]byte("v")}, 0)
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				s.home.Waiters().Look()
				return len(ended) > 0
			}, time.Minute, 10*time.Millisecond, "it waits where nothing comes any more")
			require.NoError(t, <-ended)
			require.Zero(t, s.home.Waiters().Count())
		})
	}
}
