package pubsub

// Kind is what the name of a subscription means.
type Kind uint8

// The kinds. A shard channel and a channel of the same name have nothing to do with each
// other, and patterns do not match shard channels.
const (
	Channel Kind = iota
	Pattern
	Shard
	Kinds // how many there are
)

// A Message is on its way to the receivers of one subscription's name. It is valid until
// Deliver returns; what is kept of it must be copied.
type Message struct {
	Kind    Kind   // of the subscription
	Pattern string // of the subscription, if Kind is Pattern
	Channel []byte
	Payload []byte

	// Encoded is for receivers, which agree upon the indexes: what one of them has made
	// of the message serves the others. It is empty for the first receiver of each name.
	// A slice whose capacity is less than [Keep] is overwritten by later messages; a
	// larger one is not, and may be kept.
	Encoded [2][]byte

	copied           bool
	channel, payload string
}

// Copy returns the channel and the payload for receivers that keep them. All receivers of a
// message share one copy, however many keep it.
func (m *Message) Copy() (channel, payload string) {
	if !m.copied {
		m.copied, m.channel, m.payload = true, string(m.Channel), string(m.Payload)
	}
	return m.channel, m.payload
}

// reset makes the message one of another publication.
func (m *Message) reset(channel, payload []byte) {
	m.turn(0, "")
	m.Channel, m.Payload = channel, payload
	m.copied, m.channel, m.payload = false, "", ""
}

// Keep is the capacity, in bytes, from which on a slice in [Message.Encoded] may be kept.
const Keep = 4 << 10

// turn makes the message one for the receivers of another name.
func (m *Message) turn(kind Kind, pattern string) {
	m.Kind, m.Pattern = kind, pattern
	for i, encoded := range m.Encoded {
		if cap(encoded) >= Keep {
			m.Encoded[i] = nil
		} else {
			m.Encoded[i] = encoded[:0]
		}
	}
}

// A Receiver takes messages. Deliver is called by any publisher, by several at the same
// time, and must not block. It may still be called for a publication that was under
// way when the subscription ended: a receiver to whom that matters must look.
type Receiver interface{ Deliver(*Message) }
