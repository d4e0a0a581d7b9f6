package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/mcp"
)

// A part is what the client is given to act out.
type part struct {
	scenario string
	context  string // JSON text, where the scenario has any
}

// scenarios are what the client does once it is connected, by the suite's names.
func (p *part) scenarios() map[string]func(context.Context, *mcp.ClientSession) error {
	return map[string]func(context.Context, *mcp.ClientSession) error{
		"initialize":                          func(context.Context, *mcp.ClientSession) error { return nil },
		"tools_call":                          addNumbers,
		"elicitation-sep1034-client-defaults": callListed("test_client_elicitation_defaults"),
		"sse-retry":                           callListed("test_reconnection"),
		"json-schema-2020-12-preservation":    echoSchema,
		"json-schema-ref-no-deref":            onlyList,
		"request-metadata":                    onlyList,
		"sep-2322-client-request-state":       callListed("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type"),
		"http-standard-headers":               everyKind,
		"http-custom-headers":                 p.callAsGiven,
		"http-invalid-tool-headers":           callAll,
	}
}

// act acts the part out against a server, and speaks no revision newer than newest.
func (p *part) act(ctx context.Context, newest string, t mcp.Transport) error {
	play, ok := p.scenarios()[p.scenario]
	if strings.HasPrefix(p.scenario, "auth/") {
		authorized, err := authorize(p.scenario, p.context)
		if err != nil {
			return err
		}
		if h, overHTTP := t.(*mcp.HTTPTransport); overHTTP {
			h.Client = &http.Client{Transport: authorized}
			play, ok = useServer, true
		}
	}
	if !ok {
		return fmt.Errorf("unknown scenario %q in MCP_CONFORMANCE_SCENARIO", p.scenario)
	}
	o := &mcp.ClientOptions{Elicit: p.fillIn}
	if newest != "" {
		o.Revisions = slices.DeleteFunc(mcp.Revisions(), func(r string) bool { return r > newest })
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "conformance-client", Version: "1.0.0"}, o).Connect(ctx, t)
	if err != nil {
		return err
	}
	if err := play(ctx, cs); err != nil {
		_ = cs.Close()
		return fmt.Errorf("%s: %w", p.scenario, err)
	}
	return cs.Close()
}

// fillIn accepts a form with its defaults, and says yes where there is none.
func (p *part) fillIn(ctx context.Context, cs *mcp.ClientSession, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.scenario == "sep-2322-client-request-state" { // a call between the rounds of another
		if err := call(ctx, cs, "test_mrtr_unrelated", struct{}{}); err != nil {
			return nil, err
		}
	}
	yes := map[string]bool{}
	for _, f := range q.RequestedSchema.Properties {
		if f.Schema.Type == "boolean" && f.Schema.Default == nil {
			yes[f.Name] = true
		}
	}
	content, err := json.Marshal(yes)
	return &mcp.ElicitResult{Action: "accept", Content: content}, err
}

func addNumbers(ctx context.Context, cs *mcp.ClientSession) error {
	if _, err := find(ctx, cs, "add_numbers"); err != nil {
		return err
	}
	return call(ctx, cs, "add_numbers", map[string]int{"a": 2, "b": 3})
}

// onlyList lists the tools, also of a server that does not say that it has any.
func onlyList(ctx context.Context, cs *mcp.ClientSession) error {
	_, err := tools(ctx, cs.With(mcp.CallOptions{Force: true}))
	return err
}

// callListed calls tools without arguments once they were seen in the list.
func callListed(names ...string) func(context.Context, *mcp.ClientSession) error {
	return func(ctx context.Context, cs *mcp.ClientSession) error {
		for _, name := range names {
			if _, err := find(ctx, cs, name); err != nil {
				return err
			}
			if err := call(ctx, cs, name, struct{}{}); err != nil {
				return err
			}
		}
		return nil
	}
}

// callAll calls whatever is listed, with arguments of the right types.
func callAll(ctx context.Context, cs *mcp.ClientSession) error {
	list, err := tools(ctx, cs)
	if err != nil {
		return err
	}
	made := map[string]any{"string": "text", "integer": 1, "number": 1.5, "boolean": true, "array": []any{}, "object": struct{}{}}
	for _, t := range list {
		var schema struct {
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		args := map[string]any{}
		for name, p := range schema.Properties {
			args[name] = made[p.Type]
		}
		if err := call(ctx, cs, t.Name, args); err != nil {
			return err
		}
	}
	return nil
}

// callAsGiven makes the calls of the scenario's context.
func (p *part) callAsGiven(ctx context.Context, cs *mcp.ClientSession) error {
	var given struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(p.context), &given); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if err := onlyList(ctx, cs); err != nil { // which tells what belongs into headers
		return err
	}
	for _, c := range given.ToolCalls {
		if err := call(ctx, cs, c.Name, c.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// everyKind makes a request of each kind that has headers of its own.
func everyKind(ctx context.Context, cs *mcp.ClientSession) error {
	if err := callListed("test_headers", "my-hyphenated-tool")(ctx, cs); err != nil {
		return err
	}
	if _, err := cs.ListResources(ctx, nil); err != nil {
		return err
	}
	for _, uri := range []string{"file:///path/to/file%20name.txt", "https://example.com/resource?id=123"} {
		if _, err := cs.ReadResource(ctx, uri); err != nil {
			return err
		}
	}
	if _, err := cs.ListPrompts(ctx, nil); err != nil {
		return err
	}
	_, err := cs.GetPrompt(ctx, "test_prompt", nil)
	return err
}

// echoSchema sends a schema back as it came.
func echoSchema(ctx context.Context, cs *mcp.ClientSession) error {
	t, err := find(ctx, cs, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	return call(ctx, cs, "json_schema_echo", map[string]json.RawMessage{"schema": t.InputSchema})
}

func tools(ctx context.Context, cs *mcp.ClientSession) (list []*mcp.Tool, err error) {
	for t, err := range cs.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func find(ctx context.Context, cs *mcp.ClientSession, name string) (*mcp.Tool, error) {
	list, err := tools(ctx, cs)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("the server lists no tool %q", name)
}

func call(ctx context.Context, cs *mcp.ClientSession, name string, args any) error {
	result, err := cs.CallTool(ctx, name, args)
	if err == nil && result.IsError {
		err = errors.New(result.Text())
	}
	if err != nil {
		return fmt.Errorf("calling %s: %w", name, err)
	}
	return nil
}
