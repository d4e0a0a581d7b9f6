package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp"
)

// What cannot be written is an error, wherever it is printed.
func TestOutputFails(t *testing.T) {
	for _, line := range []string{"help", "tools -- x", "-json tools -- x", "call sum -- x", "info -- x"} {
		var errs buffer
		full := writerFunc(func([]byte) (int, error) { return 0, errors.New("no space left") })
		p := &program{stdout: full, screen: &screen{w: &errs}, person: &person{}}
		var server sync.WaitGroup
		p.dial = func(*program, []string) (mcp.Transport, error) {
			ours, theirs := mcp.Pipe()
			server.Go(func() { _ = newTestServer(&watcher{}).Run(context.Background(), theirs) })
			return &mcp.ConnTransport{Conn: ours}, nil
		}
		if code := p.run(strings.Fields(line)); code != exitConnection || errs.String() != "mcp-client: no space left\n" {
			t.Errorf("%s: exit code %d, stderr %q", line, code, errs.String())
		}
		server.Wait()
	}
}

func TestEscape(t *testing.T) {
	for _, c := range []struct{ text, line, lines string }{
		{"plain ünïcode ✓", "plain ünïcode ✓", "plain ünïcode ✓"},
		{"a\tb\nc", `a	b\x0ac`, "a\tb\nc"},
		{"\x1b]0;title\x07", `\x1b]0;title\x07`, `\x1b]0;title\x07`},
		{"a\rb\x00\x7f\u009b2J", `a\x0db\x00\x7f\u009b2J`, `a\x0db\x00\x7f\u009b2J`},
		{"\u202egnp.exe\u2028", `\u202egnp.exe\u2028`, `\u202egnp.exe\u2028`},
		{"bad\xff\xc3", `bad\xff\xc3`, `bad\xff\xc3`},
		{"", "", ""},
	} {
		if got := oneLine(c.text); got != c.line {
			t.Errorf("oneLine(%q) = %q, want %q", c.text, got, c.line)
		}
		if got := manyLines(c.text); got != c.lines {
			t.Errorf("manyLines(%q) = %q, want %q", c.text, got, c.lines)
		}
	}
}

