package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var metaWord = regexp.MustCompile(`META(?:<([^|>]*)\|?([^>]*)>)?`)

// modern resolves the abbreviations of conversations of the stateless era. META is the
// _meta of a request, META<{...}> that of a client with capabilities, META<{...}|...> with
// more members. INFO is that of a result, DONE what a complete result begins with, ASK
// one that asks; SUB(id) is that of a notification of a subscription.
func modern(text string) string {
	text = metaWord.ReplaceAllStringFunc(text, func(word string) string {
		part := metaWord.FindStringSubmatch(word)
		if part[1] == "" {
			part[1] = "{}"
		}
		if part[2] != "" {
			part[2] = "," + part[2]
		}
		return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + part[1] + part[2] + `}`
	})
	text = regexp.MustCompile(`SUB\(([^)]*)\)`).ReplaceAllString(text, `"_meta":{"io.modelcontextprotocol/subscriptionId":$1}`)
	text = strings.NewReplacer("DONE", `"resultType":"complete",INFO`, "ASK", `"resultType":"input_required",INFO`).Replace(text)
	return strings.ReplaceAll(text, "INFO", `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}`)
}

// alone posts a request of the stateless era, with the headers that belong to it.
func (c *web) alone(text string, header ...string) *exchange {
	c.t.Helper()
	text = c.states.fill(modern(text))
	own := []string{"MCP-Protocol-Version: 2026-07-28"}
	for _, m := range parseFrame([]byte(text)).messages {
		own = append(own, "Mcp-Method: "+m.method)
		if name := m.params.member(nameOf(m.method)); name.kind() == kindString {
			own = append(own, "Mcp-Name: "+encodeHeader(name.str()))
		}
	}
	return c.post(text, append(own, header...)...)
}

// lone is a request of the stateless era with id 1; members follow its _meta.
func lone(method, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{META` + members + `}}`
}

// everyWay says each line to a server on a pipe and over HTTP, and wants the same
// answer: "request", then "answer" with its HTTP status in front.
func everyWay(t *testing.T, s func() *Server, lines ...string) {
	t.Helper()
	var script strings.Builder
	for i := 0; i < len(lines); i += 2 {
		_, answer, _ := strings.Cut(lines[i+1], " ")
		fmt.Fprintf(&script, "> %s\n< %s\n", modern(lines[i]), modern(answer))
	}
	talk(t, serve(s()), script.String())
	h := &HTTPHandler{Server: s()}
	talkHTTP(t, h, nil, func(c *web) {
		for i := 0; i < len(lines); i += 2 {
			status, answer, _ := strings.Cut(modern(lines[i+1]), " ")
			c.alone(lines[i]).sees(status + " application/json\n" + answer)
		}
	})
}

// gives and fails are answers to lone requests, as everyWay wants them.
func gives(members string) string { return `200 {"jsonrpc":"2.0","id":1,"result":{` + members + `}}` }

func fails(status, code int, message string) string {
	return fmt.Sprintf(`%d {"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":%s}}`, status, code, quoted(message))
}

const (
	echoHi = `"name":"echo","arguments":{"text":"hi"}`
	saysHi = `DONE,"content":[{"type":"text","text":"hi"}]`
	noted  = `"ttlMs":0,"cacheScope":"private"`
)

// A request needs nothing before it; what is removed is not found, even where the same
// server still has it for sessions.
//
// BASE-019 BASE-037 BASE-038 BASE-039 BASE-089 BASE-092 BASE-173 BASE-177 BASE-190 BASE-291 BASE-294 BASE-297 BASE-298
// BASE-299 BASE-303 BASE-383 BASE-389 FEAT-204 FEAT-205 FEAT-228 FEAT-546 EDGE-143 EDGE-147 BASE-159 FEAT-024
// FEAT-064 FEAT-102 FEAT-112 FEAT-137 AUTH-296 FEAT-540 E1.9 E2.8 E2.20 E11.13 C-07 C-25 FEAT-113
func TestStatelessMethods(t *testing.T) {
	server := func() *Server {
		s := newServer(t, &ServerOptions{Instructions: "Be nice.", Subscribe: func(context.Context, *Request, string) error { return nil }})
		must(t, AddTool(s, &Tool{Name: "echo"}, func(_ context.Context, _ *Request, in echoInput) (string, error) { return in.Text, nil }),
			s.AddResource(&Resource{URI: "x:y", Name: "n"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
				return &ReadResourceResult{Contents: []*ResourceContents{TextContents("x:y", "", "t")}}, nil
			}))
		return s
	}
	lines := []string{
		lone("server/discover", ""), gives(`DONE,` + noted + `,"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
			`"capabilities":{"logging":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"instructions":"Be nice."`),
		lone("tools/call", echoHi), gives(saysHi),
		lone("tools/list", ""), gives(`DONE,` + noted + `,"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}}]`),
		lone("resources/list", ""), gives(`DONE,` + noted + `,"resources":[{"uri":"x:y","name":"n"}]`),
		lone("resources/templates/list", ""), gives(`DONE,` + noted + `,"resourceTemplates":[]`),
		lone("resources/read", `"uri":"x:y"`), gives(`DONE,` + noted + `,"contents":[{"uri":"x:y","text":"t"}]`),
		lone("resources/read", `"uri":"x:z"`), `200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"resource not found","data":{"uri":"x:z"}}}`,
		lone("tools/call", `"name":"none"`), fails(200, -32602, `unknown tool "none"`),
		lone("prompts/list", ""), fails(404, -32601, `method "prompts/list" is not offered by this server`),
		lone("completion/complete", ""), fails(404, -32601, `method "completion/complete" is not offered by this server`),
	}
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result",
		"roots/list", "sampling/createMessage", "elicitation/create", "unknown/method", "Tools/list"} {
		lines = append(lines, lone(method, ""), fails(404, -32601, fmt.Sprintf("method %q not found", method)))
	}
	everyWay(t, server, lines...)
}

// A server without any feature still tells what it is, and acknowledges who listens.
//
// BASE-024 BASE-369
func TestStatelessBare(t *testing.T) {
	bare := func() *Server { return newServer(t, &ServerOptions{NoLogging: true}) }
	everyWay(t, bare, lone("server/discover", ""),
		gives(`DONE,`+noted+`,"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{}`))
	talk(t, serve(bare()), modern(`
		> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:y"]}}}
		< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(1),"notifications":{}}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
	`))
}

// Lists are the same on each connection, whatever was done on it before, and over HTTP
// no answer has a session.
//
// BASE-252 BASE-285 FEAT-022 FEAT-103 FEAT-157 BASE-286
func TestStatelessListsDoNotVary(t *testing.T) {
	s := asking(t, nil)
	lists := []string{
		lone("tools/list", ""), lone("resources/list", ""), lone("resources/templates/list", ""), lone("prompts/list", ""),
	}
	answers := make([]string, len(lists))
	talkHTTP(t, &HTTPHandler{Server: s}, nil, func(c *web) {
		for i, list := range lists {
			x := c.alone(list)
			synctest.Wait()
			x.mu.Lock()
			want(t, "head", x.head, "200 application/json")
			answers[i] = x.body.String()
			x.head, x.seen = "", x.body.Len()
			x.mu.Unlock()
		}
	})
	script := ""
	for i, list := range lists {
		script += "> " + list + "\n< " + answers[i] + "\n"
	}
	before := `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + canAll + `,"name":"two"}}
		< {"jsonrpc":"2.0","id":1,"result":{ASK,"inputRequests":{` + askWho + `},"requestState":"#1"}}
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META<|"io.modelcontextprotocol/logLevel":"debug">,"name":"none"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool \"none\""}}
	`
	talk(t, serve(s), modern(script))
	talk(t, serve(s), modern(before+script))
}

// Keys of _meta go through to the handler as they are, those of trace context and those
// that nobody has defined too, but for what the client says of itself; nothing is read into
// them.
//
// BASE-033 BASE-034
func TestStatelessMetaPassesThrough(t *testing.T) {
	const odd = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b,c=d","baggage":"k=v;p",` +
		`"io.modelcontextprotocol/unheard":[{"x":1.0},null],"dev.mcp/other":{"taskId":7}`
	var got journal
	server := func() *Server {
		s := newServer(t, nil)
		addTool(t, s, "meta", func(_ context.Context, r *Request) (string, error) {
			for _, key := range sortedKeys(r.Meta) {
				text, err := json.Marshal(r.Meta[key])
				got.add("%s=%s %v", key, text, err)
			}
			return "", nil
		})
		return s
	}
	const seen = `baggage="k=v;p" <nil>; dev.mcp/other={"taskId":7} <nil>; io.modelcontextprotocol/unheard=[{"x":1.0},null] <nil>; ` +
		`traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" <nil>; tracestate="a=b,c=d" <nil>`
	everyWay(t, server, strings.Replace(lone("tools/call", `"name":"meta"`), "META", `META<|"io.modelcontextprotocol/logLevel":"error",`+odd+">", 1), gives(`DONE,"content":[{"type":"text","text":""}]`))
	want(t, "seen", &got, seen+"; "+seen)
	var meta Meta
	must(t, decodeJSON([]byte("{"+odd+"}"), &meta))
	got = journal{}
	synctest.Test(t, func(t *testing.T) { // the package's client sends it likewise
		ours, theirs := Pipe()
		ended := make(chan error, 1)
		go func() { ended <- server().Run(context.Background(), theirs) }()
		cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, nil).Connect(t.Context(), &ConnTransport{Conn: ours})
		must(t, err)
		must(t, second(cs.With(CallOptions{Meta: meta}).CallTool(t.Context(), "meta", nil)), cs.Close(), <-ended)
	})
	want(t, "seen", &got, seen)
	// In a session these are keys like all others.
	got = journal{}
	inSessions := `"io.modelcontextprotocol/clientCapabilities":1,"io.modelcontextprotocol/clientInfo":2,"io.modelcontextprotocol/logLevel":3,` + odd
	talk(t, serve(server()), hello(Revision20251125, "{}")+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{`+inSessions+`},"name":"meta"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}
	`)
	want(t, "seen", &got, strings.Replace(seen, "io.modelcontextprotocol/unheard", "io.modelcontextprotocol/clientCapabilities=1 <nil>; "+
		"io.modelcontextprotocol/clientInfo=2 <nil>; io.modelcontextprotocol/logLevel=3 <nil>; io.modelcontextprotocol/unheard", 1))
}

// What is wrong with a request is found in a fixed order, and has the same answer on a
// pipe as over HTTP, where no header is wrong.
//
// BASE-012 BASE-040 BASE-043 BASE-091 BASE-291 BASE-300 BASE-362 FEAT-232 EDGE-142 EDGE-145 EDGE-146 EDGE-147 EDGE-217 EDGE-231
// BASE-311 FEAT-040 E2.12 E11.1 C-06 C-29
func TestStatelessRefusals(t *testing.T) {
	meta := func(members string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + members + `}}}`
	}
	const (
		rev  = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		caps = `"io.modelcontextprotocol/clientCapabilities":`
		info = `"io.modelcontextprotocol/clientInfo":`
	)
	noObject := fails(400, -32602, "_meta: io.modelcontextprotocol/clientCapabilities must be an object")
	everyWay(t, func() *Server { return testServer(t, &ServerOptions{HasPrompts: true}) },
		meta(rev), noObject,
		meta(rev+`,`+caps+`null`), noObject,
		meta(rev+`,`+caps+`[]`), noObject,
		meta(rev+`,`+caps+`{"sampling":true}`), fails(400, -32602, "_meta: io.modelcontextprotocol/clientCapabilities: sampling: want an object, got true"),
		meta(rev+`,`+caps+`{},`+info+`{"version":"1"}`), fails(400, -32602, "_meta: io.modelcontextprotocol/clientInfo: name: missing"),
		meta(rev+`,`+caps+`{},`+info+`"me"`), fails(400, -32602, "_meta: io.modelcontextprotocol/clientInfo: want an object, got a string"),
		meta(rev+`,`+caps+`{},"io.modelcontextprotocol/logLevel":"verbose"`), fails(400, -32602, `_meta: io.modelcontextprotocol/logLevel must be one of ["debug" "info" "notice" "warning" "error" "critical" "alert" "emergency"], not "verbose"`),
		meta(rev+`,`+caps+`{},"io.modelcontextprotocol/logLevel":3`), fails(400, -32602, `_meta: io.modelcontextprotocol/logLevel must be one of ["debug" "info" "notice" "warning" "error" "critical" "alert" "emergency"], not 3`),
		meta(rev+`,`+caps+`{},"progressToken":1.5`), fails(200, -32602, "_meta.progressToken must be a string or an integer, not 1.5"),
		lone("tools/list", `"cursor":5`), fails(200, -32602, "tools/list: invalid parameters: cursor: want a string, got a number"),
		lone("tools/list", `"cursor":"x"`), fails(200, -32602, `cursor "x" is not one of this list`),
		lone("tools/call", `"name":"echo","arguments":[]`), fails(200, -32602, "tools/call: arguments must be an object, not []"),
		lone("tools/call", `"name":"echo","arguments":{}`), gives(`DONE,"content":[{"type":"text","text":"invalid arguments for tool \"echo\": the value: \"text\" is missing"}],"isError":true`),
		lone("tools/call", `"name":"ask","inputResponses":"x"`), fails(200, -32602, `inputResponses must be an object, not "x"`),
		lone("tools/call", `"name":"ask","inputResponses":null`), fails(200, -32602, `inputResponses must be an object, not null`),
		lone("tools/call", `"name":"ask","requestState":5`), fails(200, -32602, `requestState must be a string, not 5`),
		lone("tools/call", `"name":"boom"`), fails(200, -32603, "internal error"),
	)
	unserved := func(name string) string {
		return `400 {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"revision \"` + name + `\" is not served","data":{"requested":"` + name + `","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}}}`
	}
	talk(t, serve(testServer(t, nil)), modern(`
		> `+meta(`"io.modelcontextprotocol/protocolVersion":"1900-01-01"`)+`
		< `+unserved("1900-01-01")[4:]+`
		> `+meta(`"io.modelcontextprotocol/protocolVersion":5`)+`
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"_meta: io.modelcontextprotocol/protocolVersion must name the revision; this server speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"}}
		> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"subscriptions/listen: invalid parameters: notifications: missing"}}
		> {"jsonrpc":"2.0","id":1,"method":"notifications/example","params":{META}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"notifications/example is a notification and must have no id"}}
		> `+lone("server/discover", "")+`
		< {"jsonrpc":"2.0","id":1,"result":{DONE,`+noted+`,"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"logging":{},"tools":{"listChanged":true}}}}
	`))
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		for _, name := range []string{"1900-01-01", "v999.0.0", "2099-01-01", "9999"} {
			for _, method := range []string{"tools/list", "server/discover"} {
				text := strings.Replace(modern(lone(method, "")), "2026-07-28", name, 1)
				c.alone(text, "MCP-Protocol-Version: "+name).sees(strings.Replace(unserved(name), "400 ", "400 application/json\n", 1))
			}
		}
		c.alone(`{"jsonrpc":"2.0","id":1,"method":"notifications/example","params":{META}}`).
			sees(refusedFor("1", 400, -32600, "notifications/example is a notification and must have no id"))
		c.alone(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META}}`).
			sees("200 text/event-stream\n: ok\n\ndata: " + fails(0, -32602, "subscriptions/listen: invalid parameters: notifications: missing")[2:] + "\n$")
		// What has a status of its own is no stream, not even where all else is.
		c.alone(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META,"notifications":{}}}`, "Mcp-Method: tools/list").
			sees(refusedFor("1", 400, -32020, `Mcp-Method is "tools/list", but the method is "subscriptions/listen"`))
		c.alone(lone("ping", ""), "Accept: text/event-stream").sees(refusedFor("1", 404, -32601, `method "ping" not found`))
	})
}

