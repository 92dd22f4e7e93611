package session_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// recorder is a howdah.Tracer that follows the calls of the contexts that it has marked.
type recorder struct {
	mu      sync.Mutex
	calls   []howdah.TraceCall
	results []howdah.TraceResult
	shared  []howdah.TraceShared
	named   int // calls that were named by what they share
	ended   int // shared works
}

type marked struct{}

func (r *recorder) StartCall(ctx context.Context, call howdah.TraceCall) context.Context {
	if ctx.Value(marked{}) == nil {
		return nil
	}
	return ctx
}

func (r *recorder) EndCall(_ context.Context, call howdah.TraceCall, result howdah.TraceResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	result.Duration = 0
	r.calls, r.results = append(r.calls, call), append(r.results, result)
}

func (r *recorder) StartShared(ctx context.Context, calls iter.Seq[context.Context], work howdah.TraceShared) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range calls {
		r.named++
	}
	r.shared = append(r.shared, work)
	return ctx
}

func (r *recorder) EndShared(context.Context, howdah.TraceShared, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended++
}

// A tracer of the database follows statements on sessions, and the reads that share one.
func TestTracer(t *testing.T) {
	t.Parallel()
	r := new(recorder)
	db, err := howdah.Open(t.Context(), pgtest.New(t), &howdah.Options{Timeout: 20 * time.Second, Tracer: r})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	m := manager(t, db, session.Options{})
	s := create(t, m, session.Start{User: "u"}) // not followed
	ctx := context.WithValue(t.Context(), marked{}, true)

	other, err := m.Create(ctx, session.Start{})
	require.NoError(t, err)
	_, err = m.Save(ctx, s.Token(), s.Version, []byte("p"))
	require.NoError(t, err)
	_, err = m.List(ctx, "u")
	require.NoError(t, err)
	_, err = m.End(ctx, other.Token())
	require.NoError(t, err)
	_, err = m.Save(ctx, other.Token(), 0, nil)
	require.ErrorIs(t, err, session.ErrNotFound)
	require.Equal(t, []howdah.TraceCall{
		{Operation: "session_create", Writes: true}, {Operation: "session_save", Writes: true}, {Operation: "session_list"},
		{Operation: "session_end", Writes: true}, {Operation: "session_save", Writes: true},
	}, r.calls)
	require.Equal(t, make([]howdah.TraceResult, 5), r.results, "that a session is gone is no error")
	require.Empty(t, r.shared)

	r.calls, r.results = nil, nil
	const readers = 40
	together(readers, func(i int) {
		token, want := s.Token(), error(nil)
		if i%2 > 0 {
			token, want = other.Token(), session.ErrNotFound
		}
		if _, err := m.Get(ctx, token); !errors.Is(err, want) {
			t.Error(err)
		}
	})
	hits, misses := 0, 0
	for i, call := range r.calls {
		if call.Operation != "session_read" {
			continue // a use that is written
		}
		require.Equal(t, howdah.TraceCall{Operation: "session_read", Keys: 1}, call)
		hits += r.results[i].Hits
		misses += r.results[i].Misses
	}
	require.Equal(t, []int{readers / 2, readers / 2}, []int{hits, misses})
	require.Equal(t, readers, r.named)
	calls := 0
	for _, work := range r.shared {
		require.Equal(t, "session_read", work.Operation)
		calls += work.Calls
	}
	require.Equal(t, readers, calls)
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.shared, r.ended)
}
