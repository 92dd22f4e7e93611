package server

import "github.com/howdah/howdah/internal/observe"

var slowDesc = describe("slow_calls_total", "Calls that took as long as --slow-call or longer, by what they do: read or write.", "op")

func collectSlow(out metricSink, slow *observe.SlowLog) {
	reads, writes := slow.Counts()
	out.count(slowDesc, float64(reads), "read")
	out.count(slowDesc, float64(writes), "write")
}
