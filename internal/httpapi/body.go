package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/fault"
)

// readBody reads a body of at most max bytes. One that says beforehand that it
// is larger is refused before any of it is read.
func readBody(w http.ResponseWriter, r *http.Request, max int64) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "" {
		return nil, problemf(unsupportedMedia, "Content-Encoding is not taken: values are kept as they are sent. Leave the header out.")
	}
	if r.ContentLength > max {
		return nil, problemf(tooLarge, "The body has %d bytes, and at most %d are taken. Send less, or raise the server's limit.", r.ContentLength, max)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, max))
	if tooLong := (*http.MaxBytesError)(nil); err != nil && !errors.As(err, &tooLong) && !errors.Is(err, fault.ErrOverloaded) {
		return nil, problemf(badRequest, "The body could not be read to its end: %v.", err)
	}
	return body, err
}

// readJSON reads a JSON body into v. It refuses fields that v does not have,
// and text that is not Unicode, which the decoder would change.
func readJSON(w http.ResponseWriter, r *http.Request, max int64, v any) error {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json") {
		return problemf(unsupportedMedia, "Send the body with Content-Type: application/json.")
	}
	body, err := readBody(w, r, max)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) || loneSurrogate(body) {
		return problemf(badRequest, `The body is not valid Unicode. Send bytes as base64, with "encoding":"base64".`)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		if p := (*problem)(nil); errors.As(err, &p) {
			return p
		}
		return problemf(badRequest, "The JSON cannot be understood: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return problemf(badRequest, "There is something behind the JSON object; send one object.")
	}
	return nil
}

// loneSurrogate tells whether a \u escape names half of a character.
func loneSurrogate(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		switch high, ok := surrogate(body[i:]); {
		case !ok:
			i++ // the escaped character, which may be a backslash
		case high:
			if high, ok := surrogate(body[i+6:]); !ok || high {
				return true
			}
			i += 11
		default:
			return true
		}
	}
	return false
}

// surrogate tells whether b begins with the escape of a surrogate, and whether
// that is the first, high half of a pair.
func surrogate(b []byte) (high, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2] != 'd' && b[2] != 'D' {
		return false, false
	}
	return strings.IndexByte("89abAB", b[3]) >= 0, strings.IndexByte("89abcdefABCDEF", b[3]) >= 0
}

// writeJSON answers with v, which always marshals.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
	return nil
}
