package mcp

// JSON Schema: compiling a schema, validating JSON text against it, and deriving
// one from a Go type.
//
// Two dialects are supported: 2020-12, which is also that of a schema without
// $schema, and draft-07. References never leave the schema, but for those to the
// two metaschemas; nothing is fetched. Formats are annotations.
//
// A text is compiled in four steps: it is checked against its dialect's
// metaschema; walked, so that all its subschemas, $ids and anchors are known;
// built, each subschema by itself, which resolves the references; and searched
// for references that lead back to where they started. Because the metaschema was
// obeyed, building need not look for values of the wrong kind.
//
// All work is bounded, because schemas and values both come from strangers.
//
// It stands on json.go, whose index is what it validates. The server uses it for
// arguments and results of tools, the client for results, ask.go for forms.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of a schema. Beyond one the schema is refused.
const (
	maxSchemaDepth = 64          // subschemas within each other
	maxSubschemas  = 10_000      // in a schema and what it refers to
	maxPointerWork = 100_000_000 // values passed by while following JSON Pointers
	maxDigits      = 1_000       // of a number that values are compared with
	maxURI         = 2_000       // bytes of an $id, which is a part of all that is relative to it
	maxPattern     = 10_000      // bytes of a pattern
	maxPatterns    = 200_000     // instructions of all patterns
)

// Bounds of a validation. Beyond one the value is refused.
const (
	maxSteps    = 1_000_000 // applications of a subschema to a value, and what costs as much
	maxNesting  = 10_000    // subschemas being applied at once
	maxProblems = 10        // reported; not a reason to refuse
)

// A Schema is a compiled JSON Schema. It does not change, and may be used by any
// number of goroutines.
type Schema struct {
	root    *schema
	dynamic bool // has $dynamicRef
}

// CompileSchema compiles the text of a schema, of JSON Schema 2020-12 unless its $schema
// says draft-07. References must lead to a place in it, or to one of the metaschemas:
// nothing is fetched. Formats are annotations. The error names the place in the schema
// and the rule that it breaks; a schema that is too large or nested too deeply is one, too.
func CompileSchema(text []byte) (*Schema, error) { return compileSchema(text, nil) }

// Validate checks a JSON text. The error is a [*ValidationError] if the text does not fit,
// and another one if it is not JSON, or takes more than a million steps to judge.
func (s *Schema) Validate(data []byte) error {
	ix := indexes.Get().(*index)
	defer ix.release()
	if err := ix.scan(data); err != nil {
		return err
	}
	return s.validate(ix.root())
}

// A ValidationError tells what of a value breaks its schema.
type ValidationError struct {
	// Problems has, for each of the first ten problems, a JSON Pointer to the value in
	// question ("the value" for the whole) and the reason.
	Problems []string
}

// Error returns the problems, in one line.
func (e *ValidationError) Error() string { return strings.Join(e.Problems, "; ") }

// SchemaFor derives a schema from a Go type: that of the JSON which encoding/json
// makes of it, and which this package decodes into it.
//
// A struct is an object whose members are required unless the field is a pointer
// or has "omitempty" or "omitzero"; no others are allowed. A pointer is what it
// points to: null is no value. A type with methods for text is a string, one with
// methods for JSON can be anything; a type may have a method of its own,
//
//	JSONSchema() json.RawMessage
//
// A field's description is its tag `jsonschema:"…"`. Its tag `schema:"…"` sets
// keywords, as in
//
//	Age   int      `schema:"title=Age in years,minimum=0,maximum=150"`
//	Size  string   `schema:"enum=small|large,default=small"`
//	Names []string `schema:"minItems=1,pattern=^[a-z]{1,8}$"`
//
// A comma separates keywords where a name and an equals sign follow. In a list,
// keywords that are not about lists are about its elements.
func SchemaFor[T any]() (json.RawMessage, error) {
	text, err := schemaOf(reflect.TypeFor[T]())
	return bytes.Clone(text), err
}

// A typeSet is a set of JSON types.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger // numbers without a fraction
	typeNumber  // all numbers
	typeString
	typeArray
	typeObject
	typeAny typeSet = 1<<iota - 1
)

// typeNames has the name of each type, in the order of the bits.
var typeNames = [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}

