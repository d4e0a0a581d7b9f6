package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	testIssuer   = "https://as.example.com"
	testResource = "https://mcp.example.com/mcp"
	testRedirect = "https://app.example.com/cb"
	testVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
	testAddress  = "192.0.2.1:1234"
)

// A testNet is a network whose hosts are handlers. It is a RoundTripper, and no socket.
type testNet map[string]http.Handler

func (n testNet) RoundTrip(r *http.Request) (*http.Response, error) {
	h := n[r.URL.Host]
	if h == nil {
		return nil, fmt.Errorf("no host %s", r.URL.Host)
	}
	in := r.Clone(r.Context())
	if in.RemoteAddr, in.RequestURI = testAddress, r.URL.RequestURI(); in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, in)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// A logBuffer is what was logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// An authBench is an authorization server with a browser, in which a person may have
// logged in, and clients.
type authBench struct {
	t       *testing.T
	a       *AuthorizationServer
	net     testNet
	browser *http.Client
	user    string // who uses the browser; "": nobody has logged in
	log     *logBuffer
}

// newAuthBench makes one with a public client "app" and a confidential one "conf".
func newAuthBench(t *testing.T, change func(*AuthorizationServer)) *authBench {
	t.Helper()
	b := &authBench{t: t, net: testNet{}, user: "alice", log: &logBuffer{}}
	b.a = &AuthorizationServer{
		Issuer: testIssuer, Resources: []string{testResource},
		Scopes: map[string]string{"files:read": "read your files", "files:write": "change your files"},
		Authenticate: func(w http.ResponseWriter, r *http.Request) (string, bool) {
			if b.user == "" {
				http.Redirect(w, r, "/login?back="+url.QueryEscape(r.URL.RequestURI()), http.StatusFound)
			}
			return b.user, b.user != ""
		},
		Clients: []RegisteredClient{
			{ID: "app", Metadata: ClientMetadata{ClientName: "The App", RedirectURIs: []string{testRedirect}, GrantTypes: []string{grantCode, grantRefresh}}},
			{ID: "conf", Secret: "s3cret:%/", Metadata: ClientMetadata{RedirectURIs: []string{testRedirect, "http://127.0.0.1:7/cb"},
				GrantTypes: []string{grantCode, grantRefresh, grantCredentials, grantJWT}}},
		},
		Outbound: b.net,
		Log:      slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(b.a)
	}
	if err := b.a.Check(); err != nil {
		t.Fatal(err)
	}
	b.net["as.example.com"] = b.a
	b.browser = newBrowser(b.net)
	return b
}

// newBrowser keeps cookies and follows nothing.
func newBrowser(rt http.RoundTripper) *http.Client {
	jar, _ := cookiejar.New(nil)
	return &http.Client{Transport: rt, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// A webAnswer is an answer, read.
type webAnswer struct {
	status int
	header http.Header
	body   string
}

func (b *authBench) do(c *http.Client, r *http.Request) *webAnswer {
	b.t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &webAnswer{resp.StatusCode, resp.Header, string(data)}
}

func (b *authBench) get(target string) *webAnswer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, target, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(b.browser, r)
}

// post sends a form, or JSON, with headers "Name: value".
func (b *authBench) post(target, body string, headers ...string) *webAnswer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", typeForm)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
		if name == "Content-Type" {
			r.Header.Set(name, value)
		}
	}
	return b.do(b.browser, r)
}

// with is a query or form: pairs of names and values over the given ones, "" to leave one out.
func with(base url.Values, pairs ...string) url.Values {
	q := maps.Clone(base)
	for i := 0; i < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return q
}

// request is a good authorization request of a client.
func request(pairs ...string) url.Values {
	return with(url.Values{"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {testRedirect}, "state": {"st&te"},
		"code_challenge": {pkceChallenge(testVerifier)}, "code_challenge_method": {"S256"}, "resource": {testResource}, "scope": {"files:read"}}, pairs...)
}

var hiddenField = regexp.MustCompile(`name="consent" value="([^"]+)"`)

// consentToken finds what the page that asks sends back.
func (r *webAnswer) consentToken(t *testing.T) string {
	t.Helper()
	m := hiddenField.FindStringSubmatch(r.body)
	if r.status != http.StatusOK || m == nil {
		t.Fatalf("no page that asks: %d %s", r.status, r.body)
	}
	return html.UnescapeString(m[1])
}

// location is where a browser is sent.
func (r *webAnswer) location(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse(r.header.Get("Location"))
	if err != nil || r.header.Get("Location") == "" {
		t.Fatalf("not sent anywhere: %d %q %s", r.status, r.header.Get("Location"), r.body)
	}
	return u
}

// allow makes an authorization request and says yes.
func (b *authBench) allow(q url.Values) *webAnswer {
	b.t.Helper()
	page := b.get(testIssuer + "/authorize?" + q.Encode())
	return b.post(testIssuer+"/consent", url.Values{"consent": {page.consentToken(b.t)}, "decision": {"allow"}}.Encode())
}

// code gets a code.
func (b *authBench) code(pairs ...string) string {
	b.t.Helper()
	code := b.allow(request(append([]string{"prompt", "consent"}, pairs...)...)).location(b.t).Query().Get("code")
	if code == "" {
		b.t.Fatal("no code")
	}
	return code
}

// redemption is a good token request for a code.
func redemption(code string, pairs ...string) url.Values {
	return with(url.Values{"grant_type": {grantCode}, "client_id": {"app"}, "code": {code}, "redirect_uri": {testRedirect},
		"code_verifier": {testVerifier}, "resource": {testResource}}, pairs...)
}

// tokens is the answer of the token endpoint.
type tokens struct {
	status             int
	header             http.Header
	Access, Refresh    string
	Type, Scope        string
	Expires            int64
	Error, Description string
}

