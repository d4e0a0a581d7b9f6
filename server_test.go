package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// meet opens a session with a server named "test" that offers these capabilities.
func meet(rev, offers string) string {
	return `> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + rev + `","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"` + rev + `","capabilities":` + offers + `,"serverInfo":{"name":"test","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
`
}

// everyRevision runs a conversation at each revision of the session era. Parts of the
// script and of offers are for some revisions only: ⟦2025-06-18:text⟧ is there from that
// revision on, ⟦..2025-03-26:text⟧ up to it.
func everyRevision(t *testing.T, s func(t *testing.T) *Server, offers, script string) {
	t.Helper()
	for _, rev := range sessionRevisions() {
		t.Run(rev, func(t *testing.T) {
			talk(t, serve(s(t)), at(rev, meet(rev, offers)+script))
		})
	}
}

var revisionParts = regexp.MustCompile(`⟦(\.\.)?([0-9-]{10}):([^⟦⟧]*)⟧`)

// at resolves the parts of a text that are for some revisions only.
func at(rev, text string) string {
	for revisionParts.MatchString(text) {
		text = revisionParts.ReplaceAllStringFunc(text, func(part string) string {
			m := revisionParts.FindStringSubmatch(part)
			if until := m[1] != ""; until && rev <= m[2] || !until && rev >= m[2] {
				return m[3]
			}
			return ""
		})
	}
	return text
}

func newServer(t testing.TB, opts *ServerOptions) *Server {
	t.Helper()
	return NewServer(&Implementation{Name: "test", Version: "1"}, opts)
}

// must fails the test if a registration failed.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

type addInput struct {
	A float64 `json:"a"`
	B float64 `json:"b,omitempty"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

// toolServer has tools of many kinds.
func toolServer(t *testing.T) *Server {
	s := newServer(t, nil)
	must(t,
		AddTool(s, &Tool{Name: "add"}, func(_ context.Context, _ *Request, in addInput) (sum, error) {
			return sum{in.A + in.B}, nil
		}),
		AddTool(s, &Tool{Name: "Add"}, func(_ context.Context, _ *Request, in struct{}) (string, error) { return "another tool", nil }),
		s.AddTool(&Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, _ *Request, p *CallToolParams) (*CallToolResult, error) {
				return &CallToolResult{Content: []Content{&TextContent{Text: string(p.Arguments)}}}, nil
			}),
		s.AddTool(&Tool{Name: "nothing"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }),
		AddTool(s, &Tool{Name: "fails"}, func(context.Context, *Request, struct{}) (string, error) { return "", errors.New("no such city") }),
		AddTool(s, &Tool{Name: "refuses"}, func(context.Context, *Request, struct{}) (string, error) {
			return "", fmt.Errorf("wrapped: %w", &Error{Code: 4711, Message: "go away", Data: json.RawMessage(`{"why":1}`)})
		}),
		AddTool(s, &Tool{Name: "both"}, func(context.Context, *Request, struct{}) (*CallToolResult, error) {
			return &CallToolResult{Content: []Content{&TextContent{Text: "half done"}}}, errors.New("not used")
		}),
		AddTool(s, &Tool{Name: "wrong", OutputSchema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
			func(_ context.Context, _ *Request, in struct {
				How string `json:"how"`
			}) (*CallToolResult, error) {
				switch in.How {
				case "shape":
					return &CallToolResult{StructuredContent: json.RawMessage(`{"n":"x"}`)}, nil
				case "none":
					return &CallToolResult{Content: []Content{&TextContent{Text: "n is 1"}}}, nil
				case "error":
					return &CallToolResult{Content: []Content{&TextContent{Text: "broken"}}, StructuredContent: json.RawMessage(`{"code":7}`), IsError: true}, nil
				}
				return &CallToolResult{StructuredContent: json.RawMessage(`{"n":9007199254740993}`)}, nil
			}),
		AddTool(s, &Tool{Name: "numbers"}, func(context.Context, *Request, struct{}) ([]int, error) { return []int{1, 2}, nil }),
	)
	return s
}

const toolOffers = `{"logging":{},"tools":{"listChanged":true}}`

// FEAT-034 FEAT-035 FEAT-036 FEAT-037 FEAT-038 FEAT-039 FEAT-060 FEAT-519 E1.4 E2.1 E2.2 E2.3 E2.4 E11.2
func TestBUG157ToolArguments(t *testing.T) {
	everyRevision(t, toolServer, toolOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"raw","arguments":null}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":""}]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"raw","arguments":{"n":9007199254740993,"x":0.10,"e":1e400}}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"n\":9007199254740993,\"x\":0.10,\"e\":1e400}"}]}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"raw","arguments":[1,2]}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"tools/call: arguments must be an object, not [1,2]"}}
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"raw","arguments":"x"}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"tools/call: arguments must be an object, not \"x\""}}
		> {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"raw","arguments":7}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"tools/call: arguments must be an object, not 7"}}
		> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{}}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"tools/call: invalid parameters: name: missing"}}
		> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":1}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"tools/call: invalid parameters: name: want a string, got a number"}}
		> {"jsonrpc":"2.0","id":9,"method":"tools/call"}
		< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"tools/call: invalid parameters: name: missing"}}
		> {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"nope"}}
		< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"unknown tool \"nope\""}}
		> {"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"add","arguments":{"a":"x"}}}
		< {"jsonrpc":"2.0","id":11,"result":{"content":[{"type":"text","text":"invalid arguments for tool \"add\": /a: want number, got string"}],"isError":true}}
		> {"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"add"}}
		< {"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"invalid arguments for tool \"add\": the value: \"a\" is missing"}],"isError":true}}
		> {"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"A":2}}}
		< {"jsonrpc":"2.0","id":13,"result":{"content":[{"type":"text","text":"invalid arguments for tool \"add\": /A: not allowed"}],"isError":true}}
	`)
}

// FEAT-009 FEAT-041 FEAT-042 FEAT-044 FEAT-049 FEAT-051 FEAT-053 FEAT-056 FEAT-057 FEAT-058 E1.1
func TestBUG158ToolResults(t *testing.T) {
	everyRevision(t, toolServer, toolOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":0.5}}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"sum\":1.5}"}]⟦2025-06-18:,"structuredContent":{"sum":1.5}⟧}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Add"}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"another tool"}]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nothing"}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[]}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"fails"}}
		< {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"no such city"}],"isError":true}}
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"refuses"}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":4711,"message":"go away","data":{"why":1}}}
		> {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"both"}}
		< {"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"half done"}],"isError":true}}
		> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wrong","arguments":{"how":"right"}}}
		< {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"n\":9007199254740993}"}]⟦2025-06-18:,"structuredContent":{"n":9007199254740993}⟧}}
		> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"wrong","arguments":{"how":"shape"}}}
		< {"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"tool \"wrong\" returned a result that does not fit its output schema: /n: want integer, got string"}],"isError":true}}
		> {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"wrong","arguments":{"how":"none"}}}
		< {"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"tool \"wrong\" returned a result that does not fit its output schema: there is no structured content"}],"isError":true}}
		> {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"wrong","arguments":{"how":"error"}}}
		< {"jsonrpc":"2.0","id":10,"result":{"content":[{"type":"text","text":"broken"}]⟦2025-06-18:,"structuredContent":{"code":7}⟧,"isError":true}}
		> {"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"numbers"}}
		< {"jsonrpc":"2.0","id":11,"result":{"content":[{"type":"text","text":"[1,2]"}]}}
	`)
}

// What a handler must not return is an internal error, not a broken message.
// FEAT-129 FEAT-522 FEAT-534 FEAT-541
func TestBadResults(t *testing.T) {
	half := 0.5
	two := 2.0
	for _, tt := range []struct {
		name    string
		content Content
		log     string
	}{
		{"nil", nil, "content block 0: nil"},
		{"typed nil", (*TextContent)(nil), "content block 0: nil"},
		{"image without type", &ImageContent{Data: EncodeBase64([]byte{1})}, "content block 0: no MIMEType"},
		{"audio without type", &AudioContent{Data: EncodeBase64([]byte{1})}, "content block 0: no MIMEType"},
		{"link without name", &ResourceLink{URI: "a:b"}, "content block 0: a ResourceLink needs a URI and a Name"},
		{"empty resource", &EmbeddedResource{}, "content block 0: an EmbeddedResource needs a Resource with a URI"},
		{"priority", &TextContent{Annotations: &Annotations{Priority: &two}}, "content block 0: Annotations: Priority must be 0 to 1, not 2"},
		{"audience", &TextContent{Annotations: &Annotations{Priority: &half, Audience: []Role{"system"}}}, `content block 0: Annotations: Audience must be user or assistant, not "system"`},
		{"tool use", &ToolUseContent{ID: "1", Name: "x"}, "content block 0: content of type tool_use is for sampling only"},
		{"structured", nil, "invalid UTF-8 at byte 6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			s := newServer(t, &ServerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			must(t, s.AddTool(&Tool{Name: "bad"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) {
				if tt.name == "structured" {
					return &CallToolResult{StructuredContent: json.RawMessage("{\"a\":\"\xff\"}")}, nil
				}
				return &CallToolResult{Content: []Content{tt.content}}, nil
			}))
			must(t, s.AddPrompt(&Prompt{Name: "bad"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
				return &GetPromptResult{Messages: []*PromptMessage{{RoleUser, tt.content, nil}}}, nil
			}))
			talk(t, serve(s), meet(Revision20251125, `{"logging":{},"prompts":{"listChanged":true},"tools":{"listChanged":true}}`)+`
				> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bad"}}
				< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}
				> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"bad"}}
				< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}
			`)
			if !strings.Contains(log.String(), strings.ReplaceAll(tt.log, `"`, `\"`)) {
				t.Errorf("log %q does not say %q", log.String(), tt.log)
			}
		})
	}
}

// FEAT-541
func TestInvalidUTF8(t *testing.T) {
	s := newServer(t, nil)
	must(t, AddTool(s, &Tool{Name: "bytes"}, func(context.Context, *Request, struct{}) (string, error) { return "a\xffb\u2028<&>", nil }))
	talk(t, serve(s), meet(Revision20251125, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bytes"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a�b`+"\u2028"+`<&>"}]}}
	`)
}

// FEAT-004 FEAT-096 FEAT-153 FEAT-203 E1.2
func TestEmptyLists(t *testing.T) {
	server := func(t *testing.T) *Server {
		s := newServer(t, &ServerOptions{HasResources: true, HasPrompts: true})
		must(t, s.AddTool(&Tool{Name: "gone"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }))
		s.RemoveTools("gone", "never there")
		return s
	}
	everyRevision(t, server, `{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}}`, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
		> {"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{}}
		< {"jsonrpc":"2.0","id":2,"result":{"prompts":[]}}
		> {"jsonrpc":"2.0","id":3,"method":"resources/list","params":{"cursor":null}}
		< {"jsonrpc":"2.0","id":3,"result":{"resources":[]}}
		> {"jsonrpc":"2.0","id":4,"method":"resources/templates/list","params":null}
		< {"jsonrpc":"2.0","id":4,"result":{"resourceTemplates":[]}}
	`)
}

// What is not declared does not exist.
// FEAT-002 FEAT-095 FEAT-130 FEAT-152 FEAT-174 FEAT-225 FEAT-547 E2.9
func TestNotOffered(t *testing.T) {
	script := ""
	for i, method := range []string{"tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel"} {
		script += fmt.Sprintf(`
			> {"jsonrpc":"2.0","id":%d,"method":"%s","params":{}}
			< {"jsonrpc":"2.0","id":%[1]d,"error":{"code":-32601,"message":"method \"%[2]s\" is not offered by this server"}}`, i, method)
	}
	for i, method := range []string{"server/discover", "subscriptions/listen", "tasks/update", "Tools/list"} {
		script += fmt.Sprintf(`
			> {"jsonrpc":"2.0","id":%d,"method":"%s","params":{}}
			< {"jsonrpc":"2.0","id":%[1]d,"error":{"code":-32601,"message":"method \"%[2]s\" not found"}}`, 100+i, method)
	}
	everyRevision(t, func(t *testing.T) *Server { return newServer(t, &ServerOptions{NoLogging: true}) }, `{}`, script)
}

// Capabilities follow from what is registered or set.
// FEAT-001 FEAT-094 FEAT-152 FEAT-174 FEAT-175 FEAT-219
func TestCapabilities(t *testing.T) {
	complete := func(context.Context, *Request, *CompleteParams) (*Completion, error) { return nil, nil }
	subscribe := func(context.Context, *Request, string) error { return nil }
	read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
	for _, tt := range []struct {
		opts ServerOptions
		add  func(*Server) error
		want string
	}{
		{ServerOptions{NoLogging: true}, nil, `{}`},
		{ServerOptions{}, nil, `{"logging":{}}`},
		{ServerOptions{NoLogging: true, HasTools: true}, nil, `{"tools":{"listChanged":true}}`},
		{ServerOptions{NoLogging: true, HasPrompts: true}, nil, `{"prompts":{"listChanged":true}}`},
		{ServerOptions{NoLogging: true, HasResources: true}, nil, `{"resources":{"listChanged":true}}`},
		{ServerOptions{NoLogging: true, HasResources: true, Subscribe: subscribe}, nil, `{"resources":{"subscribe":true,"listChanged":true}}`},
		{ServerOptions{NoLogging: true, Subscribe: subscribe}, nil, `{}`},
		{ServerOptions{NoLogging: true, Complete: complete}, nil, `{⟦2025-03-26:"completions":{}⟧}`},
		{ServerOptions{NoLogging: true}, func(s *Server) error { return s.AddResource(&Resource{URI: "a:b", Name: "n"}, read) }, `{"resources":{"listChanged":true}}`},
		{ServerOptions{NoLogging: true}, func(s *Server) error {
			return s.AddResourceTemplate(&ResourceTemplate{URITemplate: "a:{b}", Name: "n"}, read)
		}, `{"resources":{"listChanged":true}}`},
	} {
		everyRevision(t, func(t *testing.T) *Server {
			s := newServer(t, &tt.opts)
			if tt.add != nil {
				must(t, tt.add(s))
			}
			return s
		}, tt.want, ``)
	}
}

