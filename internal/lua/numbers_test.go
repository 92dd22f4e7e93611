package lua_test

import (
	"context"
	"sync"
	"testing"

	"github.com/howdah/howdah/internal/lua"
)

// draw runs a script that draws numbers.
func draw(t *testing.T, source string, numbers *lua.Numbers) string {
	t.Helper()
	p, err := lua.Compile("user_script", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Run(context.Background(), &lua.Run{Protocol: 2, Numbers: numbers})
	if err != nil {
		t.Fatal(err)
	}
	return string(reply)
}

const drawsFive = "local s = '' for i = 1, 5 do s = s..' '..math.random() end return s"

func TestScriptsAtTheSameTimeDrawOtherNumbers(t *testing.T) {
	t.Parallel()
	random := lua.NewRandom(1)
	var mu sync.Mutex
	seen := make(map[string]int)
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 50 {
				numbers := random.Numbers()
				reply := draw(t, drawsFive, numbers)
				if again := draw(t, drawsFive, numbers); again != reply {
					t.Errorf("a run that began again drew %q, and %q before", again, reply)
				}
				numbers.Keep()
				mu.Lock()
				seen[reply]++
				mu.Unlock()
			}
		})
	}
	work.Wait()
	if len(seen) != 400 {
		t.Errorf("400 scripts drew %d different rows of numbers", len(seen))
	}
}

func TestScriptsWithoutKeepLeaveTheirNumbers(t *testing.T) {
	t.Parallel()
	random := lua.NewRandom(1)
	first := random.Numbers()
	draw(t, drawsFive, first)
	other := random.Numbers()
	if a, b := draw(t, drawsFive, first), draw(t, drawsFive, other); a == b {
		t.Errorf("two scripts drew %q", a)
	}
	// The first one ends although another has begun: nobody gets its numbers again.
	first.Keep()
	if a, b := draw(t, drawsFive, random.Numbers()), draw(t, drawsFive, first); a == b {
		t.Errorf("two scripts drew %q", a)
	}
}
