package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/session/internal/statement"
)

// watchStandbys sends heartbeats and looks which standbys are worth asking,
// until ctx ends.
func (m *Manager) watchStandbys(ctx context.Context) {
	r := m.standbys
	if r == nil || !r.running.CompareAndSwap(false, true) {
		return // another Run does
	}
	defer r.running.Store(false)
	for _, s := range r.all {
		pool, err := pgxpool.NewWithConfig(ctx, s.config.Copy())
		if err != nil {
			m.opts.Logger.Error("session: a standby cannot be used", "standby", s.name, "error", err)
			continue
		}
		s.pool.Store(pool)
		defer func() {
			s.usable.Store(false)
			s.pool.Store(nil)
			pool.Close()
		}()
	}
	interval := m.opts.MaxStaleness / beatsInBound
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var beating error
	for {
		err := m.beat(ctx)
		if (err == nil) != (beating == nil) && ctx.Err() == nil {
			m.logBeat(err)
		}
		beating = err
		var looks sync.WaitGroup
		for _, s := range r.all {
			looks.Go(func() { m.look(ctx, s, min(interval, m.opts.Timeout)) })
		}
		looks.Wait()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Manager) logBeat(err error) {
	if err != nil {
		m.opts.Logger.Warn("session: the primary takes no heartbeat, so standbys are soon not asked any more", "error", err)
		return
	}
	m.opts.Logger.Info("session: the primary takes heartbeats again")
}

// look asks a standby for the heartbeat that it shows. One that is not in use
// is used again when it is less than half of the bound behind: at the bound
// itself, every other answer would be too old.
func (m *Manager) look(ctx context.Context, s *standby, timeout time.Duration) {
	var beat int64
	err := m.standbys.ask(ctx, s, timeout, &statement.Question{
		Text:  m.standbys.readBeat,
		Args:  [][]byte{m.standbys.beats.reader[:]},
		Reset: func() {},
		Each:  func(values [][]byte) { beat = pgwire.ReadInt8(values[0]) }, // no row: none of ours yet
	})
	if ctx.Err() != nil {
		return
	}
	age := m.standbys.beats.age(beat)
	switch {
	case err != nil:
		age = unknown
	case age > m.opts.MaxStaleness:
		err = errStale
	case age <= m.opts.MaxStaleness/2:
		s.usable.Store(true)
	}
	if err != nil {
		s.usable.Store(false)
	}
	s.behind.Store(int64(age))
	if age == unknown {
		s.behind.Store(-1)
	}
	s.tell(m.opts.Logger, err)
}

var errStale = errors.New("what it shows is too old, or not known to be recent")

// tell logs when a standby comes into use and when it goes out of it. One has a
// few looks to come into use at first.
func (s *standby) tell(log *slog.Logger, err error) {
	usable := s.usable.Load()
	s.looks++
	switch {
	case usable && s.told != toldUsable:
		s.told = toldUsable
		log.Info("session: reading from a standby", "standby", s.name)
	case !usable && (s.told == toldUsable || s.told == toldNothing && s.looks > beatsInBound):
		s.told = toldUnusable
		log.Warn("session: not reading from a standby for now", "standby", s.name, "error", err)
	}
}

// What the log was told of a standby.
const (
	toldNothing = iota
	toldUsable
	toldUnusable
)
