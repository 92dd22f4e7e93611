package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/session/internal/statement"
)

// standbys are the servers that answer reads in the place of the primary. Each
// of their answers is judged by itself: it counts only if the heartbeat that
// was read with it, in one statement, is not too old. Run finds out which of
// them are worth asking.
type standbys struct {
	all     []*standby
	next    atomic.Uint32
	running atomic.Bool // Run looks after them

	beats  heartbeats
	recent recent
	misses bucket

	run         *statement.Runner
	readSession pgwire.Statement
	readBeat    pgwire.Statement
}

// standby is one server, or one of several behind one URL.
type standby struct {
	name   string
	config *pgxpool.Config

	pool   atomic.Pointer[pgxpool.Pool] // while Run runs
	usable atomic.Bool
	behind atomic.Int64 // nanoseconds, at the last look

	served, missed, stale, conflicts, failed atomic.Int64

	looks, told int // by the one watcher
}

// newStandbys reads the URLs. It connects to nothing.
func newStandbys(db *howdah.DB, run *statement.Runner, o *Options) (*standbys, error) {
	if len(o.ReadURLs) == 0 {
		return nil, nil
	}
	r := &standbys{
		beats:  heartbeats{reader: newID()},
		recent: recent{span: o.MaxStaleness},
		misses: bucket{perSecond: float64(o.MissRate)},

		run:         run,
		readSession: statement.Prepared("session_read_standby"),
		readBeat:    statement.Prepared("session_reader"),
	}
	primary := db.Pool().Config()
	options := core.Options{MaxConns: max(int(primary.MaxConns), 2)}
	if primary.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeExec {
		options.Pooler = "transaction"
	}
	for i, url := range o.ReadURLs {
		config, err := core.StandbyConfig(url, options)
		if err != nil {
			return nil, fmt.Errorf("session: Options.ReadURLs[%d]: %w", i, err)
		}
		c := config.ConnConfig
		r.all = append(r.all, &standby{name: net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), config: config})
	}
	return r, nil
}

// pick returns a standby to ask, each in its turn, or nil if none is usable.
func (r *standbys) pick() *standby {
	first := r.next.Add(1)
	for i := range r.all {
		if s := r.all[(int(first)+i)%len(r.all)]; s.usable.Load() {
			return s
		}
	}
	return nil
}

// fromStandby reads a session from a standby. It returns nil if the primary
// must be asked, for whatever reason, and an error if it must not.
func (m *Manager) fromStandby(ctx context.Context, token Token) (*record, error) {
	r := m.standbys
	if r == nil || r.recent.has(subject{id: token.id}) {
		return nil, nil
	}
	now, known := r.beats.primaryClock()
	standby := r.pick()
	if !known || standby == nil {
		return nil, nil
	}
	var beat int64
	rec := newRecord(token)
	err := r.ask(ctx, standby, m.opts.Timeout/2, &statement.Question{
		Text:  r.readSession,
		Args:  [][]byte{token.id[:], r.beats.reader[:], timestamp(now)},
		Reset: func() {},
		Each: func(values [][]byte) { // no row: it shows no beat of ours
			beat = pgwire.ReadInt8(values[0])
			rec.read(values[1:])
		},
	})
	switch {
	case err != nil:
		if ctx.Err() == nil {
			standby.fail(err)
		}
		return nil, nil
	case r.recent.has(subject{id: token.id}, subject{user: rec.session.User}):
		return nil, nil
	}
	if r.beats.age(beat) > m.opts.MaxStaleness {
		standby.stale.Add(1)
		standby.usable.Store(false)
		return nil, nil
	}
	// It may have ended while the question was on its way.
	if now, _ = r.beats.primaryClock(); rec.live && !rec.session.ExpiresAt.After(now) {
		rec.live = false
	}
	if !rec.opens(token) {
		standby.missed.Add(1)
		if !r.misses.take() {
			m.stats.doubted.Add(1)
			return nil, fmt.Errorf("%w: more than %d tokens a second were unknown to the standbys (Options.MissRate), and the primary is not asked about this one", howdah.ErrOverloaded, m.opts.MissRate)
		}
		return nil, nil
	}
	standby.served.Add(1)
	return rec, nil
}

var errNotWatched = errors.New("session: standbys are read while Run runs")

// timestamp is a timestamptz as a parameter.
func timestamp(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMicro()-pgwire.Epoch))
}

// ask asks a standby within this time, or half of what the caller has left: the
// other half is for the primary.
func (r *standbys) ask(ctx context.Context, s *standby, timeout time.Duration, q *statement.Question) error {
	pool := s.pool.Load()
	if pool == nil {
		return errNotWatched
	}
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/2)
	}
	return r.run.AskOf(ctx, pool, timeout, q)
}

// fail gives a standby up until Run has seen it answer again, unless it only
// cancelled this one read for the sake of its recovery.
func (s *standby) fail(err error) {
	if statement.State(err) == "40001" {
		s.conflicts.Add(1)
		return
	}
	s.failed.Add(1)
	s.usable.Store(false)
	if pool := s.pool.Load(); pool != nil {
		pool.Reset()
	}
}

func (s *standby) stats() StandbyStats {
	return StandbyStats{
		Name: s.name, Usable: s.usable.Load(), Behind: time.Duration(s.behind.Load()),
		Served: s.served.Load(), Missed: s.missed.Load(), Stale: s.stale.Load(),
		Conflicts: s.conflicts.Load(), Failed: s.failed.Load(),
	}
}

// bucket lets so many through a second, and as many at once after a pause.
type bucket struct {
	perSecond float64

	mu   sync.Mutex
	left float64
	at   time.Time
}

func (b *bucket) take() bool {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.perSecond, b.left+now.Sub(b.at).Seconds()*b.perSecond)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
