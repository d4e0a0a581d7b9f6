package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// replicas are servers behind a proxy that sends each request to the next one, and to
// the one after it if that cannot be reached.
type replicas struct {
	servers []*httptest.Server
	hosts   []string
	next    atomic.Int64
	forth   http.RoundTripper
	asked   atomic.Int64 // requests that came
	proxy   *httptest.Server
}

// newReplicas starts n replicas that share a key and a task store.
func newReplicas(t *testing.T, n int) *replicas {
	p, store := &replicas{forth: http.DefaultTransport}, NewTaskStore()
	for i := range n {
		s := NewServer(&Implementation{Name: fmt.Sprint("replica ", i), Version: "1"}, &ServerOptions{
			StateKeys: [][]byte{[]byte("a key that all replicas have")},
			Tasks:     TaskOptions{Store: store, PollInterval: 20 * time.Millisecond}})
		addReplicaTools(t, s)
		h := &HTTPHandler{Server: s}
		srv := httptest.NewServer(h)
		p.servers = append(p.servers, srv)
		p.hosts = append(p.hosts, strings.TrimPrefix(srv.URL, "http://"))
		t.Cleanup(func() {
			srv.CloseClientConnections()
			srv.Close()
			must(t, h.Shutdown(context.Background()))
		})
	}
	p.proxy = httptest.NewServer(p)
	t.Cleanup(p.proxy.Close)
	return p
}

type wording struct {
	Text string `json:"text"`
}

func addReplicaTools(t *testing.T, s *Server) {
	must(t, AddTool(s, &Tool{Name: "echo"}, func(_ context.Context, _ *Request, in wording) (string, error) { return in.Text, nil }))
	ask := func(ctx context.Context, r *Request, in wording) (string, error) {
		first, err := r.Ask(ctx, Question{Name: "first", Elicit: replicaForm("first")})
		if err != nil {
			return "", err
		}
		second, err := r.Ask(ctx, Question{Name: "second", Elicit: replicaForm("second")})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s %s", in.Text, first[0].Elicit.Content, second[0].Elicit.Content), nil
	}
	must(t, AddTool(s, &Tool{Name: "ask"}, ask))
	must(t, AddTool(s, &Tool{Name: "job", Execution: &ToolExecution{TaskSupport: "required"}}, ask))
}

func replicaForm(message string) *ElicitParams {
	return &ElicitParams{Message: message, RequestedSchema: &FormSchema{Properties: Properties{{"name", &PrimitiveSchema{Type: "string"}}}, Required: []string{"name"}}}
}

// ServeHTTP sends a request on to the next replica that can be reached.
func (p *replicas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	first := int(p.next.Add(1))
	for i := range p.hosts {
		out := r.Clone(r.Context())
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", p.hosts[(first+i)%len(p.hosts)]
		out.Host, out.Body = out.URL.Host, io.NopCloser(bytes.NewReader(body))
		resp, err := p.forth.RoundTrip(out)
		if err != nil {
			if strings.Contains(err.Error(), "connection refused") {
				continue // it is dead, and has not begun
			}
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(flushing{w}, resp.Body)
		resp.Body.Close()
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

// flushing writes through at once.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	_ = http.NewResponseController(f.ResponseWriter).Flush()
	return n, err
}

// connect opens a client that answers forms with their message.
func (p *replicas) connect(t *testing.T) *ClientSession {
	cs, err := NewClient(&Implementation{Name: "c", Version: "1"}, &ClientOptions{Revisions: []string{Revision20260728},
		Elicit: func(_ context.Context, _ *ClientSession, q *ElicitParams) (*ElicitResult, error) {
			return &ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"` + q.Message + `"}`)}, nil
		}}).Connect(t.Context(), &HTTPTransport{URL: p.proxy.URL})
	must(t, err)
	t.Cleanup(func() { must(t, cs.Close()) })
	return cs
}

// TestReplicas has any replica serve any request: rounds that ask, and tasks that do,
// go on at another one than they began.
//
// BASE-282 BASE-349 FEAT-354
func TestReplicas(t *testing.T) {
	calls := 10_000
	if testing.Short() {
		calls = 500
	}
	p := newReplicas(t, 3)
	cs := p.connect(t)
	const asked = `{"name":"first"} {"name":"second"}`
	var left atomic.Int64
	left.Store(int64(calls))
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				tool, want := "echo", fmt.Sprint(n)
				switch {
				case n%50 == 0:
					tool, want = "job", fmt.Sprint(n, " ", asked)
				case n%5 == 0:
					tool, want = "ask", fmt.Sprint(n, " ", asked)
				}
				r, err := cs.CallTool(t.Context(), tool, wording{fmt.Sprint(n)})
				if err != nil || r.Text() != want {
					t.Errorf("%s %d: %v, %v", tool, n, r, err)
					return
				}
			}
		})
	}
	callers.Wait()
	if n := p.asked.Load(); n < int64(calls)*14/10 {
		t.Errorf("%d requests for %d calls, some of which take three", n, calls)
	}
}

// TestReplicaDies loses only what it was serving.
func TestReplicaDies(t *testing.T) {
	p := newReplicas(t, 3)
	p.forth = &http.Transport{DisableKeepAlives: true} // a connection that waits would be lost, too
	cs := p.connect(t)
	const callers, each = 8, 200
	var failed, done atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range each {
				if _, err := cs.CallTool(t.Context(), "echo", wording{fmt.Sprint(i)}); err != nil {
					failed.Add(1)
				}
				if done.Add(1) == callers*each/2 {
					p.servers[1].Listener.Close()
					p.servers[1].CloseClientConnections()
				}
			}
		})
	}
	all.Wait()
	if n := failed.Load(); n > callers {
		t.Errorf("%d calls failed, of which at most %d can have been at the replica that died", n, callers)
	}
}
