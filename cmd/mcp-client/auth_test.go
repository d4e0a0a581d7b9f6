package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"example.com/mcp"
)

// A guarded is a server that wants tokens, which it issues itself: to Ada, who is always
// signed in. Its tool change needs more than the others.
type guarded struct {
	url    string
	issuer *mcp.AuthorizationServer
}

// newGuarded starts one that lives until the test ends.
func newGuarded(t *testing.T, set func(*mcp.AuthorizationServer)) *guarded {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	origin := "http://" + web.Listener.Addr().String()
	g := &guarded{url: origin + "/mcp", issuer: &mcp.AuthorizationServer{
		Issuer:       origin,
		Resources:    []string{origin + "/mcp"},
		Scopes:       map[string]string{"read": "read", "write": "write", "more": "do more"},
		Authenticate: func(http.ResponseWriter, *http.Request) (string, bool) { return "ada", true },
	}}
	if set != nil {
		set(g.issuer)
	}
	resource := &mcp.ProtectedResource{Resource: g.url, AuthorizationServers: []string{origin}, Verify: g.issuer.Verify, Required: []string{"read"}}
	s := newTestServer(&watcher{})
	mcp.AddTool(s, &mcp.Tool{Name: "change"}, func(_ context.Context, r *mcp.Request, _ struct{}) (string, error) {
		return "changed", resource.Require(r, "write")
	})
	mux := http.NewServeMux()
	mux.Handle("/", g.issuer)
	mux.Handle("/mcp", &mcp.HTTPHandler{Server: s, Authorize: resource.Authorize})
	for _, path := range resource.MetadataPaths() {
		mux.Handle(path, resource)
	}
	web.Config.Handler = mux
	web.Start()
	t.Cleanup(web.Close)
	return g
}

// A surfer is a person at a browser, who fills in each form until there is none.
type surfer struct {
	web            http.Client
	name, password string
	decision       string   // "": allow
	opened         []string // scopes that were asked for
	stop           string   // it stays before it goes to a URL that begins so, which is last
	last           string
}

