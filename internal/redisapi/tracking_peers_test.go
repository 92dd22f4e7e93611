//go:build peers

package redisapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

// trackingScenes are played to redis-server and to Howdah. Each line is a client, a letter,
// and its command. After each line all clients say which messages they got.
var trackingScenes = map[string]string{
	"default": `
		a CLIENT TRACKINGINFO
		a CLIENT GETREDIR
		a CLIENT TRACKING ON
		a CLIENT TRACKINGINFO
		a CLIENT GETREDIR
		a GET k
		b SET k 1
		b SET k 2
		a GET k
		b SET k 3
		a GET k
		b DEL k
		b DEL k
		a GET k
		b SET k 4 NX
		a GET k
		b SET k 5 NX
		b EXPIRE k 100
		a TTL k
		b PERSIST k
		a EXISTS k j
		b MSET k 1 j 2
		a MGET k j l
		b MSET j 1 l 2 k 3
		a STRLEN k
		a TYPE k
		b APPEND k x
		a GETRANGE k 0 1
		b SETRANGE k 0 y
		a SCAN 0 MATCH k COUNT 100
		a KEYS k
		a DBSIZE
		b SET k 1
		a GETEX k
		a GETDEL k
		b SET k 1`,
	"own writes": `
		a CLIENT TRACKING ON
		a GET k
		a SET k 1
		a SET k 2
		a GET k
		a INCR k
		a GET k
		a DEL k
		a RENAME k j
		a SET k 1
		a GET k
		a GET j
		a RENAME k j
		a GET k
		a GET j
		a COPY j k
		a HGET h f
		a HSET h f v
		a HGETALL h
		a HDEL h f g
		a HLEN h
		a HDEL h f`,
	"collections": `
		a CLIENT TRACKING ON
		a LRANGE l 0 -1
		b RPUSH l a b c
		a LLEN l
		b LPOP l
		a SMEMBERS s
		b SADD s a
		a SISMEMBER s a
		b SADD s a
		b SREM s a
		a ZRANGE z 0 -1
		b ZADD z 1 a
		a ZSCORE z a
		b ZINCRBY z 1 a
		a SINTER s t
		b SADD t a
		a SDIFF s t
		b SUNIONSTORE s t s
		a SORT_RO l
		b LPUSH l x
		a OBJECT ENCODING l
		b DEL l`,
	"no loop": `
		a CLIENT TRACKING ON NOLOOP
		b CLIENT TRACKING ON
		a CLIENT TRACKINGINFO
		a GET k
		b GET k
		a SET k 1
		b SET k 2
		a GET k
		b GET k
		b SET k 3
		a GET k
		a MULTI
		a SET k 4
		a EXEC
		b SET k 5
		b GET k
		a MULTI
		a SET k 4
		a EXEC`,
	"opt in": `
		a CLIENT CACHING YES
		a CLIENT TRACKING ON OPTIN
		a CLIENT CACHING NO
		a CLIENT CACHING MAYBE
		a GET k
		b SET k 1
		a CLIENT CACHING YES
		a CLIENT TRACKINGINFO
		a GET k
		a CLIENT TRACKINGINFO
		a GET j
		b SET k 2
		b SET j 2
		a CLIENT CACHING YES
		a PING
		a GET k
		b SET k 3
		a CLIENT CACHING YES
		a MULTI
		a GET k
		a GET j
		a EXEC
		a GET l
		b SET k 1
		b SET j 1
		b SET l 1
		a CLIENT TRACKING ON OPTOUT
		a CLIENT TRACKING ON OPTIN NOLOOP
		a CLIENT TRACKINGINFO`,
	"opt out": `
		a CLIENT TRACKING ON OPTOUT
		a CLIENT CACHING YES
		a GET k
		b SET k 1
		a CLIENT CACHING NO
		a CLIENT TRACKINGINFO
		a GET k
		b SET k 2
		a GET k
		b SET k 3
		a CLIENT TRACKING ON OPTIN`,
	"errors": `
		a CLIENT TRACKING MAYBE
		a CLIENT TRACKING ON PREFIX a
		a CLIENT TRACKING ON BCAST OPTIN
		a CLIENT TRACKING ON OPTIN OPTOUT
		a CLIENT TRACKING ON REDIRECT 123456
		a CLIENT TRACKING ON REDIRECT x
		a CLIENT TRACKING ON REDIRECT
		a CLIENT TRACKING ON PREFIX
		a CLIENT TRACKING ON NONSENSE
		a CLIENT TRACKING OFF NONSENSE
		a CLIENT TRACKING OFF
		a CLIENT TRACKING ON
		a CLIENT TRACKING ON BCAST
		a CLIENT CACHING NO
		a CLIENT TRACKING OFF
		a CLIENT CACHING NO`,
	"off and on": `
		a CLIENT TRACKING ON
		a GET k
		a CLIENT TRACKING OFF
		b SET k 1
		a CLIENT TRACKING ON
		a GET k
		a CLIENT TRACKING OFF
		a CLIENT TRACKING ON
		b SET k 2
		a GET k
		a HELLO 2
		b SET k 3
		a HELLO 3
		b SET k 4
		a GET k
		a RESET
		a HELLO 3 SETNAME sentinel
		b SET k 5
		a CLIENT TRACKINGINFO`,
	"flush": `
		a SELECT 1
		a SET k 1
		a SELECT 0
		a CLIENT TRACKING ON
		b CLIENT TRACKING ON NOLOOP
		a GET k
		b FLUSHDB
		b SET k 1
		b GET k
		b FLUSHALL`,
	"transactions": `
		a CLIENT TRACKING ON
		a MULTI
		a GET k
		a MGET i j
		a EXEC
		b SET k 1
		b SET j 1
		a GET k
		b MULTI
		b SET k 2
		b INCR k
		b SET l 1
		b EXEC
		a WATCH k
		b SET k 1
		a UNWATCH
		a GET l
		a MULTI
		a SET l 2
		a EXEC
		a MULTI
		a GET l
		a DISCARD
		b SET l 3`,
	"scripts": `
		a CLIENT TRACKING ON
		a EVAL "return redis.call('get',KEYS[1])" 2 k j
		b SET k 1
		b SET j 1
		a EVAL_RO "return redis.call('get',KEYS[1])" 1 k
		b EVAL "return redis.call('set',KEYS[1],1)" 1 k
		a EVAL "redis.call('get',KEYS[1]) return redis.call('set',KEYS[1],1)" 1 k
		b SET k 2`,
	"redirect to itself": `
		a CLIENT TRACKING ON REDIRECT {a}
		a CLIENT GETREDIR
		a GET k
		b SET k 1
		a GET k
		a SET k 2
		a GET k
		b FLUSHDB
		d CLIENT TRACKING ON REDIRECT {d}
		d GET k
		b SET k 1
		d GET k
		d SUBSCRIBE __redis__:invalidate
		b SET k 1
		b FLUSHDB
		d UNSUBSCRIBE __redis__:invalidate
		d GET k
		b SET k 1`,
	"redirect to a client that leaves": `
		a CLIENT TRACKING ON REDIRECT {c}
		e CLIENT TRACKING ON REDIRECT {c}
		a GET k
		a GET j
		e GET k
		c LEAVES
		a CLIENT TRACKINGINFO
		b SET k 1
		a CLIENT TRACKINGINFO
		a CLIENT GETREDIR
		e CLIENT TRACKINGINFO
		a GET k
		b MSET k 1 j 1
		a GET k
		b FLUSHDB
		a CLIENT TRACKING ON
		a CLIENT TRACKINGINFO
		a GET k
		b SET k 2
		e CLIENT TRACKING OFF
		e CLIENT TRACKINGINFO`,
	"several databases": `
		a SELECT 1
		a GET k
		a SELECT 0
		a CLIENT TRACKING ON
		a GET k
		a SELECT 1
		a GET k
		a GET j
		b SET k 1
		a GET k
		b SELECT 1
		b SET j 1
		b SET k 2
		a MULTI
		a GET k
		a SELECT 0
		a GET j
		a EXEC
		b DEL j
		b SELECT 0
		b MOVE k 1
		b DEL k
		a GET k
		b SET k 1
		a GET k
		b RENAME k j
		b COPY j k DB 1
		a GET j
		b MOVE j 1`,
	"several keys": `
		a CLIENT TRACKING ON
		a GET k
		a MGET k j k
		b SET j 1
		a MGET k j
		b MSET j 1 k 2
		a EXISTS k k
		b DEL k k
		a MGET j k
		b DEL j none
		b SET k 1
		a SUNION s t
		b SMOVE s t x
		b SADD s x
		b SMOVE s t x
		a LRANGE l 0 -1
		b RPUSH l a b
		a LLEN l
		b LMOVE l l LEFT RIGHT
		a LLEN m
		b LMOVE l m LEFT RIGHT
		a PFCOUNT p q
		b PFADD q a
		b PFADD p
		b PFMERGE p q
		a PFCOUNT p
		b PFMERGE p q
		a GETBIT b 0
		b SETBIT b 0 0
		a BITFIELD_RO b GET u8 0
		b BITFIELD b SET u8 0 0
		b BITFIELD b GET u8 0
		a ZRANGE z 0 -1
		b ZADD z 1 a
		a ZRANGE z 0 -1
		b ZADD z 1 a
		b ZRANGESTORE z z 5 9
		a DUMP z
		b SET z 1 GET`,
	"writes without effect": `
		a CLIENT TRACKING ON
		b SET k 10
		b RPUSH l a
		a MGET k l s
		b APPEND k ""
		a GET k
		b INCRBY k 0
		a GET k
		b EXPIRE k 100 XX
		b EXPIRE k 100 NX
		a GET k
		b EXPIRE k 1 GT
		b PERSIST k
		a GET k
		b PERSIST k
		b SET k 1 NX
		b SETNX k 1
		b MSETNX k 1 j 1
		b LREM l 0 x
		a LLEN l
		b LPUSH k x
		b RENAME k k
		b RENAMENX k l
		b COPY k l
		b COPY k k
		b GETEX k
		b EXPIREAT k 1
		a GET k
		b EXPIRE k -1
		b SET k 1
		a GET k
		b GETEX k EX 100
		a GET k
		b GETEX k EXAT 1
		a GET k
		b SET k 1 PXAT 1`,
	"scripts that read and write": `
		a CLIENT TRACKING ON
		a EVAL "redis.call('get',KEYS[1]) return redis.call('get',KEYS[2])" 2 k j
		b EVAL "return redis.call('set',KEYS[1],1)" 1 k
		b EVAL "return redis.call('mset',KEYS[1],1,KEYS[2],2)" 2 k j
		a MULTI
		a EVAL "return redis.call('get',KEYS[1])" 1 k
		a GET j
		a EXEC
		b SET k 1
		b SET j 1
		a CLIENT TRACKING OFF
		a CLIENT TRACKING ON OPTIN
		a EVAL_RO "return redis.call('get',KEYS[1])" 1 k
		b SET k 3
		a CLIENT CACHING YES
		a EVAL_RO "return redis.call('get',KEYS[1])" 1 k
		b SET k 3`,
	"caching and transactions": `
		a CLIENT TRACKING ON OPTIN
		a CLIENT CACHING YES
		a MULTI
		a GET k
		a DISCARD
		a GET j
		b SET k 1
		b SET j 1
		a MULTI
		a CLIENT CACHING YES
		a GET k
		a GET j
		a EXEC
		a CLIENT TRACKINGINFO
		a GET l
		b SET k 1
		b SET j 1
		b SET l 1
		a CLIENT CACHING YES
		a NONSENSE
		a GET k
		b SET k 1
		a CLIENT CACHING YES
		a CLIENT ID
		a CLIENT GETNAME
		a GET k
		b SET k 1
		a CLIENT CACHING YES
		a SET j 1
		a GET k
		b SET k 1
		a CLIENT TRACKING OFF
		a CLIENT TRACKING ON OPTOUT
		a CLIENT CACHING NO
		a MULTI
		a GET k
		a GET j
		a EXEC
		a GET l
		b SET k 1
		b SET j 1
		b SET l 1`,
	"order in a transaction": `
		a CLIENT TRACKING ON
		a GET k
		a GET j
		a MULTI
		a SET k 1
		a GET k
		a SET j 1
		a EXEC
		b SET j 2
		a GET k
		a MULTI
		a GET k
		a DEL k
		a EXEC
		b SET k 1
		a GET k
		a MULTI
		a GET k
		a FLUSHDB
		a EXEC
		b SET k 1`,
	"tracking in a transaction": `
		a MULTI
		a CLIENT TRACKING ON
		a GET k
		a EXEC
		a CLIENT TRACKINGINFO
		b SET k 1
		a GET k
		a MULTI
		a CLIENT TRACKING OFF
		a GET j
		a EXEC
		b SET k 1
		b SET j 1
		a CLIENT TRACKINGINFO`,
	"tracking that a transaction begins": `
		b SET k 1
		a MULTI
		a CLIENT TRACKING ON
		a GET k
		a SET k 2
		a EXEC
		a GET k
		b SET k 3`,
	"reset": `
		c CLIENT TRACKING ON
		a CLIENT TRACKING ON NOLOOP
		a GET k
		a RESET
		a HELLO 3 SETNAME sentinel
		b SET k 1
		a CLIENT TRACKINGINFO
		a GET k
		a CLIENT TRACKING ON
		b SET k 2`,
	"redirect": `
		a CLIENT TRACKING ON REDIRECT {b}
		a CLIENT GETREDIR
		a GET k
		c SET k 1
		a GET k
		c FLUSHDB`,
	"redirect to a subscriber": `
		a CLIENT TRACKING ON REDIRECT {d}
		a GET k
		b SET k 1
		d SUBSCRIBE __redis__:invalidate
		a GET k
		b SET k 2
		a GET k
		a SET k 3
		b FLUSHDB
		e CLIENT TRACKING ON REDIRECT {d} NOLOOP
		e GET k
		a GET k
		b SET k 2
		e GET k
		e SET k 2
		b FLUSHDB
		e CLIENT TRACKINGINFO
		d UNSUBSCRIBE __redis__:invalidate
		e GET k
		b SET k 3
		d SUBSCRIBE other
		e GET k
		b SET k 4
		e CLIENT TRACKING OFF
		e CLIENT TRACKING ON
		e GET k
		b SET k 5`,
}

