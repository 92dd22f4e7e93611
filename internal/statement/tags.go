package statement

import (
	"fmt"
	"slices"

	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// setTagged leaves a row out in class sync only, for a collision. A row without a
// version is of an entry whose tag is being invalidated.
var setTagged = form(Form{
	File: "set_tagged", Start: startAs(verb.Collision),
	Params: func(r *Request) [][]byte { return append(r.entryColumns(), r.tagColumns()...) },
	Row:    writeRow(readTagged),
})

func checkSet(c *verb.Call) error {
	if c.Kind != 0 && (c.Condition == verb.Always || c.WantOld || len(c.Tags) > 0) {
		return fmt.Errorf("howdah: a set that stores a collection has a condition, and neither tags nor the old value")
	}
	if len(c.Tags) > 0 && (c.Condition != verb.Always || c.Expiry.Kind == verb.Keep || c.WantOld) {
		return fmt.Errorf("howdah: a set with a condition, with the old value or with the old expiry takes no tags")
	}
	return verb.CheckTags(c.Tags)
}

func readTagged(r *Request, c *verb.Call, v [][]byte) {
	if v[1] == nil {
		c.Status = verb.NotStored
		return
	}
	readVersion(r, c, v)
}

// tagColumns are the hashes of the rows, and of their tags: one of each for every
// tag of a row.
func (r *Request) tagColumns() [][]byte {
	n := 0
	for i := range r.Rows {
		n += len(r.Rows[i].Call.TagHashes)
	}
	hashes := pgwire.AppendArray(make([]byte, 0, 20+12*n), pgwire.Int8, n, false)
	tags := pgwire.AppendArray(make([]byte, 0, 20+12*n), pgwire.Int8, n, false)
	for i := range r.Rows {
		for _, tag := range r.Rows[i].Call.TagHashes {
			hashes = pgwire.AppendInt8(hashes, r.Rows[i].Hash)
			tags = pgwire.AppendInt8(tags, tag)
		}
	}
	return [][]byte{hashes, tags}
}

// snapshots are those of the claims, one for every tag of a row, and of a shard the
// placements that they are of.
func (r *Request) snapshots() [][]byte {
	n := 0
	for i := range r.Rows {
		n += len(r.Rows[i].Call.TagHashes)
	}
	snapshots := pgwire.AppendArray(nil, pgwire.Text, n, false)
	placements := pgwire.AppendArray(nil, pgwire.Int8, n, false)
	for i := range r.Rows {
		placement, snapshot := verb.SplitSnapshot(r.Rows[i].Call.Snapshot)
		for range r.Rows[i].Call.TagHashes {
			snapshots = pgwire.AppendBytes(snapshots, []byte(snapshot))
			placements = pgwire.AppendInt8(placements, placement)
		}
	}
	if r.Table.Shard == 0 {
		return [][]byte{snapshots}
	}
	return [][]byte{snapshots, placements}
}

// HashTags returns the distinct hashes of tags, in order.
func HashTags(tags []string, hash func([]byte) int64) []int64 {
	hashes := make([]int64, len(tags))
	for i, tag := range tags {
		hashes[i] = hash([]byte(tag))
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}
