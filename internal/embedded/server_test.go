//go:build unix

package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// childVar makes the test binary a program that runs a server until it is
// killed.
const childVar = "HOWDAH_TEST_EMBEDDED_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		child(dir)
	}
	goleak.VerifyTestMain(m)
}

func child(dir string) {
	s, err := Start(context.Background(), Config{DataDir: dir, Settings: map[string]string{"fsync": "off"}})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready", s.cmd.Process.Pid, s.watchdog.cmd.Process.Pid)
	select {}
}

// dataDir is a path that no directory has yet, and that an unprivileged user
// can reach: t.TempDir is closed to all but us.
func dataDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("/tmp", "howdah-embedded-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(parent, 0o755))
	dir := filepath.Join(parent, "data")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, Remove(ctx, dir))
		require.NoError(t, os.RemoveAll(parent))
	})
	return dir
}

func begin(t *testing.T, c Config) *Server {
	t.Helper()
	if c.CacheDir == "" {
		var err error
		c.CacheDir, err = DefaultCacheDir()
		require.NoError(t, err)
	}
	if c.Settings == nil { // quicker; no test here pulls the plug of the machine
		c.Settings = map[string]string{"fsync": "off"}
	}
	s, err := Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.Shutdown(ctx, Immediate)
	})
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
}

func run(t *testing.T, url string, sql ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, q := range sql {
		_, err := conn.Exec(t.Context(), q)
		require.NoError(t, err, q)
	}
}

func ask(t *testing.T, url, sql string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&answer))
	return answer
}

func TestStartStopRestart(t *testing.T) {
	t.Parallel()
	c := Config{DataDir: dataDir(t), Settings: map[string]string{"work_mem": "7MB"}}
	s := begin(t, c)
	for sql, want := range map[string]string{
		"SELECT current_user::text":                                        "howdah",
		"SELECT current_database()::text":                                  "howdah",
		"SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user": "false",
		"SELECT (datdba = current_user::regrole)::text FROM pg_database WHERE datname = current_database()": "true",
		"SHOW server_encoding":  "UTF8",
		"SHOW data_checksums":   "on",
		"SHOW fsync":            "on",
		"SHOW work_mem":         "7MB",
		"SHOW max_connections":  "50",
		"SHOW listen_addresses": "",
		"SELECT datcollate::text FROM pg_database WHERE datname = current_database()": "C",
	} {
		require.Equal(t, want, ask(t, s.URL(), sql), sql)
	}
	require.Equal(t, "true", ask(t, s.SuperURL(), "SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user"))
	require.Empty(t, s.TCPAddr())
	require.Equal(t, strconv.Itoa(s.Major()), strings.Split(ask(t, s.URL(), "SHOW server_version"), ".")[0])

	// An UNLOGGED table keeps its rows only over a clean shutdown.
	run(t, s.URL(), "CREATE UNLOGGED TABLE kept (n int)", "INSERT INTO kept VALUES (42)")
	run(t, s.SuperURL(), "ALTER SYSTEM SET max_connections = 33")
	stop(t, s)
	stop(t, s) // a second stop does nothing
	<-s.Done()

	s = begin(t, c)
	require.Equal(t, "42", ask(t, s.URL(), "SELECT n::text FROM kept"))
	require.Equal(t, "33", ask(t, s.URL(), "SHOW max_connections"))
}

func TestNeverRoot(t *testing.T) {
	t.Parallel()
	s := begin(t, Config{DataDir: dataDir(t)})
	for _, pid := range []int{s.cmd.Process.Pid, s.watchdog.cmd.Process.Pid} {
		info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		if os.IsNotExist(err) { // not Linux
			return
		}
		require.NoError(t, err)
		uid := int(info.Sys().(*syscall.Stat_t).Uid)
		require.NotZero(t, uid)
		if os.Geteuid() != 0 {
			require.Equal(t, os.Geteuid(), uid)
		}
	}
}

// A terminal's Ctrl-C goes to a process group: PostgreSQL is in another one.
func TestOwnSession(t *testing.T) {
	t.Parallel()
	s := begin(t, Config{DataDir: dataDir(t)})
	ours, err := syscall.Getpgid(0)
	require.NoError(t, err)
	for _, pid := range []int{s.cmd.Process.Pid, s.watchdog.cmd.Process.Pid} {
		group, err := syscall.Getpgid(pid)
		require.NoError(t, err)
		require.NotEqual(t, ours, group)
	}
}

