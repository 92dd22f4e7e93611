package httpapi

import (
	"net/http"
	"slices"

	"github.com/howdah/howdah/internal/core"
)

// members is a set in JSON.
type members struct {
	Members  []string `json:"members"`
	Encoding string   `json:"encoding,omitempty"`
}

// getSet answers the members of a set in the order of their bytes, or those of the
// parameters "member" that are in it.
func (a *api) getSet(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"), "member", "encoding")
	if err != nil {
		return err
	}
	var list []string
	if asked := c.values["member"]; asked != nil {
		are, err := c.cache.SIsMember(r.Context(), c.key, asked)
		if err != nil {
			return err
		}
		for i, member := range asked {
			if are[i] {
				list = append(list, member)
			}
		}
	} else if list, err = c.cache.SMembers(r.Context(), c.key); err != nil {
		return err
	}
	slices.Sort(list)
	written, encoding, err := c.encodeAll(list)
	if err != nil {
		return err
	}
	return c.write(w, r, members{written, encoding})
}

// patchSet removes and adds members, all or none.
func (a *api) patchSet(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"))
	if err != nil {
		return err
	}
	var body struct {
		change
		Add []string `json:"add"`
	}
	if err := readJSON(w, r, a.maxManyBytes, &body); err != nil {
		return err
	}
	if err := checkEncoding(body.Encoding); err != nil {
		return err
	}
	edit := core.SChange{TTL: body.ttl()}
	if edit.Add, err = decodeAll(body.Add, body.Encoding); err != nil {
		return err
	}
	if edit.Remove, err = decodeAll(body.Remove, body.Encoding); err != nil {
		return err
	}
	n, err := c.cache.SEdit(r.Context(), c.key, edit)
	if err != nil {
		return err
	}
	return writeChanged(w, n)
}
