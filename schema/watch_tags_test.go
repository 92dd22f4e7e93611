package schema_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A watch may invalidate tags, beside keys or without: at commit, also what is
// being loaded with them. What is no tag of any entry does not fail the statement.
func TestWatchedTags(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `CREATE TABLE public.articles (id int PRIMARY KEY, author text); INSERT INTO public.articles SELECT i, 'a' || i % 3 FROM generate_series(1, 9) AS i`)
	refused(t, db, "42703", "SELECT howdah.watch_table('public.articles', 'c', tag => 'nothing')")
	entries := func() {
		run(t, db, "SELECT howdah.set_tagged_text('c', 'list:' || i, 'v', ARRAY['a' || i % 3]) FROM generate_series(1, 9) AS i")
		fill(t, db, "c", "article:", 9)
	}
	run(t, db, "SELECT howdah.watch_table('public.articles', 'c', tag => 'author')")
	entries()
	run(t, db, "UPDATE public.articles SET author = 'a2' WHERE id = 1") // it was a1
	require.Equal(t, "3 6 9", left(t, db, "c", "list:", 9))
	require.Equal(t, "1 2 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))

	run(t, db, "SELECT howdah.watch_table('public.articles', 'c', 'id', 'ARRAY[author, NULL]')")
	run(t, db, "SELECT howdah.watch_table('public.articles', 'c', $$'article:' || id$$, 'author')")
	entries()
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	run(t, tx, "UPDATE public.articles SET author = author WHERE id = 3")
	require.Equal(t, "1 2 3 4 5 6 7 8 9", left(t, db, "c", "list:", 9), "until the commit")
	require.NoError(t, tx.Commit(ctx(t)))
	require.Equal(t, "1 2 4 5 7 8", left(t, db, "c", "list:", 9))
	require.Equal(t, "1 2 4 5 6 7 8 9", left(t, db, "c", "article:", 9))

	run(t, db, "INSERT INTO public.articles VALUES (10, ''), (11, repeat('x', 300)), (12, NULL)")
	require.Equal(t, "active 0", one[string](t, db, "SELECT state || ' ' || failures FROM howdah.watches()"))
	require.Equal(t, "1 2 4 5 7 8", left(t, db, "c", "list:", 9))

	// An older snapshot does not show who has the tag: everything goes.
	entries()
	err = pgx.BeginTxFunc(ctx(t), db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		run(t, tx, "UPDATE public.articles SET author = author WHERE id = 3")
		run(t, db, "SELECT howdah.set_tagged_text('c', 'late', 'v', '{a0}')")
		return nil
	})
	require.NoError(t, err)
	require.Zero(t, one[int](t, db, "SELECT howdah.count('c')"))

	entries()
	run(t, db, "TRUNCATE public.articles")
	require.Empty(t, strings.Join([]string{left(t, db, "c", "list:", 9), left(t, db, "c", "article:", 9)}, ""))
}
