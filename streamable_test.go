package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// A web is a client of an HTTP handler, in a bubble (testing/synctest) where time is
// virtual and connections are pipes: nothing waits for real, the client sees what the
// server has written as soon as it is flushed, and at the end no goroutine may be
// left. It knows no protocol but that it sends the session id that it was given, and
// the revision that the test has settled.
type web struct {
	t       *testing.T
	l       *pipeListener
	client  *http.Client
	server  *http.Server
	session string // sent with each request; "": none
	rev     string // likewise
	path    string

	all   sync.WaitGroup // the exchanges
	open  []*exchange
	conns []net.Conn

	states stateBook

	mu   sync.Mutex // guards wire
	wire []wireLine
}

// An exchange is an HTTP request and what came back.
type exchange struct {
	c      *web
	cancel context.CancelFunc

	mu      sync.Mutex // guards the fields below
	head    string     // status and headers; "": not yet there
	body    bytes.Buffer
	events  bool
	ended   bool
	failure error
	seen    int // bytes of body that the test has looked at
}

// talkHTTP lets do talk to a handler. h is shut down at the end, and all that came
// from it must have been looked at and fit the official schemas.
func talkHTTP(t *testing.T, h *HTTPHandler, root http.Handler, do func(c *web)) {
	t.Helper()
	var wire []wireLine
	synctest.Test(t, func(t *testing.T) {
		if root == nil {
			root = h
		}
		c := newWeb(t, root)
		defer func() {
			c.close(h)
			wire = c.wire
		}()
		do(c)
		synctest.Wait()
		for _, x := range c.open {
			x.mu.Lock()
			if x.head != "" || x.seen < x.body.Len() {
				t.Errorf("never looked at: %s %s", x.head, x.body.Bytes()[x.seen:])
			}
			x.mu.Unlock()
		}
	})
	for _, problem := range wireProblems(t, wire) {
		t.Error(problem)
	}
}

func newWeb(t *testing.T, root http.Handler) *web {
	c := &web{t: t, path: "/mcp", l: &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}}
	c.client = &http.Client{Transport: &http.Transport{DisableCompression: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return c.l.dial() }}}
	c.server = &http.Server{Handler: root, Protocols: &http.Protocols{}}
	c.server.Protocols.SetHTTP1(true)
	c.server.Protocols.SetUnencryptedHTTP2(true)
	c.all.Go(func() { _ = c.server.Serve(c.l) }) // ends when the listener is closed
	return c
}

// setProtocols chooses what the client speaks.
func (c *web) setProtocols(p *http.Protocols) { c.client.Transport.(*http.Transport).Protocols = p }

func (c *web) close(h *HTTPHandler) {
	for _, x := range c.open {
		x.cancel()
	}
	for _, conn := range c.conns {
		conn.Close()
	}
	synctest.Wait()
	_ = h.Shutdown(c.t.Context())
	c.client.CloseIdleConnections()
	time.Sleep(time.Second) // net/http lingers
	c.l.Close()
	c.all.Wait()
	synctest.Wait()
}

// A pipeListener gives the server one end of a pipe for each connection.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{} // closed by Close
}

type webConn struct{ net.Conn }

func (webConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (l *pipeListener) Addr() net.Addr { return webConn{}.LocalAddr() }

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return webConn{c}, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// post sends a message, with the headers that a client has to send.
func (c *web) post(body string, header ...string) *exchange {
	c.t.Helper()
	return c.send("POST", body, append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}, header...)...)
}

// get opens a stream.
func (c *web) get(header ...string) *exchange {
	c.t.Helper()
	return c.send("GET", "", append([]string{"Accept: text/event-stream"}, header...)...)
}

// call calls a tool without arguments.
func (c *web) call(id int, tool string, header ...string) *exchange {
	c.t.Helper()
	return c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":%d}}}`, id, tool, id), header...)
}

// send sends a request. A header "Name: value" replaces what comes before it, "+Name:
// value" stands beside it, "-Name" takes it away.
func (c *web) send(method, body string, header ...string) *exchange {
	c.t.Helper()
	return c.sendBody(method, strings.NewReader(body), header...)
}

func (c *web) sendBody(method string, body io.Reader, header ...string) *exchange {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1"+c.path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.rev != "" {
		r.Header.Set("MCP-Protocol-Version", c.rev)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name[0] == '-':
			r.Header.Del(name[1:])
		case name[0] == '+':
			r.Header.Add(name[1:], value)
		case name == "Host":
			r.Host = value
		default:
			r.Header.Set(name, value)
		}
	}
	if s, ok := body.(*strings.Reader); ok {
		text := make([]byte, s.Len())
		_, _ = s.ReadAt(text, 0)
		c.log(false, string(text))
	}
	x := &exchange{c: c, cancel: cancel}
	c.open = append(c.open, x)
	c.all.Go(func() { x.run(r) })
	return x
}

func (c *web) log(fromSubject bool, text string) {
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wire = append(c.wire, wireLine{fromSubject, text})
	}
}

// run performs the exchange; it ends with the reply.
func (x *exchange) run(r *http.Request) {
	resp, err := x.c.client.Do(r)
	x.mu.Lock()
	if err != nil {
		x.ended, x.failure = true, err
		x.mu.Unlock()
		return
	}
	defer resp.Body.Close()
	x.events = resp.Header.Get("Content-Type") == "text/event-stream"
	x.head = x.c.headOf(resp)
	x.mu.Unlock()
	b := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(b)
		x.mu.Lock()
		x.body.Write(b[:n])
		if err != nil {
			x.ended = true
			if err != io.EOF {
				x.failure = err
			}
			for line := range strings.SplitSeq(x.body.String(), "\n") {
				if r.Context().Err() != nil {
					break // dropped
				}
				x.c.log(true, strings.TrimPrefix(line, "data: "))
			}
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()
	}
}

var sessionID = regexp.MustCompile(`^[!-~]*[A-Z2-7]{26}$`)

// headOf is the status, the type and all headers that are not the same for every
// reply of that type.
func (c *web) headOf(resp *http.Response) string {
	h := resp.Header
	head := strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", h.Get("Content-Type")))
	fixed := map[string]string{}
	if h.Get("Content-Type") == "text/event-stream" {
		fixed = map[string]string{"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
	} else if resp.StatusCode != http.StatusNoContent {
		fixed["Content-Length"] = fmt.Sprint(resp.ContentLength)
	}
	for name, value := range fixed {
		if h.Get(name) != value {
			head += "\n" + name + " is not " + value
		}
		h.Del(name)
	}
	if id := h.Get("Mcp-Session-Id"); sessionID.MatchString(id) {
		c.mu.Lock()
		c.session = id
		c.mu.Unlock()
		h.Set("Mcp-Session-Id", id[:len(id)-26]+"*")
	}
	var lines []string
	for name, values := range h {
		if name != "Date" && name != "Content-Type" {
			lines = append(lines, name+": "+strings.Join(values, "; "))
		}
	}
	slices.Sort(lines)
	return strings.Join(append([]string{head}, lines...), "\n")
}

// sees checks what has come since the test looked the last time, byte for byte but for
// white space around it: the head of the reply, then its body. "$" is the end of a
// stream, "!" the loss of the connection; a reply without either, which is no stream,
// must be complete.
func (x *exchange) sees(want string) {
	x.c.t.Helper()
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	got := strings.TrimSpace(x.head + "\n" + x.c.states.mask(string(x.body.Bytes()[x.seen:])))
	if x.events && x.seen < x.body.Len() && !bytes.HasSuffix(x.body.Bytes(), []byte("\n\n")) {
		got += "\n(incomplete)"
	}
	switch {
	case x.ended && x.failure != nil:
		got += "\n!"
	case x.ended && x.events:
		got += "\n$"
	case !x.ended && x.head != "" && !x.events:
		got += "\n(incomplete)"
	}
	x.head, x.seen = "", x.body.Len()
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(want, "\n\n{", "\n{")), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if got = strings.TrimSpace(got); got != strings.Join(lines, "\n") {
		x.c.t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(lines, "\n"))
	}
}

// drop closes the connection, whatever has come.
func (x *exchange) drop() {
	synctest.Wait()
	x.cancel()
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.head, x.seen = "", x.body.Len()
}

// hello opens a session with a server of testServer's.
func (c *web) hello(rev, caps string) {
	c.t.Helper()
	c.session, c.rev = "", ""
	c.post(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + rev + `","capabilities":` + caps + `,"clientInfo":{"name":"t","version":"0"}}}`).sees(`
		200 application/json
		Mcp-Session-Id: *
		{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"` + rev + `","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}`)
	c.rev = rev
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
}

const pingA = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
const pongA = `200 application/json
	{"jsonrpc":"2.0","id":1,"result":{}}`

// refused is the answer to a request that was not let in. Other headers come sorted.
func refused(status, code int, message string, header ...string) string {
	return fmt.Sprintf("%d application/json\n%s\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":%d,\"message\":%s}}",
		status, strings.Join(header, "\n"), code, quoted(message))
}

