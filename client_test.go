package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
	cs, err := sessionClient(&Implementation{Name: name, Version: "0"}, opts).Connect(t.Context(), &ConnTransport{Conn: ours})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // twice at once
		go cs.Close()
		if err := cs.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return cs
}

// asClient is the subject for a client: it connects, f uses the session, and the
// session is closed when the server is gone.
func asClient(t *testing.T, opts *ClientOptions, f func(ctx context.Context, cs *ClientSession)) func(context.Context, Conn) {
	return func(ctx context.Context, c Conn) {
		cs, err := sessionClient(&Implementation{Name: "t", Version: "0"}, opts).Connect(ctx, &ConnTransport{Conn: c})
		if err != nil {
			t.Errorf("Connect: %v", err)
			return
		}
		if f != nil {
			f(ctx, cs)
		}
		_ = cs.Wait()
		if err := cs.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// shakeHands is the handshake of a client that offers clientCaps with a server that
// chooses rev and offers serverCaps.
func shakeHands(rev, clientCaps, serverCaps string) string {
	return `< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + clientCaps + `,"clientInfo":{"name":"t","version":"0"}}}
> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + rev + `","capabilities":` + serverCaps + `,"serverInfo":{"name":"s","version":"1"}}}
< {"jsonrpc":"2.0","method":"notifications/initialized"}
`
}

const everything = `{"logging":{},"completions":{},"prompts":{},"resources":{"subscribe":true},"tools":{}}`

// checkError reports an error that is not the wanted one.
func checkError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := errorText(err); got != want {
		t.Errorf("%s: error %q, want %q", what, got, want)
	}
}

// FEAT-237 FEAT-252 FEAT-289 FEAT-290: what is set is offered, in the terms of the
// revision that is asked for.
//
// BASE-085
func TestClientCapabilities(t *testing.T) {
	elicit := func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) { return nil, nil }
	sample := func(context.Context, *ClientSession, *CreateMessageParams) (*CreateMessageResult, error) {
		return nil, nil
	}
	all := ClientOptions{Roots: []*Root{}, Sample: sample, SampleTools: true, SampleContext: true, Elicit: elicit, Visit: elicit, Tasks: &TaskOptions{}}
	for _, c := range []struct {
		opts ClientOptions
		rev  string
		want string
	}{
		{ClientOptions{}, Revision20251125, `{}`},
		{ClientOptions{Roots: []*Root{}}, Revision20241105, `{"roots":{"listChanged":true}}`},
		{ClientOptions{Roots: []*Root{{URI: "file:///a"}}}, Revision20251125, `{"roots":{"listChanged":true}}`},
		{ClientOptions{Sample: sample}, Revision20251125, `{"sampling":{}}`},
		{ClientOptions{Sample: sample, SampleTools: true, SampleContext: true}, Revision20251125, `{"sampling":{"tools":{},"context":{}}}`},
		{ClientOptions{Sample: sample, SampleTools: true, SampleContext: true}, Revision20250618, `{"sampling":{}}`},
		{ClientOptions{SampleTools: true}, Revision20251125, `{}`},
		{ClientOptions{Elicit: elicit}, Revision20251125, `{"elicitation":{"form":{}}}`},
		{ClientOptions{Visit: elicit}, Revision20251125, `{"elicitation":{"url":{}}}`},
		{ClientOptions{Elicit: elicit, Visit: elicit}, Revision20251125, `{"elicitation":{"form":{},"url":{}}}`},
		{ClientOptions{Elicit: elicit, Visit: elicit}, Revision20250618, `{"elicitation":{}}`},
		{ClientOptions{Visit: elicit}, Revision20250618, `{}`},
		{ClientOptions{Elicit: elicit}, Revision20250326, `{}`},
		{all, Revision20241105, `{"roots":{"listChanged":true},"sampling":{}}`},
		{all, Revision20250326, `{"roots":{"listChanged":true},"sampling":{}}`},
		{all, Revision20250618, `{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`},
		{all, Revision20251125, `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},` +
			`"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`},
	} {
		c.opts.Revisions = []string{c.rev}
		talk(t, asClient(t, &c.opts, nil), `
			< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+c.rev+`","capabilities":`+c.want+`,"clientInfo":{"name":"t","version":"0"}}}
			> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"`+c.rev+`","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
			< {"jsonrpc":"2.0","method":"notifications/initialized"}
		`)
	}
	all.Revisions = []string{Revision20260728}
	talk(t, anyClient(t, all, "", nil), discovers(`{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `{}`))
}

// Instructions that are empty differ from none; all that the server says of itself
// is readable.
//
// BASE-071
func TestServerInfo(t *testing.T) {
	for _, c := range []struct {
		member, text string
		ok           bool
	}{{``, "", false}, {`,"instructions":""`, "", true}, {`,"instructions":"do"`, "do", true}} {
		talk(t, asClient(t, nil, func(_ context.Context, cs *ClientSession) {
			if text, ok := cs.Instructions(); text != c.text || ok != c.ok {
				t.Errorf("%q: %q, %v", c.member, text, ok)
			}
			info := cs.ServerInfo()
			if info.Title != "T" || info.WebsiteURL != "w" || info.Icons[0].Sizes[0] != "48x48" || string(info.Extra["x"]) != "1" {
				t.Errorf("server info %+v", info)
			}
			if cs.Revision() != Revision20250326 || cs.ServerCapabilities().Tools == nil || cs.ServerCapabilities().Prompts != nil {
				t.Errorf("revision %s, capabilities %+v", cs.Revision(), cs.ServerCapabilities())
			}
		}), `
			< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1","title":"T","websiteUrl":"w","icons":[{"src":"https://a.example/","sizes":"48x48"}],"x":1}`+c.member+`}}
			< {"jsonrpc":"2.0","method":"notifications/initialized"}
		`)
	}
}

// Pings and log messages may come before the answer to initialize; requests may not.
func TestBeforeInitialize(t *testing.T) {
	var logs []string
	opts := &ClientOptions{Roots: []*Root{}, LoggingMessage: func(_ context.Context, cs *ClientSession, p *LoggingMessageParams) {
		logs = append(logs, cs.ServerInfo().Name+cs.Revision()+string(p.Data))
	}}
	talk(t, asClient(t, opts, nil), `
		< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"t","version":"0"}}}
		> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
		> {"jsonrpc":"2.0","id":7,"method":"ping"}
		< {"jsonrpc":"2.0","id":7,"result":{}}
		> {"jsonrpc":"2.0","id":8,"method":"roots/list"}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"not initialized: initialize is not answered yet"}}
		> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
		< {"jsonrpc":"2.0","method":"notifications/initialized"}
	`)
	if !slices.Equal(logs, []string{"1"}) {
		t.Errorf("logs %q", logs)
	}
}

