package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// A thirdParty is an authorization server at which people log in. It asks nobody.
type thirdParty struct {
	mu      sync.Mutex // guards the fields below
	iss     string     // in its answers; "": none
	error   string     // that it answers in place of a code
	asked   url.Values // the last authorization request
	forms   []url.Values
	refusal string // error of its token endpoint
	expires int
	refresh bool // it gives refresh tokens
	count   int
	said    strings.Builder // URLs, headers and forms of all requests
}

func (p *thirdParty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = r.ParseForm()
	fmt.Fprintln(&p.said, r.URL, r.Header, r.PostForm)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		_, _ = io.WriteString(w, `{"issuer":"https://third.example.com","authorization_endpoint":"https://third.example.com/login?tenant=1",`+
			`"token_endpoint":"https://third.example.com/token","revocation_endpoint":"https://third.example.com/revoke",`+
			`"authorization_response_iss_parameter_supported":`+fmt.Sprint(p.iss != "")+`}`)
	case "/login":
		p.asked = r.URL.Query()
		q := url.Values{"state": p.asked["state"]}
		if p.iss != "" {
			q.Set("iss", p.iss)
		}
		if p.error != "" {
			q.Set("error", p.error)
			q.Set("error_description", "internal-detail")
		} else {
			q.Set("code", "third-code")
		}
		http.Redirect(w, r, p.asked.Get("redirect_uri")+"?"+q.Encode(), http.StatusFound)
	case "/token", "/revoke":
		form := r.PostForm
		form.Set("path", r.URL.Path)
		p.forms = append(p.forms, form)
		if p.refusal != "" {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":"`+p.refusal+`"}`)
			return
		}
		p.count++
		m := map[string]any{"access_token": fmt.Sprint("third-access-", p.count), "token_type": "Bearer"}
		if p.expires > 0 {
			m["expires_in"] = p.expires
		}
		if p.refresh {
			m["refresh_token"] = fmt.Sprint("third-refresh-", p.count)
		}
		_ = json.NewEncoder(w).Encode(m)
	}
}

