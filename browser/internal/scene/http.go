package scene

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// API is the HTTP door of a server.
type API struct {
	URL   string
	Token string // "": none is asked for
	Agent string // what the program calls itself
}

// Put stores a value. ttl is "" for the cache's default.
func (a API) Put(ctx context.Context, cache, key, value, ttl string) error {
	headers := map[string]string{}
	if ttl != "" {
		headers["Howdah-TTL"] = ttl
	}
	_, err := a.call(ctx, http.MethodPut, "/v1/caches/"+cache+"/entries/"+url.PathEscape(key), value, headers)
	return err
}

// Get reads a value; one that is absent is no error.
func (a API) Get(ctx context.Context, cache, key string) error {
	_, err := a.call(ctx, http.MethodGet, "/v1/caches/"+cache+"/entries/"+url.PathEscape(key), "", nil)
	return absentIsFine(err)
}

// Delete removes a value; one that is absent is no error.
func (a API) Delete(ctx context.Context, cache, key string) error {
	_, err := a.call(ctx, http.MethodDelete, "/v1/caches/"+cache+"/entries/"+url.PathEscape(key), "", nil)
	return absentIsFine(err)
}

// Session is what a new session is made of.
type Session struct {
	User      string          `json:"user"`
	IP        string          `json:"ip,omitempty"`
	UserAgent string          `json:"user_agent"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// Begin starts a session. The Token of the API is that of sessions.
func (a API) Begin(ctx context.Context, s Session) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = a.call(ctx, http.MethodPost, "/v1/sessions", string(body), map[string]string{"Content-Type": "application/json"})
	return err
}

// refused is an answer that is not 2xx.
type refused struct {
	status int
	body   string
}

func (e *refused) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }

func absentIsFine(err error) error {
	if r, ok := err.(*refused); ok && r.status == http.StatusNotFound {
		return nil
	}
	return err
}

func (a API) call(ctx context.Context, method, path, body string, headers map[string]string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.URL+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", a.Agent)
	if a.Token != "" {
		request.Header.Set("Authorization", "Bearer "+a.Token)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = &refused{response.StatusCode, string(answer)}
	}
	return string(answer), err
}
