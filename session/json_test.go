package session_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/session"
)

// unmergeable are texts that PostgreSQL cannot merge, or only at a price that
// nobody should be made to pay.
var unmergeable = []string{
	`"\u0000"`, `"a\u0000b"`, `["x", {"\u0000": 1}]`,
	`"\ud800"`, `"\udc00"`, `"\ud800x"`, `"\ud800\ud800"`, `"\ud83d\n"`, "\"\xff\"",
	"1e400", "-1e400000", "1e131071", "[" + strings.Repeat("1e131071,", 1500) + "1]", "1e9999999999999999999",
	"0e-16383", "1e-16383", "0e2000000000", "1E+400", `{"a":-1e-401}`,
	strings.Repeat("1", 401), "0." + strings.Repeat("1", 20_000), strings.Repeat("1", 200_000),
	"", "{", "nul", "[1,]", "01",
}

// mergeable are texts that look like them.
var mergeable = []string{
	`"\\u0000"`, `"\\\\u0000 \" \\"`, `"1e400 \u00e9"`, `"\ud83d\udc18"`, `"\uD83D\uDC18\ufffd"`, `{"1e400":"-1e400","":null}`, `"` + "\u2028<&>" + `"`,
	"0", "-0", "1.5", "1.7976931348623157e308", "-1E+308", "5e-324", "4.940656458412465e-324", "12345678901234567890.5",
	strings.Repeat("1", 308), " [ 1 , 2e3\n,\ttrue,-1 ] ", `{"a":1e2}`, strings.Repeat("[", 5000) + "7" + strings.Repeat("]", 5000),
}

// A session that CheckJSON lets begin can be changed; what it refuses does not
// reach the database.
func TestCheckJSON(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	s := create(t, m, session.Start{})
	merge := func(s *session.Session, text string) ([]byte, error) {
		payload, _, err := m.Merge(t.Context(), s.Token(), map[string]json.RawMessage{"f": json.RawMessage(text)})
		return payload, err
	}
	for _, text := range unmergeable {
		require.ErrorIs(t, session.CheckJSON([]byte(text)), session.ErrNotJSON, "%.50s", text)
		_, err := merge(s, text)
		require.ErrorIs(t, err, session.ErrNotJSON, "%.50s", text)
		require.NotContains(t, err.Error(), "SQLSTATE")
	}
	require.Equal(t, s.Version, get(t, m, s.Token()).Version)
	for _, text := range mergeable {
		require.NoError(t, session.CheckJSON([]byte(text)), "%.50s", text)
		payload, err := merge(create(t, m, session.Start{Payload: []byte(`{"first":` + text + `}`)}), text)
		require.NoError(t, err, "%.50s", text)
		require.Less(t, len(payload), 2*len(text)+2000)
	}
}

// Payloads that came another way, by Save or from SQL, are not written out either.
func TestMergeInto(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{})
	for _, number := range []string{"1e131071", "-1e309", "0e-16383", "1e-1001", "1e400000"} {
		s := create(t, m, session.Start{Payload: []byte(`{"a":{"b":[` + number + `]}}`)})
		_, _, err := m.Merge(t.Context(), s.Token(), nil)
		require.ErrorIs(t, err, session.ErrNotJSON, number)
		_, _, err = m.Merge(t.Context(), s.Token(), nil, "a")
		if number != "1e400000" { // nothing that jsonb can read
			require.NoError(t, err, "it can be removed")
		}
	}
	s := create(t, m, session.Start{})
	_, err := pool.Exec(t.Context(), `SELECT howdah.session_merge(id, secret_hash, '{"a": 1e131071}') FROM howdah.session WHERE id = $1::uuid`, s.ID.String())
	require.ErrorContains(t, err, "HW014")
}

// Fields are bounded before they are sent, as they are written and not as HTML
// would have them.
func TestFieldsAreBounded(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{MaxPayloadBytes: 1000})
	s := create(t, m, session.Start{Payload: []byte(`{"f":"old"}`)})
	for range 2 { // also in the place of as much
		payload, _, err := m.Merge(t.Context(), s.Token(), map[string]json.RawMessage{"f": json.RawMessage(`"` + strings.Repeat("<", 980) + `"`)})
		require.NoError(t, err)
		require.Contains(t, string(payload), "<<<")
	}
	_, _, err := m.Merge(t.Context(), s.Token(), map[string]json.RawMessage{"f": json.RawMessage(`"` + strings.Repeat("\\u00e9", 200) + `"`)})
	require.ErrorIs(t, err, session.ErrPayloadTooLarge)
	require.NotContains(t, err.Error(), "SQLSTATE", "the database was not asked")
}

// A handler hears at once of a value that cannot be kept, and the session that
// it may have begun can be changed.
func TestSetRefuses(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	handlers := pages(t)
	handlers["/refused"] = func(w http.ResponseWriter, r *http.Request) {
		s := session.From(r.Context())
		for _, text := range unmergeable {
			assert.ErrorIs(t, s.Set("f", json.RawMessage(text)), session.ErrNotJSON, "%.50s", text)
		}
		assert.ErrorIs(t, s.Set("f", "a\x00b"), session.ErrNotJSON)
		assert.ErrorIs(t, s.Set("a\x00b", 1), session.ErrNotJSON)
		assert.ErrorIs(t, s.Set("f", make(chan int)), session.ErrNotJSON)
		assert.NoError(t, s.Set("good", "1"))
	}
	server := site(t, m, handlers)
	client := browser(t, server)
	for range 2 { // a new session, then the same
		resp, _ := visit(t, client, server.URL+"/refused")
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	visit(t, client, server.URL+"/set?k=more&v=2")
	require.JSONEq(t, `{"good":"1","more":"2"}`, string(get(t, m, mustParse(t, token(t, client, server))).Payload))
}
