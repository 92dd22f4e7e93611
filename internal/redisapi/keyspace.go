package redisapi

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

func keyspaceCommands() []*Command {
	return []*Command{
		{Name: "scan", Arity: -2, Flags: "readonly", Group: "generic", ACL: "keyspace", Tips: "nondeterministic_output request_policy:special", Since: "2.8.0",
			Summary: "Returns a page of the keys, and the cursor of the next", Complexity: "O(1) for every call, O(N) for a whole iteration",
			Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
			Note:   "A cursor needs no state in the server: any server on the same database accepts it.", run: scan},
		{Name: "keys", Arity: 2, Flags: "readonly", Group: "generic", ACL: "keyspace dangerous", Tips: "request_policy:all_shards nondeterministic_output_order", Since: "1.0.0",
			Summary: "Returns all keys that match a pattern", Complexity: "O(N) where N is the number of keys", Syntax: "pattern",
			Note: "The literal beginning of the pattern is sought by PostgreSQL.", run: keys},
		{Name: "dbsize", Arity: 1, Flags: "readonly fast", Group: "server", ACL: "keyspace", Tips: "request_policy:all_shards response_policy:agg_sum", Since: "1.0.0",
			Summary: "Counts the keys", Complexity: "O(N) where N is the number of keys",
			Note: "Exact, expired keys are not counted; the keys have to be read for it.", run: dbSize},
		{Name: "randomkey", Arity: 1, Flags: "readonly", Group: "generic", ACL: "keyspace", Tips: "request_policy:all_shards nondeterministic_output", Since: "1.0.0",
			Summary: "Returns some key", Complexity: "O(1)", run: randomKey},
		{Name: "rename", Arity: 3, Flags: "write", Keys: twoKeys("RW access delete", "OW update"), Group: "generic", ACL: "keyspace", Since: "1.0.0",
			Summary: "Moves a value and its expiry to another key", Complexity: "O(1)", Syntax: "key newkey", run: rename},
		{Name: "renamenx", Arity: 3, Flags: "write fast", Keys: twoKeys("RW access delete", "OW insert"), Group: "generic", ACL: "keyspace", Since: "1.0.0",
			Summary: "Moves a value to another key that is absent", Complexity: "O(1)", Syntax: "key newkey", run: renameIfAbsent},
		{Name: "copy", Arity: -3, Flags: "write denyoom", Keys: twoKeys("RO access", "OW update"), Group: "generic", ACL: "keyspace", Since: "6.2.0",
			Summary: "Copies a value and its expiry to another key", Complexity: "O(N) where N is the length of the value",
			Syntax: "source destination [DB destination-db] [REPLACE]", run: copyKey},
		{Name: "move", Arity: 3, Flags: "write fast", Keys: oneKey("RW access update"), Group: "generic", ACL: "keyspace", Since: "1.0.0",
			Summary: "Moves a key to another database", Complexity: "O(1)", Syntax: "key db", run: move},
		{Name: "flushdb", Arity: -1, Flags: "write", Group: "server", ACL: "keyspace dangerous", Tips: "request_policy:all_shards response_policy:all_succeeded", Since: "1.0.0",
			Summary: "Removes all keys of the database", Complexity: "O(1), or O(N) while an old transaction still reads",
			Syntax: "[ASYNC | SYNC]", Note: "ASYNC and SYNC mean the same.", run: flushDatabase},
		{Name: "flushall", Arity: -1, Flags: "write", Group: "server", ACL: "keyspace dangerous", Tips: "request_policy:all_shards response_policy:all_succeeded", Since: "1.0.0",
			Summary: "Removes all keys of databases 0 to 15", Complexity: "As of FLUSHDB",
			Syntax: "[ASYNC | SYNC]", Note: "Caches that are no numbered database are left alone. ASYNC and SYNC mean the same.", run: flushAll},
		{Name: "swapdb", Arity: 3, Flags: "write fast", Group: "server", ACL: "keyspace dangerous", Since: "4.0.0",
			Summary: "Exchanges the contents of two databases", Complexity: "O(1)", Syntax: "index1 index2",
			Note: "At one moment for all servers and clients. It waits up to 2 s for transactions that use one of the databases, and others wait behind it. " +
				"Refused inside MULTI, and for caches of different durability, fillfactor, prefix_index or near, or with watches of tables. " +
				"A database role that is not the owner needs EXECUTE on howdah.swap_caches.", run: swapDatabases},
	}
}

