package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/mcp"
)

// A server that takes access tokens, which are JWTs here, of an authorization server
// elsewhere. One of its tools needs more than the others.
func ExampleProtectedResource() {
	verifier := &mcp.JWTVerifier{Issuers: map[string]string{"https://auth.example.com": ""}} // keys: where its metadata says
	resource := &mcp.ProtectedResource{
		Resource:             "https://mcp.example.com/mcp",
		AuthorizationServers: []string{"https://auth.example.com"},
		Verify:               verifier.Verify,
		Scopes:               []string{"greet"},
	}
	byTool := func(ctx context.Context, r *mcp.Request, next func(context.Context) (any, error)) (any, error) {
		if r.Method == "tools/call" && strings.Contains(string(r.Params), `"wave"`) {
			if err := resource.Require(r, "greet", "wave"); err != nil {
				return nil, err
			}
		}
		return next(ctx)
	}
	server := greeter(&mcp.ServerOptions{Intercept: []mcp.Interceptor{byTool}})
	mux := http.NewServeMux()
	mux.Handle("/mcp", &mcp.HTTPHandler{Server: server, Authorize: resource.Authorize})
	for _, path := range resource.MetadataPaths() {
		mux.Handle(path, resource)
	}

	// What a client without a token is told, and what it finds there.
	web := httptest.NewServer(mux)
	defer web.Close()
	refusal, err := http.Post(web.URL+"/mcp", "application/json", strings.NewReader("{}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	refusal.Body.Close()
	fmt.Println(refusal.Status)
	fmt.Println(refusal.Header.Get("WWW-Authenticate"))
	found, err := http.Get(web.URL + "/.well-known/oauth-protected-resource/mcp")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer found.Body.Close()
	document, err := io.ReadAll(found.Body)
	fmt.Println(string(document), err)
	// Output:
	// 401 Unauthorized
	// Bearer scope="greet", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
	// {"resource":"https://mcp.example.com/mcp","authorization_servers":["https://auth.example.com"],"scopes_supported":["greet"],"bearer_methods_supported":["header"]} <nil>
}

// Tokens that the application knows itself. A handler learns from Request.Identity who
// calls.
func ExampleVerifier() {
	tokens := map[string]*mcp.TokenInfo{"4d4": {
		Issuer:   "https://auth.example.com",
		Subject:  "ada",
		Audience: []string{"https://mcp.example.com"},
		Scopes:   []string{"greet"},
		Expires:  time.Now().Add(time.Hour),
	}}
	resource := &mcp.ProtectedResource{
		Resource:             "https://mcp.example.com",
		AuthorizationServers: []string{"https://auth.example.com"},
		Verify: func(_ context.Context, token string, _ *http.Request) (*mcp.TokenInfo, error) {
			if info, ok := tokens[token]; ok {
				return info, nil
			}
			return nil, mcp.ErrInvalidToken
		},
	}
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "whoami"}, func(_ context.Context, r *mcp.Request, _ struct{}) (string, error) {
		return r.Identity.Subject, resource.Require(r, "greet")
	})
	web := httptest.NewServer(&mcp.HTTPHandler{Server: server, Authorize: resource.Authorize})
	defer web.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	session, err := client.Connect(context.Background(), &mcp.HTTPTransport{URL: web.URL, Header: http.Header{"Authorization": {"Bearer 4d4"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(context.Background(), "whoami", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: ada
}
