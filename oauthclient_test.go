package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A world is the network of the tests of authorization: an MCP server at
// https://mcp.test/mcp, an authorization server https://as.test, and whatever else a
// test puts there. There are no sockets, so everything may run in a bubble. Every
// request is written down as its method, URL without scheme, and the status answered.
type world struct {
	t *testing.T

	mu       sync.Mutex // guards the fields below
	routes   map[string]http.HandlerFunc
	said     []string
	requests []*http.Request // likewise, with their bodies in bodies
	bodies   []string
	issued   int
	codes    map[string]url.Values // authorization requests by code
	good     map[string]bool       // access tokens that the MCP server takes
	refusal  string                // challenge of a 401

	resource members // the metadata
	issuer   members
	answer   members // of the token endpoint; nil values are left out
	client   members // of the registration endpoint
	callback url.Values
}

const (
	worldServer = "https://mcp.test/mcp"
	worldIssuer = "https://as.test"
	worldBack   = "http://127.0.0.1:7777/callback"
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, codes: map[string]url.Values{}, good: map[string]bool{},
		refusal: `Bearer resource_metadata="https://mcp.test/.well-known/oauth-protected-resource/mcp"`}
	w.resource = members{"resource": worldServer, "authorization_servers": []string{worldIssuer}}
	w.issuer = issuerAt(worldIssuer)
	w.answer = members{"token_type": "Bearer", "expires_in": 3600}
	w.client = members{"client_id": "registered-1"}
	w.callback = url.Values{"iss": {worldIssuer}}
	w.routes = map[string]http.HandlerFunc{
		"mcp.test/mcp": w.serveMCP,
		"mcp.test/.well-known/oauth-protected-resource/mcp": w.document(&w.resource),
		"as.test/.well-known/oauth-authorization-server":    w.document(&w.issuer),
		"as.test/authorize": w.authorize,
		"as.test/token":     w.token,
		"as.test/register":  w.register,
	}
	return w
}

// issuerAt is the metadata of an authorization server.
func issuerAt(issuer string) members {
	return members{"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
		"registration_endpoint": issuer + "/register", "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "authorization_response_iss_parameter_supported": true}
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	in := r.Clone(r.Context())
	in.Body = io.NopCloser(strings.NewReader(string(body)))
	w.mu.Lock()
	h := w.routes[r.URL.Host+r.URL.Path]
	w.mu.Unlock()
	if h == nil {
		h = http.NotFound
	}
	rec := httptest.NewRecorder()
	h(rec, in)
	resp := rec.Result()
	resp.Request = r
	w.mu.Lock()
	defer w.mu.Unlock()
	at := r.URL.Host + r.URL.Path
	if r.URL.RawQuery != "" && !strings.Contains(r.URL.RawQuery, "state=") {
		at += "?" + r.URL.RawQuery
	}
	w.said = append(w.said, fmt.Sprintf("%s %s %d", r.Method, at, resp.StatusCode))
	w.requests, w.bodies = append(w.requests, in), append(w.bodies, string(body))
	return resp, r.Context().Err()
}

func (w *world) document(doc *members) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		writeMembers(rw, 200, *doc)
	}
}

func writeMembers(rw http.ResponseWriter, status int, doc members) {
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(text)
}

// fixed answers with a fixed status and body.
func fixed(status int, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	}
}

func (w *world) serveMCP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if (scheme != "Bearer" && scheme != "DPoP") || !w.good[token] {
		if w.refusal != "" {
			rw.Header().Set("WWW-Authenticate", w.refusal)
		}
		rw.WriteHeader(401)
		return
	}
	_, _ = io.WriteString(rw, "hello "+token)
}

