package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// Bounds of what a page shows of a value.
const (
	previewBytes    = 64 << 10
	previewElements = 200
	elementBytes    = 1 << 10
	unpackedBytes   = 1 << 20 // of a value in gzip
	largestShown    = 16 << 20
)

// entryView is the page of one entry.
type entryView struct {
	Cache     string
	Key       shownKey
	Absent    bool
	Kind      string
	Bytes     int64
	Version   int64
	TTL       string
	ExpiresAt time.Time
	TooLarge  bool
	Value     *valueView
	Edit      *editView // of a string whose value is shown

	key      []byte
	Removals []removalRow // the last ones that may concern the key
}

// Reader returns the SQL function that reads the entry, "" where there is none. It finds the row by
// the hash of the key, as the view of the cache cannot: a condition on its key reads the whole table.
func (v *entryView) Reader() string { return readers[v.Kind] }

// readers are the SQL functions that read the kinds.
var readers = map[string]string{
	values.KindString.String():    "get_entry",
	values.KindHash.String():      "hgetall",
	values.KindList.String():      "lrange",
	values.KindSet.String():       "smembers",
	values.KindSortedSet.String(): "zrange",
}

// valueView is what is shown of a value.
type valueView struct {
	Format   string // of a string: "JSON", "text", "bytes", with "gzip, " before it
	Text     string
	Cut      bool
	Columns  []string // of a collection
	Elements [][]string
	Of       int // elements in all
}

// keyOf returns the key that the address or the form of a request names. Those who see masked keys
// only cannot name one that is masked.
func (r *request) keyOf(named url.Values) ([]byte, error) {
	if !named.Has("key64") { // else it would be the empty key, which is one that people can delete
		return nil, badRequest("The request names no key: give key64, the key in base64url. Lists of entries have links with it.")
	}
	text := named.Get("key64")
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(key) > verb.MaxKeyBytes {
		return nil, badRequest("The key in the address is not base64url, or too long.")
	}
	if _, masked := r.console.mask.Key(key); masked && !r.seesKeys() {
		return nil, &refusal{http.StatusForbidden, "The key is masked", "Keys like this one can be secrets. The server's token opens them."}
	}
	return key, nil
}

// entry shows what is known of an entry without its value.
func (c *Console) entry(r *request) error {
	key, err := r.keyOf(r.URL.Query())
	if err != nil {
		return err
	}
	view, err := r.stat(key)
	if err != nil {
		return err
	}
	return r.showEntry(view)
}

func (r *request) showEntry(view *entryView) error { return r.showEntryAs(http.StatusOK, view) }

func (r *request) showEntryAs(status int, view *entryView) error {
	return r.show(status, "entry.html", frame{Title: view.Cache + ": " + cmp.Or(view.Key.Text, "the empty key"), Section: "caches", Page: view})
}

// stat reads all but the value.
func (r *request) stat(key []byte) (*entryView, error) {
	view := &entryView{Cache: r.PathValue("cache"), Key: r.shown(key), key: key}
	view.Removals = r.removalsOn(view.Cache, key)
	ctx, cancel := r.bounded()
	defer cancel()
	found, err := statOf(ctx, r.console.db.Cache(view.Cache), key)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		view.Absent = true
		return view, nil
	}
	view.Kind, view.Bytes, view.Version = values.Kind(found.Kind).String(), int64(found.Length), found.Version
	view.TTL, view.ExpiresAt = ttlText(found.TTL), found.ExpiresAt
	view.TooLarge = found.Length > largestShown
	return view, nil
}