// What a tool puts into headers tells nobody of the tool who must not know of it.
func TestStatelessHeadersOfHidden(t *testing.T) {
	s := newServer(t, &ServerOptions{Visible: func(_ *Request, _, name string) bool { return name != "hidden" }})
	for _, name := range []string{"hidden", "seen"} {
		must(t, s.AddTool(&Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"v":{"type":"string","x-mcp-header":"Region"}}}`)},
			func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) {
				return &CallToolResult{}, nil
			}))
	}
	talkHTTP(t, &HTTPHandler{Server: s}, nil, func(c *web) {
		c.alone(lone("tools/call", `"name":"hidden","arguments":{"v":"x"}`)).sees(refusedFor("1", 200, -32602, `unknown tool "hidden"`))
		c.alone(lone("tools/call", `"name":"seen","arguments":{"v":"x"}`)).
			sees(refusedFor("1", 400, -32020, "Mcp-Param-Region and the argument v: one of them is missing"))
	})
}

// A client that leaves before anybody looks whether it does is noticed when somebody does.
func TestStatelessLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends journal
		s := newServer(t, nil)
		start := time.Now()
		addTool(t, s, "stay", func(ctx context.Context, _ *Request) (string, error) {
			<-ctx.Done()
			ends.add("after %v: %v", time.Since(start), context.Cause(ctx))
			return "", nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/", strings.NewReader(modern(lone("tools/call", `"name":"stay"`))))
		for name, value := range map[string]string{"Content-Type": typeJSON, headerRevision: Revision20260728, headerMethod: "tools/call", headerName: "stay"} {
			r.Header.Set(name, value)
		}
		done := make(chan struct{})
		go func() { (&HTTPHandler{Server: s}).ServeHTTP(httptest.NewRecorder(), r); close(done) }()
		synctest.Wait()
		cancel()
		<-done
		want(t, "ends", &ends, "after 10ms: mcp: the client closed the connection")
	})
}

// The headers repeat what the body says, or the request is refused with its id.
//
// BASE-042 BASE-187 BASE-211 BASE-212 BASE-216 BASE-310 BASE-315 BASE-316 BASE-319 BASE-337 FEAT-090 FEAT-091 EDGE-138
// EDGE-139 EDGE-140 EDGE-148 EDGE-149 EDGE-150 EDGE-151 EDGE-152 EDGE-157 EDGE-158 EDGE-159 E7.16 E7.18 E7.19
// BASE-307 AUTH-300 FEAT-246 EDGE-055 EDGE-108 C-05 C-16 C-29
func TestStatelessHeaders(t *testing.T) {
	s := testServer(t, nil)
	must(t, s.AddTool(&Tool{Name: "mirror", InputSchema: json.RawMessage(`{"type":"object","properties":{"v":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"Count"}}}`)},
		func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) {
			return &CallToolResult{}, nil
		}),
		s.AddPrompt(&Prompt{Name: "héllo"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
			return &GetPromptResult{}, nil
		}))
	call := func(members string) string { return lone("tools/call", members) }
	mirrored := func(args string) string { return call(`"name":"mirror","arguments":` + args) }
	const (
		speaks = "this server speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
		done   = `{"jsonrpc":"2.0","id":1,"result":{DONE,"content":[]}}`
	)
	h := &HTTPHandler{Server: s}
	talkHTTP(t, h, nil, func(c *web) {
		for _, tt := range []struct {
			body, header, want string // want: a message, or "{" and more for a result
		}{
			{call(echoHi), "-MCP-Protocol-Version", "the header MCP-Protocol-Version is missing; " + speaks},
			{call(echoHi), "MCP-Protocol-Version: 2025-11-25", `MCP-Protocol-Version is "2025-11-25", but _meta says "2026-07-28"`},
			{call(echoHi), "MCP-Protocol-Version: v999.0.0", `MCP-Protocol-Version is "v999.0.0", but _meta says "2026-07-28"`},
			{call(echoHi), "+MCP-Protocol-Version: 2026-07-28", `MCP-Protocol-Version is "2026-07-28, 2026-07-28", but _meta says "2026-07-28"`},
			{strings.Replace(modern(call(echoHi)), "2026-07-28", "2025-11-25", 1), "X: y", `MCP-Protocol-Version is "2026-07-28", but _meta says "2025-11-25"`},
			{strings.Replace(modern(call(echoHi)), "2026-07-28", "v999.0.0", 1), "X: y", `MCP-Protocol-Version is "2026-07-28", but _meta says "v999.0.0"`},
			{call(echoHi), "-Mcp-Method", "the header Mcp-Method is missing"},
			{call(echoHi), "Mcp-Method: tools/list", `Mcp-Method is "tools/list", but the method is "tools/call"`},
			{call(echoHi), "Mcp-Method: TOOLS/CALL", `Mcp-Method is "TOOLS/CALL", but the method is "tools/call"`},
			{call(echoHi), "+Mcp-Method: tools/call", `Mcp-Method is "tools/call, tools/call", but the method is "tools/call"`},
			{call(echoHi), "Mcp-Method: =?base64?dG9vbHMvY2FsbA==?=", `Mcp-Method is "=?base64?dG9vbHMvY2FsbA==?=", but the method is "tools/call"`},
			{call(echoHi), "-Mcp-Name", "the header Mcp-Name is missing"},
			{call(echoHi), "Mcp-Name: boom", `Mcp-Name is "boom", but name is "echo"`},
			{call(echoHi), "Mcp-Name: Echo", `Mcp-Name is "Echo", but name is "echo"`},
			{call(echoHi), "+Mcp-Name: echo", "Mcp-Name comes 2 times"},
			{call(echoHi), "Mcp-Name: =?base64?ZWNobw?=", "Mcp-Name: it is not the base64 form of a text"},
			{call(echoHi), "Mcp-Name: \x80", "Mcp-Name: it has characters that are no visible ASCII"},
			{call(`"arguments":{}`), "X: y", "the header Mcp-Name is missing"},
			{lone("resources/read", `"uri":"x:y"`), "Mcp-Name: x:z", `Mcp-Name is "x:z", but uri is "x:y"`},
			{lone("prompts/get", `"name":"p"`), "-Mcp-Name", "the header Mcp-Name is missing"},

			{call(echoHi), "Mcp-Name: =?base64?ZWNobw==?=", strings.Replace(done, `"content":[]`, saysHi[5:], 1)},
			{call(echoHi), "Mcp-Name:    echo  ", strings.Replace(done, `"content":[]`, saysHi[5:], 1)},
			{call(echoHi), "mcp-METHOD: tools/call", strings.Replace(done, `"content":[]`, saysHi[5:], 1)},
			{call(echoHi), "Mcp-Session-Id: ABCDEFGHIJKLMNOPQRSTUVWXYZ", strings.Replace(done, `"content":[]`, saysHi[5:], 1)},
			{call(echoHi), "Last-Event-ID: 1_1", strings.Replace(done, `"content":[]`, saysHi[5:], 1)},
			{call(echoHi), "Mcp-Param-Zzz: y", strings.Replace(done, `"content":[]`, saysHi[5:], 1)},
			{lone("prompts/get", `"name":"h\u00e9llo"`), "Mcp-Name: =?base64?aMOpbGxv?=", strings.Replace(done, "content", "messages", 1)},
			{mirrored(`{}`), "X: y", done},
			{mirrored(`{"v":null}`), "X: y", strings.Replace(done, `"content":[]`, `"content":[{"type":"text","text":"invalid arguments for tool \"mirror\": /v: want string, got null"}],"isError":true`, 1)},
			{mirrored(`{"v":""}`), "Mcp-Param-Region: ", done},
			{mirrored(`{"v":"x"}`), "mcp-param-REGION: x", done},
			{mirrored(`{"n":42}`), "Mcp-Param-Count: 42.0", done},
			{mirrored(`{"v":"x"}`), "X: y", "Mcp-Param-Region and the argument v: one of them is missing"},
			{mirrored(`{"v":null}`), "Mcp-Param-Region: x", "Mcp-Param-Region and the argument v: one of them is missing"},
			{mirrored(`{"v":"x"}`), "Mcp-Param-Region: y", `Mcp-Param-Region is "y", but the argument v is "x"`},
			{mirrored(`{"n":9007199254740992}`), "Mcp-Param-Count: 9007199254740992", "Mcp-Param-Count: n is 9007199254740992; only integers up to 2^53-1 can stand in a header"},
		} {
			want := "200 application/json\n" + modern(tt.want)
			if tt.want[0] != '{' {
				want = refusedFor("1", 400, -32020, tt.want)
			}
			c.alone(tt.body, tt.header).sees(want)
		}
		c.alone(lone("tools/list", ""), "Mcp-Name: any", "-Mcp-Method", "Mcp-Method: tools/list", "MCP-Protocol-Version: 2026-07-27").
			sees(refusedFor("1", 400, -32020, `MCP-Protocol-Version is "2026-07-27", but _meta says "2026-07-28"`))
		c.alone(call(`"arguments":{}`), "Mcp-Name: ").sees(refusedFor("1", 200, -32602, "tools/call: invalid parameters: name: missing"))
		c.alone(call(`"name":"none","arguments":{"v":"x"}`), "Mcp-Param-Region: y").sees(refusedFor("1", 200, -32602, `unknown tool "none"`))
		c.alone(lone("completion/complete", ""), "Mcp-Name: any").sees(refusedFor("1", 404, -32601, `method "completion/complete" is not offered by this server`))
		// The key may be missing: then nothing differs.
		c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list").
			sees(refusedFor("1", 400, -32602, "_meta: io.modelcontextprotocol/protocolVersion must name the revision; "+speaks))
		// Nothing is demanded of notifications. They have no effect, and are not answered.
		for _, note := range []string{"notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed", "notifications/elicitation/complete", "notifications/example"} {
			c.post(`{"jsonrpc":"2.0","method":"`+note+`"}`, "MCP-Protocol-Version: 2026-07-28").sees("202")
			c.post(`{"jsonrpc":"2.0","method":"` + note + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`).sees("202")
		}
		// What is no request is refused.
		c.post(`{"jsonrpc":"2.0","id":7,"result":{}}`, "MCP-Protocol-Version: 2026-07-28").sees(refusedFor("7", 400, -32600, "nothing was asked that this could answer"))
		c.post(`{"jsonrpc":"2.0"}`, "MCP-Protocol-Version: 2026-07-28").sees(refused(400, -32600, "invalid message: no method"))
		c.post(`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, "MCP-Protocol-Version: 2026-07-28").sees(refused(400, -32600, "invalid message: id null is neither a string nor an integer"))
		c.post("["+modern(call(echoHi))+"]", "MCP-Protocol-Version: 2026-07-28").sees(refused(400, -32600, "batches are not part of this revision"))
		c.alone(lone("subscriptions/listen", `"notifications":{}`), "Accept: application/json").
			sees(refusedFor("1", 406, -32600, "subscriptions/listen is answered with text/event-stream, which Accept does not allow"))
	})
}

// One server serves both eras on one pipe, and each request is judged by itself.
//
// BASE-089 BASE-096 BASE-280 BASE-281 BASE-292 FEAT-543 FEAT-547 EDGE-141
func TestErasOnOnePipe(t *testing.T) {
	s := testServer(t, nil)
	addTool(t, s, "who", func(ctx context.Context, r *Request) (string, error) {
		return fmt.Sprint(r.Revision, " ", r.Client.Name, " sampling: ", r.Capabilities.Sampling != nil), nil
	})
	who := func(id int, meta string) string {
		return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"who"%s}}`, id, meta)
	}
	says := func(id int, more, text string) string {
		return fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":{%s"content":[{"type":"text","text":%q}]}}`, id, more, text)
	}
	const old = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}`
	talk(t, serve(s), modern(strings.Join([]string{
		`> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}`,
		`< {"jsonrpc":"2.0","id":1,"result":{DONE,` + noted + `,"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"logging":{},"tools":{"listChanged":true}}}}`,
		who(2, `,META<{"sampling":{}}|"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}>`), says(2, "DONE,", "2026-07-28 a sampling: true"),
		who(3, `,META`), says(3, "DONE,", "2026-07-28  sampling: false"),
		// The handshake of the other era is still to come, and changes nothing here.
		who(4, old), `< {"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"not initialized: send initialize first"}}`,
		`> {"jsonrpc":"2.0","method":"notifications/example"}`,
		hello("2025-11-25", "{}"),
		who(5, ``), says(5, "", "2025-11-25 t sampling: false"),
		who(6, `,META<|"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"}>`), says(6, "DONE,", "2026-07-28 b sampling: false"),
		who(7, old), says(7, "", "2025-11-25 t sampling: false"),
		who(8, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}`),
		`< {"jsonrpc":"2.0","id":8,"error":{"code":-32022,"message":"revision \"1900-01-01\" is not served","data":{"requested":"1900-01-01","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}}}`,
		who(9, `,META`), says(9, "DONE,", "2026-07-28  sampling: false"),
		`> {"jsonrpc":"2.0","id":10,"method":"ping"}`, `< {"jsonrpc":"2.0","id":10,"result":{}}`,
		`> {"jsonrpc":"2.0","id":11,"method":"ping","params":{META}}`, `< {"jsonrpc":"2.0","id":11,"error":{"code":-32601,"message":"method \"ping\" not found"}}`,
		`> {"jsonrpc":"2.0","id":12,"method":"server/discover"}`, `< {"jsonrpc":"2.0","id":12,"error":{"code":-32601,"message":"method \"server/discover\" not found"}}`,
		`> {"jsonrpc":"2.0","id":13,"method":"subscriptions/listen","params":{"notifications":{}}}`, `< {"jsonrpc":"2.0","id":13,"error":{"code":-32601,"message":"method \"subscriptions/listen\" not found"}}`,
		// A cancellation needs no _meta.
		`> {"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"slow",META}}`,
		`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":14}}`,
		`. 1h`,
		`> {"jsonrpc":"2.0","id":14,"method":"ping"}`, `< {"jsonrpc":"2.0","id":14,"result":{}}`,
	}, "\n")))
}

