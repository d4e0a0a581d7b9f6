package mcp

// Authorization, the client's end: an http.RoundTripper that attaches tokens to the
// requests of a link and gets them where a server asks for them. All that can happen is
// one flow: a request is refused with 401 or 403; the server's metadata leads to an
// authorization server; a person logs in there, or a grant or a refresh token does
// without one; the request is repeated. Everything a token needs is in one record. It is
// the transport of an http.Client, and learns from the request's context for which call
// streamableclient.go makes it.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxLogins      = 3                // authorization requests for one call
	maxStepUps     = 2                // step-ups of one operation
	maxSendings    = 10               // of one request, whatever the reasons
	maxRepeated    = 16 << 20         // bytes of a request body that is kept to be repeated
	maxEndpoints   = 1000             // of MCP servers that are remembered
	maxOperations  = 1000             // whose step-ups are remembered
	maxClientID    = 4 << 10          // bytes of a client's id, or of its secret
	maxCallback    = 64 << 10         // bytes of an answer to a login
	stepMemory     = 10 * time.Minute // for how long step-ups and refusals of a person count
	loginTimeout   = 10 * time.Minute // from an authorization request to its answer
	discoveryFresh = time.Hour        // for how long a step-up or a renewal relies on what was found
	earlyExpiry    = 30 * time.Second
	saveTimeout    = 10 * time.Second

	scopeOffline = "offline_access"
)

// Ends of a flow that is not successful, for errors.Is. Others are an *OAuthError, what
// OAuthTransport.Login returned, and the error of the context.
var (
	// ErrLoginDeclined: the person did not want to.
	ErrLoginDeclined = errors.New("mcp: the login was declined")
	// ErrNoClient: the application is not, and cannot become, a client of the
	// authorization server.
	ErrNoClient = errors.New("mcp: not a client of the authorization server")
	// ErrDiscovery: it could not be found out how to be authorized. The error lists
	// every URL that was tried, and its answer.
	ErrDiscovery = errors.New("mcp: no way to be authorized was found")
	// ErrMismatch: something is not what it must be, such as the issuer in an answer.
	ErrMismatch = errors.New("mcp: an authorization server or its answer is not the expected one")
	// ErrInsufficientScope: the server wants scopes that could not be had.
	ErrInsufficientScope = errors.New("mcp: insufficient scope")
	// ErrWrongState: a callback is not the answer to the login in progress, which goes on.
	ErrWrongState = errors.New("mcp: not the answer to this login")
)

// An authError is one of these ends, with what led to it.
type authError struct{ end, err error }

func (e *authError) Error() string   { return e.err.Error() }
func (e *authError) Unwrap() []error { return []error{e.end, e.err} }

func ended(end error, format string, args ...any) error {
	return &authError{end, fmt.Errorf(format, args...)}
}

// An OAuthTransport is an http.RoundTripper that authorizes requests to MCP servers
// (Authorization). It is the transport of HTTPTransport.Client:
//
//	&HTTPTransport{URL: u, Client: &http.Client{Transport: &OAuthTransport{Login: (&LoopbackLogin{}).Login}}}
//
// It may serve many sessions and servers, and is safe for concurrent use; its fields
// must not change once it is used. A request that already has an Authorization header
// is left alone. Where neither Login nor Grant is set, only stored tokens are used.
type OAuthTransport struct {
	// Base makes the requests to MCP servers; nil means what makes them for an
	// [HTTPTransport] without a Client.
	Base http.RoundTripper
	// Outbound makes all others: for metadata, registrations and tokens. nil means
	// connections of its own, which private and special addresses do not get. What
	// is set here must see to that itself, as must a proxy.
	Outbound http.RoundTripper
	// Store keeps registrations and tokens; nil means in memory.
	Store TokenStore
	// User tells the users of one Store apart.
	User string

	// Login has a person log in; nil: nobody does. LoopbackLogin and PromptLogin have
	// ready-made ones. A function in front of them can ask for confirmation, and return
	// ErrLoginDeclined. Its context ends after 10 minutes.
	Login func(ctx context.Context, l *Login) error
	// Grant gets tokens without a person; nil: Login does.
	Grant Grant

	// Clients are registered beforehand. They come first.
	Clients []OAuthClient
	// MetadataURL is where the client's metadata document is (ClientMetadata.Document
	// makes one); it is the client's id where the authorization server supports that.
	MetadataURL string
	// MetadataKey is for clients that authenticate with a key which the document, or
	// Metadata, publishes; nil: a public client.
	MetadataKey *Key
	// Metadata is for dynamic registration. What it does not say is filled in.
	Metadata ClientMetadata
	// InitialAccessToken is for registration at the first authorization server that it
	// is used at, and no other from then on.
	InitialAccessToken string

	// Scopes are asked for where neither challenge nor metadata of the server say which.
	Scopes []string
	// FilterScopes may narrow or extend what is asked for; nil: it stays.
	FilterScopes func(scopes []string) []string
	// Params are added to authorization requests, such as login_hint.
	Params url.Values
	// NoRefresh neither asks for refresh tokens nor keeps them.
	NoRefresh bool
	// DPoP binds tokens to a key where the servers can (RFC 9449).
	DPoP bool

	// Revisions are those the client is restricted to; nil: none. If all are older
	// than 2025-11-25, authorization servers need not say that they support PKCE; if
	// there is only 2025-03-26, servers without metadata get no resource parameter.
	Revisions []string
	// NoLegacy refuses servers without metadata, which are their own authorization
	// servers by the rules of 2025-03-26.
	NoLegacy bool
	// Lenient accepts metadata whose resource is above the server on the same origin,
	// or whose issuer differs by a slash at the end, against RFC 9728 and RFC 8414.
	Lenient bool
	// AllowPrivate lets servers name URLs with private addresses, this machine's, and
	// http. A server on this machine may always name others on it.
	AllowPrivate bool
	// PrivateSchemes lets a redirect URI be com.example.app:/callback.
	PrivateSchemes bool
	// Log gets what goes wrong without being an error; nil: nobody.
	Log *slog.Logger

	nonces nonces
	memory memoryStore
	owners sync.Map // issuers by what belongs to them, as far as claim was asked

	mu         sync.Mutex // guards the fields below
	servers    map[string]*protectedServer
	operations map[string]*operation
}

// Format keeps the secrets to itself.
func (t *OAuthTransport) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "OAuthTransport") }

// LogValue is for slog.
func (t *OAuthTransport) LogValue() slog.Value { return slog.StringValue("OAuthTransport") }

// An OAuthClient is a client that an authorization server knows beforehand.
type OAuthClient struct {
	// Issuer is the authorization server. Empty: the first one that is met, and no
	// other from then on.
	Issuer string
	// Servers are the URLs of the MCP servers it is for; nil: any.
	Servers []string
	ID      string // its client id; must be set
	Secret  string `json:"-"` // of a confidential client with a secret
	Key     *Key   `json:"-"` // of one with a key
	// Method is how it authenticates (client_secret_basic, client_secret_post,
	// private_key_jwt, none); empty: the best one that the server supports.
	Method string
}

// Format keeps the secrets to itself.
func (c OAuthClient) Format(s fmt.State, _ rune) { _, _ = fmt.Fprintf(s, "client %q", c.ID) }

// LogValue is for slog.
func (c OAuthClient) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// RoundTrip sends a request with the token for its server. If the server refuses it for
// want of authorization, a token is got and the request repeated, once for each token.
// Many requests that are refused at the same time cause one login.
func (t *OAuthTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return t.base().RoundTrip(r)
	}
	c := t.call(r)
	if origin(r.URL) != origin(c.s.url) { // the token is not for it
		return t.base().RoundTrip(r)
	}
	if err := c.keepBody(); err != nil {
		return nil, err
	}
	token, err := c.held()
	for range maxSendings {
		if err != nil {
			return nil, c.failure(err)
		}
		resp, failed := c.send(token)
		if failed != nil {
			return nil, failed
		}
		used := token
		if token, err = c.judge(resp, used); token == nil && err == nil {
			return resp, nil
		}
		_ = resp.Body.Close()
	}
	return nil, c.failure(cmp.Or(err, fmt.Errorf("the request was refused %d times", maxSendings)))
}

// failure is an error of a request for want of a token. It is ErrUnauthorized to
// errors.Is, with one exception: who only listens comes back when trouble on the way to
// the authorization server may be over.
func (c *authCall) failure(err error) error {
	refusal, end := (*OAuthError)(nil), (*authError)(nil)
	trouble := errors.Is(err, errTrouble) || !errors.As(err, &end) && (!errors.As(err, &refusal) || refusal.Status >= 500)
	err = fmt.Errorf("authorization for %s: %w", bare(c.s.url), err)
	if trouble && c.background {
		return err
	}
	return &authError{ErrUnauthorized, err}
}

func (t *OAuthTransport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return sharedTransport()
}

// CloseIdleConnections closes the connections to MCP servers that nothing uses; those of
// Base are left to who made it. The end of a session calls it.
func (t *OAuthTransport) CloseIdleConnections() {
	if idle, ok := t.base().(interface{ CloseIdleConnections() }); ok && t.Base == nil {
		idle.CloseIdleConnections()
	}
}

func (t *OAuthTransport) logger() *slog.Logger { return cmp.Or(t.Log, slog.New(slog.DiscardHandler)) }

// An authCall is one request on its way through the transport.
type authCall struct {
	t     *OAuthTransport
	s     *protectedServer
	r     *http.Request
	ctx   context.Context
	cause httpCause
	body  func() (io.ReadCloser, error)

	refused    io.Closer // the body of the answer that is judged; nil: none
	background bool      // nobody waits for it
	fresh      bool      // it is sent with a token that was got since it came
	nonced     bool      // it was repeated with the nonce that the server wanted
}

func (t *OAuthTransport) call(r *http.Request) *authCall {
	c := &authCall{t: t, r: r, ctx: r.Context()}
	if cause, _ := c.ctx.Value(causeKey{}).(*httpCause); cause != nil {
		c.cause = *cause
		c.background = cause.logins == nil
	}
	if c.cause.name == nil {
		c.cause.name = func() string { return "" }
	}
	c.s = t.server(cmp.Or(c.cause.endpoint, r.URL))
	if c.cause.logins == nil {
		c.cause.logins = new(atomic.Int32)
	}
	return c
}

// keepBody makes the body repeatable, and closes the request's.
func (c *authCall) keepBody() error {
	if c.r.Body == nil || c.r.Body == http.NoBody {
		c.body = func() (io.ReadCloser, error) { return c.r.Body, nil }
		return nil
	}
	defer c.r.Body.Close()
	if c.body = c.r.GetBody; c.body != nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(c.r.Body, maxRepeated+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxRepeated:
		return fmt.Errorf("a request body of more than %d bytes needs GetBody, to be repeated", maxRepeated)
	}
	c.body = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return nil
}

// send makes the request; token nil: without one.
func (c *authCall) send(token *tokenRecord) (*http.Response, error) {
	r := c.r.Clone(c.ctx)
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	r.Body = body
	if token != nil {
		r.Header.Set("Authorization", token.TokenType+" "+token.AccessToken)
		if token.key != nil {
			p := &prover{token.key, &c.t.nonces}
			if err := p.prove(r.Header, r.Method, r.URL, token.AccessToken); err != nil {
				return nil, err
			}
		}
	}
	return c.t.base().RoundTrip(r)
}