// A server that has everything names to each client what the client's revision has.
//
// BASE-085 FEAT-020 FEAT-019
func TestCapabilitiesByRevision(t *testing.T) {
	server := func(t *testing.T) *Server {
		s := panicServer(t, &ServerOptions{Extensions: Extensions{"com.example/x": json.RawMessage(`{"a":1}`)}})
		must(t, s.AddTool(&Tool{Name: "task", InputSchema: json.RawMessage(`{"type":"object"}`), Execution: &ToolExecution{TaskSupport: "optional"}},
			func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }))
		return s
	}
	const tools = `"tools":[{"name":"boom","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},` +
		`{"name":"slow","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},` +
		`{"name":"task","inputSchema":{"type":"object"}⟦2025-11-25:⟦..2025-11-25:,"execution":{"taskSupport":"optional"}⟧⟧}]`
	everyRevision(t, server, strings.TrimSuffix(allOffers, "}")+`⟦2025-11-25:,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}⟧}`, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{`+tools+`}}
	`)
	everyWay(t, func() *Server { return server(t) }, lone("server/discover", ""),
		gives(`DONE,`+noted+`,"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":`+
			strings.TrimSuffix(at(Revision20260728, allOffers), "}")+`,"extensions":{"com.example/x":{"a":1},"io.modelcontextprotocol/tasks":{}}}`),
		lone("tools/list", ""), gives(`DONE,`+noted+`,`+at(Revision20260728, tools)))
}

// A schema goes to clients word for word, and validates at every revision, by the
// dialect of 2020-12 unless it names another one.
//
// FEAT-033 FEAT-481 FEAT-487 FEAT-488
func TestSchemasAreSentVerbatim(t *testing.T) {
	const schema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"n":{"$anchor":"N","type":"number","multipleOf":0.10}},` +
		`"properties":{"pair":{"prefixItems":[{"type":"string"},{"$ref":"#N"}],"items":false,"default":["a",1.0]},"kind":{"type":"string","x-widget":{"rows":1e2}}},` +
		`"allOf":[{"if":{"properties":{"kind":{"const":"p"}},"required":["kind"]},"then":{"required":["pair"]}}],"additionalProperties":false}`
	server := func(t *testing.T) *Server {
		s := newServer(t, nil)
		for name, text := range map[string]string{"one": schema, "two": strings.Replace(schema, `"$schema":"https://json-schema.org/draft/2020-12/schema",`, "", 1)} {
			must(t, s.AddTool(&Tool{Name: name, InputSchema: json.RawMessage(text)}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }))
		}
		return s
	}
	list := `"tools":[{"name":"one","inputSchema":` + schema + `},{"name":"two","inputSchema":` + strings.Replace(schema, `"$schema":"https://json-schema.org/draft/2020-12/schema",`, "", 1) + `}]`
	calls := []struct{ arguments, refusal string }{
		{`{}`, ""},
		{`{"pair":["x",0.3],"kind":"p"}`, ""},
		{`{"kind":"p"}`, `the value: \"pair\" is missing`},
		{`{"pair":["x",1,2]}`, `/pair/2: not allowed`},
		{`{"pair":["x",0.25]}`, `/pair/1: want a multiple of 0.1, got 0.25`},
		{`{"more":1}`, `/more: not allowed`},
	}
	script, lines := "", []string{lone("tools/list", ""), gives(`DONE,` + noted + `,` + list)}
	for i, c := range calls {
		for _, tool := range []string{"one", "two"} {
			result := `"content":[]`
			if c.refusal != "" {
				result = `"content":[{"type":"text","text":"invalid arguments for tool \"` + tool + `\": ` + c.refusal + `"}],"isError":true`
			}
			script += fmt.Sprintf("> "+`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`+"\n< "+`{"jsonrpc":"2.0","id":%[1]d,"result":{%[4]s}}`+"\n", 2+i, tool, c.arguments, result)
			lines = append(lines, lone("tools/call", `"name":"`+tool+`","arguments":`+c.arguments), gives(`DONE,`+result))
		}
	}
	everyRevision(t, server, toolOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{`+list+`}}
		`+script)
	everyWay(t, func() *Server { return server(t) }, lines...)
	cs := fakeServer(t, Revision20251125, map[string]string{methodToolsList: "{" + list + "}"})
	r, err := cs.ListTools(t.Context(), nil)
	must(t, err)
	want(t, "the client's", string(r.Tools[0].InputSchema), schema)
}

// A structured result that is null is one; none is another thing.
//
// FEAT-050 E1.14
func TestStructuredNull(t *testing.T) {
	null := func() *Server {
		s := newServer(t, nil)
		must(t, s.AddTool(&Tool{Name: "null"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) {
			return &CallToolResult{StructuredContent: json.RawMessage("null")}, nil
		}), s.AddTool(&Tool{Name: "none"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) {
			return &CallToolResult{}, nil
		}))
		return s
	}
	everyWay(t, null, lone("tools/call", `"name":"null"`), gives(`DONE,"content":[{"type":"text","text":"null"}],"structuredContent":null`),
		lone("tools/call", `"name":"none"`), gives(`DONE,"content":[]`))
	talk(t, modernClient(t, ClientOptions{}, func(ctx context.Context, cs *ClientSession) {
		for _, wanted := range []string{"null", ""} {
			r, err := cs.CallTool(ctx, "a", nil)
			must(t, err)
			want(t, "structured", string(r.StructuredContent), wanted)
		}
	}), discovers("{}", `{"tools":{}}`)+`
		< `+callOf(2, "")+`
		> `+givesBack(2, `{"resultType":"complete","content":[],"structuredContent":null}`)+`
		< `+callOf(3, "")+`
		> `+givesBack(3, `{"resultType":"complete","content":[]}`))
}

// panics is a server of which everything panics.
func panicServer(t *testing.T, opts *ServerOptions) *Server {
	opts.Complete = func(context.Context, *Request, *CompleteParams) (*Completion, error) { panic("complete") }
	opts.Subscribe = func(context.Context, *Request, string) error { panic("subscribe") }
	s := newServer(t, opts)
	must(t,
		AddTool(s, &Tool{Name: "boom"}, func(context.Context, *Request, struct{}) (string, error) { panic("tool") }),
		AddTool(s, &Tool{Name: "slow"}, func(ctx context.Context, _ *Request, _ struct{}) (string, error) {
			time.Sleep(time.Minute)
			return "slept", nil
		}),
		s.AddResource(&Resource{URI: "a:b", Name: "n"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
			panic("resource")
		}),
		s.AddPrompt(&Prompt{Name: "p", Arguments: []*PromptArgument{{Name: "x"}}},
			func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { panic("prompt") }),
	)
	return s
}

const allOffers = `{"logging":{}⟦2025-03-26:,"completions":{}⟧,"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`

// FEAT-043
func TestBUG170HandlerPanics(t *testing.T) {
	var log bytes.Buffer
	server := func(t *testing.T) *Server {
		log.Reset()
		return panicServer(t, &ServerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	}
	everyRevision(t, server, allOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"boom"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"a:b"}}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"p"}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":""}}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":6,"method":"resources/subscribe","params":{"uri":"a:b"}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"internal error"}}
		. 1m
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"slept"}]}}
	`)
	for _, what := range []string{"tool", "resource", "prompt", "complete", "subscribe"} {
		if !strings.Contains(log.String(), "panic="+what+" stack=") {
			t.Errorf("the log does not tell of the panic of %s", what)
		}
	}
}

// resourceServer has resources, and templates of which some match the same URIs.
func resourceServer(t *testing.T) *Server {
	s := newServer(t, &ServerOptions{Subscribe: func(context.Context, *Request, string) error { return nil }})
	read := func(contents ...*ResourceContents) ResourceHandler {
		return func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
			return &ReadResourceResult{Contents: contents}, nil
		}
	}
	vars := func(name string) ResourceHandler {
		return func(_ context.Context, r *Request, p *ReadResourceParams) (*ReadResourceResult, error) {
			if r.Variables["id"] == "gone" {
				return nil, ResourceNotFound(p.URI)
			}
			text, err := json.Marshal(r.Variables)
			return &ReadResourceResult{Contents: []*ResourceContents{{Text: name + string(text)}}}, err
		}
	}
	zero := int64(0)
	priority := 0.0
	must(t,
		s.AddResource(&Resource{URI: "mem:text", Name: "text", MIMEType: "text/plain", Size: &zero,
			Annotations: &Annotations{Audience: []Role{RoleUser}, Priority: &priority, LastModified: "2025-01-12T15:00:58Z"}},
			read(&ResourceContents{})),
		s.AddResource(&Resource{URI: "mem:blob", Name: "blob", Description: "Bytes"}, read(BlobContents("", "image/png", []byte{0xfb, 0xff}))),
		s.AddResource(&Resource{URI: "mem:void", Name: "void"}, read(BlobContents("mem:void", "", nil))),
		s.AddResource(&Resource{URI: "dir:/", Name: "dir"}, read(
			&ResourceContents{URI: "dir:/a", MIMEType: "text/plain", Text: "a", Meta: Meta{"com.example/n": 1}}, TextContents("dir:/b", "", "b"))),
		s.AddResource(&Resource{URI: "mem:none", Name: "none"}, read()),
		s.AddResource(&Resource{URI: "mem:error", Name: "error"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
			return nil, errors.New("disk on fire")
		}),
		s.AddResource(&Resource{URI: "mem:nil", Name: "nil"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
			return nil, nil
		}),
		s.AddResource(&Resource{URI: "res://x/exact", Name: "exact"}, read(TextContents("", "", "exact"))),
		s.AddResourceTemplate(&ResourceTemplate{URITemplate: "res://x/{id}", Name: "first", MIMEType: "application/json"}, vars("first")),
		s.AddResourceTemplate(&ResourceTemplate{URITemplate: "res://x/{other}", Name: "second"}, vars("second")),
		s.AddResourceTemplate(&ResourceTemplate{URITemplate: "res://f/{+path}", Name: "path"}, vars("path")),
		s.AddResourceTemplate(&ResourceTemplate{URITemplate: "res://q{/seg*}", Name: "segments"}, vars("segments")),
	)
	return s
}

const resourceOffers = `{"logging":{},"resources":{"subscribe":true,"listChanged":true}}`

// FEAT-096 FEAT-097 FEAT-098 FEAT-099 FEAT-101 FEAT-129
func TestResourceLists(t *testing.T) {
	everyRevision(t, resourceServer, resourceOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"resources/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"dir:/","name":"dir"},{"uri":"mem:blob","name":"blob","description":"Bytes"},{"uri":"mem:error","name":"error"},{"uri":"mem:nil","name":"nil"},{"uri":"mem:none","name":"none"},{"uri":"mem:text","name":"text","mimeType":"text/plain","size":0,"annotations":{"audience":["user"],"priority":0⟦2025-06-18:,"lastModified":"2025-01-12T15:00:58Z"⟧}},{"uri":"mem:void","name":"void"},{"uri":"res://x/exact","name":"exact"}]}}
		> {"jsonrpc":"2.0","id":2,"method":"resources/templates/list"}
		< {"jsonrpc":"2.0","id":2,"result":{"resourceTemplates":[{"uriTemplate":"res://f/{+path}","name":"path"},{"uriTemplate":"res://q{/seg*}","name":"segments"},{"uriTemplate":"res://x/{id}","name":"first","mimeType":"application/json"},{"uriTemplate":"res://x/{other}","name":"second"}]}}
	`)
}

