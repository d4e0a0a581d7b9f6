package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/mcp"
)

// A person is asked to open a page, such as one for a payment, which the client never
// sees the contents of.
func ExampleVisit() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answer, err := r.Elicit(ctx, mcp.Visit("Please pay first", "https://pay.example.com/17"))
		if err != nil || !answer.Accepted() {
			return "not paid", err
		}
		return "on the way", nil // the visit was agreed to; whether it was paid, the server knows
	})

	session := connect(server, &mcp.ClientOptions{
		Visit: func(ctx context.Context, cs *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(cs.ServerInfo().Name, "asks:", p.Message, p.URL, p.SafeToOpen())
			return &mcp.ElicitResult{Action: "accept"}, nil // where a browser would be opened
		},
	})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "pay", nil)
	fmt.Println(result.Text(), err)
	// Output:
	// example asks: Please pay first https://pay.example.com/17 <nil>
	// on the way <nil>
}

// What a form holds is derived from a struct. An answer that does not fit it never reaches
// the handler.
func ExampleFormSchema_Check() {
	type signup struct {
		Name string `json:"name" schema:"minLength=2"`
		Mail string `json:"mail" schema:"format=email"`
		Age  int    `json:"age,omitempty" schema:"minimum=18"`
	}
	form, err := mcp.FormFor[signup]()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, answer := range []string{`{"name":"Ada","mail":"ada@example.com"}`, `{"name":"Ada"}`, `{"name":"Ada","mail":"a@b.c","age":17}`} {
		fmt.Println(form.Check(json.RawMessage(answer)))
	}

	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "sign-up"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		_, err := r.Elicit(ctx, &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: form})
		return "welcome", err
	})
	session := connect(server, &mcp.ClientOptions{
		Elicit: func(context.Context, *mcp.ClientSession, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"A"}`)}, nil
		},
	})
	defer session.Close()
	_, err = session.CallTool(context.Background(), "sign-up", nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// mail: missing
	// age: 17 is less than 18
	// mcp: tools/call: the server asks for "1": name: want at least 2 characters, got 1
}

// Fields that an answer leaves out get their defaults, on the client's side by itself.
func ExampleFormSchema_Fill() {
	type settings struct {
		Theme  string   `json:"theme" schema:"enum=light|dark,default=dark"`
		Volume int      `json:"volume" schema:"default=7"`
		Loud   bool     `json:"loud" schema:"default=true"`
		Tags   []string `json:"tags,omitempty" schema:"enum=a|b"`
	}
	form, err := mcp.FormFor[settings]()
	if err != nil {
		fmt.Println(err)
		return
	}
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "configure"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answer, err := r.Elicit(ctx, &mcp.ElicitParams{Message: "How do you like it?", RequestedSchema: form})
		if err != nil {
			return "", err
		}
		return string(answer.Content), nil
	})

	session := connect(server, &mcp.ClientOptions{
		Elicit: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			content := json.RawMessage(`{"volume":3}`)
			shown, err := p.RequestedSchema.Fill(content) // to show what will be sent
			fmt.Println(string(shown), err)
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "configure", nil)
	fmt.Println(result.Text(), err)
	// Output:
	// {"theme":"dark","volume":3,"loud":true} <nil>
	// {"theme":"dark","volume":3,"loud":true} <nil>
}

// A field is a choice of one or of many, with or without titles.
func ExampleFormFor() {
	type order struct {
		Size     string   `json:"size" schema:"enum=small|large,title=Size"`
		Toppings []string `json:"toppings,omitempty" schema:"enum=olives|onions|ham,maxItems=2"`
	}
	form, err := mcp.FormFor[order]()
	if err != nil {
		fmt.Println(err)
		return
	}
	form.Properties = append(form.Properties, mcp.Property{Name: "oven", Schema: &mcp.PrimitiveSchema{
		Type: "string", OneOf: []mcp.EnumOption{{Const: "w", Title: "Wood"}, {Const: "g", Title: "Gas"}}}})

	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pizza"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answer, err := r.Elicit(ctx, &mcp.ElicitParams{Message: "Which pizza?", RequestedSchema: form})
		if err != nil {
			return "", err
		}
		return string(answer.Content), nil
	})
	session := connect(server, &mcp.ClientOptions{
		Elicit: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			for _, field := range p.RequestedSchema.Properties {
				switch s := field.Schema; {
				case s.OneOf != nil:
					fmt.Println(field.Name, "one of", s.OneOf)
				case s.Items != nil:
					fmt.Println(field.Name, "some of", s.Items.Enum, "at most", *s.MaxItems)
				default:
					fmt.Println(field.Name, "one of", s.Enum)
				}
			}
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"size":"small","toppings":["ham"],"oven":"w"}`)}, nil
		},
	})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "pizza", nil)
	fmt.Println(result.Text(), err)
	// Output:
	// size one of [small large]
	// toppings some of [olives onions ham] at most 2
	// oven one of [{w Wood} {g Gas}]
	// {"size":"small","toppings":["ham"],"oven":"w"} <nil>
}

