package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// listens is a request of client "t" to hear of what filter says.
func listens(id int, filter string) string {
	return loneRequest(id, "subscriptions/listen", `,"notifications":`+filter)
}

// noteOf is a notification of a subscription; params, unless empty, begin with a comma.
func noteOf(id, method, params string) string {
	return `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}` + params + `}}`
}

func grants(id int, filter string) string {
	return noteOf(fmt.Sprint(id), "subscriptions/acknowledged", `,"notifications":`+filter)
}

func updates(id int, uri string) string {
	return noteOf(fmt.Sprint(id), "resources/updated", `,"uri":"`+uri+`"`)
}

// overs is how a server ends a subscription.
func overs(id int) string {
	return givesBack(id, fmt.Sprintf(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":%d}}`, id))
}

func withdraws(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"x"}}`, id)
}

// superseded is how the client ends a subscription for another one.
func superseded(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"mcp: subscriptions/listen: context canceled: another subscription takes its place"}}`, id)
}

// hearing notes what is heard.
func hearing(heard *journal) ClientOptions {
	note := func(what string) func(context.Context, *ClientSession) {
		return func(context.Context, *ClientSession) { heard.add("%s", what) }
	}
	return ClientOptions{ToolsChanged: note("tools"), PromptsChanged: note("prompts"), ResourcesChanged: note("resources"),
		ResourceUpdated: func(_ context.Context, _ *ClientSession, p *ResourceUpdatedParams) { heard.add("%s", p.URI) },
		Notification: func(_ context.Context, _ *ClientSession, method string, _ json.RawMessage) {
			heard.add("%s", method)
		}, CrashOnPanic: true}
}

const (
	changingCaps = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`
	allLists     = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`
)

// filterText is what the session is told of.
func filterText(cs *ClientSession) string {
	f := cs.Subscribed()
	if f == nil {
		return "nothing"
	}
	text, _ := json.Marshal(f)
	return string(text)
}

// At Connect a client asks for the changes that it has functions for and the server
// offers, in one subscription. It waits for the answer, but not for long. What is
// heard belongs to a subscription that is open, or to none.
//
// BASE-366 BASE-371 EDGE-222 FEAT-150 BASE-172
func TestListenAtConnect(t *testing.T) {
	for _, c := range []struct {
		name, caps, script, granted, heard string
		opts                               func(*ClientOptions)
	}{
		{"all", changingCaps, `
			< ` + listens(2, allLists) + `
			> ` + grants(2, allLists) + `
			> ` + noteOf("2", "tools/list_changed", "") + `
			> ` + noteOf("2", "prompts/list_changed", "") + `
			> ` + noteOf("2", "resources/list_changed", "") + `
			> {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
			> ` + noteOf(`"2"`, "tools/list_changed", "") + `
			> ` + noteOf("3", "tools/list_changed", "") + `
			> ` + noteOf("null", "prompts/list_changed", "") + `
			> ` + noteOf("{}", "prompts/list_changed", "") + `
			> ` + grants(3, `{"promptsListChanged":true}`), allLists, "tools; prompts; resources; tools; prompts", nil},
		{"some", `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}}`, "< " + listens(2, `{"toolsListChanged":true}`) + "\n> " + grants(2, `{"toolsListChanged":true}`),
			`{"toolsListChanged":true}`, "", nil},
		{"nothing", `{"tools":{},"resources":{"subscribe":true}}`, "", "nothing", "", nil},
		{"no functions", changingCaps, "", "nothing", "", func(o *ClientOptions) { o.ToolsChanged, o.PromptsChanged, o.ResourcesChanged = nil, nil, nil }},
		{"less is granted", changingCaps, "< " + listens(2, allLists) + "\n> " + grants(2, `{"promptsListChanged":true}`), `{"promptsListChanged":true}`, "", nil},
		{"nothing is granted", changingCaps, "< " + listens(2, allLists) + "\n> " + grants(2, `{}`), `{}`, "", nil},
		{"silence", changingCaps, "< " + listens(2, allLists) + "\n. 500ms", "nothing", "", nil},
		{"late", changingCaps, "< " + listens(2, allLists) + "\n. 10s\n> " + grants(2, allLists) + "\n> " + noteOf("2", "tools/list_changed", ""), "nothing", "tools", nil},
		{"refused", changingCaps, "< " + listens(2, allLists) + "\n> " + faulty(2, -32602, "") + "\n. 1h", "nothing", "", nil},
		{"unknown", changingCaps, "< " + listens(2, allLists) + "\n> " + faulty(2, -32601, "") + "\n. 1h", "nothing", "", nil},
		{"acknowledged without a filter", changingCaps, "< " + listens(2, allLists) + "\n> " + noteOf("2", "subscriptions/acknowledged", "") + "\n> " +
			noteOf("2", "subscriptions/acknowledged", `,"notifications":null`) + "\n> " + noteOf("2", "subscriptions/acknowledged", `,"notifications":{"toolsListChanged":1}`) + "\n. 1s\n> " + noteOf("2", "tools/list_changed", ""), "nothing", "tools", nil},
		{"acknowledged again and again", changingCaps, "< " + listens(2, allLists) + "\n> " + grants(2, `{"toolsListChanged":true}`) + "\n> " + grants(2, `{"toolsListChanged":true}`) + "\n> " + grants(2, `{"promptsListChanged":true,"resourceSubscriptions":["x:y"]}`),
			`{"toolsListChanged":true}`, "tools; prompts", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			heard := &journal{}
			opts := hearing(heard)
			if c.opts != nil {
				c.opts(&opts)
			}
			talk(t, modernClient(t, opts, func(_ context.Context, cs *ClientSession) { want(t, "granted", filterText(cs), c.granted) }), discovers("{}", c.caps)+c.script)
			want(t, "heard", heard.String(), c.heard)
		})
	}
}

