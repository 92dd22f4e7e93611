package bus

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// process is a Bus with a pool of its own, as a process has one.
type process struct {
	*Bus
	t    testing.TB
	pool *pgxpool.Pool
	stop func() // ends Run, and returns when it has ended

	mu    sync.Mutex
	got   []Message
	logs  []string
	heard chan struct{} // closed and replaced when a message came
}

// start makes a process and runs it. listen is the URL for notifications, "": as the
// other one; "none": there is none.
func start(t testing.TB, url, listen string) *process {
	t.Helper()
	p := newProcess(t, url, listen)
	p.run()
	return p
}

func newProcess(t testing.TB, url, listen string) *process {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	require.NoError(t, err)
	p := &process{t: t, pool: pool, stop: func() {}, heard: make(chan struct{})}
	options := Options{
		Acquire: pool.Acquire,
		Failure: func(err error, sent bool) error {
			if err != nil && fault.IsLost(err) {
				pool.Reset()
			}
			return fault.From(err, sent, sent)
		},
		Deliver:       p.deliver,
		Name:          t.Name(),
		Timeout:       5 * time.Second,
		MaxBatchBytes: 1 << 20,
		MaxQueueBytes: 64 << 20,
		Logger:        slog.New(slog.NewTextHandler(logWriter{p}, nil)),
	}
	if listen == "" {
		listen = url
	}
	if listen != "none" {
		options.Listen = func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, listen) }
	}
	p.Bus = New(options)
	t.Cleanup(func() {
		p.stop()
		pool.Close()
	})
	return p
}

func (p *process) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(p.t, <-ended)
	})
	require.NoError(p.t, p.Await(p.t.Context()))
}

type logWriter struct{ p *process }

func (w logWriter) Write(line []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.logs = append(w.p.logs, string(line))
	return len(line), nil
}

// logged tells whether the log has a line with that text.
func (p *process) logged(text string) bool { return p.lines(text) > 0 }

// lines counts the lines of the log with that text.
func (p *process) lines(text string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.logs {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (p *process) deliver(m Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, m)
	close(p.heard)
	p.heard = make(chan struct{})
}

// subscribe joins, and returns when that is confirmed.
func (p *process) subscribe(k Kind) {
	p.t.Helper()
	require.NoError(p.t, p.tryJoin(k))
}

func (p *process) tryJoin(k Kind) error {
	done := make(chan error, 1)
	joined, err := p.Join(k, func(err error) { done <- err })
	if joined || err != nil {
		return err
	}
	return <-done
}

func (p *process) publish(channel, payload string) {
	p.t.Helper()
	require.NoError(p.t, p.publishOne(p.t.Context(), message(channel, payload)))
}

// publishOne is Publish for one message.
func (p *process) publishOne(ctx context.Context, m Message) error {
	return p.Publish(ctx, []Message{m}, func() {})
}

func message(channel, payload string) Message {
	return Message{Published, []byte(channel), []byte(payload)}
}

// await waits until so many messages came, and returns the payloads of all, by channel.
func (p *process) await(n int) map[string][]string {
	p.t.Helper()
	deadline := time.After(time.Minute)
	for {
		p.mu.Lock()
		got, heard := p.got, p.heard
		p.mu.Unlock()
		if len(got) >= n {
			return byChannel(got)
		}
		select {
		case <-heard:
		case <-deadline:
			p.t.Fatalf("%d of %d messages came", len(got), n)
		}
	}
}

func byChannel(got []Message) map[string][]string {
	all := make(map[string][]string)
	for _, m := range got {
		all[string(m.Channel)] = append(all[string(m.Channel)], string(m.Payload))
	}
	return all
}

// nothingElse waits for a marker that another process sends now, and requires that
// nothing else came but n messages.
func (p *process) nothingElse(other *process, n int) {
	p.t.Helper()
	other.publish("marker", "x")
	got := p.await(n + 1)
	require.Equal(p.t, []string{"x"}, got["marker"])
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Len(p.t, p.got, n+1)
	p.got = p.got[:n]
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, time.Minute, 5*time.Millisecond, what)
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(context.Background(), sql, args...)
	require.NoError(t, err, sql)
}

func one[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, conn.QueryRow(context.Background(), sql, args...).Scan(&v), sql)
	return v
}

// series is the numbers from 0 on as texts.
func series(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return all
}

// wantedAt is what this process wants so long from now if nothing happens.
func (p *process) wantedAt(later time.Duration) kinds {
	s, _, _ := p.members.wanted(time.Now().Add(later))
	return s
}
