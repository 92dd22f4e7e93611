package server

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
)

// content is one collection of each kind, with the same names in all of them.
type content struct {
	hash map[string]string
	set  []string
	zset map[string]float64
	list []string
}

// writer is a door by which collections are written: what is there is added to.
type writer func(t *testing.T, prefix string, c content)

// reader is a door by which collections are read.
type reader func(t *testing.T, prefix string) content

// What one door writes, every door reads, and each door adds to what another wrote.
func TestCollectionsThroughAllDoors(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	db, err := howdah.Open(t.Context(), s.config.DatabaseURL, &howdah.Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	client := s.client()
	writers := map[string]writer{"Go": writeGo(db.Cache("db0")), "Redis": writeRedis(client), "HTTP": s.writeHTTP}
	readers := map[string]reader{"Go": readGo(db.Cache("db0")), "Redis": readRedis(client), "HTTP": s.readHTTP, "SQL": readSQL(db)}
	first := content{map[string]string{"a": "1", "\xff\x00": "\xfe"}, []string{"a", "\xff\x00"}, map[string]float64{"a": 2, "\xff\x00": 0.5}, []string{"a", "\xff\x00"}}
	second := content{map[string]string{"a": "2", "b": ""}, []string{"a", "b"}, map[string]float64{"a": 3, "b": -1}, []string{"b"}}
	both := content{map[string]string{"a": "2", "b": "", "\xff\x00": "\xfe"}, []string{"a", "b", "\xff\x00"}, map[string]float64{"a": 3, "b": -1, "\xff\x00": 0.5}, []string{"a", "\xff\x00", "b"}}
	for one, write := range writers {
		for other, add := range writers {
			prefix := one + " " + other + " "
			write(t, prefix, first)
			for name, read := range readers {
				requireSame(t, first, read(t, prefix), one+" is read by "+name)
			}
			add(t, prefix, second)
			for name, read := range readers {
				requireSame(t, both, read(t, prefix), one+" and "+other+" are read by "+name)
			}
		}
	}
}

func requireSame(t *testing.T, want, got content, what string) {
	t.Helper()
	require.Equal(t, want.hash, got.hash, what)
	require.ElementsMatch(t, want.set, got.set, what)
	require.Equal(t, want.zset, got.zset, what)
	require.Equal(t, want.list, got.list, what)
}

func writeGo(c *howdah.Cache) writer {
	return func(t *testing.T, prefix string, want content) {
		ctx := t.Context()
		fields := map[string][]byte{}
		for field, value := range want.hash {
			fields[field] = []byte(value)
		}
		_, err := c.HSet(ctx, prefix+"hash", fields, 0)
		require.NoError(t, err)
		_, err = c.SAdd(ctx, prefix+"set", want.set, 0)
		require.NoError(t, err)
		for member, score := range want.zset {
			_, err = c.ZAdd(ctx, prefix+"zset", []howdah.ZMember{{Score: score, Member: member}}, 0)
			require.NoError(t, err)
		}
		for _, element := range want.list {
			_, err = c.RPush(ctx, prefix+"list", [][]byte{[]byte(element)}, 0)
			require.NoError(t, err)
		}
	}
}

func readGo(c *howdah.Cache) reader {
	return func(t *testing.T, prefix string) content {
		ctx := t.Context()
		got := content{hash: map[string]string{}, zset: map[string]float64{}}
		fields, err := c.HGetAll(ctx, prefix+"hash")
		require.NoError(t, err)
		for field, value := range fields {
			got.hash[field] = string(value)
		}
		got.set, err = c.SMembers(ctx, prefix+"set")
		require.NoError(t, err)
		members, err := c.ZRange(ctx, prefix+"zset", 0, -1, howdah.ZRangeOptions{})
		require.NoError(t, err)
		for _, m := range members {
			got.zset[m.Member] = m.Score
		}
		elements, err := c.LRange(ctx, prefix+"list", 0, -1)
		require.NoError(t, err)
		for _, element := range elements {
			got.list = append(got.list, string(element))
		}
		return got
	}
}

func writeRedis(c *redis.Client) writer {
	return func(t *testing.T, prefix string, want content) {
		ctx := t.Context()
		require.NoError(t, c.HSet(ctx, prefix+"hash", want.hash).Err())
		require.NoError(t, c.SAdd(ctx, prefix+"set", want.set).Err())
		for member, score := range want.zset {
			require.NoError(t, c.ZAdd(ctx, prefix+"zset", redis.Z{Score: score, Member: member}).Err())
		}
		require.NoError(t, c.RPush(ctx, prefix+"list", want.list).Err())
	}
}

func readRedis(c *redis.Client) reader {
	return func(t *testing.T, prefix string) content {
		ctx := t.Context()
		got := content{zset: map[string]float64{}}
		var err error
		got.hash, err = c.HGetAll(ctx, prefix+"hash").Result()
		require.NoError(t, err)
		got.set, err = c.SMembers(ctx, prefix+"set").Result()
		require.NoError(t, err)
		members, err := c.ZRangeWithScores(ctx, prefix+"zset", 0, -1).Result()
		require.NoError(t, err)
		for _, m := range members {
			got.zset[m.Member.(string)] = m.Score
		}
		got.list, err = c.LRange(ctx, prefix+"list", 0, -1).Result()
		require.NoError(t, err)
		return got
	}
}

// collection sends a request on a collection and reads the answer.
func (s *running) collection(t *testing.T, method, kind, key string, body, answer any) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	path := "http://" + s.HTTP.String() + "/v1/caches/db0/" + kind + "/" + strings.ReplaceAll(key, " ", "%20") + "?encoding=base64"
	if method == http.MethodPatch {
		path, _, _ = strings.Cut(path, "?")
	}
	request, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader(string(text)))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", got)
	require.NoError(t, json.Unmarshal(got, answer))
}

