package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// eachRevision runs a test for every revision, or for those that are named.
func eachRevision(t *testing.T, test func(t *testing.T, rev string), names ...string) {
	t.Helper()
	if names == nil {
		names = sessionRevisions()
	}
	for _, rev := range names {
		t.Run(rev, func(t *testing.T) { t.Helper(); test(t, rev) })
	}
}

// use is the subject for a client: it opens a session, does something with it, and
// closes it.
func use(t *testing.T, opts *ClientOptions, do func(ctx context.Context, cs *ClientSession)) func(context.Context, Conn) {
	t.Helper()
	return func(ctx context.Context, c Conn) {
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(ctx, &ConnTransport{Conn: c})
		if err != nil {
			t.Errorf("Connect: %v", err)
			return
		}
		if do != nil {
			do(ctx, cs)
		}
		if err := cs.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// welcome opens the session of a client without options, at a revision. The
// client's next request has the id 2.
func welcome(rev string) string {
	return `
	< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}
	> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + rev + `","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"0"}}}
	< {"jsonrpc":"2.0","method":"notifications/initialized"}
	`
}

// want compares what a test saw with what it must have seen.
func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// A journal is a list that goroutines write to.
type journal struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "; ")
}

// logged is a logger whose messages go to a journal, with their level.
func (j *journal) logger() *slog.Logger { return slog.New(journalHandler{j}) }

type journalHandler struct{ j *journal }

func (h journalHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h journalHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h journalHandler) WithGroup(string) slog.Handler            { return h }
func (h journalHandler) Handle(_ context.Context, r slog.Record) error {
	h.j.add("%v %s", r.Level, strings.TrimPrefix(r.Message, "mcp: "))
	return nil
}

// An id is a string or an integer, and comes back as it was written.
//
// BASE-003 BASE-009 BASE-011 BASE-155 EDGE-003 EDGE-004 EDGE-006 EDGE-238
func TestIDs(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		var script strings.Builder
		for _, id := range []string{`"a"`, `0`, `-3`, `""`, `7`, `"7"`, `"a-b"`, `1.0`, `1e2`, `-0`, `9007199254740993`,
			`18446744073709551616`, `"日本語😀"`, `"\u0061"`, `"\ud800"`, `"a\\\"b"`} {
			fmt.Fprintf(&script, "> {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n", id)
			fmt.Fprintf(&script, "< {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", id)
		}
		talk(t, serve(testServer(t, nil)), hello(rev, "{}")+script.String())
	})
}

// BUG-016: a string that looks like a number stays a string.
func TestBUG016StringID(t *testing.T) {
	talk(t, serve(NewServer(&Implementation{Name: "test", Version: "1"}, &ServerOptions{HasTools: true})), hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":"1","method":"ping"}
		< {"jsonrpc":"2.0","id":"1","result":{}}
		> {"jsonrpc":"2.0","id":"init-1","method":"tools/list"}
		< {"jsonrpc":"2.0","id":"init-1","result":{"tools":[]}}
	`)
}

// BUG-017: an integer keeps all its digits.
func TestBUG017LargeID(t *testing.T) {
	talk(t, serve(testServer(t, nil)), `
		> {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}
		< {"jsonrpc":"2.0","id":9007199254740993,"result":{}}
	`)
}

// What is no message costs nothing but itself, and is answered with its id if that
// can be read.
//
// BASE-001 BASE-007 BASE-012 BASE-035 BASE-037 EDGE-001 EDGE-002 EDGE-007 EDGE-011
// EDGE-012 EDGE-013 EDGE-014 EDGE-015 EDGE-016 EDGE-017 EDGE-018 EDGE-019 EDGE-028
// EDGE-029 EDGE-030 EDGE-031 EDGE-033 EDGE-049 EDGE-052 EDGE-077 EDGE-078 C-03
func TestMalformed(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		talk(t, serve(testServer(t, nil)), hello(rev, "{}")+`
			# ids
			> {"jsonrpc":"2.0","id":null,"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: id null is neither a string nor an integer"}}
			> {"jsonrpc":"2.0","id":1.5,"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: id 1.5 is neither a string nor an integer"}}
			> {"jsonrpc":"2.0","id":true,"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: id true is neither a string nor an integer"}}
			> {"jsonrpc":"2.0","id":[1],"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: id [1] is neither a string nor an integer"}}
			> {"jsonrpc":"2.0","id":{},"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: id {} is neither a string nor an integer"}}

			# jsonrpc
			> {"jsonrpc":"1.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"invalid message: jsonrpc must be \"2.0\""}}
			> {"jsonrpc":2.0,"id":2,"method":"ping"}
			< {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"invalid message: jsonrpc must be \"2.0\""}}
			> {"id":3,"method":"ping"}
			< {"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"invalid message: jsonrpc must be \"2.0\""}}
			> {"JSONRPC":"2.0","ID":4,"METHOD":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: no method"}}

			# method
			> {"jsonrpc":"2.0","id":1}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"invalid message: no method"}}
			> {"jsonrpc":"2.0","id":5,"method":3}
			< {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid message: method must be a string"}}
			> {"jsonrpc":"2.0","id":6,"method":null}
			< {"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"invalid message: method must be a string"}}
			> {"jsonrpc":"2.0","id":7,"method":""}
			< {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method \"\" not found"}}
			> {"jsonrpc":"2.0","id":8,"method":"rpc.discover"}
			< {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method \"rpc.discover\" not found"}}
			> {"jsonrpc":"2.0","id":9,"method":"notifications/initialized"}
			< {"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"notifications/initialized is a notification and must have no id"}}

			# params
			> {"jsonrpc":"2.0","id":1,"method":"ping","params":[1,2]}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"parameters must be an object, not an array"}}
			> {"jsonrpc":"2.0","id":2,"method":"ping","params":"x"}
			< {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"invalid message: parameters must be an object"}}
			> {"jsonrpc":"2.0","id":3,"method":"ping","params":3}
			< {"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"invalid message: parameters must be an object"}}
			> {"jsonrpc":"2.0","id":4,"method":"ping","params":null}
			< {"jsonrpc":"2.0","id":4,"result":{}}

			# no message at all
			> {"jsonrpc":"2.0",
			< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: want a name in quotes: unexpected end at byte 17"}}
			> "id":1,"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: text after the value at byte 4"}}
			> "hi"
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: want an object, got \"hi\""}}
			> 17
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: want an object, got 17"}}
			> null
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: want an object, got null"}}
			> true
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: want an object, got true"}}
			> {"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: text after the value at byte 40"}}
			> `+"\ufeff"+`{"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: not JSON at byte 0"}}
			> {"jsonrpc":"2.0","id":"`+"\xff"+`","method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: invalid UTF-8 at byte 23"}}

			# members twice, unknown members
			> {"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: name \"id\" is repeated at byte 24"}}
			> {"jsonrpc":"2.0","id":1,"method":"ping","zz":1,"params":{"x-foo":[]}}
			< {"jsonrpc":"2.0","id":1,"result":{}}
		`)
	})
}

// BUG-019: an id that is null is no notification.
func TestBUG019NullID(t *testing.T) {
	talk(t, serve(testServer(t, nil)), `
		> {"jsonrpc":"2.0","id":null,"method":"ping"}
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: id null is neither a string nor an integer"}}
	`)
}

// BUG-020: a request without a name for its method is still a request.
func TestBUG020EmptyMethod(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":3,"method":""}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method \"\" not found"}}
		> {"jsonrpc":"2.0","id":9,"method":"ping"}
		< {"jsonrpc":"2.0","id":9,"result":{}}
	`)
}

// BUG-022: a name that differs in case is another name.
func TestBUG022CaseOfNames(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":3,"method":"ping","Method":"tools/list"}
		< {"jsonrpc":"2.0","id":3,"result":{}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","Name":"boom","arguments":{"text":"x"}}}
		< {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"x"}]}}
	`)
}

// BUG-023: names are compared byte by byte.
func TestBUG023FoldedNames(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","paramſ":{"name":"boom"},"params":{"name":"echo","arguments":{"text":"x"}}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"x"}]}}
	`)
}

// BUG-025: what has a name twice means nothing for sure.
func TestBUG025RepeatedNames(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/list"}
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: name \"method\" is repeated at byte 40"}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x","te\u0078t":"y"}}}
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: name \"te\\u0078t\" is repeated at byte 94"}}
	`)
}

// BUG-029: parameters that are missing cost the request.
//
// BASE-007
func TestBUG029MissingParams(t *testing.T) {
	s := testServer(t, &ServerOptions{HasPrompts: true, HasResources: true})
	talk(t, serve(s), `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":null}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"tools/call: invalid parameters: name: missing"}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call"}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"tools/call: invalid parameters: name: missing"}}
		> {"jsonrpc":"2.0","id":4,"method":"prompts/get"}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"prompts/get: invalid parameters: name: missing"}}
		> {"jsonrpc":"2.0","id":5,"method":"resources/read","params":[]}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"parameters must be an object, not an array"}}
		> {"jsonrpc":"2.0","id":6,"method":"prompts/list"}
		< {"jsonrpc":"2.0","id":6,"result":{"prompts":[]}}
	`)
}

// BUG-031: text leaves as it is, in both directions.
//
// BASE-002 BASE-162 EDGE-032 EDGE-080 EDGE-239
func TestBUG031PlainText(t *testing.T) {
	text := "a<b>&c\u2028\u2029\u0085日本語😀"
	talk(t, serve(testServer(t, nil)), hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+text+`"}}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`+text+`"}]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\n\r\u000b\f\t\u0000\ud800"}}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"\n\r\u000b\u000c\t\u0000`+"\ufffd"+`"}]}}
	`)
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		r, err := cs.CallTool(ctx, "echo", map[string]string{"text": text})
		if err != nil || r.Content[0].(*TextContent).Text != text {
			t.Errorf("got %v %v", r, err)
		}
	}), welcome("2025-06-18")+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+text+`"}}}
		> {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a\u003cb\u003e\u0026c\u2028\u2029\u0085日本語😀"}]}}
	`)
}

