package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/mcp"
)

func TestCleanPath(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"", "."}, {".", "."}, {"a", "a"}, {"./a/", "a"}, {"a//b/./c", "a/b/c"}, {"...", "..."}, {"a..b", "a..b"},
		{"%2e%2e%2fa", "%2e%2e%2fa"}, // a name like any other
		{"..", ""}, {"../a", ""}, {"a/..", ""}, {"a/../../b", ""}, {"/", ""}, {"/etc/passwd", ""}, {"file:///a", ""}, {"a\x00b", ""}, {"\xff", ""},
	} {
		got, err := cleanPath(c.path)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("cleanPath(%q) = %q, %v; want %q", c.path, got, err, c.want)
		}
	}
}

// A path becomes a URI and is found in it again.
func TestURIs(t *testing.T) {
	f := &folder{base: "/srv/my files"}
	for _, p := range []string{".", "a", "a b", "ü%2f", "a/b;c?d#e", "{x}", "a+b&c=d", "…"} {
		uri := f.uri(p)
		if u, err := url.Parse(uri); err != nil || u.Scheme != "file" || u.RawQuery != "" {
			t.Errorf("URI %q of %q: %v", uri, p, err)
		}
		if got, err := f.pathOf(uri); got != p || err != nil {
			t.Errorf("pathOf(%q) = %q, %v; want %q", uri, got, err, p)
		}
	}
	equal(t, "uri", f.uri("a b/ü"), "file:///srv/my%20files/a%20b/%C3%BC")
	for _, uri := range []string{
		"", "x", "file:", "file:a", "file://host/srv/my%20files/a", "http:///srv/my%20files/a", "file:///srv/my%20filesx/a",
		"file:///srv/a", "file:///srv/my%20files/../a", "file:///srv/my%20files/%2e%2e/a", "file:///srv/my%20files/%2E%2E%2Fa",
		"file:///srv/my%20files//etc/passwd", "file:///srv/my%20files/a?b", "file:///srv/my%20files/a#b", "file:///srv/my%20files/%00",
		"file:///srv/x/../my%20files/a", "file:///srv/my%20files/%zz",
	} {
		if got, err := f.pathOf(uri); err == nil {
			t.Errorf("pathOf(%q) = %q, want an error", uri, got)
		}
	}
}

// outward are paths that lead out of the folder, or would if something decoded them
// once more.
var outward = []string{
	"../secret", "a/../../secret", "./../secret", "..", "%2e%2e%2fsecret", "..%2fsecret", `..\secret`, `a\..\..\secret`,
	"/etc/passwd", "//etc/passwd", "file:///etc/passwd", "a\x00", "../secret\x00.txt",
	"out", "outdir/secret", "outdir", "up/secret", "chain",
}

// secretFolder is a folder in which links lead out, beside a secret.
func secretFolder(t testing.TB) string {
	t.Helper()
	dir := files{
		"secret": "SECRET", "in/a/b.txt": "b", "in/out": "-> ../secret", "in/outdir": "-> ..", "in/up": "-> a/../..",
		"in/chain": "-> out", "in/inside": "-> a/b.txt", "in/insidedir": "-> a",
	}.write(t)
	check(t, os.Remove(filepath.Join(dir, "in/out")))
	check(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "in/out"))) // absolute
	return dir
}

