package server

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/howdah/howdah/internal/pipeline"
)

// loopConn is one connection of a loop.
type loopConn struct {
	client
	loop   *loop
	fd     int
	mask   uint32 // what epoll watches for
	queued atomic.Bool
	closed bool
}

const (
	readable = unix.EPOLLIN
	writable = unix.EPOLLOUT
	broken   = unix.EPOLLERR | unix.EPOLLHUP
)

// wake is the callback of the protocol: called from any goroutine, it has the
// loop serve c soon. However many replies become ready in the meantime, c is
// queued once and the loop is woken once.
func (c *loopConn) wake() {
	if c.queued.Swap(true) {
		return
	}
	l := c.loop
	l.mu.Lock()
	l.ready = append(l.ready, c)
	l.mu.Unlock()
	l.rouse()
}

// adopt takes over a connection that was just accepted. It reports false if
// the connection was lost.
func (l *loop) adopt(nc net.Conn) bool {
	fd, err := detach(nc)
	if err != nil {
		return false
	}
	c := &loopConn{loop: l, fd: fd, mask: readable}
	remote, local := nc.RemoteAddr(), nc.LocalAddr()
	added := l.do(func() {
		watch := unix.EpollEvent{Events: c.mask, Fd: int32(fd)}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &watch); err != nil {
			_ = unix.Close(fd)
			l.size.Add(-1)
			l.driver.left()
			return
		}
		l.conns[int32(fd)] = c
		l.driver.attach(&c.client, remote, local, fd, l.now, c.wake)
		if l.draining {
			l.drain(c)
		}
	})
	if !added {
		_ = unix.Close(fd)
		return false
	}
	l.size.Add(1)
	return true
}

// detach takes the descriptor out of nc, which it closes.
func detach(nc net.Conn) (int, error) {
	defer nc.Close()
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	fd, dupErr := 0, error(nil)
	if err := raw.Control(func(s uintptr) {
		fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return 0, err
	}
	return fd, dupErr
}

// handle reads what a connection has sent. serve must follow.
func (l *loop) handle(c *loopConn, events uint32) {
	if events&broken != 0 && events&readable == 0 {
		l.close(c)
		return
	}
	if events&readable != 0 && c.mask&readable != 0 {
		l.read(c)
	}
}

// read takes what one system call gives.
func (l *loop) read(c *loopConn) {
	backlog := c.in.len() > 0
	room := l.input
	if backlog {
		room = c.in.room(c.conn.Need())
	}
	n, err := unix.Read(c.fd, room)
	switch {
	case n > 0:
		c.active = l.now
		if backlog {
			c.in.extend(n)
		} else {
			c.receive(room[:n])
		}
	case n == 0 && err == nil:
		c.end()
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
	default:
		l.close(c)
	}
}

// serve feeds what waits and writes what is ready, until neither goes on or the
// connection has had its turn, and then watches for what can make it go on.
func (l *loop) serve(c *loopConn) {
	if c.conn.Killed() {
		l.close(c)
		return
	}
	full := false
	for sent := 0; ; {
		fed := c.feed()
		n, blocked, err := l.write(c)
		if err != nil {
			l.close(c)
			return
		}
		// Replies that are not ready yet wake the connection when they are.
		full = blocked && c.out.Len() > 0
		if !fed && (full || n == 0) || c.in.len() == 0 && c.out.Len() == 0 {
			break
		}
		if sent += n; sent >= maxSend {
			c.wake() // behind the others
			break
		}
	}
	if c.done() {
		l.close(c)
		return
	}
	mask := uint32(0)
	if c.wantsInput() {
		mask |= readable
	}
	if full {
		mask |= writable
	}
	if mask != c.mask {
		c.mask = mask
		watch := unix.EpollEvent{Events: mask, Fd: int32(c.fd)}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, c.fd, &watch); err != nil {
			l.close(c)
		}
	}
}

// write sends what is left over and then what is ready. It reports how much went
// out, and whether the socket takes no more.
func (l *loop) write(c *loopConn) (sent int, full bool, err error) {
	if c.out.Len() > 0 {
		sent, full, err = l.send(c.fd, &c.out)
		c.wrote(sent, l.now)
		if err != nil || c.out.Len() > 0 {
			return sent, full, err
		}
		c.out.Release() // idle connections hold no memory
		c.account.Set(0)
	}
	c.collect(&l.output)
	if l.output.Len() == 0 {
		return sent, false, nil
	}
	n, full, err := l.send(c.fd, &l.output)
	if n > 0 {
		c.active = l.now
	}
	if l.output.Discard(n); err == nil && l.output.Len() > 0 {
		c.keep(&l.output, l.now)
	}
	l.output.Reset()
	return sent + n, full, err
}

// maxSend bounds what one connection is sent before the loop looks at others: with
// 1 MiB, forty clients that ask for large values delay all others by 0.2 s.
const maxSend = 256 << 10

// send writes of out what the socket takes now, at most maxSend bytes. It reports
// whether the socket takes no more. Taking nothing is no error.
func (l *loop) send(fd int, out *pipeline.Output) (n int, full bool, err error) {
	l.segments = out.Segments(l.segments[:0], maxSend)
	size := 0
	for _, s := range l.segments {
		size += len(s)
	}
	for {
		if len(l.segments) == 1 {
			n, err = unix.Write(fd, l.segments[0])
		} else {
			n, err = unix.Writev(fd, l.segments)
		}
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	clear(l.segments) // do not keep the values
	if errors.Is(err, unix.EAGAIN) {
		err = nil
	}
	n = max(n, 0)
	return n, n < size, err
}

func (l *loop) close(c *loopConn) {
	if c.closed {
		return
	}
	c.closed = true
	delete(l.conns, int32(c.fd))
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
	if !l.linger(c) {
		_ = unix.Close(c.fd)
	}
	l.size.Add(-1)
	l.driver.detach(&c.client)
}

// linger ends the connection of a client that may still send. It reports
// whether it has taken the descriptor. Clients rarely send after they were told
// that the connection ends, except in a shutdown.
func (l *loop) linger(c *loopConn) bool {
	if !c.done() {
		return false
	}
	_ = unix.Shutdown(c.fd, unix.SHUT_WR)
	for range 16 {
		n, err := unix.Read(c.fd, l.input)
		if n == 0 && err == nil {
			return false // the client has closed too
		}
		if err != nil {
			break
		}
	}
	if !l.draining {
		return false
	}
	file := os.NewFile(uintptr(c.fd), "client")
	nc, err := net.FileConn(file)
	_ = file.Close()
	if err == nil {
		l.driver.work.Go(func() {
			linger(nc)
			_ = nc.Close()
		})
	}
	return true
}
