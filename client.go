package mcp

// The client: sessions with servers, one method for each of a server's features,
// and the handlers for what servers ask.
//
// Every call takes one path, ClientSession.call: is it offered, then prepare, call
// and settle by the rules of the era, which may say to try again.
//
// It stands on the peer (jsonrpc.go) and reaches a server over a link, which a Transport
// makes (stdio.go, streamableclient.go). CallTool is in tasks.go, as a call may become a
// task; the other era is in stateless.go.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxPages       = 10_000           // of one list, when iterating
	maxCompleted   = 1_000            // ids of completed visits that are kept
	maxRetries     = 10               // of a call that needs visits first
	visitWait      = time.Minute      // for a server to say that a visit is complete, before the call is tried again
	renewTimeout   = 30 * time.Second // to open a new session in place of a lost one
	maxRounds      = 16
	roundPause     = 100 * time.Millisecond // before a call is repeated for which nothing was done, at first
	maxRoundPause  = 10 * time.Second
	maxReports     = 1_000 // tasks whose progress is kept for who will wait for them
	keptReports    = 64    // of one of them
	maxOld         = 1_000 // origins of old servers that are remembered
	backoffMin     = 500 * time.Millisecond
	backoffMax     = 30 * time.Second
	maxListenFails = 10 // tries to listen where that never succeeded
)

// ClientOptions are the settings of a client: what it offers to servers, and what
// it wants to hear. A nil function means that the client cannot, and does not say
// that it could. Functions run on goroutines of the session; requests of the server
// at once, notifications one at a time in the order of arrival.
type ClientOptions struct {
	// Elicit shows a form to the person and returns the answer; defaults of fields
	// that are left out are filled in. Say which server asks (see
	// ClientSession.ServerInfo), and let the person decline or dismiss.
	Elicit func(ctx context.Context, cs *ClientSession, p *ElicitParams) (*ElicitResult, error)
	// Visit asks the person to open p.URL: show all of it, with its host, and open it
	// only with consent and if p.SafeToOpen returns nil. Accepted means consent, not
	// that the visit is over.
	Visit func(ctx context.Context, cs *ClientSession, p *ElicitParams) (*ElicitResult, error)
	// Sample asks the model, with the person's approval before and after. Return
	// Errorf(CodeUserRejected, …) where they refuse.
	Sample func(ctx context.Context, cs *ClientSession, p *CreateMessageParams) (*CreateMessageResult, error)
	// SampleTools and SampleContext say that Sample handles tools, and context from
	// servers.
	SampleTools, SampleContext bool
	// Roots are the folders that servers may know of; nil: none are offered, which is
	// not the same as an empty list. Change them with Client.SetRoots.
	Roots []*Root

	// ToolsChanged, PromptsChanged and ResourcesChanged are called when a list of the
	// server has changed; ResourceUpdated when a resource has that was subscribed to;
	// LoggingMessage with what the server logs; ElicitationComplete when the person is done
	// with a visit. They may call the server. What comes while one runs waits, at most
	// 1,024 notifications; then the newest are dropped.
	ToolsChanged        func(ctx context.Context, cs *ClientSession)
	PromptsChanged      func(ctx context.Context, cs *ClientSession)
	ResourcesChanged    func(ctx context.Context, cs *ClientSession) // resources or templates
	ResourceUpdated     func(ctx context.Context, cs *ClientSession, p *ResourceUpdatedParams)
	LoggingMessage      func(ctx context.Context, cs *ClientSession, p *LoggingMessageParams)
	ElicitationComplete func(ctx context.Context, cs *ClientSession, p *ElicitationCompleteParams)
	// SessionRenewed is called when a server over HTTP had ended the session and a new
	// one took its place, with the same subscriptions and logging level. What the
	// server kept for the old session is lost.
	SessionRenewed func(ctx context.Context, cs *ClientSession)
	// Notification gets the notifications that no other field is for.
	Notification func(ctx context.Context, cs *ClientSession, method string, params json.RawMessage)
	// Malformed gets what a server sent that is no message, such as text on stdout.
	Malformed func(data []byte, reason error)

	// Logger gets what the client has to say about itself; nil: nothing is said.
	Logger *slog.Logger
	// Timeout is how long a call waits for a sign of life (its answer, or progress);
	// 0 means 5 minutes, negative for ever. MaxTimeout is how long it may take in all;
	// 0 means one hour, negative for ever. The context of a call counts, too.
	Timeout, MaxTimeout time.Duration
	// Tasks lets servers of 2025-11-25 ask for Sample, Elicit and Visit as tasks; nil: they
	// cannot.
	Tasks *TaskOptions
	// NoTasks does not say that calls may be answered by tasks (2026-07-28).
	NoTasks bool
	// Extensions are what of the protocol's extensions the application supports, which
	// each request says from 2026-07-28 on: a way of authorization, for example. Each is
	// named by a _meta key with a prefix; its settings are a JSON object.
	Extensions Extensions
	// Anonymous does not say who the client is where a server need not know, which is
	// from 2026-07-28 on.
	Anonymous bool
	// KeepAlive is the time between pings; 0: none. Three in a row without an answer
	// end the session. Servers of 2026-07-28, which know no ping, are not asked.
	KeepAlive time.Duration
	// Revisions are the names of the revisions to speak; nil: all. The newest is tried
	// first.
	Revisions []string
	// MaxRounds is how often a server of 2026-07-28 may want something more before it
	// answers a call; 0 means 16.
	MaxRounds int
	// NoOutputCheck does not validate structured results against the output schemas
	// that were listed.
	NoOutputCheck bool
	// CrashOnPanic lets a panic of one of these functions end the process, after it
	// was logged.
	CrashOnPanic bool
}

// A Client connects to any number of servers, each with a session of its own. Its
// methods may be called from any goroutine.
type Client struct {
	info Implementation
	opts ClientOptions
	log  *slog.Logger

	mu       sync.Mutex // guards the fields below
	roots    []*Root
	sessions map[*clientConn]struct{}
	old      map[string]bool // origins of servers that open with initialize

	memory   sync.Once // makes ownTasks
	ownTasks TaskStore // where options name none
}

