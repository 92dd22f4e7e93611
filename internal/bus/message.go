package bus

// Kind says what a message is for.
type Kind uint8

// The kinds of messages. Their numbers are in the database.
const (
	Published      Kind = 1 // to the subscribers of a channel and of the patterns that it matches
	ShardPublished Kind = 2 // to the subscribers of a shard channel
	Ready          Kind = 3 // a key is not empty any more; clients may wait for it
	Changed        Kind = 4 // a setting that every process obeys has changed

	kindsEnd Kind = 5
)

// kinds is a set of them, as in howdah_internal.server.
type kinds int32

func (k Kind) bit() kinds { return 1 << k }

func (s kinds) has(k Kind) bool { return s&k.bit() != 0 }

// Message is what one process sends and others receive.
type Message struct {
	Kind    Kind
	Channel []byte
	Payload []byte
}

// Clone is the same message in memory of its own.
func (m Message) Clone() Message {
	both := make([]byte, len(m.Channel)+len(m.Payload))
	n := copy(both, m.Channel)
	copy(both[n:], m.Payload)
	return Message{m.Kind, both[:n:n], both[n:]}
}

// overhead is what a message needs in a row besides its bytes, about.
const overhead = 16

func (m Message) size() int { return len(m.Channel) + len(m.Payload) + overhead }
