package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/howdah/howdah/internal/rediscli"
	"github.com/howdah/howdah/internal/resp"
)

// cli is what the flags of "howdah cli" ask for.
type cli struct {
	address cliAddress
	output  outputFormat

	raw, noRaw bool
	repeat     int
	interval   float64
	stdin      bool // the last argument comes from standard input
	pipe       bool
	history    string

	in          io.Reader
	out, errOut io.Writer
}

func newCLI() *cobra.Command {
	var c cli
	cmd := &cobra.Command{
		Use:   "cli [flags] [--] [COMMAND [ARGUMENT...]]",
		Short: "Type commands of Redis, or run one, as with redis-cli",
		Long: `Run one command of Redis on a server, or read commands from a terminal, a file or
a pipe. It works like redis-cli, with every server that speaks its protocol:

  howdah cli                              a prompt, with history and completion
  howdah cli SET greeting hello EX 60     one command
  howdah cli -x SET page < page.html      its last argument from standard input
  howdah cli --pipe < commands            mass insertion
  howdah cli -r -1 -i 1 DBSIZE            again and again, each second

Put -- before a command whose arguments begin with a dash. In a terminal replies
are shown with their types; elsewhere they are raw bytes.

A password comes from --server, from --password-file, from the environment
(HOWDAH_PASSWORD or REDISCLI_AUTH), or is asked for with --askpass. Lines that may
hold one are not kept in the history.

Exits 1 if the reply to a command was an error.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.in, c.out, c.errOut = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			if err := c.check(args); err != nil {
				return err
			}
			client, err := c.address.client(cmd, c.output.json(), c.push)
			if err != nil {
				return err
			}
			defer client.Close()
			return c.run(cmd.Context(), client, args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.SetInterspersed(false) // what stands behind the command is for the server
	c.address.add(cmd)
	f.BoolVar(&c.raw, "raw", false, "write values as they are, also in a terminal")
	f.BoolVar(&c.noRaw, "no-raw", false, "write types and quotes, also where it is no terminal")
	c.output.add(cmd)
	c.output.addAlias(cmd)
	f.IntVarP(&c.repeat, "repeat", "r", 1, "run the command so many times; -1: until stopped")
	f.Float64VarP(&c.interval, "interval", "i", 0, "with -r: seconds between two runs, such as 0.1")
	f.BoolVarP(&c.stdin, "stdin", "x", false, "read the last argument of the command from standard input")
	f.BoolVar(&c.pipe, "pipe", false, "send the commands of standard input without waiting for replies, and count these")
	f.StringVar(&c.history, "history", "", `file for the history; "off": none (default: in the user's state directory)`)
	fromEnvironment(f, "history")
	return cmd
}

func (c *cli) check(args []string) error {
	switch {
	case c.raw && c.noRaw, c.output.json() && (c.raw || c.noRaw):
		return usagef("give one of --raw, --no-raw and --output json")
	case c.pipe && (len(args) > 0 || c.stdin):
		return usagef("--pipe takes the commands from standard input: give none, and no -x")
	case c.pipe && c.address.resp3:
		return usagef("--pipe and --resp3 do not go together")
	case c.stdin && len(args) == 0:
		return usagef("-x needs a command, as in: howdah cli -x SET key < file")
	case len(args) == 0 && (c.repeat != 1 || c.interval != 0):
		return usagef("-r and -i need a command")
	case c.interval < 0 || c.interval > 1e6:
		return usagef("-i must be a number of seconds from 0 to 1000000")
	case c.repeat == 0 || c.repeat < -1:
		return usagef("-r must be a number from 1, or -1")
	}
	return nil
}

func (c *cli) run(ctx context.Context, client *rediscli.Client, args []string) error {
	session := &rediscli.Session{Client: client, Format: c.format(), Out: c.out, Err: c.errOut}
	in, isFile := c.in.(*os.File)
	out, outIsFile := c.out.(*os.File)
	terminal := isFile && outIsFile && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
	if len(args) == 0 && !c.pipe && terminal {
		return c.interact(ctx, session, in, out)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var failed bool
	var err error
	switch {
	case c.pipe:
		return c.insert(ctx, client)
	case len(args) == 0:
		failed, err = session.Lines(ctx, c.in)
	default:
		if c.stdin {
			content, err := io.ReadAll(c.in)
			if err != nil {
				return fmt.Errorf("cannot read the last argument from standard input: %w", err)
			}
			args = append(args, string(content))
		}
		failed, err = session.Run(ctx, args, rediscli.Repeat{Times: c.repeat, Interval: time.Duration(c.interval * float64(time.Second))})
	}
	switch {
	case ctx.Err() != nil:
		return exitCode(exitFailed) // stopped
	case err == nil && failed:
		return exitCode(exitFailed) // the reply says why
	}
	if errors.Is(err, resp.ErrReply) {
		err = fmt.Errorf("what listens at %s does not speak the Redis protocol: name another server with --server redis://host:port (%w)", client.Address(), err)
	}
	return err
}

func (c *cli) format() rediscli.Format {
	out, isFile := c.out.(*os.File)
	switch {
	case c.output.json():
		return rediscli.JSON
	case c.raw, !c.noRaw && !(isFile && term.IsTerminal(int(out.Fd()))):
		return rediscli.Raw
	}
	return rediscli.Standard
}

// push writes a message that is no reply, as redis-cli does.
func (c *cli) push(message resp.Reply) {
	_, _ = c.out.Write(c.format().Append(nil, message))
}

func (c *cli) interact(ctx context.Context, session *rediscli.Session, in, out *os.File) error {
	path := c.history
	switch path {
	case "":
		path = historyFile()
	case "off":
		path = ""
	}
	history, err := rediscli.OpenHistory(path)
	if err != nil {
		fmt.Fprintln(c.errOut, "howdah:", oneLine(err))
	}
	defer history.Close()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	return session.Interact(ctx, rediscli.Terminal{
		In: in, Out: out, History: history,
		Interrupts: func() (<-chan os.Signal, func()) {
			pressed := make(chan os.Signal, 1)
			signal.Notify(pressed, os.Interrupt)
			return pressed, func() { signal.Stop(pressed) }
		},
	})
}

// maxPipeErrors is how many error replies of mass insertion are shown.
const maxPipeErrors = 20

func (c *cli) insert(ctx context.Context, client *rediscli.Client) error {
	shown := 0
	piped, err := rediscli.Pipe(ctx, client, c.in, rediscli.PipeOptions{
		Error: func(text string) {
			if shown++; shown <= maxPipeErrors {
				fmt.Fprintln(c.errOut, printable(text))
			}
		},
		Sent: func() {
			if !c.output.json() {
				fmt.Fprintln(c.out, "All data transferred. Waiting for the last reply...")
			}
		},
	})
	if shown > maxPipeErrors {
		fmt.Fprintf(c.errOut, "... and %d errors more\n", shown-maxPipeErrors)
	}
	if err != nil {
		return fmt.Errorf("%w; there were %d replies, %d of them errors", err, piped.Replies, piped.Errors)
	}
	err = c.output.print(c.out, piped, fmt.Sprintf("Last reply received from server.\nerrors: %d, replies: %d\n", piped.Errors, piped.Replies))
	if err == nil && piped.Errors > 0 {
		return exitCode(exitFailed)
	}
	return err
}
