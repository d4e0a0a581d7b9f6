package mcp

import (
	"bytes"
	"context"
	"encoding/json"
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
	"strings"
	"sync"
	"testing"
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
