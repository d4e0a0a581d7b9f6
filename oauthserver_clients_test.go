package mcp

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const asJSON = "Content-Type: application/json"

// What is registered is what is answered, and what is wrong is refused.
// AUTH-336 AUTH-337 AUTH-338 AUTH-339 AUTH-340 AUTH-341 HOSTILE-59
func TestAuthRegistration(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	uris := func(n int) string {
		return `["` + strings.TrimSuffix(strings.Repeat(`https://app.example.com/cb","`, n), `,"`) + `]`
	}
	const cb = `"redirect_uris":["https://app.example.com/cb"]`
	const rest = `"grant_types":["authorization_code"],"redirect_uris":["https://app.example.com/cb"],"response_types":["code"]`
	for _, tt := range []struct{ name, body, want string }{
		{"least", `{` + cb + `}`, `{` + rest + `,"token_endpoint_auth_method":"client_secret_basic"}`},
		{"public", `{` + cb + `,"token_endpoint_auth_method":"none","client_name":"A <b>","scope":"x y","software_id":"s","unknown":1}`,
			`{"client_name":"A <b>",` + rest + `,"scope":"x y","software_id":"s","token_endpoint_auth_method":"none"}`},
		{"its id is not the client's to choose", `{` + cb + `,"client_id":"https://app.example.com/c","token_endpoint_auth_method":"none"}`,
			`{` + rest + `,"token_endpoint_auth_method":"none"}`},
		{"post", `{` + cb + `,"token_endpoint_auth_method":"client_secret_post"}`, `{` + rest + `,"token_endpoint_auth_method":"client_secret_post"}`},
		{"key", `{` + cb + `,"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[` + string(key.Public()) + `]}}`,
			`{"grant_types":["authorization_code"],"jwks":{"keys":[` + string(key.Public()) + `]},"redirect_uris":["https://app.example.com/cb"],"response_types":["code"],"token_endpoint_auth_method":"private_key_jwt"}`},
		{"what is not served is left out", `{` + cb + `,"grant_types":["authorization_code","refresh_token","implicit"],"token_endpoint_auth_method":"none"}`,
			`{"grant_types":["authorization_code","refresh_token"],"redirect_uris":["https://app.example.com/cb"],"response_types":["code"],"token_endpoint_auth_method":"none"}`},
		{"native", `{"redirect_uris":["http://localhost/cb","http://127.0.0.1:1/"],"application_type":"native","token_endpoint_auth_method":"none"}`,
			`{"application_type":"native","grant_types":["authorization_code"],"redirect_uris":["http://localhost/cb","http://127.0.0.1:1/"],"response_types":["code"],"token_endpoint_auth_method":"none"}`},
		{"web", `{` + cb + `,"application_type":"web","token_endpoint_auth_method":"none"}`, `{"application_type":"web",` + rest + `,"token_endpoint_auth_method":"none"}`},
		{"twenty", `{"redirect_uris":` + uris(20) + `,"token_endpoint_auth_method":"none"}`,
			`{"grant_types":["authorization_code"],"redirect_uris":` + uris(20) + `,"response_types":["code"],"token_endpoint_auth_method":"none"}`},

		{"no JSON", `x`, "invalid_client_metadata"},
		{"twice, in other case", `{` + cb + `,"Redirect_URIs":["https://evil.example.com"]}`, "invalid_client_metadata"},
		{"a number for a name", `{` + cb + `,"client_name":1}`, "invalid_client_metadata"},
		{"no redirect URIs", `{}`, "invalid_redirect_uri"},
		{"too many", `{"redirect_uris":` + uris(21) + `}`, "invalid_redirect_uri"},
		{"a thousand", `{"redirect_uris":` + uris(1000) + `}`, "invalid_client_metadata"},
		{"http", `{"redirect_uris":["http://evil.example.com/cb"]}`, "invalid_redirect_uri"},
		{"wildcard", `{"redirect_uris":["https://*.example.com/cb"]}`, "invalid_redirect_uri"},
		{"fragment", `{"redirect_uris":["https://app.example.com/#f"]}`, "invalid_redirect_uri"},
		{"user info", `{"redirect_uris":["https://u:p@app.example.com/"]}`, "invalid_redirect_uri"},
		{"relative", `{"redirect_uris":["/cb"]}`, "invalid_redirect_uri"},
		{"script", `{"redirect_uris":["javascript:alert(1)"]}`, "invalid_redirect_uri"},
		{"own scheme", `{"redirect_uris":["com.example.app:/cb"]}`, "invalid_redirect_uri"},
		{"long", `{"redirect_uris":["https://app.example.com/` + strings.Repeat("a", 2048) + `"]}`, "invalid_redirect_uri"},
		{"web on this machine", `{"redirect_uris":["https://localhost/cb"],"application_type":"web"}`, "invalid_redirect_uri"},
		{"web over http", `{"redirect_uris":["http://localhost/cb"],"application_type":"web"}`, "invalid_redirect_uri"},
		{"native elsewhere", `{` + cb + `,"application_type":"native"}`, "invalid_redirect_uri"},
		{"other type", `{` + cb + `,"application_type":"x"}`, "invalid_client_metadata"},
		{"other method", `{` + cb + `,"token_endpoint_auth_method":"tls_client_auth"}`, "invalid_client_metadata"},
		{"no key", `{` + cb + `,"token_endpoint_auth_method":"private_key_jwt"}`, "invalid_client_metadata"},
		{"private key", `{` + cb + `,"jwks":{"keys":[` + string(key.private()) + `]}}`, "invalid_client_metadata"},
		{"keys at a private address", `{` + cb + `,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://169.254.169.254/k"}`, "invalid_client_metadata"},
		{"no grant that is served", `{` + cb + `,"grant_types":["implicit"]}`, "invalid_client_metadata"},
		{"other response", `{` + cb + `,"response_types":["token"]}`, "invalid_client_metadata"},
		{"scope", `{` + cb + `,"scope":"a\"b"}`, "invalid_client_metadata"},
		{"much text", `{` + cb + `,"client_name":"` + strings.Repeat("a", 9000) + `"}`, "invalid_client_metadata"},
		{"refused by the application", `{` + cb + `,"client_name":"bad"}`, "invalid_client_metadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, func(a *AuthorizationServer) {
				a.AllowClient = func(id string, m *ClientMetadata) error {
					if id == "" && m.ClientName == "bad" {
						return errors.New("no")
					}
					return nil
				}
			})
			got := b.post(testIssuer+"/register", tt.body, asJSON)
			var m map[string]any
			if err := json.Unmarshal([]byte(got.body), &m); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(tt.want, "{") {
				if got.status != 400 || m["error"] != tt.want {
					t.Errorf("%d %s, want %s", got.status, got.body, tt.want)
				}
				return
			}
			id, _ := m["client_id"].(string)
			secret, hasSecret := m["client_secret"].(string)
			if got.status != 201 || got.header.Get("Cache-Control") != "no-store" || len(id) != 43 || m["client_id_issued_at"].(float64) < 1e9 {
				t.Errorf("%d %v %s", got.status, got.header, got.body)
			}
			if wants := strings.Contains(tt.want, "client_secret_"); hasSecret != wants || wants && (len(secret) != 43 || m["client_secret_expires_at"] != 0.0) {
				t.Errorf("secret: %v", m)
			}
			for _, name := range []string{"client_id", "client_id_issued_at", "client_secret", "client_secret_expires_at"} {
				delete(m, name)
			}
			if text, _ := marshal(m); string(text) != tt.want {
				t.Errorf("%s, want %s", text, tt.want)
			}
		})
	}
	b := newAuthBench(t, nil)
	if got := b.post(testIssuer+"/register", `{}`); got.status != 400 {
		t.Errorf("a form: %d", got.status)
	}
	b = newAuthBench(t, func(a *AuthorizationServer) { a.PrivateSchemes = true })
	if got := b.post(testIssuer+"/register", `{"redirect_uris":["com.example.app:/cb"],"application_type":"native"}`, asJSON); got.status != 201 {
		t.Errorf("own scheme, allowed: %d %s", got.status, got.body)
	}
	b = newAuthBench(t, func(a *AuthorizationServer) { a.InitialAccessToken = "let me in" }) // AUTH-342
	for header, want := range map[string]int{"X: y": 401, "Authorization: Bearer x": 401, "Authorization: bearer let me in": 201} {
		if got := b.post(testIssuer+"/register", `{`+cb+`}`, asJSON, header); got.status != want {
			t.Errorf("%s: %d, want %d", header, got.status, want)
		}
	}
}

