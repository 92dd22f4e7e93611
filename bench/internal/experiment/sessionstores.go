package experiment

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/goredisstore"
	"github.com/alexedwards/scs/pgxstore"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/session"
	"github.com/howdah/howdah/session/scsstore"
)

// sessionIdle is the idle timeout of every store.
const sessionIdle = 30 * time.Minute

// sessionConns is the size of PostgreSQL's pools. go-redis has its default.
const sessionConns = 16

// sessionStore makes and reads sessions of one payload.
type sessionStore struct {
	name string
	// create makes one and returns how it is found again.
	create func(ctx context.Context) (token string, err error)
	// use reads one and slides its expiry.
	use func(ctx context.Context, token string) ([]byte, error)
	// find reads one and leaves its expiry alone; nil if the store always
	// slides it.
	find func(ctx context.Context, token string) ([]byte, error)
	// due, if set, makes every session due for an extension.
	due func(ctx context.Context) error
	// stored counts the sessions that are there.
	stored func(ctx context.Context) (int64, error)
	close  func() error

	created atomic.Int64
	tokens  []string
}

func (s *sessionStore) makeOne(ctx context.Context) (string, error) {
	token, err := s.create(ctx)
	if err != nil {
		return "", fmt.Errorf("%s, creating: %w", s.name, err)
	}
	s.created.Add(1)
	return token, nil
}

