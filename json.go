package mcp

// JSON text in and out. Text from outside is read once, by scan, which refuses
// what two readers could take differently (repeated names, invalid UTF-8) and
// leaves an index; everything that looks into a message afterwards reads the
// index through a value. decode turns a value into a Go value, matching names
// exactly, and appendJSON turns the protocol's Go types into text for one revision.
//
// It stands on the types of mcp.go, and knows the tags of their fields. All foreign JSON is
// read, and all of the protocol's is written, through this file.

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxDepth  = 1000    // nesting of received JSON
	maxValues = 1 << 22 // values in one received JSON text; the index has 16 bytes for each
	maxRoom   = 1 << 10 // elements of a list for which there is room before they are looked at
)

// Kinds of JSON values: the first byte of their text, '0' for all numbers.
const (
	kindNone   = 0
	kindNull   = 'n'
	kindTrue   = 't'
	kindFalse  = 'f'
	kindNumber = '0'
	kindString = '"'
	kindArray  = '['
	kindObject = '{'
)

// A node is one value of an index. Nodes stand in the order of the text: an array
// is followed by its elements, an object by its names and values in turn.
type node struct {
	start, end int32 // in the text
	next       int32 // the next element, or the next name; 0: none
	kind       byte
	escaped    bool // a string with escapes
}

// An index is a checked JSON text and where its values are.
type index struct {
	data  []byte
	nodes []node
}

// A value is a place in an index. The zero value is an absent one.
type value struct {
	ix *index
	i  int32
}

// A textError says why a text was refused, and where.
type textError struct {
	offset int
	reason string
	repeat bool // well-formed JSON, but a name is repeated
}

func (e *textError) Error() string { return fmt.Sprintf("%s at byte %d", e.reason, e.offset) }

// scan checks that data is one JSON value, and indexes it. It keeps data.
func scan(data []byte) (*index, error) {
	ix := &index{}
	return ix, ix.scan(data)
}

// scan is like the function, and reuses the memory of ix's nodes.
func (ix *index) scan(data []byte) error {
	if len(data) > math.MaxInt32 {
		return &textError{reason: "text of more than 2 GiB"}
	}
	s := scanner{data: data, nodes: ix.nodes[:0]}
	if cap(s.nodes) == 0 {
		s.nodes = make([]node, 0, min(len(data)/8+4, 1<<10))
	}
	err := s.value(0)
	if s.peek(); err == nil && s.pos < len(data) {
		err = s.fail("text after the value")
	}
	ix.data, ix.nodes = data, s.nodes
	return err
}

func (ix *index) root() value { return value{ix, 0} }

// trimBOM drops a byte order mark in front of a text (RFC 8259, section 8.1).
func trimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF")) }

type scanner struct {
	data  []byte
	pos   int
	nodes []node
}

func (s *scanner) fail(reason string) error {
	if s.pos >= len(s.data) {
		reason += ": unexpected end"
	}
	return &textError{offset: s.pos, reason: reason}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	const white = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'
	for ; s.pos < len(s.data); s.pos++ {
		if c := s.data[s.pos]; c > ' ' || uint64(white)>>c&1 == 0 {
			return c
		}
	}
	return 0
}

// add appends a node that starts here, and returns its place. Memory grows as if
// the rest of the text were as dense as what was read, but not at once: it may be one
// long string.
func (s *scanner) add(kind byte) int {
	i := len(s.nodes)
	if i == cap(s.nodes) {
		rest := int(float64(i) / float64(s.pos+1) * float64(len(s.data)-s.pos))
		s.nodes = slices.Grow(s.nodes, 16+min(rest, 8*i, maxValues-i))
	}
	s.nodes = s.nodes[:i+1]
	n := &s.nodes[i] // set by field: to copy a literal takes three times as long
	n.start, n.end, n.next, n.kind, n.escaped = int32(s.pos), 0, 0, kind, false
	return i
}

func (s *scanner) value(depth int) error {
	c := s.peek()
	if len(s.nodes) >= maxValues {
		return s.fail("too many values")
	}
	i := s.add(c)
	var err error
	switch c {
	case '{':
		err = s.object(i, depth)
	case '[':
		err = s.array(depth)
	case '"':
		s.nodes[i].escaped, err = s.string()
	case 't':
		err = s.word("true")
	case 'f':
		err = s.word("false")
	case 'n':
		err = s.word("null")
	default:
		s.nodes[i].kind = kindNumber
		err = s.number()
	}
	s.nodes[i].end = int32(s.pos)
	return err
}

func (s *scanner) word(w string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(w)) {
		return s.fail("not JSON")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) object(i, depth int) error {
	if depth >= maxDepth {
		return s.fail("nested too deeply")
	}
	s.pos++
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	count := 0
	for last := -1; ; count++ {
		if s.peek() != '"' {
			return s.fail("want a name in quotes")
		}
		name := s.add(kindString)
		if last >= 0 {
			s.nodes[last].next = int32(name)
		}
		var err error
		s.nodes[name].escaped, err = s.string()
		s.nodes[name].end = int32(s.pos)
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.fail("want a colon")
		}
		s.pos++
		if err := s.value(depth + 1); err != nil {
			return err
		}
		last = name
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return s.unique(int32(i+1), count+1)
		default:
			return s.fail("want a comma or }")
		}
	}
}

// unique reports a repeated name in the object whose first name is at first.
func (s *scanner) unique(first int32, count int) error {
	if count > 16 {
		return s.uniqueOfMany(first, count)
	}
	ix := &index{s.data, s.nodes}
	for i := first; i != 0; i = s.nodes[i].next {
		a := &s.nodes[i]
		for j := a.next; j != 0; j = s.nodes[j].next {
			b := &s.nodes[j]
			alike := a.end-a.start == b.end-b.start || a.escaped || b.escaped
			if alike && (value{ix, i}).equalString(value{ix, j}) {
				return s.repeated(j)
			}
		}
	}
	return nil
}