// registered registers a client.
func (b *authBench) registered(body string) (id, secret string) {
	b.t.Helper()
	got := b.post(testIssuer+"/register", body, asJSON)
	var m struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(got.body), &m); err != nil || got.status != 201 {
		b.t.Fatalf("%d %s", got.status, got.body)
	}
	return m.ID, m.Secret
}

// A registered client can do what it registered for. It is forgotten soon, if it never
// gets a token. AUTH-342
func TestAuthRegisteredClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newAuthBench(t, nil)
		const body = `{"redirect_uris":["https://app.example.com/cb"],"grant_types":["authorization_code","refresh_token"],"client_name":"Reg","token_endpoint_auth_method":`
		public, _ := b.registered(body + `"none"}`)
		conf, secret := b.registered(body + `"client_secret_post"}`)
		unused, _ := b.registered(body + `"none"}`)
		page := b.get(testIssuer + "/authorize?" + request("client_id", public).Encode())
		if !strings.Contains(page.body, "“Reg”") || !strings.Contains(page.body, "The name is what the application calls itself. Nobody has checked it.") {
			t.Errorf("%s", page.body)
		}
		got := b.token(redemption(b.code("client_id", public), "client_id", public))
		if got.status != 200 || got.Refresh == "" {
			t.Errorf("%+v", got)
		}
		other := b.token(redemption(b.code("client_id", conf), "client_id", conf, "client_secret", secret))
		if other.status != 200 {
			t.Errorf("%+v", other)
		}
		time.Sleep(clientUnused)
		for id, want := range map[string]int{public: 200, conf: 200, unused: 400} {
			if got := b.get(testIssuer + "/authorize?" + request("client_id", id, "prompt", "consent").Encode()); got.status != want {
				t.Errorf("%d, want %d", got.status, want)
			}
		}
		for range 8 { // use keeps it
			time.Sleep(20 * 24 * time.Hour)
			if got = b.token(refreshing(got.Refresh, "client_id", public)); got.status != 200 {
				t.Fatalf("%+v", got)
			}
		}
		time.Sleep(clientKept)
		if got := b.get(testIssuer + "/authorize?" + request("client_id", public).Encode()); got.status != 400 {
			t.Errorf("%d", got.status)
		}
	})
}