// FEAT-106 FEAT-107 FEAT-108 FEAT-109 FEAT-111 FEAT-113 FEAT-115 FEAT-117 FEAT-118 FEAT-119 FEAT-122
// FEAT-127 FEAT-529 FEAT-530 BASE-045 E1.3 E2.7 C-07
func TestReadResource(t *testing.T) {
	everyRevision(t, resourceServer, resourceOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"mem:text"}}
		< {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"mem:text","mimeType":"text/plain","text":""}]}}
		> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"mem:blob"}}
		< {"jsonrpc":"2.0","id":2,"result":{"contents":[{"uri":"mem:blob","mimeType":"image/png","blob":"+/8="}]}}
		> {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"mem:void"}}
		< {"jsonrpc":"2.0","id":3,"result":{"contents":[{"uri":"mem:void","blob":""}]}}
		> {"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"dir:/"}}
		< {"jsonrpc":"2.0","id":4,"result":{"contents":[{"uri":"dir:/a","mimeType":"text/plain","text":"a"⟦2025-06-18:,"_meta":{"com.example/n":1}⟧},{"uri":"dir:/b","text":"b"}]}}
		> {"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"mem:none"}}
		< {"jsonrpc":"2.0","id":5,"result":{"contents":[]}}
		> {"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"mem:error"}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"mem:nil"}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"file:///none"}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32002,"message":"resource not found","data":{"uri":"file:///none"}}}
		> {"jsonrpc":"2.0","id":9,"method":"resources/read","params":{}}
		< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"resources/read: invalid parameters: uri: missing"}}
		> {"jsonrpc":"2.0","id":10,"method":"resources/read","params":{"uri":""}}
		< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"resources/read: uri is empty"}}
		> {"jsonrpc":"2.0","id":11,"method":"resources/read","params":{"uri":"no scheme\u0000"}}
		< {"jsonrpc":"2.0","id":11,"error":{"code":-32002,"message":"resource not found","data":{"uri":"no scheme\u0000"}}}
		> {"jsonrpc":"2.0","id":12,"method":"resources/read","params":{"uri":"res://x/exact"}}
		< {"jsonrpc":"2.0","id":12,"result":{"contents":[{"uri":"res://x/exact","text":"exact"}]}}
		> {"jsonrpc":"2.0","id":13,"method":"resources/read","params":{"uri":"res://x/a%2Fb"}}
		< {"jsonrpc":"2.0","id":13,"result":{"contents":[{"uri":"res://x/a%2Fb","mimeType":"application/json","text":"first{\"id\":\"a/b\"}"}]}}
		> {"jsonrpc":"2.0","id":14,"method":"resources/read","params":{"uri":"res://x/a/b"}}
		< {"jsonrpc":"2.0","id":14,"error":{"code":-32002,"message":"resource not found","data":{"uri":"res://x/a/b"}}}
		> {"jsonrpc":"2.0","id":15,"method":"resources/read","params":{"uri":"res://f/a/b.txt"}}
		< {"jsonrpc":"2.0","id":15,"result":{"contents":[{"uri":"res://f/a/b.txt","text":"path{\"path\":\"a/b.txt\"}"}]}}
		> {"jsonrpc":"2.0","id":16,"method":"resources/read","params":{"uri":"res://x/a%2520b"}}
		< {"jsonrpc":"2.0","id":16,"result":{"contents":[{"uri":"res://x/a%2520b","mimeType":"application/json","text":"first{\"id\":\"a%20b\"}"}]}}
		> {"jsonrpc":"2.0","id":17,"method":"resources/read","params":{"uri":"res://x/gone"}}
		< {"jsonrpc":"2.0","id":17,"error":{"code":-32002,"message":"resource not found","data":{"uri":"res://x/gone"}}}
		> {"jsonrpc":"2.0","id":18,"method":"resources/read","params":{"uri":"res://q/a/b"}}
		< {"jsonrpc":"2.0","id":18,"result":{"contents":[{"uri":"res://q/a/b","text":"segments{\"seg\":\"a/b\"}"}]}}
	`)
}

// What a handler returns may be shared by many requests: it is not changed.
func TestContentsAreNotChanged(t *testing.T) {
	s := newServer(t, nil)
	shared := []*ResourceContents{{URI: "x:whole", MIMEType: "text/plain", Text: "1"}, {Text: "2"}}
	must(t, s.AddResource(&Resource{URI: "x:y", Name: "n", MIMEType: "text/html"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
		return &ReadResourceResult{Contents: shared}, nil
	}))
	second := shared[1]
	talk(t, serve(s), meet(Revision20251125, `{"logging":{},"resources":{"listChanged":true}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y"}}
		< {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"x:whole","mimeType":"text/plain","text":"1"},{"uri":"x:y","mimeType":"text/html","text":"2"}]}}
	`)
	if shared[1] != second || second.URI != "" {
		t.Errorf("the handler's contents have become %+v", shared[1])
	}
}

// changing is a server whose tool "do" runs what a test wants, with the uri that it is
// given.
func changing(t *testing.T, opts *ServerOptions, do func(s *Server, r *Request, uri string) error) *Server {
	t.Helper()
	s := newServer(t, opts)
	must(t, AddTool(s, &Tool{Name: "do"}, func(_ context.Context, r *Request, in struct {
		URI string `json:"uri,omitempty"`
	}) (string, error) {
		return "", do(s, r, in.URI)
	}))
	return s
}

const done = `"result":{"content":[{"type":"text","text":""}]}}`

// FEAT-130 FEAT-131 FEAT-132 FEAT-133 FEAT-134 FEAT-135 E8.6
func TestBUG179Subscriptions(t *testing.T) {
	for _, rev := range sessionRevisions() {
		t.Run(rev, func(t *testing.T) {
			var calls []string
			var server *Server
			server = changing(t, &ServerOptions{
				Subscribe: func(_ context.Context, r *Request, uri string) error {
					calls = append(calls, "+"+uri)
					server.ResourceUpdated(uri) // before it has agreed: told after the answer, if it does
					if uri == "mem:secret" {
						return Errorf(4711, "not for you")
					}
					return nil
				},
				Unsubscribed: func(uri string) { calls = append(calls, "-"+uri) },
			}, func(s *Server, _ *Request, uri string) error { s.ResourceUpdated(uri); return nil })
			read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
			must(t, server.AddResource(&Resource{URI: "mem:a", Name: "a"}, read), server.AddResource(&Resource{URI: "dir:/d/", Name: "d"}, read),
				server.AddResource(&Resource{URI: "mem:secret", Name: "s"}, read))
			talk(t, serve(server), at(rev, meet(rev, `{"logging":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`)+`
				> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"do","arguments":{"uri":"mem:a"}}}
				< {"jsonrpc":"2.0","id":1,`+done+`
				> {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"mem:a"}}
				< {"jsonrpc":"2.0","id":2,"result":{}}
				< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mem:a"}}
				> {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"mem:a"}}
				< {"jsonrpc":"2.0","id":3,"result":{}}
				> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"do","arguments":{"uri":"mem:a"}}}
				~ {"jsonrpc":"2.0","id":4,`+done+`
				~ {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mem:a"}}
				> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"do","arguments":{"uri":"mem:ab"}}}
				< {"jsonrpc":"2.0","id":5,`+done+`
				> {"jsonrpc":"2.0","id":6,"method":"resources/unsubscribe","params":{"uri":"mem:a"}}
				< {"jsonrpc":"2.0","id":6,"result":{}}
				> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"do","arguments":{"uri":"mem:a"}}}
				< {"jsonrpc":"2.0","id":7,`+done+`
				> {"jsonrpc":"2.0","id":8,"method":"resources/unsubscribe","params":{"uri":"mem:never"}}
				< {"jsonrpc":"2.0","id":8,"result":{}}
				> {"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"mem:none"}}
				< {"jsonrpc":"2.0","id":9,"error":{"code":-32002,"message":"resource not found","data":{"uri":"mem:none"}}}
				> {"jsonrpc":"2.0","id":10,"method":"resources/subscribe","params":{"uri":"mem:secret"}}
				< {"jsonrpc":"2.0","id":10,"error":{"code":4711,"message":"not for you"}}
				> {"jsonrpc":"2.0","id":11,"method":"resources/subscribe","params":{}}
				< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"resources/subscribe: invalid parameters: uri: missing"}}
				# a part of what is followed
				> {"jsonrpc":"2.0","id":12,"method":"resources/subscribe","params":{"uri":"dir:/d/"}}
				< {"jsonrpc":"2.0","id":12,"result":{}}
				< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"dir:/d/"}}
				> {"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"do","arguments":{"uri":"dir:/d/x/y"}}}
				~ {"jsonrpc":"2.0","id":13,`+done+`
				~ {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"dir:/d/x/y"}}
				$
			`))
			if got, want := strings.Join(calls, " "), "+mem:a -mem:a +mem:secret +dir:/d/ -dir:/d/"; got != want {
				t.Errorf("calls: %s, want %s", got, want)
			}
			if n := len(server.hearers); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// An update between the registration of a subscription and its answer waits for the
// answer; it is not lost.
// FEAT-131
func TestSubscriptionRace(t *testing.T) {
	var server *Server
	update := func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		result, err := next(ctx)
		if r.Method == methodSubscribe {
			server.ResourceUpdated("mem:a")
			time.Sleep(time.Second) // time for the update to overtake the answer
		}
		return result, err
	}
	server = resourceServer(t)
	server.opts.Intercept = []Interceptor{update}
	must(t, server.AddResource(&Resource{URI: "mem:a", Name: "a"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
		return nil, nil
	}))
	talk(t, serve(server), meet(Revision20250326, resourceOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"mem:a"}}
		. 1s
		< {"jsonrpc":"2.0","id":1,"result":{}}
		< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mem:a"}}
	`)
}

// A subscription that an interceptor refuses afterwards is none.
func TestSubscriptionRefused(t *testing.T) {
	var gone []string
	server := changing(t, &ServerOptions{
		Subscribe:    func(context.Context, *Request, string) error { return nil },
		Unsubscribed: func(uri string) { gone = append(gone, uri) },
		Intercept: []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
			result, err := next(ctx)
			if r.Method == methodSubscribe {
				return nil, Errorf(4711, "changed my mind")
			}
			return result, err
		}},
	}, func(s *Server, _ *Request, uri string) error { s.ResourceUpdated(uri); return nil })
	must(t, server.AddResource(&Resource{URI: "mem:a", Name: "a"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
		return nil, nil
	}))
	talk(t, serve(server), meet(Revision20251125, `{"logging":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"mem:a"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":4711,"message":"changed my mind"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"do","arguments":{"uri":"mem:a"}}}
		< {"jsonrpc":"2.0","id":2,`+done+`
	`)
	if len(gone) != 1 {
		t.Errorf("Unsubscribed was told of %q, want mem:a once", gone)
	}
}

// Subscriptions are those of one session.
// FEAT-131 FEAT-135
func TestSubscriptionsAreBySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := resourceServer(t)
		heard := map[string][]string{}
		var mu sync.Mutex // guards heard
		connect := func(name string) *ClientSession {
			a, b := Pipe()
			go server.Run(t.Context(), a)
			cs, err := sessionClient(&Implementation{Name: name, Version: "1"}, &ClientOptions{
				ResourceUpdated: func(_ context.Context, _ *ClientSession, p *ResourceUpdatedParams) {
					mu.Lock()
					defer mu.Unlock()
					heard[name] = append(heard[name], p.URI)
				},
			}).Connect(t.Context(), &ConnTransport{Conn: b})
			must(t, err)
			return cs
		}
		one, two := connect("one"), connect("two")
		must(t, one.Subscribe(t.Context(), "mem:text"), two.Subscribe(t.Context(), "mem:blob"))
		server.ResourceUpdated("mem:text")
		synctest.Wait()
		must(t, one.Close())
		synctest.Wait()
		server.ResourceUpdated("mem:text")
		server.ResourceUpdated("mem:blob")
		synctest.Wait()
		must(t, two.Close())
		synctest.Wait()
		if got, want := fmt.Sprint(heard), "map[one:[mem:text] two:[mem:blob]]"; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
		if len(server.hearers) != 0 {
			t.Errorf("%d sessions are left", len(server.hearers))
		}
	})
}

// However much changes below a folder that a slow client follows, what waits for it is
// bounded, and in the end it hears of the folder.
func TestUpdatesAreBounded(t *testing.T) {
	m := mailbox{log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1), open: true}
	for i := range 10 * maxMail {
		m.updated(fmt.Sprint("dir:/", i), "dir:/")
	}
	items := m.empty()
	if len(items) != maxMail+1 || items[maxMail].params.(*ResourceUpdatedParams).URI != "dir:/" {
		t.Errorf("%d updates wait, want %d and that of dir:/", len(items), maxMail)
	}
}

// listServer has so many tools that they need pages, and prompts, resources and
// templates likewise.
func listServer(t *testing.T) *Server {
	s := newServer(t, &ServerOptions{PageSize: 2})
	read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
	for _, name := range []string{"e", "c", "a", "d", "b"} {
		must(t, addNothing(s, name))
	}
	for _, name := range []string{"c", "b", "a"} {
		must(t, s.AddPrompt(&Prompt{Name: name}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }),
			s.AddResource(&Resource{URI: "x:" + name, Name: name}, read),
			s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:" + name + "/{y}", Name: name}, read))
	}
	return s
}

func addNothing(s *Server, name string) error {
	return s.AddTool(&Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil })
}

// Cursors are opaque to clients; here they are spelled out.
const (
	cursorB, cursorD                      = "dG9vbDpi", "dG9vbDpk"
	promptCursor, uriCursor, templateCurs = "cHJvbXB0OmI", "cmVzb3VyY2U6eDpi", "dGVtcGxhdGU6eDpiL3t5fQ"
)

