package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A numberedStore is a store whose tasks are called t1, t2 and so on, so that conversations
// can name them.
type numberedStore struct {
	TaskStore
	n atomic.Int64
}

func numberedTasks() *numberedStore { return &numberedStore{TaskStore: NewTaskStore()} }

func (s *numberedStore) Create(ctx context.Context, t *TaskRecord) error {
	t.ID = fmt.Sprint("t", s.n.Add(1))
	return s.TaskStore.Create(ctx, t)
}

type jobInput struct {
	MS   int    `json:"ms,omitempty"`
	Fail string `json:"fail,omitempty"` // how
}

// works takes a while, and fails if it is told to.
func works(ctx context.Context, _ *Request, in jobInput) (string, error) {
	select {
	case <-time.After(time.Duration(in.MS) * time.Millisecond):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	switch in.Fail {
	case "tool":
		return "", errors.New("out of paper")
	case "protocol":
		return "", &Error{Code: -31000, Message: "no", Data: json.RawMessage(`{"a":1}`)}
	case "panic":
		panic("boom")
	}
	return "done", nil
}

var nameForm = &ElicitParams{Message: "Who?", RequestedSchema: &FormSchema{
	Properties: Properties{{"name", &PrimitiveSchema{Type: "string"}}}, Required: []string{"name"}}}

const nameQuestion = `"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// taskServer has tools of each kind: job (optional), must (required), never
// (forbidden), plain (unmarked); ask and both, which ask as tasks; late, which asks in
// its request and again as a task; stubborn, which does not heed its context; and
// report, which speaks before its result.
func taskServer(t testing.TB, opts *ServerOptions) *Server {
	t.Helper()
	o := ServerOptions{}
	if opts != nil {
		o = *opts
	}
	if o.Tasks.Store == nil {
		o.Tasks.Store = numberedTasks()
	}
	s := newServer(t, &o)
	marked := func(name, support string) *Tool {
		return &Tool{Name: name, Execution: &ToolExecution{TaskSupport: support}}
	}
	late := marked("late", "required")
	late.LateTask = true
	now := marked("now", "optional")
	now.ImmediateResponse = "Go on."
	must(t,
		AddTool(s, marked("job", "optional"), works),
		AddTool(s, marked("must", "required"), works),
		AddTool(s, marked("never", "forbidden"), works),
		AddTool(s, &Tool{Name: "plain"}, works),
		AddTool(s, now, works),
		AddTool(s, marked("ask", "optional"), asksName),
		AddTool(s, marked("both", "optional"), func(ctx context.Context, r *Request, _ struct{}) (string, error) {
			answers, err := r.Ask(ctx, Question{Name: "one", Elicit: nameForm}, Question{Name: "two", Elicit: nameForm})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s %s", answers[0].Elicit.Content, answers[1].Elicit.Content), nil
		}),
		AddTool(s, late, func(ctx context.Context, r *Request, in jobInput) (string, error) {
			first, err := r.Elicit(ctx, nameForm)
			if err != nil || in.Fail == "early" {
				return "early", err
			}
			if ctx, err = r.Detach(ctx); err != nil {
				return "", err
			}
			second, err := r.Elicit(ctx, nameForm)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s %s", first.Content, second.Content), nil
		}),
		AddTool(s, marked("stubborn", "optional"), func(ctx context.Context, r *Request, in jobInput) (string, error) {
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
			return "done all the same", r.Progress(ctx, 1, 0, "")
		}),
		AddTool(s, marked("report", "optional"), func(ctx context.Context, r *Request, _ struct{}) (string, error) {
			for i := range 3 {
				_, _ = works(ctx, r, jobInput{MS: 1000})
				if err := errors.Join(r.Progress(ctx, float64(i+1), 3, ""), r.Log(ctx, LevelError, "", i)); err != nil {
					return "", err
				}
			}
			return "done", nil
		}),
	)
	return s
}

// asksName asks who is there, twice if need be, by the same name.
func asksName(ctx context.Context, r *Request, in jobInput) (string, error) {
	if in.MS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(in.MS)*time.Millisecond)
		defer cancel()
	}
	for range 2 {
		answers, err := r.Ask(ctx, Question{Name: "who", Elicit: nameForm})
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			_, err = works(context.WithoutCancel(ctx), r, jobInput{MS: 1000})
			return "nobody", err
		case err != nil:
			return "", err
		case answers[0].Elicit.Accepted():
			return string(answers[0].Elicit.Content), nil
		}
	}
	return "declined twice", nil
}

var taskMembers = regexp.MustCompile(`⟨(\w+) (\w+) (\d+) (\d+)(?: ([^⟩]*))?⟩`)

// atTasks puts what the server says of tasks into a script: ⟨t1 working 0 3 message⟩
// are the members of a task that was made in second 0 and changed in second 3, ⟪…⟫ what
// a request of 2026-07-28 says with tasks declared, ⟪⟫ without, ⟪=⟫ what a result of that
// revision has.
func atTasks(rev, script string) string {
	ttl, poll := "ttl", "pollInterval"
	if rev == Revision20260728 {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	script = strings.NewReplacer(
		`⟪=⟫`, `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}`,
		`⟪task⟫`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		`⟪told⟫`, `"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		`⟪mute⟫`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		`⟪⟫`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"tasks":{"list":{}}}}`,
		`⟪need⟫`, `"data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
	).Replace(script)
	return taskMembers.ReplaceAllStringFunc(script, func(part string) string {
		m := taskMembers.FindStringSubmatch(part)
		at := func(seconds string) string {
			n, _ := strconv.Atoi(seconds)
			return time.Date(2000, 1, 1, 0, 0, n, 0, time.UTC).Format(time.RFC3339Nano)
		}
		message := ""
		if m[5] != "" {
			message = `,"statusMessage":` + quoted(m[5])
		}
		return fmt.Sprintf(`"taskId":"%s","status":"%s"%s,"createdAt":"%s","lastUpdatedAt":"%s","%s":3600000,"%s":1000`, m[1], m[2], message, at(m[3]), at(m[4]), ttl, poll)
	})
}

const taskOffers = `{"logging":{},"tools":{"listChanged":true},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}`

// inTasks opens a session of 2025-11-25 with a client that answers forms.
const inTasks = `> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}},"experimental":{"io.modelcontextprotocol/tasks":{}}},"clientInfo":{"name":"t","version":"0"}}}
< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":` + taskOffers + `,"serverInfo":{"name":"test","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
`

// talkTasks talks with a taskServer at a revision.
func talkTasks(t *testing.T, s *Server, rev, script string) {
	t.Helper()
	if rev == Revision20251125 {
		script = inTasks + script
	}
	talk(t, serve(s), atTasks(rev, script))
}

// Which states lead to which, and what each step does.
// FEAT-380 FEAT-385 FEAT-386 FEAT-389 FEAT-448
func TestTaskStates(t *testing.T) {
	ask := func(name string) func(*TaskRecord) error {
		return func(r *TaskRecord) error { return r.ask([]Question{{Name: name, Elicit: nameForm}}, newest) }
	}
	steps := []struct {
		name string
		do   func(*TaskRecord) error
		to   map[TaskStatus]TaskStatus // from all others it is refused
	}{
		{"ask", ask("p"), map[TaskStatus]TaskStatus{TaskWorking: TaskInputRequired, TaskInputRequired: TaskInputRequired}},
		{"answer", func(r *TaskRecord) error { return r.answer("q", TaskAnswer{Result: json.RawMessage("{}")}) }, map[TaskStatus]TaskStatus{
			TaskWorking: TaskWorking, TaskInputRequired: TaskWorking, TaskCompleted: TaskCompleted, TaskFailed: TaskFailed, TaskCancelled: TaskCancelled}},
		{"answer another", func(r *TaskRecord) error { return r.answer("x", TaskAnswer{}) }, map[TaskStatus]TaskStatus{
			TaskWorking: TaskWorking, TaskInputRequired: TaskInputRequired, TaskCompleted: TaskCompleted, TaskFailed: TaskFailed, TaskCancelled: TaskCancelled}},
		{"withdraw", func(r *TaskRecord) error { return r.withdraw([]Question{{Name: "q"}}) }, map[TaskStatus]TaskStatus{
			TaskWorking: TaskWorking, TaskInputRequired: TaskWorking}},
		{"complete", func(r *TaskRecord) error { return r.finish(json.RawMessage("{}"), "", nil) }, map[TaskStatus]TaskStatus{
			TaskWorking: TaskCompleted, TaskInputRequired: TaskCompleted}},
		{"fail", func(r *TaskRecord) error { return r.finish(nil, "", Errorf(1, "no")) }, map[TaskStatus]TaskStatus{
			TaskWorking: TaskFailed, TaskInputRequired: TaskFailed}},
		{"cancel", func(r *TaskRecord) error { return r.move(TaskCancelled, "enough") }, map[TaskStatus]TaskStatus{
			TaskWorking: TaskCancelled, TaskInputRequired: TaskCancelled}},
	}
	synctest.Test(t, func(t *testing.T) {
		for _, from := range []TaskStatus{TaskWorking, TaskInputRequired, TaskCompleted, TaskFailed, TaskCancelled} {
			for _, step := range steps {
				r := (&TaskOptions{}).newTask("", methodToolsCall, nil)
				made := r.Created
				switch from {
				case TaskInputRequired:
					must(t, ask("q")(r))
				case TaskWorking:
				default:
					must(t, r.move(from, "before"))
				}
				time.Sleep(time.Second)
				err := step.do(r)
				want, ok := step.to[from]
				if !ok {
					want = from
				}
				if r.Status != want || (err == nil) != ok {
					t.Errorf("%s: %s leads to %s, %v; want %s", from, step.name, r.Status, err, want)
				}
				moved := r.Status != from || from == TaskInputRequired && step.name == "ask"
				if !r.Created.Equal(made) || r.Updated.Equal(time.Now()) != moved {
					t.Errorf("%s: %s: made %v, changed %v", from, step.name, r.Created, r.Updated)
				}
				if r.Status.Over() && err == nil && (r.Questions != nil || r.Answers != nil) {
					t.Errorf("%s: %s: an ended task keeps questions", from, step.name)
				}
				if step.name == "fail" && ok && r.StatusMessage != "no" || step.name == "cancel" && ok && r.StatusMessage != "enough" {
					t.Errorf("%s: %s: message %q", from, step.name, r.StatusMessage)
				}
			}
		}
	})
}

// A record goes through JSON without loss.
func TestTaskRecordJSON(t *testing.T) {
	full := &TaskRecord{Owner: "i\x00s", ID: "t", Version: 7, Method: methodToolsCall, Status: TaskInputRequired, StatusMessage: "m",
		Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Updated: time.Date(2026, 1, 2, 3, 4, 5, 7, time.UTC), TTL: time.Hour, PollInterval: time.Second,
		Questions: []TaskQuestion{{Name: "q", Method: methodElicit, Params: json.RawMessage(`{"message":"m"}`), Claimed: time.Date(2026, 1, 2, 3, 4, 5, 8, time.UTC)}, {Name: "p"}},
		Answers:   map[string]TaskAnswer{"a": {Result: json.RawMessage(`{"action":"accept"}`)}, "b": {Error: &Error{Code: -1, Message: "no", Data: json.RawMessage(`[1.0]`)}}},
		Result:    json.RawMessage(`{"content":[]}`), Error: &Error{Code: 5, Message: "e"}, ToolFailed: true}
	for _, rec := range []*TaskRecord{full, {}} {
		text, err := json.Marshal(rec)
		must(t, err)
		got := &TaskRecord{}
		must(t, json.Unmarshal(text, got))
		if !reflect.DeepEqual(got, rec) {
			t.Errorf("got\n%+v\nwant\n%+v", got, rec)
		}
	}
}

// fill makes n tasks of an owner.
func fill(t *testing.T, store TaskStore, owner string, n int, ttl time.Duration) (ids []string) {
	t.Helper()
	for range n {
		rec := (&TaskOptions{TTL: ttl}).newTask(owner, methodToolsCall, nil)
		must(t, store.Create(t.Context(), rec))
		ids = append(ids, rec.ID)
	}
	return ids
}

// FEAT-379 FEAT-382 FEAT-417 FEAT-443
func TestTaskStoreBounds(t *testing.T) {
	store := NewTaskStore()
	ids := map[string]bool{}
	for _, id := range fill(t, store, "one", maxTasksOfOne, 0) {
		if ids[id] = true; len(id) != 26 { // of 32 letters: 130 bits
			t.Errorf("id %q", id)
		}
	}
	if len(ids) != maxTasksOfOne {
		t.Errorf("%d ids for %d tasks", len(ids), maxTasksOfOne)
	}
	full := "too many tasks: the limits are 1000 of one caller and 10000 in all (code -32603)"
	create := func(owner string) error {
		return store.Create(t.Context(), (&TaskOptions{}).newTask(owner, methodToolsCall, nil))
	}
	checkError(t, "of one", create("one"), full)
	fill(t, store, "", maxTasks-maxTasksOfOne, 0) // nobody knows whose they are
	checkError(t, "in all", create("another"), full)

	store = NewTaskStore()
	ids3 := fill(t, store, "", 4, 0)
	big := json.RawMessage(`"` + strings.Repeat("x", maxTaskBytes/2-10) + `"`)
	for i, id := range ids3[:3] {
		_, err := store.Update(t.Context(), "", id, func(r *TaskRecord) error {
			if i == 0 {
				return errors.Join(r.ask([]Question{{Name: "q", Roots: true}, {Name: "p", Roots: true}}, newest),
					r.answer("q", TaskAnswer{Result: big}))
			}
			return r.finish(big, "", nil)
		})
		must(t, err)
	}
	// The answer of the first, which runs, and the last result have room; the other goes.
	for i, want := range []string{"", "mcp: no such task", "", ""} {
		_, err := store.Wait(t.Context(), "", ids3[i], -1)
		checkError(t, fmt.Sprint("task ", i), err, want)
	}
	answer := func(id string) error {
		_, err := store.Update(t.Context(), "", id, func(r *TaskRecord) error {
			return errors.Join(r.ask([]Question{{Name: "q", Roots: true}, {Name: "p", Roots: true}}, newest),
				r.answer("q", TaskAnswer{Result: json.RawMessage(big[:len(big)-20])}))
		})
		return err
	}
	must(t, answer(ids3[3])) // for which the third one goes, too
	_, err := store.Wait(t.Context(), "", ids3[2], -1)
	checkError(t, "the last result", err, "mcp: no such task")
	last := fill(t, store, "", 1, 0)[0]
	checkError(t, "one answer too much", answer(last), "the answers for all tasks take too much memory: the limit is 268435456 bytes (code -32603)")
	rec, err := store.Wait(t.Context(), "", last, -1)
	if must(t, err); rec.Version != 0 || rec.Status != TaskWorking {
		t.Errorf("a refused change has changed %+v", rec)
	}
}

// FEAT-414 FEAT-415 FEAT-451 FEAT-452
func TestTaskStoreExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewTaskStore()
		id := fill(t, store, "", 1, time.Minute)[0]
		other := fill(t, store, "", 1, time.Hour)[0]
		time.Sleep(time.Minute - 1)
		_, err := store.Wait(t.Context(), "", id, -1)
		must(t, err)
		_, err = store.Wait(t.Context(), "", id, 0)
		if since := time.Since(time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)); !errors.Is(err, ErrNoTask) || since != 0 {
			t.Errorf("waiting beyond the end: %v, %v after it", err, since)
		}
		_, err = store.Update(t.Context(), "", id, func(*TaskRecord) error { return nil })
		checkError(t, "Update", err, "mcp: no such task")
		page, next, err := store.List(t.Context(), "", "", 10)
		if must(t, err); len(page) != 1 || page[0].ID != other || next != "" {
			t.Errorf("List: %v, %q", page, next)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = store.Wait(ctx, "", other, 0)
		checkError(t, "Wait", err, "context deadline exceeded")
		_, err = store.Wait(t.Context(), "else", other, -1)
		checkError(t, "of another", err, "mcp: no such task")
		if rec, err := store.Wait(t.Context(), "", fill(t, store, "", 1, -1)[0], -1); err != nil || rec.TTL != defaultTaskTTL {
			t.Errorf("a negative TTL: %+v, %v", rec, err)
		}
		if len(store.(*memoryTasks).tasks) != 2 {
			t.Error("an expired task is kept")
		}
	})
}

// FEAT-406 FEAT-407
func TestTaskStoreList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewTaskStore()
		var want []string
		for range 7 {
			want = append(want, fill(t, store, "a", 1, 0)...)
			fill(t, store, "b", 2, 0)
			time.Sleep(time.Second)
		}
		var got []string
		cursor, pages := "", 0
		for {
			page, next, err := store.List(t.Context(), "a", cursor, 3)
			must(t, err)
			for _, r := range page {
				got = append(got, r.ID)
			}
			if pages++; next == "" {
				break
			}
			cursor = next
		}
		if !slices.Equal(got, want) || pages != 3 {
			t.Errorf("%d pages: %q, want %q", pages, got, want)
		}
		if page, next, err := store.List(t.Context(), "a", "99999999999999999999 x", 3); len(page) != 0 || next != "" || err != nil {
			t.Errorf("beyond the end: %v %q %v", page, next, err)
		}
	})
}

// How long a task is kept is what the requestor wants, up to a limit.
// FEAT-376 FEAT-381 FEAT-440
func TestTaskTTL(t *testing.T) {
	for _, tt := range []struct {
		o    TaskOptions
		wish string
		ttl  time.Duration
		poll time.Duration
	}{
		{TaskOptions{}, `{}`, time.Hour, time.Second},
		{TaskOptions{}, `{"ttl":60000}`, time.Minute, time.Second},
		{TaskOptions{}, `{"ttl":null}`, time.Hour, time.Second},
		{TaskOptions{}, `{"ttl":0}`, time.Hour, time.Second},
		{TaskOptions{}, `{"ttl":-1}`, time.Hour, time.Second},
		{TaskOptions{}, `{"ttl":1e15}`, 24 * time.Hour, time.Second},
		{TaskOptions{MaxTTL: time.Minute}, `{"ttl":3600000}`, time.Minute, time.Second},
		{TaskOptions{MaxTTL: time.Minute}, `{}`, time.Minute, time.Second},
		{TaskOptions{TTL: 2 * time.Hour, PollInterval: 5 * time.Second}, `{}`, 2 * time.Hour, 5 * time.Second},
		{TaskOptions{TTL: 1, PollInterval: 1}, `{}`, time.Millisecond, time.Millisecond},
	} {
		var wish TaskMetadata
		must(t, decodeJSON([]byte(tt.wish), &wish))
		if r := tt.o.newTask("", "", &wish); r.TTL != tt.ttl || r.PollInterval != tt.poll {
			t.Errorf("%+v, %s: kept for %v, asked for each %v; want %v, %v", tt.o, tt.wish, r.TTL, r.PollInterval, tt.ttl, tt.poll)
		}
	}
}

// FEAT-364 FEAT-377 FEAT-378 FEAT-380 FEAT-387 FEAT-388 FEAT-390 FEAT-391 FEAT-394 FEAT-395 FEAT-396 FEAT-403 FEAT-420 E3.16
func TestBUG194TaskResult(t *testing.T) {
	for _, tt := range []struct{ args, status, outcome string }{
		{`{"ms":3000}`, `completed 0 3`, `"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}},"content":[{"type":"text","text":"done"}]}`},
		{`{"ms":3000,"fail":"tool"}`, `failed 0 3 out of paper`, `"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}},"content":[{"type":"text","text":"out of paper"}],"isError":true}`},
		{`{"ms":3000,"fail":"protocol"}`, `failed 0 3 no`, `"error":{"code":-31000,"message":"no","data":{"a":1}}`},
		{`{"ms":3000,"fail":"panic"}`, `failed 0 3 internal error`, `"error":{"code":-32603,"message":"internal error"}`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			talkTasks(t, taskServer(t, nil), Revision20251125, `
				> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","arguments":`+tt.args+`,"task":{}}}
				< {"jsonrpc":"2.0","id":1,"result":{"task":{⟨t1 working 0 0⟩}}}
				> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1"}}
				< {"jsonrpc":"2.0","id":2,"result":{⟨t1 working 0 0⟩}}
				> {"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{"taskId":"t1","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t9"}}}}
				> {"jsonrpc":"2.0","id":4,"method":"tasks/result","params":{"taskId":"t1"}}
				. 2999ms
				. 1ms
				~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 `+tt.status+`⟩}}
				~ {"jsonrpc":"2.0","id":3,`+tt.outcome+`}
				~ {"jsonrpc":"2.0","id":4,`+tt.outcome+`}
				> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"t1"}}
				< {"jsonrpc":"2.0","id":5,"result":{⟨t1 `+tt.status+`⟩}}
				> {"jsonrpc":"2.0","id":6,"method":"tasks/result","params":{"taskId":"t1"}}
				< {"jsonrpc":"2.0","id":6,`+tt.outcome+`}
			`)
		})
	}
}