// scriptScenes are those of scripts and functions, each for the first time and once more.
var scriptScenes = map[string]string{
	"scripts that read nothing": `
		b MSET k 1 j 1
		a CLIENT TRACKING ON
		a EVAL "return 1" 1 k
		b SET k 2
		a EVAL "return 1" 1 k
		b SET k 3
		a EVAL_RO "return 2" 2 k j
		b MSET k 4 j 4
		a EVAL "return redis.call('ping')" 1 k
		b SET k 5
		a EVAL "return redis.call('set',KEYS[1],1)" 1 k
		a EVAL "return redis.call('set',KEYS[1],1)" 1 k
		b SET k 6
		a EVAL "return redis.pcall('get')" 1 k
		b SET k 7
		a EVAL "return #redis.call('keys','*')" 1 k
		b SET k 8
		a EVAL "return redis.call('get','j')" 1 k
		b SET k 9
		a EVAL "return redis.call('get','j')" 1 k
		b MSET k 10 j 10
		a FUNCTION LOAD "#!lua name=x\nredis.register_function{function_name='n',callback=function() return 1 end,flags={'no-writes'}}"
		a FCALL n 1 k
		b SET k 11
		a FCALL_RO n 1 k
		b SET k 12`,
	"keys that are tracked already": `
		b MSET k 1 j 1
		a CLIENT TRACKING ON
		a GET k
		a EVAL "return 3" 2 k j
		b MSET k 2 j 2
		a GET k
		a EVAL "return 3" 2 k j
		b MSET k 3 j 3
		a GET k
		a MULTI
		a EVAL "return 4" 2 k j
		a EXEC
		b MSET k 4 j 4
		a MULTI
		a EVAL "return 5" 1 k
		a GET k
		a EXEC
		b SET k 5
		a MULTI
		a EVAL "return 6" 1 k
		a EVAL "return redis.call('get',KEYS[1])" 1 k
		a EVAL "return 7" 1 k
		a EXEC
		b SET k 6
		a MULTI
		a EVAL "return 8" 1 k
		a EXEC
		b SET k 7`,
	"what a script reads at times": `
		b MSET k 1 j 1
		a CLIENT TRACKING ON
		a EVAL "if ARGV[1] then return redis.call('get',KEYS[1]) end return 1" 1 k yes
		b SET k 2
		a EVAL "if ARGV[1] then return redis.call('get',KEYS[1]) end return 1" 1 k yes
		b SET k 3`,
	"scripts without loops": `
		b MSET k 1 j 1
		a CLIENT TRACKING ON NOLOOP
		a MGET k j
		a EVAL "return redis.call('set',KEYS[1],1)" 1 k
		a EVAL "return redis.call('mset',KEYS[1],1,KEYS[2],2)" 2 k j
		a MGET k j
		a EVAL "return redis.call('mset',KEYS[1],1,KEYS[2],2)" 2 k j
		a EVAL "redis.call('get',KEYS[1]) return redis.call('set',KEYS[1],2)" 1 k
		a EVAL "redis.call('get',KEYS[1]) return redis.call('set',KEYS[1],2)" 1 k
		b SET k 2
		a GET k
		a MULTI
		a EVAL "return redis.call('set',KEYS[1],3)" 1 k
		a EXEC
		a MULTI
		a GET k
		a SET k 5
		a EXEC
		b SET k 6
		a MULTI
		a EVAL "redis.call('get',KEYS[1]) return redis.call('set',KEYS[1],4)" 1 k
		a EXEC
		b SET k 7`,
}

