package main

import (
	"testing"
	"time"
)

func TestParseSoak(t *testing.T) {
	f, err := parseSoak([]string{"--pin", "10m", "--ttls", "1m=50,none=50", "--values=100", "--class", "async"})
	if err != nil {
		t.Fatal(err)
	}
	c := f.config
	if c.Duration != 30*time.Minute || c.Values.Most != 100 || len(c.TTLs) != 2 || c.Class != "async" || c.Command != "howdah-bench soak --pin 10m --ttls 1m=50,none=50 --values=100 --class async" {
		t.Errorf("%+v", c)
	}
	for _, bad := range [][]string{{"churn"}, {"--values", "1"}, {"--ttls", "1m=10"}, {"--duration", "1s"}, {"--class", "fast"}, {"--pin", "1h", "--duration", "15m"}} {
		if _, err := parseSoak(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