// BUG-032: what is empty is [], never null.
//
// EDGE-237
func TestBUG032EmptyLists(t *testing.T) {
	s := NewServer(&Implementation{Name: "test", Version: "1"}, &ServerOptions{HasTools: true, HasPrompts: true, HasResources: true, NoLogging: true})
	talk(t, serve(s), `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
		> {"jsonrpc":"2.0","id":3,"method":"prompts/list"}
		< {"jsonrpc":"2.0","id":3,"result":{"prompts":[]}}
		> {"jsonrpc":"2.0","id":4,"method":"resources/list"}
		< {"jsonrpc":"2.0","id":4,"result":{"resources":[]}}
		> {"jsonrpc":"2.0","id":5,"method":"resources/templates/list"}
		< {"jsonrpc":"2.0","id":5,"result":{"resourceTemplates":[]}}
	`)
	s = testServer(t, nil)
	nothing := func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }
	if err := s.AddTool(&Tool{Name: "nothing"}, nothing); err != nil {
		t.Fatal(err)
	}
	talk(t, serve(s), hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nothing"}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
	`)
}

// BUG-034: what a newer peer says beside what we know is no error.
//
// BASE-025 BASE-086
func TestBUG034UnknownMembers(t *testing.T) {
	talk(t, serve(testServer(t, nil)), `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"form":{},"zz":1},"tools":{},"x":{}},"clientInfo":{"name":"t","version":"0","zz":[]},"zz":1},"zz":1}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
	`)
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	}), `
		< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}
		> {"jsonrpc":"2.0","id":1,"zz":1,"result":{"zz":1,"protocolVersion":"2025-11-25","capabilities":{"zzz":{},"tools":{"zz":1}},"serverInfo":{"name":"s","version":"0","zz":1}}}
		< {"jsonrpc":"2.0","method":"notifications/initialized"}
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":2,"result":{"zz":[{}]},"zz":null}
	`)
}

type wide struct {
	ID int64 `json:"id"`
}

// BUG-038: integers keep all their digits, through typed and through raw handlers.
//
// EDGE-238 FEAT-519
func TestBUG038LargeIntegers(t *testing.T) {
	s := testServer(t, nil)
	if err := AddTool(s, &Tool{Name: "typed"}, func(_ context.Context, _ *Request, in wide) (wide, error) { return in, nil }); err != nil {
		t.Fatal(err)
	}
	raw := func(_ context.Context, _ *Request, p *CallToolParams) (*CallToolResult, error) {
		return &CallToolResult{StructuredContent: p.Arguments}, nil
	}
	if err := s.AddTool(&Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, raw); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		cs, done := connect(t, s, nil)
		defer done()
		for _, name := range []string{"typed", "raw"} {
			r, err := cs.CallTool(t.Context(), name, wide{9007199254740993})
			if err != nil {
				t.Fatal(err)
			}
			want(t, name, string(r.StructuredContent), `{"id":9007199254740993}`)
			want(t, name, r.Content[0].(*TextContent).Text, `{"id":9007199254740993}`)
		}
	})
}

// connect joins a client and a server in memory. done closes the session and waits
// for the server.
func connect(t testing.TB, s *Server, opts *ClientOptions) (cs *ClientSession, done func()) {
	t.Helper()
	a, b := Pipe()
	var served sync.WaitGroup
	served.Go(func() { _ = s.Run(context.Background(), b) })
	cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), &ConnTransport{Conn: a})
	if err != nil {
		t.Fatal(err)
	}
	return cs, func() {
		t.Helper()
		if err := cs.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		served.Wait()
	}
}

// Depth is bounded; what is too deep costs one message.
//
// EDGE-034
func TestDeepNesting(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	talk(t, serve(testServer(t, nil)), hello("2025-11-25", "{}")+`
		> `+deep+`
		< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: nested too deeply at byte 1000"}}
		> {"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":`+deep+`}}
		< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: nested too deeply at byte 1052"}}
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		< {"jsonrpc":"2.0","id":1,"result":{}}
	`)
}

// A notification is never answered, whatever it is; an unknown one is ignored.
//
// BASE-014 BASE-134 EDGE-050 EDGE-051 EDGE-057 BASE-122 C-17
func TestNotificationsAreNotAnswered(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		talk(t, serve(testServer(t, nil)), hello(rev, "{}")+`
			> {"jsonrpc":"2.0","method":"notifications/foo"}
			> {"jsonrpc":"2.0","method":"notifications/foo","params":[1]}
			> {"jsonrpc":"2.0","method":"tools/call","params":{"name":"boom"}}
			> {"jsonrpc":"2.0","method":"ping"}
			> {"jsonrpc":"2.0","method":""}
			> {"jsonrpc":"2.0","method":"notifications/cancelled"}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"hello","reason":17}}
			> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}
			> {"jsonrpc":"2.0","method":"notifications/progress"}
			> {"jsonrpc":"2.0","id":1,"method":"ping"}
			< {"jsonrpc":"2.0","id":1,"result":{}}
		`)
	})
}

// A response that breaks the rules ends its call, and no other.
//
// BASE-010 BASE-035 EDGE-011 EDGE-020 EDGE-021 EDGE-022 EDGE-023
func TestBadResponses(t *testing.T) {
	rows := []struct{ response, err string }{
		{`{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":-1,"message":"x"}}`, "mcp: invalid response: both result and error"},
		{`{"jsonrpc":"2.0","id":2}`, "mcp: invalid response: neither result nor error"},
		{`{"jsonrpc":"2.0","id":2,"result":null}`, "mcp: invalid response: result is null, want an object"},
		{`{"jsonrpc":"2.0","id":2,"result":[]}`, "mcp: invalid response: result is [], want an object"},
		{`{"jsonrpc":"2.0","id":2,"result":"ok"}`, `mcp: invalid response: result is "ok", want an object`},
		{`{"jsonrpc":"2.0","id":2,"error":{"code":"-32600","message":"x"}}`, `mcp: invalid response: malformed error: {"code":"-32600","message":"x"}`},
		{`{"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"x"}}`, `mcp: invalid response: malformed error: {"code":1.5,"message":"x"}`},
		{`{"jsonrpc":"2.0","id":2,"error":{"code":-1}}`, `mcp: invalid response: malformed error: {"code":-1}`},
		{`{"jsonrpc":"2.0","id":2,"error":{}}`, `mcp: invalid response: malformed error: {}`},
		{`{"jsonrpc":"2.0","id":2,"error":null}`, `mcp: invalid response: malformed error: null`},
		{`{"jsonrpc":"2.0","id":2,"error":"backend down"}`, "mcp: invalid response: malformed error: backend down"},
		{`{"jsonrpc":"1.0","id":2,"result":{}}`, `mcp: invalid response: jsonrpc is "1.0", want "2.0"`},
		{`{"id":2,"result":{}}`, `mcp: invalid response: jsonrpc is , want "2.0"`},
		{`{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"x","data":[1]}}`, `mcp: ping: x (code -32001)`},
		{`{"jsonrpc":"2.0","id":2.0,"error":{"code":7e0,"message":""}}`, `mcp: ping:  (code 7)`},
	}
	for _, row := range rows {
		t.Run(row.response, func(t *testing.T) {
			talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
				err := cs.Ping(ctx)
				if err == nil || err.Error() != row.err {
					t.Errorf("got %v, want %v", err, row.err)
				}
				if err := cs.Ping(ctx); err != nil {
					t.Errorf("the next call: %v", err)
				}
			}), welcome("2025-11-25")+`
				< {"jsonrpc":"2.0","id":2,"method":"ping"}
				> `+row.response+`
				< {"jsonrpc":"2.0","id":3,"method":"ping"}
				> {"jsonrpc":"2.0","id":3,"result":{}}
			`)
		})
	}
}

// BUG-035: an error that is a string reaches the caller, and costs one call.
func TestBUG035ErrorIsString(t *testing.T) {
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		err := cs.Ping(ctx)
		if !errors.Is(err, ErrInvalidResponse) || !strings.Contains(err.Error(), "backend down") {
			t.Errorf("got %v", err)
		}
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	}), welcome("2025-06-18")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":2,"error":"backend down"}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","id":3,"result":{}}
	`)
}

// BUG-037: a response is a result or an error.
func TestBUG037ResultAndError(t *testing.T) {
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		for range 2 {
			if err := cs.Ping(ctx); !errors.Is(err, ErrInvalidResponse) {
				t.Errorf("got %v", err)
			}
		}
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	}), welcome("2025-06-18")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":2}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","id":3,"result":{},"error":{"code":-1,"message":"x"}}
		< {"jsonrpc":"2.0","id":4,"method":"ping"}
		> {"jsonrpc":"2.0","id":4,"result":{}}
	`)
}

// A client tells its application of what is no message, and of answers that nobody
// waits for, and says nothing to the server.
//
// BUG-005 EDGE-024 EDGE-025 EDGE-027 EDGE-031 EDGE-081
func TestClientReportsNoise(t *testing.T) {
	var noise, log journal
	opts := &ClientOptions{Logger: log.logger(), Malformed: func(data []byte, reason error) { noise.add("%s", data) }}
	talk(t, use(t, opts, func(ctx context.Context, cs *ClientSession) {
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	}), `
		< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}
		> Server starting...
		> [INFO] ready
		> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"0"}}}
		< {"jsonrpc":"2.0","method":"notifications/initialized"}
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> 17
		> {"jsonrpc":"2.0","id":77}
		> {"jsonrpc":"2.0","id":"2","result":{}}
		> {"jsonrpc":"2.0","id":"2","result":`+"\"\xff\""+`}
		> {"jsonrpc":"2.0","id":99,"result":{}}
		> {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}
		> {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}
		> {"jsonrpc":"2.0","id":2,"result":{}}
	`)
	want(t, "reported", &noise, "Server starting...; [INFO] ready; 17; "+`{"jsonrpc":"2.0","id":77}; {"jsonrpc":"2.0","id":"2","result":"`+"\xff"+`"}`)
	ignored := "WARN answer that nobody waits for ignored"
	refused := "DEBUG message refused"
	want(t, "logged", &log, strings.Join([]string{refused, refused, refused, ignored, refused, ignored, refused, ignored, ignored, ignored}, "; "))
}

