package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp"
)

// with lets test use a session with the server, in a bubble.
func with(t *testing.T, dummies int, revision string, o *mcp.ClientOptions, test func(t *testing.T, cs *mcp.ClientSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := newServer(dummies, revision)
		if err != nil {
			t.Fatal(err)
		}
		here, there := mcp.Pipe()
		ended := make(chan error)
		go func() { ended <- s.Run(t.Context(), there) }()
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), &mcp.ConnTransport{Conn: here})
		if err != nil {
			t.Fatal(err)
		}
		test(t, cs)
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// inEachEra lets test use a session of the newest revision that opens with initialize,
// and one of the newest of all.
func inEachEra(t *testing.T, o *mcp.ClientOptions, test func(t *testing.T, cs *mcp.ClientSession)) {
	for _, rev := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(rev, func(t *testing.T) { with(t, 0, rev, o, test) })
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTools(t *testing.T) {
	plain := func(s string) string { return `{"content":[{"type":"text","text":"` + s + `"}]}` }
	tests := []struct{ tool, args, want string }{
		{"test_simple_text", `{}`, plain("This is a simple text response for testing.")},
		{"test_image_content", `{}`, `{"content":[{"type":"image","data":"` + png + `","mimeType":"image/png"}]}`},
		{"test_audio_content", `{}`, `{"content":[{"type":"audio","data":"` + wav + `","mimeType":"audio/wav"}]}`},
		{"test_embedded_resource", `{}`, `{"content":[{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}]}`},
		{"test_multiple_content_types", `{}`, `{"content":[{"type":"text","text":"Multiple content types test:"},` +
			`{"type":"image","data":"` + png + `","mimeType":"image/png"},` +
			`{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}]}`},
		{"test_error_handling", `{}`, `{"content":[{"type":"text","text":"This tool intentionally returns an error for testing"}],"isError":true}`},
		{"test_tool_with_logging", `{}`, plain("Three messages were logged.")},
		{"test_reconnection", `{}`, plain("The answer came after the stream was let go.")},
		{"json_schema_2020_12_tool", `{"contactMethod":"phone","phone":"1"}`, plain("The arguments fit the schema.")},
		{"test_x_mcp_header", `{"region":"us-west1"}`, plain("Region: us-west1")},
		{"echo", `{"text":"a <b>"}`, plain("a <b>")},
		{"add", `{"a":2,"b":0.5}`, `{"content":[{"type":"text","text":"{\"sum\":2.5}"}],"structuredContent":{"sum":2.5}}`},
		{"big", `{"n":70}`, plain("big:" + alphabet + "ab")},
		{"big", `{"n":5}`, plain("big:a")},
		{"big", `{"n":0}`, plain("")},
		{"progress", `{"n":3}`, plain("done 3")},
		{"slow", `{"ms":1500}`, plain("waited 1500 ms")},
	}
	inEachEra(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		for _, test := range tests {
			result, err := cs.CallTool(t.Context(), test.tool, json.RawMessage(test.args))
			if err != nil {
				t.Errorf("%s: %v", test.tool, err)
				continue
			}
			result.Meta = nil // the server's name, where each result has it
			if got := unescaped(asJSON(t, result)); got != test.want {
				t.Errorf("%s %s:\n got %s\nwant %s", test.tool, test.args, got, test.want)
			}
		}
		if _, err := cs.CallTool(t.Context(), "boom", nil); !errors.Is(err, &mcp.Error{Code: mcp.CodeInternalError}) {
			t.Errorf("boom: %v, want an internal error", err)
		}
	})
}

// unescaped undoes what json.Marshal does to HTML.
func unescaped(s string) string { return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(s) }

// TestToolList checks what the suite wants of the list as a whole.
func TestToolList(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		page, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		name := regexp.MustCompile(`^[A-Za-z0-9_./-]{1,64}$`)
		for _, tool := range page.Tools {
			if !name.MatchString(tool.Name) || tool.Description == "" {
				t.Errorf("tool %q has a wrong name, or no description", tool.Name)
			}
		}
		if _, err := cs.CallTool(t.Context(), page.Tools[0].Name, struct{}{}); err != nil {
			t.Errorf("the first tool cannot be called without arguments: %v", err)
		}
		rich, err := find(t.Context(), cs, "json_schema_2020_12_tool")
		if err != nil {
			t.Fatal(err)
		}
		if string(rich.InputSchema) != strings.NewReplacer(" ", "", "\n", "").Replace(richSchema) {
			t.Errorf("the rich schema came as %s", rich.InputSchema)
		}
	})
}

