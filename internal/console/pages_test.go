package console

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/session"
)

// config reads the settings of a cache.
func (s *site) config(name string) *core.CacheConfig {
	s.t.Helper()
	configs, err := s.db.Caches(s.t.Context())
	require.NoError(s.t, err)
	for i := range configs {
		if configs[i].Name == name {
			return &configs[i]
		}
	}
	s.t.Fatalf("there is no cache %s", name)
	return nil
}

var links = regexp.MustCompile(`(?:href|action|src)="([^"]*)"`)

// TestLinks follows every link from the overview on: all are relative, lead to a page that is
// there, and every answer has the headers that keep others out.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	_, err := s.sessions.Create(t.Context(), session.Start{User: "ada"})
	require.NoError(t, err)
	b := s.browser(adminToken, sessionsToken)
	const limit = 150
	start, err := url.Parse(s.url)
	require.NoError(t, err)
	seen, queue := map[string]bool{}, []string{""}
	for len(queue) > 0 && len(seen) < limit {
		path := queue[0]
		queue = queue[1:]
		got := b.get(path)
		require.Contains(t, []int{http.StatusOK}, got.status, "%s: %s", path, got.body)
		checkHeaders(t, got.header)
		here, err := start.Parse(path)
		require.NoError(t, err)
		for _, match := range links.FindAllStringSubmatch(got.body, -1) {
			link := strings.NewReplacer("&amp;", "&").Replace(match[1])
			if strings.HasPrefix(link, "https://github.com/") || strings.HasPrefix(link, "#") {
				continue
			}
			require.True(t, strings.HasPrefix(link, "./"), "%s: the link %q is not relative", path, link)
			to, err := here.Parse(link)
			require.NoError(t, err)
			next := strings.TrimPrefix(to.RequestURI(), Prefix)
			require.NotEqual(t, to.RequestURI(), next, "%s: %q leads out of the console", path, link)
			if strings.HasPrefix(match[0], "action") || seen[next] {
				continue
			}
			seen[next] = true
			queue = append(queue, next)
		}
	}
	for _, page := range []string{"history", "caches/db0", "caches/db0/entries", "caches/db0/settings", "doctor", "cost", "slow", "removals", "near", "servers", "watches", "scripts", "clients", "sessions", "assets/app.css", "assets/app.js"} {
		require.True(t, seen[page], "no link leads to %s", page)
	}
}

func checkHeaders(t *testing.T, h http.Header) {
	t.Helper()
	require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
	require.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"))
	require.Contains(t, h.Get("Cache-Control"), "no-")
	csp := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		require.Contains(t, csp, part)
	}
	require.NotContains(t, csp, "unsafe")
}

// Neither templates nor scripts hold what the policy forbids.
func TestTemplatesHaveNoInlineScriptOrStyle(t *testing.T) {
	t.Parallel()
	files, err := templateFiles.ReadDir("templates")
	require.NoError(t, err)
	for _, file := range files {
		content, err := templateFiles.ReadFile("templates/" + file.Name())
		require.NoError(t, err)
		require.NotRegexp(t, `(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script[^>]*>[^<]`, string(content), file.Name())
	}
	script, err := assetFiles.ReadFile("assets/app.js")
	require.NoError(t, err)
	require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://`, string(script))
}

// hostile is text that no page may take for markup, or show as it is.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}` + "\u202e\x00\x1b[31m'`</title>"

