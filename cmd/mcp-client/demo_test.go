package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"example.com/mcp"
)

func TestDemo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is missing: ", err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	tr := new(trial).run("demo", "-q", "-trace")
	if tr.code != exitOK {
		t.Errorf("exit code %d; it said:\n%s", tr.code, tr.stdout.String())
	}
	for i, s := range steps {
		if !strings.Contains(tr.stdout.String(), fmt.Sprintf("%2d. %s: %s\n", i+1, s.title, s.about)) {
			t.Errorf("step %d, %s, was not shown", i+1, s.title)
		}
	}
	if !strings.HasSuffix(tr.stdout.String(), fmt.Sprintf("\nAll %d steps showed what they should.\n", len(steps))) {
		t.Error("it does not say that all is well")
	}
	for _, line := range []string{`--> notifications/cancelled {`, `"inputRequests":{"roots":{"method":"roots/list"`, `<-- #1 roots/list`} {
		if !strings.Contains(tr.stderr.String(), line) {
			t.Errorf("the trace lacks %s", line)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A server that does not do what the steps want is found out.
func TestDemoFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errs buffer
		p := &program{stdout: &out, screen: &screen{w: &errs}, person: &person{}}
		var servers sync.WaitGroup
		d := &demo{program: p, dir: t.TempDir(), server: func(func([]byte)) mcp.Transport {
			ours, theirs := mcp.Pipe()
			servers.Go(func() { _ = newTestServer(&watcher{}).Run(context.Background(), theirs) })
			return &mcp.ConnTransport{Conn: ours}
		}, serve: func(context.Context) (string, func() error, error) { return "", nil, errors.New("no network") }}
		err := d.run(context.Background())
		servers.Wait()
		if code := exitCode(context.Background(), err); code != exitTool {
			t.Errorf("exit code %d, %v", code, err)
		}
		failed := strings.Count(out.String(), "    FAILED: ")
		if want := fmt.Sprintf("the demo does not show all it should: %d of %d steps failed", failed, len(steps)); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if failed != len(steps)-2 { // the ping and the tools are all right
			t.Errorf("%d steps failed; it said:\n%s", failed, out.String())
		}
	})
}

func TestDemoNeedsItsModule(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is missing: ", err)
	}
	t.Chdir(t.TempDir())
	new(trial).run("demo").is(t, exitConnection, "", "mcp-client: the demo builds ./cmd/mcp-server: run it within the module that has it\n")
	t.Setenv("PATH", "")
	new(trial).run("demo").is(t, exitConnection, "",
		`mcp-client: the demo builds its server, for which the go command is needed: exec: "go": executable file not found in $PATH`+"\n")
	new(trial).run("demo", "-json").is(t, exitUsage, "", "mcp-client: the demo prints for people: -json is not for it\n")
}
