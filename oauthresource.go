package mcp

// The resource server (Authorization, Protected Resource; RFC 6750, 9728 and 9449): an
// MCP server that takes access tokens of authorization servers it names.
//
// What happens to a request:
//
//	Authorize        for HTTPHandler.Authorize, before the body is read
//	  credential     one token in one Authorization header, or none
//	  Verify         what the token says: a JWTVerifier, an IntrospectionVerifier, the
//	                 embedded authorization server, or the application's own
//	  judge          audience, time, how it is bound
//	  prove          the proof of possession, for tokens that are bound to a key
//	  Required       scopes that everything needs
//	Require          scopes that one method or tool needs, when it is known
//
// A refusal says in WWW-Authenticate where the metadata document is, from which a client
// learns where to get a token. The reasons are for the log. streamable.go calls Authorize
// as a function of the application, and hands the Identity to the Request.

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	schemeBearer = "Bearer"
	schemeDPoP   = "DPoP"

	maxScopeList  = 4 << 10          // bytes of the scopes in a challenge
	maxLeeway     = time.Minute      // that clocks may differ
	maxAccess     = 16 << 10         // bytes of an access token
	defaultCached = 10_000           // tokens
	cachedFor     = time.Minute      // at most, until a token is verified again
	introspected  = 10 * time.Second // until a token is introspected again
)

// ErrInvalidToken is what the error of a Verifier is to errors.Is if the token is to
// blame, and not the means of verifying it.
var ErrInvalidToken = errors.New("mcp: invalid access token")

func invalidToken(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalidToken, fmt.Errorf(format, args...))
}

// A Verifier tells what an access token says, which nobody but its issuer can have
// said. It is called for each HTTP request and must be safe for concurrent use; r is
// the request, for tokens that are bound to something in it. If the token is to blame,
// the error wraps [ErrInvalidToken], and the client is told to get another one; with
// any other error it is told to come back later. Audience, expiry and scopes are judged
// by the caller. Errors must not contain the token.
type Verifier func(ctx context.Context, token string, r *http.Request) (*TokenInfo, error)

// A TokenInfo is what a verified access token says. It must not be changed.
type TokenInfo struct {
	Issuer     string          // the authorization server
	Subject    string          // whom it speaks for; "": only for its client
	ClientID   string          // the client that it was issued to; "": not said
	Audience   []string        // whom it is for
	Scopes     []string        // what it lets its bearer do
	Expires    time.Time       // zero: not said
	NotBefore  time.Time       // zero: not said
	Thumbprint string          // of the key that it is bound to (RFC 9449, section 6); "": not bound
	Claims     json.RawMessage // all that it says, as JSON; nil: not known

	AudienceChecked bool // the verifier has made sure that it is for this server
	NoExpiry        bool // tokens that do not say when they expire are fine
}

// A ProtectedResource lets callers with access tokens into an MCP server over HTTP. Its
// Authorize is for [HTTPHandler.Authorize]; it is itself the handler of the metadata
// document, to be mounted at each of MetadataPaths:
//
//	h := &mcp.HTTPHandler{Server: s, Authorize: p.Authorize}
//	mux.Handle("/mcp", h)
//	for _, path := range p.MetadataPaths() {
//		mux.Handle(path, p)
//	}
//
// Handlers find who calls in Request.Identity. The token is for this server: what it calls
// in turn needs a token of its own (Authorization, Access Token Privilege Restriction).
//
// Resource, AuthorizationServers and Verify must be set; fields must not change once it
// serves. With fields that are wrong all requests are refused with status 500, and the
// reason is logged. It is safe for concurrent use and starts no goroutine.
type ProtectedResource struct {
	// Resource is the URL of the MCP endpoint as clients know it. It is never taken
	// from a request.
	Resource string
	// AuthorizationServers are the issuers of tokens, each exactly as in its metadata.
	AuthorizationServers []string
	// Verify tells what a token says.
	Verify Verifier

	// Audiences are other names of this server that tokens may be for, such as an
	// identifier that an authorization server uses in place of URLs. Default: none.
	Audiences []string
	// Scopes are those needed for basic use: the metadata document lists them, and
	// clients without a token are told to ask for them. Others are asked for when they
	// are needed, see Require. Default: what Required says.
	Scopes []string
	// Required are the scopes without which nothing is served. Default: none.
	Required []string
	// Satisfies reports whether the granted scopes cover one that is needed, for scopes
	// that include others. nil: if it is one of them.
	Satisfies func(granted []string, scope string) bool
	// NeededOnly makes refusals name just the scopes that the request needs. Default:
	// those granted are repeated, for clients that ask for what they are told and no
	// more (Authorization 2025-11-25, Runtime Insufficient Scope Errors).
	NeededOnly bool
	// Leeway is how far clocks may differ, at most one minute; 0 means that, negative
	// not at all.
	Leeway time.Duration
	// Public reports whether a request without a token is served all the same, without
	// an Identity. Require still asks for a token. A session that was opened so belongs
	// to the first who comes to it with a token. nil: none is.
	Public func(*http.Request) bool
	// DPoP says how tokens are taken that are bound to a key of their client (RFC
	// 9449). nil: they are not.
	DPoP *DPoPOptions

	// Name and Documentation (a URL) tell people about the server, in the metadata
	// document. Default: nothing.
	Name, Documentation string
	// Log is told why tokens were refused, without showing them. nil: nobody is.
	Log *slog.Logger

	once  sync.Once
	ready *guard // made once; by pointer: not shown by what prints structs
	fault error  // why it could not be made
}

