package mcp

// URIs and URI templates (RFC 6570). A server reads a template backwards, from the
// URI a client asks for to the variables; a client expands it. It stands alone: server.go
// finds resources with it, applications of a client make URIs.

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ExpandURITemplate makes the URI of a [ResourceTemplate] from values of its variables
// (RFC 6570, levels 1 to 3). A variable that vars lacks is undefined and leaves nothing
// behind; a variable that the template lacks is an error. Values are plain text, not
// percent-encoded. In {/x*} a value is the segments of a path, joined with "/"; elsewhere
// "*" changes nothing, as RFC 6570 has it for values that are not lists. The prefix
// modifier of {x:3} is refused.
func ExpandURITemplate(template string, vars map[string]string) (uri string, err error) {
	t, err := parseURITemplate(template)
	if err == nil {
		uri, err = t.expand(vars)
	}
	if err != nil {
		return "", fmt.Errorf("mcp: %w", err)
	}
	return uri, nil
}

// A uriTemplate is a parsed template, immutable. What it accepts stands at
// [ExpandURITemplate], how it is read backwards at match.
type uriTemplate struct {
	text      string
	parts     []uriPart // the first is a literal: it has the scheme
	variables []string
	known     map[string]bool // the variables again
	orders    []bool          // the values of uriMatch.anyOrder to try
}

// A uriPart is a literal or, if it has an operator, an expression.
type uriPart struct {
	literal string
	op      *uriOperator
	vars    []uriVar
	base    int // the number of vars[0] among the template's variables
}

// A uriVar is a variable as its operator and its modifier have it.
type uriVar struct {
	name string
	keep string // characters that expand as they are; "%" stands for whole escapes
	stop string // characters that end a value, unless they are percent-encoded
}

// A uriOperator is a column of the table in RFC 6570, appendix A.
type uriOperator struct {
	first, sep string // before the first value, and before each further one
	named      bool   // name=value
	keep, stop string // see uriVar
}

const (
	uriReserved  = ":/?#[]@!$&'()*+,;="
	uriLetters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	uriDigits    = "0123456789"
	uriPlain     = uriLetters + uriDigits + "-._~" // "unreserved" in RFC 3986
	uriNameChars = uriLetters + uriDigits + "_"
)

var uriOperators = map[string]*uriOperator{
	"":  {sep: ",", stop: "/?#"},
	"+": {sep: ",", keep: uriReserved + "%"},
	"#": {first: "#", sep: ",", keep: uriReserved + "%"},
	".": {first: ".", sep: ".", stop: "/?#"},
	"/": {first: "/", sep: "/", stop: "/?#"},
	";": {first: ";", sep: ";", named: true, stop: "/?#;"},
	"?": {first: "?", sep: "&", named: true, stop: "&#"},
	"&": {first: "&", sep: "&", named: true, stop: "&#"},
}

// parseURITemplate refuses what [ExpandURITemplate] does not expand, a variable used
// twice, and a template whose scheme is not literal: what it matches would be anything.
func parseURITemplate(s string) (*uriTemplate, error) {
	t := &uriTemplate{text: s, known: map[string]bool{}, orders: []bool{false}}
	if err := t.parse(); err != nil {
		return nil, fmt.Errorf("URI template %.200q: %w", s, err)
	}
	return t, nil
}

func (t *uriTemplate) parse() error {
	literal, rest, more := strings.Cut(t.text, "{")
	if err := checkURIScheme(literal); err != nil {
		return err
	}
	for {
		if err := checkURILiteral(literal); err != nil {
			return err
		}
		if literal != "" {
			t.parts = append(t.parts, uriPart{literal: literal})
		}
		if !more {
			return nil
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed {
			return fmt.Errorf("%q lacks its closing brace", "{"+expression)
		}
		if err := t.parseExpression(expression); err != nil {
			return fmt.Errorf("%q: %w", "{"+expression+"}", err)
		}
		literal, rest, more = strings.Cut(after, "{")
	}
}

// checkURILiteral allows more than RFC 6570, 2.1: a space or a quote has one possible meaning.
func checkURILiteral(s string) error {
	for i, r := range s {
		_, size := uriChar(s, i)
		if r == '}' || unicode.IsControl(r) || size == 0 {
			return fmt.Errorf("%q at byte %d of %q must be percent-encoded", r, i, s)
		}
	}
	return nil
}

func (t *uriTemplate) parseExpression(s string) error {
	op := uriOperators[""]
	if s != "" && uriOperators[s[:1]] != nil {
		op, s = uriOperators[s[:1]], s[1:]
	}
	part := uriPart{op: op, base: len(t.variables)}
	for spec := range strings.SplitSeq(s, ",") {
		if _, length, ok := strings.Cut(spec, ":"); ok {
			return fmt.Errorf("the prefix modifier %q is not supported", ":"+length)
		}
		name, explode := strings.CutSuffix(spec, "*")
		switch {
		case !validURIVariable(name):
			return fmt.Errorf("%q is no variable name: want letters, digits, \"_\" and escapes, with single dots between", name)
		case t.known[name]:
			return fmt.Errorf("the variable %q stands twice in the template", name)
		}
		t.known[name] = true
		v := uriVar{name: name, keep: op.keep, stop: op.stop}
		if explode && op.first == "/" {
			v.keep, v.stop = "/", "?#"
		}
		part.vars = append(part.vars, v)
		t.variables = append(t.variables, name)
	}
	t.parts = append(t.parts, part)
	if op.named && len(part.vars) > 1 {
		t.orders = []bool{false, true}
	}
	return nil
}

// validURIVariable holds a name to "varname" of RFC 6570, 2.3.
func validURIVariable(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" {
			return false
		}
		for i := 0; i < len(label); i++ {
			if _, escape := uriEscape(label, i); !escape && !uriHas(uriNameChars, label[i]) {
				return false
			}
		}
	}
	return true
}