// The same over HTTP, where requests of both eras come in at one endpoint.
//
// BASE-096 BASE-105 BASE-181 BASE-210 BASE-215 EDGE-144 EDGE-113 EDGE-114
func TestErasOnOneEndpoint(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil), MaxSessions: 1}
	talkHTTP(t, h, nil, func(c *web) {
		c.alone(lone("tools/call", echoHi)).sees("200 application/json\n" + modern(gives(saysHi)[4:]))
		c.hello("2025-11-25", "{}")                        // there is room: what stands alone is no session
		for _, method := range []string{"GET", "DELETE"} { // of this revision there is neither
			c.send(method, "", "Accept: text/event-stream", "MCP-Protocol-Version: 2026-07-28").sees(refused(405, -32600, "method "+method+" is not served here; allowed: POST", "Allow: POST"))
		}
		c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + echoHi + `}}`).sees(`200 application/json
			{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}`)
		c.alone(lone("tools/call", echoHi)).sees("200 application/json\n" + modern(gives(saysHi)[4:]))
		c.post(strings.ReplaceAll(modern(lone("ping", "")), "2026-07-28", "2025-11-25")).sees("200 application/json\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
	const names = "the header MCP-Protocol-Version is missing; this server speaks 2026-07-28"
	h = &HTTPHandler{Server: testServer(t, &ServerOptions{Revisions: []string{Revision20260728}})}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(initializeA).sees(refusedFor("1", 400, -32020, names))
		c.post(modern(lone("tools/list", ""))).sees(refusedFor("1", 400, -32020, names))
		for _, method := range []string{"GET", "DELETE"} {
			c.send(method, "", "Accept: text/event-stream").sees(refused(405, -32600, "method "+method+" is not served here; allowed: POST", "Allow: POST"))
		}
		c.post("[" + pingA + "]").sees(refused(400, -32600, "batches are not part of this revision"))
		c.alone(lone("server/discover", "")).sees("200 application/json\n" + modern(gives(`DONE,` + noted + `,"supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"tools":{"listChanged":true}}`)[4:]))
		c.alone(strings.ReplaceAll(modern(lone("tools/list", "")), "2026-07-28", "2025-11-25"), "MCP-Protocol-Version: 2025-11-25").
			sees(`400 application/json
			{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"revision \"2025-11-25\" is not served","data":{"requested":"2025-11-25","supported":["2026-07-28"]}}}`)
	})
	h = &HTTPHandler{Server: testServer(t, &ServerOptions{Revisions: sessionRevisions()})}
	talkHTTP(t, h, nil, func(c *web) {
		c.alone(lone("tools/list", "")).sees(refusedFor("1", 400, -32600, `MCP-Protocol-Version "2026-07-28" is not one of 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05`))
		c.post(modern(lone("tools/list", ""))).sees(refusedFor("1", 400, -32600, "no Mcp-Session-Id header: send initialize first, and then the id that its answer has"))
	})
}

// A server of this revision only says so to clients of sessions.
//
// BASE-056 BASE-105 EDGE-144
func TestOnlyStateless(t *testing.T) {
	const names = `{"code":-32602,"message":"_meta: io.modelcontextprotocol/protocolVersion must name the revision; this server speaks 2026-07-28"}}`
	talk(t, serve(testServer(t, &ServerOptions{Revisions: []string{Revision20260728}})), modern(`
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		< {"jsonrpc":"2.0","id":1,"error":`+names+`
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","id":2,"method":"ping"}
		< {"jsonrpc":"2.0","id":2,"error":`+names+`
		> [{"jsonrpc":"2.0","id":3,"method":"ping"}]
		< {"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not part of this revision"}}
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META,`+echoHi+`}}
		< `+gives(saysHi)[4:]+`
	`))
}

// BUG-056: over HTTP+SSE, which is older than the revision, it does not exist.
func TestBUG056NotOverSSE(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, h.SSE(), func(c *web) {
		stream := c.get()
		synctest.Wait()
		stream.mu.Lock()
		endpoint := regexp.MustCompile(`data: (\S+)`).FindStringSubmatch(stream.body.String())
		stream.seen, stream.head = stream.body.Len(), ""
		stream.mu.Unlock()
		if endpoint == nil {
			t.Fatal("no endpoint")
		}
		c.path = endpoint[1]
		c.post(modern(lone("server/discover", ""))).sees("202")
		stream.sees(`event: message
			data: {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method \"server/discover\" not found"}}`)
		stream.drop()
	})
}

// BUG-052: who asks for a version that is not served learns which are.
func TestBUG052UnsupportedVersion(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.alone(strings.ReplaceAll(modern(lone("tools/list", "")), "2026-07-28", "2099-01-01"), "MCP-Protocol-Version: 2099-01-01").sees(`400 application/json
			{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"revision \"2099-01-01\" is not served","data":{"requested":"2099-01-01","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}}}`)
	})
}

// BUG-053: headers and body must agree.
func TestBUG053HeaderAndBody(t *testing.T) {
	s := testServer(t, nil)
	must(t, s.AddPrompt(&Prompt{Name: "héllo"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
		return &GetPromptResult{}, nil
	}))
	talkHTTP(t, &HTTPHandler{Server: s}, nil, func(c *web) {
		c.alone(lone("tools/list", ""), "Mcp-Method: tools/call").sees(refusedFor("1", 400, -32020, `Mcp-Method is "tools/call", but the method is "tools/list"`))
		c.alone(lone("tools/list", ""), "-Mcp-Method").sees(refusedFor("1", 400, -32020, "the header Mcp-Method is missing"))
		c.alone(lone("tools/call", echoHi), "Mcp-Name: boom").sees(refusedFor("1", 400, -32020, `Mcp-Name is "boom", but name is "echo"`))
		c.alone(lone("prompts/get", `"name":"héllo"`), "Mcp-Name: =?base64?aMOpbGxv?=").sees("200 application/json\n" + modern(gives(`DONE,"messages":[]`)[4:]))
	})
}

