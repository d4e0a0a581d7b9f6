//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"
)

// BenchmarkHTTPAuthorized shows what authorization costs a call: a token that is known
// and one that is verified each time, bound or not, beside a server that asks for none. The
// call is echo, as in BenchmarkHTTP.
func BenchmarkHTTPAuthorized(b *testing.B) {
	m, client := newMint(b, "", "k"), newMint(b, "", "")
	keys := map[string]json.RawMessage{issuerURL: json.RawMessage(keySet(m))}
	plain, bound := m.token(nil), m.token(members{"cnf": members{"jkt": client.key.Thumbprint()}})
	proof, err := client.key.proof("POST", mcpURL, bound, "")
	must(b, err)
	for _, s := range []struct {
		name   string
		cached int
		header string
		open   bool
	}{
		{"none", 0, "", true},
		{"cached", 0, "Authorization: Bearer " + plain + "\r\n", false},
		{"uncached", -1, "Authorization: Bearer " + plain + "\r\n", false},
		{"bound", 0, "Authorization: DPoP " + bound + "\r\nDPoP: " + proof + "\r\n", false},
	} {
		b.Run(s.name, func(b *testing.B) {
			p := &ProtectedResource{Resource: mcpURL, AuthorizationServers: []string{issuerURL}, DPoP: &DPoPOptions{},
				Verify: (&JWTVerifier{Keys: keys, CacheSize: s.cached}).Verify}
			h := &HTTPHandler{Server: benchServer(b)}
			if !s.open {
				h.Authorize = p.Authorize
			}
			srv := httptest.NewServer(h)
			defer srv.Close()
			callers := []*rawCaller{dialRaw(b, srv.URL, "", s.header)}
			measured(b, func() { callAll(b, callers, callText) })
		})
	}
}

// BenchmarkAuthorize is the resource server's part of it alone.
func BenchmarkAuthorize(b *testing.B) {
	m := newMint(b, "", "k")
	for _, s := range []struct {
		name   string
		cached int
	}{{"cached", 0}, {"uncached", -1}} {
		b.Run(s.name, func(b *testing.B) {
			p := protected()
			p.Verify = (&JWTVerifier{Keys: map[string]json.RawMessage{issuerURL: json.RawMessage(keySet(m))}, CacheSize: s.cached}).Verify
			r := bearer(m.token(nil)).WithContext(context.Background())
			measured(b, func() {
				for range b.N {
					if _, err := p.Authorize(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
