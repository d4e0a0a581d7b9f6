package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"example.com/mcp"
)

// In a script each line is a subcommand of one session, errors do not end it, and the exit
// code is that of the first one.
func TestShellScript(t *testing.T) {
	for _, c := range []struct {
		name, script   string
		code           int
		stdout, stderr string
	}{
		{"nothing", "", 0, "", ""},
		{"several", "call sum\n\n  # a comment\ncall echo text=hi\r\nread test:///a", 0, "{\"sum\":3}\nhi\nexactly\x1b[2Jthis", ""},
		{"quotes", `call echo 'text=it'"'s \"here\" "\ now`, 0, "it's \"here\"  now\n", ""},
		{"errors", "call fail\ncall nope\nfly\ncall sum", 1, "it broke\n{\"sum\":3}\n", "mcp-client: the tool reports an error\n" +
			`mcp-client: the server has no tool "nope"; it has: ask, draw, echo, fail, log, refuse, roots, sample, slow, sum, visit` + "\n" +
			`mcp-client: unknown subcommand "fly"; help lists them` + "\nmcp-client: there was an error in a line\n"},
		{"an open quote", "call echo 'text=a", 2, "", "mcp-client: a quote ' is not closed\nmcp-client: there was an error in a line\n"},
		{"a backslash", "call sum \\", 2, "", "mcp-client: nothing follows the last backslash\nmcp-client: there was an error in a line\n"},
		{"another exit code", "call refuse\ncall fail", 4, "it broke\n", "mcp-client: tools/call: not today (code 17)\nmcp-client: the tool reports an error\nmcp-client: there was an error in a line\n"},
		{"exit", "call sum\nexit\ncall fail", 0, "{\"sum\":3}\n", ""},
		{"quit with an error before", "call fail\nquit\n", 1, "it broke\n", "mcp-client: the tool reports an error\nmcp-client: there was an error in a line\n"},
		{"flags of a line", "call sum -json\ncall sum", 0, `{` + serverInfo + `,"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}` + "\n{\"sum\":3}\n", ""},
		{"flags that are the shell's", "call sum -header a:b", 2, "", "mcp-client: flag provided but not defined: -header; mcp-client help flags tells more\nmcp-client: there was an error in a line\n"},
		{"a flag of another", "read test:///a -task", 2, "", "mcp-client: -task is for call\nmcp-client: there was an error in a line\n"},
		{"wrong use", "read", 2, "", "mcp-client: usage: read URI\nmcp-client: there was an error in a line\n"},
		{"what is not for it", "demo\nshell\nlogout", 2, "", `mcp-client: unknown subcommand "demo"; help lists them` + "\n" +
			`mcp-client: unknown subcommand "shell"; help lists them` + "\n" + `mcp-client: unknown subcommand "logout"; help lists them` + "\nmcp-client: there was an error in a line\n"},
		{"beginnings", "ca su\nprompt gr who=me\nread test:///a\ntas list", 4, "{\"sum\":3}\nuser:\nGreet me\nassistant:\n[resource test:///a]\nhello\nexactly\x1b[2Jthis",
			"tool: sum\nprompt: greet\nmcp-client: the server does not offer tasks/list\nmcp-client: there was an error in a line\n"},
		{"ambiguous", "re test:///a\ncall s\np", 2, "", `mcp-client: "re" may be: resources, read` + "\n" + `mcp-client: "s" may be: sample, slow, sum` + "\n" +
			`mcp-client: "p" may be: prompts, prompt` + "\nmcp-client: there was an error in a line\n"},
		{"no stdin for values", "call echo text=@-", 2, "", "mcp-client: argument \"text\": @-: there is no stdin to read\nmcp-client: there was an error in a line\n"},
		{"nobody to ask", "call ask", 0, "decline\n", "declined, since there is no terminal to ask at (-yes accepts): Who\\x1b[2J are you?\n"},
		{"help on one", "help call\ninfo -h", 0, lookup("call").shellPage() + lookup("info").shellPage(), ""},
		{"a long line", "call sum\ncall echo text=" + strings.Repeat("x", maxTyped), 2, "{\"sum\":3}\n", "mcp-client: a line has more than 1048576 bytes\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			(&trial{stdin: c.script}).run("shell", "--", "x").is(t, c.code, c.stdout, c.stderr)
		})
	}
}

