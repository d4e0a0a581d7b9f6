package mcp

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The requirements are the rows of the specification's checklists, each with an id that
// tests name in their comments. The checklists lie beside the repository; where they
// are not, knownFile has the ids and levels.
const (
	checklists   = "../shared/spec/requirements-*.md"
	knownFile    = "testdata/requirements.txt"
	unprovedFile = "testdata/unproved.txt"
)

var update = flag.Bool("update", false, "write anew what tests compare with a file: ids of requirements, the support table")

var (
	requirementID = regexp.MustCompile(`\b(?:(?:BASE|FEAT|AUTH|EDGE|HOSTILE|C)-\d+|E\d+\.\d+)\b`)
	tableRow      = regexp.MustCompile(`^\| (` + requirementID.String() + `) \|`)
	listRow       = regexp.MustCompile(`^- \*\*(` + requirementID.String() + `)\*\*`)
)

// Why a requirement may be without a test; each reason begins with one of these words.
var (
	unprovedKinds = []string{
		"elsewhere", // shown by a check that is no Go test, or by how the code is written
		"unused",    // the package makes no use of what the row allows or binds
		"others",    // binds who uses the package, or another party
		"open",      // could be proved or done, and is not
	}
	levels = []string{"MUST", "SHOULD", "MAY", "DESIGN", "CASE"}
)

// TestRequirements matches the requirements with the tests that say to prove them. With
// -v it prints each with its tests, or why there is none. What must be is never open.
func TestRequirements(t *testing.T) {
	known := knownRequirements(t)
	proofs := namedRequirements(t)
	reasons := unprovedRequirements(t)
	for id, tests := range proofs {
		if known[id] == "" {
			t.Errorf("%s is no requirement; %v names it", id, tests)
		}
	}
	counts := map[string]map[string]int{}
	var list strings.Builder
	for _, id := range slices.Sorted(maps.Keys(known)) {
		level, tests, reason := known[id], proofs[id], reasons[id]
		kind, _, _ := strings.Cut(reason, ": ")
		switch {
		case len(tests) > 0 && reason != "":
			t.Errorf("%s: %s says why it is not proved; %v proves it", id, unprovedFile, tests)
		case len(tests) > 0:
			kind, reason = "proved", strings.Join(tests, " ")
		case reason == "":
			t.Errorf("%s (%s): no test names it, and %s has no reason", id, level, unprovedFile)
		case kind == "open" && level == "MUST":
			t.Errorf("%s must be: it needs a proof", id)
		}
		if counts[level] == nil {
			counts[level] = map[string]int{}
		}
		counts[level][kind]++
		fmt.Fprintf(&list, "%-11s %-6s %s\n", id, level, reason)
	}
	for id, reason := range reasons {
		if known[id] == "" {
			t.Errorf("%s is no requirement; %s names it: %s", id, unprovedFile, reason)
		}
	}
	if testing.Verbose() {
		fmt.Fprintf(t.Output(), "%s\n%s", list.String(), countTable(counts))
	}
	all := func(level string) (n int) {
		for _, kind := range append([]string{"proved"}, unprovedKinds...) {
			n += counts[level][kind]
		}
		return n
	}
	compareBlock(t, "README.md", "requirements", fmt.Sprintf(
		"`go test -run Requirements -v .` prints each requirement of the specification with the tests that prove it, or the reason why none does.\n"+
			"Tests prove %d of the %d that must be (the others bind somebody else, or what the package makes no use of), %d of the %d that\n"+
			"should be (%d are open), and %d of %d further cases and decisions.\n",
		counts["MUST"]["proved"], all("MUST"), counts["SHOULD"]["proved"], all("SHOULD"), counts["SHOULD"]["open"],
		counts["DESIGN"]["proved"]+counts["CASE"]["proved"], all("DESIGN")+all("CASE")))
}

// countTable says how many requirements of a level are proved, and how many are not, by
// kind of reason.
func countTable(counts map[string]map[string]int) string {
	var b strings.Builder
	kinds := append([]string{"proved"}, unprovedKinds...)
	fmt.Fprintf(&b, "%-6s", "")
	for _, kind := range kinds {
		fmt.Fprintf(&b, " %9s", kind)
	}
	for _, level := range levels {
		fmt.Fprintf(&b, "\n%-6s", level)
		for _, kind := range kinds {
			fmt.Fprintf(&b, " %9d", counts[level][kind])
		}
	}
	return b.String() + "\n"
}

// knownRequirements are the levels by id, from the checklists if they are there.
func knownRequirements(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(checklists)
	if err != nil {
		t.Fatal(err)
	}
	stored := readTable(t, knownFile)
	if len(files) == 0 {
		return stored
	}
	known := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if id, level := parseRequirement(line); id != "" {
				known[id] = level
			}
		}
	}
	if !maps.Equal(known, stored) {
		compareFile(t, knownFile, formatTable(known))
	}
	return known
}

