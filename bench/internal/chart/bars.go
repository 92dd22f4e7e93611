package chart

import (
	"fmt"
	"math"
)

// Bars draws one bar a series for each case, lying, with its value at its
// end: names of any length stay readable.
func (c Chart) Bars() string {
	const left, right, bar, gap = 240.0, 70.0, 20.0, 14.0
	var s svg
	s.heading(c.Title, c.Axis)
	full := width - left - right
	highest := c.highest()
	y := top
	for i, which := range c.Cases {
		if len(c.Cases) > 1 {
			s.text(margin, y+12, 12, "start", textInk, which)
			y += 20
		}
		for _, series := range c.Series {
			v := math.NaN()
			if i < len(series.Values) {
				v = series.Values[i]
			}
			if math.IsNaN(v) {
				continue
			}
			length := max(1, full*v/highest)
			s.text(left-8, y+bar/2+2, 12, "end", textInk, series.Name)
			fmt.Fprintf(&s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, y, length, bar-4, series.Colour)
			s.text(left+length+6, y+bar/2+2, 12, "start", textInk, Number(v))
			y += bar
		}
		y += gap
	}
	return s.picture(y)
}