// names returns the variables in the order of the template.
func (t *uriTemplate) names() []string { return slices.Clone(t.variables) }

func (t *uriTemplate) expand(vars map[string]string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if !t.known[name] {
			return "", fmt.Errorf("URI template %.200q has no variable %q", t.text, name)
		}
	}
	var b []byte
	for _, part := range t.parts {
		if part.op == nil {
			b = appendURI(b, part.literal, uriReserved+"%")
		} else {
			b = part.append(b, vars)
		}
	}
	return string(b), nil
}

func (part *uriPart) append(b []byte, vars map[string]string) []byte {
	lead := part.op.first
	for _, v := range part.vars {
		value, defined := vars[v.name]
		if !defined {
			continue
		}
		b = append(b, lead...)
		lead = part.op.sep
		if part.op.named {
			b = append(b, v.name...)
			if value != "" || part.op.first != ";" {
				b = append(b, '=')
			}
		}
		b = appendURI(b, value, v.keep)
	}
	return b
}

func appendURI(b []byte, s, keep string) []byte {
	for i := 0; i < len(s); i++ {
		_, escape := uriEscape(s, i)
		if uriHas(uriPlain, s[i]) || uriHas(keep, s[i]) && (escape || s[i] != '%') {
			b = append(b, s[i])
		} else {
			b = fmt.Appendf(b, "%%%02X", s[i])
		}
	}
	return b
}

// match reads uri as an expansion of t and returns the values of the variables, each
// percent-decoded once; undefined variables are absent. Raw and percent-encoded text are
// equal, except that an encoded reserved character is never a delimiter.
//
// A value of {x} ends before "/", "?" and "#". {+x} and {#x} read any character, {/x*} any
// but "?" and "#": its value is the rest of a path, "a/b/c". {x} and {+x} need at least one
// character; other expressions may be absent. The parameters of {?x,y}, {&x,y} and {;x,y}
// come in any order, each once at most; one without "=" is empty.
//
// If there are several readings, the leftmost value that differs is the shortest that lets
// the rest match, and a variable that can be read is not left out. Parameters are read out
// of the template's order only if they cannot be read in it; where the value before them
// can hold parameters too, such a reading may be missed.
//
// The time grows with len(uri) times the size of the template, whatever the text.
func (t *uriTemplate) match(uri string) (vars map[string]string, ok bool) {
	if _, ok := skipURI(uri, 0, t.parts[0].literal); !ok {
		return nil, false
	}
	states := (len(t.parts) + len(t.variables)) * (len(uri) + 1)
	for _, anyOrder := range t.orders {
		m := uriMatch{t, uri, anyOrder, make([]uriSpan, len(t.variables)), make([]uint64, states/64+1)}
		if m.part(0, 0) {
			return m.values(), true
		}
	}
	return nil, false
}

// A uriMatch is one search for a reading. It goes from left to right and back on failure,
// but never twice to the same place in the same state: that is what keeps it linear.
type uriMatch struct {
	*uriTemplate
	uri      string
	anyOrder bool      // of the parameters of one expression
	spans    []uriSpan // by variable
	seen     []uint64  // a bit for each place in uri and each part and variable
}

// A uriSpan is where a value stands. No value ends at 0: the zero span is an undefined one.
type uriSpan struct{ start, end int }

// again reports whether the search was in this state at uri[p:] before, and marks it.
func (m *uriMatch) again(state, p int) bool {
	n := state*(len(m.uri)+1) + p
	word, bit := &m.seen[n/64], uint64(1)<<(n%64)
	seen := *word&bit != 0
	*word |= bit
	return seen
}

