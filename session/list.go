package session

import (
	"context"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
)

// Info is a session as people look at it: without payload and without secret.
type Info struct {
	ID         ID         `json:"id"`
	User       string     `json:"user,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	LastSeenAt time.Time  `json:"last_seen_at"` // coarse: up to Options.SkipWindow old
	ExpiresAt  time.Time  `json:"expires_at"`   // at the latest, if it is not used again
	Deadline   time.Time  `json:"deadline"`     // however much it is used
	IP         netip.Addr `json:"ip,omitzero"`
	UserAgent  string     `json:"user_agent,omitempty"`
	// Bytes is the length of the payload.
	Bytes int `json:"bytes"`
}

// List returns the live sessions of a user, newest first.
//
// Errors: ErrInvalidUser, those of the database.
func (m *Manager) List(ctx context.Context, user string) ([]Info, error) {
	if err := checkUser(user); err != nil {
		return nil, err
	}
	return m.list(ctx, "session_list", user)
}

// All returns the live sessions of everybody whose ids come after the given
// one, in the order of ids, at most limit. The zero ID comes before all; ids of
// version 7 are in the order of creation.
func (m *Manager) All(ctx context.Context, after ID, limit int) ([]Info, error) {
	return m.list(ctx, "session_all", after.String(), int64(limit))
}

func (m *Manager) list(ctx context.Context, query string, args ...any) (list []Info, err error) {
	err = m.run.Query(ctx, func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, scanInfo)
		return err
	}, query, args...)
	return list, err
}

func scanInfo(row pgx.CollectableRow) (info Info, err error) {
	var id string
	var ip *netip.Addr
	err = row.Scan(&id, &info.User, &info.CreatedAt, &info.LastSeenAt, &info.ExpiresAt, &info.Deadline,
		&ip, &info.UserAgent, &info.Bytes)
	if err == nil {
		info.ID, err = ParseID(id)
	}
	if ip != nil {
		info.IP = *ip
	}
	return info, err
}

// CountUser returns how many live sessions a user has.
//
// Errors: ErrInvalidUser, those of the database.
func (m *Manager) CountUser(ctx context.Context, user string) (n int64, err error) {
	if err := checkUser(user); err != nil {
		return 0, err
	}
	err = m.run.Read(ctx, []any{&n}, "session_count_user", user)
	return n, err
}

// Count returns how many live sessions there are. It reads the whole table:
// for people, not for every request.
func (m *Manager) Count(ctx context.Context) (n int64, err error) {
	err = m.run.Read(ctx, []any{&n}, "session_count")
	return n, err
}