// asking has a tool, a prompt and a resource that ask in two rounds, and a tool for each
// kind of question.
func asking(t *testing.T, opts *ServerOptions) *Server {
	s := testServer(t, opts)
	two := func(ctx context.Context, r *Request) (string, error) {
		name, err := r.Ask(ctx, Question{Name: "who", Elicit: form(t, `{"properties":{"name":{"type":"string"}},"required":["name"]}`)})
		if err != nil {
			return "", err
		}
		rest, err := r.Ask(ctx, Question{Roots: true}, Question{Sample: &CreateMessageParams{MaxTokens: 9, Messages: []*SamplingMessage{{Role: RoleUser, Content: says("Hi")}}}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(name[0].Elicit.Action, string(name[0].Elicit.Content), " ", len(rest[0].Roots), " ", rest[1].Sample.Model), nil
	}
	addTool(t, s, "two", two)
	addTool(t, s, "roots", asksRoots)
	addTool(t, s, "swallow", func(ctx context.Context, r *Request) (string, error) {
		if _, err := r.Roots(ctx); err != nil {
			return "nobody told me", nil
		}
		return "asked", nil
	})
	addTool(t, s, "visit", asksFor(Visit("Pay", "https://example.com/pay")))
	must(t, s.AddPrompt(&Prompt{Name: "two"}, func(ctx context.Context, r *Request, _ *GetPromptParams) (*GetPromptResult, error) {
		text, err := two(ctx, r)
		return &GetPromptResult{Messages: []*PromptMessage{{Role: RoleUser, Content: &TextContent{Text: text}}}}, err
	}), s.AddResource(&Resource{URI: "x:two", Name: "two"}, func(ctx context.Context, r *Request, p *ReadResourceParams) (*ReadResourceResult, error) {
		text, err := two(ctx, r)
		return &ReadResourceResult{Contents: []*ResourceContents{TextContents(p.URI, "", text)}}, err
	}))
	return s
}

const (
	canAll  = `META<{"elicitation":{},"roots":{},"sampling":{}}>`
	askWho  = `"who":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`
	askRest = `"1":{"method":"roots/list","params":{}},"2":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9}}`
	iAmAda  = `"who":{"action":"accept","content":{"name":"Ada"}}`
	theRest = `"1":{"roots":[{"uri":"file:///a"}]},"2":{"role":"assistant","content":{"type":"text","text":"Yo"},"model":"m"}`
)

// A question is a result, and its answer comes with another request. Whatever the
// client sends again is enough to go on, at a server that knows of nothing.
//
// BASE-015 BASE-018 BASE-170 BASE-199 BASE-282 BASE-305 BASE-340 BASE-341 BASE-343 BASE-345 BASE-346 BASE-348 BASE-349 BASE-364
// BASE-365 BASE-384 FEAT-206 FEAT-245 FEAT-273 FEAT-342 FEAT-344 FEAT-345 FEAT-354 FEAT-357 FEAT-358 FEAT-360 FEAT-361
// FEAT-362 E4.1 E4.4 E4.18 BASE-344 FEAT-120 FEAT-170
func TestStatelessAsk(t *testing.T) {
	for _, c := range []struct{ method, target, done string }{
		{"tools/call", `"name":"two","arguments":{}`, `DONE,"content":[{"type":"text","text":"accept{\"name\":\"Ada\"} 1 m"}]`},
		{"prompts/get", `"name":"two"`, `DONE,"messages":[{"role":"user","content":{"type":"text","text":"accept{\"name\":\"Ada\"} 1 m"}}]`},
		{"resources/read", `"uri":"x:two"`, `DONE,` + noted + `,"contents":[{"uri":"x:two","text":"accept{\"name\":\"Ada\"} 1 m"}]`},
	} {
		key := [][]byte{[]byte("0123456789abcdef")}
		one, other := asking(t, &ServerOptions{StateKeys: key}), asking(t, &ServerOptions{StateKeys: key})
		say := func(id int, members string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s%s}}`, id, c.method, canAll, c.target, members)
		}
		asks := func(id int, questions string, state int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{ASK,"inputRequests":{%s},"requestState":"#%d"}}`, id, questions, state)
		}
		done := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{%s}}`, id, c.done) }
		steps := [][2]string{
			{say(1, ""), asks(1, askWho, 1)},
			{say(2, `,"inputResponses":{`+iAmAda+`},"requestState":"#1"`), asks(2, askRest, 2)},
			{say(3, `,"inputResponses":{`+theRest+`},"requestState":"#2"`), done(3)},
			// The same once more: nothing was used up.
			{say(4, `,"requestState":"#2","inputResponses":{`+theRest+`}`), done(4)},
			// What is missing is asked for again, what is unknown ignored.
			{say(5, `,"inputResponses":{"wrong":{"x":1}},"requestState":"#1"`), asks(5, askWho, 3)},
			{say(6, `,"inputResponses":{"1":{"roots":[]},"x":5,"y":null},"requestState":"#2"`), asks(6, `"2"`+strings.SplitN(askRest, `"2"`, 2)[1], 4)},
			// What is sealed wins over what is sent beside it.
			{say(7, `,"inputResponses":{`+theRest+`,"who":{"action":"decline"}},"requestState":"#2"`), done(7)},
			// Answers need no state.
			{say(8, `,"inputResponses":{`+iAmAda+`,`+theRest+`}`), done(8)},
			{say(9, `,"inputResponses":{`+iAmAda+`,`+theRest+`},"requestState":null`), done(9)},
		}
		script, s := "", one
		for _, step := range steps {
			script += "> " + step[0] + "\n< " + step[1] + "\n"
		}
		talk(t, serve(s), modern(script))
		h, replica := &HTTPHandler{Server: one}, &HTTPHandler{Server: other}
		turn := 0
		talkHTTP(t, h, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if turn++; turn%2 == 0 {
				replica.ServeHTTP(w, r)
				return
			}
			h.ServeHTTP(w, r)
		}), func(c *web) {
			for _, step := range steps {
				c.alone(step[0]).sees("200 application/json\n" + modern(step[1]))
			}
			must(t, replica.Shutdown(c.t.Context()))
		})
	}
}

// What a handler does with the error of a question does not decide; what it declares to
// be the answer does.
//
// BASE-041 BASE-293 BASE-342 BASE-347 BASE-362 BASE-363 FEAT-343 FEAT-346 FEAT-347 FEAT-359 E4.2 E4.3 E4.8 E4.17 E4.7
// FEAT-247 FEAT-363 FEAT-191 FEAT-275 E2.17 E2.18 E2.21 E11.14 C-19 BUG-187
func TestStatelessAskRefused(t *testing.T) {
	server := func() *Server {
		s := asking(t, &ServerOptions{HasResources: true, Complete: func(ctx context.Context, r *Request, _ *CompleteParams) (*Completion, error) {
			_, err := r.Roots(ctx)
			return nil, err
		}, Intercept: []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
			if r.Method == methodTemplatesList {
				if _, err := r.Roots(ctx); err != nil {
					return nil, Errorf(7, "%v", err)
				}
			}
			return next(ctx)
		}}})
		addTool(t, s, "both", func(ctx context.Context, r *Request) (string, error) {
			_, err := r.Ask(ctx, Question{Roots: true}, Question{Sample: &CreateMessageParams{MaxTokens: 1, Tools: []*Tool{{Name: "t"}}}})
			return "", err
		})
		addTool(t, s, "either", func(ctx context.Context, r *Request) (string, error) {
			if r.Capabilities.Elicitation == nil {
				_, err := r.Sample(ctx, &CreateMessageParams{MaxTokens: 9})
				return "", err
			}
			_, err := r.Elicit(ctx, Confirm("Sure?"))
			return "", err
		})
		addTool(t, s, "wrapped", func(ctx context.Context, r *Request) (string, error) {
			_, err := r.Roots(ctx)
			return "", fmt.Errorf("while asking: %w", err)
		})
		addTool(t, s, "refuse", func(ctx context.Context, r *Request) (string, error) {
			_, _ = r.Roots(ctx)
			return "", Errorf(1001, "no")
		})
		addTool(t, s, "fails", func(context.Context, *Request) (string, error) { return "", errors.New("no such city") })
		addTool(t, s, "twice", func(ctx context.Context, r *Request) (string, error) {
			_, err := r.Ask(ctx, Question{Name: "q", Roots: true}, Question{Name: "q", Roots: true})
			return "", err
		})
		addTool(t, s, "again", func(ctx context.Context, r *Request) (string, error) {
			for {
				if _, err := r.Ask(ctx, Question{Name: "q", Elicit: Confirm("Sure?")}); err != nil {
					return "", err
				}
			}
		})
		addTool(t, s, "counted", func(ctx context.Context, r *Request) (string, error) {
			_, err := r.Ask(ctx, Question{Name: "1", Roots: true}, Question{Roots: true})
			return "", err
		})
		return s
	}
	missing := func(what, need string) string {
		return `400 {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"the client did not declare ` + what + `","data":{"requiredCapabilities":` + need + `}}}`
	}
	call := func(members string) string {
		return strings.Replace(lone("tools/call", members), "META", canAll, 1)
	}
	const (
		askRoots = `{"method":"roots/list","params":{}}`
		askSure  = `{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}`
	)
	everyWay(t, server,
		lone("tools/call", `"name":"roots"`), missing("roots", `{"roots":{}}`),
		lone("tools/call", `"name":"both"`), missing("roots, sampling, sampling.tools", `{"roots":{},"sampling":{"tools":{}}}`),
		call(`"name":"both"`), missing("sampling, sampling.tools", `{"sampling":{"tools":{}}}`),
		call(`"name":"visit"`), missing("elicitation.url", `{"elicitation":{"url":{}}}`),
		strings.Replace(lone("tools/call", `"name":"ask"`), "META", `META<{"elicitation":{"url":{}}}>`, 1), missing("elicitation.form", `{"elicitation":{"form":{}}}`),
		call(`"name":"swallow"`), gives(`ASK,"inputRequests":{"1":`+askRoots+`},"requestState":"#1"`),
		call(`"name":"wrapped"`), gives(`ASK,"inputRequests":{"1":`+askRoots+`},"requestState":"#2"`),
		call(`"name":"counted"`), gives(`ASK,"inputRequests":{"1":`+askRoots+`,"1-2":`+askRoots+`},"requestState":"#3"`),
		strings.Replace(lone("tools/call", `"name":"roots"`), "META", `META<{"roots":{"listChanged":true}}>`, 1), gives(`ASK,"inputRequests":{"1":`+askRoots+`},"requestState":"#4"`),
		strings.Replace(lone("tools/call", `"name":"either"`), "META", `META<{"sampling":{}}>`, 1),
		gives(`ASK,"inputRequests":{"1":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}}},"requestState":"#5"`),
		call(`"name":"refuse"`), fails(200, 1001, "no"),
		call(`"name":"fails"`), gives(`DONE,"content":[{"type":"text","text":"no such city"}],"isError":true`),
		lone("tools/call", `"name":"either"`), missing("sampling", `{"sampling":{}}`),
		call(`"name":"twice"`), gives(`ASK,"inputRequests":{"q":`+askRoots+`,"q-2":`+askRoots+`},"requestState":"#6"`),
		call(`"name":"again","inputResponses":{"q":{"action":"accept"}}`), gives(`ASK,"inputRequests":{"q-2":`+askSure+`},"requestState":"#7"`),
		call(`"name":"again","inputResponses":{"q-2":{"action":"cancel"}},"requestState":"#7"`), gives(`ASK,"inputRequests":{"q-3":`+askSure+`},"requestState":"#8"`),
		call(`"name":"roots","inputResponses":{"1":12345}`), fails(200, -32602, `inputResponses: "1": mcp: invalid response: want an object, got a number`),
		call(`"name":"roots","inputResponses":{"1":null}`), fails(200, -32602, `inputResponses: "1": mcp: invalid response: roots: missing`),
		call(`"name":"ask","inputResponses":{"1":{"action":"accept","content":{"name":5}}}`), fails(200, -32602, `inputResponses: "1": mcp: invalid response: name: want a string, got a number`),
		call(`"name":"ask","inputResponses":{"1":{"action":"accept","content":{}}}`), fails(200, -32602, `inputResponses: "1": mcp: invalid response: name: missing`),
		call(`"name":"ask","inputResponses":{"1":{"action":"reject"}}`), fails(200, -32602, `inputResponses: "1": mcp: invalid response: action must be accept, decline or cancel, not "reject"`),
		call(`"name":"ask","inputResponses":{"1":{"action":"decline"}}`), gives(`DONE,"content":[{"type":"text","text":"decline"}]`),
		call(`"name":"ask","inputResponses":{"1":{"action":"cancel"}}`), gives(`DONE,"content":[{"type":"text","text":"cancel"}]`),
		// Elsewhere nothing can be asked, and answers mean nothing.
		strings.Replace(lone("resources/templates/list", `"inputResponses":5,"requestState":5`), "META", canAll, 1), fails(200, 7, "mcp: the client cannot be asked in resources/templates/list"),
		strings.Replace(lone("completion/complete", `"ref":{"type":"ref/prompt","name":"two"},"argument":{"name":"a","value":""}`), "META", canAll, 1), fails(200, -32602, `unknown argument "a"`),
		lone("tools/list", `"inputResponses":"x","cursor":"x"`), fails(200, -32602, `cursor "x" is not one of this list`),
	)
}

// sealed is the requestState that a server gives to ada for a request.
func sealed(t *testing.T, s *Server, call string) string {
	t.Helper()
	h := &HTTPHandler{Server: s, Authorize: func(*http.Request) (*Identity, error) { return &Identity{Subject: "ada"}, nil }}
	state := ""
	talkHTTP(t, h, nil, func(c *web) {
		x := c.alone(call)
		synctest.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		if m := stateMember.FindStringSubmatch(x.body.String()); m != nil {
			state = m[1]
		}
		x.head, x.seen = "", x.body.Len()
	})
	if state == "" {
		t.Fatalf("no requestState for %s", call)
	}
	return state
}

// BUG-190: a requestState is good for the call and the caller that it was given for, as
// long as it lives, and only as it is. A call may be spelled differently.
//
// BASE-358 BASE-359 BASE-360 FEAT-355 FEAT-356 E4.5 E4.6 FEAT-304 AUTH-291 AUTH-293 AUTH-294 AUTH-454
func TestBUG190RequestState(t *testing.T) {
	keys := [][]byte{[]byte("the first secret"), []byte("an older secret.")}
	server := func(keys ...[]byte) *Server {
		s := asking(t, &ServerOptions{StateKeys: keys, StateLife: time.Minute})
		must(t, s.AddTool(&Tool{Name: "args", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *Request, _ *CallToolParams) (*CallToolResult, error) {
			_, err := r.Roots(ctx)
			return nil, err
		}))
		return s
	}
	args := func(name, arguments, more string) string {
		return strings.Replace(lone("tools/call", `"name":"`+name+`","arguments":`+arguments+more), "META", canAll, 1)
	}
	const first = `{"a":1,"b":{"x":"é","y":[1.0,2]}}`
	state := sealed(t, server(keys...), args("args", first, ""))
	elsewhere := sealed(t, server(keys...), args("two", `{}`, ""))
	old := sealed(t, server(keys[1]), args("args", first, ""))
	foreign := sealed(t, server([]byte("another secret..")), args("args", first, ""))
	flipped := []byte(state)
	flipped[len(flipped)/2] ^= 1

	const again, done = `ASK,"inputRequests":{"1":{"method":"roots/list","params":{}}}`, `DONE,"content":[]`
	for _, c := range []struct {
		subject, call, state, want string // want: "": refused
	}{
		{"ada", args("args", first, ""), state, done},
		{"ada", args("args", ` { "b" : {"y":[1,2e0], "x":"\u00e9"}, "\u0061" : 1.0 }`, ""), state, done},
		{"ada", args("args", first, `,"_meta2":null`), state, ""},
		{"ada", args("args", first, ""), old, done},
		{"ada", args("args", first, ""), foreign, ""},
		{"eve", args("args", first, ""), state, ""},
		{"", args("args", first, ""), state, ""},
		{"ada", args("args", `{"a":1,"b":{"x":"é","y":[2,1.0]}}`, ""), state, ""},
		{"ada", args("args", `{"a":"1","b":{"x":"é","y":[1.0,2]}}`, ""), state, ""},
		{"ada", args("args", `{}`, ""), state, ""},
		{"ada", args("roots", `{}`, ""), state, ""},
		{"ada", args("args", first, ""), elsewhere, ""},
		{"ada", args("args", first, ""), state + "-TAMPERED", ""},
		{"ada", args("args", first, ""), state + "A", ""},
		{"ada", args("args", first, ""), state + "=", ""},
		{"ada", args("args", first, ""), state[:len(state)-1], ""},
		{"ada", args("args", first, ""), string(flipped), ""},
		{"ada", args("args", first, ""), "", ""},
		{"ada", args("args", first, ""), "AAAA", ""},
		{"ada", args("args", first, ""), strings.Repeat("A", maxState+4), ""},
		{"ada", args("args", first, ""), `\u0000`, ""},
	} {
		ran := false
		s := server(keys...)
		s.opts.Intercept = []Interceptor{func(ctx context.Context, _ *Request, next func(context.Context) (any, error)) (any, error) {
			ran = true
			return next(ctx)
		}}
		h := &HTTPHandler{Server: s, Authorize: func(*http.Request) (*Identity, error) { return &Identity{Subject: c.subject}, nil }}
		talkHTTP(t, h, nil, func(w *web) {
			retry := strings.TrimSuffix(c.call, "}}") + `,"inputResponses":{"1":{"roots":[]}},"requestState":"` + c.state + `"}}`
			if c.want == "" {
				w.alone(retry).sees(refusedFor("1", 200, -32602, "requestState is not one that this request was given, or has expired"))
				want(t, "ran", ran, false)
				return
			}
			w.alone(retry).sees("200 application/json\n" + modern(gives(c.want)[4:]))
			// Without answers it is asked again, with the same outcome each time.
			w.alone(strings.TrimSuffix(c.call, "}}") + `,"requestState":"` + c.state + `"}}`).sees("200 application/json\n" + modern(gives(again + `,"requestState":"#1"`)[4:]))
		})
	}
}

// A requestState is good for its call, as it is, however often it is sent, on a pipe as
// over HTTP.
//
// BUG-190 BASE-359 BASE-360 FEAT-355 FEAT-356
func TestStateEveryWay(t *testing.T) {
	call := func(name, more string) string {
		return strings.Replace(lone("tools/call", `"name":"`+name+`"`+more), "META", canAll, 1)
	}
	retry := func(name, state string) string {
		return call(name, `,"inputResponses":{"1":{"roots":[]}},"requestState":"`+state+`"`)
	}
	const asked = `ASK,"inputRequests":{"1":{"method":"roots/list","params":{}}},"requestState":"#1"`
	done := gives(`DONE,"content":[{"type":"text","text":"0"}]`)
	refused := fails(200, -32602, "requestState is not one that this request was given, or has expired")
	everyWay(t, func() *Server { return asking(t, nil) },
		call("roots", ""), gives(asked),
		retry("roots", "#1"), done,
		retry("roots", "#1"), done,
		retry("roots", "#1A"), refused,
		retry("swallow", "#1"), refused,
		strings.Replace(retry("roots", "#1"), `"name":"roots"`, `"name":"roots","arguments":{"a":1}`, 1), refused,
		strings.Replace(retry("two", "#1"), "tools/call", "prompts/get", 1), refused,
		retry("roots", "#1"), done,
	)
	h := &HTTPHandler{Server: asking(t, &ServerOptions{StateLife: time.Minute})}
	talkHTTP(t, h, nil, func(c *web) {
		sees := func(request, answer string) {
			c.alone(request).sees("200 application/json\n" + modern(answer[4:]))
		}
		sees(call("roots", ""), gives(asked))
		time.Sleep(59 * time.Second)
		sees(retry("roots", "#1"), done)
		time.Sleep(time.Second)
		sees(retry("roots", "#1"), refused)
	})
}

// What must happen once only is for the application to guard, which sees what comes.
//
// BASE-361
func TestStateOnce(t *testing.T) {
	var used sync.Map
	once := func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		var p struct {
			State string `json:"requestState"`
		}
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return nil, err
		}
		if _, again := used.LoadOrStore(p.State, true); again && p.State != "" {
			return nil, Errorf(CodeInvalidParams, "this was answered before")
		}
		return next(ctx)
	}
	call := strings.Replace(lone("tools/call", `"name":"roots"`), "META", canAll, 1)
	retry := strings.TrimSuffix(call, "}}") + `,"inputResponses":{"1":{"roots":[]}},"requestState":"#1"}}`
	everyWay(t, func() *Server { return asking(t, &ServerOptions{Intercept: []Interceptor{once}}) },
		call, gives(`ASK,"inputRequests":{"1":{"method":"roots/list","params":{}}},"requestState":"#1"`),
		retry, gives(`DONE,"content":[{"type":"text","text":"0"}]`),
		retry, fails(200, -32602, "this was answered before"),
	)
}

// What was given to one caller is good for nobody else who knows it: not for the same
// name at another issuer, nor for one that reads the same when both are joined.
//
// AUTH-291 AUTH-292 AUTH-293 AUTH-294 AUTH-295 AUTH-298 FEAT-304 HOSTILE-56
func TestHandlesOfOthers(t *testing.T) {
	s := asking(t, &ServerOptions{Tasks: TaskOptions{Store: numberedTasks()}})
	must(t, AddTool(s, &Tool{Name: "job", Execution: &ToolExecution{TaskSupport: "optional"}}, works))
	h := &HTTPHandler{Server: s, Authorize: func(r *http.Request) (*Identity, error) {
		return &Identity{Issuer: r.Header.Get("X-Issuer"), Subject: r.Header.Get("X-Subject")}, nil
	}}
	const can = `META<{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}>`
	request := func(method, members string) string {
		return strings.Replace(lone(method, members), "META", can, 1)
	}
	refusal := func(message string) string { return refusedFor("1", 200, -32602, message) }
	talkHTTP(t, h, nil, func(c *web) {
		as := func(issuer, subject, request, wanted string) {
			t.Helper()
			c.alone(request, "X-Issuer: "+issuer, "X-Subject: "+subject).sees(wanted)
		}
		reply := func(members string) string { return "200 application/json\n" + modern(gives(members)[4:]) }
		as("i", "ann", request("tools/call", `"name":"roots"`), reply(`ASK,"inputRequests":{"1":{"method":"roots/list","params":{}}},"requestState":"#1"`))
		as("i", "ann", request("tools/call", `"name":"job","arguments":{"ms":5000}`), reply(`"resultType":"task",INFO,`+atTasks(Revision20260728, `⟨t1 working 0 0⟩`)))
		retry := request("tools/call", `"name":"roots","inputResponses":{"1":{"roots":[]}},"requestState":"#1"`)
		get := request("tasks/get", `"taskId":"t1"`)
		for _, other := range [][2]string{{"j", "ann"}, {"i", "bob"}, {"", "ann"}, {"i", ""}, {"", ""}, {"ia", "nn"}, {"", "i ann"}, {"i ann", ""}} {
			as(other[0], other[1], retry, refusal("requestState is not one that this request was given, or has expired"))
			for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
				as(other[0], other[1], request(method, `"taskId":"t1","inputResponses":{}`), refusal("no such task, or not any more"))
			}
		}
		as("i", "ann", retry, reply(`DONE,"content":[{"type":"text","text":"0"}]`))
		as("i", "ann", get, reply(`DONE,`+atTasks(Revision20260728, `⟨t1 working 0 0⟩`)))
		time.Sleep(time.Hour)
		as("i", "ann", retry, refusal("requestState is not one that this request was given, or has expired"))
		as("i", "ann", get, refusal("no such task, or not any more"))
	})
	one, other := (&TaskOptions{}).newTask("", "", nil).ID, (&TaskOptions{}).newTask("", "", nil).ID
	if one == other || len(one) != 26 { // of 5 random bits each
		t.Errorf("tasks are called %s and %s", one, other)
	}
}

// Nothing is kept for who asks: each request has its own storage, and what is listed is
// the same, in the same order, on each connection and from each process.
//
// BASE-284 BASE-285 BASE-286
func TestStatelessKeepsNothing(t *testing.T) {
	server := func(names ...string) func() *Server {
		return func() *Server {
			s := newServer(t, nil)
			for _, name := range names {
				addTool(t, s, name, func(_ context.Context, r *Request) (string, error) {
					_, kept := r.Session.LoadOrStore("k", 1)
					return fmt.Sprint(kept), nil
				})
				must(t, s.AddPrompt(&Prompt{Name: name}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }),
					s.AddResource(&Resource{URI: "x:" + name, Name: name}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
			}
			return s
		}
	}
	const schema = `"inputSchema":{"type":"object","properties":{},"additionalProperties":false}`
	tools := gives(`DONE,` + noted + `,"tools":[{"name":"a",` + schema + `},{"name":"b",` + schema + `},{"name":"c",` + schema + `}]`)
	prompts := gives(`DONE,` + noted + `,"prompts":[{"name":"a"},{"name":"b"},{"name":"c"}]`)
	resources := gives(`DONE,` + noted + `,"resources":[{"uri":"x:a","name":"a"},{"uri":"x:b","name":"b"},{"uri":"x:c","name":"c"}]`)
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}} {
		var lines []string
		for range 3 {
			lines = append(lines, lone("tools/list", ""), tools, lone("prompts/list", ""), prompts, lone("resources/list", ""), resources,
				lone("tools/call", `"name":"b"`), gives(`DONE,"content":[{"type":"text","text":"false"}]`))
		}
		everyWay(t, server(order...), lines...)
	}
}

// The door is the same for requests that stand alone.
//
// BUG-058 BUG-059 BUG-061 BUG-074 BUG-076
func TestStatelessDoor(t *testing.T) {
	run := lone("tools/call", `"name":"run"`)
	talkHTTP(t, &HTTPHandler{Server: toolThatMustNotRun(t), AllowedHosts: []string{"mcp.example.com"}}, nil, func(c *web) {
		const origin = `origin "http://evil.example" is not allowed; add it to AllowedOrigins`
		c.alone(run, "Content-Type: text/plain", "Origin: http://evil.example").sees(refused(403, -32600, origin))
		c.alone(run, "Content-Type: text/plain").sees(refused(415, -32600, `Content-Type must be application/json, not "text/plain"`))
		c.alone(run, "Host: localhost", "Origin: http://evil.example").sees(refused(403, -32600, origin))
		c.alone(run, "Host: evil.example").sees(refused(403, -32600, `host "evil.example" is not allowed; add it to AllowedHosts`))
		c.alone(run, "Host: backend", "X-Forwarded-Host: mcp.example.com").sees(refused(403, -32600, `host "backend" is not allowed; add it to AllowedHosts`))
		c.alone(run + strings.Repeat(" ", 4<<20)).sees(refused(413, -32600, "body of more than 4194304 bytes; MaxBody allows more"))
	})
	h := &HTTPHandler{Server: testServer(t, nil), MaxBody: 16 << 20, AllowedHosts: []string{"mcp.example.com"}, TrustForwardedHost: true,
		AllowedOrigins: []string{"https://app.example.com"}}
	talkHTTP(t, h, nil, func(c *web) {
		echo, answer := lone("tools/call", echoHi), modern(gives(saysHi)[4:])
		for _, header := range []string{"X: none", "Origin: http://localhost:6274", "Origin: https://app.example.com", "Host: mcp.example.com",
			"X-Forwarded-Host: mcp.example.com", "Accept: application/json", "-Accept"} {
			c.alone(echo, header).sees("200 application/json\n" + answer)
		}
		c.alone(echo, "Accept: text/event-stream").sees("200 text/event-stream\n: ok\n\ndata: " + answer + "\n$")
		c.alone(echo + strings.Repeat(" ", 5<<20)).sees("200 application/json\n" + answer)
	})
}

// BUG-208: requests that stand alone are served at once, too.
func TestStatelessSlowTool(t *testing.T) {
	s := testServer(t, nil)
	addTool(t, s, "nap", func(context.Context, *Request) (string, error) { time.Sleep(5 * time.Second); return "slept", nil }) // virtual
	talk(t, serve(s), modern(`
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{META,"name":"nap"}}
		> {"jsonrpc":"2.0","id":7,"method":"resources/list","params":{META}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method \"resources/list\" is not offered by this server"}}
		> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{META,`+echoHi+`}}
		< {"jsonrpc":"2.0","id":8,"result":{`+saysHi+`}}
		. 5s
		< {"jsonrpc":"2.0","id":5,"result":{DONE,"content":[{"type":"text","text":"slept"}]}}
	`))
}

// What a handler says comes in its order, before the call returns: in either era, on a
// pipe and over HTTP.
//
// BUG-071 BUG-209
func TestOrderEveryWay(t *testing.T) {
	const count = 200
	var wanted []string
	for i := range count {
		wanted = append(wanted, fmt.Sprint(i), fmt.Sprint("progress ", i+1))
	}
	s := testServer(t, nil)
	addTool(t, s, "chatty", func(ctx context.Context, r *Request) (string, error) {
		for i := range count {
			if err := errors.Join(r.Log(ctx, LevelInfo, "", i), r.Progress(ctx, float64(i+1), 0, "")); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	for _, rev := range []string{Revision20251125, Revision20260728} {
		for _, overHTTP := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var logged, progressed []string
				opts := &ClientOptions{Revisions: []string{rev}, LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) {
					logged = append(logged, string(p.Data))
				}}
				h, ours, served := &HTTPHandler{Server: s}, Transport(nil), sync.WaitGroup{}
				if overHTTP {
					ln := listenMemory()
					serveMemory(t, ln, h)
					ours = &HTTPTransport{URL: "http://127.0.0.1/mcp", Client: ln.client()}
				} else {
					a, b := Pipe()
					served.Go(func() { _ = s.Run(t.Context(), b) })
					ours = &ConnTransport{Conn: a}
				}
				cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), ours)
				must(t, err, cs.SetLoggingLevel(t.Context(), LevelInfo))
				_, err = cs.With(CallOptions{Progress: func(p Progress) { progressed = append(progressed, fmt.Sprint("progress ", p.Value)) }}).CallTool(t.Context(), "chatty", nil)
				must(t, err)
				var got []string
				for i := range min(len(logged), len(progressed)) {
					got = append(got, logged[i], progressed[i])
				}
				want(t, fmt.Sprint(rev, " HTTP ", overHTTP), got, wanted)
				must(t, cs.Close(), h.Shutdown(t.Context()))
				served.Wait()
			})
		}
	}
}

// A requestState lives as long as it is set to, and a server that was started again
// with new keys takes none of before.
//
// AUTH-293 AUTH-294 BUG-190
func TestStateExpires(t *testing.T) {
	s := asking(t, &ServerOptions{StateLife: time.Minute})
	const (
		ask    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META<{"roots":{}}>,"name":"roots","inputResponses":{"1":{"roots":[]}},"requestState":"#1"}}`
		done   = `{"jsonrpc":"2.0","id":1,"result":{DONE,"content":[{"type":"text","text":"0"}]}}`
		stale  = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"requestState is not one that this request was given, or has expired"}}`
		begins = `
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META<{"roots":{}}>,"name":"roots"}}
			< {"jsonrpc":"2.0","id":1,"result":{ASK,"inputRequests":{"1":{"method":"roots/list","params":{}}},"requestState":"#1"}}`
	)
	talk(t, serve(s), modern(begins+`
		. 59s
		> `+ask+`
		< `+done+`
		. 1s
		> `+ask+`
		< `+stale))
	at := newServer(t, nil)
	binding := []byte("b")
	state, err := at.sealState(nil, binding)
	must(t, err)
	for _, c := range []struct {
		s       *Server
		binding string
		want    string
	}{
		{at, "b", ""},
		{at, "c", "changed, of another call or caller, or of other keys"},
		{newServer(t, nil), "b", "changed, of another call or caller, or of other keys"},
	} {
		_, err := c.s.openState(state, []byte(c.binding))
		want(t, "openState", errorText(err), c.want)
	}
	want(t, "options", errorText(newServer(t, &ServerOptions{StateKeys: [][]byte{[]byte("too short")}}).registered()), "mcp: ServerOptions: a key of StateKeys has at least 16 bytes, not 9")
}

// A client that answers without end whatever a handler asks is stopped.
func TestQuestionsAreBounded(t *testing.T) {
	s := testServer(t, nil)
	asked := 0
	addTool(t, s, "until", func(ctx context.Context, r *Request) (string, error) {
		for {
			if _, err := r.Elicit(ctx, Confirm("Sure?")); err != nil {
				return "", err
			}
			asked++
		}
	})
	answers := make([]string, 2*maxQuestions)
	for i := range answers {
		answers[i] = fmt.Sprintf(`"%d":{"action":"cancel"}`, i)
	}
	talk(t, serve(s), modern(`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META<{"elicitation":{}}>,"name":"until","inputResponses":{`+strings.Join(answers, ",")+`}}}
		< {"jsonrpc":"2.0","id":1,"result":{DONE,"content":[{"type":"text","text":"mcp: more than 1000 questions in one request"}],"isError":true}}`))
	want(t, "asked", asked, maxQuestions)
}

// Answers that make a requestState of more than 256 KiB end the request.
func TestStateIsBounded(t *testing.T) {
	s := asking(t, nil)
	answer := func(size int) string {
		return strings.Replace(lone("tools/call", `"name":"two","inputResponses":{"who":{"action":"accept","content":{"name":"`+strings.Repeat("x", size)+`"}}}`), "META", canAll, 1)
	}
	const most = 196_503 // in base64, with what is around it, the limit
	talk(t, serve(s), modern(`
		> `+answer(most)+`
		< `+gives(`ASK,"inputRequests":{` + askRest + `},"requestState":"#1"`)[4:]+`
		> `+answer(most+1)+`
		< `+fails(200, -32603, "internal error")[4:]))
	_, err := s.sealState(map[string]json.RawMessage{"a": json.RawMessage(quoted(strings.Repeat("x", maxState)))}, nil)
	want(t, "sealState", errorText(err), "the answers of the client make a requestState of 349612 bytes; the limit is 262144")
}

// FuzzState: a requestState that was not made here is refused, whatever it is.
func FuzzState(f *testing.F) {
	s := newServer(f, nil)
	good, err := s.sealState(map[string]json.RawMessage{"1": json.RawMessage(`{"roots":[]}`)}, []byte("b"))
	must(f, err)
	for _, state := range []string{"", "A", "AAAA", good, good + "A", good[1:], strings.Repeat("A", 400), "=", "\x00", "é"} {
		f.Add(state)
	}
	f.Fuzz(func(t *testing.T, state string) {
		if answers, err := s.openState(state, []byte("b")); (err == nil) != (state == good) || err != nil && answers != nil {
			t.Errorf("%q opens as %v, %v", state, answers, err)
		}
	})
}

// The error that asks for visits at 2025-11-25 is a question here. The handler decides
// whether what the person did there is done; who does not agree is not asked again.
//
// BASE-044 FEAT-338 FEAT-339 BASE-047 FEAT-116 FEAT-326
func TestStatelessVisits(t *testing.T) {
	server := func() *Server {
		s := testServer(t, &ServerOptions{HasResources: true, Intercept: []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
			if r.Method == methodTemplatesList {
				return nil, URLElicitationRequired("Pay first", Visit("Pay", "https://example.com/pay"))
			}
			return next(ctx)
		}}})
		addTool(t, s, "pay", func(ctx context.Context, r *Request) (string, error) {
			return "", fmt.Errorf("paying: %w", URLElicitationRequired("Pay first", Visit("Pay", "https://example.com/pay"), Visit("Sign", "https://example.com/sign")))
		})
		addTool(t, s, "broken", func(ctx context.Context, r *Request) (string, error) {
			return "", Errorf(CodeURLElicitationRequired, "none")
		})
		must(t, s.AddPrompt(&Prompt{Name: "pay"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
			return nil, URLElicitationRequired("Pay first", Visit("Pay", "https://example.com/pay"))
		}))
		return s
	}
	can := func(text string) string { return strings.Replace(text, "META", `META<{"elicitation":{"url":{}}}>`, 1) }
	const (
		pay    = `"visit-1":{"method":"elicitation/create","params":{"mode":"url","message":"Pay","url":"https://example.com/pay"}}`
		sign   = `"visit-2":{"method":"elicitation/create","params":{"mode":"url","message":"Sign","url":"https://example.com/sign"}}`
		agreed = `"visit-1":{"action":"accept"},"visit-2":{"action":"accept"}`
	)
	everyWay(t, server,
		can(lone("tools/call", `"name":"pay"`)), gives(`ASK,"inputRequests":{`+pay+`,`+sign+`},"requestState":"#1"`),
		can(lone("tools/call", `"name":"pay","inputResponses":{"visit-1":{"action":"accept"}},"requestState":"#1"`)), gives(`ASK,"inputRequests":{`+sign+`},"requestState":"#2"`),
		can(lone("tools/call", `"name":"pay","inputResponses":{`+agreed+`},"requestState":"#1"`)), gives(`ASK,"inputRequests":{`+pay+`,`+sign+`},"requestState":"#3"`),
		can(lone("tools/call", `"name":"pay","inputResponses":{"visit-2":{"action":"decline"},"visit-1":{"action":"accept"}},"requestState":"#3"`)),
		gives(`DONE,"content":[{"type":"text","text":"Pay first"}],"isError":true`),
		can(lone("prompts/get", `"name":"pay","inputResponses":{"visit-1":{"action":"cancel"}}`)), fails(200, -32603, "Pay first"),
		lone("tools/call", `"name":"pay"`), `400 {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"the client did not declare elicitation.url","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}}`,
		can(lone("tools/call", `"name":"broken"`)), fails(200, -32603, "internal error"),
		can(lone("resources/templates/list", "")), fails(200, -32603, "internal error"),
	)
}

