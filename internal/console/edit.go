package console

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/rediscli"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// The forms in which a value is edited.
const (
	asText   = "text"
	asHex    = "hex"
	asBase64 = "base64"
)

// editView is the form that edits a string.
type editView struct {
	As      string // how Text is to be read
	Text    string // what stands in the form
	Version string // of the entry that the form is written for
	Word    string // what has to be typed; "": nothing, as the key has no name
	Warning string // why nothing was changed
}

// editable returns the form for a string, nil if it is too large for one.
func editable(value []byte, key []byte, version int64) *editView {
	if len(value) > previewBytes {
		return nil
	}
	view := &editView{As: asText, Text: string(value), Version: strconv.FormatInt(version, 10), Word: visible(string(key))}
	if !isPlain(value) {
		view.As, view.Text = asHex, lines(hex.EncodeToString(value))
	}
	return view
}

// isPlain says whether a form for text shows and returns a value as it is: browsers change ends of
// lines, and hide or obey other characters.
func isPlain(value []byte) bool {
	return isText(value) && visible(string(value)) == string(value)
}

// lines breaks digits into lines of 32 bytes.
func lines(digits string) string {
	var b strings.Builder
	for len(digits) > 64 {
		b.WriteString(digits[:64] + "\n")
		digits = digits[64:]
	}
	return b.String() + digits
}

// valueOf reads the value in a form.
func valueOf(form url.Values) ([]byte, error) {
	text := form.Get("value")
	switch form.Get("as") {
	case asText: // browsers send each end of a line as CR LF
		return []byte(strings.ReplaceAll(text, "\r\n", "\n")), nil
	case asHex:
		value, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return nil, errors.New("what you typed is not hexadecimal: two digits, 0 to 9 and a to f, for each byte")
		}
		return value, nil
	case asBase64:
		value, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return nil, errors.New("what you typed is not base64")
		}
		return value, nil
	}
	return nil, errors.New("choose text, hex or base64")
}

// entrySave stores a value if the entry still is the one that was shown. The TTL stays.
func (c *Console) entrySave(r *request) error {
	key, version, err := r.namedVersion()
	if err != nil {
		return err
	}
	cache := r.PathValue("cache")
	value, err := valueOf(r.PostForm)
	if err == nil && len(value) > previewBytes {
		err = errors.New("a value of more than 64 KiB is not edited here")
	}
	if err == nil && r.PostForm.Get("confirm") != visible(string(key)) {
		err = errors.New("what you typed is not the key")
	}
	if err != nil { // what was typed is not lost
		return r.editAgain(key, err)
	}
	// With GET it is refused for what is no string.
	if err := r.changeEntry(cache, key, version, "SET", string(key), string(value), "KEEPTTL", "GET"); err != nil {
		return err
	}
	r.audit(cache, "value changed", r.logged(key))
	return r.back(entryPath(cache, key), "saved")
}

// editAgain shows the form as it was sent, and why nothing was changed.
func (r *request) editAgain(key []byte, why error) error {
	view, err := r.stat(key)
	if err != nil {
		return err
	}
	view.Edit = &editView{
		As: r.PostForm.Get("as"), Text: strings.ReplaceAll(r.PostForm.Get("value"), "\r\n", "\n"), Version: r.PostForm.Get("version"),
		Word: visible(string(key)), Warning: "Nothing was changed: " + why.Error() + ".",
	}
	return r.showEntryAs(http.StatusUnprocessableEntity, view)
}

// entryExpiry changes the TTL of an entry if it still is the one that was shown.
func (c *Console) entryExpiry(r *request) error {
	key, version, err := r.namedVersion()
	if err != nil {
		return err
	}
	ttl, err := ttlOf(r.PostForm.Get("ttl"))
	if err != nil {
		return err
	}
	command := []string{"PERSIST", string(key)}
	if ttl != verb.NoExpiry {
		command = []string{"PEXPIRE", string(key), strconv.FormatInt(ttl.Milliseconds(), 10)}
	}
	cache := r.PathValue("cache")
	if err := r.changeEntry(cache, key, version, command...); err != nil {
		return err
	}
	r.audit(cache, "expiry changed", r.logged(key)+" "+ttlText(ttl))
	return r.back(entryPath(cache, key), "expiry")
}

// ttlOf reads a TTL: a duration, seconds, or "never".
func ttlOf(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "never" {
		return verb.NoExpiry, nil
	}
	ttl, err := time.ParseDuration(text)
	if seconds, wrong := strconv.ParseInt(text, 10, 32); wrong == nil {
		ttl, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || ttl < time.Millisecond {
		return 0, badRequest("Write a TTL such as 90s, 10m or 24h, a number of seconds, or never. To remove the entry, delete it.")
	}
	return ttl, nil
}

// namedVersion is the key and the version that a form names.
func (r *request) namedVersion() (key []byte, version int64, err error) {
	if key, err = r.keyOf(r.PostForm); err != nil {
		return nil, 0, err
	}
	if version, err = strconv.ParseInt(r.PostForm.Get("version"), 10, 64); err != nil {
		return nil, 0, badRequest("The form names no version.")
	}
	return key, version, nil
}

// entryPath is the page of an entry, below the root of the console.
func entryPath(cache string, key []byte) string {
	return "caches/" + cache + "/entry?key64=" + key64(key)
}

// statOf reads all of an entry but the value; nil if there is none.
func statOf(ctx context.Context, cache *core.Cache, key []byte) (*verb.Entry, error) {
	call := &verb.Call{Verb: statement.Stat, Key: key}
	err := cache.One(ctx, call)
	if errors.Is(err, fault.ErrMiss) {
		return nil, nil
	}
	return &call.Result, err
}

// fieldLines are command lines that change one element of a collection, for the prompt.
var fieldLines = map[string][2]string{
	values.KindHash.String():      {"HSET", "field value"},
	values.KindList.String():      {"RPUSH", "element"},
	values.KindSet.String():       {"SADD", "member"},
	values.KindSortedSet.String(): {"ZADD", "1 member"},
}

// FieldLine is a line for the prompt that changes one element of the collection; "" for a string.
func (v *entryView) FieldLine() string {
	line, ok := fieldLines[v.Kind]
	if !ok {
		return ""
	}
	return line[0] + " " + rediscli.Quote(v.key) + " " + line[1]
}
