package server

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
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
	states   cacheStates

	mu    sync.Mutex
	shown map[string]bool // the caches with series of their own
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("howdah_"+name, help, labels, nil)
}

// The metrics. docs/operations.md and dashboards know them by these names.
var (
	poolDesc     = describe("pool_connections", "PostgreSQL connections by state.", "state")
	poolMaxDesc  = describe("pool_connections_max", "The most PostgreSQL connections there may be.")
	poolAllowed  = describe("pool_connections_allowed", "The PostgreSQL connections that PostgreSQL allows, as far as is known; below the most after it refused one.")
	leaderDesc   = describe("upkeep_leader", "1 if this process does the upkeep now.")
	roundsDesc   = describe("upkeep_rounds_total", "Rounds of upkeep that this process did.")
	removedDesc  = describe("upkeep_removed_total", "Rows that upkeep of this process removed: entries expired or evicted, sessions expired.", "reason")
	heldBackDesc = describe("upkeep_held_back", "1 if this process slows expiry down because a standby or a replication slot is behind.")
	resetsDesc   = describe("cache_resets_total", "Times that the UNLOGGED caches were found emptied by a crash or a failover.")
	roundDesc    = describe("upkeep_last_round_timestamp_seconds", "When the last round of upkeep of any process ended.")
	diskFullDesc = describe("database_disk_full", "1 if PostgreSQL refused a write within the last 30 seconds because its disk is full.")
	upDesc       = describe("database_up", "1 if the database answered within a second.")
	buildDesc    = describe("build_info", "Always 1; the labels tell the build.", "version", "revision", "go_version")

	memoryDesc     = describe("redis_memory_bytes", "What Redis connections hold in memory beyond 64 KiB each: input, requests, values and unread replies.")
	maxMemoryDesc  = describe("redis_memory_bytes_max", "The most that they may hold.")
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
	unknownDesc        = describe("redis_unknown_commands_total", "Redis commands that clients asked for and Howdah lacks.", "command")
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
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	out := metricSink(ch)
	stats, found := c.db.Stats(), (*core.DB)(c.db).Stats()
	states, up := c.states.read()
	out.gauge(buildDesc, 1, c.version, revision(), runtime.Version())
	out.gauge(upDesc, flag(up))
	out.gauge(diskFullDesc, flag(diskIsFull(found)))
	c.collectSessions(out)
	c.collectCaches(out, stats.Caches, states)
	c.collectClaims(out, found.Caches)
	collectUpkeep(out, stats.Upkeep, states)
	collectNear(out, stats.Near)
	out.gauge(poolDesc, float64(stats.Pool.Idle), "idle")
	out.gauge(poolDesc, float64(stats.Pool.Acquired), "in_use")
	out.gauge(poolMaxDesc, float64(stats.Pool.Max))
	out.gauge(poolAllowed, float64(stats.Pool.Limit))
	if c.redis != nil {
		c.redis.collect(out)
		collectCommands(out, c.engine.Stats())
	}
}

func collectUpkeep(out metricSink, stats howdah.UpkeepStats, states []cacheState) {
	out.gauge(leaderDesc, flag(stats.Leader))
	out.count(roundsDesc, float64(stats.Rounds))
	out.count(removedDesc, float64(stats.Expired), "expired")
	out.count(removedDesc, float64(stats.Evicted), "evicted")
	out.count(removedDesc, float64(stats.Sessions), "session_expired")
	out.gauge(heldBackDesc, flag(stats.HeldBack))
	out.count(resetsDesc, float64(stats.Resets))
	last := 0.0
	for _, s := range states {
		last = max(last, s.lastRound)
	}
	if last > 0 {
		out.gauge(roundDesc, last)
	}
}

// collect shows the connections.
func (d *driver) collect(out metricSink) {
	out.gauge(clientsDesc, float64(d.clients.Load()))
	out.gauge(maxClientsDesc, float64(d.limits.maxClients))
	out.count(acceptedDesc, float64(d.accepted.Load()))
	out.count(rejectedDesc, float64(d.rejected.Load()))
	out.count(droppedDesc, float64(d.dropped.Load()))
	if m := d.limits.memory; m != nil {
		out.gauge(memoryDesc, float64(m.Used()))
		out.gauge(maxMemoryDesc, float64(m.Limit()))
	}
}

func collectCommands(out metricSink, s redisapi.Stats) {
	out.count(receivedDesc, float64(s.InputBytes))
	out.count(sentDesc, float64(s.OutputBytes))
	out.count(authDesc, float64(s.AuthFailures))
	out.count(protocolDesc, float64(s.ProtocolErrors))
	for _, unknown := range s.Unknown {
		out.count(unknownDesc, float64(unknown.Count), unknown.Name)
	}
	for _, command := range s.PerCommand {
		out.count(commandsDesc, float64(command.Calls), command.Name)
		out.count(commandErrorsDesc, float64(command.Failed+command.Rejected), command.Name)
		out.count(commandSecondsDesc, command.Time.Seconds(), command.Name)
	}
}

func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
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
