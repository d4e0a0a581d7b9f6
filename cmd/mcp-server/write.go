package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"example.com/mcp"
)

const maxMoved = 10_000 // files and directories in one that is moved

func (s *server) addWritingTools() {
	yes, no := true, false
	destroys := func(idempotent *bool) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: idempotent, OpenWorldHint: &no}
	}
	addTool(s, &mcp.Tool{Name: "write_file", Title: "Write a file", Annotations: destroys(&yes),
		Description: "Writes a text file, all of it or nothing, and the directories above it. Where the file exists, the person is shown what changes and asked first."},
		s.writeFile)
	addTool(s, &mcp.Tool{Name: "move_file", Title: "Move a file or directory", Annotations: destroys(nil),
		Description: "Moves or renames a file, or a directory with all that is in it, after the person was asked. Nothing is replaced: where there is something already, it fails. Directories above the new place are made."},
		s.moveFile)
	addTool(s, &mcp.Tool{Name: "delete_file", Title: "Delete a file", Annotations: destroys(nil),
		Description: "Deletes a file or an empty directory, after the person was asked."},
		s.deleteFile)
}

// findToWrite finds the spot of what is written, moved or deleted. Links are not followed
// but on the way.
func (v *view) findToWrite(p string) (*spot, error) {
	s, err := v.find(p, false)
	if err != nil {
		return nil, err
	}
	switch {
	case s.name == ".":
		err = fmt.Errorf("path %q is the top of what may be changed", p)
	case !v.f.mayWrite(s.path):
		err = fmt.Errorf("path %q may not be written: -allow-write allows what is below %q only", p, v.f.writable)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// mayWrite reports whether a path without links may be written.
func (f *folder) mayWrite(p string) bool {
	below := func(dir string) bool { return within(p, dir) && p != dir }
	return f.writable == nil || slices.ContainsFunc(f.writable, below)
}

type writeInput struct {
	fileInput
	Content string `json:"content" jsonschema:"the whole new text"`
}

func (s *server) writeFile(ctx context.Context, r *mcp.Request, v *view, in writeInput) (string, error) {
	if len(in.Content) > maxRead {
		return "", fmt.Errorf("content has %d bytes, more than the limit of %d", len(in.Content), maxRead)
	}
	at, err := v.findToWrite(in.Path)
	if err != nil {
		return "", err
	}
	defer at.close()
	old, err := look(at)
	switch {
	case err != nil:
		return "", err
	case old != nil && !old.info.Mode().IsRegular():
		return "", fmt.Errorf("path %q is a %s, not a file", in.Path, kindOf(old.info))
	case old != nil:
		question := replaceQuestion(in, old)
		old.data = nil // nobody knows how long the person takes
		ok, err := confirm(ctx, r, old, question)
		if !ok || err != nil {
			return fmt.Sprintf("The person refused: %s was not changed.", in.Path), err
		}
	}
	if err := s.replace(ctx, at, in.Content, old); err != nil {
		return "", pathError(in.Path, err)
	}
	r.Logger().InfoContext(ctx, "file written", "logger", name, "path", in.Path, "bytes", len(in.Content), "replaced", old != nil)
	s.tell(old == nil)
	return fmt.Sprintf("Wrote %d bytes to %s.", len(in.Content), in.Path), nil
}

func replaceQuestion(in writeInput, old *sight) string {
	text := fmt.Sprintf("Replace the file %q (%d bytes) by a new text of %d bytes?", in.Path, old.info.Size(), len(in.Content))
	if !isText(old.data) || old.info.Size() > maxRead {
		return text + " What it holds now is not text, or too much to show."
	}
	return text + preview(string(old.data), in.Content)
}

// replace writes a file beside the one at a spot and puts it in its place, if that is
// still what the person was asked about.
func (s *server) replace(ctx context.Context, at *spot, text string, old *sight) error {
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = old.info.Mode().Perm()
	}
	if err := at.makeAbove(); err != nil {
		return err
	}
	fresh := draftName()
	if err := writeNew(at.dir, fresh, text, mode, old != nil); err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	err := unchanged(ctx, at, old)
	switch {
	case err != nil:
	case old == nil:
		err = moveNew(at.dir, fresh, at.name)
	default:
		err = at.dir.Rename(fresh, at.name)
	}
	if err != nil {
		return errors.Join(err, at.dir.Remove(fresh))
	}
	return syncDir(at.dir)
}

// makeAbove makes the directories above a spot that are missing.
func (s *spot) makeAbove() error {
	for len(s.below) > 0 {
		if err := s.dir.Mkdir(s.name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		dir, err := s.enter()
		if err != nil {
			return err
		}
		s.close()
		s.dir, s.name, s.below = dir, s.below[0], s.below[1:]
	}
	return nil
}

// draftName is a name for a file that is being written. No two are the same.
func draftName() string { return "." + rand.Text() + ".tmp" }

func isDraft(name string) bool {
	inner, dot := strings.CutPrefix(name, ".")
	inner, tmp := strings.CutSuffix(inner, ".tmp")
	return dot && tmp && len(inner) == len(rand.Text())
}

// writeNew writes a file that must not exist, down to the disk. exactly: the mode is kept
// from the file that it replaces, whatever the process takes from those of new ones.
func writeNew(dir *os.Root, name, text string, mode fs.FileMode, exactly bool) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if exactly && runtime.GOOS != "windows" {
		err = file.Chmod(mode)
	}
	if err == nil {
		_, err = io.WriteString(file, text)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, dir.Remove(name))
	}
	return nil
}

