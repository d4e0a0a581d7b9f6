package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"example.com/mcp"
)

func (d *demo) negotiation(ctx context.Context) (err error) {
	d.client = mcp.NewClient(clientInfo, d.options())
	if d.cs, err = d.client.Connect(ctx, d.server(nil)); err != nil {
		return err
	}
	d.say("revision %s (%s) with %s %s", d.cs.Revision(), era(d.cs), d.cs.ServerInfo().Name, d.cs.ServerInfo().Version)
	names := offers(d.cs.ServerCapabilities())
	d.say("the server offers %s", strings.Join(names, ", "))
	if text, ok := d.cs.Instructions(); ok {
		d.say("it says: %s", short(text))
	}
	return errors.Join(
		want(d.cs.Revision() == mcp.Revisions()[0], "the revision is not the newest"),
		want(len(names) == 7, "it does not offer everything"))
}

func (d *demo) ping(ctx context.Context) error {
	start := time.Now()
	err := d.cs.Ping(ctx)
	d.say("answered after %v", time.Since(start).Round(time.Microsecond))
	return err
}

func (d *demo) tools(ctx context.Context) error {
	n := 0
	for t, err := range d.cs.Tools(ctx) {
		if err != nil {
			return err
		}
		n++
		var args []string
		for _, a := range argumentsOf(t.InputSchema) {
			args = append(args, a.name+" "+a.kind)
		}
		d.say("%s(%s)%s", t.Name, strings.Join(args, ", "), hints(t.Annotations))
	}
	return want(n >= 6, "there are only %d tools", n)
}

// call calls a tool that must not fail.
func (d *demo) call(ctx context.Context, name string, args map[string]any) (*mcp.CallToolResult, error) {
	r, err := d.cs.CallTool(ctx, name, args)
	if err == nil && r.IsError {
		err = fmt.Errorf("tool %s: %s", name, r.Text())
	}
	return r, err
}

func (d *demo) structured(ctx context.Context) error {
	r, err := d.call(ctx, "search", map[string]any{"query": "milk", "path": "notes"})
	if err != nil {
		return err
	}
	d.say("search(query: milk, path: notes) = %s", r.StructuredContent)
	var out struct {
		Matches []struct {
			Path string `json:"path"`
			Line int    `json:"line"`
		} `json:"matches"`
	}
	if err := json.Unmarshal(r.StructuredContent, &out); err != nil {
		return err
	}
	return errors.Join(
		want(len(out.Matches) == 2 && out.Matches[1].Path == "notes/todo.txt" && out.Matches[1].Line == 1, "these are not the matches"),
		want(sameJSON(r.Text(), r.StructuredContent), "the text is not the same JSON"))
}

func (d *demo) picture(ctx context.Context) error {
	r, err := d.call(ctx, "read_file", map[string]any{"path": "picture.png"})
	if err != nil {
		return err
	}
	for _, c := range r.Content {
		d.say("read_file(path: picture.png) = %s", describe(c))
		if img, ok := c.(*mcp.ImageContent); ok {
			data, err := img.Data.Bytes()
			return errors.Join(err, want(bytes.Equal(data, samplePicture()), "it is another picture"))
		}
	}
	return errors.New("there is no picture")
}

func (d *demo) failures(ctx context.Context) error {
	r, err := d.cs.CallTool(ctx, "read_file", map[string]any{"path": "missing.txt"})
	if err != nil {
		return err
	}
	d.say("read_file(path: missing.txt) = error for the model: %s", r.Text())
	_, wrong := d.cs.CallTool(ctx, "fly", nil)
	d.say("fly() = error of the protocol: %v", wrong)
	_, outside := d.cs.ReadResource(ctx, "file:///etc/passwd")
	d.say("reading file:///etc/passwd = %v", outside)
	return errors.Join(
		want(r.IsError, "the tool did not fail"),
		want(errors.Is(wrong, &mcp.Error{Code: mcp.CodeInvalidParams}), "a tool that does not exist is not refused"),
		want(errors.Is(outside, mcp.ErrResourceNotFound), "a file outside of the folder is not refused"))
}

