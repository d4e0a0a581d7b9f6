package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"example.com/mcp"
)

// What a client may be allowed to do.
const (
	scopeRead  = "files:read"
	scopeWrite = "files:write"
)

// A guard is what -auth adds: people log in, and say what their clients may do.
type guard struct {
	users    *users
	login    *login
	server   *mcp.AuthorizationServer
	resource *mcp.ProtectedResource
}

// newGuard makes the guard of a folder at a public origin. All it issues is kept in
// memory, and ends with the process.
func newGuard(file, origin string, lifetime time.Duration, s *server, log *slog.Logger) (*guard, error) {
	g := &guard{users: &users{path: file}}
	switch list, err := g.users.read(); {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("%s has no user: %s passwd makes one", file, name)
	}
	u, err := url.Parse(origin)
	if err != nil {
		return nil, err
	}
	folder := filepath.Base(s.folder.path)
	g.login = newLogin(g.users, u.Scheme, u.Port(), log)
	g.server = authorizationServer(origin)
	g.server.Authenticate = g.login.authenticate
	g.server.AccessLifetime = lifetime
	g.server.Log = log
	g.server.Scopes = map[string]string{scopeRead: "see, search and read the files of the folder “" + folder + "”"}
	g.server.DefaultScopes = []string{scopeRead}
	if !s.readOnly {
		g.server.Scopes[scopeWrite] = "write, replace and delete files of the folder “" + folder + "”"
	}
	g.resource = &mcp.ProtectedResource{
		Resource:             g.server.Resources[0],
		AuthorizationServers: []string{origin},
		Verify:               g.verify,
		Required:             []string{scopeRead},
		Name:                 "The folder “" + folder + "”",
		Log:                  log,
	}
	return g, g.server.Check()
}

// authorizationServer is one for this server at a public origin.
func authorizationServer(origin string) *mcp.AuthorizationServer {
	return &mcp.AuthorizationServer{Issuer: origin, Resources: []string{origin + "/mcp"},
		Authenticate: func(http.ResponseWriter, *http.Request) (string, bool) { return "", false }}
}

// verify tells what a token says. It is of no use any more when its user is not one.
func (g *guard) verify(ctx context.Context, token string, r *http.Request) (*mcp.TokenInfo, error) {
	info, err := g.server.Verify(ctx, token, r)
	if err != nil {
		return nil, err
	}
	switch a, err := g.users.find(info.Subject); {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, fmt.Errorf("%w: its user is not known any more", mcp.ErrInvalidToken)
	}
	return info, nil
}

// mount adds the guard's own pages to those of the server.
func (g *guard) mount(mux *http.ServeMux) {
	mux.Handle("/", g.server)
	mux.Handle("/login", g.login)
	mux.Handle("/logout", g.login)
	for _, path := range g.resource.MetadataPaths() {
		mux.Handle(path, g.resource)
	}
}

// permit refuses a tool to callers who may not use it: each that does not say that it
// only reads needs the scope for writing.
func (s *server) permit(r *mcp.Request, t *mcp.Tool) error {
	if readOnly, _, _, _ := t.Annotations.Hints(); readOnly || s.require == nil {
		return nil
	}
	return s.require(r, scopeWrite)
}

// checkPublic says what is wrong with a public origin.
func checkPublic(origin string) error {
	if authorizationServer(origin).Check() != nil { // whose words are for programmers
		return errors.New("-public must be an origin, such as https://mcp.example.com, and https unless it is localhost")
	}
	return nil
}
