package mcp

// Streamable HTTP, the client's end: each message is a POST of its own, and each
// request an exchange on a goroutine of the link, which reads the answer as one JSON
// body or as a stream of events, goes back for what it missed, and fails its call
// alone. Beside them a GET listens for what no request caused. Where a server only
// knows HTTP+SSE of 2024-11-05, that is used instead. It is a link (stdio.go) for
// client.go; authorization is the business of the http.Client that it is given.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultTries   = 5                // to go on with a stream, without anything new
	postTimeout    = 30 * time.Second // for a notification or an answer to be taken
	partTimeout    = 2 * time.Second  // for the end of a call or a session to be taken
	lingerTimeout  = time.Second      // for a stream to end after its answer
	lingerBytes    = 256 << 10
	excerptBytes   = 512             // of a body that is no answer
	excerptTimeout = 5 * time.Second // for that
	maxRedirects   = 5
	listenGrace    = 500 * time.Millisecond // for the answer to the first of them
)

// An HTTPTransport reaches a server over Streamable HTTP, or, if the server does not
// know that, over HTTP+SSE (Transports, Backwards Compatibility).
type HTTPTransport struct {
	// URL is that of the server's endpoint, absolute, http or https. It must be set.
	URL string
	// Client makes the requests. Without a Transport, or if it is nil, http.DefaultTransport
	// makes them; if that is an *http.Transport, a copy, which all sessions share and which
	// keeps the connections that many calls at once have used, but does not know protocols
	// that were registered with http.DefaultTransport. The end of a session closes the idle
	// connections of its transport. Its Timeout is not used: calls have their own.
	// Redirects are followed within one origin and if the method stays.
	Client *http.Client
	// Header goes with every request.
	Header http.Header
	// NoListen does not open a stream for what no request causes.
	NoListen bool
	// MaxMessage is the most bytes of a message from the server; 0 means 16 MiB.
	MaxMessage int
	// MaxTries is how often a lost stream is asked for again without anything new
	// coming; 0 means 5.
	MaxTries int

	used claim
}

func (t *HTTPTransport) dial(ctx context.Context, p *peer) (link, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("mcp: the URL of an HTTPTransport must be an absolute http or https URL") // it may hold secrets
	}
	if !t.used.take(p) {
		return nil, errors.New("mcp: this HTTPTransport belongs to another session")
	}
	client := &http.Client{}
	if t.Client != nil {
		*client = *t.Client
	}
	if client.Transport == nil {
		client.Transport = sharedTransport()
	}
	client.Timeout = 0
	client.CheckRedirect = checkRedirect
	l := &httpLink{t: t, p: p, client: client, url: u, limit: cmp.Or(t.MaxMessage, defaultLine), open: map[string]*httpExchange{}}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return l, nil
}

// shared is the transport of all who name none.
var shared struct {
	mu        sync.Mutex      // guards the fields below
	from      *http.Transport // http.DefaultTransport, when transport was made of it
	transport *http.Transport
}

// sharedTransport is http.DefaultTransport, but keeps as many connections to one server as
// that keeps to all: of those that many calls at once have used, http.DefaultTransport
// closes all but two.
func sharedTransport() http.RoundTripper {
	d, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.from != d {
		t := d.Clone()
		switch {
		case d.MaxIdleConnsPerHost < 0: // none is kept
		case d.MaxIdleConns == 0: // no limit
			t.MaxIdleConnsPerHost = math.MaxInt
		default:
			t.MaxIdleConnsPerHost = max(d.MaxIdleConnsPerHost, d.MaxIdleConns)
		}
		shared.from, shared.transport = d, t
	}
	return shared.transport
}

// checkRedirect lets a request go on within its origin, as it is.
func checkRedirect(r *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case r.Response.StatusCode != http.StatusTemporaryRedirect && r.Response.StatusCode != http.StatusPermanentRedirect:
		return fmt.Errorf("the server redirects (%d) to %s: use that URL", r.Response.StatusCode, bare(r.URL))
	case origin(r.URL) != origin(from.URL):
		return fmt.Errorf("the server redirects to another origin, %s", bare(r.URL))
	}
	return nil
}

