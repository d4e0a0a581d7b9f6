package mcp

// Streamable HTTP, the server's end: the door that every request passes, sessions,
// the reply that decides late whether it is JSON or a stream of events, and the
// streams that can be resumed. The HTTP+SSE transport of 2024-11-05 is a short tail.
//
// What happens to a POST:
//
//	ServeHTTP          door: Host, Origin, method, preflight, authorization
//	  post             types, body, protocol header, session
//	    peer.accept    the messages run (jsonrpc.go), and session.request makes a Request of
//	                   each that is one (server.go); what they say goes to the POST's
//	                   httpStream
//	    httpStream     one JSON body, or server-sent events from the first message
//	                   that is not the answer, or when the answer takes its time
//	    wait           the exchange's goroutine: writes the body or comments, leaves
//	                   when the stream is over, taken over or the client is gone
//	  postStateless    the same for a request of 2026-07-28, which has no session: it is
//	                   served on the exchange's own goroutine (peer.serveLone)
//
// An httpStream outlives its connection: its events have ids, the session keeps the
// last of them, and a GET with Last-Event-ID goes on where the client lost it.
//
// It stands on server.go, whose sessions it opens; nothing of the package but the
// application's own mux leads here.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultBody        = 4 << 20
	defaultSessions    = 10_000
	defaultStreams     = 32
	defaultEvents      = 1 << 20
	defaultSessionIdle = 30 * time.Minute
	soon               = 10 * time.Millisecond // until when nobody looks whether the client of a stateless request has left
	defaultDecide      = 500 * time.Millisecond
	defaultComment     = 15 * time.Second
	defaultRetry       = time.Second
	bodyTimeout        = 30 * time.Second // to read the body of a request
	writeTimeout       = 30 * time.Second // for a client to take writeSize bytes
	partingTime        = time.Second      // for a client to take the end of a request that is cancelled
	writeSize          = 64 << 10
	headerTimeout      = 10 * time.Second // to read the header of a request
	maxHeader          = 64 << 10
	keepAliveTimeout   = 2 * time.Minute  // for the next request on a connection
	drainTimeout       = 10 * time.Second // for running requests, at the end of Serve
	eventCost          = 256              // bytes that an event costs beside its data
	watchEvery         = time.Minute      // between looks at whether an identity is still good

	headerSession = "Mcp-Session-Id"
	headerEvent   = "Last-Event-Id"
	typeJSON      = "application/json"
	typeEvents    = "text/event-stream"
)

// An HTTPHandler serves a Server over Streamable HTTP (Transports, Streamable HTTP)
// at whatever path it is mounted. Server must be set; the zero values of the other
// fields are right for a server on this machine. Fields must not change once it
// serves. Its goroutines end with Shutdown.
type HTTPHandler struct {
	Server *Server // what is served

	// Authorize establishes who calls, after the checks of Host and Origin and before
	// the body is read; ProtectedResource has one. An *Error with WithHTTP is answered as it
	// says, any other error with 401. nil: callers are not told apart.
	Authorize func(*http.Request) (*Identity, error)

	// AllowedHosts are the names, with a port if it matters, under which the server
	// may be reached. A request that comes in at a loopback address must have one of
	// them, or localhost, 127.0.0.1 or [::1], in its Host header: that is what stops
	// DNS rebinding. Elsewhere the check is made if the list is not empty.
	AllowedHosts []string
	// TrustForwardedHost takes the host from X-Forwarded-Host where there is one. Only
	// for a server that nobody but the proxy can reach.
	TrustForwardedHost bool
	// AllowedOrigins are the origins, such as "https://app.example.com", whose pages
	// may use the server; "*" allows all of them. Pages at an allowed host, and on
	// a loopback listener pages of this machine, may do so anyway.
	AllowedOrigins []string
	// CORS lets scripts of allowed origins read the answers, and answers preflights.
	CORS bool

	// MaxBody is the most bytes of a request; 0 means 4 MiB.
	MaxBody int64
	// MaxSessions is the most sessions, or requests without a session, at once; 0 means
	// 10,000. MaxStreams is the most open exchanges of one session; 0 means 32 more than
	// its requests (see ServerOptions.MaxRequests). MaxEvents is how many bytes of events
	// a session keeps for resuming; 0 means 1 MiB, negative none, and then nothing is
	// resumed.
	MaxSessions, MaxStreams, MaxEvents int
	// IdleTimeout ends sessions without an open exchange for so long; 0 means 30 minutes.
	IdleTimeout time.Duration
	// SessionPrefix stands in front of session ids, for a proxy that routes by it.
	SessionPrefix string
	// Sessionless serves each POST by itself, so that any replica can. Then there are
	// no GET streams, subscriptions, log levels, change notices, questions to the
	// client, cancellation notices and resuming; what cannot be had is refused.
	Sessionless bool

	// DecideAfter is how long a reply may stay undecided before it becomes a stream;
	// 0 means half a second. JSONOnly replies are never streams: notifications are
	// dropped and questions fail. EventsOnly replies always are, where the client
	// accepts them.
	DecideAfter          time.Duration
	JSONOnly, EventsOnly bool
	// Comment is the time between comments on a stream without events, which keep
	// proxies from closing it; 0 means 15 seconds, negative none.
	Comment time.Duration
	// Retry is how long clients are told to wait before they come back to a stream; 0
	// means one second.
	Retry time.Duration

	crew crew     // runs the handlers of all sessions
	host taskHost // runs those of tasks

	mu          sync.Mutex                     // guards the fields below
	open        map[*session]func(cause error) // all that is not ended yet, and how to end it
	sessions    map[string]*httpSession        // of these, those that a client knows
	old         map[string]*sseSession         // likewise, over HTTP+SSE
	draining    bool
	loneSession *session    // of all requests of the stateless era; nil: there were none
	sweeper     *time.Timer // looks for idle sessions while there are any
}

// ServeHTTP serves one HTTP request, and returns when its exchange is over. It may be
// called at once.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	allow := []string{http.MethodGet, http.MethodPost, http.MethodDelete}
	if h.Sessionless || h.Server.negotiate("") == 0 || parseRevision(r.Header.Get("MCP-Protocol-Version")).alone() {
		allow = allow[1:2] // nothing but POST is part of what stands alone
	}
	h.enter(w, r, allow, func(r *http.Request, identity *Identity) *Error {
		switch r.Method {
		case http.MethodGet:
			return h.get(w, r, identity)
		case http.MethodDelete:
			return h.delete(w, r, identity)
		}
		h.post(w, r, identity)
		return nil
	})
}

