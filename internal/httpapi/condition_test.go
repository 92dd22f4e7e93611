package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteConditions(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	path := entryPath("db0", "k")
	c.do("PUT", path, "v", "If-Match: *").problem(t, 412, "precondition-failed")
	c.do("PUT", path, "v", `If-Match: "1"`).problem(t, 412, "precondition-failed")
	c.do("GET", path, "").problem(t, 404, "key-not-found")

	one := c.do("PUT", path, "one", "If-None-Match: *").want(t, 201).header.Get("ETag")
	c.do("PUT", path, "no", "If-None-Match: *").problem(t, 412, "precondition-failed")
	c.do("PUT", path, "one'", "If-Match: *").want(t, 204)
	c.do("PUT", path, "no", "If-Match: "+one).problem(t, 412, "precondition-failed")
	etag := c.do("HEAD", path, "").header.Get("ETag")
	two := c.do("PUT", path, "two", "If-Match: "+etag).want(t, 204).header.Get("ETag")
	require.Equal(t, two, c.do("HEAD", path, "").header.Get("ETag"))
	c.do("PUT", path, "three", `If-Match: "17", `+two+`, "x"`).want(t, 204)

	// Tags that can never match: weak, foreign, zero (which is no version).
	etag = c.do("HEAD", path, "").header.Get("ETag")
	for _, tag := range []string{"W/" + etag, `"0"`, `"-1"`, `"+` + etag[1:], `"x"`, "x", `"`, `""`, "1", `"99999999999999999999"`} {
		c.do("PUT", path, "no", "If-Match: "+tag).problem(t, 412, "precondition-failed")
		c.do("DELETE", path, "", "If-Match: "+tag).problem(t, 412, "precondition-failed")
		c.do("PUT", entryPath("db0", "absent"), "no", "If-Match: "+tag).problem(t, 412, "precondition-failed")
	}
	require.Equal(t, "three", c.do("GET", path, "").body)

	// A condition that cannot be kept is refused.
	for _, header := range []string{"If-None-Match: " + etag, "If-Match: " + strings.Repeat(`"1",`, 100)} {
		c.do("PUT", path, "no", header).problem(t, 400, "bad-request")
	}
	c.do("PUT", path, "no", "If-Match: *", "If-None-Match: *").problem(t, 400, "bad-request")
	c.do("DELETE", path, "", "If-None-Match: *").problem(t, 400, "bad-request")
	for _, other := range []string{path + "/increment", path + "/touch", "/set?key=k", "/v1/caches/db0/flush"} {
		c.do("POST", other, "", "If-Match: "+etag).problem(t, 400, "bad-request")
	}
	c.do("DELETE", "/v1/caches/db0", "", "If-Match: *").problem(t, 400, "bad-request")

	c.do("DELETE", path, "", "If-Match: "+one).problem(t, 412, "precondition-failed")
	c.do("DELETE", path, "", "If-Match: "+etag).want(t, 204)
	c.do("DELETE", path, "", "If-Match: "+etag).problem(t, 412, "precondition-failed")
	c.do("DELETE", path, "", "If-Match: *").problem(t, 412, "precondition-failed")

	// A version is not used again after a delete.
	again := c.do("PUT", path, "one", "If-None-Match: *").want(t, 201).header.Get("ETag")
	require.NotEqual(t, one, again)
	c.do("PUT", path, "no", "If-Match: "+etag).problem(t, 412, "precondition-failed")
}

func TestReadConditions(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	path := entryPath("db0", "k")
	c.do("GET", path, "", "If-Match: *").problem(t, 412, "precondition-failed")
	etag := c.do("PUT", path, "value", "If-None-Match: *").want(t, 201).header.Get("ETag")
	for _, method := range []string{"GET", "HEAD"} {
		for _, tags := range []string{etag, "W/" + etag, "*", `"1", ` + etag} {
			got := c.do(method, path, "", "If-None-Match: "+tags).want(t, 304)
			require.Empty(t, got.body)
			require.Equal(t, etag, got.header.Get("ETag"))
			require.Equal(t, "none", got.header.Get("Howdah-TTL"))
		}
		c.do(method, path, "", `If-None-Match: "1"`).want(t, 200)
		c.do(method, path, "", "If-Match: "+etag).want(t, 200)
		c.do(method, path, "", `If-Match: "1"`).want(t, 412)
		c.do(method, path, "", "If-Match: W/"+etag).want(t, 412)
	}
}

// TestOneWriterWins lets writers race with the same condition: exactly one is
// told that it stored, and its value is the one that is there.
func TestOneWriterWins(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	etag := "" // before the first round the key is absent
	for round := range 20 {
		path := entryPath("db0", "k")
		condition := "If-Match: " + etag
		if round == 0 {
			condition = "If-None-Match: *"
		}
		var winners atomic.Int32
		var winner atomic.Value
		var wg sync.WaitGroup
		for writer := range 8 {
			wg.Go(func() {
				value := fmt.Sprintf("%d by %d", round, writer)
				got := c.do("PUT", path, value, condition)
				switch got.status {
				case http.StatusCreated, http.StatusNoContent:
					winners.Add(1)
					winner.Store([2]string{value, got.header.Get("ETag")})
				case http.StatusPreconditionFailed:
				default:
					t.Errorf("status %d: %s", got.status, got.body)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, winners.Load())
		got := c.do("GET", path, "").want(t, 200)
		require.Equal(t, winner.Load(), [2]string{got.body, got.header.Get("ETag")})
		etag = got.header.Get("ETag")
	}
	// The same for deleters.
	var winners atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if c.do("DELETE", entryPath("db0", "k"), "", "If-Match: "+etag).status == http.StatusNoContent {
				winners.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, winners.Load())
}

// TestCreatedOnce: of writers without a condition, as many are told that they
// created the entry as there were deletes, and one.
func TestCreatedOnce(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	var created, deleted atomic.Int32
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			for range 20 {
				if caller%2 == 0 {
					if c.do("DELETE", entryPath("db0", "k"), "").status == http.StatusNoContent {
						deleted.Add(1)
					}
					continue
				}
				got := c.do("PUT", entryPath("db0", "k"), "v")
				if got.status != http.StatusCreated && got.status != http.StatusNoContent {
					t.Errorf("PUT: %d %s", got.status, got.body)
				}
				if got.status == http.StatusCreated {
					created.Add(1)
				}
			}
		})
	}
	wg.Wait()
	left := int32(0)
	if c.do("GET", entryPath("db0", "k"), "").status == http.StatusOK {
		left = 1
	}
	require.Equal(t, deleted.Load()+left, created.Load())
}
