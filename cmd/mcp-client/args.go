package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/mcp"
)

// A node is what the command line wants to know of a place in a JSON Schema.
type node struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Description string            `json:"description"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       []json.RawMessage `json:"oneOf"`
	AllOf       []json.RawMessage `json:"allOf"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Encoding    string            `json:"contentEncoding"`
}

// parseNode reads a place in a schema; a keyword that it cannot read is left out.
func parseNode(text json.RawMessage) (n node) {
	var given map[string]json.RawMessage
	if json.Unmarshal(text, &given) != nil {
		return node{}
	}
	for keyword, into := range map[string]any{"$ref": &n.Ref, "type": &n.Type, "description": &n.Description, "properties": &n.Properties,
		"required": &n.Required, "anyOf": &n.AnyOf, "oneOf": &n.OneOf, "allOf": &n.AllOf, "enum": &n.Enum, "const": &n.Const,
		"default": &n.Default, "contentEncoding": &n.Encoding} {
		_ = json.Unmarshal(given[keyword], into)
	}
	return n
}

// The most places of a schema that lead to one another, and that are looked at: each counts
// once, and once more for every placeSize bytes that it has.
const (
	maxRefs   = 16
	maxPlaces = 4096
	placeSize = 4096
	maxValues = 1_000 // of several places together, that are listed
	maxTypes  = 8     // there are seven
)

// An outline reads a schema, for what the command line wants to know.
type outline struct {
	root json.RawMessage
	left int                        // places to look at
	refs map[string]json.RawMessage // where references lead
}

func outlineOf(schema json.RawMessage) *outline {
	return &outline{root: schema, left: maxPlaces, refs: map[string]json.RawMessage{}}
}

// An allowed is what a place in a schema allows.
type allowed struct {
	types  []string          // of JSON; nil: it does not say
	values []json.RawMessage // nil: it does not list them
	preset json.RawMessage   // the only value, or the usual one; nil: it has none
	base64 bool              // strings are base64
}

// and is what both allow, roughly: what a does not say is as b has it.
func (a allowed) and(b allowed) allowed {
	if a.types == nil {
		a.types = b.types
	}
	if a.values == nil {
		a.values = b.values
	}
	if a.preset == nil {
		a.preset = b.preset
	}
	a.base64 = a.base64 || b.base64
	return a
}

// look reports whether one more place may be looked at.
func (o *outline) look(text json.RawMessage) bool {
	o.left -= 1 + len(text)/placeSize
	return o.left >= 0
}

// or is what one of the two allows.
func (a allowed) or(b allowed) allowed {
	c := allowed{base64: a.base64 || b.base64}
	if a.types != nil && b.types != nil {
		c.types = slices.Clone(a.types)
		for _, t := range b.types {
			if !slices.Contains(c.types, t) {
				c.types = append(c.types, t)
			}
		}
	}
	if a.values != nil && b.values != nil && len(a.values)+len(b.values) <= maxValues {
		c.values = append(slices.Clone(a.values), b.values...)
	}
	return c
}

// at tells what a place in the schema allows.
func (o *outline) at(text json.RawMessage, depth int) allowed {
	if depth > maxRefs || !o.look(text) {
		return allowed{}
	}
	n := parseNode(text)
	a := n.itself()
	if n.Ref != "" {
		a = a.and(o.at(o.pointed(n.Ref), depth+1))
	}
	for _, part := range n.AllOf {
		a = a.and(o.at(part, depth+1))
	}
	for _, choices := range [][]json.RawMessage{n.AnyOf, n.OneOf} {
		var one allowed
		for i, choice := range choices {
			c := o.at(choice, depth+1)
			if i > 0 {
				c = one.or(c)
			}
			one = c
		}
		a = a.and(one)
	}
	return a
}

// itself is what a place allows, but for where it leads.
func (n *node) itself() allowed {
	a := allowed{values: n.Enum, preset: n.Default, base64: strings.EqualFold(n.Encoding, "base64")}
	if n.Const != nil {
		a.values, a.preset = []json.RawMessage{n.Const}, n.Const
	}
	switch t := n.Type.(type) {
	case string:
		a.types = []string{t}
	case []any:
		for _, name := range t[:min(len(t), maxTypes)] {
			a.types = append(a.types, fmt.Sprint(name))
		}
	default:
		for _, v := range a.values {
			a.types = append(a.types, kindOf(v))
		}
		slices.Sort(a.types)
		a.types = slices.Compact(a.types)
	}
	switch few := strings.Join(a.types, " "); {
	case a.values != nil:
	case few == "boolean":
		a.values = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	case few == "null":
		a.values = []json.RawMessage{json.RawMessage("null")}
	}
	return a
}

