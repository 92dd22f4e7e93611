package observe

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

func slowKeys(calls []SlowCall) string {
	var keys []string
	for _, c := range calls {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, " ")
}

func TestSlowLogKeepsTheLast(t *testing.T) {
	t.Parallel()
	l := NewSlowLog(0, nil, nil)
	for i := range DefaultSlowCalls + 3 {
		l.Note(SlowCall{Key: fmt.Sprint("k", i), Writes: i%2 == 0})
	}
	if l.Len() != DefaultSlowCalls {
		t.Fatalf("Len = %d", l.Len())
	}
	all := l.Recent(-1)
	if len(all) != DefaultSlowCalls || all[0].Key != "k130" || all[0].ID != 130 || all[127].Key != "k3" {
		t.Errorf("kept are %s", slowKeys(all))
	}
	if got := slowKeys(l.Recent(2)); got != "k130 k129" {
		t.Errorf("Recent(2) = %s", got)
	}
	if reads, writes := l.Counts(); reads != 65 || writes != 66 {
		t.Errorf("Counts = %d, %d", reads, writes)
	}
	l.Reset()
	l.Note(SlowCall{Key: "after"})
	if got := l.Recent(-1); slowKeys(got) != "after" || got[0].ID != 131 {
		t.Errorf("after Reset: %+v", got)
	}
	if reads, writes := l.Counts(); reads+writes != 132 {
		t.Errorf("Reset changed the counts: %d, %d", reads, writes)
	}
}

func TestSlowLogChangesItsSize(t *testing.T) {
	t.Parallel()
	l := NewSlowLog(0, nil, nil)
	note := func(from, to int) {
		for i := from; i < to; i++ {
			l.Note(SlowCall{Key: fmt.Sprint(i)})
		}
	}
	note(0, 10)
	l.SetMax(3)
	if got := slowKeys(l.Recent(-1)); got != "9 8 7" {
		t.Errorf("after SetMax(3): %s", got)
	}
	note(10, 12)
	if got := slowKeys(l.Recent(-1)); got != "11 10 9" {
		t.Errorf("later: %s", got)
	}
	l.SetMax(5)
	note(12, 13)
	if got := slowKeys(l.Recent(-1)); got != "12 11 10 9" {
		t.Errorf("after SetMax(5): %s", got)
	}
	l.SetMax(0)
	note(13, 15)
	if l.Len() != 0 || len(l.Recent(-1)) != 0 {
		t.Errorf("a log that keeps nothing has %d", l.Len())
	}
	if l.SetMax(1 << 30); l.Max() != MaxSlowCalls {
		t.Errorf("Max = %d", l.Max())
	}
}

func TestSlowLogThreshold(t *testing.T) {
	t.Parallel()
	l := NewSlowLog(SlowOff, nil, nil)
	if l.On() || l.IsSlow(int64(time.Hour)) || l.Threshold() != SlowOff {
		t.Error("a log that is off notes calls")
	}
	l.SetThreshold(100 * time.Millisecond)
	if !l.On() || l.IsSlow(int64(100*time.Millisecond)-1) || !l.IsSlow(int64(100*time.Millisecond)) {
		t.Error("the threshold is not 100 ms")
	}
	l.SetThreshold(0)
	if !l.On() || !l.IsSlow(0) || l.Threshold() != 0 {
		t.Error("with threshold 0 not every call is noted")
	}
	l.SetThreshold(-1)
	if l.On() {
		t.Error("a negative threshold does not turn it off")
	}
}

func TestSlowLogShowsNoSecrets(t *testing.T) {
	t.Parallel()
	mask, err := NewMask([]string{"invite:"})
	if err != nil {
		t.Fatal(err)
	}
	l := NewSlowLog(0, mask, nil)
	l.Note(SlowCall{Key: "shop:sess:SECRET"})
	l.Note(SlowCall{Key: "invite:SECRET"})
	l.Note(SlowCall{Key: strings.Repeat("a", 100), Client: Client{Name: strings.Repeat("n", 100), Library: strings.Repeat("\xff", 100)}})
	all := l.Recent(-1)
	if all[2].Key != "shop:sess:***" || all[1].Key != "invite:***" {
		t.Errorf("keys are %s", slowKeys(all))
	}
	if all[0].Key != strings.Repeat("a", 64)+"..." || all[0].Name != strings.Repeat("n", 64)+"..." || all[0].Library != "..." {
		t.Errorf("%+v is not cut", all[0])
	}
}

func TestSlowLogSaysOneLineASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewSlowLog(0, nil, slog.New(slog.NewTextHandler(&out, nil)))
		for range 10 {
			l.Note(SlowCall{Command: "get", Key: "token:SECRET", Blocked: time.Second})
		}
		bubble.Pass(time.Second)
		l.Note(SlowCall{Command: "get", Key: "k"})
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "key=token:***") || !strings.Contains(lines[0], "blocked=1s") ||
			!strings.Contains(lines[1], "others_not_logged=9") {
			t.Errorf("logged:\n%s", out.String())
		}
	})
}

func TestSlowLogThatIsNil(t *testing.T) {
	t.Parallel()
	var l *SlowLog
	l.Note(SlowCall{})
	l.SetThreshold(0)
	l.SetMax(1)
	l.Reset()
	if l.On() || l.IsSlow(1<<62) || l.Len() != 0 || l.Recent(5) != nil || l.Threshold() != SlowOff || l.Max() != 0 || l.Mask() != nil {
		t.Error("a nil SlowLog is not off")
	}
}

func BenchmarkSlowLogOfQuickCalls(b *testing.B) {
	for name, l := range map[string]*SlowLog{"nil": nil, "off": NewSlowLog(SlowOff, nil, nil), "on": NewSlowLog(100*time.Millisecond, nil, nil)} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if l.IsSlow(int64(i & 1023)) {
					b.Fatal("slow")
				}
			}
		})
	}
}
