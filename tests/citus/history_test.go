//go:build citus

package citus_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	victims   []int          // the partitions of the server that will be killed
	anywhere  bool           // any server may fail, and any connection
	config    howdah.CacheConfig
	choices   *rand.Rand
	pace      time.Duration // of each caller
	begin     time.Time
	numbers   atomic.Int64

	mu       sync.Mutex
	calls    []porcupine.Operation
	recalled []porcupine.Operation // reads that memory may have answered; Call is how old they may be
	failures map[int]int           // by partition
	together [][]int               // the partitions of each call on several keys that failed
	kinds    map[string]int
	walks    []error // of looks at all of the cache
}

const historyPartitions = 8

// newHistory divides a database and opens it three times.
func newHistory(t *testing.T, cluster *pgtest.Citus, config howdah.CacheConfig) *history {
	t.Helper()
	cluster.Divide(historyPartitions)
	h := &history{t: t, cluster: cluster, config: config, choices: seed.Rand(t), pace: 2 * time.Millisecond}
	options := howdah.Options{Timeout: dbtest.Timeout}
	if config.Near {
		options.Near.Bound = dbtest.NearBound
	}
	for i := range 3 {
		db := dbtest.Open(t, cluster.Coordinator().URL(), &options)
		require.NoError(t, db.EnsureCache(t.Context(), config))
		dbtest.Run(t, db)
		h.processes = append(h.processes, &process{
			db: db, cache: db.Cache(config.Name), bound: options.Near.Bound, readOnly: config.Near && i == 2, own: map[string]int64{}})
	}
	h.start("key")
	return h
}

