package mcp

// Streamable HTTP, the server's end: the door that every request passes, sessions,
// the reply that decides late whether it is JSON or a stream of events, and the
// streams that can be resumed. The HTTP+SSE transport of 2024-11-05 is a short tail.
//
// What happens to a POST:
//
//	ServeHTTP          door: Host, Origin, method, preflight, authorization
//	  post             types, body, protocol header, session
//	    peer.accept    the messages run; what they say goes to the POST's httpStream
//	    httpStream     one JSON body, or server-sent events from the first message
//	                   that is not the answer, or when the answer takes its time
//	    wait           the exchange's goroutine: writes the body or comments, leaves
//	                   when the stream is over, taken over or the client is gone
//
// An httpStream outlives its connection: its events have ids, the session keeps the
// last of them, and a GET with Last-Event-ID goes on where the client lost it.

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultBody        = 4 << 20
	defaultSessions    = 10_000
	defaultStreams     = 32
	defaultEvents      = 1 << 20
	defaultSessionIdle = 30 * time.Minute
	defaultDecide      = 500 * time.Millisecond
	defaultComment     = 15 * time.Second
	defaultRetry       = time.Second
	bodyTimeout        = 30 * time.Second // to read the body of a request
	writeTimeout       = 30 * time.Second // for a client to take an event
	headerTimeout      = 10 * time.Second // to read the header of a request
	maxHeader          = 64 << 10
	socketBuffer       = 64 << 10         // bytes that surely are written without waiting
	drainTimeout       = 10 * time.Second // for running requests, at the end of ListenAndServe

	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerEvent    = "Last-Event-Id"
	typeJSON       = "application/json"
	typeEvents     = "text/event-stream"
)

// An HTTPHandler serves a Server over Streamable HTTP (Transports, Streamable HTTP)
// at whatever path it is mounted. Server must be set; the zero values of the other
// fields are right for a server on this machine. Fields must not change once it
// serves.
type HTTPHandler struct {
	Server *Server

	// Authorize establishes who calls, after the checks of Host and Origin and before
	// the body is read. An *Error with WithHTTP is answered as it says, any other error
	// with 401. nil: callers are not told apart.
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
	// MaxSessions is the most sessions at once; 0 means 10,000. MaxStreams is the most
	// open exchanges of one session; 0 means 32 more than its requests (see
	// ServerOptions.MaxRequests). MaxEvents is how many bytes of events a session
	// keeps for resuming; 0 means 1 MiB, negative none, and then nothing is resumed.
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

	mu       sync.Mutex // guards the fields below
	sessions map[string]*httpSession
	old      map[string]*sseSession // over HTTP+SSE
	draining bool
	sweeper  *time.Timer // looks for idle sessions while there are any

	cleanups sync.WaitGroup // of ended sessions
}

// ServeHTTP serves one HTTP request.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e := h.door(w, r); e != nil {
		h.refuse(w, r, ID{}, e)
		return
	}
	switch {
	case r.Method == http.MethodOptions && h.CORS && r.Header.Get("Access-Control-Request-Method") != "":
		h.preflight(w)
		return
	case r.Method != http.MethodPost && (h.Sessionless || r.Method != http.MethodGet && r.Method != http.MethodDelete):
		allow := "GET, POST, DELETE"
		if h.Sessionless {
			allow = "POST"
		}
		h.refuse(w, r, ID{}, Errorf(CodeInvalidRequest, "method %s is not served here; allowed: %s", r.Method, allow).
			WithHTTP(http.StatusMethodNotAllowed, http.Header{"Allow": {allow}}))
		return
	}
	identity, e := h.authorize(r)
	if e == nil {
		switch r.Method {
		case http.MethodGet:
			e = h.get(w, r, identity)
		case http.MethodDelete:
			e = h.delete(w, r, identity)
		default:
			h.post(w, r, identity)
		}
	}
	if e != nil {
		h.refuse(w, r, ID{}, e)
	}
}

