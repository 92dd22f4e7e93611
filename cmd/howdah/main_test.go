package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// asProgram in the environment makes the test binary the program itself.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	pgtest.Main(m)
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// execute runs a command to its end.
func execute(t *testing.T, stdin string, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(cleanEnvironment(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run()
	require.NoError(t, ctx.Err(), "the command did not end: %v", args)
	return result{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// cleanEnvironment is that of the program: ours without what it would take for
// flags, and without the embedded PostgreSQL that this machine may run. Under the race
// detector a program would sleep a second before it exits.
func cleanEnvironment() []string {
	env := []string{asProgram + "=1", "HOWDAH_DATA_DIR=/proc/none", "GORACE=atexit_sleep_ms=0"}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "HOWDAH_") {
			env = append(env, variable)
		}
	}
	return env
}

// process is a running "howdah serve".
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	redis string // host:port
	http  string
	log   bytes.Buffer // read it only after wait
	read  chan struct{}

	stopping chan struct{} // closed when it begins to shut down
}

var readyLine = regexp.MustCompile(`msg="ready for (Redis|HTTP) clients" addr=(\S+)`)

// serve starts a server on free ports and waits until it is ready. It gives
// commands, and the end, more time than the default, for a busy test machine.
func serve(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, read: make(chan struct{}), stopping: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append([]string{"serve", "--redis-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--timeout", "10s", "--shutdown-timeout", "1m"}, args...)...)
	p.cmd.Env = append(cleanEnvironment(), env...)
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	ready := make(chan string, 2)
	go func() {
		defer close(p.read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&p.log, lines.Text())
			if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[2]
			}
			if strings.Contains(lines.Text(), `msg="shutting down"`) {
				close(p.stopping)
			}
		}
	}()
	for _, addr := range []*string{&p.redis, &p.http} {
		select {
		case *addr = <-ready:
		case <-p.read:
			t.Fatalf("the server ended:\n%s", p.log.String())
		case <-time.After(time.Minute):
			t.Fatal("the server was not ready within a minute")
		}
	}
	return p
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	<-p.read
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// Every mistake gets one sentence that says what to do, and exit code 1 or 2.
func TestMistakes(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	url := pgtest.New(t)
	newer := pgtest.New(t)
	query(t, newer, "INSERT INTO howdah.migration (version, name, breaking) VALUES (9999, 'future', true)")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	free := []string{"--redis-addr", "127.0.0.1:0", "--http-addr", "off"}
	serve := func(args ...string) []string { return append(append([]string{"serve"}, free...), args...) }

	for name, test := range map[string]struct {
		args []string
		env  []string
		code int
		want string
	}{
		"unknown command":          {[]string{"sevre"}, nil, 2, "howdah help"},
		"unknown flag":             {[]string{"serve", "--prot", "1"}, nil, 2, "howdah serve --help"},
		"argument":                 {[]string{"serve", "now"}, nil, 2, "usage: howdah serve"},
		"bad number":               {serve("--max-clients", "many"), nil, 2, "--max-clients must be a whole number"},
		"bad duration":             {serve("--timeout", "soon"), nil, 2, "--timeout must be a duration"},
		"bad environment":          {serve(), []string{"HOWDAH_TIMEOUT=soon"}, 2, "HOWDAH_TIMEOUT must be a duration"},
		"bad size":                 {serve("--max-request-bytes", "1 GB"), nil, 2, "--max-request-bytes must be"},
		"huge size":                {serve("--max-request-bytes", "17179869184GiB"), nil, 2, "--max-request-bytes is out of range"},
		"huge payload":             {serve("--session-max-payload", "99999999999999999999"), nil, 2, "--session-max-payload is out of range"},
		"no bound":                 {serve("--near", "0"), nil, 2, "--near must be a duration from 10ms to 10s, or off"},
		"bound too short":          {serve("--near", "5ms"), nil, 2, "--near must be a duration from 10ms to 10s, or off"},
		"bound too long":           {serve("--near", "11s"), nil, 2, "--near must be a duration from 10ms to 10s, or off"},
		"bound of an hour":         {serve(), []string{"HOWDAH_NEAR=1h"}, 2, "HOWDAH_NEAR must be a duration from 10ms to 10s, or off"},
		"bad bound":                {serve("--near", "abc"), nil, 2, "--near must be a duration from 10ms to 10s, or off"},
		"little memory":            {serve("--database-url", url, "--near-bytes", "1000KiB"), nil, 2, "--near-bytes must be at least 1 MiB"},
		"bad memory":               {serve("--near-bytes", "much"), nil, 2, "--near-bytes must be a number of bytes"},
		"everything excluded":      {serve("--database-url", url, "--near", "1s", "--near-exclude", "a:,"), nil, 2, "--near-exclude must not be empty"},
		"an empty prefix":          {serve("--database-url", url, "--http-addr", "127.0.0.1:0", "--metrics-prefixes", "a:,"), nil, 2, "--metrics-prefixes names an empty prefix"},
		"a prefix twice":           {serve("--database-url", url, "--http-addr", "127.0.0.1:0"), []string{"HOWDAH_METRICS_PREFIXES=b:,b:"}, 2, `names "b:" twice`},
		"bad log level":            {serve("--log-level", "loud"), nil, 2, "debug, info, warn or error"},
		"bad log format":           {serve("--log-format", "xml"), nil, 2, "text or json"},
		"two passwords":            {serve("--password", "hunter2", "--password-file", file), nil, 2, "not both"},
		"empty password file":      {serve("--password-file", file), nil, 2, "is empty"},
		"same token twice":         {serve("--http-addr", "127.0.0.1:0", "--token", "hunter2", "--session-token", "hunter2"), nil, 2, "two tokens"},
		"two session tokens":       {serve("--session-token", "hunter2", "--session-token-file", file), nil, 2, "not both"},
		"no password file":         {serve("--password-file", "/nowhere"), nil, 2, "--password-file"},
		"not PostgreSQL":           {serve("--database-url", "mysql://u:hunter2@h/d"), nil, 2, "postgres://"},
		"bad URL":                  {serve("--database-url", "postgres://u:hunter2@h:port/d"), nil, 2, "postgres://"},
		"no server":                {serve("--database-url", "postgres://u:hunter2@127.0.0.1:1/d"), nil, 1, "127.0.0.1"},
		"wrong database password":  {serve("--database-url", wrongPassword(url)), nil, 1, "does not let user"},
		"not migrated":             {serve("--database-url", pgtest.Empty(t)), nil, 1, "howdah migrate --database-url"},
		"schema too new":           {serve("--database-url", newer), nil, 1, "upgrade the program"},
		"migrate, schema too new":  {[]string{"migrate", "--database-url", newer}, nil, 1, "upgrade the program"},
		"open without a password":  {[]string{"serve", "--database-url", url, "--redis-addr", "0.0.0.0:0", "--http-addr", "off"}, nil, 2, "--password-file"},
		"open without a token":     {[]string{"serve", "--database-url", url, "--redis-addr", "off", "--http-addr", "0.0.0.0:0"}, nil, 2, "--token-file"},
		"port in use":              {[]string{"serve", "--database-url", url, "--redis-addr", taken.Addr().String(), "--http-addr", "off"}, nil, 1, "--redis-addr"},
		"nothing to serve":         {[]string{"serve", "--redis-addr", "off", "--http-addr", "off"}, nil, 2, "nothing to serve"},
		"data folder is a file":    {serve("--data-dir", file), nil, 1, file},
		"data folder is read-only": {serve("--data-dir", "/proc/howdah"), nil, 1, "/proc/howdah"},
		"console maybe":            {serve("--console", "maybe"), nil, 2, "use auto, on or off"},
		"no address":               {serve("--redis-addr", "bogus"), nil, 2, "write host:port"},
		"no path":                  {serve("--base-path", "x"), nil, 2, "is not a path such as /howdah"},
		"unknown pooler":           {serve("--pooler", "session"), nil, 2, "--pooler"},
		"less than no connections": {serve("--max-conns", "-3"), nil, 2, "--max-conns must be at least 2"},
		"no connections":           {serve("--max-conns", "0"), nil, 2, "--max-conns must be at least 2"},
		"certificate alone":        {serve("--tls-cert", file), nil, 2, "give both or none"},
		"no certificate":           {serve("--tls-cert", file, "--tls-key", file), nil, 2, "cannot use --tls-cert"},
		"no clients":               {serve(), []string{"HOWDAH_MAX_CLIENTS=0"}, 2, "--max-clients must be at least 1"},
		"removals":                 {serve("--removals", "-1"), nil, 2, "--removals must not be negative; 0: none"},
		"prefix sample":            {serve("--prefix-sample", "-1"), nil, 2, "--prefix-sample must not be negative; 0: none"},
		"no time":                  {serve("--timeout", "0"), nil, 2, "--timeout must be above zero"},
		"no time to stop":          {serve("--shutdown-timeout", "0"), nil, 2, "--shutdown-timeout must be above zero"},
		"no time for a password":   {serve("--auth-timeout", "0"), nil, 2, "--auth-timeout must be above zero"},
		"no metrics":               {serve("--metrics-caches", "0"), nil, 2, "--metrics-caches must be at least 1"},
		"no lag":                   {serve("--max-replication-lag", "0"), nil, 2, "--max-replication-lag must be above zero"},
		"maintain, no lag":         {[]string{"maintain", "--database-url", url, "--max-replication-lag", "0"}, nil, 2, "--max-replication-lag must be above zero"},
		"migrate, odd partitions":  {[]string{"migrate", "--database-url", url, "--partitions", "3"}, nil, 2, "2, 4, 8, 16, 32 or 64"},
		"caches, bad name":         {[]string{"caches", "create", "Bad Name", "--database-url", url}, nil, 2, "lower-case letters"},
		"caches, bad URL":          {[]string{"caches", "list", "--database-url", "postgres://u:hunter2@h:port/d"}, nil, 2, "postgres://"},
		"help what":                {[]string{"help", "bogus"}, nil, 2, "unknown command \"bogus\""},
		"help what of":             {[]string{"help", "caches", "bogus"}, nil, 2, "unknown command \"caches bogus\""},
		"completion what":          {[]string{"completion", "tcsh"}, nil, 2, "bash, zsh, fish or powershell"},
		"migrate what":             {[]string{"migrate"}, nil, 2, "--database-url"},
		"migrate two things":       {[]string{"migrate", "--status", "--print"}, nil, 2, "one of"},
		"migrate, no such role":    {[]string{"migrate", "--database-url", url, "--runtime-role", "nobody_there"}, nil, 1, "CREATE ROLE"},
		"get what":                 {[]string{"get"}, nil, 2, "usage: howdah get KEY"},
		"get, bad server":          {[]string{"get", "k", "--server", "http://localhost"}, nil, 2, "redis://"},
		"get, no server":           {[]string{"get", "k", "--server", "redis://:hunter2@127.0.0.1:1"}, nil, 1, "howdah serve"},
		"get, cache of no server":  {[]string{"get", "k", "--cache", "pages"}, nil, 2, "--database-url"},
		"get, no such cache":       {[]string{"get", "k", "--cache", "pages", "--database-url", url}, nil, 1, "pages"},
		"get, invalid cache name":  {[]string{"get", "k", "--cache", "Pages!", "--database-url", url}, nil, 2, "name"},
		"set, bad ttl":             {[]string{"set", "k", "v", "--ttl", "-1s"}, nil, 2, "--ttl must not be negative"},
		"set, no ttl":              {[]string{"set", "k", "v", "--ttl", "0"}, nil, 2, "--ttl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := execute(t, "", test.env, test.args...)
			require.Equal(t, test.code, r.code, r.err)
			lines := strings.Split(strings.TrimSpace(r.err), "\n")
			last := lines[len(lines)-1]
			require.True(t, strings.HasPrefix(last, "howdah: "), r.err)
			require.Contains(t, last, test.want)
			require.Less(t, len(last), 400, "too long for a sentence")
			require.NotContains(t, r.err, "hunter2")
			for _, line := range lines[:len(lines)-1] { // nothing else but log lines
				require.True(t, strings.HasPrefix(line, "time="), r.err)
			}
			require.Empty(t, r.out)
		})
	}
}

