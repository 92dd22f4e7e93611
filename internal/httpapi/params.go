package httpapi

import (
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/verb"
)

// cutEntry takes the cache, the segment after it and the still encoded key out of
// the path of an entry. The key is everything behind the segment, such as
// "/entries/", slashes included.
func cutEntry(path string) (cache, segment, key string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/v1/caches/")
	if !ok {
		return "", "", "", false
	}
	cache, rest, _ = strings.Cut(rest, "/")
	segment, key, ok = strings.Cut(rest, "/")
	if name, err := url.PathUnescape(cache); err == nil {
		cache = name
	}
	return cache, segment, key, ok
}

// repeatable are the parameters that may be given more than once.
var repeatable = []string{"field", "member", "channel", "pattern"}

// query reads the parameters, and refuses those that the route does not know:
// a misspelled ttl must not store for ever.
func query(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problemf(badRequest, "The query cannot be read: %v. Percent-encode it, and separate parameters by &.", err)
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return nil, problemf(badRequest, "Parameter %.50q is not known; this route takes none.", name)
			}
			return nil, problemf(badRequest, "Parameter %.50q is not known; this route takes %s.", name, strings.Join(known, ", "))
		}
		if len(given) > 1 && !slices.Contains(repeatable, name) {
			return nil, problemf(badRequest, "Parameter %s is given %d times; give it once.", name, len(given))
		}
	}
	return values, nil
}

// entryKey decodes the key of an entry: from the path, or, where a path cannot
// carry it, from the parameter key (text) or key64 (base64url).
func entryKey(encoded string, values url.Values) ([]byte, error) {
	inQuery, given, err := queryKey(values)
	if err != nil {
		return nil, err
	}
	if given {
		if encoded != "" {
			return nil, problemf(badRequest, "The key is given twice, in the path and in the query. Leave the path at /entries/.")
		}
		return inQuery, nil
	}
	key, err := url.PathUnescape(encoded)
	if err != nil {
		return nil, problemf(badRequest, "The key in the path cannot be decoded: %v. Percent-encode it, or use ?key64=.", err)
	}
	return []byte(key), nil
}

// queryKey is the key that the query names.
func queryKey(values url.Values) (key []byte, given bool, err error) {
	switch {
	case values.Has("key") && values.Has("key64"):
		return nil, false, problemf(badRequest, "Give key or key64, not both.")
	case values.Has("key64"):
		key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(values.Get("key64"), "="))
		if err != nil {
			return nil, false, problemf(badRequest, "key64 is not base64url (RFC 4648, section 5).")
		}
		return key, true, nil
	}
	return []byte(values.Get("key")), values.Has("key"), nil
}

// ttlOf reads the TTL of a write, from the parameter ttl or the header
// Howdah-TTL. Without either it is 0, the cache's default.
func ttlOf(r *http.Request, values url.Values) (time.Duration, error) {
	text, header := values.Get("ttl"), strings.TrimSpace(r.Header.Get("Howdah-TTL"))
	switch {
	case text == "":
		text = header
	case header != "" && header != text:
		return 0, problemf(invalidTTL, "The parameter ttl and the header Howdah-TTL differ; give one.")
	}
	if text == "" {
		return 0, nil
	}
	return parseTTL(text)
}

// errTTL says what a TTL looks like.
var errTTL = errors.New("give a positive Go duration such as 10m or 1h30m, seconds such as 600 or 0.5, or none; leave it out for the cache's default")

// parseTTL reads a Go duration, decimal seconds, or "none".
func parseTTL(text string) (time.Duration, error) {
	ttl, err := duration(text)
	if err != nil || ttl <= 0 {
		return 0, problemf(invalidTTL, "The TTL %.50q is not valid: %v.", text, errTTL)
	}
	return ttl, nil
}

// duration reads what parseTTL does, zero and less included.
func duration(text string) (time.Duration, error) {
	if text == "none" {
		return verb.NoExpiry, nil
	}
	if strings.Trim(text, "0123456789.") == "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || seconds >= math.MaxInt64/1e9 {
			return 0, errTTL
		}
		// Rounded up, so that what is not zero stays so.
		return time.Duration(math.Ceil(seconds*1e6)) * time.Microsecond, nil
	}
	return time.ParseDuration(text)
}

// ttlText writes a TTL for JSON, as parseTTL reads it.
func ttlText(ttl time.Duration) string {
	if ttl == verb.NoExpiry {
		return "none"
	}
	return ttl.String()
}

// ttlSeconds writes a TTL for the header: seconds with three decimals. It
// rounds up, so that an entry which lives is never given 0.
func ttlSeconds(ttl time.Duration) string {
	if ttl == verb.NoExpiry {
		return "none"
	}
	ms := int64(ttl / time.Millisecond)
	if ttl%time.Millisecond > 0 {
		ms++
	}
	return strconv.FormatInt(ms/1000, 10) + "." + strconv.FormatInt(1000+ms%1000, 10)[1:]
}