func (p *thirdParty) set(change func(*thirdParty)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// newThirdBench makes an authorization server whose people log in at a third party.
func newThirdBench(t *testing.T, change func(*AuthorizationServer)) (*authBench, *thirdParty) {
	p := &thirdParty{iss: "https://third.example.com", refresh: true, expires: 600}
	b := newAuthBench(t, func(a *AuthorizationServer) {
		a.Authenticate = nil
		a.Upstream = &Upstream{Issuer: "https://third.example.com", Client: OAuthClient{ID: "us", Secret: "our-secret"}, Scopes: []string{"mail", "profile"},
			Resource: "https://api.third.example.com", Params: url.Values{"audience": {"x"}, "state": {"evil"}},
			User: func(_ context.Context, up *UpstreamToken) (string, error) {
				if up.Access == "third-access-100" {
					return "", nil
				}
				return "user " + strings.TrimPrefix(up.Access, "third-access-"), nil
			}}
		if change != nil {
			change(a)
		}
	})
	b.net["third.example.com"] = p
	return b, p
}

// through allows the request and follows the browser to the client's redirect URI.
func (b *authBench) through(q url.Values) *url.URL {
	b.t.Helper()
	at := b.allow(q).location(b.t)
	for range 3 {
		if at.Host == "app.example.com" {
			return at
		}
		at = b.get(at.String()).location(b.t)
	}
	b.t.Fatalf("stopped at %v", at)
	return nil
}

// The whole way: a page of ours, their login, a code and tokens of ours; theirs stay.
// AUTH-284 AUTH-344 AUTH-345 AUTH-346 AUTH-350 AUTH-352 AUTH-353 AUTH-356 AUTH-448
func TestAuthUpstream(t *testing.T) {
	b, p := newThirdBench(t, nil)
	page := b.get(testIssuer + "/authorize?" + request().Encode())
	for _, want := range []string{"“The App”", "<strong>app.example.com</strong>", "You will sign in at third.example.com", "<li>mail</li>\n<li>profile</li>"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q: %s", want, page.body)
		}
	}
	if p.asked != nil || page.header.Get("Location") != "" {
		t.Error("they were asked before the person was")
	}
	at := b.through(request())
	code := at.Query().Get("code")
	got := b.token(redemption(code))
	if got.status != 200 || at.Query().Get("iss") != testIssuer || at.Query().Get("state") != "st&te" {
		t.Fatalf("%v %+v", at, got)
	}
	asked := p.asked
	for name, want := range map[string]string{"response_type": "code", "client_id": "us", "redirect_uri": testIssuer + "/callback", "code_challenge_method": "S256",
		"scope": "mail profile", "resource": "https://api.third.example.com", "audience": "x", "tenant": "1"} {
		if len(asked[name]) != 1 || asked.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, asked[name], want)
		}
	}
	form := p.forms[0]
	if len(asked.Get("state")) != 43 || pkceChallenge(form.Get("code_verifier")) != asked.Get("code_challenge") || form.Get("code") != "third-code" ||
		form.Get("resource") != "https://api.third.example.com" || form.Get("redirect_uri") != testIssuer+"/callback" {
		t.Errorf("%v %v", asked, form)
	}
	info, err := b.a.Verify(t.Context(), got.Access, nil)
	if err != nil || info.Subject != "user 1" {
		t.Fatalf("%+v %v", info, err)
	}
	up, err := b.a.UpstreamToken(t.Context(), &Identity{Issuer: info.Issuer, Claims: info.Claims})
	if err != nil || up.Access != "third-access-1" {
		t.Errorf("%v %v", up, err)
	}
	for _, text := range []string{at.String(), got.Access, got.Refresh, string(info.Claims), b.log.String()} {
		if strings.Contains(text, "third-access-1") || strings.Contains(text, "third-refresh") || strings.Contains(text, "our-secret") {
			t.Errorf("their token is in %s", text)
		}
	}
	if got := b.post(testIssuer+"/revoke", url.Values{"token": {got.Refresh}, "client_id": {"app"}}.Encode()); got.status != 200 {
		t.Errorf("%d", got.status)
	}
	if last := p.forms[len(p.forms)-1]; last.Get("path") != "/revoke" || last.Get("token") != "third-refresh-1" {
		t.Errorf("their token was not revoked: %v", p.forms)
	}
	for _, ours := range []string{got.Access, got.Refresh, code} {
		if said := p.said.String(); strings.Contains(said, ours) || !strings.Contains(said, "third-refresh-1") {
			t.Errorf("they were told %s", said)
		}
	}
}

// What was allowed one client in a browser is not allowed another one, nor in another
// browser. AUTH-351
func TestAuthUpstreamConsent(t *testing.T) {
	b, _ := newThirdBench(t, nil)
	b.through(request())
	ask := func(pairs ...string) int {
		return b.get(testIssuer + "/authorize?" + request(pairs...).Encode()).status
	}
	if got := ask(); got != 302 {
		t.Errorf("the same: %d", got)
	}
	if got := ask("client_id", "conf"); got != 200 {
		t.Errorf("another client: %d", got)
	}
	altered := b.browser
	b.browser = newBrowser(b.net)
	if got := ask(); got != 200 {
		t.Errorf("another browser: %d", got)
	}
	b.browser = altered
	u, _ := url.Parse(testIssuer)
	b.browser.Jar.SetCookies(u, []*http.Cookie{{Name: "__Host-mcp-browser", Value: strings.Repeat("a", 43), Path: "/", Secure: true}})
	if got := ask(); got != 200 {
		t.Errorf("an altered cookie: %d", got)
	}
}

