package redisapi

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// infoSection is one part of INFO.
type infoSection struct {
	name      string
	byDefault bool
	howdah    bool // Redis has no such section
	write     func(w *infoWriter, t *task)
}

func infoSections() []infoSection {
	return []infoSection{
		{"Server", true, false, infoServer},
		{"Clients", true, false, infoClients},
		{"Memory", true, false, infoMemory},
		{"Persistence", true, false, infoPersistence},
		{"Stats", true, false, infoStats},
		{"Replication", true, false, infoReplication},
		{"CPU", true, false, infoCPU},
		{"Modules", true, false, func(*infoWriter, *task) {}},
		{"Commandstats", false, false, infoCommands},
		{"Errorstats", true, false, infoErrors},
		{"Unknowncommands", true, false, infoUnknown},
		{"Latencystats", false, false, infoLatency},
		{"Cluster", true, false, infoCluster},
		{"Keyspace", true, false, infoKeyspace},
		{"Near", false, true, infoNear},
	}
}

// wantedSections returns the sections that INFO was asked for, in the order of the
// table.
func wantedSections(args [][]byte) []infoSection {
	wanted := make(map[string]bool)
	for _, arg := range args[1:] {
		wanted[strings.ToLower(string(arg))] = true
	}
	all := wanted["all"] || wanted["everything"]
	byDefault := wanted["default"] || len(args) == 1
	return slices.DeleteFunc(infoSections(), func(section infoSection) bool {
		return !all && !(byDefault && section.byDefault) && !wanted[strings.ToLower(section.name)]
	})
}

// infoIsFree reports whether INFO can answer without asking PostgreSQL.
func infoIsFree(e *Engine, args [][]byte) bool {
	return !slices.ContainsFunc(wantedSections(args), func(section infoSection) bool {
		return section.name == "Keyspace" || section.name == "Memory" && e.budgets.stale()
	})
}

func info(t *task, args [][]byte) error {
	writeInfo(t, wantedSections(args))
	return nil
}

func writeInfo(t *task, sections []infoSection) {
	var w infoWriter
	for _, section := range sections {
		if w.Len() > 0 {
			w.WriteString("\r\n")
		}
		w.WriteString("# " + section.name + "\r\n")
		section.write(&w, t)
	}
	t.out = resp.AppendVerbatim(t.out, t.conn.proto, w.String())
}

type infoWriter struct{ strings.Builder }

func (w *infoWriter) field(name string, value any) {
	fmt.Fprintf(w, "%s:%v\r\n", name, value)
}

// zeros writes fields that have no meaning here, as 0.
func (w *infoWriter) zeros(names string) {
	for _, name := range strings.Fields(names) {
		w.field(name, 0)
	}
}

func infoServer(w *infoWriter, t *task) {
	e := t.conn.engine
	uptime := time.Since(e.started)
	executable, _ := os.Executable()
	w.field("redis_version", e.options.RedisVersion)
	w.field("howdah_version", e.options.Version)
	w.field("redis_git_sha1", "00000000")
	w.field("redis_git_dirty", 0)
	w.field("redis_build_id", "howdah")
	w.field("redis_mode", e.mode())
	w.field("os", runtime.GOOS+" "+runtime.GOARCH)
	w.field("arch_bits", 64)
	w.field("process_id", os.Getpid())
	w.field("run_id", e.runID)
	w.field("tcp_port", t.conn.localPort())
	w.field("server_time_usec", time.Now().UnixMicro())
	w.field("uptime_in_seconds", int64(uptime.Seconds()))
	w.field("uptime_in_days", int64(uptime.Hours()/24))
	w.field("hz", 10)
	w.field("configured_hz", 10)
	w.field("lru_clock", 0)
	w.field("executable", executable)
	w.field("config_file", "")
	w.field("io_threads_active", 0)
}

func infoClients(w *infoWriter, t *task) {
	w.field("connected_clients", t.conn.engine.Stats().Clients)
	w.field("cluster_connections", 0)
	w.field("maxclients", t.conn.engine.options.MaxClients)
	w.zeros("client_recent_max_input_buffer client_recent_max_output_buffer")
	w.field("blocked_clients", t.conn.engine.Stats().Blocked)
	w.field("tracking_clients", t.conn.engine.options.DB.Tracking().Stats().Clients)
	w.field("clients_in_timeout_table", t.conn.engine.options.DB.Waiters().Timed())
}

// memory is the memory of this process, in bytes. The data is in PostgreSQL.
type memory struct{ used, resident int64 }

func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return memory{used: value(0), resident: value(1) - value(2)}
}