func (d *demo) progressing(ctx context.Context) error {
	var reports []mcp.Progress
	cs := d.cs.With(mcp.CallOptions{Progress: func(p mcp.Progress) {
		reports = append(reports, p)
		d.say("%.0f of %.0f bytes: %s", p.Value, p.Total, p.Message)
	}})
	r, err := cs.CallTool(ctx, "checksum", map[string]any{"path": "notes"})
	if err != nil {
		return err
	}
	d.say("checksum(path: notes) = %s", r.Text())
	if len(reports) < 2 {
		return fmt.Errorf("there were only %d reports", len(reports))
	}
	last := reports[len(reports)-1]
	return want(!r.IsError && last.Value == last.Total, "the last report is not the end")
}

func (d *demo) cancellation(ctx context.Context) error {
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cs := d.cs.With(mcp.CallOptions{Progress: func(p mcp.Progress) {
		if working.Err() == nil {
			d.say("at %.0f of %.0f bytes of big.bin the client has seen enough", p.Value, p.Total)
			cancel(errors.New("seen enough"))
		}
	}})
	_, err := cs.CallTool(working, "checksum", map[string]any{"path": "big.bin"})
	d.say("checksum(path: big.bin) = %v", err)
	return errors.Join(
		want(errors.Is(err, context.Canceled), "the call was not cancelled"),
		d.cs.Ping(ctx)) // the session goes on
}

func (d *demo) resources(ctx context.Context) error {
	n := 0
	for r, err := range d.cs.Resources(ctx) {
		if err != nil {
			return err
		}
		if n++; !strings.Contains(r.URI, "/archive/") {
			d.say("%s", r.Name)
		}
	}
	for t, err := range d.cs.ResourceTemplates(ctx) {
		if err != nil {
			return err
		}
		d.picked = t
		d.say("template %s", t.URITemplate)
	}
	if d.picked == nil {
		return errors.New("there is no template")
	}
	uri, err := mcp.ExpandURITemplate(d.picked.URITemplate, map[string]string{"path": "notes/todo.txt"})
	if err != nil {
		return err
	}
	text, err := d.read(ctx, uri)
	if err != nil {
		return err
	}
	d.say("text: %q", text.Text)
	blob, err := d.read(ctx, d.uri("picture.png"))
	if err != nil {
		return err
	}
	data, err := blob.Blob.Bytes()
	d.say("blob: %s, %d bytes", blob.MIMEType, len(data))
	return errors.Join(err,
		want(n == archiveFiles+7, "there are %d resources, not %d", n, archiveFiles+7),
		want(text.Text == "buy milk\nfeed the cat\n", "the text is another"),
		want(bytes.Equal(data, samplePicture()), "the data is another"))
}

// read reads a resource of one part.
func (d *demo) read(ctx context.Context, uri string) (*mcp.ResourceContents, error) {
	r, err := d.cs.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	if len(r.Contents) != 1 {
		return nil, fmt.Errorf("%s has %d parts", uri, len(r.Contents))
	}
	return r.Contents[0], nil
}

func (d *demo) pagination(ctx context.Context) error {
	var cursor *string
	sizes := []int{}
	for {
		page, err := d.cs.ListResources(ctx, cursor)
		if err != nil {
			return err
		}
		sizes = append(sizes, len(page.Resources))
		if cursor = page.NextCursor; cursor == nil {
			break
		}
		d.say("%d resources, and the cursor %s", len(page.Resources), *cursor)
	}
	d.say("%d resources, and no cursor: this is the last page", sizes[len(sizes)-1])
	return want(len(sizes) == 2, "there are %d pages, not 2", len(sizes))
}

func (d *demo) completion(ctx context.Context) error {
	if d.picked == nil {
		return errors.New("there is no template")
	}
	var all []string
	for _, c := range []struct {
		ref   mcp.CompleteReference
		typed string
	}{
		{mcp.CompleteReference{Type: "ref/resource", URI: d.picked.URITemplate}, "notes/"},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "explain_file"}, "REA"},
	} {
		r, err := d.cs.Complete(ctx, &mcp.CompleteParams{Ref: c.ref, Argument: mcp.CompleteArgument{Name: "path", Value: c.typed}})
		if err != nil {
			return err
		}
		d.say("path %q of %s can be: %s", c.typed, c.ref.Type, strings.Join(r.Values, ", "))
		all = append(all, r.Values...)
	}
	got := strings.Join(all, " ")
	return want(got == "notes/ideas.txt notes/old.txt notes/todo.txt README.md", "these are not the files")
}