// The answer of the third party counts once, in the browser that was sent there, and if it
// is theirs. HOSTILE-60 AUTH-349 AUTH-354
func TestAuthUpstreamCallback(t *testing.T) {
	const page = "This page"
	toClient := func(code, text string) string {
		return testRedirect + "?error=" + code + "&error_description=" + url.QueryEscape(text) + "&state=st%26te&iss=" + url.QueryEscape(testIssuer)
	}
	failed := toClient("server_error", "the login at the third party failed")
	for _, tt := range []struct {
		name   string
		set    func(*thirdParty)
		change func(b *authBench, callback *url.URL)
		want   string // a Location, or of a page
	}{
		{"declined", func(p *thirdParty) { p.error = "access_denied" }, nil, toClient("access_denied", "the login at the third party was declined")},
		{"busy", func(p *thirdParty) { p.error = "temporarily_unavailable" }, nil, toClient("temporarily_unavailable", "the third party cannot serve now")},
		{"other error", func(p *thirdParty) { p.error = "invalid_scope" }, nil, failed},
		{"no token", func(p *thirdParty) { p.refusal = "invalid_grant" }, nil, failed},
		{"another issuer", func(p *thirdParty) { p.iss = "https://evil.example.com" }, nil, failed},
		{"issuer with a slash", func(p *thirdParty) { p.iss += "/" }, nil, failed},
		{"no issuer", nil, func(_ *authBench, c *url.URL) { q := c.Query(); q.Del("iss"); c.RawQuery = q.Encode() }, failed},
		{"nobody known", func(p *thirdParty) { p.count = 99 }, nil, failed},
		{"no code", nil, func(_ *authBench, c *url.URL) { q := c.Query(); q.Del("code"); c.RawQuery = q.Encode() }, failed},
		{"state twice", nil, func(_ *authBench, c *url.URL) { c.RawQuery += "&state=x" }, "parameter state comes twice"},
		{"no state", nil, func(_ *authBench, c *url.URL) { q := c.Query(); q.Del("state"); c.RawQuery = q.Encode() }, page},
		{"other state", nil, func(_ *authBench, c *url.URL) { q := c.Query(); q.Set("state", newSecret()); c.RawQuery = q.Encode() }, page},
		{"no cookie", nil, func(b *authBench, _ *url.URL) { b.browser.Jar = nil }, page},
		{"other browser", nil, func(b *authBench, _ *url.URL) { b.browser = newBrowser(b.net) }, page},
		{"again", nil, func(b *authBench, c *url.URL) { b.get(c.String()) }, page},
		{"late", nil, func(*authBench, *url.URL) { time.Sleep(pendingLifetime) }, page},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, p := newThirdBench(t, nil)
				if tt.set != nil {
					p.set(tt.set)
				}
				login := b.allow(request())
				callback := b.get(login.header.Get("Location")).location(t)
				if tt.change != nil {
					tt.change(b, callback)
				}
				got := b.get(callback.String())
				to := got.header.Get("Location")
				if strings.HasPrefix(tt.want, "https:") && to != tt.want ||
					!strings.HasPrefix(tt.want, "https:") && (to != "" || got.status != 400 || !strings.Contains(got.body, tt.want)) {
					t.Errorf("%d %q %s, want %s", got.status, to, got.body, tt.want)
				}
				if strings.Contains(got.body+to, "internal-detail") {
					t.Error("their words are passed on")
				}
			})
		})
	}
}

// A state from another browser cannot be used, nor used up, by a link to the callback.
// AUTH-354
func TestAuthUpstreamFixation(t *testing.T) {
	b, _ := newThirdBench(t, nil)
	attacker := b.browser
	callback := b.get(b.allow(request()).header.Get("Location")).location(t).String()
	b.browser = newBrowser(b.net) // the victim's
	b.get(testIssuer + "/authorize?" + request().Encode())
	if got := b.get(callback); got.status != 400 || got.header.Get("Location") != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	b.browser = attacker
	if got := b.get(callback).location(t); got.Query().Get("code") == "" {
		t.Errorf("%v", got)
	}
}

