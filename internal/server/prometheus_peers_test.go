//go:build peers

package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/howdah/howdah/deploy"
	"github.com/howdah/howdah/internal/test/await"
)

// scraper is a running Prometheus of the test's own.
type scraper struct {
	t       *testing.T
	address string
	log     bytes.Buffer // read it only after the end
}

// target is one of a Prometheus under test: a server, by its job.
type target struct {
	job    string
	server *running
}

// startPrometheus starts a Prometheus with the deployed rules that scrapes servers every
// two seconds. It ends with the test.
func startPrometheus(t *testing.T, targets []target, flags ...string) *scraper {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	require.NoError(t, err, "install prometheus: this test cannot run without it")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "howdah.rules.yml"), []byte(deploy.Rules()), 0o600))
	var jobs []any
	for _, each := range targets {
		jobs = append(jobs, map[string]any{
			"job_name": each.job + each.server.HTTP.String(), "authorization": map[string]any{"credentials": each.server.config.Token},
			"static_configs": []any{map[string]any{"targets": []string{each.server.HTTP.String()}, "labels": map[string]any{"job": each.job}}},
		})
	}
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
		"rule_files": []string{"howdah.rules.yml"}, "scrape_configs": jobs,
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), config, 0o600))
	args := append([]string{"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "data")}, flags...)
	for range 5 { // another process may take its port before it does
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		p := &scraper{t: t, address: free.Addr().String()}
		require.NoError(t, free.Close())
		if p.launch(program, append(args, "--web.listen-address="+p.address)) {
			return p
		}
	}
	require.Fail(t, "prometheus ends at once")
	return nil
}

// launch starts the program, and returns true once it is ready, or false if it has ended.
func (p *scraper) launch(program string, args []string) bool {
	p.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	require.NoError(p.t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if p.t.Failed() {
			p.t.Logf("prometheus:\n%s", p.log.String())
		}
	})
	ready := false
	await.True(p.t, "prometheus is ready, or ends", func() bool {
		answer, err := http.Get("http://" + p.address + "/-/ready")
		ready = err == nil && answer.StatusCode == http.StatusOK
		if err == nil {
			_ = answer.Body.Close()
		}
		select {
		case <-ended:
			ready = false
			return true
		default:
			return ready
		}
	})
	return ready
}

// api asks the HTTP interface, and fills in what the answer holds under "data".
func (p *scraper) api(path string, values url.Values, data any) {
	p.t.Helper()
	answer, err := http.Get("http://" + p.address + "/api/v1/" + path + "?" + values.Encode())
	require.NoError(p.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, answer.StatusCode, "%v: %s", values, body)
	require.NoError(p.t, json.Unmarshal(body, &struct{ Data any }{data}))
}

// hasData tells whether an expression gives a number now.
func (p *scraper) hasData(expr string) bool {
	p.t.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	p.api("query", url.Values{"query": {expr}}, &data)
	for _, sample := range data.Result {
		text, _ := sample.Value[1].(string)
		if value, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(value) {
			return true
		}
	}
	return false
}

// filled is an expression of the board as Grafana asks for it, with every variable at
// "All".
func filled(expr string) string {
	return strings.NewReplacer("$job", ".*", "$instance", ".*", "$cache", ".*", "$__rate_interval", "1m").Replace(expr)
}

// promtool understands what a server shows and what the board asks for.
func TestPromtool(t *testing.T) {
	t.Parallel()
	run := func(input string, args ...string) {
		t.Helper()
		cmd := exec.Command("promtool", args...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "promtool %v (install prometheus if it is missing)\n%s", args, out)
	}
	s := startNear(t, logged(t), time.Second)
	c := s.dial()
	for _, command := range []string{"SET k v", "GET k", "HOWDAH.FETCH absent LEASE 1000"} {
		c.send(strings.Fields(command)...)
		c.reply()
	}
	s.get("/get?key=k", "")
	_, metrics := s.get("/metrics", "")
	run(metrics, "check", "metrics")

	var rules []any
	for i, expr := range boardQueries(t) {
		rules = append(rules, map[string]any{"record": fmt.Sprint("board:", i), "expr": filled(expr)})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "board", "rules": rules}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "board.yml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	run("", "check", "rules", file)
}

// A Prometheus that asks for native histograms gets them: quantiles need no buckets.
func TestPrometheusTakesNativeHistograms(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	p := startPrometheus(t, []target{{"howdah", s}}, "--enable-feature=native-histograms")
	c := s.dial()
	const quantile = `histogram_quantile(0.99, sum(rate(howdah_call_duration_seconds{op="read"}[1m])))`
	require.Eventually(t, func() bool {
		for range 10 {
			c.send("GET", "k")
			c.reply()
		}
		return p.hasData(quantile)
	}, patience, 200*time.Millisecond)
	require.False(t, p.hasData("howdah_call_duration_seconds_bucket"))
}
