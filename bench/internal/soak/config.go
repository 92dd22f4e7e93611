// Package soak lets Howdah and a hand-tuned table live through the same load
// for minutes, and looks at them every few seconds: what stays as it was, and
// what grows.
package soak

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Config is the load and how it is watched.
type Config struct {
	Duration time.Duration
	Reads    float64 // per second, offered whatever the answers take
	Sets     float64 // per second
	Sliding  float64 // share of the reads that extend the life of what they read
	Callers  int     // so many requests may wait at once, for each contender
	Keys     int
	Zipf     float64 // exponent of the popularity among reads, above 1; 0: uniform. Sets are uniform
	Values   Sizes
	TTLs     TTLMix
	Overload float64 // what would live without a budget, as a multiple of it
	Class    string  // durability class of Howdah's cache and of the table beside it

	Pin   time.Duration // an open transaction holds its snapshot for so long; 0: none
	PinAt time.Duration // from then on

	Every time.Duration // between two samples
	Turns bool          // one contender after the other, instead of beside each other

	Force   bool
	Command string
	// Progress hears a line now and then.
	Progress func(format string, args ...any)
}

// Defaults are fifteen minutes of churn at twice the budget, at rates that two
// cores take from both contenders at once.
func Defaults() Config {
	return Config{
		Reads: 1500, Sets: 500, Sliding: 0.25, Callers: 128, Keys: 100_000, Zipf: 1.1, Values: Sizes{64, 4096},
		TTLs: TTLMix{{30 * time.Second, 0.2}, {5 * time.Minute, 0.6}, {0, 0.2}}, Overload: 2, Class: "unlogged",
		PinAt: 5 * time.Minute, Every: 5 * time.Second,
	}
}

// Complete fills in what depends on the rest and says what is wrong.
func (c *Config) Complete() error {
	if c.Pin == 0 {
		c.PinAt = 0
	}
	if c.Duration == 0 {
		c.Duration = 15 * time.Minute
		if c.Pin > 0 {
			c.Duration += c.PinAt + c.Pin
		}
	}
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	switch {
	case c.Reads <= 0 || c.Sets <= 0:
		return fmt.Errorf("%g reads/s and %g sets/s: both must be above zero", c.Reads, c.Sets)
	case c.Sliding < 0 || c.Sliding > 1:
		return fmt.Errorf("a sliding share of %g: it must be between 0 and 1", c.Sliding)
	case c.Callers < 1 || c.Keys < 1:
		return fmt.Errorf("%d callers and %d keys: there must be at least one of each", c.Callers, c.Keys)
	case c.Zipf != 0 && c.Zipf <= 1:
		return fmt.Errorf("a Zipf exponent of %g: it must be above 1, or 0 for uniform keys", c.Zipf)
	case c.Overload <= 0:
		return fmt.Errorf("an overload of %g: it must be above zero; 2 offers twice the budget", c.Overload)
	case c.Every < time.Second || c.Duration < 6*c.Every:
		return fmt.Errorf("%v with a sample every %v: give at least a second between samples, and time for six of them", c.Duration, c.Every)
	case c.Pin < 0 || c.PinAt < 0 || c.Pin > 0 && (c.PinAt < 2*c.Every || c.PinAt+c.Pin+2*c.Every > c.Duration):
		return fmt.Errorf("a snapshot held from %v for %v does not fit into %v: there must be two samples before it and after it", c.PinAt, c.Pin, c.Duration)
	}
	if _, ok := tableKinds[c.Class]; !ok {
		return fmt.Errorf("class %q: use unlogged, async or sync", c.Class)
	}
	if err := c.Values.validate(); err != nil {
		return err
	}
	return c.TTLs.validate()
}

// entryOverhead is what Howdah counts for the row and its index entry, on top
// of key and value.
const entryOverhead = 100

// entryBytes is the mean of what an entry counts as.
func (c Config) entryBytes() float64 { return keyBytes + c.Values.mean() + entryOverhead }