// part reads all parts from the i-th on.
func (m *uriMatch) part(i, p int) bool {
	if i == len(m.parts) {
		return p == len(m.uri)
	}
	if m.again(i, p) {
		return false
	}
	part := &m.parts[i]
	if part.op != nil {
		return m.list(i, 0, part.op.first, p)
	}
	p, ok := skipURI(m.uri, p, part.literal)
	return ok && m.part(i+1, p)
}

// list reads the variables of the i-th part from the k-th on, or none, and all parts after
// it. Without a lead, which is at the beginning of {x} and {+x}, one is needed.
func (m *uriMatch) list(i, k int, lead string, p int) bool {
	part := &m.parts[i]
	end := min(k+1, len(part.vars))
	if part.op.named {
		end = len(part.vars)
		if m.anyOrder {
			k = 0
		}
	}
	for ; k < end; k++ {
		if m.spans[part.base+k].end == 0 && m.variable(i, k, lead, p) {
			return true
		}
	}
	return lead != "" && m.part(i+1, p)
}

// variable reads the k-th variable of the i-th part after lead, and all that follows.
func (m *uriMatch) variable(i, k int, lead string, p int) bool {
	part := &m.parts[i]
	p, ok := skipURI(m.uri, p, lead)
	if !ok || !part.op.named {
		return ok && m.value(i, k, p, lead == "")
	}
	if p, ok = skipURI(m.uri, p, part.vars[k].name); !ok {
		return false
	}
	if q, ok := skipURI(m.uri, p, "="); ok && m.value(i, k, q, false) {
		return true
	}
	span := &m.spans[part.base+k]
	*span = uriSpan{p, p}
	if m.list(i, k+1, part.op.sep, p) {
		return true
	}
	*span = uriSpan{}
	return false
}

// value tries the values that start at p, the shortest first.
func (m *uriMatch) value(i, k, p int, nonempty bool) bool {
	part := &m.parts[i]
	span := &m.spans[part.base+k]
	for q := p; ; {
		if q > p || !nonempty {
			if m.again(len(m.parts)+part.base+k, q) {
				break
			}
			*span = uriSpan{p, q}
			if m.list(i, k+1, part.op.sep, q) {
				return true
			}
		}
		c, size := uriChar(m.uri, q)
		if size == 0 || c < uriEncoded && uriHas(part.vars[k].stop, byte(c)) {
			break
		}
		q += size
	}
	*span = uriSpan{}
	return false
}

func (m *uriMatch) values() map[string]string {
	vars := make(map[string]string, len(m.spans))
	for i, span := range m.spans {
		if span.end > 0 {
			vars[m.variables[i]], _ = url.PathUnescape(m.uri[span.start:span.end]) // uriChar saw its escapes
		}
	}
	return vars
}

// skipURI returns the place after literal, if it stands at s[p:] in any encoding.
func skipURI(s string, p int, literal string) (int, bool) {
	for i := 0; i < len(literal); {
		want, n := uriChar(literal, i)
		got, size := uriChar(s, p)
		if size == 0 || got != want {
			return p, false
		}
		i, p = i+n, p+size
	}
	return p, true
}

// uriEncoded marks a reserved character that is percent-encoded: it is data, where the
// raw one may be a delimiter (RFC 3986, 2.2). Other characters mean the same in both forms.
const uriEncoded = 1 << 8

// uriChar returns the byte that s[i:] begins with, decoded, and its size in s; the size is 0
// at the end and at a malformed escape.
func uriChar(s string, i int) (c uint16, size int) {
	if i >= len(s) {
		return 0, 0
	}
	if s[i] != '%' {
		return uint16(s[i]), 1
	}
	b, ok := uriEscape(s, i)
	if !ok {
		return 0, 0
	}
	if uriHas(uriReserved, b) {
		return uriEncoded | uint16(b), 3
	}
	return uint16(b), 3
}

// uriEscape returns the byte of the percent-encoding at s[i:], if there is one.
func uriEscape(s string, i int) (byte, bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
	return byte(n), err == nil
}

func uriHas(set string, c byte) bool { return strings.IndexByte(set, c) >= 0 }

// checkURI refuses what is no absolute URI: a scheme, ":", and neither spaces nor
// control characters. Characters beyond ASCII are allowed, since peers send them raw.
func checkURI(uri string) error {
	if err := checkURIScheme(uri); err != nil {
		return fmt.Errorf("URI %.200q: %w", uri, err)
	}
	for i, r := range uri {
		if r == ' ' || unicode.IsControl(r) {
			return fmt.Errorf("URI %.200q: %q at byte %d must be percent-encoded", uri, r, i)
		}
	}
	return nil
}

// checkURIScheme holds the beginning of s to RFC 3986, 3.1.
func checkURIScheme(s string) error {
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || !uriHas(uriLetters, scheme[0]) || strings.Trim(scheme, uriLetters+uriDigits+"+-.") != "" {
		return errors.New(`must begin with a scheme (a letter, then letters, digits, "+", "-" or ".") and ":"`)
	}
	return nil
}