// A request of the server that is malformed gets an error with its id.
//
// BASE-012 EDGE-053 EDGE-056
func TestClientAnswersRequests(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		talk(t, use(t, &ClientOptions{Sample: func(context.Context, *ClientSession, *CreateMessageParams) (*CreateMessageResult, error) {
			panic("secret")
		}}, func(ctx context.Context, cs *ClientSession) { _ = cs.Ping(ctx) }), strings.Replace(welcome(rev), `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1)+`
			< {"jsonrpc":"2.0","id":2,"method":"ping"}
			> {"jsonrpc":"2.0","id":2,"method":"ping"}
			< {"jsonrpc":"2.0","id":2,"result":{}}
			> {"jsonrpc":"2.0","id":"x","method":"roots/list"}
			< {"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"Roots not supported"}}
			> {"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{}}
			< {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"method \"elicitation/create\" is not offered by this client"}}
			> {"jsonrpc":"2.0","id":5,"method":3}
			< {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid message: method must be a string"}}
			> {"jsonrpc":"2.0","id":6,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}
			< {"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"internal error"}}
			> {"jsonrpc":"2.0","id":2,"result":{}}
		`)
	})
}

// An array is a batch where the revision has batches; it is answered by one array,
// in one line.
//
// BASE-057 BASE-065 BASE-066 BASE-068 EDGE-061 EDGE-062 EDGE-063 EDGE-064 EDGE-066
// EDGE-067 EDGE-068 EDGE-069 EDGE-072 C-12
func TestBatches(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		talk(t, serve(testServer(t, nil)), hello(rev, "{}")+`
			> [{"jsonrpc":"2.0","id":1,"method":"ping"}]
			< [{"jsonrpc":"2.0","id":1,"result":{}}]
			> [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}},{"jsonrpc":"2.0","method":"notifications/foo"},{"jsonrpc":"2.0","id":"1","method":"ping"}]
			> {"jsonrpc":"2.0","id":2,"method":"ping"}
			< {"jsonrpc":"2.0","id":2,"result":{}}
			. 3600s
			< [{"jsonrpc":"2.0","id":"1","result":{}},{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"slept"}]}}]

			# nothing but notifications, or responses
			> [{"jsonrpc":"2.0","method":"notifications/foo"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}]
			> [{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x"}}]

			# elements that are no messages
			> [1]
			< [{"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: want an object, got 1"}}]
			> [{}]
			< [{"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: no method"}}]
			> [17,{"jsonrpc":"2.0","id":5,"method":3},{"jsonrpc":"2.0","id":6,"method":"foo"}]
			< [{"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: want an object, got 17"}},{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid message: method must be a string"}},{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"method \"foo\" not found"}}]
			> [[{"jsonrpc":"2.0","id":1,"method":"ping"}]]
			< [{"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: want an object, got [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\""}}]

			# arrays that are refused as a whole
			> []
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a batch has 1 to 100 messages, not 0"}}
			> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"result":{}}]
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a batch must not mix responses with other messages"}}
			> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1.0,"method":"ping"}]
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"id 1.0 is used twice in one batch"}}
			> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}]
			< {"jsonrpc":"2.0","error":{"code":-32600,"message":"initialize must not be in a batch"}}
			> [{"jsonrpc":"2.0","id":1,"method":"ping"},
			< {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: not JSON: unexpected end at byte 42"}}
		`)
	}, Revision20241105, Revision20250326)
}

// EDGE-070
func TestLongBatch(t *testing.T) {
	batch := func(n int) (said, answered string) {
		var a, b []string
		for i := range n {
			a = append(a, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"foo"}`, i))
			b = append(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"method \"foo\" not found"}}`, i))
		}
		return "[" + strings.Join(a, ",") + "]", "[" + strings.Join(b, ",") + "]"
	}
	most, answers := batch(100)
	over, _ := batch(101)
	far, _ := batch(10_000)
	talk(t, serve(testServer(t, nil)), hello("2025-03-26", "{}")+`
		> `+most+`
		< `+answers+`
		> `+over+`
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a batch has 1 to 100 messages, not 101"}}
		> `+far+`
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a batch has 1 to 100 messages, not 10000"}}
	`)
}

// EDGE-073
func TestBatchMemberCancelled(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-03-26", "{}")+`
		> [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}},{"jsonrpc":"2.0","id":2,"method":"ping"}]
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		< [{"jsonrpc":"2.0","id":2,"result":{}}]
		> [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}]
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		> [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}},{"jsonrpc":"2.0","id":2,"method":"ping"}]
		< [{"jsonrpc":"2.0","id":2,"result":{}}]
	`)
}

// An array is nothing before a revision is agreed on, nor where the revision has no
// batches; none of it runs.
//
// BASE-060 BASE-067 BASE-163 EDGE-067 EDGE-071 C-12
func TestBatchesRefused(t *testing.T) {
	refused := `
		> [{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}]
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not part of this revision"}}
		> [{"jsonrpc":"2.0","id":1,"method":"ping"},17]
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not part of this revision"}}
		> []
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not part of this revision"}}
	`
	for _, rev := range []string{Revision20250618, Revision20251125} {
		talk(t, serve(testServer(t, nil)), refused+hello(rev, "{}")+refused)
	}
}

// BUG-026: a batch where there are none costs one line.
func TestBUG026BatchRefused(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-06-18", "{}")+`
		> [{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"ping"}]
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not part of this revision"}}
		> {"jsonrpc":"2.0","id":9,"method":"ping"}
		< {"jsonrpc":"2.0","id":9,"result":{}}
	`)
}

// BUG-028: an empty batch is one error, not an array of none.
func TestBUG028EmptyBatch(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-03-26", "{}")+`
		> []
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a batch has 1 to 100 messages, not 0"}}
		> {"jsonrpc":"2.0","id":9,"method":"ping"}
		< {"jsonrpc":"2.0","id":9,"result":{}}
	`)
}

// A client unpacks what a server groups, also messages of different kinds and what is
// invalid among them.
//
// BASE-058 BASE-064
func TestClientBatches(t *testing.T) {
	var got journal
	opts := &ClientOptions{LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) { got.add("%s", p.Data) }}
	eachRevision(t, func(t *testing.T, rev string) {
		got = journal{}
		talk(t, use(t, opts, func(ctx context.Context, cs *ClientSession) {
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() { got.add("%v", cs.Ping(ctx)) })
			}
			all.Wait()
		}), welcome(rev)+`
			< {"jsonrpc":"2.0","id":2,"method":"ping"}
			< {"jsonrpc":"2.0","id":3,"method":"ping"}
			> [{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a"}},{"jsonrpc":"2.0","id":2},17,{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":3,"result":{}}]
			< [{"jsonrpc":"2.0","id":1,"result":{}}]
		`)
		text := got.String()
		if !strings.Contains(text, `"a"`) || !strings.Contains(text, "neither result nor error") || !strings.Contains(text, "<nil>") {
			t.Errorf("got %s", text)
		}
	}, Revision20241105, Revision20250326)
	eachRevision(t, func(t *testing.T, rev string) {
		talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
			if err := cs.Ping(ctx); err != nil {
				t.Error(err)
			}
		}), welcome(rev)+`
			< {"jsonrpc":"2.0","id":2,"method":"ping"}
			> [{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x"}}]
			> {"jsonrpc":"2.0","id":2,"result":{}}
		`)
	}, Revision20250618, Revision20251125)
}

// A batch that comes right behind the answer to initialize belongs to the revision
// that was agreed on.
func TestBatchBehindInitialize(t *testing.T) {
	var got journal
	opts := &ClientOptions{LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) { got.add("%s", p.Data) }}
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		opened := make(chan *ClientSession)
		go func() {
			cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), &ConnTransport{Conn: a})
			if err != nil {
				t.Error(err)
			}
			opened <- cs
		}()
		if _, err := b.Read(); err != nil {
			t.Fatal(err)
		}
		_ = b.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"logging":{}},"serverInfo":{"name":"s","version":"0"}}}`),
			[]byte(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":2}}]`))
		cs := <-opened
		synctest.Wait()
		want(t, "log", &got, "1; 2")
		_ = cs.Close()
	})
}