// NewClient makes a client, and starts nothing. info, which has a Name and a Version, is
// what servers are told of it; nil options are the zero ones. Both are copied, and
// what is wrong with them is an error of Connect.
func NewClient(info *Implementation, opts *ClientOptions) *Client {
	c := &Client{info: *info, sessions: map[*clientConn]struct{}{}}
	if opts != nil {
		c.opts = *opts
	}
	c.roots = c.opts.Roots
	c.log = cmp.Or(c.opts.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Connect opens a session with a server: it reaches it through t, finds out which
// revision both speak, the newest of [ClientOptions.Revisions] first, and what the
// server offers. ctx bounds the opening only. The session must be closed. An error that
// the server answered is an *[Error], another HTTP answer an *[HTTPError]; nothing is
// left open then.
func (c *Client) Connect(ctx context.Context, t Transport) (*ClientSession, error) {
	revs, err := c.check()
	if err != nil {
		return nil, err
	}
	cs, err := c.connect(ctx, t, revs, nil)
	if died := (*probeDeath)(nil); errors.As(err, &died) && ctx.Err() == nil {
		// Some old servers end at a first message that they do not know.
		var again error
		if cs, again = c.connect(ctx, t, oldRevisions(revs), died.p); again == nil {
			return cs, nil
		}
		err = fmt.Errorf("%w; tried again without it: %w", err, again)
	}
	return cs, err
}

// connect opens a session; before is the peer of a try before this one, if any.
func (c *Client) connect(ctx context.Context, t Transport, revs []revision, before *peer) (*ClientSession, error) {
	conn := &clientConn{c: c, schemas: map[string]*outputSchema{}, visits: map[string]chan struct{}{}, mirrors: map[string][]mirror{}, support: map[string]string{}, reports: map[int64]chan Progress{},
		listens: map[string]*listening{}, turn: make(chan struct{}, 1), gone: make(chan struct{}), closed: make(chan struct{})}
	if c.opts.Tasks != nil {
		conn.owner = orNewID("")
	}
	conn.life, conn.stop = context.WithCancelCause(context.Background())
	conn.opened.Store(&greeting{init: &InitializeResult{ServerInfo: &Implementation{}, Capabilities: &ServerCapabilities{}}})
	conn.p = newPeer(conn, c.log)
	conn.p.mute, conn.p.crash, conn.p.malformed, conn.p.before = true, c.opts.CrashOnPanic, c.opts.Malformed, before
	conn.p.withdrawn = conn.withdrawn
	var err error
	if conn.link, err = t.dial(ctx, conn.p); err != nil {
		return nil, err
	}
	cs := &ClientSession{conn: conn}
	conn.revs = revs
	conn.p.late = conn.lateProgress
	conn.p.lose = func(lost *lostSession) {
		conn.workers.Go(func() { _ = conn.renew(context.Background(), lost) }) // ends when the session is renewed, or over
	}
	if err := cs.begin(ctx, revs); err != nil {
		return nil, errors.Join(err, conn.end())
	}
	c.mu.Lock()
	c.sessions[conn] = struct{}{}
	c.mu.Unlock()
	if c.opts.KeepAlive > 0 && !conn.rev().alone() {
		// Close waits for the caller of hangUp, and so runs on a goroutine of its own, which ends with it.
		hangUp := func(cause error) { conn.p.shut(cause); go cs.Close() }
		conn.workers.Go(func() { // ends with the session
			keepAlive(conn.p, conn.link, c.opts.KeepAlive, conn.rev(), conn.gone, hangUp)
		})
	}
	return cs, nil
}

// begin finds out what the server speaks, and opens a session where that is what it
// does (Versioning, Backward Compatibility).
func (cs *ClientSession) begin(ctx context.Context, revs []revision) error {
	c := cs.conn
	c.revs = oldRevisions(revs)
	place := c.link.place()
	if !revs[0].alone() {
		_, err := sessionEra{}.open(ctx, cs, c.revs)
		return err
	}
	if len(c.revs) > 0 && c.c.isOld(place) {
		_, err := sessionEra{}.open(ctx, cs, c.revs)
		if !refusesToOpen(err) {
			return err
		}
		c.c.noteOld(place, false)
	}
	for again := false; ; again = true {
		old, err := eraOf(newest).open(ctx, cs, revs)
		switch {
		case err == nil || !old || again:
			return err
		case len(c.revs) == 0:
			return fmt.Errorf("mcp: the server does not speak %v, only older revisions, it seems: %w", revs, err)
		case c.p.over() != nil:
			return &probeDeath{c.p, err}
		}
		c.c.log.Debug("mcp: the server is of the session era", "reason", err)
		_, err = sessionEra{}.open(ctx, cs, c.revs)
		switch {
		case err == nil:
			c.c.noteOld(place, true)
			return nil
		case place == "" && c.p.over() != nil: // it may be the request before that ended it
			return &probeDeath{c.p, err}
		case !isModern(err):
			return err
		}
		c.c.log.Debug("mcp: the server is not of the session era", "reason", err)
	}
}

// isModern reports whether an error shows that the server speaks 2026-07-28, which
// has brought its code (Versioning, Backward Compatibility).
func isModern(err error) bool {
	return errors.Is(err, &Error{Code: CodeUnsupportedProtocolVersion}) || errors.Is(err, &Error{Code: CodeHeaderMismatch}) ||
		errors.Is(err, &Error{Code: CodeMissingRequiredClientCapability})
}

// refusesToOpen reports whether the answer to initialize is that there is no such
// thing; that a server is out of order says nothing.
func refusesToOpen(err error) bool {
	var h *HTTPError
	return errors.As(err, new(*Error)) || errors.As(err, &h) && tellsEra(h.Status)
}

// tellsEra reports whether an HTTP status can mean that a server does not know what it
// was sent (Transports, Backwards Compatibility). Others are about something else.
func tellsEra(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
}

// A probeDeath says that the connection ended at the first request.
type probeDeath struct {
	p   *peer
	err error
}

func (e *probeDeath) Error() string { return e.err.Error() }
func (e *probeDeath) Unwrap() error { return e.err }

// oldRevisions are those that open with initialize.
func oldRevisions(revs []revision) []revision {
	return slices.DeleteFunc(slices.Clone(revs), revision.alone)
}

func (c *Client) isOld(place string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.old[place]
}

// noteOld remembers whether a server opens with initialize.
func (c *Client) noteOld(place string, old bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.old == nil || len(c.old) >= maxOld {
		c.old = map[string]bool{}
	}
	if place != "" {
		c.old[place] = old
	}
}

// check returns the revisions the client may speak, newest first, or what is wrong
// with the options.
func (c *Client) check() ([]revision, error) {
	if c.info.Name == "" || c.info.Version == "" {
		return nil, errors.New("mcp: a client's Implementation needs a Name and a Version")
	}
	names := c.opts.Revisions
	if names == nil {
		names = Revisions()
	}
	var revs []revision
	for _, name := range names {
		rev := parseRevision(name)
		if rev == 0 {
			return nil, fmt.Errorf("mcp: unknown revision %q in ClientOptions.Revisions", name)
		}
		revs = append(revs, rev)
	}
	slices.SortFunc(revs, func(a, b revision) int { return cmp.Compare(b, a) })
	for _, r := range c.opts.Roots {
		if err := checkRoot(r); err != nil {
			return nil, err
		}
	}
	if err := c.opts.Extensions.check(); err != nil {
		return nil, fmt.Errorf("mcp: ClientOptions.Extensions: %w", err)
	}
	if _, own := c.opts.Extensions[ExtensionTasks]; own {
		return nil, fmt.Errorf("mcp: ClientOptions.Extensions: %q is declared unless NoTasks is set", ExtensionTasks)
	}
	return revs, nil
}

// SetRoots changes the roots, and tells the servers of sessions that opened with
// initialize; later ones ask when they need them. It is an error if the client was made
// without roots, or one of them is no file: URI; then nothing changes.
func (c *Client) SetRoots(roots ...*Root) error {
	for _, r := range roots {
		if err := checkRoot(r); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if c.opts.Roots == nil {
		c.mu.Unlock()
		return errors.New("mcp: the client does not offer roots: ClientOptions.Roots is nil")
	}
	c.roots = slices.Clone(roots)
	var conns []*clientConn
	for conn := range c.sessions {
		conns = append(conns, conn)
	}
	c.mu.Unlock()
	for _, conn := range conns {
		if conn.rev().alone() {
			continue // such a server asks when it needs them
		}
		if err := conn.p.notify(context.Background(), conn.link, noteRootsChanged, nil, conn.rev()); err != nil {
			c.log.Warn("mcp: a server was not told of changed roots", "error", err)
		}
	}
	return nil
}

// capabilities computes what the client offers.
func (c *Client) capabilities() *ClientCapabilities {
	o, caps := &c.opts, &ClientCapabilities{}
	some := func(has bool) *Empty {
		if has {
			return &Empty{}
		}
		return nil
	}
	if o.Roots != nil {
		caps.Roots = &RootCapability{ListChanged: true}
	}
	if o.Sample != nil {
		caps.Sampling = &SamplingCapability{Tools: some(o.SampleTools), Context: some(o.SampleContext)}
	}
	if o.Elicit != nil || o.Visit != nil {
		caps.Elicitation = &ElicitationCapability{Form: some(o.Elicit != nil), URL: some(o.Visit != nil)}
	}
	if o.Tasks != nil {
		caps.Tasks = &TaskCapability{List: &Empty{}, Cancel: &Empty{}}
		if o.Sample != nil {
			caps.Tasks.Requests.Sampling = &SamplingTasks{&Empty{}}
		}
		if caps.Elicitation != nil {
			caps.Tasks.Requests.Elicitation = &ElicitTasks{&Empty{}}
		}
	}
	caps.Extensions = maps.Clone(o.Extensions)
	if !o.NoTasks {
		if caps.Extensions == nil {
			caps.Extensions = Extensions{}
		}
		caps.Extensions[ExtensionTasks] = json.RawMessage("{}")
	}
	return caps
}

// A clientConn is what the copies of a ClientSession share: the side of a client's
// peer.
type clientConn struct {
	c    *Client
	p    *peer
	link link
	gone chan struct{}   // closed by Close
	life context.Context // of what goes on beside calls; ends with the session
	stop context.CancelCauseFunc

	opened atomic.Pointer[greeting] // an empty one until initialize is answered

	closing atomic.Bool   // Close was called
	closed  chan struct{} // closed by Close when it is done, with err
	err     error
	workers sync.WaitGroup

	owner string // of the tasks that it runs for the server
	host  taskHost

	revs []revision    // that open with initialize and may be spoken, newest first
	turn chan struct{} // has room for who changes what is listened to
	says []byte        // members of _meta that each request of the stateless era has; set by introduce

	mu         sync.Mutex // guards the fields below
	schemas    map[string]*outputSchema
	mirrors    map[string][]mirror      // by tool; what its arguments put into headers
	listens    map[string]*listening    // by key of the id of its request
	hears      *listening               // the newest of them that counts
	visits     map[string]chan struct{} // by elicitation id; closed by completed
	subscribed map[string]bool          // what a new session must be told of again
	level      LoggingLevel             // likewise; in the stateless era for each request
	renewal    *renewal                 // the newest
	support    map[string]string        // by tool; whether it runs as a task
	reports    map[int64]chan Progress  // by token; of calls that may become tasks, or have: from lateProgress to reportTo, never closed
}

// A listening is a subscriptions/listen request of the client.
type listening struct {
	want    SubscriptionFilter
	stop    context.CancelCauseFunc
	acked   chan struct{} // closed by arrived, once granted is set
	ended   chan struct{} // closed by keep when it gave up, with err
	err     error
	granted *SubscriptionFilter // nil: nothing yet, or it is over; guarded by clientConn.mu
	acks    int                 // how often it was acknowledged; likewise
}

// lateProgress keeps a report on a task for who waits for that; the newest ones count.
// The peer's lock is held.
func (c *clientConn) lateProgress(token int64, r Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reports := c.reports[token]
	if reports == nil {
		return
	}
	if len(r.Message) > maxKept {
		r.Message = ""
	}
	if len(reports) == cap(reports) {
		select {
		case <-reports:
		default: // it was taken just now
		}
	}
	reports <- r // nobody else sends
}

// keepReports begins, or ends, to keep what is reported on a call after its answer.
// When that is done for too many, one is forgotten.
func (c *clientConn) keepReports(token ID, keep bool) {
	n, _ := strconv.ParseInt(token.text, 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !keep {
		delete(c.reports, n)
		return
	}
	for old := range c.reports {
		if len(c.reports) < maxReports {
			break
		}
		delete(c.reports, old)
	}
	c.reports[n] = make(chan Progress, keptReports)
}

// reportTo gives reports on a task to f, one at a time, until stop is called, which
// returns after the last one.
func (c *clientConn) reportTo(token ID, f func(Progress)) (stop func()) {
	n, _ := strconv.ParseInt(token.text, 10, 64)
	c.mu.Lock()
	reports := c.reports[n]
	c.mu.Unlock()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		for {
			select {
			case r := <-reports:
				f(r)
				continue
			default:
			}
			select {
			case r := <-reports:
				f(r)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		c.keepReports(token, false)
		close(quit)
		<-done
	}
}

// A renewal replaces a session that the server has ended.
type renewal struct {
	done chan struct{} // closed by the goroutine of renew when there is a new session, or err
	err  error
	lost int // number of the session that it replaces, less if it failed; guarded by clientConn.mu
}

// A greeting is what initialize or server/discover settled; it never changes.
type greeting struct {
	rev  revision
	init *InitializeResult
}

func (c *clientConn) rev() revision { return c.opened.Load().rev }

// An outputSchema is the schema of a tool's result, compiled at its first use.
type outputSchema struct {
	text   json.RawMessage
	once   sync.Once
	schema *Schema
	err    error
}

// CallOptions change how calls are made; zero fields leave the client's options
// in force.
type CallOptions struct {
	Timeout    time.Duration  // as in ClientOptions; 0 means what is there, negative for ever
	MaxTimeout time.Duration  // likewise
	Progress   func(Progress) // gets the progress of the call, in order, before it returns
	Meta       Meta           // for _meta of the request; what the client says there itself is not replaced
	Header     http.Header    // for the HTTP request, where there is one
	Force      bool           // call although the server does not offer it
}

// A ClientSession is a session with a server, from [Client.Connect] to Close. Its methods
// may be called from any goroutine.
//
// A call waits for its answer as long as its context and the timeouts of its options
// let it. Its error wraps an *[Error] that the server answered, [ErrNotOffered] if
// nothing was sent because the server does not offer it, a *[TimeoutError],
// [ErrInvalidResponse] for an answer that breaks the protocol, or [ErrClosed] with the
// reason why the session is over.
type ClientSession struct {
	conn *clientConn
	opts CallOptions
}

// With returns a copy of the session whose calls have these options. It shares
// everything else with cs.
func (cs *ClientSession) With(opts CallOptions) *ClientSession { return &ClientSession{cs.conn, opts} }

// withdrawn ends a subscription that the server says is over.
func (c *clientConn) withdrawn(id ID) {
	c.mu.Lock()
	h := c.listens[id.key()]
	c.mu.Unlock()
	if h != nil {
		c.p.fail(id, errors.New("the server has ended the subscription"))
	}
}

// ServerInfo is what the server says of itself, never nil. It is not verified, and must
// not be changed.
func (cs *ClientSession) ServerInfo() *Implementation { return cs.conn.opened.Load().init.ServerInfo }

// ServerCapabilities is what the server offers, never nil. It must not be changed.
func (cs *ClientSession) ServerCapabilities() *ServerCapabilities {
	return cs.conn.opened.Load().init.Capabilities
}

// Instructions tells how to use the server; ok is false if it does not tell.
func (cs *ClientSession) Instructions() (text string, ok bool) {
	if p := cs.conn.opened.Load().init.Instructions; p != nil {
		return *p, true
	}
	return "", false
}

// Revision is the name of the revision of the protocol that the session speaks.
func (cs *ClientSession) Revision() string { return cs.conn.rev().String() }

// Wait waits until the session is over, and returns why: an error that wraps [ErrClosed],
// never nil. What ends a session is Close, the end of its connection or process, and
// [ClientOptions.KeepAlive]; over Streamable HTTP, where there is no connection to lose,
// only Close and KeepAlive.
func (cs *ClientSession) Wait() error {
	<-cs.conn.p.done
	return cs.conn.p.over()
}

// Close ends the session, and a server process. It waits for the session's
// goroutines, for the application's handlers at most 5 seconds, and names those
// that still run. It may be called more than once.
func (cs *ClientSession) Close() error {
	c := cs.conn
	if c.closing.CompareAndSwap(false, true) {
		close(c.gone)
		c.c.mu.Lock()
		delete(c.c.sessions, c)
		c.c.mu.Unlock()
		c.err = c.end()
		close(c.closed)
	}
	<-c.closed
	return c.err
}

// end ends the connection and waits for the goroutines.
func (c *clientConn) end() error {
	_ = c.host.end(over)
	err := c.link.close()
	c.stop(ErrClosed)
	c.remember(func(*clientConn) {}) // no renewal and no subscription begins any more
	c.workers.Wait()
	return err
}

// open runs the handshake (Lifecycle, Initialization).
func (sessionEra) open(ctx context.Context, cs *ClientSession, revs []revision) (old bool, err error) {
	return false, cs.initialize(ctx, revs)
}

func (cs *ClientSession) initialize(ctx context.Context, revs []revision) error {
	c := cs.conn.c
	offer := revs[0]
	var refused error
	_, err := cs.conn.p.call(ctx, cs.conn.link, methodInitialize,
		&InitializeParams{ProtocolVersion: offer.String(), Capabilities: c.capabilities(), ClientInfo: &c.info},
		callOptions{rev: offer, idle: c.opts.Timeout, max: c.opts.MaxTimeout, opens: true, early: func(result value) {
			refused = cs.conn.greet(result, revs) // what follows is already of the session
		}})
	switch {
	case err != nil:
		return versionError(err)
	case refused != nil:
		return refused
	}
	rev := cs.conn.rev()
	cs.conn.link.settled(rev)
	return cs.conn.p.notify(ctx, cs.conn.link, noteInitialized, nil, rev)
}

// greet takes the server's answer to initialize.
func (c *clientConn) greet(v value, revs []revision) error {
	result := &InitializeResult{}
	if err := decode(v, result); err != nil {
		return fmt.Errorf("%w: initialize: %w", ErrInvalidResponse, err)
	}
	rev := parseRevision(result.ProtocolVersion)
	if !slices.Contains(revs, rev) {
		return fmt.Errorf("mcp: the server speaks revision %q, this client %v", result.ProtocolVersion, revs)
	}
	c.opened.Store(&greeting{rev, result})
	return nil
}

// versionError adds the revisions that a server named when it refused ours.
func versionError(err error) error {
	var e *Error
	var data struct {
		Supported []string `json:"supported"`
	}
	switch {
	case !errors.As(err, &e):
		return err
	case len(e.Data) > 0 && decodeJSON(e.Data, &data) == nil && data.Supported != nil:
		return fmt.Errorf("mcp: the server supports only revisions %s: %w", strings.Join(data.Supported, ", "), err)
	}
	return fmt.Errorf("mcp: initialize: %w", err)
}

// A clientCall is a call on its way.
type clientCall struct {
	method    string
	params    any
	offered   func(*ServerCapabilities) bool // nil: always
	tries     int
	renewed   bool            // a new session was opened for it
	visited   map[string]bool // ids of visits that the person agreed to
	created   value           // the task that the call has become; zero: none
	task      *TaskMetadata   // asks for a task (2025-11-25)
	meanwhile string          // a text for the model to go on with
	reports   bool            // progress of the task is kept for who will wait for it
	id        ID              // of the last try
	round     *clientRound    // in the stateless era: what the server wanted; nil: nothing yet
}

// A clientRound is what a call carries when it is made again.
type clientRound struct {
	params  any // of the call without it
	answers map[string]json.RawMessage
	state   json.RawMessage // as it came; nil: the server gave none
	rounds  int
	agreed  map[string]bool // visits that the person agreed to before
	listed  bool            // the tools were listed for it
	again   bool            // it was made again as it was
}

// answer answers a question with the application's functions, as if it had come as a
// request.
func (a *clientRound) answer(ctx context.Context, cs *ClientSession, name string, q value) (json.RawMessage, error) {
	if err := cs.checkQuestion(q); err != nil {
		return nil, err
	}
	rev := cs.conn.rev()
	in := &incoming{message: message{kind: requestMessage, method: q.member("method").str(), params: q.member("params")}, p: cs.conn.p, rev: rev}
	visit := ""
	if in.method == methodElicit && in.params.member("mode").is("url") {
		visit = name + " " + in.params.member("url").str()
	}
	if a.agreed[visit] { // the person was there, and the server knows it not yet
		return json.RawMessage(`{"action":"accept"}`), a.pause(ctx, cs)
	}
	result, err := cs.conn.p.serveHere(ctx, in)
	if errors.Is(err, &Error{Code: CodeInvalidParams}) {
		return nil, fmt.Errorf("%w: %v", ErrInvalidResponse, err) // no error that the server answered
	}
	if err != nil {
		return nil, err
	}
	if r, ok := result.(*ElicitResult); ok && visit != "" && r.Accepted() {
		if a.agreed == nil {
			a.agreed = map[string]bool{}
		}
		a.agreed[visit] = true
	}
	return appendJSON(nil, result, rev)
}

// checkQuestion says why a question must not be answered: servers may ask only for what
// the client has said that it can.
func (cs *ClientSession) checkQuestion(v value) error {
	q := Question{}
	switch method := v.member("method").str(); method {
	case methodElicit:
		q.Elicit = &ElicitParams{Mode: v.member("params").member("mode").str()}
	case methodCreateMessage:
		q.Sample = &CreateMessageParams{}
	case methodRootsList:
		q.Roots = true
	default:
		return fmt.Errorf("%w: %.100q is no question", ErrInvalidResponse, method)
	}
	if missing := cs.conn.c.capabilities().missing(q.needs(), cs.conn.rev()); missing != nil {
		return fmt.Errorf("%w: the client did not declare %s", ErrInvalidResponse, strings.Join(missing, ", "))
	}
	return nil
}

// pause waits before a call is repeated for which nothing was done.
func (a *clientRound) pause(ctx context.Context, cs *ClientSession) error {
	t := time.NewTimer(min(roundPause<<min(max(a.rounds-1, 0), 10), maxRoundPause))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return causeOf(ctx)
	case <-cs.conn.p.done:
		return cs.conn.p.over()
	}
}

// A clientEra is how the calls of an era are made.
type clientEra interface {
	// open finds out what the server offers; old reports, with an error, that it seems
	// to be of the other era.
	open(ctx context.Context, cs *ClientSession, revs []revision) (old bool, err error)
	prepare(*ClientSession, *clientCall) (callOptions, error)
	// settle judges a try by its result or error: whether to try again, or with what
	// error to end.
	settle(context.Context, *ClientSession, *clientCall, value, error) (again bool, err error)

	ping(context.Context, *ClientSession) error
	setLevel(context.Context, *ClientSession, LoggingLevel) error
	// follow begins or ends to hear of a resource.
	follow(ctx context.Context, cs *ClientSession, uri string, on bool) error
	// listed takes note of listed tools, and leaves out what must not be used.
	listed(*clientConn, []*Tool) []*Tool
	// arrived sees notifications at once, in the order of arrival.
	arrived(*clientConn, *incoming)
	// heard takes the notifications that are the era's own, and reports whether one is
	// for the application.
	heard(context.Context, *clientConn, *incoming) bool
}

// eraOf tells how calls are made.
func eraOf(rev revision) clientEra {
	switch {
	case rev.alone():
		return statelessEra{}
	}
	return sessionEra{}
}

func (cs *ClientSession) era() clientEra { return eraOf(cs.conn.rev()) }

// ErrNotOffered is returned, wrapped, by a call of what the server does not offer.
// Nothing was sent then. See CallOptions.Force.
var ErrNotOffered = errors.New("mcp: the server does not offer")

// call is the one path of every call. The result is decoded into result.
func (cs *ClientSession) call(ctx context.Context, c *clientCall, result any) error {
	if c.offered != nil && !cs.opts.Force && !c.offered(cs.ServerCapabilities()) {
		return fmt.Errorf("%w %s", ErrNotOffered, c.method)
	}
	era := cs.era()
	for {
		o, err := era.prepare(cs, c)
		if err != nil {
			return err
		}
		o.started = func(id ID) {
			if c.id = id; c.reports {
				cs.conn.keepReports(id, true)
			}
		}
		v, err := cs.conn.p.call(ctx, cs.conn.link, c.method, c.params, o)
		answered := errors.As(err, new(*Error))
		c.tries++
		again, err := era.settle(ctx, cs, c, v, err)
		if c.reports && !c.created.present() {
			cs.conn.keepReports(c.id, false)
		}
		if again {
			continue
		}
		if err != nil {
			if answered && errors.As(err, new(*Error)) {
				err = fmt.Errorf("mcp: %s: %w", c.method, err)
			}
			return err
		}
		if c.created.present() {
			return nil
		}
		if err = decode(v, result); err != nil {
			err = fmt.Errorf("%w: %s: %w", ErrInvalidResponse, c.method, err)
		}
		return err
	}
}

func (sessionEra) listed(_ *clientConn, tools []*Tool) []*Tool { return tools }
func (sessionEra) arrived(*clientConn, *incoming)              {}

func (sessionEra) heard(context.Context, *clientConn, *incoming) bool { return true }

// sessionEra makes calls in a session that initialize opened.
type sessionEra struct{}

func (sessionEra) prepare(cs *ClientSession, _ *clientCall) (callOptions, error) {
	o := cs.callOptions()
	if o.progress != nil {
		o.meta = make(Meta, len(cs.opts.Meta)+1)
		maps.Copy(o.meta, cs.opts.Meta)
	}
	return o, nil
}

// callOptions are what the calls of all eras have.
func (cs *ClientSession) callOptions() callOptions {
	return callOptions{rev: cs.conn.rev(), meta: cs.opts.Meta, header: cs.opts.Header, progress: cs.opts.Progress,
		idle: cmp.Or(cs.opts.Timeout, cs.conn.c.opts.Timeout), max: cmp.Or(cs.opts.MaxTimeout, cs.conn.c.opts.MaxTimeout)}
}

func (sessionEra) settle(ctx context.Context, cs *ClientSession, c *clientCall, v value, err error) (bool, error) {
	if err == nil {
		if c.task != nil {
			c.created, c.meanwhile = v.member("task"), v.member("_meta").member(metaImmediate).str()
		}
		return false, nil
	}
	var lost *lostSession
	if errors.As(err, &lost) && !c.renewed {
		c.renewed = true
		if renewErr := cs.conn.renew(ctx, lost); renewErr != nil {
			return false, fmt.Errorf("%w; no other could be opened: %w", err, renewErr)
		}
		if p, ok := c.params.(*ListParams); ok && p.Cursor != nil {
			return false, fmt.Errorf("%w; its cursor is of no use in another one: list from the start", err)
		}
		return !lost.begun, err
	}
	var e *Error
	may := cs.conn.rev().rich() && cs.conn.c.opts.Visit != nil && c.tries <= maxRetries
	if may && errors.As(err, &e) && e.Code == CodeURLElicitationRequired {
		return cs.visitAll(ctx, c, e)
	}
	return false, err
}

// renew opens a new session for all calls that found the old one lost, and tells the
// server again of subscriptions and level. It returns when that is done.
func (c *clientConn) renew(ctx context.Context, lost *lostSession) error {
	c.mu.Lock()
	if c.closing.Load() {
		c.mu.Unlock()
		return ErrClosed
	}
	r := c.renewal
	if r == nil || r.lost < lost.number {
		r = &renewal{done: make(chan struct{}), lost: lost.number}
		c.renewal = r
		c.workers.Go(func() { // ends within the time limits of its calls, or with the session
			if r.err = c.reopen(); r.err != nil {
				c.remember(func(*clientConn) { r.lost-- }) // the next call tries again
			}
			close(r.done)
		})
	}
	c.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return causeOf(ctx)
	case <-c.p.done:
		return c.p.over()
	}
}

// reopen opens a new session. Calls of its own do not renew it.
func (c *clientConn) reopen() error {
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	cs := c.session()
	if err := cs.initialize(ctx, c.revs); err != nil {
		return err
	}
	c.mu.Lock()
	uris, level := sortedKeys(c.subscribed), c.level
	clear(c.schemas)
	c.mu.Unlock()
	calls := []*clientCall{}
	for _, uri := range uris {
		calls = append(calls, &clientCall{method: methodSubscribe, params: &SubscribeParams{URI: uri}, offered: offersUpdates, renewed: true})
	}
	if level != "" {
		calls = append(calls, &clientCall{method: methodSetLevel, params: &SetLevelParams{Level: level}, offered: offersLogging, renewed: true})
	}
	for _, call := range calls {
		if err := cs.call(ctx, call, &EmptyResult{}); err != nil {
			c.c.log.Warn("mcp: the new session is not like the old one", "error", err)
		}
	}
	note := &incoming{message: message{kind: notificationMessage, method: noteRenewed}, p: c.p, a: ourselves, ctx: context.Background()}
	c.p.acceptNotification(note)
	return nil
}

// noteRenewed tells the notification handler of a new session, in order with what the
// session brings. It is one only if it comes from ourselves.
const noteRenewed = "notifications/session_renewed"

var ourselves = &arrival{}

// visitAll lets the person do the visits that a call needs first, and waits until
// the server says that they are complete.
func (cs *ClientSession) visitAll(ctx context.Context, c *clientCall, e *Error) (again bool, err error) {
	visits, err := requiredVisits(e)
	if err != nil {
		return false, fmt.Errorf("%w: %w: %w", ErrInvalidResponse, err, e)
	}
	if c.visited == nil {
		c.visited = map[string]bool{}
	}
	for _, p := range visits {
		if c.visited[p.ElicitationID] {
			continue
		}
		r, err := cs.conn.c.opts.Visit(ctx, cs, p)
		if err != nil || !r.Accepted() {
			return false, errors.Join(e, err)
		}
		c.visited[p.ElicitationID] = true
	}
	t := time.NewTimer(visitWait)
	defer t.Stop()
	for _, p := range visits {
		select {
		case <-cs.conn.visit(p.ElicitationID):
		case <-t.C:
			return true, nil // servers need not tell: the next try will
		case <-ctx.Done():
			return false, fmt.Errorf("mcp: waiting for elicitation %q to be complete: %w; needed by: %w", p.ElicitationID, causeOf(ctx), e)
		case <-cs.conn.p.done:
			return false, cs.conn.p.over()
		}
	}
	return true, nil
}

// visit returns a channel that is closed when the visit is complete.
func (c *clientConn) visit(id string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.visits[id]
	if !ok {
		ch = make(chan struct{})
		c.visits[id] = ch
	}
	return ch
}

// completed notes that a visit is complete; twice is as good as once.
func (c *clientConn) completed(id string) {
	if len(id) > maxKept {
		return
	}
	ch := c.visit(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
	if len(c.visits) <= maxCompleted {
		return
	}
	for old, ch := range c.visits {
		select {
		case <-ch:
			if old != id {
				delete(c.visits, old)
			}
		default: // somebody waits
		}
	}
}

// Ping asks the server for a sign of life. Servers of 2026-07-28, which know no ping,
// are asked what they offer.
func (cs *ClientSession) Ping(ctx context.Context) error { return cs.era().ping(ctx, cs) }

func (sessionEra) ping(ctx context.Context, cs *ClientSession) error {
	return cs.call(ctx, &clientCall{method: methodPing}, &EmptyResult{})
}

// ListTools returns a page of tools; cursor is nil for the first, else the
// NextCursor of the page before. Entries that make no sense are left out. What it lists
// is remembered for calls: output schemas, and which tools may run as tasks.
func (cs *ClientSession) ListTools(ctx context.Context, cursor *string) (*ListToolsResult, error) {
	result, err := page[ListToolsResult](ctx, cs, methodToolsList, offersTools, cursor)
	if err != nil {
		return nil, err
	}
	result.Tools = cs.era().listed(cs.conn, result.Tools)
	cs.conn.mu.Lock()
	defer cs.conn.mu.Unlock()
	for _, t := range result.Tools {
		delete(cs.conn.support, t.Name)
		if t.Execution != nil {
			cs.conn.support[t.Name] = t.Execution.TaskSupport
		}
		delete(cs.conn.schemas, t.Name)
		if t.OutputSchema != nil && cs.conn.rev().schemas() {
			cs.conn.schemas[t.Name] = &outputSchema{text: t.OutputSchema}
		}
	}
	return result, nil
}

// ListResources returns a page of resources; see ListTools.
func (cs *ClientSession) ListResources(ctx context.Context, cursor *string) (*ListResourcesResult, error) {
	return page[ListResourcesResult](ctx, cs, methodResourcesList, offersResources, cursor)
}

// ListResourceTemplates returns a page of resource templates; see ListTools.
func (cs *ClientSession) ListResourceTemplates(ctx context.Context, cursor *string) (*ListResourceTemplatesResult, error) {
	return page[ListResourceTemplatesResult](ctx, cs, methodTemplatesList, offersResources, cursor)
}

// ListPrompts returns a page of prompts; see ListTools.
func (cs *ClientSession) ListPrompts(ctx context.Context, cursor *string) (*ListPromptsResult, error) {
	return page[ListPromptsResult](ctx, cs, methodPromptsList, offersPrompts, cursor)
}

// page gets a page of a list.
func page[R any](ctx context.Context, cs *ClientSession, method string, offered func(*ServerCapabilities) bool, cursor *string) (*R, error) {
	return answer[R](ctx, cs, &clientCall{method: method, params: &ListParams{Cursor: cursor}, offered: offered})
}

// answer makes a call and returns its result.
func answer[R any](ctx context.Context, cs *ClientSession, c *clientCall) (*R, error) {
	result := new(R)
	if err := cs.call(ctx, c, result); err != nil {
		return nil, err
	}
	return result, nil
}

// Tools iterates over the tools of all pages, which are fetched as the loop needs them.
// It ends at the first error, which also a cursor that comes again is, and more than
// 10,000 pages are.
func (cs *ClientSession) Tools(ctx context.Context) iter.Seq2[*Tool, error] {
	return pages(ctx, cs.ListTools, func(r *ListToolsResult) ([]*Tool, *string) { return r.Tools, r.NextCursor })
}

// Resources iterates over the resources of all pages; see Tools.
func (cs *ClientSession) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return pages(ctx, cs.ListResources, func(r *ListResourcesResult) ([]*Resource, *string) { return r.Resources, r.NextCursor })
}

// ResourceTemplates iterates over the templates of all pages; see Tools.
func (cs *ClientSession) ResourceTemplates(ctx context.Context) iter.Seq2[*ResourceTemplate, error] {
	return pages(ctx, cs.ListResourceTemplates, func(r *ListResourceTemplatesResult) ([]*ResourceTemplate, *string) {
		return r.ResourceTemplates, r.NextCursor
	})
}

// Prompts iterates over the prompts of all pages; see Tools.
func (cs *ClientSession) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return pages(ctx, cs.ListPrompts, func(r *ListPromptsResult) ([]*Prompt, *string) { return r.Prompts, r.NextCursor })
}

// pages iterates over a list, page by page. Pages may be of any size, also empty.
func pages[T, R any](ctx context.Context, list func(context.Context, *string) (*R, error), of func(*R) ([]T, *string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		seen := map[[sha256.Size]byte]bool{} // a cursor can be long
		for cursor := (*string)(nil); ; {
			r, err := list(ctx, cursor)
			if err != nil {
				yield(none, err)
				return
			}
			items, next := of(r)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			sum := sha256.Sum256([]byte(*next))
			switch {
			case seen[sum]:
				yield(none, fmt.Errorf("%w: the list's cursor %.100q comes again", ErrInvalidResponse, *next))
				return
			case len(seen) >= maxPages:
				yield(none, fmt.Errorf("%w: the list has more than %d pages", ErrInvalidResponse, maxPages))
				return
			}
			seen[sum] = true
			cursor = next
		}
	}
}

// toolCall is the call of a tool.
func toolCall(name string, args any) (*clientCall, error) {
	raw, err := marshal(args)
	if err != nil {
		return nil, fmt.Errorf("mcp: arguments of tool %q: %w", name, err)
	}
	if raw != nil && raw[0] != '{' {
		return nil, fmt.Errorf("mcp: arguments of tool %q must be a JSON object, not %.40s", name, raw)
	}
	return &clientCall{method: methodToolsCall, params: &CallToolParams{Name: name, Arguments: raw}, offered: offersTools}, nil
}

// checkOutput validates a structured result.
func (cs *ClientSession) checkOutput(name string, r *CallToolResult) error {
	cs.conn.mu.Lock()
	o := cs.conn.schemas[name]
	cs.conn.mu.Unlock()
	if o == nil || r.IsError || cs.conn.c.opts.NoOutputCheck {
		return nil
	}
	o.once.Do(func() { o.schema, o.err = CompileSchema(o.text) })
	switch {
	case o.err != nil:
		return fmt.Errorf("mcp: the output schema of tool %q cannot be used: %w", name, o.err)
	case r.StructuredContent == nil:
		return fmt.Errorf("%w: tool %q has an output schema but returned no structured content", ErrInvalidResponse, name)
	}
	if err := o.schema.Validate(r.StructuredContent); err != nil {
		return fmt.Errorf("%w: result of tool %q: %w", ErrInvalidResponse, name, err)
	}
	return nil
}

// ErrResourceNotFound is what a read of a resource that does not exist is to
// errors.Is: whatever the server answers with CodeResourceNotFound or
// CodeInvalidParams, as revisions differ in that.
var ErrResourceNotFound = errors.New("mcp: resource not found")

// ReadResource reads a resource, which need not be listed. [ErrResourceNotFound] tells
// that there is none.
func (cs *ClientSession) ReadResource(ctx context.Context, uri string) (*ReadResourceResult, error) {
	call := &clientCall{method: methodResourcesRead, params: &ReadResourceParams{URI: uri}, offered: offersResources}
	result, err := answer[ReadResourceResult](ctx, cs, call)
	var e *Error
	if errors.As(err, &e) && (e.Code == CodeResourceNotFound || e.Code == CodeInvalidParams) {
		return nil, fmt.Errorf("%w: %q: %w", ErrResourceNotFound, uri, err)
	}
	return result, err
}

// Subscribe asks for news of a resource, which come to ClientOptions.ResourceUpdated. It
// returns when the server has agreed. A session that is renewed over HTTP keeps it.
func (cs *ClientSession) Subscribe(ctx context.Context, uri string) error {
	return cs.era().follow(ctx, cs, uri, true)
}

// Unsubscribe ends what Subscribe began. News that is on its way may still come.
func (cs *ClientSession) Unsubscribe(ctx context.Context, uri string) error {
	return cs.era().follow(ctx, cs, uri, false)
}

func (sessionEra) follow(ctx context.Context, cs *ClientSession, uri string, on bool) error {
	method := methodSubscribe
	if !on {
		method = methodUnsubscribe
		cs.conn.remember(func(c *clientConn) { delete(c.subscribed, uri) })
	}
	err := cs.call(ctx, &clientCall{method: method, params: &SubscribeParams{URI: uri}, offered: offersUpdates}, &EmptyResult{})
	if err == nil && on {
		cs.conn.remember(func(c *clientConn) {
			if c.subscribed == nil {
				c.subscribed = map[string]bool{}
			}
			c.subscribed[uri] = true
		})
	}
	return err
}

// Subscribed is what a server of 2026-07-28 tells of by itself; nil: nothing, or the
// server is older.
func (cs *ClientSession) Subscribed() *SubscriptionFilter {
	cs.conn.mu.Lock()
	defer cs.conn.mu.Unlock()
	h := cs.conn.hears
	if h == nil || h.granted == nil {
		return nil
	}
	c := *h.granted
	return &c
}

// GetPrompt gets the messages of a prompt. Arguments that the prompt requires and args
// lacks are the server's error.
func (cs *ClientSession) GetPrompt(ctx context.Context, name string, args map[string]string) (*GetPromptResult, error) {
	call := &clientCall{method: methodPromptsGet, params: &GetPromptParams{Name: name, Arguments: args}, offered: offersPrompts}
	return answer[GetPromptResult](ctx, cs, call)
}

// Complete asks how an argument could go on. A server of 2024-11-05 cannot say
// whether it does that; one that does not has nothing to suggest.
func (cs *ClientSession) Complete(ctx context.Context, p *CompleteParams) (*Completion, error) {
	call := &clientCall{method: methodComplete, params: p, offered: offersValues}
	silent := !cs.conn.rev().audio() // the revision before completions could be declared
	if silent {
		call.offered = nil
	}
	result := &CompleteResult{}
	err := cs.call(ctx, call, result)
	if silent && errors.Is(err, &Error{Code: CodeMethodNotFound}) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return &result.Completion, nil
}

// SetLoggingLevel sets the least important level of log messages that the server
// sends, which come to ClientOptions.LoggingMessage. Servers of 2026-07-28 are told it
// with each request from then on, and send nothing before it is set.
func (cs *ClientSession) SetLoggingLevel(ctx context.Context, level LoggingLevel) error {
	if level.rank() < 0 {
		return fmt.Errorf("mcp: unknown log level %q", level)
	}
	return cs.era().setLevel(ctx, cs, level)
}

func (sessionEra) setLevel(ctx context.Context, cs *ClientSession, level LoggingLevel) error {
	err := cs.call(ctx, &clientCall{method: methodSetLevel, params: &SetLevelParams{Level: level}, offered: offersLogging}, &EmptyResult{})
	if err == nil {
		cs.conn.remember(func(c *clientConn) { c.level = level })
	}
	return err
}

// remember changes fields that the lock guards.
func (c *clientConn) remember(change func(*clientConn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// session is what handlers get.
func (c *clientConn) session() *ClientSession { return &ClientSession{conn: c} }

func (c *clientConn) batches() bool { return c.rev().batches() }

func (c *clientConn) admit(in *incoming) (bool, *Error) {
	in.rev = c.rev()
	if in.kind == notificationMessage {
		eraOf(in.rev).arrived(c, in)
	}
	if in.rev.alone() && in.kind == requestMessage {
		c.c.log.Warn("mcp: a request of the server is ignored: its revision has none", "method", in.method)
		return false, Errorf(CodeMethodNotFound, "servers send no requests in revision %v", in.rev)
	}
	if in.rev == 0 && in.kind == requestMessage && in.method != methodPing {
		return false, Errorf(CodeInvalidRequest, "not initialized: initialize is not answered yet")
	}
	in.rev = cmp.Or(in.rev, newest)
	return false, nil
}

func (c *clientConn) request(ctx context.Context, in *incoming) (any, error) {
	serve := clientServes(in.method)
	if serve == nil {
		return nil, errNotOffered(in)
	}
	result, err := serve(c, ctx, in)
	asks := in.method == methodElicit || in.method == methodCreateMessage || in.method == methodRootsList
	if task := in.params.member("_meta").member(metaRelatedTask); err == nil && asks && task.present() && in.rev.tasks() && !in.rev.alone() {
		return &related{Meta{metaRelatedTask: json.RawMessage(task.raw())}, result}, nil
	}
	return result, err
}

// clientServes is how a client serves a method; nil if it does not.
func clientServes(name string) func(*clientConn, context.Context, *incoming) (any, error) {
	switch name {
	case methodPing:
		return (*clientConn).ping
	case methodRootsList:
		return (*clientConn).listRoots
	case methodCreateMessage:
		return (*clientConn).sampleOrTask
	case methodElicit:
		return (*clientConn).elicitOrTask
	case methodTasksGet:
		return (*clientConn).getTask
	case methodTasksResult:
		return (*clientConn).taskResult
	case methodTasksList:
		return (*clientConn).listTasks
	case methodTasksCancel:
		return (*clientConn).cancelTask
	}
	return nil
}

func errNotOffered(in *incoming) *Error {
	return Errorf(CodeMethodNotFound, "method %.100q is not offered by this client", in.method)
}

func (c *clientConn) ping(context.Context, *incoming) (any, error) { return &EmptyResult{}, nil }

func (c *clientConn) listRoots(context.Context, *incoming) (any, error) {
	if c.c.opts.Roots == nil {
		return nil, Errorf(CodeMethodNotFound, "Roots not supported")
	}
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	return &ListRootsResult{Roots: c.c.roots}, nil
}

func (c *clientConn) sample(ctx context.Context, in *incoming) (any, error) {
	if c.c.opts.Sample == nil {
		return nil, errNotOffered(in)
	}
	p := &CreateMessageParams{}
	err := decode(in.params, p)
	if !in.rev.rich() {
		p.Tools, p.ToolChoice = nil, nil // not part of the revision
	}
	if err == nil {
		err = p.check(newest)
	}
	if (p.Tools != nil || p.ToolChoice != nil) && !c.c.opts.SampleTools {
		err = errors.New("this client does not sample with tools")
	}
	if err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: %v", in.method, err)
	}
	r, err := c.c.opts.Sample(ctx, c.session(), p)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, errors.New("ClientOptions.Sample returned neither a result nor an error")
	}
	return r, r.check(in.rev)
}

func (c *clientConn) elicit(ctx context.Context, in *incoming) (any, error) {
	if !in.rev.elicits() || c.c.opts.Elicit == nil && c.c.opts.Visit == nil {
		return nil, errNotOffered(in)
	}
	p := &ElicitParams{}
	if err := decode(in.params, p); err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: %v", in.method, err)
	}
	if !in.rev.rich() {
		p.Mode = "" // not part of the revision
	}
	ask, err := c.c.opts.Elicit, error(nil)
	switch p.Mode {
	case "", "form":
		err = p.RequestedSchema.check(newest)
	case "url":
		ask, err = c.c.opts.Visit, checkVisit(p)
		if p.ElicitationID == "" && !in.rev.alone() {
			err = errors.New("elicitationId: missing")
		}
	default:
		err = fmt.Errorf("mode must be form or url, not %.40q", p.Mode)
	}
	if err == nil && ask == nil {
		err = fmt.Errorf("this client does not answer elicitations of mode %q", cmp.Or(p.Mode, "form"))
	}
	if err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: %v", in.method, err)
	}
	r, err := ask(ctx, c.session(), p)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, errors.New("an elicitation was answered by neither a result nor an error")
	}
	answer := *r
	if p.Mode != "url" && r.Accepted() {
		if answer.Content, err = p.RequestedSchema.Fill(r.Content); err == nil {
			err = p.RequestedSchema.Check(answer.Content)
		}
		if err != nil {
			return nil, err
		}
	}
	return &answer, answer.check(p)
}