// enter takes a request through the door, and serves it if it may come in.
func (h *HTTPHandler) enter(w http.ResponseWriter, r *http.Request, allow []string, serve func(*http.Request, *Identity) *Error) {
	if r.Body != http.NoBody { // which net/http reads to its end even if the request is refused
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	e := h.door(w, r)
	switch {
	case e != nil:
	case r.Method == http.MethodOptions && h.CORS && r.Header.Get("Access-Control-Request-Method") != "":
		h.preflight(w)
		return
	case !slices.Contains(allow, r.Method):
		list := strings.Join(allow, ", ")
		e = Errorf(CodeInvalidRequest, "method %.100s is not served here; allowed: %s", r.Method, list).
			WithHTTP(http.StatusMethodNotAllowed, http.Header{"Allow": {list}})
	default:
		var identity *Identity
		if identity, e = h.authorize(r); e != nil {
			break
		}
		if identity != nil && !identity.Expires.IsZero() { // nobody listens longer than he may
			ctx, cancel := context.WithDeadline(r.Context(), identity.Expires)
			defer cancel()
			r = r.WithContext(ctx)
		}
		if identity != nil && identity.still != nil {
			ctx, stop := whileGood(r.Context(), identity.still)
			defer stop()
			r = r.WithContext(ctx)
		}
		e = serve(r, identity)
	}
	if e != nil {
		h.refuse(w, r, ID{}, e)
	}
}

// whileGood returns a context that ends when still, which is asked once a minute, says
// that the identity is no longer good. stop waits for it.
func whileGood(ctx context.Context, still func(context.Context) bool) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex // held while still is asked
	var t *time.Timer
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case still(ctx):
			t.Reset(watchEvery)
		default:
			cancel()
		}
	}
	mu.Lock()
	t = time.AfterFunc(watchEvery, look)
	mu.Unlock()
	return ctx, func() {
		cancel()
		mu.Lock()
		defer mu.Unlock()
		t.Stop()
	}
}

// Shutdown refuses new requests, ends the streams that only listen, waits for
// running requests and tasks as long as ctx lets it, taking what requests wait for,
// and ends all sessions. It returns the error of ctx if something had to be cancelled.
func (h *HTTPHandler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	open, sessions, lone := maps.Clone(h.open), slices.Collect(maps.Values(h.sessions)), h.loneSession
	h.mu.Unlock()
	for _, s := range sessions {
		s.stopListening()
	}
	cause := errors.New("the server shuts down")
	if lone != nil { // ends what only listens, and lets what runs finish
		lone.p.failCalls(cause)
		lone.p.cancelThose(func(in *incoming) bool { return in.method == methodListen }, cause)
	}
	var err error
	for s, end := range open {
		if !s.p.quiet(ctx) {
			err = context.Cause(ctx)
		}
		end(cause)
	}
	for s := range open {
		<-s.gone
	}
	err = cmp.Or(err, h.host.end(ctx))
	h.crew.close(handlersGrace)
	return err
}

// ListenAndServe is Serve at addr. An addr without a host, such as ":8080", means
// this machine only.
func (h *HTTPHandler) ListenAndServe(ctx context.Context, addr string, root http.Handler) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("mcp: address %q: %w", addr, err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return err
	}
	return h.Serve(ctx, l, root)
}

// Serve serves root over HTTP on l, which it closes, until ctx ends. root is what h
// is mounted in; nil means h itself, at every path. When ctx ends, running requests
// have 10 seconds to finish, and nil is returned if that was enough.
func (h *HTTPHandler) Serve(ctx context.Context, l net.Listener, root http.Handler) error {
	if err := h.Server.registered(); err != nil {
		_ = l.Close()
		return err
	}
	if root == nil {
		root = h
	}
	server := &http.Server{Handler: root, ReadHeaderTimeout: headerTimeout, IdleTimeout: keepAliveTimeout, MaxHeaderBytes: maxHeader}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }() // ends with Shutdown
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := h.Shutdown(bound)
	if err != nil {
		err = fmt.Errorf("mcp: running requests were cancelled: %w", err)
	}
	if server.Shutdown(bound) != nil {
		_ = server.Close()
	}
	<-ended
	return err
}

// door checks Host and Origin (Streamable HTTP, Security Warning), and sets the
// CORS headers.
func (h *HTTPHandler) door(w http.ResponseWriter, r *http.Request) *Error {
	forbidden := func(format string, args ...any) *Error {
		return Errorf(CodeInvalidRequest, format, args...).WithHTTP(http.StatusForbidden, nil)
	}
	host := r.Host
	// All of them: a proxy may add its own to one that a page has made up.
	if f := strings.Join(r.Header.Values("X-Forwarded-Host"), ", "); h.TrustForwardedHost && f != "" {
		host = f
	}
	local := onLoopback(r)
	if !h.hostAllowed(host, local) {
		return forbidden("host %.100q is not allowed; add it to AllowedHosts", host)
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	if len(origins) > 1 || !h.originAllowed(origins[0], local) {
		return forbidden("origin %.100q is not allowed; add it to AllowedOrigins", strings.Join(origins, ", "))
	}
	if h.CORS {
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", origins[0])
		header.Add("Vary", "Origin")
		header.Set("Access-Control-Expose-Headers", headerSession+", WWW-Authenticate, DPoP-Nonce")
	}
	return nil
}

// onLoopback reports whether the request came in at a loopback address.
func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.IsLoopback()
	}
	host, _, err := net.SplitHostPort(addr.String())
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// hostOf is the name in a host with or without a port, in lower case.
func hostOf(hostport string) string {
	u := url.URL{Host: hostport}
	return strings.ToLower(u.Hostname())
}

