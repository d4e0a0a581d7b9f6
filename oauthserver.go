package mcp

// The embedded authorization server: what revision 2025-03-26 lets an MCP server be,
// and what the metadata of a protected resource may name in all later ones. OAuth 2.1
// with PKCE, client metadata documents, dynamic registration, DPoP, and the login at
// a third party. What a person's login goes through:
//
//	authorize      what is asked for, by which client, for whom
//	  consent      the page that asks the person, unless that was answered before
//	decide         the answer; it comes from the browser that saw the page
//	  delegate     to the third party, if there is one
//	callback       and back from there
//	finish         a code, to the client's redirect URI
//	token          the code, once, becomes a grant: access and refresh tokens
//
// All state is records in an AuthorizationStore. A grant is the root of all tokens
// that come from one consent: none is valid when it is gone. It stands on oauth.go and
// jose.go, knows nothing of MCP's messages, and is mounted beside an HTTPHandler.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultCode     = time.Minute
	maxCode         = 10 * time.Minute
	defaultAccess   = time.Hour
	defaultRefresh  = 30 * 24 * time.Hour
	pendingLifetime = 10 * time.Minute // for a person to decide, or to log in elsewhere
	approvalKept    = 90 * 24 * time.Hour
	clientUnused    = time.Hour // registrations that never got a token
	clientKept      = 90 * 24 * time.Hour
	jwtLeeway       = time.Minute
	clientJWT       = 5 * time.Minute // the longest that a client assertion may be valid
	bearerJWT       = time.Hour       // likewise, the assertion that is a grant

	maxRequest      = 64 << 10 // bytes of the body of a request
	maxQuery        = 8 << 10  // bytes of an authorization request
	maxRedirectURIs = 20
	maxClientRecord = 8 << 10
	maxName         = 100 // characters of a client's name that are shown
	maxKind         = 32 << 20
	recordCost      = 256 // bytes that a record costs beside its key and data

	documentLimit   = 5 << 10 // bytes of a client ID metadata document
	documentWait    = 5 * time.Second
	documentDefault = 5 * time.Minute // it is kept, if its server does not say how long
	documentKept    = 24 * time.Hour
	maxDocuments    = 1000

	workloadPrefix = "workload:" // of the subjects of workloads

	typIDJAG     = "oauth-id-jag+jwt"
	profileIDJAG = "urn:ietf:params:oauth:grant-profile:id-jag"
)

// Kinds of records.
const (
	kindClient   = "client"   // by id
	kindConsent  = "consent"  // a page that is shown, by its token
	kindLogin    = "login"    // a login at the third party, by its state
	kindApproval = "approval" // what a person has allowed a client
	kindCode     = "code"
	kindGrant    = "grant"  // by id
	kindAccess   = "access" // an opaque token
	kindSeen     = "seen"   // an assertion that was used
	kindSecret   = "secret"
)

// An AuthorizationServer lets people and machines authorize clients to use protected
// resources, such as the MCP servers of the same process (Authorization; OAuth 2.1).
// It serves its origin's /.well-known/oauth-authorization-server, /authorize,
// /consent, /callback, /token, /register, /revoke and /jwks; mount it at "/".
// Issuer, Resources, and Authenticate or Upstream must be set; the zero values of the
// other fields are right. Fields must not change once it serves. It has no
// goroutines of its own. It is safe for concurrent use.
type AuthorizationServer struct {
	// Issuer is the public origin, such as "https://mcp.example.com", without a path
	// and a slash at the end. It must be https, except at localhost.
	Issuer string
	// Resources are the canonical URLs of the MCP servers that tokens are issued for.
	// The first one is meant by clients that name none, if it is the only one.
	Resources []string

	// Authenticate says who uses the browser. If it is nobody yet, it answers the request
	// itself, with a form or a redirect, and returns false; afterwards the browser
	// must come back to the request's URL. nil: the login is at Upstream or, without that,
	// there are only machines.
	Authenticate func(w http.ResponseWriter, r *http.Request) (user string, ok bool)
	// Upstream is the third party at which people log in. nil: none.
	Upstream *Upstream

	// Scopes are the scopes there are, with what each lets a client do, in words for
	// the consent page. Others are not granted.
	Scopes map[string]string
	// DefaultScopes are granted to requests that name none. nil: none.
	DefaultScopes []string
	// FilterScopes narrows the scopes that a client may have for a user. nil: all.
	FilterScopes func(user, clientID string, scopes []string) []string

	// Key signs access tokens as JWTs (RFC 9068), which others can verify with /jwks.
	// FormerKeys are still published and accepted. nil: tokens are opaque, and only
	// Verify can tell what they are.
	Key        *Key
	FormerKeys []*Key

	// Clients are registered beforehand. NoRegistration turns off dynamic registration
	// (RFC 7591); InitialAccessToken, if set, is what it takes to register.
	Clients            []RegisteredClient
	NoRegistration     bool
	InitialAccessToken string
	// NoClientDocuments refuses client ids that are URLs of metadata documents.
	NoClientDocuments bool
	// AllowClient is asked about each document and each registration (whose id is "").
	// nil: all are fine.
	AllowClient func(clientID string, m *ClientMetadata) error
	// PrivateSchemes allows redirect URIs of applications' own schemes, such as
	// com.example.app:/callback.
	PrivateSchemes bool
	// Outbound makes all requests to others. nil: own connections, which are not made
	// to private and special addresses. With another one only the URLs are judged.
	Outbound http.RoundTripper
	// AllowPrivate lets Upstream and TrustedIssuers be at private addresses, and client
	// documents on this machine if Issuer is, too. For development.
	AllowPrivate bool

	// TrustedIssuers may vouch for people and workloads with a JWT (RFC 7523).
	TrustedIssuers []TrustedIssuer
	// ClientCredentials lets confidential clients act for themselves, if they are among
	// Clients: anybody can register, or publish a document.
	ClientCredentials bool
	// TokenAudience accepts client assertions that are meant for the token endpoint's
	// URL; the issuer is always fine.
	TokenAudience bool

	// DPoP binds tokens to the key of clients that prove to have one (RFC 9449).
	// DPoPNonce demands that proofs are made with a nonce of this server.
	DPoP, DPoPNonce bool

	// CodeLifetime is how long a code can be redeemed; 0 means one minute, at most 10
	// minutes. AccessLifetime is how long an access token is valid; 0 means one hour.
	// RefreshLifetime is how long a refresh token may lie unused; 0 means 30 days.
	CodeLifetime, AccessLifetime, RefreshLifetime time.Duration

	// OpenID are further members of the metadata, which is then served at
	// /.well-known/openid-configuration, too. nil: not served there.
	OpenID map[string]any
	// Address tells requesters apart for rate limits. nil: by the network address, all
	// of one IPv6 /64 being one. Behind a proxy it must be set.
	Address func(*http.Request) string
	// Store keeps the state. nil: in memory.
	Store AuthorizationStore
	Log   *slog.Logger // nil: silent

	once                        sync.Once // sets the fields below
	problem                     error
	codeFor, accessFor, idleFor time.Duration
	store                       AuthorizationStore
	log                         *slog.Logger
	learned, chosen             *outbound // to URLs that clients have named, and to those that the application has
	issuers                     map[string]*keyRing

	limits     rateLimits
	documents  documents
	refreshing turns[*UpstreamToken]
	mu         sync.Mutex          // guards clientKeys
	clientKeys map[string]*keyRing // by URL of the JWKS
}

// A RegisteredClient is a client that the application has registered itself.
type RegisteredClient struct {
	ID     string // its client id; must be set
	Secret string // empty: the client is public, or signs with a key of Metadata
	// Metadata says what the client may: at least redirect_uris for people's logins, and
	// grant_types if it is to refresh tokens or to act for itself. A client with a secret
	// sends it as client_secret_basic unless it says otherwise.
	Metadata ClientMetadata
}

// An Upstream is a third party that people log in at (2025-03-26, Third-Party
// Authorization Flow). Its tokens never leave the server.
type Upstream struct {
	// Issuer is its issuer identifier, a URL.
	Issuer string
	// Metadata are its endpoints. If there is no token endpoint, they are found by Issuer.
	Metadata AuthorizationServerMetadata
	// Client is this server's registration there, whose redirect URI is /callback at
	// AuthorizationServer.Issuer. Of its fields, ID, Secret, Key and Method count.
	Client   OAuthClient
	Scopes   []string   // that are asked for there
	Resource string     // that its tokens are for; empty: not said
	Params   url.Values // further parameters of the authorization request

	// User says whose token it is. It must be set if AuthorizationServer.Authenticate
	// is not, and decides only then.
	User func(ctx context.Context, t *UpstreamToken) (user string, err error)
	// Check asks whether a token still counts there, before a token that came of it is
	// honoured: on every request, so it should remember for a while. An error ends the
	// grant if it is an ErrInvalidToken, any other means that it could not be found out.
	// nil: only the token's expiry decides.
	Check func(ctx context.Context, t *UpstreamToken) error
	// Seal encrypts what is stored of a token, and Open decrypts it. They must be set
	// if AuthorizationServer.Store is.
	Seal, Open func(ctx context.Context, data []byte) ([]byte, error)
}

// An UpstreamToken is what the third party gave for a person.
type UpstreamToken struct {
	Access, Type, Refresh string    // the tokens, and the type of the first; Refresh may be ""
	Scope                 string    // as granted there; empty: as asked for
	Expires               time.Time // zero: not known
}

// A TrustedIssuer vouches for its users or workloads with JWTs.
type TrustedIssuer struct {
	Issuer string // whose "iss" it is, exactly
	JWKS   string // URL of its keys; empty: as its metadata says
	// Enterprise accepts identity assertions (ID-JAG; Enterprise-Managed Authorization).
	// User maps their claims to a user; the stable name is iss with sub, and email at
	// most finds an account that exists. nil: iss and sub, with "|" between.
	Enterprise bool
	User       func(ctx context.Context, claims json.RawMessage) (user string, err error)
	// Workload accepts tokens of workloads (Workload Identity Federation): it judges the
	// claims, and returns the scopes that the workload may have. nil: none is accepted.
	Workload func(ctx context.Context, claims json.RawMessage) (scopes []string, err error)
}

// An AuthorizationStore keeps records that end. A database lets replicas share it. Its
// methods are safe for concurrent use. What it holds is partly secret: clients'
// metadata, and digests of tokens and codes, but no token or code itself.
type AuthorizationStore interface {
	// Load returns a record, nil if there is none or it has ended.
	Load(ctx context.Context, kind, key string) ([]byte, error)
	// Update changes a record atomically. change gets what Load would return and
	// returns what the record becomes, nil to delete it, and when it ends; zero: never. If
	// change fails the record stays, and Update returns that error. change may be called
	// again, and calls nothing of the store.
	Update(ctx context.Context, kind, key string, change func(old []byte) (data []byte, ends time.Time, err error)) error
}

// ErrStoreFull is what a full store returns.
var ErrStoreFull = errors.New("mcp: the authorization store is full")

// What is printed of these holds no secret.

// Format shows the issuer only.
func (a *AuthorizationServer) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "authorization server "+a.Issuer)
}

// LogValue shows the same.
func (a *AuthorizationServer) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(a)) }

// Format shows the id only.
func (c RegisteredClient) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "client "+c.ID) }

// LogValue shows the same.
func (c RegisteredClient) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// Format shows the issuer only.
func (u Upstream) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "upstream "+u.Issuer) }

// LogValue shows the same.
func (u Upstream) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(u)) }

// Format shows nothing of it.
func (t UpstreamToken) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "upstream token") }

// LogValue shows the same.
func (t UpstreamToken) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

// Check reports what is wrong with the fields, of which it names the first. A server
// with such an error answers every request with status 500.
func (a *AuthorizationServer) Check() error {
	a.once.Do(a.setUp)
	return a.problem
}

func (a *AuthorizationServer) setUp() {
	a.codeFor, a.accessFor, a.idleFor = cmp.Or(a.CodeLifetime, defaultCode), cmp.Or(a.AccessLifetime, defaultAccess), cmp.Or(a.RefreshLifetime, defaultRefresh)
	if err := a.validate(); err != nil {
		a.problem = fmt.Errorf("mcp: authorization server: %w", err)
		return
	}
	a.log = cmp.Or(a.Log, slog.New(slog.DiscardHandler))
	if a.store = a.Store; a.store == nil {
		a.store = &MemoryAuthorizationStore{}
	}
	issuer, _ := url.Parse(a.Issuer)
	a.learned = &outbound{rt: a.Outbound, local: a.AllowPrivate && isLoopback(issuer.Hostname())}
	a.chosen = &outbound{rt: a.Outbound, anywhere: a.AllowPrivate}
	a.clientKeys, a.issuers = map[string]*keyRing{}, map[string]*keyRing{}
	for _, t := range a.TrustedIssuers {
		a.issuers[t.Issuer] = newKeyRing(a.chosen, func(ctx context.Context) (string, error) {
			if t.JWKS != "" {
				return t.JWKS, nil
			}
			m, err := a.discover(ctx, t.Issuer)
			return m.JWKSURI, err
		})
	}
}

