package mcp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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

// AUTH-031 AUTH-147 AUTH-148 AUTH-144
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

// metadata is a document of an authorization server.
func metadata(issuer string) string {
	return fmt.Sprintf(`200 {"issuer":%q,"authorization_endpoint":"https://as.example/authorize","token_endpoint":"https://as.example/token"}`, issuer)
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
		s := &site{pages: map[string]string{place: metadata(issuer)}}
		m, tries := discoverServer(t.Context(), &outbound{rt: s}, issuer, false)
		if m == nil || m.TokenEndpoint != "https://as.example/token" || len(tries) > 0 {
			t.Errorf("%s: got %v, %v", place, m, tries)
		}
		want(t, place, s, "GET "+strings.Join(places[:i+1], "; GET "))
	}
	s := &site{pages: map[string]string{atOIDC: metadata("https://as.example"), atOAuth: "200 <!doctype html>"}}
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
			s := &site{pages: map[string]string{atOAuth: metadata(c.says)}}
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
		{metadata("https://evil.example"), metadata(issuer), ""},
		{`200 {"issuer":1}`, metadata(issuer), ""},
		{"500 x", metadata(issuer), ""},
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

// Requests to URLs that others have named.

// fetchClassOf gets a document and tells how it went.
func fetchClassOf(t *testing.T, o *outbound, at string) string {
	t.Helper()
	data, e := o.document(t.Context(), at)
	if e == nil {
		return "200 " + string(data)
	}
	return classes([]*fetchError{e})
}

// AUTH-437 AUTH-438 HOSTILE-09 HOSTILE-10 HOSTILE-12
func TestHostile10OddURLs(t *testing.T) {
	for at, reason := range map[string]string{
		"https://h.example/x?y":                  "",
		"https://93.184.216.34/":                 "",
		"https://[2606:4700::1111]/":             "",
		"https://[64:ff9b::5db8:d822]/":          "",
		"https://h.example:8443/":                "",
		"https://xn--bcher-kva.example/":         "",
		"http://h.example/":                      "is not https",
		"http://10.0.0.1/":                       "is not https",
		"ftp://h.example/":                       "is not an absolute https URL",
		"file:///etc/passwd":                     "is not an absolute https URL",
		"javascript:alert(1)":                    "is not an absolute https URL",
		"https:h.example":                        "is not an absolute https URL",
		"/x":                                     "is not an absolute https URL",
		"x":                                      "is not an absolute https URL",
		"//h.example/":                           "is not an absolute https URL",
		"":                                       "is not an absolute https URL",
		"https:///x":                             "is not an absolute https URL",
		"https://:443/":                          "is not an absolute https URL",
		"https://user:pass@h.example/":           "has user info",
		"https://@h.example/":                    "has user info",
		"https://h.example/#f":                   "has a fragment",
		"https://localhost/":                     "is on this machine, and the MCP server is not",
		"http://localhost:6379/":                 "is on this machine, and the MCP server is not",
		"https://LOCALHOST./":                    "is on this machine, and the MCP server is not",
		"https://a.localhost/":                   "is on this machine, and the MCP server is not",
		"https://127.0.0.1/":                     "is on this machine, and the MCP server is not",
		"http://[::1]/":                          "is on this machine, and the MCP server is not",
		"https://169.254.169.254/latest":         "has a private or special address",
		"https://10.0.0.1/":                      "has a private or special address",
		"https://10.0.0.1./":                     "has a private or special address",
		"https://0.0.0.0/":                       "has a private or special address",
		"https://[fd00::1]/":                     "has a private or special address",
		"https://[fe80::1%25eth0]/":              "has a private or special address",
		"https://[::ffff:127.0.0.1]/":            "has a private or special address",
		"https://[::]/":                          "has a private or special address",
		"https://127.1/":                         "has a private or special address",
		"https://127.1./":                        "has a private or special address",
		"https://2130706433/":                    "has a private or special address",
		"https://99999999999999999999/":          "has a private or special address",
		"https://0x7f.1/":                        "has a private or special address",
		"https://0x7f000001/":                    "has a private or special address",
		"https://0177.0.0.1/":                    "has a private or special address",
		"https://127.0.0.0x1/":                   "has a private or special address",
		"https://\xef\xbc\x91\xef\xbc\x90.0.0.1": "not a URL", // full-width digits
		"https://h.example/ä":                    "not a URL",
		"https://h.example/\n":                   "not a URL",
		" https://h.example/":                    "not a URL",
		"https://h.example/%zz":                  "not a URL",
	} {
		s := &site{pages: map[string]string{at: "200 {}"}}
		got := fetchClassOf(t, &outbound{rt: s}, at)
		if reason == "" {
			want(t, at, got+" "+s.String(), "200 {} GET "+at)
			continue
		}
		if !strings.HasPrefix(got, "refused ") || !strings.HasSuffix(got, reason) || strings.Contains(got, "pass@") {
			t.Errorf("%q: got %s, want %s", at, got, reason)
		}
		want(t, at, s, "")
		err := (&outbound{rt: s}).check(at)
		if !errors.Is(err, errPolicy) || !strings.HasSuffix(err.Error(), reason) {
			t.Errorf("%q: check says %v, want %s", at, err, reason)
		}
		if _, _, err := (&outbound{rt: s}).post(t.Context(), at, typeJSON, nil, nil); !errors.Is(err, errPolicy) {
			t.Errorf("%q: post says %v", at, err)
		}
		want(t, at, s, "")
	}
}

