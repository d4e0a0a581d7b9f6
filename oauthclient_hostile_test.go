package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// callbackOf is the answer to a login with parameters changed; nil takes one out.
func callbackOf(u string, change url.Values) string {
	asked, err := url.Parse(u)
	if err != nil {
		panic(err)
	}
	q := url.Values{"code": {"code-1"}, "state": {asked.Query().Get("state")}, "iss": {worldIssuer}}
	for name, values := range change {
		if q[name] = values; values == nil {
			delete(q, name)
		}
	}
	return q.Encode()
}

// AUTH-139 AUTH-140 AUTH-166 AUTH-167 AUTH-173 AUTH-174 AUTH-175 AUTH-176 AUTH-177 AUTH-178 AUTH-179 AUTH-180 AUTH-182 AUTH-183
// HOSTILE-36 HOSTILE-37 HOSTILE-38 HOSTILE-39 AUTH-446
func TestBUG149Callbacks(t *testing.T) {
	const mismatch, foreign = `the answer to the login has not the issuer "https://as.test"`, "the answer has not the state of this login"
	const malformed = "the answer to the login has a malformed query"
	two := func(values ...string) []string { return values }
	for _, c := range []struct {
		name     string
		silent   bool // the issuer does not say that its answers name it
		callback func(u string) string
		want     string // the error; empty: there is a token
	}{
		{"good", false, func(u string) string { return callbackOf(u, nil) }, ""},
		{"a URL", false, func(u string) string { return worldBack + "?" + callbackOf(u, nil) + "#_=_" }, ""},
		{"a pasted URL", false, func(u string) string { return " com.example.app:/cb?" + callbackOf(u, nil) + "\n" }, ""},
		{"a query", false, func(u string) string { return "?" + callbackOf(u, nil) }, ""},
		{"more parameters", false, func(u string) string { return callbackOf(u, url.Values{"session_state": two("a", "b")}) }, ""},
		{"iss missing", false, func(u string) string { return callbackOf(u, url.Values{"iss": nil}) }, mismatch},
		{"iss of another", false, func(u string) string { return callbackOf(u, url.Values{"iss": {"https://evil.test"}}) }, mismatch},
		{"iss with a slash", false, func(u string) string { return callbackOf(u, url.Values{"iss": {worldIssuer + "/"}}) }, mismatch},
		{"iss in upper case", false, func(u string) string { return callbackOf(u, url.Values{"iss": {"https://AS.test"}}) }, mismatch},
		{"iss with a port", false, func(u string) string { return callbackOf(u, url.Values{"iss": {worldIssuer + ":443"}}) }, mismatch},
		{"iss encoded", false, func(u string) string { return callbackOf(u, url.Values{"iss": {"https://%61s.test"}}) }, mismatch},
		{"iss empty", false, func(u string) string { return callbackOf(u, url.Values{"iss": {""}}) }, mismatch},
		{"not advertised, not there", true, func(u string) string { return callbackOf(u, url.Values{"iss": nil}) }, ""},
		{"not advertised, right", true, func(u string) string { return callbackOf(u, nil) }, ""},
		{"not advertised, wrong", true, func(u string) string { return callbackOf(u, url.Values{"iss": {"https://evil.test"}}) }, mismatch},
		{"not advertised, empty", true, func(u string) string { return callbackOf(u, url.Values{"iss": {""}}) }, mismatch},
		{"state missing", false, func(u string) string { return callbackOf(u, url.Values{"state": nil}) }, foreign},
		{"state wrong", false, func(u string) string { return callbackOf(u, url.Values{"state": {"x"}}) }, foreign},
		{"state twice", false, func(u string) string { q := callbackOf(u, nil); return q + "&" + q[strings.Index(q, "state="):] }, foreign},
		{"bad escape", false, func(u string) string { return callbackOf(u, nil) + "&x=%zz" }, malformed},
		{"semicolon", false, func(u string) string { return callbackOf(u, nil) + ";x=1" }, malformed},
		{"nothing", false, func(string) string { return "" }, foreign},
		{"code twice", false, func(u string) string { return callbackOf(u, url.Values{"code": two("a", "b")}) }, "the answer to the login has code twice"},
		{"iss twice", false, func(u string) string { return callbackOf(u, url.Values{"iss": two(worldIssuer, worldIssuer)}) }, "the answer to the login has iss twice"},
		{"error twice", false, func(u string) string { return callbackOf(u, url.Values{"error": two("a", "b")}) }, "the answer to the login has error twice"},
		{"code empty", false, func(u string) string { return callbackOf(u, url.Values{"code": {""}}) }, "the answer to the login has no code"},
		{"code missing", false, func(u string) string { return callbackOf(u, url.Values{"code": nil}) }, "the answer to the login has no code"},
		{"huge", false, func(u string) string { return callbackOf(u, url.Values{"x": {strings.Repeat("x", 1<<20)}}) }, "the answer to the login has more than 65536 bytes"},
		{"huge, of nobody", false, func(u string) string {
			return callbackOf(u, url.Values{"state": nil, "x": {strings.Repeat("x", 1<<20)}})
		}, foreign},
		{"declined", false, func(u string) string {
			return callbackOf(u, url.Values{"code": nil, "error": {"access_denied"}, "error_description": {"no\x1b thanks"}})
		}, "https://as.test/authorize answered access_denied: no thanks"},
		{"unavailable", false, func(u string) string {
			return callbackOf(u, url.Values{"code": nil, "error": {"temporarily_unavailable"}})
		}, "https://as.test/authorize answered temporarily_unavailable"},
		{"error and code", false, func(u string) string { return callbackOf(u, url.Values{"error": {"server_error"}}) }, "https://as.test/authorize answered server_error"},
		{"alarm from elsewhere", false, func(u string) string {
			return callbackOf(u, url.Values{"iss": {"https://evil.test"}, "code": nil, "error": {"server_error"}, "error_description": {"call 555-SCAM"}})
		}, mismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.issuer["authorization_response_iss_parameter_supported"] = !c.silent
			tr := w.transport()
			var again error
			tr.Login = func(ctx context.Context, l *Login) error {
				u, err := l.Begin(ctx, worldBack)
				must(t, err)
				w.visit(u)
				callback := c.callback(u)
				err = l.Finish(callback)
				again = l.Finish(callback)
				return err
			}
			_, err := post(t, tr, "{}")
			said := w.journal()
			got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: ")
			if got != c.want || tally(said, "GET as.test/authorize") != 1 || tally(said, "POST as.test/token") > 0 != (c.want == "") {
				t.Errorf("the error is %q, after %q", got, said)
			}
			if errors.Is(err, ErrWrongState) != (c.want == foreign || c.want == malformed) || errors.Is(err, ErrLoginDeclined) != (c.name == "declined") {
				t.Errorf("the error is %#v", err)
			}
			if !errors.Is(again, ErrWrongState) {
				t.Errorf("a second time: %v", again)
			}
		})
	}
}

// AUTH-139 HOSTILE-36: the state of another login, and of an earlier one
func TestHostile36StatesOfOthers(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	var answers []string
	for range 2 {
		tr.Login = func(ctx context.Context, l *Login) error {
			u, err := l.Begin(ctx, worldBack)
			must(t, err)
			for _, earlier := range answers {
				if err := l.Finish(earlier); !errors.Is(err, ErrWrongState) {
					t.Errorf("an earlier answer: %v", err)
				}
			}
			answers = append(answers, w.visit(u))
			return l.Finish(answers[len(answers)-1])
		}
		w.good = map[string]bool{}
		_, err := post(t, tr, "{}")
		must(t, err)
	}
}

// AUTH-140: a state counts for ten minutes
func TestOAuthStateExpires(t *testing.T) {
	for d, want := range map[time.Duration]string{9 * time.Minute: "", 11 * time.Minute: "nobody has logged in within 10m0s"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			tr := w.transport()
			var finished error
			tr.Login = func(ctx context.Context, l *Login) error {
				u, err := l.Begin(ctx, worldBack)
				must(t, err)
				time.Sleep(d)
				finished = l.Finish(w.visit(u))
				return cmpError(ctx.Err(), finished)
			}
			_, err := post(t, tr, "{}")
			if got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: "); got != want && !(want != "" && strings.HasPrefix(got, "the answer to the login came after")) {
				t.Errorf("after %v: %v", d, err)
			}
			if (finished == nil) != (want == "") || tally(w.journal(), "POST as.test/token") > 0 != (want == "") {
				t.Errorf("after %v: %v", d, finished)
			}
		})
	}
}

// AUTH-141 AUTH-142 AUTH-447: each login keeps to its own issuer and endpoints
//
// AUTH-446
func TestOAuthConcurrentLogins(t *testing.T) {
	w := newWorld(t)
	other := issuerAt("https://as2.test")
	w.routes["as2.test/.well-known/oauth-authorization-server"] = w.document(&other)
	w.routes["as2.test/register"], w.routes["as2.test/authorize"], w.routes["as2.test/token"] = w.register, w.authorize, w.token
	tr := w.transport()
	var urls [2]string
	var logins [2]*Login
	var asked sync.WaitGroup
	asked.Add(2)
	tr.Login = func(ctx context.Context, l *Login) error {
		i := 0
		if l.Issuer != worldIssuer {
			i = 1
		}
		u, err := l.Begin(ctx, worldBack)
		must(t, err)
		urls[i], logins[i] = u, l
		asked.Done()
		asked.Wait()
		if err := l.Finish(callbackOf(urls[1-i], url.Values{"iss": {logins[1-i].Issuer}})); !errors.Is(err, ErrWrongState) {
			t.Errorf("the answer to the other login: %v", err)
		}
		w.set(func() { // what the metadata say now does not matter any more
			w.issuer["token_endpoint"], other["token_endpoint"] = "https://evil.test/token", "https://evil.test/token"
		})
		back, err := url.Parse(w.visit(u))
		must(t, err)
		q := back.Query()
		q.Set("iss", l.Issuer)
		return l.Finish(q.Encode())
	}
	second := members{"resource": "https://mcp2.test/mcp", "authorization_servers": []string{"https://as2.test"}}
	w.routes["mcp2.test/mcp"], w.routes["mcp2.test/.well-known/oauth-protected-resource/mcp"] = w.serveMCP, w.document(&second)
	w.refusal = ""
	var all sync.WaitGroup
	for _, server := range []string{worldServer, "https://mcp2.test/mcp"} {
		all.Go(func() {
			r, _ := http.NewRequest("POST", server, nil)
			if resp, err := tr.RoundTrip(r); err != nil || resp.StatusCode != 200 {
				t.Errorf("%s: %v %v", server, resp, err)
			}
		})
	}
	all.Wait()
	if said := w.journal(); tally(said, "POST as.test/token") != 1 || tally(said, "POST as2.test/token") != 1 || tally(said, "POST evil") != 0 {
		t.Errorf("requests were %q", said)
	}
}

// AUTH-150 AUTH-199 AUTH-200 AUTH-202 AUTH-203 AUTH-443 HOSTILE-42 HOSTILE-43
func TestOAuthTokenAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string // the error; empty: it is used
	}{
		{200, `{"access_token":"t","token_type":"bearer"}`, ""},
		{200, `{"access_token":"t","token_type":"Bearer","expires_in":"3600","id_token":7}`, ""},
		{200, `{"access_token":"t","token_type":"Bearer","expires_in":-1}`, ""},
		{200, `{"access_token":"t","token_type":"Bearer","expires_in":1e999}`, ""},
		{200, `<html>`, "https://as.test/token: the token answer is invalid: "},
		{200, `[]`, "https://as.test/token: the token answer is invalid: not a JSON object"},
		{200, `{"token_type":"Bearer"}`, "https://as.test/token: the token answer is invalid: it has no access_token that a header can carry"},
		{200, `{"access_token":"a\r\nb","token_type":"Bearer"}`, "https://as.test/token: the token answer is invalid: it has no access_token that a header can carry"},
		{200, `{"access_token":"t"}`, `https://as.test/token: the token answer is invalid: token_type "" is not what was asked for`},
		{200, `{"access_token":"t","token_type":"mac"}`, `https://as.test/token: the token answer is invalid: token_type "mac" is not what was asked for`},
		{200, `{"access_token":"t","token_type":"DPoP"}`, `https://as.test/token: the token answer is invalid: token_type "DPoP" is not what was asked for`},
		{200, `{"access_token":"t","token_type":"Bearer","ACCESS_TOKEN":"u"}`, `https://as.test/token: the token answer is invalid: the name "access_token" comes twice`},
		{201, `{"access_token":"t","token_type":"Bearer"}`, "https://as.test/token answered 201"},
		{400, `{"error":"invalid_target"}`, "https://as.test/token answered 400 invalid_target"},
		{400, `{"error":"invalid_request","error_description":"code-1 is used"}`, "https://as.test/token answered 400 invalid_request: … is used"},
		{401, `{"error":"temporarily_unavailable"}`, "https://as.test/token answered 401 temporarily_unavailable"},
		{502, strings.Repeat("x", 5000), "https://as.test/token answered 502: " + strings.Repeat("x", 1024)},
		{307, ``, "https://as.test/token answered 307"},
		{308, ``, "https://as.test/token answered 308"},
	} {
		w := newWorld(t)
		w.good["t"] = true
		w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Location", "https://evil.test/token")
			fixed(c.status, c.body)(rw, r)
		}
		_, err := post(t, w.transport(), "{}")
		got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: ")
		if c.want == "" && got != "" || c.want != "" && !strings.HasPrefix(got, c.want) || len(got) > len(c.want)+100 {
			t.Errorf("%.60s: the error is %s", c.body, got)
		}
		if said := w.journal(); tally(said, "POST as.test/token") != 1 || tally(said, "POST evil") != 0 || tally(said, "GET evil") != 0 {
			t.Errorf("%.60s: requests were %q", c.body, said)
		}
	}
}

