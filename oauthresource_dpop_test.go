package mcp

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const dpopParams = prmParam + `, algs="ES256 EdDSA"`

// bound is a resource that takes tokens bound to a key.
func bound(m *mint, o DPoPOptions) *ProtectedResource {
	p := protected(m)
	o.Algorithms = []string{"ES256", "EdDSA"}
	p.DPoP = &o
	return p
}

// proves is a request with a token and a proof.
func proves(token, proof string, header ...string) *http.Request {
	return httpRequest("POST", "/mcp", append([]string{"Authorization: DPoP " + token, "DPoP: " + proof}, header...)...)
}

// A proof is good for one key, token, method and URL, and for some minutes.
//
// AUTH-094 AUTH-422 AUTH-423 AUTH-424
func TestHostile63Proofs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, thief := newMint(t, "", "k"), newMint(t, "", ""), newMint(t, "", "")
		p := bound(m, DPoPOptions{})
		cnf := members{"cnf": members{"jkt": client.key.Thumbprint()}}
		token, other, free := m.token(cnf), m.token(cnf.with(members{"jti": "2"})), m.token(nil)
		proof := func(changes members) string { return proofBy(t, client, token, members{"typ": "dpop+jwt"}, changes) }
		headed := func(changes members) string {
			header := members{"typ": "dpop+jwt"}
			maps.Copy(header, changes)
			return proofBy(t, client, token, header, nil)
		}
		now := time.Now().Unix()
		const bad = "401\n" + `Www-Authenticate: DPoP error="invalid_dpop_proof", ` + dpopParams + "\nWww-Authenticate: Bearer " + prmParam
		const badToken = "401\n" + `Www-Authenticate: DPoP error="invalid_token", ` + dpopParams + "\nWww-Authenticate: Bearer " + prmParam
		const badBearer = "401\n" + `Www-Authenticate: Bearer error="invalid_token", ` + prmParam + "\nWww-Authenticate: DPoP " + dpopParams
		at := func(method, target string, header ...string) *http.Request {
			return httpRequest(method, target, append([]string{"Authorization: DPoP " + token}, header...)...)
		}
		for _, row := range []struct {
			name string
			r    *http.Request
			want string
		}{
			{"good", proves(token, proof(nil)), letIn},
			{"no credential", httpRequest("POST", "/mcp"), "401\nWww-Authenticate: Bearer " + prmParam + "\nWww-Authenticate: DPoP " + dpopParams},
			{"a bearer token", bearer(free), letIn},
			{"bound token as bearer", bearer(token), badBearer},
			{"bound token as bearer with proof", httpRequest("POST", "/mcp", "Authorization: Bearer "+token, "DPoP: "+proof(nil)), badBearer},
			{"free token", proves(free, proof(nil)), badToken},
			{"other audience", proves(m.token(cnf.with(members{"aud": "https://x.example"})), proof(nil)), badToken},
			{"expired token", proves(m.token(cnf.with(members{"exp": now - 100})), proof(nil)), badToken},
			{"scheme in capitals", httpRequest("POST", "/mcp", "Authorization: DPOP "+token, "DPoP: "+proof(nil)), letIn},
			{"GET", at("GET", "/mcp", "DPoP: "+proof(members{"htm": "GET"})), letIn},
			{"another endpoint of the server", at("POST", "/sse?sessionId=1", "DPoP: "+proof(members{"htu": "https://mcp.example.com/sse"})), letIn},
			{"behind a proxy that strips the path", at("POST", "/", "DPoP: "+proof(nil)), letIn},
			{"URL with case and port", proves(token, proof(members{"htu": "HTTPS://MCP.example.com:443/mcp"})), letIn},
			{"request with a query", at("POST", "/mcp?x=1", "DPoP: "+proof(nil)), letIn},
			{"299 s old", proves(token, proof(members{"iat": now - 299})), letIn},
			{"299 s early", proves(token, proof(members{"iat": now + 299})), letIn},
			{"no proof", at("POST", "/mcp"), bad},
			{"two proofs", proves(token, proof(nil), "DPoP: "+proof(nil)), bad},
			{"two proofs in one header", proves(token, proof(nil)+", "+proof(nil)), bad},
			{"empty proof", proves(token, ""), bad},
			{"no JWT", proves(token, "x"), bad},
			{"the token", proves(token, token), bad},
			{"another method", proves(token, proof(members{"htm": "GET"})), bad},
			{"method in small letters", proves(token, proof(members{"htm": "post"})), bad},
			{"URL with a query", proves(token, proof(members{"htu": mcpURL + "?x=1"})), bad},
			{"URL of another server", proves(token, proof(members{"htu": "https://evil.example/mcp"})), bad},
			{"host of the request", at("POST", "http://evil.example/mcp", "DPoP: "+proof(members{"htu": "http://evil.example/mcp"})), bad},
			{"other path", proves(token, proof(members{"htu": "https://mcp.example.com/other"})), bad},
			{"301 s old", proves(token, proof(members{"iat": now - 301})), bad},
			{"301 s early", proves(token, proof(members{"iat": now + 301})), bad},
			{"no iat", proves(token, proof(members{"iat": nil})), bad},
			{"no jti", proves(token, proof(members{"jti": nil})), bad},
			{"no ath", proves(token, proof(members{"ath": nil})), bad},
			{"ath of another token", proves(other, proof(nil)), bad},
			{"another key", proves(token, proofBy(t, thief, token, members{"typ": "dpop+jwt"}, nil)), bad},
			{"type JWT", proves(token, headed(members{"typ": "JWT"})), bad},
			{"no type", proves(token, headed(members{"typ": nil})), bad},
			{"no key", proves(token, headed(members{"jwk": nil})), bad},
			{"private key", proves(token, headed(members{"jwk": client.key.private()})), bad},
			{"none", proves(token, proofForged(t, client, token, "none", func(string) []byte { return nil })), bad},
			{"HS256", proves(token, proofForged(t, client, token, "HS256", func(string) []byte { return client.key.Public() })), bad},
			{"ES384 not listed", proves(token, proofBy(t, newMint(t, "ES384", ""), token, members{"typ": "dpop+jwt"}, nil)), bad},
		} {
			want(t, row.name, outcome(p, row.r), row.want)
		}
	})
}

