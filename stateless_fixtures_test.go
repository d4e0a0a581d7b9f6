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

// An application may tell of an update before it has agreed to tell of any: the client
// hears of it, after the answer. Where it refuses, nothing is told, then or later.
func TestUpdateWhileSubscribing(t *testing.T) {
	var s *Server
	var gone []string
	s = NewServer(&Implementation{Name: "test", Version: "1"}, &ServerOptions{Unsubscribed: func(uri string) { gone = append(gone, uri) },
		Subscribe: func(_ context.Context, _ *Request, uri string) error {
			s.ResourceUpdated(uri)
			if uri == "x:no" {
				return Errorf(17, "no")
			}
			return nil
		}})
	for _, uri := range []string{"x:yes", "x:no"} {
		must(t, s.AddResource(&Resource{URI: uri, Name: "r"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
	}
	talk(t, serve(s), meet(Revision20251125, `{"logging":{},"resources":{"subscribe":true,"listChanged":true}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x:yes"}}
		< {"jsonrpc":"2.0","id":1,"result":{}}
		< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:yes"}}
		> {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"x:no"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":17,"message":"no"}}
		. 1s
	`)
	want(t, "given up", gone, "[x:yes]")
}
