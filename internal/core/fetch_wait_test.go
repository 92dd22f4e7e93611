package core

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/verb"
)

// waits repeats what TestWaitersOfAnotherProcess measures: "go test ./internal/core -run
// TestWaitersOfAnotherProcess -fetch.waits 20 -v".
var waits = flag.Int("fetch.waits", 1, "how often TestWaitersOfAnotherProcess waits for each load")

// countingStore counts the claims of a process.
type countingStore struct {
	fetchStore
	claims *atomic.Int64
}

func (s countingStore) Claim(ctx context.Context, keys []string, lease time.Duration) []fetch.Claim {
	s.claims.Add(1)
	return s.fetchStore.Claim(ctx, keys, lease)
}

// longestPause is the longest of package fetch.
const longestPause = 50 * time.Millisecond

// waited is what a Fetch did that met the lease of another process.
type waited struct {
	claims int64
	late   time.Duration // after the store or the release was acknowledged
}

// wait lets one process hold the lease of a key for some time, and then store a
// value, or release it, while another one fetches.
func wait(t *testing.T, dbs []*DB, claims *atomic.Int64, key string, held time.Duration, end *verb.Verb) (w waited) {
	t.Helper()
	ctx := t.Context()
	holder := dbs[0].Cache("near")
	claim := &verb.Call{Verb: statement.Claim, Key: []byte(key), Lease: time.Minute}
	require.NoError(t, holder.Do(ctx, claim))
	require.Equal(t, verb.Won, claim.Claim.State)
	claims.Store(0)
	before := dbs[1].Stats().Fetch["near"].Waits
	ended := make(chan time.Time)
	go func() {
		await.Until(ctx, func() bool { return dbs[1].Stats().Fetch["near"].Waits != before })
		time.Sleep(held + rand.N(longestPause)) // not in step with its pauses
		err := holder.One(context.WithoutCancel(ctx), &verb.Call{Verb: end, Key: claim.Key, Token: claim.Result.Version, Value: []byte("stored")})
		if err != nil {
			t.Error(err)
		}
		ended <- time.Now()
	}()
	done := make(chan time.Time, 1)
	value, err := dbs[1].Cache("near").Fetch(ctx, key, time.Hour, func(context.Context) ([]byte, error) {
		done <- time.Now() // it has won the lease
		return []byte("loaded"), nil
	}, FetchOptions{})
	require.NoError(t, err)
	at := time.Now()
	if end == statement.Release {
		at = <-done
		require.Equal(t, "loaded", string(value))
	} else {
		require.Equal(t, "stored", string(value))
	}
	return waited{claims.Load(), at.Sub(<-ended)}
}

// A caller that waits for the load of another process learns of its end by the
// change log where that is quick, and asks seldom meanwhile.
func TestWaitersOfAnotherProcess(t *testing.T) {
	t.Parallel()
	url := raceway(t)
	for _, bound := range []time.Duration{0, 30 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		dbs := openRacing(t, url, bound)
		var claims atomic.Int64
		dbs[1].fetches.groups = map[string]*fetch.Group{"near": fetch.New(countingStore{fetchStore{dbs[1].Cache("near")}, &claims}, nil)}
		for _, end := range []*verb.Verb{statement.Fulfil, statement.Release} {
			for _, held := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
				if *waits == 1 && held > 500*time.Millisecond {
					continue
				}
				t.Run(fmt.Sprint("bound ", bound, ", ", end.Name, " after ", held), func(t *testing.T) {
					var all []waited
					for i := range *waits {
						all = append(all, wait(t, dbs, &claims, fmt.Sprint(t.Name(), i), held, end))
					}
					slices.SortFunc(all, func(a, b waited) int { return int(a.late - b.late) })
					t.Logf("late %v (at most %v), %d claims", all[len(all)/2].late.Round(100*time.Microsecond), all[len(all)-1].late.Round(100*time.Microsecond), all[len(all)/2].claims)
				})
			}
		}
	}
}
