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
		{many, "0\n" + other, strings.Join(strings.SplitAfter("\n- "+strings.Join(strings.Split(many, "\n")[1:31], "\n- "), "\n"), "") + "\n… and 3969 more lines that go or come"},
	} {
		if got := preview(c.old, c.text); got != c.want {
			t.Errorf("preview(%.40q, %.40q):\n got %s\nwant %s", c.old, c.text, got, c.want)
		}
	}
}