// DPoPOptions say how tokens are taken that are bound to a key (RFC 9449).
type DPoPOptions struct {
	// Required refuses tokens that are not bound.
	Required bool
	// Algorithms are those of proofs. Default: all that [GenerateKey] knows.
	Algorithms []string
	// Nonces demands in each proof a nonce of this server, which is good for five
	// minutes: so nobody can make proofs in advance. Nothing is stored for it.
	Nonces bool
	// NonceKey is what nonces are made with, at least 32 bytes. Replicas need the same
	// one. Default: random.
	NonceKey []byte `json:"-"`
	// Replays is how many proofs are remembered, so that none is taken twice; of more
	// in ten minutes the oldest are forgotten. Default: none are; a proof is then good
	// for this server, method and token for five minutes.
	Replays int
}

// Format shows nothing: the key of nonces is a secret.
func (o DPoPOptions) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("DPoPOptions")) }

// LogValue shows nothing, likewise.
func (o DPoPOptions) LogValue() slog.Value { return slog.StringValue("DPoPOptions") }

// A guard is what a ProtectedResource works with.
type guard struct {
	id       string // canonical
	origin   string
	metadata string   // the URL of the document
	paths    []string // where the document is served
	document []byte
	scopes   []string // that clients without a token are told to ask for
	schemes  []string // that are taken
	algs     []string // of proofs
	leeway   time.Duration
	nonces   *nonceMint   // nil: none are demanded
	replays  *proofMemory // nil: none are remembered
	log      *slog.Logger
}

// use makes the guard, once.
func (p *ProtectedResource) use() (*guard, error) {
	p.once.Do(func() { p.ready, p.fault = p.prepare() })
	if p.fault != nil {
		if p.Log != nil {
			p.Log.Error("mcp: nobody is let in", "error", p.fault)
		}
		return nil, Errorf(CodeInternalError, "authorization is not set up well").WithHTTP(http.StatusInternalServerError, nil)
	}
	return p.ready, nil
}

func (p *ProtectedResource) prepare() (*guard, error) {
	wrong := func(field string, err error) (*guard, error) {
		return nil, fmt.Errorf("mcp: ProtectedResource.%s: %w", field, err)
	}
	u, err := checkResource(p.Resource)
	if err != nil {
		return wrong("Resource", err)
	}
	if len(p.AuthorizationServers) == 0 {
		return wrong("AuthorizationServers", errors.New("there is none"))
	}
	for _, issuer := range p.AuthorizationServers {
		if err := checkChosen(issuer, false); err != nil {
			return wrong("AuthorizationServers", err)
		}
	}
	if p.Verify == nil {
		return wrong("Verify", errors.New("missing"))
	}
	scopes := unionScopes(p.Required, p.Scopes)
	if err := checkScopes(scopes); err != nil {
		return wrong("Scopes and Required", err)
	}
	if p.Leeway > maxLeeway {
		return wrong("Leeway", fmt.Errorf("%v, want at most %v", p.Leeway, maxLeeway))
	}
	g := &guard{id: u.String(), origin: origin(u), metadata: wellKnownResource(u)[0], scopes: scopes,
		leeway: max(0, cmp.Or(p.Leeway, maxLeeway)), schemes: []string{schemeBearer}, log: cmp.Or(p.Log, slog.New(slog.DiscardHandler))}
	for _, at := range wellKnownResource(u) {
		path, _, _ := strings.Cut(strings.TrimPrefix(at, u.Scheme+"://"+u.Host), "?")
		g.paths = append(g.paths, path)
	}
	if err := g.setDPoP(p.DPoP); err != nil {
		return wrong("DPoP", err)
	}
	g.document, err = marshal(&ProtectedResourceMetadata{Resource: g.id, AuthorizationServers: p.AuthorizationServers,
		ScopesSupported: scopes, BearerMethodsSupported: []string{"header"}, ResourceName: p.Name, ResourceDocumentation: p.Documentation,
		DPoPSigningAlgValuesSupported: g.algs, DPoPBoundAccessTokensRequired: p.DPoP != nil && p.DPoP.Required})
	return g, err
}

func (g *guard) setDPoP(o *DPoPOptions) error {
	if o == nil {
		return nil
	}
	g.schemes = append(g.schemes, schemeDPoP)
	if o.Required {
		g.schemes = g.schemes[1:]
	}
	var err error
	if g.algs, err = allowedAlgorithms(o.Algorithms, algorithmNames()); err != nil {
		return err
	}
	if o.Nonces {
		key := o.NonceKey
		if key == nil {
			key = make([]byte, 32)
			_, _ = rand.Read(key) // never fails
		}
		if len(key) < 32 {
			return fmt.Errorf("NonceKey has %d bytes, want at least 32", len(key))
		}
		g.nonces = &nonceMint{key}
	}
	if o.Replays > 0 {
		g.replays = &proofMemory{ring: make([][32]byte, o.Replays), seen: map[[32]byte]bool{}}
	}
	return nil
}

