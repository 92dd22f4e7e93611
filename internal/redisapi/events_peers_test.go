//go:build peers

package redisapi

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/grammar"
	"github.com/howdah/howdah/internal/test/seed"
)

// eventsOfRedis receives the events of a redis-server.
type eventsOfRedis struct{ subscriber, other *testClient }

func listenToRedis(t *testing.T, addr string) *eventsOfRedis {
	l := &eventsOfRedis{dial(t, addr), dial(t, addr)}
	l.subscriber.do("PSUBSCRIBE", "__key*")
	return l
}

// take returns what has been published so far. Another connection marks the end.
func (l *eventsOfRedis) take() (list []string) {
	l.other.do("PUBLISH", "__keyend", "")
	for {
		r, err := resp.ReadReply(bufio.NewReader(strings.NewReader(l.subscriber.reply())))
		if err != nil || len(r.Elems) != 4 {
			l.other.t.Fatalf("%v: %v", r, err)
		}
		channel := string(r.Elems[2].Str)
		if channel == "__keyend" {
			return list
		}
		list = append(list, channel+" "+string(r.Elems[3].Str))
	}
}

// TestEventsOfFamilies sends the same random commands of each family to redis-server and
// to Howdah, one by one, in pipelines and inside MULTI, and compares the events: with all
// classes, and with those that calls alone can name.
func TestEventsOfFamilies(t *testing.T) {
	t.Parallel()
	for _, family := range grammar.Families() {
		for _, classes := range []string{"Kg$lshznm", "EKg$lshz", "Km"} {
			t.Run(family.Name+" "+classes, func(t *testing.T) {
				seed := seed.Or(t, *familySeed)
				limit(&family)
				if family.Name == "sort" { // which goes through a set in Redis's own order
					classes = strings.TrimSuffix(classes, "m")
				}
				e := newEventStream(t, grammar.Grammar{Rand: rand.New(rand.NewPCG(seed, 0)), Family: family})
				e.setEvents(classes)
				e.exchange(t, 0, grammar.Prepare(), true)
				for made := 0; made < *familyLength/5 && !t.Failed(); {
					made += e.compare(t)
				}
			})
		}
	}
}

// eventStream is a stream of commands to both servers, and their events.
type eventStream struct {
	*familyStream
	redis  *eventsOfRedis
	howdah *heard
}

func newEventStream(t *testing.T, g grammar.Grammar) *eventStream {
	redis := startRedis(t, "--enable-debug-command", "yes")
	server := serve(t, Options{})
	e := &eventStream{
		familyStream: &familyStream{Grammar: g},
		redis:        listenToRedis(t, redis),
		howdah:       listenTo(t, server),
	}
	for i := range e.pairs {
		e.pairs[i] = [2]*testClient{dial(t, redis), dial(t, server.addr())}
	}
	return e
}

func (e *eventStream) setEvents(classes string) {
	for _, c := range e.pairs[0] {
		c.want(resp.OK, "CONFIG", "SET", "notify-keyspace-events", classes)
	}
}

// compare sends some commands and compares their events. Those of a pipeline are in order
// for each key; those of commands that wait for each other, and of a transaction, all are.
func (e *eventStream) compare(t *testing.T) int {
	t.Helper()
	e.redis.take()
	e.howdah.take()
	lines := make([][]string, 1+e.IntN(30))
	for i := range lines {
		lines[i] = e.Line()
	}
	ordered := true
	switch e.IntN(4) {
	case 0:
		e.exchange(t, e.IntN(2), lines, false)
		ordered = false
	case 1:
		e.exchange(t, e.IntN(2), append(append([][]string{{"MULTI"}}, lines...), []string{"EXEC"}), false)
	default:
		for _, line := range lines {
			e.exchange(t, 0, [][]string{line}, false)
		}
	}
	want, got := e.redis.take(), e.howdah.take()
	if !ordered {
		want, got = byChannel(want), byChannel(got)
	}
	if !slices.Equal(want, got) {
		t.Errorf("%q\n  got %q\nredis %q", lines, got, want)
	}
	return len(lines)
}

// byChannel sorts events by their channels, and leaves those of each in their order, but for
// misses, which are no changes: they come last.
func byChannel(list []string) []string {
	misses := func(event string) int { return strings.Count(event, "keymiss") }
	slices.SortStableFunc(list, func(a, b string) int {
		return cmp.Or(strings.Compare(keyOf(a), keyOf(b)), cmp.Compare(misses(a), misses(b)))
	})
	return list
}

// keyOf is the key of an event, which is in one or the other part of it.
func keyOf(event string) string {
	channel, message, _ := strings.Cut(event, " ")
	if _, key, ok := strings.Cut(channel, "__keyspace@0__:"); ok {
		return key
	}
	return message
}

