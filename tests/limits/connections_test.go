package limits_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A role may have two connections, and the library asks for eight. Calls wait
// for the two.
func TestFewerConnectionsThanAskedFor(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off", "max_connections", "60")
	ctx := t.Context()
	databaseURL := server.NewURL()
	owner := dbtest.Open(t, databaseURL, nil)
	super, err := pgx.Connect(ctx, server.SuperURL())
	require.NoError(t, err)
	defer super.Close(context.WithoutCancel(ctx))
	_, err = super.Exec(ctx, "CREATE ROLE few LOGIN PASSWORD 'p' CONNECTION LIMIT 2")
	require.NoError(t, err)
	dbtest.Exec(t, owner, "SELECT howdah.grant_runtime('few')")

	address, err := url.Parse(databaseURL)
	require.NoError(t, err)
	address.User = url.UserPassword("few", "p")
	db := dbtest.Open(t, address.String(), &howdah.Options{Timeout: 20 * time.Second})
	dbtest.Run(t, db)
	cache := db.Cache("db0")
	dbtest.Together(64, func(i int) {
		for n := range 20 {
			key := fmt.Sprint(i, ".", n)
			require.NoError(t, cache.Set(ctx, key, []byte(key), 0))
			value, err := cache.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, key, string(value))
			if i%16 == 0 && n%5 == 0 {
				_, _, err := cache.Scan(ctx, 0, howdah.ScanOptions{})
				require.NoError(t, err)
				require.NoError(t, db.Transact(ctx, howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
					return cache.With(tx).Set(ctx, key, nil, 0)
				}))
			}
		}
	})
	dbtest.Eventually(t, "a connection was refused", func() bool { // a fast machine may need only those that it gets
		dbtest.Together(32, func(i int) { require.NoError(t, cache.Set(ctx, fmt.Sprint(i), nil, 0)) })
		return db.Stats().Pool.Limit <= 2
	})
	require.EqualValues(t, 8, db.Stats().Pool.Max)

	// Once more are allowed, more are used.
	_, err = super.Exec(ctx, "ALTER ROLE few CONNECTION LIMIT -1")
	require.NoError(t, err)
	dbtest.Eventually(t, "the limit is gone", func() bool {
		dbtest.Together(32, func(i int) { require.NoError(t, cache.Set(ctx, fmt.Sprint(i), nil, 0)) })
		return db.Stats().Pool.Limit == 8
	})
}
