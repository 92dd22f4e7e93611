package main

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

func newKeys() *cobra.Command {
	var (
		t      target
		output outputFormat
	)
	cmd := &cobra.Command{
		Use:   "keys [PATTERN]",
		Short: "List keys, one a line; PATTERN as in Redis: * ? [a-z]",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "*"
			if len(args) > 0 {
				pattern = args[0]
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			return t.with(cmd.Context(), func(ctx context.Context, a asker) error {
				for cursor := "0"; ; {
					reply, err := a.ask(ctx, "SCAN", cursor, "MATCH", pattern, "COUNT", "1000")
					if err != nil {
						return err
					}
					if len(reply.Elems) != 2 {
						return errors.New("the server does not answer SCAN as Redis does")
					}
					for _, key := range reply.Elems[1].Elems {
						if err := printKey(out, &output, key.Str); err != nil {
							return err
						}
					}
					if err := out.Flush(); err != nil {
						return err
					}
					if cursor = string(reply.Elems[0].Str); cursor == "0" {
						return nil
					}
				}
			})
		},
	}
	t.flags(cmd)
	output.add(cmd)
	return cmd
}

func printKey(out io.Writer, output *outputFormat, key []byte) error {
	texts, encoding := binary(key)
	return output.print(out, entryJSON{Key: texts[0], Encoding: encoding}, string(key)+"\n")
}
