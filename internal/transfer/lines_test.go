package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

func formatScore(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// fill stores values of all kinds.
func fill(t testing.TB, c *core.Cache) {
	hash, list, members, sorted := new(values.Hash), new(values.List), new(values.Set), new(values.SortedSet)
	for i := range 300 {
		text := fmt.Sprintf("%d\x00\xff", i)
		hash.Set(text, strings.Repeat(text, i%7))
		list.Push(text, i%3 == 0)
		members.Add(text)
		sorted.Set(text, float64(i%17)/3)
	}
	sorted.Set("far", math.Inf(1))
	hash.SetFieldExpiry("7\x00\xff", time.Now().Add(time.Hour).UnixMilli())
	set(t, c, "hash", hash, verb.NoExpiry)
	set(t, c, "list", list, time.Hour)
	set(t, c, "set", members, verb.NoExpiry)
	set(t, c, "zset", sorted, verb.NoExpiry)
	set(t, c, "", values.String("the empty key"), verb.NoExpiry)
	set(t, c, "binary\xff\x00", values.String("\xfe\x00"), 2*time.Hour)
	set(t, c, "text <&>\u2028\n", values.String("ä\x00\r\n"), verb.NoExpiry)
	set(t, c, "empty", values.String(""), verb.NoExpiry)
	set(t, c, "large", values.String(bytes.Repeat([]byte("x"), partBytes+1)), verb.NoExpiry)
	var many []Entry
	for i := range 1200 {
		many = append(many, Entry{Key: "many:" + strconv.Itoa(i), Value: []byte("v" + strconv.Itoa(i))})
	}
	_, err := (&target{cache: c}).put(t.Context(), many)
	require.NoError(t, err)
}

// exported is the text of an export.
func exported(t testing.TB, db *core.DB, cache, prefix string) (string, Exported) {
	var out bytes.Buffer
	done, err := Export(t.Context(), db, ExportOptions{Cache: cache, Prefix: []byte(prefix), Progress: func(Exported) {}}, &out)
	require.NoError(t, err)
	return out.String(), done
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	fill(t, db.Cache("db0"))
	want := content(t, db.Cache("db0"))
	text, done := exported(t, db, "db0", "")
	require.EqualValues(t, len(want), done.Entries)
	require.Equal(t, len(want)+1, strings.Count(text, "\n"))

	other := openDB(t) // which hashes keys in another way
	for range 2 {      // to do it again changes nothing
		result, err := ImportLines(t.Context(), other, strings.NewReader(text), LinesOptions{MaxValueBytes: 64 << 20, Replace: true})
		require.NoError(t, err)
		require.True(t, result.Complete)
		require.EqualValues(t, len(want), result.Stored)
		require.Empty(t, result.Refused)
		requireEqual(t, want, content(t, other.Cache("db0")))
	}
	result, err := ImportLines(t.Context(), other, strings.NewReader(text), LinesOptions{MaxValueBytes: 64 << 20})
	require.NoError(t, err)
	require.EqualValues(t, len(want), result.Kept)
	require.Zero(t, result.Stored)

	result, err = ImportLines(t.Context(), other, strings.NewReader(text), LinesOptions{MaxValueBytes: 64 << 20, Into: "db1", Match: "many:1*", Type: "string"})
	require.NoError(t, err)
	require.EqualValues(t, 311, result.Stored, "1, 10 to 19, 100 to 199 and 1000 to 1199")
	require.Len(t, content(t, other.Cache("db1")), 311)

	_, done = exported(t, db, "db0", "many:1")
	require.EqualValues(t, 311, done.Entries)
}

// A person reads strings with jq: their fields are plain text where they are text.
func TestLinesAreReadable(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	c := db.Cache("db0")
	set(t, c, "user:1", values.String(`{"name":"Ann"}`), time.Hour)
	set(t, c, "\xff", values.String("\xfe"), verb.NoExpiry)
	text, _ := exported(t, db, "db0", "")
	byKey := map[string]map[string]any{}
	for text := range strings.Lines(text) {
		var l map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		key, _ := l["key"].(string)
		byKey[key] = l
		if l["end"] == true {
			require.Equal(t, map[string]any{"cache": "db0", "end": true, "entries": 2.0}, l)
		}
	}
	l := byKey["user:1"]
	require.Equal(t, `{"name":"Ann"}`, l["value"])
	require.InDelta(t, 3600e3, l["ttl_ms"], 60e3)
	at, err := time.Parse(time.RFC3339, l["expires_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), at, time.Minute)
	require.Contains(t, text, `{"cache":"db0","key_base64":"/w==","type":"string","value_base64":"/g=="}`)
}

// The time of an expiry goes on while the file lies about, unless it is to count from now.
func TestExpiryOfLines(t *testing.T) {
	t.Parallel()
	lines := `{"cache":"db0","key":"past","type":"string","value":"x","ttl_ms":60000,"expires_at":"2020-01-01T00:00:00Z"}
{"cache":"db0","key":"never","type":"string","value":"x"}
`
	db := openDB(t)
	result, err := ImportLines(t.Context(), db, strings.NewReader(lines), LinesOptions{MaxValueBytes: 100})
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Gone)
	require.EqualValues(t, 1, result.Stored)
	require.False(t, result.Complete)
	_, err = ImportLines(t.Context(), db, strings.NewReader(lines), LinesOptions{MaxValueBytes: 100, FromNow: true})
	require.NoError(t, err)
	got := content(t, db.Cache("db0"))
	require.WithinDuration(t, time.Now().Add(time.Minute), got["past"].expires, 30*time.Second)
	require.Zero(t, got["never"].expires)
}

// An expiry behind the year 9999, which JSON cannot name, does not stop an export.
func TestFarExpiry(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	c := db.Cache("db0")
	far := &verb.Call{Verb: statement.Set, Key: []byte("far"), Value: []byte("x"), Expiry: verb.ExpireAtMilli(999_999_999_999_999)}
	require.NoError(t, c.One(t.Context(), far))
	require.Equal(t, 33658, content(t, c)["far"].expires.UTC().Year())
	set(t, c, "other", values.String("x"), verb.NoExpiry)
	text, done := exported(t, db, "db0", "")
	require.EqualValues(t, 2, done.Entries)
	require.Contains(t, text, `"expires_at":"9999-12-31T23:59:59.999Z"`)
	for _, fromNow := range []bool{false, true} {
		other := openDB(t)
		result, err := ImportLines(t.Context(), other, strings.NewReader(text), LinesOptions{MaxValueBytes: 100, FromNow: fromNow})
		require.NoError(t, err)
		require.True(t, result.Complete)
		require.EqualValues(t, 2, result.Stored)
		got := content(t, other.Cache("db0"))
		require.Greater(t, got["far"].expires.UTC().Year(), 2300, "from now on the 292 years that a TTL can be")
		require.Zero(t, got["other"].expires)
		if !fromNow {
			require.WithinDuration(t, lastExpiry, got["far"].expires, time.Millisecond)
		}
	}
}

// A line that cannot be stored is named, and the others are stored.
func TestRefusedLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", verb.MaxKeyBytes+1)
	lines := strings.Join([]string{
		`{"cache":"db0","key":"good","type":"string","value":"x"}`,
		`not JSON`,
		`{"cache":"db0","key":"` + long + `","type":"string","value":"x"}`,
		`{"cache":"db0","key":"large","type":"string","value":"` + strings.Repeat("v", 101) + `"}`,
		`{"cache":"db0","key":"stream","type":"stream","dump_base64":"AAAA"}`,
		`{"cache":"db0","key":"broken","type":"hash","dump_base64":"AAAA"}`,
		`{"cache":"db0","key":"tagged","type":"string","value":"x","tags":2}`,
		`{"cache":"db0","type":"string","value":"no key"}`,
		`{"cache":"db0","key":"none","type":"string"}`,
		strings.Repeat("y", 2<<20),
		`{"cache":"db0","key":"last","type":"string","value":"x"}`,
		`{"cache":"db0","key":"torn","type":"str`,
	}, "\n")
	db := openDB(t)
	file := filepath.Join(t.TempDir(), "refused")
	result, err := ImportLines(t.Context(), db, strings.NewReader(lines), LinesOptions{MaxValueBytes: 100, RefusedFile: file})
	require.NoError(t, err)
	require.EqualValues(t, 2, result.Stored)
	require.EqualValues(t, 10, result.RefusedKeys())
	require.False(t, result.Complete)
	require.Contains(t, result.Reasons(), "the last line is incomplete: the export was interrupted")
	require.Contains(t, result.Reasons(), reasonType)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	numbers := []int64{}
	for text := range strings.Lines(string(text)) {
		var r Refusal
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		numbers = append(numbers, r.Line)
		if r.Line == 4 {
			require.Equal(t, Refusal{Line: 4, Cache: "db0", Key: "large", Type: "string", Reason: reasonSize, Bytes: 101, Limit: 100}, r)
		}
	}
	require.Equal(t, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 12}, numbers)
	require.Len(t, content(t, db.Cache("db0")), 2)
}