// A role that there is not is found before anything is changed.
func TestMigrateForNoRole(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	r := execute(t, "", nil, "migrate", "--database-url", url, "--runtime-role", "nobody_there")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, `role "nobody_there" does not exist: make it with CREATE ROLE`)
	require.Contains(t, execute(t, "", nil, "migrate", "--status", "--database-url", url).out, "schema:     not installed")
}

// wrongPassword is the URL with a password that is not right, by TCP, where
// one is asked for.
func wrongPassword(url string) string {
	config, err := pgx.ParseConfig(pgtest.TCP(url))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("postgres://%s:hunter2@%s:%d/%s?sslmode=disable", config.User, config.Host, config.Port, config.Database)
}

func query(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func TestServeAndStop(t *testing.T) {
	t.Parallel()
	p := serve(t, []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t), "HOWDAH_PASSWORD=hunter2"}, "--max-clients", "100")
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
	if err == nil {
		require.NotContains(t, string(title), "hunter2")
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, p.wait(), p.log.String())
	require.NotContains(t, p.log.String(), "hunter2")
}

// Secrets on the command line are gone from the process list.
func TestProcessTitle(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, nil, "--database-url", url, "--password", "hunter2", "--token=hunter3", "--session-token", "hunter4")
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
	if os.IsNotExist(err) {
		t.Skip("no /proc on this system")
	}
	require.NoError(t, err)
	require.Contains(t, string(title), "--password")
	require.NotContains(t, string(title), "hunter")
	require.NotContains(t, string(title), "postgres://")
	// They still work.
	require.Contains(t, execute(t, "", nil, "get", "k", "--server", "redis://:hunter2@"+p.redis).err, `no key "k"`)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 0, p.wait(), p.log.String())
}

