package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"testing"

	"github.com/alexedwards/scs/v2"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session/scsstore"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Page views are counted in Howdah, for as long as the session lives.
func TestViews(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), "127.0.0.1:0", ""), "howdah url")
	database := pgtest.Empty(t)
	require.NoError(t, install(t.Context(), database))
	db, err := howdah.Open(t.Context(), database, nil)
	require.NoError(t, err)
	defer db.Close()
	manager := scs.New()
	manager.Store = scsstore.New(db)
	web := httptest.NewServer(manager.LoadAndSave(routes(manager)))
	defer web.Close()

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	get := func(path string) string {
		resp, err := (&http.Client{Jar: jar}).Get(web.URL + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(body)
	}
	for _, want := range []string{"1", "2", "3"} {
		require.Equal(t, "Page views of this session: "+want+"\n", get("/"))
	}
	require.Equal(t, "Page views of this session: 1\n", get("/forget"), "a session that was destroyed is forgotten")
}
