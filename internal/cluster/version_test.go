package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/cluster"
)

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, says := range map[string]string{
		"": "Citus is not there", "11.3-2": "Citus 11.3-2 is too old", "none": "too old", "12.0-1": "", "13.2-1": "",
	} {
		err := cluster.CheckVersion(version)
		if says == "" {
			require.NoError(t, err, version)
			continue
		}
		require.ErrorIs(t, err, cluster.ErrUnfit)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "\n")
	}
}