// BASE-180 BASE-186 BASE-190 BASE-237
func TestHTTPConversation(t *testing.T) {
	for _, rev := range sessionRevisions() {
		t.Run(rev, func(t *testing.T) {
			h := &HTTPHandler{Server: testServer(t, nil)}
			talkHTTP(t, h, nil, func(c *web) {
				c.hello(rev, "{}")
				c.post(pingA).sees(pongA)
				c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`).sees(`
					200 application/json
					{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi"}]}}`)
				slow := c.call(3, "slow")
				slow.sees(``)
				time.Sleep(500 * time.Millisecond)
				first := ": ok\n\nid: 1_1"
				if rev == Revision20251125 {
					first = "id: 1_0\nretry: 1000\ndata:\n\nid: 1_1"
				}
				begin, id, _ := strings.Cut(first, "\n\n")
				slow.sees("200 text/event-stream\n" + begin)
				time.Sleep(time.Hour - 500*time.Millisecond)
				slow.sees(strings.Repeat(": still here\n\n", 239) + id + `
					data: {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"slept"}]}}
					$`)
			})
		})
	}
}

// A page of another site, and a name that somebody else made to mean this machine,
// reach nothing, whatever they try, and are refused before anything else is looked at.
//
// BASE-182 BASE-183 BASE-271 EDGE-087 EDGE-088 EDGE-089 EDGE-090 EDGE-091 AUTH-459
func TestHTTPDoor(t *testing.T) {
	badOrigin := func(o string) string {
		return refused(403, -32600, fmt.Sprintf("origin %q is not allowed; add it to AllowedOrigins", o))
	}
	badHost := func(h string) string {
		return refused(403, -32600, fmt.Sprintf("host %q is not allowed; add it to AllowedHosts", h))
	}
	type row struct {
		header, want string
	}
	local := []row{
		{"X: y", pongA},
		{"Origin: http://evil.example", badOrigin("http://evil.example")},
		{"Origin: null", badOrigin("null")},
		{"Origin: http://localhost.evil.example", badOrigin("http://localhost.evil.example")},
		{"Origin: ftp://localhost", badOrigin("ftp://localhost")},
		{"Origin: http://localhost:6274", pongA},
		{"Origin: HTTP://LocalHost:1", pongA},
		{"Origin: http://127.0.0.1:6274", pongA},
		{"Origin: https://[::1]", pongA},
		{"Host: evil.example", badHost("evil.example")},
		{"Host: localhost.evil.example:80", badHost("localhost.evil.example:80")},
		{"Host: LOCALHOST:1", pongA},
		{"Host: [::1]:1", pongA},
	}
	listed := []row{
		{"X: y", pongA},
		{"Host: MCP.example.com", pongA},
		{"Host: mcp.example.com:444", pongA},
		{"Host: ports.example.com:81", badHost("ports.example.com:81")},
		{"Host: ports.example.com:80", pongA},
		{"Origin: https://app.example.com", pongA},
		{"Origin: http://app.example.com", badOrigin("http://app.example.com")},
		{"Origin: https://mcp.example.com", pongA},
		{"X-Forwarded-Host: mcp.example.com", pongA},
		{"X-Forwarded-Host: evil.example", pongA}, // not trusted, not looked at
	}
	for _, kind := range []struct {
		h    *HTTPHandler
		rows []row
	}{
		{&HTTPHandler{}, local},
		{&HTTPHandler{AllowedHosts: []string{"mcp.example.com", "ports.example.com:80"}, AllowedOrigins: []string{"https://app.example.com"}}, listed},
		{&HTTPHandler{AllowedOrigins: []string{"*"}}, []row{{"Origin: http://evil.example", pongA}, {"Origin: null", pongA}}},
	} {
		kind.h.Server = testServer(t, nil)
		talkHTTP(t, kind.h, nil, func(c *web) {
			c.hello(Revision20250618, "{}")
			for _, r := range kind.rows {
				c.post(pingA, r.header).sees(r.want)
			}
		})
	}
	for _, old := range []bool{false, true} {
		h := &HTTPHandler{Server: testServer(t, nil), Authorize: func(*http.Request) (*Identity, error) {
			t.Error("authorization is asked for what the door refuses")
			return nil, nil
		}}
		root := http.Handler(h)
		if old {
			root = h.SSE()
		}
		talkHTTP(t, h, root, func(c *web) {
			for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "PUT"} {
				c.send(method, "", "Origin: http://evil.example").sees(badOrigin("http://evil.example"))
			}
			c.get("Origin: http://localhost", "+Origin: http://evil.example").sees(badOrigin("http://localhost, http://evil.example"))
		})
	}
}

// A page of another site cannot use a form to reach a tool.
func TestBUG058FormPost(t *testing.T) {
	h := &HTTPHandler{Server: toolThatMustNotRun(t)}
	talkHTTP(t, h, nil, func(c *web) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run"}}`
		c.send("POST", body, "Content-Type: text/plain", "Origin: http://evil.example").sees(
			refused(403, -32600, `origin "http://evil.example" is not allowed; add it to AllowedOrigins`))
		c.send("POST", body, "Content-Type: text/plain").sees(
			refused(415, -32600, `Content-Type must be application/json, not "text/plain"`))
	})
}

func toolThatMustNotRun(t *testing.T) *Server {
	s := testServer(t, nil)
	addTool(t, s, "run", func(context.Context, *Request) (string, error) {
		t.Error("the tool ran")
		return "", nil
	})
	return s
}

// EDGE-090
func TestBUG059ForeignOrigin(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil), AllowedOrigins: []string{"https://app.example.com"}}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.post(pingA, "Host: localhost", "Origin: http://evil.example").sees(
			refused(403, -32600, `origin "http://evil.example" is not allowed; add it to AllowedOrigins`))
		for _, origin := range []string{"X: none", "Origin: http://localhost:6274", "Origin: https://app.example.com"} {
			c.post(pingA, "Host: localhost", origin).sees(pongA)
		}
	})
}

func TestBUG061BehindProxy(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(pingA, "Host: mcp.example.com").sees(refused(403, -32600, `host "mcp.example.com" is not allowed; add it to AllowedHosts`))
	})
	h = &HTTPHandler{Server: testServer(t, nil), AllowedHosts: []string{"mcp.example.com"}}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.post(pingA, "Host: mcp.example.com").sees(pongA)
		c.post(pingA, "Host: backend-internal", "X-Forwarded-Host: mcp.example.com").sees(
			refused(403, -32600, `host "backend-internal" is not allowed; add it to AllowedHosts`))
	})
	h = &HTTPHandler{Server: testServer(t, nil), AllowedHosts: []string{"mcp.example.com"}, TrustForwardedHost: true}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.post(pingA, "Host: backend-internal", "X-Forwarded-Host: mcp.example.com").sees(pongA)
		c.post(pingA, "X-Forwarded-Host: evil.example").sees(
			refused(403, -32600, `host "evil.example" is not allowed; add it to AllowedHosts`))
		c.post(pingA, "X-Forwarded-Host: mcp.example.com", "+X-Forwarded-Host: evil.example").sees(
			refused(403, -32600, `host "mcp.example.com, evil.example" is not allowed; add it to AllowedHosts`))
	})
}

// EDGE-097 BASE-203 EDGE-115
func TestBUG062MethodNotAllowed(t *testing.T) {
	notServed := func(method, allow string) string {
		return refused(405, -32600, "method "+method+" is not served here; allowed: "+allow, "Allow: "+allow)
	}
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		for _, method := range []string{"PUT", "PATCH", "OPTIONS", "TRACE", "FOO"} {
			c.send(method, "").sees(notServed(method, "GET, POST, DELETE"))
		}
	})
	h = &HTTPHandler{Server: testServer(t, nil), Sessionless: true}
	talkHTTP(t, h, nil, func(c *web) {
		for _, method := range []string{"PUT", "DELETE", "GET"} {
			c.send(method, "").sees(notServed(method, "POST"))
		}
	})
}

func TestBUG064HeadProbe(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.send("HEAD", "").sees("405 application/json\nAllow: GET, POST, DELETE")
		want(t, "sessions", len(h.open), 0)
	})
}

func TestBUG065SessionlessGET(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil), Sessionless: true}
	talkHTTP(t, h, nil, func(c *web) {
		c.get().sees(refused(405, -32600, "method GET is not served here; allowed: POST", "Allow: POST"))
	})
}

// A script of an allowed origin can read all answers, refusals too, and their headers.
func TestBUG124ScriptCanReadSession(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil), CORS: true, AllowedOrigins: []string{"https://app.example.com"},
		Authorize: func(r *http.Request) (*Identity, error) {
			if r.Header.Get("Authorization") == "" {
				return nil, Errorf(CodeInvalidRequest, "who calls?").WithHTTP(401, http.Header{"Www-Authenticate": {"Bearer"}})
			}
			return &Identity{Subject: "ada"}, nil
		}}
	talkHTTP(t, h, nil, func(c *web) {
		const cors = `Access-Control-Allow-Origin: https://app.example.com
			Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce
			`
		const origin = "Origin: https://app.example.com"
		c.send("OPTIONS", "", origin, "Access-Control-Request-Method: POST").sees(`
			204
			Access-Control-Allow-Headers: Accept, Authorization, Content-Type, DPoP, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id
			Access-Control-Allow-Methods: GET, POST, DELETE
			Access-Control-Allow-Origin: https://app.example.com
			Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce
			Access-Control-Max-Age: 600
			Vary: Origin`)
		c.post(pingA, origin).sees(refused(401, -32600, "who calls?", cors+"Vary: Origin\nWww-Authenticate: Bearer"))
		c.post(initializeA, origin, "Authorization: x").sees("200 application/json\n" + cors + "Mcp-Session-Id: *\nVary: Origin\n" + initializedA)
		c.post(pingA, origin, "Authorization: x", "Content-Type: text/plain").sees(
			refused(415, -32600, `Content-Type must be application/json, not "text/plain"`, cors+"Vary: Origin"))
		stream := c.get(origin, "Authorization: x")
		stream.sees("200 text/event-stream\n" + cors + "Vary: Origin\nid: 1_0\nretry: 1000\ndata:")
		// Elsewhere nothing changes.
		c.post(pingA, "Authorization: x").sees(pongA)
		c.send("OPTIONS", "", "Access-Control-Request-Method: POST", "Origin: http://evil.example").sees(
			refused(403, -32600, `origin "http://evil.example" is not allowed; add it to AllowedOrigins`))
	})
}

