package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"example.com/mcp"
)

// shell runs the lines that are typed, until their end. Errors do not end it, but the loss
// of the server does.
func shell(ctx context.Context, j *job) error {
	lines, prompt := j.person, "mcp> "
	if !j.typed {
		lines, prompt = &person{open: func() (io.Reader, io.Writer, error) { return j.stdin, io.Discard, nil }}, ""
	}
	first := exitOK
	for {
		line, err := lines.command(j.over, prompt)
		switch {
		case err == io.EOF: // and not the server's
			return j.ended(first)
		case err != nil:
			return err
		}
		code, last := j.runLine(ctx, line)
		if first = cmp.Or(first, code); last {
			return j.ended(first)
		}
	}
}

// A lineError is that lines of a shell have failed, which were told of.
type lineError struct{ code int }

func (e *lineError) Error() string { return "there was an error in a line" }

// ended is what a shell comes to. Who has typed the lines has seen the errors.
func (j *job) ended(first int) error {
	if j.typed || first == exitOK {
		return nil
	}
	return &lineError{first}
}

// command waits for a line of a shell; at the end of input the error is io.EOF. What the
// server asks meanwhile goes first, and gets the lines until it is done.
func (q *person) command(ctx context.Context, prompt string) (string, error) {
	for ctx.Err() == nil {
		end, err := q.begin(ctx)
		if err != nil {
			return "", err
		}
		q.screen.prompt(q.out, prompt)
		select {
		case <-q.knock: // the turn is now of who asks
		case line, ok := <-q.lines:
			q.screen.prompted()
			q.stale = false
			end()
			if ok {
				return line, nil
			}
			fmt.Fprintln(q.out)
			if errors.Is(q.unread, bufio.ErrTooLong) {
				return "", usagef("a line has more than %d bytes", maxTyped)
			}
			return "", cmp.Or(q.unread, io.EOF)
		case <-ctx.Done():
			q.screen.prompted()
			end()
			fmt.Fprintln(q.out)
		}
	}
	return "", context.Cause(ctx)
}

// runLine runs a line. It returns the exit code that it would have alone, and whether it is
// the last one.
func (j *job) runLine(ctx context.Context, text string) (code int, last bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if j.typed {
		j.program.line.set(cancel)
		defer j.program.line.set(nil)
	}
	session := j.perLine
	defer func() { j.perLine = session }()
	words, err := shellWords(text)
	if len(words) == 1 && (words[0] == "exit" || words[0] == "quit") {
		return exitOK, true
	}
	if err == nil && len(words) > 0 {
		err = (&job{program: j.program, cs: j.cs, over: j.over, inShell: true}).words(ctx, words)
	}
	j.screen.progress("")
	return j.finish(ctx, err), false
}

// words runs the words of a line.
func (j *job) words(ctx context.Context, words []string) error {
	if n := len(words) - 1; words[n] == "?" {
		return j.follows(ctx, words[:n])
	}
	words, err := j.parseFlags(j.lineFlags(), words)
	switch {
	case err != nil:
		return err
	case len(words) == 0 && j.help:
		return j.shellUsage()
	case len(words) == 0:
		return usagef("which subcommand? help lists them")
	}
	cmd, err := lineCommand(words[0])
	if err != nil {
		return err
	}
	j.args = words[1:]
	switch {
	case j.help:
		return j.page(cmd.shellPage())
	case cmd.name == "help":
		return j.shellHelp(ctx)
	case len(j.args) < cmd.min || len(j.args) > cmd.max:
		return usagef("usage: %s", strings.TrimSpace(cmd.name+" "+cmd.args))
	}
	if err := j.fitLine(cmd); err != nil {
		return err
	}
	if cmd.alone != nil {
		return cmd.alone(ctx, j.program, j.args)
	}
	return cmd.run(ctx, j)
}

// lineCommands are the subcommands of a shell.
func lineCommands() (list []command) {
	for _, c := range commands() {
		if c.run != nil && c.name != "shell" || c.name == "help" {
			list = append(list, c)
		}
	}
	return list
}

// lineCommand finds a subcommand by the beginning of its name.
func lineCommand(word string) (*command, error) {
	var names []string
	for _, c := range lineCommands() {
		names = append(names, c.name)
	}
	name, err := shortened(word, names)
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return nil, usagef("unknown subcommand %q; help lists them", word)
	}
	return lookup(name), nil
}

