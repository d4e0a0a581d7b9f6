package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// A step is a request that a mock server must get, and what it does with it. The
// request is its method, the session id, the revision, the last event's id and what is
// mirrored from the body where there are such headers, and its body:
//
//	POST id=abc rev=2025-06-18 {"jsonrpc":"2.0","id":2,"method":"ping"}
//	GET id=abc last=7
//
// If it does not come to /mcp, what it comes to stands before the body.
type step struct {
	request string
	answer  http.HandlerFunc
}

// A mock is a scripted HTTP server in memory. Of the steps that are left, the first
// one with the request that came is taken; at the end none may be left.
type mock struct {
	t     *testing.T
	start time.Time
	ln    *memoryListener

	mu    sync.Mutex // guards the fields below
	steps []step
	said  []string    // requests, in order
	at    []time.Time // when they came
}

// mockServer is a mock for the length of a bubble.
func mockServer(t *testing.T, steps ...step) *mock {
	m := &mock{t: t, start: time.Now(), ln: listenMemory(), steps: steps}
	serveMemory(t, m.ln, m)
	t.Cleanup(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, s := range m.steps {
			t.Errorf("never came: %s", s.request)
		}
	})
	return m
}

// serveMemory serves until the end of the test.
func serveMemory(t *testing.T, ln *memoryListener, h http.Handler) {
	server := &http.Server{Handler: h, Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	synctest.Wait() // it serves: Close before Serve would race
	t.Cleanup(func() { must(t, server.Close()); <-ended })
}

func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	said := r.Method
	for _, h := range []struct{ short, name string }{{"id", headerSession}, {"rev", headerRevision}, {"last", headerEvent}} {
		for _, v := range r.Header.Values(h.name) {
			said += " " + h.short + "=" + v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) { // of 2026-07-28
		if short, ok := strings.CutPrefix(name, "Mcp-"); ok && name != headerSession && name != headerRevision {
			said += " " + strings.ToLower(short) + "=" + strings.Join(r.Header[name], "|")
		}
	}
	if at := r.URL.RequestURI(); at != "/mcp" && r.URL.Path != "/mcp" {
		said += " " + at
	}
	said = strings.TrimSpace(said + " " + string(body))
	types := map[string]string{"POST": "application/json application/json, text/event-stream", "GET": " text/event-stream"}
	if got := strings.Join(r.Header.Values("Content-Type"), "|") + " " + strings.Join(r.Header.Values("Accept"), "|"); got != types[r.Method] && r.Method != "DELETE" {
		m.t.Errorf("%s: types are %q, want %q", said, got, types[r.Method])
	}
	if answer := m.next(said); answer != nil {
		answer(w, r)
		return
	}
	m.t.Errorf("unexpected: %s", said)
	w.WriteHeader(http.StatusTeapot)
}

func (m *mock) next(said string) http.HandlerFunc {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said, m.at = append(m.said, said), append(m.at, time.Now())
	i := slices.IndexFunc(m.steps, func(s step) bool { return s.request == said })
	if i < 0 {
		return nil
	}
	answer := m.steps[i].answer
	m.steps = slices.Delete(m.steps, i, i+1)
	return answer
}

// times returns when the requests came that begin with prefix.
func (m *mock) times(prefix string) (at []time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, said := range m.said {
		if strings.HasPrefix(said, prefix) {
			at = append(at, m.at[i].Sub(m.start))
		}
	}
	return at
}

// transport reaches the mock, and does not listen.
func (m *mock) transport() *HTTPTransport {
	return &HTTPTransport{URL: "http://mcp.test/mcp", Client: m.ln.client(), NoListen: true}
}

// connect opens a session with the mock.
func (m *mock) connect(tr *HTTPTransport, opts *ClientOptions) *ClientSession {
	m.t.Helper()
	cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(m.t.Context(), tr)
	if err != nil {
		m.t.Fatalf("Connect: %v", err)
	}
	return cs
}

// A memoryListener is a network of pipes.
type memoryListener struct {
	conns chan net.Conn // sent by dial, received by Accept
	done  chan struct{} // closed by Close
	once  sync.Once
	dials atomic.Int32
	open  atomic.Int32 // connections
}

// A countedConn is counted as long as it is open.
type countedConn struct {
	net.Conn
	close func()
}

func (c *countedConn) Close() error { c.close(); return c.Conn.Close() }

func listenMemory() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		l.dials.Add(1)
		l.open.Add(1)
		return &countedConn{ours, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memoryListener) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: l.dial}}
}

// What may stand among the pieces of a reply.
const (
	hang = "\x00hang" // until the client leaves
	cut  = "\x00cut"  // the connection, without an end
	wait = "\x00wait" // ten seconds
)

// reply answers with a status, headers ("Content-Type" where they begin without a
// name) and the pieces of a body, each flushed.
func reply(status int, header string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil // none unless it is said
		for i, line := range strings.Split(header, "\n") {
			name, value, found := strings.Cut(line, ": ")
			if i == 0 && line != "" && !found {
				name, value = "Content-Type", line
			}
			if line != "" {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(status)
		for _, piece := range pieces {
			switch piece {
			case hang:
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			case cut:
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			case wait:
				time.Sleep(10 * time.Second) // virtual
			default:
				_, _ = io.WriteString(w, piece)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

func jsonReply(body string) http.HandlerFunc           { return reply(200, "application/json", body) }
func eventReply(pieces ...string) http.HandlerFunc     { return reply(200, "text/event-stream", pieces...) }
func pong(id int) string                               { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id) }
func ping(id int) string                               { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
func untilGone(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// slowly answers after some time.
func slowly(d time.Duration, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { time.Sleep(d); answer(w, r) } // virtual
}

func initializeBody(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`, id)
}

func initializeAnswer(id int, rev string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"%s","capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"0"}}}`, id, rev)
}

const initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// of is how a request of a session begins: its method, session and revision.
func of(method, session, rev string) string {
	if session != "" {
		method += " id=" + session
	}
	if rev >= Revision20250618 {
		method += " rev=" + rev
	}
	return method + " "
}

// opened opens a session, whose initialize has an id, at a revision. An empty
// session is none.
func opened(id int, session, rev string) []step {
	header := "application/json"
	if session != "" {
		header += "\nMcp-Session-Id: " + session
	}
	return []step{
		{"POST " + initializeBody(id), reply(200, header, initializeAnswer(id, rev))},
		{of("POST", session, rev) + initializedBody, reply(202, "")},
	}
}

// parting ends a session.
func parting(session, rev string) step {
	return step{strings.TrimSpace(of("DELETE", session, rev)), reply(204, "")}
}

// inSession opens session "abc" at a revision with a mock that has these steps, uses
// it and closes it.
func inSession(t *testing.T, rev string, opts *ClientOptions, steps []step, use func(ctx context.Context, m *mock, cs *ClientSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		m := mockServer(t, slices.Concat(opened(1, "abc", rev), steps, []step{parting("abc", rev)})...)
		cs := m.connect(m.transport(), opts)
		use(t.Context(), m, cs)
		must(t, cs.Close())
	})
}

// Every message is a POST of its own, with the headers of the protocol, the session
// and the revision, from the first after initialize on; at the end the session is
// deleted. The server may ask on the stream of a reply, and is answered by a POST.
//
// BASE-217 BASE-218 BASE-219 BASE-220 BASE-221 BASE-223 BASE-227 BASE-228 BASE-229
// BASE-241 BASE-246 EDGE-128 BASE-087 BASE-112
func TestHTTPMessages(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		for _, id := range []string{"abc!~", ""} {
			synctest.Test(t, func(t *testing.T) {
				post := of("POST", id, rev)
				steps := append(opened(1, id, rev),
					step{post + ping(2), jsonReply(pong(2))},
					step{post + ping(3), eventReply("data: " + pong(3) + "\n\n")},
					step{post + `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo"}}`, reply(200, "application/json\nMcp-Session-Id: other",
						`{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"hi"}]}}`)},
					step{post + ping(5), eventReply("data: "+`{"jsonrpc":"2.0","id":"s","method":"ping"}`+"\n\n", wait, "data: "+pong(5)+"\n\n")},
					step{post + `{"jsonrpc":"2.0","id":"s","result":{}}`, reply(202, "")},
				)
				if id != "" {
					steps = append(steps, step{strings.TrimSpace(of("DELETE", id, rev)), reply(405, "")})
				}
				m := mockServer(t, steps...)
				cs := m.connect(m.transport(), nil)
				want(t, "revision", cs.Revision(), rev)
				must(t, cs.Ping(t.Context()), cs.Ping(t.Context()))
				r, err := cs.CallTool(t.Context(), "echo", nil)
				must(t, err)
				want(t, "content", r.Content[0].(*TextContent).Text, "hi")
				must(t, cs.Ping(t.Context()))
				must(t, cs.Close(), cs.Close())
			})
		}
	})
}

// Headers of the transport go with every request, those of a call with that call; the
// protocol's own cannot be replaced.
func TestHTTPHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got journal
		look := func(h http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				got.add("%s %s %s", r.Method, r.Header.Values("X-All"), r.Header.Values("X-Call"))
				h(w, r)
			}
		}
		steps := append(opened(1, "abc", Revision20251125),
			step{of("POST", "abc", Revision20251125) + ping(2), eventReply("id: 7\n\n")},
			step{of("GET", "abc", Revision20251125) + "last=7", eventReply("data: " + pong(2) + "\n\n")},
			parting("abc", Revision20251125))
		for i := range steps {
			steps[i].answer = look(steps[i].answer)
		}
		m := mockServer(t, steps...)
		tr := m.transport()
		tr.Header = http.Header{"x-all": {"1"}, "accept": {"text/plain"}}
		cs := m.connect(tr, nil)
		must(t, cs.With(CallOptions{Header: http.Header{"X-Call": {"2"}}}).Ping(t.Context()))
		must(t, cs.Close())
		want(t, "headers", &got, "POST [1] []; POST [1] []; POST [1] [2]; GET [1] [2]; DELETE [1] []")
	})
}

