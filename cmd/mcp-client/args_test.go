package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
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
		got, err := toolArguments(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(argsSchema)}, c.words, &valueSource{})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if string(got) != c.want || text != c.err {
			t.Errorf("%q:\n got %s, error %s\nwant %s, error %s", c.words, got, text, c.want, c.err)
		}
	}
}

// Values from files have the type of the schema, too.
func TestArgumentFiles(t *testing.T) {
	inFolder(t, map[string]string{"text": "a b\n", "number": " 7\n", "object": "{\"k\": [1]}\n", "null": "null", "binary": "\xff\x00", "args": `{"s":"all"}`})
	must(t, os.WriteFile("large", bytes.Repeat([]byte("x"), maxValue+1), 0o600))
	must(t, os.WriteFile("full", bytes.Repeat([]byte("x"), maxValue), 0o600))
	const schema = `{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"},"o":{"type":"object"},"any":{},"maybe":{"type":["string","null"]},
		"data":{"type":"string","contentEncoding":"base64"},"perhaps":{"anyOf":[{"$ref":"#/$defs/data"},{"type":"null"}]}},"$defs":{"data":{"type":"string","contentEncoding":"BASE64"}}}`
	for _, c := range []struct{ word, want, err string }{
		{"s=@text", `{"s":"a b\n"}`, ""},
		{"s=@number", `{"s":" 7\n"}`, ""},
		{"i=@number", `{"i":7}`, ""},
		{"o=@object", `{"o":{"k":[1]}}`, ""},
		{"any=@object", `{"any":{"k":[1]}}`, ""},
		{"any=@text", `{"any":"a b\n"}`, ""},
		{"maybe=@null", `{"maybe":"null"}`, ""},
		{"maybe:=@null", `{"maybe":null}`, ""},
		{"data=@binary", `{"data":"/wA="}`, ""},
		{"perhaps=@binary", `{"perhaps":"/wA="}`, ""},
		{"data=/wA=", `{"data":"/wA="}`, ""},
		{"s=@-", `{"s":"from stdin"}`, ""},
		{"s=@@text", `{"s":"@text"}`, ""},
		{"s=@@@", `{"s":"@@"}`, ""},
		{"s=a@text", `{"s":"a@text"}`, ""},
		{"@args", `{"s":"all"}`, ""},
		{"@text", "", "the arguments are no JSON: invalid character 'a' looking for beginning of value"},
		{"i=@text", "", `argument "i": want integer, not "a b\n"`},
		{"o:=@text", "", `argument "o" is no JSON: invalid character 'a' looking for beginning of value`},
		{"s=@binary", "", `argument "s": this is no text (UTF-8)`},
		{"s=@large", "", `argument "s": @large has more than 8388608 bytes`},
		{"i=@full", "", `argument "i": want integer, not "` + strings.Repeat("x", 60) + `"`},
		{"s=@none", "", `argument "s": open none: no such file or directory ("@@none" would be the text)`},
		{"@none", "", `the arguments are no JSON: open none: no such file or directory ("@@none" would be the text)`},
	} {
		got, err := toolArguments(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, []string{c.word}, &valueSource{strings.NewReader("from stdin")})
		if text := fmt.Sprint(err); string(got) != c.want || text != cmp.Or(c.err, "<nil>") {
			t.Errorf("%s:\n got %.200s, error %s\nwant %s, error %s", c.word, got, text, c.want, c.err)
		}
	}
	f := &valueSource{strings.NewReader("x")}
	if _, err := toolArguments(&mcp.Tool{InputSchema: json.RawMessage(schema)}, []string{"s=@-", "any=@-"}, f); err == nil || err.Error() != `argument "any": @-: there is no stdin to read` {
		t.Error(err)
	}
	new(trial).run("call", "echo", "text=@text", "n=@number", "--", "x").is(t, exitOK, "a b\n", "")
	(&trial{stdin: `{"text":"piped"}`}).run("call", "echo", "@-", "--", "x").is(t, exitOK, "piped\n", "")
	new(trial).run("prompt", "greet", "who=@text", "style=@@x", "--", "x").is(t, exitOK, "user:\nGreet a b\nassistant:\n[resource test:///a]\nhello\n", "")
	new(trial).run("prompt", "greet", "who=@binary", "--", "x").is(t, exitUsage, "", `mcp-client: argument "who": this is no text (UTF-8)`+"\n")
}