const (
	initializeA  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	initializedA = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}`
)

// BASE-271
func TestBUG125NoWildcardOrigin(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle("/sse", h.SSE())
	talkHTTP(t, h, mux, func(c *web) {
		const evil = "Origin: http://evil.example"
		no := refused(403, -32600, `origin "http://evil.example" is not allowed; add it to AllowedOrigins`)
		c.post(initializeA, evil).sees(no)
		c.path = "/sse"
		c.get(evil).sees(no)
		c.post(initializeA, evil).sees(no)
	})
}

// What the client sends must be JSON; of what it takes, one form that is offered is
// enough.
//
// EDGE-092 EDGE-093 EDGE-094 EDGE-095 EDGE-096 EDGE-099
func TestHTTPTypes(t *testing.T) {
	const asEvents = `200 text/event-stream
		: ok

		id: 1_1
		data: {"jsonrpc":"2.0","id":1,"result":{}}
		$`
	notAcceptable := func(accept string) string {
		return refused(406, -32600, fmt.Sprintf("Accept %q allows no form that is offered: want application/json and text/event-stream", accept))
	}
	rows := []struct {
		header []string
		want   string
	}{
		{[]string{"Content-Type: Application/JSON; Charset=UTF-8"}, pongA},
		{[]string{"Content-Type: text/plain"}, refused(415, -32600, `Content-Type must be application/json, not "text/plain"`)},
		{[]string{"Content-Type: application/jsonx"}, refused(415, -32600, `Content-Type must be application/json, not "application/jsonx"`)},
		{[]string{"-Content-Type"}, refused(415, -32600, `Content-Type must be application/json, not ""`)},
		{[]string{"Content-Encoding: gzip"}, refused(415, -32600, `Content-Encoding "gzip" is not supported`)},
		{[]string{"Content-Encoding: identity"}, pongA},
		{[]string{"Accept: application/json"}, pongA},
		{[]string{"Accept: text/event-stream"}, asEvents},
		{[]string{"-Accept"}, pongA},
		{[]string{"Accept: "}, pongA},
		{[]string{"Accept: */*"}, pongA},
		{[]string{"Accept: application/*, text/*"}, pongA},
		{[]string{"Accept: text/*"}, asEvents},
		{[]string{"Accept: application/json;q=0.5, text/event-stream;charset=utf-8"}, pongA},
		{[]string{"Accept: text/event-stream", "+Accept: application/json"}, pongA},
		{[]string{"Accept: application/json;q=0, text/event-stream"}, asEvents},
		{[]string{"Accept: application/json;q=0, text/event-stream;q=0.0"}, notAcceptable("application/json;q=0, text/event-stream;q=0.0")},
		{[]string{"Accept: text/html"}, notAcceptable("text/html")},
	}
	for _, r := range rows {
		h := &HTTPHandler{Server: testServer(t, nil)}
		talkHTTP(t, h, nil, func(c *web) {
			c.hello(Revision20250618, "{}")
			c.post(pingA, r.header...).sees(r.want)
		})
	}
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		for _, accept := range []string{"Accept: application/json", "Accept: text/event-stream;q=0", "-Accept"} {
			c.get(accept).sees(refused(406, -32600, "Accept must allow text/event-stream"))
		}
		c.get("Accept: text/*").sees("200 text/event-stream\n: ok")
	})
}

func TestBUG074AcceptOneForm(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.post(pingA, "Accept: text/event-stream").sees(`
			200 text/event-stream
			: ok

			id: 1_1
			data: {"jsonrpc":"2.0","id":1,"result":{}}
			$`)
		c.post(pingA, "Accept: application/json").sees(pongA)
		c.post(pingA, "-Accept").sees(pongA)
	})
}

const parseErrorOfNothing = `400 application/json
	{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: not JSON: unexpected end at byte 0"}}`

// What is no message is a bad request, and the answer to it is a JSON-RPC error.
//
// BASE-188 BASE-189 EDGE-098 EDGE-100 EDGE-101
func TestHTTPBadMessages(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		for _, row := range []struct{ body, want string }{
			{``, parseErrorOfNothing},
			{`{"jsonrpc":"2.0"}`, `400 application/json
				{"jsonrpc":"2.0","error":{"code":-32600,"message":"invalid message: no method"}}`},
			{`{"jsonrpc":"2.0","id":7,"method":"ping","params":3}`, `400 application/json
				{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"invalid message: parameters must be an object"}}`},
			{`{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}`, `200 application/json
				{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"parameters must be an object, not an array"}}`},
			{`{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}`, `400 application/json
				{"jsonrpc":"2.0","error":{"code":-32602,"message":"parameters must be an object, not an array"}}`},
			{`{"jsonrpc":"2.0","method":"tools/list"}`, `400 application/json
				{"jsonrpc":"2.0","error":{"code":-32600,"message":"\"tools/list\" is a request and must have an id"}}`},
			{`{"jsonrpc":"2.0","method":"notifications/nonsense"}`, `202`},
			{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`, `202`},
			{`{"jsonrpc":"2.0","id":99,"result":{}}`, `202`},
			{`{"jsonrpc":"2.0","id":8,"method":"no/such"}`, `200 application/json
				{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method \"no/such\" not found"}}`},
			{"\xEF\xBB\xBF" + pingA, pongA},
		} {
			c.post(row.body).sees(row.want)
		}
	})
}

// BASE-188
func TestBUG073ErrorsHaveBody(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.post(`{"jsonrpc":"2.0","id":3,"method":"no/such"}`).sees(`200 application/json
			{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method \"no/such\" not found"}}`)
		c.post(`{nope`).sees(`400 application/json
			{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: want a name in quotes at byte 1"}}`)
		c.post(``).sees(parseErrorOfNothing)
	})
}

// A spring is a body that never ends, and counts what was read of it.
type spring struct{ n int }

func (s *spring) Read(p []byte) (int, error) {
	s.n += len(p)
	return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
}

// EDGE-035
func TestBUG076HugeBody(t *testing.T) {
	five := pingA + strings.Repeat(" ", 5<<20)
	tooLarge := refused(413, -32600, "body of more than 4194304 bytes; MaxBody allows more")
	for _, limit := range []int64{0, 16 << 20} {
		h := &HTTPHandler{Server: testServer(t, nil), MaxBody: limit}
		talkHTTP(t, h, nil, func(c *web) {
			c.hello(Revision20250618, "{}")
			x := c.sendBody("POST", bytes.NewReader([]byte(five)), "Content-Type: application/json")
			if limit != 0 {
				x.sees(pongA)
				return
			}
			x.sees(tooLarge)
			endless := &spring{}
			c.sendBody("POST", endless, "Content-Type: application/json").sees(tooLarge)
			if endless.n > 5<<20 {
				t.Errorf("%d bytes were read", endless.n)
			}
			// A body of exactly the limit is fine.
			c.sendBody("POST", strings.NewReader(pingA+strings.Repeat(" ", 4<<20-len(pingA))), "Content-Type: application/json").sees(pongA)
			c.sendBody("POST", strings.NewReader(pingA+strings.Repeat(" ", 4<<20-len(pingA)+1)), "Content-Type: application/json").sees(tooLarge)
		})
	}
}

// A body that does not come costs its sender the connection, and nobody else anything,
// whether it is wanted or not.
func TestHTTPSlowBody(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
		wanted := c.raw(head + "Content-Type: application/json\r\nMcp-Session-Id: " + c.session + "\r\n\r\n{")
		unwanted := c.raw(head + "Content-Type: text/plain\r\n\r\n{")
		foreign := c.raw(head + "Origin: http://evil.example\r\n\r\n{")
		time.Sleep(29 * time.Second)
		c.post(pingA).sees(pongA)
		for _, r := range []*rawConn{wanted, unwanted, foreign} {
			want(t, "before the limit", r.said(), "(open)")
		}
		time.Sleep(time.Second)
		for r, status := range map[*rawConn]string{wanted: "408 Request Timeout", unwanted: "415 Unsupported Media Type", foreign: "403 Forbidden"} {
			got, _, _ := strings.Cut(r.said(), "\r\n")
			want(t, "first line", got, "HTTP/1.1 "+status)
			if !strings.HasSuffix(r.said(), "(closed)") {
				t.Errorf("not closed after: %s", r.said())
			}
		}
	})
}

// A rawConn is a connection on which nothing has been understood.
type rawConn struct {
	net.Conn
	mu     sync.Mutex // guards the fields below
	got    bytes.Buffer
	closed bool
}

// raw opens a connection and writes text. What comes is read.
func (c *web) raw(text string) *rawConn {
	r := c.mute(text)
	c.all.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			r.mu.Lock()
			r.got.Write(b[:n])
			r.closed = err != nil
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return r
}

// mute opens a connection, writes text, and never reads.
func (c *web) mute(text string) *rawConn {
	conn, err := c.l.dial()
	if err != nil {
		c.t.Fatal(err)
	}
	r := &rawConn{Conn: conn}
	c.conns = append(c.conns, conn)
	if _, err := io.WriteString(conn, text); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (r *rawConn) said() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.got.String() + "(closed)"
	}
	return r.got.String() + "(open)"
}

// BASE-213 BASE-214 EDGE-102 EDGE-103 EDGE-104 EDGE-105 C-05
func TestHTTPRevisionHeader(t *testing.T) {
	unknown := func(id, value string, revs ...string) string {
		return fmt.Sprintf("400 application/json\n"+`{"jsonrpc":"2.0",%s"error":{"code":-32600,"message":"MCP-Protocol-Version \"%s\" is not one of %s"}}`, id, value, strings.Join(revs, ", "))
	}
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		for _, value := range []string{"1.0", "banana", "2025-11-25 ", ""} {
			value = strings.TrimSpace(value)
			if value == Revision20251125 {
				continue // white space around a header is none of its value
			}
			c.post(pingA, "MCP-Protocol-Version: "+value).sees(unknown(`"id":1,`, value, Revisions()...))
			c.get("MCP-Protocol-Version: " + value).sees(unknown("", value, Revisions()...))
			c.send("DELETE", "", "MCP-Protocol-Version: "+value).sees(unknown("", value, Revisions()...))
		}
		c.post(pingA, "+MCP-Protocol-Version: 2025-11-25").sees(unknown(`"id":1,`, "2025-11-25, 2025-11-25", Revisions()...))
		// The session's revision counts, whatever the header says of another one.
		c.post("["+pingA+"]", "MCP-Protocol-Version: 2025-03-26").sees(refused(400, -32600, "batches are not part of this revision"))
		c.post("["+pingA+"]", "-MCP-Protocol-Version").sees(refused(400, -32600, "batches are not part of this revision"))
		// The body of initialize settles it.
		for _, value := range []string{"2025-03-26", "2026-07-29"} {
			c.post(initializeA, "-Mcp-Session-Id", "MCP-Protocol-Version: "+value).sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		}
	})
	h = &HTTPHandler{Server: testServer(t, &ServerOptions{Revisions: []string{Revision20250618}})}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.post(pingA, "MCP-Protocol-Version: 2025-11-25").sees(unknown(`"id":1,`, "2025-11-25", Revision20250618))
	})
	h = &HTTPHandler{Server: testServer(t, nil), Sessionless: true}
	talkHTTP(t, h, nil, func(c *web) { // says nothing: 2025-03-26, where there are batches
		c.post("[" + pingA + "]").sees(`200 application/json
			[{"jsonrpc":"2.0","id":1,"result":{}}]`)
	})
}

