package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const sharedSpec = "../shared/spec" // the official schemas, and pages of the specification

// officialTypes are the definitions of an official schema.
type officialTypes struct {
	dialect  string
	section  string            // "definitions" or "$defs"
	defs     map[string]any    // by name
	byMethod map[string]string // names of the definitions of requests and notifications
	compiled sync.Map          // name to *Schema
}

// officialSchemas holds an *officialTypes by revision.
var officialSchemas sync.Map

// officialSchema returns the official types of a revision; nil if the schemas are not
// there.
func officialSchema(t testing.TB, rev string) *officialTypes {
	if o, ok := officialSchemas.Load(rev); ok {
		return o.(*officialTypes)
	}
	data, err := os.ReadFile(filepath.Join(sharedSpec, "schema", rev+".json"))
	if os.IsNotExist(err) {
		return nil
	}
	var file struct {
		Schema      string         `json:"$schema"`
		Definitions map[string]any `json:"definitions"`
		Defs        map[string]any `json:"$defs"`
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &officialTypes{dialect: file.Schema, section: "definitions", defs: file.Definitions, byMethod: map[string]string{}}
	if o.defs == nil {
		o.section, o.defs = "$defs", file.Defs
	}
	o.mendElicitResult()
	for name, def := range o.defs {
		properties, _ := def.(map[string]any)["properties"].(map[string]any)
		method, _ := properties["method"].(map[string]any)
		if text, ok := method["const"].(string); ok {
			o.byMethod[text] = name
		}
	}
	actual, _ := officialSchemas.LoadOrStore(rev, o)
	return actual.(*officialTypes)
}

// mendElicitResult puts back what the generator of the schemas lost: the values of a
// form are numbers, not only integers.
func (o *officialTypes) mendElicitResult() {
	if def, ok := o.defs["ElicitResult"]; ok {
		text, _ := json.Marshal(def)
		var mended any
		_ = json.Unmarshal(bytes.ReplaceAll(text, []byte(`"integer"`), []byte(`"number"`)), &mended)
		o.defs["ElicitResult"] = mended
	}
}

// check validates data as a type.
func (o *officialTypes) check(name string, data []byte) error {
	s, ok := o.compiled.Load(name)
	if !ok {
		text, err := json.Marshal(map[string]any{"$schema": o.dialect, o.section: o.defs,
			"allOf": []any{map[string]any{"$ref": "#/" + o.section + "/" + name}}})
		if err != nil {
			return err
		}
		compiled, err := CompileSchema(text)
		if err != nil {
			return fmt.Errorf("official type %s: %w", name, err)
		}
		s, _ = o.compiled.LoadOrStore(name, compiled)
	}
	if err := s.(*Schema).Validate(data); err != nil {
		return fmt.Errorf("is no %s: %w", name, err)
	}
	return nil
}

// resultOf is the name of the type of a method's results.
func (o *officialTypes) resultOf(method string) string {
	name := strings.TrimSuffix(o.byMethod[method], "Request") + "Result"
	if o.defs[name] == nil {
		return "EmptyResult"
	}
	return name
}

// A wireCheck holds the lines of a conversation to the official schemas.
type wireCheck struct {
	t        testing.TB
	rev      string
	asked    map[string]string // methods of requests to the subject, by key of their id
	problems []string
	checked  int
}

// wireProblems says what is wrong with the messages that the subject of a conversation
// has said. It says nothing where the official schemas are missing.
func wireProblems(t testing.TB, lines []wireLine) []string {
	c := &wireCheck{t: t, rev: newest.String(), asked: map[string]string{}}
	for _, line := range lines {
		f := parseFrame([]byte(line.text))
		for _, m := range f.messages {
			if rev := m.result.member("protocolVersion").str(); parseRevision(rev) > 0 {
				c.rev = rev
			}
			if !line.fromSubject {
				c.asked[m.id.key()] = m.method
			}
		}
		if line.fromSubject {
			c.line(f, line.text)
		}
	}
	return c.problems
}

func (c *wireCheck) line(f *frame, text string) {
	o := officialSchema(c.t, c.rev)
	if o == nil {
		return
	}
	if f.bad != nil {
		c.problems = append(c.problems, fmt.Sprintf("not a message: %s: %v", text, f.bad))
		return
	}
	root := f.ix.root()
	if !f.batch {
		c.message(o, &f.messages[0], root)
		return
	}
	i := 0
	for v := range root.items() {
		c.message(o, &f.messages[i], v)
		i++
	}
}

func (c *wireCheck) message(o *officialTypes, m *message, v value) {
	c.checked++
	check := func(name string, v value) {
		if err := o.check(name, v.raw()); err != nil {
			c.problems = append(c.problems, fmt.Sprintf("at %s: %s %v", c.rev, v.raw(), err))
		}
	}
	switch {
	case m.kind == invalidMessage:
		c.problems = append(c.problems, fmt.Sprintf("at %s: %s: %v", c.rev, v.raw(), m.bad))
	case m.kind != responseMessage && o.byMethod[m.method] != "":
		check(o.byMethod[m.method], v)
	case m.kind == requestMessage:
		check("JSONRPCRequest", v)
	case m.kind == notificationMessage:
		check("JSONRPCNotification", v)
	case m.result.present():
		check("JSONRPCResponse", v)
		check(o.resultOf(c.asked[m.id.key()]), m.result)
	case o.defs["JSONRPCErrorResponse"] != nil:
		check("JSONRPCErrorResponse", v)
	case m.id.IsZero(): // the schema demands an id; there is none that could be right
		check("JSONRPCError/properties/error", v.member("error"))
	default:
		check("JSONRPCError", v)
	}
}

func needShared(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(sharedSpec); err != nil {
		t.Skipf("%s is not there", sharedSpec)
	}
}

// The check of the wire must find what is wrong.
func TestWireProblems(t *testing.T) {
	needShared(t)
	const ask = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, rev := range Revisions() {
		open := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"` + rev + `","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
		for _, tt := range []struct {
			said string
			bad  bool
		}{
			{`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, false},
			{`{"jsonrpc":"2.0","id":1,"result":{"tools":null}}`, true},
			{`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}`, true},
			{`{"jsonrpc":"2.0","id":2,"result":{}}`, false},
			{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`, false},
			{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, false},
			{`{"jsonrpc":"2.0","error":{"code":-32700}}`, true},
			{`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, false},
			{`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`, true},
			{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}}`, true},
			{`{"jsonrpc":"2.0","method":"notifications/example","params":{}}`, false},
			{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, true},
			{`hello`, true},
		} {
			got := wireProblems(t, []wireLine{{true, open}, {false, ask}, {true, tt.said}})
			if (len(got) > 0) != tt.bad {
				t.Errorf("%s: %s: problems %q, want some: %v", rev, tt.said, got, tt.bad)
			}
		}
	}
}

