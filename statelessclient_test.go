package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// metaWith is the _meta of each request of a client "t" that can do what caps say;
// more stands before the rest.
func metaWith(caps, more string) string {
	return `"_meta":{` + more + `"io.modelcontextprotocol/clientCapabilities":` + caps + `,"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
}

// loneRequest is a request of such a client, which can do nothing; params, unless empty,
// begin with a comma.
func loneRequest(id int, method, params string) string { return loneAs(id, "{}", method, params) }

func loneAs(id int, caps, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s%s}}`, id, method, metaWith(caps, ""), params)
}

// discovers is how such a client finds out, over a pipe, that a server of 2026-07-28
// offers serverCaps.
func discovers(caps, serverCaps string) string {
	return "< " + loneAs(1, caps, "server/discover", "") + "\n> " + discovered(1, serverCaps) + "\n"
}

func discovered(id int, serverCaps string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":%s,"ttlMs":0,"cacheScope":"private"}}`, id, serverCaps)
}

func faulty(id, code int, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":"no"%s}}`, id, code, more)
}

func supports(revs string) string {
	return `,"data":{"supported":[` + revs + `],"requested":"2026-07-28"}`
}

func givesBack(id int, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result)
}

// anyEra is anyClient that takes no tasks.
func anyEra(t *testing.T, opts ClientOptions, wanted string, f func(ctx context.Context, cs *ClientSession)) func(context.Context, Conn) {
	opts.NoTasks = true
	return anyClient(t, opts, wanted, f)
}

// anyClient is the subject for a client of all revisions, unless opts say less: Connect
// must fail as wanted, or f uses the session, which is closed when the server is gone.
func anyClient(t *testing.T, opts ClientOptions, wanted string, f func(ctx context.Context, cs *ClientSession)) func(context.Context, Conn) {
	return func(ctx context.Context, c Conn) {
		cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, &opts).Connect(ctx, &ConnTransport{Conn: c})
		checkError(t, "Connect", err, wanted)
		if err != nil {
			return
		}
		if f != nil {
			f(ctx, cs)
		}
		_ = cs.Wait()
		must(t, cs.Close())
	}
}

// oldHello is the handshake with a server of the session era, under an id.
func oldHello(id int) string {
	return fmt.Sprintf(`
		< {"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
		> {"jsonrpc":"2.0","id":%[1]d,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
		< {"jsonrpc":"2.0","method":"notifications/initialized"}
		`, id)
}

const pinnedRefusal = "mcp: the server does not speak [2026-07-28], only older revisions, it seems: "

// What the first answer on stdio says of the server.
//
// BASE-090 BASE-098 BASE-099 BASE-100 BASE-101 BASE-104 BASE-301 EDGE-166 EDGE-167 EDGE-168 C-10 C-11
func TestProbe(t *testing.T) {
	probe := "< " + loneRequest(1, "server/discover", "") + "\n> "
	pinned := []string{Revision20260728}
	const lists = "mcp: the server speaks revisions "
	for _, c := range []struct {
		name, script string
		revs         []string
		wanted       string // error of Connect
		rev          string
	}{
		{"a result", discovers("{}", "{}"), nil, "", Revision20260728},
		{"refused once", probe + faulty(1, -32022, supports(`"2026-07-28"`)) + "\n< " + loneRequest(2, "server/discover", "") + "\n> " + discovered(2, "{}"), nil, "", Revision20260728},
		{"refused for ever", probe + faulty(1, -32022, supports(`"2026-07-28"`)) + "\n< " + loneRequest(2, "server/discover", "") + "\n> " + faulty(2, -32022, supports(`"2026-07-28"`)),
			nil, lists + `["2026-07-28"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"refused for an old one", probe + faulty(1, -32022, supports(`"2025-11-25","2024-11-05"`)) + oldHello(2), nil, "", Revision20251125},
		{"refused for a later one", probe + faulty(1, -32022, supports(`"2027-01-01"`)),
			nil, lists + `["2027-01-01"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"refused for nothing", probe + faulty(1, -32022, ""),
			nil, lists + `[], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"refused for junk", probe + faulty(1, -32022, `,"data":{"supported":[1,null]}`),
			nil, lists + `[], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"a result for an old one", probe + givesBack(1, `{"resultType":"complete","supportedVersions":["2025-06-18"],"capabilities":{}}`) + oldHello(2), nil, "", Revision20251125},
		{"a result for a later one", probe + givesBack(1, `{"supportedVersions":["2027-01-01"],"capabilities":{}}`),
			nil, lists + `["2027-01-01"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: mcp: invalid response: server/discover names ["2027-01-01"]`, ""},
		{"-32020", probe + faulty(1, -32020, ""), nil, "no (code -32020)", ""},
		{"-32021", probe + faulty(1, -32021, ""), nil, "no (code -32021)", ""},
		{"-32601", probe + faulty(1, -32601, "") + oldHello(2), nil, "", Revision20251125},
		{"-32602", probe + faulty(1, -32602, "") + oldHello(2), nil, "", Revision20251125},
		{"-32600", probe + faulty(1, -32600, "") + oldHello(2), nil, "", Revision20251125},
		{"-1", probe + faulty(1, -1, "") + oldHello(2), nil, "", Revision20251125},
		{"12345", probe + faulty(1, 12345, "") + oldHello(2), nil, "", Revision20251125},
		{"another result", probe + givesBack(1, `{}`) + oldHello(2), nil, "", Revision20251125},
		{"silence", "< " + loneRequest(1, "server/discover", "") + "\n. 4999ms\n. 1ms" + oldHello(2), nil, "", Revision20251125},
		{"a late answer", "< " + loneRequest(1, "server/discover", "") + `
			. 5s
			< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> ` + discovered(1, "{}") + `
			. 1s
			> {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
			< {"jsonrpc":"2.0","method":"notifications/initialized"}
			`, nil, "", Revision20251125},
		{"a late answer, and initialize is refused", "< " + loneRequest(1, "server/discover", "") + `
			. 5s
			< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> ` + discovered(1, "{}") + `
			> ` + faulty(2, -32022, supports(`"2026-07-28"`)) + `
			< ` + loneRequest(3, "server/discover", "") + `
			> ` + discovered(3, "{}") + "\n", nil, "", Revision20260728},
		{"back and forth", probe + faulty(1, -32601, "") + `
			< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> ` + faulty(2, -32022, "") + `
			< ` + loneRequest(3, "server/discover", "") + `
			> ` + faulty(3, -32601, "") + "\n", nil, "no (code -32601)", ""},
		{"an old server, this client pinned", probe + faulty(1, -32601, ""), pinned, pinnedRefusal + "no (code -32601)", ""},
		{"a silent one", "< " + loneRequest(1, "server/discover", "") + "\n. 5s", pinned, pinnedRefusal + "mcp: server/discover: neither answer nor progress for 5s", ""},
		{"one that ends", "< " + loneRequest(1, "server/discover", "") + "\n$", pinned, pinnedRefusal + "mcp: connection closed: EOF", ""},
		{"this client pinned to sessions", oldHello(1), []string{Revision20251125, Revision20241105}, "", Revision20251125},
		{"so pinned, and a server of today", `
			< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> ` + faulty(1, -32022, supports(`"2026-07-28"`)), sessionRevisions(), "mcp: the server supports only revisions 2026-07-28: no (code -32022)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			talk(t, anyEra(t, ClientOptions{Revisions: c.revs}, c.wanted, func(_ context.Context, cs *ClientSession) {
				want(t, "revision", cs.Revision(), c.rev)
			}), c.script)
		})
	}
}

