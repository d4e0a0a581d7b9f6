package mcp

import (
	"context"
	"testing"
)

// join connects a client to a server in memory; both end with the test. It is for
// bubbles.
func join(t *testing.T, s *Server, opts *ClientOptions) *ClientSession {
	t.Helper()
	return joinAs(t, "t", s, opts)
}

func joinAs(t *testing.T, name string, s *Server, opts *ClientOptions) *ClientSession {
	t.Helper()
	ours, theirs := Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background(), theirs) }()
	cs, err := NewClient(&Implementation{Name: name, Version: "0"}, opts).Connect(t.Context(), &ConnTransport{Conn: ours})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return cs
}
