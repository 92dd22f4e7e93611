package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pubsub"
)

const (
	// heartbeat is how often an idle stream gets a comment, so that whatever is between
	// server and client keeps it, and streamTimeout how long a client may not read.
	heartbeat     = 15 * time.Second
	streamTimeout = 30 * time.Second

	// maxStreamBytes bounds the messages that wait for the client of a stream.
	maxStreamBytes = 8 << 20
)

// publish sends the body to the subscribers of a channel.
func (a *api) publish(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "channel")
	if err != nil {
		return err
	}
	if len(values["channel"]) != 1 {
		return problemf(badRequest, "Name one channel: ?channel=.")
	}
	if err := unconditional(r); err != nil {
		return err
	}
	message, err := readBody(w, r, a.maxValueBytes)
	if err != nil {
		return err
	}
	receivers, err := a.db.Publish(r.Context(), pubsub.Channel, []byte(values.Get("channel")), message)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]int{"receivers": receivers})
}

// subscribe answers with the messages of channels, as server-sent events, until the client
// leaves or the server stops.
func (a *api) subscribe(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "channel", "pattern")
	if err != nil {
		return err
	}
	if len(values) == 0 {
		return problemf(badRequest, "Name what to subscribe to: ?channel= or ?pattern=, each as often as you like.")
	}
	messages, err := a.db.Subscribe(r.Context(), core.SubscribeOptions{
		Channels: values["channel"], Patterns: values["pattern"], MaxBytes: maxStreamBytes,
	})
	if err != nil {
		return err
	}
	defer messages.Close()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.streams, cancel)()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx
	s := stream{w, http.NewResponseController(w)}
	// The deadline of the request would end the stream too.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if s.write(": subscribed\n\n") != nil {
		return nil
	}
	for {
		next, cancel := context.WithTimeout(ctx, heartbeat)
		m, err := messages.Next(next)
		cancel()
		switch {
		case err == nil:
			err = s.write("data: " + eventOf(m) + "\n\n")
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			err = s.write(":\n\n")
		case errors.Is(err, fault.ErrOverloaded):
			a.log.Warn("closing a stream of messages", "client", r.RemoteAddr, "reason", err)
			_ = s.write("event: overloaded\ndata: messages came faster than they were read\n\n")
		}
		if err != nil {
			return nil // the status is sent; the end of the stream says enough
		}
	}
}

// stream is an answer that has no end.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// write sends a piece at once. The server's own limits are for answers with an end.
func (s stream) write(piece string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(streamTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write([]byte(piece)); err != nil {
		return err
	}
	return s.control.Flush()
}

// eventOf is a message as one line of JSON. What is not text is written as base64.
func eventOf(m core.PublishedMessage) string {
	event := struct {
		Channel  string `json:"channel"`
		Pattern  string `json:"pattern,omitempty"`
		Message  string `json:"message"`
		Encoding string `json:"encoding,omitempty"`
	}{m.Channel, m.Pattern, string(m.Payload), ""}
	if !utf8.ValidString(m.Channel) || !utf8.ValidString(m.Pattern) || !utf8.Valid(m.Payload) {
		text := base64.StdEncoding.EncodeToString
		event.Channel, event.Pattern, event.Message = text([]byte(m.Channel)), text([]byte(m.Pattern)), text(m.Payload)
		event.Encoding = asBase64
	}
	line, err := json.Marshal(event)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(line)
}