// Another SIGTERM, which "timeout" and others send with the first, changes nothing; Ctrl-C
// pressed again does not wait for the orderly end.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for name, impatient := range map[string]bool{"SIGTERM": false, "SIGINT": true} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, nil, "--database-url", pgtest.New(t), "--timeout", "30s")
			conn, err := net.Dial("tcp", p.redis)
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8388608\r\n%s\r\n", strings.Repeat("v", 8<<20))
			require.NoError(t, err)
			_, err = io.ReadFull(conn, make([]byte, len("+OK\r\n")))
			require.NoError(t, err)
			for range 8 { // replies that nobody reads keep the first signal busy
				_, err = io.WriteString(conn, "GET k\r\n")
				require.NoError(t, err)
			}
			_, err = io.ReadFull(conn, make([]byte, 1))
			require.NoError(t, err)
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			select {
			case <-p.read:
				t.Fatal("the server ended before its replies were read")
			case <-p.stopping:
			}
			if !impatient {
				require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
				_, err = io.Copy(io.Discard, conn)
				require.NoError(t, err)
				require.Equal(t, 0, p.wait(), p.log.String())
				return
			}
			for again := time.NewTicker(pressedAgain / 5); ; { // one of them comes late enough
				_ = p.cmd.Process.Signal(syscall.SIGINT)
				select {
				case <-again.C:
					continue
				case <-p.read:
				}
				break
			}
			require.Equal(t, 1, p.wait())
			require.Contains(t, p.log.String(), "interrupted again")
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	r := execute(t, "", nil, "version")
	require.Equal(t, 0, r.code)
	require.Regexp(t, `^howdah \S+ \w+/\w+ go`, r.out)
	require.Equal(t, r, execute(t, "", nil, "--version"))
}

