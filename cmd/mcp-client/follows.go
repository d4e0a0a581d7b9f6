package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/mcp"
)

// follows lists what may follow the words of a line of a shell: what the last one may go
// on with, and what may come after it.
func (j *job) follows(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return j.shellUsage()
	}
	cmd, err := lineCommand(words[0])
	if err != nil {
		return err
	}
	list := map[string]func(context.Context, []string) error{"call": j.followTool, "bench": j.followTool, "prompt": j.followPrompt,
		"read": j.followURI, "watch": j.followURI, "complete": j.followRef, "tasks": j.followTask, "help": j.followHelp}[cmd.name]
	if list == nil {
		j.note("nothing follows " + cmd.name)
		return nil
	}
	return list(ctx, words[1:])
}

// starts lists the names that go on from the last word, which begins them.
func (j *job) starts(words []string, names ...string) error {
	begin := ""
	if len(words) > 0 {
		begin = words[0]
	}
	found := false
	for _, name := range names {
		if strings.HasPrefix(name, begin) {
			j.printf("%s", shellText([]string{name}))
			found = true
		}
	}
	if !found {
		j.note("nothing follows")
	}
	return nil
}

func (j *job) followHelp(_ context.Context, words []string) error {
	names := []string{"flags"}
	for _, c := range lineCommands() {
		names = append(names, c.name)
	}
	return j.starts(words, names...)
}

func (j *job) followTask(ctx context.Context, words []string) error {
	if len(words) == 0 || words[0] == "list" {
		return j.starts(words, "list", "watch", "result", "cancel")
	}
	tasks, err := collect(j.cs.Tasks(ctx))
	for _, t := range tasks {
		j.task(t)
	}
	return err
}

func (j *job) followTool(ctx context.Context, words []string) error {
	tools, err := collect(j.cs.Tools(ctx))
	if err != nil {
		return err
	}
	i, err := named(j, words, tools, func(t *mcp.Tool) string { return t.Name })
	if err != nil || i < 0 {
		return err
	}
	return j.followArguments(words[1:], argumentsOf(tools[i].InputSchema), func(a argumentInfo, _ string, _ map[string]string) ([]string, error) {
		return a.texts(), nil
	})
}

func (j *job) followPrompt(ctx context.Context, words []string) error {
	prompts, err := collect(j.cs.Prompts(ctx))
	if err != nil {
		return err
	}
	i, err := named(j, words, prompts, func(p *mcp.Prompt) string { return p.Name })
	if err != nil || i < 0 {
		return err
	}
	var known []argumentInfo
	for _, a := range prompts[i].Arguments {
		known = append(known, argumentInfo{name: a.Name, kind: "string", description: a.Description, required: a.Required})
	}
	ref := mcp.CompleteReference{Type: "ref/prompt", Name: prompts[i].Name}
	return j.followArguments(words[1:], known, func(a argumentInfo, begin string, others map[string]string) ([]string, error) {
		return j.suggested(ctx, ref, a.name, begin, others)
	})
}

// named finds the item that the first word names. If there is none, and the word is the
// only one, it lists the names that it begins, and returns -1.
func named[T any](j *job, words []string, items []T, nameOf func(T) string) (int, error) {
	var names []string
	for _, item := range items {
		names = append(names, nameOf(item))
	}
	if len(words) > 0 {
		full, err := shortened(words[0], names)
		for i, name := range names {
			if name == full && full != "" {
				return i, nil
			}
		}
		if len(words) > 1 {
			return -1, cmp.Or(err, usagef("there is no %q", words[0]))
		}
	}
	return -1, j.starts(words, names...)
}

// followArguments lists the values that the last word, if it is KEY=VALUE, may go on to,
// and the arguments that are not given.
func (j *job) followArguments(words []string, known []argumentInfo, values func(a argumentInfo, begin string, others map[string]string) ([]string, error)) error {
	given, begin, last := map[string]string{}, "", ""
	for i, w := range words {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case ok:
			given[strings.TrimSuffix(name, ":")] = value
			last = name
		case i == len(words)-1:
			begin, last = w, ""
		}
	}
	found := false
	for _, a := range known {
		value, ok := given[a.name]
		switch {
		case ok && a.name == last:
			others := map[string]string{}
			for name, v := range given {
				if name != a.name {
					others[name] = v
				}
			}
			list, err := values(a, value, others)
			if err != nil {
				return err
			}
			for _, v := range list {
				if strings.HasPrefix(v, value) && v != value {
					j.printf("%s", shellText([]string{a.name + "=" + v}))
					found = true
				}
			}
		case !ok && strings.HasPrefix(a.name, begin):
			kind := a.kind
			if a.required {
				kind += " required"
			}
			j.printf("%s", strings.TrimRight(fmt.Sprintf("  %s (%s) %s", a.name, kind, a.description), " "))
			found = true
		}
	}
	if !found {
		j.note("nothing follows")
	}
	return nil
}