// altered is a text with another character in its middle.
func altered(text string) string {
	b := []byte(text)
	b[len(b)/2] ^= 'A' ^ 'B'
	return string(b)
}

// proofBy is a proof for a POST to the server, with changes in header and claims.
func proofBy(t *testing.T, m *mint, token string, header, changes members) string {
	t.Helper()
	claims := members{"jti": fmt.Sprint(time.Now()), "htm": "POST", "htu": mcpURL, "iat": time.Now().Unix(), "ath": hash64(token)}
	if _, ok := header["jwk"]; !ok {
		header = header.with(members{"jwk": m.key.public.members()})
	}
	proof, err := m.key.sign(header.with(nil), map[string]any(claims.with(changes)))
	must(t, err)
	return proof
}

func proofForged(t *testing.T, m *mint, token, alg string, sign func(string) []byte) string {
	t.Helper()
	header := mustJSON(t, members{"typ": "dpop+jwt", "alg": alg, "jwk": m.key.public.members()})
	claims := mustJSON(t, members{"jti": "1", "htm": "POST", "htu": mcpURL, "iat": time.Now().Unix(), "ath": hash64(token)})
	text := encode64(header) + "." + encode64(claims)
	return text + "." + encode64(sign(text))
}

// A server can demand that each proof has a nonce of its own making, that is not old.
//
// AUTH-423 AUTH-425
func TestProofNonces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client := newMint(t, "", "k"), newMint(t, "", "")
		key := bytes.Repeat([]byte("k"), 32)
		p, replica := bound(m, DPoPOptions{Nonces: true, NonceKey: key}), bound(m, DPoPOptions{Nonces: true, NonceKey: key})
		stranger := bound(m, DPoPOptions{Nonces: true})
		token := m.token(members{"cnf": members{"jkt": client.key.Thumbprint()}})
		ask := func(p *ProtectedResource, nonce any) (answer, fresh string) {
			t.Helper()
			answer = outcome(p, proves(token, proofBy(t, client, token, members{"typ": "dpop+jwt"}, members{"nonce": nonce})))
			if rest, ok := strings.CutPrefix(answer, "401\nDpop-Nonce: "); ok {
				fresh, answer, _ = strings.Cut(rest, "\n")
			}
			return answer, fresh
		}
		const demand = `Www-Authenticate: DPoP error="use_dpop_nonce", ` + dpopParams + "\nWww-Authenticate: Bearer " + prmParam
		first, nonce := ask(p, nil)
		want(t, "without", first, demand)
		for _, row := range []struct {
			name string
			p    *ProtectedResource
			with any
			want string
		}{
			{"with", p, nonce, letIn}, {"at a replica", replica, nonce, letIn}, {"at a stranger", stranger, nonce, demand},
			{"altered", p, altered(nonce), demand}, {"longer", p, nonce + "AA", demand}, {"not text", p, "%", demand}, {"a number", p, 1, demand}, {"empty", p, "", demand},
			{"of next year", p, (&nonceMint{key}).mint(time.Now().AddDate(1, 0, 0)), demand},
		} {
			got, _ := ask(row.p, row.with)
			want(t, row.name, got, row.want)
		}
		time.Sleep(5 * time.Minute)
		got, _ := ask(p, nonce)
		want(t, "after five minutes", got, letIn)
		time.Sleep(time.Second)
		got, second := ask(p, nonce)
		want(t, "old", got, demand)
		got, _ = ask(p, second)
		want(t, "new", got, letIn)
		bad := outcome(p, proves(token, proofBy(t, client, token, members{"typ": "dpop+jwt"}, members{"htm": "GET"})))
		want(t, "bad for another reason", bad, "401\n"+`Www-Authenticate: DPoP error="invalid_dpop_proof", `+dpopParams+"\nWww-Authenticate: Bearer "+prmParam)
	})
}

