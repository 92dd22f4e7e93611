//go:build peers

package redisapi

import (
	"strings"
	"testing"
)

// TestInfoOfCommands compares COMMAND INFO of the commands on keys, messages and the cluster with redis-server.
func TestInfoOfCommands(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	compared := 0
	newTable().each(func(cmd *Command) {
		isCompared := (cmd.Group == "pubsub" || cmd.Group == "cluster") && cmd.Sub == nil
		if len(cmd.Keys) == 0 && !isCompared || cmd.Since >= "7.2" || cmd.Group == "module" {
			return
		}
		for _, proto := range []string{"2", "3"} {
			redis.do("HELLO", proto)
			howdah.do("HELLO", proto)
			want, got := redis.do("COMMAND", "INFO", cmd.fullName), howdah.do("COMMAND", "INFO", cmd.fullName)
			if want != got {
				t.Errorf("%s\n got %q\nwant %q", cmd.fullName, got, want)
			}
		}
		compared++
	})
	if compared < 140 {
		t.Errorf("only %d commands were compared", compared)
	}
}

// TestKeysOfLines compares COMMAND GETKEYSANDFLAGS with redis-server.
func TestKeysOfLines(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	for _, line := range []string{
		"ZUNIONSTORE d 2 a b WEIGHTS 1 2", "ZUNIONSTORE d 0 a", "ZUNIONSTORE d x a", "ZUNIONSTORE d 5 a b", "ZINTER 1 a", "ZINTER 0 a", "ZMPOP 2 a b MIN", "LMPOP 1 a LEFT COUNT 2",
		"SINTERCARD 2 a b LIMIT 1", "BITOP AND d a b c", "MSET a 1 b 2", "MGET a b", "SMOVE a b m", "LMOVE a b LEFT RIGHT", "ZRANGESTORE d a 0 1", "LCS a b LEN",
		"PFMERGE d a b", "PFMERGE d", "SINTERSTORE d a b", "HSET a f v", "SORT k", "SORT k BY w* GET # STORE d", "SORT k LIMIT 0 1 STORE d", "SORT k STORE d STORE e", "SORT_RO k BY w*",
		"BITFIELD k GET u8 0", "BITFIELD k SET u8 0 1", "BITFIELD k INCRBY u8 0 1", "SET k v", "SET k v GET", "RESTORE k 0 x", "DUMP k", "EVAL x 2 a b c", "EVAL x 0", "EVALSHA_RO x 1 a", "OBJECT ENCODING k",
	} {
		args := append([]string{"COMMAND", "GETKEYSANDFLAGS"}, strings.Fields(line)...)
		if want, got := redis.do(args...), howdah.do(args...); want != got {
			t.Errorf("%s\n got %q\nwant %q", line, got, want)
		}
	}
}
