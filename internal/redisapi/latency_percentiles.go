package redisapi

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// percentilesSetting says which percentiles INFO latencystats shows.
const percentilesSetting = "latency-tracking-info-percentiles"

// infoLatency shows within which time so many per cent of the calls of each command were, as LATENCY HISTOGRAM
// counts them.
func infoLatency(w *infoWriter, t *task) {
	all := t.conn.engine.settings
	if all.now("latency-tracking") == "no" {
		return
	}
	percentiles := strings.Fields(all.now(percentilesSetting))
	t.conn.engine.commands.each(func(cmd *Command) {
		calls := cmd.stats.calls()
		if calls == 0 {
			return
		}
		shown := make([]string, len(percentiles))
		for i, p := range percentiles {
			share, _ := strconv.ParseFloat(p, 64) // checked by CONFIG SET
			shown[i] = fmt.Sprintf("p%s=%.3f", p, float64(cmd.stats.within(share, calls)))
		}
		w.field("latency_percentiles_usec_"+cmd.fullName, strings.Join(shown, ","))
	})
}

// within returns a bound that a share of so many calls kept, in microseconds.
func (c *commandCounters) within(percent float64, calls uint64) int64 {
	wanted := uint64(math.Ceil(percent / 100 * float64(calls)))
	var counted uint64
	for i := range c.took {
		counted += c.took[i].Load()
		if counted > 0 && counted >= wanted {
			return 1 << i
		}
	}
	return 1 << (latencyBuckets - 1)
}

// parsePercentiles checks percentiles and brings them into the form of CONFIG GET, which has six decimals.
func parsePercentiles(value string) (string, refusal) {
	if value == "" {
		return "", ""
	}
	words := strings.Split(value, " ")
	for i, word := range words {
		percent, err := strconv.ParseFloat(word, 64)
		switch {
		case err != nil && !math.IsInf(percent, 0) || math.IsNaN(percent) || len(value) > maxText:
			return "", "Invalid " + percentilesSetting + " parameters"
		case percent < 0 || percent > 100:
			return "", percentilesSetting + " parameters should sit between [0.0,100.0]"
		}
		words[i] = strconv.FormatFloat(math.Round(percent*1e6)/1e6, 'f', -1, 64)
	}
	return strings.Join(words, " "), ""
}
