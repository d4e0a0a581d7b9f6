package mcp_test

import (
	"context"
	"errors"
	"fmt"

	"example.com/mcp"
)

// Text for the model: what a typed handler returns as a string, or one of many blocks.
func ExampleTextContent() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "poem"}, func(context.Context, *mcp.Request, struct{}) ([]mcp.Content, error) {
		return []mcp.Content{
			&mcp.TextContent{Text: "The fog comes"},
			&mcp.TextContent{Text: "on little cat feet.", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}},
		}, nil
	})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.CallTool(context.Background(), "poem", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, block := range result.Content {
		text := block.(*mcp.TextContent)
		fmt.Println(text.Text, text.Annotations)
	}
	fmt.Printf("%q\n", result.Text()) // all of it
	// Output:
	// The fog comes <nil>
	// on little cat feet. &{[user] <nil>  map[]}
	// "The fog comes\non little cat feet."
}

// A picture travels as base64 text with its type.
func ExampleImageContent() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "plot"}, func(context.Context, *mcp.Request, struct{}) (*mcp.ImageContent, error) {
		return &mcp.ImageContent{Data: mcp.EncodeBase64([]byte("\x89PNG")), MIMEType: "image/png"}, nil
	})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.CallTool(context.Background(), "plot", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	image := result.Content[0].(*mcp.ImageContent)
	data, err := image.Data.Bytes()
	fmt.Printf("%s %q %v\n", image.MIMEType, data, err)
	// Output: image/png "\x89PNG" <nil>
}

// Clients that speak a revision without audio get a text that tells of it.
func ExampleAudioContent() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "say"}, func(context.Context, *mcp.Request, struct{}) (*mcp.AudioContent, error) {
		return &mcp.AudioContent{Data: mcp.EncodeBase64([]byte("RIFF")), MIMEType: "audio/wav"}, nil
	})

	for _, revision := range []string{mcp.Revision20260728, mcp.Revision20241105} {
		session := connect(server, &mcp.ClientOptions{Revisions: []string{revision}})
		result, err := session.CallTool(context.Background(), "say", nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		switch block := result.Content[0].(type) {
		case *mcp.AudioContent:
			fmt.Println(block.MIMEType, block.Data)
		case *mcp.TextContent:
			fmt.Println(block.Text)
		}
		session.Close()
	}
	// Output:
	// audio/wav UklGRg==
	// [audio, audio/wav, 4 bytes]
}

// A resource in a result: with its contents, or only where it is.
func ExampleEmbeddedResource() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "find"}, func(context.Context, *mcp.Request, struct{}) ([]mcp.Content, error) {
		return []mcp.Content{
			&mcp.EmbeddedResource{Resource: mcp.TextContents("file:///todo.txt", "text/plain", "Water the plants")},
			&mcp.ResourceLink{URI: "file:///done.txt", Name: "done"},
		}, nil
	})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.CallTool(context.Background(), "find", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	embedded, link := result.Content[0].(*mcp.EmbeddedResource), result.Content[1].(*mcp.ResourceLink)
	fmt.Println(embedded.Resource.URI, embedded.Resource.Text)
	fmt.Println(link.URI)
	// Output:
	// file:///todo.txt Water the plants
	// file:///done.txt
}

// An error of the handler is for the model: a result with IsError, which it can react to.
// An *Error is for the client: the call fails with its code.
func ExampleAddTool_error() {
	type input struct {
		City string `json:"city"`
	}
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, func(_ context.Context, _ *mcp.Request, in input) (string, error) {
		if in.City == "Atlantis" {
			return "", errors.New("no such city; is it spelled right?")
		}
		return "", mcp.Errorf(1000, "the weather service is down")
	})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.CallTool(context.Background(), "weather", input{"Atlantis"})
	fmt.Println(result.IsError, result.Text(), err)

	_, err = session.CallTool(context.Background(), "weather", input{"Paris"})
	var refused *mcp.Error
	fmt.Println(errors.As(err, &refused), refused.Code, refused.Message)
	// Output:
	// true no such city; is it spelled right? <nil>
	// true 1000 the weather service is down
}

// The raw form of a tool, with a schema of one's own.
func ExampleServer_AddTool() {
	server := newServer(nil)
	server.AddTool(&mcp.Tool{
		Name:        "echo",
		InputSchema: []byte(`{"type":"object","properties":{"times":{"type":"integer","minimum":1}},"required":["times"]}`),
	}, func(ctx context.Context, r *mcp.Request, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(p.Arguments)}}}, nil
	})

	session := connect(server, nil)
	defer session.Close()
	for _, times := range []int{2, 0} {
		result, err := session.CallTool(context.Background(), "echo", map[string]any{"times": times})
		fmt.Println(result.Text(), err)
	}
	// Output:
	// {"times":2} <nil>
	// invalid arguments for tool "echo": /times: want at least 1, got 0 <nil>
}

// Clients hear that the list of tools has changed, and list them again.
func ExampleServer_RemoveTools() {
	server := greeter(nil)
	changed := make(chan struct{})
	session := connect(server, &mcp.ClientOptions{
		ToolsChanged: func(context.Context, *mcp.ClientSession) { changed <- struct{}{} },
	})
	defer session.Close()

	server.RemoveTools("wave")
	<-changed
	for tool, err := range session.Tools(context.Background()) {
		fmt.Println(tool.Name, err)
	}
	// Output: greet <nil>
}
