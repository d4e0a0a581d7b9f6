package mcp

// What a server can ask of a client (elicitation, sampling, roots): the rules that
// bind both sides. The server's side checks with them before it asks and when it
// gets an answer, the client's side before its application is asked and before it
// answers. How a question travels is not its subject: see the askers in server.go (in a
// session), stateless.go (in rounds) and tasks.go (for a task).

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Question is one thing that a handler asks of the client: exactly one of
// Elicit, Sample and Roots is set.
type Question struct {
	// Name tells the questions of one request apart. The default is a running number,
	// so that a handler that asks in no fixed order must give names.
	Name   string
	Elicit *ElicitParams        // ask the person
	Sample *CreateMessageParams // ask the model
	Roots  bool                 // ask for the roots
	// Task asks for the answer as a task, where the client can do that (2025-11-25); it
	// is waited for all the same. nil: no task.
	Task *TaskMetadata
}

// An Answer is the client's answer to a [Question]; the field of the same kind is
// set.
type Answer struct {
	Elicit *ElicitResult        // never nil for a question that elicits; declined is an answer, too
	Sample *CreateMessageResult // never nil for a question that samples
	Roots  []*Root              // may be empty
}

// Confirm returns a question that can be accepted, declined or dismissed.
func Confirm(message string) *ElicitParams {
	return &ElicitParams{Message: message, RequestedSchema: &FormSchema{}}
}

// FormFor derives a form from a struct, as [SchemaFor] does: the accepted content
// decodes into it. The struct must be flat.
func FormFor[T any]() (*FormSchema, error) {
	text, err := SchemaFor[T]()
	if err != nil {
		return nil, err
	}
	form := &FormSchema{}
	if err := decodeJSON(text, form); err != nil {
		return nil, fmt.Errorf("mcp: a form must be flat: %w", err)
	}
	form.Extra = nil // additionalProperties, which goes without saying
	return form, form.check(newest)
}

// Visit returns a question that asks the person to open a URL. Acceptance means
// that they agreed to, not that what they do there is finished. The URL must hold no
// personal data or credentials (Elicitation, Safe URL Handling). Its page must make
// sure, by a login of its own, that who opens it is who was asked, Request.Identity;
// it is no way to authorize a client for this server.
func Visit(message, url string) *ElicitParams {
	return &ElicitParams{Mode: "url", Message: message, URL: url}
}

// URLElicitationRequired returns an error for a request that cannot go on until
// the person visited URLs (2025-11-25; Elicitation, URL Elicitation Required
// Error). For clients that cannot do that, a tool's error becomes a tool error.
func URLElicitationRequired(message string, visits ...*ElicitParams) *Error {
	list := make([]*ElicitParams, len(visits))
	for i, v := range visits {
		c := *v
		c.Mode, c.RequestedSchema = "url", nil
		c.ElicitationID = orNewID(c.ElicitationID)
		list[i] = &c
	}
	e := Errorf(CodeURLElicitationRequired, "%s", message)
	data, err := appendJSON([]byte(`{"elicitations":`), list, newestSession)
	if err == nil {
		e.Data = append(data, '}')
	}
	return e
}

// requiredVisits reads the visits that an error asks for first.
func requiredVisits(e *Error) ([]*ElicitParams, error) {
	var data struct {
		Elicitations []*ElicitParams `json:"elicitations"`
	}
	if err := decodeJSON(e.Data, &data); err != nil {
		return nil, fmt.Errorf("data of error %d: %w", e.Code, err)
	}
	if len(data.Elicitations) == 0 {
		return nil, fmt.Errorf("error %d without elicitations in its data", e.Code)
	}
	for _, p := range data.Elicitations {
		if p.Mode != "url" || p.ElicitationID == "" {
			return nil, fmt.Errorf("elicitations of error %d must have mode url and an id", e.Code)
		}
		if err := checkVisit(p); err != nil {
			return nil, err
		}
	}
	return data.Elicitations, nil
}

// method returns the question's method and parameters.
func (q *Question) method() (string, any) {
	switch {
	case q.Elicit != nil:
		return methodElicit, q.Elicit
	case q.Sample != nil:
		return methodCreateMessage, q.Sample
	}
	return methodRootsList, &ListRootsParams{}
}