// broadcastScenes are those of CLIENT TRACKING ON BCAST.
var broadcastScenes = map[string]string{
	"all keys": `
		a CLIENT TRACKING ON BCAST
		a CLIENT TRACKINGINFO
		a GET k
		b SET k 1
		b SET k 2
		b SET k 3 NX
		b SET k 3 XX
		b SET j 3 XX
		b SET k 4 GET
		b SET j 4 GET NX
		b SET j 5 GET NX
		b GETSET k 5
		b DEL k
		b DEL k
		b DEL k j
		b MSET c 1 a 2 b 3 a 4
		b DEL c x a
		b UNLINK b
		b MSETNX a 1 b 2
		b MSETNX a 1 c 2
		b EXPIRE a 100
		b EXPIRE a 100 NX
		b EXPIRE x 100
		b PERSIST a
		b PERSIST a
		b GETEX a
		b GETEX a EX 100
		b GETEX a PERSIST
		b GETDEL a
		b GETDEL a
		b TOUCH b
		b APPEND b x
		b SETRANGE b 5 x
		b SETRANGE new 0 ""
		b INCR n
		b INCRBYFLOAT n 1.5
		b INCR b
		b SETBIT bits 1 1
		b PFADD p a
		b PFADD p a
		b EXPIRE n -1
		b SET n 1
		b EXPIREAT n 1
		b SET n 1 EXAT 1`,
	"prefixes": `
		a CLIENT TRACKING ON BCAST PREFIX user: PREFIX item:
		a CLIENT TRACKINGINFO
		e CLIENT TRACKING ON BCAST
		c CLIENT TRACKING ON BCAST PREFIX user:a
		b SET user:a 1
		b SET item:a 1
		b SET item 1
		b SET other 1
		b MSET user:b 1 item:b 1 user:ab 1 other 1
		a CLIENT TRACKING ON BCAST PREFIX order:
		a CLIENT TRACKINGINFO
		b MSET order:a 1 item:a 1 user:a 1
		a CLIENT TRACKING ON BCAST PREFIX user:c
		a CLIENT TRACKING ON BCAST PREFIX u
		a CLIENT TRACKING ON BCAST PREFIX user:
		a CLIENT TRACKING ON BCAST PREFIX b PREFIX a PREFIX bc
		a CLIENT TRACKING ON BCAST PREFIX ""
		c CLIENT TRACKING ON BCAST PREFIX x PREFIX xy
		a CLIENT TRACKINGINFO
		c CLIENT TRACKING OFF
		a CLIENT TRACKING OFF
		a CLIENT TRACKINGINFO
		b SET user:a 2
		a CLIENT TRACKING ON BCAST PREFIX user:a
		b SET user:a 3
		b SET user:b 3
		a CLIENT TRACKING ON BCAST
		b SET user:a 4
		b SET user:b 4`,
	"own writes": `
		a CLIENT TRACKING ON BCAST
		a SET k 1
		a GET k
		a INCR k
		a MSET b 1 a 2
		a HSET h f v
		a HSET h f v
		a HDEL h g
		a HDEL h f
		a RENAME a c
		a COPY c d
		a RPUSH l a b
		a LPOP l
		a LMOVE l m LEFT LEFT
		a SADD s a
		a SADD s a
		a SMOVE s t a
		a ZADD z 1 a
		a ZADD z 1 a
		a SORT m STORE o
		a MULTI
		a SET x 1
		a GET x
		a SET w 1
		a DEL k
		a DEL absent
		a EXEC
		a EVAL "redis.call('set',KEYS[2],1) redis.call('set',KEYS[1],1) return redis.call('get',KEYS[1])" 2 k j`,
	"no loop": `
		a CLIENT TRACKING ON BCAST NOLOOP
		c CLIENT TRACKING ON BCAST PREFIX k
		a CLIENT TRACKINGINFO
		a SET k 1
		c SET k 2
		b SET k 3
		a MSET k 1 j 2
		a HSET h f v
		a RENAME k kk
		a MULTI
		a SET k 1
		a INCR j
		a EXEC
		a DEL k
		a FLUSHDB`,
	"other modes": `
		a CLIENT TRACKING ON BCAST OPTIN
		a CLIENT TRACKING ON BCAST OPTOUT
		a CLIENT TRACKING ON PREFIX a
		a CLIENT TRACKING ON BCAST PREFIX
		a CLIENT TRACKING ON BCAST PREFIX ab PREFIX a
		a CLIENT TRACKING ON BCAST PREFIX a
		a CLIENT TRACKING ON
		a CLIENT TRACKING ON OPTIN
		a CLIENT CACHING YES
		a CLIENT TRACKINGINFO
		a CLIENT GETREDIR
		a CLIENT TRACKING OFF
		a CLIENT TRACKING ON
		a GET k
		a CLIENT TRACKING ON BCAST
		b SET k 1
		a RESET
		a HELLO 3 SETNAME sentinel
		b SET a 1
		a CLIENT TRACKINGINFO`,
	"both kinds": `
		a CLIENT TRACKING ON BCAST
		c CLIENT TRACKING ON
		c GET k
		a GET k
		b SET k 1
		b SET k 2
		c GET k
		c SET k 3`,
	"flush": `
		a CLIENT TRACKING ON BCAST PREFIX k
		b FLUSHDB
		b SET k 1
		b FLUSHALL
		a FLUSHALL`,
	"redirect": `
		a CLIENT TRACKING ON BCAST REDIRECT {b} PREFIX k
		a CLIENT GETREDIR
		c SET k 1
		c MSET k 1 kk 2 j 3
		c FLUSHDB`,
	"redirect to a subscriber": `
		e CLIENT TRACKING ON BCAST REDIRECT {d} PREFIX k
		b SET k 1
		d SUBSCRIBE __redis__:invalidate
		b SET k 2
		b MSET k2 1 k1 1 j 1
		e SET k 3
		b FLUSHDB
		e CLIENT TRACKINGINFO
		d UNSUBSCRIBE __redis__:invalidate
		b SET k 4`,
}