func (s *scanner) uniqueOfMany(first int32, count int) error {
	ix, seen := &index{s.data, s.nodes}, make(map[string]bool, count)
	for i := first; i != 0; i = s.nodes[i].next {
		name := value{ix, i}.str()
		if seen[name] {
			return s.repeated(i)
		}
		seen[name] = true
	}
	return nil
}

func (s *scanner) repeated(i int32) error {
	n := &s.nodes[i]
	return &textError{int(n.start), fmt.Sprintf("name %.60s is repeated", s.data[n.start:n.end]), true}
}

func (s *scanner) array(depth int) error {
	if depth >= maxDepth {
		return s.fail("nested too deeply")
	}
	s.pos++
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for last := -1; ; {
		element := len(s.nodes)
		if last >= 0 {
			s.nodes[last].next = int32(element)
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
		last = element
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.fail("want a comma or ]")
		}
	}
}

// plain returns how many bytes of b, from the start, are neither a control
// character nor a quote nor a backslash. It looks at eight at a time: the lowest
// high bit of odd marks the first byte that is not plain.
func plain[T string | []byte](b T) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := b[n : n+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		if odd := ((x - ones*0x20) | (quote - ones) | (slash - ones)) &^ x & highs; odd != 0 {
			return n + bits.TrailingZeros64(odd)/8
		}
	}
	for n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// string scans a string and reports whether it has escapes.
func (s *scanner) string() (escaped bool, err error) {
	start := s.pos
	s.pos++
	for {
		s.pos += plain(s.data[s.pos:])
		if s.pos >= len(s.data) {
			return false, s.fail("string")
		}
		switch s.data[s.pos] {
		case '"':
			s.pos++
			return escaped, s.utf8(start)
		case '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return false, err
			}
		default:
			return false, s.fail("control character in a string")
		}
	}
}

// utf8 checks what was read since start.
func (s *scanner) utf8(start int) error {
	if utf8.Valid(s.data[start:s.pos]) {
		return nil
	}
	for s.pos = start; ; {
		r, n := utf8.DecodeRune(s.data[s.pos:])
		if r == utf8.RuneError && n == 1 {
			return s.fail("invalid UTF-8")
		}
		s.pos += n
	}
}

func (s *scanner) escape() error {
	s.pos++
	if s.pos < len(s.data) && strings.IndexByte(`"\/bfnrt`, s.data[s.pos]) >= 0 {
		s.pos++
		return nil
	}
	if !s.has('u') {
		return s.fail("unknown escape")
	}
	for range 4 {
		if s.pos >= len(s.data) || !isHex(s.data[s.pos]) {
			return s.fail("want four hexadecimal digits")
		}
		s.pos++
	}
	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scanner) digits() error {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		return s.fail("not JSON")
	}
	return nil
}