// appendQuestions writes questions as an object: what is asked by name.
func appendQuestions(b []byte, questions []Question, rev revision) (_ []byte, err error) {
	b = append(b, '{')
	for i := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		method, params := questions[i].method()
		b = appendString(append(appendString(b, questions[i].Name), `:{"method":`...), method)
		if b, err = appendJSON(append(b, `,"params":`...), params, rev); err != nil {
			return b, err
		}
		b = append(b, '}')
	}
	return append(b, '}'), nil
}

// asTask is the question for a client with these capabilities: as a task, if that is
// wanted and can be.
func (q Question) asTask(c *ClientCapabilities, rev revision) Question {
	if q.Task == nil || c.Tasks == nil || rev.alone() {
		return q
	}
	can := c.Tasks.Requests
	switch {
	case q.Elicit != nil && can.Elicitation != nil && can.Elicitation.Create != nil:
		p := *q.Elicit
		p.Task, q.Elicit = q.Task, &p
	case q.Sample != nil && can.Sampling != nil && can.Sampling.CreateMessage != nil:
		p := *q.Sample
		p.Task, q.Sample = q.Task, &p
	}
	return q
}

// needs returns what a client must be able to do to answer.
func (q *Question) needs() *ClientCapabilities {
	some := &Empty{}
	switch {
	case q.Elicit != nil && q.Elicit.Mode == "url":
		return &ClientCapabilities{Elicitation: &ElicitationCapability{URL: some}}
	case q.Elicit != nil:
		return &ClientCapabilities{Elicitation: &ElicitationCapability{Form: some}}
	case q.Sample != nil:
		need := &SamplingCapability{}
		if q.Sample.Tools != nil || q.Sample.ToolChoice != nil {
			need.Tools = some
		}
		if q.Sample.IncludeContext == "thisServer" || q.Sample.IncludeContext == "allServers" {
			need.Context = some
		}
		return &ClientCapabilities{Sampling: need}
	}
	return &ClientCapabilities{Roots: &RootCapability{}}
}

// MissingCapability returns the error for a request that cannot be served because of
// what its client cannot do (2026-07-28; Base Protocol, Missing Required Client
// Capability). Questions that the client cannot answer fail with it by themselves.
func MissingCapability(need *ClientCapabilities) *Error {
	e := badRequest(CodeMissingRequiredClientCapability, "the client did not declare %s", strings.Join((&ClientCapabilities{}).missing(need, newest), ", "))
	if need, err := appendJSON([]byte(`{"requiredCapabilities":`), need, newest); err == nil {
		e.Data = append(need, '}')
	}
	return e
}

// add adds what is needed to what already is.
func (c *ClientCapabilities) add(need *ClientCapabilities) {
	c.Roots = cmp.Or(c.Roots, need.Roots)
	if n := need.Sampling; n != nil {
		c.Sampling = cmp.Or(c.Sampling, &SamplingCapability{})
		c.Sampling.Tools, c.Sampling.Context = cmp.Or(c.Sampling.Tools, n.Tools), cmp.Or(c.Sampling.Context, n.Context)
	}
	if n := need.Elicitation; n != nil {
		c.Elicitation = cmp.Or(c.Elicitation, &ElicitationCapability{})
		c.Elicitation.Form, c.Elicitation.URL = cmp.Or(c.Elicitation.Form, n.Form), cmp.Or(c.Elicitation.URL, n.URL)
	}
	for id, settings := range need.Extensions {
		if c.Extensions == nil {
			c.Extensions = Extensions{}
		}
		c.Extensions[id] = settings
	}
}