// watchHostile lets tables with hostile names be watched by hostile expressions, one of which
// fails.
func (s *site) watchHostile(text string) {
	s.t.Helper()
	run := func(sql string) {
		s.t.Helper()
		_, err := s.db.Pool().Exec(s.t.Context(), sql)
		require.NoError(s.t, err, sql)
	}
	name := text
	for len(name) > 63 { // what PostgreSQL takes
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	for i, expression := range []string{literal(text) + " || id", "'k' || (" + literal(text) + " || id)::integer"} {
		table := pgx.Identifier{"public", strconv.Itoa(i) + name[1:]}.Sanitize()
		run("CREATE TABLE " + table + " (id bigint PRIMARY KEY)")
		run("SELECT howdah.watch_table(" + literal(table) + ", 'db0', key => " + literal(expression) + ")")
		run("INSERT INTO " + table + " VALUES (1)")
		run("DELETE FROM " + table)
	}
}

// Hostile text in keys, values, fields, clients, users and addresses is text on every page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := (*howdah.DB)(s.db).Cache("db0")
	ctx := t.Context()
	user := strings.NewReplacer("\x00", "").Replace(hostile)
	s.watchHostile(user) // it empties the cache
	require.NoError(t, c.Set(ctx, hostile, []byte(hostile), time.Hour))
	_, err := c.HSet(ctx, hostile+"h", map[string][]byte{hostile: []byte(hostile)}, 0)
	require.NoError(t, err)
	_, err = c.RPush(ctx, hostile+"l", [][]byte{[]byte(hostile)}, 0)
	require.NoError(t, err)
	require.NoError(t, c.Set(ctx, "gone:"+hostile, []byte("x"), time.Hour))
	_, err = s.db.Cache("db0").As(&observe.Client{Door: observe.DoorRedis, Name: hostile, Library: hostile, Address: hostile}, hostile).DeletePrefix(ctx, []byte("gone:"))
	require.NoError(t, err)
	_, err = s.sessions.Create(ctx, session.Start{User: user, UserAgent: user})
	require.NoError(t, err)
	_, err = s.db.Pool().Exec(ctx, "INSERT INTO howdah_internal.process VALUES (1, $1, $1, now(), now(), '1 s', 1, 1, 1, 1, 1, '1 s', '1 s', 1, 1)", user)
	require.NoError(t, err)
	b := s.browser(adminToken, sessionsToken)
	q := url.QueryEscape
	pages := []page{
		b.get(""), b.get("caches/db0"), b.get("caches/db0/entries"), b.get("caches/db0/entries?prefix=" + q(hostile)),
		b.get("caches/db0/entry?key64=" + key64([]byte(hostile))), b.get("caches/db0/delete-prefix?prefix=" + q(hostile)),
		b.get("removals"), b.get("removals?key=" + q(hostile) + "&cache=" + q(hostile)), b.get("sessions"), b.get("sessions?user=" + q(user)),
		b.get("sessions/revoke-user?user=" + q(user)), b.get("login?next=" + q(hostile) + "&ticket=" + q(hostile)), b.get("nowhere/" + q(hostile)),
		b.get("caches/" + q(hostile)), b.get("slow"), b.get("clients"), b.get("watches"), b.get("servers"), b.get("near"), b.get("?done=" + q(hostile)),
	}
	for _, suffix := range []string{"", "h", "l"} {
		pages = append(pages, b.post("caches/db0/entry/value", url.Values{"key64": {key64([]byte(hostile + suffix))}}).want(t, http.StatusOK))
	}
	fields := regexp.MustCompile(`value="[^"]*"`) // what a visitor has typed, or a form sends on, must stay as it is
	for i, p := range pages {
		p.body = fields.ReplaceAllString(p.body, "")
		require.NotRegexp(t, `<script>alert|<img src=x|\x{202e}|\x00|\x1b`, p.body, "page %d", i)
		require.Equal(t, 1, strings.Count(p.body, "</title>"), "page %d", i)
	}
	pages[2].has(t, `\u{202E}`, `\u{0}`, "&lt;script&gt;")
	b.get("slow").has(t, "&lt;script&gt;alert(1)", `\u{202E}`) // which keeps 64 bytes of a key
	b.get("removals").has(t, "&lt;script&gt;alert(1)", `\u{202E}`, `\u{0}`, `\u{1B}`)
	for path, texts := range map[string]int{"servers": 2, "near": 1} {
		shown := b.get(path).has(t, `\u{202E}`, `\u{1B}`)
		require.Equal(t, texts, strings.Count(shown.body, "&lt;script&gt;alert(1)"), "the name and the version on %s", path)
	}
	watches := b.get("watches").has(t, `\u{202E}`, `\u{1B}`, "&lt;script&gt;alert(1)")
	require.GreaterOrEqual(t, strings.Count(watches.body, "&lt;script&gt;alert(1)"), 4, "the names of tables, the expressions and the failure")
}

