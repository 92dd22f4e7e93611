package browser

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/browser/internal/chrome"
	"github.com/howdah/howdah/browser/internal/scene"
	"github.com/howdah/howdah/internal/server"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// hostileSite is a server where everything that others choose is hostile, and a visitor who
// may see all of it.
type hostileSite struct {
	*scene.Shop
	tab     *chrome.Tab
	console string
}

func newHostileSite(t *testing.T) *hostileSite {
	t.Helper()
	database := pgtest.New(t)
	s := &hostileSite{Shop: &scene.Shop{DatabaseURL: database, Token: adminToken, SessionToken: sessionToken, Password: "redis-passw0rd"}}
	s.Server = serve(t, func(c *server.Config) { c.DatabaseURL, c.SlowCall = database, 1; withTokens(c) })
	s.console = s.Server.URL + "/console/"
	s.store(t)
	s.begin(t)
	s.tab = visit(t)
	login(t, s.tab, s.Server.URL, sessionToken)
	login(t, s.tab, s.Server.URL, adminToken)
	s.tab.Faults()
	return s
}

// store fills db0, as clients with hostile names do, and removes some of it again.
func (s *hostileSite) store(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	client := s.Client("", "<script>window.ran='library'</script>", "'\"><b>", 0)
	t.Cleanup(func() { _ = client.Close() })
	for i, text := range hostile {
		_ = client.Do(ctx, "CLIENT", "SETNAME", text).Err() // some are refused
		key := "k" + cut(text)
		require.NoError(t, client.Set(ctx, key, text, 0).Err())
		require.NoError(t, client.HSet(ctx, "hash", text, text).Err())
		require.NoError(t, client.RPush(ctx, "list", text).Err())
		require.NoError(t, client.SAdd(ctx, "set", text).Err())
		require.NoError(t, client.ZAdd(ctx, "zset", redis.Z{Score: float64(i), Member: text}).Err())
		for _, separator := range []string{":", "/"} {
			require.NoError(t, client.Set(ctx, cut(text)+separator+"x", text, 0).Err())
			require.NoError(t, client.Get(ctx, cut(text)+separator+"x").Err())
		}
		require.NoError(t, client.Set(ctx, "gone"+key, "x", 0).Err())
		require.NoError(t, client.Del(ctx, "gone"+key).Err())
		_ = client.Do(ctx, text, "x").Err() // no command is named so
	}
}

// begin starts sessions of hostile users with hostile programs.
func (s *hostileSite) begin(t *testing.T) {
	t.Helper()
	api := scene.API{URL: s.Server.URL, Token: sessionToken, Agent: "test"}
	for _, text := range hostile {
		if len(text) > 200 || binary(text) {
			continue // refused
		}
		require.NoError(t, api.Begin(t.Context(), scene.Session{User: text, UserAgent: text}))
	}
}
