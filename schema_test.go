package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// skip lists the tests of the official suite that fail, as "file/group/test" or a
// prefix of that, with the reason.
var skip = map[string]string{}

const suiteDir = "../shared/jsonschema"

// FEAT-490 FEAT-491 FEAT-492 FEAT-493 FEAT-494 FEAT-495 FEAT-500 FEAT-501 FEAT-506 FEAT-512
func TestSchemaSuite(t *testing.T) {
	files, _ := filepath.Glob(suiteDir + "/tests/draft2020-12/*.json")
	if len(files) == 0 {
		t.Skip("the JSON Schema test suite is not at " + suiteDir)
	}
	documents := suiteDocuments(t)
	count := 0
	for _, file := range files {
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		readJSON(t, file, &groups)
		for _, group := range groups {
			s, err := compileSchema(group.Schema, documents)
			for _, test := range group.Tests {
				name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + group.Description + "/" + test.Description
				if skipped(name) {
					continue
				}
				count++
				if err != nil {
					t.Errorf("%s: %v", name, err)
				} else if err := s.Validate(test.Data); (err == nil) != test.Valid {
					t.Errorf("%s: valid is %v, want %v (%v)", name, err == nil, test.Valid, err)
				}
			}
		}
	}
	t.Logf("%d tests in %d files", count, len(files))
}

