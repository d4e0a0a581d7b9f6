package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/mcp"
)

// A surfer is a person with a browser, who signs in and allows what is asked.
type surfer struct {
	web            http.Client
	name, password string
	scopes         [][]string // of the pages that asked
	logins         int
}

func newSurfer(t testing.TB, name, password string) *surfer {
	jar, err := cookiejar.New(nil)
	check(t, err)
	return &surfer{web: http.Client{Jar: jar}, name: name, password: password}
}

var (
	formAction = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	formHidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
	pageScope  = regexp.MustCompile(`<li>.* <small>\((.*)\)</small></li>`)
)

// visit is for LoopbackLogin.Open: it answers forms until there is none.
func (v *surfer) visit(_ context.Context, at string) error {
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
		case resp.StatusCode != http.StatusOK:
			return fmt.Errorf("the page of status %d says: %s", resp.StatusCode, data)
		case action == nil:
			return nil
		}
		form := url.Values{}
		for _, hidden := range formHidden.FindAllSubmatch(data, -1) {
			form.Set(string(hidden[1]), html.UnescapeString(string(hidden[2])))
		}
		if string(action[1]) == "/login" {
			v.logins++
			form.Set("name", v.name)
			form.Set("password", v.password)
		} else {
			var asked []string
			for _, s := range pageScope.FindAllSubmatch(data, -1) {
				asked = append(asked, string(s[1]))
			}
			v.scopes = append(v.scopes, asked)
			form.Set("decision", "allow")
		}
		resp, err = v.web.PostForm(resp.Request.URL.ResolveReference(&url.URL{Path: string(action[1])}).String(), form)
	}
	return fmt.Errorf("there is no end of forms at %s", at)
}

// A memory is a TokenStore whose tokens can be seen.
type memory struct {
	mu sync.Mutex // guards m
	m  map[string][]byte
}

func (s *memory) Load(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[key], nil
}

func (s *memory) Save(_ context.Context, key string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string][]byte{}
	}
	s.m[key] = slices.Clone(data)
	return nil
}

// A record is what is kept of a token.
type record struct {
	AccessToken string    `json:"access_token"`
	Obtained    time.Time `json:"obtained"`
	Expires     time.Time `json:"expires"`
}

// token returns the only token there is.
func (s *memory) token() (token record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, data := range s.m {
		var r record
		if json.Unmarshal(data, &r) == nil && r.AccessToken != "" {
			token = r
		}
	}
	return token
}

// guarded runs the command with -auth, and connects a client for which a person logs in.
func guarded(t *testing.T, u *users, args ...string) (*served, *surfer, *memory, *mcp.ClientSession) {
	s := overHTTP(t, t.Context(), append([]string{"-auth", u.path}, args...)...)
	equal(t, "second line", <-s.lines, "mcp-server: people sign in and out at "+strings.TrimSuffix(s.url, "/mcp")+"/login; what they allow ends with this process")
	v, store := newSurfer(t, "ada", secret), &memory{}
	transport := &mcp.OAuthTransport{Login: (&mcp.LoopbackLogin{Open: v.visit}).Login, Store: store}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "0"}, nil).
		Connect(t.Context(), &mcp.HTTPTransport{URL: s.url, Client: &http.Client{Transport: transport}})
	check(t, err)
	return s, v, store, cs
}

