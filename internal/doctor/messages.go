package doctor

import (
	"fmt"

	"github.com/howdah/howdah/schema"
)

// poller is a process that polls for the messages of others.
type poller struct {
	Name                 string
	Subscribers, Waiters int32
	Age                  float64 // seconds for which it has wanted messages
}

func (r *reader) messages() (err error) {
	if !r.db.installed || r.db.schemaErr != nil {
		return nil // an older schema has no messages
	}
	r.db.pollers, err = rows[poller](r, "servers that want messages", schema.Query("doctor_servers"))
	return err
}

// listenTest is how long a process may take to find out whether notifications reach it,
// in seconds, with a connection that fails once.
const listenTest = 10

func messageChecks() []check {
	return []check{{
		id: "messages-polled", severity: Warning, finds: "a server that has subscribers, or clients that wait for a key, and that notifications do not reach",
		why:     "It asks PostgreSQL for messages 20 times a second, and they arrive up to 50 ms later than they could. A pooler in transaction mode passes no notifications.",
		repairs: "`howdah serve --listen-url`, or `Options.ListenURL` in Go: a URL that leads past the pooler",
		judge:   messagesPolled,
	}}
}

func messagesPolled(db *database) (found []trouble) {
	for _, p := range db.pollers {
		if p.Age < listenTest {
			continue
		}
		found = append(found, trouble{
			object: p.Name,
			evidence: fmt.Sprintf("the server with %s and %s polls for messages each 50 ms",
				count(int64(p.Subscribers), "subscriber", "subscribers"), count(int64(p.Waiters), "client that waits for a key", "clients that wait for keys")),
			note: "Start it with --listen-url (Options.ListenURL in Go), the URL of the same database past the pooler: it makes one connection there. " +
				"A server that has just lost such a connection is found too; its log says why notifications do not arrive.",
		})
	}
	return found
}
