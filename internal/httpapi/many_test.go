package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
)

func base64url(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func base64std(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestMany(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	const caches = "/v1/caches/db0"
	c.json("POST", caches+"/set-many", `{"entries":[{"key":"a","value":"1"},{"key":"","value":"é\u00e9\ud83d\ude00"},{"key":"a","value":"2"}],"ttl":"1h"}`).want(t, 204)
	require.Regexp(t, `^(35\d\d|3600)\.`, c.do("HEAD", entryPath("db0", "a"), "").header.Get("Howdah-TTL"))
	got := c.json("POST", caches+"/get-many", `{"keys":["absent","a","","a"]}`).want(t, 200)
	require.JSONEq(t, `{"entries":[
		{"key":"absent","found":false},
		{"key":"a","value":"2","found":true},
		{"key":"","value":"éé😀","found":true},
		{"key":"a","value":"2","found":true}]}`, got.body)

	// Bytes: by request, by entry, and where an answer is not text.
	binary := "\x00\xff"
	c.json("POST", caches+"/set-many", `{"encoding":"base64","ttl":60,"entries":[
		{"key":"`+base64std(binary)+`","value":"`+base64std("<\xfe>")+`"},
		{"key":"text","value":"text","encoding":"text"}]}`).want(t, 204)
	c.json("POST", caches+"/set-many", `{"entries":[{"key":"c","value":"1"}],"ttl":""}`).want(t, 204)
	require.Equal(t, "none", c.do("GET", entryPath("db0", "c"), "").header.Get("Howdah-TTL"))
	c.do("DELETE", entryPath("db0", "c"), "").want(t, 204)
	c.json("POST", caches+"/set-many", `{"ttl":"none","entries":[{"key":"`+base64std("b")+`","value":"/w==","encoding":"base64"}]}`).want(t, 204)
	require.Equal(t, "<\xfe>", c.do("GET", "/get?key64="+base64url(binary), "").body)
	got = c.json("POST", caches+"/get-many", `{"keys":["`+base64std(binary)+`","`+base64std("text")+`"],"encoding":"base64"}`).want(t, 200)
	require.JSONEq(t, `{"entries":[
		{"key":"AP8=","value":"PP4+","encoding":"base64","found":true},
		{"key":"dGV4dA==","value":"dGV4dA==","encoding":"base64","found":true}]}`, got.body)
	got = c.json("POST", caches+"/get-many", `{"keys":["b"]}`).want(t, 200)
	require.JSONEq(t, `{"entries":[{"key":"Yg==","value":"/w==","encoding":"base64","found":true}]}`, got.body)

	require.JSONEq(t, `{"deleted":2}`, c.json("POST", caches+"/delete-many", `{"keys":["a","b","absent","a"]}`).want(t, 200).body)
	require.JSONEq(t, `{"deleted":1}`, c.json("POST", caches+"/delete-many", `{"keys":["AP8="],"encoding":"base64"}`).want(t, 200).body)
	require.JSONEq(t, `{"entries":[]}`, c.json("POST", caches+"/get-many", `{"keys":[]}`).want(t, 200).body)
	c.json("POST", caches+"/set-many", `{"entries":[]}`).want(t, 204)
}

func TestManyIsAllOrNothing(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.MaxValueBytes = 10 })
	for _, second := range []string{
		`{"key":"b","value":"longer than ten"}`, `{"key":"b"}`, `{"value":"v"}`, `{"key":"b","value":"?","encoding":"base64"}`,
		`{"key":"` + strings.Repeat("k", howdah.MaxKeyBytes+1) + `","value":"v"}`,
	} {
		got := c.json("POST", "/v1/caches/db0/set-many", `{"entries":[{"key":"a","value":"v"},`+second+`]}`)
		require.Contains(t, []int{400, 413}, got.status, got.body)
		c.do("GET", "/get?key=a", "").problem(t, 404, "key-not-found")
	}
}

