package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/resp"
)

// monitorJSON is one line of MONITOR.
type monitorJSON struct {
	Time     time.Time `json:"time"`
	Database int       `json:"database"`
	Client   string    `json:"client"`
	Command  []string  `json:"command"`           // with keys, and the lengths of other arguments
	Dropped  int       `json:"dropped,omitempty"` // instead of a command: how many were not shown
}

func newMonitor() *cobra.Command {
	var process processFlags
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "monitor",
		Short: "Show the commands of all Redis clients of a server as they come",
		Long: `Show the commands of all Redis clients of a server as they come, until Ctrl-C:
commands and keys, of values only the lengths, of keys with a secret only what stands
before it, and at most 1,000 lines a second; a line says how many it left out. A
server that runs with --monitor=false refuses it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return showCommands(ctx, &process, &output, cmd.OutOrStdout())
		},
	}
	process.addServer(cmd)
	output.add(cmd)
	return cmd
}

// showCommands prints the lines of MONITOR until ctx ends or the server does.
func showCommands(ctx context.Context, process *processFlags, output *outputFormat, out io.Writer) error {
	a, err := process.connect(ctx, "")
	if err != nil {
		return err
	}
	defer a.close()
	defer context.AfterFunc(ctx, a.close)()
	if _, err := a.ask(ctx, "MONITOR"); err != nil {
		return err
	}
	for {
		reply, err := resp.ReadReply(a.reader)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("the connection to the server was lost: %w", err)
		}
		line, err := readMonitorLine(reply.Str)
		if err != nil {
			return err
		}
		text := string(reply.Str) + "\n"
		if line.Dropped > 0 {
			text = fmt.Sprintf("# %d commands were left out\n", line.Dropped)
		}
		if err := output.print(out, line, text); err != nil {
			return err
		}
	}
}

// readMonitorLine takes a line apart, such as
//
//	1339518083.107412 [0 127.0.0.1:60866] "get" "k"
func readMonitorLine(text []byte) (line monitorJSON, err error) {
	wrong := errors.New("the server answers MONITOR in another form; is it of another version?")
	before, words, found := bytes.Cut(text, []byte("] "))
	at, who, between := strings.Cut(string(before), " [")
	seconds, micros, dotted := strings.Cut(at, ".")
	database, client, spaced := strings.Cut(who, " ")
	s, secondsErr := strconv.ParseInt(seconds, 10, 64)
	us, microsErr := strconv.ParseInt(micros, 10, 64)
	n, databaseErr := strconv.Atoi(database)
	if !found || !between || !dotted || !spaced || secondsErr != nil || microsErr != nil || databaseErr != nil {
		return line, wrong
	}
	parser := resp.NewParser(resp.Limits{}) // they are quoted as those of an inline command
	parser.SetAuthenticated(true)
	args, _, err := parser.Parse(append(words, '\r', '\n'))
	if err != nil || len(args) == 0 {
		return line, wrong
	}
	line = monitorJSON{Time: time.Unix(s, us*1000), Database: n, Client: client}
	for _, arg := range args {
		line.Command = append(line.Command, strings.ToValidUTF8(string(arg), "\uFFFD"))
	}
	if len(args) == 2 && line.Command[0] == "howdah.dropped" {
		if line.Dropped, err = strconv.Atoi(line.Command[1]); err != nil {
			return line, wrong
		}
		line.Command = nil
	}
	return line, nil
}
