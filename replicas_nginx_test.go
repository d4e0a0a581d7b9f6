//go:build unix

package mcp

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// startNginx starts nginx in front of replicas, with the configuration that we give to
// others. What is returned reaches it.
func startNginx(t *testing.T, program string, replicas []*replica) *http.Client {
	dir := t.TempDir()
	conf, err := os.ReadFile(".ci/replicas/nginx.conf")
	must(t, err)
	socket := filepath.Join(dir, "socket")
	place := []string{"listen 8080;", "listen unix:" + socket + ";"}
	for i, r := range replicas {
		place = append(place, fmt.Sprint("127.0.0.1:", 8081+i, " "), r.addr+" ", fmt.Sprint("127.0.0.1:", 8081+i, ";"), r.addr+";")
	}
	must(t, os.WriteFile(filepath.Join(dir, "replicas.conf"), []byte(strings.NewReplacer(place...).Replace(string(conf))), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(`
daemon off;
pid pid;
worker_processes 2;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    include replicas.conf;
}
`), 0o600))
	var said bytes.Buffer
	cmd := exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "stderr")
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("nginx: %v\n%s", err, &said)
		}
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	eventually(t, "nginx serves", func() bool {
		c, err := dial(t.Context(), "", "")
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 100}}
}

// TestReplicasNginx has sessions, and requests without one, served by replicas behind
// nginx, and one replica killed: that costs what it was serving, and its sessions are
// opened again in others.
//
// BASE-282 BASE-349 FEAT-354
func TestReplicasNginx(t *testing.T) {
	program := os.Getenv("MCP_TEST_NGINX")
	if program == "" {
		t.Skip("MCP_TEST_NGINX does not say where nginx is; see .ci/replicas/run")
	}
	replicas := startReplicas(t)
	client := startNginx(t, program, replicas)
	connect := func(rev string, opts ClientOptions) *ClientSession {
		return connectTo(t, rev, &HTTPTransport{URL: "http://mcp.example.com/mcp", Client: client}, opts)
	}
	sessions, homes := make([]*replicaCaller, 12), map[string]int{}
	for i := range sessions {
		sessions[i] = &replicaCaller{uri: fmt.Sprint("test:", i), updated: make(chan string, 1)}
		sessions[i].listen(t, connect)
		homes[sessions[i].home]++
	}
	for _, r := range replicas {
		if homes[r.name] < 2 {
			t.Fatalf("sessions: %v", homes)
		}
	}
	callMany(t, manyCalls(), sessions)

	cs := connect(Revision20260728, ClientOptions{})
	moved := 0
	for range 6 { // each process of nginx has turns of its own
		r, err := cs.CallTool(t.Context(), "ask", wording{"1"})
		must(t, err)
		a, err := parseAsked(r.Text())
		if must(t, err); a.first != a.second && a.second != a.end && a.end != a.first {
			moved++
		}
	}
	want(t, "rounds move", moved > 0, true)
	lone := callers(8, cs)
	callMany(t, manyCalls(), lone)

	all := slices.Concat(sessions, lone)
	_, lost := killAmong(t, all, func() { replicas[1].kill(t) })
	for i, c := range all {
		if lost[i] > 0 && c.home != "" && c.home != "b" {
			t.Errorf("a session of %s lost %d calls", c.home, lost[i])
		}
	}
	for _, c := range sessions {
		r, err := c.cs.CallTool(t.Context(), "where", nil)
		must(t, err)
		switch {
		case c.home != "b" && (c.renewed.Load() != 0 || r.Text() != c.home):
			t.Errorf("a session of %s was renewed %d times, and is at %s", c.home, c.renewed.Load(), r.Text())
		case c.home == "b" && (c.renewed.Load() != 1 || r.Text() == "b"):
			t.Errorf("a session of b was renewed %d times, and is at %s", c.renewed.Load(), r.Text())
		}
		c.home = r.Text()
	}
	for _, id := range []string{"a-none", "b-none", "none"} { // dead or not
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mcp.example.com/mcp", strings.NewReader(pingA))
		must(t, err)
		r.Header = http.Header{"Content-Type": {typeJSON}, headerSession: {id}}
		resp, err := client.Do(r)
		must(t, err)
		resp.Body.Close()
		want(t, "a session that nobody has", resp.StatusCode, http.StatusNotFound)
	}
	callMany(t, 500, sessions)
	callMany(t, 500, lone)
}

// listen opens the caller's session, finds out where it is, and follows a resource.
func (c *replicaCaller) listen(t *testing.T, connect func(string, ClientOptions) *ClientSession) {
	c.cs = connect(Revision20251125, ClientOptions{
		ResourceUpdated: func(_ context.Context, _ *ClientSession, p *ResourceUpdatedParams) { c.updated <- p.URI },
		SessionRenewed:  func(context.Context, *ClientSession) { c.renewed.Add(1) },
	})
	must(t, c.cs.Subscribe(t.Context(), c.uri))
	_, err := c.cs.ListTools(t.Context(), nil) // which says what runs as a task
	must(t, err)
	r, err := c.cs.CallTool(t.Context(), "where", nil)
	must(t, err)
	c.home = r.Text()
}
