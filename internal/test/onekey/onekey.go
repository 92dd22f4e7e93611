// Package onekey says what calls of a cache may answer: models of one key for porcupine, which judges histories of
// many callers, and of processes whose servers and connections fail.
package onekey

import (
	"fmt"
	"strconv"

	"github.com/anishathalye/porcupine"
)

// Op is what a call does.
type Op int

// The operations.
const (
	Get    Op = iota
	Set       // stores
	Swap      // stores if the key holds what was expected
	Delete    // of what was expected, or of anything
	Add       // 1 to a number
	Lose      // everything, in a crash
)

// Call is what a call asked for. "" is an absent key.
type Call struct {
	Op              Op
	Key             string
	Expected, Value string
	Begun           int64 // when; only StrictModel needs it
}

// Answer is what it was answered.
type Answer struct {
	Value   string // of Get and Add
	Refused bool   // the condition of Swap did not hold
	Unknown bool   // the outcome is unknown
	Ended   int64  // when; only StrictModel needs it
}

// Model is one key of a cache: what each call makes of its state.
var Model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		was, call, answer := state.(string), input.(Call), output.(Answer)
		switch call.Op {
		case Get:
			return answer.Value == was, was
		case Set:
			return true, call.Value
		case Swap:
			if was != call.Expected {
				return answer.Unknown || answer.Refused, was
			}
			return answer.Unknown || !answer.Refused, call.Value
		case Add:
			n, _ := strconv.Atoi(was)
			next := strconv.Itoa(n + 1)
			return answer.Unknown || answer.Value == next, next
		}
		return true, "" // Delete, Lose
	},
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		keys := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(Call).Key
			keys[key] = append(keys[key], op)
		}
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// strictState is a key of a cache, and when the last of the acknowledged writes began that it has
// seen.
type strictState struct {
	value string
	last  int64
}

// StrictModel is Model for one process, which promises more: a write whose outcome is unknown
// is applied before each acknowledged write that began after its answer, or never.
var StrictModel = porcupine.Model{
	Init: func() any { return strictState{} },
	Step: func(state, input, output any) (bool, any) {
		was, call, answer := state.(strictState), input.(Call), output.(Answer)
		if answer.Unknown && was.last > answer.Ended {
			return true, was // it can only be one that never happens
		}
		ok, value := Model.Step(was.value, call, answer)
		next := strictState{value.(string), was.last}
		if call.Op != Get && !answer.Unknown {
			next.last = max(next.last, call.Begun)
		}
		return ok, next
	},
	Partition: Model.Partition, DescribeOperation: Model.DescribeOperation,
}
