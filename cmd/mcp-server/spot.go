package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	maxRead  = 10 << 20 // bytes of a file that is read whole
	maxLinks = 40       // symbolic links on one path
)

var (
	errEscapes = errors.New("path escapes from parent")
	errChanged = errors.New("it was changed by somebody else meanwhile")
)

// A spot is where a path leads: a name in a directory. The directory is held open, and
// was come to without symbolic links, so that links that are made later cannot lead what
// is done there to another place.
type spot struct {
	f     *folder
	dir   *os.Root
	name  string   // in dir; ".": dir itself
	below []string // what is missing below name, which is missing, too
	shown string   // the path that the client knows
	path  string   // the path from the folder, without links
}

// find finds the spot that a path leads to, which may be missing. If the last element is a
// link, that is the spot of the link, or if it is followed, the one it leads to. The spot
// must be closed.
func (v *view) find(p string, follow bool) (*spot, error) {
	p, err := cleanPath(p)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, a := range v.areas {
		dirs = append(dirs, a.dir)
		if !within(p, a.dir) {
			continue
		}
		s, err := v.f.descend(a, elements(relative(p, a.dir)), follow)
		if err != nil {
			return nil, pathError(p, err)
		}
		s.shown = p
		return s, nil
	}
	return nil, fmt.Errorf("path %q is outside of the client's roots, which are %q here", p, dirs)
}

// elements are those of a path that is "." or has no dots, or of a link's target.
func elements(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(name string) bool { return name == "" || name == "." })
}

// descend goes down from an area, anew with each link.
func (f *folder) descend(a area, names []string, follow bool) (*spot, error) {
	for range maxLinks {
		s, next, err := f.descendTo(a, names, follow)
		if s != nil || err != nil {
			return s, err
		}
		names = next
	}
	return nil, fmt.Errorf("more than %d symbolic links", maxLinks)
}

// descendTo goes down up to a link, and then returns the way on from the area.
func (f *folder) descendTo(a area, names []string, follow bool) (found *spot, next []string, _ error) {
	dir, err := a.root.OpenRoot(".")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if found == nil {
			dir.Close()
		}
	}()
	at := a.real
	for i, name := range names {
		if name == ".." { // in the target of a link
			if i == 0 {
				return nil, nil, errEscapes
			}
			return nil, slices.Concat(names[:i-1], names[i+1:]), nil
		}
		last := i == len(names)-1
		info, err := dir.Lstat(name)
		at = path.Join(at, name)
		if g := f.ignored(at, !last || err == nil && info.IsDir()); g != nil {
			return nil, nil, fmt.Errorf("hidden by the server's pattern %q", g.text)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s, err := f.missing(dir, at, names[i:])
			return s, nil, err
		case err != nil:
			return nil, nil, err
		case info.Mode().Type() == fs.ModeSymlink && (follow || !last):
			target, err := dir.Readlink(name)
			if filepath.IsAbs(target) || strings.HasPrefix(target, "/") || filepath.VolumeName(target) != "" {
				err = errEscapes
			}
			return nil, slices.Concat(names[:i], elements(filepath.ToSlash(target)), names[i+1:]), err
		case last:
			return &spot{f: f, dir: dir, name: name, path: at}, nil, nil
		}
		below, err := enter(dir, name, info)
		if err != nil {
			return nil, nil, err
		}
		dir.Close()
		dir = below
	}
	return &spot{f: f, dir: dir, name: ".", path: at}, nil, nil
}

// missing is the spot of what does not exist: the first of names in dir, at a path.
func (f *folder) missing(dir *os.Root, at string, names []string) (*spot, error) {
	for i, name := range names[1:] {
		at = path.Join(at, name)
		if g := f.ignored(at, i+2 < len(names)); g != nil {
			return nil, fmt.Errorf("hidden by the server's pattern %q", g.text)
		}
	}
	if slices.Contains(names, "..") { // a link into nothing
		return nil, syscall.ENOENT
	}
	return &spot{f: f, dir: dir, name: names[0], below: names[1:], path: at}, nil
}

// enter opens the directory that Lstat saw at a name, and no other that has taken its
// place.
func enter(parent *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := dir.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = errChanged
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

func (s *spot) close() { s.dir.Close() }

// stat looks at what is there, also at a link itself.
func (s *spot) stat() (fs.FileInfo, error) {
	info, err := s.dir.Lstat(s.name)
	return info, pathError(s.shown, err)
}

// enter opens the directory that is there.
func (s *spot) enter() (*os.Root, error) {
	info, err := s.dir.Lstat(s.name)
	if err != nil {
		return nil, pathError(s.shown, err)
	}
	dir, err := enter(s.dir, s.name, info)
	return dir, pathError(s.shown, err)
}

// open opens a regular file; others could block, or have no end. What takes its place
// between the look and the opening is not read.
func (s *spot) open() (*os.File, fs.FileInfo, error) {
	for range 3 { // many programs write a file by putting another in its place
		info, err := s.dir.Lstat(s.name)
		switch {
		case err != nil:
			return nil, nil, pathError(s.shown, err)
		case info.IsDir():
			return nil, nil, fmt.Errorf("path %q is a directory", s.shown)
		case !info.Mode().IsRegular():
			return nil, nil, fmt.Errorf("path %q is not a regular file", s.shown)
		}
		file, err := s.dir.OpenFile(s.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, nil, pathError(s.shown, err)
		}
		now, err := file.Stat()
		if err == nil && os.SameFile(info, now) {
			return file, now, nil
		}
		file.Close()
	}
	return nil, nil, pathError(s.shown, errChanged)
}

// read reads a file of at most maxRead bytes.
func (s *spot) read() ([]byte, fs.FileInfo, error) {
	file, info, err := s.open()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	data, err := s.readFrom(file, info)
	return data, info, err
}

func (s *spot) readFrom(file io.Reader, info fs.FileInfo) (data []byte, err error) {
	size := info.Size()
	if size <= maxRead { // which can be wrong: the file may grow, or be one of /proc
		data, err = io.ReadAll(io.LimitReader(file, maxRead+1))
		size = int64(len(data))
	}
	if size > maxRead {
		return nil, fmt.Errorf("file %q has %d bytes, more than the limit of %d", s.shown, size, maxRead)
	}
	return data, pathError(s.shown, err)
}

func (v *view) stat(p string) (fs.FileInfo, error) {
	s, err := v.find(p, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.stat()
}

func (v *view) read(p string) ([]byte, fs.FileInfo, error) {
	s, err := v.find(p, true)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	return s.read()
}

// pathError says what is wrong with a path in the client's words.
func pathError(p string, err error) error {
	var pe *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		err = pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	return fmt.Errorf("path %q: %w", p, err)
}