func (b *authBench) token(f url.Values, headers ...string) *tokens {
	b.t.Helper()
	r := b.post(testIssuer+"/token", f.Encode(), headers...)
	var m struct {
		Access      string `json:"access_token"`
		Refresh     string `json:"refresh_token"`
		Type        string `json:"token_type"`
		Scope       string
		Expires     int64 `json:"expires_in"`
		Error       string
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal([]byte(r.body), &m); err != nil {
		b.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return &tokens{r.status, r.header, m.Access, m.Refresh, m.Type, m.Scope, m.Expires, m.Error, m.Description}
}

// login gets tokens for a client.
func (b *authBench) login(pairs ...string) *tokens {
	b.t.Helper()
	got := b.token(redemption(b.code(pairs...)))
	if got.status != http.StatusOK {
		b.t.Fatalf("%+v", got)
	}
	return got
}

// valid reports whether an access token counts.
func (b *authBench) valid(token string) bool {
	b.t.Helper()
	_, err := b.a.Verify(context.Background(), token, nil)
	return err == nil
}

// Both kinds of access tokens are what Verify says, and can be refreshed. AUTH-331
func TestAuthTokens(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]*Key{"opaque": nil, "signed": key} {
		t.Run(name, func(t *testing.T) {
			b := newAuthBench(t, func(a *AuthorizationServer) { a.Key = key })
			first := b.login()
			second := b.token(refreshing(first.Refresh))
			for _, got := range []*tokens{first, second} {
				if got.status != http.StatusOK || got.Type != "Bearer" || got.Expires != 3600 || got.Scope != "files:read" || got.Refresh == "" {
					t.Errorf("%+v", got)
				}
				info, err := b.a.Verify(t.Context(), got.Access, nil)
				if err != nil {
					t.Fatal(err)
				}
				said := fmt.Sprint(info.Issuer, " ", info.Subject, " ", info.ClientID, " ", info.Audience, " ", info.Scopes, " ", info.Thumbprint)
				if want := testIssuer + " alice app [" + testResource + "] [files:read] "; said != want {
					t.Errorf("%s, want %s", said, want)
				}
			}
			if first.Access == second.Access || first.Refresh == second.Refresh {
				t.Error("a token came twice")
			}
		})
	}
}

// refreshing is a good token request for a refresh token.
func refreshing(token string, pairs ...string) url.Values {
	return with(url.Values{"grant_type": {grantRefresh}, "client_id": {"app"}, "refresh_token": {token}}, pairs...)
}

// The document lists what there is, and nothing else.
// AUTH-045 AUTH-046 AUTH-138 AUTH-185 AUTH-302 AUTH-303 AUTH-304 AUTH-305 AUTH-307 AUTH-357 AUTH-386 AUTH-419 AUTH-431
func TestAuthMetadata(t *testing.T) {
	const place = "/.well-known/oauth-authorization-server"
	key, err := GenerateKey("ES256")
	if err != nil {
		t.Fatal(err)
	}
	algs := `["ES256","ES384","ES512","RS256","RS384","RS512","PS256","PS384","PS512","EdDSA"]`
	for _, tt := range []struct {
		name   string
		change func(*AuthorizationServer)
		want   string
	}{
		{"plain", nil, `{"authorization_endpoint":"https://as.example.com/authorize","authorization_response_iss_parameter_supported":true,` +
			`"client_id_metadata_document_supported":true,"code_challenge_methods_supported":["S256"],"grant_types_supported":["authorization_code","refresh_token"],` +
			`"issuer":"https://as.example.com","registration_endpoint":"https://as.example.com/register","response_modes_supported":["query"],` +
			`"response_types_supported":["code"],"revocation_endpoint":"https://as.example.com/revoke","scopes_supported":["files:read","files:write"],` +
			`"token_endpoint":"https://as.example.com/token","token_endpoint_auth_methods_supported":["none","client_secret_basic","client_secret_post","private_key_jwt"],` +
			`"token_endpoint_auth_signing_alg_values_supported":` + algs + `}`},
		{"all", func(a *AuthorizationServer) {
			a.Key, a.DPoP, a.ClientCredentials, a.NoRegistration, a.NoClientDocuments = key, true, true, true, true
			a.TrustedIssuers = []TrustedIssuer{{Issuer: "https://idp.example.com", Enterprise: true}}
			a.OpenID = map[string]any{"subject_types_supported": []string{"public"}, "issuer": "https://evil.example.com"}
		}, `{"authorization_endpoint":"https://as.example.com/authorize","authorization_grant_profiles_supported":["urn:ietf:params:oauth:grant-profile:id-jag"],` +
			`"authorization_response_iss_parameter_supported":true,"code_challenge_methods_supported":["S256"],"dpop_signing_alg_values_supported":` + algs + `,` +
			`"grant_types_supported":["authorization_code","refresh_token","client_credentials","urn:ietf:params:oauth:grant-type:jwt-bearer"],` +
			`"issuer":"https://as.example.com","jwks_uri":"https://as.example.com/jwks","response_modes_supported":["query"],` +
			`"response_types_supported":["code"],"revocation_endpoint":"https://as.example.com/revoke","scopes_supported":["files:read","files:write"],` +
			`"subject_types_supported":["public"],` +
			`"token_endpoint":"https://as.example.com/token","token_endpoint_auth_methods_supported":["none","client_secret_basic","client_secret_post","private_key_jwt"],` +
			`"token_endpoint_auth_signing_alg_values_supported":` + algs + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, tt.change)
			b.net["evil.example.com"] = b.a // a forged Host changes nothing
			for _, host := range []string{testIssuer, "https://evil.example.com"} {
				got := b.get(host + place)
				if got.status != 200 || got.header.Get("Content-Type") != "application/json" || got.header.Get("Access-Control-Allow-Origin") != "*" || got.body != tt.want {
					t.Errorf("%s: %d %v\n%s, want\n%s", host, got.status, got.header, got.body, tt.want)
				}
			}
			oidc := b.get(testIssuer + "/.well-known/openid-configuration")
			if b.a.OpenID == nil && oidc.status != 404 || b.a.OpenID != nil && oidc.body != tt.want {
				t.Errorf("OpenID Connect: %d %s", oidc.status, oidc.body)
			}
			jwks := b.get(testIssuer + "/jwks")
			if b.a.Key == nil && jwks.status != 404 || b.a.Key != nil && jwks.body != `{"keys":[`+string(key.Public())+`]}` {
				t.Errorf("jwks: %d %s", jwks.status, jwks.body)
			}
			if got := b.post(testIssuer+"/register", "{}", "Content-Type: application/json"); (got.status == 404) != b.a.NoRegistration {
				t.Errorf("register: %d", got.status)
			}
			if got := b.post(testIssuer+place, ""); got.status != 405 || got.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("POST: %d %v", got.status, got.header)
			}
		})
	}
}