// missing names what c lacks of need.
func (c *ClientCapabilities) missing(need *ClientCapabilities, rev revision) (names []string) {
	lacks := func(name string, lack bool) {
		if lack && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	lacks("roots", need.Roots != nil && c.Roots == nil)
	if n := need.Sampling; n != nil {
		has := c.Sampling
		lacks("sampling", has == nil)
		lacks("sampling.tools", n.Tools != nil && (has == nil || has.Tools == nil))
		lacks("sampling.context", n.Context != nil && rev.rich() && (has == nil || has.Context == nil))
	}
	if n := need.Elicitation; n != nil {
		lacks("elicitation.form", n.Form != nil && !(rev.elicits() && c.Elicitation.form()))
		lacks("elicitation.url", n.URL != nil && !(rev.rich() && c.Elicitation.url()))
	}
	for _, id := range sortedKeys(need.Extensions) {
		_, has := c.Extensions[id]
		lacks(id, !has)
	}
	return names
}

// check says why a question must not be sent to a peer that speaks rev.
func (q *Question) check(rev revision) error {
	switch {
	case q.Elicit != nil && q.Elicit.Mode == "url":
		return checkVisit(q.Elicit)
	case q.Elicit != nil:
		return q.Elicit.RequestedSchema.check(rev)
	case q.Sample != nil:
		return q.Sample.check(rev)
	case !q.Roots:
		return fmt.Errorf("mcp: a Question needs one of Elicit, Sample and Roots")
	}
	return nil
}

// read is answer, from the text of the client's result.
func (q *Question) read(text []byte) (Answer, error) {
	ix, err := scan(text)
	if err != nil {
		return Answer{}, err
	}
	return q.answer(ix.root())
}

// answer reads the client's result and checks it.
func (q *Question) answer(result value) (a Answer, err error) {
	switch {
	case q.Elicit != nil:
		a.Elicit = &ElicitResult{}
		if err = decode(result, a.Elicit); err == nil {
			err = a.Elicit.check(q.Elicit)
		}
	case q.Sample != nil:
		a.Sample = &CreateMessageResult{}
		if err = decode(result, a.Sample); err == nil {
			err = a.Sample.check(newest)
		}
	default:
		var list ListRootsResult
		err = decode(result, &list)
		a.Roots = list.Roots
	}
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrInvalidResponse, err)
	}
	return a, nil
}

// checkVisit checks a question in URL mode.
func checkVisit(p *ElicitParams) error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("mcp: url %q of an elicitation must be an absolute https or http URL", p.URL)
	}
	if u.User != nil {
		return fmt.Errorf("mcp: the url of an elicitation must hold no credentials")
	}
	return nil
}

// SafeToOpen says why a client must not open the URL of an elicitation, even with
// the person's consent: only https is safe, and http on this machine
// (Elicitation, Safe URL Handling).
func (p *ElicitParams) SafeToOpen() error {
	if err := checkVisit(p); err != nil {
		return err
	}
	u, _ := url.Parse(p.URL)
	switch host := u.Hostname(); {
	case u.Scheme == "https", host == "localhost", host == "127.0.0.1", host == "::1":
		return nil
	}
	return fmt.Errorf("mcp: url %q is neither https nor on this machine", p.URL)
}

// check says why a form cannot be sent to a peer that speaks rev.
func (s *FormSchema) check(rev revision) error {
	if s == nil {
		return fmt.Errorf("mcp: an elicitation in form mode needs a RequestedSchema")
	}
	if s.Type != "" && s.Type != "object" {
		return fmt.Errorf("mcp: type of a form must be \"object\", not %q", s.Type)
	}
	names := map[string]bool{}
	for _, p := range s.Properties {
		err := p.Schema.check(rev)
		if names[p.Name] {
			err = fmt.Errorf("there are two of this name")
		}
		if err != nil {
			return fmt.Errorf("mcp: field %q of a form: %w", p.Name, err)
		}
		names[p.Name] = true
	}
	for _, name := range s.Required {
		if !names[name] {
			return fmt.Errorf("mcp: required field %q of a form is not among its properties", name)
		}
	}
	return nil
}