// start begins anew with keys of a name that nothing was stored under.
func (h *history) start(name string) {
	h.t.Helper()
	h.begin, h.keys, h.of = time.Now(), nil, map[string]int{}
	h.calls, h.recalled, h.together, h.walks = nil, nil, nil, nil
	h.failures, h.kinds = map[int]int{}, map[string]int{}
	for _, p := range h.processes {
		clear(p.own)
	}
	count := make([]int, historyPartitions)
	for i := 0; len(h.keys) < 4*historyPartitions; i++ {
		key := fmt.Sprint(name, i)
		part := h.partition(key)
		if count[part]++; count[part] <= 4 {
			h.keys, h.of[key] = append(h.keys, key), part
		}
	}
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
	stop := make(chan struct{})
	var work sync.WaitGroup
	for number, p := range h.processes {
		for range 3 {
			choices := rand.New(rand.NewPCG(h.choices.Uint64(), 0))
			work.Go(func() {
				pace := time.NewTicker(h.pace)
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
	work.Go(func() {
		for pace := time.Tick(20 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-pace:
				h.walk(h.processes[1].cache)
			}
		}
	})
	func() {
		defer work.Wait()
		defer close(stop)
		fault()
	}()
	h.awaitServed()
}

// awaitServed waits until a program that starts now can read all keys.
func (h *history) awaitServed() {
	h.t.Helper()
	var db *howdah.DB
	dbtest.Eventually(h.t, "a program starts", func() (ok bool) {
		var err error
		db, err = howdah.Open(context.Background(), h.cluster.Coordinator().URL(), dbtest.Patient())
		return err == nil
	})
	defer db.Close()
	last := db.Cache(h.config.Name)
	for _, key := range h.keys {
		dbtest.Eventually(h.t, key+" is served", func() bool {
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
	case p.readOnly || n < 2:
		_, _ = h.get(number, p, key)
	case n < 3:
		h.getMany(number, p, []string{key, h.keys[choices.IntN(len(h.keys))]})
	case n < 4 && choices.IntN(20) == 0 && h.victims == nil && !h.anywhere: // which it would have reached is not known
		h.deletePrefix(number, p, key)
	case n < 4 && at%4 != 3 && (!h.anywhere || choices.IntN(4) == 0): // after a failure nobody knows which of them it has reached
		h.setMany(number, p, []string{key, h.keys[at/4*4]})
	case n < 5:
		h.write(number, p, onekey.Call{Op: onekey.Delete, Key: key}, func() (onekey.Answer, error) {
			err := p.cache.Delete(context.Background(), key)
			if errors.Is(err, howdah.ErrMiss) {
				err = nil
			}
			return onekey.Answer{}, err
		})
	case at%4 == 3:
		h.write(number, p, onekey.Call{Op: onekey.Add, Key: key}, func() (onekey.Answer, error) {
			value, err := p.add(key, choices.IntN(2) == 0)
			return onekey.Answer{Value: fmt.Sprint(value)}, err
		})
	case n < 8:
		value := fmt.Sprint("v", h.numbers.Add(1))
		h.write(number, p, onekey.Call{Op: onekey.Set, Key: key, Value: value}, func() (onekey.Answer, error) {
			return onekey.Answer{}, p.cache.Set(context.Background(), key, []byte(value), 0)
		})
	default:
		h.swap(number, p, key)
	}
}

// walk looks at a cache as a whole.
func (h *history) walk(cache *howdah.Cache) {
	_, counted := cache.Count(context.Background())
	_, listed := cache.Keys(context.Background(), "")
	var scanned error
	for _, err := range cache.All(context.Background(), "") {
		scanned = err
	}
	if err := cmp.Or(counted, listed, scanned); err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.walks = append(h.walks, err)
	}
}

// add adds 1 to a number, perhaps in a transaction.
func (p *process) add(key string, transact bool) (value int64, err error) {
	if !transact {
		return p.cache.Increment(context.Background(), key, 1, 0)
	}
	opts := howdah.TxOptions{Cache: p.cache.Name(), Keys: []string{key}}
	err = p.db.Transact(context.Background(), opts, func(ctx context.Context, tx pgx.Tx) error {
		value, err = p.cache.With(tx).Increment(ctx, key, 1, 0)
		return err
	})
	return value, err
}

// getMany reads keys, which are not one step.
func (h *history) getMany(number int, p *process, keys []string) {
	if p.bound > 0 {
		return
	}
	keys = slices.Compact(keys)
	begin := h.now()
	values, err := p.cache.GetMany(context.Background(), keys)
	end := h.now()
	if err != nil {
		h.failedTogether(keys, err)
		return
	}
	for _, key := range keys {
		h.note(porcupine.Operation{ClientId: number, Input: onekey.Call{Op: onekey.Get, Key: key}, Call: begin, Output: onekey.Answer{Value: string(values[key])}, Return: end})
	}
}

// setMany stores a value under keys, which are not one step.
func (h *history) setMany(number int, p *process, keys []string) {
	keys = slices.Compact(keys)
	if !h.anywhere && !slices.ContainsFunc(keys, func(key string) bool { return !h.isVictim(key) }) {
		return // the error of one would hide that of the other
	}
	value := fmt.Sprint("m", h.numbers.Add(1))
	h.writeMany(number, p, onekey.Call{Op: onekey.Set, Value: value}, keys, keys, func() error {
		var items []howdah.Item
		for _, key := range keys {
			items = append(items, howdah.Item{Key: key, Value: []byte(value)})
		}
		return p.cache.SetMany(context.Background(), items, 0)
	})
}

// deletePrefix removes the keys with a prefix, which is not one step.
func (h *history) deletePrefix(number int, p *process, prefix string) {
	var keys []string
	for _, key := range h.keys {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	h.writeMany(number, p, onekey.Call{Op: onekey.Delete}, keys, h.keys, func() error {
		_, err := p.cache.DeletePrefix(context.Background(), prefix)
		return err
	})
}

// isVictim reports whether a key is on the server that will be killed.
func (h *history) isVictim(key string) bool { return slices.Contains(h.victims, h.of[key]) }

// writeMany makes a call that changes several keys, and goes through others. If it fails, the
// server that was killed is the reason, and what is on others is changed.
func (h *history) writeMany(number int, p *process, call onekey.Call, keys, through []string, do func() error) {
	begin := h.now()
	err := do()
	end := h.now()
	if err != nil {
		h.failedTogether(through, err)
	}
	for _, key := range keys {
		call.Key = key
		op := porcupine.Operation{ClientId: number, Input: call, Call: begin, Output: onekey.Answer{}, Return: end}
		switch {
		case err != nil && h.anywhere: // of one key, or of another
			op.Output, op.Return = onekey.Answer{Unknown: true}, math.MaxInt64
		case err != nil && h.isVictim(key) && !errors.Is(err, howdah.ErrUnknownOutcome):
			continue
		case err != nil && h.isVictim(key):
			op.Output, op.Return = onekey.Answer{Unknown: true}, math.MaxInt64
		case p.bound > 0:
			p.mu.Lock()
			p.own[key] = max(p.own[key], end)
			p.mu.Unlock()
		}
		h.note(op)
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
	op := porcupine.Operation{ClientId: number, Input: onekey.Call{Op: onekey.Get, Key: key}, Call: begin, Output: onekey.Answer{Value: string(entry.Value)}, Return: h.now()}
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
	h.write(number, p, onekey.Call{Op: onekey.Swap, Key: key, Expected: string(entry.Value), Value: value}, func() (onekey.Answer, error) {
		_, err := p.cache.CompareAndSet(context.Background(), key, entry.Version, []byte(value), 0)
		if errors.Is(err, howdah.ErrNotStored) || errors.Is(err, howdah.ErrMiss) {
			return onekey.Answer{Refused: true}, nil
		}
		return onekey.Answer{}, err
	})
}

// write makes a call that changes a key. One that was refused is not in the history, one
// whose outcome is unknown may happen at any later time.
func (h *history) write(number int, p *process, call onekey.Call, do func() (onekey.Answer, error)) {
	op := porcupine.Operation{ClientId: number, Input: call, Call: h.now()}
	answer, err := do()
	op.Output, op.Return = answer, h.now()
	if err != nil {
		h.failed(call.Key, err)
		if !errors.Is(err, howdah.ErrUnknownOutcome) {
			return
		}
		op.Output, op.Return = onekey.Answer{Unknown: true}, math.MaxInt64
	} else if p.bound > 0 {
		p.mu.Lock()
		p.own[call.Key] = max(p.own[call.Key], op.Return)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[h.of[key]]++
	h.kind(err)
}

// failedTogether notes that a call on several keys failed.
func (h *history) failedTogether(keys []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var partitions []int
	for _, key := range keys {
		partitions = append(partitions, h.of[key])
	}
	h.together = append(h.together, partitions)
	h.kind(err)
}

// kind counts an error. h.mu is held.
func (h *history) kind(err error) {
	if !errors.Is(err, howdah.ErrUnavailable) && !errors.Is(err, howdah.ErrTimeout) && !errors.Is(err, howdah.ErrUnknownOutcome) {
		h.t.Error(err)
	}
	h.kinds[err.Error()]++
}

// lose notes that the server of partitions has crashed since begin, and that they are empty
// unless their class keeps them.
func (h *history) lose(begin int64, partitions []int) {
	if h.config.Durability == howdah.Sync {
		return
	}
	end := h.now()
	for _, key := range h.keys {
		if slices.Contains(partitions, h.of[key]) {
			h.note(porcupine.Operation{ClientId: 100, Input: onekey.Call{Op: onekey.Lose, Key: key}, Call: begin, Output: onekey.Answer{}, Return: end})
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
		call, answer := op.Input.(onekey.Call), op.Output.(onekey.Answer)
		if call.Op != onekey.Get && !answer.Refused {
			writes[call.Key] = append(writes[call.Key], op)
		}
	}
	for _, read := range h.recalled {
		if !mayRead(writes[read.Input.(onekey.Call).Key], read) {
			h.t.Logf("too old: %+v", read)
			return false
		}
	}
	result := porcupine.CheckOperationsTimeout(onekey.Model, h.calls, time.Minute)
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
	value := read.Output.(onekey.Answer).Value
	if value == "" && over == math.MinInt64 {
		return true // nothing was stored before
	}
	return slices.ContainsFunc(writes, func(w porcupine.Operation) bool {
		return w.Call <= read.Return && w.Return >= over && leaves(w, value)
	})
}

// leaves reports whether a write may leave a value.
func leaves(w porcupine.Operation, value string) bool {
	call, answer := w.Input.(onekey.Call), w.Output.(onekey.Answer)
	switch call.Op {
	case onekey.Set, onekey.Swap:
		return value == call.Value
	case onekey.Add:
		return value != "" && (answer.Unknown || answer.Value == value)
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
