package server

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/httpapi"
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
	http     httpapi.Handler  // nil likewise
	observed *figures.Figures // nil likewise
	cost     bool             // Config.MetricsCost
	states   cacheStates

	maxCaches int // with series of their own

	mu            sync.Mutex
	shown, hidden map[string]bool // the caches with series of their own, and those without
}

// newCollector makes the collector of a database. What else it shows is given to it
// before the first scrape.
func newCollector(db *howdah.DB, maxCaches int) *collector {
	return &collector{
		db: db, states: cacheStates{db: (*core.DB)(db)},
		maxCaches: maxCaches, shown: make(map[string]bool), hidden: make(map[string]bool),
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("howdah_"+name, help, labels, nil)
}

// The metrics. docs/operations.md and dashboards know them by these names.
var (
	poolDesc     = describe("pool_connections", "PostgreSQL connections by state.", "state")
	poolMaxDesc  = describe("pool_connections_max", "The most PostgreSQL connections there may be.")
	poolMadeDesc = describe("pool_connections_opened_total", "PostgreSQL connections that were opened; the first of the process are among them.")
	poolWaitDesc = describe("pool_wait_seconds_total", "Time that callers have waited for a PostgreSQL connection because all were in use or one had to be opened.")
	poolAllowed  = describe("pool_connections_allowed", "The PostgreSQL connections that PostgreSQL allows, as far as is known; below the most after it refused one.")
	leaderDesc   = describe("upkeep_leader", "1 if this process does the upkeep now.")
	roundsDesc   = describe("upkeep_rounds_total", "Rounds of upkeep that this process did.")
	removedDesc  = describe("upkeep_removed_total", "Rows that upkeep of this process removed: entries expired or evicted, sessions expired.", "reason")
	heldBackDesc = describe("upkeep_held_back", "1 if this process slows expiry down because a standby or a replication slot is behind.")
	resetsDesc   = describe("cache_resets_total", "Times that the UNLOGGED caches were found emptied by a crash or a failover.")
	roundDesc    = describe("upkeep_last_round_timestamp_seconds", "When the last round of upkeep of any process ended.")
	diskFullDesc = describe("database_disk_full", "1 if PostgreSQL refused a write within the last 30 seconds because its disk is full.")
	retriesDesc  = describe("database_retries_total", "Times that reads were sent again because their connection had died.")
	databaseDesc = describe("database_info", "Always 1; the labels tell the version of PostgreSQL and whether it is the primary or a standby.", "version", "role")
	schemaDesc   = describe("schema_version", "The newest migration of the schema.")
	askedDesc    = describe("cache_stats_timestamp_seconds", "When the database last told what it knows of the caches.")
	upDesc       = describe("database_up", "1 if the database answered within a second.")

	serverUpDesc      = describe("database_server_up", "1 if this server of the database answered within a second; only with several.", "server")
	serverEntriesDesc = describe("database_server_entries", "Entries on this server of the database, an estimate; only with several.", "server")
	serverBytesDesc   = describe("database_server_bytes", "Bytes of the tables and indexes of caches on this server as of their last VACUUM or ANALYZE; only with several.", "server")

	buildDesc = describe("build_info", "Always 1; the labels tell the build.", "version", "revision", "go_version")

	memoryDesc     = describe("redis_memory_bytes", "What Redis connections hold in memory beyond 64 KiB each: input, requests, values and unread replies.")
	maxMemoryDesc  = describe("redis_memory_bytes_max", "The most that they may hold.")
	clientsDesc    = describe("redis_clients", "Redis connections now.")
	waitingDesc    = describe("redis_clients_blocked", "Redis connections that wait for a key (BLPOP and others) or for the end of CLIENT PAUSE.")
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
func newRegistry(c *collector, h httpMetrics) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, h.requests, h.durations, collectors.NewGoCollector(),
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
	states := c.states.read()
	out.gauge(buildDesc, 1, c.version, revision(), runtime.Version())
	c.collectSessions(out)
	c.collectCaches(out, found.Caches, states.caches)
	c.collectClaims(out, found.Caches)
	c.collectPrefixes(out, (*core.DB)(c.db).NamedPrefixes())
	collectUpkeep(out, stats.Upkeep, states.caches)
	collectNear(out, stats.Near)
	collectSlow(out, (*core.DB)(c.db).SlowLog())
	collectMessages(out, (*core.DB)(c.db).Hub().Stats())
	collectBus(out, (*core.DB)(c.db).Bus().Stats())
	collectDatabase(out, found, states)
	collectPool(out, found.Pool)
	if c.http != nil {
		out.count(httpAuthDesc, float64(c.http.AuthFailures()))
	}
	if c.observed != nil {
		collectDoctor(out, c.observed, found.Upkeep.Leader)
		if c.cost {
			collectCost(out, c.observed.LastCost())
		}
	}
	if c.redis != nil {
		c.redis.collect(out)
		collectLibraries(out, c.engine)
		collectCommands(out, c.engine.Stats())
		out.gauge(subscribersDesc, float64(c.engine.Subscribers()))
	}
}

func collectDatabase(out metricSink, stats core.Stats, states states) {
	out.gauge(upDesc, flag(states.up))
	for _, of := range states.servers { // the coordinator, and at most one for each partition
		out.gauge(serverUpDesc, flag(of.up), of.address)
		if of.up {
			out.gauge(serverEntriesDesc, float64(of.entries), of.address)
			out.gauge(serverBytesDesc, float64(of.bytes), of.address)
		}
	}
	out.gauge(diskFullDesc, flag(diskIsFull(stats)))
	out.count(retriesDesc, float64(stats.Retries))
	if !states.at.IsZero() {
		out.gauge(askedDesc, float64(states.at.UnixMilli())/1e3)
		out.gauge(databaseDesc, 1, states.database.version, states.database.role)
		out.gauge(schemaDesc, float64(states.database.schema))
	}
}

func collectPool(out metricSink, stats core.PoolStats) {
	out.gauge(poolDesc, float64(stats.Idle), "idle")
	out.gauge(poolDesc, float64(stats.Acquired), "in_use")
	out.gauge(poolMaxDesc, float64(stats.Max))
	out.gauge(poolAllowed, float64(stats.Limit))
	out.count(poolMadeDesc, float64(stats.Opened))
	out.count(poolWaitDesc, stats.Waited.Seconds())
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
	out.gauge(waitingDesc, float64(s.Blocked))
	out.count(receivedDesc, float64(s.InputBytes))
	out.count(sentDesc, float64(s.OutputBytes))
	out.count(authDesc, float64(s.AuthFailures))
	out.count(protocolDesc, float64(s.ProtocolErrors))
	out.count(cutDesc, float64(s.Cut))
	collectUnknown(out, s.Unknown)
	for _, command := range s.PerCommand {
		out.count(commandsDesc, float64(command.Calls), command.Name)
		out.count(commandErrorsDesc, float64(command.Failed+command.Rejected), command.Name)
		out.count(commandSecondsDesc, command.Time.Seconds(), command.Name)
	}
}

// collectUnknown shows the commands that Redis or one of its modules has. Other names
// are words of clients, of which there is no end, and are counted together.
func collectUnknown(out metricSink, unknown []redisapi.NameCount) {
	var other uint64
	for _, u := range unknown {
		if redisapi.IsRedisCommand(u.Name) {
			out.count(unknownDesc, float64(u.Count), u.Name)
		} else {
			other += u.Count
		}
	}
	out.count(unknownDesc, float64(other), "other")
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