// To follow one more resource, or one less, the client opens another subscription,
// and ends the one before when that is there: nothing is lost between.
//
// BASE-139 BASE-375 BASE-377 FEAT-147 BASE-172 FEAT-146
func TestSubscribeAlone(t *testing.T) {
	heard := &journal{}
	uris := func(list string) string { return `{"toolsListChanged":true,"resourceSubscriptions":[` + list + `]}` }
	opts := hearing(heard)
	opts.PromptsChanged, opts.ResourcesChanged = nil, nil
	talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) {
		must(t, cs.Unsubscribe(ctx, "x:a"), cs.Subscribe(ctx, "x:a"), cs.Subscribe(ctx, "x:a"), cs.Subscribe(ctx, "x:b"))
		want(t, "granted", filterText(cs), uris(`"x:a","x:b"`))
		must(t, cs.Ping(ctx))
		must(t, cs.Unsubscribe(ctx, "x:a"))
		checkError(t, "not granted", cs.Subscribe(ctx, "x:c"), `mcp: the server does not offer updates of resource "x:c"`)
		checkError(t, "refused", cs.Subscribe(ctx, "x:c"), `mcp: subscriptions/listen: no (code -32602)`)
		short, cancel := context.WithTimeout(ctx, time.Second)
		checkError(t, "given up", cs.Subscribe(short, "x:c"), `mcp: subscriptions/listen: context deadline exceeded`)
		cancel()
		checkError(t, "silence", cs.With(CallOptions{Timeout: time.Second}).Subscribe(ctx, "x:c"), `mcp: subscriptions/listen: mcp: subscriptions/listen: neither answer nor progress for 1s`)
		want(t, "granted", filterText(cs), uris(`"x:b"`))
		must(t, cs.Unsubscribe(ctx, "x:b"))
	}), discovers("{}", changingCaps)+`
		< `+listens(2, `{"toolsListChanged":true}`)+`
		> `+grants(2, `{"toolsListChanged":true}`)+`
		< `+listens(3, uris(`"x:a"`))+`
		> `+updates(2, "x:before")+`
		> `+grants(3, uris(`"x:a"`))+`
		~ `+superseded(2)+`
		~ `+listens(4, uris(`"x:a","x:b"`))+`
		> `+updates(3, "x:a")+`
		> `+grants(4, uris(`"x:a","x:b"`))+`
		~ `+superseded(3)+`
		~ `+loneRequest(5, "server/discover", "")+`
		> `+updates(2, "x:of-none")+`
		> `+updates(3, "x:of-none")+`
		> `+updates(4, "x:b")+`
		> `+discovered(5, changingCaps)+`
		< `+listens(6, uris(`"x:b"`))+`
		> `+grants(6, uris(`"x:b"`))+`
		~ `+superseded(4)+`
		~ `+listens(7, uris(`"x:b","x:c"`))+`
		> `+grants(7, uris(`"x:b"`))+`
		~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"mcp: subscriptions/listen: context canceled: mcp: the server does not offer updates of resource \"x:c\""}}
		~ `+listens(8, uris(`"x:b","x:c"`))+`
		> `+faulty(8, -32602, "")+`
		< `+listens(9, uris(`"x:b","x:c"`))+`
		. 1s
		~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9,"reason":"mcp: subscriptions/listen: context canceled: context deadline exceeded"}}
		~ `+listens(10, uris(`"x:b","x:c"`))+`
		. 1s
		~ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10,"reason":"mcp: subscriptions/listen: context canceled: mcp: subscriptions/listen: neither answer nor progress for 1s"}}
		~ `+listens(11, `{"toolsListChanged":true}`)+`
		> `+updates(6, "x:still")+`
		> `+grants(11, `{"toolsListChanged":true}`)+`
		< `+superseded(6)+`
	`)
	want(t, "heard", heard.String(), "x:before; x:a; x:b; x:still")
}

