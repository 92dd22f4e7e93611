package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// maxMatch bounds the pattern of a filter, in bytes: its time grows with its length.
const maxMatch = 4 << 10

// The states of a TTL that a filter knows.
const (
	ttlSet   = "set"   // the entry expires
	ttlHour  = "hour"  // within an hour
	ttlNever = "never" // it does not expire
)

// entryKinds are the types of values, as TYPE names them.
var entryKinds = []string{
	values.KindString.String(), values.KindHash.String(), values.KindList.String(), values.KindSet.String(), values.KindSortedSet.String(),
}

// entryFilter chooses among the entries of a list. The zero value lets all through.
type entryFilter struct {
	Match string // a pattern as SCAN MATCH has it
	Kind  string // of values, as TYPE names them
	Bytes int64  // of the value, at least
	TTL   string // one of the states above
}

// filterOf reads the filter in an address.
func filterOf(q url.Values) (f entryFilter, err error) {
	f = entryFilter{Match: q.Get("match"), Kind: q.Get("type"), TTL: q.Get("ttl")}
	if f.Match == "*" {
		f.Match = ""
	}
	if len(f.Match) > maxMatch {
		return f, badRequest("The pattern is longer than 4,096 bytes. Use a shorter one.")
	}
	if f.Kind != "" && !slices.Contains(entryKinds, f.Kind) {
		return f, badRequest("There is no such type of values. Use one of " + strings.Join(entryKinds, ", ") + ".")
	}
	if f.TTL != "" && f.TTL != ttlSet && f.TTL != ttlHour && f.TTL != ttlNever {
		return f, badRequest("Entries are chosen by their expiry with set, hour or never.")
	}
	if text := strings.TrimSpace(q.Get("bytes")); text != "" {
		if f.Bytes, err = strconv.ParseInt(text, 10, 64); err != nil || f.Bytes < 0 {
			return f, badRequest("Write the least size as a whole number of bytes, such as 1000, or nothing.")
		}
	}
	return f, nil
}

// query is the filter for an address.
func (f entryFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"match": f.Match, "type": f.Kind, "ttl": f.TTL} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Bytes > 0 {
		q.Set("bytes", strconv.FormatInt(f.Bytes, 10))
	}
	return q
}

// admits says whether an entry is shown. key is its key as the visitor sees it.
func (f entryFilter) admits(e *verb.Entry, key []byte) bool {
	switch {
	case f.Match != "" && !values.Match([]byte(f.Match), key),
		f.Kind != "" && f.Kind != values.Kind(e.Kind).String(),
		int64(e.Length) < f.Bytes:
		return false
	}
	switch f.TTL {
	case ttlSet:
		return e.TTL != verb.NoExpiry
	case ttlHour:
		return e.TTL != verb.NoExpiry && e.TTL <= time.Hour
	case ttlNever:
		return e.TTL == verb.NoExpiry
	}
	return true
}
