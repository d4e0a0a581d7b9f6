package mcp

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readingOrder is the order in which the package is read. Files of one row are the
// same room on different systems.
var readingOrder = [][]string{
	{"mcp.go"},
	{"json.go"},
	{"jsonrpc.go"},
	{"schema.go"},
	{"stdio.go", "stdio_unix.go", "stdio_windows.go"},
	{"uritemplate.go"},
	{"mirror.go"},
	{"ask.go"},
	{"server.go"},
	{"client.go"},
	{"tasks.go"},
	{"stateless.go"},
	{"streamable.go"},
	{"streamableclient.go"},
	{"jose.go"},
	{"oauth.go"},
	{"oauthclient.go"},
	{"oauthresource.go"},
	{"oauthserver.go"},
}

// switches are the functions that lead from what stands earlier to what stands
// later; each is one switch.
var switches = []string{"serverMethod", "clientServes", "serverEra", "eraOf"}

// TestReadingOrder holds the package to its promise: a file uses only what it and
// the files above it declare.
func TestReadingOrder(t *testing.T) {
	place := map[string]int{}
	for i, row := range readingOrder {
		for _, name := range row {
			place[name] = i
		}
	}
	library := exported(t)
	for _, system := range []string{"linux", "windows"} {
		t.Run(system, func(t *testing.T) {
			files, fset := parsePackage(t, system)
			uses := map[*ast.Ident]types.Object{}
			config := types.Config{Importer: importer.ForCompiler(fset, "gc", library), Error: func(err error) {
				if system == build.Default.GOOS {
					t.Error(err)
				}
			}}
			_, _ = config.Check("mcp", fset, files, &types.Info{Uses: uses}) // told to Error
			for _, file := range files {
				name := filepath.Base(fset.Position(file.Pos()).Filename)
				here, known := place[name]
				if !known {
					t.Errorf("%s has no place in the reading order", name)
					continue
				}
				eachUse(file, func(id *ast.Ident) {
					obj := uses[id]
					if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != "mcp" {
						return
					}
					at := fset.Position(obj.Pos())
					if there := place[filepath.Base(at.Filename)]; there > here {
						t.Errorf("%s uses %s, which %s declares later", fset.Position(id.Pos()), obj.Name(), filepath.Base(at.Filename))
					}
				})
			}
		})
	}
}

// TestNoHintDecides: what a tool says of itself is told on and grants nothing. Nothing in
// the package reads its hints but the function that applications ask for them.
//
// FEAT-016
func TestNoHintDecides(t *testing.T) {
	files, fset := parsePackage(t, "linux")
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return n.Name.Name != "Hints"
			case *ast.SelectorExpr:
				if slices.Contains([]string{"ReadOnlyHint", "DestructiveHint", "IdempotentHint", "OpenWorldHint"}, n.Sel.Name) {
					t.Errorf("%s reads %s", fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestErrorMessages: the message of each error for the wire is one short line.
//
// BASE-036
func TestErrorMessages(t *testing.T) {
	files, fset := parsePackage(t, "linux")
	seen := 0
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || fmt.Sprint(call.Fun) != "Errorf" || len(call.Args) < 2 {
				return true
			}
			if text, ok := call.Args[1].(*ast.BasicLit); ok {
				seen++
				if message, err := strconv.Unquote(text.Value); err != nil || len(message) > 200 || strings.Contains(message, "\n") {
					t.Errorf("%s: %q is no short line", fset.Position(call.Pos()), message)
				}
			}
			return true
		})
	}
	if seen < 50 {
		t.Errorf("%d messages looked at", seen)
	}
}

// TestRandomness: what must not be guessed comes from crypto/rand. Only the pauses of a
// client that polls may be guessed.
//
// AUTH-461
func TestRandomness(t *testing.T) {
	files, fset := parsePackage(t, "linux")
	for _, file := range files {
		name := filepath.Base(fset.Position(file.Pos()).Filename)
		for _, spec := range file.Imports {
			if strings.HasPrefix(spec.Path.Value, `"math/rand`) && name != "client.go" {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if ok && name == "client.go" && fmt.Sprint(sel.X) == "rand" && sel.Sel.Name != "N" {
				t.Errorf("%s: rand.%s", fset.Position(n.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

// parsePackage parses the package's own files for a system, in reading order.
func parsePackage(t *testing.T, system string) ([]*ast.File, *token.FileSet) {
	t.Helper()
	context := build.Default
	context.GOOS = system
	pkg, err := context.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files, fset
}

// exported finds the compiled form of what the package imports.
func exported(t *testing.T) importer.Lookup {
	t.Helper()
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"list", "-export", "-f", "{{.ImportPath}}={{.Export}}"}
	list, err := exec.Command("go", append(args, pkg.Imports...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// eachUse calls f with every identifier of a file but those in switches.
func eachUse(file *ast.File, f func(*ast.Ident)) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return !slices.Contains(switches, n.Name.Name)
		case *ast.Ident:
			f(n)
		}
		return true
	})
}

// TestOnlyStandardLibrary: the module requires nothing, and nothing in it imports
// what is neither the standard library nor the module.
func TestOnlyStandardLibrary(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var module string
	for line := range strings.Lines(string(mod)) {
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] == "go":
		case words[0] == "module":
			module = words[1]
		default:
			t.Errorf("go.mod says more than module and go: %s", line)
		}
	}
	checked := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			first, _, _ := strings.Cut(name, "/")
			if strings.Contains(first, ".") && name != module && !strings.HasPrefix(name, module+"/") {
				t.Errorf("%s imports %s", path, name)
			}
			checked++
		}
		return nil
	})
	if err != nil || checked == 0 {
		t.Errorf("%d imports looked at: %v", checked, err)
	}
}
