package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"example.com/mcp"
)

const maxPath = 4096 // bytes of a path

// A folder is the directory that is served. Paths in it are relative, with slashes,
// as io/fs has them: "." is the folder.
type folder struct {
	root *os.Root
	path string // absolute
	real string // absolute, without symbolic links
	base string // the path of its URI, without a slash at the end

	// What fits ignore does not exist for clients. It is folded.
	ignore globs
	// writable are the directories below which may be written, without links in their
	// paths; nil: everywhere.
	writable []string
}

func openFolder(dir string) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	base := filepath.ToSlash(abs)
	if !strings.HasPrefix(base, "/") { // C:/…
		base = "/" + base
	}
	return &folder{root: root, path: abs, real: real, base: strings.TrimSuffix(base, "/")}, nil
}

func (f *folder) close() { f.root.Close() }

// setIgnore sets what is ignored.
func (f *folder) setIgnore(patterns []string) (err error) {
	f.ignore, err = newGlobs(patterns...)
	for _, g := range f.ignore {
		for i, element := range g.elements {
			g.elements[i] = folded(element)
		}
	}
	return err
}

// ignored returns the pattern because of which what is at a path does not exist for
// clients; nil: it does. What is below of it is not asked for. Case does not count, as
// on many disks.
func (f *folder) ignored(p string, dir bool) *glob {
	if f.ignore == nil {
		return nil
	}
	if g := f.ignore.last(folded(p), dir); g != nil && !g.not {
		return g
	}
	return nil
}

// setWritable sets the directories below which may be written, whose paths are absolute or
// relative to the folder.
func (f *folder) setWritable(dirs []string) error {
	for _, dir := range dirs {
		p := filepath.ToSlash(dir)
		if filepath.IsAbs(dir) {
			rel, err := filepath.Rel(f.path, dir)
			if err != nil || !filepath.IsLocal(rel) {
				return fmt.Errorf("-allow-write %s: not in %s", dir, f.path)
			}
			p = filepath.ToSlash(rel)
		}
		s, err := f.whole().find(p, true)
		if err != nil {
			return fmt.Errorf("-allow-write %s: %w", dir, err)
		}
		defer s.close()
		if info, err := s.stat(); err != nil || !info.IsDir() {
			return fmt.Errorf("-allow-write %s: no directory of %s", dir, f.path)
		}
		f.writable = append(f.writable, s.path)
	}
	return nil
}

// uri returns the URI of a file, or of the folder. That of another directory ends
// in a slash, which the caller adds.
func (f *folder) uri(p string) string {
	if p == "." {
		p = ""
	}
	return (&url.URL{Scheme: "file", Path: f.base + "/" + p}).String()
}

// pathOf returns the path that a URI of the folder names.
func (f *folder) pathOf(uri string) (string, error) {
	abs, err := filePath(uri)
	if err != nil {
		return "", err
	}
	rest, ok := strings.CutPrefix(abs, f.base)
	if !ok || rest != "" && rest[0] != '/' {
		return "", fmt.Errorf("%q is not in the folder", uri)
	}
	return cleanPath(strings.TrimPrefix(rest, "/"))
}

// filePath returns the decoded path of a file: URI, which begins with a slash.
func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	local := u.Host == "" || u.Host == "localhost"
	if u.Scheme != "file" || !local || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !strings.HasPrefix(u.Path, "/") {
		return "", fmt.Errorf("%q is no file: URI of this machine", uri)
	}
	return u.Path, nil
}

// alias is found in paths that can mean a file with another name on Windows.
var alias = regexp.MustCompile(`~[0-9]|[^./][. ]+(/|$)`)

// cleanPath checks a path of a client and brings it into the form of io/fs. The
// empty path is the folder. What it lets pass can still lead out through symbolic
// links: only an os.Root stops those.
func cleanPath(p string) (string, error) {
	if len(p) > maxPath {
		return "", fmt.Errorf("path of %d bytes, more than the limit of %d", len(p), maxPath)
	}
	clean := path.Clean(p)
	switch {
	case runtime.GOOS == "windows" && alias.MatchString(p):
		return "", fmt.Errorf("path %q has a name that Windows has for another, with \"~\" and a digit or a dot or space at its end", p)
	case path.IsAbs(p) || filepath.IsAbs(p) || strings.HasPrefix(p, "file:"):
		return "", fmt.Errorf("path %q must be relative to the folder", p)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", fmt.Errorf("path %q must not contain \"..\"", p)
	case strings.ContainsRune(p, 0) || !fs.ValidPath(clean) || !filepath.IsLocal(filepath.FromSlash(clean)):
		return "", fmt.Errorf("path %q is not valid", p)
	}
	return clean, nil
}

// within reports whether p is dir or lies in it.
func within(p, dir string) bool {
	return dir == "." || p == dir || strings.HasPrefix(p, dir+"/")
}

