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