// What a discover result can lack, or say too much.
//
// BASE-020 BASE-021 BASE-302
func TestDiscoverResult(t *testing.T) {
	ask := "< " + loneRequest(1, "server/discover", "") + "\n> "
	for _, c := range []struct{ result, wanted, name string }{
		{`{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{}}`, "", ""},
		{`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"body","version":"1"}}`, "", "body"},
		{`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"meta","version":"1"}},"serverInfo":{"name":"body","version":"1"}}`, "", "meta"},
		{`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":"me"}}`, "", ""},
		{`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"zzz":{},"tools":{}},"ttlMs":"x","cacheScope":"zzz"}`, "", ""},
		{`{"resultType":"future","supportedVersions":["2026-07-28"],"capabilities":{}}`, `resultType is "future"`, ""},
		{`{"resultType":"input_required","requestState":"x","supportedVersions":["2026-07-28"],"capabilities":{}}`, `resultType is "input_required"`, ""},
		{`{"supportedVersions":["2026-07-28"]}`, `capabilities: missing`, ""},
		{`{"supportedVersions":["2026-07-28"],"capabilities":null}`, `capabilities: missing`, ""},
		{`{"supportedVersions":"2026-07-28","capabilities":{}}`, `supportedVersions: want an array, got a string`, ""},
	} {
		wanted := c.wanted
		if wanted != "" {
			wanted = `mcp: invalid response: server/discover: ` + wanted
		}
		talk(t, anyEra(t, ClientOptions{Revisions: []string{Revision20260728}}, wanted, func(_ context.Context, cs *ClientSession) {
			want(t, "name", cs.ServerInfo().Name, c.name)
		}), ask+givesBack(1, c.result))
	}
}

// A redialed transport reaches another Conn each time.
type redialed struct {
	conns []Conn
	used  claim
}

func (r *redialed) dial(ctx context.Context, p *peer) (link, error) {
	if !r.used.take(p) {
		return nil, errors.New("another session")
	}
	if len(r.conns) == 0 {
		return nil, errors.New("no more")
	}
	c := r.conns[0]
	r.conns = r.conns[1:]
	return dialConn(ctx, newDuplex(c, p)), nil
}

// deaths runs a client against a server that is started again each time it is dialed,
// with one script each: what it says to the line that must come. Without a word, it
// ends.
func deaths(t *testing.T, opts ClientOptions, wanted string, starts ...[]string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		opts.NoTasks = true
		r, all := &redialed{}, sync.WaitGroup{}
		for _, script := range starts {
			ours, theirs := Pipe()
			r.conns = append(r.conns, ours)
			all.Go(func() {
				defer theirs.Close()
				for i := 0; i < len(script); i += 2 {
					line, err := theirs.Read()
					if err != nil {
						t.Errorf("%s never came: %v", script[i], err)
						return
					}
					want(t, "line", string(line), script[i])
					for answer := range strings.FieldsSeq(script[i+1]) {
						if answer != "$" {
							must(t, theirs.Write([]byte(answer)))
						}
					}
				}
				if script[len(script)-1] != "$" {
					_, err := theirs.Read()
					want(t, "the end", err, io.EOF)
				}
			})
		}
		cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, &opts).Connect(t.Context(), r)
		checkError(t, "Connect", err, wanted)
		if err == nil {
			want(t, "revision", cs.Revision(), Revision20251125)
			must(t, cs.Close())
		}
		all.Wait()
		want(t, "never started", len(r.conns), 0)
	})
}

