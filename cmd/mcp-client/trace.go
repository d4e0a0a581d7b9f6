package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"example.com/mcp"
)

const (
	maxShown   = 120   // bytes of a text in a message that a trace shows, unless it shows all
	maxLine    = 2_000 // bytes of a message, likewise
	maxPending = 1_000 // requests whose methods are known when the answers come
)

// A trace shows on stderr what goes over the wire. It never shows what is secret.
type trace struct {
	screen *screen
	full   bool // show all of long texts
	start  time.Time

	mu      sync.Mutex        // guards the fields below
	said    map[string]string // by key; what the last message that has such a member says
	methods map[string]string // of requests that wait for an answer, by way and id
}

// A traceFlag is the flag -trace, or -trace=full.
type traceFlag struct{ p *program }

func (traceFlag) IsBoolFlag() bool { return true }
func (traceFlag) String() string   { return "" }

func (f traceFlag) Set(text string) error {
	f.p.tracing = nil
	switch text {
	case "true", "full":
		f.p.tracing = &trace{screen: f.p.screen, full: text == "full", start: time.Now()}
	case "false":
	default:
		return fmt.Errorf("want -trace or -trace=full")
	}
	return nil
}

// The two ways that messages go.
const out, back = "-->", "<--"

// note shows what is no message.
func (t *trace) note(way, text string) {
	t.show(way, span{dim, " (" + text + ")"})
}

func (t *trace) show(way string, parts ...span) {
	t.screen.spans(append([]span{{dim, fmt.Sprintf("%8.3fs ", time.Since(t.start).Seconds())}, {cyan, way}}, parts...)...)
}

// An envelope is a JSON-RPC message in its parts.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// message shows a message: its id, its method, and what it says. What is no JSON-RPC is
// shown as it is.
func (t *trace) message(way string, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var e envelope
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if d.Decode(&e) != nil || d.More() || e.Version == nil {
		t.show(way, span{text: " " + t.abridge(string(data))})
		return
	}
	var parts []span
	if e.ID != nil {
		parts = append(parts, span{dim, " #" + string(e.ID)})
	}
	body := e.Params
	switch {
	case e.Method != "":
		t.expect(way, &e)
		parts = append(parts, span{bold, " " + e.Method})
	case e.Error != nil:
		body = e.Error
		parts = append(parts, span{bold, t.asked(way, &e)}, span{red, " error"})
	default:
		body = e.Result
		parts = append(parts, span{bold, t.asked(way, &e)}, span{green, " result"})
	}
	if body != nil {
		parts = append(parts, span{text: " " + t.abridge(t.news(compact(body)))})
	}
	t.show(way, parts...)
}

// expect remembers the method of a request until its answer comes.
func (t *trace) expect(way string, e *envelope) {
	if e.ID == nil || len(t.methods) >= maxPending {
		return
	}
	if t.methods == nil {
		t.methods = map[string]string{}
	}
	t.methods[way+string(e.ID)] = e.Method
}

// asked is the method of the request that a message answers.
func (t *trace) asked(way string, e *envelope) string {
	other := out
	if way == out {
		other = back
	}
	key := other + string(e.ID)
	method, ok := t.methods[key]
	if !ok {
		return ""
	}
	delete(t.methods, key)
	return " " + method
}