// AUTH-438 AUTH-440
func TestOutboundExceptions(t *testing.T) {
	const private, here, plain = "private or special", "on this machine", "not https"
	for _, c := range []struct {
		o    outbound
		want map[string]string // URL to reason
	}{
		{outbound{local: true}, map[string]string{"http://localhost:1/": "", "https://127.0.0.1/": "", "http://[::1]/": "", "http://as.localhost/": "",
			"https://10.0.0.1/": private, "http://h.example/": plain, "https://127.1/": private, "https://[::ffff:127.0.0.1]/": ""}},
		{outbound{exempt: "https://10.0.0.1:443"}, map[string]string{"https://10.0.0.1/x": "", "https://10.0.0.1:443/": "", "https://10.0.0.1:8443/": private,
			"http://10.0.0.1/": plain, "http://10.0.0.1:443/": plain, "https://10.0.0.2/": private, "https://u@10.0.0.1/": "user info", "https://10.0.0.1/#f": "fragment"}},
		{outbound{exempt: "https://localhost:443"}, map[string]string{"https://localhost/": "", "https://localhost:444/": here, "https://127.0.0.1/": here}},
		{outbound{exempt: "http://mcp.corp:80"}, map[string]string{"http://mcp.corp/": plain}}, // no secrets in the clear
		{outbound{anywhere: true}, map[string]string{"http://h.example/": "", "https://10.0.0.1/": "", "http://localhost/": "", "http://127.1/": "",
			"ftp://h.example/": "absolute", "https://u@h.example/": "user info"}},
	} {
		for at, reason := range c.want {
			err := c.o.check(at)
			if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
				t.Errorf("%s with %+v: %v, want %q", at, c.o, err, reason)
			}
		}
	}
}

// AUTH-439 AUTH-440: the numeric address decides, as the dialer hands it to a socket.
func TestHostile10SpecialAddresses(t *testing.T) {
	public := []string{"93.184.216.34", "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "169.253.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1", "192.169.0.1",
		"198.17.255.255", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2001:200::1", "2001:4860:4860::8888", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1"}
	special := []string{"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::a00:1", "100::1", "100:0:0:1::1", "2001::1", "2001:db8::1", "3fff::1", "5f00::1", "fc00::1", "fd00::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
		"::ffff:0.0.0.0", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::1.1.1.1", // NAT64
		"2002:a00:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2001:0:5ef5:79fd:0:59d:a0e5:ba1d"} // 6to4, Teredo
	o := &outbound{}
	judge := func(o *outbound, ip string) bool {
		return errors.Is(o.control("tcp", netip.AddrPortFrom(netip.MustParseAddr(ip), 443).String(), nil), errPolicy)
	}
	for _, ip := range public {
		want(t, ip, judge(o, ip), false)
	}
	for _, ip := range special {
		want(t, ip, judge(o, ip), true)
	}
	local := &outbound{local: true}
	for ip, refused := range map[string]bool{"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "64:ff9b::127.0.0.1": true, "2002:7f00:1::1": true, "10.0.0.1": true, "0.0.0.0": true, "::": true} {
		want(t, "local "+ip, judge(local, ip), refused)
	}
	want(t, "no address", errors.Is(o.control("tcp", "h.example:443", nil), errPolicy), true)
}

// A nameServer answers all questions for addresses with the one it was told last.
type nameServer struct {
	at    atomic.Pointer[netip.Addr]
	asked atomic.Int32
}

// resolver asks the name server over a pipe.
func (n *nameServer) resolver(t *testing.T) *net.Resolver {
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		all.Go(func() { // until the resolver closes its end
			defer theirs.Close()
			for n.answer(theirs) == nil {
			}
		})
		return ours, nil
	}}
}

// answer answers one question (RFC 1035, section 4).
func (n *nameServer) answer(c net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	q := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, q); err != nil {
		return err
	}
	end := 12 + bytes.IndexByte(q[12:], 0) + 5 // header; name, type and class of the question
	a := append(slices.Clone(q[:2]), 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	a = append(a, q[12:end]...)
	n.asked.Add(1)
	if ip := n.at.Load(); binary.BigEndian.Uint16(q[end-4:]) == map[bool]uint16{true: 1, false: 28}[ip.Is4()] {
		a[7] = 1
		a = append(a, 0xC0, 12)
		a = append(a, q[end-4:end]...)
		a = append(a, 0, 0, 0, 0, 0, byte(len(ip.AsSlice())))
		a = append(a, ip.AsSlice()...)
	}
	_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...))
	return err
}

// A name that leads to a public address when somebody looks, and to a private one when
// it is connected to, leads nowhere. AUTH-436 AUTH-440 HOSTILE-11
func TestHostile11Rebinding(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var reached atomic.Int32
	var all sync.WaitGroup
	all.Go(func() { // until the listener is closed
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			c.Close()
		}
	})
	defer func() { ln.Close(); all.Wait(); want(t, "connections", reached.Load(), 1) }()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	must(t, err)
	names := &nameServer{}
	o := &outbound{lookup: names.resolver(t)}
	set := func(ip string) { a := netip.MustParseAddr(ip); names.at.Store(&a) }

	set("93.184.216.34")
	ips, err := o.lookup.LookupHost(t.Context(), "rebind.example.com")
	must(t, err)
	want(t, "public", ips, []string{"93.184.216.34"})
	for _, ip := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0"} {
		set(ip)
		got := fetchClassOf(t, o, "https://rebind.example.com:"+port+"/m?secret")
		want(t, ip, got, "refused https://rebind.example.com:"+port+"/m: dial tcp "+ip+":"+port+": not allowed here: a private or special address")
	}
	_, _, err = o.post(t.Context(), "https://rebind.example.com:"+port+"/token?secret", typeJSON, nil, nil)
	if !errors.Is(err, errPolicy) || strings.Contains(err.Error(), "secret") {
		t.Errorf("post: %v", err)
	}
	// The origin that was configured is reached.
	set("127.0.0.1")
	o.exempt = "https://rebind.example.com:" + port
	if got := fetchClassOf(t, o, "https://rebind.example.com:"+port+"/m"); !strings.HasPrefix(got, "trouble ") {
		t.Errorf("exempt: %s", got)
	}
	if names.asked.Load() == 0 {
		t.Error("the name server was not asked")
	}
}

