package edit

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
)

// What bounds the edits that share a load and a commit, and those of them that a slow
// one joins.
const (
	maxGroup = 256
	maxSlow  = 32
)

// Of returns the table of a cache. It ends with the engine.
func Of(e *engine.Engine) *Table {
	return e.Companion(func() any {
		return &Table{engine: e, waiters: WaitersOf(e.Set()), open: make(map[string]*group)}
	}).(*Table)
}

// Table runs the edits of one cache.
type Table struct {
	engine  *engine.Engine
	waiters *Waiters

	inLine atomic.Int64      // waiters for keys of the cache: an edit without any looks no further
	lines  map[string]*line  // by key; guarded by waiters.mu
	byHash map[int64][]*line // likewise

	mu   sync.Mutex
	open map[string]*group // the newest group of a key that others may join
}

// Start begins an edit and calls done exactly once, on another goroutine or before
// it returns. done must be quick and must not block.
func (t *Table) Start(e *Edit, done func(*Edit)) {
	e.done, e.Err, e.began = done, nil, coalesce.Now()
	e.deadline = e.began + int64(t.engine.Timeout())
	e.state.Store(waiting)
	if e.Err = t.engine.Reserve(e.Bytes); e.Err != nil {
		done(e)
		return
	}
	keys := distinct(e.Keys)
	if len(keys) == 1 && t.join(e) {
		return
	}
	g := &group{table: t, keys: keys, edits: []*Edit{e}}
	t.engine.Hold(&g.hold, keys, g.granted)
	if len(keys) == 1 {
		t.publish(g)
	}
}

// Do runs an edit and waits for it. If the context ends before the edit, its error is
// ErrTimeout or the context's if nothing was changed, ErrUnknownOutcome otherwise;
// the edit must then not be used again.
func (t *Table) Do(ctx context.Context, e *Edit) error {
	done := make(chan struct{})
	t.Start(e, func(*Edit) { close(done) })
	select {
	case <-done:
		return e.Err
	case <-ctx.Done():
		return leaveError(ctx, e.leave())
	}
}

// leaveError is the error of a caller whose context has ended.
func leaveError(ctx context.Context, unchanged bool) error {
	if unchanged {
		return fault.Timeout("the caller stopped waiting; nothing was changed", context.Cause(ctx))
	}
	return &unknown{context.Cause(ctx)}
}

// unknown is ErrUnknownOutcome with the reason for which nobody waited for it.
type unknown struct{ cause error }

func (u *unknown) Error() string {
	return fault.ErrUnknownOutcome.Error() + ": the caller stopped waiting: " + u.cause.Error()
}

func (u *unknown) Unwrap() []error { return []error{fault.ErrUnknownOutcome, u.cause} }

// join adds an edit to the group of its key that has not begun to run.
func (t *Table) join(e *Edit) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.open[string(e.Keys[0])]
	if g == nil || len(g.edits) >= maxGroup || e.Slow && len(g.edits) >= maxSlow || !t.engine.IsNewest(&g.hold) {
		return false
	}
	g.edits = append(g.edits, e)
	return true
}

// publish lets others join a group that stands in line, unless it runs already.
func (t *Table) publish(g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !g.sealed {
		t.open[string(g.keys[0])] = g
	}
}

// seal ends the time in which others may join a group.
func (t *Table) seal(g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.sealed = true
	if len(g.keys) != 1 {
		return
	}
	if key := string(g.keys[0]); t.open[key] == g {
		delete(t.open, key)
	}
}

// distinct returns the keys without repetitions, in their order.
func distinct(keys [][]byte) [][]byte {
	if len(keys) < 2 {
		return keys
	}
	return unrepeated(keys)
}

// unrepeated is apart from distinct, whose callers would else need the stack of its map.
func unrepeated(keys [][]byte) [][]byte {
	seen := make(map[string]bool, len(keys))
	var list [][]byte
	for _, key := range keys {
		if !seen[string(key)] {
			seen[string(key)] = true
			list = append(list, key)
		}
	}
	return list
}