// bare is a URL without what may be secret.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// origin is what belongs together in one place (RFC 6454).
func origin(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// An httpCause is why an HTTP request is made. It is in the request's context, for the
// transport that authorizes it.
type httpCause struct {
	endpoint *url.URL      // of the MCP server
	method   string        // that is called; empty: none
	name     func() string // of the tool, the prompt or the resource; nil: none
	quiet    bool          // not worth a login
	logins   *atomic.Int32 // made for this call; nil: none counted
	hold     func() func() // stops the time limits of the call until what it returns is called; nil: there are none
}

type causeKey struct{} // of the *httpCause

// because puts into a context why its requests are made.
func (l *httpLink) because(ctx context.Context, c httpCause) context.Context {
	c.endpoint = l.url
	return context.WithValue(ctx, causeKey{}, &c)
}

// A membership is the session that an HTTP request belongs to.
type membership struct {
	number int    // of the session on its link, from 1 on
	id     string // a secret; empty: the server gave none
	rev    revision
}

// An httpLink is a link over HTTP.
type httpLink struct {
	t      *HTTPTransport
	p      *peer
	client *http.Client
	url    *url.URL
	limit  int
	ctx    context.Context // of everything that is not a call's; ends with close
	cancel context.CancelCauseFunc

	mu     sync.Mutex               // guards the fields below
	now    membership               // the session that is open; number 0: none yet
	next   membership               // the one that initialize has opened, until the server is told that it is used
	ended  int                      // number of the newest session that the server has ended
	deafen func()                   // ends listening; nil: nobody listens
	posts  *url.URL                 // where to POST over HTTP+SSE; nil: Streamable HTTP
	open   map[string]*httpExchange // by key of the call's id
	closed bool

	crew    crew
	workers sync.WaitGroup // what is neither of the crew nor of a caller
}

func (l *httpLink) settled(rev revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next.rev = rev
}

func (l *httpLink) place() string { return origin(l.url) }
func (l *httpLink) listens() bool { return !l.t.NoListen }

// member is the session that what is sent now belongs to. While a new session is
// opened in place of a lost one, that is still the lost one: what belongs to it is
// refused, and comes again when the new one is ready.
func (l *httpLink) member() membership {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.number == 0 {
		return l.next
	}
	return l.now
}

// lost notes that the server does not know a session any more.
func (l *httpLink) lost(m membership, begun bool) *lostSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = max(l.ended, m.number)
	return &lostSession{m.number, begun}
}

func (l *httpLink) send(ctx context.Context, m *outgoing) error {
	switch {
	case m.method == noteInitialized:
		return l.begin(ctx, m)
	case m.id.IsZero():
		return l.post(ctx, l.member(), m.data.b, m.method)
	}
	x := &httpExchange{l: l, id: m.id, method: m.method, data: m.data.b, header: m.header, retry: -1}
	ctx = l.because(context.WithoutCancel(ctx), httpCause{method: m.method, name: x.name, logins: &x.logins, hold: func() func() { return l.p.hold(x.id) }})
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.open[m.id.key()] = x
	l.crew.run(x)
	return nil
}

// begin tells the server that the session which initialize has opened is used.
func (l *httpLink) begin(ctx context.Context, m *outgoing) error {
	l.mu.Lock()
	next := l.next
	l.mu.Unlock()
	if err := l.post(ctx, next, m.data.b, m.method); err != nil {
		return err
	}
	l.mu.Lock()
	l.now = next
	l.mu.Unlock()
	if !l.t.NoListen && !l.oldTransport() {
		l.listenSoon(ctx, next)
	}
	return nil
}

// answer POSTs an answer. Where there is no session, servers ask nothing.
func (l *httpLink) answer(b *buffer, _ *Error) {
	if b == nil || l.member().number == 0 && !l.oldTransport() {
		return
	}
	if err := l.post(l.ctx, l.member(), b.b, "answer"); err != nil {
		l.p.log.Warn("mcp: an answer did not reach the server", "error", err)
	}
}

// abandon tells the server, and closes the exchange then; in the stateless era the one
// is the other.
func (l *httpLink) abandon(m *outgoing, cause error) {
	l.mu.Lock()
	x := l.open[m.id.key()]
	l.mu.Unlock()
	if l.member().rev.alone() {
		if x != nil {
			x.cancel(cause)
		}
		return
	}
	l.work(func() {
		ctx, cancel := context.WithTimeout(l.ctx, partTimeout)
		_ = l.post(ctx, l.member(), encodeCancel(m.id, cause).b, noteCancelled) // best effort
		cancel()
		if x != nil {
			x.cancel(cause)
		}
	})
}