// FEAT-026 FEAT-192 FEAT-193 FEAT-200 FEAT-201 BASE-411 BASE-412 BASE-415 BASE-416 E2.10
func TestBUG235Pages(t *testing.T) {
	tool := func(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }
	everyRevision(t, listServer, `{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}}`, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[`+tool("a")+`,`+tool("b")+`],"nextCursor":"`+cursorB+`"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"`+cursorB+`"}}
		< {"jsonrpc":"2.0","id":2,"result":{"tools":[`+tool("c")+`,`+tool("d")+`],"nextCursor":"`+cursorD+`"}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"`+cursorD+`"}}
		< {"jsonrpc":"2.0","id":3,"result":{"tools":[`+tool("e")+`]}}
		# the same page again
		> {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"`+cursorB+`"}}
		< {"jsonrpc":"2.0","id":4,"result":{"tools":[`+tool("c")+`,`+tool("d")+`],"nextCursor":"`+cursorD+`"}}
		> {"jsonrpc":"2.0","id":5,"method":"prompts/list"}
		< {"jsonrpc":"2.0","id":5,"result":{"prompts":[{"name":"a"},{"name":"b"}],"nextCursor":"`+promptCursor+`"}}
		> {"jsonrpc":"2.0","id":6,"method":"prompts/list","params":{"cursor":"`+promptCursor+`"}}
		< {"jsonrpc":"2.0","id":6,"result":{"prompts":[{"name":"c"}]}}
		> {"jsonrpc":"2.0","id":7,"method":"resources/list"}
		< {"jsonrpc":"2.0","id":7,"result":{"resources":[{"uri":"x:a","name":"a"},{"uri":"x:b","name":"b"}],"nextCursor":"`+uriCursor+`"}}
		> {"jsonrpc":"2.0","id":8,"method":"resources/list","params":{"cursor":"`+uriCursor+`"}}
		< {"jsonrpc":"2.0","id":8,"result":{"resources":[{"uri":"x:c","name":"c"}]}}
		> {"jsonrpc":"2.0","id":9,"method":"resources/templates/list"}
		< {"jsonrpc":"2.0","id":9,"result":{"resourceTemplates":[{"uriTemplate":"x:a/{y}","name":"a"},{"uriTemplate":"x:b/{y}","name":"b"}],"nextCursor":"`+templateCurs+`"}}
		> {"jsonrpc":"2.0","id":10,"method":"resources/templates/list","params":{"cursor":"`+templateCurs+`"}}
		< {"jsonrpc":"2.0","id":10,"result":{"resourceTemplates":[{"uriTemplate":"x:c/{y}","name":"c"}]}}
		# cursors that this list never gave out
		> {"jsonrpc":"2.0","id":11,"method":"tools/list","params":{"cursor":"zzz"}}
		< {"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"cursor \"zzz\" is not one of this list"}}
		> {"jsonrpc":"2.0","id":12,"method":"tools/list","params":{"cursor":""}}
		< {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"cursor \"\" is not one of this list"}}
		> {"jsonrpc":"2.0","id":13,"method":"tools/list","params":{"cursor":"`+promptCursor+`"}}
		< {"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"cursor \"`+promptCursor+`\" is not one of this list"}}
		> {"jsonrpc":"2.0","id":14,"method":"tools/list","params":{"cursor":7}}
		< {"jsonrpc":"2.0","id":14,"error":{"code":-32602,"message":"tools/list: invalid parameters: cursor: want a string, got a number"}}
		> {"jsonrpc":"2.0","id":15,"method":"tools/list","params":{"cursor":"`+cursorB+`="}}
		< {"jsonrpc":"2.0","id":15,"error":{"code":-32602,"message":"cursor \"`+cursorB+`=\" is not one of this list"}}
		> {"jsonrpc":"2.0","id":16,"method":"tools/list","params":{"cursor":null}}
		< {"jsonrpc":"2.0","id":16,"result":{"tools":[`+tool("a")+`,`+tool("b")+`],"nextCursor":"`+cursorB+`"}}
	`)
}

// Cursors stay good while the list changes: what was there all the time comes once.
// FEAT-199
func TestBUG235PagesOfAChangingList(t *testing.T) {
	s := listServer(t)
	tool := func(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }
	change := func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		result, err := next(ctx)
		if r.ID.String() == "1" { // after the first page
			s.RemoveTools("b", "d")
			must(t, addNothing(s, "aa"), addNothing(s, "cc"))
		}
		return result, err
	}
	s.opts.Intercept = []Interceptor{change}
	talk(t, serve(s), meet(Revision20251125, `{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[`+tool("a")+`,`+tool("b")+`],"nextCursor":"`+cursorB+`"}}
		. 10ms
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"`+cursorB+`"}}
		< {"jsonrpc":"2.0","id":2,"result":{"tools":[`+tool("c")+`,`+tool("cc")+`],"nextCursor":"dG9vbDpjYw"}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"dG9vbDpjYw"}}
		< {"jsonrpc":"2.0","id":3,"result":{"tools":[`+tool("e")+`]}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":4,"result":{"tools":[`+tool("a")+`,`+tool("aa")+`],"nextCursor":"dG9vbDphYQ"}}
	`)
}

// promptServer has prompts with and without arguments.
func promptServer(t *testing.T) *Server {
	s := newServer(t, nil)
	must(t,
		s.AddPrompt(&Prompt{Name: "greet", Description: "Greets", Arguments: []*PromptArgument{
			{Name: "name", Description: "whom", Required: true}, {Name: "tone"}}},
			func(_ context.Context, _ *Request, p *GetPromptParams) (*GetPromptResult, error) {
				text, err := json.Marshal(p.Arguments)
				return &GetPromptResult{Description: "A greeting", Messages: []*PromptMessage{
					{Role: RoleUser, Content: &TextContent{Text: string(text)}}, {Role: RoleAssistant, Content: &TextContent{}}}}, err
			}),
		s.AddPrompt(&Prompt{Name: "void"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
			return &GetPromptResult{Meta: Meta{"com.example/n": json.Number("1.0")}}, nil
		}),
		s.AddPrompt(&Prompt{Name: "fails"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
			return nil, errors.New("secret")
		}),
		s.AddPrompt(&Prompt{Name: "nil"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }),
		s.AddPrompt(&Prompt{Name: "system"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
			return &GetPromptResult{Messages: []*PromptMessage{{Role: "system", Content: &TextContent{}}}}, nil
		}),
	)
	return s
}

// FEAT-153 FEAT-154 FEAT-155 FEAT-159 FEAT-160 FEAT-161 FEAT-162 FEAT-163 FEAT-164 FEAT-165 FEAT-166 FEAT-521 E2.5
// E2.6
func TestPrompts(t *testing.T) {
	everyRevision(t, promptServer, `{"logging":{},"prompts":{"listChanged":true}}`, `
		> {"jsonrpc":"2.0","id":1,"method":"prompts/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"fails"},{"name":"greet","description":"Greets","arguments":[{"name":"name","description":"whom","required":true},{"name":"tone"}]},{"name":"nil"},{"name":"system"},{"name":"void"}]}}
		> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"greet","arguments":{"name":"Ada","extra":"x"}}}
		< {"jsonrpc":"2.0","id":2,"result":{"description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":"{\"extra\":\"x\",\"name\":\"Ada\"}"}},{"role":"assistant","content":{"type":"text","text":""}}]}}
		> {"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"greet","arguments":{"name":""}}}
		< {"jsonrpc":"2.0","id":3,"result":{"description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":"{\"name\":\"\"}"}},{"role":"assistant","content":{"type":"text","text":""}}]}}
		> {"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"greet","arguments":{"tone":"x"}}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"prompt \"greet\": argument \"name\" is missing"}}
		> {"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"greet"}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"prompt \"greet\": argument \"name\" is missing"}}
		> {"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"greet","arguments":{"name":5}}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"prompts/get: invalid parameters: arguments.name: want a string, got a number"}}
		> {"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"greet","arguments":{"name":null}}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"prompts/get: invalid parameters: arguments.name: want a string, got null"}}
		> {"jsonrpc":"2.0","id":8,"method":"prompts/get","params":{"name":"none"}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"unknown prompt \"none\""}}
		> {"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{}}
		< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"prompts/get: invalid parameters: name: missing"}}
		> {"jsonrpc":"2.0","id":10,"method":"prompts/get","params":{"name":"void","arguments":null}}
		< {"jsonrpc":"2.0","id":10,"result":{"_meta":{"com.example/n":1.0},"messages":[]}}
		> {"jsonrpc":"2.0","id":11,"method":"prompts/get","params":{"name":"fails"}}
		< {"jsonrpc":"2.0","id":11,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":12,"method":"prompts/get","params":{"name":"nil"}}
		< {"jsonrpc":"2.0","id":12,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":13,"method":"prompts/get","params":{"name":"system"}}
		< {"jsonrpc":"2.0","id":13,"error":{"code":-32603,"message":"internal error"}}
	`)
}

// completionServer completes the arguments of a prompt and of two templates.
func completionServer(t *testing.T) *Server {
	s := newServer(t, &ServerOptions{NoLogging: true, Complete: func(_ context.Context, _ *Request, p *CompleteParams) (*Completion, error) {
		three := 3
		switch p.Argument.Value {
		case "":
			return nil, nil
		case "fail":
			return nil, errors.New("secret")
		case "more":
			return &Completion{Values: []string{"z", "a"}, Total: &three, HasMore: true}, nil
		case "context":
			return &Completion{Values: []string{p.Ref.Type, p.Ref.Name + p.Ref.URI, p.Argument.Name, fmt.Sprint(p.Context)}}, nil
		}
		values := make([]string, len(p.Argument.Value))
		for i := range values {
			values[i] = fmt.Sprint(i)
		}
		if p.Argument.Name == "b" {
			three = 1000
			return &Completion{Values: values, Total: &three}, nil
		}
		return &Completion{Values: values}, nil
	}})
	read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
	must(t,
		s.AddPrompt(&Prompt{Name: "p", Arguments: []*PromptArgument{{Name: "a"}, {Name: "b"}}},
			func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }),
		s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x://{host}/{path}", Name: "t"}, read),
		s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x://{+any}", Name: "any"}, read))
	return s
}

// FEAT-177 FEAT-178 FEAT-179 FEAT-181 FEAT-183 FEAT-184 FEAT-185 FEAT-186 FEAT-187 FEAT-188 E1.5 E2.13
func TestBUG182Completion(t *testing.T) {
	list := func(n int) string {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("%q", fmt.Sprint(i))
		}
		return `[` + strings.Join(values, ",") + `]`
	}
	ask := func(id int, ref, name, value, more string) string {
		return fmt.Sprintf(`
			> {"jsonrpc":"2.0","id":%d,"method":"completion/complete","params":{"ref":%s,"argument":{"name":"%s","value":"%s"}%s}}
			< {"jsonrpc":"2.0","id":%[1]d,`, id, ref, name, value, more)
	}
	const prompt, template, uri = `{"type":"ref/prompt","name":"p"}`, `{"type":"ref/resource","uri":"x://{host}/{path}"}`, `{"type":"ref/resource","uri":"x://h/p"}`
	script := ask(1, prompt, "a", "", "") + `"result":{"completion":{"values":[]}}}` +
		ask(2, prompt, "a", "more", "") + `"result":{"completion":{"values":["z","a"],"total":3,"hasMore":true}}}` +
		ask(3, prompt, "a", strings.Repeat("x", 100), "") + `"result":{"completion":{"values":` + list(100) + `}}}` +
		ask(4, prompt, "a", strings.Repeat("x", 101), "") + `"result":{"completion":{"values":` + list(100) + `,"total":101,"hasMore":true}}}` +
		ask(5, prompt, "b", strings.Repeat("x", 150), "") + `"result":{"completion":{"values":` + list(100) + `,"total":1000,"hasMore":true}}}` +
		ask(6, prompt, "a", "context", `,"context":{"arguments":{"b":"chosen"}}`) + `"result":{"completion":{"values":["ref/prompt","p","a","\u0026{map[b:chosen]}"]}}}` +
		ask(7, prompt, "a", "context", `,"context":{}`) + `"result":{"completion":{"values":["ref/prompt","p","a","&{map[]}"]}}}` +
		ask(8, template, "host", "context", "") + `"result":{"completion":{"values":["ref/resource","x://{host}/{path}","host","<nil>"]}}}` +
		ask(9, uri, "path", "context", "") + `"result":{"completion":{"values":["ref/resource","x://h/p","path","<nil>"]}}}` +
		ask(10, uri, "any", "x", "") + `"error":{"code":-32602,"message":"unknown argument \"any\""}}` +
		ask(11, prompt, "c", "x", "") + `"error":{"code":-32602,"message":"unknown argument \"c\""}}` +
		ask(12, `{"type":"ref/prompt","name":"none"}`, "a", "x", "") + `"error":{"code":-32602,"message":"unknown prompt \"none\""}}` +
		ask(13, `{"type":"ref/resource","uri":"y://{z}"}`, "z", "x", "") + `"error":{"code":-32602,"message":"unknown resource template \"y://{z}\""}}` +
		ask(14, `{"type":"ref/zzz"}`, "a", "x", "") + `"error":{"code":-32602,"message":"ref.type must be ref/prompt or ref/resource, not \"ref/zzz\""}}` +
		ask(15, `5`, "a", "x", "") + `"error":{"code":-32602,"message":"completion/complete: invalid parameters: ref: want an object, got a number"}}` +
		ask(16, prompt, "a", "fail", "") + `"error":{"code":-32603,"message":"internal error"}}` + `
			> {"jsonrpc":"2.0","id":17,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a"}}}
			< {"jsonrpc":"2.0","id":17,"error":{"code":-32602,"message":"completion/complete: invalid parameters: argument.value: missing"}}
			> {"jsonrpc":"2.0","id":18,"method":"completion/complete","params":{"argument":{"name":"a","value":""}}}
			< {"jsonrpc":"2.0","id":18,"error":{"code":-32602,"message":"completion/complete: invalid parameters: ref: missing"}}
		`
	script = strings.ReplaceAll(script, `\u0026`, `&`)
	everyRevision(t, completionServer, `{⟦2025-03-26:"completions":{},⟧"prompts":{"listChanged":true},"resources":{"listChanged":true}}`, script)
}

// logServer has tools that log in all ways.
func logServer(t *testing.T, opts *ServerOptions) *Server {
	s := newServer(t, opts)
	must(t,
		AddTool(s, &Tool{Name: "levels"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
			for _, level := range loggingLevels {
				if err := r.Log(ctx, level, "", string(level)); err != nil {
					return "", err
				}
			}
			return "", r.Log(ctx, "loud", "", 1)
		}),
		AddTool(s, &Tool{Name: "data"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
			for _, data := range []any{nil, false, 0, "", []int{1}, json.RawMessage(`{"a":1.0}`), map[string]any{"<": "&"}} {
				if err := r.Log(ctx, LevelError, "my logger", data); err != nil {
					return "", err
				}
			}
			return "", r.Log(ctx, LevelError, "", func() {})
		}),
	)
	return s
}

// FEAT-220 FEAT-222 FEAT-223 FEAT-224 FEAT-226 FEAT-549 E2.11
func TestLogLevels(t *testing.T) {
	var all [8]string
	for i, level := range loggingLevels {
		all[i] = `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + string(level) + `","data":"` + string(level) + `"}}`
	}
	from := func(i int) string { return "\n" + strings.Join(all[i:], "\n") + "\n" }
	const unknown = `"result":{"content":[{"type":"text","text":"mcp: unknown log level \"loud\""}],"isError":true}}`
	server := func(t *testing.T) *Server { return logServer(t, nil) }
	script := `> {"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"levels"}}` + from(1) + `< {"jsonrpc":"2.0","id":0,` + unknown
	for i, level := range loggingLevels {
		script += fmt.Sprintf(`
			> {"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":{"level":"%s"}}
			< {"jsonrpc":"2.0","id":%[1]d,"result":{}}
			> {"jsonrpc":"2.0","id":%[3]d,"method":"tools/call","params":{"name":"levels"}}`, 10+i, level, 20+i) + from(i) +
			fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,`, 20+i) + unknown
	}
	everyRevision(t, server, toolOffers, script+`
		> {"jsonrpc":"2.0","id":30,"method":"logging/setLevel","params":{"level":"verbose"}}
		< {"jsonrpc":"2.0","id":30,"error":{"code":-32602,"message":"level must be one of [\"debug\" \"info\" \"notice\" \"warning\" \"error\" \"critical\" \"alert\" \"emergency\"], not \"verbose\""}}
		> {"jsonrpc":"2.0","id":31,"method":"logging/setLevel","params":{}}
		< {"jsonrpc":"2.0","id":31,"error":{"code":-32602,"message":"logging/setLevel: invalid parameters: level: missing"}}
	`)
}

// The level before a client chooses one can be set.
// FEAT-224
func TestLogLevelOption(t *testing.T) {
	server := func(t *testing.T) *Server { return logServer(t, &ServerOptions{LogLevel: LevelEmergency}) }
	everyRevision(t, server, toolOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"levels"}}
		< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"emergency"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"mcp: unknown log level \"loud\""}],"isError":true}}
	`)
}

