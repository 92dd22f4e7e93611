package experiment

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/howdah/howdah/bench/internal/measure"
)

// messageLoad is publishers and subscribers of one channel. Each message says who sent it,
// the how many-th it is, and when: subscribers check that none is lost or out of order,
// and take the time of its delivery. It takes plain addresses only.
type messageLoad struct {
	to, from                string // where publishers and subscribers connect
	channel                 string
	publishers, subscribers int
	warmup, duration        time.Duration
	rate                    float64 // messages/s of all publishers together; 0: as fast as answers come
	mayLag                  bool    // messages that the server is too slow for are left out; their rate tells
	begun                   func()  // called as the measured time begins, if set
}

const (
	messageSize = 100
	// patience is how long the last messages may take to arrive.
	patience = 10 * time.Second
	// clockDigits hold nanoseconds since the epoch.
	clockDigits = 19
)

// delivered is what a load measured.
type delivered struct {
	published measure.Sample // PUBLISH until its reply
	delivery  *hdrhistogram.Histogram
	messages  int64 // that each subscriber received, warming up included
}

// run measures. A message that is lost, late beyond patience, repeated or out of order is
// an error.
func (l messageLoad) run(ctx context.Context, m *meter) (d delivered, err error) {
	var receiving sync.WaitGroup
	var subscribers []*subscriber
	defer func() {
		for _, s := range subscribers {
			s.conn.Close()
		}
		receiving.Wait()
	}()
	var begun atomic.Int64 // when the measured time began
	for range l.subscribers {
		s, err := subscribe(ctx, l.from, l.channel, l.publishers)
		if err != nil {
			return d, err
		}
		s.measured = &begun
		subscribers = append(subscribers, s)
		receiving.Go(s.receive)
	}
	publishers := make([]*publisher, l.publishers)
	for i := range publishers {
		if publishers[i], err = dialPublisher(ctx, l.to, l.channel, i); err != nil {
			return d, err
		}
		defer publishers[i].conn.Close()
	}
	load := m.attach(measure.Load{
		Workers: l.publishers, Warmup: l.warmup, Duration: l.duration,
		Do: func(_ context.Context, w int) error { return publishers[w].publish() },
	})
	begin := load.Begin
	load.Begin = func() {
		begin()
		begun.Store(time.Now().UnixNano())
		if l.begun != nil {
			l.begun()
		}
	}
	if l.mayLag {
		interval := time.Duration(float64(l.publishers) / l.rate * float64(time.Second))
		load.Do = func(_ context.Context, w int) error { return publishers[w].publishAfter(interval) }
	}
	if l.rate > 0 && !l.mayLag {
		d.published, err = measure.Open(ctx, load, l.rate)
	} else {
		d.published, err = measure.Closed(ctx, load)
	}
	if err != nil {
		return d, err
	}
	for _, p := range publishers {
		d.messages += p.sent
	}
	d.delivery = measure.NewLatency()
	for _, s := range subscribers {
		if err := s.await(ctx, d.messages); err != nil {
			return d, err
		}
		s.conn.Close()
	}
	receiving.Wait()
	for _, s := range subscribers {
		d.delivery.Merge(s.delivery)
	}
	return d, nil
}

// publisher is one connection that sends PUBLISH and reads the number of receivers.
type publisher struct {
	conn   net.Conn
	in     *bufio.Reader
	number int
	sent   int64
	due    time.Time // of the next message, for publishAfter
	out    []byte
	prefix []byte
}

func dialPublisher(ctx context.Context, addr, channel string, number int) (*publisher, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	prefix := appendBulk([]byte("*3\r\n$7\r\nPUBLISH\r\n"), channel)
	return &publisher{conn: conn, in: bufio.NewReader(conn), number: number, prefix: fmt.Appendf(prefix, "$%d\r\n", messageSize)}, nil
}

// publishAfter publishes so long after the last message was due, or at once if that is past:
// what is late is not made up for.
func (p *publisher) publishAfter(interval time.Duration) error {
	if ahead := time.Until(p.due); ahead > 0 {
		time.Sleep(ahead)
	}
	p.due = p.due.Add(interval)
	if behind := time.Now().Add(-10 * interval); p.due.Before(behind) {
		p.due = behind
	}
	return p.publish()
}