// work runs f on a goroutine that close waits for, unless the link is closed.
func (l *httpLink) work(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.workers.Go(f) // ends with f, at the latest when l.ctx does
	}
}

func (l *httpLink) close() error {
	l.p.shut(errors.New("closed by this side"))
	l.mu.Lock()
	was, ended := l.closed, l.ended
	l.closed = true
	l.mu.Unlock()
	if was {
		return nil
	}
	if m := l.member(); m.id != "" && m.number > ended {
		ctx, cancel := context.WithTimeout(l.ctx, partTimeout)
		if a, err := l.do(l.because(ctx, httpCause{quiet: true}), http.MethodDelete, l.url, m, nil, nil); err == nil {
			a.linger()
		}
		cancel()
	}
	l.cancel(ErrClosed)
	l.mu.Lock()
	for _, x := range l.open {
		x.cancel(ErrClosed)
	}
	l.mu.Unlock()
	l.workers.Wait()
	l.crew.close(handlersGrace)
	l.client.CloseIdleConnections()
	return l.p.wait()
}

// do makes an HTTP request with the headers of the session. body must not change
// any more: it may still be read when the answer is there.
func (l *httpLink) do(ctx context.Context, method string, u *url.URL, m membership, body []byte, header http.Header) (*httpAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	for _, h := range []http.Header{l.t.Header, header} {
		for name, values := range h {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	switch method {
	case http.MethodPost:
		r.Header.Set("Content-Type", typeJSON)
		r.Header.Set("Accept", typeJSON+", "+typeEvents)
	case http.MethodGet:
		r.Header.Set("Accept", typeEvents)
	}
	if m.id != "" {
		r.Header.Set(headerSession, m.id)
	}
	if m.rev.elicits() { // the revisions that have the header
		r.Header.Set(headerRevision, m.rev.String())
	}
	resp, err := l.client.Do(r)
	if err != nil {
		cancel()
		if e := (*url.Error)(nil); errors.As(err, &e) {
			e.URL = bare(u)
		}
		return nil, err
	}
	return &httpAnswer{resp, cancel}, nil
}

// post sends what gets no answer, and waits until the server has taken it.
func (l *httpLink) post(ctx context.Context, m membership, data []byte, what string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(postTimeout, func() { cancel(fmt.Errorf("not taken within %v", postTimeout)) })
	defer clock.Stop()
	stop := context.AfterFunc(l.ctx, func() { cancel(ErrClosed) })
	defer stop()
	ctx = l.because(ctx, httpCause{method: what, quiet: what == noteCancelled, hold: func() func() {
		clock.Stop()
		return func() { clock.Reset(postTimeout) }
	}})
	a, err := l.do(ctx, http.MethodPost, l.endpoint(), m, data, nil)
	if err != nil {
		return fmt.Errorf("mcp: sending %s: %w", what, err)
	}
	defer a.linger()
	switch {
	case a.StatusCode/100 == 2:
		return nil
	case a.StatusCode == http.StatusNotFound && m.id != "":
		err = l.lost(m, false)
	default:
		err = a.err(a.Body)
	}
	return fmt.Errorf("mcp: sending %s: %w", what, err)
}

// endpoint is where to POST.
func (l *httpLink) endpoint() *url.URL {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.posts, l.url)
}

// An httpAnswer is the answer to an HTTP request.
type httpAnswer struct {
	*http.Response
	cancel func() // ends the exchange
}

// linger gives the body a moment to end, so that its connection can be used again, and
// closes it.
func (a *httpAnswer) linger() {
	t := time.AfterFunc(lingerTimeout, a.cancel)
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, lingerBytes))
	t.Stop()
	a.cancel()
	_ = a.Body.Close()
}

// mediaType is the type of the body, without parameters.
func (a *httpAnswer) mediaType() string {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";") // whatever the parameters are
	return strings.ToLower(strings.TrimSpace(kind))
}

