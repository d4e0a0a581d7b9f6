package mcp

// Authorization (Authorization; OAuth 2.1): the words and rules that clients, resource
// servers and authorization servers share. Challenges and scopes, the metadata
// documents and how they are found, PKCE, redirect URIs, the requests to a token
// endpoint, and the one way in which URLs that others have named are fetched. It stands
// on jose.go; oauthclient.go, oauthresource.go and oauthserver.go are the three parties.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxChallengeLine = 8 << 10
	maxChallenges    = 16
	maxParams        = 64 // of one challenge
	maxScopes        = 100
	maxServers       = 10               // authorization servers of a resource that are considered
	maxDocument      = 1 << 20          // bytes of a metadata document, or of an answer of an endpoint
	maxKeySet        = 256 << 10        // bytes of a JWKS
	maxNonces        = 100              // origins whose newest nonce is remembered
	maxOAuthText     = 1 << 10          // bytes of what a server said, in an error
	maxURL           = 2 << 10          // bytes of a redirect URI or a client's id
	documentTimeout  = 10 * time.Second // for a metadata document
	endpointTimeout  = 30 * time.Second // for a token or a registration
	discoveryTimeout = time.Minute      // for all documents together
	keysFresh        = 10 * time.Minute // until a JWKS is fetched again
	keysStale        = 24 * time.Hour   // until keys are not used any more if that fails
	keysPause        = 30 * time.Second // between two fetches of a JWKS

	headerNonce = "Dpop-Nonce"
	headerProof = "Dpop"
	headerAsks  = "Www-Authenticate"
)

// Types of OAuth grants.
const (
	grantCode        = "authorization_code"
	grantRefresh     = "refresh_token"
	grantCredentials = "client_credentials"
	grantJWT         = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange    = "urn:ietf:params:oauth:grant-type:token-exchange"

	tokenTypeIDJAG = "urn:ietf:params:oauth:token-type:id-jag"
	assertionJWT   = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// Ways in which a client authenticates at a token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authJWT   = "private_key_jwt"
)

// Codes of OAuth errors that lead to more than an error.
const (
	codeInvalidRequest    = "invalid_request"
	codeInvalidToken      = "invalid_token"
	codeInvalidGrant      = "invalid_grant"
	codeInvalidClient     = "invalid_client"
	codeInvalidScope      = "invalid_scope"
	codeInsufficientScope = "insufficient_scope"
	codeUseNonce          = "use_dpop_nonce"
	codeInvalidProof      = "invalid_dpop_proof"
)

// A Challenge is one challenge of a WWW-Authenticate header (RFC 9110, section 11).
type Challenge struct {
	Scheme string            // as it came; schemes are compared without regard to case
	Params map[string]string // names in lower case
}

// is reports whether the challenge has one of the schemes.
func (c *Challenge) is(schemes ...string) bool {
	return slices.ContainsFunc(schemes, func(s string) bool { return strings.EqualFold(s, c.Scheme) })
}

// String is the challenge as it stands in a header, all values quoted. What a header
// cannot carry is left out.
func (c Challenge) String() string {
	first := []string{"error", "error_description", "scope", "resource_metadata", "algs"}
	names := slices.DeleteFunc(sortedKeys(c.Params), func(n string) bool { return slices.Contains(first, n) || !isToken(n) })
	b := strings.Builder{}
	b.WriteString(c.Scheme)
	sep := " "
	for _, name := range append(first, names...) {
		value, ok := c.Params[name]
		if !ok {
			continue
		}
		b.WriteString(sep + name + `="`)
		for _, r := range value {
			if r == '"' || r == '\\' {
				b.WriteByte('\\')
			}
			if ' ' <= r && r <= '~' {
				b.WriteRune(r)
			}
		}
		b.WriteByte('"')
		sep = ", "
	}
	return b.String()
}

// ParseChallenges reads the WWW-Authenticate lines of an answer (RFC 9110, section
// 11.6.1). A malformed challenge is left out, together with what follows in its line; a
// line that has too much of anything is left out whole.
func ParseChallenges(lines []string) []Challenge {
	var all []Challenge
	for _, line := range lines {
		if len(line) > maxChallengeLine {
			continue
		}
		if found := parseChallenges(line); len(all)+len(found) <= maxChallenges {
			all = append(all, found...)
		}
	}
	return all
}

// What challenges consist of (RFC 9110, sections 5.6 and 11), at the head of a text.
const tokenBytes = "!#$%&'*+.^_`|~0-9A-Za-z-"

var (
	tokenForm   = lazyRegexp("^[" + tokenBytes + "]+$")
	bearerForm  = lazyRegexp(`^[0-9A-Za-z._~+/-]+=*$`)
	schemeHead  = lazyRegexp("^([" + tokenBytes + `]+)(?:[ \t]+|,|$)`)
	token68Head = lazyRegexp(`^[0-9A-Za-z._~+/-]+=*[ \t]*(?:,|$)`)
	paramHead   = lazyRegexp("^([" + tokenBytes + `]+)[ \t]*=[ \t]*(?:([` + tokenBytes + `]+)|"((?:\\?[^"\\\x00-\x08\x0A-\x1F\x7F]|\\["\\])*)")[ \t]*(?:,|$)`)
	nextHead    = lazyRegexp("^[" + tokenBytes + `]+(?:[ \t]*$|[ \t]+[^= \t]|[^= \t` + tokenBytes + `])`) // no parameter
	escape      = lazyRegexp(`\\(.)`)
)