// FEAT-366 FEAT-370 FEAT-371 FEAT-372 FEAT-384 E3.13 E3.14 FEAT-019
func TestBUG193TaskSupport(t *testing.T) {
	talkTasks(t, taskServer(t, nil), Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"must"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"tool \"must\" runs only as a task: the call needs the parameter task"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"never","task":{"ttl":1000}}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"tool \"never\" does not run as a task"}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"plain","task":{"ttl":1000}}}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"tool \"plain\" does not run as a task"}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"job"}}
		< {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}]}}
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"unknown","task":{}}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"unknown tool \"unknown\""}}
		> {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"job","task":{},"arguments":{"ms":"x"}}}
		< {"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"invalid arguments for tool \"job\": /ms: want integer, got string"}],"isError":true}}
		> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"job","task":7}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"tools/call: invalid parameters: task: want an object, got a number"}}
		> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"must","task":{}}}
		< {"jsonrpc":"2.0","id":8,"result":{"task":{⟨t1 working 0 0⟩}}}
		< {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 0⟩}}
	`)
}

// FEAT-402 FEAT-405 FEAT-408 FEAT-415 FEAT-417 FEAT-432 FEAT-461
func TestTaskMethodErrors(t *testing.T) {
	const missing = `"error":{"code":-32602,"message":"no such task, or not any more"}`
	talkTasks(t, taskServer(t, nil), Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}
		< {"jsonrpc":"2.0","id":1,`+missing+`}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"x"}}
		< {"jsonrpc":"2.0","id":2,`+missing+`}
		> {"jsonrpc":"2.0","id":3,"method":"tasks/cancel","params":{"taskId":"x"}}
		< {"jsonrpc":"2.0","id":3,`+missing+`}
		> {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"tasks/get: invalid parameters: taskId: missing"}}
		> {"jsonrpc":"2.0","id":5,"method":"tasks/result"}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"tasks/result: invalid parameters: taskId: missing"}}
		> {"jsonrpc":"2.0","id":6,"method":"tasks/cancel","params":{"taskId":7}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"tasks/cancel: invalid parameters: taskId: want a string, got a number"}}
		> {"jsonrpc":"2.0","id":7,"method":"tasks/list"}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"tasks are listed only for callers with an identity"}}
		> {"jsonrpc":"2.0","id":8,"method":"tasks/update","params":{"taskId":"x","inputResponses":{}}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method \"tasks/update\" not found"}}
	`)
	const params = `"params":{"taskId":"x","inputResponses":{},`
	talkTasks(t, taskServer(t, nil), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tasks/get",`+params+`⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,`+missing+`}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/update",`+params+`⟪task⟫}}
		< {"jsonrpc":"2.0","id":2,`+missing+`}
		> {"jsonrpc":"2.0","id":3,"method":"tasks/cancel",`+params+`⟪task⟫}}
		< {"jsonrpc":"2.0","id":3,`+missing+`}
		> {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{⟪task⟫}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"tasks/get: invalid parameters: taskId: missing"}}
		> {"jsonrpc":"2.0","id":5,"method":"tasks/update","params":{"taskId":"x",⟪task⟫}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"tasks/update: invalid parameters: inputResponses: missing"}}
		> {"jsonrpc":"2.0","id":6,"method":"tasks/update","params":{"taskId":"x","inputResponses":[],⟪task⟫}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"inputResponses must be an object, not []"}}
		> {"jsonrpc":"2.0","id":7,"method":"tasks/result",`+params+`⟪task⟫}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method \"tasks/result\" not found"}}
		> {"jsonrpc":"2.0","id":8,"method":"tasks/list","params":{⟪⟫}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method \"tasks/list\" not found"}}
	`)
}

// What says nothing of tasks knows none.
// FEAT-368 FEAT-375 FEAT-435
func TestNoTasks(t *testing.T) {
	for _, rev := range sessionRevisions()[1:] {
		talk(t, serve(taskServer(t, nil)), meet(rev, `{"logging":{},"tools":{"listChanged":true}}`)+`
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"must","task":{}}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}
			> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"x"}}
			< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method \"tasks/get\" is not part of revision `+rev+`"}}
			> {"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{"taskId":"x"}}
			< {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method \"tasks/result\" is not part of revision `+rev+`"}}
			> {"jsonrpc":"2.0","id":4,"method":"tasks/cancel","params":{"taskId":"x"}}
			< {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"method \"tasks/cancel\" is not part of revision `+rev+`"}}
			> {"jsonrpc":"2.0","id":5,"method":"tasks/list"}
			< {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"tasks are listed only for callers with an identity"}}
		`)
	}
	talk(t, serve(testServer(t, nil)), hello(Revision20251125, `{}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"task":{}}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"x"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method \"tasks/get\" is not offered by this server"}}
	`)
}

// FEAT-396 FEAT-397 FEAT-408 FEAT-409 FEAT-410 FEAT-411 FEAT-412 FEAT-404 E3.7 E3.17 BASE-126 E11.16
func TestTaskCancel(t *testing.T) {
	talkTasks(t, taskServer(t, nil), Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","arguments":{"ms":9000},"task":{}}}
		< {"jsonrpc":"2.0","id":1,"result":{"task":{⟨t1 working 0 0⟩}}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}
		. 1s
		> {"jsonrpc":"2.0","id":3,"method":"tasks/cancel","params":{"taskId":"t1"}}
		~ {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the task was cancelled"}}
		~ {"jsonrpc":"2.0","id":3,"result":{⟨t1 cancelled 0 1 cancelled by the requestor⟩}}
		> {"jsonrpc":"2.0","id":4,"method":"tasks/cancel","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"the task is over, and cannot be cancelled"}}
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"stubborn","arguments":{"ms":1010},"task":{},"_meta":{"progressToken":"p"}}}
		< {"jsonrpc":"2.0","id":5,"result":{"task":{⟨t2 working 1 1⟩}}}
		. 1s
		> {"jsonrpc":"2.0","id":6,"method":"tasks/cancel","params":{"taskId":"t2"}}
		< {"jsonrpc":"2.0","id":6,"result":{⟨t2 cancelled 1 2 cancelled by the requestor⟩}}
		. 10ms
		> {"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"t2"}}
		< {"jsonrpc":"2.0","id":7,"result":{⟨t2 cancelled 1 2 cancelled by the requestor⟩}}
		> {"jsonrpc":"2.0","id":8,"method":"tasks/result","params":{"taskId":"t2"}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"the task was cancelled"}}
	`)
}