func infoMemory(w *infoWriter, t *task) {
	t.refreshBudgets()
	m, kept := readMemory(), t.conn.engine.keptScripts()
	w.field("used_memory", m.used)
	w.field("used_memory_human", human(m.used))
	w.field("used_memory_rss", m.resident)
	w.field("used_memory_rss_human", human(m.resident))
	w.field("used_memory_peak", m.resident)
	w.field("used_memory_peak_human", human(m.resident))
	w.field("used_memory_peak_perc", "0.00%")
	w.field("used_memory_overhead", m.used)
	w.zeros("used_memory_startup used_memory_dataset")
	w.field("used_memory_dataset_perc", "0.00%")
	w.field("allocator_allocated", m.used)
	w.field("allocator_active", m.resident)
	w.field("allocator_resident", m.resident)
	w.zeros("total_system_memory used_memory_lua used_memory_vm_eval")
	w.field("used_memory_scripts_eval", kept.scriptBytes)
	w.field("number_of_cached_scripts", kept.scripts)
	w.field("number_of_functions", kept.functions)
	w.field("number_of_libraries", kept.libraries)
	w.zeros("used_memory_vm_functions used_memory_vm_total")
	w.field("used_memory_functions", kept.functionBytes)
	w.field("used_memory_scripts", kept.scriptBytes+kept.functionBytes)
	budget := t.conn.engine.budgets.of(t.conn.database)
	w.field("maxmemory", budget.maxBytes)
	w.field("maxmemory_human", human(budget.maxBytes))
	w.field("maxmemory_policy", budget.inForce())
	w.field("mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(m.resident)/float64(max(m.used, 1))))
	w.zeros("mem_fragmentation_bytes mem_not_counted_for_evict mem_replication_backlog mem_total_replication_buffers " +
		"mem_clients_slaves mem_clients_normal mem_cluster_links mem_aof_buffer")
	w.field("mem_allocator", "go")
	w.zeros("active_defrag_running lazyfree_pending_objects lazyfreed_objects")
}

func human(n int64) string {
	const units = "BKMGT"
	f, unit := float64(n), 0
	for f >= 1024 && unit < len(units)-1 {
		f, unit = f/1024, unit+1
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + "B"
	}
	return fmt.Sprintf("%.2f%c", f, units[unit])
}

func infoPersistence(w *infoWriter, t *task) {
	w.zeros("loading async_loading current_cow_peak current_cow_size current_cow_size_age rdb_changes_since_last_save rdb_bgsave_in_progress")
	w.field("rdb_last_save_time", t.conn.engine.saved.Load())
	w.field("rdb_last_bgsave_status", "ok")
	w.field("rdb_last_bgsave_time_sec", -1)
	w.field("rdb_current_bgsave_time_sec", -1)
	w.zeros("rdb_saves rdb_last_cow_size rdb_last_load_keys_expired rdb_last_load_keys_loaded aof_enabled aof_rewrite_in_progress aof_rewrite_scheduled")
	w.field("aof_last_rewrite_time_sec", -1)
	w.field("aof_current_rewrite_time_sec", -1)
	w.field("aof_last_bgrewrite_status", "ok")
	w.field("aof_last_write_status", "ok")
	w.zeros("aof_last_cow_size module_fork_in_progress module_fork_last_cow_size")
}

func infoStats(w *infoWriter, t *task) {
	e := t.conn.engine
	stats := e.Stats()
	hits, misses := e.lookups()
	seconds := max(time.Since(time.Unix(0, e.stats.since.Load())).Seconds(), 1)
	w.field("total_connections_received", stats.Connections)
	w.field("total_commands_processed", stats.Commands)
	w.field("instantaneous_ops_per_sec", int64(float64(stats.Commands)/seconds)) // since RESETSTAT
	w.field("total_net_input_bytes", stats.InputBytes)
	w.field("total_net_output_bytes", stats.OutputBytes)
	w.zeros("total_net_repl_input_bytes total_net_repl_output_bytes")
	w.field("instantaneous_input_kbps", fmt.Sprintf("%.2f", float64(stats.InputBytes)/1024/seconds))
	w.field("instantaneous_output_kbps", fmt.Sprintf("%.2f", float64(stats.OutputBytes)/1024/seconds))
	// Rows that the upkeep of this process removed, in all caches.
	upkeep := e.options.DB.Stats().Upkeep
	w.zeros("rejected_connections sync_full sync_partial_ok sync_partial_err")
	w.field("expired_keys", upkeep.Expired)
	w.field("expired_stale_perc", "0.00")
	w.zeros("expired_time_cap_reached_count expire_cycle_cpu_milliseconds")
	w.field("evicted_keys", upkeep.Evicted)
	w.zeros("evicted_clients total_eviction_exceeded_time current_eviction_exceeded_time")
	w.field("keyspace_hits", hits)
	w.field("keyspace_misses", misses)
	messages := e.options.DB.Hub().Stats()
	w.field("pubsub_channels", messages.Names[pubsub.Channel])
	w.field("pubsub_patterns", messages.Names[pubsub.Pattern])
	w.field("pubsubshard_channels", messages.Names[pubsub.Shard])
	w.zeros("latest_fork_usec total_forks migrate_cached_sockets slave_expires_tracked_keys " +
		"active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses")
	tracking := e.options.DB.Tracking().Stats()
	w.field("tracking_total_keys", tracking.Keys)
	w.field("tracking_total_items", tracking.Items)
	w.field("tracking_total_prefixes", tracking.Prefixes)
	w.field("unexpected_error_replies", 0)
	w.field("total_error_replies", stats.errors())
	w.zeros("dump_payload_sanitizations total_reads_processed total_writes_processed io_threaded_reads_processed io_threaded_writes_processed")
}

func infoCluster(w *infoWriter, t *task) {
	enabled := 0
	if t.conn.engine.options.Cluster.Enabled {
		enabled = 1
	}
	w.field("cluster_enabled", enabled)
}

// lookups returns the hits and misses of reads in this process, whether by Redis
// commands, HTTP or Go.
func (e *Engine) lookups() (hits, misses uint64) {
	reads := make(map[string]bool)
	for _, verb := range []*verb.Verb{
		statement.Get, statement.GetEntry, statement.Stat, statement.GetMany, statement.StatMany,
		statement.GetDelete, statement.GetExpire,
	} {
		reads[verb.String()] = true
	}
	for _, cache := range e.options.DB.Stats().Caches {
		for _, verb := range cache.Verbs {
			if reads[verb.Verb] {
				hits += verb.Hits
				misses += verb.Misses
			}
		}
	}
	return hits, misses
}

// errors is the number of error replies.
func (s *Stats) errors() (total uint64) {
	for _, e := range s.Errors {
		total += e.Count
	}
	return total
}

func infoReplication(w *infoWriter, t *task) {
	w.field("role", "master")
	w.field("connected_slaves", 0)
	w.field("master_failover_state", "no-failover")
	w.field("master_replid", t.conn.engine.runID)
	w.field("master_replid2", strings.Repeat("0", 40))
	w.field("master_repl_offset", 0)
	w.field("second_repl_offset", -1)
	w.zeros("repl_backlog_active repl_backlog_size repl_backlog_first_byte_offset repl_backlog_histlen")
}

func infoCPU(w *infoWriter, _ *task) {
	samples := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(samples)
	w.field("used_cpu_sys", "0.000000")
	w.field("used_cpu_user", fmt.Sprintf("%.6f", samples[0].Value.Float64()))
	w.field("used_cpu_sys_children", "0.000000")
	w.field("used_cpu_user_children", "0.000000")
}

func infoCommands(w *infoWriter, t *task) {
	for _, c := range t.conn.engine.Stats().PerCommand {
		usec := c.Time.Microseconds()
		w.field("cmdstat_"+c.Name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			c.Calls, usec, float64(usec)/float64(max(c.Calls, 1)), c.Rejected, c.Failed))
	}
}

