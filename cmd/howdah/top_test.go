package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestBigkeys(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	query(t, url, "SELECT howdah.create_cache('other'); SELECT howdah.set_text('db0', 'user:' || i || ':x', repeat('x', 100), '1 hour') FROM generate_series(1, 30) AS i;"+
		"SELECT howdah.set_text('db0', 'big', repeat('x', 5000)); SELECT howdah.set_text('other', 'o', 'x')")
	run := func(args ...string) string {
		r := execute(t, "", []string{"HOWDAH_DATABASE_URL=" + url}, append([]string{"bigkeys"}, args...)...)
		require.Zero(t, r.code, r.err)
		return r.out
	}
	out := run()
	require.Regexp(t, `(?m)^db0: 31 entries, .*; looked at 31$`, out)
	require.Regexp(t, `(?m)^ +30 .* user:$`, out)
	require.Regexp(t, `(?m)^other: 1 entries`, out)
	require.NotContains(t, run("--cache", "db0"), "other:")
	require.Regexp(t, `(?m)^ *5K +none +\S+ +string +big$`, run("--cache", "db0", "--by", "size", "--limit", "1"))
	require.Regexp(t, `(?m)^ *1 .* user:7:$`, run("--cache", "db0", "--prefix", "user:", "--limit", "40"))

	var got struct {
		Cache   string
		Exact   bool
		Looked  int
		Entries int
		Keys    []struct {
			Key string
			TTL *float64
		}
		Prefixes *struct{ Groups []map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(run("--cache", "db0", "--by", "ttl", "--output", "json")), &got))
	require.Equal(t, 31, got.Entries)
	require.True(t, got.Exact)
	require.Equal(t, "big", got.Keys[0].Key)
	require.Nil(t, got.Keys[0].TTL)
	require.Len(t, got.Keys, 20)
	require.Nil(t, got.Prefixes)
	require.NoError(t, json.Unmarshal([]byte(run("--cache", "db0", "--sample", "7", "--output", "json")), &got))
	require.Equal(t, 7, got.Looked)
	require.False(t, got.Exact)

	for want, args := range map[string][]string{
		"--by must be":           {"--by", "color"},
		"--prefix belongs to":    {"--by", "ttl", "--prefix", "a:"},
		"--sample must be":       {"--sample", "10001"},
		"--limit must be":        {"--limit", "0"},
		`there is no cache "no"`: {"--cache", "no"},
	} {
		r := execute(t, "", []string{"HOWDAH_DATABASE_URL=" + url}, append([]string{"bigkeys"}, args...)...)
		require.NotZero(t, r.code)
		require.Contains(t, r.err, want)
	}
}

func TestTopOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, nil, "--database-url", url)
	query(t, url, "SELECT howdah.create_cache('aaa'); SELECT howdah.set_text('db0', 'user:' || i, 'v') FROM generate_series(1, 5) AS i")
	args := []string{"top", "--database-url", url, "--server", p.redis, "--interval", "200ms", "--once", "--sort", "entries"}
	r := execute(t, "", nil, args...)
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `(?s)CACHE .*\ndb0 .*\naaa .*\ndb0: 5 entries.*\n +5 .* user:\n.*CLIENTS +LIBRARY +NAME\n1 `, r.out)
	r = execute(t, "", nil, append(args, "--output", "json")...)
	require.Zero(t, r.code, r.err)
	var got struct {
		Report   struct{ Tables []struct{ Name string } }
		Prefixes struct{ Cache string }
		Clients  []clientGroup
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &got))
	require.Equal(t, "db0", got.Report.Tables[0].Name)
	require.Equal(t, "db0", got.Prefixes.Cache)
	require.Equal(t, 1, got.Clients[0].Clients)

	// A server that is away hides the clients only.
	r = execute(t, "", nil, "top", "--database-url", url, "--server", "127.0.0.1:1", "--interval", "100ms", "--once")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "clients: cannot reach a server at 127.0.0.1:1")
	for want, args := range map[string][]string{
		"--sort must be one of reads, ": {"--sort", "color", "--database-url", url},
		"--server must look like":       {"--server", "http://a", "--database-url", url},
		"at least 100ms":                {"--interval", "1ms", "--database-url", url},
	} {
		r := execute(t, "", nil, append([]string{"top"}, args...)...)
		require.NotZero(t, r.code)
		require.Contains(t, r.err, want)
	}
}

func TestGroupClients(t *testing.T) {
	t.Parallel()
	list := "id=1 addr=127.0.0.1:5 name=web cmd=get lib-name=go-redis lib-ver=9.1\n" +
		"id=2 addr=127.0.0.1:6 name= cmd=set lib-name= lib-ver=\n" +
		"id=3 addr=127.0.0.1:7 name=web cmd=get lib-name=go-redis lib-ver=9.1\n"
	require.Equal(t, []clientGroup{{"go-redis 9.1", "web", 2}, {"", "", 1}}, groupClients(list))
	require.Equal(t, "CLIENTS  LIBRARY       NAME\n2        go-redis 9.1  web\n1        -             -\n", clientsText(groupClients(list), ""))
}
