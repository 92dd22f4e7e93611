package session_test

import (
	"encoding/json"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// The same verbs behind each kind of connection.
func TestVerbs(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *session.Manager{
		"pool of our own": func(t *testing.T) *session.Manager {
			m, _ := open(t, session.Options{})
			return m
		},
		"unnamed statements, as behind a transaction pooler": func(t *testing.T) *session.Manager {
			m, _ := openURL(t, pgtest.New(t)+"&pooler=transaction", session.Options{})
			return m
		},
		"pool of the application": func(t *testing.T) *session.Manager {
			pool, err := pgxpool.New(t.Context(), pgtest.New(t))
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			db, err := howdah.OpenPool(t.Context(), pool, nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return manager(t, db, session.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) { verbs(t, open(t)) })
	}
}

func verbs(t *testing.T, m *session.Manager) {
	ctx := t.Context()
	start := session.Start{
		User: "ada", Payload: []byte(`{"a": 1}`), IP: netip.MustParseAddr("2001:db8::1"),
		UserAgent: "Mozilla\x00 \xff" + strings.Repeat("x", 2000),
	}
	s := create(t, m, start)
	require.NotZero(t, s.CreatedAt)
	about(t, 40*time.Minute, s.ExpiresAt.Sub(s.CreatedAt))
	about(t, 7*24*time.Hour, s.Deadline.Sub(s.CreatedAt))

	got := get(t, m, s.Token())
	require.Equal(t, s, got)

	text := s.Token().Reveal()
	require.Len(t, text, session.TokenLength)
	parsed, err := session.ParseToken(text)
	require.NoError(t, err)
	require.Equal(t, s.ID, get(t, m, parsed).ID)

	// Save by version.
	version, err := m.Save(ctx, s.Token(), s.Version, []byte("\x00 any bytes \xff"))
	require.NoError(t, err)
	require.Greater(t, version, s.Version)
	_, err = m.Save(ctx, s.Token(), s.Version, []byte("late"))
	require.ErrorIs(t, err, session.ErrConflict)
	require.Equal(t, []byte("\x00 any bytes \xff"), get(t, m, s.Token()).Payload)

	// Merge needs JSON, and says so without changing anything.
	_, _, err = m.Merge(ctx, s.Token(), map[string]json.RawMessage{"x": json.RawMessage("1")})
	require.ErrorIs(t, err, session.ErrNotJSON)
	for _, payload := range []string{"[1]", "null", "{", `"text"`} {
		patched, err := m.Patch(ctx, s.Token(), func([]byte) ([]byte, error) { return []byte(payload), nil })
		require.NoError(t, err)
		_, _, err = m.Merge(ctx, s.Token(), map[string]json.RawMessage{"x": json.RawMessage("1")})
		require.ErrorIs(t, err, session.ErrNotJSON, payload)
		require.Equal(t, patched.Version, get(t, m, s.Token()).Version)
	}
	_, err = m.Patch(ctx, s.Token(), func([]byte) ([]byte, error) { return []byte(`{"a": 1, "b": {"c": 2}, "gone": null}`), nil })
	require.NoError(t, err)
	payload, version, err := m.Merge(ctx, s.Token(),
		map[string]json.RawMessage{"a": json.RawMessage(`"\ud83d\udc18"`), "n": json.RawMessage("12345678901234567890.5"), "nil": json.RawMessage("null")},
		"gone", "never there")
	require.NoError(t, err)
	require.JSONEq(t, `{"a": "🐘", "b": {"c": 2}, "n": 12345678901234567890.5, "nil": null}`, string(payload))
	require.Contains(t, string(payload), "12345678901234567890.5")
	require.Equal(t, version, get(t, m, s.Token()).Version)
	_, _, err = m.Merge(ctx, s.Token(), map[string]json.RawMessage{"z": json.RawMessage(`"\u0000"`)})
	require.ErrorIs(t, err, session.ErrNotJSON)
	_, _, err = m.Merge(ctx, s.Token(), map[string]json.RawMessage{"z": json.RawMessage(`{broken`)})
	require.ErrorIs(t, err, session.ErrNotJSON)

	// Lists.
	other := create(t, m, session.Start{User: "ada"})
	nobody := create(t, m, session.Start{})
	require.Empty(t, get(t, m, nobody.Token()).User)
	list, err := m.List(ctx, "ada")
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, other.ID, list[0].ID, "newest first")
	require.Equal(t, s.ID, list[1].ID)
	require.Equal(t, start.IP, list[1].IP)
	require.Equal(t, "Mozilla "+strings.Repeat("x", 502), list[1].UserAgent)
	require.Equal(t, len(payload), list[1].Bytes)
	n, err := m.CountUser(ctx, "ada")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	n, err = m.Count(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)

	page, err := m.All(ctx, session.ID{}, 2)
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.Equal(t, s.ID, page[0].ID)
	page, err = m.All(ctx, page[1].ID, 1<<33)
	require.NoError(t, err)
	require.Len(t, page, 1)

	// Rotate keeps everything but the secret.
	rotated, err := m.Rotate(ctx, s.Token(), session.Renewal{})
	require.NoError(t, err)
	require.Equal(t, s.ID, rotated.ID)
	require.NotEqual(t, text, rotated.Token().Reveal())
	dead(t, m, s.Token())
	require.Equal(t, payload, get(t, m, rotated.Token()).Payload)
	_, err = m.Rotate(ctx, s.Token(), session.Renewal{})
	require.ErrorIs(t, err, session.ErrNotFound)
	_, err = m.Rotate(ctx, rotated.Token(), session.Renewal{User: "eve"})
	require.ErrorIs(t, err, session.ErrInvalidUser)

	// The ways to end.
	ended, err := m.End(ctx, s.Token())
	require.NoError(t, err)
	require.False(t, ended, "the old token ends nothing")
	ended, err = m.RevokeOwn(ctx, "eve", other.ID)
	require.NoError(t, err)
	require.False(t, ended, "another user's session")
	get(t, m, other.Token())
	revoked, err := m.RevokeOthers(ctx, "ada", rotated.ID)
	require.NoError(t, err)
	require.EqualValues(t, 1, revoked)
	dead(t, m, other.Token())
	ended, err = m.RevokeOwn(ctx, "ada", rotated.ID)
	require.NoError(t, err)
	require.True(t, ended)
	dead(t, m, rotated.Token())
	ended, err = m.End(ctx, nobody.Token())
	require.NoError(t, err)
	require.True(t, ended)
	ended, err = m.Revoke(ctx, nobody.ID)
	require.NoError(t, err)
	require.False(t, ended)
	create(t, m, session.Start{User: "ada"})
	create(t, m, session.Start{User: "ada"})
	revoked, err = m.RevokeUser(ctx, "ada")
	require.NoError(t, err)
	require.EqualValues(t, 2, revoked)

	// Everything says that a dead token is dead.
	_, err = m.Save(ctx, s.Token(), 1, nil)
	require.ErrorIs(t, err, session.ErrNotFound)
	_, _, err = m.Merge(ctx, s.Token(), nil)
	require.ErrorIs(t, err, session.ErrNotFound)
	_, err = m.Patch(ctx, s.Token(), func(old []byte) ([]byte, error) { return old, nil })
	require.ErrorIs(t, err, session.ErrNotFound)

	// A user who logs in.
	anonymous := create(t, m, session.Start{Payload: []byte(`{"cart": [7]}`)})
	loggedIn, err := m.Rotate(ctx, anonymous.Token(), session.Renewal{User: "ada"})
	require.NoError(t, err)
	require.Equal(t, "ada", get(t, m, loggedIn.Token()).User)
	require.Equal(t, anonymous.Deadline, loggedIn.Deadline)

	_, _, err = m.Expire(ctx)
	require.NoError(t, err)
	require.NoError(t, m.Flush(ctx))
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{MaxPayloadBytes: 1000})
	ctx := t.Context()
	big := make([]byte, 1001)
	_, err := m.Create(ctx, session.Start{Payload: big})
	require.ErrorIs(t, err, session.ErrPayloadTooLarge)
	require.Zero(t, one[int](t, pool, "SELECT count(*) FROM howdah.session"))

	s := create(t, m, session.Start{Payload: []byte(`{"a":"` + strings.Repeat("a", 980) + `"}`)})
	_, err = m.Save(ctx, s.Token(), s.Version, big)
	require.ErrorIs(t, err, session.ErrPayloadTooLarge)
	_, _, err = m.Merge(ctx, s.Token(), map[string]json.RawMessage{"b": json.RawMessage(`"` + strings.Repeat("b", 100) + `"`)})
	require.ErrorIs(t, err, session.ErrPayloadTooLarge)
	require.Equal(t, s, get(t, m, s.Token()), "nothing was lost")

	for _, user := range []string{strings.Repeat("u", 1025), "zero\x00", "\xff"} {
		_, err := m.Create(ctx, session.Start{User: user})
		require.ErrorIs(t, err, session.ErrInvalidUser)
	}
	for _, user := range []string{"", "zero\x00"} {
		_, err = m.RevokeUser(ctx, user)
		require.ErrorIs(t, err, session.ErrInvalidUser)
		_, err = m.RevokeOthers(ctx, user, s.ID)
		require.ErrorIs(t, err, session.ErrInvalidUser)
		_, err = m.RevokeOwn(ctx, user, s.ID)
		require.ErrorIs(t, err, session.ErrInvalidUser)
		_, err = m.List(ctx, user)
		require.ErrorIs(t, err, session.ErrInvalidUser)
	}
	require.Equal(t, s, get(t, m, s.Token()))
	for _, id := range []string{"", "x", s.ID.String() + "0", strings.ReplaceAll(s.ID.String(), "-", "_"), strings.Repeat("g", 36)} {
		_, err := session.ParseID(id)
		require.ErrorIs(t, err, session.ErrInvalidID)
	}
	for _, o := range []session.Options{
		{IdleTimeout: -2}, {IdleTimeout: time.Millisecond}, {SkipWindow: -2}, {Lifetime: -1}, {FlushInterval: -1},
		{MaxStaleness: -1}, {MaxStaleness: time.Millisecond}, {MissRate: -1}, {MaxPayloadBytes: -1}, {MaxPayloadBytes: 2 << 20}, {UserLimit: -1},
		{IdleTimeout: 600_000 * time.Hour}, {SkipWindow: math.MaxInt64}, {Lifetime: 600_000 * time.Hour}, {FlushInterval: math.MaxInt64},
		{ExpireInterval: math.MaxInt64}, {Timeout: 600 * time.Hour}, {MaxStaleness: math.MaxInt64}, {UserLimit: 3_000_000_000},
		{Cookie: session.Cookie{Name: "__Host-x", Domain: "example.org"}}, {Cookie: session.Cookie{Name: "__Secure-x", Insecure: true}},
		{Cookie: session.Cookie{Name: "a b"}}, {Cookie: session.Cookie{Name: "a\r\nSet-Cookie: x"}}, {Cookie: session.Cookie{Path: "/;\r\n"}},
		{Cookie: session.Cookie{Domain: "evil\n"}}, {Cookie: session.Cookie{SameSite: 4, Insecure: true}},
	} {
		_, err := session.New(nil, &o)
		require.ErrorContains(t, err, "session: Options.", "%+v", o)
		require.Equal(t, err, o.Validate())
	}
	db, err := howdah.OpenPool(ctx, pool, nil)
	require.NoError(t, err)
	_, err = session.New(db, &session.Options{ReadURLs: []string{"postgres://h/d", "postgres://u:hunter2@h:port/d"}})
	require.ErrorContains(t, err, "session: Options.ReadURLs[1]")
	require.NotContains(t, err.Error(), "hunter2")
}