// BASE-186 BASE-059 BASE-061 BASE-062 BASE-063 EDGE-065
func TestHTTPBatches(t *testing.T) {
	for _, rev := range []string{Revision20241105, Revision20250326} {
		h := &HTTPHandler{Server: testServer(t, nil)}
		talkHTTP(t, h, nil, func(c *web) {
			c.hello(rev, "{}")
			c.post(`[` + pingA + `,{"jsonrpc":"2.0","method":"notifications/nonsense"}]`).sees(`200 application/json
				[{"jsonrpc":"2.0","id":1,"result":{}}]`)
			c.post(`[{"jsonrpc":"2.0","method":"notifications/nonsense"},{"jsonrpc":"2.0","method":"notifications/nonsense"}]`).sees(`202`)
			c.post(`[{"jsonrpc":"2.0","id":5,"result":{}}]`).sees(`202`)
			c.post(`[` + pingA + `,{"jsonrpc":"2.0","id":5,"result":{}}]`).sees(refused(400, -32600, "a batch must not mix responses with other messages"))
			c.post(`[]`).sees(refused(400, -32600, "a batch has 1 to 100 messages, not 0"))
			c.post(`[` + initializeA + `]`).sees(refused(400, -32600, "initialize must not be in a batch"))
			c.post(`[`+initializeA+`]`, "-Mcp-Session-Id").sees(
				refused(400, -32600, "no Mcp-Session-Id header: send initialize first, and then the id that its answer has"))
			// One stream carries the messages of all, and one answer at the end.
			x := c.post(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}},` + strings.Replace(pingA, `1`, `2`, 1) + `]`)
			x.sees(``)
			time.Sleep(500 * time.Millisecond)
			x.sees("200 text/event-stream\n: ok")
			c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).sees(`202`)
			x.sees(`id: 1_1
				data: [{"jsonrpc":"2.0","id":2,"result":{}}]
				$`)
		})
	}
	for _, rev := range []string{Revision20250618, Revision20251125} {
		h := &HTTPHandler{Server: testServer(t, nil)}
		talkHTTP(t, h, nil, func(c *web) {
			c.hello(rev, "{}")
			c.post(`[` + pingA + `]`).sees(refused(400, -32600, "batches are not part of this revision"))
		})
	}
}

const (
	listA  = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	noID   = `no Mcp-Session-Id header: send initialize first, and then the id that its answer has`
	noSuch = `no such session: start a new one with initialize`
)

// refusedFor is refused, with the id of the request.
func refusedFor(id string, status, code int, message string, header ...string) string {
	return strings.Replace(refused(status, code, message, header...), `"error"`, `"id":`+id+`,"error"`, 1)
}

// BASE-242 BASE-244 EDGE-116 EDGE-117 EDGE-119 EDGE-121 BASE-191 EDGE-009
func TestHTTPSessions(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil), SessionPrefix: "a1~"}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(initializeA).sees("200 application/json\nMcp-Session-Id: a1~*\n" + initializedA)
		c.post(pingA).sees(pongA)
		const none = "-Mcp-Session-Id"
		c.post(listA, none).sees(refusedFor("2", 400, -32600, noID))
		c.get(none).sees(refused(400, -32600, noID))
		c.send("DELETE", "", none).sees(refused(400, -32600, noID))
		const unknown = "Mcp-Session-Id: nope"
		c.post(listA, unknown).sees(refusedFor("2", 404, -32600, noSuch))
		c.get(unknown).sees(refused(404, -32600, noSuch))
		c.send("DELETE", "", unknown).sees(refused(404, -32600, noSuch))
		c.post(initializeA, unknown).sees(refusedFor("1", 404, -32600, noSuch))
		c.post(initializeA).sees(refusedFor("1", 400, -32600, "already initialized: initialize without Mcp-Session-Id opens another session"))
		c.post(listA, "+Mcp-Session-Id: "+c.session).sees(refusedFor("2", 400, -32600, "more than one Mcp-Session-Id header"))
		// Sessions know nothing of each other: both have a request 1.
		slow := c.call(1, "slow", "Accept: application/json")
		first := c.session
		c.hello2("a1~*")
		c.post(pingA).sees(pongA)
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).sees(`202`)
		slow.sees(``)
		c.post(pingA, "Mcp-Session-Id: "+first).sees(refusedFor("1", 400, -32600, "a request with this id is still running"))
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id: "+first).sees(`202`)
		slow.sees("200 text/event-stream\nContent-Length: 0\n$")
	})
	h = &HTTPHandler{Server: testServer(t, nil), SessionPrefix: "a b"}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(initializeA).sees(refusedFor("1", 500, -32603, `SessionPrefix "a b" has characters that no header may have`))
		want(t, "sessions", len(h.open), 0)
	})
}

// hello2 opens another session.
func (c *web) hello2(id string) {
	c.t.Helper()
	c.post(initializeA, "-Mcp-Session-Id").sees("200 application/json\nMcp-Session-Id: " + id + "\n" + initializedA)
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
}

// BASE-238 BASE-239 BASE-250 AUTH-288
func TestHTTPSessionIDs(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	ids := map[string]bool{}
	for range 10_000 {
		s, e := h.newSession(nil)
		if e != nil {
			t.Fatal(e)
		}
		if ids[s.id] || !regexp.MustCompile(`^[A-Z2-7]{26}$`).MatchString(s.id) { // 26 times 5 bits
			t.Fatalf("id %q", s.id)
		}
		ids[s.id] = true
		h.dismiss(s.session)
	}
}

// BASE-242 BASE-244
func TestBUG082UnknownSession(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, "Mcp-Session-Id: nope").sees(refusedFor("2", 404, -32600, noSuch))
		c.post(listA).sees(refusedFor("2", 400, -32600, noID))
		want(t, "sessions", len(h.open), 0)
	})
}

// BASE-244 EDGE-118 EDGE-120
func TestBUG083DeletedSession(t *testing.T) {
	var ended journal
	s := testServer(t, nil)
	addTool(t, s, "stay", func(ctx context.Context, r *Request) (string, error) {
		_ = r.Progress(ctx, 1, 0, "")
		<-ctx.Done()
		ended.add("%v", context.Cause(ctx))
		return "cut short", nil
	})
	h := &HTTPHandler{Server: s}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		stream := c.get()
		stream.sees("200 text/event-stream\n: ok")
		begun, undecided := c.call(1, "stay"), c.call(2, "slow", "Accept: application/json")
		begun.sees(`200 text/event-stream
			: ok

			id: 2_1
			data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		c.send("DELETE", "").sees(`204`)
		stream.sees(`$`)
		begun.sees(`id: 2_2
			data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"cut short"}]}}
			$`)
		undecided.sees(`200 application/json
			{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"mcp: connection closed: the client ended the session"}],"isError":true}}`)
		want(t, "cause", ended.String(), "mcp: connection closed: the client ended the session")
		c.post(pingA).sees(refusedFor("1", 404, -32600, noSuch))
		c.get().sees(refused(404, -32600, noSuch))
		c.send("DELETE", "").sees(refused(404, -32600, noSuch))
	})
}

// What does not heed the end of its session cannot hold up who waits for it.
func TestHTTPDeleteStubborn(t *testing.T) {
	s, release := testServer(t, nil), make(chan struct{})
	addTool(t, s, "stubborn", func(ctx context.Context, r *Request) (string, error) {
		if p := string(r.Params); strings.Contains(p, "speak") {
			_ = r.Notify(ctx, "notifications/x", nil)
		}
		<-release
		return "", r.Notify(ctx, "notifications/x", nil)
	})
	h := &HTTPHandler{Server: s}
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		c := newWeb(t, h)
		c.hello(Revision20250618, "{}")
		undecided := c.call(1, "stubborn", "Accept: application/json")
		begun := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stubborn","_meta":{"speak":1}}}`)
		begun.sees(`200 text/event-stream
			: ok

			id: 1_1
			data: {"jsonrpc":"2.0","method":"notifications/x"}`)
		c.send("DELETE", "").sees(`204`)
		time.Sleep(5*time.Second - time.Nanosecond)
		undecided.sees(``)
		begun.sees(``)
		time.Sleep(time.Nanosecond)
		undecided.sees(refused(503, -32603, "ended before there was an answer"))
		begun.sees(`$`)
		close(release)
		c.close(h)
	})
}

// BASE-237
func TestBUG085SessionHeader(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(initializeA).sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
		c.post(pingA).sees(pongA)
		c.get().sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		c.send("DELETE", "").sees(`204`)
	})
}

// EDGE-123
func TestBUG086FailedInitialize(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		for range 1000 {
			if t.Failed() {
				return
			}
			c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`).sees(`200 application/json
				{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"initialize: invalid parameters: protocolVersion: missing"}}`)
			c.post(listA).sees(refusedFor("2", 400, -32600, noID))
		}
		synctest.Wait()
		want(t, "sessions", fmt.Sprint(len(h.open), len(h.sessions), len(h.Server.hearers)), "0 0 0")
	})
}

// BASE-185 BASE-248 BASE-249 BASE-251 EDGE-127
func TestBUG088StolenSession(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil), Authorize: func(r *http.Request) (*Identity, error) {
		name := r.Header.Get("Authorization")
		if name == "" {
			return nil, fmt.Errorf("no token")
		}
		return &Identity{Subject: name}, nil
	}}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(initializeA, "Authorization: a").sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		c.post(pingA, "Authorization: a").sees(pongA)
		c.post(listA, "Authorization: b").sees(refusedFor("2", 404, -32600, noSuch))
		c.get("Authorization: b").sees(refused(404, -32600, noSuch))
		c.send("DELETE", "", "Authorization: b").sees(refused(404, -32600, noSuch))
		c.post(listA).sees(refused(401, -32600, "not authorized"))
		c.post(pingA, "Authorization: a").sees(pongA)
	})
}

// Any replica can serve a request without a session.
//
// BASE-237 BASE-214
func TestBUG089TwoReplicas(t *testing.T) {
	for _, rev := range sessionRevisions() {
		a := &HTTPHandler{Server: testServer(t, nil), Sessionless: true}
		b := &HTTPHandler{Server: testServer(t, nil), Sessionless: true}
		mux := http.NewServeMux()
		mux.Handle("/a", a)
		mux.Handle("/b", b)
		talkHTTP(t, a, mux, func(c *web) {
			c.path, c.session = "/a", "whatever"
			c.post(strings.Replace(initializeA, "2025-11-25", rev, 1)).sees(`200 application/json
				{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + rev + `","capabilities":{"logging":{},"tools":{}},"serverInfo":{"name":"test","version":"1"}}}`)
			c.path, c.rev = "/b", rev
			c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
			c.path = "/a"
			c.post(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`).sees(`200 application/json
				{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method \"prompts/list\" is not offered by this server"}}`)
			c.path = "/b"
			c.post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`).sees(`200 application/json
				{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"hi"}]}}`)
			c.call(4, "ask").sees(`200 application/json
				{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"mcp: the client did not declare elicitation.form"}],"isError":true}}`)
			c.post(`{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"debug"}}`).sees(`200 application/json
				{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"a log level needs a session, and this server has none"}}`)
			want(t, "sessions", fmt.Sprint(len(a.open), len(b.open), len(a.Server.hearers), len(b.Server.hearers)), "0 0 0 0")
			must(t, b.Shutdown(context.Background()))
		})
	}
}

// A session nobody uses ends; one that has a stream open, or a call that runs while
// its client waits, does not. A call that nobody waits for keeps it no longer.
//
// BASE-243 BASE-244 BASE-266
func TestHTTPIdle(t *testing.T) {
	var ended journal
	s := testServer(t, nil)
	addTool(t, s, "stay", func(ctx context.Context, r *Request) (string, error) {
		<-ctx.Done()
		ended.add("%v", context.Cause(ctx))
		return "", nil
	})
	h := &HTTPHandler{Server: s, IdleTimeout: time.Minute, Comment: -1}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		time.Sleep(59 * time.Second)
		c.post(pingA).sees(pongA)
		time.Sleep(59 * time.Second)
		c.post(pingA).sees(pongA)
		time.Sleep(75 * time.Second) // it is looked for four times a minute
		c.post(pingA).sees(refusedFor("1", 404, -32600, noSuch))
		c.get().sees(refused(404, -32600, noSuch))
		c.send("DELETE", "").sees(refused(404, -32600, noSuch))

		c.hello(Revision20250618, "{}")
		stream := c.get()
		stream.sees("200 text/event-stream\n: ok")
		time.Sleep(time.Hour)
		c.post(pingA).sees(pongA)
		stream.drop()
		call := c.call(1, "stay")
		time.Sleep(time.Hour)
		call.sees("200 text/event-stream\n: ok")
		call.drop()
		time.Sleep(59 * time.Second)
		want(t, "ended", ended.String(), "")
		time.Sleep(16 * time.Second)
		want(t, "ended", ended.String(), "mcp: connection closed: the session was idle")
		c.post(pingA).sees(refusedFor("1", 404, -32600, noSuch))
		want(t, "sessions", fmt.Sprint(len(h.open), len(h.sessions), len(s.hearers)), "0 0 0")
	})
}