func (d *demo) prompts(ctx context.Context) error {
	for p, err := range d.cs.Prompts(ctx) {
		if err != nil {
			return err
		}
		d.say("%s: %s", p.Name, p.Description)
	}
	r, err := d.cs.GetPrompt(ctx, "explain_file", map[string]string{"path": "README.md"})
	if err != nil {
		return err
	}
	embedded := ""
	for _, m := range r.Messages {
		d.say("%s: %s", m.Role, short(describe(m.Content)))
		if c, ok := m.Content.(*mcp.EmbeddedResource); ok {
			embedded = c.Resource.Text
		}
	}
	return want(strings.HasPrefix(embedded, "# Sample"), "the file is not embedded")
}

func (d *demo) subscription(ctx context.Context) error {
	uri := d.uri("notes/todo.txt")
	if err := d.cs.Subscribe(ctx, uri); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.dir, "notes", "todo.txt"), []byte("buy milk\nfeed both cats\n"), 0o644); err != nil {
		return err
	}
	d.say("the client follows notes/todo.txt, and the demo writes it")
	got, err := next(ctx, d.updated, "update")
	if err != nil {
		return err
	}
	d.say("updated: %s", got)
	r, err := d.read(ctx, uri)
	if err != nil {
		return err
	}
	d.say("it is now %q", r.Text)
	return errors.Join(
		want(got == uri && strings.Contains(r.Text, "both"), "this is not the update"),
		d.cs.Unsubscribe(ctx, uri))
}

func (d *demo) logging(ctx context.Context) error {
	for len(d.logged) > 0 {
		<-d.logged
	}
	for _, level := range []mcp.LoggingLevel{mcp.LevelError, mcp.LevelInfo} {
		if err := d.cs.SetLoggingLevel(ctx, level); err != nil {
			return err
		}
		d.say("the client wants messages from %s on; a file is written", level)
		if _, err := d.call(ctx, "write_file", map[string]any{"path": "new-" + string(level) + ".txt", "content": "new\n"}); err != nil {
			return err
		}
		if level == mcp.LevelError {
			if len(d.logged) > 0 { // a call returns after what came before its answer
				return errors.New("there is a message below the level")
			}
			continue
		}
		m, err := next(ctx, d.logged, "log message")
		if err != nil {
			return err
		}
		d.say("[%s] %s", m.Level, m.Data)
		if m.Level != mcp.LevelInfo {
			return errors.New("the message has another level")
		}
	}
	return nil
}

func (d *demo) listChanged(ctx context.Context) error {
	what, err := next(ctx, d.changed, "notice of a changed list")
	if err != nil {
		return err
	}
	d.say("the list of %s has changed, since files were written", what)
	_, err = d.read(ctx, d.uri("new-info.txt"))
	return err
}

func (d *demo) elicitation(ctx context.Context) error {
	path := filepath.Join(d.dir, "notes", "old.txt")
	for _, yes := range []bool{false, true} {
		d.accept.Store(yes)
		r, err := d.call(ctx, "delete_file", map[string]any{"path": "notes/old.txt"})
		if err != nil {
			return err
		}
		q := d.question()
		d.say("the server asks: %s", q)
		d.say("the script answers %s: %s", map[bool]string{false: "no", true: "yes"}[yes], r.Text())
		_, err = os.Stat(path)
		if q == "" || os.IsNotExist(err) != yes {
			return errors.New("the answer was not obeyed")
		}
	}
	return nil
}

func (d *demo) sampling(ctx context.Context) error {
	r, err := d.call(ctx, "summarise", map[string]any{"path": "README.md"})
	if err != nil {
		return err
	}
	q := d.question()
	d.say("the server asks: %s", short(q))
	d.say("summarise(path: README.md) = %s", r.Text())
	return want(strings.Contains(q, "# Sample") && strings.Contains(r.Text(), scriptedSummary), "the model was not asked")
}

