package session

import (
	"bytes"
	"context"
	"crypto/subtle"
	"time"
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

// scan is where the columns of a row go.
func (r *record) scan() []any {
	s := r.session
	return []any{&r.hash, &s.User, &s.Payload, &s.Version, &s.CreatedAt, &s.LastSeenAt, &s.ExpiresAt, &s.Deadline, &r.live, &r.due, &r.left}
}

// become takes over what was read, for a token of its own: several callers may
// have asked for one session.
func (r *record) become(row *record) {
	session := *row.session
	session.ID, session.token = r.session.ID, r.session.token
	session.Payload = bytes.Clone(session.Payload)
	*r = *row
	r.session = &session
}

// opens tells whether the token is that of a live session. An unknown id costs
// the same work as a wrong secret: the hash is then empty, and compared all the
// same.
func (r *record) opens(token Token) bool {
	var stored [32]byte
	known := subtle.ConstantTimeEq(int32(copy(stored[:], r.hash)), 32)
	return subtle.ConstantTimeCompare(stored[:], token.hash())&known == 1 && r.live
}