// pointed is the place that a reference such as "#/$defs/x" names; nil if there is none.
func (o *outline) pointed(ref string) json.RawMessage {
	place, known := o.refs[ref]
	if !known {
		place = pointed(o.root, ref)
		o.refs[ref] = place
	}
	return place
}

func pointed(root json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(path, "/") {
		var members map[string]json.RawMessage
		if json.Unmarshal(root, &members) != nil {
			return nil
		}
		root = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return root
}

// members lists the members of a JSON object in their order.
func members(object json.RawMessage) (names []string, values []json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		names, values = append(names, fmt.Sprint(name)), append(values, value)
	}
	return names, values
}

// An argumentInfo tells of an argument of a tool.
type argumentInfo struct {
	name, kind, description string
	required                bool
	allowed
}

// argumentsOf lists the arguments that an input schema names, be it in a part that it
// refers to or one of several that it may be.
func argumentsOf(schema json.RawMessage) []argumentInfo {
	list := outlineOf(schema).arguments(schema, 0)
	for i := range list {
		a := &list[i]
		switch texts := a.texts(); {
		case len(texts) > 0 && len(texts) <= maxChoices && texts[0] != "true":
			a.kind = strings.Join(texts, " | ")
		case a.types != nil:
			a.kind = strings.Join(a.types, " or ")
		default:
			a.kind = "any"
		}
	}
	return list
}

const maxChoices = 12 // that are listed in place of a type

func (o *outline) arguments(text json.RawMessage, depth int) (list []argumentInfo) {
	if depth > maxRefs || !o.look(text) {
		return nil
	}
	n := parseNode(text)
	places := map[string]int{} // in the list
	names, values := members(n.Properties)
	for i, name := range names {
		if _, twice := places[name]; !twice {
			places[name] = i
		}
		list = append(list, argumentInfo{name: name, description: parseNode(values[i]).Description, allowed: o.at(values[i], 0)})
	}
	add := func(more []argumentInfo, choice bool) {
		for _, a := range more {
			a.required = a.required && !choice
			i, known := places[a.name]
			switch {
			case !known:
				places[a.name] = len(list)
				list = append(list, a)
			case choice:
				list[i].allowed = list[i].or(a.allowed)
			default:
				list[i].allowed, list[i].required = list[i].and(a.allowed), list[i].required || a.required
			}
		}
	}
	if n.Ref != "" {
		add(o.arguments(o.pointed(n.Ref), depth+1), false)
	}
	for i, part := range slices.Concat(n.AllOf, n.AnyOf, n.OneOf) {
		add(o.arguments(part, depth+1), i >= len(n.AllOf))
	}
	for _, name := range n.Required {
		if i, known := places[name]; known {
			list[i].required = true
		}
	}
	return list
}

// toolArguments makes the arguments of a tool of words KEY=VALUE and KEY:=JSON, or of
// one word that is a JSON object. What does not fit the input schema is an error.
func toolArguments(t *mcp.Tool, words []string, f *valueSource) (args json.RawMessage, err error) {
	if whole := len(words) == 1 && strings.IndexAny(strings.TrimSpace(words[0]), "{@") == 0; whole {
		if args, _, err = f.value(words[0]); err == nil {
			err = syntax(args)
		}
		if err != nil {
			return nil, usagef("the arguments are no JSON: %v", err)
		}
	} else if args, err = typedArguments(t, words, f); err != nil {
		return nil, err
	}
	schema, err := mcp.CompileSchema(t.InputSchema)
	if err != nil {
		return args, nil // then only the server can tell
	}
	if err := schema.Validate(args); err != nil {
		return nil, usagef("the arguments do not fit tool %q: %v", t.Name, err)
	}
	return args, nil
}

// typedArguments makes an object of words. What is required, not given, and has a preset
// value gets it.
func typedArguments(t *mcp.Tool, words []string, f *valueSource) (json.RawMessage, error) {
	known, given := argumentsOf(t.InputSchema), map[string]json.RawMessage{}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		if !ok {
			return nil, usagef("argument %q is neither KEY=VALUE nor KEY:=JSON", w)
		}
		name, raw := strings.CutSuffix(name, ":")
		if _, twice := given[name]; twice {
			return nil, usagef("argument %q is given twice", name)
		}
		data, fromFile, err := f.value(text)
		if err != nil {
			return nil, usagef("argument %q: %v", name, err)
		}
		var a allowed
		if i := slices.IndexFunc(known, func(a argumentInfo) bool { return a.name == name }); i >= 0 {
			a = known[i].allowed
		}
		switch {
		case raw && syntax(data) != nil:
			return nil, usagef("argument %q is no JSON: %v", name, syntax(data))
		case raw:
			given[name] = data
			continue
		case fromFile && a.base64:
			given[name] = quote(base64.StdEncoding.EncodeToString(data))
			continue
		case !utf8.Valid(data):
			return nil, usagef("argument %q: this is no text (UTF-8)", name)
		}
		if given[name], err = typed(string(data), a.types); err != nil {
			return nil, usagef("argument %q: %v", name, err)
		}
	}
	for _, a := range known {
		if given[a.name] == nil && a.required && a.preset != nil {
			given[a.name] = a.preset
		}
	}
	return json.Marshal(given)
}