const password = "database-password-99"

// withPassword is the URL of a database with a password in it.
func withPassword(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	parsed.User = url.UserPassword(parsed.User.Username(), password)
	return parsed.String()
}

// Those who see figures only see neither values nor the secrets in keys, and no page shows a
// token, the secret of a session, its payload or the password of the database.
func TestSecrets(t *testing.T) {
	t.Parallel()
	s := openAt(t, withPassword(t, pgtest.New(t)), nil)
	require.Equal(t, password, s.db.Pool().Config().ConnConfig.Password)
	s.fill()
	live, err := s.sessions.Create(t.Context(), session.Start{User: "ada", Payload: []byte(`{"secret":"payload-of-a-live-session"}`)})
	require.NoError(t, err)
	_, err = s.sessions.Get(t.Context(), live.Token())
	require.NoError(t, err)
	var digest []byte
	require.NoError(t, s.db.Pool().QueryRow(t.Context(), "SELECT secret_hash FROM howdah.session").Scan(&digest))
	viewer := s.browser(viewerToken)
	all := s.browser(adminToken, viewerToken, sessionsToken)
	secrets := []string{adminToken, viewerToken, sessionsToken, live.Token().Reveal(), "payload-of-a-live-session", password,
		hex.EncodeToString(digest), base64.StdEncoding.EncodeToString(digest), base64.RawURLEncoding.EncodeToString(digest)}
	for _, path := range []string{"", "caches/db0", "caches/db0?below=" + key64([]byte("sess:")), "caches/db0/entries", "caches/db0/entries?prefix=sess:", "doctor", "cost", "slow", "removals", "near", "servers", "sessions", "login"} {
		all.get(path).lacks(t, secrets...)
		viewer.get(path).lacks(t, append(secrets, "b3c1f0aa77", "payload-of-a-session", "plain value")...)
	}
	viewer.get("caches/db0/entries").has(t, "sess:***")
	for _, b := range []*browser{viewer, all} { // those who may see the key do not see it here
		b.get("slow").has(t, "sess:***").lacks(t, append(secrets, "b3c1f0aa77")...)
	}
	viewer.get("caches/db0/entry?key64="+key64([]byte("sess:b3c1f0aa77"))).want(t, http.StatusForbidden)
	all.get("caches/db0/entries").has(t, "sess:b3c1f0aa77")
	all.post("caches/db0/entry/value", url.Values{"key64": {key64([]byte("sess:b3c1f0aa77"))}}).want(t, http.StatusOK).has(t, "payload-of-a-session")
	for _, secret := range append(secrets, "b3c1f0aa77", "payload-of-a-session") {
		require.NotContains(t, s.log.String(), secret)
		require.NotContains(t, s.traced.String(), secret)
	}
	require.Contains(t, s.log.String(), "value shown")
	require.Contains(t, s.log.String(), "slow call")
	for _, operation := range []string{"session_create", "session_read", "get_entry"} {
		require.Contains(t, s.traced.String(), "Operation:"+operation)
	}
}

