//go:build citus

package citus_test

import (
	"fmt"
	"strconv"

	"github.com/anishathalye/porcupine"
)

// What a call of a history asked for and was answered, and what a key makes of it. Histories of lost
// connections (tests/crash) have a model of their own, which promises more.

const (
	opGet = iota
	opSet
	opSwap   // stores if the key holds what was expected
	opDelete // of what was expected, or of anything
	opAdd    // 1 to a number
	opLose   // everything, in a crash
)

// asked is what a call of a history asked for. "" is an absent key.
type asked struct {
	op              int
	key             string
	expected, value string
}

// told is what it was answered.
type told struct {
	value   string // of opGet and opAdd
	refused bool   // the condition of opSwap did not hold
	unknown bool
}

// keyModel is one key of a cache: what each call makes of its state.
var keyModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		was, call, answer := state.(string), input.(asked), output.(told)
		switch call.op {
		case opGet:
			return answer.value == was, was
		case opSet:
			return true, call.value
		case opSwap:
			if was != call.expected {
				return answer.unknown || answer.refused, was
			}
			return answer.unknown || !answer.refused, call.value
		case opAdd:
			n, _ := strconv.Atoi(was)
			next := strconv.Itoa(n + 1)
			return answer.unknown || answer.value == next, next
		}
		return true, "" // opDelete, opLose
	},
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		keys := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(asked).key
			keys[key] = append(keys[key], op)
		}
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}