// A server that is set up wrongly says so, and serves nothing. AUTH-306
func TestAuthCheck(t *testing.T) {
	user := func(http.ResponseWriter, *http.Request) (string, bool) { return "u", true }
	up := Upstream{Issuer: "https://idp.example.com", Client: OAuthClient{ID: "me"}}
	good := func() *AuthorizationServer {
		return &AuthorizationServer{Issuer: testIssuer, Resources: []string{testResource}, Authenticate: user}
	}
	for _, tt := range []struct {
		want   string
		change func(*AuthorizationServer)
	}{
		{"", func(a *AuthorizationServer) {}},
		{"", func(a *AuthorizationServer) { a.Issuer = "http://127.0.0.1:8080" }},
		{"", func(a *AuthorizationServer) { a.Issuer = "http://localhost:8080" }},
		{`the Issuer "http://as.example.com" must be https`, func(a *AuthorizationServer) { a.Issuer = "http://as.example.com" }},
		{`the Issuer "https://as.example.com/" must be an origin, such as https://mcp.example.com`, func(a *AuthorizationServer) { a.Issuer += "/" }},
		{`the Issuer "https://as.example.com/x" must be an origin, such as https://mcp.example.com`, func(a *AuthorizationServer) { a.Issuer += "/x" }},
		{`the Issuer "" must be an origin, such as https://mcp.example.com`, func(a *AuthorizationServer) { a.Issuer = "" }},
		{`the Issuer "ftp://h" must be an origin, such as https://mcp.example.com`, func(a *AuthorizationServer) { a.Issuer = "ftp://h" }},
		{"Resources is empty", func(a *AuthorizationServer) { a.Resources = nil }},
		{`Resources: "/mcp": not an absolute URL`, func(a *AuthorizationServer) { a.Resources = []string{"/mcp"} }},
		{"CodeLifetime 11m0s is more than 10m0s", func(a *AuthorizationServer) { a.CodeLifetime = 11 * time.Minute }},
		{"a lifetime is negative", func(a *AuthorizationServer) { a.AccessLifetime = -1 }},
		{"RefreshLifetime 30m0s is less than AccessLifetime 1h0m0s", func(a *AuthorizationServer) { a.RefreshLifetime = 30 * time.Minute }},
		{`scope "x" is malformed, or not in Scopes`, func(a *AuthorizationServer) { a.DefaultScopes = []string{"x"} }},
		{`scope "a b" is malformed, or not in Scopes`, func(a *AuthorizationServer) { a.Scopes = map[string]string{"a b": ""} }},
		{`client id "a" is empty or there twice`, func(a *AuthorizationServer) { a.Clients = []RegisteredClient{{ID: "a"}, {ID: "a"}} }},
		{`client "a": redirect URI "http://h/cb" must be https, or http at localhost`, func(a *AuthorizationServer) {
			a.Clients = []RegisteredClient{{ID: "a", Metadata: ClientMetadata{RedirectURIs: []string{"http://h/cb"}}}}
		}},
		{"neither Upstream.User nor Authenticate says who logs in", func(a *AuthorizationServer) { a.Upstream, a.Authenticate = &up, nil }},
		{"Upstream.Client has no ID", func(a *AuthorizationServer) { a.Upstream = &Upstream{Issuer: "https://idp.example.com"} }},
		{"Upstream.Seal and Upstream.Open must be set to keep tokens in a Store", func(a *AuthorizationServer) { a.Upstream, a.Store = &up, &MemoryAuthorizationStore{} }},
		{"", func(a *AuthorizationServer) { a.Upstream = &up }},
	} {
		a := good()
		tt.change(a)
		got, status := "", 500
		if err := a.Check(); err != nil {
			got = strings.TrimPrefix(err.Error(), "mcp: authorization server: ")
		} else {
			status = 200
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", "/.well-known/oauth-authorization-server", nil))
		if got != tt.want || w.Code != status {
			t.Errorf("%q with status %d, want %q with %d", got, w.Code, tt.want, status)
		}
	}
}

// What is wrong with the client or where it wants the person sent is shown, and nobody is
// sent anywhere. AUTH-308 AUTH-312 AUTH-313 AUTH-341
func TestAuthorizePages(t *testing.T) {
	for _, tt := range []struct {
		name, query, want string
	}{
		{"no client", request("client_id", "").Encode(), "client_id is missing"},
		{"unknown client", request("client_id", "x").Encode(), "the client is not known"},
		{"a client's URL over http", request("client_id", "http://app.example.com/c").Encode(), "the client is not known"},
		{"redirect URI is not registered", request("redirect_uri", "https://evil.example.com/cb").Encode(), "redirect_uri is not one that the client has registered"},
		{"none of two redirect URIs", request("client_id", "conf", "redirect_uri", "").Encode(), "redirect_uri is not one that the client has registered"},
		{"client twice", request().Encode() + "&client_id=app", "parameter client_id comes twice"},
		{"state twice", request().Encode() + "&state=x", "parameter state comes twice"},
		{"malformed", request().Encode() + "&a=%zz", "the parameters are malformed"},
		{"semicolon", request().Encode() + ";a=b", "the parameters are malformed"},
		{"long", request("state", strings.Repeat("s", 8<<10)).Encode(), "the request is too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, nil)
			got := b.get(testIssuer + "/authorize?" + tt.query)
			if got.status != 400 || got.header.Get("Location") != "" || !strings.Contains(got.body, `<p role="alert">`+tt.want+`</p>`) {
				t.Errorf("%d %v %s", got.status, got.header, got.body)
			}
			if strings.Contains(got.body, "evil") {
				t.Error("the page repeats what it was given")
			}
		})
	}
	b := newAuthBench(t, nil)
	if got := b.allow(withTwice(request("redirect_uri", ""), "unknown")).location(t); got.Host != "app.example.com" {
		t.Errorf("the one registered redirect URI, and unknown parameters twice: %v", got)
	}
}

// withTwice has a parameter twice.
func withTwice(q url.Values, name string) url.Values {
	q[name] = []string{"1", "2"}
	return q
}

// All other errors go to the client, with its state, and iss.
// AUTH-184 AUTH-310 AUTH-314 AUTH-315 AUTH-316 AUTH-317
func TestAuthorizeErrors(t *testing.T) {
	short, bad := strings.Repeat("a", 42), strings.Repeat("a", 42)+"="
	for _, tt := range []struct {
		name, want string
		pairs      []string
	}{
		{"no type", "invalid_request: response_type is missing", []string{"response_type", ""}},
		{"implicit", "unsupported_response_type: response_type must be code", []string{"response_type", "token"}},
		{"fragment", "invalid_request: response_mode must be query", []string{"response_mode", "fragment"}},
		{"no challenge", "invalid_request: code_challenge is missing", []string{"code_challenge", ""}},
		{"plain", "invalid_request: code_challenge_method must be S256", []string{"code_challenge_method", "plain"}},
		{"no method means plain", "invalid_request: code_challenge_method must be S256", []string{"code_challenge_method", ""}},
		{"short challenge", "invalid_request: code_challenge must be 43 characters of base64url", []string{"code_challenge", short}},
		{"padded challenge", "invalid_request: code_challenge must be 43 characters of base64url", []string{"code_challenge", bad}},
		{"foreign resource", "invalid_target: resource must be one that this server issues tokens for", []string{"resource", "https://mcp.example.com/other"}},
		{"unknown scope", "invalid_scope: none of these scopes can be granted", []string{"scope", "root"}},
		{"malformed scope", "invalid_scope: scope is malformed", []string{"scope", `a"b`}},
		{"filtered scope", "invalid_scope: none of these scopes can be granted", []string{"scope", "files:write"}},
		{"request object", "request_not_supported: requests are not signed here", []string{"request", "x.y.z"}},
		{"pushed request", "request_uri_not_supported: requests are not pushed here", []string{"request_uri", "urn:x"}},
		{"no page", "consent_required: the person has to be asked", []string{"prompt", "none"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, func(a *AuthorizationServer) {
				a.FilterScopes = func(user, client string, scopes []string) []string {
					if user != "alice" || client != "app" {
						t.Errorf("asked for %s and %s", user, client)
					}
					return slices.DeleteFunc(scopes, func(s string) bool { return s == "files:write" })
				}
			})
			got := b.get(testIssuer + "/authorize?" + request(tt.pairs...).Encode())
			code, text, _ := strings.Cut(tt.want, ": ")
			want := testRedirect + "?error=" + code + "&error_description=" + url.QueryEscape(text) + "&state=st%26te&iss=" + url.QueryEscape(testIssuer)
			if got.status != 302 || got.header.Get("Location") != want || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%d %q, want %q", got.status, got.header.Get("Location"), want)
			}
		})
	}
}

// An error sends nobody to where a stranger wants them: a page says where it would lead.
// AUTH-318 AUTH-449
func TestAuthorizeStrangers(t *testing.T) {
	b := newAuthBench(t, nil)
	id, _ := b.registered(`{"redirect_uris":["https://app.example.com/cb","http://127.0.0.1/cb"],"token_endpoint_auth_method":"none"}`)
	for _, pairs := range [][]string{{"response_type", "token"}, {"prompt", "none"}, {"scope", "root"}} {
		got := b.get(testIssuer + "/authorize?" + request(append(pairs, "client_id", id)...).Encode())
		link := regexp.MustCompile(`<a href="(https://app\.example\.com/cb\?error=[^"]*)">Go to <strong>app\.example\.com</strong></a>`).FindStringSubmatch(got.body)
		if got.status != 400 || got.header.Get("Location") != "" || link == nil {
			t.Fatalf("%v: %d %v %s", pairs, got.status, got.header, got.body)
		}
		if u, err := url.Parse(html.UnescapeString(link[1])); err != nil || u.Query().Get("state") != "st&te" || u.Query().Get("iss") != testIssuer {
			t.Errorf("%v %v", link, err)
		}
		local := b.get(testIssuer + "/authorize?" + request(append(pairs, "client_id", id, "redirect_uri", "http://127.0.0.1:9/cb")...).Encode())
		if at := local.location(t); at.Host != "127.0.0.1:9" || at.Query().Get("error") == "" {
			t.Errorf("to this machine: %v", at)
		}
	}
}

