//go:build peers

package session_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/peers"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// The same verbs through a real pgbouncer, each transaction on any connection.
func TestBehindPgbouncer(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	url := pgbouncer(t, server.NewURL())
	m, _ := openURL(t, url, session.Options{})
	verbs(t, m)
	reader, _ := openURL(t, url, session.Options{ReadURLs: []string{url}})
	running(t, reader)
	s := create(t, m, session.Start{User: "bob", Payload: []byte("{}")})
	eventually(t, "reads go where ReadURLs say", func() bool {
		require.Equal(t, s, get(t, reader, s.Token()))
		return reader.Stats().Standbys[0].Served > 0
	})
	together(8, func(int) {
		s := create(t, m, session.Start{})
		for range 5 {
			_, _, err := m.Merge(t.Context(), s.Token(), nil)
			require.NoError(t, err)
			get(t, m, s.Token())
		}
	})
}

// pgbouncer starts one in transaction mode, with two connections to share, and
// returns the URL of the database through it.
func pgbouncer(t *testing.T, databaseURL string) string {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "pgbouncer")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))
	file := filepath.Join(dir, "pgbouncer.ini")
	args := func(port string) []string {
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `[databases]
* = host=%s port=%d user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
`, config.Host, config.Port, config.User, config.Password, port), 0o644))
		if os.Geteuid() == 0 { // it refuses to run as root
			return []string{"-u", "postgres", file}
		}
		return []string{file}
	}
	address := peers.Start(t, "pgbouncer", peers.Says("process up"), args).Addr
	u := url.URL{Scheme: "postgres", User: url.User(config.User), Host: address, Path: "/" + config.Database,
		RawQuery: "sslmode=disable&pooler=transaction"}
	return u.String()
}