func TestManyBounds(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.MaxManyBytes = 200_000; o.MaxValueBytes = 150_000 })
	for _, key := range []string{"a", "b"} {
		c.do("PUT", entryPath("db0", key), strings.Repeat(key, 150_000)).want(t, 201)
	}
	c.json("POST", "/v1/caches/db0/get-many", `{"keys":["a"]}`).want(t, 200)
	c.json("POST", "/v1/caches/db0/get-many", `{"keys":["a","b"]}`).problem(t, 413, "too-large")
	c.json("POST", "/v1/caches/db0/get-many", `{"keys":["a","a"]}`).problem(t, 413, "too-large")

	keys, err := json.Marshal(make([]string, 10_001))
	require.NoError(t, err)
	c.json("POST", "/v1/caches/db0/get-many", `{"keys":`+string(keys)+`}`).problem(t, 413, "too-large")
	c.json("POST", "/v1/caches/db0/delete-many", `{"keys":`+string(keys)+`}`).problem(t, 413, "too-large")
	c.json("POST", "/v1/caches/db0/get-many", `{"keys":["`+strings.Repeat("k", 200_000)+`"]}`).problem(t, 413, "too-large")
	keys, err = json.Marshal(make([]string, 10_000))
	require.NoError(t, err)
	c.json("POST", "/v1/caches/db0/get-many", `{"keys":`+string(keys)+`}`).want(t, 200)
}

func TestListEntries(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	want := map[string]bool{"page:\xff\x00": true, "page:": true}
	for i := range 50 {
		want[fmt.Sprint("page:", i)] = true
	}
	for key := range want {
		c.do("PUT", "/set?ttl=1h&key64="+base64url(key), "12345").want(t, 204)
	}
	c.do("PUT", "/set?key=other", "").want(t, 204)

	list := func(parameters string) map[string]bool {
		found := make(map[string]bool)
		for cursor, pages := "", 0; ; pages++ {
			require.Less(t, pages, 100)
			var page struct {
				Entries []struct {
					Key, Encoding, TTL string
					Bytes              int
					Version            int64
				}
				Cursor *string
			}
			got := c.do("GET", "/v1/caches/db0/entries?count=7&cursor="+cursor+parameters, "").want(t, 200)
			require.NoError(t, json.Unmarshal([]byte(got.body), &page))
			for _, entry := range page.Entries {
				key := entry.Key
				if entry.Encoding == "base64" {
					decoded, err := base64.StdEncoding.DecodeString(key)
					require.NoError(t, err)
					key = string(decoded)
				}
				require.False(t, found[key], "%q is listed twice", key)
				found[key] = true
				if key != "other" {
					require.Equal(t, 5, entry.Bytes)
					require.Regexp(t, `^(5\dm[\d.]+s|1h0m0s)$`, entry.TTL)
					require.Equal(t, c.do("HEAD", "/get?key64="+base64url(key), "").header.Get("Howdah-Version"), fmt.Sprint(entry.Version))
				}
			}
			if page.Cursor == nil {
				return found
			}
			cursor = *page.Cursor
		}
	}
	require.Equal(t, want, list("&prefix=page:"))
	require.Equal(t, map[string]bool{"page:\xff\x00": true}, list("&prefix64="+base64url("page:\xff")))
	require.Empty(t, list("&prefix="+url.QueryEscape("page:%")))
	want["other"] = true
	require.Equal(t, want, list(""))
}