// offered is what would live at any time if there were no budget: of each kind
// of TTL, the keys that were set within the last TTL.
func (c Config) offered() float64 {
	var live float64
	for _, t := range c.TTLs {
		share := 1.0
		if t.TTL > 0 {
			share = 1 - math.Exp(-t.TTL.Seconds()*c.Sets/float64(c.Keys))
		}
		live += t.Share * share
	}
	return live * float64(c.Keys) * c.entryBytes()
}

func (c Config) budget() int64 { return int64(c.offered() / c.Overload) }

// Sizes are those of values: from the least to the most bytes, small ones more
// often than large ones (uniform in the logarithm).
type Sizes struct{ Least, Most int }

func (s Sizes) validate() error {
	if s.Least < stampBytes || s.Most < s.Least || s.Most > 1<<20 {
		return fmt.Errorf("values of %d to %d bytes: give two sizes between %d and %d, the smaller one first", s.Least, s.Most, stampBytes, 1<<20)
	}
	return nil
}

// at is the size at a point between 0 and 1.
func (s Sizes) at(point float64) int {
	return int(float64(s.Least) * math.Pow(float64(s.Most)/float64(s.Least), point))
}

func (s Sizes) mean() float64 {
	if s.Least == s.Most {
		return float64(s.Least)
	}
	return float64(s.Most-s.Least) / math.Log(float64(s.Most)/float64(s.Least))
}

// String is what Set reads.
func (s Sizes) String() string { return fmt.Sprintf("%d-%d", s.Least, s.Most) }

// Set reads "64-4096", or "250" for one size. It makes Sizes a flag.
func (s *Sizes) Set(text string) error {
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	var err1, err2 error
	s.Least, err1 = strconv.Atoi(low)
	s.Most, err2 = strconv.Atoi(high)
	if errors.Join(err1, err2) != nil {
		return fmt.Errorf("%q: give sizes in bytes, such as 64-4096", text)
	}
	return s.validate()
}

// TTLMix are the lives of entries. Each key has one of them for good.
type TTLMix []TTL

// TTL is a life, 0 for ever, and the share of the keys that have it.
type TTL struct {
	TTL   time.Duration
	Share float64
}

func (m TTLMix) validate() error {
	var sum float64
	for _, t := range m {
		if t.TTL < 0 || t.Share < 0 {
			return fmt.Errorf("a TTL of %v for %g %% of the keys: neither may be negative", t.TTL, 100*t.Share)
		}
		sum += t.Share
	}
	if math.Abs(sum-1) > 0.001 {
		return fmt.Errorf("the TTLs cover %g %% of the keys: they must add up to 100", math.Round(1e4*sum)/100)
	}
	return nil
}

// of is the TTL of a key, 0 for none.
func (m TTLMix) of(key int) time.Duration {
	point := float64(mix(uint64(key))>>11) / (1 << 53)
	for _, t := range m {
		if point < t.Share {
			return t.TTL
		}
		point -= t.Share
	}
	return m[len(m)-1].TTL
}

// mix scatters numbers that follow each other (the end of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// String is what Set reads.
func (m TTLMix) String() string {
	var parts []string
	for _, t := range m {
		life := "none"
		if t.TTL > 0 {
			life = t.TTL.String()
		}
		parts = append(parts, fmt.Sprintf("%s=%g", life, math.Round(1e4*t.Share)/100))
	}
	return strings.Join(parts, ",")
}

// Set reads "30s=20,5m=60,none=20": lives and the per cent of keys that have
// them. It makes TTLMix a flag.
func (m *TTLMix) Set(text string) error {
	*m = nil
	for part := range strings.SplitSeq(text, ",") {
		life, share, ok := strings.Cut(strings.TrimSpace(part), "=")
		percent, err := strconv.ParseFloat(share, 64)
		var ttl time.Duration
		if life != "none" {
			var err2 error
			ttl, err2 = time.ParseDuration(life)
			err = errors.Join(err, err2)
		}
		if !ok || err != nil || life != "none" && ttl <= 0 {
			return fmt.Errorf("%q: give lives and the per cent of keys that have them, such as 30s=20,5m=60,none=20", text)
		}
		*m = append(*m, TTL{ttl, percent / 100})
	}
	return m.validate()
}