func (a *AuthorizationServer) validate() error {
	u, err := url.Parse(a.Issuer)
	switch e := checkIssuer(a.Issuer); {
	case err != nil || e != nil || a.Issuer != u.Scheme+"://"+u.Host:
		return fmt.Errorf("the Issuer %.200q must be an origin, such as https://mcp.example.com", a.Issuer)
	case u.Scheme != "https" && !isLoopback(u.Hostname()):
		return fmt.Errorf("the Issuer %.200q must be https", a.Issuer)
	case len(a.Resources) == 0:
		return errors.New("Resources is empty")
	case min(a.codeFor, a.accessFor, a.idleFor) < 0:
		return errors.New("a lifetime is negative")
	case a.idleFor < a.accessFor:
		return fmt.Errorf("RefreshLifetime %v is less than AccessLifetime %v", a.idleFor, a.accessFor)
	case a.codeFor > maxCode:
		return fmt.Errorf("CodeLifetime %v is more than %v", a.CodeLifetime, maxCode)
	}
	for _, r := range a.Resources {
		if _, err := checkResource(r); err != nil {
			return fmt.Errorf("Resources: %.200q: %w", r, err)
		}
	}
	for _, s := range slices.Concat(sortedKeys(a.Scopes), a.DefaultScopes) {
		if _, known := a.Scopes[s]; !known || !isScope(s) {
			return fmt.Errorf("scope %.100q is malformed, or not in Scopes", s)
		}
	}
	for _, t := range a.TrustedIssuers {
		if err := checkIssuer(t.Issuer); err != nil {
			return fmt.Errorf("TrustedIssuers: %w", err)
		}
	}
	seen := map[string]bool{}
	for _, c := range a.Clients {
		if c.ID == "" || seen[c.ID] {
			return fmt.Errorf("client id %.100q is empty or there twice", c.ID)
		}
		seen[c.ID] = true
		for _, u := range c.Metadata.RedirectURIs {
			if err := validRedirect(u, a.PrivateSchemes); err != nil {
				return fmt.Errorf("client %.100q: %w", c.ID, err)
			}
		}
	}
	return a.Upstream.validate(a)
}

func (u *Upstream) validate(a *AuthorizationServer) error {
	switch {
	case u == nil:
		return nil
	case u.Client.ID == "":
		return errors.New("Upstream.Client has no ID")
	case u.User == nil && a.Authenticate == nil:
		return errors.New("neither Upstream.User nor Authenticate says who logs in")
	case (u.Seal == nil) != (u.Open == nil) || u.Seal == nil && a.Store != nil:
		return errors.New("Upstream.Seal and Upstream.Open must be set to keep tokens in a Store")
	}
	return checkIssuer(u.Issuer)
}

// people reports whether people can log in.
func (a *AuthorizationServer) people() bool { return a.Authenticate != nil || a.Upstream != nil }

// ServeHTTP serves one HTTP request.
func (a *AuthorizationServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.Check(); err != nil {
		if a.Log != nil {
			a.Log.Error("the authorization server cannot serve", "error", err)
		}
		http.Error(w, "The authorization server is not set up.", http.StatusInternalServerError)
		return
	}
	if r.Body != http.NoBody { // which net/http reads to its end even if the request is refused
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	read := []string{http.MethodGet, http.MethodHead}
	switch path := r.URL.Path; {
	case path == "/.well-known/oauth-authorization-server", path == "/.well-known/openid-configuration" && a.OpenID != nil:
		a.script(w, r, a.metadata, read...)
	case path == "/jwks" && a.Key != nil:
		a.script(w, r, a.jwks, read...)
	case path == "/token":
		a.script(w, r, a.token, http.MethodPost)
	case path == "/revoke":
		a.script(w, r, a.revoke, http.MethodPost)
	case path == "/register" && !a.NoRegistration:
		a.script(w, r, a.register, http.MethodPost)
	case path == "/authorize" && a.people():
		a.page(w, r, a.authorize, http.MethodGet, http.MethodPost)
	case path == "/consent" && a.people():
		a.page(w, r, a.decide, http.MethodPost)
	case path == "/callback" && a.Upstream != nil:
		a.page(w, r, a.callback, http.MethodGet)
	default:
		http.NotFound(w, r)
	}
}

// A denial is an error that is answered with a code of OAuth.
type denial struct {
	status int
	code   string
	text   string
	cause  error // for the log
}

func (e *denial) Error() string { return e.code + ": " + e.text }

func (e *denial) answer() map[string]string {
	return map[string]string{"error": e.code, "error_description": e.text}
}

func deny(code, format string, args ...any) *denial {
	status := http.StatusBadRequest
	if code == codeInvalidClient {
		status = http.StatusUnauthorized
	}
	text := strings.Map(func(r rune) rune { // to what error_description may hold (RFC 6749, section 5.2)
		if r == '"' || r == '\\' {
			return '\''
		}
		return r
	}, sanitized(fmt.Sprintf(format, args...), nil))
	return &denial{status: status, code: code, text: text}
}

// because is a denial for a reason that only the log is told, unless err is one already.
func because(err error, code, text string) *denial {
	var e *denial
	if !errors.As(err, &e) {
		e = deny(code, "%s", text)
		e.cause = err
	}
	return e
}

// unavailable is a denial that is nobody's fault.
func unavailable(err error, text string) *denial {
	return &denial{http.StatusServiceUnavailable, "temporarily_unavailable", text, err}
}

// admit refuses what comes by another method, or too often.
func (a *AuthorizationServer) admit(w http.ResponseWriter, r *http.Request, allow []string) error {
	if !slices.Contains(allow, r.Method) {
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return &denial{status: http.StatusMethodNotAllowed, code: codeInvalidRequest, text: "method not allowed"}
	}
	return a.limits.request(r.URL.Path, a.address(r))
}

// script serves what programs ask for: JSON, also to scripts of any page, since
// nothing here looks at cookies.
func (a *AuthorizationServer) script(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter, *http.Request) (any, error), allow ...string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, DPoP-Nonce")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", strings.Join(allow, ", "))
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var body any
	err := a.admit(w, r, allow)
	if err == nil {
		body, err = serve(w, r)
	}
	status := http.StatusOK
	if r.URL.Path == "/register" {
		status = http.StatusCreated
	}
	if err != nil {
		e := a.refused(r, err)
		status, body = e.status, e.answer()
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			h.Set("Retry-After", "1")
		}
	}
	data, err := marshal(body)
	if err != nil {
		a.log.Error("encoding an answer", "path", r.URL.Path, "error", err)
		status = http.StatusInternalServerError
	}
	h.Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// page serves what browsers show. An error is a page, too: nobody is sent anywhere
// before it is known that the address is the client's.
func (a *AuthorizationServer) page(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter, *http.Request) error, allow ...string) {
	err := a.admit(w, r, allow)
	if err == nil {
		err = serve(w, r)
	}
	if err != nil {
		a.problemPage(w, a.refused(r, err), "")
	}
}

// problemPage says why nothing can be given. back is where a client would have the person
// sent with that, who decides; empty: nowhere.
func (a *AuthorizationServer) problemPage(w http.ResponseWriter, e *denial, back string) {
	status := e.status
	if status == http.StatusUnauthorized {
		status = http.StatusBadRequest // there is nothing to authenticate with
	}
	a.show(w, status, pageData{Title: "Access cannot be given", Problem: e.text, Code: e.code, Back: back, Host: shownHost(back)})
}

// refused makes any error a denial, and logs it. What is not one is a trouble of ours,
// and stays here. The text of a denial holds nothing secret.
func (a *AuthorizationServer) refused(r *http.Request, err error) *denial {
	var e *denial
	if !errors.As(err, &e) {
		e = unavailable(err, "try again later")
	}
	level, args := slog.LevelInfo, []any{"path", r.URL.Path, "status", e.status, "code", e.code, "reason", e.text}
	if e.status >= 500 {
		level = slog.LevelError
	}
	if e.cause != nil {
		args = append(args, "error", e.cause)
	}
	a.log.Log(r.Context(), level, "an authorization request was refused", args...)
	return e
}

func (a *AuthorizationServer) metadata(http.ResponseWriter, *http.Request) (any, error) {
	m := &AuthorizationServerMetadata{
		Issuer:        a.Issuer,
		TokenEndpoint: a.Issuer + "/token", RevocationEndpoint: a.Issuer + "/revoke",
		ScopesSupported:                            sortedKeys(a.Scopes),
		GrantTypesSupported:                        a.grants(),
		TokenEndpointAuthMethodsSupported:          []string{authNone, authBasic, authPost, authJWT},
		TokenEndpointAuthSigningAlgValuesSupported: algorithmNames(),
		ClientIDMetadataDocumentSupported:          !a.NoClientDocuments,
		ResponseTypesSupported:                     []string{"code"},
	}
	if a.people() {
		m.AuthorizationEndpoint = a.Issuer + "/authorize"
		m.ResponseModesSupported = []string{"query"}
		m.CodeChallengeMethodsSupported = []string{"S256"}
		m.AuthorizationResponseIssParameterSupported = true
	}
	if !a.NoRegistration {
		m.RegistrationEndpoint = a.Issuer + "/register"
	}
	if a.Key != nil {
		m.JWKSURI = a.Issuer + "/jwks"
	}
	if a.DPoP {
		m.DPoPSigningAlgValuesSupported = algorithmNames()
	}
	if slices.ContainsFunc(a.TrustedIssuers, func(t TrustedIssuer) bool { return t.Enterprise }) {
		m.AuthorizationGrantProfilesSupported = []string{profileIDJAG}
	}
	return merged(m, a.OpenID)
}

// grants are the types of grants there are.
func (a *AuthorizationServer) grants() []string {
	var grants []string
	if a.people() {
		grants = append(grants, grantCode, grantRefresh)
	}
	if a.ClientCredentials {
		grants = append(grants, grantCredentials)
	}
	if len(a.TrustedIssuers) > 0 {
		grants = append(grants, grantJWT)
	}
	return grants
}

// merged is a JSON object with the members of v and, where v has none of the name,
// those of more.
func merged(v any, more map[string]any) (any, error) {
	data, err := marshal(v)
	if err != nil {
		return nil, err
	}
	all, own := map[string]any{}, map[string]json.RawMessage{}
	maps.Copy(all, more)
	err = json.Unmarshal(data, &own)
	for name, member := range own {
		all[name] = member
	}
	return all, err
}

func (a *AuthorizationServer) jwks(http.ResponseWriter, *http.Request) (any, error) {
	var keys []json.RawMessage
	for _, k := range append([]*Key{a.Key}, a.FormerKeys...) {
		keys = append(keys, k.Public())
	}
	return map[string]any{"keys": keys}, nil
}

// oauthParams are the parameters that count. Others are ignored.
var oauthParams = []string{"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method", "resource",
	"response_mode", "prompt", "dpop_jkt", "request", "request_uri", "grant_type", "code", "code_verifier", "refresh_token", "client_secret",
	"client_assertion", "client_assertion_type", "assertion", "token", "token_type_hint", "iss", "error", "consent", "decision"}

// parameters reads parameters, each of which may come once; one without a value is as
// good as none (RFC 6749, section 3.1).
func parameters(encoded string) (map[string]string, error) {
	values, err := url.ParseQuery(encoded)
	if err != nil {
		return nil, deny(codeInvalidRequest, "the parameters are malformed")
	}
	got := map[string]string{}
	for _, name := range oauthParams {
		switch v := values[name]; {
		case len(v) > 1:
			return nil, deny(codeInvalidRequest, "parameter %s comes twice", name)
		case len(v) == 1 && v[0] != "":
			got[name] = v[0]
		}
	}
	return got, nil
}

// body reads a body of the given type.
func body(r *http.Request, want string) ([]byte, error) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != want {
		return nil, deny(codeInvalidRequest, "the content type must be %s", want)
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, deny(codeInvalidRequest, "the body cannot be read, or has more than %d bytes", maxRequest)
	}
	return data, nil
}

// formOf reads the parameters of a request to an endpoint. None may stand in the URL,
// which ends up in logs.
func formOf(r *http.Request) (map[string]string, error) {
	if r.URL.RawQuery != "" {
		return nil, deny(codeInvalidRequest, "parameters belong into the body")
	}
	data, err := body(r, typeForm)
	if err != nil {
		return nil, err
	}
	return parameters(string(data))
}

// An authorization is what a client asks for a person's consent to, on its way to
// become a code, and then a grant.
type authorization struct {
	Client    string   `json:"client"`
	Version   string   `json:"version"` // of what identifies the client; see client.version
	Redirect  string   `json:"redirect"`
	State     string   `json:"state,omitempty"`
	Challenge string   `json:"challenge"`
	Resource  string   `json:"resource"`
	Scopes    []string `json:"scopes,omitempty"`
	Key       string   `json:"key,omitempty"` // thumbprint of the DPoP key that must redeem the code
	User      string   `json:"user,omitempty"`
	Browser   string   `json:"browser,omitempty"`  // digest of the browser's cookie
	Verifier  string   `json:"verifier,omitempty"` // of our own login at the third party
	Grant     string   `json:"grant,omitempty"`    // what the code has become

	Upstream *sealedToken `json:"upstream,omitempty"` // what came of that
}

