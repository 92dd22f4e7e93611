package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kill ends the postmaster with SIGKILL, as the kernel does when memory runs
// out. Its children see that it is gone and exit by themselves; Kill returns
// when the last one has, so that the server can be started again.
//
// What a killed process has written is in the kernel's hands and is not lost,
// whatever fsync says. Only a loss of power tests that.
func (s *Server) Kill() {
	s.t.Helper()
	s.current().Kill()
	s.await("the children of a killed postmaster to exit", func(context.Context) (bool, error) {
		return len(processesIn(filepath.Join(s.dir, clusterName))) == 0, nil
	})
}

// KillBackend ends one backend with SIGKILL. The postmaster cannot know what
// it has left in shared memory: it ends all others and recovers as after a
// crash. KillBackend returns when the server accepts connections again.
func (s *Server) KillBackend() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	victim, witness := s.connect(ctx), s.connect(ctx)
	defer victim.Close(ctx)
	defer witness.Close(ctx)
	s.must(syscall.Kill(int(victim.PgConn().PID()), syscall.SIGKILL))
	// The end of another backend tells that the postmaster has noticed; from
	// then on it accepts nobody before the recovery has ended.
	if _, err := witness.Exec(ctx, "SELECT pg_sleep(3600)"); ctx.Err() != nil {
		s.t.Fatalf("pgtest: a backend was killed and the others went on: %v", err)
	}
	s.await("recovery after the end of a backend", func(ctx context.Context) (bool, error) {
		conn, err := pgx.Connect(ctx, s.SuperURL())
		if err != nil {
			return false, nil
		}
		return true, conn.Close(ctx)
	})
}

// Freeze stops every process of the server where it is: as behind a cut
// network, connections are neither answered nor closed, and new ones are
// accepted by the kernel alone. Thaw lets them go on, and the end of the test
// does.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Cleanup(s.Thaw)
	s.await("all processes of the server to stand still", func(context.Context) (bool, error) {
		if s.signal(syscall.SIGSTOP) == 0 {
			return false, errors.New("no process of the server is found in /proc")
		}
		// The postmaster may have forked another one before it was stopped.
		return !slices.ContainsFunc(processesIn(filepath.Join(s.dir, clusterName)), runs), nil
	})
}

// runs reports whether a process has not ended and is not stopped.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "T")
}

// Thaw ends Freeze.
func (s *Server) Thaw() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

// signal sends a signal to all processes of the server and counts them.
func (s *Server) signal(sig syscall.Signal) int {
	s.t.Helper()
	pids := processesIn(filepath.Join(s.dir, clusterName))
	for _, pid := range pids {
		// One may have ended meanwhile.
		if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
			s.t.Fatalf("pgtest: signal %v to process %d: %v", sig, pid, err)
		}
	}
	return len(pids)
}

// processesIn lists the processes whose working directory is dir, which is
// that of a postmaster and its children. Where there is no /proc it finds
// none, and the next start waits until shared memory is free.
func processesIn(dir string) (pids []int) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if cwd, err := os.Readlink(link); err == nil && cwd == real {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// await asks again and again until the condition holds.
func (s *Server) await(what string, condition func(context.Context) (bool, error)) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		ok, err := condition(ctx)
		if ok {
			return
		}
		if err != nil {
			s.t.Fatalf("pgtest: awaiting %s: %v", what, err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			s.t.Fatalf("pgtest: awaiting %s took longer than %v", what, limit)
		}
	}
}

// awaitSQL awaits that a query, asked as the superuser, answers true.
func (s *Server) awaitSQL(what, sql string, args ...any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn := s.connect(ctx)
	defer conn.Close(ctx)
	s.await(what, func(ctx context.Context) (ok bool, err error) {
		err = conn.QueryRow(ctx, sql, args...).Scan(&ok)
		return ok, err
	})
}

// exec runs statements as the superuser, each by itself.
func (s *Server) exec(statements ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn := s.connect(ctx)
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			s.t.Fatalf("pgtest: %s: %v", sql, err)
		}
	}
}

func (s *Server) connect(ctx context.Context) *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(ctx, s.SuperURL())
	s.must(err)
	return conn
}
