package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// ---- scan ----

func scanned(t testing.TB, text string) value {
	t.Helper()
	ix, err := scan([]byte(text))
	if err != nil {
		t.Fatalf("scan(%.100q): %v", text, err)
	}
	return ix.root()
}

var goodTexts = []string{
	`null`, `true`, `false`, `0`, `-0`, `12`, `-1.5e+10`, `1E5`, `0.0e-0`, `""`, `[]`, `{}`,
	" \t\r\n[ ] \n", ` { } `, `[[],{},[{}]]`, `[1,2,3]`, `{"a":1,"b":[true,false,null],"c":{"a":2}}`,
	`{"a":{},"b":[]}`, `{"":0}`, `{"a":1,"A":2}`, `{"s":1,"ſ":2}`, `"\"\\\/\b\f\n\r\t"`, `"\u0041\u00e9\u65e5\uD83D\ude00"`,
	`"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ud83d\ude00"`, `"\ud800\u0041"`, `"\ud800\n"`, `"\ud800x"`, `"日本語😀"`, "\"\u2028\u2029\u007f\ufffd\"",
	`"12345678"`, `"1234567\""`, `"12345678\\90"`, `"é2345678é"`, `[{"x":[{"y":[]}]},"z"]`,
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `[1e400,-1e-400,123456789012345678901234567890]`,
}

var badTexts = []struct {
	text, reason string
	offset       int
}{
	{``, "not JSON: unexpected end", 0},
	{`  `, "not JSON: unexpected end", 2},
	{"\x00", "not JSON", 0},
	{"\ufeff{}", "not JSON", 0},
	{`nul`, "not JSON", 0},
	{`True`, "not JSON", 0},
	{`'a'`, "not JSON", 0},
	{`+1`, "not JSON", 0},
	{`-`, "not JSON: unexpected end", 1},
	{`-a`, "not JSON", 1},
	{`.5`, "not JSON", 0},
	{`01`, "text after the value", 1},
	{`1.`, "not JSON: unexpected end", 2},
	{`1.e5`, "not JSON", 2},
	{`1e`, "not JSON: unexpected end", 2},
	{`1e+-1`, "not JSON", 3},
	{`NaN`, "not JSON", 0},
	{`[`, "not JSON: unexpected end", 1},
	{`[,]`, "not JSON", 1},
	{`[1,]`, "not JSON", 3},
	{`[1 2]`, "want a comma or ]", 3},
	{`[1`, "want a comma or ]: unexpected end", 2},
	{`[1}`, "want a comma or ]", 2},
	{`{`, "want a name in quotes: unexpected end", 1},
	{`{a:1}`, "want a name in quotes", 1},
	{`{1:1}`, "want a name in quotes", 1},
	{`{"a"}`, "want a colon", 4},
	{`{"a" 1}`, "want a colon", 5},
	{`{"a":}`, "not JSON", 5},
	{`{"a":1`, "want a comma or }: unexpected end", 6},
	{`{"a":1,}`, "want a name in quotes", 7},
	{`{"a":1]`, "want a comma or }", 6},
	{`{"jsonrpc":"2.0",`, "want a name in quotes: unexpected end", 17},
	{`{} {}`, "text after the value", 3},
	{`{}x`, "text after the value", 2},
	{`"a`, "string: unexpected end", 2},
	{`"a\`, "unknown escape: unexpected end", 3},
	{`"\x"`, "unknown escape", 2},
	{`"\u12"`, "want four hexadecimal digits", 5},
	{`"\u12`, "want four hexadecimal digits: unexpected end", 5},
	{`"\u123g"`, "want four hexadecimal digits", 6},
	{`"\U0041"`, "unknown escape", 2},
	{"\"a\nb\"", "control character in a string", 2},
	{"\"12345678\x1f\"", "control character in a string", 9},
	{"\"a\x00\"", "control character in a string", 2},
	{"\"ab\xff\"", "invalid UTF-8", 3},
	{"\"\xed\xa0\x80\"", "invalid UTF-8", 1},
	{"\"\ufffd\xc3\"", "invalid UTF-8", 4},
	{"\"日\xe6\x97\"", "invalid UTF-8", 4},
	{`{"a":1,"a":2}`, `name "a" is repeated`, 7},
	{`{"a":1,"b":2,"\u0061":3}`, `name "\u0061" is repeated`, 13},
	{`{"\u0061":1,"b":2,"a":3}`, `name "a" is repeated`, 18},
	{`{"\ud800":1,"\udc00":3}`, `name "\udc00" is repeated`, 12},
	{`[{"x":{"":1,"":1}}]`, `name "" is repeated`, 12},
}

func TestScan(t *testing.T) {
	for _, text := range goodTexts {
		checkScan(t, []byte(text))
	}
	for _, c := range badTexts {
		checkScan(t, []byte(c.text))
		_, err := scan([]byte(c.text))
		var te *textError
		if !errors.As(err, &te) {
			t.Errorf("scan(%q): got %v, want %s", c.text, err, c.reason)
			continue
		}
		if te.reason != c.reason || te.offset != c.offset || te.repeat != strings.Contains(c.reason, "repeated") {
			t.Errorf("scan(%q): got %q at %d, want %q at %d", c.text, te.reason, te.offset, c.reason, c.offset)
		}
	}
	if _, err := scan([]byte(`{`)); err.Error() != "want a name in quotes: unexpected end at byte 1" {
		t.Errorf("text of the error: %v", err)
	}
}

func TestScanBounds(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{nested("[", "]", maxDepth), ""},
		{nested("[", "]", maxDepth+1), "nested too deeply at byte 1000"},
		{nested(`{"a":`, "}", maxDepth+1), "nested too deeply at byte 5000"},
		{strings.Repeat("[", 100_000), "nested too deeply at byte 1000"},
		{"[" + strings.Repeat("0,", maxValues-1) + "0]", "too many values at byte 8388607"},
	} {
		got := ""
		if _, err := scan([]byte(c.text)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%.10s…, %d bytes: got %q, want %q", c.text, len(c.text), got, c.want)
		}
	}
}

// nested returns n values inside each other.
func nested(open, end string, n int) string {
	inner := strings.TrimSuffix(open, `"a":`) + end
	return strings.Repeat(open, n-1) + inner + strings.Repeat(end, n-1)
}

// Objects with many names are checked in another way.
func TestScanManyNames(t *testing.T) {
	for _, n := range []int{2, 15, 16, 17, 18, 1000} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"\u006e%d":%d,`, i, i)
		}
		checkScan(t, []byte("{"+strings.TrimSuffix(b.String(), ",")+"}"))
		last := fmt.Sprintf(`"n%d"`, n/2)
		_, err := scan([]byte("{" + b.String() + last + ":0}"))
		if want := fmt.Sprintf("name %s is repeated at byte %d", last, b.Len()+1); err == nil || err.Error() != want {
			t.Errorf("%d names: got %v, want %s", n, err, want)
		}
	}
}

// A reused index forgets what it held.
func TestScanReuse(t *testing.T) {
	var ix index
	for _, text := range []string{`[1,[2,3],{"a":"\n"}]`, `{"a":{"b":1},"c":2}`, `[]`, `{"x":[4]}`} {
		if err := ix.scan([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := compact(t, ix.root().any()); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

func compact(t testing.TB, v any) string {
	t.Helper()
	b, err := appendAny(nil, reflect.ValueOf(v), 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzScan(f *testing.F) {
	for _, text := range goodTexts {
		f.Add([]byte(text))
	}
	for _, c := range badTexts {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(nested("[", "]", maxDepth+1)))
	f.Add([]byte(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"\u0061":1}`))
	f.Fuzz(func(t *testing.T, data []byte) { checkScan(t, data) })
}

// checkScan holds scan to encoding/json.
func checkScan(t *testing.T, data []byte) {
	t.Helper()
	ix, err := scan(bytes.Clone(data))
	if want := acceptable(data); (err == nil) != want {
		t.Fatalf("scan(%.200q): %v, want accepted: %v", data, err, want)
	}
	if err != nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := ix.root().any(); !reflect.DeepEqual(got, want) {
		t.Fatalf("scan(%.200q): got %#v, want %#v", data, got, want)
	}
	if got := ix.root().raw(); !bytes.Equal(got, bytes.Trim(data, " \t\r\n")) {
		t.Fatalf("scan(%.200q): root is %q", data, got)
	}
}

// acceptable reports whether a text is valid JSON and UTF-8, not too deep, and
// without repeated names.
func acceptable(data []byte) bool {
	if !json.Valid(data) || !utf8.Valid(data) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil in an array
		value bool            // the next token is a value, not a name
	}
	stack := []level{{value: true}}
	for {
		token, err := d.Token()
		if err != nil {
			return true
		}
		top := &stack[len(stack)-1]
		if name, ok := token.(string); ok && top.names != nil && !top.value {
			if top.names[name] {
				return false
			}
			top.names[name], top.value = true, true
			continue
		}
		top.value = false
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{names: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].value = false
		}
		if len(stack)-1 > maxDepth {
			return false
		}
	}
}

func TestValue(t *testing.T) {
	root := scanned(t, ` {"s":"a\u00e9\"","n":1.0,"l":[1,"x",[]],"o":{"k":null},"e":{},"t":true} `)
	if s := root.member("s"); s.str() != `aé"` || !s.is(`aé"`) || s.is("a") || string(s.raw()) != `"a\u00e9\""` {
		t.Errorf("string: %q %q", s.str(), s.raw())
	}
	if n, ok := root.member("n").integer(); n != 1 || !ok || root.member("n").str() != "" {
		t.Errorf("number: %d %v", n, ok)
	}
	if v := root.member("o").member("k"); v.kind() != kindNull || v.present() || !root.member("e").present() {
		t.Errorf("null: kind %q", v.kind())
	}
	var absent value
	if absent.present() || absent.kind() != kindNone || absent.raw() != nil || absent.str() != "" || absent.any() != nil || absent.member("x").present() {
		t.Error("the zero value is not absent")
	}
	var kinds []string
	for name, v := range root.members() {
		kinds = append(kinds, name.str()+string(v.kind()))
	}
	if got := strings.Join(kinds, " "); got != `s" n0 l[ o{ e{ tt` {
		t.Errorf("members: %s", got)
	}
	count := 0
	for range root.member("l").items() {
		count++
	}
	for range root.items() {
		t.Error("an object has no items")
	}
	for range root.member("e").members() {
		t.Error("an empty object has no members")
	}
	if count != 3 {
		t.Errorf("%d items", count)
	}
	if raw := root.member("s").raw(); cap(raw) != len(raw) {
		t.Error("to append to raw would overwrite the text behind it")
	}
}