// AUTH-043 AUTH-441 HOSTILE-13
func TestHostile13Redirects(t *testing.T) {
	var said journal
	mux := http.NewServeMux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names := sortedKeys(r.Header)
		names = slices.DeleteFunc(names, func(n string) bool { return n == "Accept-Encoding" || n == "Connection" || n == "User-Agent" })
		said.add("%s %s", r.URL.Path, names)
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	secure := httptest.NewTLSServer(http.RedirectHandler(server.URL+"/found", http.StatusFound))
	defer secure.Close()
	mux.HandleFunc("/found", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	for i := range 6 {
		mux.Handle(fmt.Sprint("/chain", i+1), http.RedirectHandler(strings.ReplaceAll(fmt.Sprint("/chain", i), "/chain0", "/found"), http.StatusTemporaryRedirect))
	}
	mux.Handle("/private", http.RedirectHandler("https://10.0.0.1/x?secret", http.StatusFound))
	mux.Handle("/odd", http.RedirectHandler("https://0x7f.1/", http.StatusFound))
	mux.HandleFunc("/wide", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://１０.0.0.1/")
		w.WriteHeader(http.StatusFound)
	})
	mux.Handle("/plain", http.RedirectHandler("http://h.example/", http.StatusFound))
	mux.Handle("/user", http.RedirectHandler("http://u:secret@"+server.Listener.Addr().String()+"/found", http.StatusFound))
	mux.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	mux.HandleFunc("/bad", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://h.example/%zz")
		w.WriteHeader(http.StatusFound)
	})
	o := &outbound{local: true, header: http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}}
	const sent = " [Accept Mcp-Protocol-Version]"
	const on = " [Accept Mcp-Protocol-Version Referer]"
	for _, c := range []struct{ path, want, said string }{
		{"/found", "200 {}", "/found" + sent},
		{"/chain1", "200 {}", "/chain1" + sent + "; /found" + on},
		{"/chain5", "200 {}", "/chain5" + sent + "; /chain4" + on + "; /chain3" + on + "; /chain2" + on + "; /chain1" + on + "; /found" + on},
		{"/chain6", "trouble $/chain6: more than 5 redirects", "/chain6" + sent + "; /chain5" + on + "; /chain4" + on + "; /chain3" + on + "; /chain2" + on + "; /chain1" + on},
		{"/loop", "trouble $/loop: more than 5 redirects", "/loop" + sent + strings.Repeat("; /loop"+on, 5)},
		{"/private", `trouble $/private: not allowed here: "https://10.0.0.1/x" has a private or special address`, "/private" + sent},
		{"/odd", `trouble $/odd: not allowed here: "https://0x7f.1/" has a private or special address`, "/odd" + sent},
		{"/wide", `trouble $/wide: not allowed here: "https://%EF%BC%91%EF%BC%90.0.0.1/" is not an absolute https URL`, "/wide" + sent},
		{"/plain", `trouble $/plain: not allowed here: "http://h.example/" is not https`, "/plain" + sent},
		{"/user", `trouble $/user: not allowed here: "$/found" has user info`, "/user" + sent},
		{"/file", `trouble $/file: not allowed here: "file:///etc/passwd" is not an absolute https URL`, "/file" + sent},
		{"/bad", `trouble $/bad: failed to parse Location header "https://h.example/%zz": parse "https://h.example/%zz": invalid URL escape "%zz"`, "/bad" + sent},
	} {
		said.lines = nil
		got := fetchClassOf(t, o, server.URL+c.path)
		want(t, c.path, strings.ReplaceAll(got, server.URL, "$"), c.want)
		want(t, c.path+" said", said.String(), c.said)
	}
	said.lines = nil
	o.rt = secure.Client().Transport
	want(t, "https to http", strings.ReplaceAll(fetchClassOf(t, o, secure.URL), secure.URL, "$"), "trouble $: a redirect from https to http")
	want(t, "said", said.String(), "")
}

// AUTH-442 HOSTILE-14
func TestHostile14LargeDocuments(t *testing.T) {
	full := `{"a":"` + strings.Repeat("x", maxDocument-8) + `"}`
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := io.WriteString(z, full+strings.Repeat(" ", 4<<20))
	must(t, err, z.Close())
	if bomb.Len() > 32<<10 {
		t.Errorf("the bomb has %d bytes", bomb.Len())
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/full":
			_, _ = io.WriteString(w, full)
		case "/more":
			_, _ = io.WriteString(w, full+" ")
		case "/endless":
			for {
				if _, err := io.WriteString(w, full); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}
	}))
	defer server.Close()
	o := &outbound{local: true}
	want(t, "1 MiB", fetchClassOf(t, o, server.URL+"/full") == "200 "+full, true)
	for _, path := range []string{"/more", "/endless", "/bomb"} {
		want(t, path, fetchClassOf(t, o, server.URL+path), "trouble "+server.URL+path+": an answer of more than 1048576 bytes")
		_, _, err := o.post(t.Context(), server.URL+path, typeJSON, nil, nil)
		checkError(t, "post "+path, err, server.URL+path+": an answer of more than 1048576 bytes")
	}
}

// Nothing takes longer than it may, and a caller may leave before. AUTH-442 HOSTILE-15
func TestHostile15SlowDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := listenMemory()
		serveMemory(t, ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/drip" {
				for range 3600 {
					_, err := io.WriteString(w, " ")
					if err != nil || http.NewResponseController(w).Flush() != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}
			<-r.Context().Done()
		}))
		tr := ln.client().Transport.(*http.Transport)
		defer tr.CloseIdleConnections()
		o := &outbound{rt: tr, anywhere: true}
		for _, path := range []string{"/drip", "/mute"} {
			start := time.Now()
			_, e := o.document(t.Context(), "http://as.test"+path)
			if e == nil || e.class != fetchTrouble || !errors.Is(e, context.DeadlineExceeded) {
				t.Errorf("%s: %v", path, e)
			}
			want(t, path+": document", time.Since(start), 10*time.Second)
			start = time.Now()
			_, _, err := o.post(t.Context(), "http://as.test"+path, typeJSON, nil, nil)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", path, err)
			}
			want(t, path+": post", time.Since(start), 30*time.Second)
			start = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, e = o.document(ctx, "http://as.test"+path)
			cancel()
			if e == nil || !errors.Is(e, context.DeadlineExceeded) {
				t.Errorf("%s: %v", path, e)
			}
			want(t, path+": a caller's own limit", time.Since(start), time.Second)
		}
	})
}

