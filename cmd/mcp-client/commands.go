package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"example.com/mcp"
)

func info(_ context.Context, j *job) error {
	about, caps := j.cs.ServerInfo(), j.cs.ServerCapabilities()
	instructions, _ := j.cs.Instructions()
	if j.json {
		return j.printJSON(struct {
			ProtocolVersion string                  `json:"protocolVersion"`
			Era             string                  `json:"era"`
			ServerInfo      *mcp.Implementation     `json:"serverInfo"`
			Capabilities    *mcp.ServerCapabilities `json:"capabilities"`
			Instructions    string                  `json:"instructions,omitempty"`
		}{j.cs.Revision(), era(j.cs), about, caps, instructions})
	}
	j.printf("name:       %s", about.Name)
	for _, l := range []struct{ label, text string }{
		{"title", about.Title}, {"version", about.Version}, {"about", about.Description}, {"website", about.WebsiteURL},
		{"protocol", j.cs.Revision()}, {"era", era(j.cs)}, {"offers", strings.Join(offers(caps), ", ")},
		{"extensions", strings.Join(slices.Sorted(maps.Keys(caps.Extensions)), ", ")},
	} {
		if l.text != "" {
			j.printf("%-11s %s", l.label+":", l.text)
		}
	}
	if instructions == "" {
		return nil
	}
	j.printf("")
	for line := range strings.Lines(instructions) {
		j.printf("%s", strings.TrimRight(line, "\r\n"))
	}
	return nil
}

// era tells whether the server keeps a session for its client, or is told anew with each
// request.
func era(cs *mcp.ClientSession) string {
	if cs.Revision() >= mcp.Revision20260728 {
		return "stateless"
	}
	return "session"
}

// offers names what a server can do.
func offers(c *mcp.ServerCapabilities) (names []string) {
	add := func(has bool, name string) {
		if has {
			names = append(names, name)
		}
	}
	add(c.Tools != nil, "tools")
	add(c.Resources != nil, "resources")
	add(c.Resources != nil && c.Resources.Subscribe, "subscriptions")
	add(c.Prompts != nil, "prompts")
	add(c.Completions != nil, "completions")
	add(c.Logging != nil, "logging")
	add(c.Tasks != nil || c.Extensions[mcp.ExtensionTasks] != nil, "tasks")
	return names
}

// list prints the items of a list: as JSON, or with show.
func list[T any](j *job, items iter.Seq2[T, error], show func(T)) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		if j.json {
			if err := j.printJSON(item); err != nil {
				return err
			}
			continue
		}
		show(item)
	}
	return nil
}

func tools(ctx context.Context, j *job) error {
	defer j.flush("TOOL", "KIND", "ABOUT")
	return list(j, j.cs.Tools(ctx), func(t *mcp.Tool) {
		j.entry(t.Name, t.DisplayName(), hints(t.Annotations), t.Description)
		for _, a := range argumentsOf(t.InputSchema) {
			j.argument(a.name, a.kind, a.description, a.required)
		}
	})
}

// hints are what a tool says of itself, where it says something.
func hints(a *mcp.ToolAnnotations) string {
	if a == nil {
		return ""
	}
	readOnly, destructive, _, _ := a.Hints()
	switch {
	case readOnly:
		return " (only reads)"
	case destructive:
		return " (may destroy)"
	}
	return " (only adds)"
}

// entry prints the head of an item of a list, and its description. On a terminal it
// becomes a row of a table, which flush prints.
func (j *job) entry(name, title, more, description string) {
	if title == name {
		title = ""
	}
	if j.terminal {
		about := strings.TrimSpace(title + "\n" + description)
		j.rows = append(j.rows, []string{name, strings.Trim(more, " ()"), about})
		return
	}
	if title != "" {
		name += " - " + title
	}
	j.printf("%s%s", name, more)
	for line := range strings.Lines(description) {
		j.printf("    %s", strings.TrimRight(line, "\n"))
	}
}

// argument goes on with an item.
func (j *job) argument(name, kind, description string, required bool) {
	if required {
		kind = strings.TrimSpace(kind + " required")
	}
	text := strings.TrimRight(fmt.Sprintf("%s (%s) %s", name, kind, description), " ")
	if j.terminal {
		about := &j.rows[len(j.rows)-1][2]
		*about = strings.TrimLeft(*about+"\n  "+oneLine(text), "\n")
		return
	}
	j.printf("      %s", text)
}

// flush prints the rows that there are as a table.
func (j *job) flush(heads ...string) {
	j.print(table{heads, j.rows})
	j.rows = nil
}

// call calls a tool, with arguments that fit its input schema.
func call(ctx context.Context, j *job) error {
	t, args, err := j.tool(ctx)
	if err != nil {
		return err
	}
	if j.asTask {
		r, err := j.start(ctx, t.Name, args)
		return j.called(r, err)
	}
	r, err := j.reporting().CallTool(ctx, t.Name, args)
	return j.called(r, err)
}

// tool finds the tool that the arguments of the subcommand name, and makes its arguments.
func (j *job) tool(ctx context.Context) (*mcp.Tool, json.RawMessage, error) {
	t, err := find(j, j.cs.Tools(ctx), "tool", j.args[0], func(t *mcp.Tool) string { return t.Name })
	if err != nil {
		return nil, nil, err
	}
	args, err := toolArguments(t, j.args[1:], j.source())
	return t, args, err
}

// called prints what a call has come to; r is nil where there is no result.
func (j *job) called(r *mcp.CallToolResult, err error) error {
	if r == nil {
		return err
	}
	j.screen.progress("")
	if printErr := j.result(r); printErr != nil || err != nil {
		return cmp.Or(err, printErr)
	}
	if r.IsError {
		return errTool
	}
	return j.save(r.Content)
}