// What a server says in one breath with its answer to initialize is already part of
// the session: handlers know the server, and a batch is one where the revision has
// batches.
func TestRightAfterInitialize(t *testing.T) {
	for range 20 { // schedules differ
		synctest.Test(t, func(t *testing.T) {
			var logs []string
			opts := &ClientOptions{Roots: []*Root{}, LoggingMessage: func(_ context.Context, cs *ClientSession, p *LoggingMessageParams) {
				logs = append(logs, cs.ServerInfo().Name+cs.Revision()+string(p.Data))
			}}
			ours, theirs := Pipe()
			go func() {
				_, _ = theirs.Read()
				_ = theirs.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`),
					[]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`),
					[]byte(`[{"jsonrpc":"2.0","id":8,"method":"roots/list"}]`))
			}()
			cs, err := sessionClient(&Implementation{Name: "t", Version: "0"}, opts).Connect(t.Context(), &ConnTransport{Conn: ours})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			said := []string{}
			for range 2 {
				m, _ := theirs.Read()
				said = append(said, string(m))
			}
			slices.Sort(said)
			want := []string{`[{"jsonrpc":"2.0","id":8,"result":{"roots":[]}}]`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
			if !slices.Equal(said, want) || !slices.Equal(logs, []string{"s2025-03-261"}) {
				t.Errorf("said %q, logs %q", said, logs)
			}
			if err := cs.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// FEAT-238 FEAT-240 FEAT-242 E1.6
func TestClientRoots(t *testing.T) {
	root := &Root{URI: "file:///a", Name: "A", Meta: Meta{"x/y": 1}}
	client := sessionClient(&Implementation{Name: "t", Version: "0"}, &ClientOptions{Roots: []*Root{root}})
	subject := func(ctx context.Context, c Conn) {
		cs, err := client.Connect(ctx, &ConnTransport{Conn: c})
		if err != nil {
			t.Errorf("Connect: %v", err)
			return
		}
		checkError(t, "SetRoots", client.SetRoots(&Root{URI: "https://a.example/"}), `mcp: root "https://a.example/" must be a file:// URI`)
		time.Sleep(time.Second)
		checkError(t, "SetRoots", client.SetRoots(), "")
		_ = cs.Wait()
		checkError(t, "Close", cs.Close(), "")
		checkError(t, "SetRoots", client.SetRoots(root), "")
	}
	for rev, meta := range map[string]string{Revision20241105: "", Revision20250326: "", Revision20250618: `,"_meta":{"x/y":1}`, Revision20251125: `,"_meta":{"x/y":1}`} {
		checkError(t, "SetRoots", client.SetRoots(root), "")
		talk(t, subject, shakeHands(rev, `{"roots":{"listChanged":true}}`, `{}`)+`
			> {"jsonrpc":"2.0","id":"a","method":"roots/list"}
			< {"jsonrpc":"2.0","id":"a","result":{"roots":[{"uri":"file:///a","name":"A"`+meta+`}]}}
			. 1s
			< {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
			> {"jsonrpc":"2.0","id":"b","method":"roots/list","params":{}}
			< {"jsonrpc":"2.0","id":"b","result":{"roots":[]}}
		`)
	}
	talk(t, asClient(t, nil, nil), shakeHands(Revision20251125, `{}`, `{}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"roots/list"}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Roots not supported"}}
	`)
	checkError(t, "SetRoots", sessionClient(&Implementation{Name: "t", Version: "0"}, nil).SetRoots(root), "mcp: the client does not offer roots: ClientOptions.Roots is nil")
	_, err := sessionClient(&Implementation{Name: "t", Version: "0"}, &ClientOptions{Roots: []*Root{nil}}).Connect(t.Context(), nil)
	checkError(t, "Connect", err, "mcp: a root is nil")
}

// FEAT-254 FEAT-256 FEAT-257 FEAT-268 FEAT-272 E2.16
func TestClientSample(t *testing.T) {
	var got *CreateMessageParams
	result, failure := &CreateMessageResult{}, error(nil)
	opts := &ClientOptions{Sample: func(_ context.Context, cs *ClientSession, p *CreateMessageParams) (*CreateMessageResult, error) {
		if got = p; cs.ServerInfo().Name != "s" {
			t.Error("the handler does not know the server")
		}
		return result, failure
	}}
	const full = `{"messages":[{"role":"user","content":{"type":"text","text":"q"}}],"maxTokens":7,"temperature":0,"systemPrompt":"s","includeContext":"allServers","stopSequences":["x"],"metadata":{"k":1.50},"modelPreferences":{"costPriority":0}}`
	for _, rev := range sessionRevisions() {
		for _, c := range []struct {
			result  *CreateMessageResult
			failure error
			params  string
			want    string
		}{
			{&CreateMessageResult{Role: RoleAssistant, Content: says("a"), Model: "m", StopReason: "other"}, nil, full,
				`"result":{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"other"}`},
			{nil, Errorf(CodeUserRejected, "User rejected sampling request"), full, `"error":{"code":-1,"message":"User rejected sampling request"}`},
			{nil, errors.New("secret"), full, `"error":{"code":-32603,"message":"internal error"}`},
			{nil, nil, full, `"error":{"code":-32603,"message":"internal error"}`},
			{&CreateMessageResult{Role: "system", Content: says("a"), Model: "m"}, nil, full, `"error":{"code":-32603,"message":"internal error"}`},
			{nil, nil, `{"messages":[]}`, `"error":{"code":-32602,"message":"sampling/createMessage: maxTokens: missing"}`},
			{nil, nil, `{"maxTokens":1}`, `"error":{"code":-32602,"message":"sampling/createMessage: messages: missing"}`},
			{nil, nil, `{"messages":[{"role":"system","content":{"type":"text","text":"q"}}],"maxTokens":1}`,
				`"error":{"code":-32602,"message":"sampling/createMessage: mcp: sampling message 0: role must be user or assistant, not \"system\""}`},
		} {
			result, failure, got = c.result, c.failure, nil
			talk(t, asClient(t, opts, nil), shakeHands(rev, `{"sampling":{}}`, `{}`)+`
				> {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":`+c.params+`}
				< {"jsonrpc":"2.0","id":5,`+c.want+`}
			`)
			if c.params == full && (got.MaxTokens != 7 || *got.Temperature != 0 || *got.ModelPreferences.CostPriority != 0 || got.Metadata["k"] != json.Number("1.50")) {
				t.Errorf("%s: the handler got %+v", rev, got)
			}
			if c.params != full && got != nil {
				t.Errorf("%s: the handler got what is invalid: %+v", rev, got)
			}
		}
	}
	talk(t, asClient(t, nil, nil), shakeHands(Revision20251125, `{}`, `{}`)+`
		> {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":`+full+`}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"method \"sampling/createMessage\" is not offered by this client"}}
	`)
}

// FEAT-265 FEAT-276 FEAT-279 FEAT-283 E2.15 E6.1 E6.2 E6.7 E6.8 E6.9
func TestClientSampleTools(t *testing.T) {
	result := &CreateMessageResult{Role: RoleAssistant, Model: "m", StopReason: "toolUse",
		Content: []Content{&ToolUseContent{ID: "c1", Name: "t"}, &ToolUseContent{ID: "c2", Name: "t", Input: json.RawMessage(`{"a":1}`)}}}
	var got *CreateMessageParams
	sample := func(_ context.Context, _ *ClientSession, p *CreateMessageParams) (*CreateMessageResult, error) {
		got = p
		return result, nil
	}
	const used = `{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"t","input":{}},{"type":"tool_use","id":"c2","name":"t","input":{}}]}`
	const two = `"result":{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"t","input":{}},{"type":"tool_use","id":"c2","name":"t","input":{"a":1}}],"model":"m","stopReason":"toolUse"}`
	const tools = `,"maxTokens":1,"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{}`
	for _, c := range []struct {
		rev, caps, params, want string
	}{
		{Revision20251125, `{"tools":{}}`, `"messages":[` + used + `,{"role":"user","content":[{"type":"tool_result","toolUseId":"c2","content":[]},{"type":"tool_result","toolUseId":"c1","content":[{"type":"resource_link","uri":"a:b","name":"n"}]}]}]` + tools, two},
		{Revision20251125, `{"tools":{}}`, `"messages":[` + used + `,{"role":"user","content":{"type":"tool_result","toolUseId":"c1","content":[]}}]` + tools,
			`"error":{"code":-32602,"message":"sampling/createMessage: mcp: Tool result missing in request: [\"c2\"]"}`},
		{Revision20251125, `{"tools":{}}`, `"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"tool_result","toolUseId":"c1","content":[]}]}]` + tools,
			`"error":{"code":-32602,"message":"sampling/createMessage: mcp: message 0 mixes tool results with other content"}`},
		{Revision20251125, ``, `"messages":[]` + tools, `"error":{"code":-32602,"message":"sampling/createMessage: this client does not sample with tools"}`},
		{Revision20251125, ``, `"messages":[],"maxTokens":1,"toolChoice":{"mode":"none"}`, `"error":{"code":-32602,"message":"sampling/createMessage: this client does not sample with tools"}`},
		// tools are no part of the older revision; lists of content are read all the same
		{Revision20250618, ``, `"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":"r"}]}]` + tools, `"error":{"code":-32603,"message":"internal error"}`},
	} {
		got = nil
		declared := `{"sampling":{}}`
		if c.caps != "" {
			declared = `{"sampling":` + c.caps + `}`
		}
		talk(t, asClient(t, &ClientOptions{Sample: sample, SampleTools: c.caps != ""}, nil), shakeHands(c.rev, declared, `{}`)+`
			> {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{`+c.params+`}}
			< {"jsonrpc":"2.0","id":5,`+c.want+`}
		`)
		switch {
		case c.want == two && (len(got.Messages) != 3 || got.Tools[0].Name != "t" || got.ToolChoice.Mode != ""):
			t.Errorf("the handler got %+v", got)
		case c.rev == Revision20250618 && (got == nil || len(got.Messages[0].Content) != 2 || got.Tools != nil || got.ToolChoice != nil):
			t.Errorf("%s: the handler got %+v", c.rev, got)
		}
	}
}

// FEAT-289 FEAT-293 FEAT-294 FEAT-295 FEAT-296 FEAT-299 FEAT-302 FEAT-321 FEAT-323 E5.1 E5.5 E5.11 E2.14 FEAT-486
func TestClientElicit(t *testing.T) {
	var answer *ElicitResult
	handler := func(_ context.Context, cs *ClientSession, p *ElicitParams) (*ElicitResult, error) {
		if cs.ServerInfo().Name != "s" || p.Message != "m" {
			t.Errorf("server %s, question %+v", cs.ServerInfo().Name, p)
		}
		return answer, nil
	}
	const none = `"error":{"code":-32601,"message":"method \"elicitation/create\" is not offered by this client"}`
	const internal = `"error":{"code":-32603,"message":"internal error"}`
	const one = `{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","default":1},"s":{"type":"string"}},"required":["n"]}}`
	const visit = `{"mode":"url","message":"m","url":"https://a.example/","elicitationId":"e"}`
	invalid := func(text string) string {
		return `"error":{"code":-32602,"message":` + quoted("elicitation/create: "+text) + `}`
	}
	accept := func(content string) *ElicitResult {
		return &ElicitResult{Action: "accept", Content: json.RawMessage(content)}
	}
	for _, c := range []struct {
		name, rev string
		form, url bool
		answer    *ElicitResult
		params    string
		want      string
	}{
		{"2024", Revision20241105, true, true, nil, one, none},
		{"2025-03", Revision20250326, true, true, nil, one, none},
		{"none", Revision20250618, false, false, nil, one, none},
		{"none", Revision20251125, false, false, nil, one, none},
		{"defaults", Revision20250618, true, false, accept(""), one, `"result":{"action":"accept","content":{"n":1}}`},
		{"defaults", Revision20251125, true, false, accept(`{"s":""}`), one, `"result":{"action":"accept","content":{"n":1,"s":""}}`},
		{"dialect", Revision20251125, true, false, accept(""), strings.Replace(one, `"type":"object"`, `"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"`, 1), `"result":{"action":"accept","content":{"n":1}}`},
		{"given", Revision20251125, true, false, accept(`{"n":0}`), strings.Replace(one, `{`, `{"mode":"form",`, 1), `"result":{"action":"accept","content":{"n":0}}`},
		{"decline", Revision20251125, true, false, &ElicitResult{Action: "decline", Content: json.RawMessage(`{"n":1}`)}, one, `"result":{"action":"decline"}`},
		{"cancel", Revision20251125, true, false, &ElicitResult{Action: "cancel"}, one, `"result":{"action":"cancel"}`},
		{"bad value", Revision20251125, true, false, accept(`{"n":"1"}`), one, internal},
		{"no field", Revision20251125, true, false, accept(`{"x":"1"}`), one, internal},
		{"no object", Revision20251125, true, false, accept(`[1]`), one, internal},
		{"bad action", Revision20251125, true, false, &ElicitResult{Action: "ok"}, one, internal},
		{"no answer", Revision20251125, true, false, nil, one, internal},
		{"mode", Revision20251125, true, true, nil, `{"mode":"voice","message":"m"}`, invalid(`mode must be form or url, not "voice"`)},
		{"no message", Revision20251125, true, true, nil, `{"requestedSchema":{"type":"object","properties":{}}}`, invalid("message: missing")},
		{"no form", Revision20251125, true, true, nil, `{"message":"m"}`, invalid("mcp: an elicitation in form mode needs a RequestedSchema")},
		{"nested", Revision20251125, true, true, nil, `{"message":"m","requestedSchema":{"type":"object","properties":{"o":{"type":"object","properties":{}}}}}`,
			invalid(`mcp: field "o" of a form: type must be string, number, integer, boolean or array, not "object"`)},
		{"form only", Revision20251125, true, false, nil, visit, invalid(`this client does not answer elicitations of mode "url"`)},
		{"url only", Revision20251125, false, true, nil, one, invalid(`this client does not answer elicitations of mode "form"`)},
		{"visit", Revision20251125, true, true, accept(`{"x":1}`), visit, `"result":{"action":"accept"}`},
		{"no visit", Revision20251125, false, true, &ElicitResult{Action: "decline"}, visit, `"result":{"action":"decline"}`},
		{"no id", Revision20251125, false, true, nil, `{"mode":"url","message":"m","url":"https://a.example/"}`, invalid("elicitationId: missing")},
		{"bad url", Revision20251125, false, true, nil, `{"mode":"url","message":"m","url":"file:///x","elicitationId":"e"}`,
			invalid(`mcp: url "file:///x" of an elicitation must be an absolute https or http URL`)},
		// modes are no part of the older revision: this is a form without a schema
		{"visit", Revision20250618, true, true, nil, visit, invalid("mcp: an elicitation in form mode needs a RequestedSchema")},
	} {
		t.Run(c.rev+" "+c.name, func(t *testing.T) {
			answer = c.answer
			opts, modes := &ClientOptions{}, []string{}
			if c.form {
				opts.Elicit, modes = handler, append(modes, `"form":{}`)
			}
			if c.url {
				opts.Visit, modes = handler, append(modes, `"url":{}`)
			}
			caps := `{}`
			if c.form || c.url {
				caps = `{"elicitation":{` + strings.Join(modes, ",") + `}}`
			}
			talk(t, asClient(t, opts, nil), shakeHands(c.rev, caps, `{}`)+`
				> {"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":`+c.params+`}
				< {"jsonrpc":"2.0","id":5,`+c.want+`}
			`)
			if answer != nil && string(answer.Content) != string(c.answer.Content) {
				t.Errorf("the handler's result was changed: %s", answer.Content)
			}
		})
	}
}

// FEAT-177 FEAT-178 FEAT-179: what each method sends, and what comes of the answer.
//
// FEAT-048 FEAT-180
func TestClientMethods(t *testing.T) {
	show := func(v any, err error) string {
		if err != nil {
			return err.Error()
		}
		b, err := appendJSON(nil, v, newest)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	ok := func(err error) string { return show("ok", err) }
	cursor := ""
	for _, c := range []struct {
		name, request, result string
		call                  func(ctx context.Context, cs *ClientSession) string
		want                  string
	}{
		{"ping", `"method":"ping"`, `{}`,
			func(ctx context.Context, cs *ClientSession) string { return ok(cs.Ping(ctx)) }, `"ok"`},
		{"tools", `"method":"tools/list","params":{}`, `{"tools":[{"name":"a","inputSchema":{"type":"object"},"x":1}],"nextCursor":"n","y":2}`,
			func(ctx context.Context, cs *ClientSession) string { return show(cs.ListTools(ctx, nil)) },
			`{"tools":[{"name":"a","inputSchema":{"type":"object"},"x":1}],"nextCursor":"n","y":2}`},
		{"resources", `"method":"resources/list","params":{"cursor":""}`, `{"resources":[{"uri":"a:b","name":"n","size":0}]}`,
			func(ctx context.Context, cs *ClientSession) string { return show(cs.ListResources(ctx, &cursor)) },
			`{"resources":[{"uri":"a:b","name":"n","size":0}]}`},
		{"templates", `"method":"resources/templates/list","params":{}`, `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}`,
			func(ctx context.Context, cs *ClientSession) string { return show(cs.ListResourceTemplates(ctx, nil)) },
			`{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}`},
		{"prompts", `"method":"prompts/list","params":{}`, `{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}]}]}`,
			func(ctx context.Context, cs *ClientSession) string { return show(cs.ListPrompts(ctx, nil)) },
			`{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}]}]}`},
		{"call", `"method":"tools/call","params":{"name":"a","arguments":{"x":"<&>"}}`, `{"content":[],"isError":true}`,
			func(ctx context.Context, cs *ClientSession) string {
				return show(cs.CallTool(ctx, "a", map[string]any{"x": "<&>"}))
			},
			`{"content":[],"isError":true}`},
		{"call without arguments", `"method":"tools/call","params":{"name":"a"}`, `{"content":[{"type":"text","text":""}]}`,
			func(ctx context.Context, cs *ClientSession) string { return show(cs.CallTool(ctx, "a", nil)) },
			`{"content":[{"type":"text","text":""}]}`},
		{"call with a nil map", `"method":"tools/call","params":{"name":"a","arguments":{}}`, `{"content":[]}`,
			func(ctx context.Context, cs *ClientSession) string {
				return show(cs.CallTool(ctx, "a", map[string]string(nil)))
			},
			`{"content":[]}`},
		{"call with raw arguments", `"method":"tools/call","params":{"name":"a","arguments":{"n": 1.50}}`, `{"content":[]}`,
			func(ctx context.Context, cs *ClientSession) string {
				return show(cs.CallTool(ctx, "a", json.RawMessage(`{"n": 1.50}`)))
			},
			`{"content":[]}`},
		{"read", `"method":"resources/read","params":{"uri":"a:b"}`, `{"contents":[{"uri":"a:b","text":""}]}`,
			func(ctx context.Context, cs *ClientSession) string { return show(cs.ReadResource(ctx, "a:b")) },
			`{"contents":[{"uri":"a:b","text":""}]}`},
		{"subscribe", `"method":"resources/subscribe","params":{"uri":"a:b"}`, `{}`,
			func(ctx context.Context, cs *ClientSession) string { return ok(cs.Subscribe(ctx, "a:b")) }, `"ok"`},
		{"unsubscribe", `"method":"resources/unsubscribe","params":{"uri":"a:b"}`, `{}`,
			func(ctx context.Context, cs *ClientSession) string { return ok(cs.Unsubscribe(ctx, "a:b")) }, `"ok"`},
		{"prompt", `"method":"prompts/get","params":{"name":"p","arguments":{"a":"1"}}`, `{"messages":[{"role":"user","content":{"type":"text","text":"q"}}]}`,
			func(ctx context.Context, cs *ClientSession) string {
				return show(cs.GetPrompt(ctx, "p", map[string]string{"a": "1"}))
			},
			`{"messages":[{"role":"user","content":{"type":"text","text":"q"}}]}`},
		{"complete", `"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"1"}}}`,
			`{"completion":{"values":["v"],"total":3,"hasMore":true}}`,
			func(ctx context.Context, cs *ClientSession) string {
				return show(cs.Complete(ctx, &CompleteParams{Ref: CompleteReference{Type: "ref/prompt", Name: "p"},
					Argument: CompleteArgument{Name: "a"}, Context: &CompleteContext{Arguments: map[string]string{"b": "1"}}}))
			},
			`{"values":["v"],"total":3,"hasMore":true}`},
		{"level", `"method":"logging/setLevel","params":{"level":"notice"}`, `{}`,
			func(ctx context.Context, cs *ClientSession) string { return ok(cs.SetLoggingLevel(ctx, LevelNotice)) }, `"ok"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) { got = c.call(ctx, cs) }),
				shakeHands(Revision20251125, `{}`, everything)+`
				< {"jsonrpc":"2.0","id":2,`+c.request+`}
				> {"jsonrpc":"2.0","id":2,"result":`+c.result+`}
			`)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) { got = c.call(ctx, cs) }),
				shakeHands(Revision20251125, `{}`, everything)+`
				< {"jsonrpc":"2.0","id":2,`+c.request+`}
				> {"jsonrpc":"2.0","id":2,"error":{"code":-5,"message":"no"}}
			`)
			var m struct{ Method string }
			if err := json.Unmarshal([]byte("{"+c.request+"}"), &m); err != nil {
				t.Fatal(err)
			}
			if want := "mcp: " + m.Method + ": no (code -5)"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// Nothing is sent for what the server does not offer, except by force.
//
// BASE-082 FEAT-003 BASE-081 C-27
func TestClientNotOffered(t *testing.T) {
	calls := []struct {
		method string
		call   func(ctx context.Context, cs *ClientSession) error
	}{
		{"tools/list", func(ctx context.Context, cs *ClientSession) error { _, err := cs.ListTools(ctx, nil); return err }},
		{"tools/call", func(ctx context.Context, cs *ClientSession) error { _, err := cs.CallTool(ctx, "a", nil); return err }},
		{"resources/list", func(ctx context.Context, cs *ClientSession) error { _, err := cs.ListResources(ctx, nil); return err }},
		{"resources/templates/list", func(ctx context.Context, cs *ClientSession) error {
			_, err := cs.ListResourceTemplates(ctx, nil)
			return err
		}},
		{"resources/read", func(ctx context.Context, cs *ClientSession) error { _, err := cs.ReadResource(ctx, "a:b"); return err }},
		{"resources/subscribe", func(ctx context.Context, cs *ClientSession) error { return cs.Subscribe(ctx, "a:b") }},
		{"resources/unsubscribe", func(ctx context.Context, cs *ClientSession) error { return cs.Unsubscribe(ctx, "a:b") }},
		{"prompts/list", func(ctx context.Context, cs *ClientSession) error { _, err := cs.ListPrompts(ctx, nil); return err }},
		{"prompts/get", func(ctx context.Context, cs *ClientSession) error { _, err := cs.GetPrompt(ctx, "a", nil); return err }},
		{"completion/complete", func(ctx context.Context, cs *ClientSession) error {
			_, err := cs.Complete(ctx, &CompleteParams{})
			return err
		}},
		{"logging/setLevel", func(ctx context.Context, cs *ClientSession) error { return cs.SetLoggingLevel(ctx, LevelInfo) }},
	}
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		for _, c := range calls {
			err := c.call(ctx, cs)
			checkError(t, c.method, err, "mcp: the server does not offer "+c.method)
			if !errors.Is(err, ErrNotOffered) || errors.As(err, new(*Error)) {
				t.Errorf("%s: error %v is not the local ErrNotOffered", c.method, err)
			}
		}
		for tool, err := range cs.Tools(ctx) {
			checkError(t, "Tools", err, "mcp: the server does not offer tools/list")
			if tool != nil {
				t.Errorf("a tool beside an error: %v", tool)
			}
		}
		checkError(t, "Subscribe by force", cs.With(CallOptions{Force: true}).Subscribe(ctx, "a:b"), "mcp: resources/subscribe: no (code -32601)")
		checkError(t, "Ping", cs.Ping(ctx), "")
	}), shakeHands(Revision20251125, `{}`, `{}`)+`
		< {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}
		> {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","id":3,"result":{}}
	`)
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		checkError(t, "Subscribe", cs.Subscribe(ctx, "a:b"), "mcp: the server does not offer resources/subscribe")
	}), shakeHands(Revision20251125, `{}`, `{"resources":{"listChanged":true}}`))
}

// Arguments and levels that make no sense are not sent.
func TestClientRefusesLocally(t *testing.T) {
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		for _, c := range []struct {
			args any
			want string
		}{
			{[]int{1}, `mcp: arguments of tool "a" must be a JSON object, not [1]`},
			{"x", `mcp: arguments of tool "a" must be a JSON object, not "x"`},
			{func() {}, `mcp: arguments of tool "a": json: unsupported type: func()`},
			{json.RawMessage(`{"a":1,"a":2}`), `mcp: arguments of tool "a": name "a" is repeated at byte 7`},
		} {
			_, err := cs.CallTool(ctx, "a", c.args)
			checkError(t, "CallTool", err, c.want)
			if errors.As(err, new(*Error)) {
				t.Errorf("%v is not local", err)
			}
		}
		checkError(t, "SetLoggingLevel", cs.SetLoggingLevel(ctx, "loud"), `mcp: unknown log level "loud"`)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		checkError(t, "Ping", cs.Ping(ended), "mcp: ping: context canceled")
	}), shakeHands(Revision20251125, `{}`, everything))
}

// An answer that breaks the protocol is the call's error, and its alone.
func TestClientInvalidResponse(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`"result":{"content":"x"}`, "mcp: invalid response: tools/call: content: want an array, got a string"},
		{`"result":{"content":[{"text":"x"}]}`, "mcp: invalid response: tools/call: content[0].type: missing"},
		{`"result":{"content":[{"type":"text"}]}`, "mcp: invalid response: tools/call: content[0].text: missing"},
		{`"result":[]`, "mcp: invalid response: result is [], want an object"},
		{`"error":"bad"`, "mcp: invalid response: malformed error: bad"},
	} {
		talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
			_, err := cs.CallTool(ctx, "a", nil)
			checkError(t, c.answer, err, c.want)
			if !errors.Is(err, ErrInvalidResponse) || errors.As(err, new(*Error)) {
				t.Errorf("%v is not the local ErrInvalidResponse", err)
			}
			checkError(t, "Ping", cs.Ping(ctx), "")
		}), shakeHands(Revision20251125, `{}`, everything)+`
			< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
			> {"jsonrpc":"2.0","id":2,`+c.answer+`}
			< {"jsonrpc":"2.0","id":3,"method":"ping"}
			> {"jsonrpc":"2.0","id":3,"result":{}}
		`)
	}
}

// An error of the server keeps its code, message and data.
//
// FEAT-048
func TestClientServerError(t *testing.T) {
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		_, err := cs.GetPrompt(ctx, "p", nil)
		var e *Error
		if !errors.As(err, &e) || e.Code != -32602 || e.Message != "m" || string(e.Data) != `{"a":[1]}` {
			t.Errorf("error %#v", err)
		}
		if !errors.Is(err, &Error{Code: CodeInvalidParams}) || errors.Is(err, &Error{Code: CodeInternalError}) {
			t.Errorf("errors are told by their codes: %v", err)
		}
	}), shakeHands(Revision20251125, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}
		> {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"m","data":{"a":[1]}}}
	`)
}

// A code that means nothing is the server's error, and nothing else.
//
// BASE-048 C-21
func TestClientReadsNoMeaningIntoCodes(t *testing.T) {
	for _, code := range []int{-32000, -32001, -32003, -32004, -32019} {
		talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
			_, err := cs.ReadResource(ctx, "a:b")
			checkError(t, "ReadResource", err, fmt.Sprintf("mcp: resources/read: no (code %d)", code))
			for _, sentinel := range []error{ErrResourceNotFound, ErrNotOffered, ErrClosed, ErrInvalidResponse, ErrUnauthorized, context.DeadlineExceeded} {
				want(t, fmt.Sprint(code, " is ", sentinel), errors.Is(err, sentinel), false)
			}
			checkError(t, "Ping", cs.Ping(ctx), "")
		}), shakeHands(Revision20251125, `{}`, everything)+`
			< {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a:b"}}
			> `+faulty(2, code, "")+`
			< {"jsonrpc":"2.0","id":3,"method":"ping"}
			> {"jsonrpc":"2.0","id":3,"result":{}}
		`)
	}
}

// FEAT-549 BASE-046 FEAT-114 C-07
func TestBUG172ResourceNotFound(t *testing.T) {
	for _, c := range []struct {
		code  string
		found bool
	}{{"-32002", false}, {"-32602", false}, {"-32603", true}, {"-32601", true}} {
		talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
			r, err := cs.ReadResource(ctx, "file:///none")
			var e *Error
			if r != nil || errors.Is(err, ErrResourceNotFound) == c.found || !errors.As(err, &e) || string(e.Data) != `{"uri":"file:///none"}` {
				t.Errorf("code %s: %v, error %v", c.code, r, err)
			}
		}), shakeHands(Revision20251125, `{}`, everything)+`
			< {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///none"}}
			> {"jsonrpc":"2.0","id":2,"error":{"code":`+c.code+`,"message":"no","data":{"uri":"file:///none"}}}
		`)
	}
}

// FEAT-176 FEAT-182: at 2024-11-05 a server cannot say whether it completes; context
// is not sent before 2025-06-18.
func TestClientCompleteEarly(t *testing.T) {
	p := &CompleteParams{Ref: CompleteReference{Type: "ref/resource", URI: "a:{b}"}, Argument: CompleteArgument{Name: "b", Value: "x"},
		Context: &CompleteContext{Arguments: map[string]string{"c": "1"}}}
	const request = `
		< {"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"a:{b}"},"argument":{"name":"b","value":"x"}}}
	`
	ask := func(values []string, want string) func(context.Context, Conn) {
		return asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
			c, err := cs.Complete(ctx, p)
			checkError(t, "Complete", err, want)
			if err == nil && !slices.Equal(c.Values, values) {
				t.Errorf("values %q, want %q", c.Values, values)
			}
		})
	}
	talk(t, ask(nil, ""), shakeHands(Revision20241105, `{}`, `{}`)+request+`
		> {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}
	`)
	talk(t, ask(nil, "mcp: completion/complete: no (code -32602)"), shakeHands(Revision20241105, `{}`, `{}`)+request+`
		> {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}
	`)
	talk(t, ask([]string{"xy"}, ""), shakeHands(Revision20241105, `{}`, `{}`)+request+`
		> {"jsonrpc":"2.0","id":2,"result":{"completion":{"values":["xy"]}}}
	`)
	talk(t, ask(nil, "mcp: the server does not offer completion/complete"), shakeHands(Revision20250326, `{}`, `{}`))
	talk(t, ask(nil, "mcp: completion/complete: no (code -32601)"), shakeHands(Revision20250326, `{}`, everything)+request+`
		> {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}
	`)
}

