package httpapi

import (
	"net/http"
	"strings"

	"github.com/howdah/howdah/internal/verb"
)

// wantsFresh reports whether a read must ask PostgreSQL: the client says so, as it
// says to every cache (RFC 9111, section 5.2.1), or makes a condition of the
// version that there is now.
func wantsFresh(r *http.Request) bool {
	for directive := range strings.SplitSeq(fieldOf(r, "Cache-Control"), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		if name == "no-cache" || name == "max-age" && strings.Trim(value, `"`) == "0" {
			return true
		}
	}
	return fieldOf(r, "If-Match") != ""
}

// setCacheStatus says who answered a read (RFC 9211): the memory of this server, or
// PostgreSQL because memory had no answer (miss), because the request asked for a
// fresh one (request), or because it is not a GET (method).
func (a *api) setCacheStatus(w http.ResponseWriter, r *http.Request, call *verb.Call) {
	if memory := a.db.Near(); memory == nil || !memory.Used() {
		return
	}
	status := "howdah; fwd=miss"
	switch {
	case call.Recalled:
		status = "howdah; hit"
	case r.Method == http.MethodHead:
		status = "howdah; fwd=method"
	case call.Fresh:
		status = "howdah; fwd=request"
	}
	w.Header().Set("Cache-Status", status)
}