// held is the token that the request goes out with at first; nil: none. One that is
// about to expire is renewed, if nobody has to log in for it; otherwise it is not sent,
// so that the server says what it wants.
func (c *authCall) held() (*tokenRecord, error) {
	token := c.t.current(c.ctx, c.s)
	switch {
	case token.alive():
		return token, nil
	case c.t.canRefresh(token):
		return c.fly("refresh", (*tokenRecord).alive, func() (*tokenRecord, error) { return c.t.refresh(c.ctx, c.s, token) })
	case token != nil && token.AccessToken != "" && c.t.Grant != nil && c.s.found() != nil:
		return c.fly("renewal", (*tokenRecord).alive, func() (*tokenRecord, error) {
			d, err := c.rediscover(&wish{})
			if err != nil {
				return nil, err
			}
			return c.obtain(d, nil, token, false)
		})
	}
	return nil, nil
}

// A wish is what a challenge asks for.
type wish struct {
	code     string   // the error
	metadata string   // URL of the resource's metadata
	scopes   []string // nil: it does not say
	bound    bool     // it is for tokens that are bound to a key
	bearer   bool     // Bearer will do, too
	nonce    bool     // the proof wants a nonce, and nothing else is wrong
}

// wishOf reads the challenge that counts: the first one for tokens that says where the
// metadata are, or else the first.
func wishOf(header http.Header) *wish {
	w, chosen := &wish{}, (*Challenge)(nil)
	for _, c := range ParseChallenges(header.Values(headerAsks)) {
		if !c.is("Bearer", "DPoP") {
			continue
		}
		w.bearer = w.bearer || c.is("Bearer")
		w.nonce = w.nonce || c.is("DPoP") && c.Params["error"] == codeUseNonce
		if chosen == nil || chosen.Params["resource_metadata"] == "" && c.Params["resource_metadata"] != "" {
			chosen = &c
		}
	}
	if chosen != nil {
		w.code, w.metadata, w.bound = chosen.Params["error"], chosen.Params["resource_metadata"], chosen.is("DPoP")
		w.scopes, _ = parseScopes(chosen.Params["scope"])
	}
	return w
}

// judge decides what an answer means. It returns the token to repeat the request
// with; neither that nor an error: the answer is the caller's.
func (c *authCall) judge(resp *http.Response, used *tokenRecord) (*tokenRecord, error) {
	if used != nil && used.key != nil {
		c.t.nonces.see(c.r.URL, resp.Header)
	}
	c.refused = resp.Body
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusBadRequest:
	default:
		return nil, nil
	}
	w := wishOf(resp.Header)
	switch {
	case resp.StatusCode == http.StatusBadRequest && w.code == codeInvalidRequest:
		return nil, errors.New("the server calls the authorization of the request malformed (invalid_request)")
	case resp.StatusCode == http.StatusBadRequest || c.cause.quiet:
		return nil, nil
	case resp.StatusCode == http.StatusForbidden && w.code == codeInsufficientScope:
		return c.stepUp(w, used)
	case resp.StatusCode == http.StatusForbidden:
		return nil, nil
	case used != nil && used.key != nil && w.nonce:
		if c.nonced || resp.Header.Get(headerNonce) == "" {
			return nil, ended(ErrUnauthorized, "the server does not accept the DPoP nonce it gave")
		}
		c.nonced = true
		return used, nil
	}
	return c.unauthorized(w, used)
}

// unauthorized gets a token after a 401.
func (c *authCall) unauthorized(w *wish, used *tokenRecord) (*tokenRecord, error) {
	if c.t.Login == nil && c.t.Grant == nil && !c.t.canRefresh(used) {
		return nil, nil
	}
	newer := func(token *tokenRecord) bool { return token.alive() && token.differs(used) }
	what, run := "login", func() (*tokenRecord, error) { return c.authorize(w, used) }
	if c.fresh {
		what, run = "refusal", func() (*tokenRecord, error) {
			c.t.spoil(c.ctx, c.s, used) // what it can be refreshed to is no better
			return nil, ended(ErrUnauthorized, "the server refuses the token that was just obtained for it%s", w)
		}
	}
	token, err := c.fly(what, newer, run)
	if token != nil {
		c.fresh, c.nonced = token.local, false
	}
	return token, err
}

// String is what the challenge says, for an error.
func (w *wish) String() string {
	if w.code == "" {
		return ""
	}
	return " (" + sanitized(w.code, nil) + ")"
}

// authorize is the flow after a 401, from the challenge to a token.
func (c *authCall) authorize(w *wish, used *tokenRecord) (*tokenRecord, error) {
	if stored := c.t.reload(c.ctx, c.s); stored.alive() && stored.differs(used) {
		return stored, nil // another process was faster
	}
	d, err := c.t.discover(c.ctx, c.s, w)
	if err != nil {
		return nil, err
	}
	return c.obtain(d, w.scopes, c.s.now(), false)
}

// obtain gets a token as the application wants it to be got. asked are the scopes of
// the challenge; former is the record the server had so far, nil: none.
func (c *authCall) obtain(d *discovery, asked []string, former *tokenRecord, more bool) (*tokenRecord, error) {
	mine := former
	if former != nil && (former.Issuer != d.key || former.Resource != d.resource) {
		if err := c.t.checkMove(former, d); err != nil {
			return nil, err
		}
		mine = nil // it is never sent to this resource or issuer again
	}
	if !more && c.t.canRefresh(mine) && coversScopes(mine.Granted, asked) {
		if token, err := c.t.refresh(c.ctx, c.s, mine); token != nil || err != nil {
			return token, err
		}
	}
	scopes := c.t.scopesFor(d, asked, mine, more)
	var token *tokenRecord
	var err error
	if c.t.Grant != nil {
		token, err = c.t.Grant.obtain(c.ctx, &grantCall{c.t, d, scopes})
	} else {
		token, err = c.login(d, scopes)
	}
	if err != nil {
		return nil, err
	}
	c.t.keep(c.ctx, c.s, token, former)
	return token, nil
}

// scopesFor chooses what to ask for (Authorization, Scope Selection Strategy). What was
// asked for earlier stays in it, and comes first.
func (t *OAuthTransport) scopesFor(d *discovery, asked []string, mine *tokenRecord, more bool) []string {
	scopes := asked
	if scopes == nil && !more {
		scopes = slices.DeleteFunc(slices.Clone(d.prm.ScopesSupported), func(s string) bool { return !isScope(s) })
		if len(scopes) == 0 {
			scopes = t.Scopes
		}
	}
	if mine != nil {
		scopes = unionScopes(mine.Requested, scopes)
	}
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == scopeOffline })
	scopes = scopes[:min(len(scopes), maxScopes)]
	if t.FilterScopes != nil {
		scopes = t.FilterScopes(scopes)
	}
	if !t.NoRefresh && t.Grant == nil && slices.Contains(d.meta.ScopesSupported, scopeOffline) {
		scopes = unionScopes(scopes, []string{scopeOffline})
	}
	return scopes
}

// stepUp gets a token with more scopes after a 403 (Authorization, Scope Challenge
// Handling). Neither a token nor an error: the answer is the caller's.
func (c *authCall) stepUp(w *wish, used *tokenRecord) (*tokenRecord, error) {
	if c.t.Login == nil && c.t.Grant == nil {
		return nil, nil
	}
	asked := w.scopes
	if len(asked) == 0 { // only what the server offers can be tried
		d, err := c.rediscover(w)
		if err != nil {
			return nil, err
		}
		if asked = c.t.scopesFor(d, nil, nil, false); coversScopes(used.requested(), asked) {
			return nil, nil
		}
	}
	enough := func(token *tokenRecord) bool {
		return token.alive() && token.differs(used) && coversScopes(token.Requested, asked)
	}
	all := unionScopes(used.requested(), asked)
	token, err := c.fly("step-up "+strings.Join(all, " "), enough, func() (*tokenRecord, error) {
		return c.stepUpTo(asked, w, used)
	})
	if token != nil {
		c.fresh, c.nonced = true, false
	}
	return token, err
}

func (c *authCall) stepUpTo(asked []string, w *wish, used *tokenRecord) (*tokenRecord, error) {
	lacks := func(why string) error {
		return ended(ErrInsufficientScope, "the server wants the scopes %q: %s", strings.Join(asked, " "), why)
	}
	if used != nil && coversScopes(used.Requested, asked) && coversScopes(used.Granted, asked) {
		return nil, lacks("the token has them")
	}
	steps := maxStepUps
	if c.t.Grant != nil {
		steps = 1
	}
	operation := storeKey(c.s.resource, c.cause.method, c.cause.name())
	if why := c.t.step(operation, steps); why != "" {
		return nil, lacks(why)
	}
	d, err := c.rediscover(w)
	if err != nil {
		return nil, err
	}
	former := cmp.Or(c.s.now(), used)
	if all := c.t.scopesFor(d, asked, former, true); used != nil && coversScopes(used.Requested, all) && coversScopes(used.Granted, all) {
		return nil, lacks("the application does not ask for them")
	}
	token, err := c.obtain(d, asked, former, true)
	if errors.Is(err, ErrLoginDeclined) {
		c.t.deny(operation)
	}
	return token, err
}

// requested is what a token was asked for with.
func (r *tokenRecord) requested() []string {
	if r == nil {
		return nil
	}
	return r.Requested
}

// An operation is what is remembered of the step-ups for one method and name.
type operation struct {
	steps  int
	denied bool
	until  time.Time // it is remembered
}

// step counts a step-up for an operation. It returns why there must be none.
func (t *OAuthTransport) step(key string, limit int) (why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	o := t.operations[key]
	switch {
	case o == nil || now.After(o.until):
		o = &operation{}
		if t.operations == nil {
			t.operations = map[string]*operation{}
		}
		makeRoom(t.operations, maxOperations, func(o *operation) time.Time { return o.until })
		t.operations[key] = o
	case o.denied:
		return "more were declined a short while ago"
	case o.steps >= limit:
		return fmt.Sprintf("%d more extensive tokens did not help", o.steps)
	}
	o.steps++
	o.until = now.Add(stepMemory)
	return ""
}

func (t *OAuthTransport) deny(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.operations[key]; o != nil {
		o.denied, o.until = true, time.Now().Add(stepMemory)
	}
}

// makeRoom deletes from a full map what ends first.
func makeRoom[V any](m map[string]V, limit int, end func(V) time.Time) {
	for len(m) >= limit {
		var first string
		for key := range m {
			if first == "" || end(m[key]).Before(end(m[first])) {
				first = key
			}
		}
		delete(m, first)
	}
}

// A protectedServer is what the transport knows of one MCP server.
type protectedServer struct {
	url      *url.URL
	resource string // its canonical identifier

	mu     sync.Mutex // guards the fields below
	used   time.Time
	token  *tokenRecord // never changes, but is replaced; nil: none
	loaded bool         // the store was asked
	last   *discovery   // the newest one; nil: none
	flight *flight      // nil: none
	denial error        // the last login failed so; nil: it did not
	denied time.Time    // when
}

