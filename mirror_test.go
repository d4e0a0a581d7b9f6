package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"unicode/utf8"
)

// Where an annotation may stand, and what it may be.
//
// BASE-320 BASE-322 BASE-323 BASE-324 BASE-325 FEAT-070 FEAT-071 FEAT-072 FEAT-073 FEAT-074 FEAT-075 C-20
func TestMirrorAnnotations(t *testing.T) {
	property := func(text string) string { return `{"type":"object","properties":{"p":` + text + `}}` }
	named := func(name string) string {
		return property(`{"type":"string","x-mcp-header":` + name + `}`)
	}
	const (
		inside   = `{"type":"object","properties":{"q":{"type":"string","x-mcp-header":"Q"}}}`
		astray   = `x-mcp-header stands where not only properties lead`
		badType  = `x-mcp-header of "p": its type must be string, integer or boolean`
		badName  = `x-mcp-header of "p" is `
		notToken = `, not a token`
	)
	for _, c := range []struct{ schema, want string }{
		{property(`{"type":"string","x-mcp-header":"Region"}`), "Region=p:string"},
		{property(`{"x-mcp-header":"n","type":"integer"}`), "n=p:integer"},
		{property(`{"type":"boolean","x-mcp-header":"!#$%&'*+-.^_|~` + "`" + `09azAZ"}`), "!#$%&'*+-.^_|~`09azAZ=p:boolean"},
		{property(inside), "Q=p.q:string"},
		{`{"type":"object","properties":{"a":` + inside + `,"b":{"type":"string","x-mcp-header":"B"}}}`, "Q=a.q:string B=b:string"},
		{`{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}`, ""},
		{property(`{"type":"string","default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],"const":{"x-mcp-header":1},"examples":[{"x-mcp-header":1}]}`), ""},
		{`{"type":"object","properties":{"properties":{"type":"string","x-mcp-header":"P"}}}`, "P=properties:string"},

		{named(`""`), badName + `""` + notToken},
		{named(`"My Region"`), badName + `"My Region"` + notToken},
		{named(`"Region:Primary"`), badName + `"Region:Primary"` + notToken},
		{named(`"Région"`), badName + `"Région"` + notToken},
		{named(`"Region\t1"`), badName + `"Region\t1"` + notToken},
		{named(`"a\r\nb"`), badName + `"a\r\nb"` + notToken},
		{named(`"ŀ"`), badName + `"ŀ"` + notToken}, // whose last byte is that of "@"
		{named(`"š"`), badName + `"š"` + notToken}, // whose last byte is that of "a"
		{named(`5`), badName + `5` + notToken},
		{named(`null`), badName + `null` + notToken},
		{`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"MyField"},"b":{"type":"string","x-mcp-header":"myfield"}}}`, `x-mcp-header "myfield" is there twice`},
		{property(`{"type":"number","x-mcp-header":"N"}`), badType},
		{property(`{"type":"object","x-mcp-header":"N"}`), badType},
		{property(`{"type":"array","x-mcp-header":"N"}`), badType},
		{property(`{"type":"null","x-mcp-header":"N"}`), badType},
		{property(`{"type":["string","null"],"x-mcp-header":"N"}`), badType},
		{property(`{"x-mcp-header":"N"}`), badType},
		{`{"type":"object","x-mcp-header":"N"}`, astray},
		{property(`{"type":"array","items":` + inside + `}`), astray},
		{property(`{"type":"array","prefixItems":[` + inside + `]}`), astray},
		{property(`{"type":"object","additionalProperties":` + inside + `}`), astray},
		{property(`{"type":"object","patternProperties":{"^a":` + inside + `}}`), astray},
		{property(`{"oneOf":[` + inside + `]}`), astray},
		{property(`{"anyOf":[` + inside + `]}`), astray},
		{property(`{"allOf":[` + inside + `]}`), astray},
		{property(`{"not":` + inside + `}`), astray},
		{property(`{"if":` + inside + `}`), astray},
		{property(`{"then":` + inside + `}`), astray},
		{property(`{"else":` + inside + `}`), astray},
		{property(`{"dependentSchemas":{"a":` + inside + `}}`), astray},
		{`{"type":"object","properties":{"p":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"string","x-mcp-header":"D"}}}`, astray},
		{`{"type":"object","properties":{"p":{"$ref":"#/definitions/d"}},"definitions":{"d":` + inside + `}}`, astray},
	} {
		mirrors, err := mirrorsOf(json.RawMessage(c.schema))
		var got []string
		for _, m := range mirrors {
			got = append(got, m.header+"="+strings.Join(m.path, ".")+":"+m.kind)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.schema, strings.Join(got, " "), c.want)
		}
		registered := newServer(t, nil).AddTool(&Tool{Name: "t", InputSchema: json.RawMessage(c.schema)}, func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil })
		if (registered == nil) != (err == nil) {
			t.Errorf("%s: AddTool returns %v", c.schema, registered)
		}
	}
}