// check says why a field is not one that a form can have.
func (s *PrimitiveSchema) check(rev revision) error {
	if s == nil {
		return fmt.Errorf("no schema")
	}
	switch s.Type {
	case "string":
		if s.Items != nil || s.Enum != nil && s.OneOf != nil {
			return fmt.Errorf("a choice of one must have either enum or oneOf")
		}
		if len(s.EnumNames) > 0 && len(s.EnumNames) != len(s.Enum) {
			return fmt.Errorf("enumNames must name each of enum")
		}
	case "number", "integer", "boolean":
		if s.Enum != nil || s.OneOf != nil || s.Items != nil {
			return fmt.Errorf("a choice must be of strings, not of type %q", s.Type)
		}
	case "array":
		if s.Items == nil || (len(s.Items.Enum) == 0) == (len(s.Items.AnyOf) == 0) {
			return fmt.Errorf("items of an array must be a choice of strings, with either enum or anyOf")
		}
		if !rev.rich() {
			return fmt.Errorf("multiple choice needs revision %s or later, the client speaks %v", Revision20251125, rev)
		}
	default:
		return fmt.Errorf("type must be string, number, integer, boolean or array, not %q", s.Type)
	}
	for _, name := range sortedKeys(s.Extra) {
		switch name {
		case "$ref", "anyOf", "allOf", "not", "properties", "additionalProperties", "prefixItems":
			return fmt.Errorf("%s is not allowed in a form", name)
		}
	}
	if s.Default != nil {
		if err := s.checkRaw(s.Default); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	return nil
}

func (s *PrimitiveSchema) checkRaw(raw []byte) error {
	ix, err := scan(raw)
	if err != nil {
		return err
	}
	return s.checkValue(ix.root())
}

// revise writes a field as 2025-06-18 knows it.
func (s *PrimitiveSchema) revise(rev revision) any {
	if rev.rich() || s.OneOf == nil && s.Default == nil || s.Type == "boolean" {
		return s
	}
	c := *s
	c.Default, c.OneOf = nil, nil
	c.Enum, c.EnumNames = slices.Clip(c.Enum), slices.Clip(c.EnumNames)
	for _, o := range s.OneOf {
		c.Enum = append(c.Enum, o.Const)
		c.EnumNames = append(c.EnumNames, o.Title)
	}
	return &c
}

// revise fills in the type.
func (s *FormSchema) revise(revision) any {
	if s.Type != "" {
		return s
	}
	c := *s
	c.Type = "object"
	return &c
}

// choices returns what a field lets one choose from; nil: anything.
func (s *PrimitiveSchema) choices() []string {
	enum, titled := s.Enum, s.OneOf
	if s.Items != nil {
		enum, titled = s.Items.Enum, s.Items.AnyOf
	}
	enum = slices.Clip(enum)
	for _, o := range titled {
		enum = append(enum, o.Const)
	}
	return enum
}

// check checks the answer to a form or visit.
func (r *ElicitResult) check(p *ElicitParams) error {
	switch r.Action {
	case "decline", "cancel":
		r.Content = nil
		return nil
	case "accept":
	default:
		return fmt.Errorf("action must be accept, decline or cancel, not %q", r.Action)
	}
	if p.Mode == "url" {
		r.Content = nil
		return nil
	}
	if len(r.Content) == 0 {
		r.Content = json.RawMessage("{}")
	}
	r.Content = p.RequestedSchema.without(r.Content)
	return p.RequestedSchema.Check(r.Content)
}

// without leaves out of content what the form does not ask for; nobody has asked.
func (s *FormSchema) without(content json.RawMessage) json.RawMessage {
	ix, err := scan(content)
	if err != nil || ix.root().kind() != kindObject {
		return content // which is refused
	}
	kept, some := []byte{'{'}, false
	for name, v := range ix.root().members() {
		if !slices.ContainsFunc(s.Properties, func(p Property) bool { return name.is(p.Name) }) {
			some = true
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, name.raw()...), ':'), v.raw()...)
	}
	if !some {
		return content
	}
	return append(kept, '}')
}

// Check says why content, a JSON object, is no right answer to the form.
func (s *FormSchema) Check(content json.RawMessage) error {
	ix, err := scan(content)
	if err != nil {
		return err
	}
	root := ix.root()
	if root.kind() != kindObject {
		return mismatch("an object", root)
	}
	fields := map[string]*PrimitiveSchema{}
	for _, p := range s.Properties {
		fields[p.Name] = p.Schema
	}
	for name, v := range root.members() {
		field := fields[name.str()]
		if field == nil {
			return fmt.Errorf("%s: not a field of the form", name.str())
		}
		if err := field.checkValue(v); err != nil {
			return in(name.str(), err)
		}
	}
	for _, name := range s.Required {
		if root.member(name).kind() == kindNone {
			return &decodeError{name, "missing"}
		}
	}
	return nil
}

