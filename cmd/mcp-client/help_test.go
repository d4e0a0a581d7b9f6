package main

import (
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	new(trial).run("-h").is(t, exitOK, usage(), "")
	new(trial).run("help").is(t, exitOK, usage(), "")
	new(trial).run("help", "flags").is(t, exitOK, flagHelp(), "")
	new(trial).run("-h", "what").is(t, exitOK, usage(), "")
	new(trial).run("help", "what").is(t, exitUsage, "", `mcp-client: unknown subcommand "what"; mcp-client -h lists them`+"\n")
	new(trial).run("help", "call", "http://h").is(t, exitUsage, "", "mcp-client: help takes no server\n")
	if lines := strings.Count(usage(), "\n"); lines > 40 {
		t.Errorf("the general help has %d lines", lines)
	}
	for _, c := range commands() {
		if !strings.Contains(usage(), "\n  "+c.name+" ") {
			t.Errorf("the help lacks %s", c.name)
		}
		page := c.page()
		new(trial).run("help", c.name).is(t, exitOK, page, "")
		new(trial).run(c.name, "--help").is(t, exitOK, page, "")
		new(trial).run("-h", "http://h", c.name, "a", "b").is(t, exitOK, page, "")
		if !strings.HasPrefix(page, "usage: mcp-client [flags] "+c.name) || !strings.Contains(page, "\nExample:\n  mcp-client "+c.name) {
			t.Errorf("the help on %s is:\n%s", c.name, page)
		}
		for line := range strings.Lines(page) {
			if len([]rune(line)) > 80 && !strings.HasPrefix(line, "usage: ") {
				t.Errorf("a line of the help on %s is too long: %s", c.name, line)
			}
		}
	}
}

// The examples of the help are command lines that can be parsed.
func TestHelpExamples(t *testing.T) {
	for _, c := range commands() {
		line := strings.Fields(c.example)
		switch {
		case c.run != nil:
			line = append(line, "--", "x")
		case c.apart != nil:
			line = append(line, "http://h")
		}
		p := &program{}
		if cmd, _, _, err := p.parse(line); err != nil || cmd.name != c.name {
			t.Errorf("%q: %v", c.example, err)
		}
	}
}

func TestFlagHelp(t *testing.T) {
	for _, name := range []string{"config", "n", "c", "json", "header", "yes"} {
		if !strings.Contains(flagHelp(), "\n  -"+name) {
			t.Errorf("the help on flags lacks -%s", name)
		}
	}
}
