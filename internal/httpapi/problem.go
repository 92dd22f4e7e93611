package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/session"
)

// problemTypes is where the codes are explained: a problem's type is this and
// its code.
const problemTypes = "https://github.com/howdah/howdah/blob/main/docs/http.md#"

// kind is a kind of problem. Its code and status are part of the interface.
type kind struct {
	code   string
	status int
	title  string
}

// The kinds of problems that the handler itself finds.
var (
	badRequest         = kind{"bad-request", http.StatusBadRequest, "The request cannot be understood"}
	invalidTTL         = kind{"invalid-ttl", http.StatusBadRequest, "The TTL is not valid"}
	unauthorized       = kind{"unauthorized", http.StatusUnauthorized, "The token is missing or wrong"}
	foreignHost        = kind{"foreign-host", http.StatusForbidden, "The host is not served"}
	sessionsClosed     = kind{"sessions-closed", http.StatusForbidden, "The server has no token for sessions"}
	sessionNotFound    = kind{"session-not-found", http.StatusNotFound, "The session does not exist"}
	permission         = kind{"permission", http.StatusForbidden, "The server's database role may not do this"}
	notMergeable       = kind{"not-mergeable", http.StatusConflict, "The fields cannot be merged into the payload"}
	foreignOrigin      = kind{"foreign-origin", http.StatusForbidden, "The request comes from another site"}
	notFound           = kind{"not-found", http.StatusNotFound, "There is nothing at this path"}
	keyNotFound        = kind{"key-not-found", http.StatusNotFound, "The key is absent or expired"}
	methodNotAllowed   = kind{"method-not-allowed", http.StatusMethodNotAllowed, "The method is not allowed here"}
	preconditionFailed = kind{"precondition-failed", http.StatusPreconditionFailed, "The condition is not met"}
	tooLarge           = kind{"too-large", http.StatusRequestEntityTooLarge, "The request or its answer is too large"}
	unsupportedMedia   = kind{"unsupported-media-type", http.StatusUnsupportedMediaType, "The body is of a type that is not taken"}
	internal           = kind{"internal", http.StatusInternalServerError, "The server failed"}
	callerLeft         = kind{"caller-left", statusClientClosed, "The client stopped waiting"}
)

// statusClientClosed is what nginx made the status of a client that closes the connection before
// its answer. RFC 9110 has none: the others of 4xx say that the request is wrong, those of 5xx that
// the server is.
const statusClientClosed = 499

// failures are the kinds of the library's errors, the more telling first: an
// unknown outcome is often a deadline too.
var failures = []struct {
	err error
	kind
	advice string
}{
	{fault.ErrUnknownOutcome, kind{"outcome-unknown", http.StatusGatewayTimeout, "The write may or may not have been applied"}, "Read what is there before repeating the request."},
	{fault.ErrMiss, keyNotFound, "It may have expired, or be in another cache."},
	{fault.ErrCacheNotFound, kind{"cache-not-found", http.StatusNotFound, "The cache does not exist"}, "Create it with POST /v1/caches."},
	{fault.ErrNotStored, preconditionFailed, "Read the entry and its ETag again."},
	{fault.ErrWatch, preconditionFailed, "Read the entry and its ETag again."},
	{fault.ErrWrongType, kind{"wrong-type", http.StatusConflict, "The key holds another kind of value"}, "Use the route of its kind (entries, hashes, sets, sorted-sets, lists), or another key."},
	{fault.ErrNotInteger, kind{"not-an-integer", http.StatusConflict, "The value is not an integer"}, "Increment takes decimal integers of 64 bits only; delete the entry or use another key."},
	{fault.ErrOverflow, kind{"overflow", http.StatusConflict, "The increment would overflow"}, "The value is unchanged; increment by less, or start over."},
	{fault.ErrCollision, kind{"collision", http.StatusConflict, "The key's hash belongs to another live key"}, "Use another key."},
	{fault.ErrCacheExists, kind{"cache-exists", http.StatusConflict, "A cache of that name exists"}, "Alter it with PATCH, or choose another name."},
	{fault.ErrKeyTooLong, kind{"key-too-long", http.StatusBadRequest, "The key is too long"}, "Keys hold at most 64 KiB."},
	{fault.ErrValueTooLarge, tooLarge, "Store less, or raise the server's limit."},
	{fault.ErrCrossPartition, kind{"cross-partition", http.StatusUnprocessableEntity, "The keys are of several partitions"}, "Give them a hash tag in common, as in {user:1}:name."},
	{fault.ErrInvalidTag, kind{"invalid-tag", http.StatusBadRequest, "The tag is not valid"}, "A tag is text of 1 to 256 bytes; an entry has at most 64."},
	{fault.ErrInvalidTTL, invalidTTL, "Give a positive Go duration such as 10m, seconds such as 600, or none."},
	{fault.ErrInvalidName, kind{"invalid-cache-name", http.StatusBadRequest, "The cache name is not valid"}, ""},
	{fault.ErrInvalidSetting, kind{"invalid-setting", http.StatusUnprocessableEntity, "The database refused a setting"}, ""},
	{fault.ErrCacheInUse, kind{"cache-in-use", http.StatusConflict, "A transaction uses the cache"}, ""},
	{fault.ErrCacheFull, kind{"out-of-memory", http.StatusInsufficientStorage, "The cache is full and evicts nothing"}, "Delete entries, raise the cache's budget, or choose an eviction policy."},
	{session.ErrUserLimit, kind{"user-limit", http.StatusConflict, "The user has too many sessions"}, "Revoke one first."},
	{session.ErrInvalidUser, kind{"invalid-user", http.StatusBadRequest, "The user id is not valid"}, ""},
	{fault.ErrPermission, permission, `Run "howdah migrate --runtime-role" for it.`},
	{figures.ErrCounting, kind{"counting", http.StatusServiceUnavailable, "The figures are being read"}, "Ask again in a second."},
	{fault.ErrOverloaded, kind{"overloaded", http.StatusServiceUnavailable, "Too many requests are waiting"}, "Nothing was changed; try again later."},
	{fault.ErrUnavailable, kind{"database-unavailable", http.StatusServiceUnavailable, "The database is away"}, "Nothing was changed; try again later."},
	{fault.ErrNotRunning, kind{"not-running", http.StatusServiceUnavailable, "The server carries no messages now"}, "Try again later."},
	{fault.ErrClosed, kind{"shutting-down", http.StatusServiceUnavailable, "The server is shutting down"}, "Nothing was changed; try again later."},
	{fault.ErrSchemaMissing, kind{"schema-missing", http.StatusServiceUnavailable, "The database has no Howdah schema"}, `Run "howdah migrate".`},
	{fault.ErrSchemaTooNew, kind{"schema-too-new", http.StatusServiceUnavailable, "The schema is newer than the server"}, "Upgrade the server."},
	{fault.ErrTimeout, kind{"timeout", http.StatusGatewayTimeout, "The time of the request ran out"}, "Nothing was changed; try again."},
	{context.DeadlineExceeded, kind{"timeout", http.StatusGatewayTimeout, "The time of the request ran out"}, "Try again."},
}