// The server answers a version that it knows with the same, and any other with its
// newest.
//
// BASE-023 BASE-070 BASE-077 BASE-078 BASE-079 EDGE-045 EDGE-046 C-06 C-26
func TestServerNegotiates(t *testing.T) {
	versions := map[string]string{"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "1999-01-01": "2025-11-25", "DRAFT-2026-v1": "2025-11-25",
		"": "2025-11-25", "2024-10-07": "2025-11-25", "2025-03-26 ": "2025-11-25", "2025": "2025-11-25"}
	for _, rev := range sessionRevisions() {
		versions[rev] = rev
	}
	for asked, answered := range versions {
		completions := `"completions":{},`
		if answered == Revision20241105 {
			completions = ""
		}
		s := NewServer(&Implementation{Name: "s", Version: "1"}, &ServerOptions{
			Complete: func(context.Context, *Request, *CompleteParams) (*Completion, error) { return nil, nil }})
		talk(t, serve(s), `
			> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+asked+`","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"`+answered+`","capabilities":{"logging":{}`+strings.TrimSuffix(","+completions, ",")+`},"serverInfo":{"name":"s","version":"1"}}}
			> {"jsonrpc":"2.0","id":2,"method":"ping"}
			< {"jsonrpc":"2.0","id":2,"result":{}}
		`)
	}
}

// BUG-040: an unknown version gets the newest, a missing one an error.
func TestBUG040UnknownVersion(t *testing.T) {
	talk(t, serve(testServer(t, nil)), `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"initialize: invalid parameters: protocolVersion: missing"}}
		> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2099-01-01","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
	`)
}

// BUG-041: initialize never leads to a revision that has no initialize.
func TestBUG041SessionlessVersion(t *testing.T) {
	talk(t, serve(testServer(t, nil)), `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
	`)
}

// What is wrong before and with initialize costs that request; the session can still
// be opened, once.
//
// BASE-083 EDGE-038 EDGE-039 EDGE-040 EDGE-042 EDGE-043 EDGE-044 EDGE-048
func TestOpening(t *testing.T) {
	var log journal
	talk(t, serve(testServer(t, &ServerOptions{Logger: log.logger()})), `
		> {"jsonrpc":"2.0","id":1,"method":"foo/bar"}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method \"foo/bar\" not found"}}
		> {"jsonrpc":"2.0","id":2,"method":"ping"}
		< {"jsonrpc":"2.0","id":2,"result":{}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"not initialized: send initialize first"}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","id":4,"method":"initialize"}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"initialize: invalid parameters: protocolVersion: missing"}}
		> {"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":20251125,"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"initialize: invalid parameters: protocolVersion: want a string, got a number"}}
		> {"jsonrpc":"2.0","id":6,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"initialize: invalid parameters: capabilities: missing"}}
		> {"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"initialize: invalid parameters: clientInfo: missing"}}
		> {"jsonrpc":"2.0","id":8,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t"}}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"initialize: invalid parameters: clientInfo.version: missing"}}
		> {"jsonrpc":"2.0","id":9,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"not initialized: send initialize first"}}
		`+hello("2025-03-26", "{}")+`
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","id":10,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":10,"error":{"code":-32600,"message":"already initialized"}}
		# the revision is still the first: this one has batches
		> [{"jsonrpc":"2.0","id":11,"method":"ping"}]
		< [{"jsonrpc":"2.0","id":11,"result":{}}]
		> {"jsonrpc":"2.0","id":12,"method":"prompts/list"}
		< {"jsonrpc":"2.0","id":12,"error":{"code":-32601,"message":"method \"prompts/list\" is not offered by this server"}}
	`)
	for _, line := range []string{"WARN notification ignored", "WARN initialized a second time, ignored"} {
		if strings.Count(log.String(), line) != 1 {
			t.Errorf("want once %q in the log: %s", line, &log)
		}
	}
}

// BUG-043: each refusal has a code that means something.
func TestBUG043RefusalsHaveCodes(t *testing.T) {
	talk(t, serve(testServer(t, nil)), `
		> {"jsonrpc":"2.0","id":9,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"not initialized: send initialize first"}}
		> {"jsonrpc":"2.0","id":8,"method":"ping"}
		< {"jsonrpc":"2.0","id":8,"result":{}}
		`+hello("2025-06-18", "{}")+`
		> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"roots":{}},"clientInfo":{"name":"u","version":"9"}}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"already initialized"}}
	`)
}

// BUG-044: requests are served from the result of initialize on.
//
// EDGE-041
func TestBUG044BeforeInitialized(t *testing.T) {
	s := NewServer(&Implementation{Name: "test", Version: "1"}, &ServerOptions{HasTools: true})
	talk(t, serve(s), strings.Replace(hello("2025-06-18", "{}"), `> {"jsonrpc":"2.0","method":"notifications/initialized"}`, "", 1)+`
		> {"jsonrpc":"2.0","id":9,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":9,"result":{"tools":[]}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
	`)
}

// BUG-049, BUG-050: a probe of the stateless era is answered, and leaves nothing: the
// connection can be opened after it. A server of sessions only does not know it, and
// lives on.
func TestBUG050ProbeThenInitialize(t *testing.T) {
	const probe = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for _, c := range []struct {
		revs   []string
		answer string
	}{
		{nil, `"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}},"ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"logging":{},"tools":{"listChanged":true}}}`},
		{sessionRevisions(), `"error":{"code":-32601,"message":"method \"server/discover\" not found"}`},
	} {
		s := NewServer(&Implementation{Name: "test", Version: "1"}, &ServerOptions{HasTools: true, Revisions: c.revs})
		talk(t, serve(s), `
			> `+probe+`
			< {"jsonrpc":"2.0","id":0,`+c.answer+`}
			`+hello("2025-06-18", "{}")+`
			> {"jsonrpc":"2.0","id":9,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":9,"result":{"tools":[]}}
		`)
	}
}

// answers runs a server on what is said at once, and returns what it says.
func answers(t *testing.T, s *Server, said string) []string {
	t.Helper()
	var out lockedBuffer
	synctest.Test(t, func(t *testing.T) {
		if err := s.Run(t.Context(), Lines(io.NopCloser(strings.NewReader(said)), &out, 0)); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// A lockedBuffer is a writer that many may use.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *lockedBuffer) Close() error { return nil }

// What is written together is served in order, as far as order matters: initialize is
// over before tools/list is looked at.
func TestOpeningInOneWrite(t *testing.T) {
	for range 100 {
		got := answers(t, NewServer(&Implementation{Name: "s", Version: "1"}, &ServerOptions{HasTools: true}), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
		want(t, "answers", strings.Join(got, "\n"), `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`)
	}
}

// The client offers its newest revision and takes any that it knows.
//
// BASE-069 BASE-071 BASE-072 BASE-076
func TestClientNegotiates(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		talk(t, use(t, nil, func(_ context.Context, cs *ClientSession) {
			want(t, "revision", cs.Revision(), rev)
			if text, ok := cs.Instructions(); ok {
				t.Errorf("instructions %q", text)
			}
		}), welcome(rev))
	})
	for _, text := range []string{"", "Ask first."} {
		talk(t, use(t, nil, func(_ context.Context, cs *ClientSession) {
			got, ok := cs.Instructions()
			want(t, "instructions", fmt.Sprint(got, ok), fmt.Sprint(text, true))
		}), strings.Replace(welcome("2025-11-25"), `"version":"0"}}}
	< {"jsonrpc":"2.0","method"`, `"version":"0"},"instructions":"`+text+`"}}
	< {"jsonrpc":"2.0","method"`, 1))
	}
}

// refusedBy is the subject for a client that cannot connect; it checks the error.
func refusedBy(t *testing.T, opts *ClientOptions, check func(error)) func(context.Context, Conn) {
	return func(ctx context.Context, c Conn) {
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(ctx, &ConnTransport{Conn: c})
		if cs != nil || err == nil {
			t.Errorf("Connect: %v, %v", cs, err)
			return
		}
		check(err)
	}
}

// A client that cannot speak the server's revision hangs up.
//
// BASE-054 BASE-055 BASE-080 EDGE-047 C-04
func TestClientHangsUp(t *testing.T) {
	offer := `< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}
	`
	for _, row := range []struct{ answer, err string }{
		{`"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"0"}}`,
			`mcp: the server speaks revision "1999-01-01", this client [2025-11-25 2025-06-18 2025-03-26 2024-11-05]`},
		{`"result":{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"0"}}`,
			`mcp: the server speaks revision "2026-07-28", this client [2025-11-25 2025-06-18 2025-03-26 2024-11-05]`},
		{`"result":{"protocolVersion":"","capabilities":{},"serverInfo":{"name":"s","version":"0"}}`,
			`mcp: the server speaks revision "", this client [2025-11-25 2025-06-18 2025-03-26 2024-11-05]`},
		{`"result":{"capabilities":{},"serverInfo":{"name":"s","version":"0"}}`,
			`mcp: invalid response: initialize: protocolVersion: missing`},
		{`"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2020-01-01","2021-01-01"],"requested":"2025-11-25"}}`,
			`mcp: the server supports only revisions 2020-01-01, 2021-01-01: Unsupported protocol version (code -32602)`},
		{`"error":{"code":-32603,"message":"no"}`, `mcp: initialize: no (code -32603)`},
	} {
		talk(t, refusedBy(t, nil, func(err error) { want(t, "Connect", err, row.err) }), offer+`> {"jsonrpc":"2.0","id":1,`+row.answer+`}`)
	}
	talk(t, refusedBy(t, nil, func(err error) {
		want(t, "Connect", err, "mcp: connection closed: EOF")
		if !errors.Is(err, ErrClosed) {
			t.Error("want ErrClosed")
		}
	}), offer+"$")
}

// Either side may be pinned to revisions.
//
// BASE-075
func TestPinned(t *testing.T) {
	pinned := testServer(t, &ServerOptions{Revisions: []string{Revision20250326, Revision20241105}})
	talk(t, serve(pinned), `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
	`)
	opts := &ClientOptions{Revisions: []string{Revision20250326}}
	talk(t, use(t, opts, nil), strings.Replace(welcome("2025-03-26"), "2025-11-25", "2025-03-26", 1))
	talk(t, refusedBy(t, opts, func(err error) {
		want(t, "Connect", err, `mcp: the server speaks revision "2025-06-18", this client [2025-03-26]`)
	}), `
		< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}
		> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"0"}}}
	`)
	_, end := Pipe()
	err := NewServer(&Implementation{Name: "s", Version: "1"}, &ServerOptions{Revisions: []string{"2025-3-26"}}).Run(t.Context(), end)
	want(t, "Run", err, `mcp: unknown revision "2025-3-26" in ServerOptions.Revisions`)
	_, err = sessionClient(&Implementation{Name: "c", Version: "1"}, &ClientOptions{Revisions: []string{"2026-07-29"}}).Connect(t.Context(), &ConnTransport{Conn: end})
	want(t, "Connect", err, `mcp: unknown revision "2026-07-29" in ClientOptions.Revisions`)
}

// Before the client is initialized the server asks it nothing.
//
// BASE-074
func TestQuestionsAreHeldBack(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		opening, _, _ := strings.Cut(hello(rev, `{"elicitation":{}}`), "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
		talk(t, serve(testServer(t, nil)), opening+`
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
			. 1h
			> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
			> {"jsonrpc":"2.0","method":"notifications/initialized"}
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
			> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ada"}}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"accept{\"name\":\"Ada\"}"}]}}
		`)
	}, Revision20250618, Revision20251125)
}

