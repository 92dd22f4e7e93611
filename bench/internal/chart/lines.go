package chart

import (
	"fmt"
	"math"
)

// Lines draws one line a series over the cases, which stand at equal
// distances: 1, 16, 64, 256 is already a scale of factors.
func (c Chart) Lines() string {
	const left, plotWidth, plotHeight = 64.0, 470.0, 260.0
	var s svg
	s.heading(c.Title, c.Axis)
	scale := ticks(c.highest())
	y := func(v float64) float64 { return top + plotHeight*(1-v/scale[len(scale)-1]) }
	x := func(i int) float64 {
		return left + plotWidth*(float64(i)+0.5)/float64(len(c.Cases))
	}
	for _, v := range scale {
		s.line(left, y(v), left+plotWidth, y(v), lineInk)
		s.text(left-8, y(v)+4, 11, "end", textInk, Number(v))
	}
	for i, name := range c.Cases {
		s.text(x(i), top+plotHeight+18, 11, "middle", textInk, name)
	}
	s.text(left+plotWidth/2, top+plotHeight+36, 12, "middle", subtleInk, c.Across)
	var labels []label
	for i, series := range c.Series {
		path, pen := "", "M"
		last := math.NaN()
		for j, v := range series.Values {
			if math.IsNaN(v) {
				pen = "M"
				continue
			}
			path += fmt.Sprintf("%s%.1f %.1f ", pen, x(j), y(v))
			pen, last = "L", v
			fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x(j), y(v), series.Colour)
		}
		if math.IsNaN(last) {
			continue
		}
		stroke := 2.0
		if i == 0 {
			stroke = 3.5
		}
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="%.1f"/>`+"\n", path, series.Colour, stroke)
		labels = append(labels, label{y(last) + 4, series.Name + "  " + Number(last), series.Colour})
	}
	for _, l := range spread(labels, 16) {
		s.text(left+plotWidth+8, l.y, 12, "start", string(l.colour), l.text)
	}
	return s.picture(top + plotHeight + 48)
}

// label stands at the end of a line.
type label struct {
	y      float64
	text   string
	colour Colour
}

// spread moves labels apart that would cover each other.
func spread(labels []label, distance float64) []label {
	for i := range labels { // few: insertion sort by height
		for j := i; j > 0 && labels[j].y < labels[j-1].y; j-- {
			labels[j], labels[j-1] = labels[j-1], labels[j]
		}
	}
	for i := 1; i < len(labels); i++ {
		labels[i].y = max(labels[i].y, labels[i-1].y+distance)
	}
	return labels
}
