package mcp

// JSON-RPC 2.0: messages, and the peer that stands at either end of a connection.
//
// What happens to bytes that arrive:
//
//	parseFrame            scan once, tell requests, notifications and responses apart
//	peer.accept           one message or a batch
//	  acceptRequest       duplicate? slot free? then the side admits it, in order
//	    run               on a kept goroutine: side.request, then finish
//	      finish          encode, and answer on the stream of the arrival
//	  acceptNotification  cancelled and progress at once, the rest through one queue
//	  acceptResponse      wakes the call that waits for it
//
// The peer knows no transport: what it has to say goes to the stream that the
// arrival named, or that the caller of call gave. It knows no feature either:
// those are behind side. The sides are session (server.go) and clientConn (client.go),
// the streams duplex (stdio.go), httpStream (streamable.go) and httpLink
// (streamableclient.go).

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxBatch      = 100             // messages in one batch
	maxRunning    = 1024            // requests that one peer runs at once, by default
	maxNotes      = 1024            // notifications that wait for their handler
	maxProgress   = 1024            // progress reports that wait for one caller
	maxWaiting    = 64 << 20        // bytes of the notifications, or of the reports, before the newest has no room
	slotWait      = time.Second     // of the reader, for a request's slot
	maxIdle       = 256             // goroutines that a crew keeps
	maxPooled     = 16 << 20        // bytes of a buffer that is kept, until the next collection
	defaultIdle   = 5 * time.Minute // without answer or progress, a call is given up
	defaultMax    = time.Hour       // a call is given up whatever progress comes
	handlersGrace = 5 * time.Second // for the application's handlers, when a connection closes
)

// An ID identifies a request: its own JSON text, a string or an integer, exactly
// as it was written. The zero ID is none.
// Schema: RequestId.
type ID struct{ text string }

// String returns the JSON text of the ID.
func (id ID) String() string { return id.text }

// IsZero reports whether there is no ID.
func (id ID) IsZero() bool { return id.text == "" }

// MarshalJSON returns the text of the ID.
func (id ID) MarshalJSON() ([]byte, error) { return []byte(id.text), nil }

// UnmarshalJSON accepts a string or an integer.
func (id *ID) UnmarshalJSON(data []byte) error {
	ix, err := scan(data)
	if err != nil {
		return err
	}
	parsed, ok := parseID(ix.root())
	if !ok {
		return fmt.Errorf("id %.60s is neither a string nor an integer", data)
	}
	*id = parsed
	return nil
}

func integerID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// parseID accepts what can be an ID or a progress token.
func parseID(v value) (ID, bool) {
	if v.kind() == kindString || v.kind() == kindNumber && isInteger(v.raw()) {
		return ID{string(v.raw())}, true
	}
	return ID{}, false
}

// key is the value the text stands for: 1.0 and 1 have one key, "1" another.
func (id ID) key() string {
	if id.text == "" || id.text[0] == '"' {
		if strings.IndexByte(id.text, '\\') < 0 {
			return id.text
		}
		return string(appendString(nil, string(unescape(nil, []byte(id.text[1:len(id.text)-1])))))
	}
	if strings.ContainsAny(id.text, ".eE") || id.text == "-0" {
		return integerText(id.text)
	}
	return id.text
}

// An Error is an error on the wire. Handlers return one to answer with exactly
// that code; a client's methods return the server's (use errors.As). Two Errors
// are the same to errors.Is if their codes are.
// Schema: Error, from 2025-11-25 on; JSONRPCError.error, until 2025-06-18.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"` // any JSON value; nil: none

	status int         // of an HTTP answer, if nothing was written yet; 0: by the transport
	header http.Header // likewise
}

// Errorf makes an Error of a code, such as [CodeInvalidParams], and a message as of
// fmt.Sprintf. The message reaches the other side: it must hold no secrets.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// badRequest is Errorf for what HTTP has 400 for.
func badRequest(code int, format string, args ...any) *Error {
	return Errorf(code, format, args...).WithHTTP(http.StatusBadRequest, nil)
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// WithHTTP returns a copy that, over HTTP, is answered with a status and headers
// if nothing of the answer was written before. Elsewhere it makes no difference.
func (e *Error) WithHTTP(status int, h http.Header) *Error {
	c := *e
	c.status, c.header = status, h
	return &c
}

// withData returns a copy with data.
func (e *Error) withData(data any) *Error {
	c := *e
	c.Data, _ = marshal(data)
	return &c
}

var (
	// ErrClosed is what calls return, wrapped with the cause, when the connection is
	// over: those that wait then, and all later ones.
	ErrClosed = errors.New("mcp: connection closed")

	// ErrRequestOver is returned by methods of a [Request] that would speak to the client
	// when the request has been answered.
	ErrRequestOver = errors.New("mcp: the request is over")

	// ErrInvalidResponse is returned, wrapped, by a call whose answer breaks the
	// protocol.
	ErrInvalidResponse = errors.New("mcp: invalid response")
)

// A TimeoutError is returned by a call that got no answer in time. It is
// context.DeadlineExceeded to errors.Is, and never an *Error.
type TimeoutError struct {
	Method   string        // that was called
	Limit    time.Duration // that has passed
	Idle     bool          // the limit between signs of life, which progress renews
	Progress time.Time     // when progress was last seen; zero: never
}

// Error says which limit it was, and when progress was last seen.
func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("mcp: %s: no answer within %v", e.Method, e.Limit)
	if e.Idle {
		text = fmt.Sprintf("mcp: %s: neither answer nor progress for %v", e.Method, e.Limit)
	}
	if !e.Progress.IsZero() {
		text += ", last progress at " + e.Progress.Format(time.TimeOnly)
	}
	return text
}

// Is makes the error a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// A CancelledError is the cause (see context.Cause) of the context of a handler
// whose request the peer cancelled, and on the client's side the error of a task that
// was. Reason is the other side's, unverified; it may be "".
type CancelledError struct{ Reason string }

// Error returns the reason.
func (e *CancelledError) Error() string {
	if e.Reason == "" {
		return "mcp: cancelled by the peer"
	}
	return "mcp: cancelled by the peer: " + e.Reason
}

