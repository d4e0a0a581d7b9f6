package mcp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	mcpURL    = "https://mcp.example.com/mcp"
	issuerURL = "https://auth.example.com"
	prmURL    = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
	prmParam  = `resource_metadata="` + prmURL + `"`
)

// trips is an http.RoundTripper that needs no network.
type trips func(*http.Request) (status int, body string)

func (f trips) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := f(r)
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Request: r, ProtoMajor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// A mint issues tokens.
type mint struct {
	t   testing.TB
	key *Key
}

func newMint(t testing.TB, alg, kid string) *mint {
	t.Helper()
	key, err := GenerateKey(alg)
	if err != nil {
		t.Fatal(err)
	}
	key.ID = kid
	return &mint{t, key}
}

// keySet is the JWKS of mints.
func keySet(mints ...*mint) string {
	var keys []string
	for _, m := range mints {
		keys = append(keys, string(m.key.Public()))
	}
	return `{"keys":[` + strings.Join(keys, ",") + `]}`
}

// members is a JSON object by name; a nil value takes a member away.
type members map[string]any

func (m members) with(changes members) members {
	all := maps.Clone(m)
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// claims are those of a good token for ada.
func goodClaims() members {
	now := time.Now().Unix()
	return members{"iss": issuerURL, "sub": "ada", "client_id": "app", "aud": mcpURL, "scope": "read write", "iat": now, "exp": now + 3600, "jti": "1"}
}

// token is a good token, but for what is changed in its claims.
func (m *mint) token(changes members) string {
	return m.typed(members{"typ": "at+jwt"}, changes)
}

func (m *mint) typed(header, changes members) string {
	m.t.Helper()
	token, err := m.key.sign(header, map[string]any(goodClaims().with(changes)))
	if err != nil {
		m.t.Fatal(err)
	}
	return token
}

// forged is a token with any header, and a signature that sign makes.
func forged(t *testing.T, header members, changes members, sign func(text string) []byte) string {
	t.Helper()
	h, err := json.Marshal(header)
	must(t, err)
	c, err := json.Marshal(goodClaims().with(changes))
	must(t, err)
	text := encode64(h) + "." + encode64(c)
	return text + "." + encode64(sign(text))
}

// protected is a resource for which tokens of the mints are good.
func protected(mints ...*mint) *ProtectedResource {
	v := &JWTVerifier{Keys: map[string]json.RawMessage{issuerURL: json.RawMessage(keySet(mints...))}}
	return &ProtectedResource{Resource: mcpURL, AuthorizationServers: []string{issuerURL}, Verify: v.Verify}
}

// always is a verifier for which each token says the same.
func always(info TokenInfo) Verifier {
	return func(context.Context, string, *http.Request) (*TokenInfo, error) { return &info, nil }
}

// httpRequest is a request with headers "Name: value".
func httpRequest(method, target string, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func bearer(token string) *http.Request {
	return httpRequest("POST", "/mcp", "Authorization: Bearer "+token)
}

// outcome is how a request is let in, or the status and headers with which it is not.
func outcome(p *ProtectedResource, r *http.Request) string {
	identity, err := p.Authorize(r)
	return outcomeOf(identity, err)
}

func outcomeOf(identity *Identity, err error) string {
	var e *Error
	switch {
	case err == nil && identity == nil:
		return "nobody"
	case err == nil:
		return fmt.Sprintf("%s %s by %s %v", identity.Issuer, identity.Subject, identity.ClientID, identity.Scopes)
	case !errors.As(err, &e):
		return "no *Error: " + err.Error()
	}
	lines := []string{fmt.Sprint(e.status)}
	for _, name := range sortedKeys(e.header) {
		for _, v := range e.header[name] {
			lines = append(lines, name+": "+v)
		}
	}
	return strings.Join(lines, "\n")
}

const (
	letIn     = issuerURL + " ada by app [read write]"
	asksFirst = "401\nWww-Authenticate: Bearer " + prmParam
	asksNew   = `401` + "\n" + `Www-Authenticate: Bearer error="invalid_token", ` + prmParam
	malformed = "400\nWww-Authenticate: Bearer error=\"invalid_request\", " + prmParam
	trouble   = "503\nRetry-After: 10"
)

// A server that asks for no authorization never speaks of it.
//
// AUTH-001
func TestNoAuthorization(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) { // the replies are compared with all their headers
		c.post(initializeA, "Authorization: Bearer x").sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		c.post(pingA).sees(pongA)
		c.send("PUT", "").sees(refused(405, -32600, "method PUT is not served here; allowed: GET, POST, DELETE", "Allow: GET, POST, DELETE"))
		c.post(pingA, "Mcp-Session-Id: x").sees(refusedFor("1", 404, -32600, noSuch))
	})
}

// AUTH-008 AUTH-013 AUTH-014 AUTH-016 AUTH-017 AUTH-018 AUTH-019 AUTH-020 AUTH-021 AUTH-022 AUTH-024
func TestResourceMetadata(t *testing.T) {
	p := &ProtectedResource{Resource: "https://MCP.Example.com:443/public/mcp", AuthorizationServers: []string{"https://auth.example.com/t/", issuerURL},
		Verify: always(TokenInfo{})}
	const small = `{"resource":"https://mcp.example.com/public/mcp","authorization_servers":["https://auth.example.com/t/","https://auth.example.com"],"bearer_methods_supported":["header"]}`
	want(t, "paths", fmt.Sprint(p.MetadataPaths()), "[/.well-known/oauth-protected-resource/public/mcp /.well-known/oauth-protected-resource]")
	mux := http.NewServeMux()
	for _, path := range p.MetadataPaths() {
		mux.Handle(path, p)
	}
	fetch := func(method, path string, header ...string) (string, http.Header) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httpRequest(method, path, header...))
		return fmt.Sprint(w.Code, " ", w.Body), w.Header()
	}
	for _, path := range p.MetadataPaths() {
		for _, header := range []string{"X: y", "Host: evil.example", "X-Forwarded-Host: evil.example", "Origin: https://app.example"} {
			got, h := fetch("GET", path, header)
			want(t, "document", got, "200 "+small)
			want(t, "type", h.Get("Content-Type"), "application/json")
			want(t, "origin", h.Get("Access-Control-Allow-Origin"), "*")
		}
	}
	r := httptest.NewRequest("GET", "http://evil.example/.well-known/oauth-protected-resource", nil)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	want(t, "with a forged host", w.Body.String(), small)
	got, h := fetch("OPTIONS", p.MetadataPaths()[0], "Origin: https://app.example", "Access-Control-Request-Method: GET")
	want(t, "preflight", fmt.Sprint(got, h.Get("Access-Control-Allow-Origin"), " ", h.Get("Access-Control-Allow-Methods")), "204 * GET, HEAD")
	got, h = fetch("POST", p.MetadataPaths()[0])
	want(t, "POST", got+h.Get("Allow"), "405 only GET\nGET, HEAD, OPTIONS")
	srv := httptest.NewServer(mux)
	defer srv.Close()
	resp, err := http.Head(srv.URL + p.MetadataPaths()[0])
	must(t, err)
	resp.Body.Close()
	want(t, "HEAD", fmt.Sprint(resp.StatusCode, resp.ContentLength), fmt.Sprint(200, len(small)))

	all := &ProtectedResource{Resource: "https://h/", AuthorizationServers: []string{issuerURL}, Verify: always(TokenInfo{}), Scopes: []string{"b"},
		Required: []string{"a"}, Name: "Files", Documentation: "https://h/doc", DPoP: &DPoPOptions{Required: true, Algorithms: []string{"ES256"}}}
	w = httptest.NewRecorder()
	all.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	want(t, "all members", w.Body.String(), `{"resource":"https://h","authorization_servers":["https://auth.example.com"],"scopes_supported":["a","b"],`+
		`"bearer_methods_supported":["header"],"resource_name":"Files","resource_documentation":"https://h/doc",`+
		`"dpop_signing_alg_values_supported":["ES256"],"dpop_bound_access_tokens_required":true}`)
	want(t, "paths", fmt.Sprint(all.MetadataPaths()), "[/.well-known/oauth-protected-resource]")
}