// Shutdown refuses new requests, ends the streams that only listen, waits for
// running requests as long as ctx lets it, taking what they wait for, and ends all
// sessions. It returns the error of ctx if requests had to be cancelled.
func (h *HTTPHandler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	all, old := slices.Collect(maps.Values(h.sessions)), slices.Collect(maps.Values(h.old))
	h.mu.Unlock()
	for _, s := range all {
		s.stopListening()
	}
	var err error
	for _, s := range all {
		if !s.p.quiet(ctx) {
			err = context.Cause(ctx)
		}
		s.close(errors.New("the server shuts down"))
	}
	for _, s := range old {
		if !s.p.quiet(ctx) {
			err = context.Cause(ctx)
		}
		s.drop()
	}
	h.cleanups.Wait()
	return err
}

// ListenAndServe serves handler at addr over HTTP until ctx ends, and then lets
// running requests finish for 10 seconds. An addr without a host, such as ":8080",
// means this machine only.
func ListenAndServe(ctx context.Context, addr string, handler http.Handler) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("mcp: address %q: %w", addr, err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return err
	}
	return Serve(ctx, l, handler)
}

// Serve is ListenAndServe on a listener, which it closes. An HTTPHandler that is
// inside of handler must be shut down before ctx ends.
func Serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }() // ends with Shutdown
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if h, ok := handler.(*HTTPHandler); ok {
		_ = h.Shutdown(bound)
	}
	if err := server.Shutdown(bound); err != nil {
		_ = server.Close()
	}
	<-ended
	return nil
}

// door checks Host and Origin (Streamable HTTP, Security Warning), and sets the
// CORS headers.
func (h *HTTPHandler) door(w http.ResponseWriter, r *http.Request) *Error {
	forbidden := func(format string, args ...any) *Error {
		return Errorf(CodeInvalidRequest, format, args...).WithHTTP(http.StatusForbidden, nil)
	}
	host := r.Host
	if f := r.Header.Get("X-Forwarded-Host"); h.TrustForwardedHost && f != "" {
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
		header.Set("Access-Control-Expose-Headers", headerSession+", WWW-Authenticate")
	}
	return nil
}

// onLoopback reports whether the request came in at a loopback address.
func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
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
	header.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id")
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

func (h *HTTPHandler) authorize(r *http.Request) (*Identity, *Error) {
	if h.Authorize == nil {
		return nil, nil
	}
	identity, err := h.Authorize(r)
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
	writeJSON(w, b.b, cmp.Or(e.status, http.StatusBadRequest), e.header)
}

func writeJSON(w http.ResponseWriter, body []byte, status int, header http.Header) {
	for name, values := range header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// accepts tells which forms of a reply the client takes. No Accept header means both.
func accepts(r *http.Request) (json, events bool) {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true, true
	}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if q, bad := strconv.ParseFloat(params["q"], 64); err != nil || bad == nil && q == 0 {
			continue
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
	id, opens := ID{}, false
	if !f.batch && f.bad == nil {
		id, opens = f.messages[0].id, f.messages[0].method == methodInitialize && f.messages[0].kind == requestMessage
	}
	rev, e := revisionHeader(r, h.Server)
	switch {
	case f.bad != nil:
		h.refuse(w, r, ID{}, f.bad)
	case e != nil && !opens:
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
		h.exchange(w, r, s, f, opens)
	}
}

// refuses reports whether messages come too late: while the server shuts down,
// requests do, but not what running ones wait for.
func (h *HTTPHandler) refuses(f *frame) bool {
	return h.drains() && slices.ContainsFunc(f.messages, func(m message) bool { return m.kind == requestMessage })
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
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != typeJSON {
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
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := readAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, Errorf(CodeInvalidRequest, "body of more than %d bytes; MaxBody allows more", limit).WithHTTP(http.StatusRequestEntityTooLarge, nil)
	case err != nil:
		return nil, Errorf(CodeInvalidRequest, "the body could not be read").WithHTTP(http.StatusBadRequest, nil)
	}
	return parseFrame(trimBOM(body)), nil
}

// readAll reads a body whose length may be known.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length < 0 || length > defaultBody {
		return io.ReadAll(r)
	}
	body := make([]byte, length)
	n, err := io.ReadFull(r, body)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return body[:n], err
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
	}()
	if f.batch || f.messages[0].method != methodInitialize {
		ss.open(rev)
	}
	st := h.newStream(nil, r, rev)
	c := st.attach(w)
	a := &arrival{out: st, own: true, header: r.Header, identity: identity}
	if ss.p.accept(context.WithoutCancel(r.Context()), f, a) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	st.wait(h, r, c, false)
	if r.Context().Err() != nil {
		ss.p.cancelAll(errGone)
	}
}

