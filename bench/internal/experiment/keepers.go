package experiment

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/session"
)

// The ways to keep sessions alive.
const (
	keepNone       = "no extension"
	keepEvery      = "UPDATE for every read"
	keepBatch      = "batches"
	keepSkip       = "batches, skipping the recently extended"
	keepTemp       = "batches by way of a TEMP table, skipping"
	keepHowdahAll  = "Howdah without skipping"
	keepHowdah     = "Howdah"
	sourceChunk    = 50_000 // sessions in one UPDATE
	keeperConns    = 16
	sessionPayload = 256
)

var keepers = []string{keepNone, keepEvery, keepBatch, keepSkip, keepTemp, keepHowdahAll, keepHowdah}

// lifetimes are how long sessions live unused, how far an extension reaches in
// advance, and how often a batch is written.
type lifetimes struct{ idle, skip, flush, timeout time.Duration }

// keeper reads sessions and keeps those alive that it reads.
type keeper interface {
	table() string
	expiry() string // the column
	start(ctx context.Context)
	read(ctx context.Context, i int) error
	// stop writes what is left, and tells how many updates there must be at
	// least by the keeper's own count.
	stop() (written int64, err error)
	close()
}

// newKeeper makes sessions and a way to keep them. A keeper of Howdah empties
// howdah.session first; the others use a table of their own.
func newKeeper(ctx context.Context, d *db, super, url, way, table string, sessions int, times lifetimes) (keeper, error) {
	switch way {
	case keepHowdah, keepHowdahAll:
		if err := d.run(ctx, `TRUNCATE howdah.session`); err != nil {
			return nil, err
		}
		return newManagerKeeper(ctx, url, way, sessions, times)
	}
	err := d.run(ctx, `DROP TABLE IF EXISTS `+table,
		`CREATE TABLE `+table+` (id bigint PRIMARY KEY, payload text NOT NULL, expires_at timestamptz NOT NULL) WITH (fillfactor = 80)`,
		fmt.Sprintf(`INSERT INTO %s SELECT i, repeat(md5(i::text), %d), now() + %s FROM generate_series(0, %d) AS i`,
			table, sessionPayload/32, interval(times.idle), sessions-1))
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, withPool(super, keeperConns))
	if err != nil {
		return nil, err
	}
	return &sqlKeeper{pool: pool, way: way, name: table, times: times, used: map[int64]bool{}}, nil
}

// ownSessions makes sure that howdah.session is ours to empty, and leaves it
// empty.
func (b *Bench) ownSessions(ctx context.Context, d *db) error {
	var n int64
	if err := d.QueryRow(ctx, `SELECT count(*) FROM howdah.session`).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("this database has %d sessions, which the experiment would delete: give it another database", n)
	}
	b.later(func() error { return d.run(context.WithoutCancel(ctx), `TRUNCATE howdah.session`) })
	return nil
}

func interval(d time.Duration) string { return fmt.Sprintf("interval '%f s'", d.Seconds()) }

// sqlKeeper does what the source advises, by hand.
type sqlKeeper struct {
	pool  *pgxpool.Pool
	way   string
	name  string
	times lifetimes

	mu      sync.Mutex
	used    map[int64]bool
	written int64

	cancel context.CancelFunc
	ended  chan error
}

func (k *sqlKeeper) table() string  { return k.name }
func (k *sqlKeeper) expiry() string { return "expires_at" }
func (k *sqlKeeper) close()         { k.pool.Close() }

func (k *sqlKeeper) start(ctx context.Context) {
	running, cancel := context.WithCancel(ctx)
	k.cancel, k.ended = cancel, make(chan error, 1)
	go func() {
		tick := time.NewTicker(k.times.flush)
		defer tick.Stop()
		for {
			select {
			case <-running.Done():
				k.ended <- k.flush(ctx)
				return
			case <-tick.C:
				if err := k.flush(ctx); err != nil {
					k.ended <- err
					return
				}
			}
		}
	}()
}

func (k *sqlKeeper) stop() (int64, error) {
	k.cancel()
	err := <-k.ended
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.written, err
}

