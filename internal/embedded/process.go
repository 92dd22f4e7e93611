//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Mode is one of PostgreSQL's ways to shut down.
type Mode string

// Smart waits for the clients to leave; Fast ends their sessions and leaves a
// clean cluster; Immediate ends everything at once, and the next start
// recovers as after a crash.
const (
	Smart     Mode = "smart"
	Fast      Mode = "fast"
	Immediate Mode = "immediate"
)

var modeSignals = map[Mode]syscall.Signal{
	Smart:     syscall.SIGTERM,
	Fast:      syscall.SIGINT,
	Immediate: syscall.SIGQUIT,
}

// socketPort is part of the name of the socket; nothing listens on it in TCP.
const socketPort = 5432

// launch starts the postmaster and waits until it accepts connections. It
// tries again when the port was taken meanwhile, and when processes of an
// earlier, killed postmaster are still on their way out.
func (s *Server) launch(ctx context.Context, bin installation, c Config, who account) error {
	for attempt := 0; ; attempt++ {
		if err := s.choosePort(c); err != nil {
			return err
		}
		err := s.launchOnce(ctx, bin, c, who)
		if !errors.Is(err, errExited) || attempt >= 100 || ctx.Err() != nil {
			return err
		}
		text := s.output.tail()
		portTaken := c.Listen != "" && strings.HasSuffix(c.Listen, ":0") &&
			strings.Contains(text, "could not bind") && attempt < 10
		if !portTaken && !strings.Contains(text, "pre-existing shared memory block") {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Server) choosePort(c Config) error {
	s.port, s.tcp = socketPort, ""
	if c.Listen == "" {
		return nil
	}
	addr := netip.MustParseAddrPort(c.Listen)
	s.port = int(addr.Port())
	if s.port == 0 {
		port, err := freePort(addr.Addr().String())
		if err != nil {
			return fmt.Errorf("no free port on %s: %w", addr.Addr(), err)
		}
		s.port = port
	}
	s.tcp = net.JoinHostPort(addr.Addr().String(), strconv.Itoa(s.port))
	return nil
}

func (s *Server) launchOnce(ctx context.Context, bin installation, c Config, who account) error {
	host := ""
	if s.tcp != "" {
		host, _, _ = net.SplitHostPort(s.tcp)
	}
	pgdata := filepath.Join(c.DataDir, clusterName)
	args := []string{
		"-D", pgdata,
		"-c", "listen_addresses=" + host,
		"-c", "port=" + strconv.Itoa(s.port),
		"-c", "unix_socket_directories=" + quoteList(s.socketDir),
		"-c", "unix_socket_permissions=0700",
	}
	names := make([]string, 0, len(c.Settings))
	for name := range c.Settings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		args = append(args, "-c", name+"="+c.Settings[name])
	}
	out, err := newOutput(c.Logger)
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(bin.dir, "postgres"), args...)
	cmd.Dir = c.DataDir
	cmd.Env = environment()
	cmd.Stderr = out.writer
	cmd.SysProcAttr = who.attributes()
	if err := cmd.Start(); err != nil {
		out.abandon()
		return fmt.Errorf("%s cannot be started: %w", cmd.Path, err)
	}
	out.read()
	dog, err := newWatchdog(cmd.Process.Pid, who)
	if err != nil {
		cmd.Process.Signal(syscall.SIGQUIT)
		cmd.Wait()
		return err
	}
	exited := make(chan struct{})
	s.cmd, s.output, s.watchdog, s.exited = cmd, out, dog, exited
	go func() {
		err := cmd.Wait()
		dog.dismiss()
		s.exitErr = err
		close(exited)
	}()
	if err := s.awaitReady(ctx); err != nil {
		s.kill()
		return err
	}
	return nil
}

// quoteList quotes one member of a comma-separated setting.
func quoteList(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// awaitReady connects until the server accepts it. Recovery after a crash may
// take long; only ctx bounds it.
func (s *Server) awaitReady(ctx context.Context) error {
	pause := 5 * time.Millisecond
	for {
		conn, err := pgx.Connect(ctx, s.SuperURL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.exited:
			s.output.wait(time.Second)
			if saysFull(s.output.tail()) {
				return full(s.dataDir)
			}
			return fmt.Errorf("%w while starting in %s (%v): %s", errExited, s.dataDir, s.exitErr, s.output.tail())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL in %s was not ready in time (%w): %s", s.dataDir, err, s.output.tail())
		case <-time.After(pause):
			pause = min(2*pause, 100*time.Millisecond)
		}
	}
}

// Stop ends the server in order: sessions are ended, the cluster is left
// clean. When ctx ends first, PostgreSQL is stopped at once, nothing that was
// committed is lost (UNLOGGED tables are), and an error says so. A second
// call does nothing.
func (s *Server) Stop(ctx context.Context) error { return s.Shutdown(ctx, Fast) }

// Shutdown is Stop with a choice of mode.
func (s *Server) Shutdown(ctx context.Context, mode Mode) error {
	sig, ok := modeSignals[mode]
	if !ok {
		return fmt.Errorf("%q is not a shutdown mode: use smart, fast or immediate", mode)
	}
	var err error
	select {
	case <-s.exited:
	default:
		s.cmd.Process.Signal(sig)
		select {
		case <-s.exited:
		case <-ctx.Done():
			err = fmt.Errorf("PostgreSQL in %s did not stop in time and was stopped at once: it recovers at the next start", s.dataDir)
			s.kill()
		}
	}
	s.close()
	return err
}

// Kill ends the postmaster as a crash would (SIGKILL), for tests of what
// happens then. It returns when the postmaster is gone; its children follow.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.exited
	s.close()
}

// kill stops the server at once, without waiting for its sessions, and waits for
// its end.
func (s *Server) kill() {
	s.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		s.cmd.Process.Kill()
		<-s.exited
	}
}

// close releases what the program holds for a server that has exited.
func (s *Server) close() {
	s.stopOnce.Do(func() {
		s.output.wait(time.Second)
		if filepath.Dir(s.socketDir) != s.dataDir {
			os.Remove(s.socketDir) // under /tmp; a killed server leaves its socket in it
		}
		s.lock.release()
	})
}