// Fields that are wrong let nobody in, and the log says why.
//
// AUTH-023 AUTH-279
func TestResourceFields(t *testing.T) {
	good := func() *ProtectedResource {
		return &ProtectedResource{Resource: mcpURL, AuthorizationServers: []string{issuerURL}, Verify: always(TokenInfo{AudienceChecked: true, NoExpiry: true, Subject: "ada"})}
	}
	want(t, "good fields", outcome(good(), bearer("x")), " ada by  []")
	for _, row := range []struct {
		spoil func(p *ProtectedResource)
		want  string
	}{
		{func(p *ProtectedResource) { p.Resource = "" }, `Resource: not an absolute URL`},
		{func(p *ProtectedResource) { p.Resource = "/mcp" }, `Resource: not an absolute URL`},
		{func(p *ProtectedResource) { p.Resource = "http://mcp.example.com/mcp" }, `Resource: "http://mcp.example.com/mcp" is not https`},
		{func(p *ProtectedResource) { p.Resource = "https://h/mcp#x" }, `Resource: "https://h/mcp" has user info, a query or a fragment`},
		{func(p *ProtectedResource) { p.Resource = "https://a:secret@h/mcp" }, `Resource: "https://h/mcp" has user info, a query or a fragment`},
		{func(p *ProtectedResource) { p.AuthorizationServers = nil }, `AuthorizationServers: there is none`},
		{func(p *ProtectedResource) { p.AuthorizationServers = []string{"http://auth.example.com"} }, `AuthorizationServers: "http://auth.example.com" is not https`},
		{func(p *ProtectedResource) { p.AuthorizationServers = []string{"https://auth.example.com?x"} }, `AuthorizationServers: "https://auth.example.com" has user info, a query or a fragment`},
		{func(p *ProtectedResource) { p.Verify = nil }, `Verify: missing`},
		{func(p *ProtectedResource) { p.Scopes = []string{"read", "offline_access"} }, `Scopes and Required: offline_access is between clients and authorization servers, a resource does not need it`},
		{func(p *ProtectedResource) { p.Required = []string{"a b"} }, `Scopes and Required: "a b" is not a scope`},
		{func(p *ProtectedResource) { p.Leeway = 61 * time.Second }, `Leeway: 1m1s, want at most 1m0s`},
		{func(p *ProtectedResource) { p.DPoP = &DPoPOptions{Algorithms: []string{"none"}} }, `DPoP: algorithm "none" is not one of [ES256 ES384 ES512 RS256 RS384 RS512 PS256 PS384 PS512 EdDSA]`},
		{func(p *ProtectedResource) { p.DPoP = &DPoPOptions{Nonces: true, NonceKey: []byte("short")} }, `DPoP: NonceKey has 5 bytes, want at least 32`},
	} {
		var log bytes.Buffer
		p := good()
		p.Log = slog.New(slog.NewTextHandler(&log, nil))
		row.spoil(p)
		want(t, row.want, outcome(p, bearer("x")), "500")
		want(t, row.want, len(p.MetadataPaths()), 0)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		want(t, row.want, w.Code, 500)
		want(t, row.want, outcomeOf(nil, p.Require(&Request{Header: http.Header{}}, "x")), "500")
		if text := strings.ReplaceAll(log.String(), `\"`, `"`); !strings.Contains(text, "mcp: ProtectedResource."+row.want+`"`) || strings.Contains(text, "secret") {
			t.Errorf("want %s, got %s", row.want, text)
		}
	}
	local := good()
	local.Resource, local.AuthorizationServers = "http://localhost:8080/mcp", []string{"http://127.0.0.1:9000"}
	want(t, "on this machine", outcome(local, bearer("x")), " ada by  []")
}

// AUTH-093 AUTH-231 AUTH-266 AUTH-267 AUTH-268 AUTH-269 AUTH-281 HOSTILE-55
func TestHostile55Credentials(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected(m)
	good := m.token(nil)
	long := strings.Repeat("a", 1<<20)
	for _, row := range []struct {
		target string
		header []string
		want   string
	}{
		{"/mcp", nil, asksFirst},
		{"/mcp", []string{"Authorization: "}, asksFirst},
		{"/mcp", []string{"Authorization: Bearer"}, asksFirst},
		{"/mcp", []string{"Authorization: Bearer "}, asksFirst},
		{"/mcp", []string{"Authorization: Basic YTpi"}, asksFirst},
		{"/mcp", []string{"Authorization: DPoP " + good}, asksFirst}, // not taken here
		{"/mcp?access_token=" + good, nil, asksFirst},
		{"/mcp", []string{"Authorization: Bearer " + good}, letIn},
		{"/mcp", []string{"Authorization: bearer " + good}, letIn},
		{"/mcp", []string{"Authorization: BEARER  " + good + " "}, letIn},
		{"/mcp?x=1", []string{"Authorization: Bearer " + good}, letIn},
		{"/mcp?access_token=" + good, []string{"Authorization: Bearer " + good}, malformed},
		{"/mcp", []string{"Authorization: Bearer " + good, "Authorization: Bearer " + good}, malformed},
		{"/mcp", []string{"Authorization: Basic YTpi", "Authorization: Bearer " + good}, malformed},
		{"/mcp", []string{"Authorization: Bearer " + good + ", Bearer " + good}, malformed},
		{"/mcp", []string{"Authorization: Bearer " + good + " x"}, malformed},
		{"/mcp", []string{"Authorization: Bearer a,b"}, malformed},
		{"/mcp", []string{`Authorization: Bearer "a"`}, malformed},
		{"/mcp", []string{"Authorization: Bearer a=b"}, malformed},
		{"/mcp", []string{"Authorization: Bearer ü"}, malformed},
		{"/mcp", []string{"Authorization: Bearer x"}, asksNew},
		{"/mcp", []string{"Authorization: Bearer " + long}, asksNew},
		{"/mcp", []string{"Authorization: Bearer " + good[:len(good)-2]}, asksNew},
	} {
		want(t, fmt.Sprintf("%.60s %.80q", row.target, row.header), outcome(p, httpRequest("POST", row.target, row.header...)), row.want)
	}
	form := httptest.NewRequest("POST", "/mcp", strings.NewReader("access_token="+good))
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	want(t, "in a form", outcome(p, form), asksFirst)
}

// What is said in the log and in answers is not enough to know the token, whoever says it.
//
// AUTH-269 AUTH-270 AUTH-281 AUTH-282
func TestTokensAreNotShown(t *testing.T) {
	const secret = "s3cr3t.t0k3n"
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	failure := error(nil)
	p := &ProtectedResource{Resource: mcpURL, AuthorizationServers: []string{issuerURL}, Log: logger,
		Verify: func(_ context.Context, token string, _ *http.Request) (*TokenInfo, error) {
			return nil, fmt.Errorf("%w: about %s", failure, token) // it should not
		}}
	s := testServer(t, &ServerOptions{Logger: logger, Intercept: []Interceptor{func(context.Context, *Request, func(context.Context) (any, error)) (any, error) {
		t.Error("a request came through")
		return nil, nil
	}}})
	h := &HTTPHandler{Server: s, Authorize: p.Authorize}
	talkHTTP(t, h, nil, func(c *web) {
		failure = ErrInvalidToken
		c.post(listA, "Authorization: Bearer "+secret).sees(refused(401, -32600, "the access token is not valid", `Www-Authenticate: Bearer error="invalid_token", `+prmParam))
		failure = errors.New("broken")
		c.post(listA, "Authorization: Bearer "+secret).sees(refused(503, -32603, "access tokens cannot be verified now", "Retry-After: 10"))
		c.path = "/mcp?access_token=" + secret
		c.post(listA).sees(refused(401, -32600, "an access token is required", `Www-Authenticate: Bearer `+prmParam))
		c.post(listA, "Authorization: Bearer "+secret).sees(refused(400, -32600, "the request must carry one access token, in one Authorization header",
			`Www-Authenticate: Bearer error="invalid_request", `+prmParam))
	})
	if text := log.String(); strings.Contains(text, "s3cr3t") || !strings.Contains(text, `"token":"3e60b1c7","reason":"mcp: invalid access token: about …"`) {
		t.Errorf("log: %s", text)
	}
	for _, v := range []any{credential{schemeBearer, secret}, &credential{schemeBearer, secret}, DPoPOptions{NonceKey: []byte(secret)}, &DPoPOptions{NonceKey: []byte(secret)},
		&ProtectedResource{DPoP: &DPoPOptions{NonceKey: []byte(secret)}}} {
		logger.Info("shown", "value", v)
		text := fmt.Sprintf("%v %+v %#v %s", v, v, v, log.String())
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, fmt.Sprint([]byte(secret)[:4])[1:10]) || strings.Contains(text, encode64([]byte("s3cr3t"))) {
			t.Errorf("%T is shown", v)
		}
	}
}

// BUG151: each refusal says what is wrong, and where the document for this endpoint is.
//
// AUTH-015 AUTH-092 AUTH-230 AUTH-232
func TestBUG151Challenges(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected(m)
	p.Scopes, p.Required = []string{"read", "write"}, []string{"mcp"}
	h := &HTTPHandler{Server: toolThatMustNotRun(t), Authorize: p.Authorize}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	for _, path := range p.MetadataPaths() {
		mux.Handle(path, p)
	}
	talkHTTP(t, h, mux, func(c *web) {
		c.post(initializeA).sees(refused(401, -32600, "an access token is required", `Www-Authenticate: Bearer scope="mcp read write", `+prmParam))
		expired := "Authorization: Bearer " + m.token(members{"exp": time.Now().Unix() - 3600})
		c.post(initializeA, expired).sees(refused(401, -32600, "the access token is not valid", `Www-Authenticate: Bearer error="invalid_token", scope="mcp read write", `+prmParam))
		poor := "Authorization: Bearer " + m.token(nil)
		c.post(initializeA, poor).sees(refused(403, -32600, "more scopes are needed: mcp", `Www-Authenticate: Bearer error="insufficient_scope", scope="mcp read write", `+prmParam))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", prmURL, nil))
		want(t, "document", w.Body.String(), `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://auth.example.com"],`+
			`"scopes_supported":["mcp","read","write"],"bearer_methods_supported":["header"]}`)
	})
}

// BUG152: an audience may differ by a slash at the end, and not by more.
//
// AUTH-271 AUTH-272 AUTH-273 AUTH-275 AUTH-276
func TestBUG152Judgement(t *testing.T) {
	synctest.Test(t, testJudgement)
}

