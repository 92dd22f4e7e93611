package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// terminal is a pseudo-terminal with a program in it.
type terminal struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	cmd    *exec.Cmd

	mu   sync.Mutex
	seen strings.Builder
}

func openTerminal(t *testing.T, columns, rows int, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	term := &terminal{t: t, master: master, slave: slave}
	t.Cleanup(func() { slave.Close(); master.Close() })
	term.resize(columns, rows)

	term.cmd = exec.Command(os.Args[0], args...)
	term.cmd.Env = cleanEnvironment()
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = slave, slave, slave
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, term.cmd.Start())
	t.Cleanup(func() { _ = term.cmd.Process.Kill() })
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := master.Read(buf)
			term.mu.Lock()
			term.seen.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term
}

func (m *terminal) resize(columns, rows int) {
	require.NoError(m.t, unix.IoctlSetWinsize(int(m.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}))
}

// output is what the program has written; page the last page of it.
func (m *terminal) output() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen.String()
}

func (m *terminal) page() string {
	out := m.output()
	end := strings.LastIndex(out, restOfPage)
	if end < 0 {
		return ""
	}
	return out[strings.LastIndex(out[:end], homeCursor):end]
}

func (m *terminal) await(condition func() bool) {
	m.t.Helper()
	require.Eventually(m.t, condition, time.Minute, 20*time.Millisecond, "the terminal shows:\n%s", m.page())
}

func (m *terminal) mode() *unix.Termios {
	mode, err := unix.IoctlGetTermios(int(m.slave.Fd()), unix.TCGETS)
	require.NoError(m.t, err)
	return mode
}

func TestStatLive(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, end := range []struct {
		name string
		do   func(*terminal)
	}{
		{"q", func(m *terminal) { _, err := m.master.WriteString("xq"); require.NoError(t, err) }},
		{"Ctrl-C", func(m *terminal) { _, err := m.master.WriteString("\x03"); require.NoError(t, err) }},
		{"signal", func(m *terminal) { require.NoError(t, m.cmd.Process.Signal(syscall.SIGTERM)) }},
	} {
		t.Run(end.name, func(t *testing.T) {
			m := openTerminal(t, 80, 24, "stat", "--database-url", url, "--interval", "200ms")
			m.await(func() bool { return strings.Contains(m.page(), "db0") && !strings.Contains(m.page(), "next look") })
			raw := m.mode()
			require.Zero(t, raw.Lflag&unix.ECHO, "keys are not shown")
			require.NotContains(t, m.page(), "POLICY")
			for line := range strings.SplitSeq(m.page(), endOfLine) {
				require.LessOrEqual(t, len(strings.TrimPrefix(line, homeCursor)), 80, line)
			}

			m.resize(160, 24)
			m.await(func() bool { return strings.Contains(m.page(), "POLICY") })
			_, err := conn.Exec(t.Context(), "SELECT howdah.create_cache('new')")
			require.NoError(t, err)
			m.await(func() bool { return strings.Contains(m.page(), "new") })

			// The database away for a moment: it says so, and comes back.
			_, err = conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()")
			require.NoError(t, err)
			m.await(func() bool { return strings.Contains(m.output(), "TRYING AGAIN") })
			m.await(func() bool { return !strings.Contains(m.page(), "TRYING AGAIN") })

			end.do(m)
			require.NoError(t, m.cmd.Wait())
			m.await(func() bool { return strings.HasSuffix(m.output(), leaveScreen) })
			require.NotZero(t, m.mode().Lflag&unix.ECHO, "the terminal is as it was")
			_, err = conn.Exec(t.Context(), "SELECT howdah.drop_cache('new')")
			require.NoError(t, err)
		})
	}
}