// At a bound there is an answer that says when to come back. ping is let through.
func TestHTTPBounds(t *testing.T) {
	later := func(id, message, after string) string {
		return refusedFor(id, 503, -32603, message, "Retry-After: "+after)
	}
	h := &HTTPHandler{Server: testServer(t, &ServerOptions{MaxRequests: 1}), MaxSessions: 2, MaxStreams: 3}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		slow := c.call(1, "slow", "Accept: application/json")
		slow.sees(``)
		c.call(2, "slow").sees(later("2", "too many requests at once: the limit is 1", "1"))
		c.post(`{"jsonrpc":"2.0","id":3,"method":"ping"}`).sees(`200 application/json
			{"jsonrpc":"2.0","id":3,"result":{}}`)
		c.get().sees("200 text/event-stream\n: ok")
		c.get().sees("200 text/event-stream\n: ok")
		c.post(`{"jsonrpc":"2.0","id":3,"method":"ping"}`).sees(later("3", "too many open exchanges in this session: the limit is 3", "1"))
		slow.drop()
		c.hello2("*")
		c.post(initializeA, "-Mcp-Session-Id").sees(later("1", "too many sessions: the limit is 2", "10"))
		c.send("DELETE", "").sees(`204`)
		c.hello2("*")
	})
	h = &HTTPHandler{Server: testServer(t, nil), Sessionless: true, MaxSessions: 1}
	talkHTTP(t, h, nil, func(c *web) {
		slow := c.call(1, "slow", "Accept: application/json")
		slow.sees(``)
		c.post(pingA).sees(refused(503, -32603, "too many sessions: the limit is 1", "Retry-After: 10"))
		slow.drop()
		c.post(pingA).sees(pongA)
	})
}

// speaker is testServer with a tool that says two things before its answer, two that
// wait a minute before or after they say something, and one that lets go of its
// connection for that.
func speaker(t *testing.T) *Server {
	s := testServer(t, nil)
	addTool(t, s, "speak", func(ctx context.Context, r *Request) (string, error) {
		must(t, r.Progress(ctx, 1, 2, ""), r.Log(ctx, LevelInfo, "", "half"))
		return "done", nil
	})
	addTool(t, s, "minute", func(ctx context.Context, r *Request) (string, error) {
		time.Sleep(time.Minute)
		_ = r.Progress(ctx, 1, 0, "")
		return fmt.Sprint("ended: ", ctx.Err()), nil
	})
	addTool(t, s, "early", func(ctx context.Context, r *Request) (string, error) {
		must(t, r.Progress(ctx, 1, 2, ""))
		time.Sleep(time.Minute + time.Millisecond)
		return "done", nil
	})
	addTool(t, s, "pause", func(ctx context.Context, r *Request) (string, error) {
		must(t, r.Pause(5*time.Second))
		time.Sleep(time.Minute)
		return "later", nil
	})
	return s
}

const (
	progressA = `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":2}}`
	logA      = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half"}}`
	doneA     = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`
)

// A reply is one JSON body if the handler says nothing before its answer, and is in
// time; otherwise it is a stream of events, an event for each message, with ids where
// events are kept.
//
// BASE-190 BASE-192 BASE-193 BASE-196 BASE-201 BASE-253 BASE-261 EDGE-111 EDGE-135 EDGE-190
func TestHTTPReply(t *testing.T) {
	talk := func(h *HTTPHandler, rev string, do func(c *web)) {
		t.Helper()
		h.Server = speaker(t)
		talkHTTP(t, h, nil, func(c *web) {
			c.hello(rev, "{}")
			do(c)
		})
	}
	for _, rev := range sessionRevisions() {
		first := ": ok"
		if rev == Revision20251125 {
			first = "id: 1_0\nretry: 3000\ndata:"
		}
		talk(&HTTPHandler{Retry: 3 * time.Second}, rev, func(c *web) {
			c.call(1, "speak").sees("200 text/event-stream\n" + first + "\n\nid: 1_1\n" + progressA + "\n\nid: 1_2\n" + logA + "\n\nid: 1_3\ndata: " + doneA + "\n$")
		})
		talk(&HTTPHandler{MaxEvents: -1}, rev, func(c *web) {
			c.call(1, "speak").sees("200 text/event-stream\n: ok\n\n" + progressA + "\n\n" + logA + "\n\ndata: " + doneA + "\n$")
		})
		talk(&HTTPHandler{JSONOnly: true}, rev, func(c *web) {
			c.call(1, "speak").sees("200 application/json\n" + doneA)
			slow := c.call(1, "slow")
			time.Sleep(time.Hour)
			slow.sees("200 application/json\n" + strings.Replace(doneA, "done", "slept", 1))
			c.call(1, "speak", "Accept: text/event-stream").sees(
				refused(406, -32600, `Accept "text/event-stream" allows no form that is offered: want application/json and text/event-stream`))
		})
		talk(&HTTPHandler{}, rev, func(c *web) {
			c.call(1, "speak", "Accept: application/json").sees("200 application/json\n" + doneA)
		})
	}
	h := &HTTPHandler{EventsOnly: true, Server: speaker(t)}
	talkHTTP(t, h, nil, func(c *web) {
		c.post(initializeA).sees("200 text/event-stream\nMcp-Session-Id: *\n: ok\n\nid: 1_1\ndata: " + initializedA + "\n$")
		c.post(pingA).sees("200 text/event-stream\nid: 2_0\nretry: 1000\ndata:\n\nid: 2_1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n$")
		c.post(pingA, "Accept: application/json").sees(pongA)
	})
	// A reply that was to stay undecided for long gets its comments once it has begun.
	talk(&HTTPHandler{DecideAfter: time.Hour, Comment: 20 * time.Second}, Revision20250618, func(c *web) {
		x := c.call(1, "early")
		x.sees("200 text/event-stream\n: ok\n\nid: 1_1\n" + progressA)
		time.Sleep(time.Minute + time.Millisecond)
		x.sees(": still here\n\n: still here\n\n: still here\n\nid: 1_2\ndata: " + doneA + "\n$")
	})
}

// The answer to initialize is never a stream that begins early: its header has the
// session, which is there only when it has succeeded.
//
// EDGE-122
func TestHTTPInitializeDecides(t *testing.T) {
	s := testServer(t, &ServerOptions{Intercept: []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		_ = r.Log(ctx, LevelError, "", "early")
		time.Sleep(time.Minute)
		return next(ctx)
	}}})
	h := &HTTPHandler{Server: s}
	talkHTTP(t, h, nil, func(c *web) {
		x := c.post(initializeA)
		time.Sleep(time.Minute)
		x.sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		x = c.post(initializeA, "Accept: text/event-stream", "-Mcp-Session-Id")
		time.Sleep(time.Minute)
		x.sees("200 text/event-stream\nMcp-Session-Id: *\n: ok\n\nid: 1_1\ndata: " + initializedA + "\n$")
	})
}

// An error with a status decides that of the reply, if nothing has been said before.
func TestHTTPErrorStatus(t *testing.T) {
	s := testServer(t, &ServerOptions{Intercept: []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		if r.Method != methodToolsList {
			return next(ctx)
		}
		if r.Header.Get("X-Speak") != "" {
			_ = r.Log(ctx, LevelError, "", "half")
		}
		return nil, Errorf(7, "more scopes").WithHTTP(403, http.Header{"Www-Authenticate": {`Bearer scope="x"`}})
	}}})
	h := &HTTPHandler{Server: s}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.post(listA).sees(refusedFor("2", 403, 7, "more scopes", `Www-Authenticate: Bearer scope="x"`))
		c.post(listA, "X-Speak: 1").sees(`200 text/event-stream
			: ok

			id: 1_1
			data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"half"}}

			id: 1_2
			data: {"jsonrpc":"2.0","id":2,"error":{"code":7,"message":"more scopes"}}
			$`)
	})
}

// BASE-202
func TestBUG067Comments(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		call, stream := c.call(1, "slow"), c.get()
		time.Sleep(70 * time.Second)
		for _, x := range []*exchange{call, stream} {
			x.sees("200 text/event-stream\n: ok" + strings.Repeat("\n\n: still here", 4))
		}
	})
	for comments, option := range map[int]time.Duration{4: 0, 2: 30 * time.Second, 0: -1} {
		talkHTTP(t, &HTTPHandler{Server: testServer(t, nil), Comment: option}, nil, func(c *web) {
			call, listen := c.alone(lone("tools/call", `"name":"slow"`)), c.alone(lone("subscriptions/listen", `"notifications":{}`))
			time.Sleep(70 * time.Second)
			said := strings.Repeat("\n\n: still here", comments)
			call.sees("200 text/event-stream\n: ok" + said)
			listen.sees(modern("200 text/event-stream\n: ok\n\ndata: " + `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(1),"notifications":{}}}` + said))
			call.drop()
			listen.drop()
		})
	}
}

func TestBUG068FinalEventIsFlushed(t *testing.T) {
	h := &HTTPHandler{Server: speaker(t)}
	late := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		time.Sleep(5 * time.Second)
	})
	talkHTTP(t, h, late, func(c *web) {
		c.session = ""
		x := c.post(initializeA)
		time.Sleep(5 * time.Second)
		x.sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		x = c.call(1, "speak")
		x.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:\n\nid: 1_1\n" + progressA + "\n\nid: 1_2\n" + logA + "\n\nid: 1_3\ndata: " + doneA)
		time.Sleep(5 * time.Second)
		x.sees(`$`)
	})
}

func TestBUG070NotificationAtTheEnd(t *testing.T) {
	s := testServer(t, nil)
	addTool(t, s, "end", func(ctx context.Context, r *Request) (string, error) {
		return "done", r.Notify(ctx, "notifications/x", nil)
	})
	h := &HTTPHandler{Server: s, MaxEvents: -1}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		for range 100 {
			c.call(1, "end").sees("200 text/event-stream\n: ok\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\ndata: " + doneA + "\n$")
			c.call(1, "end", "Accept: application/json").sees("200 application/json\n" + doneA)
		}
	})
}

func TestBUG071NotificationsBeforeResult(t *testing.T) {
	s, all := testServer(t, nil), ""
	addTool(t, s, "fifty", func(ctx context.Context, r *Request) (string, error) {
		for i := range 50 {
			_ = r.Progress(ctx, float64(i+1), 0, "")
		}
		return "done", nil
	})
	for i := range 50 {
		all += fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":%d}}\n\n", i+1)
	}
	h := &HTTPHandler{Server: s, MaxEvents: -1}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		c.call(1, "fifty").sees("200 text/event-stream\n: ok\n\n" + all + "data: " + doneA + "\n$")
	})
}

// A question goes out on the stream of the call that asks, whatever else is open.
//
// BASE-193 BASE-209 BASE-194
func TestBUG077QuestionOnTheCallsStream(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, `{"elicitation":{}}`)
		stream := c.get()
		stream.sees("200 text/event-stream\n: ok")
		x := c.call(1, "ask")
		x.sees(`200 text/event-stream
			: ok

			id: 2_1
			data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`)
		c.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ada"}}}`).sees(`202`)
		x.sees(`id: 2_2
			data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"accept{\"name\":\"Ada\"}"}]}}
			$`)
		stream.sees(``)
		c.call(1, "ask", "Accept: application/json").sees(`200 application/json
			{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"mcp: the reply must be JSON, which cannot carry a question"}],"isError":true}}`)
	})
}

// What a notification of the client causes has no reply to go with: it goes to the
// stream that listens.
func TestHTTPAside(t *testing.T) {
	var got journal
	h := &HTTPHandler{Server: testServer(t, &ServerOptions{RootsChanged: func(ctx context.Context, r *Request) {
		roots, err := r.Roots(ctx)
		got.add("%d %v", len(roots), err)
	}})}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, `{"roots":{"listChanged":true}}`)
		const changed = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
		c.post(changed).sees(`202`)
		stream := c.get()
		stream.sees("200 text/event-stream\n: ok")
		c.post(changed).sees(`202`)
		stream.sees("id: 1_1\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\",\"params\":{}}")
		c.post(`{"jsonrpc":"2.0","id":2,"result":{"roots":[{"uri":"file:///a"}]}}`).sees(`202`)
		synctest.Wait()
		want(t, "roots", got.String(), "0 mcp: no GET stream is open that could carry it; 1 <nil>")
	})
}