// FEAT-194 FEAT-195 FEAT-196 FEAT-197: pages of any size, a null at the end, odd cursors.
//
// BASE-413 BASE-414 BASE-417 BASE-418 BASE-419 FEAT-172 C-28
func TestBUG233EmptyCursor(t *testing.T) {
	var names []string
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		for r, err := range cs.Resources(ctx) {
			checkError(t, "Resources", err, "")
			names = append(names, r.Name)
		}
	}), shakeHands(Revision20250618, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"resources/list","params":{}}
		> {"jsonrpc":"2.0","id":2,"result":{"resources":[{"uri":"a:1","name":"1"}],"nextCursor":""}}
		< {"jsonrpc":"2.0","id":3,"method":"resources/list","params":{"cursor":""}}
		> {"jsonrpc":"2.0","id":3,"result":{"resources":[],"nextCursor":" \u2028\"<é "}}
		< {"jsonrpc":"2.0","id":4,"method":"resources/list","params":{"cursor":" `+"\u2028"+`\"<é "}}
		> {"jsonrpc":"2.0","id":4,"result":{"resources":[{"uri":"a:2","name":"2"},{"uri":"a:3","name":"3"}],"nextCursor":null}}
	`)
	if !slices.Equal(names, []string{"1", "2", "3"}) {
		t.Errorf("names %q", names)
	}
}

// BASE-413 BASE-419 BASE-421: likewise where there are no sessions.
//
// E1.17 FEAT-195
func TestStatelessCursors(t *testing.T) {
	var names []string
	talk(t, modernClient(t, ClientOptions{}, func(ctx context.Context, cs *ClientSession) {
		for p, err := range cs.Prompts(ctx) {
			must(t, err)
			names = append(names, p.Name)
		}
	}), discovers("{}", `{"prompts":{}}`)+`
		< `+loneRequest(2, "prompts/list", "")+`
		> `+givesBack(2, `{"resultType":"complete","prompts":[{"name":"1"}],"nextCursor":""}`)+`
		< `+loneRequest(3, "prompts/list", `,"cursor":""`)+`
		> `+givesBack(3, `{"resultType":"complete","prompts":[],"nextCursor":"\u0000 =%"}`)+`
		< `+loneRequest(4, "prompts/list", `,"cursor":"\u0000 =%"`)+`
		> `+givesBack(4, `{"resultType":"complete","prompts":[{"name":"2"}]}`))
	want(t, "names", names, []string{"1", "2"})
}

// FEAT-198: a list that never ends is an error; what came before it is there.
//
// EDGE-230 C-28
func TestEndlessLists(t *testing.T) {
	var got []string
	collect := func(name string, err error) {
		if err != nil {
			name = err.Error()
			if !errors.Is(err, ErrInvalidResponse) {
				t.Errorf("%v is not ErrInvalidResponse", err)
			}
		}
		got = append(got, name)
	}
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		for p, err := range cs.Prompts(ctx) {
			if p == nil {
				p = &Prompt{}
			}
			collect(p.Name, err)
		}
	}), shakeHands(Revision20250618, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{}}
		> {"jsonrpc":"2.0","id":2,"result":{"prompts":[{"name":"1"}],"nextCursor":"a"}}
		< {"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{"cursor":"a"}}
		> {"jsonrpc":"2.0","id":3,"result":{"prompts":[{"name":"2"}],"nextCursor":"b"}}
		< {"jsonrpc":"2.0","id":4,"method":"prompts/list","params":{"cursor":"b"}}
		> {"jsonrpc":"2.0","id":4,"result":{"prompts":[],"nextCursor":"a"}}
	`)
	if want := []string{"1", "2", `mcp: invalid response: the list's cursor "a" comes again`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	n := 0
	page := func(context.Context, *string) (*ListPromptsResult, error) {
		n++
		next := strconv.Itoa(n)
		return &ListPromptsResult{NextCursor: &next}, nil
	}
	got = nil
	for _, err := range pages(t.Context(), page, func(r *ListPromptsResult) ([]*Prompt, *string) { return r.Prompts, r.NextCursor }) {
		collect("", err)
	}
	if want := []string{"mcp: invalid response: the list has more than 10000 pages"}; !slices.Equal(got, want) || n != maxPages+1 {
		t.Errorf("got %q after %d pages, want %q", got, n, want)
	}
}