func skipped(name string) bool {
	for prefix := range skip {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func readJSON(t *testing.T, file string, dst any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, dst)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// suiteDocuments reads the documents that the suite expects at localhost:1234.
func suiteDocuments(t *testing.T) map[string][]byte {
	documents := map[string][]byte{}
	root := suiteDir + "/remotes"
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		documents["http://localhost:1234/"+filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

const toolSchema = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"},
	"all":{"type":"boolean"}},"required":["path"],"additionalProperties":false}`

func BenchmarkValidate(b *testing.B) {
	s, err := CompileSchema([]byte(toolSchema))
	if err != nil {
		b.Fatal(err)
	}
	ix, err := scan([]byte(`{"path":"/usr/share/doc","limit":20,"all":true}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.validate(ix.root()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CompileSchema([]byte(toolSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

// mustCompile compiles a schema that is valid.
func mustCompile(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := CompileSchema([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", clip(text, 200), err)
	}
	return s
}

// verdicts has for each schema the values that it must accept and refuse.
type verdicts struct {
	schema string
	accept []string
	refuse []string
}

func (v verdicts) run(t *testing.T) {
	t.Helper()
	s := mustCompile(t, v.schema)
	for _, data := range v.accept {
		if err := s.Validate([]byte(data)); err != nil {
			t.Errorf("%s refuses %s: %v", v.schema, data, err)
		}
	}
	for _, data := range v.refuse {
		var problems *ValidationError
		if err := s.Validate([]byte(data)); !errors.As(err, &problems) {
			t.Errorf("%s, given %s: got error %v, want a ValidationError", v.schema, data, err)
		}
	}
}

// E10 FEAT-480 FEAT-496 FEAT-497 FEAT-498 FEAT-499 FEAT-502 BASE-423
//
// E10.1 E10.2 E10.3 E10.4 E10.5 E10.6 E10.7 E10.8 E10.9 E10.10 E10.12 E10.13 E10.16 E10.17 E10.18
func TestSchemaTraps(t *testing.T) {
	for _, v := range []verdicts{
		{`{"type":"integer"}`, []string{"1", "1.0", "1e2", "10e-1", "-0.0", "1e400"}, []string{"1.5", "1e-1", "true", `"1"`}},
		{`{"type":"number"}`, []string{"1", "1.5"}, []string{"true", "null"}},
		{`{"const":1}`, []string{"1", "1.0", "0.1e1", "100e-2"}, []string{"true", "2", "-1", `"1"`}},
		{`{"const":0}`, []string{"0", "-0", "0e5", "0.00"}, []string{"false", `""`, "null"}},
		{`{"const":"a/b"}`, []string{`"a/b"`, `"a\/b"`, `"\u0061/b"`}, []string{`"a\\/b"`}},
		{`{"const":{"a":[1,{"b":null}],"c":"\n"}}`, []string{`{"c":"\u000a","a":[1.0,{"b":null}]}`}, []string{`{"a":[{"b":null},1],"c":"\n"}`}},
		{`{"enum":[1,"a",null]}`, []string{"1.0", `"a"`, "null"}, []string{`"1"`, "false"}},
		{`{"enum":[1,2],"const":2}`, []string{"2"}, []string{"1", "3"}},
		{`{"uniqueItems":true}`, []string{`[0,false,"",null,"0"]`, `[1,[1]]`}, []string{`[1,1.0]`, `[{"a":1,"b":2},{"b":2,"a":1e0}]`}},
		{`{"multipleOf":0.01}`, []string{"19.99", "1e400", "0"}, []string{"19.999", "1e-3"}},
		{`{"multipleOf":7}`, []string{"7e0", "49", "700000000000000000000000000000"}, []string{"1e30", "48"}},
		{`{"multipleOf":1e-300}`, []string{"1e999999999", "3e-300"}, []string{"1e-301"}},
		{`{"maximum":9007199254740992}`, []string{"9007199254740992", "-1e999999999"}, []string{"9007199254740993", "1e400"}},
		{`{"minimum":-0.1}`, []string{"-0.1", "0", "1e-999999999", "-1e-2"}, []string{"-0.11", "-1e400"}},
		{`{"exclusiveMinimum":1,"exclusiveMaximum":1.0000000000000000001}`, []string{"1.00000000000000000001"}, []string{"1", "1.0000000000000000001"}},
		{`{"maxLength":1}`, []string{`"😀"`, `"\ud83d\ude00"`, `""`}, []string{`"ab"`}},
		{`{"minLength":2.0}`, []string{`"ab"`, "5"}, []string{`"😀"`}},
		{`{"pattern":"b"}`, []string{`"abc"`, "5"}, []string{`"ac"`}},
		{`{"properties":{"a":{"type":"string"}}}`, []string{"5", `{"a":"x"}`, `{"b":1}`}, []string{`{"a":1}`}},
		{`{"contains":{"const":1},"minContains":0}`, []string{"[]", "[2]"}, nil},
		{`{"if":{"properties":{"m":{"const":"p"}},"required":["m"]},"then":{"required":["t"]},"else":{"required":["e"]}}`,
			[]string{`{"e":1}`, `{"m":"p","t":1}`}, []string{`{}`, `{"m":"p"}`}},
		{`{"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{"type":"string"}}}`, []string{`"a"`}, []string{`"ab"`}},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, []string{`{"a":1}`}, []string{`{"b":1}`}},
		{`{"allOf":[{"properties":{"a":true}}],"additionalProperties":false}`, nil, []string{`{"a":1}`}},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, []string{`["a"]`, "[]"}, []string{`["a",1]`}},
		{`{"type":"object","required":["__proto__"]}`, []string{`{"__proto__":1}`}, []string{`{}`}},
		{`{"format":"email"}`, []string{`"x"`}, nil},
		{`{"x-vendor":{"$ref":"nowhere"},"examples":[1],"deprecated":true,"default":1}`, []string{"1"}, nil},
		{`{"properties":{"x":false}}`, []string{"{}"}, []string{`{"x":1}`}},
		{`{"additionalProperties":{"$ref":"#/x-types/~1n~0m%25"},"x-types":{"/n~m%":{"type":"null"}}}`, []string{`{"a":null}`}, []string{`{"a":1}`}},
	} {
		v.run(t)
	}
}

// FEAT-482 FEAT-485 FEAT-503 BASE-427 E10.11
func TestSchemaDraft07(t *testing.T) {
	for _, v := range []verdicts{
		{`{"$ref":"#/definitions/a","maxLength":1,"definitions":{"a":{"type":"string"}}}`, []string{`"ab"`}, []string{"1"}},
		{`{"items":[{"type":"string"}],"additionalItems":{"type":"null"}}`, []string{`["a",null]`, "5"}, []string{`["a",1]`, "[1]"}},
		{`{"items":{"type":"string"},"additionalItems":false}`, []string{`["a","b"]`}, []string{"[1]"}},
		{`{"additionalItems":false}`, []string{"[1]"}, nil},
		{`{"dependencies":{"a":["b"],"c":{"required":["d"]},"e":false}}`, []string{`{"a":1,"b":1}`, `{"c":1,"d":1}`, "{}"}, []string{`{"a":1}`, `{"c":1}`, `{"e":1}`}},
		{`{"allOf":[{"$ref":"#x"}],"definitions":{"a":{"$id":"#x","type":"null"}}}`, []string{"null"}, []string{"1"}},
		{`{"$id":"http://a.test/b/","allOf":[{"$id":"http://a.test/","$ref":"c"}],"definitions":{"x":{"$id":"c","type":"null"}}}`, []string{"null"}, []string{"1"}},
		{`{"prefixItems":[false],"dependentRequired":{"a":["b"]},"unevaluatedProperties":false,"minContains":2,"contains":true}`,
			[]string{"[1]", `{"a":1}`}, []string{"[]"}},
		{`{"properties":{"a":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, []string{`{"a":{"items":[true]}}`}, []string{`{"a":{"items":[1]}}`}},
		{`{"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, []string{`{"a":{"items":true}}`}, []string{`{"a":{"items":[true]}}`}},
	} {
		for _, uri := range []string{"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema"} {
			w := v
			w.schema = `{"$schema":"` + uri + `",` + v.schema[1:]
			w.run(t)
		}
	}
	verdicts{`{"$schema":"https://json-schema.org/draft/2020-12/schema#","dependencies":{"a":["b"]}}`, []string{`{"a":1}`}, nil}.run(t)
}

// FEAT-483 FEAT-484 FEAT-485 FEAT-500 FEAT-505 FEAT-507 FEAT-508 FEAT-510 FEAT-513 FEAT-514 E10
// BASE-424 BASE-426 BASE-428 BASE-431 E10.19 E10.20 E10.15
func TestCompileSchemaErrors(t *testing.T) {
	const types = `"array","boolean","integer","null","number","object","string"`
	for _, test := range []struct{ schema, want string }{
		{`5`, `the value: want boolean or object, got number`},
		{`{"type":"strnig"}`, `/type: want one of [` + types + `], got "strnig"`},
		{`{"minLength":-1}`, `/minLength: want at least 0, got -1`},
		{`{"required":"a"}`, `/required: want array, got string`},
		{`{"properties":[]}`, `/properties: want object, got array`},
		{`{"properties":{"a":{"type":["string","x"]}}}`, `/properties/a/type/1: want one of [` + types + `], got "x"`},
		{`{"items":[{"type":"string"}]}`, `/items: want boolean or object, got array`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":5}`, `/items: want boolean or object, got number`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `/$schema: dialect not supported: "http://json-schema.org/draft-04/schema#"`},
		{`{"$schema":"https://example.com/my-dialect"}`, `/$schema: dialect not supported: "https://example.com/my-dialect"`},
		{`{"$schema":"https://json-schema.org/draft-07/schema"}`, `/$schema: dialect not supported: "https://json-schema.org/draft-07/schema"`},
		{`{"$defs":{"a":{"$id":"x","$schema":"http://json-schema.org/draft-07/schema"}}}`,
			`/$defs/a/$schema: dialect not supported: "http://json-schema.org/draft-07/schema" inside of a schema in another`},
		{`{"a":1,"a":2}`, `name "a" is repeated at byte 7`},
		{`{} {}`, `text after the value at byte 3`},
		{`{"$ref":"https://example.com/s.json"}`, `/$ref: unresolved reference "https://example.com/s.json": not part of the schema, and nothing is fetched`},
		{`{"$ref":"file:///etc/passwd"}`, `/$ref: unresolved reference "file:///etc/passwd": not part of the schema, and nothing is fetched`},
		{`{"items":{"$dynamicRef":"other.json"}}`, `/items/$dynamicRef: unresolved reference "other.json": not part of the schema, and nothing is fetched`},
		{`{"$ref":"#/$defs/x"}`, `/$ref: unresolved reference "#/$defs/x"`},
		{`{"$ref":"#x"}`, `/$ref: unresolved reference "#x"`},
		{`{"$ref":"#/const","const":5}`, `/$ref: the value: want boolean or object, got number`},
		{`{"$ref":"#"}`, `the schema: the schema refers to itself without end`},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[true,{"$ref":"#/$defs/a"}]}}}`, `/$defs/a: the schema refers to itself without end`},
		{`{"dependentSchemas":{"a":{"$dynamicRef":"#"}}}`, `the schema: the schema refers to itself without end`},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, `/$defs/b/$anchor: anchor "x" stands for another schema already`},
		{`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, `/$defs/b/$id: "x" stands for another schema already`},
		{`{"pattern":"^(?!x)"}`, `/pattern: unsupported pattern "^(?!x)": look-around`},
		{`{"patternProperties":{"(a)\\1":true}}`, `/patternProperties/(a)\1: unsupported pattern "(a)\\1": back-reference`},
		{`{"pattern":"a{1001}"}`, "/pattern: unsupported pattern \"a{1001}\": error parsing regexp: invalid repeat count: `{1001}`"},
		{`{"maximum":1` + strings.Repeat("0", 1000) + `}`, `/maximum: number of more than 1000 digits`},
		{strings.Repeat(`{"not":`, 65) + `{}` + strings.Repeat("}", 65), strings.Repeat("/not", 50) + "...: more than 64 schemas within each other"},
		{`{"allOf":[true` + strings.Repeat(",true", maxSubschemas) + `]}`, `/allOf/9999: more than 10000 subschemas`},
		{strings.Repeat("[", 100_000), `nested too deeply at byte 1000`},
	} {
		_, err := CompileSchema([]byte(test.schema))
		if want := "invalid schema: " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", clip(test.schema, 100), err, want)
		}
	}
}

// FEAT-504
func TestValidationErrorText(t *testing.T) {
	for _, test := range []struct{ schema, data, want string }{
		{`{"properties":{"a":{"type":"number"}}}`, `{"a":"x"}`, `/a: want number, got string`},
		{toolSchema, `[]`, `the value: want object, got array`},
		{toolSchema, `{"path":1,"limit":1.5,"more":{}}`, `/path: want string, got number; /limit: want integer, got 1.5; /more: not allowed`},
		{toolSchema, `{}`, `the value: "path" is missing`},
		{`{"items":{"properties":{"a/b~":{"type":["null","boolean"]}}}}`, `[{},{"x":[1,2],"a/b~":1}]`, `/1/a~1b~0: want null or boolean, got number`},
		{`{"enum":["a","b"]}`, `"c"`, `the value: want one of ["a","b"], got "c"`},
		{`{"const":{"a":1}}`, `null`, `the value: want {"a":1}, got null`},
		{`{"minimum":0.5,"maximum":-1.5e2}`, `0`, `the value: want at least 0.5, got 0`},
		{`{"maximum":-1.5e2}`, `1`, `the value: want at most -150, got 1`},
		{`{"exclusiveMinimum":0}`, `-0`, `the value: want more than 0, got -0`},
		{`{"exclusiveMaximum":-0.005}`, `0`, `the value: want less than -0.005, got 0`},
		{`{"multipleOf":2.5}`, `4`, `the value: want a multiple of 2.5, got 4`},
		{`{"minLength":3}`, `"é"`, `the value: want at least 3 characters, got 1 (minLength)`},
		{`{"maxLength":1}`, `"éé"`, `the value: want at most 1 characters, got 2 (maxLength)`},
		{`{"pattern":"^a"}`, `"` + strings.Repeat("é", 99) + `"`, `the value: want a match of pattern "^a", got "` + strings.Repeat("é", 29) + `...`},
		{`{"minItems":1}`, `[]`, `the value: want at least 1 elements, got 0 (minItems)`},
		{`{"maxItems":1,"uniqueItems":true}`, `[1,1]`, `the value: want at most 1 elements, got 2 (maxItems); the value: elements 0 and 1 are equal (uniqueItems)`},
		{`{"contains":{"const":1},"maxContains":1}`, `[1,1]`, `the value: want at most 1 elements that contains accepts, got 2`},
		{`{"minProperties":1}`, `{}`, `the value: want at least 1 members, got 0 (minProperties)`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `/ab: the name is not allowed (propertyNames)`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `the value: "a" needs "b", which is missing`},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `1`, `the value: accepted by none of anyOf`},
		{`{"oneOf":[true,true]}`, `1`, `the value: accepted by more than one of oneOf`},
		{`{"oneOf":[false]}`, `1`, `the value: accepted by none of oneOf`},
		{`{"not":{}}`, `1`, `the value: accepted by what must not accept it (not)`},
		{`{"unevaluatedProperties":false}`, `{"a":1}`, `/a: not allowed`},
		{`{"items":{"type":"string"}}`, `[0,0,0,0,0,0,0,0,0,0,0,0]`,
			"/0: want string, got number; /1: want string, got number; /2: want string, got number; /3: want string, got number; " +
				"/4: want string, got number; /5: want string, got number; /6: want string, got number; /7: want string, got number; " +
				"/8: want string, got number; /9: want string, got number"},
	} {
		err := mustCompile(t, test.schema).Validate([]byte(test.data))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s, given %s:\n got %v\nwant %s", test.schema, test.data, err, test.want)
		}
	}
}

