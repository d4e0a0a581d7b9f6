package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/mcp"
)

// taskServer serves tools that run as tasks, to callers with an identity, until the test
// ends. It returns its URL.
func taskServer(t *testing.T) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "tasker", Version: "1"}, &mcp.ServerOptions{Tasks: mcp.TaskOptions{PollInterval: time.Millisecond}})
	optional := &mcp.ToolExecution{TaskSupport: "optional"}
	tool := func(name string, late bool, h func(context.Context, *mcp.Request, struct{}) (string, error)) {
		if err := mcp.AddTool(s, &mcp.Tool{Name: name, Execution: optional, LateTask: late}, h); err != nil {
			t.Fatal(err)
		}
	}
	tool("work", false, func(context.Context, *mcp.Request, struct{}) (string, error) { return "done", nil })
	tool("break", false, func(context.Context, *mcp.Request, struct{}) (string, error) { return "", errors.New("it broke") })
	tool("refuse", false, func(context.Context, *mcp.Request, struct{}) (string, error) {
		return "", &mcp.Error{Code: 17, Message: "not today"}
	})
	tool("wait", false, func(ctx context.Context, _ *mcp.Request, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	tool("ask", false, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		a, err := r.Elicit(ctx, testForm())
		if err != nil {
			return "", err
		}
		return a.Action, nil
	})
	tool("quick", true, func(context.Context, *mcp.Request, struct{}) (string, error) { return "at once", nil })
	web := httptest.NewServer(&mcp.HTTPHandler{Server: s, Authorize: func(*http.Request) (*mcp.Identity, error) { return &mcp.Identity{Subject: "me"}, nil }})
	t.Cleanup(web.Close)
	return web.URL
}

// eras are the revisions that have tasks.
var eras = []string{mcp.Revision20251125, mcp.Revision20260728}

// in is what differs between them.
func in(rev, session, stateless string) string {
	if rev == mcp.Revision20251125 {
		return session
	}
	return stateless
}

// begin begins a task and returns its id.
func begin(t *testing.T, url, rev, tool string) string {
	t.Helper()
	tr := new(trial).with(dial).run("call", tool, "-task", "-revision", rev, url)
	id := strings.TrimSuffix(tr.stdout.String(), "\n")
	tr.is(t, exitOK, id+"\n", "connecting to: "+url+"\n")
	if len(id) < 20 || strings.ContainsAny(id, " \n") {
		t.Fatalf("%s at %s: %q is no id", tool, rev, id)
	}
	return id
}

// A task that one run has begun is told of, waited for and cancelled by others.
func TestTasks(t *testing.T) {
	url := taskServer(t)
	for _, rev := range eras {
		tasks := func(code int, stdout, stderr string, words ...string) {
			t.Helper()
			new(trial).with(dial).run(append(append([]string{"tasks"}, words...), "-revision", rev, url)...).
				is(t, code, stdout, "connecting to: "+url+"\n"+stderr)
		}
		done := begin(t, url, rev, "work")
		tasks(exitOK, "done\n", "", "result", done)
		tasks(exitOK, done+" completed\n", "", "watch", done)
		if rev == mcp.Revision20251125 {
			tasks(exitProtocol, "", "mcp-client: tasks/cancel: the task is over, and cannot be cancelled (code -32602)\n", "cancel", done)
		} else {
			tasks(exitOK, "", "the server was asked to cancel the task\n", "cancel", done)
		}
		tasks(exitOK, done+" completed\n", "", "watch", done) // as before

		broken := begin(t, url, rev, "break")
		tasks(exitTool, "it broke\n", "mcp-client: the tool reports an error\n", "result", broken)
		tasks(exitOK, broken+in(rev, " failed", " completed")+": it broke\n", "", "watch", broken)
		refused := begin(t, url, rev, "refuse")
		tasks(exitProtocol, "", in(rev, "mcp-client: tasks/result: not today (code 17)\n", "mcp-client: task "+refused+": not today (code 17)\n"), "result", refused)
		tasks(exitOK, refused+" failed: not today\n", "", "watch", refused)

		asking := begin(t, url, rev, "ask")
		tasks(exitOK, "accept\n", `accepted with {"name":"Ada","ok":true,"days":["tu"]}: Who\x1b[2J are you?`+"\n", "result", asking, "-yes")

		tasks(exitProtocol, "", "mcp-client: tasks/get: no such task, or not any more (code -32602)\n", "watch", "none")
		tasks(exitUsage, "", "mcp-client: usage: mcp-client [flags] tasks list, or watch, result or cancel with the ID of a task\n", "watch")
		tasks(exitUsage, "", "mcp-client: usage: mcp-client [flags] tasks list, or watch, result or cancel with the ID of a task\n", "list", "all")
	}
}