func (d *demo) rootsChanged(ctx context.Context) error {
	if _, err := d.read(ctx, d.uri("README.md")); err != nil {
		return err
	}
	d.say("the root is the whole folder: README.md can be read")
	if err := d.client.SetRoots(&mcp.Root{URI: d.uri("notes"), Name: "notes"}); err != nil {
		return err
	}
	var outside error
	for outside == nil { // the server may ask for the roots in its own time
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("the server takes no note of it")
		}
		_, outside = d.cs.ReadResource(ctx, d.uri("README.md"))
	}
	d.say("now the root is notes: reading README.md = %v", outside)
	_, inside := d.read(ctx, d.uri("notes/todo.txt"))
	return errors.Join(inside, want(errors.Is(outside, mcp.ErrResourceNotFound), "what is in no root is not refused"))
}

// pinned connects a client that speaks one revision only.
func (d *demo) pinned(ctx context.Context, rev string, seen func([]byte)) (*mcp.ClientSession, error) {
	o := d.options()
	o.Revisions = []string{rev}
	return mcp.NewClient(clientInfo, o).Connect(ctx, d.server(seen))
}

func (d *demo) oldRevision(ctx context.Context) error {
	cs, err := d.pinned(ctx, mcp.Revision20241105, nil)
	if err != nil {
		return err
	}
	defer cs.Close()
	d.say("revision %s with %s", cs.Revision(), cs.ServerInfo().Name)
	r, err := cs.CallTool(ctx, "search", map[string]any{"query": "cats"})
	if err != nil {
		return err
	}
	d.say("search(query: cats) = %s", r.Text())
	return errors.Join(
		want(cs.Revision() == mcp.Revision20241105, "the revision is another"),
		want(strings.Contains(r.Text(), "both cats"), "this is not the match"),
		want(r.StructuredContent == nil, "there is structured content, which that revision does not have"))
}

func (d *demo) twoEras(ctx context.Context) error {
	d.accept.Store(true)
	for _, c := range []struct{ rev, way, sign string }{
		{mcp.Revision20251125, "with a request of its own, while the call waits", `"method":"elicitation/create","params":{"message"`},
		{mcp.Revision20260728, "with the call's result; the client calls again, with the answer", `"resultType":"input_required"`},
	} {
		var asked atomic.Bool
		cs, err := d.pinned(ctx, c.rev, func(message []byte) {
			if bytes.Contains(message, []byte(c.sign)) {
				asked.Store(true)
			}
		})
		if err != nil {
			return err
		}
		defer cs.Close()
		r, err := cs.CallTool(ctx, "write_file", map[string]any{"path": "notes/ideas.txt", "content": "written at " + c.rev + "\n"})
		if err != nil {
			return err
		}
		q := d.question()
		d.say("%s (%s): the server asks %s", c.rev, era(cs), c.way)
		d.say("it asks: %s", q)
		d.say("write_file(path: notes/ideas.txt) = %s", r.Text())
		if q == "" || r.IsError || !asked.Load() {
			return fmt.Errorf("at %s nobody was asked, or in another way", c.rev)
		}
	}
	return nil
}

func (d *demo) task(ctx context.Context) error {
	for _, rev := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		cs, err := d.pinned(ctx, rev, nil)
		if err != nil {
			return err
		}
		defer cs.Close()
		for _, err := range cs.Tools(ctx) { // which tells what may be a task
			if err != nil {
				return err
			}
		}
		if err := d.awaited(ctx, cs); err != nil {
			return err
		}
		if err := d.cancelled(ctx, cs); err != nil {
			return err
		}
	}
	return nil
}

// begin begins a task, and tells how it is.
func (d *demo) begin(ctx context.Context, cs *mcp.ClientSession) (*mcp.ClientTask, error) {
	t, _, err := cs.StartTool(ctx, "checksum", map[string]any{"path": "huge.bin"}, 0)
	if err != nil || t == nil {
		return nil, cmp.Or(err, errors.New("there is no task"))
	}
	state, err := t.Get(ctx)
	if err == nil {
		d.say("%s (%s): checksum(path: huge.bin) is a task, which is %s", cs.Revision(), era(cs), state.Status)
	}
	return t, err
}