// AUTH-445
func TestSelfSignedServer(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	o := &outbound{local: true}
	const reason = ": tls: failed to verify certificate: x509: certificate signed by unknown authority"
	want(t, "document", fetchClassOf(t, o, server.URL), "trouble "+server.URL+reason)
	_, _, err := o.post(t.Context(), server.URL, typeJSON, []byte("secret"), nil)
	checkError(t, "post", err, server.URL+reason)
	want(t, "requests", reached.Load(), 0)
}

// What a server says does not reach terminals. AUTH-443 HOSTILE-08
//
// AUTH-088
func TestHostile08Texts(t *testing.T) {
	want(t, "sanitized", sanitized("a\x1b[31mb\r\nc\td\x00\u202e\xff<b>é", nil), "a[31mb c d?<b>é")
	want(t, "short", len(sanitized(strings.Repeat("é", 2000), nil)), 1<<10)
	want(t, "cut within a letter", sanitized("x"+strings.Repeat("é", 2000), nil), "x"+strings.Repeat("é", 511))
	want(t, "secrets", sanitized("a sec\x00ret and 'other'", []string{"", "secret", "other"}), "a … and '…'")
	e := oauthError("https://as.example/token?x=y", &http.Response{StatusCode: 400}, []byte(`{"error":"invalid_grant\n","error_description":"\u001b[2Jno <script>"}`))
	want(t, "error", e, "https://as.example/token answered 400 invalid_grant : [2Jno <script>")
	s := &site{pages: map[string]string{}}
	o := &outbound{rt: inPlace(func(w http.ResponseWriter, r *http.Request) { s.add("%s", r.URL); w.WriteHeader(500) })}
	_, fe := o.document(t.Context(), "https://as.example/m?secret=1")
	checkError(t, "document", fe, "https://as.example/m: 500 Internal Server Error")
}

// Token endpoints.

const tokenOK = `{"access_token":"at","token_type":"Bearer"}`

// askToken asks a token endpoint that answers so, and returns what was sent.
func askToken(t *testing.T, status int, answer string, form url.Values, c *clientAuth, p *prover) (a *tokenAnswer, sent []*http.Request, err error) {
	t.Helper()
	o := &outbound{rt: inPlace(func(w http.ResponseWriter, r *http.Request) {
		must(t, r.ParseForm())
		sent = append(sent, r)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})}
	a, err = o.token(t.Context(), "https://as.example/token?tenant=1", form, c, p)
	return a, sent, err
}

// AUTH-186 AUTH-193 AUTH-194 AUTH-195 AUTH-196 AUTH-203
func TestTokenRequest(t *testing.T) {
	for _, c := range []struct {
		auth        clientAuth
		basic, body string
	}{
		// RFC 6749, section 2.3.1
		{clientAuth{id: "s6BhdRkqt3", secret: "7Fjfp0ZBr1KtDRbnfVdmIw", method: authBasic}, "Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3", "code=c&grant_type=authorization_code"},
		{clientAuth{id: "a:b", secret: "p w+ä%", method: authBasic}, "Basic " + base64.StdEncoding.EncodeToString([]byte("a%3Ab:p+w%2B%C3%A4%25")), "code=c&grant_type=authorization_code"},
		{clientAuth{id: "s6BhdRkqt3", secret: "7Fjfp0ZBr1KtDRbnfVdmIw", method: authPost}, "", "client_id=s6BhdRkqt3&client_secret=7Fjfp0ZBr1KtDRbnfVdmIw&code=c&grant_type=authorization_code"},
		{clientAuth{id: "a:b", secret: "p w+ä%", method: authPost}, "", "client_id=a%3Ab&client_secret=p+w%2B%C3%A4%25&code=c&grant_type=authorization_code"},
		{clientAuth{id: "https://app.example/c", secret: "unused", method: authNone}, "", "client_id=https%3A%2F%2Fapp.example%2Fc&code=c&grant_type=authorization_code"},
		{clientAuth{id: "x"}, "", "client_id=x&code=c&grant_type=authorization_code"},
		{clientAuth{}, "", "code=c&grant_type=authorization_code"},
	} {
		form := url.Values{"grant_type": {grantCode}, "code": {"c"}}
		a, sent, err := askToken(t, 200, `{"access_token":"at","token_type":"bearer","id_token":5,"scope":"a b","refresh_token":"rt"}`, form, &c.auth, nil)
		must(t, err)
		want(t, "answer", []any{a.AccessToken, a.RefreshToken, *a.Scope, a.Expires.IsZero()}, []any{"at", "rt", "a b", true})
		want(t, "requests", len(sent), 1)
		r := sent[0]
		want(t, "request", r.Method+" "+r.URL.String(), "POST https://as.example/token?tenant=1")
		header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/x-www-form-urlencoded"}}
		if c.basic != "" {
			header.Set("Authorization", c.basic)
		}
		want(t, "header", r.Header, header)
		want(t, "body", r.PostForm.Encode(), c.body)
		want(t, "the form is as it was", form.Encode(), "code=c&grant_type=authorization_code")
	}
}

