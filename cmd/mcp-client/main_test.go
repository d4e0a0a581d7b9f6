package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp"
)

// TestMain lets the test binary be the client, or a server for it.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "test-server":
		if err := newTestServer(&watcher{}).Run(context.Background(), mcp.Stdio()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "the test server ends")
		os.Exit(0)
	case os.Getenv("MCP_CLIENT_TEST") == "client":
		main()
	}
	os.Exit(m.Run())
}

// A watcher is what tests see of the test server.
type watcher struct {
	ended  chan error  // gets why the tool slow ended
	roots  []*mcp.Root // what the tool roots got
	called []string    // arguments of echo
}

type everyType struct {
	Text string   `json:"text"`
	N    int      `json:"n,omitempty"`
	X    float64  `json:"x,omitempty"`
	On   bool     `json:"on,omitempty"`
	List []string `json:"list,omitempty"`
}

const testPNG = "\x89PNG\r\n\x1a\n"

// newTestServer is a server with something of everything.
func newTestServer(w *watcher, revisions ...string) *mcp.Server {
	var s *mcp.Server
	s = mcp.NewServer(&mcp.Implementation{Name: "tester", Title: "A \x1b[31mserver", Version: "7"}, &mcp.ServerOptions{
		Instructions: "Be kind.",
		PageSize:     2,
		Revisions:    revisions,
		Complete: func(_ context.Context, _ *mcp.Request, p *mcp.CompleteParams) (*mcp.Completion, error) {
			value := p.Argument.Value + "da"
			if p.Context != nil {
				value += " " + p.Context.Arguments["style"]
			}
			return &mcp.Completion{Values: []string{value}, HasMore: true}, nil
		},
		Subscribe: func(_ context.Context, _ *mcp.Request, uri string) error {
			time.AfterFunc(time.Millisecond, func() { s.ResourceUpdated(uri) })
			return nil
		},
	})
	addTestTools(s, w)
	s.AddResource(&mcp.Resource{URI: "test:///a", Name: "a", MIMEType: "text/plain"}, func(context.Context, *mcp.Request, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.TextContents("test:///a", "text/plain", "exactly\x1b[2Jthis")}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "test:///b", Name: "b", MIMEType: "image/png"}, func(context.Context, *mcp.Request, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.BlobContents("test:///b", "image/png", []byte(testPNG))}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test:///{name}", Name: "any", Description: "anything"}, func(_ context.Context, _ *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return nil, mcp.ResourceNotFound(p.URI)
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Greets.", Extra: mcp.Extra{"x-new": []byte("[1]")}, Arguments: []*mcp.PromptArgument{
		{Name: "who", Required: true}, {Name: "style"}}}, func(_ context.Context, _ *mcp.Request, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "Greet " + p.Arguments["who"]}},
			{Role: mcp.RoleAssistant, Content: &mcp.EmbeddedResource{Resource: mcp.TextContents("test:///a", "text/plain", "hello")}},
		}}, nil
	})
	return s
}

func addTestTools(s *mcp.Server, w *watcher) {
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says\nit again."}, func(_ context.Context, r *mcp.Request, in everyType) (string, error) {
		w.called = append(w.called, string(r.Params))
		return in.Text, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.Request, struct{}) (string, error) {
		return "", errors.New("it broke")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "refuse"}, func(context.Context, *mcp.Request, struct{}) (string, error) {
		return "", &mcp.Error{Code: 17, Message: "not today", Data: []byte(`{"when":"tomorrow"}`)}
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sum"}, func(context.Context, *mcp.Request, struct{}) (map[string]int, error) {
		return map[string]int{"sum": 3}, nil
	})
	s.AddTool(&mcp.Tool{Name: "draw"}, func(context.Context, *mcp.Request, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: []byte(`{"ok":true}`), Content: []mcp.Content{
			&mcp.TextContent{Text: "A picture:"},
			&mcp.ImageContent{MIMEType: "image/png", Data: mcp.EncodeBase64([]byte(testPNG))},
			&mcp.ResourceLink{URI: "test:///b", Name: "b", MIMEType: "image/png"},
		}}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		r.Progress(ctx, 1, 4, "hm\r")
		<-ctx.Done()
		if w.ended != nil {
			w.ended <- context.Cause(ctx)
		} else {
			fmt.Fprintln(os.Stderr, "slow:", context.Cause(ctx))
		}
		return "", context.Cause(ctx)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "log"}, func(_ context.Context, r *mcp.Request, _ struct{}) (string, error) {
		r.Logger().Debug("small", "n", 1)
		r.Logger().Error("large")
		return "logged", nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "roots"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answers, err := r.Ask(ctx, mcp.Question{Roots: true})
		if err == nil {
			w.roots = answers[0].Roots
		}
		return "", err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		a, err := r.Elicit(ctx, testForm())
		if err != nil {
			return "", err
		}
		return a.Action + string(a.Content), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "visit"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		a, err := r.Elicit(ctx, mcp.Visit("Please pay", "https://pay.example/x?y=1"))
		if err != nil {
			return "", err
		}
		return a.Action, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sample"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answers, err := r.Ask(ctx, mcp.Question{Sample: &mcp.CreateMessageParams{MaxTokens: 9, SystemPrompt: "Rhyme.", Messages: []*mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: []mcp.Content{&mcp.TextContent{Text: "What rhymes with cat?"}}}}}})
		if err != nil {
			return "", err
		}
		a := answers[0].Sample
		return a.Model + ": " + a.Content[0].(*mcp.TextContent).Text, nil
	})
}

