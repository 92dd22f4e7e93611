//go:build peers

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

const several = "needs a database on several servers"

// silent are the expressions that may give nothing in this test, and why.
var silent = map[string]string{
	"HowdahHitRatioFell": "compares with a day ago; its unit test has two days",
	`max by (resource) (howdah_cost_share{job=~"$job"})`: "needs two measurements that are a minute apart",

	"HowdahDatabaseServerDown": several, `max by (server) (howdah_database_server_entries{job=~"$job"})`: several,
	`max by (server) (howdah_database_server_bytes{job=~"$job"})`:                          several,
	`min(max by (server) (howdah_database_server_up{job=~"$job", instance=~"$instance"}))`: several,
}

// TestObserved lets a real Prometheus observe three servers of two databases under load,
// and through one fault after another, until each expression of the board and of the
// rules has given data.
func TestObserved(t *testing.T) {
	t.Parallel()
	began := time.Now()
	o := startObserved(t)
	o.await("load", o.touch, o.except()...)
	t.Logf("load: %v", time.Since(began).Round(time.Millisecond))
	for _, fault := range o.faults() {
		began := time.Now()
		end := fault.begin()
		o.await(fault.name, fault.keep, fault.alerts...)
		if end != nil {
			end()
		}
		t.Logf("%s: %v", fault.name, time.Since(began).Round(time.Millisecond))
	}
	for name := range o.pending {
		require.Contains(t, silent, name, "no data from %s", o.pending[name])
	}
	o.checkAnnotations()
}

// observed is the experiment: "one" serves the first database. "two" and "leaving" serve
// the second, and "leaving" leads its upkeep at first.
type observed struct {
	*scraper
	first, second     *pgtest.Server
	one, two, leaving *running
	sessions          map[*running]string // a token each
	pending           map[string]string   // expressions that have given nothing yet, those of alerts by name
}

const observedTimeout = 20 * time.Second // of calls, which a frozen database delays

func startObserved(t *testing.T) *observed {
	o := &observed{scraper: &scraper{t: t}, sessions: make(map[*running]string), pending: make(map[string]string)}
	settings := []string{"fsync", "off", "shared_preload_libraries", "pg_stat_statements"}
	o.first, o.second = pgtest.Own(t, settings...), pgtest.Own(t, settings...)
	for _, database := range []*pgtest.Server{o.first, o.second} {
		database.NewURL()
		o.super(database, "CREATE EXTENSION pg_stat_statements; GRANT pg_read_all_stats TO howdah")
		execute(t, database.URL(), `
			SELECT howdah.alter_cache('db0', near => true);
			SELECT howdah.create_cache('limited', max_entries => 50, max_bytes => 20000);
			SELECT howdah.create_cache('full', max_entries => 20, eviction => 'noeviction');
			SELECT howdah.create_cache('kept', durability => 'async');
			SELECT howdah.create_cache('slow')`)
	}
	serve := func(database *pgtest.Server, conns int) *running {
		return start(t, func(c *Config) {
			c.DatabaseURL, c.Token, c.SessionToken, c.Timeout = database.URL(), "token", "sessions", observedTimeout
			c.MaxConns, c.MaxReplicationLag, c.MetricsCost = conns, 1, true
			c.MetricsPrefixes = []string{"k"}
			c.Near = Near{Bound: 500 * time.Millisecond}
			c.Sessions = session.Options{ReadURLs: []string{database.URL()}, FlushInterval: 10 * time.Millisecond, ExpireInterval: time.Second}
		})
	}
	o.leaving = serve(o.second, 3)
	leads := func() bool {
		_, metrics := o.leaving.get("/metrics", "token")
		return strings.Contains(metrics, "\nhowdah_upkeep_leader 1\n")
	}
	require.Eventually(t, leads, patience, 20*time.Millisecond)
	o.one, o.two = serve(o.first, 3), serve(o.second, 8)
	o.scraper = startPrometheus(t, []target{{"howdah", o.one}, {"howdah", o.leaving}, {"alone", o.two}})
	for _, expr := range boardQueries(t) {
		o.pending[expr] = filled(expr)
	}
	for _, rule := range deployedRules(t) {
		o.pending[rule.Alert+rule.Record] = rule.Expr
	}

	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	t.Cleanup(func() { cancel(); work.Wait() })
	for _, s := range []*running{o.one, o.two} {
		var made struct{ Token string }
		_, body := s.call("POST", "/v1/sessions", "sessions", `{"user":"ada"}`)
		require.NoError(t, json.Unmarshal([]byte(body), &made))
		o.sessions[s] = made.Token
		o.request(ctx, s, http.MethodGet, "/get?cache=slow&key=k", "token")
		client := s.client()
		subscription := client.Subscribe(ctx, "news")
		work.Go(func() {
			defer subscription.Close()
			for range subscription.Channel() {
			}
		})
		for i := range 4 {
			work.Go(func() { o.load(ctx, s, client, i) })
		}
		work.Go(func() { <-ctx.Done(); subscription.Close() })
	}
	return o
}

