package arrows_test

// serial lists the tests that are not parallel, each with its reason: a room, or a room
// and a test.
var serial = map[string]string{
	". TestGetAppendAllocatesNothing": allocations,
	". TestRunRemovesWhatExpired":     goroutines,

	"backend/memory TestCloseLeavesNoGoroutine":  goroutines,
	"cmd/howdah TestConsoleLink":                 environs,
	"internal/embedded TestSearchCutShort":       environs,
	"internal/redisapi TestDisconnects":          goroutines,
	"internal/server TestInboundGrowsByDoubling": allocations,
	"internal/server TestFollowLoad":             "changes GOMAXPROCS, which is of the process",
	"internal/test/leaks TestFind":               goroutines,
	"internal/test/seed TestOf":                  environs,
	"internal/test/seed TestOr":                  environs,
	"tests/contract TestClose":                   goroutines,
	"tests/limits TestCloseDoesNotWaitForLeaks":  goroutines,

	"internal/core":   unconverted,
	"internal/edit":   unconverted,
	"internal/engine": unconverted,
	"internal/lua":    unconverted,
	"internal/near":   unconverted,
	"internal/pgwire": unconverted,
	"internal/pubsub": unconverted,
	"internal/resp":   unconverted,
	"internal/values": unconverted,

	"internal/test/coherence": unconverted,
	"internal/test/pgtest":    unconverted,
	"tests/citus":             "clusters of several servers, and faults that need all of the machine",
}

// Reasons that several tests have.
const (
	allocations = "counts allocations, also those of others"
	goroutines  = "looks for goroutines that are left over, also those of others"
	environs    = "sets the environment, which is of the process"
	unconverted = "not yet converted"
)
