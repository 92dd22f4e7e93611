//go:build peers

package redisapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/peers"
)

// startRedis starts a redis-server for the test and returns its address.
func startRedis(t *testing.T, args ...string) string {
	t.Helper()
	return peers.Redis(t, append([]string{"--appendonly", "no"}, args...)...).Addr
}

// startRedisCluster starts a redis-server that is a cluster of one node, and returns its address.
func startRedisCluster(t *testing.T) string {
	t.Helper()
	addr := startRedis(t, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1")
	c := dial(t, addr)
	c.want("+OK\r\n", "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	await.True(t, "the cluster is ready", func() bool { return strings.Contains(c.do("CLUSTER", "INFO"), "cluster_state:ok") })
	return addr
}

func (tr *transcript) startRedis(t *testing.T) string {
	t.Helper()
	if tr.inCluster() {
		return startRedisCluster(t)
	}
	return startRedis(t, "--requirepass", tr.password())
}

// TestTranscriptsOfRedis compares the recorded replies with redis-server, or
// records them.
func TestTranscriptsOfRedis(t *testing.T) {
	t.Parallel()
	for _, path := range transcripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			tr := readTranscript(t, path)
			var redis, howdah [2][]string
			for i, proto := range []int{2, 3} {
				redis[i] = tr.play(t, tr.startRedis(t), proto)
				if *update {
					howdah[i] = tr.play(t, serve(t, tr.options()).addr(), proto)
					continue
				}
				tr.compare(t, "", proto, redis[i])
			}
			if *update {
				tr.record(t, redis, howdah)
			}
		})
	}
}

// record writes the transcript with the replies that were given.
func (tr *transcript) record(t *testing.T, redis, howdah [2][]string) {
	t.Helper()
	var out strings.Builder
	write := func(server string, two, three string) {
		if two == three {
			fmt.Fprintf(&out, "%s= %q\n", server, two)
		} else {
			fmt.Fprintf(&out, "%s2= %q\n%s3= %q\n", server, two, server, three)
		}
	}
	for i, s := range tr.steps {
		for _, line := range s.before {
			out.WriteString(line + "\n")
		}
		if s.mask != "" {
			out.WriteString("mask " + s.mask + "\n")
		}
		out.WriteString(s.line + "\n")
		write("", redis[0][i], redis[1][i])
		if redis[0][i] != howdah[0][i] || redis[1][i] != howdah[1][i] {
			if s.why != "" {
				out.WriteString("why " + s.why + "\n")
			}
			write("howdah", howdah[0][i], howdah[1][i])
		}
	}
	if err := os.WriteFile(tr.path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
