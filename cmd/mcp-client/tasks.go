package main

import (
	"context"
	"time"

	"example.com/mcp"
)

// The least and the usual time between two looks at a task.
const (
	minPoll = 10 * time.Millisecond
	poll    = time.Second
)

// start calls a tool as a task, if that can be, and prints the task's id. Else there is
// the result, which it returns.
func (j *job) start(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	t, r, err := j.reporting().StartTool(ctx, name, args, 0)
	switch {
	case t == nil && err == nil:
		j.note("no task: the server has answered at once")
		return r, nil
	case t == nil:
		return r, err
	case t.ImmediateResponse != "":
		j.note("meanwhile: " + t.ImmediateResponse)
	}
	if j.json {
		return nil, j.printJSON(map[string]string{"taskId": t.ID})
	}
	j.printf("%s", t.ID)
	return nil, nil
}

// tasks is about what goes on after the program that has begun it.
func tasks(ctx context.Context, j *job) error {
	verbs := map[string]func(context.Context, *job, *mcp.ClientTask) error{"watch": watchTask, "result": taskResult, "cancel": cancelTask}
	verb := verbs[j.args[0]]
	switch {
	case j.args[0] == "list" && len(j.args) == 1:
		defer j.flush("TASK", "STATUS", "MESSAGE")
		return list(j, j.cs.Tasks(ctx), j.listed)
	case verb == nil || len(j.args) != 2:
		return usagef("usage: mcp-client [flags] tasks list, or watch, result or cancel with the ID of a task")
	}
	return verb(ctx, j, j.cs.Task(j.args[1]))
}

// listed prints a task of the list.
func (j *job) listed(t *mcp.Task) {
	if j.terminal {
		j.entry(t.TaskID, "", string(t.Status), t.StatusMessage)
		return
	}
	j.task(t)
}

// task prints how a task is.
func (j *job) task(t *mcp.Task) {
	text := t.TaskID + " " + string(t.Status)
	if t.StatusMessage != "" {
		text += ": " + t.StatusMessage
	}
	j.printf("%s", text)
}

// watchTask prints how a task is whenever that has changed, until it is over.
func watchTask(ctx context.Context, j *job, task *mcp.ClientTask) error {
	last := mcp.Task{}
	for {
		t, err := task.Get(ctx)
		if err != nil {
			return err
		}
		if t.Status != last.Status || t.StatusMessage != last.StatusMessage {
			if j.json {
				err = j.printJSON(t)
			} else {
				j.task(t)
			}
			if err == nil && t.Status == mcp.TaskInputRequired {
				j.note("it asks something, which tasks result answers")
			}
		}
		if last = *t; err != nil || t.Status.Over() {
			return err
		}
		wait := poll
		if t.PollInterval != nil {
			wait = max(t.PollInterval.Duration(), minPoll)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// taskResult waits for the end of a task and prints what the call would have.
func taskResult(ctx context.Context, j *job, task *mcp.ClientTask) error {
	r, err := task.Result(ctx)
	return j.called(r, err)
}

func cancelTask(ctx context.Context, j *job, task *mcp.ClientTask) error {
	err := task.Cancel(ctx)
	if err == nil {
		j.note("the server was asked to cancel the task")
	}
	return err
}