// parseChallenges reads one line. After a comma, a name with "=" is a parameter of the
// same challenge, and one without is the scheme of the next.
func parseChallenges(line string) (found []Challenge) {
	for {
		line = strings.TrimLeft(line, " \t,")
		scheme := schemeHead().FindStringSubmatch(line)
		switch {
		case scheme == nil:
			return found
		case len(found) == maxChallenges:
			return nil
		}
		c := Challenge{scheme[1], map[string]string{}}
		line = line[len(scheme[0]):]
		comma := strings.HasSuffix(scheme[0], ",")
		if data := token68Head().FindString(line); data != "" && !comma { // in place of parameters
			line = line[len(data):]
			found = append(found, c)
			continue
		}
		for {
			rest := strings.TrimLeft(line, " \t,")
			comma = comma || strings.Contains(line[:len(line)-len(rest)], ",")
			line = rest
			param := paramHead().FindStringSubmatch(line)
			if param == nil {
				break
			}
			name := strings.ToLower(param[1])
			if _, again := c.Params[name]; again {
				return found
			}
			if c.Params[name] = param[2] + escape().ReplaceAllString(param[3], "$1"); len(c.Params) > maxParams {
				return nil
			}
			line, comma = line[len(param[0]):], true
		}
		if line != "" && !(comma && nextHead().MatchString(line)) {
			return found
		}
		found = append(found, c)
	}
}

// isBearer reports whether a token can stand in an Authorization header (RFC 6750,
// section 2.1).
func isBearer(token string) bool { return bearerForm().MatchString(token) }

func isToken(name string) bool { return tokenForm().MatchString(name) }

// parseScopes reads a list of scopes (RFC 6749, section 3.3), each of them once.
func parseScopes(list string) (scopes []string, ok bool) {
	for scope := range strings.SplitSeq(list, " ") {
		switch {
		case scope == "" || slices.Contains(scopes, scope):
			continue
		case !isScope(scope) || len(scopes) == maxScopes:
			return nil, false
		}
		scopes = append(scopes, scope)
	}
	return scopes, true
}

func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// unionScopes is a, and then what b has beyond it.
func unionScopes(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// coversScopes reports whether all wanted scopes are among those granted.
func coversScopes(granted, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(granted, s) })
}

// ProtectedResourceMetadata says of a resource, such as an MCP server, how to be
// allowed to use it (RFC 9728).
type ProtectedResourceMetadata struct {
	Resource                      string   `json:"resource"`
	AuthorizationServers          []string `json:"authorization_servers,omitempty"` // issuers
	ScopesSupported               []string `json:"scopes_supported,omitempty"`
	BearerMethodsSupported        []string `json:"bearer_methods_supported,omitempty"`
	ResourceName                  string   `json:"resource_name,omitempty"`
	ResourceDocumentation         string   `json:"resource_documentation,omitempty"`
	DPoPSigningAlgValuesSupported []string `json:"dpop_signing_alg_values_supported,omitempty"`
	DPoPBoundAccessTokensRequired bool     `json:"dpop_bound_access_tokens_required,omitempty"`
}

// AuthorizationServerMetadata says of an authorization server where its endpoints are
// and what it can do (RFC 8414, OpenID Connect Discovery).
type AuthorizationServerMetadata struct {
	Issuer                                     string   `json:"issuer"`
	AuthorizationEndpoint                      string   `json:"authorization_endpoint,omitempty"`
	TokenEndpoint                              string   `json:"token_endpoint,omitempty"`
	RegistrationEndpoint                       string   `json:"registration_endpoint,omitempty"`
	RevocationEndpoint                         string   `json:"revocation_endpoint,omitempty"`
	IntrospectionEndpoint                      string   `json:"introspection_endpoint,omitempty"`
	JWKSURI                                    string   `json:"jwks_uri,omitempty"`
	ScopesSupported                            []string `json:"scopes_supported,omitempty"`
	ResponseTypesSupported                     []string `json:"response_types_supported,omitempty"`
	ResponseModesSupported                     []string `json:"response_modes_supported,omitempty"`
	GrantTypesSupported                        []string `json:"grant_types_supported,omitempty"`
	TokenEndpointAuthMethodsSupported          []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	TokenEndpointAuthSigningAlgValuesSupported []string `json:"token_endpoint_auth_signing_alg_values_supported,omitempty"`
	CodeChallengeMethodsSupported              []string `json:"code_challenge_methods_supported,omitempty"`
	AuthorizationResponseIssParameterSupported bool     `json:"authorization_response_iss_parameter_supported,omitempty"`
	ClientIDMetadataDocumentSupported          bool     `json:"client_id_metadata_document_supported,omitempty"`
	RequirePushedAuthorizationRequests         bool     `json:"require_pushed_authorization_requests,omitempty"`
	RequireSignedRequestObject                 bool     `json:"require_signed_request_object,omitempty"`
	DPoPSigningAlgValuesSupported              []string `json:"dpop_signing_alg_values_supported,omitempty"`
	AuthorizationGrantProfilesSupported        []string `json:"authorization_grant_profiles_supported,omitempty"`
}