var errGone = errors.New("mcp: the client closed the connection")

// exchange serves the messages of a POST in a session.
func (h *HTTPHandler) exchange(w http.ResponseWriter, r *http.Request, s *httpSession, f *frame, opens bool) {
	var rev revision
	if o := s.opened.Load(); o != nil {
		rev = o.rev
	}
	st := h.newStream(s, r, rev)
	c := st.attach(w)
	a := &arrival{out: st, own: true, header: r.Header, identity: s.identity}
	if rev.polls() && s.keeps() {
		a.pause = st.pause
	}
	answers := s.p.accept(context.WithoutCancel(r.Context()), f, a)
	if opens {
		if s.opened.Load() != nil && h.keep(s) {
			w.Header().Set(headerSession, s.id)
		} else {
			s.close(errors.New("not opened"))
		}
	}
	if answers == 0 {
		st.mu.Lock()
		st.detachLocked(c)
		st.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
		return
	}
	st.wait(h, r, c, opens)
}

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
	if s == nil || !s.belongsTo(identity) {
		return nil, Errorf(CodeInvalidRequest, "no such session: start a new one with initialize").WithHTTP(http.StatusNotFound, nil)
	}
	if opens {
		return nil, Errorf(CodeInvalidRequest, "already initialized: initialize without Mcp-Session-Id opens another session")
	}
	return s, s.enter(h)
}

// An httpSession is a session of a client over HTTP.
type httpSession struct {
	*session
	h        *HTTPHandler
	id       string
	identity *Identity // who opened it

	mu        sync.Mutex // guards the fields below
	exchanges int        // HTTP requests that are open
	used      time.Time  // when the last one ended
	closed    bool
	streams   map[int]*httpStream // that can be resumed or ended
	last      int                 // number of the newest stream
	listener  *httpStream         // the newest GET stream
	events    []event             // kept for resuming, oldest first
	size      int                 // bytes of events
}

// An event is a message that was sent on a stream.
type event struct {
	stream, n int
	data      []byte
}

func (h *HTTPHandler) newSession(identity *Identity) (*httpSession, *Error) {
	h.mu.Lock()
	full := len(h.sessions) >= cmp.Or(h.MaxSessions, defaultSessions)
	h.mu.Unlock()
	if full {
		return nil, Errorf(CodeInternalError, "too many sessions: the limit is %d", cmp.Or(h.MaxSessions, defaultSessions)).
			WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"10"}})
	}
	return &httpSession{session: h.Server.newSession(), h: h, id: h.SessionPrefix + rand.Text(), identity: identity, exchanges: 1}, nil
}

var errDraining = Errorf(CodeInternalError, "the server is shutting down").
	WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"10"}})

// keep makes a session known once it is open, and starts to look for idle ones.
func (h *HTTPHandler) keep(s *httpSession) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining || len(h.sessions) >= cmp.Or(h.MaxSessions, defaultSessions) {
		return false
	}
	if h.sessions == nil {
		h.sessions = map[string]*httpSession{}
	}
	h.sessions[s.id] = s
	if h.sweeper == nil {
		h.sweeper = time.AfterFunc(h.idle()/4, h.sweep)
	}
	return true
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

// belongsTo reports whether the caller is who opened the session.
func (s *httpSession) belongsTo(identity *Identity) bool {
	if s.identity == nil || identity == nil {
		return s.identity == nil && identity == nil
	}
	return subtle.ConstantTimeCompare([]byte(s.identity.Subject), []byte(identity.Subject)) == 1
}

