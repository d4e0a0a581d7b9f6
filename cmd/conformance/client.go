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

// scenarios are what the client does once it is connected, by the suite's names.
func scenarios() map[string]func(context.Context, *mcp.ClientSession) error {
	return map[string]func(context.Context, *mcp.ClientSession) error{
		"initialize":                          func(context.Context, *mcp.ClientSession) error { return nil },
		"tools_call":                          addNumbers,
		"elicitation-sep1034-client-defaults": callListed("test_client_elicitation_defaults"),
		"sse-retry":                           callListed("test_reconnection"),
		"json-schema-2020-12-preservation":    echoSchema,
	}
}

// act acts out a scenario against a server, and speaks no revision newer than newest.
// data is what the suite gives to the scenario.
func act(ctx context.Context, scenario, newest, data string, t mcp.Transport) error {
	play, ok := scenarios()[scenario]
	if strings.HasPrefix(scenario, "auth/") {
		authorized, err := authorize(scenario, data)
		if err != nil {
			return err
		}
		if h, overHTTP := t.(*mcp.HTTPTransport); overHTTP {
			h.Client = &http.Client{Transport: authorized}
			play, ok = useServer, true
		}
	}
	if !ok {
		return fmt.Errorf("unknown scenario %q in MCP_CONFORMANCE_SCENARIO", scenario)
	}
	o := &mcp.ClientOptions{
		// The form is accepted as it is: with its defaults.
		Elicit: func(context.Context, *mcp.ClientSession, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	}
	if newest != "" {
		o.Revisions = slices.DeleteFunc(mcp.Revisions(), func(r string) bool { return r > newest })
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "conformance-client", Version: "1.0.0"}, o).Connect(ctx, t)
	if err != nil {
		return err
	}
	if err := play(ctx, cs); err != nil {
		_ = cs.Close()
		return fmt.Errorf("%s: %w", scenario, err)
	}
	return cs.Close()
}

func addNumbers(ctx context.Context, cs *mcp.ClientSession) error {
	if _, err := find(ctx, cs, "add_numbers"); err != nil {
		return err
	}
	return call(ctx, cs, "add_numbers", map[string]int{"a": 2, "b": 3})
}

// callListed calls a tool without arguments once it was seen in the list.
func callListed(name string) func(context.Context, *mcp.ClientSession) error {
	return func(ctx context.Context, cs *mcp.ClientSession) error {
		if _, err := find(ctx, cs, name); err != nil {
			return err
		}
		return call(ctx, cs, name, struct{}{})
	}
}

// echoSchema sends a schema back as it came.
func echoSchema(ctx context.Context, cs *mcp.ClientSession) error {
	t, err := find(ctx, cs, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	return call(ctx, cs, "json_schema_echo", map[string]json.RawMessage{"schema": t.InputSchema})
}

func find(ctx context.Context, cs *mcp.ClientSession, name string) (*mcp.Tool, error) {
	for t, err := range cs.Tools(ctx) {
		if err != nil {
			return nil, err
		}
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
