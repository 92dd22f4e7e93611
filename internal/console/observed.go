package console

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/howdah/howdah/internal/observe"
)

// removalsShown bounds the page of removals.
const removalsShown = 200

// removalRow is one line of what ended entries.
type removalRow struct {
	At, Ago string
	Cache   string
	Reason  string
	Key     *shownKey // nil: it concerned many
	Whole   bool
	Count   string
	Detail  string
	Unsure  bool
	Command string
	Who     string // client or role
	Door    string
	Library string
	Address string
}

func (r *request) removalRows(f observe.Filter) []removalRow {
	now := r.console.now()
	f.NoPersons = !r.visitor.rights.has(persons)
	var rows []removalRow
	for _, removal := range r.console.removals.Recent(f) {
		row := removalRow{
			At: clock(removal.Time), Ago: ago(now, removal.Time), Cache: removal.Cache, Reason: string(removal.Reason), Whole: removal.Whole,
			Detail: visible(r.detail(&removal)), Unsure: removal.Unsure, Command: visible(removal.Command), Who: visible(removal.Name), Door: removal.Door,
			Library: visible(removal.Library + " " + removal.Version), Address: visible(removal.Address),
		}
		if removal.Role != "" {
			row.Who = removal.Role
		}
		if removal.Whole && removal.Count != observe.Unknown {
			row.Count = entriesText(removal.Count)
		}
		if removal.Key != nil && (len(removal.Key) > 0 || !removal.Whole) {
			shown := r.shown(removal.Key)
			if len(removal.Key) < removal.KeyBytes {
				shown.Text, shown.Link, shown.Named = shown.Text+"…", "", false
			}
			row.Key = &shown
		}
		rows = append(rows, row)
	}
	return rows
}

// detail is what a removal says further, masked where it has tags, which can be named by keys.
func (r *request) detail(removal *observe.Removal) string {
	if removal.Reason == observe.Changed || r.seesKeys() {
		return removal.Detail
	}
	text, _ := r.console.mask.Key([]byte(removal.Detail))
	return text
}

// removalsView is the page of removals.
type removalsView struct {
	Off   bool
	Since string
	Kept  int
	Cache string
	Key   string
	Rows  []removalRow
}

func (c *Console) removalsPage(r *request) error {
	q := r.URL.Query()
	view := &removalsView{Off: c.removals == nil, Since: ago(c.now(), c.removals.Since()), Kept: c.removals.Kept(), Cache: q.Get("cache")}
	filter := observe.Filter{Cache: view.Cache, Limit: removalsShown}
	if view.Key = q.Get("key"); view.Key != "" {
		if err := r.lookable([]byte(view.Key)); err != nil {
			return err
		}
		filter.Key = []byte(view.Key)
	}
	view.Rows = r.removalRows(filter)
	return r.show(http.StatusOK, "removals.html", frame{Title: "Removals", Section: "removals", Live: true, Page: view})
}

// slowRow is one slow call.
type slowRow struct {
	At, Ago                            string
	What, Cache, Key                   string
	Duration, Queued, Statement, Block string
	Share                              *float64 // of the slowest one
	Keys, Batch                        int
	Failed                             bool
	Who, Library, Address, Door        string
}

// slowView is the page of slow calls.
type slowView struct {
	Off       bool
	Threshold string
	Kept      int
	Rows      []slowRow
}

func (c *Console) slowPage(r *request) error {
	view := &slowView{Off: !c.slow.On(), Threshold: duration(c.slow.Threshold()), Kept: c.slow.Max()}
	calls := c.slow.Recent(c.slow.Max())
	longest := time.Duration(0)
	for i := range calls {
		longest = max(longest, calls[i].Duration)
	}
	now := c.now()
	for i := range calls {
		call := &calls[i]
		view.Rows = append(view.Rows, slowRow{
			At: clock(call.Time), Ago: ago(now, call.Time), What: visible(call.What()), Cache: call.Cache, Key: visible(call.Key),
			Duration: duration(call.Duration), Queued: duration(call.Queued), Statement: duration(call.Statement), Block: duration(call.Blocked),
			Share: shareOf(int64(call.Duration), int64(longest)), Keys: call.Keys, Batch: call.Batch, Failed: call.Failed,
			Who: visible(call.Name), Library: visible(call.Library + " " + call.Version), Address: visible(call.Address), Door: call.Door,
		})
	}
	return r.show(http.StatusOK, "slow.html", frame{Title: "Slow calls", Section: "slow", Live: true, Page: view})
}

// clearSlow empties the list of slow calls.
func (c *Console) clearSlow(r *request) error {
	c.slow.Reset()
	r.audit("", "slow calls cleared", "")
	return r.back("slow", "cleared")
}

// prefixOf is the prefix that the address names. For those who see masked keys it ends with a
// separator: a secret that its form alone gives away has none.
func (r *request) prefixOf() ([]byte, error) {
	text := r.URL.Query().Get("below")
	prefix, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, badRequest("The prefix in the address is not base64url.")
	}
	if n := len(prefix); n > 0 && !r.seesKeys() && prefix[n-1] != ':' && prefix[n-1] != '/' {
		return nil, badRequest("The prefix in the address does not end with “:” or “/”.")
	}
	return prefix, nil
}
