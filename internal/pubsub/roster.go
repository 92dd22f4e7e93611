package pubsub

import "sync/atomic"

// member is an element of a roster.
type member interface {
	comparable
	ended() bool // it has been removed
}

// roster is a list that is read without a lock while one goroutine at a time changes it.
// Adding and removing take constant time on average.
type roster[T member] struct {
	list atomic.Pointer[[]T] // members, and some that have ended
	size int                 // members
}

// all returns the members, and some that have ended. The caller must not change it.
func (r *roster[T]) all() []T {
	if list := r.list.Load(); list != nil {
		return *list
	}
	return nil
}

// add appends a member. Readers of the list as it was do not look beyond its end, so
// the two may share memory.
func (r *roster[T]) add(m T) {
	list := append(r.all(), m)
	r.list.Store(&list)
	r.size++
}

// remove takes note that a member has ended.
func (r *roster[T]) remove() {
	r.size--
	list := r.all()
	if len(list) <= 2*r.size {
		return
	}
	members := make([]T, 0, r.size)
	for _, m := range list {
		if !m.ended() {
			members = append(members, m)
		}
	}
	r.list.Store(&members)
}
