package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/mcp"
)

// web is how the server is reached over HTTP.
type web struct {
	addr           string // "": it is not
	sse            bool
	hosts, origins []string

	auth     string        // file of the users; "": nobody is asked who they are
	public   string        // origin for clients; "": localhost
	lifetime time.Duration // of a token; 0: as the package has it
}

// check says what is wrong with the flags.
func (o *web) check() error {
	if o.addr == "" {
		if o.sse || o.hosts != nil || o.origins != nil || o.auth != "" {
			return errors.New("-sse, -allow-host, -allow-origin and -auth are for -http")
		}
		return o.checkAuth("")
	}
	host, _, err := net.SplitHostPort(o.addr)
	if err != nil {
		return err
	}
	return o.checkAuth(host)
}

func (o *web) checkAuth(host string) error {
	o.public = strings.TrimSuffix(o.public, "/")
	ip, _ := netip.ParseAddr(host)
	switch {
	case o.auth == "" && (o.public != "" || o.lifetime != 0):
		return errors.New("-public and -token-lifetime are for -auth")
	case o.auth == "":
		return nil
	case o.sse:
		return errors.New("-sse is for clients that cannot log in, so that it does not go with -auth")
	case o.lifetime < 0:
		return errors.New("-token-lifetime must not be negative")
	case o.public != "":
		return checkPublic(o.public)
	case host != "" && host != "localhost" && !ip.IsLoopback():
		return errors.New("-auth needs -public, unless the server is on this machine only")
	}
	return nil
}

// serve serves any number of clients over HTTP until ctx ends. Then calls that run
// may finish for a while. It tells on stderr where it serves, and what was asked of it.
func (o *web) serve(ctx context.Context, s *server, stderr io.Writer) error {
	host, port, err := net.SplitHostPort(o.addr)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	h := &mcp.HTTPHandler{Server: s.mcp, AllowedHosts: o.hosts, AllowedOrigins: o.origins, CORS: o.origins != nil}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	page := &greeting{URL: publicName(l.Addr()), Auth: o.auth != "", ReadOnly: s.readOnly, log: log}
	if o.auth != "" {
		page.URL = o.origin(l.Addr())
		if err := o.protect(h, mux, s, l.Addr(), log, stderr); err != nil {
			return errors.Join(err, l.Close())
		}
	} else {
		fmt.Fprintf(stderr, "%s: serving at http://%s/mcp\n", name, l.Addr())
	}
	if o.sse {
		//lint:ignore SA1019 some clients know no other
		mux.Handle("/sse", h.SSE())
		page.Old = page.URL + "/sse"
		fmt.Fprintf(stderr, "%s: serving old clients at http://%s/sse\n", name, l.Addr())
	}
	if ip, ok := l.Addr().(*net.TCPAddr); ok && !ip.IP.IsLoopback() && o.auth == "" {
		fmt.Fprintf(stderr, "%s: whoever reaches this address may use the folder: nobody is asked who they are\n", name)
	}
	page.URL += "/mcp"
	mux.Handle("GET /{$}", page)
	err = h.Serve(ctx, l, logAccess(log, mux))
	if ctx.Err() != nil && err != nil {
		log.Warn("stopped", "error", err) // the signal makes it a good end
	}
	return err
}

// origin is the one that clients know, with -auth.
func (o *web) origin(at net.Addr) string {
	_, port, _ := net.SplitHostPort(at.String())
	return cmp.Or(o.public, "http://localhost:"+port)
}

// publicName is an origin for clients, without -auth. Which of its names they know is not
// taken from what they say.
func publicName(at net.Addr) string {
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://NAME-OF-THIS-MACHINE:%d", tcp.Port)
	}
	return "http://" + at.String()
}

// protect lets only those callers in whom a user has allowed it.
func (o *web) protect(h *mcp.HTTPHandler, mux *http.ServeMux, s *server, at net.Addr, log *slog.Logger, stderr io.Writer) error {
	origin := o.origin(at)
	if u, err := url.Parse(o.public); o.public != "" && err == nil {
		h.AllowedHosts = append(slices.Clone(o.hosts), u.Host)
	}
	g, err := newGuard(o.auth, origin, o.lifetime, s, log)
	if err != nil {
		return err
	}
	h.Authorize, s.require = g.resource.Authorize, g.resource.Require
	g.mount(mux)
	fmt.Fprintf(stderr, "%s: serving at %s/mcp\n", name, origin)
	if o.public != "" {
		fmt.Fprintf(stderr, "%s: listening at http://%s\n", name, at)
	}
	fmt.Fprintf(stderr, "%s: people sign in and out at %s/login; what they allow ends with this process\n", name, origin)
	return nil
}

// logAccess writes a line for each request when it is over: no query and no header,
// which may be secret.
func logAccess(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, a := time.Now(), &answer{ResponseWriter: w}
		defer func() {
			log.Info("request", "method", r.Method, "path", r.URL.Path, "status", cmp.Or(a.status, http.StatusOK),
				"duration", time.Since(start).Round(time.Microsecond), "bytes", a.bytes)
		}()
		next.ServeHTTP(a, r)
	})
}

// An answer counts what is written.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap lets the handler flush, and set deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}