// enter begins an HTTP request of the session.
func (s *httpSession) enter(h *HTTPHandler) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := cmp.Or(h.MaxStreams, s.p.limit+defaultStreams)
	switch {
	case s.closed:
		return Errorf(CodeInvalidRequest, "no such session: start a new one with initialize").WithHTTP(http.StatusNotFound, nil)
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

// close ends the session: it is unknown from now on, its streams end, its requests
// are cancelled.
func (s *httpSession) close(cause error) {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	var open []*httpStream
	for _, st := range s.streams {
		open = append(open, st)
	}
	s.events, s.listener = nil, nil
	s.mu.Unlock()
	if was {
		return
	}
	s.h.mu.Lock()
	delete(s.h.sessions, s.id)
	s.h.mu.Unlock()
	s.p.shut(cause)
	for _, st := range open {
		st.end()
	}
	s.h.cleanups.Go(func() { // ends with the application's handlers, or gives them up
		if err := s.p.wait(); err != nil {
			s.h.log().Warn("mcp: session ended", "error", err)
		}
		s.end()
	})
}

// stopListening ends the GET streams.
func (s *httpSession) stopListening() {
	s.mu.Lock()
	var open []*httpStream
	for _, st := range s.streams {
		if st.listens {
			open = append(open, st)
		}
	}
	s.mu.Unlock()
	for _, st := range open {
		st.end()
	}
}

// keeps reports whether events are kept for resuming.
func (s *httpSession) keeps() bool { return s != nil && s.h.MaxEvents >= 0 }

// keepEvent keeps an event, and forgets the oldest ones.
func (s *httpSession) keepEvent(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.events = append(s.events, e)
	s.size += len(e.data)
	if st := s.streams[e.stream]; st != nil {
		st.kept++
	}
	for s.size > cmp.Or(s.h.MaxEvents, defaultEvents) && len(s.events) > 0 {
		old := s.events[0]
		s.events[0] = event{}
		s.events = s.events[1:]
		s.size -= len(old.data)
		if st := s.streams[old.stream]; st != nil {
			st.lost = old.n
			if st.kept--; st.kept == 0 && st.done() {
				delete(s.streams, old.stream)
			}
		}
	}
}

// An httpStream is one logical stream of messages to the client: the reply to a
// POST, or what a GET listens to. It is attached to one exchange at a time.
type httpStream struct {
	s       *httpSession // nil: nothing is kept
	log     *slog.Logger
	rev     revision
	number  int // in the session; in event ids
	listens bool
	plain   bool // the reply must be JSON
	stream  bool // the reply must be a stream of events
	retry   time.Duration

	over chan struct{} // closed when nothing more will be sent
	kept int           // events that the session keeps; guarded by s.mu
	lost int           // the newest event that it keeps no more; guarded by s.mu

	mu       sync.Mutex // held while writing; guards the fields below
	conn     *httpConn  // nil: the client is away
	begun    bool       // the reply is a stream of events
	n        int        // events so far
	answered bool       // over is closed
	body     *buffer    // the reply, if it is one JSON body
	err      *Error     // what body tells
}

// An httpConn is the connection of an exchange, as long as a stream may use it.
type httpConn struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	till time.Time     // the write deadline
	gone chan struct{} // closed when the stream has left it
}

func (h *HTTPHandler) newStream(s *httpSession, r *http.Request, rev revision) *httpStream {
	json, events := accepts(r)
	return &httpStream{s: s, log: h.log(), rev: rev, over: make(chan struct{}), retry: cmp.Or(h.Retry, defaultRetry),
		plain: h.JSONOnly || !events, stream: events && !h.JSONOnly && (h.EventsOnly || !json)}
}

// attach makes w the stream's connection.
func (st *httpStream) attach(w http.ResponseWriter) *httpConn {
	c := &httpConn{w: w, rc: http.NewResponseController(w), gone: make(chan struct{})}
	st.mu.Lock()
	st.conn = c
	st.mu.Unlock()
	return c
}

// detach takes the stream off c, if it is on it. A write that is stuck is ended first.
func (st *httpStream) detach(c *httpConn) {
	_ = c.rc.SetWriteDeadline(time.Now())
	st.mu.Lock()
	defer st.mu.Unlock()
	st.detachLocked(c)
}