// A sealedToken is what is stored of the third party's token.
type sealedToken struct {
	Data  []byte   `json:"data"`
	Fresh unixTime `json:"fresh,omitempty"` // until then it need not be refreshed; 0: not known
	Until unixTime `json:"until,omitempty"` // nothing that it carries is valid longer; 0: not limited
}

// A unixTime is a time in seconds, as records have it; 0: none.
type unixTime int64

func toUnix(t time.Time) unixTime {
	if t.IsZero() {
		return 0
	}
	return unixTime(t.Unix())
}

func (t unixTime) time() time.Time { return time.Unix(int64(t), 0) }

// digest is what is stored of a secret.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(p)))
		_, _ = io.WriteString(h, p)
	}
	return encode64(h.Sum(nil))
}

// matches compares a secret with the digest of the right one.
func matches(secret, want string) bool {
	return subtle.ConstantTimeCompare([]byte(digest(secret)), []byte(want)) == 1
}

// load reads a record into dst, and reports whether there is one.
func (a *AuthorizationServer) load(ctx context.Context, kind, key string, dst any) (bool, error) {
	data, err := a.store.Load(ctx, kind, key)
	if err != nil || data == nil {
		return false, err
	}
	return true, decodeJSON(data, dst)
}

var errNobody = errors.New("the person is not known")

var errTaken = errors.New("it is there already")

// change changes a record atomically. f gets it, empty if there is none, and says when it
// ends then. It may be called again. If it fails the record stays.
func change[T any](ctx context.Context, s AuthorizationStore, kind, key string, f func(v *T, found bool) (ends time.Time, err error)) error {
	return s.Update(ctx, kind, key, func(old []byte) ([]byte, time.Time, error) {
		v := new(T)
		if old != nil {
			if err := decodeJSON(old, v); err != nil {
				return nil, time.Time{}, err
			}
		}
		ends, err := f(v, old != nil)
		if err != nil {
			return nil, time.Time{}, err
		}
		data, err := marshal(v)
		return data, ends, err
	})
}

// create makes a record that is not there yet; else it fails with errTaken.
func create[T any](ctx context.Context, s AuthorizationStore, kind, key string, v T, ends time.Time) error {
	return change(ctx, s, kind, key, func(old *T, found bool) (time.Time, error) {
		if found {
			return ends, errTaken
		}
		*old = v
		return ends, nil
	})
}

// authorize takes an authorization request.
func (a *AuthorizationServer) authorize(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost { // made a GET, to which the browser can come back after a login
		data, err := body(r, typeForm)
		if err == nil && len(data) <= maxQuery {
			q, _ := url.ParseQuery(string(data)) // what is malformed is missed below
			w.Header().Set("Location", "/authorize?"+q.Encode())
			w.WriteHeader(http.StatusSeeOther)
			return nil
		}
		return cmp.Or(err, error(errTooLong))
	}
	q, err := parameters(r.URL.RawQuery)
	switch {
	case err != nil:
		return err
	case len(r.URL.RawQuery) > maxQuery:
		return errTooLong
	}
	// Documents are fetched only for people who are known, but what cannot be a client
	// needs no login.
	c, err := a.knownClient(r.Context(), q["client_id"])
	if err != nil {
		return err
	}
	user, ok := a.authenticate(w, r)
	if !ok {
		return nil
	}
	if c == nil {
		if c, err = a.document(r.Context(), q["client_id"], a.address(r)); err != nil {
			return err
		}
	}
	redirect, err := c.redirect(q["redirect_uri"], a.PrivateSchemes)
	if err != nil {
		return err
	}
	z := &authorization{Client: c.id, Version: c.version(), Redirect: redirect, State: q["state"], User: user}
	z.Browser = digest(a.browser(w, r))
	err = a.fill(z, c, q)
	prompt := strings.Fields(q["prompt"])
	switch {
	case err != nil:
	case !slices.Contains(prompt, "consent") && a.approved(r.Context(), z):
		return a.proceed(w, r, z)
	case !slices.Contains(prompt, "none"):
		return a.consent(w, r, z, c)
	default:
		err = deny("consent_required", "the person has to be asked")
	}
	if remote(z.Redirect) && !c.chosen { // a stranger's: the person decides whether to go there (OAuth 2.1, section 7.12.2)
		e := a.refused(r, err)
		a.problemPage(w, e, a.answer(z, e.answer()))
		return nil
	}
	return a.reject(w, r, z, err)
}

// remote reports whether a redirect URI leads to another machine. On this one any program
// can be the client.
func remote(redirect string) bool {
	u, err := url.Parse(redirect)
	return err == nil && u.Scheme == "https" && !isLoopback(u.Hostname())
}

func (a *AuthorizationServer) authenticate(w http.ResponseWriter, r *http.Request) (user string, ok bool) {
	if a.Authenticate == nil {
		return "", true // the third party will tell
	}
	user, ok = a.Authenticate(w, r)
	return user, ok && user != ""
}

// fill checks what a request asks for. Its errors go to the client.
func (a *AuthorizationServer) fill(z *authorization, c *client, q map[string]string) error {
	if q["request"] != "" {
		return deny("request_not_supported", "requests are not signed here")
	}
	if q["request_uri"] != "" {
		return deny("request_uri_not_supported", "requests are not pushed here")
	}
	switch challenge, ok := decode64(q["code_challenge"]); {
	case q["response_type"] == "":
		return deny(codeInvalidRequest, "response_type is missing")
	case q["response_type"] != "code":
		return deny("unsupported_response_type", "response_type must be code")
	case q["response_mode"] != "" && q["response_mode"] != "query":
		return deny(codeInvalidRequest, "response_mode must be query")
	case !c.may(grantCode):
		return deny("unauthorized_client", "the client is not registered for codes")
	case q["code_challenge"] == "":
		return deny(codeInvalidRequest, "code_challenge is missing")
	case q["code_challenge_method"] != "S256":
		return deny(codeInvalidRequest, "code_challenge_method must be S256")
	case !ok || len(challenge) != sha256.Size:
		return deny(codeInvalidRequest, "code_challenge must be 43 characters of base64url")
	}
	if z.Challenge = q["code_challenge"]; a.DPoP {
		z.Key = q["dpop_jkt"]
	}
	var err error
	if z.Resource, err = a.resource(q["resource"]); err != nil {
		return err
	}
	z.Scopes, err = a.knownScopes(q["scope"])
	if err == nil && a.Authenticate != nil { // else the person is not known yet
		z.Scopes, err = a.filtered(z.User, c.id, z.Scopes)
	}
	return err
}

// resource is what a token is for (RFC 8707).
func (a *AuthorizationServer) resource(asked string) (string, error) {
	if asked == "" && len(a.Resources) == 1 {
		return a.Resources[0], nil
	}
	for _, r := range a.Resources {
		if sameResource(r, asked) {
			return r, nil
		}
	}
	return "", deny("invalid_target", "resource must be one that this server issues tokens for")
}

// scopes are those that a client may have of what it asked for.
func (a *AuthorizationServer) scopes(user, client, asked string) ([]string, error) {
	scopes, err := a.knownScopes(asked)
	if err != nil {
		return nil, err
	}
	return a.filtered(user, client, scopes)
}

// knownScopes are those of a request that there are.
func (a *AuthorizationServer) knownScopes(asked string) ([]string, error) {
	list, ok := parseScopes(asked)
	if !ok {
		return nil, deny(codeInvalidScope, "scope is malformed")
	}
	granted := slices.DeleteFunc(slices.Clone(list), func(s string) bool { _, known := a.Scopes[s]; return !known })
	if len(list) == 0 {
		granted = slices.Clone(a.DefaultScopes)
	}
	if len(list) > 0 && len(granted) == 0 {
		return nil, deny(codeInvalidScope, "none of these scopes can be granted")
	}
	return granted, nil
}

// filtered are the scopes that the application lets a client have for a user.
func (a *AuthorizationServer) filtered(user, client string, scopes []string) ([]string, error) {
	if a.FilterScopes == nil || len(scopes) == 0 {
		return scopes, nil
	}
	if scopes = a.FilterScopes(user, client, scopes); len(scopes) == 0 {
		return nil, deny(codeInvalidScope, "none of these scopes can be granted")
	}
	return scopes, nil
}

// reject sends an error to the client.
func (a *AuthorizationServer) reject(w http.ResponseWriter, r *http.Request, z *authorization, err error) error {
	a.sendBack(w, a.answer(z, a.refused(r, err).answer()))
	return nil
}

func (a *AuthorizationServer) sendBack(w http.ResponseWriter, at string) {
	w.Header().Set("Location", at)
	w.WriteHeader(http.StatusFound)
}

// answer is the client's redirect URI, whose own query stays, with an answer (OAuth 2.1,
// section 4.1.2; RFC 9207).
func (a *AuthorizationServer) answer(z *authorization, answer map[string]string) string {
	answer["state"], answer["iss"] = z.State, a.Issuer
	base, old, _ := strings.Cut(z.Redirect, "?")
	var query []string
	for pair := range strings.SplitSeq(old, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, _ := url.QueryUnescape(name); pair != "" && !slices.Contains([]string{"code", "state", "iss", "error", "error_description", "error_uri"}, plain) {
			query = append(query, pair)
		}
	}
	for _, name := range []string{"code", "error", "error_description", "state", "iss"} {
		if answer[name] != "" {
			query = append(query, name+"="+url.QueryEscape(answer[name]))
		}
	}
	return base + "?" + strings.Join(query, "&")
}

// The browser's cookie ties the pages of one login together. It says nothing about who
// uses the browser, and ends with the browser's session.
func (a *AuthorizationServer) cookieName() string {
	if strings.HasPrefix(a.Issuer, "https:") {
		return "__Host-mcp-browser"
	}
	return "mcp-browser" // on this machine, for development
}

// browser returns the value of the cookie, which it sets if there is none.
func (a *AuthorizationServer) browser(w http.ResponseWriter, r *http.Request) string {
	value := a.cookie(r)
	if value == "" {
		value = newSecret()
	}
	http.SetCookie(w, &http.Cookie{Name: a.cookieName(), Value: value, Path: "/", HttpOnly: true,
		Secure: strings.HasPrefix(a.Issuer, "https:"), SameSite: http.SameSiteLaxMode})
	return value
}

func (a *AuthorizationServer) cookie(r *http.Request) string {
	if all := r.CookiesNamed(a.cookieName()); len(all) == 1 && len(all[0].Value) == len(newSecret()) {
		return all[0].Value
	}
	return ""
}

// An approval is what a person has allowed a client.
type approval struct {
	Version  string   `json:"version"`
	Redirect string   `json:"redirect"`
	Resource string   `json:"resource"`
	Scopes   []string `json:"scopes,omitempty"`
}

// approvalKey is the person's, or the browser's if who uses it is not known yet.
func (z *authorization) approvalKey() string {
	if z.User != "" {
		return digest("user", z.User, z.Client)
	}
	return digest("browser", z.Browser, z.Client)
}

// approved reports whether the person has allowed all this before. That counts only
// where the redirect URI proves who the client is: any program of this machine can
// listen at a local port.
func (a *AuthorizationServer) approved(ctx context.Context, z *authorization) bool {
	var old approval
	ok, err := a.load(ctx, kindApproval, z.approvalKey(), &old)
	if err != nil {
		a.log.Error("reading what was allowed before", "error", err)
	}
	return ok && err == nil && remote(z.Redirect) && old.Version == z.Version &&
		old.Redirect == z.Redirect && old.Resource == z.Resource && coversScopes(old.Scopes, z.Scopes)
}

func (a *AuthorizationServer) approve(ctx context.Context, z *authorization) {
	err := change(ctx, a.store, kindApproval, z.approvalKey(), func(p *approval, _ bool) (time.Time, error) {
		now := approval{z.Version, z.Redirect, z.Resource, z.Scopes}
		if p.Version == now.Version && p.Redirect == now.Redirect && p.Resource == now.Resource {
			now.Scopes = unionScopes(p.Scopes, now.Scopes)
		}
		*p = now
		return time.Now().Add(approvalKept), nil
	})
	if err != nil {
		a.log.Error("remembering what was allowed", "error", err) // the person is asked again
	}
}

// consent shows the page that asks.
func (a *AuthorizationServer) consent(w http.ResponseWriter, r *http.Request, z *authorization, c *client) error {
	d := pageData{authorization: z, Title: "Allow access?", Token: newSecret(), Name: shownName(c), Claimed: !c.chosen,
		Local: !remote(z.Redirect), Host: shownHost(z.Redirect)}
	if err := create(r.Context(), a.store, kindConsent, digest(d.Token), z, time.Now().Add(pendingLifetime)); err != nil {
		return err
	}
	if c.documented {
		d.Document = shownHost(c.id)
	}
	for _, s := range z.Scopes {
		d.Allows = append(d.Allows, [2]string{s, a.Scopes[s]})
	}
	if up := a.Upstream; up != nil {
		d.Party, d.UpstreamScopes = shownHost(up.Issuer), up.Scopes
	}
	a.show(w, http.StatusOK, d)
	return nil
}

// shownName is a client's name as a person may see it: its own claim, as plain text.
func shownName(c *client) string {
	name := []rune(strings.TrimSpace(sanitized(cmp.Or(c.meta.ClientName, c.id), nil)))
	if len(name) > maxName {
		name = append(name[:maxName], '…')
	}
	return string(name)
}

