// Command mcp-client talks to an MCP server from the command line.
//
//	mcp-client [flags] SUBCOMMAND [args] SERVER
//	mcp-client [flags] SERVER SUBCOMMAND [args]
//	mcp-client [flags] SUBCOMMAND [args] -- COMMAND ARGS...
//
// It does one thing with a server, or with shell one after the other. COMMAND is a server
// to start, that speaks on its stdin and stdout and is ended afterwards. SERVER is the http
// or https URL of one that runs, or a name that a file of servers has: -config says which
// file, else it is .mcp.json of the folder or mcp-client/servers.json of the user's
// configuration. The first word that is no flag is the subcommand, or else the server, and
// the next one the subcommand; where neither the first word is the server nor a command
// follows, the last one is it. So a name is looked up where a URL stands, and nowhere
// else. What a file wants to start is asked about first: see mcp-client help servers.
//
// Run mcp-client -h for the subcommands, mcp-client help SUBCOMMAND for more of each, and
// mcp-client help flags for the flags, which may stand anywhere before "--". The newest
// revision of the protocol that both sides know is spoken, unless -revision names one.
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
// opens no page, and lets -sampler answer; it does not allow what a file of servers wants to
// start. Where there is no terminal and no -yes, the answer
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
//	mcp-client call search query=milk notes
//	mcp-client shell notes
//	mcp-client call -task checksum http://localhost:8080/mcp
//	mcp-client tasks result 2GMKPG4QKTSFYGBTFZ3CFUYZ5X http://localhost:8080/mcp
//	mcp-client -json read file:///home/ada/notes/todo.txt -- mcp-server ~/notes | jq .contents
//	mcp-client demo
//
// Results go to stdout, all else to stderr. Exit codes:
//
//	0    done
//	1    the tool reports an error, a call of a bench has failed, or the demo does not
//	     show what it should
//	2    the command line is wrong, or does not fit what the server offers
//	3    the server could not be started or reached, or may not be, was lost, cannot
//	     serve now (HTTP 5xx), or did not answer in time
//	4    the server answered with an error (HTTP 401 and 403, too), or with what is no
//	     valid answer
//	130  interrupted
//
// That of a shell at a terminal is 0, unless it loses its server; that of one that reads a
// script is of the first line that failed.
package main

import (
	"cmp"
	"context"
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
	// stdin is where a shell reads lines, and "@-" its value; typed: it is a terminal.
	stdin io.Reader
	typed bool
	line  *interruptible // of a shell, that runs
	entry *namedServer   // the server, if a file has its name; else nil
	// dial makes the way to the server from a command or a URL.
	dial func(p *program, target []string) (mcp.Transport, error)
	// config returns the folder of the user's configuration, and browse shows a page.
	config func() (string, error)
	browse func(ctx context.Context, url string) error
}

type flags struct {
	perLine
	yes     bool
	quiet   bool
	sampler string
	level   string
	timeout time.Duration
	roots   []string
	header  http.Header
	// serversFile is where servers have names; "": in the usual places.
	serversFile string
	// revisions are those to speak; nil: all.
	revisions []string
	auth
}

// perLine are the flags that each line of a shell has for itself.
type perLine struct {
	help           bool
	json           bool
	output         string
	asTask         bool
	calls, callers int // of a bench; 0: as many as usual
}

// A command is a subcommand.
type command struct {
	name, args, help string
	more             string // what else there is to know of it
	example          string // its line, without the server
	min, max         int    // number of arguments
	// run does it; nil for what needs no server and has alone, or just its URL and has
	// apart.
	run   func(ctx context.Context, j *job) error
	alone func(ctx context.Context, p *program, args []string) error
	apart func(ctx context.Context, p *program, server string) error
}

// A job is a subcommand at work on a session.
type job struct {
	*program
	cs      *mcp.ClientSession
	over    context.Context // ends with the session, for a reason
	args    []string
	rows    [][]string // of the table that is to be printed
	inShell bool       // names may be shortened
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
		stdin:   os.Stdin,
		typed:   isTerminal(os.Stdin),
		dial:    dial,
		config:  os.UserConfigDir,
		browse:  mcp.OpenBrowser,
	}
	os.Exit(p.run(os.Args[1:]))
}

// run does what the command line says, and returns the exit code. The first signal
// cancels what runs, the second one ends the wait for it; a shell at a terminal stays at
// the first one that comes while a line of it runs.
func (p *program) run(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	out := &output{w: p.stdout}
	p.stdout, p.line, p.person.screen = out, &interruptible{}, p.screen
	done := make(chan int, 1)
	go func() { done <- p.finish(ctx, cmp.Or(p.do(ctx, args), out.failed())) }() // ends with the program, if not before
	for interrupted := false; ; {
		select {
		case code := <-done:
			return code
		case sig := <-p.signals:
			switch {
			case sig == os.Interrupt && p.line.interrupt(): // the shell goes on
			case interrupted:
				return exitInterrupted
			default:
				interrupted = true
				cancel(errInterrupted)
			}
		}
	}
}