// restore undoes the write deadline, for the connection's next request. The stream
// has left c.
func (c *httpConn) restore() {
	if !c.till.IsZero() {
		_ = c.rc.SetWriteDeadline(time.Time{})
	}
}

func (st *httpStream) detachLocked(c *httpConn) {
	if st.conn == c && c != nil {
		st.conn = nil
		close(c.gone)
	}
}

func (st *httpStream) done() bool {
	select {
	case <-st.over:
		return true
	default:
		return false
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
	case st.conn == nil && !(st.begun && st.s.keeps()):
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
	close(st.over)
}

func (st *httpStream) abandon(m *outgoing, cause error) {
	_ = st.send(noWait, &outgoing{method: noteCancelled, data: encodeCancel(m.id, cause)})
}

// end ends the stream without an answer.
func (st *httpStream) end() {
	st.mu.Lock()
	c := st.conn
	st.mu.Unlock()
	if c != nil {
		_ = c.rc.SetWriteDeadline(time.Now().Add(time.Second))
	}
	st.answer(nil, nil)
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
	if st.conn == nil {
		return
	}
	st.startEvents(st.conn)
	first := ": ok\n\n"
	if st.rev.polls() && st.s.keeps() {
		first = fmt.Sprintf("id: %d_0\nretry: %d\ndata:\n\n", st.number, st.retry.Milliseconds())
	}
	st.writeLocked([]byte(first))
}

// startEvents writes the header of a stream of events.
func (st *httpStream) startEvents(c *httpConn) {
	header := c.w.Header()
	header.Set("Content-Type", typeEvents)
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
}

// number gives a stream its number, and makes it known.
func (s *httpSession) number(st *httpStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	st.number = s.last
	if s.streams == nil {
		s.streams = map[int]*httpStream{}
	}
	s.streams[st.number] = st
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
		st.s.keepEvent(event{st.number, st.n, slices.Clone(data)})
	}
	b.b = append(append(append(b.b, "data: "...), data...), "\n\n"...)
	st.writeLocked(b.b)
}

// writeLocked writes and flushes. A client that does not take it loses its
// connection; what it missed it can come back for.
func (st *httpStream) writeLocked(text []byte) {
	c := st.conn
	if c == nil {
		return
	}
	if now := time.Now(); c.till.Sub(now) < writeTimeout-time.Second {
		c.till = now.Add(writeTimeout)
		_ = c.rc.SetWriteDeadline(c.till)
	}
	_, err := c.w.Write(text)
	if err == nil {
		err = c.rc.Flush()
	}
	if err != nil {
		st.log.Debug("mcp: a stream lost its connection", "error", err)
		st.detachLocked(c)
	}
}

// pause lets go of the connection but keeps the stream (Streamable HTTP, Sending
// Messages, item 6): the client comes back after retry.
func (st *httpStream) pause(retry time.Duration) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.answered || st.conn == nil {
		return nil
	}
	st.beginLocked()
	st.writeLocked(fmt.Appendf(nil, "retry: %d\n\n", retry.Milliseconds()))
	st.detachLocked(st.conn)
	return nil
}

// wait keeps an exchange open until its stream is over or has left it, or the
// client is gone.
func (st *httpStream) wait(h *HTTPHandler, r *http.Request, c *httpConn, opens bool) {
	comment := cmp.Or(h.Comment, defaultComment)
	defer c.restore()
	t := time.NewTimer(cmp.Or(h.DecideAfter, defaultDecide))
	defer t.Stop()
	for {
		select {
		case <-st.over:
			st.finish(c)
			return
		case <-c.gone:
			return
		case <-r.Context().Done():
			st.detach(c)
			return
		case <-t.C:
			if st.tick(opens) && comment > 0 {
				t.Reset(comment)
			}
		}
	}
}

// tick decides an undecided reply, or writes a comment. It reports whether to come
// again.
func (st *httpStream) tick(opens bool) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if opens || st.plain || st.answered {
		return false
	}
	if st.begun {
		st.writeLocked([]byte(": still here\n\n"))
	}
	st.beginLocked()
	return true
}