// AUTH-212 AUTH-213 AUTH-214 AUTH-216 AUTH-257 AUTH-258
func TestBUG142RefreshWithoutNewToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer["refresh_token"] = "refresh-1"
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		w.journal()
		time.Sleep(3600*time.Second - 31*time.Second)
		mustPost(t, tr, "hello token-1")
		w.answer["refresh_token"] = nil
		for n := range 2 {
			time.Sleep(time.Hour)
			mustPost(t, tr, fmt.Sprint("hello token-", n+2))
			_, form := w.last("as.test/token")
			want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"refresh-1"}, "resource": {worldServer}, "client_id": {"registered-1"}}
			if form.Encode() != want.Encode() {
				t.Errorf("refreshed with %s, want %s", form.Encode(), want.Encode())
			}
		}
		w.answer["refresh_token"] = "refresh-2" // and then there is one
		for _, want := range []string{"refresh-1", "refresh-2"} {
			time.Sleep(time.Hour)
			_, err := post(t, tr, "{}")
			_, form := w.last("as.test/token")
			if err != nil || form.Get("refresh_token") != want {
				t.Errorf("refreshed with %s, want %s: %v", form.Get("refresh_token"), want, err)
			}
		}
		w.expect("POST mcp.test/mcp 200", "POST as.test/token 200", "POST mcp.test/mcp 200", "POST as.test/token 200", "POST mcp.test/mcp 200",
			"POST as.test/token 200", "POST mcp.test/mcp 200", "POST as.test/token 200", "POST mcp.test/mcp 200")
	})
}

// parallel makes requests at the same time.
func parallel(t *testing.T, n int, tr http.RoundTripper, want string) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if got, err := post(t, tr, "{}"); err != nil || got != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
	all.Wait()
}

// AUTH-215
func TestBUG139OneRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer["refresh_token"], w.answer["expires_in"] = "refresh-1", 2
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		w.journal()
		time.Sleep(3 * time.Second)
		w.set(func() { w.good = map[string]bool{} })
		w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) { time.Sleep(500 * time.Millisecond); w.token(rw, r) }
		parallel(t, 100, tr, "hello token-2")
		if said := w.journal(); len(said) != 101 || said[0] != "POST as.test/token 200" {
			t.Errorf("requests were %q", said)
		}
	})
}

// AUTH-215 AUTH-220: a hundred requests without a token cause one login
func TestOAuthOneLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tr := w.transport()
		logins := 0
		tr.Login = func(ctx context.Context, l *Login) error {
			logins++
			time.Sleep(time.Minute)
			return w.login(ctx, l)
		}
		parallel(t, 100, tr, "hello token-1")
		if said := w.journal(); logins != 1 || len(said) != 100+5+100 {
			t.Errorf("%d logins, requests were %q", logins, said)
		}

		w.set(func() { w.good = map[string]bool{} })
		tr.Login = func(context.Context, *Login) error { logins++; time.Sleep(time.Minute); return ErrLoginDeclined }
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := post(t, tr, "{}"); !errors.Is(err, ErrLoginDeclined) {
					t.Errorf("the error is %v", err)
				}
			})
		}
		all.Wait()
		if logins != 2 {
			t.Errorf("%d logins", logins)
		}
	})
}

// One caller's leaving is not another's failure.
func TestOAuthPilotLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tr := w.transport()
		tr.Login = func(ctx context.Context, l *Login) error {
			select {
			case <-time.After(time.Minute):
				return w.login(ctx, l)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		ctx, leave := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := postAs(ctx, tr, nil, "{}"); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if got, err := post(t, tr, "{}"); err != nil || got != "hello token-1" {
				t.Errorf("who stayed got %q, %v", got, err)
			}
		})
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all.Go(func() {
			if _, err := postAs(impatient, tr, nil, "{}"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who had no time got %v", err)
			}
		})
		time.Sleep(30 * time.Second)
		leave(gone)
		all.Wait()
	})
}

// AUTH-219 AUTH-263
func TestBUG140ExpiryIsAbsolute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer["refresh_token"], w.answer["expires_in"] = "refresh-1", 300
		store := &FileStore{Dir: t.TempDir()}
		tr := w.transport()
		tr.Store = store
		mustPost(t, tr, "hello token-1")
		w.journal()
		time.Sleep(10 * time.Minute)
		again := &OAuthTransport{Base: w, Outbound: w, Store: store} // another process, where nobody can log in
		mustPost(t, again, "hello token-2")
		w.expect("POST as.test/token 200", "POST mcp.test/mcp 200")
		third := &OAuthTransport{Base: w, Outbound: w, Store: store}
		mustPost(t, third, "hello token-2") // what it refreshed is stored
		mustPost(t, tr, "hello token-2")    // which is seen before the old one is refreshed
		w.expect("POST mcp.test/mcp 200", "POST mcp.test/mcp 200")

		stranger := &OAuthTransport{Base: w, Outbound: w, Store: store, User: "another"}
		if got, err := post(t, stranger, "{}"); err != nil || got != "401 " {
			t.Errorf("another user got %q, %v", got, err)
		}
		must(t, store.Save(t.Context(), storeKey("token", worldIssuer, worldServer, "registered-1", ""), []byte(`{"access_token":"token-2","resource":"`+worldServer+`"}`)))
		fourth := &OAuthTransport{Base: w, Outbound: w, Store: store}
		if got, err := post(t, fourth, "{}"); err != nil || got != "401 " {
			t.Errorf("a record without an issuer gave %q, %v", got, err)
		}
	})
}

// AUTH-214 AUTH-219: every kind of client can refresh in another process, but one that the application has no more
func TestOAuthRefreshByKindOfClient(t *testing.T) {
	key, err := GenerateKey("")
	must(t, err)
	given := OAuthClient{ID: "mine", Secret: "s"}
	for _, c := range []struct {
		name           string
		first, restart func(tr *OAuthTransport)
		methods        []string
		want           string // how the client authenticates; empty: it does not refresh
	}{
		{"given", func(tr *OAuthTransport) { tr.Clients = []OAuthClient{given} }, nil, []string{authPost}, "mine s"},
		{"given with a key", func(tr *OAuthTransport) { tr.Clients = []OAuthClient{{Issuer: worldIssuer, ID: "mine", Key: key}} }, nil, []string{authJWT}, " JWT"},
		{"given no more", func(tr *OAuthTransport) { tr.Clients = []OAuthClient{given} }, func(*OAuthTransport) {}, []string{authPost}, ""},
		{"a document", func(tr *OAuthTransport) { tr.MetadataURL = "https://app.test/c" }, nil, []string{authNone}, "https://app.test/c "},
		{"another document", func(tr *OAuthTransport) { tr.MetadataURL = "https://app.test/c" }, func(tr *OAuthTransport) { tr.MetadataURL = "https://app.test/d" }, []string{authNone}, ""},
		{"registered", func(*OAuthTransport) {}, nil, []string{authPost}, "registered-1 s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.issuer["client_id_metadata_document_supported"], w.issuer["token_endpoint_auth_methods_supported"] = true, c.methods
			w.client["client_secret"], w.answer["refresh_token"] = "s", "refresh-1"
			store := &FileStore{Dir: t.TempDir()}
			tr := w.transport()
			tr.Store = store
			c.first(tr)
			mustPost(t, tr, "hello token-1")
			files, err := os.ReadDir(store.Dir)
			must(t, err)
			for _, f := range files { // the application's secrets are its own affair
				if text, _ := os.ReadFile(filepath.Join(store.Dir, f.Name())); c.name != "registered" && strings.Contains(string(text), `"secret"`) {
					t.Errorf("%s: stored %s", c.name, text)
				}
			}
			time.Sleep(2 * time.Hour)
			again := &OAuthTransport{Base: w, Outbound: w, Store: store}
			restart := c.restart
			if restart == nil {
				restart = c.first
			}
			restart(again)
			w.journal()
			got, err := post(t, again, "{}")
			if c.want == "" {
				if err != nil || got != "401 " || len(w.journal()) != 1 {
					t.Errorf("%s: got %q, %v", c.name, got, err)
				}
				return
			}
			_, form := w.last("as.test/token")
			auth := form.Get("client_id") + " " + form.Get("client_secret")
			if form.Has("client_assertion") {
				auth += "JWT"
				checkAssertionOf(t, form, key, worldIssuer)
			}
			if err != nil || got != "hello token-2" || auth != c.want {
				t.Errorf("%s: got %q, %v, authenticated with %q", c.name, got, err, auth)
			}
		})
	}
}

// AUTH-217 AUTH-242 HOSTILE-47
func TestBUG143RefreshTokenDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer["refresh_token"] = "refresh-1"
		w.refusal = `Bearer scope="a"`
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		w.journal()
		time.Sleep(2 * time.Hour)
		w.good, w.refusal = map[string]bool{}, `Bearer scope="b"`
		w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
			w.routes["as.test/token"] = w.token
			writeMembers(rw, 400, members{"error": "invalid_grant"})
		}
		mustPost(t, tr, "hello token-2")
		w.expect("POST as.test/token 400", "POST mcp.test/mcp 401", "GET mcp.test/.well-known/oauth-protected-resource/mcp 200",
			"GET as.test/.well-known/oauth-authorization-server 200", "GET as.test/authorize 302", "POST as.test/token 200", "POST mcp.test/mcp 200")
		if r, _ := w.last("as.test/authorize"); r.URL.Query().Get("scope") != "a b" {
			t.Errorf("asked for %q", r.URL.Query().Get("scope"))
		}
	})
}

// AUTH-217
func TestOAuthRefreshFails(t *testing.T) {
	for _, c := range []struct {
		answer http.HandlerFunc
		want   string // the error; empty: another login
	}{
		{fixed(400, `{"error":"invalid_grant"}`), ""},
		{fixed(401, `{"error":"invalid_client"}`), ""}, // of a client that was registered dynamically
		{fixed(400, `{"error":"unauthorized_client"}`), ""},
		{fixed(400, `{"error":"invalid_scope"}`), "refreshing the token: https://as.test/token answered 400 invalid_scope"},
		{fixed(500, "oops"), "refreshing the token: https://as.test/token answered 500: oops"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.answer["refresh_token"] = "refresh-1"
			tr := w.transport()
			mustPost(t, tr, "hello token-1")
			w.journal()
			time.Sleep(2 * time.Hour)
			w.set(func() { w.good = map[string]bool{} })
			w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
				w.routes["as.test/token"] = w.token
				c.answer(rw, r)
			}
			_, err := post(t, tr, "{}")
			got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: ")
			if got != c.want || tally(w.journal(), "GET as.test/authorize") > 0 != (c.want == "") {
				t.Errorf("the error is %q, want %q", got, c.want)
			}
			if c.want != "" { // the refresh token is still there
				mustPost(t, tr, "hello token-2")
				w.expect("POST as.test/token 200", "POST mcp.test/mcp 200")
			}
		})
	}
}

