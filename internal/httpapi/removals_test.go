package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/observe"
)

// removals asks for removals, the last one first, in short.
func (c *client) removals(query string) (list []string) {
	c.t.Helper()
	var answer struct {
		Sees     string
		Removals []map[string]any
	}
	require.NoError(c.t, json.Unmarshal([]byte(c.do("GET", "/v1/removals"+query, "").want(c.t, 200).body), &answer))
	require.Equal(c.t, "this server", answer.Sees)
	for _, r := range answer.Removals {
		at, err := time.Parse(time.RFC3339Nano, r["time"].(string))
		require.NoError(c.t, err)
		require.WithinDuration(c.t, time.Now(), at, time.Minute)
		what := r["key"]
		if what == nil {
			what = "*"
			if r["prefix"] != nil {
				what = fmt.Sprint(r["prefix"], "*")
			}
		}
		list = append(list, strings.TrimSpace(fmt.Sprint(r["cache"], " ", r["reason"], " ", what, " ", r["count"], " by ", r["door"], " ", r["command"])))
	}
	return list
}

// observed is a server that remembers removals and counts reads.
func observed(t testing.TB) *client {
	t.Helper()
	c := serve(t, nil)
	(*core.DB)(c.db).Observe(engine.Observed{Removals: observe.NewRemovals(1000), Prefixes: observe.NewPrefixes(1)})
	return c
}

// Every request that ends entries is remembered, with its client.
func TestRequestsThatRemove(t *testing.T) {
	t.Parallel()
	c := observed(t)
	caches := "/v1/caches"
	entries := caches + "/db0/entries/"
	c.do("POST", "/set?key=a", "1").want(t, 204)
	c.do("PUT", entries+"b", "2").want(t, 201)
	c.do("PUT", entries+"c", "3", "Cache-Tag: red").want(t, 204)
	c.do("DELETE", entries+"nosuch", "").want(t, 404)
	c.do("POST", entries+"a/touch?ttl=1h", "").want(t, 204)
	require.Empty(t, c.removals(""))

	c.do("DELETE", entries+"a", "", "User-Agent: curl/8.5.0 (linux)").want(t, 204)
	version := c.do("HEAD", entries+"b", "").header.Get("ETag")
	c.do("DELETE", entries+"b", "", "If-Match: "+version).want(t, 204)
	c.do("DELETE", caches+"/db0/tags/red", "").want(t, 200)
	c.do("PUT", entries+"d/e", "1").want(t, 201)
	c.json("POST", caches+"/db0/delete-many", `{"keys":["d/e","nosuch"]}`).want(t, 200)
	c.json("PATCH", caches+"/db0/lists/l", `{"push":["x"]}`).want(t, 200)
	c.do("POST", caches+"/db0/lists/l/pop", "").want(t, 200)
	c.json("PATCH", caches+"/db0/hashes/h", `{"fields":{"f":"v"}}`).want(t, 200)
	c.json("PATCH", caches+"/db0/hashes/h", `{"remove":["f"]}`).want(t, 200)
	c.json("PATCH", caches+"/db0/sets/s", `{"add":["m"]}`).want(t, 200)
	c.do("DELETE", caches+"/db0/sets/s", "").want(t, 204)
	c.do("POST", caches+"/db0/flush", "").want(t, 204)
	c.json("POST", caches, `{"name":"pages"}`).want(t, 201)
	c.json("PATCH", caches+"/pages?empty=true", `{"ttl_jitter":5}`).want(t, 200)
	c.do("DELETE", caches+"/pages", "").want(t, 204)
	all := []string{
		"pages dropped * <nil> by HTTP drop",
		"pages flushed * <nil> by HTTP alter",
		"db0 flushed * <nil> by HTTP flush",
		"db0 deleted s 1 by HTTP delete",
		"db0 deleted h 1 by HTTP edit",
		"db0 deleted l 1 by HTTP edit",
		"db0 deleted d/e 1 by HTTP delete_many",
		"db0 invalidated * 1 by HTTP invalidate_tags",
		"db0 deleted b 1 by HTTP compare_delete",
		"db0 deleted a 1 by HTTP delete",
	}
	require.Equal(t, all, c.removals(""))
	require.Equal(t, all[:2], c.removals("?limit=2"))
	require.Equal(t, all[:2], c.removals("?cache=pages"))
	require.Equal(t, []string{all[2], all[7], all[9]}, c.removals("?cache=db0&key=a"), "and what may have removed it with others")
	require.Equal(t, []string{all[2], all[6], all[7]}, c.removals("?cache=db0&key64=ZC9l"))

	body := c.do("GET", "/v1/removals?cache=db0&key=a", "").body
	require.Contains(t, body, `"library":"curl","version":"8.5.0","address":"127.0.0.1:`)
	require.Contains(t, body, `"detail":"red"`)
	require.Contains(t, body, `"kept":1000`)

	for _, wrong := range []string{"?limit=0", "?limit=x", "?limit=10001", "?key=a&key64=YQ", "?key64=*", "?nosuch=1"} {
		c.do("GET", "/v1/removals"+wrong, "").problem(t, 400, "bad-request")
	}
	c.do("DELETE", "/v1/removals", "").problem(t, 405, "method-not-allowed")
}