// Our tokens end with theirs, which are refreshed once for all who wait.
// AUTH-347 AUTH-348
func TestAuthUpstreamLifetime(t *testing.T) {
	t.Run("refreshed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, p := newThirdBench(t, nil)
			got := b.token(redemption(b.through(request()).Query().Get("code")))
			time.Sleep(601 * time.Second)
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if !b.valid(got.Access) {
						t.Error("not valid")
					}
				})
			}
			all.Wait()
			if len(p.forms) != 2 || p.forms[1].Get("grant_type") != "refresh_token" || p.forms[1].Get("refresh_token") != "third-refresh-1" {
				t.Errorf("%v", p.forms)
			}
			time.Sleep(601 * time.Second) // what it has rotated to is used then
			if !b.valid(got.Access) || p.forms[2].Get("refresh_token") != "third-refresh-2" {
				t.Errorf("%v", p.forms)
			}
		})
	})
	t.Run("trouble is no end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, p := newThirdBench(t, nil)
			got := b.token(redemption(b.through(request()).Query().Get("code")))
			time.Sleep(601 * time.Second)
			p.set(func(p *thirdParty) { p.refusal = "temporarily_unavailable" })
			if _, err := b.a.Verify(t.Context(), got.Access, nil); err == nil || errors.Is(err, ErrInvalidToken) {
				t.Errorf("%v", err)
			}
			if again := b.token(refreshing(got.Refresh)); again.status != 503 {
				t.Errorf("%+v", again)
			}
			p.set(func(p *thirdParty) { p.refusal = "" })
			if again := b.token(refreshing(got.Refresh)); !b.valid(got.Access) || again.status != 200 {
				t.Errorf("%+v", again)
			}
		})
	})
	t.Run("ended there", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, p := newThirdBench(t, nil)
			got := b.token(redemption(b.through(request()).Query().Get("code")))
			time.Sleep(601 * time.Second)
			p.set(func(p *thirdParty) { p.refusal = "invalid_grant" })
			_, err := b.a.Verify(t.Context(), got.Access, nil)
			if again := b.token(refreshing(got.Refresh)); !errors.Is(err, ErrInvalidToken) || again.Error != "invalid_grant" {
				t.Errorf("%v %+v", err, again)
			}
		})
	})
	t.Run("asked", func(t *testing.T) {
		var answer error
		b, _ := newThirdBench(t, func(a *AuthorizationServer) {
			a.Upstream.Check = func(context.Context, *UpstreamToken) error { return answer }
		})
		got := b.token(redemption(b.through(request()).Query().Get("code")))
		answer = errors.New("cannot be reached")
		if _, err := b.a.Verify(t.Context(), got.Access, nil); err == nil || errors.Is(err, ErrInvalidToken) {
			t.Errorf("%v", err)
		}
		answer = nil
		if !b.valid(got.Access) {
			t.Error("not valid")
		}
		answer = fmt.Errorf("revoked: %w", ErrInvalidToken)
		if _, err := b.a.Verify(t.Context(), got.Access, nil); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("%v", err)
		}
		answer = nil
		if b.valid(got.Access) {
			t.Error("valid again")
		}
	})
	t.Run("without refresh tokens", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, p := newThirdBench(t, nil)
			p.set(func(p *thirdParty) { p.refresh = false })
			got := b.token(redemption(b.through(request()).Query().Get("code")))
			if got.Expires != 600 {
				t.Errorf("our token outlives theirs: %+v", got)
			}
			time.Sleep(599 * time.Second)
			if again := b.token(refreshing(got.Refresh)); again.status != 200 || again.Expires != 1 {
				t.Errorf("%+v", again)
			}
			time.Sleep(time.Second)
			if b.valid(got.Access) {
				t.Error("valid")
			}
		})
	})
}

// Their tokens are sealed by the application before they are stored. AUTH-346
func TestAuthUpstreamSealed(t *testing.T) {
	store := &spyStore{}
	b, _ := newThirdBench(t, func(a *AuthorizationServer) {
		a.Store = store
		flip := func(_ context.Context, data []byte) ([]byte, error) {
			data = slices.Clone(data)
			for i := range data {
				data[i] ^= 0x55
			}
			return data, nil
		}
		a.Upstream.Seal, a.Upstream.Open = flip, flip
	})
	got := b.token(redemption(b.through(request()).Query().Get("code")))
	info, err := b.a.Verify(t.Context(), got.Access, nil)
	if err != nil {
		t.Fatal(err)
	}
	if up, err := b.a.UpstreamToken(t.Context(), &Identity{Issuer: info.Issuer, Claims: info.Claims}); err != nil || up.Access != "third-access-1" || up.Refresh != "third-refresh-1" {
		t.Errorf("%v", err)
	}
	for _, secret := range []string{"third-access", "third-refresh", "dGhpcmQt", got.Access, got.Refresh} {
		if strings.Contains(store.all.String(), secret) {
			t.Errorf("%.8s… is in the store", secret)
		}
	}
	if store.all.String() == "" {
		t.Error("nothing was stored")
	}
}

// A spyStore remembers all that was ever stored.
type spyStore struct {
	MemoryAuthorizationStore
	all logBuffer
}

func (s *spyStore) Update(ctx context.Context, kind, key string, change func([]byte) ([]byte, time.Time, error)) error {
	return s.MemoryAuthorizationStore.Update(ctx, kind, key, func(old []byte) ([]byte, time.Time, error) {
		data, ends, err := change(old)
		fmt.Fprintf(&s.all, "%s %s %s\n", kind, key, data)
		return data, ends, err
	})
}