// shownHost is where a URL leads, as a person may see it.
func shownHost(text string) string {
	u, err := url.Parse(text)
	if err == nil && u.Host == "" {
		return "the application for " + u.Scheme + " links"
	}
	return u.Host
}

// decide takes the person's answer. The token shows that it answers a page of ours,
// once; the cookie that it comes from the browser which saw it.
func (a *AuthorizationServer) decide(w http.ResponseWriter, r *http.Request) error {
	f, err := formOf(r)
	if err != nil {
		return err
	}
	user, ok := a.authenticate(w, r)
	if !ok {
		return nil
	}
	z, err := a.takePending(r, kindConsent, f["consent"])
	if err != nil {
		return err
	}
	if z.User != user {
		return &denial{status: http.StatusForbidden, code: "access_denied", text: "Somebody else has signed in meanwhile. Start again from the application."}
	}
	if f["decision"] != "allow" {
		return a.reject(w, r, z, deny("access_denied", "the person did not allow it"))
	}
	a.approve(r.Context(), z)
	return a.proceed(w, r, z)
}

// takePending takes what waits for this browser under a token.
func (a *AuthorizationServer) takePending(r *http.Request, kind, token string) (*authorization, error) {
	var z *authorization
	err := a.store.Update(r.Context(), kind, digest(token), func(old []byte) ([]byte, time.Time, error) {
		z = &authorization{}
		if old == nil {
			return nil, time.Time{}, deny(codeInvalidRequest, "This page has been used already, or is too old. Start again from the application.")
		}
		if err := decodeJSON(old, z); err != nil {
			return nil, time.Time{}, err
		}
		if !matches(a.cookie(r), z.Browser) {
			return nil, time.Time{}, deny(codeInvalidRequest, "This page was not opened in this browser, or the browser keeps no cookies.")
		}
		return nil, time.Time{}, nil
	})
	return z, err
}

// proceed goes on with what the person has allowed.
func (a *AuthorizationServer) proceed(w http.ResponseWriter, r *http.Request, z *authorization) error {
	if a.Upstream != nil {
		return a.delegate(w, r, z)
	}
	return a.finish(w, r, z)
}

// finish gives the client its code.
func (a *AuthorizationServer) finish(w http.ResponseWriter, r *http.Request, z *authorization) error {
	code := newSecret()
	z.Browser, z.Verifier = "", ""
	if err := create(r.Context(), a.store, kindCode, digest(code), z, time.Now().Add(a.codeFor)); err != nil {
		return a.reject(w, r, z, err)
	}
	a.log.InfoContext(r.Context(), "access was allowed", "client", z.Client, "user", z.User, "scopes", z.Scopes)
	a.sendBack(w, a.answer(z, map[string]string{"code": code}))
	return nil
}

// delegate sends the browser to the third party. Only now, after the person has agreed,
// is there a state that can come back (Security Best Practices, Confused Deputy Problem).
func (a *AuthorizationServer) delegate(w http.ResponseWriter, r *http.Request, z *authorization) error {
	m, err := a.upstreamMetadata(r.Context())
	if err != nil {
		return a.reject(w, r, z, upstreamTrouble(err))
	}
	at, err := url.Parse(m.AuthorizationEndpoint)
	if err != nil || !at.IsAbs() {
		return a.reject(w, r, z, upstreamTrouble(cmp.Or(err, errors.New("it has no authorization endpoint"))))
	}
	state := newSecret()
	z.Verifier, z.Browser = newSecret(), digest(a.browser(w, r))
	if err := create(r.Context(), a.store, kindLogin, digest(state), z, time.Now().Add(pendingLifetime)); err != nil {
		return a.reject(w, r, z, err)
	}
	q := at.Query()
	maps.Copy(q, a.Upstream.Params)
	for name, value := range map[string]string{"response_type": "code", "client_id": a.Upstream.Client.ID, "redirect_uri": a.Issuer + "/callback",
		"state": state, "code_challenge": pkceChallenge(z.Verifier), "code_challenge_method": "S256",
		"scope": strings.Join(a.Upstream.Scopes, " "), "resource": a.Upstream.Resource} {
		if value != "" {
			q.Set(name, value)
		}
	}
	at.RawQuery = q.Encode()
	w.Header().Set("Location", at.String())
	w.WriteHeader(http.StatusFound)
	return nil
}

// upstreamTrouble is what a client is told of an error at the third party.
func upstreamTrouble(err error) *denial {
	return &denial{http.StatusBadGateway, "server_error", "the login at the third party failed", err}
}

// upstreamMetadata are the endpoints of the third party.
func (a *AuthorizationServer) upstreamMetadata(ctx context.Context) (*AuthorizationServerMetadata, error) {
	if a.Upstream.Metadata.TokenEndpoint != "" {
		return &a.Upstream.Metadata, nil
	}
	return a.discover(ctx, a.Upstream.Issuer)
}

// discover gets the metadata of an issuer that the application has named; empty if it
// cannot be had.
func (a *AuthorizationServer) discover(ctx context.Context, issuer string) (*AuthorizationServerMetadata, error) {
	m, tries := discoverServer(ctx, a.chosen, issuer, false)
	if m != nil {
		return m, nil
	}
	var all []error
	for _, e := range tries {
		all = append(all, e)
	}
	return &AuthorizationServerMetadata{}, errors.Join(all...)
}

// callback takes the browser back from the third party.
func (a *AuthorizationServer) callback(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r.URL.RawQuery)
	if err != nil {
		return err
	}
	z, err := a.takePending(r, kindLogin, q["state"])
	if err != nil {
		return err
	}
	if err := a.upstreamLogin(r.Context(), z, q); err != nil {
		return a.reject(w, r, z, err)
	}
	return a.finish(w, r, z)
}

// upstreamLogin makes what the third party answered part of an authorization.
func (a *AuthorizationServer) upstreamLogin(ctx context.Context, z *authorization, q map[string]string) error {
	m, err := a.upstreamMetadata(ctx)
	if err != nil {
		return upstreamTrouble(err)
	}
	if got := q["iss"]; got != a.Upstream.Issuer && (got != "" || m.AuthorizationResponseIssParameterSupported) {
		return upstreamTrouble(errors.New("the answer is another issuer's"))
	}
	switch q["error"] {
	case "":
	case "access_denied":
		return deny("access_denied", "the login at the third party was declined")
	case "temporarily_unavailable":
		return deny("temporarily_unavailable", "the third party cannot serve now")
	default:
		return upstreamTrouble(fmt.Errorf("it answered %.100q", q["error"]))
	}
	if q["code"] == "" {
		return upstreamTrouble(errors.New("the answer has no code"))
	}
	t, err := a.upstreamAsk(ctx, m, url.Values{"grant_type": {grantCode}, "code": {q["code"]},
		"redirect_uri": {a.Issuer + "/callback"}, "code_verifier": {z.Verifier}})
	if err != nil {
		return upstreamTrouble(err)
	}
	if a.Authenticate == nil {
		if z.User, err = a.Upstream.User(ctx, t); err != nil || z.User == "" {
			return upstreamTrouble(cmp.Or(err, errNobody))
		}
		if z.Scopes, err = a.filtered(z.User, z.Client, z.Scopes); err != nil {
			return err
		}
	}
	z.Upstream, err = a.seal(ctx, t)
	return err
}

// upstreamAsk asks the third party's token endpoint.
func (a *AuthorizationServer) upstreamAsk(ctx context.Context, m *AuthorizationServerMetadata, form url.Values) (*UpstreamToken, error) {
	u := a.Upstream
	if u.Resource != "" {
		form.Set("resource", u.Resource)
	}
	t, err := a.chosen.token(ctx, m.TokenEndpoint, form, u.auth(), nil)
	if err != nil {
		return nil, err
	}
	up := &UpstreamToken{Access: t.AccessToken, Type: t.TokenType, Refresh: t.RefreshToken, Expires: t.Expires}
	if t.Scope != nil {
		up.Scope = *t.Scope
	}
	return up, nil
}

// auth is how this server authenticates at the third party.
func (u *Upstream) auth() *clientAuth {
	c := &u.Client
	return &clientAuth{id: c.ID, secret: c.Secret, key: c.Key, audience: u.Issuer, method: cmp.Or(c.Method, clientMethod(c.Secret != "", c.Key != nil))}
}

// clientMethod is how a client authenticates that does not say it.
func clientMethod(secret, key bool) string {
	switch {
	case key:
		return authJWT
	case secret:
		return authBasic
	}
	return authNone
}

// seal makes of a token what is stored. A token that cannot be refreshed carries a grant
// until it ends.
func (a *AuthorizationServer) seal(ctx context.Context, t *UpstreamToken) (*sealedToken, error) {
	data, err := marshal(t)
	if err == nil && a.Upstream.Seal != nil {
		data, err = a.Upstream.Seal(ctx, data)
	}
	s := &sealedToken{Data: data, Fresh: toUnix(t.Expires)}
	if t.Refresh == "" {
		s.Until = s.Fresh
	}
	return s, err
}

func (a *AuthorizationServer) unseal(ctx context.Context, s *sealedToken) (*UpstreamToken, error) {
	data := s.Data
	if a.Upstream.Open != nil {
		var err error
		if data, err = a.Upstream.Open(ctx, data); err != nil {
			return nil, fmt.Errorf("opening a stored token: %w", err)
		}
	}
	t := &UpstreamToken{}
	return t, decodeJSON(data, t)
}

// A grant is what a person, or a machine, let a client have. Its record is the root of
// all tokens that come of it.
type grant struct {
	Client   string   `json:"client,omitempty"`
	Subject  string   `json:"subject,omitempty"`
	Resource string   `json:"resource,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Key      string   `json:"key,omitempty"`     // thumbprint that a public client's refresh tokens are bound to
	Family   string   `json:"family,omitempty"`  // digest of what all refresh tokens of the grant have in common; empty: there are none
	Newest   string   `json:"newest,omitempty"`  // digest of what only the newest one has
	Revoked  bool     `json:"revoked,omitempty"` // and stays so, whatever is still on its way

	Upstream *sealedToken `json:"upstream,omitempty"` // the third party's token, which carries the grant
}

// An access is what an access token stands for: the record of an opaque one.
type access struct {
	Grant   string   `json:"grant"`
	Scopes  []string `json:"scopes,omitempty"`
	Key     string   `json:"key,omitempty"`
	Expires unixTime `json:"expires"`
}

// A tokenReply is the success of the token endpoint.
type tokenReply struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope,omitempty"`
}

// token is the token endpoint (OAuth 2.1, section 3.2).
func (a *AuthorizationServer) token(w http.ResponseWriter, r *http.Request) (any, error) {
	ctx := r.Context()
	f, err := formOf(r)
	if err != nil {
		return nil, err
	}
	switch kind := f["grant_type"]; {
	case kind == "":
		return nil, deny(codeInvalidRequest, "grant_type is missing")
	case !slices.Contains(a.grants(), kind):
		return nil, deny("unsupported_grant_type", "this grant_type is not served")
	}
	c, err := a.caller(w, r, f)
	if err != nil {
		return nil, err
	}
	if c != nil && !c.may(f["grant_type"]) {
		return nil, deny("unauthorized_client", "the client is not registered for this grant_type")
	}
	key, err := a.proof(w, r)
	if err == nil && key == "" && c != nil && c.meta.DPoPBoundAccessTokens {
		err = deny(codeInvalidProof, "the client's tokens are bound to a key: a DPoP proof is needed")
	}
	if err != nil {
		return nil, err
	}
	var reply *tokenReply
	switch f["grant_type"] {
	case grantCode:
		reply, err = a.redeem(ctx, c, f, key)
	case grantRefresh:
		reply, err = a.refresh(ctx, c, f, key)
	case grantCredentials:
		reply, err = a.machine(ctx, c, f, key)
	case grantJWT:
		reply, err = a.vouched(ctx, c, f, key)
	}
	if err != nil {
		return nil, err
	}
	a.used(ctx, c)
	return reply, nil
}

