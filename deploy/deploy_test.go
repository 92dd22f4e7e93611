package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// board is what these tests know of a board.
type board struct {
	Title, UID string
	Panels     []panel
}

// panel is what these tests know of a panel.
type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	Datasource  struct{ UID string }
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ RefID, Expr, LegendFormat string }
}

// boards are the boards, the large one first.
func boards(t *testing.T) (all []board) {
	t.Helper()
	for _, text := range []string{Dashboard(), SmallDashboard()} {
		var b board
		require.NoError(t, json.Unmarshal([]byte(text), &b))
		require.NotEmpty(t, b.Panels)
		all = append(all, b)
	}
	return all
}

// No panel covers another one, and each says what it shows.
func TestDashboards(t *testing.T) {
	t.Parallel()
	for _, b := range boards(t) {
		ids := make(map[int]bool)
		covered := make(map[[2]int]string)
		for _, p := range b.Panels {
			require.NotZero(t, p.ID)
			require.False(t, ids[p.ID], "two panels have the id %d", p.ID)
			ids[p.ID] = true
			require.NotEmpty(t, p.Title)
			at := p.GridPos
			require.LessOrEqual(t, at.X+at.W, 24, p.Title)
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					require.Empty(t, covered[[2]int{x, y}], "%s is on it", p.Title)
					covered[[2]int{x, y}] = p.Title
				}
			}
			if p.Type != "row" {
				p.check(t)
			}
		}
	}
}

// check finds what every panel with data must have.
func (p *panel) check(t *testing.T) {
	t.Helper()
	require.NotEmpty(t, p.Description, p.Title)
	require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
	require.NotEmpty(t, p.Targets, p.Title)
	for i, target := range p.Targets {
		require.Equal(t, string(rune('A'+i)), target.RefID, p.Title)
		require.Contains(t, target.Expr, `job=~"$job"`, "%s does not follow the variable", p.Title)
	}
}

// Both boards can be in one Grafana, and the small one fits a screen: at most a dozen panels, none of them folded away.
func TestSmallDashboard(t *testing.T) {
	t.Parallel()
	both := boards(t)
	require.NotEqual(t, both[0].UID, both[1].UID)
	require.NotEqual(t, both[0].Title, both[1].Title)
	small := both[1].Panels
	require.LessOrEqual(t, len(small), 12)
	for _, p := range small {
		require.NotEqual(t, "row", p.Type, p.Title)
		require.LessOrEqual(t, p.GridPos.Y+p.GridPos.H, 32, p.Title)
	}
}

// Each alert says how severe it is, what it means, and where the documentation tells
// what to do.
func TestAlertsAreDocumented(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	documented := regexp.MustCompile(`(?m)^### (Howdah\w+)$`).FindAllStringSubmatch(string(document), -1)
	var names []string
	for _, alert := range strings.Split(Rules(), "  - alert: ")[1:] {
		name, body, _ := strings.Cut(alert, "\n")
		names = append(names, name)
		require.Regexp(t, `(?m)^    labels: \{severity: (critical|warning|info)\}$`, body, name)
		require.Regexp(t, `(?m)^      summary: ".+\."$`, body, name)
		require.Regexp(t, `(?m)^      description: ".+\."$`, body, name)
		require.Contains(t, body, "runbook_url: https://github.com/howdah/howdah/blob/main/docs/operations.md#"+strings.ToLower(name)+"\n", name)
	}
	require.Greater(t, len(names), 15)
	require.Len(t, documented, len(names))
	for i, section := range documented {
		require.Equal(t, names[i], section[1], "the order of the documentation is that of the rules")
	}
}

// Each alert has a unit test in which it fires and one in which it does not. That they
// pass is for promtool to say.
func TestAlertsAreTested(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, file := range unitTests {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tests.Write(text)
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(Rules(), -1) {
		expr := `expr: 'ALERTS{alertname="` + m[1] + `", alertstate="firing"}'`
		require.Regexp(t, regexp.QuoteMeta(expr)+`, eval_time: \w+, exp_samples: \[\]\}`, tests.String(), "%s is not tested to be silent", m[1])
		require.Regexp(t, regexp.QuoteMeta(expr)+`\n    eval_time: \w+\n    exp_samples:\n    - \{labels: 'ALERTS`, tests.String(), "%s is not tested to fire", m[1])
	}
}

// unitTests are files for promtool test rules.
var unitTests = []string{"testdata/alerts_test.yml", "testdata/alerts_day_test.yml"}
