package main

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/session"
)

func sessionsOf(t *testing.T, args ...string) (session.Options, error) {
	t.Helper()
	s, f := newSessionSettings(), pflag.NewFlagSet("serve", pflag.ContinueOnError)
	s.add(f)
	if err := f.Parse(args); err != nil {
		return session.Options{}, err
	}
	return s.options()
}

// What is not given is what the library does by itself.
func TestSessionFlagDefaults(t *testing.T) {
	t.Parallel()
	o, err := sessionsOf(t)
	require.NoError(t, err)
	require.Equal(t, session.Options{
		IdleTimeout: 30 * time.Minute, Lifetime: 7 * 24 * time.Hour, FlushInterval: 30 * time.Second,
		MaxStaleness: 5 * time.Second, MaxPayloadBytes: 64 << 10, MissRate: 500,
	}, o)
}

func TestSessionFlags(t *testing.T) {
	t.Parallel()
	o, err := sessionsOf(t, "--session-idle-timeout", "600", "--session-skip-window", "0", "--session-lifetime", "24h",
		"--session-flush-interval", "45s", "--session-user-limit", "3", "--session-revoke-oldest", "--session-max-payload", "8KiB",
		"--session-max-staleness", "2s", "--session-miss-rate", "50",
		"--read-url", "postgres://u@a:5432,b:5433/d, postgresql://u@c/d", "--read-url", "host=d,e dbname=d")
	require.NoError(t, err)
	require.Equal(t, session.Options{
		IdleTimeout: 10 * time.Minute, SkipWindow: session.NoSkip, Lifetime: 24 * time.Hour, FlushInterval: 45 * time.Second,
		UserLimit: 3, RevokeOldest: true, MaxPayloadBytes: 8 << 10, MaxStaleness: 2 * time.Second, MissRate: 50,
		ReadURLs: []string{"postgres://u@a:5432,b:5433/d", "postgresql://u@c/d", "host=d,e dbname=d"},
	}, o)
	o, err = sessionsOf(t, "--session-idle-timeout", "0", "--session-skip-window", "1m")
	require.NoError(t, err)
	require.Equal(t, session.NoIdleTimeout, o.IdleTimeout)
	require.Equal(t, time.Minute, o.SkipWindow)
}

func TestSessionFlagErrors(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--session-idle-timeout is 10ms; it must be":  {"--session-idle-timeout", "10ms"},
		"must not be negative":                        {"--session-skip-window", "-1s"},
		"--session-lifetime must be above zero":       {"--session-lifetime", "0"},
		"--session-flush-interval must be above zero": {"--session-flush-interval", "0"},
		"--session-max-staleness is 1ms":              {"--session-max-staleness", "1ms"},
		"--session-miss-rate must be above zero":      {"--session-miss-rate", "0"},
		"--session-user-limit is -1":                  {"--session-user-limit", "-1"},
		"which is not given":                          {"--session-revoke-oldest"},
		"--session-max-payload is 2097152":            {"--session-max-payload", "2MiB"},
	} {
		_, err := sessionsOf(t, args...)
		require.ErrorContains(t, err, want)
	}
}

func TestReadURLErrors(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--read-url must begin with postgres://": {"--http-addr", "127.0.0.1:0", "--read-url", "mysql://u:hunter2@h/d"},
		"give --http-addr an address":            {"--http-addr", "off", "--read-url", "postgres://u:hunter2@h/d"},
	} {
		r := execute(t, "", nil, append([]string{"serve", "--redis-addr", "127.0.0.1:0"}, args...)...)
		require.Equal(t, exitUsage, r.code, r.err)
		require.Contains(t, r.err, want)
		require.NotContains(t, r.err, "hunter2")
	}
}