// AUTH-221: the metadata come first, and then the refresh token, once
func TestOAuthRefreshAfter401(t *testing.T) {
	w := newWorld(t)
	w.answer["refresh_token"] = "refresh-1"
	tr := w.transport()
	mustPost(t, tr, "hello token-1")
	w.journal()
	w.set(func() { w.good = map[string]bool{} })
	mustPost(t, tr, "hello token-2")
	w.expect("POST mcp.test/mcp 401", "GET mcp.test/.well-known/oauth-protected-resource/mcp 200",
		"GET as.test/.well-known/oauth-authorization-server 200", "POST as.test/token 200", "POST mcp.test/mcp 200")
}

// AUTH-220: another process has the newer token
func TestOAuthStoreIsNewer(t *testing.T) {
	w := newWorld(t)
	w.answer["refresh_token"] = "refresh-1"
	first, second := w.transport(), w.transport()
	second.Store = &first.memory
	mustPost(t, first, "hello token-1")
	mustPost(t, second, "hello token-1")
	w.set(func() { w.good = map[string]bool{} })
	mustPost(t, first, "hello token-2")
	w.journal()
	mustPost(t, second, "hello token-2")
	w.expect("POST mcp.test/mcp 401", "POST mcp.test/mcp 200")
}

// AUTH-215: a refresh token that another process has used in the meantime
func TestOAuthRefreshRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer["refresh_token"] = "refresh-1"
		first, second := w.transport(), w.transport()
		second.Store = &first.memory
		mustPost(t, first, "hello token-1")
		mustPost(t, second, "hello token-1")
		w.journal()
		time.Sleep(2 * time.Hour)
		w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) { // of the second one
			w.routes["as.test/token"] = w.token
			if got, err := post(t, first, "{}"); err != nil || got != "hello token-2" {
				t.Errorf("the first got %q, %v", got, err)
			}
			writeMembers(rw, 400, members{"error": "invalid_grant"})
		}
		mustPost(t, second, "hello token-2")
		w.expect("POST as.test/token 200", "POST mcp.test/mcp 200", "POST as.test/token 400", "POST mcp.test/mcp 200")
	})
}

// AUTH-159 AUTH-213
func TestOAuthNoRefreshToken(t *testing.T) {
	for _, off := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			tr := w.transport()
			if tr.NoRefresh = off; off {
				w.answer["refresh_token"] = "refresh-1"
			}
			mustPost(t, tr, "hello token-1")
			w.journal()
			time.Sleep(2 * time.Hour)
			mustPost(t, tr, "hello token-2")
			w.expect("POST mcp.test/mcp 401", "GET mcp.test/.well-known/oauth-protected-resource/mcp 200",
				"GET as.test/.well-known/oauth-authorization-server 200", "GET as.test/authorize 302", "POST as.test/token 200", "POST mcp.test/mcp 200")
			if r := w.requests[len(loginRequests)]; r.Header.Get("Authorization") != "" {
				t.Error("an expired token was sent")
			}
		})
	}
}

// AUTH-224 HOSTILE-48
func TestHostile48AlwaysRefused(t *testing.T) {
	for _, refresh := range []any{nil, "refresh-1"} {
		w := newWorld(t)
		w.answer["refresh_token"] = refresh
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			rw.WriteHeader(401)
		}
		tr := w.transport()
		for range 2 { // a refresh token does not make it go on for ever, either
			_, err := post(t, tr, "{}")
			said := w.journal()
			if got := errorText(err); got != "authorization for https://mcp.test/mcp: the server refuses the token that was just obtained for it (invalid_token)" || !errors.Is(err, ErrUnauthorized) {
				t.Errorf("the error is %v", err)
			}
			if tally(said, "POST mcp.test/mcp") != 2 || tally(said, "GET as.test/authorize") != 1 || tally(said, "POST as.test/token") != 1 {
				t.Errorf("requests were %q", said)
			}
		}
	}
}

// AUTH-087 AUTH-244 HOSTILE-50
func TestBUG146PlainRefusals(t *testing.T) {
	for _, challenge := range []string{"", `Bearer error="invalid_token"`, `Bearer error="surprise"`, `Custom error="insufficient_scope", scope="x"`} {
		w := newWorld(t)
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		w.journal()
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("WWW-Authenticate", challenge)
			fixed(403, "no")(rw, nil)
		}
		if got, err := post(t, tr, "{}"); err != nil || got != "403 no" {
			t.Errorf("%s: got %q, %v", challenge, got, err)
		}
		w.expect("POST mcp.test/mcp 403")
	}
}

// AUTH-090
func TestOAuthOtherStatuses(t *testing.T) {
	for status, challenge := range map[int]string{200: "invalid_token", 500: "invalid_token", 400: "invalid_token", 404: "insufficient_scope"} {
		w := newWorld(t)
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("WWW-Authenticate", `Bearer error="`+challenge+`", scope="x"`)
			rw.WriteHeader(status)
		}
		_, err := post(t, w.transport(), "{}")
		must(t, err)
		w.expect(fmt.Sprint("POST mcp.test/mcp ", status))
	}
	w := newWorld(t)
	w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Bearer error="invalid_request"`)
		rw.WriteHeader(400)
	}
	if _, err := post(t, w.transport(), "{}"); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("the error is %v", err)
	}
}

// AUTH-223: no login for what is quiet
func TestOAuthQuiet(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	endpoint, _ := url.Parse(worldServer)
	if got, err := postAs(t.Context(), tr, &httpCause{endpoint: endpoint, quiet: true}, "{}"); err != nil || got != "401 " {
		t.Errorf("got %q, %v", got, err)
	}
	w.expect("POST mcp.test/mcp 401")
}

// What nobody waits for starts a login, but does not insist.
func TestOAuthBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tr := w.transport()
		endpoint, _ := url.Parse(worldServer)
		cause := &httpCause{endpoint: endpoint}
		logins := 0
		tr.Login = func(context.Context, *Login) error { logins++; return ErrLoginDeclined }
		for n := range 3 {
			if _, err := postAs(t.Context(), tr, cause, "{}"); !errors.Is(err, ErrLoginDeclined) || !errors.Is(err, ErrUnauthorized) || logins != 1 {
				t.Errorf("try %d: %d logins, %v", n, logins, err)
			}
		}
		if _, err := post(t, tr, "{}"); !errors.Is(err, ErrLoginDeclined) || logins != 2 { // who calls can try again
			t.Errorf("%d logins, %v", logins, err)
		}
		time.Sleep(11 * time.Minute)
		tr.Login = w.login
		if got, err := postAs(t.Context(), tr, cause, "{}"); err != nil || got != "hello token-1" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// Trouble on the way to a refresh passes: who listens comes back.
func TestOAuthBackgroundTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer["refresh_token"] = "refresh-1"
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		time.Sleep(2 * time.Hour)
		endpoint, _ := url.Parse(worldServer)
		w.routes["as.test/token"] = fixed(503, "")
		_, background := postAs(t.Context(), tr, &httpCause{endpoint: endpoint}, "{}")
		_, call := postAs(t.Context(), tr, &httpCause{endpoint: endpoint, logins: new(atomic.Int32)}, "{}")
		if background == nil || errors.Is(background, ErrUnauthorized) || !errors.Is(call, ErrUnauthorized) {
			t.Errorf("listening: %v; calling: %v", background, call)
		}
	})
}

// So does trouble with the documents.
func TestOAuthBackgroundDiscovery(t *testing.T) {
	w := newWorld(t)
	w.routes["as.test/.well-known/oauth-authorization-server"] = fixed(503, "")
	endpoint, _ := url.Parse(worldServer)
	_, background := postAs(t.Context(), w.transport(), &httpCause{endpoint: endpoint}, "{}")
	_, call := postAs(t.Context(), w.transport(), &httpCause{endpoint: endpoint, logins: new(atomic.Int32)}, "{}")
	if !errors.Is(background, ErrDiscovery) || errors.Is(background, ErrUnauthorized) || !errors.Is(call, ErrUnauthorized) {
		t.Errorf("listening: %v; calling: %v", background, call)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.routes["as.test/.well-known/oauth-authorization-server"] = func(http.ResponseWriter, *http.Request) { cancel() }
	if _, err := postAs(ctx, w.transport(), nil, "{}"); !errors.Is(err, ErrDiscovery) || !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// A token that was refused although it is new does not take a newer one with it.
func TestOAuthRefusalBesideLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tr := w.transport()
		refused, logins, asked, agreed := 0, 0, make(chan struct{}), make(chan struct{})
		tr.Login = func(ctx context.Context, l *Login) error {
			if logins++; logins == 2 {
				close(asked)
				<-agreed
			}
			return w.login(ctx, l)
		}
		var other sync.WaitGroup
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer token-1" {
				w.serveMCP(rw, r)
				return
			}
			if refused++; refused == 1 {
				other.Go(func() { mustPost(t, tr, "hello token-2") })
				<-asked
			}
			rw.WriteHeader(401)
		}
		other.Go(func() {
			synctest.Wait()
			close(agreed)
		})
		mustPost(t, tr, "hello token-2")
		other.Wait()
		if logins != 2 || tr.server(must1(url.Parse(worldServer))).now().AccessToken != "token-2" {
			t.Errorf("%d logins", logins)
		}
	})
}

// The connection of a refused request is not kept while a person logs in.
func TestOAuthRefusedBodyIsClosed(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	closed := false
	tr.Base = roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := w.RoundTrip(r)
		if err == nil && resp.StatusCode == 401 {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{resp.Body, closer(func() error { closed = true; return nil })}
		}
		return resp, err
	})
	tr.Login = func(ctx context.Context, l *Login) error {
		if !closed {
			t.Error("the body is open")
		}
		return w.login(ctx, l)
	}
	mustPost(t, tr, "hello token-1")
}

type closer func() error

func (f closer) Close() error { return f() }

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// AUTH-101 AUTH-447: a client without an issuer that was used elsewhere meanwhile, and one
// of which that cannot be known, are not used
func TestOAuthClientIsClaimed(t *testing.T) {
	for _, elsewhere := range []bool{true, false} {
		w := newWorld(t)
		tr := w.transport()
		tr.Clients = []OAuthClient{{ID: "mine", Secret: "SECRET"}}
		tr.Login = func(ctx context.Context, l *Login) error {
			u, err := l.Begin(ctx, worldBack)
			must(t, err)
			if elsewhere {
				must(t, tr.claim(ctx, storeKey("client", "mine"), "https://elsewhere.test"))
			} else {
				tr.Store = brokenStore{}
			}
			return l.Finish(w.visit(u))
		}
		_, err := post(t, tr, "{}")
		if errors.Is(err, ErrMismatch) != elsewhere || !errors.Is(err, ErrUnauthorized) {
			t.Errorf("the error is %v", err)
		}
		if said := w.journal(); tally(said, "GET as.test/authorize") != 1 || tally(said, "POST as.test/token") != 0 {
			t.Errorf("requests were %q", said)
		}
	}
}

// AUTH-117: the initial access token goes to one authorization server only
func TestOAuthInitialAccessToken(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	tr.InitialAccessToken = "initial"
	mustPost(t, tr, "hello token-1")
	w.move()
	mustPost(t, tr, "hello token-2")
	first, _ := w.last("as.test/register")
	second, _ := w.last("as2.test/register")
	if got := first.Header.Get("Authorization") + "," + second.Header.Get("Authorization"); got != "Bearer initial," {
		t.Errorf("sent %q", got)
	}
}

// Nobody who brings a callback waits for the network.
func TestOAuthCallbackDuringRequests(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	var login *Login
	var callback string
	late := func(next http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if err := login.Finish(callback); !errors.Is(err, ErrWrongState) {
				t.Errorf("the error is %v", err)
			}
			next(rw, r)
		}
	}
	w.routes["as.test/register"], w.routes["as.test/token"] = late(w.register), late(w.token)
	tr.Login = func(ctx context.Context, l *Login) error {
		login = l
		u, err := l.Begin(ctx, worldBack)
		must(t, err)
		callback = w.visit(u)
		return l.Finish(callback)
	}
	mustPost(t, tr, "hello token-1")
}

// What a server can have asked for is limited, however often it wants more.
func TestOAuthScopesAreLimited(t *testing.T) {
	scopes := func(prefix string) (list []string) {
		for n := range maxScopes {
			list = append(list, fmt.Sprint(prefix, n))
		}
		return list
	}
	d := &discovery{meta: &AuthorizationServerMetadata{}, prm: &ProtectedResourceMetadata{}}
	got := (&OAuthTransport{}).scopesFor(d, scopes("new"), &tokenRecord{Requested: scopes("old")}, true)
	if !slices.Equal(got, scopes("old")) {
		t.Errorf("asks for %q", got)
	}
}

// AUTH-460: no error has the query of the server's URL
func TestOAuthErrorsWithoutQuery(t *testing.T) {
	w := newWorld(t)
	w.resource["resource"] = "https://mcp.test/other?key=THEIRS"
	log := &bytes.Buffer{}
	tr := w.transport()
	tr.Log = slog.New(slog.NewTextHandler(log, nil))
	r, _ := http.NewRequest("POST", worldServer+"?key=OURS", nil)
	_, err := tr.RoundTrip(r)
	const want = "authorization for https://mcp.test/mcp: metadata of the protected resource, " +
		"https://mcp.test/.well-known/oauth-protected-resource/mcp: its resource is \"https://mcp.test/other\", not \"https://mcp.test/mcp\""
	if errorText(err) != want {
		t.Errorf("the error is %v", err)
	}
	w.resource["resource"], w.issuer["issuer"] = worldServer, "https://evil.test"
	if _, err = tr.RoundTrip(r); !errors.Is(err, ErrDiscovery) || strings.Contains(errorText(err)+log.String(), "OURS") || log.Len() == 0 {
		t.Errorf("the error is %v, the log\n%s", err, log)
	}
}

// AUTH-229 AUTH-460: nor does a failed revocation show the token
func TestOAuthRevocationKeepsSecrets(t *testing.T) {
	w := newWorld(t)
	w.issuer["revocation_endpoint"] = "https://as.test/revoke"
	w.routes["as.test/revoke"] = func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fixed(400, string(text))(rw, r)
	}
	log := &bytes.Buffer{}
	tr := w.transport()
	tr.Log = slog.New(slog.NewTextHandler(log, nil))
	mustPost(t, tr, "hello token-1")
	must(t, tr.Logout(t.Context(), worldServer))
	if !strings.Contains(log.String(), "https://as.test/revoke answered 400: ") || strings.Contains(log.String(), "token-1") {
		t.Errorf("the log is\n%s", log)
	}
}

// The time that people need does not count for the call.
func TestOAuthHoldsTheClock(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	endpoint, _ := url.Parse(worldServer)
	held := 0
	tr.Login = func(ctx context.Context, l *Login) error {
		if held != 1 {
			t.Errorf("held %d times during the login", held)
		}
		return w.login(ctx, l)
	}
	cause := &httpCause{endpoint: endpoint, logins: new(atomic.Int32), hold: func() func() { held++; return func() { held-- } }}
	if _, err := postAs(t.Context(), tr, cause, "{}"); err != nil || held != 0 || cause.logins.Load() != 1 {
		t.Errorf("%v; held %d times after the login, %d logins", err, held, cause.logins.Load())
	}
}

// scoped is an MCP server whose methods need scopes: a token has those it was asked for.
func (w *world) scoped(needs map[string]string) {
	granted := map[string][]string{}
	w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.set(func() {
			scope := w.codes[form.Get("code")].Get("scope")
			if form.Get("grant_type") != grantCode {
				scope = form.Get("scope")
			}
			granted[fmt.Sprintf("Bearer token-%d", w.issued+1)] = strings.Fields(scope)
		})
		w.token(rw, r)
	}
	w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var need []string
		var has []string
		w.set(func() { need, has = strings.Fields(needs[string(body)]), granted[r.Header.Get("Authorization")] })
		if r.Header.Get("Authorization") != "" && !coversScopes(has, need) {
			rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+strings.Join(need, " ")+`"`)
			rw.WriteHeader(403)
			return
		}
		w.serveMCP(rw, r)
	}
}