// Every kind of value is readable, and its download never runs in a browser.
func TestValues(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := (*howdah.DB)(s.db).Cache("db0")
	ctx := t.Context()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte("unpacked text"))
	require.NoError(t, w.Close())
	require.NoError(t, c.Set(ctx, "json", []byte(`{"a":[1,2]}`), time.Hour))
	require.NoError(t, c.Set(ctx, "gzip", packed.Bytes(), time.Hour))
	require.NoError(t, c.Set(ctx, "bytes", []byte{0xff, 0, 1, 2}, time.Hour))
	require.NoError(t, c.Set(ctx, "large", bytes.Repeat([]byte("x"), 200<<10), time.Hour))
	_, err := c.HSet(ctx, "hash", map[string][]byte{"field": []byte("text")}, 0)
	require.NoError(t, err)
	_, err = c.RPush(ctx, "list", [][]byte{[]byte("one"), []byte("two")}, 0)
	require.NoError(t, err)
	_, err = c.SAdd(ctx, "set", []string{"member"}, 0)
	require.NoError(t, err)
	_, err = c.ZAdd(ctx, "sorted", []howdah.ZMember{{Member: "first", Score: 1.5}}, 0)
	require.NoError(t, err)
	b := s.browser(adminToken)
	for key, texts := range map[string][]string{
		"json": {"&#34;a&#34;: [", "JSON"}, "gzip": {"unpacked text", "gzip, text"}, "bytes": {"ff 00 01 02", "bytes"}, "large": {"the first 64 KiB"},
		"hash": {"field", "text", ">1 element."}, "list": {"one", "two"}, "set": {"member"}, "sorted": {"1.5", "first"},
	} {
		form := url.Values{"key64": {key64([]byte(key))}}
		got := b.post("caches/db0/entry/value", form).want(t, http.StatusOK).has(t, texts...)
		require.Less(t, len(got.body), 300<<10, key)
		file := b.post("caches/db0/entry/download", form).want(t, http.StatusOK)
		require.Equal(t, "application/octet-stream", file.header.Get("Content-Type"))
		require.Contains(t, file.header.Get("Content-Disposition"), "attachment")
		checkHeaders(t, file.header)
	}
	b.post("caches/db0/entry/value", url.Values{"key64": {key64([]byte("hash"))}}).lacks(t, `<bdi class="key">-`) // fields that do not expire
	b.post("caches/db0/entry/value", url.Values{"key64": {key64([]byte("absent"))}}).want(t, http.StatusOK).has(t, "absent or expired")
	b.get("caches/db0/entry?key64="+key64([]byte("absent"))).want(t, http.StatusOK).has(t, "absent or expired", "howdah.type")
	b.post("caches/db0/entry/download", url.Values{"key64": {key64([]byte("absent"))}}).want(t, http.StatusNotFound)
	b.post("caches/db0/entry/value", url.Values{"key64": {"!"}}).want(t, http.StatusBadRequest)
}

// A small file that unpacks to a large one takes no memory.
func TestGzipIsBounded(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(make([]byte, 64<<20))
	require.NoError(t, w.Close())
	unpacked, ok := gunzip(packed.Bytes())
	require.True(t, ok)
	require.Len(t, unpacked, unpackedBytes)
}

// A page looks at a bounded number of entries, and goes on where it ended.
func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, err := s.db.Pool().Exec(t.Context(), `SELECT count(*) FROM generate_series(1, 25000) AS i, LATERAL howdah.set('db0', convert_to('k:' || i, 'UTF8'), 'v'::bytea)`)
	require.NoError(t, err)
	b := s.browser(adminToken)
	found, path := 0, "caches/db0/entries?prefix=k:2499"
	for pages := 0; path != ""; pages++ {
		require.Less(t, pages, 10)
		got := b.get(path).want(t, http.StatusOK)
		found += strings.Count(got.body, `class="key">k:2499`)
		path = ""
		if match := regexp.MustCompile(`rel="next" href="\./\.\./\.\./([^"]+)"`).FindStringSubmatch(got.body); match != nil {
			path = strings.ReplaceAll(match[1], "&amp;", "&")
		}
	}
	require.GreaterOrEqual(t, found, 11) // k:2499 and k:24990 to k:24999
	for _, wrong := range []string{"bytes=x", "bytes=-1", "type=tree", "ttl=soon", "match=" + strings.Repeat("a", maxMatch+1)} {
		b.get("caches/db0/entries?"+wrong).want(t, http.StatusBadRequest)
	}
	b.get("caches/db0/entries?cursor=x").want(t, http.StatusBadRequest)
	b.get("caches/db0/entries?prefix64=!").want(t, http.StatusBadRequest)
	b.get("caches/nope/entries").want(t, http.StatusNotFound)
}

