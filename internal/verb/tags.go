package verb

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/fault"
)

// Limits of tags.
const (
	MaxTagBytes = 256 // the longest tag; there is no empty one
	MaxTags     = 64  // of one entry
)

// CheckTags returns what is wrong with the tags of an entry. Error: ErrInvalidTag.
func CheckTags(tags []string) error {
	if len(tags) > MaxTags {
		return fmt.Errorf("%w: %d tags, at most %d for an entry", fault.ErrInvalidTag, len(tags), MaxTags)
	}
	for _, tag := range tags {
		if err := CheckTag(tag); err != nil {
			return err
		}
	}
	return nil
}

// CheckTag returns what is wrong with a tag. Error: ErrInvalidTag.
func CheckTag(tag string) error {
	switch {
	case len(tag) == 0:
		return fmt.Errorf("%w: it is empty", fault.ErrInvalidTag)
	case len(tag) > MaxTagBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", fault.ErrInvalidTag, len(tag), MaxTagBytes)
	case !utf8.ValidString(tag) || strings.Contains(tag, "\x00"):
		return fmt.Errorf("%w: %q is not text in UTF-8 without a zero byte", fault.ErrInvalidTag, tag)
	}
	return nil
}
