package redisapi

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

var transfers = flag.Int("transfers", manyTransfers, "how many scripts and transactions the test of money runs")

// A transfer deletes an account that it empties, and makes one at its first deposit.
// The accounts are declared, or given as arguments.
const transferScript = `
	local from, to = KEYS[1] or ARGV[2], KEYS[2] or ARGV[3]
	local had = tonumber(redis.call('GET', from) or 0)
	local amount = math.min(tonumber(ARGV[1]), had)
	if amount == 0 then return 0 end
	if amount == had then redis.call('DEL', from) else redis.call('SET', from, had - amount) end
	redis.call('INCRBY', to, amount)
	return amount`

// The audit adds all accounts, whose number is its argument.
const auditScript = `
	local sum = 0
	for i = 0, ARGV[1] - 1 do sum = sum + (redis.call('GET', 'account:' .. i) or 0) end
	return sum`

// Of the two keys of a pair only one may exist: whoever finds the other absent makes
// its own, or removes it again.
const pairScript = `
	local mine, theirs = KEYS[1] or ARGV[1], KEYS[2] or ARGV[2]
	if redis.call('EXISTS', mine, theirs) == 2 then return redis.error_reply('SKEW both exist') end
	if redis.call('EXISTS', theirs) == 1 then return 0 end
	if redis.call('DEL', mine) == 0 then redis.call('SET', mine, 1) end
	return 1`

// Of two that are on duty only one may leave: both keys always exist, and a script
// changes the one because of what it has read in the other.
const dutyScript = `
	local mine, theirs = redis.call('GET', KEYS[1] or ARGV[1]), redis.call('GET', KEYS[2] or ARGV[2])
	if mine == 'off' and theirs == 'off' then return redis.error_reply('SKEW both are off') end
	if theirs == 'off' then return 0 end
	redis.call('SET', KEYS[1] or ARGV[1], mine == 'off' and 'on' or 'off')
	return 1`

// bank is the accounts, and clients of several servers that move money between them.
type bank struct {
	t        *testing.T
	servers  []*testServer
	accounts int
	each     int
	left     atomic.Int64
	broken   atomic.Int64      // sums that were not the total, pairs of which both exist
	faults   func(string) bool // the errors that may be
}

func newBank(t *testing.T, url string) *bank {
	b := &bank{t: t, accounts: 12, each: 100, faults: func(string) bool { return false }}
	b.servers = []*testServer{serveURL(t, url, Options{}), serveURL(t, url, Options{})}
	c := dial(t, b.servers[0].addr())
	for i := range b.accounts / 2 { // the others are absent at first
		c.want("+OK\r\n", "SET", fmt.Sprint("account:", i), fmt.Sprint(2*b.each))
	}
	return b
}

func (b *bank) total() int { return b.accounts * b.each }

// run has 32 clients do n steps.
func (b *bank) run(n int, step func(*teller)) {
	seed := seed.Of(b.t)
	b.left.Store(int64(n))
	var work sync.WaitGroup
	for i := range 32 {
		c := &teller{dial(b.t, b.servers[i%len(b.servers)].addr()), b, rand.New(rand.NewPCG(seed, uint64(i)))}
		work.Go(func() {
			for b.left.Add(-1) >= 0 && !b.t.Failed() {
				step(c)
			}
		})
	}
	work.Wait()
}

// check adds the accounts when all is quiet.
func (b *bank) check() int {
	c, sum := dial(b.t, b.servers[0].addr()), 0
	for i := range b.accounts {
		sum += number(c.do("HOWDAH.FRESH", "GET", fmt.Sprint("account:", i)))
	}
	return sum
}

// number is that of a bulk string or an integer, 0 for null.
func number(reply string) int {
	lines := strings.Split(reply, "\r\n")
	if reply[0] == ':' {
		lines = []string{"", reply[1 : len(reply)-2]}
	}
	n, _ := strconv.Atoi(lines[1])
	return n
}

// teller is one client.
type teller struct {
	*testClient
	bank *bank
	*rand.Rand
}

