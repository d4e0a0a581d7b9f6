package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestPreview(t *testing.T) {
	many, other := "", ""
	for i := range 2000 {
		many += fmt.Sprintln(i)
		other += fmt.Sprintln("x", i)
	}
	long := strings.Repeat("ä", maxWidth)
	numbered := func(sign string, from, to int) (text string) {
		for i := from; i < to; i++ {
			text += fmt.Sprint("\n", sign, i)
		}
		return text
	}
	for _, c := range []struct{ old, text, want string }{
		{"", "", ""},
		{"a\n", "a\n", ""},
		{"a\nb\nc\n", "a\nx\nc\n", "\n- b\n+ x"},
		{"a\nb\nc\nd\n", "b\nc\nD\n", "\n- a\n- d\n+ D"},
		{"a\n", "a", "\n- a\n+ a (no line feed)"},
		{"", "a\nb\n", "\n+ a\n+ b"},
		{"a\nb\n", "", "\n- a\n- b"},
		{"", "\x1b[31mred\u202e\r\tx\n", "\n+ \\u001b[31mred\\u202e\\u000d\tx"},
		{"", strings.Repeat("ä", maxWidth+1) + "\n", "\n+ " + strings.Repeat("ä", maxWidth) + "…"},
		{"", strings.Repeat("x\n", 31), strings.Repeat("\n+ x", 30) + "\n… and 1 more lines that go or come"},
		{many, "0\n" + other, numbered("- ", 1, 16) + numbered("+ x ", 0, 15) + "\n… and 3969 more lines that go or come"},
		{long + "old" + long + "\n", long + "new" + long + "\n", "\n- …" + strings.Repeat("ä", maxLead) + "old" + strings.Repeat("ä", maxWidth-maxLead-3) + "…\n+ …" + strings.Repeat("ä", maxLead) + "new" + strings.Repeat("ä", maxWidth-maxLead-3) + "…"},
		{"b\n", "a\nb\n", "\n+ a"},
		{"a\nb", "a\nb\n", "\n- b (no line feed)\n+ b"},
		{strings.Repeat("a\n", 40) + "z\n", "z\n" + strings.Repeat("b\n", 2), strings.Repeat("\n- a", 28) + strings.Repeat("\n+ b", 2) + "\n… and 12 more lines that go or come"},
	} {
		if got := preview(c.old, c.text); got != c.want {
			t.Errorf("preview(%.40q, %.40q):\n got %s\nwant %s", c.old, c.text, got, c.want)
		}
	}
}
