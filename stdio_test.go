package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	openingLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	openedLine  = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`
	startedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listLine    = `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
	listedLine  = `{"jsonrpc":"2.0","id":9,"result":{"tools":[]}}`
)

// emptyServer offers tools but has none.
func emptyServer() *Server {
	return NewServer(&Implementation{Name: "s", Version: "1"}, &ServerOptions{HasTools: true, NoLogging: true})
}

// How lines are framed, and what is forgiven.
//
// BASE-162 BASE-164 EDGE-074 EDGE-075 EDGE-076 EDGE-079 EDGE-233
func TestFraming(t *testing.T) {
	long := strings.Repeat(" ", 200<<10)
	for name, said := range map[string]string{
		"LF":               openingLine + "\n" + startedLine + "\n" + listLine + "\n",
		"no LF at the end": openingLine + "\n" + startedLine + "\n" + listLine,
		"CR LF":            openingLine + "\r\n" + startedLine + "\r\n" + listLine + "\r\n",
		"blank lines":      "\n" + openingLine + "\n\n\r\n  \t \n" + startedLine + "\n\n" + listLine + "\n \n",
		"white space":      " \t" + openingLine + "\t \n\t" + startedLine + " \r\n" + long + listLine + long + "\n",
		"byte order mark":  "\xEF\xBB\xBF" + openingLine + "\n" + startedLine + "\n" + listLine + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			want(t, "answers", answers(t, emptyServer(), said), []string{openedLine, listedLine})
		})
	}
}

