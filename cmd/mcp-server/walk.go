package main

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth = 200       // levels of directories of a walk, each of which is held open
	maxNames = 1_000_000 // in a directory
)

// list returns what is in a directory and begins with a prefix, in the order of names, up
// to a number, and whether there is more.
func (v *view) list(p, prefix string, limit int) (infos []fs.FileInfo, more bool, err error) {
	s, err := v.find(p, true)
	if err != nil {
		return nil, false, err
	}
	defer s.close()
	dir, err := s.enter()
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	names, err := namesIn(dir, prefix)
	if err != nil {
		return nil, false, pathError(p, err)
	}
	infos = []fs.FileInfo{}
	for len(names) > 0 {
		name := names.next()
		if !strings.HasPrefix(name, prefix) {
			break
		}
		info, err := dir.Lstat(name)
		if err != nil || !utf8.ValidString(name) || v.f.ignored(path.Join(s.path, name), info.IsDir()) != nil {
			continue // has just vanished, cannot be told in JSON, or is hidden
		}
		if len(infos) == limit {
			return infos, true, nil
		}
		infos = append(infos, info)
	}
	return infos, false, nil
}

// A visitor is called with each file and directory of a walk, or with what could
// not be read; its error ends the walk. fs.SkipDir passes over a directory,
// fs.SkipAll ends the walk without an error. The spot is the walk's.
type visitor func(s *spot, info fs.FileInfo, err error) error

// walk visits the regular files and directories below a directory (or the one file
// that is there), in the order of comparePaths, from the first that comes after a
// path ("": from the start). Passed over are symbolic links, what is ignored, and names
// that are not UTF-8, which JSON cannot carry. It reads no further than visit wants.
func (v *view) walk(ctx context.Context, dir, after string, visit visitor) error {
	dir, err := cleanPath(dir)
	if err != nil {
		return err
	}
	met := dir == "."
	for _, a := range v.areas {
		start := a.dir
		if within(dir, a.dir) {
			start = dir
		} else if !within(a.dir, dir) {
			continue
		}
		met = true
		rest := ""
		switch {
		case after == "" || after == start:
		case within(after, start):
			rest = relative(after, start)
		case comparePaths(start, after) < 0:
			continue
		}
		if err := v.walkFrom(ctx, start, rest, visit); err != nil {
			return skipped(err, fs.SkipAll)
		}
	}
	if !met {
		_, err = v.find(dir, true) // which says why
	}
	return err
}

// walkFrom visits what is at a path: a file, or what is in a directory.
func (v *view) walkFrom(ctx context.Context, start, after string, visit visitor) error {
	s, err := v.find(start, true)
	if err != nil {
		return err
	}
	defer s.close()
	info, err := s.stat()
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		return visit(s, info, nil)
	}
	dir, err := s.enter()
	if err != nil {
		return err
	}
	defer dir.Close()
	w := &walker{ctx: ctx, f: v.f, visit: visit}
	return w.within(dir, s, after, 1)
}

// A walker visits what is in directories.
type walker struct {
	ctx   context.Context // of the one walk
	f     *folder
	visit visitor
	all   bool // also what no walk shows: links, what is neither file nor directory, what is ignored
}

// within visits what is in the directory at a spot. after is relative to it.
func (w *walker) within(dir *os.Root, at *spot, after string, depth int) error {
	if depth > maxDepth || len(at.shown) > maxPath {
		return w.visit(at, nil, fmt.Errorf("path %q is more than %d levels or %d bytes deep", at.shown, maxDepth, maxPath))
	}
	first, below, _ := strings.Cut(after, "/")
	names, err := namesIn(dir, first)
	if err != nil {
		return w.visit(at, nil, pathError(at.shown, err))
	}
	for len(names) > 0 {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		name := names.next()
		s := &spot{f: w.f, dir: dir, name: name, shown: path.Join(at.shown, name), path: path.Join(at.path, name)}
		rest := ""
		if name == first {
			rest = below
		}
		info, err := dir.Lstat(name)
		switch {
		case !w.all && (!utf8.ValidString(name) || w.f.ignored(s.path, err == nil && info.IsDir()) != nil):
			err = nil
		case err != nil:
			err = w.visit(s, nil, pathError(s.shown, err))
		case info.IsDir():
			err = w.into(s, info, rest, depth+1)
		case name != first && (w.all || info.Mode().IsRegular()):
			err = w.visit(s, info, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// into visits a directory and what is in it.
func (w *walker) into(s *spot, info fs.FileInfo, after string, depth int) error {
	if err := w.visit(s, info, nil); err != nil {
		return skipped(err, fs.SkipDir)
	}
	dir, err := enter(s.dir, s.name, info)
	if err != nil {
		return w.visit(s, nil, pathError(s.shown, err))
	}
	defer dir.Close()
	return w.within(dir, s, after, depth)
}

// skipped returns err unless it only asks to skip.
func skipped(err, skip error) error {
	if err == skip {
		return nil
	}
	return err
}

// names are those of a directory, in the order of a heap: who wants the first thousand of
// many does not wait until all are sorted.
type names []string

// namesIn returns the names in a directory, from one on.
func namesIn(dir *os.Root, first string) (names, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var all [][]string
	for n := 0; ; {
		some, err := d.Readdirnames(4096)
		n += len(some)
		all = append(all, slices.DeleteFunc(some, func(name string) bool { return name < first }))
		switch {
		case errors.Is(err, io.EOF):
			list := names(slices.Concat(all...))
			heap.Init(&list)
			return list, nil
		case err != nil:
			return nil, err
		case n > maxNames:
			return nil, fmt.Errorf("a directory with more than %d names", maxNames)
		}
	}
}

// next takes the first name.
func (n *names) next() string { return heap.Pop(n).(string) }

func (n names) Len() int           { return len(n) }
func (n names) Less(i, j int) bool { return n[i] < n[j] }
func (n names) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *names) Push(x any)        { *n = append(*n, x.(string)) }

func (n *names) Pop() any {
	last := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return last
}

// comparePaths orders paths as a walk meets them: by their elements.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}
