package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// asks returns a server like testServer's, whose one tool, "ask", is f.
func asks(t testing.TB, opts *ServerOptions, f func(ctx context.Context, r *Request) (string, error)) *Server {
	t.Helper()
	s := NewServer(&Implementation{Name: "test", Version: "1"}, opts)
	err := AddTool(s, &Tool{Name: "ask"}, func(ctx context.Context, r *Request, _ struct{}) (string, error) { return f(ctx, r) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asksRoots, asksFor and asksModel are tools that put one question and tell what came
// of it.
func asksRoots(ctx context.Context, r *Request) (string, error) {
	roots, err := r.Roots(ctx)
	text := fmt.Sprint(len(roots))
	for _, root := range roots {
		text += fmt.Sprintf(" %s(%s)%v", root.URI, root.Name, root.Meta)
	}
	return text, err
}

func asksFor(p *ElicitParams) func(context.Context, *Request) (string, error) {
	return func(ctx context.Context, r *Request) (string, error) {
		answer, err := r.Elicit(ctx, p)
		if err != nil {
			return "", err
		}
		return answer.Action + string(answer.Content), nil
	}
}

func asksModel(p *CreateMessageParams) func(context.Context, *Request) (string, error) {
	return func(ctx context.Context, r *Request) (string, error) {
		answer, err := r.Sample(ctx, p)
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("%s %s %q", answer.Role, answer.Model, answer.StopReason)
		for _, c := range answer.Content {
			b, err := json.Marshal(c)
			if err != nil {
				return "", err
			}
			text += " " + string(b)
		}
		return text, nil
	}
}

// form is a question whose form is given as JSON.
func form(t testing.TB, schema string) *ElicitParams {
	t.Helper()
	s := &FormSchema{}
	if err := decodeJSON([]byte(schema), s); err != nil {
		t.Fatal(err)
	}
	return &ElicitParams{Message: "m", RequestedSchema: s}
}

func says(text string) []Content { return []Content{&TextContent{Text: text}} }

const callAsk = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
`

// answered is the line with the result of callAsk: text, or a tool error.
func answered(text string) string {
	return "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + quoted(text) + `}]}}` + "\n"
}

func failed(text string) string {
	return "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + quoted(text) + `}],"isError":true}}` + "\n"
}

func quoted(text string) string { return string(appendString(nil, text)) }

// errorText is the text of an error, "" for none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Any root, also without a name; _meta is the root's own.
func TestAskRoots(t *testing.T) {
	for _, rev := range sessionRevisions() {
		talk(t, serve(asks(t, nil, asksRoots)), hello(rev, `{"roots":{}}`)+callAsk+`
			< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}
			> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"},{"uri":"file:///b","name":"B","_meta":{"x/y":1}}]}}
		`+answered("2 file:///a()map[] file:///b(B)map[x/y:1]"))
		talk(t, serve(asks(t, nil, asksRoots)), hello(rev, `{"roots":{"listChanged":true}}`)+callAsk+`
			< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}
			> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
		`+answered("0"))
	}
}

// FEAT-241 FEAT-253 FEAT-292 FEAT-289: what the client did not declare, or its
// revision cannot express, is not sent.
//
// BASE-082 FEAT-275 BASE-081 C-27
func TestBUG187NotAskedWithoutCapability(t *testing.T) {
	sample := &CreateMessageParams{MaxTokens: 1, Messages: []*SamplingMessage{{Role: RoleUser, Content: says("q")}}}
	tools, around := *sample, *sample
	tools.Tools = []*Tool{{Name: "t"}}
	around.IncludeContext = "allServers"
	pick := form(t, `{"type":"object","properties":{"p":{"type":"array","items":{"type":"string","enum":["a"]}}}}`)
	all := func(ctx context.Context, r *Request) (string, error) {
		_, err := r.Ask(ctx, Question{Roots: true}, Question{Sample: &tools}, Question{Elicit: Visit("v", "https://a.example/")},
			Question{Elicit: Confirm("c")})
		return "", err
	}
	for _, c := range []struct {
		rev, caps string
		ask       func(context.Context, *Request) (string, error)
		want      string
	}{
		{Revision20241105, `{}`, asksRoots, "mcp: the client did not declare roots"},
		{Revision20241105, `{}`, asksModel(sample), "mcp: the client did not declare sampling"},
		{Revision20241105, `{"elicitation":{}}`, asksFor(Confirm("c")), "mcp: the client did not declare elicitation.form"},
		{Revision20250326, `{"elicitation":{}}`, asksFor(Confirm("c")), "mcp: the client did not declare elicitation.form"},
		{Revision20250618, `{}`, asksFor(Confirm("c")), "mcp: the client did not declare elicitation.form"},
		{Revision20250618, `{"elicitation":{"url":{}}}`, asksFor(Visit("v", "https://a.example/")), "mcp: the client did not declare elicitation.url"},
		{Revision20250618, `{"sampling":{"tools":{}}}`, asksModel(&tools),
			"mcp: tools in sampling need revision 2025-11-25 or later, the client speaks 2025-06-18"},
		{Revision20250618, `{"elicitation":{}}`, asksFor(pick),
			`mcp: field "p" of a form: multiple choice needs revision 2025-11-25 or later, the client speaks 2025-06-18`},
		{Revision20251125, `{}`, asksFor(Confirm("c")), "mcp: the client did not declare elicitation.form"},
		{Revision20251125, `{"elicitation":{"url":{}}}`, asksFor(Confirm("c")), "mcp: the client did not declare elicitation.form"},
		{Revision20251125, `{"elicitation":{}}`, asksFor(Visit("v", "https://a.example/")), "mcp: the client did not declare elicitation.url"},
		{Revision20251125, `{"elicitation":{"form":{}}}`, asksFor(Visit("v", "https://a.example/")), "mcp: the client did not declare elicitation.url"},
		{Revision20251125, `{"sampling":{}}`, asksModel(&tools), "mcp: the client did not declare sampling.tools"},
		{Revision20251125, `{"sampling":{}}`, asksModel(&around), "mcp: the client did not declare sampling.context"},
		{Revision20251125, `{}`, all, "mcp: the client did not declare elicitation.form, elicitation.url, roots, sampling, sampling.tools"},
	} {
		t.Run(c.want, func(t *testing.T) {
			talk(t, serve(asks(t, nil, c.ask)), hello(c.rev, c.caps)+callAsk+failed(c.want))
		})
	}
}

// FEAT-241 FEAT-253: before the client is initialized, only pings may be sent.
func TestAskWaitsForInitialized(t *testing.T) {
	opening, _, _ := strings.Cut(hello(Revision20251125, `{"roots":{}}`), `> {"jsonrpc":"2.0","method":"notifications/initialized"}`)
	talk(t, serve(asks(t, nil, asksRoots)), opening+callAsk+`
		. 1h
		> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}
		> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
	`+answered("0"))
	talk(t, serve(asks(t, nil, asksRoots)), opening+callAsk+`
		$
	`+failed("mcp: connection closed: EOF"))
}

// FEAT-243
func TestRootsChangedAsksAgain(t *testing.T) {
	var asked []string
	s := asks(t, &ServerOptions{RootsChanged: func(ctx context.Context, r *Request) {
		roots, err := r.Roots(ctx)
		asked = append(asked, fmt.Sprint(len(roots), err))
	}}, asksRoots)
	opening, _, _ := strings.Cut(hello(Revision20250618, `{"roots":{"listChanged":true}}`), `> {"jsonrpc":"2.0","method":"notifications/initialized"}`)
	talk(t, serve(s), opening+`
		# nobody can know roots yet
		> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
		< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}
		> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
		> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"}]}}
		< {"jsonrpc":"2.0","id":2,"method":"roots/list","params":{}}
		> {"jsonrpc":"2.0","id":2,"result":{"roots":[]}}
	`)
	if want := []string{"1 <nil>", "0 <nil>"}; !slices.Equal(asked, want) {
		t.Errorf("asked: %q, want %q", asked, want)
	}
}

// FEAT-300: an error of the client is one of the tool, not of its call; a handler
// tells it by its code.
func TestClientRefusesQuestion(t *testing.T) {
	params := &CreateMessageParams{MaxTokens: 1, Messages: []*SamplingMessage{}}
	var err error
	ask := func(ctx context.Context, r *Request) (string, error) {
		_, err = r.Sample(ctx, params)
		return "", err
	}
	talk(t, serve(asks(t, nil, ask)), hello(Revision20250618, `{"sampling":{}}`)+callAsk+`
		< {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}
		> {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"User rejected sampling request"}}
	`+failed("mcp: sampling/createMessage: User rejected sampling request (code -1)"))
	if !errors.Is(err, &Error{Code: CodeUserRejected}) {
		t.Errorf("error %v is not one of code -1", err)
	}
}

// BASE-002: a question that nobody answers is given up, and the client is told.
func TestAskTimeout(t *testing.T) {
	s := asks(t, &ServerOptions{AskTimeout: 30e9}, asksRoots)
	talk(t, serve(s), hello(Revision20251125, `{"roots":{}}`)+callAsk+`
		< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}
		. 30s
		< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mcp: roots/list: no answer within 30s"}}
	`+failed("mcp: roots/list: no answer within 30s"))
}

// Questions asked at once are all on their way before one is answered.
func TestAskSeveral(t *testing.T) {
	s := asks(t, nil, func(ctx context.Context, r *Request) (string, error) {
		answers, err := r.Ask(ctx, Question{Elicit: Confirm("c")}, Question{Roots: true},
			Question{Sample: &CreateMessageParams{MaxTokens: 1, Messages: []*SamplingMessage{}}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(answers[0].Elicit.Action, " ", len(answers[1].Roots), " ", answers[2].Sample.Model), nil
	})
	sampling := make(chan struct{})
	opts := &ClientOptions{
		Roots: []*Root{},
		Elicit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
			<-sampling
			return &ElicitResult{Action: "decline"}, nil
		},
		Sample: func(context.Context, *ClientSession, *CreateMessageParams) (*CreateMessageResult, error) {
			close(sampling)
			return &CreateMessageResult{Role: RoleAssistant, Content: says("a"), Model: "m"}, nil
		},
	}
	synctest.Test(t, func(t *testing.T) {
		result, err := join(t, s, opts).CallTool(t.Context(), "ask", nil)
		if err != nil || result.Text() != "decline 0 m" {
			t.Errorf("result %v, error %v", result, err)
		}
	})
}

// A question without a subject is the author's mistake.
func TestAskNothing(t *testing.T) {
	ask := func(ctx context.Context, r *Request) (string, error) {
		_, err := r.Ask(ctx, Question{})
		return "", err
	}
	talk(t, serve(asks(t, nil, ask)), hello(Revision20250618, `{"roots":{}}`)+callAsk+failed("mcp: a Question needs one of Elicit, Sample and Roots"))
}

// FEAT-305 FEAT-297 FEAT-298: a question has no mode, "properties" also where there
// are none, and what the author set is kept.
func TestElicitForm(t *testing.T) {
	full := `{"type":"object","properties":{` +
		`"s":{"type":"string","title":"S","description":"d","minLength":0,"maxLength":3,"pattern":"^a","format":"email"},` +
		`"n":{"type":"number","minimum":0.5,"maximum":95.5},"i":{"type":"integer","minimum":0},` +
		`"b":{"type":"boolean","default":false},"e":{"type":"string","enum":["a"],"enumNames":["A"]}},"required":["s"]}`
	for _, rev := range []string{Revision20250618, Revision20251125} {
		// FEAT-307 FEAT-308 FEAT-309 FEAT-310 FEAT-311 FEAT-312 FEAT-317 FEAT-549
		talk(t, serve(asks(t, nil, asksFor(form(t, full)))), hello(rev, `{"elicitation":{}}`)+callAsk+`
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":`+full+`}}
			> {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
		`+answered("decline"))
		talk(t, serve(asks(t, nil, asksFor(Confirm("sure?")))), hello(rev, `{"elicitation":{"form":{}}}`)+callAsk+`
			< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}}
			> {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
		`+answered("accept{}"))
	}
}

// FEAT-318 E5.12: at 2025-06-18 titles go into enumNames, and only booleans have
// defaults. FEAT-313 FEAT-314 FEAT-315 FEAT-316: at 2025-11-25 all shapes are sent as
// they are.
func TestElicitChoices(t *testing.T) {
	one := `"u":{"type":"string","enum":["a","b"],"default":"a"},` +
		`"t":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}],"default":"b"}`
	several := `"m":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":0,"maxItems":2,"default":["a"]},` +
		`"n":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"default":[]}`
	plain := `"s":{"type":"string","default":""},"i":{"type":"integer","default":0},"b":{"type":"boolean","default":true}`
	ask := func(fields string) func(context.Context, Conn) {
		return serve(asks(t, nil, asksFor(form(t, `{"type":"object","properties":{`+fields+`}}`))))
	}
	talk(t, ask(one+","+several+","+plain), hello(Revision20251125, `{"elicitation":{}}`)+callAsk+`
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{`+one+","+several+","+plain+`}}}}
		> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"u":"a","t":"b","m":["a","b"],"n":[]}}}
	`+answered(`accept{"u":"a","t":"b","m":["a","b"],"n":[]}`))
	talk(t, ask(one+","+plain), hello(Revision20250618, `{"elicitation":{}}`)+callAsk+`
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"u":{"type":"string","enum":["a","b"]},"t":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},"s":{"type":"string"},"i":{"type":"integer"},"b":{"type":"boolean","default":true}}}}}
		> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"t":"b"}}}
	`+answered(`accept{"t":"b"}`))
}