func newSurfer() *surfer {
	jar, _ := cookiejar.New(nil) // never fails
	v := &surfer{web: http.Client{Jar: jar}}
	v.web.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if v.stop != "" && strings.HasPrefix(r.URL.String(), v.stop) {
			v.last = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	return v
}

var (
	formAction = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	formHidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

func (v *surfer) visit(_ context.Context, at string) error {
	if u, err := url.Parse(at); err == nil {
		v.opened = append(v.opened, u.Query().Get("scope"))
	}
	resp, err := v.web.Get(at)
	for range 10 {
		if err != nil {
			return err
		}
		data, failed := io.ReadAll(resp.Body)
		resp.Body.Close()
		action := formAction.FindSubmatch(data)
		switch {
		case failed != nil:
			return failed
		case v.last != "":
			return nil
		case resp.StatusCode != http.StatusOK:
			return fmt.Errorf("the page of status %d says: %s", resp.StatusCode, data)
		case action == nil:
			return nil
		}
		form := url.Values{"name": {v.name}, "password": {v.password}, "decision": {"allow"}}
		if v.decision != "" {
			form.Set("decision", v.decision)
		}
		for _, hidden := range formHidden.FindAllSubmatch(data, -1) {
			form.Set(string(hidden[1]), html.UnescapeString(string(hidden[2])))
		}
		resp, err = v.web.PostForm(resp.Request.URL.ResolveReference(&url.URL{Path: string(action[1])}).String(), form)
	}
	return errors.New("there is no end of forms")
}

// stored returns what the store in a folder of configuration keeps of a token.
func stored(t *testing.T, config string) (file string, record map[string]any) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(config, "mcp-client", "tokens", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var r map[string]any
		if json.Unmarshal(data, &r) == nil && r["access_token"] != nil {
			file, record = f, r
		}
	}
	return file, record
}

// alter changes what is stored of a token.
func alter(t *testing.T, config string, member string, value any) {
	t.Helper()
	file, record := stored(t, config)
	if record == nil {
		t.Fatal("no token is stored")
	}
	record[member] = value
	data, err := json.Marshal(record)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// status is what the server says to a request with a token.
func (g *guarded) status(t *testing.T, token any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", fmt.Sprint("Bearer ", token))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// The person is asked, logs in once, and again only for what was not allowed yet; then
// the login is given up. AUTH-172 AUTH-238 AUTH-240
func TestLogin(t *testing.T) {
	g, v := newGuarded(t, nil), newSurfer()
	origin := strings.TrimSuffix(g.url, "/mcp")
	config := filepath.Join(t.TempDir(), "config")
	run := func(typed string, line ...string) *trial {
		tr := &trial{config: config, browse: v.visit, typed: typed}
		return tr.with(dial).run(append(line, g.url+"?key=secret")...)
	}
	tr := run("y\n", "call", "echo", "text=hi")
	tr.is(t, exitOK, "hi\n", "*")
	if want := "The server " + g.url + " wants you to log in.\n  You log in at: " + origin +
		"\n  You will be asked to allow: read\nOpen the browser? y yes, d no: "; tr.screen.String() != want {
		t.Errorf("the person was asked %q, want %q", tr.screen.String(), want)
	}
	if got, want := tr.stderr.String(), "connecting to: "+g.url+"\nlog in with your browser; if it does not show the page, open: "+origin+"/authorize?client_id="; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 2 {
		t.Errorf("stderr is %q, want %q and so on", got, want)
	}
	run("", "call", "echo", "text=again").is(t, exitOK, "again\n", "connecting to: "+g.url+"\n")
	run("", "-q", "call", "change").is(t, exitProtocol, "", "not logged in, since there is no terminal to ask at (-yes agrees): The server "+g.url+
		" wants you to log in.  You log in at: "+origin+"  You will be asked to allow: read write\n"+
		"mcp-client: tools/call: Post \""+g.url+"\": authorization for "+g.url+": mcp: the login was declined\nmcp-client: nothing was allowed; the next call asks again\n")
	run("", "-q", "-yes", "call", "change").is(t, exitOK, "changed\n", "*")
	if got := fmt.Sprintf("%q", v.opened); got != `["read" "read write"]` {
		t.Errorf("the browser was opened for %s", got)
	}
	for path, want := range map[string]fs.FileMode{"": 0o700 | fs.ModeDir, "mcp-client": 0o700 | fs.ModeDir, "mcp-client/tokens": 0o700 | fs.ModeDir} {
		if info, err := os.Stat(filepath.Join(config, path)); err != nil || runtime.GOOS != "windows" && info.Mode() != want {
			t.Errorf("%q: %v, %v", path, info, err)
		}
	}
	file, record := stored(t, config)
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	old := record["access_token"]
	alter(t, config, "expires", "2020-01-01T00:00:00Z") // it is refreshed, without the person
	run("", "call", "echo", "text=later").is(t, exitOK, "later\n", "connecting to: "+g.url+"\n")
	if _, record = stored(t, config); record["access_token"] == old {
		t.Error("an expired token was not refreshed")
	}
	if code := g.status(t, record["access_token"]); code == 401 {
		t.Errorf("status %d before the logout", code)
	}
	run("", "logout").is(t, exitOK, "", "logged out of "+g.url+"\n")
	if code := g.status(t, record["access_token"]); code != 401 {
		t.Errorf("status %d after the logout", code)
	}
	if _, record := stored(t, config); record != nil {
		t.Error("the token is still stored")
	}
	run("", "logout").is(t, exitOK, "", "logged out of "+g.url+"\n") // once more does no harm
	run("d\n", "-q", "call", "echo", "text=hi").is(t, exitProtocol, "", "mcp-client: server/discover: Post \""+g.url+"\": authorization for "+g.url+
		": mcp: the login was declined\nmcp-client: nothing was allowed; the next call asks again\n")
}

// What goes wrong is told in a line, with another one that helps.
func TestLoginFails(t *testing.T) {
	closed := newGuarded(t, func(a *mcp.AuthorizationServer) { a.NoRegistration, a.NoClientDocuments = true, true })
	open := newGuarded(t, nil)
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+"http://"+r.Host+`/metadata"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Error(w, "down", http.StatusBadGateway)
	}))
	defer gone.Close()
	refusing := newSurfer()
	refusing.decision = "deny"
	for _, c := range []struct {
		url    string
		browse *surfer
		says   string
		advice string
	}{
		{closed.url, nil, "and it has no registration_endpoint", "register a client with the authorization server, and tell it with -client-id, and -client-secret-file if it has a secret"},
		{open.url, refusing, "answered access_denied: the person did not allow it", "nothing was allowed; the next call asks again"},
		{gone.URL + "/mcp", nil, "metadata of the protected resource: " + gone.URL + "/metadata: 502 Bad Gateway", "if you have a token, -header 'Authorization: Bearer TOKEN' tells it"},
		{strings.Replace(open.url, "127.0.0.1", "localhost", 1), nil, `its resource is "` + open.url + `"`, "nothing was sent, since these must be equal; if it is another name of the server, use that one, else tell those who run it"},
	} {
		tr := (&trial{config: t.TempDir()}).with(dial)
		if c.browse != nil {
			tr.browse = c.browse.visit
		}
		tr.run("-q", "-yes", "tools", c.url)
		lines := strings.Split(strings.TrimSpace(tr.stderr.String()), "\n")
		if n := len(lines); tr.code != exitProtocol || n < 2 || !strings.Contains(lines[n-2], c.says) || lines[n-1] != "mcp-client: "+c.advice {
			t.Errorf("%s: exit code %d, stderr is:\n%s\nwant: %s\n%s", c.url, tr.code, tr.stderr.String(), c.says, c.advice)
		}
	}
}

// Who refuses the token that was just got is told so, and not asked forever.
func TestLoginInsufficient(t *testing.T) {
	g := newGuarded(t, func(a *mcp.AuthorizationServer) {
		a.FilterScopes = func(_, _ string, _ []string) []string { return []string{"read"} }
	})
	v := newSurfer()
	tr := (&trial{config: t.TempDir(), browse: v.visit}).with(dial).run("-q", "-yes", "call", "change", g.url)
	lines := strings.Split(strings.TrimSpace(tr.stderr.String()), "\n")
	if n := len(lines); tr.code != exitProtocol || lines[n-1] != "mcp-client: whoever you logged in as may not be allowed that; mcp-client logout URL lets you log in as somebody else" {
		t.Errorf("exit code %d, stderr is:\n%s", tr.code, tr.stderr.String())
	}
	if len(v.opened) > 3 {
		t.Errorf("the browser was opened %d times", len(v.opened))
	}
}

// A browser that does not come up is no reason to give up, as the URL is there.
func TestLoginWithoutBrowser(t *testing.T) {
	g, v := newGuarded(t, nil), newSurfer()
	tr := &trial{config: t.TempDir(), browse: func(ctx context.Context, u string) error {
		return errors.Join(v.visit(ctx, u), errors.New("no browser"))
	}}
	tr.with(dial).run("-yes", "call", "echo", "text=hi", g.url).is(t, exitOK, "hi\n", "*")
	if !strings.HasSuffix(tr.stderr.String(), "\nno browser\n") {
		t.Errorf("stderr is:\n%s", tr.stderr.String())
	}
}

// A pasting is a person who says yes, opens what is shown on another machine, and pastes
// the URL that this leads to.
type pasting struct {
	screen *buffer
	v      *surfer
	typed  bool        // the first answer is given
	shown  chan string // the URL
}

func (p *pasting) Write(text []byte) (int, error) {
	if at := regexp.MustCompile(`\n(http://\S+/authorize\?\S+)\n`).FindSubmatch(text); at != nil {
		p.shown <- string(at[1])
	}
	return p.screen.Write(text)
}

func (p *pasting) Read(b []byte) (int, error) {
	if !p.typed {
		p.typed = true
		return copy(b, "y\n"), nil
	}
	at, ok := <-p.shown
	if !ok {
		return 0, io.EOF
	}
	err := p.v.visit(context.Background(), at)
	return copy(b, p.v.last+"\n"), err
}

// With the browser elsewhere, its last URL is pasted.
func TestLoginElsewhere(t *testing.T) {
	g, v := newGuarded(t, nil), newSurfer()
	v.stop = "http://localhost/callback?"
	tr := &trial{config: t.TempDir()}
	person := &pasting{screen: &tr.screen, v: v, shown: make(chan string, 1)}
	defer close(person.shown)
	tr.open = func() (io.Reader, io.Writer, error) { return person, person, nil }
	tr.with(dial).run("-q", "-no-browser", "-scope", "more", "call", "echo", "text=hi", g.url).is(t, exitOK, "hi\n", "")
	if got := fmt.Sprintf("%q", v.opened); got != `["read more"]` {
		t.Errorf("the browser was opened for %s", got)
	}
	if !strings.Contains(tr.screen.String(), "Log in? y yes, d no: ") {
		t.Errorf("the person was asked:\n%s", tr.screen.String())
	}
}

// A client that was registered beforehand is the one that logs in, with its secret.
func TestLoginClient(t *testing.T) {
	const secret = "s3cret of the client"
	g := newGuarded(t, func(a *mcp.AuthorizationServer) {
		a.NoRegistration = true
		a.Clients = []mcp.RegisteredClient{{ID: "cli", Secret: secret, Metadata: mcp.ClientMetadata{ClientName: "CLI", RedirectURIs: []string{"http://127.0.0.1/callback"}}}}
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	v := newSurfer()
	for _, c := range []struct {
		text   string
		code   int
		stdout string
		stderr string
	}{
		{secret + "\n", exitOK, "hi\n", "*"},
		{"", exitUsage, "", fmt.Sprintf("mcp-client: -client-secret-file: %q must have one line\n", file)},
		{secret + "\nmore\n", exitUsage, "", fmt.Sprintf("mcp-client: -client-secret-file: %q must have one line\n", file)},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		tr := &trial{config: filepath.Join(dir, "config"), browse: v.visit}
		tr.with(dial).run("-q", "-yes", "-client-id", "cli", "-client-secret-file", file, "call", "echo", "text=hi", g.url).is(t, c.code, c.stdout, c.stderr)
	}
	tr := &trial{config: t.TempDir(), browse: v.visit}
	if tr.with(dial).run("-q", "-yes", "-client-id", "cli", "tools", g.url); tr.code != exitProtocol || strings.Contains(tr.stderr.String(), secret) {
		t.Errorf("without the secret: exit code %d, stderr is:\n%s", tr.code, tr.stderr.String())
	}
	_, record := stored(t, filepath.Join(dir, "config"))
	if data, err := json.Marshal(record); err != nil || record == nil || bytes.Contains(data, []byte(secret)) {
		t.Errorf("what is stored of the token is %s", data)
	}
}

// With a header of one's own there is no login.
func TestLoginHeader(t *testing.T) {
	g := newGuarded(t, nil)
	config := filepath.Join(t.TempDir(), "config")
	tr := &trial{config: config}
	tr.with(dial).run("-q", "-header", "authorization: Bearer secret", "tools", g.url)
	if tr.code != exitProtocol || !strings.HasSuffix(tr.stderr.String(), "\nmcp-client: the server does not accept what -header says of who calls\n") || strings.Contains(tr.stderr.String(), "secret") {
		t.Errorf("exit code %d, stderr is:\n%s", tr.code, tr.stderr.String())
	}
	if _, err := os.Stat(config); err == nil {
		t.Error("something was stored")
	}
}
