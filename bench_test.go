//go:build unix

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Each benchmark stands beside its floor: the same bytes moved the same way, with one
// json.Marshal and one json.Unmarshal on each side and nothing of the protocol.

// cpuTime is what the process has used of all processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measured runs the loop of a benchmark and reports its time of CPU and allocations.
func measured(b *testing.B, loop func()) {
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuTime(b)
	loop()
	used := cpuTime(b) - start
	b.StopTimer()
	b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
}

const callText = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{"progressToken":17}}}`

func BenchmarkEnvelopeParse(b *testing.B) {
	data := []byte(callText)
	b.Run("mcp", func(b *testing.B) {
		measured(b, func() {
			for range b.N {
				f := parseFrame(data)
				var p CallToolParams
				if f.bad != nil || decode(f.messages[0].params, &p) != nil {
					b.Fatal("not parsed")
				}
			}
		})
	})
	b.Run("floor", func(b *testing.B) {
		measured(b, func() {
			for range b.N {
				var c floorCall
				if err := json.Unmarshal(data, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func BenchmarkEnvelopeWrite(b *testing.B) {
	b.Run("mcp", func(b *testing.B) {
		result := &CallToolResult{Content: []Content{&TextContent{Text: "hello"}}}
		measured(b, func() {
			for range b.N {
				buf, err := encodeResult(ID{"17"}, result, newest)
				if err != nil {
					b.Fatal(err)
				}
				buf.free()
			}
		})
	})
	b.Run("floor", func(b *testing.B) {
		answer := floorAnswer{JSONRPC: "2.0", ID: 17, Result: floorResult{Content: []floorText{{"text", "hello"}}}}
		measured(b, func() {
			for range b.N {
				if _, err := json.Marshal(&answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// benchServer echoes, lists 1000 tools, and has a result of 1 MiB.
func benchServer(b *testing.B) *Server {
	s := newServer(b, nil)
	must(b, AddTool(s, &Tool{Name: "echo"}, func(_ context.Context, _ *Request, in echoInput) (string, error) { return in.Text, nil }))
	big := strings.Repeat("x", 1<<20)
	must(b, AddTool(s, &Tool{Name: "big"}, func(context.Context, *Request, struct{}) (string, error) { return big, nil }))
	for _, t := range benchTools {
		must(b, s.AddTool(&Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema},
			func(context.Context, *Request, *CallToolParams) (*CallToolResult, error) { return nil, nil }))
	}
	return s
}

var benchTools = func() (tools []floorTool) {
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	for i := range 998 {
		tools = append(tools, floorTool{fmt.Sprintf("tool-%03d", i), "A tool that does what its name says", schema})
	}
	return tools
}()

// A caller makes one call of a scenario, in the protocol or on the floor.
type caller func(ctx context.Context, scenario string) error

func sessionCaller(cs *ClientSession) caller {
	return func(ctx context.Context, scenario string) error {
		if scenario == "list" {
			r, err := cs.ListTools(ctx, nil)
			if err == nil && len(r.Tools) != 1000 {
				err = fmt.Errorf("%d tools", len(r.Tools))
			}
			return err
		}
		var args any
		if scenario == "echo" {
			args = echoInput{"hello"}
		}
		r, err := cs.CallTool(ctx, scenario, args)
		if err == nil && r.IsError {
			err = fmt.Errorf("tool error %q", r.Text())
		}
		return err
	}
}

// ends connects a client and a server.
var ends = map[string]func(b *testing.B) (server, client func() Conn, raw [2]io.ReadWriteCloser){
	"pipe": func(*testing.B) (server, client func() Conn, raw [2]io.ReadWriteCloser) {
		s, c := Pipe()
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		return func() Conn { return s }, func() Conn { return c }, [2]io.ReadWriteCloser{&duplexEnds{r1, w2}, &duplexEnds{r2, w1}}
	},
	"iopipe": func(*testing.B) (server, client func() Conn, raw [2]io.ReadWriteCloser) {
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		return func() Conn { return Lines(r1, w2, 0) }, func() Conn { return Lines(r2, w1, 0) }, [2]io.ReadWriteCloser{&duplexEnds{r1, w2}, &duplexEnds{r2, w1}}
	},
	"ospipe": func(b *testing.B) (server, client func() Conn, raw [2]io.ReadWriteCloser) {
		r1, w1, err1 := os.Pipe()
		r2, w2, err2 := os.Pipe()
		must(b, err1, err2)
		return func() Conn { return Lines(r1, w2, 0) }, func() Conn { return Lines(r2, w1, 0) }, [2]io.ReadWriteCloser{&duplexEnds{r1, w2}, &duplexEnds{r2, w1}}
	},
}

type duplexEnds struct {
	io.ReadCloser
	w io.WriteCloser
}

func (d *duplexEnds) Write(p []byte) (int, error) { return d.w.Write(p) }
func (d *duplexEnds) Close() error                { _ = d.w.Close(); return d.ReadCloser.Close() }

func BenchmarkCalls(b *testing.B) {
	for _, scenario := range []string{"echo", "list", "big", "echo64"} {
		for _, over := range []string{"pipe", "iopipe", "ospipe"} {
			for name, revs := range map[string][]string{"mcp": sessionRevisions(), "stateless": nil} {
				b.Run(scenario+"/"+over+"/"+name, func(b *testing.B) {
					server, client, _ := ends[over](b)
					var all sync.WaitGroup
					s := benchServer(b)
					c := server()
					all.Go(func() { _ = s.Run(context.Background(), c) })
					cs, err := NewClient(&Implementation{Name: "c", Version: "1"}, &ClientOptions{Revisions: revs}).Connect(b.Context(), &ConnTransport{Conn: client()})
					must(b, err)
					runCalls(b, scenario, sessionCaller(cs))
					must(b, cs.Close())
					all.Wait()
				})
			}
			b.Run(scenario+"/"+over+"/floor", func(b *testing.B) {
				_, _, raw := ends[over](b)
				f := newFloor(raw[0], raw[1])
				runCalls(b, scenario, f.call)
				f.close()
			})
		}
	}
}

func runCalls(b *testing.B, scenario string, call caller) {
	ctx := context.Background()
	must(b, call(ctx, strings.TrimSuffix(scenario, "64")))
	if scenario != "echo64" {
		measured(b, func() {
			for range b.N {
				if err := call(ctx, scenario); err != nil {
					b.Fatal(err)
				}
			}
		})
		return
	}
	work := make(chan struct{}, 64)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range work {
				if err := call(ctx, "echo"); err != nil {
					b.Error(err)
				}
			}
		})
	}
	measured(b, func() {
		for range b.N {
			work <- struct{}{}
		}
		close(work)
		all.Wait()
	})
}

// What the floor says.
type (
	floorCall struct {
		JSONRPC string      `json:"jsonrpc"`
		ID      int         `json:"id"`
		Method  string      `json:"method"`
		Params  floorParams `json:"params"`
	}
	floorParams struct {
		Name      string    `json:"name"`
		Arguments floorArgs `json:"arguments"`
	}
	floorArgs struct {
		Text string `json:"text"`
	}
	floorAnswer struct {
		JSONRPC string      `json:"jsonrpc"`
		ID      int         `json:"id"`
		Result  floorResult `json:"result"`
	}
	floorResult struct {
		Content []floorText `json:"content,omitempty"`
		Tools   []floorTool `json:"tools,omitempty"`
	}
	floorText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	floorTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
)

// A floor is a client and a server with nothing of the protocol.
type floor struct {
	conn io.ReadWriteCloser
	all  sync.WaitGroup

	writing sync.Mutex // guards out
	out     *bufio.Writer

	mu      sync.Mutex // guards the fields below
	last    int
	waiting map[int]chan floorResult
}

func newFloor(server, client io.ReadWriteCloser) *floor {
	f := &floor{conn: client, out: bufio.NewWriter(client), waiting: map[int]chan floorResult{}}
	f.all.Go(func() { floorServer(server) })
	f.all.Go(f.read)
	return f
}

func floorServer(conn io.ReadWriteCloser) {
	defer conn.Close()
	in, out := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)
	big := strings.Repeat("x", 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		var c floorCall
		if err != nil || json.Unmarshal(line, &c) != nil {
			return
		}
		answer := floorAnswer{JSONRPC: "2.0", ID: c.ID}
		switch c.Params.Name {
		case "list":
			answer.Result.Tools = benchTools
		case "big":
			answer.Result.Content = []floorText{{"text", big}}
		default:
			answer.Result.Content = []floorText{{"text", c.Params.Arguments.Text}}
		}
		data, _ := json.Marshal(&answer)
		_, _ = out.Write(append(data, '\n'))
		if out.Flush() != nil {
			return
		}
	}
}

func (f *floor) read() {
	in := bufio.NewReaderSize(f.conn, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		var a floorAnswer
		if err != nil || json.Unmarshal(line, &a) != nil {
			return
		}
		f.mu.Lock()
		ch := f.waiting[a.ID]
		delete(f.waiting, a.ID)
		f.mu.Unlock()
		ch <- a.Result
	}
}

func (f *floor) call(_ context.Context, scenario string) error {
	ch := make(chan floorResult, 1)
	f.mu.Lock()
	f.last++
	id := f.last
	f.waiting[id] = ch
	f.mu.Unlock()
	data, err := json.Marshal(&floorCall{"2.0", id, "tools/call", floorParams{scenario, floorArgs{"hello"}}})
	if err != nil {
		return err
	}
	f.writing.Lock()
	_, _ = f.out.Write(append(data, '\n'))
	err = f.out.Flush()
	f.writing.Unlock()
	if err == nil {
		<-ch
	}
	return err
}

func (f *floor) close() {
	_ = f.conn.Close()
	f.all.Wait()
}

// BUG-223: a server for each request is cheap, because the schema of a type is derived
// once.
func BenchmarkBUG223Registration(b *testing.B) {
	measured(b, func() {
		for range b.N {
			s := newServer(b, nil)
			for i := range 100 {
				must(b, AddTool(s, &Tool{Name: benchTools[i].Name}, func(_ context.Context, _ *Request, in addInput) (sum, error) { return sum{in.A}, nil }))
			}
		}
	})
}
