package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// panel is what these tests know of a panel of the board.
type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	Datasource  struct{ UID string }
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ RefID, Expr, LegendFormat string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var board struct{ Panels []panel }
	require.NoError(t, json.Unmarshal([]byte(Dashboard()), &board))
	require.NotEmpty(t, board.Panels)
	return board.Panels
}

// No panel covers another one, and each says what it shows.
func TestDashboard(t *testing.T) {
	t.Parallel()
	ids := make(map[int]bool)
	covered := make(map[[2]int]string)
	for _, p := range panels(t) {
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
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for i, target := range p.Targets {
			require.Equal(t, string(rune('A'+i)), target.RefID, p.Title)
			require.Contains(t, target.Expr, `job=~"$job"`, "%s does not follow the variable", p.Title)
		}
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