// Without the database pages still answer, and say what is missing.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	conn, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	_, err = migrate.Up(t.Context(), conn, migrate.Options{})
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	s := openAt(t, withPassword(t, server.URL()), nil)
	b := s.browser(adminToken, sessionsToken)
	b.get("").want(t, http.StatusOK).has(t, "The database answers")
	server.Kill()
	require.Eventually(t, func() bool {
		return strings.Contains(b.get("").want(t, http.StatusOK).body, "The database does not answer")
	}, time.Minute, 10*time.Millisecond)
	b.get("").has(t, "db0", "old")
	for _, path := range []string{"doctor", "near", "slow", "removals"} {
		b.get(path).want(t, http.StatusOK)
	}
	b.get("caches/db0/entries").want(t, http.StatusServiceUnavailable).has(t, "The database is away").lacks(t, password)
	for _, path := range []string{"", "caches/db0", "doctor", "cost", "servers", "watches", "sessions"} {
		b.get(path).lacks(t, password)
	}
	require.NotEmpty(t, s.log.String())
	require.NotContains(t, s.log.String(), password)
}

// A server whose role is not the owner says what the owner has to run.
func TestRoleThatIsNotTheOwner(t *testing.T) {
	t.Parallel()
	err := asOwner(fmt.Errorf("x: %w", fault.ErrPermission), "SELECT 1;")
	require.ErrorContains(t, err, "As the owner, run: SELECT 1;")
	require.ErrorIs(t, asOwner(fault.ErrCacheInUse, ""), fault.ErrCacheInUse)
}

func TestFormats(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1,234,567", number(1234567))
	require.Equal(t, "-1,000", number(-1000))
	require.Equal(t, "999", number(999))
	require.Equal(t, "1 KiB", size(1024))
	require.Equal(t, "1.50 MiB", size(3<<19))
	require.Equal(t, "100 GiB", size(int64(100<<30)))
	for text, d := range map[string]time.Duration{
		"0 ms": 0, "15 ms": 15 * time.Millisecond, "59 s": 59 * time.Second, "1 min": time.Minute, "1 min 5 s": 65 * time.Second,
		"2 h 3 min": 2*time.Hour + 3*time.Minute, "7 d": 7 * 24 * time.Hour, "106751 d": math.MaxInt64, "-106751 d": math.MinInt64,
	} {
		require.Equal(t, text, duration(d))
	}
	full, most := 1.0, 0.9999
	require.Equal(t, "100 %", percent(&full))
	require.Equal(t, "99.9 %", percent(&most))
	require.Equal(t, unknown, percent(nil))
	require.Equal(t, `a\x{ff}`, strings.ReplaceAll(visible("a\xff"), `\xff`, `\x{ff}`))
	require.Equal(t, `\u{200B}\u{2066}é`, visible("\u200b\u2066é"))
	require.Equal(t, "24h", shortDuration(24*time.Hour))
	require.Equal(t, "10m", shortDuration(10*time.Minute))
	require.Equal(t, "1h30m", shortDuration(90*time.Minute))
	require.Equal(t, "20s", shortDuration(20*time.Second))
}

// The SQL that pages show runs, with any key and user, and the command lines are one word for
// the shell.
func TestStatementsThatPagesShow(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := (*howdah.DB)(s.db).Cache("db0")
	keys := []string{"plain", "it's", `back\slash`, "\xff\x00", hostile, "tab\t", ""}
	for _, key := range keys {
		require.NoError(t, c.Set(t.Context(), key, []byte("v"), 0))
	}
	one := [][]byte{[]byte("1")}
	_, err := c.HSet(t.Context(), "hash", map[string][]byte{"f": []byte("1")}, 0)
	require.NoError(t, err)
	_, err = c.RPush(t.Context(), "list", one, 0)
	require.NoError(t, err)
	_, err = c.SAdd(t.Context(), "set", []string{"1"}, 0)
	require.NoError(t, err)
	_, err = c.ZAdd(t.Context(), "zset", []howdah.ZMember{{Member: "m", Score: 1}}, 0)
	require.NoError(t, err)
	keys = append(keys, "hash", "list", "set", "zset")
	b := s.browser(adminToken, sessionsToken)
	q := url.QueryEscape
	paths := []string{"", "caches/db0", "caches/db0/entries", "caches/db0/entries?prefix=" + q("it's"), "watches", "sessions", "sessions?user=" + q(`a'b\c`), "doctor", "cost", "slow", "removals", "clients", "servers", "scripts"}
	for _, key := range keys {
		paths = append(paths, "caches/db0/entry?key64="+key64([]byte(key)))
	}
	shown := regexp.MustCompile(`<pre class="value" tabindex="0" data-copy>([^<]*)</pre>`)
	ran := 0
	for _, path := range paths {
		got := b.get(path, "Host: 127.0.0.1:8080'$(x)").want(t, http.StatusOK)
		_, means, ok := strings.Cut(got.body, `<details class="means">`)
		require.True(t, ok, path)
		for _, match := range shown.FindAllStringSubmatch(means, -1) {
			text := html.UnescapeString(match[1])
			switch {
			case strings.HasPrefix(text, "SELECT"):
				rows, err := s.db.Pool().Query(t.Context(), text)
				require.NoError(t, err, text)
				n := 0
				for rows.Next() {
					n++
				}
				require.NoError(t, rows.Err(), text)
				if strings.Contains(path, "entry?") {
					require.Equal(t, 1, n, text)
					require.NotContains(t, text, "WHERE", "it reads the whole table")
				}
				if strings.Contains(path, "entries") {
					require.Equal(t, 1, n, text)
					require.Contains(t, text, "howdah.scan('db0', 0, ", "it reads no more than the page did")
				}
				ran++
			case strings.HasPrefix(text, "curl"):
				require.Equal(t, 2, strings.Count(text, "'"), text)
				require.NotContains(t, text, "$(")
			}
		}
	}
	require.Greater(t, ran, 10)
}

