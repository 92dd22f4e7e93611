package tracking

import "sync"

// reads are the keys that a client which broadcasts is reading, and whose values get
// their place among its replies afterwards. Whether an invalidation of a key was sent in
// between is known then: another one must follow the value.
type reads struct {
	mu   sync.Mutex
	told map[string]bool
}

// Reads is called before such a read begins.
func (c *Client) Reads(key []byte) {
	r := &c.reads
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil {
		r.told = make(map[string]bool)
	}
	r.told[string(key)] = false
}

// HasRead is called when the value has its place, or when there is none. It reports
// whether an invalidation of the key was sent to the client since Reads.
func (c *Client) HasRead(key []byte) (told bool) {
	r := &c.reads
	r.mu.Lock()
	defer r.mu.Unlock()
	told = r.told[string(key)]
	delete(r.told, string(key))
	return told
}

// changed is called before invalidations of keys are sent to the client.
func (r *reads) changed(lists ...[]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, keys := range lists {
		for _, key := range keys {
			if _, reads := r.told[key]; reads {
				r.told[key] = true
			}
		}
	}
}

// changedAll is called before the client is told to drop everything.
func (r *reads) changedAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.told {
		r.told[key] = true
	}
}
