package mcp

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Keys from the RFCs, private parts included.
const (
	// RFC 7515, appendix A.2.
	rfcRSA = `{"kty":"RSA",
		"n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB",
		"d":"Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
		"p":"4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
		"q":"uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc",
		"dp":"BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0",
		"dq":"h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU",
		"qi":"IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U"}`

	// RFC 7515, appendices A.3 and A.4.
	rfcP256 = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
		"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}`
	rfcP521 = `{"kty":"EC","crv":"P-521",
		"x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
		"y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
		"d":"AY5pb7A0UFiB3RELSD64fTLOSV_jazdF7fLYyuTw8lOfRhWg6Y6rUrPAxerEzgdRhajnu0ferB0d53vM9mE15j2C"}`

	// RFC 8037, appendix A.1.
	rfcEd25519 = `{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
		"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`

	// Made by OpenSSL, which puts the parameters in front of the key.
	opensslP384 = `-----BEGIN EC PARAMETERS-----
BgUrgQQAIg==
-----END EC PARAMETERS-----
-----BEGIN EC PRIVATE KEY-----
MIGkAgEBBDAwRPP2QKpmwIm06PRKzf0cp0uBgHMQz4YDBZnZGoaLeQHIVNL0VXmQ
iQmrUusG24mgBwYFK4EEACKhZANiAAQxOJKKdV2Uf13yvfdPJIVW4aTQzbIoe1RX
9caRoCtQAcsZbhvVdYb4wYImF4mo3zZEAj1N5CqQLjniOq1gRBn/B+3S2Qo90DQU
MEP1Ar2pLn67nqyb3POHCthl8ypbJeY=
-----END EC PRIVATE KEY-----
`
)

// Signatures by OpenSSL 3 of the text that opensslText makes.
var opensslSigned = []struct{ alg, key, sig string }{
	{"ES256", rfcP256, "uNUdGp_XM07ieg4ua26Ju_j7pnX-583MzBOj-Cxz07H0yS6YRlr3Iy8_bGLc9CF4sGs9x-ElZ34r1JjGvc7VdQ"},
	{"ES384", opensslP384, "T81RXVOUgnlsKobQo5zeZv77xZoZNEiDG1SCZiqSk334iPbQUXNoCONWy0M9PBAn-P9BrXuPhAu1aJw2rSYVYUOr6IHKWGIJz9VV" +
		"gEScFgTlMadIZFNKUIi2Pua4b2Z8"},
	{"ES512", rfcP521, "Ae1UA6OriQh3PJY6vPwnBYYjVcRxVF5-inc4KKa2C4RyD2x0Zm9YTnvOKI_Og-u60A3OYGrdoA-BdSWqwqMbKx7IAAEMPrVonb4h" +
		"CUJv_4jWdOzJwdklhmdM3o7iDN6w_I0yw_ONiZ8dz03KSuG3H0Ryc7s0GnONcqg84EztoiATRnba"},
	{"RS256", rfcRSA, "grFbigC04ngrp-cnCA4qO2_LZKgQREUNW7krGopfLS7sE5RumZn-6OqO9xtk6VKcJ_e7F2ZPeuxpLvvPob0_cb297bWzYkbC6ysR" +
		"oZyjEGcyoy4NifnsjiFeuLH5vtyLPeZDwMuSBAJ8Z-Ha3UHW3ZC2UjRcpm1-qwwuJNsj2iHyUZ5KIqbxqVUZQrIJ-gy751ynUE9U" +
		"s7MBZgyFES3PF9MxzRjUjtThC1g8Z5O7nbBvr76ghTR-M_Vvy-Y2uK0VT1YFoBHFxQWML5zriKoo0eJFyQ3DcZ4Txe24UJAnzu3y" +
		"naI9pdJ9frfEWv4V_S0fw-TLGgyD0c_VHoudbqAsBg"},
	{"RS384", rfcRSA, "TPogM-AKZv4Vy-aXhprnnMi0taqBItNudqdJg_DSJPxPcyKx8WfR5KGiCnk6SjAjud6ZkuTgDJh4Y243rkocQb1NxTzQUs2bOG-a" +
		"LR2fyh_5cDo9Q4ruE16krtmsnVAokW1C5xplURA0mJHYcBMjsG1djbD0Iy5r5kWurR7Rm2BhAc66vgBlMfz-6owGj1ZntjFeXPSy" +
		"luqtMxykDDC_GrZ_eoVqhhvk3kTl9oERjTEeY9LOzk37gzCpAh-DkVvBBz5SP6n-aMIjchcPj5guiwIdsQOoeYZF85ygJqOYTLGm" +
		"sqBEVskJsWrGOM77BXnUOPlZ1mgNocod_OkF1cJ_Mw"},
	{"RS512", rfcRSA, "nKFx0E-OF3Ri25fRGw6pUq_WDQvOhwJ0DyVjlzsonTHgroWc_FsQFfBPzastxYdn0W-JRuLqXE-tun6xK3ZOm-sjrlTWBDN9pw37" +
		"R2-LHrmtPSi8mfywdh8j7UP3Vse0KUesH_J36DdcRn_NksBXZzbHcTz9p72UgCd86vZBoH4jbwH71pP3qmhFW1aXXAr2NlKV7ggk" +
		"ceV67rYcsjARG18DwzH6rtH08Bpb19E3kemQAAAPxmsWUA7RTA9ve6-dkh7QJYCvMLLeoWXSQxnBBvX1OZGlVImslTV9QAxHIner" +
		"FpDLIDqZnsb2x-CGIcixju97NXIu9UIZdJcKwRZFdw"},
	{"PS256", rfcRSA, "hFAP1PHMmyLzjvqUXD89bhc4P03zMGMk4ENEzh0_BRSjeAIb3KtaaXW486o6BPuqwNZzzPQ83-VzU9RYFvEp4OGFqUpa1SxeNFZx" +
		"TZvIpPCt4zqDEuGnDyOwqPhrxV5FoXGfqeR8OKpnCEOPQV6CxDhhlDoGnz8PjY6U95o4gqtvGwp21Bf9BmxB4_PtC_T-aOF0ZkEg" +
		"oGS_tUQhejHmxBCZQtWmzoxw-Qs1DvJRlP4Xn4vj9OSZtWbCBJkfCbVX3mWvzt_W8ogeDaiQIncOc0y7r3EFUq8rqYpV_ky0hJRV" +
		"UXHXtUsMkjANaDbR5nGIivF0lD2lIE5ZOGYKrRVhtw"},
	{"PS384", rfcRSA, "c2EF1USk1ZnJ5M1I6Yw_wsPT6rwIccQJ-yeN9XOGpsTjqroGL4nU-IJ1pgLL6l13OBpqpvn79qqqRaVJ-nF8ibbnlfixc4cWSmbz" +
		"EYXrFluNhjXuxTZwVt48uPaew7Y9UyN1eG7H4TEbL4D70xoP_Xqn_kMymBl1_lLyPrOgBWeYEDdEPsbO19IsmnCcBZ895uQctIeb" +
		"rO-XabEiEOCMIXWeBtjq_9Y9uD4kG-ppfZ94hB2vCg0BMvqECggAfm2Dih_gRTTdtuaS-vjhK3837s2uCmJXbfLu7vuXaKlfZRhE" +
		"Tci-LLliMW5_QGBzMime8IXet-xOuiNKLh5vpvt0Cw"},
	{"PS512", rfcRSA, "baccZAXgCcq9_3naR7U0DRdtFajGSXWXUfPy7AYM76zawgl81GR2rwrAk8D86bfkalp2gHzfSXotRj8_eYsvKC65FBhSn8YXukXS" +
		"V_1D8hig24chTMU6fM6bhqoEbqq3ZNVYl5EEunxp-Av9OlvH04rrmW3mr5sNNevBc3gdKO8eZSeeE9lpW_QVym2ol2E_8EqbEXz1" +
		"qLI9pkT8TOLdexawjbidl52IRyxlRFBRWoAfg9vNOBpzw_rAoXPrt7UTFr6lf-1bytqd1wShonRDMFcXJt6PMJTXE_pGFcRYTIB6" +
		"3oGJS-klm2xG9hZ7AoJkzCv4FVV9pME2xsWbQX6xhw"},
	{"EdDSA", rfcEd25519, "92B8O6GvYT8GwE8RKxRzJm0V8hZnN9Y8WOiKowBsNOe4Og7X_5d9MLgP9pQ6jmqVkbmgk6ja9DVPSLcyWW44Dw"},
}