func testForm() *mcp.ElicitParams {
	four, nine := 4.0, 9.0
	return &mcp.ElicitParams{Message: "Who\x1b[2J are you?", RequestedSchema: &mcp.FormSchema{
		Properties: mcp.Properties{
			{Name: "name", Schema: &mcp.PrimitiveSchema{Type: "string", Title: "Your name", Default: []byte(`"Ada"`)}},
			{Name: "age", Schema: &mcp.PrimitiveSchema{Type: "integer", Minimum: &four, Maximum: &nine}},
			{Name: "ok", Schema: &mcp.PrimitiveSchema{Type: "boolean", Default: []byte("true")}},
			{Name: "pet", Schema: &mcp.PrimitiveSchema{Type: "string", OneOf: []mcp.EnumOption{{Const: "c", Title: "Cat"}, {Const: "d", Title: "Dog"}}}},
			{Name: "days", Schema: &mcp.PrimitiveSchema{Type: "array", Items: &mcp.EnumItems{Enum: []string{"mo", "tu", "we"}}, Default: []byte(`["tu"]`)}},
		}, Required: []string{"name"}}}
}

// A buffer may be written to and read at once.
type buffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A trial is a run of the program with a test server.
type trial struct {
	w        watcher
	typed    string // by the person; "": there is none
	stdin    string
	shell    bool // stdin is where the person types
	terminal bool
	colour   bool
	width    int    // of the terminal; 0: nobody knows
	folder   string // for media; "": one that does not exist
	signals  chan os.Signal
	dial     func(*program, []string) (mcp.Transport, error) // nil: to the test server
	hear     func(text string)                               // gets what is written to stdout and stderr
	config   string                                          // folder; "": one that does not exist
	noConfig bool                                            // there cannot be one
	browse   func(ctx context.Context, url string) error     // nil: none may be opened
	open     func() (io.Reader, io.Writer, error)            // nil: by typed
	speaks   []string                                        // the revisions of the test server; nil: all

	code                   int
	stdout, stderr, screen buffer // screen is the person's
}

func (tr *trial) run(line ...string) *trial {
	width := func() int { return tr.width }
	p := &program{stdout: tr.heard(&tr.stdout), terminal: tr.terminal, colour: tr.colour, width: width, folder: tr.folder,
		screen:  &screen{w: tr.heard(&tr.stderr), terminal: tr.terminal, colour: tr.colour, width: width},
		signals: tr.signals, dial: tr.dial, stdin: strings.NewReader(tr.stdin), typed: tr.shell,
		person: &person{open: func() (io.Reader, io.Writer, error) {
			if tr.typed == "" {
				return nil, nil, errors.New("there is no terminal to ask at")
			}
			return strings.NewReader(tr.typed), &tr.screen, nil
		}}}
	p.config = func() (string, error) {
		if tr.noConfig {
			return "", errors.New("there is no home")
		}
		return cmp.Or(tr.config, filepath.Join("there", "is", "none")), nil
	}
	if tr.open != nil {
		p.person.open = tr.open
	}
	if p.browse = tr.browse; p.browse == nil {
		p.browse = func(context.Context, string) error { panic("no browser may be opened") }
	}
	var server sync.WaitGroup
	if p.dial == nil {
		p.dial = func(p *program, _ []string) (mcp.Transport, error) {
			ours, theirs := mcp.Pipe()
			server.Go(func() { _ = newTestServer(&tr.w, tr.speaks...).Run(context.Background(), theirs) })
			return &mcp.ConnTransport{Conn: p.wrap(ours)}, nil
		}
	}
	tr.code = p.run(line)
	server.Wait()
	return tr
}

