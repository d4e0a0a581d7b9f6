package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"example.com/mcp"
)

// A server with one tool, and a client that calls it. They talk in memory here; a
// real server runs on mcp.Stdio(), and a client reaches it with a CommandTransport.
func Example() {
	ctx := context.Background()
	clientSide, serverSide := mcp.Pipe()

	// The server.
	type input struct {
		Name string `json:"name" jsonschema:"whom to greet"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Says hello"},
		func(ctx context.Context, r *mcp.Request, in input) (string, error) {
			return "Hello, " + in.Name, nil
		})
	go server.Run(ctx, serverSide)

	// The client.
	client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1.0"}, nil)
	session, err := client.Connect(ctx, &mcp.ConnTransport{Conn: clientSide})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(ctx, "greet", map[string]any{"name": "Ada"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: Hello, Ada
}

// connect is what the examples below have in common: a client of a server, in memory.
func connect(s *mcp.Server, opts *mcp.ClientOptions) *mcp.ClientSession {
	clientSide, serverSide := mcp.Pipe()
	go s.Run(context.Background(), serverSide)
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, opts)
	session, err := client.Connect(context.Background(), &mcp.ConnTransport{Conn: clientSide})
	if err != nil {
		panic(err)
	}
	return session
}

func newServer(opts *mcp.ServerOptions) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1.0"}, opts)
}

// A struct as the result is structured content. Its type and that of the arguments
// give the schemas; an error is for the model to read.
func ExampleAddTool() {
	type input struct {
		A int `json:"a" jsonschema:"the dividend"`
		B int `json:"b" jsonschema:"the divisor"`
	}
	type output struct {
		Quotient  int `json:"quotient"`
		Remainder int `json:"remainder"`
	}
	server := newServer(nil)
	err := mcp.AddTool(server, &mcp.Tool{Name: "divide", Description: "Divides integers"},
		func(ctx context.Context, r *mcp.Request, in input) (*output, error) {
			if in.B == 0 {
				return nil, errors.New("b must not be zero")
			}
			return &output{in.A / in.B, in.A % in.B}, nil
		})
	if err != nil {
		fmt.Println(err)
	}

	session := connect(server, nil)
	defer session.Close()
	for _, b := range []any{3, 0} {
		result, err := session.CallTool(context.Background(), "divide", map[string]any{"a": 7, "b": b})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.IsError, string(result.StructuredContent), result.Text())
	}
	// Output:
	// false {"quotient":2,"remainder":1} {"quotient":2,"remainder":1}
	// true  b must not be zero
}

// The variables of the template that matched are in r.Variables. A simple {user}
// matches no slash; {+path} does.
func ExampleServer_AddResourceTemplate() {
	notes := map[string]string{"todo/today": "Write examples"}
	server := newServer(nil)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://{user}/{+path}", Name: "notes", MIMEType: "text/plain"},
		func(ctx context.Context, r *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			text, ok := notes[r.Variables["path"]]
			if !ok {
				return nil, mcp.ResourceNotFound(p.URI)
			}
			text += " (" + r.Variables["user"] + ")"
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.TextContents(p.URI, "", text)}}, nil
		})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.ReadResource(context.Background(), "note://ada/todo/today")
	fmt.Println(result.Contents[0].MIMEType, result.Contents[0].Text, err)
	_, err = session.ReadResource(context.Background(), "note://ada/todo/never")
	fmt.Println(errors.Is(err, mcp.ErrResourceNotFound))
	// Output:
	// text/plain Write examples (ada) <nil>
	// true
}

// Required arguments are there when the handler is called.
func ExampleServer_AddPrompt() {
	server := newServer(nil)
	server.AddPrompt(&mcp.Prompt{Name: "review", Description: "Asks for a code review", Arguments: []*mcp.PromptArgument{
		{Name: "language", Required: true},
		{Name: "style"},
	}}, func(ctx context.Context, r *mcp.Request, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
		text := "Review this " + p.Arguments["language"] + " code."
		if style := p.Arguments["style"]; style != "" {
			text += " Be " + style + "."
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: text}},
		}}, nil
	})

	session := connect(server, nil)
	defer session.Close()
	result, err := session.GetPrompt(context.Background(), "review", map[string]string{"language": "Go", "style": "kind"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Messages[0].Role, result.Messages[0].Content.(*mcp.TextContent).Text)
	_, err = session.GetPrompt(context.Background(), "review", nil)
	fmt.Println(err)
	// Output:
	// user Review this Go code. Be kind.
	// mcp: prompts/get: prompt "review": argument "language" is missing (code -32602)
}

// A tool that asks the person in front of the client before it goes on, with a form
// that is derived from a struct.
func ExampleRequest_Elicit() {
	type order struct {
		Size  string `json:"size" schema:"enum=small|large,default=small"`
		Count int    `json:"count" schema:"minimum=1,maximum=9"`
	}
	form, err := mcp.FormFor[order]()
	if err != nil {
		fmt.Println(err)
		return
	}
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pizza"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answer, err := r.Elicit(ctx, &mcp.ElicitParams{Message: "Which pizza?", RequestedSchema: form})
		if err != nil || !answer.Accepted() {
			return "no pizza", err
		}
		var o order
		if err := json.Unmarshal(answer.Content, &o); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %s pizza", o.Count, o.Size), nil
	})

	session := connect(server, &mcp.ClientOptions{
		Elicit: func(ctx context.Context, cs *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			for _, field := range p.RequestedSchema.Properties {
				fmt.Println(p.Message, field.Name, field.Schema.Enum)
			}
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"count":2}`)}, nil // small by default
		},
	})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "pizza", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// Which pizza? size [small large]
	// Which pizza? count []
	// 2 small pizza
}

