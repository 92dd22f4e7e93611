package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/stat"
)

func newTop() *cobra.Command {
	var (
		s statistics
		t topSource
	)
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the busiest caches live, with their prefixes and clients",
		Long: `Show the caches and the sessions as "howdah stat" does, the busiest first, and below them
the prefixes that fill the first cache (from a sample of its entries, every ten seconds)
and the clients of the server by library and name.

It shows the running "howdah serve" of --data-dir: its database and its clients. With --server
it shows what that process counts of its own database, and its clients. With --database-url it
shows that database; with --server too, also the clients of that server, which should serve it.

In a terminal it refreshes until q or Ctrl-C, and keys change what it shows:

  r reads   w writes   d deletes   h hit ratio, the lowest first   e entries
  b bytes on disk   x dead rows   u use of the budget   n name
  p prefixes on and off   c clients on and off

Elsewhere it prints once, or every --interval if that is given. docs/operations.md
explains the columns.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(stat.Sorts(), t.sort) {
				return usagef("--sort must be one of %s", strings.Join(stat.Sorts(), ", "))
			}
			if err := t.choose(cmd); err != nil {
				return err
			}
			if t.database != nil {
				ctx, cancel := context.WithTimeout(cmd.Context(), commandTimeout)
				defer cancel()
				if err := t.database.connect(ctx); err != nil {
					return err
				}
			}
			defer t.close()
			return s.run(cmd, &t)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&t.url, "database-url", "", "PostgreSQL to look at (default: the embedded one of the \"howdah serve\" of --data-dir)")
	fromEnvironment(f, "database-url")
	t.process.addServer(cmd)
	f.StringVar(&t.sort, "sort", "reads", "what comes first: "+strings.Join(stat.Sorts(), ", "))
	f.Var(&s.interval, "interval", "time between two measurements; rates are averages over it (default 2s)")
	f.BoolVar(&s.once, "once", false, "print once and exit, also in a terminal")
	s.output.add(cmd)
	mustComplete(cmd, "sort", cobra.FixedCompletions(stat.Sorts(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// besideInterval is how often the prefixes and the clients are read, which take more than
// the rest.
const besideInterval = 10 * time.Second

// Most lines of what is shown below the table.
const (
	topPrefixes = 10
	topClients  = 8
)

// topSource is a database, or what a server says of its own, and what is shown beside it.
type topSource struct {
	url      string // of --database-url
	process  processFlags
	database *databaseSource // nil: counted is shown
	counted  *serverSource
	server   *address // whose clients are shown; nil: none

	sort              string
	prefixes, clients bool // shown

	beside  time.Time // when prefixes and clients were read
	filled  *stat.BigKeys
	groups  []clientGroup
	refused string // why the clients are not known
}

// topFigures is what a topSource says at one moment.
type topFigures struct {
	Report   *stat.Report   `json:"report"`           // null: a server was asked, and no database
	Server   *serverFigures `json:"server,omitempty"` // what it counts
	Prefixes *stat.BigKeys  `json:"prefixes"`
	Clients  []clientGroup  `json:"clients"` // null: no server was asked, or it did not answer

	source *topSource
}

// choose finds out what is to be shown. Nobody is shown the database of one server beside the
// clients of another, unless both were named.
func (t *topSource) choose(cmd *cobra.Command) error {
	t.prefixes, t.clients = true, true
	here := typed(cmd, "data-dir")
	if here && (typed(cmd, "server") || typed(cmd, "database-url")) {
		return usagef("--data-dir says which server and which database: give no --server and no --database-url")
	}
	if here {
		t.url = "" // that of the environment
	}
	named := t.process.server != "" && !here
	if named || t.url == "" {
		at, err := t.process.withPassword()
		if err == nil {
			t.server = &at
		} else if named {
			return err
		}
	}
	if named && t.url == "" {
		t.counted = &serverSource{process: &t.process}
		return nil
	}
	database := databaseFlags{url: t.url, dataDir: t.process.dataDir}
	databaseURL, err := database.find()
	t.database = &databaseSource{url: databaseURL}
	t.clients = t.server != nil
	return err
}

func (t *topSource) close() {
	if t.database != nil {
		t.database.close()
	}
}

func (t *topSource) read(ctx context.Context) (figures, error) {
	if t.database == nil {
		counted, err := t.counted.read(ctx)
		if err != nil {
			return nil, err
		}
		if t.beside.IsZero() || time.Since(t.beside) >= besideInterval {
			t.beside = time.Now()
			t.readBeside(ctx, nil)
		}
		return &topFigures{Server: counted.(*serverFigures), Clients: t.groups, source: t}, nil
	}
	found, err := t.database.read(ctx)
	if err != nil {
		return nil, err
	}
	report := found.(*stat.Report)
	report.Sort(t.sort)
	if first := firstCache(report); t.beside.IsZero() || time.Since(t.beside) >= besideInterval || first != nil && t.filled != nil && t.filled.Cache != first.Name {
		t.beside = time.Now()
		t.readBeside(ctx, first)
	}
	return &topFigures{Report: report, Prefixes: t.filled, Clients: t.groups, source: t}, nil
}

// firstCache is the cache that comes first, which is not the sessions.
func firstCache(r *stat.Report) *stat.Row {
	for i := range r.Tables {
		if !r.Tables[i].Sessions {
			return &r.Tables[i]
		}
	}
	return nil
}

// readBeside reads prefixes and clients. What cannot be read is not shown: the table is.
func (t *topSource) readBeside(ctx context.Context, first *stat.Row) {
	t.filled, t.groups, t.refused = nil, nil, ""
	if first != nil && t.prefixes {
		servers, err := t.database.beside.servers(ctx, t.database.conn)
		if err == nil {
			var sample *stat.Sampling
			if sample, err = stat.SampleCache(ctx, t.database.conn, first.Name, stat.MaxSampled, servers...); err == nil {
				t.filled = stat.BigPrefixes(first, sample, nil, topPrefixes)
			}
		}
	}
	if t.server != nil && t.clients {
		var err error
		if t.groups, err = readClients(ctx, *t.server); err != nil {
			t.refused = oneLine(err)
		}
	}
}

// hint names the keys.
func (t *topSource) hint() string {
	return "by " + t.sort + "; r w d h e b x u n sort, p prefixes, c clients"
}

// handleKey changes what is shown.
func (t *topSource) handleKey(key byte) {
	sorts := map[byte]string{'r': "reads", 'w': "writes", 'd': "deletes", 'h': "hit", 'e': "entries", 'b': "bytes", 'x': "dead", 'u': "used", 'n': "name"}
	switch {
	case sorts[key] != "":
		t.sort = sorts[key]
	case key == 'p':
		t.prefixes, t.beside = !t.prefixes, time.Time{}
	case key == 'c':
		t.clients, t.beside = !t.clients && t.server != nil, time.Time{}
	}
}

// Text implements figures: the table, and below it what there is room for.
func (f *topFigures) Text(width, height int) string {
	if f.Server != nil {
		text := f.Server.Text(width, height)
		if f.source.clients {
			text += "\n" + clientsText(f.Clients, f.source.refused)
		}
		return text
	}
	f.Report.Sort(f.source.sort)
	var below strings.Builder
	if f.source.prefixes && f.Prefixes != nil {
		below.WriteString("\n" + f.Prefixes.Text(width))
	}
	if f.source.clients {
		below.WriteString("\n" + clientsText(f.Clients, f.source.refused))
	}
	lines := strings.Count(below.String(), "\n")
	const leastTable = 8 // lines
	if height > 0 && height-lines < leastTable {
		return f.Report.Text(width, height)
	}
	return f.Report.Text(width, max(0, height-lines)) + below.String()
}

// clientGroup is the clients of a server with one library and one name.
type clientGroup struct {
	Library string `json:"library"` // as CLIENT SETINFO said; "": it did not
	Name    string `json:"name"`    // as CLIENT SETNAME said; "": it did not
	Clients int    `json:"clients"`
}

// readClients asks a server for its clients.
func readClients(ctx context.Context, server address) ([]clientGroup, error) {
	a, err := dialServer(ctx, server, "")
	if err != nil {
		return nil, err
	}
	defer a.close()
	reply, err := a.ask(ctx, "CLIENT", "LIST")
	if err != nil {
		return nil, err
	}
	return groupClients(string(reply.Str)), nil
}

// groupClients counts the lines of CLIENT LIST by library and name, the most first.
func groupClients(list string) []clientGroup {
	counts := make(map[clientGroup]int)
	lines := bufio.NewScanner(strings.NewReader(list))
	for lines.Scan() {
		var g clientGroup
		version := ""
		for field := range strings.FieldsSeq(lines.Text()) {
			switch name, value, _ := strings.Cut(field, "="); name {
			case "name":
				g.Name = value
			case "lib-name":
				g.Library = value
			case "lib-ver":
				version = value
			}
		}
		g.Library = strings.TrimSpace(g.Library + " " + version)
		counts[g]++
	}
	groups := []clientGroup{}
	for g, n := range counts {
		g.Clients = n
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b clientGroup) int {
		return cmp.Or(cmp.Compare(b.Clients, a.Clients), cmp.Compare(a.Library, b.Library), cmp.Compare(a.Name, b.Name))
	})
	return groups
}

func clientsText(groups []clientGroup, refused string) string {
	if refused != "" {
		return "clients: " + refused + "\n"
	}
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "CLIENTS\tLIBRARY\tNAME")
	for i, g := range groups {
		if i == topClients {
			fmt.Fprintf(out, "... %d more\n", len(groups)-i)
			break
		}
		fmt.Fprintf(out, "%d\t%s\t%s\n", g.Clients, cmp.Or(g.Library, "-"), cmp.Or(g.Name, "-"))
	}
	_ = out.Flush()
	return b.String()
}
