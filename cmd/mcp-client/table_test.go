package main

import (
	"strings"
	"testing"
)

// Lines are broken in a time that grows as they do: this one takes a minute if each piece costs
// as much as the whole.
func TestWrapLong(t *testing.T) {
	const long, width = 1 << 20, 10
	for _, text := range []string{strings.Repeat("x", long), "  " + strings.Repeat("x", long)} {
		lines := wrap(text, width)
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.TrimSpace(text) {
			t.Errorf("%d lines have %d bytes", len(lines), len(got))
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{
		{"a", "", "One\nmore words than there is room for\n  x (string) an argument of two words"},
		{"日本語", "", "wide"},
		{"a-name-that-is-very-long", "", "\x1b[2Jnothing"},
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{80, `NAME                      ABOUT
a                         One
                          more words than there is room for
                            x (string) an argument of two words
日本語                    wide
a-name-that-is-very-long  \x1b[2Jnothing
`},
		{36, `NAME                ABOUT
a                   One
                    more words than
                    there is room
                    for
                      x (string) an
                      argument of
                      two words
日本語              wide
a-name-that-is-ver  \x1b[2Jnothing
y-long
`},
		{10, `NAME          ABOUT
a             One
              more words
              than there
              is room
              for
                x
                (string)
                an
                argument
                of two
                words
日本語        wide
a-name-that-  \x1b[2Jnot
is-very-long  hing
`},
	} {
		lines := table{[]string{"NAME", "KIND", "ABOUT"}, rows}.lines(c.width)
		got := strings.Join(lines, "\n") + "\n"
		if got != c.want {
			t.Errorf("in %d columns:\n%s\nwant:\n%s", c.width, got, c.want)
		}
		for _, line := range lines {
			if cells(line) > max(c.width, minTable) {
				t.Errorf("in %d columns: %q", c.width, line)
			}
		}
	}
}

func TestCells(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "äß": 2, "e\u0301": 1, "日本": 4, "한국": 4, "\u1112\u1161\u11ab": 2, "👍": 2, "☀\ufe0f": 2, "a\u200bb": 2, "ｱ": 1, "Ａ": 2, "𠀀": 2, "—": 1} {
		if got := cells(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
	for i, of := range wide {
		if of[0] > of[1] || i > 0 && wide[i-1][1] >= of[0] {
			t.Errorf("%x is not in order", of)
		}
	}
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 4, "日…"}, {"日本", 4, "日本"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, {"abc", 0, "…"}} {
		if got := clip(c.text, c.width); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
	if got := strings.Join(wrap("日本語", 1), "|"); got != "日本語" { // which nothing can make fit
		t.Error(got)
	}
}

// Lists are tables on a terminal.
func TestLists(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"tools", `TOOL    ABOUT
ask
draw
echo    Says
        it again.
          text (string required)
          n (integer)
          x (number)
          on (boolean)
          list (array)
fail
log
refuse
roots
sample
slow
sum
visit
`},
		{"resources", `RESOURCE        KIND        ABOUT
test:///a       text/plain  a
test:///b       image/png   b
test:///{name}  template    any
                            anything
`},
		{"prompts", `PROMPT  ABOUT
greet   Greets.
          who (string required)
          style (string)
`},
	} {
		tr := &trial{terminal: true, width: 50}
		tr.run(c.line, "--", "x").is(t, exitOK, c.want, "")
	}
	tr := &trial{terminal: true, colour: true, width: 50}
	if tr.run("prompts", "--", "x"); !strings.HasPrefix(tr.stdout.String(), "\x1b[1mPROMPT  ABOUT\x1b[m\n") {
		t.Errorf("%q", tr.stdout.String())
	}
}