// What is watched is told of whenever it changes, until it is over.
func TestTaskWatched(t *testing.T) {
	url := taskServer(t)
	for _, rev := range eras {
		id := begin(t, url, rev, "wait")
		tr := new(trial).with(dial)
		tr.hear = func(text string) {
			if text == id+" working\n" {
				new(trial).with(dial).run("tasks", "cancel", id, "-q", "-revision", rev, url).is(t, exitOK, "", "")
			}
		}
		tr.run("tasks", "watch", id, "-q", "-revision", rev, url).is(t, exitOK, id+" working\n"+id+" cancelled: cancelled by the requestor\n", "")
		new(trial).with(dial).run("tasks", "result", id, "-q", "-revision", rev, url).is(t, exitProtocol, "", in(rev,
			"mcp-client: tasks/result: the task was cancelled (code -32603)\n",
			"mcp-client: task "+id+": mcp: cancelled by the peer: cancelled by the requestor\n"))

		id = begin(t, url, rev, "ask")
		tr = &trial{signals: make(chan os.Signal, 1)}
		tr.hear = func(text string) {
			if text == "it asks something, which tasks result answers\n" {
				tr.signals <- os.Interrupt
			}
		}
		tr.with(dial).run("tasks", "watch", id, "-revision", rev, url)
		if shown := tr.stdout.String(); tr.code != exitInterrupted || !strings.HasSuffix(shown, id+" input_required\n") {
			t.Errorf("%s: exit code %d, stdout %q", rev, tr.code, shown)
		}
	}
}

// The tasks of a caller are listed at 2025-11-25.
func TestTaskList(t *testing.T) {
	url := taskServer(t)
	first := begin(t, url, eras[0], "work")
	new(trial).with(dial).run("tasks", "watch", first, "-q", url) // until it is over
	second := begin(t, url, eras[1], "wait")
	new(trial).with(dial).run("tasks", "list", "-q", "-revision", eras[0], url).is(t, exitOK, first+" completed\n"+second+" working\n", "")
	(&trial{terminal: true}).with(dial).run("tasks", "list", "-q", "-revision", eras[0], url).is(t, exitOK,
		"TASK"+strings.Repeat(" ", len(first)-2)+"STATUS\n"+first+"  completed\n"+second+"  working\n", "")
	new(trial).with(dial).run("tasks", "list", "-q", "-revision", eras[1], url).is(t, exitProtocol, "", "mcp-client: the server does not offer tasks/list\n")
	new(trial).with(dial).run("tasks", "cancel", second, "-q", url).is(t, exitOK, "", "")
}

// A server of 2026-07-28 decides itself whether a call becomes a task.
func TestNoTask(t *testing.T) {
	url := taskServer(t)
	new(trial).with(dial).run("call", "-task", "quick", url).
		is(t, exitOK, "at once\n", "connecting to: "+url+"\nno task: the server has answered at once\n")
	new(trial).with(dial).run("call", "work", "-q", url).is(t, exitOK, "done\n", "")
	tr := new(trial).with(dial).run("call", "-task", "-json", "-q", "work", url)
	if got := tr.stdout.String(); !strings.HasPrefix(got, `{"taskId":"`) || !strings.HasSuffix(got, "\"}\n") || tr.code != exitOK {
		t.Errorf("exit code %d, stdout %q", tr.code, got)
	}
	new(trial).run("call", "-task", "echo", "text=hi", "-q", "--", "x").is(t, exitOK, "hi\n", "")
	new(trial).run("call", "-task", "fail", "-q", "--", "x").is(t, exitTool, "it broke\n", "mcp-client: the tool reports an error\n")
}

// A client that is pinned speaks nothing else.
func TestPinned(t *testing.T) {
	url := taskServer(t)
	for rev, want := range map[string]string{
		mcp.Revision20241105: "protocol:   2024-11-05\nera:        session\noffers:     tools, logging\n",
		mcp.Revision20251125: "protocol:   2025-11-25\nera:        session\noffers:     tools, logging, tasks\n",
		mcp.Revision20260728: "protocol:   2026-07-28\nera:        stateless\noffers:     tools, logging, tasks\nextensions: io.modelcontextprotocol/tasks\n",
	} {
		new(trial).with(dial).run("info", "-q", "-revision", rev, url).is(t, exitOK, "name:       tasker\nversion:    1\n"+want, "")
	}
	tr := &trial{speaks: eras[:1]}
	tr.run("tools", "-q", "-revision", eras[1], "--", "x").is(t, exitProtocol, "", "mcp-client: the server does not speak [2026-07-28], only older revisions, it seems: method \"server/discover\" not found (code -32601)\n")
	tr = &trial{speaks: eras[1:]}
	tr.run("tools", "-q", "-revision", eras[0], "--", "x").is(t, exitProtocol, "", "*")
}
