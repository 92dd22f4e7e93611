package statement

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The verbs that count.
var (
	// Increment adds Delta to a decimal integer, beginning at zero with Expiry;
	// an existing entry keeps its expiry. Results: Status (NotInteger,
	// Overflow, WrongType), Int, Result.Version.
	Increment = define(Spec{Verb: verb.Verb{Name: "increment", Writes: true, Room: true}, Form: increment})
	// IncrementFloat adds DeltaFloat to a decimal number, beginning at zero. An
	// existing entry keeps its expiry. Results: Status (NotFloat, WrongType), Result.Value
	// (the new number as text), Result.Version. A DeltaFloat that is not a
	// decimal number, NaN and infinities included, is ErrNotFloat.
	IncrementFloat = define(Spec{Verb: verb.Verb{Name: "increment_float", Writes: true, Room: true}, Form: incrementFloat, Check: checkDecimal})
)

// decimal is what IncrementFloat adds: no NaN and no infinity, though PostgreSQL
// calculates with them, and nothing that it cannot.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})?$`)

// maxDecimal bounds the digits; a long double has fewer.
const maxDecimal = 5000

func checkDecimal(c *verb.Call) error {
	if len(c.DeltaFloat) > maxDecimal || !decimal.MatchString(c.DeltaFloat) {
		return fmt.Errorf("%w: the delta must be a decimal number, such as -1.5 or 2e3", fault.ErrNotFloat)
	}
	return nil
}

var (
	increment = form(Form{
		File: "increment", Start: startAs(verb.Miss), Row: writeRow(readIncrement),
		Params: func(r *Request) [][]byte {
			params := r.keyColumns()
			deltas := pgwire.AppendArray(nil, pgwire.Int8, len(r.Rows), false)
			for _, row := range r.Rows {
				deltas = pgwire.AppendInt8(deltas, row.Call.Delta)
			}
			return append(params, deltas, r.expiries())
		},
	})
	incrementFloat = form(Form{
		File: "increment_float", Start: startAs(verb.Miss),
		Params: func(r *Request) [][]byte {
			params := r.keyColumns()
			deltas := pgwire.AppendArray(nil, pgwire.Text, len(r.Rows), false)
			for _, row := range r.Rows {
				deltas = pgwire.AppendBytes(deltas, []byte(row.Call.DeltaFloat))
			}
			return append(params, deltas, r.expiries())
		},
		Row: writeRow(func(_ *Request, c *verb.Call, v [][]byte) {
			switch {
			case v[2] != nil:
				c.Found(v[1])
				c.Result.Version = pgwire.ReadInt8(v[2])
			case isOther(v[3]):
				c.Status = verb.WrongType
			default:
				c.Status = verb.NotFloat
			}
		}),
	})
)

// isOther reports whether a kind is not that of a string; NULL: there was no entry.
func isOther(kind []byte) bool { return kind != nil && pgwire.ReadInt4(kind) != 0 }

// readIncrement reads hash, new value, version, and, where nothing was written,
// the value that was in the way, and its kind.
func readIncrement(r *Request, c *verb.Call, v [][]byte) {
	if v[2] != nil {
		c.Status = verb.OK
		c.Int, _ = strconv.ParseInt(string(v[1]), 10, 64)
		c.Result.Version = pgwire.ReadInt8(v[2])
		return
	}
	switch {
	case isOther(v[4]):
		c.Status = verb.WrongType
	case v[3] == nil && r.Table.Sync():
		c.Status = verb.Collision
	case isInteger(v[3]):
		c.Status = verb.Overflow
	default:
		c.Status = verb.NotInteger
	}
}

// isInteger reports whether a value is a decimal integer of 64 bits as Redis
// reads one: no spaces, no plus, no leading zeros.
func isInteger(v []byte) bool {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return err == nil && bytes.Equal(strconv.AppendInt(nil, n, 10), v)
}
