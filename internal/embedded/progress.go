package embedded

import "fmt"

// Progress is what a start does at a moment.
type Progress struct {
	Doing string // such as "looking for an installed PostgreSQL"

	// Done and Total are bytes of a download. Both are 0 for other steps; Total is
	// 0 if the size is not known.
	Done, Total int64
}

// String is a line for people.
func (p Progress) String() string {
	switch {
	case p.Done == 0 && p.Total == 0:
		return p.Doing
	case p.Total == 0:
		return fmt.Sprintf("%s: %.1f MB", p.Doing, float64(p.Done)/1e6)
	}
	return fmt.Sprintf("%s: %d %%, %.1f of %.1f MB", p.Doing, p.Done*100/p.Total, float64(p.Done)/1e6, float64(p.Total)/1e6)
}

// meter tells how far a download is, at each percent.
type meter struct {
	tell  func(Progress)
	at    Progress
	shown int64
}

func (m *meter) Write(p []byte) (int, error) {
	m.at.Done += int64(len(p))
	step := m.at.Done >> 20
	if m.at.Total > 0 {
		step = m.at.Done * 100 / m.at.Total
	}
	if step != m.shown {
		m.shown = step
		m.tell(m.at)
	}
	return len(p), nil
}
