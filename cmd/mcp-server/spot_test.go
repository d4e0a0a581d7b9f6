package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/mcp"
)

// opened opens a folder as options say.
func opened(t testing.TB, dir string, o options) *folder {
	t.Helper()
	f, err := o.open(dir)
	check(t, err)
	return f
}

// Links are followed as far as they stay inside, whatever they go through.
func TestLinks(t *testing.T) {
	dir := files{"a/b/f": "F", "a/up": "-> ../a/b", "top": "-> a/up/../b/./f", "loop": "-> loop", "two": "-> one", "one": "-> a/up/f",
		"out": "-> a/../../x", "none": "-> a/none", "slash": "-> a//b/", "dot": "-> ."}.write(t)
	check(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "abs")))
	f := opened(t, dir, options{})
	defer f.close()
	for _, c := range []struct{ path, want string }{
		{"a/up/f", "F a/b/f"}, {"top", "F a/b/f"}, {"two", "F a/b/f"}, {"slash/f", "F a/b/f"}, {"dot/dot/one", "F a/b/f"},
		{"loop", `path "loop": more than 40 symbolic links`}, {"out", `path "out": path escapes from parent`},
		{"abs/b/f", `path "abs/b/f": path escapes from parent`}, {"none", `path "none": no such file or directory`},
		{"top/x", `path "top/x": not a directory`}, {"dot", `path "dot" is a directory`},
	} {
		got := ""
		s, err := f.whole().find(c.path, true)
		if err == nil {
			data, _, failed := s.read()
			got, err = string(data)+" "+s.path, failed
			s.close()
		}
		if err != nil {
			got = err.Error()
		}
		equal(t, c.path, got, c.want)
	}
}

// What is hidden does not exist for any feature, by any name, while what is beside it does.
func TestHidden(t *testing.T) {
	dir := files{".git/config": "SECRET", "a/.GIT/config": "SECRET", "k.key": "SECRET", "a/f.txt": "F SECRET?", "link": "-> .git", "a/file": "-> ../k.key", "build/x": "SECRET", "d/build": "a file"}.write(t)
	for _, rev := range eras[1:] {
		var questions []string
		f := opened(t, dir, options{ignore: texts{"*.key", "build/"}})
		w := connectTo(t, f, rev, answering("accept", &questions, nil))
		for _, p := range []string{".git/config", ".git", ".GIT/config", "a/.git/config", "a/.GIT", "k.key", "K.KEY", "link/config", "link", "a/file", "build/x", "build", "Build/new", ".git/hooks/pre-commit"} {
			for _, tool := range []string{"read_file", "list_directory", "search", "find_file", "checksum", "summarise", "write_file", "delete_file"} {
				got := w.call(tool, only(tool, at{"path": p, "content": "x", "query": "S", "name": "s"}))
				byName := tool == "delete_file" && (p == "link" || p == "a/file") || tool == "write_file" && (p == "link" || p == "a/file")
				if !byName && !strings.Contains(got, "hidden by the server's pattern") || strings.Contains(got, "SECRET") {
					t.Errorf("%s of %q: %s", tool, p, got)
				}
				if byName && tool == "delete_file" { // the link itself is not hidden
					equal(t, "deleting a link", got, "Deleted "+p+".")
					check(t, os.Symlink(map[string]string{"link": ".git", "a/file": "../k.key"}[p], filepath.Join(dir, p)))
				}
			}
			if r, err := w.cs.ReadResource(t.Context(), w.uri+p); err == nil {
				t.Errorf("read of %q: %v", p, r)
			}
			if w.cs.Subscribe(t.Context(), w.uri+p) == nil {
				t.Errorf("subscribe to %q went well", p)
			}
			if _, err := w.cs.GetPrompt(t.Context(), reviewFolder, map[string]string{"path": p}); err == nil {
				t.Errorf("review of %q went well", p)
			}
		}
		equal(t, "resources", resourceNames(t, w), "[a/f.txt d/build]")
		equal(t, "search", w.call("search", at{"query": "SECRET"}), `{"matches":[{"path":"a/f.txt","line":1,"text":"F SECRET?"}],"files":2,"skipped":0,"truncated":false}`)
		r, err := w.cs.ReadResource(t.Context(), w.uri)
		check(t, err)
		equal(t, "the folder", r.Contents[0].Text, "a/\nd/\nlink\n")
		equal(t, "move", w.call("move_file", at{"from": "a", "to": "b"}), `error: path "a" holds what is hidden by the server's pattern ".git"`)
		equal(t, "move", w.call("move_file", at{"from": "a/f.txt", "to": "x.key"}), `error: path "x.key": hidden by the server's pattern "*.key"`)
	}
}

