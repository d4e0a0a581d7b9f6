package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Of what each message says anew, the trace shows what is new.
func TestNews(t *testing.T) {
	trace := &trace{}
	const who, other, same = `"io.modelcontextprotocol/clientInfo":{"name":"a"}`, `"io.modelcontextprotocol/clientInfo": {"name":"b}"}`, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	for _, c := range []struct{ message, shown string }{
		{`{"_meta":{` + who + `,` + same + `}}`, `{"_meta":{` + who + `,` + same + `}}`},
		{`{"_meta":{` + who + `,` + same + `,"x":1}}`, `{"_meta":{…,"x":1}}`},
		{`{"_meta":{` + same + `,"x":"…,…",` + who + `}}`, `{"_meta":{…,"x":"…,…",…}}`},
		{`{"_meta":{` + other + `,` + same + `}}`, `{"_meta":{` + other + `,…}}`},
		{`{"_meta":{` + other + `,` + same + `}}`, `{"_meta":{…}}`},
		{`{"text":"` + strings.ReplaceAll(other, `"`, `\"`) + `"}`, `{"text":"` + strings.ReplaceAll(other, `"`, `\"`) + `"}`},
		{`{"_meta":{"io.modelcontextprotocol/clientInfo":`, `{"_meta":{"io.modelcontextprotocol/clientInfo":`},
		{"\x00" + other, "\x00" + other},
	} {
		if got := trace.news(c.message); got != c.shown {
			t.Errorf("got %q, want %q", got, c.shown)
		}
	}
}

// A message is shown by when it came, where it goes, its id and method, and what it says.
func TestMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ way, message, shown string }{
			{out, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ "name": "a" }}`, `--> #1 tools/call {"name":"a"}`},
			{back, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `<-- #1 ping`},
			{out, `{"jsonrpc":"2.0","id":1,"result":{}}`, `--> #1 ping result {}`},
			{back, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, `<-- notifications/progress {"progressToken":1}`},
			{back, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no\u001b"}}`, `<-- #1 tools/call error {"code":1,"message":"no\u001b"}`},
			{back, `{"jsonrpc":"2.0","id":"x","result":{}}`, `<-- #"x" result {}`},
			{back, `{"jsonrpc":"2.0","id":1,"result":{},"more":2}`, `<-- {"jsonrpc":"2.0","id":1,"result":{},"more":2}`},
			{back, `[{"jsonrpc":"2.0"}]`, `<-- [{"jsonrpc":"2.0"}]`},
			{back, "hello\x1b[2J", `<-- hello\x1b[2J`},
			{back, "", "<-- "},
		} {
			var b buffer
			tr := &trace{screen: &screen{w: &b}, start: time.Now(), methods: map[string]string{out + "1": "tools/call", back + "1": "ping"}}
			time.Sleep(1234567 * time.Microsecond)
			tr.message(c.way, []byte(c.message))
			if got, want := b.String(), "   1.235s "+c.shown+"\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		var b buffer
		tr := &trace{screen: &screen{w: &b, colour: true}, start: time.Now()}
		tr.message(out, []byte(`{"jsonrpc":"2.0","id":1,"method":"a"}`))
		tr.message(back, []byte(`{"jsonrpc":"2.0","id":1,"error":{}}`))
		const when = "\x1b[2m   0.000s \x1b[m\x1b[36m"
		const want = when + "-->\x1b[m\x1b[2m #1\x1b[m\x1b[1m a\x1b[m\n" +
			when + "<--\x1b[m\x1b[2m #1\x1b[m\x1b[1m a\x1b[m\x1b[31m error\x1b[m {}\n"
		if got := b.String(); got != want {
			t.Errorf("in colour %q, want %q", got, want)
		}
	})
}

// What is secret is never shown, what is long only where that is asked for.
func TestAbridge(t *testing.T) {
	x := strings.Repeat("x", maxShown)
	for _, c := range []struct{ text, short, full string }{
		{`{"a":"` + x + `"}`, "", ""},
		{`{"a":"` + x + `y"}`, `{"a":"` + x + `…(121 bytes)"}`, ""},
		{`{"a":"` + x[1:] + `\u00e4"}`, `{"a":"` + x[1:] + `…(125 bytes)"}`, ""},
		{`{"a":"` + x[1:] + `ä"}`, `{"a":"` + x[1:] + `…(121 bytes)"}`, ""},
		{`{"a":"` + x[1:] + `\"y"}`, `{"a":"` + x[1:] + `…(122 bytes)"}`, ""},
		{`{"` + x + `y":1}`, `{"` + x + `…(121 bytes)":1}`, ""},
		{`{"requestState" : "abc","progressToken":"t"}`, `{"requestState" : "(hidden, 3 bytes)","progressToken":"t"}`, `{"requestState" : "(hidden, 3 bytes)","progressToken":"t"}`},
		{`{"request\u0053tate":"abc"}`, `{"request\u0053tate":"(hidden, 3 bytes)"}`, `{"request\u0053tate":"(hidden, 3 bytes)"}`},
		{`{"access_token":"a\"b","Authorization":"c"}`, `{"access_token":"(hidden, 4 bytes)","Authorization":"(hidden, 1 bytes)"}`, `{"access_token":"(hidden, 4 bytes)","Authorization":"(hidden, 1 bytes)"}`},
		{`{"password":{"type":"string"},"x":["token",":"]}`, "", ""},
		{`{"token":{"type":["string","null"]},"secret":{"$ref":"#/$defs/s"},"cookie":{"anyOf":[{"type":"string"}]},"passwd":{}}`, "", ""},
		{`{"token":{"type":"bearer","value":"abc"},"secret":{"value":"abc"},"idToken":{"type":null},"x":1}`,
			`{"token":"(hidden, 31 bytes)","secret":"(hidden, 15 bytes)","idToken":"(hidden, 13 bytes)","x":1}`,
			`{"token":"(hidden, 31 bytes)","secret":"(hidden, 15 bytes)","idToken":"(hidden, 13 bytes)","x":1}`},
		{`{"cookie":{"value":"unfin`, `{"cookie":"(hidden, 15 bytes)"`, `{"cookie":"(hidden, 15 bytes)"`},
		{`{"token":["a",["b"]],"x":["a"]}`, `{"token":"(hidden, 11 bytes)","x":["a"]}`, `{"token":"(hidden, 11 bytes)","x":["a"]}`},
		{`{"password" : -12.5e3,"x":1}`, `{"password" : "(hidden, 7 bytes)","x":1}`, `{"password" : "(hidden, 7 bytes)","x":1}`},
		{`{"password":["unfinished`, `{"password":"(hidden, 12 bytes)"`, `{"password":"(hidden, 12 bytes)"`},
		{`"unfinished \`, "", ""},
		{`{"a":"` + x + `yz`, `{"a":"` + x + `…(121 bytes)"`, ""},
		{"[" + strings.Repeat("1,", maxLine) + "1]", "[" + strings.Repeat("1,", maxLine)[:maxLine-1] + "…(4003 bytes, -trace=full shows all)", ""},
	} {
		if c.short == "" {
			c.short = c.text
		}
		if c.full == "" {
			c.full = c.text
		}
		if got := (&trace{}).abridge(c.text); got != c.short {
			t.Errorf("%s:\n%s, want\n%s", c.text, got, c.short)
		}
		if got := (&trace{full: true}).abridge(c.text); got != c.full {
			t.Errorf("%s, all of it:\n%s, want\n%s", c.text, got, c.full)
		}
	}
}