// wireError returns what is sent for err. What is not an *Error goes out without
// detail; codes that the protocol keeps for itself become -32603, also those that have a
// meaning for a request as a whole, unless they come with their status: a handler that
// passes on what another server has answered does not say that of its own request.
func wireError(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Code: CodeInternalError, Message: "internal error"}
	}
	reserved := -32099 <= e.Code && e.Code <= -32000
	ofRequests := CodeUnsupportedProtocolVersion <= e.Code && e.Code <= CodeHeaderMismatch
	if reserved && !slices.Contains(ownCodes, e.Code) || ofRequests && e.status == 0 {
		c := *e
		c.Code = CodeInternalError
		return &c
	}
	return e
}

// ownCodes are the codes among the reserved ones that the protocol has given a meaning.
var ownCodes = []int{CodeResourceNotFound, CodeURLElicitationRequired, CodeHeaderMismatch, CodeMissingRequiredClientCapability, CodeUnsupportedProtocolVersion}

// A buffer is memory for an encoded message. Whoever is given one owns it, and
// ends with free.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 512)} }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) free() {
	if cap(b.b) <= maxPooled {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}

// newMessage begins a message, without id if id is zero.
func newMessage(id ID) *buffer {
	b := newBuffer()
	b.b = append(b.b, `{"jsonrpc":"2.0",`...)
	if !id.IsZero() {
		b.b = append(append(append(b.b, `"id":`...), id.text...), ',')
	}
	return b
}

// encodeResult encodes a response; encodeError one with an error.
func encodeResult(id ID, result any, rev revision) (*buffer, error) {
	b := newMessage(id)
	b.b = append(b.b, `"result":`...)
	start := len(b.b)
	out, err := appendJSON(b.b, result, rev)
	if err == nil && out[start] != '{' {
		err = fmt.Errorf("the result is %.40s, not an object", out[start:])
	}
	if err != nil {
		b.free()
		return nil, err
	}
	b.b = append(out, '}')
	return b, nil
}