// However an answer comes, it is understood, or fails its call alone with an error
// that says what came.
//
// EDGE-169 EDGE-170 EDGE-171 EDGE-172 EDGE-173 EDGE-174 EDGE-175 EDGE-176 EDGE-177
// EDGE-178 EDGE-179 EDGE-184 EDGE-185 EDGE-187 EDGE-191 EDGE-193 EDGE-194 EDGE-195 BASE-232 EDGE-026
func TestHTTPAnswers(t *testing.T) {
	good := pong(2)
	for _, c := range []struct {
		name  string
		reply http.HandlerFunc
		want  string // error
	}{
		{"json", jsonReply(good), ""},
		{"parameters", reply(200, "Application/JSON ; charset=utf-8; charset=utf-8", good), ""},
		{"BOM", jsonReply("\xEF\xBB\xBF" + good), ""},
		{"no type", reply(200, "", good), ""},
		{"no type, BOM, space", reply(200, "", "\xEF\xBB\xBF \n"+good), ""},
		{"status 201", reply(201, "application/json", good), ""},
		{"events with parameters", reply(200, "Text/Event-Stream; charset=utf-8", "data: "+good+"\n\n"), ""},
		{"stream stays open", eventReply("data: "+good+"\n\n", hang), ""},
		{"CR CR at the end", eventReply("data: "+good+"\r\r", hang), ""},
		{"another event's data", eventReply("event: ping\ndata: ping\n\nevent: endpoint\ndata: /x\n\n: c\n\n:\n\nevent: message\ndata: " + good + "\n\n"), ""},
		{"other fields", eventReply("foo\nfoo: bar\ndata:" + good + "\n\n"), ""},
		{"an event that is no JSON", eventReply("data: ok\n\ndata: [1\n\ndata: 5\n\ndata: " + good + "\n\n"), ""},
		{"answers to others", eventReply("data: " + pong(3) + "\n\ndata: " + good + "\n\n"), ""},
		{"error", jsonReply(`{"jsonrpc":"2.0","id":2,"error":{"code":-5,"message":"no"}}`), "mcp: ping: no (code -5)"},
		{"error, 500", reply(500, "application/json", `{"jsonrpc":"2.0","id":2,"error":{"code":-5,"message":"no"}}`), "mcp: ping: no (code -5)"},
		{"error without id, 400", reply(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-5,"message":"no"}}`), "mcp: ping: no (code -5)"},
		{"error with another id, 400", reply(400, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-5,"message":"no"}}`),
			`mcp: ping: POST http://mcp.test/mcp: the server answered 400 Bad Request (application/json): "{\"jsonrpc\":\"2.0\",\"id\":\"server-error\",\"error\":{\"code\":-5,\"message\":\"no\"}}"`},
		{"no content, 202", reply(202, ""), "mcp: ping: POST http://mcp.test/mcp: the server answered 202 Accepted"},
		{"no content, 204", reply(204, ""), "mcp: ping: POST http://mcp.test/mcp: the server answered 204 No Content"},
		{"empty", reply(200, ""), "mcp: ping: POST http://mcp.test/mcp: the server answered 200 OK"},
		{"empty JSON", jsonReply(""), "mcp: ping: mcp: invalid response: parse error: not JSON: unexpected end at byte 0"},
		{"array", jsonReply("[" + good + "]"), "mcp: ping: mcp: invalid response: batches are not part of this revision"},
		{"another id", jsonReply(pong(3)), "mcp: ping: mcp: invalid response: not the answer to this request"},
		{"no answer", jsonReply(`{"jsonrpc":"2.0","method":"notifications/x"}`), "mcp: ping: mcp: invalid response: not the answer to this request"},
		{"HTML", reply(200, "text/html", "<html>Sign in</html>"), `mcp: ping: POST http://mcp.test/mcp: the server answered 200 OK (text/html): "<html>Sign in</html>"`},
		{"text", reply(200, "", "hello"), `mcp: ping: POST http://mcp.test/mcp: the server answered 200 OK: "hello"`},
		{"not authorized", reply(401, "text/plain", "who?"), `mcp: ping: POST http://mcp.test/mcp: the server answered 401 Unauthorized (text/plain): "who?"`},
		{"forbidden", reply(403, "application/json", `{"jsonrpc":"2.0","id":2,"error":{"code":-5,"message":"no"}}`),
			`mcp: ping: POST http://mcp.test/mcp: the server answered 403 Forbidden (application/json): "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-5,\"message\":\"no\"}}"`},
		{"proxy", reply(502, "text/html", "<html>bad\xff"), `mcp: ping: POST http://mcp.test/mcp: the server answered 502 Bad Gateway (text/html): "<html>bad?"`},
		{"cut JSON", jsonReplyCut(good), "mcp: ping: reading the answer: unexpected EOF"},
		{"cut", reply(200, "text/event-stream", "data: "+good+"\n", cut), "mcp: ping: the stream broke off before the answer: unexpected EOF"},
		{"ends within an event", eventReply("id: 1\ndata: " + good + "\n"), "mcp: ping: the stream ended before the answer"},
		{"id that is taken back", eventReply("id: 1\ndata\n\nid\n\n"), "mcp: ping: the stream ended before the answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			post := of("POST", "abc", Revision20251125)
			inSession(t, Revision20251125, nil, []step{{post + ping(2), c.reply}, {post + ping(3), jsonReply(pong(3))}}, func(ctx context.Context, m *mock, cs *ClientSession) {
				checkError(t, "Ping", cs.Ping(ctx), c.want)
				want(t, "time passed", time.Since(m.start), time.Duration(0))
				checkError(t, "Ping", cs.Ping(ctx), "") // the session is usable
			})
		})
	}
}

func jsonReplyCut(body string) http.HandlerFunc { return reply(200, "application/json", body[:9], cut) }

// Arrays are messages at the revisions that have batches.
//
// BASE-220 EDGE-193
func TestHTTPArrays(t *testing.T) {
	eachRevision(t, func(t *testing.T, rev string) {
		var got journal
		opts := &ClientOptions{LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) { got.add("%s", p.Data) }}
		body := `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}},` + pong(2) + `]`
		inSession(t, rev, opts, []step{{of("POST", "abc", rev) + ping(2), jsonReply(body)}}, func(ctx context.Context, m *mock, cs *ClientSession) {
			must(t, cs.Ping(ctx))
			want(t, "log", &got, `"x"`)
		})
	}, Revision20241105, Revision20250326)
}

// showEvents reads events and writes each on a line.
func showEvents(r io.Reader, limit int) (lines []string) {
	for e, err := range events(r, limit) {
		if err != nil {
			return append(lines, "error: "+err.Error())
		}
		lines = append(lines, e.show())
	}
	return lines
}

func (e *sseEvent) show() string {
	line := fmt.Sprintf("%s %q", e.name, e.data)
	if e.hasID {
		line += fmt.Sprintf(" id=%q", e.id)
	}
	if e.retry >= 0 {
		line += fmt.Sprintf(" retry=%v", e.retry)
	}
	return line
}

// naiveEvents does the same as showEvents, all at once.
func naiveEvents(text string) (lines []string) {
	const controls = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f"
	text = strings.TrimPrefix(text, "\xEF\xBB\xBF")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	all := strings.Split(text, "\n")
	e := sseEvent{retry: -1}
	var data []string
	for _, line := range all[:len(all)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil || e.hasID || e.retry >= 0 {
				e.data = []byte(strings.ToValidUTF8(strings.Join(data, "\n"), "\uFFFD"))
				lines = append(lines, e.show())
			}
			e, data = sseEvent{retry: -1}, nil
		case field == "data":
			data = append(data, value)
		case field == "event":
			e.name = value
		case field == "id" && strings.ContainsAny(value, controls):
		case field == "id":
			e.id, e.hasID = value, true
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			if value = strings.TrimLeft(value, "0"); len(value) < 10 || len(value) == 10 && value <= "2147483647" {
				n, _ := strconv.Atoi("0" + value)
				e.retry = time.Duration(n) * time.Millisecond
			}
		}
	}
	return lines
}

// Server-sent events are read as their standard says, however they are cut.
//
// EDGE-169 EDGE-170 EDGE-171 EDGE-172 EDGE-173 EDGE-174 EDGE-175 EDGE-176 EDGE-177
// EDGE-178 EDGE-179 EDGE-180 EDGE-181 EDGE-182 EDGE-184 EDGE-186
func TestEvents(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"data: x\n\n", ` "x"`},
		{"data:x\n\ndata: x\n\ndata:  x \n\n", ` "x", "x", " x "`},
		{"data: é😀\r\rdata: y\r\n\r\ndata: z\n\r", ` "é😀", "y", "z"`},
		{"data: a\r\ndata: b\rdata: c\n\n\n\r\n", ` "a\nb\nc"`},
		{"\xEF\xBB\xBFdata: x\n\n\xEF\xBB\xBFdata: y\n\n", ` "x"`},
		{": c\n:\n\n:c\n\ndata: x\n: c\ndata: y\n\n", ` "x\ny"`},
		{"data\n\ndata:\ndata\n\ndata:\ndata: x\n\n", ` "", "\n", "\nx"`},
		{"foo\nfoo: x\n data: x\nDATA: x\ndata : x\n\n", ``},
		{"data: x\n", ``},
		{"id: 1\n\nid: 2\ndata: x", ` "" id="1"`},
		{"id: 7\ndata:\n\n", ` "" id="7"`},
		{"id: 7\nid\ndata: x\n\n", ` "x" id=""`},
		{"id: 7\nid: 8\x009\ndata: x\n\n", ` "x" id="7"`},
		{"id: 7\nid: 8\x1b\nid: \x7f\ndata: x\n\n", ` "x" id="7"`},
		{"retry: 500\n\nretry: 5s\n\nretry: -1\n\nretry:\n\nretry: +5\n\nretry: 1_0\n\nretry: 86400000\n\nretry: 0\n\nretry: 2147483648\n\n",
			` "" retry=500ms, "" retry=24h0m0s, "" retry=0s`},
		{"event: a\nevent: b\ndata: x\n\nevent\ndata: y\n\nevent: c\n\ndata: z\n\n", `b "x", "y", "z"`},
		{"data: \xff\xffa\xe2\x82\n\n", ` "\uFFFDa\uFFFD"`},
	} {
		c.want = strings.ReplaceAll(strings.ReplaceAll(c.want, `, "`, `,  "`), `\uFFFD`, "\uFFFD")
		for cut := range len(c.text) {
			r := io.MultiReader(strings.NewReader(c.text[:cut]), strings.NewReader(c.text[cut:]))
			want(t, fmt.Sprintf("%q cut at %d", c.text, cut), strings.Join(showEvents(r, 100), ", "), c.want)
		}
		want(t, fmt.Sprintf("%q byte by byte", c.text), strings.Join(showEvents(iotest.OneByteReader(strings.NewReader(c.text)), 100), ", "), c.want)
		want(t, fmt.Sprintf("%q by the naive parser", c.text), strings.Join(naiveEvents(c.text), ", "), c.want)
	}
}

// An event, and a line, are bounded.
func TestEventsBounded(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"data: " + strings.Repeat("x", 100) + "\n\n", ` "` + strings.Repeat("x", 100) + `"`},
		{"data: " + strings.Repeat("x", 101) + "\n\n", "error: a line of more than 100 bytes"},
		{"data: " + strings.Repeat("x", 1<<20), "error: a line of more than 100 bytes"},
		{strings.Repeat(":", 1<<20), "error: a line of more than 100 bytes"},
		{strings.Repeat("data: xxxxxxxxxx\n", 10), "error: an event of more than 100 bytes"},
		{strings.Repeat("data:\n", 102), "error: an event of more than 100 bytes"},
	} {
		want(t, fmt.Sprintf("%.20q…", c.text), strings.Join(showEvents(strings.NewReader(c.text), 100), ", "), c.want)
	}
}