func base64s(list []string) (written []string) {
	for _, s := range list {
		written = append(written, base64.StdEncoding.EncodeToString([]byte(s)))
	}
	return written
}

func (s *running) writeHTTP(t *testing.T, prefix string, want content) {
	fields, members := map[string]string{}, []map[string]any{}
	for field, value := range want.hash {
		fields[base64s([]string{field})[0]] = base64s([]string{value})[0]
	}
	for member, score := range want.zset {
		members = append(members, map[string]any{"member": base64s([]string{member})[0], "score": score})
	}
	for kind, body := range map[string]map[string]any{
		"hashes": {"fields": fields}, "sets": {"add": base64s(want.set)}, "sorted-sets": {"add": members}, "lists": {"push": base64s(want.list)},
	} {
		body["encoding"] = "base64"
		key := map[string]string{"hashes": "hash", "sets": "set", "sorted-sets": "zset", "lists": "list"}[kind]
		s.collection(t, http.MethodPatch, kind, prefix+key, body, &map[string]int{})
	}
}

func (s *running) readHTTP(t *testing.T, prefix string) content {
	// encoding/json reads base64 into slices of bytes.
	var hash struct{ Fields map[string][]byte }
	var set struct{ Members [][]byte }
	var zset struct {
		Members []struct {
			Member []byte
			Score  float64
		}
	}
	var list struct{ Elements [][]byte }
	s.collection(t, http.MethodGet, "hashes", prefix+"hash", nil, &hash)
	s.collection(t, http.MethodGet, "sets", prefix+"set", nil, &set)
	s.collection(t, http.MethodGet, "sorted-sets", prefix+"zset", nil, &zset)
	s.collection(t, http.MethodGet, "lists", prefix+"list", nil, &list)
	got := content{hash: map[string]string{}, zset: map[string]float64{}}
	for field, value := range hash.Fields {
		name, err := base64.StdEncoding.DecodeString(field)
		require.NoError(t, err)
		got.hash[string(name)] = string(value)
	}
	for _, m := range zset.Members {
		got.zset[string(m.Member)] = m.Score
	}
	for _, member := range set.Members {
		got.set = append(got.set, string(member))
	}
	for _, element := range list.Elements {
		got.list = append(got.list, string(element))
	}
	return got
}

func readSQL(db *howdah.DB) reader {
	return func(t *testing.T, prefix string) content {
		got := content{hash: map[string]string{}, zset: map[string]float64{}}
		each := func(query, key string, into []any, row func()) {
			t.Helper()
			rows, err := db.Pool().Query(t.Context(), query, "db0", []byte(prefix+key))
			require.NoError(t, err)
			_, err = pgx.ForEachRow(rows, into, func() error { row(); return nil })
			require.NoError(t, err)
		}
		var name, value []byte
		var score float64
		each("SELECT field, value FROM howdah.hgetall($1, $2)", "hash", []any{&name, &value}, func() { got.hash[string(name)] = string(value) })
		each("SELECT member FROM howdah.smembers($1, $2)", "set", []any{&name}, func() { got.set = append(got.set, string(name)) })
		each("SELECT member, score FROM howdah.zrange($1, $2) ORDER BY place", "zset", []any{&name, &score}, func() { got.zset[string(name)] = score })
		each("SELECT element FROM howdah.lrange($1, $2) ORDER BY place", "list", []any{&name}, func() { got.list = append(got.list, string(name)) })
		return got
	}
}
