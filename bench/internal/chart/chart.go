// Package chart draws what a report shows first, as SVG without any script or
// style sheet, so that it looks the same wherever Markdown is rendered.
package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Series is one line, or one bar in every group.
type Series struct {
	Name   string
	Colour Colour
	Values []float64 // one a case; NaN where nothing was measured
}

// Chart is a picture of one metric.
type Chart struct {
	Title  string
	Axis   Axis   // of the values
	Across string // what the cases are, such as "callers"; "" for none
	Cases  []string
	Series []Series
}

// Axis says what a value is, and which way is better.
type Axis struct {
	Label  string // such as "requests per second"
	Better Better
}

// Better is the direction in which a value improves.
type Better string

// The directions.
const (
	More Better = "more is better"
	Less Better = "less is better"
)

func (a Axis) String() string {
	if a.Label == "" {
		return ""
	}
	return a.Label + " (" + string(a.Better) + ")"
}

const (
	width     = 760
	margin    = 16
	textInk   = "#24292f"
	subtleInk = "#57606a"
	lineInk   = "#d0d7de"
	top       = 68.0 // where the plot begins, below title and axis
)

// svg collects elements.
type svg struct{ strings.Builder }

// heading writes the title, and below it what the values are.
func (s *svg) heading(title string, axis Axis) {
	s.text(margin, 26, 15, "start", textInk, title)
	s.text(margin, 46, 12, "start", subtleInk, axis.String())
}

func (s *svg) text(x, y float64, size int, anchor, colour, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, size, anchor, colour, escape(text))
}

func (s *svg) line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

// picture wraps the elements. The background is white, also on dark pages.
func (s *svg) picture(height float64) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" font-family="system-ui, sans-serif">`+
		"\n"+`<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n%s</svg>\n", width, height, width, height, s.String())
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// highest is the largest value, at least a little.
func (c Chart) highest() float64 {
	top := 0.0
	for _, s := range c.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				top = max(top, v)
			}
		}
	}
	if top == 0 {
		return 1
	}
	return top
}

// ticks are round numbers from zero to just above a value.
func ticks(top float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(top)))
	for _, part := range []float64{5, 4, 2} {
		if top/(step/part) <= 6 {
			step /= part
			break
		}
	}
	var out []float64
	for v := 0.0; ; v += step {
		out = append(out, v)
		if v >= top {
			return out
		}
	}
}

// Number writes a value in as few characters as a reader needs.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a == 0:
		return "0"
	case a >= 1e6:
		return trim(v/1e6, 2) + " M"
	case a >= 1e4:
		return trim(v/1e3, 0) + " k"
	case a >= 1e3:
		return trim(v/1e3, 1) + " k"
	case a >= 100:
		return trim(v, 0)
	case a >= 10:
		return trim(v, 1)
	case a >= 1:
		return trim(v, 2)
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

func trim(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
