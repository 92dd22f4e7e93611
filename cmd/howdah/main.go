// Command howdah serves a cache and session store that lives in PostgreSQL, and
// looks after the database that holds it. See "howdah help".
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/howdah/howdah/internal/fault"
)

func main() {
	os.Exit(run(context.Background(), hideSecrets(os.Args)[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it did not work, or the key is not there
	exitUsage  = 2 // the command line or the environment is wrong
)

// usageError is a mistake in the command line or in the environment.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// run is main with everything it touches passed in.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if code := exitCode(0); errors.As(err, &code) {
		return int(code)
	}
	code := exitFailed
	if usage := (usageError{}); errors.As(err, &usage) || errors.Is(err, fault.ErrInvalidName) {
		code = exitUsage
	}
	report(errOut, wantsJSON(cmd, args), err, code)
	return code
}

// oneLine makes one line of a message: joined errors are separated by "; ",
// and the name of the library is not repeated.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "howdah: ")
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}
