package mcp

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"
)

func TestSmokeHTTP(t *testing.T) {
	s := testServer(t, nil)
	h := &HTTPHandler{Server: s}
	srv := httptest.NewServer(h)
	defer srv.Close()
	changed := make(chan bool, 10)
	c := NewClient(&Implementation{Name: "c", Version: "1"}, &ClientOptions{
		Elicit: func(ctx context.Context, cs *ClientSession, p *ElicitParams) (*ElicitResult, error) {
			return &ElicitResult{Action: "accept", Content: []byte(`{"name":"Bob"}`)}, nil
		},
		ToolsChanged: func(context.Context, *ClientSession) { changed <- true },
	})
	cs, err := c.Connect(t.Context(), &HTTPTransport{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	r, err := cs.CallTool(t.Context(), "echo", map[string]any{"text": "hi"})
	fmt.Println(r, err)
	r, err = cs.CallTool(t.Context(), "ask", nil)
	fmt.Println(r.Text(), err)
	_, err = cs.CallTool(t.Context(), "nope", nil)
	fmt.Println(err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = cs.CallTool(ctx, "slow", nil)
	fmt.Println(err)
	AddTool(s, &Tool{Name: "new"}, func(ctx context.Context, r *Request, in struct{}) (string, error) { return "", nil })
	select {
	case <-changed:
	case <-time.After(3 * time.Second):
		t.Error("no list changed")
	}
	fmt.Println(cs.Close())
	fmt.Println(h.Shutdown(t.Context()))
	old := httptest.NewServer(h.SSE())
	_ = old
}