func (s *scanner) has(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) number() error {
	s.has('-')
	if !s.has('0') {
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.has('.') {
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.has('e') || s.has('E') {
		_ = s.has('+') || s.has('-')
		return s.digits()
	}
	return nil
}

// present reports whether the value is there and not null.
func (v value) present() bool { return v.ix != nil && v.kind() != kindNull }

func (v value) kind() byte {
	if v.ix == nil {
		return kindNone
	}
	return v.ix.nodes[v.i].kind
}

// raw returns the text of the value, which must not be changed; nil if absent.
func (v value) raw() json.RawMessage {
	if v.ix == nil {
		return nil
	}
	n := &v.ix.nodes[v.i]
	return v.ix.data[n.start:n.end:n.end]
}

// text returns the characters of a string without quotes, escapes resolved.
func (v value) text() []byte {
	raw := v.raw()
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	inner := raw[1 : len(raw)-1]
	if !v.ix.nodes[v.i].escaped {
		return inner
	}
	return unescape(make([]byte, 0, len(inner)), inner)
}

// str is text as a string; "" for anything but a string.
func (v value) str() string { return string(v.text()) }

// is reports whether the value is the string s.
//
// Each look for a member asks it of the names before, so that it goes the short way.
func (v value) is(s string) bool {
	if v.kind() != kindString {
		return false
	}
	if n := &v.ix.nodes[v.i]; !n.escaped {
		return string(v.ix.data[n.start+1:n.end-1]) == s
	}
	return string(v.text()) == s
}

func (v value) equalString(w value) bool { return bytes.Equal(v.text(), w.text()) }

// unescape appends the characters of s, the valid inside of a JSON string, to b.
// A surrogate without its other half becomes U+FFFD.
func unescape(b, s []byte) []byte {
	for len(s) > 0 {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(b, s...)
		}
		b = append(b, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		switch simple := strings.IndexByte("bfnrt", c); {
		case simple >= 0:
			b = append(b, "\b\f\n\r\t"[simple])
		case c != 'u':
			b = append(b, c)
		default:
			r := hex4(s)
			s = s[4:]
			if utf16.IsSurrogate(r) {
				low := rune(0)
				if bytes.HasPrefix(s, []byte(`\u`)) {
					low = hex4(s[2:])
				}
				if r = utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
					s = s[6:]
				}
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

func hex4(s []byte) rune {
	n, _ := strconv.ParseUint(string(s[:4]), 16, 32)
	return rune(n)
}

// member returns the member of an object with the given name.
func (v value) member(name string) value {
	for i := v.inside(kindObject); i != 0; i = v.ix.nodes[i].next {
		if (value{v.ix, i}).is(name) {
			return value{v.ix, i + 1}
		}
	}
	return value{}
}

// members yields the names and values of an object; nothing for other kinds.
func (v value) members() iter.Seq2[value, value] {
	return func(yield func(name, v value) bool) {
		for i := v.inside(kindObject); i != 0; i = v.ix.nodes[i].next {
			if !yield(value{v.ix, i}, value{v.ix, i + 1}) {
				return
			}
		}
	}
}

// items yields the elements of an array; nothing for other kinds.
func (v value) items() iter.Seq[value] {
	return func(yield func(value) bool) {
		for i := v.inside(kindArray); i != 0; i = v.ix.nodes[i].next {
			if !yield(value{v.ix, i}) {
				return
			}
		}
	}
}

// inside is first for a value of the given kind; 0 for others.
func (v value) inside(kind byte) int32 {
	if v.kind() != kind {
		return 0
	}
	return v.first()
}

// first returns the node of the first element or the first name in v; 0: none.
func (v value) first() int32 {
	i := v.i + 1
	if int(i) >= len(v.ix.nodes) || v.ix.nodes[i].start >= v.ix.nodes[v.i].end {
		return 0
	}
	return i
}

// integer returns the value of a number that is mathematically an int64.
func (v value) integer() (int64, bool) {
	n, err := strconv.ParseInt(v.integerText(), 10, 64)
	return n, err == nil
}

// integerText is the function for a value; "" for anything but an integer.
func (v value) integerText() string {
	if v.kind() != kindNumber {
		return ""
	}
	return integerText(string(v.raw()))
}

// integerText returns the one spelling of an integer that JSON lets one write in
// many ways ("1.0" and "10e-1" are "1"); "" if the number is no integer.
// Integers of more than 400 digits keep an exponent; one whose exponent is beyond
// all use stays as it is.
func integerText(number string) string {
	if len(number) < 400 && !strings.ContainsAny(number, ".eE") && number != "-0" {
		return number
	}
	d := parseDecimal([]byte(number))
	switch {
	case d.exp < 0:
		return ""
	case len(d.digits) == 0:
		return "0"
	case d.exp >= maxExponent/2:
		return number
	case d.exp > 400:
		return string(d.append(nil))
	}
	text, _, _ := strings.Cut(string(d.append(nil)), "e")
	return text + strings.Repeat("0", int(d.exp))
}

// A decimal is a number, exactly: digits, as an integer, times ten to the exp. The
// digits have no zeros at either end; zero has none. So there is one decimal for
// each number, however it is spelled, and no exponent is ever written out. One
// beyond maxExponent is taken for that: no text has digits to make up for it.
type decimal struct {
	negative bool
	digits   []byte
	exp      int64
}

const maxExponent = 1 << 40

// parseDecimal reads a JSON number. The digits of an integer are not copied.
func parseDecimal(text []byte) decimal {
	var d decimal
	if d.negative = text[0] == '-'; d.negative {
		text = text[1:]
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		d.exp, _ = strconv.ParseInt(string(text[i+1:]), 10, 64)
		d.exp = max(-maxExponent, min(d.exp, maxExponent))
		text = text[:i]
	}
	if whole, fraction, ok := bytes.Cut(text, []byte(".")); ok {
		text = slices.Concat(whole, fraction)
		d.exp -= int64(len(fraction))
	}
	text = bytes.TrimLeft(text, "0")
	d.digits = bytes.TrimRight(text, "0")
	d.exp += int64(len(text) - len(d.digits))
	if len(d.digits) == 0 {
		return decimal{}
	}
	return d
}

// isInteger reports whether a JSON number is one, which most are by their looks.
func isInteger(text []byte) bool {
	for _, c := range text {
		if c == '.' || c == 'e' || c == 'E' {
			return parseDecimal(text).exp >= 0
		}
	}
	return true
}

// append appends the one spelling of d.
func (d decimal) append(b []byte) []byte {
	if d.negative {
		b = append(b, '-')
	}
	b = append(append(b, d.digits...), 'e')
	return strconv.AppendInt(b, d.exp, 10)
}

// A decodeError says which value does not fit, and why.
type decodeError struct {
	path   string // such as "arguments.names[3]"
	reason string
}

func (e *decodeError) Error() string {
	if e.path == "" {
		return e.reason
	}
	return e.path + ": " + e.reason
}

// in puts a step in front of the path of a decodeError.
func in(step string, err error) error {
	var e *decodeError
	if !errors.As(err, &e) {
		return &decodeError{step, err.Error()}
	}
	if e.path != "" && e.path[0] != '[' {
		step += "."
	}
	return &decodeError{step + e.path, e.reason}
}

func mismatch(want string, v value) error {
	got := map[byte]string{kindNull: "null", kindTrue: "true", kindFalse: "false", kindNumber: "a number",
		kindString: "a string", kindArray: "an array", kindObject: "an object"}[v.kind()]
	return &decodeError{reason: "want " + want + ", got " + got}
}

// decode sets *dst from v. It is like encoding/json, but names match exactly,
// integers may be written in any way (1.0), and numbers in an any are json.Number.
// An absent value or null is an object without members.
func decode(v value, dst any) error {
	d := reflect.ValueOf(dst).Elem()
	if v.present() {
		return decodeValue(v, d, nil)
	}
	if d.Kind() == reflect.Struct {
		return structOf(d.Type()).missing(0)
	}
	return nil
}

// decodeParams decodes parameters whose _meta is decoded already.
func decodeParams(v value, dst any, meta Meta) error {
	d := reflect.ValueOf(dst).Elem()
	info := structOf(d.Type())
	if i, ok := info.byName["_meta"]; ok && meta != nil {
		fieldAt(d, info.fields[i].index).Set(reflect.ValueOf(meta))
	}
	return decode(v, dst)
}

// decodeJSON scans and decodes a copy of a text: what is decoded may keep parts of it.
func decodeJSON(data []byte, dst any) error {
	ix, err := scan(bytes.Clone(data))
	if err != nil {
		return err
	}
	return decode(ix.root(), dst)
}

func decodeValue(v value, dst reflect.Value, f *field) error {
	t := dst.Type()
	null := v.kind() == kindNull
	switch {
	case t == contentType:
		return decodeContent(v, dst)
	case t == rawType && (!null || f == nil || f.nullable):
		dst.SetBytes(v.raw())
		return nil
	case t != rawType && !native(t) && decodesItself(t):
		return decodeForeign(v, dst)
	case null:
		if t.Kind() != reflect.Struct {
			dst.SetZero()
		}
		return nil
	case f != nil && f.quoted:
		if v.kind() != kindString {
			return mismatch("a string", v)
		}
		return decodeJSON(v.text(), dst.Addr().Interface())
	}
	switch t.Kind() {
	case reflect.Pointer:
		if dst.IsNil() {
			dst.Set(reflect.New(t.Elem()))
		}
		return decodeValue(v, dst.Elem(), f)
	case reflect.Struct:
		return decodeStruct(v, dst)
	case reflect.Slice, reflect.Array:
		return decodeList(v, dst, f)
	case reflect.Map:
		return decodeMap(v, dst, f)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return decodeForeign(v, dst)
		}
		dst.Set(reflect.ValueOf(v.any()))
		return nil
	}
	return decodeScalar(v, dst)
}

func decodeScalar(v value, dst reflect.Value) error {
	t := dst.Type()
	switch t.Kind() {
	case reflect.String:
		if v.kind() != kindString {
			return mismatch("a string", v)
		}
		dst.SetString(v.str())
	case reflect.Bool:
		if v.kind() != kindTrue && v.kind() != kindFalse {
			return mismatch("true or false", v)
		}
		dst.SetBool(v.kind() == kindTrue)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(v.integerText(), 10, t.Bits())
		if err != nil {
			return mismatch("an integer that fits "+t.Kind().String(), v)
		}
		dst.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		n, err := strconv.ParseUint(v.integerText(), 10, t.Bits())
		if err != nil {
			return mismatch("an integer that fits "+t.Kind().String(), v)
		}
		dst.SetUint(n)
	case reflect.Float32, reflect.Float64:
		if v.kind() != kindNumber {
			return mismatch("a number", v)
		}
		x, err := strconv.ParseFloat(string(v.raw()), t.Bits())
		if err != nil {
			return &decodeError{reason: fmt.Sprintf("number %.40s is out of range", v.raw())}
		}
		dst.SetFloat(x)
	default:
		return decodeForeign(v, dst)
	}
	return nil
}

// decodeForeign leaves v to encoding/json: types with their own decoding, and
// what cannot be decoded.
func decodeForeign(v value, dst reflect.Value) error {
	d := json.NewDecoder(bytes.NewReader(v.raw()))
	d.UseNumber()
	if err := d.Decode(dst.Addr().Interface()); err != nil {
		return &decodeError{reason: strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}

func decodeStruct(v value, dst reflect.Value) error {
	t := dst.Type()
	if t == base64Type {
		if v.kind() != kindString {
			return mismatch("base64 text", v)
		}
		dst.Set(reflect.ValueOf(Base64{v.str(), true}))
		return nil
	}
	if v.kind() != kindObject {
		return mismatch("an object", v)
	}
	info := structOf(t)
	var seen uint64
	var extra Extra
	for name, w := range v.members() {
		i, ok := info.byName[string(name.text())]
		if !ok {
			if info.extra >= 0 && !(info.head != "" && name.is("type")) && !name.is("resultType") { // which is the envelope's
				if extra == nil {
					extra = Extra{}
				}
				extra[name.str()] = w.raw()
			}
			continue
		}
		f := &info.fields[i]
		if w.kind() != kindNull || f.nullable {
			seen |= 1 << i
		}
		if err := decodeValue(w, fieldAt(dst, f.index), f); err != nil {
			return in(f.name, err)
		}
	}
	if extra != nil {
		dst.Field(info.extra).Set(reflect.ValueOf(extra))
	}
	return info.missing(seen)
}

// fieldAt is FieldByIndex that makes embedded pointers on its way.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// decodeList decodes slices and arrays; an array drops elements it has no room for.
func decodeList(v value, dst reflect.Value, f *field) error {
	t := dst.Type()
	switch {
	case t == propertiesType:
		return decodeProperties(v, dst)
	case t.Elem().Kind() == reflect.Uint8:
		return decodeForeign(v, dst)
	case f != nil && f.list && v.kind() != kindArray:
		dst.Set(reflect.MakeSlice(t, 1, 1))
		return decodeValue(v, dst.Index(0), nil)
	case v.kind() != kindArray:
		return mismatch("an array", v)
	}
	list, grows := dst, t.Kind() == reflect.Slice
	if grows {
		n := 0
		for range v.items() {
			n++
		}
		n = min(n, maxRoom)
		list = reflect.New(t).Elem()
		list.Set(reflect.MakeSlice(t, n, n))
	}
	i := 0
	for item := range v.items() {
		if i == list.Len() {
			if !grows {
				return nil
			}
			list.Grow(1)
			list.SetLen(list.Cap())
		}
		e := list.Index(i)
		err := decodeValue(item, e, nil)
		if err == nil && e.Kind() == reflect.Pointer && e.IsNil() && native(e.Type().Elem()) {
			err = mismatch("an object", item)
		}
		switch {
		case err == nil:
			i++
		case f != nil && f.skipBad:
			e.SetZero()
		default:
			return in("["+strconv.Itoa(i)+"]", err)
		}
	}
	if grows {
		dst.Set(list.Slice(0, i))
	}
	return nil
}

func decodeMap(v value, dst reflect.Value, f *field) error {
	t := dst.Type()
	if v.kind() != kindObject {
		return mismatch("an object", v)
	}
	if t == metaType { // which every message may have
		if !dst.IsNil() {
			return nil // decodeParams has set it
		}
		dst.Set(reflect.ValueOf(decodeMeta(v)))
		return nil
	}
	m := reflect.MakeMap(t)
	for name, w := range v.members() {
		e := reflect.New(t.Elem()).Elem()
		if w.kind() == kindNull && f != nil && !f.nullable && e.Kind() == reflect.String {
			return in(name.str(), mismatch("a string", w))
		}
		if err := decodeValue(w, e, nil); err != nil {
			return in(name.str(), err)
		}
		key := reflect.New(t.Key()).Elem()
		if err := decodeKey(name, key); err != nil {
			return in(name.str(), err)
		}
		m.SetMapIndex(key, e)
	}
	dst.Set(m)
	return nil
}

// decodeMeta reads an object, but for some members.
func decodeMeta(v value, but ...string) Meta {
	m := make(Meta)
	for name, w := range v.members() {
		if !slices.ContainsFunc(but, name.is) {
			m[name.str()] = w.any()
		}
	}
	return m
}

// decodeKey decodes the key of a map: a number has quotes only there.
func decodeKey(name value, dst reflect.Value) error {
	if (dst.CanInt() || dst.CanUint()) && !decodesItself(dst.Type()) {
		return decodeJSON(name.text(), dst.Addr().Interface())
	}
	return decodeValue(name, dst, nil)
}

func decodeContent(v value, dst reflect.Value) error {
	if v.kind() != kindObject {
		return mismatch("a content block", v)
	}
	kind := v.member("type")
	if kind.kind() != kindString {
		return &decodeError{"type", "missing"}
	}
	c := newContent(kind.str())
	if c == nil {
		dst.Set(reflect.ValueOf(Content(&UnknownContent{kind.str(), v.raw()})))
		return nil
	}
	dst.Set(reflect.ValueOf(c))
	return decodeStruct(v, reflect.ValueOf(c).Elem())
}

func decodeProperties(v value, dst reflect.Value) error {
	if v.kind() != kindObject {
		return mismatch("an object", v)
	}
	p := Properties{}
	for name, w := range v.members() {
		s := &PrimitiveSchema{}
		if err := decodeStruct(w, reflect.ValueOf(s).Elem()); err != nil {
			return in(name.str(), err)
		}
		p = append(p, Property{name.str(), s})
	}
	dst.Set(reflect.ValueOf(p))
	return nil
}

// any returns the value as encoding/json would, with json.Number for numbers.
func (v value) any() any {
	switch v.kind() {
	case kindTrue, kindFalse:
		return v.kind() == kindTrue
	case kindNumber:
		return json.Number(v.raw())
	case kindString:
		return v.str()
	case kindArray:
		list := []any{}
		for item := range v.items() {
			list = append(list, item.any())
		}
		return list
	case kindObject:
		m := map[string]any{}
		for name, w := range v.members() {
			m[name.str()] = w.any()
		}
		return m
	}
	return nil
}

var (
	jsonNumberType = reflect.TypeFor[json.Number]()
	rawType        = reflect.TypeFor[json.RawMessage]()
	contentType    = reflect.TypeFor[Content]()
	contentsType   = reflect.TypeFor[[]Content]()
	base64Type     = reflect.TypeFor[Base64]()
	metaType       = reflect.TypeFor[Meta]()
	propertiesType = reflect.TypeFor[Properties]()
	extraType      = reflect.TypeFor[Extra]()

	jsonDecoderType = reflect.TypeFor[json.Unmarshaler]()
	jsonEncoderType = reflect.TypeFor[json.Marshaler]()
	textDecoderType = reflect.TypeFor[encoding.TextUnmarshaler]()
	textEncoderType = reflect.TypeFor[encoding.TextMarshaler]()
	pkgPath         = reflect.TypeFor[Tool]().PkgPath()
)

// native reports whether t is one of the protocol's types, whose MarshalJSON and
// UnmarshalJSON call back to this file. A type that hides what it holds, such as an
// ID, does not: it has a text of its own. Nor does a number, such as Milliseconds.
func native(t reflect.Type) bool {
	hidden := t.Kind() == reflect.Struct && t.NumField() > 0 && !t.Field(0).IsExported() && t != base64Type || t.Kind() == reflect.Int64
	return t.PkgPath() == pkgPath && unicode.IsUpper(rune(t.Name()[0])) && !hidden
}

// foreign reports whether t says itself how it is read from or written to JSON.
func foreign(t reflect.Type) bool {
	return decodesItself(t) || implements(t, jsonEncoderType, textEncoderType)
}

func decodesItself(t reflect.Type) bool {
	return t == jsonNumberType || implements(t, jsonDecoderType, textDecoderType)
}

// implements reports whether t, itself and not as a pointer or interface, has one of
// the interfaces.
func implements(t reflect.Type, interfaces ...reflect.Type) bool {
	own := t.Kind() != reflect.Interface && (t.PkgPath() != "" || t.Kind() == reflect.Struct)
	return own && slices.ContainsFunc(interfaces, reflect.PointerTo(t).Implements)
}

// A field is a member of a JSON object that a struct field stands for.
type field struct {
	name       string
	key        string // the name in quotes, and a colon
	index      []int
	typ        reflect.Type
	tag        reflect.StructTag
	required   bool
	omitEmpty  bool
	omitZero   bool
	quoted     bool     // the ",string" option
	since      revision // the first that has it; zero: all have
	until      revision // the last that has it; zero: all that follow have
	list       bool     // one element may stand for a list of one
	object     bool     // only objects are written up to 2025-11-25
	skipBad    bool     // elements that do not fit are left out
	nullable   bool     // null is a value
	unlessBlob bool     // written only where there is no blob
	tagged     bool
}

// A structInfo says how a struct type and a JSON object correspond.
type structInfo struct {
	fields   []field
	byName   map[string]int
	required uint64 // bits of fields
	extra    int    // index of the field for other members; -1: none
	head     string // of a content block: its type member
	native   bool
}

// missing returns an error that names a required field without its bit in seen.
func (info *structInfo) missing(seen uint64) error {
	if m := info.required &^ seen; m != 0 {
		return &decodeError{info.fields[bits.TrailingZeros64(m)].name, "missing"}
	}
	return nil
}

var structs sync.Map // reflect.Type to *structInfo

func structOf(t reflect.Type) *structInfo {
	if info, ok := structs.Load(t); ok {
		return info.(*structInfo)
	}
	info := &structInfo{fields: jsonFields(t), byName: map[string]int{}, extra: -1, native: native(t)}
	if c, ok := reflect.New(t).Interface().(Content); ok {
		info.head = `"type":"` + c.kind() + `",`
	}
	for i := range info.fields {
		f := &info.fields[i]
		info.byName[f.name] = i
		if f.nullable = !info.native; !f.nullable {
			f.protocolTags()
		}
		if f.required {
			info.required |= 1 << i
		}
	}
	if f, ok := t.FieldByName("Extra"); ok && info.native && f.Type == extraType {
		info.extra = f.Index[0]
	}
	actual, _ := structs.LoadOrStore(t, info)
	return actual.(*structInfo)
}

// jsonFields lists the members of t as encoding/json does: the fields of embedded
// structs count as t's, the shallowest field of a name wins, a tagged one among
// equals, and otherwise none. An embedded pointer that cannot be set is left out.
func jsonFields(t reflect.Type) []field {
	found := appendFields(nil, t, nil, nil)
	best := map[string]*field{}
	for i := range found {
		f := &found[i]
		b, ok := best[f.name]
		switch {
		case !ok || len(f.index) < len(b.index) || len(f.index) == len(b.index) && f.tagged && !b.tagged:
			best[f.name] = f
		case len(f.index) == len(b.index) && f.tagged == b.tagged:
			best[f.name] = &field{index: b.index, tagged: b.tagged} // neither
		}
	}
	return slices.DeleteFunc(found, func(f field) bool {
		b := best[f.name]
		return b.key == "" || !slices.Equal(b.index, f.index)
	})
}

// appendFields appends the fields of t, which stands at index, inside the types of
// path.
func appendFields(found []field, t reflect.Type, path []reflect.Type, index []int) []field {
	path = append(slices.Clip(path), t)
	for i := range t.NumField() {
		sf := t.Field(i)
		ft := sf.Type
		if ft.Kind() == reflect.Pointer && ft.Name() == "" {
			ft = ft.Elem()
		}
		embeds := sf.Anonymous && ft.Kind() == reflect.Struct
		tag := sf.Tag.Get("json")
		if tag == "-" || !sf.IsExported() && (!embeds || ft != sf.Type) {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		f := field{name: name, tagged: name != "", index: append(slices.Clip(index), i), typ: sf.Type, tag: sf.Tag}
		switch {
		case f.tagged:
		case embeds:
			if !slices.Contains(path, ft) {
				found = appendFields(found, ft, path, f.index)
			}
			continue
		default:
			f.name = sf.Name
		}
		f.key = string(appendString(nil, f.name)) + ":"
		for o := range strings.SplitSeq(options, ",") {
			f.omitEmpty = f.omitEmpty || o == "omitempty"
			f.omitZero = f.omitZero || o == "omitzero"
			f.quoted = f.quoted || o == "string" && (reflect.Bool <= ft.Kind() && ft.Kind() <= reflect.Float64 || ft.Kind() == reflect.String)
		}
		found = append(found, f)
	}
	return found
}

// protocolTags reads the tags of the protocol's own types: the revisions that have
// the member, and how it departs from the ordinary.
func (f *field) protocolTags() {
	f.since, f.until = parseRevision(f.tag.Get("since")), parseRevision(f.tag.Get("until"))
	for o := range strings.SplitSeq(f.tag.Get("mcp"), ",") {
		switch o {
		case "required":
			f.required = true
		case "list":
			f.list = true
		case "object":
			f.object, f.nullable = true, true
		case "any":
			f.nullable = true
		case "skip-bad":
			f.skipBad = true
		case "unless-blob":
			f.unlessBlob = true
		}
	}
}

// A reviser replaces itself where a revision cannot express it.
type reviser interface{ revise(revision) any }

// An appender writes itself.
type appender interface {
	appendTo(b []byte, rev revision) ([]byte, error)
}

// appendJSON appends v for a peer that speaks rev. Members that rev lacks are
// left out, content that it lacks is replaced.
func appendJSON(b []byte, v any, rev revision) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case appender:
		return v.appendTo(b, rev)
	}
	return appendValue(b, reflect.ValueOf(v), nil, rev)
}

func appendValue(b []byte, v reflect.Value, f *field, rev revision) ([]byte, error) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return b, &decodeError{reason: "missing"}
	}
	switch t := v.Type(); t.Kind() {
	case reflect.Pointer:
		switch x := v.Interface().(type) {
		case *UnknownContent:
			return appendRaw(b, x.Raw)
		case reviser:
			if w := x.revise(rev); w != x {
				return appendJSON(b, w, rev)
			}
		}
		return appendValue(b, v.Elem(), f, rev)
	case reflect.Struct:
		if t == base64Type {
			return appendString(b, v.Interface().(Base64).text), nil
		}
		if info := structOf(t); info.native {
			return appendStruct(b, v, info, rev, 0)
		}
	case reflect.Slice:
		switch {
		case t == rawType:
			if v.Len() == 0 && f != nil && f.required {
				return append(b, "{}"...), nil
			}
			return appendRaw(b, v.Bytes())
		case t == propertiesType:
			return appendProperties(b, v.Interface().(Properties), rev)
		case t == contentsType && f != nil && f.list && v.Len() == 1:
			return appendValue(b, v.Index(0), nil, rev)
		case t.Elem().Kind() != reflect.Uint8:
			return appendItems(b, v, true, rev, 0)
		}
	}
	return appendAny(b, v, 0)
}

// appendStruct appends a struct, of the protocol or of the application.
func appendStruct(b []byte, v reflect.Value, info *structInfo, rev revision, depth int) ([]byte, error) {
	b = append(b, '{')
	first := len(b)
	b = append(b, info.head...)
	for i := range info.fields {
		f := &info.fields[i]
		w, err := v.FieldByIndexErr(f.index) // an error: behind a nil pointer
		absent := err != nil || !info.native && w.Kind() == reflect.Pointer && w.IsNil()
		if absent || f.since > rev || f.until > 0 && f.until < rev || f.omits(w, v, rev) {
			continue
		}
		b = append(b, f.key...)
		start := len(b)
		if info.native {
			b, err = appendValue(b, w, f, rev)
		} else {
			b, err = appendAny(b, w, depth+1)
		}
		if err != nil {
			return b, in(f.name, err)
		}
		if f.quoted {
			b = appendString(b[:start], string(b[start:]))
		}
		b = append(b, ',')
	}
	if info.extra >= 0 && v.Field(info.extra).Len() > 0 {
		extra := v.Field(info.extra).Interface().(Extra)
		for _, name := range sortedKeys(extra) {
			if _, known := info.byName[name]; known || info.head != "" && name == "type" {
				continue
			}
			var err error
			if b, err = appendRaw(append(appendString(b, name), ':'), extra[name]); err != nil {
				return b, in(name, err)
			}
			b = append(b, ',')
		}
	}
	if len(b) > first {
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

func (f *field) omits(w, parent reflect.Value, rev revision) bool {
	switch {
	case f.unlessBlob:
		return !parent.FieldByName("Blob").IsZero()
	case f.object && w.Len() > 0 && !rev.alone():
		return !bytes.HasPrefix(bytes.TrimSpace(w.Bytes()), []byte("{"))
	case f.omitEmpty && empty(w):
		return true
	case f.omitZero:
		if z, ok := w.Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
		return w.IsZero()
	}
	return false
}

// empty is the idea of "omitempty".
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func appendProperties(b []byte, p Properties, rev revision) ([]byte, error) {
	b = append(b, '{')
	for i, f := range p {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendJSON(append(appendString(b, f.Name), ':'), f.Schema, rev); err != nil {
			return b, in(f.Name, err)
		}
	}
	return append(b, '}'), nil
}

// appendAny appends a value of the application as encoding/json does, but for what
// the schema of its type does not allow: a nil slice is [] or "", a nil map is {},
// and a member that is a nil pointer is left out. It is to decode what json.Marshal is to
// json.Unmarshal.
func appendAny(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth > maxDepth {
		return b, &decodeError{reason: "nested too deeply"}
	}
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	t := v.Type()
	switch {
	case t == rawType:
		return appendRaw(b, v.Bytes())
	case t == metaType:
		return appendMeta(b, nil, v.Interface().(Meta), depth)
	case t.Kind() == reflect.Struct && native(t):
		return appendValue(b, v, nil, newest)
	case foreign(t):
		return appendForeign(b, v)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if t.Kind() == reflect.Pointer && !v.IsNil() && t.Elem().Kind() == reflect.Struct && native(t.Elem()) {
			return appendValue(b, v, nil, newest)
		}
		return appendAny(b, v.Elem(), depth+1)
	case reflect.Struct:
		return appendStruct(b, v, structOf(t), newest, depth)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			return appendItems(b, v, false, newest, depth)
		}
		if v.Len() == 0 {
			return append(b, `""`...), nil
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !foreign(t.Key()) {
			return appendEntries(b, v, depth)
		}
	case reflect.String:
		return appendString(b, v.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Float64:
		if x := v.Float(); x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return strconv.AppendInt(b, int64(x), 10), nil
		}
	}
	return appendForeign(b, v)
}

// appendItems appends a list, whose elements are of the protocol or of the application.
func appendItems(b []byte, v reflect.Value, native bool, rev revision, depth int) (_ []byte, err error) {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if native {
			b, err = appendValue(b, v.Index(i), nil, rev)
		} else {
			b, err = appendAny(b, v.Index(i), depth+1)
		}
		if err != nil {
			return b, in("["+strconv.Itoa(i)+"]", err)
		}
	}
	return append(b, ']'), nil
}

// appendMeta appends an object of members that are text already, and those of m.
func appendMeta(b, members []byte, m Meta, depth int) (_ []byte, err error) {
	b = append(append(b, '{'), members...)
	for i, key := range sortedKeys(m) {
		if i > 0 || len(members) > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, key), ':')
		if b, err = appendAny(b, reflect.ValueOf(m[key]), depth+1); err != nil {
			return b, in(key, err)
		}
	}
	return append(b, '}'), nil
}

func appendEntries(b []byte, v reflect.Value, depth int) (_ []byte, err error) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, key.String()), ':')
		if b, err = appendAny(b, v.MapIndex(key), depth+1); err != nil {
			return b, in(key.String(), err)
		}
	}
	return append(b, '}'), nil
}

