package observe

import "time"

// Connection is one connection of a Redis client.
type Connection struct {
	ID int64
	Client
	Age, Idle time.Duration
	Database  int
	Command   string // the last one, "" if none came
	Waits     bool   // for a key
	Listens   bool   // it has subscriptions
	Tracks    bool   // CLIENT TRACKING is on
}

// UnknownCommand is how often clients sent a command that Howdah lacks. Libraries are
// those that sent it, the most often first; at most so many are kept that their counts may
// add up to less.
type UnknownCommand struct {
	Name      string
	Count     uint64
	Libraries []LibraryCount
}

// LibraryCount is how often something came from a client library, "" if the client has
// not named it.
type LibraryCount struct {
	Library string
	Count   uint64
}
