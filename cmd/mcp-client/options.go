package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/mcp"
)

// options is how this client behaves towards any server.
func (p *program) options() (*mcp.ClientOptions, error) {
	roots, err := rootsOf(p.roots)
	if err != nil {
		return nil, err
	}
	changed := func(list string) func(context.Context, *mcp.ClientSession) {
		return func(context.Context, *mcp.ClientSession) { p.note("the server's list of " + list + " has changed") }
	}
	return &mcp.ClientOptions{
		Elicit:           p.elicit,
		Visit:            p.visit,
		Sample:           p.sample,
		Roots:            roots,
		ToolsChanged:     changed("tools"),
		PromptsChanged:   changed("prompts"),
		ResourcesChanged: changed("resources"),
		LoggingMessage:   p.log,
		SessionRenewed: func(context.Context, *mcp.ClientSession) {
			p.note("the server had ended the session; there is a new one")
		},
		Malformed: func(data []byte, reason error) {
			p.note(fmt.Sprintf("the server sent what is no message: %.200q: %v", data, reason))
		},
		Timeout:    p.timeout,
		MaxTimeout: p.timeout,
		Revisions:  p.revisions,
	}, nil
}

// rootsOf makes roots of folders; nil for none.
func rootsOf(dirs []string) ([]*mcp.Root, error) {
	var roots []*mcp.Root
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, usagef("-root: %v", err)
		}
		if info, err := os.Stat(abs); err != nil || !info.IsDir() {
			return nil, usagef("-root: %q is no folder", dir)
		}
		roots = append(roots, &mcp.Root{URI: fileURI(abs), Name: filepath.Base(abs)})
	}
	return roots, nil
}

// fileURI is the file URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// log shows a log message: it was asked for with -level, or is news.
func (p *program) log(_ context.Context, _ *mcp.ClientSession, m *mcp.LoggingMessageParams) {
	if p.quiet && p.level == "" {
		return
	}
	text := "[" + string(m.Level) + "] "
	if m.Logger != "" {
		text += m.Logger + ": "
	}
	var plain string
	if json.Unmarshal(m.Data, &plain) != nil {
		plain = string(m.Data)
	}
	p.screen.line(text + plain)
}

// progress shows how far a call is.
func (p *program) progress(r mcp.Progress) {
	if p.quiet {
		return
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	text := "progress: " + number(r.Value)
	if r.Total > 0 {
		text = fmt.Sprintf("progress: %3.0f%% (%s of %s)", 100*r.Value/r.Total, number(r.Value), number(r.Total))
	}
	if r.Message != "" {
		text += " " + r.Message
	}
	p.screen.progress(text)
}

// A tracer shows what goes over a connection.
type tracer struct {
	mcp.Conn
	screen *screen
}

func (t *tracer) Read() ([]byte, error) {
	data, err := t.Conn.Read()
	if err != nil {
		t.screen.line("<-- (" + err.Error() + ")")
	} else {
		t.screen.message("<--", data)
	}
	return data, err
}

func (t *tracer) Write(messages ...[]byte) error {
	for _, m := range messages {
		t.screen.message("-->", m)
	}
	return t.Conn.Write(messages...)
}
