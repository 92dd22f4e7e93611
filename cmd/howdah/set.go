package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
)

func newSet() *cobra.Command {
	var (
		t      target
		ttl    durationFlag
		output outputFormat
	)
	cmd := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Store a value; VALUE - reads it from standard input",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			value := args[1]
			if value == "-" {
				content, err := io.ReadAll(cmd.InOrStdin())
				if err != nil {
					return fmt.Errorf("cannot read the value from standard input: %w", err)
				}
				value = string(content)
			}
			if t.databaseURL != "" && len(value) > howdah.DefaultMaxValueBytes {
				return fmt.Errorf("the value has %d bytes, and at most %d are taken: store it elsewhere", len(value), howdah.DefaultMaxValueBytes)
			}
			command := []string{"SET", args[0], value}
			if cmd.Flags().Changed("ttl") {
				if ttl < durationFlag(time.Millisecond) {
					return usagef("--ttl must be at least 1ms")
				}
				command = append(command, "PX", strconv.FormatInt(time.Duration(ttl).Milliseconds(), 10))
			}
			return t.with(cmd.Context(), func(ctx context.Context, a asker) error {
				if _, err := a.ask(ctx, command...); err != nil {
					return err
				}
				texts, encoding := binary([]byte(args[0]))
				return output.print(cmd.OutOrStdout(), entryJSON{Key: texts[0], Encoding: encoding}, "")
			})
		},
	}
	t.flags(cmd)
	output.add(cmd)
	cmd.Flags().Var(&ttl, "ttl", "time to live: a duration such as 90s or 12h, or a number of seconds (default: that of the cache)")
	return cmd
}