// The empty key is a key: the list leads to it, and it has a name that can be read. A key of which
// a removal keeps the beginning is cut, not masked.
func TestEmptyAndCutKeys(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := (*howdah.DB)(s.db).Cache("db0")
	require.NoError(t, c.Set(t.Context(), "", []byte("v"), 0))
	long := strings.Repeat("x", 2*observe.MaxKey)
	require.NoError(t, c.Set(t.Context(), long, []byte("v"), 0))
	_, err := s.db.Cache("db0").As(&observe.Client{Door: observe.DoorRedis}, "del").DeletePrefix(t.Context(), []byte(long))
	require.NoError(t, err)
	b := s.browser(adminToken)
	require.Contains(t, b.get("caches/db0/entries").body, `entry?key64="><span class="help">the empty key</span></a>`)
	entry := b.get("caches/db0/entry?key64=").want(t, http.StatusOK).body
	require.Contains(t, entry, "<title>db0: the empty key · Howdah</title>")
	b.get("caches/db0/entry").want(t, http.StatusBadRequest).has(t, "names no key").lacks(t, "Delete entry")
	for _, form := range []string{"value", "download", "delete"} {
		b.post("caches/db0/entry/"+form, url.Values{"version": {"1"}}).want(t, http.StatusBadRequest).has(t, "names no key")
	}
	require.NotContains(t, entry, "masked")
	removals := b.get("removals").want(t, http.StatusOK).body
	require.Contains(t, removals, long[:observe.MaxKey]+"…")
	require.NotContains(t, removals, "masked")
}

// One is not several, wherever a page counts.
func TestPlurals(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 entry", some(int64(1), "entry", "entries"))
	require.Equal(t, "2 entries", some(2, "entry", "entries"))
	require.Equal(t, "0 connections", some(0, "connection"))
	require.Equal(t, "1,000 connections", some(1000, "connection"))
	s := open(t, func(o *Options) { o.Clients = &oneClient{} })
	b := s.browser(adminToken)
	require.NoError(t, (*howdah.DB)(s.db).Cache("db0").Set(t.Context(), "a:1", []byte("x"), 0))
	b.get("clients").has(t, "1 connection to this server")
	b.get("caches/db0/flush").has(t, "<strong>1 entry</strong> will be removed")
	b.get("caches/db0").has(t, "The only entry was read")
	pages := []string{"", "clients", "doctor", "cost", "near", "servers", "caches/db0", "caches/db0/entries", "caches/db0/delete-prefix?prefix=a", "removals", "slow"}
	for _, path := range pages {
		require.NotRegexp(t, `[^0-9.,]1 (entries|connections|elements|tables|caches|resets|times|findings|sessions|others|transactions)\b`, b.get(path).body, path)
	}
}