// An iteration that is left asks for no more pages, and one that fails ends.
func TestIteratorsEnd(t *testing.T) {
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		for range cs.Tools(ctx) {
			break
		}
		for tmpl, err := range cs.ResourceTemplates(ctx) {
			checkError(t, "ResourceTemplates", err, "")
			if tmpl.URITemplate != "a:{b}" {
				t.Errorf("template %+v", tmpl)
			}
		}
		count := 0
		for tmpl, err := range cs.ResourceTemplates(ctx) {
			count++
			checkError(t, "ResourceTemplates", err, "mcp: resources/templates/list: no (code -32603)")
			if tmpl != nil {
				t.Errorf("a template beside an error: %v", tmpl)
			}
		}
		if count != 1 {
			t.Errorf("%d items, want the error only", count)
		}
	}), shakeHands(Revision20250618, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
		> {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"1","inputSchema":{"type":"object"}}],"nextCursor":"a"}}
		< {"jsonrpc":"2.0","id":3,"method":"resources/templates/list","params":{}}
		> {"jsonrpc":"2.0","id":3,"result":{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}}
		< {"jsonrpc":"2.0","id":4,"method":"resources/templates/list","params":{}}
		> {"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"no"}}
	`)
}

func TestBUG161BadToolAmongOthers(t *testing.T) {
	var names []string
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		for tool, err := range cs.Tools(ctx) {
			checkError(t, "Tools", err, "")
			names = append(names, tool.Name)
		}
	}), shakeHands(Revision20250618, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
		> {"jsonrpc":"2.0","id":2,"result":{"tools":[null,{"name":"a","inputSchema":{"type":"object"}},{"name":"b"},{"name":"c","inputSchema":{"type":"object","properties":null,"required":null}},{"name":"d","inputSchema":true},5,{"inputSchema":{}}]}}
	`)
	if want := []string{"a", "c", "d"}; !slices.Equal(names, want) { // d is left raw
		t.Errorf("names %q, want %q", names, want)
	}
}

