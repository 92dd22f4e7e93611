package otelhowdah_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/otelhowdah"
	"github.com/howdah/howdah/session"
)

// parentBased samples what its parent does, and all roots.
var parentBased = sdktrace.ParentBased(sdktrace.AlwaysSample())

func TestSpansOfCalls(t *testing.T) {
	x := follow(t, howdah.Options{}, parentBased, otelhowdah.WithAttributes(semconv.DBNamespace("app")))
	c := x.db.Cache("db0")
	request := x.within(func(ctx context.Context) {
		require.NoError(t, c.Set(ctx, "k", []byte("v"), 0))
		_, err := c.GetMany(ctx, []string{"k", "absent"})
		require.NoError(t, err)
		_, err = c.Get(ctx, "k")
		require.NoError(t, err)
		_, err = c.Stat(ctx, "absent")
		require.ErrorIs(t, err, howdah.ErrMiss)
		_, err = c.Increment(ctx, "k", 1, 0)
		require.ErrorIs(t, err, howdah.ErrNotInteger)
		require.NoError(t, x.db.Transact(ctx, howdah.TxOptions{}, func(context.Context, pgx.Tx) error { return nil }))
	})
	calls, shared := x.spans()
	require.Len(t, calls, 6)
	require.Len(t, shared, 5)
	common := map[string]any{"db.system.name": "postgresql", "db.namespace": "app", "db.collection.name": "db0"}
	for name, want := range map[string]map[string]any{
		"set":       {},
		"get_many":  {"db.operation.batch.size": int64(2), "howdah.hits": int64(1)},
		"get":       {"howdah.hit": true},
		"stat":      {"howdah.hit": false},
		"increment": {"error.type": "not_integer"},
		"transact":  {"db.collection.name": nil},
	} {
		title := name + " db0"
		want["db.operation.name"] = name
		for key, value := range common {
			if old, ok := want[key]; !ok {
				want[key] = value
			} else if old == nil {
				delete(want, key)
				title = name
			}
		}
		s := named(t, calls, title)
		require.Equal(t, want, attributes(s), name)
		require.Equal(t, request, s.Parent, name)
		require.Equal(t, semconv.SchemaURL, s.InstrumentationScope.SchemaURL)
		if name == "increment" {
			require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "not_integer"}, s.Status)
		} else {
			require.Equal(t, codes.Unset, s.Status.Code, name)
		}
		if name == "transact" {
			require.Empty(t, s.Links)
			continue
		}
		statement := named(t, shared, "shared "+title)
		require.Equal(t, s.SpanContext, statement.Parent, name)
		require.Equal(t, []trace.SpanID{statement.SpanContext.SpanID()}, linked(s), name)
	}
	require.Equal(t, map[string]any{
		"db.system.name": "postgresql", "db.namespace": "app", "db.collection.name": "db0", "db.operation.name": "get_many",
		"howdah.shared.calls": int64(1), "howdah.shared.keys": int64(2),
	}, attributes(named(t, shared, "shared get_many db0")))
}

// A hundred callers, each in a trace of its own, share statements, and are linked to them.
// Half of the traces are not sampled: their calls have no spans, and are counted.
func TestCallersAreLinkedToTheStatementsThatTheyShare(t *testing.T) {
	for _, test := range []struct {
		sampled int // one caller in so many
		calls   int
	}{{1, 100}, {2, 50}} {
		t.Run(fmt.Sprint("one in ", test.sampled), func(t *testing.T) {
			x := follow(t, howdah.Options{}, parentBased)
			c := x.db.Cache("db0")
			together(100, func(i int) {
				ctx := t.Context()
				if i%test.sampled > 0 {
					ctx = unsampled(ctx)
				} else {
					var span trace.Span
					ctx, span = x.app.Start(ctx, "request")
					defer span.End()
				}
				if _, err := c.Get(ctx, fmt.Sprint(i)); !errors.Is(err, howdah.ErrMiss) {
					t.Error(err)
				}
			})
			calls, shared := x.spans()
			require.Len(t, calls, test.calls)
			require.Less(t, len(shared), test.calls, "no statement was shared")
			byID := map[trace.SpanID]tracetest.SpanStub{}
			for _, s := range append(calls, shared...) {
				byID[s.SpanContext.SpanID()] = s
			}
			total := int64(0)
			for _, s := range shared {
				require.Equal(t, "shared get db0", s.Name)
				require.Contains(t, byID, s.Parent.SpanID())
				total += attributes(s)["howdah.shared.calls"].(int64)
			}
			require.GreaterOrEqual(t, total, int64(test.calls))
			require.LessOrEqual(t, total, int64(100))
			for _, s := range calls {
				require.Len(t, s.Links, 1)
				require.Equal(t, "shared get db0", byID[linked(s)[0]].Name)
				require.Equal(t, map[string]any{
					"db.system.name": "postgresql", "db.operation.name": "get", "db.collection.name": "db0", "howdah.hit": false,
				}, attributes(s))
			}
		})
	}
}

// unsampled is a context of a trace that is not sampled.
func unsampled(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))
}

// together runs fn n times at once.
func together(n int, fn func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() { <-begin; fn(i) })
	}
	close(begin)
	all.Wait()
}

