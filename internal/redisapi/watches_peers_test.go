//go:build peers

package redisapi

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// unchangingLines are writes, most of which leave everything as it is. Behind a bar is the key to watch, where it
// is not the first argument.
const unchangingLines = `
SET s 10
SET s 10 KEEPTTL
SET s 10 XX
SET s 10 NX
SET new 1 XX
SET s 10 GET
SETNX s 1
GETSET s 10
MSET s 10
MSETNX s 10 new 1 | s
APPEND s ""
APPEND new "" | new
SETRANGE s 0 ""
SETRANGE s 0 10
SETRANGE new 0 ""
INCRBY s 0
DECRBY s 0
INCRBYFLOAT f 0
GETDEL new
GETEX e
GETEX e PERSIST
GETEX s PERSIST
GETEX e EX 1000
GETEX new EX 10
SETBIT bit 0 0
SETBIT bit 1 1
SETBIT new 0 0
BITFIELD bit GET u8 0
BITFIELD bit SET u8 0 97
BITFIELD bit INCRBY u8 0 0
BITFIELD bit OVERFLOW FAIL INCRBY u8 0 255
BITFIELD new SET u8 0 0
BITFIELD new OVERFLOW FAIL SET u8 0 0
BITFIELD bit SET u8 0 97 GET u8 0
BITOP AND new nokey nokey2 | new
BITOP AND bit nokey nokey2 | bit
BITOP OR bit bit | bit
PFADD pf a
PFADD pf
PFADD new
PFADD pf z
PFMERGE pf
PFMERGE pf pf
PFMERGE new nokey
EXPIRE s 100
EXPIRE e 1000
EXPIRE e 1000 NX
EXPIRE e 1000 XX
EXPIRE e 10 GT
EXPIRE e 100000 LT
EXPIRE s 100 GT
EXPIRE new 100
EXPIRE e -1
PERSIST s
PERSIST e
PERSIST new
DEL new
UNLINK new
DEL s
RENAME s s
RENAME s s2 | s2
RENAME s s2 | s
RENAMENX s e | s
RENAMENX s e | e
RENAMENX s s
COPY s e | e
COPY s e | s
COPY s s2 | s
COPY s s2 | s2
COPY nokey e | e
COPY nokey e REPLACE | e
COPY s e REPLACE | e
TOUCH s
HSET h f v
HSET h f w
HMSET h f v
HSETNX h f v
HSETNX h g v
HDEL h nosuch
HDEL nokey f
HINCRBY h n 0
HINCRBYFLOAT h n 0
LPUSHX nokey a
LPUSH l a
LTRIM l 0 -1
LTRIM l 0 100
LTRIM l 1 0
LTRIM nokey 0 -1
LSET l 0 a
LSET l 0 z
LSET l 10 z
LREM l 0 nosuch
LREM l 0 a
LINSERT l BEFORE nosuch x
LINSERT nokey BEFORE a x
LPOP l 0
LPOP nokey
LPOP nokey 1
RPOP l 0
LMOVE l l LEFT LEFT
LMOVE l l LEFT RIGHT
LMOVE lone lone LEFT RIGHT
LMOVE nokey l LEFT RIGHT | l
RPOPLPUSH l l
RPOPLPUSH lone lone
RPOPLPUSH nokey l | l
LMPOP 1 nokey LEFT | nokey
LMPOP 2 nokey l LEFT | nokey
SADD st a
SREM st nosuch
SREM nokey a
SMOVE st st a
SMOVE st st2 nosuch | st
SMOVE st st2 nosuch | st2
SMOVE st one a | one
SMOVE st one a | st
SMOVE nokey st a | st
SMOVE st st nosuch
SPOP nokey
SPOP st 0
SPOP nokey 1
SINTERSTORE new nokey | new
SINTERSTORE st nokey | st
SINTERSTORE st st | st
SUNIONSTORE st st | st
SUNIONSTORE new nokey | new
SDIFFSTORE st st nokey | st
SDIFFSTORE new nokey | new
ZADD z 1 a
ZADD z XX 1 nosuch
ZADD z NX 5 a
ZADD z GT 0 a
ZADD z INCR 0 a
ZADD z NX INCR 5 a
ZADD nokey XX 1 a
ZINCRBY z 0 a
ZREM z nosuch
ZREM nokey a
ZREMRANGEBYRANK z 10 20
ZREMRANGEBYSCORE z 10 20
ZREMRANGEBYLEX z [x [y
ZPOPMIN nokey
ZPOPMIN z 0
ZPOPMAX z 0
ZMPOP 1 nokey MIN | nokey
ZUNIONSTORE z 1 z
ZUNIONSTORE new 1 nokey
ZINTERSTORE z 1 nokey
ZINTERSTORE new 1 nokey
ZDIFFSTORE z 1 z
ZDIFFSTORE new 1 nokey
ZRANGESTORE z z 0 -1
ZRANGESTORE new nokey 0 -1
ZRANGESTORE z nokey 0 -1
SORT l ALPHA STORE l | l
SORT nokey STORE new | new
SORT nokey STORE l | l
SORT l ALPHA | l
GETEX s EX 10
PEXPIREAT e 9999999999999
SETEX s 100 10
INCR l
HSET s f v
EXPIRE s 100 XX
EXPIRE s -1
HINCRBY h new 0
INCRBY new 0
ZADD z CH 1 a
ZADD z LT CH 5 a
PEXPIRE nokey 100
EXPIREAT nokey 1
EXPIREAT e 1
SPOP st 1
SADD nokey a
HDEL h f
HDEL hh f
MSETNX new 1 new2 2
SETNX new 1
SETRANGE s 2 ""
LINSERT l AFTER c x
ZADD nokey XX INCR 1 a
LREM nokey 0 a
HSETNX nokey f v
`

