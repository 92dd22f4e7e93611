package main

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMaintain(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	store := func() {
		_, err := conn.Exec(t.Context(), `SELECT howdah.set_text('db0', 'k' || i, 'v', interval '1 microsecond') FROM generate_series(1, 50) AS i`)
		require.NoError(t, err)
	}
	left := func() (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+pgtest.Table(t, conn, "db0")).Scan(&n))
		return n
	}

	store()
	r := execute(t, "", []string{"HOWDAH_DATABASE_URL=" + url}, "maintain", "--once")
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `db0 +50 +0 `, r.out)
	require.Zero(t, left())

	// On a busy machine it may come to no round in a short time.
	for length := 3 * time.Second; ; length *= 2 {
		store()
		began := time.Now()
		r = execute(t, "", nil, "maintain", "--database-url", url, "--for", length.String())
		require.Zero(t, r.code, r.err)
		require.GreaterOrEqual(t, time.Since(began), length)
		if length > 20*time.Second || strings.Contains(r.out, "rounds, 50 entries expired, 0 evicted") {
			break
		}
	}
	require.Regexp(t, `rounds, 50 entries expired, 0 evicted`, r.out)
	require.Zero(t, left())

	for _, wrong := range [][]string{
		{"maintain"},
		{"maintain", "--database-url", url, "--once", "--for", "1s"},
		{"maintain", "--database-url", url, "--cache", "db0"},
	} {
		require.Equal(t, exitUsage, execute(t, "", nil, wrong...).code, wrong)
	}
	r = execute(t, "", nil, "maintain", "--database-url", url, "--once", "--cache", "none")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "create_cache")
}
