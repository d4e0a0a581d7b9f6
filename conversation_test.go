package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A conversation is what is said to a peer and what must come back, byte for byte:
//
//	> {...}   is said to the peer under test
//	< {...}   is what it must say next
//	~ {...}   likewise; a run of such lines may come in any order
//	. 5s      lets so much time pass
//	$         ends the input of the peer
//	# text    is a comment
//
// Wherever the peer is not expected to speak, it must be silent, and all that it says
// must fit the official schema of the revision that was agreed on. Conversations run
// in a bubble (testing/synctest): nothing waits for real, and at the end no
// goroutine may be left. A requestState, which is never the same twice, is written "#1",
// the next one "#2".
//
// subject is given the peer's end of the connection; it runs until the input ends.
func talk(t *testing.T, subject func(ctx context.Context, c Conn), script string) {
	t.Helper()
	said := &transcript{}
	synctest.Test(t, func(t *testing.T) {
		toPeer, say := io.Pipe()
		hear, fromPeer := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { subject(ctx, Lines(toPeer, fromPeer, 0)) })
		all.Go(func() { said.record(hear) })

		for n, line := range strings.Split(script, "\n") {
			verb, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch verb {
			case "", "#":
			case ">":
				said.silent(t, n)
				text = said.states.fill(text)
				said.log(false, text)
				if _, err := io.WriteString(say, text+"\n"); err != nil {
					t.Errorf("line %d: the peer does not read: %v", n+1, err)
				}
			case "<":
				said.expect(t, n, text, false)
			case "~":
				said.expect(t, n, text, true)
			case ".":
				said.silent(t, n)
				d, err := time.ParseDuration(text)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(d) // virtual
			case "$":
				said.silent(t, n)
				say.Close()
			default:
				t.Fatalf("line %d: unknown verb %q", n+1, verb)
			}
		}
		said.silent(t, strings.Count(script, "\n"))
		say.Close()
		all.Wait()
	})
	for _, problem := range wireProblems(t, said.all) {
		t.Error(problem)
	}
}

// serve is the subject for a server.
func serve(s *Server) func(context.Context, Conn) {
	return func(ctx context.Context, c Conn) { _ = s.Run(ctx, c) }
}

// A transcript is what the peer under test has said and nobody has looked at.
type transcript struct {
	mu      sync.Mutex // guards the fields below
	lines   []string
	anyhow  []string // expected lines that may still come in any order
	started int
	all     []wireLine
	states  stateBook
}

// A stateBook knows each requestState that was seen.
type stateBook struct {
	mu   sync.Mutex // guards seen
	seen []string
}

var stateMember = regexp.MustCompile(`"requestState":"([^"]*)"`)

// mask writes the number of each requestState that a server gives in its place. Who
// brings one back must bring what was given.
func (b *stateBook) mask(text string) string {
	if !strings.Contains(text, `"resultType":"input_required"`) {
		return text
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return stateMember.ReplaceAllStringFunc(text, func(member string) string {
		state := stateMember.FindStringSubmatch(member)[1]
		n := slices.Index(b.seen, state)
		if n < 0 {
			n, b.seen = len(b.seen), append(b.seen, state)
		}
		return fmt.Sprintf(`"requestState":"#%d"`, n+1)
	})
}

// fill is the reverse; what stands behind the number stays there.
func (b *stateBook) fill(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, state := range b.seen {
		text = strings.ReplaceAll(text, fmt.Sprintf(`"requestState":"#%d`, n+1), `"requestState":"`+state)
	}
	return text
}

// A wireLine is a line that went over the wire.
type wireLine struct {
	fromSubject bool // the peer under test said it
	text        string
}

func (tr *transcript) log(fromSubject bool, text string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.all = append(tr.all, wireLine{fromSubject, text})
}

func (tr *transcript) record(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			tr.log(true, strings.TrimSuffix(line, "\n"))
			tr.mu.Lock()
			tr.lines = append(tr.lines, tr.states.mask(strings.TrimSuffix(line, "\n")))
			tr.mu.Unlock()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
				panic(err)
			}
			return
		}
	}
}

