package howdah

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/core"
)

// TxOptions guard and order a transaction of Transact.
type TxOptions struct {
	// Watch lists versions that were read earlier. If one has changed when the
	// transaction begins, Transact returns ErrWatch and does nothing; until it
	// ends, no other transaction changes a watched key.
	Watch []Watch

	// Keys are the keys that fn will use in Cache. Calls of this process on
	// them are finished before fn runs, and later ones wait for it: within one
	// process nothing conflicts with it. Optional, but where Citus spreads the
	// partitions over several servers: they say at which server the transaction is,
	// and must be of one partition (ErrCrossPartition).
	Cache string
	Keys  []string
}

// Watch is a key and the version that it must still have, 0 for absent.
type Watch struct {
	Cache   string
	Key     string
	Version int64
}

// Transact runs fn in one transaction of PostgreSQL (REPEATABLE READ) and
// commits it if fn returns nil. Because it repeats fn when PostgreSQL reports
// a conflict with another transaction, fn must have no other effects. Caches
// take part by Cache.With(tx).
//
// Errors: ErrWatch, what fn returned, ErrTimeout if conflicts last until the
// deadline (Options.Timeout, or the context's), ErrUnknownOutcome if the
// connection was lost during the commit, and one of its own if fn returned nil
// though a statement had failed, after which PostgreSQL commits nothing.
func (db *DB) Transact(ctx context.Context, opts TxOptions, fn func(ctx context.Context, tx pgx.Tx) error) error {
	watch := make([]core.Watch, len(opts.Watch))
	for i, w := range opts.Watch {
		watch[i] = core.Watch{Cache: w.Cache, Key: []byte(w.Key), Version: w.Version}
	}
	return db.core().Transact(ctx, core.TxOptions{Watch: watch, Cache: opts.Cache, Keys: toBytes(opts.Keys)}, fn)
}
