package main

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

const maxGlob = 1000 // bytes of a pattern

// defaultIgnore is what is ignored unless -no-ignore is given: what holds no work of a
// person, is large, or is the insides of a tool.
var defaultIgnore = []string{".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", ".DS_Store"}

// A glob is a pattern for paths, much as in a .gitignore: * is any characters but a
// slash, ? is one, [a-z] one of a range, and ** as an element any number of elements.
// A pattern with a slash in it, or before it, is for paths from the folder; else it is for
// names in any directory. One that ends in a slash is for directories only. A pattern
// that begins with ! takes back what the ones before it said.
type glob struct {
	text     string
	elements []string
	dirs     bool // only directories
	not      bool
}

// globs are patterns, of which the last that fits counts.
type globs []glob

// newGlobs parses patterns.
func newGlobs(patterns ...string) (globs, error) {
	var list globs
	for _, text := range patterns {
		g, err := newGlob(text)
		if err != nil {
			return nil, fmt.Errorf("pattern %.100q: %w", text, err)
		}
		list = append(list, g)
	}
	return list, nil
}

func newGlob(text string) (glob, error) {
	g := glob{text: text}
	rest, not := strings.CutPrefix(text, "!")
	rest, dirs := strings.CutSuffix(rest, "/")
	rest, anchored := strings.CutPrefix(rest, "/")
	g.not, g.dirs = not, dirs
	g.elements = strings.Split(rest, "/")
	if !anchored && len(g.elements) == 1 {
		g.elements = append([]string{"**"}, g.elements...)
	}
	if len(text) > maxGlob {
		return g, fmt.Errorf("%d bytes, more than the limit of %d", len(text), maxGlob)
	}
	for _, element := range g.elements {
		if _, err := path.Match(element, ""); err != nil {
			return g, err
		}
		if element == "" || element == "." || element == ".." {
			return g, fmt.Errorf("%q is no name", element)
		}
	}
	return g, nil
}

// last returns the last pattern that fits what is at a path; nil: none does.
func (gs globs) last(p string, dir bool) *glob {
	names := strings.Split(p, "/")
	for i := len(gs) - 1; i >= 0; i-- {
		if g := &gs[i]; (dir || !g.dirs) && fits(g.elements, names) {
			return g
		}
	}
	return nil
}

// takes reports whether a file is one of those that the patterns are for: the last that
// fits says so, or none does and all of them only take back.
func (gs globs) takes(p string) bool {
	if g := gs.last(p, false); g != nil {
		return !g.not
	}
	for _, g := range gs {
		if !g.not {
			return false
		}
	}
	return true
}

// fits goes back to the last ** only, which is enough.
func fits(pattern, names []string) bool {
	i, n, star, mark := 0, 0, -1, 0
	for n < len(names) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			star, mark = i, n
			if i++; i == len(pattern) { // what is below, and not the directory itself
				return true
			}
		case i < len(pattern) && matches(pattern[i], names[n]):
			i, n = i+1, n+1
		case star >= 0:
			mark++
			i, n = star+1, mark
		default:
			return false
		}
	}
	return i == len(pattern)
}

func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// folded returns text such that what differs in case only is the same, as names are on
// many disks.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, text)
}
