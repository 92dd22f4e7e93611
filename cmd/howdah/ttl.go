package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
)

func newTTL() *cobra.Command {
	var (
		t      target
		output outputFormat
	)
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
				text, left := "none", (*int64)(nil)
				switch reply.Int {
				case -2: // PTTL's words for "absent" and "no expiry"
					return errAbsent(args[0])
				case -1:
				default:
					text, left = lifetime(reply.Int), &reply.Int
				}
				texts, encoding := binary([]byte(args[0]))
				return output.print(cmd.OutOrStdout(), ttlJSON{entryJSON{Key: texts[0], Encoding: encoding}, left}, text+"\n")
			})
		},
	}
	t.flags(cmd)
	output.add(cmd)
	return cmd
}

// ttlJSON is a key with the milliseconds that it will live; nil: for ever.
type ttlJSON struct {
	entryJSON
	TTL *int64 `json:"ttl_ms"`
}

// lifetime writes milliseconds as a Go duration, those too that no
// time.Duration holds: a key may live for thousands of years.
func lifetime(ms int64) string {
	hours, rest := ms/time.Hour.Milliseconds(), time.Duration(ms%time.Hour.Milliseconds())*time.Millisecond
	if hours >= math.MaxInt64/int64(time.Hour) {
		return fmt.Sprintf("%dh%v", hours, rest)
	}
	return (time.Duration(ms) * time.Millisecond).String()
}