// scopesAsked lists what the authorization requests asked for.
func (w *world) scopesAsked() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if r.URL.Path == "/authorize" {
			list = append(list, r.URL.Query().Get("scope"))
		}
	}
	return list
}

// AUTH-238 AUTH-240 AUTH-241 AUTH-243 AUTH-248 AUTH-250
func TestBUG145ScopesAccumulate(t *testing.T) {
	w := newWorld(t)
	w.resource["scopes_supported"] = []string{"profile"}
	w.answer["refresh_token"] = "refresh-1"
	w.scoped(map[string]string{"initialize": "init", "list": "read profile", "call": "write"})
	tr := w.transport()
	endpoint, _ := url.Parse(worldServer)
	for range 2 {
		for _, method := range []string{"initialize", "list", "call"} {
			cause := &httpCause{endpoint: endpoint, method: method, logins: new(atomic.Int32)}
			if got, err := postAs(t.Context(), tr, cause, method); err != nil || !strings.HasPrefix(got, "hello ") {
				t.Fatalf("%s: %q, %v", method, got, err)
			}
		}
	}
	if got, want := w.scopesAsked(), []string{"profile", "profile init", "profile init read", "profile init read write"}; !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	said := w.journal()
	if tally(said, "POST as.test/register") != 1 || tally(said, "GET mcp.test/.well-known/") != 1 || tally(said, "POST mcp.test/mcp 403") != 3 {
		t.Errorf("requests were %q", said)
	}
	for i, r := range w.requests {
		if r.URL.Path == "/token" && strings.Contains(w.bodies[i], "refresh") {
			t.Error("a step-up used the refresh token")
		}
	}
}

// A server that lets initialize in without a token, but not server/discover, talks
// nobody into an older revision: the client logs in first, or fails.
//
// HOSTILE-53
func TestHostile53OldRevisionWithoutToken(t *testing.T) {
	for _, login := range []bool{true, false} {
		w := newWorld(t)
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			w.mu.Lock()
			good := w.good[token]
			w.mu.Unlock()
			switch f := parseFrame(body); {
			case f.messages[0].method == methodInitialize:
				jsonReply(initializeAnswer(1, Revision20251125))(rw, r)
			case good:
				jsonReply(discovered(1, "{}"))(rw, r)
			default:
				rw.Header().Set("WWW-Authenticate", w.refusal)
				rw.WriteHeader(401)
			}
		}
		tr, said := w.transport(), []string{methodDiscover, methodDiscover}
		if !login {
			tr.Login, said = nil, said[:1]
		}
		client := statelessClient(ClientOptions{})
		cs, err := client.Connect(t.Context(), &HTTPTransport{URL: worldServer, Client: &http.Client{Transport: tr}})
		if login {
			must(t, err)
			want(t, "revision", cs.Revision(), Revision20260728)
			must(t, cs.Close())
		} else {
			want(t, "unauthorized", errors.Is(err, ErrUnauthorized), true)
		}
		want(t, "remembered as old", len(client.old), 0)
		var methods []string
		for i, r := range w.requests {
			if r.URL.Path == "/mcp" {
				methods = append(methods, parseFrame([]byte(w.bodies[i])).messages[0].method)
			}
		}
		want(t, "methods", methods, said)
	}
}

// AUTH-246 AUTH-247 HOSTILE-49
func TestHostile49AlwaysMoreScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := 0
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				rw.WriteHeader(401)
				return
			}
			n++
			rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="s%d"`, n))
			rw.WriteHeader(403)
		}
		tr := w.transport()
		endpoint, _ := url.Parse(worldServer)
		call := func(name string) error {
			_, err := postAs(t.Context(), tr, &httpCause{endpoint: endpoint, method: "tools/call", name: func() string { return name }, logins: new(atomic.Int32)}, "{}")
			return err
		}
		err := call("a")
		want := `authorization for https://mcp.test/mcp: the server wants the scopes "s3": 2 more extensive tokens did not help`
		if got := w.scopesAsked(); errorText(err) != want || !errors.Is(err, ErrInsufficientScope) || !slices.Equal(got, []string{"", "s1", "s1 s2"}) {
			t.Errorf("asked for %q: %v", got, err)
		}
		for range 3 {
			if err := call("a"); !errors.Is(err, ErrInsufficientScope) || len(w.scopesAsked()) != 3 {
				t.Errorf("again: %v", err)
			}
		}
		if err := call("b"); !errors.Is(err, ErrInsufficientScope) || len(w.scopesAsked()) != 5 { // another operation
			t.Errorf("another operation: %v after %d logins", err, len(w.scopesAsked()))
		}
		time.Sleep(11 * time.Minute)
		if err := call("a"); !errors.Is(err, ErrInsufficientScope) || len(w.scopesAsked()) != 7 { // it is forgotten
			t.Errorf("later: %v after %d logins", err, len(w.scopesAsked()))
		}
	})
}

