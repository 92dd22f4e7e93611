package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/verb"
)

func TestTags(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	put := func(key string, tags ...string) answer {
		header := []string{}
		for _, tag := range tags {
			header = append(header, "Cache-Tag: "+tag)
		}
		return c.do("PUT", entryPath("db0", key), "v", header...)
	}
	put("a", "x, y").want(t, http.StatusNoContent)
	put("b", "y").want(t, http.StatusNoContent)
	put("u").want(t, http.StatusCreated)
	c.do("POST", "/set?key=s&ttl=10m", "v", "Cache-Tag: x/ä").want(t, http.StatusNoContent)
	c.do("POST", "/set?key=a", "w").want(t, http.StatusNoContent) // keeps the tags

	require.JSONEq(t, `{"deleted":1}`, c.do("DELETE", "/v1/caches/db0/tags/x", "").want(t, http.StatusOK).body)
	c.do("GET", entryPath("db0", "a"), "").want(t, http.StatusNotFound)
	require.JSONEq(t, `{"deleted":1}`, c.do("DELETE", "/v1/caches/db0/tags/"+url.PathEscape("x/ä"), "").want(t, http.StatusOK).body)
	require.JSONEq(t, `{"deleted":1}`, c.do("DELETE", "/v1/caches/db0/tags/y", "").want(t, http.StatusOK).body)
	require.JSONEq(t, `{"deleted":0}`, c.do("DELETE", "/v1/caches/db0/tags/y", "").want(t, http.StatusOK).body)
	c.do("GET", entryPath("db0", "u"), "").want(t, http.StatusOK)

	put("k", strings.Repeat("t", verb.MaxTagBytes+1)).problem(t, http.StatusBadRequest, "invalid-tag")
	put("k", strings.Repeat("t,", verb.MaxTags)+"t").problem(t, http.StatusBadRequest, "invalid-tag")
	put("k", "\xff").problem(t, http.StatusBadRequest, "invalid-tag")
	c.do("PUT", entryPath("db0", "k"), "v", "Cache-Tag: t", "If-None-Match: *").problem(t, http.StatusBadRequest, "bad-request")
	c.do("DELETE", "/v1/caches/db0/tags/"+strings.Repeat("t", verb.MaxTagBytes+1), "").problem(t, http.StatusBadRequest, "invalid-tag")
	c.do("DELETE", "/v1/caches/none/tags/t", "").problem(t, http.StatusNotFound, "cache-not-found")
	c.do("GET", "/v1/caches/db0/tags/t", "").problem(t, http.StatusMethodNotAllowed, "method-not-allowed")
	c.do("GET", entryPath("db0", "k"), "").want(t, http.StatusNotFound)
}

// A load whose tag is invalidated is not stored.
func TestLoadsWithTags(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := entryPath("db0", "k")
	lease := "If-Lease: " + c.asks(t, k, "won", 404).header.Get("Lease")
	c.do("DELETE", "/v1/caches/db0/tags/x", "").want(t, http.StatusOK)
	c.do("PUT", k, "old", lease, "Cache-Tag: x, y").problem(t, http.StatusPreconditionFailed, "precondition-failed")
	c.do("PUT", k, "v", lease, "Cache-Tag: y").want(t, http.StatusNoContent)
	require.JSONEq(t, `{"deleted":1}`, c.do("DELETE", "/v1/caches/db0/tags/y", "").want(t, http.StatusOK).body)
}
