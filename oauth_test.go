package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Challenges.

// AUTH-072 AUTH-073 AUTH-074 AUTH-075 AUTH-076 AUTH-077 AUTH-079 AUTH-080 AUTH-081
// HOSTILE-01 HOSTILE-02 HOSTILE-03 HOSTILE-04 HOSTILE-05
func TestChallenges(t *testing.T) {
	for _, c := range []struct{ lines, want string }{ // lines divided by a line feed
		{``, ``},
		{`Bearer`, `Bearer`},
		{` , Bearer ,,`, `Bearer`},
		{`Bearer realm=x`, `Bearer realm="x"`},
		{`bEaReR ReSoUrCe_MeTaDaTa="https://h/X"`, `bEaReR resource_metadata="https://h/X"`},
		{"Basic realm=\"x\"\nBearer scope=\"a\"", `Basic realm="x" | Bearer scope="a"`},
		{`Basic realm="x", Bearer scope="a"`, `Basic realm="x" | Bearer scope="a"`},
		{"Bearer error=\"a\",\nscope=\"b\"", `Bearer error="a"`}, // a challenge does not span lines
		{`Bearer error_description="a, b=\"c\" \\ \d", scope = "x y"`, `Bearer error_description="a, b=\"c\" \\ d", scope="x y"`},
		{`Bearer scope="a, b", resource_metadata="https://h/x,y"`, `Bearer scope="a, b", resource_metadata="https://h/x,y"`},
		{"Bearer\t realm \t=\t \"x\"\t ,\t a=b", `Bearer a="b", realm="x"`},
		{`Bearer realm=""`, `Bearer realm=""`},
		{`Bearer realm=`, `Bearer`}, // that is token68
		{`Bearer realm= , a=b`, `Bearer`},
		{`Negotiate YWJj==, Bearer scope="a"`, `Negotiate | Bearer scope="a"`},
		{`Negotiate a+b/c-._~, Bearer`, `Negotiate | Bearer`},
		{`Negotiate YWJj== x, Bearer scope="a"`, ``},
		{`Newauth, Bearer resource_metadata="r"`, `Newauth | Bearer resource_metadata="r"`},
		{`Newauth realm="a", type=1, title="Log \"in\"", Basic realm="simple"`, `Newauth realm="a", title="Log \"in\"", type="1" | Basic realm="simple"`},
		{`Bearer , scope="a"`, `Bearer scope="a"`},
		{`Bearer, scope="a"`, `Bearer scope="a"`},
		{`Bearer scope="a",, resource_metadata="r",`, `Bearer scope="a", resource_metadata="r"`},
		{`Bearer scope="a", Basic`, `Bearer scope="a" | Basic`},
		{`Basic realm="r", Bearer resource_metadata="m", DPoP algs="ES256"`, `Basic realm="r" | Bearer resource_metadata="m" | DPoP algs="ES256"`},
		{"Basic realm=\"r\"\nBearer resource_metadata=\"m\"\nDPoP algs=\"ES256\"", `Basic realm="r" | Bearer resource_metadata="m" | DPoP algs="ES256"`},
		{`Digest scope="admin", Bearer error="invalid_token"`, `Digest scope="admin" | Bearer error="invalid_token"`},
		{`Bearer scope="a", scope="b"`, ``},
		{`Basic realm="r", Bearer scope="a", SCOPE="a", DPoP`, `Basic realm="r"`},
		{`Basic realm="r", Bearer scope="a`, `Basic realm="r"`},
		{`Basic realm="r", Bearer scope="a\`, `Basic realm="r"`},
		{`Bearer scope="a" error="b"`, ``},
		{`Bearer scope="a"b`, ``},
		{`Bearer scope="a", "b"`, ``},
		{`Bearer scope="a", x "b"`, `Bearer scope="a"`},
		{`Bearer scope=a"b`, ``},
		{`Bearer scope="a", error=,b`, ``},
		{`Basic Bearer scope="a"`, ``},
		{`"Bearer" scope="a"`, ``},
		{`Bearer/1 scope="a"`, ``},
		{`=`, ``},
		{"Bearer scope=\"a\x00b\"", ``},
		{"Bearer scope=\"a\\\x00b\"", ``},
		{"Bearer scope=\"a\x7Fb\"", ``},
		{"Bearer\x00scope=\"a\"", ``},
		{"Bearer scope=a\x00", ``},
		{"Bearer realm=\"\xE4\tb\"", "Bearer realm=\"\xE4\tb\""},
	} {
		var got []string
		for _, c := range ParseChallenges(strings.Split(c.lines, "\n")) {
			got = append(got, plainChallenge(c))
		}
		want(t, fmt.Sprintf("%q", c.lines), strings.Join(got, " | "), c.want)
	}
}

// plainChallenge is like String, but leaves nothing out.
func plainChallenge(c Challenge) string {
	var params []string
	for _, name := range []string{"error", "error_description", "scope", "resource_metadata", "algs"} {
		if v, ok := c.Params[name]; ok {
			params = append(params, name+`="`+strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(v)+`"`)
			delete(c.Params, name)
		}
	}
	for _, name := range sortedKeys(c.Params) {
		params = append(params, name+`="`+strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(c.Params[name])+`"`)
	}
	return strings.TrimSpace(c.Scheme + " " + strings.Join(params, ", "))
}

// AUTH-082 HOSTILE-06
func TestHostile06ManyChallenges(t *testing.T) {
	params := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("p%d=v", i))
		}
		return "Bearer " + strings.Join(list, ", ")
	}
	count := func(lines ...string) (n []int) {
		for _, c := range ParseChallenges(lines) {
			n = append(n, len(c.Params))
		}
		return n
	}
	sixteen := strings.Repeat("a,", 16)
	want(t, "64 parameters", count(params(64)), []int{64})
	want(t, "65 parameters", count("Basic", "Digest, "+params(65), "DPoP"), []int{0, 0})
	want(t, "thousands of parameters", count(params(5000)), []int{})
	want(t, "16 challenges", len(count(sixteen)), 16)
	want(t, "17 challenges", count("Basic", sixteen+"b", "DPoP"), []int{0, 0})
	want(t, "16 and 1", len(count(sixteen, "b")), 16)
	want(t, "1, 16 and 1", count("b", sixteen, "c"), []int{0, 0})
	line := `Bearer a="` + strings.Repeat("x", 8<<10-11) + `"`
	want(t, "8 KiB", count(line), []int{1})
	want(t, "more than 8 KiB", count(line+" "), []int{})
	want(t, "1 MiB", count(strings.Repeat("a,", 1<<19), strings.Repeat(`"`, 1<<20), "Basic"), []int{0})
}

