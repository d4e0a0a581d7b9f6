package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
