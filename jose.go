package mcp

// What is signed: keys and sets of keys (JWK: RFC 7517, 7518, 7638 and 8037), tokens
// (JWS and JWT: RFC 7515 and 7519), and proofs of possession (DPoP: RFC 9449). All
// algorithms are asymmetric, and one counts only with a key of its own type and curve.
// So neither "none" nor a public key taken for a shared secret can pass. It stands on
// json.go; the files of authorization sign and verify with it.

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512" // for SHA-384 and SHA-512 by number
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	maxJWT      = 16 << 10 // bytes of a token that is read
	maxKeys     = 100      // keys of a set
	minRSA      = 2048     // bits (RFC 7518, section 3.3)
	maxRSA      = 8192     // bits; beyond, one check takes too long
	maxJTI      = 256      // bytes of a proof's identifier, which a server may have to keep
	proofWindow = 300 * time.Second
	typeProof   = "dpop+jwt"
	lastSecond  = 253402300799 // of the year 9999
)

// An algorithm signs (RFC 7518, section 3; RFC 8037, section 3.1).
type algorithm struct {
	name  string
	hash  crypto.Hash    // 0: the text itself is signed, by Ed25519
	curve elliptic.Curve // nil: not ECDSA
	pss   bool
}

// algorithms has the natural one of each type of key before the others.
var algorithms = []algorithm{
	{name: "ES256", hash: crypto.SHA256, curve: elliptic.P256()},
	{name: "ES384", hash: crypto.SHA384, curve: elliptic.P384()},
	{name: "ES512", hash: crypto.SHA512, curve: elliptic.P521()},
	{name: "RS256", hash: crypto.SHA256},
	{name: "RS384", hash: crypto.SHA384},
	{name: "RS512", hash: crypto.SHA512},
	{name: "PS256", hash: crypto.SHA256, pss: true},
	{name: "PS384", hash: crypto.SHA384, pss: true},
	{name: "PS512", hash: crypto.SHA512, pss: true},
	{name: "EdDSA"},
}

// findAlgorithm returns the algorithm with the name, or nil.
func findAlgorithm(name string) *algorithm {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &algorithms[i]
}

// fits reports whether keys of this type and curve are for the algorithm.
func (a *algorithm) fits(key crypto.PublicKey) bool {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return key.Curve == a.curve
	case *rsa.PublicKey:
		return a.curve == nil && a.hash != 0
	case ed25519.PublicKey:
		return a.hash == 0
	}
	return false
}

func (a *algorithm) digest(text []byte) []byte {
	h := a.hash.New()
	h.Write(text)
	return h.Sum(nil)
}

func (a *algorithm) pssOptions() *rsa.PSSOptions {
	return &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: a.hash}
}

// sign signs text with a key that fits. An ECDSA signature is r and s, each as long as
// the curve's field (RFC 7518, section 3.4).
func (a *algorithm) sign(key crypto.Signer, text []byte) ([]byte, error) {
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return ed25519.Sign(key, text), nil
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, a.digest(text))
		if err != nil {
			return nil, err
		}
		n := fieldSize(a.curve)
		sig := make([]byte, 2*n)
		r.FillBytes(sig[:n])
		s.FillBytes(sig[n:])
		return sig, nil
	}
	if a.pss {
		return key.Sign(rand.Reader, a.digest(text), a.pssOptions())
	}
	return key.Sign(rand.Reader, a.digest(text), a.hash)
}

// verify reports whether sig is the signature of text by a key that fits.
func (a *algorithm) verify(key crypto.PublicKey, text, sig []byte) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, text, sig)
	case *ecdsa.PublicKey:
		n := fieldSize(a.curve)
		return len(sig) == 2*n && ecdsa.Verify(key, a.digest(text), new(big.Int).SetBytes(sig[:n]), new(big.Int).SetBytes(sig[n:]))
	case *rsa.PublicKey:
		if a.pss {
			return rsa.VerifyPSS(key, a.hash, a.digest(text), sig, a.pssOptions()) == nil
		}
		return rsa.VerifyPKCS1v15(key, a.hash, a.digest(text), sig) == nil
	}
	return false
}