// parseRequirement reads a row of a checklist: a table row, whose fourth cell is the
// level where its family has levels, or a case in a list. Another line has no id.
func parseRequirement(line string) (id, level string) {
	if m := listRow.FindStringSubmatch(line); m != nil {
		return m[1], "CASE"
	}
	m := tableRow.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	family, _, _ := strings.Cut(m[1], "-")
	if !slices.Contains([]string{"BASE", "FEAT", "AUTH"}, family) {
		return m[1], "CASE"
	}
	cell := strings.TrimSpace(strings.Split(line, "|")[4])
	for _, level := range levels[:3] {
		if strings.HasPrefix(cell, level) {
			return m[1], level
		}
	}
	return m[1], "DESIGN" // PROJECT, SUITE
}

// namedRequirements are the tests that name each requirement, in the comment over
// a test, a fuzzer or an example, or inside of it.
func namedRequirements(t *testing.T) map[string][]string {
	t.Helper()
	named := map[string][]string{}
	read := func(fset *token.FileSet, prefix string, file *ast.File) {
		for _, comment := range file.Comments {
			ids := requirementID.FindAllString(comment.Text(), -1)
			if len(ids) == 0 {
				continue
			}
			test := testAt(file, comment)
			if test == "" {
				t.Errorf("%s: %v stands at no test", fset.Position(comment.Pos()), ids)
			}
			for _, id := range ids {
				if !slices.Contains(named[id], prefix+test) {
					named[id] = append(named[id], prefix+test)
				}
			}
		}
	}
	eachTestFile(t, "*_test.go", read)
	eachTestFile(t, "cmd/*/*_test.go", read)
	return named
}

// eachTestFile calls f with each file that fits pattern, and what stands before the names
// of its tests: nothing, or its command.
func eachTestFile(t *testing.T, pattern string, f func(fset *token.FileSet, prefix string, file *ast.File)) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		prefix := ""
		if dir := filepath.Dir(name); dir != "." {
			prefix = filepath.Base(dir) + "."
		}
		f(fset, prefix, file)
	}
}

// testAt is the name of the test at which a comment stands.
func testAt(file *ast.File, comment *ast.CommentGroup) string {
	for _, decl := range file.Decls {
		f, isFunc := decl.(*ast.FuncDecl)
		if isFunc && isTest(f) && (comment == f.Doc || f.Pos() <= comment.Pos() && comment.End() <= f.End()) {
			return f.Name.Name
		}
	}
	return ""
}

// isTest reports whether go test runs f.
func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz") || strings.HasPrefix(f.Name.Name, "Example"))
}

// unprovedRequirements are the reasons by id. A reason is told of a requirement once.
func unprovedRequirements(t *testing.T) map[string]string {
	t.Helper()
	reasons := readTable(t, unprovedFile)
	for id, reason := range reasons {
		if kind, why, _ := strings.Cut(reason, ": "); !slices.Contains(unprovedKinds, kind) || why == "" {
			t.Errorf("%s: %s: %q begins with none of %v", unprovedFile, id, reason, unprovedKinds)
		}
	}
	return reasons
}

// readTable reads a file whose lines are ids, a tab, and what is said of each of them.
func readTable(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		ids, said, ok := strings.Cut(line, "\t")
		if !ok {
			t.Errorf("%s: no tab: %s", name, line)
		}
		for id := range strings.FieldsSeq(ids) {
			if table[id] != "" {
				t.Errorf("%s: %s stands there twice", name, id)
			}
			table[id] = said
		}
	}
	return table
}

// formatTable is the reverse: at most ten ids of a family a line.
func formatTable(table map[string]string) string {
	var b strings.Builder
	ids := slices.Sorted(maps.Keys(table))
	for _, said := range slices.Compact(slices.Sorted(maps.Values(table))) {
		var row []string
		for i, id := range ids {
			if table[id] == said {
				row = append(row, id)
			}
			if len(row) == 10 || len(row) > 0 && i == len(ids)-1 {
				fmt.Fprintf(&b, "%s\t%s\n", strings.Join(row, " "), said)
				row = nil
			}
		}
	}
	return b.String()
}

// compareFile checks that a file has a text, or with -update writes it.
func compareFile(t *testing.T, name, text string) {
	t.Helper()
	old, err := os.ReadFile(name)
	switch {
	case err == nil && bytes.Equal(old, []byte(text)):
	case *update:
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("%s is not what it should be: go test -run '^%s$' -update .", name, t.Name())
	}
}