// err makes an error of an answer, with the beginning of its body, which may be slow.
func (a *httpAnswer) err(body io.Reader) *HTTPError {
	text := a.some(body, excerptBytes)
	return &HTTPError{Method: a.Request.Method, URL: bare(a.Request.URL), Status: a.StatusCode,
		ContentType: a.Header.Get("Content-Type"), Body: strings.ToValidUTF8(string(text), "?"), Header: a.Header}
}

// some reads so much of a body as comes in time.
func (a *httpAnswer) some(body io.Reader, limit int) []byte {
	t := time.AfterFunc(excerptTimeout, a.cancel)
	defer t.Stop()
	data, _ := io.ReadAll(io.LimitReader(body, int64(limit)))
	return data
}

// An httpExchange is a call on its way: a POST, and what is needed to get its answer.
type httpExchange struct {
	l      *httpLink
	id     ID
	method string
	data   []byte
	header http.Header
	ctx    context.Context
	cancel context.CancelCauseFunc
	member membership
	logins atomic.Int32 // see httpCause

	last      string        // id of the last event
	retry     time.Duration // that the server asked for; -1: it did not
	elsewhere bool          // the answer comes on another stream
}

// do runs the exchange to its end. Its call has got an answer then, or an error.
func (x *httpExchange) do() {
	defer x.cancel(nil)
	err := x.follow(x.post())
	x.l.mu.Lock()
	delete(x.l.open, x.id.key())
	x.l.mu.Unlock()
	if !x.elsewhere && x.l.p.waits(x.id) {
		err = cmp.Or(context.Cause(x.ctx), err, error(fmt.Errorf("%w: not the answer to this request", ErrInvalidResponse)))
		x.l.p.fail(x.id, fmt.Errorf("mcp: %s: %w", x.method, err))
	}
}

// name is what the request is about: the name of a tool or a prompt, or a URI.
func (x *httpExchange) name() string {
	ix, err := scan(x.data)
	if err != nil {
		return ""
	}
	params := ix.root().member("params")
	return cmp.Or(params.member("name").str(), params.member("uri").str())
}

// post sends the request and reads the answer.
func (x *httpExchange) post() error {
	if x.method != methodInitialize { // which belongs to no session
		x.member = x.l.member()
	}
	a, err := x.l.do(x.ctx, http.MethodPost, x.l.endpoint(), x.member, x.data, x.header)
	if err != nil {
		return err
	}
	defer a.linger()
	switch {
	case a.StatusCode == http.StatusNotFound && x.member.id != "":
		return x.l.lost(x.member, false)
	case a.StatusCode/100 == 2:
		return x.read(a)
	}
	return x.refused(a)
}

// read reads a successful answer.
func (x *httpExchange) read(a *httpAnswer) error {
	if x.l.oldTransport() { // the answer comes on the one stream
		x.elsewhere = true
		return nil
	}
	x.meet(a.Header.Get(headerSession))
	kind, body := a.mediaType(), io.Reader(a.Body)
	if kind == "" {
		b := bufio.NewReader(body)
		kind, body = sniff(b), b
	}
	switch kind {
	case typeEvents:
		return x.stream(body)
	case typeJSON:
		return x.readJSON(body)
	}
	return a.err(body)
}

// meet looks at the session id of an answer, which only that to initialize gives.
func (x *httpExchange) meet(id string) {
	x.l.mu.Lock()
	defer x.l.mu.Unlock()
	if x.method == methodInitialize {
		x.l.next = membership{number: x.l.now.number + 1, id: id}
	} else if id != "" && id != x.member.id {
		x.l.p.log.Debug("mcp: a session id ignored", "method", x.method)
	}
}

// sniff tells the type of a body without one.
func sniff(body *bufio.Reader) string {
	head, _ := body.Peek(64)
	if head = bytes.TrimSpace(trimBOM(head)); len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		return typeJSON
	}
	return ""
}

func (x *httpExchange) readJSON(body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, int64(x.l.limit)+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	case len(data) > x.l.limit:
		return fmt.Errorf("an answer of more than %d bytes", x.l.limit)
	}
	return x.deliver(data)
}

// deliver gives the peer what arrived on the exchange.
func (x *httpExchange) deliver(data []byte) error {
	f := parseFrame(trimBOM(data))
	if x.method == methodInitialize && f.bad == nil && !f.batch && f.messages[0].err != nil {
		x.l.mu.Lock()
		x.l.next = membership{} // nothing was opened
		x.l.mu.Unlock()
	}
	x.l.p.accept(x.l.ctx, f, &arrival{out: x.l, only: x.id})
	if f.bad != nil {
		return fmt.Errorf("%w: %s", ErrInvalidResponse, f.bad.Message)
	}
	return nil
}

