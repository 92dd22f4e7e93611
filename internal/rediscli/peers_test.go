//go:build peers

package rediscli

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/peers"
)

// peerKeys are what peerCommands read.
const peerKeys = `SET k "a \" \\ \n\r\t\a\b \x00\x7f\xff"
SET text "caf\xc3\xa9 <b> \" \\ \n\x01"
HSET h a 1 b 2 c "x y"
SADD s one
ZADD z 1.5 a inf b
XADD x 1-1 f v
`

// peerCommands have replies of every kind, nested, and long enough for numbers of
// two digits. Their replies do not change.
var peerCommands = []string{
	`SET k2 v`, `GET k`, `GET text`, `GET none`, `STRLEN k`, `GETT`, `LPUSH k a`,
	`EVAL "return {1,{2,{3,{}},'x'},{},redis.error_reply('ERR inner'),false,redis.status_reply('fine')}" 0`,
	`EVAL "return {{1},{{2}}}" 0`, `EVAL "local t = {} for i = 1, 12 do t[i] = {i, 'x'} end return t" 0`,
	`HGETALL h`, `HGETALL none`, `SMEMBERS s`, `SMEMBERS none`, `ZRANGE z 0 -1 WITHSCORES`, `ZSCORE z a`, `ZSCORE z b`,
	`CONFIG GET maxmemory`, `KEYS none*`, `EXISTS k none`, `CLIENT LIST ID 999`, `XRANGE x - +`, `OBJECT HELP`, `COMMAND INFO get`,
	`LATENCY DOCTOR`, `INFO keyspace`,
	`DEBUG PROTOCOL string`, `DEBUG PROTOCOL integer`, `DEBUG PROTOCOL double`, `DEBUG PROTOCOL null`, `DEBUG PROTOCOL array`,
	`DEBUG PROTOCOL set`, `DEBUG PROTOCOL map`, `DEBUG PROTOCOL verbatim`, `DEBUG PROTOCOL true`, `DEBUG PROTOCOL false`,
	`exit`,
}

// Replies are written as redis-cli writes them.
func TestFormatsOfRedisCLI(t *testing.T) {
	t.Parallel()
	address := peers.Redis(t, "--enable-debug-command", "yes").Addr
	_, port, _ := net.SplitHostPort(address)
	fill := &Session{Client: New(Options{Address: address}), Out: io.Discard, Err: io.Discard}
	defer fill.Client.Close()
	failed, err := fill.Lines(t.Context(), strings.NewReader(peerKeys))
	require.NoError(t, err)
	require.False(t, failed)
	for _, c := range []struct {
		name   string
		flags  []string
		format Format
		resp3  bool
	}{
		{"standard", []string{"--no-raw"}, Standard, false},
		{"standard, RESP3", []string{"--no-raw", "-3"}, Standard, true},
		{"raw", []string{"--raw"}, Raw, false},
		{"raw, RESP3", []string{"--raw", "-3"}, Raw, true},
		{"JSON", []string{"--json", "-3"}, JSON, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var written bytes.Buffer
			client := New(Options{Address: address, RESP3: c.resp3})
			defer client.Close()
			session := &Session{Client: client, Format: c.format, Out: &written, Err: &written}
			for _, line := range peerCommands {
				peer := exec.Command("redis-cli", append([]string{"-p", port}, c.flags...)...)
				peer.Stdin = strings.NewReader(line + "\n")
				theirs, err := peer.Output()
				require.NoError(t, err)
				written.Reset()
				_, err = session.Lines(t.Context(), strings.NewReader(line))
				require.NoError(t, err)
				if c.format == JSON && !json.Valid(theirs) {
					require.True(t, line == "exit" || json.Valid(written.Bytes()), "%s: %s", line, written.String())
					continue // errors, infinity, and bytes that are no text
				}
				if c.format == JSON {
					require.JSONEq(t, string(theirs), written.String(), line)
					continue
				}
				require.Equal(t, string(theirs), written.String(), line)
			}
		})
	}
}

// The arguments of commands are written as redis-cli shows them.
func TestTableOfRedis(t *testing.T) {
	t.Parallel()
	client := New(Options{Address: peers.Redis(t).Addr})
	defer client.Close()
	table, err := LoadTable(t.Context(), client)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"GET":           "key",
		"DEL":           "key [key ...]",
		"SET":           "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
		"CLIENT LIST":   "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
		"MSET":          "key value [key value ...]",
		"CONFIG SET":    "parameter value [parameter value ...]",
		"SORT":          "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]",
		"ZUNIONSTORE":   "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]",
		"COMMAND COUNT": "",
	} {
		require.Equal(t, want, table[name].Syntax, name)
	}
	require.Equal(t, "Get the value of a key", table["GET"].Summary)
}
