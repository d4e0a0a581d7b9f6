package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/mcp"
)

// A served is a run of the command over HTTP.
type served struct {
	t     *testing.T
	url   string      // of /mcp
	lines chan string // of stderr, after the first; closed at the end
	code  chan int
}

// overHTTP runs the command over HTTP on a free port.
func overHTTP(t *testing.T, ctx context.Context, args ...string) *served {
	stderr, w := io.Pipe()
	s := &served{t: t, lines: make(chan string, 100), code: make(chan int, 1)}
	go func() { // ends with ctx
		s.code <- run(ctx, append([]string{"-http", "127.0.0.1:0"}, args...), nil, io.Discard, w)
		w.Close()
	}()
	s.read(stderr)
	return s
}

// read reads stderr, up to the URL and then on.
func (s *served) read(stderr io.Reader) {
	in := bufio.NewScanner(stderr)
	if !in.Scan() || !regexp.MustCompile(`^mcp-server: serving at https?://[a-z0-9.:]+/mcp$`).MatchString(in.Text()) {
		s.t.Fatalf("the first line of stderr is %q", in.Text())
	}
	_, s.url, _ = strings.Cut(in.Text(), " at ")
	go func() { // ends with stderr
		for in.Scan() {
			s.lines <- in.Text()
		}
		close(s.lines)
	}()
}

// connect connects a client.
func (s *served) connect(url string, o *mcp.ClientOptions) *mcp.ClientSession {
	s.t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "0"}, o).Connect(s.t.Context(), &mcp.HTTPTransport{URL: url})
	check(s.t, err)
	return cs
}

// access returns the lines of stderr that are left, without what differs from run to run.
func (s *served) access() (lines []string) {
	for line := range s.lines {
		line = regexp.MustCompile(`time=\S+ `).ReplaceAllString(line, "")
		lines = append(lines, regexp.MustCompile(`duration=\S+ bytes=\d+$`).ReplaceAllString(line, "+"))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// Three clients, of which two have a session, one of them over HTTP+SSE; what is over
// is on stderr, without secrets.
func TestServesHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := overHTTP(t, ctx, "-sse", files{"a.txt": "hello", "b/c.txt": "c"}.write(t))
	sse := strings.TrimSuffix(s.url, "/mcp") + "/sse"
	equal(t, "second line", <-s.lines, "mcp-server: serving old clients at "+sse)
	for i, url := range []string{s.url, s.url, sse} {
		updates := make(chan string, 1)
		cs := s.connect(url, &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ClientSession, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept"}, nil
			},
			ResourceUpdated: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ResourceUpdatedParams) { updates <- p.URI },
			Revisions:       mcp.Revisions()[min(i, 1):],
		})
		var uri string
		for r, err := range cs.Resources(t.Context()) {
			check(t, err)
			if r.Name == "a.txt" {
				uri = r.URI
			}
		}
		check(t, cs.Subscribe(t.Context(), uri))
		r, err := cs.CallTool(t.Context(), "write_file", at{"path": "a.txt", "content": "hi"})
		check(t, err)
		equal(t, "write_file", r.Text(), "Wrote 2 bytes to a.txt.")
		equal(t, "update", <-updates, uri)
		check(t, cs.Close())
	}
	cancel()
	equal(t, "exit code", <-s.code, 0)
	equal(t, "stderr", strings.Join(s.access(), "\n"), `level=INFO msg=request method=DELETE path=/mcp status=204 +
level=INFO msg=request method=GET path=/mcp status=200 +
level=INFO msg=request method=GET path=/sse status=200 +
level=INFO msg=request method=POST path=/mcp status=200 +
level=INFO msg=request method=POST path=/mcp status=202 +
level=INFO msg=request method=POST path=/sse status=202 +
level=INFO msg=request method=POST path=/sse status=400 +`)
}

// Who comes by another name, or from a page of elsewhere, is refused unless allowed.
func TestHTTPDoor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := files{}.write(t)
	closed, open := overHTTP(t, ctx, dir), overHTTP(t, ctx, "-allow-host", "mcp.example", "-allow-host", "x.example", "-allow-origin", "https://a.example", dir)
	for _, c := range []struct {
		s            *served
		path         string
		host, origin string
		status       int
		allowed      string // Access-Control-Allow-Origin
	}{
		{closed, "", "", "", 200, ""},
		{closed, "", "mcp.example", "", 403, ""},
		{closed, "", "", "https://a.example", 403, ""},
		{closed, "/sse", "", "", 404, ""},
		{open, "", "mcp.example", "", 200, ""},
		{open, "", "x.example", "https://a.example", 200, "https://a.example"},
		{open, "", "y.example", "", 403, ""},
		{open, "", "", "https://b.example", 403, ""},
	} {
		url := c.s.url
		if c.path != "" {
			url = strings.TrimSuffix(url, "/mcp") + c.path
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`))
		check(t, err)
		r.Host = c.host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		resp, err := http.DefaultClient.Do(r)
		check(t, err)
		resp.Body.Close()
		if got := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != c.status || got != c.allowed {
			t.Errorf("host %q, origin %q: %d, allowed origin %q; want %d, %q", c.host, c.origin, resp.StatusCode, got, c.status, c.allowed)
		}
	}
}

// A call that runs when the signal comes may finish, also if it waits for the
// person; then the process ends with code 0.
func TestHTTPSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send on Windows")
	}
	cmd := exec.Command(os.Args[0], "-http", "127.0.0.1:0", "-sse", files{"a.txt": "hello"}.write(t))
	cmd.Env = append(os.Environ(), asCommand+"=1")
	stderr, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	s := &served{t: t, lines: make(chan string, 100)}
	s.read(stderr)
	listening := s.connect(strings.TrimSuffix(s.url, "/mcp")+"/sse", nil) // does not hold up the end
	cs := s.connect(s.url, &mcp.ClientOptions{
		Revisions: []string{mcp.Revision20251125}, // in which it is one call that waits
		Elicit: func(ctx context.Context, cs *mcp.ClientSession, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			check(t, cmd.Process.Signal(syscall.SIGTERM))
			for cs.Ping(ctx) == nil { // until the signal is heard
			}
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	r, err := cs.CallTool(t.Context(), "delete_file", at{"path": "a.txt"})
	check(t, err)
	equal(t, "delete_file", r.Text(), "Deleted a.txt.")
	for range s.lines { // to the end
	}
	check(t, cmd.Wait()) // an error for other codes
	check(t, cs.Close())
	check(t, listening.Close())
}
