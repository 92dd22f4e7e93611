//go:build peers

package experiment

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
)

// A Redis that was given keeps what is not ours, in the database that its URL
// names and in the others.
func TestDeleteKeysLeavesTheRest(t *testing.T) {
	ctx := t.Context()
	s, err := service.StartRedis(ctx, t.TempDir(), "--requirepass", "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	target := fmt.Sprintf("redis://:secret@%s/3", s.Addr)
	if _, err := service.UseRedis(ctx, target); err != nil {
		t.Fatal(err)
	}
	r, err := rival.NewRueidis(target)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 25_000 {
		if err := r.Set(ctx, fmt.Sprintf("key:%d", i), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	other := rival.NewGoRedis(fmt.Sprintf("redis://:secret@%s/0", s.Addr), 1)
	defer other.Close()
	if err := other.Set(ctx, "key:1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	r.Set(ctx, "mine", []byte("x"))
	c := redis.NewClient(rival.RedisOptions(target))
	defer c.Close()
	if err := deleteKeys(ctx, c); err != nil {
		t.Fatal(err)
	}
	if n := c.DBSize(ctx).Val(); n != 1 {
		t.Errorf("%d keys are left in database 3, want 1", n)
	}
	if _, err := other.Get(ctx, "key:1"); err != nil {
		t.Errorf("database 0: %v", err)
	}
}