// The success has each parameter once, and the redirect URI's own query.
// AUTH-184 AUTH-316 AUTH-317 AUTH-321
func TestAuthorizeSuccess(t *testing.T) {
	for _, tt := range []struct{ name, redirect, state, want string }{
		{"plain", testRedirect, "s", `^https://app\.example\.com/cb\?code=[\w-]{43}&state=s&iss=https%3A%2F%2Fas\.example\.com$`},
		{"no state", testRedirect, "", `^https://app\.example\.com/cb\?code=[\w-]{43}&iss=https%3A%2F%2Fas\.example\.com$`},
		{"own query", testRedirect + "?a=%20b&code=x&st%61te=y&iss", "s",
			`^https://app\.example\.com/cb\?a=%20b&code=[\w-]{43}&state=s&iss=https%3A%2F%2Fas\.example\.com$`},
	} {
		b := newAuthBench(t, func(a *AuthorizationServer) { a.Clients[0].Metadata.RedirectURIs = []string{tt.redirect} })
		got := b.allow(request("redirect_uri", tt.redirect, "state", tt.state))
		if got.status != 302 || !regexp.MustCompile(tt.want).MatchString(got.header.Get("Location")) {
			t.Errorf("%s: %d %s, want %s", tt.name, got.status, got.header.Get("Location"), tt.want)
		}
	}
	// Without resource it is the only one there is; unknown scopes are dropped, none named means
	// the default ones.
	b := newAuthBench(t, func(a *AuthorizationServer) { a.DefaultScopes = []string{"files:read"} })
	for _, tt := range []struct{ scope, want string }{{"", "files:read"}, {"root files:write files:read files:write", "files:write files:read"}} {
		got := b.token(redemption(b.code("resource", "", "scope", tt.scope), "resource", ""))
		info, err := b.a.Verify(t.Context(), got.Access, nil)
		if err != nil || got.Scope != tt.want || strings.Join(info.Scopes, " ") != tt.want || info.Audience[0] != testResource {
			t.Errorf("%q: %+v %+v %v", tt.scope, got, info, err)
		}
	}
	// With several, it must be said, and the token is for that one only. AUTH-330
	b = newAuthBench(t, func(a *AuthorizationServer) { a.Resources = append(a.Resources, "https://other.example.com") })
	if got := b.get(testIssuer + "/authorize?" + request("resource", "").Encode()).location(t); got.Query().Get("error") != "invalid_target" {
		t.Errorf("%v", got)
	}
	tok := b.login("resource", "HTTPS://MCP.example.com:443/mcp")
	for _, resource := range b.a.Resources {
		p := &ProtectedResource{Resource: resource, AuthorizationServers: []string{testIssuer}, Verify: b.a.Verify}
		r := httptest.NewRequest("POST", resource, nil)
		r.Header.Set("Authorization", "Bearer "+tok.Access)
		if _, err := p.Authorize(r); (err == nil) != (resource == testResource) {
			t.Errorf("%s: %v", resource, err)
		}
	}
}

// A POST is as good as a GET, and survives a login. AUTH-310 AUTH-320
func TestAuthorizeLogin(t *testing.T) {
	b := newAuthBench(t, nil)
	b.user = ""
	got := b.post(testIssuer+"/authorize", request().Encode())
	if got.status != 303 || got.header.Get("Location") != "/authorize?"+request().Encode() {
		t.Fatalf("%d %v", got.status, got.header)
	}
	got = b.get(testIssuer + got.header.Get("Location"))
	back := got.location(t)
	if back.Path != "/login" || strings.Contains(got.body, "consent") {
		t.Fatalf("%d %v", got.status, back)
	}
	b.user = "bob"
	page := b.get(testIssuer + back.Query().Get("back"))
	if !strings.Contains(page.body, "<dd>bob</dd>") {
		t.Errorf("%s", page.body)
	}
	b.user = "" // the login ends before the person decides
	f := url.Values{"consent": {page.consentToken(t)}, "decision": {"allow"}}.Encode()
	if got := b.post(testIssuer+"/consent", f).location(t); got.Path != "/login" {
		t.Errorf("%v", got)
	}
	b.user = "bob"
	if got := b.post(testIssuer+"/consent", f).location(t); got.Query().Get("code") == "" {
		t.Errorf("%v", got)
	}
}

// HOSTILE-57 AUTH-311 AUTH-312 AUTH-355 AUTH-449
func TestHostile57RedirectURIs(t *testing.T) {
	registered := []string{"https://app.example.com/cb", "http://127.0.0.1:7/cb", "http://localhost/cb", "http://[::1]:9/cb?x=1"}
	for _, tt := range []struct {
		given string
		ok    bool
	}{
		{"https://app.example.com/cb", true},
		{"https://app.example.com/cb/", false},
		{"https://app.example.com/cb/more", false},
		{"https://app.example.com/cb?x=1", false},
		{"https://app.example.com:443/cb", false},
		{"https://app.example.com:8443/cb", false},
		{"https://APP.example.com/cb", false},
		{"https://app.example.com/a/../cb", false},
		{"https://app.example.com/%63b", false},
		{"https://app.example.com%2Fcb", false},
		{"https://user@app.example.com/cb", false},
		{"https://app.example.com/cb#f", false},
		{"https://app.example.com.evil.example/cb", false},
		{"http://app.example.com/cb", false},
		{"javascript:alert(1)", false},
		{"data:text/html,x", false},
		{" https://app.example.com/cb", false},
		{"https://app.example.com/cb\r\nX: y", false},
		{"//app.example.com/cb", false},
		{"http://127.0.0.1:7/cb", true},
		{"http://127.0.0.1:4711/cb", true},
		{"http://127.0.0.1/cb", true},
		{"http://127.0.0.1:4711/cb/", false},
		{"http://127.0.0.1:4711/cb?x", false},
		{"http://127.0.0.1:99999/cb", false},
		{"http://127.0.0.2:7/cb", false},
		{"https://127.0.0.1:7/cb", false},
		{"http://localhost:4711/cb", true},
		{"http://LOCALHOST:4711/cb", false},
		{"http://localhost:4711@evil.example/cb", false},
		{"http://localhost.evil.example:4711/cb", false},
		{"http://[::1]:4711/cb?x=1", true},
		{"http://[::1]:4711/cb", false},
	} {
		b := newAuthBench(t, func(a *AuthorizationServer) { a.Clients[0].Metadata.RedirectURIs = registered })
		got := b.get(testIssuer + "/authorize?" + request("redirect_uri", tt.given).Encode())
		if want := map[bool]int{true: 200, false: 400}[tt.ok]; got.status != want || got.header.Get("Location") != "" {
			t.Errorf("%q: %d %q, want %d", tt.given, got.status, got.header.Get("Location"), want)
		}
	}
}