// server finds what is known of a server.
func (t *OAuthTransport) server(endpoint *url.URL) *protectedServer {
	at := *endpoint
	at.Fragment, at.RawFragment, at.User = "", "", nil
	resource, err := canonicalResource(at.String())
	if err != nil {
		resource = at.String()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.servers[resource]
	if s == nil {
		if t.servers == nil {
			t.servers = map[string]*protectedServer{}
		}
		makeRoom(t.servers, maxEndpoints, func(s *protectedServer) time.Time { return s.used })
		s = &protectedServer{url: &at, resource: resource}
		t.servers[resource] = s
	}
	s.used = time.Now()
	return s
}

func (s *protectedServer) now() *tokenRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

func (s *protectedServer) set(token *tokenRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.loaded = token, true
}

// adopt takes over a record of the store, unless a newer one is known.
func (s *protectedServer) adopt(token *tokenRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded = true; token != nil && (s.token == nil || token.Obtained.After(s.token.Obtained)) {
		s.token = token
	}
}

func (s *protectedServer) found() *discovery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// refusal is why a login failed a short while ago.
func (s *protectedServer) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.denial != nil && time.Since(s.denied) < stepMemory {
		return s.denial
	}
	return nil
}

func (s *protectedServer) setRefusal(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denial, s.denied = err, time.Now()
}

// A flight is a flow in progress. Who needs the same waits for it.
type flight struct {
	what  string
	done  chan struct{} // closed by the pilot, when the fields below are set
	token *tokenRecord
	err   error
	left  bool // the pilot's own context ended, which says nothing to others
}

// fly runs a flow, one at a time for each server, or waits for another caller's that is
// the same, and shares what came of it. have reports whether a token that has been got
// by then will do.
func (c *authCall) fly(what string, have func(*tokenRecord) bool, run func() (*tokenRecord, error)) (*tokenRecord, error) {
	if c.refused != nil { // a flow may be long, and the connection is wanted elsewhere
		_ = c.refused.Close()
	}
	for {
		c.s.mu.Lock()
		if token := c.s.token; have(token) {
			c.s.mu.Unlock()
			return token, nil
		}
		f := c.s.flight
		if f == nil {
			f = &flight{what: what, done: make(chan struct{})}
			c.s.flight = f
			c.s.mu.Unlock()
			return c.pilot(f, run)
		}
		c.s.mu.Unlock()
		release := c.stopClock()
		select {
		case <-f.done:
			release()
		case <-c.ctx.Done():
			release()
			return nil, context.Cause(c.ctx)
		}
		if f.what == what && !f.left {
			return f.token, f.err
		}
	}
}

func (c *authCall) pilot(f *flight, run func() (*tokenRecord, error)) (*tokenRecord, error) {
	defer func() { // also if the application's code panics
		f.left = c.ctx.Err() != nil
		c.s.mu.Lock()
		c.s.flight = nil
		c.s.mu.Unlock()
		close(f.done)
	}()
	f.err = errors.New("the flow did not end")
	f.token, f.err = run()
	return f.token, f.err
}

// stopClock stops the time limits of the call, until the returned function is called.
func (c *authCall) stopClock() (release func()) {
	if c.cause.hold == nil {
		return func() {}
	}
	return c.cause.hold()
}

// A discovery is what was found out about how to be authorized for a server.
type discovery struct {
	server   *protectedServer
	prm      *ProtectedResourceMetadata // empty for a server of 2025-03-26
	at       string                     // where that was; empty: nowhere
	resource string                     // as published
	unnamed  bool                       // resource is not sent
	meta     *AuthorizationServerMetadata
	guessed  bool   // meta is, by the rules of 2025-03-26
	key      string // the issuer, marked if it was guessed
	wish     *wish
	made     time.Time
	out      *outbound
}

// rediscover is what was found before, if that is not long ago.
func (c *authCall) rediscover(w *wish) (*discovery, error) {
	d := c.s.found()
	if d != nil && time.Since(d.made) < discoveryFresh {
		return d, nil
	}
	if d != nil && w.metadata == "" {
		w = &wish{metadata: d.at, bound: d.wish.bound, bearer: d.wish.bearer}
	}
	return c.t.discover(c.ctx, c.s, w)
}

func (t *OAuthTransport) outbound(s *protectedServer) *outbound {
	revision := newest.String()
	if len(t.Revisions) > 0 {
		revision = slices.Max(t.Revisions)
	}
	return &outbound{rt: t.Outbound, anywhere: t.AllowPrivate, local: isLoopback(s.url.Hostname()), exempt: origin(s.url),
		header: http.Header{headerRevision: {revision}}}
}

// discover finds the metadata of the resource and of its authorization server
// (Authorization, Authorization Server Discovery).
func (t *OAuthTransport) discover(ctx context.Context, s *protectedServer, w *wish) (*discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	d := &discovery{server: s, wish: w, made: time.Now(), out: t.outbound(s), prm: &ProtectedResourceMetadata{}}
	tries, err := t.findResource(ctx, d)
	switch {
	case err != nil:
		return nil, err
	case d.at != "":
		d.resource = d.prm.Resource
		err = t.findServer(ctx, d)
	case t.NoLegacy:
		return nil, ended(ErrDiscovery, "no metadata of the protected resource: %w", tries)
	default:
		d.resource = s.resource
		d.unnamed = len(t.Revisions) > 0 && slices.Max(t.Revisions) <= Revision20250326
		err = t.findOldServer(ctx, d, tries)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.last = d
	s.mu.Unlock()
	return d, nil
}

// findResource finds the metadata of the resource. Where there are none, it returns the
// places that were tried: only a server without any is one of 2025-03-26.
func (t *OAuthTransport) findResource(ctx context.Context, d *discovery) (tries fetchErrors, err error) {
	places := wellKnownResource(d.server.url)
	if at := d.wish.metadata; at != "" {
		places = append([]string{at}, slices.DeleteFunc(places, func(p string) bool { return p == at })...)
	}
	for _, at := range places {
		e := d.out.load(ctx, at, d.prm)
		switch {
		case e == nil:
			d.at = at
			return nil, t.checkResource(d)
		case e.class == fetchAbsent || e.class == fetchRefused && at == d.wish.metadata:
			tries = append(tries, e)
		default:
			return nil, ended(ErrDiscovery, "metadata of the protected resource: %w", append(tries, e))
		}
	}
	return tries, nil
}

// checkResource checks that the metadata are those of the server (RFC 9728, section
// 3.3): they name its URL, or the one that belongs to the well-known place they were
// found in.
func (t *OAuthTransport) checkResource(d *discovery) error {
	got, want := d.prm.Resource, d.server.resource
	ok := sameResource(got, want) || got != "" && sameResource(got, impliedResource(d.at)) && above(got, d.server.url)
	if !ok && t.Lenient {
		ok = above(got, d.server.url) || sameResource(strings.TrimSuffix(got, "/"), strings.TrimSuffix(want, "/"))
	}
	switch {
	case !ok:
		return ended(ErrMismatch, "metadata of the protected resource, %s: its resource is %.200q, not %q", withoutQuery(d.at), withoutQuery(got), bare(d.server.url))
	case len(d.prm.AuthorizationServers) == 0:
		return ended(ErrDiscovery, "metadata of the protected resource, %s: no authorization_servers", withoutQuery(d.at))
	}
	return nil
}

// impliedResource is the resource whose well-known place a URL is; empty: it is none.
func impliedResource(at string) string {
	u, err := url.Parse(at)
	if err != nil || u.RawQuery != "" {
		return ""
	}
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/.well-known/oauth-protected-resource")
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return u.Scheme + "://" + u.Host + rest
}

// above reports whether a resource is on the endpoint's origin, and its path the
// beginning of the endpoint's, in whole segments.
func above(resource string, endpoint *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || origin(u) != origin(endpoint) || u.User != nil || strings.ContainsAny(resource, "?#") {
		return false
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	return strings.HasPrefix(endpoint.EscapedPath()+"/", path+"/")
}

// findServer finds the metadata of one of the authorization servers. The first ones
// tried are those that know the client.
func (t *OAuthTransport) findServer(ctx context.Context, d *discovery) error {
	issuers := slices.Clone(d.prm.AuthorizationServers[:min(len(d.prm.AuthorizationServers), maxServers)])
	known := map[string]int{}
	for _, issuer := range issuers {
		switch {
		case slices.ContainsFunc(t.Clients, func(c OAuthClient) bool { return c.Issuer == issuer && c.serves(d.server.resource) }):
			known[issuer] = 0
		case t.loadText(ctx, storeKey("registered", issuer)) != nil:
			known[issuer] = 1
		default:
			known[issuer] = 2
		}
	}
	slices.SortStableFunc(issuers, func(a, b string) int { return known[a] - known[b] })
	var tries fetchErrors
	for _, issuer := range issuers {
		meta, failures := discoverServer(ctx, d.out, issuer, t.Lenient)
		if meta != nil {
			err := t.suits(meta)
			if err == nil {
				d.meta, d.key = meta, meta.Issuer
				return nil
			}
			failures = fetchErrors{{withoutQuery(issuer), fetchInvalid, err}}
		}
		for _, e := range failures {
			if e.class == fetchInvalid { // perhaps an attack
				t.logger().Warn("mcp: an authorization server is not used", "server", bare(d.server.url), "error", e)
			}
		}
		tries = append(tries, failures...)
	}
	return ended(ErrDiscovery, "metadata of the authorization server: %w", tries)
}

// findOldServer finds the endpoints of a server that is its own authorization server
// (Authorization of 2025-03-26). earlier is what was tried before.
func (t *OAuthTransport) findOldServer(ctx context.Context, d *discovery, earlier fetchErrors) error {
	base := d.server.url.Scheme + "://" + d.server.url.Host
	meta, tries := discoverServer(ctx, d.out, base, true)
	if meta != nil {
		d.meta, d.key = meta, meta.Issuer
		if err := t.suits(meta); err != nil {
			return ended(ErrDiscovery, "metadata of the authorization server: %s: %w", base, err)
		}
		return nil
	}
	if i := slices.IndexFunc(tries, func(e *fetchError) bool { return e.class != fetchAbsent }); i >= 0 {
		return ended(ErrDiscovery, "%w", append(earlier, tries...))
	}
	d.guessed, d.key = true, "guessed "+base
	d.meta = &AuthorizationServerMetadata{Issuer: base, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token",
		RegistrationEndpoint: base + "/register", CodeChallengeMethodsSupported: []string{"S256"},
		TokenEndpointAuthMethodsSupported: []string{authNone, authBasic, authPost}}
	return nil
}

// suits reports why tokens cannot be got from an authorization server, before anything
// else is asked of it.
func (t *OAuthTransport) suits(m *AuthorizationServerMetadata) error {
	lacks := func(list []string, want string) bool { return list != nil && !slices.Contains(list, want) }
	if t.Grant != nil {
		if want := t.Grant.grantType(); lacks(m.GrantTypesSupported, want) {
			return fmt.Errorf("grant_types_supported has no %s", want)
		}
		return nil
	}
	old := len(t.Revisions) > 0 && slices.Max(t.Revisions) < Revision20251125
	switch {
	case m.AuthorizationEndpoint == "":
		return errors.New("authorization_endpoint is missing")
	case lacks(m.ResponseTypesSupported, "code"):
		return errors.New("response_types_supported has no code")
	case lacks(m.GrantTypesSupported, grantCode):
		return errors.New("grant_types_supported has no authorization_code")
	case lacks(m.ResponseModesSupported, "query"):
		return errors.New("response_modes_supported has no query")
	case m.RequirePushedAuthorizationRequests:
		return errors.New("it wants pushed authorization requests, which are not supported")
	case m.RequireSignedRequestObject:
		return errors.New("it wants signed request objects, which are not supported")
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256") && !old:
		return errors.New("code_challenge_methods_supported has no S256: PKCE is required")
	}
	_, err := authorizationURL(m.AuthorizationEndpoint)
	return err
}

// authorizationURL checks what a browser would be sent to (Security Best Practices,
// Authorization URL Validation).
func authorizationURL(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || !printable(endpoint) || strings.ContainsAny(endpoint, "\"<>\\^`{|}"):
		return nil, errors.New("authorization_endpoint is not a URL")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) || u.Host == "" || u.Opaque != "":
		return nil, fmt.Errorf("authorization_endpoint %.200q is not https", bare(u))
	case strings.Contains(endpoint, "#") || u.User != nil:
		return nil, errors.New("authorization_endpoint has a fragment or user info")
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return nil, errors.New("authorization_endpoint has a malformed query")
	}
	return u, nil
}

