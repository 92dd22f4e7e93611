package redisapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// The server of these tests keeps nothing in memory: internal/server tests what is
// read from there.
func TestHowdahCommands(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(resp.OK, "SET", "k", "v")
	c.want(bulk("v"), "HOWDAH.FRESH", "GET", "k")
	c.want(bulk("v"), "howdah.fresh", "get", "k")
	c.want("$-1\r\n", "HOWDAH.FRESH", "GET", "absent")
	c.want("-ERR HOWDAH.FRESH takes GET only; every other command asks PostgreSQL anyway\r\n", "HOWDAH.FRESH", "STRLEN", "k")
	c.want("-ERR wrong number of arguments for 'howdah.fresh' command\r\n", "HOWDAH.FRESH", "GET")
	c.want("-ERR wrong number of arguments for 'howdah.fresh|get' command\r\n", "HOWDAH.FRESH", "GET", "k", "j")
	c.want("-ERR key is longer than 65536 bytes; use a shorter key\r\n", "HOWDAH.FRESH", "GET", strings.Repeat("k", 65537))
	c.want("*1\r\n"+bulk("k"), "COMMAND", "GETKEYS", "HOWDAH.FRESH", "GET", "k")
	names := c.do("COMMAND", "LIST", "FILTERBY", "MODULE", "howdah")
	for _, name := range []string{"howdah.fresh", "howdah.info"} {
		if !strings.Contains(names, name) {
			t.Errorf("%s is not in %q", name, names)
		}
	}
	c.want("*0\r\n", "COMMAND", "LIST", "FILTERBY", "MODULE", "other")

	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "HOWDAH.FRESH", "GET", "k")
	c.want("*1\r\n"+bulk("v"), "EXEC")
}

func TestInfoNear(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	section := c.do("HOWDAH.INFO", "NEAR")
	if section != bulk("# Near\r\nnear_enabled:0\r\n") {
		t.Errorf("%q", section)
	}
	for _, command := range [][]string{{"HOWDAH.INFO"}, {"INFO", "near"}, {"HOWDAH.INFO", "near", "server"}} {
		c.want(section, command...)
	}
	c.want(bulk(""), "HOWDAH.INFO", "server")
	sections := func(args ...string) (names []string) {
		for line := range strings.Lines(c.do(args...)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
				names = append(names, name)
			}
		}
		return names
	}
	if names := sections("INFO"); slices.Contains(names, "Near") {
		t.Errorf("INFO shows %v", names)
	}
	if names := sections("INFO", "everything"); !slices.Contains(names, "Near") {
		t.Errorf("INFO everything shows %v", names)
	}
}