// The stream of a call ends with nothing when it is cancelled.
//
// EDGE-107
func TestHTTPCancelledCall(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
			x := c.call(1, "slow", "Accept: "+accept)
			x.sees(``)
			c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).sees(`202`)
			x.sees("200 text/event-stream\nContent-Length: 0\n$")
		}
		x := c.call(1, "slow")
		time.Sleep(time.Second)
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).sees(`202`)
		x.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:\n$")
	})
}

func TestBUG079AbortCancelsWithoutSession(t *testing.T) {
	var causes journal
	s := testServer(t, nil)
	addTool(t, s, "stay", func(ctx context.Context, r *Request) (string, error) {
		<-ctx.Done()
		causes.add("%v", context.Cause(ctx))
		return "", nil
	})
	h := &HTTPHandler{Server: s, Sessionless: true}
	talkHTTP(t, h, nil, func(c *web) {
		for _, after := range []time.Duration{100 * time.Millisecond, time.Second} { // undecided, and a stream
			x := c.call(1, "stay")
			time.Sleep(after)
			x.drop()
		}
		want(t, "causes", causes.String(), "mcp: the client closed the connection; mcp: the client closed the connection")
	})
}

// BASE-197 BASE-257 BASE-258 EDGE-106 EDGE-134 BASE-135 C-01
func TestBUG080AbortDoesNotCancelInSession(t *testing.T) {
	h := &HTTPHandler{Server: speaker(t)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		x := c.call(1, "minute")
		time.Sleep(time.Second)
		x.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		x.drop()
		const rest = `id: 1_1
			data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}

			id: 1_2
			data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ended: <nil>"}]}}
			$`
		again := c.get("Last-Event-ID: 1_0")
		again.sees("200 text/event-stream\n: resumed")
		time.Sleep(59 * time.Second)
		again.sees("\n: still here\n\n: still here\n\n: still here\n\n" + rest)
		// What is over is told again, and again it is over.
		c.get("Last-Event-ID: 1_0").sees("200 text/event-stream\n: resumed\n\n" + rest)
		c.get("Last-Event-ID: 1_1").sees("200 text/event-stream\n: resumed\n\n" + rest[strings.Index(rest, "id: 1_2"):])
		c.get("Last-Event-ID: 1_2").sees("200 text/event-stream\n: resumed\n$")
		// What was dropped while undecided has nothing that could be resumed, but runs.
		y := c.call(2, "minute")
		y.sees(``)
		y.drop()
		c.post(strings.Replace(pingA, "1", "2", 1)).sees(refusedFor("2", 400, -32600, "a request with this id is still running"))
		time.Sleep(time.Minute)
		synctest.Wait()
		c.post(strings.Replace(pingA, "1", "2", 1)).sees("200 application/json\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}")
	})
}

func updating(t *testing.T, unsubscribed func(string)) *Server {
	s := testServer(t, &ServerOptions{Subscribe: func(context.Context, *Request, string) error { return nil }, Unsubscribed: unsubscribed})
	must(t, s.AddResource(&Resource{URI: "file:///a", Name: "a"}, func(context.Context, *Request, *ReadResourceParams) (*ReadResourceResult, error) {
		return &ReadResourceResult{}, nil
	}))
	return s
}

// Where requests of one session that are about one resource run at once, and where the
// session ends meanwhile, the application hears of one end for each beginning.
func TestHTTPSubscribeAtOnce(t *testing.T) {
	var mu sync.Mutex // guards heard
	var heard []string
	hear := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, what)
	}
	s := updating(t, func(string) { hear("ended") })
	s.opts.Subscribe = func(context.Context, *Request, string) error {
		hear("asked")
		time.Sleep(2 * handlersGrace) // and does not heed the end of its session
		hear("agreed")
		return nil
	}
	talkHTTP(t, &HTTPHandler{Server: s}, nil, func(c *web) {
		c.openAt(Revision20251125)
		post := func(id int, method string) *exchange {
			x := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/%s","params":{"uri":"file:///a"}}`, id, method), "Accept: application/json")
			synctest.Wait()
			return x
		}
		requests := []*exchange{post(1, "subscribe"), post(2, "subscribe"), post(3, "unsubscribe"), post(4, "subscribe")}
		time.Sleep(4 * handlersGrace)
		for i, x := range requests {
			x.sees(fmt.Sprintf("200 application/json\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}", i+1))
		}
		post(5, "unsubscribe").sees("200 application/json\n{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}")
		late := post(6, "subscribe")
		waits := post(7, "subscribe")
		c.send("DELETE", "").sees(`204`)
		time.Sleep(2 * handlersGrace)
		late.sees(refusedFor("6", 200, -32603, "the session is over"))
		waits.sees(refusedFor("7", 200, -32603, "internal error"))
		time.Sleep(2 * handlersGrace)
	})
	one := []string{"asked", "agreed", "ended"}
	if want := slices.Concat(one, one, one); !slices.Equal(heard, want) {
		t.Errorf("the application heard %q, want %q", heard, want)
	}
}

// open opens a session with any server, at a revision.
func (c *web) openAt(rev string) {
	c.t.Helper()
	c.session, c.rev = "", ""
	x := c.post(strings.Replace(initializeA, "2025-11-25", rev, 1))
	synctest.Wait()
	if c.session == "" {
		c.t.Fatalf("not opened: %s", x.head)
	}
	x.drop()
	c.rev = rev
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
}

const (
	toolsChanged = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	updatedA     = `data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`
)

// What no request causes goes to the newest stream that listens, once; what finds none
// waits. When the newest one ends, the one before it takes over.
//
// BASE-204 BASE-205 BASE-206 BASE-207 BASE-209 BASE-254 BASE-255 EDGE-112 C-24
func TestHTTPListening(t *testing.T) {
	for _, keep := range []int{0, -1} {
		s := updating(t, nil)
		h := &HTTPHandler{Server: s, MaxEvents: keep, Comment: -1}
		id := func(n string) string {
			if keep < 0 {
				return ""
			}
			return "id: " + n + "\n"
		}
		begin := func(n string) string {
			if keep < 0 {
				return "200 text/event-stream\n: ok"
			}
			return "200 text/event-stream\nid: " + n + "_0\nretry: 1000\ndata:"
		}
		talkHTTP(t, h, nil, func(c *web) {
			c.openAt(Revision20251125)
			c.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}`).sees(pongA)
			must(t, addNothing(s, "new1"))
			s.ResourceUpdated("file:///a")
			first := c.get()
			time.Sleep(time.Second)
			first.sees(begin("1") + "\n\n" + id("1_1") + toolsChanged + "\n\n" + id("1_2") + updatedA)
			second := c.get()
			second.sees(begin("2"))
			s.ResourceUpdated("file:///a")
			second.sees(id("2_1") + updatedA)
			must(t, s.Log(LevelError, "", "a word"))
			second.sees(id("2_2") + `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"a word"}}`)
			c.call(1, "boom").sees("200 application/json\n" + `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
			first.sees(``)
			second.drop()
			s.ResourceUpdated("file:///a")
			first.sees(id("1_3") + updatedA)
			first.drop()
			s.ResourceUpdated("file:///a")
			third := c.get()
			third.sees(begin("3") + "\n\n" + id("3_1") + updatedA)
		})
	}
}