// One session serves all lines; what a shell is told when it begins is for all of them.
func TestShellIsOneSession(t *testing.T) {
	starts := 0
	tr := &trial{stdin: "call sum\ncall fail\ncall sum\n", speaks: mcp.Revisions()[1:]}
	tr.dial = func(p *program, _ []string) (mcp.Transport, error) {
		starts++
		ours, theirs := mcp.Pipe()
		go newTestServer(&tr.w, tr.speaks...).Run(context.Background(), theirs) // ends with the session
		return &mcp.ConnTransport{Conn: p.wrap(ours)}, nil
	}
	tr.run("-json", "-q", "shell", "--", "x")
	const sum = `{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}` + "\n"
	tr.is(t, exitTool, sum+`{"content":[{"type":"text","text":"it broke"}],"isError":true}`+"\n"+sum, "*")
	if starts != 1 {
		t.Errorf("%d servers were started", starts)
	}
}

func TestShellFollows(t *testing.T) {
	names := "info\ntools\ncall\nbench\ntasks\nresources\nread\nprompts\nprompt\ncomplete\nwatch\nhelp\n"
	for line, want := range map[string]string{
		"call ?":                           "ask\ndraw\necho\nfail\nlog\nrefuse\nroots\nsample\nslow\nsum\nvisit\n",
		"call s ?":                         "sample\nslow\nsum\n",
		"call sum ?":                       "",
		"call ec ?":                        "  text (string required)\n  n (integer)\n  x (number)\n  on (boolean)\n  list (array)\n",
		"call echo text=a n=1 ?":           "  x (number)\n  on (boolean)\n  list (array)\n",
		"call echo text=a o ?":             "  on (boolean)\n",
		"bench echo text=a x=1 on= ?":      "  n (integer)\non=true\non=false\n  list (array)\n",
		"call echo text=a x=1 n=1 on=t ?":  "on=true\n  list (array)\n",
		"prompt ?":                         "greet\n",
		"prompt greet ?":                   "  who (string required)\n  style (string)\n",
		"prompt greet style=brief who=A ?": "'who=Ada brief'\n",
		"read ?":                           "test:///a\ntest:///b\ntest:///da\n",
		"read test:///a ?":                 "test:///a\ntest:///ada\n",
		"watch test:///zo ?":               "test:///zoda\n",
		"complete ?":                       "prompt:greet\n'test:///{name}'\n",
		"complete p ?":                     "prompt:greet\n",
		"complete prompt:greet ?":          "  who (string required)\n  style (string)\n",
		"tasks ?":                          "list\nwatch\nresult\ncancel\n",
		"help ?":                           "flags\n" + names,
		"help p ?":                         "prompts\nprompt\n",
		"info ?":                           "",
	} {
		for _, terminal := range []bool{false, true} {
			(&trial{stdin: line, terminal: terminal}).run("-q", "shell", "--", "x").is(t, exitOK, want, "")
		}
	}
	tr := (&trial{stdin: "?"}).run("shell", "--", "x")
	for name := range strings.FieldsSeq(names) {
		if !strings.Contains(tr.stdout.String(), "\n  "+name+" ") && !strings.HasPrefix(tr.stdout.String(), "  "+name+" ") {
			t.Errorf("? lacks %s:\n%s", name, tr.stdout.String())
		}
	}
	(&trial{stdin: "call nope x ?"}).run("shell", "--", "x").is(t, exitUsage, "", "mcp-client: there is no \"nope\"\nmcp-client: there was an error in a line\n")
}

// The shell and the server's questions read the same lines, and neither takes the other's.
func TestShellAtTerminal(t *testing.T) {
	tr := &trial{shell: true, typed: "call sum\ncall ask\nBob\n\n\n\n\ny\ncall fail\ncall echo text=end\n"}
	tr.run("-q", "shell", "--", "x").is(t, exitOK, "{\"sum\":3}\naccept"+`{"name":"Bob","ok":true,"days":["tu"]}`+"\nit broke\nend\n", "mcp-client: the tool reports an error\n")
	if got := tr.screen.String(); strings.Count(got, "mcp> ") != 5 || !strings.HasPrefix(got, "mcp> mcp> The server tester 7 asks:\n") || !strings.HasSuffix(got, "mcp> mcp> mcp> \n") {
		t.Errorf("shown:\n%s", got)
	}
}

// A typer types lines when they are wanted.
type typer struct {
	in    *io.PipeReader
	out   *io.PipeWriter
	shown buffer
	on    func(shown string) (line string) // gets what the terminal shows; types the line unless it is ""
}

func newTyper(on func(string) string) *typer {
	y := &typer{on: on}
	y.in, y.out = io.Pipe()
	return y
}

func (y *typer) open() (io.Reader, io.Writer, error) { return y.in, y, nil }

func (y *typer) Write(b []byte) (int, error) {
	y.see(string(b))
	return y.shown.Write(b)
}

func (y *typer) see(text string) {
	if line := y.on(text); line != "" {
		go y.out.Write([]byte(line)) // ends when it is read, or the test
	}
}