func encodeError(id ID, e *Error) *buffer {
	b := newMessage(id)
	b.b = append(b.b, `"error":{"code":`...)
	b.b = strconv.AppendInt(b.b, int64(e.Code), 10)
	b.b = appendString(append(b.b, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		if out, err := appendRaw(append(b.b, `,"data":`...), e.Data); err == nil {
			b.b = out
		}
	}
	b.b = append(b.b, "}}"...)
	return b
}

// encodeMessage encodes a request, or a notification if id is zero. says, which are
// members as text, and the members of meta are the parameters' _meta.
func encodeMessage(id ID, method string, params any, says []byte, meta Meta, rev revision) (*buffer, error) {
	b := newMessage(id)
	b.b = appendString(append(b.b, `"method":`...), method)
	var err error
	if params != nil || len(says) > 0 || len(meta) > 0 {
		b.b, err = appendParams(append(b.b, `,"params":`...), params, says, meta, rev)
	}
	b.b = append(b.b, '}')
	return b, err
}

// appendParams writes params with more _meta.
func appendParams(b []byte, params any, says []byte, meta Meta, rev revision) ([]byte, error) {
	if len(says) == 0 && len(meta) == 0 {
		return appendJSON(b, params, rev)
	}
	b, err := appendMeta(append(b, `{"_meta":`...), says, meta, 0)
	if err != nil || params == nil {
		return append(b, '}'), err
	}
	start := len(b)
	if b, err = appendJSON(b, params, rev); err != nil {
		return b, err
	}
	if string(b[start:]) == "{}" {
		return append(b[:start], '}'), nil
	}
	if own, ok := bytes.CutPrefix(b[start:], []byte(`{"_meta":{`)); ok && own[0] != '}' {
		b[start-1] = ',' // instead of the brace of the other _meta
		return append(b[:start], own...), nil
	}
	b[start] = ',' // instead of its brace
	return b, nil
}

// encodeCancel encodes the notice that nobody waits for a request any more.
func encodeCancel(id ID, cause error) *buffer {
	b := newBuffer()
	b.b = append(append(b.b, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...), id.text...)
	b.b = appendString(append(b.b, `,"reason":`...), cause.Error())
	b.b = append(b.b, "}}"...)
	return b
}

type messageKind int8

const (
	invalidMessage messageKind = iota // bad says why
	requestMessage
	notificationMessage
	responseMessage // err, or result
)

// A message is the envelope of one JSON-RPC message.
type message struct {
	kind   messageKind
	id     ID // zero: none, or not readable
	method string
	params value // an object, or absent
	result value // an object
	err    error // of a response: an *Error, or why it is invalid
	bad    *Error
	text   []byte // of an invalid message
}

// A frame is what arrived in one piece: a message, or a batch of them.
type frame struct {
	ix       index
	batch    bool
	messages []message
	first    [1]message // memory for messages of one
	bad      *Error     // the whole frame is refused
}

// parseFrame scans data once, which it keeps.
func parseFrame(data []byte) *frame {
	f := &frame{}
	if err := f.ix.scan(data); err != nil {
		f.bad = Errorf(CodeParseError, "parse error: %v", err)
		var te *textError
		if errors.As(err, &te) && te.repeat {
			f.bad = Errorf(CodeInvalidRequest, "invalid message: %v", err)
		}
		return f
	}
	root := f.ix.root()
	if root.kind() != kindArray {
		f.first[0] = parseMessage(root)
		f.messages = f.first[:]
		return f
	}
	f.batch = true
	for v := range root.items() {
		f.messages = append(f.messages, parseMessage(v))
	}
	return f
}

func parseMessage(v value) message {
	m, p := message{text: v.raw()}, partsOf(v)
	if !p.version.is("2.0") {
		m.err = fmt.Errorf("%w: jsonrpc is %.40s, want \"2.0\"", ErrInvalidResponse, p.version.raw())
	}
	var known bool
	m.id, known = parseID(p.id)
	switch {
	case v.kind() != kindObject:
		m.err, m.bad = nil, invalid("want an object, got %.40s", v.raw())
	case p.method.ix != nil:
		m.bad = m.request(&p, known)
	case p.result.ix == nil && p.fault.ix == nil:
		m.err, m.bad = fmt.Errorf("%w: neither result nor error", ErrInvalidResponse), invalid("no method")
	default:
		m.kind = responseMessage
		if m.err == nil {
			m.response(p.result, p.fault)
		}
	}
	if m.bad != nil {
		m.kind = invalidMessage
	}
	return m
}

// parts are the members of a message.
type parts struct{ version, id, method, params, result, fault value }

func partsOf(v value) (p parts) {
	for name, w := range v.members() {
		switch string(name.text()) {
		case "jsonrpc":
			p.version = w
		case "id":
			p.id = w
		case "method":
			p.method = w
		case "params":
			p.params = w
		case "result":
			p.result = w
		case "error":
			p.fault = w
		}
	}
	return p
}

func invalid(format string, args ...any) *Error {
	return Errorf(CodeInvalidRequest, "invalid message: "+format, args...)
}

// request fills in a request or notification, or says what is wrong with it. known
// says whether its id can be one.
func (m *message) request(p *parts, known bool) *Error {
	m.kind = requestMessage
	if p.id.ix == nil {
		m.kind, known = notificationMessage, true
	}
	if m.err != nil {
		return invalid("jsonrpc must be \"2.0\"")
	}
	m.method = methodName(p.method.text())
	switch {
	case !known:
		return invalid("id %.40s is neither a string nor an integer", p.id.raw())
	case p.method.kind() != kindString:
		return invalid("method must be a string")
	case p.params.kind() == kindArray:
		return Errorf(CodeInvalidParams, "parameters must be an object, not an array")
	case p.params.present() && p.params.kind() != kindObject:
		return invalid("parameters must be an object")
	case p.params.present():
		m.params = p.params
	}
	return nil
}

// size is how much of a notification is kept while it waits, about.
func (m *message) size() int {
	if m.params.ix == nil {
		return len(m.method)
	}
	return len(m.method) + len(m.params.ix.data)
}

// methodName is name as a string, without new memory for the usual ones.
func methodName(name []byte) string {
	for _, known := range [...]string{methodToolsCall, noteProgress, noteMessage, methodToolsList, methodResourcesRead, methodPing} {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

// response fills in a response from its result and error members.
func (m *message) response(result, fault value) {
	switch {
	case result.kind() != kindNone && fault.kind() != kindNone:
		m.err = fmt.Errorf("%w: both result and error", ErrInvalidResponse)
	case fault.kind() == kindString:
		m.err = fmt.Errorf("%w: malformed error: %s", ErrInvalidResponse, fault.str())
	case fault.kind() != kindNone:
		code, ok := fault.member("code").integer()
		text := fault.member("message")
		if !ok || text.kind() != kindString {
			m.err = fmt.Errorf("%w: malformed error: %.200s", ErrInvalidResponse, fault.raw())
			return
		}
		m.err = &Error{Code: int(code), Message: text.str(), Data: fault.member("data").raw()}
	case result.kind() != kindObject:
		m.err = fmt.Errorf("%w: result is %.40s, want an object", ErrInvalidResponse, result.raw())
	default:
		m.result = result
	}
}

// headID looks for the id in the beginning of a message that was cut off, and
// tells whether it is a request's.
func headID(head []byte) (id ID, request bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	if brace, _ := d.Token(); brace != json.Delim('{') {
		return ID{}, false
	}
	for d.More() {
		name, err := d.Token()
		request = request || name == "method"
		var text json.RawMessage
		if err != nil || d.Decode(&text) != nil {
			break
		}
		if name == "id" {
			_ = id.UnmarshalJSON(text) // or it stays zero
		}
	}
	return id, request
}

// An outgoing is a request or notification on its way out.
type outgoing struct {
	id     ID // zero: a notification
	method string
	data   *buffer
	header http.Header // for the HTTP request of a client; nil elsewhere
	opens  bool        // it finds out who is there: whoever gives it up has nobody to tell
}

// A stream carries messages to the other side. Its methods may be called at once.
//
// The peer answers on a stream, and never closes one. Whoever made it does: a duplex ends
// with its connection, an httpStream when what it was opened for is answered or over.
type stream interface {
	// send takes over m.data. Without an error the message will leave, in order; a
	// later failure comes by peer.fail.
	send(ctx context.Context, m *outgoing) error
	// answer ends one request. It owns b; b nil means that there is no answer.
	answer(b *buffer, e *Error)
	// abandon tells the other side that nobody waits for m any more. It does not wait.
	abandon(m *outgoing, cause error)
}

// An arrival says how bytes came. It is filled in by the transport and never changes.
type arrival struct {
	out      stream // for what the bytes cause
	own      bool   // out carries nothing else
	header   http.Header
	identity *Identity
	only     ID                        // on a client's exchange: the one call that may be answered here
	pause    func(time.Duration) error // lets go of the connection but keeps the stream; nil: cannot
}

// A side is what a peer belongs to: a server's session, a client's session.
type side interface {
	// admit sees each request and notification in the order of arrival, before
	// anything of the next message is looked at. It refuses what cannot be served now,
	// and says what must be over, answer included, before the next message.
	admit(in *incoming) (inOrder bool, refused *Error)
	// request serves a request. A result is encoded for in.rev.
	request(ctx context.Context, in *incoming) (any, error)
	// notification handles a notification; one at a time, in order of arrival.
	notification(ctx context.Context, in *incoming)
	// batches reports whether arrays of messages are accepted.
	batches() bool
}

// An incoming is a request or notification that arrived.
type incoming struct {
	message
	p      *peer
	a      *arrival
	key    string   // under which it runs
	rev    revision // in which the answer is written; set by the side
	ctx    context.Context
	cancel context.CancelCauseFunc // nil for a notification

	after func(ok bool) // called when the answer is out, ok if it is no error; nil: nothing; set by the side

	cancelled bool // by the peer: there will be no answer; guarded by p.mu
}

// A lostSession says that the server does not know the session any more.
type lostSession struct {
	number int  // of the session
	begun  bool // the server may have begun to serve the call
}

func (l *lostSession) Error() string {
	if l.begun {
		return "the server has ended the session; it may have served the call"
	}
	return "the server has ended the session"
}

// A peer is one end of a connection.
type peer struct {
	side      side
	log       *slog.Logger
	crew      *crew
	lent      bool                            // the crew serves others, too
	limit     int                             // requests running at once
	malformed func(data []byte, reason error) // told of what is no message; nil: not told
	done      chan struct{}                   // closed by failCalls, when there is a cause
	late      func(token int64, r Progress)   // gets progress of calls that are answered, under mu; nil: nobody does
	lose      func(*lostSession)              // told that the other side has ended the session
	withdrawn func(ID)                        // told that the other side cancels what is no request of its own; nil: not told
	before    *peer                           // in whose place it is; nil: nobody's
	mute      bool                            // does not answer what is no request: a client
	crash     bool                            // a panic goes on, after it was logged

	mu         sync.Mutex // guards the fields below
	cause      error      // why the peer is over; nil: it is not
	lastID     int64
	lone       int64 // requests ever that belong to no connection
	calls      map[int64]*pending
	running    map[string]*incoming    // by key of the id
	busy       int                     // requests whose answer is not out yet
	notes      []*incoming             // notifications that wait
	noteSize   int                     // bytes that these keep
	noting     bool                    // a goroutine handles notes
	noteCancel context.CancelCauseFunc // ends the context of the last one handled; may be nil
	accepted   uint64                  // notifications ever queued
	handled    uint64                  // of these, handled
	noted      gate                    // opened when one was handled
	free       []*pending
	rest       gate // opened when nothing runs any more
	slot       gate // opened when the reader need not wait for a slot
	stuck      bool // the reader waited for a slot in vain, and none was free since
}

// A gate is where goroutines wait for something to change. It is used under the lock
// that guards what changes. The zero gate is ready.
type gate struct{ ch chan struct{} } // closed by open; nil: nobody waits

// wait returns a channel that is closed when the gate is opened next.
func (g *gate) wait() <-chan struct{} {
	if g.ch == nil {
		g.ch = make(chan struct{})
	}
	return g.ch
}

// open lets go all who wait.
func (g *gate) open() {
	if g.ch != nil {
		close(g.ch)
		g.ch = nil
	}
}

func newPeer(s side, log *slog.Logger) *peer {
	return &peer{side: s, log: log, crew: &crew{}, limit: maxRunning, done: make(chan struct{}),
		calls: map[int64]*pending{}, running: map[string]*incoming{}}
}

// accept takes what arrived. It returns how many answers a.out will get: 0 or 1.
// ctx is the parent of the contexts of handlers.
func (p *peer) accept(ctx context.Context, f *frame, a *arrival) (answers int) {
	if f.bad == nil && f.batch {
		f.bad = p.checkBatch(f)
	}
	switch {
	case f.bad != nil:
		return p.refuse(f.ix.data, ID{}, f.bad, a)
	case !f.batch:
		return p.acceptMessage(ctx, &f.messages[0], a)
	}
	b := &batchStream{stream: a.out, left: 1} // nothing is sent before all are accepted
	each := *a
	each.out, each.own = b, false
	for i := range f.messages {
		b.expect()
		n := p.acceptMessage(ctx, &f.messages[i], &each)
		answers += n
		if n == 0 {
			b.answer(nil, nil)
		}
	}
	if answers == 0 {
		return 0
	}
	b.answer(nil, nil)
	return 1
}

// checkBatch refuses batches that must not run, not even in part.
func (p *peer) checkBatch(f *frame) *Error {
	if !p.side.batches() {
		return Errorf(CodeInvalidRequest, "batches are not part of this revision")
	}
	if len(f.messages) == 0 || len(f.messages) > maxBatch {
		return Errorf(CodeInvalidRequest, "a batch has 1 to %d messages, not %d", maxBatch, len(f.messages))
	}
	ids, responses, others := map[string]bool{}, 0, 0
	for _, m := range f.messages {
		switch {
		case m.method == methodInitialize:
			return Errorf(CodeInvalidRequest, "initialize must not be in a batch")
		case m.kind == requestMessage && ids[m.id.key()]:
			return Errorf(CodeInvalidRequest, "id %.100s is used twice in one batch", m.id)
		case m.kind == responseMessage:
			responses++
		default:
			ids[m.id.key()] = true
			others++
		}
	}
	if responses > 0 && others > 0 && !p.mute { // servers may group what they say
		return Errorf(CodeInvalidRequest, "a batch must not mix responses with other messages")
	}
	return nil
}

func (p *peer) acceptMessage(ctx context.Context, m *message, a *arrival) (answers int) {
	switch m.kind {
	case requestMessage:
		return p.acceptRequest(&incoming{message: *m, p: p, a: a}, ctx)
	case notificationMessage:
		return p.acceptNotification(&incoming{message: *m, p: p, a: a, ctx: ctx})
	case responseMessage:
		p.acceptResponse(m.id, m.result, m.err, a)
		return 0
	}
	id := m.id
	if m.err != nil { // it may be meant as an answer
		if p.acceptResponse(m.id, value{}, m.err, a) {
			return 0
		}
		if p.mute {
			id = ID{}
		}
	}
	if m.method != "" && m.id.IsZero() && m.bad.Code == CodeInvalidParams { // a notification by form
		p.log.Warn("mcp: invalid notification ignored", "method", m.method, "reason", m.bad)
		if !a.own {
			return 0
		}
		m.bad = m.bad.WithHTTP(http.StatusBadRequest, nil)
	}
	return p.refuse(m.text, id, m.bad, a)
}

// refuse answers what is no valid message. A client does so only if it can say to
// which request; it reports the rest.
func (p *peer) refuse(data []byte, id ID, e *Error, a *arrival) (answers int) {
	p.log.Debug("mcp: message refused", "reason", e)
	if p.malformed != nil && data != nil {
		p.malformed(data, e)
	}
	if p.mute && id.IsZero() {
		return 0
	}
	a.out.answer(encodeError(id, e), e)
	return 1
}

// acceptHead takes a message of which only the beginning is known; err says why. It
// costs that message, and the call that it was the answer of.
func (p *peer) acceptHead(head []byte, err error, a *arrival) {
	id, request := headID(head)
	if !request && !id.IsZero() && p.acceptResponse(id, value{}, err, a) {
		return
	}
	if !request && p.mute {
		id = ID{}
	}
	p.refuse(head, id, Errorf(CodeInvalidRequest, "%s", strings.TrimPrefix(err.Error(), "mcp: ")), a)
}

func (p *peer) acceptRequest(in *incoming, ctx context.Context) (answers int) {
	in.ctx, in.cancel = context.WithCancelCause(ctx)
	if !in.a.own && in.method != methodPing {
		p.awaitSlot()
	}
	if e := p.enter(in); e != nil {
		id := in.id
		if e == errDuplicate && !in.a.own {
			id = ID{} // an answer with the id would settle the first request
		}
		in.cancel(nil)
		in.a.out.answer(encodeError(id, e), e)
		return 1
	}
	inOrder, refused := false, p.misnamed(in)
	if refused == nil {
		inOrder, refused = p.side.admit(in)
	}
	switch {
	case refused != nil:
		p.finish(in, nil, refused)
	case inOrder:
		in.do()
	default:
		p.crew.run(in)
	}
	return 1
}

// misnamed refuses a request that has the method of a notification, or the reverse.
func (p *peer) misnamed(in *incoming) *Error {
	if note := strings.HasPrefix(in.method, "notifications/"); note == (in.kind == notificationMessage) {
		return nil
	}
	if in.kind == requestMessage {
		return Errorf(CodeInvalidRequest, "%.100s is a notification and must have no id", in.method)
	}
	return Errorf(CodeInvalidRequest, "%.100q is a request and must have an id", in.method)
}

var errDuplicate = Errorf(CodeInvalidRequest, "a request with this id is still running")

// awaitSlot holds up the reader while all slots are taken, so that who sends faster
// than it is served is slowed down and not refused. It does not wait where that
// could be for ever: when a handler waits for an answer that is still to be read,
// and not again before a slot was free when it waited slotWait in vain.
func (p *peer) awaitSlot() {
	p.mu.Lock()
	if p.busy < p.limit || len(p.calls) > 0 || p.stuck || p.cause != nil {
		p.mu.Unlock()
		return
	}
	slot := p.slot.wait()
	p.mu.Unlock()
	select {
	case <-slot:
	case <-time.After(slotWait):
		p.mu.Lock()
		p.stuck = true
		p.mu.Unlock()
	}
}

// slotLocked ends the wait for a slot.
func (p *peer) slotLocked() {
	p.stuck = false
	p.slot.open()
}

// enter makes in one of the running requests.
func (p *peer) enter(in *incoming) *Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.key == "" {
		in.key = in.id.key()
	}
	switch {
	case p.running[in.key] != nil:
		return errDuplicate
	case p.cause != nil:
		return Errorf(CodeInternalError, "shutting down").WithHTTP(http.StatusServiceUnavailable, nil)
	case p.busy >= p.limit && in.method != methodPing:
		return Errorf(CodeInternalError, "too many requests at once: the limit is %d", p.limit).
			WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"1"}})
	}
	p.busy++
	p.running[in.key] = in
	return nil
}

