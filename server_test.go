package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
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
	for _, rev := range Revisions() {
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

func yes() *bool { b := true; return &b }
func no() *bool  { return new(bool) }

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

// FEAT-034 FEAT-035 FEAT-036 FEAT-037 FEAT-038 FEAT-039 FEAT-045 FEAT-060
func TestToolArguments(t *testing.T) {
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

// FEAT-009 FEAT-041 FEAT-042 FEAT-044 FEAT-049 FEAT-051 FEAT-053 FEAT-056 FEAT-057 FEAT-058
// BUG-158 BUG-164
func TestToolResults(t *testing.T) {
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

// FEAT-004 FEAT-010 FEAT-021 FEAT-027 FEAT-096 FEAT-153 FEAT-192 FEAT-203
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
// FEAT-002 FEAT-095 FEAT-130 FEAT-152 FEAT-174 FEAT-225 FEAT-547
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

// FEAT-043 BUG-170
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
// FEAT-127 FEAT-529 FEAT-530 BUG-172 BUG-173
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

// FEAT-130 FEAT-131 FEAT-132 FEAT-133 FEAT-134 FEAT-135 BUG-179
func TestSubscriptions(t *testing.T) {
	for _, rev := range Revisions() {
		t.Run(rev, func(t *testing.T) {
			var calls []string
			var server *Server
			server = changing(t, &ServerOptions{
				Subscribe: func(_ context.Context, r *Request, uri string) error {
					calls = append(calls, "+"+uri)
					server.ResourceUpdated(uri) // before the session follows it: for others
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
				> {"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"do","arguments":{"uri":"dir:/d/x/y"}}}
				~ {"jsonrpc":"2.0","id":13,`+done+`
				~ {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"dir:/d/x/y"}}
				$
			`))
			if got, want := strings.Join(calls, " "), "+mem:a -mem:a +mem:secret +dir:/d/ -dir:/d/"; got != want {
				t.Errorf("calls: %s, want %s", got, want)
			}
			if n := len(server.sessions); n != 0 {
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
			cs, err := NewClient(&Implementation{Name: name, Version: "1"}, &ClientOptions{
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
		if len(server.sessions) != 0 {
			t.Errorf("%d sessions are left", len(server.sessions))
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