const (
	related1 = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}`
	accepts1 = `"result":{"action":"accept","content":{"name":"Ann"},` + related1 + `}`
)

// FEAT-398 FEAT-399 FEAT-400 FEAT-401 E3.9 E3.10
func TestTaskQuestion(t *testing.T) {
	const begin = `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","task":{}}}
		< {"jsonrpc":"2.0","id":1,"result":{"task":{⟨t1 working 0 0⟩}}}
		< {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 input_required 0 0⟩}}
		. 1s
		> {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{` + related1 + `,` + nameQuestion + `}}
		`
	for name, script := range map[string]string{
		"answered": `
			> {"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{"taskId":"t1"}}
			> {"jsonrpc":"2.0","id":1,` + accepts1 + `}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 1⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 1⟩}}
			~ {"jsonrpc":"2.0","id":2,"result":{` + related1 + `,"content":[{"type":"text","text":"{\"name\":\"Ann\"}"}]}}
			~ {"jsonrpc":"2.0","id":3,"result":{` + related1 + `,"content":[{"type":"text","text":"{\"name\":\"Ann\"}"}]}}`,
		"declined twice": `
			> {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 1⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 input_required 0 1⟩}}
			~ {"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{` + related1 + `,` + nameQuestion + `}}
			> {"jsonrpc":"2.0","id":2,"result":{"action":"cancel"}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 1⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 1⟩}}
			~ {"jsonrpc":"2.0","id":2,"result":{` + related1 + `,"content":[{"type":"text","text":"declined twice"}]}}`,
		"refused": `
			> {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"busy"}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 1⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 failed 0 1 mcp: elicitation/create: busy (code -1)⟩}}
			~ {"jsonrpc":"2.0","id":2,"result":{` + related1 + `,"content":[{"type":"text","text":"mcp: elicitation/create: busy (code -1)"}],"isError":true}}`,
		"badly answered": `
			> {"jsonrpc":"2.0","id":1,"result":{"action":"perhaps"}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 1⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 failed 0 1 mcp: elicitation/create: mcp: invalid response: action must be accept, decline or cancel, not "perhaps" (code -32603)⟩}}
			~ {"jsonrpc":"2.0","id":2,"result":{` + related1 + `,"content":[{"type":"text","text":"mcp: elicitation/create: mcp: invalid response: action must be accept, decline or cancel, not \"perhaps\" (code -32603)"}],"isError":true}}`,
		"never answered": `
			. 10m
			~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: elicitation/create: no answer within 10m0s"}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 601⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 failed 0 601 mcp: elicitation/create: no answer within 10m0s (code -32603)⟩}}
			~ {"jsonrpc":"2.0","id":2,"result":{` + related1 + `,"content":[{"type":"text","text":"mcp: elicitation/create: no answer within 10m0s (code -32603)"}],"isError":true}}`,
		"waiter lost": `
			> {"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{"taskId":"t1"}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"bored"}}
			~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: elicitation/create: context canceled: mcp: cancelled by the peer: bored"}}
			~ {"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{` + related1 + `,` + nameQuestion + `}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"bored"}}
			< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: elicitation/create: context canceled: mcp: cancelled by the peer: bored"}}
			. 1s
			> {"jsonrpc":"2.0","id":4,"method":"tasks/result","params":{"taskId":"t1"}}
			< {"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{` + related1 + `,` + nameQuestion + `}}
			> {"jsonrpc":"2.0","id":3,` + accepts1 + `}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 2⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 2⟩}}
			~ {"jsonrpc":"2.0","id":4,"result":{` + related1 + `,"content":[{"type":"text","text":"{\"name\":\"Ann\"}"}]}}`,
		// FEAT-413
		"cancelled": `
			> {"jsonrpc":"2.0","id":3,"method":"tasks/cancel","params":{"taskId":"t1"}}
			~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: elicitation/create: context canceled: the task is over"}}
			~ {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the task was cancelled"}}
			~ {"jsonrpc":"2.0","id":3,"result":{⟨t1 cancelled 0 1 cancelled by the requestor⟩}}
			> {"jsonrpc":"2.0","id":1,` + accepts1 + `}
			> {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"t1"}}
			< {"jsonrpc":"2.0","id":4,"result":{⟨t1 cancelled 0 1 cancelled by the requestor⟩}}`,
	} {
		t.Run(name, func(t *testing.T) {
			talkTasks(t, taskServer(t, nil), Revision20251125, begin+script)
		})
	}
}

// A handler that does not wait any longer takes its question back.
func TestTaskQuestionWithdrawn(t *testing.T) {
	talkTasks(t, taskServer(t, nil), Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"ms":5000},"task":{}}}
		< {"jsonrpc":"2.0","id":1,"result":{"task":{⟨t1 working 0 0⟩}}}
		< {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 input_required 0 0⟩}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+related1+`,`+nameQuestion+`}}
		. 5s
		~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: elicitation/create: context canceled: the task has taken the question back"}}
		~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 5⟩}}
		. 1s
		~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 6⟩}}
		~ {"jsonrpc":"2.0","id":2,"result":{`+related1+`,"content":[{"type":"text","text":"nobody"}]}}
	`)
}

// FEAT-399 FEAT-404 E3.11 BASE-153
func TestTaskReports(t *testing.T) {
	report := func(n int) string {
		return fmt.Sprintf(`
			. 1s
			< {"jsonrpc":"2.0","method":"notifications/progress","params":{%s,"progressToken":"p","progress":%d,"total":3}}
			< {"jsonrpc":"2.0","method":"notifications/message","params":{%[1]s,"level":"error","data":%[3]d}}`, related1, n, n-1)
	}
	talkTasks(t, taskServer(t, nil), Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","task":{},"_meta":{"progressToken":"p"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"task":{⟨t1 working 0 0⟩}}}`+report(1)+report(2)+report(3)+`
		< {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 3⟩}}
	`)
	// FEAT-473: none of it at 2026-07-28
	talkTasks(t, taskServer(t, nil), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		. 5s
		> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,⟨t1 completed 0 3⟩,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}}
	`)
}

// FEAT-383
func TestTaskImmediateResponse(t *testing.T) {
	talkTasks(t, taskServer(t, nil), Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"now","arguments":{"ms":1},"task":{}}}
		< {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/model-immediate-response":"Go on."},"task":{⟨t1 working 0 0⟩}}}
		. 1s
		< {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t1","status":"completed","createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:00.001Z","ttl":3600000,"pollInterval":1000}}
	`)
}

// FEAT-422 FEAT-424 FEAT-425 FEAT-426 FEAT-427 FEAT-430 FEAT-433 FEAT-434 FEAT-437 FEAT-438 FEAT-439 FEAT-441 FEAT-446 FEAT-447
// FEAT-449 FEAT-450 FEAT-478 E3.1 E3.2 E3.3 E3.4 E3.5 E3.8 E3.15 E3.20 E3.21 BASE-094 FEAT-066 E11.6 E11.7
func TestTaskExtension(t *testing.T) {
	const need = `"error":{"code":-32021,"message":"the client did not declare io.modelcontextprotocol/tasks",⟪need⟫}`
	talkTasks(t, taskServer(t, nil), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{⟪⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",⟪=⟫,"ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"logging":{},"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"job","task":{"ttl":5},⟪⟫}}
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,"content":[{"type":"text","text":"done"}]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"must",⟪⟫}}
		< {"jsonrpc":"2.0","id":3,`+need+`}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"never","task":{},⟪task⟫}}
		< {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete",⟪=⟫,"content":[{"type":"text","text":"done"}]}}
		> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"x",⟪⟫}}
		< {"jsonrpc":"2.0","id":5,`+need+`}
		> {"jsonrpc":"2.0","id":6,"method":"tasks/update","params":{"taskId":"x","inputResponses":{},⟪⟫}}
		< {"jsonrpc":"2.0","id":6,`+need+`}
		> {"jsonrpc":"2.0","id":7,"method":"tasks/cancel","params":{"taskId":"x",⟪⟫}}
		< {"jsonrpc":"2.0","id":7,`+need+`}
		> {"jsonrpc":"2.0","id":8,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["x"]},⟪⟫}}
		< {"jsonrpc":"2.0","id":8,`+need+`}
	`)
	for _, tt := range []struct{ args, status, outcome string }{
		{`{"ms":3000}`, `completed 0 3`, `"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}`},
		{`{"ms":3000,"fail":"tool"}`, `completed 0 3 out of paper`, `"result":{"resultType":"complete","content":[{"type":"text","text":"out of paper"}],"isError":true}`},
		{`{"ms":3000,"fail":"protocol"}`, `failed 0 3 no`, `"error":{"code":-31000,"message":"no","data":{"a":1}}`},
		{`{"ms":3000,"fail":"panic"}`, `failed 0 3 internal error`, `"error":{"code":-32603,"message":"internal error"}`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			talkTasks(t, taskServer(t, nil), Revision20260728, `
				> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"must","arguments":`+tt.args+`,⟪task⟫}}
				< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
				> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
				< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,⟨t1 working 0 0⟩}}
				. 3s
				> {"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
				< {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete",⟪=⟫,⟨t1 `+tt.status+`⟩,`+tt.outcome+`}}
			`)
		})
	}
}

