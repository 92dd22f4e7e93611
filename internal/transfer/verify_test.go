package transfer

import (
	"bufio"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/verb"
)

// An error is no answer to whether the source has a key, except that another node has it.
func TestErrorsAboutExtraKeys(t *testing.T) {
	t.Parallel()
	cache := openDB(t).Cache("db0")
	for _, c := range []struct {
		reply          string
		oneNode        bool
		extra, refused int64
	}{
		{":1", false, 0, 0},
		{":0", false, 1, 0},
		{"-NOPERM no permissions to run EXISTS", false, 0, 1},
		{"-LOADING Redis is loading the dataset in memory", false, 0, 1},
		{"-MASTERDOWN Link with MASTER is down", true, 0, 1},
		{"-BUSY Redis is busy running a script", true, 0, 1},
		{"$-1", false, 0, 1},
		{"-MOVED 7 127.0.0.1:7000", false, 0, 1},
		{"-MOVED 7 127.0.0.1:7000", true, 0, 0},
		{"-ASK 7 127.0.0.1:7000", true, 0, 0},
	} {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		go func() { _, _ = io.WriteString(far, c.reply+"\r\n") }()
		conn := &Conn{conn: near, reader: bufio.NewReader(near), stop: func() bool { return true }}
		o := VerifyOptions{Options: Options{OneNode: c.oneNode}}
		v := &verifier{run: newRun(nil, o.Options), o: o, cache: cache, found: Differences{Refused: map[string]int64{}}}
		err := v.extra(t.Context(), conn, []verb.Entry{{Key: []byte("k"), TTL: verb.NoExpiry}})
		conn.Close()
		far.Close()
		require.NoError(t, err)
		require.Equal(t, c.extra, v.found.Extra, c.reply)
		require.Equal(t, c.extra+c.refused, v.found.Open(), c.reply)
	}
}