// No tool, resource or prompt reaches anything outside of the folder. FEAT-126
func TestNothingLeadsOut(t *testing.T) {
	for _, rev := range eras {
		t.Run(rev, func(t *testing.T) {
			dir := secretFolder(t)
			yes := func(context.Context, *mcp.ClientSession, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			w := connect(t, filepath.Join(dir, "in"), rev, mcp.ClientOptions{Elicit: yes})
			for _, p := range outward {
				for _, tool := range []string{"read_file", "list_directory", "search", "find_file", "checksum", "summarise", "write_file"} {
					if tool == "write_file" && strings.ContainsAny(p, `%\`) && runtime.GOOS != "windows" {
						continue // a name like any other
					}
					got := w.call(tool, only(tool, at{"path": p, "content": "x", "query": "S", "name": "s"}))
					if !strings.HasPrefix(got, "error: ") || strings.Contains(got, "SECRET") || strings.Contains(got, dir) {
						t.Errorf("%s of %q: %s", tool, p, got)
					}
				}
				if !strings.HasPrefix(p, "out") && p != "chain" { // links, which are moved and deleted themselves
					for tool, args := range map[string]at{"delete_file": {"path": p}, "move_file": {"from": p, "to": "new"}} {
						if got := w.call(tool, args); !strings.HasPrefix(got, "error: ") || strings.Contains(got, dir) {
							t.Errorf("%s of %q: %s", tool, p, got)
						}
					}
				}
				if !strings.ContainsAny(p, `%\\`) || runtime.GOOS == "windows" {
					if got := w.call("move_file", at{"from": "a/b.txt", "to": p}); !strings.HasPrefix(got, "error: ") || strings.Contains(got, dir) {
						t.Errorf("move to %q: %s", p, got)
					}
				}
				for _, uri := range []string{w.uri + p, w.uri + url.PathEscape(p), w.uri + "a/" + strings.ReplaceAll(p, ".", "%2E")} {
					if r, err := w.cs.ReadResource(t.Context(), uri); !errors.Is(err, mcp.ErrResourceNotFound) {
						t.Errorf("read of %q: %v, %v", uri, r, err)
					}
					if err := w.cs.Subscribe(t.Context(), uri); err == nil {
						t.Errorf("subscribe to %q went well", uri)
					}
				}
				if r, err := w.cs.GetPrompt(t.Context(), explainFile, map[string]string{"path": p}); err == nil {
					t.Errorf("explain %q: %v", p, r)
				}
				c, err := w.cs.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.CompleteReference{Type: "ref/prompt", Name: explainFile},
					Argument: mcp.CompleteArgument{Name: "path", Value: strings.TrimSuffix(p, "secret")}})
				if err == nil && strings.Contains(fmt.Sprint(c.Values), "secret") {
					t.Errorf("completion of %q: %q", p, c.Values)
				}
			}
			equal(t, "the secret", readFileAt(t, dir, "secret"), "SECRET")
			equal(t, "a link inside", w.call("read_file", at{"path": "inside"}), "b")
			equal(t, "a path through a link inside", w.call("read_file", at{"path": "insidedir/b.txt"}), "b")
		})
	}
}

// only drops what a tool does not take.
func only(tool string, args at) at {
	takes := map[string][]string{"search": {"query"}, "find_file": {"name"}, "write_file": {"content"}}
	some := at{"path": args["path"]}
	for _, name := range takes[tool] {
		some[name] = args[name]
	}
	return some
}

func readFileAt(t testing.TB, dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	check(t, err)
	return string(data)
}

// What no regular file is, and what is too large, is refused.
func TestRefusedFiles(t *testing.T) {
	dir := files{"a/": "", "full": "", "large": ""}.write(t)
	check(t, os.Truncate(filepath.Join(dir, "full"), maxRead))
	check(t, os.Truncate(filepath.Join(dir, "large"), maxRead+1))
	w := connect(t, dir, mcp.Revision20251125, mcp.ClientOptions{})
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	check(t, err)
	defer socket.Close()
	equal(t, "a socket", w.call("read_file", at{"path": "s"}), `error: path "s" is not a regular file`)
	equal(t, "a directory", w.call("read_file", at{"path": "a"}), `error: path "a" is a directory`)
	equal(t, "a large file", w.call("read_file", at{"path": "large"}), `error: file "large" has 10485761 bytes, more than the limit of 10485760`)
	_, err = w.cs.ReadResource(t.Context(), w.uri+"large")
	if err == nil || !strings.Contains(err.Error(), "more than the limit of 10485760") {
		t.Errorf("read of a large resource: %v", err)
	}
	v := w.server.folder.whole()
	data, _, err := v.read("full")
	if len(data) != maxRead || err != nil {
		t.Errorf("read of a file of the most bytes: %d bytes, %v", len(data), err)
	}
}

// walked returns the files that a walk visits after a path, at most n.
func walked(t *testing.T, v *view, dir, after string, n int) []string {
	t.Helper()
	list := []string{}
	check(t, v.walk(t.Context(), dir, after, func(s *spot, info fs.FileInfo, err error) error {
		check(t, err)
		if info.IsDir() {
			return nil
		}
		if len(list) == n {
			return fs.SkipAll
		}
		list = append(list, s.shown)
		return nil
	}))
	return list
}

// A walk goes on where another one ended, also if that place has changed.
func TestWalk(t *testing.T) {
	f, err := openFolder(files{"a/b": "", "a/c/d": "", "a.txt": "", "a-b": "", "b": "", "e/": "", "l": "-> b", "m": "-> a"}.write(t))
	check(t, err)
	defer f.close()
	v := f.whole()
	all := walked(t, v, ".", "", 100)
	equal(t, "all", all, "[a/b a/c/d a-b a.txt b]")
	for i, after := range all {
		equal(t, "after "+after, walked(t, v, ".", after, 100), all[i+1:])
	}
	equal(t, "two after a/b", walked(t, v, ".", "a/b", 2), "[a/c/d a-b]")
	equal(t, "after what is gone", walked(t, v, ".", "a/c/a/x", 100), "[a/c/d a-b a.txt b]")
	equal(t, "after what is a directory now", walked(t, v, ".", "a", 100), all)
	equal(t, "after what is a file now", walked(t, v, ".", "a-b/x", 100), "[a.txt b]")
	equal(t, "below a", walked(t, v, "a", "", 100), "[a/b a/c/d]")
	equal(t, "one file", walked(t, v, "b", "", 100), "[b]")
}

// Requests reach only what lies in the client's roots, not even through links, until
// these change. FEAT-126
func TestRoots(t *testing.T) {
	for _, rev := range eras {
		synctest.Test(t, func(t *testing.T) {
			dir := files{"x": "X", "a/f": "A", "a/link": "-> ../b/f", "a/up": "-> ..", "b/f": "B", "b/c/g": "G", "d/f": "D"}.write(t)
			root := func(p string) *mcp.Root {
				return &mcp.Root{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, p))}).String()}
			}
			w := connect(t, dir, rev, mcp.ClientOptions{Roots: []*mcp.Root{root("b/c"), root("a"), root("b"), {URI: "file:///elsewhere"}}})
			outside := func(p string) string {
				return fmt.Sprintf(`error: path %q is outside of the client's roots, which are ["a" "b"] here`, p)
			}
			for _, c := range []struct{ path, want string }{
				{"a/f", "A"}, {"b/f", "B"}, {"b/c/g", "G"}, {"x", outside("x")}, {"d/f", outside("d/f")}, {".", outside(".")},
				{"a/link", `error: path "a/link": path escapes from parent`}, {"a/up/x", `error: path "a/up/x": path escapes from parent`},
			} {
				equal(t, c.path, w.call("read_file", at{"path": c.path}), c.want)
				_, err := w.cs.ReadResource(t.Context(), w.uri+c.path)
				equal(t, c.path+" as a resource is refused", err != nil, strings.HasPrefix(c.want, "error"))
			}
			equal(t, "write", w.call("write_file", at{"path": "d/new", "content": ""}), outside("d/new"))
			inRoots, changed := "[a/f b/c/g b/f]", "[d/f]"
			modern := rev == mcp.Revision20260728
			if modern { // a client cannot be asked for its roots while it lists, or begins to follow
				inRoots = "[a/f b/c/g b/f d/f x]"
				changed = inRoots
			}
			equal(t, "subscribe", w.cs.Subscribe(t.Context(), w.uri+"d/f") != nil, !modern)
			equal(t, "resources", resourceNames(t, w), inRoots)

			check(t, w.client.SetRoots(root("d")))
			synctest.Wait() // news and requests are handled concurrently
			equal(t, "d/f after a change", w.call("read_file", at{"path": "d/f"}), "D")
			equal(t, "resources after a change", resourceNames(t, w), changed)
			equal(t, "a/f after a change", w.call("read_file", at{"path": "a/f"}), `error: path "a/f" is outside of the client's roots, which are ["d"] here`)
		})
	}
}

func resourceNames(t testing.TB, w *world) []string {
	t.Helper()
	list := []string{}
	for r, err := range w.cs.Resources(t.Context()) {
		check(t, err)
		list = append(list, r.Name)
	}
	return list
}

func TestDirsOf(t *testing.T) {
	dir := files{"in/a/b/": "", "in/c/": "", "link": "-> in", "in/-/": ""}.write(t)
	f, err := openFolder(filepath.Join(dir, "in"))
	check(t, err)
	defer f.close()
	for _, c := range []struct{ roots, want string }{
		{"", "[.]"}, {".", "[.]"}, {"in", "[.]"}, {"link", "[.]"}, {"in/a", "[a]"}, {"link/a/b", "[a/b]"}, {"in/c in/a/b in/a", "[a c]"},
		{"in/- in", "[.]"}, {"other", "[]"}, {"inside", "[]"}, {"in/none", "[none]"}, {"in/a/../../other", "[]"},
	} {
		var roots []*mcp.Root
		for _, r := range strings.Fields(c.roots) {
			roots = append(roots, &mcp.Root{URI: "file://" + filepath.ToSlash(dir) + "/" + r})
		}
		equal(t, c.roots, f.dirsOf(roots), c.want)
	}
	equal(t, "no file: URI", f.dirsOf([]*mcp.Root{{URI: "https://example.com/"}}), "[]")
}

// A client that declares roots and then does not tell them gets nothing.
func TestRootsRefused(t *testing.T) {
	here, there := mcp.Pipe()
	f, err := openFolder(files{"a": "A"}.write(t))
	check(t, err)
	defer f.close()
	done := make(chan error)
	go func() { done <- newServer(f, false, discard).mcp.Run(context.Background(), there) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"0"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"logging/setLevel","id":2,"params":{"level":"emergency"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`,
	} {
		check(t, here.Write([]byte(line)))
	}
	for _, want := range []string{`"id":1,`, `"id":2,`, `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`} {
		line, err := here.Read()
		check(t, err)
		if !strings.Contains(string(line), want) {
			t.Errorf("got %s, want %s", line, want)
		}
	}
	check(t, here.Write([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`)))
	line, err := here.Read()
	check(t, err)
	equal(t, "answer", string(line), `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"asking for the client's roots: mcp: roots/list: no (code -32603)"}],"isError":true}}`)
	check(t, here.Close())
	check(t, <-done)
}