// FEAT-455 FEAT-456 FEAT-457 FEAT-458 FEAT-459 FEAT-460 FEAT-462 FEAT-463 E3.9 E3.10 E3.18 E3.19
func TestTaskUpdate(t *testing.T) {
	const (
		get    = `"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}`
		ask    = `{"method":"elicitation/create","params":{` + nameQuestion + `}}`
		ack    = `"result":{"resultType":"complete",⟪=⟫}}`
		update = `"method":"tasks/update","params":{"taskId":"t1",⟪task⟫,"inputResponses":`
		accept = `{"action":"accept","content":{"name":"Ann"}}`
	)
	talkTasks(t, taskServer(t, nil), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"both",⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		. 1s
		> {"jsonrpc":"2.0","id":2,`+get+`
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,⟨t1 input_required 0 0⟩,"inputRequests":{"one":`+ask+`,"two":`+ask+`}}}
		> {"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t1",⟪mute⟫}}
		< {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete",⟪=⟫,⟨t1 input_required 0 0⟩,"inputRequests":{}}}
		> {"jsonrpc":"2.0","id":4,`+update+`{"nope":{"ignored":true}}}}
		< {"jsonrpc":"2.0","id":4,`+ack+`
		> {"jsonrpc":"2.0","id":5,`+update+`{"one":7}}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"inputResponses: \"one\": mcp: invalid response: want an object, got a number"}}
		> {"jsonrpc":"2.0","id":6,`+update+`{"one":{"action":"accept","content":{"name":7}},"two":`+accept+`}}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"inputResponses: \"one\": mcp: invalid response: name: want a string, got a number"}}
		> {"jsonrpc":"2.0","id":7,`+update+`{"one":`+accept+`}}}
		< {"jsonrpc":"2.0","id":7,`+ack+`
		> {"jsonrpc":"2.0","id":8,`+get+`
		< {"jsonrpc":"2.0","id":8,"result":{"resultType":"complete",⟪=⟫,⟨t1 input_required 0 0⟩,"inputRequests":{"two":`+ask+`}}}
		> {"jsonrpc":"2.0","id":9,`+update+`{"one":7}}}
		< {"jsonrpc":"2.0","id":9,`+ack+`
		> {"jsonrpc":"2.0","id":10,`+update+`{"two":`+accept+`}}}
		< {"jsonrpc":"2.0","id":10,`+ack+`
		> {"jsonrpc":"2.0","id":11,`+get+`
		< {"jsonrpc":"2.0","id":11,"result":{"resultType":"complete",⟪=⟫,⟨t1 completed 0 1⟩,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"name\":\"Ann\"} {\"name\":\"Ann\"}"}]}}}
		> {"jsonrpc":"2.0","id":12,`+update+`{"two":7}}}
		< {"jsonrpc":"2.0","id":12,`+ack+`
	`)
	// A name is not used again: what answers the first question is none to the second.
	talkTasks(t, taskServer(t, nil), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		> {"jsonrpc":"2.0","id":2,`+get+`
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,⟨t1 input_required 0 0⟩,"inputRequests":{"who":`+ask+`}}}
		> {"jsonrpc":"2.0","id":3,`+update+`{"who":{"action":"decline"}}}}
		< {"jsonrpc":"2.0","id":3,`+ack+`
		> {"jsonrpc":"2.0","id":4,`+update+`{"who":`+accept+`}}}
		< {"jsonrpc":"2.0","id":4,`+ack+`
		> {"jsonrpc":"2.0","id":5,`+get+`
		< {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete",⟪=⟫,⟨t1 input_required 0 0⟩,"inputRequests":{"who-2":`+ask+`}}}
	`)
	// What the client of the call cannot answer is not asked.
	talkTasks(t, taskServer(t, nil), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",⟪mute⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		> {"jsonrpc":"2.0","id":2,`+get+`
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,⟨t1 failed 0 0 the client did not declare elicitation.form⟩,"error":{"code":-32021,"message":"the client did not declare elicitation.form","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}}
	`)
}

// FEAT-466 FEAT-467 FEAT-468 FEAT-469 E3.6 E3.7 E3.17
func TestTaskExtensionCancel(t *testing.T) {
	const (
		ack    = `"result":{"resultType":"complete",⟪=⟫}}`
		cancel = `"method":"tasks/cancel","params":{"taskId":"t1",⟪task⟫}}`
	)
	talkTasks(t, taskServer(t, nil), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stubborn","arguments":{"ms":1010},⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		. 1s
		> {"jsonrpc":"2.0","id":2,`+cancel+`
		< {"jsonrpc":"2.0","id":2,`+ack+`
		. 10ms
		> {"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
		< {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete",⟪=⟫,⟨t1 cancelled 0 1 cancelled by the requestor⟩}}
		> {"jsonrpc":"2.0","id":4,`+cancel+`
		< {"jsonrpc":"2.0","id":4,`+ack+`
	`)
}

// FEAT-399 FEAT-444 FEAT-465
func TestLateTask(t *testing.T) {
	const ask = `{"method":"elicitation/create","params":{` + nameQuestion + `}}`
	t.Run("session", func(t *testing.T) {
		talkTasks(t, taskServer(t, nil), Revision20251125, `
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late","task":{}}}
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+nameQuestion+`}}
			. 1s
			> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ann"}}}
			~ {"jsonrpc":"2.0","id":1,"result":{"task":{⟨t1 working 1 1⟩}}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 input_required 1 1⟩}}
			> {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}
			< {"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{`+related1+`,`+nameQuestion+`}}
			> {"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"name":"Bob"},`+related1+`}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 1 1⟩}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 1 1⟩}}
			~ {"jsonrpc":"2.0","id":2,"result":{`+related1+`,"content":[{"type":"text","text":"{\"name\":\"Ann\"} {\"name\":\"Bob\"}"}]}}
		`)
	})
	t.Run("session, no Detach", func(t *testing.T) {
		talkTasks(t, taskServer(t, nil), Revision20251125, `
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late","arguments":{"fail":"early"},"task":{}}}
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+nameQuestion+`}}
			> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ann"}}}
			~ {"jsonrpc":"2.0","id":1,"result":{"task":{⟨t1 working 0 0⟩}}}
			~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 0⟩}}
			> {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}
			< {"jsonrpc":"2.0","id":2,"result":{`+related1+`,"content":[{"type":"text","text":"early"}]}}
		`)
	})
	t.Run("session, cancelled before", func(t *testing.T) {
		store := numberedTasks()
		talkTasks(t, taskServer(t, &ServerOptions{Tasks: TaskOptions{Store: store}}), Revision20251125, `
			> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late","task":{}}}
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+nameQuestion+`}}
			> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
			< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: elicitation/create: context canceled: mcp: cancelled by the peer"}}
		`)
		if n := store.n.Load(); n != 0 {
			t.Errorf("%d tasks for a call that was cancelled", n)
		}
	})
	const call = `"method":"tools/call","params":{"name":"late",⟪task⟫`
	t.Run("alone", func(t *testing.T) {
		s := taskServer(t, nil)
		talkTasks(t, s, Revision20260728, `
			> {"jsonrpc":"2.0","id":1,`+call+`,"inputResponses":{"1":{"action":"accept","content":{"name":"Ann"}}}}}
			< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
			> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
			< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,⟨t1 input_required 0 0⟩,"inputRequests":{"2":`+ask+`}}}
			> {"jsonrpc":"2.0","id":3,"method":"tasks/update","params":{"taskId":"t1","inputResponses":{"1":7,"2":{"action":"accept","content":{"name":"Bob"}}},⟪task⟫}}
			< {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete",⟪=⟫}}
			> {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
			< {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete",⟪=⟫,⟨t1 completed 0 0⟩,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"name\":\"Ann\"} {\"name\":\"Bob\"}"}]}}}
		`)
	})
	t.Run("alone, no Detach", func(t *testing.T) {
		talkTasks(t, taskServer(t, nil), Revision20260728, `
			> {"jsonrpc":"2.0","id":1,`+call+`,"arguments":{"fail":"early"},"inputResponses":{"1":{"action":"accept","content":{"name":"Ann"}}}}}
			< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",⟪=⟫,"content":[{"type":"text","text":"early"}]}}
		`)
	})
}

// FEAT-431 FEAT-471 FEAT-472 FEAT-474 FEAT-473 E3.12 E3.22
func TestTaskSubscription(t *testing.T) {
	const sub = `"_meta":{"io.modelcontextprotocol/subscriptionId":9}`
	store := numberedTasks()
	must(t, store.TaskStore.Create(t.Context(), &TaskRecord{ID: "foreign", Owner: "else"}))
	talkTasks(t, taskServer(t, &ServerOptions{Tasks: TaskOptions{Store: store}}), Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		. 1s
		> {"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["foreign","t1","unknown","t1"]},⟪task⟫}}
		< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+sub+`,"notifications":{"taskIds":["t1"]}}}
		< {"jsonrpc":"2.0","method":"notifications/tasks","params":{`+sub+`,⟨t1 input_required 0 0⟩,"inputRequests":{"who":{"method":"elicitation/create","params":{`+nameQuestion+`}}}}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/cancel","params":{"taskId":"t1",⟪task⟫}}
		~ {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫}}
		~ {"jsonrpc":"2.0","method":"notifications/tasks","params":{`+sub+`,⟨t1 cancelled 0 1 cancelled by the requestor⟩}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"job",⟪task⟫}}
		< {"jsonrpc":"2.0","id":3,"result":{"resultType":"task",⟪=⟫,⟨t2 working 1 1⟩}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}
		> {"jsonrpc":"2.0","id":10,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["t2"]},⟪task⟫}}
		< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":10},"notifications":{"taskIds":["t2"]}}}
		< {"jsonrpc":"2.0","method":"notifications/tasks","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":10},⟨t2 completed 1 1⟩,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}
	`)
}

// detaching is a server with a tool "d", which must run as a task and detaches itself.
func detaching(t *testing.T, opts *ServerOptions, h func(ctx context.Context, r *Request) (string, error)) *Server {
	t.Helper()
	s := newServer(t, opts)
	must(t, AddTool(s, &Tool{Name: "d", LateTask: true, Execution: &ToolExecution{TaskSupport: "optional"}},
		func(ctx context.Context, r *Request, _ struct{}) (string, error) { return h(ctx, r) }))
	return s
}

func TestDetach(t *testing.T) {
	const call = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"d",⟪task⟫}}
		`
	const get = `> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,`
	run := func(name string, h func(ctx context.Context, r *Request) (string, error), script string) {
		t.Run(name, func(t *testing.T) {
			talkTasks(t, detaching(t, &ServerOptions{Tasks: TaskOptions{Store: numberedTasks()}}, h), Revision20260728, script)
		})
	}
	run("twice", func(ctx context.Context, r *Request) (string, error) {
		one, err := r.Detach(ctx)
		two, again := r.Detach(one)
		return fmt.Sprint(one == ctx, two == one), errors.Join(err, again, r.Pause(time.Second))
	}, call+`
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		`+get+`⟨t1 completed 0 0⟩,"result":{"resultType":"complete","content":[{"type":"text","text":"false true"}]}}}`)
	run("without declaration", func(ctx context.Context, r *Request) (string, error) {
		one, err := r.Detach(ctx)
		return fmt.Sprint(one == ctx), err
	}, strings.Replace(call, "task", "", 1)+`
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",⟪=⟫,"content":[{"type":"text","text":"true"}]}}`)
	run("panic before", func(context.Context, *Request) (string, error) { panic("before") }, call+`
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
	run("panic after", func(ctx context.Context, r *Request) (string, error) {
		_, _ = r.Detach(ctx)
		panic("after")
	}, call+`
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}
		`+get+`⟨t1 failed 0 0 internal error⟩,"error":{"code":-32603,"message":"internal error"}}}`)
	run("with a question open", func(ctx context.Context, r *Request) (string, error) {
		_, _ = r.Elicit(ctx, nameForm)
		same, err := r.Detach(ctx)
		if same != ctx {
			t.Error("another context")
		}
		return "", errors.Join(Errorf(-31000, "%v", err))
	}, call+`
		< {"jsonrpc":"2.0","id":1,"error":{"code":-31000,"message":"mcp: the answer comes with another request, which runs the handler again"}}`)
	// What the request has held back is said before the answer, and nothing after it.
	run("progress", func(ctx context.Context, r *Request) (string, error) {
		for i := range progressBurst + 1 {
			_ = r.Progress(ctx, float64(i+1), 0, "")
		}
		_, err := r.Detach(ctx)
		return "", errors.Join(err, r.Progress(ctx, 1000, 0, ""), r.Log(ctx, LevelError, "", 1))
	}, strings.Replace(call, "⟪task⟫", "⟪told⟫", 1)+reports(progressBurst+1)+`
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task",⟪=⟫,⟨t1 working 0 0⟩}}`)
	t.Run("refused", func(t *testing.T) {
		talkTasks(t, detaching(t, &ServerOptions{Tasks: TaskOptions{Store: &failing{TaskStore: numberedTasks(), create: errors.New("disk full")}}},
			func(ctx context.Context, r *Request) (string, error) {
				same, err := r.Detach(ctx)
				if same != ctx {
					t.Error("another context")
				}
				return "", err
			}), Revision20260728, call+`
			< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",⟪=⟫,"content":[{"type":"text","text":"disk full"}],"isError":true}}`)
	})
}