// TestLongList checks the dummies, which with the tools to measure with are one page.
func TestLongList(t *testing.T) {
	with(t, 1200, "", nil, func(t *testing.T, cs *mcp.ClientSession) {
		page, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Tools) != 1204 || page.NextCursor != nil {
			t.Errorf("a page of %d tools", len(page.Tools))
		}
		dummy, err := find(t.Context(), cs, "dummy-1199")
		if err != nil {
			t.Fatal(err)
		}
		if want := "Dummy tool number 1199, registered only to make the tool list long; it answers with a constant."; dummy.Description != want {
			t.Errorf("a dummy says %s", dummy.Description)
		}
		want := `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"},"verbose":{"type":"boolean"}},"additionalProperties":false}`
		if got := string(dummy.InputSchema); got != want {
			t.Errorf("the schema of a dummy is %s", got)
		}
		if err := call(t.Context(), cs, "dummy-0000", map[string]any{"path": "x", "limit": 1, "verbose": true}); err != nil {
			t.Error(err)
		}
	})
}

func TestProgressAndLogs(t *testing.T) {
	var logged []string
	o := &mcp.ClientOptions{LoggingMessage: func(_ context.Context, _ *mcp.ClientSession, p *mcp.LoggingMessageParams) {
		logged = append(logged, string(p.Level)+" "+string(p.Data))
	}}
	inEachEra(t, o, func(t *testing.T, cs *mcp.ClientSession) {
		var progress []string
		logged = nil
		if err := cs.SetLoggingLevel(t.Context(), mcp.LevelInfo); err != nil {
			t.Error(err)
		}
		cs = cs.With(mcp.CallOptions{Progress: func(p mcp.Progress) { progress = append(progress, fmt.Sprint(p.Value, "/", p.Total)) }})
		for tool, want := range map[string]string{"test_tool_with_progress": "[0/100 50/100 100/100]", "progress": "[1/2 2/2]"} {
			progress = nil
			args := map[string]any{}
			if tool == "progress" {
				args["n"] = 2
			}
			if err := call(t.Context(), cs, tool, args); err != nil {
				t.Error(err)
			}
			if got := fmt.Sprint(progress); got != want {
				t.Errorf("%s: progress %s, want %s", tool, got, want)
			}
		}
		if err := call(t.Context(), cs, "test_tool_with_logging", nil); err != nil {
			t.Error(err)
		}
		if got, want := fmt.Sprint(logged), `[info "Tool execution started" info "Tool processing data" info "Tool execution completed"]`; got != want {
			t.Errorf("logged %s, want %s", got, want)
		}
	})
}

func TestSlowEndsWhenCancelled(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := cs.CallTool(ctx, "slow", map[string]int{"ms": 3600000}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("slow: %v, want the deadline", err)
		}
		if err := cs.Close(); err != nil { // waits for what the server still runs
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("slow ended after %v", took)
		}
	})
}

func TestAskingTools(t *testing.T) {
	var asked string
	o := &mcp.ClientOptions{
		Elicit: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked = p.Message + " " + asJSON(t, p.RequestedSchema)
			if strings.Contains(p.Message, "decline") {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(answers[p.Message])}, nil
		},
		Sample: func(_ context.Context, _ *mcp.ClientSession, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			asked = asJSON(t, p)
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: []mcp.Content{text("Fine")}, Model: "m"}, nil
		},
	}
	tests := []struct{ tool, args, asks, want string }{
		{"test_sampling", `{"prompt":"How?"}`, `{"messages":[{"role":"user","content":{"type":"text","text":"How?"}}],"maxTokens":100}`, "LLM response: Fine"},
		{"test_elicitation", `{"message":"Who?"}`, "Who? " + userForm, `User response: action=accept, content={"username":"u","email":"e"}`},
		{"test_elicitation", `{"message":"decline"}`, "decline " + userForm, `User response: action=decline, content={}`},
		{"test_elicitation_sep1034_defaults", `{}`, "Please check these values " + defaultsForm,
			`Elicitation completed: action=accept, content={"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true}`},
		{"test_elicitation_sep1330_enums", `{}`, "Please choose " + choicesForm,
			`Elicitation completed: action=accept, content={"legacyEnum":"opt2","titledMulti":["value1"]}`},
		{"ask", `{}`, `What is your name? {"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`, "Ada"},
	}
	inEachEra(t, o, func(t *testing.T, cs *mcp.ClientSession) {
		for _, test := range tests {
			result, err := cs.CallTool(t.Context(), test.tool, json.RawMessage(test.args))
			if err != nil {
				t.Errorf("%s: %v", test.tool, err)
				continue
			}
			if got := result.Text(); got != test.want {
				t.Errorf("%s %s:\n got %s\nwant %s", test.tool, test.args, got, test.want)
			}
			if got, want := sorted(t, asked), sorted(t, test.asks); got != want {
				t.Errorf("%s asked\n     %s\nwant %s", test.tool, got, want)
			}
		}
	})
	inEachEra(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		for tool, args := range map[string]string{"test_sampling": `{"prompt":"How?"}`, "test_missing_capability": `{}`} {
			result, err := cs.CallTool(t.Context(), tool, json.RawMessage(args))
			switch {
			case cs.Revision() == mcp.Revision20260728:
				if want := (&mcp.Error{Code: mcp.CodeMissingRequiredClientCapability}); !errors.Is(err, want) {
					t.Errorf("%s: a client without a model got %v, %v, want %v", tool, result, err, want)
				}
			case err != nil || !result.IsError:
				t.Errorf("%s: a client without a model got %v, %v, want an error result", tool, result, err)
			}
		}
	})
}

