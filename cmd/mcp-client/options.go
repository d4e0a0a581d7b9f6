package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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
		Elicit:              p.elicit,
		Visit:               p.visit,
		ElicitationComplete: p.visited,
		Sample:              p.sample,
		SampleTools:         p.sampler != "",
		Roots:               roots,
		ToolsChanged:        changed("tools"),
		PromptsChanged:      changed("prompts"),
		ResourcesChanged:    changed("resources"),
		ResourceUpdated:     p.updates.put,
		LoggingMessage:      p.log,
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
	text := " "
	if m.Logger != "" {
		text += m.Logger + ": "
	}
	var plain string
	if json.Unmarshal(m.Data, &plain) != nil {
		plain = string(m.Data)
	}
	p.screen.spans(span{styleOf(m.Level), "[" + string(m.Level) + "]"}, span{text: text + plain})
}

// styleOf is how a level of log messages looks.
func styleOf(level mcp.LoggingLevel) string {
	switch level {
	case "debug":
		return dim
	case "info", "notice":
		return cyan
	case "warning":
		return yellow
	case "error":
		return red
	}
	return bold + ";" + red
}