func algorithmNames() []string {
	var names []string
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// allowedAlgorithms are those that the application allows, or else the usual ones.
func allowedAlgorithms(list, usual []string) ([]string, error) {
	for _, name := range list {
		if findAlgorithm(name) == nil {
			return nil, fmt.Errorf("algorithm %.40q is not one of %v", name, algorithmNames())
		}
	}
	if len(list) == 0 {
		return usual, nil
	}
	return list, nil
}

// checkResource reads the URL of an MCP endpoint (RFC 9728, section 1.2).
func checkResource(text string) (*url.URL, error) {
	if err := checkChosen(text, true); err != nil {
		return nil, err
	}
	id, err := canonicalResource(text)
	if err != nil {
		return nil, err
	}
	return url.Parse(id)
}

// checkChosen reports why a URL that the application has set cannot be one of
// authorization: http is for this machine only.
func checkChosen(text string, query bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || !printable(text) || u.Host == "" || u.Opaque != "":
		return errors.New("not an absolute URL")
	case u.User != nil || strings.Contains(text, "#") || u.RawQuery != "" && !query:
		return fmt.Errorf("%.200q has user info, a query or a fragment", bare(u))
	case !strings.EqualFold(u.Scheme, "https") && !(strings.EqualFold(u.Scheme, "http") && isLoopback(u.Hostname())):
		return fmt.Errorf("%.200q is not https", bare(u))
	}
	return nil
}

// checkScopes refuses what is no scope of a resource (Authorization, Refresh Tokens).
func checkScopes(scopes []string) error {
	for _, s := range scopes {
		switch {
		case !isScope(s):
			return fmt.Errorf("%.100q is not a scope", s)
		case s == scopeOffline:
			return fmt.Errorf("%s is between clients and authorization servers, a resource does not need it", s)
		}
	}
	if n := len(strings.Join(scopes, " ")); len(scopes) > maxScopes || n > maxScopeList {
		return fmt.Errorf("%d scopes of %d bytes, clients read at most %d of %d", len(scopes), n, maxScopes, maxScopeList)
	}
	return nil
}

// MetadataPaths returns where the metadata document must be served, at the origin of
// Resource (RFC 9728, section 3.1): below the well-known name the path of Resource, and
// the name alone, where clients look next and which only one resource of an origin can
// have. nil if fields are not set well.
func (p *ProtectedResource) MetadataPaths() []string {
	g, err := p.use()
	if err != nil {
		return nil
	}
	return slices.Clone(g.paths)
}

// ServeHTTP serves the metadata document to everybody, pages of other sites too (RFC
// 9728, section 3.2).
func (p *ProtectedResource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	g, err := p.use()
	switch {
	case err != nil:
		http.Error(w, "not set up well", http.StatusInternalServerError)
	case r.Method == http.MethodOptions:
		header.Set("Access-Control-Allow-Methods", "GET, HEAD")
		header.Set("Access-Control-Allow-Headers", "*")
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
	default:
		startJSON(w, len(g.document), http.StatusOK, nil)
		_, _ = w.Write(g.document) // of HEAD net/http sends none
	}
}

// Authorize establishes from the Authorization header who calls. It is for
// [HTTPHandler.Authorize], and also serves for other handlers: its errors are *Error
// with the status and the headers of the answer in them.
func (p *ProtectedResource) Authorize(r *http.Request) (*Identity, error) {
	g, err := p.use()
	if err != nil {
		return nil, err
	}
	c, ok := g.credential(r)
	switch {
	case !ok:
		return nil, g.refuse(http.StatusBadRequest, "", codeInvalidRequest, nil, "the request must carry one access token, in one Authorization header")
	case c.token == "" && p.Public != nil && p.Public(r):
		return nil, nil
	case c.token == "":
		return nil, g.refuse(http.StatusUnauthorized, "", "", g.scopes, "an access token is required")
	}
	info, err := p.verify(r, g, c)
	if err != nil {
		return nil, err
	}
	if c.scheme == schemeDPoP {
		if err := g.prove(r, c, info); err != nil {
			return nil, err
		}
	}
	identity := &Identity{Issuer: info.Issuer, Subject: cmp.Or(info.Subject, info.ClientID), ClientID: info.ClientID,
		Scopes: slices.Clip(info.Scopes), Claims: info.Claims,
		still: func(ctx context.Context) bool { return p.stillGood(ctx, r, g, c) }}
	if !info.Expires.IsZero() {
		identity.Expires = info.Expires.Add(g.leeway)
	}
	if !p.covers(info.Scopes, p.Required) {
		return nil, p.insufficient(g, c.scheme, identity, p.Required)
	}
	return identity, nil
}

