package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp"
)

// news is what a client was told.
type news struct {
	mu   sync.Mutex // guards list
	list []string
}

func (n *news) add(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, what)
}

// take returns what was told since it was called last.
func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

// options are those of a client that notes its news.
func (n *news) options() mcp.ClientOptions {
	return mcp.ClientOptions{
		ResourceUpdated: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ResourceUpdatedParams) {
			n.add(p.URI[strings.LastIndex(p.URI, "/")+1:])
		},
		ResourcesChanged: func(context.Context, *mcp.ClientSession) { n.add("list") },
	}
}

// Changes of what a client follows are told, and only those. FEAT-131 FEAT-133
func TestSubscriptions(t *testing.T) {
	for _, rev := range eras {
		dir := files{"a": "1", "b": "1", "d/x": ""}.write(t)
		synctest.Test(t, func(t *testing.T) {
			var heard news
			w := connect(t, dir, rev, heard.options())
			write := func(name, text string) { check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }
			wait := func(want string) {
				t.Helper()
				time.Sleep(maxInterval + time.Second) // virtual
				synctest.Wait()
				equal(t, rev, heard.take(), want)
			}
			check(t, w.cs.Subscribe(t.Context(), w.uri+"a"))
			check(t, w.cs.Subscribe(t.Context(), w.uri+"a"))
			wait("[]")
			write("a", "22")
			write("b", "22")
			wait("[a]")
			wait("[]")
			check(t, os.Remove(filepath.Join(dir, "a")))
			wait("[list a]")
			write("a", "333")
			wait("[list a]")
			check(t, w.cs.Subscribe(t.Context(), w.uri+"d/"))
			check(t, w.cs.Unsubscribe(t.Context(), w.uri+"a"))
			write("a", "4444")
			write("d/y", "")
			check(t, os.Chtimes(filepath.Join(dir, "d"), then, then))
			wait("[list ]")
			check(t, w.cs.Unsubscribe(t.Context(), w.uri+"d/"))
			write("d/z", "")
			wait("[]")
			w.server.watch.running.Wait() // its goroutine has ended with the last subscription
		})
	}
}

// What a tool changes is told at once, also that a file has come.
func TestToolsTell(t *testing.T) {
	dir := files{"a": "1"}.write(t)
	synctest.Test(t, func(t *testing.T) {
		var heard news
		var questions []string
		opts := heard.options()
		opts.Elicit = answering("accept", &questions, nil).Elicit
		w := connect(t, dir, mcp.Revision20251125, opts)
		check(t, w.cs.Subscribe(t.Context(), w.uri+"a"))
		for _, c := range []struct {
			tool string
			args at
			want string
		}{
			{"write_file", at{"path": "a", "content": "22"}, "[a]"},
			{"write_file", at{"path": "b", "content": ""}, "[list]"},
			{"delete_file", at{"path": "a"}, "[list a]"},
		} {
			w.call(c.tool, c.args)
			time.Sleep(time.Second) // virtual, and less than the time between two looks
			synctest.Wait()
			equal(t, c.tool, heard.take(), c.want)
			time.Sleep(2 * maxInterval) // virtual
			synctest.Wait()
			equal(t, "later", heard.take(), "[]")
		}
	})
}

// What does not exist cannot be followed.
func TestSubscribeUnknown(t *testing.T) {
	w := connect(t, files{}.write(t), mcp.Revision20251125, mcp.ClientOptions{})
	err := w.cs.Subscribe(t.Context(), w.uri+"none")
	equal(t, "error", err, `mcp: resources/subscribe: resource not found (code -32002)`)
	equal(t, "followed", len(w.server.watch.followed), 0)
}

// A session that ends gives up what it follows; others keep it.
func TestWatcherCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(func(string) stamp { return stamp{exists: true} }, func(string, stamp, stamp) {})
		equal(t, "add", w.add("x"), true)
		equal(t, "add", w.add("x"), true)
		w.remove("x")
		equal(t, "runs", w.stop != nil, true)
		w.remove("x")
		w.remove("x")
		w.running.Wait()
		equal(t, "add again", w.add("x"), true)
		w.close()
		w.close()
	})
}

// A directory has not changed for those who follow it while a file in it is being written.
func TestWatcherDraft(t *testing.T) {
	w := &watcher{wake: make(chan struct{}, 1), hints: map[string]bool{}, marks: map[int]map[string]map[string]bool{1: {"": {"file:///d/": true}}}}
	w.hear(1, draftName(), false)
	equal(t, "hints", len(w.hints), 0)
	w.hear(1, ".a.tmp", false)
	equal(t, "hints", len(w.hints), 1)
}
