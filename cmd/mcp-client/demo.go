package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/mcp"
)

const (
	stepLimit    = 20 * time.Second // for one step of the demo
	archiveFiles = 1005             // more than a page of the list of resources
	bigFile      = 256 << 20        // bytes that take long enough to read
	hugeFile     = bigFile + 1      // of which the checksum is a task
)

var errDemo = errors.New("the demo does not show all it should")

// A demo shows the features of the protocol with the folder server.
type demo struct {
	*program
	dir    string                 // the sample folder
	server starter                // starts the folder server for it
	serve  webServer              // likewise, over HTTP
	client *mcp.Client            // of cs
	cs     *mcp.ClientSession     // nil before the first step
	picked *mcp.ResourceTemplate  // of the server's
	accept atomic.Bool            // what the script answers to a form
	asked  atomic.Pointer[string] // the last question of the server

	// What the server sends without being asked; the handlers send, the steps receive.
	// When one is full, the newest is dropped.
	updated chan string
	changed chan string
	logged  chan *mcp.LoggingMessageParams
}

// A starter starts a server on a pipe. seen, unless nil, gets each message of the server.
type starter func(seen func(message []byte)) mcp.Transport

// A webServer starts a server over HTTP. stop ends it; it may be called twice.
type webServer func(ctx context.Context) (url string, stop func() error, err error)

// A step is a part of the demo. Its function returns what was not as it should be.
type step struct {
	title, about string
	show         func(*demo, context.Context) error
}

var steps = []step{
	{"Negotiation", "client and server agree on a revision and say what they can", (*demo).negotiation},
	{"Ping", "either side may ask for a sign of life", (*demo).ping},
	{"Tools", "functions for a model, with a JSON Schema of their arguments", (*demo).tools},
	{"A structured result", "JSON that fits the tool's output schema, and the same as text", (*demo).structured},
	{"A picture", "results can be of several kinds", (*demo).picture},
	{"Errors", "a failed tool tells the model; a wrong request is an error of the protocol", (*demo).failures},
	{"Progress", "a long call tells how far it is", (*demo).progressing},
	{"Cancellation", "the client gives up a call, and the server stops working on it", (*demo).cancellation},
	{"Resources", "data to read, each with a URI", (*demo).resources},
	{"Pagination", "long lists come in pages, each with a cursor to the next", (*demo).pagination},
	{"Completion", "suggestions for what a person is typing", (*demo).completion},
	{"Prompts", "messages to begin with, here with a file embedded", (*demo).prompts},
	{"Subscription", "the server tells when a resource has changed", (*demo).subscription},
	{"Logging", "log messages from the level on that the client wants", (*demo).logging},
	{"A changed list", "the server tells when there are other resources", (*demo).listChanged},
	{"Elicitation", "the server asks the person; here a script answers, first no, then yes", (*demo).elicitation},
	{"Sampling", "the server asks the client's model; here a script answers", (*demo).sampling},
	{"Roots", "the client says in which folders it works, and when they change", (*demo).rootsChanged},
	{"An old revision", "the same server speaks with a client of 2024", (*demo).oldRevision},
	{"Two eras", "the same function asks the person, whether the revision has sessions or not", (*demo).twoEras},
	{"A task", "a call that goes on after its answer, until it is done or cancelled", (*demo).task},
	{"HTTP", "one server for many clients, each with roots of its own", (*demo).overHTTP},
}

// runDemo builds the server, makes a sample folder, and goes through the steps.
func runDemo(ctx context.Context, p *program) error {
	if p.json {
		return usagef("the demo prints for people: -json is not for it")
	}
	tmp, err := os.MkdirTemp("", "mcp-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	binary, err := p.build(ctx, tmp)
	if err != nil {
		return err
	}
	d := &demo{program: p, dir: filepath.Join(tmp, "sample")}
	if err := makeSample(d.dir); err != nil {
		return err
	}
	d.server = func(seen func([]byte)) mcp.Transport {
		p.note("starting: " + shellText([]string{binary, d.dir}))
		t := p.commandTransport(exec.Command(binary, d.dir))
		t.Wrap = func(c mcp.Conn) mcp.Conn { return &overseen{p.wrap(c), seen} }
		return t
	}
	d.serve = func(ctx context.Context) (string, func() error, error) {
		return p.serve(exec.CommandContext(ctx, binary, "-http", "127.0.0.1:0", d.dir))
	}
	return d.run(ctx)
}

// An overseen Conn shows what the server says.
type overseen struct {
	mcp.Conn
	seen func(message []byte) // nil: to nobody
}

func (o *overseen) Read() ([]byte, error) {
	data, err := o.Conn.Read()
	if err == nil && o.seen != nil {
		o.seen(data)
	}
	return data, err
}

// serve starts a server that says on stderr at which URL it serves.
func (p *program) serve(cmd *exec.Cmd) (url string, stop func() error, err error) {
	p.note("starting: " + shellText(cmd.Args))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewScanner(stderr)
	lines.Scan()
	_, url, _ = strings.Cut(lines.Text(), "serving at ")
	read := make(chan struct{})
	go func() { // ends with the server
		defer close(read)
		for lines.Scan() {
			if p.tracing != nil {
				p.screen.line("server: " + lines.Text())
			}
		}
	}()
	stop = sync.OnceValue(func() error {
		if cmd.Process.Signal(syscall.SIGTERM) != nil {
			_ = cmd.Process.Kill() // where there are no signals
		}
		<-read
		return cmd.Wait()
	})
	if !isURL(url) {
		return "", nil, errors.Join(fmt.Errorf("the server says %q, not where it serves", lines.Text()), stop())
	}
	return url, stop, nil
}

// build builds the folder server of the module that the working directory is in.
func (p *program) build(ctx context.Context, tmp string) (binary string, err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("the demo builds its server, for which the go command is needed: %w", err)
	}
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	source := filepath.Join(root, "cmd", "mcp-server")
	if info, err := os.Stat(source); err != nil || !info.IsDir() {
		return "", errors.New("the demo builds ./cmd/mcp-server: run it within the module that has it")
	}
	binary = filepath.Join(tmp, "mcp-server")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	p.note("building: " + source)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/mcp-server")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", source, err, text)
	}
	return binary, nil
}

