package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWatchSmoke(t *testing.T) {
	db := open(t)
	run(t, db, "CREATE TABLE public.articles (id int PRIMARY KEY, title text)")
	run(t, db, "INSERT INTO public.articles VALUES (1, 'a'), (2, 'b')")
	run(t, db, `SELECT howdah.watch_table('public.articles', cache => 'c', key => $$'article:' || id$$)`)
	run(t, db, "SELECT howdah.set_text('c', 'article:1', 'a'), howdah.set_text('c', 'article:2', 'b')")
	run(t, db, "UPDATE public.articles SET title = 'x' WHERE id = 1")
	require.False(t, one[bool](t, db, "SELECT howdah.get_text('c', 'article:1') IS NOT NULL"))
	require.True(t, one[bool](t, db, "SELECT howdah.get_text('c', 'article:2') IS NOT NULL"))
	t.Log(one[string](t, db, "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE 'howdah\\_watch%'"))
	t.Log(one[string](t, db, "SELECT watches::text FROM howdah.watches()"))
	require.True(t, one[bool](t, db, "SELECT howdah.unwatch_table('public.articles', 'c')"))
}
