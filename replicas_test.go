//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A sharedStore is a TaskStore that the test's process has and its replicas share. It
// answers storeCalls, of which Update is one that fails if the record was changed
// meanwhile, and is made again then.
type sharedStore struct{ tasks TaskStore }

type storeCall struct {
	Method, Owner, ID, Cursor string
	Version                   int64 // to wait for a newer one
	N                         int
	Record                    *TaskRecord // to create, or in place of the version before
}

type storeAnswer struct {
	Records []*TaskRecord
	Next    string
}

var errChanged = errors.New("changed meanwhile")

func (s sharedStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c storeCall
	var a storeAnswer
	var rec *TaskRecord
	err := json.NewDecoder(r.Body).Decode(&c)
	switch ctx := r.Context(); {
	case err != nil:
	case c.Method == "create":
		err = s.tasks.Create(ctx, c.Record)
	case c.Method == "update":
		rec, err = s.tasks.Update(ctx, c.Owner, c.ID, func(now *TaskRecord) error {
			if now.Version != c.Record.Version {
				return errChanged
			}
			*now = *c.Record
			return nil
		})
	case c.Method == "wait":
		rec, err = s.tasks.Wait(ctx, c.Owner, c.ID, c.Version)
	default:
		a.Records, a.Next, err = s.tasks.List(ctx, c.Owner, c.Cursor, c.N)
	}
	switch {
	case errors.Is(err, ErrNoTask):
		w.WriteHeader(http.StatusNotFound)
	case errors.Is(err, errChanged):
		w.WriteHeader(http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		if rec != nil {
			a.Records = []*TaskRecord{rec}
		}
		_ = json.NewEncoder(w).Encode(&a)
	}
}

// A remoteStore is the sharedStore at a URL.
type remoteStore string

func (s remoteStore) call(ctx context.Context, c *storeCall) (*storeAnswer, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(s), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	a := &storeAnswer{}
	switch {
	case err != nil:
	case resp.StatusCode == http.StatusNotFound:
		err = ErrNoTask
	case resp.StatusCode == http.StatusConflict:
		err = errChanged
	case resp.StatusCode != http.StatusOK:
		err = fmt.Errorf("the store answers %s: %s", resp.Status, data)
	default:
		err = json.Unmarshal(data, a)
	}
	return a, err
}

func (s remoteStore) Create(ctx context.Context, t *TaskRecord) error {
	_, err := s.call(ctx, &storeCall{Method: "create", Record: t})
	return err
}

func (s remoteStore) Update(ctx context.Context, owner, id string, change func(*TaskRecord) error) (*TaskRecord, error) {
	for {
		rec, err := s.Wait(ctx, owner, id, -1)
		if err == nil {
			err = change(rec)
		}
		if err != nil {
			return nil, err
		}
		a, err := s.call(ctx, &storeCall{Method: "update", Owner: owner, ID: id, Record: rec})
		if err == nil {
			return a.Records[0], nil
		}
		if !errors.Is(err, errChanged) {
			return nil, err
		}
	}
}

func (s remoteStore) Wait(ctx context.Context, owner, id string, after int64) (*TaskRecord, error) {
	a, err := s.call(ctx, &storeCall{Method: "wait", Owner: owner, ID: id, Version: after})
	if err != nil {
		return nil, err
	}
	return a.Records[0], nil
}

func (s remoteStore) List(ctx context.Context, owner, cursor string, n int) ([]*TaskRecord, string, error) {
	a, err := s.call(ctx, &storeCall{Method: "list", Owner: owner, Cursor: cursor, N: n})
	if err != nil {
		return nil, "", err
	}
	return a.Records, a.Next, nil
}

// A replica is a server in a process of its own.
type replica struct {
	name, addr string
	cmd        *exec.Cmd
	killed     bool

	out    bool // could not be reached; guarded by roundRobin.mu, as are those below
	flying int  // requests that it has
	served int  // requests that it got
}

// startReplicas starts replicas a, b and c, which share a key and a task store, and end
// with the test, without an error.
func startReplicas(t *testing.T) []*replica {
	store := httptest.NewServer(sharedStore{NewTaskStore()})
	t.Cleanup(store.Close)
	var all []*replica
	for _, name := range []string{"a", "b", "c"} {
		cmd := command("replica", "MCP_TEST_REPLICA="+name, "MCP_TEST_STORE="+store.URL).Command
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		cmd.Stderr = os.Stderr
		must(t, cmd.Start())
		r := &replica{name: name, cmd: cmd}
		t.Cleanup(func() {
			in.Close()
			if err := cmd.Wait(); !r.killed {
				want(t, "the end of "+name, err, nil)
			}
		})
		line, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
		r.addr = strings.TrimSpace(line)
		all = append(all, r)
	}
	return all
}

// kill ends the process, and returns when it is dead.
func (r *replica) kill(t *testing.T) {
	must(t, r.cmd.Process.Kill())
	r.killed = true
	_ = r.cmd.Wait()
}

// serveReplica is the process of a replica: it prints its address, and ends with its
// stdin.
func serveReplica() {
	name := os.Getenv("MCP_TEST_REPLICA")
	s := NewServer(&Implementation{Name: name, Version: "1"}, &ServerOptions{
		StateKeys: [][]byte{[]byte("a key that all replicas have")},
		Subscribe: func(context.Context, *Request, string) error { return nil },
		Tasks:     TaskOptions{Store: remoteStore(os.Getenv("MCP_TEST_STORE")), PollInterval: 20 * time.Millisecond},
	})
	err := addReplicaTools(s, name)
	l, lerr := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, lerr); err == nil {
		fmt.Println(l.Addr())
		ctx, end := context.WithCancel(context.Background())
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); end() }() // ends with the process
		err = (&HTTPHandler{Server: s, SessionPrefix: name + "-", AllowedHosts: []string{"mcp.example.com"}}).Serve(ctx, l, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		os.Exit(1)
	}
}