// AUTH-197
func TestTokenAssertion(t *testing.T) {
	key, err := GenerateKey("")
	must(t, err)
	key.ID = "k1"
	c := &clientAuth{id: "x", secret: "unused", key: key, method: authJWT, audience: "https://as.example"}
	seen := map[string]bool{}
	for range 2 {
		_, sent, err := askToken(t, 200, tokenOK, url.Values{"grant_type": {grantCredentials}}, c, nil)
		must(t, err)
		form := sent[0].PostForm
		want(t, "names", sortedKeys(form), "[client_assertion client_assertion_type grant_type]")
		want(t, "type", form.Get("client_assertion_type"), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		want(t, "basic", sent[0].Header.Get("Authorization"), "")
		token, err := parseJWT(form.Get("client_assertion"))
		must(t, err, token.verify(key.public))
		var claims struct {
			Iss, Sub, Aud, JTI string
			Iat, Exp           int64
		}
		must(t, json.Unmarshal(token.claims.raw(), &claims))
		want(t, "claims", []string{token.kid, token.alg, token.typ, claims.Iss, claims.Sub, claims.Aud}, "[k1 ES256 JWT x x https://as.example]")
		want(t, "lifetime", claims.Exp-claims.Iat, 60)
		if age := time.Now().Unix() - claims.Iat; age < 0 || age > 30 || len(claims.JTI) < 20 || seen[claims.JTI] {
			t.Errorf("iat is %d s old, jti is %q", age, claims.JTI)
		}
		seen[claims.JTI] = true
	}
	_, sent, err := askToken(t, 200, tokenOK, url.Values{}, &clientAuth{id: "x", key: &Key{}, method: authJWT}, nil)
	checkError(t, "an empty key", err, "signing the client assertion: an empty Key signs nothing")
	want(t, "requests", len(sent), 0)
}

// AUTH-199 AUTH-200 AUTH-201 HOSTILE-43
func TestHostile43TokenAnswers(t *testing.T) {
	key, err := GenerateKey("")
	must(t, err)
	const invalid = "https://as.example/token: the token answer is invalid: "
	exchange := url.Values{"requested_token_type": {tokenTypeIDJAG}}
	for _, c := range []struct {
		answer string
		form   url.Values
		proved bool
		want   string
	}{
		{answer: tokenOK},
		{answer: `{"access_token":"a-._~+/9==","token_type":"BEARER"}`},
		{answer: `{"access_token":"at","token_type":"DPoP"}`, proved: true},
		{answer: `{"access_token":"at","token_type":"Bearer"}`, proved: true},
		{answer: `{"access_token":"at","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}`, form: exchange},
		{answer: `{"access_token":"at","token_type":"DPoP"}`, want: invalid + `token_type "DPoP" is not what was asked for`},
		{answer: `{"access_token":"at","token_type":"N_A"}`, want: invalid + `token_type "N_A" is not what was asked for`},
		{answer: `{"access_token":"at","token_type":"mac"}`, want: invalid + `token_type "mac" is not what was asked for`},
		{answer: `{"access_token":"at"}`, want: invalid + `token_type "" is not what was asked for`},
		{answer: `{"access_token":"at","token_type":5}`, want: invalid + `token_type: want a string, got a number`},
		{answer: `{"token_type":"Bearer"}`, want: invalid + "it has no access_token that a header can carry"},
		{answer: `{"access_token":"","token_type":"Bearer"}`, want: invalid + "it has no access_token that a header can carry"},
		{answer: `{"access_token":"a\r\nX: y","token_type":"Bearer"}`, want: invalid + "it has no access_token that a header can carry"},
		{answer: `{"access_token":"a b","token_type":"Bearer"}`, want: invalid + "it has no access_token that a header can carry"},
		{answer: `{"access_token":"==","token_type":"Bearer"}`, want: invalid + "it has no access_token that a header can carry"},
		{answer: `{"access_token":"a=b","token_type":"Bearer"}`, want: invalid + "it has no access_token that a header can carry"},
		{answer: `{"access_token":["at"],"token_type":"Bearer"}`, want: invalid + "access_token: want a string, got an array"},
		{answer: `{"access_token":"at","ACCESS_TOKEN":"x","token_type":"Bearer"}`, want: invalid + `the name "access_token" comes twice`},
		{answer: `<!doctype html>`, want: invalid + "not JSON at byte 0"},
		{answer: `access_token=at&token_type=bearer`, want: invalid + "not JSON at byte 0"},
		{answer: ``, want: invalid + "not JSON: unexpected end at byte 0"},
	} {
		var p *prover
		if c.proved {
			p = &prover{key, &nonces{}}
		}
		a, sent, err := askToken(t, 200, c.answer, c.form, &clientAuth{id: "x"}, p)
		checkError(t, c.answer, err, c.want)
		if (a == nil) != (err != nil) || len(sent) != 1 {
			t.Errorf("%s: got %v, %d requests", c.answer, a, len(sent))
		}
		if err == nil && a.Scope != nil {
			t.Errorf("%s: scope %q", c.answer, *a.Scope)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for in, seconds := range map[string]float64{`3600`: 3600, `"3600"`: 3600, `3600.5`: 3600.5, `"1e3"`: 1000, `-1`: 0, `0`: 0, `"-5"`: 0, `1e999`: 0, `1e9`: 0, `999999999`: 999999999, `99999999999999999999`: 0,
			`"Inf"`: 0, `"NaN"`: 0, `"soon"`: 0, `""`: 0, `null`: 0, `true`: 0, `[3600]`: 0, `{}`: 0} {
			a, _, err := askToken(t, 200, `{"access_token":"at","token_type":"Bearer","expires_in":`+in+`}`, nil, &clientAuth{id: "x"}, nil)
			must(t, err)
			expires := time.Time{}
			if seconds > 0 {
				expires = time.Now().Add(time.Duration(seconds * 1e9))
			}
			want(t, "expires_in "+in, a.Expires, expires)
		}
	})
}

// AUTH-202
func TestTokenErrors(t *testing.T) {
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{400, `{"error":"invalid_grant"}`, "400 invalid_grant"},
		{401, `{"error":"invalid_client","error_description":"who?","error_uri":"https://x"}`, "401 invalid_client: who?"},
		{429, `slow down`, "429: slow down"},
		{400, `{"message":"no"}`, `400: {"message":"no"}`},
		{400, `{"error":5}`, `400: {"error":5}`},
		{400, ``, "400"},
		{500, "<html>\x1b[2J", "500: <html>[2J"},
		{502, strings.Repeat("x", 5000), "502: " + strings.Repeat("x", 1<<10)},
		{201, tokenOK, "201"}, // a token is not shown
		{204, ``, "204"},
		{302, `elsewhere`, "302"},
	} {
		a, sent, err := askToken(t, c.status, c.answer, nil, &clientAuth{id: "x"}, nil)
		checkError(t, c.answer, err, "https://as.example/token answered "+c.want)
		e := (*OAuthError)(nil)
		if a != nil || !errors.As(err, &e) || e.Status != c.status || len(sent) != 1 {
			t.Errorf("%d %s: got %v, %#v, %d requests", c.status, c.answer, a, err, len(sent))
		}
	}
	s := &site{pages: map[string]string{"https://as.example/token": "down"}}
	_, err := (&outbound{rt: s}).token(t.Context(), "https://as.example/token", nil, &clientAuth{}, nil)
	checkError(t, "down", err, "https://as.example/token: no route")
	want(t, "said", s, "POST https://as.example/token")
}