// The largest options that New takes work.
func TestLargestOptions(t *testing.T) {
	t.Parallel()
	const day, most = 24 * time.Hour, 30 * 365 * 24 * time.Hour
	m, pool := open(t, session.Options{
		IdleTimeout: most, SkipWindow: most, Lifetime: most, FlushInterval: day, ExpireInterval: day, Timeout: day,
		MaxPayloadBytes: 1 << 20, UserLimit: math.MaxInt32,
	})
	running(t, m)
	s := create(t, m, session.Start{User: "ada"})
	about(t, most, left(t, pool, s.ID))
	_, _, err := m.Merge(t.Context(), s.Token(), map[string]json.RawMessage{"a": json.RawMessage("1")})
	require.NoError(t, err)
	s, err = m.Rotate(t.Context(), s.Token(), session.Renewal{User: "ada", Restart: true})
	require.NoError(t, err)
	age(t, pool, s.ID, time.Hour)
	get(t, m, s.Token())
	require.NoError(t, m.Flush(t.Context()))

	_, err = m.Create(t.Context(), session.Start{IdleTimeout: 2 * most, SkipWindow: 2 * most})
	require.NoError(t, err)
	_, err = m.Create(t.Context(), session.Start{Lifetime: 3 * most})
	require.ErrorContains(t, err, "HW009")
}