// What is asked while the shell waits for a line gets the lines until it is done.
func TestShellAskedAtPrompt(t *testing.T) {
	prompts, asked := 0, make(chan error, 1)
	p := &program{screen: &screen{w: io.Discard}}
	y := newTyper(func(shown string) string {
		switch {
		case strings.HasPrefix(shown, "mcp> "):
			prompts++
			if prompts == 2 {
				return "tools\n"
			}
			go func() { // ends with the question
				asked <- p.sitting(context.Background(), func() error {
					_, err := p.person.choose(context.Background(), "Sure? ", "y")
					return err
				})
			}()
		case shown == "Sure? ":
			return "y\n"
		}
		return ""
	})
	p.person = &person{open: y.open}
	line, err := p.person.command(t.Context(), "mcp> ")
	if line != "tools" || err != nil {
		t.Errorf("the line is %q, %v", line, err)
	}
	must(t, <-asked)
	if got := y.shown.String(); got != "mcp> \nSure? mcp> " {
		t.Errorf("shown: %q", got)
	}
}

// Ctrl-C ends what runs, and not the shell.
func TestShellInterrupt(t *testing.T) {
	tr := &trial{shell: true, w: watcher{ended: make(chan error, 1)}, signals: make(chan os.Signal, 1)}
	lines := []string{"call slow\n", "call sum\n", "exit\n"}
	y := newTyper(func(shown string) (line string) {
		if shown == "mcp> " {
			line, lines = lines[0], lines[1:]
		}
		return line
	})
	tr.open = y.open
	tr.hear = func(text string) {
		if strings.HasPrefix(text, "progress:") {
			tr.signals <- os.Interrupt
		}
	}
	tr.run("shell", "--", "x").is(t, exitOK, "{\"sum\":3}\n", "progress:  25% (1 of 4) hm\\x0d\nmcp-client: interrupted\n")
	var cancelled *mcp.CancelledError
	if err := <-tr.w.ended; !errors.As(err, &cancelled) {
		t.Errorf("the tool saw %v, want it cancelled", err)
	}
}

// Ctrl-C also dismisses what the server asks, which need not withdraw it, and what it asks
// before the next line.
func TestShellInterruptsQuestions(t *testing.T) {
	ours, theirs := mcp.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- newTestServer(&watcher{}).Run(context.Background(), theirs) }()
	cs, err := mcp.NewClient(clientInfo, nil).Connect(t.Context(), &mcp.ConnTransport{Conn: ours})
	must(t, err)
	p := &program{screen: &screen{w: io.Discard}, line: &interruptible{}}
	asked := 0
	y := newTyper(func(shown string) string {
		if !strings.HasPrefix(shown, "Accept? ") {
			return ""
		}
		if asked++; asked == 1 {
			if !p.line.interrupt() || p.line.interrupt() {
				t.Error("there is one line to interrupt, once")
			}
			return ""
		}
		return "y\n"
	})
	p.person = &person{open: y.open}
	form := &mcp.ElicitParams{Message: "Sure?", RequestedSchema: &mcp.FormSchema{}}
	for _, c := range []struct {
		newLine bool
		want    string
	}{{true, "cancel"}, {false, "cancel"}, {true, "accept"}, {false, "accept"}} {
		if c.newLine {
			_, cancel := context.WithCancelCause(t.Context())
			p.line.set(cancel)
		}
		r, err := p.elicit(t.Context(), cs, form)
		if err != nil || r.Action != c.want {
			t.Errorf("%+v: %v, %v", c, r, err)
		}
	}
	if asked != 4 { // one is not asked, one is asked again
		t.Errorf("asked %d times", asked)
	}
	must(t, cs.Close())
	<-ended
}

// At the prompt Ctrl-C ends the shell, as do the second one, SIGTERM anywhere, and Ctrl-C in a
// script.
func TestShellInterrupted(t *testing.T) {
	for _, c := range []struct {
		name   string
		shell  bool
		signal os.Signal
		line   string
		stderr string
	}{
		{"at the prompt", true, os.Interrupt, "", "mcp-client: interrupted\n"},
		{"terminated", true, syscall.SIGTERM, "call slow\n", "mcp-client: interrupted\nmcp-client: interrupted\n"},
		{"twice", true, os.Interrupt, "call slow\n", "mcp-client: interrupted\nmcp-client: interrupted\n"},
		{"in a script", false, os.Interrupt, "call slow\ncall sum\n", "mcp-client: interrupted\nmcp-client: interrupted\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &trial{shell: c.shell, stdin: c.line, w: watcher{ended: make(chan error, 1)}, signals: make(chan os.Signal, 2)}
			tr.open = newTyper(func(shown string) string {
				if shown == "mcp> " && c.line == "" {
					tr.signals <- c.signal
				}
				return c.line
			}).open
			tr.hear = func(text string) {
				if strings.HasPrefix(text, "progress:") {
					tr.signals <- c.signal
					if c.name == "twice" {
						tr.signals <- c.signal
					}
				}
			}
			tr.run("shell", "--", "x")
			if got := strings.TrimPrefix(tr.stderr.String(), "progress:  25% (1 of 4) hm\\x0d\n"); tr.code != exitInterrupted || got != c.stderr {
				t.Errorf("exit code %d, stderr %q", tr.code, got)
			}
		})
	}
}