// AUTH-091
func TestChallengeString(t *testing.T) {
	for _, c := range []struct {
		c    Challenge
		want string
	}{
		{Challenge{Scheme: "Bearer"}, `Bearer`},
		{Challenge{"Bearer", map[string]string{"realm": "r", "algs": "ES256", "resource_metadata": "https://h/x,y", "scope": "a b", "error_description": `say "\"`, "error": "invalid_token", "a": ""}},
			`Bearer error="invalid_token", error_description="say \"\\\"", scope="a b", resource_metadata="https://h/x,y", algs="ES256", a="", realm="r"`},
		{Challenge{"Bearer", map[string]string{"realm": "a\r\nb\x00\x7Fcä\xFFd"}}, `Bearer realm="abcd"`},
		{Challenge{"Bearer", map[string]string{"a b": "1", "": "2", "c\r\nd": "3", "é": "4", `"`: "5"}}, `Bearer`},
	} {
		want(t, "challenge", c.c.String(), c.want)
	}
	quoted := Challenge{"Bearer", map[string]string{"error_description": `a "b", \c=d, e`, "scope": "x y"}}
	want(t, "read back", ParseChallenges([]string{quoted.String()}), []Challenge{quoted})
}

// A header that is folded over lines comes in one. AUTH-078
func TestFoldedChallenge(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 401 No\r\nContent-Length: 0\r\nWWW-Authenticate: Bearer error=\"invalid_token\",\r\n   resource_metadata=\"https://h/m\",\r\n\tscope=\"a\r\n b\"\r\n\r\n")
		c.Close()
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	must(t, err)
	resp.Body.Close()
	want(t, "challenges", ParseChallenges(resp.Header.Values("WWW-Authenticate")),
		[]Challenge{{"Bearer", map[string]string{"error": "invalid_token", "resource_metadata": "https://h/m", "scope": "a b"}}})
}

// Whatever comes: the limits hold, names are tokens in lower case, and what String
// writes is read back as it was, but for what String leaves out.
func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer a="b\"c", d = e, Negotiate YWJj==, Basic`, "Basic\nBearer scope=\"a, b\"", `a,,b c=d,"`, "Bearer realm=\"\xE4\"", `Bearer , x=y, z`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := ParseChallenges(strings.Split(text, "\n"))
		if len(all) > maxChallenges {
			t.Errorf("%d challenges", len(all))
		}
		for _, c := range all {
			if len(c.Params) > maxParams || !isToken(c.Scheme) {
				t.Errorf("%d parameters of %q", len(c.Params), c.Scheme)
			}
			for name, value := range c.Params {
				if !isToken(name) || name != strings.ToLower(name) || strings.ContainsAny(value, "\x00\r\n\x7F") {
					t.Errorf("parameter %q=%q", name, value)
				}
				c.Params[name] = strings.Map(func(r rune) rune {
					if r < ' ' || r > '~' {
						return -1
					}
					return r
				}, value)
			}
			header := c.String()
			if len(header) > maxChallengeLine {
				continue
			}
			if got := ParseChallenges([]string{header}); !reflect.DeepEqual(got, []Challenge{c}) {
				t.Errorf("%q was read back as %q, is %q", header, got, c)
			}
		}
	})
}

// Scopes.

// AUTH-086 HOSTILE-07
func TestScopes(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
		ok   bool
	}{
		{"", nil, true},
		{"  ", nil, true},
		{"a", []string{"a"}, true},
		{" b a  b a:x/y ", []string{"b", "a", "a:x/y"}, true},
		{"!#[]~", []string{"!#[]~"}, true},
		{`a"b`, nil, false},
		{`ok a\b`, nil, false},
		{"a\tb", nil, false},
		{"a\x7F", nil, false},
		{"ä", nil, false},
		{numbered(100) + " s0", strings.Fields(numbered(100)), true},
		{numbered(101), nil, false},
		{numbered(10_000), nil, false},
	} {
		got, ok := parseScopes(c.list)
		if !slices.Equal(got, c.want) || ok != c.ok {
			t.Errorf("%.40q: got %.40q, %t", c.list, got, ok)
		}
	}
	a := []string{"a", "b"}
	want(t, "union", unionScopes(a, []string{"c", "b"}), []string{"a", "b", "c"})
	want(t, "union of nothing", unionScopes(nil, nil), []string{})
	want(t, "the first is as it was", a[:2:2], []string{"a", "b"})
	want(t, "covers", []bool{coversScopes(a, nil), coversScopes(a, []string{"b"}), coversScopes(a, []string{"b", "c"}), coversScopes(nil, a)}, []bool{true, true, false, false})
}

func numbered(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint("s", i))
	}
	return strings.Join(list, " ")
}

// Documents.

