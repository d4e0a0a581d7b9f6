package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A roundTrip is a server, as a client's HTTP transport sees it.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestListenBeforeCalls holds a client to listening before it calls anything, so that
// what a server asks on the listening stream is not lost, but no longer than a moment:
// a server may answer the GET only when it has something to say. // BASE-224
func TestListenBeforeCalls(t *testing.T) {
	for _, test := range []struct {
		name    string
		status  int
		answers time.Duration // when the GET is answered
		ready   time.Duration // when the session must be there
	}{
		{"answered at once", http.StatusOK, 0, 0},
		{"answered late", http.StatusOK, 300 * time.Millisecond, 300 * time.Millisecond},
		{"refused late", http.StatusMethodNotAllowed, 200 * time.Millisecond, 200 * time.Millisecond},
		{"not answered for long", http.StatusOK, time.Hour, listenGrace},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				heard := make(chan string, 4)
				server := lateListener(heard, test.answers, test.status)
				tr := &HTTPTransport{URL: "http://server.example/mcp", Client: &http.Client{Transport: server}}
				cs, err := sessionClient(&Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), tr)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != test.ready {
					t.Errorf("ready after %v, want %v", took, test.ready)
				}
				for _, want := range []string{"POST initialize", "POST notifications/initialized", "GET "} {
					if got := <-heard; got != want {
						t.Errorf("the server heard %q, want %q", got, want)
					}
				}
				if err := cs.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// lateListener opens a session, and then takes its time to answer a GET.
func lateListener(heard chan<- string, answers time.Duration, status int) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		var said struct{ Method string }
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &said)
		heard <- r.Method + " " + said.Method
		resp := &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: r}
		switch {
		case said.Method == methodInitialize:
			resp.StatusCode = http.StatusOK
			resp.Header.Set("Content-Type", typeJSON)
			resp.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":` +
				`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`))
		case r.Method == http.MethodGet:
			select {
			case <-time.After(answers):
			case <-r.Context().Done():
				return nil, context.Cause(r.Context())
			}
			events, in := io.Pipe() // without any, until the end
			context.AfterFunc(r.Context(), func() { _ = in.Close() })
			resp.StatusCode, resp.Body = status, events
			resp.Header.Set("Content-Type", typeEvents)
		}
		return resp, nil
	}
}