// FuzzClientRedirect holds the comparison of redirect URIs to what a browser would do with
// them: it goes to the registered origin and path, or, on this machine, to another port.
func FuzzClientRedirect(f *testing.F) {
	f.Add("https://app.example.com/cb", "https://app.example.com/cb")
	f.Add("http://127.0.0.1:7/cb", "http://127.0.0.1:8/cb")
	f.Add("http://[::1]/cb?x", "http://[::1]:80/cb?x")
	f.Add("http://localhost/cb", "http://localhost:1@evil/cb")
	f.Fuzz(func(t *testing.T, registered, given string) {
		if validRedirect(registered, false) != nil {
			return
		}
		c := newClient("c", "", &ClientMetadata{RedirectURIs: []string{registered}})
		got, err := c.redirect(given, false)
		if err != nil || given == "" {
			return
		}
		r, err := url.Parse(registered)
		g, err2 := url.Parse(got)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		port := r.Port() == g.Port() || r.Scheme == "http" && isLoopback(g.Hostname())
		if r.Scheme != g.Scheme || r.Hostname() != g.Hostname() || !port || r.EscapedPath() != g.EscapedPath() || r.RawQuery != g.RawQuery || g.User != nil || g.Fragment != "" {
			t.Errorf("%q is taken for %q", given, registered)
		}
	})
}

// The page says who asks for what, in words that are escaped, and cannot be framed.
// AUTH-318 AUTH-319 AUTH-343 HOSTILE-59 (display)
func TestAuthConsentPage(t *testing.T) {
	b := newAuthBench(t, func(a *AuthorizationServer) {
		a.Clients[0].Metadata.ClientName = "<script>alert('1')</script> & \u202eevil"
		a.Clients[0].Metadata.LogoURI = "https://evil.example.com/logo.png"
	})
	b.user = "<b>alice</b>"
	got := b.get(testIssuer + "/authorize?" + request("scope", "files:read files:write").Encode())
	m := regexp.MustCompile(`^default-src 'none'; style-src 'nonce-([\w-]{43})'; base-uri 'none'; frame-ancestors 'none'$`).
		FindStringSubmatch(got.header.Get("Content-Security-Policy"))
	if got.status != 200 || m == nil || !strings.Contains(got.body, `<style nonce="`+m[1]+`">`) {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
	for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": ""} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	token := got.consentToken(t)
	start := strings.Index(got.body, "<body>")
	want := `<body>
<main>
<h1>Allow “&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; evil” to use https://mcp.example.com/mcp?</h1>
<dl>
<dt>You are signed in as</dt><dd>&lt;b&gt;alice&lt;/b&gt;</dd>
<dt>You will be sent to</dt><dd><strong>app.example.com</strong><br><small>https://app.example.com/cb</small></dd>
</dl>
<h2>It will be able to</h2>
<ul>
<li>read your files <small>(files:read)</small></li>
<li>change your files <small>(files:write)</small></li>
</ul>
<form method="post" action="/consent">
<input type="hidden" name="consent" value="` + token + `">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Cancel</button>
</form>
</main>
</body>
</html>
`
	if got.body[start:] != want {
		t.Errorf("%s, want\n%s", got.body[start:], want)
	}
	for _, want := range []string{`<html lang="en">`, `<title>Allow access?</title>`, `width=device-width`, `content="light dark"`, ":focus-visible"} {
		if !strings.Contains(got.body[:start], want) {
			t.Errorf("the head lacks %s", want)
		}
	}
	if strings.Contains(got.body, "logo.png") {
		t.Error("the page loads what the client names")
	}
	cookie := got.header.Get("Set-Cookie")
	if !regexp.MustCompile(`^__Host-mcp-browser=[\w-]{43}; Path=/; HttpOnly; Secure; SameSite=Lax$`).MatchString(cookie) { // AUTH-353
		t.Errorf("cookie: %s", cookie)
	}
}

// A decision counts once, in the browser that saw the page, by the one who saw it.
// HOSTILE-60 AUTH-319
func TestAuthDecisions(t *testing.T) {
	type flow struct {
		b     *authBench
		token string
	}
	start := func(t *testing.T) *flow {
		b := newAuthBench(t, nil)
		return &flow{b, b.get(testIssuer + "/authorize?" + request().Encode()).consentToken(t)}
	}
	decide := func(f *flow, token, decision string) *webAnswer {
		return f.b.post(testIssuer+"/consent", url.Values{"consent": {token}, "decision": {decision}}.Encode())
	}
	for _, tt := range []struct {
		name string
		do   func(f *flow) *webAnswer
		want string // of a page, or a Location
	}{
		{"allow", func(f *flow) *webAnswer { return decide(f, f.token, "allow") }, testRedirect + "?code="},
		{"deny", func(f *flow) *webAnswer { return decide(f, f.token, "deny") },
			testRedirect + "?error=access_denied&error_description=the+person+did+not+allow+it&state=st%26te&iss=https%3A%2F%2Fas.example.com"},
		{"neither", func(f *flow) *webAnswer { return decide(f, f.token, "") }, testRedirect + "?error=access_denied"},
		{"no token", func(f *flow) *webAnswer { return decide(f, "", "allow") }, "This page has been used already, or is too old."},
		{"wrong token", func(f *flow) *webAnswer { return decide(f, newSecret(), "allow") }, "This page has been used already, or is too old."},
		{"twice", func(f *flow) *webAnswer { decide(f, f.token, "allow"); return decide(f, f.token, "allow") }, "This page has been used already, or is too old."},
		{"other browser", func(f *flow) *webAnswer {
			f.b.browser = newBrowser(f.b.net)
			f.b.get(testIssuer + "/authorize?" + request().Encode())
			return decide(f, f.token, "allow")
		}, "This page was not opened in this browser, or the browser keeps no cookies."},
		{"no cookie", func(f *flow) *webAnswer { f.b.browser.Jar = nil; return decide(f, f.token, "allow") }, "This page was not opened in this browser"},
		{"other user", func(f *flow) *webAnswer { f.b.user = "bob"; return decide(f, f.token, "allow") }, "Somebody else has signed in meanwhile."},
		{"in the URL", func(f *flow) *webAnswer {
			return f.b.post(testIssuer+"/consent?decision=allow&consent="+f.token, "")
		}, "parameters belong into the body"},
		{"by GET", func(f *flow) *webAnswer { return f.b.get(testIssuer + "/consent?decision=allow&consent=" + f.token) }, "method not allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.do(start(t))
			to := got.header.Get("Location")
			if strings.HasPrefix(tt.want, "https:") && !strings.HasPrefix(to, tt.want) ||
				!strings.HasPrefix(tt.want, "https:") && (to != "" || got.status/100 != 4 || !strings.Contains(got.body, tt.want)) {
				t.Errorf("%d %q %s", got.status, to, got.body)
			}
		})
	}
	t.Run("another browser does not use it up", func(t *testing.T) {
		f := start(t)
		own := f.b.browser
		f.b.browser = newBrowser(f.b.net)
		decide(f, f.token, "allow")
		f.b.browser = own
		if got := decide(f, f.token, "allow").location(t); got.Query().Get("code") == "" {
			t.Errorf("%v", got)
		}
	})
	t.Run("too late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := start(t)
			time.Sleep(pendingLifetime)
			if got := decide(f, f.token, "allow"); got.status != 400 {
				t.Errorf("%d %v", got.status, got.header)
			}
		})
	})
}