// FEAT-236: each notification has its handler, in the order of arrival.
func TestBUG232NotificationHandlers(t *testing.T) {
	var seen []string
	note := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	opts := &ClientOptions{
		ToolsChanged:     func(context.Context, *ClientSession) { note("tools") },
		PromptsChanged:   func(context.Context, *ClientSession) { note("prompts") },
		ResourcesChanged: func(context.Context, *ClientSession) { note("resources") },
		ResourceUpdated: func(_ context.Context, _ *ClientSession, p *ResourceUpdatedParams) {
			note("updated %s %v", p.URI, p.Meta)
		},
		LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) {
			note("log %s %s %s", p.Level, p.Logger, p.Data)
		},
		ElicitationComplete: func(_ context.Context, _ *ClientSession, p *ElicitationCompleteParams) {
			note("complete %s", p.ElicitationID)
		},
		Notification: func(_ context.Context, _ *ClientSession, method string, params json.RawMessage) {
			note("%s %s", method, params)
		},
	}
	const script = `
		> {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		> {"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}
		> {"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{}}}
		> {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b","_meta":{"x":1}}}
		> {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}
		> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"trace","data":null}}
		> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"l","data":{"a":1.0}}}
		> {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}
		> {"jsonrpc":"2.0","method":"notifications/x/new","params":{"a": 1}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}
		> {"jsonrpc":"2.0","id":"p","method":"ping"}
		< {"jsonrpc":"2.0","id":"p","result":{}}
	`
	talk(t, asClient(t, opts, nil), shakeHands(Revision20251125, `{}`, `{}`)+script)
	want := []string{"tools", "prompts", "resources", "updated a:b map[x:1]", "log trace  null", `log error l {"a":1.0}`, "complete e", `notifications/x/new {"a": 1}`}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
	talk(t, asClient(t, nil, nil), shakeHands(Revision20251125, `{}`, `{}`)+script)
}

