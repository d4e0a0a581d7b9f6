package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
}

// parseNode reads a place in a schema; what it cannot read allows everything.
func parseNode(text json.RawMessage) (n node) {
	if json.Unmarshal(text, &n) != nil {
		return node{}
	}
	return n
}

const maxRefs = 16 // that follow one another

// typesAt names the JSON types that a place in a schema allows; nil: it does not say.
func typesAt(root, text json.RawMessage, depth int) []string {
	n := parseNode(text)
	switch t := n.Type.(type) {
	case string:
		return []string{t}
	case []any:
		var types []string
		for _, name := range t {
			types = append(types, fmt.Sprint(name))
		}
		return types
	}
	if depth == maxRefs {
		return nil
	}
	if n.Ref != "" {
		return typesAt(root, pointed(root, n.Ref), depth+1)
	}
	var types []string
	for _, choice := range append(n.AnyOf, n.OneOf...) {
		more := typesAt(root, choice, depth+1)
		if more == nil {
			return nil
		}
		types = append(types, more...)
	}
	return types
}

// pointed is the place in a schema that a reference such as "#/$defs/x" names; nil if
// there is none.
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
	types                   []string // nil: any
}

// argumentsOf lists the arguments that an input schema names.
func argumentsOf(schema json.RawMessage) (list []argumentInfo) {
	n := parseNode(schema)
	names, values := members(n.Properties)
	for i, name := range names {
		a := argumentInfo{name: name, kind: "any", description: parseNode(values[i]).Description,
			required: slices.Contains(n.Required, name), types: typesAt(schema, values[i], 0)}
		if a.types != nil {
			a.kind = strings.Join(a.types, " or ")
		}
		list = append(list, a)
	}
	return list
}

// toolArguments makes the arguments of a tool of words KEY=VALUE and KEY:=JSON, or of
// one word that is a JSON object. What does not fit the input schema is an error.
func toolArguments(t *mcp.Tool, words []string) (json.RawMessage, error) {
	args := json.RawMessage("{}")
	if len(words) == 1 && strings.HasPrefix(strings.TrimSpace(words[0]), "{") {
		args = json.RawMessage(words[0])
		if err := syntax(args); err != nil {
			return nil, usagef("the arguments are no JSON: %v", err)
		}
	} else if len(words) > 0 {
		object, err := typedArguments(t, words)
		if err != nil {
			return nil, err
		}
		args = object
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

func typedArguments(t *mcp.Tool, words []string) (json.RawMessage, error) {
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
		if raw {
			if err := syntax([]byte(text)); err != nil {
				return nil, usagef("argument %q is no JSON: %v", name, err)
			}
			given[name] = json.RawMessage(text)
			continue
		}
		var types []string
		for _, a := range known {
			if a.name == name {
				types = a.types
			}
		}
		value, err := typed(text, types)
		if err != nil {
			return nil, usagef("argument %q: %v", name, err)
		}
		given[name] = value
	}
	return json.Marshal(given)
}

// typed makes a JSON value of the types of a word. A word stays a string where that is
// the only type, and where it is nothing else that is allowed; null must be written as
// KEY:=null there.
func typed(word string, types []string) (json.RawMessage, error) {
	quoted, err := json.Marshal(word)
	if err != nil {
		return nil, err
	}
	text, kind := json.RawMessage(strings.TrimSpace(word)), "string"
	if syntax(text) == nil {
		kind = kindOf(text)
	}
	switch {
	case kind != "string" && (types == nil || allows(types, kind, text)) && (kind != "null" || !slices.Contains(types, "string")):
		return text, nil
	case types == nil || slices.Contains(types, "string"):
		return quoted, nil
	case slices.Contains(types, "array") || slices.Contains(types, "object"):
		return nil, fmt.Errorf("want %s as JSON, not %q", strings.Join(types, " or "), word)
	}
	return nil, fmt.Errorf("want %s, not %q", strings.Join(types, " or "), word)
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
func promptArguments(p *mcp.Prompt, words []string) (map[string]string, error) {
	given, err := pairs(words)
	if err != nil {
		return nil, err
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