func loopbackName(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func (h *HTTPHandler) hostAllowed(host string, local bool) bool {
	for _, a := range h.AllowedHosts {
		if strings.EqualFold(a, host) || strings.EqualFold(a, hostOf(host)) {
			return true
		}
	}
	if local {
		return loopbackName(hostOf(host))
	}
	return len(h.AllowedHosts) == 0
}

func (h *HTTPHandler) originAllowed(origin string, local bool) bool {
	for _, a := range h.AllowedOrigins {
		if a == "*" || strings.EqualFold(a, origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	return local && loopbackName(hostOf(u.Host)) || len(h.AllowedHosts) > 0 && h.hostAllowed(u.Host, false)
}

func (h *HTTPHandler) preflight(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	header.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, DPoP, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id")
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

func (h *HTTPHandler) authorize(r *http.Request) (*Identity, *Error) {
	if h.Authorize == nil {
		return nil, nil
	}
	identity, err := h.Authorize(r)
	if err == nil && identity != nil && !identity.Expires.IsZero() && !time.Now().Before(identity.Expires) {
		err = errors.New("the identity has expired")
	}
	if err == nil {
		return identity, nil
	}
	var e *Error
	if errors.As(err, &e) && e.status != 0 {
		return nil, e
	}
	h.log().Warn("mcp: not authorized", "error", err)
	return nil, Errorf(CodeInvalidRequest, "not authorized").WithHTTP(http.StatusUnauthorized, nil)
}

func (h *HTTPHandler) log() *slog.Logger { return h.Server.log }

// refuse answers with a status and a JSON-RPC error. A status that e does not name
// is 400.
func (h *HTTPHandler) refuse(w http.ResponseWriter, r *http.Request, id ID, e *Error) {
	h.log().Warn("mcp: HTTP request refused", "method", r.Method, "path", r.URL.Path, "status", cmp.Or(e.status, http.StatusBadRequest), "reason", e.Message)
	b := encodeError(id, e)
	defer b.free()
	startJSON(w, len(b.b), cmp.Or(e.status, http.StatusBadRequest), e.header)
	_, _ = w.Write(b.b)
}

// startJSON writes the header of a reply that is one JSON body.
func startJSON(w http.ResponseWriter, length, status int, header http.Header) {
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(status)
}

// mediaType reads one media type; it is "" if it has parameters and they are wrong.
func mediaType(text string) (kind string, params map[string]string) {
	if !strings.Contains(text, ";") { // as nearly all are
		return strings.ToLower(strings.TrimSpace(text)), nil
	}
	kind, params, err := mime.ParseMediaType(text)
	if err != nil {
		return "", nil
	}
	return kind, params
}

// accepts tells which forms of a reply the client takes. No Accept header means both.
func accepts(r *http.Request) (json, events bool) {
	list := strings.Join(r.Header.Values("Accept"), ",")
	if list == "" || list == typeJSON+", "+typeEvents { // which is what the specification has
		return true, true
	}
	for part := range strings.SplitSeq(list, ",") {
		kind, params := mediaType(part)
		if text, has := params["q"]; has {
			if q, err := strconv.ParseFloat(text, 64); err == nil && q == 0 {
				continue
			}
		}
		json = json || kind == typeJSON || kind == "application/*" || kind == "*/*"
		events = events || kind == typeEvents || kind == "text/*" || kind == "*/*"
	}
	return json, events
}

// post serves a POST: one message, or a batch.
func (h *HTTPHandler) post(w http.ResponseWriter, r *http.Request, identity *Identity) {
	f, e := h.readBody(w, r)
	if e != nil {
		h.refuse(w, r, ID{}, e)
		return
	}
	if f.bad == nil && !f.batch && h.Server.alone(&f.messages[0], r.Header) {
		h.postStateless(w, r, &f.messages[0], identity)
		return
	}
	if f.bad == nil && f.batch && h.Server.alone(&message{}, r.Header) {
		f.bad = Errorf(CodeInvalidRequest, "batches are not part of this revision")
	}
	id, opens := ID{}, false
	if !f.batch && f.bad == nil {
		id, opens = f.messages[0].id, f.messages[0].method == methodInitialize && f.messages[0].kind == requestMessage
	}
	rev, e := revisionHeader(r, h.Server)
	switch {
	case f.bad != nil:
		h.refuse(w, r, ID{}, f.bad)
	case e != nil && !opens: // initialize settles the revision in its body
		h.refuse(w, r, id, e)
	case h.refuses(f):
		h.refuse(w, r, id, errDraining)
	case h.Sessionless:
		h.postAlone(w, r, f, identity, cmp.Or(rev, assumed))
	default:
		s, e := h.sessionFor(r, identity, opens)
		if e != nil {
			h.refuse(w, r, id, e)
			return
		}
		defer s.leave()
		h.exchange(w, r, s, f, identity, opens)
	}
}

// refuses reports whether messages come too late: while the server shuts down,
// requests do, but not what running ones wait for.
func (h *HTTPHandler) refuses(f *frame) bool {
	return h.drains() && f.asks()
}

// asks reports whether a frame has requests.
func (f *frame) asks() bool {
	return slices.ContainsFunc(f.messages, func(m message) bool { return m.kind == requestMessage })
}

func (h *HTTPHandler) drains() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}

// assumed is the revision of a request that says nothing of it (Transports, Protocol
// Version Header).
var assumed = parseRevision(Revision20250326)

// readBody checks the types of a POST and reads its messages.
func (h *HTTPHandler) readBody(w http.ResponseWriter, r *http.Request) (*frame, *Error) {
	if kind, _ := mediaType(r.Header.Get("Content-Type")); kind != typeJSON {
		return nil, Errorf(CodeInvalidRequest, "Content-Type must be %s, not %.100q", typeJSON, r.Header.Get("Content-Type")).
			WithHTTP(http.StatusUnsupportedMediaType, nil)
	}
	if c := r.Header.Get("Content-Encoding"); c != "" && c != "identity" {
		return nil, Errorf(CodeInvalidRequest, "Content-Encoding %.100q is not supported", c).WithHTTP(http.StatusUnsupportedMediaType, nil)
	}
	json, events := accepts(r)
	if !json && !events || h.JSONOnly && !json {
		return nil, Errorf(CodeInvalidRequest, "Accept %.100q allows no form that is offered: want %s and %s",
			strings.Join(r.Header.Values("Accept"), ", "), typeJSON, typeEvents).WithHTTP(http.StatusNotAcceptable, nil)
	}
	limit := cmp.Or(h.MaxBody, defaultBody)
	var body []byte
	var err error = &http.MaxBytesError{Limit: limit}
	if r.ContentLength <= limit {
		body, err = readAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, Errorf(CodeInvalidRequest, "body of more than %d bytes; MaxBody allows more", limit).WithHTTP(http.StatusRequestEntityTooLarge, nil)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, Errorf(CodeInvalidRequest, "the body took more than %v", bodyTimeout).WithHTTP(http.StatusRequestTimeout, nil)
	case err != nil:
		return nil, badRequest(CodeInvalidRequest, "the body could not be read")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return parseFrame(trimBOM(body)), nil
}

// readAll reads to the end, where a body may tell of an error. It has memory for so many
// bytes, but not for very many before they have come.
func readAll(r io.Reader, likely int64) ([]byte, error) {
	data := make([]byte, 0, min(max(likely, 0), 64<<10)+1) // the last is for the end
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return data, err
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, bytes.MinRead)
		}
	}
}

// revisionHeader reads the protocol version header; zero if there is none.
func revisionHeader(r *http.Request, s *Server) (revision, *Error) {
	values := r.Header.Values(headerRevision)
	if len(values) == 0 {
		return 0, nil
	}
	rev := parseRevision(values[0])
	if len(values) > 1 || !s.serves(rev) {
		return 0, Errorf(CodeInvalidRequest, "MCP-Protocol-Version %.100q is not one of %s", strings.Join(values, ", "), strings.Join(s.revisions(), ", "))
	}
	return rev, nil
}

// postAlone serves a POST that belongs to no session: its peer dies with it, and the
// client's leaving cancels what runs.
func (h *HTTPHandler) postAlone(w http.ResponseWriter, r *http.Request, f *frame, identity *Identity, rev revision) {
	ss := h.Server.newSession()
	ss.alone = true
	defer func() {
		ss.p.shut(errors.New("the exchange is over"))
		_ = ss.p.wait()
		ss.end()
		h.dismiss(ss)
	}()
	if e := h.enroll(ss, ss.p.shut); e != nil {
		h.refuse(w, r, ID{}, e)
		return
	}
	if f.batch || f.messages[0].method != methodInitialize {
		ss.open(rev)
	}
	st := h.newStream(nil, r, rev, false, false)
	c := st.attach(w, r)
	a := &arrival{out: st, own: true, header: r.Header, identity: identity}
	if ss.p.accept(context.WithoutCancel(r.Context()), f, a) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	st.wait(h, r, c, ss.p)
	if r.Context().Err() != nil {
		ss.p.cancelAll(errGone)
	}
}

// postStateless serves a POST of the stateless era, on this goroutine: it belongs to
// nothing, and the client's leaving cancels what runs (2026-07-28; Streamable HTTP).
func (h *HTTPHandler) postStateless(w http.ResponseWriter, r *http.Request, m *message, identity *Identity) {
	switch m.kind {
	case notificationMessage:
		h.log().Debug("mcp: notification without a request ignored", "method", m.method)
		w.WriteHeader(http.StatusAccepted)
		return
	case responseMessage:
		m.bad = Errorf(CodeInvalidRequest, "nothing was asked that this could answer")
	}
	ss, e := h.lone()
	if e = cmp.Or(m.bad, e); e != nil {
		h.refuse(w, r, m.id, e)
		return
	}
	st := h.newStream(nil, r, newest, false, true)
	if m.method == methodListen { // which is a stream, whatever else is JSON
		if _, events := accepts(r); !events {
			h.refuse(w, r, m.id, Errorf(CodeInvalidRequest, "%s is answered with %s, which Accept does not allow", m.method, typeEvents).
				WithHTTP(http.StatusNotAcceptable, nil))
			return
		}
		st.plain, st.stream = false, true
	}
	c := st.attach(w, r)
	defer c.leave()
	in := &incoming{message: *m, p: ss.p, rev: newest, a: &arrival{out: st, own: true, header: r.Header, identity: identity}}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	in.ctx, in.cancel = ctx, func(cause error) {
		if cancel(cause); cause != nil { // nobody waits long for a client that does not read
			c.hurry()
		}
	}
	st.lose = in.cancel
	defer st.watch(h, r.Context(), in)()
	ss.p.serveLone(in)
	st.finish(c)
}

// lone is the session behind all requests of the stateless era.
func (h *HTTPHandler) lone() (*session, *Error) {
	if err := h.Server.registered(); err != nil {
		return nil, Errorf(CodeInternalError, "%v", err).WithHTTP(http.StatusInternalServerError, nil)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.draining:
		return nil, errDraining
	case h.loneSession == nil:
		ss := h.Server.newSession()
		ss.host = &h.host
		ss.p.lent, ss.p.limit = true, cmp.Or(h.MaxSessions, defaultSessions)
		if h.open == nil {
			h.open = map[*session]func(error){}
		}
		h.loneSession = ss
		h.open[ss] = func(cause error) {
			ss.p.shut(cause)
			if err := ss.p.wait(); err != nil {
				h.log().Warn("mcp: requests without a session ended", "error", err)
			}
			ss.end()
			h.dismiss(ss)
		}
	}
	return h.loneSession, nil
}

// watch looks after a handler that takes its time, until the function that it returns is
// called: it decides the reply, comments on it, and cancels the request when the exchange
// ends. Most handlers are done before that costs more than a timer.
func (st *httpStream) watch(h *HTTPHandler, exchange context.Context, in *incoming) (stop func()) {
	start := time.Now()
	decide, comment := h.pace()
	var w struct {
		mu     sync.Mutex  // guards the fields below; held while a comment is written, for which stop waits
		t      *time.Timer // nil: it is over
		unhook func() bool // nil: the exchange is not looked at yet
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = time.AfterFunc(min(soon, decide, comment), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.t == nil {
			return
		}
		if w.unhook == nil {
			w.unhook = context.AfterFunc(exchange, func() {
				cause := errGone
				if exchange.Err() == context.DeadlineExceeded {
					cause = errExpired
				}
				in.cancel(cause)
			})
		}
		w.t.Reset(st.tick(time.Since(start), decide, comment))
	})
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t.Stop()
		w.t = nil
		if w.unhook != nil {
			w.unhook()
		}
	}
}

