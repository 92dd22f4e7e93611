package main

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	// A server with normal durability: the shared one has fsync off.
	server := pgtest.Own(t)
	databaseURL := server.NewURL()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	defer conn.Close(t.Context())

	doctor := func(flags ...string) result {
		return execute(t, "", []string{"HOWDAH_DATABASE_URL=" + databaseURL}, append([]string{"doctor"}, flags...)...)
	}
	fresh := doctor()
	require.Equal(t, 0, fresh.code, fresh)
	require.Contains(t, fresh.out, "Nothing is wrong.")
	require.NotContains(t, fresh.out, "not-checked")
	require.Empty(t, fresh.err)
	require.Contains(t, doctor("--verbose").out, "not-checked")

	_, err = conn.Exec(t.Context(), "CREATE TABLE public.cache (key varchar(10) PRIMARY KEY, value text)")
	require.NoError(t, err)
	warned := doctor()
	require.Equal(t, 1, warned.code)
	require.Contains(t, warned.out, "public.cache: varchar-limit")
	require.Contains(t, warned.out, "    ALTER TABLE public.cache ALTER COLUMN key TYPE text;\n")
	require.Equal(t, "howdah: 0 errors, 1 warning\n", warned.err)
	require.Equal(t, 0, doctor("--cache", "db0").code)

	_, err = conn.Exec(t.Context(), "CREATE TABLE public.sessions (id bigserial PRIMARY KEY, data text)")
	require.NoError(t, err)
	failed := doctor("--json")
	require.Equal(t, 2, failed.code)
	var report struct {
		Findings []struct{ ID, Severity, Object string }
	}
	require.NoError(t, json.Unmarshal([]byte(failed.out), &report))
	require.Equal(t, "sequential-session-id", report.Findings[0].ID)
	require.Equal(t, "error", report.Findings[0].Severity)

	_, err = conn.Exec(t.Context(), "DROP TABLE public.sessions, public.cache; UPDATE howdah.meta SET functions = 0")
	require.NoError(t, err)
	outdated := doctor()
	require.Equal(t, 2, outdated.code)
	require.Contains(t, outdated.out, `run "howdah migrate"`)

	missing := doctor("--cache", "none")
	require.Equal(t, 2, missing.code)
	require.Contains(t, missing.err, `there is no cache "none"`)
	server.Stop("fast")
	require.Equal(t, 2, doctor().code, "what could not be examined is not healthy")
	require.Equal(t, 2, execute(t, "", nil, "doctor").code)
}
