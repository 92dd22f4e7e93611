package crash_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/verb"
)

// content is what write n of a key stores: nothing else may ever be read under
// it. Every second value is long enough to be stored out of line.
func content(key string, n int) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", key, n))
	size := int(binary.LittleEndian.Uint16(sum[:])) % 4000
	return append(fmt.Appendf(nil, "%s#%d:", key, n), bytes.Repeat(sum[:], 1+size/len(sum))...)
}

// longTTL is the TTL of everything that a ledger stores.
const longTTL = time.Hour

type outcome int

const (
	acknowledged outcome = iota
	unknown              // ErrUnknownOutcome: it may or may not have been applied
	refused              // any other error: it was not
)

// write is one call as its caller saw it. Write n of a key; a removal leaves
// nothing.
type write struct {
	key              string
	n                int
	removal          bool
	outcome          outcome
	issued, answered time.Time
}

func (w write) String() string {
	const clock = "05.000000"
	told := map[outcome]string{acknowledged: "acknowledged", unknown: "outcome unknown", refused: "refused"}[w.outcome]
	return fmt.Sprintf("{%s, %s at %s}", w.issued.Format(clock), told, w.answered.Format(clock))
}

// ledger notes what writers of one cache were told. A key has one writer.
type ledger struct {
	cache string
	acks  atomic.Int64

	mu     sync.Mutex
	writes map[string][]write // by key, in the order in which they were made
}

// scribble writes until stop is closed: each key twice, every fourth is
// removed then. What is stored is read again now and then.
func (l *ledger) scribble(t *testing.T, db *howdah.DB, name string, stop <-chan struct{}) {
	cache := db.Cache(l.cache)
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s/%d", name, i)
		for n := range 2 + (i%4+1)/4 {
			select {
			case <-stop:
				return
			default:
			}
			w := write{key: key, n: n, removal: n == 2, issued: time.Now()}
			ctx, ended := dbtest.Unhurried(t)
			var err error
			if w.removal {
				err = cache.Delete(ctx, key)
			} else {
				err = cache.Set(ctx, key, content(key, n), longTTL)
			}
			w.answered = time.Now()
			ended()
			w.outcome = outcomeOf(t, err)
			l.note(w)
		}
		value, err := cache.Get(context.Background(), key)
		switch {
		case err == nil:
			if !bytes.Equal(value, content(key, 0)) && !bytes.Equal(value, content(key, 1)) {
				t.Errorf("%s holds %.80q", key, value)
			}
		case !errors.Is(err, howdah.ErrMiss) && !errors.Is(err, howdah.ErrUnavailable) && !errors.Is(err, howdah.ErrTimeout):
			t.Errorf("a read failed with %v", err)
		}
	}
}

func outcomeOf(t *testing.T, err error) outcome {
	switch {
	case err == nil:
		return acknowledged
	case errors.Is(err, howdah.ErrUnknownOutcome):
		return unknown
	case !errors.Is(err, howdah.ErrUnavailable) && !errors.Is(err, howdah.ErrTimeout):
		t.Errorf("a write failed with %v", err)
	}
	return refused
}

func (l *ledger) note(w write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes[w.key] = append(l.writes[w.key], w)
	if w.outcome == acknowledged {
		l.acks.Add(1)
	}
}

// survived is what an event left of one cache.
type survived struct {
	kept, lost int           // keys whose last acknowledged write before the event is there, or is not
	span       time.Duration // between the first such write that was lost and the event
}

// check compares what a cache holds with what its ledger allows.
func (l *ledger) check(t *testing.T, db *howdah.DB, class string, e *event) survived {
	t.Helper()
	var keys []string
	for key := range l.writes {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var s survived
	var lost []write
	kept := make(map[string]time.Time) // by writer, the latest
	for chunk := range slices.Chunk(keys, 500) {
		calls := make([]*verb.Call, len(chunk))
		for i, key := range chunk {
			calls[i] = &verb.Call{Verb: statement.GetEntry, Key: []byte(key)}
		}
		require.NoError(t, dbtest.Do(t.Context(), db.Cache(l.cache), calls...))
		for i, key := range chunk {
			writes := l.writes[key]
			holds := state(t, writes, calls[i])
			if allowed := e.allows(class, writes); !slices.Contains(allowed, holds) {
				t.Fatalf("%s, class %s: %s is as write %d left it (-1: absent), not as one of %v; the writes are %v, the event lasted from %s to %s",
					e.name, class, key, holds, allowed, writes, e.struck.Format("05.000000"), e.served.Format("05.000000"))
			}
			last := absent // of what was acknowledged before the event
			for i, w := range writes {
				if w.outcome == acknowledged && w.answered.Before(e.struck) {
					last = i
				}
			}
			switch {
			case last == absent || writes[last].removal:
			case holds >= last:
				s.kept++
				if at := writes[last].answered; at.After(kept[path.Dir(key)]) {
					kept[path.Dir(key)] = at
				}
			case !slices.ContainsFunc(writes[last:], func(w write) bool { return w.removal }):
				s.lost++
				lost = append(lost, writes[last])
			}
		}
	}
	// A writer loses its last writes, and none from among them.
	for _, w := range lost {
		require.True(t, w.answered.After(kept[path.Dir(w.key)]), "%s was lost, and a later write was not", w.key)
	}
	if len(lost) > 0 {
		s.span = e.struck.Sub(slices.MinFunc(lost, func(a, b write) int { return a.answered.Compare(b.answered) }).answered)
	}
	return s
}

// absent is the state of a key that was never written, or was removed.
const absent = -1

// state finds the write that left what a key holds.
func state(t *testing.T, writes []write, call *verb.Call) int {
	t.Helper()
	if call.Status == verb.Miss {
		return absent
	}
	for i, w := range writes {
		if !w.removal && bytes.Equal(call.Result.Value, content(w.key, w.n)) {
			// The database's clock is this machine's.
			require.WithinRange(t, call.Result.ExpiresAt, w.issued.Add(longTTL-time.Second), w.answered.Add(longTTL+time.Second))
			return i
		}
	}
	t.Fatalf("%s holds %.80q", call.Key, call.Result.Value)
	return absent
}
