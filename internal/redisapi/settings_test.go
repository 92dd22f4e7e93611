package redisapi

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// All connections see what CONFIG SET remembers. If one setting of a command cannot
// be changed, none is.
func TestSettingsAreRemembered(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{MaxClients: 77})
	one, other := dial(t, s.addr()), dial(t, s.addr())
	show := func(name, value string) string { return "*2\r\n" + bulk(name) + bulk(value) }
	one.want(resp.OK, "CONFIG", "SET", "slowlog-log-slower-than", "5", "slave-priority", "7")
	other.want(show("slowlog-log-slower-than", "5"), "CONFIG", "GET", "slowlog-log-slower-than")
	other.want(show("replica-priority", "7"), "CONFIG", "GET", "replica-priority")

	refused := one.do("CONFIG", "SET", "slowlog-max-len", "1", "maxclients", "5")
	if !strings.Contains(refused, "argument 'maxclients') - can't set it here") {
		t.Errorf("maxclients: %q", refused)
	}
	one.want(show("slowlog-max-len", "128"), "CONFIG", "GET", "slowlog-max-len")
	one.want(show("maxclients", "77"), "CONFIG", "GET", "maxclients")
	one.want(resp.OK, "CONFIG", "SET", "maxclients", "77", "appendonly", "NO", "save", "")

	long := strings.Repeat("x", maxText)
	one.want(resp.OK, "CONFIG", "SET", "replica-announce-ip", long)
	if got := one.do("CONFIG", "SET", "replica-announce-ip", long+"x"); got[0] != '-' {
		t.Errorf("a text of %d bytes was accepted: %q", len(long)+1, got)
	}
}

// CLIENT LIST shows the file descriptor that the server passed to Connect, and
// zeros for a connection without input.
func TestClientLine(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := s.engine.Connect(Info{RemoteAddr: "127.0.0.1:1", LocalAddr: "127.0.0.1:2", FD: 9}, func() {})
	defer c.Close()
	c.Feed([]byte("PING\r\n"))
	list := dial(t, s.addr()).do("CLIENT", "LIST", "ID", "1")
	for _, field := range []string{" fd=9 ", " qbuf=0 ", " argv-mem=0 ", " cmd=ping "} {
		if !strings.Contains(list, field) {
			t.Errorf("no%sin %q", field, list)
		}
	}
}