// Whatever comes: the events do not depend on where it is cut, they are what a naive
// parser finds, and nothing is larger than it may be.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: x\r\rid: 1\r\n\n", "\xEF\xBB\xBFdata\n\n", "retry: 10\nevent: e\ndata: a\ndata: b\n\n", "id: \x00\n\r:\n\n", "data: \xe2\x82\n\n"} {
		f.Add([]byte(seed), uint64(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		whole := strings.Join(showEvents(bytes.NewReader(text), 1<<20), "\n")
		want(t, "naive", strings.Join(naiveEvents(string(text)), "\n"), whole)
		random := rand.New(rand.NewPCG(seed, 0))
		var pieces []io.Reader
		for rest := text; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			pieces = append(pieces, bytes.NewReader(rest[:n]))
			rest = rest[n:]
		}
		want(t, "cut", strings.Join(showEvents(io.MultiReader(pieces...), 1<<20), "\n"), whole)
		for e, err := range events(bytes.NewReader(text), 10) {
			if err == nil && (len(e.data) > 3*10 || len(e.id) > 16 || len(e.name) > 16) {
				t.Errorf("too large: %s", e.show())
			}
		}
	})
}

// callOver makes a call of the tool echo whose answer is body, an SSE stream of pieces
// at most.
func callOver(t *testing.T, opts *ClientOptions, pieces ...string) {
	t.Helper()
	call := of("POST", "abc", Revision20251125) + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`
	inSession(t, Revision20251125, opts, []step{{call, eventReply(pieces...)}}, func(ctx context.Context, m *mock, cs *ClientSession) {
		r, err := cs.CallTool(ctx, "echo", nil)
		must(t, err)
		want(t, "result", r.Content[0].(*TextContent).Text, "hi 😀")
		want(t, "time passed", time.Since(m.start), time.Duration(0))
	})
}

const echoed = `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi 😀"}]}}`

// BUG-097: lines end in CR, CR LF or LF, and a stream may begin with a BOM.
func TestBUG097LineEnds(t *testing.T) {
	for _, text := range []string{"event: message\rdata: " + echoed + "\r\r", "event: message\r\ndata: " + echoed + "\r\n\r\n",
		"\xEF\xBB\xBFevent: message\ndata: " + echoed + "\n\n"} {
		callOver(t, nil, text)
		callOver(t, nil, strings.Split(text, "")...)
	}
}

// BUG-098: data over several lines is one message.
func TestBUG098DataOverLines(t *testing.T) {
	callOver(t, nil, "data: "+echoed[:17]+"\ndata: "+echoed[17:]+"\n\n")
	callOver(t, nil, "data: {\ndata: "+echoed[1:17], "\ndata:", " "+echoed[17:]+"\n", "\n")
}

// BUG-100: other events and comments are skipped, and nothing is said of them.
func TestBUG100OtherEvents(t *testing.T) {
	var log journal
	callOver(t, &ClientOptions{Logger: log.logger()}, "event: ping\ndata: ping\n\n", ": comment\n\n", "data: "+echoed+"\n\n")
	want(t, "log", &log, "")
}

// BUG-101: an event with empty data brings an id, and is no message.
//
// C-22
func TestBUG101PrimingEvent(t *testing.T) {
	var log journal
	callOver(t, &ClientOptions{Logger: log.logger()}, "id: 1\ndata:\n\n", "data: "+echoed+"\n\n")
	want(t, "log", &log, "")
	post, get := of("POST", "abc", Revision20251125), of("GET", "abc", Revision20251125)
	inSession(t, Revision20251125, nil, []step{{post + ping(2), eventReply("id: 1\ndata:\n\n")}, {get + "last=1", eventReply("data: " + pong(2) + "\n\n")}},
		func(ctx context.Context, m *mock, cs *ClientSession) { must(t, cs.Ping(ctx)) })
}

// BUG-104: a stream that ends without an answer and without ids fails its call at
// once, and no other.
//
// EDGE-136
func TestBUG104StreamWithoutAnswer(t *testing.T) {
	post := of("POST", "abc", Revision20251125)
	inSession(t, Revision20251125, nil, []step{{post + ping(2), eventReply(": comment\n\n")}, {post + ping(3), jsonReply(pong(3))}},
		func(ctx context.Context, m *mock, cs *ClientSession) {
			checkError(t, "Ping", cs.Ping(ctx), "mcp: ping: the stream ended before the answer")
			must(t, cs.Ping(ctx))
			want(t, "time passed", time.Since(m.start), time.Duration(0))
		})
}

// near reports a time that is not within a backoff of want and half as much again.
func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want || got >= want+want/2 {
		t.Errorf("%s: %v, want %v to %v", what, got, want, want+want/2)
	}
}

// gaps are the times between times.
func gaps(at []time.Duration) (list []time.Duration) {
	for i := 1; i < len(at); i++ {
		list = append(list, at[i]-at[i-1])
	}
	return list
}

// A stream that broke off, or was ended by the server, is asked for again, after the
// last event that came, by a GET of the same session. What the server asks to wait is
// waited, and not more.
//
// BASE-256 BASE-257 BASE-263 BASE-265 EDGE-178 EDGE-179 EDGE-182 EDGE-183
func TestHTTPResume(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		after  time.Duration // that the client must come back; negative: its own backoff
	}{
		{"cut", []string{"id: 7\n\n", cut}, -1},
		{"an id that no header can carry", []string{"id: 7\n\nid: 8\x01\ndata:\n\n", cut}, -1},
		{"cut within an event", []string{"id: 7\ndata:\n\nid: 8\ndata: {", cut}, -1},
		{"ended", []string{"id: 6\n\nid: 7\ndata:\n\n"}, -1},
		{"another event's id", []string{"event: ping\nid: 7\ndata: x\n\n"}, -1},
		{"retry", []string{"id: 7\nretry: 1234\ndata:\n\n"}, 1234 * time.Millisecond},
		{"retry later", []string{"id: 7\nretry: 5\n\nretry: 700\n\n", cut}, 700 * time.Millisecond},
		{"retry that is none", []string{"id: 7\nretry: 500\n\nretry: 5s\n\nretry: -1\n\n"}, 500 * time.Millisecond},
		{"retry at once", []string{"id: 7\nretry: 0\n\n"}, 0},
		{"retry tomorrow", []string{"id: 7\nretry: 240000\n\n"}, 4 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachRevision(t, func(t *testing.T, rev string) {
				steps := []step{
					{of("POST", "abc", rev) + ping(2), eventReply(c.pieces...)},
					{of("GET", "abc", rev) + "last=7", eventReply(": back\n\n", "id: 8\ndata: "+pong(2)+"\n\n")},
				}
				inSession(t, rev, nil, steps, func(ctx context.Context, m *mock, cs *ClientSession) {
					must(t, cs.Ping(ctx))
					if c.after < 0 {
						near(t, "back after", time.Since(m.start), backoffMin)
					} else {
						want(t, "back after", time.Since(m.start), c.after)
					}
				})
			})
		})
	}
}

// What was told before a stream broke off is not told again, and the rest in order.
func TestHTTPResumeInOrder(t *testing.T) {
	note := func(n int) string {
		return fmt.Sprintf("id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%d}}\n\n", n, n)
	}
	var got journal
	opts := &ClientOptions{LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) { got.add("%s", p.Data) }}
	post, get := of("POST", "abc", Revision20251125), of("GET", "abc", Revision20251125)
	inSession(t, Revision20251125, opts, []step{
		{post + ping(2), eventReply(note(1), note(2), note(3)[:20], cut)},
		{get + "last=2", eventReply(note(3), note(4))},
		{get + "last=4", eventReply(note(5), "data: "+pong(2)+"\n\n")},
	}, func(ctx context.Context, m *mock, cs *ClientSession) {
		must(t, cs.Ping(ctx))
		want(t, "notifications", &got, "1; 2; 3; 4; 5")
	})
}

// A server that cannot be reached, or fails, is asked again, later and later; one
// that refuses is not.
func TestHTTPResumeFails(t *testing.T) {
	post, get := of("POST", "abc", Revision20251125), of("GET", "abc", Revision20251125)
	lost := step{post + ping(2), eventReply("id: 7\n\n", cut)}
	last := step{post + ping(3), jsonReply(pong(3))}
	for _, c := range []struct {
		name   string
		answer []http.HandlerFunc
		want   string
	}{
		{"trouble", []http.HandlerFunc{reply(503, ""), reply(500, "text/html", "x"), eventReply(cut), eventReply("data: " + pong(2) + "\n\n")}, ""},
		{"refused", []http.HandlerFunc{reply(400, "text/plain", "gone")}, `mcp: ping: GET http://mcp.test/mcp: the server answered 400 Bad Request (text/plain): "gone"`},
		{"no stream", []http.HandlerFunc{reply(200, "text/html", "hi")}, `mcp: ping: GET http://mcp.test/mcp: the server answered 200 OK (text/html): "hi"`},
		{"unknown", []http.HandlerFunc{reply(405, "")}, `mcp: ping: GET http://mcp.test/mcp: the server answered 405 Method Not Allowed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := []step{lost, last}
			for _, a := range c.answer {
				steps = append(steps, step{get + "last=7", a})
			}
			inSession(t, Revision20251125, nil, steps, func(ctx context.Context, m *mock, cs *ClientSession) {
				checkError(t, "Ping", cs.Ping(ctx), c.want)
				must(t, cs.Ping(ctx))
				if c.want == "" {
					for i, gap := range gaps(append([]time.Duration{0}, m.times("GET")...)) {
						near(t, fmt.Sprint("wait ", i), gap, backoffMin<<i)
					}
				}
			})
		})
	}
}

// BUG-103: a server that takes each reconnection, says nothing new and closes, is left
// after a bounded number of tries, later and later, whatever it asks for. Each new id
// begins the count anew.
//
// EDGE-137 EDGE-183
func TestBUG103EndlessReconnects(t *testing.T) {
	post, get := of("POST", "abc", Revision20251125), of("GET", "abc", Revision20251125)
	for _, retry := range []string{"", "retry: 0\n", "retry: 10\n"} {
		steps := []step{{post + ping(2), eventReply("id: 7\n" + retry + "\n")}, {get + "last=7", eventReply("id: 8\ndata:\n\n")}, {post + ping(3), jsonReply(pong(3))}}
		for range 5 {
			steps = append(steps, step{get + "last=8", eventReply(": nothing\n\n", retry+"\n")})
		}
		inSession(t, Revision20251125, nil, steps, func(ctx context.Context, m *mock, cs *ClientSession) {
			checkError(t, "Ping", cs.Ping(ctx), "mcp: ping: 5 tries to go on with the stream brought nothing new: the stream ended before the answer")
			for i, gap := range gaps(m.times("GET id=abc rev=2025-11-25 last=8")) {
				near(t, fmt.Sprintf("%q: wait %d", retry, i), gap, backoffMin<<(i+1))
			}
			must(t, cs.Ping(ctx))
		})
	}
}

// The call's own time limit ends the tries, and giving up is told.
func TestHTTPResumeTimeout(t *testing.T) {
	post := of("POST", "abc", Revision20251125)
	steps := []step{{post + ping(2), eventReply("id: 7\nretry: 86400000\n\n")},
		{post + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: neither answer nor progress for 1m0s"}}`, reply(202, "")}}
	inSession(t, Revision20251125, &ClientOptions{Timeout: time.Minute}, steps, func(ctx context.Context, m *mock, cs *ClientSession) {
		checkError(t, "Ping", cs.Ping(ctx), "mcp: ping: neither answer nor progress for 1m0s")
		want(t, "time passed", time.Since(m.start), time.Minute)
		synctest.Wait()
	})
}

