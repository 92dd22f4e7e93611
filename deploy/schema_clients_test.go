//go:build clients

package deploy

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Grafana's own schema knows all of the boards. They are not drawn: there is no Grafana here.
func TestClientsOfTheBoards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, command := range [][]string{
		{"python3", "-m", "venv", dir},
		{filepath.Join(dir, "bin/pip"), "install", "--quiet", "--no-compile", "grafana-foundation-sdk==1769699998!10.1.0"},
		{filepath.Join(dir, "bin/python"), "testdata/round_trip.py", "grafana.json", "grafana-small.json"},
	} {
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%v\n%s", command, out)
	}
}
