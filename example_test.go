package howdah_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
)

func Example() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	pages := db.Cache("db0")
	if err := pages.Set(ctx, "/", []byte("<h1>Hello</h1>"), time.Minute); err != nil {
		log.Fatal(err)
	}
	body, err := pages.Get(ctx, "/")
	switch {
	case errors.Is(err, howdah.ErrMiss):
		fmt.Println("not cached")
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Printf("%s\n", body)
	}
}

// The row and its cache entry change together, or not at all.
func ExampleCache_With() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE article SET title = $1 WHERE id = $2`, "New", 7); err != nil {
			return err
		}
		return db.Cache("db0").With(tx).Delete(ctx, "article:7")
	})
	if err != nil {
		log.Fatal(err)
	}
}

// Get the value, or load it once for all who ask for it, in all processes. What the
// transaction of ExampleCache_With deletes is never stored again with its old value.
func ExampleCache_Fetch() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	title, err := db.Cache("db0").Fetch(ctx, "article:7", time.Minute, func(ctx context.Context) (title []byte, err error) {
		err = db.Pool().QueryRow(ctx, `SELECT title FROM article WHERE id = 7`).Scan(&title)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, howdah.ErrMiss
		}
		return title, err
	}, howdah.FetchOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", title)
}

// Values of a type of the application's own. While the origin is down, an expired
// one is served for an hour.
func ExampleTyped_Fetch() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	type weather struct{ Celsius float64 }
	load := func(ctx context.Context) (weather, error) { return weather{Celsius: 21}, nil }
	cache := howdah.NewTyped(db.Cache("db0"), howdah.JSON[weather]{})
	now, err := cache.Fetch(ctx, "weather:Lisbon", time.Minute, load, howdah.FetchOptions{StaleIfError: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(now.Celsius)
}

// Many values, with one query for those that are not in the cache.
func ExampleCache_FetchMany() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	keys := []string{"article:7", "article:8"}
	titles, err := db.Cache("db0").FetchMany(ctx, keys, time.Minute, func(ctx context.Context, missing []string) (map[string][]byte, error) {
		found := map[string][]byte{}
		rows, err := db.Pool().Query(ctx, `SELECT 'article:' || id, title FROM article WHERE 'article:' || id = ANY ($1)`, missing)
		if err != nil {
			return nil, err
		}
		var key string
		var title []byte
		_, err = pgx.ForEachRow(rows, []any{&key, &title}, func() error {
			found[key] = title
			title = nil
			return nil
		})
		return found, err
	}, howdah.FetchOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(titles))
}

// A counter that begins with a TTL and keeps it: a rate limit in one statement.
func ExampleCache_Increment() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	n, err := db.Cache("db0").Increment(ctx, "requests:203.0.113.9", 1, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	if n > 100 {
		fmt.Println("too many requests")
	}
}

// A session is a hash: one field changes without the others being sent.
func ExampleCache_HSet() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	visitors := db.Cache("db0")
	fields := map[string][]byte{"user": []byte("ada"), "theme": []byte("dark")}
	if _, err := visitors.HSet(ctx, "visitor:7", fields, 30*time.Minute); err != nil {
		log.Fatal(err)
	}
	if _, err := visitors.HIncrBy(ctx, "visitor:7", "pages", 1, 30*time.Minute); err != nil {
		log.Fatal(err)
	}
	if err := visitors.Touch(ctx, "visitor:7", 30*time.Minute); err != nil { // from the last use on
		log.Fatal(err)
	}
	theme, err := visitors.HGet(ctx, "visitor:7", "theme")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", theme)
}

// Articles by tag, as sets: those that are about both.
func ExampleCache_SInter() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	articles := db.Cache("db0")
	for _, tag := range []string{"go", "postgresql"} {
		if _, err := articles.SAdd(ctx, "about:"+tag, []string{"article:7"}, howdah.NoExpiry); err != nil {
			log.Fatal(err)
		}
	}
	both, err := articles.SInter(ctx, "about:go", "about:postgresql")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(both)
}

// A leaderboard is a sorted set that keeps each player's best result.
func ExampleCache_ZAddWith() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	game := db.Cache("db0")
	result := []howdah.ZMember{{Member: "ada", Score: 1815}}
	if _, err := game.ZAddWith(ctx, "best", result, howdah.NoExpiry, howdah.ZAddOptions{If: howdah.ZIfGreater}); err != nil {
		log.Fatal(err)
	}
	if _, err := game.ZRemRangeByRank(ctx, "best", 0, -101); err != nil { // keeps the 100 best
		log.Fatal(err)
	}
	top, err := game.ZRange(ctx, "best", 0, 9, howdah.ZRangeOptions{Reverse: true})
	if err != nil {
		log.Fatal(err)
	}
	for place, m := range top {
		fmt.Println(place+1, m.Member, m.Score)
	}
}