// load uses a server as its clients do, until ctx ends. What fails may fail: the test
// asks what Prometheus sees.
func (o *observed) load(ctx context.Context, s *running, c *redis.Client, worker int) {
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprint("k", worker, ".", i%100)
		c.Set(ctx, key, "v", time.Second)
		c.Get(ctx, key)
		c.Get(ctx, "hot")
		c.MGet(ctx, key, "absent")
		c.Incr(ctx, key) // is no number
		c.Do(ctx, "XADD", "stream", "*", "f", "v")
		c.Publish(ctx, "news", "m")
		if claim, err := c.Do(ctx, "HOWDAH.FETCH", "f"+key, "LEASE", 1000).Slice(); err == nil && claim[0] == "won" {
			c.Do(ctx, "HOWDAH.STORE", "f"+key, claim[2], 1000, "v")
		}
		for _, into := range []string{"limited&ttl=1m", "full", "kept&ttl=1m"} { // what fills "full" stays, so a smaller budget finds it full
			o.request(ctx, s, http.MethodPost, fmt.Sprintf("/set?cache=%s&key=%d.%d", into, worker, i), "token")
		}
		o.request(ctx, s, http.MethodGet, "/v1/caches/db0/entries/hot", "token")
		if i%50 == 0 {
			o.request(ctx, s, http.MethodGet, "/v1/sessions/current", o.sessions[s])
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
}

// request sends a request, and lets it fail.
func (o *observed) request(ctx context.Context, s *running, method, path, token string) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.HTTP.String()+path, strings.NewReader(""))
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if answer, err := http.DefaultClient.Do(request); err == nil {
		answer.Body.Close()
	}
}

// touch does what time does: tables are vacuumed, sessions come near their end.
func (o *observed) touch() {
	for _, database := range []*pgtest.Server{o.first, o.second} {
		execute(o.t, database.URL(), "UPDATE howdah.session SET idle_expires_at = now() + interval '15 minutes'")
		o.super(database, "VACUUM ANALYZE howdah_internal.cache")
		o.super(database, "VACUUM ANALYZE "+o.table(database, "limited"))
	}
}

// table is the table of a cache.
func (o *observed) table(database *pgtest.Server, cache string) string {
	conn, err := pgx.Connect(o.t.Context(), database.SuperURL())
	require.NoError(o.t, err)
	defer conn.Close(o.t.Context())
	return pgtest.Table(o.t, conn, cache)
}

// occupy sends requests that wait for a lock on the cache "slow", and keep a connection
// each meanwhile.
func (o *observed) occupy(database *pgtest.Server, s *running, paths []string) (end func()) {
	conn, err := pgx.Connect(o.t.Context(), database.SuperURL())
	require.NoError(o.t, err)
	_, err = conn.Exec(o.t.Context(), "BEGIN; LOCK TABLE "+o.table(database, "slow"))
	require.NoError(o.t, err)
	var requests sync.WaitGroup
	for _, path := range paths {
		requests.Go(func() { o.request(o.t.Context(), s, http.MethodGet, path, "token") })
	}
	return func() { conn.Close(context.Background()); requests.Wait() }
}