type wording struct {
	Text string `json:"text"`
}

func addReplicaTools(s *Server, name string) error {
	ask := func(ctx context.Context, r *Request, in wording) (string, error) {
		first, err := r.Ask(ctx, Question{Name: "first", Elicit: replicaForm("first " + name)})
		if err != nil {
			return "", err
		}
		second, err := r.Ask(ctx, Question{Name: "second", Elicit: replicaForm("second " + name)})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s %s %s", in.Text, first[0].Elicit.Content, second[0].Elicit.Content, name), nil
	}
	return errors.Join(
		s.AddResourceTemplate(&ResourceTemplate{Name: "any", URITemplate: "test:{n}"}, func(_ context.Context, _ *Request, p *ReadResourceParams) (*ReadResourceResult, error) {
			return nil, ResourceNotFound(p.URI)
		}),
		AddTool(s, &Tool{Name: "echo"}, func(_ context.Context, _ *Request, in wording) (string, error) { return in.Text, nil }),
		AddTool(s, &Tool{Name: "where"}, func(context.Context, *Request, struct{}) (string, error) { return name, nil }),
		AddTool(s, &Tool{Name: "ask"}, ask),
		AddTool(s, &Tool{Name: "job", Execution: &ToolExecution{TaskSupport: "required"}}, ask),
		AddTool(s, &Tool{Name: "touch"}, func(_ context.Context, _ *Request, in wording) (string, error) {
			s.ResourceUpdated(in.Text)
			return in.Text, nil
		}),
		AddTool(s, &Tool{Name: "hold"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
			if err := r.Progress(ctx, 0, 0, name); err != nil {
				return "", err
			}
			<-ctx.Done()
			return "", ctx.Err()
		}))
}

func replicaForm(message string) *ElicitParams {
	return &ElicitParams{Message: message, RequestedSchema: &FormSchema{Properties: Properties{{"name", &PrimitiveSchema{Type: "string"}}}, Required: []string{"name"}}}
}

// An asked is what the tools that ask say: in which replica they asked, and ended.
type asked struct {
	n                  int
	first, second, end string
}

func parseAsked(text string) (a asked, err error) {
	_, err = fmt.Sscanf(text, `%d {"name":"first %1s"} {"name":"second %1s"} %1s`, &a.n, &a.first, &a.second, &a.end)
	return a, err
}

// roundRobin is what a proxy sends its requests with: each to the next replica. One that
// cannot be reached has not begun: the request goes to the next one, and no other
// comes to it from then on.
type roundRobin struct {
	transport http.RoundTripper

	mu   sync.Mutex // guards the fields below
	all  []*replica
	next int
}

// startProxy starts a reverse proxy in front of replicas.
func startProxy(t *testing.T, transport http.RoundTripper) (*roundRobin, string) {
	p := &roundRobin{transport: transport, all: startReplicas(t)}
	srv := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {},
		Transport: p,
		ErrorLog:  log.New(io.Discard, "", 0), // of what is broken off
	})
	t.Cleanup(srv.Close)
	return p, srv.URL
}

func (p *roundRobin) RoundTrip(in *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	for {
		to := p.take()
		if to == nil {
			return nil, errors.New("no replica is left")
		}
		out := in.Clone(in.Context())
		out.URL.Scheme, out.URL.Host, out.Host = "http", to.addr, to.addr
		out.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := p.transport.RoundTrip(out)
		if err == nil {
			resp.Body = &countedBody{resp.Body, func() { p.land(to, false) }}
			return resp, nil
		}
		refused := errors.Is(err, syscall.ECONNREFUSED)
		if p.land(to, refused); !refused {
			return nil, err
		}
	}
}

