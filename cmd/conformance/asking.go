package main

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/mcp"
)

// addAskingTools registers the tools that ask something of the client.
func addAskingTools(s *mcp.Server) (err error) {
	tool(s, &err, "test_sampling", "Asks the client's model", askModel)
	tool(s, &err, "test_elicitation", "Asks the person by form", func(ctx context.Context, r *mcp.Request, in struct {
		Message string `json:"message" jsonschema:"The message to show the user"`
	}) (string, error) {
		return askForm(ctx, r, "User response", in.Message, userForm)
	})
	tool(s, &err, "test_elicitation_sep1034_defaults", "Asks by a form with default values", func(ctx context.Context, r *mcp.Request, _ none) (string, error) {
		return askForm(ctx, r, "Elicitation completed", "Please check these values", defaultsForm)
	})
	tool(s, &err, "test_elicitation_sep1330_enums", "Asks by a form with all kinds of choices", func(ctx context.Context, r *mcp.Request, _ none) (string, error) {
		return askForm(ctx, r, "Elicitation completed", "Please choose", choicesForm)
	})
	tool(s, &err, "test_visit", "Asks the person to visit a page", func(ctx context.Context, r *mcp.Request, in struct {
		URL string `json:"url" jsonschema:"The URL of the page"`
	}) (string, error) {
		answers, err := r.Ask(ctx, mcp.Question{Elicit: mcp.Visit("Please look at your account.", in.URL)})
		if err != nil {
			return "", err
		}
		return "The visit: " + answers[0].Elicit.Action, nil
	})
	return err
}

func askModel(ctx context.Context, r *mcp.Request, in struct {
	Prompt string `json:"prompt" jsonschema:"The prompt to send to the LLM"`
}) (string, error) {
	answers, err := r.Ask(ctx, mcp.Question{Sample: &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{text(in.Prompt)}}},
		MaxTokens: 100,
	}})
	if err != nil {
		return "", err
	}
	return "LLM response: " + (&mcp.CallToolResult{Content: answers[0].Sample.Content}).Text(), nil
}

// askForm asks by a form, given as the JSON text of its schema, and returns the
// answer in words that begin with what.
func askForm(ctx context.Context, r *mcp.Request, what, message, schema string) (string, error) {
	answers, err := r.Ask(ctx, form("", message, schema))
	if err != nil {
		return "", err
	}
	answer := answers[0].Elicit
	content := answer.Content
	if content == nil {
		content = json.RawMessage("{}")
	}
	return fmt.Sprintf("%s: action=%s, content=%s", what, answer.Action, content), nil
}

const (
	confirmQuestion = `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`
	nameQuestion    = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
)

// form makes a question of the JSON text of a form.
func form(name, message, schema string) mcp.Question {
	p := &mcp.ElicitParams{Message: message, RequestedSchema: &mcp.FormSchema{}}
	_ = json.Unmarshal([]byte(schema), p.RequestedSchema) // a constant
	return mcp.Question{Name: name, Elicit: p}
}

const userForm = `{"type":"object","properties":{
  "username": {"type":"string","description":"User's response"},
  "email": {"type":"string","description":"User's email address"}
},"required":["username","email"]}`

const defaultsForm = `{"type":"object","properties":{
  "name": {"type":"string","description":"User name","default":"John Doe"},
  "age": {"type":"integer","description":"User age","default":30},
  "score": {"type":"number","description":"User score","default":95.5},
  "status": {"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
  "verified": {"type":"boolean","description":"Verification status","default":true}
},"required":[]}`

const choicesForm = `{"type":"object","properties":{
  "untitledSingle": {"type":"string","description":"Select one option","enum":["option1","option2","option3"]},
  "titledSingle": {"type":"string","description":"Select one option with titles","oneOf":[
    {"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
  "legacyEnum": {"type":"string","description":"Select one option (legacy)","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
  "untitledMulti": {"type":"array","description":"Select multiple options","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
  "titledMulti": {"type":"array","description":"Select multiple options with titles","minItems":1,"maxItems":3,"items":{"anyOf":[
    {"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}
},"required":[]}`