// heard lets hear know what is written to w.
func (tr *trial) heard(w io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if tr.hear != nil {
			tr.hear(string(p))
		}
		return w.Write(p)
	})
}

// A writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// is checks what came of a trial; the wanted stderr may be left open with "*".
func (tr *trial) is(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if tr.code != code {
		t.Errorf("exit code %d, want %d", tr.code, code)
	}
	if got := tr.stdout.String(); got != stdout {
		t.Errorf("stdout:\n%q\nwant:\n%q", got, stdout)
	}
	if got := tr.stderr.String(); got != stderr && stderr != "*" {
		t.Errorf("stderr:\n%q\nwant:\n%q", got, stderr)
	}
}

// An outcome is what comes of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

// at2026 is what TestSubcommands wants from a server of 2026-07-28, where that differs.
var at2026 = map[string]outcome{
	"info": {0, "name:       tester\ntitle:      A \\x1b[31mserver\nversion:    7\nprotocol:   2026-07-28\nera:        stateless\n" +
		"offers:     tools, resources, subscriptions, prompts, completions, logging\n\nBe kind.\n", ""},
	"info as JSON": {0, `{"protocolVersion":"2026-07-28","era":"stateless","serverInfo":{"name":"tester","title":"A \u001b[31mserver","version":"7"},` +
		`"capabilities":{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"instructions":"Be kind."}` + "\n", ""},
	"call as JSON":       {0, `{` + serverInfo + `,"content":[{"type":"text","text":"<hi>"}]}` + "\n", ""},
	"tool error as JSON": {1, `{` + serverInfo + `,"content":[{"type":"text","text":"it broke"}],"isError":true}` + "\n", "mcp-client: the tool reports an error\n"},
	"read as JSON": {0, `{` + serverInfo + `,"contents":[{"uri":"test:///b","mimeType":"image/png","blob":"iVBORw0KGgo="}],"ttlMs":0,"cacheScope":"private"}` +
		"\n", ""},
	"read what is not there": {4, "", `mcp-client: resource not found: "test:///c": mcp: resources/read: resource not found (code -32602)` + "\n"},
	"prompt as JSON": {0, `{` + serverInfo + `,"messages":[{"role":"user","content":{"type":"text","text":"Greet you"}},` +
		`{"role":"assistant","content":{"type":"resource","resource":{"uri":"test:///a","mimeType":"text/plain","text":"hello"}}}]}` + "\n", ""},
	// There the client says no to its own call: the tool is not asked again.
	"nobody to be the model": {4, "", "sampling refused, since there is no terminal to ask at\n" +
		`mcp-client: tools/call: the server asks for "1": User rejected sampling request (code -1)` + "\n"},
}