// Fill returns content with the defaults of fields that it does not have
// (Elicitation, Default Values). Values that are there stay.
func (s *FormSchema) Fill(content json.RawMessage) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if len(content) > 0 {
		if err := decodeJSON(content, &given); err != nil {
			return nil, err
		}
	}
	var filled []member
	for _, f := range s.Properties {
		raw, ok := given[f.Name]
		if !ok {
			raw = f.Schema.Default
		}
		delete(given, f.Name)
		if raw != nil {
			filled = append(filled, member{f.Name, raw})
		}
	}
	for _, name := range sortedKeys(given) {
		filled = append(filled, member{name, given[name]})
	}
	return merge([]byte("{}"), filled), nil
}

// orNewID returns id, or a new random one.
func orNewID(id string) string {
	if id == "" {
		return rand.Text()
	}
	return id
}

// checkValue checks the value of one field.
func (s *PrimitiveSchema) checkValue(v value) error {
	switch s.Type {
	case "string":
		if v.kind() != kindString {
			return mismatch("a string", v)
		}
		return s.checkString(v.str())
	case "number", "integer":
		return s.checkNumber(v)
	case "boolean":
		if v.kind() != kindTrue && v.kind() != kindFalse {
			return mismatch("true or false", v)
		}
	case "array":
		return s.checkArray(v)
	}
	return nil
}

func (s *PrimitiveSchema) checkString(text string) error {
	n, choices := utf8.RuneCountInString(text), s.choices()
	switch {
	case choices != nil && !slices.Contains(choices, text):
		return fmt.Errorf("%q is not one of %q", text, choices)
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Errorf("want at least %d characters, got %d", *s.MinLength, n)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Errorf("want at most %d characters, got %d", *s.MaxLength, n)
	case s.Format != "" && !formatOK(s.Format, text):
		return fmt.Errorf("%q is not of format %s", text, s.Format)
	}
	if s.Pattern != "" { // work that only a Schema bounds
		schema, err := CompileSchema(append(appendString([]byte(`{"pattern":`), s.Pattern), '}'))
		if err == nil && schema.Validate(appendString(nil, text)) != nil {
			return fmt.Errorf("%q does not match %s", text, s.Pattern)
		}
	}
	return nil
}

func (s *PrimitiveSchema) checkNumber(v value) error {
	if v.kind() != kindNumber {
		return mismatch("a number", v)
	}
	if s.Type == "integer" && !isInteger(v.raw()) {
		return fmt.Errorf("%s is not an integer", v.raw())
	}
	x, err := strconv.ParseFloat(string(v.raw()), 64)
	switch {
	case err != nil || math.IsInf(x, 0):
		return fmt.Errorf("%.40s is out of range", v.raw())
	case s.Minimum != nil && x < *s.Minimum:
		return fmt.Errorf("%s is less than %v", v.raw(), *s.Minimum)
	case s.Maximum != nil && x > *s.Maximum:
		return fmt.Errorf("%s is more than %v", v.raw(), *s.Maximum)
	}
	return nil
}

func (s *PrimitiveSchema) checkArray(v value) error {
	if v.kind() != kindArray {
		return mismatch("an array", v)
	}
	n, choices := 0, map[string]bool{}
	for _, c := range s.choices() {
		choices[c] = true
	}
	for item := range v.items() {
		if item.kind() != kindString || !choices[item.str()] {
			return fmt.Errorf("%s is not one of %q", item.raw(), s.choices())
		}
		n++
	}
	switch {
	case s.MinItems != nil && n < *s.MinItems:
		return fmt.Errorf("want at least %d, got %d", *s.MinItems, n)
	case s.MaxItems != nil && n > *s.MaxItems:
		return fmt.Errorf("want at most %d, got %d", *s.MaxItems, n)
	}
	return nil
}