var answers = map[string]string{
	"Who?":                      `{"username":"u","email":"e"}`,
	"Please check these values": `{}`,
	"Please choose":             `{"legacyEnum":"opt2","titledMulti":["value1"]}`,
	"What is your name?":        `{"name":"Ada"}`,
	"Please confirm":            `{"ok":true}`,

	"Step 1: What is your name?":           `{"name":"Ada"}`,
	"Step 2: What is your favorite color?": `{"color":"blue"}`,
	"What context should the prompt use?":  `{"context":"test"}`,
}

// sorted is a JSON text, and what stands before it, with its members in order and
// without the empty list of what is required, which says nothing.
func sorted(t *testing.T, s string) string {
	t.Helper()
	before, text, _ := strings.Cut(s, "{")
	var v any
	if err := json.Unmarshal([]byte("{"+text), &v); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(before+asJSON(t, v), `,"required":[]`, "")
}

func TestResources(t *testing.T) {
	tests := map[string]string{
		"test://static-text":       `{"contents":[{"uri":"test://static-text","mimeType":"text/plain","text":"This is the content of the static text resource."}]}`,
		"test://static-binary":     `{"contents":[{"uri":"test://static-binary","mimeType":"image/png","blob":"` + png + `"}]}`,
		"test://watched-resource":  `{"contents":[{"uri":"test://watched-resource","mimeType":"text/plain","text":"This resource can be watched."}]}`,
		"test://template/123/data": `{"contents":[{"uri":"test://template/123/data","mimeType":"application/json","text":"{\"id\":\"123\",\"templateTest\":true,\"data\":\"Data for ID: 123\"}"}]}`,
	}
	inEachEra(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		for uri, want := range tests {
			if cs.Revision() == mcp.Revision20260728 {
				want = strings.TrimSuffix(want, "}") + `,"ttlMs":3600000,"cacheScope":"public"}`
			}
			result, err := cs.ReadResource(t.Context(), uri)
			if err != nil {
				t.Errorf("%s: %v", uri, err)
				continue
			}
			if result.Meta = nil; asJSON(t, result) != want {
				t.Errorf("%s:\n got %s\nwant %s", uri, asJSON(t, result), want)
			}
		}
		if page, err := cs.ListResources(t.Context(), nil); err != nil || len(page.Resources) != 3 || page.Resources[0].URI != "test://static-binary" {
			t.Errorf("the list of resources is %v, %v", page, err)
		}
		if _, err := cs.ReadResource(t.Context(), "test://nonexistent-resource-for-conformance-testing"); !errors.Is(err, mcp.ErrResourceNotFound) {
			t.Errorf("an unknown resource: %v", err)
		}
		if err := cs.Subscribe(t.Context(), watched); err != nil {
			t.Error(err)
		}
		if err := cs.Unsubscribe(t.Context(), watched); err != nil {
			t.Error(err)
		}
		err := cs.Subscribe(t.Context(), "test://static-text")
		if old := cs.Revision() == mcp.Revision20251125; err == nil || errors.Is(err, &mcp.Error{Code: mcp.CodeResourceNotFound}) != old {
			t.Errorf("following what never changes: %v", err)
		}
	})
}