// refused makes an error of an answer that is no success, or tries the old transport.
// An error of the protocol is the answer to the call.
func (x *httpExchange) refused(a *httpAnswer) error {
	data := a.some(a.Body, x.l.limit)
	refusal := a.err(bytes.NewReader(data))
	if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
		return refusal
	}
	f := parseFrame(trimBOM(data))
	spoken := f.bad == nil && !f.batch && f.messages[0].kind == responseMessage && !errors.Is(f.messages[0].err, ErrInvalidResponse)
	if x.method == methodDiscover && !tellsEra(a.StatusCode) { // whatever is wrong there, it is not the request
		return refusal
	}
	if !x.mayBeOld(a.StatusCode, spoken && f.messages[0].id.key() == x.id.key()) {
		if spoken {
			x.l.p.accept(x.l.ctx, f, &arrival{out: x.l, only: x.id})
		}
		return refusal
	}
	if err := x.l.useOldTransport(x.ctx); err != nil {
		return fmt.Errorf("%w; HTTP+SSE is not there either: %w", refusal, err)
	}
	return x.post()
}

// mayBeOld reports whether an answer to the first POST leads to HTTP+SSE
// (Transports, Backwards Compatibility): its status does, and it does not answer the
// request in the terms of the protocol, as only Streamable HTTP would.
func (x *httpExchange) mayBeOld(status int, answered bool) bool {
	first := x.method == methodInitialize && x.l.member().number == 0 && !x.l.oldTransport()
	return first && !answered && tellsEra(status)
}

// follow goes on with a stream that broke off, until the call is answered (Streamable
// HTTP, Resumability and Redelivery). err is how it broke off.
func (x *httpExchange) follow(err error) error {
	for tries := 0; x.last != "" && x.l.p.waits(x.id); tries++ {
		if tries >= cmp.Or(x.l.t.MaxTries, defaultTries) {
			return fmt.Errorf("%d tries to go on with the stream brought nothing new: %w", tries, err)
		}
		if !pause(x.ctx, x.retry, tries) {
			return context.Cause(x.ctx)
		}
		before, start, final := x.last, time.Now(), false
		if final, err = x.resume(); final {
			return err
		}
		if x.last != before || time.Since(start) > backoffMax {
			tries = -1 // it is no use only if it ends at once
		}
	}
	return err
}

// resume asks for the rest of the stream. It reports whether there is no use to ask
// again.
func (x *httpExchange) resume() (final bool, err error) {
	header := http.Header{}
	maps.Copy(header, x.header)
	header.Set(headerEvent, x.last)
	a, err := x.l.do(x.ctx, http.MethodGet, x.l.url, x.member, nil, header)
	if err != nil {
		return errors.Is(err, ErrUnauthorized), err
	}
	defer a.linger()
	switch {
	case a.StatusCode == http.StatusOK && a.mediaType() == typeEvents:
		return false, x.stream(a.Body)
	case a.StatusCode == http.StatusNotFound && x.member.id != "":
		return true, x.l.lost(x.member, true)
	}
	return a.StatusCode < 500, a.err(a.Body)
}

// stream reads events until the call is answered or the stream ends.
func (x *httpExchange) stream(body io.Reader) error {
	for e, err := range events(body, x.l.limit) {
		if err != nil {
			return fmt.Errorf("the stream broke off before the answer: %w", err)
		}
		if e.hasID && (x.member.number > 0 || x.method == methodInitialize) { // only sessions have something to resume
			x.last = e.id
		}
		if e.retry >= 0 {
			x.retry = e.retry
		}
		if e.isMessage() {
			if err := x.deliver(e.data); err != nil {
				x.l.p.log.Warn("mcp: an event that is no message", "error", err)
			}
		}
		if !x.l.p.waits(x.id) {
			return nil
		}
	}
	if x.member.rev.alone() {
		return errors.New("the stream ended before the answer; the request is lost, and can be made again")
	}
	return errors.New("the stream ended before the answer")
}