// finish writes an answer that nothing came before, and takes the stream off its
// connection.
func (st *httpStream) finish(c *httpConn) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn != c {
		return
	}
	switch {
	case st.begun:
	case st.body == nil: // a cancelled request: neither form has room for no answer but a stream
		st.startEvents(c)
	case st.stream:
		st.beginLocked()
		st.eventLocked(st.body.b)
		st.body.free()
	default:
		status, header := http.StatusOK, http.Header(nil)
		if e := st.err; e != nil {
			header = e.header
			status = cmp.Or(e.status, statusOf(e.Code))
		}
		if len(st.body.b) > socketBuffer {
			c.till = time.Now().Add(writeTimeout)
			_ = c.rc.SetWriteDeadline(c.till)
		}
		writeJSON(c.w, st.body.b, status, header)
		st.body.free()
	}
	st.body = nil
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
	c := st.attach(w)
	st.mu.Lock()
	st.beginLocked()
	st.mu.Unlock()
	s.listen(h, r, st, c)
	return nil
}

// resume goes on with a stream after the event that the client got last.
func (h *HTTPHandler) resume(w http.ResponseWriter, r *http.Request, s *httpSession, from []string) *Error {
	number, n, ok := parseEventID(from)
	s.mu.Lock()
	st := s.streams[number]
	s.mu.Unlock()
	if !ok || st == nil {
		return Errorf(CodeInvalidRequest, "Last-Event-ID %.100q is of no stream that can be resumed", strings.Join(from, ", "))
	}
	c, e := st.resume(w, n)
	if e != nil {
		return e
	}
	if st.listens {
		s.listen(h, r, st, c)
	} else {
		st.wait(h, r, c, false)
	}
	return nil
}

func parseEventID(values []string) (stream, n int, ok bool) {
	a, b, found := strings.Cut(values[0], "_")
	stream, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	return stream, n, len(values) == 1 && found && err1 == nil && err2 == nil && n >= 0
}

// resume takes the stream over to w, and sends what came after event n.
func (st *httpStream) resume(w http.ResponseWriter, n int) (*httpConn, *Error) {
	st.mu.Lock()
	old := st.conn
	st.mu.Unlock()
	if old != nil {
		_ = old.rc.SetWriteDeadline(time.Now())
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	missed, e := st.s.missed(st, n)
	if e != nil || n > st.n {
		return nil, cmp.Or(e, Errorf(CodeInvalidRequest, "Last-Event-ID %d_%d was never sent", st.number, n))
	}
	st.detachLocked(st.conn)
	c := &httpConn{w: w, rc: http.NewResponseController(w), gone: make(chan struct{})}
	st.conn = c
	st.startEvents(c)
	st.writeLocked([]byte(": resumed\n\n"))
	for _, e := range missed {
		st.writeLocked(fmt.Appendf(nil, "id: %d_%d\ndata: %s\n\n", e.stream, e.n, e.data))
	}
	return c, nil
}

// missed returns the events of a stream after n. It is an error if one is kept no more.
func (s *httpSession) missed(st *httpStream, n int) (list []event, e *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < st.lost {
		return nil, Errorf(CodeInvalidRequest, "events after %d_%d are no longer kept", st.number, n)
	}
	for _, e := range s.events {
		if e.stream == st.number && e.n > n {
			list = append(list, e)
		}
	}
	return list, nil
}

// listen carries the session's mail to a GET stream, as long as no newer one does.
func (s *httpSession) listen(h *HTTPHandler, r *http.Request, st *httpStream, c *httpConn) {
	s.mu.Lock()
	s.listener = st
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if s.listener == st {
			s.listener = nil
		}
		s.mu.Unlock()
		s.mail.nudge() // for another listener
	}()
	defer c.restore()
	comment := cmp.Or(h.Comment, defaultComment)
	t := time.NewTimer(max(comment, time.Minute))
	if comment > 0 {
		t.Reset(comment)
	}
	defer t.Stop()
	for {
		wake := s.mail.wake
		if !s.carries(st) {
			wake = nil
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
		case <-wake:
			if s.carries(st) {
				_ = s.deliverMail(st, r.Context().Done())
			} else {
				s.mail.nudge()
			}
		case <-t.C:
			if comment > 0 {
				st.tick(false)
				t.Reset(comment)
			}
		}
	}
}

