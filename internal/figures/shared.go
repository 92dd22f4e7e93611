package figures

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Seen is what was read last, and how the last attempt to read it went.
type Seen[T any] struct {
	Value *T        // shared with others: not to be changed; nil: nothing was read yet
	At    time.Time // when Value was read; zero without one
	Err   error     // of the last attempt, then Value is older; ErrCounting: it is not over yet
}

// Age is how old Value is; 0 without one.
func (s Seen[T]) Age() time.Duration {
	if s.At.IsZero() {
		return 0
	}
	return time.Since(s.At)
}

// ErrCounting says that figures are being read and nothing older is there to show: ask
// again in a second.
var ErrCounting = errors.New("figures: the figures are being read; ask again in a second")

// retryAfter is how soon after a failure figures are read again that otherwise keep for
// longer.
const retryAfter = 5 * time.Second

// shared is a figure that is read at most once in an interval, however many ask for it.
type shared[T any] struct {
	room     *Figures
	interval time.Duration // from the beginning of one reading to that of the next
	timeout  time.Duration // of a reading
	read     func(context.Context, *pgx.Conn) (*T, error)
	after    func(value *T, err error) // called after each reading, if it is not nil
	connect  func(context.Context) (*pgx.Conn, func(), error)

	mu     sync.Mutex
	seen   Seen[T]
	began  time.Time     // of the last reading
	looked time.Time     // when somebody asked last
	flight chan struct{} // closed when the reading that is under way ends; nil: there is none
}

// look returns the figure, read anew if it is older than the interval. A viewer who looks
// while it is being read waits for the same reading, but not for long.
func (s *shared[T]) look(ctx context.Context) Seen[T] {
	return s.wait(ctx, s.begin(false), s.room.patience)
}

// again returns the figure of a reading that began after the call, or that was under way.
func (s *shared[T]) again(ctx context.Context) Seen[T] {
	return s.wait(ctx, s.begin(true), s.timeout)
}

// lookedAt is when somebody looked last.
func (s *shared[T]) lookedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looked
}

// last returns what was read last.
func (s *shared[T]) last() Seen[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// begin starts a reading if one is due, or wanted in any case. It returns what is closed
// when the reading that is under way ends, nil if there is none.
func (s *shared[T]) begin(force bool) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.looked = now
	if s.flight == nil && (force || s.dueLocked(now) <= 0) {
		flight := make(chan struct{})
		if err := s.room.start(func(ctx context.Context) { s.run(ctx, flight) }); err != nil {
			s.seen.Err = err
			return nil
		}
		s.flight, s.began = flight, now
	}
	return s.flight
}

// dueLocked is when the next reading is due.
func (s *shared[T]) dueLocked(now time.Time) time.Duration {
	if s.began.IsZero() {
		return 0
	}
	interval := s.interval
	if s.seen.Err != nil {
		interval = min(interval, retryAfter)
	}
	return interval - now.Sub(s.began)
}

// run reads, and keeps what was read.
func (s *shared[T]) run(ctx context.Context, flight chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, err := s.ask(ctx)
	if s.after != nil {
		s.after(value, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Err = err
	if err == nil {
		s.seen.Value, s.seen.At = value, time.Now()
	}
	s.flight = nil
	close(flight)
}

func (s *shared[T]) ask(ctx context.Context) (*T, error) {
	conn, release, err := s.connect(ctx)
	if err == nil {
		defer release()
		var value *T
		if value, err = s.read(ctx, conn); err == nil {
			return value, nil
		}
	}
	return nil, s.room.explain(err)
}

func (s *shared[T]) wait(ctx context.Context, flight <-chan struct{}, limit time.Duration) Seen[T] {
	if flight == nil {
		return s.last()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	over := false
	select {
	case <-flight:
		over = true
	case <-ctx.Done():
	case <-timer.C:
	}
	seen := s.last()
	if !over && seen.Value == nil && seen.Err == nil {
		seen.Err = ErrCounting
	}
	return seen
}
