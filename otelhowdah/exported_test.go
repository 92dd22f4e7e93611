package otelhowdah_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/session"
)

// Nothing that is exported holds a key, a value, a tag, a user, a token or the text of an
// error, whatever the outcome of the calls.
func TestKeysAndValuesAreNotExported(t *testing.T) {
	const secret = "secret"
	x := follow(t, howdah.Options{}, parentBased)
	c := x.db.Cache("db0")
	m, err := session.New(x.db, &session.Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	failed := 0
	check := func(err error) {
		if err != nil {
			failed++
		}
	}
	x.within(func(ctx context.Context) {
		check(c.Set(ctx, "secret-key", []byte("secret-value"), 0))
		_, err := c.Get(ctx, "secret-key")
		check(err)
		_, err = c.GetMany(ctx, []string{"secret-key", "secret-other"})
		check(err)
		_, err = c.Increment(ctx, "secret-key", 1, 0)
		check(err)
		_, err = c.HSet(ctx, "secret-hash", map[string][]byte{"secret-field": []byte("secret-value")}, 0)
		check(err)
		_, err = c.HGetAll(ctx, "secret-key")
		check(err)
		check(c.SetWith(ctx, "secret-tagged", nil, 0, howdah.SetOptions{Tags: []string{"secret-tag"}}))
		_, err = c.InvalidateTag(ctx, "secret-tag")
		check(err)
		_, err = c.DeletePrefix(ctx, "secret")
		check(err)
		_, err = c.Fetch(ctx, "secret-fetched", 0, func(context.Context) ([]byte, error) { return nil, errors.New("secret origin") }, howdah.FetchOptions{})
		check(err)
		_, err = c.Fetch(ctx, "secret-fetched", 0, func(context.Context) ([]byte, error) { panic("secret panic") }, howdah.FetchOptions{})
		check(err)
		check(x.db.Transact(ctx, howdah.TxOptions{}, func(context.Context, pgx.Tx) error { return errors.New("secret refusal") }))
		_, err = x.db.Pool().Exec(ctx, `ALTER TABLE howdah_internal.cache_1 ADD CHECK (value <> 'secret-refused')`)
		require.NoError(t, err)
		check(c.Set(ctx, "secret-key", []byte("secret-refused"), 0))
		check(c.Set(ctx, strings.Repeat("secret", 20_000), nil, 0))
		s, err := m.Create(ctx, session.Start{User: "secret-user", Payload: []byte("secret-payload")})
		check(err)
		_, err = m.Get(ctx, s.Token())
		check(err)
		_, err = m.RevokeUser(ctx, "secret-user")
		check(err)
	})
	require.Equal(t, 7, failed, "a call did not fail as it should")
	calls, shared := x.spans()
	require.GreaterOrEqual(t, len(calls), 17)
	all, err := json.Marshal([]any{calls, shared, x.collect()})
	require.NoError(t, err)
	text := string(all) + fmt.Sprintf("%+v", append(calls, shared...))
	require.Contains(t, text, "invalidate_tags", "the search does not see what was exported")
	require.NotContains(t, text, secret)
}

// The duration of every call is measured, whether or not it is sampled.
func TestDurations(t *testing.T) {
	x := follow(t, howdah.Options{}, parentBased)
	c := x.db.Cache("db0")
	for _, ctx := range []context.Context{t.Context(), unsampled(t.Context())} {
		for range 3 {
			require.NoError(t, c.Set(ctx, "k", []byte("v"), 0))
		}
		_, err := c.Increment(ctx, "k", 1, 0)
		require.ErrorIs(t, err, howdah.ErrNotInteger)
	}
	x.within(func(ctx context.Context) { require.NoError(t, c.Set(ctx, "k", []byte("v"), 0)) })
	want := map[string]uint64{
		`db.collection.name=db0,db.operation.name=set,db.system.name=postgresql`:                              7,
		`db.collection.name=db0,db.operation.name=increment,db.system.name=postgresql,error.type=not_integer`: 2,
	}
	got := map[string]uint64{}
	for _, p := range x.durations() {
		got[seriesOf(p)] = p.Count
		require.Positive(t, p.Sum)
		require.Equal(t, []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}, p.Bounds)
	}
	require.Equal(t, want, got)
}

func seriesOf(p metricdata.HistogramDataPoint[float64]) string {
	var parts []string
	for _, a := range p.Attributes.ToSlice() {
		parts = append(parts, fmt.Sprintf("%s=%v", a.Key, a.Value.AsInterface()))
	}
	return strings.Join(parts, ",")
}