// ---- numbers ----

var integerCases = []struct {
	number, want string // "": no integer
}{
	{"0", "0"}, {"-0", "0"}, {"0.0", "0"}, {"-0.0e5", "0"}, {"0e999999999999999999999", "0"},
	{"1", "1"}, {"-1", "-1"}, {"1.0", "1"}, {"-1.000", "-1"}, {"1e2", "100"}, {"1E+2", "100"}, {"1.5", ""},
	{"1.5e1", "15"}, {"1e-1", ""}, {"10e-1", "1"}, {"100e-3", ""}, {"120.50e2", "12050"}, {"0.001e3", "1"}, {"1e0", "1"}, {"1e-0", "1"}, {"1e007", "10000000"},
	{"9007199254740993", "9007199254740993"}, {"9007199254740993.0", "9007199254740993"}, {"100000000000000000000", "100000000000000000000"},
	{"1e400", "1" + strings.Repeat("0", 400)}, {"1e401", "1e401"}, {"-1" + strings.Repeat("0", 401), "-1e401"}, {"0.1e402", "1e401"},
	{strings.Repeat("7", 500), strings.Repeat("7", 500)},
	{"1e-400", ""}, {"10e9223372036854775807", "10e9223372036854775807"},
	{"1e999999999999999999999", "1e999999999999999999999"}, {"1.5e999999999999999999999", "1.5e999999999999999999999"},
	{"-1E+999999999999999999999", "-1E+999999999999999999999"}, {"1e-999999999999999999999", ""},
}

// EDGE-003 EDGE-238
func TestIntegerText(t *testing.T) {
	for _, c := range integerCases {
		want(t, c.number, integerText(c.number), c.want)
	}
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "1.0": 1, "1e2": 100, "9223372036854775807": 9223372036854775807, "-9223372036854775808": -9223372036854775808,
		"922337203685477580.70e1": 9223372036854775807, "9223372036854775808": -404, "1e19": -404, "1.5": -404, `"1"`: -404, "true": -404,
	} {
		n, ok := scanned(t, text).integer()
		if ok != (want != -404) || ok && n != want {
			t.Errorf("integer of %s: got %d %v", text, n, ok)
		}
	}
}

func FuzzIntegerText(f *testing.F) {
	for _, c := range integerCases {
		f.Add(c.number)
	}
	f.Fuzz(func(t *testing.T, number string) {
		ix, err := scan([]byte(number))
		if err != nil || ix.root().kind() != kindNumber {
			return
		}
		number = string(ix.root().raw())
		got := integerText(number)
		_, exponent, _ := strings.Cut(strings.ToLower(number), "e")
		if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e < -1000 || e > 1000) {
			return
		}
		r, _ := new(big.Rat).SetString(number)
		if (got != "") != r.IsInt() {
			t.Fatalf("integerText(%q) = %q", number, got)
		}
		if got == "" {
			return
		}
		if back, valid := new(big.Rat).SetString(got); !valid || back.Cmp(r) != 0 {
			t.Fatalf("integerText(%q) = %q", number, got)
		}
		if again := integerText(got); again != got {
			t.Fatalf("integerText(%q) = %q, of which it is %q", number, got, again)
		}
		if n := r.Num().String(); len(n) < 400 && got != n {
			t.Fatalf("integerText(%q) = %q, want %q", number, got, n)
		}
	})
}

// ---- strings ----

// BASE-002 EDGE-239 FEAT-541 FEAT-542
func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                        `""`,
		"plain text":              `"plain text"`,
		"<a href='x'>&</a>":       `"<a href='x'>&</a>"`,
		`say "hi" \ bye`:          `"say \"hi\" \\ bye"`,
		"\n\t\r\b\f\x00\x1f\x7f":  `"\n\t\r\u0008\u000c\u0000\u001f` + "\x7f\"",
		"12345678\n":              `"12345678\n"`,
		"日本語😀 é":                  `"日本語😀 é"`,
		"\u2028\u2029":            "\"\u2028\u2029\"",
		"a\xffb\xc3":              "\"a\ufffdb\ufffd\"",
		"\xed\xa0\x80\"":          "\"\ufffd\ufffd\ufffd\\\"\"",
		"\ufffd ok":               "\"\ufffd ok\"",
		strings.Repeat("日\"", 20): `"` + strings.Repeat(`日\"`, 20) + `"`,
	} {
		if got := string(appendString([]byte("x"), in)); got != "x"+want {
			t.Errorf("appendString(%q): got %s, want %s", in, got, want)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c\n", "日本語😀", "\u2028", "\x00\x1f\x7f", "\xff\xed\xa0\x80", "12345678\"", "\ufffd", `\u0041\ud800`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := appendString(nil, s)
		want := string([]rune(s))
		var got string
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Fatalf("appendString(%q) = %s, which is %q, %v", s, text, got, err)
		}
		if got := scanned(t, string(text)).str(); got != want {
			t.Fatalf("%s read as %q, want %q", text, got, want)
		}
		if bytes.ContainsAny(text, "\n\r") {
			t.Fatalf("%q is more than one line", text)
		}
		escaped, _ := json.Marshal(s) // with escapes of its own choice
		if got := scanned(t, string(escaped)).str(); got != want {
			t.Fatalf("%s read as %q, want %q", escaped, got, want)
		}
	})
}

// shapes has members of many kinds.
type shapes struct {
	Pointer *int
	List    []*int
	Map     map[string]any
	Any     any
	Time    time.Time
	Bytes   []byte
	Quoted  int   `json:"q,string"`
	Zero    int   `json:"zero,omitzero"`
	Empty   []int `json:"empty,omitempty"`
	Struct  struct{ P *int }
	Array   [2]int `json:"array"`
	secret  int
}

// Values of the application are written as encoding/json does, but that nil lists
// and maps are empty ones, and nil pointers are left out.
func TestAppendAny(t *testing.T) {
	_ = shapes{}.secret
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{map[string]any{"b": "<&>", "a": json.Number("1.50")}, `{"a":1.50,"b":"<&>"}`},
		{json.RawMessage("{\n \"a\" : 1 }"), `{"a":1}`},
		{[]string{"\xff"}, `["�"]`},
		{struct{ N int64 }{9007199254740993}, `{"N":9007199254740993}`},
		{map[string][]int(nil), `{}`},
		{shapes{}, `{"List":[],"Map":{},"Any":null,"Time":"0001-01-01T00:00:00Z","Bytes":"","q":"0","Struct":{},"array":[0,0]}`},
		{shapes{Pointer: new(0), List: []*int{nil}, Map: map[string]any{"b": []string(nil), "a": nil}, Quoted: -7, Zero: 1, Empty: []int{1}},
			`{"Pointer":0,"List":[null],"Map":{"a":null,"b":[]},"Any":null,"Time":"0001-01-01T00:00:00Z","Bytes":"","q":"-7","zero":1,"empty":[1],"Struct":{},"array":[0,0]}`},
		{map[int]string{2: "b", 1: "a"}, `{"1":"a","2":"b"}`},
		{[]any{1.5, uint8(200), float32(0.1), 1e21, Content(&TextContent{Text: "t"}), &Tool{Name: "n", Title: "T"}},
			`[1.5,200,0.1,1e+21,{"type":"text","text":"t"},{"name":"n","title":"T","inputSchema":{}}]`},
	} {
		b, err := appendAny([]byte("x"), reflect.ValueOf(c.v), 0)
		if string(b) != "x"+c.want || err != nil {
			t.Errorf("%v: got %s, %v, want %s", c.v, b, err, c.want)
		}
	}
	if b, err := appendAny([]byte("x"), reflect.ValueOf(func() {}), 0); err == nil || string(b) != "x" {
		t.Errorf("a function: got %s, %v", b, err)
	}
}

// BASE-162
func TestAppendRaw(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "null",
		`{"a": "<&>", "n":1.50 }`:        `{"a": "<&>", "n":1.50 }`,
		"{\n\t\"a\": [1,\r\n 2] }\n":     `{"a":[1,2]}`,
		"[\n\"\\n\", \"\u2028\", 1e400]": "[\"\\n\",\"\u2028\",1e400]",
		"{":                              "error: want a name in quotes: unexpected end at byte 1",
		"{} {}":                          "error: text after the value at byte 3",
		"\"\xff\"":                       "error: invalid UTF-8 at byte 1",
		`{"a":1,"a":2}`:                  `error: name "a" is repeated at byte 7`,
	} {
		b, err := appendRaw([]byte("x"), []byte(in))
		got := strings.TrimPrefix(string(b), "x")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want || b[0] != 'x' {
			t.Errorf("appendRaw(%q): got %s, want %s", in, got, want)
		}
	}
}

func TestMarshal(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, ""}, {json.RawMessage("[1,\n2]"), "[1,2]"}, {map[string]int{"<": 1}, `{"<":1}`}, {"\"", `"\""`},
		{&TextContent{Text: "<"}, `{"type":"text","text":"<"}`},
	} {
		if got, err := marshal(c.v); string(got) != c.want || err != nil {
			t.Errorf("marshal(%v): got %s, %v, want %s", c.v, got, err, c.want)
		}
	}
	if _, err := marshal(json.RawMessage("{")); err == nil {
		t.Error("marshal of broken JSON succeeds")
	}
}

// ---- decode ----

