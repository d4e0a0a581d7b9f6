package mcp_test

import (
	"context"
	"fmt"

	"example.com/mcp"
)

// Listing what a server offers to read.
func ExampleClientSession_Resources() {
	session := connect(greeter(nil), nil)
	defer session.Close()
	for resource, err := range session.Resources(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resource.URI, resource.Name)
	}
	// Output: greeting:count count
}

// A resource that is text. Its type comes with the contents.
func ExampleTextContents() {
	server := newServer(nil)
	server.AddResource(&mcp.Resource{URI: "file:///readme.md", Name: "readme", MIMEType: "text/markdown"},
		func(_ context.Context, _ *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.TextContents(p.URI, "", "# Read me")}}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.ReadResource(context.Background(), "file:///readme.md")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Contents[0].MIMEType, result.Contents[0].Text)
	// Output: text/markdown # Read me
}

// A resource that is bytes. Blob tells it from text, which may be empty.
func ExampleBlobContents() {
	server := newServer(nil)
	server.AddResource(&mcp.Resource{URI: "file:///logo.gif", Name: "logo"},
		func(_ context.Context, _ *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.BlobContents(p.URI, "image/gif", []byte("GIF89a"))}}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.ReadResource(context.Background(), "file:///logo.gif")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range result.Contents {
		if c.Blob.IsZero() {
			fmt.Println("text:", c.Text)
			continue
		}
		data, err := c.Blob.Bytes()
		fmt.Printf("%s: %q %v\n", c.MIMEType, data, err)
	}
	// Output: image/gif: "GIF89a" <nil>
}

// Templates stand for resources that are not listed. A client fills them in.
func ExampleClientSession_ResourceTemplates() {
	server := newServer(nil)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "weather://{city}/{day}", Name: "forecast"},
		func(_ context.Context, r *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			text := "Rain in " + r.Variables["city"]
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.TextContents(p.URI, "", text)}}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	for template, err := range session.ResourceTemplates(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		uri, err := mcp.ExpandURITemplate(template.URITemplate, map[string]string{"city": "San José", "day": "today"})
		fmt.Println(uri, err)
		result, err := session.ReadResource(context.Background(), uri)
		fmt.Println(result.Contents[0].Text, err)
	}
	// Output:
	// weather://San%20Jos%C3%A9/today <nil>
	// Rain in San José <nil>
}

// Who no longer wants to know says so. The server hears when it need not look any more.
func ExampleClientSession_Unsubscribe() {
	ctx := context.Background()
	gone := make(chan string, 1)
	server := greeter(&mcp.ServerOptions{
		Subscribe:    func(context.Context, *mcp.Request, string) error { return nil },
		Unsubscribed: func(uri string) { gone <- uri },
	})
	session := connect(server, &mcp.ClientOptions{
		ResourceUpdated: func(context.Context, *mcp.ClientSession, *mcp.ResourceUpdatedParams) { fmt.Println("updated") },
	})
	defer session.Close()

	fmt.Println(session.Subscribe(ctx, "greeting:count"))
	fmt.Println(session.Unsubscribe(ctx, "greeting:count"))
	fmt.Println("nobody follows", <-gone)
	server.ResourceUpdated("greeting:count") // which nobody hears
	// Output:
	// <nil>
	// <nil>
	// nobody follows greeting:count
}

// Clients hear that the list of resources has changed, and list them again.
func ExampleServer_RemoveResources() {
	server := greeter(nil)
	changed := make(chan struct{})
	session := connect(server, &mcp.ClientOptions{
		ResourcesChanged: func(context.Context, *mcp.ClientSession) { changed <- struct{}{} },
	})
	defer session.Close()

	server.RemoveResources("greeting:count")
	<-changed
	page, err := session.ListResources(context.Background(), nil)
	fmt.Println(len(page.Resources), err)
	// Output: 0 <nil>
}
