package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.com/mcp"
)

// answering is a client whose person answers all questions alike, after f.
func answering(action string, questions *[]string, f func()) mcp.ClientOptions {
	return mcp.ClientOptions{Elicit: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		*questions = append(*questions, p.Message)
		if f != nil {
			f()
		}
		return &mcp.ElicitResult{Action: action}, nil
	}}
}

func namesAt(t testing.TB, dir string) []string {
	entries, err := os.ReadDir(dir)
	check(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A new file is written without a question, also by clients that cannot ask.
func TestWriteNewFile(t *testing.T) {
	for _, rev := range eras {
		w := connect(t, files{}.write(t), rev, mcp.ClientOptions{})
		equal(t, "result", w.call("write_file", at{"path": "a/b/c.txt", "content": "Ä\n"}), "Wrote 3 bytes to a/b/c.txt.")
		equal(t, "file", w.read("a/b/c.txt"), "Ä\n")
		equal(t, "directory", namesAt(t, filepath.Join(w.dir, "a/b")), "[c.txt]")
	}
}

func TestWriteExistingFile(t *testing.T) {
	for _, c := range []struct{ action, result, text string }{
		{"accept", "Wrote 3 bytes to f.", "new"},
		{"decline", "The person refused: f was not changed.", "older"},
		{"cancel", "The person refused: f was not changed.", "older"},
	} {
		for _, rev := range eras[1:] {
			var questions []string
			w := connect(t, files{"f": "older"}.write(t), rev, answering(c.action, &questions, nil))
			check(t, os.Chmod(filepath.Join(w.dir, "f"), 0o666)) // more than a new file gets
			equal(t, c.action, w.call("write_file", at{"path": "f", "content": "new"}), c.result)
			equal(t, c.action, w.read("f"), c.text)
			equal(t, "questions", questions, "[Replace the file \"f\" (5 bytes) by a new text of 3 bytes?\n- older (no line feed)\n+ new (no line feed)]")
			equal(t, "directory", namesAt(t, w.dir), "[f]")
			info, err := os.Stat(filepath.Join(w.dir, "f"))
			check(t, err)
			if runtime.GOOS != "windows" {
				equal(t, "mode", info.Mode(), "-rw-rw-rw-")
			}
		}
	}
}

// Where nobody can be asked nothing is destroyed.
func TestNobodyToAsk(t *testing.T) {
	for _, rev := range eras {
		w := connect(t, files{"f": "older"}.write(t), rev, mcp.ClientOptions{})
		refused := "error: this needs the person's consent: mcp: the client did not declare elicitation.form"
		if rev == mcp.Revision20260728 {
			refused = "error: mcp: the client did not declare elicitation.form"
		}
		equal(t, "write", w.call("write_file", at{"path": "f", "content": "new"}), refused)
		equal(t, "delete", w.call("delete_file", at{"path": "f"}), refused)
		equal(t, "file", w.read("f"), "older")
	}
}

// What changes while the person thinks is not what they agreed to.
func TestChangedMeanwhile(t *testing.T) {
	dir := files{"f": "older", "g": "older"}.write(t)
	var questions []string
	meddle := func() {
		for _, name := range []string{"f", "g"} {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte("somebody's"), 0o644))
			check(t, os.Chtimes(filepath.Join(dir, name), then, then))
		}
	}
	w := connect(t, dir, mcp.Revision20251125, answering("accept", &questions, meddle))
	equal(t, "write", w.call("write_file", at{"path": "f", "content": "new"}), `error: path "f": it was changed by somebody else meanwhile`)
	check(t, os.WriteFile(filepath.Join(dir, "g"), nil, 0o644))
	equal(t, "delete", w.call("delete_file", at{"path": "g"}), `error: path "g": it was changed by somebody else meanwhile`)
	equal(t, "directory", namesAt(t, dir), "[f g]")
	equal(t, "file", w.read("f"), "somebody's")

	// The handler that runs again with the answer sees another file: it asks again.
	check(t, os.WriteFile(filepath.Join(dir, "f"), []byte("older"), 0o644))
	questions = nil
	w = connect(t, dir, mcp.Revision20260728, answering("accept", &questions, meddle))
	equal(t, "write", w.call("write_file", at{"path": "f", "content": "new"}), "Wrote 3 bytes to f.")
	equal(t, "questions", questions, "[Replace the file \"f\" (5 bytes) by a new text of 3 bytes?\n- older (no line feed)\n+ new (no line feed) "+
		"Replace the file \"f\" (10 bytes) by a new text of 3 bytes?\n- somebody's (no line feed)\n+ new (no line feed)]")
}

