package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/mcp"
)

// The client chooses how much it wants to hear. What no request caused, the server logs
// itself.
func ExampleClientSession_SetLoggingLevel() {
	ctx := context.Background()
	server := newServer(nil)
	messages := make(chan string)
	session := connect(server, &mcp.ClientOptions{
		Revisions: []string{mcp.Revision20251125}, // later ones log only while a request runs
		LoggingMessage: func(_ context.Context, _ *mcp.ClientSession, p *mcp.LoggingMessageParams) {
			messages <- fmt.Sprint(p.Level, " ", p.Logger, " ", string(p.Data))
		},
	})
	defer session.Close()

	fmt.Println(session.SetLoggingLevel(ctx, mcp.LevelError))
	server.Log(mcp.LevelWarning, "disk", "nearly full") // which is less than an error
	server.Log(mcp.LevelCritical, "disk", "full")
	fmt.Println(<-messages)
	// Output:
	// <nil>
	// critical disk "full"
}

// Values for a variable of a resource template, which depend on those of another one.
func ExampleClientSession_Complete_resource() {
	streets := map[string][]string{"Rome": {"Via Appia", "Via Sacra"}, "Paris": {"Rue de Rivoli"}}
	server := newServer(&mcp.ServerOptions{
		Complete: func(_ context.Context, _ *mcp.Request, p *mcp.CompleteParams) (*mcp.Completion, error) {
			var c mcp.Completion
			for _, street := range streets[p.Context.Arguments["city"]] {
				if strings.HasPrefix(street, p.Argument.Value) {
					c.Values = append(c.Values, street)
				}
			}
			return &c, nil
		},
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "map://{city}/{street}", Name: "map"},
		func(context.Context, *mcp.Request, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	c, err := session.Complete(context.Background(), &mcp.CompleteParams{
		Ref:      mcp.CompleteReference{Type: "ref/resource", URI: "map://{city}/{street}"},
		Argument: mcp.CompleteArgument{Name: "street", Value: "Via"},
		Context:  &mcp.CompleteContext{Arguments: map[string]string{"city": "Rome"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Values)
	// Output: [Via Appia Via Sacra]
}

// Whether the other side is there. ServerOptions.KeepAlive and ClientOptions.KeepAlive
// ask by themselves.
func ExampleClientSession_Ping() {
	session := connect(newServer(nil), nil)
	fmt.Println(session.Ping(context.Background()))
	session.Close()
	fmt.Println(errors.Is(session.Ping(context.Background()), mcp.ErrClosed))
	// Output:
	// <nil>
	// true
}

// The handler's context ends when the client gives up its call.
func ExampleCancelledError() {
	began, ended := make(chan bool), make(chan error)
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "dig"}, func(ctx context.Context, _ *mcp.Request, _ struct{}) (string, error) {
		began <- true
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", ctx.Err() // which nobody waits for
	})

	session := connect(server, nil)
	defer session.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() { <-began; cancel(errors.New("it is late")) }()
	_, err := session.CallTool(ctx, "dig", nil)
	fmt.Println(err)

	var cancelled *mcp.CancelledError
	fmt.Println(errors.As(<-ended, &cancelled), cancelled.Reason)
	// Output:
	// mcp: tools/call: context canceled: it is late
	// true mcp: tools/call: context canceled: it is late
}

// Lists come in pages. ClientSession.Tools goes through all of them.
func ExampleClientSession_ListTools() {
	session := connect(greeter(&mcp.ServerOptions{PageSize: 1}), nil)
	defer session.Close()
	for cursor := (*string)(nil); ; {
		page, err := session.ListTools(context.Background(), cursor)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(page.Tools), page.Tools[0].Name)
		if cursor = page.NextCursor; cursor == nil {
			break
		}
	}
	// Output:
	// 1 greet
	// 1 wave
}

// What each side offers follows from what it has: tools that are registered, functions
// that are set. The other side knows before it asks.
func ExampleClientCapabilities() {
	server := greeter(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		return fmt.Sprint("elicitation ", r.Capabilities.Elicitation != nil, ", sampling ", r.Capabilities.Sampling != nil), nil
	})

	session := connect(server, &mcp.ClientOptions{
		Elicit: func(context.Context, *mcp.ClientSession, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	defer session.Close()
	offered := session.ServerCapabilities()
	fmt.Println("tools", offered.Tools != nil, "prompts", offered.Prompts != nil, "completion", offered.Completions != nil)
	_, err := session.Complete(context.Background(), &mcp.CompleteParams{})
	fmt.Println(errors.Is(err, mcp.ErrNotOffered))

	result, err := session.CallTool(context.Background(), "ask", nil)
	fmt.Println(result.Text(), err)
	// Output:
	// tools true prompts true completion false
	// true
	// elicitation true, sampling false <nil>
}

// Both sides speak the newest revision that they have in common. Either may be
// restricted.
func ExampleClientSession_Revision() {
	fmt.Println(mcp.Revisions())
	for _, revisions := range [][]string{nil, {mcp.Revision20250618, mcp.Revision20250326}, {mcp.Revision20241105}} {
		session := connect(greeter(&mcp.ServerOptions{Revisions: revisions}), nil)
		fmt.Println(session.Revision())
		session.Close()
	}

	clientSide, serverSide := mcp.Pipe()
	go greeter(&mcp.ServerOptions{Revisions: []string{mcp.Revision20241105}}).Run(context.Background(), serverSide)
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, &mcp.ClientOptions{Revisions: []string{mcp.Revision20251125}})
	_, err := client.Connect(context.Background(), &mcp.ConnTransport{Conn: clientSide})
	fmt.Println(err)
	// Output:
	// [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]
	// 2026-07-28
	// 2025-06-18
	// 2024-11-05
	// mcp: the server speaks revision "2024-11-05", this client [2025-11-25]
}

// Schemas are of JSON Schema 2020-12, with references, conditions and the rest. A
// compiled one checks any JSON text.
func ExampleCompileSchema() {
	schema, err := mcp.CompileSchema([]byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"properties": {"shape": {"enum": ["circle", "box"]}, "sizes": {"$ref": "#/$defs/sizes"}},
		"if": {"properties": {"shape": {"const": "box"}}},
		"then": {"properties": {"sizes": {"minItems": 2}}},
		"unevaluatedProperties": false,
		"$defs": {"sizes": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "number"}}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, value := range []string{
		`{"shape": "circle", "sizes": [3]}`,
		`{"shape": "box", "sizes": [3]}`,
		`{"shape": "box", "sizes": [3.5, 4], "color": "red"}`,
	} {
		fmt.Println(schema.Validate([]byte(value)))
	}
	_, err = mcp.CompileSchema([]byte(`{"type": "objekt"}`))
	fmt.Println(err)
	// Output:
	// <nil>
	// /sizes: want at least 2 elements, got 1 (minItems)
	// /sizes/0: want integer, got 3.5; /color: not allowed
	// invalid schema: /type: want one of ["array","boolean","integer","null","number","object","string"], got "objekt"
}

// A call that takes long goes on as a task: the caller looks at it when it likes, or
// waits for its result. In the session era a tool is listed before, so that the client
// knows that it may be one.
func ExampleClientSession_StartTool() {
	ctx := context.Background()
	server := newServer(nil)
	finish := make(chan bool)
	mcp.AddTool(server, &mcp.Tool{Name: "bake", Execution: &mcp.ToolExecution{TaskSupport: "optional"}},
		func(context.Context, *mcp.Request, struct{}) (string, error) {
			<-finish
			return "a cake", nil
		})

	session := connect(server, nil)
	defer session.Close()
	task, _, err := session.StartTool(ctx, "bake", nil, time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := task.Get(ctx)
	fmt.Println(state.Status, err)
	close(finish)
	result, err := session.Task(task.ID).Result(ctx)
	fmt.Println(result.Text(), err)
	// Output:
	// working <nil>
	// a cake <nil>
}

// A handler asks first, while its caller waits, and then goes on as a task.
func ExampleRequest_Detach() {
	server := newServer(nil)
	tool := &mcp.Tool{Name: "bake", Execution: &mcp.ToolExecution{TaskSupport: "optional"}, LateTask: true}
	mcp.AddTool(server, tool, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answer, err := r.Elicit(ctx, mcp.Confirm("Is the oven hot?"))
		if err != nil || !answer.Accepted() {
			return "no cake", err
		}
		if _, err := r.Detach(ctx); err != nil {
			return "", err
		}
		return "a cake", nil // some time later
	})

	session := connect(server, &mcp.ClientOptions{
		Elicit: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(p.Message)
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage("{}")}, nil
		},
	})
	defer session.Close()
	task, _, err := session.StartTool(context.Background(), "bake", nil, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := task.Result(context.Background())
	fmt.Println(result.Text(), err)
	// Output:
	// Is the oven hot?
	// a cake <nil>
}
