package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"example.com/mcp"
)

const (
	maxSample  = 4 << 20         // bytes that a sampler may print
	sampleTime = 5 * time.Minute // that it may take, unless -timeout tells another time
	sampleStop = time.Second     // that it may take to end when it is stopped
)

// sample answers a question to the model: by the command of -sampler, or, as this program
// has no model, by the person. The person sees and approves what is asked, and what is
// answered; -yes approves for them, which answers nothing where there is no -sampler.
func (p *program) sample(ctx context.Context, cs *mcp.ClientSession, q *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	ctx, done := p.line.question(ctx)
	defer done()
	if p.yes && p.sampler != "" {
		r, err := p.sampled(ctx, q)
		if err == nil {
			p.note("the sampler answered: " + textOf(r.Content))
		}
		return r, p.refusal(err)
	}
	var r *mcp.CreateMessageResult
	err := p.sitting(ctx, func() (err error) {
		p.showRequest(cs, q)
		r, err = p.approved(ctx, q)
		return err
	})
	if p.person.err != nil {
		p.screen.line(fmt.Sprintf("sampling refused, since %v", p.person.err))
		err = errDeclined
	}
	return r, p.refusal(err)
}

// refusal is what the server is told of why there is no answer. It is not told why a
// command of this machine failed.
func (p *program) refusal(err error) error {
	var failed *samplerError
	switch {
	case errors.Is(err, errDeclined), errors.Is(err, errDismissed):
		return mcp.Errorf(mcp.CodeUserRejected, "User rejected sampling request")
	case errors.As(err, &failed):
		p.screen.line(err.Error())
		return mcp.Errorf(mcp.CodeInternalError, "sampling failed")
	}
	return err
}

// showRequest shows all that a model would get.
func (p *program) showRequest(cs *mcp.ClientSession, q *mcp.CreateMessageParams) {
	p.introduce(cs, "what a model would answer, with "+limits(q)+".")
	if q.SystemPrompt != "" {
		p.person.block("system", q.SystemPrompt)
	}
	for _, t := range q.Tools {
		p.person.block("tool "+t.Name, t.Description)
	}
	for _, m := range q.Messages {
		p.person.block(string(m.Role), textOf(m.Content))
	}
}

// limits are what the server wants of the answer, in words.
func limits(q *mcp.CreateMessageParams) string {
	words := []string{fmt.Sprintf("at most %d tokens", q.MaxTokens)}
	if q.Temperature != nil {
		words = append(words, fmt.Sprintf("temperature %v", *q.Temperature))
	}
	if len(q.StopSequences) > 0 {
		words = append(words, fmt.Sprintf("an end before %q", q.StopSequences))
	}
	if q.ModelPreferences != nil {
		for _, h := range q.ModelPreferences.Hints {
			words = append(words, fmt.Sprintf("a model like %q", h.Name))
		}
	}
	if q.IncludeContext != "" && q.IncludeContext != "none" {
		words = append(words, "context of "+q.IncludeContext)
	}
	if q.ToolChoice != nil && q.ToolChoice.Mode != "" {
		words = append(words, "tool use "+q.ToolChoice.Mode)
	}
	return strings.Join(words, ", ")
}

func textOf(blocks []mcp.Content) string {
	texts := make([]string, len(blocks))
	for i, c := range blocks {
		texts[i] = describe(c)
	}
	return strings.Join(texts, "\n")
}

// approved gets answers until the person lets one be sent.
func (p *program) approved(ctx context.Context, q *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	for {
		r, err := p.answered(ctx, q)
		if err != nil {
			return nil, err
		}
		p.person.block(fmt.Sprintf("This will be sent, as by %s (%s)", r.Model, r.StopReason), textOf(r.Content))
		letter, err := p.person.choose(ctx, "Send it? y yes, r again, d refuse: ", "yr")
		if err != nil || letter == 'y' {
			return r, err
		}
	}
}

// answered gets an answer, by the sampler after the person agreed, or by the person.
func (p *program) answered(ctx context.Context, q *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	if p.sampler != "" {
		if _, err := p.person.choose(ctx, "Let the sampler answer? y yes, d refuse: ", "y"); err != nil {
			return nil, err
		}
		return p.sampled(ctx, q)
	}
	p.person.say("Answer in place of a model. A line with only a dot ends the answer; nothing before it refuses.")
	var lines []string
	for {
		line, err := p.person.line(ctx, "> ")
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "." {
			break
		}
		lines = append(lines, line)
	}
	text := strings.Join(lines, "\n")
	if strings.TrimSpace(text) == "" {
		return nil, errDeclined
	}
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: []mcp.Content{&mcp.TextContent{Text: text}},
		Model: "person", StopReason: "endTurn"}, nil
}

// A samplerError says why the command of -sampler gave no answer.
type samplerError struct{ err error }

func (e *samplerError) Error() string { return "the sampler failed: " + e.err.Error() }
func (e *samplerError) Unwrap() error { return e.err }

// sampled runs the sampler: it gets the parameters of sampling/createMessage on its stdin
// and writes the result to its stdout, both as JSON. Its stderr is shown.
func (p *program) sampled(ctx context.Context, q *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	request, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	limit := sampleTime
	if p.timeout > 0 {
		limit = p.timeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	answer, err := p.runSampler(ctx, request)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	r := &mcp.CreateMessageResult{}
	if err == nil {
		err = json.Unmarshal(answer, r)
	}
	if err != nil {
		return nil, &samplerError{err}
	}
	return r, nil
}

// runSampler returns what the sampler prints.
func (p *program) runSampler(ctx context.Context, stdin []byte) (stdout []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", p.sampler)
	if runtime.GOOS == "windows" {
		cmd = exec.CommandContext(ctx, "cmd", "/c", p.sampler)
	}
	answer := &limited{left: maxSample, full: cancel}
	r, w := io.Pipe()
	shown := make(chan struct{})
	go func() { // ends when w is closed
		defer close(shown)
		p.showStderr(r)
	}()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(stdin), answer, w, sampleStop
	err = cmd.Run()
	w.Close()
	<-shown
	if answer.left < 0 {
		err = fmt.Errorf("it printed more than %d bytes", maxSample)
	}
	return answer.b.Bytes(), err
}

// showStderr shows what a sampler complains of, line by line.
func (p *program) showStderr(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		p.note("sampler: " + lines.Text())
	}
	_, _ = io.Copy(io.Discard, r) // after a line that is too long
}

// A limited buffer calls full when it would grow too large.
type limited struct {
	b    bytes.Buffer
	left int // below 0: too much was written
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		l.full()
		return len(p), nil
	}
	return l.b.Write(p)
}