// check says why a sampling request must not be sent to a peer that speaks rev.
func (p *CreateMessageParams) check(rev revision) error {
	if p.MaxTokens <= 0 {
		return fmt.Errorf("mcp: maxTokens of a sampling request must be positive, not %d", p.MaxTokens)
	}
	if !slices.Contains([]string{"", "none", "thisServer", "allServers"}, p.IncludeContext) {
		return fmt.Errorf("mcp: includeContext must be none, thisServer or allServers, not %q", p.IncludeContext)
	}
	if !rev.rich() && (p.Tools != nil || p.ToolChoice != nil) {
		return fmt.Errorf("mcp: tools in sampling need revision %s or later, the client speaks %v", Revision20251125, rev)
	}
	for i, m := range p.Messages {
		if m == nil {
			return fmt.Errorf("mcp: sampling message %d is nil", i)
		}
		if err := checkTurn(m.Role, m.Content, rev); err != nil {
			return fmt.Errorf("mcp: sampling message %d: %w", i, err)
		}
	}
	if err := checkTools(p); err != nil {
		return err
	}
	return checkHistory(p.Messages)
}

func checkTools(p *CreateMessageParams) error {
	names := map[string]bool{}
	for _, t := range p.Tools {
		if t == nil || t.Name == "" || names[t.Name] {
			return fmt.Errorf("mcp: tools of a sampling request must have names, and no two the same")
		}
		names[t.Name] = true
	}
	if c := p.ToolChoice; c != nil && !slices.Contains([]string{"", "auto", "required", "none"}, c.Mode) {
		return fmt.Errorf("mcp: mode of toolChoice must be auto, required or none, not %q", c.Mode)
	}
	return nil
}

// checkTurn says why what somebody says to or as a model cannot be sent to a peer
// that speaks rev.
func checkTurn(role Role, content []Content, rev revision) error {
	if role != RoleUser && role != RoleAssistant {
		return fmt.Errorf("role must be user or assistant, not %q", role)
	}
	if !rev.rich() && len(content) != 1 {
		return fmt.Errorf("want one block of content, got %d: another number needs revision %s or later", len(content), Revision20251125)
	}
	for i, c := range content {
		switch c := c.(type) {
		case *TextContent, *ImageContent, *AudioContent, *UnknownContent:
		case *ToolUseContent:
			if role != RoleAssistant {
				return fmt.Errorf("tool_use is for the assistant")
			}
			if ix, err := scan(c.Input); c.Input != nil && (err != nil || ix.root().kind() != kindObject) {
				return fmt.Errorf("input of tool_use %q must be a JSON object, not %.40s", c.ID, c.Input)
			}
		case *ToolResultContent:
			if role != RoleUser {
				return fmt.Errorf("tool_result is for the user")
			}
		case nil:
			return fmt.Errorf("block %d of the content is nil", i)
		default:
			return fmt.Errorf("content of type %q is not for sampling", c.kind())
		}
		if k := c.kind(); !rev.rich() && (k == "tool_use" || k == "tool_result") {
			return fmt.Errorf("%s needs revision %s or later", k, Revision20251125)
		}
	}
	return nil
}

