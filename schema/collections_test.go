package schema_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/values"
)

// onlyKey is the keyspace of calls on one key.
type onlyKey values.Entry

func (k *onlyKey) Entry([]byte) *values.Entry { return (*values.Entry)(k) }

// unread is a reply that the test does not need.
type unread struct{}

func (unread) RESP3() bool    { return false }
func (unread) Status(string)  {}
func (unread) Int(int64)      {}
func (unread) Bulk(string)    {}
func (unread) Double(float64) {}
func (unread) Null()          {}
func (unread) NullArray()     {}
func (unread) Array(int)      {}
func (unread) Map(int)        {}
func (unread) Set(int)        {}

// packed runs commands on an absent key, and packs what they leave there.
func packed(t *testing.T, lines ...[]string) (kind int16, value []byte) {
	t.Helper()
	key := new(onlyKey)
	for _, line := range lines {
		args := make([][]byte, len(line))
		for i, word := range line {
			args[i] = []byte(word)
		}
		commands := values.Commands()
		i := slices.IndexFunc(commands, func(c *values.Command) bool { return c.Name == line[0] })
		require.NoError(t, commands[i].Run(&values.Call{Args: args, Keys: key, Now: time.Now().UnixMilli(), Reply: unread{}}))
	}
	return int16(key.Value.Kind()), values.Encode(nil, key.Value)
}

// storePacked stores a packed value under a key of the cache "c".
func storePacked(t *testing.T, db querier, key string, kind int16, value []byte) {
	t.Helper()
	run(t, db, "SELECT howdah.set('c', $1, $2)", []byte(key), value)
	run(t, db, "UPDATE "+table(t, db, "c")+" SET kind = $2 WHERE key = $1", []byte(key), kind)
}

// element is a row of each of the readers.
type element struct {
	Place int64
	Name  string
	Value string
	Score float64
}

func elements(t *testing.T, db querier, sql string, args ...any) []element {
	t.Helper()
	rows, err := db.Query(ctx(t), sql, args...)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[element])
	require.NoError(t, err)
	return found
}

const (
	hgetall  = "SELECT 0::bigint, encode(field, 'escape'), encode(value, 'escape'), 0::float8 FROM howdah.hgetall('c', 'k')"
	smembers = "SELECT 0::bigint, encode(member, 'escape'), '', 0::float8 FROM howdah.smembers('c', 'k')"
	lrange   = "SELECT place, encode(element, 'escape'), '', 0::float8 FROM howdah.lrange('c', 'k', $1, $2)"
	zrange   = "SELECT place, encode(member, 'escape'), '', score FROM howdah.zrange('c', 'k', $1, $2)"
)

// SQL reads what Go packs: texts of all lengths, scores of all sizes, and hashes with
// fields that have expired.
func TestReadersUnpackWhatGoPacks(t *testing.T) {
	t.Parallel()
	db := open(t)
	rng := seed.Rand(t)
	word := func(i int) string {
		length := []int{0, rng.IntN(10), rng.IntN(10), 126 + rng.IntN(4), 16382 + rng.IntN(4)}[rng.IntN(5)]
		text := append(strconv.AppendInt(nil, int64(i), 10), ':')
		for len(text) < length {
			text = append(text, byte('a'+rng.IntN(26)))
		}
		return string(text)
	}
	for range 6 {
		n := 1 + rng.IntN(40)
		var hash, list, set []element
		var sorted []values.Member
		pushes, adds := []string{"rpush", "k"}, []string{"sadd", "k"}
		var fields, scores [][]string
		for i := range n {
			name, value := word(i), word(i)
			fields = append(fields, []string{"hset", "k", name, value})
			switch rng.IntN(4) {
			case 0:
				at := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
				fields = append(fields, []string{"hpexpireat", "k", at, "FIELDS", "1", name})
				fallthrough
			default:
				hash = append(hash, element{Name: name, Value: value})
			}
			pushes, list = append(pushes, value), append(list, element{Place: int64(i), Name: value})
			adds, set = append(adds, name), append(set, element{Name: name})
			score := [...]float64{0, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 1.5, rng.NormFloat64(),
				math.Ldexp(rng.Float64(), rng.IntN(2000)-1050), -math.Ldexp(rng.Float64(), -1060), float64(rng.Int64())}[rng.IntN(11)]
			scores = append(scores, []string{"zadd", "k", strconv.FormatFloat(score, 'g', -1, 64), name})
			sorted = append(sorted, values.Member{Score: score, Name: name})
		}
		slices.SortFunc(sorted, func(a, b values.Member) int {
			if a.Score != b.Score {
				return map[bool]int{true: -1, false: 1}[a.Score < b.Score]
			}
			return map[bool]int{true: -1, false: 1}[a.Name < b.Name]
		})
		zset := make([]element, n)
		for i, m := range sorted {
			zset[i] = element{Place: int64(i), Name: m.Name, Score: m.Score}
		}

		for _, kind := range []struct {
			name, sql string
			lines     [][]string
			want      []element
		}{
			{"hash", hgetall, fields, hash}, {"set", smembers, [][]string{adds}, set},
			{"list", lrange, [][]string{pushes}, list}, {"zset", zrange, scores, zset},
		} {
			number, value := packed(t, kind.lines...)
			storePacked(t, db, "k", number, value)
			require.Equal(t, kind.name, one[string](t, db, "SELECT howdah.type('c', 'k')"))
			if kind.name == "hash" || kind.name == "set" {
				require.ElementsMatch(t, kind.want, elements(t, db, kind.sql), kind.name)
				continue
			}
			for _, part := range [][2]int{{0, -1}, {0, n}, {1, 2}, {-3, -2}, {-2 * n, n / 2}, {5, 2}, {n, n}} {
				require.Equal(t, cut(kind.want, part[0], part[1]), elements(t, db, kind.sql, part[0], part[1]), "%s %v", kind.name, part)
			}
		}
		for i, e := range elements(t, db, zrange, 0, -1) { // the last one stored
			require.Equal(t, math.Float64bits(zset[i].Score), math.Float64bits(e.Score))
		}
	}
}