// How a client came to be known to an authorization server.
const (
	clientGiven      = "given" // by the application
	clientDocument   = "document"
	clientRegistered = "registered" // dynamically
)

// A registration is a client at one authorization server.
type registration struct {
	Kind          string    `json:"kind"`
	Issuer        string    `json:"issuer"`
	ID            string    `json:"id"`
	Secret        string    `json:"secret,omitempty"` // stored of what is registered dynamically only
	Method        string    `json:"method"`
	RedirectURIs  []string  `json:"redirect_uris,omitempty"`
	SecretExpires time.Time `json:"secret_expires,omitzero"`
	Place         string    `json:"place,omitempty"` // its key in the store

	key    *Key
	stored bool // it was found there
	free   bool // the application does not say where it belongs
}

// Format keeps the secret to itself.
func (g registration) Format(s fmt.State, _ rune) { _, _ = fmt.Fprintf(s, "client %q", g.ID) }

func (g *registration) auth(issuer string) *clientAuth {
	return &clientAuth{id: g.ID, secret: g.Secret, key: g.key, method: g.Method, audience: issuer}
}

// expired reports whether the secret is of no use any more.
func (g *registration) expired() bool {
	return !g.SecretExpires.IsZero() && time.Now().After(g.SecretExpires)
}

// serves reports whether the client is for an MCP server.
func (c *OAuthClient) serves(resource string) bool {
	return len(c.Servers) == 0 || slices.ContainsFunc(c.Servers, func(s string) bool { return sameResource(s, resource) })
}

// client finds or makes the client for a login or a grant (Authorization, Client
// Registration Approaches): known beforehand, by its document, registered earlier, or
// now. redirect empty: it has no logins.
func (t *OAuthTransport) client(ctx context.Context, d *discovery, redirect string) (*registration, error) {
	g, err := t.given(ctx, d)
	if g != nil || err != nil {
		return g, err
	}
	missing := "MetadataURL is not set"
	if t.MetadataURL != "" {
		missing = "it does not support client ID metadata documents"
	}
	switch {
	case t.MetadataURL != "" && d.meta.ClientIDMetadataDocumentSupported:
		return t.documented(d)
	case d.meta.RegistrationEndpoint != "":
		return t.registered(ctx, d, redirect)
	}
	return nil, ended(ErrNoClient, "no client for %s: Clients has none, %s, and it has no registration_endpoint", d.meta.Issuer, missing)
}

// given is the client that the application has for a server; nil: none. One that belongs
// to another issuer is not tried, and not replaced.
func (t *OAuthTransport) given(ctx context.Context, d *discovery) (*registration, error) {
	var elsewhere string
	for i := range t.Clients {
		c := &t.Clients[i]
		if !c.serves(d.server.resource) {
			continue
		}
		issuer := c.Issuer
		if issuer == "" { // the first one that it is used at
			issuer = cmp.Or(string(t.loadText(ctx, storeKey("client", c.ID))), d.key)
		}
		if issuer != d.key && issuer != d.meta.Issuer {
			if c.Issuer == "" || len(c.Servers) > 0 {
				elsewhere = issuer
			}
			continue
		}
		g := &registration{Kind: clientGiven, Issuer: d.key, ID: c.ID, Secret: c.Secret, key: c.Key, free: c.Issuer == ""}
		var err error
		if g.Method, err = chooseMethod(c.Method, g, d.meta); err != nil {
			return nil, ended(ErrNoClient, "client %q at %s: %w", c.ID, d.meta.Issuer, err)
		}
		return g, nil
	}
	if elsewhere != "" {
		return nil, ended(ErrMismatch, "the server's authorization server is %q, and the client is registered at %q", d.meta.Issuer, elsewhere)
	}
	return nil, nil
}

// claim ties what is secret, and said to belong nowhere, to the first issuer that it is
// used at. It reports why it must not go to this one.
func (t *OAuthTransport) claim(ctx context.Context, key, issuer string) error {
	at, err := t.store().Load(ctx, key)
	if err != nil {
		return fmt.Errorf("reading the token store: %w", err)
	}
	if owner, _ := t.owners.LoadOrStore(key, cmp.Or(string(at), issuer)); owner != issuer {
		return ended(ErrMismatch, "the client is registered at %q, not %q", owner, issuer)
	}
	if at == nil {
		t.save(ctx, key, []byte(issuer))
	}
	return nil
}

// checkMove refuses to take a client that was registered beforehand from one
// authorization server to another (Authorization, Authorization Server Migration).
func (t *OAuthTransport) checkMove(former *tokenRecord, d *discovery) error {
	moves := former.Client.Kind == clientGiven && former.Issuer != d.key
	if moves && !slices.ContainsFunc(t.Clients, func(c OAuthClient) bool { return c.Issuer == d.key && c.serves(d.server.resource) }) {
		return ended(ErrMismatch, "the server's authorization server was %q and is %q now; the client is registered at the former only", former.Issuer, d.key)
	}
	return nil
}

// documented is the client whose id is its metadata document.
func (t *OAuthTransport) documented(d *discovery) (*registration, error) {
	if err := checkClientURL(t.MetadataURL); err != nil {
		return nil, ended(ErrNoClient, "OAuthTransport.MetadataURL: %w", err)
	}
	g := &registration{Kind: clientDocument, Issuer: d.key, ID: t.MetadataURL, Method: authNone, key: t.MetadataKey}
	if g.key != nil {
		g.Method = authJWT
	}
	if _, err := chooseMethod(g.Method, g, d.meta); err != nil {
		return nil, ended(ErrNoClient, "client %q at %s: %w", g.ID, d.meta.Issuer, err)
	}
	return g, nil
}

// chooseMethod decides how a client authenticates. said is what the application or the
// registration says; empty: nothing.
func chooseMethod(said string, g *registration, m *AuthorizationServerMetadata) (string, error) {
	list := m.TokenEndpointAuthMethodsSupported
	if list == nil {
		if list = []string{authBasic}; g.key != nil {
			list = append(list, authJWT) // the application would not have a key for nothing
		}
	}
	may := func(method string) bool { return said == method || said == "" && slices.Contains(list, method) }
	algs := m.TokenEndpointAuthSigningAlgValuesSupported
	switch {
	case g.key != nil && may(authJWT):
		if algs != nil && !slices.Contains(algs, g.key.Algorithm()) {
			return "", fmt.Errorf("token_endpoint_auth_signing_alg_values_supported has no %s", g.key.Algorithm())
		}
		return authJWT, nil
	case said == authJWT:
		return "", errors.New("private_key_jwt without a key")
	case g.Secret != "" && may(authBasic):
		return authBasic, nil
	case g.Secret != "" && may(authPost):
		return authPost, nil
	case said == authNone, said == authBasic, said == authPost:
		return authNone, nil // without a secret
	case said != "":
		return "", fmt.Errorf("the authentication method %.100q is not supported", said)
	case slices.Contains(list, authNone), g.Secret == "" && g.key == nil:
		return authNone, nil
	}
	return "", fmt.Errorf("none of the authentication methods %.500q can be used", list)
}

// registered is the client that was registered earlier, or is registered now.
func (t *OAuthTransport) registered(ctx context.Context, d *discovery, redirect string) (*registration, error) {
	m, err := t.registrationRequest(d, redirect)
	if err != nil {
		return nil, ended(ErrNoClient, "registration at %s: %w", d.meta.Issuer, err)
	}
	// The port of a redirect URI on this machine may change from login to login. Such
	// registrations take the place of each other, and are used for their own port only.
	uris := slices.Clone(m.RedirectURIs)
	for i, u := range uris {
		if portless, ok := withoutLocalPort(u); ok {
			uris[i] = portless
		}
	}
	place := storeKey("registration", d.key, pkceChallenge(strings.Join(append(uris, m.ApplicationType), "\n"))) // by a digest
	stored := &registration{}
	if t.loadRecord(ctx, place, stored) && stored.Issuer == d.key && stored.ID != "" && !stored.expired() &&
		slices.Contains(stored.RedirectURIs, redirect) == (redirect != "") {
		stored.Place, stored.stored, stored.key = place, true, t.MetadataKey
		return stored, nil
	}
	g, err := t.register(ctx, d, m, redirect)
	if err != nil {
		return nil, err
	}
	g.Place = place
	t.saveRecord(ctx, place, g)
	t.save(ctx, storeKey("registered", d.key), []byte(place))
	return g, nil
}

// registrationRequest is what is said to a registration endpoint (RFC 7591).
func (t *OAuthTransport) registrationRequest(d *discovery, redirect string) (*ClientMetadata, error) {
	m := t.Metadata
	m.ClientID = ""
	if redirect != "" {
		m.RedirectURIs = unionScopes([]string{redirect}, m.RedirectURIs)
		m.ResponseTypes = []string{"code"}
	}
	for _, u := range m.RedirectURIs {
		if err := validRedirect(u, t.PrivateSchemes); err != nil {
			return nil, err
		}
	}
	if m.GrantTypes == nil {
		m.GrantTypes = []string{grantCode, grantRefresh}
		if t.NoRefresh {
			m.GrantTypes = m.GrantTypes[:1]
		}
		if t.Grant != nil {
			m.GrantTypes = []string{t.Grant.grantType()}
		}
	}
	m.ClientName = cmp.Or(m.ClientName, "MCP client")
	var err error
	if m.ApplicationType == "" {
		m.ApplicationType, err = applicationType(m.RedirectURIs)
	}
	if m.TokenEndpointAuthMethod == "" && err == nil {
		m.TokenEndpointAuthMethod, err = t.methodToRegister(d.meta, m.ApplicationType)
	}
	if m.TokenEndpointAuthMethod == authJWT && m.JWKS == nil && m.JWKSURI == "" && t.MetadataKey != nil {
		m.JWKS = slices.Concat([]byte(`{"keys":[`), t.MetadataKey.Public(), []byte(`]}`))
	}
	return &m, err
}

