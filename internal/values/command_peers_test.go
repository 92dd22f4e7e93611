//go:build peers

package values_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

// TestTable compares the table of commands with COMMAND INFO of redis-server, and
// the keys of command lines with COMMAND GETKEYS.
func TestTable(t *testing.T) {
	t.Parallel()
	c := startRedis(t)(resp.RESP2)
	known := 0
	for _, cmd := range values.Commands() {
		r, err := resp.ReadReply(reader(c.do("COMMAND", "INFO", cmd.Name)))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Elems[0].Elems) == 0 {
			if cmd.Since < "7.4" {
				t.Errorf("redis-server does not know %s", cmd.Name)
			}
			continue
		}
		known++
		info := r.Elems[0].Elems
		var flags []string
		for _, flag := range info[2].Elems {
			flags = append(flags, string(flag.Str))
		}
		want := strings.Join(flags, " ")
		if cmd.Arity != int(info[1].Int) || cmd.Flags != want {
			t.Errorf("%s: arity %d, flags %q; redis-server has %d, %q", cmd.Name, cmd.Arity, cmd.Flags, info[1].Int, want)
		}
		if [3]int64{int64(cmd.First), int64(cmd.Last), int64(cmd.Step)} != [3]int64{info[3].Int, info[4].Int, info[5].Int} {
			t.Errorf("%s: keys %d %d %d; redis-server has %d %d %d", cmd.Name, cmd.First, cmd.Last, cmd.Step, info[3].Int, info[4].Int, info[5].Int)
		}
	}
	if known < 114 {
		t.Errorf("only %d commands were compared", known)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	c := startRedis(t)(resp.RESP2)
	for _, line := range []string{
		"ZUNIONSTORE d 2 a b WEIGHTS 1 2", "ZINTER 1 a", "ZMPOP 2 a b MIN", "LMPOP 1 a LEFT COUNT 2", "SINTERCARD 2 a b LIMIT 1", "BITOP AND d a b c",
		"MSET a 1 b 2", "MGET a b", "SMOVE a b m", "LMOVE a b LEFT RIGHT", "ZRANGESTORE d a 0 1", "LCS a b LEN", "PFMERGE d a b", "SINTERSTORE d a b", "HSET a f v", "ZDIFF 2 a b WITHSCORES",
	} {
		words := strings.Fields(line)
		r, err := resp.ReadReply(reader(c.do(append([]string{"COMMAND", "GETKEYS"}, words...)...)))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, key := range r.Elems {
			want = append(want, string(key.Str))
		}
		args := make([][]byte, len(words))
		for i, word := range words {
			args[i] = []byte(word)
		}
		for _, key := range newStore(t, 1).commands[strings.ToLower(words[0])].Keys(nil, args) {
			got = append(got, string(key))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: keys %q; redis-server has %q", line, got, want)
		}
	}
}
