package transfer

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unfit are keys that Howdah cannot hold.
type Unfit struct {
	Keys   int64     `json:"keys"`   // that do not fit
	Named  []Refusal `json:"named"`  // the first of them
	Looked int64     `json:"looked"` // at so many keys
	Total  int64     `json:"total"`  // that the server has, about
	Failed string    `json:"failed"` // why the others were not looked at; "": nothing failed
}

// pageOfLook is how many keys are looked at together.
const pageOfLook = 1000

// findUnfit looks at the first keys of the databases, at most so many, for those that Howdah cannot hold.
// What the server refuses is no error: the rest of the comparison holds without it.
func findUnfit(ctx context.Context, conn *Conn, server Server, most, valueBytes int) (u Unfit) {
	u.Named = []Refusal{}
	for _, keys := range server.Keys {
		u.Total += keys
	}
	for _, number := range slices.Sorted(maps.Keys(server.Keys)) {
		if err := conn.selects(number); err != nil {
			u.Failed = err.Error()
			return u
		}
		r := &reader{conn: conn, cache: "db" + strconv.Itoa(number), limits: limits{valueBytes}, sizes: true, now: func() int64 { return time.Now().UnixMilli() }}
		for cursor := ""; cursor != "0" && u.Looked < int64(most); {
			keys, next, err := conn.scan(max(cursor, "0"), "", pageOfLook)
			if err == nil {
				err = r.page(keys, func(p part) error {
					for _, f := range p.refused {
						if f.Limit > 0 || f.Reason == reasonType {
							u.Keys++
							u.Named = named(u.Named, []Refusal{f})
						}
					}
					return ctx.Err()
				})
			}
			if err != nil {
				u.Failed = err.Error()
				return u
			}
			u.Looked += int64(len(keys))
			cursor = next
		}
	}
	return u
}

// sentence is one of a note, with the blanks behind it.
var sentence = regexp.MustCompile(`[^.]*(\.\d[^.]*)*(\.\s*|$)`)

// newer is the version of Redis that a sentence speaks of.
var newer = regexp.MustCompile(`of Redis (\d+)\.(\d+)`)

// ofItsTime leaves out of a note what a server of this version cannot have been asked: options that
// came later.
func ofItsTime(note, version string) string {
	var b strings.Builder
	for _, s := range sentence.FindAllString(note, -1) {
		if m := newer.FindStringSubmatch(s); m == nil || !before(version, m[1]+"."+m[2]) {
			b.WriteString(s)
		}
	}
	return strings.TrimSpace(b.String())
}

// before compares versions such as 7.0.15 and 8.4.
func before(a, b string) bool {
	var x, y [2]int
	_, _ = fmt.Sscanf(a, "%d.%d", &x[0], &x[1])
	_, _ = fmt.Sscanf(b, "%d.%d", &y[0], &y[1])
	return x[0] < y[0] || x[0] == y[0] && x[1] < y[1]
}
