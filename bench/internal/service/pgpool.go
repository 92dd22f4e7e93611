package service

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/howdah/howdah/bench/internal/machine"
)

// StartPgPool runs pgpool-II in front of a PostgreSQL that listens on a Unix
// socket which trusts us, with or without its query cache in shared memory.
// cached names the tables whose results may be kept: pgpool-II leaves UNLOGGED
// ones out unless they are named.
func StartPgPool(ctx context.Context, dir string, pg *PostgresServer, connections int, cache bool, cached string) (*Server, error) {
	path, err := PgPool.Find()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(pg.SocketURL)
	if err != nil {
		return nil, err
	}
	socket := u.Query().Get("host")
	if !strings.HasPrefix(socket, "/") {
		return nil, fmt.Errorf("pgpool-II is put in front of a PostgreSQL that this program starts; leave --database-url out")
	}
	backendPort := u.Query().Get("port")
	if backendPort == "" {
		backendPort = "5432"
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	control, err := freeAddr()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	_, controlPort, _ := net.SplitHostPort(control)
	if err := os.MkdirAll(filepath.Join(dir, "oids"), 0o755); err != nil {
		return nil, err
	}
	onOff := map[bool]string{true: "on", false: "off"}[cache]
	var text strings.Builder
	for _, s := range [][2]string{
		{"backend_clustering_mode", "raw"},
		{"listen_addresses", "127.0.0.1"}, {"port", port}, {"socket_dir", dir},
		{"pcp_listen_addresses", "127.0.0.1"}, {"pcp_port", controlPort}, {"pcp_socket_dir", dir}, {"wd_ipc_socket_dir", dir},
		{"backend_hostname0", socket}, {"backend_port0", backendPort}, {"backend_weight0", "1"},
		{"num_init_children", fmt.Sprint(connections)}, {"max_pool", "1"},
		{"pid_file_name", filepath.Join(dir, "pgpool.pid")}, {"logdir", dir}, {"pool_passwd", ""},
		{"enable_pool_hba", "off"}, {"log_min_messages", "error"},
		{"memory_cache_enabled", onOff}, {"memqcache_method", "shmem"}, {"memqcache_total_size", "256MB"},
		{"memqcache_oiddir", filepath.Join(dir, "oids")}, {"cache_safe_memqcache_table_list", cached},
	} {
		fmt.Fprintf(&text, "%s = '%s'\n", s[0], s[1])
	}
	config, hba, control0 := filepath.Join(dir, "pgpool.conf"), filepath.Join(dir, "pool_hba.conf"), filepath.Join(dir, "pcp.conf")
	for name, content := range map[string]string{config: text.String(), hba: "", control0: ""} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	own, err := launch(ctx, addr, path, "-n", "-f", config, "-a", hba, "-F", control0)
	if err != nil {
		return nil, err
	}
	return &Server{Addr: addr, Version: PgPool.Version(), Process: machine.Process{PID: own.cmd.Process.Pid}, own: own}, nil
}
