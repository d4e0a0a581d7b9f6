package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// posts is a POST of a client "t" that can do nothing: what is mirrored beside the
// method ("name=a param-x=1"), the method and the further parameters.
func posts(id int, mirrored, method, params string) string {
	return strings.TrimSpace("POST rev=2026-07-28 method="+method+" "+mirrored) + " " + loneRequest(id, method, params)
}

// probes is how such a client finds out that a server offers caps.
func probes(caps string) step {
	return step{posts(1, "", "server/discover", ""), jsonReply(discovered(1, caps))}
}

// statelessClient is a client "t" of all revisions, unless opts say less.
func statelessClient(opts ClientOptions) *Client {
	opts.NoTasks = true
	return NewClient(&Implementation{Name: "t", Version: "0"}, &opts)
}

// overHTTP uses a session with a mock of 2026-07-28 that offers caps and has these
// steps. Nothing is left when it is closed, no connection either.
func overHTTP(t *testing.T, opts ClientOptions, caps string, steps []step, use func(ctx context.Context, m *mock, cs *ClientSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		m := mockServer(t, slices.Concat([]step{probes(caps)}, steps)...)
		cs, err := statelessClient(opts).Connect(t.Context(), m.transport())
		must(t, err)
		want(t, "revision", cs.Revision(), Revision20260728)
		use(t.Context(), m, cs)
		must(t, cs.Close())
		synctest.Wait()
		want(t, "open connections", m.ln.open.Load(), 0)
	})
}

// oldOpening is the handshake of client "t" with a server of the session era, and its end.
func oldOpening(id int, session string) []step {
	replace := func(s string) string { return strings.Replace(s, `"name":"c"`, `"name":"t"`, 1) }
	steps := opened(id, session, Revision20251125)
	steps[0].request = replace(steps[0].request)
	if session != "" {
		steps = append(steps, parting(session, Revision20251125))
	}
	return steps
}

func initializeOf(id int) string {
	return "POST " + strings.Replace(initializeBody(id), `"name":"c"`, `"name":"t"`, 1)
}

