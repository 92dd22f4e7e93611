package console

import (
	"crypto/hmac"
	"net/http"
	"time"
)

// formCookie identifies the browser that a form is written for.
const formCookie = "form"

// maxFormBytes bounds the body of a form: a key and a value of 64 KiB each, percent-encoded, the key
// three times, and a little.
const maxFormBytes = 1 << 20

// newFormKey returns what signs forms. Servers with the same tokens have the same, so that a
// form of one may be sent to another; without tokens it is one of this process.
func newFormKey(keys []*key) []byte {
	if len(keys) == 0 {
		return random(32)
	}
	return sign(keys[0].cookie, "howdah console form")
}

// formToken proves that a form was written for this browser. A browser that has no cookie yet
// gets one.
func (c *Console) formToken(w http.ResponseWriter, r *http.Request) string {
	id := cookieValue(r, formCookie)
	if id == "" {
		id = encode(random(16))
		c.setCookie(w, r, formCookie, id, 30*24*time.Hour)
	}
	return encode(sign(c.formKey, "form."+id))
}

// ownForm says whether a POST comes from a form of the console: by what the browser
// says of its origin, and by the token in the form.
func (c *Console) ownForm(w http.ResponseWriter, r *http.Request) bool {
	if c.crossSite.Check(r) != nil {
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if r.ParseForm() != nil {
		return false
	}
	id := cookieValue(r, formCookie)
	return id != "" && hmac.Equal([]byte(r.PostForm.Get("form")), []byte(encode(sign(c.formKey, "form."+id))))
}