// Parts of messages of 2026-07-28: of every result of the test server, and of every
// request of the client.
const (
	serverInfo = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tester","title":"A \u001b[31mserver","version":"7"}}`
	clientMeta = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"mcp-client","title":"Command-line client","version":"1.0.0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
)

func TestSubcommands(t *testing.T) {
	const lists = `echo
    Says
    it again.
      text (string required)
      n (integer)
      x (number)
      on (boolean)
      list (array)
`
	for _, c := range []struct {
		name           string
		line           string // words separated by spaces; "-- x" is added
		code           int
		stdout, stderr string
	}{
		{"info", "info", 0, "name:       tester\ntitle:      A \\x1b[31mserver\nversion:    7\nprotocol:   2025-11-25\nera:        session\n" +
			"offers:     tools, resources, subscriptions, prompts, completions, logging\n\nBe kind.\n", ""},
		{"info as JSON", "info -json", 0, `{"protocolVersion":"2025-11-25","era":"session","serverInfo":{"name":"tester","title":"A \u001b[31mserver","version":"7"},` +
			`"capabilities":{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"instructions":"Be kind."}` + "\n", ""},
		{"tools, of several pages", "tools", 0, "ask\ndraw\n" + lists + "fail\nlog\nrefuse\nroots\nsample\nslow\nsum\nvisit\n", ""},
		{"call", "call echo text=7 n=8", 0, "7\n", ""},
		{"call as JSON", "-json call echo text=<hi>", 0, `{"content":[{"type":"text","text":"<hi>"}]}` + "\n", ""},
		{"structured and text say the same", "call sum", 0, "{\"sum\":3}\n", ""},
		{"content of all kinds", "call draw", 0, "A picture:\n[image image/png 8 bytes]\n[resource test:///b image/png]\n{\n  \"ok\": true\n}\n", ""},
		{"tool error", "call fail", 1, "it broke\n", "mcp-client: the tool reports an error\n"},
		{"tool error as JSON", "-json call fail", 1, `{"content":[{"type":"text","text":"it broke"}],"isError":true}` + "\n", "mcp-client: the tool reports an error\n"},
		{"protocol error", "call refuse", 4, "", "mcp-client: tools/call: not today (code 17)\n"},
		{"protocol error as JSON", "call -json refuse", 4, `{"error":{"code":17,"message":"not today","data":{"when":"tomorrow"}}}` + "\n",
			"mcp-client: tools/call: not today (code 17)\n"},
		{"unknown tool", "call nope", 2, "", `mcp-client: the server has no tool "nope"; it has: ask, draw, echo, fail, log, refuse, roots, sample, slow, sum, visit` + "\n"},
		{"resources", "resources", 0, "test:///a - a text/plain\ntest:///b - b image/png\ntest:///{name} - any (template)\n    anything\n", ""},
		{"resources as JSON", "resources -json", 0, `{"uri":"test:///a","name":"a","mimeType":"text/plain"}` + "\n" +
			`{"uri":"test:///b","name":"b","mimeType":"image/png"}` + "\n" + `{"uriTemplate":"test:///{name}","name":"any","description":"anything"}` + "\n", ""},
		{"read", "read test:///a", 0, "exactly\x1b[2Jthis", ""},
		{"read binary", "read test:///b", 0, "[resource test:///b image/png 8 bytes]\n", ""},
		{"read as JSON", "read test:///b -json", 0, `{"contents":[{"uri":"test:///b","mimeType":"image/png","blob":"iVBORw0KGgo="}]}` + "\n", ""},
		{"read what is not there", "read test:///c", 4, "", `mcp-client: resource not found: "test:///c": mcp: resources/read: resource not found (code -32002)` + "\n"},
		{"prompts", "prompts", 0, "greet\n    Greets.\n      who (string required)\n      style (string)\n", ""},
		{"prompts as JSON, with members nobody knows", "prompts -json", 0,
			`{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true},{"name":"style"}],"x-new":[1]}` + "\n", ""},
		{"prompt", "prompt greet who=Ada=me", 0, "user:\nGreet Ada=me\nassistant:\n[resource test:///a]\nhello\n", ""},
		{"prompt as JSON", "-json prompt greet who=you", 0, `{"messages":[{"role":"user","content":{"type":"text","text":"Greet you"}},` +
			`{"role":"assistant","content":{"type":"resource","resource":{"uri":"test:///a","mimeType":"text/plain","text":"hello"}}}]}` + "\n", ""},
		{"prompt without", "prompt greet", 2, "", `mcp-client: prompt "greet" needs argument "who"` + "\n"},
		{"prompt with too much", "prompt greet who=a what=b", 2, "", `mcp-client: prompt "greet" has no argument "what"; it has: who, style` + "\n"},
		{"complete a prompt", "complete prompt:greet who A style=brief", 0, "Ada brief\n", "there are more\n"},
		{"complete a template", "-q complete test:///{name} name A", 0, "Ada\n", ""},
		{"complete as JSON", "complete -json prompt:greet who A", 0, `{"values":["Ada"],"hasMore":true}` + "\n", ""},
		{"a log level", "-level error call log", 0, "logged\n", "[error] {\"msg\":\"large\"}\n"},
		{"a lower log level", "-level debug call log", 0, "logged\n", "[debug] {\"msg\":\"small\",\"n\":1}\n[error] {\"msg\":\"large\"}\n"},
		{"no log", "-q call log", 0, "logged\n", ""},
		{"nobody to ask", "call ask", 0, "decline\n", "declined, since there is no terminal to ask at (-yes accepts): Who\\x1b[2J are you?\n"},
		{"nobody to visit", "call visit", 0, "decline\n", "declined, since there is no terminal to ask at (-yes accepts): visit https://pay.example/x?y=1\n"},
		{"nobody to be the model", "-q call sample", 1, "mcp: sampling/createMessage: User rejected sampling request (code -1)\n",
			"sampling refused, since there is no terminal to ask at\nmcp-client: the tool reports an error\n"},
		{"yes", "-yes call ask", 0, `accept{"name":"Ada","ok":true,"days":["tu"]}` + "\n", `accepted with {"name":"Ada","ok":true,"days":["tu"]}: Who\x1b[2J are you?` + "\n"},
		{"yes to a visit", "-yes -q call visit", 0, "accept\n", "open this URL: https://pay.example/x?y=1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := outcome{c.code, c.stdout, c.stderr}
			words := strings.Fields(c.line)
			for _, speaks := range [][]string{nil, mcp.Revisions()[1:]} {
				wanted := old
				if now, ok := at2026[c.name]; ok && speaks == nil {
					wanted = now
				}
				(&trial{speaks: speaks}).run(append(words, "--", "x")...).is(t, wanted.code, wanted.stdout, wanted.stderr)
				for i, url := range overHTTP(t, newTestServer(&watcher{}, speaks...)) {
					if i == 1 { // HTTP+SSE is of the session era
						wanted = old
					}
					stderr := wanted.stderr
					if !slices.Contains(words, "-q") {
						stderr = "connecting to: " + url + "\n" + stderr
					}
					new(trial).with(dial).run(append(words, url)...).is(t, wanted.code, wanted.stdout, stderr)
					new(trial).with(dial).run(append([]string{url}, words...)...).is(t, wanted.code, wanted.stdout, stderr)
				}
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	refused := func(p *program, target []string) (mcp.Transport, error) {
		if strings.Contains(target[0], "?") {
			return dial(p, target)
		}
		panic("no server may be reached")
	}
	for _, c := range []struct{ line, stderr string }{
		{"", "which subcommand? mcp-client -h lists them"},
		{"-- x", "which subcommand? mcp-client -h lists them"},
		{"fly -- x", `unknown subcommand "fly"; mcp-client -h lists them`},
		{"tools", "which server? usage: mcp-client [flags] tools -- COMMAND ARGS... | URL | NAME"},
		{"tools --", "which server? usage: mcp-client [flags] tools -- COMMAND ARGS... | URL | NAME"},
		{"read -- x", "usage: mcp-client [flags] read URI -- COMMAND ARGS... | URL | NAME"},
		{"read a b -- x", "usage: mcp-client [flags] read URI -- COMMAND ARGS... | URL | NAME"},
		{"complete a b -- x", "usage: mcp-client [flags] complete REF ARG VALUE [KEY=VALUE…] -- COMMAND ARGS... | URL | NAME"},
		{"demo -- x", "demo takes no server"},
		{"demo now", "usage: mcp-client [flags] demo"},
		{"-wrong tools -- x", "flag provided but not defined: -wrong; mcp-client help flags tells more"},
		{"tools -wrong -- x", "flag provided but not defined: -wrong; mcp-client help flags tells more"},
		{"tools -timeout soon -- x", `invalid value "soon" for flag -timeout: parse error; mcp-client help flags tells more`},
		{"tools -trace=loud -- x", `invalid boolean value "loud" for -trace: want -trace or -trace=full; mcp-client help flags tells more`},
		{"tools -timeout -1s -- x", "-timeout must not be negative"},
		{"tools -level loud -- x", `-level must be one of debug, info, notice, warning, error, critical, alert, emergency, not "loud"`},
		{"http://h/mcp", "which subcommand? mcp-client -h lists them"},
		{"http://h/mcp tools -- x", "the server is a URL, a name or a command, not two of them"},
		{"tools -- http://h/mcp x", "the server is a URL, a name or a command, not two of them"},
		{"demo http://h/mcp", "demo takes no server"},
		{"tools http://?key=secret", "the URL of the server cannot be understood"},
		{"tools -revision 2025-11-26 -- x", `invalid value "2025-11-26" for flag -revision: want one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05; mcp-client help flags tells more`},
		{"demo -revision 2025-11-25", "demo speaks revisions of its own choice: -revision is not for it"},
		{"tools -task -- x", "-task is for call"},
		{"tasks -- x", "usage: mcp-client [flags] tasks list | watch ID | result ID | cancel ID -- COMMAND ARGS... | URL | NAME"},
		{"-header A:secret tools -- x", "-header is for servers over HTTP"},
		{"-header A:secret demo", "-header is for servers over HTTP"},
		{"-client-id x tools -- x", "-client-id, -client-secret-file, -no-browser and -scope are for servers over HTTP"},
		{"-no-browser demo", "-client-id, -client-secret-file, -no-browser and -scope are for servers over HTTP"},
		{"-client-secret-file x tools http://h/mcp", "-client-secret-file is for -client-id"},
		{"logout", "which server? usage: mcp-client [flags] logout URL | NAME"},
		{"logout -- x", "logout is for servers over HTTP"},
		{"logout now http://h/mcp", "usage: mcp-client [flags] logout URL | NAME"},
		{"-header secret tools http://h/mcp", "-header must be 'Name: value'"},
		{"-header /:secret tools http://h/mcp", "-header must be 'Name: value'"},
		{"-header A:sec\x00ret tools http://h/mcp", "-header must be 'Name: value'"},
		{"tools -root /not/there -- x", `-root: "/not/there" is no folder`},
	} {
		tr := &trial{dial: refused}
		tr.run(strings.Fields(c.line)...).is(t, exitUsage, "", "mcp-client: "+c.stderr+"\n")
	}
}

func TestUntypedCallSendsNothing(t *testing.T) {
	tr := new(trial).run("call", "echo", "text=a", "n=many", "--", "x")
	tr.is(t, exitUsage, "", `mcp-client: argument "n": want integer, not "many"`+"\n")
	if len(tr.w.called) != 0 {
		t.Errorf("the tool was called: %q", tr.w.called)
	}
	tr.run("call", "echo", "text=a", "n=1", "x=1.5", "on=true", `list=["b"]`, "--", "x")
	want := `{` + clientMeta + `,"progressToken":5},"name":"echo","arguments":{"list":["b"],"n":1,"on":true,"text":"a","x":1.5}}`
	if len(tr.w.called) != 1 || tr.w.called[0] != want {
		t.Errorf("called with %q, want %s", tr.w.called, want)
	}
}

func TestRoots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tr := new(trial).run("call", "roots", "-root", dir, "-root", ".", "--", "x")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fileURI(dir) + " my folder", fileURI(here) + " mcp-client"}
	if len(tr.w.roots) != 2 || tr.w.roots[0].URI+" "+tr.w.roots[0].Name != want[0] || tr.w.roots[1].URI+" "+tr.w.roots[1].Name != want[1] {
		t.Errorf("roots %v, want %q", tr.w.roots, want)
	}
	if uri := fileURI("/my folder"); uri != "file:///my%20folder" {
		t.Error(uri)
	}
	if uri := fileURI("C:/x"); uri != "file:///C:/x" {
		t.Error(uri)
	}
}

func TestOutputFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.png")
	for _, line := range [][]string{
		{"call", "draw", "-q", "-o", file, "--", "x"},
		{"read", "test:///b", "-q", "-o", file, "--", "x"},
	} {
		if tr := new(trial).run(line...); tr.code != exitOK || tr.stderr.String() != "" {
			t.Errorf("%q: exit code %d, stderr %q", line, tr.code, tr.stderr.String())
		}
		data, err := os.ReadFile(file)
		if string(data) != testPNG {
			t.Errorf("%q: file is %q, %v", line, data, err)
		}
		os.Remove(file)
	}
	new(trial).run("read", "test:///a", "-o", file, "--", "x").
		is(t, exitUsage, "", "mcp-client: -o: nothing in the result is binary, so that "+file+" is not written\n")
}

func TestTrace(t *testing.T) {
	const open = `--> #1 server/discover {` + clientMeta + `}}` + "\n<-- #1 server/discover "
	const sum = `"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}` + "\n<-- (EOF)\n"
	for _, c := range []struct {
		speaks []string
		begin  string
		end    string
	}{
		{nil, open + `result {"resultType":"complete",`,
			`--> #8 tools/call {"_meta":{…,"progressToken":8},"name":"sum","arguments":{}}` + "\n" +
				`<-- #8 tools/call result {"resultType":"complete","_meta":{…},` + sum},
		{mcp.Revisions()[1:], open + `error {"code":-32601,"message":"method \"server/discover\" not found"}` + "\n" +
			`--> #2 initialize {"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{"form":{},"url":{}}},` +
			`"clientInfo":{"name":"mcp-client","title":"Command-line client","version":"1.0.0"}}` + "\n<-- #2 initialize result ",
			`--> #8 tools/call {"_meta":{"progressToken":8},"name":"sum","arguments":{}}` + "\n" +
				`<-- #8 tools/call result {` + sum},
	} {
		got := untimed((&trial{speaks: c.speaks}).run("-trace", "-q", "call", "sum", "--", "x").stderr.String())
		if !strings.HasPrefix(got, c.begin) || !strings.HasSuffix(got, c.end) {
			t.Errorf("the trace is:\n%s\nwant it to begin with:\n%s\nand to end with:\n%s", got, c.begin, c.end)
		}
	}
	long := "text=" + strings.Repeat("x", 500)
	for _, c := range []struct {
		flag string
		all  bool
	}{{"-trace", false}, {"-trace=full", true}} {
		if got := new(trial).run(c.flag, "call", "echo", long, "--", "x").stderr.String(); strings.Contains(got, long[5:]) != c.all {
			t.Errorf("%s: the trace is:\n%s", c.flag, got)
		}
	}
}

// untimed is a trace without the times of its lines.
func untimed(trace string) string {
	return regexp.MustCompile(`(?m)^ +\d+\.\d{3}s `).ReplaceAllString(trace, "")
}

// A terminal gets no control sequence that a server made, and one line of progress.
func TestTerminal(t *testing.T) {
	tr := &trial{terminal: true}
	tr.run("read", "test:///a", "--", "x").is(t, exitOK, "exactly\\x1b[2Jthis\n", "")

	synctest.Test(t, func(t *testing.T) {
		tr := &trial{terminal: true, w: watcher{ended: make(chan error, 1)}}
		tr.run("call", "slow", "-timeout", "1s", "--", "x")
		const shown = "[####---------------]  25% (1 of 4) hm\\x0d"
		if got, want := tr.stderr.String(), shown+eraseLine+"mcp-client: "; !strings.HasPrefix(got, want) {
			t.Errorf("stderr %q, want %q", got, want)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		tr := &trial{w: watcher{ended: make(chan error, 1)}}
		tr.run("call", "slow", "-q", "-timeout", "3s", "--", "x")
		if tr.code != exitConnection || !strings.HasPrefix(tr.stderr.String(), "mcp-client: tools/call: no answer within 3s, last progress at ") {
			t.Errorf("exit code %d, stderr %q", tr.code, tr.stderr.String())
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("it took %v", d)
		}
		var cancelled *mcp.CancelledError
		if err := <-tr.w.ended; !errors.As(err, &cancelled) {
			t.Errorf("the tool saw %v, want it cancelled", err)
		}
	})
}

func TestInterrupt(t *testing.T) {
	tr := &trial{w: watcher{ended: make(chan error, 1)}, signals: make(chan os.Signal, 1)}
	tr.hear = func(text string) {
		if strings.HasPrefix(text, "progress:") {
			tr.signals <- os.Interrupt
		}
	}
	tr.run("call", "slow", "--", "x").is(t, exitInterrupted, "", "progress:  25% (1 of 4) hm\\x0d\nmcp-client: interrupted\n")
	if err := <-tr.w.ended; err == nil || err.Error() != "mcp: cancelled by the peer: mcp: tools/call: context canceled: interrupted" {
		t.Errorf("the tool saw %v", err)
	}
}

func TestSecondInterrupt(t *testing.T) {
	stuck := make(chan struct{})
	tr := &trial{signals: make(chan os.Signal, 2), dial: func(*program, []string) (mcp.Transport, error) {
		<-stuck
		return nil, errors.New("too late")
	}}
	tr.signals <- os.Interrupt
	tr.signals <- os.Interrupt
	tr.run("tools", "--", "x").is(t, exitInterrupted, "", "")
	close(stuck)
}

func TestWatch(t *testing.T) {
	for _, c := range []struct{ flag, want string }{
		{"-q", "updated test:///a\n"},
		{"-json", `{"uri":"test:///a"}` + "\n"},
	} {
		tr := &trial{signals: make(chan os.Signal, 1)}
		tr.hear = func(text string) {
			if text == c.want {
				tr.signals <- os.Interrupt
			}
		}
		tr.run("watch", c.flag, "test:///a", "--", "x").is(t, exitInterrupted, c.want, "*")
	}
	(&trial{speaks: mcp.Revisions()[1:]}).run("watch", "test:///nothing/here", "--", "x").
		is(t, exitProtocol, "", "mcp-client: resources/subscribe: resource not found (code -32002)\n")
	new(trial).run("watch", "test:///nothing/here", "--", "x").
		is(t, exitProtocol, "", `mcp-client: the server does not offer updates of resource "test:///nothing/here"`+"\n")
}

func TestWatchLost(t *testing.T) {
	tr := &trial{}
	lose := make(chan struct{})
	tr.dial = func(p *program, _ []string) (mcp.Transport, error) {
		ours, theirs := mcp.Pipe()
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() { <-lose; cancel(errors.New("server killed")) }()
		go newTestServer(&tr.w).Run(ctx, theirs)
		return &mcp.ConnTransport{Conn: ours}, nil
	}
	tr.hear = func(text string) {
		if text == "updated test:///a\n" {
			close(lose)
		}
	}
	tr.run("watch", "-q", "test:///a", "--", "x").is(t, exitConnection, "updated test:///a\n", "mcp-client: connection closed: EOF\n")
}

// What no server speaks, and what breaks the protocol.
func TestConnection(t *testing.T) {
	new(trial).with(dial).run("tools", "-q", "--", "/not/there").
		is(t, exitConnection, "", "mcp-client: starting /not/there: fork/exec /not/there: no such file or directory\n")
	const probed = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}` + "\n"
	for _, c := range []struct {
		answer string // after probed to initialize, where it is for that
		code   int
		stderr string
	}{
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01"],"requested":"2026-07-28"}}}`, exitProtocol,
			`the server speaks revisions ["2099-01-01"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`},
		{`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, exitConnection,
			`the server speaks revision "1999-01-01", this client [2025-11-25 2025-06-18 2025-03-26 2024-11-05]`},
		{`{"jsonrpc":"2.0","id":2,"result":{}}`, exitProtocol, "invalid response: initialize: protocolVersion: missing"},
		{`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}`, exitProtocol, "initialize: no (code -32603)"},
		{`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, exitProtocol,
			"the server does not offer tools/list"},
	} {
		tr := new(trial).with(func(p *program, _ []string) (mcp.Transport, error) {
			ours, theirs := mcp.Pipe()
			go func() {
				theirs.Read()
				if strings.Contains(c.answer, `"id":2`) {
					theirs.Write([]byte(probed))
					theirs.Read()
				}
				theirs.Write([]byte(c.answer))
			}()
			return &mcp.ConnTransport{Conn: ours}, nil
		})
		tr.run("tools", "--", "x").is(t, c.code, "", "mcp-client: "+c.stderr+"\n")
	}
}

