package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/mcp"
)

// contentJSON returns content as JSON, with all that the newest revision has.
func contentJSON(t testing.TB, content any) string {
	t.Helper()
	b, err := json.Marshal(content)
	check(t, err)
	return string(b)
}

func TestReadFile(t *testing.T) {
	dir := files{"a.md": "# Ä\n", "empty": "", "p.PNG": png, "s.wav": "RIFF\x00\x00", "x.bin": "\x00\xff", "s.svg": "<svg/>", "latin1.txt": "\xe4", "u.csv": "\xff\xfea\x00"}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		annotations := `,"annotations":{"lastModified":"2025-01-02T03:04:05Z"}`
		if rev == eras[0] {
			annotations = `,"annotations":{}`
		}
		audio := `{"type":"audio","data":"UklGRgAA","mimeType":"audio/wav"}`
		if rev == eras[0] {
			audio = `{"type":"text","text":"[audio, audio/wav, 6 bytes]"}`
		}
		for _, c := range []struct{ path, want string }{
			{"a.md", `{"type":"text","text":"# Ä\n"` + annotations + `}`},
			{"s.svg", `{"type":"text","text":"\u003csvg/\u003e"` + annotations + `}`},
			{"empty", `{"type":"text","text":""` + annotations + `}`},
			{"p.PNG", `{"type":"image","data":"` + base64.StdEncoding.EncodeToString([]byte(png)) + `","mimeType":"image/png"}`},
			{"s.wav", audio},
			{"x.bin", `{"type":"resource","resource":{"uri":"` + w.uri + `x.bin","mimeType":"application/octet-stream","blob":"AP8="}` + annotations + `}`},
			{"latin1.txt", `{"type":"resource","resource":{"uri":"` + w.uri + `latin1.txt","mimeType":"text/plain","blob":"5A=="}` + annotations + `}`},
			{"u.csv", `{"type":"resource","resource":{"uri":"` + w.uri + `u.csv","mimeType":"text/csv; charset=utf-16le","blob":"//5hAA=="}` + annotations + `}`},
		} {
			r, err := w.cs.CallTool(t.Context(), "read_file", at{"path": c.path})
			check(t, err)
			equal(t, rev+" "+c.path, contentJSON(t, r.Content), "["+c.want+"]")
		}
		equal(t, "missing", w.call("read_file", at{"path": "no/such"}), `error: path "no/such": no such file or directory`)
		if got := w.call("read_file", at{}); !strings.HasPrefix(got, `error: invalid arguments for tool "read_file": `) {
			t.Errorf("without a path: %s", got)
		}
	}
}

func TestListDirectory(t *testing.T) {
	dir := files{"b.txt": "bb", "a/x": "", "l": "-> b.txt"}.write(t)
	check(t, os.Chtimes(filepath.Join(dir, "a"), then, then))
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		for _, args := range []any{at{"path": "a/"}, at{"path": "./a"}} {
			equal(t, "a", w.call("list_directory", args),
				`{"path":"a","entries":[{"name":"x","kind":"file","size":0,"modified":"2025-01-02T03:04:05Z"}],"truncated":false}`)
		}
		got := w.call("list_directory", nil)
		for _, want := range []string{`{"path":".","entries":[{"name":"a","kind":"directory","size":0,`, `{"name":"b.txt","kind":"file","size":2,`, `{"name":"l","kind":"link","size":0,`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s, want %s in it", got, want)
			}
		}
		equal(t, "a file", w.call("list_directory", at{"path": "b.txt"}), `error: path "b.txt": not a directory`)
	}
}

func TestListDirectoryEndsSomewhere(t *testing.T) {
	many := files{}
	for i := range maxEntries + 1 {
		many[fmt.Sprintf("%04d", i)] = ""
	}
	w := connect(t, many.write(t), mcp.Revision20251125, mcp.ClientOptions{})
	r, err := w.cs.CallTool(t.Context(), "list_directory", nil)
	check(t, err)
	var l listing
	check(t, json.Unmarshal(r.StructuredContent, &l))
	equal(t, "entries", len(l.Entries), maxEntries)
	equal(t, "truncated", l.Truncated, true)
}