// cut is the part of elements that LRANGE and ZRANGE return.
func cut(all []element, start, stop int) []element {
	n := len(all)
	if start < 0 {
		start += n
	}
	if stop < 0 {
		stop += n
	}
	start, stop = max(start, 0), min(stop, n-1)
	if start > stop {
		return []element{}
	}
	return all[start : stop+1]
}

// Fields that have expired are not read, though they are still packed.
func TestHgetallLeavesExpiredFieldsOut(t *testing.T) {
	t.Parallel()
	db := open(t)
	at := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).UnixMilli(), 10) }
	kind, value := packed(t, []string{"hset", "k", "a", "1", "b", "2", "c", "3"},
		[]string{"hpexpireat", "k", at(time.Hour), "FIELDS", "1", "a"}, []string{"hpexpireat", "k", at(50 * time.Millisecond), "FIELDS", "1", "b"})
	storePacked(t, db, "k", kind, value)
	require.Eventually(t, func() bool {
		found := elements(t, db, hgetall)
		return len(found) == 2 && found[0].Name == "a" && found[1].Name == "c"
	}, time.Minute, 10*time.Millisecond)
}

// The twins for text, and what they and the others answer for other keys.
func TestReadersOfCollections(t *testing.T) {
	t.Parallel()
	db := open(t)
	store := func(key string, lines ...[]string) {
		kind, value := packed(t, lines...)
		storePacked(t, db, key, kind, value)
	}
	store("hash", []string{"hset", "k", "ä", "1", "b", ""})
	store("list", []string{"rpush", "k", "ö", "a", "ö"})
	store("set", []string{"sadd", "k", "ü", "a"})
	store("zset", []string{"zadd", "k", "1", "b", "-0.5", "a"})
	run(t, db, "SELECT howdah.set('c', 'string', '1')")
	require.Equal(t, []string{"b=", "ä=1"}, all[string](t, db, "SELECT field || '=' || value FROM howdah.hgetall_text('c', 'hash') ORDER BY field COLLATE \"C\""))
	require.Equal(t, []string{"ö", "a", "ö"}, all[string](t, db, "SELECT element FROM howdah.lrange_text('c', 'list')"))
	require.Equal(t, []string{"a", "ü"}, all[string](t, db, "SELECT member FROM howdah.smembers_text('c', 'set') ORDER BY member COLLATE \"C\""))
	require.Equal(t, []string{"a -0.5", "b 1"}, all[string](t, db, "SELECT member || ' ' || score FROM howdah.zrange_text('c', 'zset')"))
	require.Equal(t, []string{"1 b"}, all[string](t, db, "SELECT place || ' ' || member FROM howdah.zrange_text('c', 'zset', -1)"))

	for key, kind := range map[string]string{"string": "string", "hash": "hash", "list": "list", "set": "set", "zset": "zset"} {
		require.Equal(t, kind, one[string](t, db, "SELECT howdah.type_text('c', $1)", key))
		for reader, of := range map[string]string{"hgetall": "hash", "lrange": "list", "smembers": "set", "zrange": "zset"} {
			if of != kind {
				refused(t, db, "HW018", "SELECT * FROM howdah."+reader+"_text('c', $1)", key)
			}
			require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah."+reader+"('c', 'none')"))
		}
	}
	require.Nil(t, one[*string](t, db, "SELECT howdah.type('c', 'none')"))
	refused(t, db, "HW012", "SELECT * FROM howdah.lrange('c', 'list', NULL)")
	refused(t, db, "HW001", "SELECT * FROM howdah.hgetall('x', 'hash')")
	refused(t, db, "22021", "SELECT * FROM howdah.lrange_text('c', 'bytes')", storedBytes(t, db)...)
}