// fieldSize is the bytes of a coordinate or a scalar of the curve.
func fieldSize(c elliptic.Curve) int { return (c.Params().BitSize + 7) / 8 }

var strict64 = base64.RawURLEncoding.Strict()

func encode64(b []byte) string { return strict64.EncodeToString(b) }

// decode64 reads base64url in its one form: no padding, no line breaks (which the
// library would skip), no bits left over (RFC 7515, section 2).
func decode64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := strict64.DecodeString(s)
	return b, err == nil
}

// A Key is a private key with the one algorithm it signs with. [GenerateKey] and
// [ParseKey] make keys; any other signs nothing. It is safe for concurrent use as long
// as ID is not changed. What prints it, fmt and slog too, sees its algorithm and id only.
type Key struct {
	// ID names the key among others of the same owner ("kid"). Default: no name.
	ID string

	alg    *algorithm
	public *publicKey
	signer func() crypto.Signer // a function: nothing that prints structs looks into it
}

// GenerateKey makes a new key for an algorithm: ES256, ES384, ES512, EdDSA (with
// Ed25519), or RS256, RS384, RS512, PS256, PS384, PS512 (with 2048 bits). Default: ES256.
func GenerateKey(alg string) (*Key, error) {
	alg = cmp.Or(alg, "ES256")
	a := findAlgorithm(alg)
	var private crypto.Signer
	var err error
	switch {
	case a == nil:
		err = fmt.Errorf("algorithm %.40q is not known", alg)
	case a.hash == 0:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case a.curve != nil:
		private, err = ecdsa.GenerateKey(a.curve, rand.Reader)
	default:
		private, err = rsa.GenerateKey(rand.Reader, minRSA)
	}
	if err != nil {
		return nil, fmt.Errorf("mcp: new key: %w", err)
	}
	return newKey(private, alg, "")
}

// ParseKey reads a private key: the first one in a PEM text (PKCS#8, SEC 1 or PKCS#1,
// not encrypted), or a JWK (RFC 7517, RFC 8037). The algorithm is one of those of
// [GenerateKey]; it must fit the key, and be the one that the JWK names, if it names one.
// Default: that one, else ES256, ES384 or ES512 by the curve, RS256 for RSA, EdDSA for
// Ed25519. The id is the JWK's. RSA keys have 2048 to 8192 bits and two primes.
func ParseKey(data []byte, alg string) (*Key, error) {
	data = bytes.TrimSpace(trimBOM(data))
	var private crypto.Signer
	var id string
	var err error
	if bytes.HasPrefix(data, []byte("{")) {
		private, alg, id, err = parsePrivateJWK(data, alg)
	} else {
		private, err = parsePEM(data)
	}
	var k *Key
	if err == nil {
		k, err = newKey(private, alg, id)
	}
	if err != nil {
		return nil, fmt.Errorf("mcp: private key: %w", err)
	}
	return k, nil
}

// newKey wraps a private key; alg "" is the natural one.
func newKey(private crypto.Signer, alg, id string) (*Key, error) {
	public := private.Public()
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return (alg == "" || alg == a.name) && a.fits(public) })
	if i < 0 {
		return nil, fmt.Errorf("no algorithm %.40q for a key of this type", alg)
	}
	a := &algorithms[i]
	if key, ok := public.(*rsa.PublicKey); ok {
		if err := checkRSA(key); err != nil {
			return nil, err
		}
	}
	return &Key{ID: id, alg: a, public: &publicKey{alg: a.name, key: public}, signer: func() crypto.Signer { return private }}, nil
}