// FEAT-299 FEAT-300 FEAT-322 E5.3 E5.4
func TestBUG185DeclineNotValidated(t *testing.T) {
	ask := asksFor(form(t, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	for _, c := range []struct{ answer, want string }{
		{`{"action":"cancel"}`, answered("cancel")},
		{`{"action":"decline","content":null}`, answered("decline")},
		{`{"action":"decline","content":{"x":1}}`, answered("decline")},
		{`{"action":"accept","content":{"n":30.0}}`, answered(`accept{"n":30.0}`)},
		{`{"action":"accept","content":{}}`, failed("mcp: invalid response: n: missing")},
		{`{"action":"accept"}`, failed("mcp: invalid response: n: missing")},
		{`{"action":"accept","content":{"n":"1"}}`, failed("mcp: invalid response: n: want a number, got a string")},
		{`{"action":"accept","content":[1]}`, failed("mcp: invalid response: want an object, got an array")},
		{`{"action":"accept","content":{"n":1,"N":2}}`, answered(`accept{"n":1}`)}, // what nobody asked for is left out
		{`{"action":"reject"}`, failed(`mcp: invalid response: action must be accept, decline or cancel, not "reject"`)},
		{`{}`, failed("mcp: invalid response: action: missing")},
	} {
		t.Run(c.answer, func(t *testing.T) {
			talk(t, serve(asks(t, nil, ask)), hello(Revision20251125, `{"elicitation":{}}`)+callAsk+`
				< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}
				> {"jsonrpc":"2.0","id":1,"result":`+c.answer+`}
			`+c.want)
		})
	}
}

// FEAT-325 FEAT-331 FEAT-332 FEAT-333: completion is told to the session that was
// asked, once, and only after consent.
func TestElicitVisit(t *testing.T) {
	visit := Visit("pay", "https://a.example/pay?x=1")
	visit.ElicitationID = "e1"
	ask := `< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"pay","url":"https://a.example/pay?x=1","elicitationId":"e1"}}
	`
	s := asks(t, nil, asksFor(visit))
	if err := AddTool(s, &Tool{Name: "done"}, func(ctx context.Context, _ *Request, in echoInput) (string, error) {
		s.ElicitationComplete(in.Text)
		return "", nil
	}); err != nil {
		t.Fatal(err)
	}
	done := func(id string) string {
		return `
			> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"done","arguments":{"text":"` + id + `"}}}
			~ {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":""}]}}
		`
	}
	told := `~ {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}
	`
	open := hello(Revision20251125, `{"elicitation":{"url":{}}}`)
	talk(t, serve(s), open+callAsk+ask+`
		> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"x":1}}}
	`+answered("accept")+done("e2")+done("e1")+told+done("e1"))
	talk(t, serve(s), open+callAsk+ask+`
		> {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
	`+answered("decline")+done("e1"))
	talk(t, serve(s), open+done("e1"))
}

// Nothing is fetched from a URL that a person is asked to visit, and nobody is sent there
// but by the function that has asked.
//
// FEAT-328
func TestVisitFetchesNothing(t *testing.T) {
	hits := 0
	far := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer far.Close()
	visit := func(action string) *ClientOptions {
		return &ClientOptions{Visit: func(_ context.Context, _ *ClientSession, p *ElicitParams) (*ElicitResult, error) {
			want(t, "url", p.URL, far.URL+"/pay")
			return &ElicitResult{Action: action}, nil
		}}
	}
	for _, action := range []string{"accept", "decline", "cancel"} {
		talk(t, asClient(t, visit(action), nil), shakeHands(Revision20251125, `{"elicitation":{"url":{}}}`, `{}`)+`
			> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"`+far.URL+`/pay","elicitationId":"e"}}
			< {"jsonrpc":"2.0","id":1,"result":{"action":"`+action+`"}}
			. 1h
		`)
	}
	talk(t, asClient(t, nil, nil), shakeHands(Revision20251125, `{}`, `{}`)+`
		> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"`+far.URL+`/pay","elicitationId":"e"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method \"elicitation/create\" is not offered by this client"}}
	`)
	want(t, "hits", hits, 0)
}

// FEAT-325 FEAT-327: a URL that must not be sent is a local error.
func TestElicitVisitRefused(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"", `mcp: url "" of an elicitation must be an absolute https or http URL`},
		{"/pay", `mcp: url "/pay" of an elicitation must be an absolute https or http URL`},
		{"javascript:alert(1)", `mcp: url "javascript:alert(1)" of an elicitation must be an absolute https or http URL`},
		{"https://u:p@a.example/", "mcp: the url of an elicitation must hold no credentials"},
	} {
		talk(t, serve(asks(t, nil, asksFor(Visit("v", c.url)))), hello(Revision20251125, `{"elicitation":{"url":{}}}`)+callAsk+failed(c.want))
	}
}

