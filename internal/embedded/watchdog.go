//go:build unix

package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

// watchdogScript waits for the end of its standard input. The kernel closes
// the other end when the program dies, however it dies: then PostgreSQL gets
// a fast shutdown, and an immediate one if that takes over a minute. A line on
// the input means that PostgreSQL has exited and there is nothing to do.
//
// PR_SET_PDEATHSIG is not used: it fires when the thread that started the
// child ends, which in Go is any time, and exists on Linux only.
const watchdogScript = `trap '' HUP INT TERM
read -r line && exit 0
kill -INT "$1" || exit 0
i=0
while [ "$i" -lt 60 ]; do
	sleep 1
	kill -0 "$1" 2>/dev/null || exit 0
	i=$((i + 1))
done
kill -QUIT "$1"`

type watchdog struct {
	cmd  *exec.Cmd
	pipe *os.File
	once sync.Once
}

func newWatchdog(pid int, who account) (*watchdog, error) {
	r, w, err := os.Pipe() // close-on-exec: PostgreSQL must not hold it open
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "howdah-watchdog", strconv.Itoa(pid))
	cmd.Dir = "/"
	cmd.Env = environment()
	cmd.Stdin = r
	cmd.SysProcAttr = who.attributes()
	err = cmd.Start()
	r.Close()
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("the watchdog of PostgreSQL cannot be started: %w", err)
	}
	return &watchdog{cmd: cmd, pipe: w}, nil
}

// dismiss ends the watchdog; PostgreSQL has exited.
func (w *watchdog) dismiss() {
	w.once.Do(func() {
		w.pipe.WriteString("done\n")
		w.pipe.Close()
		w.cmd.Wait()
	})
}
