package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A deferred trigger of the application that changes watched rows runs between the
// deferred triggers of two notes, or after both. What it changes goes too.
func TestDeferredTriggersThatChangeWatchedRows(t *testing.T) {
	t.Parallel()
	db := articles(t)
	run(t, db, `CREATE TABLE public.orders (article int);
		CREATE FUNCTION public.ordered() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN UPDATE public.articles SET title = 'ordered' WHERE id = NEW.article; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER ordered AFTER INSERT ON public.orders
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.ordered()`)
	const (
		first  = "UPDATE public.articles SET title = 'x' WHERE id = 1"
		second = "UPDATE public.articles SET title = 'x' WHERE id = 2"
		order  = "INSERT INTO public.orders VALUES (3)"
	)
	for _, statements := range [][]string{{order, first, second}, {first, order, second}, {first, second, order}, {order, first, order, second, order}} {
		fill(t, db, "c", "article:", 9)
		require.NoError(t, pgx.BeginFunc(ctx(t), db, func(tx pgx.Tx) error {
			for _, sql := range statements {
				run(t, tx, sql)
			}
			return nil
		}))
		require.Equal(t, "4 5 6 7 8 9", left(t, db, "c", "article:", 9), "%q", statements)
		require.Empty(t, notes(t, db))
	}
}