func TestDeleteFile(t *testing.T) {
	for _, c := range []struct{ action, result, left string }{
		{"accept", "Deleted d/f.", "[]"},
		{"decline", "The person refused: d/f was not deleted.", "[f]"},
	} {
		for _, rev := range eras[1:] {
			var questions []string
			w := connect(t, files{"d/f": "older"}.write(t), rev, answering(c.action, &questions, nil))
			equal(t, c.action, w.call("delete_file", at{"path": "d/f"}), c.result)
			equal(t, "left", namesAt(t, filepath.Join(w.dir, "d")), c.left)
			equal(t, "questions", questions, `[Delete the file "d/f" (5 bytes)?]`)
			equal(t, "nothing", w.call("delete_file", at{"path": "none"}), `error: path "none": no such file or directory`)
		}
	}
}

// A link is not written through, and is deleted itself, wherever it leads.
func TestLinksAreNotFollowed(t *testing.T) {
	for _, rev := range eras[1:] {
		dir := files{"secret": "SECRET", "in/a": "A", "in/out": "-> ../secret", "in/dir": "-> ..", "in/inside": "-> a"}.write(t)
		var questions []string
		w := connect(t, filepath.Join(dir, "in"), rev, answering("accept", &questions, nil))
		for _, name := range []string{"out", "inside"} {
			equal(t, "write", w.call("write_file", at{"path": name, "content": "x"}), `error: path "`+name+`" is a link, not a file`)
		}
		equal(t, "write below", w.call("write_file", at{"path": "dir/new", "content": "x"}), `error: path "dir/new": path escapes from parent`)
		equal(t, "delete below", w.call("delete_file", at{"path": "dir/secret"}), `error: path "dir/secret": path escapes from parent`)
		equal(t, "delete", w.call("delete_file", at{"path": "out"}), "Deleted out.")
		equal(t, "the secret", readFileAt(t, dir, "secret"), "SECRET")
		equal(t, "directory", namesAt(t, dir), "[in secret]")
		if slices.Contains(namesAt(t, w.dir), "out") {
			t.Error("the link is still there")
		}
	}
}

