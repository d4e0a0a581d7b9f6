package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/mcp"
)

// An auth is how the program gets the tokens of servers that want one.
type auth struct {
	clientID   string // registered beforehand; "": none
	secretFile string // its secret, if it has one
	noBrowser  bool
	scopes     []string // asked for in any case
}

// given reports whether there is any flag of it.
func (a *auth) given() bool {
	return a.clientID != "" || a.secretFile != "" || a.noBrowser || a.scopes != nil
}

// authorized makes requests with the tokens for their servers, which are got when they are
// wanted.
func (p *program) authorized(base http.RoundTripper) (*mcp.OAuthTransport, error) {
	t := &mcp.OAuthTransport{
		Base:     base,
		Login:    p.login,
		Metadata: mcp.ClientMetadata{ClientName: clientInfo.Name},
		Log:      slog.New(slog.NewTextHandler(noter{p}, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	}
	if p.scopes != nil {
		t.FilterScopes = func(scopes []string) []string {
			for _, s := range p.scopes {
				if !slices.Contains(scopes, s) {
					scopes = append(slices.Clip(scopes), s)
				}
			}
			return scopes
		}
	}
	if p.clientID != "" {
		secret, err := readSecret(p.secretFile)
		if err != nil {
			return nil, err
		}
		t.Clients = []mcp.OAuthClient{{ID: p.clientID, Secret: secret}}
	}
	dir, err := p.config()
	if err != nil {
		p.note("tokens are kept in memory only: " + err.Error())
		return t, nil
	}
	t.Store = &mcp.FileStore{Dir: filepath.Join(dir, "mcp-client", "tokens")}
	return t, nil
}

// readSecret reads the secret of a client, which its errors do not show; "": there is none.
func readSecret(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", usagef("-client-secret-file: %v", err)
	}
	secret := strings.TrimRight(string(data), "\r\n")
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", usagef("-client-secret-file: %q must have one line", file)
	}
	return secret, nil
}

// A noter shows lines to people.
type noter struct{ p *program }

func (n noter) Write(line []byte) (int, error) {
	n.p.note(string(bytes.TrimRight(line, "\n")))
	return len(line), nil
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && groups == nil {
		return slog.Attr{}
	}
	return a
}

// login has the person log in, if the person wants to.
func (p *program) login(ctx context.Context, l *mcp.Login) error {
	if err := p.agree(ctx, l); err != nil {
		return err
	}
	if p.noBrowser {
		return p.sitting(ctx, func() error {
			return (&mcp.PromptLogin{In: &typist{ctx: ctx, q: p.person}, Out: p.person.out}).Login(ctx, l)
		})
	}
	return (&mcp.LoopbackLogin{Open: p.open}).Login(ctx, l)
}

// agree asks whether to log in.
func (p *program) agree(ctx context.Context, l *mcp.Login) error {
	scopes := strings.Join(l.Scopes, " ")
	if scopes == "" {
		scopes = "what they choose"
	}
	lines := []string{"The server " + bareURL(l.Server) + " wants you to log in.", "  You log in at: " + bareURL(l.Issuer), "  You will be asked to allow: " + scopes}
	if p.yes {
		for _, line := range lines {
			p.note(line)
		}
		return nil
	}
	err := p.sitting(ctx, func() error {
		for _, line := range lines {
			p.person.say("%s", line)
		}
		prompt := "Open the browser? y yes, d no: "
		if p.noBrowser {
			prompt = "Log in? y yes, d no: "
		}
		_, err := p.person.choose(ctx, prompt, "y")
		return err
	})
	switch {
	case p.person.err != nil:
		p.screen.line(fmt.Sprintf("not logged in, since %v (-yes agrees): %s", p.person.err, strings.Join(lines, "")))
		return mcp.ErrLoginDeclined
	case errors.Is(err, errDeclined), errors.Is(err, errDismissed):
		return mcp.ErrLoginDeclined
	}
	return err
}

// open shows a page in the browser. Where none comes up, the person can go there, too.
func (p *program) open(ctx context.Context, u string) error {
	p.screen.line("log in with your browser; if it does not show the page, open: " + u)
	if err := p.browse(ctx, u); err != nil {
		p.note(err.Error())
	}
	return nil
}

// A typist is what the person types, as a reader.
type typist struct {
	ctx  context.Context // of the login; here for Read
	q    *person
	rest []byte // of a line
}

func (t *typist) Read(b []byte) (int, error) {
	if len(t.rest) == 0 {
		line, err := t.q.ask(t.ctx, "> ")
		if errors.Is(err, errDismissed) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		t.rest = []byte(line + "\n")
	}
	n := copy(b, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// logout gives up the tokens for a server.
func logout(ctx context.Context, p *program, server string) error {
	t, err := p.authorized(nil)
	if err != nil {
		return err
	}
	if err := t.Logout(ctx, server); err != nil {
		return err
	}
	p.note("logged out of " + bareURL(server))
	return nil
}

// bareURL is a URL without what may be secret in it.
func bareURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(a URL that cannot be understood)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
