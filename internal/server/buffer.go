package server

// inbound holds the bytes of a connection that the protocol has not taken yet:
// usually none, else the beginning of a request, or requests that wait for
// room among the pending replies.
type inbound struct {
	buf   []byte
	start int
}

// minRead is the least room offered to one read.
const minRead = 64 << 10

func (b *inbound) bytes() []byte { return b.buf[b.start:] }
func (b *inbound) len() int      { return len(b.buf) - b.start }

// room returns free space behind the kept bytes for the next read, so that a
// large request is read into place. It grows by doubling, the bytes of a request
// are copied a constant number of times, however it is cut up; but not beyond
// what the request still needs at least.
func (b *inbound) room(need int) []byte {
	if cap(b.buf)-len(b.buf) < minRead {
		if b.start >= minRead && b.start >= len(b.buf)/2 {
			b.buf = b.buf[:copy(b.buf, b.bytes())]
		} else {
			grown := make([]byte, b.len(), b.len()+min(b.len(), need)+minRead)
			copy(grown, b.bytes())
			b.buf = grown
		}
		b.start = 0
	}
	return b.buf[len(b.buf):cap(b.buf)]
}

// extend adds n bytes that were read into room.
func (b *inbound) extend(n int) { b.buf = b.buf[:len(b.buf)+n] }

// append adds a copy of data to a request that needs so many more bytes.
func (b *inbound) append(data []byte, need int) {
	for len(data) > 0 {
		n := copy(b.room(need), data)
		b.extend(n)
		data = data[n:]
	}
}

// discard takes n bytes from the front; an empty buffer gives its memory back,
// so that idle connections hold none.
func (b *inbound) discard(n int) {
	if b.start += n; b.start == len(b.buf) {
		*b = inbound{}
	}
}