// The two directions have ids of their own.
//
// BASE-005 C-14
func TestIDsOfBothDirections(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-11-25", `{"elicitation":{}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}
		< {"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
		> {"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"decline"}]}}
		> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"cancel"}]}}
	`)
	seen := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, nil)
		s.opts.Intercept = []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
			if seen[r.ID.String()] || r.ID.String() == "null" {
				t.Errorf("id %v a second time", r.ID)
			}
			seen[r.ID.String()] = true
			return next(ctx)
		}}
		cs, done := connect(t, s, nil)
		defer done()
		for range 1000 {
			if err := cs.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "ids", len(seen), 1001)
	})
}

// However many calls are open, no two of them have the same id, or the same token.
//
// BASE-006 BASE-144
func TestOpenIDsDiffer(t *testing.T) {
	for _, rev := range Revisions() {
		synctest.Test(t, func(t *testing.T) {
			const open = 100
			var mu sync.Mutex // guards the maps
			ids, tokens, all := map[string]bool{}, map[string]bool{}, make(chan struct{})
			s := newServer(t, nil)
			addTool(t, s, "meet", func(ctx context.Context, r *Request) (string, error) {
				mu.Lock()
				ids[r.ID.key()], tokens[fmt.Sprint(r.Meta["progressToken"])] = true, true
				if len(ids) == open {
					close(all)
				}
				mu.Unlock()
				select {
				case <-all:
				case <-time.After(time.Minute):
				}
				return "", nil
			})
			a, b := Pipe()
			var served, calls sync.WaitGroup
			served.Go(func() { _ = s.Run(context.Background(), b) })
			cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, &ClientOptions{Revisions: []string{rev}}).Connect(t.Context(), &ConnTransport{Conn: a})
			must(t, err)
			for range open {
				calls.Go(func() {
					_, err := cs.With(CallOptions{Progress: func(Progress) {}}).CallTool(t.Context(), "meet", nil)
					must(t, err)
				})
			}
			calls.Wait()
			want(t, "ids, tokens", []int{len(ids), len(tokens)}, []int{open, open})
			must(t, cs.Close())
			served.Wait()
		})
	}
}

// A call without a sign of life is given up, and the server is told; what it answers
// later is nobody's.
//
// BASE-053 BASE-115 BASE-116 BASE-121 BASE-131
func TestIdleTimeout(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
			err := cs.With(CallOptions{Timeout: 10 * time.Second}).Ping(ctx)
			var timeout *TimeoutError
			if !errors.As(err, &timeout) || *timeout != (TimeoutError{Method: "ping", Limit: 10 * time.Second, Idle: true}) {
				t.Errorf("got %v", err)
			}
			if errors.As(err, new(*Error)) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v must be a local error, and a missed deadline", err)
			}
			if err := cs.Ping(ctx); err != nil {
				t.Errorf("the next call: %v", err)
			}
		}), welcome(rev)+`
			< {"jsonrpc":"2.0","id":2,"method":"ping"}
			. 9.999s
			. 1ms
			< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: neither answer nor progress for 10s"}}
			< {"jsonrpc":"2.0","id":3,"method":"ping"}
			> {"jsonrpc":"2.0","id":2,"result":{}}
			> {"jsonrpc":"2.0","id":3,"result":{}}
		`)
	})
}

// Without options a call is given up after five minutes.
//
// BASE-115
func TestDefaultTimeout(t *testing.T) {
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		if err := cs.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		. 4m59s
		. 1s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: neither answer nor progress for 5m0s"}}
	`)
}

// Progress renews the time that a call has, if it grows.
//
// BASE-118 BASE-119 BASE-146 EDGE-058
func TestProgressRenewsTimeout(t *testing.T) {
	last := time.Date(2000, 1, 1, 0, 0, 16, 0, time.UTC).Local() // when bubbles begin
	var got journal
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		err := cs.With(CallOptions{Timeout: 10 * time.Second, Progress: func(p Progress) { got.add("%v", p) }}).Ping(ctx)
		var timeout *TimeoutError
		if !errors.As(err, &timeout) || !timeout.Idle || !timeout.Progress.Equal(last) {
			t.Errorf("got %v", err)
		}
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"progressToken":2}}}
		. 8s
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0}}
		. 8s
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5,"total":3,"message":"half"}}
		. 8s
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.25}}
		. 2s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: neither answer nor progress for 10s, last progress at `+last.Format(time.TimeOnly)+`"}}
	`)
	want(t, "progress", &got, "{0 0 }; {0.5 3 half}; {0.5 0 }; {0.25 0 }")
}

// Nothing renews the time that a call may take in all.
//
// BASE-120
func TestHardMaximum(t *testing.T) {
	talk(t, use(t, &ClientOptions{Timeout: 10 * time.Second, MaxTimeout: 20 * time.Second}, func(ctx context.Context, cs *ClientSession) {
		err := cs.With(CallOptions{Progress: func(Progress) {}}).Ping(ctx)
		var timeout *TimeoutError
		if !errors.As(err, &timeout) || timeout.Idle || timeout.Limit != 20*time.Second {
			t.Errorf("got %v", err)
		}
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"progressToken":2}}}
		. 9s
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}
		. 9s
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":2}}
		. 2s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: no answer within 20s, last progress at `+
		time.Date(2000, 1, 1, 0, 0, 18, 0, time.UTC).Local().Format(time.TimeOnly)+`"}}
	`)
}

// initialize is given up by hanging up; it is never cancelled.
//
// BASE-054 BASE-125
func TestInitializeIsNotCancelled(t *testing.T) {
	offer := `< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}
	`
	talk(t, refusedBy(t, &ClientOptions{Timeout: 5 * time.Second}, func(err error) {
		want(t, "Connect", err, "mcp: initialize: neither answer nor progress for 5s")
	}), offer+". 5s")
	gone := errors.New("the user went away")
	talk(t, func(ctx context.Context, c Conn) {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(3*time.Second, func() { cancel(gone) })
		refusedBy(t, nil, func(err error) {
			if !errors.Is(err, gone) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})(ctx, c)
	}, offer+". 3s")
}

// The server gives up its questions, too.
//
// BASE-115 BASE-116
func TestQuestionTimeout(t *testing.T) {
	talk(t, serve(testServer(t, &ServerOptions{AskTimeout: time.Minute})), hello("2025-11-25", `{"elicitation":{}}`)+`
		> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask"}}
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
		. 1m
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: elicitation/create: no answer within 1m0s"}}
		< {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"mcp: elicitation/create: no answer within 1m0s"}],"isError":true}}
		> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}
		# a cancelled call takes its question with it
		> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"ask"}}
		< {"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8,"reason":"enough"}}
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: elicitation/create: context canceled: mcp: cancelled by the peer: enough"}}
	`)
}

// A call that is over is not cancelled, and one whose context has ended does not
// begin.
//
// BASE-123
func TestCancelAfterAnswer(t *testing.T) {
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		call, cancel := context.WithCancel(ctx)
		if err := cs.Ping(call); err != nil {
			t.Error(err)
		}
		cancel()
		if err := cs.Ping(call); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":2,"result":{}}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","id":3,"result":{}}
	`)
}

// addTool registers a tool without arguments.
func addTool(t *testing.T, s *Server, name string, f func(ctx context.Context, r *Request) (string, error)) {
	t.Helper()
	if err := AddTool(s, &Tool{Name: name}, func(ctx context.Context, r *Request, _ struct{}) (string, error) { return f(ctx, r) }); err != nil {
		t.Fatal(err)
	}
}

// A cancelled request stops, learns why, and is silent from then on, answer included;
// others are not touched.
//
// BASE-121 BASE-127 BASE-130 BASE-133 EDGE-005 EDGE-006 FEAT-068
func TestCancelRequest(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		var got, log journal
		s := testServer(t, &ServerOptions{Logger: log.logger()})
		addTool(t, s, "stubborn", func(ctx context.Context, r *Request) (string, error) {
			<-ctx.Done()
			err := context.Cause(ctx)
			free := context.WithoutCancel(ctx)
			_, asked := r.Elicit(free, Confirm("Go on?"))
			got.add("%v %v: %v %v %v", r.ID, err, r.Progress(free, 1, 2, "still here"), r.Notify(free, "notifications/x", nil), asked)
			return "done", nil
		})
		talk(t, serve(s), hello(rev, `{"elicitation":{}}`)+`
			> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"stubborn","_meta":{"progressToken":1}}}
			> {"jsonrpc":"2.0","id":"5","method":"tools/call","params":{"name":"slow"}}
			> {"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"slow"}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"twice"}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}
			# the id is free again
			> {"jsonrpc":"2.0","id":5,"method":"ping"}
			< {"jsonrpc":"2.0","id":5,"result":{}}
			. 3600s
			< {"jsonrpc":"2.0","id":"5","result":{"content":[{"type":"text","text":"slept"}]}}
			# it is over: too late
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"5"}}
		`)
		cause := "mcp: cancelled by the peer: enough"
		asked := cause
		if rev < Revision20250618 {
			asked = "mcp: the client did not declare elicitation.form"
		}
		want(t, "stubborn", &got, "5 "+cause+": "+strings.Join([]string{cause, cause, asked}, " "))
		if !strings.Contains(log.String(), "DEBUG request cancelled") {
			t.Errorf("log: %s", &log)
		}
	})
}

// The application of a client learns of the server's cancellation in the same way.
//
// BASE-127 BASE-133
func TestCancelRequestOfServer(t *testing.T) {
	var got journal
	opts := &ClientOptions{Elicit: func(ctx context.Context, _ *ClientSession, _ *ElicitParams) (*ElicitResult, error) {
		<-ctx.Done()
		got.add("%v", context.Cause(ctx))
		return &ElicitResult{Action: "accept"}, nil
	}}
	talk(t, use(t, opts, func(ctx context.Context, cs *ClientSession) {
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	}), strings.Replace(welcome("2025-11-25"), `"capabilities":{}`, `"capabilities":{"elicitation":{"form":{}}}`, 1)+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"Go?","requestedSchema":{"type":"object","properties":{}}}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"e","reason":"never mind"}}
		> {"jsonrpc":"2.0","id":2,"result":{}}
	`)
	want(t, "cause", &got, "mcp: cancelled by the peer: never mind")
}

