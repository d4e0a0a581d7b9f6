package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"example.com/mcp"
)

func (s *server) addWritingTools() {
	yes, no := true, false
	addTool(s, &mcp.Tool{Name: "write_file", Title: "Write a file",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: &yes, OpenWorldHint: &no},
		Description: "Writes a text file, all of it or nothing, and the directories above it. Where the file exists, the person is asked first."},
		s.writeFile)
	addTool(s, &mcp.Tool{Name: "delete_file", Title: "Delete a file",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no},
		Description: "Deletes a file, after the person was asked. Directories cannot be deleted."},
		s.deleteFile)
}

type writeInput struct {
	fileInput
	Content string `json:"content" jsonschema:"the whole new text"`
}

func (s *server) writeFile(ctx context.Context, r *mcp.Request, v *view, in writeInput) (string, error) {
	root, p, err := v.at(in.Path)
	if err != nil {
		return "", err
	}
	old, err := replaceable(root, p, in.Path)
	if err != nil {
		return "", err
	}
	if old != nil {
		ok, err := confirm(ctx, r, old, fmt.Sprintf("Replace the file %q (%d bytes) by a new text of %d bytes?", in.Path, old.Size(), len(in.Content)))
		if !ok || err != nil {
			return fmt.Sprintf("The person refused: %s was not changed.", in.Path), err
		}
	}
	if err := s.replace(root, p, in, old); err != nil {
		return "", pathError(in.Path, err)
	}
	r.Logger().InfoContext(ctx, "file written", "logger", name, "path", in.Path, "bytes", len(in.Content), "replaced", old != nil)
	s.tell(old == nil)
	return fmt.Sprintf("Wrote %d bytes to %s.", len(in.Content), in.Path), nil
}

// replaceable looks at what a new file would replace; nil: nothing.
func replaceable(root *os.Root, p, shown string) (fs.FileInfo, error) {
	info, err := root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, pathError(shown, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("path %q is a %s, not a file", shown, kindOf(info))
	}
	return info, nil
}

// replace writes a file beside the one at p and puts it in its place, if that is
// still what the person was asked about.
func (s *server) replace(root *os.Root, p string, in writeInput, old fs.FileInfo) error {
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = old.Mode().Perm()
	}
	if err := root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	fresh := path.Join(path.Dir(p), "."+rand.Text()+".tmp")
	if err := writeNew(root, fresh, in.Content, mode); err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	now, err := replaceable(root, p, in.Path)
	if err == nil && !same(old, now) {
		err = errors.New("the file was changed by somebody else meanwhile")
	}
	if err == nil {
		err = root.Rename(fresh, p)
	}
	if err != nil {
		return errors.Join(err, root.Remove(fresh))
	}
	return nil
}

// writeNew writes a file that must not exist, down to the disk.
func writeNew(root *os.Root, p, text string, mode fs.FileMode) error {
	file, err := root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = strings.NewReader(text).WriteTo(file)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, root.Remove(p))
	}
	return nil
}

// same reports whether two looks at a file saw the same.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

func (s *server) deleteFile(ctx context.Context, r *mcp.Request, v *view, in fileInput) (string, error) {
	root, p, err := v.at(in.Path)
	if err != nil {
		return "", err
	}
	info, err := root.Lstat(p)
	switch {
	case err != nil:
		return "", pathError(in.Path, err)
	case info.IsDir():
		return "", fmt.Errorf("path %q is a directory, which cannot be deleted", in.Path)
	}
	ok, err := confirm(ctx, r, info, fmt.Sprintf("Delete the %s %q (%d bytes)?", kindOf(info), in.Path, info.Size()))
	if !ok || err != nil {
		return fmt.Sprintf("The person refused: %s was not deleted.", in.Path), err
	}
	if err := s.remove(root, p, info); err != nil {
		return "", pathError(in.Path, err)
	}
	r.Logger().InfoContext(ctx, "file deleted", "logger", name, "path", in.Path)
	s.tell(true)
	return fmt.Sprintf("Deleted %s.", in.Path), nil
}

// remove removes a file if it is still what the person was asked about.
func (s *server) remove(root *os.Root, p string, old fs.FileInfo) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	now, err := root.Lstat(p)
	if err != nil {
		return err
	}
	if !same(old, now) {
		return errors.New("the file was changed by somebody else meanwhile")
	}
	return root.Remove(p)
}

// confirm asks the person about a file. A client that cannot ask anybody is an error:
// then nothing may be destroyed. The question is named after the state of the file: an
// answer that comes with another request is none to what has changed meanwhile.
func confirm(ctx context.Context, r *mcp.Request, info fs.FileInfo, question string) (bool, error) {
	name := fmt.Sprintf("confirm-%x-%x", info.ModTime().UnixNano(), info.Size())
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
