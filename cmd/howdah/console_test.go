package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConsoleLink(t *testing.T) {
	now := time.Now()
	t.Setenv("HOWDAH_HTTP_ADDR", "")
	for server, want := range map[string]string{
		"": "http://127.0.0.1:8080/console/", "0.0.0.0:9000": "http://localhost:9000/console/", ":9000": "http://localhost:9000/console/",
		"https://ops.example/howdah/": "https://ops.example/howdah/console/", "http://[::1]:8080": "http://[::1]:8080/console/",
	} {
		link, err := (&consoleLink{server: server}).link(now)
		require.NoError(t, err, server)
		require.Equal(t, want, link)
		link, err = (&consoleLink{server: server, token: "a-token"}).link(now)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(link, want+"login?ticket="), link)
		require.NotContains(t, link, "a-token")
	}
	for _, wrong := range []string{"off", "nothing", "ftp://x", "http://", "http://user@host", "http://x?y", "http://x y"} {
		_, err := (&consoleLink{server: wrong}).link(now)
		require.Error(t, err, wrong)
	}
	r := execute(t, "", []string{"HOWDAH_TOKEN=a-token"}, "console", "--print", "--output", "json")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, `{"url":"http://127.0.0.1:8080/console/login?ticket=`)
}