// What handlers and interceptors make is a result of the era, with each member once.
//
// BASE-044 BASE-050 BASE-052 BASE-294 BASE-385 BASE-387 BASE-388 BASE-391 FEAT-204 FEAT-207 BASE-051 BASE-048 BASE-049 FEAT-116
// FEAT-202 FEAT-208 BASE-422 FEAT-540 E1.10 BASE-011 BASE-344
func TestStatelessResults(t *testing.T) {
	var result any
	var failed error
	server := func() *Server {
		return testServer(t, &ServerOptions{HasResources: true, PageSize: 1,
			Cache: map[string]CacheHint{methodToolsList: {TTL: time.Minute, Public: true}, methodResourcesRead: {TTL: 1500 * time.Microsecond}},
			Intercept: []Interceptor{func(context.Context, *Request, func(context.Context) (any, error)) (any, error) {
				return result, failed
			}}})
	}
	ttl := Milliseconds(7)
	own := Meta{metaServer: map[string]any{"name": "other", "version": "2"}, "com.example/k": 1}
	extra := Extra{"resultType": json.RawMessage(`"odd"`), "ttlMs": json.RawMessage(`5`), "cacheScope": json.RawMessage(`"public"`), "x": json.RawMessage(`[1, 2]`)}
	few := Extra{"resultType": extra["resultType"], "x": extra["x"]}
	const withKey = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"com.example/k":1}`
	for _, c := range []struct {
		result       any
		failed       error
		method, want string
	}{
		{nil, nil, "tools/call", fails(200, -32603, "internal error")},
		{(*CallToolResult)(nil), nil, "tools/call", fails(200, -32603, "internal error")},
		{(*ReadResourceResult)(nil), nil, "resources/read", fails(200, -32603, "internal error")},
		{[]int{1}, nil, "tools/call", fails(200, -32603, "internal error")},
		{json.RawMessage(`{"a":1,"a":2}`), nil, "tools/call", fails(200, -32603, "internal error")},
		{json.RawMessage(`{`), nil, "tools/call", fails(200, -32603, "internal error")},
		{&ReadResourceResult{Extra: extra}, nil, "resources/read", gives(`DONE,"ttlMs":1,"cacheScope":"private","contents":[],"x":[1, 2]`)},
		{&CallToolResult{Meta: own, Extra: few}, nil, "tools/call", gives(withKey + `,"content":[],"x":[1, 2]`)},
		{&CallToolResult{Meta: Meta{}, Content: says("<")}, nil, "tools/call", gives(`DONE,"content":[{"type":"text","text":"<"}]`)},
		{map[string]any{"content": []any{}, "_meta": own, "resultType": "input_required"}, nil, "tools/call", gives(withKey + `,"content":[]`)},
		{&ListToolsResult{Tools: []*Tool{}, CacheableResult: CacheableResult{TTL: &ttl, CacheScope: "private"}, Meta: own}, nil, "tools/list", gives(withKey + `,"ttlMs":60000,"cacheScope":"public","tools":[]`)},
		{&GetPromptResult{Extra: Extra{"resultType": json.RawMessage(`1`)}}, nil, "tools/call", gives(`DONE,"messages":[]`)},
		{&CompleteResult{Meta: own}, nil, "tools/call", gives(withKey + `,"completion":{"values":[]}`)},
		{&EmptyResult{}, nil, "tools/call", gives(`DONE`)},
		{&ReadResourceResult{}, nil, "resources/read", gives(`DONE,"ttlMs":1,"cacheScope":"private","contents":[]`)},
		{&ReadResourceResult{CacheableResult: CacheableResult{TTL: &ttl, CacheScope: "public"}}, nil, "resources/read", gives(`DONE,"ttlMs":7,"cacheScope":"public","contents":[]`)},
		{&ReadResourceResult{CacheableResult: CacheableResult{CacheScope: `"everyone`}}, nil, "resources/read", gives(`DONE,"ttlMs":1,"cacheScope":"private","contents":[]`)},
		{&ReadResourceResult{CacheableResult: CacheableResult{TTL: new(Milliseconds(-5))}}, nil, "resources/read", gives(`DONE,"ttlMs":0,"cacheScope":"private","contents":[]`)},
		{nil, Errorf(-32050, "x"), "tools/call", fails(200, -32603, "x")},
		{nil, Errorf(-32001, "x"), "tools/call", fails(200, -32603, "x")},
		{nil, Errorf(-32019, "x"), "tools/call", fails(200, -32603, "x")},
		{nil, Errorf(CodeHeaderMismatch, "x"), "tools/call", fails(200, -32603, "x")},
		{nil, Errorf(CodeMissingRequiredClientCapability, "x"), "tools/call", fails(200, -32603, "x")},
		{nil, Errorf(CodeUnsupportedProtocolVersion, "x"), "tools/call", fails(200, -32603, "x")},
		{nil, Errorf(CodeURLElicitationRequired, "x"), "tools/call", fails(200, -32603, "internal error")},
		{nil, Errorf(1001, "x"), "tools/call", fails(200, 1001, "x")},
		{nil, Errorf(-1, "x"), "tools/call", fails(200, -1, "x")},
		{nil, Errorf(CodeResourceNotFound, "x"), "tools/call", fails(200, -32602, "x")},
		{nil, errors.New("secret"), "tools/call", fails(200, -32603, "internal error")},
		{nil, Errorf(CodeMethodNotFound, "x"), "tools/call", fails(404, -32601, "x")},
		{nil, Errorf(CodeMethodNotFound, "x").WithHTTP(410, nil), "tools/call", fails(410, -32601, "x")},
	} {
		result, failed = c.result, c.failed
		lines := []string{lone(c.method, `"name":"t"`), c.want}
		if c.method == "resources/read" {
			lines[0] = lone(c.method, `"uri":"x:y"`)
		}
		everyAnswer(t, server, lines)
	}
	for method, hint := range map[string]CacheHint{methodToolsCall: {}, methodToolsList: {TTL: -1}} {
		if s := newServer(t, &ServerOptions{Cache: map[string]CacheHint{method: hint}}); s.registered() == nil {
			t.Errorf("a hint of %v for %s is taken", hint, method)
		}
	}
	hints := func() *Server {
		return testServer(t, &ServerOptions{PageSize: 2, Cache: map[string]CacheHint{methodToolsList: {TTL: time.Hour, Public: true}},
			Visible: func(_ *Request, _, name string) bool { return name != "slow" }})
	}
	const tool = `","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}`
	everyWay(t, hints,
		lone("tools/list", ""), gives(`DONE,"ttlMs":3600000,"cacheScope":"public","tools":[{"name":"ask`+tool+`,{"name":"boom`+tool+`],"nextCursor":"dG9vbDpib29t"`),
		lone("tools/list", `"cursor":"dG9vbDpib29t"`), gives(`DONE,"ttlMs":3600000,"cacheScope":"public","tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}}]`),
		lone("tools/call", `"name":"slow"`), fails(200, -32602, `unknown tool "slow"`),
	)
}

