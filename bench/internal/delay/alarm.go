package delay

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes one goroutine at an instant. The timers of the runtime are late
// by up to a millisecond when a process idles, which is ten times the delay of
// a rack; a timer of the kernel, waited for as a file, is exact to some
// microseconds.
type alarm struct {
	file   *os.File
	buffer [8]byte
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &alarm{file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// until waits for an instant that may be past.
func (a *alarm) until(due time.Time) error {
	left := time.Until(due)
	if left <= 0 {
		return nil
	}
	raw, err := a.file.SyscallConn()
	if err != nil {
		return err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	var setErr error
	if err := raw.Control(func(fd uintptr) { setErr = unix.TimerfdSettime(int(fd), 0, &spec, nil) }); err != nil {
		return err
	}
	if setErr != nil {
		return setErr
	}
	_, err = a.file.Read(a.buffer[:])
	return err
}

func (a *alarm) close() { a.file.Close() }
