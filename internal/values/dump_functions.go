package values

import "encoding/binary"

// rdbFunctions comes before the source of each library in a payload of FUNCTION DUMP.
const rdbFunctions = 245

// The errors of RestoreFunctions besides that of the checksum.
const (
	errFunctionType    = Error("ERR given type is not a function")
	errFunctionPayload = Error("ERR failed loading the given functions payload")
)

// DumpFunctions returns the payload that FUNCTION DUMP gives for the sources of libraries.
func DumpFunctions(sources []string) []byte {
	var b []byte
	for _, source := range sources {
		b = appendRDBString(append(b, rdbFunctions), source)
	}
	b = binary.LittleEndian.AppendUint16(b, rdbVersion)
	return binary.LittleEndian.AppendUint64(b, checksum(b))
}

// RestoreFunctions reads a payload of FUNCTION DUMP, of this or of Redis 7. Its error is
// the reply. most bounds the bytes of all sources together.
func RestoreFunctions(payload []byte, most int) (sources []string, err error) {
	body := len(payload) - rdbFooter
	if body < 0 || !sound(payload) {
		return nil, errDumpPayload
	}
	r := &rdbReader{unpacker{rest: string(payload[:body]), ok: true}}
	for r.more() {
		if kind := r.little(1); kind != rdbFunctions {
			return nil, errFunctionType
		}
		if r.announced() > uint64(most) {
			return nil, errFunctionPayload
		}
		source := r.str()
		if !r.ok {
			return nil, errFunctionPayload
		}
		most -= len(source)
		sources = append(sources, source)
	}
	return sources, nil
}

// announced returns the length of the string that follows, without reading it: a few
// bytes can announce many.
func (r rdbReader) announced() uint64 {
	n, encoded := r.length()
	if encoded == rdbEncodedLZF {
		r.length() // compressed
		n, _ = r.length()
	}
	return n
}