// everyAnswer is everyWay where the official schema has no say: what is said is none of
// its types.
func everyAnswer(t *testing.T, s func() *Server, lines []string) {
	t.Helper()
	h := &HTTPHandler{Server: s()}
	synctest.Test(t, func(t *testing.T) {
		c := newWeb(t, h)
		defer c.close(h)
		status, answer, _ := strings.Cut(modern(lines[1]), " ")
		c.alone(lines[0]).sees(status + " application/json\n" + answer)
	})
}

// hearing is how many are told of changes.
func (s *Server) hearing() int {
	synctest.Wait()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.hearers)
}

// A subscription is acknowledged first, hears only what it asked for and is granted,
// and names itself by its id, a number or a string.
//
// BASE-141 BASE-142 BASE-171 BASE-296 BASE-367 BASE-368 BASE-369 BASE-370 BASE-372 BASE-373 BASE-374 BASE-377 BASE-378 BASE-379
// BASE-382 FEAT-138 FEAT-139 FEAT-140 FEAT-141 FEAT-142 FEAT-143 FEAT-144 FEAT-145 FEAT-147 FEAT-148 FEAT-231 EDGE-218 EDGE-219
// EDGE-220 EDGE-221 E8.1 E8.2 E8.4 E8.5 E8.7 E11.5 C-02
func TestListen(t *testing.T) {
	var over journal
	s := testServer(t, &ServerOptions{
		Subscribe: func(_ context.Context, _ *Request, uri string) error {
			if uri == "x:refused" {
				return errors.New("not this one")
			}
			return nil
		},
		Unsubscribed: func(uri string) { over.add("%s", uri) },
	})
	read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
	must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{+path}", Name: "all"}, read))
	addTool(t, s, "talk", func(ctx context.Context, r *Request) (string, error) {
		return "", errors.Join(r.Progress(ctx, 1, 0, ""), r.Log(ctx, LevelError, "", "x"))
	})
	addTool(t, s, "update", func(ctx context.Context, r *Request) (string, error) {
		s.ResourceUpdated("x:dir/file")
		s.ResourceUpdated("x:other")
		s.ElicitationComplete("e")
		return "", nil
	})
	addTool(t, s, "change", func(ctx context.Context, r *Request) (string, error) {
		s.RemovePrompts("p")
		s.RemoveResourceTemplates("y:{+path}")
		return "", errors.Join(s.Log(LevelError, "", "nobody's"),
			s.AddResourceTemplate(&ResourceTemplate{URITemplate: "y:{+path}", Name: "all"}, read),
			s.AddPrompt(&Prompt{Name: "p"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }))
	})
	const (
		ack     = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(%s),"notifications":{%s}}}`
		updated = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{SUB(%s),"uri":"x:dir/file"}}`
		changed = `{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{SUB(%s)}}`
		ended   = `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/subscriptionId":%[1]s}}}`
		cancel  = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{SUB(%s),"requestId":%[1]s,"reason":"the server ends the subscription"}}`
		all     = `"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true`
	)
	listen := func(id, filter string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{META,"notifications":{` + filter + `}}}`
	}
	f := fmt.Sprintf
	talk(t, serve(s), modern(strings.Join([]string{
		"> " + listen(`1`, all+`,"resourceSubscriptions":["x:dir/","x:refused","none:z","x:dir/"]`),
		"< " + f(ack, `1`, `"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:dir/"]`),
		"> " + listen(`"1"`, `"promptsListChanged":true,"toolsListChanged":false,"resourceSubscriptions":[],"taskIds":[],"more":1`),
		"< " + f(ack, `"1"`, ``), // there are no prompts
		"> " + listen(`1720000000000`, `"resourceSubscriptions":["x:dir/file"]`),
		"< " + f(ack, `1720000000000`, `"resourceSubscriptions":["x:dir/file"]`),
		"> " + listen(`1`, ``),
		`< {"jsonrpc":"2.0","error":{"code":-32600,"message":"a request with this id is still running"}}`,
		`> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{META<|"progressToken":"p","io.modelcontextprotocol/logLevel":"debug">,"name":"talk"}}`,
		`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
		`< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`,
		`< {"jsonrpc":"2.0","id":2,"result":{DONE,"content":[{"type":"text","text":""}]}}`,
		`> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{META,"name":"update"}}`,
		`~ {"jsonrpc":"2.0","id":3,"result":{DONE,"content":[{"type":"text","text":""}]}}`,
		"~ " + f(updated, `1`), "~ " + f(updated, `1720000000000`),
		`> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{META,"name":"change"}}`,
		`< {"jsonrpc":"2.0","id":3,"result":{DONE,"content":[{"type":"text","text":""}]}}`,
		`. 10ms`,
		"< " + f(changed, "resources", `1`),
		`. 1s`,
		// The client ends one, and the others go on.
		`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{META,"name":"change"}}`,
		`< {"jsonrpc":"2.0","id":4,"result":{DONE,"content":[{"type":"text","text":""}]}}`,
		`. 1s`,
		`> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{META,"name":"update"}}`,
		`~ {"jsonrpc":"2.0","id":4,"result":{DONE,"content":[{"type":"text","text":""}]}}`,
		"~ " + f(updated, `1720000000000`),
		`. 1s`,
		`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1720000000000"}}`,
		`$`,
		"~ " + f(cancel, `"1"`), "~ " + f(ended, `"1"`), "~ " + f(cancel, `1720000000000`), "~ " + f(ended, `1720000000000`),
	}, "\n")))
	want(t, "unsubscribed", over.String(), "x:dir/; x:dir/file")
	want(t, "hearers", len(s.hearers), 0)
}