// What was allowed is remembered for the person, the client and the scopes, but not
// where any local program can be the client. AUTH-351
func TestAuthRemembered(t *testing.T) {
	for _, tt := range []struct {
		name  string
		then  func(b *authBench)
		pairs []string
		asked bool
	}{
		{"the same", nil, nil, false},
		{"fewer scopes", nil, []string{"scope", ""}, false},
		{"more scopes", nil, []string{"scope", "files:read files:write"}, true},
		{"wanted", nil, []string{"prompt", "login consent"}, true},
		{"other client", nil, []string{"client_id", "conf"}, true},
		{"other resource", nil, []string{"resource", "https://two.example.com"}, true},
		{"other person", func(b *authBench) { b.user = "bob" }, nil, true},
		{"other browser", func(b *authBench) { b.browser = newBrowser(b.net) }, nil, false},
		{"local", nil, []string{"redirect_uri", "http://127.0.0.1:5/cb"}, true},
		{"local, with a certificate", nil, []string{"redirect_uri", "https://localhost/cb"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, func(a *AuthorizationServer) {
				a.Resources = append(a.Resources, "https://two.example.com")
				a.Clients[0].Metadata.RedirectURIs = []string{testRedirect, "http://127.0.0.1:7/cb", "https://localhost/cb"}
			})
			b.allow(request())
			if strings.HasPrefix(tt.name, "local") {
				b.allow(request(tt.pairs...))
			}
			if tt.then != nil {
				tt.then(b)
			}
			got := b.get(testIssuer + "/authorize?" + request(tt.pairs...).Encode())
			if asked := got.status == 200; asked != tt.asked {
				t.Errorf("%d %v", got.status, got.header)
			}
		})
	}
	b := newAuthBench(t, nil) // what is allowed later comes on top
	b.allow(request())
	b.allow(request("scope", "files:write"))
	if got := b.get(testIssuer + "/authorize?" + request("scope", "files:read files:write").Encode()); got.status != 302 {
		t.Errorf("%d", got.status)
	}
}

// A code is for its client, with the verifier, the redirect URI, and the resource of the
// request; what does not fit does not use it up.
// HOSTILE-58 AUTH-322 AUTH-324 AUTH-325
func TestHostile58Codes(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		pairs      []string
	}{
		{"good", "", nil},
		{"redirect_uri may be missing", "", []string{"redirect_uri", ""}},
		{"resource may be missing", "", []string{"resource", ""}},
		{"no code", "invalid_grant: the code is not valid", []string{"code", ""}},
		{"unknown", "invalid_grant: the code is not valid", []string{"code", newSecret()}},
		{"stolen", "invalid_grant: the code is not valid", []string{"client_id", "other"}},
		{"no verifier", "invalid_grant: code_verifier is missing or wrong", []string{"code_verifier", ""}},
		{"wrong verifier", "invalid_grant: code_verifier is missing or wrong", []string{"code_verifier", newSecret()}},
		{"challenge for verifier", "invalid_grant: code_verifier is missing or wrong", []string{"code_verifier", pkceChallenge(testVerifier)}},
		{"short verifier", "invalid_grant: code_verifier is missing or wrong", []string{"code_verifier", testVerifier[1:]}},
		{"long verifier", "invalid_grant: code_verifier is missing or wrong", []string{"code_verifier", strings.Repeat("a", 129)}},
		{"other redirect_uri", "invalid_grant: redirect_uri is not that of the authorization request", []string{"redirect_uri", testRedirect + "2"}},
		{"other resource", "invalid_target: resource is not that of the authorization request", []string{"resource", "https://two.example.com"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, func(a *AuthorizationServer) {
				a.Clients = append(a.Clients, RegisteredClient{ID: "other", Metadata: a.Clients[0].Metadata})
			})
			code := b.code()
			got := b.token(redemption(code, tt.pairs...))
			if said := strings.TrimPrefix(got.Error+": "+got.Description, ": "); said != tt.want || (got.status == 200) != (tt.want == "") {
				t.Errorf("%d %q, want %q", got.status, said, tt.want)
			}
			if again := b.token(redemption(code)); (again.status == 200) != (tt.want != "") {
				t.Errorf("then the right request: %+v", again)
			}
		})
	}
	for _, n := range []int{42, 43, 128, 129} { // of the verifier
		b, verifier := newAuthBench(t, nil), strings.Repeat("~", n)
		got := b.token(redemption(b.code("code_challenge", pkceChallenge(verifier)), "code_verifier", verifier))
		if (got.status == 200) != (n == 43 || n == 128) {
			t.Errorf("a verifier of %d characters: %+v", n, got)
		}
	}
}

// A code that comes twice ends all that came of it. AUTH-323 HOSTILE-58
func TestAuthCodeReuse(t *testing.T) {
	b := newAuthBench(t, nil)
	code := b.code()
	first := b.token(redemption(code))
	second := b.token(refreshing(first.Refresh))
	if !b.valid(first.Access) || !b.valid(second.Access) {
		t.Fatal("the tokens do not count")
	}
	if got := b.token(redemption(code)); got.status != 400 || got.Error != "invalid_grant" {
		t.Errorf("%+v", got)
	}
	if b.valid(first.Access) || b.valid(second.Access) {
		t.Error("the tokens still count")
	}
	if got := b.token(refreshing(second.Refresh)); got.Error != "invalid_grant" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(b.log.String(), "a code was used again") {
		t.Error(b.log)
	}
}

// Of redemptions at once one succeeds, and even that is revoked then. AUTH-323
func TestAuthParallelRedemption(t *testing.T) {
	b := newAuthBench(t, nil)
	for range 20 {
		code := b.code()
		const n = 4
		results := make(chan *tokens, n)
		var all sync.WaitGroup
		for range n {
			all.Go(func() { results <- b.token(redemption(code)) })
		}
		all.Wait()
		close(results)
		good := 0
		for got := range results {
			if got.status == 200 {
				good++
				if b.valid(got.Access) {
					t.Error("it still counts")
				}
			} else if got.Error != "invalid_grant" {
				t.Errorf("%+v", got)
			}
		}
		if good > 1 {
			t.Errorf("%d redemptions succeeded", good)
		}
	}
}

// How long all of it is valid. AUTH-225 AUTH-226 AUTH-322 AUTH-332 AUTH-334
func TestAuthLifetimes(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		code, access, refresh time.Duration // 0: default
	}{
		{"default", 0, 0, 0},
		{"own", 10 * time.Minute, time.Minute, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newAuthBench(t, func(a *AuthorizationServer) {
					a.CodeLifetime, a.AccessLifetime, a.RefreshLifetime = tt.code, tt.access, tt.refresh
				})
				life := func(d, def time.Duration) time.Duration {
					if d == 0 {
						return def
					}
					return d
				}
				code, access, refresh := life(tt.code, time.Minute), life(tt.access, time.Hour), life(tt.refresh, 30*24*time.Hour)
				early, late := b.code(), b.code()
				time.Sleep(code - time.Second)
				got := b.token(redemption(early))
				if got.status != 200 || got.Expires != int64(access/time.Second) {
					t.Fatalf("%+v", got)
				}
				time.Sleep(time.Second)
				if got := b.token(redemption(late)); got.Error != "invalid_grant" {
					t.Errorf("late: %+v", got)
				}
				time.Sleep(access - 2*time.Second)
				if !b.valid(got.Access) {
					t.Error("the access token ends early")
				}
				time.Sleep(time.Second)
				if b.valid(got.Access) {
					t.Error("the access token does not end")
				}
				for range 3 { // each use renews the idle time
					time.Sleep(refresh - access - time.Second)
					if got = b.token(refreshing(got.Refresh)); got.status != 200 {
						t.Fatalf("%+v", got)
					}
				}
				time.Sleep(refresh)
				if got := b.token(refreshing(got.Refresh)); got.Error != "invalid_grant" {
					t.Errorf("late: %+v", got)
				}
			})
		})
	}
}