// assertion is a JWT for a client or a workload: claims over the usual ones, nil to leave
// one out.
func assertion(t *testing.T, k *Key, typ string, changes map[string]any) string {
	t.Helper()
	now := time.Now()
	claims := map[string]any{"iss": "keyed", "sub": "keyed", "aud": testIssuer, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": newSecret()}
	for name, v := range changes {
		if claims[name] = v; v == nil {
			delete(claims, name)
		}
	}
	text, err := k.sign(map[string]any{"typ": typ}, claims)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A client can act for itself, if that is on and it can prove who it is.
// AUTH-335 AUTH-387 AUTH-388
func TestAuthClientCredentials(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, tt := range []struct {
		name, want string
		key        *Key
		claims     map[string]any
		pairs      []string
	}{
		{"good", "", key, nil, nil},
		{"and client_id", "", key, nil, []string{"client_id", "keyed"}},
		{"audience among others", "", key, map[string]any{"aud": []string{"x", testIssuer}}, nil},
		{"without iat", "", key, map[string]any{"iat": nil}, nil},
		{"five minutes", "", key, map[string]any{"exp": now.Add(5 * time.Minute).Unix()}, nil},
		{"no scope", "", key, nil, []string{"scope", ""}},
		{"other key", "invalid_client", foreign, nil, nil},
		{"other issuer", "invalid_client", key, map[string]any{"iss": "x"}, nil},
		{"other client", "invalid_client", key, map[string]any{"sub": "conf"}, nil},
		{"client_id of another", "invalid_request", key, nil, []string{"client_id", "conf"}},
		{"no audience", "invalid_client", key, map[string]any{"aud": nil}, nil},
		{"token endpoint as audience", "invalid_client", key, map[string]any{"aud": testIssuer + "/token"}, nil},
		{"issuer with a slash", "invalid_client", key, map[string]any{"aud": testIssuer + "/"}, nil},
		{"no exp", "invalid_client", key, map[string]any{"exp": nil}, nil},
		{"expired", "invalid_client", key, map[string]any{"exp": now.Add(-jwtLeeway - time.Second).Unix()}, nil},
		{"an hour", "invalid_client", key, map[string]any{"exp": now.Add(time.Hour).Unix()}, nil},
		{"of tomorrow", "invalid_client", key, map[string]any{"iat": now.Add(24 * time.Hour).Unix()}, nil},
		{"not yet", "invalid_client", key, map[string]any{"nbf": now.Add(10 * time.Minute).Unix()}, nil},
		{"no jti", "invalid_client", key, map[string]any{"jti": nil}, nil},
		{"other type", "invalid_client", key, nil, []string{"client_assertion_type", "x"}},
		{"with a secret", "invalid_request", key, nil, []string{"client_secret", "x"}},
		{"foreign resource", "invalid_target", key, nil, []string{"resource", "https://other.example.com"}},
		{"foreign scope", "invalid_scope", key, nil, []string{"scope", "root"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, keyedClient(key))
			form := with(url.Values{"grant_type": {grantCredentials}, "client_assertion": {assertion(t, tt.key, "JWT", tt.claims)},
				"client_assertion_type": {assertionJWT}, "scope": {"files:read"}, "resource": {testResource}}, tt.pairs...)
			got := b.token(form)
			if got.Error != tt.want {
				t.Fatalf("%+v, want %q", got, tt.want)
			}
			if tt.want != "" {
				return
			}
			info, err := b.a.Verify(t.Context(), got.Access, nil)
			if err != nil || got.Refresh != "" || info.Subject != "keyed" || info.ClientID != "keyed" || info.Audience[0] != testResource || strings.Join(info.Scopes, " ") != form.Get("scope") {
				t.Errorf("%+v %+v %v", got, info, err)
			}
			if again := b.token(form); again.Error != "invalid_client" {
				t.Errorf("the same assertion again: %+v", again)
			}
		})
	}
	b := newAuthBench(t, func(a *AuthorizationServer) {
		keyedClient(key)(a)
		a.TokenAudience = true
		a.Clients = append(a.Clients, RegisteredClient{ID: "public", Metadata: ClientMetadata{GrantTypes: []string{grantCredentials}}})
	})
	form := url.Values{"grant_type": {grantCredentials}, "client_assertion": {assertion(t, key, "JWT", map[string]any{"aud": testIssuer + "/token"})}, "client_assertion_type": {assertionJWT}}
	if got := b.token(form); got.status != 200 {
		t.Errorf("the token endpoint as audience, allowed: %+v", got)
	}
	if got := b.token(url.Values{"grant_type": {grantCredentials}, "client_id": {"public"}}); got.Error != "unauthorized_client" {
		t.Errorf("a public client: %+v", got)
	}
}

func keyedClient(key *Key) func(*AuthorizationServer) {
	return func(a *AuthorizationServer) {
		a.ClientCredentials = true
		a.Clients = append(a.Clients, RegisteredClient{ID: "keyed", Metadata: ClientMetadata{GrantTypes: []string{grantCredentials},
			JWKS: json.RawMessage(`{"keys":[` + string(key.Public()) + `]}`)}})
	}
}

// Who only says of itself that it may act for itself may not: nobody has agreed to it.
// AUTH-381
func TestAuthCredentialsOfStrangers(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	b, d := newDocBench(t, func(a *AuthorizationServer) { a.ClientCredentials = true })
	if got := b.post(testIssuer+"/register", `{"grant_types":["client_credentials"]}`, asJSON); got.status != 400 || !strings.Contains(got.body, "invalid_client_metadata") {
		t.Errorf("%d %s", got.status, got.body)
	}
	id, secret := b.registered(`{"redirect_uris":["https://app.example.com/cb"],"grant_types":["authorization_code","client_credentials"],"token_endpoint_auth_method":"client_secret_post"}`)
	if got := b.token(url.Values{"grant_type": {grantCredentials}, "client_id": {id}, "client_secret": {secret}}); got.Error != "unauthorized_client" {
		t.Errorf("registered: %+v", got)
	}
	d.body = strings.Replace(docText, `"grant_types":[`, `"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[`+string(key.Public())+`]},"grant_types":["client_credentials",`, 1)
	b.get(testIssuer + "/authorize?" + request("client_id", docURL).Encode()) // now it is known
	proof := assertion(t, key, "JWT", map[string]any{"iss": docURL, "sub": docURL})
	if got := b.token(url.Values{"grant_type": {grantCredentials}, "client_assertion": {proof}, "client_assertion_type": {assertionJWT}}); got.Error != "unauthorized_client" {
		t.Errorf("documented: %+v", got)
	}
}

// Nobody makes the server fetch keys by junk, nor often; that they cannot be had is not
// the client's fault. AUTH-371
func TestAuthClientKeyFetches(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	b := newAuthBench(t, func(a *AuthorizationServer) {
		a.ClientCredentials = true
		for i := range 30 {
			a.Clients = append(a.Clients, RegisteredClient{ID: fmt.Sprint("c", i),
				Metadata: ClientMetadata{GrantTypes: []string{grantCredentials}, JWKSURI: fmt.Sprint("https://keys.example.org/", i)}})
		}
	})
	asked := 0
	b.net["keys.example.org"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; w.WriteHeader(500) })
	ask := func(id, aud string) *tokens {
		proof := assertion(t, key, "JWT", map[string]any{"iss": id, "sub": id, "aud": aud})
		return b.token(url.Values{"grant_type": {grantCredentials}, "client_assertion": {proof}, "client_assertion_type": {assertionJWT}})
	}
	if got := ask("c0", "https://other.example.com"); got.Error != "invalid_client" || asked != 0 {
		t.Errorf("%+v, asked %d times", got, asked)
	}
	for i := range 30 {
		if got := ask(fmt.Sprint("c", i), testIssuer); got.status != 503 || got.Error != "temporarily_unavailable" {
			t.Errorf("%+v", got)
		}
	}
	if asked != 10 {
		t.Errorf("asked %d times", asked)
	}
}

// A proof at the token endpoint binds the tokens to its key.
// AUTH-420 AUTH-421
func TestAuthDPoP(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	other, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	proof := func(k *Key, method, at, nonce string) string {
		text, err := k.proof(method, at, "", nonce)
		if err != nil {
			t.Fatal(err)
		}
		return "DPoP: " + text
	}
	const endpoint = testIssuer + "/token"
	for _, alg := range []string{"", "ES256"} {
		b := newAuthBench(t, func(a *AuthorizationServer) {
			a.DPoP = true
			a.Clients[1].Metadata.DPoPBoundAccessTokens = true
			if alg != "" {
				a.Key, _ = GenerateKey(alg)
			}
		})
		if got := b.token(redemption(b.code())); got.Type != "Bearer" {
			t.Errorf("without a proof: %+v", got)
		}
		got := b.token(redemption(b.code()), proof(key, "POST", endpoint, ""))
		info, err := b.a.Verify(t.Context(), got.Access, nil)
		if err != nil || got.Type != "DPoP" || info.Thumbprint != key.Thumbprint() {
			t.Fatalf("%+v %+v %v", got, info, err)
		}
		for name, header := range map[string]string{"none": "X: y", "another key's": proof(other, "POST", endpoint, "")} {
			if got := b.token(refreshing(got.Refresh), header); got.Error != "invalid_grant" {
				t.Errorf("refreshed with proof %s: %+v", name, got)
			}
		}
		if got := b.token(refreshing(got.Refresh), proof(key, "POST", endpoint, "")); got.Type != "DPoP" {
			t.Errorf("%+v", got)
		}
		for name, headers := range map[string][]string{"two": {proof(key, "POST", endpoint, ""), proof(key, "POST", endpoint, "")},
			"of another method": {proof(key, "GET", endpoint, "")}, "for another URL": {proof(key, "POST", testIssuer+"/x", "")}, "none": {"DPoP: x"}} {
			if got := b.token(redemption(b.code()), headers...); got.status != 400 || got.Error != "invalid_dpop_proof" {
				t.Errorf("proof %s: %+v", name, got)
			}
		}
		form := redemption(b.code("client_id", "conf"), "client_id", "")
		if got := b.token(form, basicConf); got.Error != "invalid_dpop_proof" { // AUTH-421
			t.Errorf("a client whose tokens are always bound: %+v", got)
		}
		first := b.token(form, basicConf, proof(key, "POST", endpoint, ""))
		second := b.token(refreshing(first.Refresh, "client_id", ""), basicConf, proof(other, "POST", endpoint, "")) // it authenticates otherwise
		if first.Type != "DPoP" || second.Type != "DPoP" {
			t.Errorf("%+v %+v", first, second)
		}
		bound := b.code("dpop_jkt", key.Thumbprint())
		if got := b.token(redemption(bound), proof(other, "POST", endpoint, "")); got.Error != "invalid_grant" {
			t.Errorf("a code bound to another key: %+v", got)
		}
		if got := b.token(redemption(bound), proof(key, "POST", endpoint, "")); got.Type != "DPoP" {
			t.Errorf("a code bound to the key: %+v", got)
		}
	}
}

