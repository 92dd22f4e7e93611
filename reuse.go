package howdah

import "sync"

// calls that ended well, of the verbs that are called most.
var calls = sync.Pool{New: func() any { return new(Call) }}

// newCall takes a Call with a key for one use.
func newCall(key string) *Call {
	c := calls.Get().(*Call)
	c.Key = append(c.keep[:0], key...)
	c.keep = c.Key
	return c
}

// freeCall gives back a Call that nobody holds any more.
func freeCall(c *Call) {
	c.Verb, c.Value, c.Expiry = 0, nil, Expiry{}
	c.Status, c.Result, c.Err = 0, Entry{}, nil
	if cap(c.keep) > 256 {
		c.keep = nil
	}
	c.Key = nil
	calls.Put(c)
}
