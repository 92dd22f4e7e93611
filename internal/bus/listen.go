package bus

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

const (
	// testPatience is how long a notification may take that this process has asked for,
	// and testInterval how often it asks.
	testPatience = 2 * time.Second
	testInterval = 30 * time.Second

	// relisten is the pause before the next connection after one that was lost, and
	// resilent that after one by which no notification came.
	relisten = time.Second
	resilent = time.Minute

	testPrefix = "test "
)

var errSilent = errors.New("bus: LISTEN succeeded, but no notification arrives, as behind a pooler in transaction mode")

// listenUntil turns notifications into notices, until ctx ends.
func (b *Bus) listenUntil(ctx context.Context) {
	if b.options.Listen == nil {
		b.options.Logger.Warn("howdah: messages of other processes are polled for each 50 ms, because the pooler passes no notifications; " +
			"a URL that leads past it makes them faster (--listen-url, Options.ListenURL)")
		return
	}
	var reported error // what the log has as the reason, nil while notifications arrive
	for ctx.Err() == nil {
		err := b.listen(ctx, func() {
			if reported != nil {
				b.options.Logger.Info("howdah: notifications of messages arrive again")
			}
			reported = nil
			b.setListening(true)
		})
		b.setListening(false)
		if ctx.Err() != nil {
			return
		}
		if reported == nil || errors.Is(err, errSilent) && !errors.Is(reported, errSilent) {
			b.reportDeaf(err)
			reported = err
		}
		pause := relisten
		if errors.Is(err, errSilent) {
			pause = resilent
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// reportDeaf logs why no notifications arrive. A URL helps only where a connection is there and stays
// silent: one that was lost comes back.
func (b *Bus) reportDeaf(err error) {
	if errors.Is(err, errSilent) {
		b.options.Logger.Warn("howdah: notifications do not arrive; messages of other processes are polled for each 50 ms. "+
			"Behind a pooler give a URL that leads past it (--listen-url, Options.ListenURL)", "error", fault.OneLine(err))
		return
	}
	b.options.Logger.Warn("howdah: the connection for notifications was lost or could not be made; "+
		"messages of other processes are polled for each 50 ms until it is back", "error", fault.OneLine(err))
}

// setListening notes whether notifications arrive.
func (b *Bus) setListening(arrive bool) {
	if b.counts.listening.Swap(arrive) != arrive {
		signal(b.notices) // what came meanwhile was not announced, and the pause is another one
	}
}

// listen makes a connection and takes its notifications until it fails, or until one
// does not come that this process has asked for. works is called when the first has come.
func (b *Bus) listen(ctx context.Context, works func()) error {
	conn, err := b.options.Listen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(closing)
	}()
	if err := execute(ctx, conn, schema.Query("bus_listen")); err != nil {
		return err
	}
	for {
		if err := b.await(ctx, conn, testPatience, true); err != nil {
			return err
		}
		works()
		if err := b.await(ctx, conn, testInterval, false); err != nil {
			return err
		}
	}
}

// execute runs a statement that pgx would not prepare.
func execute(ctx context.Context, conn *pgx.Conn, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, testPatience)
	defer cancel()
	return conn.PgConn().Exec(ctx, sql).Close()
}

// await takes notifications for so long. With test it asks for one first, returns when that
// has come, and errSilent if it does not come. The notification is asked for on a
// connection of the pool, as those of others are.
func (b *Bus) await(ctx context.Context, conn *pgx.Conn, patience time.Duration, test bool) error {
	own := payloadOf(b.self())
	if test {
		if err := b.do(ctx, "bus_test", testPrefix+own); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case err != nil && ctx.Err() == context.DeadlineExceeded && !conn.IsClosed():
			if test {
				return errSilent
			}
			return nil
		case err != nil:
			return err
		case n.Payload == testPrefix+own:
			if test {
				return nil
			}
		case n.Payload != own && !strings.HasPrefix(n.Payload, testPrefix):
			signal(b.notices)
		}
	}
}
