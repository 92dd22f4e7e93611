package bus

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

const (
	// known is the age limit of what a sender knows of those who want messages, and how
	// long one who begins to want them waits.
	known = 250 * time.Millisecond

	// linger is how long a process goes on to want messages after its last receiver has
	// left: the next one need not wait.
	linger = time.Minute

	// renewal is how often a process renews its row, and backstop how often it polls
	// although it is notified of messages.
	renewal  = time.Second
	backstop = time.Second

	// unnotified is how often a process polls that is not notified.
	unnotified = 50 * time.Millisecond

	// trimInterval is how often a process that sends has old messages removed, and
	// trimWork about how long that may take.
	trimInterval = time.Second
	trimWork     = 200 * time.Millisecond
)

// Options are those of a Bus. Every field is set, but for those that may be nil.
type Options struct {
	// Acquire returns a connection for one statement.
	Acquire func(context.Context) (*pgxpool.Conn, error)

	// Listen makes a connection that is not shared, for LISTEN. nil: there is none, and
	// messages are polled for.
	Listen func(context.Context) (*pgx.Conn, error)

	// Failure turns an error of a statement into one for the caller. sent says that the
	// statement may have been run.
	Failure func(err error, sent bool) error

	// Deliver takes a message of another process. It must not block, and must not modify
	// or keep the message's bytes longer than it says to Deliver's caller: they are its own.
	Deliver func(Message)

	Name          string        // of this process, for people
	Timeout       time.Duration // of a statement
	MaxBatchBytes int           // of the messages of a statement; one that is larger goes alone
	MaxQueueBytes int           // of messages that wait
	Logger        *slog.Logger
}

// Bus sends messages to other processes and receives theirs, while Run runs.
type Bus struct {
	options Options
	rush    float64 // of its cadence

	mu      sync.Mutex
	running bool
	began   chan struct{} // closed while Run runs
	id      int64         // of this process in howdah_internal.server, another one for each Run

	queue    queue
	doubts   doubts
	members  members
	view     atomic.Pointer[view]
	renewing atomic.Bool   // the view is to be renewed by a call in the queue
	wake     chan struct{} // has the receiving side look at once
	notices  chan struct{} // a notification came
	sent     chan struct{} // a row was written, which is to be removed some day
	counts   counts
}

// New makes a Bus. It starts nothing.
func New(options Options) *Bus {
	b := &Bus{
		options: options,
		rush:    rush,
		began:   make(chan struct{}),
		wake:    make(chan struct{}, 1),
		notices: make(chan struct{}, 1),
		sent:    make(chan struct{}, 1),
	}
	b.queue.filled = make(chan struct{}, 1)
	b.renameLocked()
	return b
}

// Run carries messages until ctx ends, and returns nil then. It starts goroutines,
// which have ended when it returns. It gives an error at once if it runs already.
func (b *Bus) Run(ctx context.Context) error {
	if !b.begin() {
		return errors.New("bus: Run is called already; one call serves a Bus")
	}
	defer b.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sender sync.WaitGroup
	defer sender.Wait()
	defer cancel()
	sender.Go(func() { b.sendUntil(ctx) })
	sender.Go(func() { b.trimUntil(ctx) })
	b.receiveUntil(ctx)
	return nil
}

func (b *Bus) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running {
		return false
	}
	b.running = true
	b.renameLocked()
	b.queue.reopen()
	close(b.began)
	return true
}

func (b *Bus) end() {
	b.mu.Lock()
	b.running = false
	b.began = make(chan struct{})
	b.mu.Unlock()
	b.members.fail(fault.ErrNotRunning)
}

// renameLocked gives this process another id. 0 is that of howdah.publish.
func (b *Bus) renameLocked() {
	var bytes [8]byte
	rand.Read(bytes[:]) // never fails
	b.id = int64(binary.BigEndian.Uint64(bytes[:])>>1) | 1
	b.view.Store(nil)
}

func (b *Bus) self() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.id
}

// Running reports whether Run runs.
func (b *Bus) Running() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// Await waits until Run runs. Error: fault.ErrNotRunning when ctx ends.
func (b *Bus) Await(ctx context.Context) error {
	b.mu.Lock()
	began := b.began
	b.mu.Unlock()
	select {
	case <-began:
		return nil
	case <-ctx.Done():
		return fault.ErrNotRunning
	}
}

// ask runs a statement on a connection of the pool, and reads its rows into scan. writes
// says that it matters whether the statement was run.
func (b *Bus) ask(ctx context.Context, writes bool, query string, args, scan []any, each func() error) error {
	conn, err := b.options.Acquire(ctx)
	if err != nil {
		return b.options.Failure(err, false)
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, schema.Query(query), args...)
	if err == nil {
		_, err = pgx.ForEachRow(rows, scan, each)
	}
	return b.options.Failure(err, writes)
}

// do runs a statement whose rows do not matter.
func (b *Bus) do(ctx context.Context, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	conn, err := b.options.Acquire(ctx)
	if err != nil {
		return b.options.Failure(err, false)
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, schema.Query(query), args...)
	return b.options.Failure(err, false)
}

// signal puts a value into a channel of one place, if there is room.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func payloadOf(id int64) string { return strconv.FormatInt(id, 10) }
