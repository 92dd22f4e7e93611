//go:build unix

package embedded

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A message of several lines is of one severity.
func TestOutputSeverity(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o, err := newOutput(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	require.NoError(t, err)
	_, err = o.writer.WriteString(strings.TrimPrefix(`
LOG:  listening on Unix socket "/tmp/x: y"
ERROR:  syntax error at or near "x"
DETAIL:  of two lines,
	PANIC: not really
STATEMENT:  SELECT
	FATAL: 1
FATAL:  the database system is starting up
no severity: PANIC
	nor here
`, "\n"))
	require.NoError(t, err)
	o.read()
	<-o.done
	require.Equal(t, strings.TrimPrefix(`
level=DEBUG msg="postgresql: listening on Unix socket \"/tmp/x: y\"" severity=LOG
level=WARN msg="postgresql: syntax error at or near \"x\"" severity=ERROR
level=WARN msg="postgresql: detail: of two lines," severity=ERROR
level=WARN msg="postgresql: PANIC: not really" severity=ERROR
level=WARN msg="postgresql: statement: SELECT" severity=ERROR
level=WARN msg="postgresql: FATAL: 1" severity=ERROR
level=DEBUG msg="postgresql: the database system is starting up" severity=FATAL
level=DEBUG msg="postgresql: no severity: PANIC" severity=""
level=DEBUG msg="postgresql: nor here" severity=""
`, "\n"), log.String())
}
