package redisapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
)

const (
	errDatabaseRange  = refusal("ERR DB index is out of range")
	errSameObject     = refusal("ERR source and destination objects are the same")
	errSwapInMulti    = refusal("ERR SWAPDB is not available inside a transaction")
	errDatabaseIsNone = refusal("ERR this database does not exist and cannot be created inside a transaction; SELECT it before MULTI")
)

// parseDatabase parses the number of a database.
func parseDatabase(arg []byte) (int, error) {
	number, err := parseInt(arg)
	switch {
	case err != nil:
		return 0, err
	case number < math.MinInt32 || number > math.MaxInt32:
		return 0, refusal("ERR value is out of range, value must between -2147483648 and 2147483647")
	case number < 0 || number >= Databases:
		return 0, errDatabaseRange
	}
	return int(number), nil
}

// database parses the number of a database and creates its cache if it does not
// exist.
func (t *task) database(arg []byte) (int, error) {
	number, err := parseDatabase(arg)
	if err != nil {
		return 0, err
	}
	return number, t.exists(number)
}

// exists creates the cache of a database if it does not exist.
func (t *task) exists(number int) error {
	e := t.conn.engine
	if t.tx != nil && !e.exists[number].Load() {
		return errDatabaseIsNone
	}
	ctx, cancel := t.bounded()
	defer cancel()
	return e.ensure(ctx, number)
}

// IsDatabase reports whether a cache of that name is a numbered database.
func IsDatabase(cache string) bool {
	rest, ok := strings.CutPrefix(cache, "db")
	number, err := strconv.Atoi(rest)
	return ok && err == nil && 0 <= number && number < Databases && rest == strconv.Itoa(number)
}

// ensure creates the cache of a database unless it exists.
func (e *Engine) ensure(ctx context.Context, number int) error {
	if e.exists[number].Load() {
		return nil
	}
	if err := e.survey(ctx); err != nil {
		return err
	}
	if e.exists[number].Load() {
		return nil
	}
	name := e.caches[number].Name()
	if name != "db"+strconv.Itoa(number) {
		return refusal(fmt.Sprintf("ERR database %d is the cache %q, which does not exist; create it with SELECT howdah.create_cache('%s')", number, name, name))
	}
	err := e.options.DB.CreateDatabase(ctx, number)
	if errors.Is(err, fault.ErrPermission) {
		run := fmt.Sprintf("run SELECT howdah.create_database(%d)", number)
		if len(e.options.DB.Servers()) > 1 { // where no function of SQL makes caches
			run = fmt.Sprintf("run howdah caches create db%d", number)
		}
		return refusal(fmt.Sprintf("NOPERM database %d does not exist, and the database role may not create it; %s as the owner of the schema", number, run))
	}
	if err != nil {
		return err
	}
	e.exists[number].Store(true)
	return nil
}

// survey asks PostgreSQL which databases have a cache.
func (e *Engine) survey(ctx context.Context) error {
	configs, err := e.options.DB.Caches(ctx)
	if err != nil {
		return err
	}
	for _, config := range configs {
		for number, cache := range e.caches {
			if cache.Name() == config.Name {
				e.exists[number].Store(true)
			}
		}
	}
	return nil
}

// unavailable marks an error of a statement of this package that PostgreSQL did
// not answer.
func unavailable(err error) error {
	if sqlState(err) != "" {
		return err
	}
	return fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
}

// isKnown reports whether SELECT can answer without asking PostgreSQL.
func isKnown(e *Engine, args [][]byte) bool {
	number, err := parseDatabase(args[1])
	return err != nil || e.exists[number].Load()
}

func selectDatabase(t *task, args [][]byte) error {
	number, err := t.database(args[1])
	if err != nil {
		return err
	}
	t.conn.set(func(s *session) { s.database = number })
	t.out = append(t.out, resp.OK...)
	return nil
}

// swapDatabases exchanges the contents of two databases.
func swapDatabases(t *task, args [][]byte) error {
	if t.tx != nil {
		return errSwapInMulti // which has settled where its entries are
	}
	for i, ordinal := range []string{"first", "second"} {
		if number, err := parseInt(args[i+1]); err != nil || number < math.MinInt32 || number > math.MaxInt32 {
			return refusal("ERR invalid " + ordinal + " DB index")
		}
	}
	var names [2]string
	for i := range names {
		number, err := t.database(args[i+1])
		if err != nil {
			return err
		}
		names[i] = t.conn.engine.caches[number].Name()
	}
	if names[0] == names[1] {
		t.out = append(t.out, resp.OK...)
		return nil
	}
	ctx, cancel := t.bounded()
	defer cancel()
	err := t.conn.engine.options.DB.SwapCaches(observe.NewContext(ctx, t.conn.client), names[0], names[1])
	switch {
	case errors.Is(err, fault.ErrPermission):
		return refusal("NOPERM the database role may not swap databases; run GRANT EXECUTE ON FUNCTION howdah.swap_caches(text, text) as the owner of the schema")
	case err == nil:
		t.out = append(t.out, resp.OK...)
	}
	return err
}
