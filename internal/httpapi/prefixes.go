package httpapi

import (
	"encoding/base64"
	"net/http"
	"time"
	"unicode/utf8"
)

// jsonPrefix is the reads of the keys with one prefix. The numbers are estimates.
type jsonPrefix struct {
	Prefix    string  `json:"prefix"` // "": keys without one
	Encoding  string  `json:"encoding,omitempty"`
	Hits      uint64  `json:"hits"`
	Misses    uint64  `json:"misses"`
	HitRatio  float64 `json:"hit_ratio"`
	Uncounted uint64  `json:"uncounted"` // so many more reads it may have had before
}

// listPrefixes answers which prefixes of a cache are read most by clients of this server.
func (a *api) listPrefixes(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	top := a.db.Prefixes().Top(r.PathValue("cache"))
	answer := struct {
		Sees     string       `json:"sees"`
		Since    *time.Time   `json:"since"`  // null: nothing was counted
		Sample   int          `json:"sample"` // one read in so many is counted; 0: none is
		Reads    uint64       `json:"reads"`
		Prefixes []jsonPrefix `json:"prefixes"`
	}{Sees: thisServer, Sample: top.Sample, Reads: top.Reads, Prefixes: []jsonPrefix{}}
	if !top.Since.IsZero() {
		answer.Since = &top.Since
	}
	for _, p := range top.Prefixes {
		j := jsonPrefix{Prefix: p.Prefix, Hits: p.Hits, Misses: p.Misses, Uncounted: p.Uncounted}
		if !utf8.ValidString(p.Prefix) {
			j.Prefix, j.Encoding = base64.StdEncoding.EncodeToString([]byte(p.Prefix)), asBase64
		}
		j.HitRatio = float64(p.Hits) / float64(p.Hits+p.Misses) // it was read once at least
		answer.Prefixes = append(answer.Prefixes, j)
	}
	return writeJSON(w, http.StatusOK, answer)
}
