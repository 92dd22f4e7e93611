package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Save replaces the payload if the session still has this version, and returns
// the new one. It is on disk when Save returns, and counts as a use.
//
// Errors: ErrConflict, ErrNotFound, ErrPayloadTooLarge, those of the database.
func (m *Manager) Save(ctx context.Context, token Token, version int64, payload []byte) (int64, error) {
	if err := m.checkPayload(payload); err != nil {
		return 0, err
	}
	var saved bool
	var current int64
	err := m.write(ctx, []any{&saved, &current},
		"session_save",
		token.id.String(), token.hash(), version, notNil(payload))
	m.wrote(token.id, "")
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, ErrNotFound
	case err != nil:
		return 0, err
	case !saved:
		return 0, ErrConflict
	}
	return current, nil
}

// Patch changes the payload by a function of the old one. If another request
// saves meanwhile, the function is called again with what that one saved, so it
// must do nothing but compute. An error of the function is returned as it is.
//
// Errors: ErrNotFound, ErrPayloadTooLarge, ErrConflict after losing 100 times,
// those of the database.
func (m *Manager) Patch(ctx context.Context, token Token, change func(old []byte) ([]byte, error)) (*Session, error) {
	for range 100 {
		s, err := m.current(ctx, token)
		if err != nil {
			return nil, err
		}
		payload, err := change(s.Payload)
		if err != nil {
			return nil, err
		}
		s.Version, err = m.Save(ctx, token, s.Version, payload)
		if err == nil {
			s.Payload = payload
			return s, nil
		}
		if !errors.Is(err, ErrConflict) {
			return nil, err
		}
	}
	return nil, ErrConflict
}

// Merge changes fields of a payload that is a JSON object, or empty: it removes
// some, sets others, and leaves the rest as it is, in one statement. Requests
// that merge at the same time all take effect. It returns the new payload and
// version, and counts as a use. What CheckJSON refuses is not sent.
//
// Errors: ErrNotFound, ErrPayloadTooLarge, ErrNotJSON, those of the database.
func (m *Manager) Merge(ctx context.Context, token Token, set map[string]json.RawMessage, remove ...string) (payload []byte, version int64, err error) {
	if set == nil {
		set = map[string]json.RawMessage{}
	}
	fields, err := object(set)
	if err != nil {
		return nil, 0, err
	}
	if err := m.checkPayload(fields); err != nil {
		return nil, 0, err
	}
	if remove == nil {
		remove = []string{}
	}
	err = m.write(ctx, []any{&version, &payload},
		"session_merge",
		token.id.String(), token.hash(), string(fields), remove, m.opts.MaxPayloadBytes)
	m.wrote(token.id, "")
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, ErrNotFound
	}
	return payload, version, err
}

// Renewal says what changes together with the secret. The zero value changes
// nothing else.
type Renewal struct {
	// User is who has logged in; "" leaves the user as it is. A user who
	// differs from the session's present one is refused with ErrInvalidUser:
	// what one user left in a session is no business of another.
	User string
	// Restart starts a new Options.Lifetime, as for somebody who has just
	// logged in. Otherwise the deadline stays.
	Restart bool
}

// Rotate gives the session a new secret and returns it with its new token; the
// old token is dead. Do it at login and at every change of privilege. It is on
// disk when Rotate returns. The payload is that of the version, also where
// another request saved meanwhile.
//
// Errors: ErrNotFound, ErrUserLimit, ErrInvalidUser, those of the database.
func (m *Manager) Rotate(ctx context.Context, token Token, renewal Renewal) (*Session, error) {
	s, err := m.current(ctx, token)
	if err != nil {
		return nil, err
	}
	if renewal.User != "" {
		if err := checkUser(renewal.User); err != nil {
			return nil, err
		}
		if s.User != "" && s.User != renewal.User {
			return nil, fmt.Errorf("%w: the session is that of another user; start a new one", ErrInvalidUser)
		}
	}
	next := newToken(token.id)
	lifetime := m.opts.Lifetime
	if !renewal.Restart {
		lifetime = 0
	}
	var version int64
	var user *string
	err = m.write(ctx, []any{&version, &user, &s.ExpiresAt, &s.Deadline}, "session_rotate",
		token.id.String(), token.hash(), next.hash(), orNull(renewal.User),
		interval(lifetime, 0, nil), m.userLimit(), m.opts.RevokeOldest)
	m.wrote(token.id, m.mayRevoke(renewal.User))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if user != nil {
		s.User = *user
	}
	s.token = next
	m.stats.rotated.Add(1)
	if version == s.Version+1 {
		s.Version = version
		return s, nil
	}
	// Another request saved after s was read: its payload is not this version's.
	if now, err := m.current(ctx, next); err == nil {
		return now, nil
	}
	// The token is changed, so this is no failure. With the version that was read
	// the next Save is a conflict, and overwrites nothing.
	return s, nil
}
