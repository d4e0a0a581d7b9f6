package mcp

import (
	"context"
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

// lone is a request of such a client, which can do nothing; params, unless empty,
// begin with a comma.
func lone(id int, method, params string) string { return loneAs(id, "{}", method, params) }

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

func supports(revs string) string { return `,"data":{"supported":[` + revs + `],"requested":"2026-07-28"}` }

func gives(id int, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result)
}

// anyEra is the subject for a client of all revisions, unless opts say less: Connect
// must fail as wanted, or f uses the session, which is closed when the server is gone.
func anyEra(t *testing.T, opts ClientOptions, wanted string, f func(ctx context.Context, cs *ClientSession)) func(context.Context, Conn) {
	opts.NoTasks = true
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
// BASE-090 BASE-098 BASE-099 BASE-100 BASE-101 BASE-104 BASE-301 EDGE-166 EDGE-167 EDGE-168
func TestProbe(t *testing.T) {
	probe := "< " + lone(1, "server/discover", "") + "\n> "
	pinned := []string{Revision20260728}
	const lists = "mcp: the server speaks revisions "
	for _, c := range []struct {
		name, script string
		revs         []string
		wanted       string // error of Connect
		rev          string
	}{
		{"a result", discovers("{}", "{}"), nil, "", Revision20260728},
		{"refused once", probe + faulty(1, -32022, supports(`"2026-07-28"`)) + "\n< " + lone(2, "server/discover", "") + "\n> " + discovered(2, "{}"), nil, "", Revision20260728},
		{"refused for ever", probe + faulty(1, -32022, supports(`"2026-07-28"`)) + "\n< " + lone(2, "server/discover", "") + "\n> " + faulty(2, -32022, supports(`"2026-07-28"`)),
			nil, lists + `["2026-07-28"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"refused for an old one", probe + faulty(1, -32022, supports(`"2025-11-25","2024-11-05"`)) + oldHello(2), nil, "", Revision20251125},
		{"refused for a later one", probe + faulty(1, -32022, supports(`"2027-01-01"`)),
			nil, lists + `["2027-01-01"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"refused for nothing", probe + faulty(1, -32022, ""),
			nil, lists + `[], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"refused for junk", probe + faulty(1, -32022, `,"data":{"supported":[1,null]}`),
			nil, lists + `[], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: no (code -32022)`, ""},
		{"a result for an old one", probe + gives(1, `{"resultType":"complete","supportedVersions":["2025-06-18"],"capabilities":{}}`) + oldHello(2), nil, "", Revision20251125},
		{"a result for a later one", probe + gives(1, `{"supportedVersions":["2027-01-01"],"capabilities":{}}`),
			nil, lists + `["2027-01-01"], this client [2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]: mcp: invalid response: server/discover names ["2027-01-01"]`, ""},
		{"-32020", probe + faulty(1, -32020, ""), nil, "no (code -32020)", ""},
		{"-32021", probe + faulty(1, -32021, ""), nil, "no (code -32021)", ""},
		{"-32601", probe + faulty(1, -32601, "") + oldHello(2), nil, "", Revision20251125},
		{"-32602", probe + faulty(1, -32602, "") + oldHello(2), nil, "", Revision20251125},
		{"-32600", probe + faulty(1, -32600, "") + oldHello(2), nil, "", Revision20251125},
		{"-1", probe + faulty(1, -1, "") + oldHello(2), nil, "", Revision20251125},
		{"12345", probe + faulty(1, 12345, "") + oldHello(2), nil, "", Revision20251125},
		{"another result", probe + gives(1, `{}`) + oldHello(2), nil, "", Revision20251125},
		{"silence", "< " + lone(1, "server/discover", "") + "\n. 4999ms\n. 1ms" + oldHello(2), nil, "", Revision20251125},
		{"a late answer", "< " + lone(1, "server/discover", "") + `
			. 5s
			< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> ` + discovered(1, "{}") + `
			. 1s
			> {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
			< {"jsonrpc":"2.0","method":"notifications/initialized"}
			`, nil, "", Revision20251125},
		{"a late answer, and initialize is refused", "< " + lone(1, "server/discover", "") + `
			. 5s
			< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> ` + discovered(1, "{}") + `
			> ` + faulty(2, -32022, supports(`"2026-07-28"`)) + `
			< ` + lone(3, "server/discover", "") + `
			> ` + discovered(3, "{}") + "\n", nil, "", Revision20260728},
		{"back and forth", probe + faulty(1, -32601, "") + `
			< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
			> ` + faulty(2, -32022, "") + `
			< ` + lone(3, "server/discover", "") + `
			> ` + faulty(3, -32601, "") + "\n", nil, "no (code -32601)", ""},
		{"an old server, this client pinned", probe + faulty(1, -32601, ""), pinned, pinnedRefusal + "no (code -32601)", ""},
		{"a silent one", "< " + lone(1, "server/discover", "") + "\n. 5s", pinned, pinnedRefusal + "mcp: server/discover: neither answer nor progress for 5s", ""},
		{"one that ends", "< " + lone(1, "server/discover", "") + "\n$", pinned, pinnedRefusal + "mcp: connection closed: EOF", ""},
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
	ask := "< " + lone(1, "server/discover", "") + "\n> "
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
		}), ask+gives(1, c.result))
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
	probe := lone(1, "server/discover", "")
	deaths(t, ClientOptions{}, "", []string{probe, "$"}, hello)
	deaths(t, ClientOptions{}, "", []string{probe, faulty(1, -32600, ""), initialize2, "$"}, hello)
	deaths(t, ClientOptions{}, "mcp: connection closed: EOF; tried again without it: mcp: connection closed: EOF", []string{probe, "$"}, []string{initialize, "$"})
	deaths(t, ClientOptions{}, "mcp: connection closed: EOF; tried again without it: no more", []string{probe, "$"})
	deaths(t, ClientOptions{Revisions: []string{Revision20260728}}, pinnedRefusal+"mcp: connection closed: EOF", []string{probe, "$"})
}

var _ = time.Second