// appendForeign leaves v to encoding/json: types with their own encoding, bytes,
// fractions, and what else is rare.
func appendForeign(b []byte, v reflect.Value) ([]byte, error) {
	x := v.Interface()
	if v.CanAddr() {
		x = v.Addr().Interface() // for methods of the pointer
	}
	w := bytes.NewBuffer(b)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return b, err
	}
	return bytes.TrimSuffix(w.Bytes(), []byte("\n")), nil
}

// appendRaw appends JSON text that came from outside, on one line.
func appendRaw(b []byte, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return append(b, "null"...), nil
	}
	ix := indexes.Get().(*index)
	defer ix.release()
	if err := ix.scan(raw); err != nil {
		return b, err
	}
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(b, raw...), nil
	}
	w := bytes.NewBuffer(b)
	err := json.Compact(w, raw)
	return w.Bytes(), err
}

var indexes = sync.Pool{New: func() any { return new(index) }}

// release gives ix back to the pool; no value may refer to it any more.
func (ix *index) release() {
	ix.data = nil
	if cap(ix.nodes) <= 1<<14 {
		indexes.Put(ix)
	}
}

// appendString appends s as a JSON string. Only what JSON demands is escaped.
// Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	b = append(slices.Grow(b, len(s)+2), '"')
	for {
		n := plain(s)
		b = append(b, s[:n]...)
		if n == len(s) {
			return append(b, '"')
		}
		c := s[n]
		if i := strings.IndexByte("\"\\\n\t\r", c); i >= 0 {
			b = append(b, '\\', `"\ntr`[i])
		} else {
			b = append(b, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
		s = s[n+1:]
	}
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }

// marshal encodes a value of the application.
func marshal(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	p := reflect.New(reflect.TypeOf(v)).Elem() // can be addressed
	p.Set(reflect.ValueOf(v))
	return appendAny(nil, p, 0)
}

func marshalNewest(v any) ([]byte, error) { return appendJSON(nil, v, newest) }

// MarshalJSON and UnmarshalJSON exist where encoding/json alone would not see the
// wire form. They write the newest revision's form.

// MarshalJSON writes the base64 text as a string.
func (b Base64) MarshalJSON() ([]byte, error) { return appendString(nil, b.text), nil }

// UnmarshalJSON reads a string; whether it is base64 is for Bytes to say.
func (b *Base64) UnmarshalJSON(data []byte) error { return decodeJSON(data, b) }

// MarshalJSON writes an object, its members in order.
func (p Properties) MarshalJSON() ([]byte, error) { return appendProperties(nil, p, newest) }

// UnmarshalJSON reads an object, and keeps the order of its members.
func (p *Properties) UnmarshalJSON(d []byte) error { return decodeJSON(d, p) }

// MarshalJSON writes the newest revision's form.
func (i *Implementation) MarshalJSON() ([]byte, error) { return marshalNewest(i) }

// MarshalJSON writes the newest revision's form.
func (c *ServerCapabilities) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// MarshalJSON writes the newest revision's form.
func (t *Tool) MarshalJSON() ([]byte, error) { return marshalNewest(t) }

// MarshalJSON writes the newest revision's form.
func (r *Resource) MarshalJSON() ([]byte, error) { return marshalNewest(r) }

// MarshalJSON writes the newest revision's form.
func (t *ResourceTemplate) MarshalJSON() ([]byte, error) { return marshalNewest(t) }

// MarshalJSON writes the newest revision's form.
func (p *Prompt) MarshalJSON() ([]byte, error) { return marshalNewest(p) }

// MarshalJSON writes the newest revision's form.
func (r *GetPromptResult) MarshalJSON() ([]byte, error) { return marshalNewest(r) }

// MarshalJSON writes the newest revision's form.
func (r *ReadResourceResult) MarshalJSON() ([]byte, error) { return marshalNewest(r) }

// MarshalJSON writes the newest revision's form.
func (r *CallToolResult) MarshalJSON() ([]byte, error) { return marshalNewest(r) }

// UnmarshalJSON reads the form of any revision.
func (r *CallToolResult) UnmarshalJSON(data []byte) error { return decodeJSON(data, r) }

// MarshalJSON writes the newest revision's form.
func (r *ResourceContents) MarshalJSON() ([]byte, error) { return marshalNewest(r) }

// MarshalJSON writes the newest revision's form.
func (m *PromptMessage) MarshalJSON() ([]byte, error) { return marshalNewest(m) }

// UnmarshalJSON reads the form of any revision.
func (m *PromptMessage) UnmarshalJSON(data []byte) error { return decodeJSON(data, m) }

// MarshalJSON writes the newest revision's form.
func (m *SamplingMessage) MarshalJSON() ([]byte, error) { return marshalNewest(m) }

// UnmarshalJSON reads the form of any revision.
func (m *SamplingMessage) UnmarshalJSON(data []byte) error { return decodeJSON(data, m) }

// MarshalJSON writes the newest revision's form.
func (r *CreateMessageResult) MarshalJSON() ([]byte, error) { return marshalNewest(r) }

// UnmarshalJSON reads the form of any revision.
func (r *CreateMessageResult) UnmarshalJSON(d []byte) error { return decodeJSON(d, r) }

// MarshalJSON writes the block with its "type", in the newest revision's form.
func (c *TextContent) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// MarshalJSON writes the block with its "type", in the newest revision's form.
func (c *ImageContent) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// MarshalJSON writes the block with its "type", in the newest revision's form.
func (c *AudioContent) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// MarshalJSON writes the block with its "type", in the newest revision's form.
func (c *ResourceLink) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// MarshalJSON writes the newest revision's form.
func (c *EmbeddedResource) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// MarshalJSON writes the block with its "type", in the newest revision's form.
func (c *ToolUseContent) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// MarshalJSON writes the block with its "type", in the newest revision's form.
func (c *ToolResultContent) MarshalJSON() ([]byte, error) { return marshalNewest(c) }

// UnmarshalJSON reads the form of any revision.
func (c *ToolResultContent) UnmarshalJSON(d []byte) error { return decodeJSON(d, c) }

// MarshalJSON writes the block as it was received.
func (c *UnknownContent) MarshalJSON() ([]byte, error) { return appendRaw(nil, c.Raw) }

// What a revision lacks becomes what it has.

func (c *ClientCapabilities) revise(rev revision) any {
	if rev.rich() || c.Elicitation == nil || c.Elicitation.form() {
		return c
	}
	d := *c
	d.Elicitation = nil // what is left of it would mean forms
	return &d
}

func (c *AudioContent) revise(rev revision) any {
	if rev.audio() {
		return c
	}
	data, _ := c.Data.Bytes()
	return &TextContent{Text: fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(data)), Annotations: c.Annotations}
}

func (c *ResourceLink) revise(rev revision) any {
	if rev.links() {
		return c
	}
	return &TextContent{Text: fmt.Sprintf("[resource %s: %s]", c.Name, c.URI), Annotations: c.Annotations}
}

// revise gives the title a place that 2025-03-26 knows, and drops an output schema
// that is not one of objects where results are.
func (t *Tool) revise(rev revision) any {
	titled := t.Title != "" && rev.audio() && !rev.links() && (t.Annotations == nil || t.Annotations.Title == "")
	odd := t.OutputSchema != nil && !rev.alone() && !objectSchema(t.OutputSchema)
	if !titled && !odd {
		return t
	}
	c, a := *t, ToolAnnotations{}
	if odd {
		c.OutputSchema = nil
	}
	if titled {
		if t.Annotations != nil {
			a = *t.Annotations
		}
		a.Title, c.Title, c.Annotations = t.Title, "", &a
	}
	return &c
}

// objectSchema reports whether a schema's root demands an object.
func objectSchema(schema json.RawMessage) bool {
	ix, err := scan(schema)
	return err == nil && ix.root().member("type").is("object")
}
