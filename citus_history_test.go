//go:build citus

package howdah_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/seed"
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
}

// told is what it was answered.
type told struct {
	value   string // of opGet and opAdd
	refused bool   // the condition of opSwap did not hold
	unknown bool
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

// process is a DB of a history, and what it was told about its own writes.
type process struct {
	db       *howdah.DB
	cache    *howdah.Cache
	bound    time.Duration // of memory; 0: it has none
	readOnly bool

	mu  sync.Mutex
	own map[string]int64 // when the last own write of a key was acknowledged
}

// history is the calls of several processes on keys of all partitions.
type history struct {
	t         *testing.T
	cluster   *pgtest.Citus
	processes []*process
	keys      []string
	of        map[string]int // the partition of a key
	begin     time.Time
	numbers   atomic.Int64

	mu       sync.Mutex
	calls    []porcupine.Operation
	recalled []porcupine.Operation // reads that memory may have answered; Call is how old they may be
	failures map[int]int           // by partition
	kinds    map[string]int
}

const historyPartitions = 8

// newHistory divides a database and opens it three times.
func newHistory(t *testing.T, cluster *pgtest.Citus, config howdah.CacheConfig) *history {
	t.Helper()
	cluster.Divide(historyPartitions)
	h := &history{t: t, cluster: cluster, of: map[string]int{}, begin: time.Now(), failures: map[int]int{}, kinds: map[string]int{}}
	options := howdah.Options{Timeout: patient.Timeout}
	if config.Near {
		options.Near.Bound = nearBound
	}
	for i := range 3 {
		db := open(t, cluster.Coordinator().URL(), &options)
		require.NoError(t, db.EnsureCache(t.Context(), config))
		running(t, db)
		h.processes = append(h.processes, &process{
			db: db, cache: db.Cache(config.Name), bound: options.Near.Bound, readOnly: config.Near && i == 2, own: map[string]int64{}})
	}
	count := make([]int, historyPartitions)
	for i := 0; len(h.keys) < 4*historyPartitions; i++ {
		key := fmt.Sprint("key", i)
		part := h.partition(key)
		if count[part]++; count[part] <= 4 {
			h.keys, h.of[key] = append(h.keys, key), part
		}
	}
	return h
}

func (h *history) partition(key string) (number int) {
	h.t.Helper()
	require.NoError(h.t, h.processes[0].db.Pool().QueryRow(h.t.Context(), "SELECT howdah_internal._partition($1)", []byte(key)).Scan(&number))
	return number
}

// now is the time of a history.
func (h *history) now() int64 { return int64(time.Since(h.begin)) }

// during runs the processes while fault does its work, and reads all keys in the end.
func (h *history) during(fault func()) {
	random := seed.Rand(h.t)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for number, p := range h.processes {
		for range 3 {
			choices := rand.New(rand.NewPCG(random.Uint64(), 0))
			work.Go(func() {
				pace := time.NewTicker(2 * time.Millisecond)
				defer pace.Stop()
				for {
					select {
					case <-stop:
						return
					case <-pace.C:
						h.step(number, p, choices)
					}
				}
			})
		}
	}
	fault()
	close(stop)
	work.Wait()
	last := open(h.t, h.cluster.Coordinator().URL(), nil).Cache(h.processes[0].cache.Name())
	for _, key := range h.keys {
		eventually(h.t, key+" is served", func() bool {
			_, err := h.get(len(h.processes), &process{cache: last}, key)
			return err == nil || errors.Is(err, howdah.ErrMiss)
		})
	}
}

// step makes one call. Every fourth key holds a number.
func (h *history) step(number int, p *process, choices *rand.Rand) {
	at := choices.IntN(len(h.keys))
	key := h.keys[at]
	switch n := choices.IntN(10); {
	case p.readOnly || n < 4:
		_, _ = h.get(number, p, key)
	case n < 5:
		h.write(number, p, asked{op: opDelete, key: key}, func() (told, error) {
			err := p.cache.Delete(context.Background(), key)
			if errors.Is(err, howdah.ErrMiss) {
				err = nil
			}
			return told{}, err
		})
	case at%4 == 3:
		h.write(number, p, asked{op: opAdd, key: key}, func() (told, error) {
			value, err := p.cache.Increment(context.Background(), key, 1, 0)
			return told{value: fmt.Sprint(value)}, err
		})
	case n < 8:
		value := fmt.Sprint("v", h.numbers.Add(1))
		h.write(number, p, asked{op: opSet, key: key, value: value}, func() (told, error) {
			return told{}, p.cache.Set(context.Background(), key, []byte(value), 0)
		})
	default:
		h.swap(number, p, key)
	}
}

// get reads a key.
func (h *history) get(number int, p *process, key string) (howdah.Entry, error) {
	begin := h.now()
	if p.bound > 0 { // memory may be as old as the bound, but not older than an own write
		p.mu.Lock()
		begin = min(begin, max(begin-int64(p.bound), p.own[key]))
		p.mu.Unlock()
	}
	var entry howdah.Entry
	var err error
	if p.readOnly {
		entry.Value, err = p.cache.Get(context.Background(), key)
	} else {
		entry, err = p.cache.GetEntry(context.Background(), key)
	}
	if err != nil && !errors.Is(err, howdah.ErrMiss) {
		h.failed(key, err)
		return entry, err
	}
	op := porcupine.Operation{ClientId: number, Input: asked{op: opGet, key: key}, Call: begin, Output: told{value: string(entry.Value)}, Return: h.now()}
	if p.bound == 0 {
		h.note(op)
		return entry, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recalled = append(h.recalled, op)
	return entry, err
}

// swap stores a value in the place of the one that was read.
func (h *history) swap(number int, p *process, key string) {
	entry, err := h.get(number, p, key)
	if err != nil {
		return
	}
	value := fmt.Sprint("s", h.numbers.Add(1))
	h.write(number, p, asked{op: opSwap, key: key, expected: string(entry.Value), value: value}, func() (told, error) {
		_, err := p.cache.CompareAndSet(context.Background(), key, entry.Version, []byte(value), 0)
		if errors.Is(err, howdah.ErrNotStored) || errors.Is(err, howdah.ErrMiss) {
			return told{refused: true}, nil
		}
		return told{}, err
	})
}

// write makes a call that changes a key. One that was refused is not in the history, one
// whose outcome is unknown may happen at any later time.
func (h *history) write(number int, p *process, call asked, do func() (told, error)) {
	op := porcupine.Operation{ClientId: number, Input: call, Call: h.now()}
	answer, err := do()
	op.Output, op.Return = answer, h.now()
	if err != nil {
		h.failed(call.key, err)
		if !errors.Is(err, howdah.ErrUnknownOutcome) {
			return
		}
		op.Output, op.Return = told{unknown: true}, math.MaxInt64
	} else if p.bound > 0 {
		p.mu.Lock()
		p.own[call.key] = max(p.own[call.key], op.Return)
		p.mu.Unlock()
	}
	h.note(op)
}

func (h *history) note(op porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, op)
}

func (h *history) failed(key string, err error) {
	if !errors.Is(err, howdah.ErrUnavailable) && !errors.Is(err, howdah.ErrTimeout) && !errors.Is(err, howdah.ErrUnknownOutcome) {
		h.t.Errorf("%s: %v", key, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[h.of[key]]++
	h.kinds[err.Error()]++
}

// lose notes that partitions have lost everything at one moment since begin.
func (h *history) lose(begin int64, partitions []int) {
	end := h.now()
	for _, key := range h.keys {
		if slices.Contains(partitions, h.of[key]) {
			h.note(porcupine.Operation{ClientId: 100, Input: asked{op: opLose, key: key}, Call: begin, Output: told{}, Return: end})
		}
	}
}

// isLinearizable reports whether each key had one state at a time: whether nothing was
// lost, made up, or answered that was no longer so. What memory answers may have been so
// for as long as its bound.
func (h *history) isLinearizable() bool {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.t.Logf("%d calls, %d of processes with memory; %v failed, by partition", len(h.calls), len(h.recalled), h.failures)
	writes := map[string][]porcupine.Operation{}
	for _, op := range h.calls {
		call, answer := op.Input.(asked), op.Output.(told)
		if call.op != opGet && !answer.refused {
			writes[call.key] = append(writes[call.key], op)
		}
	}
	for _, read := range h.recalled {
		if !mayRead(writes[read.Input.(asked).key], read) {
			h.t.Logf("too old: %+v", read)
			return false
		}
	}
	result := porcupine.CheckOperationsTimeout(keyModel, h.calls, time.Minute)
	require.NotEqual(h.t, porcupine.Unknown, result)
	return result == porcupine.Ok
}

// mayRead reports whether the answer of a read was the state of its key at some time from
// its Call to its Return: whether a write of it was not followed by another that had ended
// before.
func mayRead(writes []porcupine.Operation, read porcupine.Operation) bool {
	over := int64(math.MinInt64) // what had ended by then is no more
	for _, w := range writes {
		if w.Return <= read.Call {
			over = max(over, w.Call)
		}
	}
	value := read.Output.(told).value
	if value == "" && over == math.MinInt64 {
		return true // nothing was stored before
	}
	return slices.ContainsFunc(writes, func(w porcupine.Operation) bool {
		return w.Call <= read.Return && w.Return >= over && leaves(w, value)
	})
}

// leaves reports whether a write may leave a value.
func leaves(w porcupine.Operation, value string) bool {
	call, answer := w.Input.(asked), w.Output.(told)
	switch call.op {
	case opSet, opSwap:
		return value == call.value
	case opAdd:
		return value != "" && (answer.unknown || answer.value == value)
	}
	return value == ""
}

// on are the partitions of a node.
func (h *history) on(node *pgtest.Server) (list []int) {
	for partition := range historyPartitions {
		if h.cluster.Holder(partition) == node {
			list = append(list, partition)
		}
	}
	return list
}