// AUTH-189 HOSTILE-42
func TestHostile42TokenRedirect(t *testing.T) {
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", other.URL+"/token")
			w.WriteHeader(status)
		}))
		o := &outbound{local: true}
		_, err := o.token(t.Context(), server.URL+"/token", url.Values{"code": {"c"}}, &clientAuth{id: "x", secret: "s", method: authBasic}, nil)
		checkError(t, "token", err, fmt.Sprintf("%s/token answered %d", server.URL, status))
		resp, _, err := o.post(t.Context(), server.URL+"/register", typeJSON, []byte("{}"), nil)
		must(t, err)
		want(t, "register", resp.StatusCode, status)
		want(t, "requests", asked.Load(), 2)
		server.Close()
	}
	want(t, "requests elsewhere", reached.Load(), 0)
}

// AUTH-202: a code is not longer than codes are, and no secret
func TestErrorCodes(t *testing.T) {
	for code, want := range map[string]string{"invalid_grant": "invalid_grant", "swordfish": "…", strings.Repeat("x", 2<<10): strings.Repeat("x", 1<<10), "a\x1bb": "ab"} {
		body, _ := json.Marshal(map[string]string{"error": code})
		if e := oauthError("https://as.test/token?a=b", &http.Response{StatusCode: 400}, body, "swordfish"); e.Code != want || e.Endpoint != "https://as.test/token" {
			t.Errorf("the error is %v, want code %q", e, want)
		}
	}
}

// A server that repeats what it was sent, in whatever place, does not bring it into an
// error. AUTH-202 AUTH-443
func TestTokenErrorsKeepSecrets(t *testing.T) {
	secret := "client/secret +ä"
	form := url.Values{"grant_type": {grantCode}, "code": {"the-code"}, "code_verifier": {"the-verifier"}, "refresh_token": {"the-refresh"}, "assertion": {"the-assertion"},
		"subject_token": {"the-subject"}, "actor_token": {"the-actor"}}
	raw := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, answer)
			c.Close()
		}
	}
	const said = "the-code the-verifier the-refresh"
	for name, answer := range map[string]func(w http.ResponseWriter, body, basic string){
		"plain": func(w http.ResponseWriter, body, basic string) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, said+body+basic+secret)
		},
		"error": func(w http.ResponseWriter, body, basic string) {
			w.WriteHeader(400)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": said, "error_description": body + basic + secret + "the-\x00code"})
		},
		"name": func(w http.ResponseWriter, body, _ string) { _, _ = io.WriteString(w, `{"the-code":1,"THE-code":2}`) },
		"type": func(w http.ResponseWriter, body, _ string) {
			_, _ = io.WriteString(w, `{"access_token":"at","token_type":"the-verifier"}`)
		},
		"location": func(w http.ResponseWriter, body, _ string) {
			w.Header().Set("Location", "https://x/%zz?"+body)
			w.WriteHeader(307)
		},
		"status": func(w http.ResponseWriter, body, _ string) {
			raw("HTTP/1.1 the-code the-verifier\r\n\r\n")(w, nil)
		},
		"header": func(w http.ResponseWriter, body, _ string) {
			raw("HTTP/1.1 200 OK\r\nthe-code the-verifier\r\n\r\n")(w, nil)
		},
	} {
		for _, method := range []string{authBasic, authPost} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				must(t, err)
				answer(w, string(body), r.Header.Get("Authorization"))
			}))
			_, err := (&outbound{local: true}).token(t.Context(), server.URL+"/token?key=the-key", form, &clientAuth{id: "x", secret: secret, method: method}, nil)
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			basic := base64.StdEncoding.EncodeToString([]byte("x:" + url.QueryEscape(secret)))
			for _, s := range []string{"the-code", "the-verifier", "the-refresh", "the-assertion", "the-subject", "the-actor", "the-key", secret, url.QueryEscape(secret), basic} {
				if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(strings.ToLower(text), strings.ToLower(s)) {
					t.Errorf("%s, %s: shown: %s", name, method, text)
				}
			}
			server.Close()
		}
	}
}

// A nonceServer wants proofs with its newest nonce.
type nonceServer struct {
	t       *testing.T
	answers []func(w http.ResponseWriter) // one for each request; the last stays
	nonces  []string                      // of the proofs that came
	jtis    map[string]bool
	bodies  map[string]bool
}

