package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/internal/rediscli"
	"github.com/howdah/howdah/internal/resp"
)

// Bounds of the prompt.
const (
	maxLine    = 128 << 10 // bytes of a command line
	maxShown   = 64 << 10  // bytes of a reply
	keysListed = 10_000    // entries of a cache in which KEYS may run
)

// promptView is the page of the prompt.
type promptView struct {
	Cache   string
	Line    string // what stands in the field
	Ran     string // the line that was run
	Reply   string // as redis-cli writes it
	Failed  bool   // the reply is an error
	Cut     bool
	Refused string // why the line was not run
	Figures bool   // the visitor may ask for figures only
	Reads   bool   // the visitor may not change anything
}

func (r *request) showPrompt(status int, view *promptView) error {
	view.Cache = r.PathValue("cache")
	view.Figures, view.Reads = !r.visitor.rights.has(manage), r.console.readOnly
	return r.show(status, "prompt.html", frame{Title: view.Cache + ": prompt", Section: "caches", Page: view})
}

// promptPage shows the prompt. A line in the address is not run.
func (c *Console) promptPage(r *request) error {
	if _, err := r.config(r.PathValue("cache")); err != nil {
		return err
	}
	line := r.URL.Query().Get("line")
	return r.showPrompt(http.StatusOK, &promptView{Line: line[:min(len(line), maxLine)]})
}

// runLine runs a line of the prompt on a connection of its own, which ends with the answer.
func (c *Console) runLine(r *request) error {
	config, err := r.config(r.PathValue("cache"))
	if err != nil {
		return err
	}
	line := strings.TrimSpace(r.PostForm.Get("line"))
	refuse := func(status int, why string) error {
		return r.showPrompt(status, &promptView{Line: line, Refused: why})
	}
	words, err := resp.SplitWords(line)
	switch {
	case len(line) > maxLine:
		return refuse(http.StatusUnprocessableEntity, "The line is longer than 128 KiB.")
	case err != nil:
		return refuse(http.StatusUnprocessableEntity, "The quotes in the line do not match.")
	case len(words) == 0:
		return refuse(http.StatusUnprocessableEntity, "Type a command, such as TTL and a key.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTime)
	defer cancel()
	release, err := c.lookup(ctx)
	if err != nil {
		return err
	}
	defer release()
	conn, err := r.commands(config.Name)
	if err != nil {
		return err
	}
	defer conn.close()
	described, err := conn.engine.Describe(bytesOf(words))
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, visible(strings.TrimPrefix(err.Error(), "ERR "))+".")
	}
	if why := refusedLine(described, words); why != "" {
		return refuse(http.StatusUnprocessableEntity, why)
	}
	if why := r.withoutRight(described); why != "" {
		return refuse(http.StatusForbidden, why)
	}
	if described.Name == "keys" {
		if n, err := c.db.Cache(config.Name).Estimate(ctx); err != nil {
			return err
		} else if n > keysListed {
			return refuse(http.StatusUnprocessableEntity, "KEYS reads every key, and there are about "+number(n)+". Choose them on the page Entries, or by SCAN 0 MATCH and COUNT.")
		}
	}
	return r.run(ctx, conn, described, line, words)
}