// Refresh tokens are used once, for their client and resource, and gain no scopes; one
// that comes again ends the grant. AUTH-227 AUTH-228 AUTH-332
func TestAuthRefresh(t *testing.T) {
	b := newAuthBench(t, func(a *AuthorizationServer) {
		m := a.Clients[0].Metadata
		m.GrantTypes = nil
		a.Clients = append(a.Clients, RegisteredClient{ID: "other", Metadata: a.Clients[0].Metadata}, RegisteredClient{ID: "once", Metadata: m})
	})
	first := b.login("scope", "files:read files:write")
	id, family, own := refreshParts(first.Refresh)
	for _, tt := range []struct{ name, token, want string }{
		{"none", "", "the refresh token is not valid"},
		{"garbage", "x", "the refresh token is not valid"},
		{"no such grant", "x." + family + "." + own, "the refresh token is not valid"},
		{"guessed, with the id that access tokens show", id + "." + newSecret() + "." + newSecret(), "the refresh token is not valid"},
	} {
		if got := b.token(refreshing(tt.token)); got.Error != "invalid_grant" || got.Description != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	for _, tt := range []struct {
		name, want string
		pairs      []string
	}{
		{"more scopes", "invalid_scope", []string{"scope", "files:read root"}},
		{"malformed scopes", "invalid_scope", []string{"scope", `"`}},
		{"other resource", "invalid_target", []string{"resource", "https://two.example.com"}},
		{"other client", "invalid_grant", []string{"client_id", "other"}},
		{"client without the grant", "unauthorized_client", []string{"client_id", "once"}},
	} {
		if got := b.token(refreshing(first.Refresh, tt.pairs...)); got.Error != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	second := b.token(refreshing(first.Refresh, "scope", "files:write", "resource", testResource))
	if second.status != 200 || second.Scope != "files:write" {
		t.Fatalf("%+v", second)
	}
	third := b.token(refreshing(second.Refresh))
	if third.status != 200 || third.Scope != "files:read files:write" {
		t.Fatalf("all scopes again: %+v", third)
	}
	if got := b.token(refreshing(first.Refresh)); got.Error != "invalid_grant" {
		t.Errorf("%+v", got)
	}
	for _, token := range []string{first.Access, second.Access, third.Access} {
		if b.valid(token) {
			t.Error("an access token of the family still counts")
		}
	}
	if got := b.token(refreshing(third.Refresh)); got.Error != "invalid_grant" {
		t.Errorf("%+v", got)
	}
	if once := b.login("client_id", "app"); once.Refresh == "" {
		t.Errorf("%+v", once)
	}
	if once := b.token(redemption(b.code("client_id", "once"), "client_id", "once")); once.status != 200 || once.Refresh != "" {
		t.Errorf("a client that did not register for refresh tokens: %+v", once)
	}
}

// The token endpoint takes forms by POST, and nothing from the URL. Clients authenticate
// as they have registered, in one way. AUTH-326 AUTH-327 AUTH-328 AUTH-329
func TestAuthTokenEndpoint(t *testing.T) {
	basic := func(id, secret string) string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		return "Authorization: " + r.Header.Get("Authorization")
	}
	const secret = "s3cret:%/"
	conf := func(pairs ...string) url.Values {
		return redemption("CODE", append([]string{"client_id", ""}, pairs...)...)
	}
	app := func(pairs ...string) url.Values { return redemption("CODE", pairs...) }
	for _, tt := range []struct {
		name   string
		target string
		body   url.Values
		header []string
		want   string
	}{
		{"basic", "", conf(), []string{basic("conf", secret)}, "200"},
		{"basic and the same client_id", "", conf("client_id", "conf"), []string{basic("conf", secret)}, "200"},
		{"public", "", app(), nil, "200"},
		{"content type with charset", "", app(), []string{"Content-Type: application/x-www-form-urlencoded; charset=UTF-8"}, "200"},
		{"JSON", "", app(), []string{"Content-Type: application/json"}, "400 invalid_request"},
		{"in the query", "?code=x", app(), nil, "400 invalid_request"},
		{"twice", "", url.Values{"grant_type": {grantCode, grantCode}}, nil, "400 invalid_request"},
		{"no grant type", "", app("grant_type", ""), nil, "400 invalid_request"},
		{"password", "", app("grant_type", "password"), nil, "400 unsupported_grant_type"},
		{"client credentials are off", "", conf("grant_type", grantCredentials), []string{basic("conf", secret)}, "400 unsupported_grant_type"},
		{"not registered for it", "", app("client_id", "weak"), nil, "400 unauthorized_client"},
		{"unknown client", "", app("client_id", "x"), nil, "401 invalid_client"},
		{"no client", "", app("client_id", ""), nil, "401 invalid_client"},
		{"unknown client, basic", "", conf(), []string{basic("x", secret)}, "401 invalid_client Basic"},
		{"wrong secret", "", conf(), []string{basic("conf", "x")}, "401 invalid_client Basic"},
		{"no secret", "", conf("client_id", "conf"), nil, "401 invalid_client"},
		{"secret in the body of a basic client", "", conf("client_id", "conf", "client_secret", secret), nil, "401 invalid_client"},
		{"secret of a public client", "", app("client_secret", "x"), nil, "401 invalid_client"},
		{"basic of a public client", "", conf(), []string{basic("app", "")}, "401 invalid_client Basic"},
		{"two ways", "", conf("client_secret", secret), []string{basic("conf", secret)}, "400 invalid_request"},
		{"two clients", "", conf("client_id", "app"), []string{basic("conf", secret)}, "400 invalid_request"},
		{"bearer", "", app(), []string{"Authorization: Bearer x"}, "401 invalid_client"},
		{"two headers", "", conf(), []string{basic("conf", secret), basic("conf", secret)}, "401 invalid_client"},
		{"malformed assertion", "", conf("client_assertion", "x", "client_assertion_type", assertionJWT), nil, "401 invalid_client"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, func(a *AuthorizationServer) {
				a.Clients = append(a.Clients, RegisteredClient{ID: "weak", Metadata: ClientMetadata{GrantTypes: []string{grantRefresh}}})
			})
			id := "app"
			if strings.Contains(tt.name, "basic") {
				id = "conf"
			}
			if tt.body.Get("code") == "CODE" {
				tt.body.Set("code", b.code("client_id", id))
			}
			got := b.post(testIssuer+"/token"+tt.target, tt.body.Encode(), tt.header...)
			var body struct{ Error string }
			if err := json.Unmarshal([]byte(got.body), &body); err != nil {
				t.Fatal(err)
			}
			said := strings.TrimSpace(fmt.Sprint(got.status, " ", body.Error))
			if ask := got.header.Get("WWW-Authenticate"); ask != "" {
				scheme, _, _ := strings.Cut(ask, " ")
				said += " " + scheme
			}
			if said != tt.want || got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %v %s, want %s", said, got.header, got.body, tt.want)
			}
		})
	}
	b := newAuthBench(t, nil)
	if got := b.get(testIssuer + "/token?" + app().Encode()); got.status != 405 || got.header.Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", got.status, got.header)
	}
	if got := b.post(testIssuer+"/token", strings.Repeat("a", maxRequest+1)); got.status != 400 {
		t.Errorf("a long body: %d", got.status)
	}
}