// applicationType tells what an application is from where people are sent back to
// (Authorization, Application Type).
func applicationType(redirects []string) (string, error) {
	local := 0
	for _, text := range redirects {
		if u, err := url.Parse(text); err == nil && (u.Scheme != "https" || isLoopback(u.Hostname())) {
			local++
		}
	}
	switch local {
	case len(redirects):
		return "native", nil
	case 0:
		return "web", nil
	}
	return "", errors.New("the redirect URIs are on this machine and elsewhere: application_type can be only one")
}

// methodToRegister chooses how a client that is registered now will authenticate.
func (t *OAuthTransport) methodToRegister(m *AuthorizationServerMetadata, application string) (string, error) {
	list := m.TokenEndpointAuthMethodsSupported
	if list == nil {
		if list = []string{authBasic}; application == "native" {
			list = []string{authNone}
		}
	}
	for _, method := range []string{authJWT, authNone, authBasic, authPost} {
		if slices.Contains(list, method) && (method != authJWT || t.MetadataKey != nil) {
			return method, nil
		}
	}
	return "", fmt.Errorf("none of the authentication methods %.500q can be used", list)
}

// register registers a client. What the answer says counts.
func (t *OAuthTransport) register(ctx context.Context, d *discovery, m *ClientMetadata, redirect string) (*registration, error) {
	body, err := marshal(m)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if t.InitialAccessToken != "" && t.claim(ctx, storeKey("registrar", pkceChallenge(t.InitialAccessToken)), d.key) == nil {
		header.Set("Authorization", "Bearer "+t.InitialAccessToken)
	}
	endpoint := d.meta.RegistrationEndpoint
	resp, data, err := d.out.post(ctx, endpoint, typeJSON, body, header)
	if err != nil {
		return nil, fmt.Errorf("registration at %w", err)
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("registration of a %s client with %s and redirect URIs %.500q: %w", m.ApplicationType, m.TokenEndpointAuthMethod,
			m.RedirectURIs, oauthError(endpoint, resp, data, t.InitialAccessToken))
	}
	var answer struct {
		ID            string      `json:"client_id"`
		Secret        string      `json:"client_secret"`
		SecretExpires json.Number `json:"client_secret_expires_at"`
		Method        string      `json:"token_endpoint_auth_method"`
		RedirectURIs  []string    `json:"redirect_uris"`
	}
	if err := decodeDocument(data, &answer); err != nil {
		return nil, fmt.Errorf("registration at %s: the answer is invalid: %w", withoutQuery(endpoint), err)
	}
	g := &registration{Kind: clientRegistered, Issuer: d.key, ID: answer.ID, Secret: answer.Secret, key: t.MetadataKey, RedirectURIs: answer.RedirectURIs}
	if at, _ := answer.SecretExpires.Int64(); at > 0 && g.Secret != "" {
		g.SecretExpires = time.Unix(at, 0)
	}
	if len(g.RedirectURIs) == 0 {
		g.RedirectURIs = m.RedirectURIs
	}
	switch {
	case g.ID == "" || len(g.ID) > maxClientID || len(g.Secret) > maxClientID:
		err = fmt.Errorf("client_id is missing, or it or client_secret has more than %d bytes", maxClientID)
	case redirect != "" && !slices.ContainsFunc(g.RedirectURIs, func(u string) bool { return sameRedirect(u, redirect) }):
		err = fmt.Errorf("its redirect_uris do not have %s", redirect)
	default:
		g.Method, err = chooseMethod(answer.Method, g, d.meta)
	}
	if err != nil {
		return nil, ended(ErrMismatch, "registration at %s: %w", withoutQuery(endpoint), err)
	}
	if redirect != "" && !slices.Contains(g.RedirectURIs, redirect) {
		g.RedirectURIs = append(slices.Clone(g.RedirectURIs), redirect)
	}
	return g, nil
}

// isForgotten reports whether an error says that the authorization server does not know
// a client any more which was registered dynamically.
func (g *registration) isForgotten(err error) bool {
	e := (*OAuthError)(nil)
	return g != nil && g.Kind == clientRegistered && errors.As(err, &e) && (e.Code == codeInvalidClient || e.Code == "unauthorized_client")
}

// forget deletes a registration, if it is still the stored one.
func (t *OAuthTransport) forget(ctx context.Context, g *registration) {
	stored := &registration{}
	if g.Place != "" && t.loadRecord(ctx, g.Place, stored) && stored.ID == g.ID {
		t.save(ctx, g.Place, nil)
	}
}

// A Login is one authorization request (OAuth 2.1, section 4.1), which a person answers.
// It is for OAuthTransport.Login, which calls Begin, has the person visit the URL, and
// calls Finish with the URL that the person is sent to then.
type Login struct {
	Server string   // URL of the MCP server
	Issuer string   // the authorization server
	Scopes []string // what is asked for; nil: it is for the authorization server to say

	f *loginFlow
}

// Format keeps the secrets to itself.
func (l *Login) Format(s fmt.State, _ rune) { _, _ = fmt.Fprintf(s, "login at %q", l.Issuer) }

// LogValue is for slog.
func (l *Login) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(l)) }

// A loginFlow is what a login does not show.
type loginFlow struct {
	t      *OAuthTransport
	d      *discovery
	logins *atomic.Int32
	begun  atomic.Bool

	mu      sync.Mutex // guards the fields below
	client  *registration
	pending *authRequest // waits for its callback; nil: none does
	redeem  *authRequest // has a code
	err     error        // of the callback
}

// An authRequest is kept of an authorization request until its answer, which must fit.
type authRequest struct {
	state, verifier string
	issuer          string
	iss             bool // the issuer says that its answers name it
	endpoint        string
	redirect        string
	made            time.Time
	code            string
}

// Begin makes the authorization request, for people who will be sent back to
// redirectURI: an https URL, or http on this machine. If need be, it first registers
// the client. It can be called once.
func (l *Login) Begin(ctx context.Context, redirectURI string) (authorizationURL string, err error) {
	f := l.f
	if f.begun.Swap(true) {
		return "", errors.New("mcp: Login.Begin was called before")
	}
	if err := validRedirect(redirectURI, f.t.PrivateSchemes); err != nil {
		return "", fmt.Errorf("mcp: %w", err)
	}
	client, err := f.t.client(ctx, f.d, redirectURI)
	if err != nil {
		return "", err
	}
	if f.logins.Add(1) > maxLogins {
		return "", ended(ErrUnauthorized, "%d logins for one call were not enough", maxLogins)
	}
	p := &authRequest{state: newSecret(), verifier: newSecret(), issuer: f.d.meta.Issuer, iss: f.d.meta.AuthorizationResponseIssParameterSupported,
		endpoint: f.d.meta.TokenEndpoint, redirect: redirectURI, made: time.Now()}
	f.mu.Lock()
	f.client, f.pending = client, p
	f.mu.Unlock()
	return l.url(p, client.ID)
}

// url is the authorization request. Each parameter of OAuth is there once.
func (l *Login) url(p *authRequest, clientID string) (string, error) {
	u, err := authorizationURL(l.f.d.meta.AuthorizationEndpoint)
	if err != nil {
		return "", ended(ErrDiscovery, "%w", err)
	}
	ours := url.Values{"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {p.redirect}, "state": {p.state},
		"code_challenge": {pkceChallenge(p.verifier)}, "code_challenge_method": {"S256"}, "resource": nil, "scope": nil}
	if !l.f.d.unnamed {
		ours.Set("resource", l.f.d.resource)
	}
	if len(l.Scopes) > 0 {
		ours.Set("scope", strings.Join(l.Scopes, " "))
	}
	all := u.Query()
	if slices.Contains(l.Scopes, scopeOffline) {
		all.Set("prompt", "consent") // else there may be no refresh token (OpenID Connect Core, section 11)
	}
	for name, values := range l.f.t.Params {
		if _, taken := ours[name]; taken {
			return "", fmt.Errorf("mcp: OAuthTransport.Params has %s, which is not the application's", name)
		}
		all[name] = values
	}
	for name, values := range ours {
		if all[name] = values; values == nil {
			delete(all, name)
		}
	}
	u.RawQuery = all.Encode()
	return u.String(), nil
}

// Finish takes the URL, or its query, that the person was sent to. With nil, the login
// has succeeded as far as the person is concerned. ErrWrongState means that it is not
// the answer to this login: whoever may have been called by anybody goes on waiting. All
// other errors end the login; the one for a person who refuses is ErrLoginDeclined.
func (l *Login) Finish(callback string) error {
	f := l.f
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pending
	query, err := url.ParseQuery(callbackQuery(callback))
	switch {
	case p == nil:
		return ended(ErrWrongState, "no login waits for an answer")
	case err != nil:
		return ended(ErrWrongState, "the answer to the login has a malformed query")
	case len(query["state"]) != 1 || subtle.ConstantTimeCompare([]byte(query["state"][0]), []byte(p.state)) != 1:
		return ended(ErrWrongState, "the answer has not the state of this login")
	}
	f.pending = nil // a state counts once
	if f.err = p.take(query, withoutQuery(f.d.meta.AuthorizationEndpoint)); len(callback) > maxCallback {
		f.err = ended(ErrMismatch, "the answer to the login has more than %d bytes", maxCallback)
	}
	if f.err == nil {
		f.redeem = p
	}
	return f.err
}

// callbackQuery is the query of a URL, or the text itself if it is none.
func callbackQuery(callback string) string {
	callback = strings.TrimSpace(callback)
	before, query, found := strings.Cut(callback, "?")
	if !found || strings.Contains(before, "=") && !strings.Contains(before, "://") {
		query = callback
	}
	query, _, _ = strings.Cut(query, "#")
	return query
}

// take checks the answer to an authorization request, in the order that keeps what it
// says from being believed too early (RFC 9207; Authorization, Authorization Response
// Validation).
func (p *authRequest) take(q url.Values, endpoint string) error {
	for _, name := range []string{"code", "state", "iss", "error", "error_description", "error_uri"} {
		if len(q[name]) > 1 {
			return ended(ErrMismatch, "the answer to the login has %s twice", name)
		}
	}
	if _, named := q["iss"]; named && q.Get("iss") != p.issuer || !named && p.iss {
		return ended(ErrMismatch, "the answer to the login has not the issuer %q", p.issuer)
	}
	if time.Since(p.made) > loginTimeout {
		return fmt.Errorf("the answer to the login came after more than %v", loginTimeout)
	}
	if q.Has("error") {
		e := &OAuthError{Endpoint: endpoint, Code: sanitized(q.Get("error"), nil), Description: sanitized(q.Get("error_description"), nil)}
		if e.Code == "access_denied" {
			return &authError{ErrLoginDeclined, e}
		}
		return e
	}
	if p.code = q.Get("code"); p.code == "" {
		return ended(ErrMismatch, "the answer to the login has no code")
	}
	return nil
}

