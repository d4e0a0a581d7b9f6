package main

import (
	"context"
	"errors"
	"io"
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
Enter a value for each field; an empty line takes the default, or leaves out what is optional. d declines, c cancels; in quotes they are values.
  Your name (string, default "Ada")
>   age (integer, 4 to 9, optional)
>     want a number, not "ten"
>     age: 10 is more than 9
>   ok (y or n, default true)
>   pet (number of one, optional)
    1. Cat (c)
    2. Dog (d)
>     want a number from 1 to 2, not "3"
>   days (numbers of some, with commas, default ["tu"])
    1. mo
    2. tu
    3. we
>     want a number from 1 to 3, not "9"
> This will be sent: {"age":5,"days":["tu"],"name":"Ada","ok":true,"pet":"c"}
Send it? y yes, r again, d decline, c cancel: `
	if got := tr.screen.String(); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// A line that is typed when a question was withdrawn is no answer to the next one, which may
// be about something else; a shell takes it as its own.
func TestWithdrawn(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	var shown buffer
	q := &person{open: func() (io.Reader, io.Writer, error) { return in, &shown, nil }}
	withdraw := func() {
		end, err := q.begin(t.Context())
		must(t, err)
		defer end()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("withdrawn"))
		if _, err := q.choose(ctx, "Small? ", "y"); err == nil || err.Error() != "withdrawn" {
			t.Errorf("the question ended with %v", err)
		}
	}
	withdraw()
	go io.WriteString(typed, "y\nd\nhelp\ny\n")
	end, err := q.begin(t.Context())
	must(t, err)
	if _, err := q.choose(t.Context(), "Large? ", "y"); err != errDeclined {
		t.Errorf("the second question ended with %v, want %v", err, errDeclined)
	}
	end()
	withdraw()
	if line, err := q.command(t.Context(), "mcp> "); line != "help" || err != nil {
		t.Errorf("the shell got %q, %v", line, err)
	}
	if end, err = q.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer end()
	if letter, err := q.choose(t.Context(), "Larger? ", "y"); letter != 'y' || err != nil {
		t.Errorf("the last question ended with %q, %v", letter, err)
	}
	const want = "Small? \nLarge? The question before was withdrawn. This is another one; answer once more.\nLarge? Small? \nmcp> Larger? "
	if got := shown.String(); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// Each kind of field says what it takes, and why it does not take something else.
func TestFields(t *testing.T) {
	one, two, half := 1, 2, 0.5
	for _, c := range []struct {
		schema      *mcp.PrimitiveSchema
		kind        string
		typed, says string // what is said of it; "": nothing
		want        string
	}{
		{&mcp.PrimitiveSchema{Type: "string", Format: "email"}, "string, email", "a@b@c", `f: "a@b@c" is not of format email`, ""},
		{&mcp.PrimitiveSchema{Type: "string", Format: "email"}, "string, email", "a@b.example", "", `"a@b.example"`},
		{&mcp.PrimitiveSchema{Type: "string", Format: "uri"}, "string, uri", "here", `f: "here" is not of format uri`, ""},
		{&mcp.PrimitiveSchema{Type: "string", Format: "date"}, "string, date such as 2026-07-28", "2026-02-30", `f: "2026-02-30" is not of format date`, ""},
		{&mcp.PrimitiveSchema{Type: "string", Format: "date-time"}, "string, date and time such as 2026-07-28T09:30:00Z", "2026-07-28", `f: "2026-07-28" is not of format date-time`, ""},
		{&mcp.PrimitiveSchema{Type: "string", MinLength: &two}, "string, at least 2 characters", "ä", "f: want at least 2 characters, got 1", ""},
		{&mcp.PrimitiveSchema{Type: "string", MinLength: &one, MaxLength: &two}, "string, 1 to 2 characters", "abc", "f: want at most 2 characters, got 3", ""},
		{&mcp.PrimitiveSchema{Type: "string", MinLength: &one, MaxLength: &two}, "string, 1 to 2 characters", "äö", "", `"äö"`},
		{&mcp.PrimitiveSchema{Type: "string"}, "string", `"\u001b"`, "", `"\u001b"`},
		{&mcp.PrimitiveSchema{Type: "number", Minimum: &half}, "number, at least 0.5", "0.25", "f: 0.25 is less than 0.5", ""},
		{&mcp.PrimitiveSchema{Type: "number"}, "number", "1e3", "", "1e3"},
		{&mcp.PrimitiveSchema{Type: "number"}, "number", "true", `want a number, not "true"`, ""},
		{&mcp.PrimitiveSchema{Type: "integer"}, "integer", "1.5", "f: 1.5 is not an integer", ""},
		{&mcp.PrimitiveSchema{Type: "boolean"}, "y or n", "maybe", `want y or n, not "maybe"`, ""},
		{&mcp.PrimitiveSchema{Type: "boolean"}, "y or n", "No", "", "false"},
		{&mcp.PrimitiveSchema{Type: "string", Enum: []string{"a", "b"}, EnumNames: []string{"A", "B"}}, "number of one", "2", "", `"b"`},
		{&mcp.PrimitiveSchema{Type: "string", Enum: []string{"a", "b"}}, "number of one", "b", "", `"b"`},
		{&mcp.PrimitiveSchema{Type: "string", Enum: []string{"a", "b"}}, "number of one", "0", `want a number from 1 to 2, not "0"`, ""},
		{&mcp.PrimitiveSchema{Type: "array", Items: &mcp.EnumItems{Enum: []string{"a", "b"}}, MinItems: &two}, "numbers of some, with commas, at least 2 of them", "1 1", "f: want at least 2, got 1", ""},
		{&mcp.PrimitiveSchema{Type: "array", Items: &mcp.EnumItems{AnyOf: []mcp.EnumOption{{Const: "a", Title: "A"}, {Const: "b", Title: "B"}}}}, "numbers of some, with commas", "2,1", "", `["b","a"]`},
	} {
		if got := kindOfField(c.schema, false); got != c.kind+", optional" {
			t.Errorf("it is shown as %q, want %q and that it is optional", got, c.kind)
		}
		f := mcp.Property{Name: "f", Schema: c.schema}
		value, err := entered(c.schema, choicesOf(c.schema), c.typed)
		if err == nil {
			err = checkField(f, value)
		}
		var says string
		if err != nil {
			says, value = err.Error(), nil
		}
		if says != c.says || string(value) != c.want {
			t.Errorf("%s, %s: %s, %q; want %s, %q", c.kind, c.typed, value, says, c.want, c.says)
		}
	}
}
