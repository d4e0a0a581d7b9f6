package mcp

// Tasks: requests that go on after their answer. There are two dialects: the feature
// of 2025-11-25 (the client asks for a task, on both sides), and the extension
// io.modelcontextprotocol/tasks of 2026-07-28 (the server decides). Both are views of
// one record with one state machine, in a TaskStore that replicas can share. A handler
// at work is known to its record by owner and id only: answers and cancellation reach
// it through the store.
//
// It stands on server.go and client.go, between whose callers and handlers a task comes;
// the options and the record are declared in server.go.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultTaskTTL   = time.Hour
	defaultTaskLimit = 24 * time.Hour
	defaultTaskPoll  = time.Second
	minTaskPoll      = 10 * time.Millisecond
	maxTasks         = 10_000    // in memory
	maxTasksOfOne    = 1_000     // of one owner who is known
	maxTaskBytes     = 256 << 20 // of results and answers in memory
	sweepTasks       = time.Minute
	maxStatus        = 200 // bytes of a failure that are told with the status
	tasksPage        = 100
	taskTries        = 5 // to ask for a task, where the answer does not come
)

// What the state machine refuses.
var (
	errTaskOver = errors.New("the task is over")
	errNoTask   = Errorf(CodeInvalidParams, "no such task, or not any more")
)

// move changes the status. Nothing leads out of the states that are an end.
func (t *TaskRecord) move(to TaskStatus, message string) error {
	if t.Status.Over() {
		return errTaskOver
	}
	t.Status, t.StatusMessage, t.Updated = to, message, time.Now()
	if to.Over() {
		t.Questions, t.Answers = nil, nil
	}
	return nil
}

// ask adds questions to those that the requestor has to answer, in the words of the
// revision that the task was made in.
func (t *TaskRecord) ask(questions []Question, rev revision) error {
	for i := range questions {
		method, params := questions[i].method()
		raw, err := appendJSON(nil, params, rev)
		if err != nil {
			return err
		}
		t.Questions = append(t.Questions, TaskQuestion{Name: questions[i].Name, Method: method, Params: raw})
	}
	return t.move(TaskInputRequired, "")
}

// open is the place of an open question, -1 if it is not open.
func (t *TaskRecord) open(name string) int {
	return slices.IndexFunc(t.Questions, func(q TaskQuestion) bool { return q.Name == name })
}

// answer takes an answer. One for a question that is not open is ignored.
func (t *TaskRecord) answer(name string, a TaskAnswer) error {
	i := t.open(name)
	if i < 0 || t.Status.Over() {
		return nil
	}
	t.Questions = slices.Delete(t.Questions, i, i+1)
	if t.Answers == nil {
		t.Answers = map[string]TaskAnswer{}
	}
	t.Answers[name] = a
	if len(t.Questions) > 0 {
		return nil
	}
	return t.move(TaskWorking, "")
}

// withdraw takes questions back that nobody waits for any more.
func (t *TaskRecord) withdraw(questions []Question) error {
	for i := range questions {
		if err := t.answer(questions[i].Name, TaskAnswer{Error: Errorf(CodeInternalError, "%v", errWithdrawn)}); err != nil {
			return err
		}
	}
	if t.Status.Over() {
		return errTaskOver
	}
	return nil
}

// finish ends the task with its outcome.
func (t *TaskRecord) finish(result json.RawMessage, message string, e *Error) error {
	status := TaskCompleted
	if e != nil {
		status, message = TaskFailed, e.Message
	}
	if err := t.move(status, message); err != nil {
		return err
	}
	t.Result, t.Error = result, e
	return nil
}

// expires is when the task may be forgotten; zero: never.
func (t *TaskRecord) expires() time.Time {
	if t.TTL <= 0 {
		return time.Time{}
	}
	return t.Created.Add(t.TTL)
}

// size is what the task keeps in memory beside its fixed part.
func (t *TaskRecord) size() int {
	n := len(t.Result)
	for i := range t.Questions {
		n += len(t.Questions[i].Params)
	}
	for _, a := range t.Answers {
		n += len(a.Result)
	}
	return n
}

func (t *TaskRecord) clone() *TaskRecord {
	c := *t
	c.Questions, c.Answers = slices.Clone(t.Questions), maps.Clone(t.Answers)
	return &c
}

// question is an open question as it was asked.
func (q *TaskQuestion) question() (Question, error) {
	out := Question{Name: q.Name}
	var into any
	switch q.Method {
	case methodElicit:
		out.Elicit = &ElicitParams{}
		into = out.Elicit
	case methodCreateMessage:
		out.Sample = &CreateMessageParams{}
		into = out.Sample
	default:
		out.Roots = true
		return out, nil
	}
	return out, decodeJSON(q.Params, into)
}

// questionsFor are the open questions that a client can answer.
func (t *TaskRecord) questionsFor(can *ClientCapabilities, rev revision) (list []Question) {
	for i := range t.Questions {
		if q, err := t.Questions[i].question(); err == nil && can.missing(q.needs(), rev) == nil {
			list = append(list, q)
		}
	}
	return list
}

