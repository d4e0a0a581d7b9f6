package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"

	"example.com/mcp"
)

// An MCP server that is its own authorization server. The application has to say only who
// uses the browser. A client finds its way from the MCP server's URL alone.
func ExampleAuthorizationServer() {
	web := httptest.NewUnstartedServer(nil)
	origin := "http://" + web.Listener.Addr().String() // in production https, and configured
	authorization := &mcp.AuthorizationServer{
		Issuer:    origin,
		Resources: []string{origin + "/mcp"},
		Scopes:    map[string]string{"greet": "send greetings in your name"},
		Authenticate: func(w http.ResponseWriter, r *http.Request) (string, bool) {
			return "ada", true // an application looks at its own session, or redirects to its login
		},
	}
	resource := &mcp.ProtectedResource{
		Resource:             origin + "/mcp",
		AuthorizationServers: []string{origin},
		Scopes:               []string{"greet"},
		Verify:               authorization.Verify,
	}
	mux := http.NewServeMux()
	mux.Handle("/", authorization)
	mux.Handle("/mcp", &mcp.HTTPHandler{Server: greeter(nil), Authorize: resource.Authorize})
	for _, path := range resource.MetadataPaths() {
		mux.Handle(path, resource)
	}
	web.Config.Handler = mux
	web.Start()
	defer web.Close()

	login := &mcp.LoopbackLogin{Open: clickAllow}
	transport := &mcp.OAuthTransport{Login: login.Login, Metadata: mcp.ClientMetadata{ClientName: "Example"}}
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	session, err := client.Connect(context.Background(), &mcp.HTTPTransport{URL: origin + "/mcp", Client: &http.Client{Transport: transport}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(context.Background(), "greet", map[string]any{"name": "Grace"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// Allow “Example” to use the server? send greetings in your name
	// Hello, Grace
}

// clickAllow is a person with a browser.
func clickAllow(_ context.Context, at string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar}
	page, err := browser.Get(at)
	if err != nil {
		return err
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	if err != nil {
		return err
	}
	name := regexp.MustCompile(`<h1>(.*) to use`).FindSubmatch(text)
	scope := regexp.MustCompile(`<li>(.*) <small>`).FindSubmatch(text)
	token := regexp.MustCompile(`name="consent" value="(.*)"`).FindSubmatch(text)
	if name == nil || scope == nil || token == nil {
		return fmt.Errorf("this is not the page: %s", text)
	}
	fmt.Printf("%s to use the server? %s\n", name[1], scope[1])
	action := page.Request.URL.ResolveReference(&url.URL{Path: "/consent"})
	done, err := browser.PostForm(action.String(), url.Values{"consent": {string(token[1])}, "decision": {"allow"}})
	if err != nil {
		return err
	}
	return done.Body.Close()
}