// BUG-022 BUG-023 EDGE-028: a name is what it is byte for byte.
func TestDecodeExactNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"echo","Name":"boom","NAME":"boom","arguments":{"text":"x"}}`: "echo",
		`{"Name":"boom","name":"echo"}`:                                        "echo",
		`{"n\u0061me":"echo"}`:                                                 "echo",
		`{"Name":"boom"}`:                                                      "name: missing",
	} {
		var p CallToolParams
		got := ""
		if err := decode(scanned(t, text), &p); err != nil {
			got = err.Error()
		} else {
			got = p.Name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	type inner struct{ Sink string }
	var user struct {
		Params string `json:"params"`
		Task   string `json:"task"`
		List   []inner
		Map    map[int]inner
		Array  [1]inner
	}
	text := `{"paramſ":"boom","params":"p","tasK":"boom","task":"t",
		"List":[{"sink":"boom","ſink":"boom","Sink":"s"}],"Map":{"1":{"sink":"boom"}},"Array":[{"SINK":"boom"}]}`
	if err := decode(scanned(t, text), &user); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(user); got != "{p t [{s}] map[1:{}] [{}]}" {
		t.Errorf("got %s", got)
	}
	// A folded name is an unknown one.
	var r ReadResourceParams
	if err := decode(scanned(t, `{"uri":"a","URI":"b"}`), &r); err != nil || r.URI != "a" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Types of many shapes. Names in upper case are those that encoding/json demands.
type likeDeep struct{ B, Deep string }
type likeMiddle struct {
	A string
	likeDeep
}
type LikeTagged struct {
	X string `json:"x"`
	C string `json:"B"`
}
type LikeOtherTagged struct {
	X string `json:"x"`
}
type likePlainX struct {
	X string `json:"y"`
}
type LikePointed struct{ P, A string }
type likeLoop struct {
	V string
	*LikeLoop
}
type LikeLoop struct {
	W string
	*likeLoop
}
type likeText string
type likeTwice string

func (u *likeTwice) UnmarshalJSON(b []byte) error { *u = likeTwice(b) + likeTwice(b); return nil }

type likeColour struct{ r, g byte }

func (c *likeColour) UnmarshalText(b []byte) error {
	if len(b) != 2 {
		return errors.New("want two letters")
	}
	c.r, c.g = b[0], b[1]
	return nil
}

type (
	likeEmbedded struct {
		likeMiddle
		B string
	}
	likePointer struct {
		*LikePointed
		A string
	}
	likeUnsettable struct {
		*likeDeep
		A string
	}
	likeConflict struct {
		*LikeTagged
		*LikeOtherTagged
		Z string
	}
	likeSameGoName struct {
		LikeOtherTagged
		likePlainX
	}
	likeShadow struct {
		LikeOtherTagged
		X string
	}
	likeTagWins struct {
		likeDeep
		LikeTagged
	}
	likeNamed struct {
		Deep     likeDeep `json:"d"`
		likeDeep `json:"e"`
	}
	likeRecursive struct {
		V    int
		Next *likeRecursive `json:"next,omitempty"`
		List []likeRecursive
		Map  map[string]*likeRecursive
	}
	likeOptions struct {
		A int     `json:",string"`
		B *bool   `json:"b,string"`
		C string  `json:"c,string"`
		D float64 `json:"d,omitempty,string"`
		//lint:ignore SA5008 odd tags are what is tested
		E []int `json:"e,string"`
		//lint:ignore SA5008 odd tags are what is tested
		Dash int `json:"-,"`
		Skip int `json:"-"`
		F    int `json:"f,omitzero"`
	}
	likeScalars struct {
		I8  int8
		U8  uint8
		U64 uint64
		F32 float32
		F64 float64
		T   likeText
		N   json.Number
		B   bool
		Any any
		Raw json.RawMessage
		P   **int
	}
	likeLists struct {
		Bytes  []byte
		Array  [2]int
		BArray [2]byte
		Texts  []likeText
		Nested [][]int
		Ptrs   []*int
		Anys   []any
	}
	likeMaps struct {
		S map[string]int
		T map[likeText]string
		I map[int8]bool
		U map[uint]string
		A map[netip.Addr]int
		N map[string]map[string]any
		P map[string]*int
	}
	likeOwn struct {
		Time  time.Time
		PTime *time.Time
		Twice likeTwice
		PT    *likeTwice
		C     likeColour
		L     []likeColour
		M     map[string]likeTwice
		Addr  netip.Addr
	}
	likeEmbedsTime struct {
		time.Time
		A int
	}
	likeFace     struct{ E error }
	likeProtocol struct {
		Annotations
		Icons []Icon `json:"icons"`
		More  Extra
	}
)

// likeJSON holds the shapes of Go types that encoding/json can decode, with texts that
// fit and texts that do not.
var likeJSON = []struct {
	dst   any
	texts []string
}{
	{likeEmbedded{}, []string{`{"A":"a","B":"b","Deep":"d"}`, `{"middle":{},"Middle":{}}`, `{"A":1}`, `[]`, `3`}},
	{likePointer{}, []string{`{"A":"a","P":"p"}`, `{"A":"a"}`, `{"P":null}`}},
	{likeUnsettable{}, []string{`{"A":"a"}`}},
	{likeConflict{}, []string{`{"x":"x","B":"b","Z":"z"}`}},
	{likeSameGoName{}, []string{`{"x":"x","y":"y","z":"no"}`}},
	{likeShadow{}, []string{`{"x":"x","X":"X"}`}},
	{likeTagWins{}, []string{`{"x":"x","B":"b","Deep":"d"}`}},
	{likeNamed{}, []string{`{"d":{"B":"1"},"e":{"B":"2"},"B":"3","Deep":"4"}`}},
	{likeRecursive{}, []string{`{"V":1,"next":{"V":2,"next":null},"List":[{"V":3},{"List":[]}],"Map":{"a":{"V":4},"b":null}}`}},
	{likeLoop{}, []string{`{"V":"v","W":"w"}`}},
	{likeOptions{}, []string{`{"A":"12","b":"true","c":"\"x\"","d":"1.5","e":[1],"-":7,"f":1,"low":2,"Skip":3}`, `{"A":12}`, `{"A":"x"}`,
		`{"c":"x"}`, `{"A":null,"b":null}`, `{"b":"null"}`, `{"A":""}`}},
	{likeScalars{}, []string{`{"I8":-128,"U8":255,"U64":18446744073709551615,"F32":1.5,"F64":1e300,"T":"t","N":12.50,"B":true,"Any":{"a":[1,null,"x"]},"Raw":{ "a" : 1 },"P":7}`,
		`{"I8":128}`, `{"U8":256}`, `{"U8":-1}`, `{"I8":1.5}`, `{"F32":1e39}`, `{"F64":1e309}`, `{"N":"12"}`, `{"N":"x"}`, `{"N":true}`, `{"T":1}`, `{"B":"true"}`, `{"F64":"1"}`,
		`{"I8":null,"U8":null,"F64":null,"T":null,"N":null,"B":null,"Any":null,"Raw":null,"P":null}`, `{"Any":9007199254740993}`}},
	{likeLists{}, []string{`{"Bytes":"aGk=","Array":[1,2],"BArray":[1,2],"Texts":["a",null],"Nested":[[1],[],null],"Ptrs":[1,null],"Anys":[1.50,"a",[]]}`,
		`{"Array":[1,2,3]}`, `{"Array":[1]}`, `{"Array":[]}`, `{"Bytes":"!"}`, `{"Bytes":[1,2]}`, `{"Bytes":"","Texts":null,"Array":null}`, `{"Texts":"a"}`, `{"Array":{}}`, `{"Texts":[]}`}},
	{likeMaps{}, []string{`{"S":{"a":1,"":2},"T":{"k":"v"},"I":{"-5":true,"7":false},"U":{"9":"x"},"A":{"::1":1},"N":{"a":{"b":1},"c":null},"P":{"a":null,"b":1}}`,
		`{"S":null}`, `{"I":{"300":true}}`, `{"I":{"x":true}}`, `{"A":{"x":1}}`, `{"S":[]}`, `{"S":{}}`, `{"T":{"k":null}}`, `{"T":{"\u006b":"v"}}`}},
	{likeOwn{}, []string{`{"Time":"2025-11-25T10:00:00Z","PTime":"2024-11-05T00:00:00+02:00","Twice":[1, 2],"PT":"x","C":"rg","L":["ab","cd"],"M":{"a":1},"Addr":"10.0.0.1"}`,
		`{"Time":"yesterday"}`, `{"Time":3}`, `{"C":"rgb"}`, `{"C":1}`, `{"Time":null,"PTime":null,"Twice":null,"PT":null,"C":null}`, `{"Addr":""}`}},
	{likeEmbedsTime{}, []string{`"2025-11-25T10:00:00Z"`, `{"A":1}`}},
	{likeProtocol{}, []string{`{"audience":["user"],"priority":1,"x":2,"More":{"a":[1]}}`}},
	{likeFace{}, []string{`{"E":null}`, `{"E":1}`, `{}`}},
	{[]any(nil), []string{`[1,{"a":2}]`, `{}`}}, {map[string]any(nil), []string{`{"a":1e2}`}}, {any(nil), []string{`1.0`, `"x"`, `[]`, `{}`}}, {0, []string{`1`, `"1"`}},
	{time.Time{}, []string{`"2025-11-25T10:00:00Z"`, `1`}}, {json.Number(""), []string{`1.50`, `[]`}}, {make(chan int), []string{`1`}},
}

func TestDecodeLikeJSON(t *testing.T) {
	for _, c := range likeJSON {
		for _, text := range c.texts {
			checkLikeJSON(t, c.dst, text)
		}
	}
}

func checkLikeJSON(t *testing.T, zero any, text string) {
	t.Helper()
	typ := reflect.TypeOf(&zero).Elem()
	if zero != nil {
		typ = reflect.TypeOf(zero)
	}
	got, want := reflect.New(typ), reflect.New(typ)
	err := decode(scanned(t, text), got.Interface())
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	wantErr := d.Decode(want.Interface())
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%s into %v: got %v, want %v", text, typ, err, wantErr)
	}
	if wantErr == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Errorf("%s into %v: got %+v, want %+v", text, typ, got.Elem(), want.Elem())
	}
}

// Where decode is meant to differ from encoding/json.
func TestDecodeUnlikeJSON(t *testing.T) {
	var n struct {
		I int
		U uint8
		L int64
	}
	for text, want := range map[string]string{
		`{"I":1.0,"U":25e1,"L":9007199254740993}`: "{1 250 9007199254740993}",
		`{"I":-1e2,"U":0e5,"L":-0}`:               "{-100 0 0}",
		`{"L":9223372036854775807.0}`:             "{0 0 9223372036854775807}",
		`{"I":1.5}`:                               "I: want an integer that fits int, got a number",
		`{"U":256.0}`:                             "U: want an integer that fits uint8, got a number",
		`{"U":-1}`:                                "U: want an integer that fits uint8, got a number",
		`{"L":1e19}`:                              "L: want an integer that fits int64, got a number",
		`{"L":"1"}`:                               "L: want an integer that fits int64, got a string",
	} {
		n.I, n.U, n.L = 0, 0, 0
		got := ""
		if err := decode(scanned(t, text), &n); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(n)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// FEAT-060 EDGE-238
func TestDecodeKeepsNumbers(t *testing.T) {
	const text = `{"_meta":{"a":[9007199254740993,1e400,0.10]},"name":"n","arguments":{"big":9007199254740993,"tiny":0.10}}`
	var p CallToolParams
	if err := decode(scanned(t, text), &p); err != nil {
		t.Fatal(err)
	}
	if got := p.Meta["a"].([]any)[0]; got != json.Number("9007199254740993") {
		t.Errorf("number in _meta: %#v", got)
	}
	if b, err := appendJSON(nil, &p, newest); string(b) != text || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		dst        any
		text, want string
	}{
		{&CallToolParams{}, `{}`, "name: missing"},
		{&CallToolParams{}, `null`, "name: missing"},
		{&CallToolParams{}, `{"name":null}`, "name: missing"},
		{&CallToolParams{}, `{"name":5}`, "name: want a string, got a number"},
		{&CallToolParams{}, `[]`, "want an object, got an array"},
		{&CallToolParams{}, `{"name":"x","_meta":[]}`, "_meta: want an object, got an array"},
		{&CompleteParams{}, `{"ref":{},"argument":{"name":"a","value":"b"}}`, "ref.type: missing"},
		{&CompleteParams{}, `{"ref":null,"argument":{"name":"a","value":"b"}}`, "ref: missing"},
		{&CompleteParams{}, `{"ref":{"type":"ref/prompt"},"argument":{"name":"a"}}`, "argument.value: missing"},
		{&CompleteParams{}, `{"ref":{"type":"t"},"argument":{"name":"a","value":""},"context":{"arguments":{"x":1}}}`, "context.arguments.x: want a string, got a number"},
		{&GetPromptParams{}, `{"name":"p","arguments":{"n":5}}`, "arguments.n: want a string, got a number"},
		{&GetPromptParams{}, `{"name":"p","arguments":{"n":null}}`, "arguments.n: want a string, got null"},
		{&InitializeParams{}, `{"protocolVersion":20251125}`, "protocolVersion: want a string, got a number"},
		{&InitializeParams{}, `{"protocolVersion":"1","clientInfo":{"name":"n","version":"v"}}`, "capabilities: missing"},
		{&InitializeParams{}, `{"protocolVersion":"1","capabilities":{},"clientInfo":{"name":"n"}}`, "clientInfo.version: missing"},
		{&InitializeParams{}, `{"protocolVersion":"1","capabilities":{"sampling":true},"clientInfo":{"name":"n","version":"v"}}`, "capabilities.sampling: want an object, got true"},
		{&CallToolResult{}, `{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":5}]}`, "content[1].mimeType: want a string, got a number"},
		{&CallToolResult{}, `{"content":[{"text":"a"}]}`, "content[0].type: missing"},
		{&CallToolResult{}, `{"content":[{"type":"text"}]}`, "content[0].text: missing"},
		{&CallToolResult{}, `{"content":[null]}`, "content[0]: want a content block, got null"},
		{&CallToolResult{}, `{"content":["a"]}`, "content[0]: want a content block, got a string"},
		{&CallToolResult{}, `{"content":{}}`, "content: want an array, got an object"},
		{&CallToolResult{}, `{"content":[{"type":"image","mimeType":"m","data":null}]}`, "content[0].data: missing"},
		{&CallToolResult{}, `{"content":[{"type":"image","mimeType":"m","data":1}]}`, "content[0].data: want base64 text, got a number"},
		{&ReadResourceResult{}, `{"contents":[null]}`, "contents[0]: want an object, got null"},
		{&GetPromptResult{}, `{"messages":[{"role":"user"}]}`, "messages[0].content: missing"},
		{&GetPromptResult{}, `{"messages":[{"role":"user","content":[]}]}`, "messages[0].content: want a content block, got an array"},
		{&LoggingMessageParams{}, `{"level":5}`, "level: want a string, got a number"},
		{&SetLevelParams{}, `{}`, "level: missing"},
		{&ListParams{}, `{"cursor":5}`, "cursor: want a string, got a number"},
		{&CreateMessageParams{}, `{"messages":[]}`, "maxTokens: missing"},
		{&CreateMessageParams{}, `{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"a","content":[{}]}]}],"maxTokens":1}`,
			"messages[0].content[0].content[0].type: missing"},
		{&CreateMessageParams{}, `{"messages":[],"maxTokens":1.5}`, "maxTokens: want an integer that fits int64, got a number"},
		{&ElicitParams{}, `{"message":"m","requestedSchema":{"properties":{"a.b":{}}}}`, "requestedSchema.properties.a.b.type: missing"},
		{&ElicitParams{}, `{"message":"m","requestedSchema":{"properties":{"a":null}}}`, "requestedSchema.properties.a: want an object, got null"},
		{&Annotations{}, `{"priority":"high"}`, "priority: want a number, got a string"},
		{&Annotations{}, `{"priority":1e999}`, "priority: number 1e999 is out of range"},
	} {
		got := "no error"
		if err := decode(scanned(t, c.text), c.dst); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%T %s: got %q, want %q", c.dst, c.text, got, c.want)
		}
	}
}

