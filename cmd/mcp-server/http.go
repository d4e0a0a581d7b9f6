package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"example.com/mcp"
)

// web is how the server is reached over HTTP.
type web struct {
	addr           string // "": it is not
	sse            bool
	hosts, origins []string
}

// check says what is wrong with the flags.
func (o *web) check() error {
	if o.addr == "" {
		if o.sse || o.hosts != nil || o.origins != nil {
			return fmt.Errorf("-sse, -allow-host and -allow-origin are for -http")
		}
		return nil
	}
	_, _, err := net.SplitHostPort(o.addr)
	return err
}

// serve serves any number of clients over HTTP until ctx ends. Then calls that run
// may finish for a while. It tells on stderr where it serves, and what was asked of it.
func (o *web) serve(ctx context.Context, s *mcp.Server, stderr io.Writer) error {
	host, port, err := net.SplitHostPort(o.addr)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return err
	}
	h := &mcp.HTTPHandler{Server: s, AllowedHosts: o.hosts, AllowedOrigins: o.origins, CORS: o.origins != nil}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	fmt.Fprintf(stderr, "%s: serving at http://%s/mcp\n", name, l.Addr())
	if o.sse {
		//lint:ignore SA1019 some clients know no other
		mux.Handle("/sse", h.SSE())
		fmt.Fprintf(stderr, "%s: serving old clients at http://%s/sse\n", name, l.Addr())
	}
	if ip, ok := l.Addr().(*net.TCPAddr); ok && !ip.IP.IsLoopback() {
		fmt.Fprintf(stderr, "%s: whoever reaches this address may use the folder: nobody is asked who they are\n", name)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	err = h.Serve(ctx, l, logAccess(log, mux))
	if ctx.Err() != nil && err != nil {
		log.Warn("stopped", "error", err) // the signal makes it a good end
	}
	return err
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
