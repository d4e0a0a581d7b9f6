// Command mcp-client talks to an MCP server from the command line.
//
//	mcp-client [flags] SUBCOMMAND [args] -- COMMAND ARGS...
//	mcp-client [flags] SUBCOMMAND [args] URL
//	mcp-client [flags] URL SUBCOMMAND [args]
//
// It starts COMMAND, a server that speaks on its stdin and stdout, does one thing
// with it, and ends it; or it connects to a server over HTTP. A word that begins with
// http:// or https:// is the server's URL where it is the first one, or, without "--",
// the last one. Run mcp-client -h for the subcommands and flags. Flags may stand
// before or after the subcommand, up to "--". The newest revision of the protocol that
// both sides know is spoken, unless -revision names one.
//
// Where a server over HTTP wants to know who calls, the person logs in with the browser,
// after a question. Tokens are kept in the folder mcp-client of the user's configuration,
// and refreshed, until logout gives them up.
//
// What the server asks the person is asked at the terminal: each question says who asks, and
// can be declined or dismissed, which are different answers. A page to visit is shown with
// its host, and opened after a yes only. A question to a model is answered by the person, or
// by the command of -sampler, which gets the parameters of sampling/createMessage as JSON on
// stdin and prints the result as JSON; the person sees and approves both. -yes asks nothing,
// for scripts that trust the server: it accepts forms with their defaults, accepts visits but
// opens no page, and lets -sampler answer. Where there is no terminal and no -yes, the answer
// is no.
//
// On a terminal, lists are tables, progress is a bar, log messages have colours (not if
// NO_COLOR is set or TERM is dumb), and pictures, sound and other binary data of a result go
// to new files in the current folder, mcp-image-1.png and so on, which never replace one.
// -o FILE replaces FILE with the first of them, and keeps no other. Where a program reads
// stdout, and with -json, nothing is written but by -o.
//
//	mcp-client tools -- mcp-server ~/notes
//	mcp-client tools http://localhost:8080/mcp
//	mcp-client call search query=milk -- mcp-server ~/notes
//	mcp-client call -task checksum http://localhost:8080/mcp
//	mcp-client tasks result 2GMKPG4QKTSFYGBTFZ3CFUYZ5X http://localhost:8080/mcp
//	mcp-client -json read file:///todo.txt -- mcp-server ~/notes | jq .contents
//	mcp-client demo
//
// Results go to stdout, all else to stderr. Exit codes:
//
//	0    done
//	1    the tool reports an error, or the demo does not show what it should
//	2    the command line is wrong, or does not fit what the server offers
//	3    the server could not be started or reached, was lost, cannot serve now (HTTP
//	     5xx), or did not answer in time
//	4    the server answered with an error (HTTP 401 and 403, too), or with what is no
//	     valid answer
//	130  interrupted
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/mcp"
)

const (
	exitOK          = 0
	exitTool        = 1
	exitUsage       = 2
	exitConnection  = 3
	exitProtocol    = 4
	exitInterrupted = 130
)

var (
	errTool        = errors.New("the tool reports an error")
	errInterrupted = errors.New("interrupted")
)

// A usageError says what is wrong with the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// clientInfo is what servers are told of this program.
var clientInfo = &mcp.Implementation{Name: "mcp-client", Title: "Command-line client", Version: "1.0.0"}

// A program is one run of the command, and the world it runs in.
type program struct {
	flags
	stdout   io.Writer
	terminal bool       // stdout is a terminal
	colour   bool       // likewise, and colours are wanted
	width    func() int // of the terminal in columns; nil: 80
	folder   string     // where media are kept
	screen   *screen    // stderr
	tracing  *trace     // nil: the wire is not shown
	person   *person
	server   string // what to call it, besides what it calls itself
	updates  inbox
	visits   visits
	signals  <-chan os.Signal
	// dial makes the way to the server from a command or a URL.
	dial func(p *program, target []string) (mcp.Transport, error)
	// config returns the folder of the user's configuration, and browse shows a page.
	config func() (string, error)
	browse func(ctx context.Context, url string) error
}

type flags struct {
	help    bool
	json    bool
	yes     bool
	quiet   bool
	sampler string
	level   string
	output  string
	timeout time.Duration
	roots   []string
	header  http.Header
	asTask  bool
	// revisions are those to speak; nil: all.
	revisions []string
	auth
}

// A command is a subcommand.
type command struct {
	name, args, help string
	min, max         int // number of arguments
	// run does it; nil for what needs no server and has alone, or just its URL and has
	// apart.
	run   func(ctx context.Context, j *job) error
	alone func(ctx context.Context, p *program) error
	apart func(ctx context.Context, p *program, server string) error
}