// A credential is what an Authorization header carries.
type credential struct{ scheme, token string }

// Format shows no more than the scheme.
func (c credential) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(c.scheme + " …")) }

// credential finds the one access token of a request; false: what is there is
// malformed. What is no credential for this server is none at all.
func (g *guard) credential(r *http.Request) (c credential, ok bool) {
	lines := r.Header.Values("Authorization")
	if len(lines) == 0 {
		return credential{}, true
	}
	scheme, token, _ := strings.Cut(lines[0], " ")
	i := slices.IndexFunc(g.schemes, func(s string) bool { return strings.EqualFold(s, scheme) })
	token = strings.Trim(token, " ")
	switch {
	case len(lines) > 1:
		return credential{}, false
	case i < 0 || token == "":
		return credential{}, true
	case !isBearer(token) || r.URL.RawQuery != "" && r.URL.Query().Has("access_token"):
		return credential{}, false
	}
	return credential{g.schemes[i], token}, true
}

// verify finds out what a token says, and whether that lets its bearer in.
func (p *ProtectedResource) verify(r *http.Request, g *guard, c credential) (*TokenInfo, error) {
	info, err := p.ask(r.Context(), r, g, c)
	var e *Error
	switch {
	case err == nil:
		return info, nil
	case errors.Is(err, ErrInvalidToken):
		g.tell(slog.LevelInfo, "mcp: access token refused", c, err)
		return nil, g.refuse(http.StatusUnauthorized, c.scheme, codeInvalidToken, g.scopes, "the access token is not valid")
	case errors.As(err, &e) && e.status != 0:
		return nil, e
	}
	g.tell(slog.LevelError, "mcp: access tokens cannot be verified", c, err)
	return nil, Errorf(CodeInternalError, "access tokens cannot be verified now").
		WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"10"}})
}

func (p *ProtectedResource) ask(ctx context.Context, r *http.Request, g *guard, c credential) (*TokenInfo, error) {
	if len(c.token) > maxAccess {
		return nil, invalidToken("%d bytes, at most %d are read", len(c.token), maxAccess)
	}
	info, err := p.Verify(ctx, c.token, r)
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return nil, errors.New("the verifier returned nothing")
	}
	return info, p.judge(g, c.scheme, info)
}

// judge reports why a genuine token does not let its bearer in.
func (p *ProtectedResource) judge(g *guard, scheme string, info *TokenInfo) error {
	now := time.Now()
	switch {
	case !info.AudienceChecked && !slices.ContainsFunc(info.Audience, func(a string) bool { return p.isFor(g, a) }):
		return invalidToken("it is for %.200q, not for %s", info.Audience, g.id)
	case info.Expires.IsZero() && !info.NoExpiry:
		return invalidToken("it does not expire")
	case !info.Expires.IsZero() && !now.Before(info.Expires.Add(g.leeway)):
		return invalidToken("it expired at %s", info.Expires.UTC().Format(time.RFC3339))
	case info.NotBefore.After(now.Add(g.leeway)):
		return invalidToken("it is not valid before %s", info.NotBefore.UTC().Format(time.RFC3339))
	case info.Subject == "" && info.ClientID == "":
		return invalidToken("it speaks for nobody")
	case scheme == schemeBearer && info.Thumbprint != "":
		return invalidToken("it is bound to a key, and was sent without a proof")
	case scheme == schemeDPoP && info.Thumbprint == "":
		return invalidToken("it is not bound to a key")
	}
	return nil
}

// isFor reports whether an audience is this server. A slash at the end of the path makes
// no difference: some authorization servers add one.
func (p *ProtectedResource) isFor(g *guard, audience string) bool {
	return sameResource(audience, g.id) || sameResource(strings.TrimSuffix(audience, "/"), strings.TrimSuffix(g.id, "/")) ||
		slices.Contains(p.Audiences, audience)
}

// stillGood reports whether a token that was let in still would be. Trouble with finding
// that out is none with the token.
func (p *ProtectedResource) stillGood(ctx context.Context, r *http.Request, g *guard, c credential) bool {
	_, err := p.ask(ctx, r, g, c)
	if errors.Is(err, ErrInvalidToken) {
		g.tell(slog.LevelInfo, "mcp: access token no longer good", c, err)
		return false
	}
	return true
}

// tell logs what happened to a token, which it shows by a short hash only.
func (g *guard) tell(level slog.Level, what string, c credential, err error) {
	sum := sha256.Sum256([]byte(c.token))
	g.log.Log(context.Background(), level, what, "token", hex.EncodeToString(sum[:4]), "reason", strings.ReplaceAll(err.Error(), c.token, "…"))
}