// What the answer to the first POST says of the server: and what is remembered for
// the origin. Connect is tried twice.
//
// BASE-097 BASE-099 BASE-100 BASE-102 BASE-233 BASE-234 BASE-235 BASE-338
// EDGE-163 EDGE-164 EDGE-165 EDGE-166 EDGE-167 HOSTILE-53 C-10
func TestHTTPProbe(t *testing.T) {
	good := discovered(1, "{}")
	answered := func(status int, text string) string {
		return fmt.Sprintf("mcp: server/discover: POST http://mcp.test/mcp: the server answered %d %s", status, http.StatusText(status)) + text
	}
	for _, c := range []struct {
		name   string
		steps  []step
		wanted string
		rev    string
	}{
		{"JSON", notOld(jsonReply(good)), "", Revision20260728},
		{"events", notOld(eventReply(": hi\r\n", "id: 7\nretry: 1\n\n", "data: "+good+"\n\n", hang)), "", Revision20260728},
		{"a session id", notOld(reply(200, "application/json\nMcp-Session-Id: abc", good)), "", Revision20260728},
		{"refused once", []step{{probe(1), reply(400, "application/json", faulty(1, -32022, supports(`"2026-07-28"`)))}, {probe(2), jsonReply(discovered(2, "{}"))},
			{probe(1), jsonReply(good)}}, "", Revision20260728},
		{"an old one", provesOld(reply(400, "application/json", faulty(1, -32022, supports(`"2025-11-25"`)))), "", Revision20251125},
		{"-32020", notOld(reply(400, "application/json", faulty(1, -32020, ""))), "no (code -32020)", ""},
		{"-32021", notOld(reply(400, "application/json", faulty(1, -32021, ""))), "no (code -32021)", ""},
		{"400 with a text", provesOld(reply(400, "text/plain", "Bad Request: no session")), "", Revision20251125},
		{"400 with JSON", provesOld(reply(400, "application/json", `{"error":"no"}`)), "", Revision20251125},
		{"400 with -32000", provesOld(reply(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`)), "", Revision20251125},
		{"400 with -32602", provesOld(reply(400, "application/json", faulty(1, -32602, ""))), "", Revision20251125},
		{"404 with -32601", provesOld(reply(404, "application/json", faulty(1, -32601, ""))), "", Revision20251125},
		{"405", provesOld(reply(405, "")), "", Revision20251125},
		{"200 with an error", provesOld(jsonReply(faulty(1, -32601, ""))), "", Revision20251125},
		{"401", notOld(reply(401, "text/plain", "who?")), answered(401, ` (text/plain): "who?"`), ""},
		{"403", notOld(reply(403, "application/json", faulty(1, -32600, ""))), answered(403, ` (application/json): "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"no\"}}"`), ""},
		{"429", notOld(reply(429, "application/json", faulty(1, -32603, ""))), answered(429, ` (application/json): "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\"}}"`), ""},
		{"500", notOld(reply(500, "")), answered(500, ""), ""},
		{"502", notOld(reply(502, "text/html", "<html>")), answered(502, ` (text/html): "<html>"`), ""},
		{"503", notOld(reply(503, "application/json", faulty(1, -32603, ""))), answered(503, ` (application/json): "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\"}}"`), ""},
		{"202", notOld(reply(202, "")), answered(202, ""), ""},
		{"a page", notOld(reply(200, "text/html", "<html>")), answered(200, ` (text/html): "<html>"`), ""},
		{"a stream that is cut", notOld(eventReply("id: 7\ndata:\n\n", cut)), "mcp: server/discover: the stream broke off before the answer: unexpected EOF", ""},
		{"a stream that ends", notOld(eventReply("id: 7\ndata:\n\n")), "mcp: server/discover: the stream ended before the answer", ""},
		{"another id", notOld(jsonReply(discovered(9, "{}"))), "mcp: server/discover: mcp: invalid response: not the answer to this request", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tryTwice(t, c.steps, c.wanted, c.rev)
		})
	}
}

// probe is the first request of client "t", notOld what is answered each time that it
// tries, provesOld what leads to a server of the session era, which is remembered.
func probe(id int) string { return posts(id, "", "server/discover", "") }

func notOld(answer http.HandlerFunc) []step { return []step{{probe(1), answer}, {probe(1), answer}} }

func provesOld(answer http.HandlerFunc) []step {
	return slices.Concat([]step{{probe(1), answer}}, oldOpening(2, "abc"), oldOpening(1, ""))
}

// tryTwice connects a client twice to a mock.
func tryTwice(t *testing.T, steps []step, wanted, rev string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		m := mockServer(t, steps...)
		client := statelessClient(ClientOptions{})
		for range 2 {
			cs, err := client.Connect(t.Context(), m.transport())
			checkError(t, "Connect", err, wanted)
			if err == nil {
				want(t, "revision", cs.Revision(), rev)
				must(t, cs.Close())
			} else {
				want(t, "unauthorized", errors.Is(err, ErrUnauthorized), strings.Contains(wanted, " 401 "))
			}
		}
		synctest.Wait()
		want(t, "open connections", m.ln.open.Load(), 0)
	})
}

// BUG-046: a server that answers the first request by a status, in its own words, is
// of the session era; initialize belongs to no session.
//
// BASE-234 BASE-235
func TestBUG046ProbeRefusedByStatus(t *testing.T) {
	for _, answer := range []http.HandlerFunc{reply(400, ""), reply(404, "text/plain", "Invalid session ID"),
		reply(400, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}`)} {
		tryTwice(t, provesOld(answer), "", Revision20251125)
	}
}

// BUG-047: an error that only 2026-07-28 has is no reason for initialize.
//
// BASE-090 BASE-234
func TestBUG047ModernErrorIsNoFallback(t *testing.T) {
	const wanted = `mcp: the server speaks revisions ["2027-01-01"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: x (code -32022)`
	for _, id := range []string{`"id":1,`, `"id":null,`, ``} {
		tryTwice(t, notOld(reply(400, "application/json", `{"jsonrpc":"2.0",`+id+`"error":{"code":-32022,"message":"x","data":{"supported":["2027-01-01"],"requested":"2026-07-28"}}}`)), wanted, "")
	}
}

// BUG-055: a ping asks what every server has, and where even that fails, it costs that
// ping alone.
func TestBUG055PingThenList(t *testing.T) {
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{
		{probe(2), jsonReply(discovered(2, "{}"))},
		{probe(3), reply(404, "application/json", faulty(3, -32601, ""))},
		{posts(4, "", "tools/list", ""), jsonReply(toolsOf(4))},
	}, func(ctx context.Context, _ *mock, cs *ClientSession) {
		must(t, cs.Ping(ctx))
		checkError(t, "Ping", cs.Ping(ctx), "mcp: server/discover: no (code -32601)")
		must(t, second(cs.ListTools(ctx, nil)))
	})
}

// A server that cannot be reached says nothing of its era.
//
// EDGE-164
func TestHTTPProbeNobody(t *testing.T) {
	refused := &HTTPTransport{URL: "http://mcp.test/mcp", Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("connection refused")
	})}}
	client := statelessClient(ClientOptions{})
	_, err := client.Connect(t.Context(), refused)
	checkError(t, "Connect", err, `mcp: server/discover: Post "http://mcp.test/mcp": connection refused`)
	want(t, "remembered", len(client.old), 0)
}