// No code, token or secret is stored as it is, or logged, or printed.
// AUTH-322 AUTH-331 AUTH-450 AUTH-460
func TestAuthSecretsStaySecret(t *testing.T) {
	store := &spyStore{}
	b := newAuthBench(t, func(a *AuthorizationServer) {
		a.Store, a.InitialAccessToken, a.ClientCredentials = store, "initial-secret", true
	})
	code := b.code()
	got := b.token(redemption(code))
	again := b.token(refreshing(got.Refresh))
	b.token(refreshing(got.Refresh)) // refused, and the grant ends
	b.token(redemption(code))
	b.token(redemption("mistyped-code"))
	machine := b.token(url.Values{"grant_type": {grantCredentials}}, basicConf)
	b.token(url.Values{"grant_type": {grantCredentials}}, "Authorization: Basic Y29uZjp3cm9uZy1zZWNyZXQ=")
	reg := b.post(testIssuer+"/register", `{"redirect_uris":["https://app.example.com/cb"]}`, asJSON, "Authorization: Bearer initial-secret")
	var m map[string]any
	if err := json.Unmarshal([]byte(reg.body), &m); err != nil || machine.Access == "" || again.Access == "" {
		t.Fatal(err, machine, again)
	}
	_, family, own := refreshParts(got.Refresh)
	var printed strings.Builder
	logger := slog.New(slog.NewTextHandler(&printed, nil))
	up := Upstream{Client: OAuthClient{ID: "us", Secret: "s3cret:%/"}}
	third := UpstreamToken{Access: "s3cret:%/", Refresh: "s3cret:%/"}
	for _, v := range []any{b.a, b.a.Clients[1], &b.a.Clients[1], b.a.Clients, up, &up, third, &third} {
		fmt.Fprintf(&printed, "%v %+v %#v %s", v, v, v, v)
		logger.Info("x", "v", v)
	}
	for _, secret := range []string{code, got.Access, again.Access, machine.Access, family, own, "mistyped-code", "s3cret:", "wrong-secret", "initial-secret", testVerifier, m["client_secret"].(string)} {
		for where, text := range map[string]string{"store": store.all.String(), "log": b.log.String(), "fmt": printed.String()} {
			if strings.Contains(text, secret) {
				t.Errorf("%.8s… is in the %s", secret, where)
			}
		}
	}
	if b.log.String() == "" || store.all.String() == "" {
		t.Error("nothing was logged or stored")
	}
}

// The store in memory forgets what has ended, and is bounded by kind.
func TestMemoryAuthorizationStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := &MemoryAuthorizationStore{MaxBytes: 10_000}, t.Context()
		put := func(kind, key, data string, ends time.Time) error {
			return s.Update(ctx, kind, key, func([]byte) ([]byte, time.Time, error) { return []byte(data), ends, nil })
		}
		get := func(kind, key string) string {
			data, err := s.Load(ctx, kind, key)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		soon := time.Now().Add(time.Minute)
		if err := errors.Join(put("a", "k", "v", soon), put("b", "k", "w", time.Time{})); err != nil || get("a", "k") != "v" || get("b", "k") != "w" || get("a", "x") != "" {
			t.Error(err)
		}
		wrong := errors.New("wrong")
		err := s.Update(ctx, "a", "k", func(old []byte) ([]byte, time.Time, error) {
			old[0] = 'x' // a copy
			return nil, time.Time{}, wrong
		})
		if err != wrong || get("a", "k") != "v" {
			t.Error(err, get("a", "k"))
		}
		time.Sleep(time.Minute)
		if get("a", "k") != "" || get("b", "k") != "w" {
			t.Error("what has ended is there")
		}
		stored, full := 0, 0
		for i := range 100_000 { // a flood
			switch err := put("a", fmt.Sprint("key", i), "data", time.Now().Add(time.Minute)); {
			case err == nil:
				stored++
			case errors.Is(err, ErrStoreFull):
				full++
			default:
				t.Fatal(err)
			}
			if k := s.kinds["a"]; k.bytes > 10_000 || len(k.records) > 10_000/recordCost {
				t.Fatalf("%d bytes in %d records", k.bytes, len(k.records))
			}
		}
		if stored < 30 || stored+full != 100_000 || get("b", "k") != "w" {
			t.Errorf("%d stored", stored)
		}
		if err := put("a", "key0", "again", time.Now().Add(time.Minute)); err != nil || get("a", "key0") != "again" {
			t.Errorf("a record that is there: %v", err)
		}
		if err := put("b", "other", "w", time.Time{}); err != nil {
			t.Errorf("another kind: %v", err)
		}
		time.Sleep(time.Minute)
		if err := put("a", "new", "v", time.Now().Add(time.Minute)); err != nil || len(s.kinds["a"].records) != 1 {
			t.Errorf("%v, %d records", err, len(s.kinds["a"].records))
		}
		for range 1000 { // what is deleted takes nothing
			if err := errors.Join(put("c", "k", "v", time.Time{}), s.Update(ctx, "c", "k", func([]byte) ([]byte, time.Time, error) { return nil, time.Time{}, nil })); err != nil {
				t.Fatal(err)
			}
		}
		if k := s.kinds["c"]; k.bytes != 0 || len(k.records) != 0 {
			t.Errorf("%d bytes", k.bytes)
		}
	})
}