// reports are the lines of n progress notifications for the token 1.
func reports(n int) (script string) {
	for i := range n {
		script += fmt.Sprintf("\n< "+`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i+1)
	}
	return script
}

// A failing store fails where it is told to.
type failing struct {
	TaskStore
	create error
	update atomic.Pointer[error]
	wait   atomic.Pointer[error]
}

func (s *failing) Create(ctx context.Context, t *TaskRecord) error {
	if s.create != nil {
		return s.create
	}
	return s.TaskStore.Create(ctx, t)
}

func (s *failing) Update(ctx context.Context, owner, id string, change func(*TaskRecord) error) (*TaskRecord, error) {
	if err := s.update.Load(); err != nil {
		return nil, *err
	}
	return s.TaskStore.Update(ctx, owner, id, change)
}

func (s *failing) Wait(ctx context.Context, owner, id string, after int64) (*TaskRecord, error) {
	if err := s.wait.Load(); err != nil {
		return nil, *err
	}
	return s.TaskStore.Wait(ctx, owner, id, after)
}

// FEAT-415: trouble of the store is trouble of the server's, and says no more.
func TestTaskStoreFails(t *testing.T) {
	broken := errors.New("secret: disk full")
	store := &failing{TaskStore: numberedTasks()}
	s := taskServer(t, &ServerOptions{Tasks: TaskOptions{Store: store}})
	at := &atomic.Pointer[error]{}
	must(t, AddTool(s, &Tool{Name: "break"}, func(_ context.Context, r *Request, in struct {
		Create, Update, Wait bool `json:",omitempty"`
	}) (string, error) {
		set := func(p *atomic.Pointer[error], on bool) {
			if p.Store(nil); on {
				p.Store(&broken)
			}
		}
		set(at, in.Create)
		set(&store.update, in.Update)
		set(&store.wait, in.Wait)
		if store.create = nil; in.Create {
			store.create = broken
		}
		return "", nil
	}))
	n := 100
	breaks := func(what string) string {
		n++
		return fmt.Sprintf(`
			> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"break","arguments":{%s}}}
			< {"jsonrpc":"2.0","id":%[1]d,"result":{"content":[{"type":"text","text":""}]}}`, n, what)
	}
	const failed = `"error":{"code":-32603,"message":"internal error"}}`
	talkTasks(t, s, Revision20251125, breaks(`"Create":true`)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","task":{}}}
		< {"jsonrpc":"2.0","id":1,`+failed+`
		`+breaks(``)+`
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"job","arguments":{"ms":2000},"task":{}}}
		< {"jsonrpc":"2.0","id":2,"result":{"task":{⟨t1 working 0 0⟩}}}
		`+breaks(`"Wait":true,"Update":true`)+`
		> {"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":3,`+failed+`
		> {"jsonrpc":"2.0","id":4,"method":"tasks/result","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":4,`+failed+`
		> {"jsonrpc":"2.0","id":5,"method":"tasks/cancel","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":5,`+failed+`
		. 3s
		`+breaks(``)+`
		# Its outcome is lost, and it says so at its end.
		> {"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":6,"result":{⟨t1 working 0 0⟩}}
	`)
}

// A task that is older than it is kept ends its handler.
// FEAT-414 FEAT-452
func TestTaskExpires(t *testing.T) {
	ended := ""
	s := newServer(t, &ServerOptions{Tasks: TaskOptions{Store: numberedTasks()}})
	must(t, AddTool(s, &Tool{Name: "long", Execution: &ToolExecution{TaskSupport: "optional"}}, func(ctx context.Context, r *Request, _ struct{}) (string, error) {
		<-ctx.Done()
		ended = fmt.Sprint(time.Now().Second(), " ", context.Cause(ctx), " ", r.Progress(context.Background(), 1, 0, ""))
		return "", nil
	}))
	talkTasks(t, s, Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"long","task":{"ttl":5000}}}
		< {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t1","status":"working","createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:00Z","ttl":5000,"pollInterval":1000}}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}
		. 5s
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no such task, or not any more"}}
		> {"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no such task, or not any more"}}
	`)
	if want := "5 mcp: the task is gone: mcp: no such task mcp: the request is over"; ended != want {
		t.Errorf("got %q, want %q", ended, want)
	}
}

// FEAT-382 FEAT-415
func TestBUG197TaskPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &ServerOptions{Tasks: TaskOptions{TTL: 100 * time.Millisecond}})
		must(t, AddTool(s, &Tool{Name: "task", Execution: &ToolExecution{TaskSupport: "required"}}, func(ctx context.Context, r *Request, in jobInput) (string, error) {
			return works(ctx, r, in)
		}))
		cs := join(t, s, nil)
		for _, err := range cs.Tools(t.Context()) {
			must(t, err)
		}
		var tasks []*ClientTask
		for i := range 1000 {
			in := jobInput{MS: 1}
			if i == 500 {
				in.Fail = "panic"
			}
			task, _, err := cs.StartTool(t.Context(), "task", in, 0)
			must(t, err)
			tasks = append(tasks, task)
		}
		time.Sleep(50 * time.Millisecond)
		for i, task := range tasks {
			want := TaskCompleted
			if i == 500 {
				want = TaskFailed
			}
			if got, err := task.Get(t.Context()); err != nil || got.Status != want {
				t.Errorf("task %d: %+v, %v", i, got, err)
			}
		}
		time.Sleep(time.Second)
		for _, task := range tasks {
			_, err := task.Get(t.Context())
			checkError(t, "an expired task", err, "mcp: tasks/get: no such task, or not any more (code -32602)")
		}
		must(t, AddTool(s, &Tool{Name: "other"}, works))
	})
}

// taskCall calls a tool of a scripted server and notes what comes of it.
func taskCall(t *testing.T, rev string, opts *ClientOptions, use func(ctx context.Context, cs *ClientSession) (*CallToolResult, error), want string) func(context.Context, Conn) {
	o := ClientOptions{}
	if opts != nil {
		o = *opts
	}
	o.Revisions = []string{rev}
	return asClient(t, &o, func(ctx context.Context, cs *ClientSession) {
		if rev == Revision20251125 {
			if _, err := cs.ListTools(ctx, nil); err != nil {
				t.Errorf("ListTools: %v", err)
			}
		}
		r, err := use(ctx, cs)
		got := errorText(err)
		if r != nil {
			got = strings.TrimSpace(r.Text() + " " + got)
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// listsTasks opens a session with a scripted server of 2025-11-25, which lists a tool
// of each kind.
func listsTasks(caps, offers string) string {
	return shakeHands(Revision20251125, caps, offers) + `< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
		> {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"must","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"may","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"never","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}},{"name":"plain","inputSchema":{"type":"object"}}]}}
		`
}

// aTask are the members of a scripted task that is kept for two seconds.
func aTask(status string) string {
	return `"taskId":"t","status":"` + status + `","createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:00Z","ttl":2000,"pollInterval":500`
}

const scriptedTasks = `{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`

// FEAT-392 FEAT-453
func TestBUG199ClientPolls(t *testing.T) {
	const get = `"method":"tasks/get","params":{"taskId":"t"}}`
	call := func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
		return cs.CallTool(ctx, "must", nil)
	}
	begin := listsTasks(`{}`, scriptedTasks) + `
		< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"must","task":{}}}
		> {"jsonrpc":"2.0","id":3,"result":{"task":{` + aTask("working") + `}}}
		`
	polls := func(ids ...int) (script string) {
		for i, id := range ids {
			if i > 0 {
				script += "\n. 499ms\n. 1ms"
			}
			script += fmt.Sprintf("\n< "+`{"jsonrpc":"2.0","id":%d,%s`+"\n> "+`{"jsonrpc":"2.0","id":%[1]d,"result":{%[3]s}}`, id, get, aTask("working"))
		}
		return script
	}
	talk(t, taskCall(t, Revision20251125, nil, call, "mcp: task t is working after the 2s that the server wants to keep it"), begin+polls(4, 5, 6, 7, 8)+`
		< {"jsonrpc":"2.0","id":9,"method":"tasks/cancel","params":{"taskId":"t"}}
		> {"jsonrpc":"2.0","id":9,"result":{`+aTask("cancelled")+`}}
	`)
	// FEAT-402 FEAT-412 FEAT-470: who does not wait any more cancels the task, not the request.
	talk(t, taskCall(t, Revision20251125, nil, func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, 700*time.Millisecond)
		defer cancel()
		return call(ctx, cs)
	}, "context deadline exceeded"), begin+polls(4, 5)+`
		. 200ms
		< {"jsonrpc":"2.0","id":6,"method":"tasks/cancel","params":{"taskId":"t"}}
		> {"jsonrpc":"2.0","id":6,"result":{`+aTask("cancelled")+`}}
	`)
}

// FEAT-367 FEAT-369 FEAT-371 FEAT-376 FEAT-381 FEAT-384 FEAT-395 FEAT-397
func TestClientStartsTask(t *testing.T) {
	start := func(tool string) func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
		return func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
			task, r, err := cs.StartTool(ctx, tool, nil, time.Minute)
			if task == nil {
				return r, err
			}
			if r != nil || err != nil {
				t.Errorf("a task, and %v, %v", r, err)
			}
			return task.Result(ctx)
		}
	}
	const done = `{"content":[{"type":"text","text":"done"}]}`
	for _, tool := range []string{"never", "plain", "unknown"} {
		talk(t, taskCall(t, Revision20251125, nil, start(tool), "done"), listsTasks(`{}`, scriptedTasks)+`
			< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"`+tool+`"}}
			> {"jsonrpc":"2.0","id":3,"result":`+done+`}`)
	}
	for _, offers := range []string{`{"tools":{}}`, `{"tools":{},"tasks":{"requests":{}}}`, `{"tools":{},"tasks":{"requests":{"tools":{}}}}`} {
		talk(t, taskCall(t, Revision20251125, nil, start("must"), "done"), listsTasks(`{}`, offers)+`
			< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"must"}}
			> {"jsonrpc":"2.0","id":3,"result":`+done+`}`)
	}
	const call = `
		< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"may","task":{"ttl":60000}}}
		`
	for name, tt := range map[string]struct{ script, want string }{
		"answered at once": {`> {"jsonrpc":"2.0","id":3,"result":` + done + `}`, "done"},
		"refused":          {`> {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}`, "mcp: tools/call: no (code -32602)"},
		"no id":            {`> {"jsonrpc":"2.0","id":3,"result":{"task":{"status":"working"}}}`, "mcp: invalid response: tools/call: taskId: missing"},
		"done": {`> {"jsonrpc":"2.0","id":3,"result":{"task":{` + aTask("completed") + `}}}
			< {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"t"}}
			> {"jsonrpc":"2.0","id":4,"result":{` + aTask("completed") + `}}
			< {"jsonrpc":"2.0","id":5,"method":"tasks/result","params":{"taskId":"t"}}
			> {"jsonrpc":"2.0","id":5,"result":` + done + `}`, "done"},
		"failed": {`> {"jsonrpc":"2.0","id":3,"result":{"task":{` + aTask("working") + `}}}
			< {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"t"}}
			> {"jsonrpc":"2.0","id":4,"result":{` + aTask("failed") + `}}
			< {"jsonrpc":"2.0","id":5,"method":"tasks/result","params":{"taskId":"t"}}
			> {"jsonrpc":"2.0","id":5,"error":{"code":-5,"message":"broken"}}`, "mcp: tasks/result: broken (code -5)"},
		"gone": {`> {"jsonrpc":"2.0","id":3,"result":{"task":{` + aTask("working") + `}}}
			< {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"t"}}
			> {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no such task"}}`, "mcp: tasks/get: no such task (code -32602)"},
	} {
		t.Run(name, func(t *testing.T) {
			talk(t, taskCall(t, Revision20251125, nil, start("may"), tt.want), listsTasks(`{}`, scriptedTasks)+call+tt.script)
		})
	}
}

// ann is the answer to nameForm.
var ann = &ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Ann"}`)}

// What the task asks is answered, and what it reports is told, as it comes.
// FEAT-392 FEAT-400 FEAT-401 FEAT-404 FEAT-383
func TestClientTaskAsks(t *testing.T) {
	var reports []string
	o := &ClientOptions{Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
		return ann, nil
	}}
	const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}`
	talk(t, taskCall(t, Revision20251125, o, func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
		cs = cs.With(CallOptions{Progress: func(p Progress) { reports = append(reports, fmt.Sprint(p.Value)) }})
		task, _, err := cs.StartTool(ctx, "may", nil, 0)
		if err != nil {
			return nil, err
		}
		reports = append(reports, task.ImmediateResponse)
		return task.Result(ctx)
	}, "done"), listsTasks(`{"elicitation":{"form":{}}}`, scriptedTasks)+`
		< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"progressToken":3},"name":"may","task":{}}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1,`+related+`}}
		> {"jsonrpc":"2.0","id":3,"result":{"_meta":{"io.modelcontextprotocol/model-immediate-response":"Go on."},"task":{`+aTask("working")+`}}}
		< {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"t"}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":2,`+related+`}}
		> {"jsonrpc":"2.0","id":4,"result":{`+aTask("working")+`}}
		. 500ms
		< {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"t"}}
		> {"jsonrpc":"2.0","id":5,"result":{`+aTask("input_required")+`}}
		< {"jsonrpc":"2.0","id":6,"method":"tasks/result","params":{"taskId":"t"}}
		> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+nameQuestion+`,`+related+`}}
		< {"jsonrpc":"2.0","id":1,"result":{`+related+`,"action":"accept","content":{"name":"Ann"}}}
		> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":3,`+related+`}}
		> {"jsonrpc":"2.0","id":6,"result":{`+related+`,"content":[{"type":"text","text":"done"}]}}
	`)
	if got := strings.Join(reports, " "); got != "1 Go on. 2 3" {
		t.Errorf("reports %q", got)
	}
}