// Pinned to 2026-07-28, a client says what is wrong and calls nothing; pinned to
// sessions, it does not probe.
//
// BASE-104
func TestHTTPPinned(t *testing.T) {
	probe := posts(1, "", "server/discover", "")
	for _, c := range []struct {
		revs   []string
		steps  []step
		wanted string
	}{
		{[]string{Revision20260728}, []step{{probe, reply(404, "text/plain", "no")}}, pinnedRefusal + `mcp: server/discover: POST http://mcp.test/mcp: the server answered 404 Not Found (text/plain): "no"`},
		{[]string{Revision20260728}, []step{{probe, reply(400, "application/json", faulty(1, -32600, ""))}}, pinnedRefusal + `no (code -32600)`},
		{sessionRevisions(), []step{{initializeOf(1), reply(400, "application/json", faulty(1, -32020, ""))}}, "mcp: initialize: no (code -32020)"},
		{sessionRevisions(), []step{{initializeOf(1), reply(400, "application/json", faulty(1, -32022, supports(`"2026-07-28"`)))}}, "mcp: the server supports only revisions 2026-07-28: no (code -32022)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := mockServer(t, c.steps...)
			_, err := statelessClient(ClientOptions{Revisions: c.revs}).Connect(t.Context(), m.transport())
			checkError(t, "Connect", err, c.wanted)
		})
	}
}

// What is remembered of an origin may be wrong by now.
//
// BASE-103
func TestHTTPProbeForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mockServer(t, slices.Concat([]step{{posts(1, "", "server/discover", ""), reply(404, "")}}, oldOpening(2, ""),
			[]step{{initializeOf(1), reply(400, "application/json", faulty(1, -32020, ""))}, {posts(2, "", "server/discover", ""), jsonReply(discovered(2, "{}"))},
				probes("{}")},
			[]step{{initializeOf(1), reply(503, "")}})...)
		client := statelessClient(ClientOptions{})
		for _, rev := range []string{Revision20251125, Revision20260728, Revision20260728} {
			cs, err := client.Connect(t.Context(), m.transport())
			must(t, err)
			want(t, "revision", cs.Revision(), rev)
			must(t, cs.Close())
		}
		client.noteOld("http://mcp.test:80", true)
		_, err := client.Connect(t.Context(), m.transport())
		checkError(t, "Connect", err, "mcp: initialize: POST http://mcp.test/mcp: the server answered 503 Service Unavailable")
	})
}