// A proof is taken once, if the server remembers proofs; and what it remembers is bounded.
//
// AUTH-425
func TestHostile63Replays(t *testing.T) {
	m, client := newMint(t, "", "k"), newMint(t, "", "")
	token := m.token(members{"cnf": members{"jkt": client.key.Thumbprint()}})
	p := bound(m, DPoPOptions{Replays: 10})
	proof := func(n int) string {
		return proofBy(t, client, token, members{"typ": "dpop+jwt"}, members{"jti": fmt.Sprint(n)})
	}
	const bad = "401\n" + `Www-Authenticate: DPoP error="invalid_dpop_proof", ` + dpopParams + "\nWww-Authenticate: Bearer " + prmParam
	for n := range 10 {
		want(t, "first", outcome(p, proves(token, proof(n))), letIn)
	}
	for n := range 10 {
		want(t, "again", outcome(p, proves(token, proof(n))), bad)
	}
	want(t, "one more", outcome(p, proves(token, proof(10))), letIn)
	want(t, "the oldest is forgotten", outcome(p, proves(token, proof(0))), letIn)
	want(t, "the others are not", outcome(p, proves(token, proof(2))), bad)
	want(t, "remembered", fmt.Sprint(len(p.ready.replays.seen)), "10")

	plain := bound(m, DPoPOptions{})
	again := proof(0)
	want(t, "not remembered", outcome(plain, proves(token, again))+outcome(plain, proves(token, again)), letIn+letIn)
}

