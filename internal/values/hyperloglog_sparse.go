package values

import "slices"

// sparseRun is one opcode: so many registers of one rank.
type sparseRun struct {
	length int // 0: there is no opcode
	rank   byte
	size   int // bytes of the opcode
}

func parseRun(s String) sparseRun {
	switch b := s[0]; {
	case b&sparseValFlag != 0:
		return sparseRun{int(b&3) + 1, b>>2&0x1f + 1, 1}
	case b&sparseXZeroFlag == 0:
		return sparseRun{int(b&0x3f) + 1, 0, 1}
	case len(s) < 2:
		return sparseRun{}
	default:
		return sparseRun{int(b&0x3f)<<8 | int(s[1]) + 1, 0, 2}
	}
}

// appendZeros appends a run of zeros of any length.
func appendZeros(s String, length int) String {
	if length > sparseZeroMax {
		length--
		return append(s, sparseXZeroFlag|byte(length>>8), byte(length))
	}
	if length > 0 {
		s = append(s, byte(length-1))
	}
	return s
}

// appendRun appends a run of equal registers, at most as long as one opcode says.
func appendRun(s String, length int, rank byte) String {
	if rank == 0 {
		return appendZeros(s, length)
	}
	if length > 0 {
		s = append(s, sparseValFlag|(rank-1)<<2|byte(length-1))
	}
	return s
}

// raiseSparse splits the run of a register, as Redis does, so that the same bytes
// come out. The result is nil if the value must become dense.
func (s String) raiseSparse(register int, rank byte) (result String, raised, ok bool) {
	before, p, first := hllHeader, hllHeader, 0
	var run sparseRun
	for p < len(s) {
		if run = parseRun(s[p:]); run.length == 0 {
			return nil, false, false
		}
		if register < first+run.length {
			break
		}
		before = p
		first += run.length
		p += run.size
	}
	if p >= len(s) {
		return nil, false, false
	}
	if run.rank >= rank {
		return s, false, true
	}
	var split [8]byte
	parts := appendRun(split[:0], register-first, run.rank)
	parts = appendRun(parts, 1, rank)
	parts = appendRun(parts, first+run.length-1-register, run.rank)
	if growth := len(parts) - run.size; growth > 0 && len(s)+growth > hllSparseMax {
		return nil, false, true
	}
	s = slices.Replace(s, p, p+run.size, parts...)
	return s.mergeRuns(before), true, true
}

// mergeRuns joins neighbours of one rank among the five opcodes from p on.
func (s String) mergeRuns(p int) String {
	for scan := 5; p < len(s) && scan > 0; scan-- {
		run := parseRun(s[p:])
		if run.rank == 0 {
			p += max(run.size, 1)
			continue
		}
		if p+1 < len(s) {
			next := parseRun(s[p+1:])
			if next.rank == run.rank && run.length+next.length <= sparseValMax {
				s = slices.Replace(s, p, p+2, appendRun(nil, run.length+next.length, run.rank)...)
				continue
			}
		}
		p++
	}
	return s
}
