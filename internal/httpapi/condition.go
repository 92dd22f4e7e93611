package httpapi

import (
	"net/http"
	"strconv"
	"strings"
)

// maxConditionTags bounds If-Match on writes, where each tag is a statement.
const maxConditionTags = 16

// condition is what If-Match and If-None-Match ask for.
type condition struct {
	given    bool
	absent   bool    // If-None-Match: *
	present  bool    // If-Match: *
	versions []int64 // If-Match with tags; perhaps none that could match
}

// etag is the strong tag of a version. Versions increase with every write and
// are not used again, so a tag names one value of one key.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// versionOf is the version of a strong tag that we could have given.
func versionOf(tag string) (int64, bool) {
	inner, ok := strings.CutPrefix(tag, `"`)
	if !ok {
		return 0, false
	}
	if inner, ok = strings.CutSuffix(inner, `"`); !ok {
		return 0, false
	}
	version, err := strconv.ParseInt(inner, 10, 64)
	return version, err == nil && version > 0 && tag == etag(version)
}

// writeCondition reads the conditions of PUT and DELETE (RFC 9110, section
// 13.1). One that cannot be kept is refused, never overlooked.
func writeCondition(r *http.Request) (condition, error) {
	match, noneMatch := fieldOf(r, "If-Match"), fieldOf(r, "If-None-Match")
	switch {
	case match != "" && noneMatch != "":
		return condition{}, problemf(badRequest, "Give If-Match or If-None-Match, not both.")
	case noneMatch == "*":
		return condition{given: true, absent: true}, nil
	case noneMatch != "":
		return condition{}, problemf(badRequest, "A write takes If-None-Match: * (only if the key is absent) and no other. To replace one version, send If-Match with its ETag.")
	case match == "*":
		return condition{given: true, present: true}, nil
	case match == "":
		return condition{}, nil
	}
	c := condition{given: true}
	for tag := range strings.SplitSeq(match, ",") {
		// A weak tag or one of somebody else's never matches a strong one.
		if version, ok := versionOf(strings.TrimSpace(tag)); ok {
			c.versions = append(c.versions, version)
		}
	}
	if len(c.versions) > maxConditionTags {
		return condition{}, problemf(badRequest, "If-Match names %d ETags; name at most %d.", len(c.versions), maxConditionTags)
	}
	return c, nil
}

// unconditional refuses conditions on routes that could not keep them.
func unconditional(r *http.Request) error { return without(r, "If-Match", "If-None-Match", "If-Lease") }

// without refuses headers that a route could not keep.
func without(r *http.Request, names ...string) error {
	for _, name := range names {
		if fieldOf(r, name) != "" {
			return problemf(badRequest, "This route takes no %s; use PUT or DELETE on the entry.", name)
		}
	}
	return nil
}

// readCondition tells, for a read of an entry, whether the client's copy is
// still good (304), or If-Match failed.
func readCondition(r *http.Request, version int64) (notModified bool, err error) {
	if match := fieldOf(r, "If-Match"); match != "" && match != "*" && !hasTag(match, version, false) {
		return false, problemf(preconditionFailed, "The entry has another version.")
	}
	noneMatch := fieldOf(r, "If-None-Match")
	return noneMatch == "*" || hasTag(noneMatch, version, true), nil
}

// hasTag looks for a version in a list of tags; weak ones count if weak is set.
func hasTag(list string, version int64, weak bool) bool {
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		if weak {
			tag = strings.TrimPrefix(tag, "W/")
		}
		if tag == etag(version) {
			return true
		}
	}
	return false
}

// fieldOf joins a header that may be sent in several lines.
func fieldOf(r *http.Request, name string) string {
	return strings.TrimSpace(strings.Join(r.Header.Values(name), ","))
}
