package rival

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The client must understand what net/http answers, several requests on one
// connection, and must not take an error for a miss.
func TestHTTPClient(t *testing.T) {
	stored := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Query().Get("key")
		switch {
		case key == "broken":
			http.Error(w, "out of order", http.StatusInternalServerError)
		case key == "chunked":
			w.(http.Flusher).Flush()
			io.WriteString(w, "a piece")
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			stored[key] = string(body)
			w.WriteHeader(http.StatusNoContent)
		default:
			value, ok := stored[key]
			if !ok {
				http.Error(w, "not here", http.StatusNotFound)
				return
			}
			io.WriteString(w, value)
		}
	}))
	defer server.Close()
	c, err := NewHTTPClient(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, found, err := c.Get("a"); found || err != nil {
		t.Errorf("a miss: found is %t, %v", found, err)
	}
	for _, value := range []string{"short", "", "with \r\n\r\n in it"} {
		if err := c.Set("a", []byte(value)); err != nil {
			t.Fatal(err)
		}
		got, found, err := c.Get("a")
		if err != nil || !found || string(got) != value {
			t.Errorf("stored %q, read %q, found is %t, %v", value, got, found, err)
		}
	}
	if _, _, err := c.Get("broken"); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("an error of the server became %v", err)
	}
	if err := c.Set("broken", nil); err == nil {
		t.Error("a refused write was not noticed")
	}
	if _, _, err := c.Get("chunked"); err == nil {
		t.Error("an answer in chunks was misread")
	}
}