// enroll counts a session, or a request without one, as open, if there is room and
// the server is set up well.
func (h *HTTPHandler) enroll(s *session, end func(cause error)) *Error {
	if err := h.Server.registered(); err != nil {
		return Errorf(CodeInternalError, "%v", err).WithHTTP(http.StatusInternalServerError, nil)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	limit, open := cmp.Or(h.MaxSessions, defaultSessions), len(h.open)
	if h.loneSession != nil { // which is none
		open--
	}
	switch {
	case h.draining:
		return errDraining
	case open >= limit:
		return Errorf(CodeInternalError, "too many sessions: the limit is %d", limit).
			WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"10"}})
	case h.open == nil:
		h.open = map[*session]func(error){}
	}
	h.open[s] = end
	s.p.crew, s.p.lent = &h.crew, true
	return nil
}

func (h *HTTPHandler) dismiss(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, s)
}

var errDraining = Errorf(CodeInternalError, "the server is shutting down").
	WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"10"}})

var errExpired = errors.New("mcp: the identity of the caller has expired")

// exchange serves the messages of a POST in a session.
func (h *HTTPHandler) exchange(w http.ResponseWriter, r *http.Request, s *httpSession, f *frame, identity *Identity, opens bool) {
	var rev revision
	if o := s.opened.Load(); o != nil {
		rev = o.rev
	}
	st := h.newStream(s, r, rev, opens, false)
	a := &arrival{out: st, own: true, header: r.Header, identity: identity}
	if rev.polls() && s.keeps() && !st.plain {
		a.pause = st.pause
	}
	var c *httpConn
	if f.asks() {
		c = st.attach(w, r)
	} else {
		a.out = aside{st}
	}
	answers := s.p.accept(context.WithoutCancel(r.Context()), f, a)
	if opens && s.opened.Load() == nil {
		s.close(errors.New("not opened"))
	} else if opens {
		h.keep(s)
		w.Header().Set(headerSession, s.id)
	}
	if answers == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if c == nil {
		c = st.attach(w, r)
	}
	st.wait(h, r, c, s.p)
}

// An aside is the stream of messages that are not answered. What they cause goes to
// the newest GET stream.
type aside struct{ *httpStream }

func (a aside) send(ctx context.Context, m *outgoing) error {
	if c := a.s.carrier(); c != nil {
		return c.st.send(ctx, m)
	}
	m.data.free()
	return errors.New("mcp: no GET stream is open that could carry it")
}

func (a aside) abandon(m *outgoing, cause error) {
	_ = a.send(noWait, &outgoing{method: noteCancelled, data: encodeCancel(m.id, cause)})
}

var errNoSession = Errorf(CodeInvalidRequest, "no such session: start a new one with initialize").WithHTTP(http.StatusNotFound, nil)

// sessionFor finds the session of a request, or makes a new one for initialize. The
// caller leaves it.
func (h *HTTPHandler) sessionFor(r *http.Request, identity *Identity, opens bool) (*httpSession, *Error) {
	ids := r.Header.Values(headerSession)
	switch {
	case len(ids) > 1:
		return nil, Errorf(CodeInvalidRequest, "more than one Mcp-Session-Id header")
	case len(ids) == 0 && opens:
		return h.newSession(identity)
	case len(ids) == 0:
		return nil, Errorf(CodeInvalidRequest, "no Mcp-Session-Id header: send initialize first, and then the id that its answer has")
	}
	h.mu.Lock()
	s := h.sessions[ids[0]]
	h.mu.Unlock()
	if s == nil || !s.owner.admits(identity) {
		return nil, errNoSession
	}
	if opens {
		return nil, Errorf(CodeInvalidRequest, "already initialized: initialize without Mcp-Session-Id opens another session")
	}
	return s, s.enter(h)
}