// A server can insist on bound tokens.
//
// AUTH-094 AUTH-424
func TestProofsRequired(t *testing.T) {
	m, client := newMint(t, "", "k"), newMint(t, "", "")
	var log bytes.Buffer
	p := bound(m, DPoPOptions{Required: true})
	p.Log = slog.New(slog.NewTextHandler(&log, nil))
	p.Required = []string{"x"}
	token := m.token(members{"cnf": members{"jkt": client.key.Thumbprint()}})
	scoped := m.token(members{"cnf": members{"jkt": client.key.Thumbprint()}, "scope": "x"})
	want(t, "bearer", outcome(p, bearer(m.token(members{"scope": "x"}))), "401\n"+`Www-Authenticate: DPoP scope="x", `+dpopParams)
	want(t, "few scopes", outcome(p, proves(token, proofBy(t, client, token, members{"typ": "dpop+jwt"}, nil))),
		"403\n"+`Www-Authenticate: DPoP error="insufficient_scope", scope="x read write", `+dpopParams)
	want(t, "good", outcome(p, proves(scoped, proofBy(t, client, scoped, members{"typ": "dpop+jwt"}, nil))), issuerURL+" ada by app [x]")
	r := &Request{Header: http.Header{"Authorization": {"dpop " + scoped}}, Identity: &Identity{Subject: "ada"}}
	want(t, "from a handler", outcomeOf(nil, p.Require(r, "y")), "403\n"+`Www-Authenticate: DPoP error="insufficient_scope", scope="y", `+dpopParams)
	_ = outcome(p, proves(scoped, token))
	if text := log.String(); strings.Contains(text, token) || strings.Contains(text, scoped) || !strings.Contains(text, "proof of possession refused") {
		t.Errorf("log: %s", text)
	}
}

// A conversation in which each request, of a stream too, has its own proof.
//
// AUTH-301 AUTH-422
func TestBoundConversation(t *testing.T) {
	m, client := newMint(t, "", "k"), newMint(t, "", "")
	p := bound(m, DPoPOptions{Nonces: true, Replays: 100})
	h := &HTTPHandler{Server: testServer(t, nil), Authorize: p.Authorize, Comment: -1}
	talkHTTP(t, h, nil, func(c *web) {
		if _, err := p.use(); err != nil {
			t.Fatal(err)
		}
		token := m.token(members{"cnf": members{"jkt": client.key.Thumbprint()}})
		proof := func(method string) string {
			nonce := p.ready.nonces.mint(time.Now())
			return "DPoP: " + proofBy(t, client, token, members{"typ": "dpop+jwt"}, members{"htm": method, "nonce": nonce, "jti": newSecret()})
		}
		auth := "Authorization: DPoP " + token
		x := c.post(initializeA, auth, "DPoP: "+proofBy(t, client, token, members{"typ": "dpop+jwt"}, nil))
		x.sees(refused(401, -32600, "the proof needs a nonce of this server", "Dpop-Nonce: "+p.ready.nonces.mint(time.Now()),
			`Www-Authenticate: DPoP error="use_dpop_nonce", `+dpopParams+"; Bearer "+prmParam))
		c.post(initializeA, auth, proof("POST")).sees("200 application/json\nMcp-Session-Id: *\n" + initializedA)
		once := proof("POST")
		c.post(pingA, auth, once).sees(pongA)
		c.post(pingA, auth, once).sees(refused(401, -32600, "the proof of possession is not valid",
			`Www-Authenticate: DPoP error="invalid_dpop_proof", `+dpopParams+"; Bearer "+prmParam))
		stream := c.get(auth, proof("GET"))
		stream.sees("200 text/event-stream\nid: 1_0\nretry: 1000\ndata:")
		time.Sleep(time.Hour + time.Minute - time.Nanosecond) // the proof is old, the token is not
		stream.sees("")
		time.Sleep(time.Nanosecond)
		stream.sees("$")
	})
}
