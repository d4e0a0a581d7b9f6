//go:build unix

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"example.com/mcp"
)

// FIFOs, sockets and devices are listed as what they are, and neither block nor are read.
func TestSpecialFiles(t *testing.T) {
	dir := files{"a": "A", "null": "-> /dev/null"}.write(t)
	check(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	check(t, os.Symlink("fifo", filepath.Join(dir, "link")))
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	check(t, err)
	defer socket.Close()
	special := []string{"fifo", "link", "s"}
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		check(t, syscall.Mknod(filepath.Join(dir, "zero"), syscall.S_IFCHR|0o600, 1<<8|5))
		special = append(special, "zero")
	}
	for _, rev := range eras[1:] {
		var questions []string
		w := connect(t, dir, rev, answering("decline", &questions, nil))
		for _, p := range special {
			for _, tool := range []string{"read_file", "summarise", "checksum", "search", "list_directory", "find_file", "write_file"} {
				got := w.call(tool, only(tool, at{"path": p, "content": "x", "query": "x", "name": "x"}))
				if !strings.HasPrefix(got, "error: path") {
					t.Errorf("%s of %s: %s", tool, p, got)
				}
			}
			if _, err := w.cs.ReadResource(t.Context(), w.uri+p); err == nil {
				t.Errorf("%s was read", p)
			}
		}
		equal(t, "read", w.call("read_file", at{"path": "fifo"}), `error: path "fifo" is not a regular file`)
		equal(t, "null", w.call("read_file", at{"path": "null"}), `error: path "null": path escapes from parent`)
		equal(t, "search", w.call("search", at{"query": "A"}), `{"matches":[{"path":"a","line":1,"text":"A"}],"files":1,"skipped":0,"truncated":false}`)
		equal(t, "delete", w.call("delete_file", at{"path": "fifo"}), "The person refused: fifo was not deleted.")
		equal(t, "questions", questions, `[Delete the special file "fifo"?]`)
		equal(t, "resources", resourceNames(t, w), "[a]")
	}
}

// A FIFO that takes the place of a file costs the request, and not the server.
func TestFIFOInPlaceOfFile(t *testing.T) {
	dir := files{"file": "F"}.write(t)
	check(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	f := opened(t, dir, options{})
	defer f.close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		for ctx.Err() == nil {
			for _, name := range []string{"fifo", "file"} {
				check(t, os.Link(filepath.Join(dir, name), filepath.Join(dir, "new")))
				check(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "f")))
				_ = os.Remove(filepath.Join(dir, "new")) // where it was the same file
			}
		}
	}()
	read := 0
	for read < 100 {
		if data, _, err := f.whole().read("f"); err == nil {
			equal(t, "data", string(data), "F")
			read++
		}
	}
	cancel()
	<-done
}

// Names may hold anything that JSON can carry; others are passed over. No name looks like
// two, nor like what it is not.
func TestOddNames(t *testing.T) {
	odd := []string{"-rf", "a\nb", "a\rb", "b\\c", "c\x1b[31m", "d\u202e", "e%2e%2e%2f", "f#?&;", "{+path}", "~", "…", strings.Repeat("ä", 127)}
	many := files{"sub/x\ny": "1"}
	for _, name := range odd {
		many[name] = "x"
	}
	dir := many.write(t)
	unsayable := os.WriteFile(filepath.Join(dir, "g\xff"), nil, 0o644) == nil // some disks refuse it
	for _, rev := range eras[1:] {
		var questions []string
		w := connect(t, dir, rev, answering("accept", &questions, nil))
		if got := resourceNames(t, w); len(got) != len(odd)+1 {
			t.Errorf("%d resources, want %d: %q", len(got), len(odd)+1, got)
		}
		for _, name := range odd {
			equal(t, name, w.call("read_file", at{"path": name}), "x")
			r, err := w.cs.ReadResource(t.Context(), w.server.folder.uri(name))
			check(t, err)
			equal(t, name, r.Contents[0].Text, "x")
		}
		r, err := w.cs.ReadResource(t.Context(), w.uri+"sub")
		check(t, err)
		equal(t, "directory", r.Contents[0].Text, "x\\ny\n")
		equal(t, "checksum", w.call("checksum", at{"path": "sub"}), `{"sha256":"`+hashOf(hashOf("1")+"  x\\ny\n")+`","files":1,"bytes":1}`)
		equal(t, "write", w.call("write_file", at{"path": "a\nb", "content": "x"}), "Wrote 1 bytes to a\nb.")
		equal(t, "write", w.call("write_file", at{"path": "d\u202e", "content": "x"}), "Wrote 1 bytes to d\u202e.")
		equal(t, "questions", questions, `[Replace the file "a\nb" (1 bytes) by a new text of 1 bytes? Replace the file "d\u202e" (1 bytes) by a new text of 1 bytes?]`)
		if unsayable {
			equal(t, "deleting what is not empty", w.call("move_file", at{"from": "sub", "to": "sub2/x/y"}), "Moved sub to sub2/x/y.")
			equal(t, "and back", w.call("move_file", at{"from": "sub2/x/y", "to": "sub"}), "Moved sub2/x/y to sub.")
			equal(t, "clean", w.call("delete_file", at{"path": "sub2/x"})+w.call("delete_file", at{"path": "sub2"}), "Deleted sub2/x.Deleted sub2.")
		}
	}
}

// What may not be read costs what asks for it, and nothing else.
func TestPermissions(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("everything can be read here")
	}
	dir := files{"a": "A", "closed": "S", "dir/x": "S", "fixed/x": "X"}.write(t)
	check(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	check(t, os.Chmod(filepath.Join(dir, "dir"), 0))
	check(t, os.Chmod(filepath.Join(dir, "fixed"), 0o500))
	defer os.Chmod(filepath.Join(dir, "dir"), 0o700)
	defer os.Chmod(filepath.Join(dir, "fixed"), 0o700)
	var questions []string
	w := connect(t, dir, mcp.Revision20251125, answering("accept", &questions, nil))
	equal(t, "file", w.call("read_file", at{"path": "closed"}), `error: path "closed": permission denied`)
	equal(t, "directory", w.call("list_directory", at{"path": "dir"}), `error: path "dir": permission denied`)
	equal(t, "search", w.call("search", at{"query": "A"}), `{"matches":[{"path":"a","line":1,"text":"A"}],"files":2,"skipped":2,"truncated":false}`)
	equal(t, "write", w.call("write_file", at{"path": "fixed/x", "content": "y"}), `error: path "fixed/x": permission denied`)
	equal(t, "resources", resourceNames(t, w), "[a closed fixed/x]")
}