// An httpSession is a session of a client over HTTP. What ends it is a DELETE of its
// client, IdleTimeout without an open exchange, HTTPHandler.Shutdown, and an initialize
// that did not succeed: all of them by close. A connection that is lost does not, nor does
// an identity that expires, which only ends the exchange.
type httpSession struct {
	*session
	h     *HTTPHandler
	id    string
	owner owner

	mu        sync.Mutex // guards the fields below
	exchanges int        // HTTP requests that are open
	used      time.Time  // when the last one ended
	closed    bool
	streams   map[int]*httpStream // that can be resumed or ended
	last      int                 // number of the newest stream
	listeners []*httpConn         // of GET streams, oldest first; the last one carries the mail
	events    []event             // kept for resuming, oldest first
	size      int                 // what they cost
}

// An event is a message that was sent on a stream, or, numbered 0, its beginning.
type event struct {
	st   *httpStream
	n    int
	data []byte
}

func (h *HTTPHandler) newSession(identity *Identity) (*httpSession, *Error) {
	id := h.SessionPrefix + rand.Text()
	if strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return nil, Errorf(CodeInternalError, "SessionPrefix %.100q has characters that no header may have", h.SessionPrefix).
			WithHTTP(http.StatusInternalServerError, nil)
	}
	s := &httpSession{session: h.Server.newSession(), h: h, id: id, exchanges: 1}
	s.host = &h.host
	s.owner.admits(identity)
	if e := h.enroll(s.session, s.close); e != nil {
		s.end()
		return nil, e
	}
	return s, nil
}

// keep makes a session known once it is open, and starts to look for idle ones.
func (h *HTTPHandler) keep(s *httpSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.mu.Lock()
	closed := s.closed // by Shutdown, meanwhile
	s.mu.Unlock()
	if closed {
		return
	}
	if h.sessions == nil {
		h.sessions = map[string]*httpSession{}
	}
	h.sessions[s.id] = s
	if h.sweeper == nil {
		h.sweeper = time.AfterFunc(h.idle()/4, h.sweep)
	}
}

func (h *HTTPHandler) idle() time.Duration { return cmp.Or(h.IdleTimeout, defaultSessionIdle) }

// sweep ends idle sessions, and comes again while there are others.
func (h *HTTPHandler) sweep() {
	h.mu.Lock()
	var idle []*httpSession
	for _, s := range h.sessions {
		if s.idleFor() >= h.idle() {
			idle = append(idle, s)
		}
	}
	if len(h.sessions) > len(idle) {
		h.sweeper.Reset(h.idle() / 4)
	} else {
		h.sweeper = nil
	}
	h.mu.Unlock()
	for _, s := range idle {
		s.close(errors.New("the session was idle"))
	}
}

// An owner is who a session belongs to: who opened it or, where a server lets nobody
// in particular do that, who was the first to come to it with an identity.
type owner struct{ identity atomic.Pointer[Identity] }

// admits reports whether the caller is the owner, and makes it that if nobody is.
func (o *owner) admits(caller *Identity) bool {
	if caller != nil && o.identity.Load() == nil { // all else that the identity has is not kept
		o.identity.CompareAndSwap(nil, &Identity{Issuer: caller.Issuer, Subject: caller.Subject})
	}
	return sameCaller(o.identity.Load(), caller)
}

func sameCaller(a, b *Identity) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Issuer == b.Issuer && subtle.ConstantTimeCompare([]byte(a.Subject), []byte(b.Subject)) == 1
}

// enter begins an HTTP request of the session.
func (s *httpSession) enter(h *HTTPHandler) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := cmp.Or(h.MaxStreams, s.p.limit+defaultStreams)
	switch {
	case s.closed:
		return errNoSession
	case s.exchanges >= limit:
		return Errorf(CodeInternalError, "too many open exchanges in this session: the limit is %d", limit).
			WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"1"}})
	}
	s.exchanges++
	return nil
}

func (s *httpSession) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exchanges--
	s.used = time.Now()
}

func (s *httpSession) idleFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exchanges > 0 {
		return 0
	}
	return time.Since(s.used)
}

// close ends the session: it is unknown from now on, the streams that listen end, its
// requests are cancelled, and the streams of those that do not heed it end, too.
func (s *httpSession) close(cause error) {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return
	}
	s.h.mu.Lock()
	delete(s.h.sessions, s.id)
	s.h.mu.Unlock()
	s.p.shut(cause)
	for _, st := range s.known() {
		if c := st.conn.Load(); st.listens {
			st.end()
		} else if c != nil {
			c.unstick()
		}
	}
	go func() { // ends with the application's handlers, or gives them up; Shutdown waits for it
		if err := s.p.wait(); err != nil {
			s.h.log().Warn("mcp: session ended", "error", err)
		}
		s.end()
		s.h.dismiss(s.session)
	}()
}

// stopListening ends the GET streams.
func (s *httpSession) stopListening() {
	for _, st := range s.known() {
		if st.listens {
			st.end()
		}
	}
}

func (s *httpSession) known() []*httpStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.streams))
}

// listen makes the connection of a GET stream the one that carries the mail.
func (s *httpSession) listen(c *httpConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, c)
}

// unlisten leaves the mail to the connection that is now the newest.
func (s *httpSession) unlisten(c *httpConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = slices.DeleteFunc(s.listeners, func(other *httpConn) bool { return other == c })
	if n := len(s.listeners); n > 0 {
		select {
		case s.listeners[n-1].turn <- struct{}{}:
		default:
		}
	}
	s.mail.nudge()
}

// carrier is the connection that carries the mail; nil if there is none.
func (s *httpSession) carrier() *httpConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.listeners); n > 0 {
		return s.listeners[n-1]
	}
	return nil
}

// keeps reports whether events are kept for resuming.
func (s *httpSession) keeps() bool { return s != nil && s.h.MaxEvents >= 0 }

// number gives a stream its number, and makes it known.
func (s *httpSession) number(st *httpStream) {
	s.mu.Lock()
	s.last++
	st.number = s.last
	if s.streams == nil {
		s.streams = map[int]*httpStream{}
	}
	s.streams[st.number] = st
	s.mu.Unlock()
	s.keepEvent(event{st: st})
}

// keepEvent keeps an event, and forgets the oldest ones.
func (s *httpSession) keepEvent(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.keeps() {
		return
	}
	s.events = append(s.events, e)
	s.size += len(e.data) + eventCost
	e.st.kept++
	s.streams[e.st.number] = e.st
	for s.size > cmp.Or(s.h.MaxEvents, defaultEvents) {
		old := s.events[0]
		s.events[0] = event{}
		s.events = s.events[1:]
		s.size -= len(old.data) + eventCost
		old.st.lost = old.n
		old.st.kept--
		s.forgetLocked(old.st)
	}
}

