package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Table returns the name of the table that holds a cache. It carries a number,
// and not the name of the cache.
func Table(t testing.TB, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, cache string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var id int32
	if err := q.QueryRow(ctx, "SELECT id FROM howdah_internal.cache WHERE name = $1::text", cache).Scan(&id); err != nil {
		t.Fatalf("pgtest: no table of cache %q: %v", cache, err)
	}
	return schema.TableName(id)
}
