package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/howdah/howdah/internal/httpapi"
)

// confirmView is a page that asks to type a name before something is destroyed.
type confirmView struct {
	Title   string
	What    string // one sentence: what will happen
	Cache   string
	Action  string // relative to the root of the console
	Back    string // likewise
	Word    string // what has to be typed
	Label   string // what that is
	Count   int64
	Noun    string // what is counted; default: entry
	Nouns   string // several of them; default: entries
	AtLeast bool   // there are so many that not all were counted
	Hidden  map[string]string
	Warning string // the confirmation was not accepted, and why
	Button  string
}

// confirmed says whether a form confirms what its page showed: the word is right, and the
// count is still about the one that was shown. Otherwise the page is shown again.
func (r *request) confirmed(view *confirmView) bool {
	shown, err := strconv.ParseInt(r.PostForm.Get("count"), 10, 64)
	switch {
	case r.PostForm.Get("confirm") != view.Word:
		view.Warning = "Nothing was changed: what you typed is not the " + view.Label + "."
	case err != nil || differs(shown, view.Count):
		view.Warning = "Nothing was changed: the number is " + number(view.Count) + " now, and the page showed " + number(shown) + ". Confirm again."
	default:
		return true
	}
	return false
}

// differs says whether a count is no longer the one that somebody agreed to: by more than a
// tenth and more than ten.
func differs(shown, now int64) bool {
	change := max(now-shown, shown-now)
	return change > 10 && change > shown/10
}

func (r *request) confirm(status int, view *confirmView) error {
	view.Noun, view.Nouns = cmp.Or(view.Noun, "entry"), cmp.Or(view.Nouns, "entries")
	return r.show(status, "confirm.html", frame{Title: view.Title, Section: "caches", Page: view})
}

// count counts the live entries whose keys begin with prefix, for as long as a page may take.
// If that is too short, the count is what was found.
func (r *request) count(cache string, prefix []byte) (n int64, atLeast bool, err error) {
	ctx, cancel := r.bounded()
	defer cancel()
	release, err := r.console.lookup(ctx)
	if err != nil {
		return 0, false, err
	}
	defer release()
	c := limited(ctx, r.console.db.Cache(cache))
	if len(prefix) == 0 {
		if n, err = c.Count(ctx); !errors.Is(err, context.DeadlineExceeded) {
			return n, false, err
		}
		estimating, cancel := context.WithTimeout(r.Context(), statementTime)
		defer cancel()
		n, err = c.Estimate(estimating)
		return n, true, err
	}
	for _, err := range c.All(ctx, prefix) {
		if err != nil {
			if n > 0 && errors.Is(err, context.DeadlineExceeded) {
				return n, true, nil
			}
			return n, false, err
		}
		n++
	}
	return n, false, nil
}

func (r *request) flushView() (*confirmView, error) {
	name := r.PathValue("cache")
	n, atLeast, err := r.count(name, nil)
	return &confirmView{
		Title: "Empty " + name, Cache: name, Action: "caches/" + name + "/flush", Back: "caches/" + name,
		What: "All entries of the cache " + name + " will be removed. Its settings stay. This cannot be undone.",
		Word: name, Label: "name of the cache", Count: n, AtLeast: atLeast, Button: "Empty the cache",
	}, err
}

func (c *Console) flushPage(r *request) error {
	view, err := r.flushView()
	if err != nil {
		return err
	}
	return r.confirm(http.StatusOK, view)
}

func (c *Console) flush(r *request) error {
	view, err := r.flushView()
	if err != nil {
		return err
	}
	if !r.confirmed(view) {
		return r.confirm(http.StatusConflict, view)
	}
	if err := c.db.Cache(view.Cache).Flush(r.changing(r.Context())); err != nil {
		return err
	}
	r.log("cache emptied", "cache", view.Cache, "entries", view.Count)
	return r.back(view.Back, "flushed")
}

func (r *request) dropView() (*confirmView, error) {
	view, err := r.flushView()
	if err != nil {
		return nil, err
	}
	name := view.Cache
	view.Title, view.Action, view.Button = "Drop "+name, "caches/"+name+"/drop", "Drop the cache"
	view.What = "The cache " + name + " will be dropped, with its settings and all its entries. Programs that use it will fail until it is made again. This cannot be undone."
	return view, nil
}

func (c *Console) dropPage(r *request) error {
	view, err := r.dropView()
	if err != nil {
		return err
	}
	return r.confirm(http.StatusOK, view)
}

