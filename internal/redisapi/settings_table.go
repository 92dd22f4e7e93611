package redisapi

import (
	"math"
	"slices"
)

// settingList is every setting of Redis 7.0.15, by family, with its default. A
// setting that is fixed shows what holds in Howdah.
func settingList() []*setting {
	return slices.Concat(dataSettings(), persistenceSettings(), replicationSettings(), clusterSettings(),
		clientSettings(), processSettings(), tlsSettings())
}

func dataSettings() []*setting {
	return []*setting{
		integer("active-defrag-cycle-max", "25", 1, 99),
		integer("active-defrag-cycle-min", "1", 1, 99),
		memorySize("active-defrag-ignore-bytes", "104857600").atLeast(1),
		integer("active-defrag-max-scan-fields", "1000", 1, math.MaxInt64),
		integer("active-defrag-threshold-lower", "10", 0, 1000),
		integer("active-defrag-threshold-upper", "100", 0, 1000),
		integer("active-expire-effort", "1", 1, 10),
		boolean("activedefrag", "no"),
		boolean("activerehashing", "yes"),
		immutable("databases", "16"),
		integer("hash-max-listpack-entries|hash-max-ziplist-entries", "512", 0, math.MaxInt64),
		memorySize("hash-max-listpack-value|hash-max-ziplist-value", "64"),
		memorySize("hll-sparse-max-bytes", "3000"),
		boolean("jemalloc-bg-thread", "yes"),
		boolean("lazyfree-lazy-eviction", "yes"),
		boolean("lazyfree-lazy-expire", "yes"),
		boolean("lazyfree-lazy-server-del", "yes"),
		boolean("lazyfree-lazy-user-del", "yes"),
		boolean("lazyfree-lazy-user-flush", "yes"),
		integer("lfu-decay-time", "1", 0, math.MaxInt32),
		integer("lfu-log-factor", "10", 0, math.MaxInt32),
		integer("list-compress-depth", "0", 0, math.MaxInt32),
		integer("list-max-listpack-size|list-max-ziplist-size", "-2", math.MinInt32, math.MaxInt32),
		memorySize("maxmemory", "0").kept(),
		memoryOrPercent("maxmemory-clients", "0").fixed(),
		integer("maxmemory-eviction-tenacity", "10", 0, 100),
		choice("maxmemory-policy", "noeviction", "volatile-lru volatile-lfu volatile-random volatile-ttl allkeys-lru allkeys-lfu allkeys-random noeviction").kept(),
		integer("maxmemory-samples", "5", 1, math.MaxInt32),
		integer("set-max-intset-entries", "512", 0, math.MaxInt64),
		memorySize("stream-node-max-bytes", "4096"),
		integer("stream-node-max-entries", "100", 0, math.MaxInt64),
		integer("tracking-table-max-keys", "1000000", 0, math.MaxInt64),
		integer("zset-max-listpack-entries|zset-max-ziplist-entries", "128", 0, math.MaxInt64),
		memorySize("zset-max-listpack-value|zset-max-ziplist-value", "64"),
	}
}

func persistenceSettings() []*setting {
	return []*setting{
		boolean("aof-disable-auto-gc", "no"),
		boolean("aof-load-truncated", "yes"),
		boolean("aof-rewrite-incremental-fsync", "yes"),
		boolean("aof-timestamp-enabled", "no"),
		boolean("aof-use-rdb-preamble", "yes"),
		immutable("aof_rewrite_cpulist", ""),
		immutable("appenddirname", "appendonlydir"),
		immutable("appendfilename", "appendonly.aof"),
		choice("appendfsync", "everysec", "everysec always no").fixed(),
		boolean("appendonly", "no").fixed(),
		memorySize("auto-aof-rewrite-min-size", "67108864"),
		integer("auto-aof-rewrite-percentage", "100", 0, math.MaxInt32),
		protected("dbfilename", ""),
		protected("dir", ""),
		boolean("no-appendfsync-on-rewrite", "no"),
		choice("propagation-error-behavior", "ignore", "ignore panic panic-on-replicas"),
		boolean("rdb-del-sync-files", "no"),
		boolean("rdb-save-incremental-fsync", "yes"),
		immutable("rdbchecksum", "yes"),
		boolean("rdbcompression", "yes"),
		choice("sanitize-dump-payload", "no", "no yes clients"),
		text("save", "").fixed(),
		choice("shutdown-on-sigint", "default", "default save nosave now force"),
		choice("shutdown-on-sigterm", "default", "default save nosave now force"),
		integer("shutdown-timeout", "10", 0, math.MaxInt32),
		boolean("stop-writes-on-bgsave-error", "yes"),
	}
}

