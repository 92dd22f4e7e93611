package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/workload"
)

// kvStore is a store with a way to use it. Ranges of records are from the
// first to before the second number.
type kvStore struct {
	name     string
	postgres bool
	empty    func(ctx context.Context) error
	bulk     func(ctx context.Context, src *workload.Source, from, to int) error
	write    func(ctx context.Context, src *workload.Source, from, to int) error
	read     func(ctx context.Context, spec workload.Spec, src *workload.Source, from, to int) error
}

// kvStores starts the servers.
func (b *Bench) kvStores(ctx context.Context) ([]kvStore, error) {
	settings := map[string]string{}
	if haveStatements() {
		settings["shared_preload_libraries"] = statementsLibrary
	}
	pg, err := b.postgresWith(ctx, settings)
	if err != nil {
		return nil, err
	}
	redisServer, err := b.Redis(ctx)
	if err != nil {
		return nil, err
	}
	memcached, err := b.Memcached(ctx)
	if err != nil {
		return nil, err
	}
	goRedis, gomemcache := rival.NewGoRedis(redisServer.Addr, 1), rival.NewMemcached(memcached.Addr, 64)
	b.later(goRedis.Close)
	b.later(gomemcache.Close)
	if err := rival.CreatePgxTable(ctx, pg.URL); err != nil {
		return nil, err
	}
	plain, err := rival.NewPgx(ctx, pg.URL, 1)
	if err != nil {
		return nil, err
	}
	b.later(plain.Close)
	owner, err := connect(ctx, pg.URL)
	if err != nil {
		return nil, err
	}
	b.later(func() error { return owner.Close(context.WithoutCancel(ctx)) })
	library, err := rival.NewHowdahClass(ctx, pg.URL, "unlogged")
	if err != nil {
		return nil, err
	}
	b.later(library.Close)
	db, err := howdah.Open(ctx, pg.URL, &howdah.Options{Timeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	b.later(db.Close)
	cache := db.Cache("bench_unlogged")

	flushRedis := func(ctx context.Context) error {
		c := redis.NewClient(rival.RedisOptions(redisServer.Addr))
		defer c.Close()
		return deleteKeys(ctx, c)
	}
	flushMemcached := func(context.Context) error {
		c := memcache.New(memcached.Addr)
		defer c.Close()
		return c.FlushAll()
	}
	overWire, err := rival.NewRueidis(redisServer.Addr)
	if err != nil {
		return nil, err
	}
	b.later(overWire.Close)
	flushHowdah := func(ctx context.Context) error { return cache.Flush(ctx) }
	oneAtATime := func(name string, r, loader rival.Rival, postgres bool, empty func(context.Context) error) kvStore {
		return kvStore{name, postgres, empty, together(loader), inTurn(r), readInTurn(r)}
	}
	inPostgres := oneAtATime(kvPostgres, plain, plain, true, func(ctx context.Context) error {
		return owner.run(ctx, "TRUNCATE "+rival.PgxTable)
	})
	inPostgres.bulk = copyInto(owner)
	many := oneAtATime(kvHowdahMany, library, library, true, flushHowdah)
	many.write, many.read = setMany(cache), getMany(cache)
	concurrent := oneAtATime(kvHowdahTogether, library, library, true, flushHowdah)
	concurrent.write, concurrent.read = together(library), readTogether(library)
	return []kvStore{
		oneAtATime(kvRedis, goRedis, overWire, false, flushRedis),
		oneAtATime(kvMemcached, gomemcache, gomemcache, false, flushMemcached),
		inPostgres,
		oneAtATime(kvHowdah, library, library, true, flushHowdah),
		concurrent,
		many,
	}, nil
}

// deleteKeys removes what the harness stores in a Redis and nothing else: the
// server may be somebody's own.
func deleteKeys(ctx context.Context, c *redis.Client) error {
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, "key:*", 10_000).Result()
		if err == nil && len(keys) > 0 {
			err = c.Unlink(ctx, keys...).Err()
		}
		if err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}

func inTurn(r rival.Rival) func(context.Context, *workload.Source, int, int) error {
	return func(ctx context.Context, src *workload.Source, from, to int) error {
		for i := from; i < to; i++ {
			if err := r.Set(ctx, src.Key(i), src.Value(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

func readInTurn(r rival.Rival) func(context.Context, workload.Spec, *workload.Source, int, int) error {
	return func(ctx context.Context, spec workload.Spec, src *workload.Source, from, to int) error {
		for i := from; i < to; i++ {
			value, err := r.Get(ctx, src.Key(i))
			if err == nil {
				err = spec.Check(i, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// kvCallers are those who call at the same time.
const kvCallers = 64

// split lets the callers share a range.
func split(ctx context.Context, from, to int, do func(ctx context.Context, from, to int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	part := (to - from + kvCallers - 1) / kvCallers
	for w := range kvCallers {
		group.Go(func() error { return do(ctx, from+w*part, min(from+(w+1)*part, to)) })
	}
	return group.Wait()
}

func together(r rival.Rival) func(context.Context, *workload.Source, int, int) error {
	return func(ctx context.Context, src *workload.Source, from, to int) error {
		return split(ctx, from, to, func(ctx context.Context, from, to int) error {
			own := src.Fork(uint64(from))
			return inTurn(r)(ctx, own, from, to)
		})
	}
}

func readTogether(r rival.Rival) func(context.Context, workload.Spec, *workload.Source, int, int) error {
	return func(ctx context.Context, spec workload.Spec, src *workload.Source, from, to int) error {
		return split(ctx, from, to, func(ctx context.Context, from, to int) error {
			return readInTurn(r)(ctx, spec, src, from, to)
		})
	}
}

// copyInto fills the table of plain PostgreSQL with COPY.
func copyInto(d *db) func(context.Context, *workload.Source, int, int) error {
	return func(ctx context.Context, src *workload.Source, from, to int) error {
		i := from - 1
		_, err := d.CopyFrom(ctx, pgx.Identifier{rival.PgxTable}, []string{"key", "value"}, pgx.CopyFromFunc(func() ([]any, error) {
			if i++; i >= to {
				return nil, nil
			}
			return []any{src.Key(i), src.Value(i)}, nil
		}))
		return err
	}
}

// kvMany is how many records go into one call.
const kvMany = 1000

func setMany(cache *howdah.Cache) func(context.Context, *workload.Source, int, int) error {
	return func(ctx context.Context, src *workload.Source, from, to int) error {
		for ; from < to; from += kvMany {
			var items []howdah.Item
			for i := from; i < min(from+kvMany, to); i++ {
				items = append(items, howdah.Item{Key: src.Key(i), Value: append([]byte(nil), src.Value(i)...)})
			}
			if err := cache.SetMany(ctx, items, howdah.NoExpiry); err != nil {
				return err
			}
		}
		return nil
	}
}

func getMany(cache *howdah.Cache) func(context.Context, workload.Spec, *workload.Source, int, int) error {
	return func(ctx context.Context, spec workload.Spec, src *workload.Source, from, to int) error {
		for ; from < to; from += kvMany {
			end := min(from+kvMany, to)
			keys := make([]string, 0, kvMany)
			for i := from; i < end; i++ {
				keys = append(keys, src.Key(i))
			}
			values, err := cache.GetMany(ctx, keys)
			if err != nil {
				return err
			}
			for i := from; i < end; i++ {
				if err := spec.Check(i, values[src.Key(i)]); err != nil {
					return fmt.Errorf("GetMany: %w", err)
				}
			}
		}
		return nil
	}
}