// AUTH-041 AUTH-062 HOSTILE-17 HOSTILE-18 HOSTILE-32
func TestDocuments(t *testing.T) {
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	for _, c := range []struct{ text, want string }{
		{`{"issuer":"good"}`, "good"},
		{"\xEF\xBB\xBF {\"issuer\":\"good\"} ", "good"},
		{`{"iss\u0075er":"good","other":{"a":1,"A":2},"signed_metadata":"x"}`, "good"},
		{`{"ISSUER":"evil"}`, ""},
		{`{"issuer":"good","ISSUER":"evil"}`, `error: the name "issuer" comes twice`},
		{`{"ISSUER":"evil","issuer":"good"}`, `error: the name "issuer" comes twice`},
		{`{"issuer":"good","issuer":"evil"}`, "error: name \"issuer\" is repeated at byte 17"},
		{`{"issuer":"good","i\u0073suer":"evil"}`, "error: name \"i\\u0073suer\" is repeated at byte 17"},
		{`{"issuer":"good","iſſuer":"evil"}`, `error: the name "issuer" comes twice`}, // encoding/json takes it
		{`{"issuer":"good","x":1,"X":2}`, `error: the name "x" comes twice`},
		{`{"issuer":5}`, "error: issuer: want a string, got a number"},
		{`{"issuer":["a"]}`, "error: issuer: want a string, got an array"},
		{`{"scopes_supported":"a b"}`, "error: scopes_supported: want an array, got a string"},
		{`{"scopes_supported":["a",1]}`, "error: scopes_supported[1]: want a string, got a number"},
		{`{"authorization_response_iss_parameter_supported":"true"}`, "error: authorization_response_iss_parameter_supported: want true or false, got a string"},
		{`[{"issuer":"a"}]`, "error: not a JSON object"},
		{`"issuer"`, "error: not a JSON object"},
		{`null`, "error: not a JSON object"},
		{``, "error: not JSON: unexpected end at byte 0"},
		{`{"issuer":"a"} x`, "error: text after the value at byte 15"},
		{`{"issuer":"a",}`, "error: want a name in quotes at byte 14"},
		{`{"a":` + deep[1:len(deep)-1] + `}`, ""},
		{`{"a":` + deep + `}`, "error: nested too deeply at byte 1004"},
		{"{\"issuer\":\"\xFF\"}", "error: invalid UTF-8 at byte 11"},
	} {
		m := AuthorizationServerMetadata{}
		got := ""
		if err := decodeDocument([]byte(c.text), &m); err != nil {
			got = "error: " + err.Error()
		} else {
			got = m.Issuer
		}
		want(t, fmt.Sprintf("%.60q", c.text), got, c.want)
	}
	for _, c := range []struct{ text, want string }{
		{`{"resource":"r","authorization_servers":["a"],"unknown":1}`, ""},
		{`{"resource":1}`, "resource: want a string, got a number"},
		{`{"authorization_servers":"a"}`, "authorization_servers: want an array, got a string"},
		{`{"authorization_servers":[1]}`, "authorization_servers[0]: want a string, got a number"},
		{`{"dpop_bound_access_tokens_required":1}`, "dpop_bound_access_tokens_required: want true or false, got a number"},
	} {
		checkError(t, c.text, decodeDocument([]byte(c.text), &ProtectedResourceMetadata{}), c.want)
	}
}

// Whatever comes: what is accepted is what encoding/json finds under exactly these
// names, no reader can see another member, and it stays what it is when it is written
// and read again.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{`{"issuer":"a","token_endpoint":"b","scopes_supported":["a"]}`, `{"issuer":"a","ISSUER":"b"}`, `{"resource":"a","authorization_servers":[null]}`,
		`{"client_id":"a","jwks":{"keys":[]},"redirect_uris":[]}`, "\xEF\xBB\xBF{}", `{"iſſuer":"\ud800","issuer":null}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		s := &AuthorizationServerMetadata{}
		if decodeDocument(text, s) == nil {
			var members map[string]any
			must(t, json.Unmarshal(trimBOM(text), &members))
			for a := range members {
				for b := range members {
					if a != b && strings.EqualFold(a, b) {
						t.Errorf("members %q and %q", a, b)
					}
				}
			}
			if issuer, _ := members["issuer"].(string); s.Issuer != issuer {
				t.Errorf("issuer %q, want %q", s.Issuer, issuer)
			}
			again(t, s)
		}
		if r := (&ProtectedResourceMetadata{}); decodeDocument(text, r) == nil {
			again(t, r)
		}
		if c := (&ClientMetadata{}); decodeDocument(text, c) == nil {
			again(t, c)
		}
		if c, err := parseClientDocument(text, "https://c.example/c"); err == nil && c.ClientID != "https://c.example/c" {
			t.Errorf("client_id %q", c.ClientID)
		}
		if !bytes.Equal(before, text) {
			t.Error("the text was changed")
		}
	})
}

// again writes a document, reads it and writes it.
func again[T any](t *testing.T, m *T) {
	t.Helper()
	once, err := marshal(m)
	must(t, err)
	n := new(T)
	must(t, decodeDocument(once, n))
	twice, err := marshal(n)
	must(t, err)
	if !bytes.Equal(once, twice) {
		t.Errorf("got %s, then %s", once, twice)
	}
}

// AUTH-108 AUTH-109 AUTH-113
func TestClientDocument(t *testing.T) {
	const at = "https://app.example/client.json"
	data, err := ClientMetadata{ClientName: "App", RedirectURIs: []string{"http://127.0.0.1/cb"}}.Document(at)
	must(t, err)
	want(t, "document", string(data), `{"client_id":"https://app.example/client.json","client_name":"App","redirect_uris":["http://127.0.0.1/cb"],`+
		`"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`)
	m, err := parseClientDocument(data, at)
	must(t, err)
	want(t, "read", m.ClientName, "App")
	key, err := GenerateKey("")
	must(t, err)
	set := func(k string) json.RawMessage { return object(`{"keys":[` + k + `]}`) }
	_, err = ClientMetadata{ClientName: "App", RedirectURIs: []string{"https://app.example/cb"}, TokenEndpointAuthMethod: "private_key_jwt", JWKS: set(string(key.Public()))}.Document(at)
	must(t, err)
	for _, c := range []struct {
		m    ClientMetadata
		want string
	}{
		{ClientMetadata{RedirectURIs: []string{"https://app.example/cb"}}, "mcp: client metadata: client_name is missing"},
		{ClientMetadata{ClientName: "App"}, "mcp: client metadata: redirect_uris is missing or empty"},
		{ClientMetadata{ClientName: "App", RedirectURIs: []string{"http://app.example/cb"}}, `mcp: client metadata: redirect URI "http://app.example/cb" must be https, or http at localhost`},
		{ClientMetadata{ClientName: "App", RedirectURIs: []string{"https://app.example/cb"}, TokenEndpointAuthMethod: "client_secret_basic"},
			`mcp: client metadata: token_endpoint_auth_method "client_secret_basic" is not for clients whose document is public`},
		{ClientMetadata{ClientName: "App", RedirectURIs: []string{"https://app.example/cb"}, TokenEndpointAuthMethod: "private_key_jwt"}, "mcp: client metadata: private_key_jwt without jwks or jwks_uri"},
		{ClientMetadata{ClientName: "App", RedirectURIs: []string{"https://app.example/cb"}, JWKS: set(string(key.private()))}, "mcp: client metadata: jwks holds a private key"},
	} {
		_, err := c.m.Document(at)
		checkError(t, c.want, err, c.want)
	}
	_, err = ClientMetadata{ClientName: "App", RedirectURIs: []string{"https://app.example/cb"}}.Document("http://app.example/client.json")
	checkError(t, "http", err, "mcp: client metadata: a client id URL must be an absolute https URL of at most 2,048 bytes")
}

