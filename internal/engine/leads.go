package engine

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
)

// withLeads puts before each request what must come first in its transaction: what keeps
// its table on this server, and what holds its keys. It returns requests itself if there
// is nothing to put.
func withLeads(requests []*statement.Request) []*statement.Request {
	var all []*statement.Request
	for i, r := range requests {
		for _, lead := range leadsOf(r) {
			if all == nil {
				all = append(make([]*statement.Request, 0, len(requests)+1), requests[:i]...)
			}
			all = append(all, lead)
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

func leadsOf(r *statement.Request) (leads []*statement.Request) {
	if len(r.Calls) == 0 {
		return nil
	}
	if guard := statement.NewGuard(r); guard != nil {
		leads = append(leads, guard)
	}
	if hold := statement.NewHold(r); hold != nil {
		leads = append(leads, hold)
	}
	return leads
}

// answeredOf returns how many of what was answered were not put in by withLeads.
// What PostgreSQL said against such a request it said against the one that it leads.
func answeredOf(all []*statement.Request) (answered int) {
	for i, r := range all {
		switch {
		case !r.Leads():
			answered++
		case r.Err != nil && r.Err != pgwire.ErrSkipped:
			led := i + 1
			for all[led].Leads() {
				led++
			}
			all[led].Err = r.Err
		}
	}
	return answered
}