// A method that the client does not have is refused, whatever it may have been.
func TestClientUnknownRequest(t *testing.T) {
	talk(t, asClient(t, &ClientOptions{Notification: func(context.Context, *ClientSession, string, json.RawMessage) { t.Error("called") }}, nil), shakeHands(Revision20251125, `{}`, `{}`)+`
		> {"jsonrpc":"2.0","id":5,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"method \"tools/list\" is not offered by this client"}}
	`)
}

const toolA = `{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`

const structured = `
	< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
	> {"jsonrpc":"2.0","id":2,"result":{"tools":[` + toolA + `]}}
`

// callA is a call of tool a and its answer.
func callA(id int, answer string) string {
	return fmt.Sprintf(`
		< {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a"}}
		> {"jsonrpc":"2.0","id":%[1]d,"result":%s}
	`, id, answer)
}

func TestBUG164OutputSchema(t *testing.T) {
	schema, err := CompileSchema([]byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	checkError(t, "CompileSchema", err, "")
	misfit := errorText(schema.Validate([]byte(`{"n":"1"}`)))
	for _, c := range []struct{ answer, want string }{
		{`{"content":[],"structuredContent":{"n":1.0}}`, ""},
		{`{"content":[],"isError":true}`, ""},
		{`{"content":[],"isError":true,"structuredContent":{"x":1}}`, ""},
		{`{"content":[],"structuredContent":{"n":"1"}}`, `mcp: invalid response: result of tool "a": ` + misfit},
		{`{"content":[]}`, `mcp: invalid response: tool "a" has an output schema but returned no structured content`},
	} {
		call := func(want string) func(ctx context.Context, cs *ClientSession) {
			return func(ctx context.Context, cs *ClientSession) {
				_, err := cs.ListTools(ctx, nil)
				checkError(t, "ListTools", err, "")
				r, err := cs.CallTool(ctx, "a", nil)
				checkError(t, c.answer, err, want)
				if r == nil {
					t.Errorf("%s: no result", c.answer)
				}
				if err != nil && !errors.Is(err, ErrInvalidResponse) {
					t.Errorf("%v is not ErrInvalidResponse", err)
				}
			}
		}
		for _, rev := range []string{Revision20250618, Revision20251125} {
			talk(t, asClient(t, nil, call(c.want)), shakeHands(rev, `{}`, everything)+structured+callA(3, c.answer))
		}
		talk(t, asClient(t, &ClientOptions{NoOutputCheck: true}, call("")), shakeHands(Revision20251125, `{}`, everything)+structured+callA(3, c.answer))
		const caps = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		lone := discovers(caps, `{"tools":{}}`) + "< " + loneAs(2, caps, "tools/list", "") + "\n> " + givesBack(2, `{"tools":[`+toolA+`]}`) +
			"\n< " + loneAs(3, caps, "tools/call", `,"name":"a"`) + "\n> "
		for _, conversation := range []string{
			lone + givesBack(3, c.answer),
			lone + givesBack(3, `{"resultType":"task","taskId":"x","status":"working"}`) + "\n< " + loneAs(4, caps, "tasks/get", `,"taskId":"x"`) +
				"\n> " + givesBack(4, `{"taskId":"x","status":"completed","result":`+c.answer+`}`),
		} {
			talk(t, anyClient(t, ClientOptions{}, "", call(c.want)), conversation)
		}
		// the older revisions have neither output schemas nor structured results
		talk(t, asClient(t, nil, call("")), shakeHands(Revision20250326, `{}`, everything)+structured+callA(3, c.answer))
	}
}

// What was listed is forgotten when the list changes, before the next call.
//
// FEAT-030
func TestOutputSchemaForgotten(t *testing.T) {
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		_, err := cs.ListTools(ctx, nil)
		checkError(t, "ListTools", err, "")
		_, err = cs.CallTool(ctx, "a", nil)
		checkError(t, "CallTool", err, `mcp: invalid response: tool "a" has an output schema but returned no structured content`)
		_, err = cs.CallTool(ctx, "a", nil)
		checkError(t, "CallTool", err, "")
	}), shakeHands(Revision20251125, `{}`, everything)+structured+callA(3, `{"content":[]}`)+`
		< {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a"}}
		> {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		> {"jsonrpc":"2.0","id":4,"result":{"content":[]}}
	`)
}