// What a server asks on the stream of a call after its answer comes too late: nothing
// reads for it any more, and the session goes on. What it asks before is answered.
//
// EDGE-202
func TestHTTPAsksAfterAnswer(t *testing.T) {
	post := of("POST", "abc", Revision20251125)
	const early, late = `{"jsonrpc":"2.0","id":"early","method":"ping"}`, `{"jsonrpc":"2.0","id":"late","method":"ping"}`
	steps := []step{
		{post + ping(2), eventReply("data: "+early+"\n\n", "data: "+pong(2)+"\n\n", "data: "+late+"\n\n", hang)},
		{post + `{"jsonrpc":"2.0","id":"early","result":{}}`, reply(202, "")},
		{post + ping(3), jsonReply(pong(3))},
	}
	inSession(t, Revision20251125, nil, steps, func(ctx context.Context, m *mock, cs *ClientSession) {
		must(t, cs.Ping(ctx))
		want(t, "time passed", time.Since(m.start), time.Duration(0))
		time.Sleep(time.Minute) // virtual
		must(t, cs.Ping(ctx))
	})
}

// A stream may last longer than the time limits of net/http on either side: the client's
// Timeout is not used, and the server moves its WriteTimeout with each piece.
//
// EDGE-234
func TestHTTPTimeouts(t *testing.T) {
	s := NewServer(&Implementation{Name: "s", Version: "1"}, nil)
	must(t, AddTool(s, &Tool{Name: "long"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
		for i := range 10 {
			time.Sleep(3 * time.Second) // virtual
			if err := r.Progress(ctx, float64(i), 10, ""); err != nil {
				return "", err
			}
		}
		return "done", nil
	}))
	for _, rev := range []string{Revision20250326, Revision20251125, Revision20260728} {
		synctest.Test(t, func(t *testing.T) {
			ln, ended := listenMemory(), make(chan error, 1)
			h := &HTTPHandler{Server: s}
			server := &http.Server{Handler: h, WriteTimeout: time.Second}
			go func() { ended <- server.Serve(ln) }()
			hc := ln.client()
			hc.Timeout = time.Second
			cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, &ClientOptions{Revisions: []string{rev}}).
				Connect(t.Context(), &HTTPTransport{URL: "http://mcp.test/mcp", Client: hc})
			must(t, err)
			start, reports := time.Now(), 0
			r, err := cs.With(CallOptions{Progress: func(Progress) { reports++ }}).CallTool(t.Context(), "long", nil)
			must(t, err)
			want(t, "result", r.Content[0].(*TextContent).Text, "done")
			want(t, "reports", reports, 10)
			want(t, "time passed", time.Since(start), 30*time.Second)
			must(t, cs.Close(), h.Shutdown(t.Context()), server.Close())
			<-ended
		})
	}
}

// Giving up is told by a POST, and then the stream is closed, even if the server does
// not take that POST.
//
// EDGE-200 BASE-136
func TestHTTPCancel(t *testing.T) {
	for _, taken := range []bool{true, false} {
		var order journal
		post := of("POST", "abc", Revision20251125)
		steps := []step{
			{post + ping(2), func(w http.ResponseWriter, r *http.Request) {
				eventReply(": hi\n\n", hang)(w, r)
				order.add("closed")
			}},
			{post + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: ping: context canceled: enough"}}`, func(w http.ResponseWriter, r *http.Request) {
				order.add("cancelled")
				if !taken {
					untilGone(w, r)
				}
			}},
		}
		inSession(t, Revision20251125, nil, steps, func(_ context.Context, m *mock, cs *ClientSession) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
			checkError(t, "Ping", cs.Ping(ctx), "mcp: ping: context canceled: enough")
			want(t, "time passed", time.Since(m.start), time.Second)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			want(t, "order", &order, "cancelled; closed")
		})
	}
}

// forgotten is a server that takes its time to find that it does not know session "a".
func forgotten(requests ...string) (steps []step) {
	for _, r := range requests {
		steps = append(steps, step{of("POST", "a", Revision20251125) + r, slowly(100*time.Millisecond, reply(404, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"a"}}`))})
	}
	return steps
}

const (
	subscribeBody = `{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"file:///%s"}}`
	levelBody     = `{"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":{"level":"error"}}`
)

// Ten calls find the session lost at once: one new session is opened, and what was
// asked of the old one is asked of it, too, before the calls are repeated. The call
// whose stream had begun fails: it may have been served.
//
// BASE-245 EDGE-120 EDGE-125 C-09
func TestHTTPRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := of("POST", "a", Revision20251125), of("POST", "b", Revision20250618)
		steps := slices.Concat(opened(1, "a", Revision20251125), []step{
			{a + fmt.Sprintf(subscribeBody, 2, "x"), jsonReply(pong(2))},
			{a + fmt.Sprintf(subscribeBody, 3, "y"), jsonReply(pong(3))},
			{a + fmt.Sprintf(subscribeBody, 4, "z"), jsonReply(pong(4))},
			{a + `{"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"file:///x"}}`, jsonReply(pong(5))},
			{a + fmt.Sprintf(levelBody, 6), jsonReply(pong(6))},
			{a + ping(7), eventReply("id: 7\n\n")},
			{"GET id=a rev=2025-11-25 last=7", reply(404, "")},
		}, []step{ // the second session begins slowly, and speaks another revision
			{"POST " + initializeBody(18), slowly(time.Second, reply(200, "text/event-stream\nMcp-Session-Id: b", "data: "+initializeAnswer(18, Revision20250618)+"\n\n", hang))},
			{b + initializedBody, slowly(time.Second, reply(202, ""))},
		})
		for id := 8; id < 18; id++ {
			steps = append(steps, forgotten(ping(id))...)
		}
		steps = append(steps, forgotten(ping(19))...) // while the new session is not there yet
		steps = append(steps, step{b + fmt.Sprintf(subscribeBody, 20, "y"), jsonReply(pong(20))},
			step{b + fmt.Sprintf(subscribeBody, 21, "z"), reply(500, "")}, step{b + fmt.Sprintf(levelBody, 22), jsonReply(pong(22))})
		for id := 23; id < 34; id++ {
			steps = append(steps, step{b + ping(id), jsonReply(pong(id))})
		}
		m := mockServer(t, append(steps, parting("b", Revision20250618))...)
		var log, renewed journal
		cs := m.connect(m.transport(), &ClientOptions{Logger: log.logger(), SessionRenewed: func(_ context.Context, cs *ClientSession) {
			renewed.add("at %v, %s", time.Since(m.start)/time.Second*time.Second, cs.Revision())
		}})
		for _, name := range []string{"x", "y", "z"} {
			must(t, cs.Subscribe(t.Context(), "file:///"+name))
		}
		must(t, cs.Unsubscribe(t.Context(), "file:///x"), cs.SetLoggingLevel(t.Context(), "error"))
		begun := make(chan error)
		go func() { begun <- cs.Ping(t.Context()) }()
		synctest.Wait()
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() { must(t, cs.Ping(t.Context())) })
		}
		synctest.Wait()
		time.Sleep(time.Second + time.Second/2)
		calls.Go(func() { must(t, cs.Ping(t.Context())) })
		checkError(t, "the call that had begun", <-begun, "mcp: ping: the server has ended the session; it may have served the call")
		calls.Wait()
		want(t, "renewed", &renewed, "at 2s, 2025-06-18")
		want(t, "log", &log, "WARN the new session is not like the old one")
		must(t, cs.Close())
	})
}

// A session that is lost as soon as it is opened fails the call: it is renewed once for
// each call. So does one that cannot be opened; the next call tries again. A server
// that has lost the session is not told of its end.
//
// EDGE-126 BASE-246
func TestHTTPRenewalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := reply(404, "")
		b, c := of("POST", "b", Revision20251125), of("POST", "c", Revision20251125)
		m := mockServer(t, slices.Concat(opened(1, "a", Revision20251125), forgotten(ping(2)),
			opened(3, "b", Revision20251125), []step{{b + ping(4), lost}, {b + ping(5), lost},
				{"POST " + initializeBody(6), reply(503, "text/plain\nMcp-Session-Id: junk", "later")},
				{b + ping(7), lost}, {"POST " + initializeBody(8), reply(200, "application/json\nMcp-Session-Id: junk", `{"jsonrpc":"2.0","id":8,"error":{"code":-5,"message":"no"}}`)},
				{b + ping(9), lost}, {"POST " + initializeBody(10), reply(400, "")}, // no fallback
				{b + ping(11), lost}, opened(12, "b2", Revision20251125)[0], {of("POST", "b2", Revision20251125) + initializedBody, reply(500, "")},
				{b + ping(13), lost}}, opened(14, "c", Revision20251125), []step{{c + ping(15), lost}})...)
		cs := m.connect(m.transport(), nil)
		ctx := t.Context()
		checkError(t, "twice", cs.Ping(ctx), "mcp: ping: the server has ended the session")
		const gone = "mcp: ping: the server has ended the session; no other could be opened: "
		checkError(t, "503", cs.Ping(ctx), gone+`mcp: initialize: POST http://mcp.test/mcp: the server answered 503 Service Unavailable (text/plain): "later"`)
		checkError(t, "error", cs.Ping(ctx), gone+`mcp: initialize: no (code -5)`)
		checkError(t, "400", cs.Ping(ctx), gone+`mcp: initialize: POST http://mcp.test/mcp: the server answered 400 Bad Request`)
		checkError(t, "initialized", cs.Ping(ctx), gone+`mcp: sending notifications/initialized: POST http://mcp.test/mcp: the server answered 500 Internal Server Error`)
		checkError(t, "at last", cs.Ping(ctx), "mcp: ping: the server has ended the session")
		must(t, cs.Close())
	})
}

