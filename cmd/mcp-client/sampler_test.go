package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/mcp"
)

// typing is a person who types that, and sees what shown gets.
func typing(text string, shown io.Writer) *person {
	return &person{open: func() (io.Reader, io.Writer, error) {
		if text == "" {
			return nil, nil, errors.New("there is no terminal to ask at")
		}
		return strings.NewReader(text), shown, nil
	}}
}

const (
	sampleShown = "The server tester 7 asks:\n  what a model would answer, with at most 9 tokens.\nsystem:\n  Rhyme.\nuser:\n  What rhymes with cat?\n"
	byHand      = "Answer in place of a model. A line with only a dot ends the answer; nothing before it refuses.\n"
	sendIt      = "Send it? y yes, r again, d refuse: "
)

// The person sees what is asked, and what is sent before it is (FEAT-270).
func TestSampling(t *testing.T) {
	tr := &trial{typed: "bat\n.\nr\n  hat\nmat\n.\ny\n"}
	tr.run("call", "sample", "--", "x").is(t, exitOK, "person:   hat\nmat\n", "")
	want := sampleShown + byHand + "> > This will be sent, as by person (endTurn):\n  bat\n" + sendIt +
		byHand + "> > > This will be sent, as by person (endTurn):\n    hat\n  mat\n" + sendIt
	if got := tr.screen.String(); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	for _, typed := range []string{".\n", "\n.\n", "bat\n", "bat\n.\nd\n", "bat\n.\nc\n"} {
		refused := &trial{typed: typed} // which ends the call: there is no answer for it in another request
		refused.run("call", "sample", "--", "x").is(t, exitProtocol, "", `mcp-client: tools/call: the server asks for "1": User rejected sampling request (code -1)`+"\n")
		told := &trial{typed: typed, speaks: mcp.Revisions()[1:]}
		told.run("call", "sample", "--", "x").is(t, exitTool, "mcp: sampling/createMessage: User rejected sampling request (code -1)\n", "*")
	}
}

func TestLimits(t *testing.T) {
	warm := 0.5
	got := limits(&mcp.CreateMessageParams{MaxTokens: 5, Temperature: &warm, StopSequences: []string{"\n"}, IncludeContext: "thisServer",
		ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "a"}}}, ToolChoice: &mcp.ToolChoice{Mode: "required"}})
	if want := `at most 5 tokens, temperature 0.5, an end before ["\n"], a model like "a", context of thisServer, tool use required`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
