package server

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// memoryReturn decides when memory that connections gave up is returned to the
// system. Go would collect it when as much again is in use, or after two
// minutes, and return it later.
type memoryReturn struct {
	returned int64 // of what was given up since the start
	last     int64 // given up until the last look
	quiet    int   // looks in succession that found little given up
}

const (
	returnAbove = 16 << 20 // bytes given up that are worth a collection
	returnBelow = 1 << 20  // between two looks: more, and Go collects by itself
	returnQuiet = 3        // looks, so that requests still under way end first
)

// due takes what the connections have given up since the start, in bytes, once a
// second.
func (m *memoryReturn) due(released int64) bool {
	if released-m.last > returnBelow {
		m.quiet = 0
	} else {
		m.quiet++
	}
	m.last = released
	if m.quiet < returnQuiet || released-m.returned < returnAbove {
		return false
	}
	m.returned = released
	return true
}

// memoryPart divides the memory of the machine: the default of
// Config.MaxClientsMemory is one part. The rest is for garbage not yet
// collected, for the statements under way and for other programs.
const memoryPart = 4

// unknownMemory is assumed where the system does not say how much there is.
const unknownMemory = 4 << 30

// availableMemory returns how much memory the process may use, in bytes: that of
// the machine or, if that is less, of the control groups that it is in.
func availableMemory(root fs.FS) int64 {
	least := int64(unknownMemory)
	if total := machineMemory(root); total > 0 {
		least = total
	}
	const version2, version1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		_, group, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(group, ":")
		switch {
		case controllers == "":
			least = min(least, groupMemory(root, version2, group, "memory.max"))
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			least = min(least, groupMemory(root, version1, group, "memory.limit_in_bytes"))
		}
	}
	return least
}

// groupMemory returns the least limit of a control group and those above it.
func groupMemory(root fs.FS, mount, group, file string) int64 {
	least := int64(math.MaxInt64)
	for dir := path.Join(mount, group); strings.HasPrefix(dir, mount); dir = path.Dir(dir) {
		text, err := fs.ReadFile(root, path.Join(dir, file))
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 { // else "max"
			least = min(least, limit)
		}
	}
	return least
}

// machineMemory returns the memory of the machine, 0 if it is not known.
func machineMemory(root fs.FS) int64 {
	info, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(info)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}