// oneClient is a server with one Redis client.
type oneClient struct{ redisClients }

func (oneClient) Clients() []observe.Connection { return []observe.Connection{{ID: 1}} }

// The page of memory says why there are no figures, and the statement that changes it.
func TestMemoryThatKeepsNothing(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser(adminToken)
	statement := html.EscapeString("SELECT howdah.alter_cache('db0', near => true);")
	b.get("near").has(t, "keeps no entries in memory", "--near off", statement)

	s = openWith(t, pgtest.New(t), func(o *howdah.Options) { o.Near.Bound = 100 * time.Millisecond }, nil)
	b = s.browser(adminToken)
	b.get("near").has(t, "no cache has a change log", statement).lacks(t, "Hit ratio</dt>")
	b.get("servers").lacks(t, "at most 100 ms old")
	_, err := s.db.Pool().Exec(t.Context(), html.UnescapeString(statement))
	require.NoError(t, err)
	shown := b.get("near").has(t, "Hit ratio</dt>", "PostgreSQL was restarted", "a cache was emptied").lacks(t, "no cache has a change log")
	require.NotRegexp(t, `>(unlit|floor|incarnation|stranded)<`, shown.body)
}

// Of very many caches the overview folds away those that need no attention.
func TestOverviewOfManyCaches(t *testing.T) {
	t.Parallel()
	view := overviewView{}
	add := func(name string, bytes int64, change func(*cacheRow)) {
		row := cacheRow{Row: stat.Row{Name: name, TableBytes: bytes}}
		if change != nil {
			change(&row)
		}
		view.Rows = append(view.Rows, row)
	}
	for i := range 60 {
		add(fmt.Sprintf("c%02d", i), int64(i), nil)
	}
	add("small", 0, func(row *cacheRow) { row.Refuses = true })
	add("tiny", 0, func(row *cacheRow) { row.Bad = 1 })
	view.fold()
	require.Len(t, view.Rows, cachesShown)
	require.Len(t, view.Rest, 62-cachesShown)
	var names []string
	for i := range view.Rows {
		names = append(names, view.Rows[i].Name)
	}
	require.IsIncreasing(t, names)
	require.Contains(t, names, "small")
	require.Contains(t, names, "tiny")
	require.Contains(t, names, "c59")
	require.NotContains(t, names, "c00")
}

// A page whose figures are being read asks for itself again, with and without its script, and
// says so. Once they are there it does not.
func TestFiguresThatAreBeingRead(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Figures = figures.New(figures.Options{DB: o.DB, Patience: 1}) // nobody waits
		t.Cleanup(o.Figures.Close)
	})
	b := s.browser(adminToken)
	const again, waiting = `<noscript><meta http-equiv="refresh" content="2"></noscript>`, " data-waiting>"
	b.get("").has(t, again, waiting, "Counting", "The doctor is looking").lacks(t, "Load the page again")
	b.get("cost").has(t, again, waiting, "Counting")
	for _, path := range []string{"", "doctor", "cost"} {
		require.Eventually(t, func() bool { return !strings.Contains(b.get(path).body, waiting) }, time.Minute, time.Millisecond, path)
		b.get(path).lacks(t, again, "Counting", "The doctor is looking")
	}
}

// fillKinds stores entries of all types, sizes and TTLs.
func (s *site) fillKinds() {
	s.t.Helper()
	c, ctx := (*howdah.DB)(s.db).Cache("db0"), s.t.Context()
	require.NoError(s.t, c.Set(ctx, "a:small", []byte("v"), time.Minute))
	require.NoError(s.t, c.Set(ctx, "a:large", bytes.Repeat([]byte("v"), 5000), 3*time.Hour))
	require.NoError(s.t, c.Set(ctx, "b:small", []byte("v"), howdah.NoExpiry))
	_, err := c.HSet(ctx, "b:hash", map[string][]byte{"f": []byte("1")}, howdah.NoExpiry)
	require.NoError(s.t, err)
	_, err = c.SAdd(ctx, "b:set", []string{"m"}, howdah.NoExpiry)
	require.NoError(s.t, err)
}

