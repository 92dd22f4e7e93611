package rival

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/workload"
)

// shard is the number of the cache that holds a key, of n caches.
func shard(key string, n int) int {
	i, err := strconv.Atoi(strings.TrimPrefix(key, workload.KeyPrefix))
	if err != nil {
		return 0
	}
	return i % n
}

// HowdahCaches is the library in this process, its keys spread over several
// caches.
type HowdahCaches struct {
	db     *howdah.DB
	caches []*howdah.Cache
}

// NewHowdahCaches makes n UNLOGGED caches where they are missing and uses
// them, with a timeout that a saturated machine does not meet.
func NewHowdahCaches(ctx context.Context, url string, n int) (*HowdahCaches, error) {
	db, err := howdah.Open(ctx, url, &howdah.Options{Timeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	r := &HowdahCaches{db: db}
	for i := range n {
		name := "many_" + strconv.Itoa(i)
		if err := db.CreateCache(ctx, howdah.CacheConfig{Name: name}); err != nil && !errors.Is(err, howdah.ErrCacheExists) {
			return nil, errors.Join(err, db.Close())
		}
		r.caches = append(r.caches, db.Cache(name))
	}
	return r, nil
}

// First uses the first n of the caches only.
func (r *HowdahCaches) First(n int) *HowdahCaches { return &HowdahCaches{r.db, r.caches[:n]} }

// Name is HowdahName.
func (r *HowdahCaches) Name() string { return HowdahName }

// Get is Cache.Get of the key's cache.
func (r *HowdahCaches) Get(ctx context.Context, key string) ([]byte, error) {
	return r.caches[shard(key, len(r.caches))].Get(ctx, key)
}

// Set is Cache.Set of the key's cache, without expiry.
func (r *HowdahCaches) Set(ctx context.Context, key string, value []byte) error {
	return r.caches[shard(key, len(r.caches))].Set(ctx, key, value, howdah.NoExpiry)
}

// Close closes the database, which First shares.
func (r *HowdahCaches) Close() error { return r.db.Close() }

// PgxTables is plain PostgreSQL with its keys spread over several tables: one
// prepared statement per call, by a pool of connections.
type PgxTables struct {
	pool     *pgxpool.Pool
	get, set []string // by table
}

// NewPgxTables makes n UNLOGGED tables, empty, as an application would write
// them for itself.
func NewPgxTables(ctx context.Context, url string, n, connections int) (*PgxTables, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.StatementCacheCapacity = 2*n + 16 // every statement stays prepared
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	r := &PgxTables{pool: pool}
	for i := range n {
		name := fmt.Sprintf("plain_many_%d", i)
		if err := createTable(ctx, url, "UNLOGGED", name); err != nil {
			pool.Close()
			return nil, err
		}
		get, set := statements(name)
		r.get, r.set = append(r.get, get), append(r.set, set)
	}
	return r, nil
}

// First uses the first n of the tables only.
func (r *PgxTables) First(n int) *PgxTables { return &PgxTables{r.pool, r.get[:n], r.set[:n]} }

// Name is PgxName.
func (r *PgxTables) Name() string { return PgxName }

// Get reads a row of the key's table.
func (r *PgxTables) Get(ctx context.Context, key string) (value []byte, err error) {
	err = r.pool.QueryRow(ctx, r.get[shard(key, len(r.get))], key).Scan(&value)
	return value, err
}

// Set writes a row of the key's table.
func (r *PgxTables) Set(ctx context.Context, key string, value []byte) error {
	_, err := r.pool.Exec(ctx, r.set[shard(key, len(r.set))], key, value)
	return err
}

// Close closes the pool, which First shares.
func (r *PgxTables) Close() error { r.pool.Close(); return nil }