func infoErrors(w *infoWriter, t *task) {
	for _, e := range t.conn.engine.Stats().Errors {
		w.field("errorstat_"+e.Name, fmt.Sprintf("count=%d", e.Count))
	}
}

// infoUnknown lists the commands that clients sent and Howdah lacks.
func infoUnknown(w *infoWriter, t *task) {
	for _, u := range t.conn.engine.Stats().Unknown {
		w.field("unknown_"+u.Name, fmt.Sprintf("count=%d", u.Count))
	}
}

func infoKeyspace(w *infoWriter, t *task) {
	for number, keys := range t.conn.engine.keyspace.get(t.ctx, t.conn.engine) {
		if keys.Entries > 0 {
			w.field(fmt.Sprintf("db%d", number),
				fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d", keys.Entries, keys.WithTTL, keys.MeanTTL.Milliseconds()))
		}
	}
}

// Keys are counted at most once in keyspaceAge. If counting takes longer than
// keyspaceWait, INFO shows PostgreSQL's estimate.
const (
	keyspaceAge  = 10 * time.Second
	keyspaceWait = 500 * time.Millisecond
)

// keyspaceCache holds the numbers of keys that were counted last.
type keyspaceCache struct {
	lock chan struct{} // has room for one: a mutex with a timeout
	at   time.Time
	keys [Databases]core.TTLCount
}

func (k *keyspaceCache) get(ctx context.Context, e *Engine) [Databases]core.TTLCount {
	ctx, cancel := context.WithTimeout(ctx, 2*keyspaceWait)
	defer cancel()
	select {
	case k.lock <- struct{}{}:
		defer func() { <-k.lock }()
	case <-ctx.Done():
		return [Databases]core.TTLCount{}
	}
	if !k.at.IsZero() && time.Since(k.at) < keyspaceAge {
		return k.keys
	}
	if e.survey(ctx) != nil {
		return k.keys
	}
	counting, stop := context.WithTimeout(ctx, keyspaceWait)
	defer stop()
	for number, cache := range e.caches {
		if e.exists[number].Load() {
			k.keys[number] = countKeys(counting, ctx, cache)
		}
	}
	k.at = time.Now()
	return k.keys
}

// countKeys counts keys until the context counting ends, and then returns the
// estimate, which has no TTLs.
func countKeys(counting, ctx context.Context, cache *core.Cache) core.TTLCount {
	n, err := cache.CountTTLs(counting)
	if err == nil {
		return n
	}
	if n.Entries, err = cache.Estimate(ctx); err != nil {
		return core.TTLCount{}
	}
	return n
}
