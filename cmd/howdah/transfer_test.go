package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// succeed runs a command that must exit with 0.
func succeed(t *testing.T, stdin string, env []string, args ...string) result {
	t.Helper()
	r := execute(t, stdin, env, args...)
	require.Equal(t, exitOK, r.code, "%v: %s%s", args, r.out, r.err)
	return r
}

// fill stores n strings that expire in two hours.
func fill(t *testing.T, env []string, prefix string, n int) {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"cache":"db0","key":"%s%d","type":"string","value":"text %d","ttl_ms":7200000}`+"\n", prefix, i, i)
	}
	succeed(t, lines.String(), env, "import", "-", "--ttl-from-now")
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	from, to := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}, []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	fill(t, from, "page:", 30)
	succeed(t, "\xff\x00", from, "set", "binary", "-")
	file := filepath.Join(t.TempDir(), "all.jsonl")
	r := succeed(t, "", from, "export", "--file", file)
	require.Empty(t, r.out)
	require.Contains(t, r.err, "31 entries")
	piped := succeed(t, "", from, "export", "--prefix", "page:1")
	require.Len(t, strings.Split(strings.TrimSpace(piped.out), "\n"), 12, "1, 10 to 19, and the end")

	require.Contains(t, succeed(t, "", to, "import", file, "--dry-run").out, "31 would be stored")
	require.Equal(t, exitFailed, execute(t, "", to, "get", "page:7").code)
	r = succeed(t, "", to, "import", file)
	require.Contains(t, r.out, "31 keys: ")
	require.Contains(t, r.out, "31 stored")
	require.Empty(t, r.err)
	require.Equal(t, "text 7", succeed(t, "", to, "get", "page:7").out)
	require.Equal(t, "\xff\x00", succeed(t, "", to, "get", "binary").out)
	require.Regexp(t, `^(2h|1h59m)`, succeed(t, "", to, "ttl", "page:7").out)
	require.Contains(t, succeed(t, piped.out, to, "import", "-").out, "11 kept as the cache had them")

	// A part of an export can be used, and says that it is one.
	cut := strings.Join(strings.SplitAfter(piped.out, "\n")[:5], "")
	r = succeed(t, cut, to, "import", "-", "--into", "db2")
	require.Contains(t, r.out, "5 stored")
	require.Contains(t, r.err, "was interrupted")

	refused := filepath.Join(t.TempDir(), "refused")
	r = execute(t, "{\"cache\":\"db0\",\"key\":\"stream\",\"type\":\"stream\"}\n", to, "import", "-", "--refused", refused, "--output", "json")
	require.Equal(t, exitFailed, r.code)
	var done struct {
		Event  string
		Result struct{ Refused map[string]int }
	}
	require.NoError(t, json.Unmarshal([]byte(lastLine(r.out)), &done))
	require.Equal(t, "done", done.Event)
	require.Len(t, done.Result.Refused, 1)
	require.FileExists(t, refused)

	for _, wrong := range [][]string{
		{"import", "/no/such/file"}, {"import", "-", "--verify"}, {"import", "-", "--repair"}, {"import"}, {"export", "--format", "csv"},
	} {
		require.Equal(t, exitUsage, execute(t, "", to, wrong...).code, wrong)
	}
	require.Equal(t, exitFailed, execute(t, "", from, "export", "--cache", "none").code)
}

// badFile is a file whose file system fails at the end.
type badFile struct{ sync, close error }

func (badFile) Write(p []byte) (int, error) { return len(p), nil }
func (f badFile) Sync() error               { return f.sync }
func (f badFile) Close() error              { return f.close }

// An export whose file may be incomplete fails. A pipe or a device has nothing to sync.
func TestExportIntoABadFile(t *testing.T) {
	t.Parallel()
	write := func(out io.Writer) error {
		_, err := io.WriteString(out, "{}")
		return err
	}
	require.NoError(t, writeAndClose(badFile{}, write))
	require.NoError(t, writeAndClose(badFile{sync: syscall.EINVAL}, write))
	require.ErrorIs(t, writeAndClose(badFile{close: syscall.EDQUOT}, write), syscall.EDQUOT)
	require.ErrorIs(t, writeAndClose(badFile{sync: syscall.EIO}, write), syscall.EIO)
	require.ErrorIs(t, writeAndClose(badFile{}, func(io.Writer) error { return io.ErrShortWrite }), io.ErrShortWrite)

	env := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	fill(t, env, "k", 1)
	succeed(t, "", env, "export", "--file", os.DevNull)
}

func lastLine(text string) string {
	list := strings.Split(strings.TrimSpace(text), "\n")
	return list[len(list)-1]
}

// A server of Howdah is a source like a Redis server.
func TestImportFromAServer(t *testing.T) {
	t.Parallel()
	source := pgtest.New(t)
	p := serve(t, []string{"HOWDAH_PASSWORD=secret"}, "--database-url", source)
	fill(t, []string{"HOWDAH_DATABASE_URL=" + source}, "k", 50)
	folder := t.TempDir()
	state := filepath.Join(folder, "state")
	to := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	url := "redis://:secret@" + p.redis
	importing := func(args ...string) result {
		return execute(t, "", to, append([]string{"import", url, "--state", state}, args...)...)
	}
	r := importing("--dry-run")
	require.Equal(t, exitOK, r.code, r.err)
	require.Contains(t, r.out, "50 keys, of which 50 would be copied")
	r = importing("--verify")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.out, "0 equal, 50 missing")
	r = importing("--page", "7", "--db", "all")
	require.Equal(t, exitOK, r.code, r.err)
	require.Contains(t, r.out, "50 stored")
	r = importing("--verify")
	require.Equal(t, exitOK, r.code, r.out+r.err)
	require.Contains(t, r.out, "50 equal, 0 missing")

	succeed(t, "", []string{"HOWDAH_DATABASE_URL=" + source}, "del", "k1")
	succeed(t, "", []string{"HOWDAH_DATABASE_URL=" + source}, "set", "k2", "other")
	r = importing("--verify", "--repair", "--delete", "--output", "json")
	require.Equal(t, exitOK, r.code, r.out+r.err)
	require.Contains(t, lastLine(r.out), `"repaired":1,"deleted":1`)
	require.Equal(t, "other", succeed(t, "", to, "get", "k2").out)
	require.Equal(t, exitFailed, execute(t, "", to, "get", "k1").code)
	require.NoFileExists(t, state)

	password := filepath.Join(folder, "password")
	require.NoError(t, os.WriteFile(password, []byte("secret\n"), 0o600))
	url = "redis://" + p.redis
	r = importing()
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "asks for a password")
	require.Equal(t, exitOK, importing("--password-file", password).code)
	url = "redis://" + p.http
	r = importing()
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, p.http+" is not a Redis server")
	url = "redis://:wrong@" + p.redis
	r = importing()
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "refuses the password")
	require.NotContains(t, r.err, "again", "there is nothing to go on from")
	require.NotContains(t, r.err, "wrong@")
	for _, text := range []string{"redis://", "http://host", "postgres://host/db", "redis://host/x", "redis://u:p%zz@host"} {
		url = text
		r = importing()
		require.Equal(t, exitUsage, r.code, text)
		require.NotContains(t, r.err, "p%zz")
	}
	url = "redis://:secret@" + p.redis + "/1"
	require.Equal(t, exitUsage, importing("--db", "2").code)
	url = "redis://:secret@" + p.redis
	require.Equal(t, exitUsage, importing("--delete").code)
	require.Equal(t, exitUsage, importing("--db", "0,1", "--into", "db3").code)
}

// Howdah lacks nothing of itself.
func TestCompareWithItself(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, "--database-url", pgtest.New(t))
	server := []string{"HOWDAH_SERVER=redis://" + p.redis}
	succeed(t, "", server, "set", "k", "v")
	r := succeed(t, "", nil, "compare", "redis://"+p.redis)
	require.Contains(t, r.out, "Howdah has every command")
	require.Contains(t, r.out, "howdah caches alter db0 --durability unlogged")
	r = succeed(t, "", nil, "compare", "redis://"+p.redis, "--output", "json")
	var c struct{ Missing, Differs, Same []struct{ Command string } }
	require.NoError(t, json.Unmarshal([]byte(r.out), &c))
	require.Empty(t, c.Missing)
	require.Contains(t, append(c.Same, c.Differs...), struct{ Command string }{"set"})
}

// A role with nothing but what --runtime-role gives copies in both directions. It cannot make
// caches.
func TestTransferByARuntimeRole(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	role := newRole(t, url, "howdah_test_transfer")
	succeed(t, "", []string{"HOWDAH_DATABASE_URL=" + url}, "migrate", "--runtime-role", "howdah_test_transfer")
	source := pgtest.New(t)
	p, app := serve(t, nil, "--database-url", source), []string{"HOWDAH_DATABASE_URL=" + role}
	fill(t, []string{"HOWDAH_DATABASE_URL=" + source}, "k", 20)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"import", "redis://" + p.redis, "--state", state}
	require.Contains(t, succeed(t, "", app, args...).out, "20 stored")
	require.Contains(t, succeed(t, "", app, append(args, "--verify", "--repair", "--delete")...).out, "20 equal")
	require.Len(t, strings.Split(succeed(t, "", app, "export").out, "\n"), 22)
	r := execute(t, "", app, append(args, "--into", "db3")...)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "SELECT howdah.create_database(3) as the owner")
	r = execute(t, "", app, append(args, "--into", "none")...)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "howdah.create_cache('none')")
}

// The password in the URL of a source does not stay in the list of processes.
func TestURLsOfSourcesAreHidden(t *testing.T) {
	t.Parallel()
	const url = "redis://:secret@host"
	args := []string{"howdah", "import", strings.Clone(url)}
	require.Equal(t, url, hideSecrets(args)[2])
	require.Equal(t, strings.Repeat("*", len(url)), args[2])
}