// login has a person log in. A registration that turns out to be forgotten is made
// again, once.
func (c *authCall) login(d *discovery, scopes []string) (*tokenRecord, error) {
	if c.t.Login == nil {
		return nil, ended(ErrUnauthorized, "a login is needed, and OAuthTransport.Login is nil")
	}
	if err := c.s.refusal(); err != nil && c.background {
		return nil, err
	}
	for again := false; ; again = true {
		if c.cause.logins.Load() >= maxLogins {
			return nil, ended(ErrUnauthorized, "%d logins for one call were not enough", maxLogins)
		}
		token, client, err := c.loginOnce(d, scopes)
		if err != nil && !again && client.isForgotten(err) {
			c.t.forget(c.ctx, client)
			continue
		}
		if err != nil {
			err = &authError{ErrUnauthorized, err}
		}
		if c.ctx.Err() == nil {
			c.s.setRefusal(err)
		}
		return token, err
	}
}

func (c *authCall) loginOnce(d *discovery, scopes []string) (*tokenRecord, *registration, error) {
	key, required, err := c.t.bindingKey(d)
	if err != nil {
		return nil, nil, err
	}
	l := &Login{Server: c.s.url.String(), Issuer: d.meta.Issuer, Scopes: scopes, f: &loginFlow{t: c.t, d: d, logins: c.cause.logins}}
	err = c.ask(l)
	l.f.mu.Lock()
	client, p, failed := l.f.client, l.f.redeem, l.f.err
	l.f.pending = nil // a late answer counts no more
	l.f.mu.Unlock()
	switch {
	case failed != nil:
		return nil, client, failed
	case err != nil:
		if client != nil && client.stored && !errors.Is(err, ErrLoginDeclined) {
			c.t.forget(c.ctx, client) // perhaps the person was shown that it is not known
		}
		return nil, nil, err
	case p == nil:
		return nil, nil, errors.New("OAuthTransport.Login returned without an answer to the login")
	}
	form := url.Values{"grant_type": {grantCode}, "code": {p.code}, "code_verifier": {p.verifier}, "redirect_uri": {p.redirect}}
	token, err := (&grantCall{c.t, d, scopes}).ask(c.ctx, p.endpoint, form, client, key, required)
	return token, client, err
}

// ask runs the application's function, while the clock of the call stands still.
func (c *authCall) ask(l *Login) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, loginTimeout, fmt.Errorf("nobody has logged in within %v", loginTimeout))
	defer cancel()
	defer c.stopClock()()
	err := c.t.Login(ctx, l)
	if err != nil && c.ctx.Err() == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// bindingKey makes the key that a token will be bound to (RFC 9449); nil: it will not
// be. required reports whether it must be.
func (t *OAuthTransport) bindingKey(d *discovery) (key *Key, required bool, err error) {
	required = d.prm.DPoPBoundAccessTokensRequired || d.wish.bound && !d.wish.bearer
	offered := d.meta.DPoPSigningAlgValuesSupported
	switch {
	case !t.DPoP && d.prm.DPoPBoundAccessTokensRequired:
		return nil, true, ended(ErrMismatch, "the server wants tokens that are bound to a key, and OAuthTransport.DPoP is off")
	case !t.DPoP || !required && !d.wish.bound && len(offered) == 0:
		return nil, false, nil
	}
	i := 0
	if len(offered) > 0 {
		i = slices.IndexFunc(algorithms, func(a algorithm) bool { return slices.Contains(offered, a.name) })
	}
	switch {
	case i >= 0:
		key, err = GenerateKey(algorithms[i].name)
	case required:
		err = ended(ErrMismatch, "the server wants DPoP, and %s supports none of its algorithms that are known", d.meta.Issuer)
	}
	return key, required, err
}

// A grantCall is a token that is asked for.
type grantCall struct {
	t      *OAuthTransport
	d      *discovery
	scopes []string
}

// ask asks the token endpoint of the authorization server for a token.
func (g *grantCall) ask(ctx context.Context, endpoint string, form url.Values, client *registration, key *Key, required bool) (*tokenRecord, error) {
	if !g.d.unnamed {
		form.Set("resource", g.d.resource)
	}
	if client.free {
		if err := g.t.claim(ctx, storeKey("client", client.ID), g.d.key); err != nil {
			return nil, err
		}
	}
	a, err := g.d.out.token(ctx, endpoint, form, client.auth(g.d.meta.Issuer), &prover{key, &g.t.nonces})
	if err != nil {
		return nil, err
	}
	r := &tokenRecord{Issuer: g.d.key, Audience: g.d.meta.Issuer, Resource: g.d.resource, Unnamed: g.d.unnamed, Client: *client, TokenEndpoint: endpoint,
		RevocationEndpoint: g.d.meta.RevocationEndpoint, Requested: g.scopes, Granted: g.scopes, Bound: required, key: key}
	if !g.t.NoRefresh && g.t.Grant == nil {
		r.RefreshToken = a.RefreshToken
	}
	return r, r.take(a)
}

// askWithGrant asks for a token without a person.
func (g *grantCall) askWithGrant(ctx context.Context, form url.Values, client *registration) (*tokenRecord, error) {
	key, required, err := g.t.bindingKey(g.d)
	if err != nil {
		return nil, err
	}
	if len(g.scopes) > 0 {
		form.Set("scope", strings.Join(g.scopes, " "))
	}
	return g.ask(ctx, g.d.meta.TokenEndpoint, form, client, key, required)
}

// A Grant gets tokens without a person. There are ClientCredentials, EnterpriseGrant and
// WorkloadGrant. What they are refused is not asked for in another way.
type Grant interface {
	grantType() string // at the MCP server's authorization server
	obtain(ctx context.Context, g *grantCall) (*tokenRecord, error)
}

// ClientCredentials gets tokens for the client itself, one of OAuthTransport.Clients
// (OAuth Client Credentials extension).
type ClientCredentials struct{}

func (*ClientCredentials) grantType() string { return grantCredentials }

func (*ClientCredentials) obtain(ctx context.Context, g *grantCall) (*tokenRecord, error) {
	client, err := g.t.given(ctx, g.d)
	if client == nil && err == nil {
		err = ended(ErrNoClient, "OAuthTransport.Clients has no client for %s", g.d.meta.Issuer)
	}
	if err != nil {
		return nil, err
	}
	return g.askWithGrant(ctx, url.Values{"grant_type": {grantCredentials}}, client)
}

// EnterpriseGrant gets tokens for a person whom an identity provider of their enterprise
// knows, by its policy (Enterprise-Managed Authorization extension). At the MCP server's
// authorization server, the client is as for logins.
type EnterpriseGrant struct {
	// Issuer is the identity provider. Its token endpoint is found in its metadata.
	Issuer string
	// TokenEndpoint is its token endpoint, if that is known.
	TokenEndpoint string
	// Client is the client at the identity provider. Without secret and key, only its id
	// is sent.
	Client OAuthClient
	// Assertion returns what the person's login at the identity provider gave, and its
	// type; empty: an ID token. It is called for each token.
	Assertion func(ctx context.Context) (assertion, tokenType string, err error)
}

func (*EnterpriseGrant) grantType() string { return grantJWT }

func (e *EnterpriseGrant) obtain(ctx context.Context, g *grantCall) (*tokenRecord, error) {
	client, err := g.t.client(ctx, g.d, "")
	if err != nil {
		return nil, err
	}
	assertion, err := e.exchange(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("the identity provider: %w", err)
	}
	token, err := g.askWithGrant(ctx, url.Values{"grant_type": {grantJWT}, "assertion": {assertion}}, client)
	if client.isForgotten(err) {
		g.t.forget(ctx, client)
	}
	return token, err
}

// exchange gets what the identity provider says to the authorization server.
func (e *EnterpriseGrant) exchange(ctx context.Context, g *grantCall) (string, error) {
	meta := &AuthorizationServerMetadata{Issuer: e.Issuer, TokenEndpoint: e.TokenEndpoint,
		TokenEndpointAuthMethodsSupported: []string{authJWT, authBasic, authPost, authNone}}
	if meta.TokenEndpoint == "" {
		var tries fetchErrors
		if meta, tries = discoverServer(ctx, g.d.out, e.Issuer, g.t.Lenient); meta == nil {
			return "", ended(ErrDiscovery, "%w", tries)
		}
	}
	if e.Assertion == nil {
		return "", errors.New("EnterpriseGrant.Assertion is nil")
	}
	subject, kind, err := e.Assertion(ctx)
	if err == nil {
		err = checkAssertion(subject)
	}
	if err != nil {
		return "", err
	}
	client := &registration{ID: e.Client.ID, Secret: e.Client.Secret, key: e.Client.Key}
	if client.Method, err = chooseMethod(e.Client.Method, client, meta); err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {grantExchange}, "requested_token_type": {tokenTypeIDJAG}, "audience": {g.d.meta.Issuer},
		"resource": {g.d.resource}, "subject_token": {subject}, "subject_token_type": {cmp.Or(kind, "urn:ietf:params:oauth:token-type:id_token")}}
	if len(g.scopes) > 0 {
		form.Set("scope", strings.Join(g.scopes, " "))
	}
	a, err := g.d.out.token(ctx, meta.TokenEndpoint, form, client.auth(cmp.Or(meta.Issuer, meta.TokenEndpoint)), nil)
	switch {
	case err != nil:
		return "", err
	case a.IssuedTokenType != tokenTypeIDJAG || !strings.EqualFold(a.TokenType, "N_A"):
		return "", ended(ErrMismatch, "%s issued %.100q of type %.100q, want %s of type N_A", withoutQuery(meta.TokenEndpoint), a.IssuedTokenType, a.TokenType, tokenTypeIDJAG)
	}
	return a.AccessToken, nil
}

// WorkloadGrant gets tokens for a program that its platform vouches for (Workload
// Identity Federation extension).
type WorkloadGrant struct {
	// Assertion returns the platform's token, a JWT, for the authorization server, which
	// expects its issuer or its token endpoint as audience. It is called for each token.
	Assertion func(ctx context.Context, issuer, tokenEndpoint string) (string, error)
	// ClientID is sent if it is not empty.
	ClientID string
}

func (*WorkloadGrant) grantType() string { return grantJWT }

func (w *WorkloadGrant) obtain(ctx context.Context, g *grantCall) (*tokenRecord, error) {
	if w.Assertion == nil {
		return nil, errors.New("WorkloadGrant.Assertion is nil")
	}
	assertion, err := w.Assertion(ctx, g.d.meta.Issuer, g.d.meta.TokenEndpoint)
	if err == nil {
		err = checkAssertion(assertion)
	}
	if err != nil {
		return nil, err
	}
	client := &registration{Issuer: g.d.key, ID: w.ClientID, Method: authNone}
	return g.askWithGrant(ctx, url.Values{"grant_type": {grantJWT}, "assertion": {assertion}}, client)
}