func replicationSettings() []*setting {
	return []*setting{
		text("masterauth", "").fixed(),
		text("masteruser", "").fixed(),
		integer("min-replicas-max-lag|min-slaves-max-lag", "10", 0, math.MaxInt32),
		integer("min-replicas-to-write|min-slaves-to-write", "0", 0, math.MaxInt32).fixed(),
		memorySize("repl-backlog-size", "1048576").atLeast(1),
		integer("repl-backlog-ttl", "3600", 0, math.MaxInt64),
		boolean("repl-disable-tcp-nodelay", "no"),
		choice("repl-diskless-load", "disabled", "disabled on-empty-db swapdb"),
		boolean("repl-diskless-sync", "yes"),
		integer("repl-diskless-sync-delay", "5", 0, math.MaxInt32),
		integer("repl-diskless-sync-max-replicas", "0", 0, math.MaxInt32),
		integer("repl-ping-replica-period|repl-ping-slave-period", "10", 1, math.MaxInt32),
		integer("repl-timeout", "60", 1, math.MaxInt32),
		text("replica-announce-ip|slave-announce-ip", ""),
		integer("replica-announce-port|slave-announce-port", "0", 0, math.MaxUint16),
		boolean("replica-announced", "yes"),
		boolean("replica-ignore-disk-write-errors", "no"),
		boolean("replica-ignore-maxmemory|slave-ignore-maxmemory", "yes"),
		boolean("replica-lazy-flush|slave-lazy-flush", "no"),
		integer("replica-priority|slave-priority", "100", 0, math.MaxInt32),
		boolean("replica-read-only|slave-read-only", "yes"),
		boolean("replica-serve-stale-data|slave-serve-stale-data", "yes"),
		immutable("replicaof|slaveof", ""),
	}
}

func clusterSettings() []*setting {
	return []*setting{
		boolean("cluster-allow-pubsubshard-when-down", "yes"),
		boolean("cluster-allow-reads-when-down", "no"),
		boolean("cluster-allow-replica-migration", "yes"),
		integer("cluster-announce-bus-port", "0", 0, math.MaxUint16),
		text("cluster-announce-hostname", "").fixed(),
		text("cluster-announce-ip", ""),
		integer("cluster-announce-port", "0", 0, math.MaxUint16),
		integer("cluster-announce-tls-port", "0", 0, math.MaxUint16),
		immutable("cluster-config-file", "nodes.conf"),
		immutable("cluster-enabled", "no"),
		memorySize("cluster-link-sendbuf-limit", "0"),
		integer("cluster-migration-barrier", "1", 0, math.MaxInt32),
		integer("cluster-node-timeout", "15000", 0, math.MaxInt64),
		immutable("cluster-port", "0"),
		choice("cluster-preferred-endpoint-type", "ip", "ip hostname unknown-endpoint"),
		boolean("cluster-replica-no-failover|cluster-slave-no-failover", "no"),
		integer("cluster-replica-validity-factor|cluster-slave-validity-factor", "10", 0, math.MaxInt32),
		boolean("cluster-require-full-coverage", "yes"),
	}
}