func (o *observed) super(database *pgtest.Server, sql string) {
	o.t.Helper()
	execute(o.t, database.SuperURL(), sql)
}

// await asks for all that is pending until what is named has given data.
func (o *observed) await(what string, keep func(), names ...string) {
	o.t.Helper()
	var missing []string
	if !await.Until(o.t.Context(), func() bool {
		if keep != nil {
			keep()
		}
		for name, expr := range o.pending {
			if o.hasData(expr) {
				delete(o.pending, name)
			}
		}
		missing = missing[:0]
		for _, name := range names {
			if o.pending[name] != "" {
				missing = append(missing, o.pending[name])
			}
		}
		return len(missing) == 0
	}) {
		require.Fail(o.t, what, "no data from\n%s", strings.Join(missing, "\n"))
	}
}

// disturbance is something that goes wrong, and the alerts that notice it.
type disturbance struct {
	name   string
	begin  func() (end func())
	keep   func() // is called again and again until then
	alerts []string
}

// except are the expressions that no fault is needed for.
func (o *observed) except() []string {
	pending := maps.Clone(o.pending)
	for _, fault := range o.faults() {
		for _, name := range fault.alerts {
			delete(pending, name)
		}
	}
	for name := range silent {
		delete(pending, name)
	}
	return slices.Collect(maps.Keys(pending))
}

func (o *observed) faults() []disturbance {
	return append(o.faultsOfClients(), append(o.faultsOfCaches(), o.faultsOfServers()...)...)
}

func (o *observed) faultsOfClients() []disturbance {
	many := func(path, token string) func() func() {
		return func() func() {
			for range 800 {
				o.request(o.t.Context(), o.one, http.MethodGet, path, token)
			}
			return nil
		}
	}
	wrong := []byte(o.sessions[o.one])
	wrong[40] = map[bool]byte{true: 'B', false: 'C'}[wrong[40] == 'C'] // still of the alphabet
	return []disturbance{
		{name: "wrong tokens", begin: many("/get?key=k", "wrong"), alerts: []string{"HowdahAuthFailures"}},
		{name: "wrong sessions", begin: many("/v1/sessions/current", string(wrong)), alerts: []string{"HowdahSessionGuessing"}},
	}
}

func (o *observed) faultsOfCaches() []disturbance {
	return []disturbance{
		{name: "smaller budget", begin: func() func() {
			// In both: the servers of one job are looked at together, and the greatest budget counts.
			for _, database := range []*pgtest.Server{o.first, o.second} {
				execute(o.t, database.URL(), "SELECT howdah.alter_cache('full', max_entries => 5)")
			}
			return nil
		}, alerts: []string{"HowdahOverBudget"}},
		{name: "full disk", begin: func() func() {
			o.super(o.first, `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN RAISE 'could not extend file: no space left on device' USING ERRCODE = 'disk_full'; END $$`)
			table := o.table(o.first, "limited")
			o.super(o.first, "CREATE TRIGGER no_room BEFORE INSERT ON "+table+" FOR EACH ROW EXECUTE FUNCTION no_room()")
			return func() { o.super(o.first, "DROP TRIGGER no_room ON "+table) }
		}, alerts: []string{"HowdahDiskFull"}},
		{name: "slot that nothing reads", begin: func() func() {
			o.super(o.second, "SELECT pg_create_physical_replication_slot('unread', true)")
			return nil
		}, alerts: []string{"HowdahExpiryHeldBack"}},
	}
}