// refuse makes an answer with challenges, one for each scheme that is taken. scheme is
// the one of the request, whose challenge comes first and is the one that has the
// error code; "" if it has none in particular.
func (g *guard) refuse(status int, scheme, code string, scopes []string, message string) *Error {
	var lines []string
	for _, s := range g.schemes {
		c := Challenge{s, map[string]string{"resource_metadata": g.metadata}}
		if len(scopes) > 0 {
			c.Params["scope"] = strings.Join(scopes, " ")
		}
		if s == schemeDPoP {
			c.Params["algs"] = strings.Join(g.algs, " ")
		}
		if code != "" && (scheme == "" || scheme == s) {
			c.Params["error"] = code
		}
		if lines = append(lines, c.String()); s == scheme {
			lines[0], lines[len(lines)-1] = lines[len(lines)-1], lines[0]
		}
	}
	return Errorf(CodeInvalidRequest, "%s", message).WithHTTP(status, http.Header{headerAsks: lines})
}

// covers reports whether scopes that are granted are enough.
func (p *ProtectedResource) covers(granted, needed []string) bool {
	if p.Satisfies == nil {
		return coversScopes(granted, needed)
	}
	return !slices.ContainsFunc(needed, func(s string) bool { return !p.Satisfies(granted, s) })
}

// insufficient refuses a caller with too few scopes, and names all that are needed at
// once (Authorization, Scope Challenge Handling).
func (p *ProtectedResource) insufficient(g *guard, scheme string, caller *Identity, needed []string, about ...any) *Error {
	scopes := needed
	if !p.NeededOnly {
		had := slices.DeleteFunc(slices.Clone(caller.Scopes), func(s string) bool { return !isScope(s) || s == scopeOffline })
		if all := unionScopes(needed, had); checkScopes(all) == nil {
			scopes = all
		}
	}
	g.log.With(about...).Info("mcp: insufficient scope", "issuer", caller.Issuer, "subject", caller.Subject, "client", caller.ClientID, "needed", needed)
	return g.refuse(http.StatusForbidden, scheme, codeInsufficientScope, scopes, "more scopes are needed: "+strings.Join(needed, " "))
}

// Require reports whether the caller of a request has all of the scopes; nil if so.
// Otherwise the error is to be returned, by an Interceptor or a handler, before the
// request has had any effect: it is then answered with status 403 and what the client
// needs to get a token with these scopes, or with 401 if there was no token at all. That
// is so as long as the reply has not begun: the handler must not have said anything, nor
// taken longer than HTTPHandler.DecideAfter. Requests that did not come over HTTP and
// have no Identity, such as those over stdio, have all scopes.
func (p *ProtectedResource) Require(r *Request, scopes ...string) error {
	if r.Identity == nil && r.Header == nil {
		return nil
	}
	if r.Identity != nil && p.covers(r.Identity.Scopes, scopes) {
		return nil
	}
	g, err := p.use()
	switch {
	case err != nil:
		return err
	case r.Identity == nil:
		needed := unionScopes(p.Required, scopes)
		if len(needed) == 0 {
			needed = g.scopes
		}
		return g.refuse(http.StatusUnauthorized, "", "", needed, "an access token is required")
	}
	c, _ := g.credential(&http.Request{Header: r.Header, URL: &url.URL{}})
	return p.insufficient(g, c.scheme, r.Identity, scopes, "method", r.Method, "request", r.ID)
}

// prove checks the proof of possession of the key that a token is bound to.
func (g *guard) prove(r *http.Request, c credential, info *TokenInfo) error {
	err := g.checkProof(r, c, info)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errUseNonce):
		e := g.refuse(http.StatusUnauthorized, c.scheme, codeUseNonce, nil, "the proof needs a nonce of this server")
		e.header.Set(headerNonce, g.nonces.mint(time.Now()))
		return e
	}
	g.tell(slog.LevelInfo, "mcp: proof of possession refused", c, err)
	return g.refuse(http.StatusUnauthorized, c.scheme, codeInvalidProof, nil, "the proof of possession is not valid")
}

func (g *guard) checkProof(r *http.Request, c credential, info *TokenInfo) error {
	proofs := r.Header.Values(headerProof)
	if len(proofs) != 1 {
		return fmt.Errorf("%d DPoP headers, want one", len(proofs))
	}
	now := time.Now()
	check := &proofCheck{method: r.Method, url: g.id, token: c.token, jkt: info.Thumbprint, algs: g.algs, now: now}
	if g.nonces != nil {
		check.nonce = func(nonce string) bool { return g.nonces.fresh(nonce, now) }
	}
	jkt, jti, err := check.check(proofs[0])
	if at := g.urlOf(r); err != nil && !errors.Is(err, errUseNonce) && at != g.id {
		check.url = at
		jkt, jti, err = check.check(proofs[0])
	}
	if err == nil && g.replays != nil && !g.replays.first(jkt, jti) {
		err = errors.New("it was used before")
	}
	return err
}

// urlOf is the URL of a request: other endpoints of the server, such as that of the old
// transport, have a path of their own. The origin is never the request's.
func (g *guard) urlOf(r *http.Request) string {
	u, err := url.ParseRequestURI(r.RequestURI) // r.URL may lack what a mux has stripped
	if err != nil {
		return g.id
	}
	return g.origin + u.EscapedPath()
}

// A nonceMint makes nonces that it knows again without keeping them: the time, and a MAC
// of it.
type nonceMint struct{ key []byte }

