//go:build peers

package values_test

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/values"
)

// wantedOf returns the events that are compared for a family. When a key expires is not
// the command's to say, and SORT goes through a set in Redis's own order.
func wantedOf(family string) string {
	if family == "sort" {
		return "Kg$lshzn"
	}
	return "Kg$lshznm"
}

// listener receives the events of redis-server.
type listener struct {
	*client
	wants values.Class
}

// listen makes a connection one that receives events from now on.
func listen(c *client, wants string) *listener {
	c.t.Helper()
	classes, ok := values.ParseClasses(wants)
	if !ok {
		c.t.Fatalf("%q names a class that there is not", wants)
	}
	c.do("CONFIG", "SET", "notify-keyspace-events", wants)
	c.do("PSUBSCRIBE", "__keyspace@*")
	return &listener{c, classes}
}

const keyspace = "__keyspace@0__:"

// take returns what has come so far, as "event key". The other connection marks the end.
func (l *listener) take(other *client) (events []string) {
	other.do("PUBLISH", keyspace+"end of events", "end")
	for {
		raw, err := rawReply(nil, l.r)
		if err != nil {
			l.t.Fatal(err)
		}
		words := list(string(raw))
		key, event := strings.TrimPrefix(words[2], keyspace), words[3]
		if key == "end of events" {
			return events
		}
		events = append(events, event+" "+key)
	}
}

// compare compares the events of redis-server with those that commands have named.
func (l *listener) compare(t *testing.T, other *client, named []namedEvent) {
	t.Helper()
	want := l.take(other)
	for i := range max(len(named), len(want)) {
		got, next := namedEvent{}, ""
		if i < len(named) {
			got = named[i]
		}
		if i < len(want) {
			next = want[i]
		}
		if got.event != next {
			t.Fatalf("event %d\n  got %q of %q\nredis %q\nafter %q", i, got.event, got.line, next, named[max(0, i-3):min(i, len(named))])
		}
	}
}