// AUTH-360 AUTH-361 AUTH-363
func TestHostile61ClientDocuments(t *testing.T) {
	const at = "https://app.example/c"
	const base = `"client_id":"https://app.example/c","client_name":"App","redirect_uris":["https://app.example/cb"]`
	for _, c := range []struct{ text, want string }{
		{`{` + base + `}`, ""},
		{"\xEF\xBB\xBF{" + base + `,"jwks":{"keys":[{"kty":"EC","x":"1"}]},"more":{}}`, ""},
		{`{` + base + `,"jwks":null,"token_endpoint_auth_method":"none"}`, ""},
		{`{` + base + `,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://app.example/jwks"}`, ""},
		{`{"client_id":"https://app.example:443/c",` + base[len(`"client_id":"https://app.example/c",`):] + `}`, `client_id is "https://app.example:443/c", not the document's URL`},
		{`{` + base[len(`"client_id":"https://app.example/c",`):] + `}`, `client_id is "", not the document's URL`},
		{`{"client_id":"https://app.example/c","redirect_uris":["https://app.example/cb"]}`, "client_name is missing"},
		{`{"client_id":"https://app.example/c","client_name":"App","redirect_uris":[]}`, "redirect_uris is missing or empty"},
		{`{"client_id":"https://app.example/c","client_name":"App","redirect_uris":[""]}`, "a redirect URI must be an absolute URL of at most 2,048 bytes"},
		{`{"client_id":"https://app.example/c","client_name":"App","redirect_uris":[null]}`, "a redirect URI must be an absolute URL of at most 2,048 bytes"},
		{`{"client_id":"https://app.example/c","client_name":7,"redirect_uris":["https://app.example/cb"]}`, "client_name: want a string, got a number"},
		{`{` + base + `,"client_secret":"s"}`, "client_secret must not be in a public document"},
		{`{` + base + `,"client_secret":null}`, "client_secret must not be in a public document"},
		{`{` + base + `,"client_secret_expires_at":0}`, "client_secret_expires_at must not be in a public document"},
		{`{` + base + `,"token_endpoint_auth_method":"client_secret_post"}`, `token_endpoint_auth_method "client_secret_post" is not for clients whose document is public`},
		{`{` + base + `,"token_endpoint_auth_method":"client_secret_jwt"}`, `token_endpoint_auth_method "client_secret_jwt" is not for clients whose document is public`},
		{`{` + base + `,"token_endpoint_auth_method":"private_key_jwt","jwks":null}`, "private_key_jwt without jwks or jwks_uri"},
		{`{` + base + `,"jwks":{"keys":[{"kty":"EC"},{"kty":"EC","d":"1"}]}}`, "jwks holds a private key"},
		{`{` + base + `,"jwks":{"keys":[{"kty":"oct","k":"1"}]}}`, "jwks holds a private key"},
		{`{` + base + `,"jwks":{"keys":[{"kty":"RSA","p":null}]}}`, "jwks holds a private key"},
		{`{` + base + `,"jwks":{"kty":"EC","d":"1"}}`, "jwks has no array of keys"},
		{`{` + base + `,"CLIENT_ID":"https://evil.example/c"}`, `the name "client_id" comes twice`},
		{`[]`, "not a JSON object"},
		{`<!doctype html>`, "not JSON at byte 0"},
	} {
		m, err := parseClientDocument([]byte(c.text), at)
		checkError(t, c.text, err, c.want)
		if (m == nil) != (err != nil) {
			t.Errorf("%s: got %v beside %v", c.text, m, err)
		}
	}
}

// AUTH-107 AUTH-359
func TestClientURL(t *testing.T) {
	const absolute, clean, path, domain, dots = "a client id URL must be an absolute https URL of at most 2,048 bytes", "a client id URL has neither user info nor a fragment",
		"a client id URL needs a path", "a client id URL needs a host name with a domain", "a client id URL has no . or .. segments"
	for at, reason := range map[string]string{
		"https://app.example/c":                                 "",
		"https://app.example:8443/c":                            "",
		"https://app.example/c?v=1":                             "",
		"https://app.example/a/..b/.c":                          "",
		"https://app.example/" + strings.Repeat("x", 2048-20):   "",
		"https://app.example/" + strings.Repeat("x", 2048-20+1): absolute,
		"https://localhost/c":                                   "", // the URL policy decides
		"https://127.0.0.1:8443/c":                              "",
		"https://[::1]/c":                                       "",
		"http://app.example/c":                                  absolute,
		"app.example/c":                                         absolute,
		"https:///c":                                            absolute,
		"https://:443/c":                                        absolute,
		"https://app.example/a b":                               absolute,
		"https://app.example/ä":                                 absolute,
		"https://app.example/%zz":                               absolute,
		"":                                                      absolute,
		"https://u@app.example/c":                               clean,
		"https://app.example/c#":                                clean,
		"https://app.example/c#f":                               clean,
		"https://app.example":                                   path,
		"https://app.example/":                                  path,
		"https://app.example?x=/c":                              path,
		"https://app.example/./c":                               dots,
		"https://app.example/a/../c":                            dots,
		"https://app.example/a/%2e%2E":                          dots,
		"https://app.example/a%2f.%2fc":                         dots,
		"https://app/c":                                         domain,
		"https://app./c":                                        domain,
		"https://93.184.216.34/c":                               domain,
		"https://10.0.0.1/c":                                    domain,
		"https://10.1/c":                                        domain,
		"https://[2606:4700::1111]/c":                           domain,
		"https://0x7f.1/c":                                      domain,
	} {
		checkError(t, at, checkClientURL(at), reason)
	}
}