func TestPrompts(t *testing.T) {
	user := func(content string) string { return `{"role":"user","content":` + content + `}` }
	tests := []struct {
		name string
		args map[string]string
		want string
	}{
		{"test_simple_prompt", nil, user(`{"type":"text","text":"This is a simple prompt for testing."}`)},
		{"test_prompt_with_arguments", map[string]string{"arg1": "testValue1", "arg2": "testValue2"},
			user(`{"type":"text","text":"Prompt with arguments: arg1='testValue1', arg2='testValue2'"}`)},
		{"test_prompt_with_embedded_resource", map[string]string{"resourceUri": "test://example-resource"},
			user(`{"type":"resource","resource":{"uri":"test://example-resource","mimeType":"text/plain","text":"Embedded resource content for testing."}}`) + "," +
				user(`{"type":"text","text":"Please process the embedded resource above."}`)},
		{"test_prompt_with_image", nil, user(`{"type":"image","data":"`+png+`","mimeType":"image/png"}`) + "," +
			user(`{"type":"text","text":"Please analyze the image above."}`)},
	}
	inEachEra(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		for _, test := range tests {
			result, err := cs.GetPrompt(t.Context(), test.name, test.args)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			} else if got := asJSON(t, result.Messages); got != "["+test.want+"]" {
				t.Errorf("%s:\n got %s\nwant [%s]", test.name, got, test.want)
			}
		}
		c, err := cs.Complete(t.Context(), &mcp.CompleteParams{
			Ref:      mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
			Argument: mcp.CompleteArgument{Name: "arg1", Value: "test"},
		})
		if err != nil || asJSON(t, c) != `{"values":["testValue1","testValue2"]}` {
			t.Errorf("completion: %v, %v", c, err)
		}
	})
}

