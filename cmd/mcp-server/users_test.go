package main

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	secret = "correct horse"
	other  = "battery staple"
)

// made is what passwd has made, with all its rounds.
const made = `ada:pbkdf2-sha256:600000:PMQDxMgJpcMWo0qc7iQ/Nw==:FDAA2B1Kymr5ZI5kb/uk5zgKih9O8lDaVfNiFEypMEk=
bob:pbkdf2-sha256:600000:CvD6LW9sKHYmEiz4beKMlw==:7yNZUQPDYnfVeUsbVGobB4xlJScur4pQDPPgSWZftQw=
`

// newUsers makes a file of two users.
func newUsers(t testing.TB) *users {
	t.Helper()
	u := &users{path: filepath.Join(t.TempDir(), "users")}
	check(t, writePrivate(u.path, made))
	return u
}

// fastUsers are the same with few rounds.
func fastUsers(t testing.TB) *users {
	t.Helper()
	u := &users{path: filepath.Join(t.TempDir(), "users"), rounds: 2}
	check(t, u.set("ada", secret))
	check(t, u.set("bob", other))
	return u
}

// whoHas returns the name of the account that has a password.
func (u *users) whoHas(t *testing.T, name, password string) string {
	t.Helper()
	a, err := u.check(name, password)
	check(t, err)
	if a == nil {
		return "nobody"
	}
	return a.name
}

func TestUsers(t *testing.T) {
	equal(t, "with all rounds", newUsers(t).whoHas(t, "ada", secret), "ada")
	u := fastUsers(t)
	equal(t, "right", u.whoHas(t, "ada", secret), "ada")
	equal(t, "another's password", u.whoHas(t, "ada", other), "nobody")
	equal(t, "unknown", u.whoHas(t, "eve", secret), "nobody")
	old, err := u.find("ada")
	check(t, err)
	check(t, u.set("ada", other)) // a new salt
	now, err := u.find("ada")
	check(t, err)
	bob, err := u.find("bob")
	check(t, err)
	if old.salt == now.salt || bob.hash == now.hash {
		t.Error("equal passwords can be seen")
	}
	equal(t, "changed", u.whoHas(t, "ada", other), "ada")
	text, err := os.ReadFile(u.path)
	check(t, err)
	equal(t, "lines", strings.Count(string(text), "\n"), 2)
	if strings.Contains(string(text), secret) || strings.Contains(string(text), other) {
		t.Errorf("the file has a password: %s", text)
	}
	list, err := os.ReadDir(filepath.Dir(u.path))
	check(t, err)
	equal(t, "files", len(list), 1)
	if info, err := os.Stat(u.path); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.FileMode(0o600) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A file that passwd has not made is refused, without saying what is in it.
func TestUsersRefused(t *testing.T) {
	u := newUsers(t)
	for _, c := range []struct{ old, new string }{
		{":600000:", ":1000:"}, // which guesses fast
		{"pbkdf2-sha256", "plain"},
		{"bob:", "b b:"},
		{"bob:", "bob:x:"},
		{"=\nbob", "\nbob"},
		{"ada:", "\nada:"},
	} {
		bad := strings.Replace(made, c.old, c.new, 1)
		check(t, os.WriteFile(u.path, []byte(bad), 0o600))
		for _, err := range []error{u.set("eve", secret), func() error { _, err := u.check("bob", other); return err }()} {
			if err == nil || !strings.HasPrefix(err.Error(), u.path+": line ") || !strings.HasSuffix(err.Error(), " is not one that mcp-server passwd makes") {
				t.Errorf("%q: %v", c.new, err)
			}
		}
	}
	check(t, os.WriteFile(u.path, make([]byte, maxUsers+1), 0o600))
	if _, err := u.read(); err == nil || err.Error() != u.path+" has more than 1048576 bytes" {
		t.Error(err)
	}
}

// A password is a line; what is wrong with it is told without showing it.
func TestReadLine(t *testing.T) {
	for _, c := range []struct{ input, want, err string }{
		{secret + "\n", secret, ""},
		{secret + "\r\nmore", secret, ""},
		{secret, secret, ""},
		{"ÄÖÜäöüßé", "ÄÖÜäöüßé", ""},
		{"", "", "reading the password: EOF"},
		{"\n", "", "the password must have at least 8 characters"},
		{"1234567\n", "", "the password must have at least 8 characters"},
		{"äöüäöü\n", "", "the password must have at least 8 characters"},
		{"\xff2345678\n", "", "the password must have at least 8 characters"},
		{strings.Repeat("x", 1025) + "\n", "", "the password has more than 1024 bytes"},
	} {
		got, err := readLine(bufio.NewReader(strings.NewReader(c.input)))
		if got != c.want || c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%.20q: %q, %v; want %q, %s", c.input, got, err, c.want, c.err)
		}
	}
}

// A password comes from a pipe.
func TestPasswd(t *testing.T) {
	u := &users{path: filepath.Join(t.TempDir(), "users")}
	for _, c := range []struct {
		input  string
		code   int
		stderr string
	}{
		{"short\n", 1, "mcp-server: the password must have at least 8 characters\n"},
		{secret + "\n", 0, ""},
	} {
		in, w, err := os.Pipe()
		check(t, err)
		_, err = w.WriteString(c.input)
		check(t, err)
		check(t, w.Close())
		var stderr bytes.Buffer
		code := passwd(context.Background(), []string{u.path, "ada"}, in, &stderr)
		check(t, in.Close())
		if code != c.code || stderr.String() != c.stderr {
			t.Errorf("%q: %d, %q; want %d, %q", c.input, code, stderr.String(), c.code, c.stderr)
		}
	}
	equal(t, "who has it", u.whoHas(t, "ada", secret), "ada")
}