func (o *observed) faultsOfServers() []disturbance {
	return []disturbance{
		{name: "locked table", begin: func() func() {
			end := o.occupy(o.first, o.one, []string{"/get?cache=slow&key=k", "/v1/caches/slow/entries", "/v1/caches/slow/entries", "/v1/caches/slow/entries"})
			blocked := func() bool { return o.hasData(`howdah_blocked_calls_total{cache="slow"} > 0`) }
			require.Eventually(o.t, blocked, patience, 100*time.Millisecond)
			return end
		}, alerts: []string{"HowdahPoolExhausted"}},
		{name: "after the locked table", begin: func() func() { return nil }, alerts: []string{"HowdahSlowReads"}},
		{name: "frozen database", begin: func() func() {
			o.first.Freeze()
			return o.first.Thaw
		}, keep: func() { // those who wait read nothing
			ctx, cancel := context.WithTimeout(o.t.Context(), 200*time.Millisecond)
			defer cancel()
			o.request(ctx, o.one, http.MethodGet, "/get?key=hot", "token")
		}, alerts: []string{"HowdahServerCannotReachDatabase", "HowdahNearLapsed"}},
		{name: "server stopped", begin: func() func() {
			require.NoError(o.t, o.leaving.stop())
			return nil
		}, alerts: []string{"HowdahServerDown", `changes(howdah_upkeep_leader{job=~"$job"}[1m]) > 0`}},
		{name: "connection limit", begin: func() func() {
			o.super(o.second, "ALTER ROLE howdah CONNECTION LIMIT 4")
			o.super(o.second, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'howdah'`)
			return func() { o.super(o.second, "ALTER ROLE howdah CONNECTION LIMIT -1") }
		}, keep: func() {
			var lists sync.WaitGroup
			for range 16 {
				lists.Go(func() { o.request(o.t.Context(), o.two, http.MethodGet, "/v1/caches/limited/entries", "token") })
			}
			lists.Wait()
		}, alerts: []string{"HowdahConnectionsRefused"}},
		{name: "no upkeep", begin: func() func() {
			o.super(o.second, `
				CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no upkeep'; END $$;
				UPDATE howdah.upkeep SET last_round = now() - interval '10 minutes';
				CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON howdah.upkeep FOR EACH ROW EXECUTE FUNCTION fail()`)
			execute(o.t, o.second.URL(), "SELECT howdah.set_text('slow', 'x' || n, 'v', ttl => interval '1 ms') FROM generate_series(1, 20000) AS n")
			return func() { o.super(o.second, "DROP TRIGGER fail ON howdah.upkeep") }
		}, keep: func() {
			o.request(o.t.Context(), o.two, http.MethodPost, "/v1/doctor", "token")
		}, alerts: []string{"HowdahNoUpkeep", "HowdahDoctorError", "HowdahExpiryBacklog"}},
		{name: "crash", begin: func() func() {
			o.second.Kill()
			return func() { o.second.Start() }
		}, alerts: []string{"HowdahDatabaseDown", "HowdahErrors"}},
		{name: "after the crash", begin: func() func() { return nil }, alerts: []string{
			"HowdahEmptied", `increase(howdah_cache_resets_total{job=~"$job"}[1m]) > 0`,
			`sum by (reason) (increase(howdah_near_drops_total{job=~"$job", instance=~"$instance"}[$__rate_interval])) > 0`,
		}},
	}
}

// checkAnnotations finds templates that could not be filled in. Those of some alerts are
// there to be seen; promtool has checked the syntax of all.
func (o *observed) checkAnnotations() {
	var data struct {
		Alerts []struct {
			Labels, Annotations map[string]string
		}
	}
	o.api("alerts", url.Values{}, &data)
	require.NotEmpty(o.t, data.Alerts)
	for _, alert := range data.Alerts {
		for _, text := range alert.Annotations {
			require.NotContains(o.t, text, "<", alert.Labels["alertname"])
			require.NotContains(o.t, text, "{{", alert.Labels["alertname"])
		}
	}
}