// silent checks that nothing was said that was not expected.
func (tr *transcript) silent(t *testing.T, n int) {
	t.Helper()
	synctest.Wait()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.matchAnyhow(t, n)
	for _, line := range tr.lines {
		t.Errorf("before line %d: unexpected: %s", n+1, line)
	}
	tr.lines = nil
}

func (tr *transcript) expect(t *testing.T, n int, want string, anyhow bool) {
	t.Helper()
	synctest.Wait()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if anyhow {
		tr.anyhow = append(tr.anyhow, want)
		tr.started = n
		return
	}
	tr.matchAnyhow(t, n)
	if len(tr.lines) == 0 {
		t.Errorf("line %d: nothing was said, want:\n  %s", n+1, want)
		return
	}
	if got := tr.lines[0]; got != want {
		t.Errorf("line %d: got:\n  %s\nwant:\n  %s", n+1, got, want)
	}
	tr.lines = tr.lines[1:]
}

// matchAnyhow takes the lines that were expected in any order.
func (tr *transcript) matchAnyhow(t *testing.T, n int) {
	t.Helper()
	for len(tr.anyhow) > 0 && len(tr.lines) > 0 {
		i := slices.Index(tr.anyhow, tr.lines[0])
		if i < 0 {
			t.Errorf("before line %d: got:\n  %s\nwant one of:\n  %s", n+1, tr.lines[0], strings.Join(tr.anyhow, "\n  "))
			i = 0
		}
		tr.anyhow = slices.Delete(tr.anyhow, i, i+1)
		tr.lines = tr.lines[1:]
	}
	for _, want := range tr.anyhow {
		t.Errorf("line %d: nothing was said, want:\n  %s", tr.started+1, want)
	}
	tr.anyhow = nil
}

// hello opens a session at a revision, with a client's capabilities. The server
// must be one of testServer's, without options.
func hello(rev, caps string) string {
	return `> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + rev + `","capabilities":` + caps + `,"clientInfo":{"name":"t","version":"0"}}}
< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"` + rev + `","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
`
}

type echoInput struct {
	Text string `json:"text"`
}

// testServer has the tools of the field cases: echo, slow (waits until it is
// cancelled, at most an hour), ask (a form with one string, "name") and boom (panics).
func testServer(t testing.TB, opts *ServerOptions) *Server {
	t.Helper()
	s := NewServer(&Implementation{Name: "test", Version: "1"}, opts)
	add := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add(AddTool(s, &Tool{Name: "echo"}, func(_ context.Context, _ *Request, in echoInput) (string, error) { return in.Text, nil }))
	add(AddTool(s, &Tool{Name: "slow"}, func(ctx context.Context, _ *Request, _ struct{}) (string, error) {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(time.Hour):
			return "slept", nil
		}
	}))
	add(AddTool(s, &Tool{Name: "ask"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
		answer, err := r.Elicit(ctx, &ElicitParams{Message: "Who?", RequestedSchema: &FormSchema{
			Properties: Properties{{"name", &PrimitiveSchema{Type: "string"}}}, Required: []string{"name"}}})
		if err != nil {
			return "", err
		}
		return answer.Action + string(answer.Content), nil
	}))
	add(AddTool(s, &Tool{Name: "boom"}, func(context.Context, *Request, struct{}) (string, error) { panic("boom") }))
	return s
}

// BASE-070 BASE-077 BASE-155 E1.10
func TestConversation(t *testing.T) {
	for _, rev := range sessionRevisions() {
		t.Run(rev, func(t *testing.T) {
			talk(t, serve(testServer(t, nil)), hello(rev, "{}")+`
				> {"jsonrpc":"2.0","id":1,"method":"ping"}
				< {"jsonrpc":"2.0","id":1,"result":{}}
				> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}
				< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi"}]}}
				> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}
				. 3600s
				< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"slept"}]}}
			`)
		})
	}
}

// sessionRevisions are the revisions that open with initialize, newest first.
func sessionRevisions() []string { return Revisions()[1:] }

// sessionClient is NewClient for conversations of the session era, where opts do not
// say more.
func sessionClient(info *Implementation, opts *ClientOptions) *Client {
	o := ClientOptions{}
	if opts != nil {
		o = *opts
	}
	if o.Revisions == nil {
		o.Revisions = sessionRevisions()
	}
	return NewClient(info, &o)
}