func TestHelp(t *testing.T) {
	t.Parallel()
	r := execute(t, "", nil, "help")
	require.Equal(t, 0, r.code)
	require.Equal(t, execute(t, "", nil, "caches", "create", "--help"), execute(t, "", nil, "help", "caches", "create"))
	for _, command := range []string{
		"serve", "migrate", "maintain", "doctor", "get", "set", "del", "ttl", "keys", "stat", "sessions", "url", "psql", "version",
		"cli", "caches", "healthcheck", "completion",
	} {
		require.Regexp(t, `(?m)^  `+command+` `, r.out)
		help := execute(t, "", nil, command, "--help").out
		require.Contains(t, help, "Usage:\n  howdah "+command)
		require.NotRegexp(t, `\(default.*\(default`, help, "two defaults of one flag")
		require.NotContains(t, help, "(default 0")
	}
	require.Contains(t, execute(t, "", nil, "serve", "--help").out, "HOWDAH_SHUTDOWN_TIMEOUT")
}

// A server may be set to run no scripts.
func TestServeNoScripts(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	for flag, want := range map[string]string{"--no-scripts": "-NOPERM this server is set to run no scripts\r\n", "--no-scripts=false": ":1\r\n"} {
		p := serve(t, nil, flag, "--database-url", url)
		conn, err := net.Dial("tcp", p.redis)
		require.NoError(t, err)
		_, err = conn.Write([]byte("EVAL \"return 1\" 0\r\n"))
		require.NoError(t, err)
		reply, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, reply)
		require.NoError(t, conn.Close())
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		require.Equal(t, 0, p.wait(), p.log.String())
	}
}