// A server that only knows HTTP+SSE is found behind two refusals.
//
// EDGE-162
func TestHTTPProbeToOldTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newOldStream("event: endpoint\ndata: /messages\n\n")
		replace := func(s string) string { return strings.Replace(s, `"name":"c"`, `"name":"t"`, 1) }
		m := mockServer(t,
			step{posts(1, "", "server/discover", ""), reply(405, "")},
			step{initializeOf(2), reply(405, "")},
			step{"GET", old.get},
			step{"POST /messages " + replace(initializeBody(2)), old.answer(202, "", initializeAnswer(2, Revision20241105))},
			step{"POST /messages " + initializedBody, old.answer(202, "", "")})
		cs, err := statelessClient(ClientOptions{}).Connect(t.Context(), m.transport())
		must(t, err)
		want(t, "revision", cs.Revision(), Revision20241105)
		must(t, cs.Close())
	})
}

// Each request is a POST of its own with headers that repeat the method, the revision
// and what it is about; nothing else is sent: no session, no GET, no DELETE, no
// notification.
//
// BASE-092 BASE-217 BASE-222 BASE-230 BASE-308 BASE-309 BASE-312 BASE-313 BASE-314 BASE-331
func TestHTTPMirrorsMethods(t *testing.T) {
	none := func(id int, mirrored, method, params, result string) step {
		return step{posts(id, mirrored, method, params), reply(200, "application/json\nMcp-Session-Id: abc", givesBack(id, result))}
	}
	opts := ClientOptions{Roots: nil, KeepAlive: time.Second}
	overHTTP(t, opts, `{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}}`, []step{
		none(2, "", "server/discover", "", `{"supportedVersions":[],"capabilities":{}}`),
		none(3, "", "tools/list", "", `{"tools":[]}`),
		none(4, "", "tools/list", `,"cursor":""`, `{"tools":[]}`),
		none(5, "", "prompts/list", "", `{"prompts":[]}`),
		none(6, "", "resources/list", "", `{"resources":[]}`),
		none(7, "", "resources/templates/list", "", `{"resourceTemplates":[]}`),
		none(8, "name==?base64?5pel5pys?=", "tools/call", `,"name":"日本"`, toolDone),
		none(9, "name=a-b c", "prompts/get", `,"name":"a-b c"`, `{"messages":[]}`),
		none(10, "name=file:///a%20b?c=d#e", "resources/read", `,"uri":"file:///a%20b?c=d#e"`, `{"contents":[]}`),
		none(11, "name==?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "tools/call", `,"name":"=?base64?literal?="`, toolDone),
		none(12, "name==?base64?IGE=?=", "tools/call", `,"name":" a"`, toolDone),
		none(13, "", "completion/complete", `,"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`, `{"completion":{"values":[]}}`),
		{strings.Replace(posts(14, "name=a", "tools/call", `,"name":"a"`), `"2026-07-28"`, `"2026-07-28","io.modelcontextprotocol/logLevel":"error"`, 1), jsonReply(givesBack(14, toolDone))},
	}, func(ctx context.Context, m *mock, cs *ClientSession) {
		empty := ""
		must(t, cs.Ping(ctx))
		for _, err := range []error{
			second(cs.ListTools(ctx, nil)), second(cs.ListTools(ctx, &empty)), second(cs.ListPrompts(ctx, nil)), second(cs.ListResources(ctx, nil)), second(cs.ListResourceTemplates(ctx, nil)),
			second(cs.CallTool(ctx, "日本", nil)), second(cs.GetPrompt(ctx, "a-b c", nil)), second(cs.ReadResource(ctx, "file:///a%20b?c=d#e")),
			second(cs.CallTool(ctx, "=?base64?literal?=", nil)), second(cs.CallTool(ctx, " a", nil)),
			second(cs.Complete(ctx, &CompleteParams{Ref: CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: CompleteArgument{Name: "a"}})),
			cs.SetLoggingLevel(ctx, "error"),
			second(cs.With(CallOptions{Header: http.Header{"mcp-protocol-version": {"1"}, "mcp-method": {"x"}, "MCP-NAME": {"x"}}}).CallTool(ctx, "a", nil)),
		} {
			must(t, err)
		}
		time.Sleep(time.Hour) // virtual
	})
}

func second[T any](_ T, err error) error { return err }

// mirroring are the properties of a tool with arguments that stand in headers.
const mirroring = `{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"Method"},
	"in":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep-er"}}},"plain":{"type":"string"}}}`

// toolsOf is a page with tools that have these schemas, by name.
func toolsOf(id int, tools ...string) string {
	for i := 0; i < len(tools); i += 2 {
		tools[i/2] = fmt.Sprintf(`{"name":%s,"inputSchema":%s}`, quoted(tools[i]), strings.NewReplacer("\n", "", "\t", "").Replace(tools[i+1]))
	}
	return givesBack(id, `{"resultType":"complete","tools":[`+strings.Join(tools[:len(tools)/2], ",")+`],"ttlMs":0,"cacheScope":"private"}`)
}

// Arguments of marked properties are in headers, too, where they have a value.
//
// BASE-321 BASE-326 BASE-330 BASE-331 EDGE-157 EDGE-160
// FEAT-078 FEAT-079 FEAT-080 FEAT-081 FEAT-082 FEAT-083 FEAT-084 FEAT-085
// E7.1 E7.2 E7.3 E7.4 E7.5 E7.6 E7.7 E7.8 E7.9 E7.10 E1.18
func TestHTTPMirrorsArguments(t *testing.T) {
	cases := []struct{ args, headers, wanted string }{
		{`{"region":"us-west1"}`, "param-region=us-west1", ""},
		{`{"region":"us west 1"}`, "param-region=us west 1", ""},
		{`{"region":""}`, "param-region=", ""},
		{`{"region":" us-west1"}`, "param-region==?base64?IHVzLXdlc3Qx?=", ""},
		{`{"region":"us-west1 "}`, "param-region==?base64?dXMtd2VzdDEg?=", ""},
		{`{"region":" padded "}`, "param-region==?base64?IHBhZGRlZCA=?=", ""},
		{`{"region":"Hello, 世界"}`, "param-region==?base64?SGVsbG8sIOS4lueVjA==?=", ""},
		{`{"region":"line1\nline2"}`, "param-region==?base64?bGluZTEKbGluZTI=?=", ""},
		{`{"region":"line1\r\nline2"}`, "param-region==?base64?bGluZTENCmxpbmUy?=", ""},
		{`{"region":"\tindented"}`, "param-region==?base64?CWluZGVudGVk?=", ""},
		{`{"region":"a\tb"}`, "param-region==?base64?YQli?=", ""},
		{`{"region":"\u007f"}`, "param-region==?base64?fw==?=", ""},
		{`{"region":"=?base64?literal?="}`, "param-region==?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", ""},
		{`{"region":"=?base64?open"}`, "param-region==?base64?open", ""},
		{`{"n":42}`, "param-n=42", ""},
		{`{"n":-7}`, "param-n=-7", ""},
		{`{"n":1e3}`, "param-n=1000", ""},
		{`{"n":9007199254740991}`, "param-n=9007199254740991", ""},
		{`{"b":true,"region":"r","n":0}`, "param-method=true param-n=0 param-region=r", ""},
		{`{"b":false}`, "param-method=false", ""},
		{`{"in":{"deep":"d","region":"no"}}`, "param-deep-er=d", ""},
		{`{"deep":"no","in":null}`, "", ""},
		{`{"in":"d"}`, "", ""},
		{`{"region":null,"plain":"p"}`, "", ""},
		{`{}`, "", ""},
		{``, "", ""},
		{`{"n":9007199254740992}`, "", `mcp: arguments of tool "a": n is 9007199254740992; only integers up to 2^53-1 can stand in a header`},
		{`{"n":-9007199254740993}`, "", `mcp: arguments of tool "a": n is -9007199254740993; only integers up to 2^53-1 can stand in a header`},
		{`{"n":1.5}`, "", `mcp: arguments of tool "a": n is 1.5; only integers up to 2^53-1 can stand in a header`},
		{`{"n":1e400}`, "", `mcp: arguments of tool "a": n is 1e400; only integers up to 2^53-1 can stand in a header`},
	}
	steps, id := []step{{posts(2, "", "tools/list", ""), jsonReply(toolsOf(2, "a", mirroring, "b", `{"type":"object"}`))}}, 3
	for _, c := range cases {
		if c.wanted == "" {
			args := ""
			if c.args != "" {
				args = `,"arguments":` + c.args
			}
			steps = append(steps, step{posts(id, strings.TrimSpace("name=a "+c.headers), "tools/call", `,"name":"a"`+args), jsonReply(givesBack(id, toolDone))})
			id++
		}
	}
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, steps, func(ctx context.Context, _ *mock, cs *ClientSession) {
		_, err := cs.ListTools(ctx, nil)
		must(t, err)
		for _, c := range cases {
			var args any
			if c.args != "" {
				args = json.RawMessage(c.args)
			}
			_, err := cs.CallTool(ctx, "a", args)
			checkError(t, c.args, err, c.wanted)
		}
	})
}