func (c *clientConn) notification(ctx context.Context, in *incoming) {
	o, cs := &c.c.opts, c.session()
	simple := map[string]func(context.Context, *ClientSession){noteToolsChanged: o.ToolsChanged,
		notePromptsChanged: o.PromptsChanged, noteResourcesChanged: o.ResourcesChanged}
	if in.method == noteToolsChanged {
		c.mu.Lock()
		clear(c.schemas)
		c.mu.Unlock()
	}
	if !eraOf(in.rev).heard(ctx, c, in) {
		return
	}
	var err error
	f, known := simple[in.method]
	switch {
	case in.a == ourselves:
		if o.SessionRenewed != nil {
			o.SessionRenewed(ctx, cs)
		}
	case known:
		if f != nil {
			f(ctx, cs)
		}
	case in.method == noteMessage:
		err = deliver(ctx, cs, in, o.LoggingMessage)
	case in.method == noteResourceUpdated:
		err = deliver(ctx, cs, in, o.ResourceUpdated)
	case in.method == noteElicitationComplete:
		c.completed(in.params.member("elicitationId").str())
		err = deliver(ctx, cs, in, o.ElicitationComplete)
	case o.Notification != nil:
		o.Notification(ctx, cs, in.method, in.params.raw())
	}
	if err != nil {
		c.c.log.Warn("mcp: notification ignored", "method", in.method, "error", err)
	}
}