func testJudgement(t *testing.T) {
	now := time.Now()
	good := TokenInfo{Issuer: issuerURL, Subject: "ada", ClientID: "app", Audience: []string{mcpURL}, Scopes: []string{"read", "write"}, Expires: now.Add(time.Hour)}
	for _, row := range []struct {
		name   string
		change func(i *TokenInfo, p *ProtectedResource)
		want   string // why not; "": let in
	}{
		{"good", func(*TokenInfo, *ProtectedResource) {}, ""},
		{"slash", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{mcpURL + "/"} }, ""},
		{"case and port", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{"HTTPS://MCP.example.com:443/mcp"} }, ""},
		{"one of several", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{"https://other.example", mcpURL} }, ""},
		{"empty path", func(i *TokenInfo, p *ProtectedResource) { p.Resource, i.Audience = "https://h", []string{"https://h/"} }, ""},
		{"http", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{"http://mcp.example.com/mcp"} }, `it is for ["http://mcp.example.com/mcp"], not for ` + mcpURL},
		{"sibling", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{mcpURL + "2"} }, `it is for ["` + mcpURL + `2"], not for ` + mcpURL},
		{"parent", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{"https://mcp.example.com"} }, `it is for ["https://mcp.example.com"], not for ` + mcpURL},
		{"case of path", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{"https://mcp.example.com/MCP"} }, `it is for ["https://mcp.example.com/MCP"], not for ` + mcpURL},
		{"two slashes", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{mcpURL + "//"} }, `it is for ["` + mcpURL + `//"], not for ` + mcpURL},
		{"fragment", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{mcpURL + "#x"} }, `it is for ["` + mcpURL + `#x"], not for ` + mcpURL},
		{"query", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{mcpURL + "?x"} }, `it is for ["` + mcpURL + `?x"], not for ` + mcpURL},
		{"other port", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = []string{"https://mcp.example.com:444/mcp"} }, `it is for ["https://mcp.example.com:444/mcp"], not for ` + mcpURL},
		{"no audience", func(i *TokenInfo, _ *ProtectedResource) { i.Audience = nil }, `it is for [], not for ` + mcpURL},
		{"checked elsewhere", func(i *TokenInfo, _ *ProtectedResource) { i.Audience, i.AudienceChecked = nil, true }, ""},
		{"other name", func(i *TokenInfo, p *ProtectedResource) {
			i.Audience, p.Audiences = []string{"api://mcp"}, []string{"api://mcp"}
		}, ""},
		{"not that name", func(i *TokenInfo, p *ProtectedResource) {
			i.Audience, p.Audiences = []string{"API://mcp"}, []string{"api://mcp"}
		}, `it is for ["API://mcp"], not for ` + mcpURL},
		{"expired 2 s ago, 5 s", func(i *TokenInfo, p *ProtectedResource) { i.Expires, p.Leeway = now.Add(-2*time.Second), 5*time.Second }, ""},
		{"expired 2 s ago, 0 s", func(i *TokenInfo, p *ProtectedResource) { i.Expires, p.Leeway = now.Add(-2*time.Second), -1 }, "it expired at 1999-12-31T23:5"},
		{"expired almost 60 s ago", func(i *TokenInfo, _ *ProtectedResource) { i.Expires = now.Add(1 - time.Minute) }, ""},
		{"expired 60 s ago", func(i *TokenInfo, _ *ProtectedResource) { i.Expires = now.Add(-60 * time.Second) }, "it expired at 1999-12-31T23:5"},
		{"no expiry", func(i *TokenInfo, _ *ProtectedResource) { i.Expires = time.Time{} }, "it does not expire"},
		{"no expiry, allowed", func(i *TokenInfo, _ *ProtectedResource) { i.Expires, i.NoExpiry = time.Time{}, true }, ""},
		{"soon", func(i *TokenInfo, _ *ProtectedResource) { i.NotBefore = now.Add(time.Minute) }, ""},
		{"later", func(i *TokenInfo, _ *ProtectedResource) { i.NotBefore = now.Add(time.Minute + 1) }, "it is not valid before"},
		{"nobody's", func(i *TokenInfo, _ *ProtectedResource) { i.Subject, i.ClientID = "", "" }, "it speaks for nobody"},
		{"bound", func(i *TokenInfo, _ *ProtectedResource) { i.Thumbprint = "x" }, "it is bound to a key, and was sent without a proof"},
	} {
		var log bytes.Buffer
		info := good
		p := &ProtectedResource{Resource: mcpURL, AuthorizationServers: []string{issuerURL}, Log: slog.New(slog.NewJSONHandler(&log, nil))}
		row.change(&info, p)
		p.Verify = always(info)
		wanted := letIn
		if row.want != "" {
			wanted = asksNew
		}
		want(t, row.name, outcome(p, bearer("t0k3n")), wanted)
		reason, _ := json.Marshal("mcp: invalid access token: " + row.want)
		if logged := strings.Contains(log.String(), string(reason[:len(reason)-1])); logged != (row.want != "") {
			t.Errorf("%s: log %s", row.name, log.String())
		}
	}
	machine := good
	machine.Subject = ""
	p := &ProtectedResource{Resource: mcpURL, AuthorizationServers: []string{issuerURL}, Verify: always(machine)}
	want(t, "a machine", outcome(p, bearer("t0k3n")), issuerURL+" app by app [read write]")
}

// Whose fault a failure is decides what the client is told.
//
// AUTH-279
func TestVerifierErrors(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
	}{
		{ErrInvalidToken, asksNew},
		{fmt.Errorf("revoked: %w", ErrInvalidToken), asksNew},
		{errors.New("no database"), trouble},
		{context.Canceled, trouble},
		{nil, trouble}, // and no token info
		{Errorf(7, "busy"), trouble},
		{Errorf(7, "busy").WithHTTP(429, http.Header{"Retry-After": {"1"}}), "429\nRetry-After: 1"},
	} {
		p := &ProtectedResource{Resource: mcpURL, AuthorizationServers: []string{issuerURL},
			Verify: func(context.Context, string, *http.Request) (*TokenInfo, error) { return nil, row.err }}
		want(t, fmt.Sprint(row.err), outcome(p, bearer("x")), row.want)
	}
}