// Over HTTP a tool whose marks break a rule is left out, and the log says why; over a
// pipe marks mean nothing.
//
// BASE-322 BASE-323 BASE-324 BASE-325 BASE-327 BASE-328 BASE-329 FEAT-071 FEAT-072 FEAT-073 FEAT-074 FEAT-076 FEAT-077
func TestHTTPInvalidMirrors(t *testing.T) {
	property := func(text string) string { return `{"type":"object","properties":{"p":` + text + `}}` }
	bad := []string{
		property(`{"type":"string","x-mcp-header":""}`), property(`{"type":"string","x-mcp-header":"My Region"}`), property(`{"type":"string","x-mcp-header":"A:B"}`),
		property(`{"type":"string","x-mcp-header":"Région"}`), property(`{"type":"string","x-mcp-header":"R\t1"}`), property(`{"type":"string","x-mcp-header":5}`),
		property(`{"type":"number","x-mcp-header":"A"}`), property(`{"type":["string","null"],"x-mcp-header":"A"}`), property(`{"type":"object","x-mcp-header":"A"}`),
		property(`{"type":"array","x-mcp-header":"A"}`), property(`{"type":"null","x-mcp-header":"A"}`), property(`{"x-mcp-header":"A"}`),
		property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`), property(`{"oneOf":[{"type":"string","x-mcp-header":"A"}]}`),
		property(`{"type":"object","items":{"properties":{"q":{"type":"string","x-mcp-header":"A"}}}}`), property(`{"type":"object","additionalProperties":{"type":"string","x-mcp-header":"A"}}`),
		`{"type":"object","properties":{"p":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`,
		`{"type":"object","x-mcp-header":"A"}`, `{"type":"object","if":{"properties":{"p":{"type":"string","x-mcp-header":"A"}}}}`,
		`{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"Region"},"q":{"type":"string","x-mcp-header":"REGION"}}}`,
		`{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"A"},"q":{"type":"string","x-mcp-header":"A"}}}`,
	}
	tools := []string{"good", mirroring}
	for i, schema := range bad {
		tools = append(tools, fmt.Sprint("bad", i), schema)
	}
	tools = append(tools, "last", property(`{"type":"object","properties":{"x-mcp-header":{"type":"string"}},"default":{"x-mcp-header":"A B"}}`))
	page, log := toolsOf(2, tools...), &strings.Builder{}
	names := func(ctx context.Context, cs *ClientSession) (names []string) {
		r, err := cs.ListTools(ctx, nil)
		must(t, err)
		for _, tool := range r.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	overHTTP(t, ClientOptions{Logger: slog.New(slog.NewTextHandler(log, nil))}, `{"tools":{}}`, []step{{posts(2, "", "tools/list", ""), jsonReply(page)}}, func(ctx context.Context, _ *mock, cs *ClientSession) {
		want(t, "tools", names(ctx, cs), []string{"good", "last"})
	})
	for i := range bad {
		if !strings.Contains(log.String(), fmt.Sprintf("tool=bad%d reason=", i)) {
			t.Errorf("bad%d was left out without a word: %s", i, bad[i])
		}
	}
	talk(t, modernClient(t, ClientOptions{}, func(ctx context.Context, cs *ClientSession) {
		want(t, "tools", len(names(ctx, cs)), len(bad)+2)
		_, err := cs.CallTool(ctx, "good", json.RawMessage(`{"n":9007199254740993}`))
		must(t, err)
	}), discovers("{}", `{"tools":{}}`)+`
		< `+loneRequest(2, "tools/list", "")+`
		> `+page+`
		< `+loneRequest(3, "tools/call", `,"name":"good","arguments":{"n":9007199254740993}`)+`
		> `+givesBack(3, toolDone))
}

// Where the server says that headers are wrong, the tools are listed and the call is
// made once more, and not a third time.
//
// BASE-236 EDGE-161 FEAT-092
func TestHTTPHeadersDiffer(t *testing.T) {
	call := func(id int, headers, more string) string {
		return posts(id, strings.TrimSpace("name=a "+headers), "tools/call", `,"name":"a","arguments":{"region":"r"}`+more)
	}
	stale := func(id int) http.HandlerFunc { return reply(400, "application/json", faulty(id, -32020, "")) }
	list := func(id int) step {
		return step{posts(id, "", "tools/list", ""), jsonReply(toolsOf(id, "a", mirroring))}
	}
	use := func(wanted string, opts CallOptions) func(context.Context, *mock, *ClientSession) {
		return func(ctx context.Context, _ *mock, cs *ClientSession) {
			_, err := cs.With(opts).CallTool(ctx, "a", json.RawMessage(`{"region":"r"}`))
			checkError(t, "CallTool", err, wanted)
		}
	}
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{{call(2, "", ""), stale(2)}, list(3), {call(4, "param-region=r", ""), jsonReply(givesBack(4, toolDone))}}, use("", CallOptions{}))
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{{call(2, "", ""), stale(2)}, list(3), {call(4, "param-region=r", ""), stale(4)}}, use("mcp: tools/call: no (code -32020)", CallOptions{}))
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{{call(2, "", ""), stale(2)}, {posts(3, "", "tools/list", ""), reply(500, "")}}, use("mcp: tools/call: no (code -32020)", CallOptions{}))
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{{call(2, "", ""), reply(400, "text/plain", "a proxy says no")}},
		use(`mcp: tools/call: POST http://mcp.test/mcp: the server answered 400 Bad Request (text/plain): "a proxy says no"`, CallOptions{}))
	// In the middle of rounds, what was answered is not asked for again.
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{{call(2, "", ""), jsonReply(givesBack(2, needs("", `"S"`)))}, {call(3, "", `,"requestState":"S"`), stale(3)}, list(4),
		{call(5, "param-region=r", `,"requestState":"S"`), jsonReply(givesBack(5, needs("", `"T"`)))}, {call(6, "param-region=r", `,"requestState":"T"`), jsonReply(givesBack(6, toolDone))}}, use("", CallOptions{}))
	// Only tools have such headers.
	overHTTP(t, ClientOptions{}, `{"prompts":{}}`, []step{{posts(2, "name=p", "prompts/get", `,"name":"p"`), stale(2)}}, func(ctx context.Context, _ *mock, cs *ClientSession) {
		_, err := cs.GetPrompt(ctx, "p", nil)
		checkError(t, "GetPrompt", err, "mcp: prompts/get: no (code -32020)")
	})
	// The progress of the call is not that of the list.
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{
		{strings.Replace(call(2, "", ""), `28"}`, `28","progressToken":2}`, 1), stale(2)}, list(3),
		{strings.Replace(call(4, "param-region=r", ""), `28"}`, `28","progressToken":4}`, 1), jsonReply(givesBack(4, toolDone))}},
		use("", CallOptions{Progress: func(Progress) {}}))
}