// serveLone serves a request that belongs to no connection, on the goroutine of who
// calls: its id means nothing to others. Its context is the caller's to make.
func (p *peer) serveLone(in *incoming) {
	in.key = p.loneKey()
	if e := p.enter(in); e != nil {
		in.cancel(nil)
		in.a.out.answer(encodeError(in.id, e), e)
		return
	}
	if refused := p.misnamed(in); refused != nil {
		p.finish(in, nil, refused)
		return
	}
	in.do()
}

// loneKey is a key that no request on the connection has.
func (p *peer) loneKey() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lone++
	return "#" + strconv.FormatInt(p.lone, 10)
}

// serveHere serves, on the goroutine of who calls, what came inside of another message
// as if it were a request. It ends with ctx, and with the peer.
func (p *peer) serveHere(ctx context.Context, in *incoming) (any, error) {
	in.ctx, in.cancel = context.WithCancelCause(ctx)
	defer in.cancel(nil)
	in.key = p.loneKey()
	if e := p.enter(in); e != nil {
		if over := p.over(); over != nil {
			return nil, over
		}
		return nil, e
	}
	defer p.leave(in)
	return p.protect(in)
}

// leave makes in none of the running requests.
func (p *peer) leave(in *incoming) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, in.key)
	p.busy--
	p.slotLocked()
	p.restLocked()
}