// A job is a subcommand at work on a session.
type job struct {
	*program
	cs   *mcp.ClientSession
	args []string
	rows [][]string // of the table that is to be printed
}

const anyNumber = 1 << 30

var commands = []command{
	{name: "info", help: "what the server says of itself, and what it offers", run: info},
	{name: "tools", help: "list the tools", run: tools},
	{name: "call", args: "NAME [KEY=VALUE… | KEY:=JSON… | JSON]", help: "call a tool; values have the types of its input schema", min: 1, max: anyNumber, run: call},
	{name: "tasks", args: "list | watch ID | result ID | cancel ID", help: "list the tasks (2025-11-25); tell how one is until it is over; wait for its result, and answer what it asks; cancel it", min: 1, max: 2, run: tasks},
	{name: "resources", help: "list the resources and resource templates", run: resources},
	{name: "read", args: "URI", help: "read a resource", min: 1, max: 1, run: read},
	{name: "prompts", help: "list the prompts", run: prompts},
	{name: "prompt", args: "NAME [KEY=VALUE…]", help: "get a prompt", min: 1, max: anyNumber, run: prompt},
	{name: "complete", args: "REF ARG VALUE [KEY=VALUE…]", help: "suggest values for an argument; REF is prompt:NAME or a URI template, KEY=VALUE the arguments that are known", min: 3, max: anyNumber, run: complete},
	{name: "watch", args: "URI", help: "tell of updates of a resource, and what they change, until interrupted", min: 1, max: 1, run: watch},
	{name: "logout", help: "give up the tokens for a server, here and at its authorization server", apart: logout},
	{name: "demo", help: "build the folder server of this module and show every feature with it", alone: runDemo},
}

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	p := &program{
		stdout:   os.Stdout,
		terminal: isTerminal(os.Stdout),
		colour:   isTerminal(os.Stdout) && colourful(os.Getenv),
		width:    columns(os.Stdout),
		folder:   ".",
		screen: &screen{w: os.Stderr, terminal: isTerminal(os.Stderr) && obeys(os.Getenv),
			colour: isTerminal(os.Stderr) && colourful(os.Getenv), width: columns(os.Stderr)},
		person:  &person{open: openTerminal},
		signals: signals,
		dial:    dial,
		config:  os.UserConfigDir,
		browse:  mcp.OpenBrowser,
	}
	os.Exit(p.run(os.Args[1:]))
}

// run does what the command line says, and returns the exit code. The first signal
// cancels what runs, the second one ends the wait for it.
func (p *program) run(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan int, 1)
	go func() { done <- p.finish(ctx, p.do(ctx, args)) }() // ends with the program, if not before
	for interrupts := 0; ; interrupts++ {
		select {
		case code := <-done:
			return code
		case <-p.signals:
			if interrupts > 0 {
				return exitInterrupted
			}
			cancel(errInterrupted)
		}
	}
}

// finish reports an error, and returns the exit code it stands for.
func (p *program) finish(ctx context.Context, err error) int {
	code, e := exitCode(ctx, err), (*mcp.Error)(nil)
	switch {
	case code == exitInterrupted:
		p.screen.line("mcp-client: interrupted")
	case err != nil:
		p.screen.line("mcp-client: " + strings.TrimPrefix(err.Error(), "mcp: "))
		if a := p.advice(err); a != "" {
			p.screen.line("mcp-client: " + a)
		}
	}
	if p.json && errors.As(err, &e) {
		type fault struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data,omitempty"`
		}
		_ = p.printJSON(map[string]fault{"error": {e.Code, e.Message, e.Data}}) // the exit code tells as well
	}
	return code
}

func exitCode(ctx context.Context, err error) int {
	var usage *usageError
	var answered *mcp.Error
	var overHTTP *mcp.HTTPError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(context.Cause(ctx), errInterrupted):
		return exitInterrupted
	case errors.Is(err, errTool), errors.Is(err, errDemo):
		return exitTool
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &answered), errors.As(err, new(*mcp.CancelledError)), errors.Is(err, mcp.ErrInvalidResponse),
		errors.Is(err, mcp.ErrNotOffered), errors.Is(err, mcp.ErrUnauthorized),
		errors.As(err, &overHTTP) && overHTTP.Status < 500:
		return exitProtocol
	}
	return exitConnection
}