// Whoever ends a subscription, all of it is gone.
//
// BASE-137 BASE-141 BASE-202 BASE-376 BASE-377 BASE-378 EDGE-235 FEAT-148 BASE-114 E11.5
func TestListenEnds(t *testing.T) {
	const (
		listen = `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{META,"notifications":{"toolsListChanged":true}}}`
		ack    = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB("l"),"notifications":{"toolsListChanged":true}}}`
		cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{SUB("l"),"requestId":"l","reason":"the server ends the subscription"}}`
		ended  = `{"jsonrpc":"2.0","id":"l","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/subscriptionId":"l"}}}`
		change = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{SUB("l")}}`
	)
	// On a pipe: the end of input, and the end of the server.
	s := testServer(t, nil)
	talk(t, serve(s), modern("> "+listen+"\n< "+ack+"\n$\n< "+cancel+"\n< "+ended))
	talk(t, func(ctx context.Context, c Conn) {
		ctx, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		_ = s.Run(ctx, c)
	}, modern("> "+listen+"\n< "+ack+"\n. 1s\n< "+cancel+"\n< "+ended))
	want(t, "hearers", len(s.hearers), 0)

	// Over HTTP: Shutdown, the client's leaving, the end of its identity.
	expires := time.Time{}
	h := &HTTPHandler{Server: s, JSONOnly: true, Authorize: func(*http.Request) (*Identity, error) { return &Identity{Expires: expires}, nil }}
	talkHTTP(t, h, nil, func(c *web) {
		gone, stays := c.alone(listen), c.alone(listen)
		const begins = "200 text/event-stream\n: ok\n\ndata: " + ack
		gone.sees(modern(begins))
		stays.sees(modern(begins))
		time.Sleep(soon) // until a handler counts as one that takes its time
		gone.drop()
		want(t, "hearers", s.hearing(), 2) // one of them the handler's own session
		must(t, addNothing(s, "new"))
		time.Sleep(coalesce)
		stays.sees(modern("data: " + change))
		time.Sleep(15 * time.Second)
		stays.sees(": still here")
		expires = time.Now().Add(50 * time.Second)
		short := c.alone(listen)
		short.sees(modern(begins))
		time.Sleep(50 * time.Second)
		short.sees(modern(": still here\n\n: still here\n\n: still here\n\ndata: " + ended + "\n$"))
		stays.sees(": still here\n\n: still here\n\n: still here")
		expires = time.Time{}
		must(t, h.Shutdown(c.t.Context()))
		stays.sees(modern("data: " + ended + "\n$"))
		c.alone(listen).sees(refusedFor(`"l"`, 503, -32603, "the server is shutting down", "Retry-After: 10"))
	})
	want(t, "hearers", len(s.hearers), 0)
}

// BUG-218: closing while somebody listens returns at once, also from a handler.
func TestBUG218CloseWhileListening(t *testing.T) {
	s := testServer(t, nil)
	h := &HTTPHandler{Server: s}
	talkHTTP(t, h, nil, func(c *web) {
		x := c.alone(lone("subscriptions/listen", `"notifications":{}`))
		x.sees(modern("200 text/event-stream\n: ok\n\ndata: " + `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(1),"notifications":{}}}`))
		start := time.Now()
		must(t, h.Shutdown(c.t.Context()))
		want(t, "time", time.Since(start), time.Duration(0))
		x.sees(modern("data: " + `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/subscriptionId":1}}}` + "\n$"))
	})
	// On a pipe the handlers themselves end it all: of a call, and of a subscription that
	// is being set up.
	ends := func(id int) string {
		return fmt.Sprintf(`
				~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{SUB(%d),"requestId":%[1]d,"reason":"the server ends the subscription"}}
				~ {"jsonrpc":"2.0","id":%[1]d,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/subscriptionId":%[1]d}}}`, id)
	}
	for request, answer := range map[string]string{
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{META,"name":"stop"}}`:                                               `{"jsonrpc":"2.0","id":2,"result":{DONE,"content":[{"type":"text","text":"stopped"}]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{META,"notifications":{"resourceSubscriptions":["x:y"]}}}`: `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(2),"notifications":{"resourceSubscriptions":["x:y"]}}}` + ends(2),
	} {
		t.Run(request, func(t *testing.T) {
			talk(t, func(ctx context.Context, c Conn) {
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				s := testServer(t, &ServerOptions{Subscribe: func(context.Context, *Request, string) error { stop(); return nil }})
				addTool(t, s, "stop", func(context.Context, *Request) (string, error) { stop(); return "stopped", nil })
				must(t, s.AddResource(&Resource{URI: "x:y", Name: "n"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
				start := time.Now()
				_ = s.Run(ctx, c)
				want(t, "time", time.Since(start), time.Duration(0))
			}, modern(`
				> `+lone("subscriptions/listen", `"notifications":{}`)+`
				< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(1),"notifications":{}}}
				> `+request+`
				~ `+answer+ends(1)))
		})
	}
}

// What changes while a subscription is set up is told after its acknowledgement, and
// what the application refuses is not told.
//
// BASE-369 E8.3
func TestListenMissesNothing(t *testing.T) {
	var s *Server
	s = testServer(t, &ServerOptions{Subscribe: func(_ context.Context, _ *Request, uri string) error {
		s.ResourceUpdated(uri)
		if uri == "x:refused" {
			return errors.New("not this one")
		}
		return errors.Join(addNothing(s, "new"))
	}})
	must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{a}", Name: "all"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
	talk(t, serve(s), modern(`
		> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:refused","x:a"]}}}
		< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(1),"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a"]}}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{SUB(1)}}
		< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{SUB(1),"uri":"x:a"}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
	`))
}

// A client that does not read holds up nobody: what waits for it is bounded, its
// connection is cut in the end, and Shutdown does not wait for that.
//
// FEAT-151 EDGE-240
func TestListenSlowReader(t *testing.T) {
	for _, patient := range []bool{true, false} {
		var ends journal
		s := testServer(t, &ServerOptions{Subscribe: func(context.Context, *Request, string) error { return nil }, Unsubscribed: func(uri string) { ends.add("%s", uri) }})
		must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{+a}", Name: "all"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
		h := &HTTPHandler{Server: s, Comment: -1}
		talkHTTP(t, h, nil, func(c *web) {
			body := modern(lone("subscriptions/listen", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:dir/"]}`))
			c.mute(fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"+
				"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
			synctest.Wait()
			start := time.Now()
			for i := range 10_000 {
				s.ResourceUpdated(fmt.Sprintf("x:dir/%d", i))
				must(t, addNothing(s, "new"))
				s.RemoveTools("new")
			}
			c.alone(lone("tools/call", echoHi)).sees("200 application/json\n" + modern(gives(saysHi)[4:]))
			want(t, "time", time.Since(start), time.Duration(0))
			s.eachHearer(func(l hearer) {
				if sub, ok := l.(*subscription); ok {
					sub.mail.mu.Lock()
					defer sub.mail.mu.Unlock()
					want(t, "waiting", len(sub.mail.uris), maxMail+1) // the last one is the folder
				}
			})
			if patient {
				time.Sleep(writeTimeout + time.Second)
				synctest.Wait()
				want(t, "unsubscribed", ends.String(), "x:dir/")
				want(t, "hearers", s.hearing(), 1)
			}
			start = time.Now()
			must(t, h.Shutdown(c.t.Context()))
			if took := time.Since(start); took > partingTime {
				t.Errorf("Shutdown took %v", took)
			}
			want(t, "unsubscribed", ends.String(), "x:dir/")
		})
	}
}

// What a request says goes on its own reply, before its answer: log messages only if it
// names a level.
//
// BASE-018 BASE-171 BASE-198 BASE-200 BASE-201 BASE-290 FEAT-229 FEAT-230 FEAT-231 BASE-260 EDGE-190 EDGE-110
func TestStatelessStreams(t *testing.T) {
	server := func() *Server {
		s := testServer(t, nil)
		addTool(t, s, "log", func(ctx context.Context, r *Request) (string, error) {
			var errs []error
			for i, level := range []LoggingLevel{LevelInfo, LevelError} {
				errs = append(errs, r.Progress(ctx, float64(i+1), 2, ""), r.Log(ctx, level, "l", i))
			}
			return "done", errors.Join(errs...)
		})
		addTool(t, s, "late", func(ctx context.Context, r *Request) (string, error) {
			if err := r.Progress(ctx, 1, 2, ""); err != nil {
				return "", err
			}
			return asksRoots(ctx, r)
		})
		return s
	}
	const (
		done     = `{"jsonrpc":"2.0","id":1,"result":{DONE,"content":[{"type":"text","text":"done"}]}}`
		progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":2}}`
		logged   = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"l","data":1}}`
	)
	plain := lone("tools/call", `"name":"log"`)
	level := strings.Replace(plain, "META", `META<|"io.modelcontextprotocol/logLevel":"warning">`, 1)
	both := strings.Replace(plain, "META", `META<|"progressToken":"p","io.modelcontextprotocol/logLevel":"warning">`, 1)
	first, second := fmt.Sprintf(progress, `"p"`, 1), fmt.Sprintf(progress, `"p"`, 2)
	talk(t, serve(server()), modern(strings.Join([]string{
		"> " + plain, "< " + done, "> " + level, "< " + logged, "< " + done,
		"> " + both, "< " + first, "< " + second, "< " + logged, "< " + done,
	}, "\n")))
	talkHTTP(t, &HTTPHandler{Server: server()}, nil, func(c *web) {
		event := func(messages ...string) string {
			return modern("200 text/event-stream\n: ok\n\ndata: " + strings.Join(messages, "\n\ndata: ") + "\n$")
		}
		c.alone(plain).sees(modern("200 application/json\n" + done))
		c.alone(level).sees(event(logged, done))
		c.alone(both).sees(event(first, second, logged, done))
		c.alone(both, "Accept: application/json").sees(modern("200 application/json\n" + done))
		c.alone(plain, "Accept: text/event-stream").sees(event(done))
		// What is missing after the stream has begun is told there.
		c.alone(strings.ReplaceAll(both, `"log"`, `"late"`)).sees(event(first,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"the client did not declare roots","data":{"requiredCapabilities":{"roots":{}}}}}`))
		slow := c.alone(lone("tools/call", `"name":"slow"`))
		slow.sees("")
		time.Sleep(500 * time.Millisecond)
		slow.sees("200 text/event-stream\n: ok")
		time.Sleep(15 * time.Second)
		slow.sees(": still here")
		slow.drop()
	})
	talkHTTP(t, &HTTPHandler{Server: server(), JSONOnly: true}, nil, func(c *web) {
		c.alone(both).sees(modern("200 application/json\n" + done))
	})
}

// What a call reports goes on its own stream, not to who listens; who listens hears of
// the lists that were asked for, and no others.
//
// BASE-154 FEAT-029
func TestStatelessListenersHearNoReports(t *testing.T) {
	s := testServer(t, nil)
	addTool(t, s, "change", func(ctx context.Context, r *Request) (string, error) {
		return "", errors.Join(r.Progress(ctx, 1, 0, ""), addNothing(s, "new"))
	})
	talkHTTP(t, &HTTPHandler{Server: s}, nil, func(c *web) {
		listen := func(id, filter string) *exchange {
			x := c.alone(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{META,"notifications":{` + filter + `}}}`)
			if strings.Contains(filter, "prompts") {
				filter = "" // there are none
			}
			x.sees(modern("200 text/event-stream\n: ok\n\ndata: " + `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(` + id + `),"notifications":{` + filter + `}}}`))
			return x
		}
		tools, others := listen("1", `"toolsListChanged":true`), listen("2", `"promptsListChanged":true,"resourcesListChanged":true`)
		none := listen("3", ``)
		c.alone(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{META<|"progressToken":"p">,"name":"change"}}`).sees(modern("200 text/event-stream\n: ok\n\ndata: " +
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}` + "\n\ndata: " +
			`{"jsonrpc":"2.0","id":4,"result":{DONE,"content":[{"type":"text","text":""}]}}` + "\n$"))
		time.Sleep(coalesce)
		tools.sees(modern(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{SUB(1)}}`))
		others.sees("")
		none.sees("")
	})
}

