package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/mcp"
)

func TestReadResource(t *testing.T) {
	dir := files{"a b/ü.md": "# Ü", "a b/c/": "", "x.bin": "\x00", "p.png": png, "empty": ""}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		for _, c := range []struct{ uri, want string }{
			{"a%20b/%C3%BC.md", `,"mimeType":"text/markdown","text":"# Ü"}`},
			{"%61%20b/%c3%bc.md", `,"mimeType":"text/markdown","text":"# Ü"}`},
			{"x.bin", `,"mimeType":"application/octet-stream","blob":"AA=="}`},
			{"p.png", `,"mimeType":"image/png","blob":"` + base64.StdEncoding.EncodeToString([]byte(png)) + `"}`},
			{"empty", `,"mimeType":"text/plain","text":""}`},
			{"a%20b", `,"mimeType":"inode/directory","text":"c/\nü.md\n"}`},
			{"a%20b/", `,"mimeType":"inode/directory","text":"c/\nü.md\n"}`},
			{"a%20b/c/", `,"mimeType":"inode/directory","text":""}`},
			{"", `,"mimeType":"inode/directory","text":"a b/\nempty\np.png\nx.bin\n"}`},
		} {
			r, err := w.cs.ReadResource(t.Context(), w.uri+c.uri)
			check(t, err)
			equal(t, rev+" "+c.uri, contentJSON(t, r.Contents), `[{"uri":"`+w.uri+c.uri+`"`+c.want+`]`)
		}
		code := mcp.CodeResourceNotFound
		if rev == mcp.Revision20260728 {
			code = mcp.CodeInvalidParams
		}
		for _, uri := range []string{w.uri + "none", w.uri + "p.png/x", "file:///etc/passwd", "https://example.com/", strings.TrimSuffix(w.uri, "/") + "x"} {
			_, err := w.cs.ReadResource(t.Context(), uri)
			var e *mcp.Error
			if !errors.As(err, &e) || e.Code != code {
				t.Errorf("read of %q: %v", uri, err)
			}
		}
	}
}

// Pages are full, and a cursor stays good while files come and go.
func TestResourcePages(t *testing.T) {
	many := files{"z/last": ""}
	var want []string
	for i := range listPage + 1 {
		p := fmt.Sprintf("d%d/%04d", i/100, i)
		many[p] = ""
		want = append(want, p)
	}
	slices.SortFunc(want, comparePaths)
	want = append(want, "z/last")
	dir := many.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		equal(t, "all", resourceNames(t, w), want)
		first, err := w.cs.ListResources(t.Context(), nil)
		check(t, err)
		equal(t, "length of the first page", len(first.Resources), listPage)
		check(t, os.Rename(filepath.Join(dir, want[listPage-1]), filepath.Join(dir, "0")))
		second, err := w.cs.ListResources(t.Context(), first.NextCursor)
		check(t, err)
		check(t, os.Rename(filepath.Join(dir, "0"), filepath.Join(dir, want[listPage-1])))
		equal(t, "second page", len(second.Resources), 2)
		equal(t, "second page", second.Resources[0].Name+" "+second.Resources[1].Name, want[listPage]+" z/last")
		equal(t, "cursor after it", second.NextCursor == nil, true)
	}
}

func TestWrongCursors(t *testing.T) {
	w := connect(t, files{"a": ""}.write(t), mcp.Revision20251125, mcp.ClientOptions{})
	for _, cursor := range []string{"", "?", "YQ=", base64.RawURLEncoding.EncodeToString([]byte("../a")), base64.RawURLEncoding.EncodeToString([]byte("."))} {
		_, err := w.cs.ListResources(t.Context(), &cursor)
		equal(t, cursor, err, fmt.Sprintf(`mcp: resources/list: resources/list: cursor %q is not one of this list (code -32602)`, cursor))
	}
}