// finish reports an error, and returns the exit code it stands for.
func (p *program) finish(ctx context.Context, err error) int {
	code, e := exitCode(ctx, err), (*mcp.Error)(nil)
	if err != nil {
		p.screen.hold(false) // a question may be open yet
	}
	switch {
	case code == exitInterrupted:
		p.screen.erase()
		p.screen.line("mcp-client: interrupted")
	case err != nil:
		p.screen.line("mcp-client: " + strings.TrimPrefix(err.Error(), "mcp: "))
		if a := p.advice(err); a != "" {
			p.screen.line("mcp-client: " + a)
		}
	}
	if p.json && errors.As(err, &e) {
		_ = p.printJSON(map[string]*mcp.Error{"error": e}) // the exit code tells as well
	}
	return code
}

func exitCode(ctx context.Context, err error) int {
	var usage *usageError
	var answered *mcp.Error
	var overHTTP *mcp.HTTPError
	var line *lineError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(context.Cause(ctx), errInterrupted):
		return exitInterrupted
	case errors.As(err, &line):
		return line.code
	case errors.Is(err, errTool), errors.Is(err, errDemo), errors.Is(err, errBench):
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
	case err != nil:
		return err
	case p.help:
		return p.helpOn(cmd)
	case cmd.alone != nil:
		return cmd.alone(ctx, p, args)
	}
	if err := p.allow(ctx); err != nil {
		return err
	}
	if cmd.apart != nil {
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
	over, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(cs.Wait()) }() // ends with the session
	err = cmd.run(ctx, &job{program: p, cs: cs, over: over, args: args})
	p.screen.progress("")
	return err
}

// parse reads the command line: flags, the subcommand and its arguments, and the
// server: a URL, a name, or what stands after "--".
func (p *program) parse(line []string) (cmd *command, args, target []string, err error) {
	var headerErr error
	i := slices.Index(line, "--")
	if i >= 0 {
		line, target = line[:i], line[i+1:]
	}
	words, err := p.parseFlags(p.flagSet(&headerErr), line)
	if err != nil {
		return nil, nil, nil, err
	}
	cmd, args, server, err := split(words, i >= 0)
	switch {
	case p.help:
		return cmd, nil, nil, nil
	case err != nil:
		return nil, nil, nil, err
	case len(args) < cmd.min || len(args) > cmd.max:
		return nil, nil, nil, usagef("usage: mcp-client %s", cmd.synopsis())
	case cmd.alone != nil && (len(target) > 0 || server != ""):
		return nil, nil, nil, usagef("%s takes no server", cmd.name)
	case cmd.alone == nil && len(target) == 0 && server == "":
		return nil, nil, nil, usagef("which server? usage: mcp-client %s", cmd.synopsis())
	case headerErr != nil:
		return nil, nil, nil, headerErr
	case len(target) > 0 && server != "", len(target) > 1 && isURL(target[0]):
		return nil, nil, nil, usagef("the server is a URL, a name or a command, not two of them")
	case p.serversFile != "" && (isURL(server) || server == "") && cmd.name != "servers":
		return nil, nil, nil, usagef("-config is for a server by its name")
	case isURL(server):
		target = []string{server}
	case server != "":
		if target, err = p.named(server); err != nil {
			return nil, nil, nil, err
		}
	}
	return cmd, args, target, p.fit(cmd, target)
}

// parseFlags reads flags, wherever they stand, and returns the other words.
func (p *program) parseFlags(fs *flag.FlagSet, line []string) (words []string, err error) {
	for {
		if err := fs.Parse(line); err != nil {
			return nil, usagef("%v; mcp-client help flags tells more", err)
		}
		if fs.NArg() == 0 {
			return words, nil
		}
		words, line = append(words, fs.Arg(0)), fs.Args()[1:]
	}
}

// split finds in the words of a command line the subcommand, its arguments, and the word
// for the server; "" if there is none. The first word is the subcommand, or else the
// server, and the second one the subcommand. If neither the first word is the server nor a
// command follows, the last one is it.
func split(words []string, command bool) (cmd *command, args []string, server string, err error) {
	if n := len(words); n > 0 && lookup(words[0]) == nil && (isURL(words[0]) || n > 1 && lookup(words[1]) != nil) {
		server, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return nil, nil, "", usagef("which subcommand? mcp-client -h lists them")
	}
	if cmd = lookup(words[0]); cmd == nil {
		return nil, nil, "", usagef("unknown subcommand %q; mcp-client -h lists them", words[0])
	}
	args = words[1:]
	if n := len(args); n > 0 && server == "" && !command {
		if last := args[n-1]; isURL(last) || cmd.alone == nil && n > cmd.min {
			return cmd, args[:n-1], last, nil
		}
	}
	return cmd, args, server, nil
}

