package stat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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

	// Servers are those that were asked, of a database on several. What one holds that did not
	// answer is missing. Only Address, Up and Problem are known of them.
	Servers []ServerState

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
// random, in one statement for each table and at most 1000 blocks. size is 1 to MaxSampled; 0
// is MaxSampled. A cache that is small enough is read as a whole. Servers are as in Read.
//
// Errors: fault.ErrCacheNotFound, ErrNoAccess, or the database's own, such as a
// statement_timeout after 2 s or a lock_timeout while the table is being altered.
func SampleCache(ctx context.Context, conn *pgx.Conn, cache string, size int, servers ...Server) (*Sampling, error) {
	if size <= 0 || size > MaxSampled {
		size = MaxSampled
	}
	s := &Sampling{Cache: cache, Entries: []Sampled{}}
	places, err := s.places(ctx, conn, servers)
	if err == nil {
		err = s.read(ctx, places, size)
	}
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

// samplePlace is a server that has tables of the cache.
type samplePlace struct {
	do        func(context.Context, func(context.Context, *pgx.Conn) error) error // calls it with a connection
	lost      func(error)                                                         // nil: its errors are those of the call
	at        time.Time
	relations []string // one, or those of the partitions that it holds
	total     float64  // rows
	blocks    int64
}

// places asks all servers what they have of the cache.
func (s *Sampling) places(ctx context.Context, conn *pgx.Conn, servers []Server) ([]*samplePlace, error) {
	home := &samplePlace{do: func(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error { return fn(ctx, conn) }}
	places := []*samplePlace{home}
	s.Servers = make([]ServerState, len(servers))
	for i := range servers {
		state := &s.Servers[i]
		*state = ServerState{Number: servers[i].Number, Address: servers[i].Address, Up: true}
		if servers[i].Connect != nil {
			places = append(places, &samplePlace{do: servers[i].do, lost: func(err error) {
				state.Up, state.Problem = false, fault.OneLine(err).Error()
			}})
		}
	}
	failed := make([]error, len(places))
	var work sync.WaitGroup
	for i, p := range places {
		work.Go(func() {
			failed[i] = p.do(ctx, func(ctx context.Context, conn *pgx.Conn) error { return p.look(ctx, conn, s.Cache) })
		})
	}
	work.Wait()
	s.At = home.at
	for i, p := range places {
		if failed[i] != nil && p.lost != nil {
			p.lost(failed[i])
		}
	}
	return slices.DeleteFunc(places, func(p *samplePlace) bool { return len(p.relations) == 0 }), failed[0]
}

// look asks what a server has of the cache.
func (p *samplePlace) look(ctx context.Context, conn *pgx.Conn, cache string) error {
	r := &reader{conn: conn}
	return r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("stat_cache"), cache)
		if err != nil {
			return err
		}
		var relation *string
		var total float64
		var blocks int64
		exists := false
		_, err = pgx.ForEachRow(rows, []any{&p.at, &relation, &total, &blocks}, func() error {
			exists = true
			if relation != nil {
				p.relations = append(p.relations, *relation)
				p.total, p.blocks = p.total+total, p.blocks+blocks
			}
			return nil
		})
		if err == nil && !exists {
			err = pgx.ErrNoRows
		}
		return err
	})
}

// read reads the tables, one server after the other.
func (s *Sampling) read(ctx context.Context, places []*samplePlace, size int) error {
	var blocks int64
	for _, p := range places {
		s.total, blocks = s.total+p.total, blocks+p.blocks
	}
	share := sampleShare(s.total, blocks, size)
	for _, p := range places {
		kept, rows := len(s.Entries), s.Rows
		err := p.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			r := &reader{conn: conn}
			return r.read(ctx, func(tx pgx.Tx) (err error) {
				for i := 0; err == nil && i < len(p.relations) && s.Rows < size; i++ {
					err = s.readTable(ctx, tx, p.relations[i], share, size-s.Rows)
				}
				return err
			})
		})
		switch {
		case err != nil && p.lost == nil:
			return err
		case err != nil:
			p.lost(err)
			s.Entries, s.Rows, s.total = s.Entries[:kept], rows, s.total-p.total
		}
	}
	s.Exact = share == 100 && s.Rows < size && len(Missing(s.Servers)) == 0
	if share == 100 && s.Rows < size || s.total < float64(s.Rows) {
		s.total = float64(s.Rows)
	}
	return nil
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
	if s.Rows == 0 {
		return 1
	}
	return s.total / float64(s.Rows)
}

// estimate scales a number of entries, or bytes, of the sample.
func (s *Sampling) estimate(n int64) int64 { return int64(s.factor()*float64(n) + 0.5) }

// missing are the addresses of the servers that did not answer.
func (s *Sampling) missing() (addresses []string) {
	for _, of := range Missing(s.Servers) {
		addresses = append(addresses, of.Address)
	}
	return addresses
}
