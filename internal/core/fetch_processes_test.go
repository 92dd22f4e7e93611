package core

import (
	"context"
	"encoding/gob"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/upkeep"
)

// long makes the tests of processes take the times of a slow origin: "go test
// ./internal/core -run TestFetchProcesses -fetch.long".
var long = flag.Bool("fetch.long", false, "loads of 2 s and leases of 10 s in TestFetchProcesses")

// times returns how long a load takes, and how long a lease lasts.
func times() (takes, lease time.Duration) {
	if *long {
		return 2 * time.Second, 10 * time.Second
	}
	return 500 * time.Millisecond, 3 * time.Second
}

// fetchOrders are what a child process is to do: to fetch one key by many callers
// at once, and to do the upkeep meanwhile.
type fetchOrders struct {
	Process int
	URL     string
	Key     string
	Callers int
	Takes   time.Duration // a load
	Lease   time.Duration
	Value   string
}

// fetchReport is what its callers got. The first one says that it is ready.
type fetchReport struct {
	Values map[string]int // number of callers by value, or by error
	Err    string
}

// runFetchChild is the body of a child process. A second message begins its work.
func runFetchChild(in io.Reader, out io.Writer) int {
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	var o fetchOrders
	err := decoder.Decode(&o)
	if err == nil {
		err = o.run(decoder, encoder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		return 1
	}
	return 0
}

func (o *fetchOrders) run(in *gob.Decoder, out *gob.Encoder) error {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	db, err := Open(ctx, o.URL, Options{Timeout: 30 * time.Second, LockTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	running.Go(func() { _ = db.Run(ctx) })
	running.Go(func() {
		for ctx.Err() == nil { // more of it than db.Run does
			_, _ = db.Maintain(ctx, upkeep.Options{})
		}
	})
	if err := out.Encode(fetchReport{}); err != nil {
		return err
	}
	var begin bool
	if err := in.Decode(&begin); err != nil {
		return err
	}
	return out.Encode(o.fetch(ctx, db))
}

func (o *fetchOrders) fetch(ctx context.Context, db *DB) fetchReport {
	report := fetchReport{Values: map[string]int{}}
	var mu sync.Mutex
	var callers sync.WaitGroup
	for range o.Callers {
		callers.Go(func() {
			value, err := db.Cache("db0").Fetch(ctx, o.Key, time.Hour, o.load(db), FetchOptions{Lease: o.Lease, Timeout: time.Minute})
			text := string(value)
			if err != nil {
				text = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			report.Values[text]++
		})
	}
	callers.Wait()
	return report
}

// load notes by the database's clock when it began.
func (o *fetchOrders) load(db *DB) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		_, err := db.Pool().Exec(ctx, "INSERT INTO load VALUES ($1, $2, clock_timestamp())", o.Key, o.Process)
		time.Sleep(o.Takes)
		return []byte(o.Value), err
	}
}

// fetchProcess is a child process, seen by its parent.
type fetchProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *gob.Encoder
	out *gob.Decoder
}

func startFetching(t *testing.T, o fetchOrders) *fetchProcess {
	t.Helper()
	p := &fetchProcess{t: t, cmd: exec.Command(os.Args[0], "-fetch.child")}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	p.in, p.out = gob.NewEncoder(in), gob.NewDecoder(out)
	require.NoError(t, p.in.Encode(o))
	p.report()
	return p
}

func (p *fetchProcess) begin() { require.NoError(p.t, p.in.Encode(true)) }

func (p *fetchProcess) report() (r fetchReport) {
	p.t.Helper()
	require.NoError(p.t, p.out.Decode(&r))
	return r
}

// kill is SIGKILL.
func (p *fetchProcess) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// loadsOf returns the processes that loaded a key, and when they began.
func loadsOf(t *testing.T, db *DB, key string) (processes []int, began []time.Time) {
	t.Helper()
	rows, err := db.Pool().Query(t.Context(), "SELECT process, began FROM load WHERE key = $1 ORDER BY began", key)
	require.NoError(t, err)
	var process int
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&process, &at}, func() error {
		processes, began = append(processes, process), append(began, at)
		return nil
	})
	require.NoError(t, err)
	return processes, began
}

func newLoads(t *testing.T) (url string, db *DB) {
	url = pgtest.New(t)
	db = openDB(t, url)
	_, err := db.Pool().Exec(t.Context(), "CREATE TABLE load (key text, process integer, began timestamptz)")
	require.NoError(t, err)
	return url, db
}

// 200 callers in four processes on one missing key make one load, while upkeep
// runs.
func TestFetchProcesses(t *testing.T) {
	t.Parallel()
	url, db := newLoads(t)
	takes, _ := times()
	var processes []*fetchProcess
	for i := range 4 {
		processes = append(processes, startFetching(t, fetchOrders{
			Process: i, URL: url, Key: "k", Callers: 50, Takes: takes, Lease: time.Minute, Value: fmt.Sprint("of ", i),
		}))
	}
	for _, p := range processes {
		p.begin()
	}
	values := map[string]int{}
	for _, p := range processes {
		for value, n := range p.report().Values {
			values[value] += n
		}
	}
	loaders, _ := loadsOf(t, db, "k")
	require.Len(t, loaders, 1)
	require.Equal(t, map[string]int{fmt.Sprint("of ", loaders[0]): 200}, values)
}

// The process that has the lease is killed: when it ends, and not before, one other
// loads.
func TestFetchKilledWinner(t *testing.T) {
	t.Parallel()
	url, db := newLoads(t)
	takes, lease := times()
	order := func(process int) fetchOrders {
		return fetchOrders{Process: process, URL: url, Key: "k", Callers: 50, Takes: takes, Lease: time.Minute, Value: fmt.Sprint("of ", process)}
	}
	first := order(0)
	first.Takes, first.Lease = time.Hour, lease
	winner := startFetching(t, first)
	others := []*fetchProcess{startFetching(t, order(1)), startFetching(t, order(2)), startFetching(t, order(3))}
	winner.begin()
	eventually(t, func() bool {
		loaders, _ := loadsOf(t, db, "k")
		return len(loaders) == 1
	}, "the first process loads")
	// At once: the upkeep removes a lease that has ended.
	var ends time.Time
	require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT leased_until FROM "+pgtest.Table(t, db.Pool(), "db0")+" WHERE key = 'k'").Scan(&ends))
	winner.kill()
	for _, p := range others {
		p.begin()
	}
	values := map[string]int{}
	for _, p := range others {
		for value, n := range p.report().Values {
			values[value] += n
		}
	}
	loaders, began := loadsOf(t, db, "k")
	require.Len(t, loaders, 2, "one load for each lease")
	require.Equal(t, map[string]int{fmt.Sprint("of ", loaders[1]): 150}, values)
	late := began[1].Sub(ends)
	t.Logf("the next load began %v after the end of the lease", late)
	require.GreaterOrEqual(t, late, time.Duration(0))
	if *long {
		require.LessOrEqual(t, late, 500*time.Millisecond)
	}
}