// BUG-200: a cancelled request is not answered.
func TestBUG200NoAnswerAfterCancel(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-11-25", "{}")+`
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}
		. 200ms
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"x"}}
		. 2s
		> {"jsonrpc":"2.0","id":6,"method":"ping"}
		< {"jsonrpc":"2.0","id":6,"result":{}}
	`)
}

// EDGE-060: initialize cannot be cancelled. It is over before the notice is looked at,
// however soon that comes.
func TestCancelInitialize(t *testing.T) {
	got := answers(t, NewServer(&Implementation{Name: "s", Version: "1"}, &ServerOptions{NoLogging: true}), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
`)
	want(t, "answers", got, `[{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}]`)
}

// BUG-202: an answer after the caller gave up disturbs nobody.
//
// EDGE-059
func TestBUG202LateAnswer(t *testing.T) {
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		call, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := cs.Ping(call)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Second) // virtual
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		. 100ms
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: context deadline exceeded"}}
		. 1s
		> {"jsonrpc":"2.0","id":2,"result":{}}
		. 1s
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","id":3,"result":{}}
	`)
}

// BUG-203: giving up is told, but a server that does not read cannot hold the caller.
func TestBUG203CancelToSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe() // what the client says
		back, say := io.Pipe()
		go func() {
			lines := Lines(r, say, 0)
			if _, err := lines.Read(); err != nil {
				t.Error(err)
			}
			_ = lines.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"0"}}}`))
			// and never reads again
		}()
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), &ConnTransport{Conn: Lines(back, w, 0)})
		if err != nil {
			t.Fatal(err)
		}
		for range 8 { // more than the queue holds
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			_, err := cs.CallTool(ctx, "echo", map[string]string{"text": strings.Repeat("x", 1<<20)})
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
			cancel()
		}
		start := time.Now()
		if err := cs.Close(); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
	})
}

// BUG-205: a token goes with any request, also beside _meta of the application.
//
// BASE-143
func TestBUG205ProgressToken(t *testing.T) {
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		with := cs.With(CallOptions{Progress: func(Progress) {}})
		_, _ = with.ListTools(ctx, nil)
		_, _ = with.CallTool(ctx, "echo", nil)
		_, _ = cs.With(CallOptions{Progress: func(Progress) {}, Meta: Meta{"com.example/x": map[string]any{"a": 1}, "progressToken": "mine"}}).CallTool(ctx, "echo", nil)
		_ = cs.With(CallOptions{Meta: Meta{"com.example/x": 1}}).Ping(ctx)
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":2}}}
		> {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
		< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"progressToken":3},"name":"echo"}}
		> {"jsonrpc":"2.0","id":3,"result":{"content":[]}}
		< {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"com.example/x":{"a":1},"progressToken":4},"name":"echo"}}
		> {"jsonrpc":"2.0","id":4,"result":{"content":[]}}
		< {"jsonrpc":"2.0","id":5,"method":"ping","params":{"_meta":{"com.example/x":1}}}
		> {"jsonrpc":"2.0","id":5,"result":{}}
	`)
}

// BUG-206: a token comes back as it was given; a client hears only of tokens that it
// waits for.
//
// BASE-143 BASE-146 BASE-147 BASE-148 BASE-149 BASE-150 BASE-151 EDGE-006 EDGE-057 FEAT-067
func TestBUG206Tokens(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		s := testServer(t, nil)
		late := make(chan func() error, 10)
		addTool(t, s, "work", func(ctx context.Context, r *Request) (string, error) {
			for _, value := range []float64{1, 1, 0.5, 2} {
				if err := r.Progress(ctx, value, 2.5, "at work"); err != nil {
					return "", err
				}
			}
			late <- func() error { return r.Progress(ctx, 3, 3, "too late") }
			return "", nil
		})
		message := `,"message":"at work"`
		if rev == Revision20241105 {
			message = ""
		}
		var script strings.Builder
		for i, token := range []string{`0`, `"a"`, `9007199254740993`, `"\u0061"`, `-1`, `1e2`} {
			fmt.Fprintf(&script, `
				> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":%s}}}
				< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%[2]s,"progress":1,"total":2.5%s}}
				< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%[2]s,"progress":2,"total":2.5%[3]s}}
				< {"jsonrpc":"2.0","id":%[1]d,"result":{"content":[{"type":"text","text":""}]}}
			`, i, token, message)
		}
		talk(t, serve(s), hello(rev, "{}")+script.String()+`
			> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"work"}}
			< {"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":""}]}}
			> {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":1.5}}}
			< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"_meta.progressToken must be a string or an integer, not 1.5"}}
		`)
		close(late)
		for report := range late {
			if err := report(); err != ErrRequestOver {
				t.Errorf("progress after the answer: %v", err)
			}
		}
	})

	var got journal
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		for range 2 {
			if err := cs.With(CallOptions{Progress: func(p Progress) { got.add("%v", p) }}).Ping(ctx); err != nil {
				t.Error(err)
			}
		}
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"progressToken":2}}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":1}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"2","progress":2}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":"3"}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5}}
		> {"jsonrpc":"2.0","id":2,"result":{}}
		< {"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":{"progressToken":3}}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":4}}
		> {"jsonrpc":"2.0","id":3,"result":{}}
	`)
	want(t, "progress", &got, "{0.5 0 }")
}

// However much a handler reports, the client gets a bounded number of messages, the
// last one among them, in order and before the call returns.
//
// BASE-145 BASE-152
func TestProgressRate(t *testing.T) {
	const reports = 100_000
	s := testServer(t, nil)
	addTool(t, s, "busy", func(ctx context.Context, r *Request) (string, error) {
		for i := range reports {
			if err := r.Progress(ctx, float64(i+1), reports, ""); err != nil {
				return "", err
			}
			if i == reports/2 {
				time.Sleep(time.Second) // virtual
			}
		}
		return "", nil
	})
	synctest.Test(t, func(t *testing.T) {
		cs, done := connect(t, s, nil)
		defer done()
		var values []float64
		over := false
		_, err := cs.With(CallOptions{Progress: func(p Progress) {
			if over {
				t.Error("progress after the call")
			}
			values = append(values, p.Value)
		}}).CallTool(t.Context(), "busy", nil)
		over = true
		if err != nil {
			t.Fatal(err)
		}
		want(t, "reports", len(values), progressBurst+progressRate+1)
		want(t, "in order", slices.IsSorted(values), true)
		want(t, "the last", values[len(values)-1], float64(reports))
	})
}

// A caller that is slow to take progress keeps the oldest and the newest.
func TestProgressQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		go func() {
			_, _ = b.Read()
			_ = b.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"0"}}}`))
			_, _ = b.Read()
			_, _ = b.Read()
			for i := range 3 * maxProgress {
				_ = b.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":%d}}`, i))
			}
			_ = b.Write([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`))
		}()
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), &ConnTransport{Conn: a})
		if err != nil {
			t.Fatal(err)
		}
		var values []float64
		err = cs.With(CallOptions{Progress: func(p Progress) {
			if values = append(values, p.Value); len(values) == 1 {
				time.Sleep(time.Second) // virtual: until all have come
			}
		}}).Ping(t.Context())
		if err != nil || len(values) > 2*maxProgress || !slices.IsSorted(values) || values[len(values)-1] != 3*maxProgress-1 {
			t.Errorf("%v, %d reports, the last %v", err, len(values), values[len(values)-1])
		}
		_ = cs.Close()
	})
}

// The second of two requests with one id is refused, without the id, so that the
// first can still be answered.
//
// EDGE-005 EDGE-008 C-14
func TestDuplicateID(t *testing.T) {
	talk(t, serve(testServer(t, nil)), hello("2025-11-25", "{}")+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a request with this id is still running"}}
		> {"jsonrpc":"2.0","id":1.0,"method":"ping"}
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a request with this id is still running"}}
		> {"jsonrpc":"2.0","id":"1","method":"ping"}
		< {"jsonrpc":"2.0","id":"1","result":{}}
		. 1h
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"slept"}]}}
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		< {"jsonrpc":"2.0","id":1,"result":{}}
	`)
}

// When all slots are taken, reading waits for one for a second. Then a request is
// refused, and the next ones at once; a ping is answered.
//
// BASE-155
func TestSlotsFull(t *testing.T) {
	for _, limit := range []int{2, maxRunning} {
		opts := &ServerOptions{MaxRequests: limit}
		if limit == maxRunning {
			opts = nil
		}
		var full, ends strings.Builder
		for i := range limit {
			fmt.Fprintf(&full, `> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow"}}`+"\n", i)
			fmt.Fprintf(&ends, `~ {"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"slept"}]}}`+"\n", i)
		}
		talk(t, serve(testServer(t, opts)), hello("2025-11-25", "{}")+full.String()+`
			> {"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}
			. 1s
			< {"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"too many requests at once: the limit is `+fmt.Sprint(limit)+`"}}
			> {"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}
			< {"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"too many requests at once: the limit is `+fmt.Sprint(limit)+`"}}
			> {"jsonrpc":"2.0","id":"y","method":"ping"}
			< {"jsonrpc":"2.0","id":"y","result":{}}
			. 1h
			`+ends.String()+`
			> {"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}
			< {"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"x"}]}}
		`)
	}
}

