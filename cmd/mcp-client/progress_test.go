package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp"
)

// On a terminal, progress is a bar that fits it, with the rate and the time left once
// they can be told.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		r     mcp.Progress
		past  time.Duration
		width int
		want  string
	}{
		{mcp.Progress{Value: 10, Total: 50}, 0, 60, "[###------------]  20% (10 of 50)"},
		{mcp.Progress{Value: 10, Total: 50, Message: "a\x1b[2J"}, 2 * time.Second, 63, `[###------------]  20% (10 of 50, 5/s, 8s left) a\x1b[2J`},
		{mcp.Progress{Value: 10, Total: 50, Message: "a long word"}, 2 * time.Second, 30, "[#------]  20% (10 of 50, 5/s…"},
		{mcp.Progress{Value: 10, Total: 50}, 2 * time.Second, 14, " 20% (10 of 5…"},
		{mcp.Progress{Value: 268_435_456, Total: 536_870_912}, time.Minute, 120, "[###############---------------]  50% (268M of 537M, 4.47M/s, 1m0s left)"},
		{mcp.Progress{Value: 50, Total: 50}, 2 * time.Second, 60, "[###############] 100% (50 of 50, 25/s)"},
		{mcp.Progress{Value: 60, Total: 50}, 0, 60, "[###############] 100% (60 of 50)"},
		{mcp.Progress{Value: -5, Total: 50}, 2 * time.Second, 60, "[---------------]   0% (-5 of 50)"},
		{mcp.Progress{Value: 1, Total: 1e300}, time.Second, 60, "[---------------]   0% (1 of 1e+300, 1/s)"},
		{mcp.Progress{Value: 49.99, Total: 50}, 0, 60, "[##############-]  99% (49.99 of 50)"},
		{mcp.Progress{Value: 10, Message: "日本語"}, 3 * time.Second, 16, "10, 3.33/s 日本…"},
	} {
		m := meter{first: mcp.Progress{}, started: time.Now()}
		got := m.bar(c.r, c.past, c.width)
		if got != c.want || cells(got) > c.width {
			t.Errorf("%v after %v: %q, want %q", c.r, c.past, got, c.want)
		}
	}
}

// What is no number is not shown.
func TestBarOfExtremes(t *testing.T) {
	m := meter{first: mcp.Progress{Value: -1e308}, started: time.Now()}
	if got := m.bar(mcp.Progress{Value: 1e308, Total: 1e308}, time.Second, 60); got != "[###############] 100% (1e+308 of 1e+308)" {
		t.Error(got)
	}
}

// Where stderr is no terminal there is a line a second, and one for the end.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b buffer
		m := &meter{p: &program{screen: &screen{w: &b}}}
		for i := range 50 {
			m.report(mcp.Progress{Value: float64(i), Total: 49, Message: "m"})
			time.Sleep(50 * time.Millisecond)
		}
		want := "progress:   0% (0 of 49) m\nprogress:  40% (20 of 49, 20/s, 2s left) m\nprogress:  81% (40 of 49, 20/s, 1s left) m\nprogress: 100% (49 of 49, 20/s) m\n"
		if got := b.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		b = buffer{}
		m = &meter{p: &program{screen: &screen{w: &b}}}
		for i := range 25 {
			m.report(mcp.Progress{Value: 1000 * float64(i)})
			time.Sleep(100 * time.Millisecond)
		}
		if got, want := b.String(), "progress: 0\nprogress: 10000, 10000/s\nprogress: 20000, 10000/s\n"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// The bar of a call is gone before its result is printed.
func TestBarGone(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "tester", Version: "7"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "steps"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		for i := range 3 {
			r.Progress(ctx, float64(i+1), 3, "")
		}
		return "done", nil
	})
	var both strings.Builder // the two are one terminal
	tr := &trial{terminal: true, width: 40, hear: func(text string) { both.WriteString(text) }}
	tr.serving(s).run("call", "steps", "--", "x").is(t, exitOK, "done\n", "*")
	if got := both.String(); !strings.HasPrefix(got, "[###------]  33% (1 of 3)") || !strings.HasSuffix(got, eraseLine+"done\n") {
		t.Errorf("%q", got)
	}
}
