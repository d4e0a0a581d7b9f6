package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// A wire records all that goes through it, and picks the secrets out.
type wire struct {
	mu      sync.Mutex        // guards the fields below
	bodies  []*buffer         // of answers; they may still grow
	secrets map[string]string // what is secret, and of which kind it is
}

// secretNames are the members of forms and JSON that nobody else may see.
var secretNames = []string{"access_token", "refresh_token", "token", "code", "code_verifier", "client_secret", "password", "consent"}

func (w *wire) add(kind, secret string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if secret != "" {
		w.secrets[secret] = kind
	}
}

// RoundTrip passes a request on.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	_, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	w.add("bearer", bearer)
	w.add("session", r.Header.Get("Mcp-Session-Id"))
	for _, c := range r.Cookies() {
		w.add("cookie", c.Value)
	}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		w.form(string(body))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, c := range resp.Cookies() {
		w.add("cookie", c.Value)
	}
	w.add("session", resp.Header.Get("Mcp-Session-Id"))
	if _, query, ok := strings.Cut(resp.Header.Get("Location"), "?"); ok {
		w.form(query)
	}
	seen := &buffer{}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, seen), resp.Body}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies = append(w.bodies, seen)
	return resp, nil
}

func (w *wire) form(text string) {
	if form, err := url.ParseQuery(text); err == nil {
		for _, name := range secretNames {
			w.add(name, form.Get(name))
		}
	}
}

// all returns the secrets of all that has gone through.
func (w *wire) all() map[string]string {
	w.mu.Lock()
	bodies := w.bodies
	w.mu.Unlock()
	for _, b := range bodies {
		var members map[string]any
		if json.Unmarshal([]byte(b.String()), &members) != nil {
			continue
		}
		for _, name := range secretNames {
			if text, ok := members[name].(string); ok {
				w.add(name, text)
			}
		}
	}
	return w.secrets
}

// A folderServer is mcp-server, built and running behind a wire.
type folderServer struct {
	url    string
	wire   *wire
	cmd    *exec.Cmd
	stderr buffer
	read   chan error // gets how the reading of stderr ended
}

// startFolder builds mcp-server and starts it with one user, whose password is given.
func startFolder(t *testing.T, password string) *folderServer {
	t.Helper()
	dir := t.TempDir()
	p := &program{flags: flags{quiet: true}}
	binary, err := p.build(t.Context(), dir)
	must(t, err)
	passwd := exec.Command(binary, "passwd", filepath.Join(dir, "users"), "ada")
	passwd.Stdin = strings.NewReader(password)
	out, err := passwd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("passwd: %v, %s", err, out)
	}
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "folder", "a.txt"), []byte("hello"), 0o644))

	s := &folderServer{wire: &wire{secrets: map[string]string{}}, read: make(chan error, 1)}
	web := httptest.NewUnstartedServer(nil)
	_, port, _ := strings.Cut(web.Listener.Addr().String(), ":")
	s.url = "http://localhost:" + port + "/mcp"
	s.cmd = exec.Command(binary, "-v", "-http", "127.0.0.1:0", "-auth", filepath.Join(dir, "users"), "-public", "http://localhost:"+port, filepath.Join(dir, "folder"))
	stderr, err := s.cmd.StderrPipe()
	must(t, err)
	must(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	at := s.listening(t, stderr)
	web.Config.Handler = &httputil.ReverseProxy{Transport: s.wire, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", at, r.In.Host
	}}
	web.Start()
	t.Cleanup(web.Close)
	return s
}

// listening returns where the server listens, and reads stderr on.
func (s *folderServer) listening(t *testing.T, stderr io.Reader) (at string) {
	t.Helper()
	lines := bufio.NewReader(stderr)
	for at == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server ended: %v\n%s", err, s.stderr.String())
		}
		fmt.Fprint(&s.stderr, line)
		_, at, _ = strings.Cut(strings.TrimSpace(line), "listening at http://")
	}
	go func() { // ends with stderr
		_, err := io.Copy(&s.stderr, lines)
		s.read <- err
	}()
	return at
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Nothing that is printed or written, but to the store, has a token, code, verifier,
// password, cookie, secret or session id, through all that can happen with them.
// AUTH-282
func TestNoSecrets(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is missing: ", err)
	}
	const password, wrong = "correct horse battery", "wrong password staple"
	s, config := startFolder(t, password), t.TempDir()
	v := newSurfer()
	var printed []string
	run := func(want int, line ...string) {
		t.Helper()
		tr := &trial{config: config, browse: v.visit, typed: "y\ny\n"}
		tr.with(dial).run(append([]string{"-trace"}, append(line, s.url)...)...)
		if tr.code != want {
			t.Errorf("%q: exit code %d, stderr:\n%s", line, tr.code, tr.stderr.String())
		}
		printed = append(printed, tr.stdout.String(), tr.stderr.String(), tr.screen.String())
	}
	at := strings.TrimSuffix(s.url, "mcp") + "login"
	for _, form := range []url.Values{{"name": {"ada"}, "password": {wrong}}, {"name": {password}, "password": {wrong}}} {
		resp, err := v.web.PostForm(at, form)
		must(t, err)
		page, err := io.ReadAll(resp.Body)
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != 403 {
			t.Errorf("a wrong login: %d, %s", resp.StatusCode, page)
		}
	}
	v.name, v.password = "ada", password
	run(exitOK, "-revision", "2025-11-25", "call", "read_file", "path=a.txt") // which has session ids
	run(exitOK, "-yes", "call", "write_file", "path=b.txt", "content=b")
	alter(t, config, "expires", "2020-01-01T00:00:00Z")
	run(exitOK, "resources")
	alter(t, config, "access_token", "an-old-and-wrong-token") // is refused, and refreshed
	run(exitOK, "tools")
	alter(t, config, "access_token", "another-wrong-token")
	alter(t, config, "refresh_token", "a-wrong-refresh-token") // the person has to log in
	run(exitOK, "info")
	_, record := stored(t, config)
	token := fmt.Sprint(record["access_token"])
	run(exitOK, "-header", "Authorization: Bearer "+token, "prompts")
	run(exitOK, "logout")
	run(exitProtocol, "-header", "Authorization: Bearer "+token, "prompts")
	must(t, s.cmd.Process.Signal(os.Interrupt))
	must(t, <-s.read)
	must(t, s.cmd.Wait())
	printed = append(printed, s.stderr.String())

	must(t, filepath.WalkDir(config, func(path string, d fs.DirEntry, err error) error {
		printed = append(printed, path)
		if err == nil && !d.IsDir() && filepath.Dir(path) != filepath.Join(config, "mcp-client", "tokens") {
			t.Errorf("%s is not in the store", path)
		}
		return err
	}))
	s.wire.add("password", password)
	secrets, kinds := s.wire.all(), map[string]int{}
	for secret, kind := range secrets {
		kinds[kind]++
		for _, text := range printed {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("a secret of the kind %s is printed: %.300s", kind, text[max(0, i-100):])
			}
		}
	}
	for _, kind := range []string{"bearer", "session", "cookie", "access_token", "refresh_token", "code", "code_verifier", "password", "consent"} {
		if kinds[kind] == 0 {
			t.Errorf("no secret of the kind %s was seen", kind)
		}
	}
	if all := strings.Join(printed, "\n"); !strings.Contains(all, `--> #1 initialize {`) ||
		!regexp.MustCompile(`msg="access was allowed" client=\S+ user=ada`).MatchString(all) || !strings.Contains(all, `msg="a sign-in failed"`) {
		t.Errorf("too little was printed:\n%s", all)
	}
}
