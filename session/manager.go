package session

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/session/internal/statement"
)

// Manager makes, reads, changes and ends sessions. It is safe for concurrent
// use. Run, which the caller starts, writes uses in batches and removes what
// has expired; where it does not run, each use that has to be written is
// written at once.
type Manager struct {
	run      *statement.Runner
	opts     Options
	reads    *sharedReads
	uses     uses
	standbys *standbys // nil: none
	stats    counters
}

// New returns a manager of the sessions in db. opts may be nil. It does not ask
// the database.
func New(db *howdah.DB, opts *Options) (*Manager, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	run := statement.New((*core.DB)(db), o.Timeout)
	standbys, err := newStandbys(db, run, &o)
	if err != nil {
		return nil, err
	}
	return &Manager{run: run, opts: o, reads: newSharedReads(run, o.Logger), standbys: standbys}, nil
}

// Session is one session as it was when it was read. Change it through the
// Manager.
type Session struct {
	ID      ID
	User    string // "": nobody has logged in
	Payload []byte // as it was saved; after Merge, JSON as PostgreSQL writes it
	// Version changes with payload, user and secret.
	Version    int64
	CreatedAt  time.Time
	LastSeenAt time.Time // coarse: up to Options.SkipWindow old
	// ExpiresAt is when the session ends if it is not used again; its promise,
	// IdleTimeout after the last use, is at most SkipWindow earlier.
	ExpiresAt time.Time
	Deadline  time.Time // when it ends however much it is used

	token Token
}

// Token returns the token by which the session was read, made or renewed.
func (s *Session) Token() Token { return s.token }

// Start describes a new session. All fields are optional.
type Start struct {
	User      string // "": nobody yet
	Payload   []byte // any bytes; for Merge a JSON object that CheckJSON lets pass
	IP        netip.Addr
	UserAgent string // cut to 512 bytes

	// IdleTimeout, SkipWindow and Lifetime replace those of Options, if not 0.
	IdleTimeout, SkipWindow, Lifetime time.Duration
}

// Create starts a session and returns it; Session.Token is for the client. It
// is on disk when Create returns.
//
// Errors: ErrUserLimit, ErrPayloadTooLarge, ErrInvalidUser, those of the
// database.
func (m *Manager) Create(ctx context.Context, start Start) (*Session, error) {
	if start.User != "" {
		if err := checkUser(start.User); err != nil {
			return nil, err
		}
	}
	if err := m.checkPayload(start.Payload); err != nil {
		return nil, err
	}
	s := &Session{User: start.User, Payload: start.Payload, token: newToken(newID())}
	s.ID = s.token.id
	idle := or(start.IdleTimeout, m.opts.IdleTimeout)
	skip := or(start.SkipWindow, m.opts.SkipWindow)
	lifetime := or(start.Lifetime, m.opts.Lifetime)
	err := m.write(ctx, []any{&s.Version, &s.CreatedAt, &s.ExpiresAt, &s.Deadline}, "session_create",
		s.ID.String(), s.token.hash(), orNull(start.User), notNil(start.Payload),
		interval(idle, NoIdleTimeout, nil), interval(skip, NoSkip, new(time.Duration)), lifetime,
		address(start.IP), orNull(cut(start.UserAgent)), m.userLimit(), m.opts.RevokeOldest)
	m.wrote(s.ID, m.mayRevoke(start.User))
	if err != nil {
		return nil, err
	}
	s.LastSeenAt = s.CreatedAt
	m.stats.created.Add(1)
	return s, nil
}

// wrote keeps to the primary what this call has written, whatever came of it: a
// session, all of a user, or both.
func (m *Manager) wrote(id ID, user string) {
	if m.standbys != nil {
		m.standbys.recent.note(subject{id: id})
		m.standbys.recent.note(subject{user: user})
	}
}

// mayRevoke is the user if a new session may end old ones.
func (m *Manager) mayRevoke(user string) string {
	if m.opts.UserLimit > 0 && m.opts.RevokeOldest {
		return user
	}
	return ""
}

// write runs a statement whose effect is on disk when it returns.
func (m *Manager) write(ctx context.Context, scan []any, query string, args ...any) error {
	return refusal(m.run.Write(ctx, statement.Durable(), scan, query, args...))
}

func (m *Manager) userLimit() *int {
	if m.opts.UserLimit == 0 {
		return nil
	}
	return &m.opts.UserLimit
}

func (m *Manager) checkPayload(payload []byte) error {
	if len(payload) > m.opts.MaxPayloadBytes {
		return fmt.Errorf("%w: %d bytes, at most %d (Options.MaxPayloadBytes)", ErrPayloadTooLarge, len(payload), m.opts.MaxPayloadBytes)
	}
	return nil
}

func checkUser(user string) error {
	switch {
	case user == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidUser)
	case len(user) > 1024:
		return fmt.Errorf("%w: it has %d bytes, at most 1024", ErrInvalidUser, len(user))
	case !utf8.ValidString(user) || strings.ContainsRune(user, 0):
		return fmt.Errorf("%w: it must be UTF-8 without zero characters", ErrInvalidUser)
	}
	return nil
}

// cut makes a user agent, which is whatever a client sends, fit for a text
// column.
func cut(agent string) string {
	if len(agent) > 512 {
		agent = agent[:512]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(agent, ""), "\x00", "")
}

func or(own, def time.Duration) time.Duration {
	if own != 0 {
		return own
	}
	return def
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// interval is a duration as a parameter: 0 is NULL, and none is instead.
func interval(d, none time.Duration, instead *time.Duration) *time.Duration {
	switch d {
	case 0:
		return nil
	case none:
		return instead
	}
	return &d
}

func address(ip netip.Addr) *netip.Addr {
	if !ip.IsValid() {
		return nil
	}
	ip = ip.WithZone("")
	return &ip
}
