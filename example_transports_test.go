package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"example.com/mcp"
)

// A server over stdio, as a client that starts it sees it: a message a line. Here stdin
// is a pipe that holds one request.
func ExampleStdio() {
	stdin, client, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
		`"capabilities":{},"clientInfo":{"name":"example","version":"1.0"}}}`)
	client.Close() // a client ends a server so
	defer func(before *os.File) { os.Stdin = before }(os.Stdin)
	os.Stdin = stdin

	if err := greeter(nil).Run(context.Background(), mcp.Stdio()); err != nil {
		fmt.Fprintln(os.Stderr, err) // stdout is for messages
	}
	// Output: {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"example","version":"1.0"}}}
}

// Clients of 2024-11-05 that know no newer transport get one endpoint of their own.
func ExampleHTTPHandler_SSE() {
	handler := &mcp.HTTPHandler{Server: greeter(nil)}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	mux.Handle("/sse", handler.SSE())
	web := httptest.NewServer(mux)
	defer web.Close()
	defer handler.Shutdown(context.Background())

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	for _, path := range []string{"/mcp", "/sse"} {
		session, err := client.Connect(context.Background(), &mcp.HTTPTransport{URL: web.URL + path})
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := session.CallTool(context.Background(), "wave", nil)
		fmt.Println(path, session.Revision(), result.Text(), err)
		session.Close()
	}
	// Output:
	// /mcp 2026-07-28 o/ <nil>
	// /sse 2025-11-25 o/ <nil>
}

// A client of an old server: it is told by its answers that it knows only HTTP+SSE.
func ExampleHTTPTransport_sse() {
	old := &mcp.HTTPHandler{Server: greeter(nil)}
	web := httptest.NewServer(old.SSE())
	defer web.Close()
	defer old.Shutdown(context.Background())

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	session, err := client.Connect(context.Background(), &mcp.HTTPTransport{URL: web.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	for resource, err := range session.Resources(context.Background()) {
		fmt.Println(session.Revision(), resource.URI, err)
	}
	// Output: 2025-11-25 greeting:count <nil>
}
