package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestDoctorFix(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	query(t, url, "CREATE TABLE public.cache (key varchar(10) PRIMARY KEY, value text)")
	query(t, url, "CREATE TABLE public.page_cache (key varchar(10) PRIMARY KEY, value text)")
	fix := func(stdin string, flags ...string) result {
		return execute(t, stdin, []string{"HOWDAH_DATABASE_URL=" + url}, append([]string{"doctor", "--fix"}, flags...)...)
	}
	columnType := func(table string) (name string) {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::regclass AND attname = 'key'", table).Scan(&name))
		return name
	}
	r := fix("varchar-limit\n", "varchar-limit")
	require.Equal(t, exitUsage, r.code, "never two findings")
	require.Contains(t, r.err, "give --object with one of: public.cache, public.page_cache")

	// The answer is the id of the finding.
	for answer, says := range map[string]string{"": "no answer", "yes\n": "that is not the id of the finding"} {
		r = fix(answer, "varchar-limit", "--object", "public.cache")
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, "\n1 of 1\n    ALTER TABLE public.cache ALTER COLUMN key TYPE text;\n  It locks the table")
		require.Contains(t, r.err, "It waits for locks for at most 2s.")
		require.Contains(t, r.err, says)
		require.Contains(t, r.err, "nothing was changed")
		require.Empty(t, r.out)
	}
	require.Equal(t, "character varying(10)", columnType("public.cache"))

	// Another session holds the table: the wait is short.
	holder, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer holder.Close(context.Background())
	_, err = holder.Exec(t.Context(), "BEGIN; INSERT INTO public.cache VALUES ('a', 'b')")
	require.NoError(t, err)
	r = fix("", "varchar-limit", "--object", "public.cache", "--yes")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "statement 1 of 1 failed: the lock was not free in time, and nothing was changed")
	_, err = holder.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)

	r = fix("varchar-limit\n", "varchar-limit", "--object", "public.cache")
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `^1 of 1: ALTER TABLE \(\d+\.\d s\)\nrepaired: the finding is no longer there\n$`, r.out)
	require.Equal(t, "text", columnType("public.cache"))
	require.Equal(t, "character varying(10)", columnType("public.page_cache"))

	r = fix("", "varchar-limit", "--object", "public.page_cache", "--yes", "--output", "json")
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.err, "a script is not shown what a person is")
	done := jsonLines(t, r.out)[0]
	require.Equal(t, false, done["found"])
	require.Equal(t, "ALTER TABLE", done["statements"].([]any)[0].(map[string]any)["result"])

	r = fix("", "varchar-limit", "--object", "public.cache", "--yes")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "there is no finding \"varchar-limit\"")
	require.Equal(t, exitUsage, fix("", "varchar-limit", "--yes").code, "--yes names all")
	require.Equal(t, exitUsage, execute(t, "", nil, "doctor", "--object", "x").code)
}

// A statement outside of a transaction block, and a finding without a repair.
func TestDoctorFixKinds(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	query(t, url, "CREATE TABLE public.cache (key text PRIMARY KEY, value text, expires_at timestamptz)")
	query(t, url, "CREATE INDEX cache_key_again ON public.cache (key)")
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	report := jsonLines(t, compact(t, execute(t, "", env, "doctor", "--json").out))[0]
	var without, concurrently map[string]any
	for _, each := range report["findings"].([]any) {
		f := each.(map[string]any)
		if repairs := f["repair"].([]any); len(repairs) == 0 {
			without = f
		} else if repairs[0] == "DROP INDEX CONCURRENTLY public.cache_key_again" {
			concurrently = f
		}
	}
	require.NotNil(t, concurrently, report)
	r := execute(t, "", env, "doctor", "--fix", concurrently["id"].(string), "--object", concurrently["object"].(string), "--yes")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "1 of 1: DROP INDEX")
	require.Contains(t, r.out, "repaired: the finding is no longer there")

	require.NotNil(t, without, report)
	r = execute(t, "", env, "doctor", "--fix", without["id"].(string), "--object", without["object"].(string), "--yes")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "no statement repairs "+without["id"].(string))
	require.Contains(t, r.err, without["note"].(string)[:20])
}

// Ctrl-C cancels the statement in the database too.
func TestDoctorFixStopped(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	query(t, url, "CREATE TABLE public.cache (key text PRIMARY KEY, value text, expires_at timestamptz)")
	query(t, url, "CREATE INDEX cache_key_again ON public.cache (key)")
	holder, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer holder.Close(context.Background())
	_, err = holder.Exec(t.Context(), "BEGIN; INSERT INTO public.cache VALUES ('a', 'b')") // DROP INDEX CONCURRENTLY waits for it
	require.NoError(t, err)

	report := jsonLines(t, compact(t, execute(t, "", nil, "doctor", "--json", "--database-url", url).out))[0]
	var id, object string
	for _, each := range report["findings"].([]any) {
		f := each.(map[string]any)
		if repairs := f["repair"].([]any); len(repairs) > 0 && repairs[0] == "DROP INDEX CONCURRENTLY public.cache_key_again" {
			id, object = f["id"].(string), f["object"].(string)
		}
	}
	require.NotEmpty(t, id)
	var errOut bytes.Buffer
	fix := exec.Command(os.Args[0], "doctor", "--database-url", url, "--fix", id, "--object", object, "--yes")
	fix.Env, fix.Stderr = cleanEnvironment(), &errOut
	require.NoError(t, fix.Start())
	t.Cleanup(func() { _ = fix.Process.Kill() })
	running := func() (n int) {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DROP INDEX CONCURRENTLY%' AND state = 'active' AND datname = current_database()").Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return running() == 1 }, time.Minute, 10*time.Millisecond)
	require.NoError(t, fix.Process.Signal(os.Interrupt))
	require.Error(t, fix.Wait())
	require.Equal(t, exitFailed, fix.ProcessState.ExitCode())
	require.Contains(t, errOut.String(), "statement 1 of 1 failed: it was stopped, and it may have done a part of its work: examine again")
	require.Zero(t, running())
}
