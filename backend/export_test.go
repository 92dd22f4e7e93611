package backend

import (
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend/memcached"
)

// Differences is the table of docs/backends.md and the reasons below it.
func Differences() string {
	stores := []Capabilities{
		postgresCapabilities(howdah.DefaultMaxValueBytes),
		redisCapabilities(howdah.DefaultMaxValueBytes),
		memcachedCapabilities(memcached.DefaultMaxValueBytes),
		memoryCapabilities(howdah.DefaultMaxValueBytes),
	}
	rows := []struct {
		name string
		cell func(Capabilities) (value, reason string)
	}{
		{"Longest key, bytes", func(c Capabilities) (string, string) {
			return fmt.Sprint(c.MaxKeyBytes.Value), c.MaxKeyBytes.Reason
		}},
		{"Longest value, bytes", func(c Capabilities) (string, string) {
			return fmt.Sprint(c.MaxValueBytes.Value), c.MaxValueBytes.Reason
		}},
		{"Empty key", yes(func(c Capabilities) Trait[bool] { return c.EmptyKeys })},
		{"Binary keys", yes(func(c Capabilities) Trait[bool] { return c.BinaryKeys })},
		{"TTL counted in", func(c Capabilities) (string, string) {
			return fmt.Sprint(c.TTLResolution.Value), c.TTLResolution.Reason
		}},
		{"Latest expiry", func(c Capabilities) (string, string) {
			if c.LatestExpiry.Value.IsZero() {
				return "none", ""
			}
			return c.LatestExpiry.Value.Format(time.DateOnly), c.LatestExpiry.Reason
		}},
		{"Many keys in one step", yes(func(c Capabilities) Trait[bool] { return c.AtomicMany })},
		{"Shared by processes", yes(func(c Capabilities) Trait[bool] { return c.Shared })},
		{"Outlives a restart", yes(func(c Capabilities) Trait[bool] { return c.Persistent })},
	}
	var table, reasons strings.Builder
	table.WriteString("| |")
	for _, store := range stores {
		table.WriteString(" " + store.Store + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(stores)) + "\n")
	for _, row := range rows {
		table.WriteString("| " + row.name + " |")
		for _, store := range stores {
			value, reason := row.cell(store)
			table.WriteString(" " + value + " |")
			if reason != "" {
				fmt.Fprintf(&reasons, "- %s, %s: %s\n", row.name, store.Store, reason)
			}
		}
		table.WriteString("\n")
	}
	return table.String() + "\n" + reasons.String()
}

func yes(trait func(Capabilities) Trait[bool]) func(Capabilities) (value, reason string) {
	return func(c Capabilities) (string, string) {
		if trait(c).Value {
			return "yes", trait(c).Reason
		}
		return "no", trait(c).Reason
	}
}