// ClientMetadata describes a client to an authorization server: in a dynamic
// registration (RFC 7591), and in the client's own metadata document.
type ClientMetadata struct {
	ClientID                string          `json:"client_id,omitempty"` // the document's own URL; not sent in a registration
	ClientName              string          `json:"client_name,omitempty"`
	RedirectURIs            []string        `json:"redirect_uris,omitempty"`
	GrantTypes              []string        `json:"grant_types,omitempty"`
	ResponseTypes           []string        `json:"response_types,omitempty"`
	TokenEndpointAuthMethod string          `json:"token_endpoint_auth_method,omitempty"`
	ApplicationType         string          `json:"application_type,omitempty"` // "native" or "web"
	Scope                   string          `json:"scope,omitempty"`
	ClientURI               string          `json:"client_uri,omitempty"`
	LogoURI                 string          `json:"logo_uri,omitempty"`
	Contacts                []string        `json:"contacts,omitempty"`
	TOSURI                  string          `json:"tos_uri,omitempty"`
	PolicyURI               string          `json:"policy_uri,omitempty"`
	JWKSURI                 string          `json:"jwks_uri,omitempty"`
	JWKS                    json.RawMessage `json:"jwks,omitempty"`
	SoftwareID              string          `json:"software_id,omitempty"`
	SoftwareVersion         string          `json:"software_version,omitempty"`
	DPoPBoundAccessTokens   bool            `json:"dpop_bound_access_tokens,omitempty"`
}

// Document is the client ID metadata document to be served at a URL, which becomes
// the client's id (Authorization, Client ID Metadata Documents). Missing grant types,
// response types and authentication method get the values of a client that logs
// people in and refreshes its tokens.
func (m ClientMetadata) Document(at string) ([]byte, error) {
	m.ClientID = at
	if m.GrantTypes == nil {
		m.GrantTypes = []string{grantCode, grantRefresh}
	}
	if m.ResponseTypes == nil {
		m.ResponseTypes = []string{"code"}
	}
	m.TokenEndpointAuthMethod = cmp.Or(m.TokenEndpointAuthMethod, authNone)
	data, err := marshal(&m)
	if err != nil {
		return nil, fmt.Errorf("mcp: client metadata: %w", err)
	}
	if _, err := parseClientDocument(data, at); err != nil {
		return nil, fmt.Errorf("mcp: client metadata: %w", err)
	}
	return data, nil
}

// parseClientDocument reads and checks the client ID metadata document of a URL.
func parseClientDocument(data []byte, at string) (*ClientMetadata, error) {
	if err := checkClientURL(at); err != nil {
		return nil, err
	}
	root, err := scanDocument(data)
	if err != nil {
		return nil, err
	}
	m := &ClientMetadata{}
	if err := decode(root, m); err != nil {
		return nil, err
	}
	for _, name := range []string{"client_secret", "client_secret_expires_at"} {
		if root.member(name).ix != nil {
			return nil, fmt.Errorf("%s must not be in a public document", name)
		}
	}
	switch {
	case m.ClientID != at:
		return nil, fmt.Errorf("client_id is %.200q, not the document's URL", m.ClientID)
	case m.ClientName == "":
		return nil, errors.New("client_name is missing")
	case len(m.RedirectURIs) == 0:
		return nil, errors.New("redirect_uris is missing or empty")
	case m.TokenEndpointAuthMethod != "" && m.TokenEndpointAuthMethod != authNone && m.TokenEndpointAuthMethod != authJWT:
		return nil, fmt.Errorf("token_endpoint_auth_method %.100q is not for clients whose document is public", m.TokenEndpointAuthMethod)
	case m.TokenEndpointAuthMethod == authJWT && m.JWKS == nil && m.JWKSURI == "":
		return nil, errors.New("private_key_jwt without jwks or jwks_uri")
	}
	for _, u := range m.RedirectURIs {
		if err := validRedirect(u, true); err != nil {
			return nil, err
		}
	}
	if err := publicOnly(m.JWKS); err != nil {
		return nil, err
	}
	return m, nil
}

// publicOnly refuses a JWKS with anything in it that is secret. nil: there is none.
func publicOnly(set json.RawMessage) error {
	if set == nil {
		return nil
	}
	ix, err := scan(set)
	if err != nil {
		return fmt.Errorf("jwks: %w", err)
	}
	keys := ix.root().member("keys")
	if keys.kind() != kindArray {
		return errors.New("jwks has no array of keys")
	}
	for key := range keys.items() {
		for _, name := range privateMembers {
			if key.member(name).ix != nil {
				return errors.New("jwks holds a private key")
			}
		}
	}
	return nil
}

// checkClientURL reports why a URL cannot be the id of a client. Its host is a name with
// a domain, or this machine's.
func checkClientURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || !printable(text) || u.Scheme != "https" || u.Hostname() == "" || len(text) > maxURL:
		return errors.New("a client id URL must be an absolute https URL of at most 2,048 bytes")
	case u.User != nil || strings.Contains(text, "#"):
		return errors.New("a client id URL has neither user info nor a fragment")
	case u.Path == "" || u.Path == "/":
		return errors.New("a client id URL needs a path")
	case !isLoopback(u.Hostname()) && (isAddress(u.Hostname()) || !strings.Contains(strings.Trim(u.Hostname(), "."), ".")):
		return errors.New("a client id URL needs a host name with a domain")
	}
	for segment := range strings.SplitSeq(u.Path, "/") { // decoded
		if segment == "." || segment == ".." {
			return errors.New("a client id URL has no . or .. segments")
		}
	}
	return nil
}