// TestRevision pins the server, and the client, which offers nothing newer than the
// suite says.
func TestRevision(t *testing.T) {
	with(t, 0, mcp.Revision20250618, nil, func(t *testing.T, cs *mcp.ClientSession) {
		if got := cs.Revision(); got != mcp.Revision20250618 {
			t.Errorf("the session speaks %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var spoken string
		_, err := scene(t, part{scenario: "initialize"}, mcp.Revision20250326, func(r *mcp.Request) { spoken = r.Revision })
		if err != nil || spoken != "" {
			t.Errorf("initialize: %v, and a call at %q", err, spoken)
		}
		_, err = scene(t, part{scenario: "tools_call"}, mcp.Revision20250326, func(r *mcp.Request) { spoken = r.Revision })
		if err != nil || spoken != mcp.Revision20250326 {
			t.Errorf("tools_call: %v, at %q", err, spoken)
		}
	})
}

// scene acts a part out against a server with the tools of all, and returns in order
// what was called and read. look sees each call.
func scene(t *testing.T, p part, newest string, look func(*mcp.Request)) (calls []string, err error) {
	t.Helper()
	var mu sync.Mutex // guards calls
	log := func(call string, args any) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call+" "+asJSON(t, args))
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "scene", Version: "1"}, nil)
	schemas := map[string]string{"json_schema_2020_12_tool": richSchema, "valid_tool": mirroredSchema}
	for _, name := range strings.Fields(`json_schema_echo add_numbers test_reconnection test_client_elicitation_defaults test_mrtr_echo_state
		test_mrtr_unrelated test_mrtr_no_state test_mrtr_no_result_type test_headers my-hyphenated-tool test_custom_headers`) {
		schemas[name] = `{"type":"object"}`
	}
	forms := map[string]string{"test_client_elicitation_defaults": defaultsForm, "test_mrtr_echo_state": confirmQuestion}
	for name, schema := range schemas {
		if p.scenario == "http-invalid-tool-headers" && name != "valid_tool" {
			continue
		}
		err = errors.Join(err, mcp.AddTool(s, &mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, r *mcp.Request, in map[string]json.RawMessage) (string, error) {
				look(r)
				log(name, in)
				if forms[name] == "" {
					return "", nil
				}
				answer, err := askForm(ctx, r, name, "", forms[name])
				if err == nil {
					log(answer, nil)
				}
				return "", err
			}))
	}
	for _, uri := range []string{"file:///path/to/file%20name.txt", "https://example.com/resource?id=123"} {
		err = errors.Join(err, s.AddResource(&mcp.Resource{URI: uri, Name: "r"},
			func(_ context.Context, _ *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
				log(p.URI, nil)
				return &mcp.ReadResourceResult{}, nil
			}))
	}
	err = errors.Join(err, s.AddPrompt(&mcp.Prompt{Name: "test_prompt"},
		func(_ context.Context, _ *mcp.Request, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			log(p.Name, p.Arguments)
			return &mcp.GetPromptResult{}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.Pipe()
	ended := make(chan error)
	go func() { ended <- s.Run(t.Context(), there) }()
	err = p.act(t.Context(), newest, &mcp.ConnTransport{Conn: here})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return calls, err
}

func TestScenarios(t *testing.T) {
	const defaults = `test_client_elicitation_defaults: action=accept, content={"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true} null`
	tests := []struct {
		scenario, newest string
		want             []string
	}{
		{"initialize", mcp.Revision20251125, nil},
		{"tools_call", mcp.Revision20251125, []string{`add_numbers {"a":2,"b":3}`}},
		{"tools_call", "", []string{`add_numbers {"a":2,"b":3}`}},
		{"sse-retry", mcp.Revision20251125, []string{"test_reconnection {}"}},
		{"elicitation-sep1034-client-defaults", mcp.Revision20251125, []string{"test_client_elicitation_defaults {}", defaults}},
		{"json-schema-ref-no-deref", "", nil},
		{"request-metadata", "", nil},
		{"sep-2322-client-request-state", "", []string{"test_mrtr_echo_state {}", "test_mrtr_unrelated {}", "test_mrtr_echo_state {}",
			`test_mrtr_echo_state: action=accept, content={"confirm":true} null`, "test_mrtr_no_state {}", "test_mrtr_no_result_type {}"}},
		{"http-standard-headers", "", []string{"test_headers {}", "my-hyphenated-tool {}",
			"file:///path/to/file%20name.txt null", "https://example.com/resource?id=123 null", "test_prompt null"}},
		{"http-custom-headers", "", []string{`test_custom_headers {"n":null}`, "test_headers {}"}},
		{"http-invalid-tool-headers", "", []string{`valid_tool {"region":"text"}`}},
	}
	const given = `{"name":"http-custom-headers","toolCalls":[{"name":"test_custom_headers","arguments":{"n":null}},{"name":"test_headers","arguments":{}}]}`
	synctest.Test(t, func(t *testing.T) {
		for _, test := range tests {
			calls, err := scene(t, part{test.scenario, given}, test.newest, func(*mcp.Request) {})
			if err != nil || !slices.Equal(calls, test.want) {
				t.Errorf("%s: %v\n got %q\nwant %q", test.scenario, err, calls, test.want)
			}
		}
		calls, err := scene(t, part{scenario: "json-schema-2020-12-preservation"}, "", func(*mcp.Request) {})
		if want := "json_schema_echo " + sorted(t, `{"schema":`+richSchema+`}`); err != nil || len(calls) != 1 || sorted(t, calls[0]) != want {
			t.Errorf("json-schema-2020-12-preservation: %v\n got %q\nwant %q", err, calls, want)
		}
		_, err = scene(t, part{scenario: "http-custom-headers"}, "", func(*mcp.Request) {})
		if want := "http-custom-headers: MCP_CONFORMANCE_CONTEXT: unexpected end of JSON input"; err == nil || err.Error() != want {
			t.Errorf("without a context: %v, want %s", err, want)
		}
	})
}

// TestRounds plays the tools that ask by name, in both eras.
func TestRounds(t *testing.T) {
	var mu sync.Mutex // guards asked: several things are asked at once
	var asked []string
	note := func(question string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, question)
	}
	o := &mcp.ClientOptions{
		Roots: []*mcp.Root{{URI: "file:///test/root", Name: "Test Root"}},
		Elicit: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			note(p.Message)
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(answers[p.Message])}, nil
		},
	}
	silent := &mcp.ClientOptions{Roots: o.Roots, Elicit: o.Elicit}
	o.Sample = func(_ context.Context, _ *mcp.ClientSession, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		note((&mcp.CallToolResult{Content: p.Messages[0].Content}).Text())
		return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: []mcp.Content{text("Fine")}, Model: "m"}, nil
	}
	const name, greeting = "What is your name?", "Generate a greeting"
	tests := []struct {
		tool, want string
		asks       []string // in order of the alphabet
	}{
		{"test_input_required_result_elicitation", "Hello, Ada!", []string{name}},
		{"test_streaming_elicitation", "Hello, Ada!", []string{name}},
		{"test_input_required_result_sampling", "Fine", []string{"What is the capital of France?"}},
		{"test_input_required_result_list_roots", "The roots are file:///test/root", nil},
		{"test_input_required_result_request_state", "state-ok", []string{"Please confirm"}},
		{"test_input_required_result_tampered_state", "The state is as it was given out.", []string{"Please confirm"}},
		{"test_input_required_result_multiple_inputs", `{"name":"Ada"}; Fine; The roots are file:///test/root`, []string{greeting, name}},
		{"test_input_required_result_multi_round", "Ada likes blue.", []string{"Step 1: What is your name?", "Step 2: What is your favorite color?"}},
		{"test_input_required_result_capabilities", "2 questions were answered.", []string{greeting, name}},
		{"test_missing_capability", "The client can sample.", nil},
		{"test_logging_tool", "A message was logged.", nil},
		{"test_trigger_tool_change", "The list of tools has changed.", nil},
		{"test_trigger_prompt_change", "The list of prompts has changed.", nil},
	}
	inEachEra(t, o, func(t *testing.T, cs *mcp.ClientSession) {
		for _, test := range tests {
			asked = nil
			result, err := cs.CallTool(t.Context(), test.tool, nil)
			if err != nil {
				t.Errorf("%s: %v", test.tool, err)
				continue
			}
			slices.Sort(asked)
			if got := result.Text(); got != test.want || !slices.Equal(asked, test.asks) {
				t.Errorf("%s: %q after %q, want %q after %q", test.tool, got, asked, test.want, test.asks)
			}
		}
		asked = nil
		result, err := cs.GetPrompt(t.Context(), "test_input_required_result_prompt", nil)
		if err != nil || asJSON(t, result.Messages) != `[{"role":"user","content":{"type":"text","text":"Context: test"}}]` || len(asked) != 1 {
			t.Errorf("the prompt: %v, %v after %q", result, err, asked)
		}
	})
	inEachEra(t, silent, func(t *testing.T, cs *mcp.ClientSession) {
		asked = nil
		result, err := cs.CallTool(t.Context(), "test_input_required_result_capabilities", nil)
		if err != nil || result.Text() != "1 questions were answered." || !slices.Equal(asked, []string{name}) {
			t.Errorf("without a model: %v, %v after %q", result, err, asked)
		}
	})
}

