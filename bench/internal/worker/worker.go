// Package worker runs parts of an experiment as processes of their own: this
// program starts itself again. A worker reads what to do from its standard
// input, and answers on its standard output, a line of JSON each.
package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
)

// Command is the argument with which the program starts itself as a worker.
const Command = "worker"

// The roles of a worker.
const (
	roleLoad = "load" // makes a share of the load of several processes
	roleHTTP = "http" // serves a cache over HTTP
)

// Main is what a worker does.
func Main(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 1 {
		switch args[0] {
		case roleLoad:
			return load(ctx, bufio.NewReader(in), out)
		case roleHTTP:
			return serveHTTP(ctx, bufio.NewReader(in), out)
		}
	}
	return fmt.Errorf("%s is for howdah-bench itself, with %s or %s, but got %q", Command, roleLoad, roleHTTP, args)
}

// process is a worker, seen from the program that started it.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	said  strings.Builder
}

// anywhere is the core of a worker that may run on all of them.
const anywhere = -1

// start runs this program as a worker, on one core or anywhere. Go then sees no more cores
// than that one.
func start(role string, core int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, Command, role)}
	if core != anywhere {
		p.cmd = exec.Command("taskset", "-c", strconv.Itoa(core), self, Command, role)
	}
	p.cmd.Stderr = &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// tell sends one line.
func (p *process) tell(message any) error { return writeLine(p.in, message) }

// hear receives one line. A worker that ends instead has said why.
func (p *process) hear(message any) error {
	if err := readLine(p.lines, message); err != nil {
		p.stop()
		return fmt.Errorf("a worker failed: %s (%w)", strings.TrimSpace(p.said.String()), err)
	}
	return nil
}

// stop closes the worker's input, upon which it ends; after 10 s it is made to.
func (p *process) stop() error {
	p.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	return p.cmd.Wait()
}

func (p *process) machine() machine.Process { return machine.Process{PID: p.cmd.Process.Pid} }

func writeLine(w io.Writer, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func readLine(r *bufio.Reader, message any) error {
	text, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(text, message)
}
