package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	db, err := howdah.Open(t.Context(), databaseURL, &howdah.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	defer db.Close()
	manager, err := session.New(db, &session.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	create := func(user, agent string) *session.Session {
		s, err := manager.Create(t.Context(), session.Start{User: user, UserAgent: agent, Payload: []byte("hush")})
		require.NoError(t, err)
		return s
	}
	sessions := func(args ...string) result {
		return execute(t, "", []string{"HOWDAH_DATABASE_URL=" + databaseURL}, append([]string{"sessions"}, args...)...)
	}
	lines := func(r result) []string {
		require.Equal(t, 0, r.code, r.err)
		return strings.Split(strings.TrimSpace(r.out), "\n")[1:] // without the header
	}
	require.Empty(t, lines(sessions("list")))
	ada := create("ada", "curl\x1b[31m\nfake line")
	create("ada", "Firefox")
	bob := create("bob", "")

	all := sessions("list")
	require.Len(t, lines(all), 3)
	require.Contains(t, all.out, ada.ID.String())
	require.NotContains(t, all.out, "\x1b", "an escape sequence reaches the terminal")
	require.NotContains(t, all.out, "hush")
	require.NotContains(t, all.out, ada.Token().Reveal()[30:])
	require.Len(t, lines(sessions("list", "--user", "ada")), 2)
	require.Empty(t, lines(sessions("list", "--user", "nobody")))

	require.Equal(t, result{}, sessions("revoke", bob.ID.String()))
	_, err = manager.Get(t.Context(), bob.Token())
	require.ErrorIs(t, err, session.ErrNotFound)
	again := sessions("revoke", bob.ID.String())
	require.Equal(t, 1, again.code)
	require.Contains(t, again.err, "no session "+bob.ID.String())
	require.Equal(t, result{out: "2\n"}, sessions("revoke", "--user", "ada"))
	require.Equal(t, result{out: "0\n"}, sessions("revoke", "--user", "ada"))
	require.Empty(t, lines(sessions("list")))

	for _, args := range [][]string{
		{"lst"}, {"list", "ada"}, {"revoke"}, {"revoke", "ada"}, {"revoke", bob.ID.String(), "--user", "ada"}, {"revoke", "a", "b"},
	} {
		r := sessions(args...)
		require.Equal(t, 2, r.code, "%v: %s", args, r.err)
		require.Empty(t, r.out)
	}
	require.Equal(t, 1, sessions("revoke", "--user", "").code)
	require.Equal(t, 2, execute(t, "", nil, "sessions", "list").code, "no database")
}

// TestSessionPages: a list goes on behind its first page, with one header.
func TestSessionPages(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	query(t, databaseURL, fmt.Sprintf(`
		SELECT howdah.session_create(id => gen_random_uuid(), secret_hash => sha256(i::text::bytea))
		FROM generate_series(1, %d) AS i`, sessionPage+1))
	r := execute(t, "", nil, "sessions", "list", "--database-url", databaseURL)
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, sessionPage+1+1, strings.Count(r.out, "\n"))
	require.Equal(t, 1, strings.Count(r.out, "LAST SEEN"))
}