// parsePEM does not show what the library says of a key: the text is secret.
func parsePEM(data []byte) (crypto.Signer, error) {
	block, rest := pem.Decode(data)
	for block != nil && !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, errors.New("neither a PEM text with a private key nor a JWK")
	}
	var key any
	err := errors.ErrUnsupported
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if pair, ok := key.(*rsa.PrivateKey); ok && err == nil && len(pair.Primes) != 2 {
		return nil, errors.New("RSA with more than two primes")
	}
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, fmt.Errorf("PEM block %.40q is damaged, encrypted, or no key that signs", block.Type)
	}
	return signer, nil
}

// parsePrivateJWK reads a private key, and which algorithm and id it has.
func parsePrivateJWK(data []byte, alg string) (_ crypto.Signer, its, id string, err error) {
	ix, err := scan(data)
	if err != nil {
		return nil, "", "", errors.New("the JWK is not JSON, or repeats a name")
	}
	public, err := parseJWK(ix.root())
	if err != nil {
		return nil, "", "", err
	}
	if alg != "" && public.alg != "" && alg != public.alg {
		return nil, "", "", fmt.Errorf("algorithm %.40q for a JWK of %s", alg, public.alg)
	}
	private, err := privatePart(ix.root(), public.key)
	if err != nil {
		return nil, "", "", err
	}
	if key, ok := public.key.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(private.Public()) {
		return nil, "", "", errors.New("the private part of the JWK belongs to another public part")
	}
	return private, cmp.Or(alg, public.alg), public.id, nil
}

// privatePart reads the private members of a JWK. The library's errors are not shown:
// they may have parts of the key.
func privatePart(v value, public crypto.PublicKey) (crypto.Signer, error) {
	r := jwkReader{v: v}
	var private crypto.Signer
	var err error
	switch public := public.(type) {
	case ed25519.PublicKey:
		if d := r.octets("d", ed25519.SeedSize); r.err == nil {
			private = ed25519.NewKeyFromSeed(d)
		}
	case *ecdsa.PublicKey:
		if d := r.octets("d", fieldSize(public.Curve)); r.err == nil {
			private, err = ecdsa.ParseRawPrivateKey(public.Curve, d)
		}
	case *rsa.PublicKey:
		pair := &rsa.PrivateKey{PublicKey: *public, D: r.integer("d"), Primes: []*big.Int{r.integer("p"), r.integer("q")}}
		if private = pair; r.err == nil {
			pair.Precompute()
			err = pair.Validate()
		}
	}
	if r.err == nil && (err != nil || v.member("oth").ix != nil) {
		r.err = errors.New("the private part of the JWK is out of range, or has more than two primes")
	}
	return private, r.err
}

// Algorithm returns the name of the key's algorithm, such as "ES256".
func (k *Key) Algorithm() string {
	if k.alg == nil {
		return ""
	}
	return k.alg.name
}

// Public returns the public part of the key as a JWK with "kid" (if it has an id),
// "alg" and "use". It is what a key set or a registration has.
func (k *Key) Public() json.RawMessage {
	text, _ := marshal(k.jwk())
	return text
}

func (k *Key) jwk() map[string]any {
	if k.signer == nil {
		return nil
	}
	m := k.public.members()
	m["alg"], m["use"] = k.alg.name, "sig"
	if k.ID != "" {
		m["kid"] = k.ID
	}
	return m
}

// private returns all of the key as a JWK, for a token store.
func (k *Key) private() json.RawMessage {
	m := k.jwk()
	switch key := k.signer().(type) {
	case ed25519.PrivateKey:
		m["d"] = encode64(key.Seed())
	case *ecdsa.PrivateKey:
		d, _ := key.Bytes() // fails for foreign curves only
		m["d"] = encode64(d)
	case *rsa.PrivateKey:
		c := key.Precomputed
		for name, n := range map[string]*big.Int{"d": key.D, "p": key.Primes[0], "q": key.Primes[1], "dp": c.Dp, "dq": c.Dq, "qi": c.Qinv} {
			m[name] = encode64(n.Bytes())
		}
	}
	text, _ := marshal(m)
	return text
}

