package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode/utf8"

	"example.com/mcp"
)

// maxRead is the size up to which a file is read whole.
const maxRead = 10 << 20

// A folder is the directory that is served. Paths in it are relative, with slashes,
// as io/fs has them: "." is the folder.
type folder struct {
	root *os.Root
	path string // absolute
	real string // absolute, without symbolic links
	base string // the path of its URI, without a slash at the end
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
	return &folder{root, abs, real, strings.TrimSuffix(base, "/")}, nil
}

func (f *folder) close() { f.root.Close() }

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

// cleanPath checks a path of a client and brings it into the form of io/fs. The
// empty path is the folder. What it lets pass can still lead out through symbolic
// links: only an os.Root stops those.
func cleanPath(p string) (string, error) {
	clean := path.Clean(p)
	switch {
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

// comparePaths orders paths as a walk meets them: by their elements.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
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
	dir  string
	root *os.Root
}

// view opens what a request may reach. It must be closed.
func (f *folder) view(ctx context.Context, r *mcp.Request) (*view, error) {
	dirs, err := f.clientDirs(ctx, r)
	if err != nil {
		return nil, err
	}
	v := &view{f: f}
	for _, dir := range dirs {
		if root, err := f.root.OpenRoot(dir); err == nil { // else there is nothing to reach
			v.areas = append(v.areas, area{dir, root})
		}
	}
	return v, nil
}

func (v *view) close() {
	for _, a := range v.areas {
		a.root.Close()
	}
}

// at returns where a path is: in which root, and its path there.
func (v *view) at(p string) (*os.Root, string, error) {
	p, err := cleanPath(p)
	if err != nil {
		return nil, "", err
	}
	for _, a := range v.areas {
		if within(p, a.dir) {
			return a.root, relative(p, a.dir), nil
		}
	}
	var dirs []string
	for _, a := range v.areas {
		dirs = append(dirs, a.dir)
	}
	return nil, "", fmt.Errorf("path %q is outside of the client's roots, which are %q here", p, dirs)
}

func (v *view) stat(p string) (fs.FileInfo, error) {
	root, rest, err := v.at(p)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(rest)
	return info, pathError(p, err)
}

// open opens a regular file; others could block, or have no end.
func (v *view) open(p string) (*os.File, fs.FileInfo, error) {
	root, rest, err := v.at(p)
	if err != nil {
		return nil, nil, err
	}
	info, err := root.Stat(rest)
	switch {
	case err != nil:
		return nil, nil, pathError(p, err)
	case info.IsDir():
		return nil, nil, fmt.Errorf("path %q is a directory", p)
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("path %q is not a regular file", p)
	}
	file, info, err := openRegular(root, rest)
	return file, info, pathError(p, err)
}

// openRegular opens what was a regular file a moment ago. What has taken its place must
// not block, nor be read.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file any more")
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// read reads a file of at most maxRead bytes.
func (v *view) read(p string) ([]byte, fs.FileInfo, error) {
	file, info, err := v.open(p)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	size, data := info.Size(), []byte(nil)
	if size <= maxRead { // which can be wrong: the file may grow, or be one of /proc
		data, err = io.ReadAll(io.LimitReader(file, maxRead+1))
		size = int64(len(data))
	}
	if size > maxRead {
		return nil, nil, fmt.Errorf("file %q has %d bytes, more than the limit of %d", p, size, maxRead)
	}
	return data, info, pathError(p, err)
}

// list returns what is in a directory, in the order of names.
func (v *view) list(p string) ([]fs.FileInfo, error) {
	root, rest, err := v.at(p)
	if err != nil {
		return nil, err
	}
	dir, err := root.OpenRoot(rest)
	if err != nil {
		return nil, pathError(p, err)
	}
	defer dir.Close()
	names, err := namesIn(dir)
	if err != nil {
		return nil, pathError(p, err)
	}
	infos := make([]fs.FileInfo, 0, len(names))
	for _, name := range names {
		if info, err := dir.Lstat(name); err == nil { // else it has just vanished
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// namesIn returns the names in a directory, in order, except those that are not
// UTF-8: JSON cannot carry them.
func namesIn(dir *os.Root) ([]string, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return !utf8.ValidString(name) }), err
}

// A visitor is called with each file and directory of a walk, or with what could
// not be read; its error ends the walk. fs.SkipDir passes over a directory,
// fs.SkipAll ends the walk without an error.
type visitor func(p string, info fs.FileInfo, err error) error

// walk visits the regular files and directories below a directory (or the one file
// that is there), in the order of comparePaths, from the first that comes after a
// path ("": from the start). Symbolic links are passed over. It reads no further
// than visit wants.
func (v *view) walk(ctx context.Context, dir, after string, visit visitor) error {
	dir, err := cleanPath(dir)
	if err != nil {
		return err
	}
	if dir != "." {
		if _, _, err := v.at(dir); err != nil {
			return err
		}
	}
	for _, a := range v.areas {
		start := a.dir
		if within(dir, a.dir) {
			start = dir
		} else if !within(a.dir, dir) {
			continue
		}
		rest := ""
		switch {
		case after == "" || after == start:
		case within(after, start):
			rest = relative(after, start)
		case comparePaths(start, after) < 0:
			continue
		}
		if err := walkFrom(ctx, a.root, relative(start, a.dir), start, rest, visit); err != nil {
			return skipped(err, fs.SkipAll)
		}
	}
	return nil
}

// walkFrom visits what is at a name in root: a file, or what is in a directory. To
// the outside it is at p.
func walkFrom(ctx context.Context, root *os.Root, name, p, after string, visit visitor) error {
	info, err := root.Stat(name)
	if err != nil {
		return pathError(p, err)
	}
	if info.Mode().IsRegular() {
		return visit(p, info, nil)
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return pathError(p, err)
	}
	defer dir.Close()
	return walkDir(ctx, dir, p, after, visit)
}

// walkDir visits what is in a directory, which is at p. after is relative to it.
func walkDir(ctx context.Context, dir *os.Root, p, after string, visit visitor) error {
	names, err := namesIn(dir)
	if err != nil {
		return visit(p, nil, pathError(p, err))
	}
	first, below, _ := strings.Cut(after, "/")
	i, _ := slices.BinarySearch(names, first)
	for _, name := range names[i:] {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rest := ""
		if name == first {
			rest = below
		}
		q := path.Join(p, name)
		info, err := dir.Lstat(name)
		switch {
		case err != nil:
			err = visit(q, nil, pathError(q, err))
		case info.IsDir():
			err = walkInto(ctx, dir, q, info, rest, visit)
		case info.Mode().IsRegular() && name != first:
			err = visit(q, info, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walkInto visits a directory and what is in it.
func walkInto(ctx context.Context, parent *os.Root, p string, info fs.FileInfo, after string, visit visitor) error {
	if err := visit(p, info, nil); err != nil {
		return skipped(err, fs.SkipDir)
	}
	dir, err := parent.OpenRoot(path.Base(p))
	if err != nil {
		return visit(p, nil, pathError(p, err))
	}
	defer dir.Close()
	return walkDir(ctx, dir, p, after, visit)
}

// skipped returns err unless it only asks to skip.
func skipped(err, skip error) error {
	if err == skip {
		return nil
	}
	return err
}

// pathError says what is wrong with a path in the client's words.
func pathError(p string, err error) error {
	var pe *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		return fmt.Errorf("path %q: %w", p, pe.Err)
	}
	return fmt.Errorf("path %q: %w", p, err)
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