const basicConf = "Authorization: Basic Y29uZjpzM2NyZXQlM0ElMjUlMkY="

// Nonces are known to all replicas, and asked for with one error.
func TestAuthNonces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, err := GenerateKey("")
		if err != nil {
			t.Fatal(err)
		}
		store := &MemoryAuthorizationStore{}
		one := newAuthBench(t, func(a *AuthorizationServer) { a.DPoP, a.DPoPNonce, a.Store = true, true, store })
		two := newAuthBench(t, func(a *AuthorizationServer) { a.DPoP, a.DPoPNonce, a.Store = true, true, store })
		code := one.code()
		proof := func(nonce string) string {
			text, err := key.proof("POST", testIssuer+"/token", "", nonce)
			if err != nil {
				t.Fatal(err)
			}
			return "DPoP: " + text
		}
		got := one.token(redemption(code), proof(""))
		nonce := got.header.Get("DPoP-Nonce")
		if got.status != 400 || got.Error != "use_dpop_nonce" || nonce == "" {
			t.Fatalf("%+v", got)
		}
		time.Sleep(proofWindow + time.Second)
		if got := two.token(redemption(two.code()), proof(nonce)); got.Error != "use_dpop_nonce" {
			t.Errorf("an old nonce: %+v", got)
		}
		got = two.token(redemption(two.code()), proof(got.header.Get("DPoP-Nonce")))
		if got.Error != "use_dpop_nonce" {
			t.Errorf("an old nonce: %+v", got)
		}
		if got := one.token(redemption(one.code()), proof(got.header.Get("DPoP-Nonce"))); got.Type != "DPoP" {
			t.Errorf("the other replica's nonce: %+v", got)
		}
	})
}

// issuerHost is an identity provider with one key.
func issuerHost(k *Key) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			_, _ = io.WriteString(w, `{"issuer":"https://idp.example.com","token_endpoint":"https://idp.example.com/token","jwks_uri":"https://idp.example.com/keys"}`)
		case "/keys":
			_, _ = io.WriteString(w, `{"keys":[`+string(k.Public())+`]}`)
		default:
			http.NotFound(w, r)
		}
	})
}

// An identity assertion gives a token for its person, client and resource, and no more
// scopes than both sides name. HOSTILE-64 AUTH-402 AUTH-403 AUTH-404 AUTH-405
func TestHostile64IdentityAssertions(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, tt := range []struct {
		name, want string
		typ        string // "": right
		key        *Key
		claims     map[string]any
		pairs      []string
		scopes     string
	}{
		{"good", "", "", key, nil, nil, "files:read"},
		{"all that the assertion names", "", "", key, map[string]any{"scope": "files:write files:read root"}, []string{"scope", ""}, "files:write files:read"},
		{"more scopes than granted", "", "", key, nil, []string{"scope", "files:read files:write"}, "files:read"},
		{"no scopes", "", "", key, map[string]any{"scope": nil}, []string{"scope", ""}, ""},
		{"without resource", "", "", key, map[string]any{"resource": nil}, []string{"resource", ""}, "files:read"},
		{"none of the scopes", "invalid_scope", "", key, nil, []string{"scope", "files:write"}, ""},
		{"scopes that are not in it", "invalid_scope", "", key, map[string]any{"scope": nil}, nil, ""},
		{"typ JWT", "invalid_grant", "JWT", key, nil, nil, ""},
		{"foreign key", "invalid_grant", "", foreign, nil, nil, ""},
		{"untrusted issuer", "invalid_grant", "", key, map[string]any{"iss": "https://evil.example.com"}, nil, ""},
		{"foreign audience", "invalid_grant", "", key, map[string]any{"aud": "https://other.example.com"}, nil, ""},
		{"several audiences", "invalid_grant", "", key, map[string]any{"aud": []string{testIssuer, "https://other.example.com"}}, nil, ""},
		{"token endpoint as audience", "invalid_grant", "", key, map[string]any{"aud": testIssuer + "/token"}, nil, ""},
		{"other client", "invalid_grant", "", key, map[string]any{"client_id": "app"}, nil, ""},
		{"no client", "invalid_grant", "", key, map[string]any{"client_id": nil}, nil, ""},
		{"other resource", "invalid_grant", "", key, map[string]any{"resource": "https://other.example.com"}, nil, ""},
		{"resource of the request", "invalid_target", "", key, nil, []string{"resource", "https://two.example.com"}, ""},
		{"no person", "invalid_grant", "", key, map[string]any{"sub": nil}, nil, ""},
		{"unknown person", "invalid_grant", "", key, map[string]any{"sub": "mallory"}, nil, ""},
		{"no exp", "invalid_grant", "", key, map[string]any{"exp": nil}, nil, ""},
		{"expired", "invalid_grant", "", key, map[string]any{"exp": now.Add(-jwtLeeway - time.Second).Unix()}, nil, ""},
		{"for a day", "invalid_grant", "", key, map[string]any{"exp": now.Add(24 * time.Hour).Unix()}, nil, ""},
		{"no iat", "invalid_grant", "", key, map[string]any{"iat": nil}, nil, ""},
		{"of tomorrow", "invalid_grant", "", key, map[string]any{"iat": now.Add(24 * time.Hour).Unix()}, nil, ""},
		{"no jti", "invalid_grant", "", key, map[string]any{"jti": nil}, nil, ""},
		{"no assertion", "invalid_grant", "", key, nil, []string{"assertion", ""}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newAuthBench(t, func(a *AuthorizationServer) {
				a.Resources = []string{testResource}
				if strings.Contains(tt.want, "target") {
					a.Resources = append(a.Resources, "https://two.example.com")
				}
				a.TrustedIssuers = []TrustedIssuer{{Issuer: "https://idp.example.com", Enterprise: true, User: func(_ context.Context, claims json.RawMessage) (string, error) {
					var m struct{ Iss, Sub string }
					if err := json.Unmarshal(claims, &m); err != nil || m.Iss != "https://idp.example.com" || m.Sub != "u1" {
						return "", errors.New("nobody")
					}
					return "alice", nil
				}}}
			})
			b.net["idp.example.com"] = issuerHost(key)
			claims := map[string]any{"iss": "https://idp.example.com", "sub": "u1", "client_id": "conf", "resource": testResource, "scope": "files:read root"}
			maps.Copy(claims, tt.claims)
			typ := tt.typ
			if typ == "" {
				typ = typIDJAG
			}
			form := with(url.Values{"grant_type": {grantJWT}, "assertion": {assertion(t, tt.key, typ, claims)}, "resource": {testResource}, "scope": {"files:read"}}, tt.pairs...)
			got := b.token(form, basicConf)
			if got.Error != tt.want || got.Scope != tt.scopes {
				t.Fatalf("%+v, want %q", got, tt.want)
			}
			if tt.want != "" {
				return
			}
			info, err := b.a.Verify(t.Context(), got.Access, nil)
			if err != nil || got.Refresh != "" || info.Subject != "alice" || info.ClientID != "conf" || info.Audience[0] != testResource {
				t.Errorf("%+v %+v %v", got, info, err)
			}
			if again := b.token(form, basicConf); again.Error != "invalid_grant" { // AUTH-403
				t.Errorf("again: %+v", again)
			}
			if got := b.token(form); got.Error != "invalid_client" {
				t.Errorf("without the client: %+v", got)
			}
		})
	}
}