// A server that does not offer updates is not asked for them; the last resource that
// is not followed any more ends the subscription.
func TestSubscribeOffered(t *testing.T) {
	talk(t, modernClient(t, ClientOptions{}, func(ctx context.Context, cs *ClientSession) {
		checkError(t, "Subscribe", cs.Subscribe(ctx, "x:a"), "mcp: the server does not offer resources/subscribe")
		want(t, "the sentinel", errors.Is(cs.Unsubscribe(ctx, "x:a"), ErrNotOffered), true)
		forced := cs.With(CallOptions{Force: true})
		must(t, forced.Subscribe(ctx, "x:a"), forced.Unsubscribe(ctx, "x:a"))
		want(t, "granted", filterText(cs), "nothing")
	}), discovers("{}", `{"resources":{"listChanged":true}}`)+`
		< `+listens(2, `{"resourceSubscriptions":["x:a"]}`)+`
		> `+grants(2, `{"resourceSubscriptions":["x:a"]}`)+`
		< `+superseded(2)+`
	`)
}

// A subscription that ends is opened again after a while, and when it is there, the
// application is told of all that it may have missed: whether the server has ended it
// in one way, or in another, or in both.
//
// BASE-380 EDGE-223 EDGE-224 FEAT-149
func TestListenAgain(t *testing.T) {
	filter := strings.Replace(allLists, "}", `,"resourceSubscriptions":["x:a"]}`, 1)
	for _, end := range []string{"> " + overs(3), "> " + withdraws(3), "> " + withdraws(3) + "\n> " + overs(3), "> " + overs(3) + "\n> " + withdraws(3),
		"> " + givesBack(3, `{}`), "> " + givesBack(3, `{"resultType":"future"}`)} {
		heard := &journal{}
		talk(t, modernClient(t, hearing(heard), func(ctx context.Context, cs *ClientSession) { must(t, cs.Subscribe(ctx, "x:a")) }), discovers("{}", changingCaps)+`
			< `+listens(2, allLists)+`
			> `+grants(2, allLists)+`
			< `+listens(3, filter)+`
			> `+grants(3, filter)+`
			< `+superseded(2)+`
			`+end+`
			. 499ms
			. 251ms
			< `+listens(4, filter)+`
			> `+updates(3, "x:late")+`
			> `+updates(4, "x:a")+`
			> `+grants(4, filter)+`
			> `+noteOf("4", "tools/list_changed", "")+`
			. 1h
		`)
		want(t, "heard", heard.String(), "x:a; tools; prompts; resources; x:a; tools")
	}
}