// FEAT-511
func TestBUG163UnusableOutputSchema(t *testing.T) {
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		_, err := cs.ListTools(ctx, nil)
		checkError(t, "ListTools", err, "")
		r, err := cs.CallTool(ctx, "a", nil)
		if err == nil || !strings.HasPrefix(err.Error(), `mcp: the output schema of tool "a" cannot be used: `) || r.Text() != "done" {
			t.Errorf("result %v, error %v", r, err)
		}
	}), shakeHands(Revision20251125, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
		> {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"$ref":"http://127.0.0.1:1/s.json"}}]}}
	`+callA(3, `{"content":[{"type":"text","text":"done"}],"structuredContent":{}}`))
}

// FEAT-528 FEAT-529 FEAT-532
func TestBUG166ContentFieldsKept(t *testing.T) {
	const blocks = `{"type":"text","text":"t","annotations":{"audience":["user"],"priority":0,"lastModified":"2025-01-01T00:00:00Z"},"_meta":{"a/b":1}},` +
		`{"type":"resource_link","uri":"a:b","name":"n","title":"T","size":0,"icons":[{"src":"https://a.example/i.png"}]},` +
		`{"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","blob":"AQ==","_meta":{"c":2}}},` +
		`{"type":"x-new","deep":{"a":[1.50]}}`
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		r, err := cs.CallTool(ctx, "a", nil)
		checkError(t, "CallTool", err, "")
		text, link := r.Content[0].(*TextContent), r.Content[1].(*ResourceLink)
		blob, unknown := r.Content[2].(*EmbeddedResource), r.Content[3].(*UnknownContent)
		data, err := blob.Resource.Blob.Bytes()
		checkError(t, "Bytes", err, "")
		if *text.Annotations.Priority != 0 || text.Annotations.LastModified != "2025-01-01T00:00:00Z" || text.Meta["a/b"] != json.Number("1") ||
			link.Title != "T" || *link.Size != 0 || link.Icons[0].Source != "https://a.example/i.png" ||
			!slices.Equal(data, []byte{1}) || blob.Resource.Meta["c"] != json.Number("2") ||
			unknown.Type != "x-new" || string(unknown.Raw) != `{"type":"x-new","deep":{"a":[1.50]}}` {
			t.Errorf("result %+v", r)
		}
		if again, err := json.Marshal(r); string(again) != `{"content":[`+blocks+`]}` || err != nil {
			t.Errorf("written again it is %s, error %v", again, err)
		}
	}), shakeHands(Revision20251125, `{}`, everything)+callA(2, `{"content":[`+blocks+`]}`))
}

func TestBUG184PromptBlob(t *testing.T) {
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		r, err := cs.GetPrompt(ctx, "p", nil)
		checkError(t, "GetPrompt", err, "")
		res := r.Messages[0].Content.(*EmbeddedResource).Resource
		if data, err := res.Blob.Bytes(); !slices.Equal(data, []byte{0, 255}) || err != nil || res.MIMEType != "x/y" {
			t.Errorf("data %v, error %v, resource %+v", data, err, res)
		}
	}), shakeHands(Revision20251125, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}
		> {"jsonrpc":"2.0","id":2,"result":{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","blob":"AP8="}}}]}}
	`)
}

// Options are those of the calls of one copy, and of no other.
func TestCallOptions(t *testing.T) {
	var reports []Progress
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		with := cs.With(CallOptions{Meta: Meta{"a/b": 1}, Progress: func(p Progress) { reports = append(reports, p) }})
		_, err := with.ListTools(ctx, nil)
		checkError(t, "ListTools", err, "")
		if !slices.Equal(reports, []Progress{{0.5, 2, "half"}, {Value: 2}}) {
			t.Errorf("progress %v", reports)
		}
		checkError(t, "Ping", cs.Ping(ctx), "")
		checkError(t, "Ping", cs.With(CallOptions{Meta: Meta{"c": "d"}}).Ping(ctx), "")
		err = cs.With(CallOptions{Timeout: time.Second}).Ping(ctx)
		checkError(t, "Ping", err, "mcp: ping: neither answer nor progress for 1s")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, new(*TimeoutError)) || errors.As(err, new(*Error)) {
			t.Errorf("%v is not a local timeout", err)
		}
	}), shakeHands(Revision20251125, `{}`, everything)+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"a/b":1,"progressToken":2}}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5,"total":2,"message":"half"}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":2}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"2","progress":3}}
		> {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":4}}
		> {"jsonrpc":"2.0","id":3,"result":{}}
		< {"jsonrpc":"2.0","id":4,"method":"ping","params":{"_meta":{"c":"d"}}}
		> {"jsonrpc":"2.0","id":4,"result":{}}
		< {"jsonrpc":"2.0","id":5,"method":"ping"}
		. 1s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"mcp: ping: neither answer nor progress for 1s"}}
	`)
}

// Two sessions of one client share the roots, and nothing else.
//
// BASE-088
func TestSessionsIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sessionClient(&Implementation{Name: "t", Version: "0"}, &ClientOptions{Roots: []*Root{}})
		var sessions []*ClientSession
		var servers sync.WaitGroup
		defer servers.Wait()
		for range 2 {
			s := testServer(t, nil)
			ours, theirs := Pipe()
			servers.Go(func() { checkError(t, "Run", s.Run(context.Background(), theirs), "") })
			cs, err := c.Connect(t.Context(), &ConnTransport{Conn: ours})
			checkError(t, "Connect", err, "")
			sessions = append(sessions, cs)
		}
		pending := make(chan error, 1)
		go func() { _, err := sessions[0].CallTool(t.Context(), "slow", nil); pending <- err }()
		synctest.Wait()
		checkError(t, "Close", sessions[0].Close(), "")
		checkError(t, "CallTool", <-pending, "mcp: connection closed: closed by this side")
		r, err := sessions[1].CallTool(t.Context(), "echo", echoInput{"hi"})
		if err != nil || r.Text() != "hi" {
			t.Errorf("the other session: %v, error %v", r, err)
		}
		checkError(t, "Close", sessions[1].Close(), "")
	})
}

// Wait tells why a session is over; Close may come twice, and from anywhere.
func TestWaitAndClose(t *testing.T) {
	talk(t, asClient(t, nil, func(ctx context.Context, cs *ClientSession) {
		waiting := cs.Ping(ctx)
		checkError(t, "Ping", waiting, "mcp: connection closed: EOF")
		if !errors.Is(waiting, ErrClosed) {
			t.Errorf("%v is not ErrClosed", waiting)
		}
		for range 2 {
			checkError(t, "Wait", cs.Wait(), "mcp: connection closed: EOF")
			checkError(t, "Ping", cs.Ping(ctx), "mcp: connection closed: EOF")
			checkError(t, "Close", cs.Close(), "")
		}
	}), shakeHands(Revision20251125, `{}`, `{}`)+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		$
	`)
}