// Resources, issuers and where their metadata is.

// AUTH-031 AUTH-147 AUTH-148
func TestResources(t *testing.T) {
	for text, canonical := range map[string]string{
		"https://mcp.example.com/mcp":     "https://mcp.example.com/mcp",
		"HTTPS://MCP.Example.COM/Mcp":     "https://mcp.example.com/Mcp",
		"https://mcp.example.com":         "https://mcp.example.com",
		"https://mcp.example.com/":        "https://mcp.example.com",
		"https://mcp.example.com/mcp/":    "https://mcp.example.com/mcp/",
		"https://mcp.example.com:443/mcp": "https://mcp.example.com/mcp",
		"https://mcp.example.com:8443":    "https://mcp.example.com:8443",
		"http://h:80/":                    "http://h",
		"http://h:443/":                   "http://h:443",
		"https://h/mcp?a=B&c#frag":        "https://h/mcp?a=B&c",
		"https://h/?a":                    "https://h?a",
		"https://h/a%2Fb/%41":             "https://h/a%2Fb/%41",
		"https://user:secret@h/mcp":       "https://h/mcp",
		"https://[2001:DB8::1]:443/":      "https://[2001:db8::1]",
		"https://[::443]/":                "https://[::443]",
		"/mcp":                            "error",
		"mcp.example.com":                 "error",
		"mailto:a@b":                      "error",
		"https:///mcp":                    "error",
		"https://:443/":                   "error",
		"https://h/a b":                   "error",
		"https://h/%zz":                   "error",
		"":                                "error",
	} {
		got, err := canonicalResource(text)
		if err != nil {
			got = "error"
		}
		want(t, text, got, canonical)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://h/mcp", "https://h/mcp", true},
		{"HTTPS://H:443/mcp", "https://h/mcp", true},
		{"https://h", "https://h/", true},
		{"https://h?x", "https://h/?x", true},
		{"https://h/mcp", "https://h/mcp/", false},
		{"https://h/mcp", "https://h/MCP", false},
		{"https://h/mcp", "https://h/mc", false},
		{"https://h/mcp", "https://h/mcp/x", false},
		{"https://h/a", "https://h/%61", false},
		{"https://h/a%2fb", "https://h/a%2Fb", false},
		{"https://h/mcp", "https://h/mcp?", false},
		{"https://h/mcp?a", "https://h/mcp?A", false},
		{"https://h/mcp", "http://h/mcp", false},
		{"https://h/mcp", "https://h:8443/mcp", false},
		{"https://h/mcp", "https://other/mcp", false},
		{"https://h/mcp", "https://h/mcp#", false},
		{"https://h/mcp#x", "https://h/mcp#x", false},
		{"https://h/mcp", "https://u@h/mcp", false},
		{"https://h/@mcp", "https://h/@mcp", true},
		{"", "", false},
		{"mcp", "mcp", false},
	} {
		want(t, c.a+" is "+c.b, sameResource(c.a, c.b), c.same)
		want(t, c.b+" is "+c.a, sameResource(c.b, c.a), c.same)
	}
}

// AUTH-017 AUTH-029
func TestWellKnownResource(t *testing.T) {
	const name = "/.well-known/oauth-protected-resource"
	for at, list := range map[string][]string{
		"https://h":             {"https://h" + name},
		"https://h/":            {"https://h" + name},
		"https://h/a/b":         {"https://h" + name + "/a/b", "https://h" + name},
		"https://h/public/mcp":  {"https://h" + name + "/public/mcp", "https://h" + name},
		"https://h/a/":          {"https://h" + name + "/a/", "https://h" + name},
		"https://h/a?x=1":       {"https://h" + name + "/a?x=1", "https://h" + name},
		"https://h/?x=1":        {"https://h" + name + "?x=1", "https://h" + name},
		"https://h:8443/a%2Fb":  {"https://h:8443" + name + "/a%2Fb", "https://h:8443" + name},
		"https://u:p@h/a#f":     {"https://h" + name + "/a", "https://h" + name},
		"http://127.0.0.1:80/a": {"http://127.0.0.1:80" + name + "/a", "http://127.0.0.1:80" + name},
	} {
		u, err := url.Parse(at)
		must(t, err)
		want(t, at, wellKnownResource(u), list)
	}
}

// AUTH-049 AUTH-050 AUTH-051 AUTH-052 AUTH-053
func TestWellKnownServer(t *testing.T) {
	const oauth, oidc = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	for issuer, list := range map[string][]string{
		"https://a":         {"https://a" + oauth, "https://a" + oidc},
		"https://a/":        {"https://a" + oauth, "https://a" + oidc},
		"https://a:8443":    {"https://a:8443" + oauth, "https://a:8443" + oidc},
		"https://a/t1":      {"https://a" + oauth + "/t1", "https://a" + oidc + "/t1", "https://a/t1" + oidc},
		"https://a/t1/":     {"https://a" + oauth + "/t1", "https://a" + oidc + "/t1", "https://a/t1" + oidc},
		"https://a/t1/x%2F": {"https://a" + oauth + "/t1/x%2F", "https://a" + oidc + "/t1/x%2F", "https://a/t1/x%2F" + oidc},
	} {
		want(t, issuer, wellKnownServer(issuer), list)
	}
}

