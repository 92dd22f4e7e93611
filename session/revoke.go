package session

import (
	"context"
)

// End logs out: it ends the session of a token. Whoever knows the id alone
// cannot do this. A session that is gone already is no error; ended says
// whether it was alive. It is on disk when End returns.
func (m *Manager) End(ctx context.Context, token Token) (ended bool, err error) {
	err = m.write(ctx, []any{&ended}, "session_end",
		token.id.String(), token.hash())
	m.ended(token.id)
	return ended, m.revoked(err, ended)
}

// Revoke ends a session by its id, whosever it is: for administrators. For
// users there is RevokeOwn.
func (m *Manager) Revoke(ctx context.Context, id ID) (ended bool, err error) {
	err = m.write(ctx, []any{&ended}, "session_revoke", id.String())
	m.ended(id)
	return ended, m.revoked(err, ended)
}

// RevokeOwn ends a session by its id if it is one of this user; another user's
// stays, and ended is false as for one that does not exist.
//
// Errors: ErrInvalidUser, those of the database.
func (m *Manager) RevokeOwn(ctx context.Context, user string, id ID) (ended bool, err error) {
	if err := checkUser(user); err != nil {
		return false, err
	}
	err = m.write(ctx, []any{&ended}, "session_revoke_own", id.String(), user)
	m.wrote(id, "")
	return ended, m.revoked(err, ended)
}

// RevokeUser ends all sessions of a user and returns how many were alive.
//
// Errors: ErrInvalidUser, those of the database.
func (m *Manager) RevokeUser(ctx context.Context, user string) (ended int64, err error) {
	if err := checkUser(user); err != nil {
		return 0, err
	}
	err = m.write(ctx, []any{&ended}, "session_revoke_user", user)
	m.wrote(ID{}, user)
	m.stats.revoked.Add(ended)
	return ended, err
}

// RevokeOthers ends all sessions of a user but one.
//
// Errors: ErrInvalidUser, those of the database.
func (m *Manager) RevokeOthers(ctx context.Context, user string, keep ID) (ended int64, err error) {
	if err := checkUser(user); err != nil {
		return 0, err
	}
	err = m.write(ctx, []any{&ended}, "session_revoke_others", user, keep.String())
	m.wrote(ID{}, user)
	m.stats.revoked.Add(ended)
	return ended, err
}

// ended drops what is remembered of a session that was ended.
func (m *Manager) ended(id ID) {
	m.forget(id)
	m.wrote(id, "")
}

func (m *Manager) revoked(err error, ended bool) error {
	if ended {
		m.stats.revoked.Add(1)
	}
	return err
}
