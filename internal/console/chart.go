package console

import (
	"fmt"
	"html/template"
	"strings"
)

// The size of a sparkline, in the units of its own coordinates.
const (
	sparkWidth  = 150
	sparkHeight = 28
)

// sparkline draws points from left to right, the latest at the right; nil is a gap. label
// says in words what is drawn. The text is made of numbers and of label, which is escaped.
func sparkline(label string, points []*float64) template.HTML {
	top := 0.0
	for _, p := range points {
		if p != nil {
			top = max(top, *p)
		}
	}
	if top == 0 {
		top = 1
	}
	step := float64(sparkWidth) / float64(max(1, len(points)-1))
	var path strings.Builder
	move := true
	for i, p := range points {
		if p == nil {
			move = true
			continue
		}
		command := 'L'
		if move {
			command = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", command, float64(i)*step, 1+(sparkHeight-2)*(1-*p/top))
		move = false
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="spark" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s"><path d="%s" vector-effect="non-scaling-stroke"/></svg>`,
		sparkWidth, sparkHeight, template.HTMLEscapeString(label), path.String()))
}

// bar draws a share.
func bar(label string, share *float64) template.HTML { return drawBar(label, share, "") }

// budgetBar draws how much of a budget is used. Beyond 90 % it warns.
func budgetBar(label string, share *float64) template.HTML {
	switch {
	case share == nil:
		return ""
	case *share >= 1:
		return drawBar(label, share, " full")
	case *share > 0.9:
		return drawBar(label, share, " high")
	}
	return drawBar(label, share, " well")
}

func drawBar(label string, share *float64, state string) template.HTML {
	if share == nil {
		return ""
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="bar%s" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="%s"><rect class="rest" width="100" height="8"/><rect width="%.1f" height="8"/></svg>`,
		state, template.HTMLEscapeString(label), 100*min(max(*share, 0), 1)))
}