// Nothing but a signature of the issuer's key, made for an access token, lets anybody in.
//
// AUTH-274 AUTH-277 AUTH-451
func TestHostile54JWT(t *testing.T) {
	rsa, ec, ed := newMint(t, "RS256", "rsa"), newMint(t, "ES256", "ec"), newMint(t, "EdDSA", "ed")
	thief := newMint(t, "ES256", "ec")
	strong := newMint(t, "ES384", "strong")
	p := protected(rsa, ec, ed, strong)
	anyType := protected(ec)
	anyType.Verify = (&JWTVerifier{AnyType: true, Keys: map[string]json.RawMessage{issuerURL: json.RawMessage(keySet(ec))}}).Verify
	at := members{"typ": "at+jwt"}
	hs := func(secret []byte) string {
		return forged(t, members{"alg": "HS256", "typ": "at+jwt", "kid": "rsa"}, nil, func(text string) []byte {
			h := hmac.New(sha256.New, secret)
			h.Write([]byte(text))
			return h.Sum(nil)
		})
	}
	byKey := func(m *mint, header, changes members) string {
		return forged(t, header, changes, func(text string) []byte {
			sig, err := m.key.alg.sign(m.key.signer(), []byte(text))
			must(t, err)
			return sig
		})
	}
	now := time.Now().Unix()
	good := ec.token(nil)
	head, rest, _ := strings.Cut(good, ".")
	body, sig, _ := strings.Cut(rest, ".")
	for _, row := range []struct {
		name, token string
		any         bool // types
		want        string
	}{
		{"RS256", rsa.token(nil), false, letIn},
		{"ES256", good, false, letIn},
		{"EdDSA", ed.token(nil), false, letIn},
		{"long type", ec.typed(members{"typ": "application/AT+JWT"}, nil), false, letIn},
		{"no kid", byKey(ec, members{"alg": "ES256", "typ": "at+jwt"}, nil), false, letIn},
		{"scp", ec.token(members{"scope": nil, "scp": []string{"read", "write"}}), false, letIn},
		{"scp string", ec.token(members{"scope": nil, "scp": "read write"}), false, letIn},
		{"azp", ec.token(members{"client_id": nil, "azp": "app"}), false, letIn},
		{"audiences", ec.token(members{"aud": []string{"https://x.example", mcpURL}}), false, letIn},
		{"other audience", ec.token(members{"aud": "https://other.example/mcp"}), false, asksNew},
		{"no audience", ec.token(members{"aud": nil}), false, asksNew},
		{"odd audience", ec.token(members{"aud": []any{mcpURL, 1}}), false, asksNew},
		{"ES384 not listed", strong.token(nil), false, asksNew},
		{"none", forged(t, members{"alg": "none", "typ": "at+jwt"}, nil, func(string) []byte { return nil }), false, asksNew},
		{"None", forged(t, members{"alg": "None", "typ": "at+jwt"}, nil, func(string) []byte { return nil }), false, asksNew},
		{"HS256 with the public key", hs(rsa.key.Public()), false, asksNew},
		{"HS256 with the key set", hs([]byte(keySet(rsa, ec, ed, strong))), false, asksNew},
		{"HS512 with nothing", forged(t, members{"alg": "HS512", "typ": "at+jwt"}, nil, func(text string) []byte {
			h := hmac.New(sha512.New, nil)
			h.Write([]byte(text))
			return h.Sum(nil)
		}), false, asksNew},
		{"other key of that name", thief.token(nil), false, asksNew},
		{"own key in the header", byKey(thief, members{"alg": "ES256", "typ": "at+jwt", "jwk": json.RawMessage(thief.key.Public())}, nil), false, asksNew},
		{"key URL in the header", byKey(thief, members{"alg": "ES256", "typ": "at+jwt", "jku": "https://evil.example/jwks"}, nil), false, asksNew},
		{"algorithm of another key", byKey(ec, members{"alg": "ES256", "typ": "at+jwt", "kid": "rsa"}, nil), false, asksNew},
		{"unknown key", byKey(ec, members{"alg": "ES256", "typ": "at+jwt", "kid": "new"}, nil), false, asksNew},
		{"crit", ec.typed(at.with(members{"crit": []string{"exp"}}), nil), false, asksNew},
		{"other issuer", ec.token(members{"iss": "https://evil.example"}), false, asksNew},
		{"issuer with a slash", ec.token(members{"iss": issuerURL + "/"}), false, asksNew},
		{"no issuer", ec.token(members{"iss": nil}), false, asksNew},
		{"expired", ec.token(members{"exp": now - 61}), false, asksNew},
		{"no expiry", ec.token(members{"exp": nil}), false, asksNew},
		{"expiry as text", ec.token(members{"exp": fmt.Sprint(now + 60)}), false, asksNew},
		{"expiry beyond time", ec.token(members{"exp": 1e300}), false, asksNew},
		{"not yet valid", ec.token(members{"nbf": now + 120}), false, asksNew},
		{"issued in the future", ec.token(members{"iat": now + 120}), false, asksNew},
		{"not before as text", ec.token(members{"nbf": "0"}), false, asksNew},
		{"nobody's", ec.token(members{"sub": nil, "client_id": nil}), false, asksNew},
		{"bound to a key", ec.token(members{"cnf": members{"jkt": "x"}}), false, asksNew},
		{"bound to a certificate", ec.token(members{"cnf": members{"x5t#S256": "x"}}), false, asksNew},
		{"bound to nothing", ec.token(members{"cnf": "x"}), false, asksNew},
		{"no type", byKey(ec, members{"alg": "ES256", "kid": "ec"}, nil), false, asksNew},
		{"type JWT", ec.typed(members{"typ": "JWT"}, nil), false, asksNew},
		{"type JWT, any type", ec.typed(members{"typ": "JWT"}, nil), true, letIn},
		{"no type, any type", byKey(ec, members{"alg": "ES256", "kid": "ec"}, nil), true, letIn},
		{"ID token, any type", ec.typed(members{"typ": "JWT"}, members{"nonce": "n"}), true, asksNew},
		{"ID token with a hash, any type", ec.typed(members{"typ": "JWT"}, members{"at_hash": "h"}), true, asksNew},
		{"proof, any type", ec.typed(members{"typ": "dpop+jwt"}, nil), true, asksNew},
		{"grant, any type", ec.typed(members{"typ": "oauth-id-jag+jwt"}, nil), true, asksNew},
		{"no signature", head + "." + body + ".", false, asksNew},
		{"two parts", head + "." + body, false, asksNew},
		{"four parts", good + ".x", false, asksNew},
		{"another body", head + "." + encode64([]byte(`{"sub":"root"}`)) + "." + sig, false, asksNew},
	} {
		q := p
		if row.any {
			q = anyType
		}
		want(t, row.name, outcome(q, bearer(row.token)), row.want)
	}
	text := encode64([]byte(`{"alg":"ES256","typ":"at+jwt"}`)) + "." + encode64([]byte(`{"sub":"x",`+string(mustJSON(t, goodClaims()))[1:]))
	twice, err := ec.key.alg.sign(ec.key.signer(), []byte(text))
	must(t, err)
	want(t, "names twice", outcome(p, bearer(text+"."+encode64(twice))), asksNew)
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

// AUTH-274
func TestScopesHook(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected()
	p.Verify = (&JWTVerifier{Algorithms: []string{"ES256"}, Keys: map[string]json.RawMessage{issuerURL: json.RawMessage(keySet(m))},
		Scopes: func(claims json.RawMessage) []string {
			var c struct{ Roles []string }
			must(t, json.Unmarshal(claims, &c))
			return c.Roles
		}}).Verify
	want(t, "roles", outcome(p, bearer(m.token(members{"roles": []string{"admin"}}))), issuerURL+" ada by app [admin]")
}

// A keyServer publishes the keys of an issuer.
type keyServer struct {
	mu     sync.Mutex // guards the fields below
	keys   []*mint
	down   bool
	asked  []string
	status int
}

func (k *keyServer) answer(r *http.Request) (int, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, r.URL.String())
	switch {
	case k.down:
		return k.status, ""
	case strings.HasPrefix(r.URL.Path, "/.well-known/openid-configuration"):
		return 200, `{"issuer":"` + issuerURL + `","authorization_endpoint":"` + issuerURL + `/a","token_endpoint":"` + issuerURL + `/t","jwks_uri":"` + issuerURL + `/keys"}`
	case r.URL.Path != "/keys":
		return 404, ""
	}
	return 200, keySet(k.keys...)
}

func (k *keyServer) set(f func()) (asked string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
	asked = fmt.Sprint(len(k.asked), " ", strings.ReplaceAll(strings.Join(k.asked, " "), issuerURL, ""))
	k.asked = nil
	return asked
}

// A new key is found when it is first met; made up ones cause a request in half a
// minute, and none while nothing is new.
//
// AUTH-277
func TestHostile54KeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMint(t, "", "a"), newMint(t, "", "b")
		k := &keyServer{keys: []*mint{a}}
		p := protected()
		v := &JWTVerifier{Issuers: map[string]string{issuerURL: issuerURL + "/keys"}, Outbound: trips(k.answer), CacheSize: -1}
		p.Verify = v.Verify
		want(t, "first", outcome(p, bearer(a.token(nil))), letIn)
		want(t, "again", outcome(p, bearer(a.token(nil))), letIn)
		want(t, "asked", k.set(func() { k.keys = []*mint{b, a} }), "1 /keys")
		want(t, "too early", outcome(p, bearer(b.token(nil))), asksNew)
		time.Sleep(31 * time.Second)
		want(t, "new key", outcome(p, bearer(b.token(nil))), letIn)
		want(t, "asked", k.set(func() { k.keys = []*mint{b} }), "1 /keys")
		for range 200 {
			flood := newMintOf(b, "x"+time.Now().String())
			want(t, "flood", outcome(p, bearer(flood.token(nil))), asksNew)
			time.Sleep(500 * time.Millisecond)
		}
		want(t, "asked in 100 s", k.set(func() {}), "3 /keys /keys /keys")
		want(t, "the old key", outcome(p, bearer(a.token(nil))), asksNew)
		want(t, "the new key", outcome(p, bearer(b.token(nil))), letIn)
	})
}

// newMintOf is a mint with the same key under another name.
func newMintOf(m *mint, kid string) *mint {
	key := *m.key
	key.ID = kid
	return &mint{m.t, &key}
}

// While keys cannot be fetched, no client is told that its token is bad.
//
// AUTH-277 AUTH-279
func TestKeyServerDown(t *testing.T) {
	for _, status := range []int{0, 500, 404} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newMint(t, "", "a"), newMint(t, "", "b")
			k := &keyServer{keys: []*mint{a, b}, down: true, status: status}
			p := protected()
			p.Verify = (&JWTVerifier{Issuers: map[string]string{issuerURL: ""}, Outbound: trips(k.answer)}).Verify
			want(t, "down", outcome(p, bearer(a.token(nil))), trouble)
			want(t, "still down", outcome(p, bearer(a.token(nil))), trouble)
			want(t, "asked", k.set(func() { k.down, k.keys = false, k.keys[:1] }), "2 /.well-known/oauth-authorization-server /.well-known/openid-configuration")
			time.Sleep(31 * time.Second)
			want(t, "up", outcome(p, bearer(a.token(nil))), letIn)
			want(t, "asked", k.set(func() { k.down = true }), "3 /.well-known/oauth-authorization-server /.well-known/openid-configuration /keys")
			time.Sleep(11 * time.Minute)
			want(t, "down, key known", outcome(p, bearer(a.token(nil))), letIn)
			want(t, "down, key not known", outcome(p, bearer(b.token(nil))), trouble)
			time.Sleep(24 * time.Hour)
			want(t, "down for a day", outcome(p, bearer(a.token(nil))), trouble)
		})
	}
}

// AUTH-277
func TestJWTVerifierFields(t *testing.T) {
	for _, v := range []*JWTVerifier{
		{Issuers: map[string]string{"http://auth.example.com": ""}},
		{Issuers: map[string]string{issuerURL: "http://auth.example.com/keys"}},
		{Issuers: map[string]string{issuerURL: "/keys"}},
		{Algorithms: []string{"HS256"}},
		{Algorithms: []string{"none"}},
		{Keys: map[string]json.RawMessage{issuerURL: json.RawMessage(`{}`)}},
	} {
		p := protected()
		p.Verify = v.Verify
		want(t, fmt.Sprint(v.Issuers, v.Algorithms), outcome(p, bearer("x")), trouble)
	}
	m := newMint(t, "", "k")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, keySet(m)) }))
	defer srv.Close()
	p := protected()
	p.Verify = (&JWTVerifier{Issuers: map[string]string{issuerURL: srv.URL}}).Verify // the application has chosen it
	want(t, "a key server on this machine", outcome(p, bearer(m.token(nil))), letIn)
	want(t, "evil", outcome(p, bearer("x")), asksNew)
}