// FEAT-405 FEAT-408 FEAT-423 BASE-126
func TestClientListsTasks(t *testing.T) {
	talk(t, taskCall(t, Revision20251125, nil, func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
		var ids []string
		for task, err := range cs.Tasks(ctx) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, fmt.Sprint(task.TaskID, " ", task.Status, " ", task.TTL.Duration(), " ", *task.PollInterval))
		}
		return &CallToolResult{Content: says(strings.Join(ids, ", "))}, cs.Task("t2").Cancel(ctx)
	}, `t working 2s 500, t completed 2s 500 mcp: tasks/cancel: no (code -32602)`), listsTasks(`{}`, scriptedTasks)+`
		< {"jsonrpc":"2.0","id":3,"method":"tasks/list","params":{}}
		> {"jsonrpc":"2.0","id":3,"result":{"tasks":[{`+aTask("working")+`},{"taskId":7}],"nextCursor":"c"}}
		< {"jsonrpc":"2.0","id":4,"method":"tasks/list","params":{"cursor":"c"}}
		> {"jsonrpc":"2.0","id":4,"result":{"tasks":[{`+aTask("completed")+`}]}}
		< {"jsonrpc":"2.0","id":5,"method":"tasks/cancel","params":{"taskId":"t2"}}
		> {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"no"}}
	`)
	talk(t, taskCall(t, Revision20251125, nil, func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
		_, err := cs.ListTasks(ctx, nil)
		return nil, errors.Join(err, cs.Task("t").Cancel(ctx))
	}, "mcp: the server does not offer tasks/list\nmcp: the server does not offer tasks/cancel"), listsTasks(`{}`, `{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}`))
}

// newestHello opens a conversation of a client of 2026-07-28, whose requests say meta.
func newestHello(meta string) string {
	return `< {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}
		> {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}
		`
}

// FEAT-423 FEAT-428 FEAT-429 FEAT-442 FEAT-450 FEAT-464 FEAT-465 FEAT-446 FEAT-447 BASE-022 BASE-094 FEAT-065
func TestClientTaskExtension(t *testing.T) {
	const (
		meta   = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
		call   = `< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + meta + `,"name":"tool"}}` + "\n"
		ask    = `{"method":"elicitation/create","params":{` + nameQuestion + `}}`
		answer = `{"action":"accept","content":{"name":"Ann"}}`
	)
	task := func(status, more string) string {
		return strings.NewReplacer(`"ttl"`, `"ttlMs"`, `"pollInterval"`, `"pollIntervalMs"`).Replace(aTask(status)) + more
	}
	created := func(status string) string {
		return `> {"jsonrpc":"2.0","id":2,"result":{"resultType":"task",` + task(status, "") + `}}` + "\n"
	}
	get := func(id int, status, more string) string {
		return fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"method":"tasks/get","params":{%s,"taskId":"t"}}`+"\n"+`> {"jsonrpc":"2.0","id":%[1]d,"result":{"resultType":"complete",%[3]s}}`+"\n", id, meta, task(status, more))
	}
	cancel := func(id int) string {
		return fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"method":"tasks/cancel","params":{%s,"taskId":"t"}}`+"\n"+`> {"jsonrpc":"2.0","id":%[1]d,"result":{"resultType":"complete"}}`, id, meta)
	}
	const done = `,"result":{"content":[{"type":"text","text":"done"}]}`
	for name, tt := range map[string]struct{ script, want string }{
		"no task":              {`> {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[{"type":"text","text":"plain"}]}}`, "plain"},
		"completed":            {created("working") + get(3, "working", "") + ". 500ms\n" + get(4, "completed", `,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}`), "done"},
		"at once":              {created("completed") + get(3, "completed", done), "done"},
		"failed":               {created("failed") + get(3, "failed", `,"error":{"code":-7,"message":"no","data":1}`), "mcp: task t: no (code -7)"},
		"failed without error": {created("failed") + get(3, "failed", ``), "mcp: task t: mcp: invalid response: it failed without an error"},
		"cancelled":            {created("working") + get(3, "cancelled", `,"statusMessage":"enough"`), "mcp: task t: mcp: cancelled by the peer: enough"},
		"no result":            {created("working") + get(3, "completed", ``), "mcp: invalid response: the result of task t: missing"},
		"never ends": {created("working") + get(3, "working", "") + ". 500ms\n" + get(4, "working", "") + ". 500ms\n" + get(5, "working", "") + ". 500ms\n" + get(6, "working", "") + ". 500ms\n" + get(7, "working", "") + cancel(8),
			"mcp: task t is working after the 2s that the server wants to keep it"},
		"asks": {created("input_required") + get(3, "input_required", `,"inputRequests":{"1":`+ask+`}`) +
			`< {"jsonrpc":"2.0","id":4,"method":"tasks/update","params":{` + meta + `,"taskId":"t","inputResponses":{"1":` + answer + `}}}
			> {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete"}}
			. 500ms
			` + get(5, "input_required", `,"inputRequests":{"1":`+ask+`}`) + ". 500ms\n" + get(6, "completed", done), "done 1"},
		"asks in the call and in the task": {`> {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"1":` + ask + `}}}
			< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{` + meta + `,"name":"tool","inputResponses":{"1":` + answer + `}}}
			> {"jsonrpc":"2.0","id":3,"result":{"resultType":"task",` + task("working", "") + `}}
			` + get(4, "input_required", `,"inputRequests":{"1":`+ask+`}`) + `
			< {"jsonrpc":"2.0","id":5,"method":"tasks/update","params":{` + meta + `,"taskId":"t","inputResponses":{"1":` + answer + `}}}
			> {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete"}}
			. 500ms
			` + get(6, "completed", done), "done 2"},
		"asks what cannot be answered": {created("working") + get(3, "input_required", `,"inputRequests":{"1":{"method":"roots/list"}}`) + cancel(4),
			`mcp: task t: the server asks for "1": mcp: invalid response: the client did not declare roots`},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			o := &ClientOptions{Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
				asked++
				return ann, nil
			}}
			talk(t, taskCall(t, Revision20260728, o, func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
				r, err := cs.CallTool(ctx, "tool", nil)
				if asked > 0 {
					r.Content = append(r.Content, says(fmt.Sprint(" ", asked))...)
				}
				return r, err
			}, strings.Replace(tt.want, "done ", "done\n ", 1)), newestHello(meta)+call+tt.script)
		})
	}
	// FEAT-429, and where the client does not take tasks
	for _, o := range []*ClientOptions{{}, {NoTasks: true}} {
		said, want := `"extensions":{"io.modelcontextprotocol/tasks":{}}`, `mcp: invalid response: prompts/get: resultType is "task"`
		method, params := "prompts/get", `"name":"p"`
		if o.NoTasks {
			said, want, method = ``, `mcp: invalid response: tools/call: resultType is "task"`, "tools/call"
		}
		meta := `"_meta":{"io.modelcontextprotocol/clientCapabilities":{` + said + `},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
		talk(t, taskCall(t, Revision20260728, o, func(ctx context.Context, cs *ClientSession) (*CallToolResult, error) {
			if o.NoTasks {
				return cs.CallTool(ctx, "p", nil)
			}
			_, err := cs.With(CallOptions{Force: true}).GetPrompt(ctx, "p", nil)
			return nil, err
		}, want), newestHello(meta)+`
			< {"jsonrpc":"2.0","id":2,"method":"`+method+`","params":{`+meta+`,`+params+`}}
			> {"jsonrpc":"2.0","id":2,"result":{"resultType":"task",`+task("working", "")+`}}
		`)
	}
}

// clientTask are the members of a task that a client runs.
const clientTask = `"taskId":"t1","status":"%s","createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:0%dZ","ttl":3600000,"pollInterval":1000`