// deliver decodes the parameters of a notification for its handler.
func deliver[P any](ctx context.Context, cs *ClientSession, in *incoming, f func(context.Context, *ClientSession, *P)) error {
	p := new(P)
	if err := decode(in.params, p); err != nil || f == nil {
		return err
	}
	f(ctx, cs, p)
	return nil
}

// An HTTPError is an HTTP answer that is no answer of the protocol.
type HTTPError struct {
	Method, URL string      // of the request; the URL without query
	Status      int         // such as 502
	ContentType string      // of the body, as it came
	Body        string      // its beginning, at most 512 bytes
	Header      http.Header // as it came
}

// Error tells all but the header.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("%s %s: the server answered %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.ContentType != "" {
		text += " (" + e.ContentType + ")"
	}
	if e.Body != "" {
		text += fmt.Sprintf(": %q", e.Body)
	}
	return text
}

// ErrUnauthorized is what an HTTPError with status 401, and whatever keeps an
// OAuthTransport from getting a token, is to errors.Is.
var ErrUnauthorized = errors.New("mcp: unauthorized")

// Is reports whether target is ErrUnauthorized and the status 401.
func (e *HTTPError) Is(target error) bool {
	return target == ErrUnauthorized && e.Status == http.StatusUnauthorized
}

// pause waits as long as the server asked for, and without that, or if a try has
// failed, longer from try to try.
func pause(ctx context.Context, retry time.Duration, tries int) bool {
	wait := retry
	if retry < 0 || tries > 0 {
		backoff := min(backoffMin<<min(tries, 10), backoffMax)
		wait = max(wait, backoff+rand.N(backoff/2))
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
