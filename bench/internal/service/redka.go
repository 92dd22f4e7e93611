package service

import (
	"context"
	"net"
	"strings"

	"github.com/howdah/howdah/bench/internal/machine"
)

// StartRedka runs redka, which keeps the data types of Redis in tables, on a
// database that is empty.
func StartRedka(ctx context.Context, databaseURL string) (*Server, error) {
	path, err := Redka.Find()
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(addr)
	own, err := launch(ctx, addr, path, "-h", host, "-p", port, databaseURL)
	if err != nil {
		return nil, err
	}
	_, version, _ := strings.Cut(Redka.Module, "@")
	return &Server{Addr: addr, Version: version, Process: machine.Process{PID: own.cmd.Process.Pid}, own: own}, nil
}