// BUG-049: a server that ends at a first message which is not initialize is started
// once more, and opened with that.
func TestBUG049ServerEndsAtProbe(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	const initialize2 = `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	hello := []string{initialize, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, initialized, ""}
	probe := loneRequest(1, "server/discover", "")
	deaths(t, ClientOptions{}, "", []string{probe, "$"}, hello)
	deaths(t, ClientOptions{}, "", []string{probe, faulty(1, -32600, ""), initialize2, "$"}, hello)
	deaths(t, ClientOptions{}, "mcp: connection closed: EOF; tried again without it: mcp: connection closed: EOF", []string{probe, "$"}, []string{initialize, "$"})
	deaths(t, ClientOptions{}, "mcp: connection closed: EOF; tried again without it: no more", []string{probe, "$"})
	deaths(t, ClientOptions{Revisions: []string{Revision20260728}}, pinnedRefusal+"mcp: connection closed: EOF", []string{probe, "$"})
}

// modernClient is the subject for a client over a pipe with a server of 2026-07-28.
func modernClient(t *testing.T, opts ClientOptions, f func(ctx context.Context, cs *ClientSession)) func(context.Context, Conn) {
	return anyEra(t, opts, "", func(ctx context.Context, cs *ClientSession) {
		want(t, "revision", cs.Revision(), Revision20260728)
		f(ctx, cs)
	})
}

// callOf is a call of tool "a" with these members beside, and what a tool answers.
func callOf(id int, more string) string { return loneRequest(id, "tools/call", `,"name":"a"`+more) }

const toolDone = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// Each request says itself what the server has to know; nothing is said beside
// requests: no pings, no roots, no levels. What makes no sense as a result costs its
// call.
//
// BASE-020 BASE-021 BASE-287 BASE-288 BASE-289 BASE-304 EDGE-210 E4.11 BASE-159
func TestStatelessCalls(t *testing.T) {
	opts := ClientOptions{Roots: []*Root{}, KeepAlive: time.Second}
	const roots = `{"roots":{}}`
	ask := func(id int, method, params string) string { return loneAs(id, roots, method, params) }
	talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) {
		must(t, cs.conn.c.SetRoots(&Root{URI: "file:///a"}))
		must(t, cs.Ping(ctx), cs.SetLoggingLevel(ctx, "warning"))
		for _, wanted := range []string{"",
			`mcp: invalid response: tools/list: resultType is "input_required"`,
			`mcp: invalid response: tools/list: resultType is "future"`,
			`mcp: invalid response: tools/list: resultType is 5`,
			`mcp: invalid response: tools/list: resultType is "task"`,
			`mcp: tools/list: no (code -32022)`} {
			_, err := cs.ListTools(ctx, nil)
			checkError(t, "ListTools", err, wanted)
		}
		_, err := cs.With(CallOptions{Meta: Meta{"k": 1, metaRevision: "2025-11-25", metaCapabilities: 1, metaClient: 1, metaLevel: "debug"}}).GetPrompt(ctx, "p", map[string]string{"x": "y"})
		must(t, err)
	}), discovers(roots, `{"logging":{},"tools":{},"prompts":{}}`)+`
		< `+ask(2, "server/discover", "")+`
		> `+discovered(2, "{}")+`
		< `+lists(3)+`
		> `+givesBack(3, `{"tools":[]}`)+`
		< `+lists(4)+`
		> `+givesBack(4, `{"resultType":"input_required","requestState":"s","tools":[]}`)+`
		< `+lists(5)+`
		> `+givesBack(5, `{"resultType":"future","tools":[]}`)+`
		< `+lists(6)+`
		> `+givesBack(6, `{"resultType":5,"tools":[]}`)+`
		< `+lists(7)+`
		> `+givesBack(7, `{"resultType":"task","tools":[]}`)+`
		< `+lists(8)+`
		> `+faulty(8, -32022, supports(`"2026-07-28"`))+`
		< `+lists(9)+`
		> `+faulty(9, -32022, supports(`"2026-07-28"`))+`
		< {"jsonrpc":"2.0","id":10,"method":"prompts/get","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":`+roots+`,"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"warning","k":1},"name":"p","arguments":{"x":"y"}}}
		> `+givesBack(10, `{"resultType":"complete","messages":[]}`)+`
		. 1h
	`)
}

// lists is a tools/list of TestStatelessCalls.
func lists(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"warning"}}}`, id)
}

// By default a client says that calls may become tasks.
func TestStatelessExtension(t *testing.T) {
	talk(t, func(ctx context.Context, c Conn) {
		cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, nil).Connect(ctx, &ConnTransport{Conn: c})
		if err == nil {
			_ = cs.Wait()
			err = cs.Close()
		}
		must(t, err)
	}, discovers(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `{}`))
}

// Each request declares the extensions that the application says it supports, such as a
// way of authorization; what cannot be declared is an error.
//
// AUTH-378
func TestClientExtensions(t *testing.T) {
	const id = "io.modelcontextprotocol/oauth-client-credentials"
	const caps = `{"extensions":{"` + id + `":{}}}`
	opts := ClientOptions{Extensions: Extensions{id: json.RawMessage("{}")}}
	talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) {
		_, err := cs.CallTool(ctx, "a", nil)
		must(t, err)
	}), discovers(caps, `{"tools":{}}`)+`
		< `+loneAs(2, caps, "tools/call", `,"name":"a"`)+`
		> `+givesBack(2, toolDone)+`
	`)
	opts.NoTasks = false
	want(t, "with tasks", len(NewClient(&Implementation{Name: "t", Version: "0"}, &opts).capabilities().Extensions), 2)
	want(t, "of the application", len(opts.Extensions), 1)
	for name, wanted := range map[string]string{
		"bare":         `mcp: ClientOptions.Extensions: extension "bare" has no prefix`,
		ExtensionTasks: `mcp: ClientOptions.Extensions: "io.modelcontextprotocol/tasks" is declared unless NoTasks is set`,
	} {
		opts := ClientOptions{Extensions: Extensions{name: json.RawMessage("{}")}}
		_, err := NewClient(&Implementation{Name: "t", Version: "0"}, &opts).Connect(t.Context(), &ConnTransport{})
		checkError(t, "Connect", err, wanted)
	}
}

// A client of the revision answers nothing, also not what servers must not send; a
// server's cancellation of what it never asked is nothing.
//
// BASE-016 BASE-130 BASE-169 BASE-304
func TestStatelessAnswersNothing(t *testing.T) {
	said := &journal{}
	opts := ClientOptions{Notification: func(_ context.Context, _ *ClientSession, method string, _ json.RawMessage) { said.add("%s", method) }}
	talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) { must(t, cs.Ping(ctx)) }), discovers("{}", "{}")+`
		< `+loneRequest(2, "server/discover", "")+`
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		> {"jsonrpc":"2.0","id":"x","method":"roots/list"}
		> {"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{}}
		> {"jsonrpc":"2.0","id":7,"method":5}
		> {"jsonrpc":"1.0","id":7,"method":"x"}
		> {"jsonrpc":"2.0","id":7,"method":"notifications/x"}
		> [{"jsonrpc":"2.0","id":8,"method":"ping"}]
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled"}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> `+discovered(2, "{}"))
	want(t, "notifications", said.String(), "notifications/initialized")
}

