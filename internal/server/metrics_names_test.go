package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/howdah/howdah/deploy"
)

// describedMetrics are the names of the metrics in the source.
func describedMetrics(t *testing.T) map[string]bool {
	described := make(map[string]bool)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`= +describe\("([a-z_]+)"|"howdah_([a-z_]+)",`).FindAllStringSubmatch(string(source), -1) {
			described["howdah_"+name[1]+name[2]] = true
		}
	}
	return described
}

// documentedMetrics are the names in the table of the documentation.
func documentedMetrics(t *testing.T) map[string]bool {
	document, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(document), "\n## Metrics\n")
	require.True(t, found, "docs/operations.md has a section Metrics")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := make(map[string]bool)
	for _, name := range regexp.MustCompile("`(howdah_[a-z_]+)`").FindAllStringSubmatch(section, -1) {
		documented[name[1]] = true
	}
	return documented
}

// familyOf is the name of a metric without what a histogram's series end with, if
// there is such a metric.
func familyOf(name string, metrics map[string]bool) string {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && metrics[base] {
			return base
		}
	}
	return ""
}

// Every metric is documented, and nothing else is.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	documented := documentedMetrics(t)
	require.Equal(t, describedMetrics(t), documented)

	s := startNear(t, logged(t), time.Second)
	c := s.dial()
	c.send("SET", "k", "v")
	c.reply()
	s.get("/get?key=k", "")
	for _, line := range s.series() {
		name := regexp.MustCompile(`^[a-z_]+`).FindString(line)
		require.NotEmpty(t, familyOf(name, documented), "%s is not documented", name)
	}
}

// rule is a rule of deploy/howdah.rules.yml.
type rule struct{ Alert, Record, Expr string }

func deployedRules(t *testing.T) (rules []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal([]byte(deploy.Rules()), &file))
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	require.Greater(t, len(rules), 15)
	return rules
}

// boardQueries are all expressions of both boards, those of their annotations included.
func boardQueries(t *testing.T) []string {
	t.Helper()
	large := queriesOf(t, deploy.Dashboard())
	require.Greater(t, len(large), 100)
	return append(large, queriesOf(t, deploy.SmallDashboard())...)
}

func queriesOf(t *testing.T, text string) []string {
	t.Helper()
	var dashboard any
	require.NoError(t, json.Unmarshal([]byte(text), &dashboard))
	queries := exprs(dashboard)
	require.NotEmpty(t, queries)
	return queries
}

// exprs are the values of the fields with this name.
func exprs(node any) (found []string) {
	switch node := node.(type) {
	case map[string]any:
		for name, value := range node {
			if text, ok := value.(string); ok && name == "expr" {
				found = append(found, text)
			}
			found = append(found, exprs(value)...)
		}
	case []any:
		for _, value := range node {
			found = append(found, exprs(value)...)
		}
	}
	return found
}

// Boards and rules ask for metrics that there are, and every metric is on the large board or
// in a rule.
func TestMetricsAreOnTheBoard(t *testing.T) {
	t.Parallel()
	described := describedMetrics(t)
	recorded := make(map[string]bool)
	queries := queriesOf(t, deploy.Dashboard())
	for _, rule := range deployedRules(t) {
		recorded[rule.Record] = true
		queries = append(queries, rule.Expr)
	}
	require.Equal(t, described, askedMetrics(t, queries, described, recorded))
	require.NotEmpty(t, askedMetrics(t, queriesOf(t, deploy.SmallDashboard()), described, nil))
}

// askedMetrics are the metrics that expressions ask for, without those that rules record. Each must be described.
func askedMetrics(t *testing.T, queries []string, described, recorded map[string]bool) map[string]bool {
	t.Helper()
	asked := make(map[string]bool)
	for _, expr := range queries {
		for _, name := range regexp.MustCompile(`\bhowdah[a-z_]*_[a-z_:0-9]+|\bhowdah:[a-z_:0-9]+`).FindAllString(expr, -1) {
			if recorded[name] {
				continue
			}
			family := familyOf(name, described)
			require.NotEmpty(t, family, "%s is no metric; it is in %s", name, expr)
			asked[family] = true
		}
	}
	return asked
}