// typed makes a JSON value of the types of a word. A word stays a string where that is
// the only type, and where it is nothing else that is allowed; null must be written as
// KEY:=null there.
func typed(word string, types []string) (json.RawMessage, error) {
	text, kind := json.RawMessage(strings.TrimSpace(word)), "string"
	if syntax(text) == nil {
		kind = kindOf(text)
	}
	switch {
	case kind != "string" && (types == nil || allows(types, kind, text)) && (kind != "null" || !slices.Contains(types, "string")):
		return text, nil
	case types == nil || slices.Contains(types, "string"):
		return quote(word), nil
	case slices.Contains(types, "array") || slices.Contains(types, "object"):
		return nil, fmt.Errorf("want %s as JSON, not %.60q", strings.Join(types, " or "), word)
	}
	return nil, fmt.Errorf("want %s, not %.60q", strings.Join(types, " or "), word)
}

func allows(types []string, kind string, text json.RawMessage) bool {
	if kind == "number" && slices.Contains(types, "integer") {
		x, err := strconv.ParseFloat(string(text), 64)
		if err == nil && x == float64(int64(x)) {
			return true
		}
	}
	return slices.Contains(types, kind)
}

// kindOf names the type of a JSON value.
func kindOf(text json.RawMessage) string {
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// syntax says why text is no JSON value.
func syntax(text []byte) error {
	var v json.RawMessage
	if err := json.Unmarshal(text, &v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// pairs reads words KEY=VALUE.
func pairs(words []string) (map[string]string, error) {
	given := map[string]string{}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		if _, twice := given[name]; twice {
			return nil, usagef("argument %q is given twice", name)
		}
		if !ok {
			return nil, usagef("argument %q is not KEY=VALUE", w)
		}
		given[name] = text
	}
	return given, nil
}

// promptArguments makes the arguments of a prompt of words KEY=VALUE.
func promptArguments(p *mcp.Prompt, words []string, f *valueSource) (map[string]string, error) {
	given, err := pairs(words)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		data, _, err := f.value(given[name])
		if err == nil && !utf8.Valid(data) {
			err = errors.New("this is no text (UTF-8)")
		}
		if err != nil {
			return nil, usagef("argument %q: %v", name, err)
		}
		given[name] = string(data)
	}
	var names []string
	for _, a := range p.Arguments {
		names = append(names, a.Name)
		if _, ok := given[a.Name]; a.Required && !ok {
			return nil, usagef("prompt %q needs argument %q", p.Name, a.Name)
		}
	}
	for _, w := range words {
		if name, _, _ := strings.Cut(w, "="); !slices.Contains(names, name) {
			return nil, usagef("prompt %q has no argument %q; it has: %s", p.Name, name, strings.Join(names, ", "))
		}
	}
	return given, nil
}

// maxValue is the most bytes of a value from a file. In base64, too, it fits in a message.
const maxValue = 8 << 20

// A valueSource is where values may come from, besides the command line.
type valueSource struct {
	stdin io.Reader // nil: nobody can have it
}

// source is that of the arguments of the subcommand. The stdin of a shell has its lines.
func (j *job) source() *valueSource {
	if j.inShell {
		return &valueSource{}
	}
	return &valueSource{j.stdin}
}

// value is what a word stands for: @FILE for what is in the file, @- for what is in stdin,
// which can be read once, and @@TEXT for @TEXT.
func (f *valueSource) value(word string) (data []byte, fromFile bool, err error) {
	name, ok := strings.CutPrefix(word, "@")
	if !ok || strings.HasPrefix(name, "@") {
		return []byte(strings.TrimPrefix(word, "@")), false, nil
	}
	from := f.stdin
	switch {
	case name == "-" && from == nil:
		return nil, false, errors.New("@-: there is no stdin to read")
	case name == "-":
		f.stdin = nil
	default:
		file, err := os.Open(name)
		if err != nil {
			return nil, false, fmt.Errorf("%w (%q would be the text)", err, "@"+word)
		}
		defer file.Close()
		from = file
	}
	data, err = io.ReadAll(io.LimitReader(from, maxValue+1))
	if err == nil && len(data) > maxValue {
		err = fmt.Errorf("%s has more than %d bytes", word, maxValue)
	}
	return data, true, err
}
