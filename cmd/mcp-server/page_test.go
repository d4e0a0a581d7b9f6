package main

import (
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// get gets a page of a server, which must be HTML that runs and loads nothing.
func (s *served) get(path string) string {
	s.t.Helper()
	resp, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + path)
	check(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	check(s.t, err)
	equal(s.t, "status", resp.StatusCode, 200)
	equal(s.t, "type", resp.Header.Get("Content-Type"), "text/html; charset=utf-8")
	if p := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; ") || strings.Contains(p, "unsafe") {
		s.t.Errorf("policy %q", p)
	}
	if loads := regexp.MustCompile(`(?i)<(script|img|link|iframe)|\son\w+=|\ssrc=|style=`).Find(body); loads != nil {
		s.t.Errorf("the page has %q", loads)
	}
	return string(body)
}

// The page at / says how to connect, in words that can be copied; it says nothing of the
// folder.
func TestFirstPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := files{"a": ""}.write(t)
	for _, c := range []struct {
		args    []string
		has, no string
	}{
		{nil, "Nobody is asked who they are", "sign in"},
		{[]string{"-read-only"}, "and change nothing", "they ask you"},
		{[]string{"-sse"}, "/sse</code>", "sign in"},
	} {
		s := overHTTP(t, ctx, append(c.args, dir)...)
		body := s.get("/")
		if !strings.Contains(body, c.has) || strings.Contains(body, c.no) || strings.Contains(body, dir) {
			t.Errorf("%q: %s", c.args, body)
		}
		var config struct {
			Servers map[string]map[string]string `json:"mcpServers"`
		}
		text := regexp.MustCompile(`(?s)\{.*\}`).FindString(body[strings.Index(body, "<main>"):])
		check(t, json.Unmarshal([]byte(html.UnescapeString(text)), &config))
		equal(t, "configuration", config.Servers, "map[folder:map[type:http url:"+s.url+"]]")
		if command := "mcp-client tools " + s.url + "\n"; !strings.Contains(body, command) {
			t.Errorf("there is no %q in %s", command, body)
		}
		for method, want := range map[string]int{"HEAD /": 200, "POST /": 405, "DELETE /": 405, "GET /index.html": 404, "GET //": 200, "GET /mcp/": 404} {
			verb, path, _ := strings.Cut(method, " ")
			r, err := http.NewRequest(verb, strings.TrimSuffix(s.url, "/mcp")+path, nil)
			check(t, err)
			resp, err := http.DefaultClient.Do(r)
			check(t, err)
			resp.Body.Close()
			equal(t, method, resp.StatusCode, want)
		}
	}
}

// Where people sign in the page says so.
func TestFirstPageWithAuth(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := overHTTP(t, ctx, "-auth", newUsers(t).path, files{}.write(t))
	if body := s.get("/"); !strings.Contains(body, `<a href="/login">Sign in or out</a>`) || !strings.Contains(body, "<code>"+s.url+"</code>") {
		t.Error(body)
	}
}

// Nothing that it shows becomes part of the page.
func TestFirstPageIsEscaped(t *testing.T) {
	for _, bad := range []string{`"><script>alert(1)</script>`, "</code></pre><img src=x>", "'&\u2028"} {
		w := httptest.NewRecorder()
		(&greeting{URL: bad, Old: bad, Auth: true, log: discard}).ServeHTTP(w, nil)
		if strings.Contains(w.Body.String(), "<script") || strings.Contains(w.Body.String(), "<img") || strings.Count(w.Body.String(), "</pre>") != 3 {
			t.Errorf("%q: %s", bad, w.Body.String())
		}
	}
}
