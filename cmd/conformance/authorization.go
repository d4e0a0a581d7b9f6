package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"example.com/mcp"
)

// What the suite expects of every client that registers or publishes a document.
const (
	redirectURI = "http://localhost:3000/callback"
	documentURL = "https://conformance-test.local/client-metadata.json"
)

// scenarioContext is what the suite gives to some scenarios.
type scenarioContext struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`

	PrivateKey string `json:"private_key_pem"`
	Algorithm  string `json:"signing_algorithm"`

	IDPClientID string `json:"idp_client_id"`
	IDPIDToken  string `json:"idp_id_token"`
	IDPIssuer   string `json:"idp_issuer"`
	IDPToken    string `json:"idp_token_endpoint"`

	ValidJWT string `json:"valid_jwt"`
}

// authorize makes the transport that gets tokens as a scenario wants it.
func authorize(scenario, data string) (*mcp.OAuthTransport, error) {
	var c scenarioContext
	if data != "" {
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	t := &mcp.OAuthTransport{Login: headless, MetadataURL: documentURL, Metadata: mcp.ClientMetadata{ClientName: "conformance-client"}}
	registered := mcp.OAuthClient{ID: c.ClientID, Secret: c.ClientSecret}
	switch strings.TrimPrefix(scenario, "auth/") {
	case "pre-registration":
		t.Clients = []mcp.OAuthClient{registered}
	case "client-credentials-basic":
		t.Grant, t.Clients = &mcp.ClientCredentials{}, []mcp.OAuthClient{registered}
	case "client-credentials-jwt":
		key, err := mcp.ParseKey([]byte(c.PrivateKey), c.Algorithm)
		if err != nil {
			return nil, err
		}
		t.Grant, t.Clients = &mcp.ClientCredentials{}, []mcp.OAuthClient{{ID: c.ClientID, Key: key}}
	case "enterprise-managed-authorization":
		t.Clients = []mcp.OAuthClient{registered}
		t.Grant = &mcp.EnterpriseGrant{Issuer: c.IDPIssuer, TokenEndpoint: c.IDPToken, Client: mcp.OAuthClient{ID: c.IDPClientID},
			Assertion: func(context.Context) (string, string, error) { return c.IDPIDToken, "", nil }}
	case "wif-jwt-bearer":
		t.Grant = &mcp.WorkloadGrant{Assertion: func(context.Context, string, string) (string, error) { return c.ValidJWT, nil }}
	case "dpop", "dpop-nonce":
		t.DPoP = true
	}
	return t, nil
}

// headless logs in at an authorization server that asks nobody.
func headless(ctx context.Context, l *mcp.Login) error {
	at, err := l.Begin(ctx, redirectURI)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // which follows no redirect
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	to := resp.Header.Get("Location")
	if to == "" {
		return errors.New("the authorization server did not redirect")
	}
	return l.Finish(to)
}

// useServer lists and calls as the scenarios for authorization do.
func useServer(ctx context.Context, cs *mcp.ClientSession) error {
	if _, err := find(ctx, cs, "test-tool"); err != nil {
		return err
	}
	return call(ctx, cs, "test-tool", struct{}{})
}

// serveAuthorization serves an authorization server at addr until ctx ends, with one
// client, whose people are sent to a port of this machine, and one person, who is
// always logged in. It says its issuer on stderr.
func serveAuthorization(ctx context.Context, addr, clientID, port string, stderr io.Writer) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	issuer := "http://" + l.Addr().String()
	a := &mcp.AuthorizationServer{
		Issuer: issuer, Resources: []string{issuer + endpoint},
		Authenticate: func(http.ResponseWriter, *http.Request) (string, bool) { return "person", true },
		Clients: []mcp.RegisteredClient{{ID: clientID, Metadata: mcp.ClientMetadata{
			ClientName: "suite", RedirectURIs: []string{"http://127.0.0.1:" + port + "/callback"}, TokenEndpointAuthMethod: "none"}}},
	}
	if err := a.Check(); err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(stderr, "listening on %s\n", issuer)
	return (&mcp.HTTPHandler{Server: mcp.NewServer(&mcp.Implementation{Name: "conformance", Version: "1.0.0"}, nil)}).Serve(ctx, l, a)
}

// hidden are the inputs of the consent page that nobody sees.
var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// visit is a person who opens an authorization URL and allows what the page asks for.
func visit(ctx context.Context, at string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar}
	page, _, err := browse(ctx, browser, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	form := url.Values{"decision": {"allow"}}
	for _, input := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(html.UnescapeString(input[1]), html.UnescapeString(input[2]))
	}
	target, err := url.Parse(at)
	if err != nil {
		return err
	}
	_, status, err := browse(ctx, browser, http.MethodPost, target.ResolveReference(&url.URL{Path: "/consent"}).String(), form)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the visit ended with status %d", status)
	}
	return err
}

// browse makes a request of a visit and returns what is shown at its end.
func browse(ctx context.Context, browser *http.Client, method, at string, form url.Values) (page string, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := browser.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(text), resp.StatusCode, err
}
