package resp

import (
	"bytes"
	"testing"
)

// parseAll parses a stream that ends with a complete command.
func parseAll(b *testing.B, p *Parser, stream []byte, commands int) {
	for buf := stream; len(buf) > 0; commands-- {
		args, n, err := p.Parse(buf)
		if err != nil || len(args) == 0 {
			b.Fatal(args, n, err)
		}
		buf = buf[n:]
	}
	if commands != 0 {
		b.Fatal("wrong number of commands")
	}
}

func benchmarkParse(b *testing.B, command []byte, pipeline int) {
	stream := bytes.Repeat(command, pipeline)
	p := NewParser(Limits{})
	p.SetAuthenticated(true)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		parseAll(b, p, stream, pipeline)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pipeline), "ns/command")
}

func BenchmarkParse(b *testing.B) {
	get := AppendCommand(nil, "GET", "key:000000012345")
	set := AppendCommand(nil, "SET", "key:000000012345", string(bytes.Repeat([]byte("v"), 250)))
	b.Run("get", func(b *testing.B) { benchmarkParse(b, get, 1) })
	b.Run("get-pipeline-16", func(b *testing.B) { benchmarkParse(b, get, 16) })
	b.Run("set", func(b *testing.B) { benchmarkParse(b, set, 1) })
	b.Run("set-pipeline-16", func(b *testing.B) { benchmarkParse(b, set, 16) })
	b.Run("inline-get", func(b *testing.B) { benchmarkParse(b, []byte("GET key:000000012345\r\n"), 1) })
}

// A value of 64 MiB that arrives in pieces of 64 KiB.
func BenchmarkParseFragmented(b *testing.B) {
	stream := AppendCommand(nil, []byte("SET"), []byte("key"), make([]byte, 64<<20))
	p := NewParser(Limits{})
	p.SetAuthenticated(true)
	b.ReportAllocs()
	for b.Loop() {
		for end := 64 << 10; ; end += 64 << 10 {
			args, _, err := p.Parse(stream[:min(end, len(stream))])
			if err != nil {
				b.Fatal(err)
			}
			if len(args) > 0 {
				break
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	value := bytes.Repeat([]byte("v"), 250)
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	b.Run("bulk", func(b *testing.B) {
		for b.Loop() {
			dst = AppendBulk(dst[:0], value)
		}
	})
	b.Run("int", func(b *testing.B) {
		for b.Loop() {
			dst = AppendInt(dst[:0], 1234567)
		}
	})
	b.Run("double", func(b *testing.B) {
		for b.Loop() {
			dst = AppendDouble(dst[:0], RESP3, 3.14159)
		}
	})
}
