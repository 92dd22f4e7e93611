//go:build unix

package handover

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// process is a server of Howdah, which can be killed and started again.
type process struct {
	t    *testing.T
	url  string
	name string

	mu    sync.Mutex
	lives int
	addr  string
	cmd   *exec.Cmd
	input io.Closer
}

func startProcess(t *testing.T, name, url string) *process {
	t.Helper()
	p := &process{t: t, name: name, url: url}
	p.start()
	t.Cleanup(func() {
		p.input.Close()
		p.cmd.Wait()
	})
	return p
}

// Name implements node.
func (p *process) Name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s, life %d", p.name, p.lives)
}

// Addr implements node.
func (p *process) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

func (p *process) start() {
	p.t.Helper()
	cmd := exec.Command(os.Args[0], "-handover.child", p.url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(p.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		require.NoError(p.t, err, "a server did not start")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.input, p.addr = cmd, in, strings.TrimSpace(addr)
	p.lives++
}

// kill kills the server and starts another one in its place.
func (p *process) kill() {
	p.t.Helper()
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.start()
}

// cluster is two servers on a PostgreSQL of its own, with a cache that loses nothing.
type cluster struct {
	*pgtest.Server
	first, second *process
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	own := pgtest.Own(t)
	url := own.NewURL()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "SELECT howdah.alter_cache('db0', durability => 'sync')")
	require.NoError(t, err)
	return &cluster{own, startProcess(t, "first", url), startProcess(t, "second", url)}
}

func (c *cluster) run(t *testing.T) *run {
	r := newRun(t, c.first, c.second)
	r.groups = true
	r.ledger.Linger = 5 * time.Second // what was killed starts again beside all the others
	return r
}

// disconnect ends connections to PostgreSQL in the middle of their work, again and again.
func (c *cluster) disconnect(t *testing.T, r *run) func() {
	return func() {
		conn, err := pgx.Connect(t.Context(), c.SuperURL())
		require.NoError(t, err)
		defer conn.Close(context.Background())
		for range 20 {
			_, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND state = 'active'`)
			require.NoError(t, err)
			r.awaitDeliveries(20)
		}
	}
}

// crash ends PostgreSQL as a loss of power does.
func (c *cluster) crash() {
	c.Stop("immediate")
	c.Start()
}

// TestQuiet: while nothing fails nothing is lost, and order is kept.
func TestQuiet(t *testing.T) {
	t.Parallel()
	r := newCluster(t).run(t)
	r.cuts = false
	v := r.fire(2500)
	v.check(t)
	require.Zero(t, v.Excused)
	require.Greater(t, v.Compared, 50)
}

// TestUnderFire kills clients, both servers, their connections, and PostgreSQL.
func TestUnderFire(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := c.run(t)
	v := r.fire(1250, c.second.kill, c.crash, c.disconnect(t, r), c.first.kill, c.KillBackend)
	v.check(t)
	require.Greater(t, v.Compared, 50)
}

// TestLong is the same for as long as asked.
func TestLong(t *testing.T) {
	t.Parallel()
	if *duration == 0 {
		t.Skip("needs -handover.duration")
	}
	c := newCluster(t)
	r := c.run(t)
	r.begin()
	faults := []func(){c.second.kill, c.crash, c.disconnect(t, r), c.first.kill, c.KillBackend}
	for i := 0; time.Since(r.start) < *duration; i++ {
		r.awaitDeliveries(2000)
		faults[i%len(faults)]()
	}
	r.end().check(t)
}