// A token that is known costs no signature check and no request, and is asked about
// again after a minute; those that are known are bounded.
func TestTokensAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMint(t, "", "k")
		k := &keyServer{keys: []*mint{m}}
		v := &JWTVerifier{Issuers: map[string]string{issuerURL: issuerURL + "/keys"}, Outbound: trips(k.answer), CacheSize: 10}
		p := protected()
		p.Verify = v.Verify
		token := m.token(nil)
		want(t, "first", outcome(p, bearer(token)), letIn)
		time.Sleep(31 * time.Second)
		k.set(func() { k.keys = nil })
		want(t, "an unknown key", outcome(p, bearer(newMintOf(m, "x").token(nil))), asksNew) // now the keys are gone
		want(t, "known", outcome(p, bearer(token)), letIn)
		want(t, "known, other bytes", outcome(p, bearer(token[:len(token)-1])), asksNew)
		time.Sleep(30 * time.Second)
		want(t, "forgotten", outcome(p, bearer(token)), asksNew)
		k.set(func() { k.keys = []*mint{m} })
		time.Sleep(31 * time.Second)
		for i := range 100 {
			want(t, "many", outcome(p, bearer(m.token(members{"jti": fmt.Sprint(i)}))), letIn)
		}
		if n := len(v.cache.young) + len(v.cache.old); n > 10 {
			t.Errorf("%d tokens are remembered", n)
		}
		short := m.token(members{"exp": time.Now().Unix() + 10})
		want(t, "short-lived", outcome(p, bearer(short)), letIn)
		time.Sleep(69 * time.Second)
		want(t, "short-lived, within the leeway", outcome(p, bearer(short)), letIn)
		time.Sleep(time.Second)
		want(t, "short-lived, expired", outcome(p, bearer(short)), asksNew)
	})
}

// scoped is a server whose tools need scopes: run needs run:start and run:end, which an
// Interceptor sees to, and late asks for late:x itself.
func scoped(t *testing.T, p *ProtectedResource, ran func(string)) *Server {
	intercept := func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		if r.Method == methodToolsCall && strings.Contains(string(r.Params), `"run"`) {
			if err := p.Require(r, "run:start", "run:end"); err != nil {
				return nil, err
			}
		}
		return next(ctx)
	}
	s := testServer(t, &ServerOptions{Intercept: []Interceptor{intercept}})
	for _, name := range []string{"run", "late"} {
		addTool(t, s, name, func(_ context.Context, r *Request) (string, error) {
			if name == "late" {
				if err := p.Require(r, "late:x"); err != nil {
					return "", fmt.Errorf("late: %w", err)
				}
			}
			ran(name)
			return "done", nil
		})
	}
	return s
}

// Too few scopes for a tool is a status and a challenge with all that it needs, and the
// tool does not run.
//
// AUTH-230 AUTH-231 AUTH-232 AUTH-233 AUTH-234 AUTH-235 AUTH-236 AUTH-237 AUTH-270
func TestInsufficientScope(t *testing.T) {
	m := newMint(t, "", "k")
	for _, kind := range []struct {
		name          string
		repeat, event bool // replies are events
	}{{"repeated", true, false}, {"needed only", false, false}, {"events", true, true}} {
		t.Run(kind.name, func(t *testing.T) {
			p := protected(m)
			p.NeededOnly = !kind.repeat
			p.Satisfies = func(granted []string, scope string) bool {
				return slices.Contains(granted, scope) || slices.Contains(granted, "admin")
			}
			runs := ""
			h := &HTTPHandler{Server: scoped(t, p, func(name string) { runs += name + " " }), Authorize: p.Authorize, EventsOnly: kind.event, MaxEvents: -1}
			talkHTTP(t, h, nil, func(c *web) {
				auth := func(scope string) string { return "Authorization: Bearer " + m.token(members{"scope": scope}) }
				opened := c.post(initializeA, auth("read"))
				if kind.event {
					opened.sees("200 text/event-stream\nMcp-Session-Id: *\n: ok\n\ndata: " + initializedA + "\n$")
				} else {
					opened.sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
				}
				lacks := func(id int, needed, all string) string {
					if !kind.repeat {
						all = needed
					}
					return refusedFor(fmt.Sprint(id), 403, -32600, "more scopes are needed: "+needed,
						`Www-Authenticate: Bearer error="insufficient_scope", scope="`+all+`", `+prmParam)
				}
				done := func() string {
					if kind.event {
						return "200 text/event-stream\n: ok\n\ndata: " + doneA + "\n$"
					}
					return "200 application/json\n" + doneA
				}
				for range 2 { // the same operation, the same challenge
					c.call(1, "run", auth("read write")).sees(lacks(1, "run:start run:end", "run:start run:end read write"))
				}
				c.call(1, "run", auth("run:end")).sees(lacks(1, "run:start run:end", "run:start run:end"))
				c.call(1, "run", auth("offline_access openid")).sees(lacks(1, "run:start run:end", "run:start run:end openid"))
				c.call(1, "run", auth("read"), "Accept: text/event-stream").sees(lacks(1, "run:start run:end", "run:start run:end read"))
				c.call(1, "late", auth("read")).sees(lacks(1, "late:x", "late:x read"))
				// What headers say of the tool decides nothing.
				c.call(1, "run", auth("read"), "Mcp-Method: tools/call", "Mcp-Name: echo").sees(lacks(1, "run:start run:end", "run:start run:end read"))
				want(t, "ran", runs, "")
				c.call(1, "run", auth("run:start run:end")).sees(done())
				c.call(1, "late", auth("late:x")).sees(done())
				c.call(1, "run", auth("admin")).sees(done())
				want(t, "ran", runs, "run late run ")
				c.call(1, "run", auth("read"), "Origin: https://evil.example").sees(refused(403, -32600, `origin "https://evil.example" is not allowed; add it to AllowedOrigins`))
			})
		})
	}
}

// More scopes than a client reads are not repeated.
func TestManyScopes(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected(m)
	p.Required = []string{"x"}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("s", i))
	}
	only := "403\n" + `Www-Authenticate: Bearer error="insufficient_scope", scope="x", ` + prmParam
	want(t, "many", outcome(p, bearer(m.token(members{"scope": strings.Join(many, " ")}))), only)
	want(t, "long", outcome(p, bearer(m.token(members{"scope": strings.Repeat("s", 5000)}))), only)
	want(t, "no scopes", outcome(p, bearer(m.token(members{"scp": []string{"a b", `"`}, "scope": nil}))), only)
}