func TestMoveFile(t *testing.T) {
	for _, c := range []struct{ from, to, question, result string }{
		{"f", "g", `Move the file "f" (5 bytes) to "g"?`, "Moved f to g."},
		{"f", "d/new/deep/g", `Move the file "f" (5 bytes) to "d/new/deep/g"? The directory "d/new/deep" is made for it.`, "Moved f to d/new/deep/g."},
		{"link", "d/link", `Move the link "link" to "d/link"?`, "Moved link to d/link."},
		{"d", "e", `Move the directory "d" with all that is in it (entries: 3) to "e"?`, "Moved d to e."},
		{"empty", "d/empty", `Move the empty directory "empty" to "d/empty"?`, "Moved empty to d/empty."},
		{"f", "d/x", "", `error: path "d/x" exists already, and is not replaced`},
		{"f", "link", "", `error: path "link" exists already, and is not replaced`},
		{"f", "empty", "", `error: path "empty" exists already, and is not replaced`},
		{"f", "f", "", `error: path "f" cannot be moved to "f", which is in it or the same`},
		{"d", "d/y/d", "", `error: path "d" cannot be moved to "d/y/d", which is in it or the same`},
		{"f", "link/g", "", `error: path "link/g": not a directory`},
		{"none", "g", "", `error: path "none": no such file or directory`},
		{".", "g", "", `error: path "." is the top of what may be changed`},
		{"f", "../g", "", `error: path "../g" must not contain ".."`},
		{"f", ".git/g", "", `error: path ".git/g": hidden by the server's pattern ".git"`},
	} {
		for _, rev := range eras[1:] {
			var questions []string
			f := opened(t, files{"f": "older", "link": "-> f", "d/x": "X", "d/y/z": "Z", "empty/": ""}.write(t), options{})
			w := connectTo(t, f, rev, answering("accept", &questions, nil))
			equal(t, c.from, w.call("move_file", at{"from": c.from, "to": c.to}), c.result)
			if c.question == "" {
				equal(t, "questions", questions, "[]")
				equal(t, "file", w.read("f")+w.read("d/x"), "olderX")
				continue
			}
			equal(t, "questions", questions, "["+c.question+"]")
			if _, err := os.Lstat(filepath.Join(w.dir, c.from)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there: %v", c.from, err)
			}
			if _, err := os.Lstat(filepath.Join(w.dir, c.to)); err != nil {
				t.Errorf("%s is not there: %v", c.to, err)
			}
		}
	}
}

// What the person has not agreed to does not happen: not after a refusal, and not after a
// change meanwhile, of the file, of what is in the directory, or of the place.
func TestMoveIsNoticed(t *testing.T) {
	dir := files{"f": "older", "d/x/y": "Y"}.write(t)
	var questions []string
	w := connect(t, dir, mcp.Revision20251125, answering("decline", &questions, nil))
	equal(t, "refused", w.call("move_file", at{"from": "f", "to": "g"}), "The person refused: f was not moved.")
	for _, c := range []struct {
		from, to, change string
		want             string
	}{
		{"f", "g", "f", `error: path "f": it was changed by somebody else meanwhile`},
		{"f", "g", "g", `error: path "f": path "g" exists already, and is not replaced`},
		{"d", "e", "d/x/y", `error: path "d": it was changed by somebody else meanwhile`},
		{"d", "e", "d/x/new", `error: path "d": it was changed by somebody else meanwhile`},
	} {
		dir := files{"f": "older", "d/x/y": "Y"}.write(t)
		w := connect(t, dir, mcp.Revision20251125, answering("accept", &questions, func() {
			check(t, os.WriteFile(filepath.Join(dir, c.change), []byte("other"), 0o644))
			check(t, os.Chtimes(filepath.Join(dir, c.change), then, then))
		}))
		equal(t, c.change, w.call("move_file", at{"from": c.from, "to": c.to}), c.want)
		equal(t, "what was changed", w.read(c.change), "other")
	}
}

// A change that leaves size and time as they were is noticed, too.
func TestSameSizeAndTime(t *testing.T) {
	dir := files{"f": "older"}.write(t)
	var questions []string
	meddle := func() {
		check(t, os.WriteFile(filepath.Join(dir, "f"), []byte("OTHER"), 0o644))
		check(t, os.Chtimes(filepath.Join(dir, "f"), then, then))
	}
	w := connect(t, dir, mcp.Revision20251125, answering("accept", &questions, meddle))
	equal(t, "write", w.call("write_file", at{"path": "f", "content": "new"}), `error: path "f": it was changed by somebody else meanwhile`)
	equal(t, "file", w.read("f"), "OTHER")
}

// An empty directory is deleted, one that looks empty is not.
func TestDeleteDirectory(t *testing.T) {
	for _, rev := range eras[1:] {
		var questions []string
		f := opened(t, files{"empty/": "", "full/x": "", "hidden/.git/x": ""}.write(t), options{})
		w := connectTo(t, f, rev, answering("accept", &questions, nil))
		equal(t, "empty", w.call("delete_file", at{"path": "empty"}), "Deleted empty.")
		equal(t, "questions", questions, `[Delete the empty directory "empty"?]`)
		equal(t, "full", w.call("delete_file", at{"path": "full"}), `error: path "full" is a directory that is not empty (entries: 1)`)
		equal(t, "hidden", w.call("delete_file", at{"path": "hidden"}), `error: path "hidden" holds what is hidden by the server's pattern ".git"`)
		equal(t, "the folder", w.call("delete_file", at{"path": "."}), `error: path "." is the top of what may be changed`)
	}
}