func clientSettings() []*setting {
	return []*setting{
		choice("acl-pubsub-default", "resetchannels", "allchannels resetchannels").fixed(),
		immutable("aclfile", ""),
		integer("acllog-max-len", "128", 0, math.MaxInt64),
		text("bind", "* -::*").fixed(),
		integer("busy-reply-threshold|lua-time-limit", "5000", 0, math.MaxInt64),
		text("client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"),
		memorySize("client-query-buffer-limit", "1073741824").atLeast(1 << 20).fixed(),
		integer("latency-monitor-threshold", "0", 0, math.MaxInt64),
		boolean("latency-tracking", "yes"),
		newSetting(percentilesSetting, "50 99 99.9", percentileListSetting),
		integer("maxclients", "10000", 1, math.MaxUint32).fixed(),
		newSetting("notify-keyspace-events", "", eventSetting),
		integer("port", "0", 0, math.MaxUint16).fixed(),
		boolean("protected-mode", "no").fixed(),
		memorySize("proto-max-bulk-len", "536870912").atLeast(1 << 20).fixed(),
		text("requirepass", "").fixed(),
		integer("slowlog-log-slower-than", "10000", -1, math.MaxInt64),
		integer("slowlog-max-len", "128", 0, math.MaxInt64),
		immutable("tcp-backlog", "511"),
		integer("tcp-keepalive", "300", 0, math.MaxInt32),
		integer("timeout", "0", 0, math.MaxInt32),
		immutable("unixsocket", ""),
	}
}

func processSettings() []*setting {
	return []*setting{
		immutable("always-show-logo", "no"),
		immutable("bgsave_cpulist", ""),
		text("bind-source-addr", "").fixed(),
		immutable("bio_cpulist", ""),
		boolean("crash-log-enabled", "yes"),
		boolean("crash-memcheck-enabled", "yes"),
		immutable("daemonize", "no"),
		immutable("disable-thp", "yes"),
		boolean("dynamic-hz", "yes"),
		immutable("enable-debug-command", "no"),
		immutable("enable-module-command", "no"),
		immutable("enable-protected-configs", "no"),
		integer("hz", "10", 0, math.MaxInt32),
		text("ignore-warnings", ""),
		immutable("io-threads", "1"),
		immutable("io-threads-do-reads", "no"),
		immutable("logfile", ""),
		choice("loglevel", "notice", "debug verbose notice warning"),
		choice("oom-score-adj", "no", "no yes relative absolute").fixed(),
		text("oom-score-adj-values", "0 200 800").fixed(),
		immutable("pidfile", ""),
		text("proc-title-template", "{title} {listen-addr} {server-mode}"),
		immutable("server_cpulist", ""),
		immutable("set-proc-title", "yes"),
		immutable("socket-mark-id", "0"),
		immutable("supervised", "no"),
		immutable("syslog-enabled", "no"),
		immutable("syslog-facility", "local0"),
		immutable("syslog-ident", "redis"),
		immutable("unixsocketperm", "0"),
	}
}

func tlsSettings() []*setting {
	return []*setting{
		choice("tls-auth-clients", "yes", "no yes optional").fixed(),
		text("tls-ca-cert-dir", "").fixed(),
		text("tls-ca-cert-file", "").fixed(),
		text("tls-cert-file", "").fixed(),
		text("tls-ciphers", "").fixed(),
		text("tls-ciphersuites", "").fixed(),
		text("tls-client-cert-file", "").fixed(),
		text("tls-client-key-file", "").fixed(),
		text("tls-client-key-file-pass", "").fixed(),
		boolean("tls-cluster", "no").fixed(),
		text("tls-dh-params-file", "").fixed(),
		text("tls-key-file", "").fixed(),
		text("tls-key-file-pass", "").fixed(),
		integer("tls-port", "0", 0, math.MaxUint16).fixed(),
		boolean("tls-prefer-server-ciphers", "no").fixed(),
		text("tls-protocols", "").fixed(),
		boolean("tls-replication", "no").fixed(),
		integer("tls-session-cache-size", "20480", 0, math.MaxInt32).fixed(),
		integer("tls-session-cache-timeout", "300", 0, math.MaxInt32).fixed(),
		boolean("tls-session-caching", "yes").fixed(),
	}
}
