package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func newTTL() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "ttl KEY",
		Short: "Print how long a key will live, such as 59m12s, or \"none\" if for ever",
		Long:  "Print how long a key will live, such as 59m12s, or \"none\" if for ever. Exits 1 if there is no such key.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.with(cmd.Context(), func(ctx context.Context, a asker) error {
				reply, err := a.ask(ctx, "PTTL", args[0])
				if err != nil {
					return err
				}
				var text string
				switch reply.Int {
				case -2: // PTTL's words for "absent" and "no expiry"
					return errAbsent(args[0])
				case -1:
					text = "none"
				default:
					text = (time.Duration(reply.Int) * time.Millisecond).String()
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
				return err
			})
		},
	}
	t.flags(cmd)
	return cmd
}
