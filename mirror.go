package mcp

// What of a request stands in HTTP headers, too, for proxies that do not read bodies
// (2026-07-28; Transports, Streamable HTTP, Request Metadata Headers). The body stays
// the authority: the client writes the headers from it, the server refuses what
// differs. It stands on json.go; server.go takes the mirrors of a tool from its schema
// with it, stateless.go writes and checks the headers.

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	headerRevision = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerParam    = "Mcp-Param-"

	mirrorKeyword = "x-mcp-header" // in the schema of a property that is mirrored
	mirrorLimit   = 1<<53 - 1      // of integers that are mirrored
	base64Open    = "=?base64?"
	base64Close   = "?="
)

// A mirror is a property of a tool's arguments that stands in a header, too.
type mirror struct {
	header string // the name after Mcp-Param-
	path   []string
	kind   string // "string", "integer" or "boolean"
}

// mirrorsOf finds the properties that an input schema wants mirrored. An annotation
// that breaks a rule makes the whole tool invalid.
func mirrorsOf(schema json.RawMessage) ([]mirror, error) {
	if text := string(schema); !strings.Contains(text, mirrorKeyword) && !strings.Contains(text, `\u`) {
		return nil, nil
	}
	ix, err := scan(schema)
	if err != nil {
		return nil, err
	}
	var found []mirror
	err = findMirrors(ix.root(), nil, true, &found)
	return found, err
}