// view is a record as its owner sees it.
func (t *TaskRecord) view(rev revision) Task {
	v := Task{TaskID: t.ID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: stamp(t.Created), LastUpdatedAt: stamp(t.Updated)}
	if t.ToolFailed && !rev.alone() {
		v.Status = TaskFailed // which in the stateless era is for errors of the protocol
	}
	poll, ttl := Milliseconds(t.PollInterval.Milliseconds()), Milliseconds(t.TTL.Milliseconds())
	if v.PollInterval = &poll; ttl > 0 {
		v.TTL = &ttl
	}
	return v
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// appendMembers writes the task's members in the words of a revision.
func (t *Task) appendMembers(b []byte, rev revision) []byte {
	b = appendString(append(b, `"taskId":`...), t.TaskID)
	b = appendString(append(b, `,"status":`...), string(t.Status))
	if t.StatusMessage != "" {
		b = appendString(append(b, `,"statusMessage":`...), t.StatusMessage)
	}
	b = appendString(append(b, `,"createdAt":`...), t.CreatedAt)
	b = appendString(append(b, `,"lastUpdatedAt":`...), t.LastUpdatedAt)
	ttl, poll := `,"ttl":`, `,"pollInterval":`
	if rev.alone() {
		ttl, poll = `,"ttlMs":`, `,"pollIntervalMs":`
	}
	if b = append(b, ttl...); t.TTL != nil {
		b = strconv.AppendInt(b, int64(*t.TTL), 10)
	} else {
		b = append(b, "null"...)
	}
	if t.PollInterval != nil {
		b = strconv.AppendInt(append(b, poll...), int64(*t.PollInterval), 10)
	}
	return b
}

func (t *Task) appendTo(b []byte, rev revision) ([]byte, error) {
	return append(t.appendMembers(append(b, '{'), rev), '}'), nil
}

// MarshalJSON writes the task as 2026-07-28 does.
func (t *Task) MarshalJSON() ([]byte, error) { return t.appendTo(nil, newest) }

// UnmarshalJSON reads a task as either revision writes it.
func (t *Task) UnmarshalJSON(data []byte) error {
	var w struct {
		TaskID        string        `json:"taskId"`
		Status        TaskStatus    `json:"status"`
		StatusMessage string        `json:"statusMessage"`
		CreatedAt     string        `json:"createdAt"`
		LastUpdatedAt string        `json:"lastUpdatedAt"`
		TTL           *Milliseconds `json:"ttl"`
		TTLMs         *Milliseconds `json:"ttlMs"`
		Poll          *Milliseconds `json:"pollInterval"`
		PollMs        *Milliseconds `json:"pollIntervalMs"`
	}
	if err := decodeJSON(data, &w); err != nil {
		return err
	}
	*t = Task{TaskID: w.TaskID, Status: w.Status, StatusMessage: w.StatusMessage, CreatedAt: w.CreatedAt, LastUpdatedAt: w.LastUpdatedAt,
		TTL: cmp.Or(w.TTL, w.TTLMs), PollInterval: cmp.Or(w.Poll, w.PollMs)}
	switch {
	case t.TaskID == "":
		return &decodeError{"taskId", "missing"}
	case t.Status == "":
		return &decodeError{"status", "missing"}
	}
	return nil
}

func (c *CreateTaskResult) appendTo(b []byte, rev revision) ([]byte, error) {
	b = append(b, '{')
	var err error
	if len(c.Meta) > 0 {
		if b, err = appendJSON(append(b, `"_meta":`...), c.Meta, rev); err != nil {
			return b, err
		}
		b = append(b, ',')
	}
	for _, name := range sortedKeys(c.Extra) {
		if b, err = appendRaw(append(appendString(b, name), ':'), c.Extra[name]); err != nil {
			return b, err
		}
		b = append(b, ',')
	}
	if rev.alone() {
		return append(c.Task.appendMembers(b, rev), '}'), nil
	}
	return append(c.Task.appendMembers(append(b, `"task":{`...), rev), "}}"...), nil
}

func (r *ListTasksResult) appendTo(b []byte, rev revision) ([]byte, error) {
	b = append(b, `{"tasks":[`...)
	for i, t := range r.Tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(t.appendMembers(append(b, '{'), rev), '}')
	}
	b = append(b, ']')
	if r.NextCursor != nil {
		b = appendString(append(b, `,"nextCursor":`...), *r.NextCursor)
	}
	return append(b, '}'), nil
}

// A detailedTask is a task with what its state has beside it (tasks/get of 2026-07-28).
// Of its questions there are those that the client can answer.
type detailedTask struct {
	rec *TaskRecord
	can *ClientCapabilities
}

func (d detailedTask) appendTo(b []byte, rev revision) ([]byte, error) {
	t, err := d.rec.view(rev), error(nil)
	b = t.appendMembers(append(b, '{'), rev)
	switch d.rec.Status {
	case TaskInputRequired:
		b, err = appendQuestions(append(b, `,"inputRequests":`...), d.rec.questionsFor(d.can, rev), rev)
	case TaskCompleted:
		b, err = appendOutcome(append(b, `,"result":`...), d.rec, rev, nil)
	case TaskFailed:
		b, err = appendJSON(append(b, `,"error":`...), d.rec.wireError(), rev)
	}
	return append(b, '}'), err
}

func (t *TaskRecord) wireError() *Error {
	return cmp.Or(t.Error, Errorf(CodeInternalError, "internal error"))
}

// appendOutcome writes the result of a task for a revision, with more _meta.
func appendOutcome(b []byte, rec *TaskRecord, rev revision, meta Meta) ([]byte, error) {
	if rec.Method != methodToolsCall { // which is asked for in this revision only
		return appendParams(b, rec.Result, nil, meta, rev)
	}
	result := &CallToolResult{}
	if err := decodeJSON(rec.Result, result); err != nil {
		return b, err
	}
	start := len(b)
	b, err := appendParams(b, result, nil, meta, rev)
	if err == nil && rev.alone() {
		b = slices.Insert(b, start+1, []byte(`"resultType":"complete",`)...)
	}
	return b, err
}

// A taskOutcome is the answer to tasks/result: what the request itself would have got.
type taskOutcome struct{ rec *TaskRecord }

func (o taskOutcome) appendTo(b []byte, rev revision) ([]byte, error) {
	return appendOutcome(b, o.rec, rev, relatedTask(o.rec.ID))
}

// memoryTasks keep tasks in memory: at most 10,000, 1,000 of one caller who is known,
// and 256 MiB of results and answers, where the tasks that have been over for the
// longest time make room for new ones.
type memoryTasks struct {
	mu    sync.Mutex           // guards the fields below
	tasks map[string]*keptTask // by id
	owned map[string]int       // how many, by owner
	bytes int
	swept time.Time // when the expired ones were dropped last
}

type keptTask struct {
	rec     *TaskRecord
	changed gate // guarded by memoryTasks.mu
}

// NewTaskStore returns a TaskStore in memory, for one process. It holds 10,000 tasks, and
// 1,000 of one owner who is known; when it is full, Create fails with an *[Error] that
// calls are then answered with.
func NewTaskStore() TaskStore {
	return &memoryTasks{tasks: map[string]*keptTask{}, owned: map[string]int{}}
}

// taskStore is where the server keeps tasks.
func (s *Server) taskStore() TaskStore { return s.opts.Tasks.store(&s.memory, &s.ownTasks) }

// store is the application's store, or without one own, which is made at first.
func (o *TaskOptions) store(memory *sync.Once, own *TaskStore) TaskStore {
	if o.Store != nil {
		return o.Store
	}
	memory.Do(func() { *own = NewTaskStore() })
	return *own
}

// find finds a task that is not expired. The lock must be held.
func (m *memoryTasks) find(owner, id string) *keptTask {
	k := m.tasks[id]
	if k == nil || k.rec.Owner != owner {
		return nil
	}
	if end := k.rec.expires(); !end.IsZero() && !time.Now().Before(end) {
		m.drop(k)
		return nil
	}
	return k
}

func (m *memoryTasks) drop(k *keptTask) {
	delete(m.tasks, k.rec.ID)
	if m.owned[k.rec.Owner]--; m.owned[k.rec.Owner] == 0 {
		delete(m.owned, k.rec.Owner)
	}
	m.bytes -= k.rec.size()
	k.changed.open()
}

func (m *memoryTasks) Create(_ context.Context, t *TaskRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	full := func() bool {
		return t.Owner != "" && m.owned[t.Owner] >= maxTasksOfOne || len(m.tasks) >= maxTasks
	}
	if full() || time.Since(m.swept) > sweepTasks {
		m.sweep()
	}
	if full() {
		return Errorf(CodeInternalError, "too many tasks: the limits are %d of one caller and %d in all", maxTasksOfOne, maxTasks).
			WithHTTP(http.StatusServiceUnavailable, http.Header{"Retry-After": {"10"}})
	}
	m.tasks[t.ID] = &keptTask{rec: t.clone()}
	m.owned[t.Owner]++
	return nil
}

