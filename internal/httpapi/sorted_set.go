package httpapi

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/values"
)

// score is a score in JSON: a number, or "inf" and "-inf", for which JSON has none.
type score float64

func (s score) MarshalJSON() ([]byte, error) {
	switch f := float64(s); {
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	default:
		return json.Marshal(f)
	}
}

func (s *score) UnmarshalJSON(text []byte) error {
	var quoted string
	if json.Unmarshal(text, &quoted) != nil {
		return json.Unmarshal(text, (*float64)(s))
	}
	f, err := parseScore("score", quoted)
	*s = score(f)
	return err
}

func parseScore(name, text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) {
		return 0, problemf(badRequest, "%s %.50q is not a score; give a number, inf or -inf.", name, text)
	}
	return f, nil
}

// scored is a member of a sorted set in JSON.
type scored struct {
	Member string `json:"member"`
	Score  *score `json:"score"`
}

// getSortedSet answers members in the order of their scores: those from rank start to
// stop, or with min or max those with these scores.
func (a *api) getSortedSet(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"), "start", "stop", "min", "max", "offset", "limit", "reverse", "encoding")
	if err != nil {
		return err
	}
	read := c.byRank
	if c.values.Has("min") || c.values.Has("max") {
		read = c.byScore
	}
	found, err := read(r)
	if err != nil {
		return err
	}
	names := make([]string, len(found))
	for i, m := range found {
		names[i] = m.Name
	}
	written, encoding, err := c.encodeAll(names)
	if err != nil {
		return err
	}
	answer := struct {
		Members  []scored `json:"members"`
		Encoding string   `json:"encoding,omitempty"`
	}{make([]scored, len(found)), encoding}
	for i, m := range found {
		s := score(m.Score)
		answer.Members[i] = scored{written[i], &s}
	}
	return c.write(w, r, answer)
}

func (c *collection) byRank(r *http.Request) ([]values.Member, error) {
	if c.values.Has("offset") || c.values.Has("limit") {
		return nil, problemf(badRequest, "offset and limit go with min and max; ranks have start and stop.")
	}
	start, err := c.integer("start", 0)
	if err != nil {
		return nil, err
	}
	stop, err := c.integer("stop", -1)
	if err != nil {
		return nil, err
	}
	reverse, err := c.flag("reverse")
	if err != nil {
		return nil, err
	}
	return c.cache.ZRange(r.Context(), c.key, start, stop, reverse)
}

func (c *collection) byScore(r *http.Request) ([]values.Member, error) {
	if c.values.Has("start") || c.values.Has("stop") {
		return nil, problemf(badRequest, "Give ranks (start and stop) or scores (min and max), not both.")
	}
	within := values.ScoreRange{Low: math.Inf(-1), High: math.Inf(1)}
	for name, end := range map[string]*float64{"min": &within.Low, "max": &within.High} {
		text := c.values.Get(name)
		if text == "" {
			continue
		}
		var err error
		if *end, err = parseScore(name, text); err != nil {
			return nil, err
		}
	}
	offset, err := c.integer("offset", 0)
	if err != nil {
		return nil, err
	}
	limit, err := c.integer("limit", -1)
	if err != nil {
		return nil, err
	}
	reverse, err := c.flag("reverse")
	if err != nil {
		return nil, err
	}
	return c.cache.ZRangeByScore(r.Context(), c.key, within, reverse, offset, limit)
}

// patchSortedSet removes members and stores scores, all or none.
func (a *api) patchSortedSet(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"))
	if err != nil {
		return err
	}
	var body struct {
		change
		Add []scored `json:"add"`
	}
	if err := readJSON(w, r, a.maxManyBytes, &body); err != nil {
		return err
	}
	if err := checkEncoding(body.Encoding); err != nil {
		return err
	}
	edit := core.ZChange{TTL: body.ttl()}
	for i, m := range body.Add {
		if m.Score == nil {
			return problemf(badRequest, "Member %d lacks its score.", i)
		}
		name, err := decode(m.Member, body.Encoding)
		if err != nil {
			return err
		}
		edit.Add = append(edit.Add, values.Member{Score: float64(*m.Score), Name: string(name)})
	}
	if edit.Remove, err = decodeAll(body.Remove, body.Encoding); err != nil {
		return err
	}
	n, err := c.cache.ZEdit(r.Context(), c.key, edit)
	if err != nil {
		return err
	}
	return writeChanged(w, n)
}

// incrementScore serves POST .../sorted-sets/{key}/increment?member=.
func (a *api) incrementScore(w http.ResponseWriter, r *http.Request) error {
	encoded, err := collectionAction(r, "increment")
	if err != nil {
		return err
	}
	c, err := a.collection(r, encoded, "member", "delta", "ttl")
	if err != nil {
		return err
	}
	if len(c.values["member"]) != 1 {
		return problemf(badRequest, "Name one member: ?member=.")
	}
	delta := 1.0
	if text := c.values.Get("delta"); text != "" {
		if delta, err = parseScore("delta", text); err != nil {
			return err
		}
	}
	ttl, err := ttlOf(r, c.values)
	if err != nil {
		return err
	}
	sum, err := c.cache.ZIncrement(r.Context(), c.key, c.values.Get("member"), delta, ttl)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]score{"score": score(sum)})
}
