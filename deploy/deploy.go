// Package deploy holds files that a deployment of Howdah uses, as they are for the
// metrics of this version.
package deploy

import _ "embed"

//go:embed howdah.rules.yml
var rules string

//go:embed grafana.json
var dashboard string

//go:embed grafana-small.json
var smallDashboard string

// Rules returns a file of recording rules and alerts for Prometheus, in YAML.
func Rules() string { return rules }

// Dashboard returns a board for Grafana with all metrics, in JSON as its import takes it.
func Dashboard() string { return dashboard }

// SmallDashboard returns a board for Grafana with what a team looks at every day, likewise.
func SmallDashboard() string { return smallDashboard }
