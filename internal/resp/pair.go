package resp

// CutPair cuts a command of two words off buf, which begins with a command, if all
// of it is there, its first word is name (in lower case, at most 9 letters; the
// command may have it in any case), its second word has at most maxArg bytes, and
// it is written as every client writes it: an array of bulk strings. It returns the
// second word and the size of the command, 0 if any of that is not so: then a
// [Parser] must read it. It is several times as fast as a Parser, which keeps what
// it knows of a command that comes in pieces.
func CutPair(buf []byte, name string, maxArg int) (arg []byte, size int) {
	at := len("*2\r\n$3\r\n") + len(name) // behind the first word
	if len(buf) < at+len("\r\n$0\r\n\r\n") || string(buf[:5]) != "*2\r\n$" ||
		buf[5] != '0'+byte(len(name)) || string(buf[6:8]) != "\r\n" || string(buf[at:at+3]) != "\r\n$" {
		return nil, 0
	}
	for i := range len(name) {
		if buf[8+i]|0x20 != name[i] {
			return nil, 0
		}
	}
	at += 3
	length := 0
	first := at
	for ; at < len(buf) && '0' <= buf[at] && buf[at] <= '9' && length <= maxArg; at++ {
		length = 10*length + int(buf[at]-'0')
	}
	canonical := at == first+1 || at > first && buf[first] != '0'
	if !canonical || length > maxArg || len(buf) < at+2+length+2 || string(buf[at:at+2]) != "\r\n" {
		return nil, 0
	}
	at += 2
	return buf[at : at+length : at+length], at + length + 2
}