// A person is who the issuer's own name for them says: the address is no key, another
// issuer's names are others, and what else an assertion claims is not in our token.
// AUTH-406
func TestAuthAccountLinking(t *testing.T) {
	key, err := GenerateKey("")
	must(t, err)
	b := newAuthBench(t, func(a *AuthorizationServer) {
		a.TrustedIssuers = []TrustedIssuer{{Issuer: "https://idp.example.com", JWKS: "https://idp.example.com/keys", Enterprise: true},
			{Issuer: "https://two.example.com", JWKS: "https://two.example.com/keys", Enterprise: true}}
	})
	b.net["idp.example.com"], b.net["two.example.com"] = issuerHost(key), issuerHost(key)
	for _, tt := range []struct{ issuer, sub, email, want string }{
		{"https://idp.example.com", "u1", "ann@example.com", "https://idp.example.com|u1"},
		{"https://idp.example.com", "u1", "ann@new.example.com", "https://idp.example.com|u1"},
		{"https://idp.example.com", "u2", "ann@example.com", "https://idp.example.com|u2"},
		{"https://two.example.com", "u1", "ann@example.com", "https://two.example.com|u1"},
	} {
		claims := map[string]any{"iss": tt.issuer, "sub": tt.sub, "email": tt.email, "groups": []string{"admin"}, "client_id": "conf", "resource": testResource, "scope": "files:read"}
		got := b.token(url.Values{"grant_type": {grantJWT}, "assertion": {assertion(t, key, typIDJAG, claims)}, "resource": {testResource}}, basicConf)
		info, err := b.a.Verify(t.Context(), got.Access, nil)
		if err != nil || info.Subject != tt.want || strings.Contains(string(info.Claims), "example.com\",\"groups") || strings.Contains(string(info.Claims), "ann@") {
			t.Errorf("%+v: %+v %+v %v", tt, got, info, err)
		}
	}
}

