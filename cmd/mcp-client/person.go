package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"example.com/mcp"
)

// A person is who sits at the terminal, if somebody does. Questions of the server are
// asked there, one at a time.
type person struct {
	// open returns the terminal, or why there is none.
	open func() (io.Reader, io.Writer, error)
	// screen is on the same terminal; nil: there is none.
	screen *screen

	once  sync.Once // for the fields below
	turn  chan struct{}
	knock chan struct{} // sent on to get the turn of a shell that waits for a line
	lines chan string   // what is typed; closed at the end of input
	out   io.Writer
	width func() int // of the terminal; nil: lines are not broken
	err   error      // why there is no terminal

	// stale: a question was withdrawn, and what is typed next may be meant for it; of whose
	// turn it is.
	stale bool

	unread error // why what is typed could not be read to its end; set before lines is closed
}

var (
	errDeclined  = errors.New("declined")
	errDismissed = errors.New("dismissed")
)

// openTerminal finds the terminal, even where stdin is something else.
func openTerminal() (io.Reader, io.Writer, error) {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		return tty, tty, nil
	}
	if isTerminal(os.Stdin) {
		return os.Stdin, os.Stderr, nil
	}
	return nil, nil, errors.New("there is no terminal to ask at")
}

// begin waits until nothing else is asked.
func (q *person) begin(ctx context.Context) (end func(), err error) {
	q.once.Do(func() {
		var in io.Reader
		if in, q.out, q.err = q.open(); q.err != nil {
			return
		}
		if tty, ok := q.out.(*os.File); ok {
			q.width = columns(tty)
		}
		q.turn, q.knock, q.lines = make(chan struct{}, 1), make(chan struct{}), make(chan string)
		go q.listen(in) // ends with the input, or with the program
	})
	switch {
	case q.err != nil:
		return nil, q.err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	end = func() { <-q.turn }
	select {
	case q.turn <- struct{}{}:
		return end, nil
	case q.knock <- struct{}{}:
		fmt.Fprintln(q.out) // after the prompt of the shell
		return end, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

const maxTyped = 1 << 20 // bytes of a line

func (q *person) listen(in io.Reader) {
	defer close(q.lines)
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxTyped)
	for s.Scan() {
		q.lines <- s.Text()
	}
	q.unread = s.Err()
}

// say shows a line, in as many as it takes; all are indented as it is, so that no part of
// what is foreign stands where the words of this program do.
func (q *person) say(format string, args ...any) {
	text := oneLine(fmt.Sprintf(format, args...))
	if q.width != nil {
		text = strings.Join(wrap(text, columnsOf(q.width)), "\n")
	}
	fmt.Fprintln(q.out, text)
}

// whole shows a line that is to be copied.
func (q *person) whole(text string) { fmt.Fprintln(q.out, oneLine(text)) }

// ask shows a prompt and returns the line that is typed, without the spaces around it. The
// end of input dismisses the question.
func (q *person) ask(ctx context.Context, prompt string) (string, error) {
	line, err := q.line(ctx, prompt)
	return strings.TrimSpace(line), err
}

// line is ask for a line as it is typed. The first line after a question that was withdrawn
// is no answer: who asks could choose the moment so that a yes to one question is taken for
// a yes to the next.
func (q *person) line(ctx context.Context, prompt string) (string, error) {
	prompt = oneLine(prompt)
	if q.width != nil {
		prompt = folded(prompt, columnsOf(q.width))
	}
	defer q.screen.prompted()
	for {
		q.screen.prompt(q.out, prompt)
		select {
		case line, ok := <-q.lines:
			switch {
			case !ok:
				fmt.Fprintln(q.out)
				return "", errDismissed
			case !q.stale:
				return line, nil
			}
			q.stale = false
			q.say("The question before was withdrawn. This is another one; answer once more.")
		case <-ctx.Done():
			q.stale = true
			fmt.Fprintln(q.out)
			return "", context.Cause(ctx)
		}
	}
}

// choose asks until one of the given letters is typed; d and c are always among them.
func (q *person) choose(ctx context.Context, prompt, letters string) (byte, error) {
	for {
		line, err := q.ask(ctx, prompt)
		switch {
		case err != nil:
			return 0, err
		case line == "d":
			return 0, errDeclined
		case line == "c":
			return 0, errDismissed
		case len(line) == 1 && strings.Contains(letters, line):
			return line[0], nil
		}
	}
}

// sitting runs f while the person is asked. There is an error only where f is not run
// to its end.
func (p *program) sitting(ctx context.Context, f func() error) error {
	end, err := p.person.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	p.screen.hold(true)
	defer p.screen.hold(false)
	return f()
}

// answer makes of how a question ended what the server is told.
func answer(content []byte, err error) (*mcp.ElicitResult, error) {
	switch {
	case errors.Is(err, errDeclined):
		return &mcp.ElicitResult{Action: "decline"}, nil
	case errors.Is(err, errDismissed):
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case err != nil:
		return nil, err
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// elicit answers a form of the server: with the defaults, by the person, or with no.
func (p *program) elicit(ctx context.Context, cs *mcp.ClientSession, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.yes {
		return answer(p.defaults(q))
	}
	ctx, done := p.line.question(ctx)
	defer done()
	var content []byte
	err := p.sitting(ctx, func() (err error) {
		p.introduce(cs, q.Message)
		content, err = p.person.fill(ctx, q.RequestedSchema)
		return err
	})
	if p.person.err != nil {
		p.screen.line(fmt.Sprintf("declined, since %v (-yes accepts): %s", p.person.err, q.Message))
		err = errDeclined
	}
	return answer(content, err)
}

// defaults accepts a form as it is.
func (p *program) defaults(q *mcp.ElicitParams) ([]byte, error) {
	content, err := q.RequestedSchema.Fill(nil)
	if err == nil {
		err = q.RequestedSchema.Check(content)
	}
	if err != nil {
		p.screen.line(fmt.Sprintf("declined, since the form is not complete without a person (%v): %s", err, q.Message))
		return nil, errDeclined
	}
	p.note(fmt.Sprintf("accepted with %s: %s", content, q.Message))
	return content, nil
}

const maxWho = 60 // columns of what a server calls itself

// introduce tells who asks. What a server says of itself and of what it wants is shown
// indented, so that it cannot pass for words of this program.
func (p *program) introduce(cs *mcp.ClientSession, message string) {
	who := cs.ServerInfo()
	name := clip(oneLine(who.Name+" "+who.Version), maxWho)
	if p.server != "" {
		name += " (" + p.server + ")"
	}
	p.person.block("The server "+name+" asks", message)
}

// block shows some lines under a heading.
func (q *person) block(heading, text string) {
	q.say("%s:", heading)
	for line := range strings.Lines(text) {
		q.say("  %s", strings.TrimRight(line, "\r\n"))
	}
}
