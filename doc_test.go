package mcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumented: each exported name has a comment that begins with it; constants and
// variables may share that of their group. The members of a protocol type are the
// schema's; each other field has a comment, or one of the type or of a field above
// names it.
func TestDocumented(t *testing.T) {
	for _, system := range []string{"linux", "windows"} {
		files, fset := parsePackage(t, system)
		for _, file := range files {
			for name, id := range undocumented(file) {
				t.Errorf("%s: %s is not documented", fset.Position(id.Pos()), name)
			}
		}
	}
}

// undocumented yields the exported names of a file that lack a comment.
func undocumented(file *ast.File) iter.Seq2[string, *ast.Ident] {
	return func(yield func(string, *ast.Ident) bool) {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				of := receiver(d)
				if d.Name.IsExported() && (of == "" || ast.IsExported(of)) && !begins(d.Doc, d.Name) {
					yield(of+"."+d.Name.Name, d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					undocumentedIn(d, spec, yield)
				}
			}
		}
	}
}

func undocumentedIn(d *ast.GenDecl, spec ast.Spec, yield func(string, *ast.Ident) bool) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				yield(name.Name, name)
			}
		}
	case *ast.TypeSpec:
		text := spec.Doc
		if !d.Lparen.IsValid() {
			text = d.Doc
		}
		if !spec.Name.IsExported() {
			return
		}
		if !begins(text, spec.Name) {
			yield(spec.Name.Name, spec.Name)
		}
		said := text.Text()
		for _, field := range membersOf(spec) {
			said += field.Doc.Text()
			for _, name := range field.Names {
				documented := field.Doc != nil || field.Comment != nil || field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`)
				if name.IsExported() && !documented && !names(said, name.Name) {
					yield(spec.Name.Name+"."+name.Name, name)
				}
			}
		}
	}
}

// membersOf are the fields of a struct, or the methods of an interface.
func membersOf(spec *ast.TypeSpec) []*ast.Field {
	switch s := spec.Type.(type) {
	case *ast.StructType:
		return s.Fields.List
	case *ast.InterfaceType:
		return s.Methods.List
	}
	return nil
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if index, ok := of.(*ast.IndexExpr); ok {
		of = index.X
	}
	return of.(*ast.Ident).Name
}

var article = regexp.MustCompile(`^(A|An|The) `)

// begins reports whether a comment begins with a name.
func begins(text *ast.CommentGroup, name *ast.Ident) bool {
	first, _, _ := strings.Cut(article.ReplaceAllString(text.Text(), ""), " ")
	return strings.TrimSuffix(strings.TrimSuffix(first, ":"), ",") == name.Name
}

func names(text, name string) bool {
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(text)
}

// TestDocLinks: what stands in brackets in a comment leads somewhere.
func TestDocLinks(t *testing.T) {
	files, fset := parsePackage(t, "linux")
	known := map[string]bool{}
	var comments []*ast.CommentGroup
	for _, file := range files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				known[strings.TrimPrefix(receiver(d)+"."+d.Name.Name, ".")] = true
				comments = append(comments, d.Doc)
			case *ast.GenDecl:
				comments = append(comments, d.Doc)
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range spec.Names {
							known[name.Name] = true
						}
					}
					if spec, ok := spec.(*ast.TypeSpec); ok {
						comments = append(comments, spec.Doc)
						known[spec.Name.Name] = true
						for _, field := range membersOf(spec) {
							for _, name := range field.Names {
								known[spec.Name.Name+"."+name.Name] = true
							}
						}
					}
				}
			}
		}
		comments = append(comments, file.Doc)
	}
	link := regexp.MustCompile(`\[\*?([A-Z][A-Za-z0-9]*(\.[A-Z][A-Za-z0-9]*)?)\]`)
	found := 0
	for _, c := range comments {
		for _, m := range link.FindAllStringSubmatch(c.Text(), -1) {
			if found++; !known[m[1]] {
				t.Errorf("%s: [%s] is nothing", fset.Position(c.Pos()), m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("%d links were found", found)
	}
}

// TestPackageComment: the package comment names the files in the order in which they are
// read, and its server and client are whole programs.
func TestPackageComment(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "mcp.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	text := file.Doc.Text()
	_, order, _ := strings.Cut(text, "# Reading order")
	for _, name := range slices.Concat(readingOrder...) {
		_, rest, found := strings.Cut(order, name)
		if !found {
			t.Errorf("%s is not named, or not in its place", name)
			continue
		}
		order = rest
	}

	dir := t.TempDir()
	for _, name := range []string{"greeter", "caller"} {
		_, after, found := strings.Cut(text, "\tpackage main\n")
		if !found {
			t.Fatalf("there is no program %s", name)
		}
		var program strings.Builder
		program.WriteString("package main\n")
		for line := range strings.Lines(after) {
			code, indented := strings.CutPrefix(line, "\t")
			if !indented && line != "\n" {
				break
			}
			program.WriteString(code)
		}
		text = after
		source := filepath.Join(dir, name+".go")
		if err := os.WriteFile(source, []byte(program.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "vet", source).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// own are the types of mcp.go that no schema has.
var own = []string{"Identity", "Meta", "Extra", "Empty", "Milliseconds", "Base64", "Property", "UnknownContent"}

// TestSchemaTypes: each protocol type says of which type of the schema it is the Go
// form, and the revisions if that is not in all of them. The official schemas agree.
func TestSchemaTypes(t *testing.T) {
	files, fset := parsePackage(t, "linux")
	said := 0
	for _, file := range files {
		vocabulary := strings.HasSuffix(fset.Position(file.Pos()).Filename, "mcp.go")
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			for _, spec := range d.Specs {
				spec := spec.(*ast.TypeSpec)
				text := spec.Doc
				if !d.Lparen.IsValid() {
					text = d.Doc
				}
				_, statement, found := strings.Cut(strings.ReplaceAll(text.Text(), "\n", " "), "Schema: ")
				switch {
				case found:
					said++
					statement, _, _ = strings.Cut(statement+" ", ". ")
					checkSchemaTypes(t, spec.Name.Name, statement)
				case vocabulary && spec.Name.IsExported() && !slices.Contains(own, spec.Name.Name):
					t.Errorf("%s does not say of which schema type it is", spec.Name)
				}
			}
		}
	}
	if said < 70 {
		t.Errorf("%d types say it", said)
	}
}

// checkSchemaTypes checks what a comment says after "Schema: ": in each clause names
// that all revisions have, or those "from", "until" or "of" one.
func checkSchemaTypes(t *testing.T, of, statement string) {
	revisions := Revisions()
	slices.Reverse(revisions)
	for clause := range strings.SplitSeq(statement, "; ") {
		if strings.HasPrefix(clause, "the extension's") {
			continue // of which there is no official schema
		}
		first, last := revisions[0], revisions[len(revisions)-1]
		if at := strings.LastIndex(clause, ", "); at >= 0 {
			words := strings.Fields(clause[at+2:])
			switch {
			case len(words) == 3 && words[0] == "from" && words[2] == "on":
				clause, first = clause[:at], words[1]
			case len(words) == 2 && words[0] == "until":
				clause, last = clause[:at], words[1]
			case len(words) == 2 && words[0] == "of":
				clause, first, last = clause[:at], words[1], words[1]
			}
		}
		for _, name := range strings.FieldsFunc(strings.ReplaceAll(clause, " and ", ","), func(r rune) bool { return r == ',' || r == ' ' }) {
			for _, revision := range revisions {
				if o := officialSchema(t, revision); o != nil {
					if has, want := o.has(name), first <= revision && revision <= last; has != want {
						t.Errorf("%s says of %s that %s has it: %v, which is %v", of, name, revision, want, has)
					}
				}
			}
		}
	}
}

// has reports whether there is a type, or a member of one ("Type.member.member").
func (o *officialTypes) has(path string) bool {
	steps := strings.Split(path, ".")
	def, ok := o.defs[steps[0]]
	return ok && o.hasMember(def, steps[1:])
}

func (o *officialTypes) hasMember(def any, steps []string) bool {
	if len(steps) == 0 {
		return true
	}
	d, _ := def.(map[string]any)
	if ref, ok := d["$ref"].(string); ok {
		return o.hasMember(o.defs[strings.TrimPrefix(ref, "#/"+o.section+"/")], steps)
	}
	for _, list := range []string{"anyOf", "allOf"} {
		for _, one := range items(d[list]) {
			if o.hasMember(one, steps) {
				return true
			}
		}
	}
	properties, _ := d["properties"].(map[string]any)
	next, ok := properties[steps[0]]
	return ok && o.hasMember(next, steps[1:])
}

func items(v any) []any { list, _ := v.([]any); return list }
