package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A browser is what a login sees of one.
type browser struct {
	l       *login
	cookie  string
	address string
	header  http.Header
}

// do makes a request, with a form if there is one, and keeps the cookie.
func (b *browser) do(method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name := range b.header {
		r.Header.Set(name, b.header.Get(name))
	}
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: b.l.cookie, Value: b.cookie})
	}
	if b.address != "" {
		r.RemoteAddr = b.address
	}
	w := httptest.NewRecorder()
	switch {
	case path == "/login", path == "/logout":
		b.l.ServeHTTP(w, r)
	default:
		if user, ok := b.l.authenticate(w, r); ok {
			fmt.Fprint(w, "hello "+user)
		}
	}
	for _, c := range w.Result().Cookies() {
		b.cookie = c.Value
	}
	return w
}

func (b *browser) enter(name, password, to string) *httptest.ResponseRecorder {
	return b.do("POST", "/login", url.Values{"name": {name}, "password": {password}, "to": {to}})
}

func newBrowser(t testing.TB, scheme string) *browser {
	return &browser{l: newLogin(fastUsers(t), scheme, "8080", discard)}
}

// Who is nobody gets the form, and comes back to where he was.
func TestLogin(t *testing.T) {
	b := newBrowser(t, "http")
	asked := "/authorize?state=%22%3Cb%3E&x=1"
	page := b.do("GET", asked, nil)
	form := page.Body.String()
	if page.Code != 200 || !strings.Contains(form, `name="to" value="/authorize?state=%22%3Cb%3E&amp;x=1"`) || !strings.Contains(form, "An application wants to use this folder server in your name.") {
		t.Errorf("%d, the form is:\n%s", page.Code, form)
	}
	if strings.Contains(form, "<script") {
		t.Error("the form has a script")
	}
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
		"Content-Type": "text/html; charset=utf-8", "Set-Cookie": "",
	} {
		equal(t, name, page.Header().Get(name), want)
	}
	if policy := page.Header().Get("Content-Security-Policy"); !regexp.MustCompile(`^default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'$`).MatchString(policy) {
		t.Errorf("policy %q", policy)
	}
	done := b.enter("ada", secret, asked)
	equal(t, "status", done.Code, 303)
	equal(t, "way back", done.Header().Get("Location"), asked)
	if set := done.Header().Get("Set-Cookie"); !regexp.MustCompile(`^mcp-session-8080=[A-Z2-7]{26}; Path=/; HttpOnly; SameSite=Lax$`).MatchString(set) {
		t.Errorf("cookie %q", set)
	}
	equal(t, "signed in", b.do("GET", asked, nil).Body.String(), "hello ada")
	if text := b.do("GET", "/login", nil).Body.String(); !strings.Contains(text, "You are signed in as ada") {
		t.Errorf("it does not say who is signed in:\n%s", text)
	}
	stolen := b.cookie
	out := b.do("POST", "/logout", nil)
	equal(t, "signing out", fmt.Sprint(out.Code, out.Header()["Location"], out.Header()["Set-Cookie"]),
		"303 [/login] [mcp-session-8080=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax]")
	b.cookie = stolen
	equal(t, "the old cookie, after a form", b.do("POST", "/consent", url.Values{}).Code, 403)
	if text := b.do("GET", "/login", nil).Body.String(); strings.Contains(text, "application") || !strings.Contains(text, `name="password"`) {
		t.Errorf("it is not the plain form:\n%s", text)
	}
}

// Over https the cookie is for this host alone.
func TestLoginCookie(t *testing.T) {
	set := newBrowser(t, "https").enter("ada", secret, "").Header().Get("Set-Cookie")
	if !regexp.MustCompile(`^__Host-mcp-session=[A-Z2-7]{26}; Path=/; HttpOnly; Secure; SameSite=Lax$`).MatchString(set) {
		t.Errorf("cookie %q", set)
	}
}

// What is said does not tell whether the name or the password is wrong; nor is anything
// of the password shown.
func TestLoginRefused(t *testing.T) {
	b := newBrowser(t, "http")
	b.do("GET", "/authorize?x", nil)
	var said []string
	for _, name := range []string{"ada", "eve", `"><script>`, ""} {
		w := b.enter(name, "wrong "+secret, "/authorize?x")
		text := w.Body.String()
		if strings.Contains(text, secret) || strings.Contains(text, "<script") {
			t.Errorf("%q: the page is:\n%s", name, text)
		}
		said = append(said, fmt.Sprint(w.Code, w.Header(), regexp.MustCompile(`value="[^"]*"`).ReplaceAllString(text, "")))
	}
	for i := range said {
		if !strings.HasPrefix(said[i], "403 ") || !strings.Contains(said[i], `id="error">The name or the password is wrong.</p>`) || said[i] != said[0] {
			t.Errorf("%d: it says:\n%s\nand to the first:\n%s", i, said[i], said[0])
		}
	}
	equal(t, "cookie", b.cookie, "")
}