// Giving up is told by a notification, for requests that are open and no others; what
// is answered all the same is ignored. Before the era is known, nothing is told.
//
// BASE-117 BASE-118 BASE-121 BASE-124 BASE-131 BASE-139 BASE-140
func TestStatelessGivingUp(t *testing.T) {
	talk(t, modernClient(t, ClientOptions{Timeout: time.Minute}, func(_ context.Context, cs *ClientSession) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		_, err := cs.CallTool(ctx, "a", nil)
		checkError(t, "cancelled", err, "mcp: tools/call: context canceled: enough")
		_, err = cs.CallTool(ctx, "a", nil)
		checkError(t, "before it began", err, "mcp: tools/call: context canceled: enough")
		checkError(t, "timeout", cs.With(CallOptions{Timeout: time.Second}).Ping(context.Background()), "mcp: server/discover: neither answer nor progress for 1s")
		ctx, cancel = context.WithCancelCause(context.Background())
		_, err = cs.CallTool(ctx, "a", nil)
		must(t, err)
		cancel(nil)
	}), discovers("{}", `{"tools":{}}`)+`
		< `+callOf(2, "")+`
		. 1s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"mcp: tools/call: context canceled: enough"}}
		< `+loneRequest(3, "server/discover", "")+`
		> `+givesBack(2, toolDone)+`
		. 1s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"mcp: server/discover: neither answer nor progress for 1s"}}
		< `+callOf(4, "")+`
		> `+givesBack(4, toolDone)+`
	`)
	talk(t, func(ctx context.Context, c Conn) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := NewClient(&Implementation{Name: "t", Version: "0"}, &ClientOptions{NoTasks: true}).Connect(ctx, &ConnTransport{Conn: c})
		checkError(t, "Connect", err, "mcp: server/discover: context deadline exceeded")
	}, "< "+loneRequest(1, "server/discover", "")+"\n. 1s")
}

