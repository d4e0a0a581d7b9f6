package main

import (
	"context"
	"fmt"
	"strings"
)

const anyNumber = 1 << 30

const argumentHelp = `A value has the type that the tool's input schema says; what does not fit is
refused before anything is sent. KEY:=JSON gives it as JSON. KEY=@FILE takes
it from a file: as text, as base64 or as JSON, whichever the schema wants;
KEY:=@FILE as JSON. @- is stdin. KEY=@@TEXT is a text that begins with "@".
One word that is a JSON object, or @FILE, is all arguments. What is required
and not given gets the default of the schema.`

// commands are the subcommands. It is a function, since some of them tell of all.
func commands() []command {
	return []command{
		{name: "info", help: "what the server says of itself, and what it offers", example: "info", run: info},
		{name: "tools", help: "list the tools", more: "With -json, schemas and all.", example: "tools -json", run: tools},
		{name: "call", args: "NAME [KEY=VALUE… | KEY:=JSON… | JSON]", help: "call a tool",
			more:    argumentHelp + "\nWith -task it is a task, if the server makes it one: its id is printed, for\ntasks. The tasks of a server that is a command usually end with it.",
			example: "call search query=milk max=5", min: 1, max: anyNumber, run: call},
		{name: "bench", args: "NAME [KEY=VALUE… | KEY:=JSON… | JSON]", help: "call a tool many times, and measure",
			more:    argumentHelp + "\n-n says how many calls, -c how many callers. The first calls are measured like\nall others; Ctrl-C ends it, and what was measured is told. Times are of the\ncalls that went well. It is exit code 1 that a call failed.",
			example: "bench -n 1000 -c 8 search query=milk", min: 1, max: anyNumber, run: bench},
		{name: "tasks", args: "list | watch ID | result ID | cancel ID", help: "list the tasks; follow one, wait for its result, or cancel it",
			more:    "list is for servers of 2025-11-25. watch tells how a task is until it is over,\nresult waits for its end and answers what it asks.",
			example: "tasks result 2GMKPG4QKTSFYGBTFZ3CFUYZ5X", min: 1, max: 2, run: tasks},
		{name: "resources", help: "list the resources and resource templates", example: "resources", run: resources},
		{name: "read", args: "URI", help: "read a resource", example: "read file:///home/ada/notes/todo.txt", min: 1, max: 1, run: read},
		{name: "prompts", help: "list the prompts", example: "prompts", run: prompts},
		{name: "prompt", args: "NAME [KEY=VALUE…]", help: "get a prompt", more: "KEY=@FILE takes a value from a file, @- from stdin; KEY=@@TEXT is a text that\nbegins with \"@\".",
			example: "prompt explain_file path=todo.txt", min: 1, max: anyNumber, run: prompt},
		{name: "complete", args: "REF ARG VALUE [KEY=VALUE…]", help: "suggest values for an argument",
			more:    "REF is prompt:NAME or a URI template, VALUE what there is of the value,\nKEY=VALUE the arguments that are known.",
			example: "complete prompt:explain_file path t", min: 3, max: anyNumber, run: complete},
		{name: "watch", args: "URI", help: "tell of updates of a resource, and what they change, until interrupted", example: "watch file:///home/ada/notes/todo.txt", min: 1, max: 1, run: watch},
		{name: "shell", help: "type one subcommand after another, in one session", more: shellHelp, example: "shell", run: shell},
		{name: "servers", help: "list the servers that have names, and where", more: serversHelp, example: "servers", alone: servers},
		{name: "logout", help: "give up the tokens for a server, here and at its authorization server", example: "logout", apart: logout},
		{name: "demo", help: "build the folder server of this module and show every feature with it", example: "demo",
			alone: func(ctx context.Context, p *program, _ []string) error { return runDemo(ctx, p) }},
		{name: "help", args: "[SUBCOMMAND | flags]", help: "tell more of a subcommand, or of the flags", example: "help call", max: 1, alone: help},
	}
}

