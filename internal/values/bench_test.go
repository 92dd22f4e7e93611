package values_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

// one is a keyspace of one key.
type one struct{ entry values.Entry }

func (o *one) Entry([]byte) *values.Entry { return &o.entry }

// BenchmarkEdit decodes a collection, runs a command and encodes the result, as
// an edit of a packed row does.
func BenchmarkEdit(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		s := newStore(nil, 1)
		for i := range size {
			s.do("HSET", "h", fmt.Sprintf("field:%d", i), "a value of 20 bytes.")
			s.do("ZADD", "z", fmt.Sprint(i), fmt.Sprintf("member:%d", i))
		}
		for _, edit := range []struct {
			name, key string
			args      []string
		}{
			{"hset", "h", []string{"hset", "h", "field:5", "another"}},
			{"hget", "h", []string{"hget", "h", "field:5"}},
			{"hgetall", "h", []string{"hgetall", "h"}},
			{"zadd", "z", []string{"zadd", "z", "7.5", "member:5"}},
			{"zscore", "z", []string{"zscore", "z", "member:5"}},
		} {
			b.Run(fmt.Sprintf("%s/%d", edit.name, size), func(b *testing.B) {
				v := s.Entry([]byte(edit.key)).Value
				packed, cmd := values.Encode(nil, v), s.commands[edit.name]
				args := make([][]byte, len(edit.args))
				for i, arg := range edit.args {
					args[i] = []byte(arg)
				}
				r, keys := &reply{proto: resp.RESP2}, &one{}
				random := rand.New(rand.NewPCG(1, 2))
				var out []byte
				b.ReportAllocs()
				for b.Loop() {
					v, err := values.Decode(v.Kind(), packed)
					if err != nil {
						b.Fatal(err)
					}
					keys.entry, r.out = values.Entry{Value: v}, r.out[:0]
					if err := cmd.Run(&values.Call{Args: args, Keys: keys, Now: 1, Rand: random, Reply: r}); err != nil {
						b.Fatal(err)
					}
					if keys.entry.Changed {
						out = values.Encode(out[:0], keys.entry.Value)
					}
				}
			})
		}
	}
}