// TestEventSettingOfRedis compares all values of notify-keyspace-events: what is refused,
// and how CONFIG GET shows what is not.
func TestEventSettingOfRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	const letters = "KEg$lshzxetdnmA"
	values := []string{"yes", "KEAx ", "K\x00E", "kea", "Ké", "AA", "gKgK", "Ag$lshzxeKEtmdnn"}
	random := rand.New(rand.NewPCG(seed.Or(t, *familySeed), 0))
	for range 300 {
		n, value := random.IntN(1<<len(letters)), ""
		for i := range len(letters) {
			if n&(1<<i) != 0 {
				value += letters[i : i+1]
			}
		}
		values = append(values, value)
	}
	for _, value := range values {
		want := redis.do("CONFIG", "SET", "notify-keyspace-events", value)
		howdah.want(want, "CONFIG", "SET", "notify-keyspace-events", value)
		want = redis.do("CONFIG", "GET", "notify-keyspace-events")
		howdah.want(want, "CONFIG", "GET", "notify-keyspace-events")
	}
	for _, line := range [][]string{
		{"CONFIG", "SET", "notify-keyspace-events", "Kx", "maxmemory", "x"}, {"CONFIG", "SET", "notify-keyspace-events"},
		{"CONFIG", "SET", "slowlog-max-len", "1", "notify-keyspace-events", "gE"},
		{"CONFIG", "SET", "notify-keyspace-events", "Kx", "Notify-Keyspace-Events", "Ex"}, {"CONFIG", "SET", "NOTIFY-keyspace-events", "KEA"},
		{"CONFIG", "GET", "notify-*"}, {"CONFIG", "RESETSTAT"}, {"CONFIG", "GET", "notify-keyspace-events"},
	} {
		howdah.want(redis.do(line...), line...)
	}
}

// TestEventsOfEveryCommand runs each command that writes, and each that reads a key, in
// ways that take effect and in ways that do not, and compares the events.
func TestEventsOfEveryCommand(t *testing.T) {
	t.Parallel()
	e := newEventStream(t, grammar.Grammar{})
	e.setEvents("KEg$lshznm")
	known := e.pairs[0][0].known(t)
	for _, cmd := range commandList() {
		for _, c := range append([]*Command{cmd}, cmd.Sub...) {
			name := cmd.Name
			if c != cmd {
				name += "|" + c.Name
			}
			if cmd.Group == "pubsub" || len(c.Keys) == 0 && !strings.Contains(c.Flags, "write") {
				continue
			}
			lines, ok := eventLines[name]
			if !ok {
				t.Errorf("there is no line for %s: say which events it causes", name)
			}
			if !known[name] {
				continue // a command of a newer Redis, or of Howdah: see TestEvents of package values
			}
			if len(lines) == 0 {
				t.Errorf("redis-server knows %s: compare it", name)
			}
			for _, line := range lines {
				e.compareLine(t, line)
			}
		}
	}
}