// A workload gets a token without being a client, by rules on its claims.
// AUTH-432 AUTH-433 AUTH-435
func TestAuthWorkloads(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		claims     map[string]any
		pairs      []string
	}{
		{"issuer as audience", "", nil, nil},
		{"token endpoint as audience", "", map[string]any{"aud": testIssuer + "/token"}, nil},
		{"foreign audience", "invalid_grant", map[string]any{"aud": "https://other.example.com"}, nil},
		{"refused by rule", "invalid_grant", map[string]any{"sub": "ns:other"}, nil},
		{"no sub", "invalid_grant", map[string]any{"sub": nil}, nil},
		{"no iat", "invalid_grant", map[string]any{"iat": nil}, nil},
		{"no jti", "invalid_grant", map[string]any{"jti": nil}, nil},
		{"no exp", "invalid_grant", map[string]any{"exp": nil}, nil},
		{"untrusted", "invalid_grant", map[string]any{"iss": "https://evil.example.com"}, nil},
		{"too many scopes", "invalid_scope", nil, []string{"scope", "files:write"}},
		{"unknown client", "invalid_client", nil, []string{"client_id", "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fetched []string
			b := newAuthBench(t, func(a *AuthorizationServer) {
				a.TrustedIssuers = []TrustedIssuer{{Issuer: "https://idp.example.com", JWKS: "https://idp.example.com/keys",
					Workload: func(_ context.Context, claims json.RawMessage) ([]string, error) {
						var m struct{ Sub string }
						if err := json.Unmarshal(claims, &m); err != nil || m.Sub != "ns:job" {
							return nil, errors.New("not that one")
						}
						return []string{"files:read"}, nil
					}}}
			})
			idp := issuerHost(key)
			b.net["idp.example.com"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fetched = append(fetched, r.URL.Path)
				idp.ServeHTTP(w, r)
			})
			claims := map[string]any{"iss": "https://idp.example.com", "sub": "ns:job"}
			maps.Copy(claims, tt.claims)
			form := with(url.Values{"grant_type": {grantJWT}, "assertion": {assertion(t, key, "JWT", claims)}, "resource": {testResource}, "scope": {"files:read"}}, tt.pairs...)
			got := b.token(form)
			if got.Error != tt.want {
				t.Fatalf("%+v, want %q", got, tt.want)
			}
			if tt.name == "untrusted" && fetched != nil {
				t.Errorf("keys of an untrusted issuer were fetched: %v", fetched)
			}
			if tt.want != "" {
				return
			}
			info, err := b.a.Verify(t.Context(), got.Access, nil)
			if err != nil || info.Subject != "workload:https://idp.example.com|ns:job" || info.ClientID != "" || got.Scope != "files:read" || got.Refresh != "" {
				t.Errorf("%+v %+v %v", got, info, err)
			}
			if again := b.token(form); again.Error != "invalid_grant" {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

const (
	docURL  = "https://client.example.org/app/client.json"
	docText = `{"client_id":"https://client.example.org/app/client.json","client_name":"Documented","redirect_uris":["https://app.example.com/cb"],` +
		`"grant_types":["authorization_code","refresh_token"]}`
)

// A docHost serves client metadata documents, and counts.
type docHost struct {
	mu     sync.Mutex // guards the fields below
	status int
	header map[string]string
	body   string
	hold   chan struct{} // not nil: answers wait for it
	asked  int
}

func (d *docHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.asked++
	status, header, body, hold := d.status, d.header, d.body, d.hold
	d.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (d *docHost) times() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

func (d *docHost) set(change func(d *docHost)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func newDocBench(t *testing.T, change func(*AuthorizationServer)) (*authBench, *docHost) {
	b := newAuthBench(t, change)
	d := &docHost{status: 200, body: docText}
	b.net["client.example.org"] = d
	return b, d
}

// A client whose id is the URL of its document gets tokens, and its page says where it is
// described. AUTH-358 AUTH-362 AUTH-372 AUTH-373
//
// AUTH-456
func TestAuthClientDocument(t *testing.T) {
	b, d := newDocBench(t, nil)
	page := b.get(testIssuer + "/authorize?" + request("client_id", docURL).Encode())
	if !strings.Contains(page.body, "<dt>The application is described at</dt><dd><strong>client.example.org</strong></dd>") ||
		!strings.Contains(page.body, "<strong>app.example.com</strong>") || strings.Contains(page.body, `role="note"`) {
		t.Errorf("%s", page.body)
	}
	got := b.token(redemption(b.code("client_id", docURL), "client_id", docURL))
	if got.status != 200 || got.Refresh == "" || d.times() != 1 {
		t.Fatalf("%+v, fetched %d times", got, d.times())
	}
	if got := b.token(refreshing(got.Refresh, "client_id", docURL)); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if got := b.get(testIssuer + "/authorize?" + request("client_id", docURL, "redirect_uri", "https://evil.example.com/").Encode()); got.status != 400 {
		t.Errorf("another redirect URI: %d", got.status)
	}

	b, d = newDocBench(t, nil)
	d.set(func(d *docHost) {
		d.body = strings.Replace(docText, `"https://app.example.com/cb"`, `"http://127.0.0.1/cb","http://localhost/cb"`, 1)
	})
	page = b.get(testIssuer + "/authorize?" + request("client_id", docURL, "redirect_uri", "http://127.0.0.1:4711/cb").Encode())
	if !strings.Contains(page.body, `role="note"`) || !strings.Contains(page.body, "Any program there could claim to be it.") || !strings.Contains(page.body, "<strong>127.0.0.1:4711</strong>") {
		t.Errorf("%s", page.body)
	}

	b, d = newDocBench(t, nil) // the one that is asked for counts
	d.body = strings.Replace(docText, `"https://app.example.com/cb"`, `"https://app.example.com/cb","http://127.0.0.1/cb"`, 1)
	for redirect, warns := range map[string]bool{testRedirect: false, "http://127.0.0.1/cb": true} {
		page := b.get(testIssuer + "/authorize?" + request("client_id", docURL, "redirect_uri", redirect).Encode())
		if strings.Contains(page.body, `role="note"`) != warns {
			t.Errorf("%s: %s", redirect, page.body)
		}
	}
}

// What is no document, or not where a document may be, ends the request with a page.
// HOSTILE-61 AUTH-359 AUTH-360 AUTH-361 AUTH-363 AUTH-364 AUTH-367 AUTH-369 AUTH-370 AUTH-374
func TestHostile61Documents(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	plus := func(more string) string { return strings.Replace(docText, "{", "{"+more+",", 1) }
	at := func(u string) string { return strings.Replace(docText, docURL, u, 1) }
	for _, tt := range []struct {
		name, id string
		change   func(d *docHost)
		asked    int
		ok       bool
	}{
		{"good", docURL, func(d *docHost) {}, 1, true},
		{"+json", docURL, func(d *docHost) { d.header = map[string]string{"Content-Type": "application/x+json; charset=utf-8"} }, 1, true},
		{"5,120 bytes", docURL, func(d *docHost) { d.body += strings.Repeat(" ", 5120-len(d.body)) }, 1, true},
		{"key", docURL, func(d *docHost) {
			d.body = plus(`"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[` + string(key.Public()) + `]}`)
		}, 1, true},

		{"http", "http://client.example.org/c", func(d *docHost) {}, 0, false},
		{"no path", "https://client.example.org", func(d *docHost) {}, 0, false},
		{"root", "https://client.example.org/", func(d *docHost) {}, 0, false},
		{"fragment", docURL + "#f", func(d *docHost) {}, 0, false},
		{"user info", "https://u@client.example.org/c", func(d *docHost) {}, 0, false},
		{"dots", "https://client.example.org/a/../c", func(d *docHost) {}, 0, false},
		{"encoded dots", "https://client.example.org/a/%2e%2E/c", func(d *docHost) {}, 0, false},
		{"long", docURL + "?" + strings.Repeat("a", 2048), func(d *docHost) {}, 0, false},
		{"address", "https://192.0.2.1/c", func(d *docHost) {}, 0, false},
		{"IPv6 address", "https://[2001:db8::1]/c", func(d *docHost) {}, 0, false},
		{"single label", "https://intranet/c", func(d *docHost) {}, 0, false},
		{"this machine", "https://localhost/c", func(d *docHost) {}, 0, false},
		{"port, as one of many spellings", "https://client.example.org:443/app/client.json", func(d *docHost) {}, 0, false},

		{"404", docURL, func(d *docHost) { d.status = 404 }, 1, false},
		{"500", docURL, func(d *docHost) { d.status = 500 }, 1, false},
		{"203", docURL, func(d *docHost) { d.status = 203 }, 1, false},
		{"redirect", docURL, func(d *docHost) { d.status, d.header = 302, map[string]string{"Location": docURL + "2"} }, 1, false},
		{"6 KiB", docURL, func(d *docHost) { d.body += strings.Repeat(" ", 6<<10) }, 1, false},
		{"5,121 bytes", docURL, func(d *docHost) { d.body += strings.Repeat(" ", 5121-len(d.body)) }, 1, false},
		{"HTML", docURL, func(d *docHost) { d.header = map[string]string{"Content-Type": "text/html"} }, 1, false},
		{"no type", docURL, func(d *docHost) { d.header = map[string]string{"Content-Type": ""} }, 1, false},
		{"text", docURL, func(d *docHost) { d.body = "hello" }, 1, false},
		{"array", docURL, func(d *docHost) { d.body = "[" + docText + "]" }, 1, false},
		{"wrong client_id", docURL, func(d *docHost) { d.body = at(docURL + "2") }, 1, false},
		{"client_id in other case", docURL, func(d *docHost) { d.body = at("https://CLIENT.example.org/app/client.json") }, 1, false},
		{"two client_ids", docURL, func(d *docHost) { d.body = plus(`"Client_ID":"x"`) }, 1, false},
		{"no name", docURL, func(d *docHost) { d.body = strings.Replace(docText, "Documented", "", 1) }, 1, false},
		{"no redirect URIs", docURL, func(d *docHost) { d.body = strings.Replace(docText, `["https://app.example.com/cb"]`, "[]", 1) }, 1, false},
		{"redirect URIs are numbers", docURL, func(d *docHost) { d.body = strings.Replace(docText, `["https://app.example.com/cb"]`, "[1]", 1) }, 1, false},
		{"secret", docURL, func(d *docHost) { d.body = plus(`"client_secret":"x"`) }, 1, false},
		{"secret's end", docURL, func(d *docHost) { d.body = plus(`"client_secret_expires_at":0`) }, 1, false},
		{"shared secret", docURL, func(d *docHost) { d.body = plus(`"token_endpoint_auth_method":"client_secret_basic"`) }, 1, false},
		{"secret key", docURL, func(d *docHost) { d.body = plus(`"token_endpoint_auth_method":"client_secret_jwt"`) }, 1, false},
		{"private key", docURL, func(d *docHost) { d.body = plus(`"jwks":{"keys":[` + string(key.private()) + `]}`) }, 1, false},
		{"keys at a private address", docURL, func(d *docHost) {
			d.body = plus(`"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://10.0.0.1/k"`)
		}, 1, false},
		{"the application says no", docURL, func(d *docHost) { d.body = strings.Replace(docText, "Documented", "bad", 1) }, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, d := newDocBench(t, func(a *AuthorizationServer) {
				a.AllowClient = func(id string, m *ClientMetadata) error {
					if m.ClientName == "bad" {
						return errors.New("no")
					}
					return nil
				}
			})
			b.net["client.example.org:443"] = d
			tt.change(d)
			target := testIssuer + "/authorize?" + request("client_id", tt.id).Encode()
			got := b.get(target)
			if want := map[bool]int{true: 200, false: 400}[tt.ok]; got.status != want || got.header.Get("Location") != "" {
				t.Errorf("%d %v %s", got.status, got.header, got.body)
			}
			asked := d.times()
			if tt.name == "port, as one of many spellings" {
				asked, d.asked = 0, 0
			}
			if asked != tt.asked {
				t.Errorf("asked %d times, want %d", asked, tt.asked)
			}
			if !tt.ok { // nothing of it is kept
				b.get(target)
				if d.times() != 2*tt.asked && tt.asked > 0 {
					t.Errorf("asked %d times then", d.times())
				}
			}
		})
	}
	b, d := newDocBench(t, func(a *AuthorizationServer) { a.NoClientDocuments = true })
	if got := b.get(testIssuer + "/authorize?" + request("client_id", docURL).Encode()); got.status != 400 || d.times() != 0 {
		t.Errorf("turned off: %d", got.status)
	}
	b, d = newDocBench(t, func(a *AuthorizationServer) { // AUTH-376
		a.Clients = append(a.Clients, RegisteredClient{ID: docURL, Metadata: ClientMetadata{RedirectURIs: []string{testRedirect}}})
	})
	if got := b.get(testIssuer + "/authorize?" + request("client_id", docURL).Encode()); got.status != 200 || d.times() != 0 {
		t.Errorf("registered beforehand: %d", got.status)
	}
	b, d = newDocBench(t, nil) // AUTH-371
	b.user = ""
	if got := b.get(testIssuer + "/authorize?" + request("client_id", docURL).Encode()); got.status != 302 || d.times() != 0 {
		t.Errorf("before the login: %d, asked %d times", got.status, d.times())
	}
	if got := b.token(redemption("x", "client_id", docURL)); got.Error != "invalid_client" || d.times() != 0 {
		t.Errorf("without a code: %+v, asked %d times", got, d.times())
	}
}

// A document that does not come within five seconds is none. HOSTILE-61 AUTH-367
func TestAuthSlowDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newAuthBench(t, nil)
		b.a.Outbound = nil
		b.a.learned.rt = roundTrips(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		start := time.Now()
		got := b.get(testIssuer + "/authorize?" + request("client_id", docURL).Encode())
		if took := time.Since(start); got.status != 400 || took != documentWait {
			t.Errorf("%d after %v", got.status, took)
		}
	})
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Whatever address a name leads to is judged when it is dialled. HOSTILE-61 AUTH-365 AUTH-366
func TestAuthDocumentAddresses(t *testing.T) {
	addresses := []string{"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1",
		"198.51.100.7", "::1", "::", "fd00::1", "fe80::1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2001:db8::1"}
	var next atomic.Int32
	b := newAuthBench(t, nil)
	b.a.learned.rt = nil
	b.a.learned.lookup = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerDNS(server, func() netip.Addr { return netip.MustParseAddr(addresses[next.Load()]) }) // ends when client is closed
		return client, nil
	}}
	for i, address := range addresses { // the name flips from one to the next
		next.Store(int32(i))
		u := fmt.Sprintf("https://flip%d.example.org/client.json", i)
		_, _, err := b.a.fetchDocument(t.Context(), u)
		if !errors.Is(err, errPolicy) {
			t.Errorf("%s: %v", address, err)
		}
	}
	// On this machine only if the server is there, too, and that is allowed.
	for _, tt := range []struct {
		issuer string
		allow  bool
		ok     bool
	}{{testIssuer, false, false}, {testIssuer, true, false}, {"http://127.0.0.1:80", false, false}, {"http://127.0.0.1:80", true, true}} {
		a := &AuthorizationServer{Issuer: tt.issuer, Resources: []string{testResource}, AllowPrivate: tt.allow}
		if err := a.Check(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"https://localhost:8443/c.json", "https://127.0.0.1/c.json"} {
			if err := a.checkDocumentURL(id); (err == nil) != tt.ok {
				t.Errorf("%s at %s: %v", id, tt.issuer, err)
			}
		}
		if a.checkDocumentURL("https://10.0.0.1/c.json") == nil || a.learned.forbids(netip.MustParseAddr("10.0.0.1")) != true {
			t.Errorf("%s: private addresses", tt.issuer)
		}
	}
}

// answerDNS answers questions on a connection with one address, as long as it is open.
func answerDNS(conn net.Conn, address func() netip.Addr) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, q); err != nil {
			return
		}
		end := 12 + bytes.IndexByte(q[12:], 0) + 5 // of the question
		kind, ip := binary.BigEndian.Uint16(q[end-4:]), address()
		answer := slices.Concat(q[:2], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end])
		if kind == 1 && ip.Is4() || kind == 28 && ip.Is6() {
			answer[7] = 1
			answer = append(answer, 0xC0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(ip.BitLen()/8))
			answer = append(answer, ip.AsSlice()...)
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// Documents are kept as their server says, within bounds. AUTH-368 AUTH-369
func TestAuthDocumentCache(t *testing.T) {
	for _, tt := range []struct {
		name, control, expires, age string
		fresh                       time.Duration
	}{
		{"nothing said", "", "", "", 5 * time.Minute},
		{"max-age", "public, Max-Age=60", "", "", time.Minute},
		{"aged", "max-age=60", "", "20", 40 * time.Second},
		{"a year", "max-age=31536000", "", "", 24 * time.Hour},
		{"no-store", "no-store, max-age=60", "", "", 0},
		{"no-cache", "no-cache", "", "", 0},
		{"nonsense", "max-age=x", "", "", 0},
		{"negative", "max-age=-1", "", "", 0},
		{"expires", "", "+1m", "", time.Minute},
		{"max-age counts", "max-age=120", "+1m", "", 2 * time.Minute},
		{"expired", "", "0", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, d := newDocBench(t, nil)
				d.header = map[string]string{"Cache-Control": tt.control, "Age": tt.age, "Expires": tt.expires}
				if tt.expires == "+1m" {
					d.header["Expires"] = time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
				}
				ask := func() int {
					b.get(testIssuer + "/authorize?" + request("client_id", docURL).Encode())
					return d.times()
				}
				ask()
				if tt.fresh > 0 {
					time.Sleep(tt.fresh - time.Millisecond)
					if n := ask(); n != 1 {
						t.Errorf("fetched %d times while fresh", n)
					}
					time.Sleep(time.Millisecond)
				}
				if n := ask(); n != 2 {
					t.Errorf("fetched %d times when stale", n)
				}
			})
		})
	}
	d := documents{} // AUTH-342
	for i := range 3 * maxDocuments {
		d.put(fmt.Sprint(i), &client{}, time.Now().Add(time.Hour))
		if len(d.m) > maxDocuments {
			t.Fatalf("%d documents are kept", len(d.m))
		}
	}
}