// shellHelp tells of all, or of what the line names.
func (j *job) shellHelp(ctx context.Context) error {
	if len(j.args) == 0 {
		return j.shellUsage()
	}
	cmd, err := lineCommand(j.args[0])
	switch {
	case err == nil:
		return j.page(cmd.shellPage())
	case j.args[0] != "flags" && lookup(j.args[0]) == nil:
		return err
	}
	return help(ctx, j.program, j.args)
}

func (j *job) shellUsage() error {
	for _, c := range lineCommands() {
		j.printf("  %-10s %s", c.name, c.help)
	}
	j.printf("  %-10s %s", "exit", "end the shell")
	j.printf("A word ? at the end lists what may follow; names may be shortened.")
	j.printf("help SUBCOMMAND tells more.")
	return nil
}

// shortened is the name that word is, or the only one that it begins; "" for none.
func shortened(word string, names []string) (string, error) {
	if slices.Contains(names, word) {
		return word, nil
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", usagef("%q may be: %s", word, strings.Join(found, ", "))
}

// uri is the URI that the subcommand is about. In a shell the beginning of a listed one
// stands for it, unless the server has a template, which may make that very URI.
func (j *job) uri(ctx context.Context) (string, error) {
	word := j.args[0]
	if !j.inShell {
		return word, nil
	}
	listed, err := collect(j.cs.Resources(ctx))
	if err != nil {
		return word, nil // which may be there all the same
	}
	var uris []string
	for _, r := range listed {
		uris = append(uris, r.URI)
	}
	templates, err := j.templates(ctx)
	if err != nil {
		return "", err
	}
	for _, t := range templates {
		if begin, _, _ := strings.Cut(t.URITemplate, "{"); strings.HasPrefix(word, begin) {
			return word, nil
		}
	}
	full, err := shortened(word, uris)
	if err == nil && full != "" && full != word {
		j.note("resource: " + full)
	}
	return cmp.Or(full, word), err
}

// templates lists the resource templates; none where the server has resources only.
func (j *job) templates(ctx context.Context) ([]*mcp.ResourceTemplate, error) {
	list, err := collect(j.cs.ResourceTemplates(ctx))
	if e := (*mcp.Error)(nil); errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound {
		return nil, nil
	}
	return list, err
}

// collect reads a list.
func collect[T any](items iter.Seq2[T, error]) (list []T, err error) {
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// shellWords splits a line as a shell does, with quotes and backslashes, but puts nothing
// in for any word.
func shellWords(line string) (words []string, err error) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return nil, nil
	}
	var word strings.Builder
	var quote rune // that is open
	begun, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			begun, quote = true, r
		case quote == 0 && (r == ' ' || r == '\t' || r == '\r'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return nil, usagef("a quote %c is not closed", quote)
	case escaped:
		return nil, usagef("nothing follows the last backslash")
	case begun:
		words = append(words, word.String())
	}
	return words, nil
}

// An interruptible is what a line of a shell can be ended by, without its shell.
type interruptible struct {
	mu     sync.Mutex // guards the fields below
	cancel context.CancelCauseFunc
	asking context.Context // of questions of the server; nil: there was no line yet
	unask  context.CancelCauseFunc
}

func (i *interruptible) set(cancel context.CancelCauseFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel = cancel
	if cancel != nil && (i.asking == nil || i.asking.Err() != nil) {
		i.asking, i.unask = context.WithCancelCause(context.Background())
	}
}

// question bounds the context of a question: those that are open when a line is interrupted,
// and that come before the next one, are dismissed. The server may not withdraw them.
func (i *interruptible) question(ctx context.Context) (bound context.Context, done func()) {
	if i == nil {
		return ctx, func() {}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.asking == nil {
		return ctx, func() {}
	}
	asking := i.asking
	bound, cancel := context.WithCancelCause(ctx)
	if asking.Err() != nil {
		cancel(context.Cause(asking)) // at once
	}
	stop := context.AfterFunc(asking, func() { cancel(context.Cause(asking)) })
	return bound, func() { stop(); cancel(nil) }
}

// interrupt ends the line that runs, once; it reports whether there is one.
func (i *interruptible) interrupt() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel == nil {
		return false
	}
	i.cancel(errInterrupted)
	i.cancel = nil
	i.unask(errDismissed)
	return true
}