// A caller that leaves ends its span; the statement goes on, and is in two when the row
// is locked.
func TestSpanOfACancelledCaller(t *testing.T) {
	x := follow(t, howdah.Options{}, parentBased)
	c := x.db.Cache("db0")
	require.NoError(t, c.Set(t.Context(), "k", nil, 0))
	tx, err := x.db.Pool().Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.With(tx).Set(t.Context(), "k", nil, 0))
	x.within(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		var caller sync.WaitGroup
		caller.Go(func() {
			if err := c.Set(ctx, "k", nil, 0); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		require.Eventually(t, func() bool { return blocked(x.db) > 0 }, time.Minute, time.Millisecond)
		cancel()
		caller.Wait()
	})
	require.NoError(t, tx.Rollback(t.Context()))
	calls, shared := x.spans()
	s := named(t, calls, "set db0")
	require.Contains(t, []any{"canceled", "unknown_outcome"}, attributes(s)["error.type"])
	require.Equal(t, codes.Error, s.Status.Code)
	require.NotEmpty(t, shared)
	require.Len(t, s.Links, len(shared))
}

// blocked is how often a call met a lock.
func blocked(db *howdah.DB) (n uint64) {
	for _, c := range db.Stats().Caches {
		n += c.Blocked
	}
	return n
}

// PostgreSQL's own code of an error is kept, its text is not.
func TestSpanOfARefusedCall(t *testing.T) {
	x := follow(t, howdah.Options{}, parentBased)
	_, err := x.db.Pool().Exec(t.Context(), `ALTER TABLE howdah_internal.cache_1 ADD CHECK (value <> 'refused')`)
	require.NoError(t, err)
	x.within(func(ctx context.Context) {
		require.Error(t, x.db.Cache("db0").Set(ctx, "k", []byte("refused"), 0))
	})
	calls, shared := x.spans()
	for _, s := range []tracetest.SpanStub{named(t, calls, "set db0"), named(t, shared, "shared set db0")} {
		require.Equal(t, "23514", attributes(s)["db.response.status_code"])
		require.Equal(t, "_OTHER", attributes(s)["error.type"])
	}
}

// All who wait for a load are linked to it, also those who came while it ran. What it
// does itself is below it.
func TestSpansOfAFetch(t *testing.T) {
	const callers = 10
	x := follow(t, howdah.Options{}, parentBased)
	c := x.db.Cache("db0")
	begun, proceed := make(chan struct{}), make(chan struct{})
	load := func(ctx context.Context) ([]byte, error) {
		_, span := x.app.Start(ctx, "origin")
		defer span.End()
		close(begun)
		<-proceed
		return []byte("v"), nil
	}
	fetch := func() {
		x.within(func(ctx context.Context) {
			if _, err := c.Fetch(ctx, "k", 0, load, howdah.FetchOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	var all sync.WaitGroup
	all.Go(fetch)
	<-begun
	for range callers {
		all.Go(fetch)
	}
	require.Eventually(t, func() bool { return x.db.Stats().Caches[0].Fetch.Shared == callers }, time.Minute, time.Millisecond)
	close(proceed)
	all.Wait()
	calls, shared := x.spans()
	loading := named(t, shared, "load db0")
	require.Equal(t, loading.SpanContext.SpanID(), named(t, x.exporter.GetSpans(), "origin").Parent.SpanID())
	fetches := 0
	for _, s := range calls {
		if s.Name != "fetch db0" {
			continue
		}
		fetches++
		require.Equal(t, false, attributes(s)["howdah.hit"])
		require.Contains(t, linked(s), loading.SpanContext.SpanID())
	}
	require.Equal(t, callers+1, fetches)
}

func TestSpansOfSessions(t *testing.T) {
	x := follow(t, howdah.Options{}, parentBased)
	m, err := session.New(x.db, &session.Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	s, err := m.Create(t.Context(), session.Start{})
	require.NoError(t, err)
	x.within(func(ctx context.Context) {
		_, err := m.Get(ctx, s.Token())
		require.NoError(t, err)
		_, err = m.Save(ctx, s.Token(), s.Version, []byte("p"))
		require.NoError(t, err)
	})
	calls, shared := x.spans()
	read := named(t, calls, "session_read")
	require.Equal(t, map[string]any{"db.system.name": "postgresql", "db.operation.name": "session_read", "howdah.hit": true}, attributes(read))
	require.Equal(t, []trace.SpanID{named(t, shared, "shared session_read").SpanContext.SpanID()}, linked(read))
	require.Empty(t, named(t, calls, "session_save").Links)
}

// Without a span in its context, a call has one only where that is asked for.
func TestRoots(t *testing.T) {
	for _, roots := range []bool{false, true} {
		t.Run(fmt.Sprint(roots), func(t *testing.T) {
			var opts []otelhowdah.Option
			if roots {
				opts = append(opts, otelhowdah.WithRoots())
			}
			x := follow(t, howdah.Options{}, parentBased, opts...)
			require.NoError(t, x.db.Cache("db0").Set(t.Context(), "k", nil, 0))
			require.NoError(t, x.db.Cache("db0").Set(unsampled(t.Context()), "k", nil, 0))
			calls, shared := x.spans()
			if !roots {
				require.Empty(t, append(calls, shared...))
				return
			}
			require.Len(t, calls, 1)
			require.Len(t, shared, 1)
			require.False(t, calls[0].Parent.IsValid())
			require.Equal(t, calls[0].SpanContext, shared[0].Parent)
		})
	}
}
