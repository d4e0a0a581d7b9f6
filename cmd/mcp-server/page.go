package main

import (
	"bytes"
	"encoding/json"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
)

// A greeting is what the page at / says: what the server is, and how to connect. It says
// nothing of the folder, since everybody may read it.
type greeting struct {
	URL      string // of /mcp
	Old      string // of /sse; "": it is not served
	Auth     bool   // people log in
	ReadOnly bool
	log      *slog.Logger
}

func (g *greeting) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	writePage(w, g.log, http.StatusOK, greetingTemplate(), g)
}

// Config is what the files of clients have.
func (g *greeting) Config() (string, error) {
	type server struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(map[string]map[string]server{"mcpServers": {"folder": {"http", g.URL}}})
	return b.String(), err
}

var greetingTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("greeting").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Folder server</title>
<style>` + pageStyle + `</style>
</head>
<body>
<main>
<h1>Folder server</h1>
<p>This server gives applications access to the files of one folder, over the <a href="https://modelcontextprotocol.io">Model Context Protocol</a> (MCP).
They can see, search and read them{{if .ReadOnly}}, and change nothing.{{else}}, and write new ones. Before a file is replaced, moved or deleted they ask you.{{end}}</p>
{{if .Auth}}<p>When an application connects for the first time, your browser opens a page where you sign in and say what it may do. <a href="/login">Sign in or out</a> here.</p>
{{else}}<p>Nobody is asked who they are: whoever reaches this address may use the folder.</p>
{{end}}<h2>Connect an application</h2>
<p>It wants to know this address:</p>
<pre><code>{{.URL}}</code></pre>
<p>Many have a file of servers, to which this is added:</p>
<pre><code>{{.Config}}</code></pre>
<p>From the command line:</p>
<pre><code>mcp-client info {{.URL}}
mcp-client tools {{.URL}}
mcp-client call search query=TEXT {{.URL}}</code></pre>
{{if .Old}}<p>Applications that know only HTTP with SSE, from 2024, connect to <code>{{.Old}}</code>.</p>
{{end}}</main>
</body>
</html>
`))
})