// Thumbprint returns the SHA-256 thumbprint of the public part in base64url (RFC 7638).
// The algorithm and the id are not part of it.
func (k *Key) Thumbprint() string {
	if k.signer == nil {
		return ""
	}
	return k.public.thumbprint()
}

// String returns the algorithm and the id, or else the thumbprint, of the key.
func (k Key) String() string {
	return fmt.Sprintf("Key(%s %.100q)", k.Algorithm(), cmp.Or(k.ID, k.Thumbprint()))
}

// GoString is String.
func (k Key) GoString() string { return k.String() }

// LogValue is String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// sign makes a compact JWS (RFC 7515, section 7.1). The header gets "alg", and "kid" if
// the key has an id.
func (k *Key) sign(header map[string]any, claims any) (string, error) {
	if k.signer == nil {
		return "", errors.New("an empty Key signs nothing")
	}
	all := map[string]any{}
	maps.Copy(all, header)
	all["alg"] = k.alg.name
	if k.ID != "" {
		all["kid"] = k.ID
	}
	head, err := marshal(all)
	if err != nil {
		return "", err
	}
	body, err := marshal(claims)
	if err != nil {
		return "", err
	}
	text := encode64(head) + "." + encode64(body)
	sig, err := k.alg.sign(k.signer(), []byte(text))
	if err != nil {
		return "", err
	}
	return text + "." + encode64(sig), nil
}

// A publicKey checks signatures. alg and use are empty if the JWK does not say them.
type publicKey struct {
	id, alg, use string
	key          crypto.PublicKey
}

// privateMembers are those that no public key has (RFC 7518, section 6).
var privateMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"}

// parsePublicJWK reads a public key. One that has private members is refused: who
// sends it has lost it.
func parsePublicJWK(v value) (*publicKey, error) {
	for _, name := range privateMembers {
		if v.member(name).ix != nil {
			return nil, fmt.Errorf("the JWK has %s, which is not public", name)
		}
	}
	if ops := v.member("key_ops"); ops.ix != nil {
		if list, _ := stringList(ops); !slices.Contains(list, "verify") {
			return nil, errors.New("the JWK is not for verifying")
		}
	}
	return parseJWK(v)
}

// parseJWK reads the public part of a JWK.
func parseJWK(v value) (*publicKey, error) {
	k := &publicKey{}
	err := cmp.Or(setText(&k.id, v, "kid"), setText(&k.alg, v, "alg"), setText(&k.use, v, "use"))
	if err != nil {
		return nil, err
	}
	kty, crv := v.member("kty").str(), v.member("crv").str()
	r := jwkReader{v: v}
	switch {
	case kty == "EC":
		k.key, err = parseEC(&r, crv)
	case kty == "RSA":
		k.key, err = parseRSA(&r)
	case kty == "OKP" && crv == "Ed25519":
		k.key, err = ed25519.PublicKey(r.octets("x", ed25519.PublicKeySize)), r.err
	default:
		return nil, fmt.Errorf("no signatures with keys of type %.40q, curve %.40q", kty, crv)
	}
	if err != nil {
		return nil, err
	}
	if a := findAlgorithm(k.alg); k.alg != "" && (a == nil || !a.fits(k.key)) {
		return nil, fmt.Errorf("algorithm %.40q is not for keys of type %s", k.alg, kty)
	}
	return k, nil
}

func parseEC(r *jwkReader, crv string) (*ecdsa.PublicKey, error) {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.curve != nil && a.curve.Params().Name == crv })
	if i < 0 {
		return nil, fmt.Errorf("curve %.40q is not P-256, P-384 or P-521", crv)
	}
	curve := algorithms[i].curve
	point := slices.Concat([]byte{4}, r.octets("x", fieldSize(curve)), r.octets("y", fieldSize(curve)))
	if r.err != nil {
		return nil, r.err
	}
	key, err := ecdsa.ParseUncompressedPublicKey(curve, point)
	if err != nil {
		return nil, errors.New("x and y of the JWK are not on its curve")
	}
	return key, nil
}