// fill makes the sessions that are read.
func (s *sessionStore) fill(ctx context.Context, n int) error {
	s.tokens = make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	for w := range sessionConns {
		group.Go(func() (err error) {
			for i := w; i < n; i += sessionConns {
				if s.tokens[i], err = s.makeOne(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// check holds what is there against what was created.
func (s *sessionStore) check(ctx context.Context) error {
	stored, err := s.stored(ctx)
	if err == nil && stored != s.created.Load() {
		err = fmt.Errorf("%s: %d sessions were created, %d are there", s.name, s.created.Load(), stored)
	}
	return err
}

// randomToken is 256 bits, as scs makes its tokens.
func randomToken() string {
	var secret [32]byte
	rand.Read(secret[:])
	return base64.RawURLEncoding.EncodeToString(secret[:])
}

var errNoSession = errors.New("the session is not there")

// managerSessions is the session manager of Howdah, with its defaults but for
// the interval of its batches, of which some must fall into a measurement.
func managerSessions(ctx context.Context, d *db, url string, payload []byte, flush time.Duration) (*sessionStore, error) {
	pool, err := howdah.Open(ctx, url, &howdah.Options{MaxConns: sessionConns})
	if err != nil {
		return nil, err
	}
	m, err := session.New(pool, &session.Options{IdleTimeout: sessionIdle, FlushInterval: flush, Timeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return &sessionStore{
		name: "Howdah",
		create: func(ctx context.Context) (string, error) {
			s, err := m.Create(ctx, session.Start{Payload: payload})
			if err != nil {
				return "", err
			}
			return s.Token().Reveal(), nil
		},
		use: func(ctx context.Context, text string) ([]byte, error) {
			token, err := session.ParseToken(text)
			if err != nil {
				return nil, err
			}
			s, err := m.Get(ctx, token)
			if err != nil {
				return nil, err
			}
			return s.Payload, nil
		},
		due: func(ctx context.Context) error {
			return d.run(ctx, `UPDATE howdah.session SET idle_expires_at = now() + interval '15 min' WHERE substr(id::text, 15, 1) = '7'`)
		},
		stored: counted(d, `SELECT count(*) FROM howdah.session WHERE substr(id::text, 15, 1) = '7'`),
		close:  func() error { stop(); return errors.Join(<-ended, pool.Close()) },
	}, nil
}

func counted(d *db, sql string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		err = d.QueryRow(ctx, sql).Scan(&n)
		return n, err
	}
}

// redisSessions is what most applications write for themselves: SET with EX,
// then GET and EXPIRE in one round trip. fsync is that of the log, "" for none.
func redisSessions(ctx context.Context, name, addr, fsync string, payload []byte) (*sessionStore, error) {
	c := redis.NewClient(&redis.Options{Addr: addr})
	wanted := map[string]string{"appendonly": "no"}
	if fsync != "" {
		wanted = map[string]string{"appendonly": "yes", "appendfsync": fsync}
	}
	for setting, value := range wanted {
		got, err := c.ConfigGet(ctx, setting).Result()
		if err != nil {
			return nil, err
		}
		if got[setting] != value {
			return nil, fmt.Errorf("%s has %s=%s, not %s", name, setting, got[setting], value)
		}
	}
	return &sessionStore{
		name: name,
		create: func(ctx context.Context) (string, error) {
			token := randomToken()
			return token, c.Set(ctx, "session:"+token, payload, sessionIdle).Err()
		},
		use: func(ctx context.Context, token string) ([]byte, error) {
			pipe := c.Pipeline()
			got := pipe.Get(ctx, "session:"+token)
			pipe.Expire(ctx, "session:"+token, sessionIdle)
			if _, err := pipe.Exec(ctx); err != nil {
				return nil, err
			}
			return got.Bytes()
		},
		find: func(ctx context.Context, token string) ([]byte, error) {
			return c.Get(ctx, "session:"+token).Bytes()
		},
		stored: func(ctx context.Context) (int64, error) { return c.DBSize(ctx).Result() },
		close:  c.Close,
	}, nil
}

// scsCalls are what scs asks of a store.
type scsCalls struct {
	find   func(ctx context.Context, token string) ([]byte, bool, error)
	commit func(ctx context.Context, token string, data []byte, expiry time.Time) error
}

// sessions uses a store as scs does: with an idle timeout, each request finds
// its session and commits it again.
func (s scsCalls) sessions(name string, payload []byte, stored func(context.Context) (int64, error), closeIt func() error) *sessionStore {
	find := func(ctx context.Context, token string) ([]byte, error) {
		data, found, err := s.find(ctx, token)
		if err == nil && !found {
			err = errNoSession
		}
		return data, err
	}
	return &sessionStore{
		name: name,
		create: func(ctx context.Context) (string, error) {
			token := randomToken()
			return token, s.commit(ctx, token, payload, time.Now().Add(sessionIdle))
		},
		use: func(ctx context.Context, token string) ([]byte, error) {
			data, err := find(ctx, token)
			if err != nil {
				return nil, err
			}
			return data, s.commit(ctx, token, data, time.Now().Add(sessionIdle))
		},
		find: find, stored: stored, close: closeIt,
	}
}

// scsOnPostgres is scs's own store for PostgreSQL, on the table that its
// documentation asks for.
func scsOnPostgres(ctx context.Context, d *db, url string, payload []byte) (*sessionStore, error) {
	// Not in the schema public, where an application may have such a table; nor
	// in howdah, the first one of a role of this name, where sessions is a view.
	url = withParameter(url, "search_path", "bench_scs")
	owner, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer owner.Close(ctx)
	err = owner.run(ctx, `DROP SCHEMA IF EXISTS bench_scs CASCADE`, `CREATE SCHEMA bench_scs`,
		`CREATE TABLE sessions (token text PRIMARY KEY, data bytea NOT NULL, expiry timestamptz NOT NULL)`,
		`CREATE INDEX sessions_expiry_idx ON sessions (expiry)`)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, withPool(url, sessionConns))
	if err != nil {
		return nil, err
	}
	store := pgxstore.NewWithCleanupInterval(pool, 0)
	return scsCalls{
		func(_ context.Context, token string) ([]byte, bool, error) { return store.Find(token) },
		func(_ context.Context, token string, data []byte, expiry time.Time) error {
			return store.Commit(token, data, expiry)
		},
	}.sessions("scs on its PostgreSQL store", payload, counted(d, `SELECT count(*) FROM bench_scs.sessions`),
		func() error { pool.Close(); return nil }), nil
}

// scsOnRedis is scs's own store for go-redis, in a database of its own.
func scsOnRedis(addr string, payload []byte) *sessionStore {
	c := redis.NewClient(&redis.Options{Addr: addr, DB: 1})
	store := goredisstore.New(c)
	return scsCalls{store.FindCtx, store.CommitCtx}.sessions("scs on its Redis store, no log", payload,
		func(ctx context.Context) (int64, error) { return c.DBSize(ctx).Result() }, c.Close)
}

// scsOnHowdah is scs on Howdah's store.
func scsOnHowdah(ctx context.Context, d *db, url string, payload []byte) (*sessionStore, error) {
	pool, err := howdah.Open(ctx, url, &howdah.Options{MaxConns: sessionConns})
	if err != nil {
		return nil, err
	}
	store := scsstore.New(pool)
	return scsCalls{store.FindCtx, store.CommitCtx}.sessions("scs on Howdah", payload,
		counted(d, `SELECT count(*) FROM howdah.session WHERE substr(id::text, 15, 1) = '8'`), pool.Close), nil
}
