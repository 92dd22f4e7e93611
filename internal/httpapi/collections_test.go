package httpapi

import (
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func collectionPath(kind, key string) string {
	return "/v1/caches/db0/" + kind + "/" + url.PathEscape(key)
}

func (a answer) json(t testing.TB, want string) {
	t.Helper()
	a.want(t, 200)
	require.JSONEq(t, want, a.body)
}

func TestHashes(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := collectionPath("hashes", "a/b?")
	c.do("GET", k, "").json(t, `{"fields":{}}`)
	c.json("PATCH", k, `{"fields":{"a":"1","b":"2"},"ttl":"1h"}`).json(t, `{"added":2,"removed":0}`)
	require.Regexp(t, `^3\d{3}\.`, headTTL(t, c, "a/b?"))
	c.json("PATCH", k, `{"fields":{"a":"3"},"remove":["b","none"]}`).json(t, `{"added":0,"removed":1}`)
	c.do("GET", k, "").json(t, `{"fields":{"a":"3"}}`)
	c.do("POST", k+"/increment?field=a&delta=-4", "").json(t, `{"value":-1}`)
	c.do("POST", k+"/increment?field=n", "").json(t, `{"value":1}`)
	c.do("GET", k+"?field=n&field=none", "").json(t, `{"fields":{"n":"1"}}`)
	c.json("PATCH", k, `{"fields":{"t":"x"}}`).want(t, 200)
	c.do("POST", k+"/increment?field=t", "").problem(t, 409, "not-an-integer")
	c.do("POST", k+"/increment", "").problem(t, 400, "bad-request")
	c.do("POST", k+"/increment?field=a&field=n", "").problem(t, 400, "bad-request")
	c.do("POST", k+"/touch", "").problem(t, 404, "not-found")
	c.json("PATCH", k, `{"fields":{"t":"x"},"ttl":"-1s"}`).problem(t, 400, "invalid-ttl")
	c.json("PATCH", k, `{"field":{"t":"x"}}`).problem(t, 400, "bad-request")
	c.do("PUT", k, "").problem(t, 405, "method-not-allowed")
	c.do("DELETE", k, "").want(t, 204)
	c.do("DELETE", k, "").problem(t, 404, "key-not-found")
}

// headTTL is the TTL of an entry of any kind, as listings have it.
func headTTL(t *testing.T, c *client, key string) string {
	t.Helper()
	ttl, err := c.db.Cache("db0").TTL(t.Context(), key)
	require.NoError(t, err)
	return ttlSeconds(ttl)
}

func TestSets(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := collectionPath("sets", "s")
	c.do("GET", k, "").json(t, `{"members":[]}`)
	c.json("PATCH", k, `{"add":["b","a"],"ttl":60}`).json(t, `{"added":2,"removed":0}`)
	c.json("PATCH", k, `{"add":["a","c"],"remove":["b"]}`).json(t, `{"added":1,"removed":1}`)
	c.do("GET", k, "").json(t, `{"members":["a","c"]}`)
	c.do("GET", k+"?member=c&member=d", "").json(t, `{"members":["c"]}`)
	c.do("GET", "/v1/caches/db0/sets/?key=s", "").json(t, `{"members":["a","c"]}`)
	c.json("PATCH", k, `{"remove":["a","c"]}`).json(t, `{"added":0,"removed":2}`)
	c.do("DELETE", k, "").problem(t, 404, "key-not-found")
}

func TestSortedSets(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := collectionPath("sorted-sets", "z")
	c.do("GET", k, "").json(t, `{"members":[]}`)
	c.json("PATCH", k, `{"add":[{"member":"c","score":3},{"member":"a","score":"-inf"},{"member":"b","score":0.5}]}`).json(t, `{"added":3,"removed":0}`)
	c.do("GET", k, "").json(t, `{"members":[{"member":"a","score":"-inf"},{"member":"b","score":0.5},{"member":"c","score":3}]}`)
	c.do("GET", k+"?start=0&stop=1&reverse=true", "").json(t, `{"members":[{"member":"c","score":3},{"member":"b","score":0.5}]}`)
	c.do("GET", k+"?min=0&max=inf&limit=1", "").json(t, `{"members":[{"member":"b","score":0.5}]}`)
	c.do("GET", k+"?max=1&reverse=true&offset=1", "").json(t, `{"members":[{"member":"a","score":"-inf"}]}`)
	c.do("POST", k+"/increment?member=b&delta=0.25", "").json(t, `{"score":0.75}`)
	c.do("POST", k+"/increment?member=new", "").json(t, `{"score":1}`)
	c.json("PATCH", k, `{"remove":["a","b","new"]}`).json(t, `{"added":0,"removed":3}`)
	for _, wrong := range []string{"?min=x", "?min=nan", "?min=1&start=0", "?limit=1", "?start=a", "?reverse=yes"} {
		c.do("GET", k+wrong, "").problem(t, 400, "bad-request")
	}
	for _, wrong := range []string{`{"add":[{"member":"a"}]}`, `{"add":[{"member":"a","score":"nan"}]}`, `{"add":[{"member":"a","score":"x"}]}`} {
		c.json("PATCH", k, wrong).problem(t, 400, "bad-request")
	}
	c.do("GET", k, "").json(t, `{"members":[{"member":"c","score":3}]}`)
}

func TestLists(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := collectionPath("lists", "l")
	c.do("GET", k, "").json(t, `{"elements":[]}`)
	c.do("POST", k+"/pop", "").problem(t, 404, "key-not-found")
	c.json("PATCH", k, `{"push":["b","c"]}`).json(t, `{"length":2}`)
	c.json("PATCH", k, `{"push":["a"],"left":true}`).json(t, `{"length":3}`)
	c.do("GET", k, "").json(t, `{"elements":["a","b","c"]}`)
	c.do("GET", k+"?start=1&stop=-2", "").json(t, `{"elements":["b"]}`)
	c.do("POST", k+"/pop?encoding=x", "").problem(t, 400, "bad-request")
	c.do("POST", k+"/pop?left=true", "").json(t, `{"element":"a"}`)
	c.do("POST", k+"/pop", "").json(t, `{"element":"c"}`)
}

// What is not text is base64, in answers and in requests.
func TestCollectionsOfBytes(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	hash, set, zset, list := collectionPath("hashes", "h"), collectionPath("sets", "s"), collectionPath("sorted-sets", "z"), collectionPath("lists", "l")
	c.json("PATCH", hash, `{"encoding":"base64","fields":{"/w==":"AP8=","YQ==":"MQ=="}}`).want(t, 200)
	c.do("GET", hash, "").json(t, `{"encoding":"base64","fields":{"/w==":"AP8=","YQ==":"MQ=="}}`)
	c.do("GET", hash+"?field=%FF", "").json(t, `{"encoding":"base64","fields":{"/w==":"AP8="}}`)
	c.do("GET", hash+"?field=a", "").json(t, `{"fields":{"a":"1"}}`)
	c.do("GET", hash+"?field=a&encoding=base64", "").json(t, `{"encoding":"base64","fields":{"YQ==":"MQ=="}}`)
	c.json("PATCH", set, `{"encoding":"base64","add":["/w=="]}`).want(t, 200)
	c.do("GET", set, "").json(t, `{"encoding":"base64","members":["/w=="]}`)
	c.json("PATCH", set, `{"encoding":"base64","remove":["/w=="]}`).json(t, `{"added":0,"removed":1}`)
	c.json("PATCH", zset, `{"encoding":"base64","add":[{"member":"/w==","score":1}]}`).want(t, 200)
	c.do("GET", zset, "").json(t, `{"encoding":"base64","members":[{"member":"/w==","score":1}]}`)
	c.json("PATCH", list, `{"encoding":"base64","push":["/w=="]}`).want(t, 200)
	c.do("POST", list+"/pop", "").json(t, `{"encoding":"base64","element":"/w=="}`)
	for _, path := range []string{hash, set, zset, list} {
		c.json("PATCH", path, `{"encoding":"hex"}`).problem(t, 400, "bad-request")
	}
	c.json("PATCH", set, `{"encoding":"base64","add":["?"]}`).problem(t, 400, "bad-request")
}

// A key of another kind is refused and unchanged, and so is what is too large.
func TestCollectionsRefused(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	bodies := map[string]string{
		"hashes": `{"fields":{"%s":"1"}}`, "sets": `{"add":["%s"]}`, "sorted-sets": `{"add":[{"member":"%s","score":1}]}`, "lists": `{"push":["%s"]}`,
	}
	body := func(kind, element string) string { return strings.Replace(bodies[kind], "%s", element, 1) }
	c.do("PUT", entryPath("db0", "string"), "v").want(t, 201)
	for kind := range bodies {
		c.json("PATCH", collectionPath(kind, kind), body(kind, "e")).want(t, 200)
		c.do("GET", entryPath("db0", kind), "").problem(t, 409, "wrong-type")
		for other := range bodies {
			if other != kind {
				c.do("GET", collectionPath(other, kind), "").problem(t, 409, "wrong-type")
				c.json("PATCH", collectionPath(other, kind), body(other, "e")).problem(t, 409, "wrong-type")
			}
		}
		c.do("GET", collectionPath(kind, "string"), "").problem(t, 409, "wrong-type")
		c.json("PATCH", collectionPath(kind, kind), body(kind, strings.Repeat("x", 1<<20))).problem(t, 413, "too-large")
		before := c.do("GET", collectionPath(kind, kind), "").want(t, 200)
		require.Contains(t, before.body, `"e"`)
		require.Less(t, len(before.body), 100)
		c.do("GET", collectionPath(kind, kind), "", "If-Lease: 1").problem(t, 400, "bad-request")
		c.json("PATCH", "/v1/caches/none/"+kind+"/k", body(kind, "e")).problem(t, 404, "cache-not-found")
		c.do("DELETE", collectionPath(kind, kind), "", `If-Match: "1"`).problem(t, 412, "precondition-failed")
		c.do("DELETE", collectionPath(kind, kind), "").want(t, 204)
	}
}

// PATCH and POST take the conditions of entries, and GET has what they need.
func TestCollectionConditions(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	patches := map[string]string{
		"hashes": `{"fields":{"a":"1"}}`, "sets": `{"add":["%d"]}`, "sorted-sets": `{"add":[{"member":"a","score":%d}]}`, "lists": `{"push":["a"]}`,
	}
	posts := map[string]string{"hashes": "/increment?field=a", "sorted-sets": "/increment?member=a", "lists": "/pop"}
	for kind, patch := range patches {
		n := 0
		k := collectionPath(kind, kind)
		try := func(header string) answer {
			n++
			return c.json("PATCH", k, strings.ReplaceAll(patch, "%d", strconv.Itoa(n)), header)
		}
		etag := func() string { return c.do("GET", k, "").want(t, 200).header.Get("ETag") }
		require.Empty(t, etag())
		c.do("GET", k, "", "If-Match: *").problem(t, 412, "precondition-failed")
		c.do("GET", k, "", "If-None-Match: *").want(t, 200)
		try("If-Match: *").problem(t, 412, "precondition-failed")
		try(`If-Match: "1"`).problem(t, 412, "precondition-failed")
		require.Empty(t, etag(), "nothing was made")
		try("If-None-Match: *").want(t, 200)
		try("If-None-Match: *").problem(t, 412, "precondition-failed")
		try("If-Match: *").want(t, 200)
		first := etag()
		try("If-Match: "+first).want(t, 200)
		try("If-Match: "+first).problem(t, 412, "precondition-failed")
		try(`If-Match: "17", `+etag()).want(t, 200)
		try("If-None-Match: "+etag()).problem(t, 400, "bad-request")
		try("If-Lease: 1").problem(t, 400, "bad-request")

		last := etag()
		c.do("GET", k, "", "If-None-Match: "+last).want(t, 304)
		c.do("GET", k, "", "If-None-Match: "+first).want(t, 200)
		c.do("GET", k, "", "If-Match: "+last).want(t, 200)
		c.do("GET", k, "", "If-Match: "+first).problem(t, 412, "precondition-failed")
		if post := posts[kind]; post != "" {
			c.do("POST", k+post, "", "If-Match: "+first).problem(t, 412, "precondition-failed")
			c.do("POST", k+post, "", "If-Match: "+last).want(t, 200)
			c.do("POST", k+post, "", "If-Match: "+last).problem(t, 412, "precondition-failed")
			last = etag()
		}
		c.do("DELETE", k, "", "If-Match: "+first).problem(t, 412, "precondition-failed")
		c.do("DELETE", k, "", "If-Match: "+last).want(t, 204)
		try("If-Match: "+last).problem(t, 412, "precondition-failed")
	}
}

// A field that expires is no new version: an ETag would name two answers.
func TestHashOfFieldsThatExpire(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := collectionPath("hashes", "h")
	c.json("PATCH", k, `{"fields":{"a":"1","b":"2"}}`).want(t, 200)
	require.NoError(t, c.db.Cache("db0").HExpire(t.Context(), "h", "a", time.Hour))
	got := c.do("GET", k, "").want(t, 200)
	require.Empty(t, got.header.Get("ETag"))
	version := `"` + got.header.Get("Howdah-Version") + `"`
	c.do("GET", k, "", "If-None-Match: "+version).want(t, 200)
	c.json("PATCH", k, `{"fields":{"a":"1"}}`, "If-Match: "+version).want(t, 200)
	c.json("PATCH", k, `{"fields":{"a":"1"}}`, "If-Match: "+version).problem(t, 412, "precondition-failed")
	require.NotEmpty(t, c.do("GET", k, "").want(t, 200).header.Get("ETag"), "no field expires any more")
}

// Of writers that race with the same condition exactly one changes the collection, also
// where their edits share a commit.
func TestOneEditorWins(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := collectionPath("lists", "l")
	condition := "If-None-Match: *"
	for round := range 20 {
		var winners atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch got := c.json("PATCH", k, `{"push":["x"]}`, condition); got.status {
				case 200:
					winners.Add(1)
				case 412:
				default:
					t.Errorf("status %d: %s", got.status, got.body)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, winners.Load())
		got := c.do("GET", k, "").want(t, 200)
		require.Equal(t, round+1, strings.Count(got.body, "x"))
		condition = "If-Match: " + got.header.Get("ETag")
	}
}
