package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/mcp"
)

const sharedSchemas = "../../../shared/spec/schema" // the official ones

// A wire has what went over the connections of a session.
type wire struct {
	mu       sync.Mutex // guards the fields below
	messages []sent
	end      bool // the client is about to close the session
}

// A sent is a message as it was on the wire.
type sent struct {
	byServer bool
	late     bool // by the server, when the session was about to end
	text     string
	message
}

// A message is what the check of the wire has to know of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string          `json:"name"`
		Task json.RawMessage `json:"task"`
		Ref  struct {
			URI string `json:"uri"`
		} `json:"ref"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// offers lists what the server has listed, and uses what of it was asked for, as
// "tool read_file", "prompt explain_file" and "template {+path}", the latter without the URI of its folder.
func (w *wire) offers(dir string) (offers, uses []string) {
	for _, m := range w.all() {
		var r struct {
			Tools     []struct{ Name string }
			Prompts   []struct{ Name string }
			Templates []struct{ URITemplate string } `json:"resourceTemplates"`
		}
		_ = json.Unmarshal(m.Result, &r) // what is no list has none
		for _, tool := range r.Tools {
			offers = append(offers, "tool "+tool.Name)
		}
		for _, prompt := range r.Prompts {
			offers = append(offers, "prompt "+prompt.Name)
		}
		for _, template := range r.Templates {
			offers = append(offers, "template "+strings.TrimPrefix(template.URITemplate, dir))
		}
		switch m.Method {
		case "tools/call":
			uses = append(uses, "tool "+m.Params.Name)
		case "prompts/get":
			uses = append(uses, "prompt "+m.Params.Name)
		case "completion/complete":
			uses = append(uses, "template "+strings.TrimPrefix(m.Params.Ref.URI, dir))
		}
	}
	return offers, uses
}

// add notes what was sent: a message, or several in an array.
func (w *wire) add(byServer bool, data []byte) {
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		all = []json.RawMessage{data}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range all {
		m := sent{byServer: byServer, late: byServer && w.end, text: string(text)}
		_ = json.Unmarshal(text, &m.message) // what is no message fits no type
		w.messages = append(w.messages, m)
	}
}

func (w *wire) closing() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = true
}

func (w *wire) all() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.messages)
}

// spoken lists what was said, in order and each once: ">" and a method of the client,
// "<" and one of the server, or "<input_required" for the result that asks. What the
// server says to the end of the session may get lost, and does not count.
func (w *wire) spoken() []string {
	said := map[string]bool{}
	for _, m := range w.all() {
		switch {
		case m.late:
		case m.Method != "":
			said[map[bool]string{false: ">", true: "<"}[m.byServer]+m.Method] = true
		case resultType(m.Result) == "input_required":
			said["<input_required"] = true
		}
	}
	return slices.Sorted(maps.Keys(said))
}

func resultType(result []byte) string {
	var r struct {
		ResultType string `json:"resultType"`
	}
	_ = json.Unmarshal(result, &r) // none has no type
	return r.ResultType
}

func code(e []byte) int {
	var c struct {
		Code int `json:"code"`
	}
	_ = json.Unmarshal(e, &c) // what is no error fits no type
	return c.Code
}

// A wiredConn notes what goes over a connection of a client.
type wiredConn struct {
	mcp.Conn
	wire *wire
}

func (c *wiredConn) Read() ([]byte, error) {
	data, err := c.Conn.Read()
	if err == nil {
		c.wire.add(true, data)
	}
	return data, err
}

func (c *wiredConn) Write(messages ...[]byte) error {
	for _, data := range messages {
		c.wire.add(false, data)
	}
	return c.Conn.Write(messages...)
}

// A wiredHTTP notes what goes over the HTTP of a client.
type wiredHTTP struct {
	base http.RoundTripper
	wire *wire
}

func (h *wiredHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body.Close()
		if r = r.Clone(r.Context()); len(data) > 0 {
			h.wire.add(false, data)
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	resp, err := h.base.RoundTrip(r)
	if err == nil {
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		resp.Body = &wiredBody{ReadCloser: resp.Body, kind: kind, wire: h.wire}
	}
	return resp, err
}

// A wiredBody notes the messages in the body of an answer.
type wiredBody struct {
	io.ReadCloser
	kind string // its media type
	wire *wire
	read []byte // and not yet noted
}

func (b *wiredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read = append(b.read, p[:n]...)
	if b.kind == "text/event-stream" {
		b.events()
	}
	return n, err
}

// events notes the events that are complete. The server ends lines with LF.
func (b *wiredBody) events() {
	for {
		event, rest, ok := bytes.Cut(b.read, []byte("\n\n"))
		if !ok {
			return
		}
		b.read = rest
		name, data := "message", []byte(nil)
		for line := range strings.SplitSeq(string(event), "\n") {
			if text, ok := strings.CutPrefix(line, "event: "); ok {
				name = text
			} else if text, ok := strings.CutPrefix(line, "data: "); ok {
				data = append(data, text...)
			}
		}
		if name == "message" && len(data) > 0 {
			b.wire.add(true, data)
		}
	}
}

func (b *wiredBody) Close() error {
	if b.kind == "application/json" && len(b.read) > 0 {
		b.wire.add(true, b.read)
		b.read = nil
	}
	return b.ReadCloser.Close()
}

// officialTypes are the definitions of the official schema of a revision.
type officialTypes struct {
	rev, dialect, section string
	defs                  map[string]map[string]any
	byMethod              map[string]string // names of the definitions of requests and notifications
	mu                    sync.Mutex        // guards compiled
	compiled              map[string]*mcp.Schema
}

// readSchemas returns the official types by revision; nil if they are not there. To those of each, members that
// only other revisions have are closed: what is of another revision does not fit.
func readSchemas(t *testing.T) map[string]*officialTypes {
	t.Helper()
	if _, err := os.Stat(sharedSchemas); err != nil {
		t.Logf("the wire is not checked: the official schemas are not at %s", sharedSchemas)
		return nil
	}
	all := map[string]*officialTypes{}
	for _, rev := range mcp.Revisions() {
		all[rev] = readSchema(t, rev)
	}
	known := map[string]map[string]any{} // members by type, of all revisions
	for _, o := range all {
		for name := range o.defs {
			for _, name := range []string{name, name + "/params"} {
				if known[name] == nil {
					known[name] = map[string]any{}
				}
				maps.Copy(known[name], o.members(name))
			}
		}
	}
	for _, o := range all {
		for name, def := range o.defs {
			if def["allOf"] == nil { // else others say what it has
				shut(o.members(name), known[name])
			}
			if o.inline(name) {
				shut(o.members(name+"/params"), known[name+"/params"])
			}
		}
	}
	return all
}

// shut closes the members that a type does not have.
func shut(members, known map[string]any) {
	for name := range known {
		if _, ok := members[name]; members != nil && !ok && !slices.Contains([]string{"jsonrpc", "id", "_meta"}, name) {
			members[name] = false
		}
	}
}

func readSchema(t *testing.T, rev string) *officialTypes {
	t.Helper()
	var file struct {
		Schema      string                    `json:"$schema"`
		Definitions map[string]map[string]any `json:"definitions"`
		Defs        map[string]map[string]any `json:"$defs"`
	}
	data, err := os.ReadFile(filepath.Join(sharedSchemas, rev+".json"))
	check(t, err)
	check(t, json.Unmarshal(data, &file))
	o := &officialTypes{rev: rev, dialect: file.Schema, section: "definitions", defs: file.Definitions,
		byMethod: map[string]string{}, compiled: map[string]*mcp.Schema{}}
	if o.defs == nil {
		o.section, o.defs = "$defs", file.Defs
	}
	if rev == mcp.Revision20260728 {
		tasks, err := os.ReadFile(filepath.Join("..", "..", "testdata", "tasks-"+rev+".json")) // the types of the extension
		check(t, err)
		check(t, json.Unmarshal(tasks, &o.defs)) // into those that are there
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(o.defs))) { // so that CancelledNotification counts, not ClientNotification
		method, _ := o.members(name)["method"].(map[string]any)
		if text, ok := method["const"].(string); ok {
			o.byMethod[text] = name
		}
	}
	return o
}

// members are those of a type, or of the parameters of a method, as in PingRequest/params;
// nil if it has none of its own.
func (o *officialTypes) members(name string) map[string]any {
	base, params := strings.CutSuffix(name, "/params")
	members, _ := o.defs[base]["properties"].(map[string]any)
	if !params {
		return members
	}
	p, _ := members["params"].(map[string]any)
	if ref, ok := p["$ref"].(string); ok {
		return o.members(strings.TrimPrefix(ref, "#/"+o.section+"/"))
	}
	members, _ = p["properties"].(map[string]any)
	return members
}

// inline reports whether a type has parameters that are no type of their own.
func (o *officialTypes) inline(name string) bool {
	p, _ := o.members(name)["params"].(map[string]any)
	return p != nil && p["$ref"] == nil && p["allOf"] == nil
}

// check validates data as a type.
func (o *officialTypes) check(name string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if base, _, _ := strings.Cut(name, "/"); o.defs[base] == nil {
		return fmt.Errorf("has no type in %s: there is no %s", o.rev, name)
	}
	if o.compiled[name] == nil {
		text, err := json.Marshal(map[string]any{"$schema": o.dialect, o.section: o.defs,
			"allOf": []any{map[string]any{"$ref": "#/" + o.section + "/" + name}}})
		if err != nil {
			return err
		}
		if o.compiled[name], err = mcp.CompileSchema(text); err != nil {
			return fmt.Errorf("official type %s: %w", name, err)
		}
	}
	if err := o.compiled[name].Validate(data); err != nil {
		return fmt.Errorf("is no %s of %s: %w", name, o.rev, err)
	}
	return nil
}

// words lists all that the sides may say, as spoken does.
func (o *officialTypes) words() (words []string) {
	for method, name := range o.byMethod {
		for mark, side := range map[string]string{">": "Client", "<": "Server"} {
			if o.sends(side+"Request", name) || o.sends(side+"Notification", name) {
				words = append(words, mark+method)
			}
		}
	}
	slices.Sort(words)
	return words
}

// problems says what of a session does not fit the official types: each message fits its
// own type, one that its side may send, and each result that of its method. Without
// official types nothing is known to be wrong.
func (o *officialTypes) problems(w *wire) (problems []string) {
	if o == nil {
		return nil
	}
	asked := map[string]sent{}
	key := func(byServer bool, id []byte) string { return fmt.Sprint(byServer, string(id)) }
	all := w.all()
	for _, m := range all {
		if m.Method != "" && m.ID != nil {
			asked[key(m.byServer, m.ID)] = m
		}
	}
	for _, m := range all {
		request, known := asked[key(!m.byServer, m.ID)]
		for _, c := range o.typesOf(m, request, known) {
			if err := o.check(c.name, c.data); err != nil {
				problems = append(problems, fmt.Sprintf("%s %v", m.text, err))
			}
		}
	}
	return problems
}

// A typed is a text with the name of the type that it must fit.
type typed struct {
	name string
	data []byte
}

// typesOf lists what a message must fit. request is what it answers, if that is known.
func (o *officialTypes) typesOf(m, request sent, known bool) []typed {
	text := []byte(m.text)
	side := map[bool]string{false: "Client", true: "Server"}[m.byServer]
	switch {
	case m.Method != "":
		kind := "Notification"
		if m.ID != nil {
			kind = "Request"
		}
		if o.sends(side+kind, o.byMethod[m.Method]) {
			return []typed{{"JSONRPC" + kind, text}, {o.byMethod[m.Method], text}}
		}
		return []typed{{side + kind + " with the method " + m.Method, text}} // which there is not
	case m.Error != nil && o.defs["JSONRPCErrorResponse"] == nil && m.ID == nil: // the schema demands an id; there is none that could be right
		return []typed{{"JSONRPCError/properties/error", m.Error}}
	case m.Error != nil:
		types := []typed{{"JSONRPCError", text}}
		if o.defs["JSONRPCErrorResponse"] != nil {
			types[0].name = "JSONRPCErrorResponse"
		}
		if name := dataErrors[code(m.Error)]; o.defs[name] != nil {
			types = append(types, typed{name, text})
		}
		return types
	case !known:
		return []typed{{"request for this answer", text}} // which there is not
	}
	types := []typed{{"JSONRPCResponse", text}, {o.resultOf(request, m.Result), m.Result}}
	if o.defs["JSONRPCResultResponse"] != nil {
		types[0].name = "JSONRPCResultResponse"
	}
	return types
}

// dataErrors are the types of errors that have data.
var dataErrors = map[int]string{mcp.CodeHeaderMismatch: "HeaderMismatchError", mcp.CodeUnsupportedProtocolVersion: "UnsupportedProtocolVersionError",
	mcp.CodeMissingRequiredClientCapability: "MissingRequiredClientCapabilityError", mcp.CodeURLElicitationRequired: "URLElicitationRequiredError"}

// sends reports whether a union of the schema has a type. Of 2026-07-28 it has not those
// of the extension for tasks, and a union of one is written out.
func (o *officialTypes) sends(union, name string) bool {
	extension := strings.HasSuffix(name, "TaskRequest") && union == "ClientRequest" || name == "TaskNotification" && union == "ServerNotification"
	one := name == "CancelledNotification" && union == "ClientNotification"
	if o.rev == mcp.Revision20260728 && (extension || one) {
		return true
	}
	refs, _ := o.defs[union]["anyOf"].([]any)
	return slices.ContainsFunc(refs, func(ref any) bool {
		r, _ := ref.(map[string]any)
		return r["$ref"] == "#/"+o.section+"/"+name
	})
}

// resultOf names the type of a result.
func (o *officialTypes) resultOf(request sent, result []byte) string {
	call := request.Method == "tools/call"
	switch {
	case resultType(result) == "input_required":
		return "InputRequiredResult"
	case call && (request.Params.Task != nil || resultType(result) == "task"):
		return "CreateTaskResult"
	case request.Method == "tasks/result":
		return "CallToolResult" // the server runs no other request as a task
	}
	name := strings.TrimSuffix(o.byMethod[request.Method], "Request") + "Result"
	if o.defs[name] == nil {
		return "EmptyResult"
	}
	return name
}

// The check of the wire must find what is wrong.
func TestWireProblems(t *testing.T) {
	types := readSchemas(t)
	if types == nil {
		t.Skip("there is nothing to check")
	}
	const (
		list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
		lone = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	)
	for _, c := range []struct{ rev, asked, said, problem string }{
		{"2024-11-05", list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, ""},
		{"2024-11-05", list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`, ""},
		{"2024-11-05", list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","title":"A","inputSchema":{"type":"object"}}]}}`, "is no ListToolsResult of 2024-11-05: "},
		{"2025-06-18", list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","title":"A","inputSchema":{"type":"object"}}]}}`, ""},
		{"2025-03-26", call, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{}}}`, "is no CallToolResult of 2025-03-26: "},
		{"2025-06-18", call, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{}}}`, ""},
		{"2025-11-25", call, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, "is no CallToolResult of 2025-11-25: "},
		{"2025-11-25", call, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`, "there is no request for this answer"},
		{"2025-11-25", call, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, "is no JSONRPCErrorResponse of 2025-11-25: "},
		{"2024-11-05", call, `{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`, ""},
		{"2024-11-05", call, `{"jsonrpc":"2.0","error":{"code":1}}`, "is no JSONRPCError/properties/error of 2024-11-05: "},
		{"2025-11-25", list, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`, ""},
		{"2025-03-26", list, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`,
			"there is no ServerRequest with the method elicitation/create"},
		{"2025-06-18", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
			"is no CallToolRequest of 2025-06-18: /params/task: not allowed"},
		{"2026-07-28", lone, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "there is no ServerRequest with the method ping"},
		{"2026-07-28", lone, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, "is no JSONRPCResultResponse of 2026-07-28: "},
		{"2026-07-28", lone, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, "is no CallToolResult of 2026-07-28: "},
		{"2026-07-28", lone, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`, ""},
		{"2026-07-28", lone, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"1"}}`, "is no CreateTaskResult of 2026-07-28: "},
		{"2026-07-28", call, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`, "is no CallToolRequest of 2026-07-28: "},
	} {
		w := &wire{}
		w.add(false, []byte(c.asked))
		w.add(true, []byte(c.said))
		got := types[c.rev].problems(w)
		if c.problem == "" && len(got) > 0 || c.problem != "" && (len(got) == 0 || !strings.Contains(got[0], c.problem)) {
			t.Errorf("%s: %s after %s: problems %q, want %q", c.rev, c.said, c.asked, got, c.problem)
		}
	}
}