// FEAT-221 E1.11
func TestLogData(t *testing.T) {
	note := func(data string) string {
		return `
			< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"my logger","data":` + data + `}}`
	}
	everyRevision(t, func(t *testing.T) *Server { return logServer(t, nil) }, toolOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"data"}}`+
		note(`null`)+note(`false`)+note(`0`)+note(`""`)+note(`[1]`)+note(`{"a":1.0}`)+note(`{"<":"&"}`)+`
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"mcp: log data: json: unsupported type: func()"}],"isError":true}}
	`)
}

// FEAT-225
func TestNoLogging(t *testing.T) {
	server := func(t *testing.T) *Server {
		s := logServer(t, &ServerOptions{NoLogging: true})
		must(t, AddTool(s, &Tool{Name: "others"}, func(_ context.Context, r *Request, _ struct{}) (string, error) {
			r.Logger().Error("not sent")
			return "", s.Log(LevelEmergency, "", "not sent")
		}))
		return s
	}
	everyRevision(t, server, `{"tools":{"listChanged":true}}`, `
		> {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method \"logging/setLevel\" is not offered by this server"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"others"}}
		< {"jsonrpc":"2.0","id":2,`+done+`
		. 1h
	`)
}

type temperature int

func (t temperature) LogValue() slog.Value { return slog.GroupValue(slog.Int("degrees", int(t))) }

// Records of a slog.Logger are objects of their attributes.
// FEAT-220 FEAT-221
func TestSlogBridge(t *testing.T) {
	server := newServer(t, nil)
	must(t, AddTool(server, &Tool{Name: "log"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
		l := r.Logger()
		l.Debug("not at info")
		l.Info("plain")
		l.Warn("attrs", "n", 1, "err", errors.New("boom"), "d", 1500*time.Millisecond, "nan", math.NaN(), "t", time.Unix(0, 0).UTC(), "temp", temperature(7))
		l.With("logger", "db").WithGroup("req").With("id", 7).WithGroup("in").Error("groups", "logger", "stays", slog.Group("", "inline", true), slog.Group("empty"))
		l.WithGroup("unused").Log(ctx, slog.LevelError+4, "critical")
		l.Log(ctx, slog.LevelInfo+2, "notice")
		l.Log(ctx, slog.LevelError+12, "emergency", slog.Group("a", "x", 1), slog.Group("a", "y", 2))
		if l.Enabled(ctx, slog.LevelDebug) || !l.Enabled(ctx, slog.LevelInfo) {
			return "Enabled does not follow the level", nil
		}
		return "", nil
	}))
	note := func(level, logger, data string) string {
		return `
			< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `"` + logger + `,"data":` + data + `}}`
	}
	talk(t, serve(server), meet(Revision20250618, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log"}}`+
		note("info", "", `{"msg":"plain"}`)+
		note("warning", "", `{"d":"1.5s","err":"boom","msg":"attrs","n":1,"nan":"NaN","t":"1970-01-01T00:00:00Z","temp":{"degrees":7}}`)+
		note("error", `,"logger":"db"`, `{"msg":"groups","req":{"id":7,"in":{"inline":true,"logger":"stays"}}}`)+
		note("critical", "", `{"msg":"critical"}`)+
		note("notice", "", `{"msg":"notice"}`)+
		note("emergency", "", `{"a":{"x":1,"y":2},"msg":"emergency"}`)+`
		< {"jsonrpc":"2.0","id":1,`+done+`
	`)
}

// A level is that of one session; messages that no request caused follow it, too.
// FEAT-227 FEAT-222
func TestLogLevelIsBySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, nil)
		var mu sync.Mutex // guards heard
		heard := map[string]string{}
		var sessions []*ClientSession
		for _, name := range []string{"one", "two", "three"} {
			a, b := Pipe()
			go server.Run(t.Context(), a)
			cs, err := sessionClient(&Implementation{Name: name, Version: "1"}, &ClientOptions{
				LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) {
					mu.Lock()
					defer mu.Unlock()
					heard[name] += fmt.Sprintf("%s:%s:%s ", p.Level, p.Logger, p.Data)
				},
			}).Connect(t.Context(), &ConnTransport{Conn: b})
			must(t, err)
			sessions = append(sessions, cs)
		}
		must(t, sessions[0].SetLoggingLevel(t.Context(), LevelError), sessions[1].SetLoggingLevel(t.Context(), LevelDebug))
		synctest.Wait() // the third is initialized, too
		must(t, server.Log(LevelDebug, "l", 1), server.Log(LevelInfo, "l", 2), server.Log(LevelError, "", 3))
		synctest.Wait()
		for _, cs := range sessions {
			must(t, cs.Close())
		}
		synctest.Wait()
		want := map[string]string{"one": "error::3 ", "two": "debug:l:1 info:l:2 error::3 ", "three": "info:l:2 error::3 "}
		if fmt.Sprint(heard) != fmt.Sprint(want) {
			t.Errorf("heard %v, want %v", heard, want)
		}
		if err := server.Log("loud", "", 1); err == nil || err.Error() != `mcp: unknown log level "loud"` {
			t.Errorf("level loud: %v", err)
		}
	})
}