// Whatever token is revoked, the grant ends; a client can only end its own. AUTH-333
func TestAuthRevocation(t *testing.T) {
	key, err := GenerateKey("EdDSA")
	if err != nil {
		t.Fatal(err)
	}
	revoke := func(b *authBench, token, client string) *webAnswer {
		return b.post(testIssuer+"/revoke", url.Values{"token": {token}, "client_id": {client}, "token_type_hint": {"whatever"}}.Encode())
	}
	for name, key := range map[string]*Key{"opaque": nil, "signed": key} {
		t.Run(name, func(t *testing.T) {
			for _, which := range []func(*tokens) string{func(got *tokens) string { return got.Access }, func(got *tokens) string { return got.Refresh }} {
				b := newAuthBench(t, func(a *AuthorizationServer) {
					a.Key = key
					a.Clients = append(a.Clients, RegisteredClient{ID: "other", Metadata: a.Clients[0].Metadata})
				})
				got := b.login()
				id, _, own := refreshParts(got.Refresh)
				for _, token := range []string{"x", "a.b.c", newSecret(), id + "." + newSecret() + "." + own} {
					if got := revoke(b, token, "app"); got.status != 200 {
						t.Errorf("%q: %d %s", token, got.status, got.body)
					}
				}
				if got := revoke(b, which(got), "other"); got.status != 200 {
					t.Errorf("another client: %d %s", got.status, got.body)
				}
				if !b.valid(got.Access) {
					t.Error("it was ended by somebody else")
				}
				if got := revoke(b, which(got), "x"); got.status != 401 {
					t.Errorf("an unknown client: %d %s", got.status, got.body)
				}
				if got := revoke(b, "", "app"); got.status != 400 {
					t.Errorf("no token: %d %s", got.status, got.body)
				}
				if got := revoke(b, which(got), "app"); got.status != 200 {
					t.Errorf("%d %s", got.status, got.body)
				}
				if again := b.token(refreshing(got.Refresh)); b.valid(got.Access) || again.Error != "invalid_grant" {
					t.Errorf("it still counts: %+v", again)
				}
			}
		})
	}
	b := newAuthBench(t, nil) // the application can end a grant, too
	got := b.login()
	info, err := b.a.Verify(t.Context(), got.Access, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.a.Revoke(t.Context(), &Identity{Issuer: "https://evil.example.com", Claims: info.Claims}); err == nil || !b.valid(got.Access) {
		t.Errorf("another issuer's identity: %v", err)
	}
	if err := b.a.Revoke(t.Context(), &Identity{Issuer: info.Issuer, Subject: info.Subject, Claims: info.Claims}); err != nil || b.valid(got.Access) {
		t.Errorf("%v", err)
	}
}

// Verify takes signed tokens of its own only: of its keys, as access tokens, not expired,
// with a grant. HOSTILE-54
func TestAuthForeignTokens(t *testing.T) {
	keys := map[string]*Key{}
	for _, name := range []string{"own", "former", "foreign"} {
		key, err := GenerateKey("")
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = key
	}
	b := newAuthBench(t, func(a *AuthorizationServer) { a.Key, a.FormerKeys = keys["own"], []*Key{keys["former"]} })
	got := b.login()
	good, err := parseJWT(got.Access)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, key, typ, claim string
		value                 any
		ok                    bool
	}{
		{"own", "own", "at+jwt", "x", 1, true},
		{"of a former key", "former", "at+jwt", "x", 1, true},
		{"of a foreign key", "foreign", "at+jwt", "x", 1, false},
		{"of another type", "own", "JWT", "x", 1, false},
		{"of another issuer", "own", "at+jwt", "iss", "https://evil.example.com", false},
		{"expired", "own", "at+jwt", "exp", time.Now().Unix() - 1, false},
		{"without exp", "own", "at+jwt", "exp", "never", false},
		{"of no grant", "own", "at+jwt", "jti", "x.y", false},
		{"without jti", "own", "at+jwt", "jti", "", false},
	} {
		claims := map[string]any{}
		if err := json.Unmarshal(good.claims.raw(), &claims); err != nil {
			t.Fatal(err)
		}
		claims[tt.claim] = tt.value
		token, err := keys[tt.key].sign(map[string]any{"typ": tt.typ}, claims)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.a.Verify(t.Context(), token, nil); (err == nil) != tt.ok || !tt.ok && !errors.Is(err, ErrInvalidToken) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for _, token := range []string{"", "x", got.Refresh, got.Access + "x"} {
		if _, err := b.a.Verify(t.Context(), token, nil); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("%.5s…: %v", token, err)
		}
	}
}

// Scripts of any page may use what needs no cookies, and none of the pages. AUTH-020
func TestAuthScripts(t *testing.T) {
	b := newAuthBench(t, nil)
	for path, want := range map[string]string{"/.well-known/oauth-authorization-server": "GET, HEAD", "/token": "POST", "/register": "POST", "/revoke": "POST", "/authorize": "", "/consent": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, testIssuer+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := b.do(b.browser, r)
		ok := got.status == 204 && got.header.Get("Access-Control-Allow-Origin") == "*" && got.header.Get("Access-Control-Allow-Methods") == want &&
			got.header.Get("Access-Control-Allow-Headers") == "Authorization, Content-Type, DPoP, MCP-Protocol-Version" && got.header.Get("Access-Control-Allow-Credentials") == ""
		if want == "" {
			ok = got.status == 405 && got.header.Get("Access-Control-Allow-Origin") == ""
		}
		if !ok {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
}

// A downStore is a database that cannot be reached.
type downStore struct{}

func (s *downStore) Load(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("database at 10.1.2.3 is down")
}

func (s *downStore) Update(context.Context, string, string, func([]byte) ([]byte, time.Time, error)) error {
	return errors.New("database at 10.1.2.3 is down")
}

// That the store fails is nobody else's fault, and nobody else's business.
func TestAuthBrokenStore(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	b := newAuthBench(t, func(a *AuthorizationServer) {
		keyedClient(key)(a)
		a.Store, a.DPoP, a.DPoPNonce = &downStore{}, true, true
	})
	credentials := url.Values{"grant_type": {grantCredentials}, "client_assertion": {assertion(t, key, "JWT", nil)}, "client_assertion_type": {assertionJWT}}
	for name, got := range map[string]*webAnswer{
		"authorize":   b.get(testIssuer + "/authorize?" + request("client_id", "stored").Encode()),
		"decide":      b.post(testIssuer+"/consent", "consent=x"),
		"token":       b.post(testIssuer+"/token", redemption("x").Encode()),
		"credentials": b.post(testIssuer+"/token", credentials.Encode()),
		"revoke":      b.post(testIssuer+"/revoke", "client_id=app&token=x"),
		"register":    b.post(testIssuer+"/register", `{"redirect_uris":["https://app.example.com/"]}`, asJSON),
	} {
		if got.status != 503 || strings.Contains(got.body, "10.1.2.3") || strings.Contains(got.body, "invalid") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if at := b.get(testIssuer + "/authorize?" + request().Encode()); at.status != 503 || at.header.Get("Location") != "" {
		t.Errorf("%d %v", at.status, at.header)
	}
	if _, err := b.a.Verify(t.Context(), newSecret(), nil); err == nil || errors.Is(err, ErrInvalidToken) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(b.log.String(), "10.1.2.3") {
		t.Error("the log does not say why")
	}
}