// Text as a header has it, both ways.
//
// FEAT-082 FEAT-083 FEAT-084 FEAT-089 BASE-318 BASE-331 EDGE-154 E7.1 E7.2 E7.3 E7.4 E7.5 E7.10 E7.20
func TestHeaderText(t *testing.T) {
	for text, header := range map[string]string{
		"us-west1":               "us-west1",
		" us-west1":              "=?base64?IHVzLXdlc3Qx?=",
		"us-west1 ":              "=?base64?dXMtd2VzdDEg?=",
		" padded ":               "=?base64?IHBhZGRlZCA=?=",
		"us west 1":              "us west 1",
		"Hello, 世界":              "=?base64?SGVsbG8sIOS4lueVjA==?=",
		"line1\nline2":           "=?base64?bGluZTEKbGluZTI=?=",
		"line1\r\nline2":         "=?base64?bGluZTENCmxpbmUy?=",
		"\tindented":             "=?base64?CWluZGVudGVk?=",
		"a\tb":                   "=?base64?YQli?=",
		"\x7f":                   "=?base64?fw==?=",
		"":                       "",
		"日本":                     "=?base64?5pel5pys?=",
		"=?base64?literal?=":     "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?literal":       "=?base64?literal",
		"=?BASE64?SGVsbG8=?=":    "=?BASE64?SGVsbG8=?=",
		"SGVsbG8=":               "SGVsbG8=",
		"=?base64?SGVsbG8=":      "=?base64?SGVsbG8=",
		"a-b_c~d!e,f;g:h\"i'j\\": "a-b_c~d!e,f;g:h\"i'j\\",
	} {
		if got := encodeHeader(text); got != header {
			t.Errorf("%q is written as %q, want %q", text, got, header)
		}
		if got, err := decodeHeader(header); got != text || err != nil {
			t.Errorf("%q is read as %q, %v, want %q", header, got, err, text)
		}
	}
}

// What no client may have written is not read.
//
// BASE-316 FEAT-088 EDGE-153 EDGE-155
func TestHeaderTextRefused(t *testing.T) {
	const notBase64, notASCII = "it is not the base64 form of a text", "it has characters that are no visible ASCII"
	for header, want := range map[string]string{
		"=?base64?SGVsbG8?=":          notBase64, // no padding
		"=?base64?SGVs!!!bG8=?=":      notBase64,
		"=?base64?SGVsbG9=?=":         notBase64, // bits beyond the last byte
		"=?base64?SGVs bG8=?=":        notBase64,
		"=?base64?SGVs\nbG8=?=":       notBase64,
		"=?base64?_-__?=":             notBase64, // the alphabet of URLs
		"=?base64?/w==?=":             notBase64, // no UTF-8
		"=?base64?7aCA?=":             notBase64, // half of a surrogate pair
		"=?base64?SGVsbG8=?==?=":      notBase64,
		"\x80":                        notASCII,
		"caf\xe9":                     notASCII,
		"café":                        notASCII,
		"a\x00b":                      notASCII,
		"a\x7f":                       notASCII,
		"=?base64?caf\u00e9":          notASCII,
		"=?base64?\x80" + base64Close: notBase64,
	} {
		if got, err := decodeHeader(header); got != "" || errorText(err) != want {
			t.Errorf("%q is read as %q, %q, want %q", header, got, errorText(err), want)
		}
	}
}

