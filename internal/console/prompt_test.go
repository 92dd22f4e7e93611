package console

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/rediscli"
	"github.com/howdah/howdah/internal/resp"
)

var replies = regexp.MustCompile(`(?s)<pre class="value reply[^>]*><bdi><span class="line">[^<]*</span>\n(.*?)</bdi></pre>`)

// types sends a line to the prompt of a cache.
func (b *browser) types(cache, line string) page {
	b.t.Helper()
	return b.post("caches/"+cache+"/prompt", url.Values{"line": {line}})
}

// reply is what a line was answered.
func (b *browser) reply(line string) string {
	b.t.Helper()
	got := b.types("db0", line).want(b.t, http.StatusOK)
	match := replies.FindStringSubmatch(got.body)
	require.NotNil(b.t, match, got.body)
	return html.UnescapeString(match[1])
}

// The prompt answers as redis-cli does, on the cache that was chosen, and each run is in the log without
// the values.
func TestPrompt(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	require.NoError(t, (*howdah.DB)(s.db).CreateCache(t.Context(), howdah.CacheConfig{Name: "pages"}))
	b := s.browser(adminToken)
	for _, c := range [][2]string{
		{`SET "two words" "\x00\xff" EX 100`, "OK\n"},
		{`get 'two words'`, `"\x00\xff"` + "\n"},
		{`HSET h f 1 g 2`, "(integer) 2\n"},
		{`HGETALL h`, "1) \"f\"\n2) \"1\"\n3) \"g\"\n4) \"2\"\n"},
		{`INCR h`, "(error) WRONGTYPE Operation against a key holding the wrong kind of value\n"},
		{`GET absent`, "(nil)\n"},
		{`EVAL "return {1, redis.call('get', KEYS[1])}" 1 "two words"`, "1) (integer) 1\n2) \"\\x00\\xff\"\n"},
		{`KEYS h*`, "1) \"h\"\n"},
		{`COPY h i`, "(integer) 1\n"},
		{`DEL h i`, "(integer) 2\n"},
		{`DBSIZE`, "(integer) 1\n"},
		{`SET hostile <script>`, "OK\n"},
		{`GET hostile`, "\"<script>\"\n"},
	} {
		require.Equal(t, c[1], b.reply(c[0]), c[0])
	}
	b.types("pages", "SET page:1 text").want(t, http.StatusOK)
	_, err := (*howdah.DB)(s.db).Cache("db0").Get(t.Context(), "page:1")
	require.ErrorIs(t, err, howdah.ErrMiss)
	value, err := (*howdah.DB)(s.db).Cache("pages").Get(t.Context(), "page:1")
	require.NoError(t, err)
	require.Equal(t, "text", string(value))
	b.types("nope", "GET a").want(t, http.StatusNotFound)

	b.reply("SET sess:b3c1f0aa77 secret-of-a-session")
	log := s.log.String()
	require.Contains(t, log, `detail="SET sess:*** and 1 argument"`)
	require.Contains(t, log, `detail="HGETALL h"`)
	require.NotContains(t, log, "b3c1f0aa77")
	require.NotContains(t, log, "secret-of-a-session")
	b.get("removals").has(t, "command run SET sess:***", "<code>del</code>", "console")
	b.get("caches/db0/prompt?line="+url.QueryEscape(`DEL "a"`)).want(t, http.StatusOK).has(t, html.EscapeString(`DEL "a"`)).lacks(t, "reply")
	require.Less(t, len(b.reply("EVAL \"return string.rep('x', 200000)\" 0")), 65<<10)
}

// What would go on, wait, set a connection, reach another cache or empty this one is refused with a
// sentence, and so is what is no command.
func TestPromptRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	b := s.browser(adminToken)
	for line, why := range map[string]string{
		"FLUSHALL": "Empty the cache", "FLUSHDB ASYNC": "Empty the cache", "MONITOR": "redis-cli", "SUBSCRIBE c": "redis-cli", "PSUBSCRIBE *": "redis-cli",
		"BLPOP l 0": "waits", "BRPOPLPUSH a b 1": "waits", "BLMOVE a b LEFT LEFT 0": "waits", "WAIT 1 0": "waits", "MULTI": "EVAL", "WATCH k": "EVAL", "EXEC": "EVAL",
		"SELECT 1": "this cache alone", "SWAPDB 0 1": "this cache alone", "MOVE plain 1": "this cache alone", "COPY plain p DB 1": "this cache alone",
		"CLIENT KILL ID 1": "connection of its own", "CLIENT PAUSE 1000": "connection of its own", "HELLO 3": "connection of its own", "QUIT": "connection of its own",
		"CONFIG SET maxmemory 1": "about a server", "INFO": "about a server", "SLOWLOG GET": "about a server", "DEBUG SLEEP 1": "about a server", "CLUSTER INFO": "about a server",
		"SCRIPT FLUSH": "all servers", "FUNCTION FLUSH": "all servers",
		"NONSENSE a": "unknown command", "GET": "wrong number of arguments", `GET "a`: "quotes", "": "Type a command", "   ": "Type a command",
	} {
		b.types("db0", line).want(t, http.StatusUnprocessableEntity).has(t, why).lacks(t, `class="value reply`)
	}
	n, err := s.db.Cache("db0").Count(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 32, n)
	_, err = s.db.Pool().Exec(t.Context(), "SELECT howdah.set_many_text('db0', array_agg('k' || i), array_agg('v'::text)) FROM generate_series(1, 12000) AS i GROUP BY i / 1000")
	require.NoError(t, err)
	_, err = s.db.Pool().Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	b.types("db0", "KEYS *").want(t, http.StatusUnprocessableEntity).has(t, "KEYS reads every key")
	require.NotContains(t, s.log.String(), "command run")
}