func (tr *trial) with(dial func(*program, []string) (mcp.Transport, error)) *trial {
	tr.dial = dial
	return tr
}

// client is the built program.
func client(t *testing.T, line ...string) (cmd *exec.Cmd, self string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, line...)
	cmd.Env = append(os.Environ(), "MCP_CLIENT_TEST=client")
	return cmd, self
}

func TestBinary(t *testing.T) {
	_, self := client(t)
	cmd, _ := client(t, "call", "echo", "text=hello", "--", self, "test-server")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	if stdout.String() != "hello\n" {
		t.Errorf("stdout %q", stdout.String())
	}
	if want := "starting: " + shellText([]string{self, "test-server"}) + "\nserver: the test server ends\n"; stderr.String() != want {
		t.Errorf("stderr %q, want %q", stderr.String(), want)
	}
	for _, c := range []struct {
		code int
		line []string
	}{
		{exitTool, []string{"call", "fail", "--", self, "test-server"}},
		{exitUsage, []string{"call"}},
		{exitConnection, []string{"tools", "--", self, "-test.run=^$"}}, // ends without a word of the protocol
		{exitProtocol, []string{"read", "test:///x", "--", self, "test-server"}},
	} {
		cmd, _ := client(t, c.line...)
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%q: exit code %d, want %d", c.line, got, c.code)
		}
	}
}

// serving lets the program talk to a server of the test's own.
func (tr *trial) serving(s *mcp.Server) *trial {
	return tr.with(func(p *program, _ []string) (mcp.Transport, error) {
		ours, theirs := mcp.Pipe()
		go func() { _ = s.Run(context.Background(), theirs) }() // ends with the connection
		return &mcp.ConnTransport{Conn: p.wrap(ours)}, nil
	})
}