// decodeDocument reads a JSON object.
func decodeDocument(data []byte, dst any) error {
	root, err := scanDocument(data)
	if err != nil {
		return err
	}
	return decode(root, dst)
}

// scanDocument indexes a JSON object. A name that comes twice, in whatever case, makes
// it invalid: another reader could take the other one.
func scanDocument(data []byte) (value, error) {
	ix, err := scan(bytes.Clone(trimBOM(data)))
	if err != nil {
		return value{}, err
	}
	if ix.root().kind() != kindObject {
		return value{}, errors.New("not a JSON object")
	}
	seen := map[string]bool{}
	for name := range ix.root().members() {
		folded := strings.ToLower(strings.ToUpper(name.str())) // some letters have two of one case
		if seen[folded] {
			return value{}, fmt.Errorf("the name %.100q comes twice", folded)
		}
		seen[folded] = true
	}
	return ix.root(), nil
}

// canonicalResource is the identifier of an MCP endpoint: its URL with scheme and
// host in lower case, without default port, user info, fragment, and a path that is
// only "/" (Authorization, Canonical Server URI).
func canonicalResource(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || !printable(text) || u.Scheme == "" || u.Hostname() == "" {
		return "", errors.New("not an absolute URL")
	}
	defaultPort := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), defaultPort)
	if u.Path == "/" {
		u.Path, u.RawPath = "", ""
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	return u.String(), nil
}

// sameResource compares identifiers of resources. Only the case of scheme and host, a
// default port, and an empty path in place of "/" make no difference.
func sameResource(a, b string) bool {
	x, errX := canonicalResource(a)
	y, errY := canonicalResource(b)
	return errX == nil && errY == nil && x == y && !strings.Contains(a+b, "#") && !hasUser(a) && !hasUser(b)
}

// withoutQuery is a URL without what may be secret.
func withoutQuery(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a malformed URL"
	}
	return bare(u)
}

func hasUser(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.User != nil
}

// checkIssuer reports why a text cannot be the identifier of an authorization server
// (RFC 8414, section 2). Whether it may be asked is for outbound.check.
func checkIssuer(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || !printable(text) || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("an issuer must be an absolute https URL")
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return errors.New("an issuer has neither user info, query nor fragment")
	}
	return nil
}

// wellKnownResource lists where the metadata of a resource may be (RFC 9728, section
// 3.1): below the well-known name, and at the root.
func wellKnownResource(resource *url.URL) []string {
	const name = "/.well-known/oauth-protected-resource"
	base, path, query := resource.Scheme+"://"+resource.Host, resource.EscapedPath(), ""
	if resource.RawQuery != "" {
		query = "?" + resource.RawQuery
	}
	if path == "/" {
		path = ""
	}
	if path+query == "" {
		return []string{base + name}
	}
	return []string{base + name + path + query, base + name}
}

// wellKnownServer lists where the metadata of an authorization server may be
// (Authorization, Authorization Server Metadata Discovery).
func wellKnownServer(issuer string) []string {
	const oauth, oidc = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	issuer = strings.TrimSuffix(issuer, "/")
	scheme, rest, _ := strings.Cut(issuer, "://")
	host, path, deep := strings.Cut(rest, "/")
	base := scheme + "://" + host
	if !deep {
		return []string{base + oauth, base + oidc}
	}
	return []string{base + oauth + "/" + path, base + oidc + "/" + path, issuer + oidc}
}

// newSecret is 256 random bits as text.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// pkceChallenge is what the authorization request carries of a verifier (RFC 7636,
// method S256).
func pkceChallenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// validRedirect reports why a person cannot be sent back to a URL (Authorization,
// Communication Security): it is neither https, nor http on this machine, nor,
// if private says so, of a scheme that belongs to an application.
func validRedirect(text string, private bool) error {
	u, err := url.Parse(text)
	if err != nil || !printable(text) || u.Scheme == "" || u.Opaque != "" || len(text) > maxURL {
		return errors.New("a redirect URI must be an absolute URL of at most 2,048 bytes")
	}
	wrong := func(rule string) error { return fmt.Errorf("redirect URI %.200q %s", bare(u), rule) }
	switch {
	case strings.ContainsAny(text, "#*\\"):
		return wrong("has a fragment, a wildcard or a backslash")
	case u.User != nil:
		return wrong("has user info")
	case u.Scheme == "https" && u.Hostname() != "" || u.Scheme == "http" && isLoopback(u.Hostname()) || private && strings.Contains(u.Scheme, "."):
		return nil
	}
	return wrong("must be https, or http at localhost")
}

// printable reports whether text is ASCII without spaces and control characters.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// isLoopback reports whether a host name is this machine's.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback() && !ip.Is4In6()
}

// isAddress reports whether a host name is an address in any spelling: to some readers
// 127.1, 0x7f.1 and 2130706433 are some, and no domain begins with a digit at its end.
func isAddress(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Contains(host, ":") || last != "" && '0' <= last[0] && last[0] <= '9'
}

// sameRedirect compares a registered redirect URI with a given one: as strings, but
// the port of an http URL on this machine may be another (OAuth 2.1, section 8.4.2).
func sameRedirect(registered, given string) bool {
	if registered == given {
		return true
	}
	a, okA := withoutLocalPort(registered)
	b, okB := withoutLocalPort(given)
	return okA && okB && a == b
}

