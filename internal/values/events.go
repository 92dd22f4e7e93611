package values

import "strings"

// Class is a set of classes of keyspace events, and of the channels that carry them:
// what the letters of the setting notify-keyspace-events say.
type Class uint32

// The two kinds of channels, and the classes in the order of their letters.
const (
	ByKey           Class = 1 << iota // K: __keyspace@<database>__:<key>, the message is the event
	ByEvent                           // E: __keyevent@<database>__:<event>, the message is the key
	GenericEvent                      // g: commands on keys of any kind
	StringEvent                       // $
	ListEvent                         // l
	SetEvent                          // s
	HashEvent                         // h
	SortedSetEvent                    // z
	ExpiredEvent                      // x: a key has expired and was removed
	EvictedEvent                      // e: a key was evicted
	StreamEvent                       // t: nothing here has this class
	ModuleEvent                       // d: nothing here has this class
	NewEvent                          // n: a key was created
	KeyMissEvent                      // m: a command asked for a key that is absent
	classLetters    = "KEg$lshzxetdnm"
	allEvents       = GenericEvent | StringEvent | ListEvent | SetEvent | HashEvent | SortedSetEvent | ExpiredEvent | EvictedEvent | StreamEvent | ModuleEvent
	classesOfEvents = ^(ByKey | ByEvent)
)

// ParseClasses reads the value of notify-keyspace-events. A stands for all classes but
// n and m. It reports false if a letter is none of Redis's.
func ParseClasses(text string) (c Class, ok bool) {
	for _, letter := range []byte(text) {
		switch at := strings.IndexByte(classLetters, letter); {
		case letter == 'A':
			c |= allEvents
		case at < 0:
			return 0, false
		default:
			c |= 1 << at
		}
	}
	return c, true
}

// String returns the value of notify-keyspace-events as CONFIG GET shows it. Redis leaves
// out n where A stands.
func (c Class) String() string {
	var letters []byte
	if c&allEvents == allEvents {
		letters = append(letters, 'A')
	} else {
		letters = c.appendLetters(letters, allEvents|NewEvent)
	}
	letters = c.appendLetters(letters, ByKey|ByEvent)
	return string(c.appendLetters(letters, KeyMissEvent))
}

// Letters returns a value of notify-keyspace-events that says the same in full.
func (c Class) Letters() string { return string(c.appendLetters(nil, ^Class(0))) }

func (c Class) appendLetters(dst []byte, of Class) []byte {
	for i := range len(classLetters) {
		if c&of&(1<<i) != 0 {
			dst = append(dst, classLetters[i])
		}
	}
	return dst
}

// Active returns c, or 0 if no event is published by it: for lack of channels, or of
// classes.
func (c Class) Active() Class {
	if c&(ByKey|ByEvent) == 0 || c&classesOfEvents == 0 {
		return 0
	}
	return c
}

// Event is what has happened to a key.
type Event struct {
	Class Class
	Name  string // "set", "expired" ...
	Key   string
}

// notify names an event of a key. If the command has created the key, that comes first.
func (c *Call) notify(class Class, event string, key []byte) {
	if c.Notify == nil {
		return
	}
	c.notifyNew(c.Keys.Entry(key), key)
	c.Notify(class, event, key)
}

// notifyNew names that the command has created a key, once.
func (c *Call) notifyNew(e *Entry, key []byte) {
	if c.Notify != nil && e.created {
		e.created = false
		c.Notify(NewEvent, "new", key)
	}
}

// NotifyExpiredFields names that fields of a hash have expired, and that the hash is removed if
// those were all. The entry counts as changed, so that it is stored without them and the
// event comes once. It is for commands that may write. notify is [Call.Notify].
func (e *Entry) NotifyExpiredFields(key []byte, notify func(class Class, event string, key []byte)) {
	if notify == nil || !e.fieldsExpired {
		return
	}
	e.fieldsExpired, e.Changed = false, true
	notify(HashEvent, "hexpired", key)
	if e.Value == nil {
		notify(GenericEvent, "del", key)
	}
}

// notifyRest is notify for a command that takes something out of a key: the key is
// removed with the last of it.
func (c *Call) notifyRest(e *Entry, class Class, event string, key []byte) {
	c.notify(class, event, key)
	if e.Value == nil {
		c.notify(GenericEvent, "del", key)
	}
}

// notifyStored is notify for a command that stores a result under a key. An empty result
// removes what was there.
func (c *Call) notifyStored(existed bool, e *Entry, class Class, event string, key []byte) {
	switch {
	case e.Value != nil:
		c.notify(class, event, key)
	case existed:
		c.notify(GenericEvent, "del", key)
	}
}

// notifyExpiry names what EXPIRE and its relatives did to a key that exists.
func (c *Call) notifyExpiry(e *Entry, at int64, key []byte) {
	switch {
	case e.Value == nil:
		c.notify(GenericEvent, "del", key)
	case at != 0:
		c.notify(GenericEvent, "expire", key)
	}
}

// miss names a key that a command has asked for in vain. Commands that only read do so
// for each key that they ask for.
func (c *Call) miss(e *Entry, key []byte) {
	if c.Notify != nil && e.Value == nil {
		c.Notify(KeyMissEvent, "keymiss", key)
	}
}
