package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"example.com/mcp"
)

const watched = "test://watched-resource"

func addResources(s *mcp.Server) (err error) {
	resource := func(name, title, mimeType string, c *mcp.ResourceContents) {
		if err == nil {
			err = s.AddResource(&mcp.Resource{URI: c.URI, Name: name, Title: title, Description: "A fixture", MIMEType: mimeType},
				func(context.Context, *mcp.Request, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
				})
		}
	}
	resource("static-text", "Static Text Resource", "text/plain",
		mcp.TextContents("test://static-text", "text/plain", "This is the content of the static text resource."))
	resource("static-binary", "Static Binary Resource", "image/png",
		mcp.BlobContents("test://static-binary", "image/png", sample(png)))
	resource("watched-resource", "Watched Resource", "text/plain",
		mcp.TextContents(watched, "text/plain", "This resource can be watched."))
	if err != nil {
		return err
	}
	return s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "test://template/{id}/data", Name: "template", Title: "Resource Template",
		Description: "A fixture with a variable", MIMEType: "application/json",
	}, readTemplate)
}

func readTemplate(_ context.Context, r *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	id := r.Variables["id"]
	body, err := json.Marshal(struct {
		ID   string `json:"id"`
		Test bool   `json:"templateTest"`
		Data string `json:"data"`
	}{id, true, "Data for ID: " + id})
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.TextContents(p.URI, "application/json", string(body))}}, nil
}

// subscribe lets clients follow the one resource that is there to be watched. It
// never changes.
func subscribe(_ context.Context, _ *mcp.Request, uri string) error {
	if uri != watched {
		return mcp.ResourceNotFound(uri)
	}
	return nil
}

func addPrompts(s *mcp.Server) (err error) {
	prompt := func(name, description string, args []string, messages func(map[string]string) []mcp.Content) {
		p := &mcp.Prompt{Name: name, Description: description}
		for _, a := range args {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "A fixture", Required: true})
		}
		if err == nil {
			err = s.AddPrompt(p, func(_ context.Context, _ *mcp.Request, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				result := &mcp.GetPromptResult{Description: description}
				for _, c := range messages(p.Arguments) {
					result.Messages = append(result.Messages, &mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
				}
				return result, nil
			})
		}
	}
	prompt("test_simple_prompt", "One fixed message", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
	prompt("test_prompt_with_arguments", "Puts two arguments into a message", []string{"arg1", "arg2"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	})
	prompt("test_prompt_with_embedded_resource", "Embeds a resource", []string{"resourceUri"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing."),
			text("Please process the embedded resource above.")}
	})
	prompt("test_prompt_with_image", "A picture and text", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{picture(), text("Please analyze the image above.")}
	})
	return err
}

// complete suggests values for the arguments of test_prompt_with_arguments.
func complete(_ context.Context, _ *mcp.Request, p *mcp.CompleteParams) (*mcp.Completion, error) {
	c := &mcp.Completion{}
	if p.Ref.Name != "test_prompt_with_arguments" {
		return c, nil
	}
	for _, v := range []string{"testValue1", "testValue2"} {
		if strings.HasPrefix(v, p.Argument.Value) {
			c.Values = append(c.Values, v)
		}
	}
	return c, nil
}
