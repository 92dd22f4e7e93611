package service

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/howdah/howdah/bench/internal/machine"
)

// BuildHowdah compiles the program of this source tree and returns its path.
// It must be called inside the module of the benchmarks.
func BuildHowdah(ctx context.Context, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/howdah/howdah").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the source of howdah is not found from here: give --howdah the path of the program, or run inside the folder bench (%s)", strings.TrimSpace(string(out)))
	}
	path := filepath.Join(dir, "howdah")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/howdah")
	build.Dir = strings.TrimSpace(string(out))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("howdah does not build: %s", strings.TrimSpace(string(out)))
	}
	return path, nil
}

// StartHowdah runs "howdah serve" for Redis clients on a database.
func StartHowdah(ctx context.Context, program, databaseURL string, args ...string) (*Server, error) {
	return serve(ctx, program, databaseURL, "--redis-addr", "--http-addr", args)
}

// StartHowdahHTTP runs "howdah serve" for HTTP on a database.
func StartHowdahHTTP(ctx context.Context, program, databaseURL string, args ...string) (*Server, error) {
	return serve(ctx, program, databaseURL, "--http-addr", "--redis-addr", args)
}

// serve turns one listener on and the other off.
func serve(ctx context.Context, program, databaseURL, on, off string, args []string) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	args = append([]string{"serve", "--database-url", databaseURL, on, addr, off, "off", "--log-level", "warn"}, args...)
	own, err := launch(ctx, addr, program, args...)
	if err != nil {
		return nil, err
	}
	version, _ := exec.Command(program, "version").CombinedOutput()
	return &Server{Addr: addr, Version: strings.TrimSpace(string(version)), Process: machine.Process{PID: own.cmd.Process.Pid}, own: own}, nil
}
