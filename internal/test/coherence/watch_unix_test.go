//go:build unix

package coherence

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// watched changes rows of coherence.page, a table of an application that ends entries of both caches, and
// now and then empties it, which ends them all.
func (a *actor) watched(ctx context.Context) {
	a.past = true
	s := &session{a: a}
	defer s.close()
	for a.pause(ctx, 2*short) {
		key := a.key()
		row := a.remove(key)
		row.Tag = a.value()
		writes, sql := []Write{row}, `INSERT INTO coherence.page VALUES ($1, $2)
			ON CONFLICT (cache, key) DO UPDATE SET edition = coherence.page.edition + 1`
		if a.rng.IntN(200) == 0 {
			writes, sql = nil, `TRUNCATE coherence.page`
			for cache := range a.Caches {
				writes = append(writes, Write{Key: All, Cache: cache, Tag: row.Tag})
			}
		}
		a.attempt(func() error {
			return s.do(ctx, row.Tag, func(ctx context.Context, conn *pgx.Conn) (err error) {
				if len(writes) > 1 {
					_, err = conn.Exec(ctx, sql)
				} else {
					_, err = conn.Exec(ctx, sql, a.Caches[row.Cache], KeyName(key))
				}
				return err
			})
		}, writes...)
	}
}
