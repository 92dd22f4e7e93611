package server

import "github.com/howdah/howdah/internal/redisapi"

var libraryDesc = describe("redis_clients_by_library", "Redis connections now, by the client library that they have named; other: a library that is not known, or none.", "library")

// collectLibraries shows the connections by library. Only names that are known beforehand
// are labels.
func collectLibraries(out metricSink, engine *redisapi.Engine) {
	for library, n := range engine.Libraries() {
		out.gauge(libraryDesc, float64(n), library)
	}
}
