package mcp_test

import (
	"context"
	"fmt"

	"example.com/mcp"
)

// Listing the prompts that a person can choose from, and what they want to know.
func ExampleClientSession_Prompts() {
	session := connect(greeter(nil), nil)
	defer session.Close()
	for prompt, err := range session.Prompts(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(prompt.Name, prompt.Arguments[0].Name, prompt.Arguments[0].Required)
	}
	// Output: letter language false
}

// A prompt without arguments.
func ExampleClientSession_GetPrompt() {
	server := newServer(nil)
	server.AddPrompt(&mcp.Prompt{Name: "standup", Description: "What to say in the morning"},
		func(context.Context, *mcp.Request, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "What did I do yesterday?"}},
			}}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.GetPrompt(context.Background(), "standup", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range result.Messages {
		fmt.Println(m.Role, m.Content.(*mcp.TextContent).Text)
	}
	// Output: user What did I do yesterday?
}

// A prompt brings the file that it is about.
func ExampleServer_AddPrompt_embeddedResource() {
	server := newServer(nil)
	server.AddPrompt(&mcp.Prompt{Name: "explain"},
		func(context.Context, *mcp.Request, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			file := mcp.TextContents("file:///main.go", "text/x-go", "package main")
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "Explain this."}},
				{Role: mcp.RoleUser, Content: &mcp.EmbeddedResource{Resource: file}},
			}}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.GetPrompt(context.Background(), "explain", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	file := result.Messages[1].Content.(*mcp.EmbeddedResource).Resource
	fmt.Println(file.URI, file.MIMEType, file.Text)
	// Output: file:///main.go text/x-go package main
}

// A prompt shows the model a picture.
func ExampleServer_AddPrompt_image() {
	server := newServer(nil)
	server.AddPrompt(&mcp.Prompt{Name: "describe"},
		func(context.Context, *mcp.Request, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			picture := &mcp.ImageContent{Data: mcp.EncodeBase64([]byte("\x89PNG")), MIMEType: "image/png"}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: picture}}}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.GetPrompt(context.Background(), "describe", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	picture := result.Messages[0].Content.(*mcp.ImageContent)
	fmt.Println(picture.MIMEType, picture.Data)
	// Output: image/png iVBORw==
}

// Clients hear that the list of prompts has changed, and list them again.
func ExampleServer_RemovePrompts() {
	server := greeter(nil)
	changed := make(chan struct{})
	session := connect(server, &mcp.ClientOptions{
		PromptsChanged: func(context.Context, *mcp.ClientSession) { changed <- struct{}{} },
	})
	defer session.Close()

	server.RemovePrompts("letter")
	<-changed
	page, err := session.ListPrompts(context.Background(), nil)
	fmt.Println(len(page.Prompts), err)
	// Output: 0 <nil>
}