// A server that ends a subscription at once is asked ten times, with pauses, and then
// left alone; Subscribed says so, and the log. To follow a resource then asks again.
//
// EDGE-218
func TestListenGivesUp(t *testing.T) {
	log := &journal{}
	opts := hearing(&journal{})
	opts.Logger = log.logger()
	script := discovers("{}", changingCaps)
	for i := range 10 {
		script += fmt.Sprintf("< %s\n> %s\n> %s\n", listens(2+i, allLists), grants(2+i, allLists), overs(2+i))
		if i < 9 {
			pause := min(500*time.Millisecond<<i, 30*time.Second)
			script += fmt.Sprintf(". %v\n. %v\n", pause-time.Millisecond, pause/2+time.Millisecond)
		}
	}
	filter := strings.Replace(allLists, "}", `,"resourceSubscriptions":["x:a"]}`, 1)
	talk(t, modernClient(t, opts, func(ctx context.Context, cs *ClientSession) {
		time.Sleep(time.Hour) // virtual
		want(t, "granted", filterText(cs), "nothing")
		must(t, cs.Subscribe(ctx, "x:a"))
		want(t, "granted", filterText(cs), filter)
	}), script+`
		. 1h
		< `+listens(12, filter)+`
		> `+grants(12, filter)+`
	`)
	if !strings.Contains(log.String(), "WARN the server does not tell of changes any more") {
		t.Errorf("not logged: %s", log)
	}
}

// BUG-230: who is not told of changes can see that; a stream that drops is opened
// again, and the application told to look.
func TestBUG230ListenRejected(t *testing.T) {
	heard, log := &journal{}, &journal{}
	opts := hearing(heard)
	opts.Logger = log.logger()
	const tools = `{"toolsListChanged":true}`
	talk(t, modernClient(t, opts, func(_ context.Context, cs *ClientSession) { want(t, "granted", filterText(cs), "nothing") }),
		discovers("{}", `{"tools":{"listChanged":true}}`)+"< "+listens(2, tools)+"\n> "+faulty(2, -32602, "")+"\n. 1h")
	if !strings.Contains(log.String(), "WARN the server does not tell of changes any more") {
		t.Errorf("not logged: %s", log)
	}
	post := func(id int) string { return posts(id, "", "subscriptions/listen", `,"notifications":`+tools) }
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, probes(`{"tools":{"listChanged":true}}`),
			step{post(2), eventReply("data: "+grants(2, tools)+"\n\n", wait, cut)}, step{post(3), eventReply("data: "+grants(3, tools)+"\n\n", hang)})
		tr := m.transport()
		tr.NoListen = false
		cs, err := statelessClient(opts).Connect(t.Context(), tr)
		must(t, err)
		time.Sleep(10 * time.Second) // virtual
		want(t, "heard", heard.String(), "")
		time.Sleep(time.Second) // virtual
		want(t, "heard", heard.String(), "tools")
		must(t, cs.Close())
	})
}

