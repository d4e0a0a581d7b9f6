package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	sessionLifetime = 8 * time.Hour
	maxSessions     = 1000
	maxBudgets      = 10_000
	maxForm         = 64 << 10
)

// A login lets people log in with their browsers. Who has done so has a cookie, which says
// nothing by itself.
type login struct {
	users  *users
	secure bool   // the browser comes by https
	cookie string // its name
	log    *slog.Logger
	// forms refuses forms that pages of other origins send.
	forms *http.CrossOriginProtection
	// hashing holds one for each password that is being checked, which takes all of a
	// processor.
	hashing chan struct{}

	mu       sync.Mutex // guards the fields below
	sessions map[[sha256.Size]byte]session
	budgets  map[string]budget
}

// A session is what a cookie stands for, as long as the account stays as it is.
type session struct {
	account account
	ends    time.Time
}

// newLogin makes the login of the server at a public origin.
func newLogin(u *users, scheme, port string, log *slog.Logger) *login {
	l := &login{users: u, secure: scheme == "https", cookie: "__Host-mcp-session", log: log, forms: http.NewCrossOriginProtection(),
		hashing: make(chan struct{}, runtime.GOMAXPROCS(0)), sessions: map[[sha256.Size]byte]session{}, budgets: map[string]budget{}}
	if !l.secure { // the servers of a machine, which share its cookies, are told apart
		l.cookie = "mcp-session-" + port
	}
	return l
}

// authenticate is for AuthorizationServer.Authenticate. Who is nobody yet gets the form,
// from which the way leads back to the request.
func (l *login) authenticate(w http.ResponseWriter, r *http.Request) (user string, ok bool) {
	switch a := l.who(r); {
	case a != nil:
		return a.name, true
	case r.Method != http.MethodGet:
		l.show(w, http.StatusForbidden, page{Problem: "You are not signed in any more. Start again from the application."})
	default:
		l.show(w, http.StatusOK, page{To: r.URL.RequestURI()})
	}
	return "", false
}

// who returns who uses a browser; nil: nobody knows.
func (l *login) who(r *http.Request) *account {
	cookies := r.CookiesNamed(l.cookie)
	if len(cookies) != 1 {
		return nil
	}
	key := sha256.Sum256([]byte(cookies[0].Value))
	l.mu.Lock()
	s, ok := l.sessions[key]
	l.mu.Unlock()
	if !ok || time.Now().After(s.ends) {
		return nil
	}
	a, err := l.users.find(s.account.name)
	switch {
	case err != nil:
		l.log.Error("reading the users", "error", err)
	case a != nil && *a == s.account:
		return a
	}
	return nil
}

// ServeHTTP serves /login and /logout.
func (l *login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := l.forms.Check(r); err != nil {
		l.show(w, http.StatusForbidden, page{Problem: "This form was sent by a page of another place."})
		return
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/login":
		l.enter(w, r)
	case r.Method == http.MethodPost:
		l.leave(w, r)
	case r.URL.Path == "/login" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		p := page{}
		if a := l.who(r); a != nil {
			p.User = a.name
		}
		l.show(w, http.StatusOK, p)
	default:
		w.Header().Set("Allow", http.MethodPost)
		l.show(w, http.StatusMethodNotAllowed, page{Problem: "This page is not for that."})
	}
}

// enter takes the form. What it says to a wrong name is what it says to a wrong password.
func (l *login) enter(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		l.show(w, http.StatusBadRequest, page{Problem: "This form cannot be understood."})
		return
	}
	p := page{To: r.PostForm.Get("to"), Name: r.PostForm.Get("name")}
	if !l.mayTry(p.Name, addressOf(r)) {
		w.Header().Set("Retry-After", "60")
		p.Error = "There were too many tries. Wait a minute, then try again."
		l.log.Warn("too many sign-ins were tried", "address", addressOf(r))
		l.show(w, http.StatusTooManyRequests, p)
		return
	}
	select {
	case l.hashing <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	a, err := l.users.check(p.Name, r.PostForm.Get("password"))
	<-l.hashing
	switch {
	case err != nil:
		l.log.Error("checking a password", "error", err)
		p.Error = "Nobody can sign in now. Try again later."
		l.show(w, http.StatusInternalServerError, p)
	case a == nil: // the name may be a password that was typed in the wrong place
		l.log.Warn("a sign-in failed", "address", addressOf(r))
		p.Error = "The name or the password is wrong."
		l.show(w, http.StatusForbidden, p)
	default:
		l.log.Info("signed in", "user", a.name, "address", addressOf(r))
		l.setCookie(w, l.open(a), 0)
		redirect(w, p.To)
	}
}

// open opens a session and returns the value of its cookie.
func (l *login) open(a *account) string {
	value, now := rand.Text(), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sessions) >= maxSessions {
		for key, s := range l.sessions { // in no order
			if now.After(s.ends) || len(l.sessions) >= maxSessions {
				delete(l.sessions, key)
			}
		}
	}
	l.sessions[sha256.Sum256([]byte(value))] = session{*a, now.Add(sessionLifetime)}
	return value
}

