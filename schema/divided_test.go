package schema_test

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// partitions is how many the databases of TestDivided have.
const partitions = 4

// divided tells whether a test is one of TestDivided.
func divided(t testing.TB) bool { return strings.HasPrefix(t.Name(), "TestDivided/") }

// newDatabase is a fresh database, with partitions in the tests of TestDivided.
func newDatabase(t testing.TB) string {
	t.Helper()
	if divided(t) {
		return pgtest.Divided(t, partitions)
	}
	return pgtest.New(t)
}

// What tests say about functions holds in a database with partitions too: one test for each way
// to the partitions. The others take longer, and run with the build tag peers.
func TestDivided(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"TestSetAndGet":                       TestSetAndGet,
		"TestManyKeys":                        TestManyKeys,
		"TestDeletePrefixInPieces":            TestDeletePrefixInPieces,
		"TestCompareAndSet":                   TestCompareAndSet,
		"TestScanReturnsEveryKeyOnce":         TestScanReturnsEveryKeyOnce,
		"TestFlush":                           TestFlush,
		"TestInvalidateTag":                   TestInvalidateTag,
		"TestTagsInATransaction":              TestTagsInATransaction,
		"TestEventsOfManyKeys":                TestEventsOfManyKeys,
		"TestWatchedPartitions":               TestWatchedPartitions,
		"TestWatchedTags":                     TestWatchedTags,
		"TestLoadsFromBeforeTheCommitAreVoid": TestLoadsFromBeforeTheCommitAreVoid,
		"TestClaim":                           TestClaim,
		"TestExpiredIsAbsentToEveryVerb":      TestExpiredIsAbsentToEveryVerb,
		"TestUnknownCache":                    TestUnknownCache,
		"TestReadersOfCollections":            TestReadersOfCollections,
		"TestConcurrentIncrements":            TestConcurrentIncrements,
		"TestTransactions":                    TestTransactions,
		"TestSearchPathDoesNotMatter":         TestSearchPathDoesNotMatter,
		"TestRevokeRuntime":                   TestRevokeRuntime,
	} {
		t.Run(name, test)
	}
	for name, test := range moreDivided {
		t.Run(name, test)
	}
}

// viewOfRows makes a view of the rows of all partitions of a cache, by which tests write
// them as they write the table of another cache.
func viewOfRows(t testing.TB, q querier, cache string) string {
	t.Helper()
	view := "public.rows_" + cache
	run(t, q, `
		DO $do$
		BEGIN
			EXECUTE (SELECT format('CREATE OR REPLACE VIEW %s AS %s', '`+view+`',
			                       string_agg(format('SELECT * FROM %s', howdah_internal._table(p)), ' UNION ALL '))
			         FROM howdah_internal._partitions('`+cache+`') AS p);
		END
		$do$;
		CREATE OR REPLACE FUNCTION `+view+`() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE
			part    text;
			deleted integer;
		BEGIN
			IF TG_OP = 'INSERT' THEN
				part := howdah_internal._table(howdah_internal._settings('`+cache+`', NEW.key));
			ELSE
				-- A row stays where it is: one that plant has put into the slot of another key too.
				FOR part IN SELECT howdah_internal._table(p) FROM howdah_internal._partitions('`+cache+`') AS p LOOP
					EXECUTE format('WITH d AS (DELETE FROM %s WHERE hash = $1 AND key = $2 RETURNING 1) SELECT count(*) FROM d', part)
					INTO deleted USING OLD.hash, OLD.key;
					EXIT WHEN deleted > 0;
				END LOOP;
			END IF;
			IF TG_OP IN ('UPDATE', 'INSERT') THEN
				EXECUTE format('INSERT INTO %s SELECT ($1).*', part) USING NEW;
				RETURN NEW;
			END IF;
			RETURN OLD;
		END
		$$;
		CREATE OR REPLACE TRIGGER write INSTEAD OF INSERT OR UPDATE OR DELETE ON `+view+` FOR EACH ROW EXECUTE FUNCTION `+view+`()`)
	return view
}
