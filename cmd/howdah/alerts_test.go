package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/deploy"
)

// The files for Prometheus and Grafana are printed as they are, to be redirected.
func TestAlertsAndGrafana(t *testing.T) {
	t.Parallel()
	alerts := execute(t, "", nil, "alerts")
	require.Equal(t, result{out: deploy.Rules()}, alerts)
	board := execute(t, "", nil, "grafana")
	require.Equal(t, result{out: deploy.Dashboard()}, board)
	require.True(t, json.Valid([]byte(board.out)))
	require.Equal(t, result{out: deploy.SmallDashboard()}, execute(t, "", nil, "grafana", "--small"))
	require.Equal(t, 2, execute(t, "", nil, "alerts", "more").code)
}
