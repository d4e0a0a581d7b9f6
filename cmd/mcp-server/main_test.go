package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/mcp"
)

var update = flag.Bool("update", false, "write the golden files")

// asCommand makes the test binary the command itself.
const asCommand = "MCP_SERVER_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// eras are the revisions that differ most.
var eras = []string{mcp.Revision20241105, mcp.Revision20251125, mcp.Revision20260728}

// then is when all files of a test were modified.
var then = time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)

var discard = slog.New(slog.DiscardHandler)

const png = "\x89PNG\r\n\x1a\n and so on"

// files is a folder for tests. The value of a name that ends in a slash is ignored,
// "-> x" is a symbolic link to x.
type files map[string]string

func (fs files) write(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range fs {
		p := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(p), 0o755))
		target, link := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			check(t, os.MkdirAll(p, 0o755))
			continue
		case link:
			check(t, os.Symlink(target, p))
			continue
		}
		check(t, os.WriteFile(p, []byte(text), 0o644))
		check(t, os.Chtimes(p, then, then))
	}
	return dir
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A world is a server of a folder and a client of it.
type world struct {
	t      testing.TB
	dir    string
	uri    string // of the folder, with a slash
	server *server
	client *mcp.Client
	cs     *mcp.ClientSession
}

// connect serves dir to a new client, until the test ends.
func connect(t testing.TB, dir, rev string, opts mcp.ClientOptions) *world {
	t.Helper()
	f, err := openFolder(dir)
	check(t, err)
	return connectTo(t, f, rev, opts)
}

// connectTo serves a folder to a new client, until the test ends.
func connectTo(t testing.TB, f *folder, rev string, opts mcp.ClientOptions) *world {
	t.Helper()
	s := newServer(f, false, discard)
	here, there := mcp.Pipe()
	done := make(chan error)
	go func() { done <- s.mcp.Run(context.Background(), there) }() // ends with the session
	opts.Revisions = []string{rev}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, &opts)
	cs, err := c.Connect(t.Context(), &mcp.ConnTransport{Conn: here})
	check(t, err)
	t.Cleanup(func() {
		check(t, cs.Close())
		check(t, <-done)
		s.watch.close()
		f.close()
	})
	return &world{t, f.path, f.uri("."), s, c, cs}
}

// call calls a tool and returns its text; a tool error is marked.
func (w *world) call(tool string, args any) string {
	w.t.Helper()
	r, err := w.cs.CallTool(w.t.Context(), tool, args)
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeMissingRequiredClientCapability { // a tool error before 2026-07-28
		return "error: mcp: " + e.Message
	}
	check(w.t, err)
	if r.IsError {
		return "error: " + r.Text()
	}
	return r.Text()
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	check(w.t, err)
	return string(data)
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

type at = map[string]any

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	p := filepath.Join("testdata", name)
	if *update {
		check(t, os.MkdirAll("testdata", 0o755))
		check(t, os.WriteFile(p, []byte(got), 0o644))
	}
	want, err := os.ReadFile(p)
	check(t, err)
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it); got:\n%s", p, got)
	}
}

// What the server says of itself and lists, byte for byte.
func TestLists(t *testing.T) {
	for _, rev := range eras {
		t.Run(rev, func(t *testing.T) {
			dir := files{"a.md": "# A", "b/c.bin": "\x00\x01", "b/d.txt": "d", "pic.png": png, "ü x%.go": "package x"}.write(t)
			f, err := openFolder(dir)
			check(t, err)
			defer f.close()
			here, there := mcp.Pipe()
			done := make(chan error)
			go func() { done <- newServer(f, false, discard).mcp.Run(context.Background(), there) }()
			var got bytes.Buffer
			first, params := "initialize", `{}`
			if rev == mcp.Revision20260728 {
				first = "server/discover"
				params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + rev + `","io.modelcontextprotocol/clientCapabilities":{}}}`
			}
			for i, method := range []string{first, "tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
				params := params
				if method == "initialize" {
					params = `{"protocolVersion":"` + rev + `","capabilities":{},"clientInfo":{"name":"t","version":"0"}}`
				}
				check(t, here.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params)))
				line, err := here.Read()
				check(t, err)
				line = bytes.ReplaceAll(line, []byte(f.base), []byte("/DIR"))
				check(t, json.Indent(&got, line, "", "  "))
				got.WriteByte('\n')
			}
			golden(t, "lists-"+rev+".json", got.String())
			check(t, here.Close())
			check(t, <-done)
		})
	}
}

// Each tool has a short name, a title, a description and hints; the schemas are
// there. FEAT-008
func TestToolsAreDescribed(t *testing.T) {
	w := connect(t, files{}.write(t), mcp.Revision20251125, mcp.ClientOptions{})
	var names []string
	for tool, err := range w.cs.Tools(t.Context()) {
		check(t, err)
		names = append(names, tool.Name)
		if !regexp.MustCompile(`^[A-Za-z0-9_./-]{1,64}$`).MatchString(tool.Name) || tool.Title == "" || tool.Description == "" || tool.Annotations == nil {
			t.Errorf("tool %+v is not described well", tool)
		}
	}
	equal(t, "tools", names, "[checksum delete_file find_file list_directory move_file read_file search summarise write_file]")
}

