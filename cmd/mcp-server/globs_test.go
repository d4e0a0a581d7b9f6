package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct{ patterns, files, dirs string }{
		{".git", ".git a/.git", ".git a/b/.git"},
		{"*.key", "a.key b/c.key", "x.key"},
		{"/*.key", "a.key", "x.key"},
		{"a/b", "a/b", "a/b"},
		{"build/", "", "build a/build"},
		{"**/x/*.go", "x/a.go b/c/x/d.go", ""},
		{"a/**/z", "a/z a/b/z a/b/c/z", ""},
		{"a/**", "a/b a/b/c", "a/b"},
		{"**", "a a/b", "a"},
		{"*.go !main.go", "x.go a/y.go", ""},
		{"*.go !a/*.go *_test.go", "x.go a/y_test.go", ""},
		{`\!a`, "!a", ""},
		{"?[a-c]", "xb ä/yc éa", ""},
	} {
		gs, err := newGlobs(strings.Fields(c.patterns)...)
		check(t, err)
		for kind, paths := range map[bool]string{false: c.files, true: c.dirs} {
			for _, p := range strings.Fields(paths) {
				if g := gs.last(p, kind); g == nil || g.not {
					t.Errorf("%q does not fit %q, directory: %v", c.patterns, p, kind)
				}
			}
		}
	}
	for _, c := range []struct{ patterns, others string }{
		{".git", "git .gitx x.git a/.git/b"}, {"*.key", "key a.keys"}, {"/*.key", "b/a.key"}, {"a/b", "c/a/b a b"}, {"build/", "build"},
		{"a/**/z", "a b/a/z a/zz"}, {"a/**", "a b/a/c"}, {"*.go !main.go", "main.go b/main.go"}, {"*.go !a/*.go *_test.go", "a/y.go"}, {"a*c", "a/c"},
	} {
		gs, err := newGlobs(strings.Fields(c.patterns)...)
		check(t, err)
		for _, p := range strings.Fields(c.others) {
			if g := gs.last(p, false); g != nil && !g.not {
				t.Errorf("%q fits %q", c.patterns, p)
			}
		}
	}
	only, err := newGlobs("!*.go")
	check(t, err)
	equal(t, "only left out", fmt.Sprint(only.takes("a.md"), only.takes("a.go")), "true false")
	equal(t, "none", globs(nil).takes("a"), true)
}

func TestWrongGlobs(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"", `pattern "": "" is no name`}, {"!", `pattern "!": "" is no name`}, {"/", `pattern "/": "" is no name`}, {"a//b", `pattern "a//b": "" is no name`},
		{"../a", `pattern "../a": ".." is no name`}, {"[", `pattern "[": syntax error in pattern`}, {`a\`, `pattern "a\\": syntax error in pattern`},
		{strings.Repeat("x", 1001), `pattern "` + strings.Repeat("x", 100) + `": 1001 bytes, more than the limit of 1000`},
	} {
		_, err := newGlobs(c.pattern)
		equal(t, c.pattern, err, c.want)
	}
}

// Many ** cost no more than one.
func TestGlobsAreFast(t *testing.T) {
	gs, err := newGlobs(strings.Repeat("**/a/", 150) + "b")
	check(t, err)
	equal(t, "fits", gs.last(strings.Repeat("a/", 2000)+"c", false) == nil, true)
}