// Close does not wait for a pause, nor for a server: whatever goes on ends, on either
// transport, and so does what is called then.
//
// EDGE-240
func TestStatelessClose(t *testing.T) {
	const tools = `{"toolsListChanged":true}`
	post := func(id int) string { return posts(id, "", "subscriptions/listen", `,"notifications":`+tools) }
	for _, first := range []http.HandlerFunc{eventReply("data: "+grants(2, tools)+"\n\n", hang), untilGone, reply(503, ""), eventReply("data: " + grants(2, tools) + "\n\n")} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, probes(changingCaps), step{post(2), first}, step{posts(3, "name=a", "tools/call", `,"name":"a"`), untilGone},
				step{posts(4, "", "subscriptions/listen", `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a"]}`), untilGone})
			tr := m.transport()
			tr.NoListen = false
			cs, err := statelessClient(ClientOptions{ToolsChanged: func(context.Context, *ClientSession) {}}).Connect(t.Context(), tr)
			must(t, err)
			ended := &journal{}
			var all sync.WaitGroup
			all.Go(func() {
				_, err := cs.CallTool(context.Background(), "a", nil)
				ended.add("%v", errors.Is(err, ErrClosed))
			})
			synctest.Wait()
			all.Go(func() { ended.add("%v", errors.Is(cs.Subscribe(context.Background(), "x:a"), ErrClosed)) })
			synctest.Wait()
			start := time.Now()
			must(t, cs.Close(), cs.Close())
			all.Wait()
			want(t, "time passed", time.Since(start), time.Duration(0))
			want(t, "ended", ended.String(), "true; true")
			want(t, "Subscribe", errors.Is(cs.Subscribe(context.Background(), "x:b"), ErrClosed), true)
			want(t, "Ping", errors.Is(cs.Ping(context.Background()), ErrClosed), true)
			synctest.Wait()
			want(t, "open connections", m.ln.open.Load(), 0)
		})
	}
}

// Many at once follow and forget, while the server ends what it likes.
//
// BASE-132
func TestSubscribeStress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := Pipe()
		var all, server sync.WaitGroup
		server.Go(func() {
			for n := 0; ; n++ {
				line, err := theirs.Read()
				if err != nil {
					return
				}
				m := parseFrame(line).messages[0]
				id, _ := m.id.MarshalJSON()
				switch {
				case m.method == methodDiscover:
					_ = theirs.Write([]byte(discovered(1, changingCaps)))
				case m.method == methodListen && n%7 == 3:
					_ = theirs.Write([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32603,"message":"no"}}`))
				case m.method == methodListen:
					_ = theirs.Write([]byte(noteOf(string(id), "subscriptions/acknowledged", `,"notifications":`+string(m.params.member("notifications").raw()))))
					if n%5 == 1 {
						_ = theirs.Write([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{}}`))
					}
				}
			}
		})
		cs, err := statelessClient(hearing(&journal{})).Connect(t.Context(), &ConnTransport{Conn: ours})
		must(t, err)
		for i := range 20 {
			all.Go(func() {
				uri := fmt.Sprint("x:", i%7)
				for range 10 {
					_ = cs.Subscribe(t.Context(), uri)
					_ = cs.Subscribed()
					_ = cs.Unsubscribe(t.Context(), uri)
				}
			})
		}
		all.Wait()
		must(t, cs.Close(), theirs.Close())
		server.Wait()
	})
}

// What a handler of notifications does must not wait for itself: it may list, follow
// and forget, also where the server refuses.
func TestListenFromHandler(t *testing.T) {
	heard := &journal{}
	opts := hearing(heard)
	opts.PromptsChanged, opts.ResourcesChanged = nil, nil
	opts.ToolsChanged = func(ctx context.Context, cs *ClientSession) {
		_, err := cs.ListTools(ctx, nil)
		must(t, err, cs.Subscribe(ctx, "x:a"))
		heard.add("%v", cs.Subscribe(ctx, "x:b"))
		must(t, cs.Unsubscribe(ctx, "x:a"))
	}
	const tools = `{"toolsListChanged":true}`
	with := strings.Replace(tools, "}", `,"resourceSubscriptions":["x:a"]}`, 1)
	talk(t, modernClient(t, opts, func(context.Context, *ClientSession) {}), discovers("{}", changingCaps)+`
		< `+listens(2, tools)+`
		> `+grants(2, tools)+`
		> `+overs(2)+`
		. 1s
		< `+listens(3, tools)+`
		> `+grants(3, tools)+`
		< `+loneRequest(4, "tools/list", "")+`
		> `+givesBack(4, `{"tools":[]}`)+`
		< `+listens(5, with)+`
		> `+grants(5, with)+`
		~ `+superseded(3)+`
		~ `+listens(6, strings.Replace(with, `"]`, `","x:b"]`, 1))+`
		> `+faulty(6, -32602, "")+`
		< `+listens(7, tools)+`
		> `+grants(7, tools)+`
		< `+superseded(5)+`
	`)
	want(t, "heard", heard.String(), "mcp: subscriptions/listen: no (code -32602)")
}