// The loss of the server ends the shell.
func TestShellLost(t *testing.T) {
	lose := make(chan struct{})
	tr := &trial{shell: true, dial: func(p *program, _ []string) (mcp.Transport, error) {
		ours, theirs := mcp.Pipe()
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() { <-lose; cancel(errors.New("server killed")) }()
		go newTestServer(&watcher{}).Run(ctx, theirs)
		return &mcp.ConnTransport{Conn: ours}, nil
	}}
	tr.open = newTyper(func(shown string) string {
		if shown == "mcp> " {
			close(lose)
		}
		return ""
	}).open
	tr.run("shell", "--", "x").is(t, exitConnection, "", "mcp-client: connection closed: EOF\n")
}

// A watch in a shell ends with Ctrl-C, and what it followed is followed no more.
func TestShellWatch(t *testing.T) {
	tr := &trial{shell: true, signals: make(chan os.Signal, 1)}
	lines := []string{"watch test:///a\n", "call sum\n", "exit\n"}
	tr.open = newTyper(func(shown string) (line string) {
		if shown == "mcp> " {
			line, lines = lines[0], lines[1:]
		}
		return line
	}).open
	tr.hear = func(text string) {
		if text == "updated test:///a\n" {
			tr.signals <- os.Interrupt
		}
	}
	tr.run("shell", "-trace", "-q", "--", "x")
	if got := tr.stderr.String(); tr.code != exitOK || tr.stdout.String() != "updated test:///a\n{\"sum\":3}\n" || !strings.Contains(got, "mcp-client: interrupted\n") {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", tr.code, tr.stdout.String(), got)
	}
}

func TestExpansions(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, &mcp.ServerOptions{
		Complete: func(_ context.Context, _ *mcp.Request, p *mcp.CompleteParams) (*mcp.Completion, error) {
			if p.Argument.Name == "none" {
				return &mcp.Completion{}, nil
			}
			text := p.Argument.Name
			if p.Context != nil {
				text += fmt.Sprint(p.Context.Arguments)
			}
			return &mcp.Completion{Values: []string{p.Argument.Value + text}}, nil
		}})
	for _, template := range []string{"x:/{a}", "x:/{a}/end", "x:/{+a}/{b}", "x:/{none}", "x:/{a}{?q}"} {
		s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: template, Name: "t"}, func(context.Context, *mcp.Request, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return nil, errors.New("nothing")
		})
	}
	ours, theirs := mcp.Pipe()
	go s.Run(t.Context(), theirs) // ends with the test
	cs, err := mcp.NewClient(clientInfo, nil).Connect(t.Context(), &mcp.ConnTransport{Conn: ours})
	must(t, err)
	defer cs.Close()
	j := &job{program: &program{}, cs: cs}
	for _, c := range []struct{ template, begin, want string }{
		{"x:/{a}", "", "[x:/a]"},
		{"x:/{a}", "x:", "[x:/a]"},
		{"x:/{a}", "y:", "[]"},
		{"x:/{a}", "x:/b", "[x:/ba]"},
		{"x:/{a}/end", "x:/b", "[x:/ba/end]"},
		{"x:/{+a}/{b}", "x:/1/", "[x:/1/bmap[a:1]]"},
		{"x:/{+a}/{b}", "x:/1/2", "[x:/1/2bmap[a:1]]"},
		{"x:/{a}/end", "x:/b/end", "[]"},
		{"x:/{none}", "x:/", "[x:/{none}]"},
		{"x:/{none}", "", "[x:/{none}]"},
		{"x:/{none}", "x:/z", "[]"},
		{"x:/{?q}", "x:/", "[x:/{?q}]"},
		{"x:/{?q}", "x:/z", "[]"},
		{"x:/{a}{?q}", "x:/z", "[x:/za]"},
		{"x:/{a*}", "x:/z", "[]"},
		{"x:/", "x:/z", "[]"},
	} {
		got, err := j.expansions(t.Context(), c.template, c.begin)
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s from %q: %v, %v, want %s", c.template, c.begin, got, err, c.want)
		}
	}
}
