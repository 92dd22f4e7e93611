package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/server"
)

// durationFlag is a Go duration, or a whole number of seconds.
type durationFlag time.Duration

func (*durationFlag) Type() string { return "duration" }

// String is "0" for none, which the help text does not show as a default, and
// otherwise leaves out the units that are zero: "30m", not "30m0s".
func (d *durationFlag) String() string {
	if *d == 0 {
		return "0"
	}
	text := time.Duration(*d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (d *durationFlag) Set(text string) error {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seconds < 0 || seconds > int64(1<<63-1)/int64(time.Second) {
			return errors.New("is out of range")
		}
		*d = durationFlag(time.Duration(seconds) * time.Second)
		return nil
	}
	value, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("must be a duration such as 500ms or 2h, or a number of seconds")
	}
	if value < 0 {
		return errors.New("must not be negative")
	}
	*d = durationFlag(value)
	return nil
}

// boundFlag is the greatest age of what is read from memory. 0 is the default,
// which depends on the database, and less than 0 is off.
type boundFlag time.Duration

func (*boundFlag) Type() string { return "duration" }

// String is "" for the default, which the help text explains.
func (b *boundFlag) String() string {
	switch {
	case *b < 0:
		return "off"
	case *b == 0:
		return ""
	}
	return time.Duration(*b).String()
}

func (b *boundFlag) Set(text string) error {
	if text == "off" {
		*b = -1
		return nil
	}
	var bound durationFlag
	if bound.Set(text) != nil || server.CheckNearBound(time.Duration(bound)) != nil {
		return errors.New("must be a duration from 10ms to 10s, or off")
	}
	*b = boundFlag(bound)
	return nil
}

// sizeFlag is a number of bytes, with or without a binary unit.
type sizeFlag int

func (*sizeFlag) Type() string { return "bytes" }

// String names the largest unit that divides the number.
func (s *sizeFlag) String() string {
	for _, unit := range []string{"GiB", "MiB", "KiB"} {
		if factor := units[unit]; *s > 0 && int64(*s)%factor == 0 {
			return strconv.FormatInt(int64(*s)/factor, 10) + unit
		}
	}
	return strconv.Itoa(int(*s))
}

// units are the binary units of a size.
var units = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

func (s *sizeFlag) Set(text string) error {
	number, unit := text, int64(1)
	for suffix, factor := range units {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = rest, factor
		}
	}
	value, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || value > math.MaxInt/unit:
		return errors.New("is out of range")
	case err != nil || value < 1:
		return errors.New("must be a number of bytes such as 1048576 or 1MiB")
	}
	*s = sizeFlag(value * unit)
	return nil
}

// secret returns a secret that is given by value or by file, but not by both.
func secret(flag, value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", usagef("give --%s or --%s-file, not both", flag, flag)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", usageError{fmt.Errorf("cannot read --%s-file: %w", flag, err)}
	}
	value = strings.TrimRight(string(content), "\r\n")
	if value == "" {
		return "", usagef("--%s-file %s is empty: write the %s into it", flag, file, flag)
	}
	return value, nil
}

// listenAddress turns the word that switches a listener off into no address.
func listenAddress(addr string) string {
	if addr == "off" {
		return ""
	}
	return addr
}