// BUG-001: a line that is not JSON costs one line.
func TestBUG001LineNotJSON(t *testing.T) {
	want(t, "answers", answers(t, emptyServer(), openingLine+"\n"+startedLine+"\n{this is not json\n"+listLine+"\n"), []string{openedLine,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: want a name in quotes at byte 1"}}`, listedLine})
}

// BUG-002: CR before LF is white space; we write LF alone.
func TestBUG002CRLF(t *testing.T) {
	want(t, "answers", answers(t, emptyServer(), openingLine+"\r\n"+startedLine+"\r\n"+listLine+"\r\n"), []string{openedLine, listedLine})
}

// BUG-004: a byte order mark at the start is skipped; elsewhere it costs a line.
//
// EDGE-033
func TestBUG004ByteOrderMark(t *testing.T) {
	const mark = "\xEF\xBB\xBF"
	want(t, "answers", answers(t, emptyServer(), mark+openingLine+"\n"+mark+startedLine+"\n"+listLine+"\n"), []string{openedLine,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error: not JSON at byte 0"}}`, listedLine})
}

// BUG-007: a blank line is no message.
func TestBUG007BlankLines(t *testing.T) {
	want(t, "answers", answers(t, emptyServer(), "\n"+openingLine+"\n\n\r\n"+startedLine+"\n"+listLine+"\n"), []string{openedLine, listedLine})
}

// BUG-008: a line may be long.
//
// EDGE-233
func TestBUG008LongLine(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 5<<16) // 5 MiB
	talk(t, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		r, err := cs.CallTool(ctx, "long", nil)
		if err != nil || r.Content[0].(*TextContent).Text != text {
			t.Errorf("got %d bytes, %v", len(fmt.Sprint(r)), err)
		}
	}), welcome("2025-06-18")+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"long"}}
		> {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`+text+`"}]}}
	`)
}

// limited is the subject with lines of at most limit bytes.
func limited(limit int, subject func(context.Context, Conn)) func(context.Context, Conn) {
	return func(ctx context.Context, c Conn) {
		l := c.(*lines)
		subject(ctx, Lines(l.r, l.w, limit))
	}
}

// BUG-010: what is too long costs one call, whether it is alive or not.
//
// EDGE-036
func TestBUG010LineTooLong(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	talk(t, limited(1<<20, use(t, nil, func(ctx context.Context, cs *ClientSession) {
		var fe *FrameError
		if err := cs.Ping(ctx); !errors.As(err, &fe) || err.Error() != "mcp: unreadable message: more than 1048576 bytes" {
			t.Errorf("got %v", err)
		}
		if err := cs.Ping(ctx); err != nil {
			t.Error(err)
		}
	})), welcome("2025-06-18")+`
		< {"jsonrpc":"2.0","id":2,"method":"ping"}
		> {"jsonrpc":"2.0","id":2,"result":{"x":"`+long+`"}}
		< {"jsonrpc":"2.0","id":3,"method":"ping"}
		> {"jsonrpc":"2.0","id":2,"result":{"x":"`+long+`"}}
		> {"x":"`+long+`","jsonrpc":"2.0","id":3,"result":{}}
		> {"jsonrpc":"2.0","id":3,"result":{}}
	`)
}

// A line over the limit costs a server one message, too; one that is no line any more
// ends the connection. The limit counts without the line's end.
//
// EDGE-036
func TestServerLineTooLong(t *testing.T) {
	const limit = 200
	pad := func(head string, size int) string { return head + strings.Repeat(" ", size-len(head)-1) + "}" }
	tooLong := func(id string) string {
		return `{"jsonrpc":"2.0",` + id + `"error":{"code":-32600,"message":"unreadable message: more than 200 bytes"}}`
	}
	talk(t, limited(limit, serve(emptyServer())), `
		> `+pad(`{"jsonrpc":"2.0","id":1,"method":"ping"`, limit)+`
		< {"jsonrpc":"2.0","id":1,"result":{}}
		> `+pad(`{"jsonrpc":"2.0","id":2,"method":"ping"`, limit+1)+`
		< `+tooLong(`"id":2,`)+`
		> `+pad(`{"method":"ping","jsonrpc":"2.0","id":"3"`, 10*limit)+`
		< `+tooLong(`"id":"3",`)+`
		> `+pad(`{"jsonrpc":"2.0","method":"ping","params":{"x":1}`, 10*limit)+`
		< `+tooLong("")+`
		> `+pad(`[{"jsonrpc":"2.0","id":5,"method":"ping"}`, 10*limit)+`
		< `+tooLong("")+`
		> {"jsonrpc":"2.0","id":6,"method":"ping"}
		< {"jsonrpc":"2.0","id":6,"result":{}}
	`)
	talk(t, func(ctx context.Context, c Conn) {
		want(t, "Run", emptyServer().Run(ctx, Lines(c.(*lines).r, c.(*lines).w, limit)), "a line of more than 3200 bytes")
	}, "> "+strings.Repeat("x", 17*limit))
	// without an end, at the end of input
	r := Lines(io.NopCloser(strings.NewReader(strings.Repeat("x", 20))), nil, 10)
	_, err := r.Read()
	want(t, "Read", err, "mcp: unreadable message: more than 10 bytes")
	_, err = r.Read()
	want(t, "Read", err, "EOF")
}

// BUG-011: the end of input ends the last line.
func TestBUG011NoNewlineAtEnd(t *testing.T) {
	want(t, "answers", answers(t, emptyServer(), openingLine+"\n"+startedLine+"\n"+listLine), []string{openedLine, listedLine})
}

// BUG-013: what many say at once leaves line by line.
//
// BASE-165 EDGE-083
func TestBUG013WritesAtOnce(t *testing.T) {
	text := strings.Repeat("x", 64<<10)
	synctest.Test(t, func(t *testing.T) {
		toServer, say := io.Pipe()
		hear, toClient := io.Pipe()
		var served sync.WaitGroup
		served.Go(func() {
			server := Lines(toServer, toClient, 0)
			_, _ = server.Read()
			_ = server.Write([]byte(openedLine))
			for range 51 { // initialized, and the calls
				line, err := server.Read()
				if err != nil || !json.Valid(line) {
					t.Errorf("%.60s %v", line, err)
					return
				}
				m := parseFrame(line).messages[0]
				if m.kind == requestMessage {
					_ = server.Write([]byte(`{"jsonrpc":"2.0","id":` + m.id.text + `,"result":{"content":[]}}`))
				}
			}
		})
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), &ConnTransport{Conn: Lines(hear, say, 0)})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := cs.CallTool(t.Context(), "echo", map[string]string{"text": text}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		served.Wait()
		_ = cs.Close()
	})
}

// At the end of input what runs may still answer, for half a second; then it is
// cancelled, and may answer for another half.
//
// BASE-110 EDGE-086
func TestEndOfInput(t *testing.T) {
	s := NewServer(&Implementation{Name: "s", Version: "1"}, &ServerOptions{NoLogging: true})
	wait := func(d time.Duration, honest bool) func(context.Context, *Request) (string, error) {
		return func(ctx context.Context, _ *Request) (string, error) {
			if !honest {
				ctx = context.WithoutCancel(ctx)
			}
			select {
			case <-time.After(d):
				return "done", nil
			case <-ctx.Done():
				return fmt.Sprint(context.Cause(ctx)), nil
			}
		}
	}
	addTool(t, s, "quick", wait(400*time.Millisecond, true))
	addTool(t, s, "slow", wait(time.Hour, true))
	addTool(t, s, "deaf", wait(4*time.Second, false))
	call := func(id int, name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}`+"\n", id, name)
	}
	want(t, "answers", answers(t, s, openingLine+"\n"+call(2, "quick")+call(3, "slow")+call(4, "deaf")), []string{openedLine,
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"mcp: connection closed: EOF"}]}}`})
}

// A transport serves one session.
//
// BUG-236 BASE-178
func TestBUG236TransportTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		var served sync.WaitGroup
		served.Go(func() { _ = emptyServer().Run(context.Background(), b) })
		transport := &ConnTransport{Conn: a}
		client := sessionClient(&Implementation{Name: "c", Version: "0"}, nil)
		cs, err := client.Connect(t.Context(), transport)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Connect(t.Context(), transport)
		want(t, "the second", err, "mcp: this ConnTransport was used before")
		if err := cs.Ping(t.Context()); err != nil {
			t.Errorf("the first: %v", err)
		}
		_ = cs.Close()
		served.Wait()
		_, err = client.Connect(t.Context(), &ConnTransport{})
		want(t, "without a Conn", err, "mcp: ConnTransport without a Conn")
	})
}

// The package's messages go over any Conn.
//
// BASE-175 BASE-176
func TestCustomConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		var watched journal
		var served sync.WaitGroup
		served.Go(func() { _ = emptyServer().Run(context.Background(), b) })
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), &ConnTransport{Conn: &watchedConn{a, &watched}})
		if err != nil {
			t.Fatal(err)
		}
		if err := cs.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		_ = cs.Close()
		served.Wait()
		want(t, "messages", &watched, strings.Join([]string{
			`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`,
			`< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`,
			`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`> {"jsonrpc":"2.0","id":2,"method":"ping"}`,
			`< {"jsonrpc":"2.0","id":2,"result":{}}`}, "; "))
	})
}

