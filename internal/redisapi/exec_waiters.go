package redisapi

import (
	"context"
	"errors"
	"slices"
)

// written is a key under which a command of an EXEC may have left a list or a sorted set.
type written struct {
	database int
	key      []byte
}

// errAgain settles an attempt after which there is another one.
var errAgain = errors.New("redisapi: the transaction is repeated")

// left keeps the keys under which an edit of a transaction has left a list or a sorted set.
func (t *task) left(keys [][]byte) {
	for _, key := range keys {
		t.written = append(t.written, written{t.conn.database, key})
	}
}

// noteTransfer keeps the key to which a queued command moves or copies an entry: RENAME,
// MOVE and COPY are not edits.
func (x *execution) noteTransfer(q queuedCommand) {
	if x.tx == nil || !q.cmd.writes || q.cmd.Group != "generic" || q.cmd.run == nil {
		return
	}
	database := x.target(q)
	for _, use := range q.cmd.keyUses(q.args) {
		if slices.Contains(use.flags, "insert") || slices.Contains(use.flags, "update") {
			x.written = append(x.written, written{database, use.key})
		}
	}
}

// target is the database in which a queued command leaves something.
func (x *execution) target(q queuedCommand) int {
	for i := 2; i < len(q.args); i++ {
		if q.cmd.Name == "move" || q.cmd.Name == "copy" && is(q.args[i-1], "DB") {
			if number, err := parseDatabase(q.args[i]); err == nil {
				return number
			}
		}
	}
	return x.conn.database
}

// serveWaiters lets those who wait take what the commands have left, within the
// transaction: as in Redis they are served when all commands have run, and before
// any other client's.
func (x *execution) serveWaiters(ctx context.Context) error {
	for rest := x.written; len(rest) > 0; {
		database, n := rest[0].database, 0
		var keys [][]byte
		for n < len(rest) && rest[n].database == database {
			keys = append(keys, rest[n].key)
			n++
		}
		rest = rest[n:]
		served, err := x.cache(database).ServeIn(ctx, keys)
		if err != nil {
			return err
		}
		if served != nil {
			x.served = append(x.served, served)
		}
	}
	return nil
}

// settle answers those who were served, or lets them wait again. What the commands have left
// is then for those who have begun to wait meanwhile, and for those of other servers.
func (x *execution) settle(err error) {
	for _, s := range x.served {
		s.Settle(err)
	}
	x.served = nil
	if err == nil {
		for _, w := range x.written {
			x.conn.engine.caches[w.database].Came(w.key)
		}
	}
	x.written = nil
}