// Tags are counted; the entry of an import without its name would never be
// invalidated.
func TestTags(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	c := db.Cache("db0")
	tagged := &verb.Call{Verb: statement.Set, Key: []byte("tagged"), Value: []byte("x"), Tags: []string{"a", "b"}}
	require.NoError(t, c.One(t.Context(), tagged))
	text, done := exported(t, db, "db0", "")
	require.EqualValues(t, 1, done.Tagged)
	require.Contains(t, text, `"tags":2`)
	other := openDB(t)
	result, err := ImportLines(t.Context(), other, strings.NewReader(text), LinesOptions{MaxValueBytes: 100})
	require.NoError(t, err)
	require.EqualValues(t, map[string]int64{errTagged.Error(): 1}, result.Refused)
	result, err = ImportLines(t.Context(), other, strings.NewReader(text), LinesOptions{MaxValueBytes: 100, DropTags: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Stored)
}

// An export that was interrupted anywhere leaves entries that can be imported.
func TestPrefixOfAnExport(t *testing.T) {
	t.Parallel()
	db, other := openDB(t), openDB(t)
	for i := range 20 {
		set(t, db.Cache("db0"), strconv.Itoa(i), values.String("value"), verb.NoExpiry)
	}
	text, _ := exported(t, db, "db0", "")
	for _, cut := range []int{0, 1, len(text) / 2, len(text) - 1} {
		part := text[:cut]
		whole := strings.Count(part, "\n")
		result, err := ImportLines(t.Context(), other, strings.NewReader(part), LinesOptions{MaxValueBytes: 100, Replace: true})
		require.NoError(t, err)
		require.GreaterOrEqual(t, int(result.Stored), whole)
		require.LessOrEqual(t, int(result.Stored+result.RefusedKeys()), whole+1)
	}
}

// An import does not restore a stale life, which the line names.
func TestStaleLife(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	c := db.Cache("db0")
	claim := &verb.Call{Verb: statement.Claim, Key: []byte("k"), Lease: time.Minute}
	require.NoError(t, c.Do(t.Context(), claim))
	require.Equal(t, verb.Won, claim.Claim.State)
	fulfil := &verb.Call{Verb: statement.Fulfil, Key: []byte("k"), Value: []byte("x"), Token: claim.Result.Version, Expiry: verb.ExpireIn(time.Hour), Stale: 30 * time.Second}
	require.NoError(t, c.One(t.Context(), fulfil))
	text, _ := exported(t, db, "db0", "")
	require.Contains(t, text, `"stale_seconds":30`)
	result, err := ImportLines(t.Context(), db, strings.NewReader(text), LinesOptions{MaxValueBytes: 100, Into: "db1"})
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Stored)
	text, _ = exported(t, db, "db1", "")
	require.NotContains(t, text, "stale_seconds")
}