// moveNew gives a file a new name, at which there was nothing. Where the disk has links,
// also what has come there in this moment is not replaced.
func moveNew(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	switch {
	case err == nil:
		return root.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return errChanged
	}
	return root.Rename(from, to)
}

// syncDir brings names down to the disk, where that can be done.
func syncDir(dir *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type moveInput struct {
	From string `json:"from" jsonschema:"path of a file or directory, relative to the folder" schema:"minLength=1"`
	To   string `json:"to" jsonschema:"its new path, with its name, relative to the folder" schema:"minLength=1"`
}

func (s *server) moveFile(ctx context.Context, r *mcp.Request, v *view, in moveInput) (string, error) {
	from, err := v.findToWrite(in.From)
	if err != nil {
		return "", err
	}
	defer from.close()
	to, err := v.findToWrite(in.To)
	if err != nil {
		return "", err
	}
	defer to.close()
	old, err := lookAll(ctx, from)
	if err != nil {
		return "", err
	}
	if err := movable(from, to, old); err != nil {
		return "", err
	}
	ok, err := confirm(ctx, r, old, fmt.Sprintf("Move the %s to %q?%s", old.describe(in.From), in.To, to.newAbove()))
	if !ok || err != nil {
		return fmt.Sprintf("The person refused: %s was not moved.", in.From), err
	}
	if err := s.move(ctx, from, to, old); err != nil {
		return "", pathError(in.From, err)
	}
	r.Logger().InfoContext(ctx, "file moved", "logger", name, "from", in.From, "to", in.To)
	s.tell(true)
	return fmt.Sprintf("Moved %s to %s.", in.From, in.To), nil
}

func movable(from, to *spot, old *sight) error {
	if old == nil {
		return pathError(from.shown, syscall.ENOENT)
	}
	if within(to.path, from.path) {
		return fmt.Errorf("path %q cannot be moved to %q, which is in it or the same", from.shown, to.shown)
	}
	return free(to)
}

// free reports an error if there is something at a spot.
func free(to *spot) error {
	_, err := to.stat()
	switch {
	case err == nil:
		return fmt.Errorf("path %q exists already, and is not replaced", to.shown)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// newAbove tells of the directories that are made for a spot.
func (s *spot) newAbove() string {
	if len(s.below) == 0 {
		return ""
	}
	return fmt.Sprintf(" The directory %q is made for it.", path.Dir(s.shown))
}

// move moves what is at a spot if it is still what the person was asked about.
func (s *server) move(ctx context.Context, from, to *spot, old *sight) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := to.makeAbove(); err != nil {
		return err
	}
	if err := errors.Join(unchanged(ctx, from, old), free(to)); err != nil {
		return err
	}
	// Two directories have only the folder in common. Whoever puts a link into the way at
	// this moment may lead the move to elsewhere in the folder, but not out of it.
	rename := s.folder.root.Rename
	if old.info.Mode().IsRegular() {
		rename = func(from, to string) error { return moveNew(s.folder.root, from, to) }
	}
	if err := rename(from.path, to.path); err != nil {
		return err
	}
	if now, err := to.dir.Lstat(to.name); err != nil || !os.SameFile(now, old.info) {
		return errChanged
	}
	return errors.Join(syncDir(to.dir), syncDir(from.dir))
}

func (s *server) deleteFile(ctx context.Context, r *mcp.Request, v *view, in fileInput) (string, error) {
	at, err := v.findToWrite(in.Path)
	if err != nil {
		return "", err
	}
	defer at.close()
	old, err := lookAll(ctx, at)
	switch {
	case err != nil:
		return "", err
	case old == nil:
		return "", pathError(in.Path, syscall.ENOENT)
	case old.entries > 0:
		return "", fmt.Errorf("path %q is a directory that is not empty (entries: %d)", in.Path, old.entries)
	}
	ok, err := confirm(ctx, r, old, fmt.Sprintf("Delete the %s?", old.describe(in.Path)))
	if !ok || err != nil {
		return fmt.Sprintf("The person refused: %s was not deleted.", in.Path), err
	}
	if err := s.remove(ctx, at, old); err != nil {
		return "", pathError(in.Path, err)
	}
	r.Logger().InfoContext(ctx, "file deleted", "logger", name, "path", in.Path)
	s.tell(true)
	return fmt.Sprintf("Deleted %s.", in.Path), nil
}

// remove removes what is at a spot if it is still what the person was asked about.
func (s *server) remove(ctx context.Context, at *spot, old *sight) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := unchanged(ctx, at, old); err != nil {
		return err
	}
	if err := at.dir.Remove(at.name); err != nil {
		return err
	}
	return syncDir(at.dir)
}

// A sight is what was seen at a spot when the person was asked.
type sight struct {
	info    fs.FileInfo
	data    []byte            // of a file of at most maxRead bytes
	sum     [sha256.Size]byte // of data, or of what is in a directory and below
	entries int               // in the directory and below
}

// look looks at a file, or at what else is at a spot; nil: nothing is.
func look(at *spot) (*sight, error) {
	info, err := at.dir.Lstat(at.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, pathError(at.shown, err)
	}
	seen := &sight{info: info}
	if info.Mode().IsRegular() && info.Size() <= maxRead {
		seen.data, seen.info, err = at.read()
		seen.sum = sha256.Sum256(seen.data)
	}
	return seen, err
}

// lookAll looks also at all that is below a directory, of which nothing may be hidden:
// another place would show it.
func lookAll(ctx context.Context, at *spot) (*sight, error) {
	seen, err := look(at)
	if err != nil || seen == nil || !seen.info.IsDir() {
		return seen, err
	}
	dir, err := at.enter()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	sum := sha256.New()
	w := &walker{ctx: ctx, f: at.f, all: true, visit: func(s *spot, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if g := at.f.ignored(s.path, info.IsDir()); g != nil {
			return fmt.Errorf("path %q holds what is hidden by the server's pattern %q", at.shown, g.text)
		}
		if seen.entries++; seen.entries > maxMoved {
			return fmt.Errorf("path %q holds more than %d files and directories, which is the limit", at.shown, maxMoved)
		}
		fmt.Fprintf(sum, "%q %v %d %d\n", s.path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	}}
	err = w.within(dir, at, "", 1)
	sum.Sum(seen.sum[:0])
	return seen, err
}

// describe says what is at a path, and how much.
func (s *sight) describe(p string) string {
	switch kind := kindOf(s.info); {
	case kind == "directory" && s.entries == 0:
		return fmt.Sprintf("empty directory %q", p)
	case kind == "directory":
		return fmt.Sprintf("directory %q with all that is in it (entries: %d)", p, s.entries)
	case kind == "file":
		return fmt.Sprintf("file %q (%d bytes)", p, s.info.Size())
	default:
		return fmt.Sprintf("%s %q", strings.Replace(kind, "other", "special file", 1), p)
	}
}

// unchanged reports an error unless another look sees the same.
func unchanged(ctx context.Context, at *spot, old *sight) error {
	now, err := lookAll(ctx, at)
	if err == nil && !old.same(now) {
		err = errChanged
	}
	return err
}

func (s *sight) same(b *sight) bool {
	if s == nil || b == nil {
		return s == nil && b == nil
	}
	return os.SameFile(s.info, b.info) && s.info.ModTime().Equal(b.info.ModTime()) && s.info.Size() == b.info.Size() && s.sum == b.sum
}

// confirm asks the person about what was seen. A client that cannot ask anybody is an error:
// then nothing may be destroyed. The name of the question is made from all that it is about:
// an answer that comes with another request is none to what has changed meanwhile.
func confirm(ctx context.Context, r *mcp.Request, seen *sight, question string) (bool, error) {
	about := fmt.Appendf(nil, "%s\n%x %d %d", question, seen.sum, seen.info.Size(), seen.info.ModTime().UnixNano())
	name := fmt.Sprintf("confirm-%x", sha256.Sum256(about))[:40]
	answers, err := r.Ask(ctx, mcp.Question{Name: name, Elicit: mcp.Confirm(question)})
	if err != nil {
		return false, fmt.Errorf("this needs the person's consent: %w", err)
	}
	return answers[0].Elicit.Accepted(), nil
}

// tell tells the clients now what the watcher would notice later, after the news
// that files have come or gone, so that this is one message.
func (s *server) tell(list bool) {
	if list {
		s.mcp.ResourcesChanged()
	}
	s.watch.check()
}
