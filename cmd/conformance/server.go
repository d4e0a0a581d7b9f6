package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/mcp"
)

// endpoint is the path that the suite expects.
const endpoint = "/mcp"

// newServer makes the server with all its fixtures, or, where n is not 0, the one for
// measuring long lists: n dummy tools beside the tools to measure with. It serves one
// revision or, where that is "", all.
func newServer(n int, revision string) (*mcp.Server, error) {
	o := &mcp.ServerOptions{
		Instructions: "Fixtures of the conformance suite; nothing here is of use otherwise.",
		PageSize:     1_000_000, // the suite follows no cursors
		Complete:     complete,
		Subscribe:    subscribe,
		// The lists change only when a tool is there to change them.
		Cache: map[string]mcp.CacheHint{
			"server/discover": {TTL: time.Hour, Public: true}, "tools/list": {TTL: time.Minute, Public: true},
			"prompts/list": {TTL: time.Minute, Public: true}, "resources/list": {TTL: time.Hour, Public: true},
			"resources/templates/list": {TTL: time.Hour, Public: true}, "resources/read": {TTL: time.Hour, Public: true},
		},
	}
	if revision != "" {
		o.Revisions = []string{revision}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "conformance", Title: "Conformance fixtures", Version: "1.0.0"}, o)
	if n != 0 {
		return s, errors.Join(addMeasuringTools(s), addDummies(s, n))
	}
	return s, errors.Join(addTools(s), addAskingTools(s), addRoundTools(s), addDiagnostics(s), addTaskTools(s),
		addResources(s), addPrompts(s), addAskingPrompt(s), addMeasuringTools(s), addCases(s))
}

// serveHTTP serves s until ctx ends. It says on stderr where, as soon as clients can
// connect.
func serveHTTP(ctx context.Context, s *mcp.Server, addr string, stderr io.Writer) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	h := &mcp.HTTPHandler{Server: s}
	mux := http.NewServeMux()
	mux.Handle(endpoint, h)
	fmt.Fprintf(stderr, "listening on http://%s%s\n", l.Addr(), endpoint)

	return h.Serve(ctx, l, mux)
}