// rest says whether a stream may be forgotten as soon as none of its events is kept:
// it is over, or it listened and nobody is there.
func (s *httpSession) rest(st *httpStream, rests bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.rests = rests
	s.streams[st.number] = st
	s.forgetLocked(st)
}

func (s *httpSession) forgetLocked(st *httpStream) {
	if st.rests && st.kept == 0 {
		delete(s.streams, st.number)
	}
}

// An httpStream is one logical stream of messages to the client: the reply to a
// POST, or what a GET listens to. It is attached to one exchange at a time.
//
// Who closes it: the reply to a POST is over with its answer, which the peer gives to
// answer; what a GET listens to never is by itself. end closes either, for a session that
// ends, a Shutdown, or a handler that does not heed the end of its session. Either closes
// over, for which the exchange's goroutine waits, unless it is the handler's too
// (postStateless). That goroutine writes what is left and leaves the connection to net/http.
// A client that goes away closes nothing: it detaches the connection, and the stream waits
// for it to come back.
type httpStream struct {
	s       *httpSession // nil: nothing is kept
	log     *slog.Logger
	rev     revision
	number  int // in the session; in event ids
	listens bool
	plain   bool // the reply must not become a stream before its answer
	stream  bool // the reply must be a stream of events
	retry   time.Duration
	lose    func(error) // told that the connection is lost, where nobody comes back; may be nil

	over  chan struct{} // closed when nothing more will be sent; nil if nobody waits for that
	kept  int           // events that the session keeps; guarded by s.mu
	lost  int           // the newest event that it keeps no more; guarded by s.mu
	rests bool          // see httpSession.rest; guarded by s.mu

	conn atomic.Pointer[httpConn] // nil: the client is away; set with mu held

	mu       sync.Mutex // held while writing; guards the fields below
	begun    bool       // the reply is a stream of events
	n        int        // events so far
	answered bool       // nothing more will be sent
	body     *buffer    // the reply, if it is one JSON body
	err      *Error     // what body tells
}

// An httpConn is the connection of an exchange, as long as a stream may use it.
type httpConn struct {
	st    *httpStream
	w     http.ResponseWriter
	rc    *http.ResponseController
	multi bool          // HTTP/2, where a deadline that passes ends an exchange that does not write, too
	gone  chan struct{} // closed when the stream has left it; nil like over
	turn  chan struct{} // has room for one; sent to when it is to carry the mail; nil like over

	mu      sync.Mutex // guards the fields below; not held while writing
	till    time.Time  // the write deadline; zero: none
	writing bool
	hurried bool // writes have little time
	dead    bool // nothing more may be written, or the exchange is over
}

// write writes text, with a deadline for each piece. A reply in one piece is flushed
// by net/http.
func (c *httpConn) write(text []byte, flush bool) error {
	for len(text) > 0 {
		if !c.arm() {
			return os.ErrDeadlineExceeded
		}
		n := min(len(text), writeSize)
		if _, err := c.w.Write(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	if !flush {
		return nil
	}
	err := c.rc.Flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
	if c.multi && !c.dead {
		c.till = time.Time{}
		_ = c.rc.SetWriteDeadline(c.till)
	}
	return err
}

// arm gives the next write its time, at most once a second, and reports whether it
// may be made.
func (c *httpConn) arm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return false
	}
	c.writing = true
	limit := writeTimeout
	if c.hurried {
		limit = partingTime
	}
	if now := time.Now(); c.till.Sub(now) < limit-time.Second {
		c.till = now.Add(limit)
		_ = c.rc.SetWriteDeadline(c.till)
	}
	return true
}

// unstick ends a write that goes on.
func (c *httpConn) unstick() {
	c.mu.Lock()
	writing := c.writing
	c.mu.Unlock()
	if writing {
		c.cut()
	}
}

// hurry leaves a client little time for the write that goes on, and for each after it.
func (c *httpConn) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || c.hurried {
		return
	}
	c.hurried, c.till = true, time.Time{}
	if c.writing {
		c.till = time.Now().Add(partingTime)
		_ = c.rc.SetWriteDeadline(c.till)
	}
}

// cut ends the connection.
func (c *httpConn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.dead = true
		_ = c.rc.SetWriteDeadline(time.Unix(1, 0))
	}
}

// leave gives the connection back to net/http, with time to write what is left. It
// undoes the deadline afterwards.
func (c *httpConn) leave() {
	c.arm()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

// newStream makes the stream of a reply. here: it is served on the exchange's goroutine.
func (h *HTTPHandler) newStream(s *httpSession, r *http.Request, rev revision, opens, here bool) *httpStream {
	json, events := accepts(r)
	var over chan struct{}
	if !here {
		over = make(chan struct{})
	}
	return &httpStream{s: s, log: h.log(), rev: rev, over: over, retry: cmp.Or(h.Retry, defaultRetry),
		plain: h.JSONOnly || !events || opens, stream: events && !h.JSONOnly && (h.EventsOnly || !json)}
}

// attach makes w the stream's connection.
func (st *httpStream) attach(w http.ResponseWriter, r *http.Request) *httpConn {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.attachLocked(w, r)
}

func (st *httpStream) attachLocked(w http.ResponseWriter, r *http.Request) *httpConn {
	st.detachLocked(st.conn.Load())
	c := &httpConn{st: st, w: w, rc: http.NewResponseController(w), multi: r.ProtoMajor > 1}
	if st.over != nil {
		c.gone, c.turn = make(chan struct{}), make(chan struct{}, 1)
	}
	st.conn.Store(c)
	return c
}

// lock locks mu. Who holds it writes, and if that is stuck, it is ended.
func (st *httpStream) lock() {
	if c := st.conn.Load(); c != nil {
		c.unstick()
	}
	st.mu.Lock()
}

// detach takes the stream off c, if it is on it. A reply that has not begun is cut off.
func (st *httpStream) detach(c *httpConn) {
	st.lock()
	defer st.mu.Unlock()
	if !st.begun {
		c.cut()
	}
	st.detachLocked(c)
}

func (st *httpStream) detachLocked(c *httpConn) {
	if c == nil || st.conn.Load() != c {
		return
	}
	st.conn.Store(nil)
	if c.gone != nil {
		close(c.gone)
	}
	if st.begun && (st.listens || st.answered) {
		st.s.rest(st, true)
	}
}

func (st *httpStream) send(_ context.Context, m *outgoing) error {
	defer m.data.free()
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.answered:
		return ErrRequestOver
	case st.plain && !m.id.IsZero():
		return errors.New("mcp: the reply must be JSON, which cannot carry a question")
	case st.plain:
		st.log.Debug("mcp: notification dropped, the reply must be JSON", "method", m.method)
		return nil
	case st.conn.Load() == nil && !(st.begun && st.s.keeps()):
		if m.id.IsZero() {
			return nil // nobody is there, and nobody comes back
		}
		return errGone
	}
	st.beginLocked()
	st.eventLocked(m.data.b)
	return nil
}