// AUTH-201 AUTH-247: the same scope for ever, which the token has; and one that is never granted
func TestOAuthScopeThatDoesNotHelp(t *testing.T) {
	for _, c := range []struct {
		granted any
		logins  int
		want    string
	}{
		{nil, 2, `the server wants the scopes "s": the token has them`},
		{"", 3, `the server wants the scopes "s": 2 more extensive tokens did not help`},
	} {
		w := newWorld(t)
		w.answer["scope"] = c.granted
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				rw.WriteHeader(401)
				return
			}
			rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="s"`)
			rw.WriteHeader(403)
		}
		_, err := post(t, w.transport(), "{}")
		if got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: "); got != c.want || len(w.scopesAsked()) != c.logins {
			t.Errorf("%d logins: %s", len(w.scopesAsked()), got)
		}
	}
}

// AUTH-247: a refusal of the person is remembered
//
// AUTH-458
func TestOAuthStepUpDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.scoped(map[string]string{"call": "write"})
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		w.callback = url.Values{"iss": {worldIssuer}, "code": nil, "error": {"access_denied"}}
		if _, err := post(t, tr, "call"); !errors.Is(err, ErrLoginDeclined) {
			t.Errorf("the error is %v", err)
		}
		w.callback = url.Values{"iss": {worldIssuer}}
		_, err := post(t, tr, "call")
		if !errors.Is(err, ErrInsufficientScope) || !strings.HasSuffix(err.Error(), `"write": more were declined a short while ago`) {
			t.Errorf("the error is %v", err)
		}
		mustPost(t, tr, "hello token-1") // the old token is still good
		time.Sleep(11 * time.Minute)
		if got, err := post(t, tr, "call"); err != nil || !strings.HasPrefix(got, "hello ") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// AUTH-155: what the application does not want is not asked for again and again
func TestOAuthStepUpFiltered(t *testing.T) {
	w := newWorld(t)
	w.scoped(map[string]string{"call": "write"})
	tr := w.transport()
	tr.FilterScopes = func(s []string) []string { return slices.DeleteFunc(s, func(s string) bool { return s == "write" }) }
	_, err := post(t, tr, "call")
	if !errors.Is(err, ErrInsufficientScope) || !strings.HasSuffix(err.Error(), `"write": the application does not ask for them`) || len(w.scopesAsked()) != 1 {
		t.Errorf("asked for %q: %v", w.scopesAsked(), err)
	}
}

// AUTH-249: others use the old token while a person gives more
func TestOAuthStepUpBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.scoped(map[string]string{"call": "write"})
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		logins := 0
		tr.Login = func(ctx context.Context, l *Login) error {
			logins++
			time.Sleep(time.Minute)
			return w.login(ctx, l)
		}
		var all sync.WaitGroup
		for range 100 { // of which one asks the person
			all.Go(func() {
				if got, err := post(t, tr, "call"); err != nil || got != "hello token-2" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		time.Sleep(30 * time.Second)
		mustPost(t, tr, "hello token-1")
		all.Wait()
		if logins != 1 {
			t.Errorf("%d logins", logins)
		}
	})
}

// AUTH-245
func TestOAuthStepUpWithoutScope(t *testing.T) {
	for offered, want := range map[string]int{"": 1, "a": 1, "a b": 2} {
		w := newWorld(t)
		w.refusal = `Bearer scope="a"`
		if offered != "" {
			w.resource["scopes_supported"] = strings.Fields(offered)
		}
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer token-1" {
				rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
				rw.WriteHeader(403)
				return
			}
			w.serveMCP(rw, r)
		}
		got, err := post(t, w.transport(), "{}")
		if err != nil || got != map[int]string{1: "403 ", 2: "hello token-2"}[want] || len(w.scopesAsked()) != want {
			t.Errorf("%q offered: got %q, %v after %q", offered, got, err, w.scopesAsked())
		}
	}
}

// AUTH-063: what was found is relied on for an hour
func TestOAuthDiscoveryAges(t *testing.T) {
	for age, want := range map[time.Duration]int{59 * time.Minute: 0, 61 * time.Minute: 2} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.answer["expires_in"] = nil
			w.scoped(map[string]string{"call": "write"})
			tr := w.transport()
			mustPost(t, tr, "hello token-1")
			w.journal()
			time.Sleep(age)
			got, err := post(t, tr, "call")
			said := w.journal()
			if n := tally(said, "GET mcp.test/.well-known/") + tally(said, "GET as.test/.well-known/"); err != nil || got != "hello token-2" || n != want {
				t.Errorf("after %v: got %q, %v with %d documents", age, got, err, n)
			}
		})
	}
}

// AUTH-247: what is remembered of step-ups is bounded
func TestOAuthOperationsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &OAuthTransport{}
		for n := range 2 * maxOperations {
			time.Sleep(time.Millisecond)
			if why := tr.step(fmt.Sprint(n), 1); why != "" {
				t.Fatal(why)
			}
		}
		if len(tr.operations) != maxOperations || tr.step(fmt.Sprint(2*maxOperations-1), 1) == "" || tr.step("0", 1) != "" {
			t.Errorf("%d operations", len(tr.operations))
		}
		for n := range 2 * maxEndpoints {
			time.Sleep(time.Millisecond)
			tr.server(&url.URL{Scheme: "https", Host: "h.test", Path: fmt.Sprint("/", n)})
		}
		if len(tr.servers) != maxEndpoints {
			t.Errorf("%d servers", len(tr.servers))
		}
	})
}

// AUTH-222
func TestBUG148BodyIsRepeated(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	body := &closed{Reader: strings.NewReader("the body")}
	r, _ := http.NewRequest("POST", worldServer, body) // without GetBody
	r.Header["X-Mine"] = []string{"1"}
	resp, err := tr.RoundTrip(r)
	if err != nil || resp.StatusCode != 200 || !body.closed || len(r.Header) != 1 {
		t.Errorf("got %v, %v; closed: %v; headers: %v", resp, err, body.closed, r.Header)
	}
	var bodies []string
	for i, r := range w.requests {
		if r.URL.Path == "/mcp" {
			bodies = append(bodies, w.bodies[i]+r.Header.Get("X-Mine"))
		}
	}
	if want := []string{"the body1", "the body1"}; !slices.Equal(bodies, want) {
		t.Errorf("bodies were %q", bodies)
	}
	large := &closed{Reader: io.LimitReader(zeros{}, maxRepeated+1)}
	r, _ = http.NewRequest("POST", worldServer, large)
	if _, err := tr.RoundTrip(r); err == nil || !large.closed {
		t.Errorf("a large body: %v", err)
	}
}

type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error { c.closed = true; return nil }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// AUTH-208 HOSTILE-51: a redirect to another origin takes no token along
func TestHostile51Redirects(t *testing.T) {
	for _, to := range []string{"https://evil.test/mcp", "https://mcp.test:8443/mcp", "http://mcp.test/mcp", "https://sub.mcp.test/mcp"} {
		w := newWorld(t)
		tr := w.transport()
		mustPost(t, tr, "hello token-1")
		var stolen []string
		u, _ := url.Parse(to)
		w.routes[u.Host+"/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			stolen = append(stolen, r.Header.Get("Authorization")+r.Header.Get("DPoP"))
			rw.WriteHeader(401)
		}
		if u.Host != "mcp.test" {
			w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusTemporaryRedirect) }
		}
		w.journal()
		endpoint, _ := url.Parse(worldServer)
		ctx := context.WithValue(t.Context(), causeKey{}, &httpCause{endpoint: endpoint})
		r, _ := http.NewRequestWithContext(ctx, "POST", to, nil)
		resp, err := tr.RoundTrip(r)
		if err != nil || resp.StatusCode != 401 || !slices.Equal(stolen, []string{""}) || len(w.journal()) != 1 {
			t.Errorf("%s: %v, %v; it got %q", to, resp, err, stolen)
		}
	}
}

// provedBy checks the proof of a request, and returns its thumbprint and id.
func provedBy(t *testing.T, r *http.Request, token string) (jkt, jti string) {
	t.Helper()
	if n := len(r.Header.Values("DPoP")); n != 1 {
		t.Fatalf("%s %s has %d proofs", r.Method, r.URL, n)
	}
	jkt, jti, err := (&proofCheck{method: r.Method, url: r.URL.String(), token: token, algs: algorithmNames(), now: time.Now()}).check(r.Header.Get("DPoP"))
	if err != nil {
		t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	return jkt, jti
}

// AUTH-408 AUTH-409 AUTH-410 AUTH-411 AUTH-412 AUTH-413 AUTH-414 AUTH-415 HOSTILE-44 HOSTILE-45 HOSTILE-46 AUTH-416
func TestOAuthDPoP(t *testing.T) {
	needsNonce := func(w *world, header, body string) func(rw http.ResponseWriter, r *http.Request, nonce string, next http.HandlerFunc) {
		return func(rw http.ResponseWriter, r *http.Request, nonce string, next http.HandlerFunc) {
			token, err := parseJWT(r.Header.Get("DPoP"))
			if err == nil && token.text("nonce") == nonce {
				next(rw, r)
				return
			}
			rw.Header().Set("DPoP-Nonce", nonce)
			status := 400
			if header != "" {
				status = 401
				rw.Header().Set("WWW-Authenticate", header)
			}
			fixed(status, body)(rw, r)
		}
	}
	const listed = "dpop_signing_alg_values_supported"
	for _, c := range []struct {
		name   string
		off    bool
		change func(w *world)
		want   string // the type of the token; or the error
		asked  []string
	}{
		{"advertised", false, func(w *world) { w.issuer[listed] = []string{"ES256"} }, "DPoP", nil},
		{"challenged", false, func(w *world) { w.refusal = `DPoP algs="ES256"` }, "DPoP", nil},
		{"required", false, func(w *world) { w.resource["dpop_bound_access_tokens_required"] = true }, "DPoP", nil},
		{"another algorithm", false, func(w *world) { w.issuer[listed] = []string{"EdDSA", "HS256"} }, "DPoP", nil},
		{"not advertised", false, func(w *world) { w.answer["token_type"] = "Bearer" }, "Bearer", nil},
		{"off", true, func(w *world) { w.issuer[listed], w.answer["token_type"] = []string{"ES256"}, "Bearer" }, "Bearer", nil},
		{"off but required", true, func(w *world) { w.resource["dpop_bound_access_tokens_required"] = true },
			"the server wants tokens that are bound to a key, and OAuthTransport.DPoP is off", nil},
		{"no algorithm", false, func(w *world) { w.issuer[listed], w.answer["token_type"] = []string{"HS256"}, "Bearer" }, "Bearer", nil},
		{"no algorithm but required", false, func(w *world) { w.issuer[listed], w.refusal = []string{"HS256"}, "DPoP" },
			"the server wants DPoP, and https://as.test supports none of its algorithms that are known", nil},
		{"bearer after all", false, func(w *world) { w.issuer[listed], w.answer["token_type"] = []string{"ES256"}, "Bearer" }, "Bearer", nil},
		{"bearer although required", false, func(w *world) { w.refusal, w.answer["token_type"] = "DPoP", "Bearer" },
			"https://as.test/token: the token is not bound to the key, as the server wants it", nil},
		{"nonces", false, func(w *world) {
			w.refusal = "DPoP"
			w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
				needsNonce(w, "", `{"error":"use_dpop_nonce"}`)(rw, r, "as-nonce", w.token)
			}
			w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					w.serveMCP(rw, r)
					return
				}
				needsNonce(w, `DPoP error="use_dpop_nonce"`, "")(rw, r, "mcp-nonce", w.serveMCP)
			}
		}, "DPoP", []string{"POST as.test/token 400", "POST as.test/token 200", "POST mcp.test/mcp 401", "POST mcp.test/mcp 200"}},
		{"nonces beside Bearer", false, func(w *world) {
			w.refusal = "DPoP"
			w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					w.serveMCP(rw, r)
					return
				}
				needsNonce(w, `Bearer resource_metadata="https://mcp.test/x", DPoP error="use_dpop_nonce"`, "")(rw, r, "mcp-nonce", w.serveMCP)
			}
		}, "DPoP", []string{"POST as.test/token 200", "POST mcp.test/mcp 401", "POST mcp.test/mcp 200"}},
		{"nonces for ever", false, func(w *world) {
			n := 0
			w.refusal = "DPoP"
			w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
				n++
				rw.Header().Set("DPoP-Nonce", fmt.Sprint("n", n))
				fixed(400, `{"error":"use_dpop_nonce"}`)(rw, r)
			}
		}, "https://as.test/token answered 400 use_dpop_nonce", []string{"POST as.test/token 400", "POST as.test/token 400"}},
		{"a nonce without need", false, func(w *world) {
			w.refusal = "DPoP"
			w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("DPoP-Nonce", "n")
				fixed(400, `{"error":"invalid_request"}`)(rw, r)
			}
		}, "https://as.test/token answered 400 invalid_request", []string{"POST as.test/token 400"}},
		{"nonces of the MCP server for ever", false, func(w *world) {
			n := 0
			w.refusal = "DPoP"
			w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
				if n++; n > 1 {
					rw.Header().Set("DPoP-Nonce", fmt.Sprint("n", n))
					rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
				}
				rw.WriteHeader(401)
			}
			w.routes["mcp.test/.well-known/oauth-protected-resource/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
				writeMembers(rw, 200, w.resource.with(members{"dpop_bound_access_tokens_required": true}))
			}
		}, "the server does not accept the DPoP nonce it gave", []string{"POST as.test/token 200", "POST mcp.test/mcp 401", "POST mcp.test/mcp 401"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.answer["token_type"] = "DPoP"
			c.change(w)
			tr := w.transport()
			tr.DPoP = !c.off
			_, err := post(t, tr, "{}")
			if c.asked != nil {
				said := w.journal()
				if i := tally(said, "GET "); !slices.Equal(said[i+2:], c.asked) {
					t.Errorf("requests were %q", said)
				}
			}
			if err != nil {
				if got := strings.TrimPrefix(err.Error(), "authorization for https://mcp.test/mcp: "); got != c.want {
					t.Errorf("the error is %s", got)
				}
				return
			}
			if c.want == "Bearer" {
				if r, _ := w.last("mcp.test/mcp"); r.Header.Get("Authorization") != "Bearer token-1" || r.Header.Get("DPoP") != "" {
					t.Errorf("headers are %v", r.Header)
				}
				return
			}
			_, err = post(t, tr, "{}")
			must(t, err)
			ids, keys := map[string]bool{}, map[string]bool{}
			proofs := 0
			for _, r := range w.requests {
				scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
				if r.URL.Path == "/token" || r.URL.Path == "/mcp" && token != "" {
					jkt, jti := provedBy(t, r, token)
					ids[jti], keys[jkt] = true, true
					proofs++
				} else if r.Header.Get("DPoP") != "" {
					t.Errorf("%s has a proof", r.URL)
				}
				if scheme != "" && scheme != "DPoP" {
					t.Errorf("the scheme is %q", scheme)
				}
			}
			if len(ids) != proofs || len(keys) != 1 || proofs < 3 {
				t.Errorf("%d proofs with %d ids and %d keys", proofs, len(ids), len(keys))
			}
		})
	}
}

// AUTH-410 AUTH-415: the key of a token lives as long as its refresh token, and nonces that come with success count
func TestOAuthDPoPRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refusal = "DPoP"
		w.answer["token_type"], w.answer["refresh_token"] = "DPoP", "refresh-1"
		w.routes["mcp.test/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("DPoP-Nonce", "later")
			w.serveMCP(rw, r)
		}
		tr := w.transport()
		tr.DPoP = true
		mustPost(t, tr, "hello token-1")
		before, _ := provedBy(t, w.requests[len(w.requests)-1], "token-1")
		time.Sleep(2 * time.Hour)
		again := &OAuthTransport{Base: w, Outbound: w, Store: &tr.memory}
		mustPost(t, again, "hello token-2")
		r, _ := w.last("as.test/token")
		refreshed, _ := provedBy(t, r, "")
		r, _ = w.last("mcp.test/mcp")
		after, _ := provedBy(t, r, "token-2")
		if before != refreshed || before != after {
			t.Errorf("keys are %s, %s, %s", before, refreshed, after)
		}
		mustPost(t, again, "hello token-2")
		r, _ = w.last("mcp.test/mcp")
		if token, err := parseJWT(r.Header.Get("DPoP")); err != nil || token.text("nonce") != "later" {
			t.Errorf("the nonce is %q, %v", token.text("nonce"), err)
		}
	})
}

// AUTH-060 AUTH-381 AUTH-382 AUTH-383 AUTH-384 AUTH-385 AUTH-389 AUTH-390 AUTH-380 AUTH-444
func TestOAuthClientCredentials(t *testing.T) {
	key, err := GenerateKey("")
	must(t, err)
	for _, c := range []struct {
		client OAuthClient
		method string
	}{{OAuthClient{Issuer: worldIssuer, ID: "mine", Secret: "s"}, authBasic}, {OAuthClient{ID: "mine", Secret: "s"}, authPost}, {OAuthClient{ID: "mine", Key: key}, authJWT}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.refusal = `Bearer scope="a b"`
			w.issuer = w.issuer.with(members{"authorization_endpoint": nil, "code_challenge_methods_supported": nil,
				"token_endpoint_auth_methods_supported": []string{c.method}, "grant_types_supported": []string{grantCredentials}})
			tr := &OAuthTransport{Base: w, Outbound: w, Grant: &ClientCredentials{}, Clients: []OAuthClient{c.client}}
			mustPost(t, tr, "hello token-1")
			r, form := w.last("as.test/token")
			want := url.Values{"grant_type": {grantCredentials}, "resource": {worldServer}, "scope": {"a b"}}
			switch c.method {
			case authBasic:
				if id, secret, ok := r.BasicAuth(); !ok || id != "mine" || secret != "s" {
					t.Errorf("authenticated as %q with %q", id, secret)
				}
			case authPost:
				want.Set("client_id", "mine")
				want.Set("client_secret", "s")
			case authJWT:
				checkAssertionOf(t, form, key, worldIssuer)
				form.Del("client_assertion")
				form.Del("client_assertion_type")
			}
			if form.Encode() != want.Encode() {
				t.Errorf("asked with %s, want %s", form.Encode(), want.Encode())
			}
			w.journal()
			time.Sleep(time.Hour)
			parallel(t, 10, tr, "hello token-2") // before a request would be refused
			if said := w.journal(); len(said) != 13 || tally(said, "POST mcp.test/mcp 200") != 10 || tally(said, "POST as.test/token") != 1 {
				t.Errorf("requests were %q", said)
			}
		})
	}
	for _, change := range []func(w *world, tr *OAuthTransport){
		func(w *world, _ *OAuthTransport) {
			w.routes["as.test/token"] = fixed(401, `{"error":"invalid_client"}`)
		},
		func(w *world, _ *OAuthTransport) { w.routes["as.test/token"] = fixed(400, `{"error":"invalid_scope"}`) },
		func(w *world, _ *OAuthTransport) { w.issuer["grant_types_supported"] = []string{grantCode} },
		func(_ *world, tr *OAuthTransport) { tr.Clients = nil },
	} {
		w := newWorld(t)
		tr := w.transport()
		tr.Grant, tr.Clients = &ClientCredentials{}, []OAuthClient{{ID: "mine", Secret: "s"}}
		change(w, tr)
		_, err := post(t, tr, "{}")
		if said := w.journal(); !errors.Is(err, ErrUnauthorized) || tally(said, "POST as.test/token") > 1 || tally(said, "GET as.test/authorize")+tally(said, "POST as.test/register") != 0 {
			t.Errorf("the error is %v, after %q", err, said)
		}
	}
}

// AUTH-239: a grant tries once with more scopes
func TestOAuthGrantStepsUp(t *testing.T) {
	w := newWorld(t)
	needs := map[string]string{"call": "write"}
	w.scoped(needs)
	tr := &OAuthTransport{Base: w, Outbound: w, Grant: &ClientCredentials{}, Clients: []OAuthClient{{ID: "mine", Secret: "s"}}}
	if got, err := post(t, tr, "call"); err != nil || got != "hello token-2" {
		t.Errorf("got %q, %v", got, err)
	}
	w.set(func() { needs["call"] = "other" })
	w.journal()
	_, err := post(t, tr, "call")
	if said := w.journal(); !errors.Is(err, ErrInsufficientScope) || tally(said, "POST as.test/token") != 0 {
		t.Errorf("the error is %v, after %q", err, said)
	}
}

// AUTH-391 AUTH-392 AUTH-393 AUTH-394 AUTH-395 AUTH-396 AUTH-397 AUTH-398 AUTH-399 AUTH-400 AUTH-401
func TestOAuthEnterpriseGrant(t *testing.T) {
	assertion := newMint(t, "ES256", "k").token(members{"exp": time.Now().Add(5 * time.Hour).Unix()})
	expired := newMint(t, "ES256", "k").token(members{"exp": time.Now().Add(-time.Hour).Unix()})
	good := `{"access_token":"id-jag","issued_token_type":"` + tokenTypeIDJAG + `","token_type":"N_A"}`
	for _, c := range []struct {
		name   string
		change func(w *world, g *EnterpriseGrant)
		want   string // the error; empty: it works
	}{
		{"found", func(*world, *EnterpriseGrant) {}, ""},
		{"given", func(_ *world, g *EnterpriseGrant) { g.Issuer, g.TokenEndpoint = "", "https://idp.test/token" }, ""},
		{"another issuer", func(w *world, _ *EnterpriseGrant) {
			w.routes["idp.test/.well-known/oauth-authorization-server"] = fixed(200, `{"issuer":"https://evil.test","token_endpoint":"https://idp.test/token"}`)
		}, `the identity provider: https://idp.test/.well-known/oauth-authorization-server: its issuer is "https://evil.test", not "https://idp.test"; ` +
			`https://idp.test/.well-known/openid-configuration: 404 Not Found`},
		{"not https", func(_ *world, g *EnterpriseGrant) { g.TokenEndpoint = "http://idp.test/token" },
			`the identity provider: http://idp.test/token: not allowed here: "http://idp.test/token" is not https`},
		{"refused", func(w *world, _ *EnterpriseGrant) {
			w.routes["idp.test/token"] = fixed(400, `{"error":"invalid_grant"}`)
		},
			"the identity provider: https://idp.test/token answered 400 invalid_grant"},
		{"refused in the end", func(w *world, _ *EnterpriseGrant) {
			w.routes["as.test/token"] = fixed(400, `{"error":"invalid_grant"}`)
		}, "https://as.test/token answered 400 invalid_grant"},
		{"another type", func(w *world, _ *EnterpriseGrant) {
			w.routes["idp.test/token"] = fixed(200, `{"access_token":"x","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"}`)
		}, `the identity provider: https://idp.test/token issued "urn:ietf:params:oauth:token-type:access_token" of type "Bearer", want urn:ietf:params:oauth:token-type:id-jag of type N_A`},
		{"expired", func(_ *world, g *EnterpriseGrant) {
			g.Assertion = func(context.Context) (string, string, error) { return expired, "", nil }
		}, "the identity provider: the application's assertion has expired at "},
		{"none", func(_ *world, g *EnterpriseGrant) {
			g.Assertion = func(context.Context) (string, string, error) { return "", "", errors.New("not signed in") }
		}, "the identity provider: not signed in"},
		{"nil", func(_ *world, g *EnterpriseGrant) { g.Assertion = nil }, "the identity provider: EnterpriseGrant.Assertion is nil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.refusal = `Bearer scope="a"`
			w.issuer["token_endpoint_auth_methods_supported"] = []string{authBasic}
			w.routes["idp.test/.well-known/oauth-authorization-server"] = fixed(200, `{"issuer":"https://idp.test","token_endpoint":"https://idp.test/token","token_endpoint_auth_methods_supported":["none"]}`)
			w.routes["idp.test/token"] = fixed(200, good)
			g := &EnterpriseGrant{Issuer: "https://idp.test", Client: OAuthClient{ID: "at-idp"}, Assertion: func(context.Context) (string, string, error) { return assertion, "", nil }}
			c.change(w, g)
			tr := w.transport()
			tr.Grant, tr.Clients = g, []OAuthClient{{Issuer: worldIssuer, ID: "at-as", Secret: "s"}}
			_, err := post(t, tr, "{}")
			said := w.journal()
			if tally(said, "GET as.test/authorize") != 0 || tally(said, "POST idp.test/token") > 1 || tally(said, "POST as.test/token") > 1 {
				t.Errorf("requests were %q", said)
			}
			if c.want != "" {
				got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: ")
				if !strings.HasPrefix(got, c.want) || len(got) > len(c.want)+30 || strings.Contains(got, assertion) || !errors.Is(err, ErrUnauthorized) {
					t.Errorf("the error is %s", got)
				}
				return
			}
			must(t, err)
			_, form := w.last("idp.test/token")
			want := url.Values{"grant_type": {grantExchange}, "requested_token_type": {tokenTypeIDJAG}, "audience": {worldIssuer}, "resource": {worldServer}, "scope": {"a"},
				"subject_token": {assertion}, "subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"}, "client_id": {"at-idp"}}
			if form.Encode() != want.Encode() {
				t.Errorf("exchanged with %s, want %s", form.Encode(), want.Encode())
			}
			r, form := w.last("as.test/token")
			want = url.Values{"grant_type": {grantJWT}, "assertion": {"id-jag"}, "resource": {worldServer}, "scope": {"a"}}
			if id, secret, _ := r.BasicAuth(); form.Encode() != want.Encode() || id != "at-as" || secret != "s" {
				t.Errorf("asked as %q with %s, want %s", id, form.Encode(), want.Encode())
			}
			s := tr.server(&url.URL{Scheme: "https", Host: "mcp.test", Path: "/mcp"})
			old := *s.now()
			old.Expires = old.Obtained // it expires, and both steps are made again, before a request is refused
			s.set(&old)
			mustPost(t, tr, "hello token-2")
			if said := w.journal(); !slices.Equal(said[len(said)-3:], []string{"POST idp.test/token 200", "POST as.test/token 200", "POST mcp.test/mcp 200"}) || tally(said, "POST mcp.test/mcp") != 1 {
				t.Errorf("requests were %q", said)
			}
			for key, data := range tr.memory.m {
				if strings.Contains(string(data), "id-jag") || strings.Contains(string(data), assertion) {
					t.Errorf("%s keeps the assertion", key)
				}
			}
		})
	}
}