func (k *sqlKeeper) read(ctx context.Context, i int) error {
	id := int64(i)
	var payload string
	err := k.pool.QueryRow(ctx, `SELECT payload FROM `+k.name+` WHERE id = $1 AND expires_at > now()`, id).Scan(&payload)
	if err != nil {
		return fmt.Errorf("session %d: %w", i, err)
	}
	switch k.way {
	case keepNone:
		return nil
	case keepEvery:
		return k.update(ctx, `UPDATE `+k.name+` SET expires_at = now() + `+interval(k.times.idle)+` WHERE id = $1`, id)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used[id] = true
	return nil
}

// flush extends what was used since the last time.
func (k *sqlKeeper) flush(ctx context.Context) error {
	k.mu.Lock()
	ids := make([]int64, 0, len(k.used))
	for id := range k.used {
		ids = append(ids, id)
	}
	clear(k.used)
	k.mu.Unlock()
	if k.way == keepTemp && len(ids) > 0 {
		return k.flushByTable(ctx, ids)
	}
	sql := `UPDATE ` + k.name + ` SET expires_at = now() + ` + interval(k.times.idle) + ` WHERE id = ANY ($1) AND expires_at > now()`
	if k.way == keepSkip {
		sql += ` AND expires_at < now() + ` + interval(k.times.idle-k.times.skip)
	}
	for len(ids) > 0 {
		n := min(sourceChunk, len(ids))
		if err := k.update(ctx, sql, ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// flushByTable passes the ids through a table instead of a parameter.
func (k *sqlKeeper) flushByTable(ctx context.Context, ids []int64) error {
	return pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `CREATE TEMP TABLE bench_used (id bigint PRIMARY KEY) ON COMMIT DROP`); err != nil {
			return err
		}
		rows := pgx.CopyFromSlice(len(ids), func(i int) ([]any, error) { return []any{ids[i]}, nil })
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"bench_used"}, []string{"id"}, rows); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE `+k.name+` AS s SET expires_at = now() + `+interval(k.times.idle)+` FROM bench_used AS u
			WHERE s.id = u.id AND s.expires_at > now() AND s.expires_at < now() + `+interval(k.times.idle-k.times.skip))
		k.mu.Lock()
		defer k.mu.Unlock()
		k.written += tag.RowsAffected()
		return err
	})
}

func (k *sqlKeeper) update(ctx context.Context, sql string, args ...any) error {
	tag, err := k.pool.Exec(ctx, sql, args...)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.written += tag.RowsAffected()
	return err
}

// managerKeeper is the product's own session manager.
type managerKeeper struct {
	db      *howdah.DB
	manager *session.Manager
	tokens  []session.Token
	cancel  context.CancelFunc
	ended   chan error
}

func newManagerKeeper(ctx context.Context, url, way string, sessions int, times lifetimes) (*managerKeeper, error) {
	db, err := howdah.Open(ctx, url, &howdah.Options{MaxConns: keeperConns})
	if err != nil {
		return nil, err
	}
	k := &managerKeeper{db: db, tokens: make([]session.Token, sessions)}
	options := session.Options{IdleTimeout: times.idle, SkipWindow: times.skip, FlushInterval: times.flush, Timeout: times.timeout}
	if way == keepHowdahAll {
		options.SkipWindow = session.NoSkip
	}
	if k.manager, err = session.New(db, &options); err != nil {
		return nil, err
	}
	payload := []byte(strings.Repeat("payload.", sessionPayload/8))
	group, ctx := errgroup.WithContext(ctx)
	for w := range keeperConns {
		group.Go(func() error {
			for i := w; i < sessions; i += keeperConns {
				s, err := k.manager.Create(ctx, session.Start{Payload: payload})
				if err != nil {
					return err
				}
				k.tokens[i] = s.Token()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		db.Close()
		return nil, err
	}
	return k, nil
}

func (k *managerKeeper) table() string  { return "howdah.session" }
func (k *managerKeeper) expiry() string { return "idle_expires_at" }
func (k *managerKeeper) close()         { k.db.Close() }

func (k *managerKeeper) start(ctx context.Context) {
	ctx, k.cancel = context.WithCancel(ctx)
	k.ended = make(chan error, 1)
	go func() { k.ended <- k.manager.Run(ctx) }()
}

func (k *managerKeeper) read(ctx context.Context, i int) error {
	s, err := k.manager.Get(ctx, k.tokens[i])
	if err == nil && len(s.Payload) != sessionPayload {
		err = fmt.Errorf("the payload has %d bytes", len(s.Payload))
	}
	if err != nil {
		return fmt.Errorf("session %d: %w", i, err)
	}
	return nil
}

func (k *managerKeeper) stop() (int64, error) {
	k.cancel()
	err := <-k.ended
	return k.manager.Stats().Touched, err
}
