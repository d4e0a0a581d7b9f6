package mcp

import (

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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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

var _ = []any{cmp.Or[int], json.Marshal, errors.Is, iter.Seq[int](nil), rand.N[int], httptest.NewServer, reflect.DeepEqual}