// A countedBody is a body that tells when it was closed.
type countedBody struct {
	io.ReadCloser
	over func()
}

func (f *countedBody) Close() error {
	f.over()
	return f.ReadCloser.Close()
}

// take finds the replica for a request; nil: there is none.
func (p *roundRobin) take() *replica {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.all {
		r := p.all[p.next]
		if p.next = (p.next + 1) % len(p.all); !r.out {
			r.flying++
			r.served++
			return r
		}
	}
	return nil
}

func (p *roundRobin) land(r *replica, out bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.flying--
	r.out = r.out || out
}

// kill kills a replica, and returns how many requests it had.
func (p *roundRobin) kill(t *testing.T, r *replica) (flying int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	flying = r.flying
	r.kill(t)
	return flying
}

// connectTo opens a client that answers forms with their message.
func connectTo(t *testing.T, rev string, transport *HTTPTransport, opts ClientOptions) *ClientSession {
	opts.Revisions = []string{rev}
	if opts.Elicit == nil {
		opts.Elicit = func(_ context.Context, _ *ClientSession, q *ElicitParams) (*ElicitResult, error) {
			return named(q), nil
		}
	}
	cs, err := NewClient(&Implementation{Name: "c", Version: "1"}, &opts).Connect(t.Context(), transport)
	must(t, err)
	t.Cleanup(func() { must(t, cs.Close()) })
	return cs
}

