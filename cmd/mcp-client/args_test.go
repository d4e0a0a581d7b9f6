package main

import (
	"encoding/json"
	"testing"

	"example.com/mcp"
)

const argsSchema = `{"type":"object","additionalProperties":false,"required":["s"],"$defs":{"size":{"enum":[1,2],"type":"integer"}},
	"properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number","maximum":9},"b":{"type":"boolean"},
	"a":{"type":"array"},"o":{"type":"object"},"any":{},"maybe":{"type":["string","null"]},"either":{"anyOf":[{"type":"integer"},{"type":"string"}]},
	"size":{"$ref":"#/$defs/size"},"bool":true,"null":{"type":"null"}}}`

func TestToolArguments(t *testing.T) {
	for _, c := range []struct {
		words     []string
		want, err string
	}{
		{[]string{"s=text"}, `{"s":"text"}`, ""},
		{[]string{"s=1"}, `{"s":"1"}`, ""},
		{[]string{"s=true"}, `{"s":"true"}`, ""},
		{[]string{"s="}, `{"s":""}`, ""},
		{[]string{"s=a=b"}, `{"s":"a=b"}`, ""},
		{[]string{`s={"a":1}`}, `{"s":"{\"a\":1}"}`, ""},
		{[]string{"s=x", "i=7"}, `{"i":7,"s":"x"}`, ""},
		{[]string{"s=x", "i=7.0"}, `{"i":7.0,"s":"x"}`, ""},
		{[]string{"s=x", "n=-1.5e0"}, `{"n":-1.5e0,"s":"x"}`, ""},
		{[]string{"s=x", "b=true", "a=[1]", `o={"k":null}`}, `{"a":[1],"b":true,"o":{"k":null},"s":"x"}`, ""},
		{[]string{"s=x", "any=1"}, `{"any":1,"s":"x"}`, ""},
		{[]string{"s=x", "any=word"}, `{"any":"word","s":"x"}`, ""},
		{[]string{"s=x", "maybe=null"}, `{"maybe":"null","s":"x"}`, ""},
		{[]string{"s=x", "maybe:=null"}, `{"maybe":null,"s":"x"}`, ""},
		{[]string{"s=x", "either=5"}, `{"either":5,"s":"x"}`, ""},
		{[]string{"s=x", "either=five"}, `{"either":"five","s":"x"}`, ""},
		{[]string{"s=x", "size=2"}, `{"s":"x","size":2}`, ""},
		{[]string{"s=x", "bool=2"}, `{"bool":2,"s":"x"}`, ""},
		{[]string{"s=x", "null=null"}, `{"null":null,"s":"x"}`, ""},
		{[]string{`s:="q"`}, `{"s":"q"}`, ""},
		{[]string{`{"s":"all","i":1}`}, `{"s":"all","i":1}`, ""},

		{nil, "", `the arguments do not fit tool "t": the value: "s" is missing`},
		{[]string{"s=x", "i=1.5"}, "", `argument "i": want integer, not "1.5"`},
		{[]string{"s=x", "i=true"}, "", `argument "i": want integer, not "true"`},
		{[]string{"s=x", "i="}, "", `argument "i": want integer, not ""`},
		{[]string{"s=x", "b=yes"}, "", `argument "b": want boolean, not "yes"`},
		{[]string{"s=x", "a=one"}, "", `argument "a": want array as JSON, not "one"`},
		{[]string{"s=x", "o=[]"}, "", `argument "o": want object as JSON, not "[]"`},
		{[]string{"s=x", "null=5"}, "", `argument "null": want null, not "5"`},
		{[]string{"s=x", "n=10"}, "", `the arguments do not fit tool "t": /n: want at most 9, got 10`},
		{[]string{"s=x", "size=3"}, "", `the arguments do not fit tool "t": /size: want one of [1,2], got 3`},
		{[]string{"s=x", "zzz=3"}, "", `the arguments do not fit tool "t": /zzz: not allowed`},
		{[]string{"s=x", "s=y"}, "", `argument "s" is given twice`},
		{[]string{"s"}, "", `argument "s" is neither KEY=VALUE nor KEY:=JSON`},
		{[]string{"s:=x"}, "", `argument "s" is no JSON: invalid character 'x' looking for beginning of value`},
		{[]string{"{s"}, "", `the arguments are no JSON: invalid character 's' looking for beginning of object key string`},
		{[]string{`{"s":5}`}, "", `the arguments do not fit tool "t": /s: want string, got number`},
	} {
		got, err := toolArguments(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(argsSchema)}, c.words)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if string(got) != c.want || text != c.err {
			t.Errorf("%q:\n got %s, error %s\nwant %s, error %s", c.words, got, text, c.want, c.err)
		}
	}
}

// What only the server understands is left to it.
func TestStrangeSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"$defs":{"loop":{"$ref":"#/$defs/loop"}},"properties":{"x":{"$ref":"#/$defs/loop"}}}`: `{"x":2}`,
		`{"properties":{"x":{"$ref":"#/$defs/none"}}}`:                                          `{"x":2}`,
		`{"properties":{"x":{"$ref":"https://x.example/y"}}}`:                                   `{"x":2}`,
		`{"properties":{"x":{"$ref":"#/properties/a~1b"},"a/b":{"type":"string"}}}`:             `{"x":"2"}`,
		`{"properties":{"x":{"type":5}}}`:                                                       `{"x":2}`,
		`{"properties":[]}`:                                                                     `{"x":2}`,
		`null`:                                                                                  `{"x":2}`,
	} {
		got, err := toolArguments(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, []string{"x=2"})
		if string(got) != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", schema, got, err, want)
		}
	}
}

func TestPairs(t *testing.T) {
	for _, c := range []struct{ words, err string }{
		{"a", `argument "a" is not KEY=VALUE`},
		{"b=1", ""},
	} {
		if _, err := pairs([]string{c.words}); err != nil && err.Error() != c.err || err == nil && c.err != "" {
			t.Errorf("%q: %v, want %q", c.words, err, c.err)
		}
	}
	if _, err := pairs([]string{"a=1", "a=2"}); err == nil || err.Error() != `argument "a" is given twice` {
		t.Error(err)
	}
}

func TestShellText(t *testing.T) {
	for want, words := range map[string][]string{
		`ls -l a/b`:            {"ls", "-l", "a/b"},
		`a 'b c' '' 'it'\''s'`: {"a", "b c", "", "it's"},
		`'$x' '*'`:             {"$x", "*"},
	} {
		if got := shellText(words); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