func (s *nonceServer) RoundTrip(r *http.Request) (*http.Response, error) {
	return inPlace(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(s.t, err)
		proof, err := parseJWT(r.Header.Get("DPoP"))
		must(s.t, err)
		check := &proofCheck{method: "POST", url: "https://as.example/token", now: time.Now()}
		_, jti, err := check.check(r.Header.Get("DPoP"))
		must(s.t, err)
		want(s.t, "ath", proof.claims.member("ath").kind(), kindNone)
		s.nonces = append(s.nonces, proof.text("nonce"))
		s.jtis[jti], s.bodies[string(body)] = true, true
		s.answers[min(len(s.nonces), len(s.answers))-1](w)
	}).RoundTrip(r)
}

// said is an answer with a status, a nonce ("": none) and a body.
func said(status int, nonce, body string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		if nonce != "" {
			w.Header().Set("DPoP-Nonce", nonce)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// AUTH-190 AUTH-410 AUTH-413 AUTH-415 HOSTILE-44 HOSTILE-45
func TestHostile45Nonces(t *testing.T) {
	key, err := GenerateKey("")
	must(t, err)
	const bound, use, grant = `{"access_token":"at","token_type":"DPoP"}`, `{"error":"use_dpop_nonce"}`, `{"error":"invalid_grant"}`
	for _, c := range []struct {
		name    string
		answers []func(http.ResponseWriter)
		want    string   // error after the last call
		nonces  []string // of all proofs
		calls   int
	}{
		{"none", []func(http.ResponseWriter){said(200, "", bound)}, "", []string{"", ""}, 2},
		{"demanded", []func(http.ResponseWriter){said(400, "n1", use), said(200, "", bound)}, "", []string{"", "n1", "n1"}, 2},
		{"renewed by a success", []func(http.ResponseWriter){said(200, "n1", bound), said(200, "n2", bound)}, "", []string{"", "n1", "n2"}, 3},
		{"forever", []func(http.ResponseWriter){said(400, "n1", use), said(400, "n2", use)}, "https://as.example/token answered 400 use_dpop_nonce", []string{"", "n1"}, 1},
		{"without one", []func(http.ResponseWriter){said(400, "", use)}, "https://as.example/token answered 400 use_dpop_nonce", []string{""}, 1},
		{"unrelated", []func(http.ResponseWriter){said(400, "n1", grant)}, "https://as.example/token answered 400 invalid_grant", []string{""}, 1},
		{"unrelated after it", []func(http.ResponseWriter){said(400, "n1", use), said(400, "n2", grant)}, "https://as.example/token answered 400 invalid_grant", []string{"", "n1"}, 1},
		{"not printable", []func(http.ResponseWriter){said(400, "a b", use)}, "https://as.example/token answered 400 use_dpop_nonce", []string{""}, 1},
		{"too long", []func(http.ResponseWriter){said(400, strings.Repeat("n", 2000), use)}, "https://as.example/token answered 400 use_dpop_nonce", []string{""}, 1},
	} {
		s := &nonceServer{t: t, answers: c.answers, jtis: map[string]bool{}, bodies: map[string]bool{}}
		p := &prover{key, &nonces{}}
		var err error
		for range c.calls {
			_, err = (&outbound{rt: s}).token(t.Context(), "https://as.example/token?x=y#", url.Values{"code": {"c"}}, &clientAuth{id: "x"}, p)
		}
		checkError(t, c.name, err, c.want)
		want(t, c.name, fmt.Sprintf("%q", s.nonces), fmt.Sprintf("%q", c.nonces))
		want(t, c.name+": fresh proofs, same body", []int{len(s.jtis), len(s.bodies)}, []int{len(c.nonces), 1})
	}
	// Another request has learned of the nonce while this one was under way.
	p := &prover{key, &nonces{}}
	s := &nonceServer{t: t, jtis: map[string]bool{}, bodies: map[string]bool{}}
	s.answers = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		p.nonces.see(&url.URL{Scheme: "https", Host: "as.example"}, http.Header{"Dpop-Nonce": {"n1"}})
		said(400, "n1", use)(w)
	}, said(200, "", bound)}
	_, err = (&outbound{rt: s}).token(t.Context(), "https://as.example/token", nil, &clientAuth{id: "x"}, p)
	must(t, err)
	want(t, "nonces", fmt.Sprintf("%q", s.nonces), `["" "n1"]`)
}

// AUTH-415
func TestNoncesByOrigin(t *testing.T) {
	n := &nonces{}
	at := func(i int) *url.URL { return &url.URL{Scheme: "https", Host: fmt.Sprintf("h%d.example", i)} }
	want(t, "nothing", n.see(at(0), http.Header{}), false)
	for i := range 100 {
		want(t, "seen", n.see(at(i), http.Header{"Dpop-Nonce": {fmt.Sprint(i)}}), true)
	}
	want(t, "each its own", []string{n.get(at(0)), n.get(at(99)), n.get(&url.URL{Scheme: "https", Host: "H7.example:443"}), n.get(&url.URL{Scheme: "http", Host: "h7.example"})}, []string{"0", "99", "7", ""})
	n.see(at(100), http.Header{"Dpop-Nonce": {"100"}})
	if n.get(at(100)) != "100" || len(n.m) > 100 {
		t.Errorf("%d nonces", len(n.m))
	}
}

// Keys.

// A keyShop is the server of a JWKS.
type keyShop struct {
	keys   atomic.Pointer[string] // what it answers; "": 500
	asked  atomic.Int32
	delays time.Duration
}

func (s *keyShop) sell(keys ...*Key) {
	var all []string
	for _, k := range keys {
		all = append(all, string(k.Public()))
	}
	set := `{"keys":[` + strings.Join(all, ",") + `]}`
	s.keys.Store(&set)
}

func (s *keyShop) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	select {
	case <-time.After(s.delays):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return inPlace(func(w http.ResponseWriter, _ *http.Request) {
		if set := *s.keys.Load(); set == "" {
			w.WriteHeader(500)
		} else {
			_, _ = io.WriteString(w, set)
		}
	}).RoundTrip(r)
}