// Require lets pass what did not come over HTTP, and asks those for a token who have none.
//
// AUTH-003 AUTH-004 AUTH-092 BASE-438
func TestRequire(t *testing.T) {
	p := protected()
	p.Scopes, p.Required = []string{"read"}, []string{"mcp"}
	ada := &Identity{Subject: "ada", Scopes: []string{"mcp", "read"}}
	tokenless := func(scope string) string {
		return "401\n" + `Www-Authenticate: Bearer scope="` + scope + `", ` + prmParam
	}
	const lacks = "403\n" + `Www-Authenticate: Bearer error="insufficient_scope", scope="write mcp read", ` + prmParam
	for _, row := range []struct {
		r      *Request
		scopes []string
		want   string
	}{
		{&Request{}, []string{"write"}, "nobody"},
		{&Request{Identity: ada}, []string{"read"}, "nobody"},
		{&Request{Identity: ada}, []string{"write"}, lacks},
		{&Request{Identity: ada, Header: http.Header{}}, []string{"read", "mcp"}, "nobody"},
		{&Request{Identity: ada, Header: http.Header{}}, nil, "nobody"},
		{&Request{Identity: ada, Header: http.Header{}}, []string{"write"}, lacks},
		{&Request{Header: http.Header{}}, []string{"write"}, tokenless("mcp write")},
		{&Request{Header: http.Header{}}, nil, tokenless("mcp")},
	} {
		want(t, fmt.Sprint(row.r.Identity, row.r.Header, row.scopes), outcomeOf(nil, p.Require(row.r, row.scopes...)), row.want)
	}
	p = protected()
	p.Scopes = []string{"read"}
	want(t, "without needs", outcomeOf(nil, p.Require(&Request{Header: http.Header{}})), tokenless("read"))
	talk(t, serve(scoped(t, p, func(string) {})), hello(Revision20251125, "{}")+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run"}}
		< `+doneA+`
	`)
}

// Only what the application has said is open to callers without a token; the session
// that such a one has opened belongs to whom it turns out to be.
//
// AUTH-280 AUTH-287
func TestPublicRequests(t *testing.T) {
	m := newMint(t, "", "k")
	for _, open := range []bool{false, true} {
		p := protected(m)
		if open {
			p.Public = func(*http.Request) bool { return true }
		}
		h := &HTTPHandler{Server: scoped(t, p, func(string) {}), Authorize: p.Authorize}
		talkHTTP(t, h, nil, func(c *web) {
			asks := refused(401, -32600, "an access token is required", `Www-Authenticate: Bearer `+prmParam)
			if !open {
				c.post(initializeA).sees(asks)
				c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(asks)
				c.get().sees(asks)
				c.send("DELETE", "").sees(asks)
				return
			}
			ada, bob := "Authorization: Bearer "+m.token(members{"scope": "run:start run:end"}), "Authorization: Bearer "+m.token(members{"sub": "bob"})
			c.post(initializeA).sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
			c.post(pingA).sees(pongA)
			c.post(pingA, "Authorization: Bearer x").sees(refused(401, -32600, "the access token is not valid", `Www-Authenticate: Bearer error="invalid_token", `+prmParam))
			c.call(1, "run").sees(refusedFor("1", 401, -32600, "an access token is required", `Www-Authenticate: Bearer scope="run:start run:end", `+prmParam))
			c.call(1, "run", ada).sees("200 application/json\n" + doneA)
			c.post(pingA, bob).sees(refusedFor("1", 404, -32600, noSuch))
			c.post(pingA).sees(refusedFor("1", 404, -32600, noSuch))
			c.post(pingA, ada).sees(pongA)
		})
	}
}

// A session, its streams and what they missed belong to who opened it, by issuer and
// subject; knowing its id is nothing.
//
// AUTH-265 AUTH-287 AUTH-289 AUTH-290 AUTH-453
func TestHostile56TwoUsers(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected()
	const other = "https://other.example.com"
	p.Verify = (&JWTVerifier{Keys: map[string]json.RawMessage{issuerURL: json.RawMessage(keySet(m)), other: json.RawMessage(keySet(m))}}).Verify
	auth := func(changes members) string { return "Authorization: Bearer " + m.token(changes) }
	s := newServer(t, nil)
	addTool(t, s, "slow", func(ctx context.Context, _ *Request) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	h := &HTTPHandler{Server: s, Authorize: p.Authorize}
	talkHTTP(t, h, nil, func(c *web) {
		ada, again, others := auth(nil), auth(members{"jti": "2", "client_id": "app2"}), []string{auth(members{"sub": "bob"}), auth(members{"iss": other}), auth(members{"sub": nil})}
		c.post(initializeA, ada).sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		call := c.call(1, "slow", ada)
		time.Sleep(time.Second)
		call.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		call.drop()
		asks := refused(401, -32600, "an access token is required", `Www-Authenticate: Bearer `+prmParam)
		c.post(pingA).sees(asks)
		c.get().sees(asks)
		c.get("Last-Event-ID: 1_0").sees(asks)
		c.send("DELETE", "").sees(asks)
		for _, bob := range others {
			c.post(pingA, bob).sees(refusedFor("1", 404, -32600, noSuch))
			c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, bob).sees(refused(404, -32600, noSuch))
			c.get(bob).sees(refused(404, -32600, noSuch))
			c.get(bob, "Last-Event-ID: 1_0").sees(refused(404, -32600, noSuch))
			c.send("DELETE", "", bob).sees(refused(404, -32600, noSuch))
		}
		c.post(strings.Replace(pingA, `:1,`, `:2,`, 1), again).sees(strings.Replace(pongA, `:1,`, `:2,`, 1))
		resumed := c.get(again, "Last-Event-ID: 1_0")
		resumed.sees("200 text/event-stream\n: resumed")
		c.send("DELETE", "", again).sees("204")
		synctest.Wait()
		resumed.sees("id: 1_1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"mcp: connection closed: the client ended the session\"}],\"isError\":true}}\n$")
	})
}

// openSSE opens a stream of the old transport, and makes what it names the client's path.
func openSSE(t *testing.T, c *web, header ...string) *exchange {
	t.Helper()
	c.path = "/sse"
	stream := c.get(header...)
	synctest.Wait()
	stream.mu.Lock()
	_, endpoint, ok := strings.Cut(strings.TrimSpace(stream.body.String()), "event: endpoint\ndata: ")
	stream.mu.Unlock()
	if !ok {
		t.Fatal("no endpoint")
	}
	stream.sees("200 text/event-stream\nevent: endpoint\ndata: " + endpoint)
	c.path = endpoint
	return stream
}

// AUTH-005 AUTH-265 AUTH-289
func TestHostile56TwoUsersSSE(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected(m)
	h := &HTTPHandler{Server: testServer(t, nil), Authorize: p.Authorize}
	talkHTTP(t, h, h.SSE(), func(c *web) {
		ada, bob := "Authorization: Bearer "+m.token(nil), "Authorization: Bearer "+m.token(members{"sub": "bob"})
		asks := refused(401, -32600, "an access token is required", `Www-Authenticate: Bearer `+prmParam)
		c.path = "/sse"
		c.get().sees(asks)
		stream := openSSE(t, c, ada)
		c.post(pingA).sees(asks)
		c.post(pingA, bob).sees(refused(404, -32600, noSuch))
		stream.sees("")
		c.post(pingA, ada).sees("202")
		stream.sees("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}")
	})
}

// Streams end when the token that opened them does: it expires, or is withdrawn.
// Trouble with finding that out ends none.
//
// AUTH-301
func TestStreamsEndWithTheToken(t *testing.T) {
	for _, revoked := range []bool{false, true} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprint(revoked, old), func(t *testing.T) {
				var mu sync.Mutex
				var verdict error
				set := func(err error) { mu.Lock(); verdict = err; mu.Unlock() }
				info := TokenInfo{Subject: "ada", AudienceChecked: true, NoExpiry: true}
				p := protected()
				p.Leeway = -1
				p.Verify = func(context.Context, string, *http.Request) (*TokenInfo, error) {
					mu.Lock()
					defer mu.Unlock()
					i := info
					return &i, verdict
				}
				h := &HTTPHandler{Server: testServer(t, nil), Authorize: p.Authorize, Comment: -1, IdleTimeout: 10 * time.Hour}
				root := http.Handler(h)
				if old {
					root = h.SSE()
				}
				talkHTTP(t, h, root, func(c *web) {
					if !revoked {
						info.Expires = time.Now().Add(150 * time.Second)
					}
					const auth = "Authorization: Bearer x"
					var stream *exchange
					if old {
						stream = openSSE(t, c, auth)
					} else {
						c.post(strings.Replace(initializeA, "2025-11-25", "2025-06-18", 1), auth).sees("200 application/json\nMcp-Session-Id: *\n" +
							strings.Replace(initializedA, "2025-11-25", "2025-06-18", 1))
						stream = c.get(auth)
						stream.sees("200 text/event-stream\n: ok")
					}
					time.Sleep(90 * time.Second)
					set(errors.New("no database"))
					time.Sleep(59 * time.Second) // one look at it
					stream.sees("")
					if !revoked {
						time.Sleep(time.Second)
						stream.sees("$")
						return
					}
					set(ErrInvalidToken)
					time.Sleep(30 * time.Second)
					stream.sees("")
					time.Sleep(time.Second)
					stream.sees("$")
					c.get(auth).sees(refused(401, -32600, "the access token is not valid", `Www-Authenticate: Bearer error="invalid_token", `+prmParam))
				})
			})
		}
	}
}

// Handlers know who calls from the token, and from nothing else.
//
// AUTH-283
func TestIdentityReachesHandlers(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected(m)
	s := testServer(t, nil)
	addTool(t, s, "who", func(_ context.Context, r *Request) (string, error) {
		i := r.Identity
		var c struct{ Email string }
		must(t, json.Unmarshal(i.Claims, &c))
		return fmt.Sprint(i.Issuer, " ", i.Subject, " ", i.ClientID, " ", i.Scopes, " ", time.Until(i.Expires), " ", c.Email), nil
	})
	h := &HTTPHandler{Server: s, Authorize: p.Authorize}
	talkHTTP(t, h, nil, func(c *web) {
		auth := "Authorization: Bearer " + m.token(members{"email": "ada@example.com"})
		c.post(initializeA, auth).sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","_meta":{"identity":"root","sub":"root","io.modelcontextprotocol/identity":{"Subject":"root"}}}}`,
			auth, "X-Forwarded-User: root", "X-Identity: root", "Sub: root", "Mcp-Identity: root").sees(`200 application/json
			{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"https://auth.example.com ada app [read write] 1h1m0s ada@example.com"}]}}`)
	})
}

// A handler that calls another server, with its own context, takes no token of the
// caller there.
//
// AUTH-284 AUTH-452
func TestTokensAreNotPassedOn(t *testing.T) {
	m := newMint(t, "", "k")
	token := ""
	var seen journal
	upstream := &HTTPHandler{Server: testServer(t, nil), JSONOnly: true}
	s := testServer(t, nil)
	addTool(t, s, "ask-upstream", func(ctx context.Context, r *Request) (string, error) {
		tr := &HTTPTransport{URL: "http://localhost/mcp", Client: &http.Client{Transport: inPlace(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			must(t, err)
			r.Body = io.NopCloser(bytes.NewReader(body))
			seen.add("%s %v", r.Method, r.Header["Authorization"])
			if text := fmt.Sprint(r.Header, r.URL, string(body)); strings.Contains(text, token) {
				t.Errorf("the token went on: %s", text)
			}
			upstream.ServeHTTP(w, r)
		})}}
		cs, err := NewClient(&Implementation{Name: "proxy", Version: "1"}, &ClientOptions{Revisions: []string{Revision20260728}}).Connect(ctx, tr)
		if err != nil {
			return "", err
		}
		result, err := cs.CallTool(ctx, "echo", echoInput{"hi"})
		if err != nil {
			return "", err
		}
		return result.Text(), cs.Close()
	})
	h := &HTTPHandler{Server: s, Authorize: protected(m).Authorize, DecideAfter: time.Hour}
	talkHTTP(t, h, nil, func(c *web) {
		token = m.token(nil)
		c.alone(lone("tools/call", `"name":"ask-upstream"`), "Authorization: Bearer "+token).sees("200 application/json\n" + modern(gives(saysHi)[4:]))
	})
	want(t, "seen upstream", &seen, "POST []; POST []")
}