func TestFindFile(t *testing.T) {
	dir := files{"main.go": "12345", "a/main_test.go": "", "a/b/x[1].txt": "", "maingo": ""}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		link := func(p, mime string, size int) string {
			if rev == eras[0] {
				return fmt.Sprintf(`{"type":"text","text":"[resource %s: %s]","annotations":{}}`, p, w.server.folder.uri(p))
			}
			return fmt.Sprintf(`{"type":"resource_link","uri":"%s","name":"%s","mimeType":"%s","size":%d,"annotations":{"lastModified":"2025-01-02T03:04:05Z"}}`,
				w.server.folder.uri(p), p, mime, size)
		}
		for _, c := range []struct {
			args at
			want string
		}{
			{at{"name": "main."}, "[" + link("main.go", "text/x-go", 5) + "]"},
			{at{"name": "main*.go"}, "[" + link("a/main_test.go", "text/x-go", 0) + "," + link("main.go", "text/x-go", 5) + "]"},
			{at{"name": "main*.go", "path": "a"}, "[" + link("a/main_test.go", "text/x-go", 0) + "]"},
			{at{"name": "none"}, `[{"type":"text","text":"no file has a name like \"none\""}]`},
			{at{"name": "[x"}, `[{"type":"text","text":"pattern \"[x\": syntax error in pattern"}]`},
		} {
			r, err := w.cs.CallTool(t.Context(), "find_file", c.args)
			check(t, err)
			equal(t, fmt.Sprint(rev, c.args), contentJSON(t, r.Content), c.want)
		}
	}
}

func TestSearch(t *testing.T) {
	long := strings.Repeat("ä", maxLine)
	dir := files{"a/1.txt": "one\r\nTwo two\nthree", "a/2.bin": "two\x00", "b.md": "two.\n" + "x" + long + "two", "c": ""}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		for _, c := range []struct {
			args at
			want string
		}{
			{at{"query": "two"}, `{"matches":[{"path":"a/1.txt","line":2,"text":"Two two"},{"path":"b.md","line":1,"text":"two."},{"path":"b.md","line":2,"text":"x` + long[2:] + `"}],"files":3,"skipped":1,"truncated":false}`},
			{at{"query": "two."}, `{"matches":[{"path":"b.md","line":1,"text":"two."}],"files":3,"skipped":1,"truncated":false}`},
			{at{"query": "^t.*e$", "regexp": true, "path": "a"}, `{"matches":[{"path":"a/1.txt","line":3,"text":"three"}],"files":1,"skipped":1,"truncated":false}`},
			{at{"query": "one$", "regexp": true, "path": "a/1.txt"}, `{"matches":[{"path":"a/1.txt","line":1,"text":"one"}],"files":1,"skipped":0,"truncated":false}`},
			{at{"query": "two", "max": 1}, `{"matches":[{"path":"a/1.txt","line":2,"text":"Two two"}],"files":2,"skipped":1,"truncated":true}`},
			{at{"query": "none"}, `{"matches":[],"files":3,"skipped":1,"truncated":false}`},
			{at{"query": "(", "regexp": true}, "error: query: error parsing regexp: missing closing ): `(`"},
			{at{"query": `\pL{999}`, "regexp": true}, "error: query: a regular expression of 1001 instructions, more than the limit of 1000"},
			{at{"query": strings.Repeat("x{1000}", 500), "regexp": true}, "error: query: a regular expression of 500000 instructions, more than the limit of 1000"},
			{at{"query": strings.Repeat("x", 2000)}, `{"matches":[],"files":3,"skipped":1,"truncated":false}`},
			{at{"query": strings.Repeat("x", 2000), "ignoreCase": true}, "error: query: a regular expression of 2002 instructions, more than the limit of 1000"},
			{at{"query": strings.Repeat("x", maxQuery+1)}, "error: query: 4097 bytes, more than the limit of 4096"},
			{at{"query": "x", "path": "zzz"}, `error: path "zzz": no such file or directory`},
			{at{"query": "x", "max": 0}, `error: invalid arguments for tool "search": /max: want at least 1, got 0`},
		} {
			equal(t, fmt.Sprint(rev, c.args), w.call("search", c.args), c.want)
		}
	}
}

// A search reports each file that it has seen.
func TestSearchProgress(t *testing.T) {
	dir := files{"a/1": "", "b": "\x00", "c": ""}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		var heard []string
		cs := w.cs.With(mcp.CallOptions{Progress: func(p mcp.Progress) { heard = append(heard, fmt.Sprintf("%v of %v: %s", p.Value, p.Total, p.Message)) }})
		_, err := cs.CallTool(t.Context(), "search", at{"query": "x"})
		check(t, err)
		want := "[1 of 0: a/1 2 of 0: b 3 of 0: c]"
		if rev == eras[0] {
			want = "[1 of 0:  2 of 0:  3 of 0: ]"
		}
		equal(t, rev, heard, want)
	}
}

// A walk ends when its request is cancelled.
func TestCancel(t *testing.T) {
	f, err := openFolder(files{"a": "", "b": ""}.write(t))
	check(t, err)
	defer f.close()
	v := f.whole()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	err = v.walk(ctx, ".", "", nil)
	equal(t, "walk", err, why)
	n, err := (&summing{ctx: ctx}).Write([]byte("x"))
	equal(t, "checksum", fmt.Sprint(n, err), "0 enough")
}