// try sends a command and reports whether it did not fail.
func (c *teller) try(args ...string) (reply string, ok bool) {
	if args[0] == "EVAL" {
		reply = c.again(args...)
	} else {
		reply = c.do(args...) // EXEC ends its transaction, whatever it answers
	}
	switch {
	case strings.HasPrefix(reply, "-SKEW"):
		c.bank.broken.Add(1)
	case isError([]byte(reply)) && !c.bank.faults(reply):
		c.t.Errorf("%.100q: %q", args, reply)
	}
	return reply, !isError([]byte(reply))
}

func (c *teller) sum(got int) {
	if got != c.bank.total() {
		c.bank.broken.Add(1)
	}
}

// step is one of all that can be done.
func (c *teller) step() {
	p, amount := c.Perm(c.bank.accounts), strconv.Itoa(1+c.IntN(c.bank.each))
	from, to := fmt.Sprint("account:", p[0]), fmt.Sprint("account:", p[1])
	mine, theirs := c.pair()
	switch c.IntN(10) {
	case 0, 1:
		c.try("EVAL", transferScript, "2", from, to, amount)
	case 2:
		c.try("EVAL", transferScript, "0", amount, from, to)
	case 3:
		c.transfer(from, to, amount, true)
	case 4:
		if reply, ok := c.try("EVAL", auditScript, "0", strconv.Itoa(c.bank.accounts)); ok {
			c.sum(number(reply))
		}
	case 5:
		c.try("EVAL", pairScript, "2", mine, theirs)
	case 6:
		c.try("EVAL", pairScript, "0", mine, theirs)
	case 7:
		c.toggle(mine, theirs)
	case 8:
		c.try("EVAL", dutyScript, "2", "duty:"+mine, "duty:"+theirs)
	case 9:
		c.try("EVAL", dutyScript, "0", "duty:"+mine, "duty:"+theirs)
	}
}

func (c *teller) pair() (mine, theirs string) {
	n := c.IntN(4)
	mine, theirs = fmt.Sprintf("pair:%d:a", n), fmt.Sprintf("pair:%d:b", n)
	if c.IntN(2) == 0 {
		mine, theirs = theirs, mine
	}
	return mine, theirs
}

// transfer does it with EXEC. Without the guard it does not watch the accounts.
func (c *teller) transfer(from, to, amount string, guarded bool) {
	if guarded {
		if _, ok := c.try("WATCH", from, to); !ok {
			return
		}
	}
	defer c.try("UNWATCH")
	first, ok1 := c.try("GET", from)
	second, ok2 := c.try("GET", to)
	had, other := number(first), number(second)
	wanted, _ := strconv.Atoi(amount)
	moved := min(wanted, had)
	if !ok1 || !ok2 || moved == 0 {
		return
	}
	c.try("MULTI")
	if moved == had {
		c.try("DEL", from)
	} else {
		c.try("SET", from, strconv.Itoa(had-moved))
	}
	c.try("SET", to, strconv.Itoa(other+moved))
	c.try("MGET", from, to)
	c.try("EXEC")
}

// toggle is pairScript with EXEC.
func (c *teller) toggle(mine, theirs string) {
	if _, ok := c.try("WATCH", mine, theirs); !ok {
		return
	}
	defer c.try("UNWATCH")
	first, ok1 := c.try("EXISTS", mine)
	second, ok2 := c.try("EXISTS", theirs)
	if !ok1 || !ok2 || number(second) == 1 {
		return
	}
	c.try("MULTI")
	c.try("EXISTS", mine, theirs)
	if number(first) == 1 {
		c.try("DEL", mine)
	} else {
		c.try("SET", mine, "1")
	}
	if reply, ok := c.try("EXEC"); ok && reply[:2] != "*-" && reply[0] == '*' && elements(reply)[0] == ":2\r\n" {
		c.bank.broken.Add(1)
	}
}

// TestMoney moves money by scripts and by EXEC, on two servers of one database: no
// script and no transaction ever sees half of another, nor fails.
func TestMoney(t *testing.T) {
	t.Parallel()
	b := newBank(t, pgtest.New(t))
	b.run(*transfers, (*teller).step)
	if sum := b.check(); sum != b.total() || b.broken.Load() != 0 {
		t.Errorf("the sum is %d and must be %d; %d times a script saw what may not be", sum, b.total(), b.broken.Load())
	}
}