// FEAT-335 FEAT-336 E2.19 BASE-047
func TestURLElicitationRequired(t *testing.T) {
	visit := Visit("sign in", "https://a.example/login")
	visit.ElicitationID = "e1"
	need := func(visits ...*ElicitParams) *Server {
		return asks(t, nil, func(context.Context, *Request) (string, error) {
			return "", URLElicitationRequired("first sign in", visits...)
		})
	}
	talk(t, serve(need(visit)), hello(Revision20251125, `{"elicitation":{"form":{},"url":{}}}`)+callAsk+`
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"first sign in","data":{"elicitations":[{"mode":"url","message":"sign in","url":"https://a.example/login","elicitationId":"e1"}]}}}
	`)
	talk(t, serve(need(visit)), hello(Revision20251125, `{"elicitation":{}}`)+callAsk+failed("first sign in"))
	talk(t, serve(need(visit)), hello(Revision20250618, `{"elicitation":{"url":{}}}`)+callAsk+failed("first sign in"))
	wrong := `
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}
	`
	talk(t, serve(need()), hello(Revision20251125, `{"elicitation":{"url":{}}}`)+callAsk+wrong)
	talk(t, serve(need(Visit("x", "file:///etc"))), hello(Revision20251125, `{"elicitation":{"url":{}}}`)+callAsk+wrong)

	made := URLElicitationRequired("m", Visit("v", "https://a.example/"), Confirm("c"))
	var data struct{ Elicitations []*ElicitParams }
	if err := json.Unmarshal(made.Data, &data); err != nil {
		t.Fatal(err)
	}
	for _, p := range data.Elicitations {
		if p.Mode != "url" || len(p.ElicitationID) < 20 || p.RequestedSchema != nil {
			t.Errorf("elicitation %+v, want mode url, an id, no form", p)
		}
	}
}

// FEAT-333: what an error asks for is complete for the session that got it, only.
func TestElicitationCompleteAfterError(t *testing.T) {
	visit := Visit("v", "https://a.example/")
	visit.ElicitationID = "e1"
	s := asks(t, nil, func(_ context.Context, r *Request) (string, error) {
		if r.Client.Name == "first" {
			return "", URLElicitationRequired("first", visit)
		}
		return "", nil
	})
	synctest.Test(t, func(t *testing.T) {
		var told []string
		opts := &ClientOptions{
			Visit: func(context.Context, *ClientSession, *ElicitParams) (*ElicitResult, error) {
				return &ElicitResult{Action: "decline"}, nil
			},
			ElicitationComplete: func(_ context.Context, cs *ClientSession, p *ElicitationCompleteParams) {
				told = append(told, p.ElicitationID)
			},
		}
		for _, name := range []string{"first", "second"} {
			_, err := joinAs(t, name, s, opts).CallTool(t.Context(), "ask", nil)
			if (err != nil) != (name == "first") {
				t.Errorf("%s: error %v", name, err)
			}
		}
		s.ElicitationComplete("e1")
		s.ElicitationComplete("e1")
		synctest.Wait()
		if !slices.Equal(told, []string{"e1"}) {
			t.Errorf("told of %q, want once of e1", told)
		}
	})
}