func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func TestChecksum(t *testing.T) {
	dir := files{"a/1": "one", "a/b/2": "two", "c": "three"}.write(t)
	for _, rev := range eras {
		w := connect(t, dir, rev, mcp.ClientOptions{})
		sums := func(hash string, n, size int) string {
			return fmt.Sprintf(`{"sha256":"%s","files":%d,"bytes":%d}`, hash, n, size)
		}
		equal(t, "file", w.call("checksum", at{"path": "c"}), sums(hashOf("three"), 1, 5))
		equal(t, "a", w.call("checksum", at{"path": "a/"}), sums(hashOf(hashOf("one")+"  1\n"+hashOf("two")+"  b/2\n"), 2, 6))
		equal(t, "all", w.call("checksum", nil), sums(hashOf(hashOf("one")+"  a/1\n"+hashOf("two")+"  a/b/2\n"+hashOf("three")+"  c\n"), 3, 11))
		var heard []string
		cs := w.cs.With(mcp.CallOptions{Progress: func(p mcp.Progress) { heard = append(heard, fmt.Sprintf("%v of %v", p.Value, p.Total)) }})
		_, err := cs.CallTool(t.Context(), "checksum", nil)
		check(t, err)
		equal(t, "progress", heard, "[3 of 11 6 of 11 11 of 11]")
	}
}

// The checksum of a tree that cannot be read whole is an error, not another number.
func TestChecksumOfUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("everything can be read here")
	}
	dir := files{"a/1": "one"}.write(t)
	check(t, os.Chmod(filepath.Join(dir, "a"), 0))
	defer os.Chmod(filepath.Join(dir, "a"), 0o755)
	w := connect(t, dir, mcp.Revision20251125, mcp.ClientOptions{})
	equal(t, "checksum", w.call("checksum", nil), `error: path "a": permission denied`)
}

// The client's model gets the file.
func TestSummarise(t *testing.T) {
	dir := files{"a.txt": "Once.", "p.png": png, "x.bin": "\x00", "long.txt": strings.Repeat("x", maxSummarise+1)}.write(t)
	for _, rev := range eras {
		var asked string
		w := connect(t, dir, rev, mcp.ClientOptions{Sample: func(_ context.Context, _ *mcp.ClientSession, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			equal(t, "system prompt", p.SystemPrompt, summariseSystem)
			asked = contentJSON(t, p.Messages[0])
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "It is short."}}}, nil
		}})
		equal(t, "answer", w.call("summarise", at{"path": "a.txt"}), "It is short.")
		equal(t, "question", asked, `{"role":"user","content":{"type":"text","text":"Summarise the file \"a.txt\":\n\nOnce."}}`)
		equal(t, "answer", w.call("summarise", at{"path": "p.png"}), "It is short.")
		equal(t, "question", asked, `{"role":"user","content":{"type":"image","data":"`+base64.StdEncoding.EncodeToString([]byte(png))+`","mimeType":"image/png"}}`)
		equal(t, "binary", w.call("summarise", at{"path": "x.bin"}), `error: file "x.bin" of type application/octet-stream is neither text nor a picture nor sound`)
		equal(t, "long", w.call("summarise", at{"path": "long.txt"}), `error: file "long.txt" has 262145 bytes, more than the limit of 262144`)
		equal(t, "no model", connect(t, dir, rev, mcp.ClientOptions{}).call("summarise", at{"path": "a.txt"}), "error: mcp: the client did not declare sampling")
	}
}

// The checksum of much is a task, which begins when the roots are known and ends when it
// is cancelled. That of little is answered at once, unless the client wants a task. FEAT-427
func TestChecksumTask(t *testing.T) {
	dir := files{"big": "", "in/small": "one"}.write(t)
	check(t, os.Truncate(filepath.Join(dir, "big"), taskSize+1)) // sparse
	for _, rev := range eras[1:] {
		w := connect(t, dir, rev, mcp.ClientOptions{Roots: []*mcp.Root{{URI: "file://" + dir}}})
		for _, err := range w.cs.Tools(t.Context()) { // which tells what may be a task
			check(t, err)
		}
		task, result, err := w.cs.StartTool(t.Context(), "checksum", at{"path": "big"}, 0)
		check(t, err)
		if task == nil {
			t.Fatalf("%s: no task but %v", rev, result)
		}
		state, err := w.cs.Task(task.ID).Get(t.Context())
		check(t, err)
		equal(t, rev, state.Status, mcp.TaskWorking)
		check(t, task.Cancel(t.Context()))
		state, err = task.Get(t.Context())
		check(t, err)
		equal(t, rev, state.Status, mcp.TaskCancelled)

		task, result, err = w.cs.StartTool(t.Context(), "checksum", at{"path": "in"}, 0)
		check(t, err)
		equal(t, rev+": there is a task", task != nil, rev == mcp.Revision20251125)
		if task != nil {
			result, err = task.Result(t.Context())
			check(t, err)
		}
		equal(t, rev, result.Text(), fmt.Sprintf(`{"sha256":"%s","files":1,"bytes":3}`, hashOf(hashOf("one")+"  small\n")))
	}
}