// When a server process is started again by another session, that asks for what its
// application wants; nothing is told at the end, the connection ends.
//
// BASE-381 FEAT-146
func TestListenEndsWithSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := statelessClient(hearing(&journal{}))
		for range 2 {
			ours, theirs := Pipe()
			lines := make(chan string, 10)
			go func() {
				defer close(lines)
				for {
					line, err := theirs.Read()
					if err != nil {
						return
					}
					lines <- string(line)
					switch len(lines) {
					case 1:
						must(t, theirs.Write([]byte(discovered(1, changingCaps))))
					case 2:
						must(t, theirs.Write([]byte(grants(2, allLists))))
					}
				}
			}()
			cs, err := client.Connect(t.Context(), &ConnTransport{Conn: ours})
			must(t, err)
			want(t, "granted", filterText(cs), allLists)
			must(t, cs.Close())
			want(t, "granted", filterText(cs), "nothing")
			must(t, theirs.Close())
			want(t, "lines", []string{<-lines, <-lines, <-lines}, []string{loneRequest(1, "server/discover", ""), listens(2, allLists), ""})
		}
	})
}

// Over HTTP a subscription is a POST whose stream stays open; the client ends it by
// closing that.
//
// BASE-377 BASE-380 FEAT-147 FEAT-149 EDGE-223
func TestHTTPListenAlone(t *testing.T) {
	const tools = `{"toolsListChanged":true}`
	post := func(id int, filter string) string {
		return posts(id, "", "subscriptions/listen", `,"notifications":`+filter)
	}
	for _, c := range []struct {
		name    string
		first   http.HandlerFunc
		again   bool
		granted string // at once
		heard   string
	}{
		{"cut", eventReply("data: "+grants(2, tools)+"\n\n", wait, cut), true, tools, "tools"},
		{"ended", eventReply("data: "+grants(2, tools)+"\n\n", wait, "data: "+overs(2)+"\n\n"), true, tools, "tools"},
		{"ended without a word", eventReply("data: "+grants(2, tools)+"\n\n", wait), true, tools, "tools"},
		{"withdrawn", eventReply("data: "+grants(2, tools)+"\n\n", wait, "data: "+withdraws(2)+"\n\n", hang), true, tools, "tools"},
		{"never acknowledged", eventReply(": hi\n\n", wait, cut), true, "nothing", ""},
		{"503", reply(503, "text/plain", "later"), true, "nothing", ""},
		{"401", reply(401, ""), false, "nothing", ""},
		{"refused", reply(400, "application/json", faulty(2, -32602, "")), false, "nothing", ""},
		{"unknown", reply(404, "application/json", faulty(2, -32601, "")), false, "nothing", ""},
		{"stays", eventReply("data: "+grants(2, tools)+"\n\n", hang), false, tools, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := &journal{}
				opts := hearing(heard)
				steps := []step{probes(`{"tools":{"listChanged":true}}`), {post(2, tools), c.first}}
				if c.again {
					steps = append(steps, step{post(3, tools), eventReply("id: 5\ndata: "+grants(3, tools)+"\n\n", ": hi\n\n", hang)})
				}
				m := mockServer(t, steps...)
				tr := m.transport()
				tr.NoListen = false
				cs, err := statelessClient(opts).Connect(t.Context(), tr)
				must(t, err)
				want(t, "granted", filterText(cs), c.granted)
				time.Sleep(time.Hour) // virtual
				if c.again || c.granted != "nothing" {
					c.granted = tools
				}
				want(t, "granted", filterText(cs), c.granted)
				want(t, "heard", heard.String(), c.heard)
				must(t, cs.Close())
				synctest.Wait()
				want(t, "open connections", m.ln.open.Load(), 0)
			})
		})
	}
}