// Keys need not be text, and a person's changes are among the removals.
func TestRemovalsInJSON(t *testing.T) {
	t.Parallel()
	c := observed(t)
	removals := (*core.DB)(c.db).Removals()
	removals.Key(observe.Caller{Command: "del"}, "db0", observe.Deleted, []byte("\xff"+strings.Repeat("x", 300)), true)
	removals.Whole(observe.Caller{}, "db0", observe.ByPrefix, 7, "", []byte("user:"))
	removals.Audit(&observe.Client{Door: observe.DoorConsole, Address: "10.1.1.1:5"}, "admin", "db0", []byte("k"), "value shown")
	removals.AuditPersons(&observe.Client{Door: observe.DoorConsole}, "sessions", "sessions of a user revoked ada")
	removals.Round("db0", 4, 0)
	require.Equal(t, []string{
		"db0 expired * 4 by upkeep maintain",
		"db0 changed k <nil> by console <nil>",
		"db0 prefix user:* 7 by Go <nil>",
	}, c.removals("?limit=3"))
	body := c.do("GET", "/v1/removals", "").body
	require.Contains(t, body, `"key":"/3h4`)
	require.Contains(t, body, `"encoding":"base64","key_bytes":301,"count":1,"unsure":true,"command":"del","door":"Go"}`)
	require.Contains(t, body, `"detail":"value shown","door":"console","address":"10.1.1.1:5","role":"admin"}`)
	require.Contains(t, body, `"until":"`)
	require.NotContains(t, body, "ada", "users are shown to the token of sessions only")
}

func TestPrefixesOverHTTP(t *testing.T) {
	t.Parallel()
	c := observed(t)
	c.do("POST", "/set?key=user:1", "x").want(t, 204)
	for range 3 {
		c.do("GET", "/get?key=user:1", "").want(t, 200)
	}
	c.do("GET", "/get?key=user:2", "").want(t, 404)
	c.do("GET", "/get?key64=_y8x", "").want(t, 404)
	body := c.do("GET", "/v1/caches/db0/prefixes", "").want(t, 200).body
	require.Contains(t, body, `"sample":1,"reads":5,"prefixes":[{"prefix":"user:","hits":3,"misses":1,"hit_ratio":0.75,"uncounted":0},`+
		`{"prefix":"/y8=","encoding":"base64","hits":0,"misses":1,"hit_ratio":0,"uncounted":0}]}`)
	c.do("GET", "/v1/caches/db0/prefixes?x=1", "").problem(t, 400, "bad-request")
	require.Contains(t, c.do("GET", "/v1/caches/nosuch/prefixes", "").want(t, 200).body, `"since":null,"sample":1,"reads":0,"prefixes":[]`)
}

// Where nothing is observed, the answers say so.
func TestNothingObserved(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.do("DELETE", "/v1/caches/db0/entries/k", "").want(t, 404)
	require.JSONEq(t, `{"sees":"this server","since":null,"kept":0,"removals":[]}`, c.do("GET", "/v1/removals", "").body)
	require.JSONEq(t, `{"sees":"this server","since":null,"sample":0,"reads":0,"prefixes":[]}`, c.do("GET", "/v1/caches/db0/prefixes", "").body)
	require.JSONEq(t, `{"sees":"this server","total":0,"clients":[],"connections":[]}`, c.do("GET", "/v1/clients", "").body)
	require.JSONEq(t, `{"sees":"this server","commands":[]}`, c.do("GET", "/v1/commands/unknown", "").body)
	c.do("DELETE", "/v1/clients/1", "").problem(t, 404, "not-found")
}

// crowd is many Redis clients.
type crowd struct{ RedisClients }

func (crowd) Clients() (list []observe.Connection) {
	for n := range 3 * maxClients {
		list = append(list, observe.Connection{ID: int64(n), Client: observe.Client{Library: "redis-py", Name: fmt.Sprint("client", n/2)}})
	}
	return list
}

// The answer is bounded, and says how many there are.
func TestManyClients(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.Redis = crowd{} })
	var answer struct {
		Total                int
		Clients, Connections []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(c.do("GET", "/v1/clients", "").body), &answer))
	require.Equal(t, 3*maxClients, answer.Total)
	require.Len(t, answer.Clients, maxClients)
	require.Len(t, answer.Connections, maxClients)
	require.Equal(t, map[string]any{"library": "redis-py", "client": "client0", "connections": 2.0}, answer.Clients[0])
}