// A message after the end of its request goes to the server's own logger.
func TestLogAfterTheEnd(t *testing.T) {
	var log bytes.Buffer
	server := newServer(t, &ServerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var late *Request
	must(t, AddTool(server, &Tool{Name: "log"}, func(_ context.Context, r *Request, _ struct{}) (string, error) {
		late = r
		return "", nil
	}))
	talk(t, serve(server), meet(Revision20250618, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log"}}
		< {"jsonrpc":"2.0","id":1,`+done+`
	`)
	late.Logger().Info("too late", "n", 1)
	if !strings.Contains(log.String(), `data="{\"msg\":\"too late\",\"n\":1}"`) {
		t.Errorf("the log is %q", log.String())
	}
	if err := late.Notify(t.Context(), "notifications/example", nil); err != ErrRequestOver {
		t.Errorf("Notify: %v", err)
	}
}

// Changes close together are told once, after they were made, and never before the
// client is initialized.
// FEAT-027 FEAT-028 FEAT-104 FEAT-158
func TestListChanged(t *testing.T) {
	read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
	prompt := func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }
	step := 0
	server := func(t *testing.T) *Server {
		step = 0
		s := newServer(t, &ServerOptions{HasResources: true, HasPrompts: true, Intercept: []Interceptor{
			func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
				if r.Method == methodPing { // before and after initialized
					for i := range 50 {
						must(t, addNothing(r.server, fmt.Sprint("t", step, "-", i)))
					}
					step++
				}
				return next(ctx)
			}}})
		must(t, AddTool(s, &Tool{Name: "change"}, func(_ context.Context, _ *Request, in struct {
			What string `json:"what"`
		}) (string, error) {
			switch in.What {
			case "tool":
				s.RemoveTools("t0-1", "t0-2")
			case "prompt":
				return "", s.AddPrompt(&Prompt{Name: "p"}, prompt)
			case "resource":
				return "", s.AddResource(&Resource{URI: "x:y", Name: "n"}, read)
			case "template":
				return "", s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{y}", Name: "n"}, read)
			case "all":
				s.RemovePrompts("p")
				s.RemoveResources("x:y")
				s.RemoveResourceTemplates("x:{y}")
				s.RemoveTools("t0-3")
			case "nothing":
				s.RemovePrompts("p")
				s.RemoveTools("t0-3", "none")
				return "", addNothing(s, "t0-4") // is there
			}
			return "", nil
		}))
		return s
	}
	change := func(what string) string {
		return `
			> {"jsonrpc":"2.0","id":"` + what + `","method":"tools/call","params":{"name":"change","arguments":{"what":"` + what + `"}}}
			< {"jsonrpc":"2.0","id":"` + what + `",`
	}
	const tools, prompts, resources = `
			< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `
			< {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`, `
			< {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
	for _, rev := range sessionRevisions() {
		t.Run(rev, func(t *testing.T) {
			opening, initialized, _ := strings.Cut(meet(rev, `{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}}`), "> {\"jsonrpc\":\"2.0\",\"method\"")
			talk(t, serve(server(t)), opening+`
				> {"jsonrpc":"2.0","id":1,"method":"ping"}
				< {"jsonrpc":"2.0","id":1,"result":{}}
				. 1s
				> {"jsonrpc":"2.0","method"`+initialized+`
				. 1s
				> {"jsonrpc":"2.0","id":2,"method":"ping"}
				< {"jsonrpc":"2.0","id":2,"result":{}}
				. 9ms
				. 1ms`+tools+change("tool")+done+`
				. 10ms`+tools+change("prompt")+done+`
				. 10ms`+prompts+change("resource")+done+`
				. 10ms`+resources+change("template")+done+`
				. 10ms`+resources+change("all")+done+`
				. 10ms`+tools+resources+prompts+change("nothing")+
				`"result":{"content":[{"type":"text","text":"mcp: tool \"t0-4\" is registered already"}],"isError":true}}
				. 1s
			`)
		})
	}
}

// A client that was not told of prompts hears nothing of them.
// FEAT-028
func TestListChangedOfWhatWasNotDeclared(t *testing.T) {
	s := newServer(t, nil)
	must(t, AddTool(s, &Tool{Name: "add"}, func(context.Context, *Request, struct{}) (string, error) {
		return "", s.AddPrompt(&Prompt{Name: "p"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil })
	}))
	talk(t, serve(s), meet(Revision20251125, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}
		< {"jsonrpc":"2.0","id":1,`+done+`
		. 1s
		> {"jsonrpc":"2.0","id":2,"method":"prompts/list"}
		< {"jsonrpc":"2.0","id":2,"result":{"prompts":[{"name":"p"}]}}
	`)
}

// What is hidden is unknown to everything.
// FEAT-128 FEAT-189
func TestBUG169HiddenIsUnknown(t *testing.T) {
	server := func(t *testing.T) *Server {
		s := newServer(t, &ServerOptions{
			PageSize:  2,
			Visible:   func(r *Request, kind, name string) bool { return !strings.Contains(name, "hidden") },
			Subscribe: func(context.Context, *Request, string) error { return nil },
			Complete:  func(context.Context, *Request, *CompleteParams) (*Completion, error) { return nil, nil },
		})
		read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
			return &ReadResourceResult{Contents: []*ResourceContents{{Text: "secret"}}}, nil
		}
		for _, name := range []string{"a", "hidden1", "hidden2", "k", "z"} {
			must(t, addNothing(s, name), s.AddPrompt(&Prompt{Name: name, Arguments: []*PromptArgument{{Name: "x"}}},
				func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) {
					return &GetPromptResult{}, nil
				}),
				s.AddResource(&Resource{URI: "x:" + name, Name: name}, read))
		}
		must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "hidden:{x}", Name: "n"}, read),
			s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{x}", Name: "n"}, read),
			s.AddResourceTemplate(&ResourceTemplate{URITemplate: "y:hidden/{x}", Name: "n"}, read),
			s.AddResourceTemplate(&ResourceTemplate{URITemplate: "y:{+y}", Name: "n"}, read))
		return s
	}
	tool := func(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }
	const argument = `"argument":{"name":"x","value":""}`
	everyRevision(t, server, allOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[`+tool("a")+`,`+tool("k")+`],"nextCursor":"dG9vbDpr"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"dG9vbDpr"}}
		< {"jsonrpc":"2.0","id":2,"result":{"tools":[`+tool("z")+`]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"hidden1"}}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown tool \"hidden1\""}}
		> {"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"hidden1"}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"unknown prompt \"hidden1\""}}
		> {"jsonrpc":"2.0","id":5,"method":"resources/list"}
		< {"jsonrpc":"2.0","id":5,"result":{"resources":[{"uri":"x:a","name":"a"},{"uri":"x:k","name":"k"}],"nextCursor":"cmVzb3VyY2U6eDpr"}}
		# neither by its own registration nor by a template
		> {"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"x:hidden1"}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32002,"message":"resource not found","data":{"uri":"x:hidden1"}}}
		> {"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"hidden:1"}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"resource not found","data":{"uri":"hidden:1"}}}
		> {"jsonrpc":"2.0","id":8,"method":"resources/subscribe","params":{"uri":"x:hidden1"}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32002,"message":"resource not found","data":{"uri":"x:hidden1"}}}
		> {"jsonrpc":"2.0","id":9,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"hidden1"},`+argument+`}}
		< {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"unknown prompt \"hidden1\""}}
		> {"jsonrpc":"2.0","id":10,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"hidden:{x}"},`+argument+`}}
		< {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"unknown resource template \"hidden:{x}\""}}
		# a hidden template does not stand in the way of the next
		> {"jsonrpc":"2.0","id":11,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"y:hidden/1"},"argument":{"name":"y","value":""}}}
		< {"jsonrpc":"2.0","id":11,"result":{"completion":{"values":[]}}}
		> {"jsonrpc":"2.0","id":12,"method":"resources/templates/list"}
		< {"jsonrpc":"2.0","id":12,"result":{"resourceTemplates":[{"uriTemplate":"x:{x}","name":"n"},{"uriTemplate":"y:{+y}","name":"n"}]}}
		> {"jsonrpc":"2.0","id":13,"method":"resources/read","params":{"uri":"x:k"}}
		< {"jsonrpc":"2.0","id":13,"result":{"contents":[{"uri":"x:k","text":"secret"}]}}
	`)
}

// Interceptors nest in their order, and may look, replace and refuse, also requests
// that are not of tools.
// FEAT-046
func TestIntercept(t *testing.T) {
	var order []string
	wrap := func(name string) Interceptor {
		return func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
			order = append(order, name+" "+r.Method)
			result, err := next(context.WithValue(ctx, contextKey{}, name))
			order = append(order, "/"+name)
			return result, err
		}
	}
	server := func(t *testing.T) *Server {
		order = nil
		s := newServer(t, &ServerOptions{Intercept: []Interceptor{wrap("outer"), wrap("inner"),
			func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
				switch r.ID.String() {
				case "1":
					return nil, Errorf(4711, "refused")
				case "2":
					return &CallToolResult{Content: []Content{&TextContent{Text: "replaced"}}}, nil
				case "3":
					result, err := next(ctx)
					result.(*CallToolResult).IsError = true
					return result, err
				case "4":
					return nil, nil
				case "5":
					return "text", nil
				case "6":
					return (*EmptyResult)(nil), nil
				}
				return next(ctx)
			}}})
		must(t, AddTool(s, &Tool{Name: "value"}, func(ctx context.Context, _ *Request, _ struct{}) (string, error) {
			return fmt.Sprint(ctx.Value(contextKey{})), nil
		}))
		return s
	}
	call := func(id, answer string) string {
		return `
			> {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"value"}}
			< {"jsonrpc":"2.0","id":` + id + `,` + answer
	}
	const internal = `"error":{"code":-32603,"message":"internal error"}}`
	everyRevision(t, server, toolOffers, call("0", `"result":{"content":[{"type":"text","text":"inner"}]}}`)+
		call("1", `"error":{"code":4711,"message":"refused"}}`)+
		call("2", `"result":{"content":[{"type":"text","text":"replaced"}]}}`)+
		call("3", `"result":{"content":[{"type":"text","text":"inner"}],"isError":true}}`)+
		call("4", internal)+call("5", internal)+call("6", internal)+`
		> {"jsonrpc":"2.0","id":7,"method":"ping"}
		< {"jsonrpc":"2.0","id":7,"result":{}}
		> {"jsonrpc":"2.0","id":8,"method":"none"}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method \"none\" not found"}}
	`)
	want := "outer initialize inner initialize /inner /outer outer tools/call inner tools/call /inner /outer"
	if got := strings.Join(order, " "); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "outer ping inner ping /inner /outer") {
		t.Errorf("order: %s", got)
	}
}

type contextKey struct{}

// FEAT-046
func TestRateLimit(t *testing.T) {
	server := func(t *testing.T) *Server {
		s := newServer(t, &ServerOptions{Intercept: []Interceptor{RateLimit(2, 3)}})
		must(t, addNothing(s, "t"))
		return s
	}
	call := func(id string, ok bool) string {
		answer := `"error":{"code":-32603,"message":"rate limit of 2 requests a second exceeded"}}`
		if ok {
			answer = `"result":{"content":[]}}`
		}
		return `
			> {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t"}}
			< {"jsonrpc":"2.0","id":` + id + `,` + answer
	}
	// initialize counts, too
	everyRevision(t, server, toolOffers, call("1", true)+call("2", true)+call("3", false)+`
		> {"jsonrpc":"2.0","id":4,"method":"ping"}
		< {"jsonrpc":"2.0","id":4,"result":{}}
		. 499ms`+call("5", false)+`
		. 1ms`+call("6", true)+call("7", false)+`
		. 1h`+call("8", true)+call("9", true)+call("10", true)+call("11", false)+`
	`)
}

// A limit is for one caller: by identity where there is one.
func TestRateLimitByCaller(t *testing.T) {
	limit := RateLimit(1, 1)
	call := func(r *Request) bool {
		_, err := limit(t.Context(), r, func(context.Context) (any, error) { return nil, nil })
		var e *Error
		if errors.As(err, &e) && (e.status != http.StatusTooManyRequests || e.header.Get("Retry-After") != "1") {
			t.Errorf("status %d, headers %v", e.status, e.header)
		}
		return err == nil
	}
	a, b := &session{}, &session{}
	ada, bob := &Identity{Subject: "ada"}, &Identity{Subject: "bob"}
	for i, tt := range []struct {
		r    *Request
		want bool
	}{
		{&Request{session: a}, true}, {&Request{session: a}, false}, {&Request{session: b}, true},
		{&Request{session: a, Identity: ada}, true}, {&Request{session: b, Identity: ada}, false}, {&Request{session: b, Identity: bob}, true},
		{&Request{session: a, Method: methodPing}, true},
	} {
		if got := call(tt.r); got != tt.want {
			t.Errorf("call %d: %v, want %v", i, got, tt.want)
		}
	}
}

// A registration that makes no sense names what is wrong, and nothing is served.
// FEAT-007 FEAT-010 FEAT-100 FEAT-123 FEAT-129 FEAT-156 FEAT-539
func TestRegistrationErrors(t *testing.T) {
	call := func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }
	read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
	get := func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }
	more := 1.5
	tool := func(t Tool) func(*Server) error { return func(s *Server) error { return s.AddTool(&t, call) } }
	resource := func(r Resource) func(*Server) error { return func(s *Server) error { return s.AddResource(&r, read) } }
	template := func(r ResourceTemplate) func(*Server) error {
		return func(s *Server) error { return s.AddResourceTemplate(&r, read) }
	}
	prompt := func(p Prompt) func(*Server) error { return func(s *Server) error { return s.AddPrompt(&p, get) } }
	for _, tt := range []struct {
		add  func(*Server) error
		want string
	}{
		{tool(Tool{}), `mcp: tool "": a Name has 1 to 128 characters, not 0`},
		{tool(Tool{Name: strings.Repeat("a", 129)}), `mcp: tool "` + strings.Repeat("a", 129) + `": a Name has 1 to 128 characters, not 129`},
		{tool(Tool{Name: "a b"}), `mcp: tool "a b": a Name has only letters, digits, '_', '-' and '.', not ' '`},
		{tool(Tool{Name: "a,b"}), `mcp: tool "a,b": a Name has only letters, digits, '_', '-' and '.', not ','`},
		{tool(Tool{Name: "ünï"}), `mcp: tool "ünï": a Name has only letters, digits, '_', '-' and '.', not 'ü'`},
		{func(s *Server) error { return s.AddTool(&Tool{Name: "a"}, nil) }, `mcp: tool "a": no handler`},
		{tool(Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"array"}`)}), `mcp: tool "a": InputSchema: type must be "object"`},
		{tool(Tool{Name: "a", InputSchema: json.RawMessage(`null`)}), `mcp: tool "a": InputSchema: `},
		{tool(Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":5}`)}), `mcp: tool "a": InputSchema: `},
		{tool(Tool{Name: "a", OutputSchema: json.RawMessage(`{"type":"objekt"}`)}), `mcp: tool "a": OutputSchema: `},
		{tool(Tool{Name: "a", Icons: []Icon{{Source: "javascript:alert(1)"}}}), `mcp: tool "a": in Icons: mcp: icon "javascript:alert(1)" is neither an https: nor a data: URI`},
		{tool(Tool{Name: "a", Meta: Meta{"io.modelcontextprotocol/x": 1}}), `mcp: tool "a": in Meta: mcp: prefix of _meta key "io.modelcontextprotocol/x" is reserved for the protocol`},
		{tool(Tool{Name: "a", Meta: Meta{"f": func() {}}}), `mcp: tool "a": _meta.f: json: unsupported type: func()`},
		{func(s *Server) error { return errors.Join(addNothing(s, "a"), addNothing(s, "a")) }, `mcp: tool "a" is registered already`},
		{func(s *Server) error {
			return AddTool(s, &Tool{Name: "a"}, func(context.Context, *Request, func()) (string, error) { return "", nil })
		}, `mcp: tool "a": InputSchema: `},
		{func(s *Server) error {
			return AddTool(s, &Tool{Name: "a"}, func(context.Context, *Request, struct{}) (func(), error) { return nil, nil })
		}, `mcp: tool "a": OutputSchema: `},
		{func(s *Server) error { return AddTool[struct{}, string](s, &Tool{Name: "a"}, nil) }, `mcp: tool "a": no handler`},
		{func(s *Server) error {
			return AddTool(s, &Tool{Name: "a"}, func(context.Context, *Request, string) (string, error) { return "", nil })
		}, `mcp: tool "a": InputSchema: type must be "object"`},
		{resource(Resource{URI: "no scheme", Name: "n"}), `mcp: resource "no scheme": `},
		{resource(Resource{URI: "my_scheme:x", Name: "n"}), `mcp: resource "my_scheme:x": `},
		{resource(Resource{URI: "x:y"}), `mcp: resource "x:y": no Name`},
		{resource(Resource{URI: "x:y", Name: "n", Annotations: &Annotations{Priority: &more}}), `mcp: resource "x:y": Annotations: Priority must be 0 to 1, not 1.5`},
		{resource(Resource{URI: "x:y", Name: "n", Annotations: &Annotations{Audience: []Role{"all"}}}), `mcp: resource "x:y": Annotations: Audience must be user or assistant, not "all"`},
		{func(s *Server) error { return s.AddResource(&Resource{URI: "x:y", Name: "n"}, nil) }, `mcp: resource "x:y": no handler`},
		{func(s *Server) error {
			return errors.Join(resource(Resource{URI: "x:y", Name: "n"})(s), resource(Resource{URI: "x:y", Name: "m"})(s))
		}, `mcp: resource "x:y" is registered already`},
		{template(ResourceTemplate{URITemplate: "x:{", Name: "n"}), `mcp: resource template "x:{": `},
		{template(ResourceTemplate{URITemplate: "x:{y}"}), `mcp: resource template "x:{y}": no Name`},
		{prompt(Prompt{}), `mcp: prompt "": no Name`},
		{prompt(Prompt{Name: "p", Arguments: []*PromptArgument{{Name: "a"}, {Name: "a"}}}), `mcp: prompt "p": all Arguments must have names, and no two the same`},
		{prompt(Prompt{Name: "p", Arguments: []*PromptArgument{nil}}), `mcp: prompt "p": all Arguments must have names, and no two the same`},
		{func(s *Server) error { return s.AddPrompt(&Prompt{Name: "p"}, nil) }, `mcp: prompt "p": no handler`},
		{func(s *Server) error { return errors.Join(prompt(Prompt{Name: "p"})(s), prompt(Prompt{Name: "p"})(s)) }, `mcp: prompt "p" is registered already`},
	} {
		s := newServer(t, nil)
		err := tt.add(s)
		exact := !strings.HasSuffix(tt.want, ": ")
		if err == nil || exact && err.Error() != tt.want || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("registration: %v, want %s", err, tt.want)
			continue
		}
		a, _ := Pipe()
		if again := s.Run(t.Context(), a); again == nil || again.Error() != err.Error() {
			t.Errorf("Run: %v, want %v", again, err)
		}
		if _, readErr := a.Read(); readErr == nil {
			t.Error("Run left the connection open")
		}
		h, l := &HTTPHandler{Server: s}, listenMemory()
		if again := h.Serve(t.Context(), l, nil); again == nil || again.Error() != err.Error() {
			t.Errorf("Serve: %v, want %v", again, err)
		}
		if _, acceptErr := l.Accept(); acceptErr == nil {
			t.Error("Serve left the listener open")
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(initializeBody(1)))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
		message, _ := json.Marshal(err.Error())
		want(t, "POST", w.Code, 500)
		if got := w.Body.String(); !strings.Contains(got, `"code":-32603,"message":`+string(message)) {
			t.Errorf("POST: %s, want %s", got, message)
		}
	}
}

// FEAT-007 E11.8
func TestGoodNames(t *testing.T) {
	s := newServer(t, nil)
	for _, name := range []string{"getUser", "DATA_EXPORT_v2", "admin.tools.list", "a", strings.Repeat("x", 128), "-", "9"} {
		must(t, addNothing(s, name))
	}
}

// What is wrong with a server's options is told by Run.
//
// BASE-093
func TestServerOptionErrors(t *testing.T) {
	good := Implementation{Name: "n", Version: "v"}
	for _, tt := range []struct {
		info Implementation
		opts *ServerOptions
		want string
	}{
		{Implementation{Name: "n"}, nil, "mcp: a server's Implementation needs a Name and a Version"},
		{Implementation{Version: "v"}, nil, "mcp: a server's Implementation needs a Name and a Version"},
		{Implementation{Name: "n", Version: "v", Icons: []Icon{{Source: "ftp://x"}}}, nil, `mcp: server's Implementation: in Icons: mcp: icon "ftp://x" is neither an https: nor a data: URI`},
		{good, &ServerOptions{Revisions: []string{"2025-01-01"}}, `mcp: unknown revision "2025-01-01" in ServerOptions.Revisions`},
		{good, &ServerOptions{Extensions: Extensions{"tasks": json.RawMessage("{}")}}, `mcp: ServerOptions.Extensions: extension "tasks" has no prefix`},
		{good, &ServerOptions{Extensions: Extensions{"1a/x": json.RawMessage("{}")}}, `mcp: ServerOptions.Extensions: extension "1a/x": mcp: prefix of _meta key "1a/x": label "1a" must begin with a letter and have only letters, digits and hyphens`},
		{good, &ServerOptions{Extensions: Extensions{"com.example/x": json.RawMessage("true")}}, `mcp: ServerOptions.Extensions: settings of extension "com.example/x" must be a JSON object, not "true"`},
		{good, &ServerOptions{Extensions: Extensions{"com.example/x": nil}}, `mcp: ServerOptions.Extensions: settings of extension "com.example/x" must be a JSON object, not ""`},
		{good, &ServerOptions{LogLevel: "loud"}, `mcp: unknown level "loud" in ServerOptions.LogLevel`},
	} {
		a, _ := Pipe()
		if err := NewServer(&tt.info, tt.opts).Run(t.Context(), a); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// A registration that fails while the server is in use does not cost new clients what
// is there.
func TestLateRegistrationError(t *testing.T) {
	s := testServer(t, nil)
	for range 2 {
		talk(t, serve(s), hello(Revision20251125, "{}"))
		if err := addNothing(s, "echo"); err == nil {
			t.Error("echo was registered twice")
		}
	}
}

// A client that does not answer three pings is gone; one that does not know ping is left
// alone.
// BASE-157
func TestServerKeepAlive(t *testing.T) {
	server := newServer(t, &ServerOptions{NoLogging: true, KeepAlive: 10 * time.Second})
	ping := func(id string) string { return `< {"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	ended := make(chan error, 2)
	subject := func(ctx context.Context, c Conn) { ended <- server.Run(ctx, c) }
	lost := func(id string) string {
		return `< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"mcp: ping: neither answer nor progress for 10s"}}`
	}
	talk(t, subject, meet(Revision20251125, `{}`)+`
		. 10s
		`+ping("1")+`
		> {"jsonrpc":"2.0","id":1,"result":{}}
		. 10s
		`+ping("2")+`
		. 10s
		`+lost("2")+`
		`+ping("3")+`
		. 9s
		> {"jsonrpc":"2.0","id":3,"result":{}}
		. 1s
		`+ping("4")+`
		. 10s
		`+lost("4")+`
		`+ping("5")+`
		. 10s
		`+lost("5")+`
		`+ping("6")+`
		. 10s
		`+lost("6")+`
	`)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "no answer to 3 pings") {
		t.Errorf("Run: %v", err)
	}
	talk(t, subject, meet(Revision20251125, `{}`)+`
		. 10s
		`+ping("1")+`
		> {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}
		. 1h
	`)
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// nothing is a handler for tools whose call is beside the point.
func nothing[In any](context.Context, *Request, In) (string, error) { return "", nil }

type unions struct {
	Bool *bool          `json:"bool,omitempty"`
	List []string       `json:"list,omitempty"`
	Sub  *echoInput     `json:"sub,omitempty"`
	Map  map[string]int `json:"map,omitempty"`
}

func TestBUG154NoNullUnions(t *testing.T) {
	s := newServer(t, nil)
	must(t, AddTool(s, &Tool{Name: "t"}, func(_ context.Context, _ *Request, in unions) (string, error) { return fmt.Sprint(in), nil }))
	talk(t, serve(s), meet(Revision20250618, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"bool":{"type":"boolean"},"list":{"type":"array","items":{"type":"string"}},"sub":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},"map":{"type":"object","additionalProperties":{"type":"integer"}}},"additionalProperties":false}}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{<nil> [] <nil> map[]}"}]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{"bool":null,"list":null}}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"invalid arguments for tool \"t\": /bool: want boolean, got null; /list: want array, got null"}],"isError":true}}
	`)
}