// redeem makes a grant of a code (OAuth 2.1, section 4.1.3). A code that comes again
// has been stolen, by this caller or the one before: all that came of it ends.
func (a *AuthorizationServer) redeem(ctx context.Context, c *client, f map[string]string, key string) (*tokenReply, error) {
	var z authorization
	id := newSecret()
	err := change(ctx, a.store, kindCode, digest(f["code"]), func(now *authorization, found bool) (time.Time, error) {
		z = *now
		if !found || z.Grant != "" {
			return time.Time{}, deny(codeInvalidGrant, "the code is not valid")
		}
		*now = authorization{Client: z.Client, Grant: id}
		return time.Now().Add(a.accessFor), z.fits(c, f, key)
	})
	if z.Grant != "" {
		a.log.WarnContext(ctx, "a code was used again: its grant ends", "client", z.Client)
		if err := a.end(ctx, z.Grant); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	g := &grant{Client: c.id, Subject: z.User, Resource: z.Resource, Scopes: z.Scopes, Upstream: z.Upstream}
	if c.method == authNone {
		g.Key = key
	}
	return a.begin(ctx, id, g, c.may(grantRefresh), key)
}

// fits checks that a code is redeemed by who asked for it.
func (z *authorization) fits(c *client, f map[string]string, key string) error {
	verifier := f["code_verifier"]
	well := len(verifier) >= 43 && len(verifier) <= 128 && strings.Trim(verifier, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") == ""
	switch {
	case z.Client != c.id:
		return deny(codeInvalidGrant, "the code is not valid")
	case !well || subtle.ConstantTimeCompare([]byte(pkceChallenge(verifier)), []byte(z.Challenge)) != 1:
		return deny(codeInvalidGrant, "code_verifier is missing or wrong")
	case f["redirect_uri"] != "" && f["redirect_uri"] != z.Redirect:
		return deny(codeInvalidGrant, "redirect_uri is not that of the authorization request")
	case f["resource"] != "" && !sameResource(f["resource"], z.Resource):
		return deny("invalid_target", "resource is not that of the authorization request")
	case z.Key != "" && z.Key != key:
		return deny(codeInvalidGrant, "the code is for the holder of another key")
	}
	return nil
}

// begin makes the record of a grant and its first tokens. A refresh token has three
// parts: the id of the grant, a secret of all refresh tokens of the grant, and one of
// its own. So one that was used before is known for what it is, and nobody else can
// make what looks like it.
func (a *AuthorizationServer) begin(ctx context.Context, id string, g *grant, refreshable bool, key string) (*tokenReply, error) {
	family, newest := newSecret(), newSecret()
	if err := a.paced(g); err != nil {
		return nil, err
	}
	if refreshable {
		g.Family, g.Newest = digest(family), digest(newest)
	}
	switch err := create(ctx, a.store, kindGrant, id, *g, a.grantEnds(g)); {
	case errors.Is(err, errTaken):
		return nil, deny(codeInvalidGrant, "the code is not valid") // it was used again meanwhile
	case err != nil:
		return nil, err
	}
	reply, err := a.issue(ctx, id, g, g.Scopes, key)
	if err == nil && refreshable {
		reply.RefreshToken = id + "." + family + "." + newest
	}
	return reply, err
}

// paced holds everybody to so many tokens that nobody fills the store for others.
func (a *AuthorizationServer) paced(g *grant) error {
	who := "person for "
	if g.Subject == g.Client || strings.HasPrefix(g.Subject, workloadPrefix) {
		who = "machine for "
	}
	if !a.limits.take(who + g.Subject) {
		return errTooMany
	}
	return nil
}

// grantEnds is when a grant ends if it is not used before.
func (a *AuthorizationServer) grantEnds(g *grant) time.Time {
	if g.Family == "" {
		return g.capped(time.Now().Add(a.accessFor))
	}
	return g.capped(time.Now().Add(a.idleFor))
}

// capped is the time, or the end of what carries the grant if that is earlier.
func (g *grant) capped(t time.Time) time.Time {
	if up := g.Upstream; up != nil && up.Until != 0 && up.Until.time().Before(t) {
		return up.Until.time()
	}
	return t
}

// issue makes an access token of a grant. key is the thumbprint it is bound to.
func (a *AuthorizationServer) issue(ctx context.Context, id string, g *grant, scopes []string, key string) (*tokenReply, error) {
	now := time.Now()
	ends := g.capped(now.Add(a.accessFor))
	reply := &tokenReply{TokenType: schemeBearer, ExpiresIn: int64(ends.Sub(now).Round(time.Second) / time.Second), Scope: strings.Join(scopes, " ")}
	if key != "" {
		reply.TokenType = schemeDPoP
	}
	if reply.ExpiresIn <= 0 {
		return nil, deny(codeInvalidGrant, "the grant has ended")
	}
	if a.Key == nil {
		reply.AccessToken = newSecret()
		return reply, create(ctx, a.store, kindAccess, digest(reply.AccessToken), &access{id, scopes, key, toUnix(ends)}, ends)
	}
	claims := map[string]any{"iss": a.Issuer, "sub": g.Subject, "aud": g.Resource, "exp": ends.Unix(), "iat": now.Unix(), "jti": id + "." + newSecret()}
	for name, value := range map[string]string{"client_id": g.Client, "scope": reply.Scope} {
		if value != "" {
			claims[name] = value
		}
	}
	if key != "" {
		claims["cnf"] = map[string]string{"jkt": key}
	}
	var err error
	reply.AccessToken, err = a.Key.sign(map[string]any{"typ": "at+jwt"}, claims)
	return reply, err
}

// refresh gives new tokens for a refresh token, which is not valid any more after
// that. One that was used before has been stolen, or the newer one has: the grant ends
// (OAuth 2.1, section 4.3.1).
func (a *AuthorizationServer) refresh(ctx context.Context, c *client, f map[string]string, key string) (*tokenReply, error) {
	id, family, own := refreshParts(f["refresh_token"])
	newest, g, stolen := newSecret(), &grant{}, false
	scopes, ok := parseScopes(f["scope"])
	check := func() error {
		invalid := deny(codeInvalidGrant, "the refresh token is not valid")
		switch {
		case g.Revoked || !matches(family, g.Family) || g.Client != c.id:
			return invalid
		case !matches(own, g.Newest):
			stolen = true
			return invalid
		case g.Key != "" && g.Key != key:
			return deny(codeInvalidGrant, "the refresh token is bound to another key")
		case f["resource"] != "" && !sameResource(f["resource"], g.Resource):
			return deny("invalid_target", "resource is not that of the grant")
		case !ok || !coversScopes(g.Scopes, scopes):
			return deny(codeInvalidScope, "scope is more than was granted")
		}
		return nil
	}
	if _, err := a.load(ctx, kindGrant, id, g); err != nil {
		return nil, err
	}
	reply, err := a.renew(ctx, id, g, scopes, key, check)
	if err == nil {
		err = change(ctx, a.store, kindGrant, id, func(now *grant, _ bool) (time.Time, error) {
			g, stolen = now, false
			err := check()
			g.Newest = digest(newest)
			return a.grantEnds(g), err
		})
	}
	if stolen {
		a.log.WarnContext(ctx, "a refresh token was used again: its grant ends", "client", g.Client, "user", g.Subject)
		if err := a.end(ctx, id); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	reply.RefreshToken = id + "." + family + "." + newest
	return reply, nil
}

// renew makes another access token of a grant, before the refresh token is used up: if
// that fails for a reason of ours, the client can try again.
func (a *AuthorizationServer) renew(ctx context.Context, id string, g *grant, scopes []string, key string, check func() error) (*tokenReply, error) {
	if err := check(); err != nil {
		return nil, err
	}
	if err := a.paced(g); err != nil {
		return nil, err
	}
	if err := a.upstreamLives(ctx, id, g); err != nil {
		if errors.Is(err, ErrInvalidToken) {
			err = deny(codeInvalidGrant, "the refresh token is not valid")
		}
		return nil, err
	}
	if len(scopes) == 0 {
		scopes = g.Scopes
	}
	return a.issue(ctx, id, g, scopes, key)
}

// refreshParts are the parts of a refresh token; empty if it is none.
func refreshParts(token string) (id, family, own string) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", ""
	}
	return parts[0], parts[1], parts[2]
}

// machine gives a client a token for itself.
func (a *AuthorizationServer) machine(ctx context.Context, c *client, f map[string]string, key string) (*tokenReply, error) {
	if c.method == authNone {
		return nil, deny("unauthorized_client", "a public client cannot act for itself")
	}
	resource, err := a.resource(f["resource"])
	if err != nil {
		return nil, err
	}
	scopes, err := a.scopes("", c.id, f["scope"])
	if err != nil {
		return nil, err
	}
	return a.begin(ctx, newSecret(), &grant{Client: c.id, Subject: c.id, Resource: resource, Scopes: scopes}, false, key)
}

// end ends a grant, and what it has at the third party. What is not there yet cannot
// begin any more.
func (a *AuthorizationServer) end(ctx context.Context, id string) error {
	var g grant
	err := change(ctx, a.store, kindGrant, id, func(now *grant, _ bool) (time.Time, error) {
		g, *now = *now, grant{Client: now.Client, Revoked: true}
		return time.Now().Add(a.accessFor), nil
	})
	if err == nil && a.Upstream != nil && g.Upstream != nil {
		if err := a.revokeUpstream(ctx, g.Upstream); err != nil {
			a.log.ErrorContext(ctx, "revoking a token at the third party", "error", err)
		}
	}
	return err
}

// revokeUpstream tells the third party that its token is not needed any more.
func (a *AuthorizationServer) revokeUpstream(ctx context.Context, sealed *sealedToken) error {
	m, err := a.upstreamMetadata(ctx)
	if err != nil || m.RevocationEndpoint == "" {
		return err
	}
	t, err := a.unseal(ctx, sealed)
	if err != nil {
		return err
	}
	form, header := url.Values{"token": {cmp.Or(t.Refresh, t.Access)}}, http.Header{}
	if err := a.Upstream.auth().sign(form, header); err != nil {
		return err
	}
	resp, _, err := a.chosen.post(ctx, m.RevocationEndpoint, typeForm, []byte(form.Encode()), header)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answered %d", resp.StatusCode)
	}
	return err
}

// revoke is the revocation endpoint (RFC 7009): whatever token of a grant is revoked,
// all of them are.
func (a *AuthorizationServer) revoke(w http.ResponseWriter, r *http.Request) (any, error) {
	f, err := formOf(r)
	if err != nil {
		return nil, err
	}
	c, err := a.caller(w, r, f)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return nil, deny(codeInvalidClient, "the client does not say who it is")
	case f["token"] == "":
		return nil, deny(codeInvalidRequest, "token is missing")
	}
	id, owner, err := a.grantBehind(r.Context(), f["token"])
	if err != nil || owner != c.id {
		return map[string]any{}, err // nothing of this client: that is no error
	}
	return map[string]any{}, a.end(r.Context(), id)
}

// grantBehind finds the grant that a token of either kind belongs to, and whose it is;
// empty: none.
func (a *AuthorizationServer) grantBehind(ctx context.Context, token string) (id, client string, err error) {
	g, t, err := a.read(ctx, token)
	if err == nil {
		return t.Grant, g.Client, nil
	}
	if !errors.Is(err, ErrInvalidToken) {
		return "", "", err
	}
	id, family, _ := refreshParts(token)
	g = &grant{}
	if ok, err := a.load(ctx, kindGrant, id, g); err != nil || !ok || !matches(family, g.Family) {
		return "", "", err
	}
	return id, g.Client, nil
}

// Verify tells what an access token of this server says: it is a [Verifier]. A token is
// not valid without its grant, nor without the third party's if that carries it.
func (a *AuthorizationServer) Verify(ctx context.Context, token string, _ *http.Request) (*TokenInfo, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	g, t, err := a.read(ctx, token)
	if err != nil {
		return nil, err
	}
	if err := a.upstreamLives(ctx, t.Grant, g); err != nil {
		return nil, err
	}
	claims, err := marshal(map[string]string{"grant": t.Grant})
	return &TokenInfo{Issuer: a.Issuer, Subject: g.Subject, ClientID: g.Client, Audience: []string{g.Resource}, Scopes: t.Scopes,
		Expires: t.Expires.time(), Thumbprint: t.Key, Claims: claims}, err
}

// read finds out what an access token stands for.
func (a *AuthorizationServer) read(ctx context.Context, token string) (*grant, *access, error) {
	t, g := &access{}, &grant{}
	if signed, err := parseJWT(token); err == nil && a.Key != nil {
		if t, err = a.readJWT(signed); err != nil {
			return nil, nil, err
		}
	} else if ok, err := a.load(ctx, kindAccess, digest(token), t); err != nil {
		return nil, nil, err
	} else if !ok {
		return nil, nil, invalidToken("it is not one of ours, or has ended")
	}
	ok, err := a.load(ctx, kindGrant, t.Grant, g)
	switch {
	case err != nil:
		return nil, nil, err
	case !ok || g.Revoked || !time.Now().Before(t.Expires.time()):
		return nil, nil, invalidToken("it has ended, or was revoked")
	}
	return g, t, nil
}

func (a *AuthorizationServer) readJWT(t *jwt) (*access, error) {
	ours := slices.ContainsFunc(append([]*Key{a.Key}, a.FormerKeys...), func(k *Key) bool { return t.verify(k.public) == nil })
	ends, ok := t.time("exp")
	id, _, _ := strings.Cut(t.text("jti"), ".")
	if !ours || !ok || t.typ != "at+jwt" || t.text("iss") != a.Issuer || id == "" {
		return nil, invalidToken("it is not one of ours")
	}
	return &access{id, t.scopes(), t.claims.member("cnf").member("jkt").str(), toUnix(ends)}, nil
}

// Revoke ends the grant behind an identity that [AuthorizationServer.Verify] has
// established, and all its tokens: when a person logs out, or the third party says that
// its token does not count any more.
func (a *AuthorizationServer) Revoke(ctx context.Context, id *Identity) error {
	grant, err := a.grantOf(id)
	if err != nil {
		return err
	}
	return a.end(ctx, grant)
}