func (st *httpStream) answer(b *buffer, e *Error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.answered {
		if b != nil {
			b.free()
		}
		return
	}
	switch {
	case b != nil && !st.begun:
		st.body, st.err = b, e // for the exchange's goroutine, if it is still there
	case b != nil:
		st.eventLocked(b.b)
		b.free()
	}
	st.answered = true
	if st.over != nil {
		close(st.over)
	}
	if st.begun && st.conn.Load() == nil {
		st.s.rest(st, true)
	}
}

func (st *httpStream) abandon(m *outgoing, cause error) {
	_ = st.send(noWait, &outgoing{method: noteCancelled, data: encodeCancel(m.id, cause)})
}

// end ends the stream without its answer.
func (st *httpStream) end() {
	st.lock()
	begun := st.begun
	st.mu.Unlock()
	if begun {
		st.answer(nil, nil)
		return
	}
	e := Errorf(CodeInternalError, "ended before there was an answer").WithHTTP(http.StatusServiceUnavailable, nil)
	st.answer(encodeError(ID{}, e), e)
}

// beginLocked makes the reply a stream of events. A client that can poll gets an id
// to begin with (Streamable HTTP, Sending Messages, item 6).
func (st *httpStream) beginLocked() {
	if st.begun {
		return
	}
	st.begun = true
	if st.s != nil {
		st.s.number(st)
	}
	c := st.conn.Load()
	if c == nil {
		return
	}
	c.startEvents()
	first := ": ok\n\n"
	if st.rev.polls() && st.s.keeps() {
		first = fmt.Sprintf("id: %d_0\nretry: %d\ndata:\n\n", st.number, st.retry.Milliseconds())
	}
	st.writeLocked([]byte(first))
}

// startEvents writes the header of a stream of events.
func (c *httpConn) startEvents() {
	header := c.w.Header()
	header.Set("Content-Type", typeEvents)
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
}

// eventLocked sends a message as an event.
func (st *httpStream) eventLocked(data []byte) {
	st.n++
	b := newBuffer()
	defer b.free()
	if st.s.keeps() {
		b.b = append(b.b, "id: "...)
		b.b = strconv.AppendInt(b.b, int64(st.number), 10)
		b.b = strconv.AppendInt(append(b.b, '_'), int64(st.n), 10)
		b.b = append(b.b, '\n')
		st.s.keepEvent(event{st, st.n, slices.Clone(data)})
	}
	b.b = append(append(append(b.b, "data: "...), data...), "\n\n"...)
	st.writeLocked(b.b)
}

// writeLocked writes and flushes. A client that does not take it loses its
// connection; what it missed it can come back for.
func (st *httpStream) writeLocked(text []byte) {
	c := st.conn.Load()
	if c == nil {
		return
	}
	if err := c.write(text, true); err != nil {
		st.log.Debug("mcp: a stream lost its connection", "error", err)
		st.detachLocked(c)
		if st.lose != nil {
			st.lose(errGone)
		}
	}
}

// pause lets go of the connection but keeps the stream (Streamable HTTP, Sending
// Messages, item 6): the client comes back after retry. It gets a new id, since it
// takes a stream that brings none again and again for one that is lost.
func (st *httpStream) pause(retry time.Duration) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.answered || st.conn.Load() == nil {
		return nil
	}
	st.beginLocked()
	st.n++
	st.writeLocked(fmt.Appendf(nil, "id: %d_%d\nretry: %d\ndata:\n\n", st.number, st.n, retry.Milliseconds()))
	st.detachLocked(st.conn.Load())
	return nil
}

// wait keeps an exchange open until its stream is over or has left it, or the
// client is gone. When the peer is over, handlers have some time to answer.
func (st *httpStream) wait(h *HTTPHandler, r *http.Request, c *httpConn, p *peer) {
	defer c.leave()
	start := time.Now()
	decide, comment := h.pace()
	t := time.NewTimer(min(decide, comment))
	defer t.Stop()
	var grace <-chan time.Time
	for ended := p.done; ; {
		var mail <-chan struct{}
		if st.listens && st.s.carrier() == c {
			mail = st.s.mail.wake
		}
		select {
		case <-st.over:
			st.finish(c)
			return
		case <-c.gone:
			return
		case <-r.Context().Done():
			st.detach(c)
			return
		case <-ended:
			ended = nil
			if grace = time.After(handlersGrace); st.listens {
				st.end()
			}
		case <-grace:
			st.end()
		case <-c.turn:
		case <-mail:
			if st.s.carrier() == c {
				_ = st.s.deliverMail(st, r.Context().Done())
			} else {
				st.s.mail.nudge()
			}
		case <-t.C:
			t.Reset(st.tick(time.Since(start), decide, comment))
		}
	}
}

// pace is when an undecided reply becomes a stream, and how often a silent one is
// commented on.
func (h *HTTPHandler) pace() (decide, comment time.Duration) {
	decide, comment = cmp.Or(h.DecideAfter, defaultDecide), cmp.Or(h.Comment, defaultComment)
	if comment < 0 {
		comment = math.MaxInt64
	}
	return decide, comment
}

// tick writes a comment, or decides an undecided reply, if it is time for that. It
// tells when to come again. While somebody else writes, there is nothing to do.
func (st *httpStream) tick(since, decide, comment time.Duration) time.Duration {
	if !st.mu.TryLock() {
		return comment
	}
	defer st.mu.Unlock()
	switch {
	case st.begun && since < comment:
		return comment - since
	case st.begun:
		st.writeLocked([]byte(": still here\n\n"))
	case st.plain || st.answered:
	case since < decide:
		return decide - since
	default:
		st.beginLocked()
	}
	return comment
}

// finish writes an answer that nothing came before, and takes the stream off its
// connection.
func (st *httpStream) finish(c *httpConn) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn.Load() != c {
		return
	}
	status, header := http.StatusOK, http.Header(nil)
	if e := st.err; e != nil {
		header = e.header
		status = cmp.Or(e.status, statusOf(e.Code))
	}
	switch {
	case st.begun:
	case st.body == nil: // a cancelled request: neither form has room for no answer but a stream
		c.startEvents()
	case st.stream && status == http.StatusOK: // a status needs a reply that has one
		st.beginLocked()
		st.eventLocked(st.body.b)
	default:
		startJSON(c.w, len(st.body.b), status, header)
		_ = c.write(st.body.b, false)
	}
	if st.body != nil {
		st.body.free()
		st.body = nil
	}
	st.detachLocked(c)
}

