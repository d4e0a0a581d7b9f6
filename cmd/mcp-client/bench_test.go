package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp"
)

// benchServer has a tool whose n-th call takes n milliseconds, and tools that fail in part.
// wait waits until it has ended.
func benchServer(t *testing.T) (dial func(p *program, _ []string) (mcp.Transport, error), wait func()) {
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	var calls atomic.Int64
	tool := func(name string, h func(ctx context.Context, n int64) error) {
		must(t, mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.Request, _ struct{}) (string, error) {
			return "done", h(ctx, calls.Add(1))
		}))
	}
	tool("longer", func(ctx context.Context, n int64) error {
		select {
		case <-time.After(time.Duration(n) * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	tool("some", func(ctx context.Context, n int64) error {
		switch n % 4 {
		case 0:
			return errors.New("it broke")
		case 1:
			return &mcp.Error{Code: 17, Message: fmt.Sprint("not today ", n)}
		case 2:
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	var running sync.WaitGroup
	return func(p *program, _ []string) (mcp.Transport, error) {
		ours, theirs := mcp.Pipe()
		running.Go(func() { _ = s.Run(context.Background(), theirs) }) // ends with the session
		return &mcp.ConnTransport{Conn: p.wrap(ours)}, nil
	}, running.Wait
}

func TestBench(t *testing.T) {
	for _, c := range []struct {
		line   string
		code   int
		stdout string
		stderr string
	}{
		{"bench longer", 0, "calls:    100 in 5.050 s, by 1 at once\nrate:     19.8 calls/s\nlatency:  p50 50.000 ms, p90 90.000 ms, p99 99.000 ms, max 100.000 ms\n", ""},
		{"bench -n 10 -c 10 longer", 0, "calls:    10 in 0.010 s, by 10 at once\nrate:     1000.0 calls/s\nlatency:  p50 5.000 ms, p90 9.000 ms, p99 10.000 ms, max 10.000 ms\n", ""},
		{"bench longer -n 1 -c 5 -json", 0, `{"calls":1,"callers":1,"seconds":0.001,"callsPerSecond":1000,"latencyMs":{"p50":1,"p90":1,"p99":1,"max":1}}` + "\n", ""},
		{"bench some -n 8 -timeout 1s", 1, "calls:    8 in 2.000 s, by 1 at once\nrate:     4.0 calls/s\nlatency:  p50 0.000 ms, p90 0.000 ms, p99 0.000 ms, max 0.000 ms\n" +
			"failed:   2: error 17 of the protocol\nfailed:   2: no answer in time\nfailed:   2: the tool reports an error\n", "mcp-client: 6 of 8 calls have failed\n"},
		{"bench some -n 1 -json", 1, `{"calls":1,"callers":1,"seconds":0,"callsPerSecond":0,"errors":{"error 17 of the protocol":1}}` + "\n", "mcp-client: 1 of 1 calls have failed\n"},
		{"bench longer x=1", 2, "", "mcp-client: the arguments do not fit tool \"longer\": /x: not allowed\n"},
		{"bench none", 2, "", "mcp-client: the server has no tool \"none\"; it has: longer, some\n"},
		{"bench -n -1 longer", 2, "", "mcp-client: -n must be from 1 to 10000000, not -1\n"},
		{"bench -n 10000001 longer", 2, "", "mcp-client: -n must be from 1 to 10000000, not 10000001\n"},
		{"bench -c 10001 longer", 2, "", "mcp-client: -c must be from 1 to 10000, not 10001\n"},
		{"call -n 5 longer", 2, "", "mcp-client: -n and -c are for bench\n"},
	} {
		t.Run(c.line, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, wait := benchServer(t)
				defer wait()
				new(trial).with(dial).run(append(strings.Fields(c.line), "--", "x")...).is(t, c.code, c.stdout, c.stderr)
			})
		})
	}
}

// Ctrl-C ends a bench, which tells what it has measured.
func TestBenchInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, wait := benchServer(t)
		defer wait()
		tr := &trial{signals: make(chan os.Signal, 1)}
		time.AfterFunc(4*time.Millisecond, func() { tr.signals <- os.Interrupt }) // in the third call, which takes until 6 ms
		tr.with(dial).run("bench", "longer", "--", "x").is(t, exitInterrupted,
			"calls:    2 in 0.004 s, by 1 at once\nrate:     500.0 calls/s\nlatency:  p50 1.000 ms, p90 2.000 ms, p99 2.000 ms, max 2.000 ms\n", "mcp-client: interrupted\n")
	})
}

func TestPercentile(t *testing.T) {
	one, three := []time.Duration{time.Millisecond}, []time.Duration{1e6, 2e6, 3e6}
	for _, c := range []struct {
		took []time.Duration
		p    int
		want float64
	}{{one, 50, 1}, {one, 100, 1}, {three, 33, 1}, {three, 34, 2}, {three, 50, 2}, {three, 67, 3}, {three, 99, 3}, {slices.Repeat(three, 1), 1, 1}} {
		if got := percentile(c.took, c.p); got != c.want {
			t.Errorf("%d of %v: %v, want %v", c.p, c.took, got, c.want)
		}
	}
}

func TestFailure(t *testing.T) {
	for want, err := range map[string]error{
		"the tool reports an error": nil,
		"error 5 of the protocol":   fmt.Errorf("x: %w", &mcp.Error{Code: 5}),
		"HTTP 503":                  &mcp.HTTPError{Status: 503},
		"no answer in time":         fmt.Errorf("x: %w", &mcp.TimeoutError{}),
		"invalid response":          fmt.Errorf("%w: x", mcp.ErrInvalidResponse),
		"connection closed":         fmt.Errorf("%w: x", mcp.ErrClosed),
		"no connection":             errors.New("dial"),
	} {
		if got := failure(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