func opensslText(alg string) string {
	return encode64([]byte(`{"alg": "`+alg+`", "typ": "JWT"}`)) + "." +
		encode64([]byte(`{"iss": "joe", "exp": 1300819380, "http://example.com/is_root": true}`))
}

func mustKey(t testing.TB, text, alg string) *Key {
	t.Helper()
	k, err := ParseKey([]byte(text), alg)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustPublic(t testing.TB, text string) *publicKey {
	t.Helper()
	k, err := parsePublicJWK(mustScan(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustScan(t testing.TB, text string) value {
	t.Helper()
	ix, err := scan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ix.root()
}

// craft signs a header and claims that are taken as they are.
func craft(t testing.TB, k *Key, header, claims string) string {
	t.Helper()
	text := encode64([]byte(header)) + "." + encode64([]byte(claims))
	sig, err := k.alg.sign(k.signer(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode64(sig)
}

// The examples of RFC 7515, appendices A.2 to A.4, and RFC 8037, appendix A.4. Where a
// signature has no random part, ours is the same.
//
// AUTH-198
func TestSignatureVectors(t *testing.T) {
	const joe = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
	for _, test := range []struct {
		alg, key, text, sig string
		same                bool
	}{
		{"RS256", rfcRSA, "eyJhbGciOiJSUzI1NiJ9." + joe,
			"cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4" +
				"BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqv" +
				"hJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw", true},
		{"ES256", rfcP256, "eyJhbGciOiJFUzI1NiJ9." + joe,
			"DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q", false},
		{"ES512", rfcP521, "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA",
			"AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8Kp" +
				"EHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn", false},
		{"EdDSA", rfcEd25519, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
			"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg", true},
	} {
		k := mustKey(t, test.key, test.alg)
		sig, ok := decode64(test.sig)
		if !ok || !k.alg.verify(k.public.key, []byte(test.text), sig) {
			t.Errorf("%s: the signature of the example is refused", test.alg)
		}
		if k.alg.verify(k.public.key, []byte(test.text+"x"), sig) {
			t.Errorf("%s: the signature is accepted for another text", test.alg)
		}
		ours, err := k.alg.sign(k.signer(), []byte(test.text))
		if err != nil || test.same && !bytes.Equal(ours, sig) || !k.alg.verify(k.public.key, []byte(test.text), ours) {
			t.Errorf("%s: signs %s: %v", test.alg, encode64(ours), err)
		}
	}
}

// A signature made elsewhere is accepted with the one key, and with no other.
//
// AUTH-198 HOSTILE-54
func TestSignaturesOfOpenSSL(t *testing.T) {
	for _, signed := range opensslSigned {
		token, err := parseJWT(opensslText(signed.alg) + "." + signed.sig)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{rfcRSA, rfcP256, opensslP384, rfcP521, rfcEd25519} {
			public := *mustKey(t, key, "").public
			public.alg = "" // RSA keys are for six algorithms
			if err := token.verify(&public); (err == nil) != (key == signed.key) {
				t.Errorf("%s with %T: %v", signed.alg, public.key, err)
			}
		}
		if at, ok := token.time("exp"); token.alg != signed.alg || token.typ != "JWT" || token.text("iss") != "joe" || !ok || at.Unix() != 1300819380 {
			t.Errorf("read as %s %s, iss %s, exp %v", token.alg, token.typ, token.text("iss"), at)
		}
	}
	if len(opensslSigned) != len(algorithms) {
		t.Errorf("%d of %d algorithms are tried", len(opensslSigned), len(algorithms))
	}
}

// Every algorithm makes keys, signs what it verifies, and has keys that survive being
// stored. ECDSA signatures are r and s of full length, whatever their first bytes: the
// library agrees about each.
//
// AUTH-198
func TestKeyRoundTrip(t *testing.T) {
	sizes := map[string]int{"ES256": 64, "ES384": 96, "ES512": 132, "EdDSA": 64}
	for _, a := range algorithms {
		k, err := GenerateKey(a.name)
		if err != nil {
			t.Fatal(err)
		}
		k.ID = "one"
		again := mustKey(t, string(k.private()), "")
		if again.ID != "one" || again.Algorithm() != a.name || again.Thumbprint() != k.Thumbprint() || string(again.Public()) != string(k.Public()) {
			t.Errorf("%s is read back as %s", k.Public(), again.Public())
		}
		if !again.signer().(interface{ Equal(crypto.PrivateKey) bool }).Equal(k.signer()) {
			t.Errorf("%s: the private part is read back wrong", a.name)
		}
		public := mustPublic(t, string(k.Public()))
		if public.id != "one" || public.alg != a.name || public.use != "sig" {
			t.Errorf("%s: public part %s", a.name, k.Public())
		}
		for i := range 20 {
			text, err := again.sign(map[string]any{"typ": "x", "alg": "none"}, map[string]any{"n": i, "s": "<&>"})
			if err != nil {
				t.Fatal(err)
			}
			token, err := parseJWT(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := token.verify(public); err != nil {
				t.Errorf("%s: %v", a.name, err)
			}
			wantHeader, wantClaims := `{"alg":"`+a.name+`","kid":"one","typ":"x"}`, fmt.Sprintf(`{"n":%d,"s":"<&>"}`, i)
			if string(token.header.raw()) != wantHeader || string(token.claims.raw()) != wantClaims {
				t.Errorf("signed %s %s, want %s %s", token.header.raw(), token.claims.raw(), wantHeader, wantClaims)
			}
			if n := len(token.sig); n != sizes[a.name] && !(n == 256 && sizes[a.name] == 0) {
				t.Errorf("%s: a signature of %d bytes", a.name, n)
			}
			if key, ok := k.public.key.(*ecdsa.PublicKey); ok && !verifyASN1(t, key, a.digest(token.signed), token.sig) {
				t.Errorf("%s: the library refuses %x", a.name, token.sig)
			}
			if a.hash == 0 || a.curve == nil && i == 2 {
				break
			}
		}
	}
}

func verifyASN1(t *testing.T, key *ecdsa.PublicKey, digest, sig []byte) bool {
	n := len(sig) / 2
	der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(sig[:n]), new(big.Int).SetBytes(sig[n:])})
	if err != nil {
		t.Fatal(err)
	}
	return ecdsa.VerifyASN1(key, digest, der)
}

// A signature is refused if it is cut, longer, empty, zero, or in ASN.1.
func TestBrokenSignatures(t *testing.T) {
	text := []byte("text")
	pss := mustKey(t, rfcRSA, "PS256")
	pair := pss.signer().(*rsa.PrivateKey)
	for _, salt := range []int{1, 20, 222} { // RFC 7518, section 3.5, wants 32
		sig := sure(rsa.SignPSS(rand.Reader, pair, crypto.SHA256, pss.alg.digest(text), &rsa.PSSOptions{SaltLength: salt}))
		if pss.alg.verify(&pair.PublicKey, text, sig) {
			t.Errorf("PS256 accepts a salt of %d bytes", salt)
		}
	}
	for _, key := range []string{rfcRSA, rfcP256, opensslP384, rfcP521, rfcEd25519} {
		k := mustKey(t, key, "")
		sig, err := k.alg.sign(k.signer(), text)
		if err != nil {
			t.Fatal(err)
		}
		flipped := bytes.Clone(sig)
		flipped[len(sig)/2] ^= 1
		broken := [][]byte{nil, {}, sig[1:], sig[:len(sig)-1], append(bytes.Clone(sig), 0), append([]byte{0}, sig...), make([]byte, len(sig)),
			bytes.Repeat([]byte{0xff}, len(sig)), flipped}
		if private, ok := k.signer().(*ecdsa.PrivateKey); ok {
			der, err := ecdsa.SignASN1(rand.Reader, private, k.alg.digest(text))
			if err != nil {
				t.Fatal(err)
			}
			broken = append(broken, der)
		}
		for _, b := range broken {
			if k.alg.verify(k.public.key, text, b) {
				t.Errorf("%s accepts %x", k.Algorithm(), b)
			}
		}
	}
}

// RFC 7638, section 3.1; RFC 8037, appendix A.3; RFC 9449, section 6.
func TestThumbprint(t *testing.T) {
	for want, key := range map[string]string{
		"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs": `{"kty":"RSA","n":"` +
			"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4" +
			"Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhA" +
			`I4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}`,
		"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k": `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`,
		"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I": `{"kty":"EC","x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",` +
			`"y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA","crv":"P-256"}`,
	} {
		if got := mustPublic(t, key).thumbprint(); got != want {
			t.Errorf("thumbprint %s, want %s", got, want)
		}
	}
	if a, b := mustKey(t, rfcP521, ""), mustKey(t, rfcP521, ""); a.Thumbprint() != b.Thumbprint() || len(a.Thumbprint()) != 43 {
		t.Errorf("thumbprints %s and %s of one key", a.Thumbprint(), b.Thumbprint())
	}
}

func pemText(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// sure is for what cannot fail on a good key.
func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// AUTH-198
func TestParseKey(t *testing.T) {
	pair := mustKey(t, rfcRSA, "").signer().(*rsa.PrivateKey)
	curve := mustKey(t, rfcP256, "").signer().(*ecdsa.PrivateKey)
	edwards := mustKey(t, rfcEd25519, "").signer()
	for _, test := range []struct {
		name, text, alg, want, jwk string
	}{
		{"RSA PKCS#8", pemText("PRIVATE KEY", sure(x509.MarshalPKCS8PrivateKey(pair))), "", "RS256", rfcRSA},
		{"RSA PKCS#1", pemText("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(pair)), "PS384", "PS384", rfcRSA},
		{"EC PKCS#8", pemText("PRIVATE KEY", sure(x509.MarshalPKCS8PrivateKey(curve))), "ES256", "ES256", rfcP256},
		{"EC SEC 1", pemText("EC PRIVATE KEY", sure(x509.MarshalECPrivateKey(curve))), "", "ES256", rfcP256},
		{"Ed25519 PKCS#8", pemText("PRIVATE KEY", sure(x509.MarshalPKCS8PrivateKey(edwards))), "", "EdDSA", rfcEd25519},
		{"behind a certificate", "x\n" + pemText("CERTIFICATE", []byte("x")) + pemText("EC PRIVATE KEY", sure(x509.MarshalECPrivateKey(curve))), "", "ES256", rfcP256},
		{"with a mark and space", "\xEF\xBB\xBF\n " + rfcP256 + "\n", "", "ES256", rfcP256},
		{"P-384", opensslP384, "", "ES384", ""},
		{"P-521", rfcP521, "", "ES512", rfcP521},
		{"a JWK that says which", `{"alg":"PS512","kid":"a","use":"sig","key_ops":["sign"],` + rfcRSA[1:], "", "PS512", rfcRSA},
		{"a JWK that says the same", `{"alg":"PS512",` + rfcRSA[1:], "PS512", "PS512", rfcRSA},
		{"zeros in front", strings.Replace(rfcRSA, `"AQAB"`, `"AAEAAQ"`, 1), "", "RS256", rfcRSA},
	} {
		k, err := ParseKey([]byte(test.text), test.alg)
		if err != nil || k.Algorithm() != test.want {
			t.Errorf("%s: %v, %v, want %s", test.name, k, err, test.want)
			continue
		}
		if test.jwk != "" && k.Thumbprint() != mustKey(t, test.jwk, "").Thumbprint() {
			t.Errorf("%s: another key", test.name)
		}
		if want := map[bool]string{true: "a"}[strings.Contains(test.text, `"kid"`)]; k.ID != want {
			t.Errorf("%s: id %q, want %q", test.name, k.ID, want)
		}
	}
}

// replaced is the JWK with members set, or removed by null.
func replaced(t testing.TB, jwk string, members map[string]any) string {
	t.Helper()
	all := map[string]any{}
	if err := json.Unmarshal([]byte(jwk), &all); err != nil {
		t.Fatal(err)
	}
	maps.Copy(all, members)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return string(sure(marshal(all)))
}

// AUTH-460: no error has a part of the key in it.
func TestParseKeyRefuses(t *testing.T) {
	small, err := x509.MarshalPKCS8PrivateKey(sure(rsa.GenerateKey(rand.Reader, 1024)))
	if err != nil {
		t.Fatal(err)
	}
	short := sure(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	agreement := sure(sure(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).ECDH())
	exchange := append([]byte("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x6e\x04\x22\x04\x20"), agreement.Bytes()...) // X25519
	three := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: big.NewInt(1), E: 65537}}
	order := big.NewInt(1)
	for len(three.Primes) < 3 {
		p := sure(rand.Prime(rand.Reader, 720))
		if new(big.Int).Mod(p, big.NewInt(65537)).Int64() == 1 {
			continue // the exponent would have no inverse
		}
		three.Primes = append(three.Primes, p)
		three.N.Mul(three.N, p)
		order.Mul(order, new(big.Int).Sub(p, big.NewInt(1)))
	}
	three.D = new(big.Int).ModInverse(big.NewInt(65537), order)
	other := mustScan(t, string(sure(GenerateKey("ES256")).private())).member("d").str()
	groupOrder := encode64(elliptic.P256().Params().N.Bytes())
	set := func(jwk, name string, v any) string { return replaced(t, jwk, map[string]any{name: v}) }
	for _, test := range []struct{ text, alg, want string }{
		{"", "", "neither a PEM text with a private key nor a JWK"},
		{"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "", "neither a PEM text with a private key nor a JWK"},
		{pemText("PRIVATE KEY", []byte("x")), "", `PEM block "PRIVATE KEY" is damaged, encrypted, or no key that signs`},
		{pemText("ENCRYPTED PRIVATE KEY", []byte("x")), "", `PEM block "ENCRYPTED PRIVATE KEY" is damaged, encrypted, or no key that signs`},
		{pemText("PRIVATE KEY", exchange), "", `PEM block "PRIVATE KEY" is damaged, encrypted, or no key that signs`},
		{pemText("PRIVATE KEY", small), "", "RSA with 1024 bits, want 2048 to 8192"},
		{pemText("EC PRIVATE KEY", sure(x509.MarshalECPrivateKey(short))), "", `no algorithm "" for a key of this type`},
		{pemText("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(three)), "", "RSA with more than two primes"},
		{rfcP256, "ES384", `no algorithm "ES384" for a key of this type`},
		{rfcRSA, "ES256", `no algorithm "ES256" for a key of this type`},
		{rfcRSA, "HS256", `no algorithm "HS256" for a key of this type`},
		{rfcEd25519, "none", `no algorithm "none" for a key of this type`},
		{`{"alg":"RS256",` + rfcRSA[1:], "PS256", `algorithm "PS256" for a JWK of RS256`},
		{`{"alg":"RS256",` + rfcP256[1:], "", `algorithm "RS256" is not for keys of type EC`},
		{`{"kty":"EC",` + rfcP256[1:], "", "the JWK is not JSON, or repeats a name"},
		{`{"kty":"oct","k":"AAAA"}`, "", `no signatures with keys of type "oct", curve ""`},
		{`{"kty":"OKP","crv":"X25519","x":"AAAA"}`, "", `no signatures with keys of type "OKP", curve "X25519"`},
		{set(rfcP256, "crv", "secp256k1"), "", `curve "secp256k1" is not P-256, P-384 or P-521`},
		{set(rfcP256, "d", nil), "", "d of the JWK is not base64url"},
		{set(rfcP256, "d", 7), "", "d of the JWK is not base64url"},
		{set(rfcP256, "d", "AAAA"), "", "d of the JWK has 3 bytes, want 32"},
		{set(rfcP256, "d", encode64(make([]byte, 32))), "", "the private part of the JWK is out of range, or has more than two primes"},
		{set(rfcP256, "d", groupOrder), "", "the private part of the JWK is out of range, or has more than two primes"},
		{set(rfcP256, "d", other), "", "the private part of the JWK belongs to another public part"},
		{set(rfcEd25519, "d", other), "", "the private part of the JWK belongs to another public part"},
		{set(rfcRSA, "d", "Aw"), "", "the private part of the JWK is out of range, or has more than two primes"},
		{set(rfcRSA, "p", nil), "", "p of the JWK is not base64url"},
		{set(rfcRSA, "p", "AA"), "", "the private part of the JWK is out of range, or has more than two primes"},
		{set(rfcRSA, "q", "AQ"), "", "the private part of the JWK is out of range, or has more than two primes"},
		{set(rfcRSA, "oth", []any{}), "", "the private part of the JWK is out of range, or has more than two primes"},
		{set(rfcRSA, "kid", 1), "", "kid is not a string"},
	} {
		k, err := ParseKey([]byte(test.text), test.alg)
		if want := "mcp: private key: " + test.want; err == nil || err.Error() != want || k != nil {
			t.Errorf("%.60s: %v, want %s", test.text, err, want)
		}
	}
	if _, err := GenerateKey("HS256"); err == nil || err.Error() != `mcp: new key: algorithm "HS256" is not known` {
		t.Error(err)
	}
	if k, err := GenerateKey(""); err != nil || k.Algorithm() != "ES256" {
		t.Error(k, err)
	}
}

// What prints a key, or what has one, shows nothing of its private part.
//
// AUTH-460
func TestKeyShowsNothing(t *testing.T) {
	for _, text := range []string{rfcRSA, rfcP256, opensslP384, rfcP521, rfcEd25519} {
		k := mustKey(t, text, "")
		k.ID = "my-key"
		if got, want := k.String(), "Key("+k.Algorithm()+` "my-key")`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		type hidden struct {
			key  Key
			more *Key
		}
		nested := hidden{*k, k}
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X"} {
			for _, v := range []any{k, *k, nested, &nested, []*Key{k}, []Key{*k}, map[string]any{"k": *k}} {
				fmt.Fprintf(&out, verb+"\n", v)
			}
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("m", "k", k, "v", *k, "n", nested, "l", []*Key{k})
		}
		out.Write(sure(json.Marshal([]any{k, *k, nested})))
		jwk := mustScan(t, string(k.private()))
		for _, name := range privateMembers {
			secret, _ := decode64(jwk.member(name).str())
			if len(secret) == 0 {
				continue
			}
			n := new(big.Int).SetBytes(secret)
			for _, form := range []string{string(secret[:8]), encode64(secret)[:10], hex.EncodeToString(secret)[:12], n.String()[:12],
				strings.Trim(fmt.Sprint(secret[:6]), "[]"), strings.ToUpper(hex.EncodeToString(secret)[:12])} {
				if strings.Contains(out.String(), form) {
					t.Errorf("%s shows %s as %q", k, name, form)
				}
			}
		}
	}
	var empty Key
	if s, err := empty.sign(nil, nil); err == nil || s != "" || empty.Public() == nil || empty.Thumbprint() != "" || empty.Algorithm() != "" || empty.String() != `Key( "")` {
		t.Errorf("%v signs %q: %v", empty, s, err)
	}
	if _, err := empty.proof("GET", "https://a.example", "", ""); err == nil {
		t.Error("an empty key makes a proof")
	}
}

// HOSTILE-63: private keys, secrets, and points that are none.
func TestParsePublicJWKRefuses(t *testing.T) {
	p256, p521, ed := string(mustKey(t, rfcP256, "").Public()), string(mustKey(t, rfcP521, "").Public()), string(mustKey(t, rfcEd25519, "").Public())
	pair := string(mustKey(t, rfcRSA, "").Public())
	set := func(jwk, name string, v any) string { return replaced(t, jwk, map[string]any{name: v}) }
	x := mustScan(t, p256).member("x").str()
	big8200 := append([]byte{0x80}, make([]byte, 1024)...)
	big8200[1024] = 1
	for _, test := range []struct{ jwk, want string }{
		{set(p256, "d", "AAAA"), "the JWK has d, which is not public"},
		{set(p256, "d", json.RawMessage("null")), "the JWK has d, which is not public"},
		{set(pair, "p", "AAAA"), "the JWK has p, which is not public"},
		{set(pair, "q", ""), "the JWK has q, which is not public"},
		{set(pair, "dp", "AAAA"), "the JWK has dp, which is not public"},
		{set(pair, "dq", "AAAA"), "the JWK has dq, which is not public"},
		{set(pair, "qi", "AAAA"), "the JWK has qi, which is not public"},
		{set(pair, "oth", []any{}), "the JWK has oth, which is not public"},
		{set(ed, "d", "AAAA"), "the JWK has d, which is not public"},
		{`{"kty":"oct","k":"AAAA"}`, "the JWK has k, which is not public"},
		{`{"kty":"oct"}`, `no signatures with keys of type "oct", curve ""`},
		{`{"kty":"ec"}`, `no signatures with keys of type "ec", curve ""`},
		{`{}`, `no signatures with keys of type "", curve ""`},
		{`[]`, `no signatures with keys of type "", curve ""`},
		{`null`, `no signatures with keys of type "", curve ""`},
		{set(p256, "kty", "RSA"), "n of the JWK is not base64url"},
		{set(p256, "crv", "P-384"), "x of the JWK has 32 bytes, want 48"},
		{set(p256, "crv", "p-256"), `curve "p-256" is not P-256, P-384 or P-521`},
		{set(p256, "x", nil), "x of the JWK is not base64url"},
		{set(p256, "x", x+"="), "x of the JWK is not base64url"},
		{set(p256, "x", x+"\n"), "x of the JWK is not base64url"},
		{set(p256, "x", x[:20]+"\r\n"+x[20:]), "x of the JWK is not base64url"},
		{set(p256, "x", x[:42]+"V"), "x of the JWK is not base64url"}, // bits left over
		{set(p256, "x", strings.ReplaceAll(x, "U", "+")), "x of the JWK is not base64url"},
		{set(p256, "x", "AA"+x), "x of the JWK is not base64url"},
		{set(p256, "x", "AAAA"+x), "x of the JWK has 35 bytes, want 32"},
		{set(p256, "y", x), "x and y of the JWK are not on its curve"},
		{replaced(t, p256, map[string]any{"x": encode64(make([]byte, 32)), "y": encode64(make([]byte, 32))}), "x and y of the JWK are not on its curve"},
		{replaced(t, p256, map[string]any{"x": encode64(bytes.Repeat([]byte{255}, 32))}), "x and y of the JWK are not on its curve"},
		{set(p521, "y", mustScan(t, p521).member("y").str()[4:]), "y of the JWK has 63 bytes, want 66"},
		{set(ed, "x", "AAAA"), "x of the JWK has 3 bytes, want 32"},
		{set(ed, "crv", "Ed448"), `no signatures with keys of type "OKP", curve "Ed448"`},
		{set(ed, "crv", "X25519"), `no signatures with keys of type "OKP", curve "X25519"`},
		{set(pair, "n", "AQAB"), "RSA with 17 bits, want 2048 to 8192"},
		{set(pair, "n", encode64(big8200)), "RSA with 8200 bits, want 2048 to 8192"},
		{set(pair, "n", encode64(append([]byte{0x80}, make([]byte, 255)...))), "RSA with an even modulus, or an exponent that is even or below 3"},
		{set(pair, "e", "AQ"), "RSA with an even modulus, or an exponent that is even or below 3"},
		{set(pair, "e", "AQAA"), "RSA with an even modulus, or an exponent that is even or below 3"},
		{set(pair, "e", "gAAAAQ"), "RSA with an exponent of more than 31 bits"},
		{set(pair, "e", ""), "e of the JWK is not base64url"},
		{set(pair, "e", 65537), "e of the JWK is not base64url"},
		{set(p256, "alg", "ES384"), `algorithm "ES384" is not for keys of type EC`},
		{set(p256, "alg", "ECDH-ES"), `algorithm "ECDH-ES" is not for keys of type EC`},
		{set(pair, "alg", "HS256"), `algorithm "HS256" is not for keys of type RSA`},
		{set(pair, "alg", 1), "alg is not a string"},
		{set(pair, "use", []any{"sig"}), "use is not a string"},
		{set(pair, "kid", 1), "kid is not a string"},
		{set(pair, "key_ops", []any{"sign"}), "the JWK is not for verifying"},
		{set(pair, "key_ops", []any{}), "the JWK is not for verifying"},
	} {
		k, err := parsePublicJWK(mustScan(t, test.jwk))
		if err == nil || err.Error() != test.want || k != nil {
			t.Errorf("%.80s: %v, want %s", test.jwk, err, test.want)
		}
	}
	for _, jwk := range []string{p256, p521, pair, ed, set(p256, "use", nil), set(p256, "alg", nil), set(p256, "key_ops", []any{"verify"}), set(p256, "x5c", []any{1})} {
		mustPublic(t, jwk)
	}
}

// A set keeps the keys that are fit, in order.
func TestParseJWKS(t *testing.T) {
	var texts []string
	for i, key := range []string{rfcRSA, rfcP256, rfcEd25519} {
		k := mustKey(t, key, "")
		k.ID = fmt.Sprint("k", i)
		texts = append(texts, string(k.Public()))
	}
	list := func(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `],"more":1}` }
	for _, test := range []struct {
		text string
		want []string
		err  string
	}{
		{text: list()},
		{text: list(texts...), want: []string{"k0", "k1", "k2"}},
		{text: list(`{"kty":"oct","k":"AAAA"}`, texts[1], `7`, `null`, rfcP256, `{"kty":"EC"}`, texts[0]), want: []string{"k1", "k0"}},
		{text: list(slices.Repeat(texts[2:], 100)...), want: slices.Repeat([]string{"k2"}, 100)},
		{text: list(slices.Repeat([]string{"0"}, 101)...), err: "key set: more than 100 keys"},
		{text: `{"keys":{}}`, err: "key set: keys is not an array"},
		{text: `{"Keys":[]}`, err: "key set: keys is not an array"},
		{text: `[]`, err: "key set: keys is not an array"},
		{text: `{"keys":[],"keys":[]}`, err: `key set: name "keys" is repeated at byte 11`},
		{text: `{"keys":[`, err: "key set: not JSON: unexpected end at byte 9"},
	} {
		keys, err := parseJWKS([]byte(test.text))
		var got []string
		for _, k := range keys {
			got = append(got, k.id)
		}
		if fmt.Sprint(err) != fmt.Sprint(errOrNil(test.err)) || !slices.Equal(got, test.want) {
			t.Errorf("%.80s: %v, %v, want %v, %s", test.text, got, err, test.want, test.err)
		}
	}
}

func errOrNil(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// AUTH-277 HOSTILE-54: neither none, nor a public key as a shared secret, nor a second
// reading of one text.
func TestParseJWTRefuses(t *testing.T) {
	k := mustKey(t, rfcP256, "")
	good := craft(t, k, `{"alg":"ES256"}`, `{"secret":"xyzzy"}`)
	if _, err := parseJWT(good); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	const shape = "not three parts in base64url"
	for _, test := range []struct{ token, want string }{
		{"", shape},
		{".", shape},
		{"..", "header: not one JSON object without repeated names"},
		{parts[0] + "." + parts[1], shape},
		{good + ".", shape},
		{good + "." + parts[2], shape},
		{good + "=", shape},
		{good + "\n", shape},
		{" " + good, shape},
		{parts[0] + "\n." + parts[1] + "." + parts[2], shape},
		{parts[0] + "." + parts[1][:4] + "\r" + parts[1][4:] + "." + parts[2], shape},
		{parts[0] + "." + parts[1] + "." + parts[2][:85] + "B", shape}, // bits left over
		{parts[0] + "." + parts[1] + ".+" + parts[2][1:], shape},
		{strings.Repeat("A", 16<<10+1), "a token of 16385 bytes, at most 16384 are read"},
		{strings.Repeat("A", 16<<10), shape},
		{craft(t, k, `{"alg":"none"}`, `{}`), `algorithm "none" is not allowed`},
		{encode64([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", `algorithm "none" is not allowed`},
		{craft(t, k, `{"alg":"None"}`, `{}`), `algorithm "None" is not allowed`},
		{craft(t, k, `{"alg":"HS256"}`, `{}`), `algorithm "HS256" is not allowed`},
		{craft(t, k, `{"alg":"es256"}`, `{}`), `algorithm "es256" is not allowed`},
		{craft(t, k, `{"alg":"ES256K"}`, `{}`), `algorithm "ES256K" is not allowed`},
		{craft(t, k, `{"alg":""}`, `{}`), `algorithm "" is not allowed`},
		{craft(t, k, `{}`, `{}`), `algorithm "" is not allowed`},
		{craft(t, k, `{"Alg":"ES256"}`, `{}`), `algorithm "" is not allowed`},
		{craft(t, k, `{"alg":null}`, `{}`), "alg is not a string"},
		{craft(t, k, `{"alg":["ES256"]}`, `{}`), "alg is not a string"},
		{craft(t, k, `{"alg":"ES256","kid":1}`, `{}`), "kid is not a string"},
		{craft(t, k, `{"alg":"ES256","typ":{}}`, `{}`), "typ is not a string"},
		{craft(t, k, `{"alg":"ES256","crit":["b64"],"b64":false}`, `{}`), "the header has crit"},
		{craft(t, k, `{"alg":"ES256","crit":[]}`, `{}`), "the header has crit"},
		{craft(t, k, `{"alg":"ES256","crit":null}`, `{}`), "the header has crit"},
		{craft(t, k, `{"alg":"none","\u0061lg":"ES256"}`, `{}`), "header: not one JSON object without repeated names"},
		{craft(t, k, `{"alg":"ES256"} {}`, `{}`), "header: not one JSON object without repeated names"},
		{craft(t, k, `["ES256"]`, `{}`), "header: not one JSON object without repeated names"},
		{craft(t, k, `{"alg":"ES256"}`, `{"xyzzy":1,"xyzzy":2}`), "claims: not one JSON object without repeated names"},
		{craft(t, k, `{"alg":"ES256"}`, `"xyzzy"`), "claims: not one JSON object without repeated names"},
		{craft(t, k, `{"alg":"ES256"}`, ``), "claims: not one JSON object without repeated names"},
		{craft(t, k, `{"alg":"ES256"}`, "{\"xyzzy\":\"\xff\"}"), "claims: not one JSON object without repeated names"},
		{craft(t, k, `{"alg":"ES256"}`, strings.Repeat(`{"a":`, 1001)+"1"+strings.Repeat("}", 1001)), "claims: not one JSON object without repeated names"},
	} {
		token, err := parseJWT(test.token)
		if err == nil || err.Error() != test.want || token != nil {
			t.Errorf("%.80s: %v, %v, want %s", test.token, token, err, test.want)
		}
	}
}

// A right signature is not enough: the key must be one for it.
//
// AUTH-277 AUTH-387 AUTH-402
func TestVerifyRefuses(t *testing.T) {
	pair, p256 := mustKey(t, rfcRSA, ""), mustKey(t, rfcP256, "")
	rs256 := craft(t, pair, `{"alg":"RS256"}`, `{}`)
	for _, test := range []struct {
		token string
		key   publicKey
		want  string
	}{
		{rs256, publicKey{key: pair.public.key}, "<nil>"},
		{rs256, publicKey{key: pair.public.key, alg: "RS256", use: "sig", id: "x"}, "<nil>"},
		{rs256, publicKey{key: pair.public.key, alg: "PS256"}, `algorithm "RS256" is not the key's`},
		{rs256, publicKey{key: pair.public.key, use: "enc"}, `the key is for "enc", not for signatures`},
		{rs256, publicKey{key: p256.public.key}, `algorithm "RS256" is not the key's`},
		{rs256, publicKey{key: []byte("secret")}, `algorithm "RS256" is not the key's`},
		{rs256, publicKey{}, `algorithm "RS256" is not the key's`},
		{craft(t, pair, `{"alg":"PS256"}`, `{}`), publicKey{key: pair.public.key}, "the signature is wrong"},
		{craft(t, pair, `{"alg":"RS512"}`, `{}`), publicKey{key: pair.public.key}, "the signature is wrong"},
		{craft(t, p256, `{"alg":"ES384"}`, `{}`), publicKey{key: p256.public.key}, `algorithm "ES384" is not the key's`},
		{craft(t, p256, `{"alg":"EdDSA"}`, `{}`), publicKey{key: p256.public.key}, `algorithm "EdDSA" is not the key's`},
		{craft(t, p256, `{"alg":"RS256"}`, `{}`), publicKey{key: p256.public.key}, `algorithm "RS256" is not the key's`},
		{strings.Replace(craft(t, p256, `{"alg":"ES256"}`, `{}`), ".e30.", ".e30g.", 1), publicKey{key: p256.public.key}, "the signature is wrong"},
		{strings.Replace(craft(t, p256, `{"alg":"ES256"}`, `{"a":1}`), encode64([]byte(`{"a":1}`)), encode64([]byte(`{"a":2}`)), 1), publicKey{key: p256.public.key}, "the signature is wrong"},
	} {
		token, err := parseJWT(test.token)
		if err != nil {
			t.Errorf("%.80s: %v", test.token, err)
			continue
		}
		if err := token.verify(&test.key); fmt.Sprint(err) != test.want {
			t.Errorf("%.80s: %v, want %s", test.token, err, test.want)
		}
	}
}

// What is not of the form that RFC 7519 gives a claim is absent.
func TestClaims(t *testing.T) {
	claims := func(text string) *jwt {
		token, err := parseJWT(craft(t, mustKey(t, rfcEd25519, ""), `{"alg":"EdDSA"}`, text))
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for text, want := range map[string]time.Time{
		`0`: time.Unix(0, 0), `1300819380`: time.Unix(1300819380, 0), `1.30081938e9`: time.Unix(1300819380, 0),
		`1300819380.5`: time.Unix(1300819380, 5e8), `253402300799`: time.Unix(253402300799, 0), `-0`: time.Unix(0, 0),
		`-1`: {}, `1e400`: {}, `1e12`: {}, `253402300800`: {}, `1300819380000`: {}, `"1300819380"`: {}, `null`: {}, `true`: {}, `[1]`: {}, `-1e-9`: {},
		strings.Repeat("9", 4000): {}, "0." + strings.Repeat("0", 4000) + "1": time.Unix(0, 0),
	} {
		got, ok := claims(`{"exp":` + text + `}`).time("exp")
		if !got.Equal(want) || ok == want.IsZero() {
			t.Errorf("exp %.40s is %v, %v, want %v", text, got, ok, want)
		}
	}
	if _, ok := claims(`{"Exp":1}`).time("exp"); ok {
		t.Error("Exp is taken for exp")
	}
	for text, want := range map[string][]string{
		`"a"`: {"a"}, `["a","b"]`: {"a", "b"}, `[]`: {}, `""`: {""}, `["a",1]`: nil, `{"a":"b"}`: nil, `null`: nil, `1`: nil, `[["a"]]`: nil, `[null]`: nil,
	} {
		got, ok := claims(`{"aud":` + text + `}`).audience()
		if !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("aud %s is %q, %v, want %q", text, got, ok, want)
		}
	}
	if got, ok := claims(`{}`).audience(); ok || got != nil {
		t.Errorf("no aud is %q", got)
	}
	for text, want := range map[string][]string{
		`{"scope":"a b"}`: {"a", "b"}, `{"scope":" a  b "}`: {"a", "b"}, `{"scope":""}`: nil, `{"scope":"a\tb"}`: {"a\tb"}, `{}`: nil,
		`{"scope":"a","scp":"b"}`: {"a"}, `{"scope":"","scp":"b"}`: nil, `{"scp":"a b"}`: {"a", "b"}, `{"scp":["a","b c"]}`: {"a", "b c"},
		`{"scope":["a","b"]}`: {"a", "b"}, `{"scp":["a",1]}`: nil, `{"scp":1}`: nil, `{"scope":null,"scp":"a"}`: nil,
	} {
		if got := claims(text).scopes(); !slices.Equal(got, want) {
			t.Errorf("%s: scopes %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{`"a\u0062"`: "ab", `1`: "", `null`: "", `["a"]`: "", `""`: ""} {
		if got := claims(`{"sub":` + text + `}`).text("sub"); got != want {
			t.Errorf("sub %s is %q, want %q", text, got, want)
		}
	}
}

// AUTH-460: neither a token that was read nor what it is checked with shows a text.
func TestJWTShowsNothing(t *testing.T) {
	text := craft(t, mustKey(t, rfcEd25519, ""), `{"alg":"EdDSA"}`, `{"sub":"xyzzy"}`)
	token, err := parseJWT(text)
	if err != nil {
		t.Fatal(err)
	}
	check := proofCheck{token: "plugh", method: "GET"}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+" "+verb+"\n", token, *token, check, &check)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("m", "t", token, "v", *token, "c", check, "p", &check)
	}
	for _, secret := range append(strings.Split(text, ".")[1:], "xyzzy", "plugh", hex.EncodeToString([]byte("plugh")), hex.EncodeToString([]byte(text[:20])), strings.Trim(fmt.Sprint([]byte(text[:20])), "[]")) {
		if strings.Contains(out.String(), secret) {
			t.Errorf("shows %q", secret)
		}
	}
}

// A proof has what RFC 9449, section 4.2, lists, and no more; each has its own jti.
//
// AUTH-411 AUTH-418
func TestProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, key := range []string{rfcP256, opensslP384, rfcP521, rfcEd25519, rfcRSA} {
			k := mustKey(t, key, "")
			public := sure(marshal(k.public.members()))
			seen := map[string]bool{}
			for _, test := range []struct{ url, token, nonce, want string }{
				{"https://a.example/mcp", "", "", `"htm":"POST","htu":"https://a.example/mcp","iat":946684800,"jti":"*"`},
				{"https://a.example", "", "", `"htm":"POST","htu":"https://a.example/","iat":946684800,"jti":"*"`},
				{"HTTPS://u:p@A.example:8443/a%2Fb/?q=1#f", "", "", `"htm":"POST","htu":"https://A.example:8443/a%2Fb/","iat":946684800,"jti":"*"`},
				{"https://a.example/mcp?", "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", "", // RFC 9449, section 7.1
					`"ath":"fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo","htm":"POST","htu":"https://a.example/mcp","iat":946684800,"jti":"*"`},
				{"https://a.example/mcp", "", "<n>", `"htm":"POST","htu":"https://a.example/mcp","iat":946684800,"jti":"*","nonce":"<n>"`},
			} {
				proof, err := k.proof("POST", test.url, test.token, test.nonce)
				if err != nil {
					t.Fatal(err)
				}
				token, err := parseJWT(proof)
				if err != nil {
					t.Fatal(err)
				}
				jti := token.text("jti")
				if seen[jti] || len(jti) < 22 {
					t.Errorf("jti %s", jti)
				}
				seen[jti] = true
				if got := strings.Replace(string(token.claims.raw()), jti, "*", 1); got != "{"+test.want+"}" {
					t.Errorf("claims %s, want %s", got, test.want)
				}
				if got, want := string(token.header.raw()), `{"alg":"`+k.Algorithm()+`","jwk":`+string(public)+`,"typ":"dpop+jwt"}`; got != want {
					t.Errorf("header %s, want %s", got, want)
				}
				c := proofCheck{method: "POST", url: test.url, token: test.token, jkt: k.Thumbprint(), now: time.Now()}
				if jkt, id, err := c.check(proof); err != nil || jkt != k.Thumbprint() || id != jti {
					t.Errorf("%s: %v", test.url, err)
				}
			}
		}
		p521 := mustKey(t, rfcP521, "").public.members()
		if !strings.HasPrefix(p521["y"].(string), "ADSm") || len(p521["y"].(string)) != 88 {
			t.Errorf("y is not padded: %v", p521["y"])
		}
	})
	k := mustKey(t, rfcP256, "")
	for _, u := range []string{"", "/mcp", "mailto:a", "https:///x?secret", "%zz?secret", "https://a.example:x/?secret"} {
		if _, err := k.proof("GET", u, "", ""); err == nil || err.Error() != "a proof for no absolute URL" {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// The proofs of RFC 9449, figures 2 and 13.
//
// AUTH-422
func TestProofVectors(t *testing.T) {
	const header = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCR" +
		"nMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19."
	const jkt = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
	atServer := header + "eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ." +
		"2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
	atResource := header + "eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9." +
		"2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA"
	server := proofCheck{method: "POST", url: "https://server.example.com/token?x=y", jkt: jkt, now: time.Unix(1562262616, 0)}
	if got, jti, err := server.check(atServer); err != nil || got != jkt || jti != "-BwC3ESc6acc2lTc" {
		t.Errorf("%s %s %v", got, jti, err)
	}
	resource := proofCheck{method: "GET", url: "https://resource.example.org/protectedresource", jkt: jkt,
		token: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", now: time.Unix(1562262618, 0)}
	if got, jti, err := resource.check(atResource); err != nil || got != jkt || jti != "e1j3V_bKic8-LAEB" {
		t.Errorf("%s %s %v", got, jti, err)
	}
}

// AUTH-422 AUTH-425 HOSTILE-63
func TestProofRefused(t *testing.T) {
	k, thief := mustKey(t, rfcP256, ""), sure(GenerateKey("ES256"))
	now := time.Unix(1700000000, 0)
	const token = "the.access.token"
	ath := sha256.Sum256([]byte(token))
	header := func() map[string]any {
		return map[string]any{"typ": "dpop+jwt", "alg": "ES256", "jwk": json.RawMessage(sure(marshal(k.public.members())))}
	}
	claims := func() map[string]any {
		return map[string]any{"jti": "1", "htm": "POST", "htu": "https://a.example/mcp", "iat": now.Unix(), "ath": encode64(ath[:]), "nonce": "fresh"}
	}
	check := proofCheck{method: "POST", url: "https://a.example/mcp?session=1", token: token, jkt: k.Thumbprint(), algs: []string{"EdDSA", "ES256"},
		now: now, nonce: func(n string) bool { return n == "fresh" }}
	run := func(c proofCheck, signer *Key, h, cl map[string]any) error {
		jkt, jti, err := c.check(craft(t, signer, string(sure(marshal(h))), string(sure(marshal(cl)))))
		if (err == nil) != (jkt == k.Thumbprint() && jti == cl["jti"]) {
			t.Errorf("jkt %q, jti %q, %v", jkt, jti, err)
		}
		return err
	}
	for _, test := range []struct {
		header, claims map[string]any // changes; nil removes
		want           string
	}{
		{want: "<nil>"},
		{header: map[string]any{"kid": "x"}, claims: map[string]any{"more": 1}, want: "<nil>"},
		{claims: map[string]any{"iat": now.Unix() - 300}, want: "<nil>"},
		{claims: map[string]any{"iat": now.Unix() + 300}, want: "<nil>"},
		{claims: map[string]any{"jti": strings.Repeat("x", 256)}, want: "<nil>"},
		{header: map[string]any{"typ": nil}, want: `type "", want dpop+jwt`},
		{header: map[string]any{"typ": "JWT"}, want: `type "JWT", want dpop+jwt`},
		{header: map[string]any{"typ": "DPoP+jwt"}, want: `type "DPoP+jwt", want dpop+jwt`},
		{header: map[string]any{"typ": "application/dpop+jwt"}, want: `type "application/dpop+jwt", want dpop+jwt`},
		{header: map[string]any{"alg": "none"}, want: `algorithm "none" is not allowed`},
		{header: map[string]any{"alg": "HS256"}, want: `algorithm "HS256" is not allowed`},
		{header: map[string]any{"alg": "ES384"}, want: "algorithm ES384, want one of [EdDSA ES256]"},
		{header: map[string]any{"alg": "EdDSA"}, want: `algorithm "EdDSA" is not the key's`},
		{header: map[string]any{"crit": []string{"x"}}, want: "the header has crit"},
		{header: map[string]any{"jwk": nil}, want: `no signatures with keys of type "", curve ""`},
		{header: map[string]any{"jwk": "x"}, want: `no signatures with keys of type "", curve ""`},
		{header: map[string]any{"jwk": json.RawMessage(k.private())}, want: "the JWK has d, which is not public"},
		{header: map[string]any{"jwk": json.RawMessage(`{"kty":"oct","k":"AAAA"}`)}, want: "the JWK has k, which is not public"},
		{header: map[string]any{"jwk": json.RawMessage(thief.Public())}, want: "the signature is wrong"},
		{claims: map[string]any{"jti": nil}, want: "a jti of 0 bytes, want 1 to 256"},
		{claims: map[string]any{"jti": ""}, want: "a jti of 0 bytes, want 1 to 256"},
		{claims: map[string]any{"jti": 1}, want: "a jti of 0 bytes, want 1 to 256"},
		{claims: map[string]any{"jti": strings.Repeat("x", 257)}, want: "a jti of 257 bytes, want 1 to 256"},
		{claims: map[string]any{"htm": nil}, want: "htm is another method"},
		{claims: map[string]any{"htm": "GET"}, want: "htm is another method"},
		{claims: map[string]any{"htm": "post"}, want: "htm is another method"},
		{claims: map[string]any{"htu": nil}, want: "htu is another URL, or has a query or a fragment"},
		{claims: map[string]any{"htu": "https://a.example/"}, want: "htu is another URL, or has a query or a fragment"},
		{claims: map[string]any{"htu": "https://a.example/mcp?session=1"}, want: "htu is another URL, or has a query or a fragment"},
		{claims: map[string]any{"htu": "https://a.example/mcp#"}, want: "htu is another URL, or has a query or a fragment"},
		{claims: map[string]any{"iat": nil}, want: "iat is not within 5m0s"},
		{claims: map[string]any{"iat": "1700000000"}, want: "iat is not within 5m0s"},
		{claims: map[string]any{"iat": now.Unix() - 301}, want: "iat is not within 5m0s"},
		{claims: map[string]any{"iat": now.Unix() + 301}, want: "iat is not within 5m0s"},
		{claims: map[string]any{"iat": now.Unix() * 1000}, want: "iat is not within 5m0s"},
		{claims: map[string]any{"iat": 0, "exp": now.Unix() + 60}, want: "iat is not within 5m0s"},
		{claims: map[string]any{"ath": nil}, want: "ath is of another token"},
		{claims: map[string]any{"ath": ""}, want: "ath is of another token"},
		{claims: map[string]any{"ath": hash64(token + "x")}, want: "ath is of another token"},
		{claims: map[string]any{"ath": encode64(ath[:]) + "="}, want: "ath is of another token"},
		{claims: map[string]any{"nonce": nil}, want: errUseNonce.Error()},
		{claims: map[string]any{"nonce": "stale"}, want: errUseNonce.Error()},
		{claims: map[string]any{"nonce": 7}, want: errUseNonce.Error()},
		{claims: map[string]any{"nonce": "stale", "ath": "x"}, want: "ath is of another token"},
	} {
		h, cl := header(), claims()
		maps.Copy(h, test.header)
		maps.Copy(cl, test.claims)
		maps.DeleteFunc(h, func(_ string, v any) bool { return v == nil })
		maps.DeleteFunc(cl, func(_ string, v any) bool { return v == nil })
		err := run(check, k, h, cl)
		if fmt.Sprint(err) != test.want || errors.Is(err, errUseNonce) != (test.want == errUseNonce.Error()) {
			t.Errorf("%v %v: %v, want %s", test.header, test.claims, err, test.want)
		}
	}
	loose := proofCheck{method: "POST", url: check.url, now: now}
	bare := claims()
	delete(bare, "ath")
	delete(bare, "nonce")
	if err := run(loose, k, header(), bare); err != nil {
		t.Errorf("neither token nor nonce nor key demanded: %v", err)
	}
	empty := check
	empty.algs, empty.nonce = []string{}, nil
	if err := run(empty, k, header(), claims()); err == nil || err.Error() != "algorithm ES256, want one of []" {
		t.Errorf("no algorithm is allowed: %v", err)
	}
	trusting := check
	trusting.nonce = func(string) bool { return true }
	bare["ath"] = encode64(ath[:])
	if err := run(trusting, k, header(), bare); err != errUseNonce {
		t.Errorf("no nonce where any is fresh: %v", err)
	}
	theirs := header()
	theirs["jwk"] = json.RawMessage(sure(marshal(thief.public.members())))
	if err := run(check, thief, theirs, claims()); err == nil || err.Error() != "the token is bound to another key" {
		t.Errorf("proof by another key: %v", err)
	}
	if _, _, err := check.check("x, y"); err == nil || err.Error() != "not three parts in base64url" {
		t.Errorf("two proofs in one header: %v", err)
	}
}

// AUTH-422
func TestSameTarget(t *testing.T) {
	for _, test := range []struct {
		htu, request string
		want         bool
	}{
		{"https://a.example/mcp", "https://a.example/mcp", true},
		{"https://a.example/mcp", "https://a.example/mcp?x=1&y", true},
		{"https://a.example/mcp", "https://a.example/mcp#f", true},
		{"HTTPS://A.Example:443/mcp", "https://a.example/mcp", true},
		{"https://a.example/mcp", "https://A.EXAMPLE:443/mcp", true},
		{"http://a.example:80/", "http://a.example", true},
		{"http://a.example", "http://a.example/?x", true},
		{"https://a.example:8443/", "https://a.example:8443", true},
		{"https://[::1]:443/a", "https://[::1]/a", true},
		{"https://a.example/%7euser", "https://a.example/~user", true},
		{"https://a.example/a%2fb", "https://a.example/a%2Fb", true},
		{"https://a.example/a%2Fb", "https://a.example/a/b", false},
		{"https://a.example/MCP", "https://a.example/mcp", false},
		{"https://a.example/mcp/", "https://a.example/mcp", false},
		{"https://a.example/mcp", "https://a.example/mcp/", false},
		{"https://a.example/", "https://a.example/mcp", false},
		{"https://a.example:8443/", "https://a.example/", false},
		{"https://a.example:80/", "https://a.example/", false},
		{"http://a.example/", "https://a.example/", false},
		{"https://b.example/", "https://a.example/", false},
		{"https://a.example/mcp?", "https://a.example/mcp", false},
		{"https://a.example/mcp?x=1", "https://a.example/mcp?x=1", false},
		{"https://a.example/mcp#", "https://a.example/mcp", false},
		{"https://u@a.example/mcp", "https://a.example/mcp", false},
		{"//a.example/mcp", "https://a.example/mcp", false},
		{"/mcp", "/mcp", false},
		{"", "", false},
		{"https:a.example", "https:a.example", false},
		{"https://a.example/%zz", "https://a.example/%zz", false},
	} {
		if got := sameTarget(test.htu, test.request); got != test.want {
			t.Errorf("%s for %s: %v", test.htu, test.request, got)
		}
	}
}

// A token that is read is in the one form that its parts have, and no text but a signed
// one is verified.
func FuzzJWT(f *testing.F) {
	var keys []*publicKey
	signed := map[string]bool{}
	for _, s := range opensslSigned {
		k := *mustKey(f, s.key, "").public
		k.alg = ""
		keys = append(keys, &k)
		signed[opensslText(s.alg)] = true
		f.Add(opensslText(s.alg) + "." + s.sig)
	}
	k := mustKey(f, rfcEd25519, "")
	for _, header := range []string{`{"alg":"EdDSA","kid":"a","typ":"at+jwt"}`, `{"alg":"none"}`, `{"alg":"EdDSA","crit":[]}`} {
		for _, claims := range []string{`{"aud":["a"],"exp":1.5,"scope":"a b"}`, `{"aud":"a","exp":1e99,"scp":["a"]}`, `[]`} {
			text := craft(f, k, header, claims)
			signed[text[:strings.LastIndexByte(text, '.')]] = true
			f.Add(text)
		}
	}
	f.Add("a.b.c")
	f.Add("..\n")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := parseJWT(text)
		if err != nil {
			return
		}
		if len(text) > maxJWT || encode64(token.header.ix.data)+"."+encode64(token.claims.ix.data)+"."+encode64(token.sig) != text {
			t.Fatalf("%q is read, and is not in its one form", text)
		}
		if at, ok := token.time("exp"); ok && (at.Unix() < 0 || at.Year() > 9999) || !ok && !at.IsZero() {
			t.Fatalf("exp %v, %v", at, ok)
		}
		if _, ok := token.audience(); ok && !token.claims.member("aud").present() {
			t.Fatal("an audience from nowhere")
		}
		for _, s := range token.scopes() {
			if token.claims.member("scope").kind() == kindString && (s == "" || strings.Contains(s, " ")) {
				t.Fatalf("scope %q", s)
			}
		}
		for _, k := range keys {
			if err := token.verify(k); err == nil && !signed[string(token.signed)] {
				t.Fatalf("%q is verified", text)
			}
		}
	})
}

// A key that is accepted is the same after being written and read, and signs nothing.
func FuzzJWKS(f *testing.F) {
	for _, key := range []string{rfcRSA, rfcP256, opensslP384, rfcP521, rfcEd25519} {
		f.Add(append(append([]byte(`{"keys":[`), mustKey(f, key, "").Public()...), "]}"...))
	}
	f.Add([]byte(`{"keys":[` + rfcP256 + `,{"kty":"oct","k":"AA"},{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"OKP","crv":"Ed25519","x":""}]}`))
	f.Add([]byte(`{"keys":[],"keys":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parseJWKS(data)
		if len(keys) > maxKeys || err != nil && keys != nil {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			text := sure(marshal(k.members()))
			again, err := parsePublicJWK(mustScan(t, string(text)))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			same := k.key.(interface{ Equal(crypto.PublicKey) bool }).Equal(again.key)
			if !same || again.thumbprint() != k.thumbprint() || len(k.thumbprint()) != 43 {
				t.Fatalf("%s is read back as another key", text)
			}
			for _, a := range algorithms {
				if a.hash != 0 && a.fits(k.key) && a.verify(k.key, []byte("text"), make([]byte, 64)) {
					t.Fatalf("%s accepts nothing as a signature", text)
				}
			}
		}
	})
}

// A private key that is accepted signs, and is the same after being written and read.
func FuzzKey(f *testing.F) {
	for _, key := range []string{rfcRSA, rfcP256, opensslP384, rfcP521, rfcEd25519} {
		f.Add([]byte(key), "")
		f.Add([]byte(pemText("PRIVATE KEY", sure(x509.MarshalPKCS8PrivateKey(mustKey(f, key, "").signer())))), "RS256")
	}
	f.Add([]byte(replaced(f, rfcRSA, map[string]any{"p": "AA", "d": "AA"})), "PS256")
	f.Fuzz(func(t *testing.T, data []byte, alg string) {
		k, err := ParseKey(data, alg)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "mcp: private key: ") || len(err.Error()) > 400 {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseKey(k.private(), k.Algorithm())
		if err != nil || again.Thumbprint() != k.Thumbprint() || again.ID != k.ID && k.ID != strings.ToValidUTF8(k.ID, "") {
			t.Fatalf("%v is read back as %v: %v", k, again, err)
		}
		text, err := k.sign(nil, map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		token, err := parseJWT(text)
		if err != nil {
			if len(k.ID) < 10000 {
				t.Fatal(err)
			}
			return
		}
		if err := token.verify(again.public); err != nil {
			t.Fatal(err)
		}
	})
}

// The check of a token, and the signature's share of it.
func BenchmarkJWTVerify(b *testing.B) {
	claims := `{"iss":"https://auth.example.com","sub":"user-1234567890","aud":["https://mcp.example.com/mcp"],"client_id":"client-1","exp":1900000000,` +
		`"iat":1700000000,"jti":"0123456789abcdef","scope":"files:read files:write tools:call"}`
	for _, key := range []string{rfcP256, rfcRSA, rfcEd25519} {
		k := mustKey(b, key, "")
		text := craft(b, k, `{"alg":"`+k.Algorithm()+`","typ":"at+jwt","kid":"2024-01"}`, claims)
		b.Run(k.Algorithm(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				token, err := parseJWT(text)
				if err != nil {
					b.Fatal(err)
				}
				if err := token.verify(k.public); err != nil {
					b.Fatal(err)
				}
				if _, ok := token.time("exp"); !ok || len(token.scopes()) != 3 {
					b.Fatal("claims")
				}
			}
		})
		token := sure(parseJWT(text))
		b.Run(k.Algorithm()+"/signature", func(b *testing.B) {
			for b.Loop() {
				if err := token.verify(k.public); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkProof(b *testing.B) {
	k := mustKey(b, rfcP256, "")
	const url, token = "https://mcp.example.com/mcp", "the.access.token"
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := k.proof("POST", url, token, "nonce"); err != nil {
				b.Fatal(err)
			}
		}
	})
	proof := sure(k.proof("POST", url, token, "nonce"))
	c := proofCheck{method: "POST", url: url, token: token, jkt: k.Thumbprint(), now: time.Now(), nonce: func(string) bool { return true }}
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := c.check(proof); err != nil {
				b.Fatal(err)
			}
		}
	})
}