// UpstreamToken returns the third party's token behind an identity that
// [AuthorizationServer.Verify] has established, refreshed if need be. It is for calls to
// the third party, and for nobody else to see. The error wraps [ErrInvalidToken] if there
// is none any more.
func (a *AuthorizationServer) UpstreamToken(ctx context.Context, id *Identity) (*UpstreamToken, error) {
	grant, err := a.grantOf(id)
	if err != nil {
		return nil, err
	}
	return a.upstreamToken(ctx, grant)
}

func (a *AuthorizationServer) grantOf(id *Identity) (string, error) {
	if err := a.Check(); err != nil {
		return "", err
	}
	var claims struct {
		Grant string `json:"grant,omitempty"`
	}
	if id == nil || id.Issuer != a.Issuer || decodeJSON(id.Claims, &claims) != nil || claims.Grant == "" {
		return "", errors.New("mcp: the identity is not one that this authorization server has established")
	}
	return claims.Grant, nil
}

// upstreamLives reports that the third party's token, if one carries the grant, is gone.
func (a *AuthorizationServer) upstreamLives(ctx context.Context, id string, g *grant) error {
	up := g.Upstream
	if up == nil || a.Upstream != nil && a.Upstream.Check == nil && (up.Fresh == 0 || time.Now().Before(up.Fresh.time())) {
		return nil
	}
	_, err := a.upstreamToken(ctx, id)
	return err
}

// upstreamToken returns the third party's token of a grant while it counts there. It is
// refreshed by one caller at a time.
func (a *AuthorizationServer) upstreamToken(ctx context.Context, id string) (*UpstreamToken, error) {
	t, err := a.storedUpstream(ctx, id)
	if err == nil && !t.Expires.IsZero() && !time.Now().Before(t.Expires) {
		t, err = a.refreshing.do(ctx, id, func(ctx context.Context) (*UpstreamToken, error) { return a.refreshUpstream(ctx, id) })
	}
	if err != nil || a.Upstream.Check == nil {
		return t, err
	}
	err = a.Upstream.Check(ctx, t)
	if errors.Is(err, ErrInvalidToken) {
		err = errors.Join(err, a.end(ctx, id))
	}
	return t, err
}

func (a *AuthorizationServer) storedUpstream(ctx context.Context, id string) (*UpstreamToken, error) {
	g := &grant{}
	ok, err := a.load(ctx, kindGrant, id, g)
	switch {
	case err != nil:
		return nil, err
	case !ok || g.Revoked || g.Upstream == nil || a.Upstream == nil:
		return nil, invalidToken("there is no token of the third party")
	}
	return a.unseal(ctx, g.Upstream)
}

// refreshUpstream refreshes the third party's token of a grant. If that fails because
// another replica was faster, its token is as good; else the grant ends.
func (a *AuthorizationServer) refreshUpstream(ctx context.Context, id string) (*UpstreamToken, error) {
	old, err := a.storedUpstream(ctx, id)
	if err != nil || time.Now().Before(old.Expires) {
		return old, err // somebody was faster
	}
	if old.Refresh == "" {
		return nil, errors.Join(invalidToken("the token of the third party has expired"), a.end(ctx, id))
	}
	m, err := a.upstreamMetadata(ctx)
	if err != nil {
		return nil, err
	}
	t, err := a.upstreamAsk(ctx, m, url.Values{"grant_type": {grantRefresh}, "refresh_token": {old.Refresh}})
	if e := (*OAuthError)(nil); errors.As(err, &e) && e.Code == codeInvalidGrant {
		if now, err := a.storedUpstream(ctx, id); err == nil && now.Refresh != old.Refresh {
			return now, nil
		}
		return nil, errors.Join(invalidToken("the third party has ended its grant"), a.end(ctx, id))
	}
	if err != nil {
		return nil, err
	}
	t.Refresh, t.Scope = cmp.Or(t.Refresh, old.Refresh), cmp.Or(t.Scope, old.Scope)
	sealed, err := a.seal(ctx, t)
	if err != nil {
		return nil, err
	}
	err = change(ctx, a.store, kindGrant, id, func(g *grant, found bool) (time.Time, error) {
		if !found || g.Revoked {
			return time.Time{}, invalidToken("it was revoked")
		}
		g.Upstream = sealed
		return a.grantEnds(g), nil
	})
	if errors.Is(err, ErrInvalidToken) { // nobody else knows this one
		err = errors.Join(err, a.revokeUpstream(ctx, sealed))
	}
	return t, err
}

// A client is who asks for tokens.
type client struct {
	id         string
	method     string // how it authenticates
	secret     string // its digest; empty: none
	meta       *ClientMetadata
	chosen     bool // by the application
	documented bool // by a document of its own
}

// A clientRecord is a client that has registered itself.
type clientRecord struct {
	Secret string         `json:"secret,omitempty"` // its digest
	Used   unixTime       `json:"used,omitempty"`   // when it last got a token; 0: never
	Meta   ClientMetadata `json:"meta"`
}

func newClient(id, secret string, m *ClientMetadata) *client {
	method := cmp.Or(m.TokenEndpointAuthMethod, clientMethod(secret != "", m.JWKS != nil || m.JWKSURI != ""))
	return &client{id: id, method: method, secret: secret, meta: m}
}

// may reports whether a client is registered for a type of grant (RFC 7591, section 2).
// What needs no person's consent is only for those that the application has chosen.
func (c *client) may(kind string) bool {
	if kind == grantCredentials && !c.chosen {
		return false
	}
	return slices.Contains(c.meta.GrantTypes, kind) || len(c.meta.GrantTypes) == 0 && kind == grantCode
}

// version changes with what tells a client from another: what a person has allowed the
// one is not allowed the other.
func (c *client) version() string {
	return digest(append(slices.Clone(c.meta.RedirectURIs), c.method, string(c.meta.JWKS), c.meta.JWKSURI)...)
}

// redirect is where a person is sent back to. An error is shown, and sent nowhere.
func (c *client) redirect(asked string, private bool) (string, error) {
	all := c.meta.RedirectURIs
	if asked == "" && len(all) == 1 {
		asked = all[0]
	}
	if !slices.ContainsFunc(all, func(u string) bool { return sameRedirect(u, asked) }) || validRedirect(asked, private) != nil {
		return "", deny(codeInvalidRequest, "redirect_uri is not one that the client has registered")
	}
	return asked, nil
}

// knownClient returns a client that is registered; nil if the id is the URL of a
// document that has to be fetched. What was registered comes first.
func (a *AuthorizationServer) knownClient(ctx context.Context, id string) (*client, error) {
	if id == "" {
		return nil, deny(codeInvalidClient, "client_id is missing")
	}
	if i := slices.IndexFunc(a.Clients, func(r RegisteredClient) bool { return r.ID == id }); i >= 0 {
		r, secret := &a.Clients[i], ""
		if r.Secret != "" {
			secret = digest(r.Secret)
		}
		c := newClient(id, secret, &r.Metadata)
		c.chosen = true
		return c, nil
	}
	var record clientRecord
	ok, err := a.load(ctx, kindClient, id, &record)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return newClient(id, record.Secret, &record.Meta), nil
	case a.NoClientDocuments || a.checkDocumentURL(id) != nil:
		return nil, deny(codeInvalidClient, "the client is not known")
	}
	return nil, nil
}

// caller returns the client that a request to an endpoint comes from, which must
// authenticate in the one way it has registered (OAuth 2.1, section 2.4). nil: a
// workload or person whose assertion needs no client.
func (a *AuthorizationServer) caller(w http.ResponseWriter, r *http.Request, f map[string]string) (*client, error) {
	id, secret, method := f["client_id"], f["client_secret"], authNone
	if user, password, ok := basic(r); ok {
		id, secret, method = user, password, authBasic
		if f["client_id"] != "" && f["client_id"] != id || f["client_secret"] != "" || f["client_assertion"] != "" {
			return nil, deny(codeInvalidRequest, "the client authenticates in more than one way")
		}
	} else if r.Header.Get("Authorization") != "" {
		return nil, deny(codeInvalidClient, "Authorization must be Basic")
	} else if secret != "" {
		method = authPost
	}
	var assertion *jwt
	if f["client_assertion"] != "" {
		t, err := parseJWT(f["client_assertion"])
		switch {
		case err != nil || f["client_assertion_type"] != assertionJWT:
			return nil, deny(codeInvalidClient, "the client assertion is malformed")
		case method != authNone || id != "" && id != t.text("sub"):
			return nil, deny(codeInvalidRequest, "the client authenticates in more than one way")
		}
		assertion, id, method = t, t.text("sub"), authJWT
	}
	if id == "" && f["grant_type"] == grantJWT {
		return nil, nil
	}
	c, err := a.claimedClient(r, id, f)
	if err != nil {
		return nil, a.unauthenticated(w, method, err)
	}
	wrong := deny(codeInvalidClient, "the client is not known, or does not authenticate as it has registered")
	switch {
	case c.method != method:
		return nil, a.unauthenticated(w, method, wrong)
	case method == authJWT:
		err = a.checkClientJWT(r.Context(), c, assertion)
	case method != authNone && !matches(secret, c.secret):
		err = wrong
	}
	return c, a.unauthenticated(w, method, err)
}

// unauthenticated adds to an error how the client should have authenticated.
func (a *AuthorizationServer) unauthenticated(w http.ResponseWriter, method string, err error) error {
	var e *denial
	if errors.As(err, &e) && e.code == codeInvalidClient {
		own := *e // others may have got the same
		own.status, err = http.StatusUnauthorized, &own
		if method == authBasic {
			w.Header().Set("WWW-Authenticate", Challenge{Scheme: "Basic", Params: map[string]string{"realm": a.Issuer}}.String())
		}
	}
	return err
}

// basic reads Basic credentials, both parts of which are form-encoded (RFC 6749,
// section 2.3.1).
func basic(r *http.Request) (id, secret string, ok bool) {
	id, secret, ok = r.BasicAuth()
	id, err := url.QueryUnescape(id)
	secret, err2 := url.QueryUnescape(secret)
	return id, secret, ok && err == nil && err2 == nil && len(r.Header.Values("Authorization")) == 1
}

// claimedClient finds the client that a request says it is from. A document is fetched
// only for who brings what it was issued after a person's login, or somebody trusted.
func (a *AuthorizationServer) claimedClient(r *http.Request, id string, f map[string]string) (*client, error) {
	ctx := r.Context()
	c, err := a.knownClient(ctx, id)
	if c != nil || err != nil {
		return c, err
	}
	if c := a.documents.get(id, time.Now()); c != nil {
		return c, nil
	}
	owner := ""
	switch f["grant_type"] {
	case grantCode:
		var z authorization
		_, err = a.load(ctx, kindCode, digest(f["code"]), &z)
		owner = z.Client
	case grantJWT:
		if t, _, err := a.assertion(ctx, f["assertion"]); err == nil {
			owner = t.text("client_id")
		}
	default:
		_, owner, err = a.grantBehind(ctx, cmp.Or(f["refresh_token"], f["token"]))
	}
	if err != nil {
		return nil, err
	}
	if owner != id {
		return nil, deny(codeInvalidClient, "the client is not known, or does not authenticate as it has registered")
	}
	return a.document(ctx, id, a.address(r))
}

// checkClientJWT checks a client's assertion (RFC 7523, section 3). No key is asked for
// before the rest is right.
func (a *AuthorizationServer) checkClientJWT(ctx context.Context, c *client, t *jwt) error {
	audiences := []string{a.Issuer}
	if a.TokenAudience {
		audiences = append(audiences, a.Issuer+"/token")
	}
	err := timely(t, audiences, clientJWT)
	if err == nil && (t.text("iss") != c.id || t.text("sub") != c.id) {
		err = errors.New("iss and sub must be the client's id")
	}
	if err == nil {
		keys, e := a.keysOf(ctx, c, t.kid)
		if e != nil {
			return unavailable(e, "the keys of the client cannot be had")
		}
		err = signedBy(t, keys)
	}
	if err == nil {
		err = a.first(ctx, t)
	}
	if err != nil {
		return because(err, codeInvalidClient, "the client assertion is not valid")
	}
	return nil
}

// keysOf are the keys of a client.
func (a *AuthorizationServer) keysOf(ctx context.Context, c *client, kid string) ([]*publicKey, error) {
	if c.meta.JWKSURI == "" {
		return parseJWKS(c.meta.JWKS)
	}
	a.mu.Lock()
	ring := a.clientKeys[c.meta.JWKSURI]
	if ring == nil {
		if len(a.clientKeys) >= maxDocuments {
			clear(a.clientKeys) // they can be fetched again
		}
		at := c.meta.JWKSURI
		ring = newKeyRing(a.learned, func(context.Context) (string, error) {
			if u, err := url.Parse(at); err != nil || !a.mayFetch(u.Host) {
				return "", cmp.Or(err, error(errTooMany))
			}
			return at, nil
		})
		a.clientKeys[c.meta.JWKSURI] = ring
	}
	a.mu.Unlock()
	return ring.keys(ctx, kid)
}

func signedBy(t *jwt, keys []*publicKey) error {
	err := fmt.Errorf("there is no key %.100q", t.kid)
	for _, k := range keys {
		if t.kid != "" && k.id != "" && k.id != t.kid {
			continue
		}
		if err = t.verify(k); err == nil {
			return nil
		}
	}
	return err
}