var localURL = lazyRegexp(`^http://([^/?#]*?)(?::([0-9]+))?([/?#].*)?$`)

// withoutLocalPort takes the port out of an http URL on this machine, as text.
func withoutLocalPort(text string) (string, bool) {
	m := localURL().FindStringSubmatch(text)
	if m == nil || !isLoopback(strings.Trim(m[1], "[]")) {
		return "", false
	}
	_, err := strconv.ParseUint(cmp.Or(m[2], "0"), 10, 16)
	return m[1] + m[3], err == nil
}

// An outbound makes requests to URLs that others have named (Security Best Practices,
// Server-Side Request Forgery).
type outbound struct {
	// rt makes the requests; nil: connections of our own, which are not made to private
	// and special addresses.
	rt       http.RoundTripper
	anywhere bool        // private addresses, and http, are fine
	local    bool        // this machine is, also over http
	exempt   string      // origin that the application has chosen itself, whatever its address
	header   http.Header // goes with each request for a document
	lookup   *net.Resolver
}

// errPolicy is what a refused URL or address is to errors.Is.
var errPolicy = errors.New("not allowed here")

// check reports why a URL is not fetched.
func (o *outbound) check(text string) error {
	u, err := url.Parse(text)
	if err != nil || !printable(text) {
		return fmt.Errorf("%w: not a URL", errPolicy)
	}
	return o.checkURL(u)
}

func (o *outbound) checkURL(u *url.URL) error {
	wrong := func(rule string) error { return fmt.Errorf("%w: %.200q %s", errPolicy, bare(u), rule) }
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	here := isLoopback(host) || strings.HasSuffix(host, ".localhost")
	ip, err := netip.ParseAddr(host)
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || host == "" || u.Opaque != "" || !printable(u.Host):
		return wrong("is not an absolute https URL")
	case u.User != nil:
		return wrong("has user info")
	case u.Fragment != "":
		return wrong("has a fragment")
	case o.anywhere:
		return nil
	case u.Scheme == "http" && !here:
		return wrong("is not https")
	case origin(u) == o.exempt:
		return nil
	case here && !o.local:
		return wrong("is on this machine, and the MCP server is not")
	case isAddress(host) && (err != nil || o.forbids(ip)):
		return wrong("has a private or special address")
	}
	return nil
}

// specialAddresses are the addresses that are not of the public Internet, beyond those that
// netip.Addr can tell (IANA special-purpose address registries).
var specialAddresses = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/63"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("5f00::/16"), netip.MustParsePrefix("fec0::/10"),
}

// carriers are IPv6 addresses that lead to an IPv4 one, by where that stands in them.
var carriers = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, // NAT64
	netip.MustParsePrefix("2002::/16"):    2,  // 6to4
}

// forbids reports whether an address must not be connected to.
func (o *outbound) forbids(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for prefix, at := range carriers {
		if prefix.Contains(ip) {
			b := ip.As16()
			ip = netip.AddrFrom4([4]byte(b[at : at+4]))
			if ip.IsLoopback() {
				return true
			}
		}
	}
	switch {
	case ip.IsLoopback():
		return !o.local
	case !ip.IsGlobalUnicast() || ip.IsPrivate():
		return true
	}
	return slices.ContainsFunc(specialAddresses, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// RoundTrip makes one request. The address is judged when the socket is about to be
// connected, so that names which resolve differently from time to time do not help.
// Connections are not kept.
func (o *outbound) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := o.checkURL(r.URL); err != nil {
		return nil, err
	}
	if o.rt != nil {
		return o.rt.RoundTrip(r)
	}
	d := &net.Dialer{Resolver: o.lookup}
	if !o.anywhere && origin(r.URL) != o.exempt {
		d.Control = o.control
	}
	t := &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader}
	return t.RoundTrip(r)
}

// control refuses to connect a socket to an address.
func (o *outbound) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || o.forbids(at.Addr()) {
		return fmt.Errorf("%w: a private or special address", errPolicy)
	}
	return nil
}

// A fetchClass is how a document could not be had, which decides what is tried next.
type fetchClass int

const (
	fetchRefused fetchClass = iota // by us: the URL must not be fetched
	fetchAbsent                    // 4xx, or no JSON object
	fetchTrouble                   // the server failed, or could not be reached
	fetchInvalid                   // a JSON object that breaks a rule
)

// A fetchError is why a document could not be had.
type fetchError struct {
	URL   string // without query
	class fetchClass
	err   error
}

func (e *fetchError) Error() string { return sanitized(e.URL+": "+e.err.Error(), nil) }
func (e *fetchError) Unwrap() error { return e.err }

// Is lets errors.Is find trouble, which may be over soon.
func (e *fetchError) Is(target error) bool { return target == errTrouble && e.class == fetchTrouble }

var errTrouble = errors.New("the server failed or could not be reached")

// fetchErrors are why none of several documents could be had.
type fetchErrors []*fetchError

func (l fetchErrors) Error() string {
	texts := make([]string, len(l))
	for i, e := range l {
		texts[i] = e.Error()
	}
	return strings.Join(texts, "; ")
}

func (l fetchErrors) Is(target error) bool {
	return slices.ContainsFunc(l, func(e *fetchError) bool { return errors.Is(e, target) })
}

