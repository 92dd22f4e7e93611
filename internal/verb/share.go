package verb

import "slices"

// Share returns a call that asks the same of some of the keys, by their places in Keys.
// It is for verbs whose keys do not depend on each other.
func (c *Call) Share(places []int) *Call {
	share := &Call{
		Verb: c.Verb, Keys: pick(c.Keys, places), Expiry: c.Expiry, Fresh: c.Fresh, Kind: c.Kind, AnyKind: c.AnyKind,
		WantExpiry: c.WantExpiry, NoRoom: c.NoRoom, Silent: c.Silent, WantRemoved: c.WantRemoved, WantGone: c.WantGone,
		Writer: c.Writer, Caller: c.Caller, Part: c.Part, Traces: c.Traces,
	}
	if c.Values != nil {
		share.Values = pick(c.Values, places)
	}
	return share
}

func pick(list [][]byte, places []int) [][]byte {
	picked := make([][]byte, len(places))
	for i, place := range places {
		picked[i] = list[place]
	}
	return picked
}

// Gather makes the results of shares those of the call: of the places that it was shared
// by. The first error and the first status that is not OK count, and results of the
// other shares stand beside them.
func (c *Call) Gather(shares []*Call, places [][]int) {
	c.Reset()
	c.Err = nil
	for i, share := range shares {
		if share.Err != nil {
			if c.Err == nil {
				c.Err = share.Err
			}
			continue // its results are void, and may belong to a flight
		}
		if c.Status == OK {
			c.Status = share.Status
		}
		if share.Entries != nil && c.Entries == nil {
			c.Entries = make([]Entry, len(c.Keys))
		}
		for j := range share.Entries {
			c.Entries[places[i][j]] = share.Entries[j]
		}
		c.Count += share.Count
		c.Int += share.Int
		c.Removed = slices.Concat(c.Removed, share.Removed)
		c.Gone = slices.Concat(c.Gone, share.Gone)
		c.Shared = c.Shared || share.Shared
	}
}
