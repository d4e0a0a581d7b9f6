package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	iterations = 600_000 // of PBKDF2: what each guess costs who has stolen the file
	saltSize   = 16
	hashSize   = sha256.Size
	hashMethod = "pbkdf2-sha256"

	minPassword = 8       // characters
	maxPassword = 1024    // bytes
	maxUsers    = 1 << 20 // bytes of the file
)

// A users is the file of those who may log in: a line for each, with the name and a salted
// hash of the password,
//
//	ada:pbkdf2-sha256:600000:SALT:HASH
//
// It is read whenever somebody is looked for, so that changes count at once.
type users struct {
	path   string
	rounds int // of PBKDF2; 0 means iterations, and only tests want others
}

func (u *users) cost() string { return strconv.Itoa(cmp.Or(u.rounds, iterations)) }

// hash is what is kept of a password.
func (u *users) hash(password string, salt [saltSize]byte) ([hashSize]byte, error) {
	key, err := pbkdf2.Key(sha256.New, password, salt[:], cmp.Or(u.rounds, iterations), hashSize)
	if err != nil {
		return [hashSize]byte{}, err
	}
	return [hashSize]byte(key), nil
}

// An account is a line of the file.
type account struct {
	name string
	salt [saltSize]byte
	hash [hashSize]byte
}

// userName is what names may be made of.
var userName = regexp.MustCompile(`^[A-Za-z0-9._@+-]{1,64}$`)

// read returns all accounts, in the order of the file.
func (u *users) read() ([]account, error) {
	file, err := os.Open(u.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxUsers+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxUsers:
		return nil, fmt.Errorf("%s has more than %d bytes", u.path, maxUsers)
	}
	var list []account
	n := 0
	for line := range bytes.Lines(data) {
		n++
		a, ok := u.parse(strings.TrimRight(string(line), "\r\n"))
		if !ok { // what it says is nobody's business
			return nil, fmt.Errorf("%s: line %d is not one that %s passwd makes", u.path, n, name)
		}
		list = append(list, a)
	}
	return list, nil
}

func (u *users) parse(line string) (a account, ok bool) {
	part := strings.Split(line, ":")
	if len(part) != 5 || !userName.MatchString(part[0]) || part[1] != hashMethod || part[2] != u.cost() {
		return a, false
	}
	salt, err1 := base64.StdEncoding.Strict().DecodeString(part[3])
	hash, err2 := base64.StdEncoding.Strict().DecodeString(part[4])
	if err1 != nil || err2 != nil || len(salt) != saltSize || len(hash) != hashSize {
		return a, false
	}
	return account{part[0], [saltSize]byte(salt), [hashSize]byte(hash)}, true
}

func (u *users) line(a *account) string {
	encode := base64.StdEncoding.EncodeToString
	return strings.Join([]string{a.name, hashMethod, u.cost(), encode(a.salt[:]), encode(a.hash[:])}, ":")
}

// find returns somebody's account; nil: there is none.
func (u *users) find(name string) (*account, error) {
	list, err := u.read()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].name == name {
			return &list[i], nil
		}
	}
	return nil, nil
}

// check returns the account that has this name and password; nil: there is none. Both
// cases of that take the same time.
func (u *users) check(name, password string) (*account, error) {
	a, err := u.find(name)
	if err != nil {
		return nil, err
	}
	known := a != nil
	if !known {
		a = &account{}
	}
	hash, err := u.hash(password, a.salt)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(hash[:], a.hash[:]) == 1 && known {
		return a, nil
	}
	return nil, nil
}

// set gives a user, who may be new, a password.
func (u *users) set(name, password string) error {
	list, err := u.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a := account{name: name}
	_, _ = rand.Read(a.salt[:]) // never fails
	if a.hash, err = u.hash(password, a.salt); err != nil {
		return err
	}
	var text strings.Builder
	for i := range list {
		if list[i].name != name {
			fmt.Fprintln(&text, u.line(&list[i]))
		}
	}
	fmt.Fprintln(&text, u.line(&a))
	return writePrivate(u.path, text.String())
}

// writePrivate writes a file, all of it or nothing, that only its owner can read.
func writePrivate(file, text string) error {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	fresh := draftName()
	if err := writeNew(dir, fresh, text, 0o600, true); err != nil {
		return err
	}
	if err := dir.Rename(fresh, filepath.Base(file)); err != nil {
		return errors.Join(err, dir.Remove(fresh))
	}
	return nil
}

// passwd is the command that gives a user a password: it makes the file, the user, or
// just changes the password.
func passwd(ctx context.Context, args []string, in *os.File, stderr io.Writer) int {
	if len(args) != 2 || !userName.MatchString(args[1]) {
		fmt.Fprintf(stderr, "usage: %s passwd FILE NAME\n\nGives the user NAME of FILE a password, for -auth FILE. It is asked for, or read from\na pipe. NAME is made of letters, digits and . _ @ + -\n", name)
		return exitUsage
	}
	password, err := readPassword(ctx, in, stderr)
	if err == nil {
		err = (&users{path: args[0]}).set(args[1], password)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitFailure
	}
	return exitOK
}

// readPassword reads a password: twice from a terminal, which does not show it, or once
// from what is none.
func readPassword(ctx context.Context, in *os.File, stderr io.Writer) (string, error) {
	lines := bufio.NewReader(in)
	if !isTerminal(in) {
		return readLine(lines)
	}
	restore, err := hideInput(in)
	if err != nil {
		return "", fmt.Errorf("the terminal would show the password (%w): pipe it in", err)
	}
	defer restore()
	type read struct {
		text string
		err  error
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		fmt.Fprint(stderr, prompt)
		line := make(chan read, 1)
		go func() { // ends with the line, or with the process
			text, err := readLine(lines)
			line <- read{text, err}
		}()
		select {
		case got := <-line:
			fmt.Fprintln(stderr)
			if got.err != nil {
				return "", got.err
			}
			typed[i] = got.text
		case <-ctx.Done():
			fmt.Fprintln(stderr)
			return "", errors.New("interrupted")
		}
	}
	if typed[0] != typed[1] {
		return "", errors.New("the passwords differ")
	}
	return typed[0], nil
}

// readLine reads a password. Its errors do not show it.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		c, err := in.ReadByte()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		if err != nil || c == '\n' {
			break
		}
		if line = append(line, c); len(line) > maxPassword {
			return "", fmt.Errorf("the password has more than %d bytes", maxPassword)
		}
	}
	text := strings.TrimSuffix(string(line), "\r")
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) < minPassword {
		return "", fmt.Errorf("the password must have at least %d characters", minPassword)
	}
	return text, nil
}

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
