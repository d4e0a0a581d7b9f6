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

// newUsers makes a file of two users.
func newUsers(t testing.TB) *users {
	t.Helper()
	u := &users{filepath.Join(t.TempDir(), "users")}
	check(t, u.set("ada", secret))
	check(t, u.set("bob", other))
	return u
}

// who returns the name of the account that has a password.
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
	u := newUsers(t)
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
	good, err := os.ReadFile(u.path)
	check(t, err)
	for _, c := range []struct{ old, new string }{
		{":600000:", ":1000:"}, // which guesses fast
		{"pbkdf2-sha256", "plain"},
		{"bob:", "b b:"},
		{"bob:", "bob:x:"},
		{"=\nbob", "\nbob"},
		{"ada:", "\nada:"},
	} {
		bad := strings.Replace(string(good), c.old, c.new, 1)
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

// A password comes from a pipe, a line of it.
func TestPasswd(t *testing.T) {
	u := &users{filepath.Join(t.TempDir(), "users")}
	for _, c := range []struct {
		input  string
		code   int
		stderr string
	}{
		{secret + "\n", 0, ""},
		{secret + "\r\nmore", 0, ""},
		{secret, 0, ""},
		{"", 1, "mcp-server: reading the password: EOF\n"},
		{"\n", 1, "mcp-server: the password must have at least 8 characters\n"},
		{"1234567\n", 1, "mcp-server: the password must have at least 8 characters\n"},
		{"\xff2345678\n", 1, "mcp-server: the password must have at least 8 characters\n"},
		{"ÄÖÜäöüßé\n", 0, ""},
		{strings.Repeat("x", 1025) + "\n", 1, "mcp-server: the password has more than 1024 bytes\n"},
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
			t.Errorf("%.20q: %d, %q; want %d, %q", c.input, code, stderr.String(), c.code, c.stderr)
		}
		if password, _, _ := strings.Cut(strings.TrimRight(c.input, "\r\n"), "\r\n"); code == 0 {
			equal(t, "who has "+password, u.whoHas(t, "ada", password), "ada")
		}
	}
	_, err := readLine(bufio.NewReader(strings.NewReader("short\n")))
	if err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("the error tells it: %v", err)
	}
}
