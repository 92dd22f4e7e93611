package chart

import (
	"fmt"
	"math"
)

// Bars draws one bar a series for each case, lying, with its value at its
// end: names of any length stay readable.
func (c Chart) Bars() string {
	const left, right, bar, gap = 300.0, 70.0, 20.0, 14.0
	var s svg
	s.text(margin, 26, 15, "start", textColour, c.Title)
	full := width - left - right
	top := c.highest()
	y := 48.0
	for i, which := range c.Cases {
		if len(c.Cases) > 1 {
			s.text(margin, y+12, 12, "start", textColour, which)
			y += 20
		}
		for j, series := range c.Series {
			v := math.NaN()
			if i < len(series.Values) {
				v = series.Values[i]
			}
			if math.IsNaN(v) {
				continue
			}
			s.text(left-8, y+bar/2+2, 12, "end", textColour, series.Name)
			fmt.Fprintf(&s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, y, max(1, full*v/top), bar-4, colours[j%len(colours)])
			s.text(left+max(1, full*v/top)+6, y+bar/2+2, 12, "start", textColour, Number(v))
			y += bar
		}
		y += gap
	}
	return s.picture(y)
}
