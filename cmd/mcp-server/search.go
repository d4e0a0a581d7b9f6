package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"regexp/syntax"

	"example.com/mcp"
)

const (
	maxMatches      = 1000     // of a search
	maxLine         = 300      // characters of a line in a result
	maxQuery        = 4 << 10  // bytes of a query
	maxInstructions = 1000     // of a regular expression
	maxQuick        = 64 << 10 // bytes of a line that is searched in one go
	sniffed         = 8 << 10  // first bytes of a file, which tell most that are not text
)

type searchInput struct {
	Query      string   `json:"query" jsonschema:"what to look for, in one line" schema:"minLength=1"`
	Regexp     bool     `json:"regexp,omitempty" jsonschema:"whether query is a regular expression (RE2)"`
	IgnoreCase bool     `json:"ignoreCase,omitempty" jsonschema:"whether upper and lower case are the same"`
	Globs      []string `json:"globs,omitempty" jsonschema:"only files whose paths fit these patterns, such as *.go or docs/**/*.md; ! before one leaves out what fits it; the last that fits counts" schema:"maxItems=20"`
	Context    int      `json:"context,omitempty" jsonschema:"how many lines before and after each match to return" schema:"minimum=0,maximum=10,default=0"`
	Max        int      `json:"max,omitempty" jsonschema:"the most matches to return" schema:"minimum=1,maximum=1000,default=100"`
	placeInput
}

type searchOutput struct {
	Matches   []*match `json:"matches"`
	Files     int      `json:"files" jsonschema:"how many files were searched"`
	Skipped   int      `json:"skipped" jsonschema:"how many files are not text, too large or not readable"`
	Truncated bool     `json:"truncated" jsonschema:"the search ended at the most matches"`
}

type match struct {
	Path   string   `json:"path"`
	Line   int      `json:"line" jsonschema:"counted from 1"`
	Text   string   `json:"text" jsonschema:"the line, at most its first 300 characters"`
	Before []string `json:"before,omitempty" jsonschema:"the lines before it"`
	After  []string `json:"after,omitempty" jsonschema:"the lines after it"`
}

func search(ctx context.Context, r *mcp.Request, v *view, in searchInput) (*searchOutput, error) {
	re, err := compile(in.Query, in.Regexp, in.IgnoreCase)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	gs, err := newGlobs(in.Globs...)
	if err != nil {
		return nil, fmt.Errorf("globs: %w", err)
	}
	if in.Max == 0 {
		in.Max = 100
	}
	out := &searchOutput{Matches: []*match{}}
	search := &searching{ctx: ctx, re: re, context: in.Context, limit: min(in.Max, maxMatches), out: out, head: make([]byte, sniffed)}
	err = v.walk(ctx, in.Path, "", func(s *spot, info fs.FileInfo, err error) error {
		if err == nil && (info.IsDir() || !gs.takes(s.shown)) {
			return nil
		}
		_ = r.Progress(ctx, float64(out.Files+out.Skipped+1), 0, s.shown)
		if err != nil || search.file(s) != nil {
			out.Skipped++
			return nil
		}
		out.Files++
		if out.Truncated {
			return fs.SkipAll
		}
		return nil
	})
	return out, err
}

// compile refuses regular expressions whose search takes long: a byte costs up to all
// instructions. A text whose case does not count is searched as one.
func compile(query string, expression, ignoreCase bool) (*regexp.Regexp, error) {
	if len(query) > maxQuery {
		return nil, fmt.Errorf("%d bytes, more than the limit of %d", len(query), maxQuery)
	}
	flags := syntax.Perl
	if !expression {
		flags |= syntax.Literal
	}
	tree, err := syntax.Parse(query, flags)
	if err != nil {
		return nil, err
	}
	n := steps(tree)
	if n <= 10*maxInstructions { // else to count them takes long, too
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			return nil, err
		}
		n = len(program.Inst)
	}
	if (expression || ignoreCase) && n > maxInstructions {
		return nil, fmt.Errorf("a regular expression of %d instructions, more than the limit of %d", n, maxInstructions)
	}
	if !expression {
		query = regexp.QuoteMeta(query)
	}
	if ignoreCase {
		query = "(?i)" + query
	}
	return regexp.Compile(query)
}

// steps is about how many instructions a regular expression has.
func steps(tree *syntax.Regexp) int {
	n := 0
	for _, sub := range tree.Sub {
		n += steps(sub)
	}
	switch tree.Op {
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpConcat:
		return n
	case syntax.OpRepeat:
		return n * max(tree.Min, tree.Max, 1)
	}
	return n + 1
}

// A searching looks for one thing in many files.
type searching struct {
	ctx            context.Context // of the one search
	re             *regexp.Regexp
	context, limit int
	out            *searchOutput
	head           []byte // room for the beginning of a file
}

var errNoText = errors.New("not text")

// file adds the matches in a file, up to the limit of all. An error is about a file that
// cannot be searched.
func (s *searching) file(at *spot) error {
	data, err := at.readText(s.head)
	if err != nil {
		return err
	}
	n := 0
	recent, open := []string{}, []*match(nil) // the lines before, and the matches whose lines after are not complete
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		found := s.in(line)
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx) // the walk ends, too
		}
		if found && len(s.out.Matches) == s.limit {
			s.out.Truncated, found = true, false
		}
		if s.out.Truncated && len(open) == 0 {
			break
		}
		if !found && s.context == 0 {
			continue
		}
		text := firstChars(string(line[:min(len(line), 4*maxLine)]), maxLine)
		for _, m := range open {
			m.After = append(m.After, text)
		}
		if found {
			m := &match{Path: at.shown, Line: n, Text: text, Before: append([]string(nil), recent...)}
			s.out.Matches, open = append(s.out.Matches, m), append(open, m)
		}
		for len(open) > 0 && len(open[0].After) >= s.context {
			open = open[1:]
		}
		if recent = append(recent, text); len(recent) > s.context {
			recent = recent[1:]
		}
	}
	return nil
}

// in reports whether there is a match in a line, or ends early when the search is
// cancelled, since a long line takes long.
func (s *searching) in(line []byte) bool {
	if len(line) <= maxQuick {
		return s.re.Match(line)
	}
	return s.re.MatchReader(&runes{ctx: s.ctx, Reader: bytes.NewReader(line)})
}

// runes end when their context does.
type runes struct {
	ctx context.Context
	*bytes.Reader
}

func (r *runes) ReadRune() (rune, int, error) {
	if r.Len()%1024 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}

// readText reads a text file of at most maxRead bytes. Of most others it reads only what
// has room in head.
func (s *spot) readText(head []byte) ([]byte, error) {
	file, info, err := s.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, err := io.ReadFull(file, head)
	switch head = head[:n]; {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, pathError(s.shown, err)
	case bytes.IndexByte(head, 0) >= 0:
		return nil, errNoText
	}
	data, err := s.readFrom(io.MultiReader(bytes.NewReader(head), file), info)
	if err == nil && !isText(data) {
		err = errNoText
	}
	return data, err
}

func firstChars(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