// Who sends faster than it is served is slowed down: nothing is refused. But a
// question of a handler that holds the last slot still gets its answer.
func TestSlotsWait(t *testing.T) {
	talk(t, serve(testServer(t, &ServerOptions{MaxRequests: 1})), hello("2025-11-25", `{"elicitation":{}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
		. 3599.5s
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}
		. 500ms
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"slept"}]}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"x"}]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask"}}
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"too many requests at once: the limit is 1"}}
		> {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"decline"}]}}
	`)
}

// A handler that panics, or returns an error that is not for the wire, tells no detail.
//
// EDGE-056
func TestPanics(t *testing.T) {
	var log journal
	opts := &ServerOptions{Logger: log.logger(), HasPrompts: true, RootsChanged: func(context.Context, *Request) { panic("secret") }}
	s := testServer(t, opts)
	if err := s.AddResource(&Resource{Name: "r", URI: "x:r"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
		return nil, errors.New("/home/secret is not there")
	}); err != nil {
		t.Fatal(err)
	}
	talk(t, serve(s), `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"boom"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"x:r"}}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
		> {"jsonrpc":"2.0","id":4,"method":"ping"}
		< {"jsonrpc":"2.0","id":4,"result":{}}
	`)
	want(t, "panics logged", strings.Count(log.String(), "ERROR panic in a handler"), 2)
}

// BUG-208: requests are served at once.
//
// BASE-155
func TestBUG208SlowTool(t *testing.T) {
	s := NewServer(&Implementation{Name: "test", Version: "1"}, nil)
	addTool(t, s, "slow", func(context.Context, *Request) (string, error) { time.Sleep(5 * time.Second); return "slept", nil }) // virtual
	talk(t, serve(s), hello("2025-11-25", "{}")+`
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}
		> {"jsonrpc":"2.0","id":6,"method":"ping"}
		< {"jsonrpc":"2.0","id":6,"result":{}}
		> {"jsonrpc":"2.0","id":7,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"slow","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]}}
		> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"nope"}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"unknown tool \"nope\""}}
		. 5s
		< {"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"slept"}]}}
	`)
}

// BUG-209: notifications are handled in order, and before the call that caused them
// returns.
func TestBUG209Order(t *testing.T) {
	const count = 200
	s := testServer(t, nil)
	addTool(t, s, "chatty", func(ctx context.Context, r *Request) (string, error) {
		for i := range count {
			if err := r.Log(ctx, LevelInfo, "", i); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	var got []string
	opts := &ClientOptions{LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) { got = append(got, string(p.Data)) }}
	synctest.Test(t, func(t *testing.T) {
		cs, done := connect(t, s, opts)
		defer done()
		if _, err := cs.CallTool(t.Context(), "chatty", nil); err != nil {
			t.Fatal(err)
		}
		var all []string
		for i := range count {
			all = append(all, fmt.Sprint(i))
		}
		want(t, "log", got, all)
	})
}

// A handler of notifications may call the server; the call waits for none of the
// notifications behind it. Other notifications wait meanwhile.
func TestCallFromNotificationHandler(t *testing.T) {
	var got journal
	opts := &ClientOptions{ToolsChanged: func(ctx context.Context, cs *ClientSession) { got.add("%v", cs.Ping(ctx)) },
		PromptsChanged: func(context.Context, *ClientSession) { got.add("prompts") }}
	talk(t, use(t, opts, func(ctx context.Context, cs *ClientSession) {
		got.add("%v", cs.Ping(ctx))
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}
		> {"jsonrpc":"2.0","id":2,"result":{}}
		> {"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"inner"}}
	`)
	want(t, "order", &got, "mcp: ping: inner (code 1); prompts; <nil>")
}

// Notifications wait in a bounded queue; when it is full the newest is dropped, and
// reading goes on.
func TestNotificationQueueIsBounded(t *testing.T) {
	var log journal
	var handled []string
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		opts := &ClientOptions{Logger: log.logger(), Notification: func(_ context.Context, _ *ClientSession, method string, _ json.RawMessage) {
			<-release
			handled = append(handled, method)
		}}
		talkTo(t, opts, func(cs *ClientSession, server Conn) {
			for i := range maxNotes + 100 {
				_ = server.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/%d"}`, i))
			}
			_ = server.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			answer, err := server.Read()
			want(t, "a ping behind them", fmt.Sprint(string(answer), err), `{"jsonrpc":"2.0","id":1,"result":{}}<nil>`)
			close(release)
			synctest.Wait()
		})
	})
	want(t, "handled", len(handled), maxNotes)
	want(t, "the last one", handled[maxNotes-1], fmt.Sprint("notifications/", maxNotes-1))
	want(t, "dropped", strings.Count(log.String(), "WARN notification dropped, too many wait"), 100)
}

// Large notifications fill the queue sooner, and large reports the one of a call. What
// was handled makes room again.
func TestQueuesAreBoundedInBytes(t *testing.T) {
	const n = 8 // of which there is room for
	text := strings.Repeat("x", maxWaiting/n)
	var log journal
	c := &pending{wake: make(chan struct{}, 1)}
	p := newPeer(&clientConn{}, log.logger())
	p.calls[1], p.noting = c, true // whoever handles notifications is busy
	p.side.(*clientConn).opened.Store(&greeting{rev: newest})
	parsed := func(method, params string) *frame {
		return parseFrame([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`))
	}
	say := func(f *frame, times int) {
		for range times {
			p.accept(t.Context(), f, &arrival{})
		}
	}
	say(parsed("notifications/x", `{"a":"`+text+`"}`), n+2)
	say(parsed(noteProgress, `{"progressToken":1,"progress":1,"message":"`+text+`"}`), n+2)
	say(parsed(noteProgress, `{"progressToken":1,"progress":2}`), 1)
	want(t, "notifications", len(p.notes), n)
	want(t, "dropped", strings.Count(log.String(), "WARN notification dropped, too many wait"), 2)
	reports, _ := p.take(c, &watch{})
	want(t, "reports", len(reports), n)
	want(t, "the last one", reports[n-1].Value, 2)
	p.nextNote()
	say(parsed("notifications/x", "{}"), 1)
	want(t, "notifications", len(p.notes), n)
	for range n {
		p.nextNote()
	}
	want(t, "bytes", fmt.Sprint(p.noteSize, c.progressSize), "0 0")
}

// talkTo opens a session of a client with a server that is played by do. It runs in a
// bubble.
func talkTo(t *testing.T, opts *ClientOptions, do func(cs *ClientSession, server Conn)) {
	t.Helper()
	a, b := Pipe()
	go func() {
		_, _ = b.Read()
		_ = b.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"0"}}}`))
	}()
	cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), &ConnTransport{Conn: a})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := b.Read(); err != nil || !bytes.Contains(line, []byte(noteInitialized)) {
		t.Fatalf("%s %v", line, err)
	}
	do(cs, b)
	if err := cs.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A client that does not read stops its server from taking in more: what waits to be
// written is bounded.
func TestStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, nil)
		toServer, say := io.Pipe()
		hear, fromServer := io.Pipe()
		var served sync.WaitGroup
		served.Go(func() { _ = s.Run(t.Context(), Lines(toServer, fromServer, 0)) })
		go func() {
			_, _ = io.WriteString(say, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`+"\n")
			_, _ = Lines(hear, nil, 0).Read() // and no more
			big := strings.Repeat("x", 64<<10)
			for i := 2; ; i++ {
				if _, err := fmt.Fprintf(say, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`+"\n", i, big); err != nil {
					return
				}
			}
		}()
		synctest.Wait() // nothing moves any more
		for h := range s.hearers {
			ss := h.(*session)
			d := ss.out.(*duplex)
			if d.size < maxQueued || d.size > maxQueued+100<<10 || ss.p.busy > maxRunning+1 {
				t.Errorf("%d bytes wait, %d requests run", d.size, ss.p.busy)
			}
		}
		want(t, "sessions", len(s.hearers), 1)
		hear.Close()
		served.Wait()
	})
}

// Callers at once get their own answers.
func TestManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs, done := connect(t, testServer(t, nil), nil)
		defer done()
		var all sync.WaitGroup
		for caller := range 64 {
			all.Go(func() {
				for i := range 20 {
					text := fmt.Sprint(caller, " ", i)
					r, err := cs.CallTool(t.Context(), "echo", map[string]string{"text": text})
					if err != nil || r.Content[0].(*TextContent).Text != text {
						t.Errorf("%q: %v %v", text, r, err)
					}
				}
			})
		}
		all.Wait()
	})
}

// An answer and a cancellation may cross in any way; nothing is left of either.
//
// BASE-132 BASE-151
func TestCancellationCrossesAnswer(t *testing.T) {
	cs, done := connect(t, testServer(t, nil), nil)
	var cancelled, answered atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 250 {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for range i % 50 {
						_, _ = json.Marshal(i) // some time
					}
					cancel()
				}()
				_, err := cs.CallTool(ctx, "echo", map[string]string{"text": "x"})
				switch {
				case err == nil:
					answered.Add(1)
				case errors.Is(err, context.Canceled):
					cancelled.Add(1)
				default:
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if err := cs.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	p := cs.conn.p
	p.mu.Lock()
	open := len(p.calls)
	p.mu.Unlock()
	want(t, "calls left", open, 0)
	want(t, "calls", cancelled.Load()+answered.Load(), 8*250)
	done()
}

// Close ends calls at once, with a cause; it may be called twice, and at once.
//
// BASE-107 EDGE-240
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs, done := connect(t, testServer(t, nil), nil)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := cs.CallTool(t.Context(), "slow", nil)
				want(t, "call", err, "mcp: connection closed: closed by this side")
			})
		}
		synctest.Wait()
		start := time.Now()
		for range 2 {
			all.Go(func() {
				if err := cs.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		done()
		want(t, "took", time.Since(start) <= 2*inputGrace, true)
		want(t, "call", cs.Ping(t.Context()), "mcp: connection closed: closed by this side")
		want(t, "Wait", cs.Wait(), "mcp: connection closed: closed by this side")
	})
}

