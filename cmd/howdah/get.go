package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/resp"
)

func newGet() *cobra.Command {
	var (
		t      target
		output outputFormat
	)
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
				texts, encoding := binary([]byte(args[0]), reply.Str)
				return output.print(cmd.OutOrStdout(), entryJSON{Key: texts[0], Value: &texts[1], Encoding: encoding}, string(reply.Str))
			})
		},
	}
	t.flags(cmd)
	output.add(cmd)
	return cmd
}

// entryJSON is a key, and its value where that was asked for, with the fields of
// the HTTP interface. Encoding is "base64" if one of them is not text.
type entryJSON struct {
	Key      string  `json:"key"`
	Value    *string `json:"value,omitempty"`
	Encoding string  `json:"encoding,omitempty"`
}