func named(q *ElicitParams) *ElicitResult {
	return &ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"` + q.Message + `"}`)}
}

// A replicaCaller makes one call at a time.
type replicaCaller struct {
	cs      *ClientSession
	home    string       // the replica of its session; "": it has none
	uri     string       // that its session follows
	updated chan string  // gets the URIs of updates
	renewed atomic.Int64 // how often its session was
}

// callers are some that share a client.
func callers(n int, cs *ClientSession) (list []*replicaCaller) {
	for range n {
		list = append(list, &replicaCaller{cs: cs})
	}
	return list
}

// manyCalls is how many calls have to succeed.
func manyCalls() int {
	if testing.Short() {
		return 500
	}
	return 10_000
}

// callMany has callers make calls, each of which must succeed.
func callMany(t *testing.T, calls int, callers []*replicaCaller) {
	var left atomic.Int64
	left.Store(int64(calls))
	var all sync.WaitGroup
	for _, c := range callers {
		all.Go(func() {
			for n := left.Add(-1); n >= 0 && !t.Failed(); n = left.Add(-1) {
				c.call(t, int(n))
			}
		})
	}
	all.Wait()
}

// call makes call n: most are plain, some ask twice, and some ask twice and are tasks.
// Where there is a session, some have something come that no request causes.
func (c *replicaCaller) call(t *testing.T, n int) {
	tool, text := "echo", fmt.Sprint(n)
	switch {
	case n%50 == 0:
		tool = "job"
	case n%5 == 0:
		tool = "ask"
	case n%10 == 1 && c.home != "":
		tool, text = "touch", c.uri
	}
	r, err := c.cs.CallTool(t.Context(), tool, wording{text})
	if err != nil {
		t.Errorf("%s %d: %v", tool, n, err)
		return
	}
	switch tool {
	case "ask", "job":
		a, err := parseAsked(r.Text())
		if err != nil || a.n != n || c.home != "" && a != (asked{n, c.home, c.home, c.home}) {
			t.Errorf("%s %d: %q, %v", tool, n, r.Text(), err)
		}
	case "touch":
		want(t, "update", <-c.updated, text)
		fallthrough
	default:
		want(t, tool, r.Text(), text)
	}
}

// killAmong has callers call, and hold a call each that does not end, while kill kills
// replica b. It returns how many calls were held there, which must fail, and how many
// others each caller lost.
func killAmong(t *testing.T, callers []*replicaCaller, kill func()) (held int, lost []int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := make(chan error, len(callers))
	for _, c := range callers {
		began := make(chan string, 1)
		go func() { // ends with ctx
			_, err := c.cs.With(CallOptions{Progress: func(p Progress) { began <- p.Message }}).CallTool(ctx, "hold", nil)
			ends <- err
		}()
		if <-began == "b" {
			held++
		}
	}
	const each = 100
	lost = make([]int, len(callers))
	var done atomic.Int64
	var all sync.WaitGroup
	for i, c := range callers {
		all.Go(func() {
			for range each {
				if _, err := c.cs.CallTool(t.Context(), "echo", wording{"x"}); err != nil {
					lost[i]++
				}
				if done.Add(1) == int64(each*len(callers)/2) {
					kill()
				}
			}
		})
	}
	all.Wait()
	for i := range callers {
		if i == held {
			cancel()
		}
		if err := <-ends; err == nil || errors.Is(err, context.Canceled) != (i >= held) {
			t.Errorf("a call that was held: %v", err)
		}
		if lost[i] > 1 {
			t.Errorf("one caller lost %d calls", lost[i])
		}
	}
	if held == 0 {
		t.Error("no call was held at b")
	}
	return held, lost
}

// TestReplicas has any process serve any request: rounds that ask, and tasks that do,
// go on at another one than they began.
//
// BASE-282 BASE-349 FEAT-354
func TestReplicas(t *testing.T) {
	p, url := startProxy(t, http.DefaultTransport)
	cs := connectTo(t, Revision20260728, &HTTPTransport{URL: url}, ClientOptions{})
	r, err := cs.CallTool(t.Context(), "ask", wording{"1"})
	must(t, err)
	a, err := parseAsked(r.Text())
	if must(t, err); a.first == a.second || a.second == a.end || a.end == a.first {
		t.Errorf("three rounds at %+v", a)
	}
	r, err = cs.CallTool(t.Context(), "job", wording{"1"})
	must(t, err)
	a, err = parseAsked(r.Text())
	if must(t, err); a.first != a.second || a.second != a.end {
		t.Errorf("a task moved: %+v", a)
	}
	callMany(t, manyCalls(), callers(8, cs))
	for _, r := range p.all { // three requests for a call that asks, which is one of five
		if r.out || r.served < manyCalls()*14/10/3 {
			t.Errorf("%s got %d requests, out: %v", r.name, r.served, r.out)
		}
	}
}

// TestReplicaDies kills a process, which costs the requests that it has and the tasks
// that it works at. What others have to do with what it began goes on.
func TestReplicaDies(t *testing.T) {
	// A connection that waits for the next request would be lost, too.
	p, url := startProxy(t, &http.Transport{DisableKeepAlives: true})
	half := askHalf(t, url)
	cs := connectTo(t, Revision20260728, &HTTPTransport{URL: url}, ClientOptions{})
	flying := 0
	failed, lost := killAmong(t, callers(8, cs), func() { flying = p.kill(t, p.all[1]) })
	for _, n := range lost {
		failed += n
	}
	if failed > flying {
		t.Errorf("%d calls failed, of %d that were at b", failed, flying)
	}
	want(t, "b is out", p.all[1].out, true)
	half()
}

// askHalf begins six calls that ask and six tasks that do, two each at each of three
// replicas. What is returned answers them when b is dead, and looks how they end.
func askHalf(t *testing.T, url string) (end func()) {
	questions, dead := make(chan string, 24), make(chan struct{})
	cs := connectTo(t, Revision20260728, &HTTPTransport{URL: url}, ClientOptions{
		Elicit: func(_ context.Context, _ *ClientSession, q *ElicitParams) (*ElicitResult, error) {
			questions <- q.Message
			<-dead
			return named(q), nil
		}})
	type ending struct {
		task string // its id; "": no task
		r    *CallToolResult
		err  error
	}
	ends := make(chan ending)
	begun := func() {
		n := map[string]int{}
		for range 6 {
			n[<-questions]++
		}
		want(t, "questions", n, map[string]int{"first a": 2, "first b": 2, "first c": 2})
	}
	for range 6 {
		go func() { r, err := cs.CallTool(t.Context(), "ask", wording{"1"}); ends <- ending{"", r, err} }() // is waited for
	}
	begun()
	tasks := map[string]*ClientTask{}
	for range 6 {
		task, _, err := cs.StartTool(t.Context(), "job", wording{"1"}, 0)
		must(t, err)
		tasks[task.ID] = task
	}
	for id, task := range tasks {
		go func() { r, err := task.Result(t.Context()); ends <- ending{id, r, err} }() // likewise
	}
	begun()
	return func() {
		close(dead)
		ended := map[string]int{}
		for range 10 {
			e := <-ends
			must(t, e.err)
			a, err := parseAsked(e.r.Text())
			must(t, err)
			if a.second == "b" || a.end == "b" || e.task != "" && (a.second != a.first || a.end != a.first) {
				t.Errorf("ended at %+v", a)
			}
			ended[fmt.Sprint(a.first, " ", e.task != "")]++
			delete(tasks, e.task)
		}
		want(t, "ended", ended, map[string]int{"a false": 2, "b false": 2, "c false": 2, "a true": 2, "c true": 2})
		for id := range tasks { // nobody works at them, but they can be cancelled
			lost := cs.Task(id)
			eventually(t, "the question is answered", func() bool {
				now, err := lost.Get(t.Context())
				must(t, err)
				return now.Status == TaskWorking
			})
			must(t, lost.Cancel(t.Context()))
			if e := <-ends; e.task != id || !errors.As(e.err, new(*CancelledError)) {
				t.Errorf("cancelled: %+v", e)
			}
		}
	}
}