// relative returns the path of p as seen from dir, in which it lies.
func relative(p, dir string) string {
	switch {
	case p == dir:
		return "."
	case dir == ".":
		return p
	}
	return p[len(dir)+1:]
}

// A view is what one request may reach of a folder: all of it, or what lies in the
// client's roots.
type view struct {
	f     *folder
	areas []area // in order; none lies in another
}

// An area is a directory and what is below. Its os.Root stops whatever leads out,
// so that also symbolic links from one area cannot reach what is in none.
type area struct {
	dir  string // as the client's roots have it
	root *os.Root
	real string // dir without links
}

// whole is a view of all of the folder. It is not closed.
func (f *folder) whole() *view { return &view{f: f, areas: []area{{".", f.root, "."}}} }

// view opens what a request may reach. It must be closed.
func (f *folder) view(ctx context.Context, r *mcp.Request) (*view, error) {
	dirs, err := f.clientDirs(ctx, r)
	if err != nil {
		return nil, err
	}
	v := &view{f: f}
	for _, dir := range dirs {
		if a, err := f.area(dir); err == nil { // else there is nothing to reach
			v.areas = append(v.areas, a)
		}
	}
	return v, nil
}

func (f *folder) area(dir string) (area, error) {
	s, err := f.whole().find(dir, true)
	if err != nil {
		return area{}, err
	}
	defer s.close()
	root, err := s.enter()
	return area{dir, root, s.path}, err
}

func (v *view) close() {
	for _, a := range v.areas {
		a.root.Close()
	}
}

// rootsKey is where a session keeps the directories of the client's roots, an
// *atomic.Pointer[[]string].
type rootsKey struct{}

// forgetRoots is called when a client's roots have changed. What is asked for just
// now goes to the place that is given up.
func forgetRoots(_ context.Context, r *mcp.Request) {
	r.Session.Store(rootsKey{}, &atomic.Pointer[[]string]{})
}

// knownDirs returns the place for the directories that a client works in.
func knownDirs(r *mcp.Request) *atomic.Pointer[[]string] {
	known, _ := r.Session.LoadOrStore(rootsKey{}, &atomic.Pointer[[]string]{})
	return known.(*atomic.Pointer[[]string])
}

// clientDirs returns the directories of the folder that the client works in. It
// asks the client once in a session, and again after a change; a client that does
// not tell of changes is asked each time. Where it cannot be asked, as for a list from
// 2026-07-28 on, there is all of the folder: what is on the list can still be refused.
func (f *folder) clientDirs(ctx context.Context, r *mcp.Request) ([]string, error) {
	if r.Capabilities.Roots == nil {
		return []string{"."}, nil
	}
	known := knownDirs(r)
	if dirs := known.Load(); dirs != nil && r.Capabilities.Roots.ListChanged {
		return *dirs, nil
	}
	answers, err := r.Ask(ctx, mcp.Question{Name: "roots", Roots: true})
	switch {
	case errors.Is(err, mcp.ErrCannotAsk):
		return []string{"."}, nil
	case err != nil:
		return nil, fmt.Errorf("asking for the client's roots: %w", err)
	}
	dirs := f.dirsOf(answers[0].Roots)
	known.Store(&dirs)
	return dirs, nil
}

// dirsOf returns the directories of the folder that lie in a client's roots, in
// order, none in another. No roots at all say nothing: that is the whole folder.
func (f *folder) dirsOf(roots []*mcp.Root) []string {
	if len(roots) == 0 {
		return []string{"."}
	}
	var dirs []string
	for _, root := range roots {
		p, err := filePath(root.URI)
		if err != nil {
			continue
		}
		if filepath.VolumeName(f.path) != "" {
			p = strings.TrimPrefix(p, "/") // C:/…
		}
		p = filepath.FromSlash(p)
		real, err := filepath.EvalSymlinks(p)
		dirs = f.addDir(dirs, f.path, p)
		if err == nil {
			dirs = f.addDir(dirs, f.real, real)
		}
	}
	if slices.Contains(dirs, ".") {
		return []string{"."}
	}
	slices.SortFunc(dirs, comparePaths)
	var outer []string
	for _, dir := range dirs {
		if len(outer) == 0 || !within(dir, outer[len(outer)-1]) {
			outer = append(outer, dir)
		}
	}
	return outer
}

// addDir adds what a root has in common with the folder, which is at base.
func (f *folder) addDir(dirs []string, base, root string) []string {
	if rel, err := filepath.Rel(root, base); err == nil && filepath.IsLocal(rel) {
		return append(dirs, ".")
	}
	if rel, err := filepath.Rel(base, root); err == nil && filepath.IsLocal(rel) {
		return append(dirs, filepath.ToSlash(rel))
	}
	return dirs
}

// kindOf names what is at a path.
func kindOf(info fs.FileInfo) string {
	kinds := map[fs.FileMode]string{0: "file", fs.ModeDir: "directory", fs.ModeSymlink: "link"}
	return cmp.Or(kinds[info.Mode().Type()], "other")
}
