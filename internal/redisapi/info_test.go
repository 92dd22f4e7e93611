package redisapi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// infoFields parses the fields of INFO, and checks that every line is a field.
func infoFields(t *testing.T, reply string) map[string]string {
	t.Helper()
	_, text, _ := strings.Cut(reply, "\r\n")
	line := regexp.MustCompile(`^([^:]+):(.*)$`)
	fields := make(map[string]string)
	for _, l := range strings.Split(strings.TrimSpace(text), "\r\n") {
		if l == "" || strings.HasPrefix(l, "# ") {
			continue
		}
		match := line.FindStringSubmatch(l)
		if match == nil {
			t.Errorf("not a field: %q", l)
			continue
		}
		fields[match[1]] = match[2]
	}
	return fields
}

func TestInfo(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Version: "1.2.3", MaxClients: 77})
	c := dial(t, s.addr())
	c.want(resp.OK, "SET", "k", "v")
	c.want(bulk("v"), "GET", "k")
	c.want("$-1\r\n", "GET", "absent")
	c.want("-ERR value is not an integer or out of range\r\n", "INCR", "k")
	c.want("-ERR wrong number of arguments for 'incr' command\r\n", "INCR")
	c.want("+OK\r\n", "CLIENT", "SETNAME", "me")
	fields := infoFields(t, c.do("INFO", "everything"))
	_, port, _ := strings.Cut(s.addr(), ":")
	for name, want := range map[string]string{
		"redis_version": CompatibleVersion, "howdah_version": "1.2.3", "redis_mode": "standalone", "tcp_port": port,
		"connected_clients": "1", "maxclients": "77", "loading": "0", "role": "master", "connected_slaves": "0",
		"maxmemory": "0", "maxmemory_policy": "noeviction", "cluster_enabled": "0", "total_connections_received": "1",
		"keyspace_hits": "1", "keyspace_misses": "1", "aof_enabled": "0", "rdb_last_bgsave_status": "ok",
		"total_commands_processed": "5", "db0": "keys=1,expires=0,avg_ttl=0",
	} {
		if fields[name] != want {
			t.Errorf("%s is %q, want %q", name, fields[name], want)
		}
	}
	// What redis_exporter and clients read besides.
	for _, name := range strings.Fields(`run_id uptime_in_seconds process_id blocked_clients used_memory used_memory_rss used_memory_peak
		used_memory_lua used_memory_overhead used_memory_startup used_memory_dataset used_memory_scripts mem_fragmentation_ratio
		mem_clients_normal mem_clients_slaves mem_not_counted_for_evict lazyfree_pending_objects rdb_changes_since_last_save
		rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec aof_rewrite_in_progress
		aof_last_rewrite_time_sec pubsub_channels pubsub_patterns latest_fork_usec master_repl_offset rejected_connections
		total_net_input_bytes total_net_output_bytes expired_keys evicted_keys used_cpu_sys used_cpu_user instantaneous_ops_per_sec`) {
		if fields[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if got := fields["cmdstat_incr"]; !regexp.MustCompile(`^calls=1,usec=\d+,usec_per_call=[\d.]+,rejected_calls=1,failed_calls=1$`).MatchString(got) {
		t.Errorf("cmdstat_incr is %q", got)
	}
	if _, ok := fields["cmdstat_client|setname"]; !ok {
		t.Error("subcommands are not counted apart")
	}
	if n, _ := strconv.Atoi(fields["total_net_input_bytes"]); n == 0 {
		t.Error("no input was counted")
	}
	if sections := c.do("INFO", "server", "KEYSPACE"); strings.Count(sections, "# ") != 2 {
		t.Errorf("INFO server KEYSPACE: %q", sections)
	}
	if _, ok := infoFields(t, c.do("INFO"))["cmdstat_incr"]; ok {
		t.Error("INFO without a section shows command statistics")
	}
	c.want(resp.OK, "CONFIG", "RESETSTAT")
	if fields := infoFields(t, c.do("INFO", "stats")); fields["total_commands_processed"] != "1" {
		t.Errorf("after RESETSTAT %s commands are counted", fields["total_commands_processed"])
	}
}

func TestInfoKeyspace(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	for i := range 3 {
		c.want(resp.OK, "SET", fmt.Sprint("stays", i), "v")
	}
	c.want(resp.OK, "SET", "goes", "v", "EX", "1000")
	c.want(resp.OK, "SET", "goes later", "v", "EX", "3000")
	c.want(resp.OK, "SELECT", "1")
	c.want(resp.OK, "SET", "stays", "v")
	fields := infoFields(t, c.do("INFO", "keyspace"))
	var keys, expires, ttl int
	if _, err := fmt.Sscanf(fields["db0"], "keys=%d,expires=%d,avg_ttl=%d", &keys, &expires, &ttl); err != nil {
		t.Fatalf("db0:%s: %v", fields["db0"], err)
	}
	if keys != 5 || expires != 2 || ttl <= 1_900_000 || ttl > 2_000_000 {
		t.Errorf("db0:%s for three keys without a TTL, one with 1000 s and one with 3000 s", fields["db0"])
	}
	if want := "keys=1,expires=0,avg_ttl=0"; fields["db1"] != want {
		t.Errorf("db1:%s, want %s", fields["db1"], want)
	}
}
