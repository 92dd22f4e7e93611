package simulate

import (
	"fmt"
	"strings"
)

// Table is the outcomes as Markdown.
func Table(outcomes []Outcome) string {
	var b strings.Builder
	b.WriteString("| Servers | Partitions | Keys a statement | Calls/s | Of the ideal | Connections each | Their memory | Polls, map | Move one | Add a server | Drain one | Failures a year | Away in one |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, o := range outcomes {
		fmt.Fprintf(&b, "| %d | %d | %.0f | %s | %.0f %% | %d | %.1f GB | %.1f %% | %.0f s | %.0f s | %.0f s | %.0f | %.1f %% |\n",
			o.Servers, o.Partitions, o.Keys, thousands(o.Throughput), 100*o.Efficiency, o.Connections, o.Memory/1e9,
			100*o.Background, o.MoveOne, o.Rebalance, o.Drain, o.FailuresAYear, 100*o.AwayShare)
	}
	return b.String()
}

func thousands(n float64) string {
	if n >= 1e6 {
		return fmt.Sprintf("%.1f M", n/1e6)
	}
	return fmt.Sprintf("%.0f k", n/1e3)
}

// Limit says from which number of servers on a cluster of these outcomes is not sensible, and
// why; 0: none of them is too many. most is how many connections a server bears.
func Limit(outcomes []Outcome, most int) (servers int, reason string) {
	for _, o := range outcomes {
		switch {
		case o.Servers > o.Partitions:
			return o.Servers, fmt.Sprintf("%d servers would hold no partition", o.Servers-o.Partitions)
		case o.Connections > most:
			return o.Servers, fmt.Sprintf("each server would have %d connections", o.Connections)
		}
	}
	return 0, ""
}