// post sends a request with a token, in a session if there is one.
func (s *served) post(t *testing.T, token, session, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
	check(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	check(t, err)
	resp.Body.Close()
	return resp
}

const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`

// A client gets in when a user has allowed it, and may write when the user has allowed
// that, too. AUTH-230 AUTH-232 AUTH-236 AUTH-238 AUTH-280 AUTH-309
func TestAuth(t *testing.T) {
	u, dir := newUsers(t), files{"a.txt": "hello"}.write(t)
	s, v, store, cs := guarded(t, u, dir)
	r, err := cs.CallTool(t.Context(), "read_file", at{"path": "a.txt"})
	check(t, err)
	equal(t, "read_file", r.Text(), "hello")
	equal(t, "asked", v.scopes, "[[files:read]]")

	metadata := strings.TrimSuffix(s.url, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
	resp := s.post(t, "", "", opening)
	equal(t, "without a token", resp.StatusCode, 401)
	equal(t, "challenge", resp.Header.Get("WWW-Authenticate"), `Bearer scope="files:read", resource_metadata="`+metadata+`"`)
	reading := store.token().AccessToken
	session := s.post(t, reading, "", opening).Header.Get("Mcp-Session-Id")
	for _, member := range []string{"", `,"Name":"read_file"`, `,"NAME":"read_file"`} { // by which other decoders could be fooled
		resp := s.post(t, reading, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_file"`+member+`,"arguments":{"path":"b.txt","content":"b"}}}`)
		equal(t, "writing"+member, resp.StatusCode, 403)
		if got := resp.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, `Bearer error="insufficient_scope", `) || !strings.Contains(got, `scope="files:write files:read", resource_metadata="`+metadata+`"`) {
			t.Errorf("the challenge is %s", got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err == nil {
		t.Error("it was written without the scope")
	}

	r, err = cs.CallTool(t.Context(), "write_file", at{"path": "b.txt", "content": "b"})
	check(t, err)
	equal(t, "write_file", r.Text(), "Wrote 1 bytes to b.txt.")
	equal(t, "asked", v.scopes, "[[files:read] [files:read files:write]]")
	equal(t, "logins", v.logins, 1)

	equal(t, "before the user is removed", s.post(t, store.token().AccessToken, "", opening).StatusCode, 200)
	check(t, writePrivate(u.path, made[strings.Index(made, "bob:"):]))
	equal(t, "afterwards", s.post(t, store.token().AccessToken, "", opening).StatusCode, 401)
	check(t, os.Remove(u.path))
	equal(t, "without the file", s.post(t, store.token().AccessToken, "", opening).StatusCode, 503)
	_ = cs.Close() // which the server refuses, too
}

// Nothing can be allowed that the server does not do.
func TestAuthReadOnly(t *testing.T) {
	s, v, store, cs := guarded(t, newUsers(t), "-read-only", "-token-lifetime", "90s", files{"a.txt": "hello"}.write(t))
	equal(t, "asked", v.scopes, "[[files:read]]")
	resp, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + "/.well-known/oauth-authorization-server")
	check(t, err)
	defer resp.Body.Close()
	var m mcp.AuthorizationServerMetadata
	check(t, json.NewDecoder(resp.Body).Decode(&m))
	equal(t, "scopes", m.ScopesSupported, "[files:read]")
	r := store.token()
	if d := r.Expires.Sub(r.Obtained); d > 90*time.Second || d < 80*time.Second { // it was counted from before the answer came
		t.Errorf("a token lives for %v", d)
	}
	check(t, cs.Close())
}

// Behind a proxy the server has a name of its own.
func TestAuthPublic(t *testing.T) {
	s := overHTTP(t, t.Context(), "-auth", newUsers(t).path, "-public", "https://mcp.example/", files{}.write(t))
	equal(t, "URL", s.url, "https://mcp.example/mcp")
	_, listening, _ := strings.Cut(<-s.lines, "listening at ")
	for _, host := range []string{"mcp.example", "other.example"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, listening+"/mcp", strings.NewReader(opening))
		check(t, err)
		r.Host = host
		resp, err := http.DefaultClient.Do(r)
		check(t, err)
		resp.Body.Close()
		equal(t, host, resp.StatusCode, map[string]int{"mcp.example": 401, "other.example": 403}[host])
		if challenge := resp.Header.Get("WWW-Authenticate"); host == "mcp.example" && !strings.Contains(challenge, `"https://mcp.example/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("the challenge is %s", challenge)
		}
	}
}