// A cursor ends with its session: a page is not asked for in the next one.
//
// BASE-420
func TestHTTPCursorsEndWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func(id int, more string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{%s}}`, id, more)
		}
		const tools = `{"tools":[{"name":"%s","inputSchema":{"type":"object"}}]%s}`
		b := of("POST", "b", Revision20251125)
		m := mockServer(t, slices.Concat(opened(1, "a", Revision20251125),
			[]step{{of("POST", "a", Revision20251125) + page(2, ""), jsonReply(givesBack(2, fmt.Sprintf(tools, "x", `,"nextCursor":"c"`)))}},
			forgotten(page(3, `"cursor":"c"`)), opened(4, "b", Revision20251125),
			[]step{{b + page(5, ""), jsonReply(givesBack(5, fmt.Sprintf(tools, "y", "")))}, parting("b", Revision20251125)})...)
		cs := m.connect(m.transport(), nil)
		var got journal
		for range 2 {
			for tool, err := range cs.With(CallOptions{Force: true}).Tools(t.Context()) {
				if err != nil {
					got.add("%v", err)
					continue
				}
				got.add("%s", tool.Name)
			}
		}
		want(t, "listed", &got, "x; mcp: tools/list: the server has ended the session; its cursor is of no use in another one: list from the start; y")
		must(t, cs.Close())
	})
}

// What a new session is told of is not reason to open yet another one.
//
// EDGE-126
func TestHTTPRenewalIsNotNested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := of("POST", "b", Revision20251125)
		m := mockServer(t, slices.Concat(opened(1, "a", Revision20251125),
			[]step{{of("POST", "a", Revision20251125) + fmt.Sprintf(subscribeBody, 2, "x"), jsonReply(pong(2))}}, forgotten(ping(3)),
			opened(4, "b", Revision20251125), []step{{b + fmt.Sprintf(subscribeBody, 5, "x"), reply(404, "")}, {b + ping(6), reply(404, "")}})...)
		cs := m.connect(m.transport(), nil)
		must(t, cs.Subscribe(t.Context(), "file:///x"))
		checkError(t, "Ping", cs.Ping(t.Context()), "mcp: ping: the server has ended the session")
		must(t, cs.Close())
	})
}

// A server that does not take what gets no answer holds it up for a bounded time.
func TestHTTPNotificationNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := append(opened(1, "abc", Revision20251125), parting("abc", Revision20251125))
		steps[1].answer = untilGone
		m := mockServer(t, steps...)
		err := connectError(t, m.transport())
		checkError(t, "Connect", err, `mcp: sending notifications/initialized: Post "http://mcp.test/mcp": not taken within 30s`)
		want(t, "time passed", time.Since(m.start), postTimeout)
	})
}

// A call gives up as its context says while a new session is opened, which goes on.
func TestHTTPRenewalTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := slices.Concat(opened(1, "a", Revision20251125), forgotten(ping(2)), opened(3, "b", Revision20251125), []step{{of("POST", "b", Revision20251125) + ping(4), jsonReply(pong(4))}, parting("b", Revision20251125)})
		steps[3].answer = slowly(10*time.Second, steps[3].answer)
		m := mockServer(t, steps...)
		cs := m.connect(m.transport(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		checkError(t, "Ping", cs.Ping(ctx), "mcp: ping: the server has ended the session; no other could be opened: context deadline exceeded")
		time.Sleep(10 * time.Second)
		must(t, cs.Ping(t.Context()), cs.Close())
	})
}

// Close ends a renewal that hangs.
func TestHTTPRenewalClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, slices.Concat(opened(1, "a", Revision20251125), forgotten(ping(2)), []step{{"POST " + initializeBody(3), untilGone}})...)
		cs := m.connect(m.transport(), nil)
		go func() { time.Sleep(time.Second); must(t, cs.Close()) }()
		checkError(t, "Ping", cs.Ping(t.Context()), "mcp: ping: the server has ended the session; no other could be opened: mcp: connection closed: closed by this side")
		must(t, cs.Close())
		want(t, "time passed", time.Since(m.start), time.Second)
	})
}

// A session is renewed also by what its listener and its keepalive find.
func TestHTTPRenewalWithoutCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, slices.Concat(opened(1, "a", Revision20251125), forgotten(ping(2)), opened(3, "b", Revision20251125), []step{
			{of("POST", "b", Revision20251125) + ping(4), jsonReply(pong(4))}, parting("b", Revision20251125)})...)
		cs := m.connect(m.transport(), &ClientOptions{KeepAlive: time.Minute})
		time.Sleep(2*time.Minute + time.Second)
		must(t, cs.Close())
	})
}

// A 404 to what belongs to no session is no lost session.
//
// EDGE-124 C-09
func TestHTTP404WithoutSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, append(opened(1, "", Revision20251125), step{"POST rev=2025-11-25 " + ping(2), reply(404, "text/plain", "x")}, step{"POST rev=2025-11-25 " + ping(3), jsonReply(pong(3))})...)
		cs := m.connect(m.transport(), nil)
		checkError(t, "Ping", cs.Ping(t.Context()), `mcp: ping: POST http://mcp.test/mcp: the server answered 404 Not Found (text/plain): "x"`)
		must(t, cs.Ping(t.Context()), cs.Close())
	})
}

// BUG-094: only a session that initialize has opened has an id: what comes with an
// error is not stored.
func TestBUG094SessionOfError(t *testing.T) {
	for _, c := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{reply(200, "application/json\nMcp-Session-Id: junk", `{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}`), "mcp: initialize: no (code -5)"},
		{reply(400, "application/json\nMcp-Session-Id: junk", `{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}`), "mcp: initialize: no (code -5)"},
		{reply(500, "application/json\nMcp-Session-Id: junk", ``), "mcp: initialize: POST http://mcp.test/mcp: the server answered 500 Internal Server Error (application/json)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, step{"POST " + initializeBody(1), c.answer}) // and no DELETE
			_, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), m.transport())
			checkError(t, "Connect", err, c.want)
		})
	}
}

// connectError is the error of Connect, of which nothing may be left.
func connectError(t *testing.T, tr *HTTPTransport) error {
	t.Helper()
	cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), tr)
	if err == nil {
		t.Error("Connect: no error")
		must(t, cs.Close())
	}
	return err
}

// BUG-113: 307 and 308 are followed within the origin, with method, body and headers;
// everything else is an error that names the target, and nothing is sent there.
//
// EDGE-197 BASE-240
func TestBUG113Redirects(t *testing.T) {
	const away = "mcp: initialize: Post \"http://mcp.test/mcp\": the server redirects"
	for _, c := range []struct {
		status       int
		target, want string
	}{
		{307, "/mcp/", ""},
		{308, "http://mcp.test:80/mcp/", ""},
		{301, "/mcp/?token=secret", away + " (301) to http://mcp.test/mcp/: use that URL"},
		{302, "/mcp/", away + " (302) to http://mcp.test/mcp/: use that URL"},
		{303, "/mcp/", away + " (303) to http://mcp.test/mcp/: use that URL"},
		{307, "http://other.test/mcp?token=secret", away + " to another origin, http://other.test/mcp"},
		{308, "https://mcp.test/mcp", away + " to another origin, https://mcp.test/mcp"},
		{307, "http://mcp.test:8080/mcp", away + " to another origin, http://mcp.test:8080/mcp"},
		{307, "/again", "mcp: initialize: Post \"http://mcp.test/mcp\": more than 5 redirects"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var reached journal
			m := mockServer(t)
			if c.want == "" {
				m.steps = append(append(opened(1, "abc", Revision20251125), step{of("POST", "abc", Revision20251125) + ping(2), eventReply("id: 7\n\n")},
					step{of("GET", "abc", Revision20251125) + "last=7", eventReply("data: " + pong(2) + "\n\n")}), parting("abc", Revision20251125))
			}
			ln := listenMemory()
			serveMemory(t, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Host != "mcp.test" && r.Host != "mcp.test:80" {
					t.Errorf("reached %s", r.Host)
				}
				want(t, "Authorization", r.Header.Get("Authorization"), "Bearer secret")
				if r.URL.Path == "/mcp/" {
					reached.add("%s", r.Method)
					r.URL.Path = "/mcp"
					m.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Location", c.target)
				w.WriteHeader(c.status)
			}))
			tr := &HTTPTransport{URL: "http://mcp.test/mcp?key=secret", Client: ln.client(), NoListen: true, Header: http.Header{"Authorization": {"Bearer secret"}}}
			if c.want != "" {
				checkError(t, c.target, connectError(t, tr), c.want)
				want(t, "reached", &reached, "")
				return
			}
			cs := m.connect(tr, nil)
			must(t, cs.Ping(t.Context()), cs.Close())
			want(t, "reached", &reached, "POST; POST; POST; GET; DELETE")
		})
	}
}

// A session id is a secret: no error and no log line has it, nor what is secret in
// URLs.
//
// BASE-240
func TestHTTPSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "hush"
		var errs []error
		var log lockedBuffer
		ln, requests := listenMemory(), atomic.Int32{}
		serveMemory(t, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			n := requests.Add(1)
			switch {
			case n == 1:
				reply(200, "application/json\nMcp-Session-Id: hush", initializeAnswer(1, Revision20251125))(w, r)
			case strings.Contains(string(body), noteInitialized):
				reply(202, "")(w, r)
			case n == 3: // the listener
				eventReply("id: 7\ndata: x\n\n", "data: "+strings.Repeat("x", 2000))(w, r)
			case n == 4:
				reply(200, "text/html\nMcp-Session-Id: hush-hush", "x")(w, r)
			case n == 5, r.Method == http.MethodPost && strings.Contains(string(body), methodInitialize):
				panic(http.ErrAbortHandler)
			case n == 6:
				eventReply("id: 7\ndata: x\n\n")(w, r)
			default:
				reply(404, "text/plain", "no such session")(w, r)
			}
		}))
		tr := &HTTPTransport{URL: "http://user:hush@mcp.test/mcp?key=hush", Client: ln.client(), MaxMessage: 1000}
		opts := &ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), tr)
		must(t, err)
		for range 5 {
			errs = append(errs, cs.Ping(t.Context()))
		}
		time.Sleep(time.Minute)
		must(t, cs.Close())
		for _, err := range errs {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("error: %v", err)
			}
		}
		if text := log.String(); strings.Contains(text, secret) || text == "" {
			t.Errorf("log: %s", text)
		}
	})
}

// BUG-110: however a server refuses to be listened to, the session is usable, and
// the GET is not repeated.
//
// BASE-224 BASE-225 EDGE-188 EDGE-196
func TestBUG110ListenRefused(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"405": reply(405, ""), "404": reply(404, ""), "400": reply(400, "text/plain", "no"), "401": reply(401, ""),
		"501": reply(501, ""), "204": reply(204, ""), "html": reply(200, "text/html", "<html>"), "endless html": reply(200, "text/html", "<html>", hang), "silent": untilGone} {
		t.Run(name, func(t *testing.T) {
			eachRevision(t, func(t *testing.T, rev string) {
				synctest.Test(t, func(t *testing.T) {
					m := mockServer(t, append(opened(1, "abc", rev), step{strings.TrimSpace(of("GET", "abc", rev)), answer},
						step{of("POST", "abc", rev) + ping(2), jsonReply(pong(2))}, parting("abc", rev))...)
					tr := m.transport()
					tr.NoListen = false
					cs := m.connect(tr, nil)
					if took := time.Since(m.start); took > listenGrace || name != "silent" && took > 0 {
						t.Errorf("Connect took %v", took)
					}
					time.Sleep(time.Hour)
					must(t, cs.Ping(t.Context()), cs.Close())
					want(t, "GETs", len(m.times("GET")), 1)
				})
			})
		})
	}
}