// The client's own roots show nothing that is hidden.
func TestHiddenRoots(t *testing.T) {
	dir := files{".git/config": "SECRET", "link": "-> .git", "a/f": "F"}.write(t)
	root := func(p string) *mcp.Root { return &mcp.Root{URI: "file://" + filepath.ToSlash(dir) + "/" + p} }
	w := connectTo(t, opened(t, dir, options{}), mcp.Revision20251125, mcp.ClientOptions{Roots: []*mcp.Root{root(".git"), root("a")}})
	equal(t, "resources", resourceNames(t, w), "[a/f]")
	equal(t, "read", w.call("read_file", at{"path": ".git/config"}), `error: path ".git/config" is outside of the client's roots, which are ["a"] here`)
	w = connectTo(t, opened(t, dir, options{}), mcp.Revision20251125, mcp.ClientOptions{Roots: []*mcp.Root{root("link")}})
	equal(t, "resources", resourceNames(t, w), "[]")
}

// Whatever becomes of a directory while a request is on its way, nothing is read but what
// may be: neither through links that come, nor what is hidden.
func TestLinksThatCome(t *testing.T) {
	dir := files{"secret/f": "SECRET", "in/a/f": "F", "in/.git/f": "SECRET", "in/b/": ""}.write(t)
	in := func(p string) string { return filepath.Join(dir, "in", p) }
	f := opened(t, in("."), options{})
	defer f.close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			target := []string{"../secret", ".git", "b/a"}[i%3]
			check(t, os.Rename(in("a"), in("b/a")))
			check(t, os.Symlink(target, in("a")))
			check(t, os.Remove(in("a")))
			check(t, os.Rename(in("b/a"), in("a")))
		}
	}()
	seen := map[string]int{}
	for range 1000 {
		data, _, err := f.whole().read("a/f")
		if err != nil {
			data = nil
		}
		seen[string(data)]++
		check(t, f.whole().walk(ctx, ".", "", func(s *spot, _ os.FileInfo, err error) error {
			if err != nil || s.name != "f" {
				return nil
			}
			data, _, err := s.read()
			if err == nil {
				seen[string(data)]++
			}
			return nil
		}))
	}
	cancel()
	<-done
	if len(seen) != 2 || seen["F"] == 0 || seen["SECRET"] != 0 {
		t.Errorf("seen: %v", seen)
	}
}

// A file that is replaced or grows all the time is read whole, in one of its states.
func TestFilesThatChange(t *testing.T) {
	dir := files{"f": "0000"}.write(t)
	f := opened(t, dir, options{})
	defer f.close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			check(t, os.WriteFile(filepath.Join(dir, "tmp"), []byte(fmt.Sprintf("%04d", i%10000)), 0o644))
			check(t, os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "f")))
		}
	}()
	read := 0
	for range 1000 {
		data, _, err := f.whole().read("f")
		if err != nil {
			continue // it changes too often
		}
		read++
		if len(data) != 4 {
			t.Fatalf("read %q", data)
		}
	}
	cancel()
	<-done
	if read < 500 {
		t.Errorf("read %d times of 1000", read)
	}
}

// The walk of a tree that is deeper than the limit tells so, and has an end; files below it
// can be read.
func TestDeepTree(t *testing.T) {
	dir := files{}.write(t)
	f := opened(t, dir, options{})
	defer f.close()
	at, err := f.root.OpenRoot(".")
	check(t, err)
	for range 800 {
		check(t, at.Mkdir("deep", 0o755))
		next, err := at.OpenRoot("deep")
		check(t, err)
		check(t, at.Close())
		at = next
	}
	check(t, at.WriteFile("f", []byte("F"), 0o644))
	check(t, at.Close())
	dirs, failed := 0, ""
	check(t, f.whole().walk(t.Context(), ".", "", func(s *spot, _ os.FileInfo, err error) error {
		if err != nil {
			failed += strings.TrimPrefix(err.Error(), fmt.Sprintf("path %q ", s.shown))
			return nil
		}
		dirs++
		return nil
	}))
	equal(t, "directories", dirs, maxDepth)
	equal(t, "error", failed, "is more than 200 levels or 4096 bytes deep")
	data, _, err := f.whole().read(strings.Repeat("deep/", 800) + "f")
	check(t, err)
	equal(t, "the file", string(data), "F")
}