// A tool that lets the client's model do the work.
func ExampleRequest_Sample() {
	type input struct {
		Text string `json:"text"`
	}
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "summarize"}, func(ctx context.Context, r *mcp.Request, in input) ([]mcp.Content, error) {
		answer, err := r.Sample(ctx, &mcp.CreateMessageParams{
			SystemPrompt: "Summarize in one sentence.",
			Messages:     []*mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}},
			MaxTokens:    100,
		})
		if errors.Is(err, &mcp.Error{Code: mcp.CodeUserRejected}) {
			return nil, errors.New("the person does not want a summary")
		}
		if err != nil {
			return nil, err
		}
		return answer.Content, nil
	})

	session := connect(server, &mcp.ClientOptions{
		Sample: func(ctx context.Context, cs *mcp.ClientSession, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			question := p.Messages[0].Content[0].(*mcp.TextContent).Text
			reply := fmt.Sprintf("It has %d words.", len(strings.Fields(question))) // where a model would be asked
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "counter", StopReason: "endTurn",
				Content: []mcp.Content{&mcp.TextContent{Text: reply}}}, nil
		},
	})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "summarize", input{"Once upon a time"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: It has 4 words.
}

func ExampleRequest_Roots() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "where"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		if r.Capabilities.Roots == nil {
			return "nowhere", nil
		}
		roots, err := r.Roots(ctx)
		var uris []string
		for _, root := range roots {
			uris = append(uris, root.URI)
		}
		return strings.Join(uris, " "), err
	})

	session := connect(server, &mcp.ClientOptions{Roots: []*mcp.Root{{URI: "file:///home/ada/project", Name: "project"}}})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "where", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: file:///home/ada/project
}

// Progress goes to clients that want it, and to others not.
func ExampleRequest_Progress() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "copy"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		for i := range 3 {
			if err := r.Progress(ctx, float64(i+1), 3, "copying"); err != nil {
				return "", err
			}
		}
		return "copied", nil
	})

	session := connect(server, nil)
	defer session.Close()
	watched := session.With(mcp.CallOptions{Progress: func(p mcp.Progress) { fmt.Println(p.Message, p.Value, "of", p.Total) }})
	result, err := watched.CallTool(context.Background(), "copy", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// copying 1 of 3
	// copying 2 of 3
	// copying 3 of 3
	// copied
}