// What is absent is refused.
func TestValidateAbsent(t *testing.T) {
	err := mustCompile(t, `{"type":"object","const":{}}`).validate(value{})
	if want := "the value: want object, got nothing; the value: want {}, got "; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FEAT-507
func TestSchemaRecursive(t *testing.T) {
	verdicts{`{"properties":{"next":{"$ref":"#"}},"additionalProperties":false}`,
		[]string{`{"next":{"next":{}}}`}, []string{`{"next":{"nxt":{}}}`}}.run(t)
}

// FEAT-508 BASE-428 BUG-163 BASE-429 E10.14
func TestSchemaFetchesNothing(t *testing.T) {
	hits := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer server.Close()
	_, err := CompileSchema([]byte(`{"$ref":"` + server.URL + `/s.json","$schema":"https://json-schema.org/draft/2020-12/schema"}`))
	want := `invalid schema: /$ref: unresolved reference "` + server.URL + `/s.json": not part of the schema, and nothing is fetched`
	if err == nil || err.Error() != want || hits != 0 {
		t.Errorf("got %v and %d requests, want %s and none", err, hits, want)
	}
}

// Both metaschemas must be schemas of their dialect, and both are compiled here.
func TestMetaschemas(t *testing.T) {
	for _, m := range []struct{ uri, text string }{{uri2020, draft2020().text}, {uri07, draft07().text}} {
		if _, err := CompileSchema([]byte(`{"$schema":"` + m.uri + `",` + m.text[1:])); err != nil {
			t.Errorf("%s: %v", m.uri, err)
		}
		verdicts{`{"$ref":"` + m.uri + `#"}`, []string{m.text, "true"}, []string{`{"not":1}`, `{"enum":1}`}}.run(t)
	}
}

// FEAT-514 FEAT-515 FEAT-516 BASE-432
func TestSchemaBounds(t *testing.T) {
	bomb := `{"$ref":"#/$defs/n20","$defs":{"n0":{"type":"null"}`
	for i := 1; i <= 20; i++ {
		bomb += fmt.Sprintf(`,"n%d":{"anyOf":[{"$ref":"#/$defs/n%d"},{"$ref":"#/$defs/n%d"}]}`, i, i-1, i-1)
	}
	bomb += `}}`
	// The override of the anchor leads back to where it came from.
	loop := `{"$id":"http://a.test/a","$dynamicAnchor":"x","$ref":"b","$defs":{"b":{"$id":"b","allOf":[{"$dynamicRef":"#x"}],
		"$defs":{"x":{"$dynamicAnchor":"x"}}}}}`
	digits := strings.Repeat("9", 200_000)
	var names strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&names, `"n%d":0,`, i)
	}
	needs := `{"dependentRequired":{"n1":["n0"`
	for i := range 100 {
		needs += fmt.Sprintf(`,"n%d"`, i+40_000)
	}
	tooMuch := "validation takes more than 1000000 steps or 10000 levels"
	for _, test := range []struct{ schema, data, want string }{
		{bomb, "1", tooMuch},
		{`{"not":{"$ref":"#/$defs/n20"},` + bomb[len(`{"$ref":"#/$defs/n20",`):], "1", tooMuch},
		{loop, "1", tooMuch},
		{`{"allOf":[{"type":"null"}` + strings.Repeat(`,{"type":"null"}`, 9000) + `]}`, "{" + names.String() + `"x":0}`, "the value: want null, got object"},
		{`{"pattern":"(a+)+$"}`, `"` + strings.Repeat("a", 100_000) + `!"`, `the value: want a match of pattern "(a+)+$", got "` + strings.Repeat("a", 59) + `...`},
		{`{"pattern":"(a{0,100}){0,10}b"}`, `"` + strings.Repeat("a", 1_000_000) + `"`, tooMuch},
		{`{"items":{"$ref":"#"},"type":"array"}`, strings.Repeat("[", 100_000), "nested too deeply at byte 1000"},
		{`{"items":{"$ref":"#"},"type":"array"}`, strings.Repeat("[", 999) + "1" + strings.Repeat("]", 999), clip(strings.Repeat("/0", 999), 200) + ": want array, got number"},
		{`{"maximum":5}`, `1e999999999999999999999999`, `the value: want at most 5, got 1e999999999999999999999999`},
		{`{"multipleOf":3,"maximum":1}`, `1e999999999`, `the value: want at most 1, got 1e999999999`},
		{`{"multipleOf":7}`, digits, `the value: want a multiple of 7, got ` + digits[:60] + "..."},
		{needs + `]}}`, "{" + names.String() + `"x":0}`, tooMuch},
	} {
		started := time.Now()
		err := mustCompile(t, test.schema).Validate([]byte(test.data))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s, given %s:\n got %v\nwant %s", clip(test.schema, 80), clip(test.data, 80), err, test.want)
		}
		if d := time.Since(started); d > 10*time.Second {
			t.Errorf("%s, given %s took %s", clip(test.schema, 80), clip(test.data, 80), d)
		}
	}
	for _, schema := range []string{
		`{"pattern":"` + strings.Repeat(`\\p{L}`, 2000) + `"}`,
		`{"allOf":[{"pattern":"a{1000}"}` + strings.Repeat(`,{"pattern":"a{1000}"}`, 200) + `]}`,
	} {
		if _, err := CompileSchema([]byte(schema)); err == nil {
			t.Errorf("%s is compiled", clip(schema, 80))
		}
	}
}