// gone says why nothing more may be said for a request: the peer cancelled it.
func (in *incoming) gone() error {
	if cause := context.Cause(in.ctx); errors.As(cause, new(*CancelledError)) {
		return cause
	}
	return nil
}

// do runs a request to its end, or handles the queue of notifications.
func (in *incoming) do() {
	if in.kind == notificationMessage {
		in.p.handleNotes(in)
		return
	}
	result, err := in.p.protect(in)
	in.p.finish(in, result, err)
}

// protect calls the side and turns a panic into an error.
func (p *peer) protect(in *incoming) (result any, err error) {
	defer p.catch(in.method, &err)
	return p.side.request(in.ctx, in)
}

// catch, when deferred, makes of a panic in a handler an error and a log line.
func (p *peer) catch(method string, err *error) {
	if r := recover(); r != nil {
		p.log.Error("mcp: panic in a handler", "method", method, "panic", r, "stack", string(debug.Stack()))
		if p.crash {
			crash(r)
		}
		*err = errors.New("panic")
	}
}

// crash ends the process, on a goroutine where nobody, such as net/http, recovers.
func crash(v any) {
	go panic(v) // ends all
	select {}
}

// finish answers a request. Its id is free before the answer is out, its slot after.
func (p *peer) finish(in *incoming, result any, err error) {
	p.mu.Lock()
	delete(p.running, in.key)
	cancelled := in.cancelled
	p.mu.Unlock()
	in.cancel(nil)
	b, e := p.encodeAnswer(in, result, err, cancelled)
	in.a.out.answer(b, e)
	if in.after != nil {
		in.end(e == nil)
	}
	p.mu.Lock()
	p.busy--
	p.slotLocked()
	p.restLocked()
	p.mu.Unlock()
}

// end calls after, which may be the application's.
func (in *incoming) end(ok bool) {
	defer in.p.catch(in.method, new(error))
	in.after(ok)
}