// leave ends the session.
func (l *login) leave(w http.ResponseWriter, r *http.Request) {
	for _, c := range r.CookiesNamed(l.cookie) {
		l.mu.Lock()
		delete(l.sessions, sha256.Sum256([]byte(c.Value)))
		l.mu.Unlock()
	}
	l.setCookie(w, "", -1)
	redirect(w, "")
}

func (l *login) setCookie(w http.ResponseWriter, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: l.cookie, Value: value, MaxAge: age, Path: "/", HttpOnly: true, Secure: l.secure, SameSite: http.SameSiteLaxMode})
}

// redirect sends the browser back to where it was to log in, which is a page of this
// server.
func redirect(w http.ResponseWriter, to string) {
	if !strings.HasPrefix(to, "/authorize?") {
		to = "/login"
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// A budget is how many tries somebody has left.
type budget struct {
	left float64
	at   time.Time
}

// mayTry counts a try: of a name from an address, of an address, and of a name. The first
// is narrow and stops who guesses; the others are wide, so that it takes many addresses to
// keep somebody out.
func (l *login) mayTry(name, address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.takeLocked(now, "at "+address, 30, 5*time.Second) && l.takeLocked(now, "for "+name+" at "+address, 10, 30*time.Second) &&
		l.takeLocked(now, "for "+name, 100, 30*time.Second)
}

// takeLocked takes one from a budget, which holds up to full and gets one more each
// interval.
func (l *login) takeLocked(now time.Time, key string, full float64, interval time.Duration) bool {
	if len(key) > 200 {
		return false // no such name can be known
	}
	if len(l.budgets) >= maxBudgets {
		for key, b := range l.budgets { // an hour fills any
			if now.Sub(b.at) > time.Hour {
				delete(l.budgets, key)
			}
		}
	}
	b, ok := l.budgets[key]
	if !ok && len(l.budgets) >= maxBudgets {
		return false
	}
	if b.left = min(full, b.left+float64(now.Sub(b.at))/float64(interval)); !ok {
		b.left = full
	}
	b.at = now
	ok = b.left >= 1
	if ok {
		b.left--
	}
	l.budgets[key] = b
	return ok
}

// addressOf tells requesters apart; all of one IPv6 /64 are one.
func addressOf(r *http.Request) string {
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

// A page is what the browser shows. All of it is escaped where it stands.
type page struct {
	Problem  string // instead of anything else
	User     string // who is signed in
	To, Name string // of the form
	Error    string // why the form is there again
}

func (l *login) show(w http.ResponseWriter, status int, p page) {
	writePage(w, l.log, status, pageTemplate(), p)
}

// writePage writes a page with pageStyle. It runs no script, loads nothing and cannot be
// framed.
func writePage(w http.ResponseWriter, log *slog.Logger, status int, t *template.Template, data any) {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		log.Error("writing a page", "error", err)
		status = http.StatusInternalServerError
	}
	sum := sha256.Sum256([]byte(pageStyle))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form would not say where it comes from
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

const pageStyle = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 0 auto; padding: 1.5rem 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2 { font-size: 1.2rem; }
pre { border: 1px solid; border-radius: .3rem; padding: .75rem; white-space: pre-wrap; }
code { font: .9rem/1.4 ui-monospace, monospace; }
label { display: block; font-weight: bold; margin: 1rem 0 .5rem; }
input { font: inherit; box-sizing: border-box; width: 100%; max-width: 22rem; padding: .5rem; }
.error { border-left: .3rem solid; padding: .1rem 1rem; }
button { font: inherit; padding: .6rem 1.5rem; min-width: 8rem; margin: 1.25rem .5rem .5rem 0; }
:focus-visible { outline: .2rem solid; outline-offset: .2rem; }
`

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{if .Error}}Error: {{end}}{{if .User}}Signed in{{else if .Problem}}Not possible{{else}}Sign in{{end}}</title>
<style>` + pageStyle + `</style>
</head>
<body>
<main>
{{if .Problem}}<h1>Not possible</h1>
<p role="alert">{{.Problem}}</p>
{{else if .User}}<h1>You are signed in as {{.User}}</h1>
<p>Applications keep what you have allowed them when you sign out.</p>
<form method="post" action="/logout">
<button type="submit">Sign out</button>
</form>
{{else}}<h1>Sign in</h1>
{{if .To}}<p>An application wants to use this folder server in your name. What it may do is asked next.</p>
{{end}}{{if .Error}}<p class="error" role="alert" id="error">{{.Error}}</p>
{{end}}<form method="post" action="/login">
<input type="hidden" name="to" value="{{.To}}">
<label for="name">Name</label>
<input id="name" name="name" value="{{.Name}}" autocomplete="username" autocapitalize="none" spellcheck="false" required{{if .Error}} aria-describedby="error"{{else}} autofocus{{end}}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required{{if .Error}} aria-describedby="error" autofocus{{end}}>
<div><button type="submit">Sign in</button></div>
</form>
{{end}}</main>
</body>
</html>
`))
})
