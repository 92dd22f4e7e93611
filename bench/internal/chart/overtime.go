package chart

import (
	"fmt"
	"math"
)

// OverTime is a picture of one metric over minutes.
type OverTime struct {
	Title  string
	Axis   Axis // of the values
	Lines  []Line
	Log    bool       // a scale of powers of ten: for what lies far apart
	Limit  float64    // drawn as a dashed line; 0: none
	Band   [2]float64 // minutes that are shaded; both 0: none
	Legend string     // of the band
}

// Line is one series over time.
type Line struct {
	Name    string
	Colour  Colour
	Minutes []float64
	Values  []float64
}

// SVG draws it.
func (c OverTime) SVG() string {
	const left, plotWidth, plotHeight = 64.0, 520.0, 240.0
	var s svg
	s.heading(c.Title, c.Axis)
	least, most, end := c.extent()
	scale := ticks(most)
	if c.Log {
		scale = powers(least, most)
	}
	low, high := scale[0], scale[len(scale)-1]
	y := func(v float64) float64 {
		if c.Log {
			return top + plotHeight*(1-math.Log(max(v, low)/low)/math.Log(high/low))
		}
		return top + plotHeight*(1-v/high)
	}
	x := func(minute float64) float64 { return left + plotWidth*minute/end }
	if c.Band[1] > 0 {
		fmt.Fprintf(&s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#f3e8d3"/>`+"\n", x(c.Band[0]), top, x(c.Band[1])-x(c.Band[0]), plotHeight)
		s.text(x(c.Band[0])+6, top+14, 11, "start", textInk, c.Legend)
	}
	for _, v := range scale {
		s.line(left, y(v), left+plotWidth, y(v), lineInk)
		s.text(left-8, y(v)+4, 11, "end", textInk, Number(v))
	}
	for _, minute := range ticks(end) {
		if minute <= end {
			s.text(x(minute), top+plotHeight+18, 11, "middle", textInk, Number(minute))
		}
	}
	s.text(left+plotWidth+8, top+plotHeight+18, 11, "start", textInk, "minutes")
	if c.Limit > 0 {
		fmt.Fprintf(&s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="5 4"/>`+"\n", left, y(c.Limit), left+plotWidth, y(c.Limit), textInk)
	}
	var labels []label
	for _, l := range c.Lines {
		if len(l.Values) == 0 {
			continue
		}
		path, pen := "", "M"
		for j, v := range l.Values {
			path += fmt.Sprintf("%s%.1f %.1f ", pen, x(l.Minutes[j]), y(v))
			pen = "L"
		}
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round"/>`+"\n", path, l.Colour)
		last := l.Values[len(l.Values)-1]
		labels = append(labels, label{y(last) + 4, l.Name, l.Colour})
	}
	for _, l := range spread(labels, 16) {
		s.text(left+plotWidth+8, l.y, 12, "start", string(l.colour), l.text)
	}
	return s.picture(top + plotHeight + 36)
}

// extent is the least value above zero, the largest, and the last minute.
func (c OverTime) extent() (least, most, end float64) {
	least = math.Inf(1)
	most = c.Limit
	for _, l := range c.Lines {
		for i, v := range l.Values {
			if v > 0 {
				least = min(least, v)
			}
			most, end = max(most, v), max(end, l.Minutes[i])
		}
	}
	if most == 0 {
		least, most = 1, 1
	}
	return min(least, most), most, max(end, 0.01)
}

// powers are the powers of ten around two values.
func powers(least, most float64) []float64 {
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if to == from {
		to++
	}
	var out []float64
	for e := from; e <= to; e++ {
		out = append(out, math.Pow(10, e))
	}
	return out
}