// An sseEvent is a server-sent event.
type sseEvent struct {
	name  string // "": a message
	data  []byte
	id    string
	hasID bool
	retry time.Duration // -1: none
}

// isMessage reports whether the event carries a message. One without data only
// brings an id.
func (e *sseEvent) isMessage() bool { return (e.name == "" || e.name == "message") && len(e.data) > 0 }

// events reads server-sent events as the WHATWG standard says: lines end in CR, LF or
// both, an event that is not complete at the end is dropped, invalid UTF-8 is
// replaced. An event with an id or a retry but without data comes, too. An event
// of more than limit bytes is an error.
func events(r io.Reader, limit int) iter.Seq2[sseEvent, error] {
	return func(yield func(sseEvent, error) bool) {
		in := &sseReader{in: bufio.NewReader(r), limit: limit, start: true}
		e, lines := sseEvent{retry: -1}, 0
		for {
			line, err := in.line()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(e, err)
				}
				return
			}
			if len(line) > 0 {
				if e.field(line) {
					lines++
				}
				if len(e.data) > limit {
					yield(e, fmt.Errorf("an event of more than %d bytes", limit))
					return
				}
				continue
			}
			if lines > 0 || e.hasID || e.retry >= 0 {
				e.data = bytes.ToValidUTF8(e.data, []byte("\uFFFD"))
				if !yield(e, nil) {
					return
				}
			}
			e, lines = sseEvent{retry: -1}, 0
		}
	}
}

// field takes in a line of an event. It reports whether it was data.
func (e *sseEvent) field(line []byte) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		if e.data == nil {
			e.data = []byte{}
		}
		return true
	case "event":
		e.name = string(value)
	case "id":
		// The standard drops an id with a NUL; no header could bring one with another control back.
		if bytes.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0 {
			e.id, e.hasID = string(value), true
		}
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			e.retry = time.Duration(n) * time.Millisecond
		}
	}
	return false
}

// An sseReader reads lines that end in CR, LF, or CR LF.
type sseReader struct {
	in     *bufio.Reader
	limit  int
	start  bool // nothing was read yet
	skipLF bool // the last line ended in CR
	buf    []byte
}

// line returns the next whole line without its end. It never waits for what may
// follow a CR.
func (s *sseReader) line() ([]byte, error) {
	s.buf = s.buf[:0]
	for {
		if _, err := s.in.Peek(1); err != nil {
			return nil, err
		}
		part, _ := s.in.Peek(s.in.Buffered())
		if s.skipLF && part[0] == '\n' {
			s.skipLF = false
			_, _ = s.in.Discard(1)
			continue
		}
		s.skipLF = false
		i := bytes.IndexAny(part, "\r\n")
		if i < 0 {
			s.buf = append(s.buf, part...)
			_, _ = s.in.Discard(len(part))
		} else {
			s.buf = append(s.buf, part[:i]...)
			s.skipLF = part[i] == '\r'
			_, _ = s.in.Discard(i + 1)
		}
		if len(s.buf) > s.limit+len("data: ") {
			return nil, fmt.Errorf("a line of more than %d bytes", s.limit)
		}
		if i >= 0 {
			if s.start {
				s.buf, s.start = trimBOM(s.buf), false
			}
			return s.buf, nil
		}
	}
}

// listenSoon begins to listen in a session. It waits until the server knows, since what a
// server says of its own accord it may say before anybody listens, and then it is lost; but
// not for long, since a server may answer only when it has something to say.
func (l *httpLink) listenSoon(ctx context.Context, m membership) {
	ctx, opened := context.WithTimeout(ctx, listenGrace)
	hear, deafen := context.WithCancel(l.ctx)
	l.mu.Lock()
	if l.deafen != nil {
		l.deafen() // to the session before
	}
	l.deafen = deafen
	l.mu.Unlock()
	l.work(func() {
		defer opened()
		l.listen(hear, m, opened)
	})
	<-ctx.Done()
}

// A listener is what is known of the stream of what no request causes.
type listener struct {
	member membership
	heard  bool          // there was such a stream
	last   string        // id of the last event
	retry  time.Duration // that the server asked for; -1: it did not
}