// maxPage bounds the COUNT of one SCAN.
const maxPage = 10_000

// scanRequest holds the arguments of SCAN.
type scanRequest struct {
	cursor  uint64
	count   int64
	pattern []byte // nil: every key
	kind    []byte // of values, nil: every
}

func parseScan(args [][]byte) (s scanRequest, err error) {
	s.count = 10
	if s.cursor, err = parseCursor(args[1]); err != nil {
		return s, err
	}
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return s, errSyntax
		}
		switch {
		case is(args[i], "COUNT"):
			if s.count, err = parseInt(args[i+1]); err != nil {
				return s, err
			}
			if s.count < 1 {
				return s, errSyntax
			}
		case is(args[i], "MATCH"):
			if s.pattern = args[i+1]; len(s.pattern) > maxPattern {
				return s, errLongPattern
			}
			if string(s.pattern) == "*" {
				s.pattern = nil
			}
		case is(args[i], "TYPE"):
			s.kind = args[i+1]
		default:
			return s, errSyntax
		}
	}
	return s, nil
}

// parseCursor parses a number as Redis does with C's strtoul.
func parseCursor(arg []byte) (uint64, error) {
	digits := arg
	negative := false
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	if len(arg) == 0 {
		return 0, nil
	}
	cursor, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0, refusal("ERR invalid cursor")
	}
	if negative {
		cursor = -cursor
	}
	return cursor, nil
}

func scan(t *task, args [][]byte) error {
	page, next, err := findPage(t.ctx, t.cache(t.conn.database), args)
	if err == nil {
		t.out = appendBulks(appendCursor(t.out, next), page)
	}
	return err
}

// appendCursor begins the reply of SCAN.
func appendCursor(dst []byte, next uint64) []byte {
	return resp.AppendBulkString(resp.AppendArray(dst, 2), strconv.FormatUint(next, 10))
}

func appendBulks(dst []byte, list [][]byte) []byte {
	dst = resp.AppendArray(dst, len(list))
	for _, b := range list {
		dst = resp.AppendBulk(dst, b)
	}
	return dst
}

// findPage returns the keys of one SCAN and the cursor of the next.
func findPage(ctx context.Context, cache *core.Cache, args [][]byte) (found [][]byte, next uint64, err error) {
	s, err := parseScan(args)
	if err != nil {
		return nil, 0, err
	}
	page, next, err := cache.Scan(ctx, s.cursor, core.ScanOptions{
		Count: int(min(s.count, maxPage)), Prefix: values.MatchPrefix(s.pattern),
	})
	if err != nil {
		return nil, 0, err
	}
	for _, entry := range page {
		if s.kind != nil && !is(s.kind, values.Kind(entry.Kind).String()) {
			continue
		}
		if ok, err := matches(ctx, s.pattern, entry.Key); err != nil {
			return nil, 0, err
		} else if ok {
			found = append(found, entry.Key)
		}
	}
	return found, next, nil
}

func keys(t *task, args [][]byte) error {
	found, err := findKeys(t.ctx, t.cache(t.conn.database), args[1])
	if err == nil {
		t.out = appendBulks(t.out, found)
	}
	return err
}

// findKeys returns the keys that match a pattern.
func findKeys(ctx context.Context, cache *core.Cache, pattern []byte) ([][]byte, error) {
	if len(pattern) > maxPattern {
		return nil, errLongPattern
	}
	if string(pattern) == "*" {
		pattern = nil
	}
	found, err := cache.Keys(ctx, values.MatchPrefix(pattern))
	if err != nil {
		return nil, err
	}
	matched := found[:0]
	for _, key := range found {
		if ok, err := matches(ctx, pattern, key); err != nil {
			return nil, err
		} else if ok {
			matched = append(matched, key)
		}
	}
	return matched, nil
}

func dbSize(t *task, _ [][]byte) error {
	count, err := t.cache(t.conn.database).Count(t.ctx)
	if err == nil {
		t.out = resp.AppendInt(t.out, count)
	}
	return err
}

func randomKey(t *task, _ [][]byte) error {
	key, err := t.cache(t.conn.database).RandomKey(t.ctx)
	switch {
	case errors.Is(err, fault.ErrMiss):
		t.out = resp.AppendNull(t.out, t.conn.proto)
	case err != nil:
		return err
	default:
		t.out = resp.AppendBulk(t.out, key)
	}
	return nil
}

func rename(t *task, args [][]byte) error {
	_, err := t.rename(args[1], args[2], false)
	if err == nil {
		t.out = append(t.out, resp.OK...)
	}
	return err
}