func parseRSA(r *jwkReader) (*rsa.PublicKey, error) {
	n, e := r.integer("n"), r.integer("e")
	if r.err != nil {
		return nil, r.err
	}
	if e.BitLen() > 31 {
		return nil, errors.New("RSA with an exponent of more than 31 bits")
	}
	key := &rsa.PublicKey{N: n, E: int(e.Int64())}
	return key, checkRSA(key)
}

func checkRSA(key *rsa.PublicKey) error {
	if n := key.N.BitLen(); n < minRSA || n > maxRSA {
		return fmt.Errorf("RSA with %d bits, want %d to %d", n, minRSA, maxRSA)
	}
	if key.N.Bit(0) == 0 || key.E < 3 || key.E%2 == 0 {
		return errors.New("RSA with an even modulus, or an exponent that is even or below 3")
	}
	return nil
}

// A jwkReader reads members of a JWK. err is the first failure.
type jwkReader struct {
	v   value
	err error
}

// octets reads base64url of the given size; 0: any but none.
func (r *jwkReader) octets(name string, size int) []byte {
	b, ok := decode64(r.v.member(name).str())
	switch {
	case r.err != nil:
	case !ok || len(b) == 0:
		r.err = fmt.Errorf("%s of the JWK is not base64url", name)
	case size > 0 && len(b) != size:
		r.err = fmt.Errorf("%s of the JWK has %d bytes, want %d", name, len(b), size)
	}
	return b
}

// integer reads a number. Zeros in front, which some write, change nothing.
func (r *jwkReader) integer(name string) *big.Int { return new(big.Int).SetBytes(r.octets(name, 0)) }

// setText sets *dst from a member that, if it is there, must be a string.
func setText(dst *string, v value, name string) error {
	m := v.member(name)
	if m.ix != nil && m.kind() != kindString {
		return fmt.Errorf("%s is not a string", name)
	}
	*dst = m.str()
	return nil
}

// members returns what makes the key, and nothing else (RFC 7638, section 3.2).
func (k *publicKey) members() map[string]any {
	if k == nil {
		return nil
	}
	switch key := k.key.(type) {
	case *ecdsa.PublicKey:
		point, _ := key.Bytes() // fails for foreign curves only
		n := fieldSize(key.Curve)
		return map[string]any{"kty": "EC", "crv": key.Params().Name, "x": encode64(point[1 : 1+n]), "y": encode64(point[1+n:])}
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "n": encode64(key.N.Bytes()), "e": encode64(big.NewInt(int64(key.E)).Bytes())}
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "crv": "Ed25519", "x": encode64(key)}
	}
	return nil
}

// thumbprint is that of RFC 7638: names sorted, no white space, SHA-256.
func (k *publicKey) thumbprint() string {
	text, _ := marshal(k.members())
	return hash64(text)
}

func hash64[T ~string | ~[]byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return encode64(sum[:])
}

