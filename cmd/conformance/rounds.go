package main

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/mcp"
)

// addRoundTools registers the tools that ask by questions with names, which a client of
// 2026-07-28 answers in another request.
func addRoundTools(s *mcp.Server) (err error) {
	rounds := func(name, description string, h func(context.Context, *mcp.Request, none) (string, error)) {
		tool(s, &err, "test_input_required_result_"+name, description, h)
	}
	confirmed := func(text string) func(context.Context, *mcp.Request, none) (string, error) {
		return func(ctx context.Context, r *mcp.Request, _ none) (string, error) {
			_, err := r.Ask(ctx, form("confirm", "Please confirm", `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`))
			return text, err
		}
	}
	rounds("elicitation", "Asks for a name", greetPerson)
	rounds("sampling", "Asks the client's model for a capital", func(ctx context.Context, r *mcp.Request, _ none) (string, error) {
		answers, err := r.Ask(ctx, prompted("capital_question", "What is the capital of France?", 100))
		if err != nil {
			return "", err
		}
		return sampled(answers[0]), nil
	})
	rounds("list_roots", "Asks for the client's roots", func(ctx context.Context, r *mcp.Request, _ none) (string, error) {
		answers, err := r.Ask(ctx, mcp.Question{Name: "client_roots", Roots: true})
		if err != nil {
			return "", err
		}
		return rooted(answers[0]), nil
	})
	rounds("request_state", "Asks to confirm, and knows its own state again", confirmed("state-ok"))
	rounds("tampered_state", "Asks to confirm, and refuses a state that was changed", confirmed("The state is as it was given out."))
	rounds("multiple_inputs", "Asks for three things at once", func(ctx context.Context, r *mcp.Request, _ none) (string, error) {
		answers, err := r.Ask(ctx, form("user_name", "What is your name?", nameQuestion),
			prompted("greeting", "Generate a greeting", 50), mcp.Question{Name: "client_roots", Roots: true})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s; %s; %s", answers[0].Elicit.Content, sampled(answers[1]), rooted(answers[2])), nil
	})
	rounds("multi_round", "Asks for two things, one after the other", twoSteps)
	rounds("capabilities", "Asks for what the client can answer", askWhatIsPossible)
	return err
}

func greetPerson(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	name, err := ask(ctx, r, "user_name", "What is your name?", "name")
	if err != nil {
		return "", err
	}
	return "Hello, " + name + "!", nil
}

func twoSteps(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	name, err := ask(ctx, r, "step1", "Step 1: What is your name?", "name")
	if err != nil {
		return "", err
	}
	color, err := ask(ctx, r, "step2", "Step 2: What is your favorite color?", "color")
	if err != nil {
		return "", err
	}
	return name + " likes " + color + ".", nil
}

func askWhatIsPossible(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	var questions []mcp.Question
	if e := r.Capabilities.Elicitation; e != nil && (e.Form != nil || e.URL == nil) {
		questions = append(questions, form("user_name", "What is your name?", nameQuestion))
	}
	if r.Capabilities.Sampling != nil {
		questions = append(questions, prompted("greeting", "Generate a greeting", 50))
	}
	answers, err := r.Ask(ctx, questions...)
	return fmt.Sprintf("%d questions were answered.", len(answers)), err
}

// ask asks for one text, and returns it.
func ask(ctx context.Context, r *mcp.Request, question, message, field string) (string, error) {
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%[1]q]}`, field)
	answers, err := r.Ask(ctx, form(question, message, schema))
	if err != nil {
		return "", err
	}
	if a := answers[0].Elicit; !a.Accepted() {
		return "", fmt.Errorf("no %s: the answer is %q", field, a.Action)
	}
	var in map[string]string
	err = json.Unmarshal(answers[0].Elicit.Content, &in)
	return in[field], err
}

// prompted is a question for the client's model.
func prompted(name, prompt string, maxTokens int64) mcp.Question {
	return mcp.Question{Name: name, Sample: &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{text(prompt)}}},
		MaxTokens: maxTokens,
	}}
}

// sampled is what the client's model says.
func sampled(a mcp.Answer) string { return (&mcp.CallToolResult{Content: a.Sample.Content}).Text() }

// rooted names the client's roots.
func rooted(a mcp.Answer) string {
	text := "The roots are"
	for _, root := range a.Roots {
		text += " " + root.URI
	}
	return text
}

// addDiagnostics registers the tools by which the suite looks at requests that stand
// alone.
func addDiagnostics(s *mcp.Server) (err error) {
	tool(s, &err, "test_missing_capability", "Needs a client that can sample", func(_ context.Context, r *mcp.Request, _ none) (string, error) {
		if r.Capabilities.Sampling == nil {
			return "", mcp.MissingCapability(&mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}})
		}
		return "The client can sample.", nil
	})
	tool(s, &err, "test_streaming_elicitation", "Asks for a name", greetPerson)
	tool(s, &err, "test_logging_tool", "Logs a message", func(ctx context.Context, r *mcp.Request, _ none) (string, error) {
		return "A message was logged.", r.Log(ctx, mcp.LevelInfo, "", "test_logging_tool runs")
	})
	// What is added is gone again at once. If another call is about the same, both tell
	// of a change.
	tool(s, &err, "test_trigger_tool_change", "Changes the list of tools", func(context.Context, *mcp.Request, none) (string, error) {
		var ignored error
		constant(s, &ignored, "test_passing_tool", "Is there for a moment", text("passing"))
		s.RemoveTools("test_passing_tool")
		return "The list of tools has changed.", nil
	})
	tool(s, &err, "test_trigger_prompt_change", "Changes the list of prompts", func(context.Context, *mcp.Request, none) (string, error) {
		_ = s.AddPrompt(&mcp.Prompt{Name: "test_passing_prompt", Description: "Is there for a moment"},
			func(context.Context, *mcp.Request, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
		s.RemovePrompts("test_passing_prompt")
		return "The list of prompts has changed.", nil
	})
	return err
}

// addAskingPrompt registers the prompt that asks before it answers.
func addAskingPrompt(s *mcp.Server) error {
	return s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks for its context first"},
		func(ctx context.Context, r *mcp.Request, _ *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			about, err := ask(ctx, r, "user_context", "What context should the prompt use?", "context")
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: text("Context: " + about)}}}, nil
		})
}
