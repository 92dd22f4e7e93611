// Package machine says what a benchmark runs on, whether it is quiet enough
// to be measured, and what each process used. It reads /proc: Linux only.
package machine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Info is what a reader needs to judge a number.
type Info struct {
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	MemoryMB int    `json:"memory_mb"`
	Kernel   string `json:"kernel"`
	System   string `json:"system"`
	Go       string `json:"go"`
}

// Describe reads the facts of this machine; what cannot be read stays empty.
func Describe() Info {
	return Info{
		CPU:      field("/proc/cpuinfo", "model name"),
		Cores:    runtime.NumCPU(),
		MemoryMB: kilobytes(field("/proc/meminfo", "MemTotal")) / 1024,
		Kernel:   firstLine("/proc/sys/kernel/osrelease"),
		System:   strings.Trim(fieldAt("/etc/os-release", "PRETTY_NAME", "="), `"`),
		Go:       runtime.Version(),
	}
}

// String is one line for people.
func (i Info) String() string {
	return fmt.Sprintf("%d cores of %s, %.1f GiB, %s, Linux %s, %s",
		i.Cores, orUnknown(i.CPU), float64(i.MemoryMB)/1024, orUnknown(i.System), i.Kernel, i.Go)
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown make"
	}
	return s
}

func field(path, name string) string { return fieldAt(path, name, ":") }

// fieldAt returns the value of the first line "name<sep>value" of a file.
func fieldAt(path, name, sep string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), sep)
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// kilobytes reads "123 kB".
func kilobytes(text string) int {
	number, _, _ := strings.Cut(text, " ")
	n, _ := strconv.Atoi(number)
	return n
}
