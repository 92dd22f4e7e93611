package stat_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// statements counts what is sent to PostgreSQL, BEGIN and COMMIT too.
type statements struct{ sent atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.sent.Add(1)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// counted connects so that statements are counted.
func counted(t *testing.T, databaseURL string) (*pgx.Conn, *statements) {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	counter := &statements{}
	config.Tracer = counter
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn, counter
}

// A snapshot of 200 caches takes hardly more statements than one of 12.
func TestStatementsOfASnapshot(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := connect(t, databaseURL)
	conn, counter := counted(t, databaseURL)
	for _, c := range []struct {
		caches    int // beside db0
		statement int64
	}{{12, 24}, {200, 32}} {
		run(t, owner, fmt.Sprintf("SELECT howdah.create_cache(n) FROM (SELECT 'c' || i FROM generate_series(1, %d) AS i) AS c (n)"+
			" WHERE NOT EXISTS (SELECT FROM howdah_internal.cache WHERE name = n)", c.caches),
			"SELECT howdah.set_text('c"+fmt.Sprint(c.caches)+"', 'k', 'v')")
		before := counter.sent.Load()
		s, err := stat.Read(t.Context(), conn)
		require.NoError(t, err)
		require.Equal(t, c.statement, counter.sent.Load()-before, "with %d caches", c.caches)
		require.Len(t, s.Tables, c.caches+2)
		found := row(stat.Compare(nil, s, nil), fmt.Sprintf("c%d", c.caches))
		require.True(t, found.Exact)
		require.EqualValues(t, 1, found.Entries)
		require.Positive(t, found.TableBytes)
		require.Positive(t, found.IndexBytes)
	}
}

// One table that is being altered and one that the role may not read hide no other.
func TestUnreadableAmongMany(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	conn, other := connect(t, databaseURL), connect(t, databaseURL)
	run(t, other, "SELECT howdah.create_cache('c' || i) FROM generate_series(10, 29) AS i")
	forbidden := pgtest.Table(t, other, "c13")
	run(t, other, "REVOKE SELECT ON "+forbidden+" FROM CURRENT_USER",
		"BEGIN", "LOCK TABLE "+pgtest.Table(t, other, "c22")+" IN ACCESS EXCLUSIVE MODE")
	s, err := stat.Read(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, []string{"rows of " + forbidden}, s.Hidden)
	for i := range s.Tables {
		table := &s.Tables[i]
		if table.Name == "c13" || table.Name == "c22" {
			require.Nil(t, table.Sample, table.Name)
		} else {
			require.NotNil(t, table.Sample, table.Name)
		}
	}
}