// Callers of one name at two issuers are two.
func TestRateLimitByIssuer(t *testing.T) {
	limit := RateLimit(1, 1)
	call := func(issuer, subject string) bool {
		_, err := limit(t.Context(), &Request{Method: methodToolsList, Identity: &Identity{Issuer: issuer, Subject: subject}},
			func(context.Context) (any, error) { return nil, nil })
		return err == nil
	}
	want(t, "let in", fmt.Sprint(call("a", "ada"), call("b", "ada"), call("a", "bob"), call("a", "ada"), call("b", "ada")), "true true true false false")
}

// A script of an allowed origin may send tokens and proofs, and read challenges.
//
// AUTH-020
func TestScriptsSeeChallenges(t *testing.T) {
	p := protected()
	p.DPoP = &DPoPOptions{Algorithms: []string{"ES256"}}
	h := &HTTPHandler{Server: testServer(t, nil), Authorize: p.Authorize, CORS: true, AllowedOrigins: []string{"https://app.example.com"}}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(pingA, "Origin: https://app.example.com").sees(refused(401, -32600, "an access token is required",
			"Access-Control-Allow-Origin: https://app.example.com\nAccess-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce\nVary: Origin\n"+
				`Www-Authenticate: Bearer `+prmParam+`; DPoP `+prmParam+`, algs="ES256"`))
	})
}

// AUTH-091
func TestResourceNameWithQuotes(t *testing.T) {
	p := protected()
	p.Resource = "https://mcp.example.com/a'b?x=%22"
	_, err := p.Authorize(httpRequest("POST", "/"))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	want(t, "parsed", fmt.Sprint(ParseChallenges(e.header[headerAsks])),
		fmt.Sprint([]Challenge{{"Bearer", map[string]string{"resource_metadata": "https://mcp.example.com/.well-known/oauth-protected-resource/a'b?x=%22"}}}))
}

// An introspector is an introspection endpoint.
type introspector struct {
	mu     sync.Mutex // guards the fields below
	status int
	answer string
	asked  []string // how, and with what form
}

func (i *introspector) serve(r *http.Request) (int, string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	form, _ := io.ReadAll(r.Body)
	i.asked = append(i.asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type")+" "+string(form))
	return i.status, i.answer
}

// says sets the answer, and returns how often it was asked for one.
func (i *introspector) says(status int, answer string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := len(i.asked)
	i.status, i.answer, i.asked = status, answer, nil
	return n
}

func introspecting(i *introspector) (*IntrospectionVerifier, *ProtectedResource) {
	v := &IntrospectionVerifier{Endpoint: issuerURL + "/introspect", Client: OAuthClient{ID: "the server", Secret: "s3cr3t:"}, Outbound: trips(i.serve)}
	p := protected()
	p.Verify = v.Verify
	return v, p
}

// An active token whose answer says the right things lets in; one that is not does not;
// and an endpoint that fails is no fault of the token.
//
// AUTH-274 AUTH-278
func TestIntrospection(t *testing.T) {
	const usual = `{"active":true,"iss":"` + issuerURL + `","sub":"ada","client_id":"app","aud":"` + mcpURL + `","scope":"read write","exp":4102444800`
	for _, row := range []struct {
		name   string
		change func(v *IntrospectionVerifier)
		status int
		answer string
		want   string
	}{
		{"active", nil, 200, usual + `}`, letIn},
		{"with type", nil, 200, usual + `,"token_type":"Bearer","token_use":"access_token"}`, letIn},
		{"not active", nil, 200, `{"active":false}`, asksNew},
		{"not active, with detail", nil, 200, strings.Replace(usual, "true", "false", 1) + `}`, asksNew},
		{"not said", nil, 200, `{}`, trouble},
		{"as text", nil, 200, strings.Replace(usual, "true", `"true"`, 1) + `}`, trouble},
		{"twice", nil, 200, usual + `,"active":false}`, trouble},
		{"in capitals", nil, 200, strings.Replace(usual, "active", "ACTIVE", 1) + `}`, trouble},
		{"no JSON", nil, 200, `<html>`, trouble},
		{"array", nil, 200, `[true]`, trouble},
		{"401", nil, 401, `{"error":"invalid_client"}`, trouble},
		{"500", nil, 500, usual + `}`, trouble},
		{"redirect", nil, 302, usual + `}`, trouble},
		{"not there", nil, 0, ``, trouble},
		{"other audience", nil, 200, usual[:strings.Index(usual, `"aud"`)] + `"aud":["https://x.example"],"exp":4102444800}`, asksNew},
		{"no audience", nil, 200, `{"active":true,"sub":"ada","exp":4102444800}`, asksNew},
		{"no audience, checked", func(v *IntrospectionVerifier) { v.AudienceChecked, v.Issuer = true, issuerURL }, 200,
			`{"active":true,"sub":"ada","client_id":"app","scope":"read write","exp":4102444800}`, letIn},
		{"no expiry", nil, 200, strings.Replace(usual, "exp", "x", 1) + `}`, asksNew},
		{"no expiry, allowed", func(v *IntrospectionVerifier) { v.NoExpiry = true }, 200, strings.Replace(usual, "exp", "x", 1) + `}`, letIn},
		{"expired", nil, 200, strings.Replace(usual, "4102444800", "1000", 1) + `}`, asksNew},
		{"expiry as text", nil, 200, strings.Replace(usual, "4102444800", `"never"`, 1) + `}`, asksNew},
		{"not yet valid", nil, 200, usual + `,"nbf":4102444000}`, asksNew},
		{"another issuer", func(v *IntrospectionVerifier) { v.Issuer = "https://x.example" }, 200, usual + `}`, asksNew},
		{"refresh token", nil, 200, usual + `,"token_use":"refresh_token"}`, asksNew},
		{"grant", nil, 200, usual + `,"token_type":"N_A"}`, asksNew},
		{"bound", nil, 200, usual + `,"cnf":{"jkt":"x"}}`, asksNew},
		{"machine", nil, 200, strings.Replace(usual, "sub", "x", 1) + `}`, issuerURL + " app by app [read write]"},
		{"scopes by hook", func(v *IntrospectionVerifier) {
			v.Scopes = func(answer json.RawMessage) []string { return []string{fmt.Sprint(len(answer))} }
		}, 200, usual + `}`, issuerURL + " ada by app [" + fmt.Sprint(len(usual)+1) + "]"},
		{"no secret", func(v *IntrospectionVerifier) { v.Client.Secret = "" }, 200, usual + `}`, trouble},
		{"http", func(v *IntrospectionVerifier) { v.Endpoint = "http://auth.example.com/i" }, 200, usual + `}`, trouble},
	} {
		i := &introspector{status: row.status, answer: row.answer}
		v, p := introspecting(i)
		var log bytes.Buffer
		p.Log = slog.New(slog.NewTextHandler(&log, nil))
		if row.change != nil {
			row.change(v)
		}
		want(t, row.name, outcome(p, bearer("opaque+tok/en==")), row.want)
		if text := log.String(); strings.Contains(text, "opaque") || strings.Contains(text, "s3cr3t") || (text == "") != (row.want != trouble && row.want != asksNew) {
			t.Errorf("%s: log %s", row.name, text)
		}
	}
}

// The endpoint is asked by POST, by an authenticated client.
//
// AUTH-278
func TestIntrospectionRequest(t *testing.T) {
	i := &introspector{status: 200, answer: `{"active":false}`}
	v, p := introspecting(i)
	want(t, "with a secret", outcome(p, bearer("a+b=")), asksNew)
	v.Client.Method = authPost
	want(t, "in the form", outcome(p, bearer("a+b=")), asksNew)
	const kind = " application/x-www-form-urlencoded "
	want(t, "asked", strings.Join(i.asked, "\n"), "POST "+issuerURL+"/introspect Basic dGhlK3NlcnZlcjpzM2NyM3QlM0E="+kind+"token=a%2Bb%3D&token_type_hint=access_token\n"+
		"POST "+issuerURL+"/introspect "+kind+"client_id=the+server&client_secret=s3cr3t%3A&token=a%2Bb%3D&token_type_hint=access_token")
	i.says(200, `{"active":false}`)
	v.Client = OAuthClient{ID: "app", Key: newMint(t, "", "k").key}
	want(t, "with a key", outcome(p, bearer("a")), asksNew)
	head, rest, _ := strings.Cut(i.asked[0], "client_assertion=")
	assertion, tail, _ := strings.Cut(rest, "&")
	want(t, "asked", head+tail, "POST "+issuerURL+"/introspect "+kind+"client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&token=a&token_type_hint=access_token")
	a, err := parseJWT(assertion)
	must(t, err)
	must(t, a.verify(v.Client.Key.public))
	aud, _ := a.audience()
	want(t, "assertion", fmt.Sprint(a.text("iss"), a.text("sub"), aud), "appapp["+issuerURL+"/introspect]")
	for _, shown := range []any{v, v.Client} {
		if text := fmt.Sprintf("%+v %#v", shown, shown); strings.Contains(text, "s3cr3t") {
			t.Errorf("shown: %s", text)
		}
	}
}

// An answer is good for some seconds, and never longer than the token.
//
// AUTH-278
func TestIntrospectionIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		active := func(life time.Duration) string {
			return fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q,"exp":%d}`, mcpURL, time.Now().Add(life).Unix())
		}
		i := &introspector{}
		v, p := introspecting(i)
		p.Leeway = -1
		let := func(what, answer string) {
			t.Helper()
			want(t, what, outcome(p, bearer("x")), answer)
		}
		i.says(200, active(time.Hour))
		let("first", " ada by  []")
		time.Sleep(10*time.Second - time.Nanosecond)
		let("remembered", " ada by  []")
		want(t, "asked", i.says(200, `{"active":false}`), 1)
		let("revoked, not known yet", " ada by  []")
		time.Sleep(time.Nanosecond)
		let("revoked", asksNew)
		let("revoked, asked again", asksNew)
		want(t, "asked", i.says(200, active(5*time.Second)), 2)
		let("short-lived", " ada by  []")
		time.Sleep(5 * time.Second)
		let("expired", asksNew)
		want(t, "asked", i.says(200, active(time.Hour)), 1)
		time.Sleep(5 * time.Second)
		v.CacheFor = time.Hour
		let("for long", " ada by  []")
		time.Sleep(time.Minute - time.Nanosecond)
		let("a minute at most", " ada by  []")
		want(t, "asked", i.says(500, ""), 1)
		time.Sleep(time.Nanosecond)
		let("down", trouble)
		i.says(200, active(time.Hour))
		v.CacheFor = -1
		let("not remembered", " ada by  []")
		let("not remembered", " ada by  []")
		want(t, "asked", i.says(500, ""), 2)
	})
}

// Who has a known key does not wait for those who look for others, however long that takes.
func TestKnownKeysDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMint(t, "", "k")
		k := &keyServer{keys: []*mint{m}}
		slow := false
		p := protected()
		p.Verify = (&JWTVerifier{Issuers: map[string]string{issuerURL: issuerURL + "/keys"}, CacheSize: -1, Outbound: trips(func(r *http.Request) (int, string) {
			if slow {
				<-r.Context().Done()
				return 0, ""
			}
			return k.answer(r)
		})}).Verify
		want(t, "first", outcome(p, bearer(m.token(nil))), letIn)
		slow = true
		time.Sleep(11 * time.Minute)
		var all sync.WaitGroup
		all.Go(func() { want(t, "unknown", outcome(p, bearer(newMintOf(m, "x").token(nil))), trouble) })
		synctest.Wait()
		start := time.Now()
		want(t, "known", outcome(p, bearer(m.token(nil))), letIn)
		want(t, "waited", time.Since(start), time.Duration(0))
		all.Wait()
		want(t, "the other waited", time.Since(start), 10*time.Second)
	})
}

// What a caller is shown depends on the token of the request, not on those before it,
// and is for that caller alone; hiding keeps what is hidden from being called, too.
//
// AUTH-296 AUTH-297 BASE-391 FEAT-208
func TestListsByScope(t *testing.T) {
	m := newMint(t, "", "k")
	p := protected(m)
	s := NewServer(&Implementation{Name: "test", Version: "1"}, &ServerOptions{Visible: func(r *Request, _, name string) bool {
		return r.Identity != nil && slices.Contains(r.Identity.Scopes, name)
	}})
	for _, name := range []string{"read", "write"} {
		addTool(t, s, name, func(context.Context, *Request) (string, error) { return "done", nil })
	}
	h := &HTTPHandler{Server: s, Authorize: p.Authorize}
	talkHTTP(t, h, nil, func(c *web) {
		auth := func(scope string) string { return "Authorization: Bearer " + m.token(members{"scope": scope}) }
		c.post(initializeA, auth("read")).sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		listed := func(names ...string) string {
			var tools []string
			for _, name := range names {
				tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}`)
			}
			return "200 application/json\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[" + strings.Join(tools, ",") + "]}}"
		}
		c.post(listA, auth("read")).sees(listed("read"))
		c.post(listA, auth("write read")).sees(listed("read", "write"))
		c.post(listA, auth("read")).sees(listed("read"))
		c.post(listA, auth("x")).sees(listed())
		c.session, c.rev = "", ""
		alone := func(names ...string) string {
			return strings.NewReplacer(`"id":2`, `"id":1`, `"result":{`, modern(`"result":{DONE,`+noted+`,`)).Replace(listed(names...))
		}
		for range 2 {
			c.alone(lone("tools/list", ""), auth("read")).sees(alone("read"))
			c.alone(lone("tools/list", ""), auth("read write")).sees(alone("read", "write"))
			c.alone(lone("tools/call", `"name":"write"`), auth("read")).sees(refusedFor("1", 200, -32602, `unknown tool "write"`))
		}
	})
}