// timely checks whom an assertion is for, and when. It may be valid for at most the
// given time, and what it needs to be used but once must be there.
func timely(t *jwt, audiences []string, longest time.Duration) error {
	now := time.Now()
	exp, hasExp := t.time("exp")
	iat, hasIat := t.time("iat")
	nbf, hasNbf := t.time("nbf")
	list, ok := t.audience()
	switch {
	case !ok || !slices.ContainsFunc(list, func(s string) bool { return slices.Contains(audiences, s) }):
		return fmt.Errorf("aud must be one of %q", audiences)
	case !hasExp || !now.Before(exp.Add(jwtLeeway)):
		return errors.New("exp is missing or past")
	case exp.Sub(now) > longest+jwtLeeway:
		return fmt.Errorf("exp is more than %v ahead", longest)
	case hasIat && iat.Sub(now) > jwtLeeway, hasNbf && nbf.Sub(now) > jwtLeeway:
		return errors.New("iat or nbf is in the future")
	case t.text("jti") == "":
		return errors.New("jti is missing")
	}
	return nil
}

// first lets an assertion pass once.
func (a *AuthorizationServer) first(ctx context.Context, t *jwt) error {
	exp, _ := t.time("exp")
	err := create(ctx, a.store, kindSeen, digest(t.text("iss"), t.text("sub"), t.text("jti")), true, exp.Add(jwtLeeway))
	if err != nil && !errors.Is(err, errTaken) {
		return unavailable(err, "try again later") // our trouble, not the assertion's fault
	}
	return err
}

// assertion reads a JWT that is a grant, and checks that a trusted issuer has signed it.
// No key is asked for before the issuer is known to be one.
func (a *AuthorizationServer) assertion(ctx context.Context, token string) (*jwt, *TrustedIssuer, error) {
	t, err := parseJWT(token)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(a.TrustedIssuers, func(trusted TrustedIssuer) bool { return trusted.Issuer == t.text("iss") })
	if i < 0 {
		return nil, nil, fmt.Errorf("issuer %.200q is not trusted", t.text("iss"))
	}
	keys, err := a.issuers[t.text("iss")].keys(ctx, t.kid)
	if err != nil {
		return nil, nil, unavailable(err, "the keys of the issuer cannot be had")
	}
	return t, &a.TrustedIssuers[i], signedBy(t, keys)
}

// vouched gives tokens for an assertion (RFC 7523, section 2.1): of an enterprise's
// identity provider about a person, or of a platform about a workload.
func (a *AuthorizationServer) vouched(ctx context.Context, c *client, f map[string]string, key string) (*tokenReply, error) {
	g := &grant{}
	if c != nil {
		g.Client = c.id
	}
	t, issuer, err := a.assertion(ctx, f["assertion"])
	var allowed []string
	switch {
	case err != nil:
	case t.text("sub") == "" || !t.claims.member("iat").present():
		err = errors.New("sub or iat is missing")
	case t.typ == typIDJAG:
		allowed, err = a.enterprise(ctx, g, t, issuer)
	default:
		allowed, err = a.workload(ctx, g, t, issuer)
	}
	if err == nil {
		g.Resource, err = a.vouchedResource(t.text("resource"), f["resource"])
	}
	if asked := cmp.Or(f["scope"], strings.Join(allowed, " ")); err == nil && asked != "" {
		if g.Scopes, err = a.scopes(g.Subject, g.Client, asked); err == nil {
			g.Scopes = slices.DeleteFunc(g.Scopes, func(s string) bool { return !slices.Contains(allowed, s) })
			if len(g.Scopes) == 0 {
				err = deny(codeInvalidScope, "none of these scopes can be granted")
			}
		}
	}
	if err == nil {
		err = a.first(ctx, t)
	}
	if err != nil {
		return nil, because(err, codeInvalidGrant, "the assertion is not valid")
	}
	a.log.InfoContext(ctx, "access was allowed", "client", g.Client, "user", g.Subject, "scopes", g.Scopes, "issuer", issuer.Issuer)
	return a.begin(ctx, newSecret(), g, false, key)
}

// vouchedResource is what the token is for: what the assertion says, and no other.
func (a *AuthorizationServer) vouchedResource(claimed, asked string) (string, error) {
	resource, err := a.resource(cmp.Or(claimed, asked))
	switch {
	case claimed == "":
		return resource, err
	case err != nil:
		return "", deny(codeInvalidGrant, "the assertion is for another resource")
	case asked != "" && !sameResource(asked, resource):
		return "", deny("invalid_target", "resource is not that of the assertion")
	}
	return resource, nil
}

// enterprise checks an identity assertion (Enterprise-Managed Authorization, Processing
// Rules), and returns the scopes it allows.
func (a *AuthorizationServer) enterprise(ctx context.Context, g *grant, t *jwt, issuer *TrustedIssuer) ([]string, error) {
	list, _ := t.audience()
	switch {
	case !issuer.Enterprise:
		return nil, errors.New("the issuer does not vouch for people")
	case g.Client == "":
		return nil, deny(codeInvalidClient, "the client does not say who it is")
	case t.text("client_id") != g.Client:
		return nil, errors.New("client_id is another client's")
	case len(list) != 1:
		return nil, errors.New("aud must be this server alone")
	}
	if err := timely(t, []string{a.Issuer}, bearerJWT); err != nil {
		return nil, err
	}
	if g.Subject = issuer.Issuer + "|" + t.text("sub"); issuer.User != nil {
		user, err := issuer.User(ctx, t.claims.raw())
		if err != nil || user == "" {
			return nil, cmp.Or(err, errNobody)
		}
		g.Subject = user
	}
	return t.scopes(), nil
}

// workload checks the token of a workload (Workload Identity Federation), and returns the
// scopes it allows. The subject cannot be taken for a person's.
func (a *AuthorizationServer) workload(ctx context.Context, g *grant, t *jwt, issuer *TrustedIssuer) ([]string, error) {
	if issuer.Workload == nil {
		return nil, errors.New("the issuer does not vouch for workloads")
	}
	if err := timely(t, []string{a.Issuer, a.Issuer + "/token"}, bearerJWT); err != nil {
		return nil, err
	}
	g.Subject = workloadPrefix + issuer.Issuer + "|" + t.text("sub")
	return issuer.Workload(ctx, t.claims.raw())
}

// proof checks the DPoP proof of a token request, and returns the thumbprint of its key;
// empty: tokens are not bound.
func (a *AuthorizationServer) proof(w http.ResponseWriter, r *http.Request) (string, error) {
	if !a.DPoP {
		return "", nil
	}
	check := &proofCheck{method: r.Method, url: a.Issuer + r.URL.Path, now: time.Now()}
	if a.DPoPNonce {
		mint, err := a.mint(r.Context())
		if err != nil {
			return "", err
		}
		w.Header().Set(headerNonce, mint.mint(check.now))
		check.nonce = func(nonce string) bool { return mint.fresh(nonce, check.now) }
	}
	proofs := r.Header.Values(headerProof)
	switch len(proofs) {
	case 0:
		return "", nil
	case 1:
		key, _, err := check.check(proofs[0])
		if errors.Is(err, errUseNonce) {
			err = deny(codeUseNonce, "the proof needs a nonce of this server")
		} else if err != nil {
			err = because(err, codeInvalidProof, "the proof of possession is not valid")
		}
		return key, err
	}
	return "", deny(codeInvalidProof, "there must be one DPoP header")
}

// mint makes nonces that all replicas know.
func (a *AuthorizationServer) mint(ctx context.Context) (*nonceMint, error) {
	var key string
	if ok, err := a.load(ctx, kindSecret, "nonce", &key); ok || err != nil {
		return &nonceMint{[]byte(key)}, err
	}
	err := change(ctx, a.store, kindSecret, "nonce", func(now *string, _ bool) (time.Time, error) {
		*now = cmp.Or(*now, newSecret()) // another replica may be faster
		key = *now
		return time.Time{}, nil
	})
	return &nonceMint{[]byte(key)}, err
}

// register is the registration endpoint (RFC 7591, section 3).
func (a *AuthorizationServer) register(w http.ResponseWriter, r *http.Request) (any, error) {
	if want := a.InitialAccessToken; want != "" {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, schemeBearer) || !matches(token, digest(want)) {
			w.Header().Set("WWW-Authenticate", schemeBearer)
			return nil, &denial{status: http.StatusUnauthorized, code: codeInvalidToken, text: "an initial access token is required"}
		}
	}
	data, err := body(r, typeJSON)
	if err != nil {
		return nil, err
	}
	m := ClientMetadata{}
	if err := decodeDocument(data, &m); err != nil {
		return nil, deny("invalid_client_metadata", "the body is not client metadata: %v", err)
	}
	if err := a.checkRegistration(&m); err != nil {
		return nil, err
	}
	id, now := newSecret(), time.Now()
	record, reply := &clientRecord{Meta: m}, map[string]any{"client_id": id, "client_id_issued_at": now.Unix()}
	if m.TokenEndpointAuthMethod == authBasic || m.TokenEndpointAuthMethod == authPost {
		secret := newSecret()
		record.Secret = digest(secret)
		reply["client_secret"], reply["client_secret_expires_at"] = secret, 0
	}
	if err := create(r.Context(), a.store, kindClient, id, record, now.Add(clientUnused)); err != nil {
		return nil, err
	}
	a.log.InfoContext(r.Context(), "a client has registered", "client", id, "name", shownName(newClient(id, "", &m)))
	return merged(&m, reply)
}

// checkRegistration checks what a client says of itself, and fills in what it does not.
func (a *AuthorizationServer) checkRegistration(m *ClientMetadata) error {
	invalid := func(format string, args ...any) error { return deny("invalid_client_metadata", format, args...) }
	m.ClientID = ""
	if m.TokenEndpointAuthMethod = cmp.Or(m.TokenEndpointAuthMethod, authBasic); len(m.GrantTypes) == 0 {
		m.GrantTypes = []string{grantCode}
	}
	if len(m.ResponseTypes) == 0 {
		m.ResponseTypes = []string{"code"}
	}
	m.GrantTypes = slices.DeleteFunc(m.GrantTypes, func(g string) bool { return g == grantCredentials || !slices.Contains(a.grants(), g) })
	data, err := marshal(m)
	keys, _ := parseJWKS(m.JWKS)
	switch {
	case err != nil || len(data) > maxClientRecord:
		return invalid("the metadata has more than %d bytes", maxClientRecord)
	case !slices.Contains([]string{authNone, authBasic, authPost, authJWT}, m.TokenEndpointAuthMethod):
		return invalid("token_endpoint_auth_method %.100q is not supported", m.TokenEndpointAuthMethod)
	case m.TokenEndpointAuthMethod == authJWT && len(keys) == 0 && m.JWKSURI == "":
		return invalid("private_key_jwt needs keys in jwks, or a jwks_uri")
	case publicOnly(m.JWKS) != nil:
		return invalid("jwks holds a private key")
	case m.JWKSURI != "" && a.learned.check(m.JWKSURI) != nil:
		return invalid("jwks_uri must be a public https URL")
	case len(m.GrantTypes) == 0:
		return invalid("none of the grant_types is supported")
	case !slices.Equal(m.ResponseTypes, []string{"code"}):
		return invalid("response_types must be code")
	}
	if _, ok := parseScopes(m.Scope); !ok {
		return invalid("scope is malformed")
	}
	if err := a.checkRedirects(m); err != nil {
		return err
	}
	if a.AllowClient != nil {
		if err := a.AllowClient("", m); err != nil {
			return invalid("the client is not allowed here")
		}
	}
	return nil
}

// checkRedirects checks the redirect URIs of a registration (OpenID Connect Dynamic
// Client Registration, section 2, for what application_type demands).
func (a *AuthorizationServer) checkRedirects(m *ClientMetadata) error {
	invalid := func(format string, args ...any) error { return deny("invalid_redirect_uri", format, args...) }
	if n := len(m.RedirectURIs); n == 0 && slices.Contains(m.GrantTypes, grantCode) || n > maxRedirectURIs {
		return invalid("redirect_uris must be 1 to %d", maxRedirectURIs)
	}
	for _, text := range m.RedirectURIs {
		if err := validRedirect(text, a.PrivateSchemes); err != nil {
			return invalid("%v", err)
		}
		switch {
		case m.ApplicationType == "web" && !remote(text):
			return invalid("a web application's redirect URIs are https, and not on this machine")
		case m.ApplicationType == "native" && remote(text):
			return invalid("a native application's redirect URIs are on the person's machine")
		case !slices.Contains([]string{"", "web", "native"}, m.ApplicationType):
			return deny("invalid_client_metadata", "application_type must be native or web")
		}
	}
	return nil
}

// used keeps a registration that got tokens.
func (a *AuthorizationServer) used(ctx context.Context, c *client) {
	if c == nil || c.chosen || c.documented {
		return
	}
	now := time.Now()
	err := change(ctx, a.store, kindClient, c.id, func(r *clientRecord, found bool) (time.Time, error) {
		if !found || now.Sub(r.Used.time()) < clientKept/4 {
			return time.Time{}, errTaken // it is kept long enough, or gone
		}
		r.Used = toUnix(now)
		return now.Add(clientKept), nil
	})
	if err != nil && !errors.Is(err, errTaken) {
		a.log.ErrorContext(ctx, "keeping a registration", "client", c.id, "error", err)
	}
}

