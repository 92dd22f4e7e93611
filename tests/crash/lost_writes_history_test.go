package crash_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/onekey"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// strictHistory is the calls of one process, some of which lose their connections.
type strictHistory struct {
	db           *howdah.DB
	begin        time.Time
	acknowledged chan struct{} // gets a value for each acknowledged write, while somebody takes it

	mu      sync.Mutex
	calls   []porcupine.Operation
	unknown int
}

// call notes a call. One that failed without effect is not noted.
func (h *strictHistory) call(t *testing.T, client int, in onekey.Call, do func() (onekey.Answer, error)) {
	in.Begun = int64(time.Since(h.begin))
	out, err := do()
	end := int64(time.Since(h.begin))
	op := porcupine.Operation{ClientId: client, Call: in.Begun, Return: end}
	switch {
	case errors.Is(err, howdah.ErrUnknownOutcome):
		out.Unknown, op.Return = true, math.MaxInt64
	case errors.Is(err, howdah.ErrUnavailable), errors.Is(err, howdah.ErrTimeout):
		return
	case err != nil && !errors.Is(err, howdah.ErrMiss):
		t.Error(err)
		return
	case in.Op != onekey.Get:
		select {
		case h.acknowledged <- struct{}{}:
		default:
		}
	}
	out.Ended = end
	op.Input, op.Output = in, out
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, op)
	if out.Unknown {
		h.unknown++
	}
}

// step makes one call of a random kind.
func (h *strictHistory) step(t *testing.T, client, number int, choices *rand.Rand) {
	key := fmt.Sprint("k", choices.IntN(3))
	cache := h.db.Cache("db0")
	value := fmt.Sprint("value", client, "-", number)
	switch choices.IntN(5) {
	case 0, 1:
		h.call(t, client, onekey.Call{Op: onekey.Get, Key: key}, func() (onekey.Answer, error) {
			value, err := cache.Get(context.Background(), key)
			return onekey.Answer{Value: string(value)}, err
		})
	case 2:
		h.call(t, client, onekey.Call{Op: onekey.Delete, Key: key}, func() (onekey.Answer, error) {
			return onekey.Answer{}, cache.Delete(context.Background(), key)
		})
	case 3:
		h.call(t, client, onekey.Call{Op: onekey.Set, Key: key, Value: value}, func() (onekey.Answer, error) {
			opts := howdah.TxOptions{Cache: "db0", Keys: []string{key}}
			return onekey.Answer{}, h.db.Transact(context.Background(), opts, func(ctx context.Context, tx pgx.Tx) error {
				return cache.With(tx).Set(ctx, key, []byte(value), 0)
			})
		})
	default:
		h.call(t, client, onekey.Call{Op: onekey.Set, Key: key, Value: value}, func() (onekey.Answer, error) {
			return onekey.Answer{}, cache.Set(context.Background(), key, []byte(value), 0)
		})
	}
}

// TestHistoryOfLostConnections loses connections in writes, sets and commits, which arrive at
// PostgreSQL after later ones were acknowledged, and judges what all callers of the process saw.
func TestHistoryOfLostConnections(t *testing.T) {
	t.Parallel()
	network := pgtest.StartSlowNetwork(t, pgtest.New(t))
	h := &strictHistory{db: dbtest.Open(t, network.URL, nil), begin: time.Now(), acknowledged: make(chan struct{})}
	random := seed.Rand(t)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for client := range 4 {
		choices := rand.New(rand.NewPCG(random.Uint64(), 0))
		callers.Go(func() {
			for number := 0; ; number++ {
				select {
				case <-stop:
					return
				default:
					h.step(t, client, number, choices)
				}
			}
		})
	}
	for i := range 30 {
		network.Hold([]string{"value", "commit\x00"}[i%2])
		held := <-network.Held
		held.Lose()
		for range 5 {
			<-h.acknowledged
		}
		held.Arrive()
	}
	close(stop)
	callers.Wait()
	for i := range 3 {
		h.call(t, 4, onekey.Call{Op: onekey.Get, Key: fmt.Sprint("k", i)}, func() (onekey.Answer, error) {
			value, err := h.db.Cache("db0").Get(context.Background(), fmt.Sprint("k", i))
			return onekey.Answer{Value: string(value)}, err
		})
	}
	t.Logf("%d calls, the outcome of %d unknown", len(h.calls), h.unknown)
	require.NotZero(t, h.unknown)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(onekey.StrictModel, h.calls, time.Minute))
}