// sweep drops the tasks that have expired. The lock must be held.
func (m *memoryTasks) sweep() {
	for _, k := range m.tasks {
		m.find(k.rec.Owner, k.rec.ID)
	}
	m.swept = time.Now()
}

func (m *memoryTasks) Update(_ context.Context, owner, id string, change func(*TaskRecord) error) (*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.find(owner, id)
	if k == nil {
		return nil, ErrNoTask
	}
	c := k.rec.clone()
	if err := change(c); err != nil {
		return nil, err
	}
	more := c.size() - k.rec.size()
	for m.bytes+more > maxTaskBytes && m.dropOldest(id) {
	}
	if m.bytes+more > maxTaskBytes && more > 0 && !c.Status.Over() {
		return nil, Errorf(CodeInternalError, "the answers for all tasks take too much memory: the limit is %d bytes", maxTaskBytes)
	}
	c.Version++
	m.bytes += more
	k.rec = c
	k.changed.open()
	return c.clone(), nil
}

// dropOldest forgets the task that has been over for the longest time, but not one.
func (m *memoryTasks) dropOldest(but string) bool {
	var oldest *keptTask
	for id, k := range m.tasks {
		if id != but && k.rec.Status.Over() && (oldest == nil || k.rec.Updated.Before(oldest.rec.Updated)) {
			oldest = k
		}
	}
	if oldest != nil {
		m.drop(oldest)
	}
	return oldest != nil
}

func (m *memoryTasks) Wait(ctx context.Context, owner, id string, after int64) (*TaskRecord, error) {
	for {
		m.mu.Lock()
		k := m.find(owner, id)
		if k == nil {
			m.mu.Unlock()
			return nil, ErrNoTask
		}
		if k.rec.Version > after {
			defer m.mu.Unlock()
			return k.rec.clone(), nil
		}
		changed, end := k.changed.wait(), k.rec.expires()
		m.mu.Unlock()
		t := time.NewTimer(time.Until(end))
		if end.IsZero() {
			t.Stop()
		}
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return nil, causeOf(ctx)
		}
	}
}

func (m *memoryTasks) List(_ context.Context, owner, cursor string, n int) ([]*TaskRecord, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var own []*TaskRecord
	for _, k := range m.tasks {
		if k.rec.Owner == owner && m.find(owner, k.rec.ID) != nil {
			own = append(own, k.rec.clone())
		}
	}
	place := func(t *TaskRecord) string { return fmt.Sprintf("%020d %s", t.Created.UnixNano(), t.ID) }
	slices.SortFunc(own, func(a, b *TaskRecord) int { return cmp.Compare(place(a), place(b)) })
	i, found := slices.BinarySearchFunc(own, cursor, func(t *TaskRecord, c string) int { return cmp.Compare(place(t), c) })
	if found {
		i++
	}
	own = own[i:]
	if len(own) <= n {
		return own, "", nil
	}
	return own[:n], place(own[n-1]), nil
}

// update changes the record of the task.
func (t *runningTask) update(ctx context.Context, change func(*TaskRecord) error) (*TaskRecord, error) {
	rec, err := t.store.Update(ctx, t.owner, t.id, change)
	if err == nil && t.tell != nil {
		t.tell(rec)
	}
	return rec, err
}

// run does the work of the task, unless nil, once its requestor was told of it, and
// watches the record meanwhile.
func (t *runningTask) run(ctx context.Context, told <-chan struct{}, work func(context.Context)) {
	var worker sync.WaitGroup
	defer worker.Wait()
	if work != nil {
		worker.Go(func() { <-told; work(ctx) }) // ends with the work
	}
	t.watch(ctx)
}

// watch ends the handler when its task is cancelled or gone.
func (t *runningTask) watch(ctx context.Context) {
	for after := int64(-1); ; {
		rec, err := t.store.Wait(ctx, t.owner, t.id, after)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			t.cancel(fmt.Errorf("mcp: the task is gone: %w", err))
			return
		case rec.Status.Over():
			t.cancel(&CancelledError{cmp.Or(rec.StatusMessage, "the task was cancelled")})
			return
		}
		after = rec.Version
	}
}

