package mcp

import "testing"

// Every algorithm signs what it verifies.
func TestJWTRoundTrip(t *testing.T) {
	for i := range algorithms {
		k, err := GenerateKey(algorithms[i].name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := k.sign(nil, map[string]any{"iss": "a"})
		if err != nil {
			t.Fatal(err)
		}
		token, err := parseJWT(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := token.verify(k.public); err != nil || token.text("iss") != "a" {
			t.Errorf("%s: %v, iss %q", k.Algorithm(), err, token.text("iss"))
		}
		again, err := ParseKey(k.private(), "")
		if err != nil || again.Thumbprint() != k.Thumbprint() || again.Algorithm() != k.Algorithm() {
			t.Errorf("%s: read back as %v: %v", k.Algorithm(), again, err)
		}
	}
}
