package embedded

import (
	"fmt"
	"io"
)

// meter writes how far a download is, one line that is rewritten at each
// percent.
type meter struct {
	out         io.Writer
	name        string
	done, total int64 // bytes; total 0 is unknown
	shown       int64
}

func (m *meter) Write(p []byte) (int, error) {
	m.done += int64(len(p))
	step := m.done >> 20
	if m.total > 0 {
		step = m.done * 100 / m.total
	}
	if step != m.shown {
		m.shown = step
		m.show()
	}
	return len(p), nil
}

func (m *meter) show() {
	mb := float64(m.done) / 1e6
	if m.total > 0 {
		fmt.Fprintf(m.out, "\rDownloading %s: %3d %%, %.1f of %.1f MB", m.name, m.shown, mb, float64(m.total)/1e6)
	} else {
		fmt.Fprintf(m.out, "\rDownloading %s: %.1f MB", m.name, mb)
	}
}

func (m *meter) finish() {
	m.show()
	fmt.Fprintln(m.out)
}