func (t typeSet) String() string {
	if t == 0 {
		return "nothing"
	}
	var names []string
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// typeOf returns the type of v; for all numbers that is number.
func typeOf(v value) typeSet {
	switch v.kind() {
	case kindNull:
		return typeNull
	case kindTrue, kindFalse:
		return typeBoolean
	case kindNumber:
		return typeNumber
	case kindString:
		return typeString
	case kindArray:
		return typeArray
	case kindObject:
		return typeObject
	}
	return 0
}

// A schema is one compiled subschema. What it says of one kind of values, or by
// means of other subschemas, is apart, and nil where it says nothing.
type schema struct {
	id      int // in compiler.queue
	home    *resource
	types   typeSet // that are allowed; none for false
	plain   bool    // says nothing but types
	enum    *enumeration
	number  *numberRules
	str     *stringRules
	array   *arrayRules
	object  *objectRules
	logic   *logicRules
	ref     *schema
	dynRef  *schema // what $dynamicRef leads to when nothing overrides it
	dynName string  // the anchor that may override it; "": none
}

// An enumeration is enum or const: canonical texts of the values.
type enumeration struct {
	values  map[string]bool
	reading string // for people
}

// limits has the keywords that compare numbers, in the order in which they are
// looked at: what costs most is last.
var limits = [...]struct {
	keyword, want string
	ok            func(x, limit decimal) bool
}{
	{"minimum", "at least", func(x, limit decimal) bool { return x.compare(limit) >= 0 }},
	{"exclusiveMinimum", "more than", func(x, limit decimal) bool { return x.compare(limit) > 0 }},
	{"maximum", "at most", func(x, limit decimal) bool { return x.compare(limit) <= 0 }},
	{"exclusiveMaximum", "less than", func(x, limit decimal) bool { return x.compare(limit) < 0 }},
	{"multipleOf", "a multiple of", decimal.multipleOf},
}

// numberRules are the limits that a schema sets.
type numberRules [len(limits)]*decimal

// A size bounds a number of things.
type size struct{ min, max int }

type stringRules struct {
	length  size // code points
	pattern *pattern
}

type arrayRules struct {
	length             size
	unique             bool
	prefix             []*schema
	rest               *schema // of elements after the prefix
	contains           *schema
	hits               size // elements that contains must accept
	unevaluated        *schema
	additional, tupled bool // draft-07: rest is additionalItems; items is a list
}

type objectRules struct {
	length      size
	named       []*property
	byName      map[string]*property
	required    int // of the named
	patterns    []patternRule
	additional  *schema
	names       *schema
	needs       []need
	unevaluated *schema
}

// A property is a name that properties or required mention.
type property struct {
	name     string
	schema   *schema // nil: none
	required bool
}

// lookup returns the property with a name, or nil. Few names are compared faster
// than hashed.
func (o *objectRules) lookup(name []byte) *property {
	if len(o.named) > 8 {
		return o.byName[string(name)]
	}
	for _, p := range o.named {
		if p.name == string(name) {
			return p
		}
	}
	return nil
}

// property returns the property with a name, and makes it if need be.
func (o *objectRules) property(name string) *property {
	if o.byName == nil {
		o.byName = map[string]*property{}
	}
	if o.byName[name] == nil {
		o.byName[name] = &property{name: name}
		o.named = append(o.named, o.byName[name])
	}
	return o.byName[name]
}

// A patternRule is a member of patternProperties.
type patternRule struct {
	pattern *pattern
	schema  *schema
}

// A need is what the presence of a member demands of the object.
type need struct {
	name   string
	names  []string
	schema *schema // nil: none
}

type logicRules struct {
	allOf, anyOf, oneOf        []*schema
	not, when, then, otherwise *schema
}

// validate checks a value that has been scanned.
func (s *Schema) validate(v value) error {
	r := run{root: v, steps: maxSteps, dynamic: s.dynamic}
	ok := r.check(s.root, v, nil)
	switch {
	case r.spent:
		return fmt.Errorf("validation takes more than %d steps or %d levels", maxSteps, maxNesting)
	case !ok:
		return &ValidationError{r.problems}
	}
	return nil
}

// A run is one validation. Checks report whether the value is valid; they add to
// problems why it is not, and then go on, unless the run is quiet because the
// answer is one of several (anyOf, not, ...).
type run struct {
	root     value
	steps    int  // left
	depth    int  // checks being made
	spent    bool // too much work: every answer is wrong
	quiet    int  // not zero: no problems are reported
	dynamic  bool // scope is needed
	scope    []*resource
	problems []string
	failures int // that were looked at for problems; some give the same
	scratch  []byte
}

// evaluated is the set of the members' and elements' nodes that some subschema has
// looked at: what the unevaluated keywords leave alone. A nil set means that no
// such keyword is interested.
type evaluated map[int32]bool

func (e evaluated) mark(i int32) {
	if e != nil {
		e[i] = true
	}
}

// fresh returns an empty set if anyone is interested in e.
func (e evaluated) fresh() evaluated {
	if e == nil {
		return nil
	}
	return evaluated{}
}

// merge adds what a subschema that accepted the value looked at.
func (r *run) merge(seen, more evaluated) bool {
	if seen != nil {
		r.spend(len(more))
		maps.Copy(seen, more)
	}
	return true
}

// spend takes n steps, for work that grows with the value.
func (r *run) spend(n int) bool {
	if r.steps -= n; r.steps < 0 {
		r.spent = true
	}
	return !r.spent
}

// fail reports a problem of v. It returns false.
func (r *run) fail(v value, format string, args ...any) bool {
	if r.enough() {
		return false
	}
	r.failures++
	place := r.root.pointerTo(v)
	if place == "" {
		place = "the value"
	}
	problem := clip(place, 200) + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(r.problems, problem) {
		r.problems = append(r.problems, problem)
	}
	return false
}

// goOn reports whether there is a reason to go on after a check that gave ok.
func (r *run) goOn(ok bool) bool { return ok || !r.enough() && !r.spent }

// enough reports whether another problem would not be told of.
func (r *run) enough() bool {
	return r.quiet > 0 || len(r.problems) >= maxProblems || r.failures >= 10*maxProblems
}

// check applies s to v, and adds to seen what it looked at.
func (r *run) check(s *schema, v value, seen evaluated) bool {
	if r.steps--; r.steps < 0 || r.depth >= maxNesting {
		r.spent = true
		return false
	}
	ok := s.types&typeOf(v) != 0 || r.otherType(s, v)
	if s.plain || !r.goOn(ok) {
		return ok
	}
	r.depth++
	entered := r.dynamic && (len(r.scope) == 0 || r.scope[len(r.scope)-1] != s.home)
	if entered {
		r.scope = append(r.scope, s.home)
	}
	ok = r.rules(s, v, seen) && ok
	if entered {
		r.scope = r.scope[:len(r.scope)-1]
	}
	r.depth--
	return ok
}

// otherType judges a value that is not of a type that s names: an integer is, in
// JSON, a number that looks like one.
func (r *run) otherType(s *schema, v value) bool {
	switch {
	case s.types == 0:
		return r.fail(v, "not allowed")
	case v.kind() != kindNumber || s.types&typeInteger == 0:
		return r.fail(v, "want %s, got %s", s.types, typeOf(v))
	}
	r.spend(len(v.raw()) >> 6)
	return isInteger(v.raw()) || r.fail(v, "want %s, got %s", s.types, excerpt(v))
}

// rules applies all of s but its types. A schema with an unevaluated keyword
// starts a set of its own: it must not see what its neighbours looked at.
func (r *run) rules(s *schema, v value, seen evaluated) bool {
	mine, apart := seen, s.array != nil && s.array.unevaluated != nil || s.object != nil && s.object.unevaluated != nil
	if apart {
		mine = evaluated{}
	}
	ok := true
	if s.enum != nil {
		ok = r.enumeration(s.enum, v)
	}
	if s.ref != nil && r.goOn(ok) {
		ok = r.check(s.ref, v, mine) && ok
	}
	if s.dynRef != nil && r.goOn(ok) {
		ok = r.check(r.target(s), v, mine) && ok
	}
	if s.logic != nil && r.goOn(ok) {
		ok = r.logic(s.logic, v, mine) && ok
	}
	if !r.goOn(ok) {
		return ok
	}
	switch k := v.kind(); {
	case k == kindNumber && s.number != nil:
		ok = r.number(s.number, v) && ok
	case k == kindString && s.str != nil:
		ok = r.string(s.str, v) && ok
	case k == kindArray && s.array != nil:
		ok = r.array(s.array, v, mine) && ok
	case k == kindObject && s.object != nil:
		ok = r.object(s.object, v, mine) && ok
	}
	return ok && (!apart || r.merge(seen, mine))
}

// target returns what the $dynamicRef of s leads to: of all the schema resources
// that validation is in, the outermost with that dynamic anchor decides.
func (r *run) target(s *schema) *schema {
	if s.dynName != "" {
		for _, home := range r.scope {
			if t := home.dynamic[s.dynName]; t != nil {
				return t
			}
			r.steps--
		}
	}
	return s.dynRef
}

// enumeration looks v up by its canonical text, so that it costs the size of v and
// not of the list.
func (r *run) enumeration(e *enumeration, v value) bool {
	return e.values[string(r.canonical(v))] || r.fail(v, "want %s, got %s", e.reading, excerpt(v))
}

// canonical returns the one text of all values that are equal to v. It is valid
// until the next call.
func (r *run) canonical(v value) []byte {
	if !r.spend(len(v.raw()) >> 5) {
		return nil
	}
	r.scratch = appendCanonical(r.scratch[:0], v)
	return r.scratch
}

// number applies the rules for numbers. Values are compared exactly, by their
// digits; only a multiple needs arithmetic. It stops at the first problem, as do
// the rules for strings, because the others would repeat it.
func (r *run) number(n *numberRules, v value) bool {
	x := parseDecimal(v.raw())
	for i, limit := range n {
		if limit != nil && !(r.spend(len(v.raw())>>6) && limits[i].ok(x, *limit)) {
			return r.fail(v, "want %s %s, got %s", limits[i].want, limit, excerpt(v))
		}
	}
	return true
}

// string applies the rules for strings.
func (r *run) string(s *stringRules, v value) bool {
	r.spend(len(v.raw()) >> 6)
	text := v.text()
	if s.length != anySize && !r.fits(s.length, utf8.RuneCount(text), v, "characters", "Length") {
		return false
	}
	return s.pattern == nil || r.matches(s.pattern, text) ||
		r.fail(v, "want a match of pattern %s, got %s", s.pattern.text, excerpt(v))
}

var anySize = size{0, math.MaxInt}

// fits reports whether n is of a size; keyword follows min or max.
func (r *run) fits(s size, n int, v value, of, keyword string) bool {
	switch {
	case n < s.min:
		return r.fail(v, "want at least %d %s, got %d (min%s)", s.min, of, n, keyword)
	case n > s.max:
		return r.fail(v, "want at most %d %s, got %d (max%s)", s.max, of, n, keyword)
	}
	return true
}

// matches costs what the regular expression's automaton may: its size for each
// byte of the text.
func (r *run) matches(p *pattern, text []byte) bool {
	return r.spend(1+len(text)*p.size/128) && p.re.Match(text)
}

// array applies the rules for arrays, and unevaluatedItems last, when all others
// have looked at what is theirs.
func (r *run) array(a *arrayRules, v value, seen evaluated) bool {
	ok, n := true, 0
	for i := v.first(); i != 0; i = v.ix.nodes[i].next {
		s := a.rest
		if n < len(a.prefix) {
			s = a.prefix[n]
		}
		n++
		r.steps--
		if s != nil {
			ok = r.check(s, value{v.ix, i}, nil) && ok
			seen.mark(i)
			if !r.goOn(ok) {
				return ok
			}
		}
	}
	ok = r.fits(a.length, n, v, "elements", "Items") && ok
	ok = (!a.unique || r.distinct(v)) && ok
	ok = (a.contains == nil || r.contains(a, v, seen)) && ok
	if a.unevaluated != nil && r.goOn(ok) {
		ok = r.unevaluated(a.unevaluated, v, seen) && ok
	}
	return ok
}

// distinct reports whether no two elements are equal.
func (r *run) distinct(v value) bool {
	found := map[string]int{}
	n := 0
	for i := v.first(); i != 0 && !r.spent; i = v.ix.nodes[i].next {
		text := r.canonical(value{v.ix, i})
		if before, ok := found[string(text)]; ok && !r.spent {
			return r.fail(v, "elements %d and %d are equal (uniqueItems)", before, n)
		}
		found[string(text)] = n
		n++
	}
	return !r.spent
}

// contains counts the elements that contains accepts. Those count as looked at.
func (r *run) contains(a *arrayRules, v value, seen evaluated) bool {
	hits := 0
	r.quiet++
	for i := v.first(); i != 0 && !r.spent; i = v.ix.nodes[i].next {
		if r.check(a.contains, value{v.ix, i}, nil) {
			hits++
			seen.mark(i)
		}
	}
	r.quiet--
	switch {
	case hits < a.hits.min:
		return r.fail(v, "want at least %d elements that contains accepts, got %d", a.hits.min, hits)
	case hits > a.hits.max:
		return r.fail(v, "want at most %d elements that contains accepts, got %d", a.hits.max, hits)
	}
	return true
}

// unevaluated applies s to the elements or members that nothing has looked at.
func (r *run) unevaluated(s *schema, v value, seen evaluated) bool {
	ok := true
	for i := v.first(); i != 0 && r.goOn(ok); i = v.ix.nodes[i].next {
		child := i
		if v.kind() == kindObject {
			child++
		}
		if r.steps--; !seen[child] {
			seen.mark(child)
			ok = r.check(s, value{v.ix, child}, nil) && ok
		}
	}
	return ok
}

// object applies the rules for objects: first those of each member, then those of
// the whole, and unevaluatedProperties last. Names do not repeat, so the required
// members are all there if as many were met.
func (r *run) object(o *objectRules, v value, seen evaluated) bool {
	ok, n, required := true, 0, 0
	for i := v.first(); i != 0; i = v.ix.nodes[i].next {
		n++
		r.steps--
		name, w := value{v.ix, i}.text(), value{v.ix, i + 1}
		p := o.lookup(name)
		if p != nil && p.required {
			required++
		}
		known := p != nil && p.schema != nil
		if known {
			ok = r.check(p.schema, w, nil) && ok
			seen.mark(w.i)
		}
		if (!known && o.additional != nil || o.patterns != nil || o.names != nil) && r.goOn(ok) {
			ok = r.member(o, known, name, w, seen) && ok
		}
		if !r.goOn(ok) {
			return ok
		}
	}
	if required < o.required {
		ok = r.missing(o, v)
	}
	ok = r.fits(o.length, n, v, "members", "Properties") && ok
	if o.needs != nil && r.goOn(ok) {
		ok = r.needs(o, v, n, seen) && ok
	}
	if o.unevaluated != nil && r.goOn(ok) {
		ok = r.unevaluated(o.unevaluated, v, seen) && ok
	}
	return ok
}

// member applies what is not about one name to the member w. known says whether
// properties has its name.
func (r *run) member(o *objectRules, known bool, name []byte, w value, seen evaluated) bool {
	ok := true
	if o.names != nil {
		r.quiet++
		ok = r.check(o.names, value{w.ix, w.i - 1}, nil)
		r.quiet--
		ok = ok || r.fail(w, "the name is not allowed (propertyNames)")
	}
	for _, rule := range o.patterns {
		if r.matches(rule.pattern, name) {
			known = true
			ok = r.check(rule.schema, w, nil) && ok
		}
		if !r.goOn(ok) {
			return ok
		}
	}
	if !known && o.additional != nil {
		known = true
		ok = r.check(o.additional, w, nil) && ok
	}
	if known {
		seen.mark(w.i)
	}
	return ok
}

// missing reports the required members that are not there.
func (r *run) missing(o *objectRules, v value) bool {
	if r.quiet > 0 {
		return false
	}
	present := map[string]bool{}
	for name := range v.members() {
		present[name.str()] = true
	}
	for _, p := range o.named {
		if p.required && !present[p.name] {
			r.fail(v, "%q is missing", clip(p.name, 100))
		}
	}
	return false
}

// needs applies dependentRequired, dependentSchemas and dependencies. members is
// how many v has, which is what looking one up may cost.
func (r *run) needs(o *objectRules, v value, members int, seen evaluated) bool {
	ok := true
	for _, need := range o.needs {
		if !r.spend(1+members) || v.member(need.name).ix == nil {
			continue
		}
		for _, name := range need.names {
			if r.spend(1+members) && v.member(name).ix == nil {
				ok = r.fail(v, "%q needs %q, which is missing", clip(need.name, 100), clip(name, 100))
			}
		}
		if need.schema != nil && r.goOn(ok) {
			ok = r.check(need.schema, v, seen) && ok
		}
	}
	return ok
}

// logic applies the keywords that combine what schemas say of the same value. What
// a schema looked at counts only where it accepted the value; what is below not
// never does.
func (r *run) logic(l *logicRules, v value, seen evaluated) bool {
	ok := true
	for _, s := range l.allOf {
		if ok = r.check(s, v, seen) && ok; !r.goOn(ok) {
			return ok
		}
	}
	if l.anyOf != nil && r.matching(l.anyOf, v, seen, 1) == 0 {
		ok = r.fail(v, "accepted by none of anyOf")
	}
	if l.oneOf != nil {
		if n := r.matching(l.oneOf, v, seen, 2); n == 0 {
			ok = r.fail(v, "accepted by none of oneOf")
		} else if n > 1 {
			ok = r.fail(v, "accepted by more than one of oneOf")
		}
	}
	if l.not != nil && r.accepts(l.not, v, nil, nil) {
		ok = r.fail(v, "accepted by what must not accept it (not)")
	}
	if l.when != nil && r.goOn(ok) {
		next := l.then
		if !r.accepts(l.when, v, seen.fresh(), seen) {
			next = l.otherwise
		}
		ok = (next == nil || r.check(next, v, seen)) && ok
	}
	return ok
}

// matching counts the schemas that accept v. Only where nobody is interested in
// what they look at, it is content with enough of them.
func (r *run) matching(list []*schema, v value, seen evaluated, enough int) int {
	n := 0
	for _, s := range list {
		if r.accepts(s, v, seen.fresh(), seen) {
			n++
		}
		if r.spent || n == enough && seen == nil {
			break
		}
	}
	return n
}

// accepts reports whether s accepts v, quietly. If it does, what it looked at is
// added to seen.
func (r *run) accepts(s *schema, v value, mine, seen evaluated) bool {
	r.quiet++
	ok := r.check(s, v, mine)
	r.quiet--
	return ok && r.merge(seen, mine)
}

// pointerTo returns the JSON Pointer of a value inside v.
func (v value) pointerTo(w value) string {
	var b strings.Builder
	for v.i != w.i && v.ix != nil {
		n, step, i := 0, 0, v.first()
		for next := i; next != 0 && next <= w.i; next = v.ix.nodes[next].next {
			i, step = next, n
			n++
		}
		b.WriteByte('/')
		if v.kind() == kindArray {
			b.WriteString(strconv.Itoa(step))
		} else {
			pointerEscaper.WriteString(&b, value{v.ix, i}.str())
			i++
		}
		v.i = i
	}
	return b.String()
}

// pointerEscaper writes a name as a step of a JSON Pointer (RFC 6901, section 3).
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// excerpt returns the text of v, shortened, for people.
func excerpt(v value) string { return clip(string(v.raw()[:min(len(v.raw()), 100)]), 60) }

// clip shortens s to about n bytes, whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// appendCanonical appends a text that is the same for all values equal to v, and
// differs from that of any other: numbers by value, objects in order of names.
func appendCanonical(b []byte, v value) []byte {
	switch v.kind() {
	case kindNumber:
		return parseDecimal(v.raw()).append(b)
	case kindString:
		if v.ix.nodes[v.i].escaped {
			return appendString(b, v.str())
		}
		return append(b, v.raw()...)
	case kindArray:
		b = append(b, '[')
		for i := v.first(); i != 0; i = v.ix.nodes[i].next {
			b = append(appendCanonical(b, value{v.ix, i}), ',')
		}
		return append(b, ']')
	case kindObject:
		var names []value
		for name := range v.members() {
			names = append(names, name)
		}
		slices.SortFunc(names, func(x, y value) int { return bytes.Compare(x.text(), y.text()) })
		b = append(b, '{')
		for _, name := range names {
			b = append(appendCanonical(b, name), ':')
			b = append(appendCanonical(b, value{v.ix, name.i + 1}), ',')
		}
		return append(b, '}')
	}
	return append(b, v.raw()...)
}

// String returns d as people write it, unless that would be long.
func (d decimal) String() string {
	text := string(d.append(nil))
	switch {
	case len(d.digits) == 0:
		return "0"
	case -20 < d.exp && d.exp < 20:
		r, _ := new(big.Rat).SetString(text)
		return r.FloatString(int(max(0, -d.exp)))
	}
	return text
}

// compare returns a number below, equal to or above zero, as d is to e.
func (d decimal) compare(e decimal) int {
	if d.sign() != e.sign() {
		return d.sign() - e.sign()
	}
	size := int64(len(d.digits)) + d.exp - int64(len(e.digits)) - e.exp
	if size == 0 {
		size = int64(bytes.Compare(d.digits, e.digits))
	}
	if size < 0 {
		return -d.sign()
	}
	return d.sign() * int(min(size, 1))
}

// sign returns -1, 0 or +1.
func (d decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// multipleOf reports whether d divided by m is an integer. It is not if d goes
// to a smaller power of ten than m, because then d's digits would have to end in
// a zero. Otherwise the remainder of d's digits is found a few digits at a time.
func (d decimal) multipleOf(m decimal) bool {
	if len(d.digits) == 0 || len(m.digits) == 0 || d.exp < m.exp {
		return len(d.digits) == 0
	}
	modulus, _ := new(big.Int).SetString(string(m.digits), 10)
	left, part, ten := new(big.Int), new(big.Int), big.NewInt(10)
	for digits := range slices.Chunk(d.digits, 18) {
		n, _ := strconv.ParseInt(string(digits), 10, 64)
		left.Mul(left, part.Exp(ten, part.SetInt64(int64(len(digits))), nil))
		left.Add(left, part.SetInt64(n)).Mod(left, modulus)
	}
	left.Mul(left, part.Exp(ten, part.SetInt64(d.exp-m.exp), modulus))
	return left.Mod(left, modulus).Sign() == 0
}

// A dialect is what a $schema stands for.
type dialect struct {
	draft7   bool
	keywords map[string]keyword
	text     string  // of the metaschema
	meta     *Schema // nil: schemas are not checked
}

// A keyword is what a dialect knows of one.
type keyword struct {
	vocab string // "core", "applicator", ...
	shape shape
}

// A shape says where in a keyword's value subschemas stand.
type shape uint8

const (
	shapeNone   shape = iota
	shapeOne          // it is one
	shapeList         // its elements
	shapeEither       // it is one, or its elements
	shapeNamed        // its members
	shapeNeeds        // its members that are not arrays
)

// drafts says which drafts know a keyword.
type drafts uint8

const (
	inBoth drafts = iota
	in2020
	in07
)

// keywordTable has all keywords whose values must be of some form, by vocabulary.
// Those of none are only checked.
var keywordTable = []struct {
	vocab string
	in    drafts
	form  string // see forms
	names string
}{
	{"core", inBoth, "string", "$schema $ref $comment"},
	{"core", in07, "string", "$id"},
	{"core", in2020, "idString", "$id"},
	{"core", in2020, "string", "$dynamicRef"},
	{"core", in2020, "anchorString", "$anchor $dynamicAnchor"},
	{"core", in2020, "booleanMap", "$vocabulary"},
	{"core", in2020, "schemaMap", "$defs"},
	{"core", inBoth, "schemaMap", "definitions"},
	{"applicator", inBoth, "schemaArray", "allOf anyOf oneOf"},
	{"applicator", in2020, "schemaArray", "prefixItems"},
	{"applicator", inBoth, "schema", "not if then else contains additionalProperties propertyNames"},
	{"applicator", in2020, "schema", "items"},
	{"applicator", in07, "schemaOrArray", "items"},
	{"applicator", in07, "schema", "additionalItems"},
	{"applicator", inBoth, "schemaMap", "properties patternProperties"},
	{"applicator", in2020, "schemaMap", "dependentSchemas"},
	{"applicator", in07, "needs", "dependencies"},
	{"unevaluated", in2020, "schema", "unevaluatedItems unevaluatedProperties"},
	{"validation", inBoth, "types", "type"},
	{"validation", inBoth, "array", "enum"},
	{"validation", inBoth, "any", "const"},
	{"validation", inBoth, "positive", "multipleOf"},
	{"validation", inBoth, "number", "maximum exclusiveMaximum minimum exclusiveMinimum"},
	{"validation", inBoth, "nonNegativeInteger", "maxLength minLength maxItems minItems maxProperties minProperties"},
	{"validation", in2020, "nonNegativeInteger", "maxContains minContains"},
	{"validation", inBoth, "string", "pattern"},
	{"validation", inBoth, "boolean", "uniqueItems"},
	{"validation", inBoth, "stringArray", "required"},
	{"validation", in2020, "stringArrayMap", "dependentRequired"},
	{"meta-data", inBoth, "string", "title description"},
	{"meta-data", inBoth, "boolean", "readOnly writeOnly"},
	{"meta-data", in2020, "boolean", "deprecated"},
	{"meta-data", inBoth, "array", "examples"},
	{"format-annotation", inBoth, "string", "format"},
	{"content", inBoth, "string", "contentEncoding contentMediaType"},
	{"content", in2020, "schema", "contentSchema"},
	{"", in2020, "needs", "dependencies"},
	{"", in2020, "anchorString", "$recursiveAnchor"},
	{"", in2020, "string", "$recursiveRef"},
}

// forms has the forms of keywords' values: where subschemas stand, and a schema, in
// which @ stands for that of a schema. It is worded so that problems read well.
var forms = map[string]struct {
	shape  shape
	schema string
}{
	"any":                {shapeNone, `true`},
	"string":             {shapeNone, `{"type":"string"}`},
	"idString":           {shapeNone, `{"type":"string","pattern":"^[^#]*#?$"}`},
	"anchorString":       {shapeNone, `{"type":"string","pattern":"^[A-Za-z_][-A-Za-z0-9._]*$"}`},
	"boolean":            {shapeNone, `{"type":"boolean"}`},
	"booleanMap":         {shapeNone, `{"type":"object","additionalProperties":{"type":"boolean"}}`},
	"array":              {shapeNone, `{"type":"array"}`},
	"types":              {shapeNone, `{"if":{"type":"array"},"then":{"items":` + simpleTypes + `,"minItems":1,"uniqueItems":true},"else":` + simpleTypes + `}`},
	"number":             {shapeNone, `{"type":"number"}`},
	"positive":           {shapeNone, `{"type":"number","exclusiveMinimum":0}`},
	"nonNegativeInteger": {shapeNone, `{"type":"integer","minimum":0}`},
	"stringArray":        {shapeNone, stringArray},
	"stringArrayMap":     {shapeNone, `{"type":"object","additionalProperties":` + stringArray + `}`},
	"schema":             {shapeOne, `@`},
	"schemaArray":        {shapeList, schemaArray},
	"schemaOrArray":      {shapeEither, `{"if":{"type":"array"},"then":` + schemaArray + `,"else":@}`},
	"schemaMap":          {shapeNamed, `{"type":"object","additionalProperties":@}`},
	"needs":              {shapeNeeds, `{"type":"object","additionalProperties":{"if":{"type":"array"},"then":` + stringArray + `,"else":@}}`},
}

const (
	simpleTypes = `{"enum":["array","boolean","integer","null","number","object","string"]}`
	stringArray = `{"type":"array","items":{"type":"string"},"uniqueItems":true}`
	schemaArray = `{"type":"array","minItems":1,"items":@}`
)

// Names of the dialects.
const (
	base2020 = "https://json-schema.org/draft/2020-12/"
	uri2020  = base2020 + "schema"
	uri07    = "http://json-schema.org/draft-07/schema"
)

var (
	draft2020 = sync.OnceValue(func() *dialect { return makeDialect(in2020) })
	draft07   = sync.OnceValue(func() *dialect { return makeDialect(in07) })
)

// makeDialect makes a dialect of the table, without its meta. The text of the
// metaschema accepts what the published one accepts, and has its anchors and
// vocabularies; that of 2020-12 is one text.
func makeDialect(in drafts) *dialect {
	d := &dialect{draft7: in == in07, keywords: map[string]keyword{}}
	sub, defs := `{"$dynamicRef":"#meta"}`, "$defs"
	if d.draft7 {
		sub, defs = `{"$ref":"#"}`, "definitions"
	}
	var vocabs []string
	properties, definitions := map[string][]member{}, map[string][]member{} // by vocabulary
	for _, row := range keywordTable {
		if row.in != inBoth && row.in != in {
			continue
		}
		vocab, f := row.vocab, forms[row.form]
		if d.draft7 {
			vocab = "" // it has none
		}
		if properties[vocab] == nil && vocab != "" {
			vocabs = append(vocabs, vocab)
		}
		text := []byte(strings.ReplaceAll(f.schema, "@", sub))
		definitions[vocab] = append(definitions[vocab], member{row.form, text})
		for name := range strings.FieldsSeq(row.names) {
			properties[vocab] = append(properties[vocab], member{name, text})
			if row.vocab != "" {
				d.keywords[name] = keyword{row.vocab, f.shape}
			}
		}
	}
	part := func(vocab string) string {
		return fmt.Sprintf(`"type":["object","boolean"],"properties":%s,%q:%s}`,
			merge([]byte("{}"), properties[vocab]), defs, merge([]byte("{}"), definitions[vocab]))
	}
	if d.draft7 {
		d.text = `{"$id":"` + uri07 + `#",` + part("")
		return d
	}
	var declared, all []string
	for _, vocab := range vocabs {
		text := fmt.Appendf(nil, `{"$id":"meta/%s","$dynamicAnchor":"meta",%s`, vocab, part(vocab))
		definitions[""] = append(definitions[""], member{vocab, text})
		declared = append(declared, `"`+base2020+`vocab/`+vocab+`":true`)
		all = append(all, `{"$ref":"meta/`+vocab+`"}`)
	}
	d.text = fmt.Sprintf(`{"$id":%q,"$dynamicAnchor":"meta","$vocabulary":{%s},"allOf":[%s],%s`,
		uri2020, strings.Join(declared, ","), strings.Join(all, ","), part(""))
	return d
}

// A resource is a schema with a URI of its own, or a whole document. The references
// in it are relative to its base, and its anchors are its own. Only base, dialect
// and dynamic outlive the compiler.
type resource struct {
	base    *url.URL
	dialect *dialect
	root    value
	anchors map[string]value
	dynamic map[string]*schema // the anchors that $dynamicRef can lead to
}

// A compiler makes one Schema. What it knows only grows, so building one subschema
// may make others known, which are then built in their turn; nothing recurses along
// references.
type compiler struct {
	documents   map[string][]byte // that references may lead to, by URI
	resources   map[string]*resource
	schemas     map[value]*schema // by place; a place is known before it is built
	queue       []value           // the places, in the order in which they became known
	pointerWork int
	patternSize int
	dynamic     bool
}

// compileSchema is CompileSchema with documents that references and $schema may
// lead to, by URI; they are trusted.
func compileSchema(text []byte, documents map[string][]byte) (*Schema, error) {
	s, err := (&compiler{documents: documents}).compile("", text, nil)
	if err != nil {
		return nil, fmt.Errorf("invalid schema: %w", err)
	}
	return s, nil
}

// compile compiles the document whose URI is uri. If d is nil the document says
// which dialect it is in, and is checked.
func (c *compiler) compile(uri string, text []byte, d *dialect) (*Schema, error) {
	c.resources, c.schemas = map[string]*resource{}, map[value]*schema{}
	home, err := c.document(uri, text, d)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(c.queue); i++ { // building may add to the queue
		if err := c.build(c.schemas[c.queue[i]], c.queue[i]); err != nil {
			return nil, err
		}
	}
	if err := c.findCycle(); err != nil {
		return nil, err
	}
	s := &Schema{c.schemas[home.root], c.dynamic}
	for _, r := range c.resources { // which are kept, but not the text
		r.root, r.anchors = value{}, nil
	}
	return s, nil
}

// document makes known a schema document; see compile.
func (c *compiler) document(uri string, text []byte, d *dialect) (*resource, error) {
	ix, err := scan(text)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	home := &resource{base: base, dialect: d, root: ix.root()}
	if d == nil {
		if home.dialect, err = c.dialect(home.root); err != nil {
			return nil, err
		}
		if err := home.dialect.check(home.root); err != nil {
			return nil, err
		}
	}
	c.resources[uri] = home
	if err := c.walk(home.root, home, 0); err != nil {
		return nil, err
	}
	c.resources[uri] = c.schemas[home.root].home // which is another if there is an $id
	return home, nil
}

// check checks the schema at v against the metaschema, if it has one to obey.
func (d *dialect) check(v value) error {
	if d.meta == nil {
		return nil
	}
	return d.meta.validate(v)
}

// dialect returns the dialect of a document: one of the two, or one that a document
// given to the compiler declares.
func (c *compiler) dialect(root value) (*dialect, error) {
	name := root.member("$schema")
	uri := strings.TrimSuffix(name.str(), "#")
	switch {
	case name.ix == nil || uri == uri2020:
		return standard(uri2020, draft2020()), nil
	case uri == uri07:
		return standard(uri07, draft07()), nil
	}
	text, ok := c.documents[uri]
	if !ok {
		return nil, fmt.Errorf("/$schema: dialect not supported: %s", excerpt(name))
	}
	meta, err := (&compiler{documents: c.documents}).compile(uri, text, nil)
	if err != nil {
		return nil, fmt.Errorf("metaschema %s: %w", uri, err)
	}
	d := &dialect{meta: meta, keywords: map[string]keyword{}}
	ix, _ := scan(text)
	for name, needed := range ix.root().member("$vocabulary").members() {
		vocab, known := strings.CutPrefix(name.str(), base2020+"vocab/")
		for word, k := range draft2020().keywords {
			if known && k.vocab == vocab {
				d.keywords[word] = k
			}
		}
		if !known && needed.kind() == kindTrue {
			return nil, fmt.Errorf("/$schema: dialect not supported: %s needs vocabulary %s", uri, excerpt(name))
		}
	}
	return d, nil
}

// standard returns a dialect with its metaschema compiled.
func standard(uri string, d *dialect) *dialect {
	if d, ok := schemaCache.Load(uri); ok {
		return d.(*dialect)
	}
	s, err := (&compiler{}).compile(uri, []byte(d.text), d)
	if err != nil {
		panic(err) // a test compiles both
	}
	c := *d
	c.meta = s
	schemaCache.Store(uri, &c)
	return &c
}

// failAt names the place of a schema that is refused.
func failAt(v value, format string, args ...any) error {
	place := v.ix.root().pointerTo(v)
	if place == "" {
		place = "the schema"
	}
	return fmt.Errorf("%s: %w", clip(place, 200), fmt.Errorf(format, args...))
}

// walk makes known the schema at v and the subschemas in it.
func (c *compiler) walk(v value, home *resource, depth int) error {
	switch {
	case c.schemas[v] != nil:
		return nil
	case depth > maxSchemaDepth:
		return failAt(v, "more than %d schemas within each other", maxSchemaDepth)
	case len(c.queue) >= maxSubschemas:
		return failAt(v, "more than %d subschemas", maxSubschemas)
	case typeOf(v)&(typeObject|typeBoolean) == 0:
		return failAt(v, "want object or boolean, got %s", typeOf(v))
	}
	s := &schema{id: len(c.queue), types: typeAny}
	c.schemas[v] = s
	c.queue = append(c.queue, v)
	home, err := c.identify(s, v, home)
	if err != nil {
		return err
	}
	for name, w := range v.members() {
		for sub := range subschemas(home.dialect.keywords[string(name.text())].shape, w) {
			if err := c.walk(sub, home, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// subschemas yields the schemas in a keyword's value.
func subschemas(sh shape, w value) func(yield func(value) bool) {
	return func(yield func(value) bool) {
		switch {
		case sh == shapeOne || sh == shapeEither && w.kind() != kindArray:
			yield(w)
		case sh == shapeList || sh == shapeEither:
			w.items()(yield)
		case sh == shapeNamed || sh == shapeNeeds:
			for _, sub := range w.members() {
				if (sh == shapeNamed || sub.kind() != kindArray) && !yield(sub) {
					return
				}
			}
		}
	}
}

// identify finds the resource of a schema, which it may start itself, and enters
// its anchors there.
func (c *compiler) identify(s *schema, v value, home *resource) (*resource, error) {
	id, draft7 := v.member("$id"), home.dialect.draft7
	if draft7 && v.member("$ref").ix != nil {
		id = value{} // what stands beside $ref is ignored
	}
	uri, fragment, _ := strings.Cut(id.str(), "#")
	if uri != "" {
		base, err := home.base.Parse(uri)
		if err != nil {
			return nil, failAt(id, "%w", err)
		}
		if len(base.String()) > maxURI {
			return nil, failAt(id, "URI of more than %d bytes", maxURI)
		}
		if r := c.resources[base.String()]; r != nil && r.root != v {
			return nil, failAt(id, "%s stands for another schema already", excerpt(id))
		}
		if d := v.member("$schema"); d.ix != nil && v.i != 0 && d.str() != v.ix.root().member("$schema").str() {
			return nil, failAt(d, "dialect not supported: %s inside of a schema in another", excerpt(d))
		}
		home = &resource{base: base, dialect: home.dialect, root: v}
		c.resources[base.String()] = home
	}
	s.home = home
	if draft7 {
		return home, home.anchor(id, fragment, v)
	}
	if name := v.member("$dynamicAnchor"); name.ix != nil {
		if home.dynamic == nil {
			home.dynamic = map[string]*schema{}
		}
		home.dynamic[name.str()] = s
		if err := home.anchor(name, name.str(), v); err != nil {
			return nil, err
		}
	}
	return home, home.anchor(v.member("$anchor"), v.member("$anchor").str(), v)
}

// anchor enters a name for v, which stands at place; "" is none.
func (r *resource) anchor(place value, name string, v value) error {
	if name == "" {
		return nil
	}
	if r.anchors == nil {
		r.anchors = map[string]value{}
	}
	if other, ok := r.anchors[name]; ok && other != v {
		return failAt(place, "anchor %q stands for another schema already", clip(name, 60))
	}
	r.anchors[name] = v
	return nil
}

// resolve returns the schema that a reference leads to. place is the reference's.
func (c *compiler) resolve(place value, home *resource) (*schema, string, error) {
	uri, fragment, _ := strings.Cut(place.str(), "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, "", failAt(place, "%w", err)
	}
	if uri != "" {
		if home, err = c.resource(uri, home); err != nil {
			return nil, "", failAt(place, "unresolved reference %s: %w", excerpt(place), err)
		}
	}
	target := home.root
	switch {
	case strings.HasPrefix(fragment, "/"):
		target, home = c.follow(target, fragment[1:], home)
	case fragment != "":
		target = home.anchors[fragment]
	}
	if c.pointerWork > maxPointerWork {
		return nil, "", failAt(place, "references take too long to follow")
	}
	if target.ix == nil {
		return nil, "", failAt(place, "unresolved reference %s", excerpt(place))
	}
	if c.schemas[target] == nil { // inside of an unknown keyword
		if err := home.dialect.check(target); err != nil {
			return nil, "", failAt(place, "%w", err)
		}
		if err := c.walk(target, home, 0); err != nil {
			return nil, "", err
		}
	}
	return c.schemas[target], fragment, nil
}

var errNotFetched = errors.New("not part of the schema, and nothing is fetched")

// resource returns the resource that a relative URI means at home.
func (c *compiler) resource(uri string, home *resource) (*resource, error) {
	base, err := home.base.Parse(uri)
	if err != nil {
		return nil, err
	}
	uri = base.String()
	if r := c.resources[uri]; r != nil {
		return r, nil
	}
	switch {
	case strings.HasPrefix(uri, base2020):
		_, err = c.document(uri2020, []byte(draft2020().text), draft2020())
	case uri == uri07:
		_, err = c.document(uri07, []byte(draft07().text), draft07())
	case c.documents[uri] != nil:
		_, err = c.document(uri, c.documents[uri], nil)
	}
	if r := c.resources[uri]; r != nil || err != nil {
		return r, err
	}
	return nil, errNotFetched
}

// follow takes the steps of a JSON Pointer from v on. It returns the absent value
// if there is nothing, and the resource that the place belongs to.
func (c *compiler) follow(v value, steps string, home *resource) (value, *resource) {
	for step := range strings.SplitSeq(steps, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		next := value{}
		if v.kind() == kindObject {
			next = v.member(step)
		} else if n, err := strconv.Atoi(step); err == nil && strconv.Itoa(n) == step {
			for item := range v.items() {
				if n == 0 {
					next = item
					break
				}
				n--
			}
		}
		if c.pointerWork += int(next.i - v.i); next.ix == nil || c.pointerWork > maxPointerWork {
			return value{}, home
		}
		v = next
		if s := c.schemas[v]; s != nil {
			home = s.home
		}
	}
	return v, home
}

// build fills in the schema of a place.
func (c *compiler) build(s *schema, v value) error {
	if v.kind() == kindFalse {
		s.types = 0
	}
	alone := s.home.dialect.draft7 && v.member("$ref").ix != nil
	for name, w := range v.members() {
		if alone && !name.is("$ref") {
			continue
		}
		var err error
		switch s.home.dialect.keywords[string(name.text())].vocab {
		case "core":
			err = c.reference(s, name.str(), w)
		case "validation":
			err = c.validation(s, name.str(), w)
		case "applicator", "unevaluated":
			err = c.applicator(s, name.str(), w)
		}
		if err != nil {
			return err
		}
	}
	if a := s.array; a != nil && a.additional && !a.tupled {
		a.rest = nil // additionalItems means nothing where items is not a list
	}
	s.plain = s.enum == nil && s.number == nil && s.str == nil && s.array == nil && s.object == nil &&
		s.logic == nil && s.ref == nil && s.dynRef == nil
	return nil
}

// reference builds the core keywords. A $dynamicRef can be overridden only if it
// leads to a $dynamicAnchor, by its name.
func (c *compiler) reference(s *schema, name string, w value) (err error) {
	switch name {
	case "$ref":
		s.ref, _, err = c.resolve(w, s.home)
	case "$dynamicRef":
		c.dynamic = true
		var fragment string
		if s.dynRef, fragment, err = c.resolve(w, s.home); err == nil && s.dynRef.home.dynamic[fragment] == s.dynRef {
			s.dynName = fragment
		}
	}
	return err
}

// made returns what p points to, which is made when first needed.
func made[T any](p **T, fresh T) *T {
	if *p == nil {
		made := fresh // so that fresh is no garbage
		*p = &made
	}
	return *p
}

func (s *schema) strings() *stringRules { return made(&s.str, stringRules{length: anySize}) }
func (s *schema) logics() *logicRules   { return made(&s.logic, logicRules{}) }
func (s *schema) objects() *objectRules { return made(&s.object, objectRules{length: anySize}) }
func (s *schema) arrays() *arrayRules {
	return made(&s.array, arrayRules{length: anySize, hits: size{1, math.MaxInt}})
}

// validation builds the keywords that assert something of the value itself.
func (c *compiler) validation(s *schema, name string, w value) (err error) {
	switch name {
	case "type":
		s.types = typesOf(w)
	case "enum", "const":
		s.enumerate(name, w)
	case "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum":
		return s.limit(name, w)
	case "maxLength":
		s.strings().length.max = count(w)
	case "minLength":
		s.strings().length.min = count(w)
	case "pattern":
		s.strings().pattern, err = c.pattern(w, w.str())
	case "maxItems":
		s.arrays().length.max = count(w)
	case "minItems":
		s.arrays().length.min = count(w)
	case "uniqueItems":
		s.arrays().unique = w.kind() == kindTrue
	case "maxContains":
		s.arrays().hits.max = count(w)
	case "minContains":
		s.arrays().hits.min = count(w)
	case "maxProperties":
		s.objects().length.max = count(w)
	case "minProperties":
		s.objects().length.min = count(w)
	case "required":
		for item := range w.items() {
			s.objects().property(item.str()).required = true
			s.objects().required++ // no two are equal
		}
	case "dependentRequired":
		c.needs(s, w)
	}
	return err
}

// typesOf returns the types that type names: one, or a list.
func typesOf(w value) (t typeSet) {
	for i, name := range typeNames {
		if w.is(name) {
			t |= 1 << i
		}
	}
	for item := range w.items() {
		t |= typesOf(item)
	}
	return t
}

// enumerate sets the values that are allowed. enum and const together allow what
// both do.
func (s *schema) enumerate(name string, w value) {
	e := &enumeration{map[string]bool{}, clip(string(w.raw()), 200)}
	values := []value{w}
	if name == "enum" {
		e.reading, values = "one of "+e.reading, slices.Collect(w.items())
	}
	for _, v := range values {
		e.values[string(appendCanonical(nil, v))] = true
	}
	if s.enum != nil {
		e.reading = s.enum.reading + " and " + e.reading
		maps.DeleteFunc(e.values, func(text string, _ bool) bool { return !s.enum.values[text] })
	}
	s.enum = e
}

// limit adds a limit. Its length is bounded, so that one step of a validation is.
func (s *schema) limit(name string, w value) error {
	if len(w.raw()) > maxDigits {
		return failAt(w, "number of more than %d digits", maxDigits)
	}
	if w.kind() != kindNumber {
		return failAt(w, "want number, got %s", typeOf(w))
	}
	d := parseDecimal(bytes.Clone(w.raw()))
	for i := range limits {
		if limits[i].keyword == name {
			made(&s.number, numberRules{})[i] = &d
		}
	}
	return nil
}

// count returns a number that sizes are compared with. No size exceeds MaxInt.
func count(w value) int {
	n, ok := w.integer()
	if !ok || n > math.MaxInt {
		return math.MaxInt
	}
	return int(n)
}

// needs reads dependentRequired, dependentSchemas, and dependencies, which is both.
func (c *compiler) needs(s *schema, w value) {
	for name, v := range w.members() {
		n := need{name: name.str(), schema: c.schemas[v]}
		for item := range v.items() {
			n.names = append(n.names, item.str())
		}
		s.objects().needs = append(s.objects().needs, n)
	}
}

// applicator builds the keywords that apply other schemas.
func (c *compiler) applicator(s *schema, name string, w value) error {
	switch name {
	case "allOf":
		s.logics().allOf = c.list(w)
	case "anyOf":
		s.logics().anyOf = c.list(w)
	case "oneOf":
		s.logics().oneOf = c.list(w)
	case "not":
		s.logics().not = c.schemas[w]
	case "if":
		s.logics().when = c.schemas[w]
	case "then":
		s.logics().then = c.schemas[w]
	case "else":
		s.logics().otherwise = c.schemas[w]
	case "prefixItems":
		s.arrays().prefix = c.list(w)
	case "items":
		if w.kind() == kindArray {
			s.arrays().prefix, s.arrays().tupled = c.list(w), true
		} else {
			s.arrays().rest, s.arrays().additional = c.schemas[w], false
		}
	case "additionalItems":
		if s.arrays().rest == nil {
			s.arrays().rest, s.arrays().additional = c.schemas[w], true
		}
	case "contains":
		s.arrays().contains = c.schemas[w]
	case "properties":
		for name, v := range w.members() {
			s.objects().property(name.str()).schema = c.schemas[v]
		}
	case "patternProperties":
		for name, v := range w.members() {
			p, err := c.pattern(v, name.str())
			if err != nil {
				return err
			}
			s.objects().patterns = append(s.objects().patterns, patternRule{p, c.schemas[v]})
		}
	case "additionalProperties":
		s.objects().additional = c.schemas[w]
	case "propertyNames":
		s.objects().names = c.schemas[w]
	case "dependentSchemas", "dependencies":
		c.needs(s, w)
	case "unevaluatedItems":
		s.arrays().unevaluated = c.schemas[w]
	case "unevaluatedProperties":
		s.objects().unevaluated = c.schemas[w]
	}
	return nil
}

// list returns the schemas in a list, all of which are known.
func (c *compiler) list(w value) (list []*schema) {
	for item := range w.items() {
		list = append(list, c.schemas[item])
	}
	return list
}

// findCycle refuses schemas that apply themselves to the same value again. An
// override of a $dynamicRef can do that too; it is noticed when it happens.
func (c *compiler) findCycle() error {
	const entered, left = 1, 2
	state := make([]byte, len(c.queue))
	var visit func(s *schema) error
	visit = func(s *schema) error {
		switch {
		case s == nil || state[s.id] == left:
			return nil
		case state[s.id] == entered:
			return failAt(c.queue[s.id], "the schema refers to itself without end")
		}
		state[s.id] = entered
		for next := range s.inPlace {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[s.id] = left
		return nil
	}
	for _, v := range c.queue {
		if err := visit(c.schemas[v]); err != nil {
			return err
		}
	}
	return nil
}

// inPlace yields the schemas that s applies to the value that it is applied to.
// Some may be nil.
func (s *schema) inPlace(yield func(*schema) bool) {
	next := []*schema{s.ref, s.dynRef}
	if l := s.logic; l != nil {
		next = slices.Concat(next, l.allOf, l.anyOf, l.oneOf, []*schema{l.not, l.when, l.then, l.otherwise})
	}
	if s.object != nil {
		for _, need := range s.object.needs {
			next = append(next, need.schema)
		}
	}
	slices.Values(next)(yield)
}

// A pattern is a regular expression in the syntax of ECMA-262 with the u flag.
type pattern struct {
	text string
	re   *regexp.Regexp
	size int // instructions, about
}

// pattern compiles the pattern that stands at v, or is the name of v.
func (c *compiler) pattern(v value, text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, failAt(v, "pattern of more than %d bytes", maxPattern)
	}
	translated, err := translate(text)
	if err != nil {
		return nil, failAt(v, "unsupported pattern %q: %w", clip(text, 60), err)
	}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil, failAt(v, "unsupported pattern %q: %w", clip(text, 60), err)
	}
	size := patternSize(tree)
	if c.patternSize += size; c.patternSize > maxPatterns {
		return nil, failAt(v, "patterns are too large")
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, failAt(v, "unsupported pattern %q: %w", clip(text, 60), err)
	}
	return &pattern{strconv.Quote(clip(text, 100)), re, size}, nil
}

// patternSize estimates how large the automaton of a regular expression is.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/4
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}

// lazyRegexp is a regular expression that is compiled when it is first needed, which in
// most programs is never.
func lazyRegexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// ecmaElement matches the first element of a pattern: the longest text that has a
// meaning of its own outside of brackets.
var ecmaElement = lazyRegexp(`(?s)^(?:\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}` +
	`|\\u[[:xdigit:]]{4}|\\u\{[[:xdigit:]]+\}|\\x[[:xdigit:]]{2}|\\c[A-Za-z]|\\0[0-9]?|\\[pP]\{[^}]*\}` +
	`|\(\?<[^=!>][^>]*>|\(\?<?.?|\[\^?\]?|\\?.)`)

const (
	ecmaSpace    = `\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`
	ecmaNotSpace = `\x{0}-\x{8}\x{E}-\x{1F}!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}` +
		`\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`
)

// translate returns pattern in the syntax of package regexp, which lacks
// look-around and references to groups, and where some escapes mean something else.
// Brackets have their own rules, and an opening one in a class is a character, where
// package regexp may see [:alpha:]. Names of groups are dropped: nothing refers to them.
func translate(pattern string) (string, error) {
	var out strings.Builder
	class := false
	for pattern != "" {
		e := ecmaElement().FindString(pattern)
		if class && e[0] != '\\' {
			_, n := utf8.DecodeRuneInString(e)
			e = e[:n]
		}
		pattern = pattern[len(e):]
		var err error
		switch {
		case e[0] == '\\':
			e, err = translateEscape(e, class)
		case e == "]":
			class = false
		case class && e == "[":
			e = `\[`
		case class:
		case e == "[^]":
			e = `[\x{0}-\x{10FFFF}]`
		case e == "[]":
			e = `[^\x{0}-\x{10FFFF}]`
		case e[0] == '[':
			class = true
		case e == ".":
			e = `[^\n\r\x{2028}\x{2029}]`
		case strings.HasPrefix(e, "(?<") && strings.HasSuffix(e, ">") && e != "(?<>":
			e = "("
		case e == "(?=" || e == "(?!" || e == "(?<=" || e == "(?<!":
			err = errors.New("look-around")
		case strings.HasPrefix(e, "(?") && e != "(?:":
			err = errors.New("unknown kind of group")
		}
		if err != nil {
			return "", err
		}
		out.WriteString(e)
	}
	if class {
		return "", errors.New("missing ]")
	}
	return out.String(), nil
}

// translateEscape translates an element that begins with a backslash. Letters that
// ECMA-262 gives no meaning are refused, because package regexp may give them one.
func translateEscape(e string, class bool) (string, error) {
	if e == `\` {
		return "", errors.New(`\ at the end`)
	}
	c, _ := utf8.DecodeRuneInString(e[1:])
	operand := strings.Trim(e[2:], "{}")
	switch {
	case strings.ContainsRune("dDwWtnvfr", c), !class && (c == 'b' || c == 'B'):
		return e, nil
	case c == 's' && class:
		return ecmaSpace, nil
	case c == 'S' && class:
		return ecmaNotSpace, nil
	case c == 's':
		return "[" + ecmaSpace + "]", nil
	case c == 'S':
		return "[^" + ecmaSpace + "]", nil
	case c == 'p' || c == 'P':
		if len(e) == 2 {
			return "", fmt.Errorf(`\%c without a name in braces`, c)
		}
		// Package regexp knows the names of categories and scripts, but not of what kind they are.
		for _, kind := range []string{"General_Category=", "gc=", "Script=", "sc="} {
			operand = strings.TrimPrefix(operand, kind)
		}
		return e[:2] + "{" + operand + "}", nil
	case c == 'u' || c == 'x':
		first, second, pair := strings.Cut(operand, `\u`)
		n, err := strconv.ParseUint(first, 16, 32)
		if err != nil || n > unicode.MaxRune {
			return "", fmt.Errorf(`\%c without hexadecimal digits`, c)
		}
		if c = rune(n); pair { // the halves of one character
			c = utf16.DecodeRune(c, hex4([]byte(second)))
		}
	case c == 'c' && operand == "":
		return "", errors.New(`\c without a letter`)
	case c == 'c':
		c = rune(operand[0] % 32)
	case c == '0' && operand != "":
		return "", errors.New("octal escape")
	case c == '0':
		c = 0
	case c == 'b':
		c = '\b'
	case '1' <= c && c <= '9' || c == 'k':
		return "", errors.New("back-reference")
	case c >= utf8.RuneSelf || !unicode.In(c, unicode.P, unicode.S):
		return "", fmt.Errorf(`escape \%c`, c)
	}
	return fmt.Sprintf(`\x{%X}`, c), nil
}

// formatOK reports whether s has one of the formats that forms can ask for. Others
// are not checked.
func formatOK(format, s string) bool {
	switch format {
	case "email":
		a, err := mail.ParseAddress(s)
		return err == nil && a.Name == "" && a.Address == s
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.IsAbs() && len(s) > len(u.Scheme)+1 && uriText().MatchString(s)
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "date-time":
		s = strings.ToUpper(s)
		if len(s) < 20 || s[13] != ':' || s[19] == ',' { // which package time allows
			return false
		}
		if s[17:19] == "60" { // a leap second
			s = s[:17] + "59" + s[19:]
		}
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	}
	return true
}

// uriText is what has only characters that a URI can have.
var uriText = lazyRegexp(`^([!#$&-;=?-Z\[\]_a-z~]|%[[:xdigit:]]{2})*$`)

// schemaCache has a *derived for each reflect.Type, and a *dialect with its meta for
// each metaschema's URI. Servers are made per user or per request: a type is worked on
// once.
var schemaCache sync.Map

// A derived schema of a Go type.
type derived struct {
	text   json.RawMessage // must not be changed
	schema *Schema
	err    error
}

// schemaOf returns the text of the schema of t, which must not be changed.
func schemaOf(t reflect.Type) (json.RawMessage, error) {
	d := derive(t)
	return d.text, d.err
}

// derive returns the schema of t, text and compiled, or the error that there is none.
func derive(t reflect.Type) *derived {
	if d, ok := schemaCache.Load(t); ok {
		return d.(*derived)
	}
	d := &derived{}
	if d.text, d.err = deriveText(t); d.err == nil {
		d.schema, d.err = CompileSchema(d.text)
	}
	if d.err != nil {
		d.text, d.err = nil, fmt.Errorf("schema of %s: %w", t, d.err)
	}
	actual, _ := schemaCache.LoadOrStore(t, d)
	return actual.(*derived)
}

// A deriver writes the schema of one type. Types inside of themselves become
// definitions; which they are is found by meeting them, and then all is written
// again.
type deriver struct {
	root      reflect.Type
	recursive map[reflect.Type]bool
	again     bool                    // a recursive type was met that was not known
	open      map[reflect.Type]bool   // being written
	names     map[reflect.Type]string // of definitions
	queue     []reflect.Type          // definitions, in the order in which they are met
}

// deriveText writes the schema of t. It ends because each time round there is
// another recursive type, of which a type has finitely many.
func deriveText(t reflect.Type) (json.RawMessage, error) {
	g := &deriver{root: t, recursive: map[reflect.Type]bool{}, again: true}
	var text json.RawMessage
	for g.again {
		g.again, g.open, g.names, g.queue = false, map[reflect.Type]bool{}, map[reflect.Type]string{}, nil
		var err error
		if text, err = g.written(t); err != nil {
			return nil, err
		}
		var defs []member
		for i := 0; i < len(g.queue); i++ {
			def, err := g.written(g.queue[i])
			if err != nil {
				return nil, err
			}
			defs = append(defs, member{g.names[g.queue[i]], def})
		}
		if defs != nil {
			text = merge(text, []member{{"$defs", merge([]byte("{}"), defs)}})
		}
	}
	return text, nil
}

// A member is one of a JSON object.
type member struct {
	name string
	text json.RawMessage
}

// merge returns the object base with more members, which replace those of the
// same name.
func merge(base json.RawMessage, more []member) json.RawMessage {
	if len(more) == 0 {
		return base
	}
	var all []member
	place := map[string]int{} // in all
	put := func(k member) {
		if _, ok := place[k.name]; !ok {
			place[k.name] = len(all)
			all = append(all, k)
		}
		all[place[k.name]] = k
	}
	if ix, err := scan(base); err == nil {
		for name, v := range ix.root().members() {
			put(member{name.str(), v.raw()})
		}
	}
	for _, k := range more {
		put(k)
	}
	text := []byte("{")
	for i, k := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(appendString(text, k.name), ':'), k.text...)
	}
	return append(text, '}')
}

// write returns the schema of t, or a reference to it.
func (g *deriver) write(t reflect.Type) (json.RawMessage, error) {
	switch {
	case g.open[t] && !g.recursive[t]:
		g.recursive[t], g.again = true, true
		return json.RawMessage("{}"), nil // will be written again
	case !g.recursive[t]:
		return g.written(t)
	case t == g.root:
		return json.RawMessage(`{"$ref":"#"}`), nil
	}
	if g.names[t] == "" {
		g.names[t] = g.unusedName(t)
		g.queue = append(g.queue, t)
	}
	ref := strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(g.names[t])
	return append(appendString([]byte(`{"$ref":`), "#/$defs/"+ref), '}'), nil
}

// unusedName returns a name for the definition of t: types of different packages
// may have the same.
func (g *deriver) unusedName(t reflect.Type) string {
	name := t.Name()
	for n := 2; slices.Contains(slices.Collect(maps.Values(g.names)), name); n++ {
		name = t.Name() + strconv.Itoa(n)
	}
	return name
}

// written returns the schema of t itself.
func (g *deriver) written(t reflect.Type) (json.RawMessage, error) {
	if t.Name() != "" {
		g.open[t] = true
		defer delete(g.open, t)
	}
	if text := ownSchema(t); text != nil {
		return text, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.write(t.Elem())
	case reflect.Interface:
		return json.RawMessage("{}"), nil
	case reflect.Bool:
		return json.RawMessage(`{"type":"boolean"}`), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.RawMessage(`{"type":"integer"}`), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return json.RawMessage(`{"type":"integer","minimum":0}`), nil
	case reflect.Float32, reflect.Float64:
		return json.RawMessage(`{"type":"number"}`), nil
	case reflect.String:
		return json.RawMessage(`{"type":"string"}`), nil
	case reflect.Slice, reflect.Array:
		return g.listSchema(t)
	case reflect.Map:
		return g.mapSchema(t)
	case reflect.Struct:
		return g.structSchema(t)
	}
	return nil, &decodeError{reason: t.String() + " cannot be JSON"}
}

// Types whose JSON is not what their kind tells.
var (
	schemaType = reflect.TypeFor[interface{ JSONSchema() json.RawMessage }]()
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
)

// ownSchema returns the schema of a type whose kind does not tell what its JSON
// is; nil for others.
func ownSchema(t reflect.Type) json.RawMessage {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return nil
	}
	p := reflect.PointerTo(t)
	switch {
	case p.Implements(schemaType):
		text, err := appendRaw(nil, reflect.New(t).Interface().(interface{ JSONSchema() json.RawMessage }).JSONSchema())
		if err != nil {
			return []byte("null") // is refused when it is compiled
		}
		return text
	case t == timeType:
		return []byte(`{"type":"string","format":"date-time"}`)
	case t == numberType:
		return []byte(`{"type":"number"}`)
	case t == base64Type:
		return []byte(`{"type":"string","contentEncoding":"base64"}`)
	case p.Implements(jsonEncoderType) || p.Implements(jsonDecoderType):
		return []byte("{}")
	case p.Implements(textEncoderType) || p.Implements(textDecoderType):
		return []byte(`{"type":"string"}`)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !foreign(t.Elem()):
		return []byte(`{"type":"string","contentEncoding":"base64"}`)
	}
	return nil
}

// listSchema returns the schema of a slice or an array.
func (g *deriver) listSchema(t reflect.Type) (json.RawMessage, error) {
	items, err := g.write(t.Elem())
	if err != nil {
		return nil, in("[]", err)
	}
	list := []member{{"type", []byte(`"array"`)}, {"items", items}}
	if t.Kind() == reflect.Array {
		n := strconv.AppendInt(nil, int64(t.Len()), 10)
		list = append(list, member{"minItems", n}, member{"maxItems", n})
	}
	return merge(nil, list), nil
}

// mapSchema returns the schema of a map. Its keys are what encoding/json can write
// or read as names.
func (g *deriver) mapSchema(t reflect.Type) (json.RawMessage, error) {
	k := t.Key()
	if k.Kind() != reflect.String && (k.Kind() < reflect.Int || reflect.Uintptr < k.Kind()) &&
		!k.Implements(textEncoderType) && !reflect.PointerTo(k).Implements(textDecoderType) {
		return nil, &decodeError{reason: k.String() + " cannot be a name in JSON"}
	}
	values, err := g.write(t.Elem())
	if err != nil {
		return nil, in("[]", err)
	}
	return merge(nil, []member{{"type", []byte(`"object"`)}, {"additionalProperties", values}}), nil
}

// structSchema returns the schema of a struct, with its fields in their order.
// There is always a "properties", because some clients demand it, and never an
// empty "required".
func (g *deriver) structSchema(t reflect.Type) (json.RawMessage, error) {
	var properties []member
	var required []byte
	for _, f := range jsonFields(t) {
		text, err := g.fieldSchema(&f)
		if err != nil {
			return nil, in(f.name, err)
		}
		properties = append(properties, member{f.name, text})
		if !f.omitEmpty && !f.omitZero && !throughPointer(t, f.index) {
			required = append(appendString(required, f.name), ',')
		}
	}
	object := []member{{"type", []byte(`"object"`)}, {"properties", merge([]byte("{}"), properties)}}
	if required != nil {
		object = append(object, member{"required", slices.Concat([]byte("["), required[:len(required)-1], []byte("]"))})
	}
	return merge(nil, append(object, member{"additionalProperties", []byte("false")})), nil
}

// throughPointer reports whether the field, or what it is embedded in, may be nil.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index {
		if t.Kind() == reflect.Pointer {
			return true
		}
		t = t.Field(i).Type
	}
	return t.Kind() == reflect.Pointer
}

// fieldSchema returns the schema of a field: that of its type, with what its tags
// say on top.
func (g *deriver) fieldSchema(f *field) (text json.RawMessage, err error) {
	t := f.typ
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	text = json.RawMessage(`{"type":"string"}`)
	if !f.quoted || ownSchema(t) != nil {
		if text, err = g.write(f.typ); err != nil {
			return nil, err
		}
	}
	var mine []member
	if description := f.tag.Get("jsonschema"); description != "" {
		mine = append(mine, member{"description", appendString(nil, description)})
	}
	return tagged(text, mine, f.tag.Get("schema"))
}

// tagNames has the keywords that a tag can set, and the types that they are about.
var tagNames = map[string]typeSet{
	"title": typeAny, "default": typeAny, "enum": typeString | typeNumber | typeInteger | typeBoolean,
	"minimum": typeNumber | typeInteger, "maximum": typeNumber | typeInteger,
	"exclusiveMinimum": typeNumber | typeInteger, "exclusiveMaximum": typeNumber | typeInteger,
	"multipleOf": typeNumber | typeInteger,
	"minLength":  typeString, "maxLength": typeString, "pattern": typeString, "format": typeString,
	"minItems": typeArray, "maxItems": typeArray, "uniqueItems": typeArray,
	"minProperties": typeObject, "maxProperties": typeObject,
}

// tagged returns a schema with more keywords: mine, and those of a tag. What is not
// about lists is, in the schema of one, about its elements.
func tagged(schema json.RawMessage, mine []member, tag string) (json.RawMessage, error) {
	ix, err := scan(schema)
	if err != nil {
		return schema, nil // will be refused when it is compiled
	}
	root, items := ix.root(), ix.root().member("items")
	var elements []member
	for tag != "" {
		var name, text string
		name, text, tag = cutKeyword(tag)
		types, ok := tagNames[name]
		if !ok {
			return nil, &decodeError{reason: fmt.Sprintf("tag schema: unknown keyword %q", name)}
		}
		target, of := &mine, root
		if items.ix != nil && types&typeArray == 0 {
			target, of = &elements, items
		}
		value, err := tagValue(name, text, types, typesOf(of.member("type")))
		if err != nil {
			return nil, &decodeError{reason: fmt.Sprintf("tag schema: %s=%s: %v", name, text, err)}
		}
		*target = append(*target, member{name, value})
	}
	if elements != nil {
		mine = append(mine, member{"items", merge(items.raw(), elements)})
	}
	return merge(schema, mine), nil
}

// cutKeyword cuts the first name=text from a tag. A comma in the text is part of
// it unless a name and an equals sign follow.
func cutKeyword(tag string) (name, text, rest string) {
	name, tag, _ = strings.Cut(tag, "=")
	for i := range len(tag) {
		if tag[i] != ',' {
			continue
		}
		next, _, ok := strings.Cut(tag[i+1:], "=")
		letter := func(c rune) bool { return unicode.IsLetter(c) }
		if ok && next != "" && strings.TrimFunc(next, letter) == "" {
			return name, tag[:i], tag[i+1:]
		}
	}
	return name, tag, ""
}

// tagValue turns the text of a keyword about types into JSON, for what is of types
// of; 0: of any.
func tagValue(name, text string, types, of typeSet) (json.RawMessage, error) {
	if of == 0 {
		of = typeAny
	}
	if types&of == 0 {
		return nil, fmt.Errorf("is about %s, not %s", types, of)
	}
	literal := func(text string) (json.RawMessage, error) {
		if of == typeString {
			return appendString(nil, text), nil
		}
		return appendRaw(nil, []byte(text))
	}
	switch name {
	case "title", "pattern", "format":
		return appendString(nil, text), nil
	case "enum":
		list := []byte("[")
		for i, item := range strings.Split(text, "|") {
			value, err := literal(item)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, value...)
		}
		return append(list, ']'), nil
	case "default":
		return literal(text)
	}
	if text == "" {
		return nil, errors.New("want a value")
	}
	return appendRaw(nil, []byte(text))
}
