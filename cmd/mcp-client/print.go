package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"example.com/mcp"
)

// An output is stdout. It remembers what went wrong first, which nobody looks at line by line:
// results that were not written are not done.
type output struct {
	w io.Writer

	mu  sync.Mutex // guards err
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = cmp.Or(o.err, err)
	return n, err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// text prints text of the server: as it is where a program reads it, safely on a
// terminal.
func (p *program) text(text string) error {
	if p.terminal {
		text = manyLines(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	}
	_, err := fmt.Fprint(p.stdout, text)
	return err
}

// printf prints one line whose parts are foreign; a terminal gets it between words in as
// many as it takes.
func (p *program) printf(format string, args ...any) {
	text := oneLine(fmt.Sprintf(format, args...))
	if p.terminal {
		text = folded(text, columnsOf(p.width))
	}
	fmt.Fprintln(p.stdout, text)
}

// page prints help, which fits 80 columns as it is; a terminal may have less.
func (p *program) page(text string) error {
	if !p.terminal {
		return p.text(text)
	}
	for line := range strings.Lines(text) {
		p.printf("%s", strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
	}
	return nil
}

// printJSON prints one value on one line. It is the same value if a terminal shows
// it: what could control one is escaped in the way of JSON.
func (p *program) printJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("%w: %w", mcp.ErrInvalidResponse, err)
	}
	var safe strings.Builder
	for _, r := range b.String() {
		if r != '\n' && dangerous(r) {
			fmt.Fprintf(&safe, `\u%04x`, r)
		} else {
			safe.WriteRune(r)
		}
	}
	_, err := fmt.Fprint(p.stdout, safe.String())
	return err
}

// content prints blocks of content, each on lines of its own. Media may be kept.
func (p *program) content(blocks ...mcp.Content) error {
	for _, c := range blocks {
		text := describe(c)
		if m := mediumOf(c); m != nil {
			text = p.kept(m)
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if err := p.text(text); err != nil {
			return err
		}
	}
	return nil
}

// describe is a block as text; what is no text is told of in a line.
func describe(c mcp.Content) string {
	if m := mediumOf(c); m != nil {
		return m.text("")
	}
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ResourceLink:
		return oneLine(strings.TrimSpace("[resource " + c.URI + " " + c.MIMEType + "]"))
	case *mcp.EmbeddedResource:
		return oneLine("[resource "+c.Resource.URI+"]") + "\n" + c.Resource.Text
	case *mcp.ToolUseContent:
		return oneLine("[tool use " + c.Name + " " + string(c.Input) + "]")
	case *mcp.ToolResultContent:
		return oneLine("[tool result " + c.ToolUseID + "]")
	case *mcp.UnknownContent:
		return oneLine("[" + c.Type + "]")
	}
	return ""
}

// sameJSON reports whether text is the JSON value.
func sameJSON(text string, value []byte) bool {
	var a, b any
	return json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal(value, &b) == nil && reflect.DeepEqual(a, b)
}