// problem is an error as RFC 9457 writes it.
type problem struct {
	kind
	detail string
}

func (p *problem) Error() string { return p.detail }

func problemf(k kind, format string, args ...any) error {
	return &problem{k, fmt.Sprintf(format, args...)}
}

// problemOf finds the problem of any error.
func problemOf(err error) *problem {
	if p := (*problem)(nil); errors.As(err, &p) {
		return p
	}
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return &problem{tooLarge, fmt.Sprintf("The body is larger than %d bytes. Send less, or raise the server's limit.", tooLong.Limit)}
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			detail := sentence(err.Error())
			if f.status >= http.StatusInternalServerError || f.err == fault.ErrCacheNotFound || f.err == fault.ErrPermission {
				// What is inside the server is for its log, and the advice of
				// the library is for Go and SQL.
				detail = f.title + "."
				if f.err == fault.ErrTimeout {
					detail = f.title + ": " + fault.BlameOf(err) + "."
				}
				if of := (*fault.ServerError)(nil); errors.As(err, &of) {
					detail = f.title + ": server " + of.Address + " of several."
				}
			}
			return &problem{f.kind, strings.TrimSpace(detail + " " + f.advice)}
		}
	}
	return &problem{internal, "The server failed in a way that it cannot explain; its log says more."}
}

// problemFor finds the problem of an error in serving a request with ctx, and whether it is that the
// client left. One that has closed only its own side of the connection still reads the answer.
func problemFor(ctx context.Context, err error) (p *problem, left bool) {
	left = ctx.Err() != nil && errors.Is(err, context.Canceled)
	if left && !errors.Is(err, fault.ErrUnknownOutcome) { // others, such as ErrUnavailable, only follow from it
		return &problem{callerLeft, "The connection, or the client's side of it, was closed before the answer. Keep it open until the answer is there, and read what is stored before repeating a write."}, true
	}
	return problemOf(err), left
}

// Explain returns what a person may know of an error: the status of its answer, a title, and a
// sentence with advice. What is inside the server is for its log.
func Explain(err error) (status int, title, detail string) {
	p := problemOf(err)
	return p.status, p.title, p.detail
}

// ExplainTo is Explain for the client of a request with ctx. left says that the error comes from the
// client's leaving, which is nothing for a log.
func ExplainTo(ctx context.Context, err error) (status int, title, detail string, left bool) {
	p, left := problemFor(ctx, err)
	return p.status, p.title, p.detail, left
}

// sentence makes an error of the library one.
func sentence(message string) string {
	message = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(message, "howdah: "), "session: "))
	if message == "" {
		return message
	}
	message = strings.ToUpper(message[:1]) + message[1:]
	if !strings.HasSuffix(message, ".") {
		message += "."
	}
	return message
}

// fail answers with the error's problem.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, left := problemFor(r.Context(), err)
	if !left && (p.status >= http.StatusInternalServerError || errors.Is(err, fault.ErrPermission)) {
		a.log.Warn("request failed", "method", r.Method, "route", r.Pattern, "cache", r.PathValue("cache"), "status", p.status, "code", p.code, "error", err)
	}
	header := w.Header()
	switch p.status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="howdah"`)
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", "1")
	}
	for _, name := range []string{"ETag", "Content-Length"} {
		header.Del(name)
	}
	body, _ := json.Marshal(map[string]any{ // strings and a number always marshal
		"type":   problemTypes + p.code,
		"title":  p.title,
		"status": p.status,
		"detail": p.detail,
		"code":   p.code,
	})
	header.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	_, _ = w.Write(append(body, '\n'))
}
