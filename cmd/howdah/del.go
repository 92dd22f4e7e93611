package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newDel() *cobra.Command {
	var (
		t      target
		output outputFormat
	)
	cmd := &cobra.Command{
		Use:   "del KEY...",
		Short: "Delete keys and print how many there were",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.with(cmd.Context(), func(ctx context.Context, a asker) error {
				reply, err := a.ask(ctx, append([]string{"DEL"}, args...)...)
				if err != nil {
					return err
				}
				return output.print(cmd.OutOrStdout(), map[string]int64{"deleted": reply.Int}, fmt.Sprintln(reply.Int))
			})
		},
	}
	t.flags(cmd)
	output.add(cmd)
	return cmd
}
