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

// snapshotText is what PostgreSQL writes for a pg_snapshot.
var snapshotText = regexp.MustCompile(`^\d{1,20}:\d{1,20}:[\d,]*$`)

// ParseToken reads what FormatToken has written. The snapshot may be missing.
func ParseToken(text string) (version int64, snapshot string, err error) {
	number, snapshot, found := strings.Cut(text, "/")
	if version, err = strconv.ParseInt(number, 10, 64); err == nil && found && !snapshotText.MatchString(snapshot) {
		err = fmt.Errorf("howdah: %.50q is not the token of a lease", text)
	}
	return version, snapshot, err
}
