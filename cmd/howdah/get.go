package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/resp"
)

func newGet() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Write the value of a key to standard output, byte for byte",
		Long:  "Write the value of a key to standard output, byte for byte. Exits 1 if there is no such key.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.with(cmd.Context(), func(ctx context.Context, a asker) error {
				reply, err := a.ask(ctx, "GET", args[0])
				if err != nil {
					return err
				}
				if reply.Kind == resp.Null {
					return errAbsent(args[0])
				}
				_, err = cmd.OutOrStdout().Write(reply.Str)
				return err
			})
		},
	}
	t.flags(cmd)
	return cmd
}