// storedBytes stores a list whose element is no text.
func storedBytes(t *testing.T, db querier) []any {
	kind, value := packed(t, []string{"rpush", "k", "\xff"})
	storePacked(t, db, "bytes", kind, value)
	return nil
}

// Bytes that Go cannot have packed are refused, and never read past their end.
func TestReadersRefuseCorruptValues(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, kind := range []struct {
		number int16
		reader string
	}{{1, "hgetall"}, {2, "lrange"}, {3, "smembers"}, {4, "zrange"}} {
		for _, value := range []string{"", "\x00", "\x03\x01a", "\x01\x05a", "\x01\xff", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
			storePacked(t, db, "k", kind.number, []byte(value))
			_, err := db.Exec(ctx(t), "SELECT * FROM howdah."+kind.reader+"('c', 'k')")
			require.Error(t, err, "%s of %q", kind.reader, value)
		}
	}
}

// The functions that work on values refuse collections, and change nothing.
func TestValueFunctionsRefuseCollections(t *testing.T) {
	t.Parallel()
	db := open(t)
	kind, value := packed(t, []string{"hset", "k", "a", "1"})
	storePacked(t, db, "k", kind, value)
	const state = "SELECT format('%s %s %s %s', kind, encode(value, 'hex'), version, expires_at) FROM howdah.cache_c WHERE key = 'k'"
	before := one[string](t, db, state)
	for _, call := range []string{
		"get('c', 'k')", "get_text('c', 'k')", "get_json('c', 'k')", "get_entry('c', 'k')", "get_entry_text('c', 'k')",
		"get_and_delete('c', 'k')", "get_and_delete_text('c', 'k')", "increment('c', 'k')", "increment_text('c', 'k')", "claim('c', 'k')", "claim_text('c', 'k')",
	} {
		refused(t, db, "HW018", "SELECT * FROM howdah."+call)
		require.Equal(t, before, one[string](t, db, state), call)
	}
	run(t, db, "SELECT howdah.set('c', 's', 'v')")
	require.Equal(t, []string{"s"}, all[string](t, db, "SELECT key FROM howdah.get_many_text('c', '{s,k,none}')"))
	require.Nil(t, one[*int64](t, db, "SELECT howdah.fulfil('c', 'k', (SELECT version FROM howdah.cache_c WHERE key = 'k'), 'v')"))
	require.False(t, one[bool](t, db, "SELECT howdah.add('c', 'k', 'v')"))
	require.Equal(t, before, one[string](t, db, state))

	// What replaces the value, and what does not look at it.
	run(t, db, "SELECT howdah.expire('c', 'k', '1 h'), howdah.touch('c', 'k', '2 h'), howdah.persist('c', 'k')")
	require.EqualValues(t, kind, one[int](t, db, "SELECT kind FROM howdah.cache_c WHERE key = 'k'"))
	for _, call := range []string{
		"set('c', 'k', 'v')", "set_many('c', '{k}', '{v}')", "replace('c', 'k', 'v')", "set_tagged('c', 'k', 'v', '{t}')",
		"compare_and_set('c', 'k', (SELECT version FROM howdah.cache_c WHERE key = 'k'), 'v')",
	} {
		storePacked(t, db, "k", kind, value)
		run(t, db, "SELECT howdah."+call)
		require.Equal(t, "v", one[string](t, db, "SELECT howdah.get_text('c', 'k')"), call)
	}
	storePacked(t, db, "k", kind, value)
	require.True(t, one[bool](t, db, "SELECT howdah.delete('c', 'k')"))
}

// _double is exact to the last bit.
func TestDoubles(t *testing.T) {
	t.Parallel()
	db := open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 1.5}
	for range 2000 {
		if f := math.Float64frombits(rng.Uint64()); !math.IsNaN(f) {
			numbers = append(numbers, f)
		}
	}
	bytes := make([][]byte, len(numbers))
	for i, f := range numbers {
		bytes[i] = binary.BigEndian.AppendUint64(nil, math.Float64bits(f))
	}
	require.Equal(t, bytes, all[[]byte](t, db, "SELECT float8send(howdah_internal._double(b)) FROM unnest($1::bytea[]) AS b", bytes))
}