func (s *httpSession) carries(st *httpStream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener == st
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
	identity *Identity

	mu  sync.Mutex // held while writing; guards c
	c   *httpConn  // nil: the client is gone
	log *slog.Logger
}

func (h *sseHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := h.h.door(w, r)
	var identity *Identity
	if e == nil {
		identity, e = h.h.authorize(r)
	}
	switch {
	case e != nil:
	case r.Method == http.MethodGet:
		e = h.open(w, r, identity)
	case r.Method == http.MethodPost:
		e = h.post(w, r, identity)
	default:
		e = Errorf(CodeInvalidRequest, "method %s is not served here; allowed: GET, POST", r.Method).
			WithHTTP(http.StatusMethodNotAllowed, http.Header{"Allow": {"GET, POST"}})
	}
	if e != nil {
		h.h.refuse(w, r, ID{}, e)
	}
}

func (h *sseHandler) open(w http.ResponseWriter, r *http.Request, identity *Identity) *Error {
	c := &httpConn{w: w, rc: http.NewResponseController(w), gone: make(chan struct{})}
	s := &sseSession{session: h.h.Server.newSession(), identity: identity, c: c, log: h.h.log()}
	id := rand.Text()
	if e := h.keep(id, s); e != nil {
		s.end()
		return e
	}
	(&httpStream{}).startEvents(c)
	where := url.URL{Path: r.URL.Path, RawQuery: "sessionId=" + id}
	s.write("event: endpoint\ndata: " + where.RequestURI() + "\n\n")
	s.connect(s, func(error) { s.drop() })
	h.serve(r, s, c)
	h.h.mu.Lock()
	delete(h.h.old, id)
	h.h.mu.Unlock()
	s.p.shut(errGone)
	s.drop()
	_ = s.p.wait()
	s.end()
	return nil
}

// keep makes a session known.
func (h *sseHandler) keep(id string, s *sseSession) *Error {
	h.h.mu.Lock()
	defer h.h.mu.Unlock()
	limit := cmp.Or(h.h.MaxSessions, defaultSessions)
	switch {
	case h.h.draining:
		return errDraining
	case len(h.h.old) >= limit:
		return Errorf(CodeInternalError, "too many sessions: the limit is %d", limit).
			WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"10"}})
	case h.h.old == nil:
		h.h.old = map[string]*sseSession{}
	}
	h.h.old[id] = s
	return nil
}

// serve keeps the stream open until the client or the session is gone.
func (h *sseHandler) serve(r *http.Request, s *sseSession, c *httpConn) {
	comment := cmp.Or(h.h.Comment, defaultComment)
	t := time.NewTicker(max(comment, time.Second))
	defer t.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-c.gone:
			return
		case <-t.C:
			if comment > 0 {
				s.write(": still here\n\n")
			}
		}
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
	case s == nil || !(&httpSession{identity: s.identity}).belongsTo(identity):
		return Errorf(CodeInvalidRequest, "no such session").WithHTTP(http.StatusNotFound, nil)
	}
	f, e := h.h.readBody(w, r)
	switch {
	case e != nil:
		return e
	case h.h.refuses(f):
		return errDraining
	}
	s.p.accept(context.WithoutCancel(r.Context()), f, &arrival{out: s, header: r.Header, identity: identity})
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *sseSession) send(_ context.Context, m *outgoing) error {
	defer m.data.free()
	if !s.write("event: message\ndata: " + string(m.data.b) + "\n\n") {
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

// write writes and flushes, and reports whether the client is still there.
func (s *sseSession) write(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return false
	}
	_ = s.c.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := io.WriteString(s.c.w, text)
	if err == nil {
		err = s.c.rc.Flush()
	}
	if err != nil {
		close(s.c.gone)
		s.c = nil
	}
	return err == nil
}

// drop takes the session off its connection.
func (s *sseSession) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c.gone)
		s.c = nil
	}
}
