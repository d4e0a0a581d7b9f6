package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/mcp"
)

// The system tells of each kind of change in a directory, by its name in it, and when the
// directory itself goes away.
func TestEvents(t *testing.T) {
	dir := files{"d/a": "1", "d/b": "1", "x": "1"}.write(t)
	in := func(p string) string { return filepath.Join(dir, p) }
	e, err := newEvents()
	check(t, err)
	d, err := os.Open(in("d"))
	check(t, err)
	watch, err := e.add(d)
	check(t, err)
	check(t, d.Close())
	type heard struct {
		name string
		gone bool
	}
	news, done := make(chan heard, 100), make(chan error)
	go func() {
		done <- e.read(func(w int, name string, gone bool) {
			if w != watch {
				t.Errorf("an event of %d, want %d", w, watch)
			}
			news <- heard{name, gone}
		})
	}()
	for _, c := range []struct {
		change func() error
		want   heard
	}{
		{func() error { return os.WriteFile(in("d/a"), []byte("2"), 0o644) }, heard{"a", false}},
		{func() error { return os.Chtimes(in("d/b"), then, then) }, heard{"b", false}},
		{func() error { return os.Rename(in("x"), in("d/x")) }, heard{"x", false}},
		{func() error { return os.Remove(in("d/x")) }, heard{"x", false}},
		{func() error { return os.Mkdir(in("d/new\nline"), 0o755) }, heard{"new\nline", false}},
		{func() error { return os.Rename(in("d"), in("e")) }, heard{"", true}},
	} {
		check(t, c.change())
		for got := <-news; got != c.want; got = <-news { // a change has several events
		}
	}
	e.remove(watch)
	e.close()
	<-done
}

// What clients follow is told when the system tells of it: of files that are written, that
// others take the place of, whose directory goes and comes again, and of directories.
func TestFollowedByEvents(t *testing.T) {
	dir := files{"a": "1", "d/b": "1", "l": "-> d/b"}.write(t)
	in := func(p string) string { return filepath.Join(dir, p) }
	news := make(chan string, 100)
	w := connect(t, dir, mcp.Revision20251125, mcp.ClientOptions{
		ResourceUpdated: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ResourceUpdatedParams) {
			news <- strings.TrimPrefix(p.URI, "file://"+dir+"/")
		}})
	w.server.watch.places = w.server.places
	for _, name := range []string{"a", "d/b", "l", "d/", "d/b"} {
		check(t, w.cs.Subscribe(t.Context(), w.uri+name))
	}
	told := func(want ...string) {
		t.Helper()
		for len(want) > 0 {
			got := <-news
			for i, name := range want {
				if got == name {
					want = append(want[:i:i], want[i+1:]...)
					break
				}
			}
		}
	}
	check(t, os.WriteFile(in("a"), []byte("22"), 0o644))
	told("a")
	check(t, os.WriteFile(in("d/b"), []byte("22"), 0o644))
	told("d/b", "l")
	check(t, os.WriteFile(in("d/new"), []byte("333"), 0o644))
	told("d/")
	check(t, os.Rename(in("d/new"), in("d/b")))
	told("d/b", "l", "d/")
	check(t, os.Rename(in("d"), in("e")))
	told("d/b", "l", "d/")
	check(t, os.Rename(in("e"), in("d")))
	told("d/b", "l", "d/")
	check(t, os.WriteFile(in("d/b"), []byte("4444"), 0o644))
	told("d/b", "l")
	w.server.watch.mu.Lock()
	for uri, f := range w.server.watch.followed {
		if want := 1 + strings.Count(uri[len(uri)-1:], "/"); len(f.marks) != want {
			t.Errorf("%s has the marks %v, want %d", uri, f.marks, want)
		}
	}
	w.server.watch.mu.Unlock()
	for _, name := range []string{"a", "d/b", "l", "d/"} {
		check(t, w.cs.Unsubscribe(t.Context(), w.uri+name))
	}
	w.server.watch.running.Wait() // they end with the last subscription
	equal(t, "marks", len(w.server.watch.marks), 0)
}
