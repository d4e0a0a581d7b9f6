package main

import (
	"strings"
	"testing"

	"example.com/mcp"
)

func TestForm(t *testing.T) {
	for _, c := range []struct{ name, typed, want string }{
		{"defaults", "\n\n\n\n\ny\n", `accept{"name":"Ada","ok":true,"days":["tu"]}`},
		{"values", "Bob\n5\nno\n2\n1, 3\ny\n", `accept{"name":"Bob","age":5,"ok":false,"pet":"d","days":["mo","we"]}`},
		{"values of choices", "Bob\n\n\nc\n", "cancel"}, // c dismisses
		{"quoted letters", "\"d\"\n\n\n\"c\"\ntu we\ny\n", `accept{"name":"d","ok":true,"pet":"c","days":["tu","we"]}`},
		{"none of some", "\n\n\n\n[]\ny\n", `accept{"name":"Ada","ok":true,"days":[]}`},
		{"asked again", "\nfive\n3\n10\n7\n perhaps \nYES\n3\n1\n4\n2\ny\n", `accept{"name":"Ada","age":7,"ok":true,"pet":"c","days":["tu"]}`},
		{"all again", "Bob\n\n\n\n\nr\nEve\n\n\n\n\nwhat\ny\n", `accept{"name":"Eve","ok":true,"days":["tu"]}`},
		{"declined", "Bob\nd\n", "decline"},
		{"declined at the end", "Bob\n\n\n\n\nd\n", "decline"},
		{"dismissed", "c\n", "cancel"},
		{"end of input", "Bob\n", "cancel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &trial{typed: c.typed}
			tr.run("call", "ask", "--", "x").is(t, exitOK, c.want+"\n", "")
		})
	}
}

func TestFormShown(t *testing.T) {
	tr := &trial{typed: "\nten\n10\n5\n\n3\n1\n9\n\ny\n"}
	tr.run("call", "ask", "--", "x").is(t, exitOK, `accept{"name":"Ada","age":5,"ok":true,"pet":"c","days":["tu"]}`+"\n", "")
	const want = `The server tester 7 asks:
  Who\x1b[2J are you?
Enter a value for each field. d declines, c cancels; in quotes they are values.
Your name (string, default "Ada")
> age (integer, 4 to 9)
>   want a number, not "ten"
>   age: 10 is more than 9
> ok (y or n, default true)
> pet (number of one)
  1. Cat (c)
  2. Dog (d)
>   want a number from 1 to 2, not "3"
> days (numbers of some, with commas, default ["tu"])
  1. mo
  2. tu
  3. we
>   want a number from 1 to 3, not "9"
> This will be sent: {"age":5,"days":["tu"],"name":"Ada","ok":true,"pet":"c"}
Send it? y yes, r again, d decline, c cancel: `
	if got := tr.screen.String(); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// FEAT-329
func TestVisitShown(t *testing.T) {
	for typed, want := range map[string]string{"what?\ny\n": "accept", "d\n": "decline", "c\n": "cancel"} {
		tr := &trial{typed: typed}
		tr.run("call", "visit", "--", "x").is(t, exitOK, want+"\n", "")
		shown := "The server tester 7 asks:\n  Please pay\n  It wants you to visit pay.example\n  URL: https://pay.example/x?y=1\n"
		open := "Open this URL in your browser: https://pay.example/x?y=1\n"
		if got := tr.screen.String(); !strings.HasPrefix(got, shown) || strings.Contains(got, open) != (want == "accept") {
			t.Errorf("%q: shown:\n%s", typed, got)
		}
	}
}

func TestSampling(t *testing.T) {
	tr := &trial{typed: "hat\n"}
	tr.run("call", "sample", "--", "x").is(t, exitOK, "person: hat\n", "")
	const want = "The server tester 7 asks:\n  a model to go on, with at most 9 tokens.\nsystem:\n  Rhyme.\nuser:\n  What rhymes with cat?\n" +
		"Your answer in place of a model (nothing refuses): "
	if got := tr.screen.String(); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	refused := &trial{typed: "\n"} // which ends the call: there is no answer for it in another request
	refused.run("call", "sample", "--", "x").is(t, exitProtocol, "", `mcp-client: tools/call: the server asks for "1": User rejected sampling request (code -1)`+"\n")
	told := &trial{typed: "\n", speaks: mcp.Revisions()[1:]}
	told.run("call", "sample", "--", "x").is(t, exitTool, "mcp: sampling/createMessage: User rejected sampling request (code -1)\n", "*")
}