func (m *nonceMint) mint(now time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(now.Unix()))
	mac := hmac.New(sha256.New, m.key)
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(b))
}

// fresh reports whether a nonce was made here, in the last five minutes.
func (m *nonceMint) fresh(nonce string, now time.Time) bool {
	b, ok := decode64(nonce)
	if !ok || len(b) != 8+sha256.Size {
		return false
	}
	at := time.Unix(int64(binary.BigEndian.Uint64(b)), 0)
	age := now.Sub(at)
	return hmac.Equal([]byte(m.mint(at)), []byte(nonce)) && -maxLeeway <= age && age <= proofWindow
}

// A proofMemory knows the newest proofs, by a hash of each.
type proofMemory struct {
	mu   sync.Mutex // guards the fields below
	ring [][32]byte
	next int
	seen map[[32]byte]bool
}

// first reports whether a proof comes for the first time.
func (m *proofMemory) first(jkt, jti string) bool {
	h := sha256.Sum256([]byte(jkt + " " + jti))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[h] {
		return false
	}
	delete(m.seen, m.ring[m.next])
	m.ring[m.next], m.seen[h] = h, true
	m.next = (m.next + 1) % len(m.ring)
	return true
}

// A tokenCache remembers for a while what tokens say, by a hash of each. It has two
// generations; when the younger is full, the older is forgotten.
type tokenCache struct {
	mu         sync.Mutex // guards the fields below
	young, old map[[32]byte]cachedToken
}

type cachedToken struct {
	info  *TokenInfo
	until time.Time
}

func (c *tokenCache) get(h [32]byte, now time.Time) *TokenInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.young[h]
	if !ok {
		t = c.old[h]
	}
	if now.Before(t.until) {
		return t.info
	}
	return nil
}

// put keeps what a token says; size 0 means the usual one, negative none.
func (c *tokenCache) put(h [32]byte, info *TokenInfo, until time.Time, size int) {
	if size < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || len(c.young) >= (cmp.Or(size, defaultCached)+1)/2 {
		c.young, c.old = map[[32]byte]cachedToken{}, c.young
	}
	c.young[h] = cachedToken{info, until}
}

// A JWTVerifier verifies access tokens that are JWTs (RFC 9068). Its method Verify is a
// [Verifier]. Fields must not change once it serves. It is safe for concurrent use and
// starts no goroutine.
//
// Keys are fetched when they are first needed, again after ten minutes, and for a key
// that is not among them, at most once in 30 seconds. While that fails, those known stay
// good for a day.
type JWTVerifier struct {
	// Issuers has the URL of the keys (JWKS) of each issuer whose tokens are taken; an
	// empty one is found in the issuer's metadata.
	Issuers map[string]string
	// Keys has the keys (a JWKS) of issuers for which nothing is to be fetched.
	Keys map[string]json.RawMessage
	// Algorithms are those of signatures. Default: RS256, ES256, EdDSA. All of
	// [GenerateKey] are possible.
	Algorithms []string
	// AnyType takes tokens that do not say to be access tokens ("typ": "at+jwt"), as
	// older authorization servers issue them. What says to be something else, or looks
	// like an ID token, is refused still. Default: they are refused.
	AnyType bool
	// Scopes reads the scopes of a token. nil: from "scope", else from "scp".
	Scopes func(claims json.RawMessage) []string
	// Outbound fetches keys and metadata. nil: over connections of our own, which are
	// not made to private and special addresses but those of the URLs in Issuers.
	Outbound http.RoundTripper
	// AllowPrivate lets keys be fetched from anywhere, over http too. For development.
	AllowPrivate bool
	// CacheSize is how many tokens are remembered, for at most one minute; 0 means
	// 10,000, negative none.
	CacheSize int

	once   sync.Once
	algs   []string
	finder map[string]func(ctx context.Context, kid string) ([]*publicKey, error) // of keys, by issuer
	fault  error
	cache  tokenCache
}

// Verify tells what an access token says.
func (v *JWTVerifier) Verify(ctx context.Context, token string, _ *http.Request) (*TokenInfo, error) {
	if v.once.Do(v.prepare); v.fault != nil {
		return nil, v.fault
	}
	hash, now := sha256.Sum256([]byte(token)), time.Now()
	if info := v.cache.get(hash, now); info != nil {
		return info, nil
	}
	t, err := parseJWT(token)
	if err != nil {
		return nil, invalidToken("%w", err)
	}
	if err := v.checkHeader(t); err != nil {
		return nil, invalidToken("%w", err)
	}
	if err := v.checkSignature(ctx, t); err != nil {
		return nil, err
	}
	info, err := v.read(t)
	if err != nil {
		return nil, invalidToken("%w", err)
	}
	v.cache.put(hash, info, now.Add(cachedFor), v.CacheSize)
	return info, nil
}

