//go:build unix

package coherence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func isState(err error, state string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == state
}

// session is a connection of an actor that goes past the library. It is made
// again where it was lost.
type session struct {
	a    *actor
	conn *pgx.Conn
}

// do runs fn with the connection, whose later writes carry the tag.
func (s *session) do(ctx context.Context, tag int64, fn func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := within(ctx, txTimeout)
	defer cancel()
	if s.conn == nil || s.conn.IsClosed() {
		conn, err := pgx.Connect(ctx, s.a.URL)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	if _, err := s.conn.Exec(ctx, "SELECT set_config($1, $2, false)", TagSetting, strconv.FormatInt(tag, 10)); err != nil {
		return err
	}
	return fn(ctx, s.conn)
}

func (s *session) close() {
	if s.conn != nil {
		s.conn.Close(context.Background())
	}
}

// functions writes by SQL functions, each in a transaction of its own.
func (a *actor) functions(ctx context.Context) {
	a.past = true
	s := &session{a: a}
	defer s.close()
	for a.pause(ctx, short) {
		w := a.plan()[0]
		a.attempt(func() error {
			return s.do(ctx, w.Tag, func(ctx context.Context, conn *pgx.Conn) error { return a.call(ctx, conn, w) })
		}, w)
	}
}

// userTable is a table of an application whose trigger keeps a cache.
const userTable = `
CREATE TABLE coherence.article (cache text, key text, value text, PRIMARY KEY (cache, key));
CREATE FUNCTION coherence.publish() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM howdah.delete_text(OLD.cache, OLD.key);
    ELSE
        PERFORM howdah.set_text(NEW.cache, NEW.key, NEW.value);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER publish AFTER INSERT OR UPDATE OR DELETE ON coherence.article
FOR EACH ROW EXECUTE FUNCTION coherence.publish()`

// triggers writes to a table of the application.
func (a *actor) triggers(ctx context.Context) {
	a.past = true
	s := &session{a: a}
	defer s.close()
	for a.pause(ctx, 2*short) {
		w := a.plan()[0]
		a.attempt(func() error {
			return s.do(ctx, w.Tag, func(ctx context.Context, conn *pgx.Conn) (err error) {
				if w.Value == Absent {
					_, err = conn.Exec(ctx, "DELETE FROM coherence.article WHERE cache = $1 AND key = $2", a.Caches[w.Cache], KeyName(w.Key))
				} else {
					_, err = conn.Exec(ctx, `INSERT INTO coherence.article VALUES ($1, $2, $3)
						ON CONFLICT (cache, key) DO UPDATE SET value = excluded.value`,
						a.Caches[w.Cache], KeyName(w.Key), string(FormatValue(w.Value)))
				}
				return err
			})
		}, w)
	}
}

// administration does what changes a cache as a whole.
func (a *actor) administration(ctx context.Context) {
	s := &session{a: a}
	defer s.close()
	for a.pause(ctx, 600*time.Millisecond) {
		cache := a.rng.IntN(len(a.Caches))
		name := a.Caches[cache]
		w := Write{Key: All, Cache: cache, Tag: a.value()}
		sql := func(text string, args ...any) {
			a.past = true
			a.attempt(func() error {
				return s.do(ctx, w.Tag, func(ctx context.Context, conn *pgx.Conn) error {
					_, err := conn.Exec(ctx, text, append([]any{name}, args...)...)
					return err
				})
			}, w)
		}
		switch a.rng.IntN(5) {
		case 0:
			sql("SELECT howdah.flush($1)")
		case 1:
			sql("SELECT howdah.delete_prefix_text($1, $2)", KeyName(0)[:len(KeyName(0))-1])
		case 2:
			a.past = false
			w.Tag = 0
			a.attempt(func() error {
				ctx, cancel := within(ctx, txTimeout)
				defer cancel()
				return a.db.Cache(name).Flush(ctx)
			}, w)
		case 3:
			a.past = true
			a.attempt(func() error {
				return s.do(ctx, w.Tag, func(ctx context.Context, conn *pgx.Conn) error { return a.remake(ctx, conn, cache) })
			}, w)
		case 4:
			a.turnLog(ctx, s, name)
		}
	}
}

// remake drops a cache and makes it again, in one transaction.
func (a *actor) remake(ctx context.Context, conn *pgx.Conn, cache int) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		name := a.Caches[cache]
		if _, err := tx.Exec(ctx, "SELECT howdah.drop_cache($1)", name); err != nil {
			return err
		}
		if err := NoteDropped(ctx, tx, cache); err != nil {
			return err
		}
		if err := createCache(ctx, tx, name, a.Bound > 0); err != nil {
			return err
		}
		return Attach(ctx, tx, cache, name)
	})
}

// trim trims the change log as often as shortTicks allows.
func (a *actor) trim(ctx context.Context) {
	a.past = true
	s := &session{a: a}
	defer s.close()
	for a.pause(ctx, 5*short) {
		a.attempt(func() error {
			return s.do(ctx, 0, func(ctx context.Context, conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, "SELECT howdah_internal._trim_log(clock_timestamp() + interval '10 milliseconds')")
				return err
			})
		})
	}
}

// shortTicks lets the ticks of the change log follow each other sooner, and
// fewer of them be kept: a reader that is stopped for half a second finds that
// rows it has not seen are gone.
func shortTicks(ctx context.Context, q querier) error {
	var text string
	if err := q.QueryRow(ctx, "SELECT pg_get_functiondef('howdah_internal._trim_log'::regproc)").Scan(&text); err != nil {
		return err
	}
	for old, new := range map[string]string{"THEN 30": "THEN 4", "interval '1 second'": "interval '100 milliseconds'"} {
		if strings.Count(text, old) != 1 {
			return fmt.Errorf("howdah_internal._trim_log has changed: %q is not in it once", old)
		}
		text = strings.Replace(text, old, new, 1)
	}
	_, err := q.Exec(ctx, text)
	return err
}
