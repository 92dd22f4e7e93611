package engine

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"
)

// Partition is the number of the partition of a key: the first bits of the hash of its
// hash tag. howdah_internal._partition computes the same in SQL. It must not be called
// where keys are not divided.
func (s *Set) Partition(key []byte) int {
	return int(s.Hash(HashTag(key)) >> (63 - bits.TrailingZeros(uint(s.Partitions))))
}

// HashTag is the part of a key that decides where it is kept: what stands in its first
// braces, if that is not empty, and otherwise all of it. It is the rule of Redis Cluster
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
func HashTag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	if length := bytes.IndexByte(key[open+1:], '}'); length > 0 {
		return key[open+1 : open+1+length]
	}
	return key
}

// Holds reports whether a key belongs to the table of the engine: to the cache, or to the
// partition that it serves.
func (e *Engine) Holds(key []byte) bool {
	return e.partition < 0 || e.set.Partition(key) == e.partition
}

// partitionOf is the number in the name of a partition's settings, -1 for those of a cache.
func partitionOf(name string) int {
	_, number, divided := strings.Cut(name, "/")
	if !divided {
		return -1
	}
	n, _ := strconv.Atoi(number) // was checked
	return n
}