// runs runs the command with arguments, with nobody at its stdin.
func runs(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, func() mcp.Conn {
		here, there := mcp.Pipe()
		here.Close()
		return there
	}, &out, &errs)
	return code, out.String(), errs.String()
}

func TestFlags(t *testing.T) {
	dir := files{"f": "", "d/": ""}.write(t)
	usage := "usage: mcp-server [flags] DIR\n       mcp-server passwd FILE NAME\n"
	origin := "mcp-server: -public must be an origin, such as https://mcp.example.com, and https unless it is localhost\n" + usage
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string // beginnings
	}{
		{[]string{dir}, 0, "", ""},
		{[]string{"-read-only", dir}, 0, "", ""},
		{[]string{"-v", dir}, 0, "", "time="},
		{[]string{"-h"}, 0, usage, ""},
		{[]string{"-version"}, 0, "mcp-server 1.0.0\n", ""},
		{nil, 2, "", "mcp-server: want one folder, got 0 arguments\n" + usage},
		{[]string{dir, dir}, 2, "", "mcp-server: want one folder, got 2 arguments\n" + usage},
		{[]string{"-x", dir}, 2, "", "mcp-server: flag provided but not defined: -x\n" + usage},
		{[]string{"-sse", dir}, 2, "", "mcp-server: -sse, -allow-host, -allow-origin and -auth are for -http\n" + usage},
		{[]string{"-auth", "users", dir}, 2, "", "mcp-server: -sse, -allow-host, -allow-origin and -auth are for -http\n" + usage},
		{[]string{"-public", "https://a.example", dir}, 2, "", "mcp-server: -public and -token-lifetime are for -auth\n" + usage},
		{[]string{"-http", ":0", "-token-lifetime", "1m", dir}, 2, "", "mcp-server: -public and -token-lifetime are for -auth\n" + usage},
		{[]string{"-http", ":0", "-auth", "users", "-token-lifetime", "-1m", dir}, 2, "", "mcp-server: -token-lifetime must not be negative\n" + usage},
		{[]string{"-http", ":0", "-auth", "users", "-sse", dir}, 2, "", "mcp-server: -sse is for clients that cannot log in, so that it does not go with -auth\n" + usage},
		{[]string{"-http", "203.0.113.1:1", "-auth", "users", dir}, 2, "", "mcp-server: -auth needs -public, unless the server is on this machine only\n" + usage},
		{[]string{"-http", ":0", "-auth", "users", "-public", "http://a.example", dir}, 2, "", origin},
		{[]string{"-http", ":0", "-auth", "users", "-public", "https://a.example/path", dir}, 2, "", origin},
		{[]string{"-http", ":0", "-auth", "users", "-public", "https://u:p@a.example", dir}, 2, "", origin},
		{[]string{"-http", ":0", "-auth", filepath.Join(dir, "none"), dir}, 1, "", "mcp-server: open "},
		{[]string{"-http", ":0", "-auth", filepath.Join(dir, "f"), dir}, 1, "", "mcp-server: " + filepath.Join(dir, "f") + " has no user: mcp-server passwd makes one\n"},
		{[]string{"passwd"}, 2, "", "usage: mcp-server passwd FILE NAME\n"},
		{[]string{"passwd", "users", "a:b"}, 2, "", "usage: mcp-server passwd FILE NAME\n"},
		{[]string{"-revision", "2025-11-25", "-revision", "2026-07-28", dir}, 0, "", ""},
		{[]string{"-revision", "2025-11-26", dir}, 2, "",
			"mcp-server: -revision must be one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, not \"2025-11-26\"\n" + usage},
		{[]string{"-ignore", "*.key", "-ignore", "!.git", "-no-ignore", "-allow-write", "d", dir}, 0, "", ""},
		{[]string{"-allow-write", filepath.Join(dir, "d"), dir}, 0, "", ""},
		{[]string{"-ignore", "[a", dir}, 2, "", "mcp-server: -ignore: pattern \"[a\": syntax error in pattern\n" + usage},
		{[]string{"-ignore", "a//b", dir}, 2, "", "mcp-server: -ignore: pattern \"a//b\": \"\" is no name\n" + usage},
		{[]string{"-read-only", "-allow-write", "d", dir}, 2, "", "mcp-server: -allow-write does not go with -read-only\n" + usage},
		{[]string{"-allow-write", "f", dir}, 1, "", "mcp-server: -allow-write f: no directory of " + dir + "\n"},
		{[]string{"-allow-write", "none", dir}, 1, "", "mcp-server: -allow-write none: no directory of " + dir + "\n"},
		{[]string{"-allow-write", "../x", dir}, 1, "", "mcp-server: -allow-write ../x: path \"../x\" must not contain \"..\"\n"},
		{[]string{"-allow-write", filepath.Dir(dir), dir}, 1, "", "mcp-server: -allow-write " + filepath.Dir(dir) + ": not in " + dir + "\n"},
		{[]string{"-http", "8080", dir}, 2, "", "mcp-server: address 8080: missing port in address\n" + usage},
		{[]string{"-http", "203.0.113.1:1", dir}, 1, "", "mcp-server: listen tcp 203.0.113.1:1: "},
		{[]string{filepath.Join(dir, "none")}, 1, "", "mcp-server: lstat "},
		{[]string{filepath.Join(dir, "f")}, 1, "", "mcp-server: open "},
	} {
		code, stdout, stderr := runs(c.args...)
		if code != c.code || !begins(stdout, c.stdout) || !begins(stderr, c.stderr) {
			t.Errorf("%q: code %d, stdout %q, stderr %q; want %d, %q…, %q…", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
}

// begins reports whether s begins with prefix; with "" only the empty string does.
func begins(s, prefix string) bool {
	return strings.HasPrefix(s, prefix) && (prefix != "" || s == "")
}

func TestReadOnly(t *testing.T) {
	f, err := openFolder(files{}.write(t))
	check(t, err)
	defer f.close()
	here, there := mcp.Pipe()
	done := make(chan error)
	go func() { done <- newServer(f, true, discard).mcp.Run(context.Background(), there) }()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "0"}, nil).Connect(t.Context(), &mcp.ConnTransport{Conn: here})
	check(t, err)
	var writing []string
	for tool, err := range cs.Tools(t.Context()) {
		check(t, err)
		if readOnly, _, _, _ := tool.Annotations.Hints(); !readOnly {
			writing = append(writing, tool.Name)
		}
	}
	equal(t, "tools that write", writing, "[]")
	_, err = cs.CallTool(t.Context(), "write_file", at{"path": "x", "content": "x"})
	if err == nil || !strings.Contains(err.Error(), `unknown tool "write_file"`) {
		t.Errorf("write_file: %v", err)
	}
	check(t, cs.Close())
	check(t, <-done)
}