func compact(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// repeated are the members that every message has from 2026-07-28 on.
var repeated = []string{"clientCapabilities", "clientInfo", "protocolVersion", "serverInfo"}

// news is a message in which "…" stands for what every message says, where it is said as
// before.
func (t *trace) news(text string) string {
	const place = "\x00" // which is in no JSON
	if strings.Contains(text, place) {
		return text
	}
	if t.said == nil {
		t.said = map[string]string{}
	}
	for _, name := range repeated {
		key := `"io.modelcontextprotocol/` + name + `":`
		before, after, found := strings.Cut(text, key)
		d := json.NewDecoder(strings.NewReader(after))
		if !found || d.Decode(new(json.RawMessage)) != nil {
			continue
		}
		value, rest := after[:d.InputOffset()], after[d.InputOffset():]
		if t.said[name] == value {
			text = before + place + rest
		}
		t.said[name] = value
	}
	for strings.Contains(text, place+","+place) {
		text = strings.Replace(text, place+","+place, place, 1)
	}
	return strings.ReplaceAll(text, place, "…")
}

// abridge is a message without what is secret and, unless all is to be shown, without
// the rest of long texts.
func (t *trace) abridge(text string) string {
	var b strings.Builder
	secret := false // what follows is the value of a member that is
	for i := 0; i < len(text); {
		if text[i] != '"' {
			if n := plainEnd(text[i:]); secret && n > 0 {
				fmt.Fprintf(&b, `"(hidden, %d bytes)"`, n)
				secret, i = false, i+n
				continue
			}
			secret = secret && strings.IndexByte(": \t\r\n", text[i]) >= 0
			b.WriteByte(text[i])
			i++
			continue
		}
		end, cut := stringEnd(text, i)
		word := text[i:end]
		switch rest := strings.TrimLeft(text[end:], " \t\r\n"); {
		case secret:
			fmt.Fprintf(&b, `"(hidden, %d bytes)"`, len(word)-2)
			secret = false
		case !t.full && cut < end:
			fmt.Fprintf(&b, `%s…(%d bytes)"`, text[i:cut], len(word)-2)
		default:
			b.WriteString(word)
			secret = strings.HasPrefix(rest, ":") && isSecret(word)
		}
		i = end
	}
	if text = b.String(); t.full || len(text) <= maxLine {
		return text
	}
	n := maxLine
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s…(%d bytes, -trace=full shows all)", text[:n], len(text))
}

// plainEnd is the length of the number, list or object that text begins with; 0: it does
// not, or the object is the schema of a member of that name.
func plainEnd(text string) int {
	if strings.IndexByte("-0123456789[{", text[0]) < 0 {
		return 0
	}
	var value json.RawMessage
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(&value) != nil {
		return len(text)
	}
	if text[0] == '{' && isSchema(value) {
		return 0
	}
	return int(d.InputOffset())
}

// isSchema reports whether an object says what type it describes, or nothing.
func isSchema(object json.RawMessage) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(object, &s) != nil {
		return false
	}
	if _, refers := s["$ref"]; refers || len(s) == 0 {
		return true
	}
	for _, list := range []string{"anyOf", "oneOf", "allOf"} {
		if s[list] != nil {
			return true
		}
	}
	var types []string
	if json.Unmarshal(s["type"], &types) != nil {
		types = make([]string, 1)
		_ = json.Unmarshal(s["type"], &types[0])
	}
	return len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool {
		return !slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object", "null"}, t)
	})
}

// stringEnd finds the end of the JSON string that begins at i, and where it can be cut
// if it is long; the end if not.
func stringEnd(text string, i int) (end, cut int) {
	begin := i
	for i++; i < len(text) && text[i] != '"'; {
		if i-begin-1 <= maxShown {
			cut = i // between two characters
		}
		switch _, size := utf8.DecodeRuneInString(text[i:]); {
		case strings.HasPrefix(text[i:], `\u`):
			i += 6
		case text[i] == '\\':
			i += 2
		default:
			i += size
		}
	}
	end = min(i+1, len(text))
	if end-begin <= maxShown+2 {
		return end, end
	}
	return end, cut
}

// secrets are the members that nobody is to see on a screen, whose logs people share.
var secrets = map[string]bool{"requeststate": true, "authorization": true, "cookie": true, "token": true, "accesstoken": true, "refreshtoken": true,
	"idtoken": true, "clientsecret": true, "secret": true, "password": true, "passwd": true, "apikey": true, "privatekey": true, "codeverifier": true}

// isSecret reports whether the value of a member is, by its name in quotes.
func isSecret(quoted string) bool {
	var name string
	if json.Unmarshal([]byte(quoted), &name) != nil {
		return false
	}
	return secrets[strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))]
}

// A tracer shows what goes over a connection.
type tracer struct {
	mcp.Conn
	trace *trace
}

func (t *tracer) Read() ([]byte, error) {
	data, err := t.Conn.Read()
	if err != nil {
		t.trace.note(back, err.Error())
	} else {
		t.trace.message(back, data)
	}
	return data, err
}

func (t *tracer) Write(messages ...[]byte) error {
	for _, m := range messages {
		t.trace.message(out, m)
	}
	return t.Conn.Write(messages...)
}