// Parameters that are absent or null are an object without members.
// EDGE-017 EDGE-229 EDGE-232 FEAT-045
func TestDecodeNull(t *testing.T) {
	var list ListParams
	if err := decode(value{}, &list); err != nil {
		t.Error(err)
	}
	if err := decode(value{}, &CallToolParams{}); err == nil || err.Error() != "name: missing" {
		t.Error(err)
	}
	if err := decode(scanned(t, `{"cursor":null,"_meta":null}`), &list); err != nil || list.Cursor != nil || list.Meta != nil {
		t.Errorf("%+v, %v", list, err)
	}
	var page ListToolsResult
	if err := decode(scanned(t, `{"tools":[],"nextCursor":null}`), &page); err != nil || page.NextCursor != nil {
		t.Errorf("%+v, %v", page, err)
	}
	var call CallToolParams
	if err := decode(scanned(t, `{"name":"n","arguments":null}`), &call); err != nil || call.Arguments != nil {
		t.Errorf("%+v, %v", call, err)
	}
	var tool Tool
	if err := decode(scanned(t, `{"name":"n","inputSchema":null}`), &tool); err == nil || err.Error() != "inputSchema: missing" {
		t.Error(err)
	}
	var log LoggingMessageParams
	if err := decode(scanned(t, `{"level":"info","data":null}`), &log); err != nil || string(log.Data) != "null" {
		t.Errorf("%+v, %v", log, err)
	}
	var r CallToolResult
	if err := decode(scanned(t, `{"content":null,"isError":null,"structuredContent":null}`), &r); err != nil || r.Content != nil || r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

// BUG-161 FEAT-031 FEAT-032: one bad tool does not hide the others, and leaves
// nothing behind in the one after it.
func TestDecodeSkipsBad(t *testing.T) {
	const text = `{"tools":[null,{"name":"a","inputSchema":{"type":"object"}},{"name":"b","description":"bad","x":1,"annotations":{"readOnlyHint":true}},
		{"name":"c","inputSchema":{"type":"object","properties":null,"required":null}},5,{"name":"d","inputSchema":true}]}`
	var r ListToolsResult
	if err := decode(scanned(t, text), &r); err != nil {
		t.Fatal(err)
	}
	want := `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"c","inputSchema":{"type":"object","properties":null,"required":null}},{"name":"d","inputSchema":true}]}`
	if b, err := appendJSON(nil, &r, newest); string(b) != want || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
	for _, list := range []struct {
		dst  any
		text string
	}{
		{&ListResourcesResult{}, `{"resources":[{"uri":"u"},{"uri":"v","name":"n"}]}`},
		{&ListResourceTemplatesResult{}, `{"resourceTemplates":[{},{"uriTemplate":"v","name":"n"}]}`},
		{&ListPromptsResult{}, `{"prompts":[{"name":5},{"name":"n"}]}`},
	} {
		if err := decode(scanned(t, list.text), list.dst); err != nil || reflect.ValueOf(list.dst).Elem().Field(1).Len() != 1 {
			t.Errorf("%s: %+v, %v", list.text, list.dst, err)
		}
	}
}

// What is received and sent on stays what it was: unknown members, unknown
// content, values that are zero.
// BASE-027 BASE-433 FEAT-018 FEAT-031 FEAT-098 FEAT-521 FEAT-525 FEAT-526 FEAT-528 FEAT-529 FEAT-531 FEAT-532 FEAT-535 FEAT-544 FEAT-545
func TestRoundTrip(t *testing.T) {
	for _, c := range []struct {
		dst  any
		text string
	}{
		{&CallToolResult{}, `{"_meta":{"com.example/x":{"a":1}},"content":[{"type":"video","url":"u","n":1.50}],"isError":true,"a":[1, 2],"z":"<"}`},
		{&CallToolResult{}, `{"content":[{"type":"text","text":""},{"type":"","x":1}],"structuredContent":{"n":1.0}}`},
		{&CallToolResult{}, `{"content":[{"type":"text","text":"t","annotations":{"audience":["user","robot"],"priority":0,"lastModified":"2025","x":1},"_meta":{"a":1},"more":null}]}`},
		{&CallToolResult{}, `{"content":[{"type":"image","data":"","mimeType":"image/png"},{"type":"audio","data":"!not base64","mimeType":""}]}`},
		{&CallToolResult{}, `{"content":[{"type":"resource","resource":{"uri":"u","text":"","annotations":{"priority":1}}},{"type":"resource","resource":{"uri":"u","mimeType":"m","blob":""}}]}`},
		{&CallToolResult{}, `{"content":[{"type":"resource_link","uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":0,"icons":[{"src":"s","mimeType":"m","sizes":["any"],"theme":"dark","x":1}],"y":2}]}`},
		{&Tool{}, `{"name":"n","title":"t","description":"d","inputSchema":{"x-y": 1,"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"a","readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false,"newHint":1},"icons":[{"src":"s","sizes":["48x48","any"]}],"_meta":{"a":{}},"execution":{"taskSupport":"forbidden"}}`},
		{&Prompt{}, `{"name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"t","description":"d","required":true,"x":1}],"x":{}}`},
		{&ReadResourceResult{}, `{"contents":[{"uri":"a","text":""},{"uri":"b","blob":"AAA="},{"uri":"c","mimeType":"m","text":"t","_meta":{"x":1},"y":1}]}`},
		{&GetPromptResult{}, `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":""},"x":1}]}`},
		{&InitializeResult{}, `{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"a":{}},"logging":{"x":1},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"tasks":{}},"serverInfo":{"name":"n","title":"t","version":"","description":"d","icons":[{"src":"s"}],"websiteUrl":"w","x":1},"instructions":"","y":null}`},
		{&InitializeParams{}, `{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"tasks":{}},"clientInfo":{"name":"","version":"v"}}`},
		{&CreateMessageParams{}, `{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{"a":1}},{"type":"text","text":""}],"_meta":{"a":1},"x":1},{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":{},"isError":true}}],"modelPreferences":{"hints":[{"name":"h"},{"x":1}],"costPriority":0,"speedPriority":0.5,"intelligencePriority":1},"systemPrompt":"s","includeContext":"none","temperature":0,"maxTokens":0,"stopSequences":["."],"metadata":{"a":1},"toolChoice":{"mode":"auto"},"x":1}`},
		{&CreateMessageResult{}, `{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"tired","x":1}`},
		{&CreateMessageResult{}, `{"role":"assistant","content":[],"model":"m"}`},
		{&ElicitParams{}, `{"mode":"form","message":"m","requestedSchema":{"$schema":"s","type":"object","properties":{"b":{"type":"string","title":"t","minLength":0,"maxLength":1,"pattern":"p","format":"email","default":""},"a":{"type":"number","minimum":0,"maximum":0.5,"default":0},"c":{"type":"boolean","default":false},"d":{"type":"string","enum":["x"],"enumNames":["X"]},"e":{"type":"string","oneOf":[{"const":"x","title":""}]},"f":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"minItems":0,"maxItems":2,"default":[]},"g":{"type":"array","items":{"type":"string","enum":["x"]},"x":1}},"required":["b"],"x":1}}`},
		{&ElicitParams{}, `{"mode":"url","message":"m","url":"https://x","elicitationId":"1"}`},
		{&ElicitResult{}, `{"action":"accept","content":{"a":[],"b":1.0}}`},
		{&CompleteParams{}, `{"ref":{"type":"ref/prompt","name":"n","title":"t"},"argument":{"name":"a","value":""},"context":{"arguments":{"x":""}}}`},
		{&CompleteResult{}, `{"completion":{"values":[],"total":0,"hasMore":true}}`},
		{&ListRootsResult{}, `{"roots":[{"uri":"file:///","name":"n","_meta":{"a":1},"x":1}]}`},
		{&LoggingMessageParams{}, `{"level":"loud","logger":"l","data":false}`},
		{&Progress{}, `{"progress":0,"total":1.5,"message":"m"}`},
		{&ListToolsResult{}, `{"tools":[],"nextCursor":"","ttlMs":0}`},
		{&EmptyResult{}, `{}`},
	} {
		if err := decode(scanned(t, c.text), c.dst); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		rev := newest
		only := regexp.MustCompile(`"elicitationId"|"roots":{"listChanged":true}|"tasks":|"execution"`)
		if only.MatchString(c.text) {
			rev = newestSession // the last one that has these
		}
		b, err := appendJSON(nil, c.dst, rev)
		if string(b) != c.text || err != nil {
			t.Errorf("%T, %v\n got %s\nwant %s", c.dst, err, b, c.text)
		}
	}
}

// What decodes can be written at every revision, and is then read as before.
func FuzzDecode(f *testing.F) {
	for _, list := range allEncodings() {
		for _, e := range list {
			b, _ := appendJSON(nil, e.v, newest)
			f.Add(b)
		}
	}
	f.Add([]byte(`{"tools":[null,{"name":"b","x":1},{"name":"c","inputSchema":null}],"content":{"type":"x"},"role":1e2}`))
	types := []any{InitializeParams{}, InitializeResult{}, ListToolsResult{}, Tool{}, CallToolParams{}, CallToolResult{}, ReadResourceResult{}, Resource{}, GetPromptResult{},
		CompleteParams{}, CompleteResult{}, LoggingMessageParams{}, Progress{}, ListRootsResult{}, CreateMessageParams{}, CreateMessageResult{}, ElicitParams{}, ElicitResult{}}
	f.Fuzz(func(t *testing.T, data []byte) {
		ix, err := scan(data)
		if err != nil {
			return
		}
		for _, v := range types {
			first, second := reflect.New(reflect.TypeOf(v)), reflect.Value{}
			if decode(ix.root(), first.Interface()) != nil {
				continue
			}
			for rev := revision(1); rev <= newest; rev++ {
				b, err := appendJSON(nil, first.Interface(), rev)
				if err != nil {
					t.Fatalf("%T of %q: %v", v, data, err)
				}
				second = reflect.New(reflect.TypeOf(v))
				if err := decode(scanned(t, string(b)), second.Interface()); err != nil {
					t.Fatalf("%T of %q, written as %s at %v: %v", v, data, b, rev, err)
				}
			}
			want, _ := appendJSON(nil, first.Interface(), newest)
			if b, _ := appendJSON(nil, second.Interface(), newest); !bytes.Equal(b, want) {
				t.Fatalf("%T of %q\n got %s\nwant %s", v, data, b, want)
			}
		}
	})
}

// One element where a list may stand, and an old spelling of icon sizes.
// FEAT-536
func TestDecodeOneOrMany(t *testing.T) {
	var m SamplingMessage
	for text, want := range map[string]int{
		`{"role":"user","content":{"type":"text","text":"a"}}`:                          1,
		`{"role":"user","content":[{"type":"text","text":"a"}]}`:                        1,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"x"}]}`:           2,
		`{"role":"user","content":[]}`:                                                  0,
		`{"role":"user","content":{"type":"resource_link","uri":"u","name":"n","x":1}}`: 1,
	} {
		if err := decode(scanned(t, text), &m); err != nil || len(m.Content) != want {
			t.Errorf("%s: %d blocks, %v", text, len(m.Content), err)
		}
	}
	for text, want := range map[string]string{
		`{"role":"user","content":null}`: "content: missing",
		`{"role":"user","content":"a"}`:  "content: want a content block, got a string",
	} {
		if err := decode(scanned(t, text), &SamplingMessage{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	var i Icon
	if err := decode(scanned(t, `{"src":"s","sizes":"48x48"}`), &i); err != nil || !slices.Equal(i.Sizes, []string{"48x48"}) {
		t.Errorf("%+v, %v", i, err)
	}
	if b, _ := appendJSON(nil, &i, newest); string(b) != `{"src":"s","sizes":["48x48"]}` {
		t.Errorf("got %s", b)
	}
}

// FEAT-533 FEAT-110
func TestBase64(t *testing.T) {
	var c ResourceContents
	for text, want := range map[string]string{
		`{"uri":"u","blob":""}`:             "set []",
		`{"uri":"u","text":"x"}`:            "absent []",
		`{"uri":"u","text":"","blob":null}`: "absent []",
		`{"uri":"u","blob":"aGk="}`:         "set [104 105]",
		`{"uri":"u","blob":"aG\r\nk="}`:     "set [104 105]",
		`{"uri":"u","blob":"aGk"}`:          "set illegal base64 data at input byte 0",
	} {
		c = ResourceContents{}
		if err := decode(scanned(t, text), &c); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		data, err := c.Blob.Bytes()
		got := map[bool]string{true: "absent ", false: "set "}[c.Blob.IsZero()] + fmt.Sprint(data)
		if err != nil {
			got = "set " + err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// The package's types also go through encoding/json, which reuses its memory.
func TestMarshalJSON(t *testing.T) {
	const text = `{"content":[{"type":"text","text":"a","x":1},{"type":"video"}],"structuredContent":{"a":1}}`
	d := json.NewDecoder(strings.NewReader(text + strings.Repeat(" ", 600) + `{"content":[` + strings.Repeat(`{"type":"text","text":"overwritten"},`, 50) + `{"type":"x"}]}`))
	var first, second CallToolResult
	if err := d.Decode(&first); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(&second); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(&first); string(b) != text || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
	var wrapped struct {
		M []PromptMessage
		B Base64
		P Properties
		C *TextContent
	}
	const more = `{"M":[{"role":"user","content":{"type":"audio","data":"","mimeType":"m"}}],"B":"aGk=","P":{"b":{"type":"string"},"a":{"type":"number"}},"C":{"type":"text","text":"t"}}`
	if err := json.Unmarshal([]byte(more), &wrapped); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(wrapped); string(b) != more || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
}

// ---- encode ----

// A fully filled value, and what it is at each revision; "" is "as before".
type wireForm struct {
	v    any
	want [4]string
}

func fullIcons() []Icon {
	return []Icon{{Source: "https://x/i.png", MIMEType: "image/png", Sizes: []string{"any"}, Theme: "dark"}}
}

func fullAnnotations() *Annotations {
	return &Annotations{Audience: []Role{RoleUser}, Priority: new(0.0), LastModified: "2025-01-01T00:00:00Z"}
}

func object(text string) json.RawMessage { return json.RawMessage(text) }

const (
	iconsText  = `"icons":[{"src":"https://x/i.png","mimeType":"image/png","sizes":["any"],"theme":"dark"}]`
	annOld     = `"annotations":{"audience":["user"],"priority":0}`
	annNew     = `"annotations":{"audience":["user"],"priority":0,"lastModified":"2025-01-01T00:00:00Z"}`
	metaText   = `"_meta":{"k":"v"}`
	schemaText = `{"type":"object"}`
)

// BASE-026 EDGE-237 FEAT-004 FEAT-014 FEAT-017 FEAT-053 FEAT-061 FEAT-097 FEAT-098 FEAT-099 FEAT-107
// FEAT-521 FEAT-523 FEAT-524 FEAT-526 FEAT-527 FEAT-528 FEAT-529 FEAT-530 FEAT-538 FEAT-550
func TestAppendJSON(t *testing.T) {
	for _, list := range allEncodings() {
		for _, e := range list {
			checkEncoding(t, e)
		}
	}
}

func allEncodings() [][]wireForm {
	return [][]wireForm{lifecycleEncodings(), toolEncodings(), resourceEncodings(), promptEncodings(), clientEncodings(), contentEncodings()}
}

func checkEncoding(t *testing.T, e wireForm) {
	t.Helper()
	want := ""
	for i, w := range e.want {
		rev := revision(i + 1)
		if w != "" {
			want = w
		}
		b, err := appendJSON([]byte("x"), e.v, rev)
		if string(b) != "x"+want || err != nil {
			t.Errorf("%T at %v, %v\n got %s\nwant x%s", e.v, rev, err, b, want)
		}
	}
}

func lifecycleEncodings() []wireForm {
	meta, empty := Meta{"k": "v"}, &Empty{}
	info := &Implementation{Name: "n", Title: "t", Version: "1", Description: "d", Icons: fullIcons(), WebsiteURL: "w"}
	server := &ServerCapabilities{Experimental: map[string]any{"e": empty}, Logging: empty, Completions: empty, Prompts: &PromptCapability{ListChanged: true},
		Resources: &ResourceCapability{Subscribe: true, ListChanged: true}, Tools: &ToolCapability{}}
	client := &ClientCapabilities{Experimental: map[string]any{"e": 1}, Roots: &RootCapability{ListChanged: true}, Sampling: &SamplingCapability{Tools: empty, Context: empty},
		Elicitation: &ElicitationCapability{Form: empty, URL: empty}}
	const (
		oldServer = `{"experimental":{"e":{}},"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{}}`
		newServer = `{"experimental":{"e":{}},"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{}}`
		oldClient = `{"experimental":{"e":1},"roots":{"listChanged":true},"sampling":{}}`
		midClient = `{"experimental":{"e":1},"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`
		newClient = `{"experimental":{"e":1},"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}`
		oldInfo   = `{"name":"n","version":"1"}`
		midInfo   = `{"name":"n","title":"t","version":"1"}`
		newInfo   = `{"name":"n","title":"t","version":"1","description":"d",` + iconsText + `,"websiteUrl":"w"}`
	)
	result := func(capabilities, info string) string {
		return `{` + metaText + `,"protocolVersion":"p","capabilities":` + capabilities + `,"serverInfo":` + info + `,"instructions":""}`
	}
	params := func(capabilities, info string) string {
		return `{` + metaText + `,"protocolVersion":"p","capabilities":` + capabilities + `,"clientInfo":` + info + `}`
	}
	return []wireForm{
		{&InitializeResult{Meta: meta, ProtocolVersion: "p", Capabilities: server, ServerInfo: info, Instructions: new("")},
			[4]string{result(oldServer, oldInfo), result(newServer, oldInfo), result(newServer, midInfo), result(newServer, newInfo)}},
		{&InitializeParams{Meta: meta, ProtocolVersion: "p", Capabilities: client, ClientInfo: info},
			[4]string{params(oldClient, oldInfo), "", params(midClient, midInfo), params(newClient, newInfo)}},
		{&ClientCapabilities{Elicitation: &ElicitationCapability{URL: empty}}, [4]string{`{}`, ``, ``, `{"elicitation":{"url":{}}}`}},
		{&ClientCapabilities{Elicitation: &ElicitationCapability{}}, [4]string{`{}`, ``, `{"elicitation":{}}`}},
		{&Implementation{}, [4]string{`{"name":"","version":""}`}},
		{&EmptyResult{}, [4]string{`{}`}}, {&EmptyResult{Meta: meta}, [4]string{`{` + metaText + `}`}},
		{&ListParams{Meta: meta, Cursor: new("")}, [4]string{`{` + metaText + `,"cursor":""}`}}, {&ListParams{}, [4]string{`{}`}},
		{&SetLevelParams{Level: LevelDebug}, [4]string{`{"level":"debug"}`}},
		{&LoggingMessageParams{Meta: meta, Level: LevelInfo, Logger: "l", Data: object(`{"a":"<"}`)}, [4]string{`{` + metaText + `,"level":"info","logger":"l","data":{"a":"<"}}`}},
		{&LoggingMessageParams{}, [4]string{`{"level":"","data":null}`}},
		{&Progress{Value: 1e6, Total: 2.5, Message: "m"}, [4]string{`{"progress":1000000,"total":2.5}`, `{"progress":1000000,"total":2.5,"message":"m"}`}},
		{&Progress{}, [4]string{`{"progress":0}`}},
		{nil, [4]string{`null`}},
	}
}