// After a login the browser stays on this server, whatever the form says.
func TestLoginIsNoRedirector(t *testing.T) {
	b := newBrowser(t, "http")
	for _, to := range []string{"", "/", "https://evil.example/", "//evil.example/authorize?", `/\evil.example`, "/authorize", "/authorize/../x?", "javascript:alert(1)"} {
		equal(t, to, b.enter("ada", secret, to).Header().Get("Location"), "/login")
	}
}

// Forms count only if they come from a page of this server.
func TestLoginForgery(t *testing.T) {
	b := newBrowser(t, "http")
	b.enter("ada", secret, "")
	signedIn := b.cookie
	for _, c := range []struct {
		header http.Header
		status int
	}{
		{http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{http.Header{"Sec-Fetch-Site": {"same-site"}}, 403}, // another port of this machine
		{http.Header{"Origin": {"https://evil.example"}}, 403},
		{http.Header{"Origin": {"null"}}, 403},
		{http.Header{"Sec-Fetch-Site": {"same-origin"}}, 303},
		{http.Header{"Origin": {"http://example.com"}}, 303}, // the host of the requests of the test
	} {
		b.header = c.header
		equal(t, fmt.Sprint("login ", c.header), b.enter("bob", other, "").Code, c.status)
		b.cookie = signedIn
		equal(t, fmt.Sprint("logout ", c.header), b.do("POST", "/logout", nil).Code, c.status)
		b.cookie = signedIn
	}
	equal(t, "logout by a link", b.do("GET", "/logout", nil).Code, 405)
	equal(t, "what is not a form of ours", b.do("PUT", "/login", nil).Code, 405)
}

// A session ends in time, and when the password changes or the user is removed.
func TestSessionEnds(t *testing.T) {
	u := fastUsers(t)
	synctest.Test(t, func(t *testing.T) {
		b := &browser{l: newLogin(u, "http", "1", discard)}
		ada, err := u.find("ada")
		check(t, err)
		b.cookie = b.l.open(ada)
		time.Sleep(sessionLifetime)
		equal(t, "in time", b.do("GET", "/authorize?", nil).Body.String(), "hello ada")
		time.Sleep(time.Second)
		equal(t, "late", strings.Contains(b.do("GET", "/authorize?", nil).Body.String(), `name="password"`), true)
		b.cookie = b.l.open(ada)
		check(t, u.set("ada", other))
		equal(t, "password changed", strings.Contains(b.do("GET", "/authorize?", nil).Body.String(), `name="password"`), true)
		for range maxSessions + 10 {
			b.l.open(ada)
		}
		equal(t, "sessions", len(b.l.sessions), maxSessions)
	})
}

// Who guesses is stopped, and whom others guess for is not.
func TestLoginLimits(t *testing.T) {
	u := fastUsers(t)
	synctest.Test(t, func(t *testing.T) {
		l := newLogin(u, "http", "1", discard)
		tries := func(name, address string) (n int) {
			for l.mayTry(name, address) {
				n++
			}
			return n
		}
		equal(t, "one name from one address", tries("ada", "1"), 10)
		equal(t, "the same from another", tries("ada", "2"), 10)
		equal(t, "another name", tries("bob", "1"), 10)
		equal(t, "the address, with many names", tries("eve", "1"), 8) // two that were refused count
		time.Sleep(30 * time.Second)
		equal(t, "a while later", tries("ada", "2"), 1)
		for i := range 100 {
			tries("ada", fmt.Sprint("many ", i))
		}
		equal(t, "a name from anywhere", tries("ada", "3"), 0)
		equal(t, "a long name", tries(strings.Repeat("x", 1000), "4"), 0)
		time.Sleep(2 * time.Hour)
		equal(t, "much later", tries("ada", "1"), 10)
		for i := range maxBudgets/2 + 10 { // with a new one each, and that of the name
			l.mayTry("x", fmt.Sprint("more ", i))
		}
		if len(l.budgets) > maxBudgets {
			t.Errorf("%d budgets are kept", len(l.budgets))
		}
		equal(t, "nothing is free", l.mayTry("y", "5"), false)
		time.Sleep(2 * time.Hour)
		equal(t, "all are", l.mayTry("y", "5"), true)
	})
	b := &browser{l: newLogin(u, "http", "1", discard), address: "[2001:db8::1]:99"}
	for b.l.mayTry("ada", "2001:db8::/64") {
	}
	w := b.enter("ada", secret, "/authorize?x") // even with the right password
	if w.Code != 429 || w.Header().Get("Retry-After") != "60" || !strings.Contains(w.Body.String(), "too many tries") || b.cookie != "" {
		t.Errorf("%d, %v, %s", w.Code, w.Header(), w.Body)
	}
}