const serversHelp = `A file of servers is JSON: {"mcpServers": {NAME: SERVER…}}. A SERVER has
  command, args, env, cwd    a command to start, or
  url, headers               where it is over HTTP, and perhaps
  type                       stdio, http (streamable-http, streamableHttp), sse
and what else it has is for other programs. In the texts ${VAR} is a variable
of the environment, which must be set, and ${VAR:-TEXT} is TEXT where it is
not. A command runs in cwd, which counts from the folder of the file and is
that folder if there is none.
The first file that has the name counts: that of -config, or else .mcp.json of
this folder, then mcp-client/servers.json of the user's configuration.
A command from a file, and a URL that is sent something of the environment or
what -header says, is shown and asked about the first time and whenever the
file says something else of it. -yes does not answer that. What was allowed is
kept, as a hash, in mcp-client/allowed of the user's configuration.`

const shellHelp = `Lines are subcommands, as on the command line, without the server. Quotes and
backslashes are as in a shell, and nothing else is; a line that begins with #
is a comment. Subcommands, tools, prompts and listed resources can be named by
their beginnings, and the word ? at the end of a line lists what may follow.
Ctrl-C ends what runs, and at the prompt the shell; so do exit, quit and the
end of input. Flags of the line: -h, -json, -n, -c, -o, -task; all others are
the shell's.
An error does not end the shell, but the loss of the server does. If stdin is
no terminal there is no prompt, Ctrl-C ends all, and the exit code is that of
the first line that failed.`

// help tells of all, of a subcommand, or of the flags.
func help(_ context.Context, p *program, args []string) error {
	if len(args) == 0 {
		return p.helpOn(nil)
	}
	cmd := lookup(args[0])
	switch {
	case args[0] == "flags":
		return p.page(flagHelp())
	case cmd == nil:
		return usagef("unknown subcommand %q; mcp-client -h lists them", args[0])
	}
	return p.helpOn(cmd)
}

// helpOn tells of a subcommand, or of all if it is nil.
func (p *program) helpOn(cmd *command) error {
	if cmd == nil {
		return p.page(usage())
	}
	return p.page(cmd.page())
}

func usage() string {
	var b strings.Builder
	b.WriteString(`usage: mcp-client [flags] SUBCOMMAND [args] SERVER
       mcp-client [flags] SERVER SUBCOMMAND [args]
       mcp-client [flags] SUBCOMMAND [args] -- COMMAND ARGS...

SERVER is the http or https URL of one that runs, or a name that a file of servers
has; COMMAND is one to start.

`)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.help)
	}
	b.WriteString(`
"mcp-client help SUBCOMMAND" tells more of one, with an example, "mcp-client help flags"
of the flags. Flags may stand anywhere before "--".

Exit codes: 0 done, 1 the tool reports an error, 2 the command line is wrong
or does not fit what the server offers, 3 no connection or no answer (HTTP 5xx,
too), 4 an error of the protocol (HTTP 401 and 403, too), 130 interrupted.
`)
	return b.String()
}

// page is the help on a subcommand.
func (c *command) page() string {
	example := "mcp-client " + c.example
	switch {
	case c.run != nil:
		example += " -- mcp-server ~/notes"
	case c.apart != nil:
		example += " https://mcp.example.com/mcp"
	}
	return c.pageOf("mcp-client "+c.synopsis(), example)
}

// shellPage is the help on a subcommand in a shell, where no server is named.
func (c *command) shellPage() string {
	return c.pageOf(strings.TrimSpace(c.name+" "+c.args), c.example)
}

func (c *command) pageOf(usage, example string) string {
	text := "usage: " + usage + "\n\n" + strings.ToUpper(c.help[:1]) + c.help[1:] + ".\n"
	if c.more != "" {
		text += "\n" + c.more + "\n"
	}
	return text + "\nExample:\n  " + example + "\n"
}

func (c *command) synopsis() string {
	text := "[flags] " + c.name
	if c.args != "" {
		text += " " + c.args
	}
	switch {
	case c.run != nil:
		text += " -- COMMAND ARGS... | URL | NAME"
	case c.apart != nil:
		text += " URL | NAME"
	}
	return text
}

func flagHelp() string {
	var b strings.Builder
	b.WriteString("Flags, before or after the subcommand:\n")
	fs := (&program{}).flagSet(new(error))
	fs.SetOutput(&b)
	fs.PrintDefaults()
	return b.String()
}
