package mcp

import (
	"context"
	"fmt"
	"testing"
)

// What a handler keeps with its session is there for the next request of the session,
// and for no other session. Where there are no sessions, nothing is kept.
//
// BASE-284
func TestRequestSession(t *testing.T) {
	s := testServer(t, nil)
	if err := s.AddTool(&Tool{Name: "count"}, func(_ context.Context, r *Request, _ *CallToolParams) (*CallToolResult, error) {
		n, _ := r.Session.LoadOrStore("n", new(int))
		*n.(*int)++
		return &CallToolResult{Content: []Content{&TextContent{Text: fmt.Sprint(*n.(*int))}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		talk(t, serve(s), hello(Revision20251125, "{}")+`
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1"}]}}
			> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count"}}
			< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"2"}]}}
		`)
	}
	once := gives(`DONE,"content":[{"type":"text","text":"1"}]`)
	everyWay(t, func() *Server { return s }, lone("tools/call", `"name":"count"`), once, lone("tools/call", `"name":"count"`), once)
}

// A server that makes the list of resources itself can say that it has changed, as
// often as it likes; a client that was not told of resources hears nothing of it.
func TestResourcesChanged(t *testing.T) {
	for _, has := range []bool{true, false} {
		s := NewServer(&Implementation{Name: "test", Version: "1"}, &ServerOptions{HasResources: has, HasPrompts: true, NoLogging: true})
		if err := AddTool(s, &Tool{Name: "change"}, func(context.Context, *Request, struct{}) (string, error) {
			s.ResourcesChanged()
			s.ResourcesChanged()
			return "", nil
		}); err != nil {
			t.Fatal(err)
		}
		offered, news := "", ""
		if has {
			offered, news = `"resources":{"listChanged":true},`, `< {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
		}
		talk(t, serve(s), `
			> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{"listChanged":true},`+offered+`"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
			> {"jsonrpc":"2.0","method":"notifications/initialized"}
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"change"}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}
			. 1s
			`+news)
	}
}