// known returns the names of the commands and subcommands of a server.
func (c *testClient) known(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	r, err := resp.ReadReply(bufio.NewReader(strings.NewReader(c.do("COMMAND"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range r.Elems {
		names[string(cmd.Elems[0].Str)] = true
		for _, sub := range cmd.Elems[9].Elems {
			names[string(sub.Elems[0].Str)] = true
		}
	}
	return names
}

// compareLine compares the events of one command line: alone, in a transaction, and in a
// script where that may run it.
func (e *eventStream) compareLine(t *testing.T, line string) {
	t.Helper()
	words := trackingWords(line)
	for _, way := range []string{"alone", "exec", "script"} {
		lines := [][]string{words}
		switch way {
		case "exec":
			lines = [][]string{{"MULTI"}, words, {"EXEC"}}
		case "script":
			if notInScripts[strings.ToLower(words[0])] {
				continue
			}
			lines = [][]string{append([]string{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, words...)}
		}
		e.exchange(t, 0, append([][]string{{"FLUSHALL"}, {"SELECT", "0"}}, eventKeys...), false)
		e.redis.take()
		e.howdah.take()
		e.exchange(t, 0, lines, false)
		if want, got := e.redis.take(), e.howdah.take(); !slices.Equal(got, want) {
			t.Errorf("%s %q\n  got %q\nredis %q", way, line, got, want)
		}
	}
}

// eventKeys are there before each line of TestEventsOfEveryCommand.
var eventKeys = [][]string{
	{"SET", "s", "10"}, {"SET", "t", "text", "EX", "1000"}, {"HSET", "h", "f", "1"}, {"HSET", "h2", "f", "1", "g", "2"},
	{"RPUSH", "l", "a"}, {"RPUSH", "l2", "a", "b", "c"}, {"SADD", "u", "a"}, {"SADD", "u2", "a", "b"},
	{"ZADD", "z", "1", "a"}, {"ZADD", "z2", "1", "a", "2", "b"}, {"PFADD", "p", "a"},
}

// notInScripts are the commands that a script of Howdah, or of Redis, may not use.
var notInScripts = map[string]bool{
	"move": true, "flushall": true, "flushdb": true, "swapdb": true, "watch": true, "copy": true, "eval": true, "evalsha": true, "eval_ro": true,
	"evalsha_ro": true, "fcall": true, "fcall_ro": true, "function": true, "blpop": true, "brpop": true, "blmove": true, "brpoplpush": true, "blmpop": true, "bzpopmin": true, "bzpopmax": true, "bzmpop": true, "memory": true, "sort": true, "select": true,
}

// eventLines has command lines for every command with keys, and for every other one that
// writes. A command of a newer Redis, or of Howdah alone, has none.
var eventLines = map[string][]string{
	"get": {"GET s", "GET no", "GET l"}, "mget": {"MGET s", "MGET no", "MGET s no l no"}, "strlen": {"STRLEN s", "STRLEN no"},
	"getrange": {"GETRANGE s 0 1", "GETRANGE no 0 1"}, "substr": {"SUBSTR s 0 1", "SUBSTR no 0 1"},
	"getdel": {"GETDEL t", "GETDEL s", "GETDEL no", "GETDEL l"},
	"getex":  {"GETEX t EXAT 1", "GETEX no PERSIST", "GETEX no EX 10", "GETEX t PX 100000", "GETEX l", "GETEX t", "GETEX t KEEPTTL", "GETEX s", "GETEX s EX 10", "GETEX s PERSIST", "GETEX t PERSIST", "GETEX no", "GETEX s PXAT 1", "GETEX s EX 0", "GETEX l EX 10", "GETEX s EXAT 99999999999"},
	"set": {"SET s 1 EX 10 KEEPTTL", "SET t 1 KEEPTTL", "SET t 1 KEEPTTL GET", "SET n 1 EX 10 NX", "SET n 1 PX 100000 GET", "SET s 1 PX 100000 XX", "SET n 1 EXAT 99999999999", "SET s 1 NX GET", "SET n 1 NX GET", "SET l 1 NX GET", "SET l 1 XX GET", "SET s 1 PXAT 1", "SET n 1 EXAT 1", "SET t 1 XX KEEPTTL", `SET s ""`, "SET s 1", "SET n 1", "SET s 1 EX 10", "SET s 1 NX", "SET n 1 NX", "SET n 1 XX", "SET s 1 XX GET", "SET n 1 GET", "SET t 1 KEEPTTL", "SET l 1",
		"SET l 1 GET", "SET n 1 PXAT 99999999999999", "SET s 1 EX 0", "SET n 1 XX GET"},
	"setex": {"SETEX s 10 v", "SETEX n 10 v", "SETEX s 0 v"}, "psetex": {"PSETEX s 10000 v", "PSETEX n 10000 v"},
	"setnx": {"SETNX s v", "SETNX n v"}, "getset": {"GETSET s v", "GETSET n v", "GETSET l v"},
	"mset": {"MSET s 1 s 2", "MSET l 1 t 2", "MSET s 1 n 2 s 3", "MSET n 1"}, "msetnx": {"MSETNX n 1 l 2", "MSETNX s 1 n 2", "MSETNX n 1 m 2 n 3"},
	"append": {`APPEND s ""`, `APPEND n ""`, "APPEND s x", "APPEND n x", "APPEND l x", "APPEND n2 x"}, "setrange": {`SETRANGE s 0 ""`, `SETRANGE n 0 ""`, `SETRANGE n 5 ""`, `SETRANGE l 0 ""`, "SETRANGE s 0 10", "SETRANGE s 1 x", "SETRANGE n 1 x", "SETRANGE l 1 x"},
	"incr": {"INCR s", "INCR n", "INCR t"}, "decr": {"DECR s", "DECR n"}, "incrby": {"INCRBY s 0", "INCRBY n 5", "INCRBY l 5"},
	"decrby": {"DECRBY s 5", "DECRBY n 5"}, "incrbyfloat": {"INCRBYFLOAT s 0", "INCRBYFLOAT s x", "INCRBYFLOAT s 1.5", "INCRBYFLOAT n 1.5", "INCRBYFLOAT t 1.5"},
	"delex": nil, "delifeq": nil, "digest": nil, "increx": nil, "msetex": nil, "lcs": {"LCS s t", "LCS s no", "LCS no no2"},
	"setbit": {"SETBIT n 0 1", "SETBIT s 3 1", "SETBIT s 1 1", "SETBIT s 1 0", "SETBIT n 1 0", "SETBIT s 100 0", "SETBIT l 1 1"},
	"getbit": {"GETBIT s 1", "GETBIT no 1"}, "bitcount": {"BITCOUNT s", "BITCOUNT no"}, "bitpos": {"BITPOS s 1", "BITPOS no 1"},
	"bitop":       {"BITOP AND n s t", "BITOP AND s no no2", "BITOP NOT n no", "BITOP OR t s no", "BITOP OR l s t"},
	"bitfield":    {"BITFIELD s SET u8 100 0", "BITFIELD n SET u8 8 0 SET u8 0 0", "BITFIELD n GET u8 0 SET u8 0 1", "BITFIELD s OVERFLOW FAIL INCRBY u2 0 9", "BITFIELD l GET u8 0", "BITFIELD n OVERFLOW FAIL INCRBY u8 100 999", "BITFIELD s GET u8 0", "BITFIELD no GET u8 0", "BITFIELD s SET u8 0 1", "BITFIELD s SET u8 0 49", "BITFIELD n SET u8 0 0", "BITFIELD n OVERFLOW FAIL INCRBY u2 0 5", "BITFIELD s INCRBY u8 0 1 GET u8 0"},
	"bitfield_ro": {"BITFIELD_RO s GET u8 0", "BITFIELD_RO no GET u8 0"},
	"pfadd":       {"PFADD p", "PFADD n x y", "PFADD p a a", "PFADD p a", "PFADD p b", "PFADD n", "PFADD n a", "PFADD s a"}, "pfcount": {"PFCOUNT p", "PFCOUNT no", "PFCOUNT p no"},
	"pfmerge": {"PFMERGE p p", "PFMERGE n no", "PFMERGE p s", "PFMERGE n p", "PFMERGE p no", "PFMERGE n", "PFMERGE s p"},

	"hset": {"HSET h f 1", "HSET n f 1 f 2", "HSET h f 2", "HSET n f 1", "HSET h f 1 g 2", "HSET s f 1"}, "hmset": {"HMSET h f 2", "HMSET n f 1"}, "hsetnx": {"HSETNX h f 2", "HSETNX h g 2", "HSETNX n f 2"},
	"hget": {"HGET h f", "HGET no f", "HGET h no"}, "hmget": {"HMGET h f", "HMGET no f g"}, "hdel": {"HDEL h f f", "HDEL s f", "HDEL h f", "HDEL h2 f", "HDEL h no", "HDEL no f", "HDEL h2 f g f"},
	"hlen": {"HLEN h", "HLEN no"}, "hstrlen": {"HSTRLEN h f", "HSTRLEN no f"}, "hexists": {"HEXISTS h f", "HEXISTS no f"}, "hkeys": {"HKEYS h", "HKEYS no"},
	"hvals": {"HVALS h", "HVALS no"}, "hgetall": {"HGETALL h", "HGETALL no"}, "hincrby": {"HINCRBY h x 0", "HINCRBY s f 1", "HINCRBY h f 1", "HINCRBY h f 0", "HINCRBY n f 1", "HINCRBY h f x"},
	"hincrbyfloat": {"HINCRBYFLOAT h f 1.5", "HINCRBYFLOAT n f 1", "HINCRBYFLOAT s f 1"}, "hrandfield": {"HRANDFIELD h", "HRANDFIELD no", "HRANDFIELD no 2"},
	"hscan": {"HSCAN h 0", "HSCAN no 0"}, "hexpire": nil, "hpexpire": nil, "hexpireat": nil, "hpexpireat": nil, "httl": nil, "hpttl": nil, "hexpiretime": nil,
	"hpexpiretime": nil, "hpersist": nil, "hgetdel": nil, "hgetex": nil, "hsetex": nil,

	"lpush": {"LPUSH l2 x", "LPUSH l x y", "LPUSH n x", "LPUSH s x"}, "rpush": {"RPUSH l x", "RPUSH n x"}, "lpushx": {"LPUSHX l x", "LPUSHX n x"}, "rpushx": {"RPUSHX l x", "RPUSHX n x"},
	"lpop": {"LPOP s", "LPOP l 1", "LPOP no 0", "LPOP l", "LPOP l2", "LPOP no", "LPOP l2 2", "LPOP l2 9", "LPOP l2 0", "LPOP no 1"}, "rpop": {"RPOP l", "RPOP l2", "RPOP l2 9", "RPOP no"},
	"lmpop": {"LMPOP 2 no l LEFT", "LMPOP 1 l2 RIGHT COUNT 2", "LMPOP 1 no LEFT"}, "llen": {"LLEN l", "LLEN no"}, "lindex": {"LINDEX l 0", "LINDEX no 0"},
	"lmove":     {"LMOVE l2 l2 LEFT LEFT", "LMOVE l l RIGHT LEFT", "LMOVE no no LEFT LEFT", "LMOVE s l LEFT LEFT", "LMOVE l l2 LEFT RIGHT", "LMOVE l2 n RIGHT LEFT", "LMOVE l l LEFT RIGHT", "LMOVE no l LEFT LEFT", "LMOVE l s LEFT LEFT"},
	"rpoplpush": {"RPOPLPUSH l l", "RPOPLPUSH l n", "RPOPLPUSH l s", "RPOPLPUSH l l2", "RPOPLPUSH l2 l2", "RPOPLPUSH no l"}, "lrange": {"LRANGE l 0 -1", "LRANGE no 0 -1"}, "lpos": {"LPOS l a", "LPOS no a"},
	"lset": {"LSET l 0 x", "LSET l 5 x", "LSET no 0 x"}, "linsert": {"LINSERT l BEFORE a x", "LINSERT l AFTER no x", "LINSERT no AFTER a x"},
	"lrem": {"LREM l2 1 a", "LREM s 0 a", "LREM l 0 a", "LREM l2 0 a", "LREM l 0 no", "LREM no 0 a"}, "ltrim": {"LTRIM l2 5 9", "LTRIM s 0 0", "LTRIM l2 1 1", "LTRIM l2 0 0", "LTRIM l2 0 -1", "LTRIM l 1 0", "LTRIM no 0 0"},

	"blpop": {"BLPOP l 1", "BLPOP no l2 1", "BLPOP s 1"}, "brpop": {"BRPOP l 1"}, "blmove": {"BLMOVE l l2 LEFT RIGHT 1"}, "brpoplpush": {"BRPOPLPUSH l n 1"},
	"blmpop": {"BLMPOP 1 2 no l LEFT"}, "bzpopmin": {"BZPOPMIN z 1"}, "bzpopmax": {"BZPOPMAX z2 1"}, "bzmpop": {"BZMPOP 1 1 z2 MIN"},

	"sadd": {"SADD u a", "SADD u x", "SADD n a b", "SADD s a"}, "srem": {"SREM u a", "SREM u2 a", "SREM u no", "SREM no a"},
	"smove":     {"SMOVE u2 n a", "SMOVE u u2 no", "SMOVE no no2 a", "SMOVE s u a", "SMOVE u u2 a", "SMOVE u2 u b", "SMOVE u n a", "SMOVE u2 u no", "SMOVE no u a", "SMOVE u u a", "SMOVE u s a"},
	"sismember": {"SISMEMBER u a", "SISMEMBER no a"}, "smismember": {"SMISMEMBER u a", "SMISMEMBER no a"}, "scard": {"SCARD u", "SCARD no"}, "smembers": {"SMEMBERS u", "SMEMBERS no"},
	"spop": {"SPOP u 1", "SPOP u 5", "SPOP s", "SPOP u", "SPOP u2", "SPOP u2 0", "SPOP u2 1", "SPOP u2 2", "SPOP u2 9", "SPOP no", "SPOP no 1"}, "srandmember": {"SRANDMEMBER u", "SRANDMEMBER no", "SRANDMEMBER no 2"}, "sscan": {"SSCAN u 0", "SSCAN no 0"},
	"sinter": {"SINTER u u2", "SINTER u no", "SINTER no no2"}, "sunion": {"SUNION u no"}, "sdiff": {"SDIFF u no", "SDIFF no u"}, "sintercard": {"SINTERCARD 2 u no", "SINTERCARD 2 u no LIMIT x"},
	"sinterstore": {"SINTERSTORE u u no", "SINTERSTORE no no no", "SINTERSTORE n u u2", "SINTERSTORE s u no", "SINTERSTORE n u no", "SINTERSTORE u u u2", "SINTERSTORE s u u2"},
	"sunionstore": {"SUNIONSTORE u u", "SUNIONSTORE u no", "SUNIONSTORE l u u2", "SUNIONSTORE n u u2", "SUNIONSTORE s no no2", "SUNIONSTORE n s u"}, "sdiffstore": {"SDIFFSTORE u u no", "SDIFFSTORE u u u", "SDIFFSTORE u no u", "SDIFFSTORE n u2 u", "SDIFFSTORE s u u2", "SDIFFSTORE n u u2"},

	"zadd":    {"ZADD z CH 2 a", "ZADD z CH 1 a", "ZADD z NX INCR 1 a", "ZADD n NX INCR 1 a", "ZADD n XX INCR 1 a", "ZADD z LT 5 a", "ZADD z GT CH 5 a 1 b", "ZADD z XX 1 b", "ZADD n GT 1 a", "ZADD z INCR nan a", "ZADD z 1 a 1 a 2 a", "ZADD z LT INCR 5 a", "ZADD z 1 a", "ZADD z 2 a", "ZADD n 1 a 2 b", "ZADD z NX 2 a", "ZADD n XX 1 a", "ZADD z INCR 1 a", "ZADD n INCR 1 a", "ZADD z INCR 0 a", "ZADD s 1 a", "ZADD z GT 0 a", "ZADD z x a"},
	"zincrby": {"ZINCRBY z inf a", "ZINCRBY z x a", "ZINCRBY z 1 a", "ZINCRBY n 1 a", "ZINCRBY z 0 a"}, "zrem": {"ZREM z a", "ZREM z2 a", "ZREM z no", "ZREM no a"}, "zcard": {"ZCARD z", "ZCARD no"},
	"zscore": {"ZSCORE z a", "ZSCORE no a"}, "zmscore": {"ZMSCORE z a", "ZMSCORE no a"}, "zrank": {"ZRANK z a", "ZRANK no a"}, "zrevrank": {"ZREVRANK z a", "ZREVRANK no a"},
	"zrandmember": {"ZRANDMEMBER z", "ZRANDMEMBER no", "ZRANDMEMBER no 2"}, "zscan": {"ZSCAN z 0", "ZSCAN no 0"}, "zcount": {"ZCOUNT z 0 9", "ZCOUNT no 0 9"}, "zlexcount": {"ZLEXCOUNT z - +", "ZLEXCOUNT no - +"},
	"zrange": {"ZRANGE z 0 -1", "ZRANGE no 0 -1", "ZRANGE no x y"}, "zrangebyscore": {"ZRANGEBYSCORE no 0 1"}, "zrevrangebyscore": {"ZREVRANGEBYSCORE no 1 0"}, "zrangebylex": {"ZRANGEBYLEX no - +"},
	"zrevrangebylex": {"ZREVRANGEBYLEX no + -"}, "zrevrange": {"ZREVRANGE no 0 -1"}, "zrangestore": {"ZRANGESTORE z z 5 9", "ZRANGESTORE n z2 1 2 BYSCORE", "ZRANGESTORE n z2 + - BYLEX REV", "ZRANGESTORE z2 z 0 -1", "ZRANGESTORE n no 0 -1", "ZRANGESTORE n s 0 -1", "ZRANGESTORE n z 0 -1", "ZRANGESTORE s no 0 -1", "ZRANGESTORE n z 5 9", "ZRANGESTORE s z 5 9"},
	"zremrangebyrank": {"ZREMRANGEBYRANK z 0 -1", "ZREMRANGEBYRANK z2 0 0", "ZREMRANGEBYRANK no 0 0", "ZREMRANGEBYRANK z 5 9"}, "zremrangebyscore": {"ZREMRANGEBYSCORE z 1 1", "ZREMRANGEBYSCORE z2 1 1"},
	"zremrangebylex": {"ZREMRANGEBYLEX z - +", "ZREMRANGEBYLEX z2 [a [a"}, "zpopmin": {"ZPOPMIN z 1", "ZPOPMIN no 1", "ZPOPMIN z", "ZPOPMIN z2 1", "ZPOPMIN z2 9", "ZPOPMIN z 0", "ZPOPMIN no"}, "zpopmax": {"ZPOPMAX z", "ZPOPMAX z2", "ZPOPMAX no"},
	"zmpop": {"ZMPOP 2 no z MIN", "ZMPOP 1 z2 MAX COUNT 1", "ZMPOP 1 no MIN"}, "zunion": {"ZUNION 2 z no"}, "zinter": {"ZINTER 2 z no", "ZINTER 2 no z BOGUS"}, "zdiff": {"ZDIFF 2 no z"}, "zintercard": {"ZINTERCARD 2 z no"},
	"zunionstore": {"ZUNIONSTORE z 1 z", "ZUNIONSTORE z 1 no", "ZUNIONSTORE n 1 no", "ZUNIONSTORE n 2 z z2", "ZUNIONSTORE s 2 no no2", "ZUNIONSTORE n 2 z u"}, "zinterstore": {"ZINTERSTORE z 2 z no", "ZINTERSTORE z 2 z z2", "ZINTERSTORE n 2 z z2", "ZINTERSTORE s 2 z no"}, "zdiffstore": {"ZDIFFSTORE z 2 z z", "ZDIFFSTORE n 1 no", "ZDIFFSTORE n 2 z2 z", "ZDIFFSTORE s 2 z z2"},

	"del": {"DEL l u z h", "UNLINK no", "DEL s", "DEL no", "DEL s no l s", "DEL no no2"}, "unlink": {"UNLINK s", "UNLINK s t s"}, "exists": {"EXISTS s", "EXISTS no", "EXISTS s no s no"}, "touch": {"TOUCH s no"}, "type": {"TYPE s", "TYPE no"},
	"object|encoding": {"OBJECT ENCODING s", "OBJECT ENCODING no"}, "object|freq": {"OBJECT FREQ no"}, "object|idletime": {"OBJECT IDLETIME no"}, "object|refcount": {"OBJECT REFCOUNT no"},
	"expire": {"EXPIRE s -1 XX", "EXPIRE t -1 GT", "EXPIRE t -1 LT", "EXPIRE s 0 NX", "EXPIRE t 0 XX", "EXPIRE no -1", "EXPIRE t 5000 GT", "EXPIRE s 100 NX", "EXPIRE s 100 GT", "EXPIRE s 100 LT", "EXPIRE s 100", "EXPIRE s 0", "EXPIRE s -1", "EXPIRE no 100", "EXPIRE t 100 NX", "EXPIRE s 100 XX", "EXPIRE t 1 GT"}, "pexpire": {"PEXPIRE s -1", "PEXPIRE no 0", "PEXPIRE t 1 XX LT", "PEXPIRE t 10 NX", "PEXPIRE s 100000", "PEXPIRE s 0"},
	"expireat": {"EXPIREAT t 1 NX", "EXPIREAT t 1 XX", "EXPIREAT s 0", "EXPIREAT s -1", "EXPIREAT no 1", "EXPIREAT s 99999999999", "EXPIREAT s 1", "EXPIREAT no 99999999999"}, "pexpireat": {"PEXPIREAT t 1 LT", "PEXPIREAT t 1 GT", "PEXPIREAT no 1", "PEXPIREAT s 99999999999999", "PEXPIREAT s 1"}, "persist": {"PERSIST s", "PERSIST t", "PERSIST no"},
	"ttl": {"TTL s", "TTL no"}, "pttl": {"PTTL no"}, "expiretime": {"EXPIRETIME no"}, "pexpiretime": {"PEXPIRETIME no"},
	"rename": {"RENAME l l2", "RENAME t n", "RENAME t s", "RENAME no no", "RENAME s n", "RENAME s t", "RENAME no n", "RENAME s s", "RENAME l s"}, "renamenx": {"RENAMENX l l2", "RENAMENX t n", "RENAMENX no no", "RENAMENX s n", "RENAMENX s t", "RENAMENX no n", "RENAMENX s s"},
	"copy": {"COPY s s DB 1", "COPY t n REPLACE", "COPY no s REPLACE", "COPY s t DB 1 REPLACE", "COPY l n", "COPY s s REPLACE", "COPY no n DB 1", "COPY s n", "COPY s t", "COPY s t REPLACE", "COPY no n", "COPY s n DB 1", "COPY s s"}, "move": {"MOVE s 0", "MOVE l 1", "MOVE s 1", "MOVE no 1", "MOVE t 1"},
	"dump": {"DUMP s", "DUMP no"}, "restore": {"RESTORE s 0 x", "RESTORE n 0 x"}, "sort": {"SORT l2 BY nosort STORE n", "SORT l2 BY w_* GET # GET g_* ALPHA STORE n", "SORT s STORE n", "SORT l2 STORE n", "SORT u ALPHA STORE u", "SORT l2 ALPHA LIMIT 5 5 STORE s", "SORT l", "SORT no", "SORT l ALPHA STORE n", "SORT no STORE s", "SORT l2 ALPHA STORE s", "SORT no STORE n"}, "sort_ro": {"SORT_RO l ALPHA", "SORT_RO no"},
	"flushdb": {"FLUSHDB"}, "flushall": {"FLUSHALL"}, "swapdb": {"SWAPDB 0 1"}, "watch": {"WATCH s no"},
	"eval": {"EVAL return 1 0", "EVAL return 1 1 no"}, "evalsha": {"EVALSHA 0 1 no"}, "eval_ro": {"EVAL_RO return 1 1 no"}, "evalsha_ro": {"EVALSHA_RO 0 1 no"}, "fcall": {"FCALL f 1 no"}, "fcall_ro": {"FCALL_RO f 1 no"},
	"howdah.fetch": nil, "howdah.store": nil, "howdah.release": nil, "howdah.set": nil, "howdah.invalidate": nil, "howdah.fresh": nil,
	"function|load": {"FUNCTION LOAD x"}, "function|delete": {"FUNCTION DELETE no"}, "function|flush": {"FUNCTION FLUSH"}, "function|restore": {"FUNCTION RESTORE x"}, "memory|usage": {"MEMORY USAGE s", "MEMORY USAGE no"},
}

// TestEventsOfBlockedClients compares the events where a push is taken by a client that
// waits for it.
func TestEventsOfBlockedClients(t *testing.T) {
	t.Parallel()
	e := newEventStream(t, grammar.Grammar{})
	e.setEvents("KA")
	for _, c := range []struct{ wait, push []string }{
		{[]string{"BLPOP", "k", "0"}, []string{"RPUSH", "k", "a"}},
		{[]string{"BRPOP", "other", "k", "0"}, []string{"LPUSH", "k", "a", "b"}},
		{[]string{"BLMOVE", "k", "to", "LEFT", "RIGHT", "0"}, []string{"RPUSH", "k", "a"}},
		{[]string{"BZPOPMIN", "z", "0"}, []string{"ZADD", "z", "1", "a"}},
		{[]string{"BLMPOP", "0", "1", "k", "LEFT", "COUNT", "2"}, []string{"RPUSH", "k", "a", "b", "c"}},
		{[]string{"BRPOPLPUSH", "k", "to", "0"}, []string{"RPUSH", "k", "a", "b"}},
		{[]string{"BZPOPMAX", "other", "z", "0"}, []string{"ZADD", "z", "1", "a", "2", "b"}},
		{[]string{"BZMPOP", "0", "1", "z", "MAX", "COUNT", "3"}, []string{"ZADD", "z", "1", "a", "2", "b", "3", "c"}},
	} {
		e.exchange(t, 0, [][]string{{"FLUSHALL"}}, false)
		e.redis.take()
		e.howdah.take()
		for i := range e.pairs[0] {
			waits, pushes := e.pairs[1][i], e.pairs[0][i]
			waits.send(resp.AppendCommand(nil, c.wait...))
			await.True(t, "the client is blocked", func() bool { return strings.Contains(pushes.do("INFO", "clients"), "blocked_clients:1") })
			pushes.do(c.push...)
			waits.reply()
		}
		if want, got := e.redis.take(), e.howdah.take(); !slices.Equal(got, want) {
			t.Errorf("%q, %q\n  got %q\nredis %q", c.wait, c.push, got, want)
		}
	}
}

// TestExpiredAndWatchedOfRedis compares WATCH and EXEC, and the events, around the expiry of
// a key, which nothing but these commands removes meanwhile.
func TestExpiredAndWatchedOfRedis(t *testing.T) {
	t.Parallel()
	ofRedis, ofHowdah := startRedis(t, "--enable-debug-command", "yes"), serve(t, Options{}).addr()
	redis, howdah := dial(t, ofRedis), dial(t, ofHowdah)
	clocks := []*testClient{dial(t, ofRedis), dial(t, ofHowdah)} // not in a transaction
	redis.want(resp.OK, "DEBUG", "SET-ACTIVE-EXPIRE", "0")
	for name, lines := range map[string][][]string{
		"expires after WATCH":       {{"SET", "k", "v", "PX", "LIFE"}, {"WATCH", "k"}, nil, {"MULTI"}, {"SET", "k", "w"}, {"EXEC"}, {"GET", "k"}},
		"expires inside MULTI":      {{"SET", "k", "v", "PX", "LIFE"}, {"WATCH", "k"}, {"MULTI"}, {"SET", "k", "w"}, nil, {"EXEC"}, {"GET", "k"}},
		"expires, and nothing else": {{"SET", "k", "v", "PX", "LIFE"}, {"WATCH", "k"}, nil, {"MULTI"}, {"EXEC"}},
		"has expired before WATCH":  {{"SET", "k", "v", "PX", "1"}, nil, {"WATCH", "k"}, {"MULTI"}, {"SET", "k", "w"}, {"EXEC"}, {"GET", "k"}},
		"and is watched twice":      {{"SET", "k", "v", "PX", "1"}, nil, {"WATCH", "k"}, {"WATCH", "k"}, {"MULTI"}, {"GET", "k"}, {"EXEC"}},
		"expires unwatched":         {{"SET", "k", "v", "PX", "1"}, {"WATCH", "other"}, nil, {"MULTI"}, {"GET", "k"}, {"EXEC"}},
	} {
		life := 100
		for !playExpiry(t, name, lines, life, redis, howdah, clocks) {
			life *= 2
		}
	}
}

// playExpiry sends lines to both servers, with LIFE milliseconds for a key. It returns false, and
// compares nothing, if the key may have expired before both have watched it.
func playExpiry(t *testing.T, name string, lines [][]string, life int, redis, howdah *testClient, clocks []*testClient) (inTime bool) {
	t.Helper()
	redis.do("FLUSHALL")
	howdah.do("FLUSHALL")
	var began time.Time // of the life
	var differences []string
	for _, line := range lines {
		if line == nil {
			for _, c := range clocks { // to ask whether the key has expired would remove it
				c.awaitTime(now(c).Add(time.Duration(life+50) * time.Millisecond))
			}
			continue
		}
		if line[len(line)-1] == "LIFE" {
			line = append(slices.Clone(line[:len(line)-1]), strconv.Itoa(life))
			began = time.Now()
		}
		if want, got := redis.do(line...), howdah.do(line...); got != want {
			differences = append(differences, fmt.Sprintf("%s: %q: got %q, redis %q", name, line, got, want))
		}
		if line[0] == "WATCH" && !began.IsZero() && time.Since(began) > time.Duration(life)*time.Millisecond*8/10 {
			redis.do("UNWATCH")
			howdah.do("UNWATCH")
			return false
		}
	}
	for _, difference := range differences {
		t.Error(difference)
	}
	return true
}