func toolEncodings() []wireForm {
	tool := &Tool{Name: "n", Title: "t", Description: "d", InputSchema: object(schemaText), OutputSchema: object(schemaText), Icons: fullIcons(), Meta: Meta{"k": "v"}, Extra: Extra{"x": object("1")},
		Annotations: &ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(false), IdempotentHint: new(false), OpenWorldHint: new(false)}}
	const (
		hints = `"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}`
		first = `{"name":"n","description":"d","inputSchema":{"type":"object"}`
		third = `{"name":"n","title":"t","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{` + hints
		end   = `,"_meta":{"k":"v"},"x":1}`
	)
	return []wireForm{
		{tool, [4]string{first + `,"x":1}`, first + `,"annotations":{"title":"t",` + hints + `,"x":1}`, third + end, third + `,` + iconsText + end}},
		{&Tool{Name: "n", Title: "t", InputSchema: object(schemaText)}, [4]string{`{"name":"n","inputSchema":{"type":"object"}}`,
			`{"name":"n","inputSchema":{"type":"object"},"annotations":{"title":"t"}}`, `{"name":"n","title":"t","inputSchema":{"type":"object"}}`}},
		{&Tool{Name: "n", Title: "t", InputSchema: object(schemaText), Annotations: &ToolAnnotations{Title: "a"}}, [4]string{`{"name":"n","inputSchema":{"type":"object"}}`,
			`{"name":"n","inputSchema":{"type":"object"},"annotations":{"title":"a"}}`, `{"name":"n","title":"t","inputSchema":{"type":"object"},"annotations":{"title":"a"}}`}},
		{&Tool{Name: "n", InputSchema: object("{\n\"type\":\"object\"}"), OutputSchema: object(`{"type":"array"}`)}, [4]string{`{"name":"n","inputSchema":{"type":"object"}}`}},
		{&ListToolsResult{}, [4]string{`{"tools":[]}`}},
		{&ListToolsResult{Meta: Meta{"k": 1}, Tools: []*Tool{{Name: "n", InputSchema: object("{}")}}, NextCursor: new("")},
			[4]string{`{"_meta":{"k":1},"tools":[{"name":"n","inputSchema":{}}],"nextCursor":""}`}},
		{&CallToolParams{Name: "n"}, [4]string{`{"name":"n"}`}},
		{&CallToolParams{Meta: Meta{"k": "v"}, Name: "n", Arguments: object(`{"a":1}`)}, [4]string{`{` + metaText + `,"name":"n","arguments":{"a":1}}`}},
		{&CallToolResult{}, [4]string{`{"content":[]}`}},
		{&CallToolResult{Content: []Content{}, StructuredContent: object(" {\"a\":1}"), IsError: true, Meta: Meta{"k": "v"}},
			[4]string{`{` + metaText + `,"content":[],"isError":true}`, ``, `{` + metaText + `,"content":[],"structuredContent": {"a":1},"isError":true}`}},
		{&CallToolResult{StructuredContent: object(`[1,2]`)}, [4]string{`{"content":[]}`}}, {&CallToolResult{StructuredContent: object(`null`)}, [4]string{`{"content":[]}`}},
		{&CallToolResult{StructuredContent: object(` `)}, [4]string{`{"content":[]}`}},
		{&CallToolResult{Extra: Extra{"content": object("1"), "b": object("[\n]"), "a": nil}}, [4]string{`{"content":[],"a":null,"b":[]}`}},
	}
}