// AUTH-057
func TestIssuers(t *testing.T) {
	const absolute, clean = "an issuer must be an absolute https URL", "an issuer has neither user info, query nor fragment"
	for issuer, reason := range map[string]string{
		"https://a": "", "https://a/": "", "https://a:8443/t1": "", "http://localhost:1": "", // outbound.check knows the rest
		"": absolute, "a": absolute, "//a": absolute, "ftp://a": absolute, "javascript:alert(1)": absolute, "https:a": absolute, "https:///a": absolute, "https://:1": absolute,
		"https://a/ b": absolute, "https://a/\nb": absolute, "https://u@a": clean, "https://a?": clean, "https://a?x=1": clean, "https://a#": clean, "https://a/#x": clean,
	} {
		checkError(t, issuer, checkIssuer(issuer), reason)
	}
}

// An inPlace answers requests without a network.
type inPlace http.HandlerFunc

func (f inPlace) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	f(rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// A site is a network of documents, by URL: a status, a space, and a body. It keeps
// what was asked for.
type site struct {
	journal
	pages map[string]string
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.add("%s %s", r.Method, r.URL)
	status, body, _ := strings.Cut(s.pages[r.URL.String()], " ")
	if status == "" {
		status = "404"
	}
	if status == "down" {
		return nil, errors.New("no route")
	}
	return inPlace(func(w http.ResponseWriter, _ *http.Request) {
		var code int
		_, _ = fmt.Sscan(status, &code)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}).RoundTrip(r)
}

// metadata is a document of an authorization server, with members more.
func metadata(issuer, more string) string {
	return fmt.Sprintf(`200 {"issuer":%q,"authorization_endpoint":"https://as.example/authorize","token_endpoint":"https://as.example/token"%s}`, issuer, more)
}

const (
	atOAuth = "https://as.example/.well-known/oauth-authorization-server"
	atOIDC  = "https://as.example/.well-known/openid-configuration"
)

// AUTH-048 AUTH-049 AUTH-050 AUTH-051
func TestBUG130DiscoveryOrder(t *testing.T) {
	const issuer = "https://as.example/t1"
	places := []string{atOAuth + "/t1", atOIDC + "/t1", issuer + "/.well-known/openid-configuration"}
	for i, place := range places {
		s := &site{pages: map[string]string{place: metadata(issuer, "")}}
		m, tries := discoverServer(t.Context(), &outbound{rt: s}, issuer, false)
		if m == nil || m.TokenEndpoint != "https://as.example/token" || len(tries) > 0 {
			t.Errorf("%s: got %v, %v", place, m, tries)
		}
		want(t, place, s, "GET "+strings.Join(places[:i+1], "; GET "))
	}
	s := &site{pages: map[string]string{atOIDC: metadata("https://as.example", ""), atOAuth: "200 <!doctype html>"}}
	if m, tries := discoverServer(t.Context(), &outbound{rt: s}, "https://as.example", false); m == nil {
		t.Errorf("without a path: %v", tries)
	}
	want(t, "without a path", s, "GET "+atOAuth+"; GET "+atOIDC)
}

// AUTH-054 AUTH-055 HOSTILE-25
func TestBUG131IssuerBySlash(t *testing.T) {
	for _, c := range []struct {
		asked, says string
		strict      bool
		lenient     bool
	}{
		{"https://as.example", "https://as.example", true, true},
		{"https://as.example/", "https://as.example/", true, true},
		{"https://as.example/", "https://as.example", false, true},
		{"https://as.example", "https://as.example/", false, true},
		{"https://as.example", "https://as.example//", false, false},
		{"https://as.example", "https://evil.example", false, false},
		{"https://as.example", "https://AS.example", false, false},
		{"https://as.example", "https://as.example:443", false, false},
		{"https://as.example", "", false, false},
	} {
		for _, lenient := range []bool{false, true} {
			s := &site{pages: map[string]string{atOAuth: metadata(c.says, "")}}
			m, tries := discoverServer(t.Context(), &outbound{rt: s}, c.asked, lenient)
			if c.strict || lenient && c.lenient {
				if m == nil || m.Issuer != c.says {
					t.Errorf("%+v: got %v, %v", c, m, tries)
				}
				continue
			}
			if m != nil {
				t.Errorf("%+v: accepted", c)
			}
			want(t, c.says, classes(tries), fmt.Sprintf("invalid %s: its issuer is %q, not %q; absent %s: 404 Not Found", atOAuth, c.says, c.asked, atOIDC))
			want(t, "asked", s, "GET "+atOAuth+"; GET "+atOIDC)
		}
	}
}

// classes shows why there is no document, with the classes.
func classes(tries []*fetchError) string {
	var all []string
	for _, e := range tries {
		all = append(all, []string{"refused", "absent", "trouble", "invalid"}[e.class]+" "+e.Error())
	}
	return strings.Join(all, "; ")
}

// AUTH-061 HOSTILE-29
func TestBUG133Endpoints(t *testing.T) {
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint", "introspection_endpoint", "jwks_uri"} {
		for at, reason := range map[string]string{
			"https://elsewhere.example/x?tenant=1": "",
			"http://elsewhere.example/x":           `"http://elsewhere.example/x" is not https`,
			"javascript:alert(1)":                  `"javascript:" is not an absolute https URL`,
			"data:text/html,x":                     `"data:" is not an absolute https URL`,
			"vbscript:x":                           `"vbscript:" is not an absolute https URL`,
			"file:///etc/passwd":                   `"file:///etc/passwd" is not an absolute https URL`,
			"com.app:/x":                           `"com.app:///x" is not an absolute https URL`,
			"/relative":                            `"/relative" is not an absolute https URL`,
			"http://169.254.169.254/":              `"http://169.254.169.254/" is not https`,
			"https://169.254.169.254/":             `"https://169.254.169.254/" has a private or special address`,
			"https://u:p@elsewhere.example/":       `"https://elsewhere.example/" has user info`,
			"https://elsewhere.example/#x":         `"https://elsewhere.example/" has a fragment`,
			"http://localhost:6379/":               `"http://localhost:6379/" is on this machine, and the MCP server is not`,
			"https://elsewhere.example/\nx":        "not a URL",
			"https://elsewhere.example/a b":        "not a URL",
		} {
			members := map[string]any{"issuer": "https://as.example", "token_endpoint": "https://as.example/token"}
			members[name] = at
			data, err := json.Marshal(members)
			must(t, err)
			s := &site{pages: map[string]string{atOAuth: "200 " + string(data)}}
			m, tries := discoverServer(t.Context(), &outbound{rt: s}, "https://as.example", false)
			if reason == "" {
				if m == nil {
					t.Errorf("%s %s: %v", name, at, tries)
				}
				continue
			}
			if m != nil {
				t.Errorf("%s %s: accepted", name, at)
			}
			want(t, name+" "+at, classes(tries), "invalid "+atOAuth+": "+name+": not allowed here: "+reason+"; absent "+atOIDC+": 404 Not Found")
		}
	}
}