// document gets a JSON object. Redirects are followed, but never from https to http.
func (o *outbound) document(ctx context.Context, text string) ([]byte, *fetchError) {
	u, err := url.Parse(text)
	if err != nil || !printable(text) {
		return nil, &fetchError{"a malformed URL", fetchRefused, fmt.Errorf("%w: not a URL", errPolicy)}
	}
	fail := func(class fetchClass, err error) ([]byte, *fetchError) {
		return nil, &fetchError{bare(u), class, err}
	}
	if err := o.checkURL(u); err != nil {
		return fail(fetchRefused, err)
	}
	hops := 0
	client := &http.Client{Transport: o, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch hops = len(via); {
		case hops > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case via[hops-1].URL.Scheme == "https" && r.URL.Scheme != "https":
			return errors.New("a redirect from https to http")
		}
		return nil
	}}
	resp, data, err := transact(ctx, client.Do, http.MethodGet, u, nil, o.header, documentTimeout, maxDocument)
	switch {
	case err != nil && hops == 0 && errors.Is(err, errPolicy):
		return fail(fetchRefused, err)
	case err != nil:
		return fail(fetchTrouble, err)
	case resp.StatusCode/100 == 4:
		return fail(fetchAbsent, errors.New(resp.Status))
	case resp.StatusCode/100 != 2:
		return fail(fetchTrouble, errors.New(resp.Status))
	case !json.Valid(trimBOM(data)) || bytes.TrimLeft(trimBOM(data), " \t\r\n")[0] != kindObject:
		return fail(fetchAbsent, fmt.Errorf("%s, but no JSON object", resp.Status))
	}
	return data, nil
}

// load gets a JSON object and decodes it into dst.
func (o *outbound) load(ctx context.Context, text string, dst any) *fetchError {
	data, e := o.document(ctx, text)
	if e != nil {
		return e
	}
	if err := decodeDocument(data, dst); err != nil {
		return &fetchError{withoutQuery(text), fetchInvalid, err}
	}
	return nil
}

// transact makes a request and reads the answer whole.
func transact(ctx context.Context, do func(*http.Request) (*http.Response, error), method string, u *url.URL, body []byte, header http.Header,
	timeout time.Duration, limit int) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Accept", typeJSON)
	resp, err := do(r)
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err // the URL is named by who asked, and without its query
	}
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("reading the answer: %w", err)
	case len(data) > limit:
		return nil, nil, fmt.Errorf("an answer of more than %d bytes", limit)
	}
	return resp, data, nil
}

// post sends a body to an endpoint. Redirects are not followed, nor looked at: what is
// sent is secret.
func (o *outbound) post(ctx context.Context, endpoint, contentType string, body []byte, header http.Header) (*http.Response, []byte, error) {
	u, err := url.Parse(endpoint)
	if err != nil || !printable(endpoint) {
		return nil, nil, fmt.Errorf("%w: an endpoint that is not a URL", errPolicy)
	}
	all := http.Header{"Content-Type": {contentType}}
	maps.Copy(all, header)
	resp, data, err := transact(ctx, o.RoundTrip, http.MethodPost, u, body, all, endpointTimeout, maxDocument)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", bare(u), err)
	}
	return resp, data, nil
}

// discoverServer finds the metadata of an authorization server. lenient accepts an
// issuer in it that differs by a slash at the end. Without a document it returns
// why each candidate is none.
func discoverServer(ctx context.Context, o *outbound, issuer string, lenient bool) (*AuthorizationServerMetadata, fetchErrors) {
	err := checkIssuer(issuer)
	if err == nil {
		err = o.check(issuer)
	}
	if err != nil {
		return nil, fetchErrors{{"the issuer " + withoutQuery(issuer), fetchInvalid, err}}
	}
	var tries fetchErrors
	for _, at := range wellKnownServer(issuer) {
		m := &AuthorizationServerMetadata{}
		e := o.load(ctx, at, m)
		if e == nil {
			err := m.check(o, issuer, lenient)
			if err == nil {
				return m, nil
			}
			e = &fetchError{at, fetchInvalid, err}
		}
		tries = append(tries, e)
	}
	return nil, tries
}

// check reports why a document cannot be used for an issuer.
func (m *AuthorizationServerMetadata) check(o *outbound, issuer string, lenient bool) error {
	if m.Issuer != issuer && !(lenient && strings.TrimSuffix(m.Issuer, "/") == strings.TrimSuffix(issuer, "/")) {
		return fmt.Errorf("its issuer is %.200q, not %.200q", m.Issuer, issuer)
	}
	for _, e := range [][2]string{{"authorization_endpoint", m.AuthorizationEndpoint}, {"token_endpoint", m.TokenEndpoint},
		{"registration_endpoint", m.RegistrationEndpoint}, {"revocation_endpoint", m.RevocationEndpoint},
		{"introspection_endpoint", m.IntrospectionEndpoint}, {"jwks_uri", m.JWKSURI}} {
		if e[1] == "" {
			continue
		}
		if err := o.check(e[1]); err != nil {
			return fmt.Errorf("%s: %w", e[0], err)
		}
	}
	if m.TokenEndpoint == "" {
		return errors.New("token_endpoint is missing")
	}
	return nil
}

// An OAuthError is an answer of an authorization server's endpoint that is no success.
type OAuthError struct {
	Endpoint    string // without query
	Status      int    // 0: the answer came by way of the browser
	Code        string // such as "invalid_grant"; empty: the answer is no OAuth error
	Description string // by the server, for people; without control characters
}