// TestChanges hears of the lists that tools change.
func TestChanges(t *testing.T) {
	var heard []string
	o := &mcp.ClientOptions{
		ToolsChanged:   func(context.Context, *mcp.ClientSession) { heard = append(heard, "tools") },
		PromptsChanged: func(context.Context, *mcp.ClientSession) { heard = append(heard, "prompts") },
	}
	inEachEra(t, o, func(t *testing.T, cs *mcp.ClientSession) {
		for _, list := range []string{"tool", "prompt"} {
			heard = nil
			if err := call(t.Context(), cs, "test_trigger_"+list+"_change", nil); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // virtual
			synctest.Wait()
			if want := []string{list + "s"}; !slices.Equal(heard, want) {
				t.Errorf("heard of %q, want %q", heard, want)
			}
		}
	})
}

// TestServeHTTP plays a server and a client against each other over HTTP, and ends
// the server while a session is open.
func TestServeHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said, stderr := io.Pipe()
	ended := make(chan error)
	go func() {
		ended <- run(ctx, []string{"server", "-http", "127.0.0.1:0", "-revision", mcp.Revision20250326}, stderr)
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.HTTPTransport{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	if got := cs.Revision(); got != mcp.Revision20250326 {
		t.Errorf("the session speaks %s", got)
	}
	if err := call(t.Context(), cs, "test_simple_text", nil); err != nil {
		t.Error(err)
	}
	t.Setenv("MCP_CONFORMANCE_SCENARIO", "initialize")
	if err := run(t.Context(), []string{"client", url}, io.Discard); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "want server, client, authorization or visit"},
		{"x", `unknown command "x"`},
		{"client", "client: want one URL, got 0 arguments"},
		{"server x", `server: unexpected argument "x"`},
		{"server -y", "flag provided but not defined: -y"},
	}
	for _, test := range tests {
		err := run(t.Context(), strings.Fields(test.args), io.Discard)
		var wrong usageError
		if !errors.As(err, &wrong) || err.Error() != test.want {
			t.Errorf("%q: %v, want the usage error %q", test.args, err, test.want)
		}
	}
	err := (&part{scenario: "auth/x"}).act(t.Context(), "", nil)
	if want := `unknown scenario "auth/x" in MCP_CONFORMANCE_SCENARIO`; err == nil || err.Error() != want {
		t.Errorf("an unknown scenario: %v, want %s", err, want)
	}
}
