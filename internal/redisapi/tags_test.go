package redisapi

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

func TestTagCommands(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(resp.OK, "HOWDAH.SET", "a", "1", "TAGS", "2", "x", "y", "PX", "60000")
	c.want(resp.OK, "howdah.set", "b", "1", "tags", "1", "y")
	c.want(resp.OK, "SET", "u", "1")
	c.want("$1\r\n1\r\n", "GET", "a")
	c.wantLife(60, "a")
	// Other writes keep the tags.
	c.want(resp.OK, "SET", "a", "2")
	c.want(":3\r\n", "INCR", "a")
	c.want(resp.OK, "RENAME", "b", "moved")
	c.want(resp.One, "COPY", "moved", "copied")
	c.want(resp.One, "HOWDAH.INVALIDATE", "x")
	c.want("$-1\r\n", "GET", "a")
	c.want(":2\r\n", "HOWDAH.INVALIDATE", "none", "y", "y")
	c.want("*1\r\n$1\r\nu\r\n", "KEYS", "*")
	c.want(resp.Zero, "HOWDAH.INVALIDATE", "y")

	// A tagged write replaces the tags.
	c.want(resp.OK, "HOWDAH.SET", "a", "1", "TAGS", "2", "x", "y")
	c.want(resp.OK, "HOWDAH.SET", "a", "1", "TAGS", "1", "y")
	c.want(resp.Zero, "HOWDAH.INVALIDATE", "x")
	c.want(resp.One, "HOWDAH.INVALIDATE", "y")
	c.want("*1\r\n$1\r\nk\r\n", "COMMAND", "GETKEYS", "HOWDAH.SET", "k", "v", "TAGS", "1", "t")
}

func TestTagCommandsRefuse(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	const wrong = "-ERR a tag is text in UTF-8 of 1 to 256 bytes, without a zero byte\r\n"
	const number = "-ERR numtags should be greater than 0 and match the number of tags\r\n"
	many := append([]string{"HOWDAH.SET", "k", "v", "TAGS", "10000"}, strings.Split(strings.Repeat("t ", 9999)+"t", " ")...)
	for _, tag := range []string{"", strings.Repeat("t", 257), strings.Repeat("t", 1<<20), "\xff", "a\x00b"} {
		c.want(wrong, "HOWDAH.SET", "k", "v", "TAGS", "1", tag)
		c.want(wrong, "HOWDAH.INVALIDATE", "t", tag)
	}
	c.want("-ERR an entry has at most 64 tags\r\n", many...)
	c.want(number, "HOWDAH.SET", "k", "v", "TAGS", "2", "t")
	c.want(number, "HOWDAH.SET", "k", "v", "TAGS", "0", "t")
	c.want("-ERR value is not an integer or out of range\r\n", "HOWDAH.SET", "k", "v", "TAGS", "x", "t")
	for _, rest := range [][]string{{"NX"}, {"KEEPTTL"}, {"GET"}, {"PERSIST"}, {"EX"}, {"more"}} {
		c.want("-ERR syntax error\r\n", append([]string{"HOWDAH.SET", "k", "v", "TAGS", "1", "t"}, rest...)...)
	}
	c.want("-ERR syntax error\r\n", "HOWDAH.SET", "k", "v", "EX", "1", "t")
	c.want("-ERR invalid expire time in 'howdah.set' command\r\n", "HOWDAH.SET", "k", "v", "TAGS", "1", "t", "EX", "0")
	for _, command := range [][]string{{"HOWDAH.SET", "k", "v", "TAGS", "1", "t"}, {"HOWDAH.INVALIDATE", "t"}} {
		c.want(resp.OK, "MULTI")
		c.want("-ERR Command not allowed inside a transaction\r\n", command...)
		c.want("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
	}
	c.want("*0\r\n", "KEYS", "*")
}

// A load whose tag is invalidated is not stored.
func TestStoreWithTags(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	token := fetched(t, c.do("HOWDAH.FETCH", "k"), "won", "", true, true)
	c.want(resp.One, "HOWDAH.STORE", "k", token, "60000", "v", "TAGS", "2", "x", "y", "STALE", "1000")
	c.want(resp.One, "HOWDAH.INVALIDATE", "y")
	token = fetched(t, c.do("HOWDAH.FETCH", "k"), "won", "", true, true)
	c.want(resp.Zero, "HOWDAH.INVALIDATE", "z")
	c.want(resp.Zero, "HOWDAH.STORE", "k", token, "60000", "old", "TAGS", "1", "z")
	c.want(resp.One, "HOWDAH.STORE", "k", token, "60000", "v", "TAGS", "1", "y")
	version, _, _ := strings.Cut(token, "/")
	c.want("-ERR howdah: an entry with tags is stored with the snapshot of its claim\r\n", "HOWDAH.STORE", "k", version, "60000", "v", "TAGS", "1", "y")
}