// A seedRule tells by which Go type an example of the specification is read: params
// by method, results by a member that only they have, other values by shape.
type seedRule struct {
	has string // names of members that must be there
	new func() any
}

var seedParams = map[string]func() any{
	methodInitialize:        func() any { return &InitializeParams{} },
	methodToolsList:         func() any { return &ListParams{} },
	methodToolsCall:         func() any { return &CallToolParams{} },
	methodResourcesList:     func() any { return &ListParams{} },
	methodTemplatesList:     func() any { return &ListParams{} },
	methodResourcesRead:     func() any { return &ReadResourceParams{} },
	methodSubscribe:         func() any { return &SubscribeParams{} },
	methodPromptsList:       func() any { return &ListParams{} },
	methodPromptsGet:        func() any { return &GetPromptParams{} },
	methodComplete:          func() any { return &CompleteParams{} },
	methodSetLevel:          func() any { return &SetLevelParams{} },
	methodRootsList:         func() any { return &ListRootsParams{} },
	methodCreateMessage:     func() any { return &CreateMessageParams{} },
	methodElicit:            func() any { return &ElicitParams{} },
	noteMessage:             func() any { return &LoggingMessageParams{} },
	noteResourceUpdated:     func() any { return &ResourceUpdatedParams{} },
	noteElicitationComplete: func() any { return &ElicitationCompleteParams{} },
	noteInitialized:         nil,
	noteRootsChanged:        nil,
	noteToolsChanged:        nil,
	notePromptsChanged:      nil,
	noteResourcesChanged:    nil,
}

