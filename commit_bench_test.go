package howdah_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// BenchmarkGroup compares a group of keys, once read, with a transaction that does the
// same: it watches the keys and stores each.
func BenchmarkGroup(b *testing.B) {
	ctx := b.Context()
	db, err := howdah.Open(ctx, pgtest.New(b), dbtest.Patient())
	require.NoError(b, err)
	defer db.Close()
	c, made := db.Cache("db0"), 0
	for _, n := range []int{2, 4} {
		group := func(absent bool) func(b *testing.B) {
			return func(b *testing.B) {
				call := groupOf(n)
				for i := range call.Keys { // also where they are not used: it warms up
					set := &verb.Call{Verb: statement.Set, Key: call.Keys[i], Value: call.Values[i], WantVersion: true}
					require.NoError(b, dbtest.Do(ctx, c, set))
					call.Group[i].Version = set.Result.Version
				}
				for b.Loop() {
					if absent {
						call = groupOf(n)
						for i := range call.Keys {
							call.Keys[i] = fmt.Appendf(nil, "new:%d", made)
							made++
						}
					}
					require.NoError(b, dbtest.Do(ctx, c, call))
					require.Equal(b, verb.OK, call.Status)
					for i := range call.Group {
						call.Group[i].Version = call.Entries[i].Version
					}
				}
			}
		}
		b.Run(fmt.Sprint("group of ", n), group(false))
		b.Run(fmt.Sprint("group of ", n, ", absent"), group(true))
		b.Run(fmt.Sprint("transaction of ", n), func(b *testing.B) {
			call := groupOf(n)
			opts := howdah.TxOptions{}
			for i := range call.Keys {
				set := &verb.Call{Verb: statement.Set, Key: call.Keys[i], Value: call.Values[i], WantVersion: true}
				require.NoError(b, dbtest.Do(ctx, c, set))
				opts.Watch = append(opts.Watch, howdah.Watch{Cache: "db0", Key: string(call.Keys[i]), Version: set.Result.Version})
			}
			for b.Loop() {
				calls := make([]*verb.Call, n)
				for i := range calls {
					calls[i] = &verb.Call{Verb: statement.Set, Key: call.Keys[i], Value: call.Values[i], WantVersion: true}
				}
				require.NoError(b, db.Transact(ctx, opts, func(ctx context.Context, tx pgx.Tx) error {
					return dbtest.Do(ctx, c.With(tx), calls...)
				}))
				for i := range calls {
					opts.Watch[i].Version = calls[i].Result.Version
				}
			}
		})
	}
}

func groupOf(n int) *verb.Call {
	call := &verb.Call{Verb: statement.Commit, Group: make([]verb.Edit, n)}
	for i := range n {
		call.Keys = append(call.Keys, fmt.Appendf(nil, "key:%d:%d", n, i))
		call.Values = append(call.Values, make([]byte, 100))
		call.Group[i].Act = verb.Put
	}
	return call
}