func TestComplete(t *testing.T) {
	dir := files{"docs/a.md": "", "docs/api/x": "", "docs/b.md": "", "doc.txt": "", "l": "-> docs"}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		template := mcp.CompleteReference{Type: "ref/resource", URI: w.uri + "{+path}"}
		explain := mcp.CompleteReference{Type: "ref/prompt", Name: explainFile}
		review := mcp.CompleteReference{Type: "ref/prompt", Name: reviewFolder}
		for _, c := range []struct {
			ref              mcp.CompleteReference
			arg, typed, want string
		}{
			{ref: template, arg: "path", typed: "", want: "[doc.txt docs/]"},
			{ref: template, arg: "path", typed: "docs", want: "[docs/]"},
			{ref: template, arg: "path", typed: "docs/", want: "[docs/a.md docs/api/ docs/b.md]"},
			{ref: explain, arg: "path", typed: "docs/a", want: "[docs/a.md docs/api/]"},
			{ref: explain, arg: "path", typed: "x", want: "[]"},
			{ref: explain, arg: "path", typed: "none/", want: "[]"},
			{ref: explain, arg: "path", typed: "../", want: "[]"},
			{ref: review, arg: "path", typed: "do", want: "[docs/]"},
			{ref: review, arg: "depth", typed: "", want: "[1 2 3 4 5]"},
			{ref: review, arg: "depth", typed: "3", want: "[3]"},
		} {
			got, err := w.cs.Complete(t.Context(), &mcp.CompleteParams{Ref: c.ref, Argument: mcp.CompleteArgument{Name: c.arg, Value: c.typed}})
			check(t, err)
			equal(t, fmt.Sprint(rev, c.ref, c.typed), got.Values, c.want)
		}
	}
}

// Completion shows the way to what can be reached.
func TestCompleteInRoots(t *testing.T) {
	dir := files{"a/b/x": "", "a/c": "", "d": ""}.write(t)
	w := connect(t, dir, mcp.Revision20251125, mcp.ClientOptions{Roots: []*mcp.Root{{URI: "file://" + dir + "/a/b"}}})
	for typed, want := range map[string]string{"": "[a/b/]", "a/": "[a/b/]", "a/b/": "[a/b/ a/b/x]", "d": "[]"} {
		got, err := w.cs.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.CompleteReference{Type: "ref/prompt", Name: explainFile},
			Argument: mcp.CompleteArgument{Name: "path", Value: typed}})
		check(t, err)
		equal(t, typed, got.Values, want)
	}
}

// The first page of a folder with 100,000 files, in one directory and in many.
func BenchmarkFirstPage(b *testing.B) {
	for _, c := range []struct {
		name string
		dirs int
	}{{"flat", 1}, {"nested", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			for i := range c.dirs {
				check(b, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o755))
			}
			for i := range 100_000 {
				check(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(i%c.dirs), fmt.Sprint(i)), nil, 0o644))
			}
			w := connect(b, dir, mcp.Revision20251125, mcp.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
			for b.Loop() {
				page, err := w.cs.ListResources(b.Context(), nil)
				check(b, err)
				if len(page.Resources) != listPage {
					b.Fatalf("%d resources", len(page.Resources))
				}
			}
		})
	}
}

// A page reads no more directories than it needs, also where these are empty, and all
// pages together hold every file once.
func TestPageIsBounded(t *testing.T) {
	for _, c := range []struct {
		name                  string
		dirs, files, readable int // readable: the most directories of a page
		pages                 int
	}{
		{"full", 75, 20, 52, 2},
		{"empty", 2100, 0, listDirs, 2},
	} {
		dir := largeTree(t, c.dirs, c.files)
		w := connect(t, dir, mcp.Revision20251125, mcp.ClientOptions{})
		var log bytes.Buffer
		w.server.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		seen := map[string]bool{}
		var cursor *string
		pages := 0
		for pages == 0 || cursor != nil {
			log.Reset()
			page, err := w.cs.ListResources(t.Context(), cursor)
			check(t, err)
			for _, r := range page.Resources {
				if seen[r.Name] {
					t.Fatalf("%s is there twice", r.Name)
				}
				seen[r.Name] = true
			}
			var files, dirs int
			_, err = fmt.Sscanf(log.String()[strings.Index(log.String(), "files="):], "files=%d directories=%d", &files, &dirs)
			check(t, err)
			if dirs > c.readable || files != len(page.Resources) {
				t.Errorf("%s: a page of %d files read %d directories, want at most %d", c.name, files, dirs, c.readable)
			}
			cursor = page.NextCursor
			pages++
		}
		equal(t, c.name+": files", len(seen), c.dirs*c.files)
		equal(t, c.name+": pages", pages, c.pages)
	}
}

// What is nearly a cursor is none.
func TestCursorOfList(t *testing.T) {
	for _, c := range []struct{ params, want, err string }{
		{`{}`, "", ""},
		{`{"cursor":null}`, "", ""},
		{`{"Cursor":"YQ"}`, "", ""},
		{`{"cursor":"YQ","CURSOR":"Yg"}`, "a", ""},
		{`{"cursor":1}`, "", "cursor must be a string, not 1"},
		{`{"cursor":"a/.."}`, "", `cursor "a/.." is not one of this list`},
	} {
		after, err := listedBefore([]byte(c.params))
		equal(t, c.params, after, c.want)
		equal(t, c.params, fmt.Sprint(err), cmp.Or(c.err, "<nil>"))
	}
}