// FEAT-005
func TestBUG155NoArguments(t *testing.T) {
	s := newServer(t, nil)
	must(t, AddTool(s, &Tool{Name: "typed"}, nothing[struct{}]), addNothing(s, "given"),
		s.AddTool(&Tool{Name: "raw"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }))
	call := func(id, name, arguments, answer string) string {
		return `
			> {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"` + arguments + `}}
			< {"jsonrpc":"2.0","id":` + id + `,` + answer
	}
	talk(t, serve(s), meet(Revision20250618, toolOffers)+`
		> {"jsonrpc":"2.0","id":0,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":0,"result":{"tools":[{"name":"given","inputSchema":{"type":"object"}},{"name":"raw","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"typed","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]}}`+
		call("1", "typed", ``, done)+call("2", "typed", `,"arguments":{}`, done)+call("3", "typed", `,"arguments":null`, done)+
		call("4", "raw", ``, `"result":{"content":[]}}`)+call("5", "raw", `,"arguments":{}`, `"result":{"content":[]}}`)+
		call("6", "raw", `,"arguments":{"x":1}`, `"result":{"content":[{"type":"text","text":"invalid arguments for tool \"raw\": /x: not allowed"}],"isError":true}}`)+`
	`)
}

type shout string

func (s *shout) UnmarshalText(text []byte) error {
	*s = shout(strings.ToUpper(string(text)))
	return nil
}
func (s shout) MarshalText() ([]byte, error) { return []byte(s), nil }

type embedded struct {
	Inner int `json:"inner"`
}

type special struct {
	embedded
	When  time.Time       `json:"when"`
	Raw   json.RawMessage `json:"raw"`
	Loud  shout           `json:"loud"`
	Bytes []byte          `json:"bytes"`
}

// BUG-160: the schema is that of the JSON that the types read and write.
func TestBUG160SpecialTypes(t *testing.T) {
	s := newServer(t, nil)
	must(t, AddTool(s, &Tool{Name: "t"}, func(_ context.Context, _ *Request, in special) (special, error) { return in, nil }))
	const value = `{"inner":1,"when":"2025-01-12T15:00:58Z","raw":[1.0],"loud":"HI","bytes":"AQI="}`
	const schema = `{"type":"object","properties":{"inner":{"type":"integer"},"when":{"type":"string","format":"date-time"},"raw":{},"loud":{"type":"string"},"bytes":{"type":"string","contentEncoding":"base64"}},"required":["inner","when","raw","loud","bytes"],"additionalProperties":false}`
	text, _ := json.Marshal(value)
	talk(t, serve(s), meet(Revision20250618, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":`+schema+`,"outputSchema":`+schema+`}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":`+strings.Replace(value, "HI", "hi", 1)+`}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":`+string(text)+`}],"structuredContent":`+value+`}}
	`)
}

// BUG-163: a reference to elsewhere is not followed; the tool cannot be registered.
//
// FEAT-511
func TestBUG163RemoteReference(t *testing.T) {
	asked := make(chan struct{}, 1)
	far := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	defer far.Close()
	ref := json.RawMessage(`{"$ref":"` + far.URL + `/s.json"}`)
	err := newServer(t, nil).AddTool(&Tool{Name: "t", OutputSchema: ref}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), far.URL+"/s.json") {
		t.Errorf("AddTool: %v", err)
	}
	select {
	case <-asked:
		t.Error("the reference was followed")
	default:
	}
}

// fakeServer plays a server to a client: it answers initialize at a revision, and then
// each request by its method.
func fakeServer(t *testing.T, rev string, answers map[string]string) *ClientSession {
	t.Helper()
	a, b := Pipe()
	go func() {
		for {
			data, err := a.Read()
			if err != nil {
				return
			}
			m := &parseFrame(data).messages[0]
			result, ok := answers[m.method]
			if m.method == methodInitialize {
				result, ok = `{"protocolVersion":"`+rev+`","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"f","version":"1"}}`, true
			}
			if ok && m.kind == requestMessage {
				_ = a.Write([]byte(`{"jsonrpc":"2.0","id":` + m.id.String() + `,"result":` + result + `}`))
			}
		}
	}()
	cs, err := sessionClient(&Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), &ConnTransport{Conn: b})
	must(t, err)
	t.Cleanup(func() { must(t, cs.Close()) })
	return cs
}

// The server's side is TestBUG158ToolResults.
// FEAT-058 FEAT-059
func TestBUG164OutputSchemaAndErrors(t *testing.T) {
	const list = `{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"]}}]}`
	for _, tt := range []struct{ result, want string }{
		{`{"content":[],"isError":true}`, ""},
		{`{"content":[],"structuredContent":{"x":1},"isError":true}`, ""},
		{`{"content":[],"structuredContent":{"n":1}}`, ""},
		{`{"content":[],"structuredContent":{"x":1}}`, `mcp: invalid response: result of tool "t": the value: "n" is missing`},
		{`{"content":[]}`, `mcp: invalid response: tool "t" has an output schema but returned no structured content`},
	} {
		cs := fakeServer(t, Revision20250618, map[string]string{methodToolsList: list, methodToolsCall: tt.result})
		_, err := cs.ListTools(t.Context(), nil)
		must(t, err)
		result, err := cs.CallTool(t.Context(), "t", nil)
		if got := fmt.Sprint(err); result == nil || tt.want == "" && err != nil || tt.want != "" && got != tt.want {
			t.Errorf("%s: %v, want %q", tt.result, err, tt.want)
		}
		if (tt.want != "") != errors.Is(err, ErrInvalidResponse) {
			t.Errorf("%s: %v is not ErrInvalidResponse", tt.result, err)
		}
	}
}

// FEAT-045 FEAT-532 FEAT-544 FEAT-545
func TestBUG166ContentKeepsItsMembers(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"a","annotations":{"priority":0.0,"x":1},"_meta":{"k":1.0},"y":2},` +
		`{"type":"resource_link","uri":"a:b","name":"n","title":"T","size":0,"icons":[{"src":"https://e.com/i","sizes":"48x48"}]},` +
		`{"type":"resource","resource":{"uri":"a:b","blob":"AQI=","_meta":{"k":true}}},{"type":"x-new","z":[1.0]}]}`
	cs := fakeServer(t, Revision20251125, map[string]string{methodToolsCall: result})
	r, err := cs.CallTool(t.Context(), "t", nil)
	must(t, err)
	text, link, embedded, unknown := r.Content[0].(*TextContent), r.Content[1].(*ResourceLink), r.Content[2].(*EmbeddedResource), r.Content[3].(*UnknownContent)
	if text.Text != "a" || *text.Annotations.Priority != 0 || string(text.Annotations.Extra["x"]) != "1" || text.Meta["k"] != json.Number("1.0") || string(text.Extra["y"]) != "2" {
		t.Errorf("text: %+v", text)
	}
	if link.Title != "T" || link.Size == nil || *link.Size != 0 || !slices.Equal(link.Icons[0].Sizes, []string{"48x48"}) {
		t.Errorf("link: %+v", link)
	}
	if data, err := embedded.Resource.Blob.Bytes(); err != nil || !bytes.Equal(data, []byte{1, 2}) || embedded.Resource.Meta["k"] != true {
		t.Errorf("embedded: %+v", embedded.Resource)
	}
	if unknown.Type != "x-new" || string(unknown.Raw) != `{"type":"x-new","z":[1.0]}` || r.IsError {
		t.Errorf("unknown: %+v", unknown)
	}
}

// FEAT-014 FEAT-015 E1.12
func TestBUG167FalseHints(t *testing.T) {
	s := newServer(t, nil)
	must(t, AddTool(s, &Tool{Name: "a", Annotations: &ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(false)}}, nothing[struct{}]),
		AddTool(s, &Tool{Name: "b", Annotations: &ToolAnnotations{}}, nothing[struct{}]), AddTool(s, &Tool{Name: "c"}, nothing[struct{}]))
	const schema = `"inputSchema":{"type":"object","properties":{},"additionalProperties":false}`
	talk(t, serve(s), meet(Revision20250326, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a",`+schema+`,"annotations":{"readOnlyHint":false,"destructiveHint":false}},{"name":"b",`+schema+`,"annotations":{}},{"name":"c",`+schema+`}]}}
	`)
	for _, tt := range []struct {
		a    *ToolAnnotations
		want string
	}{
		{nil, "false true false true"}, {&ToolAnnotations{}, "false true false true"},
		{&ToolAnnotations{ReadOnlyHint: new(true), DestructiveHint: new(false), IdempotentHint: new(true), OpenWorldHint: new(false)}, "true false true false"},
	} {
		readOnly, destructive, idempotent, openWorld := tt.a.Hints()
		if got := fmt.Sprint(readOnly, " ", destructive, " ", idempotent, " ", openWorld); got != tt.want {
			t.Errorf("hints %s, want %s", got, tt.want)
		}
	}
}

// templateTalk reads URIs of one template and expects one variable, or nothing found.
func templateTalk(t *testing.T, template, variable string, reads map[string]string) {
	t.Helper()
	s := newServer(t, nil)
	must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: template, Name: "n"}, func(_ context.Context, r *Request, p *ReadResourceParams) (*ReadResourceResult, error) {
		return &ReadResourceResult{Contents: []*ResourceContents{{Text: r.Variables[variable]}}}, nil
	}))
	script := ""
	for i, uri := range sortedKeys(reads) {
		answer := `"result":{"contents":[{"uri":"` + uri + `","text":"` + reads[uri] + `"}]}}`
		if reads[uri] == "" {
			answer = `"error":{"code":-32002,"message":"resource not found","data":{"uri":"` + uri + `"}}}`
		}
		script += fmt.Sprintf(`
			> {"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"%s"}}
			< {"jsonrpc":"2.0","id":%[1]d,%[3]s`, i, uri, answer)
	}
	talk(t, serve(s), meet(Revision20251125, `{"logging":{},"resources":{"listChanged":true}}`)+script)
}

func TestBUG173ReadByTemplate(t *testing.T) {
	templateTalk(t, "res://x/{id}", "id", map[string]string{"res://x/a%2Fb": "a/b", "res://x/a/b": "", "res://x/a%2520b": "a%20b"})
	templateTalk(t, "res://f/{+path}", "path", map[string]string{"res://f/a/b.txt": "a/b.txt"})
}

func TestBUG175ReadByLiteralForms(t *testing.T) {
	templateTalk(t, "file:///docs/café/{n}", "n", map[string]string{"file:///docs/caf%C3%A9/1": "1", "file:///docs/café/1": "1", "file:///docs/cafe/1": ""})
}

func TestBUG178RegisteredURIs(t *testing.T) {
	read := func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }
	s := newServer(t, nil)
	must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "repo://{owner}/{repo}/contents{/path*}", Name: "n"}, read),
		s.AddResource(&Resource{URI: "urn:x:y", Name: "n"}, read), s.AddResource(&Resource{URI: "memo:1", Name: "n"}, read))
	if err := s.AddResource(&Resource{URI: "no scheme", Name: "n"}, read); err == nil {
		t.Error("no scheme was accepted")
	}
}

func TestBUG181CompletionWithoutValues(t *testing.T) {
	prompt := func(s *Server) *Server {
		must(t, s.AddPrompt(&Prompt{Name: "p", Arguments: []*PromptArgument{{Name: "a"}}}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }))
		return s
	}
	const ask = `
		> {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}
		< {"jsonrpc":"2.0","id":1,`
	everyRevision(t, func(t *testing.T) *Server { return prompt(newServer(t, nil)) }, `{"logging":{},"prompts":{"listChanged":true}}`,
		ask+`"error":{"code":-32601,"message":"method \"completion/complete\" is not offered by this server"}}`)
	empty := func(context.Context, *Request, *CompleteParams) (*Completion, error) { return &Completion{}, nil }
	everyRevision(t, func(t *testing.T) *Server { return prompt(newServer(t, &ServerOptions{Complete: empty})) },
		`{"logging":{}⟦2025-03-26:,"completions":{}⟧,"prompts":{"listChanged":true}}`, ask+`"result":{"completion":{"values":[]}}}`)
}

