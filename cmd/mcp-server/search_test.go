package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/mcp"
)

// Lines around a match are given once for each match, and end with the file.
func TestSearchOptions(t *testing.T) {
	dir := files{"a.go": "one\ntwo\nthree\ntwo\nfive\nsix\n", "b/a_test.go": "TWO\n", "b/c.md": "two"}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		rest := func(files int, truncated bool) string {
			return fmt.Sprintf(`],"files":%d,"skipped":0,"truncated":%v}`, files, truncated)
		}
		first := `{"matches":[{"path":"a.go","line":2,"text":"two","before":["one"],"after":["three"]}`
		for _, c := range []struct {
			args at
			want string
		}{
			{at{"query": "two", "context": 1, "path": "a.go"}, first + `,{"path":"a.go","line":4,"text":"two","before":["three"],"after":["five"]}` + rest(1, false)},
			{at{"query": "two", "context": 1, "max": 1}, first + rest(1, true)},
			{at{"query": "six", "context": 2}, `{"matches":[{"path":"a.go","line":6,"text":"six","before":["two","five"]}` + rest(3, false)},
			{at{"query": "one", "context": 2}, `{"matches":[{"path":"a.go","line":1,"text":"one","after":["two","three"]}` + rest(3, false)},
			{at{"query": "two", "ignoreCase": true, "globs": []string{"*.go", "!a.go"}}, `{"matches":[{"path":"b/a_test.go","line":1,"text":"TWO"}` + rest(1, false)},
			{at{"query": "T.O", "regexp": true, "ignoreCase": true, "globs": []string{"b/**"}},
				`{"matches":[{"path":"b/a_test.go","line":1,"text":"TWO"},{"path":"b/c.md","line":1,"text":"two"}` + rest(2, false)},
			{at{"query": "t.o", "ignoreCase": true}, `{"matches":[` + rest(3, false)},
			{at{"query": "two", "globs": []string{"!*.go"}}, `{"matches":[{"path":"b/c.md","line":1,"text":"two"}` + rest(1, false)},
			{at{"query": "two", "globs": []string{"[z"}}, `error: globs: pattern "[z": syntax error in pattern`},
			{at{"query": "two", "context": 11}, `error: invalid arguments for tool "search": /context: want at most 10, got 11`},
		} {
			equal(t, fmt.Sprint(rev, c.args), w.call("search", c.args), c.want)
		}
	}
}

// What is binary is found out early, and text that JSON cannot carry, too.
func TestSearchSkipsBinary(t *testing.T) {
	dir := files{"early": "two\x00" + strings.Repeat("x", sniffed), "late": strings.Repeat("x\n", sniffed) + "\x00two", "latin1": "two\xe4",
		"utf16": "\xff\xfet\x00w\x00o\x00", "long": strings.Repeat("x", 3*maxQuick) + "two", "large": ""}.write(t)
	check(t, os.Truncate(filepath.Join(dir, "large"), maxRead+1))
	w := connect(t, dir, mcp.Revision20251125, mcp.ClientOptions{})
	equal(t, "search", w.call("search", at{"query": "t[w]o$", "regexp": true}),
		`{"matches":[{"path":"long","line":1,"text":"`+strings.Repeat("x", maxLine)+`"}],"files":1,"skipped":5,"truncated":false}`)
}

// A search of one line that takes minutes ends soon after it is cancelled.
func TestSearchEndsWhenCancelled(t *testing.T) {
	dir := files{"long": strings.Repeat("a", maxRead)}.write(t)
	f := opened(t, dir, options{})
	defer f.close()
	re, err := compile("(a*b|a?a?c|[ab]*d){9}e", true, false)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(100*time.Millisecond, cancel)
	defer timer.Stop()
	at, err := f.whole().find("long", true)
	check(t, err)
	defer at.close()
	s := &searching{ctx: ctx, re: re, limit: 1, out: &searchOutput{}, head: make([]byte, sniffed)}
	equal(t, "error", s.file(at), context.Canceled)
}

// The search of a large tree tells how far it is all the time, and ends soon after it is
// cancelled. FEAT-008
func TestSearchOfLargeTree(t *testing.T) {
	dir := largeTree(t, 10, 100)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		heard := 0
		cs := w.cs.With(mcp.CallOptions{Progress: func(p mcp.Progress) {
			if heard++; heard == 10 {
				cancel()
			}
		}})
		_, err := cs.CallTool(ctx, "search", at{"query": "none"})
		equal(t, rev, err != nil && ctx.Err() != nil, true)
	}
}

// largeTree makes directories with empty files and returns the folder.
func largeTree(t testing.TB, dirs, filesInEach int) string {
	t.Helper()
	dir := t.TempDir()
	for d := range dirs {
		in := filepath.Join(dir, fmt.Sprintf("%05d", d))
		check(t, os.Mkdir(in, 0o755))
		for i := range filesInEach {
			f, err := os.Create(filepath.Join(in, fmt.Sprintf("%05d", i)))
			check(t, err)
			check(t, f.Close())
		}
	}
	return dir
}

// A search of 100,000 files that finds nothing.
func BenchmarkSearch(b *testing.B) {
	w := connect(b, largeTree(b, 1000, 100), mcp.Revision20251125, mcp.ClientOptions{})
	for b.Loop() {
		r, err := w.cs.CallTool(b.Context(), "search", at{"query": "none"})
		check(b, err)
		var out searchOutput
		check(b, json.Unmarshal(r.StructuredContent, &out))
		equal(b, "files", out.Files, 100_000)
	}
}