// The scopes are narrowed for the person who has logged in at the third party, and for
// nobody before. AUTH-317
func TestAuthUpstreamScopes(t *testing.T) {
	b, _ := newThirdBench(t, func(a *AuthorizationServer) {
		a.FilterScopes = func(user, _ string, scopes []string) []string {
			switch user {
			case "user 1":
				return slices.DeleteFunc(scopes, func(s string) bool { return s == "files:write" })
			case "user 2":
				return nil
			}
			t.Errorf("asked for %q", user)
			return scopes
		}
	})
	q := request("scope", "files:read files:write")
	if got := b.token(redemption(b.through(q).Query().Get("code"))); got.Scope != "files:read" {
		t.Errorf("%+v", got)
	}
	b.browser = newBrowser(b.net)
	if got := b.through(q).Query(); got.Get("error") != "invalid_scope" || got.Get("code") != "" {
		t.Errorf("%v", got)
	}
}

// What a grant gets from the third party while it is revoked is revoked there, too.
// AUTH-347
func TestAuthUpstreamRevokedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := newThirdBench(t, nil)
		got := b.token(redemption(b.through(request()).Query().Get("code")))
		info, err := b.a.Verify(t.Context(), got.Access, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.net["third.example.com"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				if err := b.a.Revoke(r.Context(), &Identity{Issuer: info.Issuer, Claims: info.Claims}); err != nil {
					t.Error(err)
				}
			}
			p.ServeHTTP(w, r)
		})
		time.Sleep(601 * time.Second)
		if _, err := b.a.Verify(t.Context(), got.Access, nil); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("%v", err)
		}
		var said []string
		for _, form := range p.forms[1:] {
			said = append(said, form.Get("path")+" "+form.Get("token")+form.Get("refresh_token"))
		}
		if want := []string{"/revoke third-refresh-1", "/token third-refresh-1", "/revoke third-refresh-3"}; !slices.Equal(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
	})
}

// A third party that has no page to log in at is trouble, and the browser goes nowhere
// but to the client.
func TestAuthUpstreamWithoutPage(t *testing.T) {
	b, _ := newThirdBench(t, func(a *AuthorizationServer) {
		a.Upstream.Metadata = AuthorizationServerMetadata{TokenEndpoint: "https://third.example.com/token"}
	})
	if got := b.allow(request()).location(t); got.Host != "app.example.com" || got.Query().Get("error") != "server_error" {
		t.Errorf("%v", got)
	}
}

// That the store is full when a token is refreshed does not use up the refresh token.
func TestAuthRefreshIntoFullStore(t *testing.T) {
	store := &fullStore{}
	b := newAuthBench(t, func(a *AuthorizationServer) { a.Store = store })
	got := b.login()
	store.full = true
	if got := b.token(refreshing(got.Refresh)); got.status != 503 {
		t.Errorf("%+v", got)
	}
	store.full = false
	if again := b.token(refreshing(got.Refresh)); again.status != 200 || !b.valid(got.Access) {
		t.Errorf("%+v", again)
	}
}

