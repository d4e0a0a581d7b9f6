package mcp

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
)

// modernClient is the subject for a client of the stateless era: it connects, f uses
// the session, and the session is closed.
func modernClient(t *testing.T, opts ClientOptions, f func(ctx context.Context, cs *ClientSession)) func(context.Context, Conn) {
	opts.Revisions, opts.NoTasks = []string{Revision20260728}, true
	return func(ctx context.Context, c Conn) {
		cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, &opts).Connect(ctx, &ConnTransport{Conn: c})
		if err != nil {
			t.Errorf("Connect: %v", err)
			return
		}
		f(ctx, cs)
		if err := cs.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// metaOf is the _meta of a request of modernClient, whose capabilities are caps.
func metaOf(caps string) string {
	return `"_meta":{"io.modelcontextprotocol/clientCapabilities":` + caps + `,"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
}

// discovery is how modernClient meets a server that has tools.
func discovery(caps string) string {
	return `
	< {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + metaOf(caps) + `}}}
	> {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}
	`
}

// A call ends, and is not made again, where the client cannot or will not give the
// server what it wants, or where the server wants something too often.
//
// FEAT-353 EDGE-209 EDGE-212 EDGE-213 E4.10 E4.12 E4.15
func TestRoundThatCannotBeAnswered(t *testing.T) {
	refuses := func(context.Context, *ClientSession, *CreateMessageParams) (*CreateMessageResult, error) {
		return nil, Errorf(CodeUserRejected, "not now")
	}
	const form = `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`
	for _, c := range []struct{ wants, err string }{
		{`"inputRequests":{"a":{"method":"foo/bar","params":{}}}`,
			`mcp: tools/call: the server asks for "a": mcp: foo/bar: method "foo/bar" is not offered by this client (code -32601)`},
		{`"inputRequests":{"a":{"method":"tools/call","params":{"name":"x"}}}`,
			`mcp: tools/call: the server asks for "a": mcp: tools/call: method "tools/call" is not offered by this client (code -32601)`},
		{`"inputRequests":{"a":` + form + `}`,
			`mcp: tools/call: the server asks for "a": mcp: elicitation/create: method "elicitation/create" is not offered by this client (code -32601)`},
		{`"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}`,
			`mcp: tools/call: the server asks for "a": mcp: sampling/createMessage: not now (code -1)`},
		{`"x":1`, `mcp: invalid response: tools/call: input_required without inputRequests or requestState`},
		{`"inputRequests":[],"requestState":"s"`, `mcp: invalid response: tools/call: input_required without inputRequests or requestState`},
	} {
		talk(t, modernClient(t, ClientOptions{Sample: refuses}, func(ctx context.Context, cs *ClientSession) {
			_, err := cs.CallTool(ctx, "x", nil)
			checkError(t, c.wants, err, c.err)
		}), discovery(`{"sampling":{}}`)+`
			< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+metaOf(`{"sampling":{}}`)+`},"name":"x"}}
			> {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required",`+c.wants+`}}
		`)
	}
	talk(t, modernClient(t, ClientOptions{MaxRounds: 1}, func(ctx context.Context, cs *ClientSession) {
		_, err := cs.CallTool(ctx, "x", nil)
		checkError(t, "for ever", err, `mcp: tools/call: no result after 1 rounds; ClientOptions.MaxRounds allows more`)
	}), discovery(`{}`)+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+metaOf(`{}`)+`},"name":"x"}}
		> {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"a"}}
		. 200ms
		< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{`+metaOf(`{}`)+`},"name":"x","requestState":"a"}}
		> {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"b"}}
	`)
}

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
