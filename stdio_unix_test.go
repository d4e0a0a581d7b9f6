//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// childVariable makes a child process of the test binary: its value says which.
const childVariable = "MCP_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		children[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children are the servers that the tests start. They may end by os.Exit.
var children = map[string]func(){
	// replica is one of the replicas over HTTP.
	"replica": serveReplica,

	// serve is a server with the tools of these tests.
	"serve": func() { _ = childServer().Run(context.Background(), Stdio()) },

	// banner writes to stdout what is no message, and nothing to stderr.
	"banner": func() {
		fmt.Print("Server starting...\n[INFO] ready\n")
		_ = childServer().Run(context.Background(), Stdio())
	},

	// noisy writes 1 MiB to stderr before it reads.
	"noisy": func() {
		line := strings.Repeat("x", 1023) + "\n"
		for range 1024 {
			fmt.Fprint(os.Stderr, line)
		}
		_ = childServer().Run(context.Background(), Stdio())
	},

	// fails says why and exits.
	"fails": func() {
		fmt.Fprintln(os.Stderr, "no such database")
		os.Exit(3)
	},

	// polite records the end of its input, and exits.
	"polite": func() {
		_ = childServer().Run(context.Background(), Stdio())
		record("end of input")
	},

	// slow does not exit at the end of its input, but on SIGTERM.
	"slow": func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		_ = childServer().Run(context.Background(), Stdio())
		record("end of input")
		<-signals
		record("SIGTERM")
	},

	// deaf ignores both.
	"deaf": func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		_ = childServer().Run(context.Background(), Stdio())
		record("end of input")
		<-signals
		record("SIGTERM")
		time.Sleep(time.Hour)
	},

	// unread answers initialize and then does not read.
	"unread": func() {
		_, _ = Lines(os.Stdin, nil, 0).Read()
		fmt.Println(openedLine)
		time.Sleep(time.Hour)
	},

	// lazy closes its stdin after initialize, and lives on.
	"lazy": func() {
		_, _ = Lines(os.Stdin, nil, 0).Read()
		os.Stdin.Close()
		fmt.Println(openedLine)
		time.Sleep(time.Hour)
	},

	// picky ends at a first message that is not initialize.
	"picky": func() {
		record("started")
		c := Stdio()
		line, _ := c.Read()
		if m := parseFrame(line).messages[0]; m.method != methodInitialize {
			fmt.Fprintln(os.Stderr, "expected initialize, got", m.method)
			os.Exit(1)
		}
		fmt.Println(openedLine)
		_, _ = c.Read()
		_, _ = c.Read()
	},

	// doomed ends whatever it is told.
	"doomed": func() {
		record("started")
		_, _ = Stdio().Read()
		os.Exit(1)
	},

	// parent is a client with a server of its own, which it never closes.
	"parent": func() {
		cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(context.Background(), command("serve"))
		if err == nil {
			var r *CallToolResult
			if r, err = cs.CallTool(context.Background(), "pid", nil); err == nil {
				fmt.Println(r.Content[0].(*TextContent).Text)
				time.Sleep(time.Hour)
			}
		}
		fmt.Println(err)
	},
}

// record appends a line to the file that the test named.
func record(line string) {
	f, err := os.OpenFile(os.Getenv("MCP_TEST_RECORD"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		f.Close()
	}
	if err != nil {
		panic(err)
	}
}

func childServer() *Server {
	s := NewServer(&Implementation{Name: "child", Version: "1"}, nil)
	add := func(name string, f func(ctx context.Context) string) {
		_ = AddTool(s, &Tool{Name: name}, func(ctx context.Context, _ *Request, _ struct{}) (string, error) { return f(ctx), nil })
	}
	add("pid", func(context.Context) string { return fmt.Sprint(os.Getpid()) })
	add("wait", func(ctx context.Context) string { <-ctx.Done(); return "" })
	add("environment", func(context.Context) string {
		dir, _ := os.Getwd()
		return strings.Join(os.Args[1:], " ") + " " + filepath.Base(dir) + " " + os.Getenv("MCP_TEST_WORD")
	})
	add("shout", func(context.Context) string { fmt.Fprint(os.Stderr, "one\ntwo\r\nthree"); return "" })
	return s
}

// command is a transport to one of the children.
func command(name string, env ...string) *CommandTransport {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childVariable+"="+name), env...)
	return &CommandTransport{Command: cmd, Grace: 300 * time.Millisecond}
}

