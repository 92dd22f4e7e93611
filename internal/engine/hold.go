package engine

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
)

// withHolds puts before each request what must hold its keys, if anything must. It
// returns requests itself if there is nothing to put.
func withHolds(requests []*statement.Request) []*statement.Request {
	var all []*statement.Request
	for i, r := range requests {
		var hold *statement.Request
		if len(r.Calls) > 0 {
			hold = statement.NewHold(r)
		}
		if hold != nil && all == nil {
			all = append(make([]*statement.Request, 0, len(requests)+1), requests[:i]...)
		}
		if hold != nil {
			all = append(all, hold)
		}
		if all != nil {
			all = append(all, r)
		}
	}
	if all == nil {
		return requests
	}
	return all
}

// answeredOf returns how many of what was answered were not put in by withHolds.
// What PostgreSQL said against a hold it said against the request after it.
func answeredOf(all []*statement.Request) (answered int) {
	for i, r := range all {
		switch {
		case !r.IsHold():
			answered++
		case r.Err != nil && r.Err != pgwire.ErrSkipped:
			all[i+1].Err = r.Err
		}
	}
	return answered
}
