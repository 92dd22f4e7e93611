package howdah

import (
	"context"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pubsub"
)

// Message is one that a Subscription received.
type Message struct {
	Channel string // that it was published to
	Pattern string // of the subscription that matched the channel; "": it is to the channel itself
	Payload []byte
}

// SubscribeOptions say what a subscription is to, at least one channel or pattern. A
// message whose channel fits more than one of them comes as often, as with Redis.
type SubscribeOptions struct {
	Channels []string

	// Patterns match channels as those of Redis do: * is any text, ? one byte, [a-z] one
	// of these; \ takes the meaning from what follows. At most 1024 bytes each.
	Patterns []string

	// MaxBytes bounds the messages that wait for Next; beyond it the subscription ends
	// with ErrOverloaded. Default 32 MiB.
	MaxBytes int
}

// Subscription is messages that wait to be read. It is safe for concurrent use.
type Subscription core.Subscription

// Publish sends a message to all who have subscribed to a channel, or to a pattern that
// matches it, in any process on the database: with Subscribe, or as clients of howdah
// serve. It returns how many subscriptions of this process took the message, and when the
// other processes can read it. Nothing is written if no other process has subscribers.
//
// Messages of one goroutine arrive in their order. A subscriber that is not there at this
// moment gets nothing, and a crash of PostgreSQL loses messages on their way.
//
// With an error no subscriber has the message, or, with ErrUnknownOutcome, some or all may
// have it; it does not come behind later ones of the same goroutine. Errors: ErrKeyTooLong (a
// channel of more than 65 KiB), ErrValueTooLarge, ErrOverloaded, ErrUnavailable, ErrTimeout,
// ErrUnknownOutcome, ErrPermission.
func (db *DB) Publish(ctx context.Context, channel string, message []byte) (receivers int, err error) {
	return db.core().Publish(ctx, pubsub.Channel, []byte(channel), message)
}

// Subscribe receives what is published to channels: each message whose Publish begins
// after Subscribe has returned, by howdah.publish in SQL each that is committed then, and what
// this process publishes while Subscribe runs. It
// needs Run, which may begin at the same moment. The first subscription of a process takes about
// 250 ms, until every other process knows of it. While this process cannot reach PostgreSQL,
// messages of others wait, for about ten seconds; older ones are lost. Subscriptions are
// of this process: close each.
//
// Errors: ErrNotRunning, ErrInvalidSetting, ErrKeyTooLong, ErrUnavailable, ErrTimeout,
// ErrPermission.
func (db *DB) Subscribe(ctx context.Context, opts SubscribeOptions) (*Subscription, error) {
	s, err := db.core().Subscribe(ctx, core.SubscribeOptions(opts))
	return (*Subscription)(s), err
}

// Next waits for the next message and returns it. Messages that wait when the
// subscription ends can still be read, but for Close. Errors: that of ctx;
// ErrOverloaded if messages came faster than they were read, ErrNotRunning when Run has
// ended, ErrClosed after Close and when the DB was closed: the subscription has ended then.
func (s *Subscription) Next(ctx context.Context) (Message, error) {
	m, err := (*core.Subscription)(s).Next(ctx)
	return Message(m), err
}

// Close ends the subscription. What waits to be read is dropped. It may be called twice.
func (s *Subscription) Close() { (*core.Subscription)(s).Close() }