func (v *JWTVerifier) prepare() {
	v.finder = map[string]func(context.Context, string) ([]*publicKey, error){}
	v.algs, v.fault = allowedAlgorithms(v.Algorithms, []string{"RS256", "ES256", "EdDSA"})
	for issuer, set := range v.Keys {
		keys, err := parseJWKS(set)
		if err != nil {
			v.fault = fmt.Errorf("mcp: JWTVerifier.Keys of %.200q: %w", issuer, err)
		}
		v.finder[issuer] = func(_ context.Context, kid string) ([]*publicKey, error) {
			return slices.DeleteFunc(slices.Clone(keys), func(k *publicKey) bool { return kid != "" && k.id != kid }), nil
		}
	}
	for issuer, at := range v.Issuers {
		if err := checkChosen(cmp.Or(at, issuer), at != ""); err != nil && !v.AllowPrivate {
			v.fault = fmt.Errorf("mcp: JWTVerifier.Issuers: %w", err)
			return
		}
		v.finder[issuer] = v.ring(issuer, at).keys
	}
}

// ring makes the set of keys of an issuer, which are at a URL or where its metadata says.
func (v *JWTVerifier) ring(issuer, at string) *keyRing {
	out := &outbound{rt: v.Outbound, anywhere: v.AllowPrivate}
	if u, err := url.Parse(cmp.Or(at, issuer)); err == nil {
		out.exempt, out.local = origin(u), isLoopback(u.Hostname())
	}
	return newKeyRing(out, func(ctx context.Context) (string, error) {
		if at != "" {
			return at, nil
		}
		m, tries := discoverServer(ctx, out, issuer, false)
		switch {
		case m == nil:
			var errs []error
			for _, e := range tries {
				errs = append(errs, e)
			}
			return "", errors.Join(errs...)
		case m.JWKSURI == "":
			return "", fmt.Errorf("the metadata of %.200q has no jwks_uri", issuer)
		}
		return m.JWKSURI, nil
	})
}

// checkHeader refuses what was signed to be something else (RFC 9068, section 4).
func (v *JWTVerifier) checkHeader(t *jwt) error {
	if !slices.Contains(v.algs, t.alg) {
		return fmt.Errorf("algorithm %s is not one of %v", t.alg, v.algs)
	}
	switch strings.TrimPrefix(strings.ToLower(t.typ), "application/") {
	case "at+jwt":
		return nil
	case "", "jwt":
		if !v.AnyType {
			return fmt.Errorf("type %.40q, want at+jwt", t.typ)
		}
	default:
		return fmt.Errorf("type %.40q is not that of an access token", t.typ)
	}
	for _, claim := range []string{"nonce", "at_hash", "c_hash"} {
		if t.claims.member(claim).present() {
			return fmt.Errorf("it has %s, as ID tokens have", claim)
		}
	}
	return nil
}

// checkSignature finds the key of the issuer that has signed a token.
func (v *JWTVerifier) checkSignature(ctx context.Context, t *jwt) error {
	find := v.finder[t.text("iss")]
	if find == nil || t.text("iss") == "" {
		return invalidToken("issuer %.200q is not known", t.text("iss"))
	}
	keys, err := find(ctx, t.kid)
	if err != nil {
		return fmt.Errorf("mcp: the keys of %s: %w", t.text("iss"), err)
	}
	err = fmt.Errorf("there is no key %.100q", t.kid)
	for _, k := range keys {
		if err = t.verify(k); err == nil {
			return nil
		}
	}
	return invalidToken("%w", err)
}

// read reads the claims of a token (RFC 9068, section 2.2).
func (v *JWTVerifier) read(t *jwt) (*TokenInfo, error) {
	info := &TokenInfo{Issuer: t.text("iss"), Subject: t.text("sub"), ClientID: cmp.Or(t.text("client_id"), t.text("azp")),
		Claims: t.claims.raw()}
	if err := info.readClaims(t); err != nil {
		return nil, err
	}
	switch {
	case info.Expires.IsZero():
		return nil, errors.New("exp is missing")
	case v.Scopes != nil:
		info.Scopes = v.Scopes(info.Claims)
	}
	return info, nil
}

// readClaims reads what JWTs and the answers of introspection endpoints have in common.
func (info *TokenInfo) readClaims(t *jwt) error {
	ok := true
	if t.claims.member("aud").present() {
		if info.Audience, ok = t.audience(); !ok {
			return errors.New("aud is neither a string nor an array of strings")
		}
	}
	for _, claim := range []string{"exp", "nbf", "iat"} {
		at, ok := t.time(claim)
		switch {
		case !ok && t.claims.member(claim).present():
			return fmt.Errorf("%s is not a time", claim)
		case claim == "exp":
			info.Expires = at
		case at.After(info.NotBefore):
			info.NotBefore = at
		}
	}
	if cnf := t.claims.member("cnf"); cnf.present() {
		if info.Thumbprint = cnf.member("jkt").str(); info.Thumbprint == "" {
			return errors.New("it is bound to something that cannot be checked")
		}
	}
	info.Scopes = t.scopes()
	return nil
}

