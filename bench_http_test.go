//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// The floor over HTTP is a bare net/http server with one json.Unmarshal and one
// json.Marshal. A client of few means sends the same bytes to both, so that the
// figures, which are of client and server together, differ by the server.

// A rawCaller is one connection to a server over HTTP.
type rawCaller struct {
	conn   net.Conn
	in     *bufio.Reader
	header string // what its requests have beside the headers of all
}

// The call of a tool, in the session era and in the stateless one.
const (
	sessionCall   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":{"progressToken":7}}}`
	statelessCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":{"progressToken":7,` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// dialRaw opens a session, or if a tool is named, stands ready for calls of it. header
// is what each request has beyond the usual headers.
func dialRaw(b *testing.B, url, tool, header string) *rawCaller {
	b.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	must(b, err)
	b.Cleanup(func() { conn.Close() })
	c := &rawCaller{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), header: header}
	if tool != "" {
		c.header += "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: " + tool + "\r\n"
		return c
	}
	resp := c.post(b, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
	c.header += "Mcp-Session-Id: " + resp.Header.Get(headerSession) + "\r\n"
	c.post(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// post sends a message and reads the whole answer.
func (c *rawCaller) post(b *testing.B, body string) *http.Response {
	_, err := fmt.Fprintf(c.conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"%sContent-Length: %d\r\n\r\n%s", c.header, len(body), body)
	if err != nil {
		b.Error(err)
		return &http.Response{}
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		b.Error(err)
		return &http.Response{}
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp
}

// floorHandler answers calls of echo, big and progress.
func floorHandler(big string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var call floorCall
		if err != nil || json.Unmarshal(data, &call) != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		text := "hello"
		switch call.Params.Name {
		case "big":
			text = big
		case "progress":
			w.Header().Set("Content-Type", typeEvents)
			for i := range 100 {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,\"progress\":%d,\"total\":100}}\n\n", i+1)
				_ = http.NewResponseController(w).Flush()
			}
		}
		answer, _ := json.Marshal(&floorAnswer{JSONRPC: "2.0", ID: call.ID, Result: floorResult{Content: []floorText{{"text", text}}}})
		if call.Params.Name == "progress" {
			fmt.Fprintf(w, "data: %s\n\n", answer)
			return
		}
		w.Header().Set("Content-Type", typeJSON)
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		_, _ = w.Write(answer)
	}
}

func BenchmarkHTTP(b *testing.B) {
	big := strings.Repeat("x", 1<<20)
	server := func() *Server {
		s := benchServer(b)
		must(b, AddTool(s, &Tool{Name: "progress"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
			for i := range 100 {
				if err := r.Progress(ctx, float64(i+1), 100, ""); err != nil {
					return "", err
				}
			}
			return "done", nil
		}))
		return s
	}
	handlers := map[string]http.Handler{
		"floor":     floorHandler(big),
		"mcp":       &HTTPHandler{Server: server()},
		"stateless": &HTTPHandler{Server: server()},
		"events":    &HTTPHandler{Server: server(), EventsOnly: true},
		"alone":     &HTTPHandler{Server: server(), Sessionless: true},
	}
	for _, s := range []struct {
		name, tool, args string
		callers          int
	}{
		{"echo-1", "echo", `{"text":"hello"}`, 1}, {"echo-16", "echo", `{"text":"hello"}`, 16}, {"echo-64", "echo", `{"text":"hello"}`, 64},
		{"big", "big", `{}`, 1}, {"progress", "progress", `{}`, 1},
	} {
		for _, name := range sortedKeys(handlers) {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				srv := httptest.NewServer(handlers[name])
				defer srv.Close()
				callers := make([]*rawCaller, s.callers)
				call, tool := sessionCall, ""
				if name == "stateless" {
					call, tool = statelessCall, s.tool
				}
				for i := range callers {
					callers[i] = dialRaw(b, srv.URL, tool, "")
				}
				body := fmt.Sprintf(call, s.tool, s.args)
				measured(b, func() { callAll(b, callers, body) })
			})
		}
	}
}

// Both ends are this package's.
func BenchmarkHTTPClient(b *testing.B) {
	for name, revs := range map[string][]string{"mcp": sessionRevisions(), "stateless": nil} {
		for _, scenario := range []string{"echo", "echo64"} {
			b.Run(scenario+"/"+name, func(b *testing.B) {
				srv := httptest.NewServer(&HTTPHandler{Server: benchServer(b)})
				defer srv.Close()
				cs, err := NewClient(&Implementation{Name: "c", Version: "1"}, &ClientOptions{Revisions: revs}).Connect(b.Context(), &HTTPTransport{URL: srv.URL})
				must(b, err)
				runCalls(b, scenario, sessionCaller(cs))
				must(b, cs.Close())
			})
		}
	}
}

// callAll makes b.N calls, shared by the callers.
func callAll(b *testing.B, callers []*rawCaller, body string) {
	var all sync.WaitGroup
	for i, c := range callers {
		n := b.N / len(callers)
		if i < b.N%len(callers) {
			n++
		}
		all.Go(func() {
			for range n {
				if resp := c.post(b, body); resp.StatusCode != http.StatusOK {
					b.Errorf("status %d", resp.StatusCode)
					return
				}
			}
		})
	}
	all.Wait()
}

// The raw caller sees what a client should.
func TestRawCaller(t *testing.T) {
	rec := httptest.NewRecorder()
	floorHandler("")(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(callText)))
	if got, want := rec.Body.String(), `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello"}]}}`; got != want {
		t.Errorf("got %s, want %s", bytes.TrimSpace(rec.Body.Bytes()), want)
	}
}
