//go:build peers

package redisapi

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// TestDocsOfRedis compares COMMAND DOCS with redis-server: the tokens of each
// command, from which redis-cli makes its hints, and its group and version.
func TestDocsOfRedis(t *testing.T) {
	t.Parallel()
	other := map[string]string{
		"client|kill":       "TYPE has no choices",
		"client|list":       "TYPE has no choices",
		"command|list":      "the filters have no choices",
		"set":               "conditions on the value came with Redis 8.4",
		"howdah.fresh":      "Redis lacks it",
		"howdah.info":       "Redis lacks it",
		"howdah.slowlog":    "Redis lacks it",
		"howdah.fetch":      "Redis lacks it",
		"howdah.store":      "Redis lacks it",
		"howdah.release":    "Redis lacks it",
		"howdah.set":        "Redis lacks it",
		"howdah.invalidate": "Redis lacks it",
	}
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	newTable().each(func(cmd *Command) {
		if cmd.Since >= "7.2" {
			return
		}
		if cmd.Sub != nil || other[cmd.fullName] != "" {
			return
		}
		want, got := docsOf(t, redis, cmd.fullName), docsOf(t, howdah, cmd.fullName)
		if want != got {
			t.Errorf("%s\n got %s\nwant %s", cmd.fullName, got, want)
		}
	})
}

func docsOf(t *testing.T, c *testClient, name string) string {
	t.Helper()
	reply, err := resp.ReadReply(bufio.NewReader(strings.NewReader(c.do("COMMAND", "DOCS", name))))
	if err != nil || len(reply.Elems) != 2 {
		t.Fatalf("COMMAND DOCS %s: %v, %v", name, reply, err)
	}
	var words []string
	var walk func(elems []resp.Reply, top bool)
	walk = func(elems []resp.Reply, top bool) {
		for i := 0; i+1 < len(elems); i += 2 {
			switch key := string(elems[i].Str); {
			case key == "token", top && (key == "since" || key == "group"):
				words = append(words, key+"="+string(elems[i+1].Str))
			case key == "arguments":
				for _, argument := range elems[i+1].Elems {
					walk(argument.Elems, false)
				}
			}
		}
	}
	walk(reply.Elems[1].Elems, true)
	slices.Sort(words)
	return strings.Join(words, " ")
}
