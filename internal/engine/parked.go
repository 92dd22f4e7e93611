package engine

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

// Keeper is a transaction whose end this program sees. What its writes park is
// released then.
type Keeper interface {
	Keep(*near.Parking)
}

// parked is what a write in a transaction has parked in memory: nothing is
// served from there until the transaction has ended, for its own process must
// read what it wrote. It is also the request that asks for the number of the
// transaction where nobody else sees its end. nil: nothing is parked.
type parked struct {
	keeper   Keeper
	parkings []*near.Parking
	xid      uint64
	refusal  error
}

// park parks the keys of the calls that write.
func (e *Engine) park(tx pgx.Tx, calls []*verb.Call) *parked {
	var hashes []uint64
	for _, c := range calls {
		if c.Verb.Changes() {
			hashes = append(hashes, c.Changed()...)
		}
	}
	return e.parkKeys(tx, hashes)
}

func (e *Engine) parkKeys(tx pgx.Tx, hashes []uint64) *parked {
	m := e.memory.Load()
	if m == nil || len(hashes) == 0 {
		return nil
	}
	p := newParked(tx)
	for _, hash := range hashes {
		p.parkings = append(p.parkings, m.Park(int64(hash)))
	}
	return p
}

func newParked(tx pgx.Tx) *parked {
	keeper, _ := tx.(Keeper)
	return &parked{keeper: keeper}
}

// asks reports whether the number of the transaction is needed.
func (p *parked) asks() bool { return p != nil && p.keeper == nil }

// settle is called when the writes are done, in the transaction. One that failed
// has ended the transaction, or its savepoint.
func (p *parked) settle(err error) {
	if p == nil {
		return
	}
	err = cmp.Or(err, p.refusal)
	for _, parking := range p.parkings {
		switch {
		case err != nil:
			parking.Release()
		case p.keeper != nil:
			p.keeper.Keep(parking)
		default:
			parking.Until(p.xid)
		}
	}
}

// overtake sees to it that no later hit is older than what was read in a
// transaction.
func (e *Engine) overtake(calls []*verb.Call) {
	m := e.memory.Load()
	if m == nil {
		return
	}
	for _, c := range calls {
		if !c.Verb.Changes() {
			bump(m, c.Op.Keys)
		}
	}
}

var transactionID = pgwire.Statement{Name: "howdah_transaction_id", SQL: schema.Query("transaction_id")}

// Statement implements pgwire.Request.
func (p *parked) Statement() pgwire.Statement { return transactionID }

// Params implements pgwire.Request.
func (p *parked) Params() [][]byte { return nil }

// Begin implements pgwire.Request.
func (p *parked) Begin() { p.refusal = nil }

// Row implements pgwire.Request.
func (p *parked) Row(values [][]byte) { p.xid = uint64(pgwire.ReadInt8(values[0])) }

// End implements pgwire.Request.
func (p *parked) End() {}

// SetError implements pgwire.Request.
func (p *parked) SetError(refusal error) { p.refusal = refusal }

// WriteIn runs a write of keys of this cache in a transaction, by a statement
// that is not shared. fn's error is returned.
func (e *Engine) WriteIn(ctx context.Context, tx pgx.Tx, fn func() error, hashes ...int64) error {
	keys := make([]uint64, len(hashes))
	for i, hash := range hashes {
		keys[i] = uint64(hash)
	}
	return e.parkKeys(tx, keys).run(ctx, tx, fn)
}

// WriteAllIn is WriteIn for a write of keys that are not known.
func (e *Engine) WriteAllIn(ctx context.Context, tx pgx.Tx, fn func() error) error {
	m := e.memory.Load()
	if m == nil {
		return fn()
	}
	p := newParked(tx)
	p.parkings = append(p.parkings, m.ParkAll())
	return p.run(ctx, tx, fn)
}

// run runs a write, and asks for the number of its transaction if need be.
func (p *parked) run(ctx context.Context, tx pgx.Tx, fn func() error) error {
	if p == nil {
		return fn()
	}
	err := fn()
	if err == nil && p.asks() {
		var rows pgx.Rows
		if rows, err = tx.Query(ctx, transactionID.SQL); err == nil {
			p.xid, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[uint64])
		}
		err = fault.From(err, false, false)
	}
	p.settle(err)
	return err
}

// StayIn keeps the table on this server until a transaction ends, if Citus may move it: before
// a write that is no call, in READ COMMITTED. Error: ErrElsewhere.
func (e *Engine) StayIn(ctx context.Context, tx pgx.Tx) error {
	shard := e.Table().Shard
	if shard == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, schema.Statement("here", schema.Table{}), shard)
	return err
}

// CatchUp sees to it that memory holds nothing older than a write of keys that are not
// known, and that has been answered: it learns of them by the change log.
func (e *Engine) CatchUp(ctx context.Context) {
	if m := e.memory.Load(); m != nil && !e.set.Memory.CatchUp(ctx) {
		m.DropAll()
	}
}

// DropMemory ends what is in memory of the cache.
func (e *Engine) DropMemory() {
	if m := e.memory.Load(); m != nil {
		m.DropAll()
	}
}