// checkAssertion refuses what no server would take. Only what can be read is judged.
func checkAssertion(assertion string) error {
	if assertion == "" {
		return errors.New("the application's assertion is empty")
	}
	if t, err := parseJWT(assertion); err == nil {
		if end, ok := t.time("exp"); ok && !end.After(time.Now()) {
			return fmt.Errorf("the application's assertion has expired at %s", end.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// A tokenRecord is a token with everything that is needed to use and refresh it. It does
// not change once others can see it.
type tokenRecord struct {
	Issuer             string          `json:"issuer"`   // as discovery.key
	Audience           string          `json:"audience"` // of client assertions: the issuer itself
	Resource           string          `json:"resource"`
	Unnamed            bool            `json:"unnamed,omitempty"` // resource is not sent
	Client             registration    `json:"client"`
	TokenEndpoint      string          `json:"token_endpoint"`
	RevocationEndpoint string          `json:"revocation_endpoint,omitempty"`
	AccessToken        string          `json:"access_token,omitempty"` // empty: it was of no use any more
	TokenType          string          `json:"token_type,omitempty"`   // "Bearer" or "DPoP"
	RefreshToken       string          `json:"refresh_token,omitempty"`
	Expires            time.Time       `json:"expires,omitzero"`
	Obtained           time.Time       `json:"obtained"`
	Requested          []string        `json:"requested,omitempty"`
	Granted            []string        `json:"granted,omitempty"`
	Bound              bool            `json:"bound,omitempty"`    // it must be bound to a key
	DPoPKey            json.RawMessage `json:"dpop_key,omitempty"` // private JWK

	key   *Key // nil: it is not bound to one
	local bool // this process has got it
}

// Format keeps the secrets to itself.
func (r tokenRecord) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "token record") }

// take takes over the answer of a token endpoint.
func (r *tokenRecord) take(a *tokenAnswer) error {
	switch {
	case strings.EqualFold(a.TokenType, "DPoP"): // which only is an answer to a proof
		r.TokenType, r.DPoPKey = "DPoP", r.key.private()
	case r.Bound:
		return ended(ErrMismatch, "%s: the token is not bound to the key, as the server wants it", withoutQuery(r.TokenEndpoint))
	default:
		r.TokenType, r.key, r.DPoPKey = "Bearer", nil, nil
	}
	r.AccessToken, r.Expires, r.Obtained, r.local = a.AccessToken, a.Expires, time.Now(), true
	if a.Scope != nil {
		r.Granted = strings.Fields(*a.Scope)
	}
	return nil
}

// alive reports whether the token can be used. It ends a little early, so that it is
// still good when it arrives.
func (r *tokenRecord) alive() bool {
	if r == nil || r.AccessToken == "" {
		return false
	}
	early := min(earlyExpiry, r.Expires.Sub(r.Obtained)/2)
	return r.Expires.IsZero() || time.Now().Before(r.Expires.Add(-early))
}

// differs reports whether the token is another one than an earlier one.
func (r *tokenRecord) differs(earlier *tokenRecord) bool {
	return earlier == nil || r.AccessToken != earlier.AccessToken
}

// canRefresh reports whether a token can be refreshed.
func (t *OAuthTransport) canRefresh(r *tokenRecord) bool {
	return r != nil && r.RefreshToken != "" && !t.NoRefresh && t.Grant == nil && !r.Client.expired()
}

// refresh gets a new token for an old one (OAuth 2.1, section 4.3). Without a token and
// an error, the refresh token is of no use, and was deleted.
func (t *OAuthTransport) refresh(ctx context.Context, s *protectedServer, held *tokenRecord) (*tokenRecord, error) {
	if stored := t.reload(ctx, s); stored != nil && stored.differs(held) && stored.Issuer == held.Issuer {
		if stored.alive() {
			return stored, nil // another process was faster
		}
		held = stored
	}
	if !t.canRefresh(held) {
		return nil, nil
	}
	next, err := t.refreshOnce(ctx, s, held)
	e, forgotten := (*OAuthError)(nil), held.Client.isForgotten(err)
	switch {
	case err == nil:
		t.keep(ctx, s, next, held)
		return next, nil
	case !forgotten && (!errors.As(err, &e) || e.Code != codeInvalidGrant):
		return nil, fmt.Errorf("refreshing the token: %w", err)
	case forgotten:
		t.forget(ctx, &held.Client)
	}
	if stored := t.reload(ctx, s); stored.alive() && stored.differs(held) {
		return stored, nil // another process has used the refresh token
	}
	t.spoil(ctx, s, held)
	return nil, nil
}

func (t *OAuthTransport) refreshOnce(ctx context.Context, s *protectedServer, held *tokenRecord) (*tokenRecord, error) {
	form := url.Values{"grant_type": {grantRefresh}, "refresh_token": {held.RefreshToken}}
	if !held.Unnamed {
		form.Set("resource", held.Resource)
	}
	a, err := t.outbound(s).token(ctx, held.TokenEndpoint, form, held.Client.auth(held.Audience), &prover{held.key, &t.nonces})
	if err != nil {
		return nil, err
	}
	next := *held
	next.RefreshToken = cmp.Or(a.RefreshToken, held.RefreshToken)
	return &next, next.take(a)
}

// keep stores a token and makes it the server's. If that fails, it is used nevertheless.
// The former record goes once nothing depends on it any more.
func (t *OAuthTransport) keep(ctx context.Context, s *protectedServer, token, former *tokenRecord) {
	t.saveRecord(ctx, t.tokenKey(token), token.forStore())
	t.saveRecord(ctx, t.serverKey(s), &currentToken{token.Issuer, token.Resource, token.Client.ID})
	if former != nil && t.tokenKey(former) != t.tokenKey(token) {
		t.save(ctx, t.tokenKey(former), nil)
	}
	s.set(token)
}

// forStore is the record without what the application has anyway.
func (r *tokenRecord) forStore() *tokenRecord {
	stored := *r
	if stored.Client.Kind != clientRegistered {
		stored.Client.Secret = ""
	}
	return &stored
}

// spoil deletes tokens that are of no use. What was asked for is kept.
func (t *OAuthTransport) spoil(ctx context.Context, s *protectedServer, used *tokenRecord) {
	if used == nil || s.now().differs(used) {
		return
	}
	rest := *used
	rest.AccessToken, rest.RefreshToken, rest.key, rest.DPoPKey, rest.Obtained = "", "", nil, nil, time.Now()
	t.saveRecord(ctx, t.tokenKey(&rest), rest.forStore())
	s.set(&rest)
}

// current is the token of a server, which at first is in the store only; nil: none.
func (t *OAuthTransport) current(ctx context.Context, s *protectedServer) *tokenRecord {
	s.mu.Lock()
	token, loaded := s.token, s.loaded
	s.mu.Unlock()
	if loaded {
		return token
	}
	return t.reload(ctx, s)
}

// A currentToken says which token record is a server's.
type currentToken struct {
	Issuer   string `json:"issuer"`
	Resource string `json:"resource"`
	ClientID string `json:"client_id"`
}

// reload looks whether the store has a newer token, and returns the newest.
func (t *OAuthTransport) reload(ctx context.Context, s *protectedServer) *tokenRecord {
	var at currentToken
	r := &tokenRecord{}
	ok := t.loadRecord(ctx, t.serverKey(s), &at) && at.Issuer != "" && t.loadRecord(ctx, t.keyOf(&at), r) &&
		at == currentToken{r.Issuer, r.Resource, r.Client.ID}
	if ok && r.DPoPKey != nil {
		var err error
		if r.key, err = ParseKey(r.DPoPKey, ""); err != nil {
			t.logger().Warn("mcp: a stored token is bound to a key that cannot be read", "error", err)
			ok = false
		}
	}
	if !ok {
		r = nil
	} else if !t.equip(r) {
		r.RefreshToken = ""
	}
	s.adopt(r)
	return s.now()
}

// equip gives the client of a stored record what only the application has. It reports
// whether the client still exists.
func (t *OAuthTransport) equip(r *tokenRecord) bool {
	switch r.Client.Kind {
	case clientRegistered:
		r.Client.key = t.MetadataKey
		return true
	case clientDocument:
		r.Client.key = t.MetadataKey
		return r.Client.ID == t.MetadataURL
	}
	for _, c := range t.Clients {
		if c.ID == r.Client.ID && (c.Issuer == "" || c.Issuer == r.Issuer || c.Issuer == r.Audience) {
			r.Client.Secret, r.Client.key = c.Secret, c.Key
			return true
		}
	}
	return false
}

// Logout gives up the tokens for a server, by its URL: they are deleted here, and, as
// far as that is possible, at the authorization server (RFC 7009). An error says that
// something could not be deleted here.
func (t *OAuthTransport) Logout(ctx context.Context, server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return errors.New("mcp: logout: the server must be an absolute URL")
	}
	s := t.server(u)
	c := &authCall{t: t, s: s, ctx: ctx}
	_, err = c.fly("logout", func(*tokenRecord) bool { return false }, func() (*tokenRecord, error) {
		held := t.reload(ctx, s)
		s.set(nil)
		s.setRefusal(nil)
		err := t.store().Save(ctx, t.serverKey(s), nil)
		if held != nil {
			err = errors.Join(err, t.store().Save(ctx, t.tokenKey(held), nil))
			t.revoke(ctx, s, held)
		}
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("mcp: logout: %w", err)
	}
	return nil
}

// revoke tells the authorization server that tokens are not used any more.
func (t *OAuthTransport) revoke(ctx context.Context, s *protectedServer, held *tokenRecord) {
	if held.RevocationEndpoint == "" {
		return
	}
	for _, token := range [][2]string{{"refresh_token", held.RefreshToken}, {"access_token", held.AccessToken}} {
		if token[1] == "" {
			continue
		}
		form, header := url.Values{"token": {token[1]}, "token_type_hint": {token[0]}}, http.Header{}
		err := held.Client.auth(held.Audience).sign(form, header)
		if err == nil {
			var resp *http.Response
			var data []byte
			resp, data, err = t.outbound(s).post(ctx, held.RevocationEndpoint, typeForm, []byte(form.Encode()), header)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = oauthError(held.RevocationEndpoint, resp, data, append(secretsOf(form, header, held.Client.auth("")), token[1])...)
			}
		}
		if err != nil {
			t.logger().Warn("mcp: a token could not be revoked", "error", err)
		}
	}
}

const typeForm = "application/x-www-form-urlencoded"

// A TokenStore keeps small secrets by key. It is called by many goroutines. What it
// keeps lets its reader act for the user: it must be protected as well as a password.
type TokenStore interface {
	// Load returns what was saved last; nil: nothing.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save keeps data, of which it may not keep the slice; nil data deletes.
	Save(ctx context.Context, key string, data []byte) error
}

// storeKey makes a key of its parts, whatever is in them.
func storeKey(parts ...string) string {
	key, _ := marshal(parts) // strings always can be
	return string(key)
}

func (t *OAuthTransport) serverKey(s *protectedServer) string {
	return storeKey("server", s.resource, t.User)
}

func (t *OAuthTransport) keyOf(at *currentToken) string {
	return storeKey("token", at.Issuer, at.Resource, at.ClientID, t.User)
}

func (t *OAuthTransport) tokenKey(r *tokenRecord) string {
	return t.keyOf(&currentToken{r.Issuer, r.Resource, r.Client.ID})
}

func (t *OAuthTransport) store() TokenStore { return cmp.Or[TokenStore](t.Store, &t.memory) }

// loadText returns what the store has; nil if that is nothing or cannot be had.
func (t *OAuthTransport) loadText(ctx context.Context, key string) []byte {
	data, err := t.store().Load(ctx, key)
	if err != nil {
		t.logger().Warn("mcp: the token store cannot be read", "error", err)
		return nil
	}
	return data
}

func (t *OAuthTransport) loadRecord(ctx context.Context, key string, record any) bool {
	data := t.loadText(ctx, key)
	if data == nil {
		return false
	}
	if err := decodeJSON(data, record); err != nil {
		t.logger().Warn("mcp: a record of the token store cannot be read", "error", err)
		return false
	}
	return true
}

func (t *OAuthTransport) saveRecord(ctx context.Context, key string, record any) {
	data, err := marshal(record)
	if err != nil {
		t.logger().Error("mcp: a record cannot be written", "error", err)
		return
	}
	t.save(ctx, key, data)
}

// save is done even if the caller leaves: what was obtained is worth more than the call.
func (t *OAuthTransport) save(ctx context.Context, key string, data []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err := t.store().Save(ctx, key, data); err != nil {
		t.logger().Error("mcp: the token store cannot be written: the login will be forgotten", "error", err)
	}
}

// A memoryStore keeps as long as the process lasts.
type memoryStore struct {
	mu sync.Mutex // guards m
	m  map[string][]byte
}

func (m *memoryStore) Load(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m[key], nil
}

func (m *memoryStore) Save(_ context.Context, key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if data == nil {
		delete(m.m, key)
		return nil
	}
	if m.m == nil {
		m.m = map[string][]byte{}
	}
	m.m[key] = bytes.Clone(data)
	return nil
}

// A FileStore is a TokenStore of files that only their owner can read: one for each
// key, named by its hash, in a folder that is made if need be. Many processes may use
// the same folder. The files are not encrypted.
type FileStore struct {
	Dir string // the folder; must be set
}

// fileName is the name of the file for a key.
func fileName(key string) string { return fmt.Sprintf("%x.json", sha256.Sum256([]byte(key))) }

// Load implements TokenStore.
func (f *FileStore) Load(_ context.Context, key string) ([]byte, error) {
	dir, err := os.OpenRoot(f.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	file, err := dir.Open(fileName(key))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxDocument)) // what is cut off is no record
}

