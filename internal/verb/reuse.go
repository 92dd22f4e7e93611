package verb

import (
	"sync"

	"github.com/howdah/howdah/internal/observe"
)

// calls that ended well, of the verbs that are called most.
var calls = sync.Pool{New: func() any { return new(Call) }}

// New takes a Call with a key for one use; see Free.
func New(verb *Verb, key string) *Call {
	c := calls.Get().(*Call)
	c.Verb = verb
	c.Key = append(c.keep[:0], key...)
	c.keep = c.Key
	return c
}

// Free gives back a Call that no flight holds any more and whose arguments were
// Key, Value and Expiry only.
func (c *Call) Free() {
	c.Verb, c.Value, c.Expiry, c.Fresh, c.Recall, c.AnyKind = nil, nil, Expiry{}, false, false, false
	c.Landed, c.Part, c.Traces = nil, false, nil
	c.Memory, c.Tokens, c.Stored, c.Writer, c.Caller = nil, nil, nil, nil, observe.Caller{}
	c.Reset()
	c.Err = nil
	if cap(c.keep) > 256 {
		c.keep = nil
	}
	c.Key = nil
	calls.Put(c)
}
