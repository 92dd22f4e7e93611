package workload

import "testing"

func TestDocuments(t *testing.T) {
	d := NewDocuments(1)
	first := string(d.Of(7))
	if n := len(first); n < 230 || n > 270 {
		t.Errorf("a document has %d bytes", n)
	}
	if err := CheckDocument(7, []byte(first)); err != nil {
		t.Error(err)
	}
	if CheckDocument(8, []byte(first)) == nil || CheckDocument(7, []byte(first[:40])) == nil {
		t.Error("another's document, or half of one, was accepted")
	}
	if string(d.Of(7)) == first {
		t.Error("two documents of a user are the same")
	}
}