func renameIfAbsent(t *task, args [][]byte) error {
	done, err := t.rename(args[1], args[2], true)
	if err == nil {
		t.out = appendFlag(t.out, done)
	}
	return err
}

// rename reports whether the key was renamed. Renaming a key to itself changes
// nothing.
func (t *task) rename(from, to []byte, onlyIfAbsent bool) (done bool, err error) {
	const noSuchKey = refusal("ERR no such key")
	if bytes.Equal(from, to) {
		call := verb.Call{Verb: statement.Stat, Key: from, Silent: true}
		if err := t.call(t.conn.database, &call); err != nil && !errors.Is(err, fault.ErrMiss) {
			return false, err
		}
		if call.Status == verb.Miss {
			return false, noSuchKey
		}
		return !onlyIfAbsent, nil
	}
	err = t.cache(t.conn.database).Rename(t.ctx, string(from), string(to), onlyIfAbsent)
	switch {
	case errors.Is(err, fault.ErrMiss):
		return false, noSuchKey
	case errors.Is(err, fault.ErrNotStored):
		return false, nil
	}
	return err == nil, err
}

func appendFlag(dst []byte, yes bool) []byte {
	if yes {
		return append(dst, resp.One...)
	}
	return append(dst, resp.Zero...)
}

// copyOptions are the options of COPY.
type copyOptions struct {
	database int
	replace  bool
}

// parseCopy parses a command line of COPY from a database.
func parseCopy(args [][]byte, database int) (o copyOptions, err error) {
	o.database = database
	for i := 3; i < len(args); i++ {
		switch {
		case is(args[i], "REPLACE"):
			o.replace = true
		case is(args[i], "DB") && i+1 < len(args):
			i++
			if o.database, err = parseDatabase(args[i]); err != nil {
				return o, err
			}
		default:
			return o, errSyntax
		}
	}
	return o, nil
}

func copyKey(t *task, args [][]byte) error {
	o, err := parseCopy(args, t.conn.database)
	if err != nil {
		return err
	}
	to := o.database
	if to != t.conn.database {
		if err := t.exists(to); err != nil {
			return err
		}
	}
	if to == t.conn.database && bytes.Equal(args[1], args[2]) {
		return errSameObject
	}
	done, err := t.copy(args[1], to, args[2], o.replace)
	if err == nil {
		t.out = appendFlag(t.out, done)
	}
	return err
}

// copy reports whether the key was copied: false if it is absent, or if the target
// exists and must not be replaced.
func (t *task) copy(from []byte, database int, to []byte, replace bool) (done bool, err error) {
	err = t.cache(t.conn.database).Copy(t.ctx, string(from), t.cache(database), string(to), replace)
	switch {
	case errors.Is(err, fault.ErrMiss), errors.Is(err, fault.ErrNotStored):
		return false, nil
	}
	return err == nil, err
}

func move(t *task, args [][]byte) error {
	to, err := t.database(args[2])
	if err != nil {
		return err
	}
	if to == t.conn.database {
		return errSameObject
	}
	err = t.cache(t.conn.database).Move(t.ctx, string(args[1]), t.cache(to))
	missed := errors.Is(err, fault.ErrMiss) || errors.Is(err, fault.ErrNotStored)
	if err != nil && !missed {
		return err
	}
	t.out = appendFlag(t.out, !missed)
	return nil
}

// checkFlush refuses unknown options.
func checkFlush(args [][]byte) error {
	if len(args) > 2 || len(args) == 2 && !is(args[1], "ASYNC") && !is(args[1], "SYNC") {
		return errSyntax
	}
	return nil
}

func flushDatabase(t *task, args [][]byte) error {
	if err := checkFlush(args); err != nil {
		return err
	}
	if err := t.cache(t.conn.database).Flush(t.ctx); err != nil {
		return err
	}
	t.out = append(t.out, resp.OK...)
	return nil
}

func flushAll(t *task, args [][]byte) error {
	if err := checkFlush(args); err != nil {
		return err
	}
	e := t.conn.engine
	if err := e.survey(t.ctx); err != nil {
		return err
	}
	var caches []*core.Cache
	for number := range e.caches {
		if e.exists[number].Load() {
			caches = append(caches, t.cache(number))
		}
	}
	if err := e.options.DB.FlushAll(t.ctx, caches); err != nil {
		return err
	}
	t.out = append(t.out, resp.OK...)
	return nil
}
