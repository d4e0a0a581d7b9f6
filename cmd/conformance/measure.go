package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"example.com/mcp"
)

// addMeasuringTools registers the tools to measure with.
func addMeasuringTools(s *mcp.Server) (err error) {
	tool(s, &err, "echo", "Returns its text", func(_ context.Context, _ *mcp.Request, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
	tool(s, &err, "add", "Adds two numbers", func(_ context.Context, _ *mcp.Request, in struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}) (sum, error) {
		return sum{in.A + in.B}, nil
	})
	tool(s, &err, "big", "Returns a text of n bytes", (&longText{}).serve)
	tool(s, &err, "progress", "Reports progress n times", countUp)
	return err
}

// addCases registers tools that do not simply return: one that takes its time, one
// that asks, one that panics.
func addCases(s *mcp.Server) (err error) {
	tool(s, &err, "slow", "Answers after some milliseconds", func(ctx context.Context, _ *mcp.Request, in struct {
		MS int `json:"ms" schema:"minimum=0,maximum=3600000"`
	}) (string, error) {
		return fmt.Sprintf("waited %d ms", in.MS), wait(ctx, time.Duration(in.MS)*time.Millisecond)
	})
	tool(s, &err, "ask", "Asks the person for a name", askName)
	tool(s, &err, "boom", "Panics", func(context.Context, *mcp.Request, none) (string, error) { panic("boom") })
	return err
}

type sum struct {
	Sum float64 `json:"sum"`
}

type size struct {
	N int `json:"n" schema:"minimum=0,maximum=268435456"`
}

// steps are no more than the reports that the package sends at once.
type steps struct {
	N int `json:"n" schema:"minimum=0,maximum=256"`
}

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// A longText is the longest text that was asked for; shorter ones are its beginning,
// so that no text is built twice.
type longText struct {
	mu   sync.Mutex // guards text
	text string
}

func (l *longText) serve(_ context.Context, _ *mcp.Request, in size) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) < in.N {
		l.text = ("big:" + strings.Repeat(alphabet, in.N/len(alphabet)+1))[:in.N]
	}
	return l.text[:in.N], nil
}

func countUp(ctx context.Context, r *mcp.Request, in steps) (string, error) {
	for i := 1; i <= in.N; i++ {
		if err := r.Progress(ctx, float64(i), float64(in.N), ""); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("done %d", in.N), nil
}

type nameForm struct {
	Name string `json:"name"`
}

func askName(ctx context.Context, r *mcp.Request, _ none) (string, error) {
	form, err := mcp.FormFor[nameForm]()
	if err != nil {
		return "", err
	}
	answer, err := r.Elicit(ctx, &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: form})
	if err != nil {
		return "", err
	}
	if !answer.Accepted() {
		return "", fmt.Errorf("no name: the answer is %q", answer.Action)
	}
	var in nameForm
	return in.Name, json.Unmarshal(answer.Content, &in)
}

// addDummies registers n tools that only make the list long.
func addDummies(s *mcp.Server, n int) (err error) {
	for i := range n {
		tool(s, &err, fmt.Sprintf("dummy-%04d", i),
			fmt.Sprintf("Dummy tool number %d, registered only to make the tool list long; it answers with a constant.", i),
			func(context.Context, *mcp.Request, struct {
				Path    string `json:"path,omitempty"`
				Limit   int    `json:"limit,omitempty"`
				Verbose bool   `json:"verbose,omitempty"`
			}) (string, error) {
				return "dummy", nil
			})
	}
	return err
}