// FEAT-500
func TestPatterns(t *testing.T) {
	for _, test := range []struct{ pattern, match, other string }{
		{`^\d+$`, "12", "१"},
		{`^\w$`, "_", "é"},
		{`^\s$`, "\u00a0", "\u200b"},
		{`^[\s]$`, "\ufeff", "x"},
		{`^\S$`, "\u200b", "\u2003"},
		{`^[^\S]$`, "\u3000", "a"},
		{`^[\D]$`, "a", "1"},
		{`^.$`, "😀", "\u2028"},
		{`^[^]$`, "\n", ""},
		{`a[]|b`, "b", "a"},
		{`^[[a]$`, "[", "b"},
		{`^[[:alpha:]]$`, ":]", "x"},
		{`^[a\]\-z]$`, "-", "b"},
		{`^\u00e9\x41\u{1F600}$`, "éA😀", "éa😀"},
		{`^\ud83d\ude00$`, "😀", "\ufffd\ufffd"},
		{`^\cA\cz\0$`, "\x01\x1a\x00", "A"},
		{`^[\b]$`, "\b", "b"},
		{`\bfoo\B`, "a food", "foo"},
		{`^\p{Letter}\p{Lu}\P{L}$`, "éÉ1", "éé1"},
		{`^\p{Script=Greek}\p{sc=Latin}\p{gc=Nd}$`, "πa1", "aa1"},
		{`^(?<year>\d{4})-(?:a|b)$`, "2024-b", "2024-c"},
		{`^\/\.\$$`, "/.$", "/a$"},
		{`^a$`, "a", "a\n"},
		{`^a{2,3}?$`, "aa", "a"},
		{`^{$`, "{", "}"},
	} {
		p, err := (&compiler{}).pattern(value{&index{}, 0}, test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		if !p.re.MatchString(test.match) || p.re.MatchString(test.other) {
			t.Errorf("%s matches %q: %v, want true; %q: %v, want false", test.pattern,
				test.match, p.re.MatchString(test.match), test.other, p.re.MatchString(test.other))
		}
	}
	for pattern, want := range map[string]string{
		`(?=a)`: "look-around", `(?<=a)`: "look-around", `(?<!a)`: "look-around", `\1`: "back-reference", `\k<a>`: "back-reference",
		`(?i)a`: "unknown kind of group", `(?<a`: "unknown kind of group", `[a`: "missing ]", `\`: `\ at the end`,
		`\Qa`: `escape \Q`, `\z`: `escape \z`, `[\B]`: `escape \B`, `\01`: "octal escape", `\c1`: `\c without a letter`,
		`\u12`: `\u without hexadecimal digits`, `\u{110000}`: `\u without hexadecimal digits`, `\pL`: `\p without a name in braces`,
	} {
		if _, err := translate(pattern); err == nil || err.Error() != want {
			t.Errorf("%s: got error %v, want %s", pattern, err, want)
		}
	}
}

func TestFormatOK(t *testing.T) {
	for format, texts := range map[string]struct{ good, bad []string }{
		"email": {[]string{"a@b.example", "a.b+c@d"}, []string{"", "a", "a@", "@b", "A <a@b>", "a@b, c@d", "a..b@c", "a b@c"}},
		"uri":   {[]string{"https://a.test/b?c#d", "urn:a:b", "mailto:a@b"}, []string{"", "a", "/a", "//a/b", "https://a b", "a:", "x:%zz", "http://é", "http://a|b"}},
		"date":  {[]string{"2024-02-29"}, []string{"", "2023-02-29", "2024-2-1", "2024-02-29T00:00:00Z"}},
		"date-time": {[]string{"2024-02-29T01:02:03Z", "2024-02-29t01:02:03.5+01:00", "1998-12-31T23:59:60Z"},
			[]string{"", "2024-02-29", "2024-02-29T01:02:03", "2024-02-29 01:02:03Z", "2024-02-29T1:02:03Z", "2024-02-29T01:02:03,5Z", "2024-02-29T24:00:00Z"}},
		"unknown": {[]string{"x"}, nil},
	} {
		for _, s := range texts.good {
			if !formatOK(format, s) {
				t.Errorf("%q is no %s", s, format)
			}
		}
		for _, s := range texts.bad {
			if formatOK(format, s) {
				t.Errorf("%q is a %s", s, format)
			}
		}
	}
}

// FEAT-517
func TestSchemaConcurrent(t *testing.T) {
	s := mustCompile(t, `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if err := s.Validate([]byte(toolSchema)); err != nil {
					t.Error(err)
				}
				if err := s.Validate([]byte(`{"type":1}`)); err == nil {
					t.Error("accepted")
				}
			}
		})
	}
	group.Wait()
}