// AUTH-426 AUTH-427 AUTH-428 AUTH-429 AUTH-430
func TestOAuthWorkloadGrant(t *testing.T) {
	assertion := newMint(t, "ES256", "k").token(members{"exp": time.Now().Add(time.Hour).Unix()})
	expired := newMint(t, "ES256", "k").token(members{"exp": time.Now().Add(-time.Hour).Unix()})
	for _, c := range []struct {
		assertion, id, refusal, want string
	}{
		{assertion, "", "", ""},
		{"opaque", "mine", "", ""},
		{"", "", "", "the application's assertion is empty"},
		{expired, "", "", "the application's assertion has expired at "},
		{assertion, "", "invalid_grant", "https://as.test/token answered 400 invalid_grant"},
		{assertion, "", "unauthorized_client", "https://as.test/token answered 400 unauthorized_client"},
	} {
		w := newWorld(t)
		w.issuer["grant_types_supported"] = []string{grantJWT}
		if c.refusal != "" {
			w.routes["as.test/token"] = fixed(400, `{"error":"`+c.refusal+`"}`)
		}
		tr := w.transport()
		tr.Grant = &WorkloadGrant{ClientID: c.id, Assertion: func(_ context.Context, issuer, endpoint string) (string, error) {
			if issuer != worldIssuer || endpoint != worldIssuer+"/token" {
				t.Errorf("asked for %s, %s", issuer, endpoint)
			}
			return c.assertion, nil
		}}
		_, err := post(t, tr, "{}")
		said := w.journal()
		asked := 1
		if c.want != "" && c.refusal == "" {
			asked = 0
		}
		if tally(said, "POST as.test/token") != asked || tally(said, "GET as.test/authorize")+tally(said, "POST as.test/register") != 0 {
			t.Errorf("requests were %q", said)
		}
		got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: ")
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || c.assertion != "" && strings.Contains(got, c.assertion) {
			t.Errorf("the error is %s", got)
		}
		if c.want == "" {
			want := url.Values{"grant_type": {grantJWT}, "assertion": {c.assertion}, "resource": {worldServer}}
			if c.id != "" {
				want.Set("client_id", c.id)
			}
			if _, form := w.last("as.test/token"); form.Encode() != want.Encode() {
				t.Errorf("asked with %s, want %s", form.Encode(), want.Encode())
			}
		}
	}
}