// reporting is the session for calls that may take long: their progress is shown.
func (j *job) reporting() *mcp.ClientSession {
	return j.cs.With(mcp.CallOptions{Progress: (&meter{p: j.program}).report})
}

// result prints the result of a tool. Structured content is printed unless a text
// block says the same; a terminal gets it in that one's place, since it is easier to read.
func (j *job) result(r *mcp.CallToolResult) error {
	if j.json {
		return j.printJSON(r)
	}
	blocks := r.Content
	same := slices.IndexFunc(blocks, func(c mcp.Content) bool {
		t, ok := c.(*mcp.TextContent)
		return ok && sameJSON(t.Text, r.StructuredContent)
	})
	if same >= 0 && j.terminal {
		blocks, same = slices.Delete(slices.Clone(blocks), same, same+1), -1
	}
	if err := j.content(blocks...); err != nil || r.StructuredContent == nil || same >= 0 {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, r.StructuredContent, "", "  "); err != nil {
		return fmt.Errorf("%w: %w", mcp.ErrInvalidResponse, err)
	}
	return j.content(&mcp.TextContent{Text: b.String()})
}

// find looks for a named item of a list; in a shell, the beginning of its name is enough.
// The error names those there are.
func find[T any](j *job, items iter.Seq2[T, error], kind, name string, nameOf func(T) string) (T, error) {
	var names []string
	var found []T
	var none T
	for item, err := range items {
		if err != nil {
			return none, err
		}
		if nameOf(item) == name {
			return item, nil
		}
		names, found = append(names, nameOf(item)), append(found, item)
	}
	if j.inShell {
		full, err := shortened(name, names)
		if err != nil {
			return none, err
		}
		if full != "" {
			j.note(kind + ": " + full)
			return found[slices.Index(names, full)], nil
		}
	}
	return none, usagef("the server has no %s %q; it has: %s", kind, name, strings.Join(names, ", "))
}

func resources(ctx context.Context, j *job) error {
	defer j.flush("RESOURCE", "KIND", "ABOUT")
	err := list(j, j.cs.Resources(ctx), func(r *mcp.Resource) {
		more := ""
		if r.MIMEType != "" {
			more += " " + r.MIMEType
		}
		if r.Size != nil {
			more += fmt.Sprintf(" %d bytes", *r.Size)
		}
		j.entry(r.URI, cmp.Or(r.Title, r.Name), more, r.Description)
	})
	if err != nil {
		return err
	}
	return list(j, j.cs.ResourceTemplates(ctx), func(t *mcp.ResourceTemplate) {
		j.entry(t.URITemplate, cmp.Or(t.Title, t.Name), " (template)", t.Description)
	})
}

func read(ctx context.Context, j *job) error {
	uri, err := j.uri(ctx)
	if err != nil {
		return err
	}
	r, err := j.reporting().ReadResource(ctx, uri)
	j.screen.progress("")
	if err != nil {
		return err
	}
	var blocks []mcp.Content
	for _, c := range r.Contents {
		blocks = append(blocks, &mcp.EmbeddedResource{Resource: c})
	}
	if err := j.save(blocks); err != nil {
		return err
	}
	if j.json {
		return j.printJSON(r)
	}
	if len(blocks) == 1 && r.Contents[0].Blob.IsZero() {
		return j.text(r.Contents[0].Text) // exactly what the resource is
	}
	return j.content(blocks...)
}

func prompts(ctx context.Context, j *job) error {
	defer j.flush("PROMPT", "", "ABOUT")
	return list(j, j.cs.Prompts(ctx), func(p *mcp.Prompt) {
		j.entry(p.Name, p.Title, "", p.Description)
		for _, a := range p.Arguments {
			j.argument(a.Name, "string", a.Description, a.Required)
		}
	})
}

func prompt(ctx context.Context, j *job) error {
	p, err := find(j, j.cs.Prompts(ctx), "prompt", j.args[0], func(p *mcp.Prompt) string { return p.Name })
	if err != nil {
		return err
	}
	args, err := promptArguments(p, j.args[1:], j.source())
	if err != nil {
		return err
	}
	r, err := j.reporting().GetPrompt(ctx, p.Name, args)
	j.screen.progress("")
	if err != nil {
		return err
	}
	var blocks []mcp.Content
	for _, m := range r.Messages {
		blocks = append(blocks, m.Content)
	}
	if err := j.save(blocks); err != nil {
		return err
	}
	if j.json {
		return j.printJSON(r)
	}
	for _, m := range r.Messages {
		j.printf("%s:", m.Role)
		if err := j.content(m.Content); err != nil {
			return err
		}
	}
	return nil
}

func complete(ctx context.Context, j *job) error {
	p := &mcp.CompleteParams{
		Ref:      mcp.CompleteReference{Type: "ref/resource", URI: j.args[0]},
		Argument: mcp.CompleteArgument{Name: j.args[1], Value: j.args[2]},
	}
	if name, ok := strings.CutPrefix(j.args[0], "prompt:"); ok {
		p.Ref = mcp.CompleteReference{Type: "ref/prompt", Name: name}
	}
	known, err := pairs(j.args[3:])
	if err != nil {
		return err
	}
	if len(known) > 0 {
		p.Context = &mcp.CompleteContext{Arguments: known}
	}
	c, err := j.cs.Complete(ctx, p)
	switch {
	case err != nil:
		return err
	case j.json:
		return j.printJSON(c)
	}
	for _, v := range c.Values {
		j.printf("%s", v)
	}
	if c.HasMore {
		j.note("there are more")
	}
	return nil
}
