package main

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"example.com/mcp"
)

// isURL reports whether a word of the command line names a server over HTTP.
func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// httpTransport makes the way to a server over HTTP. No error and no note shows a
// value of -header, or a part of the URL that may be secret.
func (p *program) httpTransport(text string) (*mcp.HTTPTransport, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, usagef("the URL of the server cannot be understood")
	}
	if p.server = bareURL(text); p.entry != nil {
		p.server = publicURL(p.entry.URL) // without what it takes from the environment
	}
	p.note("connecting to: " + p.server)
	t := &mcp.HTTPTransport{URL: text, Client: &http.Client{}, Header: p.header}
	if p.tracing != nil {
		t.Client.Transport = &httpTracer{p.tracing}
	}
	if p.header.Get("Authorization") == "" {
		if t.Client.Transport, err = p.authorized(t.Client.Transport); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// A headers is the flag -header. Its errors do not show what was given, but the
// package flag would: so they are kept until the command line is parsed.
type headers struct {
	h   *http.Header
	err *error
}

func (headers) String() string { return "" }

func (f headers) Set(text string) error {
	name, value, ok := strings.Cut(text, ":")
	wrong := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsFunc(text, wrong) || strings.ContainsAny(name, " \t()<>@,;\\\"/[]?={}") {
		*f.err = usagef("-header must be 'Name: value'")
		return nil
	}
	if *f.h == nil {
		*f.h = http.Header{}
	}
	f.h.Add(name, strings.TrimSpace(value))
	return nil
}

// advice is what the person can do about an answer that is none of the protocol, or about
// a login that failed.
func (p *program) advice(err error) string {
	var e *mcp.HTTPError
	switch errors.As(err, &e); {
	case errors.Is(err, mcp.ErrLoginDeclined):
		return "nothing was allowed; the next call asks again"
	case errors.Is(err, mcp.ErrDiscovery):
		return "if you have a token, -header 'Authorization: Bearer TOKEN' tells it"
	case errors.Is(err, mcp.ErrNoClient):
		return "register a client with the authorization server, and tell it with -client-id, and -client-secret-file if it has a secret"
	case errors.Is(err, mcp.ErrInsufficientScope):
		return "whoever you logged in as may not be allowed that; mcp-client logout URL lets you log in as somebody else"
	case errors.Is(err, mcp.ErrMismatch):
		return "nothing was sent, since these must be equal; if it is another name of the server, use that one, else tell those who run it"
	case e == nil:
		return ""
	case e.Status == http.StatusUnauthorized:
		return "the server does not accept what -header says of who calls"
	case e.Status == http.StatusForbidden:
		return "the server does not let this caller, or a request to this host name, in"
	case e.Status >= 500:
		return "the server, or a proxy before it, cannot serve now"
	}
	return ""
}

// An httpTracer shows the messages that go over HTTP, and no header.
type httpTracer struct{ trace *trace }

func (t *httpTracer) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte("(" + r.Method + ")")
	if r.Method == http.MethodPost && r.GetBody != nil {
		b, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(b); err != nil {
			return nil, err
		}
	}
	t.trace.message(out, body)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode/100 != 2 {
		t.trace.note(back, resp.Status)
	}
	resp.Body = &tracedBody{ReadCloser: resp.Body, trace: t.trace, events: kind == "text/event-stream"}
	return resp, nil
}

// A tracedBody shows the messages of a body when they have been read.
type tracedBody struct {
	io.ReadCloser
	trace  *trace
	events bool   // it is a stream of events
	text   []byte // of the message that is being read

	name   string // of the event
	line   []byte // of it that is being read
	skipLF bool   // the last line ended in CR
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case b.events:
		b.take(p[:n])
	default:
		b.text = append(b.text, p[:n]...)
		if err != nil {
			b.show()
		}
	}
	return n, err
}

func (b *tracedBody) show() {
	if text := bytes.TrimSpace(b.text); len(text) > 0 {
		b.trace.message(back, text)
	}
	b.text = nil
}

// take goes on with a stream of events.
func (b *tracedBody) take(text []byte) {
	for _, c := range text {
		switch {
		case c == '\n' && b.skipLF:
			b.skipLF = false
		case c == '\n' || c == '\r':
			b.skipLF = c == '\r'
			b.endLine()
			b.line = b.line[:0]
		default:
			b.skipLF = false
			b.line = append(b.line, c)
		}
	}
}

// endLine takes in a line; an empty one ends the event. What an event of another
// name says is not shown: that of HTTP+SSE has the session's id.
func (b *tracedBody) endLine() {
	if len(b.line) == 0 {
		if b.name != "" && b.name != "message" {
			b.text = []byte("(event " + b.name + ")")
		}
		b.show()
		b.name = ""
		return
	}
	name, value, _ := bytes.Cut(b.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		b.text = append(append(b.text, value...), '\n')
	case "event":
		b.name = string(value)
	}
}