// A server is a cluster only if it is set to be one, and shows the address that it is told to.
func TestServeCluster(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	nodes := func(env []string, flags ...string) string {
		p := serve(t, env, append(flags, "--database-url", url)...)
		r := execute(t, "", nil, "cli", "--server", "redis://"+p.redis, "CLUSTER", "NODES")
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		require.Equal(t, 0, p.wait(), p.log.String())
		return r.out + r.err
	}
	require.Contains(t, nodes(nil), "ERR This instance has cluster support disabled")
	require.Regexp(t, `^[0-9a-f]{40} 127\.0\.0\.1:\d+@0 myself,master - 0 0 0 connected 0-16383\n`, nodes(nil, "--redis-cluster"))
	require.Contains(t, nodes([]string{"HOWDAH_REDIS_CLUSTER=true", "HOWDAH_REDIS_ANNOUNCE=cache.example.com:7000"}), " cache.example.com:7000@0 myself,master ")
	for want, flags := range map[string][]string{
		"--redis-announce is for --redis-cluster, which is not given":               {"--redis-announce", "h:1"},
		`--redis-announce "h" is not an address that clients can connect to: write`: {"--redis-cluster", "--redis-announce", "h"},
		"--redis-cluster is for Redis clients, whose listener is off":               {"--redis-cluster", "--redis-addr", "off"},
	} {
		r := execute(t, "", nil, append([]string{"serve", "--database-url", url}, flags...)...)
		require.Equal(t, exitUsage, r.code, r.err)
		require.Contains(t, r.err, want)
	}
}

// Clients are told the version of Redis that they are to be told.
func TestServeRedisVersion(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	for want, env := range map[string][]string{"7.0.15": nil, "7.4.0": {"HOWDAH_REDIS_VERSION=7.4.0"}} {
		p := serve(t, env, "--database-url", url)
		r := execute(t, "", nil, "cli", "--server", "redis://"+p.redis, "INFO", "server")
		require.Contains(t, r.out, "redis_version:"+want)
		require.Contains(t, execute(t, "", nil, "cli", "--server", "redis://"+p.redis, "HELLO", "2").out, want)
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		require.Equal(t, 0, p.wait(), p.log.String())
	}
	r := execute(t, "", nil, "serve", "--database-url", url, "--redis-version", "7.4")
	require.Equal(t, exitUsage, r.code, r.err)
	require.Contains(t, r.err, `--redis-version "7.4" is not a version of Redis that clients can read: write three numbers, such as 7.4.0`)
}

// The bound is printed with how to do without, and caches without a change log are
// named with what to run.
func TestServeSaysTheBound(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, []string{"HOWDAH_NEAR=2s", "HOWDAH_NEAR_EXCLUDE=a:,b:"}, "--database-url", url, "--near-bytes", "2MiB", "--near-exclude", "c:")
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 0, p.wait(), p.log.String())
	require.Contains(t, p.log.String(), `"reads from memory are at most 2s old; --near off lets every read ask PostgreSQL" bytes=2097152`)
	require.Contains(t, p.log.String(), "nothing is kept in memory of the caches that have no change log")
	said := func(args ...string) string {
		p := serve(t, nil, append(args, "--database-url", url)...)
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		require.Equal(t, 0, p.wait(), p.log.String())
		return p.log.String()
	}
	require.NotContains(t, said("--near", "off"), "memory")
	require.Contains(t, said(), `every read asks PostgreSQL, because no cache has a change log. To answer hot keys from memory, let the owner of the schema run \"howdah migrate --near\"`)
	for range 2 {
		r := execute(t, "", nil, "migrate", "--database-url", url, "--near")
		require.Equal(t, 0, r.code, r.err)
		require.Contains(t, r.out, "every cache has a change log")
	}
	log := said()
	require.Contains(t, log, "reads from memory are at most 100ms old; --near off lets every read ask PostgreSQL")
	require.NotContains(t, log, "change log")
	r := execute(t, "", nil, "migrate", "--database-url", url, "--near", "--print")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "SELECT howdah.alter_cache(name, near => true) FROM howdah.caches()")
}
