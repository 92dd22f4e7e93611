package session

import (
	"bytes"
	"context"
	"crypto/subtle"
	"time"

	"github.com/howdah/howdah/internal/pgwire"
)

// Get reads the session of a token, which counts as a use. Where there are
// Options.ReadURLs, it may be as it was Options.MaxStaleness ago; what this
// Manager has changed shows at once.
//
// Errors: ErrNotFound, those of the database.
func (m *Manager) Get(ctx context.Context, token Token) (*Session, error) {
	if m.standbys == nil {
		return m.current(ctx, token)
	}
	ctx, cancel := context.WithTimeout(ctx, m.opts.Timeout)
	defer cancel()
	rec, err := m.fromStandby(ctx, token)
	switch {
	case err != nil:
		m.stats.reads.Add(1)
		return nil, err
	case rec == nil:
		return m.current(ctx, token)
	}
	m.stats.reads.Add(1)
	return m.found(ctx, rec), nil
}

// current is Get from the primary: the session as it is.
func (m *Manager) current(ctx context.Context, token Token) (*Session, error) {
	m.stats.reads.Add(1)
	m.stats.primaryReads.Add(1)
	rec := newRecord(token)
	if err := m.fromPrimary(ctx, rec); err != nil {
		return nil, err
	}
	if rec.opens(token) {
		return m.found(ctx, rec), nil
	}
	switch {
	case rec.hash == nil:
		m.stats.unknown.Add(1)
	case rec.live:
		m.stats.wrongSecret.Add(1)
	default:
		m.stats.timedOut.Add(1)
	}
	return nil, ErrNotFound
}

// found counts a session that was read, and remembers the use.
func (m *Manager) found(ctx context.Context, rec *record) *Session {
	m.stats.found.Add(1)
	if rec.due {
		m.used(ctx, rec.session.ID, rec.left)
	} else {
		m.stats.covered.Add(1)
	}
	return rec.session
}

// record is a row as it was read, whether or not the token opens it.
type record struct {
	session *Session
	hash    []byte
	live    bool
	due     bool          // the row does not cover this use yet
	left    time.Duration // until it ends
}

func newRecord(token Token) *record {
	return &record{session: &Session{ID: token.id, token: token}}
}

// read takes a row as session_read.sql answers it, after the id. It keeps none
// of the values.
func (r *record) read(v [][]byte) {
	s := r.session
	r.hash = bytes.Clone(v[0])
	s.User = string(v[1])
	s.Payload = bytes.Clone(v[2])
	s.Version = pgwire.ReadInt8(v[3])
	s.CreatedAt, s.LastSeenAt, s.ExpiresAt, s.Deadline = readTime(v[4]), readTime(v[5]), readTime(v[6]), readTime(v[7])
	r.live, r.due = pgwire.ReadBool(v[8]), pgwire.ReadBool(v[9])
	r.left = readInterval(v[10])
}

// readTime reads a timestamptz that is not infinite.
func readTime(v []byte) time.Time { return time.UnixMicro(pgwire.ReadInt8(v) + pgwire.Epoch) }

// readInterval reads an interval of microseconds and days, as a difference of
// times is.
func readInterval(v []byte) time.Duration {
	return time.Duration(pgwire.ReadInt8(v))*time.Microsecond + time.Duration(pgwire.ReadInt4(v[8:]))*24*time.Hour
}

// opens tells whether the token is that of a live session. An unknown id costs
// the same work as a wrong secret: the hash is then empty, and compared all the
// same.
func (r *record) opens(token Token) bool {
	var stored [32]byte
	known := subtle.ConstantTimeEq(int32(copy(stored[:], r.hash)), 32)
	return subtle.ConstantTimeCompare(stored[:], token.hash())&known == 1 && r.live
}
