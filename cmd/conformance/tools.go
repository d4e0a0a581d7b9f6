package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"example.com/mcp"
)

// Sample data: a picture of one pixel, and a sound of no length.
const (
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// between is the pause between notifications of one tool, which shows that they are
// sent when they are made.
const between = 50 * time.Millisecond

// none is the arguments of a tool without any.
type none struct{}

// tool registers a tool unless there was an error before.
func tool[In, Out any](s *mcp.Server, err *error, name, description string, h func(context.Context, *mcp.Request, In) (Out, error)) {
	if *err == nil {
		*err = mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, h)
	}
}

// constant registers a tool that always returns the same.
func constant(s *mcp.Server, err *error, name, description string, content ...mcp.Content) {
	tool(s, err, name, description, func(context.Context, *mcp.Request, none) ([]mcp.Content, error) { return content, nil })
}

// addTools registers the tools that speak to nobody but their caller.
func addTools(s *mcp.Server) (err error) {
	constant(s, &err, "test_simple_text", "Returns one fixed text block", text("This is a simple text response for testing."))
	constant(s, &err, "test_image_content", "Returns one PNG image block", picture())
	constant(s, &err, "test_audio_content", "Returns one WAV audio block", &mcp.AudioContent{Data: mcp.EncodeBase64(sample(wav)), MIMEType: "audio/wav"})
	constant(s, &err, "test_embedded_resource", "Returns one embedded text resource",
		embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))
	constant(s, &err, "test_multiple_content_types", "Returns text, an image and a resource in one result",
		text("Multiple content types test:"), picture(),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))
	tool(s, &err, "test_error_handling", "Always fails", func(context.Context, *mcp.Request, none) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("This tool intentionally returns an error for testing")}}, nil
	})
	tool(s, &err, "test_tool_with_progress", "Reports progress in three steps", stepwise)
	tool(s, &err, "test_tool_with_logging", "Logs three messages while it runs", loquacious)
	tool(s, &err, "test_reconnection", "Lets go of its stream before it answers", reconnection)
	addWithSchema(s, &err, "json_schema_2020_12_tool", "Has a rich input schema", richSchema, func(context.Context, *mcp.Request, map[string]any) (string, error) {
		return "The arguments fit the schema.", nil
	})
	addWithSchema(s, &err, "test_x_mcp_header", "Has a parameter that is mirrored into a header", mirroredSchema,
		func(_ context.Context, _ *mcp.Request, in struct {
			Region string `json:"region"`
		}) (string, error) {
			return "Region: " + in.Region, nil
		})
	return err
}

// addWithSchema registers a tool with a schema that no Go type gives.
func addWithSchema[In any](s *mcp.Server, err *error, name, description, schema string, h func(context.Context, *mcp.Request, In) (string, error)) {
	if *err == nil {
		*err = mcp.AddTool(s, &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}, h)
	}
}

const mirroredSchema = `{"type":"object","properties":{"region":{"type":"string","description":"Mirrored into Mcp-Param-Region","x-mcp-header":"Region"}},"required":["region"]}`

const richSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
    }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [ { "anyOf": [ { "required": ["phone"] }, { "required": ["email"] } ] } ],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`

func stepwise(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	for _, done := range []float64{0, 50, 100} {
		if err := r.Progress(ctx, done, 100, ""); err != nil {
			return "", err
		}
		if err := wait(ctx, between); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Progress token: %v", r.Meta["progressToken"]), nil
}

func loquacious(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if err := r.Log(ctx, mcp.LevelInfo, "", line); err != nil {
			return "", err
		}
		if err := wait(ctx, between); err != nil {
			return "", err
		}
	}
	return "Three messages were logged.", nil
}

// reconnection lets the client come back for its answer, where that is possible.
func reconnection(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	if err := r.Pause(2 * between); err != nil {
		return "", err
	}
	if err := wait(ctx, 2*between); err != nil {
		return "", err
	}
	return "The answer came after the stream was let go.", nil
}

// wait waits for d, or until ctx ends, whose cause it returns then.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sample is the bytes of one of the samples.
func sample(encoded string) []byte {
	data, _ := base64.StdEncoding.DecodeString(encoded)
	return data
}

func text(s string) mcp.Content { return &mcp.TextContent{Text: s} }

func picture() mcp.Content {
	return &mcp.ImageContent{Data: mcp.EncodeBase64(sample(png)), MIMEType: "image/png"}
}

func embedded(uri, mimeType, s string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: mcp.TextContents(uri, mimeType, s)}
}