// A client may keep its name to itself where no handshake demands it, and is served.
//
// BASE-289 BASE-291
func TestAnonymous(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	talk(t, modernClient(t, ClientOptions{Anonymous: true}, func(ctx context.Context, cs *ClientSession) {
		must(t, second(cs.CallTool(ctx, "a", nil)))
		// Then the application may say who it is, and no more.
		must(t, second(cs.With(CallOptions{Meta: Meta{metaClient: map[string]any{"name": "own", "version": "1"}, metaCapabilities: 1, metaRevision: 1}}).CallTool(ctx, "a", nil)))
	}), `
		< {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}
		> `+discovered(1, `{"tools":{}}`)+`
		< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+meta+`,"name":"a"}}
		> `+givesBack(2, toolDone)+`
		< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{`+strings.TrimSuffix(meta, "}")+`,"io.modelcontextprotocol/clientInfo":{"name":"own","version":"1"}},"name":"a"}}
		> `+givesBack(3, toolDone))
	talk(t, use(t, &ClientOptions{Anonymous: true}, nil), welcome(Revision20251125)) // where it is named all the same
	s := newServer(t, nil)
	addTool(t, s, "who", func(_ context.Context, r *Request) (string, error) { return fmt.Sprintf("%q", r.Client.Name), nil })
	for anonymous, wanted := range map[bool]string{true: `""`, false: `"c"`} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := Pipe()
			var served sync.WaitGroup
			served.Go(func() { _ = s.Run(t.Context(), theirs) })
			cs, err := NewClient(&Implementation{Name: "c", Version: "0"}, &ClientOptions{Anonymous: anonymous}).Connect(t.Context(), &ConnTransport{Conn: ours})
			must(t, err)
			r, err := cs.CallTool(t.Context(), "who", nil)
			must(t, err)
			want(t, "name", r.Text(), wanted)
			must(t, cs.Close())
			served.Wait()
		})
	}
}

// Hints come to the application as they are, or as none where they make no sense;
// nothing is kept: what is fresh is fetched like what is stale, and nothing without
// being asked for.
//
// BASE-392 BASE-394 BASE-396 BASE-397 BASE-399 BASE-400 BASE-404 FEAT-210 FEAT-212 FEAT-214 EDGE-225 EDGE-226
func TestCacheHints(t *testing.T) {
	hints := []struct{ members, wanted string }{
		{`,"ttlMs":1500,"cacheScope":"public"`, "1.5s public"},
		{``, "none "},
		{`,"ttlMs":null,"cacheScope":null`, "none "},
		{`,"ttlMs":0,"cacheScope":"private"`, "0s private"},
		{`,"ttlMs":-5,"cacheScope":"other"`, "0s other"},
		{`,"ttlMs":"5"`, "0s "},
		{`,"ttlMs":1.5`, "0s "},
		{`,"ttlMs":{}`, "0s "},
		{`,"ttlMs":1e3`, "1s "},
		{`,"ttlMs":1e300`, "876000h0m0s "},
		{`,"ttlMs":99999999999999999999999999999999999`, "876000h0m0s "},
	}
	script := discovers("{}", `{"resources":{}}`)
	for i, h := range hints {
		script += "< " + loneRequest(2+i, "resources/read", `,"uri":"x:y"`) + "\n> " + givesBack(2+i, `{"resultType":"complete","contents":[]`+h.members+`}`) + "\n"
	}
	talk(t, modernClient(t, ClientOptions{}, func(ctx context.Context, cs *ClientSession) {
		for _, h := range hints {
			r, err := cs.ReadResource(ctx, "x:y")
			must(t, err)
			ttl := "none"
			if r.TTL != nil {
				ttl = r.TTL.Duration().String()
			}
			want(t, h.members, ttl+" "+r.CacheScope, h.wanted)
		}
	}), script+". 1h\n")
}

// form is a question with one text, as an input request.
const whoForm = `{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}}`

// A lap is what a server wants, and the members that the next request then has
// beside those of the one before.
type lap struct{ wants, gets string }

// rounds is the conversation of a call of tool "a" by a client that can do what caps
// say: it goes through these rounds, the last of which, if it gets nothing, is not
// followed by another request.
func rounds(caps string, list []lap) string {
	script, gets := discovers(caps, `{"tools":{}}`), ""
	for i, r := range list {
		script += "< " + loneAs(2+i, caps, "tools/call", `,"name":"a","arguments":{"x":1.0}`+gets) + "\n> " + givesBack(2+i, r.wants) + "\n"
		if gets = r.gets; strings.HasSuffix(gets, "\npause") {
			gets = strings.TrimSuffix(gets, "\npause")
			script += fmt.Sprintf(". %dms\n. 1ms\n", 100<<i-1)
		}
	}
	return script
}

func needs(questions, state string) string {
	members := []string{`{"resultType":"input_required"`}
	if questions != "" {
		members = append(members, `"inputRequests":`+questions)
	}
	if state != "" {
		members = append(members, `"requestState":`+state)
	}
	return strings.Join(members, ",") + "}"
}

// personOptions answers forms with their message as n (or with the action that is the
// message), visits likewise, and the model echoes; journal notes who was asked.
func personOptions(asked *journal) ClientOptions {
	answer := func(ctx context.Context, cs *ClientSession, p *ElicitParams) (*ElicitResult, error) {
		asked.add("%s%s", p.Message, p.URL)
		switch p.Message {
		case "decline", "cancel":
			return &ElicitResult{Action: p.Message}, nil
		case "fail":
			return nil, errors.New("nobody is there")
		case "refuse":
			return nil, Errorf(CodeUserRejected, "not now")
		case "panic":
			panic("form")
		case "nothing":
			return nil, nil
		case "wait":
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		if p.Mode == "url" {
			return &ElicitResult{Action: "accept"}, nil
		}
		return &ElicitResult{Action: "accept", Content: json.RawMessage(`{"n":` + quoted(p.Message) + `}`)}, nil
	}
	return ClientOptions{Elicit: answer, Visit: answer, Roots: []*Root{},
		Sample: func(_ context.Context, _ *ClientSession, p *CreateMessageParams) (*CreateMessageResult, error) {
			asked.add("model")
			if p.MaxTokens == 1 {
				return nil, errors.New("out of tokens")
			}
			return &CreateMessageResult{Role: RoleAssistant, Content: []Content{&TextContent{Text: "hi"}}, Model: "m"}, nil
		}}
}

const personCaps = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// ask is a form whose message is text.
func ask(text string) string { return strings.Replace(whoForm, "Who?", text, 1) }

func visitTo(text, url string) string {
	return `{"method":"elicitation/create","params":{"mode":"url","message":"` + text + `","url":"` + url + `"}}`
}

// What a server wants is given, all of it, in another request with the same
// parameters; the state comes back as it was. Whatever cannot be given ends the call
// here.
//
// BASE-350 BASE-351 BASE-352 BASE-353 BASE-354 BASE-355 BASE-356
// FEAT-348 FEAT-349 FEAT-350 FEAT-352 FEAT-353
// EDGE-207 EDGE-208 EDGE-209 EDGE-211 EDGE-212 EDGE-213 EDGE-214 EDGE-215
// E4.9 E4.10 E4.12 E4.13 E4.14 E4.15 E4.16 FEAT-269 E1.19 C-23 FEAT-248
func TestRounds(t *testing.T) {
	const sampling = `{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":9}}`
	const accepted = `,"inputResponses":{"k":{"action":"accept","content":{"n":"Who?"}}}`
	const visit = `,"inputResponses":{"v":{"action":"accept"}}`
	done := lap{wants: toolDone}
	invalid := func(text string) string { return "mcp: tools/call: the server asks for " + text }
	for _, c := range []struct {
		name   string
		list   []lap
		wanted string // error
		asked  string
	}{
		{"no state", []lap{{needs(`{"k":`+whoForm+`}`, ""), accepted}, done}, "", "Who?"},
		{"a state", []lap{{needs(`{"k":`+whoForm+`}`, `"S=="`), accepted + `,"requestState":"S=="`}, done}, "", "Who?"},
		{"an odd state", []lap{{needs(`{"k":`+whoForm+`}`, `" \u0041\/<>&\u2028é\ud800\u0000\" "`), accepted + `,"requestState":" \u0041\/<>&\u2028é\ud800\u0000\" "`}, done}, "", "Who?"},
		{"an empty state", []lap{{needs(`{"k":`+whoForm+`}`, `""`), accepted + `,"requestState":""`}, done}, "", "Who?"},
		{"a state of null", []lap{{needs(`{"k":`+whoForm+`}`, `null`), accepted}, done}, "", "Who?"},
		{"only a state", []lap{{needs(``, `"x"`), `,"requestState":"x"` + "\npause"}, {needs(`null`, `"y"`), `,"requestState":"y"` + "\npause"}, done}, "", ""},
		{"no questions, and a state", []lap{{needs(`{}`, `"x"`), `,"inputResponses":{},"requestState":"x"` + "\npause"}, done}, "", ""},
		{"no questions", []lap{{needs(`{}`, ``), `,"inputResponses":{}` + "\npause"}, done}, "", ""},
		{"a state, and then none", []lap{{needs(`{"k":`+whoForm+`}`, `"x"`), accepted + `,"requestState":"x"`}, {needs(`{"k":`+whoForm+`}`, ""), accepted}, done}, "", "Who?; Who?"},
		{"answers are of one round", []lap{{needs(`{"k":`+whoForm+`}`, ""), accepted}, {needs("", `"x"`), `,"requestState":"x"` + "\npause"}, done}, "", "Who?"},
		{"one after the other", []lap{{needs(`{"z":`+ask("1")+`,"a":`+sampling+`,"r":{"method":"roots/list"},"é\n":`+ask("2")+`}`, ""),
			`,"inputResponses":{"a":{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"},"r":{"roots":[]},"z":{"action":"accept","content":{"n":"1"}},"é\n":{"action":"accept","content":{"n":"2"}}}`}, done}, "", "1; model; 2"},
		{"declined", []lap{{needs(`{"k":`+ask("decline")+`}`, ""), `,"inputResponses":{"k":{"action":"decline"}}`}, done}, "", "decline"},
		{"dismissed", []lap{{needs(`{"k":`+ask("cancel")+`}`, ""), `,"inputResponses":{"k":{"action":"cancel"}}`}, done}, "", "cancel"},
		{"a visit, twice", []lap{{needs(`{"v":`+visitTo("go", "https://a.example/")+`}`, ""), visit}, {needs(`{"v":`+visitTo("go", "https://a.example/")+`}`, ""), visit + "\npause"}, done}, "", "gohttps://a.example/"},
		{"another visit", []lap{{needs(`{"v":`+visitTo("go", "https://a.example/")+`}`, ""), visit}, {needs(`{"v":`+visitTo("go", "https://b.example/")+`}`, ""), visit}, done}, "", "gohttps://a.example/; gohttps://b.example/"},
		{"a visit that was declined", []lap{{needs(`{"v":`+visitTo("decline", "https://a.example/")+`}`, ""), `,"inputResponses":{"v":{"action":"decline"}}`}, {needs(`{"v":`+visitTo("decline", "https://a.example/")+`}`, ""), `,"inputResponses":{"v":{"action":"decline"}}`}, done}, "", "declinehttps://a.example/; declinehttps://a.example/"},

		{"neither", []lap{{wants: needs("", "")}}, "mcp: invalid response: tools/call: input_required without inputRequests or requestState", ""},
		{"both null", []lap{{wants: needs("null", "null")}}, "mcp: invalid response: tools/call: input_required without inputRequests or requestState", ""},
		{"a state that is a number", []lap{{wants: needs(`{"k":`+whoForm+`}`, "5")}}, "mcp: invalid response: tools/call: input_required with inputRequests that are no object, or a requestState that is no string", ""},
		{"questions in an array", []lap{{wants: needs(`[`+whoForm+`]`, `"x"`)}}, "mcp: invalid response: tools/call: input_required with inputRequests that are no object, or a requestState that is no string", ""},
		{"an unknown kind", []lap{{wants: needs(`{"k":`+whoForm+`,"l":{"method":"foo/bar"}}`, "")}}, invalid(`"l": mcp: invalid response: "foo/bar" is no question`), ""},
		{"a ping", []lap{{wants: needs(`{"k":{"method":"ping"}}`, "")}}, invalid(`"k": mcp: invalid response: "ping" is no question`), ""},
		{"a call", []lap{{wants: needs(`{"k":{"method":"tools/call","params":{"name":"a"}}}`, "")}}, invalid(`"k": mcp: invalid response: "tools/call" is no question`), ""},
		{"no question", []lap{{wants: needs(`{"k":5}`, "")}}, invalid(`"k": mcp: invalid response: "" is no question`), ""},
		{"a wrong form", []lap{{wants: needs(`{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"array"}}}}`, "")}},
			invalid(`"k": mcp: invalid response: elicitation/create: mcp: type of a form must be "object", not "array" (code -32602)`), ""},
		{"no form", []lap{{wants: needs(`{"k":{"method":"elicitation/create"}}`, "")}}, invalid(`"k": mcp: invalid response: elicitation/create: message: missing (code -32602)`), ""},
		{"another mode", []lap{{wants: needs(`{"k":{"method":"elicitation/create","params":{"mode":"phone","message":"m"}}}`, "")}}, invalid(`"k": mcp: invalid response: elicitation/create: mode must be form or url, not "phone" (code -32602)`), ""},
		{"a visit to nowhere", []lap{{wants: needs(`{"k":`+visitTo("m", "javascript:1")+`}`, "")}}, invalid(`"k": mcp: invalid response: elicitation/create: mcp: url "javascript:1" of an elicitation must be an absolute https or http URL (code -32602)`), ""},
		{"nobody answers", []lap{{wants: needs(`{"a":`+ask("1")+`,"k":`+ask("fail")+`,"z":`+ask("2")+`}`, "")}}, invalid(`"k": nobody is there`), "1; fail"},
		{"the person refuses", []lap{{wants: needs(`{"k":`+ask("refuse")+`}`, "")}}, invalid(`"k": not now (code -1)`), "refuse"},
		{"a panic", []lap{{wants: needs(`{"k":`+ask("panic")+`}`, "")}}, invalid(`"k": panic`), "panic"},
		{"no answer", []lap{{wants: needs(`{"k":`+ask("nothing")+`}`, "")}}, invalid(`"k": an elicitation was answered by neither a result nor an error`), "nothing"},
		{"the model fails", []lap{{wants: needs(`{"k":`+strings.Replace(sampling, "9", "1", 1)+`}`, "")}}, invalid(`"k": out of tokens`), "model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := &journal{}
			talk(t, modernClient(t, personOptions(asked), func(ctx context.Context, cs *ClientSession) {
				r, err := cs.CallTool(ctx, "a", json.RawMessage(`{"x":1.0}`))
				checkError(t, "CallTool", err, c.wanted)
				if err == nil {
					want(t, "content", r.Content[0].(*TextContent).Text, "done")
				}
			}), rounds(personCaps, c.list))
			want(t, "asked", asked.String(), c.asked)
		})
	}
}