// A stream that is resumed goes on where the client lost it, on the new connection
// only; it has nothing of other streams, and what cannot be had is said.
//
// BASE-258 BASE-259 EDGE-129 EDGE-130 EDGE-132 EDGE-133
func TestHTTPResumeByID(t *testing.T) {
	s := updating(t, nil)
	h := &HTTPHandler{Server: s, Comment: -1}
	talkHTTP(t, h, nil, func(c *web) {
		c.openAt(Revision20251125)
		c.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}`).sees(pongA)
		stream := c.get()
		stream.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		s.ResourceUpdated("file:///a")
		stream.sees("id: 1_1\n" + updatedA)
		// Taken over while the server thinks that the old connection lives.
		again := c.get("Last-Event-ID: 1_0")
		again.sees("200 text/event-stream\n: resumed\n\nid: 1_1\n" + updatedA)
		stream.sees(`$`)
		s.ResourceUpdated("file:///a")
		again.sees("id: 1_2\n" + updatedA)
		again.drop()
		s.ResourceUpdated("file:///a") // waits for whoever comes
		again = c.get("Last-Event-ID: 1_2")
		again.sees("200 text/event-stream\n: resumed\n\nid: 1_3\n" + updatedA)
		for _, bad := range []string{"garbage", "1", "_", "1_", "1_x", "1_-1", "1_4", "1_1000", "2_0", "-1_0", "1_99999999999999999999"} {
			message := fmt.Sprintf("Last-Event-ID %q is of no stream that can be resumed", bad)
			if bad == "1_4" || bad == "1_1000" {
				message = "Last-Event-ID " + bad + " was never sent"
			}
			c.get("Last-Event-ID: " + bad).sees(refused(400, -32600, message))
		}
		c.get("Last-Event-ID: 1_1", "+Last-Event-ID: 1_2").sees(refused(400, -32600, `Last-Event-ID "1_1, 1_2" is of no stream that can be resumed`))
		c.post(pingA, "Last-Event-ID: 1_1").sees(pongA)
	})
	h = &HTTPHandler{Server: updating(t, nil), MaxEvents: -1}
	talkHTTP(t, h, nil, func(c *web) {
		c.openAt(Revision20251125)
		c.get().sees("200 text/event-stream\n: ok")
		c.get("Last-Event-ID: 1_0").sees(refused(400, -32600, `Last-Event-ID "1_0" is of no stream that can be resumed`))
	})
}

// BASE-259 EDGE-131
func TestBUG091NoReplayAcrossSessions(t *testing.T) {
	h := &HTTPHandler{Server: speaker(t)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		c.call(1, "speak").drop() // events 1_0 to 1_3 of one session
		x := c.call(2, "slow")
		time.Sleep(time.Second)
		x.drop()
		c.hello(Revision20251125, "{}")
		stream := c.get()
		stream.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		stream.drop()
		c.get("Last-Event-ID: 2_0").sees(refused(400, -32600, `Last-Event-ID "2_0" is of no stream that can be resumed`))
		c.get("Last-Event-ID: 1_3").sees(refused(400, -32600, `Last-Event-ID 1_3 was never sent`))
		c.get("Last-Event-ID: 1_0").sees("200 text/event-stream\n: resumed")
	})
}

func TestBUG092EventIDBeyondTheEnd(t *testing.T) {
	h := &HTTPHandler{Server: speaker(t)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		c.call(1, "speak").drop()
		c.get("Last-Event-ID: 1_1003").sees(refused(400, -32600, "Last-Event-ID 1_1003 was never sent"))
		c.get("Last-Event-ID: garbage").sees(refused(400, -32600, `Last-Event-ID "garbage" is of no stream that can be resumed`))
	})
}

// BASE-261 EDGE-135
func TestBUG101PrimingEventIsSent(t *testing.T) {
	for rev, first := range map[string]string{Revision20250618: ": ok", Revision20251125: "id: 1_0\nretry: 1000\ndata:"} {
		h := &HTTPHandler{Server: speaker(t)}
		talkHTTP(t, h, nil, func(c *web) {
			c.hello(rev, "{}")
			c.call(1, "speak").sees("200 text/event-stream\n" + first + "\n\nid: 1_1\n" + progressA + "\n\nid: 1_2\n" + logA + "\n\nid: 1_3\ndata: " + doneA + "\n$")
		})
	}
}

// A handler that lets go of its connection is polled; where clients cannot do that, it
// keeps it.
//
// BASE-195 BASE-262 BASE-264 C-13
func TestHTTPPause(t *testing.T) {
	const later = `data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"later"}]}}`
	h := &HTTPHandler{Server: speaker(t)}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		c.call(1, "pause").sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:\n\nid: 1_1\nretry: 5000\ndata:\n$")
		time.Sleep(5 * time.Second)
		x := c.get("Last-Event-ID: 1_1")
		x.sees("200 text/event-stream\n: resumed")
		x.drop()
		time.Sleep(time.Minute)
		c.get("Last-Event-ID: 1_0").sees("200 text/event-stream\n: resumed\n\nid: 1_2\n" + later + "\n$")
		y := c.call(1, "pause", "Accept: application/json")
		time.Sleep(time.Minute)
		y.sees("200 application/json\n" + strings.TrimPrefix(later, "data: "))
	})
	for _, rev := range []string{Revision20250326, Revision20250618} {
		h = &HTTPHandler{Server: speaker(t)}
		talkHTTP(t, h, nil, func(c *web) {
			c.hello(rev, "{}")
			x := c.call(1, "pause")
			time.Sleep(30 * time.Second)
			x.sees("200 text/event-stream\n: ok\n\n: still here")
			time.Sleep(30 * time.Second)
			x.sees(": still here\n\n: still here\n\nid: 1_1\n" + later + "\n$")
		})
	}
}

// What a session keeps for resuming has a bound, and no stream is kept for ever because
// of it.
func TestBUG227EventLogIsBounded(t *testing.T) {
	s, page := testServer(t, nil), strings.Repeat("x", 4096)
	addTool(t, s, "much", func(ctx context.Context, r *Request) (string, error) {
		for range 10_000 {
			_ = r.Notify(ctx, "notifications/x", map[string]string{"text": page})
		}
		return "done", nil
	})
	h := &HTTPHandler{Server: s, Comment: -1}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		c.call(1, "much").drop()
		c.call(2, "much").drop()
		hs := h.sessions[c.session]
		if hs.size > 1<<20 || len(hs.events) > 1<<20/4096 {
			t.Errorf("%d bytes in %d events are kept", hs.size, len(hs.events))
		}
		c.get("Last-Event-ID: 2_1").sees(refused(400, -32600, "events after 2_1 are no longer kept"))
		// Many short streams.
		for range 3000 {
			get := c.get()
			synctest.Wait()
			get.drop()
		}
		if n := len(hs.streams); n > 1<<20/eventCost {
			t.Errorf("%d streams are known", n)
		}
		total := 0
		for _, st := range hs.streams {
			total += st.kept
		}
		want(t, "events by stream", total, len(hs.events))
	})
	h = &HTTPHandler{Server: testServer(t, nil), MaxEvents: -1}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20251125, "{}")
		for range 10 {
			c.get().drop()
			x := c.call(1, "slow")
			time.Sleep(time.Second)
			x.sees("200 text/event-stream\n: ok")
			c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).sees(`202`)
			x.sees(`$`)
		}
		want(t, "streams", len(h.sessions[c.session].streams), 0)
	})
}

// exchanges is how many requests of a session are open.
func (h *HTTPHandler) exchanges(id string) int {
	synctest.Wait()
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exchanges
}

// Who does not read costs himself his connection, and others nothing.
func TestBUG226SlowReader(t *testing.T) {
	s := updating(t, nil)
	h := &HTTPHandler{Server: s, Comment: -1}
	talkHTTP(t, h, nil, func(c *web) {
		const subscribe = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}`
		c.openAt(Revision20250618)
		c.post(subscribe).sees(pongA)
		deaf, mute := c.session, c.mute("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: "+c.session+"\r\n\r\n")
		c.openAt(Revision20250618)
		c.post(subscribe).sees(pongA)
		stream := c.get()
		stream.sees("200 text/event-stream\n: ok")
		for i := range 100_000 {
			if i == 50_000 {
				s.ResourceUpdated("file:///a")
			}
			must(t, s.Log(LevelError, "", i))
		}
		synctest.Wait()
		h.mu.Lock()
		mail := &h.sessions[deaf].mail
		h.mu.Unlock()
		mail.mu.Lock()
		want(t, "messages that wait", len(mail.items)+len(mail.uris), maxMail+1)
		mail.mu.Unlock()
		stream.mu.Lock()
		if !strings.Contains(stream.body.String(), `"data":99999}`) || !strings.Contains(stream.body.String(), updatedA) {
			t.Error("the other one did not get the last message")
		}
		stream.mu.Unlock()
		stream.drop()
		time.Sleep(30 * time.Second)
		want(t, "exchanges of the deaf", h.exchanges(deaf), 0)
		if _, err := mute.Write([]byte("x")); err == nil {
			t.Error("its connection is still open")
		}
	})
}

// A reply of any form that is not read costs its reader the connection, and does not
// hold up the handler, nor the end.
func TestHTTPDeadReader(t *testing.T) {
	s, big := testServer(t, nil), strings.Repeat("x", 1<<20)
	addTool(t, s, "big", func(ctx context.Context, r *Request) (string, error) { return big, nil })
	addTool(t, s, "bigger", func(ctx context.Context, r *Request) (string, error) {
		return big, r.Notify(ctx, "notifications/x", map[string]string{"x": big})
	})
	h := &HTTPHandler{Server: s}
	talkHTTP(t, h, nil, func(c *web) {
		c.hello(Revision20250618, "{}")
		for _, tool := range []string{"big", "bigger"} {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`
			request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", c.session, len(body), body)
			c.mute(request)
			time.Sleep(29 * time.Second)
			want(t, "exchanges", h.exchanges(c.session), 1)
			time.Sleep(2 * time.Second)
			want(t, "exchanges", h.exchanges(c.session), 0)
			c.mute(request) // and at the end one is stuck
			synctest.Wait()
			start := time.Now()
			c.send("DELETE", "").sees(`204`)
			time.Sleep(6 * time.Second)
			want(t, "open sessions of "+tool, len(h.open), 0)
			if d := time.Since(start); d > 6*time.Second {
				t.Errorf("the end took %v", d)
			}
			c.hello(Revision20250618, "{}")
		}
	})
}

func TestBUG217ShutdownWithOpenStreams(t *testing.T) {
	var causes journal
	s := testServer(t, nil)
	addTool(t, s, "stay", func(ctx context.Context, r *Request) (string, error) {
		<-ctx.Done()
		causes.add("%v", context.Cause(ctx))
		return "cut", nil
	})
	h := &HTTPHandler{Server: s, MaxEvents: -1}
	talkHTTP(t, h, nil, func(c *web) {
		var streams, calls []*exchange
		for range 50 {
			c.hello(Revision20250618, "{}")
			streams = append(streams, c.get())
		}
		for i := range 5 {
			calls = append(calls, c.call(i+1, "stay"))
		}
		time.Sleep(time.Second)
		var both sync.WaitGroup
		shutdown := func(bound time.Duration, wanted error) {
			ctx, cancel := context.WithTimeout(context.Background(), bound)
			defer cancel()
			want(t, "Shutdown", h.Shutdown(ctx), wanted)
		}
		both.Go(func() { shutdown(2*time.Second, context.DeadlineExceeded) })
		both.Go(func() { shutdown(time.Minute, nil) }) // for which the other has ended what runs
		synctest.Wait()
		for _, x := range streams {
			x.sees("200 text/event-stream\n: ok\n$")
		}
		down := "the server is shutting down"
		c.post(strings.Replace(pingA, `"id":1`, `"id":78`, 1)).sees(refusedFor("78", 503, -32603, down, "Retry-After: 10"))
		c.post(strings.Replace(initializeA, `"id":1`, `"id":77`, 1), "-Mcp-Session-Id").sees(refusedFor("77", 503, -32603, down, "Retry-After: 10"))
		c.get().sees(refused(503, -32603, down, "Retry-After: 10"))
		c.post(`{"jsonrpc":"2.0","id":99,"result":{}}`).sees(`202`)
		want(t, "causes", causes.String(), "")
		start := time.Now()
		both.Wait()
		want(t, "time", time.Since(start), 2*time.Second)
		for i, x := range calls {
			x.sees(fmt.Sprintf("200 text/event-stream\n: ok\n\ndata: "+`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"cut"}]}}`+"\n$", i+1))
		}
		want(t, "causes", causes.String(), strings.Repeat("mcp: connection closed: the server shuts down; ", 4)+"mcp: connection closed: the server shuts down")
		must(t, h.Shutdown(context.Background()))
		start = time.Now()
		must(t, c.server.Shutdown(context.Background())) // for which no stream is left
		if took := time.Since(start); took > time.Second {
			t.Errorf("the server's Shutdown took %v", took)
		}
	})
}

// Without sessions, requests are waited for, too.
func TestHTTPShutdownSessionless(t *testing.T) {
	h := &HTTPHandler{Server: speaker(t), Sessionless: true}
	talkHTTP(t, h, nil, func(c *web) {
		x, y := c.call(1, "minute", "Accept: application/json"), c.call(1, "slow", "Accept: application/json")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		want(t, "Shutdown", h.Shutdown(ctx), context.DeadlineExceeded)
		x.sees("200 application/json\n" + strings.Replace(doneA, "done", "ended: <nil>", 1))
		y.sees(`200 application/json
			{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"mcp: connection closed: the server shuts down"}],"isError":true}}`)
		c.post(pingA).sees(refusedFor("1", 503, -32603, "the server is shutting down", "Retry-After: 10"))
	})
}

func TestBUG239ValuesOfTheRequest(t *testing.T) {
	type key struct{}
	s := newServer(t, nil)
	tell := func(ctx context.Context, r *Request) string {
		return fmt.Sprint(r.Method, " ", ctx.Value(key{}), " ", r.Header.Get("X-Tenant"), " ", r.Identity.Scopes)
	}
	addTool(t, s, "tell", func(ctx context.Context, r *Request) (string, error) { return tell(ctx, r), nil })
	must(t, s.AddResource(&Resource{URI: "file:///a", Name: "a"}, func(ctx context.Context, r *Request, _ *ReadResourceParams) (*ReadResourceResult, error) {
		return &ReadResourceResult{Contents: []*ResourceContents{{Text: tell(ctx, r)}}}, nil
	}), s.AddPrompt(&Prompt{Name: "p"}, func(ctx context.Context, r *Request, _ *GetPromptParams) (*GetPromptResult, error) {
		return &GetPromptResult{Description: tell(ctx, r)}, nil
	}))
	h := &HTTPHandler{Server: s, Authorize: func(r *http.Request) (*Identity, error) {
		return &Identity{Subject: "ada", Scopes: []string{r.Header.Get("X-Scope")}}, nil
	}}
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, r.Header.Get("X-Value"))))
	})
	talkHTTP(t, h, outer, func(c *web) {
		c.openAt(Revision20250618)
		for _, n := range []string{"1", "2"} {
			header := []string{"X-Value: v" + n, "X-Tenant: t" + n, "X-Scope: s" + n}
			c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tell"}}`, header...).sees(`200 application/json
				{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"tools/call v` + n + ` t` + n + ` [s` + n + `]"}]}}`)
			c.post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}`, header...).sees(`200 application/json
				{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"file:///a","text":"resources/read v` + n + ` t` + n + ` [s` + n + `]"}]}}`)
			c.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}`, header...).sees(`200 application/json
				{"jsonrpc":"2.0","id":1,"result":{"description":"prompts/get v` + n + ` t` + n + ` [s` + n + `]","messages":[]}}`)
		}
	})
}