// statusOf is the HTTP status of an answer that is an error: what is no valid
// message is a bad request, all else a good answer.
func statusOf(code int) int {
	if code == CodeParseError || code == CodeInvalidRequest {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// get serves a GET: a stream of what no request causes, or one that goes on.
func (h *HTTPHandler) get(w http.ResponseWriter, r *http.Request, identity *Identity) *Error {
	if _, events := accepts(r); !events || len(r.Header.Values("Accept")) == 0 {
		return Errorf(CodeInvalidRequest, "Accept must allow %s", typeEvents).WithHTTP(http.StatusNotAcceptable, nil)
	}
	if _, e := revisionHeader(r, h.Server); e != nil {
		return e
	}
	s, e := h.sessionFor(r, identity, false)
	if e != nil {
		return e
	}
	defer s.leave()
	if from := r.Header.Values(headerEvent); len(from) > 0 && from[0] != "" {
		return h.resume(w, r, s, from)
	}
	if h.drains() {
		return errDraining
	}
	st := &httpStream{s: s, log: h.log(), rev: s.opened.Load().rev, listens: true, over: make(chan struct{}), retry: cmp.Or(h.Retry, defaultRetry)}
	c := st.attach(w, r)
	st.mu.Lock()
	st.beginLocked()
	st.mu.Unlock()
	s.listen(c)
	defer s.unlisten(c)
	st.wait(h, r, c, s.p)
	return nil
}

// resume goes on with a stream after the event that the client got last.
func (h *HTTPHandler) resume(w http.ResponseWriter, r *http.Request, s *httpSession, from []string) *Error {
	number, n, ok := parseEventID(from)
	s.mu.Lock()
	st := s.streams[number]
	s.mu.Unlock()
	if !ok || st == nil || !s.keeps() {
		return Errorf(CodeInvalidRequest, "Last-Event-ID %.100q is of no stream that can be resumed", strings.Join(from, ", "))
	}
	c, e := st.resume(w, r, n)
	if e != nil {
		return e
	}
	if st.listens {
		s.listen(c)
		defer s.unlisten(c)
	}
	st.wait(h, r, c, s.p)
	return nil
}

func parseEventID(values []string) (stream, n int, ok bool) {
	a, b, found := strings.Cut(values[0], "_")
	stream, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	return stream, n, len(values) == 1 && found && err1 == nil && err2 == nil && n >= 0
}

// resume takes the stream over to w, and sends what came after event n.
func (st *httpStream) resume(w http.ResponseWriter, r *http.Request, n int) (*httpConn, *Error) {
	st.lock()
	defer st.mu.Unlock()
	missed, e := st.s.missed(st, n)
	if e != nil {
		return nil, e
	}
	c := st.attachLocked(w, r)
	st.s.rest(st, st.answered) // leaving the old connection let it rest
	c.startEvents()
	st.writeLocked([]byte(": resumed\n\n"))
	for _, e := range missed {
		st.writeLocked(fmt.Appendf(nil, "id: %d_%d\ndata: %s\n\n", st.number, e.n, e.data))
	}
	return c, nil
}

// missed returns the events of a stream after n, which goes on from there. It is an
// error if one is kept no more. The caller holds st.mu.
func (s *httpSession) missed(st *httpStream, n int) (list []event, e *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n > st.n:
		return nil, Errorf(CodeInvalidRequest, "Last-Event-ID %d_%d was never sent", st.number, n)
	case n < st.lost:
		return nil, Errorf(CodeInvalidRequest, "events after %d_%d are no longer kept", st.number, n)
	}
	st.rests = st.answered
	s.streams[st.number] = st
	for _, e := range s.events {
		if e.st == st && e.n > n {
			list = append(list, e)
		}
	}
	return list, nil
}

// delete ends a session.
func (h *HTTPHandler) delete(w http.ResponseWriter, r *http.Request, identity *Identity) *Error {
	if _, e := revisionHeader(r, h.Server); e != nil {
		return e
	}
	s, e := h.sessionFor(r, identity, false)
	if e != nil {
		return e
	}
	s.leave()
	s.close(errors.New("the client ended the session"))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// SSE returns a handler for the HTTP+SSE transport of 2024-11-05, for clients that
// know no other: a GET opens a session and its stream, whose first event names
// where to POST. It is checked and authorized like h. Mount it at a path of its own.
//
// Deprecated: by the protocol from 2025-03-26 on.
func (h *HTTPHandler) SSE() http.Handler {
	return &sseHandler{h}
}

type sseHandler struct{ h *HTTPHandler }

// An sseSession is a session whose one stream carries everything.
type sseSession struct {
	*session
	st    *httpStream
	owner owner
}

func (h *sseHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.h.enter(w, r, []string{http.MethodGet, http.MethodPost}, func(r *http.Request, identity *Identity) *Error {
		if r.Method == http.MethodGet {
			return h.open(w, r, identity)
		}
		return h.post(w, r, identity)
	})
}

// open serves a GET: a session for as long as it lasts.
func (h *sseHandler) open(w http.ResponseWriter, r *http.Request, identity *Identity) *Error {
	s := &sseSession{session: h.h.Server.newSession(), st: &httpStream{log: h.h.log(), begun: true, over: make(chan struct{})}}
	s.owner.admits(identity)
	s.connect(s, s.hangUp)
	defer s.end()
	if e := h.h.enroll(s.session, s.hangUp); e != nil {
		return e
	}
	defer h.h.dismiss(s.session)
	id := rand.Text()
	h.know(id, s)
	defer h.know(id, nil)
	path, _, _ := strings.Cut(r.RequestURI, "?") // r.URL may lack what a mux has stripped
	c := s.st.attach(w, r)
	c.startEvents()
	s.write("endpoint", []byte(path+"?sessionId="+id))
	s.st.wait(h.h, r, c, s.p)
	s.p.shut(errGone)
	if err := s.p.wait(); err != nil {
		s.st.log.Warn("mcp: session ended", "error", err)
	}
	return nil
}

// know makes a session known by an id, or unknown if s is nil.
func (h *sseHandler) know(id string, s *sseSession) {
	h.h.mu.Lock()
	defer h.h.mu.Unlock()
	if h.h.old == nil {
		h.h.old = map[string]*sseSession{}
	}
	if h.h.old[id] = s; s == nil {
		delete(h.h.old, id)
	}
}

func (h *sseHandler) post(w http.ResponseWriter, r *http.Request, identity *Identity) *Error {
	id := r.URL.Query().Get("sessionId")
	h.h.mu.Lock()
	s := h.h.old[id]
	h.h.mu.Unlock()
	switch {
	case id == "":
		return Errorf(CodeInvalidRequest, "no sessionId in the URL: open the stream first")
	case s == nil || !s.owner.admits(identity):
		return errNoSession
	}
	f, e := h.h.readBody(w, r)
	switch {
	case e != nil:
		return e
	case f.bad != nil:
		return f.bad
	case h.h.refuses(f):
		return errDraining
	}
	s.p.accept(context.WithoutCancel(r.Context()), f, &arrival{out: s, header: r.Header, identity: identity})
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// hangUp ends the session and its stream.
func (s *sseSession) hangUp(cause error) {
	s.p.shut(cause)
	s.st.end()
}

func (s *sseSession) send(_ context.Context, m *outgoing) error {
	defer m.data.free()
	if !s.write("message", m.data.b) {
		return errGone
	}
	return nil
}

func (s *sseSession) answer(b *buffer, _ *Error) {
	if b != nil {
		_ = s.send(noWait, &outgoing{data: b})
	}
}

func (s *sseSession) abandon(m *outgoing, cause error) {
	_ = s.send(noWait, &outgoing{data: encodeCancel(m.id, cause)})
}

// write writes an event, and reports whether the client is still there.
func (s *sseSession) write(event string, data []byte) bool {
	s.st.mu.Lock()
	defer s.st.mu.Unlock()
	s.st.writeLocked(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, data))
	return s.st.conn.Load() != nil
}