// Save implements TokenStore. Readers see the old data or the new, nothing between.
func (f *FileStore) Save(_ context.Context, key string, data []byte) error {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	dir, err := os.OpenRoot(f.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := fileName(key)
	if data == nil {
		if err := dir.Remove(name); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	temporary := name + "." + newSecret()
	if err = dir.WriteFile(temporary, data, 0o600); err == nil {
		err = dir.Rename(temporary, name)
	}
	if err != nil {
		_ = dir.Remove(temporary)
	}
	return err
}

const (
	receiveTimeout = 5 * time.Minute // for a person to log in
	partingTimeout = 2 * time.Second // for the last page to be delivered
	maxQueryLine   = 32 << 10        // bytes of a callback's request line and headers
	openerTimeout  = 3 * time.Second // for a program to fail to open a browser
)

// A LoopbackLogin logs people in with their browser, which is sent back to a server on
// this machine that exists as long as the login (RFC 8252, section 7.3):
//
//	OAuthTransport{Login: (&LoopbackLogin{}).Login}
type LoopbackLogin struct {
	// Open shows a URL; nil means OpenBrowser. An error ends the login.
	Open func(ctx context.Context, url string) error
	// Host is 127.0.0.1, ::1 or localhost, as the redirect URI has it; empty means
	// 127.0.0.1.
	Host string
	// Port is for clients that are registered with one; 0 means any that is free.
	Port int
	// Path is that of the redirect URI; empty means /callback.
	Path string
	// Timeout is for the whole login; 0 means 5 minutes.
	Timeout time.Duration
}

// Login is a function for OAuthTransport.Login.
func (b *LoopbackLogin) Login(ctx context.Context, l *Login) error {
	timeout := cmp.Or(b.Timeout, receiveTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("nobody has logged in within %v", timeout))
	defer cancel()
	listeners, redirect, err := b.listen()
	if err != nil {
		return fmt.Errorf("waiting for the browser: %w", err)
	}
	answer := make(chan error, 1) // sent by the page that ends the login
	server := &http.Server{Handler: b.receiver(l, answer), MaxHeaderBytes: maxQueryLine, ReadTimeout: endpointTimeout,
		WriteTimeout: endpointTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	server.SetKeepAlivesEnabled(false)
	var serving sync.WaitGroup
	for _, ln := range listeners {
		serving.Go(func() { _ = server.Serve(ln) }) // until it is shut down below
	}
	defer serving.Wait()
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTimeout)
		defer cancel()
		if server.Shutdown(bounded) != nil {
			_ = server.Close()
		}
		for _, ln := range listeners {
			_ = ln.Close() // also if it was not served yet
		}
	}()
	return b.visit(ctx, l, redirect, answer)
}

// visit has the browser visit the authorization server, and waits for what comes of it.
func (b *LoopbackLogin) visit(ctx context.Context, l *Login, redirect string, answer <-chan error) error {
	u, err := l.Begin(ctx, redirect)
	if err == nil {
		open := b.Open
		if open == nil {
			open = OpenBrowser
		}
		if err = open(ctx, u); err != nil {
			err = fmt.Errorf("opening a browser: %w", err)
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listen listens on this machine only. localhost may be either of its addresses.
func (b *LoopbackLogin) listen() (listeners []net.Listener, redirect string, err error) {
	host := cmp.Or(b.Host, "127.0.0.1")
	hosts := map[string][]string{"127.0.0.1": {"127.0.0.1"}, "::1": {"::1"}, "localhost": {"127.0.0.1", "::1"}}[host]
	if hosts == nil {
		return nil, "", fmt.Errorf("LoopbackLogin.Host is %q, not 127.0.0.1, ::1 or localhost", host)
	}
	port := strconv.Itoa(b.Port)
	for _, h := range hosts {
		ln, err := net.Listen("tcp", net.JoinHostPort(h, port))
		if err != nil && len(listeners) > 0 {
			break // there need not be both
		}
		if err != nil {
			return nil, "", err
		}
		listeners = append(listeners, ln)
		_, port, _ = net.SplitHostPort(ln.Addr().String())
	}
	return listeners, "http://" + net.JoinHostPort(host, port) + b.path(), nil
}

func (b *LoopbackLogin) path() string { return path.Join("/", cmp.Or(b.Path, "callback")) }

// receiver answers the browser. What is not the answer to the login has no effect:
// any page, and any program of this machine, can call it.
func (b *LoopbackLogin) receiver(l *Login, answer chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != b.path():
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
			return
		}
		err := l.Finish("?" + r.URL.RawQuery)
		switch {
		case errors.Is(err, ErrWrongState):
			writePage(w, http.StatusBadRequest, "Nothing happened", "This page is not the answer to the login that is in progress.")
			return
		case errors.Is(err, ErrLoginDeclined):
			writePage(w, http.StatusOK, "You said no", "The application was not allowed anything. You can close this page.")
		case err != nil:
			writePage(w, http.StatusOK, "The login failed", "The application tells you why. You can close this page.")
		default:
			writePage(w, http.StatusOK, "You are logged in", "You can close this page and go back to the application.")
		}
		select {
		case answer <- err:
		default: // the login has ended
		}
	})
}

// pageStyle is all the style of the page that a person sees last.
const pageStyle = `:root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1.5rem}h1{font-size:1.5rem;line-height:1.25}`

// writePage writes a page, of which nothing comes from the request.
func writePage(w http.ResponseWriter, status int, title, text string) {
	sum := sha256.Sum256([]byte(pageStyle))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
<h1>%[1]s</h1>
<p>%[3]s</p>
</main>
</body>
</html>
`, title, pageStyle, text)
}

// OpenBrowser shows an http or https URL in the person's browser. No shell sees it. It
// returns once the browser was asked, or could not be.
func OpenBrowser(ctx context.Context, url string) error {
	argv, err := browserCommand(runtime.GOOS, url)
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the program, which may be the browser itself
	t := time.NewTimer(openerTimeout)
	defer t.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("mcp: %s: %w", argv[0], err)
		}
	case <-t.C: // it is still at it
	case <-ctx.Done():
	}
	return nil
}

// browserCommand is the program that shows a URL, with its arguments.
func browserCommand(system, text string) ([]string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || !printable(text):
		return nil, errors.New("what a browser would show is not a URL")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Opaque != "":
		return nil, errors.New("a browser is given http and https URLs only")
	}
	switch text = u.String(); system {
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", text}, nil
	case "darwin":
		return []string{"open", text}, nil
	}
	return []string{"xdg-open", text}, nil
}

// A PromptLogin logs people in who have their browser on another machine: it shows
// them the URL, and they paste the one that they were sent to.
type PromptLogin struct {
	In  io.Reader // a line is read for each login; nil means os.Stdin
	Out io.Writer // nil means os.Stderr
	// RedirectURI is where people are sent to; nothing needs to answer there. Empty means
	// http://localhost/callback.
	RedirectURI string

	once sync.Once     // makes the next two
	turn chan struct{} // has room for one login, which line belongs to
	in   *bufio.Reader
	line chan pasted // what is being read; nil: nothing
}

// pasted is a line, or why there is none.
type pasted struct {
	text string
	err  error
}

// Login is a function for OAuthTransport.Login. It ends with its context. As the reading
// of a line cannot be ended, that goes on then, and the line is the next login's. Logins
// at the same time come one after the other.
func (p *PromptLogin) Login(ctx context.Context, l *Login) error {
	p.once.Do(func() {
		p.turn, p.in = make(chan struct{}, 1), bufio.NewReader(cmp.Or[io.Reader](p.In, os.Stdin))
	})
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	u, err := l.Begin(ctx, cmp.Or(p.RedirectURI, "http://localhost/callback"))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmp.Or[io.Writer](p.Out, os.Stderr), "To log in to %s, open this page in a browser:\n\n%s\n\nThen paste the address of the page that you are sent to, even if it cannot be shown:\n", l.Server, u)
	if err != nil {
		return err
	}
	if p.line == nil {
		line := make(chan pasted, 1)
		p.line = line
		go func() { line <- readPasted(p.in) }() // ends with the line, or with the input
	}
	select {
	case got := <-p.line:
		p.line = nil
		if got.err != nil {
			return fmt.Errorf("reading what is pasted: %w", got.err)
		}
		return l.Finish(got.text)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func readPasted(in *bufio.Reader) pasted {
	var text []byte
	for {
		part, more, err := in.ReadLine()
		text = append(text, part...)
		switch {
		case err != nil:
			return pasted{err: err}
		case len(text) > maxCallback:
			return pasted{err: fmt.Errorf("a line of more than %d bytes", maxCallback)}
		case !more:
			return pasted{text: string(text)}
		}
	}
}
