package core

import (
	"context"

	"github.com/howdah/howdah/internal/fault"
)

// Sync has PostgreSQL write to disk what it has acknowledged of caches that are not unlogged, on all servers.
func (db *DB) Sync(ctx context.Context) error {
	for _, at := range db.all() {
		if err := at.exec(ctx, "sync"); err != nil {
			return fault.From(err, false, false)
		}
	}
	return nil
}