// A call is given up by closing its exchange, and nothing is POSTed; a stream that is
// lost is not asked for again; what servers must not ask is not answered.
//
// BASE-016 BASE-117 BASE-138 BASE-140 BASE-231 BASE-232 BASE-233 EDGE-199 EDGE-201 BASE-260 EDGE-054 C-09
func TestHTTPStatelessExchange(t *testing.T) {
	gone := make(chan struct{}, 10)
	untilClosed := func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if answer != nil {
				answer(w, r)
			}
			<-r.Context().Done()
			gone <- struct{}{}
		}
	}
	call := func(id int) string { return posts(id, "name=a", "tools/call", `,"name":"a"`) }
	overHTTP(t, ClientOptions{}, `{"tools":{}}`, []step{
		{call(2), untilClosed(nil)},
		{call(3), untilClosed(eventReply(": hi\n\n"))},
		{call(4), untilClosed(nil)},
		{posts(5, "", "server/discover", ""), untilClosed(nil)},
		{call(6), eventReply("id: 1\nretry: 1\ndata:\n\n", "id: 2\ndata: "+`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n\n", cut)},
		{call(7), eventReply("id: 1\nretry: 1\ndata:\n\n")},
		{call(8), reply(200, "text/event-stream\nMcp-Session-Id: abc", ":\r\n\r\nid: 9\nretry: 1\ndata: "+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n\n",
			"data: "+`{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{}}`+"\n\n", "data: "+`{"jsonrpc":"2.0","id":7,"method":5}`+"\n\n", "data: "+givesBack(8, toolDone)+"\n\n")},
		{call(9), reply(404, "application/json", faulty(9, -32601, ""))},
		{call(10), reply(404, "text/plain", "gone")},
		{call(11), jsonReply(givesBack(11, toolDone))},
	}, func(_ context.Context, _ *mock, cs *ClientSession) {
		for _, wanted := range []string{"mcp: tools/call: context canceled: enough", "mcp: tools/call: context canceled: enough"} {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
			_, err := cs.CallTool(ctx, "a", nil)
			checkError(t, "cancelled", err, wanted)
			synctest.Wait()
			want(t, "closed", len(gone), 1)
			<-gone
		}
		short, ctx := cs.With(CallOptions{Timeout: time.Second}), context.Background()
		_, err := short.CallTool(ctx, "a", nil)
		checkError(t, "timeout", err, "mcp: tools/call: neither answer nor progress for 1s")
		checkError(t, "timeout of a ping", short.Ping(ctx), "mcp: server/discover: neither answer nor progress for 1s")
		synctest.Wait()
		want(t, "closed", len(gone), 2)
		for _, wanted := range []string{"mcp: tools/call: the stream broke off before the answer: unexpected EOF",
			"mcp: tools/call: the stream ended before the answer; the request is lost, and can be made again", "",
			"mcp: tools/call: no (code -32601)", `mcp: tools/call: POST http://mcp.test/mcp: the server answered 404 Not Found (text/plain): "gone"`, ""} {
			_, err := cs.CallTool(ctx, "a", nil)
			checkError(t, "CallTool", err, wanted)
		}
		time.Sleep(time.Hour) // virtual: nothing comes back
	})
}