// Nobody gets by the prompt what the pages refuse: a viewer sees no value, no masked key, and changes
// nothing; a console that is read-only changes nothing.
func TestPromptKeepsRights(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	viewer := s.browser(viewerToken)
	for _, c := range [][2]string{{"TTL plain", "(integer) -1\n"}, {"TYPE plain", "string\n"}, {"EXISTS plain absent", "(integer) 1\n"}, {"DBSIZE", "(integer) 32\n"}, {"OBJECT ENCODING absent", "(nil)\n"}} {
		require.Equal(t, c[1], viewer.reply(c[0]))
	}
	for _, line := range []string{
		"GET plain", "MGET plain", "GETRANGE plain 0 -1", "SET plain x", "DEL plain", "EXPIRE plain 1", "TOUCH plain", "KEYS *", "SCAN 0", "RANDOMKEY", "DUMP plain",
		"EVAL 'return 1' 0", "EVAL_RO 'return 1' 0", "SORT plain", "PUBLISH c m", "HOWDAH.SLOWLOG GET", "FUNCTION LIST",
		"TTL sess:b3c1f0aa77", "EXISTS plain sess:b3c1f0aa77", "STRLEN sess:b3c1f0aa77",
	} {
		got := viewer.types("db0", line)
		require.Contains(t, []int{http.StatusForbidden, http.StatusUnprocessableEntity}, got.status, line)
		got.lacks(t, "plain value", "payload-of-a-session", `class="value reply`)
	}
	s.browser().types("db0", "TTL plain").want(t, http.StatusUnauthorized)
	s.browser(sessionsToken).types("db0", "TTL plain").want(t, http.StatusForbidden)
	version := s.version("plain")

	locked := openWith(t, s.db.Pool().Config().ConnString(), func(*howdah.Options) {}, func(o *Options) { o.ReadOnly = true })
	b := locked.browser(adminToken)
	require.Equal(t, "\"plain value\"\n", b.reply("GET plain"))
	require.Equal(t, "(integer) 1\n", b.reply("EVAL_RO 'return 1' 0"))
	for _, line := range []string{"SET plain x", "DEL plain", "EVAL 'return 1' 0", "FCALL f 0", "SORT plain STORE x", "GETDEL plain", "PERSIST plain", "PUBLISH c m", "SCRIPT LOAD 'return 1'", "HOWDAH.INVALIDATE t"} {
		b.types("db0", line).want(t, http.StatusForbidden).has(t, "--console-read-only")
	}
	require.Equal(t, version, s.version("plain"))

	bare := openWith(t, s.db.Pool().Config().ConnString(), func(*howdah.Options) {}, func(o *Options) { o.NoScripts = true })
	require.Contains(t, bare.browser(adminToken).reply("EVAL 'return 1' 0"), "run no scripts")
}

// A line is sent by a form of this console, and by nobody else.
func TestPromptOfOthers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	b := s.browser(adminToken)
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"} {
		b.post("caches/db0/prompt", url.Values{"line": {"DEL plain"}}, header).want(t, http.StatusForbidden)
	}
	b.do(http.MethodPost, "caches/db0/prompt", strings.NewReader("line=DEL+plain")).want(t, http.StatusForbidden)
	b.get("caches/db0/prompt?line=DEL+plain").want(t, http.StatusOK)
	require.Equal(t, "(integer) 1\n", b.reply("EXISTS plain"))
}

// TestPromptShortensLargeReplies: what the page shows of a reply is the same, and the rest is not written out.
func TestPromptShortensLargeReplies(t *testing.T) {
	t.Parallel()
	bulk := func(n int) resp.Reply { return resp.Reply{Kind: resp.Bulk, Str: make([]byte, n)} }
	array := func(all ...resp.Reply) resp.Reply { return resp.Reply{Kind: resp.Array, Elems: all} }
	for name, reply := range map[string]func() resp.Reply{
		"a small one":    func() resp.Reply { return array(bulk(3), array(bulk(4), resp.Reply{Kind: resp.Integer, Int: 7})) },
		"a large string": func() resp.Reply { return bulk(1 << 22) },
		"large elements": func() resp.Reply { return array(bulk(1000), array(bulk(1<<22), bulk(5)), bulk(1<<22)) },
	} {
		want := rediscli.Standard.Append(nil, reply())
		left := maxShown + utf8.UTFMax
		got := rediscli.Standard.Append(nil, startOf(reply(), &left))
		if (len(got) > maxShown) != (len(want) > maxShown) || !bytes.Equal(got[:min(len(got), maxShown)], want[:min(len(want), maxShown)]) {
			t.Errorf("%s: the page would show something else", name)
		}
		if len(got) > 5*maxShown {
			t.Errorf("%s: %d bytes are written out", name, len(got))
		}
	}
}