func contentEncodings() []wireForm {
	ann, meta := fullAnnotations(), Meta{"k": "v"}
	data := EncodeBase64([]byte("hi"))
	link := &ResourceLink{URI: "u", Name: "n", Title: "t", Description: "d", MIMEType: "m", Size: new(int64(0)), Annotations: ann, Icons: fullIcons(), Meta: meta}
	const linkText = `{"type":"resource_link","uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":0,` + annNew
	list := []Content{&AudioContent{Data: data, MIMEType: "audio/wav"}, link, &UnknownContent{Type: "video", Raw: object(`{"type":"video"}`)}}
	return []wireForm{
		{&TextContent{}, [4]string{`{"type":"text","text":""}`}},
		{&TextContent{Text: "<日\xff>", Annotations: ann, Meta: meta, Extra: Extra{"type": object("1"), "x": object("1")}},
			[4]string{"{\"type\":\"text\",\"text\":\"<日\ufffd>\"," + annOld + `,"x":1}`, ``, "{\"type\":\"text\",\"text\":\"<日\ufffd>\"," + annNew + `,` + metaText + `,"x":1}`}},
		{&ImageContent{Data: data, MIMEType: "image/png", Annotations: ann, Meta: meta},
			[4]string{`{"type":"image","data":"aGk=","mimeType":"image/png",` + annOld + `}`, ``, `{"type":"image","data":"aGk=","mimeType":"image/png",` + annNew + `,` + metaText + `}`}},
		{&ImageContent{}, [4]string{`{"type":"image","data":"","mimeType":""}`}},
		{&AudioContent{Data: data, MIMEType: "audio/wav", Annotations: ann, Meta: meta},
			[4]string{`{"type":"text","text":"[audio, audio/wav, 2 bytes]",` + annOld + `}`, `{"type":"audio","data":"aGk=","mimeType":"audio/wav",` + annOld + `}`,
				`{"type":"audio","data":"aGk=","mimeType":"audio/wav",` + annNew + `,` + metaText + `}`}},
		{link, [4]string{`{"type":"text","text":"[resource n: u]",` + annOld + `}`, ``, linkText + `,` + metaText + `}`, linkText + `,` + iconsText + `,` + metaText + `}`}},
		{&EmbeddedResource{Resource: TextContents("u", "m", ""), Annotations: ann, Meta: meta},
			[4]string{`{"type":"resource","resource":{"uri":"u","mimeType":"m","text":""},` + annOld + `}`, ``, `{"type":"resource","resource":{"uri":"u","mimeType":"m","text":""},` + annNew + `,` + metaText + `}`}},
		{&CallToolResult{Content: list}, [4]string{
			`{"content":[{"type":"text","text":"[audio, audio/wav, 2 bytes]"},{"type":"text","text":"[resource n: u]",` + annOld + `},{"type":"video"}]}`,
			`{"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"text","text":"[resource n: u]",` + annOld + `},{"type":"video"}]}`,
			`{"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},` + linkText + `,` + metaText + `},{"type":"video"}]}`,
			`{"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},` + linkText + `,` + iconsText + `,` + metaText + `},{"type":"video"}]}`}},
		{&PromptMessage{Role: RoleUser, Content: list[0]}, [4]string{`{"role":"user","content":{"type":"text","text":"[audio, audio/wav, 2 bytes]"}}`,
			`{"role":"user","content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}}`}},
		{&ToolUseContent{ID: "1", Name: "n"}, [4]string{`{"type":"tool_use","id":"1","name":"n","input":{}}`}},
		{&ToolUseContent{ID: "1", Name: "n", Input: object(`{"a":1}`), Meta: meta}, [4]string{`{"type":"tool_use","id":"1","name":"n","input":{"a":1},` + metaText + `}`}},
		{&ToolResultContent{ToolUseID: "1"}, [4]string{`{"type":"tool_result","toolUseId":"1","content":[]}`}},
		{&ToolResultContent{ToolUseID: "1", Content: []Content{&TextContent{}}, StructuredContent: object("{}"), IsError: true, Meta: meta},
			[4]string{`{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":""}],"structuredContent":{},"isError":true,` + metaText + `}`}},
		{&UnknownContent{Type: "x", Raw: object("{\n\"type\":\"x\"}")}, [4]string{`{"type":"x"}`}},
	}
}