// What no request causes is listened to on a GET, which is made again when it is lost:
// after the last event, or from now on if that is not known any more; when the server
// asks for it, else later and later.
//
// BASE-224 BASE-226 EDGE-129
func TestHTTPListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		note := func(n int) string {
			return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%d}}\n\n", n)
		}
		get := strings.TrimSpace(of("GET", "abc", Revision20251125))
		m := mockServer(t, append(opened(1, "abc", Revision20251125),
			step{get, eventReply("id: 1\n"+note(1), "id: 2\nretry: 3000\n"+note(2), "data: no message\n\n", cut)},
			step{get + " last=2", eventReply(note(3))},
			step{get + " last=2", reply(400, "")},
			step{get, reply(503, "")},
			step{get, eventReply(cut)},
			step{get, eventReply("data: "+`{"jsonrpc":"2.0","id":"s","method":"ping"}`+"\n\n", hang)},
			step{of("POST", "abc", Revision20251125) + `{"jsonrpc":"2.0","id":"s","result":{}}`, reply(202, "")},
			parting("abc", Revision20251125))...)
		var got journal
		tr := m.transport()
		tr.NoListen = false
		cs := m.connect(tr, &ClientOptions{LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) { got.add("%s", p.Data) }})
		time.Sleep(time.Minute)
		must(t, cs.Close())
		want(t, "notifications", &got, "1; 2; 3")
		at := gaps(m.times("GET"))
		want(t, "asked for", at[:2], []time.Duration{3 * time.Second, 3 * time.Second})
		for i, gap := range at[2:] { // what is asked for is the least
			if base := backoffMin << (i + 1); gap < 3*time.Second || gap >= max(3*time.Second+1, base+base/2) {
				t.Errorf("wait %d: %v", i, gap)
			}
		}
		want(t, "GETs", len(at), 5)
	})
}

// A server that was heard once is asked again for ever, if seldom; one that never was
// a bounded number of times.
func TestHTTPListenAgain(t *testing.T) {
	for _, heard := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			gets := 0
			m := mockServer(t, append(opened(1, "abc", Revision20251125), parting("abc", Revision20251125))...)
			ln := listenMemory()
			serveMemory(t, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method != http.MethodGet:
					m.ServeHTTP(w, r)
				case heard && gets == 0:
					gets++
					eventReply(": hi\n\n")(w, r)
				default:
					gets++
					reply(503, "")(w, r)
				}
			}))
			cs := m.connect(&HTTPTransport{URL: "http://mcp.test/mcp", Client: ln.client()}, nil)
			time.Sleep(time.Hour)
			must(t, cs.Close())
			switch {
			case !heard:
				want(t, "GETs", gets, maxListenFails)
			case gets < 80 || gets > 130: // every 30 to 45 seconds
				t.Errorf("%d GETs", gets)
			}
		})
	}
}

// BUG-095: 404 to a listener that comes back is final: the session is lost, and
// renewed; nothing stays open.
func TestBUG095ListenerFindsSessionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, slices.Concat(opened(1, "a", Revision20251125), []step{
			{"GET id=a rev=2025-11-25", eventReply(": hi\n\n", wait)}, {"GET id=a rev=2025-11-25", reply(404, "text/plain", "gone")}},
			opened(2, "b", Revision20251125), []step{
				{"GET id=b rev=2025-11-25", eventReply(": hi\n\n", hang)}, {of("POST", "b", Revision20251125) + ping(3), jsonReply(pong(3))}, parting("b", Revision20251125)})...)
		tr := m.transport()
		tr.NoListen = false
		var renewed journal
		cs := m.connect(tr, &ClientOptions{SessionRenewed: func(context.Context, *ClientSession) { renewed.add("renewed") }})
		time.Sleep(20 * time.Second)
		want(t, "events", &renewed, "renewed")
		must(t, cs.Ping(t.Context()), cs.Close())
		near(t, "second GET", m.times("GET")[1]-10*time.Second, backoffMin)
	})
}

// When a session is renewed, nobody listens to the one before any more.
func TestHTTPListenRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended journal
		m := mockServer(t, slices.Concat(opened(1, "a", Revision20251125), []step{{"GET id=a rev=2025-11-25", func(w http.ResponseWriter, r *http.Request) {
			eventReply(": hi\n\n", hang)(w, r)
			ended.add("old stream ended")
		}}}, forgotten(ping(2)), opened(3, "b", Revision20251125), []step{
			{"GET id=b rev=2025-11-25", eventReply(": hi\n\n", hang)}, {of("POST", "b", Revision20251125) + ping(4), jsonReply(pong(4))}, parting("b", Revision20251125)})...)
		tr := m.transport()
		tr.NoListen = false
		cs := m.connect(tr, nil)
		must(t, cs.Ping(t.Context()))
		synctest.Wait()
		want(t, "events", &ended, "old stream ended")
		must(t, cs.Close())
	})
}

// BUG-106: a server that keeps the stream open after the answer keeps neither the call
// nor Close waiting, over HTTP/1.1 and HTTP/2; the stream is closed soon after.
//
// EDGE-189
func TestBUG106StreamStaysOpen(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var left journal
			post := of("POST", "abc", Revision20251125)
			var start time.Time
			open := func(id int) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					want(t, "HTTP/2", r.ProtoMajor == 2, http2)
					eventReply("data: "+pong(id)+"\n\n", hang)(w, r)
					left.add("%d left after %v", id, time.Since(start))
				}
			}
			m := mockServer(t, append(opened(1, "abc", Revision20251125), step{post + ping(2), open(2)}, step{post + ping(3), open(3)}, parting("abc", Revision20251125))...)
			tr := m.transport()
			protocols := &http.Protocols{}
			protocols.SetHTTP1(!http2)
			protocols.SetUnencryptedHTTP2(http2)
			tr.Client.Transport.(*http.Transport).Protocols = protocols
			cs := m.connect(tr, nil)
			start = time.Now()
			must(t, cs.Ping(t.Context()))
			want(t, "time passed", time.Since(start), time.Duration(0))
			time.Sleep(lingerTimeout)
			synctest.Wait()
			start = time.Now()
			must(t, cs.Ping(t.Context()), cs.Close())
			want(t, "time passed", time.Since(start), time.Duration(0))
			synctest.Wait()
			want(t, "streams", &left, "2 left after 1s; 3 left after 0s")
		})
	}
}

// BUG-107: bodies are read to their end, so that connections are used again.
func TestBUG107ConnectionsAreReused(t *testing.T) {
	var steps []step
	for id := 2; id < 102; id++ {
		steps = append(steps, step{of("POST", "abc", Revision20251125) + ping(id), eventReply("data: " + pong(id) + "\n\n")})
	}
	inSession(t, Revision20251125, nil, steps, func(ctx context.Context, m *mock, cs *ClientSession) {
		for range 100 {
			must(t, cs.Ping(ctx))
			synctest.Wait() // the end of the body may come after the answer
		}
		want(t, "connections", m.ln.dials.Load(), 1)
	})
}

// BUG-109: whatever success a server answers to a notification, and whatever body it
// adds, it has taken it.
//
// EDGE-192
func TestBUG109NotificationTaken(t *testing.T) {
	for _, answer := range []http.HandlerFunc{reply(200, "Content-Length: 0"), reply(204, ""), reply(200, "application/json", "{}"), reply(200, "text/html", "<html>"),
		eventReply("data: {}\n\n"), eventReply(": hi\n\n", hang), jsonReplyCut(pong(1))} {
		synctest.Test(t, func(t *testing.T) {
			steps := append(opened(1, "abc", Revision20251125), step{of("POST", "abc", Revision20251125) + ping(2), jsonReply(pong(2))}, parting("abc", Revision20251125))
			steps[1].answer = answer
			m := mockServer(t, steps...)
			cs := m.connect(m.transport(), nil)
			must(t, cs.Ping(t.Context()), cs.Close())
		})
	}
}

// BUG-112: the type of an answer may have parameters, or be missing; what is no answer
// is shown.
func TestBUG112ContentTypes(t *testing.T) {
	post := of("POST", "abc", Revision20251125)
	inSession(t, Revision20251125, nil, []step{
		{post + ping(2), reply(200, "", pong(2))},
		{post + ping(3), reply(200, "application/json; charset=utf-8", pong(3))},
		{post + ping(4), reply(200, "text/event-stream; charset=utf-8", "data: "+pong(4)+"\n\n")},
		{post + ping(5), reply(200, "text/html", "<html>Please log in</html>"+strings.Repeat("x", 1000))},
	}, func(ctx context.Context, m *mock, cs *ClientSession) {
		must(t, cs.Ping(ctx), cs.Ping(ctx), cs.Ping(ctx))
		checkError(t, "login page", cs.Ping(ctx), `mcp: ping: POST http://mcp.test/mcp: the server answered 200 OK (text/html): "<html>Please log in</html>`+strings.Repeat("x", excerptBytes-26)+`"`)
	})
}

// endless answers for ever.
func endless(status int, kind, begin, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, err := io.WriteString(w, begin)
		for err == nil {
			_, err = io.WriteString(w, strings.Repeat(text, 1000))
		}
	}
}