// A fullStore has no room for access tokens while full is set.
type fullStore struct {
	MemoryAuthorizationStore
	full bool
}

func (s *fullStore) Update(ctx context.Context, kind, key string, change func([]byte) ([]byte, time.Time, error)) error {
	if s.full && kind == kindAccess {
		return ErrStoreFull
	}
	return s.MemoryAuthorizationStore.Update(ctx, kind, key, change)
}

// A full store refuses what is new, and what is there still counts.
func TestAuthFullStore(t *testing.T) {
	b := newAuthBench(t, func(a *AuthorizationServer) { a.Store = &MemoryAuthorizationStore{MaxBytes: 4000} })
	got := b.login()
	for i := 0; ; i++ {
		r := b.post(testIssuer+"/register", `{"redirect_uris":["https://app.example.com/cb"],"client_name":"`+strings.Repeat("n", 500)+`"}`, asJSON)
		if r.status == 503 && strings.Contains(r.body, "temporarily_unavailable") && r.header.Get("Retry-After") == "1" {
			break
		}
		if i > 10 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if !b.valid(got.Access) {
		t.Error("a token was lost")
	}
}

// Each endpoint serves one address so much, and others still. AUTH-342 AUTH-462
func TestAuthRateLimits(t *testing.T) {
	for path, burst := range map[string]int{"/register": 20, "/authorize": 100, "/token": 1000, "/revoke": 1000, "/consent": 100} {
		synctest.Test(t, func(t *testing.T) {
			b := newAuthBench(t, nil)
			ask := func(address string) int {
				r := httptest.NewRequest("POST", testIssuer+path, strings.NewReader("x=y"))
				r.Header.Set("Content-Type", typeForm)
				r.RemoteAddr = address
				w := httptest.NewRecorder()
				b.a.ServeHTTP(w, r)
				return w.Code
			}
			n := 0
			for ask("192.0.2.1:1") != 429 {
				if n++; n > 10_000 {
					break
				}
			}
			if n != burst || ask("192.0.2.1:2") != 429 || ask("[::ffff:192.0.2.1]:2") != 429 {
				t.Errorf("%s: %d requests", path, n)
			}
			if ask("192.0.2.2:1") == 429 || ask("[2001:db8::1]:1") == 429 {
				t.Errorf("%s: another address is refused", path)
			}
			for range burst {
				ask("[2001:db8::2]:1")
			}
			if ask("[2001:db8::3]:1") != 429 || ask("[2001:db8:0:1::1]:1") == 429 {
				t.Errorf("%s: IPv6 networks", path)
			}
			time.Sleep(time.Hour)
			if ask("192.0.2.1:1") == 429 {
				t.Errorf("%s: refused for ever", path)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := rateLimits{} // who has many addresses does not get the others' limits forgotten
		for range 100 {
			l.take("/register")
		}
		for i := range 2 * maxBuckets {
			l.take(fmt.Sprint("/register for ", i))
		}
		if l.take("/register") || len(l.m["/register"]) > maxBuckets {
			t.Error("the limit for all together was forgotten")
		}
	})
	b := newAuthBench(t, nil) // a person does not fill the store for others
	code := func() string { return b.code() }
	got := b.token(redemption(code()))
	n := 1
	for ; n < 1000 && got.status == 200; n++ {
		got = b.token(refreshing(got.Refresh))
	}
	if got.status != 429 || n > 120 {
		t.Errorf("%d tokens: %+v", n, got)
	}
	own := newAuthBench(t, func(a *AuthorizationServer) {
		a.Address = func(r *http.Request) string { return r.Header.Get("X-Client") }
	})
	for i := range 30 {
		if got := own.post(testIssuer+"/register", `{}`, asJSON, fmt.Sprint("X-Client: ", i)); got.status == 429 {
			t.Fatal("addresses are not those that the application tells apart")
		}
	}
}

// A replica continues what another one has begun.
func TestAuthReplicas(t *testing.T) {
	store := &MemoryAuthorizationStore{}
	shared := func(a *AuthorizationServer) { a.Store = store }
	one, two := newAuthBench(t, shared), newAuthBench(t, shared)
	code := one.code()
	got := two.token(redemption(code))
	if !one.valid(got.Access) {
		t.Error("a token of the other replica")
	}
	if again := one.token(redemption(code)); again.Error != "invalid_grant" || two.valid(got.Access) {
		t.Errorf("a code that the other replica has redeemed: %+v", again)
	}
}

// The whole way over sockets, by an ordinary HTTP client: discovery, registration, the
// page, the code, the token, the MCP server; then a refresh, and the end.
// AUTH-009 AUTH-044 AUTH-302 AUTH-309
func TestAuthEndToEnd(t *testing.T) {
	web := httptest.NewUnstartedServer(nil)
	base := "http://" + web.Listener.Addr().String()
	a := &AuthorizationServer{Issuer: base, Resources: []string{base + "/v1/mcp"}, Scopes: map[string]string{"use": "use it"},
		Authenticate: func(http.ResponseWriter, *http.Request) (string, bool) { return "alice", true }}
	p := &ProtectedResource{Resource: base + "/v1/mcp", AuthorizationServers: []string{base}, Verify: a.Verify, Scopes: []string{"use"}}
	who := make(chan *Identity, 1)
	s := newServer(t, nil)
	AddTool(s, &Tool{Name: "whoami"}, func(_ context.Context, r *Request, _ struct{}) (string, error) {
		who <- r.Identity
		return r.Identity.Subject, nil
	})
	h := &HTTPHandler{Server: s, Authorize: p.Authorize, Sessionless: true}
	mux := http.NewServeMux()
	mux.Handle("/", a)
	mux.Handle("/v1/mcp", h)
	for _, path := range p.MetadataPaths() {
		mux.Handle(path, p)
	}
	web.Config.Handler = mux
	web.Start()
	defer web.Close()
	defer func() { _ = h.Shutdown(context.Background()) }()
	b := &authBench{t: t, browser: newBrowser(web.Client().Transport)}
	call := func(token string) *webAnswer {
		return b.post(base+"/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}}`, asJSON,
			"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: 2025-03-26", "Authorization: "+token)
	}
	object := func(r *webAnswer, want int) map[string]any {
		t.Helper()
		var m map[string]any
		if err := json.Unmarshal([]byte(r.body), &m); err != nil || r.status != want {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return m
	}

	ask := ParseChallenges(call("").header.Values("WWW-Authenticate"))
	resource := object(b.get(ask[0].Params["resource_metadata"]), 200)
	m := object(b.get(resource["authorization_servers"].([]any)[0].(string)+"/.well-known/oauth-authorization-server"), 200)
	reg := object(b.post(m["registration_endpoint"].(string),
		`{"redirect_uris":["http://127.0.0.1:7/cb"],"grant_types":["authorization_code","refresh_token"],"token_endpoint_auth_method":"none"}`, asJSON), 201)
	id := reg["client_id"].(string)
	q := request("client_id", id, "redirect_uri", "http://127.0.0.1:4711/cb", "scope", "use", "resource", resource["resource"].(string))
	page := b.get(m["authorization_endpoint"].(string) + "?" + q.Encode())
	at := b.post(base+"/consent", url.Values{"consent": {page.consentToken(t)}, "decision": {"allow"}}.Encode()).location(t)
	if at.Host != "127.0.0.1:4711" || at.Query().Get("iss") != base {
		t.Fatalf("%v", at)
	}
	form := redemption(at.Query().Get("code"), "client_id", id, "redirect_uri", "http://127.0.0.1:4711/cb", "resource", base+"/v1/mcp")
	got := object(b.post(m["token_endpoint"].(string), form.Encode()), 200)
	if got := call("Bearer " + got["access_token"].(string)); got.status != 200 || !strings.Contains(got.body, `"alice"`) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if caller := <-who; caller.Issuer != base || caller.Subject != "alice" || caller.ClientID != id || strings.Join(caller.Scopes, " ") != "use" {
		t.Errorf("%+v", caller)
	}
	again := object(b.post(m["token_endpoint"].(string), refreshing(got["refresh_token"].(string), "client_id", id).Encode()), 200)
	if got := call("Bearer " + again["access_token"].(string)); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	<-who
	b.post(m["revocation_endpoint"].(string), url.Values{"token": {again["refresh_token"].(string)}, "client_id": {id}}.Encode())
	if got := call("Bearer " + again["access_token"].(string)); got.status != 401 {
		t.Errorf("%d %s", got.status, got.body)
	}
}