// start opens a session with a child.
func start(t *testing.T, transport Transport, opts *ClientOptions) *ClientSession {
	t.Helper()
	cs, err := sessionClient(&Implementation{Name: "c", Version: "0"}, opts).Connect(t.Context(), transport)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// pid asks a child for its process id.
func pid(t *testing.T, cs *ClientSession) int {
	t.Helper()
	r, err := cs.CallTool(t.Context(), "pid", nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(r.Content[0].(*TextContent).Text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// alive reports whether a process runs. One that was killed may stay as a zombie until
// its parent, or init, has noticed.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat("/proc/self"); err != nil {
			return syscall.Kill(pid, 0) == nil // there is no /proc
		}
		return false
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X"))
}

// eventually waits for real until a condition holds, at most ten seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// A child gets its arguments, environment and folder.
//
// BASE-160 BASE-161
func TestCommand(t *testing.T) {
	transport := command("serve", "MCP_TEST_WORD=word")
	transport.Command.Args = append(transport.Command.Args, "a", "b c")
	transport.Command.Dir = filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(transport.Command.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cs := start(t, transport, nil)
	r, err := cs.CallTool(t.Context(), "environment", nil)
	if err != nil || r.Content[0].(*TextContent).Text != "a b c folder word" {
		t.Errorf("got %v %v", r, err)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	want(t, "call", cs.Ping(t.Context()), "mcp: connection closed: closed by this side")
}

// A command that cannot be started, or was, is an error.
//
// BUG-236
func TestCommandMisused(t *testing.T) {
	client := sessionClient(&Implementation{Name: "c", Version: "0"}, nil)
	_, err := client.Connect(t.Context(), &CommandTransport{Command: exec.Command("/does/not/exist")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	_, err = client.Connect(t.Context(), &CommandTransport{})
	want(t, "no command", err, "mcp: CommandTransport needs a Command that was not started")
	transport := command("serve")
	cs := start(t, transport, nil)
	defer cs.Close()
	_, err = client.Connect(t.Context(), transport)
	want(t, "the second session", err, "mcp: this CommandTransport belongs to another session")
	if err := cs.Ping(t.Context()); err != nil {
		t.Errorf("the first session: %v", err)
	}
	running := command("fails")
	if err := running.Command.Start(); err != nil {
		t.Fatal(err)
	}
	defer running.Command.Wait()
	_, err = client.Connect(t.Context(), running)
	want(t, "a started command", err, "mcp: CommandTransport needs a Command that was not started")
}

// To end a child its stdin is closed, then it gets SIGTERM, then SIGKILL, with some
// time between; no step is taken that is not needed.
//
// BASE-107 BASE-108 BUG-214
func TestBUG214Ladder(t *testing.T) {
	for name, row := range map[string]struct {
		recorded string
		graces   int // that Close must have waited for
	}{
		"polite": {"end of input\n", 0},
		"slow":   {"end of input\nSIGTERM\n", 1},
		"deaf":   {"end of input\nSIGTERM\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "record")
			transport := command(name, "MCP_TEST_RECORD="+file)
			cs := start(t, transport, nil)
			id := pid(t, cs)
			begin := time.Now()
			if err := cs.Close(); err != nil {
				t.Error(err)
			}
			took := time.Since(begin)
			if least := time.Duration(row.graces) * transport.Grace; took < least || took > 2*transport.Grace+3*time.Second {
				t.Errorf("Close took %v, grace is %v", took, transport.Grace)
			}
			if alive(id) {
				t.Error("the child lives")
			}
			lines, err := os.ReadFile(file)
			if err != nil || string(lines) != row.recorded {
				t.Errorf("the child saw %q %v, want %q", lines, err, row.recorded)
			}
		})
	}
}

// BUG-215: what a child has started and left behind ends with it, and a server ends
// when its client was killed.
//
// BASE-110
func TestBUG215Grandchildren(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	transport := command("serve")
	transport.Command.Path = "/bin/sh"
	transport.Command.Args = []string{"sh", "-c", `sleep 600 & echo $! >"$0"; exec "$1"`, file, os.Args[0]}
	cs := start(t, transport, nil)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !alive(grandchild) {
		t.Fatalf("no grandchild: %q %v", text, err)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the grandchild ends", func() bool { return !alive(grandchild) })

	parent := command("parent").Command
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	server, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !alive(server) {
		t.Fatalf("no server: %q %v", line, err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	eventually(t, "the server of a killed client ends", func() bool { return !alive(server) })
}

// What a child writes to stderr is read all the time and is no failure.
//
// BASE-166 BASE-167 BASE-168 EDGE-082
func TestStderr(t *testing.T) {
	var lines journal
	transport := command("noisy")
	size := 0
	transport.Stderr = func(line string) {
		if size += len(line) + 1; size > 1<<20 {
			lines.add("%s", line)
		}
	}
	cs := start(t, transport, nil)
	if _, err := cs.CallTool(t.Context(), "shout", nil); err != nil {
		t.Error(err)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	want(t, "bytes", size, 1<<20+len("one\ntwo\nthree\n"))
	want(t, "lines", &lines, "one; two; three")
}

// BUG-005: lines of a child that are no messages are reported, and cost nothing else.
//
// EDGE-081
func TestBUG005Banner(t *testing.T) {
	var noise journal
	cs := start(t, command("banner"), &ClientOptions{Malformed: func(data []byte, _ error) { noise.add("%s", data) }})
	if err := cs.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	want(t, "noise", &noise, "Server starting...; [INFO] ready")
}

// BUG-049: a child that ends at the first message is started once more, and only once.
func TestBUG049ChildEndsAtProbe(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), command("picky", "MCP_TEST_RECORD="+started))
	must(t, err)
	want(t, "revision", cs.Revision(), Revision20250618)
	must(t, cs.Close())
	lines, err := os.ReadFile(started)
	must(t, err)
	want(t, "starts", string(lines), "started\nstarted\n")

	again := filepath.Join(t.TempDir(), "started")
	_, err = NewClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), command("doomed", "MCP_TEST_RECORD="+again))
	const ended = "mcp: connection closed: the server process ended: exit status 1"
	checkError(t, "Connect", err, ended+"; tried again without it: "+ended)
	lines, err = os.ReadFile(again)
	must(t, err)
	want(t, "starts", string(lines), "started\nstarted\n") // and not a third time

	pinned := NewClient(&Implementation{Name: "c", Version: "0"}, &ClientOptions{Revisions: []string{Revision20260728}})
	_, err = pinned.Connect(t.Context(), command("picky", "MCP_TEST_RECORD="+started))
	checkError(t, "Connect", err, pinnedRefusal+"mcp: connection closed: the server process ended: exit status 1; stderr: expected initialize, got server/discover")
}

// A child that ends fails what waits, with its exit status and its last words.
//
// BASE-111 EDGE-084
func TestChildExits(t *testing.T) {
	begin := time.Now()
	_, err := sessionClient(&Implementation{Name: "c", Version: "0"}, nil).Connect(t.Context(), command("fails"))
	if !errors.Is(err, ErrClosed) || !strings.HasSuffix(err.Error(), "the server process ended: exit status 3; stderr: no such database") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

// However a call and the death of the child cross, the caller learns of it, soon.
//
// EDGE-084 EDGE-085
func TestChildKilled(t *testing.T) {
	for i := range 50 {
		cs := start(t, command("serve"), nil)
		id := pid(t, cs)
		killed := make(chan time.Time, 1)
		go func() {
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			_ = syscall.Kill(id, syscall.SIGKILL)
			killed <- time.Now()
		}()
		var err error
		if i%2 == 0 {
			_, err = cs.CallTool(t.Context(), "wait", nil)
		} else {
			for err == nil { // writes must fail in the same way
				_, err = cs.CallTool(t.Context(), "pid", nil)
			}
		}
		took := time.Since(<-killed)
		if !errors.Is(err, ErrClosed) || !strings.HasSuffix(err.Error(), "the server process ended: signal: killed") {
			t.Errorf("got %v", err)
		}
		if took > time.Second {
			t.Errorf("%v after its end", took)
		}
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A child that does not want to read any more is an error for the caller, not the end
// of the process.
//
// EDGE-085
func TestChildClosesStdin(t *testing.T) {
	cs := start(t, command("lazy"), nil)
	var err error
	for err == nil {
		err = cs.conn.p.notify(t.Context(), cs.conn.link, noteRootsChanged, nil, newest)
	}
	if !errors.Is(err, syscall.EPIPE) || !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
}

// BUG-014: a child that does not read holds up neither its callers, longer than they
// want, nor Close.
func TestBUG014ChildDoesNotRead(t *testing.T) {
	cs := start(t, command("unread"), nil)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		begin := time.Now()
		_, err := cs.CallTool(ctx, "echo", map[string]string{"text": strings.Repeat("x", 1<<20)})
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took > time.Second {
			t.Errorf("%v after %v", err, took)
		}
		cancel()
	}
	begin := time.Now()
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("Close took %v", took)
	}
}

// Many children, one after another, leave no process, descriptor or goroutine behind.
// There are 2,000 of them if MCP_TEST_CHILDREN says so.
//
// EDGE-240
func TestManyChildren(t *testing.T) {
	count := 300
	if n, err := strconv.Atoi(os.Getenv("MCP_TEST_CHILDREN")); err == nil {
		count = n
	} else if testing.Short() {
		count = 20
	}
	shell := func() *CommandTransport {
		script := `read l; echo '` + openedLine + `'; read l; read l; echo '{"jsonrpc":"2.0","id":2,"result":{}}'; read l`
		return &CommandTransport{Command: exec.Command("/bin/sh", "-c", script)}
	}
	one := func() {
		cs := start(t, shell(), nil)
		if err := cs.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := cs.Close(); err != nil {
			t.Fatal(err)
		}
		if cs.conn.link.(*connLink).conn.(*child).cmd.ProcessState == nil {
			t.Fatal("the process was not waited for")
		}
	}
	one() // what the runtime keeps is there now
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for range count {
		one()
	}
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	want(t, "descriptors", openFiles() <= files, true)
}

// openFiles counts the descriptors of this process; 0 if that cannot be told.
func openFiles() int {
	entries, _ := os.ReadDir("/dev/fd")
	return len(entries)
}

// A server on the process's own stdin and stdout writes nothing else, and ends when
// its input does, even while a handler runs.
//
// BASE-110 BASE-164
func TestStdio(t *testing.T) {
	cmd := command("serve").Command
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, openingLine+"\n"+startedLine+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`+"\n")
	in.Close()
	var once sync.Once
	timer := time.AfterFunc(10*time.Second, func() { once.Do(func() { _ = cmd.Process.Kill() }) })
	err = cmd.Wait()
	timer.Stop()
	want(t, "exit", err, nil)
	want(t, "stdout", out.String(), `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"child","version":"1"}}}
{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":""}]}}
`)
}