// A start, a stop and a crash recovery are nothing to warn of; a client's
// error is passed on, without what it was about to store.
func TestLog(t *testing.T) {
	t.Parallel()
	var text lines
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn}))
	dir := dataDir(t)
	s := begin(t, Config{DataDir: dir, Logger: log})
	s.Kill()
	s = begin(t, Config{DataDir: dir, Logger: log})
	conn, err := pgx.Connect(t.Context(), s.URL())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.Empty(t, text.String())
	_, err = conn.Exec(t.Context(), "SELECT 'secret' FROM nowhere")
	require.Error(t, err)
	stop(t, s)
	require.Contains(t, text.String(), "nowhere")
	require.NotContains(t, text.String(), "secret")
	require.Equal(t, 1, strings.Count(text.String(), "\n"), text.String())
}

// lines is a buffer that may be written to and read at once.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestTCP(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := begin(t, Config{DataDir: dir, Listen: "127.0.0.1:0"})
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	password, _ := u.User.Password()
	connect := func(password string) error {
		conn, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://howdah:%s@%s/howdah?sslmode=disable", password, s.TCPAddr()))
		if err == nil {
			conn.Close(t.Context())
		}
		return err
	}
	require.NoError(t, connect(password))
	require.ErrorContains(t, connect("wrong"), "28P01")
	info, err := os.Stat(filepath.Join(dir, passwordName))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// A program that wants a port that is taken is told so.
	_, err = Start(t.Context(), Config{DataDir: dataDir(t), Listen: s.TCPAddr()})
	require.ErrorContains(t, err, "could not bind")
}

func TestSecondStartRefused(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := begin(t, Config{DataDir: dir})
	_, err := Start(t.Context(), Config{DataDir: dir})
	require.EqualError(t, err, fmt.Sprintf(
		"data directory %s is in use by process %d: stop it, or choose another data directory", dir, os.Getpid()))
	require.Error(t, Remove(t.Context(), dir))
	require.Equal(t, "1", ask(t, s.URL(), "SELECT '1'"))
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	parent := dataDir(t)
	require.NoError(t, os.Mkdir(parent, 0o755))
	dir := filepath.Join(parent, strings.Repeat("long", 40))
	t.Cleanup(func() { require.NoError(t, Remove(context.Background(), dir)) })
	s := begin(t, Config{DataDir: dir})
	require.Equal(t, "1", ask(t, s.URL(), "SELECT '1'"))
	require.Equal(t, "/tmp", filepath.Dir(s.socketDir))
	stop(t, s)
	require.NoDirExists(t, s.socketDir)
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	s := begin(t, Config{DataDir: dataDir(t)})
	conn, err := pgx.Connect(t.Context(), s.URL())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	// Smart waits for the session, which does not end.
	require.ErrorContains(t, s.Shutdown(ctx, Smart), "did not stop in time")
	<-s.Done()
}

// startChild runs a server in another process, and returns that process and
// the numbers of the postmaster and the watchdog.
func startChild(t *testing.T, dir string) (cmd *exec.Cmd, postmaster, dog int) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, line)
	_, err = fmt.Sscanf(line, "ready %d %d", &postmaster, &dog)
	require.NoError(t, err, line)
	go io.Copy(io.Discard, out)
	return cmd, postmaster, dog
}

func gone(pid int) bool { return !alive(pid) || isZombie(pid) }

// isZombie: in a container nobody may collect an orphan.
func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(text), ") Z ")
}

// childURL is the URL of the server that a child runs: same directory.
func childURL(dir string) string {
	return (&Server{socketDir: filepath.Join(dir, socketName), port: socketPort}).url(Role, Database)
}

func TestKilledProgramLeavesNoPostgreSQL(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cmd, postmaster, dog := startChild(t, dir)
	run(t, childURL(dir), "CREATE UNLOGGED TABLE kept (n int)", "INSERT INTO kept VALUES (42)")
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	require.Eventually(t, func() bool { return gone(postmaster) && gone(dog) }, time.Minute, 10*time.Millisecond)

	s := begin(t, Config{DataDir: dir})
	require.Equal(t, "42", ask(t, s.URL(), "SELECT n::text FROM kept"), "the shutdown was not clean")
}