// The client's leaving is the cancellation, and nothing is said after it.
//
// BASE-128 BASE-129 BASE-137 EDGE-240 BASE-191 FEAT-068 EDGE-010 EDGE-108 C-15
func TestStatelessCancel(t *testing.T) {
	var ends journal
	s := testServer(t, nil)
	addTool(t, s, "stay", func(ctx context.Context, r *Request) (string, error) {
		<-ctx.Done()
		ends.add("%v, %v, %v", context.Cause(ctx), r.Progress(context.Background(), 1, 0, ""), r.Log(context.Background(), LevelError, "", 1))
		return "cut", nil
	})
	stay := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{META<|"progressToken":1,"io.modelcontextprotocol/logLevel":"debug">,"name":"stay"}}`, id)
	}
	talk(t, serve(s), modern(`
		> `+stay(1)+`
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		. 1s
		> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META,"cursor":"x"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"cursor \"x\" is not one of this list"}}
	`))
	const enough = "mcp: cancelled by the peer: enough"
	want(t, "ends", ends.String(), enough+", "+enough+", "+enough)
	ends = journal{}
	h := &HTTPHandler{Server: s}
	talkHTTP(t, h, nil, func(c *web) {
		// The same id, from clients that do not know each other.
		one, other := c.alone(stay(1)), c.alone(stay(1))
		time.Sleep(time.Second)
		one.drop()
		want(t, "ends", ends.String(), "mcp: the client closed the connection, <nil>, <nil>")
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "MCP-Protocol-Version: 2026-07-28").sees("202")
		other.sees("200 text/event-stream\n: ok")
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
		defer cancel()
		want(t, "Shutdown", h.Shutdown(ctx), context.DeadlineExceeded)
		other.sees(modern(`
			data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}

			data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}

			data: {"jsonrpc":"2.0","id":1,"result":{DONE,"content":[{"type":"text","text":"cut"}]}}
			$`))
	})
}

// BUG-079: the handler of a client that is gone learns of it at once, and why.
//
// C-01
func TestBUG079AbortCancelsStateless(t *testing.T) {
	var ends journal
	s := testServer(t, nil)
	addTool(t, s, "stay", func(ctx context.Context, r *Request) (string, error) {
		start := time.Now()
		<-ctx.Done()
		ends.add("after %v: %v", time.Since(start), context.Cause(ctx))
		return "", nil
	})
	talkHTTP(t, &HTTPHandler{Server: s}, nil, func(c *web) {
		x := c.alone(lone("tools/call", `"name":"stay"`))
		time.Sleep(time.Second)
		x.drop()
		want(t, "ends", ends.String(), "after 1s: mcp: the client closed the connection")
	})
}

// Requests that stand alone have a bound of their own, and a request that fails in any
// way frees its place.
//
// EDGE-109
func TestStatelessBounds(t *testing.T) {
	s := testServer(t, &ServerOptions{Visible: func(_ *Request, kind, name string) bool {
		if name == "unseen" {
			panic("visible")
		}
		return true
	}})
	addTool(t, s, "unseen", func(context.Context, *Request) (string, error) { return "", nil })
	h := &HTTPHandler{Server: s, MaxSessions: 2, DecideAfter: time.Hour}
	talkHTTP(t, h, nil, func(c *web) {
		for range 3 {
			c.alone(lone("tools/call", `"name":"boom"`)).sees(refusedFor("1", 200, -32603, "internal error"))
			c.alone(lone("tools/call", `"name":"unseen"`)).sees(refusedFor("1", 200, -32603, "internal error"))
			c.alone(lone("ping", "")).sees(refusedFor("1", 404, -32601, `method "ping" not found`))
		}
		a, b := c.alone(lone("tools/call", `"name":"slow"`)), c.alone(lone("subscriptions/listen", `"notifications":{}`))
		b.sees(modern("200 text/event-stream\n: ok\n\ndata: " + `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(1),"notifications":{}}}`))
		full := refusedFor("1", 503, -32603, "too many requests at once: the limit is 2", "Retry-After: 1")
		c.alone(lone("tools/call", echoHi)).sees(full)
		c.alone(lone("server/discover", "")).sees(full)
		time.Sleep(soon) // until a handler counts as one that takes its time
		b.drop()
		c.alone(lone("tools/call", echoHi)).sees(modern("200 application/json\n" + gives(saysHi)[4:]))
		a.drop()
		want(t, "running", len(h.loneSession.p.running), 0)
	})
}

// What a hostile client sends costs it an answer, and nobody else anything.
func TestStatelessAttacks(t *testing.T) {
	nested := func(levels int) string { return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) }
	big := strings.Repeat("x", 900<<10)
	meta := func(members string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + members + `}}}`
	}
	const rev, caps = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`
	h := &HTTPHandler{Server: newServer(t, &ServerOptions{HasTools: true})}
	talkHTTP(t, h, nil, func(c *web) {
		for _, tt := range []struct{ body, header, want string }{
			{meta(rev + `,"x":` + nested(maxDepth)), "X: y", refused(400, -32700, "parse error: nested too deeply at byte 5109")},
			{meta(rev + `,` + caps + `,"x":` + nested(maxDepth-4)), "X: y", "200 application/json\n" + modern(gives(`DONE,` + noted + `,"tools":[]`)[4:])},
			{meta(rev + `,` + rev), "X: y", refused(400, -32600, `invalid message: name "io.modelcontextprotocol/protocolVersion" is repeated at byte 120`)},
			{meta(`"io.modelcontextprotocol/protocolVersio\u006e":"2026-07-28",` + rev), "X: y", refused(400, -32600, `invalid message: name "io.modelcontextprotocol/protocolVersion" is repeated at byte 125`)},
			{meta(rev + `,"io.modelcontextprotocol/clientCapabilities":{"experimental":5}`), "X: y", refusedFor("1", 400, -32602, "_meta: io.modelcontextprotocol/clientCapabilities: experimental: want an object, got a number")},
			{meta(rev + `,"io.modelcontextprotocol/clientCapabilities":{"extensions":[]}`), "X: y", refusedFor("1", 400, -32602, "_meta: io.modelcontextprotocol/clientCapabilities: extensions: want an object, got an array")},
			{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":[]}}`, "X: y", refusedFor("1", 400, -32602, "_meta: io.modelcontextprotocol/protocolVersion must name the revision; this server speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05")},
			{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "X: y", refusedFor("1", 400, -32602, "_meta: io.modelcontextprotocol/protocolVersion must name the revision; this server speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05")},
			{lone("tools/call", echoHi), "Mcp-Name: " + big, refusedFor("1", 400, -32020, `Mcp-Name is "`+big[:100]+`", but name is "echo"`)},
			{lone("tools/call", echoHi), "Mcp-Method: " + big, refusedFor("1", 400, -32020, `Mcp-Method is "`+big[:100]+`", but the method is "tools/call"`)},
			{lone("tools/call", echoHi), "MCP-Protocol-Version: " + big, refusedFor("1", 400, -32020, `MCP-Protocol-Version is "`+big[:100]+`", but _meta says "2026-07-28"`)},
			{lone(big, ""), "Mcp-Method: x", refusedFor("1", 400, -32020, `Mcp-Method is "x", but the method is "`+big[:100]+`"`)},
			{strings.Replace(modern(lone("tools/list", "")), "2026-07-28", big, 1), "MCP-Protocol-Version: 2026-07-28", refusedFor("1", 400, -32020, `MCP-Protocol-Version is "2026-07-28", but _meta says "`+big[:100]+`"`)},
		} {
			c.alone(tt.body, tt.header).sees(tt.want)
		}
	})
	var many strings.Builder
	for i := range maxSubscriptions + 1 {
		fmt.Fprintf(&many, `,"x:%d"`, i)
	}
	everyWay(t, func() *Server { return testServer(t, nil) },
		lone("tools/call", `"name":"echo","arguments":{"text":"hi"},"inputResponses":{"a":`+nested(maxDepth-4)+`}`), gives(saysHi),
		lone("tools/call", echoHi+`,"requestState":"`+big+`"`), fails(200, -32602, "requestState is not one that this request was given, or has expired"),
	)
	talk(t, serve(testServer(t, nil)), modern(`
		> `+lone("subscriptions/listen", `"notifications":{"resourceSubscriptions":[`+many.String()[1:]+`]}`)+`
		< `+fails(200, -32602, "10001 resourceSubscriptions and taskIds: the limit is 10000")[4:]))
}

// Changes, answers, cancellations and leavings cross, and nothing is left.
func TestStatelessRaces(t *testing.T) {
	s := testServer(t, &ServerOptions{Subscribe: func(context.Context, *Request, string) error { return nil }})
	must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{+a}", Name: "all"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
	h := &HTTPHandler{Server: s}
	message := func(id int, method, members string) string {
		return modern(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{META,%s}}`, id, method, members))
	}
	const filter = `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a"]}`
	ours, theirs := Pipe()
	var served, said sync.WaitGroup
	served.Go(func() { _ = s.Run(t.Context(), theirs) })
	served.Go(func() {
		for {
			if _, err := ours.Read(); err != nil {
				return
			}
		}
	})
	said.Go(func() {
		for i := range 500 {
			_ = addNothing(s, "new")
			s.ResourceUpdated("x:a")
			s.RemoveTools("new")
			s.ResourceUpdated(fmt.Sprint("x:a/", i))
		}
	})
	said.Go(func() {
		for i := range 500 {
			must(t, ours.Write([]byte(message(i, methodListen, filter)), []byte(message(-i-1, methodToolsCall, echoHi)),
				fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)))
		}
	})
	for range 4 {
		said.Go(func() {
			for i := range 100 {
				ctx, leave := context.WithCancel(t.Context())
				r := httptest.NewRequestWithContext(ctx, "POST", "http://localhost/", strings.NewReader(message(i, methodListen, filter)))
				for name, value := range map[string]string{"Content-Type": typeJSON, "MCP-Protocol-Version": Revision20260728, "Mcp-Method": methodListen} {
					r.Header.Set(name, value)
				}
				go leave()
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	said.Wait()
	must(t, ours.Close(), h.Shutdown(t.Context()))
	served.Wait()
	want(t, "hearers", len(s.hearers), 0)
}

// The server of all features speaks to a client that stands alone, too.
//
// FEAT-543 FEAT-550 BASE-019 BASE-383 FEAT-052 FEAT-064 FEAT-191 FEAT-054
func TestStatelessMatrix(t *testing.T) {
	offers := `{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`
	script := `
		> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
		< {"jsonrpc":"2.0","id":1,"result":{DONE,HINT,"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":` + offers + `,"instructions":"Use it well."}}
		> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
		< {"jsonrpc":"2.0","id":1,"result":{DONE,HINT,"tools":[{"name":"all","title":"All","description":"Does all","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"number"}}},"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}` + matrixIcons + matrixMeta + `},{"name":"list","title":"List","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"annotations":{"title":"Own"}}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{META<|"progressToken":"t">,"name":"all"}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"total":2,"message":"half"}}
		< {"jsonrpc":"2.0","id":2,"result":{DONEKEY,"content":[` + matrixText + `,` + matrixImage + `,` + matrixAudio + `,` + matrixLink + `,` + matrixResource + `],"structuredContent":{"n":1.0}}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{META,"name":"list"}}
		< {"jsonrpc":"2.0","id":3,"result":{DONE,"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]}}
		> {"jsonrpc":"2.0","id":4,"method":"resources/list","params":{META}}
		< {"jsonrpc":"2.0","id":4,"result":{DONE,HINT,"resources":[{"uri":"x:y","name":"n","title":"N","description":"An n","mimeType":"text/plain","size":3,` + matrixNotes + matrixIcons + matrixMeta + `}]}}
		> {"jsonrpc":"2.0","id":5,"method":"resources/templates/list","params":{META}}
		< {"jsonrpc":"2.0","id":5,"result":{DONE,HINT,"resourceTemplates":[{"uriTemplate":"t:{v}","name":"n","title":"N","description":"An n","mimeType":"text/plain",` + matrixNotes + matrixIcons + matrixMeta + `}]}}
		> {"jsonrpc":"2.0","id":6,"method":"resources/read","params":{META,"uri":"x:y"}}
		< {"jsonrpc":"2.0","id":6,"result":{DONEKEY,HINT,"contents":[{"uri":"x:y","mimeType":"text/plain","text":"whole"` + matrixMeta + `}]}}
		> {"jsonrpc":"2.0","id":7,"method":"prompts/list","params":{META}}
		< {"jsonrpc":"2.0","id":7,"result":{DONE,HINT,"prompts":[{"name":"p","title":"P","description":"A p","arguments":[{"name":"a","title":"A","description":"An a","required":true}]` + matrixIcons + matrixMeta + `}]}}
		> {"jsonrpc":"2.0","id":8,"method":"prompts/get","params":{META,"name":"p","arguments":{"a":""}}}
		< {"jsonrpc":"2.0","id":8,"result":{DONEKEY,"description":"A p","messages":[{"role":"user","content":` + matrixText + `},{"role":"user","content":` + matrixImage + `},{"role":"user","content":` + matrixAudio + `},{"role":"user","content":` + matrixLink + `},{"role":"user","content":` + matrixResource + `}]}}
		> {"jsonrpc":"2.0","id":9,"method":"completion/complete","params":{META,"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}
		< {"jsonrpc":"2.0","id":9,"result":{DONE,"completion":{"values":["false"]}}}
	`
	info := `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"full","title":"Full","version":"1","description":"All"` + matrixIcons + `,"websiteUrl":"https://example.com"}`
	script = strings.NewReplacer("HINT", noted, "DONEKEY", `"resultType":"complete",`+info+`,"com.example/k":"v"}`, "DONE", `"resultType":"complete",`+info+`}`).Replace(script)
	talk(t, serve(fullServer(t)), at(Revision20260728, modern(script)))
}

// A panic ends the process where that is wanted, although net/http would save it.
func TestCrashOnPanic(t *testing.T) {
	if os.Getenv("CRASH") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrashOnPanic$")
		cmd.Env = append(os.Environ(), "CRASH=1")
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "panic: boom") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	h := &HTTPHandler{Server: testServer(t, &ServerOptions{CrashOnPanic: true})}
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(modern(lone("tools/call", `"name":"boom"`))))
	for name, value := range map[string]string{"Content-Type": typeJSON, "MCP-Protocol-Version": Revision20260728, "Mcp-Method": methodToolsCall, "Mcp-Name": "boom"} {
		r.Header.Set(name, value)
	}
	defer func() { os.Exit(0) }() // where the panic can be caught
	h.ServeHTTP(httptest.NewRecorder(), r)
}

// What a client says of itself is read once, and told of no other: not by one that says
// nearly the same, nor when more say something than are remembered, nor if it is long.
func TestStatelessIntroductions(t *testing.T) {
	s := newServer(t, nil)
	addTool(t, s, "who", func(_ context.Context, r *Request) (string, error) {
		return fmt.Sprintf("%.20s %s %t %d", r.Client.Name, r.Client.Version, r.Capabilities.Roots != nil, len(r.Client.Name)), nil
	})
	type said struct{ caps, info, seen string }
	all := []said{
		{`{"roots":{}}`, `{"name":"a","version":"1"}`, "a 1 true 1"},
		{`{}`, `{"name":"a","version":"1"}`, "a 1 false 1"},
		{`{}`, `{"version":"1","name":"a"}`, "a 1 false 1"},
		{`{}`, `{"name":"\u0061","version":"2"}`, "a 2 false 1"},
		{`{"roots":{}}`, `{"name":"` + strings.Repeat("n", maxIntroduction) + `","version":"1"}`, "nnnnnnnnnnnnnnnnnnnn 1 true 2048"},
		{`{}`, `null`, "  false 0"},
	}
	for i := range 2 * len(s.introduced.slots) { // of which many share a slot
		all = append(all, said{fmt.Sprintf(`{"experimental":{"c%d":{}}%s}`, i, []string{"", `,"roots":{}`}[i%2]), `{"name":"a","version":"1"}`, fmt.Sprintf("a 1 %t 1", i%2 == 1)})
		all = append(all, said{`{"roots":{}}`, fmt.Sprintf(`{"name":"c%d","version":"%[1]d"}`, i), fmt.Sprintf("c%d %[1]d true %d", i, len(fmt.Sprint("c", i)))})
	}
	var lines []string
	for range 3 {
		for i, c := range all {
			lines = append(lines, fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":%s,"io.modelcontextprotocol/clientInfo":%s},"name":"who"}}`, i, c.caps, c.info),
				fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":{DONE,"content":[{"type":"text","text":%q}]}}`, i, c.seen))
		}
	}
	talk(t, serve(s), modern(strings.Join(lines, "\n")))
	kept := 0
	for i := range s.introduced.slots {
		if c := s.introduced.slots[i].Load(); c != nil {
			kept++
			if len(c.capsText)+len(c.infoText) > maxIntroduction {
				t.Errorf("kept: %.60s", c.infoText)
			}
		}
	}
	if kept == 0 {
		t.Error("nothing is kept")
	}
}