// readValue reads the entry that a form names.
func (r *request) readValue() (key []byte, entry *verb.Entry, err error) {
	if key, err = r.keyOf(r.PostForm); err != nil {
		return nil, nil, err
	}
	ctx, cancel := r.bounded()
	defer cancel()
	release, err := r.console.lookup(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	call := &verb.Call{Verb: statement.GetEntry, Key: key, AnyKind: true}
	if err := r.console.db.Cache(r.PathValue("cache")).One(ctx, call); err != nil {
		return nil, nil, err
	}
	return key, &call.Result, nil
}

// entryValue shows the value too. It is a POST, so that neither a link nor a browser that
// reads ahead shows a value, and each time is in the audit log.
func (c *Console) entryValue(r *request) error {
	key, err := r.keyOf(r.PostForm)
	if err != nil {
		return err
	}
	view, err := r.stat(key)
	if err != nil {
		return err
	}
	if view.Absent || view.TooLarge {
		return r.showEntry(view)
	}
	_, entry, err := r.readValue()
	if errors.Is(err, fault.ErrMiss) { // it ended in between
		view.Absent = true
		return r.showEntry(view)
	}
	if err != nil {
		return err
	}
	if view.Value, err = preview(values.Kind(entry.Kind), entry.Value, c.now()); err != nil {
		return err
	}
	if values.Kind(entry.Kind) == values.KindString { // the version is that of the value which is shown
		view.Version = entry.Version
		view.Edit = editable(entry.Value, key, entry.Version)
	}
	r.log("value shown", "cache", view.Cache, "key", r.logged(key))
	return r.showEntry(view)
}

// entryDownload sends the value as a file that no browser runs. That of a collection is what
// DUMP gives.
func (c *Console) entryDownload(r *request) error {
	key, entry, err := r.readValue()
	if err != nil {
		return err
	}
	body, name := entry.Value, "value.bin"
	if kind := values.Kind(entry.Kind); kind != values.KindString {
		value, err := values.Decode(kind, entry.Value)
		if err != nil {
			return err
		}
		body, name = values.Dump(value), "value.rdb"
	}
	r.log("value downloaded", "cache", r.PathValue("cache"), "key", r.logged(key))
	h := r.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = r.w.Write(body)
	return nil
}

// preview makes a value readable.
func preview(kind values.Kind, packed []byte, now time.Time) (*valueView, error) {
	if kind == values.KindString {
		return previewString(packed), nil
	}
	value, err := values.Decode(kind, packed)
	if err != nil {
		return nil, err
	}
	view := &valueView{Of: value.Len()}
	add := func(cells ...string) bool {
		for i, cell := range cells {
			if len(cell) > elementBytes {
				cell = cell[:elementBytes] + "…"
			}
			cells[i] = visible(cell)
		}
		view.Elements = append(view.Elements, cells)
		return len(view.Elements) < previewElements
	}
	switch v := value.(type) {
	case *values.Hash:
		view.Columns = []string{"Field", "Value", "Expires in"}
		for field, text := range v.All() {
			expires := ""
			if at, ok := v.FieldExpiry(field); ok && at > 0 {
				expires = duration(time.UnixMilli(at).Sub(now))
			}
			if !add(field, text, expires) {
				break
			}
		}
	case *values.List:
		view.Columns = []string{"Index", "Element"}
		for i, text := range v.Range(0, previewElements-1) {
			add(strconv.Itoa(i), text)
		}
	case *values.Set:
		view.Columns = []string{"Member"}
		members := v.Members()
		for _, text := range members[:min(len(members), previewElements)] {
			add(text)
		}
	case *values.SortedSet:
		view.Columns = []string{"Score", "Member"}
		for _, m := range v.ByRank(0, previewElements-1, false) {
			add(strconv.FormatFloat(m.Score, 'g', -1, 64), m.Name)
		}
	}
	return view, nil
}

// previewString shows a string as JSON, text or bytes, unpacked if it is gzip.
func previewString(value []byte) *valueView {
	view := &valueView{}
	if unpacked, ok := gunzip(value); ok {
		value, view.Format = unpacked, "gzip, "
	}
	if len(value) > 0 && (value[0] == '{' || value[0] == '[') && len(value) <= previewBytes && json.Valid(value) {
		var indented bytes.Buffer
		if json.Indent(&indented, value, "", "  ") == nil && indented.Len() <= 4*previewBytes {
			view.Format += "JSON"
			view.Text = visible(indented.String())
			return view
		}
	}
	if len(value) > previewBytes {
		value, view.Cut = value[:previewBytes], true
	}
	if isText(value) {
		view.Format += "text"
		view.Text = visible(string(value))
	} else {
		view.Format += "bytes"
		view.Text = hex.Dump(value)
	}
	return view
}

// isText says whether a value is UTF-8 but for a character that its end cuts, without zeros.
func isText(value []byte) bool {
	for range utf8.UTFMax {
		if utf8.Valid(value) {
			return bytes.IndexByte(value, 0) < 0
		}
		if len(value) == 0 {
			return false
		}
		value = value[:len(value)-1]
	}
	return false
}

// gunzip unpacks at most unpackedBytes.
func gunzip(value []byte) ([]byte, bool) {
	if len(value) < 3 || value[0] != 0x1f || value[1] != 0x8b {
		return nil, false
	}
	reader, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return nil, false
	}
	unpacked, err := io.ReadAll(io.LimitReader(reader, unpackedBytes))
	return unpacked, err == nil
}

// entryDelete removes an entry if it still is the one that was shown.
func (c *Console) entryDelete(r *request) error {
	key, version, err := r.namedVersion()
	if err != nil {
		return err
	}
	cache := r.PathValue("cache")
	call := &verb.Call{Verb: statement.CompareDelete, Key: key, Condition: verb.IfVersion, IfVersion: version}
	ctx, cancel := r.bounded()
	defer cancel()
	err = c.db.Cache(cache).As(r.client(), "").One(ctx, call)
	if errors.Is(err, fault.ErrNotStored) || errors.Is(err, fault.ErrMiss) {
		return &refusal{http.StatusConflict, "The entry has changed", "Nothing was deleted: the entry was written or removed after the page was loaded. Look at it again."}
	}
	if err != nil {
		return err
	}
	r.log("entry deleted", "cache", cache, "key", r.logged(key))
	return r.back("caches/"+cache+"/entries", "deleted")
}
