package scene

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah"
)

// Life lets the programs of the shop work until its end is called: about pace calls a second
// each. What a call answers does not matter; the console shows it.
func (s *Shop) Life(ctx context.Context, pace time.Duration) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	every := func(call func(random *rand.Rand, n int)) {
		work.Go(func() {
			random := rand.New(rand.NewPCG(11, 13))
			ticker := time.NewTicker(pace)
			defer ticker.Stop()
			for n := 0; ; n++ {
				select {
				case <-ticker.C:
					call(random, n)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	web := API{URL: s.Server.URL, Token: s.Token, Agent: "storefront/2.4"}
	every(func(random *rand.Rand, n int) {
		_ = web.Get(ctx, "products", fmt.Sprintf("product:%d", s.hot(random)))
		_ = web.Get(ctx, "pages", fmt.Sprintf("%s:%d", pick(random, "page:de", "page:en", "page:fr"), s.hot(random)))
		if n%3 == 0 {
			_ = web.Put(ctx, "pages", fmt.Sprintf("page:en:%d", random.IntN(s.Size)), page(random, n), "5m")
		}
		if n%20 == 0 {
			_ = web.Put(ctx, "carts", "cart:"+person(s.hot(random)), cart(random), "")
		}
	})
	for _, client := range s.clients() {
		every(func(random *rand.Rand, n int) {
			_ = client.Get(ctx, fmt.Sprintf("user:%d:profile", s.hot(random))).Err()
			if n%5 == 0 {
				_ = client.Incr(ctx, "rate:"+address(random)).Err()
			}
		})
		context.AfterFunc(ctx, func() { _ = client.Close() })
	}
	return func() { cancel(); work.Wait() }
}

// clients are programs with names and libraries of their own.
func (s *Shop) clients() []*redis.Client {
	return []*redis.Client{
		s.Client("checkout-1", "redis-py", "6.4.0", 0), s.Client("checkout-2", "redis-py", "6.4.0", 0),
		s.Client("search", "jedis", "7.0.0", 0), s.Client("", "node-redis", "5.9.0", 0), s.Client("mailer", "lettuce", "6.8.1", 1),
	}
}

// hot chooses a number as people choose pages: a few of them most often.
func (s *Shop) hot(random *rand.Rand) int {
	share := random.Float64()
	return int(share * share * share * float64(s.Size) * 1.1)
}

// Trouble makes what the console is opened for: removals by several, a command that does not
// exist, and a call that waits for a row which an open transaction holds.
func (s *Shop) Trouble(ctx context.Context) error {
	desk := s.Client("support-desk", "redis-cli", "", 0)
	defer desk.Close()
	jobs := s.Client("nightly-job", "redis-py", "6.4.0", 0)
	defer jobs.Close()
	if err := errors.Join(
		desk.Del(ctx, "user:7:profile", "user:8:profile").Err(),
		jobs.Do(ctx, "UNLINK", "user:9:profile").Err(),
		jobs.Do(ctx, "EXPIRE", "user:grace", 0).Err(),
		API{URL: s.Server.URL, Token: s.Token, Agent: "curl/8.17.0"}.Delete(ctx, "products", "product:3"),
	); err != nil {
		return err
	}
	for _, command := range []string{"MIGRATE", "FT.SEARCH", "JSON.GET", "FT.SEARCH"} {
		_ = jobs.Do(ctx, command, "x").Err() // refused: that is what is wanted
	}
	return s.slowCall(ctx, desk, 300*time.Millisecond)
}

// slowCall sends a write to a row that an open transaction holds for so long.
func (s *Shop) slowCall(ctx context.Context, client *redis.Client, held time.Duration) error {
	db, err := howdah.Open(ctx, s.DatabaseURL, &howdah.Options{Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	err = db.Transact(ctx, howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		if err := db.Cache("db0").With(tx).Set(ctx, "user:alan", []byte("locked"), 0); err != nil {
			return err
		}
		answered := make(chan error, 1)
		go func() { answered <- client.Set(ctx, "user:alan", "free", time.Hour).Err() }()
		select {
		case err := <-answered:
			return fmt.Errorf("the call did not wait for the lock: %w", err)
		case <-time.After(held):
			return errReleased
		}
	})
	if errors.Is(err, errReleased) {
		return nil
	}
	return err
}

// errReleased ends the transaction that held the row, without a change.
var errReleased = errors.New("the row is released")