func TestBUG184PromptWithBlob(t *testing.T) {
	cs := fakeServer(t, Revision20250326, map[string]string{methodPromptsGet: `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","blob":"+/8="}}}]}`})
	r, err := cs.GetPrompt(t.Context(), "p", nil)
	must(t, err)
	resource := r.Messages[0].Content.(*EmbeddedResource).Resource
	if data, err := resource.Blob.Bytes(); err != nil || !bytes.Equal(data, []byte{0xfb, 0xff}) || resource.MIMEType != "x/y" {
		t.Errorf("%+v: %v", resource, err)
	}
}

func TestBUG229LogsBeforeSetLevel(t *testing.T) {
	server := func(t *testing.T) *Server {
		s := newServer(t, nil)
		must(t, AddTool(s, &Tool{Name: "log"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
			return "", errors.Join(r.Log(ctx, LevelDebug, "", 1), r.Log(ctx, LevelInfo, "", 2), r.Log(ctx, LevelError, "", 3))
		}))
		return s
	}
	everyRevision(t, server, toolOffers, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log"}}
		< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":2}}
		< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":3}}
		< {"jsonrpc":"2.0","id":1,`+done+`
		> {"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}
		< {"jsonrpc":"2.0","id":2,"result":{}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"log"}}
		< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":3}}
		< {"jsonrpc":"2.0","id":3,`+done+`
		> {"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"loud"}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"level must be one of [\"debug\" \"info\" \"notice\" \"warning\" \"error\" \"critical\" \"alert\" \"emergency\"], not \"loud\""}}
	`)
}

// A handler is called for each notification, and no schema of the old list of tools is
// held against later results.
// FEAT-030 FEAT-136
func TestBUG232ListChangedReachesTheClient(t *testing.T) {
	var heard []string
	note := func(name string) func(context.Context, *ClientSession) {
		return func(context.Context, *ClientSession) { heard = append(heard, name) }
	}
	s := newServer(t, &ServerOptions{HasResources: true, HasPrompts: true, Subscribe: func(context.Context, *Request, string) error { return nil }})
	structured := func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) {
		return &CallToolResult{StructuredContent: json.RawMessage(`{"b":1}`)}, nil
	}
	must(t, s.AddTool(&Tool{Name: "t", OutputSchema: json.RawMessage(`{"type":"object","required":["a"]}`)}, structured),
		s.AddResource(&Resource{URI: "x:y", Name: "n"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		go s.Run(t.Context(), a)
		cs, err := sessionClient(&Implementation{Name: "c", Version: "1"}, &ClientOptions{
			ToolsChanged: note("tools"), PromptsChanged: note("prompts"), ResourcesChanged: note("resources"),
			ResourceUpdated: func(_ context.Context, _ *ClientSession, p *ResourceUpdatedParams) { heard = append(heard, p.URI) },
		}).Connect(t.Context(), &ConnTransport{Conn: b})
		must(t, err)
		_, err = cs.ListTools(t.Context(), nil)
		must(t, err, cs.Subscribe(t.Context(), "x:y"))
		s.RemoveTools("t")
		must(t, s.AddTool(&Tool{Name: "t", OutputSchema: json.RawMessage(`{"type":"object","required":["b"]}`)}, structured),
			s.AddPrompt(&Prompt{Name: "p"}, func(context.Context, *Request, *GetPromptParams) (*GetPromptResult, error) { return nil, nil }))
		s.RemoveResources("none")
		must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{y}", Name: "n"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
			return nil, nil
		}))
		s.ResourceUpdated("x:y")
		time.Sleep(coalesce) // virtual
		synctest.Wait()
		_, err = cs.CallTool(t.Context(), "t", nil)
		must(t, err)
		must(t, cs.Close())
		synctest.Wait()
	})
	if got, want := strings.Join(heard, " "), "tools resources prompts x:y"; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
}

// The schemas of a type are derived and compiled once, however many servers there are.
func TestBUG223SchemaWorkOncePerType(t *testing.T) {
	var tools []*tool
	for range 2 {
		s := newServer(t, nil)
		must(t, AddTool(s, &Tool{Name: "a"}, func(context.Context, *Request, addInput) (sum, error) { return sum{}, nil }))
		tools = append(tools, s.tools.entries...)
	}
	if a, b := tools[0], tools[1]; a.input == nil || a.input != b.input || a.output == nil || a.output != b.output {
		t.Errorf("schemas %p %p and %p %p, want the same", a.input, a.output, b.input, b.output)
	}
}

// Interceptors are fixed with the server's options: the caller's list does not count
// afterwards, and cannot pile up.
func TestBUG238InterceptorsAreFixed(t *testing.T) {
	calls := 0
	count := func(ctx context.Context, _ *Request, next func(context.Context) (any, error)) (any, error) {
		calls++
		return next(ctx)
	}
	opts := &ServerOptions{}
	opts.Intercept = append(make([]Interceptor, 0, 20), count)
	s := testServer(t, opts)
	for range 12 {
		opts.Intercept = append(opts.Intercept, count)
	}
	opts.Intercept[0] = nil
	talk(t, serve(s), hello("2025-11-25", "{}")+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}
	`)
	if calls != 2 { // initialize, and the call
		t.Errorf("the interceptor was called %d times, want 2", calls)
	}
}

// What belongs to a request is in its Request, not in what stands around it.
func TestBUG239WhatARequestCarries(t *testing.T) {
	type seen struct {
		method, meta, client string
		header               string
		subject              string
	}
	var got []seen
	look := func(_ context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		got = append(got, seen{r.Method, fmt.Sprint(r.Meta["tenant"]), r.Client.Name, r.Header.Get("X-Tenant"), r.Identity.Subject})
		return &CallToolResult{}, nil
	}
	list := []Interceptor{look}
	s := testServer(t, &ServerOptions{Intercept: list})
	list[0] = nil // of the caller's
	ss := s.newSession()
	defer ss.end()
	ss.opened.Store(&opening{rev: newestSession, client: &Implementation{Name: "c"}, caps: &ClientCapabilities{}})
	for _, tenant := range []string{"a", "b"} {
		f := parseFrame([]byte(`{"jsonrpc":"2.0","id":"` + tenant + `","method":"tools/call","params":{"name":"echo","_meta":{"tenant":"` + tenant + `"}}}`))
		in := &incoming{message: f.messages[0], p: ss.p, rev: newestSession,
			a: &arrival{header: http.Header{"X-Tenant": {tenant}}, identity: &Identity{Subject: "of " + tenant}}}
		_, err := ss.request(t.Context(), in)
		must(t, err)
	}
	want := []seen{{methodToolsCall, "a", "c", "a", "of a"}, {methodToolsCall, "b", "c", "b", "of b"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

type word string

// What a typed handler can return.
// FEAT-044 FEAT-051
func TestTypedResults(t *testing.T) {
	s := newServer(t, nil)
	text := &TextContent{Text: "x"}
	must(t,
		AddTool(s, &Tool{Name: "word"}, func(context.Context, *Request, struct{}) (word, error) { return "w", nil }),
		AddTool(s, &Tool{Name: "block"}, func(context.Context, *Request, struct{}) (Content, error) { return text, nil }),
		AddTool(s, &Tool{Name: "pointer"}, func(context.Context, *Request, struct{}) (*TextContent, error) { return text, nil }),
		AddTool(s, &Tool{Name: "blocks"}, func(context.Context, *Request, struct{}) ([]Content, error) { return []Content{text, text}, nil }),
		AddTool(s, &Tool{Name: "none"}, func(context.Context, *Request, struct{}) ([]Content, error) { return nil, nil }),
		AddTool(s, &Tool{Name: "result"}, func(context.Context, *Request, struct{}) (*CallToolResult, error) { return nil, nil }),
		AddTool(s, &Tool{Name: "any"}, func(context.Context, *Request, struct{}) (any, error) { return map[string]int{"a": 1}, nil }),
		AddTool(s, &Tool{Name: "map"}, func(context.Context, *Request, map[string]int) (map[string]int, error) {
			return map[string]int{"<": 1}, nil
		}),
		AddTool(s, &Tool{Name: "unable"}, func(context.Context, *Request, struct{}) (any, error) { return math.NaN(), nil }),
	)
	call := func(name, result string) string {
		return `
			> {"jsonrpc":"2.0","id":"` + name + `","method":"tools/call","params":{"name":"` + name + `"}}
			< {"jsonrpc":"2.0","id":"` + name + `","result":` + result + `}`
	}
	const x = `{"type":"text","text":"x"}`
	talk(t, serve(s), meet(Revision20251125, toolOffers)+
		call("word", `{"content":[{"type":"text","text":"w"}]}`)+
		call("block", `{"content":[`+x+`]}`)+
		call("pointer", `{"content":[`+x+`]}`)+
		call("blocks", `{"content":[`+x+`,`+x+`]}`)+
		call("none", `{"content":[]}`)+
		call("result", `{"content":[]}`)+
		call("any", `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`)+
		call("map", `{"content":[{"type":"text","text":"{\"<\":1}"}],"structuredContent":{"<":1}}`)+
		call("unable", `{"content":[{"type":"text","text":"result: json: unsupported value: NaN"}],"isError":true}`))
}

// Of what waits for a slow client, the oldest is lost, and that is told.
func TestMailIsBounded(t *testing.T) {
	var log bytes.Buffer
	m := mailbox{log: slog.New(slog.NewTextHandler(&log, nil)), wake: make(chan struct{}, 1), open: true}
	for i := range maxMail + 2 {
		m.post(mailItem{noteMessage, i})
	}
	items := m.empty()
	if len(items) != maxMail || items[0].params != 2 {
		t.Errorf("%d items, from %v", len(items), items[0].params)
	}
	if n := strings.Count(log.String(), "a notification is lost"); n != 2 {
		t.Errorf("%d losses were told, want 2", n)
	}
}

// The order of a list is that of names, byte by byte, and each list is the same bytes as
// the one before.
// FEAT-010 FEAT-021 FEAT-101 FEAT-156
func TestListIsStable(t *testing.T) {
	server := func(t *testing.T) *Server {
		s := newServer(t, nil)
		for _, name := range []string{"b", "B", "a.b", "a", "a-b"} {
			must(t, addNothing(s, name))
		}
		return s
	}
	script := ""
	for i := range 20 {
		script += fmt.Sprintf(`
			> {"jsonrpc":"2.0","id":%d,"method":"tools/list"}
			< {"jsonrpc":"2.0","id":%[1]d,"result":{"tools":[%s]}}`, i, strings.Join([]string{
			`{"name":"B","inputSchema":{"type":"object"}}`, `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"a-b","inputSchema":{"type":"object"}}`,
			`{"name":"a.b","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`}, ","))
	}
	everyRevision(t, server, toolOffers, script)
}

// FEAT-012 FEAT-013
func TestDisplayName(t *testing.T) {
	for _, tt := range []struct {
		tool Tool
		want string
	}{
		{Tool{Name: "n"}, "n"},
		{Tool{Name: "n", Annotations: &ToolAnnotations{}}, "n"},
		{Tool{Name: "n", Annotations: &ToolAnnotations{Title: "A"}}, "A"},
		{Tool{Name: "n", Title: "T", Annotations: &ToolAnnotations{Title: "A"}}, "T"},
	} {
		if got := tt.tool.DisplayName(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	s := newServer(t, nil)
	must(t, s.AddTool(&Tool{Name: "n", Title: "T"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }))
	talk(t, serve(s), meet(Revision20251125, toolOffers)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"T"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool \"T\""}}
	`)
}

// A request is over when it is answered, also by a panic: nothing more is said for it,
// and nothing asked.
func TestRequestIsOver(t *testing.T) {
	s := newServer(t, nil)
	var got journal
	for name, end := range map[string]func() (string, error){
		"ends":   func() (string, error) { return "", nil },
		"panics": func() (string, error) { panic("ends") },
	} {
		must(t, AddTool(s, &Tool{Name: name}, func(_ context.Context, r *Request, _ struct{}) (string, error) {
			go func() {
				time.Sleep(time.Second)
				_, err := r.Elicit(context.Background(), Confirm("?"))
				got.add("%v", errors.Join(err, r.Progress(context.Background(), 1, 0, ""), r.Notify(context.Background(), "notifications/x", nil)))
			}()
			return end()
		}))
	}
	talk(t, serve(s), hello("2025-11-25", `{"elicitation":{}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ends","_meta":{"progressToken":1}}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"panics","_meta":{"progressToken":2}}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}
		. 5s
	`)
	over := strings.Repeat(ErrRequestOver.Error()+"\n", 3)[:3*len(ErrRequestOver.Error())+2]
	want(t, "errors", &got, over+"; "+over)
}

type panicsEncoded struct{}

func (panicsEncoded) MarshalJSON() ([]byte, error) { panic("encoding") }

// A panic of a type that encodes itself costs the request, as one of its handler does.
func TestEncodingPanics(t *testing.T) {
	s := newServer(t, nil)
	must(t, s.AddTool(&Tool{Name: "bad"}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) {
		return &CallToolResult{Meta: Meta{"a": panicsEncoded{}}}, nil
	}))
	talk(t, serve(s), hello("2025-11-25", "{}")+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bad"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":2,"method":"ping"}
		< {"jsonrpc":"2.0","id":2,"result":{}}
	`)
}

// What is kept of a client's words is bounded in size, too.
func TestLongURIIsNotFollowed(t *testing.T) {
	s := newServer(t, &ServerOptions{NoLogging: true, Subscribe: func(context.Context, *Request, string) error { return nil }})
	must(t, s.AddResourceTemplate(&ResourceTemplate{URITemplate: "x:{+a}", Name: "x"},
		func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) { return nil, nil }))
	talk(t, serve(s), meet("2025-11-25", `{"resources":{"subscribe":true,"listChanged":true}}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x:`+strings.Repeat("a", 8190)+`"}}
		< {"jsonrpc":"2.0","id":1,"result":{}}
		> {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"x:`+strings.Repeat("a", 8191)+`"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"a uri of 8193 bytes cannot be followed: the limit is 8192"}}
	`)
}