func lookup(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return &c
		}
	}
	return nil
}

// fit tells which flags do not fit the subcommand or the server.
func (p *program) fit(cmd *command, target []string) error {
	switch {
	case len(target) > 0 && isURL(target[0]): // all flags are fine
	case cmd.apart != nil:
		return usagef("%s is for servers over HTTP", cmd.name)
	case p.header != nil:
		return usagef("-header is for servers over HTTP")
	case p.auth.given():
		return usagef("-client-id, -client-secret-file, -no-browser and -scope are for servers over HTTP")
	}
	switch {
	case p.secretFile != "" && p.clientID == "":
		return usagef("-client-secret-file is for -client-id")
	case p.level != "" && !slices.Contains(levels, p.level):
		return usagef("-level must be one of %s, not %q", strings.Join(levels, ", "), p.level)
	case p.revisions != nil && cmd.alone != nil:
		return usagef("%s speaks revisions of its own choice: -revision is not for it", cmd.name)
	case p.timeout < 0:
		return usagef("-timeout must not be negative")
	}
	return p.fitLine(cmd)
}

// fitLine is fit for the flags that a line of a shell has, too.
func (p *program) fitLine(cmd *command) error {
	switch {
	case p.asTask && cmd.name != "call":
		return usagef("-task is for call")
	case (p.calls != 0 || p.callers != 0) && cmd.name != "bench":
		return usagef("-n and -c are for bench")
	}
	return nil
}

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func (p *program) flagSet(headerErr *error) *flag.FlagSet {
	fs := p.lineFlags()
	fs.StringVar(&p.serversFile, "config", "", "servers have their names in `FILE`; without it in .mcp.json of this folder, and in mcp-client/servers.json of the user's configuration")
	fs.StringVar(&p.clientID, "client-id", "", "log in as the client `ID`, which was registered with the authorization server beforehand")
	fs.StringVar(&p.secretFile, "client-secret-file", "", "the secret of that client is in `FILE`")
	fs.BoolVar(&p.noBrowser, "no-browser", false, "open no browser here: show the URL of a page; when logging in, ask for the one it leads to")
	fs.Func("scope", "ask also for `SCOPE` when logging in; may be given several times", func(scope string) error {
		p.scopes = append(p.scopes, strings.Fields(scope)...)
		return nil
	})
	fs.Var(headers{&p.header, headerErr}, "header", "send the header `'Name: value'` with every request over HTTP; may be given several times")
	fs.StringVar(&p.level, "level", "", "ask for log messages from `LEVEL` on; they are shown on stderr")
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
	fs.DurationVar(&p.timeout, "timeout", 0, "how long each request may take, such as 30s; 0: an hour, and 5 minutes without a sign of life")
	fs.StringVar(&p.sampler, "sampler", "", "let the shell `COMMAND` be the model: it gets the request as JSON on stdin and prints the result as JSON; you approve both")
	fs.Var(traceFlag{p}, "trace", "show on stderr what goes over the wire, without secrets; long texts are cut, but for -trace=full")
	fs.BoolVar(&p.yes, "yes", false, "ask nothing: accept every form with its defaults and every page to visit, which is shown but not opened; let -sampler answer; log in where that is wanted; only what a file of servers wants to start is asked about all the same")
	return fs
}

// lineFlags are those that a line of a shell may have, too.
func (p *program) lineFlags() *flag.FlagSet {
	fs := flag.NewFlagSet("mcp-client", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&p.help, "h", false, "show this help")
	fs.BoolVar(&p.help, "help", false, "likewise")
	fs.BoolVar(&p.json, "json", p.json, "print JSON for scripts: one value a line, an item of a list or a result each")
	fs.StringVar(&p.output, "o", p.output, "write the first image, sound or other binary data of the result to `FILE`")
	fs.BoolVar(&p.asTask, "task", p.asTask, "let the call be a task, if the server makes it one, and print its id, for tasks; the tasks of a server that is a command usually end with it")
	fs.IntVar(&p.calls, "n", p.calls, "make `N` calls in a bench; 0: 100")
	fs.IntVar(&p.callers, "c", p.callers, "let `C` callers make them, each one call after the other; 0: 1")
	return fs
}

// dial makes the way to a server that is a command to start, or has a URL.
func dial(p *program, target []string) (mcp.Transport, error) {
	if isURL(target[0]) {
		return p.httpTransport(target[0])
	}
	return p.commandTransport(p.command(target)), nil
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