// TestMoneyOverRestarts restarts PostgreSQL meanwhile. Clients get errors, and what
// each of them asked is done whole or not at all.
func TestMoneyOverRestarts(t *testing.T) {
	t.Parallel()
	own := pgtest.Own(t)
	moneyOverRestarts(t, own, own.NewURL(), "fast", max(*transfers/5, 1000))
}

// TestMoneyOverCrashes is the same with crashes of PostgreSQL, which a cache of class
// sync survives with all that was answered.
func TestMoneyOverCrashes(t *testing.T) {
	t.Parallel()
	own := pgtest.Own(t)
	url := own.NewURL()
	db, err := howdah.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AlterCache(t.Context(), howdah.CacheConfig{Name: "db0", Durability: howdah.Sync}, howdah.AlterOptions{Only: []string{"durability"}}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	moneyOverRestarts(t, own, url, "immediate", max(*transfers/10, 1000))
}

// moneyOverRestarts has the clients do n steps, during which PostgreSQL is stopped three
// times in a mode of pg_ctl, and started again.
func moneyOverRestarts(t *testing.T, own *pgtest.Server, url, mode string, n int) {
	b := newBank(t, url)
	b.faults = func(reply string) bool {
		for _, prefix := range []string{"-LOADING", "-ERR timeout", "-ERR outcome unknown", "-TRYAGAIN"} {
			if strings.HasPrefix(reply, prefix) {
				return true
			}
		}
		return false
	}
	var restarts sync.WaitGroup
	b.left.Store(int64(n))
	restarts.Go(func() {
		for part := int64(3); part > 0; part-- {
			waitFor(t, "some transfers", func() bool { return b.left.Load() < part*int64(n)/4 })
			own.Stop(mode)
			own.Start()
		}
	})
	counters := []*tally{
		{count: []string{"EVAL", "return redis.call('INCR', KEYS[1])", "1", "scripts"}, read: []string{"GET", "scripts"}},
		{count: []string{"INCR", "plain"}, read: []string{"GET", "plain"}},
		{count: []string{"RPUSH", "list", "x"}, read: []string{"LLEN", "list"}},
	}
	b.run(n, func(c *teller) {
		c.step()
		counters[c.IntN(len(counters))].add(c)
	})
	restarts.Wait()
	for _, counter := range counters {
		counter.check(dial(t, b.servers[0].addr()))
	}
	if sum := b.check(); sum != b.total() || b.broken.Load() != 0 {
		t.Errorf("the sum is %d and must be %d; %d times a script saw what may not be", sum, b.total(), b.broken.Load())
	}
}

// tally is a counter in the cache, and what its clients were told.
type tally struct {
	count, read      []string // command lines
	counted, unknown atomic.Int64
}

func (y *tally) add(c *teller) {
	switch reply, ok := c.try(y.count...); {
	case ok:
		y.counted.Add(1)
	case strings.HasPrefix(reply, "-ERR outcome unknown"):
		y.unknown.Add(1)
	}
}

// check compares: what was answered is there, and what failed is not.
func (y *tally) check(c *testClient) {
	least, most := y.counted.Load(), y.counted.Load()+y.unknown.Load()
	if n := int64(number(c.do(y.read...))); n < least || n > most {
		c.t.Errorf("%q is %d, and must be from %d to %d", y.read, n, least, most)
	}
}

// TestMoneyWithoutGuard: the same test catches transfers by EXEC that watch nothing.
func TestMoneyWithoutGuard(t *testing.T) {
	t.Parallel()
	b := newBank(t, pgtest.New(t))
	for range 50 {
		b.run(500, func(c *teller) {
			p := c.Perm(c.bank.accounts)
			c.transfer(fmt.Sprint("account:", p[0]), fmt.Sprint("account:", p[1]), "30", false)
		})
		if b.check() != b.total() {
			return
		}
	}
	t.Error("no money was lost or made")
}