func TestValidateAllocatesNothing(t *testing.T) {
	s := mustCompile(t, toolSchema)
	ix, err := scan([]byte(`{"path":"/usr","limit":20,"all":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = s.validate(ix.root()) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

type (
	textType struct{ X int }
	jsonType struct{ X int }
	ownType  struct{ X int }
	badType  struct{ X int }
	node07   struct {
		Value    int
		Children []*node07 `json:"children,omitempty"`
	}
	pair    struct{ Left, Right *other }
	other   struct{ Pair *pair }
	listing []listing
	base    struct {
		ID   string `json:"id" jsonschema:"who"`
		Name string `json:"name"`
	}
	pointed struct{ Far int }
)

func (textType) MarshalText() ([]byte, error) { return nil, nil }
func (*jsonType) UnmarshalJSON([]byte) error  { return nil }
func (ownType) JSONSchema() json.RawMessage   { return json.RawMessage(`{"type":"integer","minimum":7}`) }
func (*badType) JSONSchema() json.RawMessage  { return json.RawMessage(`{"type":"int"}`) }

// FEAT-489 FEAT-518 BUG-154 BUG-155 BUG-160
func TestSchemaOf(t *testing.T) {
	for _, test := range []struct {
		of   any
		want string
	}{
		{struct{}{}, `{"type":"object","properties":{},"additionalProperties":false}`},
		{struct {
			B *bool          `json:"b,omitempty"`
			L []string       `json:"l,omitempty"`
			S *pointed       `json:"s,omitempty"`
			M map[string]int `json:"m,omitempty"`
			Z int            `json:"z,omitzero"`
			R *int
			r int
			X int `json:"-"`
		}{}, `{"type":"object","properties":{"b":{"type":"boolean"},"l":{"type":"array","items":{"type":"string"}},` +
			`"s":{"type":"object","properties":{"Far":{"type":"integer"}},"required":["Far"],"additionalProperties":false},` +
			`"m":{"type":"object","additionalProperties":{"type":"integer"}},"z":{"type":"integer"},"R":{"type":"integer"}},` +
			`"additionalProperties":false}`},
		{struct {
			base
			More string
			T    time.Time
			D    time.Duration
			J    json.RawMessage
			A    any
			B    []byte
			N    json.Number
		}{}, `{"type":"object","properties":{"id":{"type":"string","description":"who"},"name":{"type":"string"},` +
			`"More":{"type":"string"},"T":{"type":"string","format":"date-time"},"D":{"type":"integer"},"J":{},"A":{},` +
			`"B":{"type":"string","contentEncoding":"base64"},"N":{"type":"number"}},` +
			`"required":["id","name","More","T","D","J","A","B","N"],"additionalProperties":false}`},
		{struct {
			T textType
			J jsonType
			O *ownType `schema:"maximum=9" jsonschema:"own"`
			U uint8    `schema:"minimum=3"`
			F float32
			A [2]bool
			Q int `json:",string"`
			E pair
		}{}, `{"type":"object","properties":{"T":{"type":"string"},"J":{},"O":{"type":"integer","minimum":7,"description":"own","maximum":9},` +
			`"U":{"type":"integer","minimum":3},"F":{"type":"number"},"A":{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2},` +
			`"Q":{"type":"string"},"E":{"$ref":"#/$defs/pair"}},"required":["T","J","U","F","A","Q","E"],"additionalProperties":false,` +
			`"$defs":{"pair":{"type":"object","properties":{` +
			`"Left":{"type":"object","properties":{"Pair":{"$ref":"#/$defs/pair"}},"additionalProperties":false},` +
			`"Right":{"type":"object","properties":{"Pair":{"$ref":"#/$defs/pair"}},"additionalProperties":false}},` +
			`"additionalProperties":false}}}`},
		{node07{}, `{"type":"object","properties":{"Value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#"}}},` +
			`"required":["Value"],"additionalProperties":false}`},
		{listing{}, `{"type":"array","items":{"$ref":"#"}}`},
		{map[int][]*textType{}, `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`},
		{struct {
			N int      `json:"n" schema:"title=Age, in years,minimum=0,maximum=150,default=3"`
			S string   `json:"s" schema:"enum=a|b|c,default=a"`
			P string   `json:"p" schema:"minLength=1,maxLength=5,pattern=^a{1,3}$,format=email"`
			L []*int   `json:"l" schema:"minItems=1,enum=1|2,uniqueItems=true" jsonschema:"some, or=few"`
			F *float64 `json:"f" schema:"exclusiveMinimum=0,multipleOf=0.5"`
		}{}, `{"type":"object","properties":{"n":{"type":"integer","title":"Age, in years","minimum":0,"maximum":150,"default":3},` +
			`"s":{"type":"string","enum":["a","b","c"],"default":"a"},` +
			`"p":{"type":"string","minLength":1,"maxLength":5,"pattern":"^a{1,3}$","format":"email"},` +
			`"l":{"type":"array","items":{"type":"integer","enum":[1,2]},"description":"some, or=few","minItems":1,"uniqueItems":true},` +
			`"f":{"type":"number","exclusiveMinimum":0,"multipleOf":0.5}},"required":["n","s","p","l"],"additionalProperties":false}`},
	} {
		text, err := schemaOf(reflect.TypeOf(test.of))
		if err != nil || string(text) != test.want {
			t.Errorf("%T:\n got %s (%v)\nwant %s", test.of, text, err, test.want)
		}
	}
}

func TestSchemaOfErrors(t *testing.T) {
	type deep struct {
		A struct {
			B []map[string]chan int `json:"b"`
		} `json:"a"`
	}
	for _, test := range []struct {
		of   any
		want string
	}{
		{deep{}, `a.b[][]: chan int cannot be JSON`},
		{struct{ F func() }{}, `F: func() cannot be JSON`},
		{struct{ C complex64 }{}, `C: complex64 cannot be JSON`},
		{struct{ M map[bool]int }{}, `M: bool cannot be a name in JSON`},
		{struct {
			X int `schema:"minimun=3"`
		}{}, `X: tag schema: unknown keyword "minimun"`},
		{struct {
			X int `schema:"minimum=a"`
		}{}, `X: tag schema: minimum=a: not JSON at byte 0`},
		{struct {
			X int `schema:"minLength=1"`
		}{}, `X: tag schema: minLength=1: is about string, not integer`},
		{struct {
			X int `schema:"minimum"`
		}{}, `X: tag schema: minimum=: want a value`},
		{struct {
			X string `schema:"pattern=("`
		}{}, "invalid schema: /properties/X/pattern: unsupported pattern \"(\": error parsing regexp: missing closing ): `(`"},
		{struct{ X badType }{}, `invalid schema: /properties/X/type: want one of ["array","boolean","integer","null","number","object","string"], got "int"`},
	} {
		_, err := schemaOf(reflect.TypeOf(test.of))
		want := fmt.Sprintf("schema of %T: %s", test.of, test.want)
		if err == nil || err.Error() != want {
			t.Errorf("%T:\n got %v\nwant %s", test.of, err, want)
		}
	}
}

// What encoding/json makes of a value must be what its type's schema accepts.
func TestSchemaForAcceptsEncoding(t *testing.T) {
	type embedded struct {
		base
		Tree  node07
		When  time.Time
		Bytes []byte
		Own   any
		Map   map[textType]int
	}
	v := embedded{Tree: node07{Children: []*node07{{Value: 1}}}, Bytes: []byte("a"), Map: map[textType]int{}}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := SchemaFor[embedded]()
	if err != nil {
		t.Fatal(err)
	}
	if err := mustCompile(t, string(schema)).Validate(text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// BUG-223
func TestBUG223SchemaIsDerivedOnce(t *testing.T) {
	a, b := derive(reflect.TypeFor[node07]()), derive(reflect.TypeFor[node07]())
	if a != b || a.schema == nil || a.err != nil {
		t.Errorf("got %p and %p, want one", a, b)
	}
	text, err := SchemaFor[node07]()
	if err != nil || &text[0] == &a.text[0] {
		t.Errorf("SchemaFor gives away what is kept (%v)", err)
	}
}

func FuzzSchema(f *testing.F) {
	for _, s := range []string{"true", toolSchema, draft2020().text, draft07().text, `{"$ref":"#/a","a":{"pattern":"\\p{L}[^]"}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"dependencies":{"a":["b"]}}`,
		`{"$id":"x","$dynamicAnchor":"a","anyOf":[{"items":{"$dynamicRef":"#a"}}],"unevaluatedItems":false,"multipleOf":3e-5}`} {
		f.Add(s, `{"path":"x","a":[1,1.0,{"b":"\u0061"}]}`)
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, schema, data string) {
		started := time.Now()
		s, err := CompileSchema([]byte(schema))
		if err == nil {
			err = s.Validate([]byte(data))
			again := s.Validate([]byte(data))
			if fmt.Sprint(err) != fmt.Sprint(again) {
				t.Errorf("first %v, then %v", err, again)
			}
		}
		if err != nil && err.Error() == "" {
			t.Error("error without text")
		}
		if d := time.Since(started); d > 10*time.Second {
			t.Errorf("took %s", d)
		}
	})
}

// Problems that read alike end a validation like others.
func TestAlikeProblems(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf(`"%s%d"`, strings.Repeat("a", 100), i))
	}
	s := mustCompile(t, `{"items":{"required":[`+strings.Join(names, ",")+`]}}`)
	r := run{root: scanned(t, "["+strings.Repeat("{},", 1000)+"{}]"), steps: maxSteps}
	if r.check(s.root, r.root, nil) || len(r.problems) != 1 {
		t.Errorf("problems: %q", r.problems)
	}
	if n := maxSteps - r.steps; n > 10 {
		t.Errorf("%d steps, want the first element to be enough", n)
	}
}

// A long $id would be a part of the URI of each $id in it.
func TestLongID(t *testing.T) {
	id := "http://a/" + strings.Repeat("a", 1980) + "/"
	mustCompile(t, `{"$id":"`+id+`","$defs":{"a":{"$id":"1234567890"}}}`)
	_, err := CompileSchema([]byte(`{"$id":"` + id + `","$defs":{"a":{"$id":"12345678901"}}}`))
	want(t, "error", err, "invalid schema: /$defs/a/$id: URI of more than 2000 bytes")
}