var seedResults = []seedRule{
	{"protocolVersion", func() any { return &InitializeResult{} }},
	{"tools", func() any { return &ListToolsResult{} }},
	{"resources", func() any { return &ListResourcesResult{} }},
	{"resourceTemplates", func() any { return &ListResourceTemplatesResult{} }},
	{"contents", func() any { return &ReadResourceResult{} }},
	{"prompts", func() any { return &ListPromptsResult{} }},
	{"messages", func() any { return &GetPromptResult{} }},
	{"roots", func() any { return &ListRootsResult{} }},
	{"role model", func() any { return &CreateMessageResult{} }},
	{"content action", func() any { return &ElicitResult{} }},
	{"action", func() any { return &ElicitResult{} }},
	{"completion", func() any { return &CompleteResult{} }},
	{"content", func() any { return &CallToolResult{} }},
}

type (
	clientCapabilitiesExample struct {
		Capabilities ClientCapabilities `json:"capabilities"`
	}
	serverCapabilitiesExample struct {
		Capabilities ServerCapabilities `json:"capabilities"`
	}
	contentExample struct{ block Content }
)

// seedShapes are tried in order for values that are no message.
var seedShapes = []seedRule{
	{"capabilities.roots", func() any { return &clientCapabilitiesExample{} }},
	{"capabilities.sampling", func() any { return &clientCapabilitiesExample{} }},
	{"capabilities.tools", func() any { return &serverCapabilitiesExample{} }},
	{"capabilities.prompts", func() any { return &serverCapabilitiesExample{} }},
	{"capabilities.resources", func() any { return &serverCapabilitiesExample{} }},
	{"uri text", func() any { return &ResourceContents{} }},
	{"uri blob", func() any { return &ResourceContents{} }},
	{"uri name mimeType", func() any { return &Resource{} }},
	{"uri name", func() any { return &Root{} }},
	{"hints costPriority", func() any { return &ModelPreferences{} }},
	{"name inputSchema", func() any { return &Tool{} }},
	{"type default", func() any { return &PrimitiveSchema{} }},
	{"type", func() any { return &contentExample{} }},
}

// seedExceptions are the examples that no type of the package is for.
var seedExceptions = map[string]string{
	"client_id": "OAuth client metadata, which is no message of the protocol",
}

// seedUnnamed are the members, all of tasks, that the package carries without a field
// for them.
var seedUnnamed = []string{"tasks", "execution"}

// readSeeds returns the JSON values in the text of a file, comments taken out, and how
// many values are written in something else than JSON.
func readSeeds(t *testing.T, name string) (examples []json.RawMessage, others int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sharedSpec, "seeds", name))
	if err != nil {
		t.Fatal(err)
	}
	data = regexp.MustCompile(`(?m)\s//\s.*$`).ReplaceAll(data, nil)
	for len(data) > 0 {
		if data[0] == '{' || data[0] == '[' {
			d := json.NewDecoder(bytes.NewReader(data))
			var raw json.RawMessage
			if err := d.Decode(&raw); err == nil {
				examples = append(examples, raw)
				data = data[d.InputOffset():]
			} else {
				others++
			}
		}
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return examples, others
}

// Every JSON example of two published texts is read and written without loss.
// FEAT-045 FEAT-544
func TestSeedExamples(t *testing.T) {
	needShared(t)
	for _, file := range []struct {
		name, rev        string
		examples, others int
	}{
		{"000_9a24e541f38aeb90.txt", Revision20250326, 57, 3},
		{"003_ada8a1556c6f4fb8.txt", Revision20251125, 31, 0},
	} {
		examples, others := readSeeds(t, file.name)
		if len(examples) != file.examples || others != file.others {
			t.Errorf("%s: %d examples and %d that are not JSON, want %d and %d", file.name, len(examples), others, file.examples, file.others)
		}
		for _, text := range examples {
			checkSeed(t, text, parseRevision(file.rev))
		}
	}
}

