package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pubsub"
)

// Publication is a message that is to be published. Kind is pubsub.Channel or pubsub.Shard.
type Publication struct {
	Kind             pubsub.Kind
	Channel, Payload []byte
}

// Outbox is messages that are an effect of a transaction or of an edit: all of them are
// published if it is committed, and none if it is not. Where another process wants them they
// are rows of the transaction itself, so that they cannot be lost between two statements. The
// subscribers of this process get them from Finish.
type Outbox struct {
	db       *DB
	list     []Publication
	messages []bus.Message
	sent     *bus.Sent // by the transaction; nil: it did not
}

// Outbox makes one of messages whose bytes will not be modified; nil for none.
func (db *DB) Outbox(list []Publication) *Outbox {
	if len(list) == 0 {
		return nil
	}
	o := &Outbox{db: db, list: list, messages: make([]bus.Message, len(list))}
	for i, p := range list {
		o.messages[i] = message(p.Kind, p.Channel, p.Payload)
	}
	return o
}

// Effect is what the edit needs to know of the Outbox.
func (o *Outbox) Effect() *edit.Effect {
	began := time.Time{}
	return &edit.Effect{
		Set: o.db.engines,
		Due: o.wanted,
		Begin: func(ctx context.Context) error {
			err := o.db.bus.Prepare(ctx)
			began = time.Now()
			return err
		},
		Write: func(ctx context.Context, tx pgx.Tx) error {
			if began.IsZero() {
				return o.write(ctx, tx, time.Now())
			}
			return o.write(ctx, tx, began)
		},
	}
}

// wanted reports whether another process may want the messages.
func (o *Outbox) wanted() bool {
	for _, m := range o.messages {
		if o.db.bus.Elsewhere(m.Kind) {
			return true
		}
	}
	return false
}

// write makes the messages a part of a transaction, which has its snapshot since then.
func (o *Outbox) write(ctx context.Context, tx Tx, since time.Time) (err error) {
	o.sent = nil
	for _, p := range o.list {
		if err := o.db.checkMessage(p.Channel, p.Payload); err != nil {
			return err
		}
	}
	o.sent, err = o.db.bus.SendIn(ctx, tx, since, o.messages)
	return err
}

// Finish is called once, with the error of what the messages are an effect of. Without one
// it publishes them to whom the transaction has not, and returns when that is done. stored
// says that something else was committed. Errors: err; as of Publish; ErrUnknownOutcome if
// something was committed and the messages may be lost.
func (o *Outbox) Finish(ctx context.Context, err error, stored bool) error {
	switch {
	case err == nil && o.Delivered():
		return nil
	case err == nil:
		err = o.db.bus.Publish(ctx, o.messages, o.deliver)
		if err != nil && stored {
			err = fmt.Errorf("%w: the transaction was committed, but its messages may not have been published: %w", fault.ErrUnknownOutcome, err)
		}
	case errors.Is(err, fault.ErrUnknownOutcome) && o.sent != nil:
		if committed, failed := o.db.bus.Committed(ctx, o.sent); failed == nil && committed {
			o.deliver()
		}
	}
	return err
}

// Delivered hands the messages to the subscribers of this process if the transaction has
// sent them, or no other process wants them, and reports whether that is so. It does not
// wait for anything, and must not be called where nothing was committed.
func (o *Outbox) Delivered() bool {
	if o.sent == nil {
		for _, m := range o.messages {
			if !o.db.bus.Needless(m.Kind) {
				return false
			}
		}
	}
	o.deliver()
	return true
}

// deliver hands the messages to the subscribers of this process.
func (o *Outbox) deliver() {
	for _, p := range o.list {
		o.db.hub.Publish(p.Kind, p.Channel, p.Payload)
	}
}