// Close waits five seconds for handlers, and names those that do not end.
func TestCloseNamesHandlers(t *testing.T) {
	release := make(chan struct{})
	opts := &ClientOptions{
		Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
			<-release
			return nil, errors.New("too late")
		},
		ToolsChanged: func(context.Context, *ClientSession) { <-release },
	}
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		a, b := Pipe()
		go func() {
			_, _ = b.Read()
			_ = b.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"0"}}}`),
				[]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
				[]byte(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`))
		}()
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), &ConnTransport{Conn: a})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		err = cs.Close()
		want(t, "Close", err, "mcp: handlers still running after 5s: elicitation/create, notifications/tools/list_changed")
		want(t, "took", time.Since(start) <= handlersGrace+2*inputGrace, true)
		want(t, "again", cs.Close(), err)
		close(release)
	})
	synctest.Test(t, func(t *testing.T) { // the server's side
		s := testServer(t, nil)
		release := make(chan struct{})
		addTool(t, s, "stuck", func(context.Context, *Request) (string, error) { <-release; return "", nil })
		toServer, say := io.Pipe()
		hear, fromServer := io.Pipe()
		go func() { _, _ = io.Copy(io.Discard, hear) }()
		go func() {
			_, _ = io.WriteString(say, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stuck"}}
`)
			say.Close()
		}()
		want(t, "Run", s.Run(t.Context(), Lines(toServer, fromServer, 0)), "mcp: handlers still running after 5s: tools/call")
		close(release)
	})
}

// A handler may close its own session; Close then says that the handler still runs.
func TestCloseFromHandler(t *testing.T) {
	var got journal
	opts := &ClientOptions{Elicit: func(_ context.Context, cs *ClientSession, _ *ElicitParams) (*ElicitResult, error) {
		got.add("%v", cs.Close())
		return &ElicitResult{Action: "cancel"}, nil
	}}
	synctest.Test(t, func(t *testing.T) {
		cs, _ := connect(t, testServer(t, nil), opts)
		_, err := cs.CallTool(t.Context(), "ask", nil)
		want(t, "call", err, "mcp: connection closed: closed by this side")
		time.Sleep(2 * handlersGrace) // virtual
		want(t, "Close", cs.Close(), "mcp: handlers still running after 5s: elicitation/create")
		want(t, "in the handler", &got, "mcp: handlers still running after 5s: elicitation/create")
	})
}

// A server whose context ends gives its handlers half a second, and says why it ended.
//
// BASE-110
func TestRunContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got journal
		s := testServer(t, nil)
		addTool(t, s, "watch", func(ctx context.Context, _ *Request) (string, error) {
			<-ctx.Done()
			got.add("%v", context.Cause(ctx))
			return "stopped", nil
		})
		a, b := Pipe()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx, b) }()
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), &ConnTransport{Conn: a})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { cancel(errors.New("end of day")) })
		r, err := cs.CallTool(t.Context(), "watch", nil)
		if err != nil || r.Content[0].(*TextContent).Text != "stopped" {
			t.Errorf("what was ready must be written: %v %v", r, err)
		}
		want(t, "Run", <-ended, "end of day")
		want(t, "cause", &got, "mcp: connection closed: end of day")
		want(t, "session", cs.Wait(), "mcp: connection closed: EOF")
		_ = cs.Close()
	})
}

// BUG-220: everything at once, with the shortest keepalive.
func TestBUG220Races(t *testing.T) {
	s := testServer(t, &ServerOptions{KeepAlive: time.Millisecond})
	for range 200 {
		cs, done := connect(t, s, &ClientOptions{KeepAlive: time.Millisecond})
		var all sync.WaitGroup
		all.Go(func() { _ = cs.SetLoggingLevel(t.Context(), LevelDebug) })
		all.Go(func() { _, _ = cs.ListTools(t.Context(), nil) })
		all.Go(func() { _ = cs.Close() })
		all.Go(func() { _ = cs.Close() })
		all.Go(func() { _ = cs.Revision() })
		all.Wait()
		done()
	}
}

// BUG-221: keepalive spares a peer that does not know ping, or misses one.
//
// BASE-156 BASE-157 BASE-158
func TestBUG221KeepAlive(t *testing.T) {
	keep := &ServerOptions{KeepAlive: 10 * time.Second}
	talk(t, serve(testServer(t, keep)), hello("2025-11-25", "{}")+`
		. 10s
		< {"jsonrpc":"2.0","id":1,"method":"ping"}
		> {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"ping?"}}
		. 1h
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		< {"jsonrpc":"2.0","id":1,"result":{}}
	`)
	var log journal
	keep = &ServerOptions{KeepAlive: 10 * time.Second, Logger: log.logger()}
	talk(t, func(ctx context.Context, c Conn) {
		want(t, "Run", testServer(t, keep).Run(ctx, c), "mcp: connection closed: no answer to 3 pings")
	}, hello("2025-11-25", "{}")+`
		. 10s
		< {"jsonrpc":"2.0","id":1,"method":"ping"}
		. 10s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: ping: neither answer nor progress for 10s"}}
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":2,"result":{}}
		. 10s
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		. 10s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"mcp: ping: neither answer nor progress for 10s"}}
		< {"jsonrpc":"2.0","id":4,"method":"ping"}
		. 10s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"mcp: ping: neither answer nor progress for 10s"}}
		< {"jsonrpc":"2.0","id":5,"method":"ping"}
		. 10s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"mcp: ping: neither answer nor progress for 10s"}}
	`)
	want(t, "missed pings logged", strings.Count(log.String(), "WARN no answer to ping"), 4)
	talk(t, use(t, &ClientOptions{KeepAlive: time.Minute}, func(_ context.Context, cs *ClientSession) {
		want(t, "session", cs.Wait(), "mcp: connection closed: EOF")
	}), welcome("2025-11-25")+`
		. 1m
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"ping?"}}
		. 1h
		$
	`)
	talk(t, use(t, &ClientOptions{KeepAlive: time.Minute}, func(_ context.Context, cs *ClientSession) {
		want(t, "session", cs.Wait(), "mcp: connection closed: no answer to 3 pings")
	}), welcome("2025-11-25")+`
		. 1m
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		. 1m
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: neither answer nor progress for 1m0s"}}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		. 1m
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"mcp: ping: neither answer nor progress for 1m0s"}}
		< {"jsonrpc":"2.0","id":4,"method":"ping"}
		. 1m
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"mcp: ping: neither answer nor progress for 1m0s"}}
	`)
}

// Whatever a line is, it costs at most itself: the other side still gets an answer to
// a ping, and nothing hangs, panics or is left behind.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"fuzz","method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\ud800"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e308}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[1,{"a":null}]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x","data":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":1}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},17,[],{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
		"\xEF\xBB\xBF{}\r\n\n[]\n\"\xff\"", `{"a":`, "", strings.Repeat("[", 2000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		server := func(c Conn) { _ = testServer(t, nil).Run(context.Background(), c) }
		synctest.Test(t, func(t *testing.T) {
			fuzzPeer(t, server, strings.Replace(openingLine, "2025-06-18", "2025-03-26", 1), data)
		})
		opts := &ClientOptions{Roots: []*Root{}, Malformed: func([]byte, error) {},
			Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
				return &ElicitResult{Action: "accept"}, nil
			},
			Sample: func(context.Context, *ClientSession, *CreateMessageParams) (*CreateMessageResult, error) {
				return nil, Errorf(CodeUserRejected, "no")
			},
			Notification: func(context.Context, *ClientSession, string, json.RawMessage) {}}
		client := func(c Conn) {
			cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(context.Background(), &ConnTransport{Conn: c})
			if err != nil {
				t.Error(err)
				return
			}
			_ = cs.Wait()
			_ = cs.Close()
		}
		synctest.Test(t, func(t *testing.T) {
			fuzzPeer(t, client, strings.Replace(openedLine, "2025-06-18", "2025-03-26", 1), data)
		})
	})
}

// fuzzPeer says to a peer first what opens the session, then data, then a ping.
func fuzzPeer(t *testing.T, peer func(Conn), opening string, data []byte) {
	toPeer, say := io.Pipe()
	hear, fromPeer := io.Pipe()
	var heard lockedBuffer
	var all sync.WaitGroup
	all.Go(func() { peer(Lines(toPeer, fromPeer, 0)) })
	all.Go(func() { _, _ = io.Copy(&heard, hear) })
	synctest.Wait()
	for _, line := range []string{opening, startedLine, string(data)} {
		if _, err := io.WriteString(say, line+"\n"); err != nil {
			t.Fatalf("the peer does not read: %v", err)
		}
		synctest.Wait()
	}
	before := len(heard.String())
	_, _ = io.WriteString(say, `{"jsonrpc":"2.0","id":"fuzz","method":"ping"}`+"\n")
	synctest.Wait()
	switch got := heard.String()[before:]; got {
	case `{"jsonrpc":"2.0","id":"fuzz","result":{}}` + "\n":
	case string(encodeError(ID{}, errDuplicate).b) + "\n": // data had a request of that id
	default:
		t.Errorf("a ping was answered by %q", got)
	}
	say.Close()
	all.Wait()
}

// A slow progress function costs no call: what came while it ran counts.
func TestSlowProgressFunction(t *testing.T) {
	for range 20 { // the goroutine that waits could have been woken by either of two things
		var got journal
		talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
			slow := CallOptions{Timeout: 10 * time.Second, MaxTimeout: 30 * time.Second,
				Progress: func(p Progress) { got.add("%v", p.Value); time.Sleep(15 * time.Second) }}
			want(t, "error", cs.With(slow).Ping(ctx), nil)
		}), welcome("2025-11-25")+`
			< {"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"progressToken":2}}}
			> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}
			. 1s
			> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":2}}
			. 20s
			> {"jsonrpc":"2.0","id":2,"result":{}}
			. 10s
		`)
		want(t, "progress", &got, "1; 2")
	}
}

// A handler of notifications that hangs holds up a call no longer than a call may take.
func TestHandlerOfNotificationsHangs(t *testing.T) {
	opts := &ClientOptions{MaxTimeout: 10 * time.Second, ToolsChanged: func(context.Context, *ClientSession) { time.Sleep(14 * time.Second) }}
	talk(t, use(t, opts, func(ctx context.Context, cs *ClientSession) {
		start := time.Now()
		want(t, "error", cs.Ping(ctx), nil)
		want(t, "time", time.Since(start), 10*time.Second)
	}), welcome("2025-11-25")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		. 2s
		> {"jsonrpc":"2.0","id":2,"result":{}}
		. 60s
	`)
}