// Ids of visits that never become complete do not pile up; the latest are known.
func TestElicitationsAreBounded(t *testing.T) {
	ss := asks(t, nil, asksRoots).newSession()
	for i := range maxElicitations + 10 {
		ss.elicited(fmt.Sprint(i), true)
	}
	if got := len(ss.elicitation); got != maxElicitations {
		t.Errorf("%d ids are kept, want %d", got, maxElicitations)
	}
	if ss.elicited("9", false) || !ss.elicited("10", false) || ss.elicited("10", false) {
		t.Error("want the latest ids, each once")
	}
}

// FEAT-255 FEAT-258 FEAT-260 FEAT-264 FEAT-262 E1.13: all that a server can ask of a
// model at any revision, and a stop reason that nobody knows.
func TestSample(t *testing.T) {
	zero, some := 0.0, 0.7
	params := &CreateMessageParams{
		Messages:         []*SamplingMessage{{Role: RoleUser, Content: says("q")}, {Role: RoleAssistant, Content: []Content{&ImageContent{Data: EncodeBase64([]byte{1}), MIMEType: "image/png"}}}},
		ModelPreferences: &ModelPreferences{Hints: []ModelHint{{Name: "claude"}}, CostPriority: &zero, SpeedPriority: &some},
		SystemPrompt:     "s",
		IncludeContext:   "none",
		Temperature:      &some,
		MaxTokens:        1,
		StopSequences:    []string{"x"},
		Metadata:         map[string]any{"k": 1},
	}
	for _, rev := range sessionRevisions() {
		talk(t, serve(asks(t, nil, asksModel(params))), hello(rev, `{"sampling":{}}`)+callAsk+`
			< {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"q"}},{"role":"assistant","content":{"type":"image","data":"AQ==","mimeType":"image/png"}}],"modelPreferences":{"hints":[{"name":"claude"}],"costPriority":0,"speedPriority":0.7},"systemPrompt":"s","includeContext":"none","temperature":0.7,"maxTokens":1,"stopSequences":["x"],"metadata":{"k":1}}}
			> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"contentFilter"}}
		`+answered(`assistant m "contentFilter" {"type":"text","text":"a"}`))
	}
}

// FEAT-265 FEAT-266 FEAT-267 FEAT-279 FEAT-280 E6.10 E1.16
func TestBUG191SamplingContentLists(t *testing.T) {
	history := []*SamplingMessage{
		{Role: RoleUser, Content: says("q"), Meta: Meta{"a/b": 1}},
		{Role: RoleAssistant, Content: []Content{&TextContent{Text: "hm"}, &ToolUseContent{ID: "c1", Name: "t"}}},
		{Role: RoleUser, Content: []Content{&ToolResultContent{ToolUseID: "c1"}}},
	}
	params := &CreateMessageParams{Messages: history, MaxTokens: 5, Tools: []*Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		ToolChoice: &ToolChoice{Mode: "required"}}
	ask := `< {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[` +
		`{"role":"user","content":{"type":"text","text":"q"},"_meta":{"a/b":1}},` +
		`{"role":"assistant","content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"c1","name":"t","input":{}}]},` +
		`{"role":"user","content":{"type":"tool_result","toolUseId":"c1","content":[]}}],` +
		`"maxTokens":5,"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"}}}
	`
	for _, c := range []struct{ content, want string }{
		{`{"type":"text","text":"a"}`, answered(`assistant m "toolUse" {"type":"text","text":"a"}`)},
		{`[]`, answered(`assistant m "toolUse"`)},
		{`[{"type":"tool_use","id":"c1","name":"t","input":{"x":1},"_meta":{"a/b":2}},{"type":"tool_use","id":"c2","name":"t","input":{}}]`,
			answered(`assistant m "toolUse" {"type":"tool_use","id":"c1","name":"t","input":{"x":1},"_meta":{"a/b":2}} {"type":"tool_use","id":"c2","name":"t","input":{}}`)},
		{`[{"type":"x-new","a":1}]`, answered(`assistant m "toolUse" {"type":"x-new","a":1}`)},
		{`[{"type":"tool_use","id":"c1","name":"t","input":[1]}]`, failed(`mcp: invalid response: input of tool_use "c1" must be a JSON object, not [1]`)},
		{`[{"type":"tool_use","id":"c1","name":"t"}]`, failed(`mcp: invalid response: content[0].input: missing`)},
		{`[{"type":"tool_result","toolUseId":"c1","content":["a"]}]`, failed(`mcp: invalid response: content[0].content[0]: want a content block, got a string`)},
		{`[{"type":"tool_result","toolUseId":"c1","content":[]}]`, failed(`mcp: invalid response: tool_result is for the user`)},
		{`{"type":"resource_link","uri":"a:b","name":"n"}`, failed(`mcp: invalid response: content of type "resource_link" is not for sampling`)},
		{`"a"`, failed(`mcp: invalid response: content: want a content block, got a string`)},
	} {
		t.Run(c.content, func(t *testing.T) {
			talk(t, serve(asks(t, nil, asksModel(params))), hello(Revision20251125, `{"sampling":{"tools":{}}}`)+callAsk+ask+`
				> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":`+c.content+`,"model":"m","stopReason":"toolUse"}}
			`+c.want)
		})
	}
}

// FEAT-272 FEAT-262
func TestSampleAnswerRefused(t *testing.T) {
	params := &CreateMessageParams{MaxTokens: 1, Messages: []*SamplingMessage{}}
	for _, c := range []struct{ answer, want string }{
		{`{"role":"system","content":{"type":"text","text":"a"},"model":"m"}`, `mcp: invalid response: role must be user or assistant, not "system"`},
		{`{"content":{"type":"text","text":"a"},"model":"m"}`, "mcp: invalid response: role: missing"},
		{`{"role":"assistant","model":"m"}`, "mcp: invalid response: content: missing"},
		{`{"role":"assistant","content":{"type":"text","text":"a"}}`, "mcp: invalid response: model: missing"},
	} {
		talk(t, serve(asks(t, nil, asksModel(params))), hello(Revision20251125, `{"sampling":{}}`)+callAsk+`
			< {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}
			> {"jsonrpc":"2.0","id":1,"result":`+c.answer+`}
		`+failed(c.want))
	}
}

// FEAT-261: the older revisions have no capability for context.
func TestSampleContext(t *testing.T) {
	params := &CreateMessageParams{MaxTokens: 1, Messages: []*SamplingMessage{}, IncludeContext: "thisServer"}
	for _, c := range []struct{ rev, caps string }{
		{Revision20241105, `{"sampling":{}}`}, {Revision20250618, `{"sampling":{}}`}, {Revision20251125, `{"sampling":{"context":{}}}`},
	} {
		talk(t, serve(asks(t, nil, asksModel(params))), hello(c.rev, c.caps)+callAsk+`
			< {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"includeContext":"thisServer","maxTokens":1}}
			> {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}
		`+failed("mcp: sampling/createMessage: no (code -1)"))
	}
}