// Bodies without an end are not read to it.
//
// EDGE-198 EDGE-037
func TestHTTPEndlessBodies(t *testing.T) {
	post := of("POST", "abc", Revision20251125)
	for _, c := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{endless(200, "application/json", "", " "), "mcp: ping: an answer of more than 1000 bytes"},
		{endless(200, "application/json", pong(2), " "), "mcp: ping: an answer of more than 1000 bytes"},
		{endless(200, "text/event-stream", "", "data: x"), "mcp: ping: the stream broke off before the answer: a line of more than 1000 bytes"},
		{endless(200, "text/event-stream", "", "data: x\n"), "mcp: ping: the stream broke off before the answer: an event of more than 1000 bytes"},
		{endless(200, "text/event-stream", "", ":"), "mcp: ping: the stream broke off before the answer: a line of more than 1000 bytes"},
		{endless(200, "text/event-stream", "data: "+pong(2)+"\n\n", ":\n"), ""},
		{endless(200, "text/html", "", "x"), `mcp: ping: POST http://mcp.test/mcp: the server answered 200 OK (text/html): "` + strings.Repeat("x", excerptBytes) + `"`},
		{endless(500, "text/html", "", "x"), `mcp: ping: POST http://mcp.test/mcp: the server answered 500 Internal Server Error (text/html): "` + strings.Repeat("x", excerptBytes) + `"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, append(opened(1, "abc", Revision20251125), step{post + ping(2), c.answer}, step{post + ping(3), jsonReply(pong(3))}, parting("abc", Revision20251125))...)
			tr := m.transport()
			tr.MaxMessage = 1000
			cs := m.connect(tr, nil)
			checkError(t, "Ping", cs.Ping(t.Context()), c.want)
			must(t, cs.Ping(t.Context()), cs.Close())
		})
	}
}

type failure struct{ times int }

func (f *failure) Error() string { return fmt.Sprint("failure ", f.times) }

// A tripper is an http.RoundTripper that may fail.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// BUG-115: errors of the transport keep their type. Each costs its call, and never the
// session.
func TestBUG115TypedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, append(opened(1, "abc", Revision20251125), step{of("POST", "abc", Revision20251125) + ping(3), jsonReply(pong(3))}, parting("abc", Revision20251125))...)
		tr, fails := m.transport(), &failure{1}
		inner := tr.Client.Transport
		tr.Client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
			if fails != nil {
				return nil, fails
			}
			return inner.RoundTrip(r)
		})
		var got *failure
		if err := connectError(t, tr); !errors.As(err, &got) || got != fails {
			t.Errorf("Connect: %v", err)
		}
		fails = nil
		tr = &HTTPTransport{URL: tr.URL, Client: tr.Client, NoListen: true}
		cs := m.connect(tr, nil)
		fails = &failure{2}
		err := cs.Ping(t.Context())
		if !errors.As(err, &got) || got != fails {
			t.Errorf("Ping: %v", err)
		}
		checkError(t, "Ping", err, `mcp: ping: Post "http://mcp.test/mcp": failure 2`)
		fails = nil
		must(t, cs.Ping(t.Context()), cs.Close())
	})
}

// An HTTPError tells what came, and 401 is ErrUnauthorized.
func TestHTTPError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, step{"POST " + initializeBody(1), reply(401, "text/html\nWWW-Authenticate: Bearer x", "<html>")})
		err := connectError(t, m.transport())
		var e *HTTPError
		if !errors.Is(err, ErrUnauthorized) || !errors.As(err, &e) {
			t.Fatalf("Connect: %v", err)
		}
		want(t, "error", []any{e.Method, e.URL, e.Status, e.ContentType, e.Body, e.Header.Get("WWW-Authenticate")}, "[POST http://mcp.test/mcp 401 text/html <html> Bearer x]")
		want(t, "403", errors.Is(&HTTPError{Status: 403}, ErrUnauthorized), false)
	})
}

// BUG-116: a session lives on when the context of Connect ends. If that ends before,
// Connect returns and nothing is left.
func TestBUG116ConnectContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got journal
		m := mockServer(t, append(opened(1, "abc", Revision20251125),
			step{"GET id=abc rev=2025-11-25", eventReply(": hi\n\n", wait, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n\n", hang)},
			step{of("POST", "abc", Revision20251125) + ping(2), jsonReply(pong(2))}, parting("abc", Revision20251125))...)
		tr := m.transport()
		tr.NoListen = false
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, &ClientOptions{LoggingMessage: func(_ context.Context, _ *ClientSession, p *LoggingMessageParams) { got.add("%s", p.Data) }}).Connect(ctx, tr)
		must(t, err)
		cancel()
		must(t, cs.Ping(t.Context()))
		time.Sleep(11 * time.Second)
		want(t, "notifications", &got, "1")
		must(t, cs.Close())
	})
	for silent, steps := range map[string][]step{
		"initialize":  {{"POST " + initializeBody(1), untilGone}},
		"the answer":  {{"POST " + initializeBody(1), reply(200, "application/json", "{", hang)}},
		"initialized": {opened(1, "abc", Revision20251125)[0], {of("POST", "abc", Revision20251125) + initializedBody, untilGone}, parting("abc", Revision20251125)},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, steps...)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(ctx, m.transport())
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(m.start) != 2*time.Second {
				t.Errorf("%s: Connect: %v after %v", silent, err, time.Since(m.start))
			}
		})
	}
}

// BUG-211: Close does not wait longer than two seconds for the end of the session to be
// taken, and once only.
func TestBUG211CloseIsBounded(t *testing.T) {
	for _, answer := range []http.HandlerFunc{untilGone, reply(200, "text/html", "bye", hang)} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, append(opened(1, "abc", Revision20251125), step{"DELETE id=abc rev=2025-11-25", answer})...)
			cs := m.connect(m.transport(), nil)
			must(t, cs.Close())
			if took := time.Since(m.start); took == 0 || took > partTimeout {
				t.Errorf("Close took %v", took)
			}
			must(t, cs.Close())
		})
	}
}

// BUG-212: each session is deleted once, none where there is no id, and nothing stays
// open.
//
// BASE-246 BASE-247
func TestBUG212Deleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deleted, sessions atomic.Int32
		ln := listenMemory()
		serveMemory(t, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case r.Method == http.MethodDelete:
				deleted.Add(1)
				reply([]int{200, 204, 405}[deleted.Load()%3], "text/plain", "")(w, r)
			case strings.Contains(string(body), methodInitialize+`"`):
				header := "application/json"
				if n := sessions.Add(1); n <= 1000 {
					header += fmt.Sprint("\nMcp-Session-Id: ", n)
				}
				reply(200, header, initializeAnswer(1, Revision20251125))(w, r)
			case r.Method == http.MethodPost:
				reply(202, "")(w, r)
			default:
				reply(405, "text/plain", "no")(w, r)
			}
		}))
		c := sessionClient(&Implementation{Name: "c", Version: "0"}, nil)
		for range 1001 {
			cs, err := c.Connect(t.Context(), &HTTPTransport{URL: "http://mcp.test/mcp", Client: ln.client()})
			must(t, err)
			must(t, cs.Close())
			synctest.Wait()
			if n := ln.open.Load(); n != 0 {
				t.Fatalf("%d connections are open", n)
			}
		}
		want(t, "deleted", deleted.Load(), 1000)
	})
}

// The URL must be one, and a transport has one session.
func TestHTTPTransportRefused(t *testing.T) {
	for _, u := range []string{"", "mcp.test/mcp", "ftp://mcp.test", "http:///mcp", "http://a b"} {
		checkError(t, u, connectError(t, &HTTPTransport{URL: u}), "mcp: the URL of an HTTPTransport must be an absolute http or https URL")
	}
	inSession(t, Revision20251125, nil, nil, func(ctx context.Context, m *mock, cs *ClientSession) {
		tr := m.transport()
		m.steps = append(opened(1, "", Revision20251125), m.steps...)
		other := m.connect(tr, nil)
		checkError(t, "again", connectError(m.t, tr), "mcp: this HTTPTransport belongs to another session")
		must(t, other.Close())
	})
}

// An oldStream is the stream of a server of HTTP+SSE: first is its first event, the
// others are sent by the answers to POSTs.
type oldStream struct {
	first string
	lines chan string // closed to end the stream
}

func newOldStream(first string) *oldStream { return &oldStream{first, make(chan string, 10)} }

func (s *oldStream) get(w http.ResponseWriter, r *http.Request) {
	eventReply(s.first)(w, r)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// answer answers a POST, and says something on the stream.
func (s *oldStream) answer(status int, body, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		reply(status, "text/plain", body)(w, r)
		if message != "" {
			s.lines <- "event: message\ndata: " + message + "\n\n"
		}
	}
}

// BUG-122: a server that answers the first POST as one that does not know Streamable
// HTTP is spoken to over HTTP+SSE, at the endpoint that it names.
//
// BASE-269 BASE-273 BASE-274 BASE-275 BASE-279 EDGE-203 EDGE-205 C-08
func TestBUG122Fallback(t *testing.T) {
	for _, answer := range []http.HandlerFunc{reply(405, ""), reply(404, "text/html", "<html>no</html>"), reply(400, ""),
		reply(405, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Method not allowed."},"id":null}`)} {
		for _, endpoint := range []string{"/messages?sessionId=1", "messages?sessionId=1", "http://mcp.test:80/messages?sessionId=1"} {
			synctest.Test(t, func(t *testing.T) {
				s := newOldStream(": hi\n\nid: 1\nevent: endpoint\ndata: " + endpoint + "\n\n")
				const post = "POST /messages?sessionId=1 "
				m := mockServer(t,
					step{"POST " + initializeBody(1), answer}, step{"GET", s.get},
					step{post + initializeBody(1), s.answer(202, "Accepted", initializeAnswer(1, Revision20241105))},
					step{post + initializedBody, s.answer(200, "", "")},
					step{post + ping(2), s.answer(204, "", pong(2))},
					step{post + ping(3), s.answer(200, "{}", `{"jsonrpc":"2.0","id":"s","method":"ping"}`)},
					step{post + `{"jsonrpc":"2.0","id":"s","result":{}}`, s.answer(202, "", pong(3))},
					step{post + ping(4), s.answer(400, "no", "")},
					step{post + ping(5), s.answer(404, "no", "")},
					step{post + ping(6), s.answer(202, "", "")},
					step{post + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6,"reason":"mcp: ping: context deadline exceeded"}}`, s.answer(202, "", "")},
					step{post + ping(7), func(w http.ResponseWriter, r *http.Request) { reply(202, "")(w, r); close(s.lines) }},
				)
				tr := m.transport()
				tr.NoListen = false
				cs := m.connect(tr, nil)
				ctx := t.Context()
				want(t, "revision", cs.Revision(), Revision20241105)
				must(t, cs.Ping(ctx), cs.Ping(ctx))
				at := "mcp: ping: POST http://mcp.test"
				if strings.HasPrefix(endpoint, "http") {
					at += ":80"
				}
				checkError(t, "400", cs.Ping(ctx), at+`/messages: the server answered 400 Bad Request (text/plain): "no"`)
				checkError(t, "404", cs.Ping(ctx), at+`/messages: the server answered 404 Not Found (text/plain): "no"`)
				short, cancel := context.WithTimeout(ctx, time.Second)
				checkError(t, "given up", cs.Ping(short), "mcp: ping: context deadline exceeded")
				cancel()
				synctest.Wait()
				checkError(t, "end", cs.Ping(ctx), "mcp: connection closed: the stream has ended: EOF")
				checkError(t, "over", cs.Wait(), "mcp: connection closed: the stream has ended: EOF")
				must(t, cs.Close())
			})
		}
	}
}

// Other answers to the first POST are errors, and no GET follows; nor does it after an
// answer of the protocol.
//
// BASE-276 BASE-277 C-08
func TestHTTPNoFallback(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{401, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 401 Unauthorized (application/json)"},
		{403, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 403 Forbidden (application/json)"},
		{406, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 406 Not Acceptable (application/json)"},
		{409, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 409 Conflict (application/json)"},
		{415, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 415 Unsupported Media Type (application/json)"},
		{429, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 429 Too Many Requests (application/json)"},
		{500, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 500 Internal Server Error (application/json)"},
		{503, "", "mcp: initialize: POST http://mcp.test/mcp: the server answered 503 Service Unavailable (application/json)"},
		{400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`, "mcp: the server supports only revisions 2026-07-28: no (code -32022)"},
		{404, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, "mcp: initialize: no (code -32601)"},
		{405, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`, "mcp: initialize: no (code -32000)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, step{"POST " + initializeBody(1), reply(c.status, "application/json", c.body)})
			checkError(t, fmt.Sprint(c.status, c.body), connectError(t, m.transport()), c.want)
		})
	}
}

// BUG-118: what is no stream of HTTP+SSE is told beside what Streamable HTTP got.
//
// EDGE-203 EDGE-204 AUTH-209 HOSTILE-52
func TestBUG118NoOldTransport(t *testing.T) {
	const refusal = `mcp: initialize: POST http://mcp.test/mcp: the server answered 405 Method Not Allowed; HTTP+SSE is not there either: `
	for _, c := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{reply(401, "text/html", "<html>"), `GET http://mcp.test/mcp: the server answered 401 Unauthorized (text/html): "<html>"`},
		{reply(500, ""), `GET http://mcp.test/mcp: the server answered 500 Internal Server Error`},
		{reply(200, "text/html", "<html>", hang), `GET http://mcp.test/mcp: the server answered 200 OK (text/html): "<html>"`},
		{eventReply("data: {}\n\n", hang), `the first event is "message", want endpoint`},
		{eventReply("event: endpoint\ndata: http://other.test/messages?x=secret\n\n", hang), `the endpoint http://other.test/messages has another origin`},
		{eventReply("event: endpoint\ndata: https://mcp.test/messages\n\n", hang), `the endpoint https://mcp.test/messages has another origin`},
		{eventReply("event: endpoint\ndata: /messages\n"), `unexpected EOF`},
		{eventReply(": hi\n\n", cut), `unexpected EOF`},
		{eventReply("event: endpoint\ndata: http://%zz\n\n"), `the endpoint is no URL`},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, step{"POST " + initializeBody(1), reply(405, "")}, step{"GET", c.answer})
			err := connectError(t, m.transport())
			checkError(t, "Connect", err, refusal+c.want)
			want(t, "unauthorized", errors.Is(err, ErrUnauthorized), strings.Contains(c.want, "401"))
		})
	}
}

// BUG-119: Connect ends when its context does, though a server never says where to POST.
func TestBUG119SilentOldServer(t *testing.T) {
	for _, silent := range []http.HandlerFunc{untilGone, eventReply(": hi\n\n", hang), eventReply("event: endpoint\n", hang)} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, step{"POST " + initializeBody(1), reply(405, "")}, step{"GET", silent})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(ctx, m.transport())
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(m.start) != 3*time.Second {
				t.Errorf("Connect: %v after %v", err, time.Since(m.start))
			}
		})
	}
}