// texts are the values that are allowed, as one types them; nil: they are not listed.
func (a allowed) texts() (list []string) {
	for _, v := range a.values {
		text := string(v)
		if kindOf(v) == "string" {
			_ = json.Unmarshal(v, &text) // it is one
		}
		list = append(list, text)
	}
	return list
}

// suggested are the values that the server suggests, if it does that.
func (j *job) suggested(ctx context.Context, ref mcp.CompleteReference, name, begin string, others map[string]string) ([]string, error) {
	if j.cs.ServerCapabilities().Completions == nil {
		return nil, nil
	}
	p := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: name, Value: begin}}
	if len(others) > 0 {
		p.Context = &mcp.CompleteContext{Arguments: others}
	}
	c, err := j.cs.Complete(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.Values, nil
}

// followRef lists what complete can be asked about.
func (j *job) followRef(ctx context.Context, words []string) error {
	var refs []string
	if j.cs.ServerCapabilities().Prompts != nil {
		prompts, err := collect(j.cs.Prompts(ctx))
		if err != nil {
			return err
		}
		for _, p := range prompts {
			if len(words) > 0 && words[0] == "prompt:"+p.Name {
				return j.followPrompt(ctx, append([]string{p.Name}, words[1:]...))
			}
			refs = append(refs, "prompt:"+p.Name)
		}
	}
	if j.cs.ServerCapabilities().Resources != nil {
		templates, err := j.templates(ctx)
		if err != nil {
			return err
		}
		for _, t := range templates {
			refs = append(refs, t.URITemplate)
		}
	}
	return j.starts(words, refs...)
}

// followURI lists the resources, and what templates make, that go on from a URI.
func (j *job) followURI(ctx context.Context, words []string) error {
	begin := ""
	if len(words) > 0 {
		begin = words[0]
	}
	listed, err := collect(j.cs.Resources(ctx))
	if err != nil {
		return err
	}
	var uris []string
	for _, r := range listed {
		uris = append(uris, r.URI)
	}
	templates, err := j.templates(ctx)
	if err != nil {
		return err
	}
	for _, t := range templates {
		more, err := j.expansions(ctx, t.URITemplate, begin)
		if err != nil {
			return err
		}
		uris = append(uris, more...)
	}
	slices.Sort(uris)
	return j.starts(words, slices.Compact(uris)...)
}

// simple is a variable of a template that stands for itself.
var simple = regexp.MustCompile(`^\{\+?([A-Za-z0-9_]+)\}`)

// expansions are what the template may become that goes on from begin, up to the variable
// that begin ends in, or the first one: the values are the server's suggestions. It is the
// template itself where nothing of a variable is typed, and nothing is known of it.
func (j *job) expansions(ctx context.Context, template, begin string) ([]string, error) {
	known, done, rest := map[string]string{}, "", template
	for {
		literal, _, _ := strings.Cut(rest, "{")
		done, rest = done+literal, rest[len(literal):]
		if !strings.HasPrefix(begin, done) && !strings.HasPrefix(done, begin) {
			return nil, nil
		}
		typed := strings.TrimPrefix(begin, done)
		if len(begin) < len(done) {
			typed = ""
		}
		var whole []string
		if typed == "" && len(known) == 0 {
			whole = []string{template}
		}
		at := simple.FindStringSubmatch(rest)
		if at == nil {
			return whole, nil
		}
		rest = rest[len(at[0]):]
		stop, _, _ := strings.Cut(rest, "{")
		if value, _, ended := strings.Cut(typed, stop); stop != "" && ended {
			known[at[1]] = value
			done += value
			continue
		}
		values, err := j.suggested(ctx, mcp.CompleteReference{Type: "ref/resource", URI: template}, at[1], typed, known)
		if len(values) == 0 || err != nil {
			return whole, err
		}
		var uris []string
		for _, v := range values {
			uris = append(uris, done+v+stop)
		}
		return uris, nil
	}
}
