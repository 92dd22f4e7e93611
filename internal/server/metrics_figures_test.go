package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/await"
)

// The process that leads upkeep shows what the doctor found, one series for each check at
// least, and the scrape does not wait for it.
func TestMetricsOfTheDoctor(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var series []string
	require.Eventually(t, func() bool {
		series = slices.DeleteFunc(s.series(), func(line string) bool { return !strings.HasPrefix(line, "howdah_doctor_") })
		return len(series) > 0
	}, time.Minute, 10*time.Millisecond)
	require.GreaterOrEqual(t, len(series), len(doctor.Checks())+1)
	all := strings.Join(series, "")
	for id, severity := range doctor.Checks() {
		require.Contains(t, all, fmt.Sprintf("howdah_doctor_findings{id=%q,severity=%q} ", id, severity))
	}
	require.Contains(t, all, `howdah_doctor_findings{id="fsync-off",severity="error"} 1`, "tests run without")
	require.Contains(t, all, `howdah_doctor_findings{id="duplicate-index",severity="warning"} 0`)
	require.Contains(t, all, "howdah_doctor_last_run_timestamp_seconds ")
}

// A server remembers its day from its start, before anybody looks.
func TestTheDayIsRemembered(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	await.True(t, "it records", func() bool {
		_, history := s.get("/v1/history", "")
		return !strings.Contains(history, `"since":null`) && strings.Contains(history, `"since":"`)
	})
}

// Shares are shown if they were measured.
func TestMetricsOfTheCost(t *testing.T) {
	t.Parallel()
	gather := func(seen figures.Seen[figures.Cost]) map[string]float64 {
		shown := make(map[string]float64)
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.CollectorFunc(func(out chan<- prometheus.Metric) { collectCost(out, seen) }))
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, metric := range family.Metric {
				shown[metric.Label[0].GetValue()] = metric.Gauge.GetValue()
			}
		}
		return shown
	}
	quarter, half := 0.25, 0.5
	require.Empty(t, gather(figures.Seen[figures.Cost]{}))
	require.Empty(t, gather(figures.Seen[figures.Cost]{Value: &figures.Cost{Cost: &stat.Cost{}}}))
	require.Equal(t, map[string]float64{"time": 0.25, "buffers": 0.5},
		gather(figures.Seen[figures.Cost]{Value: &figures.Cost{Hour: &stat.Shares{Time: &quarter, Buffers: &half}}}), "no WAL was written")

	s := start(t, func(c *Config) { c.MetricsCost = true })
	require.NotContains(t, strings.Join(s.series(), ""), "howdah_cost_share", "without the extension")
}