func resourceEncodings() []wireForm {
	meta := Meta{"k": "v"}
	const (
		resource = `"name":"n","description":"d","mimeType":"m","size":0,` + annOld
		titled   = `"name":"n","title":"t","description":"d","mimeType":"m","size":0,` + annNew
		template = `{"uriTemplate":"u","name":"n","description":"d","mimeType":"m",` + annOld + `}`
		newer    = `{"uriTemplate":"u","name":"n","title":"t","description":"d","mimeType":"m",` + annNew
	)
	return []wireForm{
		{&Resource{URI: "u", Name: "n", Title: "t", Description: "d", MIMEType: "m", Size: new(int64(0)), Annotations: fullAnnotations(), Icons: fullIcons(), Meta: meta},
			[4]string{`{"uri":"u",` + resource + `}`, ``, `{"uri":"u",` + titled + `,` + metaText + `}`, `{"uri":"u",` + titled + `,` + iconsText + `,` + metaText + `}`}},
		{&ResourceTemplate{URITemplate: "u", Name: "n", Title: "t", Description: "d", MIMEType: "m", Annotations: fullAnnotations(), Icons: fullIcons(), Meta: meta},
			[4]string{template, ``, newer + `,` + metaText + `}`, newer + `,` + iconsText + `,` + metaText + `}`}},
		{&ListResourcesResult{}, [4]string{`{"resources":[]}`}}, {&ListResourceTemplatesResult{}, [4]string{`{"resourceTemplates":[]}`}}, {&ReadResourceResult{}, [4]string{`{"contents":[]}`}},
		{&ReadResourceResult{Contents: []*ResourceContents{{URI: "u"}, {URI: "u", MIMEType: "m", Text: "t", Meta: meta}, BlobContents("b", "", nil), {URI: "c", Text: "not sent", Blob: EncodeBase64([]byte{0})}}},
			[4]string{`{"contents":[{"uri":"u","text":""},{"uri":"u","mimeType":"m","text":"t"},{"uri":"b","blob":""},{"uri":"c","blob":"AA=="}]}`, ``,
				`{"contents":[{"uri":"u","text":""},{"uri":"u","mimeType":"m","text":"t",` + metaText + `},{"uri":"b","blob":""},{"uri":"c","blob":"AA=="}]}`}},
		{&ReadResourceParams{URI: "u", Meta: meta}, [4]string{`{` + metaText + `,"uri":"u"}`}}, {&SubscribeParams{URI: "u"}, [4]string{`{"uri":"u"}`}},
		{&ResourceUpdatedParams{URI: "u", Meta: meta}, [4]string{`{` + metaText + `,"uri":"u"}`}},
	}
}

func promptEncodings() []wireForm {
	return []wireForm{
		{&Prompt{Name: "n", Title: "t", Description: "d", Arguments: []*PromptArgument{{Name: "a", Title: "t", Description: "d", Required: true}}, Icons: fullIcons(), Meta: Meta{"k": "v"}}, [4]string{
			`{"name":"n","description":"d","arguments":[{"name":"a","description":"d","required":true}]}`, ``,
			`{"name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"t","description":"d","required":true}],` + metaText + `}`,
			`{"name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"t","description":"d","required":true}],` + iconsText + `,` + metaText + `}`}},
		{&ListPromptsResult{}, [4]string{`{"prompts":[]}`}}, {&GetPromptResult{}, [4]string{`{"messages":[]}`}},
		{&GetPromptParams{Name: "n", Arguments: map[string]string{"a": "<"}}, [4]string{`{"name":"n","arguments":{"a":"<"}}`}},
		{&CompleteParams{Ref: CompleteReference{Type: "ref/prompt", Name: "n", Title: "t"}, Argument: CompleteArgument{Name: "a"}, Context: &CompleteContext{Arguments: map[string]string{"b": ""}}}, [4]string{
			`{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}}`, ``,
			`{"ref":{"type":"ref/prompt","name":"n","title":"t"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":""}}}`}},
		{&CompleteResult{}, [4]string{`{"completion":{"values":[]}}`}},
		{&CompleteResult{Completion: Completion{Values: []string{"<"}, Total: new(0), HasMore: true}}, [4]string{`{"completion":{"values":["<"],"total":0,"hasMore":true}}`}},
	}
}

func clientEncodings() []wireForm {
	ask := &CreateMessageParams{Messages: []*SamplingMessage{{Role: RoleUser, Content: []Content{&TextContent{}}, Meta: Meta{"k": "v"}}},
		ModelPreferences: &ModelPreferences{Hints: []ModelHint{{Name: "h"}}, CostPriority: new(0.0), SpeedPriority: new(0.25), IntelligencePriority: new(1.0)},
		SystemPrompt:     "s", IncludeContext: "none", Temperature: new(0.0), StopSequences: []string{"."}, Metadata: map[string]any{"m": 1},
		Tools: []*Tool{{Name: "n", InputSchema: object("{}")}}, ToolChoice: &ToolChoice{Mode: "none"}}
	const (
		prefs    = `"modelPreferences":{"hints":[{"name":"h"}],"costPriority":0,"speedPriority":0.25,"intelligencePriority":1},"systemPrompt":"s","includeContext":"none","temperature":0,"maxTokens":0,"stopSequences":["."],"metadata":{"m":1}`
		oldAsk   = `{"messages":[{"role":"user","content":{"type":"text","text":""}}],` + prefs + `}`
		newAsk   = `{"messages":[{"role":"user","content":{"type":"text","text":""},` + metaText + `}],` + prefs + `,"tools":[{"name":"n","inputSchema":{}}],"toolChoice":{"mode":"none"}}`
		field    = `{"type":"boolean","title":"t","default":false}`
		oldElict = `{"message":"m","requestedSchema":{"type":"object","properties":{"z":` + field + `,"a":` + field + `},"required":["a"]}}`
		newElict = `{"mode":"form","message":"m","requestedSchema":{"$schema":"s","type":"object","properties":{"z":` + field + `,"a":` + field + `},"required":["a"]}}`
	)
	flag := &PrimitiveSchema{Type: "boolean", Title: "t", Default: object("false")}
	return []wireForm{
		{ask, [4]string{oldAsk, ``, ``, newAsk}},
		{&CreateMessageParams{}, [4]string{`{"messages":[],"maxTokens":0}`}},
		{&SamplingMessage{Role: RoleUser}, [4]string{`{"role":"user","content":[]}`}},
		{&SamplingMessage{Role: RoleUser, Content: []Content{&TextContent{}, &TextContent{}}}, [4]string{`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":""}]}`}},
		{&CreateMessageResult{Role: RoleAssistant, Content: []Content{&TextContent{}}, Model: "m", StopReason: "endTurn"},
			[4]string{`{"role":"assistant","content":{"type":"text","text":""},"model":"m","stopReason":"endTurn"}`}},
		{&ListRootsResult{}, [4]string{`{"roots":[]}`}},
		{&ListRootsResult{Roots: []*Root{{URI: "u", Name: "n", Meta: Meta{"k": "v"}}}}, [4]string{`{"roots":[{"uri":"u","name":"n"}]}`, ``, `{"roots":[{"uri":"u","name":"n",` + metaText + `}]}`}},
		{&ElicitParams{Mode: "form", Message: "m", RequestedSchema: &FormSchema{Schema: "s", Type: "object", Properties: Properties{{"z", flag}, {"a", flag}}, Required: []string{"a"}}},
			[4]string{oldElict, ``, ``, newElict}},
		{&FormSchema{Type: "object"}, [4]string{`{"type":"object","properties":{}}`}},
		{&ElicitResult{Action: "accept", Content: object("{}")}, [4]string{`{"action":"accept","content":{}}`}}, {&ElicitResult{Action: "cancel"}, [4]string{`{"action":"cancel"}`}},
		{&ElicitationCompleteParams{ElicitationID: "1"}, [4]string{`{"elicitationId":"1"}`}},
	}
}