// BUG-188: the answers stand under the names of the questions, as they are.
//
// BASE-351 BASE-352 BASE-353 BASE-355 BASE-393 FEAT-211
func TestBUG188InputResponses(t *testing.T) {
	const asked = `{"k1":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}}}`
	call := func(id int, more string) string {
		return "\n< " + loneAs(id, personCaps, "tools/call", `,"name":"a","arguments":{"b":1}`+more) + "\n> "
	}
	talk(t, modernClient(t, personOptions(&journal{}), func(ctx context.Context, cs *ClientSession) {
		for range 2 {
			_, err := cs.CallTool(ctx, "a", map[string]int{"b": 1})
			must(t, err)
		}
	}), discovers(personCaps, `{"tools":{}}`)+
		call(2, "")+givesBack(2, needs(asked, `"S=="`))+
		call(3, `,"inputResponses":{"k1":{"action":"accept","content":{"n":"m"}}},"requestState":"S=="`)+givesBack(3, toolDone)+
		call(4, "")+givesBack(4, needs(asked, ""))+
		call(5, `,"inputResponses":{"k1":{"action":"accept","content":{"n":"m"}}}`)+givesBack(5, toolDone))
}

// What a client did not declare it does not answer, and nobody is asked in part.
//
// BASE-084 EDGE-209 FEAT-353
func TestRoundUndeclared(t *testing.T) {
	for _, c := range []struct{ caps, question, wanted string }{
		{`{"elicitation":{"form":{}}}`, visitTo("m", "https://a.example/"), "elicitation.url"},
		{`{"elicitation":{"url":{}}}`, ask("m"), "elicitation.form"},
		{`{}`, ask("m"), "elicitation.form"},
		{`{}`, `{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}}`, "sampling"},
		{`{}`, `{"method":"roots/list"}`, "roots"},
	} {
		asked := &journal{}
		opts, all := ClientOptions{}, personOptions(asked)
		if strings.Contains(c.caps, "form") {
			opts.Elicit = all.Elicit
		}
		if strings.Contains(c.caps, "url") {
			opts.Visit = all.Visit
		}
		first := ""
		if opts.Elicit != nil {
			first = `"a":` + ask("1") + ","
		}
		talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) {
			_, err := cs.CallTool(ctx, "a", nil)
			checkError(t, "CallTool", err, `mcp: tools/call: the server asks for "k": mcp: invalid response: the client did not declare `+c.wanted)
		}), discovers(c.caps, `{"tools":{}}`)+`
			< `+loneAs(2, c.caps, "tools/call", `,"name":"a"`)+`
			> `+givesBack(2, needs(`{`+first+`"k":`+c.question+`}`, ""))+"\n")
		want(t, "asked", asked.String(), "")
	}
}