// A document that changes what identifies the client is a new client to the person.
// AUTH-375
func TestAuthDocumentChanges(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, old, new string
		asked          bool
	}{
		{"name", "Documented", "Renamed", false},
		{"redirect URIs", `["https://app.example.com/cb"`, `["https://app.example.com/cb","https://evil.example.com/"`, true},
		{"method and keys", "{", `{"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[` + string(key.Public()) + `]},`, true},
	} {
		b, d := newDocBench(t, nil)
		d.header = map[string]string{"Cache-Control": "no-store"}
		b.allow(request("client_id", docURL))
		target := testIssuer + "/authorize?" + request("client_id", docURL).Encode()
		if got := b.get(target); got.status != 302 {
			t.Fatalf("%s: %d", tt.name, got.status)
		}
		d.set(func(d *docHost) { d.body = strings.Replace(docText, tt.old, tt.new, 1) })
		if got := b.get(target); (got.status == 200) != tt.asked {
			t.Errorf("%s: %d", tt.name, got.status)
		}
	}
}

// A documented client with a key must always use it. AUTH-363
func TestAuthDocumentedKey(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	b, d := newDocBench(t, nil)
	b.net["keys.example.org"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"keys":[`+string(key.Public())+`]}`)
	})
	d.body = strings.Replace(docText, "{", `{"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://keys.example.org/k",`, 1)
	code := b.code("client_id", docURL)
	if got := b.token(redemption(code, "client_id", docURL)); got.Error != "invalid_client" {
		t.Errorf("%+v", got)
	}
	got := b.token(redemption(code, "client_id", docURL, "client_assertion_type", assertionJWT,
		"client_assertion", assertion(t, key, "JWT", map[string]any{"iss": docURL, "sub": docURL})))
	if got.status != 200 {
		t.Errorf("%+v", got)
	}
}

// A document that is not kept is fetched again for whoever brings what its client was
// given. AUTH-371
func TestAuthDocumentAtToken(t *testing.T) {
	key, err := GenerateKey("")
	if err != nil {
		t.Fatal(err)
	}
	b, d := newDocBench(t, func(a *AuthorizationServer) {
		a.TrustedIssuers = []TrustedIssuer{{Issuer: "https://idp.example.com", Enterprise: true}}
	})
	b.net["idp.example.com"] = issuerHost(key)
	d.header = map[string]string{"Cache-Control": "no-store"}
	d.body = strings.Replace(docText, `"refresh_token"`, `"refresh_token","urn:ietf:params:oauth:grant-type:jwt-bearer"`, 1)
	code := b.code("client_id", docURL)
	ask := func(want int, f url.Values) *tokens {
		t.Helper()
		before := d.times()
		got := b.token(with(f, "client_id", docURL))
		if n := d.times() - before; got.status != want || n != map[bool]int{true: 1, false: 0}[want == 200] {
			t.Errorf("%+v, fetched %d times", got, n)
		}
		return got
	}
	ask(401, redemption(newSecret()))
	ask(401, redemption(b.code()))
	got := ask(200, redemption(code))
	ask(401, refreshing("x.y.z"))
	ask(401, refreshing(b.login().Refresh))
	got = ask(200, refreshing(got.Refresh))
	claims := map[string]any{"iss": "https://idp.example.com", "sub": "u1", "client_id": "conf"}
	ask(401, url.Values{"grant_type": {grantJWT}, "assertion": {assertion(t, key, typIDJAG, claims)}})
	claims["client_id"] = docURL
	ask(200, url.Values{"grant_type": {grantJWT}, "assertion": {assertion(t, key, typIDJAG, claims)}})
	if r := b.post(testIssuer+"/revoke", url.Values{"client_id": {docURL}, "token": {got.Access}}.Encode()); r.status != 200 || b.valid(got.Access) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// However often a document is wanted, it is fetched once at a time, and seldom.
// HOSTILE-62 AUTH-371
func TestHostile62DocumentFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newDocBench(t, nil)
		d.hold = make(chan struct{})
		var all sync.WaitGroup
		var good atomic.Int32
		for range 1000 {
			all.Go(func() {
				if _, err := b.a.document(t.Context(), docURL, "a"); err == nil {
					good.Add(1)
				}
			})
		}
		synctest.Wait()
		close(d.hold)
		all.Wait()
		if d.times() != 1 || good.Load() != 1000 {
			t.Errorf("fetched %d times for %d", d.times(), good.Load())
		}
		// One that is not kept, ten thousand times in a second.
		d.set(func(d *docHost) { d.asked, d.status = 0, 500 })
		time.Sleep(documentDefault)
		for range 10_000 {
			if _, err := b.a.document(t.Context(), docURL, "a"); err == nil {
				t.Fatal("it succeeded")
			}
			time.Sleep(100 * time.Microsecond)
		}
		if n := d.times(); n != 10 {
			t.Errorf("fetched %d times", n)
		}
		// Many requesters, many hosts: all together are limited, too.
		fetched := 0
		b.a.learned.rt = roundTrips(func(*http.Request) (*http.Response, error) { fetched++; return nil, errors.New("no") })
		for i := range 1000 {
			_, _ = b.a.document(t.Context(), fmt.Sprintf("https://h%d.example.org/c", i), fmt.Sprint(i))
		}
		if fetched != 100 {
			t.Errorf("%d hosts were asked", fetched)
		}
	})
}

// FuzzClientDocument feeds documents to the authorization server: whatever it takes for
// one describes a client that is safe to redirect to.
func FuzzClientDocument(f *testing.F) {
	f.Add([]byte(docText))
	f.Add([]byte(strings.Replace(docText, "{", `{"jwks":{"keys":[{"kty":"oct","k":"AA"}]},`, 1)))
	f.Add([]byte(`{"client_id":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseClientDocument(data, docURL)
		if err != nil {
			return
		}
		c := newClient(docURL, "", m)
		if m.ClientID != docURL || m.ClientName == "" || c.method != authNone && c.method != authJWT {
			t.Errorf("%+v", m)
		}
		for _, u := range m.RedirectURIs {
			if at, err := c.redirect(u, false); err == nil && !strings.HasPrefix(at, "https://") && !strings.HasPrefix(at, "http://") {
				t.Errorf("leads to %q", at)
			}
		}
		if name := shownName(c); len([]rune(name)) > maxName+1 {
			t.Errorf("shown as %q", name)
		}
	})
}
