//go:build citus

package figures

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// What is looked at is of all servers. What one holds that is away is missing, and the
// figures say so.
func TestCitusFigures(t *testing.T) {
	t.Parallel()
	const entries = 200
	c := pgtest.StartCitus(t, 2)
	c.Role("app")
	c.Divide(4)
	for partition, to := range []int{1, 1, 1, 2} {
		if at := c.Holder(partition); at != c.Nodes()[to] {
			c.Move(partition, c.Nodes()[to])
		}
	}
	f := open(t, pgtest.AsRole(c.Coordinator().URL(), "app"), Options{Interval: time.Millisecond, Patience: time.Minute})
	for i := range entries {
		set := &verb.Call{Verb: statement.Set, Key: fmt.Append(nil, "user:", i), Value: []byte("value")}
		require.NoError(t, f.db.Cache("db0").Do(t.Context(), set))
	}

	report := eventually(t, f.Report).Value
	db0 := report.Tables[0]
	require.Equal(t, "db0", db0.Name)
	require.EqualValues(t, entries, db0.Entries)
	require.True(t, db0.Exact)
	require.Zero(t, *db0.Expired)
	require.Equal(t, 4, db0.Partitions.Number)
	require.Positive(t, db0.Partitions.Smallest)
	require.Positive(t, db0.IndexBytes)
	require.Empty(t, report.Hidden)
	require.Len(t, report.Servers, 3)
	held, bytes := int64(0), int64(0)
	for i, of := range report.Servers {
		require.Equal(t, i, of.Number)
		require.True(t, of.Up, of.Problem)
		held, bytes = held+of.Entries, bytes+of.Bytes
	}
	require.Empty(t, report.Servers[0].Partitions)
	require.Equal(t, []int{0, 1, 2}, report.Servers[1].Partitions)
	require.Positive(t, report.Servers[2].Entries)
	require.EqualValues(t, entries, held)
	require.Equal(t, db0.Size(), bytes)
	require.Contains(t, report.Text(0, 0), "servers  3, all answer")

	sample := eventually(t, func(ctx context.Context) Seen[stat.Sampling] { return f.Sample(ctx, "db0") }).Value
	require.True(t, sample.Exact)
	require.Len(t, sample.Entries, entries)
	require.EqualValues(t, entries, sample.Level([]byte("user:"), 0).Keys.Entries)
	require.Error(t, f.sample("none").again(t.Context()).Err)
	cost := f.cost.again(t.Context())
	require.NoError(t, cost.Err)
	require.Len(t, cost.Value.Servers, 3)
	var one int64
	require.NoError(t, f.db.Pool().QueryRow(t.Context(), "SELECT current_setting('max_connections')::bigint").Scan(&one))
	require.Equal(t, 3*one, cost.Value.Connections.Max)

	// What is written on any server is in the rates.
	require.Eventually(t, func() bool {
		require.NoError(t, f.db.Cache("db0").Do(t.Context(), &verb.Call{Verb: statement.Set, Key: []byte("user:1"), Value: []byte("w")}))
		seen := f.Report(t.Context()).Value.Tables[0].Writes
		return seen != nil && *seen > 0
	}, time.Minute, 10*time.Millisecond)

	c.Nodes()[2].Stop("immediate")
	var partial Seen[stat.Report]
	require.Eventually(t, func() bool {
		partial = f.Report(t.Context())
		return !partial.Value.Servers[2].Up
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, partial.Err, "the page is there")
	db0 = partial.Value.Tables[0]
	require.Equal(t, entries-report.Servers[2].Entries, db0.Entries)
	require.False(t, db0.Exact)
	require.Equal(t, 4, db0.Partitions.Number)
	require.NotEmpty(t, partial.Value.Servers[2].Problem)
	require.Contains(t, partial.Value.Text(0, 0), "servers  1 of 3 do not answer, and their share is missing: "+report.Servers[2].Address)
	seen := f.sample("db0").again(t.Context())
	require.NoError(t, seen.Err)
	require.Len(t, seen.Value.Entries, int(db0.Entries))
	text, err := json.Marshal(seen.Value.Distribution())
	require.NoError(t, err)
	require.Contains(t, string(text), `"missing":["`+report.Servers[2].Address+`"]`)
	require.NoError(t, f.cost.again(t.Context()).Err)
}