// parseJWKS reads a set of public keys. Keys it cannot use are skipped, as RFC 7517,
// section 5, wants.
func parseJWKS(data []byte) ([]*publicKey, error) {
	ix, err := scan(data)
	if err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	list := ix.root().member("keys")
	if list.kind() != kindArray {
		return nil, errors.New("key set: keys is not an array")
	}
	var keys []*publicKey
	n := 0
	for v := range list.items() {
		if n++; n > maxKeys {
			return nil, fmt.Errorf("key set: more than %d keys", maxKeys)
		}
		if k, err := parsePublicJWK(v); err == nil {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// A jwt is a token that was read; nothing in it is true before verify. kid and typ are
// as they stand there, empty if absent.
type jwt struct {
	alg, kid, typ  string
	header, claims value
	signed, sig    []byte
}

// Format shows nothing: a token is a secret.
func (t jwt) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("jwt")) }

// parseJWT reads a token of at most 16 KiB in the compact form. Its errors do not show
// what is in it.
func parseJWT(token string) (*jwt, error) {
	if len(token) > maxJWT {
		return nil, fmt.Errorf("a token of %d bytes, at most %d are read", len(token), maxJWT)
	}
	head, rest, _ := strings.Cut(token, ".")
	body, tail, ok := strings.Cut(rest, ".")
	sig, ok64 := decode64(tail)
	if !ok || !ok64 {
		return nil, errors.New("not three parts in base64url")
	}
	t := &jwt{signed: []byte(token[:len(head)+1+len(body)]), sig: sig}
	var err error
	if t.header, err = scanPart("header", head); err != nil {
		return nil, err
	}
	if t.claims, err = scanPart("claims", body); err != nil {
		return nil, err
	}
	if err := t.readHeader(); err != nil {
		return nil, err
	}
	return t, nil
}

func scanPart(name, part string) (value, error) {
	text, ok := decode64(part)
	if !ok {
		return value{}, errors.New("not three parts in base64url")
	}
	ix, err := scan(text)
	if err != nil || ix.root().kind() != kindObject {
		return value{}, fmt.Errorf("%s: not one JSON object without repeated names", name)
	}
	return ix.root(), nil
}

// readHeader refuses extensions that must be understood: none is (RFC 7515, section 4.1.11).
func (t *jwt) readHeader() error {
	if t.header.member("crit").ix != nil {
		return errors.New("the header has crit")
	}
	err := cmp.Or(setText(&t.alg, t.header, "alg"), setText(&t.kid, t.header, "kid"), setText(&t.typ, t.header, "typ"))
	if err == nil && findAlgorithm(t.alg) == nil {
		err = fmt.Errorf("algorithm %.40q is not allowed", t.alg)
	}
	return err
}

// verify checks the signature.
func (t *jwt) verify(k *publicKey) error {
	a := findAlgorithm(t.alg)
	switch {
	case a == nil || !a.fits(k.key) || k.alg != "" && k.alg != t.alg:
		return fmt.Errorf("algorithm %.40q is not the key's", t.alg)
	case k.use != "" && k.use != "sig":
		return fmt.Errorf("the key is for %.40q, not for signatures", k.use)
	case !a.verify(k.key, t.signed, t.sig):
		return errors.New("the signature is wrong")
	}
	return nil
}

// text returns a claim that is a string, "" otherwise.
func (t *jwt) text(claim string) string { return t.claims.member(claim).str() }

// time returns a claim that is a NumericDate (RFC 7519, section 2), with fractions or
// not; false if it is absent, no number, or not between 1970 and 9999.
func (t *jwt) time(claim string) (at time.Time, ok bool) {
	v := t.claims.member(claim)
	if v.kind() != kindNumber {
		return time.Time{}, false
	}
	seconds, err := json.Number(v.raw()).Float64()
	if err != nil || seconds < 0 || seconds > lastSecond {
		return time.Time{}, false
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*1e9)), true
}

// audience returns whom the token is for; false if that is not said in one of the forms
// of RFC 7519, section 4.1.3.
func (t *jwt) audience() ([]string, bool) { return stringList(t.claims.member("aud")) }

// stringList returns a string, or the strings of an array of nothing else.
func stringList(v value) ([]string, bool) {
	if v.kind() == kindString {
		return []string{v.str()}, true
	}
	var list []string
	for item := range v.items() {
		if item.kind() != kindString {
			return nil, false
		}
		list = append(list, item.str())
	}
	return list, v.kind() == kindArray
}

// scopes returns "scope" (RFC 9068, section 2.2.3), or else "scp", which some issuers
// send instead.
func (t *jwt) scopes() []string {
	v := t.claims.member("scope")
	if v.ix == nil {
		v = t.claims.member("scp")
	}
	list, _ := stringList(v)
	if v.kind() == kindString {
		list = strings.FieldsFunc(list[0], func(r rune) bool { return r == ' ' })
	}
	return list
}

