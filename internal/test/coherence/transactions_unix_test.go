//go:build unix

package coherence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/await"
)

// txTimeout bounds a transaction, its locks and its end included.
const txTimeout = 10 * time.Second

// errRollback ends a transaction that was to be rolled back.
var errRollback = errors.New("rolled back on purpose")

// transactions writes in transactions of the application, of all levels of
// isolation, through Cache.With, through Transact, and by SQL functions. The
// process that commits them must read what they wrote.
func (a *actor) transactions(ctx context.Context) {
	for a.pause(ctx, 5*short) {
		// What an application writes by SQL functions, in a transaction of its
		// own, the library does not see.
		if a.past = a.rng.IntN(3) == 0; a.past || a.rng.IntN(3) > 0 {
			a.transaction(ctx)
		} else {
			a.transact(ctx)
		}
	}
}

func (a *actor) transaction(ctx context.Context) {
	ctx, cancel := within(ctx, txTimeout)
	defer cancel()
	levels := []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}
	a.level = levels[a.rng.IntN(len(levels))]
	writes := a.plan()
	a.attempt(func() error {
		tx, err := a.db.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: a.level})
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if err := a.work(ctx, tx, writes, 350*time.Millisecond); err != nil {
			return err
		}
		if a.rng.IntN(6) == 0 {
			return errRollback
		}
		return tx.Commit(ctx)
	}, writes...)
}

func (a *actor) transact(ctx context.Context) {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	a.level = pgx.RepeatableRead
	writes := a.plan()
	a.attempt(func() error {
		return a.db.Transact(ctx, howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			return a.work(ctx, tx, writes, 20*time.Millisecond)
		})
	}, writes...)
}

// plan picks the writes of one transaction, on different keys and with one tag.
func (a *actor) plan() []Write {
	tag := a.value()
	var writes []Write
	used := map[int]bool{}
	for range 1 + a.rng.IntN(3) {
		key := a.rng.IntN(a.Keys) // any: it may hold the row for long
		if used[key] {
			continue
		}
		used[key] = true
		w := a.store(key)
		if a.rng.IntN(3) == 0 {
			w = a.remove(key)
		}
		w.Tag = tag
		writes = append(writes, w)
	}
	return writes
}

// work does the writes inside a transaction, some in savepoints that are kept
// and others in savepoints that are rolled back first.
func (a *actor) work(ctx context.Context, tx pgx.Tx, writes []Write, longest time.Duration) error {
	if _, err := tx.Exec(ctx, "SELECT set_config($1, $2, true), set_config('lock_timeout', '1s', true)",
		TagSetting, strconv.FormatInt(writes[0].Tag, 10)); err != nil {
		return err
	}
	for _, w := range writes {
		if err := a.step(ctx, tx, w); err != nil {
			return err
		}
		a.pause(ctx, longest/time.Duration(2*len(writes)))
	}
	return nil
}

func (a *actor) step(ctx context.Context, tx pgx.Tx, w Write) error {
	switch a.rng.IntN(4) {
	case 0: // what is rolled back must not be seen
		if err := a.savepoint(ctx, tx, a.store(w.Key), false); err != nil {
			return err
		}
		return a.inside(ctx, tx, w)
	case 1:
		return a.savepoint(ctx, tx, w, true)
	}
	return a.inside(ctx, tx, w)
}

func (a *actor) savepoint(ctx context.Context, tx pgx.Tx, w Write, keep bool) error {
	inner, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	if err := a.inside(ctx, inner, w); err != nil {
		return err
	}
	if keep {
		return inner.Commit(ctx)
	}
	return inner.Rollback(ctx)
}

// inside does one write in a transaction, and reads it back there.
func (a *actor) inside(ctx context.Context, tx pgx.Tx, w Write) error {
	cache, name := a.cache(w.Key).With(tx), KeyName(w.Key)
	var err error
	switch {
	case a.past:
		err = a.call(ctx, tx, w)
	case w.Value == Absent:
		err = cache.Delete(ctx, name)
	default:
		err = cache.Set(ctx, name, FormatValue(w.Value), 0)
	}
	if err != nil || a.past {
		return err
	}
	found, err := answer(cache.Get(ctx, name))
	if err == nil && found != w.Value && w.Value != Absent && a.level == pgx.ReadCommitted {
		// A deletion of what is absent locks nothing. And other levels show,
		// beside a new row, the one that another transaction has deleted since
		// the snapshot was taken.
		a.broken("a transaction wrote %d to %s and read %d", w.Value, name, found)
	}
	return err
}

// call does one write by an SQL function.
func (a *actor) call(ctx context.Context, q querier, w Write) error {
	cache, key := a.Caches[w.Cache], []byte(KeyName(w.Key))
	var err error
	switch value := FormatValue(w.Value); {
	case w.Value == Absent:
		verb := []string{"delete", "get_and_delete"}[a.rng.IntN(2)]
		_, err = q.Exec(ctx, "SELECT howdah."+verb+"($1, $2)", cache, key)
	case a.rng.IntN(3) == 0:
		_, err = q.Exec(ctx, "SELECT howdah.set_many($1, ARRAY[$2::bytea], ARRAY[$3::bytea])", cache, key, value)
	default:
		_, err = q.Exec(ctx, "SELECT howdah.set($1, $2, $3)", cache, key, value)
	}
	return err
}

// prepared writes in two-phase commits, which outlive a crash of PostgreSQL.
func (a *actor) prepared(ctx context.Context) {
	a.past = true
	for a.pause(ctx, 10*short) {
		a.twoPhases(ctx)
	}
}

func (a *actor) twoPhases(ctx context.Context) {
	long, cancel := within(ctx, someTime)
	defer cancel()
	writes := a.plan()
	id := fmt.Sprintf("coherence-%d", writes[0].Tag)
	a.attempt(func() error {
		ctx, cancel := within(long, txTimeout)
		defer cancel()
		conn, err := pgx.Connect(ctx, a.URL)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if err := a.work(ctx, tx, writes, 50*time.Millisecond); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "PREPARE TRANSACTION '"+id+"'"); err != nil {
			return err
		}
		a.pause(ctx, 100*time.Millisecond)
		if a.rng.IntN(6) == 0 {
			a.second(long, conn, "ROLLBACK PREPARED '"+id+"'")
			return errRollback
		}
		return a.second(long, conn, "COMMIT PREPARED '"+id+"'")
	}, writes...)
}

// second ends a prepared transaction, on another connection if this one is
// lost: until then it holds its rows.
func (a *actor) second(ctx context.Context, conn *pgx.Conn, sql string) error {
	_, err := conn.Exec(ctx, sql)
	if err == nil {
		return nil
	}
	var again error
	if await.Until(ctx, func() bool { again = a.once(ctx, sql); return again == nil || isState(again, "42704") }) && again == nil {
		return nil
	}
	return err // it has ended, and which way is not known; or the run is over
}

// once runs one statement on a connection of its own.
func (a *actor) once(ctx context.Context, sql string) error {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, a.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// idle keeps a transaction open that has an id and writes nothing.
func (a *actor) idle(ctx context.Context) {
	for a.pause(ctx, short) {
		conn, err := pgx.Connect(ctx, a.URL)
		if err != nil {
			continue
		}
		if _, err := conn.Exec(ctx, "BEGIN; SELECT pg_current_xact_id()"); err == nil {
			a.pause(ctx, 2*time.Second)
		}
		conn.Close(context.WithoutCancel(ctx))
	}
}
