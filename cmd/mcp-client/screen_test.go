package main

import (
	"os"
	"strings"
	"testing"
)

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

// A terminal has one line of progress, which everything else erases first.
func TestScreen(t *testing.T) {
	var b buffer
	s := &screen{w: &b, terminal: true}
	s.progress("one")
	s.progress("two")
	s.line("a line")
	s.progress("three")
	s.hold(true)
	s.progress("unseen")
	s.line("another")
	s.hold(false)
	s.progress(strings.Repeat("x", 100))
	s.progress("")
	want := "one" + eraseLine + "two" + eraseLine + "a line\nthree" + eraseLine + "another\n" +
		strings.Repeat("x", 78) + "…" + eraseLine
	if got := b.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var plain buffer
	s = &screen{w: &plain}
	s.progress("one")
	s.hold(true)
	s.progress("two")
	s.progress("")
	if got, want := plain.String(), "one\ntwo\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of what each message says anew, the trace shows what is new.
func TestMessages(t *testing.T) {
	var b buffer
	s := &screen{w: &b}
	const who, other, same = `"io.modelcontextprotocol/clientInfo":{"name":"a"}`, `"io.modelcontextprotocol/clientInfo": {"name":"b}"}`, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	for _, c := range []struct{ message, shown string }{
		{`{"_meta":{` + who + `,` + same + `}}`, `{"_meta":{` + who + `,` + same + `}}`},
		{`{"_meta":{` + who + `,` + same + `,"x":1}}`, `{"_meta":{…,"x":1}}`},
		{`{"_meta":{` + same + `,"x":"…,…",` + who + `}}`, `{"_meta":{…,"x":"…,…",…}}`},
		{`{"_meta":{` + other + `,` + same + `}}`, `{"_meta":{` + other + `,…}}`},
		{`{"_meta":{` + other + `,` + same + `}}`, `{"_meta":{…}}`},
		{`{"text":"` + strings.ReplaceAll(other, `"`, `\"`) + `"}`, `{"text":"` + strings.ReplaceAll(other, `"`, `\"`) + `"}`},
		{`{"_meta":{"io.modelcontextprotocol/clientInfo":`, `{"_meta":{"io.modelcontextprotocol/clientInfo":`},
		{"\x00" + other, `\x00` + other},
	} {
		s.message("-->", []byte(c.message))
		if got, want := b.String(), "--> "+c.shown+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		b = buffer{}
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