// encode encodes the result, in which types of the application may encode themselves.
func (in *incoming) encode(result any) (b *buffer, err error) {
	defer in.p.catch(in.method, &err)
	return encodeResult(in.id, result, in.rev)
}

func (p *peer) encodeAnswer(in *incoming, result any, err error, cancelled bool) (*buffer, *Error) {
	if cancelled {
		return nil, nil
	}
	if err == nil {
		var b *buffer
		if b, err = in.encode(result); err == nil {
			return b, nil
		}
	}
	e := wireError(err)
	if e.Code == CodeInternalError {
		p.log.Error("mcp: request failed", "method", in.method, "error", err)
	}
	return encodeError(in.id, e), e
}

// acceptNotification handles what must not queue, and queues the rest.
func (p *peer) acceptNotification(in *incoming) (answers int) {
	switch in.method {
	case noteCancelled:
		p.cancelRequest(in)
		return 0
	case noteProgress:
		p.acceptProgress(in)
		return 0
	}
	refused := p.misnamed(in)
	if refused == nil {
		_, refused = p.side.admit(in)
	}
	if refused != nil {
		p.log.Warn("mcp: notification ignored", "method", in.method, "reason", refused)
		if in.a.own {
			in.a.out.answer(encodeError(ID{}, refused), refused)
			return 1
		}
		return 0
	}
	p.mu.Lock()
	if len(p.notes) >= maxNotes || p.noteSize >= maxWaiting {
		p.mu.Unlock()
		p.log.Warn("mcp: notification dropped, too many wait", "method", in.method)
		return 0
	}
	p.accepted++
	p.notes = append(p.notes, in)
	p.noteSize += in.size()
	start := !p.noting
	p.noting = true
	p.mu.Unlock()
	if start {
		p.crew.run(in)
	}
	return 0
}

// inNotification marks the context of a notification handler with its peer: a
// call from there must not wait for the handler itself.
type inNotification struct{}

// handleNotes handles queued notifications, in order, until none is left.
func (p *peer) handleNotes(in *incoming) {
	for in != nil {
		p.handleNote(in)
		in = p.nextNote()
	}
}

func (p *peer) handleNote(in *incoming) {
	defer p.catch(in.method, new(error))
	ctx, cancel := context.WithCancelCause(context.WithValue(in.ctx, inNotification{}, p))
	defer cancel(nil)
	p.mu.Lock()
	p.noteCancel = cancel
	if p.cause != nil {
		cancel(p.cause)
	}
	p.mu.Unlock()
	p.side.notification(ctx, in)
}

// nextNote counts a notification as handled, lets go the calls that waited for it,
// and returns the next one.
func (p *peer) nextNote() *incoming {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteSize -= p.notes[0].size()
	p.notes = p.notes[1:]
	p.handled++
	p.noted.open()
	if len(p.notes) == 0 {
		p.notes, p.noting = nil, false
		p.restLocked()
		return nil
	}
	return p.notes[0]
}

// cancelRequest ends the context of a request that the peer gave up. What cannot
// be cancelled is ignored.
func (p *peer) cancelRequest(in *incoming) {
	id, _ := parseID(in.params.member("requestId"))
	reason := in.params.member("reason").str()
	p.mu.Lock()
	r := p.running[id.key()]
	if r != nil && r.method != methodInitialize {
		r.cancelled = true
	} else {
		r = nil
	}
	p.mu.Unlock()
	switch {
	case r != nil:
		p.log.Debug("mcp: request cancelled", "method", r.method, "reason", reason)
		r.cancel(&CancelledError{reason})
	case p.withdrawn != nil:
		p.withdrawn(id)
	}
}

// acceptProgress gives a report to the call that waits for it.
func (p *peer) acceptProgress(in *incoming) {
	var report Progress
	n, ok := in.params.member("progressToken").integer()
	if err := decode(in.params, &report); err != nil || !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[n]
	if c == nil {
		if p.late != nil {
			p.late(n, report)
		}
		return
	}
	if last := len(c.progress) - 1; last+1 >= maxProgress || c.progressSize >= maxWaiting {
		c.progressSize -= len(c.progress[last].Message)
		c.progress = c.progress[:last] // the caller is slow: the newest counts
	}
	c.progress = append(c.progress, report)
	c.progressSize += len(report.Message)
	c.signal()
}

// A pending is a call that waits for its answer.
type pending struct {
	wake  chan struct{} // has room for one; sent to by whoever changes the fields below
	timer *time.Timer
	early func(value) // see callOptions

	// guarded by peer.mu
	answered     bool
	result       value
	err          error
	barrier      uint64 // notifications accepted before the answer
	progress     []Progress
	progressSize int           // bytes of their messages
	held         time.Time     // since when its time limits stand still; zero: they run
	lost         time.Duration // for how long they have stood still, until somebody looks
}

func (c *pending) signal() { nudge(c.wake) }

// nudge wakes who receives from a channel with room for one.
func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default: // it is awake already
	}
}

// acceptResponse wakes the call that has the id. It reports whether there is one.
func (p *peer) acceptResponse(id ID, result value, err error, a *arrival) bool {
	if !a.only.IsZero() && id.IsZero() {
		id = a.only // on an exchange of its own, an error without id is that call's
	}
	if !a.only.IsZero() && id.key() != a.only.key() {
		p.log.Warn("mcp: answer to another request ignored", "id", id)
		return false
	}
	if !p.settle(id, result, err) {
		p.log.Warn("mcp: answer that nobody waits for ignored", "id", id)
		return false
	}
	return true
}

