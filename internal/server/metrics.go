package server

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/session"
)

// collector turns the counters that the parts keep themselves into metrics at
// the moment of a scrape: counting costs the calls nothing more.
type collector struct {
	db      *howdah.DB
	engine  *redisapi.Engine // nil without a Redis listener
	redis   *driver          // nil likewise
	version string

	sessions *session.Manager // nil without an HTTP listener
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("howdah_"+name, help, labels, nil)
}

// The metrics. docs/operations.md and dashboards know them by these names.
var (
	callsDesc    = describe("calls_total", "Calls of each verb on each cache.", "cache", "verb")
	hitsDesc     = describe("call_hits_total", "Keys that reads found, and writes that took effect.", "cache", "verb")
	missesDesc   = describe("call_misses_total", "Keys that reads did not find, and writes that changed nothing.", "cache", "verb")
	failuresDesc = describe("call_errors_total", "Calls that failed.", "cache", "verb")
	durationDesc = describe("call_duration_seconds", "Time of a call, waiting included.", "cache", "verb")
	batchDesc    = describe("batch_keys", "Keys per shared statement.", "cache")
	mergedDesc   = describe("merged_calls_total", "Calls that shared their place in a statement with an equal one.", "cache")
	blockedDesc  = describe("blocked_calls_total", "Times that a call met a row locked by a foreign transaction.", "cache")
	queuedDesc   = describe("queued_calls", "Calls that wait for a statement now.", "cache")
	poolDesc     = describe("pool_connections", "PostgreSQL connections by state.", "state")
	poolMaxDesc  = describe("pool_connections_max", "The most PostgreSQL connections there may be.")
	leaderDesc   = describe("upkeep_leader", "1 if this process does the upkeep now.")
	roundsDesc   = describe("upkeep_rounds_total", "Rounds of upkeep that this process did.")
	removedDesc  = describe("upkeep_removed_total", "Rows that upkeep of this process removed: entries expired or evicted, sessions expired.", "reason")
	heldBackDesc = describe("upkeep_held_back", "1 if this process slows expiry down because a standby or a replication slot is behind.")
	resetsDesc   = describe("cache_resets_total", "Times that the UNLOGGED caches were found emptied by a crash or a failover.")
	fullDesc     = describe("cache_full", "1 if the cache refuses writes because it is over its budget.", "cache")
	buildDesc    = describe("build_info", "Always 1; the labels tell the build.", "version", "revision", "go_version")

	clientsDesc    = describe("redis_clients", "Redis connections now.")
	maxClientsDesc = describe("redis_clients_max", "The most Redis connections there may be.")
	acceptedDesc   = describe("redis_connections_total", "Redis connections accepted.")
	rejectedDesc   = describe("redis_connections_rejected_total", "Redis connections refused because there were too many.")
	droppedDesc    = describe("redis_connections_timed_out_total", "Redis connections closed because they were idle, did not authenticate, or did not read.")
	receivedDesc   = describe("redis_received_bytes_total", "Bytes received from Redis clients.")
	sentDesc       = describe("redis_sent_bytes_total", "Bytes sent to Redis clients.")
	authDesc       = describe("redis_auth_failures_total", "Wrong passwords.")
	protocolDesc   = describe("redis_protocol_errors_total", "Redis connections that sent something else than RESP.")

	commandsDesc       = describe("redis_commands_total", "Redis commands that ran.", "command")
	commandErrorsDesc  = describe("redis_command_errors_total", "Redis commands answered by an error.", "command")
	commandSecondsDesc = describe("redis_command_seconds_total", "Time of Redis commands from their start to their reply.", "command")
)

// newRegistry makes the registry of one server, apart from the global one.
func newRegistry(c *collector) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// Describe sends nothing: which caches and verbs there are is known only when
// they are asked.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	count := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	c.collectSessions(out)
	stats := c.db.Stats()
	for _, cache := range stats.Caches {
		for _, verb := range cache.Verbs {
			count(callsDesc, float64(verb.Calls), cache.Name, verb.Verb)
			count(hitsDesc, float64(verb.Hits), cache.Name, verb.Verb)
			count(missesDesc, float64(verb.Misses), cache.Name, verb.Verb)
			count(failuresDesc, float64(verb.Errors), cache.Name, verb.Verb)
			out <- histogram(durationDesc, verb.Latency, cache.Name, verb.Verb)
		}
		out <- histogram(batchDesc, cache.BatchKeys, cache.Name)
		count(mergedDesc, float64(cache.Merged), cache.Name)
		count(blockedDesc, float64(cache.Blocked), cache.Name)
		gauge(queuedDesc, float64(cache.Queued), cache.Name)
		gauge(fullDesc, flag(cache.Full), cache.Name)
	}
	gauge(leaderDesc, flag(stats.Upkeep.Leader))
	count(roundsDesc, float64(stats.Upkeep.Rounds))
	count(removedDesc, float64(stats.Upkeep.Expired), "expired")
	count(removedDesc, float64(stats.Upkeep.Evicted), "evicted")
	count(removedDesc, float64(stats.Upkeep.Sessions), "session_expired")
	gauge(heldBackDesc, flag(stats.Upkeep.HeldBack))
	count(resetsDesc, float64(stats.Upkeep.Resets))
	gauge(poolDesc, float64(stats.Pool.Idle), "idle")
	gauge(poolDesc, float64(stats.Pool.Acquired), "in_use")
	gauge(poolMaxDesc, float64(stats.Pool.Max))
	gauge(buildDesc, 1, c.version, revision(), runtime.Version())

	if s := c.redis; s != nil {
		gauge(clientsDesc, float64(s.clients.Load()))
		gauge(maxClientsDesc, float64(s.limits.maxClients))
		count(acceptedDesc, float64(s.accepted.Load()))
		count(rejectedDesc, float64(s.rejected.Load()))
		count(droppedDesc, float64(s.dropped.Load()))
	}
	if c.engine != nil {
		s := c.engine.Stats()
		count(receivedDesc, float64(s.InputBytes))
		count(sentDesc, float64(s.OutputBytes))
		count(authDesc, float64(s.AuthFailures))
		count(protocolDesc, float64(s.ProtocolErrors))
		for _, command := range s.PerCommand {
			count(commandsDesc, float64(command.Calls), command.Name)
			count(commandErrorsDesc, float64(command.Failed+command.Rejected), command.Name)
			count(commandSecondsDesc, command.Time.Seconds(), command.Name)
		}
	}
}

func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// histogram makes the bucket counts cumulative, as Prometheus has them.
func histogram(desc *prometheus.Desc, h howdah.Histogram, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var sum uint64
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		buckets[bound] = sum
	}
	// Counters are read one by one while calls go on: the total must not be
	// below the buckets.
	return prometheus.MustNewConstHistogram(desc, max(h.Count, sum), h.Sum, buckets, labels...)
}

// revision is the commit that the program was built from, where it is known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