// A client runs what a server asks as tasks.
// FEAT-365 FEAT-366 FEAT-368 FEAT-421 FEAT-379 FEAT-388 FEAT-394 FEAT-395 FEAT-396 FEAT-401 FEAT-405 FEAT-408 FEAT-415
func TestClientRunsTasks(t *testing.T) {
	task := func(status string, second int) string { return fmt.Sprintf(clientTask, status, second) }
	o := &ClientOptions{Revisions: []string{Revision20251125}, Tasks: &TaskOptions{Store: numberedTasks()},
		Elicit: func(ctx context.Context, _ *ClientSession, p *ElicitParams) (*ElicitResult, error) {
			select {
			case <-time.After(3 * time.Second):
				return ann, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		Sample: func(_ context.Context, _ *ClientSession, p *CreateMessageParams) (*CreateMessageResult, error) {
			if p.MaxTokens == 13 {
				panic("unlucky")
			}
			return &CreateMessageResult{Meta: Meta{"k": "v"}, Role: RoleAssistant, Model: "m", Content: says("hi")}, nil
		}}
	const sample = `"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":`
	const missing = `"error":{"code":-32602,"message":"no such task, or not any more"}}`
	talk(t, asClient(t, o, nil), shakeHands(Revision20251125, `{"sampling":{},"elicitation":{"form":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`, `{}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+nameQuestion+`,"task":{}}}
		< {"jsonrpc":"2.0","id":1,"result":{"task":{`+task("working", 0)+`}}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":2,"result":{`+task("working", 0)+`}}
		> {"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{"taskId":"t1"}}
		. 3s
		~ {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{`+task("completed", 3)+`}}
		~ {"jsonrpc":"2.0","id":3,"result":{`+related1+`,"action":"accept","content":{"name":"Ann"}}}
		> {"jsonrpc":"2.0","id":4,"method":"tasks/list"}
		< {"jsonrpc":"2.0","id":4,"result":{"tasks":[{`+task("completed", 3)+`}]}}
		> {"jsonrpc":"2.0","id":5,"method":"tasks/cancel","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"the task is over, and cannot be cancelled"}}
		> {"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"x"}}
		< {"jsonrpc":"2.0","id":6,`+missing+`
		> {"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{}}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"tasks/get: invalid parameters: taskId: missing"}}
		> {"jsonrpc":"2.0","id":8,"method":"roots/list","params":{"task":{}}}
		< {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"Roots not supported"}}
		> {"jsonrpc":"2.0","id":9,`+sample+`5}}
		< {"jsonrpc":"2.0","id":9,"result":{"_meta":{"k":"v"},"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}}
		> {"jsonrpc":"2.0","id":10,`+sample+`5,"task":{}}}
		< {"jsonrpc":"2.0","id":10,"result":{"task":{"taskId":"t2","status":"working","createdAt":"2000-01-01T00:00:03Z","lastUpdatedAt":"2000-01-01T00:00:03Z","ttl":3600000,"pollInterval":1000}}}
		< {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t2","status":"completed","createdAt":"2000-01-01T00:00:03Z","lastUpdatedAt":"2000-01-01T00:00:03Z","ttl":3600000,"pollInterval":1000}}
		> {"jsonrpc":"2.0","id":11,"method":"tasks/result","params":{"taskId":"t2"}}
		< {"jsonrpc":"2.0","id":11,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t2"},"k":"v"},"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}}
		> {"jsonrpc":"2.0","id":12,`+sample+`13,"task":{}}}
		< {"jsonrpc":"2.0","id":12,"result":{"task":{"taskId":"t3","status":"working","createdAt":"2000-01-01T00:00:03Z","lastUpdatedAt":"2000-01-01T00:00:03Z","ttl":3600000,"pollInterval":1000}}}
		< {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t3","status":"failed","statusMessage":"internal error","createdAt":"2000-01-01T00:00:03Z","lastUpdatedAt":"2000-01-01T00:00:03Z","ttl":3600000,"pollInterval":1000}}
		> {"jsonrpc":"2.0","id":13,"method":"tasks/result","params":{"taskId":"t3"}}
		< {"jsonrpc":"2.0","id":13,"error":{"code":-32603,"message":"internal error"}}
		> {"jsonrpc":"2.0","id":14,"method":"elicitation/create","params":{`+nameQuestion+`,"task":{}}}
		< {"jsonrpc":"2.0","id":14,"result":{"task":{"taskId":"t4","status":"working","createdAt":"2000-01-01T00:00:03Z","lastUpdatedAt":"2000-01-01T00:00:03Z","ttl":3600000,"pollInterval":1000}}}
		> {"jsonrpc":"2.0","id":15,"method":"tasks/cancel","params":{"taskId":"t4"}}
		< {"jsonrpc":"2.0","id":15,"result":{"taskId":"t4","status":"cancelled","statusMessage":"cancelled by the requestor","createdAt":"2000-01-01T00:00:03Z","lastUpdatedAt":"2000-01-01T00:00:03Z","ttl":3600000,"pollInterval":1000}}
		> {"jsonrpc":"2.0","id":16,"method":"elicitation/create","params":{`+nameQuestion+`,"task":{}}}
		< {"jsonrpc":"2.0","id":16,"result":{"task":{"taskId":"t5","status":"working","createdAt":"2000-01-01T00:00:03Z","lastUpdatedAt":"2000-01-01T00:00:03Z","ttl":3600000,"pollInterval":1000}}}
	`)
	// Without the option task means nothing, and there are no tasks. FEAT-402
	o = &ClientOptions{Revisions: []string{Revision20251125}, Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) { return ann, nil }}
	talk(t, asClient(t, o, nil), shakeHands(Revision20251125, `{"elicitation":{"form":{}}}`, `{}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+nameQuestion+`,"task":{},`+related1+`}}
		< {"jsonrpc":"2.0","id":1,"result":{`+related1+`,"action":"accept","content":{"name":"Ann"}}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method \"tasks/get\" is not offered by this client"}}
		> {"jsonrpc":"2.0","id":3,"method":"tasks/list"}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method \"tasks/list\" is not offered by this client"}}
	`)
}

// A server asks for an answer as a task, where the client can do that.
// FEAT-366 FEAT-367 FEAT-421
func TestQuestionAsTask(t *testing.T) {
	minute := Milliseconds(60000)
	s := asks(t, nil, func(ctx context.Context, r *Request) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		answers, err := r.Ask(ctx, Question{Elicit: nameForm, Task: &TaskMetadata{TTL: &minute}})
		if err != nil {
			return "", err
		}
		return string(answers[0].Elicit.Content), nil
	})
	const ask = `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
		`
	can := hello(Revision20251125, `{"elicitation":{},"tasks":{"requests":{"elicitation":{"create":{}}}}}`) + ask +
		`< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{` + nameQuestion + `,"task":{"ttl":60000}}}
		`
	created := can + `> {"jsonrpc":"2.0","id":1,"result":{"task":{` + aTask("working") + `}}}
		< {"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t"}}
		`
	const says = `
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"name\":\"Ann\"}"}]}}`
	for name, script := range map[string]string{
		"a task":  created + `> {"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"name":"Ann"}}}` + says,
		"at once": can + `> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ann"}}}` + says,
		"not declared": hello(Revision20251125, `{"elicitation":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}}`) + ask + `
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{` + nameQuestion + `}}
			> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ann"}}}` + says,
		"refused": created + `> {"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"busy"}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"mcp: elicitation/create: busy (code -1)"}],"isError":true}}`,
		"too late": created + `. 10s
			~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: tasks/result: context deadline exceeded"}}
			~ {"jsonrpc":"2.0","id":3,"method":"tasks/cancel","params":{"taskId":"t"}}
			> {"jsonrpc":"2.0","id":3,"result":{` + aTask("cancelled") + `}}
			< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"mcp: tasks/result: context deadline exceeded"}],"isError":true}}`,
	} {
		t.Run(name, func(t *testing.T) { talk(t, serve(s), script) })
	}
}

// identified is a handler that takes the token for the name of the caller.
func identified(s *Server) *HTTPHandler {
	return &HTTPHandler{Server: s, Authorize: func(r *http.Request) (*Identity, error) {
		return &Identity{Issuer: "i", Subject: r.Header.Get("Authorization")}, nil
	}}
}

// A task is its caller's, whichever session asks for it, and unknown to others.
// FEAT-393 FEAT-405 FEAT-406 FEAT-407 FEAT-415 FEAT-416 FEAT-418 FEAT-436 FEAT-443 FEAT-451 AUTH-295 AUTH-298 AUTH-299 HOSTILE-56
// BASE-411 AUTH-454
func TestTaskOwners(t *testing.T) {
	h := identified(taskServer(t, nil))
	const missing = `,"error":{"code":-32602,"message":"no such task, or not any more"}}`
	open := func(c *web, who string) {
		t.Helper()
		c.session, c.rev = "", ""
		c.post(strings.Replace(initializeA, "2025-11-25", Revision20251125, 1), who).sees(`200 application/json
			Mcp-Session-Id: *
			{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"test","version":"1"}}}`)
		c.rev = Revision20251125
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, who).sees(`202`)
	}
	ask := func(method string, id int, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tasks/%s","params":{%s}}`, id, method, params)
	}
	is := func(id int, result string) string {
		return fmt.Sprintf("200 application/json\n"+`{"jsonrpc":"2.0","id":%d,"result":{%s}}`, id, atTasks(Revision20251125, result))
	}
	const a, b = "Authorization: a", "Authorization: b"
	declared := `META<{"extensions":{"io.modelcontextprotocol/tasks":{}}}>`
	talkHTTP(t, h, nil, func(c *web) {
		open(c, a)
		c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"job","arguments":{"ms":2000},"task":{}}}`, a).sees(is(2, `"task":{⟨t1 working 0 0⟩}`))
		c.send("DELETE", "", a).sees(`204`)
		open(c, b)
		for i, method := range []string{"get", "result", "cancel"} {
			c.post(ask(method, 10+i, `"taskId":"t1"`), b).sees(fmt.Sprintf("200 application/json\n"+`{"jsonrpc":"2.0","id":%d`+missing, 10+i))
		}
		c.post(ask("list", 13, ``), b).sees(is(13, `"tasks":[]`))
		for i, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			c.alone(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s,"taskId":"t1","inputResponses":{}}}`, 14+i, method, declared), b).
				sees(fmt.Sprintf("200 application/json\n"+`{"jsonrpc":"2.0","id":%d`+missing, 14+i))
		}
		listen := c.alone(`{"jsonrpc":"2.0","id":17,"method":"subscriptions/listen","params":{`+declared+`,"notifications":{"taskIds":["t1"]}}}`, b)
		listen.sees(modern(`200 text/event-stream
			: ok

			data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{SUB(17),"notifications":{}}}`))
		listen.drop()
		open(c, a) // another session of the same caller, while the task still runs
		c.post(ask("get", 20, `"taskId":"t1"`), a).sees(is(20, `⟨t1 working 0 0⟩`))
		c.post(ask("list", 21, ``), a).sees(is(21, `"tasks":[{⟨t1 working 0 0⟩}]`))
		time.Sleep(2 * time.Second)
		c.post(ask("result", 22, `"taskId":"t1"`), a).sees(is(22, related1+`,"content":[{"type":"text","text":"done"}]`))
		c.alone(`{"jsonrpc":"2.0","id":23,"method":"tasks/get","params":{`+declared+`,"taskId":"t1"}}`, a).sees(modern(`200 application/json
			{"jsonrpc":"2.0","id":23,"result":{DONE,` + atTasks(Revision20260728, `⟨t1 completed 0 2⟩`) + `,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}}`))
		c.post(ask("list", 24, `"cursor":"nonsense"`), a).sees(`200 application/json
			{"jsonrpc":"2.0","id":24,"error":{"code":-32602,"message":"cursor \"nonsense\" is not one of this list"}}`)
	})
}

// FEAT-430 FEAT-432 FEAT-469 FEAT-476
func TestTaskHeaders(t *testing.T) {
	h := &HTTPHandler{Server: taskServer(t, nil)}
	declared := `META<{"extensions":{"io.modelcontextprotocol/tasks":{}}}>`
	talkHTTP(t, h, nil, func(c *web) {
		c.alone(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + declared + `,"name":"must","arguments":{"ms":1000}}}`).sees(modern(`200 application/json
			{"jsonrpc":"2.0","id":1,"result":{"resultType":"task",INFO,` + atTasks(Revision20260728, `⟨t1 working 0 0⟩`) + `}}`))
		for i, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s,"taskId":"t1","inputResponses":{}}}`, 2+i, method, declared)
			c.alone(request, "Mcp-Name: t2").sees(fmt.Sprintf("400 application/json\n"+`{"jsonrpc":"2.0","id":%d,"error":{"code":-32020,"message":"Mcp-Name is \"t2\", but taskId is \"t1\""}}`, 2+i))
			c.alone(request, "-Mcp-Name").sees(fmt.Sprintf("400 application/json\n"+`{"jsonrpc":"2.0","id":%d,"error":{"code":-32020,"message":"the header Mcp-Name is missing"}}`, 2+i))
			c.alone(strings.Replace(request, declared, "META", 1)).sees(fmt.Sprintf("400 application/json\n"+`{"jsonrpc":"2.0","id":%d,"error":{"code":-32021,"message":"the client did not declare io.modelcontextprotocol/tasks","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, 2+i))
		}
		for i, method := range []string{"tasks/result", "tasks/list"} {
			c.alone(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s,"taskId":"t1"}}`, 6+i, method, declared)).
				sees(fmt.Sprintf("404 application/json\n"+`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"method \"%s\" not found"}}`, 6+i, method))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		c.alone(`{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{` + declared + `,"taskId":"t1"}}`).sees(modern(`200 application/json
			{"jsonrpc":"2.0","id":9,"result":{DONE,` + atTasks(Revision20260728, `⟨t1 completed 0 1⟩`) + `,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}}`))
	})
}

// Shutdown waits for tasks as long as it may, and then ends them; none begins any more.
func TestTaskShutdown(t *testing.T) {
	for _, patience := range []time.Duration{time.Minute, time.Second} {
		store := numberedTasks()
		s := taskServer(t, &ServerOptions{Tasks: TaskOptions{Store: store}})
		h := &HTTPHandler{Server: s}
		declared := `META<{"extensions":{"io.modelcontextprotocol/tasks":{}}}>`
		talkHTTP(t, h, nil, func(c *web) {
			c.alone(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + declared + `,"name":"job","arguments":{"ms":5000}}}`).sees(modern(`200 application/json
				{"jsonrpc":"2.0","id":1,"result":{"resultType":"task",INFO,` + atTasks(Revision20260728, `⟨t1 working 0 0⟩`) + `}}`))
			ctx, cancel := context.WithTimeout(c.t.Context(), patience)
			defer cancel()
			start, err := time.Now(), h.Shutdown(ctx)
			took := time.Since(start)
			rec, lost := store.Wait(c.t.Context(), "", "t1", -1)
			must(t, lost)
			got := fmt.Sprint(took, " ", err, " ", rec.Status, " ", rec.ToolFailed, " ", rec.StatusMessage)
			want := "5s <nil> completed false "
			if patience < took+time.Second {
				want = "1s context deadline exceeded completed true mcp: the server ended before the task"
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if err := h.host.run(c.t.Context(), nil); err != errHostEnded {
				t.Errorf("a task begins: %v", err)
			}
		})
	}
}

// The host that ends between the question and Detach makes no task, and nothing fails
// that should not.
func TestDetachFromEndedHost(t *testing.T) {
	store := numberedTasks()
	var ended *taskHost
	s := detaching(t, &ServerOptions{Tasks: TaskOptions{Store: store}}, func(ctx context.Context, r *Request) (string, error) {
		ended = r.session.host
		ended.mu.Lock()
		ended.ended = true
		ended.mu.Unlock()
		_, err := r.Detach(ctx)
		return "", err
	})
	talkTasks(t, s, Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"d",⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",⟪=⟫,"content":[{"type":"text","text":"mcp: the server ended before the task"}],"isError":true}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1",⟪task⟫}}
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",⟪=⟫,⟨t1 failed 0 0 internal error⟩,"error":{"code":-32603,"message":"internal error"}}}
	`)
}

// A slow store answers after a second.
type slowStore struct{ TaskStore }

func (s slowStore) Create(ctx context.Context, t *TaskRecord) error {
	time.Sleep(time.Second)
	return s.TaskStore.Create(ctx, t)
}

func (s slowStore) Update(ctx context.Context, owner, id string, change func(*TaskRecord) error) (*TaskRecord, error) {
	time.Sleep(time.Second)
	return s.TaskStore.Update(ctx, owner, id, change)
}

func (s slowStore) Wait(ctx context.Context, owner, id string, after int64) (*TaskRecord, error) {
	time.Sleep(time.Second)
	return s.TaskStore.Wait(ctx, owner, id, after)
}

// Two replicas share a store: each answers for the tasks of the other. The task is
// there before the answer that names it, however slow the store is.
// FEAT-441
func TestTaskReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slowStore{numberedTasks()}
		o := &ClientOptions{Revisions: []string{Revision20260728}, Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) { return ann, nil }}
		var sessions []*ClientSession
		for range 2 {
			sessions = append(sessions, join(t, taskServer(t, &ServerOptions{Tasks: TaskOptions{Store: store}}), o))
		}
		one, two := sessions[0], sessions[1]
		task, _, err := one.StartTool(t.Context(), "ask", nil, 0)
		must(t, err)
		if got, err := two.Task(task.ID).Get(t.Context()); err != nil || got.TaskID != task.ID {
			t.Errorf("at the other replica: %+v, %v", got, err)
		}
		r, err := two.Task(task.ID).Result(t.Context()) // which answers the question there
		if must(t, err); r.Text() != `{"name":"Ann"}` {
			t.Errorf("result %q", r.Text())
		}
		task, _, err = one.StartTool(t.Context(), "job", jobInput{MS: 3600_000}, 0)
		must(t, err)
		start := time.Now()
		must(t, two.Task(task.ID).Cancel(t.Context()))
		got, err := task.Get(t.Context())
		if must(t, err); got.Status != TaskCancelled || time.Since(start) > time.Minute {
			t.Errorf("cancelled at the other replica: %+v", got)
		}
	})
}