// Error tells all that is known.
func (e *OAuthError) Error() string {
	text := e.Endpoint + " answered"
	if e.Status != 0 {
		text += " " + strconv.Itoa(e.Status)
	}
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Description != "" {
		text += ": " + e.Description
	}
	return text
}

// oauthError reads the error of an endpoint. secrets are what it may not repeat.
func oauthError(endpoint string, resp *http.Response, data []byte, secrets ...string) *OAuthError {
	e := &OAuthError{Endpoint: withoutQuery(endpoint), Status: resp.StatusCode}
	var body struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	switch err := decodeDocument(data, &body); {
	case err == nil && body.Code != "":
		e.Code, e.Description = body.Code, sanitized(body.Description, secrets)
		if len(e.Code) > 64 || strings.Trim(e.Code, "abcdefghijklmnopqrstuvwxyz_") != "" || slices.Contains(secrets, e.Code) { // else it is compared
			e.Code = sanitized(e.Code, secrets)
		}
	case resp.StatusCode >= 400: // else it may hold a token
		e.Description = sanitized(string(data), secrets)
	}
	return e
}

// sanitized is what a server said, for an error: short, without control characters and
// without what is secret.
func sanitized(text string, secrets []string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case strconv.IsPrint(r):
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "?"))
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	if len(text) > maxOAuthText {
		text = strings.ToValidUTF8(text[:maxOAuthText], "")
	}
	return text
}

// A quietError is an error without what is secret in its text.
type quietError struct {
	text string
	err  error
}

func (e *quietError) Error() string { return e.text }
func (e *quietError) Unwrap() error { return e.err }

// A clientAuth is how a client authenticates at a token endpoint.
type clientAuth struct {
	id, secret string
	key        *Key
	method     string
	audience   string // of assertions: the issuer
}

// Format keeps the secret to itself.
func (c clientAuth) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "client "+c.id) }
func (c clientAuth) LogValue() slog.Value       { return slog.StringValue(fmt.Sprint(c)) }

// sign adds to a request who sends it (OAuth 2.1, section 2.4; RFC 7523).
func (c *clientAuth) sign(form url.Values, header http.Header) error {
	switch c.method {
	case authBasic:
		pair := url.QueryEscape(c.id) + ":" + url.QueryEscape(c.secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case authPost:
		form.Set("client_id", c.id)
		form.Set("client_secret", c.secret)
	case authJWT:
		now := time.Now()
		assertion, err := c.key.sign(map[string]any{"typ": "JWT"}, map[string]any{"iss": c.id, "sub": c.id, "aud": c.audience,
			"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": newSecret()})
		if err != nil {
			return fmt.Errorf("signing the client assertion: %w", err)
		}
		form.Set("client_assertion_type", assertionJWT)
		form.Set("client_assertion", assertion)
	default:
		if c.id != "" {
			form.Set("client_id", c.id)
		}
	}
	return nil
}

// A prover proves the possession of a key with requests (RFC 9449); key nil: of none.
type prover struct {
	key    *Key
	nonces *nonces
}

// nonces are the newest nonces that servers gave, by origin. It is ready for use.
type nonces struct {
	mu sync.Mutex // guards m
	m  map[string]string
}

func (n *nonces) get(u *url.URL) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.m[origin(u)]
}

// see keeps the nonce of an answer, and reports whether there is one.
func (n *nonces) see(u *url.URL, header http.Header) bool {
	nonce := header.Get(headerNonce)
	if nonce == "" || len(nonce) > maxOAuthText || !printable(nonce) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.m == nil || len(n.m) >= maxNonces {
		n.m = map[string]string{} // those who still need one say so
	}
	n.m[origin(u)] = nonce
	return true
}

// prove sets the proof of a request; token empty: there is none yet.
func (p *prover) prove(header http.Header, method string, u *url.URL, token string) error {
	proof, err := p.key.proof(method, u.String(), token, p.nonces.get(u))
	if err != nil {
		return fmt.Errorf("proving possession of the key: %w", err)
	}
	header.Set(headerProof, proof)
	return nil
}

// A tokenAnswer is the success of a token endpoint.
type tokenAnswer struct {
	AccessToken     string          `json:"access_token"`
	TokenType       string          `json:"token_type"`
	RefreshToken    string          `json:"refresh_token"`
	Scope           *string         `json:"scope"` // nil: what was asked for
	IssuedTokenType string          `json:"issued_token_type"`
	ExpiresIn       json.RawMessage `json:"expires_in"`
	Expires         time.Time       `json:"-"` // zero: not known
}

// Format keeps the tokens to itself.
func (a tokenAnswer) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "token of type "+a.TokenType)
}
func (a tokenAnswer) LogValue() slog.Value         { return slog.StringValue(fmt.Sprint(a)) }
func (a tokenAnswer) MarshalJSON() ([]byte, error) { return marshal(fmt.Sprint(a)) }

