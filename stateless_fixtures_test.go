package mcp

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
)

// A call that is made again has the headers of the first try.
//
// BASE-313 FEAT-349
func TestRoundsOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &HTTPHandler{Server: testServer(t, nil)}
		ln := listenMemory()
		serveMemory(t, ln, h)
		accept := func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
			return &ElicitResult{Action: "accept", Content: []byte(`{"name":"Ada"}`)}, nil
		}
		cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, &ClientOptions{Elicit: accept}).
			Connect(t.Context(), &HTTPTransport{URL: "http://localhost/mcp", Client: &http.Client{Transport: ln.client().Transport}})
		if err != nil {
			t.Fatal(err)
		}
		result, err := cs.CallTool(t.Context(), "ask", nil)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "answer", result.Text(), `accept{"name":"Ada"}`)
		must(t, cs.Close(), h.Shutdown(t.Context()))
	})
}