// listed are the keys on a page of entries, in their order.
func (p page) listed() (keys []string) {
	for _, match := range regexp.MustCompile(`entry\?key64=[^"]*"><bdi class="key">([^<]*)<`).FindAllStringSubmatch(p.body, -1) {
		keys = append(keys, html.UnescapeString(match[1]))
	}
	return keys
}

// Entries are chosen by pattern, type, size and expiry, together with a prefix, and the page says
// whether that is all.
func TestEntriesAreFiltered(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fillKinds()
	b := s.browser(adminToken)
	all := b.get("caches/db0/entries").want(t, http.StatusOK).has(t, "All 5 entries.")
	require.Len(t, all.listed(), 5)
	for query, want := range map[string][]string{
		"match=*:s*":                      {"a:small", "b:set", "b:small"},
		"match=a:*":                       {"a:large", "a:small"},
		"match=?:[hl]*":                   {"a:large", "b:hash"},
		"type=hash":                       {"b:hash"},
		"bytes=5000":                      {"a:large"},
		"ttl=set":                         {"a:large", "a:small"},
		"ttl=hour":                        {"a:small"},
		"ttl=never":                       {"b:hash", "b:set", "b:small"},
		"prefix=b:&match=*s*&type=string": {"b:small"},
		"match=none*":                     nil,
	} {
		got := b.get("caches/db0/entries?"+query).want(t, http.StatusOK)
		require.Equal(t, want, got.listed(), query)
		if strings.HasPrefix(query, "type") {
			got.has(t, "1 entry matches. Looked at all 5 entries.")
		}
	}
}

// A list that is not whole says that it is a sample, and of how many; a filter says how far it has
// looked, and goes on from there without looking at anything twice.
func TestEntriesSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, err := s.db.Pool().Exec(t.Context(), "SELECT howdah.set_many_text('db0', array_agg('k' || i), array_agg('v'::text)) FROM generate_series(1, 24000) AS i GROUP BY i / 1000")
	require.NoError(t, err)
	b := s.browser(adminToken)
	next := regexp.MustCompile(`rel="next" href="\./\.\./\.\./([^"]+)"`)
	follow := func(p page) page {
		t.Helper()
		match := next.FindStringSubmatch(p.body)
		require.NotNil(t, match, p.body)
		return b.get(html.UnescapeString(match[1])).want(t, http.StatusOK)
	}
	first := b.get("caches/db0/entries").want(t, http.StatusOK)
	require.Regexp(t, `100 (of about [0-9,]+ )?entries, a sample`, first.body)
	require.Len(t, first.listed(), 100)
	second := follow(first).has(t, "100 more entries; seen so far 200 ")
	for _, key := range second.listed() {
		require.NotContains(t, first.listed(), key)
	}
	found := 0
	for p, pages := b.get("caches/db0/entries?match=k1*7"), 1; ; p, pages = follow(p), pages+1 {
		found += len(p.listed())
		if !next.MatchString(p.body) {
			p.has(t, "there is no more to look at")
			require.Regexp(t, `Looked at 24,000 (of about [0-9,]+ )?entries`, p.body)
			break
		}
		require.Less(t, pages, 100)
		p.has(t, "on this page. Looked at", "Look further")
	}
	want := 0
	for i := 1; i <= 24000; i++ {
		if text := strconv.Itoa(i); text[0] == '1' && text[len(text)-1] == '7' {
			want++
		}
	}
	require.Equal(t, want, found)
}

// A pattern of those who see masked keys is compared with what they see: its answers tell nothing of
// the secret.
func TestPatternsDoNotTellSecrets(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	viewer := s.browser(viewerToken)
	for _, pattern := range []string{"sess:b*", "*b3c1*", "*77"} {
		viewer.get("caches/db0/entries?match="+url.QueryEscape(pattern)).want(t, http.StatusOK).lacks(t, `sess:***`)
	}
	viewer.get("caches/db0/entries?match=sess:*").has(t, "sess:***").lacks(t, "b3c1")
	s.browser(adminToken).get("caches/db0/entries?match=*b3c1*").has(t, "sess:b3c1f0aa77")
}