// A server may let go of the connection as often as it likes, and a proxy cut it
// whenever nothing is said for a minute: the call goes on.
//
// BASE-263 BASE-265
func TestHTTPPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(&Implementation{Name: "test", Version: "1"}, nil)
		addTool(t, s, "poll", func(ctx context.Context, r *Request) (string, error) {
			for range 20 {
				must(t, r.Pause(time.Second))
				time.Sleep(1100 * time.Millisecond)
			}
			return "done", nil
		})
		addTool(t, s, "slow", func(ctx context.Context, r *Request) (string, error) { time.Sleep(time.Hour); return "done", nil })
		h, ln, gets := &HTTPHandler{Server: s}, listenMemory(), atomic.Int32{}
		serveMemory(t, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
			defer cancel()
			if r.Method == http.MethodGet {
				gets.Add(1)
			}
			h.ServeHTTP(w, r.WithContext(ctx))
		}))
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, &ClientOptions{Timeout: -1, MaxTimeout: -1}).Connect(t.Context(), &HTTPTransport{URL: "http://mcp.test/mcp", Client: ln.client(), NoListen: true})
		must(t, err)
		for i, tool := range []string{"poll", "slow"} {
			r, err := cs.CallTool(t.Context(), tool, nil)
			must(t, err)
			want(t, "result", r.Content[0].(*TextContent).Text, "done")
			want(t, "GETs", gets.Swap(0), []int32{20, 59}[i])
		}
		must(t, cs.Close(), h.Shutdown(t.Context()))
	})
}

// cutDial dials ln through a proxy that cuts each connection, both ways at once, after
// some number of bytes.
func cutDial(ln *memoryListener, bytes func() int64) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		far, err := ln.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ours, near := net.Pipe()
		var left atomic.Int64
		left.Store(bytes())
		carry := func(to, from net.Conn) { // ends when either end is closed, or the bytes are used up
			defer near.Close()
			defer far.Close()
			buf := make([]byte, 512)
			for {
				n, err := from.Read(buf)
				after := left.Add(int64(-n))
				if _, writeErr := to.Write(buf[:n+int(min(0, max(after, int64(-n))))]); after <= 0 || err != nil || writeErr != nil {
					return
				}
			}
		}
		go carry(far, near)
		go carry(near, far)
		return ours, nil
	}
}

// Between client and server connections are cut at random, over and over. What is
// promised: a call of which the client had got any event gets its result, and each of
// its notifications, exactly once and in order. A call that was cut before that fails
// with an error that says so, and gets nothing; the server runs it once or not at all,
// for the client does not send it twice.
//
// BASE-256 BASE-257 BASE-258 EDGE-132 EDGE-134
func TestHTTPCutConnections(t *testing.T) {
	const calls, notes, atOnce = 1000, 5, 8
	synctest.Test(t, func(t *testing.T) {
		var ran, got [calls]atomic.Int32
		s := NewServer(&Implementation{Name: "test", Version: "1"}, nil)
		must(t, AddTool(s, &Tool{Name: "count"}, func(ctx context.Context, r *Request, in struct {
			N int `json:"n"`
		}) (string, error) {
			ran[in.N].Add(1)
			for i := range notes {
				must(t, r.Notify(ctx, "notifications/test/count", map[string]int{"n": in.N, "i": i}))
				time.Sleep(10 * time.Millisecond) // virtual
			}
			return fmt.Sprint("counted ", in.N), nil
		}))
		ln, resumed := listenMemory(), atomic.Int32{}
		h := &HTTPHandler{Server: s, MaxEvents: 64 << 20}
		serveMemory(t, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(headerEvent) != "" {
				resumed.Add(1)
			}
			h.ServeHTTP(w, r)
		}))
		random, mu, calm := rand.New(rand.NewPCG(1, 2)), sync.Mutex{}, atomic.Bool{}
		calm.Store(true) // while the session is opened
		client := &http.Client{Transport: &http.Transport{DialContext: cutDial(ln, func() int64 {
			mu.Lock()
			defer mu.Unlock()
			if calm.Load() {
				return 3000
			}
			return 300 + random.Int64N(4000)
		})}}
		opts := &ClientOptions{Notification: func(_ context.Context, _ *ClientSession, method string, params json.RawMessage) {
			var p struct{ N, I int }
			must(t, json.Unmarshal(params, &p))
			if i := got[p.N].Add(1) - 1; int(i) != p.I || method != "notifications/test/count" {
				t.Errorf("call %d: notification %d is %s %d", p.N, i, method, p.I)
			}
		}}
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), &HTTPTransport{URL: "http://mcp.test/mcp", Client: client, MaxTries: 50})
		must(t, err)
		calm.Store(false)

		var failed atomic.Int32
		work, all := make(chan int), sync.WaitGroup{}
		for range atOnce {
			all.Go(func() {
				for n := range work {
					r, err := cs.CallTool(t.Context(), "count", map[string]int{"n": n})
					if err != nil {
						failed.Add(1)
						want(t, fmt.Sprintf("call %d (%v): notifications", n, err), got[n].Load(), 0)
						if !strings.HasPrefix(err.Error(), "mcp: tools/call: ") || !errors.As(err, new(*url.Error)) && !errors.Is(err, io.ErrUnexpectedEOF) {
							t.Errorf("call %d: %v", n, err)
						}
						if ran[n].Load() > 1 {
							t.Errorf("call %d ran %d times", n, ran[n].Load())
						}
						continue
					}
					want(t, "result", r.Content[0].(*TextContent).Text, fmt.Sprint("counted ", n))
					want(t, fmt.Sprintf("call %d: notifications", n), got[n].Load(), notes)
					want(t, fmt.Sprintf("call %d: ran", n), ran[n].Load(), 1)
				}
			})
		}
		for n := range calls {
			work <- n
		}
		close(work)
		all.Wait()
		must(t, cs.Close(), h.Shutdown(t.Context()))
		t.Logf("%d connections, %d of %d calls failed, %d resumptions", ln.dials.Load(), failed.Load(), calls, resumed.Load())
		if failed.Load() > calls/2 || resumed.Load() < calls/10 {
			t.Error("the test did not test what it should")
		}
	})
}

// Connections that many calls at once have used are kept for the next ones, and closed
// with the session.
func TestHTTPConnectionsKept(t *testing.T) {
	const callers = 8
	for name, client := range map[string]*http.Client{"default": nil, "no transport": {}, "OAuth": {Transport: &OAuthTransport{}}} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup // callers that have not come yet
			s := newServer(t, nil)
			addTool(t, s, "meet", func(context.Context, *Request) (string, error) {
				all.Done()
				all.Wait()
				return "", nil
			})
			srv := httptest.NewUnstartedServer(&HTTPHandler{Server: s})
			idle, closed := make(chan struct{}, 100), make(chan struct{}, 100)
			var made atomic.Int32
			srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				switch state {
				case http.StateNew:
					made.Add(1)
				case http.StateClosed:
					closed <- struct{}{}
				}
			}
			srv.Start()
			defer srv.Close()
			expect := func(n int, what string, ch <-chan struct{}) {
				t.Helper()
				for range n {
					select {
					case <-ch:
					case <-time.After(10 * time.Second):
						t.Fatal("not all connections are ", what)
					}
				}
			}
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{PutIdleConn: func(error) { idle <- struct{}{} }})
			cs, err := NewClient(&Implementation{Name: "c", Version: "1"}, nil).Connect(ctx, &HTTPTransport{URL: srv.URL, Client: client})
			must(t, err)
			expect(1, "idle", idle)
			for range 3 {
				all.Add(callers)
				var calls sync.WaitGroup
				for range callers {
					calls.Go(func() {
						if _, err := cs.CallTool(ctx, "meet", nil); err != nil {
							t.Error(err)
						}
					})
				}
				calls.Wait()
				expect(callers, "idle", idle)
			}
			want(t, "connections made", made.Load(), callers)
			must(t, cs.Close())
			expect(callers, "closed", closed)
		})
	}
}

// What http.DefaultTransport is, at the time, counts: no limit there is none here, and
// neither does it keep what that does not.
func TestSharedTransport(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	for _, c := range []struct{ all, perHost, want int }{{100, 2, 100}, {100, 0, 100}, {1, 2, 2}, {0, 2, math.MaxInt}, {100, -1, -1}, {0, -1, -1}} {
		d := before.(*http.Transport).Clone()
		d.MaxIdleConns, d.MaxIdleConnsPerHost = c.all, c.perHost
		http.DefaultTransport = d
		got := sharedTransport().(*http.Transport)
		want(t, "connections kept", got.MaxIdleConnsPerHost, c.want)
		want(t, "the next one", sharedTransport(), http.RoundTripper(got))
		want(t, "limit of http.DefaultTransport", d.MaxIdleConnsPerHost, c.perHost)
	}
	other := &OAuthTransport{Base: before}
	http.DefaultTransport = other
	want(t, "transport", sharedTransport(), http.RoundTripper(other))
}

// A session over HTTP/2 that ends just when a call was given up may leave its connection
// open, on which the call still counts; but the next session then takes it.
func TestHTTP2ConnectionsAreFew(t *testing.T) {
	s := newServer(t, nil)
	addTool(t, s, "stay", func(ctx context.Context, _ *Request) (string, error) { <-ctx.Done(); return "", nil })
	srv := httptest.NewUnstartedServer(&HTTPHandler{Server: s})
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	var open atomic.Int32
	d := before.(*http.Transport).Clone()
	d.TLSClientConfig = &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	d.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedConn{c, sync.OnceFunc(func() { open.Add(-1) })}, nil
	}
	http.DefaultTransport = d
	for name, client := range map[string]*http.Client{"default": nil, "OAuth": {Transport: &OAuthTransport{}}} {
		for range 20 {
			cs, err := NewClient(&Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), &HTTPTransport{URL: srv.URL, Client: client})
			must(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			_, err = cs.CallTool(ctx, "stay", nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: CallTool: %v", name, err)
			}
			must(t, cs.Close())
			if n := open.Load(); n > 1 {
				t.Fatalf("%s: %d connections are open", name, n)
			}
		}
	}
	sharedTransport().(*http.Transport).CloseIdleConnections()
}
