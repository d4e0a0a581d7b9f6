package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/mcp"
)

func TestDiff(t *testing.T) {
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, a, b, want string }{
		{"the same", "a\nb\n", "a\nb\n", ""},
		{"both empty", "", "", ""},
		{"from nothing", "", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		{"to nothing", "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"one line", "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		{"the end of the last line", "a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at the end\n+b\n"},
		{"little around it", numbers(1, 20), numbers(1, 9) + "x\n" + numbers(11, 20), "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n"},
		{"two near each other", numbers(1, 20), numbers(1, 4) + numbers(6, 11) + "x\n" + numbers(12, 20),
			"@@ -2,13 +2,13 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n 9\n 10\n 11\n+x\n 12\n 13\n 14\n"},
		{"two apart", numbers(1, 20), numbers(1, 4) + numbers(6, 12) + "x\n" + numbers(13, 20),
			"@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n@@ -10,6 +9,7 @@\n 10\n 11\n 12\n+x\n 13\n 14\n 15\n"},
		{"moved", "a\nb\nc\nd\n", "b\nc\nd\na\n", "@@ -1,4 +1,4 @@\n-a\n b\n c\n d\n+a\n"},
	} {
		got := strings.Join(append(diff(c.a, c.b), ""), "\n")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
	// Too much to compare is replaced, and not all of that is shown.
	big := diff(numbers(1, 3000), numbers(2, 3001)[:100]+"x\n"+numbers(5000, 8000))
	if n := len(big); n != maxChanged+1 || big[n-1] != " … and 5539 lines more" {
		t.Errorf("%d lines, the last %q", n, big[n-1])
	}
}

// watch shows what changed in a text, and that something else did.
func TestWatchDiff(t *testing.T) {
	contents := []*mcp.ResourceContents{
		mcp.TextContents("x:a", "text/plain", "buy milk\n"),
		mcp.TextContents("x:a", "text/plain", "buy\x1b[2J milk\nfeed the cat\n"),
		mcp.BlobContents("x:a", "image/png", []byte(testPNG)),
		nil,
	}
	const png = "[image/png 8 bytes, SHA-256 4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6]"
	want := []string{
		"updated x:a\n@@ -1,1 +1,2 @@\n-buy milk\n+buy\\x1b[2J milk\n+feed the cat\n",
		"updated x:a\n@@ -1,2 +1,1 @@\n-buy\\x1b[2J milk\n-feed the cat\n+" + png + "\n",
		"updated x:a\n@@ -1,1 +1,1 @@\n-" + png + "\n+[it cannot be read: mcp: resource not found",
	}
	for _, speaks := range [][]string{nil, mcp.Revisions()[1:]} {
		now := make(chan *mcp.ResourceContents, 1) // what the resource is
		s := mcp.NewServer(&mcp.Implementation{Name: "tester", Version: "7"}, &mcp.ServerOptions{Revisions: speaks,
			Subscribe: func(context.Context, *mcp.Request, string) error { return nil }})
		s.AddResource(&mcp.Resource{URI: "x:a", Name: "a"}, func(context.Context, *mcp.Request, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			is := <-now
			now <- is
			if is == nil {
				return nil, mcp.ResourceNotFound("x:a")
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{is}}, nil
		})
		now <- contents[0]
		next, all := 0, ""
		tr := &trial{signals: make(chan os.Signal, 1)}
		change := func() {
			next++
			<-now
			now <- contents[next]
			s.ResourceUpdated("x:a")
		}
		tr.hear = func(text string) {
			all += text
			switch {
			case strings.HasPrefix(text, "watching "):
				change()
			case next > 0 && strings.HasPrefix(all, "watching x:a, Ctrl-C ends it\n"+strings.Join(want[:next], "")):
				if next == len(want) {
					tr.signals <- os.Interrupt
					next = -1
				} else {
					change()
				}
			}
		}
		tr.serving(s).run("watch", "x:a", "--", "x")
		if got := tr.stdout.String(); tr.code != exitInterrupted || !strings.HasPrefix(got, strings.Join(want, "")) {
			t.Errorf("exit code %d, stdout:\n%s\nwant:\n%s", tr.code, got, strings.Join(want, ""))
		}
	}
}

func TestInbox(t *testing.T) {
	var b inbox
	put := func(uris ...string) {
		for _, uri := range uris {
			b.put(context.Background(), nil, &mcp.ResourceUpdatedParams{URI: uri})
		}
	}
	put("unheard")
	news := b.open()
	put("a", "b", "a")
	<-news
	if got := fmt.Sprint(b.take(), b.take()); got != "[a b] []" {
		t.Error(got)
	}
	for i := range maxUpdates + 1 {
		put(fmt.Sprint(i))
	}
	<-news
	if n := len(b.take()); n != maxUpdates {
		t.Errorf("%d updates are kept", n)
	}
	b.close()
	put("unheard")
	if got := b.take(); got != nil {
		t.Error(got)
	}
}