func (s *keyShop) ring() *keyRing {
	return newKeyRing(&outbound{rt: s}, func(context.Context) (string, error) { return "https://as.example/jwks", nil })
}

func namedKey(t *testing.T, id string) *Key {
	k, err := GenerateKey("EdDSA")
	must(t, err)
	k.ID = id
	return k
}

// found shows the ids of what a ring has for one.
func found(t *testing.T, r *keyRing, id string) string {
	keys, err := r.keys(t.Context(), id)
	if err != nil {
		return "error: " + err.Error()
	}
	var ids []string
	for _, k := range keys {
		ids = append(ids, k.id)
	}
	return strings.Join(ids, " ")
}

func TestKeyRing(t *testing.T) {
	a, b := namedKey(t, "a"), namedKey(t, "b")
	const down = "error: https://as.example/jwks: 500 Internal Server Error"
	synctest.Test(t, func(t *testing.T) {
		s := &keyShop{}
		s.sell(a)
		r := s.ring()
		after := func(d time.Duration, id, want string, asked int32) {
			t.Helper()
			time.Sleep(d) // virtual
			if got := found(t, r, id); got != want || s.asked.Load() != asked {
				t.Errorf("got %s after %d requests, want %s after %d", got, s.asked.Load(), want, asked)
			}
		}
		after(0, "a", "a", 1)
		after(0, "", "a", 1)
		after(0, "b", "", 1) // a new key waits
		after(30*time.Second, "b", "", 1)
		after(1, "b", "", 2)
		s.sell(a, b)
		after(30*time.Second, "a", "a", 2)
		after(1, "b", "b", 3)
		after(0, "", "a b", 3)
		after(10*time.Minute, "a", "a", 3)
		s.sell(b)
		after(1, "a", "", 4) // a key that was taken back
		after(0, "b", "b", 4)
		down500 := ""
		s.keys.Store(&down500)
		after(10*time.Minute+1, "b", "b", 5) // old keys serve
		after(30*time.Second, "b", "b", 5)
		after(1, "b", "b", 6)
		after(0, "c", down, 6) // it may be new
		after(23*time.Hour, "b", "b", 7)
		after(time.Hour, "b", down, 8) // not forever
		after(0, "b", down, 8)
		s.sell(b)
		after(30*time.Second, "b", down, 8)
		after(1, "b", "b", 9)
		bad := `{"keys":5}`
		s.keys.Store(&bad)
		after(10*time.Minute+1, "b", "b", 10)
		large := `{"keys":[],"a":"` + strings.Repeat("x", 256<<10) + `"}`
		s.keys.Store(&large)
		after(24*time.Hour, "b", "error: a JWKS of more than 262144 bytes", 11)
		none := "\xEF\xBB\xBF{\"keys\":[]}"
		s.keys.Store(&none)
		after(time.Minute, "b", "", 12)
	})
}

// A hundred callers cause one request, and unknown ids not more than two a minute. HOSTILE-54
func TestKeyRingSingleFlight(t *testing.T) {
	a := namedKey(t, "a")
	synctest.Test(t, func(t *testing.T) {
		s := &keyShop{delays: time.Second}
		s.sell(a)
		r := s.ring()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { want(t, "keys", found(t, r, "a"), "a") })
		}
		// Who waits may leave, and who fetches takes nobody along.
		ctx, cancel := context.WithCancel(t.Context())
		synctest.Wait()
		all.Go(func() {
			if _, err := r.keys(ctx, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("left: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		want(t, "requests", s.asked.Load(), 1)
		start := time.Now()
		for i := range 1000 {
			for range 3 {
				all.Go(func() { want(t, "unknown", found(t, r, fmt.Sprint("x", i)), "") })
			}
			all.Wait()
			time.Sleep(300 * time.Millisecond) // virtual
		}
		if n, most := s.asked.Load()-1, int32(time.Since(start)/(30*time.Second)); n < most-1 || n > most {
			t.Errorf("%d requests, want %d", n, most)
		}

		r = s.ring()
		ctx, cancel = context.WithCancel(t.Context())
		all.Go(func() { _, _ = r.keys(ctx, "a") })
		synctest.Wait()
		all.Go(func() { want(t, "keys of a fetch whose caller left", found(t, r, "a"), "a") })
		cancel()
		all.Wait()
	})
	r := newKeyRing(&outbound{}, func(context.Context) (string, error) { return "", errors.New("no metadata") })
	want(t, "no URL", found(t, r, "a"), "error: no metadata")
	r = newKeyRing(&outbound{}, func(context.Context) (string, error) { return "http://10.0.0.1/", nil })
	want(t, "policy", found(t, r, "a"), `error: http://10.0.0.1/: not allowed here: "http://10.0.0.1/" is not https`)
}

// AUTH-460
func TestSecretsAreNotShown(t *testing.T) {
	key := namedKey(t, "k")
	c := clientAuth{id: "x", secret: "s3cret", key: key, method: authPost}
	scope := "s3cret"
	a := tokenAnswer{AccessToken: "s3cret", RefreshToken: "s3cret", Scope: &scope, TokenType: "Bearer", ExpiresIn: object(`"s3cret"`)}
	for _, v := range []any{c, &c, a, &a, []any{c, a}, struct{ V any }{&a}, struct{ C clientAuth }{c}} {
		text := fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v)
		var logged bytes.Buffer
		slog.New(slog.NewTextHandler(&logged, nil)).Info("m", "v", v)
		if _, list := v.([]any); !list {
			slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "v", v)
		}
		if strings.Contains(text+logged.String(), "s3cret") {
			t.Errorf("%T is shown: %s %s", v, text, logged.String())
		}
	}
	want(t, "client", c, "client x")
	want(t, "answer", a, "token of type Bearer")
}
