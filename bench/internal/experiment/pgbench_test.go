package experiment

import (
	"strings"
	"testing"
)

func TestParsePgbench(t *testing.T) {
	const out = `pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: /tmp/write.sql
number of transactions actually processed: 4242
number of failed transactions: 0 (0.000%)
latency average = 0.236 ms
initial connection time = 2.345 ms
tps = 4236.123456 (without initial connection time)
`
	a, err := parsePgbench(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := (pgbenchAnswer{4242, 0.236, 4236.123456}); a != want {
		t.Errorf("got %+v, want %+v", a, want)
	}
	older := strings.ReplaceAll(out, "number of failed transactions: 0 (0.000%)\n", "")
	if _, err := parsePgbench(older); err != nil {
		t.Errorf("version 14 does not tell failures: %v", err)
	}
	for _, bad := range []string{
		"", strings.ReplaceAll(out, "4242", "0"), strings.ReplaceAll(out, "transactions: 0 (", "transactions: 3 ("),
		strings.ReplaceAll(out, "tps = ", "rate: "), strings.ReplaceAll(out, "latency average", "latency"),
	} {
		if _, err := parsePgbench(bad); err == nil {
			t.Errorf("accepted: %q", bad)
		}
	}
}
