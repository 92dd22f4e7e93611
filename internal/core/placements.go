package core

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/schema"
)

// placements remembers which copies of shards a server had: what is in memory of one is
// worth nothing when it has left, for the log of that server does not tell of later writes.
type placements map[int64]int64 // by shard

// check is called after a poll of the change log. It adds to the answer that all of a
// cache has changed whose table has left the server since the check before, or was not
// checked before. If its table is still there, the poll has seen every write of it.
func (p placements) check(ctx context.Context, conn *pgxpool.Conn, set *engine.Set, answer *near.Answer) error {
	var shards []int64
	var caches []int32
	for _, e := range set.All() {
		if t := e.Table(); t.Shard != 0 && t.Near {
			shards, caches = append(shards, t.Shard), append(caches, t.ID)
		}
	}
	if len(shards) == 0 {
		return nil
	}
	var found []int64
	if err := conn.QueryRow(ctx, schema.Query("placements"), shards).Scan(&found); err != nil {
		return err
	}
	for i, shard := range shards {
		if known, checked := p[shard]; !checked || found[i] != known {
			p[shard] = found[i]
			answer.Changes = append(answer.Changes, near.Change{Cache: caches[i]})
		}
	}
	return nil
}
