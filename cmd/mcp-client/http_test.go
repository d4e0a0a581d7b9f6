package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mcp"
)

// overHTTP serves s until the test ends, and returns the URLs of Streamable HTTP and
// of HTTP+SSE.
func overHTTP(t *testing.T, s *mcp.Server) []string {
	h := &mcp.HTTPHandler{Server: s}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	//lint:ignore SA1019 some clients know no other
	mux.Handle("/sse", h.SSE())
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return []string{web.URL + "/mcp", web.URL + "/sse"}
}

// The trace shows messages and the end of the session, and no secret: no header, no
// query, no session id.
func TestTraceHTTP(t *testing.T) {
	const messages = `--> #2 initialize {"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"mcp-client","title":"Command-line client","version":"1.0.0"}}
<-- #2 initialize result {"protocolVersion":"2025-11-25",`
	const call = `--> #6 tools/call {"_meta":{"progressToken":6},"name":"log","arguments":{}}
<-- notifications/message {"level":"error","data":{"msg":"large"}}
<-- #6 tools/call result {"content":[{"type":"text","text":"logged"}]}
`
	for i, url := range overHTTP(t, newTestServer(&watcher{}, mcp.Revisions()[1:]...)) {
		tr := new(trial).with(dial).run("-trace", "-q", "-header", "X-Key: secret", "call", "log", url+"?key=secret")
		got := untimed(tr.stderr.String())
		// What listens to the server is written by another goroutine.
		lines := regexp.MustCompile(`(?m)^(--> \((GET|DELETE)\)|<-- \(.*\))\n`).ReplaceAllString(got, "")
		if tr.code != exitOK || !strings.Contains(lines, messages) || !strings.HasSuffix(lines, call) {
			t.Errorf("%s: the trace is:\n%s\nwant it to have:\n%s\nand to end with:\n%s", url, got, messages, call)
		}
		if ends := strings.Contains(got, "--> (DELETE)\n"); ends != (i == 0) {
			t.Errorf("%s: the end of the session is shown: %v", url, ends)
		}
		if opens := strings.Contains(got, "--> (GET)\n<-- (event endpoint)\n"); opens != (i == 1) {
			t.Errorf("%s: the stream of HTTP+SSE is shown: %v", url, opens)
		}
		if strings.Contains(got, "secret") || strings.Contains(got, "essionId=") {
			t.Errorf("the trace tells a secret:\n%s", got)
		}
	}
}

// Events are shown as soon as they are read, whatever their lines end in.
func TestTracedBody(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		var out buffer
		text := strings.ReplaceAll(": hi\n\nid: 1\ndata:\n\ndata: {\ndata:}\n\nevent: message\ndata: []\n\nevent: endpoint\ndata: secret\n\ndata: unfinished\n", "\n", end)
		b := &tracedBody{ReadCloser: io.NopCloser(strings.NewReader(text)), trace: &trace{screen: &screen{w: &out}, start: time.Now()}, events: true}
		if _, err := io.ReadAll(b); err != nil {
			t.Error(err)
		}
		if got, want := untimed(out.String()), "<-- {\\x0a}\n<-- []\n<-- (event endpoint)\n"; got != want {
			t.Errorf("%q: got %q, want %q", end, got, want)
		}
	}
}

// Every request has the headers that were given.
func TestHeaders(t *testing.T) {
	var missing atomic.Int32
	h := &mcp.HTTPHandler{Server: newTestServer(&watcher{})}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "a: b" || fmt.Sprint(r.Header.Values("X-List")) != "[1 2]" {
			missing.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	defer web.Close()
	new(trial).with(dial).run("-q", "-header", "x-key: a: b", "-header", "X-List:1", "-header", "X-List: 2", "call", "sum", web.URL).is(t, exitOK, "{\"sum\":3}\n", "")
	if n := missing.Load(); n > 0 {
		t.Errorf("%d requests came without the headers", n)
	}
}

// What is no answer of the protocol has an exit code, and where the person can do
// something about it, a line that says so.
func TestHTTPErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		code   int
		stderr string // after the status
	}{
		{401, exitProtocol, "mcp-client: the server does not accept what -header says of who calls\n"},
		{403, exitProtocol, "mcp-client: the server does not let this caller, or a request to this host name, in\n"},
		{410, exitProtocol, ""},
		{502, exitConnection, "mcp-client: the server, or a proxy before it, cannot serve now\n"},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", c.status) }))
		new(trial).with(dial).run("-q", "-header", "Authorization: Bearer secret", "tools", web.URL+"/mcp?key=secret").is(t, c.code, "", fmt.Sprintf(
			"mcp-client: server/discover: POST %s/mcp: the server answered %d %s (text/plain; charset=utf-8): \"no\\n\"\n%s",
			web.URL, c.status, http.StatusText(c.status), c.stderr))
		web.Close()
		new(trial).with(dial).run("-q", "-header", "K: secret", "tools", web.URL+"/mcp?key=secret").is(t, exitConnection, "", fmt.Sprintf(
			"mcp-client: server/discover: Post %q: dial tcp %s: connect: connection refused\n", web.URL+"/mcp", strings.TrimPrefix(web.URL, "http://")))
	}
}

// A server that forgets the session is told of it again, and the person learns of it.
func TestRenewed(t *testing.T) {
	s := newTestServer(&watcher{}, mcp.Revisions()[1:]...)
	var h atomic.Pointer[mcp.HTTPHandler]
	h.Store(&mcp.HTTPHandler{Server: s})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(body), `"prompts/get"`) && h.Load().MaxSessions == 0 {
			h.Store(&mcp.HTTPHandler{Server: s, MaxSessions: 1}) // knows no session
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h.Load().ServeHTTP(w, r)
	}))
	defer web.Close()
	new(trial).with(dial).run("prompt", "greet", "who=Ada", web.URL).is(t, exitOK, "user:\nGreet Ada\nassistant:\n[resource test:///a]\nhello\n",
		"connecting to: "+web.URL+"\nthe server had ended the session; there is a new one\n")
}

func TestWatchHTTP(t *testing.T) {
	for _, url := range overHTTP(t, newTestServer(&watcher{})) {
		tr := &trial{signals: make(chan os.Signal, 1)}
		tr.hear = func(text string) {
			if text == "updated test:///a\n" {
				tr.signals <- os.Interrupt
			}
		}
		tr.with(dial).run("watch", "-q", "test:///a", url).is(t, exitInterrupted, "updated test:///a\n", "mcp-client: interrupted\n")
	}
}
