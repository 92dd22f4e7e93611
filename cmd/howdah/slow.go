package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/resp"
)

// slowCalls is what the flags of "howdah slow" ask for.
type slowCalls struct {
	process processFlags
	count   int
	follow  bool
	output  outputFormat
}

// slowJSON is one slow call. Times are in microseconds.
type slowJSON struct {
	ID        int64     `json:"id"`
	Time      time.Time `json:"time"`
	Duration  int64     `json:"duration_us"`
	Queued    int64     `json:"queued_us"`    // waiting to be sent
	Statement int64     `json:"statement_us"` // in PostgreSQL
	Blocked   int64     `json:"blocked_us"`   // another transaction held the row
	Op        string    `json:"op"`           // read or write
	Failed    bool      `json:"failed"`
	Command   string    `json:"command"` // of Redis; "": the verb says it
	Verb      string    `json:"verb"`
	Cache     string    `json:"cache"`
	Key       string    `json:"key"` // the first one, without its secret
	Keys      int64     `json:"keys"`
	Batch     int64     `json:"batch"` // keys of the statement; 0: not known
	Door      string    `json:"door"`  // RESP, HTTP or Go
	Client    string    `json:"client"`
	Library   string    `json:"library"`
	Version   string    `json:"version"`
	Address   string    `json:"address"`
}

func newSlow() *cobra.Command {
	var s slowCalls
	cmd := &cobra.Command{
		Use:   "slow",
		Short: "Show the calls of a server that took long, and where their time went",
		Long: `Show the last calls of a server that took as long as --slow-call of "howdah serve"
or longer: those of its Redis clients, over HTTP, and its own. QUEUED is the time
before they were sent, STATEMENT that of PostgreSQL, and BLOCKED that of another
transaction that held the row. Keys are shown without their secrets, values never.

With --follow it goes on, with those that come.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return s.run(ctx, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	s.process.addServer(cmd)
	f.IntVarP(&s.count, "count", "n", 0, "how many, the last ones (default: all that the server keeps)")
	f.BoolVarP(&s.follow, "follow", "f", false, "go on with those that come")
	s.output.add(cmd)
	return cmd
}

// slowInterval is the time between two looks with --follow.
const slowInterval = time.Second

func (s *slowCalls) run(ctx context.Context, out io.Writer) error {
	if s.count < 0 {
		return usagef("--count must not be negative")
	}
	last := int64(-1)
	for first := true; ; first = false {
		calls, err := s.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if len(calls) > 0 && calls[0].ID < last { // the server was started again
			last = -1
		}
		calls = slices.DeleteFunc(calls, func(c slowJSON) bool { return c.ID <= last })
		slices.Reverse(calls) // the last one is the newest, as in a log
		if first && s.count > 0 {
			calls = calls[max(0, len(calls)-s.count):]
		}
		if err := s.print(out, calls, first); err != nil || !s.follow {
			return err
		}
		if len(calls) > 0 {
			last = calls[len(calls)-1].ID
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(slowInterval):
		}
	}
}

// read asks for all calls that the server keeps, the newest first.
func (s *slowCalls) read(ctx context.Context) ([]slowJSON, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	a, err := s.process.connect(ctx, "")
	if err != nil {
		return nil, err
	}
	defer a.close()
	reply, err := a.ask(ctx, "HOWDAH.SLOWLOG", "-1")
	if err != nil {
		return nil, err
	}
	calls := make([]slowJSON, 0, len(reply.Elems))
	for _, elem := range reply.Elems {
		call, err := readSlowCall(elem)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// readSlowCall takes the pairs of names and values apart.
func readSlowCall(reply resp.Reply) (c slowJSON, err error) {
	if len(reply.Elems)%2 != 0 {
		return c, errors.New("the server answers HOWDAH.SLOWLOG in another form; is it of another version?")
	}
	var microseconds, failed int64
	numbers := map[string]*int64{
		"id": &c.ID, "time_us": &microseconds, "duration_us": &c.Duration, "queued_us": &c.Queued, "statement_us": &c.Statement,
		"blocked_us": &c.Blocked, "failed": &failed, "keys": &c.Keys, "batch": &c.Batch,
	}
	texts := map[string]*string{
		"op": &c.Op, "command": &c.Command, "verb": &c.Verb, "cache": &c.Cache, "key": &c.Key, "door": &c.Door, "name": &c.Client,
		"library": &c.Library, "library_version": &c.Version, "address": &c.Address,
	}
	for i := 0; i < len(reply.Elems); i += 2 {
		name, value := reply.Elems[i].Str, &reply.Elems[i+1]
		if number := numbers[string(name)]; number != nil {
			*number = value.Int
		} else if text := texts[string(name)]; text != nil {
			*text = strings.ToValidUTF8(string(value.Str), "\uFFFD")
		}
	}
	c.Time, c.Failed = time.UnixMicro(microseconds), failed != 0
	return c, nil
}

func (s *slowCalls) print(out io.Writer, calls []slowJSON, first bool) error {
	if s.output.json() {
		for _, call := range calls {
			if err := writeJSON(out, call); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if first {
		fmt.Fprintln(table, "TIME\tTOOK\tQUEUED\tSTATEMENT\tBLOCKED\tCACHE\tCOMMAND\tKEY\tCLIENT")
	}
	for i := range calls {
		c := &calls[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Time.Format(time.DateTime),
			milliseconds(c.Duration), milliseconds(c.Queued), milliseconds(c.Statement), milliseconds(c.Blocked), c.Cache, c.what(), c.keys(), c.who())
	}
	return table.Flush()
}

// milliseconds writes microseconds as milliseconds; "-" for none.
func milliseconds(us int64) string {
	if us == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fms", float64(us)/1000)
}

func (c *slowJSON) what() string {
	what := strings.ReplaceAll(c.Command, "|", " ")
	if what == "" {
		what = c.Verb
	}
	if c.Failed {
		what += " (failed)"
	}
	return what
}

func (c *slowJSON) keys() string {
	switch c.Keys {
	case 0:
		return "-"
	case 1:
		return fmt.Sprintf("%q", c.Key)
	}
	return fmt.Sprintf("%q and %d more", c.Key, c.Keys-1)
}

func (c *slowJSON) who() string {
	var known []string
	for _, part := range []string{c.Door, c.Client, c.Library, c.Address} {
		if part != "" {
			known = append(known, part)
		}
	}
	return strings.Join(known, " ")
}
