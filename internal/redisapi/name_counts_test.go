package redisapi

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// lines is a log that is safe to read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func count(list []NameCount, name string) uint64 {
	for _, c := range list {
		if c.Name == name {
			return c.Count
		}
	}
	return 0
}

// Commands that Howdah lacks are counted by name, and each is logged once.
func TestUnknownCommandsAreCounted(t *testing.T) {
	t.Parallel()
	log := new(lines)
	s := serve(t, Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	c := dial(t, s.addr())
	c.do("XRANGE", "h")
	c.do("xRange", "h")
	c.do("FT.SEARCH", "index", "*")
	c.do("CLIENT", "NoSuch")
	c.do("two words")
	c.do(strings.Repeat("x", maxUnknownLength+1))
	c.do("")
	c.do("GET") // is refused, not unknown
	// redis-py asks for it whenever it connects, and goes on without.
	c.want("-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n", "CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "internal-ip")
	c.want(resp.OK, "MULTI")
	c.do("XRANGE", "h")
	c.do("EXEC")
	unknown := s.engine.Stats().Unknown
	for name, want := range map[string]uint64{"xrange": 3, "ft.search": 1, "client|nosuch": 1, otherName: 3} {
		if got := count(unknown, name); got != want {
			t.Errorf("%s was counted %d times, want %d", name, got, want)
		}
	}
	if len(unknown) != 4 {
		t.Errorf("counted: %v", unknown)
	}
	if strings.Contains(log.String(), "maint_notifications") {
		t.Error("a probe was logged")
	}
	if n := strings.Count(log.String(), "command=xrange"); n != 1 {
		t.Errorf("xrange was logged %d times", n)
	}
	if fields := infoFields(t, c.do("INFO")); fields["unknown_xrange"] != "count=3" {
		t.Errorf("INFO: %q", fields["unknown_xrange"])
	}

	for i := range 2 * maxUnknownNames {
		c.do(fmt.Sprint("nosuch", i))
	}
	unknown = s.engine.Stats().Unknown
	if len(unknown) > maxUnknownNames+1 || count(unknown, otherName) < maxUnknownNames {
		t.Errorf("%d names are counted, and %d others", len(unknown), count(unknown, otherName))
	}
	c.want(resp.OK, "CONFIG", "RESETSTAT")
	if unknown := s.engine.Stats().Unknown; len(unknown) != 0 {
		t.Errorf("after RESETSTAT: %v", unknown)
	}
}

// A client that is not authenticated cannot choose names that are counted and
// logged.
func TestUnknownCommandsBeforeAuth(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Password: "secret"})
	dial(t, s.addr()).do("chosen")
	if unknown := s.engine.Stats().Unknown; len(unknown) != 1 || unknown[0] != (NameCount{otherName, 1}) {
		t.Errorf("counted: %v", unknown)
	}
}