// What cannot be written names its place, and leaves the buffer as it was.
func TestAppendJSONErrors(t *testing.T) {
	var none *TextContent
	for _, c := range []struct {
		v    any
		want string
	}{
		{&CallToolResult{Content: []Content{&TextContent{}, nil}}, "content[1]: missing"},
		{&CallToolResult{Content: []Content{none}}, "content[0]: missing"},
		{&CallToolResult{StructuredContent: object("{")}, "structuredContent: want a name in quotes: unexpected end at byte 1"},
		{&CallToolResult{Extra: Extra{"x": object("nope")}}, "x: not JSON at byte 0"},
		{&CallToolResult{Meta: Meta{"f": func() {}}}, "_meta.f: json: unsupported type: func()"},
		{&ListToolsResult{Tools: []*Tool{nil}}, "tools[0]: missing"},
		{&Tool{Name: "n", InputSchema: object(`{"a":1,"a":1}`)}, `inputSchema: name "a" is repeated at byte 7`},
		{&PromptMessage{Role: RoleUser}, "content: missing"},
		{&EmbeddedResource{}, "resource: missing"},
		{&InitializeResult{}, "capabilities: missing"},
		{&Annotations{Priority: new(nan())}, "priority: json: unsupported value: NaN"},
		{&FormSchema{Type: "object", Properties: Properties{{Name: "p"}}}, "properties.p: missing"},
		{none, "missing"},
	} {
		b, err := appendJSON(nil, c.v, newest)
		if err == nil || err.Error() != c.want {
			t.Errorf("%T: got %s, %v, want %s", c.v, b, err, c.want)
		}
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

// A value is not changed by being written for an old revision.
func TestReviseCopies(t *testing.T) {
	tool := &Tool{Name: "n", Title: "t", InputSchema: object(schemaText), OutputSchema: object("true"), Annotations: &ToolAnnotations{ReadOnlyHint: new(true)}}
	client := &ClientCapabilities{Elicitation: &ElicitationCapability{URL: &Empty{}}}
	for rev := revision(1); rev <= newest; rev++ {
		for _, v := range []any{tool, client} {
			if _, err := appendJSON(nil, v, rev); err != nil {
				t.Error(err)
			}
		}
	}
	if tool.Title != "t" || tool.Annotations.Title != "" || string(tool.OutputSchema) != "true" || client.Elicitation == nil {
		t.Errorf("changed: %+v, %+v", tool, client)
	}
}

// Each tag of the protocol's types is one this file knows.
func TestProtocolTags(t *testing.T) {
	for _, v := range []any{InitializeParams{}, InitializeResult{}, ListToolsResult{}, CallToolResult{}, ListResourcesResult{}, ListResourceTemplatesResult{}, ReadResourceResult{},
		ListPromptsResult{}, GetPromptResult{}, CompleteParams{}, CompleteResult{}, LoggingMessageParams{}, Progress{}, ListRootsResult{}, CreateMessageParams{}, CreateMessageResult{},
		ElicitParams{}, ElicitResult{}, TextContent{}, ImageContent{}, AudioContent{}, ResourceLink{}, EmbeddedResource{}, ToolUseContent{}, ToolResultContent{}} {
		checkTags(t, reflect.TypeOf(v), map[reflect.Type]bool{})
	}
}

func checkTags(t *testing.T, typ reflect.Type, seen map[reflect.Type]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] || !native(typ) || typ == base64Type {
		return
	}
	seen[typ] = true
	for _, f := range jsonFields(typ) {
		for _, name := range []string{f.tag.Get("since")} {
			if name != "" && parseRevision(name) == 0 {
				t.Errorf("%v.%s: revision %q", typ, f.name, name)
			}
		}
		for o := range strings.SplitSeq(f.tag.Get("mcp"), ",") {
			if !slices.Contains([]string{"", "required", "list", "object", "any", "skip-bad", "unless-blob"}, o) {
				t.Errorf("%v.%s: option %q", typ, f.name, o)
			}
		}
		checkTags(t, f.typ, seen)
	}
}

// ---- benchmarks ----

// beside runs ours and encoding/json's way to do the same.
func beside(b *testing.B, name string, size int, ours, theirs func() error) {
	for _, way := range []struct {
		name string
		run  func() error
	}{{"mcp", ours}, {"json", theirs}} {
		b.Run(name+"/"+way.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := way.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

const smallCall = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"_meta":{"progressToken":17},"name":"search","arguments":{"query":"model context protocol","limit":20,"folders":["docs","src"],"exact":false}}}`

// textMessage is a result with n times a text.
func textMessage(text string, n int) string {
	return `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat(text, n) + `"}]}}`
}

func toolList(n int) string {
	const tool = `{"name":"tool%d","title":"Tool %[1]d","description":"Does the thing numbered %[1]d","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"a path"},"limit":{"type":"integer"}},"required":["path"]},"annotations":{"readOnlyHint":true}}`
	var tools []string
	for i := range n {
		tools = append(tools, fmt.Sprintf(tool, i))
	}
	return `{"tools":[` + strings.Join(tools, ",") + `]}`
}

func BenchmarkScan(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"call", smallCall}, {"string", textMessage("0123456789abcde ", 1<<16)}, {"unicode", textMessage("日本語", 1<<16)}, {"tools", toolList(1000)},
	} {
		data := []byte(c.text)
		beside(b, c.name, len(data), func() error {
			_, err := scan(data)
			return err
		}, func() error {
			if !json.Valid(data) {
				return errors.New("not valid")
			}
			return nil
		})
	}
}

// plainResult is what encoding/json needs for a result with text.
type plainResult struct {
	Content           []plainText     `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError,omitempty"`
}

type plainText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func BenchmarkDecode(b *testing.B) {
	params := scanned(b, smallCall).member("params")
	beside(b, "params", len(params.raw()), func() error {
		return decode(params, new(CallToolParams))
	}, func() error {
		return json.Unmarshal(params.raw(), new(CallToolParams))
	})
	result := scanned(b, `{"content":[{"type":"text","text":"the answer is 42"}],"structuredContent":{"answer":42},"isError":false}`)
	beside(b, "result", len(result.raw()), func() error {
		return decode(result, new(CallToolResult))
	}, func() error {
		return json.Unmarshal(result.raw(), new(plainResult))
	})
	type plainTools struct {
		Tools []*Tool `json:"tools"`
	}
	tools := scanned(b, toolList(1000))
	beside(b, "tools", len(tools.raw()), func() error {
		return decode(tools, new(ListToolsResult))
	}, func() error {
		return json.Unmarshal(tools.raw(), new(plainTools))
	})
}

func BenchmarkAppend(b *testing.B) {
	ours := &CallToolResult{Content: []Content{&TextContent{Text: "the answer is 42"}}, StructuredContent: object(`{"answer":42}`)}
	theirs := &plainResult{Content: []plainText{{"text", "the answer is 42"}}, StructuredContent: object(`{"answer":42}`)}
	var buf []byte
	beside(b, "result", 0, func() (err error) {
		buf, err = appendJSON(buf[:0], ours, newest)
		return err
	}, func() error {
		_, err := json.Marshal(theirs)
		return err
	})
	for name, text := range map[string]string{"ascii": strings.Repeat("plain text ", 1<<10), "unicode": strings.Repeat("日本語", 1<<10)} {
		beside(b, name, len(text), func() error {
			buf = appendString(buf[:0], text)
			return nil
		}, func() error {
			_, err := json.Marshal(text)
			return err
		})
	}
}

// Memory is taken for what is there, not for what could be there.
func TestMemoryFollowsText(t *testing.T) {
	ix := scanned(t, "["+strings.Repeat("1,", 1000)+`"`+strings.Repeat("x", 1<<20)+`"]`).ix
	if n, room := len(ix.nodes), cap(ix.nodes); room > 10*n {
		t.Errorf("room for %d values, of which there are %d", room, n)
	}
	bad := scanned(t, `{"name":"a","version":"b","icons":[`+strings.Repeat("0,", 1<<18)+"0]}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	checkError(t, "icons", decode(bad, &Implementation{}), "icons[0]: want an object, got a number")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes for a list whose first element is wrong", n)
	}
	var many []int
	must(t, decode(scanned(t, "["+strings.Repeat("7,", 3*maxRoom)+"8]"), &many))
	if len(many) != 3*maxRoom+1 || many[0] != 7 || many[3*maxRoom-1] != 7 || many[3*maxRoom] != 8 {
		t.Errorf("got %d elements", len(many))
	}
}