// do parses the command line, connects, and runs the subcommand.
func (p *program) do(ctx context.Context, args []string) error {
	cmd, args, target, err := p.parse(args)
	switch {
	case p.help:
		_, err := io.WriteString(p.stdout, usage())
		return err
	case err != nil:
		return err
	case cmd.alone != nil:
		return cmd.alone(ctx, p)
	case cmd.apart != nil:
		return cmd.apart(ctx, p, target[0])
	}
	o, err := p.options()
	if err != nil {
		return err
	}
	t, err := p.dial(p, target)
	if err != nil {
		return err
	}
	cs, err := mcp.NewClient(clientInfo, o).Connect(ctx, t)
	if err != nil {
		return err
	}
	defer func() {
		if err := cs.Close(); err != nil {
			p.note("closing: " + err.Error())
		}
	}()
	if p.level != "" {
		if err := cs.SetLoggingLevel(ctx, mcp.LoggingLevel(p.level)); err != nil {
			return err
		}
	}
	err = cmd.run(ctx, &job{program: p, cs: cs, args: args})
	p.screen.progress("")
	return err
}

// parse reads the command line: flags, the subcommand and its arguments, and the
// server: a URL, or what stands after "--".
func (p *program) parse(line []string) (cmd *command, args, target []string, err error) {
	var headerErr error
	fs := p.flagSet(&headerErr)
	i := slices.Index(line, "--")
	if i >= 0 {
		line, target = line[:i], line[i+1:]
	}
	for rest := line; ; {
		if err := fs.Parse(rest); err != nil {
			return nil, nil, nil, usagef("%v; mcp-client -h tells more", err)
		}
		if fs.NArg() == 0 {
			break
		}
		args, rest = append(args, fs.Arg(0)), fs.Args()[1:]
	}
	args, u := cutURL(args, i >= 0)
	if u != "" {
		target = append([]string{u}, target...)
	}
	if len(args) == 0 {
		return nil, nil, nil, usagef("which subcommand? mcp-client -h lists them")
	}
	n := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	if n < 0 {
		return nil, nil, nil, usagef("unknown subcommand %q; mcp-client -h lists them", args[0])
	}
	cmd, args = &commands[n], args[1:]
	switch {
	case len(args) < cmd.min || len(args) > cmd.max:
		return nil, nil, nil, usagef("usage: mcp-client %s", cmd.synopsis())
	case cmd.alone != nil && len(target) > 0:
		return nil, nil, nil, usagef("%s starts its own server, and takes no other", cmd.name)
	case cmd.alone == nil && len(target) == 0:
		return nil, nil, nil, usagef("which server? usage: mcp-client %s", cmd.synopsis())
	case headerErr != nil:
		return nil, nil, nil, headerErr
	case len(target) > 1 && isURL(target[0]):
		return nil, nil, nil, usagef("the server is a URL or a command, not both")
	case len(target) > 0 && isURL(target[0]): // all flags are fine
	case cmd.apart != nil:
		return nil, nil, nil, usagef("%s is for servers over HTTP", cmd.name)
	case p.header != nil:
		return nil, nil, nil, usagef("-header is for servers over HTTP")
	case p.auth.given():
		return nil, nil, nil, usagef("-client-id, -client-secret-file, -no-browser and -scope are for servers over HTTP")
	}
	switch {
	case p.secretFile != "" && p.clientID == "":
		return nil, nil, nil, usagef("-client-secret-file is for -client-id")
	case p.level != "" && !slices.Contains(levels, p.level):
		return nil, nil, nil, usagef("-level must be one of %s, not %q", strings.Join(levels, ", "), p.level)
	case p.asTask && cmd.name != "call":
		return nil, nil, nil, usagef("-task is for call")
	case p.revisions != nil && cmd.alone != nil:
		return nil, nil, nil, usagef("%s speaks revisions of its own choice: -revision is not for it", cmd.name)
	case p.timeout < 0:
		return nil, nil, nil, usagef("-timeout must not be negative")
	}
	return cmd, args, target, nil
}