// Prompts and resources can ask, too. An error of this side is none of the server's.
//
// BASE-341 EDGE-209
func TestRoundsOfOthers(t *testing.T) {
	asked := &journal{}
	ask2 := func(id int, method, params string) string { return loneAs(id, personCaps, method, params) }
	talk(t, modernClient(t, personOptions(asked), func(ctx context.Context, cs *ClientSession) {
		_, err := cs.GetPrompt(ctx, "p", map[string]string{"a": "b"})
		must(t, err)
		_, err = cs.ReadResource(ctx, "x:y")
		must(t, err)
		_, err = cs.ReadResource(ctx, "x:y")
		checkError(t, "ReadResource", err, `mcp: resources/read: the server asks for "k": mcp: invalid response: elicitation/create: message: missing (code -32602)`)
		want(t, "not found", errors.Is(err, ErrResourceNotFound), false)
		want(t, "an error of the server", errors.As(err, new(*Error)), false)
		_, err = cs.Complete(ctx, &CompleteParams{Ref: CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: CompleteArgument{Name: "a"}})
		checkError(t, "Complete", err, `mcp: invalid response: completion/complete: resultType is "input_required"`)
	}), discovers(personCaps, `{"prompts":{},"resources":{},"completions":{}}`)+`
		< `+ask2(2, "prompts/get", `,"name":"p","arguments":{"a":"b"}`)+`
		> `+givesBack(2, needs(`{"k":`+whoForm+`}`, `"s"`))+`
		< `+ask2(3, "prompts/get", `,"name":"p","arguments":{"a":"b"},"inputResponses":{"k":{"action":"accept","content":{"n":"Who?"}}},"requestState":"s"`)+`
		> `+givesBack(3, `{"messages":[]}`)+`
		< `+ask2(4, "resources/read", `,"uri":"x:y"`)+`
		> `+givesBack(4, needs(`{"k":`+whoForm+`}`, ``))+`
		< `+ask2(5, "resources/read", `,"uri":"x:y","inputResponses":{"k":{"action":"accept","content":{"n":"Who?"}}}`)+`
		> `+givesBack(5, `{"contents":[]}`)+`
		< `+ask2(6, "resources/read", `,"uri":"x:y"`)+`
		> `+givesBack(6, needs(`{"k":{"method":"elicitation/create","params":{}}}`, ``))+`
		< `+ask2(7, "completion/complete", `,"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`)+`
		> `+givesBack(7, needs(`{"k":`+whoForm+`}`, ``))+`
	`)
}

// A server that wants something for ever does not get it: 16 times unless options say
// otherwise, with pauses up to ten seconds where nothing has to be done.
//
// EDGE-213 FEAT-352
func TestRoundsAreBounded(t *testing.T) {
	for _, limit := range []int{0, 1, 3} {
		opts := ClientOptions{MaxRounds: limit}
		script, rounds, more := discovers("{}", `{"tools":{}}`), limit, ""
		if limit == 0 {
			rounds = 16
		}
		for i := range rounds + 1 {
			script += "< " + callOf(2+i, more) + "\n> " + givesBack(2+i, needs("", `"x"`)) + "\n"
			more = `,"requestState":"x"`
			if i < rounds {
				script += fmt.Sprintf(". %dms\n. 1ms\n", min(100<<i, 10_000)-1)
			}
		}
		talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) {
			_, err := cs.CallTool(ctx, "a", nil)
			checkError(t, "CallTool", err, fmt.Sprintf("mcp: tools/call: the server wants something more after %d rounds; ClientOptions.MaxRounds allows more", rounds))
		}), script)
	}
}

