package coherence

import (
	"fmt"
	"strconv"
	"strings"
)

// All, in place of a key, is every key of a cache.
const All = -1

// Absent is the value of a key that does not exist.
const Absent = 0

// Write is what a process knows of one write of one key. Times are nanoseconds
// of one monotonic clock of the machine, and microseconds of its calendar.
type Write struct {
	Value   int64 // what it stored: no two writes of a run store the same; Absent: it deletes
	Process int   // whose DB it went through; 0: past the library, in plain SQL
	Cache   int   // number of the cache
	Key     int   // number of the key, or All
	Tag     int64 // what its transaction wrote into the setting TagSetting; 0: nothing
	Sent    int64
	Acked   int64 // 0: no acknowledgement came; it may have been applied or not

	SentReal, AckedReal int64 // by the calendar; AckedReal is 0 like Acked
}

// Source says where an answer came from.
type Source uint8

// The sources of an answer.
const (
	Unknown  Source = iota // memory or PostgreSQL
	Memory                 // a hit
	Database               // PostgreSQL, asked after the read had begun
)

// Read is one answer.
type Read struct {
	Process int
	Key     int
	Value   int64 // or Absent
	Begin   int64 // just before the call
	End     int64 // just after it
	Source  Source

	// Of a client that keeps copies itself, and is told by a server when they change.
	Server int   // the process that serves it; 0: the read is not of such a client
	Told   int64 // by when writes were acknowledged of which the client has been told
	Fence  int64 // when a command was sent by the same connection whose reply came before Begin
}

// Change is one entry of the ledger.
type Change struct {
	Number   int64 // increases with the order in which a key changed
	Cache    int
	Key      int // or All
	Old, New int64
	Version  int64 // of the entry; 0 for a deletion
	Tag      int64
	At       int64 // microseconds of the calendar, while the transaction was open
}

// KeyName returns the key of a number.
func KeyName(key int) string { return fmt.Sprintf("key-%04d", key) }

func keyNumber(name string) (int, error) {
	digits, found := strings.CutPrefix(name, "key-")
	if !found {
		return 0, fmt.Errorf("%q is not a key of a run", name)
	}
	return strconv.Atoi(digits)
}

// ParseValue reads what a key held: the decimal number of its write.
func ParseValue(value []byte) (int64, error) { return strconv.ParseInt(string(value), 10, 64) }

// FormatValue is what the write of a number stores.
func FormatValue(value int64) []byte { return strconv.AppendInt(nil, value, 10) }
