// Command conformance is what the official conformance suite of the Model Context
// Protocol is run against: a server that offers the fixtures which the suite asks
// for, and a client that acts out its scenarios.
//
//	conformance server [-http ADDR] [-tools N] [-revision R]
//	conformance client URL
//	conformance authorization ADDR CLIENT-ID PORT
//	conformance visit URL
//
// With -http the server is at /mcp of that address, and says where on stderr;
// without it speaks over stdin and stdout. It also offers tools to measure with; with
// -tools only these, and N dummies. With -revision it speaks only that one. The
// client takes the scenario, its context, and the newest revision to speak from the
// environment, as the suite sets it. authorization is an authorization server for the
// suite's own scenarios, whose client is sent back to a port of this machine; visit is
// a person who allows what its page asks for.
//
// The files, in reading order: main.go, server.go, tools.go, asking.go, rounds.go and
// tasks.go (tools that the suite calls), measure.go (other tools), content.go
// (resources and prompts), client.go, authorization.go (scenarios that need a token).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"example.com/mcp"
)

// Exit codes.
const (
	exitOK = iota
	exitFailure
	exitUsage
)

const usage = `usage: conformance server [-http ADDR] [-tools N] [-revision R]
       conformance client URL
       conformance authorization ADDR CLIENT-ID PORT
       conformance visit URL
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Stderr)
	var wrong usageError
	switch {
	case err == nil:
		os.Exit(exitOK)
	case errors.As(err, &wrong):
		fmt.Fprintf(os.Stderr, "conformance: %v\n%s", err, usage)
		os.Exit(exitUsage)
	}
	fmt.Fprintln(os.Stderr, "conformance:", err)
	os.Exit(exitFailure)
}

// A usageError is a command line that makes no sense.
type usageError struct{ error }

func run(ctx context.Context, args []string, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError{errors.New("want server, client, authorization or visit")}
	}
	switch args[0] {
	case "server":
		return runServer(ctx, args[1:], stderr)
	case "client":
		if len(args) != 2 {
			return usageError{fmt.Errorf("client: want one URL, got %d arguments", len(args)-1)}
		}
		p := &part{scenario: os.Getenv("MCP_CONFORMANCE_SCENARIO"), context: os.Getenv("MCP_CONFORMANCE_CONTEXT")}
		return p.act(ctx, os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"), &mcp.HTTPTransport{URL: args[1]})
	case "authorization":
		if len(args) != 4 {
			return usageError{fmt.Errorf("authorization: want an address, a client id and a port, got %d arguments", len(args)-1)}
		}
		return serveAuthorization(ctx, args[1], args[2], args[3], stderr)
	case "visit":
		if len(args) != 2 {
			return usageError{fmt.Errorf("visit: want one URL, got %d arguments", len(args)-1)}
		}
		return visit(ctx, args[1])
	}
	return usageError{fmt.Errorf("unknown command %q", args[0])}
}

func runServer(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	addr := flags.String("http", "", "")
	dummies := flags.Int("tools", 0, "")
	revision := flags.String("revision", "", "")
	if err := flags.Parse(args); err != nil {
		return usageError{err}
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Errorf("server: unexpected argument %q", flags.Arg(0))}
	}
	s, err := newServer(*dummies, *revision)
	if err != nil {
		return err
	}
	if *addr != "" {
		return serveHTTP(ctx, s, *addr, stderr)
	}
	if err := s.Run(ctx, mcp.Stdio()); ctx.Err() == nil {
		return err
	}
	return nil
}