// Streams end when the identity of who opened them does, and nobody comes in after.
func TestHTTPIdentityExpires(t *testing.T) {
	var expires time.Time
	h := &HTTPHandler{Server: testServer(t, nil), Comment: -1, Authorize: func(*http.Request) (*Identity, error) {
		return &Identity{Subject: "ada", Expires: expires}, nil
	}}
	talkHTTP(t, h, nil, func(c *web) {
		expires = time.Now().Add(time.Minute)
		c.hello(Revision20251125, "{}")
		stream, call, plain := c.get(), c.call(1, "slow"), c.call(2, "slow", "Accept: application/json")
		time.Sleep(time.Minute - time.Nanosecond)
		stream.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		call.sees("200 text/event-stream\nid: 2_0\nretry: 1000\ndata:")
		time.Sleep(time.Nanosecond)
		stream.sees(`$`)
		call.sees(`$`)
		plain.sees(`!`)
		c.post(pingA).sees(refused(401, -32600, "not authorized"))
		expires = time.Time{}
		again := c.get("Last-Event-ID: 2_0") // the call goes on
		time.Sleep(time.Hour)
		again.sees("200 text/event-stream\n: resumed\n\nid: 2_1\ndata: " + strings.Replace(doneA, "done", "slept", 1) + "\n$")
	})
}

// The old transport: a stream that names where to POST, and on which all messages
// come. It is the session.
//
// BASE-268 BASE-270 BASE-271 BASE-279 BASE-267 EDGE-206
func TestSSE(t *testing.T) {
	h := &HTTPHandler{Server: updating(t, nil)}
	mux := http.NewServeMux()
	mux.Handle("/old/", http.StripPrefix("/old", h.SSE()))
	talkHTTP(t, h, mux, func(c *web) {
		c.path = "/old/sse"
		stream := c.get()
		synctest.Wait()
		stream.mu.Lock()
		_, endpoint, _ := strings.Cut(strings.TrimSpace(stream.body.String()), "event: endpoint\ndata: ")
		stream.mu.Unlock()
		if !regexp.MustCompile(`^/old/sse\?sessionId=[A-Z2-7]{26}$`).MatchString(endpoint) {
			t.Fatalf("endpoint %q", endpoint)
		}
		stream.sees("200 text/event-stream\nevent: endpoint\ndata: " + endpoint)
		c.path = endpoint
		event := func(text string) string { return "event: message\ndata: " + text }
		c.post(strings.Replace(initializeA, "2025-11-25", "2024-11-05", 1)).sees(`202`)
		stream.sees(event(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}`))
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
		c.post(pingA).sees(`202`)
		stream.sees(event(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		must(t, addNothing(h.Server, "new"))
		time.Sleep(10 * time.Millisecond)
		stream.sees(event(strings.TrimPrefix(toolsChanged, "data: ")))
		time.Sleep(15 * time.Second)
		stream.sees(`: still here`)
		c.post(`{nope`).sees(`400 application/json
			{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: want a name in quotes at byte 1"}}`)
		c.post(pingA, "Content-Type: text/plain").sees(refused(415, -32600, `Content-Type must be application/json, not "text/plain"`))
		c.send("DELETE", "").sees(refused(405, -32600, "method DELETE is not served here; allowed: GET, POST", "Allow: GET, POST"))
		c.path = "/old/sse"
		c.post(pingA).sees(refused(400, -32600, "no sessionId in the URL: open the stream first"))
		c.path = "/old/sse?sessionId=nope"
		c.post(pingA).sees(refused(404, -32600, noSuch))
		stream.drop()
		c.path = endpoint
		c.post(pingA).sees(refused(404, -32600, noSuch))
		want(t, "sessions", fmt.Sprint(len(h.open), len(h.old), len(h.Server.hearers)), "0 0 0")
	})
}

// One mux serves clients of both transports, beside each other.
//
// BASE-272
func TestBothTransports(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle("/sse", h.SSE())
	talkHTTP(t, h, mux, func(c *web) {
		c.path = "/sse"
		stream := c.get()
		synctest.Wait()
		stream.mu.Lock()
		_, endpoint, _ := strings.Cut(strings.TrimSpace(stream.body.String()), "event: endpoint\ndata: ")
		stream.mu.Unlock()
		stream.sees("200 text/event-stream\nevent: endpoint\ndata: " + endpoint)
		c.path = "/mcp"
		c.hello(Revision20251125, "{}")
		c.post(pingA).sees(pongA)
		c.alone(lone("tools/call", echoHi), "-Mcp-Session-Id").sees("200 application/json\n" + modern(gives(saysHi)[4:]))
		c.path = endpoint
		c.post(strings.Replace(initializeA, "2025-11-25", "2024-11-05", 1), "-Mcp-Session-Id").sees(`202`)
		stream.sees("event: message\ndata: " + strings.Replace(initializedA, "2025-11-25", "2024-11-05", 1))
	})
}

func TestBUG121ToolOutlivesItsPOST(t *testing.T) {
	var causes journal
	s := testServer(t, nil)
	addTool(t, s, "wait", func(ctx context.Context, r *Request) (string, error) {
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			causes.add("%v", context.Cause(ctx))
		}
		return "done", ctx.Err()
	})
	h := &HTTPHandler{Server: s, Comment: -1}
	talkHTTP(t, h, h.SSE(), func(c *web) {
		stream := c.get()
		synctest.Wait()
		_, endpoint, _ := strings.Cut(strings.TrimSpace(stream.body.String()), "data: ")
		c.path = endpoint
		c.post(initializeA).sees(`202`)
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
		stream.sees("200 text/event-stream\nevent: endpoint\ndata: " + endpoint + "\n\nevent: message\ndata: " + initializedA)
		c.call(1, "wait").sees(`202`)
		time.Sleep(2 * time.Second)
		stream.sees("event: message\ndata: " + doneA)
		c.call(1, "wait").sees(`202`)
		time.Sleep(time.Second)
		stream.drop()
		want(t, "causes", causes.String(), "mcp: connection closed: mcp: the client closed the connection")
	})
}

// Shutting down ends sessions of the old transport, too.
func TestSSEShutdown(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	talkHTTP(t, h, h.SSE(), func(c *web) {
		stream := c.get()
		synctest.Wait()
		must(t, h.Shutdown(context.Background()))
		synctest.Wait()
		stream.mu.Lock()
		want(t, "ended", stream.ended && stream.failure == nil, true)
		stream.mu.Unlock()
		stream.drop()
		c.get().sees(refused(503, -32603, "the server is shutting down", "Retry-After: 10"))
	})
}

// The protocol is the same over HTTP/2; a stream without events
// is not cut off there either.
func TestHTTP2(t *testing.T) {
	h := &HTTPHandler{Server: speaker(t), Comment: -1}
	synctest.Test(t, func(t *testing.T) {
		c := newWeb(t, h)
		p := &http.Protocols{}
		p.SetUnencryptedHTTP2(true)
		c.setProtocols(p)
		c.hello(Revision20251125, "{}")
		stream := c.get()
		stream.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		call := c.call(1, "minute")
		time.Sleep(time.Minute)
		call.sees(`200 text/event-stream
			id: 2_0
			retry: 1000
			data:

			id: 2_1
			data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}

			id: 2_2
			data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ended: <nil>"}]}}
			$`)
		must(t, addNothing(h.Server, "new"))
		time.Sleep(time.Second)
		stream.sees("id: 1_1\n" + toolsChanged)
		time.Sleep(time.Hour)
		stream.sees(``)
		c.send("DELETE", "").sees(`204`)
		stream.sees(`$`)
		c.close(h)
	})
}

// Header fields without end, half a header, and ids that were never given out bind
// nothing.
func TestHTTPFlood(t *testing.T) {
	h := &HTTPHandler{Server: testServer(t, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, l, nil) }() // ends with ctx
	conn, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	_, _ = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"+strings.Repeat("X-Flood: "+strings.Repeat("x", 1000)+"\r\n", 100))
	answer, _ := io.ReadAll(conn)
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 431 ")) {
		t.Errorf("flood: %.60s", answer)
	}
	conn.Close()
	for range 100_000 {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(pingA))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", rand.Text())
		h.ServeHTTP(w, r)
		want(t, "status", w.Code, 404)
	}
	want(t, "sessions", fmt.Sprint(len(h.open), len(h.sessions), h.sweeper), "0 0 <nil>")
	cancel()
	must(t, <-served)
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

// A server listens on this machine only, if it is not told otherwise.
//
// BASE-184 AUTH-459
func TestListenAndServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := &HTTPHandler{Server: testServer(t, nil)}
	must(t, h.ListenAndServe(ctx, ":0", nil))
	checkError(t, "no port", h.ListenAndServe(ctx, "localhost", nil), `mcp: address "localhost": address localhost: missing port in address`)
}

// A body is read to its end, whatever its length was said to be: what reads it in between
// may have changed it, and may tell only there that it is not what it should be.
func TestHTTPBodyToItsEnd(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	broken := errors.New("digest differs")
	for _, c := range []struct {
		name   string
		body   io.Reader
		length int64
		status int
	}{
		{"longer", strings.NewReader(ping), 20, 200},
		{"none said", strings.NewReader(ping), 0, 200},
		{"unknown", strings.NewReader(ping), -1, 200},
		{"shorter", strings.NewReader(ping), 1000, 200},
		{"long", strings.NewReader(ping + strings.Repeat(" ", 100_000)), 10, 200},
		{"too long", strings.NewReader(ping + strings.Repeat(" ", 200_000)), 10, 413},
		{"said to be too long", strings.NewReader(ping), 200_000, 413},
		{"bytes one by one", iotest.OneByteReader(strings.NewReader(ping)), int64(len(ping)), 200},
		{"the end with the last bytes", iotest.DataErrReader(strings.NewReader(ping)), int64(len(ping)), 200},
		{"wrong at the end", io.MultiReader(strings.NewReader(ping), iotest.ErrReader(broken)), int64(len(ping)), 400},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", io.NopCloser(c.body))
		r.ContentLength = c.length
		r.Header.Set("Content-Type", typeJSON)
		w := httptest.NewRecorder()
		(&HTTPHandler{Server: newServer(t, nil), MaxBody: 150_000}).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.status)
		}
	}
}
