package schema_test

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/pgtest"
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

// What tests say about functions holds in a database with partitions too.
func TestDivided(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"TestSetAndGet":                             TestSetAndGet,
		"TestGetEntryAndTTL":                        TestGetEntryAndTTL,
		"TestTTLArguments":                          TestTTLArguments,
		"TestAddAndReplace":                         TestAddAndReplace,
		"TestManyKeys":                              TestManyKeys,
		"TestNullArrayIsNoKeys":                     TestNullArrayIsNoKeys,
		"TestDeleteRemovesExpiredRows":              TestDeleteRemovesExpiredRows,
		"TestDeletePrefixInPieces":                  TestDeletePrefixInPieces,
		"TestDelete":                                TestDelete,
		"TestTouchExpirePersist":                    TestTouchExpirePersist,
		"TestCompareAndSet":                         TestCompareAndSet,
		"TestVersionsIncrease":                      TestVersionsIncrease,
		"TestIncrement":                             TestIncrement,
		"TestTextTwins":                             TestTextTwins,
		"TestEveryKeyHasATextTwin":                  TestEveryKeyHasATextTwin,
		"TestJSON":                                  TestJSON,
		"TestScanReturnsEveryKeyOnce":               TestScanReturnsEveryKeyOnce,
		"TestDeletePrefix":                          TestDeletePrefix,
		"TestFlush":                                 TestFlush,
		"TestInvalidateTag":                         TestInvalidateTag,
		"TestTagsStay":                              TestTagsStay,
		"TestFlushVoidsClaimsWithTheirMarks":        TestFlushVoidsClaimsWithTheirMarks,
		"TestInvalidTags":                           TestInvalidTags,
		"TestTagsNeedReadCommitted":                 TestTagsNeedReadCommitted,
		"TestInvalidationWaitsForStores":            TestInvalidationWaitsForStores,
		"TestTagsInATransaction":                    TestTagsInATransaction,
		"TestUntaggedEntriesPayNothing":             TestUntaggedEntriesPayNothing,
		"TestEventLetters":                          TestEventLetters,
		"TestEventsOfManyKeys":                      TestEventsOfManyKeys,
		"TestWatchVoidsWhatAStatementChanges":       TestWatchVoidsWhatAStatementChanges,
		"TestWatchKeys":                             TestWatchKeys,
		"TestWatchRefuses":                          TestWatchRefuses,
		"TestWatchWhoseExpressionFails":             TestWatchWhoseExpressionFails,
		"TestWatchFollows":                          TestWatchFollows,
		"TestWatchedPartitions":                     TestWatchedPartitions,
		"TestWatchWithoutHowdah":                    TestWatchWithoutHowdah,
		"TestWatchedTags":                           TestWatchedTags,
		"TestLoadsFromBeforeTheCommitAreVoid":       TestLoadsFromBeforeTheCommitAreVoid,
		"TestWatchedRowsAndLoadersAtRandom":         TestWatchedRowsAndLoadersAtRandom,
		"TestWatchedWritersDoNotDeadlock":           TestWatchedWritersDoNotDeadlock,
		"TestWatchAndSavepoints":                    TestWatchAndSavepoints,
		"TestWatchAndOlderSnapshots":                TestWatchAndOlderSnapshots,
		"TestWatchAndReplicationRole":               TestWatchAndReplicationRole,
		"TestDeferredTriggersThatChangeWatchedRows": TestDeferredTriggersThatChangeWatchedRows,
		"TestClaim":                                 TestClaim,
		"TestWhatVoidsALease":                       TestWhatVoidsALease,
		"TestNothingOldIsStored":                    TestNothingOldIsStored,
		"TestAClaimWaitsForARemoval":                TestAClaimWaitsForARemoval,
		"TestNoLeaseUnderRepeatableRead":            TestNoLeaseUnderRepeatableRead,
		"TestRemovalUnderRepeatableRead":            TestRemovalUnderRepeatableRead,
		"TestDocumentedLeases":                      TestDocumentedLeases,
		"TestExpiredIsAbsentToEveryVerb":            TestExpiredIsAbsentToEveryVerb,
		"TestCollisionWithinOneCall":                TestCollisionWithinOneCall,
		"TestSwapIsRefused":                         TestSwapIsRefused,
		"TestUnknownCache":                          TestUnknownCache,
		"TestReadersUnpackWhatGoPacks":              TestReadersUnpackWhatGoPacks,
		"TestHgetallLeavesExpiredFieldsOut":         TestHgetallLeavesExpiredFieldsOut,
		"TestReadersOfCollections":                  TestReadersOfCollections,
		"TestReadersRefuseCorruptValues":            TestReadersRefuseCorruptValues,
		"TestValueFunctionsRefuseCollections":       TestValueFunctionsRefuseCollections,
		"TestDoubles":                               TestDoubles,
		"TestHostileKeysAndValues":                  TestHostileKeysAndValues,
		"TestLimits":                                TestLimits,
		"TestConcurrentIncrements":                  TestConcurrentIncrements,
		"TestIncrementsAgainstDeletes":              TestIncrementsAgainstDeletes,
		"TestOneOfManyWins":                         TestOneOfManyWins,
		"TestOppositeOrdersDoNotDeadlock":           TestOppositeOrdersDoNotDeadlock,
		"TestDeleteIsNotUndone":                     TestDeleteIsNotUndone,
		"TestWritesSeeWhatTheyWaitedFor":            TestWritesSeeWhatTheyWaitedFor,
		"TestTransactions":                          TestTransactions,
		"TestWatchedBulkUpdateOfOneTag":             TestWatchedBulkUpdateOfOneTag,
		"TestTagPrivileges":                         TestTagPrivileges,
		"TestWatchNeedsNoRightsOfWriters":           TestWatchNeedsNoRightsOfWriters,
		"TestRevokeFromTheOwnerOfAWatchedTable":     TestRevokeFromTheOwnerOfAWatchedTable,
		"TestExpressionRunsAsTheOwnerOfTheTable":    TestExpressionRunsAsTheOwnerOfTheTable,
		"TestWatchAndDecoys":                        TestWatchAndDecoys,
		"TestRoleSwaps":                             TestRoleSwaps,
		"TestSearchPathDoesNotMatter":               TestSearchPathDoesNotMatter,
		"TestDecoysInPublic":                        TestDecoysInPublic,
		"TestAdministratorMakesCache":               TestAdministratorMakesCache,
		"TestRevokeRuntime":                         TestRevokeRuntime,
		"TestEventsOfFunctions":                     TestEventsOfFunctions,
	} {
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
			part text := howdah_internal._table(howdah_internal._settings('`+cache+`', coalesce(NEW.key, OLD.key)));
		BEGIN
			IF TG_OP IN ('UPDATE', 'DELETE') THEN
				EXECUTE format('DELETE FROM %s WHERE hash = $1', part) USING OLD.hash;
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