// messages reads a history in short: "u" or "a", then blocks: "t" is text, "+c1" the
// use of a tool, "-c1" its result.
func messages(t *testing.T, short string) (list []*SamplingMessage) {
	t.Helper()
	for _, one := range strings.Split(short, ";") {
		m := &SamplingMessage{}
		for i, word := range strings.Fields(one) {
			switch {
			case i == 0:
				m.Role = map[string]Role{"u": RoleUser, "a": RoleAssistant, "s": "system"}[word]
			case word[0] == '+':
				m.Content = append(m.Content, &ToolUseContent{ID: word[1:], Name: "t"})
			case word[0] == '-':
				m.Content = append(m.Content, &ToolResultContent{ToolUseID: word[1:]})
			case word == "link":
				m.Content = append(m.Content, &ResourceLink{URI: "a:b", Name: "n"})
			case word == "nil":
				m.Content = append(m.Content, nil)
			default:
				m.Content = append(m.Content, &TextContent{Text: word})
			}
		}
		list = append(list, m)
	}
	return list
}

// FEAT-272 FEAT-281 FEAT-282 FEAT-284 FEAT-285 FEAT-263 E6.1 E6.2 E6.3 E6.4 E6.5 E6.6
func TestHistories(t *testing.T) {
	for _, c := range []struct{ history, want string }{
		{"u t", ""},
		{"u t; a t; u t", ""},
		{"u t; a +c1 +c2; u -c1 -c2", ""},
		{"u t; a +c1 +c2; u -c2 -c1", ""},
		{"u t; a t +c1; u -c1", ""},
		{"u t; a +c1; u -c1; a +c2; u -c2; a t", ""},
		{"u", ""},
		{"u t; a +c1 +c2; u -c1", `mcp: Tool result missing in request: ["c2"]`},
		{"u t; a +c1; u t -c1", "mcp: message 2 mixes tool results with other content"},
		{"u t -c1", "mcp: message 0 mixes tool results with other content"},
		{"a +c1; a t", `mcp: Tool result missing in request: ["c1"]`},
		{"a +c1; u t; u -c1", `mcp: Tool result missing in request: ["c1"]`},
		{"u t; u -c1", `mcp: message 1 has a result for "c1", which is no tool use of the message before`},
		{"a +c1; u -c1; u -c1", `mcp: message 2 has a result for "c1", which is no tool use of the message before`},
		{"a +c1; u -c1 -c1", `mcp: message 1 has a result for "c1", which is no tool use of the message before`},
		{"a +c1; u -c1 -c2", `mcp: message 1 has a result for "c2", which is no tool use of the message before`},
		{"u t; a +c1", `mcp: Tool result missing in request: ["c1"]`},
		{"a +c1 +c1; u -c1", `mcp: message 0 uses the tool use id "c1" again`},
		{"a +c1; u -c1; a +c1; u -c1", `mcp: message 2 uses the tool use id "c1" again`},
		{"u +c1", "mcp: sampling message 0: tool_use is for the assistant"},
		{"a -c1", "mcp: sampling message 0: tool_result is for the user"},
		{"s t", `mcp: sampling message 0: role must be user or assistant, not "system"`},
		{"u link", `mcp: sampling message 0: content of type "resource_link" is not for sampling`},
		{"u t nil", "mcp: sampling message 0: block 1 of the content is nil"},
	} {
		p := &CreateMessageParams{MaxTokens: 1, Messages: messages(t, c.history)}
		if got := errorText(p.check(newest)); got != c.want {
			t.Errorf("%s: %q, want %q", c.history, got, c.want)
		}
	}
}

// FEAT-255 FEAT-260 FEAT-277 FEAT-278 FEAT-288
func TestSampleCheck(t *testing.T) {
	for _, c := range []struct {
		rev    revision
		params CreateMessageParams
		want   string
	}{
		{newest, CreateMessageParams{}, "mcp: maxTokens of a sampling request must be positive, not 0"},
		{newest, CreateMessageParams{MaxTokens: 1, IncludeContext: "all"}, `mcp: includeContext must be none, thisServer or allServers, not "all"`},
		{newest, CreateMessageParams{MaxTokens: 1, ToolChoice: &ToolChoice{}}, ""},
		{newest, CreateMessageParams{MaxTokens: 1, ToolChoice: &ToolChoice{Mode: "none"}}, ""},
		{newest, CreateMessageParams{MaxTokens: 1, ToolChoice: &ToolChoice{Mode: "any"}}, `mcp: mode of toolChoice must be auto, required or none, not "any"`},
		{newest, CreateMessageParams{MaxTokens: 1, Tools: []*Tool{{Name: "a"}, {Name: "b"}}}, ""},
		{newest, CreateMessageParams{MaxTokens: 1, Tools: []*Tool{{Name: "a"}, {Name: "a"}}}, "mcp: tools of a sampling request must have names, and no two the same"},
		{newest, CreateMessageParams{MaxTokens: 1, Tools: []*Tool{nil}}, "mcp: tools of a sampling request must have names, and no two the same"},
		{newest, CreateMessageParams{MaxTokens: 1, Messages: []*SamplingMessage{nil}}, "mcp: sampling message 0 is nil"},
		{newestSession - 1, CreateMessageParams{MaxTokens: 1, ToolChoice: &ToolChoice{}}, "mcp: tools in sampling need revision 2025-11-25 or later, the client speaks 2025-06-18"},
		{newestSession - 1, CreateMessageParams{MaxTokens: 1, Messages: messages(t, "u a b")}, "mcp: sampling message 0: want one block of content, got 2: another number needs revision 2025-11-25 or later"},
		{newestSession - 1, CreateMessageParams{MaxTokens: 1, Messages: messages(t, "u")}, "mcp: sampling message 0: want one block of content, got 0: another number needs revision 2025-11-25 or later"},
		{newestSession - 1, CreateMessageParams{MaxTokens: 1, Messages: messages(t, "a +c1")}, "mcp: sampling message 0: tool_use needs revision 2025-11-25 or later"},
	} {
		if got := errorText(c.params.check(c.rev)); got != c.want {
			t.Errorf("%v %+v: %q, want %q", c.rev, c.params, got, c.want)
		}
	}
}

// FEAT-290 FEAT-291 E5.2
func TestElicitationModes(t *testing.T) {
	for _, c := range []struct {
		caps      string
		form, url bool
	}{
		{`{}`, false, false},
		{`{"elicitation":{}}`, true, false},
		{`{"elicitation":{"form":{}}}`, true, false},
		{`{"elicitation":{"url":{}}}`, false, true},
		{`{"elicitation":{"form":{},"url":{}}}`, true, true},
	} {
		caps := &ClientCapabilities{}
		if err := decodeJSON([]byte(c.caps), caps); err != nil {
			t.Fatal(err)
		}
		if caps.Elicitation.form() != c.form || caps.Elicitation.url() != c.url {
			t.Errorf("%s: form %v, url %v; want %v, %v", c.caps, caps.Elicitation.form(), caps.Elicitation.url(), c.form, c.url)
		}
	}
}