func TestCaches(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	got := c.json("POST", "/v1/caches", `{"name":"pages","default_ttl":"10m","max_entries":1000}`).want(t, 201)
	require.Equal(t, "/v1/caches/pages", got.header.Get("Location"))
	pages := `{"name":"pages","durability":"unlogged","default_ttl":"10m0s","max_ttl":"none","ttl_jitter":0,"max_bytes":0,
		"max_entries":1000,"eviction":"allkeys-lru","fillfactor":85,"prefix_index":false,"near":false,"log_keys":false}`
	require.JSONEq(t, pages, got.body)
	require.JSONEq(t, pages, c.do("GET", "/v1/caches/pages", "").want(t, 200).body)
	list := c.do("GET", "/v1/caches", "").want(t, 200).body
	require.Contains(t, list, `"name":"db0"`)
	require.Contains(t, list, `"name":"pages"`)

	c.do("PUT", entryPath("pages", "k"), "v").want(t, 201)
	require.Regexp(t, `^(5\d\d|600)\.`, c.do("HEAD", entryPath("pages", "k"), "").header.Get("Howdah-TTL"))

	// A patch changes what it names; null is the default.
	got = c.do("PATCH", "/v1/caches/pages", `{"max_ttl":3600,"eviction":"noeviction","ttl_jitter":20}`, "Content-Type: application/merge-patch+json").want(t, 200)
	require.Contains(t, got.body, `"default_ttl":"10m0s","max_ttl":"1h0m0s","ttl_jitter":20,"max_bytes":0,"max_entries":1000,"eviction":"noeviction"`)
	got = c.json("PATCH", "/v1/caches/pages", `{"name":"pages","max_ttl":null,"default_ttl":"none","max_entries":null,"eviction":null,"ttl_jitter":null}`).want(t, 200)
	require.Contains(t, got.body, `"default_ttl":"none","max_ttl":"none","ttl_jitter":0,"max_bytes":0,"max_entries":0,"eviction":"allkeys-lru"`)
	for _, ttl := range []string{`"5m"`, `""`} { // an empty one is the default
		got = c.json("PATCH", "/v1/caches/pages", `{"default_ttl":`+ttl+`}`).want(t, 200)
	}
	require.Contains(t, got.body, `"default_ttl":"none"`)
	require.Contains(t, c.json("PATCH", "/v1/caches/pages", `{"durability":"async"}`).want(t, 200).body, `"durability":"async"`)
	require.Equal(t, "v", c.do("GET", entryPath("pages", "k"), "").want(t, 200).body)

	for _, near := range []string{"true", "false", "true", "null"} {
		got = c.json("PATCH", "/v1/caches/pages", `{"near":`+near+`}`).want(t, 200)
		require.Contains(t, got.body, `"near":`+strings.ReplaceAll(near, "null", "false"))
	}
	require.Equal(t, "v", c.do("GET", entryPath("pages", "k"), "").want(t, 200).body)

	c.json("PATCH", "/v1/caches/pages?empty=yes", `{"durability":"sync"}`).problem(t, 400, "bad-request")
	require.Contains(t, c.json("PATCH", "/v1/caches/pages?empty=true", `{}`).problem(t, 400, "bad-request").body, "/v1/caches/pages/flush")
	c.json("PATCH", "/v1/caches/pages?empty=false", `{"max_entries":7}`).want(t, 200)
	require.Equal(t, "v", c.do("GET", entryPath("pages", "k"), "").want(t, 200).body)
	got = c.json("PATCH", "/v1/caches/pages?empty=true", `{"durability":"unlogged","max_entries":null}`).want(t, 200)
	require.Contains(t, got.body, `"durability":"unlogged","default_ttl":"none","max_ttl":"none","ttl_jitter":0,"max_bytes":0,"max_entries":0`)
	c.do("GET", entryPath("pages", "k"), "").want(t, 404)

	c.json("POST", "/v1/caches", `{"name":"pages"}`).problem(t, 409, "cache-exists")
	c.json("POST", "/v1/caches", `{"name":"No!"}`).problem(t, 400, "invalid-cache-name")
	c.json("POST", "/v1/caches", `{}`).problem(t, 400, "invalid-cache-name")
	c.json("POST", "/v1/caches", `{"name":"x","durability":"hard"}`).problem(t, 422, "invalid-setting")
	c.json("POST", "/v1/caches", `{"name":"x","ttl_jitter":100}`).problem(t, 422, "invalid-setting")
	c.json("POST", "/v1/caches", `{"name":"x","max_bytes":-1}`).problem(t, 422, "invalid-setting")
	c.json("PATCH", "/v1/caches/pages", `{"eviction":"random"}`).problem(t, 422, "invalid-setting")
	c.json("PATCH", "/v1/caches/pages", `{"name":"sites"}`).problem(t, 400, "bad-request")
	c.json("PATCH", "/v1/caches/absent", `{}`).problem(t, 404, "cache-not-found")
	require.NotContains(t, c.json("PATCH", "/v1/caches/absent", `{"max_bytes":1}`).problem(t, 404, "cache-not-found").body, "SELECT", "the advice of another door")

	c.do("DELETE", "/v1/caches/pages", "").want(t, 204)
	c.do("DELETE", "/v1/caches/pages", "").problem(t, 404, "cache-not-found")
	c.do("GET", "/v1/caches/pages", "").problem(t, 404, "cache-not-found")
	c.do("GET", entryPath("pages", "k"), "").problem(t, 404, "cache-not-found")
	c.do("GET", entryPath("No!", "k"), "").problem(t, 400, "invalid-cache-name")
}

// Two patches at once of different settings: both hold.
func TestPatchesAtOnce(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.json("POST", "/v1/caches", `{"name":"pages"}`).want(t, 201)
	for i := 1; i <= 50; i++ {
		var both sync.WaitGroup
		for _, setting := range []string{"max_bytes", "max_entries"} {
			both.Go(func() {
				c.json("PATCH", "/v1/caches/pages", fmt.Sprintf(`{%q:%d}`, setting, i))
			})
		}
		both.Wait()
		require.Contains(t, c.do("GET", "/v1/caches/pages", "").want(t, 200).body, fmt.Sprintf(`"max_bytes":%d,"max_entries":%[1]d`, i))
	}
}