func checkSeed(t *testing.T, text json.RawMessage, rev revision) {
	ix, err := scan(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	root := ix.root()
	for name := range root.members() {
		if seedExceptions[name.str()] != "" {
			return
		}
	}
	var again []byte
	switch {
	case root.kind() == kindArray:
		for item := range root.items() {
			checkSeed(t, item.raw(), rev)
		}
		return
	case root.member("jsonrpc").present():
		again, err = seedMessage(root, rev)
	default:
		again, err = seedValue(seedShapes, root, rev)
	}
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	if !sameJSON(t, text, again) {
		t.Errorf("read and written again:\n%s\nbecomes\n%s", text, again)
	}
}

func seedMessage(root value, rev revision) ([]byte, error) {
	m := parseMessage(root)
	switch {
	case m.kind == responseMessage && m.result.present():
		again, err := seedValue(seedResults, m.result, rev)
		b, _ := encodeResult(m.id, json.RawMessage(again), rev)
		return b.b, err
	case m.kind == responseMessage:
		e, ok := m.err.(*Error)
		if !ok {
			return nil, m.err
		}
		return encodeError(m.id, e).b, nil
	case m.kind == invalidMessage:
		return nil, m.bad
	}
	newParams, ok := seedParams[m.method]
	if !ok {
		return nil, fmt.Errorf("no rule for method %q", m.method)
	}
	var params any
	if newParams != nil && m.params.present() {
		params = newParams()
		if err := decodeNamed(m.params, params); err != nil {
			return nil, err
		}
	}
	b, err := encodeMessage(m.id, m.method, params, nil, rev)
	return b.b, err
}

// seedValue reads and writes a value by the first rule whose members it has.
func seedValue(rules []seedRule, v value, rev revision) ([]byte, error) {
	for _, rule := range rules {
		if !hasMembers(v, rule.has) {
			continue
		}
		switch dst := rule.new().(type) {
		case *contentExample:
			if err := decode(v, &dst.block); err != nil {
				return nil, err
			}
			if _, unknown := dst.block.(*UnknownContent); unknown {
				return nil, fmt.Errorf("content of unknown type %q", dst.block.kind())
			}
			return appendJSON(nil, dst.block, rev)
		case *clientCapabilitiesExample:
			if err := decodeNamed(v.member("capabilities"), &dst.Capabilities); err != nil {
				return nil, err
			}
			return json.Marshal(map[string]json.RawMessage{"capabilities": mustAppend(&dst.Capabilities, rev)})
		case *serverCapabilitiesExample:
			if err := decodeNamed(v.member("capabilities"), &dst.Capabilities); err != nil {
				return nil, err
			}
			return json.Marshal(map[string]json.RawMessage{"capabilities": mustAppend(&dst.Capabilities, rev)})
		default:
			if err := decodeNamed(v, dst); err != nil {
				return nil, err
			}
			return appendJSON(nil, dst, rev)
		}
	}
	return nil, fmt.Errorf("no rule for this value")
}

func mustAppend(v any, rev revision) []byte {
	b, err := appendJSON(nil, v, rev)
	if err != nil {
		panic(err)
	}
	return b
}

// decodeNamed decodes v, and refuses members that no field names.
func decodeNamed(v value, dst any) error {
	if err := decode(v, dst); err != nil {
		return err
	}
	for _, name := range unnamedMembers(reflect.ValueOf(dst)) {
		if !slices.Contains(seedUnnamed, name) {
			return fmt.Errorf("member %q has no field in %T", name, dst)
		}
	}
	return nil
}

// unnamedMembers lists what is in the Extra fields of v and of all within it.
func unnamedMembers(v reflect.Value) (names []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			names = unnamedMembers(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			names = append(names, unnamedMembers(v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			names = append(names, unnamedMembers(v.Field(i))...)
		}
	case reflect.Map:
		if extra, ok := v.Interface().(Extra); ok {
			names = sortedKeys(extra)
		}
	}
	return names
}

func hasMembers(v value, paths string) bool {
	for path := range strings.FieldsSeq(paths) {
		w := v
		for name := range strings.SplitSeq(path, ".") {
			w = w.member(name)
		}
		if w.kind() == kindNone {
			return false
		}
	}
	return true
}

// sameJSON reports whether two texts are the same JSON value, numbers digit by digit.
// An isError that is false is as good as none.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	read := func(text []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		m, _ := v.(map[string]any)
		if result, ok := m["result"].(map[string]any); ok && result["isError"] == false {
			delete(result, "isError")
		}
		return v
	}
	return reflect.DeepEqual(read(a), read(b))
}
