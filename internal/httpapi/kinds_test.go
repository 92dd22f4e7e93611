package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// collection stores a hash, which only Redis clients can use.
func (c *client) collection(key string) {
	c.t.Helper()
	call := &verb.Call{Verb: statement.Set, Key: []byte(key), Value: []byte("\x01\x01f\x01v"), Kind: 1, Condition: verb.IfAbsent}
	require.NoError(c.t, (*core.DB)(c.db).Cache("db0").Do(c.t.Context(), call))
	require.Equal(c.t, verb.OK, call.Status)
}

func TestWrongType(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.collection("k")
	path := entryPath("db0", "k")
	c.do("GET", path, "").problem(t, 409, "wrong-type")
	c.do("GET", path, "", "Prefer: lease=10").problem(t, 409, "wrong-type")
	c.json("POST", path+"/increment", "{}").problem(t, 409, "wrong-type")
	require.Equal(t, 409, c.do("HEAD", path, "").status)
	c.json("POST", "/v1/caches/db0/set-many", `{"entries":[{"key":"s","value":"1"}]}`).want(t, 204)
	got := c.json("POST", "/v1/caches/db0/get-many", `{"keys":["k","s"]}`).want(t, 200)
	require.JSONEq(t, `{"entries":[{"key":"k","found":false},{"key":"s","value":"1","found":true}]}`, got.body)

	// What does not look at the value, and what replaces it.
	c.do("PUT", path, "v", "If-None-Match: *").problem(t, 412, "precondition-failed")
	c.json("POST", path+"/expire?ttl=1h", "").want(t, 204)
	c.do("GET", path, "").problem(t, 409, "wrong-type")
	c.do("PUT", path, "v").want(t, 204)
	require.Equal(t, "v", c.do("GET", path, "").want(t, 200).body)
	c.do("DELETE", path, "").want(t, 204)
	c.collection("k")
	c.do("DELETE", path, "").want(t, 204)
}