func (w *world) authorize(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := r.URL.Query()
	code := fmt.Sprintf("code-%d", len(w.codes)+1)
	w.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	maps.Copy(back, w.callback)
	maps.DeleteFunc(back, func(_ string, v []string) bool { return v == nil })
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (w *world) token(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := r.ParseForm(); e != nil || r.Header.Get("Content-Type") != typeForm {
		w.t.Errorf("the token request is no form: %v", e)
	}
	if r.PostForm.Get("grant_type") == grantCode {
		asked := w.codes[r.PostForm.Get("code")]
		if asked == nil || pkceChallenge(r.PostForm.Get("code_verifier")) != asked.Get("code_challenge") {
			writeMembers(rw, 400, members{"error": "invalid_grant"})
			return
		}
		delete(w.codes, r.PostForm.Get("code"))
	}
	w.issued++
	access := fmt.Sprintf("token-%d", w.issued)
	w.good[access] = true
	answer := members{"access_token": access}
	maps.Copy(answer, w.answer)
	maps.DeleteFunc(answer, func(_ string, v any) bool { return v == nil })
	writeMembers(rw, 200, answer)
}

func (w *world) register(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	writeMembers(rw, 201, w.client)
}

// set changes the world while requests may be under way.
func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// journal returns what was requested since it was last asked.
func (w *world) journal() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

// expect compares the journal.
func (w *world) expect(want ...string) {
	w.t.Helper()
	if got := w.journal(); !slices.Equal(got, want) {
		w.t.Errorf("requests were:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// tally returns how often the journal has an entry that begins so.
func tally(said []string, prefix string) (n int) {
	for _, s := range said {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// last returns the newest request to a place, and its body as a form.
func (w *world) last(at string) (*http.Request, url.Values) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range slices.Backward(w.requests) {
		if r.URL.Host+r.URL.Path == at {
			form, _ := url.ParseQuery(w.bodies[i])
			return r, form
		}
	}
	w.t.Fatalf("nothing was asked of %s", at)
	return nil, nil
}

// login is a person who agrees, with a browser that shows nothing.
func (w *world) login(ctx context.Context, l *Login) error {
	u, err := l.Begin(ctx, worldBack)
	if err != nil {
		return err
	}
	return l.Finish(w.visit(u))
}

// visit opens a URL and returns where it leads.
func (w *world) visit(u string) string {
	r, err := http.NewRequest("GET", u, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := w.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.Header.Get("Location")
}

// transport is one that a person logs in for.
func (w *world) transport() *OAuthTransport {
	return &OAuthTransport{Base: w, Outbound: w, Login: w.login}
}

// post makes a request to the MCP server, and returns the answer's body, or the status
// and body if it is no success, or the error.
func post(t *testing.T, tr http.RoundTripper, body string) (string, error) {
	t.Helper()
	return postAs(t.Context(), tr, nil, body)
}

func postAs(ctx context.Context, tr http.RoundTripper, cause *httpCause, body string) (string, error) {
	if cause != nil {
		ctx = context.WithValue(ctx, causeKey{}, cause)
	}
	r, err := http.NewRequestWithContext(ctx, "POST", worldServer, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: tr}).Do(r)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 {
		return fmt.Sprint(resp.StatusCode, " ", string(text)), err
	}
	return string(text), err
}

// mustPost is post with the answer that it must get.
func mustPost(t *testing.T, tr http.RoundTripper, want string) {
	t.Helper()
	if got, err := post(t, tr, "{}"); err != nil || got != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// The usual requests of a login.
var loginRequests = []string{
	"POST mcp.test/mcp 401",
	"GET mcp.test/.well-known/oauth-protected-resource/mcp 200",
	"GET as.test/.well-known/oauth-authorization-server 200",
	"POST as.test/register 201",
	"GET as.test/authorize 302",
	"POST as.test/token 200",
	"POST mcp.test/mcp 200",
}

// AUTH-026 AUTH-028 AUTH-042 AUTH-043 AUTH-095 AUTH-117 AUTH-118 AUTH-119 AUTH-121 AUTH-124 AUTH-131 AUTH-133
// AUTH-134 AUTH-135 AUTH-143 AUTH-145 AUTH-146 AUTH-153 AUTH-162 AUTH-186 AUTH-187 AUTH-188 AUTH-196 AUTH-204 AUTH-206 AUTH-222
// AUTH-144 AUTH-451
func TestOAuthFlow(t *testing.T) {
	w := newWorld(t)
	w.set(func() {
		w.resource["resource"] = "https://MCP.test:443/mcp" // as it is published, byte for byte
		w.issuer["token_endpoint"] = worldIssuer + "/token?tenant=1"
	})
	tr := w.transport()
	for n := range 2 {
		if got, err := post(t, tr, fmt.Sprintf(`{"body":%d}`, n)); err != nil || got != "hello token-1" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	want := slices.Clone(loginRequests)
	want[5] = "POST as.test/token?tenant=1 200"
	w.expect(append(want, "POST mcp.test/mcp 200")...)

	r, _ := w.last("as.test/authorize")
	q := r.URL.Query()
	state, challenge := q.Get("state"), q.Get("code_challenge")
	if len(state) != 43 || len(challenge) != 43 {
		t.Errorf("state is %q, challenge %q", state, challenge)
	}
	wantQuery := url.Values{"response_type": {"code"}, "client_id": {"registered-1"}, "redirect_uri": {worldBack}, "state": {state},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "resource": {"https://MCP.test:443/mcp"}}
	if q.Encode() != wantQuery.Encode() {
		t.Errorf("the authorization request is\n%s\nwant\n%s", q.Encode(), wantQuery.Encode())
	}
	r, form := w.last("as.test/token")
	verifier := form.Get("code_verifier")
	wantForm := url.Values{"grant_type": {"authorization_code"}, "code": {"code-1"}, "code_verifier": {verifier}, "redirect_uri": {worldBack},
		"resource": {"https://MCP.test:443/mcp"}, "client_id": {"registered-1"}}
	if form.Encode() != wantForm.Encode() || pkceChallenge(verifier) != challenge || len(verifier) != 43 {
		t.Errorf("the token request is\n%s\nwant\n%s", form.Encode(), wantForm.Encode())
	}
	if got := r.Header.Get("Accept") + " " + r.Header.Get("Authorization"); got != "application/json " {
		t.Errorf("headers of the token request: %q", got)
	}
	w.checkRegistration(`{"client_name":"MCP client","redirect_uris":["http://127.0.0.1:7777/callback"],"grant_types":["authorization_code","refresh_token"],` +
		`"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"native"}`)
	w.checkBodies()
}

func (w *world) checkRegistration(want string) {
	w.t.Helper()
	for i, r := range w.requests {
		if r.URL.Path == "/register" && w.bodies[i] != want {
			w.t.Errorf("registered\n%s\nwant\n%s", w.bodies[i], want)
		}
	}
}

// checkBodies checks the requests of a flow to the MCP server, and its discovery.
func (w *world) checkBodies() {
	w.t.Helper()
	var bodies, tokens []string
	for i, r := range w.requests {
		switch {
		case r.URL.Path == "/mcp":
			bodies, tokens = append(bodies, w.bodies[i]), append(tokens, r.Header.Get("Authorization"))
		case strings.HasPrefix(r.URL.Path, "/.well-known/"):
			if got := fmt.Sprint(r.Header); got != "map[Accept:[application/json] Mcp-Protocol-Version:["+newest.String()+"]]" {
				w.t.Errorf("headers of discovery: %s", got)
			}
		}
	}
	if want := []string{`{"body":0}`, `{"body":0}`, `{"body":1}`}; !slices.Equal(bodies, want) {
		w.t.Errorf("bodies were %q, want %q", bodies, want)
	}
	if want := []string{"", "Bearer token-1", "Bearer token-1"}; !slices.Equal(tokens, want) {
		w.t.Errorf("tokens were %q, want %q", tokens, want)
	}
}

// AUTH-006
func TestOAuthOwnHeader(t *testing.T) {
	w := newWorld(t)
	r, _ := http.NewRequest("POST", worldServer, strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer mine")
	resp, err := w.transport().RoundTrip(r)
	if err != nil || resp.StatusCode != 401 {
		t.Errorf("got %v, %v", resp, err)
	}
	w.expect("POST mcp.test/mcp 401")
}

// AUTH-001
func TestOAuthNobodyLogsIn(t *testing.T) {
	w := newWorld(t)
	if got, err := post(t, &OAuthTransport{Base: w, Outbound: w}, "{}"); err != nil || got != "401 " {
		t.Errorf("got %q, %v", got, err)
	}
	w.expect("POST mcp.test/mcp 401")
}

// AUTH-064 AUTH-065 AUTH-066 AUTH-067 AUTH-068 AUTH-069 AUTH-070 AUTH-137 AUTH-149 AUTH-181 AUTH-256 HOSTILE-19
// AUTH-007 AUTH-047 AUTH-010 AUTH-105 AUTH-114
func TestOAuthOldServers(t *testing.T) {
	const document = "mcp.test/.well-known/oauth-authorization-server"
	own := func(w *world) {
		w.routes = map[string]http.HandlerFunc{"mcp.test/mcp": w.serveMCP, "mcp.test/authorize": w.authorize, "mcp.test/token": w.token, "mcp.test/register": w.register}
		w.callback = nil
		w.refusal = ""
	}
	absent := []string{"POST mcp.test/mcp 401", "GET mcp.test/.well-known/oauth-protected-resource/mcp 404", "GET mcp.test/.well-known/oauth-protected-resource 404"}
	none := []string{"GET mcp.test/.well-known/oauth-authorization-server 404", "GET mcp.test/.well-known/openid-configuration 404"}
	login := []string{"POST mcp.test/register 201", "GET mcp.test/authorize 302", "POST mcp.test/token 200", "POST mcp.test/mcp 200"}
	for _, c := range []struct {
		name   string
		change func(w *world, tr *OAuthTransport)
		want   []string
		err    string
	}{
		{"no documents", func(*world, *OAuthTransport) {}, slices.Concat(absent, none, login), ""},
		{"iss of guessed endpoints", func(w *world, _ *OAuthTransport) { w.callback = url.Values{"iss": {"https://mcp.test"}} }, slices.Concat(absent, none, login), ""},
		{"wrong iss", func(w *world, _ *OAuthTransport) { w.callback = url.Values{"iss": {"https://mcp.test/"}} }, slices.Concat(absent, none, login[:2]),
			`the answer to the login has not the issuer "https://mcp.test"`},
		{"a document", func(w *world, _ *OAuthTransport) {
			w.issuer = issuerAt("https://mcp.test/oauth").with(members{"issuer": "https://mcp.test/"})
			w.routes[document] = w.document(&w.issuer)
			w.routes["mcp.test/oauth/register"], w.routes["mcp.test/oauth/authorize"], w.routes["mcp.test/oauth/token"] = w.register, w.authorize, w.token
			w.callback = url.Values{"iss": {"https://mcp.test/"}}
		}, slices.Concat(absent, []string{"GET mcp.test/.well-known/oauth-authorization-server 200", "POST mcp.test/oauth/register 201",
			"GET mcp.test/oauth/authorize 302", "POST mcp.test/oauth/token 200", "POST mcp.test/mcp 200"}), ""},
		{"a document without registration", func(w *world, _ *OAuthTransport) {
			w.issuer = issuerAt("https://mcp.test").with(members{"registration_endpoint": nil})
			w.routes[document] = w.document(&w.issuer)
		}, slices.Concat(absent, []string{"GET mcp.test/.well-known/oauth-authorization-server 200"}),
			"no client for https://mcp.test: Clients has none, MetadataURL is not set, and it has no registration_endpoint"},
		{"a document without a token endpoint", func(w *world, _ *OAuthTransport) {
			w.issuer = issuerAt("https://mcp.test").with(members{"token_endpoint": nil})
			w.routes[document] = w.document(&w.issuer)
		}, slices.Concat(absent, []string{"GET mcp.test/.well-known/oauth-authorization-server 200", none[1]}),
			"https://mcp.test/.well-known/oauth-protected-resource/mcp: 404 Not Found; https://mcp.test/.well-known/oauth-protected-resource: 404 Not Found; " +
				"https://mcp.test/.well-known/oauth-authorization-server: token_endpoint is missing; https://mcp.test/.well-known/openid-configuration: 404 Not Found"},
		{"another issuer", func(w *world, _ *OAuthTransport) {
			w.issuer = issuerAt("https://as.test")
			w.routes[document] = w.document(&w.issuer)
		}, slices.Concat(absent, []string{"GET mcp.test/.well-known/oauth-authorization-server 200", none[1]}),
			"https://mcp.test/.well-known/oauth-protected-resource/mcp: 404 Not Found; https://mcp.test/.well-known/oauth-protected-resource: 404 Not Found; " +
				`https://mcp.test/.well-known/oauth-authorization-server: its issuer is "https://as.test", not "https://mcp.test"; https://mcp.test/.well-known/openid-configuration: 404 Not Found`},
		{"trouble with the document", func(w *world, _ *OAuthTransport) { w.routes[document] = fixed(500, "") },
			slices.Concat(absent, []string{"GET mcp.test/.well-known/oauth-authorization-server 500", none[1]}),
			"https://mcp.test/.well-known/oauth-protected-resource/mcp: 404 Not Found; https://mcp.test/.well-known/oauth-protected-resource: 404 Not Found; " +
				"https://mcp.test/.well-known/oauth-authorization-server: 500 Internal Server Error; https://mcp.test/.well-known/openid-configuration: 404 Not Found"},
		{"trouble with the resource", func(w *world, _ *OAuthTransport) {
			w.routes["mcp.test/.well-known/oauth-protected-resource"] = fixed(503, "")
		}, []string{absent[0], absent[1], "GET mcp.test/.well-known/oauth-protected-resource 503"},
			"metadata of the protected resource: https://mcp.test/.well-known/oauth-protected-resource/mcp: 404 Not Found; https://mcp.test/.well-known/oauth-protected-resource: 503 Service Unavailable"},
		{"switched off", func(_ *world, tr *OAuthTransport) { tr.NoLegacy = true }, absent,
			"no metadata of the protected resource: https://mcp.test/.well-known/oauth-protected-resource/mcp: 404 Not Found; https://mcp.test/.well-known/oauth-protected-resource: 404 Not Found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			own(w)
			tr := w.transport()
			c.change(w, tr)
			_, err := post(t, tr, "{}")
			if c.err != "" {
				c.err = "authorization for https://mcp.test/mcp: " + c.err
			}
			if got := errorText(err); got != c.err {
				t.Errorf("the error is\n%s\nwant\n%s", got, c.err)
			}
			w.expect(c.want...)
			if guessed := tr.memory.m[storeKey("token", "guessed https://mcp.test", worldServer, "registered-1", "")] != nil; guessed != (c.err == "" && c.name != "a document") {
				t.Errorf("the store has %q", slices.Collect(maps.Keys(tr.memory.m)))
			}
			if c.err == "" {
				r, _ := w.last(strings.TrimPrefix(strings.TrimSuffix(c.want[len(c.want)-3], " 302"), "GET "))
				if q := r.URL.Query(); q.Get("code_challenge_method") != "S256" || q.Get("resource") != worldServer {
					t.Errorf("asked for %s", q.Encode())
				}
			}
		})
	}
}

// AUTH-136 AUTH-137 AUTH-149: restricted to old revisions, neither a resource nor a word about PKCE is needed
func TestOAuthOldRevisions(t *testing.T) {
	w := newWorld(t)
	w.issuer = issuerAt("https://mcp.test").with(members{"code_challenge_methods_supported": nil, "authorization_response_iss_parameter_supported": nil})
	w.routes = map[string]http.HandlerFunc{"mcp.test/mcp": w.serveMCP, "mcp.test/authorize": w.authorize, "mcp.test/token": w.token,
		"mcp.test/register": w.register, "mcp.test/.well-known/oauth-authorization-server": w.document(&w.issuer)}
	w.callback = nil
	tr := w.transport()
	tr.Revisions = []string{Revision20250326}
	mustPost(t, tr, "hello token-1")
	r, form := w.last("mcp.test/authorize")
	_, form2 := w.last("mcp.test/token")
	if r.URL.Query().Has("resource") || form.Has("resource") || form2.Has("resource") || r.URL.Query().Get("code_challenge_method") != "S256" {
		t.Errorf("asked for %s, then %s", r.URL.RawQuery, form2.Encode())
	}
}

// AUTH-025 AUTH-027 AUTH-029 AUTH-030 AUTH-031 AUTH-032 AUTH-033 AUTH-034 AUTH-035 AUTH-036 AUTH-041 AUTH-071 AUTH-072 AUTH-073 AUTH-079
// AUTH-080 AUTH-083 AUTH-084 AUTH-089 HOSTILE-01 HOSTILE-03 HOSTILE-05 HOSTILE-09 HOSTILE-10 HOSTILE-12 HOSTILE-16 HOSTILE-17 HOSTILE-18 HOSTILE-20 HOSTILE-21
func TestOAuthFindsResource(t *testing.T) {
	const deep, root, custom = "mcp.test/.well-known/oauth-protected-resource/mcp", "mcp.test/.well-known/oauth-protected-resource", "mcp.test/custom"
	document := func(resource string) string {
		return `{"resource":"` + resource + `","authorization_servers":["https://as.test"],"x":[{}]}`
	}
	for _, c := range []struct {
		name, refusal string
		documents     map[string]string // "!" before: a 500
		lenient       bool
		want          string // the places that were asked, in short, and the resource that a login was for
	}{
		{"advertised", `Bearer resource_metadata="https://mcp.test/custom"`, map[string]string{custom: document(worldServer), root: document("https://mcp.test")}, false, "custom: https://mcp.test/mcp"},
		{"advertised elsewhere", `Bearer resource_metadata="https://other.test/x"`, map[string]string{"other.test/x": document(worldServer)}, false, "other: https://mcp.test/mcp"},
		{"by DPoP alone", `DPoP algs="ES256", resource_metadata="https://mcp.test/custom"`, map[string]string{custom: document(worldServer)}, false, "custom: https://mcp.test/mcp"},
		{"in another challenge", `Basic realm="r", Bearer scope="a", DPoP resource_metadata="https://mcp.test/custom"`, map[string]string{custom: document(worldServer)}, false, "custom: https://mcp.test/mcp"},
		{"not advertised", `Bearer`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"no challenge", ``, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"at the root", ``, map[string]string{root: document(worldServer)}, false, "deep root: https://mcp.test/mcp"},
		{"the origin, at the root", ``, map[string]string{root: document("https://mcp.test")}, false, "deep root: https://mcp.test"},
		{"the origin with a slash, at the root", ``, map[string]string{root: document("https://mcp.test/")}, false, "deep root: https://mcp.test/"},
		{"a web page first", ``, map[string]string{deep: "<html>", root: document(worldServer)}, false, "deep root: https://mcp.test/mcp"},
		{"a list first", ``, map[string]string{deep: "[]", root: document(worldServer)}, false, "deep root: https://mcp.test/mcp"},
		{"trouble first", ``, map[string]string{deep: "!", root: document(worldServer)}, false, "deep"},
		{"trouble with the advertised", `Bearer resource_metadata="https://mcp.test/custom"`, map[string]string{custom: "!", deep: document(worldServer)}, false, "custom"},
		{"advertised in vain", `Bearer resource_metadata="https://mcp.test/custom"`, map[string]string{deep: document(worldServer)}, false, "custom deep: https://mcp.test/mcp"},
		{"http", `Bearer resource_metadata="http://other.test/x"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"ftp", `Bearer resource_metadata="ftp://other.test/x"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"file", `Bearer resource_metadata="file:///etc/passwd"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"script", `Bearer resource_metadata="javascript:alert(1)"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"relative", `Bearer resource_metadata="/custom"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"empty", `Bearer resource_metadata=""`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"metadata service", `Bearer resource_metadata="http://169.254.169.254/latest"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"private address", `Bearer resource_metadata="https://10.0.0.1/x"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"local address", `Bearer resource_metadata="https://[fd00::1]/x"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"this machine", `Bearer resource_metadata="http://localhost:6379/x"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"user info", `Bearer resource_metadata="https://user:pass@other.test/x"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"twice in one challenge", `Bearer resource_metadata="https://mcp.test/custom", resource_metadata="https://mcp.test/custom"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"unterminated", `Bearer resource_metadata="https://mcp.test/custom`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},
		{"of another scheme", `Custom resource_metadata="https://mcp.test/custom"`, map[string]string{deep: document(worldServer)}, false, "deep: https://mcp.test/mcp"},

		{"the origin, below", ``, map[string]string{deep: document("https://mcp.test"), root: document("https://mcp.test")}, false, "deep"},
		{"the origin, below, leniently", ``, map[string]string{deep: document("https://mcp.test")}, true, "deep: https://mcp.test"},
		{"the origin, advertised", `Bearer resource_metadata="https://mcp.test/custom"`, map[string]string{custom: document("https://mcp.test")}, false, "custom"},
		{"the origin, advertised at the root", `Bearer resource_metadata="https://mcp.test/.well-known/oauth-protected-resource"`, map[string]string{root: document("https://mcp.test")}, false, "root: https://mcp.test"},
		{"another origin", ``, map[string]string{deep: document("https://evil.test/mcp"), root: document(worldServer)}, false, "deep"},
		{"another origin, leniently", ``, map[string]string{deep: document("https://evil.test/mcp")}, true, "deep"},
		{"another port", ``, map[string]string{deep: document("https://mcp.test:8443/mcp")}, true, "deep"},
		{"another scheme", ``, map[string]string{deep: document("http://mcp.test/mcp")}, true, "deep"},
		{"a sibling", ``, map[string]string{deep: document("https://mcp.test/mcq")}, true, "deep"},
		{"a child", ``, map[string]string{deep: document("https://mcp.test/mcp/x")}, true, "deep"},
		{"half a segment", ``, map[string]string{deep: document("https://mcp.test/mc")}, true, "deep"},
		{"other letters", ``, map[string]string{deep: document("https://mcp.test/MCP")}, true, "deep"},
		{"a fragment", ``, map[string]string{deep: document("https://mcp.test/mcp#a")}, true, "deep"},
		{"a slash", ``, map[string]string{deep: document("https://mcp.test/mcp/")}, false, "deep"},
		{"a slash, leniently", ``, map[string]string{deep: document("https://mcp.test/mcp/")}, true, "deep: https://mcp.test/mcp/"},
		{"no resource", ``, map[string]string{deep: `{"authorization_servers":["https://as.test"]}`}, true, "deep"},
		{"no issuers", ``, map[string]string{deep: `{"resource":"https://mcp.test/mcp"}`}, false, "deep"},
		{"empty issuers", ``, map[string]string{deep: `{"resource":"https://mcp.test/mcp","authorization_servers":[]}`}, false, "deep"},
		{"numbers as issuers", ``, map[string]string{deep: `{"resource":"https://mcp.test/mcp","authorization_servers":[1]}`}, false, "deep"},
		{"a number as scopes", ``, map[string]string{deep: `{"resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"],"scopes_supported":1}`}, false, "deep"},
		{"a name twice", ``, map[string]string{deep: `{"resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"],"RESOURCE":"https://evil.test"}`}, false, "deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			delete(w.routes, deep)
			for at, text := range c.documents {
				w.routes[at] = fixed(200, text)
				if text == "!" {
					w.routes[at] = fixed(500, "")
				}
			}
			w.refusal = c.refusal
			tr := w.transport()
			tr.Lenient = c.lenient
			_, err := post(t, tr, "{}")
			var asked []string
			for _, said := range w.journal() {
				place, short := strings.Fields(said)[1], map[string]string{deep: "deep", root: "root", custom: "custom", "other.test/x": "other"}
				if short[place] != "" {
					asked = append(asked, short[place])
				} else if err != nil && !strings.HasPrefix(said, "POST mcp.test/mcp ") {
					t.Errorf("asked in vain: %s", said)
				}
			}
			got := strings.Join(asked, " ")
			if err == nil {
				r, _ := w.last("as.test/authorize")
				got += ": " + r.URL.Query().Get("resource")
			} else if !errors.Is(err, ErrDiscovery) && !errors.Is(err, ErrMismatch) || !errors.Is(err, ErrUnauthorized) {
				t.Errorf("the error is %v", err)
			}
			if got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// AUTH-026
func TestBUG127TwoResources(t *testing.T) {
	w := newWorld(t)
	w.routes["mcp.test/.well-known/oauth-protected-resource"] = fixed(200, `{"resource":"https://mcp.test","authorization_servers":["https://evil.test"]}`)
	mustPost(t, w.transport(), "hello token-1")
	w.expect(loginRequests...)
	if r, _ := w.last("as.test/authorize"); r.URL.Query().Get("resource") != worldServer {
		t.Errorf("asked for %s", r.URL.RawQuery)
	}
}

// AUTH-030 AUTH-032
func TestBUG128ResourceAbove(t *testing.T) {
	for resource, want := range map[string]bool{"https://mcp.test": true, "https://mcp.test/mcp/": true, "https://other.test": false, "https://mcp.test/m": false} {
		for _, lenient := range []bool{true, false} {
			w := newWorld(t)
			w.resource["resource"] = resource
			tr := w.transport()
			tr.Lenient = lenient
			_, err := post(t, tr, "{}")
			if (err == nil) != (want && lenient) || err != nil && !errors.Is(err, ErrMismatch) {
				t.Errorf("%s (lenient: %v): %v", resource, lenient, err)
			}
		}
	}
}

// findsServer logs in where the authorization servers are what routes say, and returns
// the places that were asked for metadata, and the error.
func findsServer(t *testing.T, tr *OAuthTransport, w *world, issuers []string, documents map[string]string) ([]string, error) {
	t.Helper()
	delete(w.routes, "as.test/.well-known/oauth-authorization-server")
	for at, text := range documents {
		w.routes[at] = fixed(200, text)
	}
	w.resource["authorization_servers"] = issuers
	_, err := post(t, tr, "{}")
	var asked []string
	for _, said := range w.journal() {
		if strings.Contains(said, "/.well-known/") && !strings.Contains(said, "protected-resource") {
			asked = append(asked, strings.Fields(said)[1])
		}
	}
	return asked, err
}

// AUTH-048 AUTH-049 AUTH-050 AUTH-051 AUTH-052 AUTH-053
func TestBUG130IssuerWithPath(t *testing.T) {
	places := []string{"as.test/.well-known/oauth-authorization-server/t1", "as.test/.well-known/openid-configuration/t1", "as.test/t1/.well-known/openid-configuration"}
	for i, at := range places {
		w := newWorld(t)
		w.callback = url.Values{"iss": {worldIssuer + "/t1"}}
		text := mustJSON(t, issuerAt(worldIssuer).with(members{"issuer": worldIssuer + "/t1"}))
		asked, err := findsServer(t, w.transport(), w, []string{worldIssuer + "/t1"}, map[string]string{at: string(text)})
		if err != nil || !slices.Equal(asked, places[:i+1]) {
			t.Errorf("asked %q: %v", asked, err)
		}
	}
}

// AUTH-054 AUTH-055 AUTH-056 AUTH-260 HOSTILE-25 AUTH-446
func TestBUG131IssuerDiffers(t *testing.T) {
	const first, second = "as.test/.well-known/oauth-authorization-server", "as.test/.well-known/openid-configuration"
	for _, c := range []struct {
		named, first, second string
		lenient              bool
		want                 string
	}{
		{worldIssuer, worldIssuer, "", false, ""},
		{worldIssuer + "/", worldIssuer + "/", "", false, ""},
		{worldIssuer + "/", worldIssuer, "", true, ""},
		{worldIssuer, "https://evil.test", worldIssuer, false, ""}, // the next candidate is right
		{worldIssuer + "/", worldIssuer, "", false, `its issuer is "https://as.test", not "https://as.test/"`},
		{worldIssuer, worldIssuer + "/", "", false, `its issuer is "https://as.test/", not "https://as.test"`},
		{worldIssuer, "https://AS.test", "", true, `its issuer is "https://AS.test", not "https://as.test"`},
		{worldIssuer, "https://evil.test", "", true, `its issuer is "https://evil.test", not "https://as.test"`},
	} {
		w := newWorld(t)
		w.issuer["authorization_response_iss_parameter_supported"] = false
		w.callback = nil
		tr := w.transport()
		tr.Lenient = c.lenient
		documents := map[string]string{first: string(mustJSON(t, w.issuer.with(members{"issuer": c.first})))}
		if c.second != "" {
			documents[second] = string(mustJSON(t, w.issuer.with(members{"issuer": c.second})))
		}
		_, err := findsServer(t, tr, w, []string{c.named}, documents)
		if c.want == "" && err == nil {
			continue
		}
		want := "authorization for https://mcp.test/mcp: metadata of the authorization server: https://as.test/.well-known/oauth-authorization-server: " + c.want +
			"; https://as.test/.well-known/openid-configuration: 404 Not Found"
		if errorText(err) != want || !errors.Is(err, ErrDiscovery) {
			t.Errorf("%+v: the error is %v", c, err)
		}
	}
}

// AUTH-038 AUTH-039 AUTH-057 AUTH-253 HOSTILE-21 HOSTILE-22
func TestOAuthChoosesIssuer(t *testing.T) {
	at := func(n int) string { return fmt.Sprintf("https://as%d.test", n) }
	var many []string
	for n := range 10000 {
		many = append(many, at(n))
	}
	bad := []string{"http://as1.test", "https://as1.test?x=1", "https://as1.test#x", "https://u@as1.test", "https://10.0.0.1", "as1.test", ""}
	for _, c := range []struct {
		name    string
		issuers []string
		there   []int // issuers with metadata
		broken  []int // issuers whose metadata are wrong
		client  int   // issuer of the client that is known beforehand; 0: none
		stored  int   // issuer of an earlier registration; 0: none
		want    int   // the issuer that was chosen; 0: none
		asked   int   // authorization servers
	}{
		{"the first", []string{at(1), at(2)}, []int{1, 2}, nil, 0, 0, 1, 1},
		{"the first is absent", []string{at(1), at(2)}, []int{2}, nil, 0, 0, 2, 2},
		{"the first is wrong", []string{at(1), at(2)}, []int{1, 2}, []int{1}, 0, 0, 2, 2},
		{"one knows the client", []string{at(1), at(2), at(3)}, []int{1, 2, 3}, nil, 3, 2, 3, 1},
		{"one has a registration", []string{at(1), at(2), at(3)}, []int{1, 2, 3}, nil, 0, 2, 2, 1},
		{"bad ones are not asked", append(slices.Clone(bad), at(1)), []int{1}, nil, 0, 0, 1, 1},
		{"nothing but bad ones", bad, []int{1}, nil, 0, 0, 0, 0},
		{"ten at most", many, nil, nil, 0, 0, 0, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			documents := map[string]string{}
			for _, n := range c.there {
				doc := issuerAt(at(n)).with(members{"authorization_response_iss_parameter_supported": false})
				if slices.Contains(c.broken, n) {
					doc["code_challenge_methods_supported"] = []string{"plain"}
				}
				host := strings.TrimPrefix(at(n), "https://")
				documents[host+"/.well-known/oauth-authorization-server"] = string(mustJSON(t, doc))
				w.routes[host+"/register"], w.routes[host+"/authorize"], w.routes[host+"/token"] = w.register, w.authorize, w.token
			}
			w.callback = nil
			tr := w.transport()
			if c.client != 0 {
				tr.Clients = []OAuthClient{{Issuer: at(c.client), ID: "mine"}}
			}
			if c.stored != 0 {
				tr.save(t.Context(), storeKey("registered", at(c.stored)), []byte("somewhere"))
			}
			asked, err := findsServer(t, tr, w, c.issuers, documents)
			hosts := map[string]bool{}
			for _, place := range asked {
				host, _, _ := strings.Cut(place, "/")
				hosts[host] = true
			}
			chosen := 0
			for _, r := range w.requests {
				if r.URL.Path == "/token" {
					_, _ = fmt.Sscanf(r.URL.Host, "as%d.test", &chosen)
				}
			}
			if chosen != c.want || len(hosts) != c.asked || (c.want == 0) != errors.Is(err, ErrDiscovery) {
				t.Errorf("chose %d after asking %q: %v", chosen, asked, err)
			}
		})
	}
}

// AUTH-058 AUTH-059 AUTH-061 AUTH-062 AUTH-136 AUTH-168 AUTH-170 AUTH-171 HOSTILE-18 HOSTILE-26 HOSTILE-27 HOSTILE-29 HOSTILE-32
// AUTH-455
func TestBUG133MetadataThatCannotBeUsed(t *testing.T) {
	log := &bytes.Buffer{}
	for _, c := range []struct {
		change members
		want   string // empty: it is used
	}{
		{members{"token_endpoint": "https://elsewhere.test/token"}, ""},
		{members{"response_types_supported": []string{"code"}, "grant_types_supported": []string{grantCode}, "response_modes_supported": []string{"query"}}, ""},
		{members{"grant_types_supported": nil, "response_types_supported": nil}, ""},
		{members{"unknown": 1}, ""},
		{members{"code_challenge_methods_supported": nil}, "code_challenge_methods_supported has no S256: PKCE is required"},
		{members{"code_challenge_methods_supported": []string{}}, "code_challenge_methods_supported has no S256: PKCE is required"},
		{members{"code_challenge_methods_supported": []string{"plain"}}, "code_challenge_methods_supported has no S256: PKCE is required"},
		{members{"authorization_endpoint": nil}, "authorization_endpoint is missing"},
		{members{"token_endpoint": nil}, "token_endpoint is missing"},
		{members{"response_types_supported": []string{"token"}}, "response_types_supported has no code"},
		{members{"response_types_supported": []string{}}, "response_types_supported has no code"},
		{members{"grant_types_supported": []string{"implicit"}}, "grant_types_supported has no authorization_code"},
		{members{"response_modes_supported": []string{"fragment"}}, "response_modes_supported has no query"},
		{members{"require_pushed_authorization_requests": true}, "it wants pushed authorization requests, which are not supported"},
		{members{"require_signed_request_object": true}, "it wants signed request objects, which are not supported"},
		{members{"authorization_response_iss_parameter_supported": "true"}, "authorization_response_iss_parameter_supported: want true or false, got a string"},
		{members{"ISSUER": "https://evil.test"}, `the name "issuer" comes twice`},
		{members{"token_endpoint": 7}, "token_endpoint: want a string, got a number"},
		{members{"authorization_endpoint": "javascript:alert(1)"}, `authorization_endpoint: not allowed here: "javascript:" is not an absolute https URL`},
		{members{"authorization_endpoint": "data:text/html,x"}, `authorization_endpoint: not allowed here: "data:" is not an absolute https URL`},
		{members{"authorization_endpoint": "file:///etc/passwd"}, `authorization_endpoint: not allowed here: "file:///etc/passwd" is not an absolute https URL`},
		{members{"authorization_endpoint": "vbscript:x"}, `authorization_endpoint: not allowed here: "vbscript:" is not an absolute https URL`},
		{members{"authorization_endpoint": "calculator://x"}, `authorization_endpoint: not allowed here: "calculator://x" is not an absolute https URL`},
		{members{"authorization_endpoint": "http://as.test/authorize"}, `authorization_endpoint: not allowed here: "http://as.test/authorize" is not https`},
		{members{"authorization_endpoint": "http://localhost/authorize"}, `authorization_endpoint: not allowed here: "http://localhost/authorize" is on this machine, and the MCP server is not`},
		{members{"authorization_endpoint": "https://as.test/authorize#x"}, `authorization_endpoint: not allowed here: "https://as.test/authorize" has a fragment`},
		{members{"authorization_endpoint": "https://as.test/authorize#"}, "authorization_endpoint has a fragment or user info"},
		{members{"authorization_endpoint": "https://u:p@as.test/authorize"}, `authorization_endpoint: not allowed here: "https://as.test/authorize" has user info`},
		{members{"authorization_endpoint": "https://as.test/a`id`"}, "authorization_endpoint is not a URL"},
		{members{"authorization_endpoint": "https://as.test/a|calc"}, "authorization_endpoint is not a URL"},
		{members{"authorization_endpoint": "https://as.test/a\nb"}, "authorization_endpoint: not allowed here: not a URL"},
		{members{"authorization_endpoint": "https://as.test/a b"}, "authorization_endpoint: not allowed here: not a URL"},
		{members{"authorization_endpoint": "https://as.test/a?x=%zz"}, "authorization_endpoint has a malformed query"},
		{members{"token_endpoint": "file:///etc/passwd"}, `token_endpoint: not allowed here: "file:///etc/passwd" is not an absolute https URL`},
		{members{"token_endpoint": "http://as.test/token"}, `token_endpoint: not allowed here: "http://as.test/token" is not https`},
		{members{"token_endpoint": "https://192.168.0.1/token"}, `token_endpoint: not allowed here: "https://192.168.0.1/token" has a private or special address`},
		{members{"registration_endpoint": "http://169.254.169.254/"}, `registration_endpoint: not allowed here: "http://169.254.169.254/" is not https`},
		{members{"revocation_endpoint": "https://[::1]/"}, `revocation_endpoint: not allowed here: "https://[::1]/" is on this machine, and the MCP server is not`},
		{members{"introspection_endpoint": "ftp://as.test/"}, `introspection_endpoint: not allowed here: "ftp://as.test/" is not an absolute https URL`},
		{members{"jwks_uri": "//as.test/"}, `jwks_uri: not allowed here: "//as.test/" is not an absolute https URL`},
	} {
		w := newWorld(t)
		w.routes["elsewhere.test/token"] = w.token
		w.issuer = w.issuer.with(c.change)
		log.Reset()
		tr := w.transport()
		tr.Log = slog.New(slog.NewTextHandler(log, nil))
		_, err := post(t, tr, "{}")
		if c.want == "" {
			if err != nil || log.Len() > 0 {
				t.Errorf("%v: %v, %s", c.change, err, log)
			}
			continue
		}
		if !strings.Contains(log.String(), "an authorization server is not used") {
			t.Errorf("%v: the log is %s", c.change, log)
		}
		if !strings.Contains(errorText(err), ": "+c.want) || !errors.Is(err, ErrDiscovery) {
			t.Errorf("%v: the error is %v, want %s", c.change, err, c.want)
		}
		for _, said := range w.journal() {
			if strings.Contains(said, "/register") || strings.Contains(said, "/authorize") || strings.Contains(said, "/token") {
				t.Errorf("%v: %s", c.change, said)
			}
		}
	}
}

// HOSTILE-17: deep nesting, invalid UTF-8 and text after the object are no document
func TestHostile17Documents(t *testing.T) {
	for _, text := range []string{strings.Repeat(`{"a":`, 100000), "{\"issuer\":\"\xff\"}", `{} {}`, `null`, `"x"`, `{"issuer":"https://as.test"`, ""} {
		w := newWorld(t)
		w.routes["as.test/.well-known/oauth-authorization-server"] = fixed(200, text)
		_, err := post(t, w.transport(), "{}")
		if !errors.Is(err, ErrDiscovery) || tally(w.journal(), "POST as.test") != 0 {
			t.Errorf("%.30q: the error is %v", text, err)
		}
	}
}

// AUTH-071 AUTH-063
func TestBUG134MetadataMissing(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	at := "mcp.test/.well-known/oauth-protected-resource/mcp"
	w.routes[at] = fixed(503, "")
	_, err := post(t, tr, "{}")
	want := "authorization for https://mcp.test/mcp: metadata of the protected resource: https://mcp.test/.well-known/oauth-protected-resource/mcp: 503 Service Unavailable"
	if errorText(err) != want {
		t.Errorf("the error is %v", err)
	}
	w.routes[at] = w.document(&w.resource)
	delete(w.routes, "as.test/.well-known/oauth-authorization-server")
	_, err = post(t, tr, "{}")
	want = "authorization for https://mcp.test/mcp: metadata of the authorization server: https://as.test/.well-known/oauth-authorization-server: 404 Not Found; " +
		"https://as.test/.well-known/openid-configuration: 404 Not Found"
	if errorText(err) != want || tally(w.journal(), "GET as.test/authorize") != 0 {
		t.Errorf("the error is %v", err)
	}
	w.routes["as.test/.well-known/oauth-authorization-server"] = w.document(&w.issuer)
	mustPost(t, tr, "hello token-1") // no failure is kept
}

// AUTH-096 AUTH-097 AUTH-099 AUTH-100 AUTH-103 AUTH-104 AUTH-106 AUTH-107 AUTH-110 AUTH-111 AUTH-112 AUTH-255 HOSTILE-24 HOSTILE-30
// AUTH-115 AUTH-116
func TestOAuthChoosesClient(t *testing.T) {
	supported, unsupported := members{"client_id_metadata_document_supported": true}, members{"registration_endpoint": nil}
	key, err := GenerateKey("")
	must(t, err)
	const document = "https://app.test/client.json"
	for _, c := range []struct {
		name   string
		change func(tr *OAuthTransport)
		meta   members
		want   string // the client, or the error
	}{
		{"given", func(tr *OAuthTransport) {
			tr.Clients, tr.MetadataURL = []OAuthClient{{Issuer: worldIssuer, ID: "mine"}}, document
		}, supported, "mine"},
		{"given for any issuer", func(tr *OAuthTransport) { tr.Clients = []OAuthClient{{ID: "mine"}} }, nil, "mine"},
		{"given for this server", func(tr *OAuthTransport) {
			tr.Clients = []OAuthClient{{Issuer: worldIssuer, ID: "mine", Servers: []string{"https://MCP.test/mcp"}}}
		}, nil, "mine"},
		{"given for another server", func(tr *OAuthTransport) {
			tr.Clients = []OAuthClient{{Issuer: worldIssuer, ID: "mine", Servers: []string{"https://mcp.test/other"}}}
		}, nil, "registered-1"},
		{"given for another issuer", func(tr *OAuthTransport) { tr.Clients = []OAuthClient{{Issuer: "https://other.test", ID: "mine"}} }, nil, "registered-1"},
		{"given for this server at another issuer", func(tr *OAuthTransport) {
			tr.Clients = []OAuthClient{{Issuer: "https://other.test", ID: "mine", Servers: []string{worldServer}}}
		}, nil, `the server's authorization server is "https://as.test", and the client is registered at "https://other.test"`},
		{"a document", func(tr *OAuthTransport) { tr.MetadataURL = document }, supported, document},
		{"a document with a key", func(tr *OAuthTransport) { tr.MetadataURL, tr.MetadataKey = document, key },
			members{"client_id_metadata_document_supported": true, "token_endpoint_auth_methods_supported": []string{"private_key_jwt"}}, document},
		{"a document that is not supported", func(tr *OAuthTransport) { tr.MetadataURL = document }, nil, "registered-1"},
		{"a document without path", func(tr *OAuthTransport) { tr.MetadataURL = "https://app.test/" }, supported, "OAuthTransport.MetadataURL: a client id URL needs a path"},
		{"a document over http", func(tr *OAuthTransport) { tr.MetadataURL = "http://app.test/x" }, supported,
			"OAuthTransport.MetadataURL: a client id URL must be an absolute https URL of at most 2,048 bytes"},
		{"registered", func(*OAuthTransport) {}, nil, "registered-1"},
		{"nothing", func(*OAuthTransport) {}, unsupported, "no client for https://as.test: Clients has none, MetadataURL is not set, and it has no registration_endpoint"},
		{"nothing with a document", func(tr *OAuthTransport) { tr.MetadataURL = document }, unsupported,
			"no client for https://as.test: Clients has none, it does not support client ID metadata documents, and it has no registration_endpoint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.issuer = w.issuer.with(c.meta)
			tr := w.transport()
			c.change(tr)
			_, err := post(t, tr, "{}")
			said := w.journal()
			if err != nil {
				if got := strings.TrimPrefix(err.Error(), "authorization for https://mcp.test/mcp: "); got != c.want || tally(said, "POST as.test")+tally(said, "GET as.test/authorize") != 0 {
					t.Errorf("the error is %v, after %q", err, said)
				}
				return
			}
			r, _ := w.last("as.test/authorize")
			if got := r.URL.Query().Get("client_id"); got != c.want || tally(said, "POST as.test/register") > 0 != (got == "registered-1") {
				t.Errorf("the client was %q", got)
			}
			_, form := w.last("as.test/token")
			if form.Has("client_secret") || form.Has("client_assertion") != (tr.MetadataKey != nil) {
				t.Errorf("authenticated with %s", form.Encode())
			}
		})
	}
}

// AUTH-101 AUTH-102 AUTH-254: a client without an issuer belongs to the first one, for good
func TestOAuthClientIsBound(t *testing.T) {
	for _, issuer := range []string{"", worldIssuer} {
		w := newWorld(t)
		tr := w.transport()
		tr.Clients = []OAuthClient{{Issuer: issuer, ID: "mine"}}
		mustPost(t, tr, "hello token-1")
		w.move()
		_, err := post(t, tr, "{}")
		if !errors.Is(err, ErrMismatch) || tally(w.journal(), "GET as2.test/authorize") != 0 {
			t.Errorf("issuer %q: the error is %v", issuer, err)
		}
		if issuer == "" { // also after a restart, with the same store
			again := w.transport()
			again.Store, again.Clients = &tr.memory, tr.Clients
			_, err := post(t, again, "{}")
			if !errors.Is(err, ErrMismatch) {
				t.Errorf("after a restart the error is %v", err)
			}
		}
	}
}

// AUTH-101: a login that fails binds nothing
func TestOAuthClientIsFree(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	tr.Clients = []OAuthClient{{ID: "mine"}}
	tr.Login = func(ctx context.Context, l *Login) error {
		_, err := l.Begin(ctx, worldBack)
		return cmpError(err, ErrLoginDeclined)
	}
	if _, err := post(t, tr, "{}"); !errors.Is(err, ErrLoginDeclined) {
		t.Fatal(err)
	}
	w.move()
	tr.Login = w.login
	mustPost(t, tr, "hello token-1")
}

// move makes https://as2.test the authorization server, and all tokens invalid.
func (w *world) move() {
	w.set(func() {
		w.resource["authorization_servers"] = []string{"https://as2.test"}
		doc := issuerAt("https://as2.test")
		w.routes["as2.test/.well-known/oauth-authorization-server"] = w.document(&doc)
		w.routes["as2.test/register"] = fixed(201, `{"client_id":"registered-2"}`)
		w.routes["as2.test/authorize"], w.routes["as2.test/token"] = w.authorize, w.token
		w.callback = url.Values{"iss": {"https://as2.test"}}
		w.good = map[string]bool{}
	})
}

// AUTH-037 AUTH-040 AUTH-221 AUTH-251 AUTH-252 AUTH-261 AUTH-262 HOSTILE-23
func TestOAuthMigration(t *testing.T) {
	w := newWorld(t)
	w.answer["refresh_token"] = "refresh-1"
	tr := w.transport()
	mustPost(t, tr, "hello token-1")
	w.journal()
	old := storeKey("token", worldIssuer, worldServer, "registered-1", "")
	if tr.memory.m[old] == nil {
		t.Fatalf("the store has %q", slices.Collect(maps.Keys(tr.memory.m)))
	}
	w.move()
	w.routes["as2.test/token"] = fixed(500, "")
	if _, err := post(t, tr, "{}"); err == nil || tr.memory.m[old] == nil {
		t.Errorf("the old record is gone before there is a new one (%v)", err)
	}
	w.routes["as2.test/token"] = w.token
	w.journal()
	mustPost(t, tr, "hello token-2")
	w.expect("POST mcp.test/mcp 401", "GET mcp.test/.well-known/oauth-protected-resource/mcp 200", "GET as2.test/.well-known/oauth-authorization-server 200",
		"GET as2.test/authorize 302", "POST as2.test/token 200", "POST mcp.test/mcp 200")
	if tr.memory.m[old] != nil {
		t.Error("the old record is still there")
	}
	for i, r := range w.requests {
		if r.URL.Host == "as2.test" && strings.Contains(r.URL.RawQuery+w.bodies[i]+fmt.Sprint(r.Header), "registered-1") ||
			strings.Contains(w.bodies[i], "refresh-1") || r.URL.Host == "as2.test" && strings.Contains(w.bodies[i], "token-1") {
			t.Errorf("%s %s: %s", r.Method, r.URL, w.bodies[i])
		}
	}
}

// AUTH-125 AUTH-126 AUTH-191 AUTH-192 AUTH-193 AUTH-194 AUTH-195 AUTH-197 HOSTILE-31
func TestOAuthClientAuthentication(t *testing.T) {
	key, err := GenerateKey("")
	must(t, err)
	secret, keyed := OAuthClient{ID: "my id", Secret: "a:b+c é"}, OAuthClient{ID: "mine", Key: key}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("my+id:a%3Ab%2Bc+%C3%A9"))
	pinned := secret
	pinned.Method = authPost
	const withSecret = `{"client_id":"r","client_secret":"s"`
	for _, c := range []struct {
		name         string
		client       OAuthClient
		registration string // in place of a client
		listed       []string
		want         string // header, id and secret in the body; or the error
	}{
		{"basic", secret, "", []string{authPost, authBasic, authNone}, basic + "||"},
		{"basic by default", secret, "", nil, basic + "||"},
		{"post", secret, "", []string{authPost, authNone}, "|my id|a:b+c é"},
		{"pinned", pinned, "", []string{authBasic}, "|my id|a:b+c é"},
		{"a secret that is not wanted", secret, "", []string{authNone}, "|my id|"},
		{"nothing fits", secret, "", []string{"tls_client_auth"}, `client "my id" at https://as.test: none of the authentication methods ["tls_client_auth"] can be used`},
		{"no secret", OAuthClient{ID: "mine"}, "", []string{authBasic}, "|mine|"},
		{"a key", keyed, "", []string{authBasic, authJWT}, "||JWT"},
		{"a key by default", keyed, "", nil, "||JWT"},
		{"a key that is not wanted", keyed, "", []string{authBasic}, `client "mine" at https://as.test: none of the authentication methods ["client_secret_basic"] can be used`},
		{"an unknown method", OAuthClient{ID: "mine", Method: "magic"}, "", nil, `client "mine" at https://as.test: the authentication method "magic" is not supported`},
		{"registered, listed", OAuthClient{}, withSecret + `}`, []string{authNone}, "|r|"},
		{"registered, said", OAuthClient{}, withSecret + `,"token_endpoint_auth_method":"client_secret_post"}`, []string{authBasic}, "|r|s"},
		{"registered, basic", OAuthClient{}, withSecret + `,"token_endpoint_auth_method":"client_secret_basic","client_secret_expires_at":0}`, []string{authBasic}, "Basic cjpz||"},
		{"registered, none", OAuthClient{}, `{"client_id":"r","token_endpoint_auth_method":"none"}`, nil, "|r|"},
		{"registered, nothing fits", OAuthClient{}, withSecret + `}`, []string{"tls_client_auth"},
			`registration at https://as.test: none of the authentication methods ["tls_client_auth"] can be used`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.issuer["token_endpoint_auth_methods_supported"] = c.listed
			if c.listed == nil {
				delete(w.issuer, "token_endpoint_auth_methods_supported")
			}
			tr := w.transport()
			if c.registration != "" {
				w.routes["as.test/register"] = fixed(201, c.registration)
			} else {
				tr.Clients = []OAuthClient{c.client}
			}
			_, err := post(t, tr, "{}")
			if err != nil {
				if got := strings.TrimPrefix(err.Error(), "authorization for https://mcp.test/mcp: "); got != c.want || tally(w.journal(), "GET as.test/authorize") != 0 {
					t.Errorf("the error is %s", got)
				}
				return
			}
			r, form := w.last("as.test/token")
			got := r.Header.Get("Authorization") + "|" + form.Get("client_id") + "|" + form.Get("client_secret")
			if form.Has("client_assertion") {
				got += "JWT"
				checkAssertionOf(t, form, key, worldIssuer)
			}
			if got != c.want {
				t.Errorf("authenticated with %q, want %q", got, c.want)
			}
		})
	}
}

// checkAssertionOf checks how a client with a key authenticates.
func checkAssertionOf(t *testing.T, form url.Values, key *Key, audience string) {
	t.Helper()
	token, err := parseJWT(form.Get("client_assertion"))
	must(t, err)
	ix, err := scan(key.Public())
	must(t, err)
	public, err := parsePublicJWK(ix.root())
	must(t, err, token.verify(public))
	end, _ := token.time("exp")
	aud, _ := token.audience()
	if form.Get("client_assertion_type") != assertionJWT || token.text("iss") != "mine" || token.text("sub") != "mine" ||
		!slices.Equal(aud, []string{audience}) || token.text("jti") == "" || time.Until(end) > 5*time.Minute || time.Until(end) <= 0 {
		t.Errorf("the assertion says %s", token.claims.raw())
	}
}

// AUTH-117 AUTH-122 AUTH-126 AUTH-129 AUTH-189 HOSTILE-33 HOSTILE-34 HOSTILE-35
func TestOAuthRegistrationAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string // client id; or the error
	}{
		{201, `{"client_id":"https://looks.test/like-a-document"}`, "https://looks.test/like-a-document"},
		{201, `{"client_id":"x","redirect_uris":[]}`, "x"},
		{201, `{"client_id":"x","redirect_uris":["http://127.0.0.1/callback"]}`, "x"},
		{200, `{"client_id":"x","client_secret_expires_at":0}`, "x"},
		{201, `{"client_id":""}`, "registration at https://as.test/register: client_id is missing, or it or client_secret has more than 4096 bytes"},
		{201, `{"client_id":7}`, "registration at https://as.test/register: the answer is invalid: client_id: want a string, got a number"},
		{201, `{"client_id":"x","client_secret":"` + strings.Repeat("s", 1<<19) + `"}`, "registration at https://as.test/register: client_id is missing, or it or client_secret has more than 4096 bytes"},
		{201, `{"client_id":"x","redirect_uris":["https://evil.test/cb"]}`, "registration at https://as.test/register: its redirect_uris do not have http://127.0.0.1:7777/callback"},
		{201, `{"client_id":"x","CLIENT_ID":"y"}`, `registration at https://as.test/register: the answer is invalid: the name "client_id" comes twice`},
		{201, `<html>`, "registration at https://as.test/register: the answer is invalid: "},
		{400, `{"error":"invalid_redirect_uri","error_description":"no\u001b[31m loopback"}`,
			`registration of a native client with none and redirect URIs ["http://127.0.0.1:7777/callback"]: https://as.test/register answered 400 invalid_redirect_uri: no[31m loopback`},
		{307, ``, `registration of a native client with none and redirect URIs ["http://127.0.0.1:7777/callback"]: https://as.test/register answered 307`},
	} {
		w := newWorld(t)
		w.routes["as.test/register"] = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Location", "https://evil.test/register")
			fixed(c.status, c.body)(rw, r)
		}
		_, err := post(t, w.transport(), "{}")
		said := w.journal()
		if err != nil {
			if got := strings.TrimPrefix(err.Error(), "authorization for https://mcp.test/mcp: "); !strings.HasPrefix(got, c.want) || tally(said, "GET as.test/authorize")+tally(said, "POST evil") != 0 {
				t.Errorf("%.50s: the error is %s", c.body, got)
			}
			continue
		}
		if r, _ := w.last("as.test/authorize"); r.URL.Query().Get("client_id") != c.want {
			t.Errorf("%.50s: the client is %q", c.body, r.URL.Query().Get("client_id"))
		}
	}
}

// AUTH-117
func TestBUG136RegistrationAnswers200(t *testing.T) {
	w := newWorld(t)
	w.routes["as.test/register"] = fixed(200, `{"client_id":"two-hundred"}`)
	mustPost(t, w.transport(), "hello token-1")
	if r, _ := w.last("as.test/authorize"); r.URL.Query().Get("client_id") != "two-hundred" {
		t.Errorf("asked for %s", r.URL.RawQuery)
	}
}

// AUTH-117 AUTH-118 AUTH-120 AUTH-125
func TestOAuthRegistrationRequest(t *testing.T) {
	w := newWorld(t)
	w.issuer["token_endpoint_auth_methods_supported"] = []string{authPost, authBasic, authNone}
	tr := w.transport()
	tr.InitialAccessToken, tr.NoRefresh = "initial", true
	tr.Metadata = ClientMetadata{ClientName: "n", Scope: "s", ClientURI: "https://a.test", Contacts: []string{"c"}, SoftwareID: "i", RedirectURIs: []string{"http://localhost:1/x"}}
	mustPost(t, tr, "hello token-1")
	r, _ := w.last("as.test/register")
	if got := r.Header.Get("Authorization") + " " + r.Header.Get("Content-Type"); got != "Bearer initial application/json" {
		t.Errorf("headers: %s", got)
	}
	w.checkRegistration(`{"client_name":"n","redirect_uris":["http://127.0.0.1:7777/callback","http://localhost:1/x"],"grant_types":["authorization_code"],` +
		`"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"native","scope":"s","client_uri":"https://a.test","contacts":["c"],"software_id":"i"}`)
	key, err := GenerateKey("")
	must(t, err)
	w = newWorld(t)
	w.issuer["token_endpoint_auth_methods_supported"] = []string{authNone, authJWT}
	w.client["token_endpoint_auth_method"] = authJWT
	tr = w.transport()
	tr.MetadataKey = key
	mustPost(t, tr, "hello token-1")
	w.checkRegistration(`{"client_name":"MCP client","redirect_uris":["http://127.0.0.1:7777/callback"],"grant_types":["authorization_code","refresh_token"],` +
		`"response_types":["code"],"token_endpoint_auth_method":"private_key_jwt","application_type":"native","jwks":{"keys":[` + string(key.Public()) + `]}}`)
	if _, form := w.last("as.test/token"); !form.Has("client_assertion") {
		t.Errorf("authenticated with %s", form.Encode())
	}
	for _, c := range []struct {
		uris []string
		want string
	}{
		{[]string{"http://127.0.0.1:1/a", "http://localhost/b", "com.example.app:/cb"}, "native"},
		{[]string{"https://a.test/cb"}, "web"},
		{[]string{"https://a.test/cb", "http://[::1]/b"}, "the redirect URIs are on this machine and elsewhere: application_type can be only one"},
	} {
		got, err := applicationType(c.uris)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %s", c.uris, got)
		}
	}
}

// AUTH-160 AUTH-161
func TestOAuthRedirectURIs(t *testing.T) {
	for uri, want := range map[string]bool{"https://a.test/cb": true, "http://localhost:1/cb": true, "http://127.0.0.9/cb": true, "http://[::1]:2/cb": true,
		"http://evil.test/cb": false, "com.example.app:/cb": false, "javascript:x": false, "http://localhost/cb#x": false, "https://u@a.test/cb": false, "https://*.a.test/": false} {
		w := newWorld(t)
		tr := w.transport()
		tr.Login = func(ctx context.Context, l *Login) error {
			_, err := l.Begin(ctx, uri)
			return cmpError(err, errors.New("enough"))
		}
		_, err := post(t, tr, "{}")
		if got := strings.HasSuffix(errorText(err), ": enough"); got != want || tally(w.journal(), "POST as.test/register") > 0 != want {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func cmpError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// AUTH-098 AUTH-127 AUTH-257
func TestOAuthRegistrationIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.issuer["token_endpoint_auth_methods_supported"] = []string{authPost}
		w.client = members{"client_id": "r", "client_secret": "s", "client_secret_expires_at": time.Now().Add(time.Hour).Unix()}
		tr := w.transport()
		registrations := func(redirect string) int {
			tr.Login = func(ctx context.Context, l *Login) error {
				u, err := l.Begin(ctx, redirect)
				if err != nil {
					return err
				}
				return l.Finish(w.visit(u))
			}
			w.good = map[string]bool{}
			_, err := post(t, tr, "{}")
			must(t, err)
			return tally(w.journal(), "POST as.test/register")
		}
		const other = "http://127.0.0.1:7777/other"
		for i, c := range []struct {
			redirect string
			later    time.Duration
			want     int
		}{
			{worldBack, 0, 1}, {worldBack, 0, 0}, {other, 0, 1}, {worldBack, 0, 0}, // one for each redirect URI
			{"http://127.0.0.1:7778/callback", 0, 1}, {worldBack, 0, 1}, // but for another port in its place
			{worldBack, 59 * time.Minute, 0}, {worldBack, 2 * time.Minute, 1}, // until the secret expires
		} {
			time.Sleep(c.later)
			if got := registrations(c.redirect); got != c.want {
				t.Errorf("login %d: %d registrations, want %d", i, got, c.want)
			}
		}
	})
}

// AUTH-128 AUTH-217
func TestBUG137ForgottenClient(t *testing.T) {
	for _, status := range []int{400, 401} {
		w := newWorld(t)
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		w.good, w.client = map[string]bool{}, members{"client_id": "registered-2"}
		w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "registered-1") {
				writeMembers(rw, status, members{"error": "invalid_client"})
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			w.token(rw, r)
		}
		w.journal()
		mustPost(t, tr, "hello token-2")
		failed := fmt.Sprintf("POST as.test/token %d", status)
		w.expect("POST mcp.test/mcp 401", "GET mcp.test/.well-known/oauth-protected-resource/mcp 200", "GET as.test/.well-known/oauth-authorization-server 200",
			"GET as.test/authorize 302", failed, "POST as.test/register 201", "GET as.test/authorize 302", "POST as.test/token 200", "POST mcp.test/mcp 200")

		w.good = map[string]bool{}
		w.routes["as.test/token"] = fixed(status, `{"error":"invalid_client"}`)
		_, err := post(t, tr, "{}") // a second failure is final
		e := (*OAuthError)(nil)
		if said := w.journal(); !errors.As(err, &e) || e.Code != "invalid_client" || tally(said, "POST as.test/register") != 1 || tally(said, "POST as.test/token") != 2 {
			t.Errorf("the error is %v, after %q", err, said)
		}
	}
}

// AUTH-128: the next process, too, forgets a client of which the authorization server knows
// nothing any more, before anybody has to log in.
func TestBUG137ForgottenClientLater(t *testing.T) {
	w := newWorld(t)
	w.answer["refresh_token"] = "refresh-1"
	first, next := w.transport(), w.transport()
	next.Store = &first.memory
	mustPost(t, first, "hello token-1")
	w.good, w.client = map[string]bool{}, members{"client_id": "registered-2"}
	w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "registered-1") {
			writeMembers(rw, 401, members{"error": "invalid_client"})
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		w.token(rw, r)
	}
	w.journal()
	mustPost(t, next, "hello token-2")
	w.expect("POST mcp.test/mcp 401", "GET mcp.test/.well-known/oauth-protected-resource/mcp 200", "GET as.test/.well-known/oauth-authorization-server 200",
		"POST as.test/token 401", "POST as.test/register 201", "GET as.test/authorize 302", "POST as.test/token 200", "POST mcp.test/mcp 200")
}

// AUTH-128: a person who was shown that the client is not known comes back without an answer
func TestBUG137ForgottenClientShown(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	mustPost(t, tr, "hello token-1")
	w.good = map[string]bool{}
	tr.Login = func(ctx context.Context, l *Login) error {
		_, err := l.Begin(ctx, worldBack)
		return cmpError(err, errors.New("the page says unknown client"))
	}
	if _, err := post(t, tr, "{}"); err == nil || tally(w.journal(), "POST as.test/register") != 1 {
		t.Fatal(err)
	}
	tr.Login = w.login
	mustPost(t, tr, "hello token-2")
	if tally(w.journal(), "POST as.test/register") != 1 {
		t.Error("the registration that did not work was used again")
	}
}

// AUTH-130 AUTH-132 HOSTILE-28
func TestOAuthAuthorizationRequest(t *testing.T) {
	w := newWorld(t)
	w.issuer["authorization_endpoint"] = worldIssuer + "/authorize?tenant=1&code_challenge_method=plain&state=x&state=y&redirect_uri=https://evil.test&scope=admin"
	tr := w.transport()
	tr.Params = url.Values{"login_hint": {"me@example.com"}, "prompt": {"login"}}
	mustPost(t, tr, "hello token-1")
	r, _ := w.last("as.test/authorize")
	q := r.URL.Query()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		names = append(names, fmt.Sprintf("%s%d", name, len(q[name])))
	}
	want := "client_id1 code_challenge1 code_challenge_method1 login_hint1 prompt1 redirect_uri1 resource1 response_type1 state1 tenant1"
	if got := strings.Join(names, " "); got != want || q.Get("code_challenge_method") != "S256" || q.Get("redirect_uri") != worldBack || q.Get("prompt") != "login" {
		t.Errorf("asked for %s (%s)", q.Encode(), got)
	}
	for _, name := range []string{"state", "scope", "resource", "client_id", "redirect_uri", "response_type", "code_challenge", "code_challenge_method"} {
		w := newWorld(t)
		tr := w.transport()
		tr.Params = url.Values{name: {"x"}}
		_, err := post(t, tr, "{}")
		if !strings.HasSuffix(errorText(err), "OAuthTransport.Params has "+name+", which is not the application's") || tally(w.journal(), "GET as.test/authorize") != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// AUTH-085 AUTH-086 AUTH-151 AUTH-152 AUTH-153 AUTH-154 AUTH-155 AUTH-156 AUTH-157 AUTH-158 HOSTILE-04 HOSTILE-07
func TestOAuthScopes(t *testing.T) {
	var many []string
	for n := range 10000 {
		many = append(many, fmt.Sprint("s", n))
	}
	for _, c := range []struct {
		name, refusal string
		prm, as       []string
		change        func(*OAuthTransport)
		want          string
		prompt        string
	}{
		{"the challenge", `Bearer scope="a  b a"`, []string{"c"}, nil, nil, "a b", ""},
		{"the metadata", `Bearer`, []string{"b", "c"}, nil, nil, "b c", ""},
		{"nothing", `Bearer`, nil, nil, nil, "", ""},
		{"the application", `Bearer`, nil, nil, func(tr *OAuthTransport) { tr.Scopes = []string{"x"} }, "x", ""},
		{"not the application", `Bearer scope="a"`, nil, nil, func(tr *OAuthTransport) { tr.Scopes = []string{"x"} }, "a", ""},
		{"another scheme's", `Digest scope="admin", Bearer error="invalid_token"`, []string{"c"}, nil, nil, "c", ""},
		{"an unknown scheme's", `Custom scope="admin", Bearer`, nil, nil, nil, "", ""},
		{"bad characters", `Bearer scope="a\"b"`, []string{"c"}, nil, nil, "c", ""},
		{"too many", `Bearer scope="` + strings.Join(many[:1000], " ") + `"`, []string{"c"}, nil, nil, "c", ""},
		{"too many in the metadata", `Bearer`, many, nil, nil, strings.Join(many[:100], " "), ""},
		{"bad characters in the metadata", `Bearer`, []string{"a b", "c", ""}, nil, nil, "c", ""},
		{"filtered", `Bearer scope="a b"`, nil, nil, func(tr *OAuthTransport) {
			tr.FilterScopes = func(s []string) []string { return append(s[:1:1], "z") }
		}, "a z", ""},
		{"offline", `Bearer scope="a"`, nil, []string{"a", "offline_access"}, nil, "a offline_access", "consent"},
		{"offline alone", `Bearer`, nil, []string{"offline_access"}, nil, "offline_access", "consent"},
		{"not offline", `Bearer scope="a"`, nil, []string{"a", "offline_access"}, func(tr *OAuthTransport) { tr.NoRefresh = true }, "a", ""},
		{"offline is not listed", `Bearer scope="a offline_access"`, []string{"offline_access"}, []string{"a"}, nil, "a", ""},
		{"offline, with another prompt", `Bearer`, nil, []string{"offline_access"}, func(tr *OAuthTransport) { tr.Params = url.Values{"prompt": {"login"}} }, "offline_access", "login"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.refusal = c.refusal
			if c.prm != nil {
				w.resource["scopes_supported"] = c.prm
			}
			if c.as != nil {
				w.issuer["scopes_supported"] = c.as
			}
			tr := w.transport()
			if c.change != nil {
				c.change(tr)
			}
			mustPost(t, tr, "hello token-1")
			r, _ := w.last("as.test/authorize")
			q := r.URL.Query()
			if q.Get("scope") != c.want || q.Has("scope") != (c.want != "") || q.Get("prompt") != c.prompt {
				t.Errorf("asked for %q with prompt %q", q.Get("scope"), q.Get("prompt"))
			}
		})
	}
}
