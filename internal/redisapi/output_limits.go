package redisapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// outputLimit bounds what a subscriber may leave unread.
type outputLimit struct {
	hard, soft int64 // bytes; 0: none
	time       int64 // nanoseconds for which soft may be exceeded
}

// outputLimitSetting is the name of the setting that holds the limits.
const outputLimitSetting = "client-output-buffer-limit"

// outputClasses are the kinds of connections that the setting tells apart.
var outputClasses = []string{"normal", "slave", "pubsub"}

// outputLimits are the limits of all classes: hard and soft in bytes, and seconds.
type outputLimits [3][3]uint64

const (
	errLimitWords   = refusal("Wrong number of arguments in buffer limit configuration.")
	errLimitClass   = refusal("Invalid client class specified in buffer limit configuration.")
	errLimitNumbers = refusal("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
	errLimitNormal  = refusal("the output of normal clients is bounded for all of them together, by max-clients-memory")
)

// merge changes the limits of the classes that a value of the setting names.
func (l outputLimits) merge(value string) (outputLimits, refusal) {
	if value == "" {
		return l, ""
	}
	words := strings.Split(value, " ")
	if len(words)%4 != 0 {
		return l, errLimitWords
	}
	for quad := range slices.Chunk(words, 4) {
		name := strings.ToLower(quad[0])
		if name == "replica" {
			name = "slave"
		}
		class := slices.Index(outputClasses, name)
		if class < 0 {
			return l, errLimitClass
		}
		hard, hardOK := parseMemory(quad[1])
		soft, softOK := parseMemory(quad[2])
		seconds, err := strconv.ParseInt(quad[3], 10, 32)
		if !hardOK || !softOK || err != nil || seconds < 0 {
			return l, errLimitNumbers
		}
		l[class] = [3]uint64{hard, soft, uint64(seconds)}
	}
	if l[0] != [3]uint64{} {
		return l, errLimitNormal
	}
	return l, ""
}

// String returns the limits as CONFIG GET shows them.
func (l outputLimits) String() string {
	var parts []string
	for class, limit := range l {
		parts = append(parts, fmt.Sprintf("%s %d %d %d", outputClasses[class], limit[0], limit[1], limit[2]))
	}
	return strings.Join(parts, " ")
}

// pubsub returns the limit of subscribers.
func (l outputLimits) pubsub() *outputLimit {
	bytes := func(n uint64) int64 { return int64(min(n, 1<<62)) }
	return &outputLimit{hard: bytes(l[2][0]), soft: bytes(l[2][1]), time: int64(l[2][2]) * int64(time.Second)}
}

// defaultOutputLimits are those of Redis.
func defaultOutputLimits() outputLimits {
	return outputLimits{{}, {256 << 20, 64 << 20, 60}, {32 << 20, 8 << 20, 60}}
}

// parseOutputLimits reads the limits as String writes them.
func parseOutputLimits(text string) outputLimits {
	limits, _ := outputLimits{}.merge(text)
	return limits
}