// A header decides nothing: who says one thing there and another in the body is refused
// before anything runs, and what a caller may do is decided by the body.
//
// AUTH-300 BASE-307
func TestHeadersDecideNothing(t *testing.T) {
	m := newMint(t, "", "k")
	var ran journal
	s := newServer(t, &ServerOptions{Intercept: []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		var p struct {
			Name      string `json:"name"`
			Arguments struct {
				Tenant string `json:"tenant"`
			} `json:"arguments"`
		}
		must(t, json.Unmarshal(r.Params, &p))
		if !slices.Contains(r.Identity.Scopes, p.Name) || p.Arguments.Tenant != r.Identity.Subject {
			return nil, Errorf(CodeInvalidRequest, "not yours").WithHTTP(403, nil)
		}
		return next(ctx)
	}}})
	for _, name := range []string{"read", "write"} {
		must(t, s.AddTool(&Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"tenant":{"type":"string","x-mcp-header":"Tenant"}}}`)},
			func(_ context.Context, r *Request, p *CallToolParams) (*CallToolResult, error) {
				ran.add("%s %s", p.Name, p.Arguments)
				return &CallToolResult{}, nil
			}))
	}
	talkHTTP(t, &HTTPHandler{Server: s, Authorize: protected(m).Authorize}, nil, func(c *web) {
		auth := "Authorization: Bearer " + m.token(members{"scope": "read", "sub": "ada"})
		call := func(tool, tenant string, header ...string) *exchange {
			return c.alone(lone("tools/call", `"name":"`+tool+`","arguments":{"tenant":"`+tenant+`"}`), append([]string{auth, "Mcp-Param-Tenant: " + tenant}, header...)...)
		}
		differ := func(message string) string { return refusedFor("1", 400, -32020, message) }
		call("write", "ada", "Mcp-Name: read").sees(differ(`Mcp-Name is "read", but name is "write"`))
		call("write", "ada", "Mcp-Method: tools/list").sees(differ(`Mcp-Method is "tools/list", but the method is "tools/call"`))
		call("read", "bob", "Mcp-Param-Tenant: ada").sees(differ(`Mcp-Param-Tenant is "ada", but the argument tenant is "bob"`))
		call("write", "ada").sees(refusedFor("1", 403, -32600, "not yours"))
		call("read", "bob").sees(refusedFor("1", 403, -32600, "not yours"))
		want(t, "ran", ran.String(), "")
		call("read", "ada").sees("200 application/json\n" + modern(gives(`DONE,"content":[]`)[4:]))
		want(t, "ran", ran.String(), `read {"tenant":"ada"}`)
	})
}

// Many callers at once, from the first request on.
func TestAuthorizeConcurrently(t *testing.T) {
	m, client := newMint(t, "", "k"), newMint(t, "", "")
	k := &keyServer{keys: []*mint{m}}
	p := bound(m, DPoPOptions{Nonces: true, Replays: 4})
	p.Verify = (&JWTVerifier{Issuers: map[string]string{issuerURL: issuerURL + "/keys"}, Outbound: trips(k.answer), CacheSize: 4}).Verify
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 10 {
				free, tied := m.token(members{"jti": fmt.Sprint(i, n)}), m.token(members{"cnf": members{"jkt": client.key.Thumbprint()}})
				want(t, "free", outcome(p, bearer(free)), letIn)
				want(t, "bad", strings.HasPrefix(outcome(p, bearer(free[1:])), "401\n"), true)
				want(t, "without nonce", strings.Contains(outcome(p, proves(tied, proofBy(t, client, tied, members{"typ": "dpop+jwt"}, nil))), codeUseNonce), true)
				nonce := p.ready.nonces.mint(time.Now())
				want(t, "bound", outcome(p, proves(tied, proofBy(t, client, tied, members{"typ": "dpop+jwt"}, members{"nonce": nonce, "jti": newSecret()}))), letIn)
			}
		})
	}
	all.Wait()
	want(t, "asked for keys", k.set(func() {}), "1 /keys")
}

// No header but the one with the token lets anybody in, and none is too much.
func FuzzAuthorize(f *testing.F) {
	m := newMint(f, "", "k")
	good := m.token(members{"exp": time.Now().Unix() + 1e6})
	p := bound(m, DPoPOptions{})
	f.Add("Bearer "+good, "")
	f.Add("DPoP "+good, good)
	f.Add("Bearer "+good+", Basic x", "a.b.c")
	f.Fuzz(func(t *testing.T, authorization, proof string) {
		r := httpRequest("POST", "/mcp")
		r.Header["Authorization"], r.Header["Dpop"] = []string{authorization}, []string{proof}
		scheme, token, _ := strings.Cut(authorization, " ")
		identity, err := p.Authorize(r)
		if right := strings.EqualFold(scheme, "Bearer") && strings.Trim(token, " ") == good; right != (err == nil && identity != nil) {
			t.Errorf("%q: %v", authorization, err)
		}
	})
}
