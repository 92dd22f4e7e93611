package verb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, snapshot string
		placement      int64
		own            string
	}{
		{"7", "", 0, ""},
		{"-7/10:12:10,11", "10:12:10,11", 0, "10:12:10,11"},
		{"7/102034@10:12:", "102034@10:12:", 102034, "10:12:"},
	} {
		version, snapshot, err := ParseToken(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.snapshot, snapshot)
		require.Equal(t, c.text, FormatToken(version, snapshot))
		placement, own := SplitSnapshot(snapshot)
		require.Equal(t, c.placement, placement)
		require.Equal(t, c.own, own)
	}
	for _, text := range []string{"", "x", "7/", "7/x", "7/@1:1:", "7/1@", "7/1@2@1:1:", "7/-1@1:1:", "7/12345678901234567890@1:1:", "7/1:1", "7/1:1:x"} {
		_, _, err := ParseToken(text)
		require.Error(t, err, text)
	}
}