// FEAT-306 FEAT-312 FEAT-313 FEAT-314 FEAT-315 FEAT-316 E5.11
func TestFormCheck(t *testing.T) {
	field := func(schema string) string { return `{"type":"object","properties":{"f":` + schema + `}}` }
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object","properties":{}}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"additionalProperties":false}`, ""},
		{`{"type":"array","properties":{}}`, `mcp: type of a form must be "object", not "array"`},
		{`{"type":"object","properties":{},"required":["f"]}`, `mcp: required field "f" of a form is not among its properties`},
		{field(`{"type":"string","format":"date-time","default":"2025-11-25T00:00:00Z"}`), ""},
		{field(`{"type":"object","properties":{}}`), `mcp: field "f" of a form: type must be string, number, integer, boolean or array, not "object"`},
		{field(`{"type":"object"}`), `mcp: field "f" of a form: type must be string, number, integer, boolean or array, not "object"`},
		{field(`{"type":"null"}`), `mcp: field "f" of a form: type must be string, number, integer, boolean or array, not "null"`},
		{field(`{"type":"string","anyOf":[]}`), `mcp: field "f" of a form: anyOf is not allowed in a form`},
		{field(`{"type":"string","$ref":"#"}`), `mcp: field "f" of a form: $ref is not allowed in a form`},
		{field(`{"type":"array"}`), `mcp: field "f" of a form: items of an array must be a choice of strings, with either enum or anyOf`},
		{field(`{"type":"array","items":{"type":"object"}}`), `mcp: field "f" of a form: items of an array must be a choice of strings, with either enum or anyOf`},
		{field(`{"type":"array","items":{"type":"string"}}`), `mcp: field "f" of a form: items of an array must be a choice of strings, with either enum or anyOf`},
		{field(`{"type":"array","items":{"enum":["a"],"anyOf":[{"const":"a"}]}}`), `mcp: field "f" of a form: items of an array must be a choice of strings, with either enum or anyOf`},
		{field(`{"type":"integer","enum":["a"]}`), `mcp: field "f" of a form: a choice must be of strings, not of type "integer"`},
		{field(`{"type":"string","enum":["a"],"oneOf":[{"const":"a","title":"A"}]}`), `mcp: field "f" of a form: a choice of one must have either enum or oneOf`},
		{field(`{"type":"string","items":{"enum":["a"]}}`), `mcp: field "f" of a form: a choice of one must have either enum or oneOf`},
		{field(`{"type":"string","enum":["a","b"],"enumNames":["A"]}`), `mcp: field "f" of a form: enumNames must name each of enum`},
		{field(`{"type":"string","enum":["a"],"default":"b"}`), `mcp: field "f" of a form: default: "b" is not one of ["a"]`},
		{field(`{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"A"}`), `mcp: field "f" of a form: default: "A" is not one of ["a"]`},
		{field(`{"type":"array","items":{"enum":["a"]},"default":["b"]}`), `mcp: field "f" of a form: default: "b" is not one of ["a"]`},
		{field(`{"type":"integer","default":1.5}`), `mcp: field "f" of a form: default: 1.5 is not an integer`},
		{field(`{"type":"boolean","default":"yes"}`), `mcp: field "f" of a form: default: want true or false, got a string`},
	} {
		s := &FormSchema{}
		if err := decodeJSON([]byte(c.schema), s); err != nil {
			t.Errorf("%s: %v", c.schema, err)
		} else if got := errorText(s.check(newest)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.schema, got, c.want)
		}
	}
	text := &PrimitiveSchema{Type: "string"}
	for _, c := range []struct {
		form *FormSchema
		want string
	}{
		{nil, "mcp: an elicitation in form mode needs a RequestedSchema"},
		{&FormSchema{Properties: Properties{{"f", nil}}}, `mcp: field "f" of a form: no schema`},
		{&FormSchema{Properties: Properties{{"f", text}, {"f", text}}}, `mcp: field "f" of a form: there are two of this name`},
		{&FormSchema{Properties: Properties{{"f", &PrimitiveSchema{Type: "string", Default: json.RawMessage("x")}}}},
			`mcp: field "f" of a form: default: not JSON at byte 0`},
	} {
		if got := errorText(c.form.check(newest)); got != c.want {
			t.Errorf("%v: %s, want %s", c.form, got, c.want)
		}
	}
}

