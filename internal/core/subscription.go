package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pubsub"
)

// SubscribeOptions say what a subscription is to. Package howdah documents the fields.
type SubscribeOptions struct {
	Channels []string
	Patterns []string
	MaxBytes int
}

// PublishedMessage is a message that a subscription received. Package howdah documents the fields.
type PublishedMessage struct {
	Channel string
	Pattern string
	Payload []byte
}

// joinPatience is how long it takes, besides Options.Timeout, to tell other processes of
// a subscription.
const joinPatience = 2 * time.Second

// defaultSubscriptionBytes is SubscribeOptions.MaxBytes if it is 0, and messageOverhead
// what a message counts besides its bytes.
const (
	defaultSubscriptionBytes = 32 << 20
	messageOverhead          = 64
)

// waitingMessage is a message that a subscription has not given to Next. It shares its
// texts with other subscriptions.
type waitingMessage struct{ channel, pattern, payload string }

func (m waitingMessage) size() int {
	return len(m.channel) + len(m.pattern) + len(m.payload) + messageOverhead
}

// subscriptions are those of Subscribe that have not ended.
type subscriptions struct {
	mu  sync.Mutex
	all map[*Subscription]struct{}
}

// Subscription is messages that wait to be read. It is safe for concurrent use.
type Subscription struct {
	db    *DB
	limit int
	ends  []*pubsub.Subscription

	mu      sync.Mutex
	listens bool // other processes know of it
	waiting []waitingMessage
	bytes   int
	arrived chan struct{} // gets a value when a message begins to wait, or it has ended
	err     error         // it has ended
}

// Subscribe begins a subscription. See howdah.DB.Subscribe.
func (db *DB) Subscribe(ctx context.Context, o SubscribeOptions) (*Subscription, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Subscription{db: db, limit: cmp.Or(o.MaxBytes, defaultSubscriptionBytes), arrived: make(chan struct{}, 1)}
	s.begin(o) // what this process publishes from now on waits for Next
	if err := db.listen(ctx); err != nil {
		s.end(err, true)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && !errors.Is(s.err, fault.ErrOverloaded) { // Run or the DB has ended meanwhile
		db.Unlisten(pubsub.Channel)
		return nil, s.err
	}
	if s.err != nil {
		db.Unlisten(pubsub.Channel)
		return s, nil // Next returns what it took, and the error
	}
	s.listens = true
	if !db.bus.Running() { // it ended meanwhile, and perhaps before begin
		s.endLocked(fault.ErrNotRunning)
		return nil, fault.ErrNotRunning
	}
	return s, nil
}

// begin makes the subscription one of this process.
func (s *Subscription) begin(o SubscribeOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.subscriptions.add(s)
	for _, name := range o.Channels {
		s.ends = append(s.ends, s.db.hub.Subscribe(pubsub.Channel, name, s))
	}
	for _, name := range o.Patterns {
		s.ends = append(s.ends, s.db.hub.Subscribe(pubsub.Pattern, name, s))
	}
}

func (o SubscribeOptions) check() error {
	if len(o.Channels)+len(o.Patterns) == 0 {
		return fmt.Errorf("%w: SubscribeOptions name neither a channel nor a pattern", fault.ErrInvalidSetting)
	}
	if o.MaxBytes < 0 {
		return fmt.Errorf("%w: SubscribeOptions.MaxBytes is %d; it must be positive, or 0 for the default", fault.ErrInvalidSetting, o.MaxBytes)
	}
	for _, channel := range o.Channels {
		if len(channel) > MaxChannelBytes {
			return fmt.Errorf("%w: a channel of %d bytes, at most %d", fault.ErrKeyTooLong, len(channel), MaxChannelBytes)
		}
	}
	for _, pattern := range o.Patterns {
		if len(pattern) > MaxPatternBytes {
			return fmt.Errorf("%w: a pattern of %d bytes, at most %d", fault.ErrKeyTooLong, len(pattern), MaxPatternBytes)
		}
	}
	return nil
}

// listen is Listen for callers that wait. Run may begin a moment later than they do.
func (db *DB) listen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, db.opts.Timeout+joinPatience)
	defer cancel()
	if err := db.bus.Await(ctx); err != nil {
		return err
	}
	result := make(chan error) // without room: who has left does not take it
	left := make(chan struct{})
	joined, err := db.Listen(pubsub.Channel, func(err error) {
		select {
		case result <- err:
		case <-left:
			if err == nil {
				db.Unlisten(pubsub.Channel)
			}
		}
	})
	if joined || err != nil {
		return err
	}
	select {
	case err = <-result:
		return err
	case <-ctx.Done():
		close(left)
		return fault.Timeout("other processes were being told of the subscription", ctx.Err())
	}
}

// Deliver implements pubsub.Receiver.
func (s *Subscription) Deliver(m *pubsub.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	next := waitingMessage{pattern: m.Pattern}
	next.channel, next.payload = m.Copy()
	if s.bytes += next.size(); s.bytes > s.limit && len(s.waiting) > 0 {
		s.endLocked(fmt.Errorf("%w: the subscription reads too slowly, %d bytes wait; read faster, or give SubscribeOptions.MaxBytes", fault.ErrOverloaded, s.bytes))
		return
	}
	s.waiting = append(s.waiting, next)
	s.signal()
}

// Next waits for the next message. See howdah.Subscription.Next.
func (s *Subscription) Next(ctx context.Context) (PublishedMessage, error) {
	for {
		s.mu.Lock()
		if len(s.waiting) > 0 {
			m := s.waiting[0]
			s.waiting[0] = waitingMessage{}
			s.waiting = s.waiting[1:]
			s.bytes -= m.size()
			if len(s.waiting) > 0 || s.err != nil {
				s.signal() // for another caller of Next
			}
			s.mu.Unlock()
			return PublishedMessage{Channel: m.channel, Pattern: m.pattern, Payload: []byte(m.payload)}, nil
		}
		err := s.err
		s.mu.Unlock()
		if err != nil {
			s.signal()
			return PublishedMessage{}, err
		}
		select {
		case <-s.arrived:
		case <-ctx.Done():
			return PublishedMessage{}, ctx.Err()
		}
	}
}

// Close ends the subscription. See howdah.Subscription.Close.
func (s *Subscription) Close() {
	s.end(fault.ErrClosed, true)
}

// end ends the subscription with an error for Next. drop drops what waits.
func (s *Subscription) end(err error, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if drop {
		s.waiting, s.bytes = nil, 0
	}
	s.endLocked(err)
}

func (s *Subscription) endLocked(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.signal()
	for _, e := range s.ends {
		e.End()
	}
	if s.listens {
		s.db.Unlisten(pubsub.Channel)
	}
	s.db.subscriptions.remove(s)
}

func (s *Subscription) signal() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

func (all *subscriptions) add(s *Subscription) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.all == nil {
		all.all = make(map[*Subscription]struct{})
	}
	all.all[s] = struct{}{}
}

func (all *subscriptions) remove(s *Subscription) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.all, s)
}

// end ends all with an error; what waits may be read.
func (all *subscriptions) end(err error) {
	all.mu.Lock()
	list := all.all
	all.all = nil
	all.mu.Unlock()
	for s := range list {
		s.end(err, false)
	}
}