// A watchedConn writes down what goes over a Conn.
type watchedConn struct {
	Conn
	j *journal
}

func (c *watchedConn) Read() ([]byte, error) {
	m, err := c.Conn.Read()
	if err == nil {
		c.j.add("< %s", m)
	}
	return m, err
}

func (c *watchedConn) Write(messages ...[]byte) error {
	for _, m := range messages {
		c.j.add("> %s", m)
	}
	return c.Conn.Write(messages...)
}

// A deafConn can be neither read nor interrupted.
type deafConn struct{ release chan struct{} }

func (c *deafConn) Read() ([]byte, error) { <-c.release; return nil, io.EOF }
func (c *deafConn) Write(...[]byte) error { <-c.release; return nil }
func (c *deafConn) Close() error          { return nil }

// A Conn that breaks its contract cannot hold up the end of a session for ever.
func TestConnThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &deafConn{make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := emptyServer().Run(ctx, c)
		want(t, "Run", err, "context deadline exceeded\nmcp: the connection's Close, Read or Write does not return")
		if took := time.Since(start); took > time.Second+closeLimit+2*inputGrace {
			t.Errorf("took %v", took)
		}
		start = time.Now()
		client := sessionClient(&Implementation{Name: "c", Version: "0"}, &ClientOptions{Timeout: time.Second})
		_, err = client.Connect(t.Context(), &ConnTransport{Conn: c})
		want(t, "Connect", err, "mcp: initialize: neither answer nor progress for 1s\nmcp: the connection's Close, Read or Write does not return")
		if took := time.Since(start); took > time.Second+closeLimit+2*inputGrace {
			t.Errorf("took %v", took)
		}
		close(c.release)
	})
}