// loopback runs a login with the receiver. browser is what visits the authorization URL.
func loopback(t *testing.T, b *LoopbackLogin, browser func(u *url.URL, back string)) (w *world, err error) {
	t.Helper()
	w = newWorld(t)
	tr := w.transport()
	b.Open = func(_ context.Context, u string) error {
		asked, err := url.Parse(u)
		must(t, err)
		browser(asked, asked.Query().Get("redirect_uri"))
		return nil
	}
	tr.Login = b.Login
	_, err = post(t, tr, "{}")
	return w, err
}

// visited is what a browser gets from the receiver.
func visited(t *testing.T, method, at string) (status int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, at, nil)
	must(t, err)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Errorf("%s: %v", method, err)
		return 0, "", nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), resp.Header
}

// AUTH-163 AUTH-164 AUTH-165 AUTH-166 AUTH-174 HOSTILE-36 HOSTILE-40
func TestLoopbackLogin(t *testing.T) {
	var back string
	var gone sync.WaitGroup
	w, err := loopback(t, &LoopbackLogin{}, func(u *url.URL, at string) {
		back = at
		if !strings.HasPrefix(at, "http://127.0.0.1:") || !strings.HasSuffix(at, "/callback") {
			t.Errorf("the redirect URI is %s", at)
		}
		state := u.Query().Get("state")
		for query, want := range map[string]int{"": 400, "?state=x&code=c": 400, "?code=a;iss=b": 400, "?state=%zz": 400,
			"?state=x&state=" + state: 400, "?error=access_denied&error_description=<script>": 400} {
			if status, body, _ := visited(t, "GET", at+query); status != want || strings.Contains(body, "script") {
				t.Errorf("%s: %d %s", query, status, body)
			}
		}
		if status, _, _ := visited(t, "GET", strings.TrimSuffix(at, "callback")+"?"+callbackOf(u.String(), nil)); status != 404 {
			t.Errorf("another path: %d", status)
		}
		for _, method := range []string{"POST", "HEAD", "OPTIONS"} {
			if status, _, header := visited(t, method, at+"?"+callbackOf(u.String(), nil)); status != 405 || header.Get("Allow") != "GET" {
				t.Errorf("%s: %d", method, status)
			}
		}
		if status, _, _ := visited(t, "GET", at+"?x="+strings.Repeat("x", 1<<20)); status != 431 {
			t.Errorf("a huge query: %d", status)
		}
		gone.Go(func() {
			status, body, header := visited(t, "GET", at+"?"+callbackOf(u.String(), url.Values{"x": {"<script>alert(1)</script>"}}))
			const csp = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-"
			if status != 200 || !strings.Contains(body, "You are logged in") || strings.Contains(body, "script") || strings.Contains(body, "code-1") ||
				header.Get("Cache-Control") != "no-store" || header.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(header.Get("Content-Security-Policy"), csp) {
				t.Errorf("%d %s %v", status, body, header)
			}
		})
	})
	gone.Wait()
	// The code is not of this world's authorization server: it was the receiver's turn only.
	e := (*OAuthError)(nil)
	if !errors.As(err, &e) || e.Code != "invalid_grant" {
		t.Errorf("the error is %v", err)
	}
	if r, _ := w.last("as.test/register"); r == nil || !strings.Contains(strings.Join(w.bodies, "\n"), `"redirect_uris":["`+back+`"]`) {
		t.Errorf("registered with %q", w.bodies)
	}
	u, _ := url.Parse(back)
	if c, err := net.Dial("tcp", u.Host); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

// AUTH-163 AUTH-165 AUTH-173
func TestLoopbackLoginEnds(t *testing.T) {
	for _, c := range []struct {
		change     url.Values
		page, want string
	}{
		{url.Values{"code": nil, "error": {"access_denied"}}, "You said no", "https://as.test/authorize answered access_denied"},
		{url.Values{"iss": {"https://evil.test"}, "error_description": {"<b>"}}, "The login failed", `the answer to the login has not the issuer "https://as.test"`},
		{url.Values{"code": {"a", "b"}}, "The login failed", "the answer to the login has code twice"},
	} {
		var gone sync.WaitGroup
		_, err := loopback(t, &LoopbackLogin{Host: "localhost", Path: "x/y"}, func(u *url.URL, at string) {
			if !strings.HasPrefix(at, "http://localhost:") || !strings.HasSuffix(at, "/x/y") {
				t.Errorf("the redirect URI is %s", at)
			}
			gone.Go(func() {
				at := strings.Replace(at, "localhost", "127.0.0.1", 1)
				if status, body, _ := visited(t, "GET", at+"?"+callbackOf(u.String(), c.change)); status != 200 || !strings.Contains(body, "<h1>"+c.page+"</h1>") || strings.Contains(body, "<b>") {
					t.Errorf("%d %s", status, body)
				}
			})
		})
		gone.Wait()
		if got := strings.TrimPrefix(errorText(err), "authorization for https://mcp.test/mcp: "); got != c.want {
			t.Errorf("the error is %s", got)
		}
	}
}

// AUTH-163 HOSTILE-41: nobody comes back; the caller leaves; no browser; a host that is not this machine
func TestHostile41NobodyComesBack(t *testing.T) {
	_, err := loopback(t, &LoopbackLogin{Timeout: time.Millisecond}, func(*url.URL, string) {})
	if got := errorText(err); got != "authorization for https://mcp.test/mcp: nobody has logged in within 1ms" {
		t.Errorf("the error is %s", got)
	}
	w := newWorld(t)
	tr := w.transport()
	tr.Login = (&LoopbackLogin{Open: func(context.Context, string) error { return errors.New("no display") }}).Login
	if _, err := post(t, tr, "{}"); errorText(err) != "authorization for https://mcp.test/mcp: opening a browser: no display" {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tr.Login = (&LoopbackLogin{Open: func(context.Context, string) error { cancel(); return nil }}).Login
	if _, err := postAs(ctx, tr, nil, "{}"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	tr.Login = (&LoopbackLogin{Host: "0.0.0.0"}).Login
	if _, err := post(t, tr, "{}"); !strings.HasSuffix(errorText(err), `LoopbackLogin.Host is "0.0.0.0", not 127.0.0.1, ::1 or localhost`) {
		t.Errorf("the error is %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	tr.Login = (&LoopbackLogin{Port: ln.Addr().(*net.TCPAddr).Port}).Login
	w.journal()
	if _, err := post(t, tr, "{}"); err == nil || tally(w.journal(), "POST as.test/register") != 0 {
		t.Errorf("a port that is taken: %v", err)
	}
}

// AUTH-168 AUTH-169 AUTH-170
func TestBrowserCommand(t *testing.T) {
	const u = "https://as.test/a?x=1&y=$(id)`id`;'%22"
	for system, want := range map[string][]string{"linux": {"xdg-open", u}, "darwin": {"open", u}, "windows": {"rundll32", "url.dll,FileProtocolHandler", u}} {
		if got, err := browserCommand(system, u); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", system, got, err)
		}
	}
	for _, bad := range []string{"javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vbscript:x", "-version", "", "https:///x", "https://a.test/\nx", "https://a.test/ x", "https:a.test", "calculator://x"} {
		if got, err := browserCommand("linux", bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

// AUTH-169: the program gets the URL as one argument, and its failure is told
//
// AUTH-455
func TestOpenBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program has another name")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	out := filepath.Join(dir, "out")
	must(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nprintf '%s|' \"$#\" \"$@\" >"+out+"\n"), 0o700))
	const u = "https://as.test/a?x=1&y=$(touch%20z);echo"
	must(t, OpenBrowser(t.Context(), u))
	if got, err := os.ReadFile(out); err != nil || string(got) != "1|"+u+"|" {
		t.Errorf("the program got %q, %v", got, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nexit 3\n"), 0o700))
	if err := OpenBrowser(t.Context(), u); errorText(err) != "mcp: xdg-open: exit status 3" {
		t.Errorf("the error is %v", err)
	}
	if err := OpenBrowser(t.Context(), "javascript:x"); errorText(err) != "mcp: a browser is given http and https URLs only" {
		t.Errorf("the error is %v", err)
	}
}

// AUTH-166 AUTH-167
func TestPromptLogin(t *testing.T) {
	w := newWorld(t)
	tr := w.transport()
	in, type_ := io.Pipe()
	shown := make(chan string)
	p := &PromptLogin{In: in, Out: writer(func(b []byte) { shown <- string(b) })}
	tr.Login = p.Login
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := postAs(ctx, tr, nil, "{}"); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	})
	<-shown
	leave()
	all.Wait()
	urlIn := func(text string) string {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "https://as.test/") {
				return strings.TrimSpace(line)
			}
		}
		t.Fatalf("no URL in %q", text)
		return ""
	}
	all.Go(func() {
		if got, err := post(t, tr, "{}"); err != nil || got != "hello token-1" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	back := w.visit(urlIn(<-shown))
	if !strings.HasPrefix(back, "http://localhost/callback?") {
		t.Errorf("sent to %s", back)
	}
	_, _ = io.WriteString(type_, back+"\r\n")
	all.Wait()
	w.set(func() { w.good = map[string]bool{} })
	all.Go(func() {
		if _, err := post(t, tr, "{}"); !errors.Is(err, ErrWrongState) {
			t.Errorf("the error is %v", err)
		}
	})
	<-shown
	_, _ = io.WriteString(type_, back+"\n") // of the login before
	all.Wait()
	all.Go(func() {
		if _, err := post(t, tr, "{}"); errorText(err) != "authorization for https://mcp.test/mcp: reading what is pasted: EOF" {
			t.Errorf("the error is %v", err)
		}
	})
	<-shown
	type_.Close()
	all.Wait()
}

// Two logins at once read a line each.
func TestPromptLoginTwice(t *testing.T) {
	w := newWorld(t)
	in, type_ := io.Pipe()
	shown := make(chan string)
	p := &PromptLogin{In: in, Out: writer(func(b []byte) { shown <- string(b) })}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			tr := w.transport()
			tr.Login = p.Login
			if got, err := post(t, tr, "{}"); err != nil || !strings.HasPrefix(got, "hello ") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	for range 2 {
		_, rest, _ := strings.Cut(<-shown, "\n\n")
		u, _, _ := strings.Cut(rest, "\n")
		_, _ = io.WriteString(type_, w.visit(u)+"\n")
	}
	all.Wait()
}

type writer func([]byte)

func (f writer) Write(b []byte) (int, error) { f(b); return len(b), nil }

// AUTH-172: a function in front of the login sees what is asked for, and can refuse
func TestOAuthConfirmation(t *testing.T) {
	w := newWorld(t)
	w.refusal = `Bearer scope="a b"`
	tr := w.transport()
	tr.Login = func(_ context.Context, l *Login) error {
		if l.Server != worldServer || l.Issuer != worldIssuer || !slices.Equal(l.Scopes, []string{"a", "b"}) {
			t.Errorf("asked about %s, %s, %q", l.Server, l.Issuer, l.Scopes)
		}
		return ErrLoginDeclined
	}
	_, err := post(t, tr, "{}")
	if !errors.Is(err, ErrLoginDeclined) || tally(w.journal(), "POST as.test") != 0 {
		t.Errorf("the error is %v", err)
	}
	for name, login := range map[string]func(context.Context, *Login) error{
		"nothing": func(context.Context, *Login) error { return nil },
		"begun":   func(ctx context.Context, l *Login) error { _, err := l.Begin(ctx, worldBack); return err },
	} {
		tr.Login = login
		if _, err := post(t, tr, "{}"); errorText(err) != "authorization for https://mcp.test/mcp: OAuthTransport.Login returned without an answer to the login" {
			t.Errorf("%s: %v", name, err)
		}
	}
	tr.Login = func(ctx context.Context, l *Login) error {
		_, first := l.Begin(ctx, worldBack)
		_, second := l.Begin(ctx, worldBack)
		return cmpError(first, second)
	}
	if _, err := post(t, tr, "{}"); errorText(err) != "authorization for https://mcp.test/mcp: mcp: Login.Begin was called before" {
		t.Errorf("twice: %v", err)
	}
}

// AUTH-219 AUTH-218
func TestFileStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	s := &FileStore{Dir: dir}
	ctx := t.Context()
	load := func(key, want string) {
		t.Helper()
		if got, err := s.Load(ctx, key); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", key, got, err)
		}
	}
	load("a", "")
	must(t, s.Save(ctx, "a", nil), s.Save(ctx, "a", []byte("1")), s.Save(ctx, "../../b\x00/", []byte("2")), s.Save(ctx, "a", []byte("3")))
	load("a", "3")
	load("../../b\x00/", "2")
	load("c", "")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(dir)
		must(t, err)
		if info.Mode().Perm() != 0o700 {
			t.Errorf("the folder is %v", info.Mode())
		}
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		info, err := f.Info()
		must(t, err)
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || len(f.Name()) != 64+len(".json") {
			t.Errorf("%s is %v", f.Name(), info.Mode())
		}
	}
	must(t, s.Save(ctx, "a", nil), s.Save(ctx, "a", nil))
	load("a", "")
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			text := []byte(strings.Repeat(fmt.Sprint(n), 10000))
			for range 20 {
				must(t, s.Save(ctx, "a", text))
				if got, err := s.Load(ctx, "a"); err != nil || len(got) != 10000 || bytes.Count(got, got[:1]) != 10000 {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
}

type brokenStore struct{}

func (brokenStore) Load(context.Context, string) ([]byte, error) {
	return nil, errors.New("cannot load")
}
func (brokenStore) Save(context.Context, string, []byte) error { return errors.New("cannot save") }

// AUTH-264
func TestOAuthStoreFails(t *testing.T) {
	w := newWorld(t)
	log := &bytes.Buffer{}
	tr := w.transport()
	tr.Store, tr.Log = brokenStore{}, slog.New(slog.NewTextHandler(log, nil))
	mustPost(t, tr, "hello token-1")
	mustPost(t, tr, "hello token-1")
	w.expect(append(slices.Clone(loginRequests), "POST mcp.test/mcp 200")...)
	if text := log.String(); !strings.Contains(text, "cannot load") || !strings.Contains(text, "cannot save") || strings.Contains(text, "token-1") {
		t.Errorf("the log is %s", text)
	}
	if err := tr.Logout(t.Context(), worldServer); errorText(err) == "" {
		t.Error("a logout that deletes nothing succeeds")
	}
}

// AUTH-207 AUTH-259: tokens are one server's
func TestOAuthTwoServers(t *testing.T) {
	w := newWorld(t)
	w.refusal = ""
	second := members{"resource": "https://mcp.test/other", "authorization_servers": []string{worldIssuer}}
	w.routes["mcp.test/other"], w.routes["mcp.test/.well-known/oauth-protected-resource/other"] = w.serveMCP, w.document(&second)
	tr := w.transport()
	mustPost(t, tr, "hello token-1")
	r, _ := http.NewRequest("POST", "https://mcp.test/other", nil)
	resp, err := tr.RoundTrip(r)
	must(t, err)
	body, _ := io.ReadAll(resp.Body)
	if string(body) != "hello token-2" {
		t.Errorf("got %s", body)
	}
	if first := w.requests[len(loginRequests)]; first.URL.Path != "/other" || first.Header.Get("Authorization") != "" {
		t.Errorf("%s got %q", first.URL, first.Header.Get("Authorization"))
	}
	mustPost(t, tr, "hello token-1")
	if n := tally(w.journal(), "POST as.test/register"); n != 1 {
		t.Errorf("%d registrations at one issuer", n)
	}
}

// AUTH-229
func TestOAuthLogout(t *testing.T) {
	for _, status := range []int{200, 500} {
		w := newWorld(t)
		w.issuer["revocation_endpoint"] = worldIssuer + "/revoke"
		w.routes["as.test/revoke"] = fixed(status, "")
		w.answer["refresh_token"] = "refresh-1"
		log := &bytes.Buffer{}
		tr := w.transport()
		tr.Log = slog.New(slog.NewTextHandler(log, nil))
		mustPost(t, tr, "hello token-1")
		w.journal()
		must(t, tr.Logout(t.Context(), worldServer))
		must(t, tr.Logout(t.Context(), worldServer)) // again, there is nothing
		w.expect(fmt.Sprint("POST as.test/revoke ", status), fmt.Sprint("POST as.test/revoke ", status))
		bodies := w.bodies[len(w.bodies)-2:]
		if want := []string{"client_id=registered-1&token=refresh-1&token_type_hint=refresh_token", "client_id=registered-1&token=token-1&token_type_hint=access_token"}; !slices.Equal(bodies, want) {
			t.Errorf("revoked with %q", bodies)
		}
		if (log.Len() > 0) != (status != 200) || strings.Contains(log.String(), "token-1") {
			t.Errorf("the log is %s", log)
		}
		for key, data := range tr.memory.m {
			if strings.Contains(string(data), "token-1") || strings.Contains(string(data), "refresh-1") {
				t.Errorf("%s is still there", key)
			}
		}
		mustPost(t, tr, "hello token-2")
	}
	if err := (&OAuthTransport{}).Logout(t.Context(), "/mcp"); errorText(err) != "mcp: logout: the server must be an absolute URL" {
		t.Errorf("the error is %v", err)
	}
}

// AUTH-129 AUTH-399 AUTH-460 AUTH-218
func TestOAuthShowsNoSecrets(t *testing.T) {
	w := newWorld(t)
	w.issuer["token_endpoint_auth_methods_supported"] = []string{authPost}
	w.client = members{"client_id": "registered-1", "client_secret": "SECRET-client"}
	w.answer["refresh_token"], w.answer["token_type"] = "SECRET-refresh", "DPoP"
	w.refusal = "DPoP"
	key, err := GenerateKey("")
	must(t, err)
	ix, err := scan(key.private())
	must(t, err)
	secrets := []string{"SECRET", "token-1", ix.root().member("d").str()}
	log := &bytes.Buffer{}
	tr := w.transport()
	tr.DPoP, tr.InitialAccessToken, tr.MetadataKey = true, "SECRET-initial", key
	tr.Clients = []OAuthClient{{Issuer: "https://other.test", ID: "x", Secret: "SECRET-given", Key: key}}
	tr.Log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var all []any
	tr.Login = func(ctx context.Context, l *Login) error {
		all = append(all, l, *l)
		u, err := l.Begin(ctx, worldBack)
		must(t, err)
		asked, _ := url.Parse(u)
		secrets = append(secrets, asked.Query().Get("state"), l.f.pending.verifier)
		return l.Finish(w.visit(u))
	}
	mustPost(t, tr, "hello token-1")
	secrets = append(secrets, "code-1")
	s := tr.server(&url.URL{Scheme: "https", Host: "mcp.test", Path: "/mcp"})
	token := s.now()
	grant := &EnterpriseGrant{Client: tr.Clients[0]}
	all = append(all, tr, &tr.Clients, tr.Clients[0], &tr.Clients[0], grant, *grant, &ClientCredentials{}, &WorkloadGrant{},
		&HTTPTransport{URL: worldServer, Client: &http.Client{Transport: tr}}, key, *key, &FileStore{}, &LoopbackLogin{}, &PromptLogin{})
	for _, v := range []any{token, *token, &token.Client, token.Client} { // which nobody else has
		if text := fmt.Sprintf("%v %+v %#v %s %q %d", v, v, v, v, v, v); strings.Contains(text, "SECRET") || strings.Contains(text, "token-1") {
			t.Errorf("%T shows %s", v, text)
		}
	}
	for _, v := range all {
		text := fmt.Sprintf("%v %+v %#v %s %q %d %x", v, v, v, v, v, v, v)
		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v, "list", []any{v})
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v, "list", []any{v})
		for _, secret := range secrets {
			if hex := fmt.Sprintf("%x", secret); strings.Contains(text, secret) || strings.Contains(text, hex) || strings.Contains(b.String(), secret) {
				t.Errorf("%T shows %s", v, secret)
			}
		}
	}
	w.good = map[string]bool{}
	w.routes["as.test/token"] = func(rw http.ResponseWriter, r *http.Request) { // a server that repeats what it got
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		var texts []string
		for _, v := range form {
			texts = append(texts, v...)
		}
		text, _ := json.Marshal(strings.Join(texts, " "))
		fixed(400, `{"error":"invalid_request","error_description":`+string(text)+`}`)(rw, r)
	}
	_, err = post(t, tr, "{}")
	for _, secret := range secrets {
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(log.String(), secret) {
			t.Errorf("%s is shown by %v or %s", secret, err, log)
		}
	}
}

// AUTH-205 AUTH-011 AUTH-012: a session of the package's own client
func TestOAuthSession(t *testing.T) {
	s := NewServer(&Implementation{Name: "s", Version: "0"}, nil)
	h := &HTTPHandler{Server: s}
	defer h.Shutdown(t.Context())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	base := "http://" + ln.Addr().String()
	var mu sync.Mutex
	var said []string
	good := ""
	issuer := issuerAt(base + "/as")
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		said = append(said, r.Method+" "+r.URL.Path)
		allowed := good != "" && r.Header.Get("Authorization") == "Bearer "+good
		mu.Unlock()
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			writeMembers(rw, 200, members{"resource": base + "/mcp", "authorization_servers": []string{base + "/as"}})
		case "/.well-known/oauth-authorization-server/as":
			writeMembers(rw, 200, issuer)
		case "/as/register":
			writeMembers(rw, 201, members{"client_id": "c"})
		case "/as/token":
			mu.Lock()
			good = "good"
			mu.Unlock()
			writeMembers(rw, 200, members{"access_token": "good", "token_type": "Bearer"})
		case "/mcp":
			if !allowed {
				mu.Lock()
				said = append(said, "401")
				mu.Unlock()
				rw.WriteHeader(401)
				return
			}
			h.ServeHTTP(rw, r)
		default:
			rw.WriteHeader(404)
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	defer func() { must(t, server.Close()); <-ended }()

	decline := true
	tr := &OAuthTransport{Login: func(ctx context.Context, l *Login) error {
		if decline {
			return ErrLoginDeclined
		}
		u, err := l.Begin(ctx, worldBack)
		if err != nil {
			return err
		}
		return l.Finish(callbackOf(u, url.Values{"iss": {base + "/as"}}))
	}}
	connect := func() (*ClientSession, error) {
		return sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), &HTTPTransport{URL: base + "/mcp", Client: &http.Client{Transport: tr}})
	}
	if _, err := connect(); !errors.Is(err, ErrLoginDeclined) {
		t.Errorf("the error is %v", err)
	}
	if want := []string{"POST /mcp", "401", "GET /.well-known/oauth-protected-resource/mcp", "GET /.well-known/oauth-authorization-server/as"}; !slices.Equal(said, want) {
		t.Errorf("requests were %q, want %q", said, want) // neither another transport nor another version was tried
	}
	decline, said = false, nil
	cs, err := connect()
	must(t, err)
	must(t, cs.Ping(t.Context()))
	must(t, cs.Close())
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"POST /mcp", "401", "GET /.well-known/oauth-protected-resource/mcp", "GET /.well-known/oauth-authorization-server/as", "POST /as/register", "POST /as/token",
		"POST /mcp", "POST /mcp", "GET /mcp", "POST /mcp", "DELETE /mcp"}; !slices.Equal(said, want) {
		t.Errorf("requests were %q, want %q", said, want)
	}
}

