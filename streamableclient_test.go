package mcp

import (
	"bytes"

	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
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
// request is its method, the session id, the revision and the last event's id where
// there are such headers, and its body:
//
//	POST id=abc rev=2025-06-18 {"jsonrpc":"2.0","id":2,"method":"ping"}
//	GET id=abc last=7
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
	m := &mock{t: t, start: time.Now(), ln: listenMemory(t), steps: steps}
	serveMemory(t, m.ln, m)
	t.Cleanup(func() {
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

// heard returns the requests that came, one a line.
func (m *mock) heard() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.said, "\n")
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
	cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(m.t.Context(), tr)
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
}

func listenMemory(t *testing.T) *memoryListener {
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
		return ours, nil
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
// BASE-241 BASE-246 EDGE-128
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
// EDGE-178 EDGE-179 EDGE-184 EDGE-185 EDGE-187 EDGE-191 EDGE-193 EDGE-194 EDGE-195 BASE-232
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
		case field == "id" && !strings.Contains(value, "\x00"):
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

// Giving up is told by a POST, and then the stream is closed, even if the server does
// not take that POST.
//
// EDGE-200
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
// BASE-245 EDGE-120 EDGE-125
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
		checkError(t, "error", cs.Ping(ctx), "mcp: ping: "+gone+`mcp: initialize: no (code -5)`)
		checkError(t, "400", cs.Ping(ctx), gone+`mcp: initialize: POST http://mcp.test/mcp: the server answered 400 Bad Request`)
		checkError(t, "initialized", cs.Ping(ctx), gone+`mcp: sending notifications/initialized: POST http://mcp.test/mcp: the server answered 500 Internal Server Error`)
		checkError(t, "at last", cs.Ping(ctx), "mcp: ping: the server has ended the session")
		must(t, cs.Close())
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
// EDGE-124
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
			_, err := NewClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), m.transport())
			checkError(t, "Connect", err, c.want)
		})
	}
}

var _ = []any{cmp.Or[int], json.Marshal, errors.Is, iter.Seq[int](nil), rand.N[int], httptest.NewServer, reflect.DeepEqual}
