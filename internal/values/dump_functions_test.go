package values

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// signed ends a payload as DUMP does.
func signed(body string) []byte {
	b := binary.LittleEndian.AppendUint16([]byte(body), rdbVersion)
	return binary.LittleEndian.AppendUint64(b, checksum(b))
}

func TestFunctionPayloads(t *testing.T) {
	t.Parallel()
	for _, sources := range [][]string{nil, {"a"}, {"", strings.Repeat("x", 100), strings.Repeat("y", 70000)}} {
		got, err := RestoreFunctions(DumpFunctions(sources), 1<<20)
		if err != nil || !slices.Equal(got, sources) {
			t.Errorf("%.50q: got %.50q, %v", sources, got, err)
		}
	}
	// What redis-server 7.0 has compressed: a, and then 59 more of it.
	if got, err := RestoreFunctions(signed("\xf5\xc3\x06\x3c\x01aa\xe0\x31\x00"), 60); err != nil || len(got) != 1 || got[0] != strings.Repeat("a", 60) {
		t.Errorf("got %q, %v", got, err)
	}
	for payload, want := range map[string]Error{
		"": errDumpPayload, "short": errDumpPayload, string(DumpFunctions(nil)) + "x": errDumpPayload,
		string(signed("\xf5")): errFunctionPayload, string(signed("\xf5\x05abc")): errFunctionPayload, string(signed("\x00\x01v")): errFunctionType,
		string(signed("\xf5\x01a\x00")):                                    errFunctionType,
		string(DumpFunctions([]string{strings.Repeat("x", 61)})):           errFunctionPayload,
		string(DumpFunctions([]string{strings.Repeat("x", 60), "y"})):      errFunctionPayload,
		string(signed("\xf5\xc3\x0f\x81\xff\xff\xff\xff\xff\xff\xff\xff")): errFunctionPayload,
	} {
		if got, err := RestoreFunctions([]byte(payload), 60); err != want {
			t.Errorf("%q: got %q, %v, want %v", payload, got, err, want)
		}
	}
	payload := DumpFunctions([]string{"source"})
	for i := range payload {
		broken := bytes.Clone(payload)
		broken[i] ^= 1
		if _, err := RestoreFunctions(broken, 60); err == nil {
			t.Errorf("byte %d may be another", i)
		}
	}
}