// FuzzCallback: no callback is believed but the one with state, issuer and code.
func FuzzCallback(f *testing.F) {
	for _, seed := range []string{"code=c&state=S&iss=I", "https://a/b?code=c&state=S&iss=I#f", "error=access_denied&state=S&iss=I", "state=S&iss=I&code=a&code=b", "?%zz", "a?b=c&state=S;", "code=&state=S"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, callback string) {
		callback = strings.NewReplacer("S", "state", "I", "https%3A%2F%2Fas.test").Replace(callback)
		d := &discovery{meta: &AuthorizationServerMetadata{AuthorizationEndpoint: "https://as.test/a"}}
		l := &Login{f: &loginFlow{d: d, pending: &authRequest{state: "state", verifier: "verifier", issuer: worldIssuer, iss: true, made: time.Now()}}}
		err := l.Finish(callback)
		switch {
		case err == nil:
			if l.f.redeem == nil || l.f.redeem.code == "" || l.f.pending != nil || !strings.Contains(callback, "code=") || !strings.Contains(callback, "state=") || !strings.Contains(callback, "iss=") {
				t.Errorf("%q was believed", callback)
			}
		case errors.Is(err, ErrWrongState):
			if l.f.pending == nil || l.f.redeem != nil {
				t.Errorf("%q ended the login", callback)
			}
		default:
			if l.f.pending != nil || l.f.redeem != nil || strings.Contains(err.Error(), "verifier") {
				t.Errorf("%q: %v", callback, err)
			}
		}
	})
}
