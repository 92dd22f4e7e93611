package pgwire

import "encoding/binary"

// The statements take arrays in PostgreSQL's binary format, which is written
// here directly: one pass over the rows, one buffer, no reflection.
// Layout: src/backend/utils/adt/arrayfuncs.c, array_recv.

// The OIDs of the types of elements.
const (
	Bool  = 16
	Bytea = 17
	Int8  = 20
	Int4  = 23
	Text  = 25
)

// Epoch is 2000-01-01 in microseconds of the Unix epoch; timestamps
// travel relative to it.
const Epoch = 946684800 * 1000000

// Infinity is timestamptz 'infinity' on the wire.
const Infinity = 1<<63 - 1

// AppendArray begins a one-dimensional array of n elements.
func AppendArray(dst []byte, oid uint32, n int, hasNull bool) []byte {
	var null uint32
	if hasNull {
		null = 1
	}
	dst = binary.BigEndian.AppendUint32(dst, 1)
	dst = binary.BigEndian.AppendUint32(dst, null)
	dst = binary.BigEndian.AppendUint32(dst, oid)
	dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	return binary.BigEndian.AppendUint32(dst, 1)
}

// AppendInt8 appends an element of type bigint. From its fifth byte on it is a bare value, as a parameter.
func AppendInt8(dst []byte, v int64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 8)
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

// AppendInt4 appends an element of type integer, as AppendInt8 does.
func AppendInt4(dst []byte, v int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 4)
	return binary.BigEndian.AppendUint32(dst, uint32(v))
}

// AppendBool appends an element of type boolean, as AppendInt8 does.
func AppendBool(dst []byte, v bool) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 1)
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendBytes appends an element of type bytea or text.
func AppendBytes(dst, v []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(v)))
	return append(dst, v...)
}

// AppendNull appends an element that is NULL.
func AppendNull(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, 0xffffffff)
}

// ReadInt8 reads a bigint.
func ReadInt8(v []byte) int64 { return int64(binary.BigEndian.Uint64(v)) }

// ReadInt4 reads an integer.
func ReadInt4(v []byte) int32 { return int32(binary.BigEndian.Uint32(v)) }

// ReadBool reads a boolean; NULL is false.
func ReadBool(v []byte) bool { return len(v) == 1 && v[0] == 1 }