// What a handler logs reaches the client before the result.
func ExampleRequest_Logger() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		log := r.Logger().With("logger", "worker")
		log.Debug("not important")
		log.Warn("disk is nearly full", slog.Group("disk", "free", 3))
		return "done", nil
	})

	session := connect(server, &mcp.ClientOptions{
		LoggingMessage: func(ctx context.Context, cs *mcp.ClientSession, p *mcp.LoggingMessageParams) {
			fmt.Println(p.Level, p.Logger, string(p.Data))
		},
	})
	defer session.Close()
	if err := session.SetLoggingLevel(context.Background(), mcp.LevelNotice); err != nil {
		fmt.Println(err)
	}
	result, err := session.CallTool(context.Background(), "work", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// warning worker {"disk":{"free":3},"msg":"disk is nearly full"}
	// done
}

// greeter has a tool, a prompt and a resource; the examples of the client use it.
func greeter(opts *mcp.ServerOptions) *mcp.Server {
	type input struct {
		Name string `json:"name"`
	}
	s := newServer(opts)
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Title: "Greet somebody"}, func(_ context.Context, _ *mcp.Request, in input) (string, error) {
		return "Hello, " + in.Name, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wave"}, func(context.Context, *mcp.Request, struct{}) (string, error) { return "o/", nil })
	s.AddPrompt(&mcp.Prompt{Name: "letter", Arguments: []*mcp.PromptArgument{{Name: "language"}}},
		func(context.Context, *mcp.Request, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
	s.AddResource(&mcp.Resource{URI: "greeting:count", Name: "count"},
		func(_ context.Context, _ *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.TextContents(p.URI, "text/plain", "1")}}, nil
		})
	return s
}

// There are three ways in which a call goes wrong: the tool fails, the server refuses,
// or nothing came back.
func ExampleClientSession_CallTool() {
	session := connect(greeter(nil), nil)
	defer session.Close()
	call := func(name string, args any) {
		result, err := session.CallTool(context.Background(), name, args)
		var refused *mcp.Error
		switch {
		case errors.As(err, &refused):
			fmt.Println("refused:", refused.Message)
		case err != nil:
			fmt.Println("no answer:", err)
		case result.IsError:
			fmt.Println("failed:", result.Text())
		default:
			fmt.Println(result.Text())
		}
	}
	call("greet", map[string]any{"name": "Ada"})
	call("greet", struct {
		Name int `json:"name"`
	}{1})
	call("insult", nil)
	// Output:
	// Hello, Ada
	// failed: invalid arguments for tool "greet": /name: want string, got number
	// refused: unknown tool "insult"
}

// Pages are fetched as the loop needs them.
func ExampleClientSession_Tools() {
	session := connect(greeter(&mcp.ServerOptions{PageSize: 1}), nil)
	defer session.Close()
	for tool, err := range session.Tools(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tool.DisplayName())
	}
	// Output:
	// Greet somebody
	// wave
}

func ExampleClientSession_Subscribe() {
	ctx := context.Background()
	server := greeter(&mcp.ServerOptions{
		Subscribe: func(context.Context, *mcp.Request, string) error { return nil }, // anybody may follow anything
	})
	news := make(chan string)
	session := connect(server, &mcp.ClientOptions{
		ResourceUpdated: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ResourceUpdatedParams) { news <- p.URI },
	})
	defer session.Close()
	if err := session.Subscribe(ctx, "greeting:count"); err != nil {
		fmt.Println(err)
		return
	}
	server.ResourceUpdated("greeting:count")
	uri := <-news
	result, err := session.ReadResource(ctx, uri)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(uri, "is", result.Contents[0].Text)
	// Output: greeting:count is 1
}

