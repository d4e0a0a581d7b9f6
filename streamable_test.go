package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
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
	session string // sent with each request; "": none
	rev     string // likewise
	path    string

	all  sync.WaitGroup // the exchanges
	open []*exchange

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
	c.client = &http.Client{Transport: &http.Transport{DisableCompression: true, Protocols: c.protocols(),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return c.l.dial() }}}
	server := &http.Server{Handler: root, Protocols: c.protocols()}
	c.all.Go(func() { _ = server.Serve(c.l) }) // ends when the listener is closed
	return c
}

func (c *web) protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	return p
}

func (c *web) close(h *HTTPHandler) {
	for _, x := range c.open {
		x.cancel()
	}
	synctest.Wait()
	_ = h.Shutdown(c.t.Context())
	c.client.CloseIdleConnections()
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
	} else {
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
	got := strings.TrimSpace(x.head + "\n" + string(x.body.Bytes()[x.seen:]))
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
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if got = strings.TrimSpace(got); got != strings.Join(lines, "\n") {
		x.c.t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(lines, "\n"))
	}
}

// drop closes the connection.
func (x *exchange) drop() {
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

// refusal is the answer to a request that was not let in.
func refusalOf(status int, code int, message string, more ...string) string {
	return fmt.Sprintf("%d application/json\n%s{\"jsonrpc\":\"2.0\",%s\"error\":{\"code\":%d,\"message\":%s}}",
		status, strings.Join(append(more, ""), "\n"), "", code, quoted(message))
}

// BASE-180 BASE-186 BASE-190 BASE-237
func TestHTTPConversation(t *testing.T) {
	for _, rev := range Revisions() {
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

var _ = errors.New