// checkDocumentURL reports why an id is not the URL of a client's metadata document
// (Authorization, Client ID Metadata Documents).
func (a *AuthorizationServer) checkDocumentURL(id string) error {
	return cmp.Or(checkClientURL(id), a.learned.check(id))
}

// document returns the client that a metadata document describes.
func (a *AuthorizationServer) document(ctx context.Context, id, address string) (*client, error) {
	if c := a.documents.get(id, time.Now()); c != nil {
		return c, nil
	}
	return a.documents.fetching.do(ctx, id, func(ctx context.Context) (*client, error) {
		u, _ := url.Parse(id)
		if !a.limits.take("document for "+address) || !a.mayFetch(u.Host) {
			return nil, errTooMany
		}
		c, until, err := a.fetchDocument(ctx, id)
		if err != nil {
			a.log.WarnContext(ctx, "a client's metadata document cannot be used", "client", id, "error", err)
			return nil, &denial{http.StatusBadRequest, codeInvalidClient, "the client's metadata document cannot be used", err}
		}
		a.documents.put(id, c, until)
		return c, nil
	})
}

// mayFetch counts what is fetched because a client wants it.
func (a *AuthorizationServer) mayFetch(host string) bool {
	return a.limits.take("host for "+host) && a.limits.take("documents")
}

// fetchDocument fetches a metadata document, and says until when it may be kept.
func (a *AuthorizationServer) fetchDocument(ctx context.Context, id string) (*client, time.Time, error) {
	u, err := url.Parse(id)
	if err != nil {
		return nil, time.Time{}, err
	}
	resp, data, err := transact(ctx, a.learned.RoundTrip, http.MethodGet, u, nil, nil, documentWait, documentLimit)
	if err != nil {
		return nil, time.Time{}, err
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, time.Time{}, fmt.Errorf("status %d, want 200", resp.StatusCode)
	case mediaType != typeJSON && !(strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")):
		return nil, time.Time{}, fmt.Errorf("type %.100q, want %s", mediaType, typeJSON)
	}
	m, err := parseClientDocument(data, id)
	if err != nil {
		return nil, time.Time{}, err
	}
	if m.JWKSURI != "" {
		err = a.learned.check(m.JWKSURI)
	}
	if err == nil && a.AllowClient != nil {
		err = a.AllowClient(id, m)
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	m.TokenEndpointAuthMethod = cmp.Or(m.TokenEndpointAuthMethod, authNone)
	c := newClient(id, "", m)
	c.documented = true
	return c, time.Now().Add(freshness(resp.Header)), nil
}

// freshness is how long an answer may be kept (RFC 9111, section 4.2).
func freshness(h http.Header) time.Duration {
	fresh := documentDefault
	if expires := h.Get("Expires"); expires != "" {
		at, _ := http.ParseTime(expires) // what is no time is past
		fresh = time.Until(at)
	}
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			seconds, _ := strconv.ParseUint(strings.Trim(value, `"`), 10, 31) // nonsense is 0, much is the most
			age, _ := strconv.ParseUint(h.Get("Age"), 10, 31)
			fresh = time.Duration(seconds)*time.Second - time.Duration(age)*time.Second
		}
	}
	return max(0, min(fresh, documentKept))
}

// documents are the metadata documents that are kept.
type documents struct {
	fetching turns[*client]

	mu sync.Mutex // guards m
	m  map[string]keptDocument
}

type keptDocument struct {
	c     *client
	until time.Time
}

func (d *documents) get(id string, now time.Time) *client {
	d.mu.Lock()
	defer d.mu.Unlock()
	if kept := d.m[id]; now.Before(kept.until) {
		return kept.c
	}
	return nil
}

func (d *documents) put(id string, c *client, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil || len(d.m) >= maxDocuments {
		d.m = map[string]keptDocument{} // they can be fetched again
	}
	d.m[id] = keptDocument{c, until}
}

// turns do a thing for a key once at a time: who comes meanwhile gets the same.
type turns[T any] struct {
	mu sync.Mutex // guards m
	m  map[string]*turn[T]
}

type turn[T any] struct {
	done chan struct{} // closed by who runs it, when v and err are set
	v    T
	err  error
}

// do runs f, whose context does not end with the caller's: others wait for it, too.
func (f *turns[T]) do(ctx context.Context, key string, run func(context.Context) (T, error)) (T, error) {
	f.mu.Lock()
	t := f.m[key]
	if t == nil {
		if f.m == nil {
			f.m = map[string]*turn[T]{}
		}
		t = &turn[T]{done: make(chan struct{}), err: errors.New("the request panicked")}
		f.m[key] = t
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.m, key)
			close(t.done)
		}()
		f.mu.Unlock()
		t.v, t.err = run(context.WithoutCancel(ctx))
		return t.v, t.err
	}
	f.mu.Unlock()
	select {
	case <-t.done:
		return t.v, t.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

var (
	errTooMany = &denial{status: http.StatusTooManyRequests, code: "temporarily_unavailable", text: "too many requests"}
	errTooLong = &denial{status: http.StatusBadRequest, code: codeInvalidRequest, text: "the request is too long"}
)

// request counts a request to a path against what one address, and what all together,
// may ask for. What is not limited costs nothing.
func (l *rateLimits) request(path, address string) error {
	switch path {
	case "/token", "/revoke", "/register", "/authorize", "/consent", "/callback":
		if !l.take(path+" for "+address) || !l.take(path) {
			return errTooMany
		}
	}
	return nil
}

// limitOf is how often something may happen, of what is asked for, by one or by all
// together: burst times at once, and then rate times a second.
func limitOf(what string, one bool) (rate float64, burst int) {
	switch {
	case what == "/register" && one:
		return 0.1, 20
	case what == "/register":
		return 10, 100
	case what == "document", what == "host":
		return 1, 10
	case what == "documents":
		return 20, 100
	case what == "/token" && !one, what == "/revoke" && !one:
		return 5000, 10_000 // each costs little
	case what == "person": // each token and grant is kept for a while
		return 0.1, 100
	case what == "machine", what == "/token", what == "/revoke":
		return 20, 1000
	case one:
		return 2, 100
	}
	return 100, 1000
}

// rateLimits count what happens, by key.
type rateLimits struct {
	mu sync.Mutex // guards m
	m  map[string]map[string]*bucket
}

// take counts one of a key: what happens, and " for " whom. Whoever comes from many
// addresses makes those forgotten, but neither the limits for all together, nor those of
// persons or hosts.
func (l *rateLimits) take(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	what, _, one := strings.Cut(key, " for ")
	rate, burst := limitOf(what, one)
	if !one {
		what = "" // the few that are for all together
	}
	b := l.m[what][key]
	if b == nil {
		if l.m == nil {
			l.m = map[string]map[string]*bucket{}
		}
		if l.m[what] == nil || len(l.m[what]) >= maxBuckets {
			l.m[what] = map[string]*bucket{} // full ones are as good as new
		}
		b = &bucket{}
		l.m[what][key] = b
	}
	return b.take(rate, burst)
}

// address tells requesters apart.
func (a *AuthorizationServer) address(r *http.Request) string {
	if a.Address != nil {
		return a.Address(r)
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is6() {
		prefix, _ := ip.WithZone("").Prefix(64)
		return prefix.String()
	}
	return ip.String()
}

// A MemoryAuthorizationStore keeps records in memory, for one process. It is ready for
// use.
type MemoryAuthorizationStore struct {
	// MaxBytes is how much the records of one kind may take; 0 means 32 MiB. When that
	// is full new ones fail with ErrStoreFull.
	MaxBytes int

	mu    sync.Mutex // guards kinds
	kinds map[string]*recordKind
}

type recordKind struct {
	records map[string]memoryRecord
	bytes   int
	swept   time.Time // when all were looked at
	changes int       // since then
}

type memoryRecord struct {
	data []byte
	ends time.Time // zero: never
}

func (m memoryRecord) over(now time.Time) bool { return !m.ends.IsZero() && !now.Before(m.ends) }

// Load is as in [AuthorizationStore].
func (m *MemoryAuthorizationStore) Load(_ context.Context, kind, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kind(kind).get(key, time.Now()), nil
}

// Update is as in [AuthorizationStore].
func (m *MemoryAuthorizationStore) Update(_ context.Context, kind, key string, change func([]byte) ([]byte, time.Time, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, now := m.kind(kind), time.Now()
	old := k.get(key, now)
	data, ends, err := change(old)
	if err != nil {
		return err
	}
	k.remove(key)
	record := memoryRecord{bytes.Clone(data), ends}
	if data == nil || record.over(now) {
		return nil
	}
	cost, most := len(key)+len(data)+recordCost, cmp.Or(m.MaxBytes, maxKind)
	// A full kind is looked through once a second, so that a flood costs little.
	if k.changes++; k.changes > len(k.records)+1000 || k.bytes+cost > most && now.Sub(k.swept) >= time.Second {
		k.sweep(now)
	}
	if k.bytes+cost > most && old == nil {
		return ErrStoreFull
	}
	k.records[key] = record
	k.bytes += cost
	return nil
}

func (m *MemoryAuthorizationStore) kind(name string) *recordKind {
	k := m.kinds[name]
	if k == nil {
		if m.kinds == nil {
			m.kinds = map[string]*recordKind{}
		}
		k = &recordKind{records: map[string]memoryRecord{}}
		m.kinds[name] = k
	}
	return k
}

func (k *recordKind) get(key string, now time.Time) []byte {
	if r, ok := k.records[key]; ok && !r.over(now) {
		return bytes.Clone(r.data)
	}
	return nil
}

func (k *recordKind) remove(key string) {
	if r, ok := k.records[key]; ok {
		k.bytes -= len(key) + len(r.data) + recordCost
		delete(k.records, key)
	}
}

// sweep removes what has ended.
func (k *recordKind) sweep(now time.Time) {
	k.changes, k.swept = 0, now
	for key, r := range k.records {
		if r.over(now) {
			k.remove(key)
		}
	}
}

// pageData is what a page shows. All of it is escaped where it stands.
type pageData struct {
	*authorization
	Title, Nonce   string
	Problem, Code  string // of a page that says why nothing can be given
	Back           string // where that leads to, if the person wants
	Token          string // of a page that asks
	Name           string // the client's own claim
	Claimed        bool   // nobody has checked the name
	Document       string // host of the document that describes the client
	Local          bool   // any program of the person's machine may be the client
	Host           string // that the person is sent to
	Allows         [][2]string
	Party          string // host
	UpstreamScopes []string
}

// show writes a page. It runs no script, loads nothing and cannot be framed. Nothing is
// said of where forms may lead: browsers hold redirects after a form to that, too, and
// they lead to clients and to third parties.
func (a *AuthorizationServer) show(w http.ResponseWriter, status int, d pageData) {
	d.Nonce = newSecret()
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, d); err != nil {
		a.log.Error("writing a page", "error", err)
		status = http.StatusInternalServerError
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+d.Nonce+"'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style nonce="{{.Nonce}}">
body { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 0 auto; padding: 1.5rem 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.1rem; margin-bottom: 0; }
dt { font-weight: bold; margin-top: .75rem; }
dd { margin-left: 0; }
.warning { border-left: .3rem solid; padding: .1rem 1rem; }
button { font: inherit; padding: .6rem 1.5rem; margin: 0 .5rem .5rem 0; }
:focus-visible { outline: .2rem solid; outline-offset: .2rem; }
</style>
</head>
<body>
<main>
{{if .Problem}}<h1>{{.Title}}</h1>
<p role="alert">{{.Problem}}</p>
<p>{{.Code}}</p>
{{if .Back}}<p><a href="{{.Back}}">Go to <strong>{{.Host}}</strong></a></p>
{{end}}{{else}}<h1>Allow “{{.Name}}” to use {{.Resource}}?</h1>
<dl>
{{if .User}}<dt>You are signed in as</dt><dd>{{.User}}</dd>
{{end}}{{if .Document}}<dt>The application is described at</dt><dd><strong>{{.Document}}</strong></dd>
{{end}}<dt>You will be sent to</dt><dd><strong>{{.Host}}</strong><br><small>{{.Redirect}}</small></dd>
</dl>
{{if .Claimed}}<p>The name is what the application calls itself. Nobody has checked it.</p>
{{end}}{{if .Local}}<div class="warning" role="note"><p><strong>Only go on if you have just started this yourself.</strong> The application runs on your own device. Any program there could claim to be it.</p></div>
{{end}}<h2>It will be able to</h2>
{{if .Allows}}<ul>
{{range .Allows}}<li>{{index . 1}} <small>({{index . 0}})</small></li>
{{end}}</ul>
{{else}}<p>use the service in your name, without special permissions</p>
{{end}}{{if .Party}}<h2>You will sign in at {{.Party}}</h2>
{{if .UpstreamScopes}}<p>This service, not the application, will ask there for:</p>
<ul>
{{range .UpstreamScopes}}<li>{{.}}</li>
{{end}}</ul>
{{end}}{{end}}<form method="post" action="/consent">
<input type="hidden" name="consent" value="{{.Token}}">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Cancel</button>
</form>
{{end}}</main>
</body>
</html>
`))
})