// Below the directories of -allow-write may be written, nowhere else, whatever the way.
func TestAllowWrite(t *testing.T) {
	dir := files{"f": "F", "in/x": "X", "in/out": "-> ..", "way": "-> in", "into/": ""}.write(t)
	for _, rev := range eras[1:] {
		var questions []string
		f := opened(t, dir, options{writable: texts{"way", filepath.Join(dir, "in")}})
		w := connectTo(t, f, rev, answering("accept", &questions, nil))
		refused := func(p string) string {
			return fmt.Sprintf(`error: path %q may not be written: -allow-write allows what is below ["in" "in"] only`, p)
		}
		for _, c := range []struct {
			tool string
			args at
			want string
		}{
			{"write_file", at{"path": "in/new/y", "content": "y"}, "Wrote 1 bytes to in/new/y."},
			{"write_file", at{"path": "way/x", "content": "x"}, "Wrote 1 bytes to way/x."},
			{"write_file", at{"path": "g", "content": ""}, refused("g")},
			{"write_file", at{"path": "into/g", "content": ""}, refused("into/g")},
			{"write_file", at{"path": "in/out/g", "content": ""}, refused("in/out/g")},
			{"write_file", at{"path": "IN/g", "content": ""}, refused("IN/g")},
			{"delete_file", at{"path": "f"}, refused("f")},
			{"delete_file", at{"path": "in"}, refused("in")},
			{"delete_file", at{"path": "way"}, refused("way")},
			{"move_file", at{"from": "f", "to": "in/f"}, refused("f")},
			{"move_file", at{"from": "in/x", "to": "x"}, refused("x")},
			{"move_file", at{"from": "in/x", "to": "in/out/x"}, refused("in/out/x")},
			{"delete_file", at{"path": "in/new/y"}, "Deleted in/new/y."},
			{"delete_file", at{"path": "in/new"}, "Deleted in/new."},
		} {
			if c.args["path"] == "IN/g" && (runtime.GOOS == "windows" || runtime.GOOS == "darwin") {
				continue // another name of in
			}
			equal(t, c.tool+fmt.Sprint(c.args), w.call(c.tool, c.args), c.want)
		}
		equal(t, "the rest", namesAt(t, dir), "[f in into way]")
	}
}

// Arguments of odd types and contents cost the call.
func TestOddArguments(t *testing.T) {
	dir := files{"f": "F"}.write(t)
	for _, rev := range eras {
		var questions []string
		w := connect(t, dir, rev, answering("accept", &questions, nil))
		for _, args := range []string{`{"path":1}`, `{"path":null}`, `{"path":["f"]}`, `{"path":{"path":"f"}}`, `{"path":""}`, `{"Path":"f"}`,
			`{"path":"f\u0000"}`, `{"path":"` + strings.Repeat("../", 1000) + `etc/passwd"}`, `{"path":"` + strings.Repeat("a/", 100_000) + `"}`, `{"path":true,"content":7}`, `[]`, `"f"`, `null`} {
			for _, tool := range []string{"read_file", "write_file", "delete_file", "move_file", "search"} {
				r, err := w.cs.CallTool(t.Context(), tool, json.RawMessage(args))
				if err == nil && !r.IsError {
					t.Errorf("%s %s of %.50s: %s", rev, tool, args, r.Text())
				}
			}
		}
		equal(t, "file", w.read("f"), "F")
		equal(t, "directory", namesAt(t, dir), "[f]")
		equal(t, "questions", questions, "[]")
	}
}