func ExampleClientSession_Complete() {
	server := greeter(&mcp.ServerOptions{
		Complete: func(ctx context.Context, r *mcp.Request, p *mcp.CompleteParams) (*mcp.Completion, error) {
			var c mcp.Completion
			for _, language := range []string{"english", "esperanto", "german"} {
				if strings.HasPrefix(language, p.Argument.Value) {
					c.Values = append(c.Values, language)
				}
			}
			return &c, nil
		},
	})
	session := connect(server, nil)
	defer session.Close()
	c, err := session.Complete(context.Background(), &mcp.CompleteParams{
		Ref:      mcp.CompleteReference{Type: "ref/prompt", Name: "letter"},
		Argument: mcp.CompleteArgument{Name: "language", Value: "e"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Values)
	// Output: [english esperanto]
}

func ExampleSchemaFor() {
	type person struct {
		Name string   `json:"name" jsonschema:"full name"`
		Age  int      `json:"age,omitempty" schema:"minimum=0,maximum=150"`
		Tags []string `json:"tags,omitempty" schema:"enum=friend|colleague"`
	}
	schema, err := mcp.SchemaFor[person]()
	fmt.Println(string(schema), err)
	// Output: {"type":"object","properties":{"name":{"type":"string","description":"full name"},"age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"type":"string","enum":["friend","colleague"]}}},"required":["name"],"additionalProperties":false} <nil>
}

// An interceptor sees every request; the first one in the list is the outermost.
func ExampleInterceptor() {
	trace := func(ctx context.Context, r *mcp.Request, next func(context.Context) (any, error)) (any, error) {
		result, err := next(ctx)
		fmt.Println(r.Method, err)
		return result, err
	}
	server := greeter(&mcp.ServerOptions{Intercept: []mcp.Interceptor{trace, mcp.RateLimit(1, 2)}})
	session := connect(server, nil) // its first request counts
	defer session.Close()
	for range 2 {
		_, _ = session.CallTool(context.Background(), "wave", nil)
	}
	// Output:
	// server/discover <nil>
	// tools/call <nil>
	// tools/call rate limit of 1 requests a second exceeded (code -32603)
}

// Any connection that carries bytes can carry messages, one a line. What frames them
// in another way implements Conn itself.
func ExampleConn() {
	ctx := context.Background()
	ours, theirs := net.Pipe() // or a net.Dial and a net.Listener
	go greeter(nil).Run(ctx, mcp.Lines(theirs, theirs, 0))

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	session, err := client.Connect(ctx, &mcp.ConnTransport{Conn: mcp.Lines(ours, ours, 0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(ctx, "wave", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: o/
}

// A server for many clients, at a path of a mux. Each client has a session of its own.
// HTTPHandler.ListenAndServe serves the mux and ends well.
func ExampleHTTPHandler() {
	ctx := context.Background()
	handler := &mcp.HTTPHandler{Server: greeter(nil)}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	web := httptest.NewServer(mux)
	defer web.Close()
	defer handler.Shutdown(ctx)

	// A client.
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	session, err := client.Connect(ctx, &mcp.HTTPTransport{URL: web.URL + "/mcp"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(ctx, "wave", nil)
	fmt.Println(result.Text(), err)

	// A page of elsewhere that tries to use it.
	request, err := http.NewRequest(http.MethodPost, web.URL+"/mcp", strings.NewReader("{}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Origin", "https://evil.example")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer.Body.Close()
	fmt.Println(answer.Status)
	// Output:
	// o/ <nil>
	// 403 Forbidden
}

// The service ends when it is told to: calls that run may finish.
func ExampleHTTPHandler_ListenAndServe() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	handler := &mcp.HTTPHandler{
		Server:       greeter(nil),
		AllowedHosts: []string{"mcp.example.com"}, // the name that a proxy passes on
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	mux.Handle("/sse", handler.SSE()) // only for clients that know nothing newer
	if err := handler.ListenAndServe(ctx, ":8080", mux); err != nil {
		log.Fatal(err)
	}
}

// A client of a server over HTTP. A session that the server has ended, and a stream that
// was lost, cost no call.
func ExampleHTTPTransport() {
	ctx := context.Background()
	web := httptest.NewServer(&mcp.HTTPHandler{Server: greeter(nil)})
	defer web.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1.0"}, nil)
	session, err := client.Connect(ctx, &mcp.HTTPTransport{
		URL:    web.URL,
		Header: http.Header{"Authorization": {"Bearer token"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(ctx, "wave", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: o/
}