// What schemas say in other words than "type" is understood as well.
func TestArgumentKinds(t *testing.T) {
	const schema = `{"allOf":[{"$ref":"#/$defs/base"},{"properties":{"level":{"enum":["low","high"]}},"required":["level"]}],
		"oneOf":[{"properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind"]},{"properties":{"kind":{"const":"square"},"side":{"allOf":[{"$ref":"#/$defs/n"}]}},"required":["kind"]}],
		"properties":{"n":{"enum":[1,2.5,null]},"mode":{"type":"string","default":"fast"},"opt":{"anyOf":[{"enum":["a","b"],"type":"string"},{"type":"null"}],"default":null},
			"old":{"type":"boolean"}},"required":["mode","n"],
		"$defs":{"base":{"properties":{"version":{"const":3}},"required":["version"]},"n":{"type":"integer"}}}`
	var got []string
	for _, a := range argumentsOf(json.RawMessage(schema)) {
		got = append(got, fmt.Sprintf("%s %s %v %v", a.name, a.kind, a.required, a.texts()))
	}
	want := []string{"n 1 | 2.5 | null true [1 2.5 null]", "mode string true []", "opt a | b | null false [a b null]", "old boolean false [true false]",
		"version 3 true [3]", "level low | high true [low high]", "kind circle | square false [circle square]", "r number false []", "side integer false []"}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct{ line, want, err string }{
		{"n=1 level=low kind=circle", `{"kind":"circle","level":"low","mode":"fast","n":1,"version":3}`, ""},
		{"n=2.5 level=high kind=square side=4 mode=slow opt=a", `{"kind":"square","level":"high","mode":"slow","n":2.5,"opt":"a","side":4,"version":3}`, ""},
		{"n=null level=low kind=circle r=1e1", `{"kind":"circle","level":"low","mode":"fast","n":null,"r":1e1,"version":3}`, ""},
		{"n=x level=low kind=circle", "", `argument "n": want null or number, not "x"`},
		{"n=1 level=low kind=circle side=x", "", `argument "side": want integer, not "x"`},
		{"n=1 level=none kind=circle", "", `the arguments do not fit tool "t": /level: want one of ["low","high"], got "none"`},
		{"n=1 kind=circle", "", `the arguments do not fit tool "t": the value: "level" is missing`},
	} {
		args, err := toolArguments(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, strings.Fields(c.line), &valueSource{})
		if string(args) != c.want || fmt.Sprint(err) != cmp.Or(c.err, "<nil>") {
			t.Errorf("%s:\n got %s, error %v\nwant %s, error %s", c.line, args, err, c.want, c.err)
		}
	}
}

// A schema that leads to itself in many ways takes no longer than one that does not.
func TestArgumentsOfLoops(t *testing.T) {
	ten := strings.Repeat(`{"$ref":"#/$defs/l"},`, 9) + `{"$ref":"#/$defs/l"}`
	loop := `{"anyOf":[` + ten + `],"allOf":[` + ten + `]}`
	for _, schema := range []string{
		`{"properties":{"x":{"$ref":"#/$defs/l"}},"$defs":{"l":` + loop + `}}`,
		`{"$ref":"#/$defs/l","properties":{"x":{}},"$defs":{"l":` + loop + `}}`,
	} {
		list := argumentsOf(json.RawMessage(schema))
		if len(list) != 1 || list[0].name != "x" || list[0].kind != "any" {
			t.Errorf("%.60s…: %v", schema, list)
		}
	}
}

// A schema of a few hundred kilobytes does not take minutes, nor all memory, where its parts
// lead to one another many times.
func TestLargeSchemas(t *testing.T) {
	names := func(letter string, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("%s%06d", letter, i))
		}
		return list
	}
	const many = 10_000
	properties := map[string]any{}
	for _, name := range names("p", many) {
		properties[name] = map[string]any{"type": "string"}
	}
	refs := slices.Repeat([]any{map[string]string{"$ref": "#/$defs/a"}}, maxPlaces)
	for _, c := range []struct {
		schema map[string]any
		want   int
	}{
		{map[string]any{"properties": properties, "required": names("q", many)}, many},
		{map[string]any{"$defs": map[string]any{"a": map[string]any{"properties": properties}}, "allOf": refs}, many},
		{map[string]any{"$defs": map[string]any{"a": map[string]any{"enum": names("v", many)}}, "properties": map[string]any{"x": map[string]any{"anyOf": refs}}}, 1},
		{map[string]any{"$defs": map[string]any{"a": map[string]any{"type": names("t", many)}}, "properties": map[string]any{"x": map[string]any{"anyOf": refs}}}, 1},
	} {
		text, err := json.Marshal(c.schema)
		must(t, err)
		list := argumentsOf(text)
		if len(list) != c.want {
			t.Errorf("%.60s…: %d arguments, want %d", text, len(list), c.want)
		}
		for _, a := range list {
			if len(a.values) > many || len(a.types) > 2*maxTypes {
				t.Errorf("%.60s…: %d values, %d types", text, len(a.values), len(a.types))
			}
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
		`{"properties":{"x":{"type":"string","required":true,"enum":"no list"}}}`:               `{"x":"2"}`,
		`{"properties":[]}`: `{"x":2}`,
		`null`:              `{"x":2}`,
	} {
		got, err := toolArguments(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, []string{"x=2"}, &valueSource{})
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