func (p *peer) settle(id ID, result value, err error) bool {
	n, numErr := strconv.ParseInt(id.key(), 10, 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[n]
	if numErr != nil || c == nil {
		return false
	}
	delete(p.calls, n)
	if c.early != nil && err == nil {
		c.early(result)
	}
	c.answered, c.result, c.err, c.barrier = true, result, err, p.accepted
	c.signal()
	return true
}

// waits reports whether a call waits for its answer.
func (p *peer) waits(id ID) bool {
	n, err := strconv.ParseInt(id.text, 10, 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	return err == nil && p.calls[n] != nil
}

// fail ends a call of this peer with a local error.
func (p *peer) fail(id ID, err error) { p.settle(id, value{}, err) }

// callOptions are how a call is made.
type callOptions struct {
	rev      revision
	says     []byte        // members of _meta, as text
	meta     Meta          // others; with progress, the call's own: it gets the token
	idle     time.Duration // 0: defaultIdle; negative: none
	max      time.Duration // 0: defaultMax; negative: none
	progress func(Progress)
	header   http.Header
	started  func(ID)    // gets the call's id before it is sent; nil: nobody wants it
	early    func(value) // gets the result before the next message is looked at, under a lock
	opens    bool        // see outgoing
}

// call sends a request and waits for its result. An error is an *Error from the
// peer, or local.
func (p *peer) call(ctx context.Context, out stream, method string, params any, o callOptions) (value, error) {
	if ctx.Err() != nil {
		return value{}, fmt.Errorf("mcp: %s: %w", method, causeOf(ctx))
	}
	n, c, err := p.begin(o.early)
	if err != nil {
		return value{}, err
	}
	defer p.end(n, c)
	m := &outgoing{id: integerID(n), method: method, header: o.header, opens: o.opens}
	if o.progress != nil {
		o.meta["progressToken"] = n
	}
	if m.data, err = encodeMessage(m.id, method, params, o.says, o.meta, o.rev); err != nil {
		m.data.free()
		return value{}, fmt.Errorf("mcp: encoding %s: %w", method, err)
	}
	if o.started != nil {
		o.started(m.id)
	}
	if err := out.send(ctx, m); err != nil {
		return value{}, err
	}
	w := watchOf(method, &o)
	if err := p.await(ctx, out, m, c, &w, o.progress); err != nil {
		return value{}, err
	}
	p.awaitNotes(ctx, c, &w)
	return c.result, c.err
}

// begin makes a new pending call.
func (p *peer) begin(early func(value)) (int64, *pending, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause != nil {
		return 0, nil, p.cause
	}
	var c *pending
	if n := len(p.free); n > 0 {
		c, p.free = p.free[n-1], p.free[:n-1]
	} else {
		c = &pending{wake: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	}
	c.early = early
	p.slotLocked() // the answer is still to be read
	p.lastID++
	p.calls[p.lastID] = c
	return p.lastID, c, nil
}

// end forgets a call, and keeps its memory for the next.
func (p *peer) end(n int64, c *pending) {
	c.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, n)
	select {
	case <-c.wake:
	default:
	}
	*c = pending{wake: c.wake, timer: c.timer}
	if len(p.free) < maxIdle && p.cause == nil {
		p.free = append(p.free, c)
	}
}

// await returns when the call is answered, or given up. What came in time counts, even
// if progress kept this goroutine busy meanwhile.
func (p *peer) await(ctx context.Context, out stream, m *outgoing, c *pending, w *watch, progress func(Progress)) error {
	for {
		c.timer.Reset(w.left())
		select {
		case <-c.wake:
		case <-ctx.Done():
		case <-c.timer.C:
		}
		gone, late := ctx.Err() != nil, w.left() <= 0
		reports, answered := p.take(c, w)
		if progress != nil {
			for _, r := range reports {
				progress(r)
			}
		}
		w.see(reports)
		switch {
		case answered:
			return nil
		case gone:
			return p.giveUp(out, m, fmt.Errorf("mcp: %s: %w", m.method, causeOf(ctx)))
		case late && w.left() <= 0:
			return p.giveUp(out, m, w.expired())
		}
	}
}

// causeOf is why ctx ended; errors.Is finds its Err in it, too.
func causeOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// take returns what has come for a call, and sets its watch by how long it was held.
func (p *peer) take(c *pending, w *watch) (reports []Progress, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.held = !c.held.IsZero()
	w.start, w.life, c.lost = w.start.Add(c.lost), w.life.Add(c.lost), 0
	reports, c.progress, c.progressSize = c.progress, nil, 0
	return reports, c.answered
}

// hold stops the time limits of a call, until release is called: a person is asked.
func (p *peer) hold(id ID) (release func()) {
	set := func(change func(*pending)) {
		n, _ := strconv.ParseInt(id.text, 10, 64)
		p.mu.Lock()
		defer p.mu.Unlock()
		if c := p.calls[n]; c != nil {
			change(c)
			c.signal()
		}
	}
	set(func(c *pending) { c.held = time.Now() })
	return func() {
		set(func(c *pending) { c.lost, c.held = c.lost+time.Since(c.held), time.Time{} })
	}
}

func (p *peer) giveUp(out stream, m *outgoing, cause error) error {
	n, _ := strconv.ParseInt(m.id.text, 10, 64)
	p.mu.Lock()
	_, open := p.calls[n]
	delete(p.calls, n)
	p.mu.Unlock()
	if open && !m.opens {
		out.abandon(m, cause)
	}
	return cause
}

// A watch is the two time limits of a call.
type watch struct {
	method     string
	idle, max  time.Duration
	start      time.Time
	life       time.Time // the last sign of life
	held       bool
	progressed bool
	value      float64 // progress so far
}

func watchOf(method string, o *callOptions) watch {
	limit := func(d, otherwise time.Duration) time.Duration {
		switch {
		case d == 0:
			return otherwise
		case d < 0:
			return 1 << 62 // for ever
		}
		return d
	}
	now := time.Now()
	return watch{method: method, idle: limit(o.idle, defaultIdle), max: limit(o.max, defaultMax), start: now, life: now}
}

// left is how long the call may still wait.
func (w *watch) left() time.Duration {
	if w.held {
		return time.Hour
	}
	return min(w.idle-time.Since(w.life), w.max-time.Since(w.start))
}

// see takes note of progress. Only progress that grows is a sign of life.
func (w *watch) see(reports []Progress) {
	for _, r := range reports {
		if !w.progressed || r.Value > w.value {
			w.progressed, w.value, w.life = true, r.Value, time.Now()
		}
	}
}

func (w *watch) expired() error {
	e := &TimeoutError{Method: w.method, Limit: w.max}
	if time.Since(w.start) < w.max {
		e.Limit, e.Idle = w.idle, true
	}
	if w.progressed {
		e.Progress = w.life
	}
	return e
}

// awaitNotes waits until the notifications that came before the answer are handled, at
// most for the time that the call may take.
func (p *peer) awaitNotes(ctx context.Context, c *pending, w *watch) {
	if ctx.Value(inNotification{}) == p {
		return
	}
	p.mu.Lock()
	for over := false; !over && p.handled < c.barrier; {
		noted := p.noted.wait()
		p.mu.Unlock()
		c.timer.Reset(w.max - time.Since(w.start))
		select {
		case <-noted:
		case <-ctx.Done():
			over = true
		case <-c.timer.C:
			over = true
		}
		p.mu.Lock()
	}
	p.mu.Unlock()
}

// notify sends a notification.
func (p *peer) notify(ctx context.Context, out stream, method string, params any, rev revision) error {
	b, err := encodeMessage(ID{}, method, params, nil, nil, rev)
	if err != nil {
		b.free()
		return fmt.Errorf("mcp: encoding %s: %w", method, err)
	}
	return out.send(ctx, &outgoing{method: method, data: b})
}

// shut ends the peer: calls fail with cause, handlers' contexts end. It does not wait.
func (p *peer) shut(cause error) {
	p.failCalls(cause)
	p.cancelAll(p.over())
}

// over is why the peer is over; nil if it is not.
func (p *peer) over() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// failCalls ends all calls, and lets no new call or request begin.
func (p *peer) failCalls(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slotLocked()
	if p.cause == nil {
		p.cause = cause
		if !errors.Is(cause, ErrClosed) {
			p.cause = fmt.Errorf("%w: %w", ErrClosed, cause)
		}
		close(p.done)
	}
	for n, c := range p.calls {
		delete(p.calls, n)
		c.answered, c.err = true, p.cause
		c.signal()
	}
}

// cancelAll ends the contexts of all handlers.
func (p *peer) cancelAll(cause error) {
	p.mu.Lock()
	if p.noteCancel != nil {
		p.noteCancel(cause)
	}
	p.mu.Unlock()
	p.cancelThose(func(*incoming) bool { return true }, cause)
}

// cancelThose ends the contexts of some requests.
func (p *peer) cancelThose(which func(*incoming) bool, cause error) {
	p.mu.Lock()
	var running []*incoming
	for _, in := range p.running {
		if which(in) {
			running = append(running, in)
		}
	}
	p.mu.Unlock()
	for _, in := range running {
		in.cancel(cause)
	}
}

// restLocked lets go who waits for rest, if it has come.
func (p *peer) restLocked() {
	if p.busy == 0 && !p.noting {
		p.rest.open()
	}
}

// settleDown waits until no request runs and no notification waits, at most for d. It
// reports whether nothing runs.
func (p *peer) settleDown(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return p.quiet(ctx)
}

// quiet waits until no request runs and no notification waits, or ctx ends. It
// reports whether nothing runs.
func (p *peer) quiet(ctx context.Context) bool {
	p.mu.Lock()
	rest := p.rest.wait()
	p.restLocked()
	p.mu.Unlock()
	select {
	case <-rest:
		return true
	case <-ctx.Done():
		return false
	}
}

// wait waits for the peer's goroutines, for handlers at most handlersGrace. The
// error names the methods that still run.
func (p *peer) wait() error {
	if !p.lent {
		if p.crew.close(handlersGrace) {
			return nil
		}
	} else if p.settleDown(handlersGrace) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	names := map[string]bool{}
	for _, in := range p.running {
		names[in.method] = true
	}
	if p.noting {
		names[p.notes[0].method] = true
	}
	return fmt.Errorf("mcp: handlers still running after %v: %s", handlersGrace, strings.Join(sortedKeys(names), ", "))
}

// A batchStream makes one answer of those to a batch.
type batchStream struct {
	stream // requests and notifications pass

	mu    sync.Mutex // guards the fields below
	left  int        // answers that are to come
	array *buffer    // those that came
}

func (s *batchStream) expect() {
	s.mu.Lock()
	s.left++
	s.mu.Unlock()
}

func (s *batchStream) answer(b *buffer, _ *Error) {
	s.mu.Lock()
	if b != nil {
		if s.array == nil {
			s.array = newBuffer()
			s.array.b = append(s.array.b, '[')
		} else {
			s.array.b = append(s.array.b, ',')
		}
		s.array.b = append(s.array.b, b.b...)
		b.free()
	}
	s.left--
	left, array := s.left, s.array
	s.mu.Unlock()
	if left > 0 {
		return
	}
	if array != nil {
		array.b = append(array.b, ']')
	}
	s.stream.answer(array, nil)
}

// A crew is goroutines that are kept for the next job, since a fresh one grows
// its stack anew each time. The zero crew is ready.
type crew struct {
	mu     sync.Mutex // guards the fields below
	idle   []chan job // each has room for one, sent by run; closed by close
	size   int        // goroutines
	closed bool
	ended  gate // opened when the last goroutine ends
}

type job interface{ do() }

// run does j on another goroutine.
func (c *crew) run(j job) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		ch := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		ch <- j
		return
	}
	c.size++
	c.mu.Unlock()
	go c.work(j) // ends when the crew is closed, or when enough others are idle
}

func (c *crew) work(j job) {
	ch := make(chan job, 1)
	for ok := true; ok; {
		j.do()
		if !c.park(ch) {
			break
		}
		j, ok = <-ch
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size--
	if c.size == 0 {
		c.ended.open()
	}
}

// park offers the goroutine that receives from ch for the next job. It reports
// whether one is wanted.
func (c *crew) park(ch chan job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= maxIdle {
		return false
	}
	c.idle = append(c.idle, ch)
	return true
}

// close lets the idle goroutines end and waits for the others, at most for d. It
// reports whether all have ended. Jobs may still be run.
func (c *crew) close(d time.Duration) bool {
	c.mu.Lock()
	c.closed = true
	for _, ch := range c.idle {
		close(ch)
	}
	c.idle = nil
	if c.size == 0 {
		c.mu.Unlock()
		return true
	}
	ended := c.ended.wait()
	c.mu.Unlock()
	select {
	case <-ended:
		return true
	case <-time.After(d):
		return false
	}
}
