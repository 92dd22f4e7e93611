package console

import (
	"net/http"
	"strings"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/figures"
)

// doctorView is the page of the doctor.
type doctorView struct {
	Fresh  freshness
	Report *doctor.Report
	Groups []findingGroup
}

// findingGroup are the findings of one severity.
type findingGroup struct {
	Severity doctor.Severity
	Findings []doctor.Finding
}

// findingsOf returns the findings on one cache and its partitions. The doctor names a cache
// by its view.
func findingsOf(findings []doctor.Finding, cache string) (found []doctor.Finding) {
	for _, f := range findings {
		table, _, _ := strings.Cut(f.Object, ", partition ")
		listed, _, _ := strings.Cut(f.Object, "/")
		if table == "howdah.cache_"+cache || listed == "cache "+cache {
			found = append(found, f)
		}
	}
	return found
}

func (c *Console) doctorPage(r *request) error {
	return r.showDoctor(c.figures.Doctor(r.Context()))
}

// examine lets the doctor look again.
func (c *Console) examine(r *request) error {
	c.figures.Examine(r.Context())
	return r.back("doctor", "")
}

func (r *request) showDoctor(seen figures.Seen[doctor.Report]) error {
	view := &doctorView{Fresh: freshnessOf(seen), Report: seen.Value}
	if seen.Value != nil {
		for _, severity := range severities {
			group := findingGroup{Severity: severity}
			for _, f := range seen.Value.Findings {
				if f.Severity == severity {
					group.Findings = append(group.Findings, f)
				}
			}
			if len(group.Findings) > 0 {
				view.Groups = append(view.Groups, group)
			}
		}
	}
	return r.show(http.StatusOK, "doctor.html", frame{Title: "Doctor", Section: "doctor", Waiting: view.Fresh.Waiting, Page: view})
}