// Every text survives the way through a header, as net/http carries it, and no header
// does harm.
func FuzzMirror(f *testing.F) {
	for _, text := range []string{"", "us-west1", " a ", "世界", "=?base64?SGVsbG8=?=", "=?base64?", "?=", "\t", "a\x7fb", "=?base64?SGVs!!!bG8=?=", "\xff", "=?base64?/w==?="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if read, err := decodeHeader(text); err == nil && !utf8.ValidString(read) {
			t.Errorf("%q is read as %q", text, read)
		}
		if !utf8.ValidString(text) {
			return
		}
		header := encodeHeader(text)
		if strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) || textproto.TrimString(header) != header {
			t.Errorf("%q is written as %q", text, header)
		}
		if read, err := decodeHeader(header); read != text || err != nil {
			t.Errorf("%q is written as %q and read as %q, %v", text, header, read, err)
		}
	})
}

// The header and the argument are compared by their meaning.
//
// BASE-317 BASE-332 BASE-333 BASE-334 BASE-335 FEAT-086 FEAT-087 EDGE-156 EDGE-157 EDGE-158 EDGE-160
// E7.11 E7.12 E7.13 E7.14 E7.15 E7.16 E7.17
func TestMirrorCheck(t *testing.T) {
	text, number, flag := mirror{"T", []string{"v"}, "string"}, mirror{"T", []string{"v"}, "integer"}, mirror{"T", []string{"v"}, "boolean"}
	nested := mirror{"T", []string{"a", "v"}, "string"}
	const (
		missing  = "Mcp-Param-T and the argument v: one of them is missing"
		notAText = "Mcp-Param-T: it is not the base64 form of a text"
	)
	for _, c := range []struct {
		m      mirror
		args   string
		header []string
		want   string
	}{
		{text, `{"v":"Hello"}`, []string{"Hello"}, ""},
		{text, `{"v":"Hello"}`, []string{"=?base64?SGVsbG8=?="}, ""},
		{text, `{"v":"us-west1"}`, []string{"=?base64?dXMtd2VzdDE=?="}, ""},
		{text, `{"v":"h\u00e9llo"}`, []string{"=?base64?aMOpbGxv?="}, ""},
		{text, `{"v":"Hello"}`, []string{"=?base64?SGVsbG8?="}, notAText},
		{text, `{"v":"Hello"}`, []string{"=?base64?SGVs!!!bG8=?="}, notAText},
		{text, `{"v":"Hello"}`, []string{"hello"}, `Mcp-Param-T is "hello", but the argument v is "Hello"`},
		{text, `{"v":"SGVsbG8="}`, []string{"SGVsbG8="}, ""},
		{text, `{"v":"=?base64?SGVsbG8="}`, []string{"=?base64?SGVsbG8="}, ""},
		{text, `{"v":"=?BASE64?SGVsbG8=?="}`, []string{"=?BASE64?SGVsbG8=?="}, ""},
		{text, `{"v":"x"}`, nil, missing},
		{text, `{"v":""}`, []string{""}, ""},
		{text, `{"v":""}`, nil, missing},
		{text, `{}`, []string{""}, missing},
		{text, `{"v":null}`, []string{"null"}, missing},
		{text, `{"v":null}`, nil, ""},
		{text, `{}`, nil, ""},
		{text, `[]`, nil, ""},
		{text, `{"v":"x"}`, []string{"x", "x"}, "Mcp-Param-T comes 2 times"},
		{text, `{"v":"x"}`, []string{"\x80"}, "Mcp-Param-T: it has characters that are no visible ASCII"},
		{text, `{"v":{"a":1}}`, []string{"x"}, `Mcp-Param-T is "x", but the argument v is "{\"a\":1}"`},
		{number, `{"v":42}`, []string{"42"}, ""},
		{number, `{"v":42}`, []string{"42.0"}, ""},
		{number, `{"v":42.0}`, []string{"42"}, ""},
		{number, `{"v":1e3}`, []string{"1000"}, ""},
		{number, `{"v":-7}`, []string{"-7"}, ""},
		{number, `{"v":0}`, []string{"-0"}, ""},
		{number, `{"v":42}`, []string{"43"}, `Mcp-Param-T is "43", but the argument v is "42"`},
		{number, `{"v":42}`, []string{"42.5"}, `Mcp-Param-T is "42.5", but the argument v is "42"`},
		{number, `{"v":42}`, []string{""}, `Mcp-Param-T is "", but the argument v is "42"`},
		{number, `{"v":42}`, []string{"+42"}, `Mcp-Param-T is "+42", but the argument v is "42"`},
		{number, `{"v":42}`, []string{"0x2A"}, `Mcp-Param-T is "0x2A", but the argument v is "42"`},
		{number, `{"v":42}`, []string{"4 2.0"}, `Mcp-Param-T is "4 2.0", but the argument v is "42"`},
		{number, `{"v":42}`, []string{"42e"}, `Mcp-Param-T is "42e", but the argument v is "42"`},
		{number, `{"v":42}`, []string{"42e99999999999999999999"}, `Mcp-Param-T is "42e99999999999999999999", but the argument v is "42"`},
		{number, `{"v":0}`, []string{"."}, `Mcp-Param-T is ".", but the argument v is "0"`},
		{number, `{"v":0}`, []string{"e"}, `Mcp-Param-T is "e", but the argument v is "0"`},
		{number, `{"v":0}`, []string{"-.0"}, `Mcp-Param-T is "-.0", but the argument v is "0"`},
		{number, `{"v":9007199254740991}`, []string{"9007199254740991"}, ""},
		{number, `{"v":9007199254740992}`, []string{"9007199254740992"}, "Mcp-Param-T: v is 9007199254740992; only integers up to 2^53-1 can stand in a header"},
		{number, `{"v":-9007199254740992}`, nil, "Mcp-Param-T: v is -9007199254740992; only integers up to 2^53-1 can stand in a header"},
		{number, `{"v":1.5}`, []string{"1.5"}, "Mcp-Param-T: v is 1.5; only integers up to 2^53-1 can stand in a header"},
		{flag, `{"v":true}`, []string{"true"}, ""},
		{flag, `{"v":false}`, []string{"false"}, ""},
		{flag, `{"v":false}`, []string{"0"}, `Mcp-Param-T is "0", but the argument v is "false"`},
		{flag, `{"v":true}`, []string{"True"}, `Mcp-Param-T is "True", but the argument v is "true"`},
		{nested, `{"a":{"v":"x"}}`, []string{"x"}, ""},
		{nested, `{"a":null,"v":"x"}`, nil, ""},
		{nested, `{"a":"v"}`, nil, ""},
		{nested, `{"a":{"v":"x"}}`, nil, "Mcp-Param-T and the argument a.v: one of them is missing"},
	} {
		header := http.Header{}
		if c.header != nil {
			header["Mcp-Param-T"] = c.header
		}
		got := ""
		if e := c.m.check(header, scanned(t, c.args)); e != nil {
			got = e.Message
			if e.Code != CodeHeaderMismatch || e.status != http.StatusBadRequest {
				t.Errorf("%s %q: code %d, status %d", c.args, c.header, e.Code, e.status)
			}
		}
		if got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.args, c.header, got, c.want)
		}
	}
}