// listen reads what no request causes, from a GET, and comes back when the stream
// is lost. A server without such a stream is left alone. opened is called once the
// server has answered.
func (l *httpLink) listen(ctx context.Context, m membership, opened func()) {
	h := &listener{member: m, retry: -1}
	for fails := 0; h.heard || fails < maxListenFails; fails++ {
		start := time.Now()
		news, again := l.hear(ctx, h, opened)
		if news || time.Since(start) > backoffMax {
			fails = 0
		}
		if !again || !pause(ctx, h.retry, fails) {
			return
		}
	}
}

// hear listens until the stream is lost. It reports whether anything came, and
// whether there is use in coming back.
func (l *httpLink) hear(ctx context.Context, h *listener, opened func()) (news, again bool) {
	header := http.Header{}
	if h.last != "" {
		header.Set(headerEvent, h.last)
	}
	a, err := l.do(l.because(ctx, httpCause{}), http.MethodGet, l.url, h.member, nil, header)
	opened()
	if errors.Is(err, ErrUnauthorized) {
		l.p.log.Warn("mcp: not authorized to listen", "error", err)
		return false, false
	}
	if err != nil {
		return false, true
	}
	defer a.linger()
	switch {
	case a.StatusCode == http.StatusOK && a.mediaType() == typeEvents:
		h.heard = true
		return l.readMail(a.Body, h), true
	case a.StatusCode == http.StatusNotFound && h.member.id != "" && h.heard:
		l.p.lose(l.lost(h.member, false))
		return false, false
	case a.StatusCode == http.StatusBadRequest && h.last != "":
		h.last = "" // what was missed is gone
		return false, true
	}
	l.p.log.Debug("mcp: the server did not let itself be listened to", "status", a.StatusCode)
	return false, a.StatusCode >= 500 && a.StatusCode != http.StatusNotImplemented
}

// readMail reads a listening stream. It reports whether anything came.
func (l *httpLink) readMail(body io.Reader, h *listener) (news bool) {
	for e, err := range events(body, l.limit) {
		if err != nil {
			l.p.log.Debug("mcp: a listening stream ended", "error", err)
			return news
		}
		news = true
		if e.hasID {
			h.last = e.id
		}
		if e.retry >= 0 {
			h.retry = e.retry
		}
		if e.isMessage() {
			l.p.accept(l.ctx, parseFrame(e.data), &arrival{out: l})
		}
	}
	return news
}

func (l *httpLink) oldTransport() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.posts != nil
}

// useOldTransport opens the one stream of HTTP+SSE, whose first event says where to
// POST.
func (l *httpLink) useOldTransport(ctx context.Context) error {
	inner, cancel := context.WithCancelCause(l.ctx)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	a, err := l.do(l.because(inner, httpCause{}), http.MethodGet, l.url, membership{}, nil, nil)
	if err != nil {
		cancel(nil)
		return err
	}
	if a.StatusCode != http.StatusOK || a.mediaType() != typeEvents {
		defer cancel(nil)
		defer a.linger()
		return a.err(a.Body)
	}
	next, end := iter.Pull2(events(a.Body, l.limit))
	e, err, ok := next()
	posts, parseErr := a.Request.URL.Parse(string(e.data))
	switch {
	case !ok || err != nil:
		err = cmp.Or(err, context.Cause(inner), io.ErrUnexpectedEOF)
	case e.name != "endpoint":
		err = fmt.Errorf("the first event is %q, want endpoint", cmp.Or(e.name, "message"))
	case parseErr != nil:
		err = errors.New("the endpoint is no URL")
	case origin(posts) != origin(l.url):
		err = fmt.Errorf("the endpoint %s has another origin", bare(posts))
	}
	if err != nil {
		end()
		cancel(err)
		_ = a.Body.Close()
		return err
	}
	stop()
	l.mu.Lock()
	l.posts = posts
	l.mu.Unlock()
	l.work(func() {
		defer cancel(nil)
		defer a.Body.Close()
		defer end()
		l.readAllMail(next)
	})
	return nil
}

// readAllMail reads the stream of HTTP+SSE; the connection is over when it is.
func (l *httpLink) readAllMail(next func() (sseEvent, error, bool)) {
	for {
		e, err, ok := next()
		if !ok || err != nil {
			l.p.shut(fmt.Errorf("the stream has ended: %w", cmp.Or(err, io.EOF)))
			return
		}
		if e.isMessage() {
			l.p.accept(l.ctx, parseFrame(e.data), &arrival{out: l})
		}
	}
}
