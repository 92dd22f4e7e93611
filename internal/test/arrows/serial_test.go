package arrows_test

// serial lists the tests that are not parallel, each with its reason: a room, or a room
// and a test.
var serial = map[string]string{
	". TestGetAppendAllocatesNothing": allocations,
	". TestRunRemovesWhatExpired":     goroutines,

	"backend/memory TestCloseLeavesNoGoroutine":         goroutines,
	"cmd/howdah TestConsoleLink":                        environs,
	"internal/embedded TestSearchCutShort":              environs,
	"internal/redisapi TestDisconnects":                 goroutines,
	"internal/server TestInboundGrowsByDoubling":        allocations,
	"internal/redisapi TestExecSharesLargeValues":       memory,
	"internal/server TestMemoryReturn":                  memory,
	"internal/server TestPipelinedReadsOfOneLargeValue": memory,
	"internal/server TestUnfinishedCommandsAreBounded":  memory,
	"internal/values TestDecodeRefuses":                 memory,
	"internal/server TestFollowLoad":                    processors,
	"internal/test/leaks TestFind":                      goroutines,
	"internal/test/seed TestOf":                         environs,
	"internal/test/seed TestOr":                         environs,
	"tests/contract TestClose":                          goroutines,
	"tests/limits TestCloseDoesNotWaitForLeaks":         goroutines,

	"internal/core TestWithoutATracerNothingIsAllocated":   allocations,
	"internal/edit TestTenThousandWaiters":                 goroutines,
	"internal/engine TestWritesPayNothingForOrphans":       allocations,
	"internal/lua TestHostAbandonsRuns":                    goroutines,
	"internal/lua TestHostileScriptsEnd":                   memory,
	"internal/lua TestHostileLibraries":                    memory,
	"internal/near TestOverhead":                           memory,
	"internal/near TestBudget":                             memory,
	"internal/near TestAllocations":                        allocations,
	"internal/pgwire TestSpinBacksOff":                     processors,
	"internal/pgwire TestSpinYieldsToAnotherFlight":        processors,
	"internal/pgwire TestSpinOnClosedConnection":           processors,
	"internal/pubsub TestPublishAllocatesNothing":          allocations,
	"internal/resp TestAppendAllocatesNothing":             allocations,
	"internal/resp TestParseAllocatesNothing":              allocations,
	"internal/values TestEventsThatNobodyWantsCostNothing": allocations,

	"internal/test/coherence TestShort":                 reads,
	"internal/test/coherence TestLong":                  reads,
	"internal/test/coherence TestFailover":              reads,
	"internal/test/coherence TestMapThatNeverForgets":   reads,
	"internal/test/coherence TestMutants":               reads,
	"internal/test/coherence TestDirect":                reads,
	"internal/test/coherence TestClientsThatKeepCopies": reads,
	"internal/test/pgtest":                              unconverted,
	"tests/citus":                                       "clusters of several servers, and faults that need all of the machine",
}

// Reasons that several tests have.
const (
	allocations = "counts allocations, also those of others"
	goroutines  = "looks for goroutines that are left over, also those of others"
	environs    = "sets the environment, which is of the process"
	memory      = "measures the memory of the process"
	processors  = "changes GOMAXPROCS, which is of the process"
	reads       = "is judged by how much it read, beside nothing else"
	unconverted = "not yet converted"
)