// Of a transport that does not listen, only Subscribe does.
func TestHTTPSubscribeAlone(t *testing.T) {
	one, two := `{"resourceSubscriptions":["x:a"]}`, `{"resourceSubscriptions":["x:a","x:b"]}`
	stay := func(id int, filter string) http.HandlerFunc {
		return eventReply("data: "+grants(id, filter)+"\n\n", hang)
	}
	post := func(id int, filter string) string {
		return posts(id, "", "subscriptions/listen", `,"notifications":`+filter)
	}
	overHTTP(t, hearing(&journal{}), changingCaps, []step{{post(2, one), stay(2, one)}, {post(3, two), stay(3, two)}, {post(4, one), stay(4, one)}}, func(ctx context.Context, m *mock, cs *ClientSession) {
		must(t, cs.Subscribe(ctx, "x:a"), cs.Subscribe(ctx, "x:b"), cs.Unsubscribe(ctx, "x:b"))
		synctest.Wait()
		want(t, "open connections", m.ln.open.Load(), 1)
		must(t, cs.Unsubscribe(ctx, "x:a"))
		want(t, "granted", filterText(cs), "nothing")
	})
}

// Each kind of client with each kind of server, over a pipe and over HTTP.
//
// BASE-096 BASE-105 BASE-106
func TestEras(t *testing.T) {
	kinds := []struct {
		name string
		revs []string
	}{{"modern", []string{Revision20260728}}, {"dual", nil}, {"legacy", sessionRevisions()}}
	outcomes := [][]string{ // by client, then by server
		{Revision20260728, Revision20260728, ""},
		{Revision20260728, Revision20260728, Revision20251125},
		{"", Revision20251125, Revision20251125},
	}
	for i, c := range kinds {
		for j, s := range kinds {
			for _, over := range []string{"pipe", "HTTP"} {
				t.Run(c.name+" client, "+s.name+" server, "+over, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := testServer(t, &ServerOptions{Revisions: s.revs})
						var tr Transport
						ended := make(chan error, 1)
						if over == "pipe" {
							ours, theirs := Pipe()
							go func() { ended <- server.Run(context.Background(), theirs) }()
							tr = &ConnTransport{Conn: ours}
						} else {
							ln, h := listenMemory(), &HTTPHandler{Server: server}
							serveMemory(t, ln, h)
							t.Cleanup(func() { must(t, h.Shutdown(context.Background())) })
							ended <- nil
							tr = &HTTPTransport{URL: "http://localhost/mcp", Client: ln.client()}
						}
						cs, err := NewClient(&Implementation{Name: "t", Version: "0"}, &ClientOptions{Revisions: c.revs, Logger: slog.New(slog.DiscardHandler)}).Connect(t.Context(), tr)
						if rev := outcomes[i][j]; (err == nil) != (rev != "") {
							t.Errorf("Connect: %v, want %q", err, rev)
						} else if err == nil {
							want(t, "revision", cs.Revision(), rev)
							r, err := cs.CallTool(t.Context(), "echo", echoInput{"hi"})
							must(t, err)
							want(t, "answer", r.Content[0].(*TextContent).Text, "hi")
						}
						if err == nil {
							must(t, cs.Close())
						}
						must(t, <-ended)
					})
				})
			}
		}
	}
}