// An IntrospectionVerifier asks the authorization server about each access token (RFC
// 7662), which may be opaque then. Its method Verify is a [Verifier]. Endpoint and
// Client must be set; fields must not change once it serves. It is safe for concurrent
// use and starts no goroutine. A token that is revoked is good until it is asked about
// again.
type IntrospectionVerifier struct {
	// Endpoint is the URL of the introspection endpoint.
	Endpoint string
	// Client is as whom this server asks: ID and Secret, or ID and Key. By default it
	// authenticates with HTTP Basic, or with the key.
	Client OAuthClient
	// Issuer is whose tokens these are. Answers need not say it; those that say another
	// one are refused. Default: what the answer says.
	Issuer string
	// AudienceChecked says that the endpoint knows no tokens but those for this server.
	// Default: its answers must say whom a token is for.
	AudienceChecked bool
	// NoExpiry takes tokens of which the endpoint does not say when they expire.
	NoExpiry bool
	// Scopes reads the scopes of an answer. nil: from "scope".
	Scopes func(answer json.RawMessage) []string
	// CacheFor is how long an answer is good, at most one minute; 0 means 10 seconds,
	// negative for the one request. CacheSize is how many are remembered; 0 means 10,000.
	CacheFor  time.Duration
	CacheSize int
	// Outbound makes the requests; nil: each over a connection of its own.
	Outbound http.RoundTripper
	// AllowPrivate lets Endpoint be http, on another machine. For development.
	AllowPrivate bool

	cache tokenCache
}

// Verify tells what the authorization server says of an access token.
func (v *IntrospectionVerifier) Verify(ctx context.Context, token string, _ *http.Request) (*TokenInfo, error) {
	hash, now := sha256.Sum256([]byte(token)), time.Now()
	if info := v.cache.get(hash, now); info != nil {
		return info, nil
	}
	answer, err := v.ask(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("mcp: introspection: %w", err)
	}
	if answer.member("active").kind() != kindTrue {
		return nil, invalidToken("it is not active")
	}
	info, err := v.read(answer)
	if err != nil {
		return nil, invalidToken("%w", err)
	}
	if v.CacheFor >= 0 {
		v.cache.put(hash, info, now.Add(min(cmp.Or(v.CacheFor, introspected), cachedFor)), v.CacheSize)
	}
	return info, nil
}

// ask returns the answer of the endpoint, which says at least whether the token is active.
func (v *IntrospectionVerifier) ask(ctx context.Context, token string) (value, error) {
	if err := checkChosen(v.Endpoint, true); err != nil && !v.AllowPrivate {
		return value{}, fmt.Errorf("the Endpoint: %w", err)
	}
	c := &clientAuth{id: v.Client.ID, secret: v.Client.Secret, key: v.Client.Key, audience: cmp.Or(v.Issuer, v.Endpoint),
		method: cmp.Or(v.Client.Method, authBasic)}
	if v.Client.Method == "" && v.Client.Key != nil {
		c.method = authJWT
	}
	if v.Client.ID == "" || v.Client.Secret == "" && v.Client.Key == nil {
		return value{}, errors.New("Client has no ID, or neither Secret nor Key")
	}
	form, header := url.Values{"token": {token}, "token_type_hint": {"access_token"}}, http.Header{}
	if err := c.sign(form, header); err != nil {
		return value{}, err
	}
	out := &outbound{rt: v.Outbound, anywhere: true} // the application has chosen where
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	resp, data, err := out.post(ctx, v.Endpoint, "application/x-www-form-urlencoded", []byte(form.Encode()), header)
	if err != nil {
		return value{}, err
	}
	if resp.StatusCode != http.StatusOK {
		return value{}, oauthError(v.Endpoint, resp, data, append(secretsOf(form, header, c), token)...)
	}
	ix, err := scan(data)
	if err != nil {
		return value{}, errors.New("the answer is not JSON, or repeats a name")
	}
	if k := ix.root().member("active").kind(); k != kindTrue && k != kindFalse {
		return value{}, errors.New("the answer does not say whether the token is active")
	}
	return ix.root(), nil
}

// read reads the members of an answer (RFC 7662, section 2.2).
func (v *IntrospectionVerifier) read(answer value) (*TokenInfo, error) {
	t := &jwt{claims: answer}
	info := &TokenInfo{Issuer: cmp.Or(v.Issuer, t.text("iss")), Subject: t.text("sub"), ClientID: t.text("client_id"),
		AudienceChecked: v.AudienceChecked, NoExpiry: v.NoExpiry, Claims: answer.raw()}
	if v.Issuer != "" && t.text("iss") != "" && t.text("iss") != v.Issuer {
		return nil, fmt.Errorf("its issuer is %.200q", t.text("iss"))
	}
	// Endpoints tell of refresh tokens, too.
	kind, use := strings.ToLower(t.text("token_type")), t.text("token_use")
	if kind != "" && kind != "bearer" && kind != "dpop" && kind != "access_token" || use != "" && !strings.HasPrefix(use, "access") {
		return nil, fmt.Errorf("it is of type %.40q, for use as %.40q", kind, use)
	}
	if err := info.readClaims(t); err != nil {
		return nil, err
	}
	if v.Scopes != nil {
		info.Scopes = v.Scopes(info.Claims)
	}
	return info, nil
}
