package scene

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah"
)

// Shop is a server with the data of a shop. Fields that are "" are not needed.
type Shop struct {
	Server       *Server
	DatabaseURL  string
	Token        string
	SessionToken string
	Password     string

	// Size is about how many entries each cache gets.
	Size int
}

// caches of the shop, beside db0 and db1 of its Redis clients.
func (s *Shop) caches() []howdah.CacheConfig {
	size := int64(s.Size)
	return []howdah.CacheConfig{
		{Name: "pages", MaxBytes: max(1<<20, size*1500), Eviction: howdah.AllKeysLRU, DefaultTTL: 10 * time.Minute, TTLJitter: 10},
		{Name: "products", Near: true, MaxEntries: size * 2, DefaultTTL: time.Hour},
		{Name: "carts", Durability: howdah.Sync, DefaultTTL: 7 * 24 * time.Hour},
	}
}

// Fill makes the caches and stores what they hold. The same shop is filled with the same.
func (s *Shop) Fill(ctx context.Context) error {
	db, err := howdah.Open(ctx, s.DatabaseURL, &howdah.Options{Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	for _, config := range s.caches() {
		if err := db.EnsureCache(ctx, config); err != nil {
			return err
		}
	}
	random := rand.New(rand.NewPCG(7, 7))
	for i := range s.Size {
		stores := []struct {
			cache, key, value string
			ttl               time.Duration
		}{
			{"pages", fmt.Sprintf("%s:%d", pick(random, "page:de", "page:en", "page:fr", "fragment:header", "fragment:basket"), i), page(random, i), time.Duration(30+random.IntN(600)) * time.Second},
			{"products", fmt.Sprintf("product:%d", i), product(random, i), 0},
			{"carts", fmt.Sprintf("cart:%s", person(i)), cart(random), 0},
		}
		for _, e := range stores {
			if err := db.Cache(e.cache).Set(ctx, e.key, []byte(e.value), e.ttl); err != nil {
				return err
			}
		}
	}
	if err := s.fillRedis(ctx, random); err != nil {
		return err
	}
	return s.logIn(ctx, random)
}

// Client connects as a Redis client of a name that uses a library.
func (s *Shop) Client(name, library, version string, database int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: s.Server.Redis, Password: s.Password, DB: database, DisableIdentity: true, PoolSize: 2, Protocol: 2,
		ReadTimeout: 20 * time.Second, MaxRetries: -1,
		OnConnect: func(ctx context.Context, c *redis.Conn) error {
			for _, command := range [][]any{
				{"CLIENT", "SETNAME", name}, {"CLIENT", "SETINFO", "LIB-NAME", library}, {"CLIENT", "SETINFO", "LIB-VER", version},
			} {
				if command[2] == "" || len(command) > 3 && command[3] == "" {
					continue
				}
				if err := c.Do(ctx, command...).Err(); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// fillRedis stores what Redis clients keep in db0 and db1.
func (s *Shop) fillRedis(ctx context.Context, random *rand.Rand) error {
	client := s.Client("checkout-1", "redis-py", "6.4.0", 0)
	defer client.Close()
	pipe := client.Pipeline()
	for i := range s.Size {
		pipe.Set(ctx, fmt.Sprintf("user:%d:profile", i), fmt.Sprintf(`{"id":%d,"name":%q,"newsletter":%t}`, i, person(i), i%3 == 0), time.Duration(1+random.IntN(48))*time.Hour)
		pipe.Set(ctx, fmt.Sprintf("rate:%s", address(random)), random.IntN(100), time.Minute)
		pipe.Set(ctx, fmt.Sprintf("session:%016x", random.Uint64()), "{}", time.Hour)
	}
	for i, name := range []string{"ada", "grace", "alan"} {
		pipe.HSet(ctx, "user:"+name, "name", name, "orders", i*7, "city", "Zürich")
	}
	pipe.ZAdd(ctx, "bestsellers", redis.Z{Score: 912, Member: "kettle"}, redis.Z{Score: 655, Member: "lamp"}, redis.Z{Score: 121, Member: "rug"})
	pipe.RPush(ctx, "mail:queue", `{"to":"ada","kind":"receipt"}`, `{"to":"alan","kind":"reminder"}`)
	pipe.SAdd(ctx, "countries", "de", "fr", "ch")
	_, err := pipe.Exec(ctx)
	return err
}

// logIn begins sessions of several people, if there is a token for that.
func (s *Shop) logIn(ctx context.Context, random *rand.Rand) error {
	if s.SessionToken == "" {
		return nil
	}
	api := API{URL: s.Server.URL, Token: s.SessionToken, Agent: "shop/3.1"}
	agents := []string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
	}
	for i := range 14 {
		user := []string{"ada", "grace", "alan", "barbara", "edsger"}[i%5]
		if err := api.Begin(ctx, Session{User: user, IP: address(random), UserAgent: agents[i%len(agents)], Payload: json.RawMessage(`{"theme":"dark"}`)}); err != nil {
			return err
		}
	}
	return nil
}

func pick(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }

func person(i int) string {
	return fmt.Sprintf("%s.%d", []string{"ada", "grace", "alan", "barbara", "edsger", "radia", "tony"}[i%7], i)
}

func address(random *rand.Rand) string {
	return fmt.Sprintf("%s%d", pick(random, "192.0.2.", "198.51.100.", "203.0.113."), 1+random.IntN(254))
}

func page(random *rand.Rand, i int) string {
	text := fmt.Sprintf("<!doctype html><title>Page %d</title>", i)
	for range 4 + random.IntN(20) {
		text += "<p>Kettles, lamps and rugs for a home that one likes to come back to.</p>"
	}
	return text
}

func product(random *rand.Rand, i int) string {
	return fmt.Sprintf(`{"id":%d,"name":"%s %d","price":%d.%02d,"stock":%d}`, i, pick(random, "Kettle", "Lamp", "Rug"), i, 5+random.IntN(200), random.IntN(100), random.IntN(50))
}

func cart(random *rand.Rand) string {
	return fmt.Sprintf(`{"items":[{"product":%d,"quantity":%d}],"currency":"CHF"}`, random.IntN(500), 1+random.IntN(4))
}
