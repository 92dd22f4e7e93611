package pipeline

// Large is the size in bytes from which a value is kept by reference instead of
// being copied. Below it the copy is cheaper than a segment of its own.
const Large = 4 << 10

// Output is what is to be written to a connection, in order. The zero value is
// empty. It must not be copied once it holds something, nor be used by two
// goroutines at once.
type Output struct {
	text     []byte   // everything that was copied
	inserts  []insert // the large values between the text
	sentText int      // bytes of text that were written
	sentPart int      // bytes of inserts[0] that were written
	size     int      // bytes not written yet
	values   Values   // of inserts
}

// insert is a value that stands before text[at:].
type insert struct {
	at    int
	value []byte
}

// Len returns the number of bytes that are not written yet.
func (o *Output) Len() int { return o.size }

// unwritten returns the memory of what is in o, of which nothing was written yet:
// each value once, however often it is to be written.
func (o *Output) unwritten() int { return len(o.text) + o.values.bytes }

// Held returns the memory that o keeps: its buffer, and each value once,
// however often it is to be written.
func (o *Output) Held() int { return cap(o.text) + o.values.bytes }

// Append adds a copy of reply.
func (o *Output) Append(reply []byte) {
	o.text = append(o.text, reply...)
	o.size += len(reply)
}

// AppendOwned adds reply, which the caller gives away: a large one is kept and
// not copied.
func (o *Output) AppendOwned(reply []byte) {
	if len(reply) < Large {
		o.Append(reply)
		return
	}
	o.Insert(len(o.text), reply)
	o.size += len(reply)
}

// appendReply adds text, which the caller gives away, with the values that were
// inserted into it, and empties values.
func (o *Output) appendReply(text []byte, values *Output) {
	if len(values.inserts) == 0 {
		o.AppendOwned(text)
		return
	}
	values.text, values.size = text, len(text)
	for _, v := range values.inserts {
		values.size += len(v.value)
	}
	o.Move(values)
}

// encode adds the reply of r.
func (o *Output) encode(r Reply) {
	start, inserts := len(o.text), len(o.inserts)
	o.text = r.Encode(o.text, o)
	// A reply that is not wanted is cut off, and its values with it.
	for n := len(o.inserts); n > inserts && o.inserts[n-1].at > len(o.text); n-- {
		o.values.Drop(o.inserts[n-1].value)
		o.inserts[n-1] = insert{}
		o.inserts = o.inserts[:n-1]
	}
	o.size += len(o.text) - start
	for _, v := range o.inserts[inserts:] {
		o.size += len(v.value)
	}
}

// Insert has value written where the text that Encode appends to has the length
// at. The value is kept, not copied, and must not be modified any more.
func (o *Output) Insert(at int, value []byte) {
	o.inserts = append(o.inserts, insert{at, value})
	o.values.Hold(value)
}

// Move adds everything of from, of which nothing was written yet, and empties it.
func (o *Output) Move(from *Output) {
	if from.size == 0 {
		return
	}
	if o.size == 0 && len(from.inserts) > 0 {
		o.Reset()
		*o, *from = *from, *o
		from.empty(keepSmall)
		return
	}
	base := len(o.text)
	o.text = append(o.text, from.text...)
	for _, v := range from.inserts {
		o.Insert(base+v.at, v.value)
	}
	o.size += from.size
	from.empty(keepSmall)
}

// Keep takes over the rest of from, which may be written in part, and empties
// it. o must be empty. A small rest is copied, so that from keeps its buffer.
func (o *Output) Keep(from *Output) {
	if rest := from.text[from.sentText:]; len(from.inserts) == 0 && len(rest) < cap(from.text)/2 {
		o.text = append([]byte(nil), rest...)
		o.size = len(rest)
		from.Reset()
		return
	}
	*o = *from
	*from = Output{}
}

// Segments appends to dst the next segments to be written, at most limit bytes
// and as many segments as dst has room for. They are valid until o changes.
func (o *Output) Segments(dst [][]byte, limit int) [][]byte {
	text, part := o.sentText, o.sentPart
	add := func(b []byte) {
		if b = b[:min(len(b), limit)]; len(b) > 0 && len(dst) < cap(dst) {
			dst = append(dst, b)
			limit -= len(b)
		}
	}
	for _, v := range o.inserts {
		if limit == 0 || len(dst) == cap(dst) {
			return dst
		}
		add(o.text[text:v.at])
		add(v.value[part:])
		text, part = v.at, 0
	}
	add(o.text[text:])
	return dst
}

// Bytes returns a copy of everything that is not written yet.
func (o *Output) Bytes() []byte {
	all := make([]byte, 0, o.size)
	text, part := o.sentText, o.sentPart
	for _, v := range o.inserts {
		all = append(all, o.text[text:v.at]...)
		all = append(all, v.value[part:]...)
		text, part = v.at, 0
	}
	return append(all, o.text[text:]...)
}

// Discard takes the first n bytes, which were written, away.
func (o *Output) Discard(n int) {
	if n == o.size {
		o.Reset()
		return
	}
	o.size -= n
	written := 0
	for written < len(o.inserts) {
		v := &o.inserts[written]
		n -= o.discardText(min(n, v.at-o.sentText))
		part := min(n, len(v.value)-o.sentPart)
		if o.sentText < v.at || o.sentPart+part < len(v.value) {
			o.sentPart += part
			n = 0
			break
		}
		n -= part
		o.sentPart = 0
		o.values.Drop(v.value)
		*v = insert{}
		written++
	}
	o.inserts = o.inserts[written:]
	o.discardText(n)
}

func (o *Output) discardText(n int) int {
	o.sentText += n
	return n
}

// How large the buffer of an empty Output may stay: of one that gathers for a
// write, and of the many that belong to a connection or to a request.
const (
	keepText  = 256 << 10
	keepSmall = 4 << 10
)

// Reset empties o. A buffer that is not large is kept for what comes next.
func (o *Output) Reset() { o.empty(keepText) }

func (o *Output) empty(keep int) {
	text, inserts := o.text[:0], o.inserts
	if cap(text) > keep {
		text = nil
	}
	if cap(inserts) > keepInserts {
		inserts = nil
	}
	clear(inserts)
	*o = Output{text: text, inserts: inserts[:0], values: o.values.cleared()}
}

// keepInserts is the same for the list of values.
const keepInserts = 1024

// Release empties o and gives all of its memory back.
func (o *Output) Release() { *o = Output{} }