// awaited is a task that comes to its end.
func (d *demo) awaited(ctx context.Context, cs *mcp.ClientSession) error {
	t, err := d.begin(ctx, cs)
	if err != nil {
		return err
	}
	r, err := t.Result(ctx)
	if err != nil {
		return err
	}
	d.say("its result: %s", r.Text())
	return want(!r.IsError, "it failed")
}

// cancelled is a task that does not.
func (d *demo) cancelled(ctx context.Context, cs *mcp.ClientSession) error {
	t, err := d.begin(ctx, cs)
	if err != nil {
		return err
	}
	if err := t.Cancel(ctx); err != nil {
		return err
	}
	state, err := t.Get(ctx)
	if err != nil {
		return err
	}
	d.say("the client cancels it: it is %s", state.Status)
	return want(state.Status == mcp.TaskCancelled, "it was not cancelled")
}

func (d *demo) overHTTP(ctx context.Context) error {
	url, stop, err := d.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	first, err := d.connect(ctx, url, d.options())
	if err != nil {
		return err
	}
	defer first.Close()
	o := d.options()
	o.Roots = []*mcp.Root{{URI: d.uri("notes"), Name: "notes"}}
	second, err := d.connect(ctx, url, o)
	if err != nil {
		return err
	}
	defer second.Close()
	if err := errors.Join(d.atWork(ctx, first), d.apart(ctx, first, second)); err != nil {
		return err
	}
	if err := errors.Join(first.Close(), second.Close(), stop()); err != nil {
		return err
	}
	d.say("SIGTERM ends the server, which lets running calls finish")
	return nil
}

// connect connects a client over HTTP.
func (d *demo) connect(ctx context.Context, url string, o *mcp.ClientOptions) (*mcp.ClientSession, error) {
	t, err := d.httpTransport(url)
	if err != nil {
		return nil, err
	}
	return mcp.NewClient(clientInfo, o).Connect(ctx, t)
}

// atWork shows what a server sends beside answers: on the stream of a call its
// progress and its question, on the stream that listens an update.
func (d *demo) atWork(ctx context.Context, cs *mcp.ClientSession) error {
	for len(d.updated) > 0 {
		<-d.updated
	}
	reports := 0
	with := cs.With(mcp.CallOptions{Progress: func(mcp.Progress) { reports++ }})
	r, err := with.CallTool(ctx, "checksum", map[string]any{"path": "notes"})
	if err != nil {
		return err
	}
	d.say("checksum(path: notes) = %s, after %d reports of progress", r.Text(), reports)
	uri := d.uri("README.md")
	if err := cs.Subscribe(ctx, uri); err != nil {
		return err
	}
	d.accept.Store(true)
	if r, err = cs.CallTool(ctx, "write_file", map[string]any{"path": "README.md", "content": "# Over HTTP\n"}); err != nil {
		return err
	}
	q := d.question()
	d.say("the server asks: %s", q)
	d.say("the script answers yes: %s", r.Text())
	got, err := next(ctx, d.updated, "update")
	if err != nil {
		return err
	}
	d.say("updated: %s", got)
	return errors.Join(
		want(reports >= 2, "there were only %d reports", reports),
		want(q != "" && !r.IsError, "nobody was asked"),
		want(got == uri, "this is not the update"))
}

// apart shows that two clients share nothing: each has its own roots.
func (d *demo) apart(ctx context.Context, first, second *mcp.ClientSession) error {
	r, err := first.ReadResource(ctx, d.uri("README.md"))
	if err != nil {
		return err
	}
	d.say("reading README.md = %q", r.Contents[0].Text)
	_, outside := second.ReadResource(ctx, d.uri("README.md"))
	d.say("reading README.md by a second client, whose root is notes = %v", outside)
	return errors.Join(
		want(r.Contents[0].Text == "# Over HTTP\n", "the text is another"),
		want(errors.Is(outside, mcp.ErrResourceNotFound), "the clients are not apart"))
}
