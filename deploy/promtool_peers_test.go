//go:build peers

package deploy

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// promtool finds nothing wrong with the rules, and its unit tests of them pass.
func TestRulesByPromtool(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "rules", "howdah.rules.yml"},
		append([]string{"test", "rules"}, unitTests...),
	} {
		out, err := exec.Command("promtool", args...).CombinedOutput()
		require.NoError(t, err, "promtool %v (install prometheus if it is missing)\n%s", args, out)
	}
}
