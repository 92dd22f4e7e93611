package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// On a terminal a start says what it does, then what listens where and how to reach it; from then on the
// log is short lines.
func TestFirstScreen(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	term := openTerminal(t, 120, 40, "serve", "--data-dir", dir, "--redis-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--shutdown-timeout", "1m")
	t.Cleanup(func() { // before the directory is removed
		_ = term.cmd.Process.Kill()
		_ = term.cmd.Wait()
	})
	require.Eventually(t, func() bool { return strings.Contains(term.output(), "Data     "+dir) }, time.Minute, 10*time.Millisecond, term.output())
	shown := strings.ReplaceAll(term.output(), "\r\n", "\n")
	require.Regexp(t, `(?s)^looking for an installed PostgreSQL\n.*creating a PostgreSQL \d+ in `+dir+`/pg\nstarting PostgreSQL .*\nbringing the schema up to date\n\nHowdah .* is ready`, shown)
	require.Regexp(t, `(?m)^  Redis    127\.0\.0\.1:(\d+) +redis-cli -p \d+ SET greeting hello EX 60, or: \S+.* cli --data-dir `+dir+`$`, shown)
	require.Regexp(t, `(?m)^  HTTP     127\.0\.0\.1:\d+ +curl 'http://127\.0\.0\.1:\d+/get\?key=greeting'$`, shown)
	require.Regexp(t, `(?m)^  Console  http://127\.0\.0\.1:\d+/console/$`, shown)
	require.Regexp(t, `(?m)^  SQL      \S+.* psql --data-dir `+dir+`$`, shown)
	require.NotContains(t, shown, "schema step")
	require.NotContains(t, shown, "level=INFO")
	require.NoError(t, term.cmd.Process.Signal(syscall.SIGINT))
	require.Eventually(t, func() bool { return strings.Contains(term.output(), "stopped") }, time.Minute, 10*time.Millisecond)
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d shutting down  \(timeout=1m0s\)\r$`, term.output())
}

// Elsewhere it says so in its log, one line for all of the schema. Who chooses a format gets it on a terminal too.
func TestStartInTheLog(t *testing.T) {
	t.Parallel()
	p := serveIn(t, dataDir(t), nil)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.wait()
	require.Regexp(t, `(?s)^(\S+ level=INFO msg="PostgreSQL refuses to run as root[^\n]*\n)?\S+ level=INFO msg="looking for an installed PostgreSQL"\n`, p.log.String())
	require.Contains(t, p.log.String(), `msg="bringing the schema up to date"`)
	require.Contains(t, p.log.String(), `msg="the data is in `)
	require.Equal(t, 2, strings.Count(p.log.String(), "schema"), p.log.String())

	term := openTerminal(t, 120, 40, "serve", "--database-url", pgtest.New(t), "--redis-addr", "127.0.0.1:0", "--http-addr", "off", "--log-format", "json")
	require.Eventually(t, func() bool { return strings.Contains(term.output(), `"msg":"ready for Redis clients"`) }, time.Minute, 10*time.Millisecond)
	require.NotContains(t, term.output(), "is ready.")
}