// AUTH-056 HOSTILE-16 HOSTILE-17
func TestDiscoveryTroubles(t *testing.T) {
	const issuer = "https://as.example"
	for _, c := range []struct{ first, second, want string }{
		{metadata("https://evil.example", ""), metadata(issuer, ""), ""},
		{`200 {"issuer":1}`, metadata(issuer, ""), ""},
		{"500 x", metadata(issuer, ""), ""},
		{"404 x", "410 x", "absent " + atOAuth + ": 404 Not Found; absent " + atOIDC + ": 410 Gone"},
		{"200 <html>", "200 [1]", "absent " + atOAuth + ": 200 OK, but no JSON object; absent " + atOIDC + ": 200 OK, but no JSON object"},
		{"200 null", `200 "x"`, "absent " + atOAuth + ": 200 OK, but no JSON object; absent " + atOIDC + ": 200 OK, but no JSON object"},
		{"200 ", `200 {} x`, "absent " + atOAuth + ": 200 OK, but no JSON object; absent " + atOIDC + ": 200 OK, but no JSON object"},
		{"500 x", "404 ", "trouble " + atOAuth + ": 500 Internal Server Error; absent " + atOIDC + ": 404 Not Found"},
		{"down", "304 ", "trouble " + atOAuth + ": no route; trouble " + atOIDC + ": 304 Not Modified"},
		{"200 {\"issuer\":\"\xFF\"}", `200 {"issuer":"https://as.example","ISSUER":"x"}`,
			"invalid " + atOAuth + ": invalid UTF-8 at byte 11; invalid " + atOIDC + `: the name "issuer" comes twice`},
		{`200 {"issuer":"https://as.example"}`, "404 ", "invalid " + atOAuth + ": token_endpoint is missing; absent " + atOIDC + ": 404 Not Found"},
	} {
		s := &site{pages: map[string]string{atOAuth: c.first, atOIDC: c.second}}
		m, tries := discoverServer(t.Context(), &outbound{rt: s}, issuer, false)
		if (m != nil) != (c.want == "") {
			t.Errorf("%s, %s: got %v", c.first, c.second, m)
		}
		want(t, c.first+", "+c.second, classes(tries), c.want)
	}
	for _, bad := range []string{"https://as.example?x=secret", "https://u:secret@as.example", "http://as.example", "https://10.0.0.1", "x"} {
		s := &site{}
		m, tries := discoverServer(t.Context(), &outbound{rt: s}, bad, false)
		if m != nil || len(tries) != 1 || tries[0].class != fetchInvalid || strings.Contains(tries[0].Error(), "secret") {
			t.Errorf("%s: got %v, %v", bad, m, classes(tries))
		}
		want(t, bad, s, "")
	}
}

// PKCE and redirects.