// ask asks the requestor through the record, and waits for all answers.
func (t *runningTask) ask(ctx context.Context, r *Request, questions []Question) ([]Answer, error) {
	r.mu.Lock()
	for i := range questions {
		questions[i].Name = r.round.nameFor(questions[i].Name)
	}
	r.mu.Unlock()
	rec, err := t.update(ctx, func(rec *TaskRecord) error { return rec.ask(questions, r.rev) })
	for err == nil && slices.ContainsFunc(questions, func(q Question) bool { _, ok := rec.Answers[q.Name]; return !ok }) {
		if rec, err = t.store.Wait(ctx, t.owner, t.id, rec.Version); err == nil && rec.Status.Over() {
			err = errTaskOver
		}
	}
	if err != nil {
		_, _ = t.update(context.WithoutCancel(ctx), func(rec *TaskRecord) error { return rec.withdraw(questions) })
		return nil, cmp.Or(context.Cause(ctx), fmt.Errorf("mcp: asking for a task: %w", err))
	}
	if t.tell != nil {
		t.tell(rec)
	}
	answers := make([]Answer, len(questions))
	for i := range questions {
		a := rec.Answers[questions[i].Name]
		if a.Error != nil {
			method, _ := questions[i].method()
			return nil, &refusal{method, a.Error}
		}
		if answers[i], err = questions[i].read(a.Result); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// A taskVoice speaks for a request that has become a task: in the session era through
// the mailbox of the session, and not at all in the stateless era.
type taskVoice struct {
	r  *Request
	id string
}

func (v taskVoice) say(_ context.Context, method string, params any) error {
	switch {
	case v.r.rev.alone() && method == noteMessage:
		return ErrRequestOver // the server's own logger gets it
	case v.r.rev.alone():
		return nil
	}
	v.r.session.post(mailItem{method, &related{relatedTask(v.id), params}})
	return nil
}

// owner is whose tasks a caller can know of.
func (r *Request) owner() string {
	if r.Identity == nil {
		return "" // then the id of a task is the secret
	}
	return r.Identity.Issuer + "\x00" + r.Identity.Subject
}

// newTask makes the record of a task. wish is nil if the requestor has not said more.
func (o *TaskOptions) newTask(owner, method string, wish *TaskMetadata) *TaskRecord {
	ttl := cmp.Or(max(o.TTL, 0), defaultTaskTTL)
	if wish != nil && wish.TTL != nil && *wish.TTL > 0 {
		ttl = wish.TTL.Duration()
	}
	ttl = min(ttl, cmp.Or(max(o.MaxTTL, 0), defaultTaskLimit))
	now := time.Now()
	return &TaskRecord{Owner: owner, ID: rand.Text(), Method: method, Status: TaskWorking, Created: now, Updated: now,
		TTL: max(ttl, time.Millisecond), PollInterval: max(cmp.Or(o.PollInterval, defaultTaskPoll), time.Millisecond)}
}

// declaresTasks reports whether the request's client can take a task (2026-07-28).
func (r *Request) declaresTasks() bool {
	_, ok := r.Capabilities.Extensions[ExtensionTasks]
	return ok
}

var needsTasks = &ClientCapabilities{Extensions: Extensions{ExtensionTasks: json.RawMessage("{}")}}

// asTask decides whether a call runs as a task.
func (r *Request) asTask(t *tool, p *CallToolParams) (bool, *Error) {
	may, must := t.def.tasks()
	switch {
	case r.rev.alone() && must && !r.declaresTasks():
		return false, MissingCapability(needsTasks)
	case r.rev.alone():
		return may && r.declaresTasks(), nil
	case !r.rev.tasks() || r.session.offers().Tasks == nil:
		return false, nil
	case p.Task != nil && !may:
		return false, Errorf(CodeMethodNotFound, "tool %q does not run as a task", p.Name)
	case p.Task == nil && must:
		return false, Errorf(CodeMethodNotFound, "tool %q runs only as a task: the call needs the parameter task", p.Name)
	}
	return p.Task != nil, nil
}

// callToolOrTask serves tools/call.
func (s *Server) callToolOrTask(ctx context.Context, r *Request, params any) (any, error) {
	p := params.(*CallToolParams)
	t, early, err := s.prepareCall(r, p)
	if early != nil || err != nil {
		return early, err
	}
	task, refused := r.asTask(t, p)
	switch {
	case refused != nil:
		return nil, refused
	case !task:
		result, err := t.handler(ctx, r, p)
		return t.finish(s, result, err)
	}
	r.late = &lateTask{t: t, p: p, created: make(chan *CreateTaskResult, 1), told: make(chan struct{}), done: make(chan ending, 1)}
	if t.def.LateTask {
		return r.runLate(ctx)
	}
	_, err = r.becomeTask(ctx, func(ctx context.Context) {
		r.finishTask(r.late.run(ctx, r))
	})
	if err != nil {
		return nil, err
	}
	return <-r.late.created, nil
}

// run runs the handler. The outcome is what the call would be answered with.
func (l *lateTask) run(ctx context.Context, r *Request) (o ending) {
	defer r.in.p.catch(r.Method, &o.err)
	result, err := l.t.handler(ctx, r, l.p)
	o.result, o.err = l.t.finish(r.server, result, err)
	return o
}

// runLate runs a call whose handler decides when it becomes a task.
func (r *Request) runLate(ctx context.Context) (any, error) {
	l := r.late
	err := r.session.host.run(ctx, func(context.Context, context.CancelCauseFunc) {
		if o := l.run(ctx, r); l.task != nil {
			r.finishTask(o)
		} else {
			l.done <- o
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case created := <-l.created:
		return created, nil
	case o := <-l.done:
		if r.rev.alone() || o.err != nil || ctx.Err() != nil {
			return o.result, o.err
		}
		// A client that has asked for a task gets one.
		if _, err := r.becomeTask(ctx, func(context.Context) { r.finishTask(o) }); err != nil {
			return nil, err
		}
		return <-l.created, nil
	}
}

// Detach makes a task of the call of a tool that is marked for tasks and LateTask, if
// the client can take one: the call is answered with the task, and the handler goes on
// with the context that is returned, which ends when the task is cancelled or too
// old. What is asked from now on is asked for the task. Where there can be no task it
// returns ctx, and the call goes on as it is. A handler must return its error.
func (r *Request) Detach(ctx context.Context) (context.Context, error) {
	if r.late == nil || r.late.task != nil {
		return ctx, nil
	}
	if r.isOpen() {
		return ctx, ErrInputRequired
	}
	inner, err := r.becomeTask(ctx, nil)
	if err != nil {
		return ctx, err
	}
	<-r.late.told
	return inner, nil
}

// becomeTask makes a task of a request. work, unless nil, runs on a goroutine as the
// task, once the client was told of it. What is returned is the context of the task.
func (r *Request) becomeTask(ctx context.Context, work func(context.Context)) (context.Context, error) {
	l, store := r.late, r.server.taskStore()
	rec := r.server.opts.Tasks.newTask(r.owner(), r.Method, l.p.Task)
	if err := store.Create(ctx, rec); err != nil {
		return nil, err
	}
	task := &runningTask{store: store, owner: rec.Owner, id: rec.ID}
	if !r.rev.alone() {
		task.tell = func(rec *TaskRecord) {
			t := rec.view(newestSession)
			r.session.post(mailItem{noteTaskStatus, &t})
		}
	}
	begun := make(chan context.Context, 1)
	err := r.session.host.run(ctx, func(ctx context.Context, cancel context.CancelCauseFunc) {
		task.cancel = func(cause error) { r.hush(); cancel(cause) }
		begun <- ctx
		task.run(ctx, l.told, work)
	})
	if err != nil {
		_, _ = store.Update(ctx, rec.Owner, rec.ID, func(rec *TaskRecord) error { return rec.finish(nil, "", wireError(err)) })
		return nil, err
	}
	inner := <-begun
	r.detach(task)
	r.in.after = func(bool) { close(l.told) }
	created := &CreateTaskResult{Task: rec.view(r.rev)}
	if text := l.t.def.ImmediateResponse; text != "" && !r.rev.alone() {
		created.Meta = Meta{metaImmediate: text}
	}
	l.created <- created
	r.logTask("mcp: a task begins", TaskWorking)
	return inner, nil
}

// detach lets the request speak and ask as a task, after its last progress.
func (r *Request) detach(t *runningTask) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushLocked()
	r.late.task, r.voice, r.asker, r.detached = t, taskVoice{r, t.id}, t, true
}

// hush silences a task that is over: what it still says is too late.
func (r *Request) hush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.voice, r.held = nil, false
}

// logTask keeps a record of who runs what; not of the id, which may be a secret.
func (r *Request) logTask(event string, status TaskStatus) {
	caller := ""
	if r.Identity != nil {
		caller = r.Identity.Subject
	}
	r.server.log.Info(event, "tool", r.late.p.Name, "caller", caller, "status", status)
}

// finishTask records how the handler of a task ended.
func (r *Request) finishTask(o ending) {
	r.mu.Lock()
	r.detached = false
	r.mu.Unlock()
	r.over()
	if o.err != nil {
		o.result, o.err = closeTask(r, o.err)
	}
	rec, err := r.late.task.finish(r.in, o)
	switch {
	case err != nil:
		r.server.log.Error("mcp: the outcome of a task could not be stored", "error", err)
	case rec != nil:
		r.logTask("mcp: a task is over", rec.Status)
	}
}

// closeTask makes of an error what the answer to the call would have been. A task
// cannot be answered by visits to make first, or by what its client lacks.
func closeTask(r *Request, err error) (any, error) {
	var e *Error
	if r.rev.alone() && errors.As(err, &e) && e.Code == CodeURLElicitationRequired {
		return toolError(e.Message), nil
	}
	if r.rev.alone() {
		return nil, err
	}
	return closeSessionRequest(r, nil, err)
}

// finish records the outcome, unless the task is over or gone; then it returns nil.
func (t *runningTask) finish(in *incoming, o ending) (*TaskRecord, error) {
	defer t.cancel(nil)
	raw, message := o.encode(in), ""
	var e *Error
	if o.err != nil {
		wire := wireError(o.err)
		e = &Error{Code: wire.Code, Message: wire.Message, Data: wire.Data}
	}
	result, _ := o.result.(*CallToolResult)
	failed := e == nil && result != nil && result.IsError
	if failed {
		message = strings.ToValidUTF8(result.Text()[:min(len(result.Text()), maxStatus)], "")
	}
	rec, err := t.update(context.Background(), func(rec *TaskRecord) error {
		rec.ToolFailed = failed
		return rec.finish(raw, message, e)
	})
	if errors.Is(err, errTaskOver) || errors.Is(err, ErrNoTask) {
		return nil, nil
	}
	return rec, err
}

// encode makes the text of a result, from which that of any revision can be made. It
// may be the application's code that runs.
func (o *ending) encode(in *incoming) (raw json.RawMessage) {
	if o.err != nil {
		return nil
	}
	defer in.p.catch(in.method, &o.err)
	rev := newest
	if in.method != methodToolsCall {
		rev = in.rev
	}
	raw, o.err = appendJSON(nil, o.result, rev)
	return raw
}

// mayUseTasks says why a request may not ask for tasks.
func (r *Request) mayUseTasks() error {
	switch {
	case !r.rev.tasks():
		return Errorf(CodeMethodNotFound, "method %q is not part of revision %v", r.Method, r.rev)
	case r.rev.alone() && !r.declaresTasks():
		return MissingCapability(needsTasks)
	}
	return nil
}

// foundTask makes the answer of an error of a store.
func foundTask(rec *TaskRecord, err error) (*TaskRecord, error) {
	if errors.Is(err, ErrNoTask) {
		return nil, errNoTask
	}
	return rec, err
}

func (s *Server) getTask(ctx context.Context, r *Request, params any) (any, error) {
	if err := r.mayUseTasks(); err != nil {
		return nil, err
	}
	rec, err := foundTask(s.taskStore().Wait(ctx, r.owner(), params.(*TaskParams).TaskID, -1))
	switch {
	case err != nil:
		return nil, err
	case r.rev.alone():
		return detailedTask{rec, r.Capabilities}, nil
	}
	t := rec.view(r.rev)
	return &t, nil
}

// taskResult serves tasks/result: it waits for the end of the task, and meanwhile asks
// what the task wants to know.
func (s *Server) taskResult(ctx context.Context, r *Request, params any) (any, error) {
	if err := r.mayUseTasks(); err != nil {
		return nil, err
	}
	w := &taskWaiter{store: s.taskStore(), owner: r.owner(), id: params.(*TaskParams).TaskID, asker: r}
	return w.wait(ctx)
}

// A taskWaiter waits for the end of a task, and asks meanwhile what the task wants to
// know: each question is asked by one who waits.
type taskWaiter struct {
	store     TaskStore
	owner, id string
	asker     *Request                           // on whose stream it asks; nil: on none
	asked     map[string]context.CancelCauseFunc // by question; takes it back
	work      sync.WaitGroup                     // who ask
}

func (w *taskWaiter) wait(ctx context.Context) (any, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer w.work.Wait()
	defer stop(errTaskOver)
	for after := int64(-1); ; {
		rec, err := foundTask(w.store.Wait(ctx, w.owner, w.id, after))
		if err != nil {
			return nil, err
		}
		after = rec.Version
		switch {
		case rec.Status == TaskCancelled:
			return nil, Errorf(CodeInternalError, "the task was cancelled")
		case rec.Error != nil:
			return nil, rec.Error
		case rec.Status.Over():
			return taskOutcome{rec}, nil
		case w.asker != nil:
			w.askAll(ctx, rec)
		}
	}
}

// askAll asks what nobody is asking, and takes back what the task does not want to
// know any more. What could not be asked is left to others who wait.
func (w *taskWaiter) askAll(ctx context.Context, rec *TaskRecord) {
	for name, withdraw := range w.asked {
		if rec.open(name) < 0 {
			withdraw(errWithdrawn)
		}
	}
	for i := range rec.Questions {
		name := rec.Questions[i].Name
		q, err := rec.Questions[i].question()
		if err != nil || w.asked[name] != nil || w.asker.Capabilities.missing(q.needs(), w.asker.rev) != nil || !w.claim(ctx, name) {
			continue
		}
		ctx, withdraw := context.WithCancelCause(ctx)
		if w.asked == nil {
			w.asked = map[string]context.CancelCauseFunc{}
		}
		w.asked[name] = withdraw
		w.work.Go(func() { // ends with the answer, or with ctx
			defer withdraw(nil)
			a, err := w.asker.askForTask(ctx, w.id, &q)
			_, _ = w.store.Update(context.WithoutCancel(ctx), w.owner, w.id, func(rec *TaskRecord) error {
				if err != nil {
					rec.claim(name, time.Time{})
					return nil
				}
				return rec.answer(name, a)
			})
		})
	}
}

var errWithdrawn = errors.New("the task has taken the question back")

// claim makes the waiter the one who asks a question, as long as that may take.
func (w *taskWaiter) claim(ctx context.Context, name string) bool {
	until := time.Now().Add(w.asker.server.opts.AskTimeout)
	_, err := w.store.Update(ctx, w.owner, w.id, func(rec *TaskRecord) error {
		if !rec.claim(name, until) {
			return errTaskOver
		}
		return nil
	})
	return err == nil
}

// claim notes until when a question is being asked; zero: not any more. It reports
// whether that could be.
func (t *TaskRecord) claim(name string, until time.Time) bool {
	i := t.open(name)
	if i < 0 || !until.IsZero() && t.Questions[i].Claimed.After(time.Now()) {
		return false
	}
	t.Questions[i].Claimed = until
	return true
}

// askForTask asks a question of a task on the stream of the request that waits for it.
// An error means that somebody else may have more luck.
func (r *Request) askForTask(ctx context.Context, id string, q *Question) (TaskAnswer, error) {
	r.mu.Lock()
	r.related = id
	r.mu.Unlock()
	a, err := r.askOne(ctx, q)
	var refused *refusal
	switch {
	case err == nil:
		raw, err := a.encode(r.rev)
		return TaskAnswer{Result: raw}, err
	case errors.As(err, &refused):
		return TaskAnswer{Error: refused.cause}, nil
	case ctx.Err() != nil || r.in.p.over() != nil || errors.Is(err, errGone):
		return TaskAnswer{}, err
	}
	method, _ := q.method()
	return TaskAnswer{Error: Errorf(CodeInternalError, "%s", strings.TrimPrefix(err.Error(), "mcp: "+method+": "))}, nil
}

// encode is the answer as the client has given it.
func (a *Answer) encode(rev revision) (json.RawMessage, error) {
	switch {
	case a.Elicit != nil:
		return appendJSON(nil, a.Elicit, rev)
	case a.Sample != nil:
		return appendJSON(nil, a.Sample, rev)
	}
	return appendJSON(nil, &ListRootsResult{Roots: a.Roots}, rev)
}

func (s *Server) listTasks(ctx context.Context, r *Request, params any) (any, error) {
	if r.Identity == nil || !r.rev.tasks() { // it would be everybody's
		return nil, Errorf(CodeMethodNotFound, "tasks are listed only for callers with an identity")
	}
	return listTasks(ctx, s.taskStore(), r.owner(), params.(*ListParams), r.rev)
}

func listTasks(ctx context.Context, store TaskStore, owner string, p *ListParams, rev revision) (any, error) {
	after := ""
	if p.Cursor != nil {
		var ok bool
		if after, ok = parseCursor("task", *p.Cursor); !ok {
			return nil, Errorf(CodeInvalidParams, "cursor %.100q is not one of this list", *p.Cursor)
		}
	}
	recs, next, err := store.List(ctx, owner, after, tasksPage)
	if err != nil {
		return nil, err
	}
	result := &ListTasksResult{Tasks: make([]*Task, len(recs))}
	for i, rec := range recs {
		t := rec.view(rev)
		result.Tasks[i] = &t
	}
	if next != "" {
		next = makeCursor("task", next)
		result.NextCursor = &next
	}
	return result, nil
}

func (s *Server) cancelTask(ctx context.Context, r *Request, params any) (any, error) {
	if err := r.mayUseTasks(); err != nil {
		return nil, err
	}
	t, err := cancelTask(ctx, s.taskStore(), r.owner(), params.(*TaskParams).TaskID, r.rev)
	if err != nil || !r.rev.alone() {
		return t, err
	}
	return &EmptyResult{}, nil
}

// cancelTask cancels a task; the handler learns of it through the store. To cancel one
// that is over is an error only in the session era.
func cancelTask(ctx context.Context, store TaskStore, owner, id string, rev revision) (*Task, error) {
	rec, err := foundTask(store.Update(ctx, owner, id, func(rec *TaskRecord) error {
		return rec.move(TaskCancelled, "cancelled by the requestor")
	}))
	switch {
	case errors.Is(err, errTaskOver) && rev.alone():
		return nil, nil
	case errors.Is(err, errTaskOver):
		return nil, Errorf(CodeInvalidParams, "the task is over, and cannot be cancelled")
	case err != nil:
		return nil, err
	}
	t := rec.view(rev)
	return &t, nil
}

// updateTask takes answers for a task (2026-07-28).
func (s *Server) updateTask(ctx context.Context, r *Request, params any) (any, error) {
	if err := r.mayUseTasks(); err != nil {
		return nil, err
	}
	p := params.(*UpdateTaskParams)
	answers := r.in.params.member("inputResponses")
	if answers.kind() != kindObject {
		return nil, Errorf(CodeInvalidParams, "inputResponses must be an object, not %.40s", answers.raw())
	}
	_, err := foundTask(s.taskStore().Update(ctx, r.owner(), p.TaskID, func(rec *TaskRecord) error {
		for name, v := range answers.members() {
			if err := rec.checkAnswer(name.str(), v); err != nil {
				return err
			}
			if err := rec.answer(name.str(), TaskAnswer{Result: bytes.Clone(v.raw())}); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		return nil, err
	}
	return &EmptyResult{}, nil
}

// checkAnswer says why an answer is none to the open question of its name.
func (t *TaskRecord) checkAnswer(name string, v value) error {
	i := t.open(name)
	if i < 0 {
		return nil // it is ignored
	}
	q, err := t.Questions[i].question()
	if err == nil {
		_, err = q.answer(v)
	}
	if err != nil {
		return Errorf(CodeInvalidParams, "inputResponses: %q: %v", name, err)
	}
	return nil
}

// What the client does, from here on: it runs what servers ask as tasks (2025-11-25),
// and sees the tasks that its calls have become to their end.

// taskStore is where a client keeps tasks.
func (c *Client) taskStore() TaskStore { return c.opts.Tasks.store(&c.memory, &c.ownTasks) }

func (c *clientConn) sampleOrTask(ctx context.Context, in *incoming) (any, error) {
	return c.orTask(ctx, in, c.sample)
}

func (c *clientConn) elicitOrTask(ctx context.Context, in *incoming) (any, error) {
	return c.orTask(ctx, in, c.elicit)
}

// orTask serves a request, as a task if the server wants that and the client offers it.
func (c *clientConn) orTask(ctx context.Context, in *incoming, serve func(context.Context, *incoming) (any, error)) (any, error) {
	wish := in.params.member("task")
	if !wish.present() || c.c.opts.Tasks == nil || !in.rev.tasks() || in.rev.alone() {
		return serve(ctx, in)
	}
	var meta TaskMetadata
	if err := decode(wish, &meta); err != nil {
		return nil, Errorf(CodeInvalidParams, "task: %v", err)
	}
	rec, store := c.c.opts.Tasks.newTask(c.owner, in.method, &meta), c.c.taskStore()
	if err := store.Create(ctx, rec); err != nil {
		return nil, err
	}
	told := make(chan struct{})
	task := &runningTask{store: store, owner: c.owner, id: rec.ID, tell: func(rec *TaskRecord) {
		t := rec.view(in.rev)
		_ = c.p.notify(context.Background(), c.link, noteTaskStatus, &t, in.rev) // the server polls all the same
	}}
	err := c.host.run(ctx, func(ctx context.Context, cancel context.CancelCauseFunc) {
		task.cancel = cancel
		task.run(ctx, told, func(ctx context.Context) {
			if _, err := task.finish(in, c.work(ctx, in, serve)); err != nil {
				c.c.log.Error("mcp: the outcome of a task could not be stored", "error", err)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	in.after = func(bool) { close(told) }
	return &CreateTaskResult{Task: rec.view(in.rev)}, nil
}

func (c *clientConn) work(ctx context.Context, in *incoming, serve func(context.Context, *incoming) (any, error)) (o ending) {
	defer c.p.catch(in.method, &o.err)
	o.result, o.err = serve(ctx, in)
	return o
}

// taskParams reads the parameters of a request of the server about tasks.
func taskParams[P any](c *clientConn, in *incoming) (*P, error) {
	if c.c.opts.Tasks == nil || !in.rev.tasks() {
		return nil, errNotOffered(in)
	}
	p := new(P)
	if err := decode(in.params, p); err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: invalid parameters: %v", in.method, err)
	}
	return p, nil
}

func (c *clientConn) getTask(ctx context.Context, in *incoming) (any, error) {
	p, err := taskParams[TaskParams](c, in)
	if err != nil {
		return nil, err
	}
	rec, err := foundTask(c.c.taskStore().Wait(ctx, c.owner, p.TaskID, -1))
	if err != nil {
		return nil, err
	}
	t := rec.view(in.rev)
	return &t, nil
}

func (c *clientConn) taskResult(ctx context.Context, in *incoming) (any, error) {
	p, err := taskParams[TaskParams](c, in)
	if err != nil {
		return nil, err
	}
	w := &taskWaiter{store: c.c.taskStore(), owner: c.owner, id: p.TaskID}
	return w.wait(ctx)
}

func (c *clientConn) cancelTask(ctx context.Context, in *incoming) (any, error) {
	p, err := taskParams[TaskParams](c, in)
	if err != nil {
		return nil, err
	}
	return cancelTask(ctx, c.c.taskStore(), c.owner, p.TaskID, in.rev)
}

func (c *clientConn) listTasks(ctx context.Context, in *incoming) (any, error) {
	p, err := taskParams[ListParams](c, in)
	if err != nil {
		return nil, err
	}
	return listTasks(ctx, c.c.taskStore(), c.owner, p, in.rev)
}

// A ClientTask is a call of a tool that goes on as a task of the server. Its methods may
// be called while another one runs, but Result by one goroutine at a time.
type ClientTask struct {
	// ID is the task's, which [ClientSession.Task] takes.
	ID string
	// ImmediateResponse is a text for the model to go on with meanwhile; "": none.
	ImmediateResponse string

	cs    *ClientSession
	tool  string
	token ID // of its progress; zero: not known
	round clientRound
	done  map[string]bool // questions that were answered
	over  bool            // the server has said so
}

// Task returns a task by its ID, such as one of an earlier session. Nothing is asked:
// whether there is such a task, Get and Result tell.
func (cs *ClientSession) Task(id string) *ClientTask { return &ClientTask{ID: id, cs: cs} }

// taskSupport is what a listed tool says of tasks; "" if it was not listed.
func (cs *ClientSession) taskSupport(tool string) string {
	cs.conn.mu.Lock()
	defer cs.conn.mu.Unlock()
	return cs.conn.support[tool]
}

// asksForTasks reports whether the client has to ask for tasks, and may.
func (cs *ClientSession) asksForTasks() bool {
	rev, caps := cs.conn.rev(), cs.ServerCapabilities()
	return rev.tasks() && !rev.alone() && caps.Tasks != nil && caps.Tasks.Requests.Tools != nil && caps.Tasks.Requests.Tools.Call != nil
}

// StartTool calls a tool, as a task if that can be: then it returns as soon as there is
// one, and else, where the server answers at once, the result. A server of 2025-11-25
// is asked for a task if the tool was listed as one that may be one; ttl is how long
// it is to be kept then, 0 as the server likes. Later servers decide themselves.
func (cs *ClientSession) StartTool(ctx context.Context, name string, args any, ttl time.Duration) (*ClientTask, *CallToolResult, error) {
	t, result, err := cs.startTool(ctx, name, args, ttl)
	if result != nil {
		err = cs.checkOutput(name, result)
	}
	return t, result, err
}

// startTool is StartTool without a look at the output schema.
func (cs *ClientSession) startTool(ctx context.Context, name string, args any, ttl time.Duration) (*ClientTask, *CallToolResult, error) {
	call, err := toolCall(name, args)
	if err != nil {
		return nil, nil, err
	}
	if support := cs.taskSupport(name); cs.asksForTasks() && (support == "required" || support == "optional") {
		call.task = &TaskMetadata{}
		if ms := Milliseconds(ttl.Milliseconds()); ms > 0 {
			call.task.TTL = &ms
		}
		call.params.(*CallToolParams).Task = call.task
	}
	call.reports = cs.opts.Progress != nil
	result := &CallToolResult{}
	if err := cs.call(ctx, call, result); err != nil {
		return nil, nil, err
	}
	if !call.created.present() {
		return nil, result, nil
	}
	var task Task
	if err := decode(call.created, &task); err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrInvalidResponse, call.method, err)
	}
	return &ClientTask{ID: task.TaskID, ImmediateResponse: call.meanwhile, cs: cs, tool: name, token: call.id}, nil, nil
}

// CallTool calls a tool. args is anything that encodes to a JSON object; nil: no
// arguments. A failure of the tool is no error but a result with IsError. A
// structured result that does not fit the output schema that was listed last comes
// with an error. If the call becomes a task, CallTool waits for the end of that and
// answers what it asks; when ctx ends, the task is cancelled. See StartTool.
func (cs *ClientSession) CallTool(ctx context.Context, name string, args any) (*CallToolResult, error) {
	result, err := callTool(ctx, cs, name, args)
	if err != nil {
		return nil, err
	}
	return result, cs.checkOutput(name, result)
}

// callTool calls a tool, and waits for the task that the call becomes.
func callTool(ctx context.Context, cs *ClientSession, name string, args any) (*CallToolResult, error) {
	if !cs.conn.rev().alone() && cs.taskSupport(name) != "required" { // it need not be a task
		call, err := toolCall(name, args)
		if err != nil {
			return nil, err
		}
		return answer[CallToolResult](ctx, cs, call)
	}
	t, result, err := cs.startTool(ctx, name, args, 0)
	if err != nil || t == nil {
		return result, err
	}
	result, err = t.wait(ctx)
	if !t.over { // nobody waits for it any more
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
		defer cancel()
		_ = t.Cancel(ctx)
	}
	return result, err
}

// Get asks how the task is, and does not wait for its end.
func (t *ClientTask) Get(ctx context.Context) (*Task, error) {
	task, _, err := t.get(ctx)
	return task, err
}

// get also returns the answer as it came.
func (t *ClientTask) get(ctx context.Context) (*Task, value, error) {
	v, err := t.call(ctx, &clientCall{method: methodTasksGet, params: &TaskParams{TaskID: t.ID}}, t.cs.opts)
	if err != nil {
		return nil, v, err
	}
	task := &Task{}
	if err := decode(v, task); err != nil {
		return nil, v, fmt.Errorf("%w: %s: %w", ErrInvalidResponse, methodTasksGet, err)
	}
	return task, v, nil
}

// call makes a call about the task, and makes it again if it is lost on its way: but for
// cancelling, none does more the second time. Progress is the task's, not the call's.
func (t *ClientTask) call(ctx context.Context, c *clientCall, o CallOptions) (value, error) {
	o.Progress = nil
	for tries := 1; ; tries++ {
		var raw rawResult
		again := *c
		err := t.cs.With(o).call(ctx, &again, &raw)
		switch {
		case tries == taskTries || c.method == methodTasksCancel || !lostOnWay(err):
			return raw.v, err
		case !pause(ctx, -1, tries):
			return raw.v, causeOf(ctx)
		}
	}
}

// lostOnWay reports whether a call has failed because its answer did not come, such as
// when a replica dies: nobody has refused or ended it.
func lostOnWay(err error) bool {
	if e := (*HTTPError)(nil); errors.As(err, &e) {
		return e.Status >= 500
	}
	for _, final := range []error{context.Canceled, context.DeadlineExceeded, ErrClosed, ErrUnauthorized, ErrInvalidResponse, ErrNotOffered} {
		if errors.Is(err, final) {
			return false
		}
	}
	return err != nil && !errors.As(err, new(*Error))
}

// A rawResult is a result as it came.
type rawResult struct{ v value }

func (r *rawResult) UnmarshalJSON(data []byte) error {
	ix, err := scan(data)
	if err == nil {
		r.v = ix.root()
	}
	return err
}

// Cancel asks the server to end the task. That it did not fail does not mean that the
// task has ended: see Get. A server of 2025-11-25 may not offer it ([ErrNotOffered]).
func (t *ClientTask) Cancel(ctx context.Context) error {
	offered := func(c *ServerCapabilities) bool {
		return t.cs.conn.rev().alone() || c.Tasks != nil && c.Tasks.Cancel != nil
	}
	_, err := t.call(ctx, &clientCall{method: methodTasksCancel, params: &TaskParams{TaskID: t.ID}, offered: offered}, t.cs.opts)
	return err
}

// Result waits for the end of the task and returns what the call would have returned.
// It looks for it as often as the server says, and answers what the task asks with the
// functions of the ClientOptions, each question once. A look that is lost on its way is
// repeated, four times. It gives up when the task is older than the server wants to
// keep it. If ctx ends, the task goes on. A task that failed is the *[Error] of the
// call; one that was cancelled a *[CancelledError], or of a server of 2025-11-25 the
// *[Error] that it answers.
func (t *ClientTask) Result(ctx context.Context) (*CallToolResult, error) {
	result, err := t.wait(ctx)
	if err == nil && t.tool != "" {
		err = t.cs.checkOutput(t.tool, result)
	}
	return result, err
}

// wait is Result without a look at the output schema.
func (t *ClientTask) wait(ctx context.Context) (*CallToolResult, error) {
	if f := t.cs.opts.Progress; f != nil && !t.token.IsZero() {
		defer t.cs.conn.reportTo(t.token, f)()
	}
	for start := time.Now(); ; {
		task, v, err := t.get(ctx)
		if err != nil {
			return nil, err
		}
		wait, left := defaultTaskPoll, maxMilliseconds.Duration()
		if task.PollInterval != nil && *task.PollInterval > 0 {
			wait = max(task.PollInterval.Duration(), minTaskPoll)
		}
		if task.TTL != nil {
			left = task.TTL.Duration() - time.Since(start)
		}
		switch result, end, err := t.outcome(ctx, v, task, left); {
		case end:
			return result, err
		case err != nil:
			return nil, fmt.Errorf("mcp: task %s: %w", t.ID, err)
		case left <= 0:
			return nil, fmt.Errorf("mcp: task %s is %s after the %v that the server wants to keep it", t.ID, task.Status, task.TTL.Duration())
		}
		select {
		case <-time.After(max(min(wait, left), minTaskPoll)):
		case <-ctx.Done():
			return nil, causeOf(ctx)
		}
	}
}

// outcome returns how the task ended, if that is so, and else answers what it asks.
func (t *ClientTask) outcome(ctx context.Context, v value, task *Task, left time.Duration) (r *CallToolResult, end bool, err error) {
	stateless := t.cs.conn.rev().alone()
	t.over = task.Status.Over()
	switch {
	case !stateless && task.Status != TaskWorking:
		r, err = t.result(ctx, left)
		return r, true, err
	case task.Status == TaskCompleted:
		r, err = t.take(v.member("result"))
		return r, true, err
	case task.Status == TaskFailed:
		return nil, true, fmt.Errorf("mcp: task %s: %w", t.ID, errorOf(v.member("error")))
	case task.Status == TaskCancelled:
		return nil, true, fmt.Errorf("mcp: task %s: %w", t.ID, &CancelledError{task.StatusMessage})
	case task.Status == TaskInputRequired:
		return nil, false, t.answerAll(ctx, v.member("inputRequests"))
	}
	return nil, false, nil
}

// result gets the result of a task of 2025-11-25. While it waits the server asks what
// the task wants to know.
func (t *ClientTask) result(ctx context.Context, left time.Duration) (*CallToolResult, error) {
	o := t.cs.opts
	o.Timeout, o.MaxTimeout = -1, max(left, 0)+defaultTaskPoll
	v, err := t.call(ctx, &clientCall{method: methodTasksResult, params: &TaskParams{TaskID: t.ID}}, o)
	t.over = t.over || err == nil || errors.As(err, new(*Error))
	if err != nil {
		return nil, err
	}
	return t.take(v)
}

func (t *ClientTask) take(v value) (*CallToolResult, error) {
	result := &CallToolResult{}
	if err := decode(v, result); err != nil || !v.present() {
		return nil, fmt.Errorf("%w: the result of task %s: %w", ErrInvalidResponse, t.ID, cmp.Or(err, errors.New("missing")))
	}
	return result, nil
}

// errorOf reads the error that a task has failed with.
func errorOf(v value) error {
	e := &Error{}
	if code, ok := v.member("code").integer(); ok {
		e.Code, e.Message, e.Data = int(code), v.member("message").str(), v.member("data").raw()
		return e
	}
	return fmt.Errorf("%w: it failed without an error", ErrInvalidResponse)
}

// answerAll answers the questions of a task that were not answered before.
func (t *ClientTask) answerAll(ctx context.Context, questions value) error {
	if t.done == nil {
		t.done = map[string]bool{}
	}
	answers := map[string]json.RawMessage{}
	for name, q := range questions.members() {
		if t.done[name.str()] {
			continue
		}
		answer, err := t.round.answer(ctx, t.cs, name.str(), q)
		if err != nil {
			return fmt.Errorf("the server asks for %.100q: %w", name.str(), err)
		}
		answers[name.str()] = answer
	}
	if len(answers) == 0 {
		return nil
	}
	raw, err := marshal(answers)
	if err != nil {
		return err
	}
	_, err = t.call(ctx, &clientCall{method: methodTasksUpdate, params: &UpdateTaskParams{t.ID, raw}}, t.cs.opts)
	for name := range answers {
		t.done[name] = t.done[name] || err == nil
	}
	return err
}

// ListTasks returns a page of the tasks that the server has for this client
// (2025-11-25); cursor is nil for the first.
func (cs *ClientSession) ListTasks(ctx context.Context, cursor *string) (*ListTasksResult, error) {
	offered := func(c *ServerCapabilities) bool { return c.Tasks != nil && c.Tasks.List != nil }
	return answer[ListTasksResult](ctx, cs, &clientCall{method: methodTasksList, params: &ListParams{Cursor: cursor}, offered: offered})
}

// Tasks iterates over the tasks of all pages; see Tools.
func (cs *ClientSession) Tasks(ctx context.Context) iter.Seq2[*Task, error] {
	return pages(ctx, cs.ListTasks, func(r *ListTasksResult) ([]*Task, *string) { return r.Tasks, r.NextCursor })
}
