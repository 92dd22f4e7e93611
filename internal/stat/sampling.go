package stat

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// Bounds of a Sampling, whatever the cache holds.
const (
	MaxSampled     = 10_000 // rows
	MaxSampledKey  = 512    // bytes of a key
	maxSampleBlock = 1000   // blocks: 8 MiB
)

// Sampling is a random part of the entries of one cache. Its methods say what that part
// says of all: [Sampling.Distribution], [Sampling.Level] and [Sampling.Top].
type Sampling struct {
	Cache   string
	At      time.Time // by the database's clock
	Exact   bool      // Entries are all that there are: nothing is estimated
	Rows    int       // rows that were looked at: Entries, and those that had expired
	Entries []Sampled // those that live

	total float64 // rows of the cache, expired ones included; an estimate unless Exact
}

// Sampled is one entry of a Sampling.
type Sampled struct {
	Key       []byte    // at most its first MaxSampledKey bytes
	KeyBytes  int       // of the whole key
	Bytes     int       // of the value
	Kind      int16     // as in the column kind
	ExpiresAt time.Time // zero: never
	Written   time.Time
	Used      time.Time // last read or written; reads are noted to the minute, and late
}

// Charge is what the entry counts for a budget in bytes: key, value and 100.
func (e *Sampled) Charge() int64 { return int64(e.KeyBytes) + int64(e.Bytes) + 100 }

// SampleCache reads at most size rows of a cache from blocks that PostgreSQL chooses at
// random, in one statement and at most 1000 blocks. size is 1 to MaxSampled; 0 is
// MaxSampled. A cache that is small enough is read as a whole.
//
// Errors: fault.ErrCacheNotFound, ErrNoAccess, or the database's own, such as a
// statement_timeout after 2 s or a lock_timeout while the table is being altered.
func SampleCache(ctx context.Context, conn *pgx.Conn, cache string, size int) (*Sampling, error) {
	if size <= 0 || size > MaxSampled {
		size = MaxSampled
	}
	r := &reader{conn: conn}
	s := &Sampling{Cache: cache, Entries: []Sampled{}}
	err := r.read(ctx, func(tx pgx.Tx) error { return s.read(ctx, tx, size) })
	switch {
	case err == pgx.ErrNoRows:
		return nil, fmt.Errorf("%w: there is no cache %q in this database", fault.ErrCacheNotFound, cache)
	case sqlState(err) == "42501":
		return nil, fmt.Errorf("%w: this role may not read the entries of cache %q: let the owner run \"howdah migrate --runtime-role\" for it", ErrNoAccess, cache)
	case err != nil:
		return nil, err
	}
	return s, nil
}

func (s *Sampling) read(ctx context.Context, tx pgx.Tx, size int) error {
	rows, err := tx.Query(ctx, schema.Query("stat_cache"), s.Cache)
	if err != nil {
		return err
	}
	var relations []string // one, or those of the partitions
	var relation string
	var total float64
	var blocks, allBlocks int64
	_, err = pgx.ForEachRow(rows, []any{&s.At, &relation, &total, &blocks}, func() error {
		relations = append(relations, relation)
		s.total, allBlocks = s.total+total, allBlocks+blocks
		return nil
	})
	if err == nil && relations == nil {
		err = pgx.ErrNoRows
	}
	share := sampleShare(s.total, allBlocks, size)
	for i := 0; err == nil && i < len(relations) && s.Rows < size; i++ {
		err = s.readTable(ctx, tx, relations[i], share, size-s.Rows)
	}
	s.Exact = share == 100 && s.Rows < size
	if s.Exact || s.total < float64(s.Rows) {
		s.total = float64(s.Rows)
	}
	return err
}

// readTable reads at most size rows of one table.
func (s *Sampling) readTable(ctx context.Context, tx pgx.Tx, relation string, share float64, size int) error {
	rows, err := tx.Query(ctx, strings.ReplaceAll(schema.Query("stat_entries"), "{table}", relation), pgx.QueryExecModeExec, share, MaxSampledKey, size)
	if err != nil {
		return err
	}
	var e Sampled
	var lives bool
	var expires *time.Time
	_, err = pgx.ForEachRow(rows, []any{&e.Key, &e.KeyBytes, &e.Bytes, &e.Kind, &lives, &expires, &e.Written, &e.Used}, func() error {
		s.Rows++
		if !lives {
			return nil
		}
		found := e
		found.Key = append([]byte{}, e.Key...)
		if expires != nil {
			found.ExpiresAt = *expires
		}
		s.Entries = append(s.Entries, found)
		return nil
	})
	return err
}

// sampleShare is how many per cent of the blocks to read, so that they hold a bit less
// than size rows: what the limit cuts off would always be the end of the table.
func sampleShare(rows float64, blocks int64, size int) float64 {
	if blocks <= 0 || rows < float64(size) && blocks <= maxSampleBlock {
		return 100
	}
	wanted := float64(maxSampleBlock)
	if rows > 0 {
		wanted = min(wanted, 0.9*float64(size)*float64(blocks)/rows)
	}
	return min(100, 100*max(1, wanted)/float64(blocks))
}

// factor turns a number of entries of the sample into one of the cache.
func (s *Sampling) factor() float64 {
	if s.Exact || s.Rows == 0 {
		return 1
	}
	return s.total / float64(s.Rows)
}

// estimate scales a number of entries, or bytes, of the sample.
func (s *Sampling) estimate(n int64) int64 { return int64(s.factor()*float64(n) + 0.5) }