func (c *Console) drop(r *request) error {
	view, err := r.dropView()
	if err != nil {
		return err
	}
	if !r.confirmed(view) {
		return r.confirm(http.StatusConflict, view)
	}
	if err := c.db.DropCache(r.changing(r.Context()), view.Cache); err != nil {
		return asOwner(err, "SELECT howdah.drop_cache('"+view.Cache+"');")
	}
	r.log("cache dropped", "cache", view.Cache, "entries", view.Count)
	return r.back("", "dropped")
}

func (r *request) deletePrefixView(prefix string) (*confirmView, error) {
	name := r.PathValue("cache")
	if prefix == "" {
		return nil, badRequest("Give the prefix of the keys to delete. To remove all entries, empty the cache.")
	}
	n, atLeast, err := r.count(name, []byte(prefix))
	return &confirmView{
		Title: "Delete by prefix", Cache: name, Action: "caches/" + name + "/delete-prefix", Back: "caches/" + name + "/entries",
		What: "All entries of the cache " + name + " whose keys begin with “" + visible(prefix) + "” will be removed. This cannot be undone.",
		Word: prefix, Label: "prefix", Count: n, AtLeast: atLeast, Hidden: map[string]string{"prefix": prefix}, Button: "Delete the entries",
	}, err
}

func (c *Console) deletePrefixPage(r *request) error {
	view, err := r.deletePrefixView(r.URL.Query().Get("prefix"))
	if err != nil {
		return err
	}
	return r.confirm(http.StatusOK, view)
}

func (c *Console) deletePrefix(r *request) error {
	prefix := r.PostForm.Get("prefix")
	view, err := r.deletePrefixView(prefix)
	if err != nil {
		return err
	}
	if !r.confirmed(view) {
		return r.confirm(http.StatusConflict, view)
	}
	n, err := c.db.Cache(view.Cache).DeletePrefix(r.changing(r.Context()), []byte(prefix))
	if err != nil {
		return err
	}
	r.log("entries deleted by prefix", "cache", view.Cache, "prefix", r.logged([]byte(prefix)), "entries", n)
	return r.back(view.Back, "prefix")
}

// invalidateView asks for the name of the tag again, and says how many entries have it.
func (r *request) invalidateView(name, tag string) (*confirmView, error) {
	if tag == "" {
		return nil, badRequest("Give the tag whose entries end.")
	}
	if _, err := r.config(name); err != nil {
		return nil, err
	}
	ctx, cancel := r.bounded()
	defer cancel()
	release, err := r.console.lookup(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	n, atLeast, err := limited(ctx, r.console.db.Cache(name)).CountTag(ctx, tag, entriesLooked)
	return &confirmView{
		Title: "Invalidate a tag", Cache: name, Action: "tags/invalidate", Back: "watches",
		What: "All entries of the cache " + name + " with the tag “" + visible(tag) + "” will be removed. This cannot be undone.",
		Word: tag, Label: "tag", Count: n, AtLeast: atLeast, Hidden: map[string]string{"cache": name, "tag": tag}, Button: "Invalidate",
	}, err
}

func (c *Console) invalidatePage(r *request) error {
	q := r.URL.Query()
	view, err := r.invalidateView(q.Get("cache"), q.Get("tag"))
	if err != nil {
		return err
	}
	return r.confirm(http.StatusOK, view)
}

func (c *Console) invalidate(r *request) error {
	tag := r.PostForm.Get("tag")
	view, err := r.invalidateView(r.PostForm.Get("cache"), tag)
	if err != nil {
		return err
	}
	if !r.confirmed(view) {
		return r.confirm(http.StatusConflict, view)
	}
	n, err := c.db.Cache(view.Cache).InvalidateTags(r.changing(r.Context()), []string{tag})
	if err != nil {
		return err
	}
	r.log("tag invalidated", "cache", view.Cache, "tag", visible(tag), "entries", n)
	return r.back(view.Back, "tag")
}

// asOwner explains a refusal of the database: the server's role is not the owner of the
// schema, and what the owner can run instead.
func asOwner(err error, sql string) error {
	if status, _, _ := httpapi.Explain(err); status != http.StatusForbidden {
		return err
	}
	return &refusal{http.StatusForbidden, "The server's database role may not do this",
		"Nothing was changed. Making, changing and dropping caches needs the owner of the schema. As the owner, run: " + sql}
}

// statementsTime bounds a change of settings, which may rewrite a table.
const statementsTime = 5 * time.Minute
