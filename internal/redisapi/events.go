package redisapi

import (
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/values"
)

// namedByReads are the classes of events that reads may cause.
const namedByReads = values.KeyMissEvent | values.ExpiredEvent

// runsAsValue reports whether a command line runs as a function over loaded values.
func (c *Conn) runsAsValue(cmd *Command, args [][]byte) bool {
	return cmd.isValue(args) || c.wants != 0 && cmd.namesByValue(c.wants, args)
}

// runsAsValue is that of a queued command.
func (x *execution) runsAsValue(q queuedCommand) bool {
	if q.cmd.isValue(q.args) {
		return true
	}
	wants := x.conn.engine.options.DB.WantedEvents()
	return wants != 0 && q.cmd.namesByValue(wants, q.args)
}

// namesByValue reports whether a command line that is a call must run as a function while
// events are published: its answer does not say whether it has created a key, or what it
// did to an expiry.
func (cmd *Command) namesByValue(wants values.Class, args [][]byte) bool {
	if cmd.call == nil || cmd.value == nil || !cmd.writes {
		return false
	}
	return wants&values.NewEvent != 0 || cmd.vague != nil && cmd.vague(args)
}

// setEvents sets which events all servers of the database publish.
func (t *task) setEvents(letters string) error {
	classes, _ := values.ParseClasses(letters) // checked
	var tx core.Tx
	if t.tx != nil {
		tx = t.tx.tx
	}
	return t.conn.engine.options.DB.SetEvents(t.ctx, tx, classes)
}

// expiresNow reports whether EXPIRE or PEXPIRE removes the key.
func expiresNow(args [][]byte) bool {
	amount, err := parseInt(args[2])
	return err == nil && amount <= 0
}

// expiresAt reports whether the line may set an instant at which the key expires, which
// may have passed, or take an expiry away that there may not be.
func expiresAt(args [][]byte) bool {
	if is(args[0], "EXPIREAT") || is(args[0], "PEXPIREAT") {
		return true
	}
	for _, arg := range args[2:] {
		if is(arg, "EXAT") || is(arg, "PXAT") || is(arg, "PERSIST") {
			return true
		}
	}
	return false
}