// Progress of all rounds comes to the caller, under a new token each time; calls
// beside have nothing of the round, and their answers in between change nothing.
//
// BASE-357 FEAT-351 EDGE-216
func TestRoundsBesideOthers(t *testing.T) {
	seen, opts := &journal{}, personOptions(&journal{})
	var answer chan struct{} // of the bubble
	elicit := opts.Elicit
	opts.Elicit = func(ctx context.Context, cs *ClientSession, p *ElicitParams) (*ElicitResult, error) {
		<-answer
		return elicit(ctx, cs, p)
	}
	caps := `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`
	with := func(id int, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s,"name":"a"%s}}`, id,
			strings.TrimSuffix(metaWith(caps, ""), "}")+fmt.Sprintf(`,"progressToken":%d}`, id), more)
	}
	report := func(token int, v int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`, token, v)
	}
	talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) {
		var all sync.WaitGroup
		answer = make(chan struct{})
		all.Go(func() {
			_, err := cs.With(CallOptions{Progress: func(p Progress) { seen.add("%v", p.Value) }}).CallTool(ctx, "a", nil)
			must(t, err)
		})
		time.Sleep(time.Second) // virtual
		_, err := cs.CallTool(ctx, "a", nil)
		must(t, err)
		close(answer)
		all.Wait()
	}), discovers(caps, `{"tools":{}}`)+`
		< `+with(2, "")+`
		> `+report(2, 1)+`
		> `+givesBack(2, needs(`{"k":`+whoForm+`}`, `"s"`))+`
		> `+report(2, 5)+`
		. 1s
		< `+loneAs(3, caps, "tools/call", `,"name":"a"`)+`
		> `+givesBack(3, toolDone)+`
		< `+with(4, `,"inputResponses":{"k":{"action":"accept","content":{"n":"Who?"}}},"requestState":"s"`)+`
		> `+report(2, 6)+`
		> `+report(4, 1)+`
		> `+report(4, 2)+`
		> `+givesBack(4, toolDone)+`
	`)
	want(t, "progress", seen.String(), "1; 1; 2")
}

// While a person is asked, the end of the call and the end of the session are the end
// of that.
func TestRoundsEnd(t *testing.T) {
	asked := &journal{}
	talk(t, modernClient(t, personOptions(asked), func(_ context.Context, cs *ClientSession) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		_, err := cs.CallTool(ctx, "a", nil)
		checkError(t, "cancelled", err, `mcp: tools/call: the server asks for "k": enough`)
		ctx, cancel = context.WithCancelCause(context.Background())
		time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("enough")) })
		_, err = cs.CallTool(ctx, "a", nil)
		checkError(t, "in a pause", err, "context canceled: enough")
		_, err = cs.CallTool(context.Background(), "a", nil)
		checkError(t, "over", err, `mcp: tools/call: the server asks for "k": mcp: connection closed: EOF`)
		_, err = cs.CallTool(context.Background(), "a", nil)
		checkError(t, "after that", err, "mcp: connection closed: EOF")
	}), discovers(personCaps, `{"tools":{}}`)+`
		< `+loneAs(2, personCaps, "tools/call", `,"name":"a"`)+`
		> `+givesBack(2, needs(`{"k":`+ask("wait")+`}`, ``))+`
		. 1s
		< `+loneAs(3, personCaps, "tools/call", `,"name":"a"`)+`
		> `+givesBack(3, needs(``, `"x"`))+`
		. 10ms
		< `+loneAs(4, personCaps, "tools/call", `,"name":"a"`)+`
		> `+givesBack(4, needs(`{"k":`+ask("wait")+`}`, ``))+`
		. 1h
		$
	`)
	talk(t, modernClient(t, ClientOptions{}, func(ctx context.Context, cs *ClientSession) {
		_, err := cs.CallTool(ctx, "a", nil)
		checkError(t, "in a pause", err, "mcp: connection closed: EOF")
	}), discovers("{}", `{"tools":{}}`)+`
		< `+callOf(2, "")+`
		> `+givesBack(2, needs(``, `"x"`))+`
		$
	`)
}

// Whatever a server says that it wants, a call ends: no panic, no loop, and each
// further request fits the schema.
func FuzzRound(f *testing.F) {
	for _, wants := range []string{needs(`{"k":`+whoForm+`}`, `"S"`), needs(`{}`, ``), needs(``, `"x"`), needs(`{"k":{"method":"roots/list"}}`, `null`),
		needs(`{"v":`+visitTo("go", "https://a.example/")+`}`, ``), needs(`[]`, `5`), `{"resultType":"input_required"}`, `{"resultType":null}`, `{"resultType":"task","taskId":"x"}`,
		needs(`{"a":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}},"b":`+ask("fail")+`}`, `"\ud800"`)} {
		f.Add(wants)
	}
	f.Fuzz(func(t *testing.T, wants string) {
		if strings.ContainsAny(wants, "\r\n") || !strings.HasPrefix(wants, "{") {
			return
		}
		calls := 0
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := Pipe()
			var all sync.WaitGroup
			all.Go(func() {
				for {
					line, err := theirs.Read()
					if err != nil {
						return
					}
					request := parseFrame(line)
					for _, problem := range wireProblems(t, []wireLine{{true, string(line)}}) {
						t.Error(problem)
					}
					m := request.messages[0]
					if m.method == methodDiscover {
						must(t, theirs.Write([]byte(discovered(1, `{"tools":{}}`))))
					} else if m.kind == requestMessage {
						calls++
						_ = theirs.Write([]byte(`{"jsonrpc":"2.0","id":` + m.id.String() + `,"result":` + wants + `}`))
					}
				}
			})
			opts := personOptions(&journal{})
			opts.NoTasks, opts.MaxRounds, opts.Timeout = true, 3, time.Minute
			cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, &opts).Connect(t.Context(), &ConnTransport{Conn: ours})
			must(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			_, _ = cs.CallTool(ctx, "a", nil)
			cancel()
			must(t, cs.Close())
			must(t, theirs.Close())
			all.Wait()
		})
		if calls < 1 || calls > 4 {
			t.Errorf("%d requests", calls)
		}
	})
}