// The command as a process: it speaks on stdin and stdout, and says nothing on
// stderr.
func TestProcess(t *testing.T) {
	dir := files{"a.txt": "hello"}.write(t)
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var lines []string
	transport := &mcp.CommandTransport{Command: cmd, Stderr: func(line string) { lines = append(lines, line) }}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "0"}, &mcp.ClientOptions{
		Malformed: func(data []byte, err error) { t.Errorf("on stdout: %q", data) },
	}).Connect(t.Context(), transport)
	check(t, err)
	r, err := cs.CallTool(t.Context(), "read_file", at{"path": "a.txt"})
	check(t, err)
	equal(t, "text", r.Text(), "hello")
	check(t, cs.Close())
	equal(t, "stderr", lines, "[]")
}

// A signal ends the command with code 0, and so does the end of input.
func TestEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send on Windows")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, nil} {
		cmd := exec.Command(os.Args[0], files{}.write(t))
		cmd.Env = append(os.Environ(), asCommand+"=1")
		stdin, err := cmd.StdinPipe()
		check(t, err)
		defer stdin.Close()
		stdout, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		_, err = stdin.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"))
		check(t, err)
		line, err := mcp.Lines(stdout, stdin, 0).Read() // it runs
		check(t, err)
		equal(t, "answer", string(line), `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if sig == nil {
			check(t, stdin.Close())
		} else {
			check(t, cmd.Process.Signal(sig))
		}
		check(t, cmd.Wait()) // an error for other codes
	}
}

// What tools do wrong is logged to the client, at every revision.
func TestLogging(t *testing.T) {
	for _, rev := range eras {
		var logged []string
		w := connect(t, files{}.write(t), rev, mcp.ClientOptions{
			LoggingMessage: func(_ context.Context, _ *mcp.ClientSession, p *mcp.LoggingMessageParams) {
				logged = append(logged, fmt.Sprintf("%s %s %s", p.Level, p.Logger, p.Data))
			}})
		check(t, w.cs.SetLoggingLevel(t.Context(), mcp.LevelInfo))
		w.call("read_file", at{"path": "none"})
		w.call("write_file", at{"path": "new", "content": "abc"})
		want := []string{
			`error mcp-server {"error":"path \"none\": no such file or directory","msg":"tool failed","tool":"read_file"}`,
			`info mcp-server {"bytes":3,"msg":"file written","path":"new","replaced":false}`}
		if !slices.Equal(logged, want) {
			t.Errorf("%s:\n got %q\nwant %q", rev, logged, want)
		}
	}
}

// A server that is pinned speaks nothing else.
func TestPinned(t *testing.T) {
	f, err := openFolder(files{"a": "A"}.write(t))
	check(t, err)
	defer f.close()
	for _, rev := range eras {
		here, there := mcp.Pipe()
		done := make(chan error)
		go func() { done <- newServer(f, false, discard, rev).mcp.Run(context.Background(), there) }()
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "0"}, nil).Connect(t.Context(), &mcp.ConnTransport{Conn: here})
		check(t, err)
		equal(t, "revision", cs.Revision(), rev)
		r, err := cs.CallTool(t.Context(), "read_file", at{"path": "a"})
		check(t, err)
		equal(t, rev, r.Text(), "A")
		check(t, cs.Close())
		check(t, <-done)
	}
}
