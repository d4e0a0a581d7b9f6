package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/mcp"
)

// taskTool registers a tool that may, or must, run as a task.
func taskTool[In any](s *mcp.Server, err *error, t *mcp.Tool, support string, h func(context.Context, *mcp.Request, In) (string, error)) {
	t.Execution = &mcp.ToolExecution{TaskSupport: support}
	if *err == nil {
		*err = mcp.AddTool(s, t, h)
	}
}

// addTaskTools registers the tools of the tasks scenarios.
func addTaskTools(s *mcp.Server) (err error) {
	tool(s, &err, "greet", "Greets, and is never a task", func(_ context.Context, _ *mcp.Request, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return fmt.Sprintf("Hello, %s!", in.Name), nil
	})
	taskTool(s, &err, &mcp.Tool{Name: "slow_compute", Description: "Takes its time"}, "optional", slowly)
	taskTool(s, &err, &mcp.Tool{Name: "failing_job", Description: "Fails after a second; only as a task"}, "required",
		func(ctx context.Context, _ *mcp.Request, _ none) (string, error) {
			if err := wait(ctx, time.Second); err != nil {
				return "", err
			}
			return "", errors.New("the job failed, as it always does")
		})
	taskTool(s, &err, &mcp.Tool{Name: "protocol_error_job", Description: "Ends with an error of the protocol"}, "optional",
		func(context.Context, *mcp.Request, none) (string, error) {
			return "", mcp.Errorf(mcp.CodeInternalError, "the job broke down")
		})
	taskTool(s, &err, &mcp.Tool{Name: "confirm_delete", Description: "Asks before it deletes nothing"}, "optional", confirmDelete)
	taskTool(s, &err, &mcp.Tool{Name: "multi_input", Description: "Asks two things at once"}, "optional", askBoth)
	taskTool(s, &err, &mcp.Tool{Name: "test_tool_with_task", Description: "Asks in its request, and goes on as a task", LateTask: true}, "required", lateTask)
	return err
}

func slowly(ctx context.Context, _ *mcp.Request, in struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label,omitempty"`
}) (string, error) {
	if err := wait(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return "", err
	}
	return fmt.Sprintf("Computed %q for %v seconds.", in.Label, in.Seconds), nil
}

func confirmDelete(ctx context.Context, r *mcp.Request, in struct {
	Filename string `json:"filename"`
}) (string, error) {
	answers, err := r.Ask(ctx, form("confirm", "Delete "+in.Filename+"?", confirmQuestion))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s %s", in.Filename, answers[0].Elicit.Action, answers[0].Elicit.Content), nil
}

func askBoth(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	answers, err := r.Ask(ctx, form("name", "What is your name?", nameQuestion), form("confirm", "Are you sure?", confirmQuestion))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %s", answers[0].Elicit.Content, answers[1].Elicit.Content), nil
}

func lateTask(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	answers, err := r.Ask(ctx, form("user_name", "What is your name?", nameQuestion))
	if err != nil {
		return "", err
	}
	if ctx, err = r.Detach(ctx); err != nil {
		return "", err
	}
	var answer struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(answers[0].Elicit.Content, &answer); err != nil {
		return "", err
	}
	return "Hello, " + answer.Name + ", from a task.", wait(ctx, between)
}