// FEAT-319 FEAT-320 FEAT-321 E5.7 E5.8 E5.9 E5.10 E5.13 E5.14 E11.4 E11.15 E11.3
func TestFormAnswers(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{`{"type":"string"}`, `""`, ""},
		{`{"type":"string"}`, `null`, "f: want a string, got null"},
		{`{"type":"string"}`, `{"a":1}`, "f: want a string, got an object"},
		{`{"type":"string","minLength":2,"maxLength":2}`, `"😀é"`, ""},
		{`{"type":"string","minLength":2}`, `"😀"`, "f: want at least 2 characters, got 1"},
		{`{"type":"string","maxLength":0}`, `"a"`, "f: want at most 0 characters, got 1"},
		{`{"type":"string","pattern":"b"}`, `"abc"`, ""},
		{`{"type":"string","pattern":"^b"}`, `"abc"`, `f: "abc" does not match ^b`},
		{`{"type":"string","pattern":"(?=b)"}`, `"abc"`, ""}, // not one that can be compiled
		{`{"type":"string","format":"email"}`, `"a@b.example"`, ""},
		{`{"type":"string","format":"email"}`, `"a"`, `f: "a" is not of format email`},
		{`{"type":"string","format":"uri"}`, `"a"`, `f: "a" is not of format uri`},
		{`{"type":"string","format":"date"}`, `"2025-02-30"`, `f: "2025-02-30" is not of format date`},
		{`{"type":"string","format":"date-time"}`, `"2025-02-03"`, `f: "2025-02-03" is not of format date-time`},
		{`{"type":"string","format":"x-new"}`, `"a"`, ""},
		{`{"type":"integer"}`, `30.0`, ""},
		{`{"type":"integer"}`, `3e1`, ""},
		{`{"type":"integer"}`, `30.5`, "f: 30.5 is not an integer"},
		{`{"type":"integer"}`, `"30"`, "f: want a number, got a string"},
		{`{"type":"number","minimum":0.5}`, `0.5`, ""},
		{`{"type":"number","minimum":0.5}`, `0.4`, "f: 0.4 is less than 0.5"},
		{`{"type":"number","maximum":95.5}`, `95.5`, ""},
		{`{"type":"number","maximum":95.5}`, `96`, "f: 96 is more than 95.5"},
		{`{"type":"number"}`, `1e999`, "f: 1e999 is out of range"},
		{`{"type":"boolean"}`, `false`, ""},
		{`{"type":"boolean"}`, `0`, "f: want true or false, got a number"},
		{`{"type":"string","enum":["a"],"enumNames":["A"]}`, `"a"`, ""},
		{`{"type":"string","enum":["a"],"enumNames":["A"]}`, `"A"`, `f: "A" is not one of ["a"]`},
		{`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, `"a"`, ""},
		{`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, `"A"`, `f: "A" is not one of ["a"]`},
		{`{"type":"array","items":{"type":"string","enum":["a","b"]}}`, `["b","a"]`, ""},
		{`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"minItems":1}`, `[]`, "f: want at least 1, got 0"},
		{`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, `["A"]`, `f: "A" is not one of ["a"]`},
		{`{"type":"array","items":{"enum":["a","b"]},"maxItems":1}`, `["a","b"]`, "f: want at most 1, got 2"},
		{`{"type":"array","items":{"enum":["a"]}}`, `"a"`, "f: want an array, got a string"},
		{`{"type":"array","items":{"enum":["1"]}}`, `[1]`, `f: 1 is not one of ["1"]`},
	} {
		s := form(t, `{"type":"object","properties":{"f":`+c.field+`}}`).RequestedSchema
		if err := s.check(newest); err != nil {
			t.Errorf("%s: %v", c.field, err)
		}
		if got := errorText(s.Check(json.RawMessage(`{"f":` + c.value + `}`))); got != c.want {
			t.Errorf("%s, answer %s: %q, want %q", c.field, c.value, got, c.want)
		}
	}
}

// FEAT-323 E1.15 E5.5 E5.6
func TestFill(t *testing.T) {
	const fields = `"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},` +
		`"status":{"type":"string","enum":["active","idle"],"default":"active"},"verified":{"type":"boolean","default":true},` +
		`"tags":{"type":"array","items":{"enum":["a"]},"default":["a"]},"note":{"type":"string"}`
	s := form(t, `{"type":"object","properties":{`+fields+`}}`).RequestedSchema
	const all = `{"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true,"tags":["a"]}`
	for _, c := range []struct{ content, want string }{
		{``, all},
		{`null`, all},
		{`{}`, all},
		{`{"verified":false}`, `{"name":"John Doe","age":30,"score":95.5,"status":"active","verified":false,"tags":["a"]}`},
		{`{"note":"","tags":[],"score":0,"age":0,"name":"","status":"idle","verified":false}`,
			`{"name":"","age":0,"score":0,"status":"idle","verified":false,"tags":[],"note":""}`},
		{`{"z":1,"y":2}`, all[:len(all)-1] + `,"y":2,"z":1}`},
	} {
		got, err := s.Fill(json.RawMessage(c.content))
		if string(got) != c.want || err != nil {
			t.Errorf("%s: %s, error %v; want %s", c.content, got, err, c.want)
		}
	}
	empty := form(t, `{"type":"object","properties":{"s":{"type":"string","default":""},"i":{"type":"integer","default":0},"b":{"type":"boolean","default":false}}}`)
	if got, err := empty.RequestedSchema.Fill(nil); string(got) != `{"s":"","i":0,"b":false}` || err != nil {
		t.Errorf("%s, error %v", got, err)
	}
	if _, err := s.Fill(json.RawMessage(`[]`)); errorText(err) != "want an object, got an array" {
		t.Errorf("error %v", err)
	}
}

func TestFormFor(t *testing.T) {
	type order struct {
		Size  string   `json:"size" jsonschema:"how big" schema:"enum=small|large,default=small"`
		Count int      `json:"count,omitempty" schema:"minimum=1"`
		Extra []string `json:"extra,omitempty" schema:"enum=cheese|ham"`
	}
	s, err := FormFor[order]()
	if err != nil {
		t.Fatal(err)
	}
	got, err := appendJSON(nil, s, newest)
	const want = `{"type":"object","properties":{"size":{"type":"string","description":"how big","enum":["small","large"],"default":"small"},` +
		`"count":{"type":"integer","minimum":1},"extra":{"type":"array","items":{"type":"string","enum":["cheese","ham"]}}},"required":["size"]}`
	if string(got) != want || err != nil {
		t.Errorf("%s, error %v; want\n%s", got, err, want)
	}
	type deep struct{ Order order }
	if _, err := FormFor[deep](); errorText(err) != `mcp: field "Order" of a form: type must be string, number, integer, boolean or array, not "object"` {
		t.Errorf("error %v", err)
	}
	if _, err := FormFor[chan int](); err == nil {
		t.Error("a channel has a form")
	}
	if _, err := FormFor[[]string](); err == nil {
		t.Error("a list has a form")
	}
	if _, err := FormFor[int](); errorText(err) != `mcp: type of a form must be "object", not "integer"` {
		t.Errorf("error %v", err)
	}
}

// FEAT-327 FEAT-330
func TestSafeToOpen(t *testing.T) {
	const notURL = `mcp: url %q of an elicitation must be an absolute https or http URL`
	const elsewhere = `mcp: url %q is neither https nor on this machine`
	for _, c := range []struct{ url, want string }{
		{"https://a.example/x?y#z", ""},
		{"HTTPS://a.example", ""},
		{"https://xn--80ak6aa92e.example/", ""},
		{"http://localhost:8080/", ""},
		{"http://127.0.0.1/", ""},
		{"http://[::1]:1/", ""},
		{"http://a.example/", elsewhere},
		{"http://localhost.a.example/", elsewhere},
		{"http://127.0.0.1.a.example/", elsewhere},
		{"javascript:alert(1)", notURL},
		{"file:///etc/passwd", notURL},
		{"data:text/html,x", notURL},
		{"ftp://a.example/", notURL},
		{"//a.example/", notURL},
		{"a.example", notURL},
		{"https:///x", notURL},
		{"https://a.example/\x01", notURL},
		{"", notURL},
	} {
		want := c.want
		if want != "" {
			want = fmt.Sprintf(want, c.url)
		}
		if got := errorText(Visit("v", c.url).SafeToOpen()); got != want {
			t.Errorf("%q: %q, want %q", c.url, got, want)
		}
	}
}

// FEAT-259
func TestChooseModel(t *testing.T) {
	models := []string{"gpt-4o", "claude-3-haiku", "claude-3-sonnet-v2", "claude-3-opus"}
	for _, c := range []struct {
		hints []string
		want  string
	}{
		{nil, ""},
		{[]string{"claude-3-sonnet", "claude"}, "claude-3-sonnet-v2"},
		{[]string{"gemini", "claude"}, "claude-3-haiku"},
		{[]string{"", "gpt"}, "gpt-4o"},
		{[]string{"GPT"}, ""},
	} {
		p := &ModelPreferences{}
		for _, name := range c.hints {
			p.Hints = append(p.Hints, ModelHint{Name: name})
		}
		if got := p.ChooseModel(models); got != c.want {
			t.Errorf("%q: %q, want %q", c.hints, got, c.want)
		}
	}
	if got := (*ModelPreferences)(nil).ChooseModel(models); got != "" {
		t.Errorf("no preferences: %q", got)
	}
}

// FEAT-539 BASE-028 BASE-029 BASE-031 BASE-032
func TestCheckMetaKey(t *testing.T) {
	const label = `mcp: prefix of _meta key %q: label %q must begin with a letter and have only letters, digits and hyphens`
	const name = `mcp: name of _meta key %q must begin and end with a letter or digit, with only hyphens, underscores and dots between`
	const reserved = `mcp: prefix of _meta key %q is reserved for the protocol`
	for _, c := range []struct{ key, want string }{
		{"com.example/x", ""},
		{"x", ""},
		{"a-b_c.d9", ""},
		{"example/", ""},
		{"com.example.mcp/x", ""},
		{"mcp/x", ""},
		{"com.ex-ample/x", ""},
		{"io.modelcontextprotocol/x", reserved},
		{"dev.mcp/x", reserved},
		{"com.mcp.tools/x", reserved},
		{"mcp.dev/x", reserved},
		{"tools.mcp.com/x", reserved},
		{"modelcontextprotocol.io/x", reserved},
		{"api.modelcontextprotocol.org/", reserved},
		{"a.b.mcp.c/x", reserved},
		{"a.b.mcp.c.d/x", ""},
		{"1com.example/x", label},
		{"com..example/x", label},
		{"com.example-/x", label},
		{"com.ex_ample/x", label},
		{"/x", label},
		{"a/b/c", name},
		{"_x", name},
		{"x.", name},
		{"caf\u00e9", name},
		{"a b", name},
	} {
		want := c.want
		switch want {
		case label:
			prefix, _, _ := strings.Cut(c.key, "/")
			for _, l := range strings.Split(prefix, ".") {
				if !metaLabel(l, "-", true) {
					want = fmt.Sprintf(label, c.key, l)
				}
			}
		case name, reserved:
			want = fmt.Sprintf(want, c.key)
		}
		if got := errorText(CheckMetaKey(c.key)); got != want {
			t.Errorf("%q: %q, want %q", c.key, got, want)
		}
	}
}

// FEAT-535 FEAT-537 BASE-435
func TestIconCheck(t *testing.T) {
	for _, source := range []string{"https://a.example/i.png", "HTTPS://a.example/i.png", "data:image/png;base64,AA=="} {
		if err := (&Icon{Source: source}).Check(); err != nil {
			t.Errorf("%q: %v", source, err)
		}
	}
	for _, source := range []string{"", "http://a.example/i.png", "javascript:alert(1)", "file:///i.png", "ftp://a.example/", "ws://a.example/", "i.png", "https"} {
		want := fmt.Sprintf("mcp: icon %q is neither an https: nor a data: URI", source)
		if got := errorText((&Icon{Source: source}).Check()); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

// FEAT-239 FEAT-250
func TestCheckRoot(t *testing.T) {
	for _, uri := range []string{"file:///", "file:///home/me", "file:///c:/x", "file://host/share", "file:///a..b"} {
		if err := checkRoot(&Root{URI: uri}); err != nil {
			t.Errorf("%q: %v", uri, err)
		}
	}
	for _, uri := range []string{"", "https://a.example/", "/home", "file:/home", "file:home", "FILE:///x\x00"} {
		if got, want := errorText(checkRoot(&Root{URI: uri})), fmt.Sprintf("mcp: root %q must be a file:// URI", uri); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
	for _, uri := range []string{"file:///a/../b", "file:///a/..", "file:///a/%2e%2E/b", "file:///a/%2e%2e%2fb"} {
		if got, want := errorText(checkRoot(&Root{URI: uri})), fmt.Sprintf(`mcp: root %q must not contain ".."`, uri); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
	if err := checkRoot(nil); errorText(err) != "mcp: a root is nil" {
		t.Errorf("nil: %v", err)
	}
}

// FuzzHistory: no history makes the check panic, and one that it accepts has each
// result right after its use.
func FuzzHistory(f *testing.F) {
	f.Add(`[{"role":"user","content":{"type":"text","text":"q"}},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}]`)
	f.Fuzz(func(t *testing.T, history string) {
		p := &CreateMessageParams{MaxTokens: 1}
		if decodeJSON([]byte(history), &p.Messages) != nil || p.check(newest) != nil {
			return
		}
		var uses, results []string
		for _, m := range p.Messages {
			got, _ := m.toolResults()
			results = append(results, got...)
			slices.Sort(got)
			if slices.Sort(uses); !slices.Equal(uses, got) {
				t.Errorf("%s: results %q for uses %q", history, got, uses)
			}
			uses = nil
			for _, c := range m.Content {
				if u, ok := c.(*ToolUseContent); ok {
					uses = append(uses, u.ID)
				}
			}
		}
		slices.Sort(results)
		if len(uses) > 0 || len(slices.Compact(results)) != len(results) {
			t.Errorf("%s: uses %q without results, or results twice: %q", history, uses, results)
		}
	})
}

// FuzzForm: no schema and no content makes the form's functions panic; what is
// filled in fits a form that was accepted, and filling in twice changes nothing.
func FuzzForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer","default":3}},"required":["a"]}`, `{"a":1}`)
	f.Add(`{"properties":{"b":{"type":"array","items":{"anyOf":[{"const":"x"}]},"default":["x"]},"c":{"type":"string","format":"date"}}}`, `{"b":[]}`)
	f.Add(`{"properties":{"a":{}}}`, `{"z":{}}`)
	f.Fuzz(func(t *testing.T, schema, content string) {
		s := &FormSchema{}
		if decodeJSON([]byte(schema), s) != nil {
			return
		}
		bad := s.check(newest)
		fits := s.Check(json.RawMessage(content))
		filled, err := s.Fill(json.RawMessage(content))
		if bad != nil || fits != nil || err != nil {
			return
		}
		if err := s.Check(filled); err != nil {
			t.Errorf("%s fits, but filled in it is %s: %v", content, filled, err)
		}
		if again, err := s.Fill(filled); string(again) != string(filled) || err != nil {
			t.Errorf("%s filled in is %s, error %v", filled, again, err)
		}
	})
}

// The work that a stranger's form takes grows with its size.
func TestWorkOfForms(t *testing.T) {
	var choices, texts, fields []string
	for i := range 1000 {
		choices = append(choices, fmt.Sprintf(`{"const":"%d","title":""}`, i))
		texts = append(texts, fmt.Sprintf(`"%d"`, i))
		fields = append(fields, fmt.Sprintf(`"%d":{"type":"boolean"}`, i))
	}
	many := form(t, `{"properties":{"a":{"type":"array","items":{"anyOf":[`+strings.Join(choices, ",")+`]},"default":[`+strings.Join(texts, ",")+`]},`+
		strings.Join(fields, ",")+`},"required":[`+strings.Join(texts, ",")+`]}`).RequestedSchema
	if n := testing.AllocsPerRun(1, func() { must(t, many.check(newest)) }); n > 10_000 {
		t.Errorf("%v allocations to check 1000 choices", n)
	}
	slow := form(t, `{"properties":{"a":{"type":"string","pattern":"(a|b){1000}$"}}}`).RequestedSchema
	must(t, slow.Check(json.RawMessage(`{"a":"`+strings.Repeat("a", 1000)+`"}`)))
	if slow.Check(json.RawMessage(`{"a":"`+strings.Repeat("a", 1<<20)+`"}`)) == nil {
		t.Error("a pattern took more work than is allowed, and accepted")
	}
}