// The context of a notification's handler ends with the session.
func TestNotificationContextEnds(t *testing.T) {
	var cause error
	opts := &ClientOptions{LoggingMessage: func(ctx context.Context, _ *ClientSession, _ *LoggingMessageParams) {
		<-ctx.Done()
		cause = context.Cause(ctx)
	}}
	talk(t, asClient(t, opts, func(_ context.Context, cs *ClientSession) {
		time.Sleep(time.Second)
		checkError(t, "Close", cs.Close(), "")
	}), shakeHands(Revision20251125, `{}`, `{}`)+`
		> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
		> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":2}}
		. 1s
	`)
	checkError(t, "cause", cause, "mcp: connection closed: closed by this side")
}

// A panic of the application's functions costs one answer.
func TestBUG170PanicInCallbacks(t *testing.T) {
	opts := &ClientOptions{
		Elicit:         func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) { panic("boom") },
		LoggingMessage: func(context.Context, *ClientSession, *LoggingMessageParams) { panic("boom") },
	}
	talk(t, asClient(t, opts, nil), shakeHands(Revision20251125, `{"elicitation":{"form":{}}}`, `{}`)+`
		> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
		> {"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":6,"method":"ping"}
		< {"jsonrpc":"2.0","id":6,"result":{}}
	`)
}

// A server that does not know ping is left alone, one that misses pings for a while
// lives, and one that misses three in a row is hung up on.
func TestClientKeepAlive(t *testing.T) {
	const refuses = `
		. 10s
		< {"jsonrpc":"2.0","id":%d,"method":"ping"}
		> {"jsonrpc":"2.0","id":%[1]d,"error":{"code":-32601,"message":"no"}}
		. 1h
	`
	const cancelled = `
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"mcp: ping: neither answer nor progress for 10s"}}
		< {"jsonrpc":"2.0","id":%d,"method":"ping"}
	`
	missed := func(first int) string { // three in a row end it
		return fmt.Sprintf("\n. 10s\n"+`< {"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n. 10s"+cancelled+". 10s"+cancelled+". 10s\n", first, first, first+1, first+1, first+2)
	}
	const once = `
		. 10s
		< {"jsonrpc":"2.0","id":%d,"method":"ping"}
		. 10s` + cancelled + `
		> {"jsonrpc":"2.0","id":%[3]d,"result":{}}
	`
	over := ""
	client := asClient(t, &ClientOptions{KeepAlive: 10 * time.Second}, func(_ context.Context, cs *ClientSession) { over = errorText(cs.Wait()) })
	talk(t, client, shakeHands(Revision20251125, `{}`, `{}`)+fmt.Sprintf(refuses, 2))
	if over != "mcp: connection closed: EOF" {
		t.Errorf("over: %s", over)
	}
	talk(t, client, shakeHands(Revision20251125, `{}`, `{}`)+fmt.Sprintf(once, 2, 2, 3)+missed(4)+
		`< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6,"reason":"mcp: ping: neither answer nor progress for 10s"}}`)
	if over != "mcp: connection closed: no answer to 3 pings" {
		t.Errorf("over: %s", over)
	}
}

// FEAT-334 FEAT-337: the visits that a call needs go the way of consent, and when the
// server has told that they are complete the call is made again.
func TestVisitsRequired(t *testing.T) {
	const need = `"error":{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","message":"m","url":"https://a.example/1","elicitationId":"e1"},{"mode":"url","message":"m","url":"https://a.example/2","elicitationId":"e2"}]}}`
	const caps = `{"elicitation":{"url":{}}}`
	call := func(id int) string {
		return fmt.Sprintf("\n"+`< {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}`+"\n", id)
	}
	refused := func(id int) string { return fmt.Sprintf("\n"+`> {"jsonrpc":"2.0","id":%d,%s}`+"\n", id, need) }
	complete := func(id string) string {
		return "\n" + `> {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + id + `"}}` + "\n"
	}
	var visited []string
	action := "accept"
	visit := func(_ context.Context, cs *ClientSession, p *ElicitParams) (*ElicitResult, error) {
		visited = append(visited, p.URL)
		return &ElicitResult{Action: action}, nil
	}
	subject := func(want string) func(context.Context, Conn) {
		return asClient(t, &ClientOptions{Visit: visit}, func(ctx context.Context, cs *ClientSession) {
			visited = nil
			_, err := cs.CallTool(ctx, "a", map[string]any{"x": 1})
			checkError(t, "CallTool", err, want)
			if want != "" && !errors.Is(err, &Error{Code: CodeURLElicitationRequired}) && !errors.Is(err, ErrClosed) {
				t.Errorf("%v does not tell the code", err)
			}
		})
	}
	both := []string{"https://a.example/1", "https://a.example/2"}
	checkVisited := func(want []string) {
		t.Helper()
		if !slices.Equal(visited, want) {
			t.Errorf("visited %q, want %q", visited, want)
		}
	}
	open := shakeHands(Revision20251125, caps, everything)
	done := `> {"jsonrpc":"2.0","id":3,"result":{"content":[]}}`

	talk(t, subject(""), open+call(2)+refused(2)+complete("e1")+complete("unknown")+complete("e1")+". 59s"+complete("e2")+call(3)+done)
	checkVisited(both)
	// it was complete before anybody waited
	talk(t, subject(""), open+call(2)+complete("e2")+complete("e1")+refused(2)+call(3)+done)
	checkVisited(both)
	// servers need not tell: the call is tried again, and nobody asked again
	script := open + call(2) + refused(2)
	for id := 3; id <= 2+maxRetries; id++ {
		script += ". 1m\n" + call(id) + refused(id)
	}
	talk(t, subject("mcp: tools/call: sign in (code -32042)"), script)
	checkVisited(both)
	talk(t, subject("mcp: connection closed: EOF"), open+call(2)+refused(2)+"$")

	action = "decline"
	talk(t, subject("mcp: tools/call: sign in (code -32042)"), open+call(2)+refused(2))
	checkVisited(both[:1])
	action = "accept"
	// it is not asked for ever
	again := ""
	for id := 2; id <= 2+maxRetries; id++ {
		again += call(id) + refused(id)
		if id == 2 {
			again += complete("e1") + complete("e2")
		}
	}
	talk(t, subject("mcp: tools/call: sign in (code -32042)"), open+again)
	checkVisited(both)
	// before 2025-11-25 the code has no meaning
	talk(t, subject("mcp: tools/call: sign in (code -32042)"), shakeHands(Revision20250618, caps, everything)+call(2)+refused(2))
	checkVisited(nil)
}

// Ids of visits that nobody asks for do not pile up; one that is waited for, and the
// latest, are kept.
func TestCompletedIsBounded(t *testing.T) {
	c := &clientConn{visits: map[string]chan struct{}{}}
	waiting := c.visit("waiting")
	for i := range 3 * maxCompleted {
		c.completed(strconv.Itoa(i))
		if len(c.visits) > maxCompleted {
			t.Fatalf("%d ids are kept, want at most %d", len(c.visits), maxCompleted)
		}
		<-c.visit(strconv.Itoa(i))
	}
	c.completed("waiting")
	<-waiting
}

// FEAT-330: what an error asks for must be visits, and none is begun if one
// is not.
func TestVisitsRequiredInvalid(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{``, "data of error -32042: not JSON: unexpected end at byte 0"},
		{`,"data":{"elicitations":[]}`, "error -32042 without elicitations in its data"},
		{`,"data":{"elicitations":[{"mode":"url","message":"m","url":"https://a.example/1","elicitationId":"e1"},{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}]}`,
			"elicitations of error -32042 must have mode url and an id"},
		{`,"data":{"elicitations":[{"mode":"url","message":"m","url":"https://a.example/1"}]}`, "elicitations of error -32042 must have mode url and an id"},
		{`,"data":{"elicitations":[{"mode":"url","message":"m","url":"javascript:x","elicitationId":"e1"}]}`,
			`mcp: url "javascript:x" of an elicitation must be an absolute https or http URL`},
	} {
		visit := func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
			t.Errorf("%s: visited", c.data)
			return nil, nil
		}
		talk(t, asClient(t, &ClientOptions{Visit: visit}, func(ctx context.Context, cs *ClientSession) {
			_, err := cs.CallTool(ctx, "a", nil)
			checkError(t, "CallTool", err, "mcp: tools/call: mcp: invalid response: "+c.want+": m (code -32042)")
		}), shakeHands(Revision20251125, `{"elicitation":{"url":{}}}`, everything)+`
			< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
			> {"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"m"`+c.data+`}}
		`)
	}
}
