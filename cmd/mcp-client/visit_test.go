package main

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/mcp"
)

// A page is opened with consent only, after the person has seen where it leads (FEAT-328,
// FEAT-329).
func TestVisit(t *testing.T) {
	const shown = `The server tester 7 asks:
  Please pay
It wants you to visit a page. Check where it leads:
  host: pay.example
  URL:  https://pay.example/x?y=1
`
	const ask = "Open it in your browser? y yes, m yes, but I open it myself, d decline, c cancel: "
	const mine = "Open this URL in your browser:\nhttps://pay.example/x?y=1\n"
	for _, c := range []struct {
		typed, flag, want string
		opened            bool
		shown             string
	}{
		{"what?\ny\n", "-q", "accept", true, ask + ask},
		{"m\n", "-q", "accept", false, ask + mine},
		{"d\n", "-q", "decline", false, ask},
		{"c\n", "-q", "cancel", false, ask},
		{"", "-yes", "accept", false, ""},
	} {
		opened := false
		tr := &trial{typed: c.typed, browse: func(_ context.Context, u string) error {
			opened = u == "https://pay.example/x?y=1"
			return nil
		}}
		tr.run("call", "visit", c.flag, "--", "x").is(t, exitOK, c.want+"\n", "*")
		want := shown + c.shown
		if c.flag == "-yes" {
			want = ""
		}
		if got := tr.screen.String(); got != want || opened != c.opened {
			t.Errorf("%q: opened %v, shown:\n%s\nwant:\n%s", c.typed, opened, got, want)
		}
	}
	broken := &trial{typed: "y\n", browse: func(context.Context, string) error { return errors.New("no browser") }}
	broken.run("call", "visit", "--", "x").is(t, exitOK, "accept\n", "")
	if got := broken.screen.String(); got != shown+ask+"no browser\n"+mine {
		t.Errorf("shown:\n%s", got)
	}
	for flag, want := range map[string]string{"-q": "declined, since there is no terminal to ask at (-yes accepts): visit https://pay.example/x?y=1\n",
		"-yes": "open this URL: https://pay.example/x?y=1\n"} {
		new(trial).run("call", "visit", flag, "--", "x").is(t, exitOK, map[string]string{"-q": "decline", "-yes": "accept"}[flag]+"\n", want)
	}
}

func TestWarnings(t *testing.T) {
	const imitated, number, here, plain = "the host has letters that may look like others; a known name may be imitated", "the host is a number, not a name",
		"the host is this machine", "the connection is not encrypted"
	for text, want := range map[string][]string{
		"https://pay.example/":               nil,
		"https://pay.example:443/":           nil,
		"https://pay.example:8443/":          {"port 8443 is not the usual one"},
		"https://xn--pypal-4ve.example/":     {imitated},
		"https://a.XN--pypal-4ve.example/":   {imitated},
		"https://p\u0430ypal.example/":       {imitated},
		"https://93.184.216.34/":             {number},
		"https://[2001:db8::1]/":             {number},
		"https://2130706433/":                {number},
		"https://0x7f000001/":                {number},
		"https://127.1./":                    {number},
		"https://localhost/":                 {here},
		"http://localhost:8080/":             {here, "port 8080 is not the usual one", plain},
		"https://pay.example@evil.example/":  {"what stands before the @ is no host"},
		"https://evil.example/@pay.example/": nil,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := warnings(u); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := visible("https://p\u0430ypal.example/\u202e"); got != `https://p\u{430}ypal.example/\u{202e}` {
		t.Error(got)
	}
}

// The completion of a visit is told once, and only of one that the person agreed to
// (FEAT-334).
func TestVisited(t *testing.T) {
	for _, c := range []struct{ typed, stderr string }{
		{"m\n", "the server says that your visit to pay.example is complete\n"},
		{"d\n", ""},
	} {
		var errs buffer
		var shown buffer
		p := &program{screen: &screen{w: &errs}, person: typing(c.typed, &shown)}
		q := mcp.Visit("Please", "https://pay.example/")
		q.ElicitationID = "v"
		ours, theirs := mcp.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- newTestServer(&watcher{}).Run(context.Background(), theirs) }()
		cs, err := mcp.NewClient(clientInfo, nil).Connect(t.Context(), &mcp.ConnTransport{Conn: ours})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.visit(t.Context(), cs, q); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"other", "v", "v"} {
			p.visited(t.Context(), cs, &mcp.ElicitationCompleteParams{ElicitationID: id})
		}
		if got := errs.String(); got != c.stderr {
			t.Errorf("%q: %q, want %q", c.typed, got, c.stderr)
		}
		cs.Close()
		<-ended
	}
}

// What must not be opened is declined without a question, and it is said why.
func TestVisitUnsafe(t *testing.T) {
	for u, why := range map[string]string{
		"http://pay.example/\x1b":    `declined to visit http://pay.example/\x1b: url "http://pay.example/\x1b" of an elicitation must be an absolute https or http URL`,
		"http://pay.example/":        `declined to visit http://pay.example/: url "http://pay.example/" is neither https nor on this machine`,
		"https://me:pw@pay.example/": `declined to visit https://me:pw@pay.example/: the url of an elicitation must hold no credentials`,
		"javascript:alert(1)":        `declined to visit javascript:alert(1): url "javascript:alert(1)" of an elicitation must be an absolute https or http URL`,
	} {
		var errs buffer
		p := &program{screen: &screen{w: &errs}, person: &person{}, flags: flags{yes: true}}
		r, err := p.visit(t.Context(), nil, &mcp.ElicitParams{Mode: "url", Message: "Please", URL: u})
		if err != nil || r.Action != "decline" || !strings.HasPrefix(errs.String(), why+"\n") {
			t.Errorf("%v, %v, said %q, want %q", r, err, errs.String(), why)
		}
	}
}
