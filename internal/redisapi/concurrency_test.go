package redisapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

func TestIncrementsAddUp(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	const clients, each = 50, 60
	var work sync.WaitGroup
	for range clients {
		c := dial(t, s.addr())
		work.Go(func() {
			var data []byte
			for range each {
				data = resp.AppendCommand(data, "INCR", "n")
			}
			c.send(data)
			last := int64(0)
			for range each {
				n, err := strconv.ParseInt(strings.TrimSpace(c.reply()[1:]), 10, 64)
				if err != nil || n <= last {
					t.Errorf("INCR returned %d after %d: %v", n, last, err)
				}
				last = n
			}
		})
	}
	work.Wait()
	dial(t, s.addr()).want(bulk(strconv.Itoa(clients*each)), "GET", "n")
}

// TestWatchedCounter increments by GET and SET under WATCH from many
// connections: every EXEC that succeeds counts once.
func TestWatchedCounter(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	dial(t, s.addr()).want(resp.OK, "SET", "n", "0")
	const clients, each = 8, 15
	var work sync.WaitGroup
	for range clients {
		c := dial(t, s.addr())
		work.Go(func() {
			for done := 0; done < each; {
				c.want(resp.OK, "WATCH", "n")
				elements := strings.Split(c.do("GET", "n"), "\r\n")
				n, err := strconv.Atoi(elements[1])
				if err != nil {
					t.Error(err)
					return
				}
				c.want(resp.OK, "MULTI")
				c.want(resp.Queued, "SET", "n", strconv.Itoa(n+1))
				switch got := c.do("EXEC"); got {
				case "*1\r\n+OK\r\n":
					done++
				case "*-1\r\n":
				default:
					t.Errorf("EXEC: %q", got)
					return
				}
			}
		})
	}
	work.Wait()
	dial(t, s.addr()).want(bulk(strconv.Itoa(clients*each)), "GET", "n")
}

// TestTransactionsAreAtomic moves units between two keys while others read
// both: the sum never changes.
func TestTransactionsAreAtomic(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	dial(t, s.addr()).want(resp.OK, "MSET", "a", "100", "b", "100")
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for range 3 {
		c := dial(t, s.addr())
		writers.Go(func() {
			for range 40 {
				c.want(resp.OK, "MULTI")
				c.want(resp.Queued, "DECR", "a")
				c.want(resp.Queued, "INCR", "b")
				if got := c.do("EXEC"); !strings.HasPrefix(got, "*2\r\n:") {
					t.Errorf("EXEC: %q", got)
				}
			}
		})
	}
	for range 2 {
		c := dial(t, s.addr())
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				words := strings.Split(c.do("MGET", "a", "b"), "\r\n")
				a, _ := strconv.Atoi(words[2])
				b, _ := strconv.Atoi(words[4])
				if a+b != 200 {
					t.Errorf("read %q", words)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	dial(t, s.addr()).want("*2\r\n$3\r\n-20\r\n$3\r\n220\r\n", "MGET", "a", "b")
}

// TestManyTransactions runs transactions of many more clients than there are
// connections to PostgreSQL, and plain commands beside them: none fails.
func TestManyTransactions(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	const clients, each = 80, 5
	var work sync.WaitGroup
	for i := range clients {
		c := dial(t, s.addr())
		work.Go(func() {
			for j := range each {
				key := fmt.Sprint("k", (i+j)%20)
				var data []byte
				for _, args := range [][]string{{"MULTI"}, {"INCR", key}, {"EXPIRE", key, "100"}, {"EXEC"}, {"GET", key}} {
					data = resp.AppendCommand(data, args...)
				}
				c.send(data)
				for range 3 {
					c.reply()
				}
				if got := c.reply(); !strings.HasPrefix(got, "*2\r\n:") {
					t.Errorf("EXEC: %q", got)
				}
				if got := c.reply(); got[0] != '$' {
					t.Errorf("GET: %q", got)
				}
			}
		})
	}
	work.Wait()
	c, total := dial(t, s.addr()), 0
	for i := range 20 {
		n, _ := strconv.Atoi(strings.Split(c.do("GET", fmt.Sprint("k", i)), "\r\n")[1])
		total += n
	}
	if total != clients*each {
		t.Errorf("%d increments are there of %d", total, clients*each)
	}
}

// TestForeignRowLock checks that a row locked by another transaction delays only
// the commands for that row.
func TestForeignRowLock(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	c.want(resp.OK, "SET", "held", "1")
	tx, err := s.db.Pool().Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Cache("db0").With(tx).Set(context.Background(), "held", []byte("tx"), 0); err != nil {
		t.Fatal(err)
	}
	c.send(resp.AppendCommand(nil, "SET", "held", "2"))
	for i := range 50 {
		other.want(resp.OK, "SET", fmt.Sprint("free", i), "v")
	}
	if err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := c.reply(); got != resp.OK {
		t.Errorf("SET: %q", got)
	}
	c.want(bulk("2"), "GET", "held")
}

func TestScanFindsEverything(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	want := make(map[string]bool)
	for i := range 500 {
		key := fmt.Sprintf("user:%d", i)
		want[key] = true
		c.want(resp.OK, "SET", key, "v")
		c.want(resp.OK, "SET", fmt.Sprint("other:", i), "v")
	}
	cursor, pages := "0", 0
	for {
		words := strings.Split(c.do("SCAN", cursor, "MATCH", "user:*", "COUNT", "50"), "\r\n")
		cursor = words[2]
		for i := 5; i < len(words); i += 2 {
			delete(want, words[i])
		}
		if pages++; cursor == "0" {
			break
		}
	}
	if len(want) > 0 || pages < 10 {
		t.Errorf("%d keys were not found in %d pages", len(want), pages)
	}
	if got := strings.Count(c.do("KEYS", "user:1?"), "$"); got != 10 {
		t.Errorf("KEYS user:1? found %d keys, want 10", got)
	}
}
