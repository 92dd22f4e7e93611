package verb

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// FormatToken is the token of a lease as text: its version, and the snapshot of the
// claim, which a fulfil with tags needs.
func FormatToken(version int64, snapshot string) string {
	if snapshot == "" {
		return strconv.FormatInt(version, 10)
	}
	return strconv.FormatInt(version, 10) + "/" + snapshot
}

// snapshotText is what a claim answers: what PostgreSQL writes for a pg_snapshot, in a shard
// behind the number of its placement.
var snapshotText = regexp.MustCompile(`^(\d{1,19}@)?\d{1,20}:\d{1,20}:[\d,]*$`)

// SplitSnapshot takes the number of the placement from the snapshot of a claim; 0: it has
// none.
func SplitSnapshot(text string) (placement int64, snapshot string) {
	number, snapshot, found := strings.Cut(text, "@")
	if !found {
		return 0, text
	}
	placement, _ = strconv.ParseInt(number, 10, 64) // what is no number is no placement either
	return placement, snapshot
}

// ParseToken reads what FormatToken has written. The snapshot may be missing.
func ParseToken(text string) (version int64, snapshot string, err error) {
	number, snapshot, found := strings.Cut(text, "/")
	if version, err = strconv.ParseInt(number, 10, 64); err == nil && found && !snapshotText.MatchString(snapshot) {
		err = fmt.Errorf("howdah: %.50q is not the token of a lease", text)
	}
	return version, snapshot, err
}