func TestPrintJSONEscapes(t *testing.T) {
	var b buffer
	p := &program{stdout: &b}
	if err := p.printJSON(map[string]string{"a": "<\x1b\u009b\u202e\x7f>\n"}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), `{"a":"<\u001b\u009b\u202e\u007f>\n"}`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What is told while a prompt waits comes on lines of its own, and the prompt again.
func TestScreenPrompt(t *testing.T) {
	var b buffer
	s := &screen{w: &b, terminal: true}
	s.prompt(&b, "mcp> ")
	s.line("news")
	s.prompted()
	s.line("more")
	s.erase()
	if got, want := b.String(), "mcp> \nnews\nmcp> more\n\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Words stay whole, and what follows a label stays beside it.
func TestFolded(t *testing.T) {
	for _, c := range [][2]string{
		{"short", "short"}, {"", ""},
		{"one two three four", "one two\nthree four"},
		{"a https://example.com/long b", "a\nhttps://example.com/long\nb"},
		{"  a b cc dd ee ff", "  a b cc\n  dd ee ff"},
		{"on:  aa bb cc dd", "on:  aa bb\n     cc dd"},
		{"label:  aa bb cc", "label:  aa\nbb cc"}, // which leaves too little room
	} {
		if got := folded(c[0], 10); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// What is shown to a person is not wider than the terminal, and foreign text stays indented;
// what is to be copied stays whole.
func TestSayWraps(t *testing.T) {
	var b buffer
	q := &person{out: &b, width: func() int { return 24 }}
	q.block("The server asks", "Please wait, and then: Accept? y yes, d no: \nyes")
	q.say("  host: pay.example")
	q.whole("https://pay.example/a/very/long/path x")
	want := "The server asks:\n  Please wait, and then:\n  Accept? y yes, d no:\n  yes\n  host: pay.example\nhttps://pay.example/a/very/long/path x\n"
	if got := b.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A terminal has one line of progress, which all else erases first, and which is shown
// again below it. It changes ten times a second at most.
func TestScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b buffer
		s, before := &screen{w: &b, terminal: true}, 0
		shown := func(what, want string) {
			t.Helper()
			all := b.String()
			if got := all[before:]; got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
			before = len(all)
		}
		s.progress("one")
		s.progress("two")
		s.progress("three")
		shown("too fast", "one")
		time.Sleep(redraw)
		synctest.Wait()
		shown("the last of them", eraseLine+"three")
		s.line("a line")
		shown("a line", eraseLine+"a line\nthree")
		s.progress("four")
		s.hold(true)
		s.progress("unseen")
		s.line("another")
		time.Sleep(redraw)
		synctest.Wait()
		shown("held", eraseLine)
		for range maxWaiting {
			s.line("more")
		}
		s.hold(false)
		shown("not held any more", "another\n"+strings.Repeat("more\n", maxWaiting-1)+"(1 lines more were not shown meanwhile)\n")
		s.progress(strings.Repeat("x", 100))
		shown("too long", strings.Repeat("x", 78)+"…")
		s.progress("unseen")
		s.progress("")
		time.Sleep(redraw)
		synctest.Wait()
		shown("ended", eraseLine)
	})
	var plain buffer
	s := &screen{w: &plain}
	s.progress("one")
	s.hold(true)
	s.progress("two")
	s.progress("")
	if got, want := plain.String(), "one\ntwo\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Only this program sets styles: what foreign text has of them is escaped.
func TestSpans(t *testing.T) {
	for colour, want := range map[bool]string{true: "\x1b[31ma\\x1b[32mb\x1b[m\\x0ac\n", false: "a\\x1b[32mb\\x0ac\n"} {
		var b buffer
		(&screen{w: &b, colour: colour}).spans(span{red, "a\x1b[32mb"}, span{text: "\nc"})
		if got := b.String(); got != want {
			t.Errorf("%v: %q, want %q", colour, got, want)
		}
	}
}

// Log messages have the colour of their level, and nothing of the server's own.
func TestLogColours(t *testing.T) {
	for _, c := range []struct {
		m           mcp.LoggingMessageParams
		plain, mark string
	}{
		{mcp.LoggingMessageParams{Level: "debug", Data: []byte(`{"a":1}`)}, `[debug] {"a":1}`, "\x1b[2m[debug]\x1b[m"},
		{mcp.LoggingMessageParams{Level: "notice", Logger: "db", Data: []byte(`"a\u001b[2J"`)}, `[notice] db: a\x1b[2J`, "\x1b[36m[notice]\x1b[m"},
		{mcp.LoggingMessageParams{Level: "warning", Data: []byte(`"a"`)}, "[warning] a", "\x1b[33m[warning]\x1b[m"},
		{mcp.LoggingMessageParams{Level: "error", Data: []byte(`"a"`)}, "[error] a", "\x1b[31m[error]\x1b[m"},
		{mcp.LoggingMessageParams{Level: "alert", Data: []byte(`"a"`)}, "[alert] a", "\x1b[1;31m[alert]\x1b[m"},
	} {
		var plain, colour buffer
		(&program{screen: &screen{w: &plain}}).log(t.Context(), nil, &c.m)
		(&program{screen: &screen{w: &colour, colour: true}}).log(t.Context(), nil, &c.m)
		_, text, _ := strings.Cut(c.plain, "]")
		if plain.String() != c.plain+"\n" || colour.String() != c.mark+text+"\n" {
			t.Errorf("%q and %q, want %q and %q", plain.String(), colour.String(), c.plain, c.mark+text)
		}
	}
}

func TestColours(t *testing.T) {
	for _, c := range []struct {
		term, noColor    string
		obeys, colourful bool
	}{
		{"xterm", "", true, true},
		{"xterm", "1", true, false},
		{"dumb", "", false, false},
	} {
		env := func(name string) string { return map[string]string{"TERM": c.term, "NO_COLOR": c.noColor}[name] }
		if obeys(env) != c.obeys || colourful(env) != c.colourful {
			t.Errorf("TERM=%s NO_COLOR=%s: %v, %v", c.term, c.noColor, obeys(env), colourful(env))
		}
	}
}

func TestColumns(t *testing.T) {
	t.Setenv("COLUMNS", "57")
	if got := columns(os.Stdout)(); got != 57 {
		t.Errorf("%d columns, want those of COLUMNS", got)
	}
	t.Setenv("COLUMNS", "wide")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct{ got, want int }{
		{columnsOf(columns(null)), 80}, {columnsOf(nil), 80}, {columnsOf(func() int { return 3 }), 10}, {columnsOf(func() int { return 1 << 20 }), 1000},
	} {
		if c.got != c.want {
			t.Errorf("%d columns, want %d", c.got, c.want)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("the null device is taken for a terminal")
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if isTerminal(file) {
		t.Error("a file is taken for a terminal")
	}
}