// makeSample makes the folder that is served.
func makeSample(dir string) error {
	files := map[string]string{
		"README.md":       "# Sample\n\nA folder to try a server with.\n",
		"notes/todo.txt":  "buy milk\nfeed the cat\n",
		"notes/ideas.txt": "a cat that buys milk\n",
		"notes/old.txt":   "to be deleted\n",
		"picture.png":     string(samplePicture()),
	}
	for i := range archiveFiles {
		files[fmt.Sprintf("archive/%04d.txt", i)] = "old\n"
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name, size := range map[string]int64{"big.bin": bigFile, "huge.bin": hugeFile} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, size)); err != nil { // sparse: it takes no room
			return err
		}
	}
	return nil
}

// samplePicture is a small gradient.
func samplePicture() []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 16, 16))
	for y := range 16 {
		for x := range 16 {
			img.Set(x, y, color.NRGBA{uint8(16 * x), uint8(16 * y), 128, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a buffer takes everything
	return b.Bytes()
}

// run goes through the steps. One that fails does not keep the others from being
// shown, unless there is no session.
func (d *demo) run(ctx context.Context) error {
	d.updated, d.changed, d.logged = make(chan string, 64), make(chan string, 64), make(chan *mcp.LoggingMessageParams, 64)
	defer func() {
		if d.cs != nil {
			d.cs.Close()
		}
	}()
	failed := 0
	for i, s := range steps {
		d.printf("%2d. %s: %s", i+1, s.title, s.about)
		limited, cancel := context.WithTimeout(ctx, stepLimit)
		err := s.show(d, limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && d.cs == nil:
			return err
		case err != nil:
			failed++
			d.say("FAILED: %v", err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d steps failed", errDemo, failed, len(steps))
	}
	d.printf("All %d steps showed what they should.", len(steps))
	return nil
}

// say prints a line of a step.
func (d *demo) say(format string, args ...any) {
	d.printf("    %s", fmt.Sprintf(format, args...))
}

// options is how the client of the demo behaves: a script answers the server.
func (d *demo) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Elicit: d.answerForm, Sample: d.answerSampling, Roots: []*mcp.Root{{URI: fileURI(d.dir), Name: "sample"}},
		ResourcesChanged: func(context.Context, *mcp.ClientSession) { offer(d.changed, "resources") },
		ResourceUpdated: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ResourceUpdatedParams) {
			offer(d.updated, p.URI)
		},
		LoggingMessage: func(_ context.Context, _ *mcp.ClientSession, p *mcp.LoggingMessageParams) { offer(d.logged, p) },
		Timeout:        d.timeout,
	}
}

func (d *demo) answerForm(_ context.Context, _ *mcp.ClientSession, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	d.asked.Store(&q.Message)
	if !d.accept.Load() {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	content, err := q.RequestedSchema.Fill(nil)
	return &mcp.ElicitResult{Action: "accept", Content: content}, err
}

const scriptedSummary = "A folder to try things with."

func (d *demo) answerSampling(_ context.Context, _ *mcp.ClientSession, q *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	var texts []string
	for _, m := range q.Messages {
		for _, c := range m.Content {
			texts = append(texts, describe(c))
		}
	}
	text := strings.Join(texts, " ")
	d.asked.Store(&text)
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "script", StopReason: "endTurn",
		Content: []mcp.Content{&mcp.TextContent{Text: scriptedSummary}}}, nil
}

// question takes the last question of the server; "" if there was none.
func (d *demo) question() string {
	if q := d.asked.Swap(nil); q != nil {
		return *q
	}
	return ""
}

// offer sends v if there is room.
func offer[T any](ch chan T, v T) {
	select {
	case ch <- v:
	default:
	}
}

// next receives what the server should send.
func next[T any](ctx context.Context, ch chan T, what string) (v T, err error) {
	select {
	case v = <-ch:
		return v, nil
	case <-ctx.Done():
		return v, fmt.Errorf("no %s came", what)
	}
}

// want says what is not as it should be.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// short is the beginning of a text, quoted.
func short(text string) string {
	if runes := []rune(text); len(runes) > 70 {
		text = string(runes[:70]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// uri is the URI of a file of the sample folder.
func (d *demo) uri(name string) string {
	return fileURI(filepath.Join(d.dir, filepath.FromSlash(name)))
}