// run runs a line that may be run.
func (r *request) run(ctx context.Context, conn *commands, described redisapi.Described, line string, words []string) error {
	if described.Writes { // before it runs: its outcome may stay unknown
		r.audit(r.PathValue("cache"), "command run", r.lineLogged(described, words))
	} else {
		r.log("command run", "cache", r.PathValue("cache"), "detail", r.lineLogged(described, words))
	}
	reply, err := conn.do(ctx, words...)
	if err != nil {
		return err
	}
	left := maxShown + utf8.UTFMax
	text := rediscli.Standard.Append(nil, startOf(reply, &left))
	view := &promptView{Ran: visible(line), Failed: reply.Kind == resp.Error}
	if len(text) > maxShown {
		text, view.Cut = text[:maxShown], true
		for !utf8.Valid(text[max(0, len(text)-utf8.UTFMax):]) && len(text) > maxShown-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	view.Reply = visible(string(text))
	return r.showPrompt(http.StatusOK, view)
}

// startOf is a reply whose strings have left bytes together: more than the page shows. The rest
// of a large value would be written out, at many times its size, and then be cut off.
func startOf(reply resp.Reply, left *int) resp.Reply {
	reply.Str = reply.Str[:min(len(reply.Str), *left)]
	*left -= len(reply.Str)
	for i := range reply.Elems {
		reply.Elems[i] = startOf(reply.Elems[i], left)
	}
	return reply
}

// lineLogged is a line as the log has it: the command and its keys, masked, and how many other
// arguments there are.
func (r *request) lineLogged(described redisapi.Described, words []string) string {
	text := strings.ToUpper(strings.ReplaceAll(described.Name, "|", " "))
	for i, key := range described.Keys {
		if i == 8 {
			text += " …"
			break
		}
		text += " " + r.logged(key)
	}
	if others := len(words) - 1 - strings.Count(described.Name, "|") - len(described.Keys); others > 0 {
		text += " and " + some(others, "argument")
	}
	return text
}

func bytesOf(words []string) (all [][]byte) {
	for _, word := range words {
		all = append(all, []byte(word))
	}
	return all
}

// Why commands are not run by anybody.
const (
	noConnection = "Each line has a connection of its own, which ends with the answer: there is nothing to set on it or to ask about it. The page Clients lists the connections of this server."
	noSecond     = "Each line has a connection of its own, which ends with the answer. For several commands at once use EVAL, or a transaction in redis-cli."
	noMessages   = "A page has one answer, and this command has more that come later. Use redis-cli."
	noWaiting    = "This command waits for others, and a page does not. Use redis-cli, or the command that does not wait."
	noServer     = "This command is about a server, and the prompt works on one cache. The other pages have most of it; use redis-cli for the rest."
	noOther      = "The prompt works on this cache alone: this command reaches into another."
	noEmptying   = "To empty the cache use “Empty the cache …” on its page Settings, which counts first and asks for the name."
	noAllScripts = "This concerns the scripts of all servers and clients of the database. Use redis-cli."
)

// refusedNames are commands that nobody runs in the prompt.
var refusedNames = map[string]string{
	"flushdb": noEmptying, "flushall": noEmptying, "select": noOther, "move": noOther, "swapdb": noOther,
	"script|flush": noAllScripts, "script|kill": noAllScripts, "function|flush": noAllScripts, "function|kill": noAllScripts, "function|restore": noAllScripts,
	"monitor": noMessages, "wait": noWaiting, "waitaof": noWaiting, "howdah.info": noServer,
}

// refusedGroups are groups of commands that nobody runs, but for those in allowedNames.
var refusedGroups = map[string]string{
	"connection": noConnection, "transactions": noSecond, "pubsub": noMessages, "server": noServer, "cluster": noServer,
}

// allowedNames are the commands of refused groups that do no harm.
var allowedNames = []string{"ping", "echo", "publish", "spublish", "dbsize", "time", "memory|usage"}

// refusedLine says why nobody may run a line; "": it depends on the rights.
func refusedLine(d redisapi.Described, words []string) string {
	if why := refusedNames[d.Name]; why != "" {
		return why
	}
	if why := refusedGroups[d.Group]; why != "" && !slices.Contains(allowedNames, d.Name) {
		return why
	}
	toOther := d.Name == "copy" && slices.ContainsFunc(words[3:], func(word string) bool { return strings.EqualFold(word, "DB") })
	switch {
	case d.Admin:
		return noServer
	case d.Blocks:
		return noWaiting
	case toOther:
		return noOther
	}
	return ""
}

// figuresOnly are the commands that tell neither values nor keys.
var figuresOnly = []string{
	"exists", "type", "ttl", "pttl", "expiretime", "pexpiretime", "strlen", "hlen", "llen", "scard", "zcard", "dbsize", "time", "ping",
	"object|encoding", "object|freq", "object|idletime", "memory|usage",
}

// readNames are commands that only read, though the table does not say so.
var readNames = []string{"ping", "echo", "time", "script|exists", "function|list", "function|dump", "function|stats"}

// withoutRight says why this visitor may not run a command; "": the visitor may.
func (r *request) withoutRight(d redisapi.Described) string {
	reads := !d.Writes && (d.Reads || slices.Contains(readNames, d.Name))
	switch {
	case !r.visitor.rights.has(manage) && !slices.Contains(figuresOnly, d.Name):
		return "You are logged in as " + r.visitor.role + ", and your token shows no values and changes nothing. It may run " +
			strings.ToUpper(strings.ReplaceAll(strings.Join(figuresOnly, ", "), "|", " ")) + "."
	case !reads && r.console.readOnly:
		return "The server runs with --console-read-only: the prompt runs commands that read."
	}
	for _, key := range d.Keys {
		if _, masked := r.console.mask.Key(key); masked && !r.seesKeys() {
			return "The key is masked: keys like this one can be secrets. The server's token opens them."
		}
	}
	return ""
}