// proof makes a DPoP proof for one request (RFC 9449, section 4.2), bound to a token and
// a nonce of the server unless they are "".
func (k *Key) proof(method, rawURL, token, nonce string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return "", errors.New("a proof for no absolute URL")
	}
	htu := url.URL{Scheme: u.Scheme, Host: u.Host, Path: cmp.Or(u.Path, "/"), RawPath: u.RawPath}
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": htu.String(), "iat": time.Now().Unix()}
	if token != "" {
		claims["ath"] = hash64(token)
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return k.sign(map[string]any{"typ": typeProof, "jwk": k.public.members()}, claims)
}

// A proofCheck is what a proof must be for.
type proofCheck struct {
	method, url string   // of the request
	token       string   // that it came with; "": none
	jkt         string   // the thumbprint of the key that the token is bound to; "": any key
	algs        []string // allowed ones; nil: all
	now         time.Time
	nonce       func(string) bool // whether a nonce is fresh; nil: none is demanded
}

// Format shows nothing: the token is a secret.
func (c proofCheck) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("proofCheck")) }

// errUseNonce says that a proof lacks nothing but a fresh nonce (RFC 9449, section 8).
var errUseNonce = errors.New("the proof has no fresh nonce")

// check holds a proof to RFC 9449, section 4.3, and returns the thumbprint of its key
// and its identifier.
func (c *proofCheck) check(proof string) (jkt, jti string, err error) {
	t, err := parseJWT(proof)
	if err != nil {
		return "", "", err
	}
	if t.typ != typeProof {
		return "", "", fmt.Errorf("type %.40q, want %s", t.typ, typeProof)
	}
	if c.algs != nil && !slices.Contains(c.algs, t.alg) {
		return "", "", fmt.Errorf("algorithm %s, want one of %v", t.alg, c.algs)
	}
	key, err := parsePublicJWK(t.header.member("jwk"))
	if err != nil {
		return "", "", err
	}
	if err := t.verify(key); err != nil {
		return "", "", err
	}
	jkt, jti = key.thumbprint(), t.text("jti")
	if c.jkt != "" && c.jkt != jkt {
		return "", "", errors.New("the token is bound to another key")
	}
	if err := c.claims(t); err != nil {
		return "", "", err
	}
	return jkt, jti, nil
}

// claims checks the claims of a proof whose signature is right. The nonce is last: one
// who is told to use a new one need know nothing else.
func (c *proofCheck) claims(t *jwt) error {
	at, ok := t.time("iat")
	age := c.now.Sub(at)
	jti, ath := t.text("jti"), hash64(c.token)
	switch {
	case jti == "" || len(jti) > maxJTI:
		return fmt.Errorf("a jti of %d bytes, want 1 to %d", len(jti), maxJTI)
	case t.text("htm") != c.method:
		return errors.New("htm is another method")
	case !sameTarget(t.text("htu"), c.url):
		return errors.New("htu is another URL, or has a query or a fragment")
	case !ok || age > proofWindow || age < -proofWindow:
		return fmt.Errorf("iat is not within %v", proofWindow)
	case c.token != "" && subtle.ConstantTimeCompare([]byte(t.text("ath")), []byte(ath)) == 0:
		return errors.New("ath is of another token")
	case c.nonce != nil && (t.text("nonce") == "" || !c.nonce(t.text("nonce"))):
		return errUseNonce
	}
	return nil
}

// sameTarget reports whether htu names the URL of a request, whose query and fragment do
// not count (RFC 9449, section 4.3, item 9). Case of scheme and host, the default port,
// and needless percent-encoding make no difference (RFC 3986, section 6.2).
func sameTarget(htu, request string) bool {
	h, err := url.Parse(htu)
	r, err2 := url.Parse(request)
	if err != nil || err2 != nil || h.Host == "" || h.User != nil || strings.ContainsAny(htu, "?#") || origin(h) != origin(r) {
		return false
	}
	want, got := cmp.Or(r.EscapedPath(), "/"), cmp.Or(h.EscapedPath(), "/")
	n, same := skipURI(got, 0, want)
	return same && n == len(got)
}