// Everything at once, with rounds before the task and questions in it.
func TestTaskRaces(t *testing.T) {
	for _, rev := range []string{Revision20251125, Revision20260728} {
		synctest.Test(t, func(t *testing.T) {
			o := &ClientOptions{Revisions: []string{rev}, Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) { return ann, nil }}
			cs := join(t, taskServer(t, &ServerOptions{Tasks: TaskOptions{Store: NewTaskStore()}}), o)
			if _, err := cs.ListTools(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for i := range 40 {
				tool := []string{"late", "both", "ask", "report"}[i%4]
				want := []string{`{"name":"Ann"} {"name":"Ann"}`, `{"name":"Ann"} {"name":"Ann"}`, `{"name":"Ann"}`, "done"}[i%4]
				all.Go(func() {
					task, _, err := cs.With(CallOptions{Progress: func(Progress) {}}).StartTool(t.Context(), tool, nil, 0)
					if err != nil {
						t.Errorf("%s: %v", tool, err)
						return
					}
					if i >= 30 {
						err := task.Cancel(t.Context())
						if _, err2 := task.Result(t.Context()); err == nil && rev == Revision20251125 && err2 == nil {
							t.Errorf("%s: was cancelled, and has a result", tool)
						}
						return
					}
					if r, err := task.Result(t.Context()); err != nil || r.Text() != want {
						t.Errorf("%s: %+v, %v", tool, r, err)
					}
				})
			}
			all.Wait()
		})
	}
}

// A task beside a plain call.
func BenchmarkTask(b *testing.B) {
	for _, rev := range []string{Revision20251125, Revision20260728} {
		for _, tool := range []string{"plain", "must"} {
			b.Run(rev+"/"+tool, func(b *testing.B) {
				s := newServer(b, &ServerOptions{Tasks: TaskOptions{TTL: 10 * time.Millisecond, PollInterval: time.Millisecond}})
				must(b, AddTool(s, &Tool{Name: "plain"}, works), AddTool(s, &Tool{Name: "must", Execution: &ToolExecution{TaskSupport: "required"}}, works))
				ours, theirs := Pipe()
				ended := make(chan error, 1)
				go func() { ended <- s.Run(context.Background(), theirs) }()
				cs, err := NewClient(&Implementation{Name: "c", Version: "1"}, &ClientOptions{Revisions: []string{rev}}).Connect(b.Context(), &ConnTransport{Conn: ours})
				must(b, err)
				defer func() { must(b, cs.Close(), <-ended) }()
				_, err = cs.ListTools(b.Context(), nil)
				must(b, err)
				b.ReportAllocs()
				for b.Loop() {
					task, r, err := cs.StartTool(b.Context(), tool, nil, 0)
					if must(b, err); (task == nil) != (tool == "plain") || task == nil && r.Text() != "done" {
						b.Fatal("not what was asked for")
					}
				}
			})
		}
	}
}

// FEAT-378 FEAT-391
func TestBUG196Units(t *testing.T) {
	const task = `"taskId":"t1","status":"working","createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:00Z","ttl":60000,"pollInterval":2500`
	talkTasks(t, taskServer(t, &ServerOptions{Tasks: TaskOptions{PollInterval: 2500 * time.Millisecond}}), Revision20251125, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","arguments":{"ms":1000},"task":{"ttl":60000}}}
		< {"jsonrpc":"2.0","id":1,"result":{"task":{`+task+`}}}
		> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t1"}}
		< {"jsonrpc":"2.0","id":2,"result":{`+task+`}}
	`)
}

// What is kept without end says so, and so is read.
//
// E1.7 E1.8
func TestTaskWithoutEnd(t *testing.T) {
	const common = `"taskId":"t","status":"working","createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:00Z",`
	for rev, text := range map[revision]string{newestSession: `{` + common + `"ttl":null}`, newest: `{` + common + `"ttlMs":null}`} {
		var task Task
		must(t, decode(scanned(t, text), &task))
		if task.TTL != nil {
			t.Errorf("%s: it ends after %v", text, *task.TTL)
		}
		again, err := appendJSON(nil, &task, rev)
		must(t, err)
		want(t, rev.String(), string(again), text)
	}
}

// The name of the extension is not the application's, and neither are its notifications.
// FEAT-477
func TestTaskNamesAreReserved(t *testing.T) {
	s := newServer(t, &ServerOptions{Extensions: Extensions{ExtensionTasks: json.RawMessage("{}")}})
	checkError(t, "Extensions", s.registered(), `mcp: ServerOptions.Extensions: "io.modelcontextprotocol/tasks" is offered where a tool may run as a task: see Tool.Execution`)
	s = asks(t, nil, func(ctx context.Context, r *Request) (string, error) {
		return "", r.Notify(ctx, "notifications/tasks/own", nil)
	})
	talk(t, serve(s), hello(Revision20251125, `{}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"mcp: notifications/tasks/own is the protocol's own"}],"isError":true}}
	`)
}

// What an application adds to the answer is there, such as content for clients that
// know no tasks.
// FEAT-445 E11.12
func TestTaskExtra(t *testing.T) {
	s := taskServer(t, &ServerOptions{Intercept: []Interceptor{func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		result, err := next(ctx)
		if created, ok := result.(*CreateTaskResult); ok {
			created.Extra = Extra{"content": json.RawMessage("[]")}
			created.Meta = Meta{"k": "v"}
		}
		return result, err
	}}})
	talkTasks(t, s, Revision20260728, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job",⟪task⟫}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"task","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"k":"v"},"content":[],⟨t1 working 0 0⟩}}
	`)
}

// FEAT-419 AUTH-299
func TestTaskLog(t *testing.T) {
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	h := identified(taskServer(t, &ServerOptions{Logger: log, Intercept: []Interceptor{RateLimit(1, 3)}}))
	declared := `META<{"extensions":{"io.modelcontextprotocol/tasks":{}}}>`
	talkHTTP(t, h, nil, func(c *web) {
		c.alone(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+declared+`,"name":"job"}}`, "Authorization: ann").sees(modern(`200 application/json
			{"jsonrpc":"2.0","id":1,"result":{"resultType":"task",INFO,` + atTasks(Revision20260728, `⟨t1 working 0 0⟩`) + `}}`))
		cancel := `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{` + declared + `,"taskId":"t1"}}`
		for range 2 {
			c.alone(cancel, "Authorization: ann").sees(modern("200 application/json\n" + `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",INFO}}`))
		}
		c.alone(cancel, "Authorization: ann").sees("429 application/json\nRetry-After: 1\n" + `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"rate limit of 1 requests a second exceeded"}}`)
	})
	for _, line := range []string{`level=INFO msg="mcp: a task begins" tool=job caller=ann status=working`, `level=INFO msg="mcp: a task is over" tool=job caller=ann status=completed`} {
		if strings.Count(text.String(), line+"\n") != 1 {
			t.Errorf("%s is not there once:\n%s", line, text.String())
		}
	}
}

// In a session over HTTP what a task says goes to the GET stream, and what it asks to
// whoever waits for it.
// FEAT-398 FEAT-400 FEAT-404
func TestTaskOverHTTP(t *testing.T) {
	h := &HTTPHandler{Server: taskServer(t, nil), MaxEvents: -1}
	data := func(text string) string { return "data: " + atTasks(Revision20251125, text) }
	talkHTTP(t, h, nil, func(c *web) {
		c.post(strings.Replace(initializeA, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)).sees(`200 application/json
			Mcp-Session-Id: *
			{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":` + taskOffers + `,"serverInfo":{"name":"test","version":"1"}}}`)
		c.rev = Revision20251125
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).sees(`202`)
		get := c.get()
		get.sees("200 text/event-stream\n: ok")
		c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","task":{}}}`).sees("200 application/json\n" + atTasks(Revision20251125, `{"jsonrpc":"2.0","id":2,"result":{"task":{⟨t1 working 0 0⟩}}}`))
		get.sees(data(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 input_required 0 0⟩}}`))
		wait := c.post(`{"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{"taskId":"t1"}}`)
		wait.sees("200 text/event-stream\n: ok\n\n" + data(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`+related1+`,`+nameQuestion+`}}`))
		c.post(`{"jsonrpc":"2.0","id":1,` + accepts1 + `}`).sees(`202`)
		wait.sees(data(`{"jsonrpc":"2.0","id":3,"result":{`+related1+`,"content":[{"type":"text","text":"{\"name\":\"Ann\"}"}]}}`) + "\n$")
		get.sees(data(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 working 0 0⟩}}`) + "\n\n" +
			data(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{⟨t1 completed 0 0⟩}}`))
		get.drop()
	})
}

// The package's own two ends, over HTTP: the server refuses task requests whose headers
// do not name the task.
// FEAT-475
func TestTaskClientOverHTTP(t *testing.T) {
	for _, rev := range []string{Revision20251125, Revision20260728} {
		synctest.Test(t, func(t *testing.T) {
			h := &HTTPHandler{Server: taskServer(t, nil)}
			ln := listenMemory()
			serveMemory(t, ln, h)
			o := &ClientOptions{Revisions: []string{rev}, Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) { return ann, nil }}
			cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, o).Connect(t.Context(), &HTTPTransport{URL: "http://127.0.0.1/mcp", Client: ln.client()})
			must(t, err)
			_, err = cs.ListTools(t.Context(), nil)
			must(t, err)
			r, err := cs.CallTool(t.Context(), "late", nil)
			if must(t, err); r.Text() != `{"name":"Ann"} {"name":"Ann"}` {
				t.Errorf("%s: %q", rev, r.Text())
			}
			task, _, err := cs.StartTool(t.Context(), "must", jobInput{MS: 60_000}, 0)
			must(t, err, task.Cancel(t.Context()))
			if got, err := task.Get(t.Context()); err != nil || got.Status != TaskCancelled {
				t.Errorf("%s: %+v, %v", rev, got, err)
			}
			must(t, cs.Close(), h.Shutdown(t.Context()))
		})
	}
}

// A losing transport loses some calls of a method: the server does not get them, or
// only its answer is lost.
type losing struct {
	*http.Transport
	method   string
	served   bool // only the answer is lost
	n, calls int  // how many are lost, and came
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"method":"`+l.method+`"`)) {
		return l.Transport.RoundTrip(r)
	}
	switch l.calls++; {
	case l.calls > l.n:
		return l.Transport.RoundTrip(r)
	case !l.served:
		return &http.Response{StatusCode: http.StatusBadGateway, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	resp, err := l.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return nil, cmp.Or(err, errors.New("connection reset"))
}

// A task outlives what is lost on the way to it and back: who waits for it asks again,
// in the same words, and only after five tries gives up.
func TestTaskCallsAreLost(t *testing.T) {
	for _, tt := range []struct {
		rev, method string
		served      bool
		n           int
		err         string
	}{
		{Revision20260728, methodTasksGet, false, 4, ""},
		{Revision20260728, methodTasksGet, true, 4, ""},
		{Revision20260728, methodTasksUpdate, false, 4, ""},
		{Revision20260728, methodTasksUpdate, true, 4, ""},
		{Revision20251125, methodTasksGet, false, 4, ""},
		{Revision20251125, methodTasksGet, true, 4, ""},
		{Revision20251125, methodTasksResult, false, 4, ""},
		{Revision20260728, methodTasksGet, false, 5, "mcp: tasks/get: POST http://127.0.0.1/mcp: the server answered 502 Bad Gateway"},
		{Revision20251125, methodTasksGet, true, 5, `mcp: tasks/get: Post "http://127.0.0.1/mcp": connection reset`},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &HTTPHandler{Server: taskServer(t, nil)}
			ln := listenMemory()
			serveMemory(t, ln, h)
			client := ln.client()
			lose := &losing{Transport: client.Transport.(*http.Transport), method: tt.method, served: tt.served, n: tt.n}
			client.Transport = lose
			asked := 0
			o := &ClientOptions{Revisions: []string{tt.rev}, Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
				asked++
				return ann, nil
			}}
			cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, o).Connect(t.Context(), &HTTPTransport{URL: "http://127.0.0.1/mcp", Client: client})
			must(t, err)
			_, err = cs.ListTools(t.Context(), nil)
			must(t, err)
			task, _, err := cs.StartTool(t.Context(), "ask", nil, 0)
			must(t, err)
			r, err := task.Result(t.Context())
			if checkError(t, fmt.Sprint(tt), err, tt.err); err == nil && (r.Text() != `{"name":"Ann"}` || asked != 1) {
				t.Errorf("%+v: %q, asked %d times", tt, r.Text(), asked)
			}
			if tt.err != "" && lose.calls != 5 {
				t.Errorf("%+v: %d tries", tt, lose.calls)
			}
			must(t, cs.Close(), h.Shutdown(t.Context()))
		})
	}
}
