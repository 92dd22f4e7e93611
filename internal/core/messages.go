package core

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgurl"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/verb"
)

// MaxChannelBytes is the longest channel: a key with what its events put before it.
const MaxChannelBytes = verb.MaxKeyBytes + 1<<10

// MaxPatternBytes is the longest pattern: each is compared with every message.
const MaxPatternBytes = 1 << 10

// Hub returns the subscriptions of this process. What other processes publish comes to it
// between Listen and Unlisten.
func (db *DB) Hub() *pubsub.Hub { return db.hub }

// Bus returns what carries messages to and from other processes.
func (db *DB) Bus() *bus.Bus { return db.bus }

// Publish sends a message to the subscribers of a channel, and of the patterns that match
// it, or to those of a shard channel: kind is pubsub.Channel or pubsub.Shard. It returns how
// many subscriptions of this process took the message, and when other processes can read
// it. With an error none has it, but after ErrUnknownOutcome. Errors: as of
// howdah.DB.Publish.
func (db *DB) Publish(ctx context.Context, kind pubsub.Kind, channel, payload []byte) (receivers int, err error) {
	if err := db.checkMessage(channel, payload); err != nil {
		return 0, err
	}
	m := message(kind, channel, payload)
	if db.Alone(kind) {
		return db.hub.Publish(kind, channel, payload), nil
	}
	m = m.Clone() // the caller may leave before it is sent
	var took atomic.Int64
	err = db.bus.Publish(ctx, []bus.Message{m}, func() { took.Store(int64(db.hub.Publish(kind, m.Channel, m.Payload))) })
	return int(took.Load()), err
}

// Alone reports whether no other process wants messages of a kind, and none is on its way to
// others: the Hub may have them at once. It asks nothing.
func (db *DB) Alone(kind pubsub.Kind) bool { return db.bus.Needless(messageKind(kind)) }

// Send is Publish for callers that must not wait. If it returns pending, done will be called
// with the outcome, and must not block. The bytes may be modified afterwards.
func (db *DB) Send(kind pubsub.Kind, channel, payload []byte, done func(receivers int, err error)) (receivers int, pending bool, err error) {
	if err := db.checkMessage(channel, payload); err != nil {
		return 0, false, err
	}
	m := message(kind, channel, payload)
	if db.Alone(kind) || !db.bus.Running() { // without DB.Run this process serves its own subscribers alone
		return db.hub.Publish(kind, channel, payload), false, nil
	}
	m = m.Clone()
	err = db.bus.Start(m, func(err error) {
		receivers := 0
		if err == nil {
			receivers = db.hub.Publish(kind, m.Channel, m.Payload)
		}
		done(receivers, err)
	})
	return 0, err == nil, err
}

// Receivers returns how many subscriptions would take a message that is published now, for
// replies that are given before the message is sent.
func (db *DB) Receivers(kind pubsub.Kind, channel []byte) int {
	return db.hub.Receivers(kind, channel)
}

// Listen has other processes send what they publish, for one more subscriber of the Hub.
// joined says that they do, so that the subscription may be confirmed now; if not, done is
// called then, or with an error. Each call is ended by Unlisten, but for one that gave an
// error, or whose done got one.
// done must not block. Errors: ErrNotRunning, ErrUnavailable, ErrTimeout, ErrPermission.
func (db *DB) Listen(kind pubsub.Kind, done func(error)) (joined bool, err error) {
	of, s := messageKind(kind), db.servers()
	if s == nil {
		return db.bus.Join(of, done)
	}
	s.listen(of, 1)
	joined, err = db.bus.Join(of, func(err error) {
		if err != nil {
			s.listen(of, -1)
		}
		done(err)
	})
	if err != nil {
		s.listen(of, -1)
	}
	return joined, err
}

// Unlisten ends what Listen began.
func (db *DB) Unlisten(kind pubsub.Kind) {
	db.bus.Leave(messageKind(kind))
	if s := db.servers(); s != nil {
		s.listen(messageKind(kind), -1)
	}
}

func (db *DB) checkMessage(channel, payload []byte) error {
	if len(channel) > MaxChannelBytes {
		return fmt.Errorf("%w: a channel of %d bytes, at most %d", fault.ErrKeyTooLong, len(channel), MaxChannelBytes)
	}
	if len(payload) > db.opts.MaxValueBytes {
		return fmt.Errorf("%w: a message of %d bytes, at most %d", fault.ErrValueTooLarge, len(payload), db.opts.MaxValueBytes)
	}
	return nil
}

// messageKind is the kind of message that a kind of subscription receives.
func messageKind(kind pubsub.Kind) bus.Kind {
	if kind == pubsub.Shard {
		return bus.ShardPublished
	}
	return bus.Published
}

func message(kind pubsub.Kind, channel, payload []byte) bus.Message {
	return bus.Message{Kind: messageKind(kind), Channel: channel, Payload: payload}
}

// receive takes what another process has sent.
func (db *DB) receive(m bus.Message) {
	switch m.Kind {
	case bus.Published:
		db.hub.Publish(pubsub.Channel, m.Channel, m.Payload)
	case bus.ShardPublished:
		db.hub.Publish(pubsub.Shard, m.Channel, m.Payload)
	case bus.Ready:
		db.ready(m)
	}
}

// newBus makes what carries messages between processes.
func (db *DB) newBus(pool *pgxpool.Pool) (*bus.Bus, error) {
	listen, err := listenBy(pool, db.opts)
	if err != nil {
		return nil, err
	}
	return bus.New(bus.Options{
		Acquire: db.engines.Acquire, Listen: listen, Failure: db.Failure, Deliver: db.receive,
		Name:    ProcessName(),
		Timeout: db.opts.Timeout, MaxBatchBytes: db.opts.MaxBatchBytes, MaxQueueBytes: db.opts.MaxQueueBytes,
		Logger: db.opts.Logger,
	}), nil
}

// ProcessName is this process for people, in lists that the database keeps: its host and its
// number. A process whose host has no name is named by its number.
func ProcessName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// listenBy returns how a connection for LISTEN is made, nil if the pooler does not pass
// notifications and no other way was given.
func listenBy(pool *pgxpool.Pool, o Options) (func(context.Context) (*pgx.Conn, error), error) {
	config := pool.Config()
	prepare := config.BeforeConnect // a password that changes, say
	switch {
	case o.ListenURL != "":
		conn, err := pgurl.Config(o.ListenURL)
		if err != nil {
			return nil, fmt.Errorf("howdah: Options.ListenURL is not valid: %w", err)
		}
		if conn.ValidateConnect == nil {
			conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
		}
		if conn.RuntimeParams["application_name"] == "" {
			conn.RuntimeParams["application_name"] = applicationName
		}
		config.ConnConfig, prepare = conn, nil
	case o.Pooler == PoolerTransaction:
		return nil, nil
	}
	return func(ctx context.Context) (*pgx.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, engine.ConnectTimeout)
		defer cancel()
		conn := config.ConnConfig.Copy()
		if prepare != nil {
			if err := prepare(ctx, conn); err != nil {
				return nil, err
			}
		}
		return pgx.ConnectConfig(ctx, conn)
	}, nil
}