// In RESP2 are the clients d and e.
var trackingProtocols = map[string]string{"a": "3", "b": "3", "c": "3", "d": "2", "e": "2"}

var trackingClients = []string{"a", "b", "c", "d", "e"}

func TestTrackingAsRedis(t *testing.T) {
	t.Parallel()
	testTrackingAsRedis(t, trackingScenes, serveTracking)
}

func TestTrackingOfScriptsAsRedis(t *testing.T) {
	t.Parallel()
	testTrackingAsRedis(t, scriptScenes, serveTracking)
}

func TestBroadcastAsRedis(t *testing.T) {
	t.Parallel()
	testTrackingAsRedis(t, broadcastScenes, serveBroadcast)
}

func testTrackingAsRedis(t *testing.T, scenes map[string]string, serve func(testing.TB, string, time.Duration) *testServer) {
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			redis := playTracking(t, scene, startRedis(t), func() {})
			play := func(t *testing.T, near time.Duration) (differs string) {
				s := serve(t, newTrackingDatabase(t), near)
				dial(t, s.addr()).want(resp.OK, "SELECT", "1")
				s.sql("SELECT howdah.alter_cache('db1', near => true)")
				howdah := playTracking(t, scene, s.addr(), s.caughtUp)
				for i := range redis {
					if redis[i] != howdah[i] {
						differs += fmt.Sprintf("differs:\nredis:  %s\nhowdah: %s\n", redis[i], howdah[i])
					}
				}
				return differs
			}
			t.Run("near", func(t *testing.T) {
				if differs := play(t, slowPolls); differs != "" {
					t.Error(differs)
				}
			})
			// Without entries in memory polls come often, and one may tell of a write before
			// its answer comes: the scene has three tries.
			t.Run("no near", func(t *testing.T) {
				differs := ""
				for range 3 {
					if differs = play(t, 0); differs == "" {
						return
					}
				}
				t.Error(differs)
			})
		})
	}
}