// AUTH-135: RFC 7636, appendix B
func TestPKCE(t *testing.T) {
	want(t, "challenge", pkceChallenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
	a, b := newSecret(), newSecret()
	if raw, err := base64.RawURLEncoding.DecodeString(a); a == b || len(a) != 43 || len(raw) != 32 || err != nil {
		t.Errorf("secrets %q and %q", a, b)
	}
}

// AUTH-160 AUTH-161
func TestRedirects(t *testing.T) {
	for _, good := range []string{"https://app.example/cb", "https://app.example", "https://app.example:8443/cb?x=1", "http://localhost/cb", "http://LOCALHOST:1234/cb", "http://127.0.0.1:1/",
		"http://127.8.9.1/cb", "http://[::1]:8080/cb", "https://10.0.0.1/cb", "https://app.example/" + strings.Repeat("x", 2048-20)} {
		must(t, validRedirect(good, false))
	}
	const absolute, clean, wrong = "a redirect URI must be an absolute URL of at most 2,048 bytes", "has a fragment, a wildcard or a backslash", "must be https, or http at localhost"
	for bad, reason := range map[string]string{
		"":                     absolute,
		"/cb":                  absolute,
		"app.example/cb":       absolute,
		"https://a b/":         absolute,
		"https://app/\ncb":     absolute,
		"https://äpp.example/": absolute,
		"javascript:alert(1)":  absolute,
		"mailto:a@b":           absolute,
		"https://app.example/" + strings.Repeat("x", 2048-19): absolute,
		"https://app.example/cb#":                             `redirect URI "https://app.example/cb" ` + clean,
		"https://app.example/cb#x":                            `redirect URI "https://app.example/cb" ` + clean,
		"https://app.example/*":                               `redirect URI "https://app.example/%2A" ` + clean,
		"https://*.app.example/":                              `redirect URI "https://*.app.example/" ` + clean,
		`https://app.example/\evil`:                           `redirect URI "https://app.example/%5Cevil" ` + clean,
		"https://u:secret@app.example/?x=s":                   `redirect URI "https://app.example/" has user info`,
		"http://u@localhost/":                                 `redirect URI "http://localhost/" has user info`,
		"http://evil.example/cb?code=s":                       `redirect URI "http://evil.example/cb" ` + wrong,
		"http://localhost.evil.example/":                      `redirect URI "http://localhost.evil.example/" ` + wrong,
		"http://evil.localhost/":                              `redirect URI "http://evil.localhost/" ` + wrong,
		"http://127.1/":                                       `redirect URI "http://127.1/" ` + wrong,
		"http://[::ffff:127.0.0.1]/":                          `redirect URI "http://[::ffff:127.0.0.1]/" ` + wrong,
		"http://10.0.0.1/":                                    `redirect URI "http://10.0.0.1/" ` + wrong,
		"https:///cb":                                         `redirect URI "https:///cb" ` + wrong,
		"https://:443/cb":                                     `redirect URI "https://:443/cb" ` + wrong,
		"ftp://app.example/":                                  `redirect URI "ftp://app.example/" ` + wrong,
		"file:///etc/passwd":                                  `redirect URI "file:///etc/passwd" ` + wrong,
		"com.example.app:/cb":                                 `redirect URI "com.example.app:///cb" ` + wrong,
	} {
		checkError(t, bad, validRedirect(bad, false), reason)
	}
	must(t, validRedirect("com.example.app:/cb", true), validRedirect("https://app.example/", true))
	for _, bad := range []string{"app:/cb", "javascript:alert(1)", "com.example.app:cb", "com.example.app:/cb#x", "http://evil.example/", "file:///x"} {
		if validRedirect(bad, true) == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
}

// AUTH-311 HOSTILE-57
func TestHostile57RedirectsAreExact(t *testing.T) {
	for _, c := range []struct {
		registered, given string
		same              bool
	}{
		{"https://app.example/cb", "https://app.example/cb", true},
		{"https://app.example/cb", "https://app.example/cb/", false},
		{"https://app.example/cb", "https://app.example/cb/x", false},
		{"https://app.example/cb", "https://app.example/cb?x=1", false},
		{"https://app.example/cb", "https://app.example/cb#", false},
		{"https://app.example/cb", "https://app.example:443/cb", false},
		{"https://app.example:1/cb", "https://app.example:2/cb", false},
		{"https://app.example/cb", "https://APP.example/cb", false},
		{"https://app.example/cb", "https://app.example/a/../cb", false},
		{"https://app.example/cb", "https://app.example/%63b", false},
		{"https://app.example/a/cb", "https://app.example/a%2Fcb", false},
		{"https://app.example/cb", "https://u@app.example/cb", false},
		{"https://app.example/cb", "javascript:alert(1)", false},
		{"https://app.example/cb", "https://app.example.evil/cb", false},
		{"https://app.example/cb", "", false},
		{"https://localhost:1/cb", "https://localhost:2/cb", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:5000/cb", true},
		{"http://127.0.0.1:5000/cb", "http://127.0.0.1/cb", true},
		{"http://localhost:1/cb?x=1", "http://localhost:65535/cb?x=1", true},
		{"http://[::1]/cb", "http://[::1]:9/cb", true},
		{"http://localhost", "http://localhost:9", true},
		{"http://localhost:1/cb", "http://127.0.0.1:1/cb", false},
		{"http://localhost:1/cb", "http://[::1]:1/cb", false},
		{"http://localhost:1/cb", "http://LOCALHOST:2/cb", false},
		{"http://localhost:1/cb", "HTTP://localhost:2/cb", false},
		{"http://localhost:1/cb", "http://localhost:2/CB", false},
		{"http://localhost:1/cb", "http://localhost:2/cb/", false},
		{"http://localhost:1/cb", "http://localhost:2/cb?", false},
		{"http://localhost:1/cb", "http://localhost:2/cb#x", false},
		{"http://localhost:1/cb", "http://localhost:65536/cb", false},
		{"http://localhost:1/cb", "http://localhost:+2/cb", false},
		{"http://localhost:1/cb", "http://localhost:/cb", false},
		{"http://localhost:1/cb", "http://localhost:2@evil.example/cb", false},
		{"http://localhost:1/cb", "http://u@localhost:2/cb", false},
		{"http://localhost:1/cb", `http://localhost:2\@evil.example/cb`, false},
		{"http://localhost:1/cb", "https://localhost:2/cb", false},
		{"http://evil.example:1/cb", "http://evil.example:2/cb", false},
		{"com.example.app:/cb", "com.example.app:/cb", true},
		{"com.example.app:/cb", "com.example.app:/cb2", false},
	} {
		want(t, c.registered+" and "+c.given, sameRedirect(c.registered, c.given), c.same)
	}
}

// Whatever comes: what is valid leads to https or to this machine, and a given redirect
// URI differs from the registered one in nothing but the port of an http URL to this
// machine.
func FuzzRedirect(f *testing.F) {
	for _, seed := range [][2]string{{"http://localhost:1/cb", "http://localhost/cb"}, {"https://a/cb", "https://a:443/cb"}, {"http://[::1]:1", "http://[::1]"}, {"http://127.0.0.1:1@e/", "http://127.0.0.1:2@e/"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		same := sameRedirect(a, b)
		if same != sameRedirect(b, a) {
			t.Errorf("%q and %q: not alike in both directions", a, b)
		}
		if validRedirect(a, false) != nil {
			return
		}
		u, err := url.Parse(a)
		must(t, err)
		local := u.Hostname() == "::1" || strings.EqualFold(u.Hostname(), "localhost") || net.ParseIP(u.Hostname()).To4() != nil && strings.HasPrefix(u.Hostname(), "127.")
		if u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !local) {
			t.Errorf("%q is valid", a)
		}
		if !same || a == b {
			return
		}
		v, err := url.Parse(b)
		must(t, err)
		if u.Scheme != "http" || !local || validRedirect(b, false) != nil {
			t.Errorf("%q is the same as %q", a, b)
		}
		for _, x := range []*url.URL{u, v} {
			if port := x.Port(); port != "" {
				x.Host = strings.TrimSuffix(x.Host, ":"+port)
			}
		}
		if u.String() != v.String() {
			t.Errorf("%q is the same as %q", a, b)
		}
	})
}