// token asks a token endpoint for a token. A demand for a DPoP nonce is met once;
// apart from that the request is made once. A refusal is an *OAuthError. No error shows
// what was sent, even if the endpoint repeats it.
func (o *outbound) token(ctx context.Context, endpoint string, form url.Values, c *clientAuth, p *prover) (*tokenAnswer, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("%w: a token endpoint that is not a URL", errPolicy)
	}
	if p != nil && p.key == nil {
		p = nil
	}
	for again := false; ; again = true {
		body, header := url.Values{}, http.Header{}
		maps.Copy(body, form)
		if err := c.sign(body, header); err != nil {
			return nil, err
		}
		if p != nil {
			if err := p.prove(header, http.MethodPost, u, ""); err != nil {
				return nil, err
			}
		}
		asked, secrets := time.Now(), secretsOf(body, header, c)
		resp, data, err := o.post(ctx, endpoint, "application/x-www-form-urlencoded", []byte(body.Encode()), header)
		if err != nil {
			return nil, &quietError{sanitized(err.Error(), secrets), err}
		}
		nonce := p != nil && p.nonces.see(u, resp.Header)
		if resp.StatusCode != http.StatusOK {
			e := oauthError(endpoint, resp, data, secrets...)
			if e.Code == codeUseNonce && nonce && !again {
				continue
			}
			return nil, e
		}
		a, err := parseTokenAnswer(data, asked)
		if err == nil && !a.fits(form, p) {
			err = fmt.Errorf("token_type %.40q is not what was asked for", a.TokenType)
		}
		if err != nil {
			return nil, &quietError{sanitized(fmt.Sprintf("%s: the token answer is invalid: %v", bare(u), err), secrets), err}
		}
		return a, nil
	}
}

// secretsOf are the values of a request that nobody should see again, as they are and
// as they were sent.
func secretsOf(form url.Values, header http.Header, c *clientAuth) []string {
	_, basic, _ := strings.Cut(header.Get("Authorization"), " ")
	secrets := []string{basic, c.secret, url.QueryEscape(c.secret)}
	for _, name := range []string{"code", "code_verifier", "refresh_token", "client_assertion", "assertion", "subject_token", "actor_token"} {
		secrets = append(secrets, form.Get(name), url.QueryEscape(form.Get(name)))
	}
	return secrets
}

// fits reports whether an answer is of a type that a request can have: a token that is
// bound to a key only if there is one, and what is no access token only in an exchange
// (RFC 8693, section 2.2.1).
func (a *tokenAnswer) fits(form url.Values, p *prover) bool {
	switch strings.ToLower(a.TokenType) {
	case "bearer":
		return true
	case "dpop":
		return p != nil
	case "n_a":
		return form.Has("requested_token_type")
	}
	return false
}

func parseTokenAnswer(data []byte, asked time.Time) (*tokenAnswer, error) {
	a := &tokenAnswer{}
	if err := decodeDocument(data, a); err != nil {
		return nil, err
	}
	if !isBearer(a.AccessToken) {
		return nil, errors.New("it has no access_token that a header can carry")
	}
	text := strings.Trim(string(a.ExpiresIn), `"`)
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1e9 {
		a.Expires = asked.Add(time.Duration(seconds * float64(time.Second)))
	}
	return a, nil
}

// A keyRing has the keys of a JWKS, fetches them when they are needed, and again when
// they are old or one is missing.
type keyRing struct {
	out *outbound
	at  func(ctx context.Context) (string, error) // the URL of the JWKS

	turn    chan struct{} // has room for who fetches
	mu      sync.Mutex    // guards the fields below
	known   []*publicKey
	fetched time.Time // when known came
	tried   time.Time // when they were last asked for
	failure error     // of that; nil: none
}

func newKeyRing(out *outbound, at func(context.Context) (string, error)) *keyRing {
	return &keyRing{out: out, at: at, turn: make(chan struct{}, 1)}
}

// keys returns the keys that may have made a signature: those with the id, or all if
// it is empty. None is no error: there is no such key.
func (r *keyRing) keys(ctx context.Context, id string) ([]*publicKey, error) {
	found, fetch, err := r.look(id)
	if !fetch {
		return found, err
	}
	select {
	case r.turn <- struct{}{}:
	default: // somebody is fetching
		if len(found) > 0 {
			return found, nil
		}
		select {
		case r.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-r.turn }()
	if found, fetch, err = r.look(id); !fetch { // somebody was faster
		return found, err
	}
	known, err := r.fetch(ctx)
	r.mu.Lock()
	if r.tried, r.failure = time.Now(), err; err == nil {
		r.known, r.fetched = known, r.tried
	}
	r.mu.Unlock()
	found, _, err = r.look(id)
	return found, err
}

// look finds keys, and reports whether they should be fetched first.
func (r *keyRing) look(id string) (found []*publicKey, fetch bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.known {
		if id == "" || k.id == id {
			found = append(found, k)
		}
	}
	age, since := time.Since(r.fetched), time.Since(r.tried)
	fetch = (age > keysFresh || len(found) == 0) && since > keysPause
	switch {
	case age > keysStale:
		return nil, fetch, cmp.Or(r.failure, errors.New("the keys were not fetched yet"))
	case len(found) == 0 && r.failure != nil: // it may be new
		return nil, fetch, r.failure
	}
	return found, fetch, nil
}

func (r *keyRing) fetch(ctx context.Context) ([]*publicKey, error) {
	// One caller's leaving is no failure for the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), documentTimeout)
	defer cancel()
	at, err := r.at(ctx)
	if err != nil {
		return nil, err
	}
	data, e := r.out.document(ctx, at)
	if e != nil {
		return nil, e
	}
	if len(data) > maxKeySet {
		return nil, fmt.Errorf("a JWKS of more than %d bytes", maxKeySet)
	}
	return parseJWKS(trimBOM(data))
}
