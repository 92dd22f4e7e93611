package statement

import (
	"fmt"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The verbs of a load that one caller makes for all.
var (
	// Claim reads Key, and tries to win the lease to load it, for Lease, if it has
	// no live value. Results: Status (OK if there is a live value, WrongType if that is
	// no string, else Miss), Result, Claim. It answers Unleased where another transaction holds the row
	// for longer than a write waits in batches.
	Claim = define(Spec{
		Verb: verb.Verb{Name: "claim", Writes: true, Quiet: true}, Form: claim, Check: checkLease,
		Locked: func(c *verb.Call) { c.Status, c.Claim.State = verb.Miss, verb.Unleased },
	})
	// Refresh wins the lease of a live entry whose version is Token, for Lease, if
	// nobody has it. Results: Status (NotStored if not).
	Refresh = define(Spec{Verb: verb.Verb{Name: "refresh", Writes: true, Quiet: true}, Form: refresh, Check: checkLease})
	// Fulfil stores Value, or that there is none (Absent), if the row still has
	// the version Token. With Tags it takes the Snapshot of the claim, too. Results:
	// Status (NotStored if not, if another transaction holds the row, if a tag was
	// invalidated since the claim, or, with Tags, if the partition has moved since),
	// Result.Version.
	Fulfil = define(Spec{
		Verb: verb.Verb{Name: "fulfil", Writes: true, Room: true}, Pick: pickFulfil, Check: checkFulfil,
		Locked: func(c *verb.Call) { c.Status = verb.NotStored },
	})
	// Release ends the lease whose token is Token. Results: Status (NotStored if
	// it was not the caller's any more).
	Release = define(Spec{Verb: verb.Verb{Name: "release", Writes: true, Quiet: true}, Form: release})
)

func checkLease(c *verb.Call) error {
	if c.Lease <= 0 {
		return fmt.Errorf("%w: a lease of %v is not positive", fault.ErrInvalidTTL, c.Lease)
	}
	return nil
}

func checkFulfil(c *verb.Call) error {
	if c.Stale < 0 {
		return fmt.Errorf("%w: a value cannot be served for %v after it expired", fault.ErrInvalidTTL, c.Stale)
	}
	if c.Absent && c.Expiry.Kind != verb.In && c.Expiry.Kind != verb.At {
		return fmt.Errorf("%w: say for how long the key is known to be absent", fault.ErrInvalidTTL)
	}
	if len(c.Tags) > 0 && c.Snapshot == "" {
		return fmt.Errorf("howdah: an entry with tags is stored with the snapshot of its claim")
	}
	return verb.CheckTags(c.Tags)
}

func pickFulfil(c *verb.Call, _ *Table) *Form {
	if len(c.Tags) > 0 {
		return fulfilTagged
	}
	return fulfil
}

// The files of these forms say what each column is.
var (
	claim = form(Form{
		File: "claim", Near: true, Params: claimParams, Row: readClaim, End: endClaim,
		Start: startAs(verb.Miss),
	})
	refresh = form(Form{
		File: "refresh", Unused: true, Start: startAs(verb.NotStored),
		Row: writeRow(func(_ *Request, c *verb.Call, v [][]byte) {
			c.Status, c.Claim.Snapshot = verb.OK, string(v[1])
		}),
		Params: func(r *Request) [][]byte { return append(r.keyColumns(), r.tokens(), r.leases()) },
	})
	fulfil = form(Form{
		File: "fulfil", Unused: true, Start: startAs(verb.NotStored), Row: writeRow(readVersion),
		Params: (*Request).loadedColumns,
	})
	fulfilTagged = form(Form{
		File: "fulfil_tagged", Unused: true, Start: startAs(verb.NotStored), Row: writeRow(readVersion),
		Params: func(r *Request) [][]byte {
			return append(append(r.loadedColumns(), r.tagColumns()...), r.snapshots()...)
		},
	})
	release = form(Form{
		File: "release", Unused: true, Start: startAs(verb.NotStored),
		Row:    writeRow(func(_ *Request, c *verb.Call, _ [][]byte) { c.Status = verb.OK }),
		Params: func(r *Request) [][]byte { return append(r.keyColumns(), r.tokens()) },
	})
)

// knownAbsent is stale_seconds of a row that says that there is no value.
const knownAbsent = -1

// staleSeconds is how long the value may be served after it expired: whole
// seconds, up to 68 years.
func staleSeconds(c *verb.Call) int32 {
	if c.Absent {
		return knownAbsent
	}
	return int32(min((c.Stale+time.Second-1)/time.Second, 1<<31-1))
}

// loadedColumns are those of values that were loaded under leases.
func (r *Request) loadedColumns() [][]byte {
	stale := pgwire.AppendArray(nil, pgwire.Int4, len(r.Rows), false)
	for _, row := range r.Rows {
		stale = pgwire.AppendInt4(stale, staleSeconds(row.Call))
	}
	return append(r.entryColumns(), r.tokens(), stale)
}

func (r *Request) tokens() []byte {
	dst := pgwire.AppendArray(nil, pgwire.Int8, len(r.Rows), false)
	for _, row := range r.Rows {
		dst = pgwire.AppendInt8(dst, row.Call.Token)
	}
	return dst
}

// leases are in microseconds.
func (r *Request) leases() []byte {
	dst := pgwire.AppendArray(nil, pgwire.Int8, len(r.Rows), false)
	for _, row := range r.Rows {
		dst = pgwire.AppendInt8(dst, max(1, row.Call.Lease.Microseconds()))
	}
	return dst
}

func claimParams(r *Request) [][]byte {
	return append(r.keyColumns(), r.leases(), boolValue(r.Table.Full))
}

// readClaim reads a row of claim.sql. The first one has no hash, and says when the
// server was started.
func readClaim(r *Request, v [][]byte) {
	if v[0] == nil {
		for _, c := range r.Calls {
			c.ServerStart = pgwire.ReadInt8(v[8]) + pgwire.Epoch
			c.Claim.Snapshot = string(v[10])
		}
		return
	}
	for _, row := range r.find(pgwire.ReadInt8(v[0])) {
		c := row.Call
		if !keyEqual(row, v[1]) {
			c.Claim.State = verb.Unleased // another key, which is live or leased, has the hash
			continue
		}
		readClaimed(c, v)
	}
}

// readClaimed reads the row of the key itself.
func readClaimed(c *verb.Call, v [][]byte) {
	expiresAt, leasedUntil, now := pgwire.ReadInt8(v[5]), pgwire.ReadInt8(v[6]), pgwire.ReadInt8(v[8])
	stale := int64(pgwire.ReadInt4(v[7]))
	c.Claim.Won = pgwire.ReadBool(v[9])
	c.Claim.Left = remains(leasedUntil, now)
	live := expiresAt > now
	if live || stale > 0 || c.Claim.Won { // the token is not for those who have lost
		c.Result.Version = pgwire.ReadInt8(v[3])
	}
	switch {
	case live, stale > 0 && now-expiresAt < stale*1e6:
		c.Found(v[2])
		c.Result.Kind = int16(pgwire.ReadInt4(v[4]))
		SetExpiry(&c.Result, expiresAt, now)
		c.Claim.State = verb.Hit
		if !live {
			c.Status, c.Claim.State = verb.Miss, verb.Stale
			c.Claim.Expired, c.Result.TTL = remains(now, expiresAt), 0
		}
		c.CheckKind(&c.Result)
	case c.Claim.Won:
		c.Claim.State = verb.Won
	case stale == knownAbsent:
		c.Claim.State = verb.KnownAbsent
	default:
		c.Claim.State = verb.Lost
	}
}

// remains is the time from now until then; 0 if that is past.
func remains(then, now int64) time.Duration {
	if then <= now {
		return 0
	}
	return time.Duration(min(then-now, 1<<53)) * time.Microsecond
}

// endClaim deals with the keys without an answer: a full cache grants no lease;
// otherwise somebody else's row appeared after the statement had looked.
func endClaim(r *Request) {
	for _, c := range r.Calls {
		switch {
		case c.Claim.State != verb.NoClaim:
		case r.Table.Full:
			c.Claim.State = verb.Unleased
		default:
			c.Repeat = true
		}
	}
}