// findMirrors looks through a schema. steps tells whether only properties lead to it.
func findMirrors(schema value, path []string, steps bool, found *[]mirror) error {
	for name, v := range schema.members() {
		var err error
		switch keyword := name.str(); keyword {
		case mirrorKeyword:
			if !steps || len(path) == 0 {
				return fmt.Errorf("%s stands where not only properties lead", mirrorKeyword)
			}
			err = addMirror(schema, v, path, found)
		case "enum", "const", "default", "examples": // data
		case "properties":
			for property, sub := range v.members() {
				err = errors.Join(err, findMirrors(sub, append(slices.Clip(path), property.str()), steps, found))
			}
		case "$defs", "definitions", "patternProperties", "dependentSchemas":
			for _, sub := range v.members() {
				err = errors.Join(err, findMirrors(sub, path, false, found))
			}
		default:
			err = findMirrors(v, path, false, found)
			for item := range v.items() {
				err = errors.Join(err, findMirrors(item, path, false, found))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addMirror(schema, name value, path []string, found *[]mirror) error {
	m := mirror{name.str(), path, schema.member("type").str()}
	where := strings.Join(path, ".")
	switch {
	case name.kind() != kindString || m.header == "" || strings.ContainsFunc(m.header, func(r rune) bool { return r > '~' || !isTokenByte(byte(r)) }):
		return fmt.Errorf("%s of %q is %.100s, not a token", mirrorKeyword, where, name.raw())
	case m.kind != "string" && m.kind != "integer" && m.kind != "boolean":
		return fmt.Errorf("%s of %q: its type must be string, integer or boolean", mirrorKeyword, where)
	case slices.ContainsFunc(*found, func(o mirror) bool { return strings.EqualFold(o.header, m.header) }):
		return fmt.Errorf("%s %q is there twice", mirrorKeyword, m.header)
	}
	*found = append(*found, m)
	return nil
}

// isTokenByte is the alphabet of names in HTTP headers (RFC 9110, section 5.6.2).
func isTokenByte(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// text is the property's value among arguments as header text; ok is false if it has
// none there, or null.
func (m *mirror) text(args value) (text string, ok bool, err error) {
	v := args
	for _, name := range m.path {
		v = v.member(name)
	}
	switch {
	case !v.present():
		return "", false, nil
	case v.kind() != kindNumber:
		if v.kind() == kindString {
			return v.str(), true, nil
		}
		return string(v.raw()), true, nil
	}
	n, isInt := v.integer()
	if !isInt || n > mirrorLimit || n < -mirrorLimit {
		return "", true, fmt.Errorf("%s is %.40s; only integers up to 2^53-1 can stand in a header", strings.Join(m.path, "."), v.raw())
	}
	return fmt.Sprint(n), true, nil
}

// setMirrors writes the headers of a tool call.
func setMirrors(header http.Header, mirrors []mirror, args value) error {
	for i := range mirrors {
		text, ok, err := mirrors[i].text(args)
		if err != nil {
			return err
		}
		if ok {
			header[http.CanonicalHeaderKey(headerParam+mirrors[i].header)] = []string{encodeHeader(text)}
		}
	}
	return nil
}

// check compares the header of a tool call with its argument.
func (m *mirror) check(header http.Header, args value) *Error {
	name := headerParam + m.header
	want, has, err := m.text(args)
	got, given, bad := oneHeader(header, name)
	switch {
	case bad != nil:
		return bad
	case err != nil:
		return differs("%s: %v", name, err)
	case has != given:
		return differs("%s and the argument %s: one of them is missing", name, strings.Join(m.path, "."))
	case !has || got == want:
		return nil
	case m.kind == "integer":
		if number, err := scan([]byte(got)); err == nil && number.root().integerText() == want {
			return nil
		}
	}
	return differs("%s is %.100q, but the argument %s is %.100q", name, got, strings.Join(m.path, "."), want)
}

func differs(format string, args ...any) *Error {
	return badRequest(CodeHeaderMismatch, format, args...)
}

// oneHeader is the decoded value of a header that may be there once.
func oneHeader(header http.Header, name string) (text string, ok bool, bad *Error) {
	values := header.Values(name)
	switch {
	case len(values) == 0:
		return "", false, nil
	case len(values) > 1:
		return "", true, differs("%s comes %d times", name, len(values))
	}
	text, err := decodeHeader(values[0])
	if err != nil {
		return "", true, differs("%s: %v", name, err)
	}
	return text, true, nil
}

// nameOf is the member of a method's parameters that Mcp-Name repeats; empty: none.
func nameOf(method string) string {
	switch method {
	case methodToolsCall, methodPromptsGet:
		return "name"
	case methodResourcesRead:
		return "uri"
	case methodTasksGet, methodTasksUpdate, methodTasksCancel:
		return "taskId"
	}
	return ""
}

// checkMirrored compares the headers that every request has with its body.
func checkMirrored(header http.Header, method string, params value) *Error {
	switch got := header.Values(headerMethod); {
	case len(got) == 0:
		return differs("the header %s is missing", headerMethod)
	case len(got) > 1 || got[0] != method:
		return differs("%s is %.100q, but the method is %.100q", headerMethod, strings.Join(got, ", "), method)
	}
	member := nameOf(method)
	if member == "" {
		return nil
	}
	got, ok, bad := oneHeader(header, headerName)
	switch {
	case bad != nil:
		return bad
	case !ok:
		return differs("the header %s is missing", headerName)
	case got != string(params.member(member).text()):
		return differs("%s is %.100q, but %s is %.100q", headerName, got, member, params.member(member).str())
	}
	return nil
}

// encodeHeader writes text so that a header can carry it.
func encodeHeader(text string) string {
	odd := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	looks := strings.HasPrefix(text, base64Open) && strings.HasSuffix(text, base64Close)
	if !odd && !looks && strings.Trim(text, " ") == text {
		return text
	}
	return base64Open + base64.StdEncoding.EncodeToString([]byte(text)) + base64Close
}

func decodeHeader(value string) (string, error) {
	inner, opened := strings.CutPrefix(value, base64Open)
	inner, closed := strings.CutSuffix(inner, base64Close)
	if !opened || !closed {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
			return "", errors.New("it has characters that are no visible ASCII")
		}
		return value, nil
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil || !utf8.Valid(text) || strings.ContainsAny(inner, "\r\n") {
		return "", errors.New("it is not the base64 form of a text")
	}
	return string(text), nil
}
