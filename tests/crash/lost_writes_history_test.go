package crash_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

const (
	opGet = iota
	opSet
	opSwap   // stores if the key holds what was expected
	opDelete // of what was expected, or of anything
	opAdd    // 1 to a number
	opLose   // everything, in a crash
)

// asked is what a call of a history asked for. "" is an absent key.
type asked struct {
	op              int
	key             string
	expected, value string
	begun           int64 // when; of what strictModel judges
}

// told is what it was answered.
type told struct {
	value   string // of opGet and opAdd
	refused bool   // the condition of opSwap did not hold
	unknown bool
	ended   int64 // when; of what strictModel judges
}

// keyModel is one key of a cache: what each call makes of its state.
var keyModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		was, call, answer := state.(string), input.(asked), output.(told)
		switch call.op {
		case opGet:
			return answer.value == was, was
		case opSet:
			return true, call.value
		case opSwap:
			if was != call.expected {
				return answer.unknown || answer.refused, was
			}
			return answer.unknown || !answer.refused, call.value
		case opAdd:
			n, _ := strconv.Atoi(was)
			next := strconv.Itoa(n + 1)
			return answer.unknown || answer.value == next, next
		}
		return true, "" // opDelete, opLose
	},
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		keys := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(asked).key
			keys[key] = append(keys[key], op)
		}
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// strictState is a key of a cache, and when the last of the acknowledged writes began that it has
// seen.
type strictState struct {
	value string
	last  int64
}

// strictModel is keyModel for one process, which promises more: a write whose outcome is unknown
// is applied before each acknowledged write that began after its answer, or never.
var strictModel = porcupine.Model{
	Init: func() any { return strictState{} },
	Step: func(state, input, output any) (bool, any) {
		was, call, answer := state.(strictState), input.(asked), output.(told)
		if answer.unknown && was.last > answer.ended {
			return true, was // it can only be one that never happens
		}
		ok, value := keyModel.Step(was.value, call, answer)
		next := strictState{value.(string), was.last}
		if call.op != opGet && !answer.unknown {
			next.last = max(next.last, call.begun)
		}
		return ok, next
	},
	Partition: keyModel.Partition, DescribeOperation: keyModel.DescribeOperation,
}

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
func (h *strictHistory) call(t *testing.T, client int, in asked, do func() (told, error)) {
	in.begun = int64(time.Since(h.begin))
	out, err := do()
	end := int64(time.Since(h.begin))
	op := porcupine.Operation{ClientId: client, Call: in.begun, Return: end}
	switch {
	case errors.Is(err, howdah.ErrUnknownOutcome):
		out.unknown, op.Return = true, math.MaxInt64
	case errors.Is(err, howdah.ErrUnavailable), errors.Is(err, howdah.ErrTimeout):
		return
	case err != nil && !errors.Is(err, howdah.ErrMiss):
		t.Error(err)
		return
	case in.op != opGet:
		select {
		case h.acknowledged <- struct{}{}:
		default:
		}
	}
	out.ended = end
	op.Input, op.Output = in, out
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, op)
	if out.unknown {
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
		h.call(t, client, asked{op: opGet, key: key}, func() (told, error) {
			value, err := cache.Get(context.Background(), key)
			return told{value: string(value)}, err
		})
	case 2:
		h.call(t, client, asked{op: opDelete, key: key}, func() (told, error) {
			return told{}, cache.Delete(context.Background(), key)
		})
	case 3:
		h.call(t, client, asked{op: opSet, key: key, value: value}, func() (told, error) {
			opts := howdah.TxOptions{Cache: "db0", Keys: []string{key}}
			return told{}, h.db.Transact(context.Background(), opts, func(ctx context.Context, tx pgx.Tx) error {
				return cache.With(tx).Set(ctx, key, []byte(value), 0)
			})
		})
	default:
		h.call(t, client, asked{op: opSet, key: key, value: value}, func() (told, error) {
			return told{}, cache.Set(context.Background(), key, []byte(value), 0)
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
		h.call(t, 4, asked{op: opGet, key: fmt.Sprint("k", i)}, func() (told, error) {
			value, err := h.db.Cache("db0").Get(context.Background(), fmt.Sprint("k", i))
			return told{value: string(value)}, err
		})
	}
	t.Logf("%d calls, the outcome of %d unknown", len(h.calls), h.unknown)
	require.NotZero(t, h.unknown)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(strictModel, h.calls, time.Minute))
}