func TestCreationCutShort(t *testing.T) {
	t.Parallel()
	dir, bin := dataDir(t), findOne(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, Config{DataDir: dir, BinDir: bin})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	// As if the program had been killed meanwhile.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pg.new-1"), 0o700))

	s := begin(t, Config{DataDir: dir, BinDir: bin})
	require.Equal(t, "1", ask(t, s.URL(), "SELECT '1'"))
	left, err := filepath.Glob(filepath.Join(dir, "pg.new*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A search whose time ends says so, and not that the PostgreSQL which it asked is broken or
// that there is none.
func TestSearchCutShort(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexec sleep 600\n"), 0o700))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, c := range []Config{{BinDir: dir}, {CacheDir: t.TempDir(), Repository: "http://127.0.0.1:1"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := FindBinDir(ctx, c)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the search for PostgreSQL was cut short")
	}
}

// When not even the watchdog lived, the next start finds the server and stops
// it.
func TestOrphanIsStopped(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cmd, postmaster, dog := startChild(t, dir)
	run(t, childURL(dir), "CREATE UNLOGGED TABLE kept (n int)", "INSERT INTO kept VALUES (42)")
	_, err := Start(t.Context(), Config{DataDir: dir})
	require.ErrorContains(t, err, fmt.Sprintf("in use by process %d", cmd.Process.Pid))

	require.NoError(t, syscall.Kill(dog, syscall.SIGKILL))
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	require.False(t, gone(postmaster))

	s := begin(t, Config{DataDir: dir})
	require.True(t, gone(postmaster))
	require.Equal(t, "42", ask(t, s.URL(), "SELECT n::text FROM kept"), "the shutdown was not clean")
}

// Another program finds a running server by its data directory alone, and
// nothing of one that has ended, in order or not.
func TestRunning(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		"by default":  dataDir(t),
		"a long path": filepath.Join(dataDir(t), strings.Repeat("long", 40)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { require.NoError(t, Remove(context.Background(), dir)) })
			_, err := Running(dir)
			require.ErrorIs(t, err, ErrNotRunning)
			require.ErrorContains(t, err, dir)
			s := begin(t, Config{DataDir: dir})
			at, err := Running(dir)
			require.NoError(t, err)
			require.Equal(t, "howdah in howdah", ask(t, at.URL(), "SELECT concat(current_user, ' in ', current_database())"))
			require.Equal(t, "true", ask(t, at.SuperURL(), "SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user"))
			s.Kill()
			_, err = Running(dir)
			require.ErrorIs(t, err, ErrNotRunning, "a killed server leaves its files")
			s = begin(t, Config{DataDir: dir})
			_, err = Running(dir)
			require.NoError(t, err)
			stop(t, s)
			_, err = Running(dir)
			require.ErrorIs(t, err, ErrNotRunning)
		})
	}
	_, err := Running(t.TempDir())
	require.ErrorIs(t, err, ErrNotRunning)
}

func TestCrashedServerRecovers(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := begin(t, Config{DataDir: dir})
	run(t, s.URL(), "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (42)")
	s.Kill()
	s = begin(t, Config{DataDir: dir})
	require.Equal(t, "42", ask(t, s.URL(), "SELECT n::text FROM kept"))
}

// In a container the number in a stale postmaster.pid soon belongs to some
// other process of the same user, and PostgreSQL by itself would not start.
func TestStalePIDOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := begin(t, Config{DataDir: dir})
	run(t, s.URL(), "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (42)")
	pidFile := filepath.Join(dir, clusterName, "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	s.Kill()

	who, err := chooseAccount(s.log)
	require.NoError(t, err)
	other := exec.Command("sleep", "600")
	other.SysProcAttr = who.attributes()
	other.Dir = "/"
	require.NoError(t, other.Start())
	defer func() { other.Process.Kill(); other.Wait() }()
	_, rest, _ := strings.Cut(string(text), "\n")
	require.NoError(t, os.WriteFile(pidFile, []byte(fmt.Sprintf("%d\n%s", other.Process.Pid, rest)), 0o600))

	socketLock := filepath.Join(dir, socketName, ".s.PGSQL.5432.lock")
	text, err = os.ReadFile(socketLock)
	require.NoError(t, err)
	_, rest, _ = strings.Cut(string(text), "\n")
	require.NoError(t, os.WriteFile(socketLock, []byte(fmt.Sprintf("%d\n%s", other.Process.Pid, rest)), 0o600))

	s = begin(t, Config{DataDir: dir})
	require.Equal(t, "42", ask(t, s.URL(), "SELECT n::text FROM kept"))
	require.False(t, gone(other.Process.Pid), "a stranger was stopped")
}