const linesBefore = `
SET s 10
SET e v EX 1000
SET f 1.5
SET bit a
HSET h f v n 5
HSET hh f v
RPUSH l a b c
RPUSH lone a
SADD st a b c
SADD st2 x y
SADD one a
ZADD z 1 a 2 b
PFADD pf a b c
`

// TestWhatEndsAWatch asks redis-server whether a write that changes nothing ends a watch of its key.
func TestWhatEndsAWatch(t *testing.T) {
	t.Parallel()
	ways := map[string]func(c *testClient, words []string) string{
		"alone": func(c *testClient, words []string) string { return c.do(words...) },
		"in a transaction": func(c *testClient, words []string) string {
			c.want(resp.OK, "MULTI")
			c.want(resp.Queued, words...)
			return c.do("EXEC")
		},
		"in a script": func(c *testClient, words []string) string {
			return c.again(append([]string{"EVAL", "return redis.call(unpack(ARGV))", "0"}, words...)...)
		},
		"with events": func(c *testClient, words []string) string {
			c.want(resp.OK, "CONFIG", "SET", "notify-keyspace-events", "KEA")
			return c.do(words...)
		},
	}
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis, howdah := startRedis(t), serve(t, Options{}).addr()
			for line := range strings.Lines(strings.TrimSpace(unchangingLines)) {
				line = strings.TrimSpace(line)
				ended, answer := endsWatch(t, redis, line, send)
				gotEnded, got := endsWatch(t, howdah, line, send)
				if gotEnded != ended {
					t.Errorf("%s answers %q; the watch has ended: %v, in Redis %v, which answers %q", line, got, gotEnded, ended, answer)
				}
			}
		})
	}
}

// endsWatch reports whether a line ends a watch of its key, and what it answers.
func endsWatch(t *testing.T, addr, line string, send func(*testClient, []string) string) (ended bool, answer string) {
	t.Helper()
	command, key, _ := strings.Cut(line, " | ")
	words := strings.Fields(strings.ReplaceAll(command, `""`, "<>"))
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "<>", "")
	}
	if key == "" {
		key = words[1]
	}
	watcher, other := dial(t, addr), dial(t, addr)
	defer watcher.conn.Close()
	defer other.conn.Close()
	other.want(resp.OK, "FLUSHALL")
	for before := range strings.Lines(strings.TrimSpace(linesBefore)) {
		other.do(strings.Fields(before)...)
	}
	watcher.want(resp.OK, "WATCH", key)
	answer = send(other, words)
	watcher.want(resp.OK, "MULTI")
	watcher.want(resp.Queued, "ECHO", "x")
	switch got := watcher.do("EXEC"); got {
	case "*-1\r\n":
		ended = true
	case "*1\r\n" + bulk("x"):
	default:
		t.Errorf("%s: EXEC answers %q", line, got)
	}
	return ended, answer
}
