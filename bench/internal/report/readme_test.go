package report

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
)

func TestSummaryNamesTheWinner(t *testing.T) {
	r := sample()
	r.Add("GET latency, open loop", "5000/s", "Howdah", "p99", "ms", 1.5)
	r.Add("GET latency, open loop", "5000/s", "go-redis", "p99", "ms", 0.5)
	r.Add("SET", "64", "Howdah", "throughput", "/s", 100_000)
	r.Add("SET", "64", "rueidis", "throughput", "/s", 150_000)
	text := Summary([]*result.Result{r})
	for _, want := range []string{
		"| GET, 1 caller | **100 k/s** | 50 k/s |  |  |",
		"| GET, 64 callers in one process | **200 k/s** |  |  |  |",
		"| SET, 64 callers in one process | 100 k/s |  | **150 k/s** |  |",
		"| GET at 5,000/s: 99th percentile | 1.5 ms | **0.5 ms** |  |  |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
	if strings.Contains(text, "pipelines") || strings.Contains(text, "SET, 1,024") {
		t.Errorf("there is a line for what was not measured:\n%s", text)
	}
}