// publish sends a message: time, publisher and number, padded with dots.
func (p *publisher) publish() error {
	if err := p.conn.SetDeadline(time.Now().Add(respTimeout)); err != nil {
		return err
	}
	p.out = append(p.out[:0], p.prefix...)
	from := len(p.out)
	p.out = strconv.AppendInt(p.out, time.Now().UnixNano(), 10)
	p.out = strconv.AppendInt(append(p.out, ' '), int64(p.number), 10)
	p.out = append(strconv.AppendInt(append(p.out, ' '), p.sent, 10), ' ')
	for len(p.out) < from+messageSize {
		p.out = append(p.out, '.')
	}
	p.out = append(p.out, "\r\n"...)
	if _, err := p.conn.Write(p.out); err != nil {
		return err
	}
	line, err := p.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if line[0] != ':' {
		return fmt.Errorf("PUBLISH was answered with %q", line)
	}
	p.sent++
	return nil
}

// subscriber is one connection that has subscribed.
type subscriber struct {
	conn     net.Conn
	in       *bufio.Reader
	header   []byte // before each message
	next     []int64
	measured *atomic.Int64
	delivery *hdrhistogram.Histogram
	received atomic.Int64
	ended    chan struct{} // closed with err
	err      error
}

// subscribe returns when the subscription is confirmed.
func subscribe(ctx context.Context, addr, channel string, publishers int) (*subscriber, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &subscriber{conn: conn, in: bufio.NewReaderSize(conn, 1<<16), next: make([]int64, publishers), delivery: measure.NewLatency(), ended: make(chan struct{})}
	s.header = fmt.Appendf(appendBulk([]byte("*3\r\n$7\r\nmessage\r\n"), channel), "$%d\r\n", messageSize)
	confirmation := append(appendBulk([]byte("*3\r\n$9\r\nsubscribe\r\n"), channel), ":1\r\n"...)
	if err = conn.SetReadDeadline(time.Now().Add(respTimeout)); err == nil {
		_, err = conn.Write(appendBulk([]byte("*2\r\n$9\r\nSUBSCRIBE\r\n"), channel))
	}
	if err == nil {
		err = s.expect(confirmation)
	}
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("SUBSCRIBE: %w", err)
	}
	return s, nil
}

// expect reads bytes that must be those.
func (s *subscriber) expect(want []byte) error {
	got, err := s.in.Peek(len(want))
	if err != nil {
		line, _, _ := bytes.Cut(got, []byte("\r\n"))
		return fmt.Errorf("%w after %q", err, line)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the server sent %q, not %q", got, want)
	}
	_, err = s.in.Discard(len(want))
	return err
}

// receive reads messages until the connection is closed or something is wrong.
func (s *subscriber) receive() {
	defer close(s.ended)
	for {
		if s.err = s.expect(s.header); s.err != nil {
			return
		}
		message, err := s.in.Peek(messageSize + 2)
		if err == nil {
			err = s.note(string(message[:messageSize]))
		}
		if err == nil {
			_, err = s.in.Discard(messageSize + 2)
		}
		if s.err = err; err != nil {
			return
		}
		s.received.Add(1)
	}
}

// note checks a message and takes its time.
func (s *subscriber) note(message string) error {
	now := time.Now().UnixNano()
	fields := strings.SplitN(message, " ", 4)
	if len(fields) != 4 || len(fields[0]) != clockDigits {
		return fmt.Errorf("%q is not a message of ours", message)
	}
	at, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return err
	}
	from, err := strconv.Atoi(fields[1])
	if err != nil || from < 0 || from >= len(s.next) {
		return fmt.Errorf("%q is from no publisher", message)
	}
	n, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || n != s.next[from] {
		return fmt.Errorf("message %s of publisher %d came, and %d was due", fields[2], from, s.next[from])
	}
	s.next[from]++
	if begun := s.measured.Load(); begun != 0 && at >= begun {
		return s.delivery.RecordValue(min(max(now-at, 1000), int64(2*time.Minute)))
	}
	return nil
}

// await waits until all messages that were published have arrived.
func (s *subscriber) await(ctx context.Context, messages int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("they did not come"))
	defer cancel()
	for s.received.Load() < messages {
		select {
		case <-s.ended:
			return fmt.Errorf("a subscriber received %d of %d messages: %w", s.received.Load(), messages, s.err)
		case <-ctx.Done():
			return fmt.Errorf("a subscriber received %d of %d messages: %w", s.received.Load(), messages, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// inMilliseconds is a percentile of a histogram of nanoseconds.
func inMilliseconds(h *hdrhistogram.Histogram, percentile float64) float64 {
	return float64(h.ValueAtPercentile(percentile)) / 1e6
}