// cutURL takes the URL of the server off the words of a command line; "" if there is
// none.
func cutURL(args []string, command bool) (rest []string, u string) {
	switch n := len(args); {
	case n > 0 && isURL(args[0]):
		return args[1:], args[0]
	case n > 1 && isURL(args[n-1]) && !command:
		return args[:n-1], args[n-1]
	}
	return args, ""
}

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func (p *program) flagSet(headerErr *error) *flag.FlagSet {
	fs := flag.NewFlagSet("mcp-client", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&p.help, "h", false, "show this help")
	fs.BoolVar(&p.help, "help", false, "likewise")
	fs.StringVar(&p.clientID, "client-id", "", "log in as the client `ID`, which was registered with the authorization server beforehand")
	fs.StringVar(&p.secretFile, "client-secret-file", "", "the secret of that client is in `FILE`")
	fs.BoolVar(&p.noBrowser, "no-browser", false, "open no browser here: show the URL of a page; when logging in, ask for the one it leads to")
	fs.Func("scope", "ask also for `SCOPE` when logging in; may be given several times", func(scope string) error {
		p.scopes = append(p.scopes, strings.Fields(scope)...)
		return nil
	})
	fs.Var(headers{&p.header, headerErr}, "header", "send the header `'Name: value'` with every request over HTTP; may be given several times")
	fs.BoolVar(&p.json, "json", false, "print JSON for scripts: one value a line, an item of a list or a result each")
	fs.StringVar(&p.level, "level", "", "ask for log messages from `LEVEL` on; they are shown on stderr")
	fs.StringVar(&p.output, "o", "", "write the first image, sound or other binary data of the result to `FILE`")
	fs.BoolVar(&p.quiet, "q", false, "show on stderr only errors, and what was asked for")
	fs.Func("root", "tell the server of the folder `DIR`; may be given several times", func(dir string) error {
		p.roots = append(p.roots, dir)
		return nil
	})
	fs.Func("revision", "speak only the revision `NAME` of the protocol, such as "+mcp.Revision20251125+"; may be given several times", func(name string) error {
		if !slices.Contains(mcp.Revisions(), name) {
			return fmt.Errorf("want one of %s", strings.Join(mcp.Revisions(), ", "))
		}
		p.revisions = append(p.revisions, name)
		return nil
	})
	fs.BoolVar(&p.asTask, "task", false, "let the call be a task, if the server makes it one, and print its id, for tasks; the tasks of a server that is a command usually end with it")
	fs.DurationVar(&p.timeout, "timeout", 0, "how long each request may take, such as 30s; 0: an hour, and 5 minutes without a sign of life")
	fs.StringVar(&p.sampler, "sampler", "", "let the shell `COMMAND` be the model: it gets the request as JSON on stdin and prints the result as JSON; you approve both")
	fs.Var(traceFlag{p}, "trace", "show on stderr what goes over the wire, without secrets; long texts are cut, but for -trace=full")
	fs.BoolVar(&p.yes, "yes", false, "ask nothing: accept every form with its defaults and every page to visit, which is shown but not opened; let -sampler answer; log in where that is wanted")
	return fs
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: mcp-client [flags] SUBCOMMAND [args] -- COMMAND ARGS...\n" +
		"       mcp-client [flags] SUBCOMMAND [args] URL\n" +
		"       mcp-client [flags] URL SUBCOMMAND [args]\n\n" +
		"The server is a command to start, or the http or https URL of one that runs.\n\nSubcommands:\n")
	for i := range commands {
		fmt.Fprintf(&b, "  %s\n    \t%s\n", strings.TrimSpace(commands[i].name+" "+commands[i].args), commands[i].help)
	}
	b.WriteString("\nFlags, before or after the subcommand:\n")
	fs := (&program{}).flagSet(new(error))
	fs.SetOutput(&b)
	fs.PrintDefaults()
	b.WriteString("\nExit codes: 0 done, 1 the tool reports an error, 2 the command line is wrong\n" +
		"or does not fit what the server offers, 3 no connection or no answer (HTTP 5xx,\n" +
		"too), 4 an error of the protocol (HTTP 401 and 403, too), 130 interrupted.\n")
	return b.String()
}

func (c *command) synopsis() string {
	text := "[flags] " + c.name
	if c.args != "" {
		text += " " + c.args
	}
	switch {
	case c.run != nil:
		text += " -- COMMAND ARGS... | URL"
	case c.apart != nil:
		text += " URL"
	}
	return text
}

// dial makes the way to a server that is a command to start, or has a URL.
func dial(p *program, target []string) (mcp.Transport, error) {
	if isURL(target[0]) {
		return p.httpTransport(target[0])
	}
	p.server = shellText(target)
	p.note("starting: " + p.server)
	return p.commandTransport(exec.Command(target[0], target[1:]...)), nil
}

func (p *program) commandTransport(cmd *exec.Cmd) *mcp.CommandTransport {
	return &mcp.CommandTransport{Command: cmd, Wrap: p.wrap, Stderr: func(line string) { p.note("server: " + line) }}
}

// wrap shows what goes over a connection, if that is wanted.
func (p *program) wrap(c mcp.Conn) mcp.Conn {
	if p.tracing != nil {
		return &tracer{c, p.tracing}
	}
	return c
}

// shellText is a command as one would type it.
func shellText(words []string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=,+@%", r)
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// note shows a line that is for people only.
func (p *program) note(text string) {
	if !p.quiet {
		p.screen.line(text)
	}
}