// The server tells when the person is done with what a page asked for. A call that is
// refused until then is made again by the client.
func ExampleServer_ElicitationComplete() {
	server := newServer(nil)
	paid := make(chan bool, 1)
	mcp.AddTool(server, &mcp.Tool{Name: "download"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		select {
		case <-paid:
			return "the file", nil
		default:
		}
		visit := mcp.Visit("Please pay first", "https://pay.example.com/17")
		visit.ElicitationID = "payment-17"
		return "", mcp.URLElicitationRequired("payment is required", visit)
	})

	done := make(chan string, 1)
	session := connect(server, &mcp.ClientOptions{
		Revisions: []string{mcp.Revision20251125}, // later ones ask in another way
		Visit: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(p.Message, p.URL)
			paid <- true // the person pays, and the payment service tells the server
			server.ElicitationComplete(p.ElicitationID)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
		ElicitationComplete: func(_ context.Context, _ *mcp.ClientSession, p *mcp.ElicitationCompleteParams) {
			done <- p.ElicitationID
		},
	})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "download", nil)
	fmt.Println(result.Text(), err, <-done)
	// Output:
	// Please pay first https://pay.example.com/17
	// the file <nil> payment-17
}

// A client changes its roots while a session is open. Servers of the revisions that
// have sessions are told, and ask again.
func ExampleClient_SetRoots() {
	ctx := context.Background()
	roots := make(chan []*mcp.Root)
	server := newServer(&mcp.ServerOptions{
		RootsChanged: func(ctx context.Context, r *mcp.Request) {
			list, _ := r.Roots(ctx)
			roots <- list
		},
	})
	clientSide, serverSide := mcp.Pipe()
	go server.Run(ctx, serverSide)

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, &mcp.ClientOptions{
		Roots:     []*mcp.Root{{URI: "file:///home/ada/old"}},
		Revisions: []string{mcp.Revision20251125},
	})
	session, err := client.Connect(ctx, &mcp.ConnTransport{Conn: clientSide})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	fmt.Println(client.SetRoots(&mcp.Root{URI: "file:///home/ada/new"}))
	for _, root := range <-roots {
		fmt.Println(root.URI)
	}
	// Output:
	// <nil>
	// file:///home/ada/new
}

// Several questions at once. The client's capabilities are looked at before any is sent.
func ExampleRequest_Ask() {
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tidy"}, func(ctx context.Context, r *mcp.Request, _ struct{}) (string, error) {
		answers, err := r.Ask(ctx, mcp.Question{Elicit: mcp.Confirm("Tidy up?")}, mcp.Question{Roots: true})
		if err != nil {
			return "", err
		}
		if !answers[0].Elicit.Accepted() {
			return "", errors.New("the person does not want to")
		}
		return "tidied " + answers[1].Roots[0].URI, nil
	})

	session := connect(server, &mcp.ClientOptions{
		Roots: []*mcp.Root{{URI: "file:///home/ada"}},
		Elicit: func(context.Context, *mcp.ClientSession, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	defer session.Close()
	result, err := session.CallTool(context.Background(), "tidy", nil)
	fmt.Println(result.Text(), err)
	// Output: tidied file:///home/ada <nil>
}