// playTracking returns for each line what came of it.
func playTracking(t *testing.T, scene, addr string, settle func()) (lines []string) {
	clients := map[string]*trackingClient{}
	ids := map[string]string{}
	for _, name := range trackingClients { // in this order they are told that everything changes
		clients[name] = dialTracking(t, addr, trackingProtocols[name])
		ids[name] = strings.TrimSpace(strings.TrimPrefix(clients[name].run("CLIENT", "ID"), ":"))
	}
	queuing, left := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(scene) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		args := trackingWords(rest)
		for i := range args {
			if id, ok := ids[strings.Trim(args[i], "{}")]; ok && args[i][0] == '{' {
				args[i] = id
			}
		}
		c := clients[name]
		if args[0] == "LEAVES" {
			c.conn.Close()
			clients["b"].awaitNoClient(ids[name])
			left[name] = true
			continue
		}
		reply := c.run(args...)
		if args[0] == "TTL" && sameLife(":100\r\n", reply, 5) {
			reply = ":100\r\n"
		}
		came := fmt.Sprintf("%-40s %q", line, hideIDs(line, reply, ids))
		// A poll may find a flush between its commit and its answer.
		if early := len(c.messages); early > 0 && args[0] != "FLUSHDB" && args[0] != "FLUSHALL" {
			came += fmt.Sprintf(" behind %d messages", early)
		}
		switch args[0] {
		case "MULTI":
			queuing[name] = true
		case "EXEC", "DISCARD":
			queuing[name] = false
		}
		settle()
		for _, other := range trackingClients {
			if queuing[other] || left[other] || args[0] == "RESET" && name == other || line == "a HELLO 2" && other == "a" {
				continue
			}
			heard := clients[other].heard()
			for i := range heard {
				heard[i] = hideIDs("CLIENT", heard[i], ids)
			}
			if len(heard) > 0 {
				came += fmt.Sprintf(" %s: %q", other, heard)
			}
		}
		lines = append(lines, came)
	}
	return lines
}

// awaitNoClient waits until a connection is gone.
func (c *trackingClient) awaitNoClient(id string) {
	await.True(c.t, "the connection is gone", func() bool { return !strings.Contains(c.run("CLIENT", "LIST"), "id="+id+" ") })
}

// hideIDs replaces the numbers of connections, which differ.
func hideIDs(line, reply string, ids map[string]string) string {
	for name, id := range ids {
		if !strings.Contains(line, "CLIENT") {
			break
		}
		reply = strings.ReplaceAll(reply, ":"+id+"\r\n", ":{"+name+"}\r\n")
	}
	if strings.Contains(line, "HELLO") {
		return "hello"
	}
	return reply
}

// trackingWords splits a command; a word may stand in quotes, with \n for a new line.
func trackingWords(line string) (words []string) {
	for line != "" {
		if line[0] == '"' {
			word, rest, _ := strings.Cut(line[1:], `"`)
			words, line = append(words, strings.ReplaceAll(word, `\n`, "\n")), strings.TrimSpace(rest)
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		words, line = append(words, word), strings.TrimSpace(rest)
	}
	return words
}