// checkHistory checks that each message with tool uses is followed by exactly their
// results (Sampling, Message Content Constraints).
func checkHistory(messages []*SamplingMessage) error {
	open, used := map[string]bool{}, map[string]bool{}
	for i, m := range messages {
		results, others := m.toolResults()
		if len(results) > 0 && others > 0 {
			return fmt.Errorf("mcp: message %d mixes tool results with other content", i)
		}
		for _, id := range results {
			if !open[id] {
				return fmt.Errorf("mcp: message %d has a result for %q, which is no tool use of the message before", i, id)
			}
			delete(open, id)
		}
		if len(open) > 0 {
			return fmt.Errorf("mcp: Tool result missing in request: %q", sortedKeys(open))
		}
		for _, c := range m.Content {
			if u, ok := c.(*ToolUseContent); ok {
				if used[u.ID] {
					return fmt.Errorf("mcp: message %d uses the tool use id %q again", i, u.ID)
				}
				open[u.ID], used[u.ID] = true, true
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("mcp: Tool result missing in request: %q", sortedKeys(open))
	}
	return nil
}

func (m *SamplingMessage) toolResults() (ids []string, others int) {
	for _, c := range m.Content {
		if r, ok := c.(*ToolResultContent); ok {
			ids = append(ids, r.ToolUseID)
		} else {
			others++
		}
	}
	return ids, others
}

func (r *CreateMessageResult) check(rev revision) error { return checkTurn(r.Role, r.Content, rev) }

// checkRoot says why a root cannot be offered.
func checkRoot(r *Root) error {
	if r == nil {
		return fmt.Errorf("mcp: a root is nil")
	}
	u, err := url.Parse(r.URI)
	if err != nil || u.Scheme != "file" || !strings.HasPrefix(r.URI, "file://") {
		return fmt.Errorf("mcp: root %q must be a file:// URI", r.URI)
	}
	if slices.Contains(strings.Split(u.Path, "/"), "..") {
		return fmt.Errorf("mcp: root %q must not contain \"..\"", r.URI)
	}
	return nil
}

// CheckMetaKey says why a key does not follow the grammar of _meta keys (Base
// Protocol, _meta), or that its prefix is reserved for the protocol: at 2025-06-18 by
// the last label but one, from 2025-11-25 on by the second.
func CheckMetaKey(key string) error {
	if err := checkMetaGrammar(key); err != nil {
		return err
	}
	prefix, _, has := strings.Cut(key, "/")
	labels := strings.Split(prefix, ".")
	ours := func(i int) bool { return labels[i] == "modelcontextprotocol" || labels[i] == "mcp" }
	if n := len(labels); has && n > 1 && (ours(1) || ours(n-2)) {
		return fmt.Errorf("mcp: prefix of _meta key %q is reserved for the protocol", key)
	}
	return nil
}

func checkMetaGrammar(key string) error {
	prefix, name, has := strings.Cut(key, "/")
	if !has {
		prefix, name = "", key
	}
	labels := strings.Split(prefix, ".")
	for _, l := range labels {
		if has && !metaLabel(l, "-", true) {
			return fmt.Errorf("mcp: prefix of _meta key %q: label %q must begin with a letter and have only letters, digits and hyphens", key, l)
		}
	}
	if name != "" && !metaLabel(name, "-_.", false) {
		return fmt.Errorf("mcp: name of _meta key %q must begin and end with a letter or digit, with only hyphens, underscores and dots between", key)
	}
	return nil
}

// check says what is wrong with extensions: each is named by a _meta key with a prefix,
// and its settings are an object (Extensions, Identifiers).
func (e Extensions) check() error {
	for _, id := range sortedKeys(e) {
		if err := checkMetaGrammar(id); err != nil {
			return fmt.Errorf("extension %q: %w", id, err)
		}
		if !strings.Contains(id, "/") {
			return fmt.Errorf("extension %q has no prefix", id)
		}
		if ix, err := scan(e[id]); err != nil || ix.root().kind() != kindObject {
			return fmt.Errorf("settings of extension %q must be a JSON object, not %.40q", id, e[id])
		}
	}
	return nil
}

// metaLabel reports whether s is letters and digits, with other only inside.
func metaLabel(s, other string, letterFirst bool) bool {
	alnum := func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }
	for i := range len(s) {
		inside := i > 0 && i < len(s)-1
		if !alnum(s[i]) && !(inside && strings.IndexByte(other, s[i]) >= 0) {
			return false
		}
	}
	return s != "" && !(letterFirst && '0' <= s[0] && s[0] <= '9')
}

// Check says why an icon must not be used: its source must be an https: or data:
// URI (Icons, Security Considerations). Who loads it must also bound its size,
// send no credentials, follow no redirect to another origin, and look at its bytes
// rather than at MIMEType; SVG may hold scripts.
func (i *Icon) Check() error {
	scheme, _, has := strings.Cut(i.Source, ":")
	if s := strings.ToLower(scheme); !has || s != "https" && s != "data" {
		return fmt.Errorf("mcp: icon %.60q is neither an https: nor a data: URI", i.Source)
	}
	return nil
}
