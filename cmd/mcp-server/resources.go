package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"example.com/mcp"
)

const (
	listPage = 1000   // files on a page of the list of resources
	listDirs = 2000   // directories that are read for it
	maxShown = 10_000 // names of a directory that is read as a resource
)

func (s *server) addResources() {
	_ = s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: s.folder.uri(".") + "{+path}",
		Name:        "file",
		Title:       "A file or directory",
		Description: "A file of the folder by its path, as text or as binary data; a directory is the names of what is in it, one a line, those of directories with a slash. Files of more than 10 MiB are refused.",
	}, s.readResource)
	_ = s.mcp.AddResource(&mcp.Resource{
		URI: s.folder.uri("."), Name: ".", Title: "The folder", MIMEType: directoryType,
		Description: "The names of what is in the folder.",
	}, s.readResource)
}

// listResources serves the list of resources: every regular file. Registering them
// would cost memory and a walk for each; a page is found by walking from where the
// page before ended.
func (s *server) listResources(ctx context.Context, r *mcp.Request, next func(context.Context) (any, error)) (any, error) {
	if r.Method != "resources/list" {
		return next(ctx)
	}
	after, err := listedBefore(r.Params)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "resources/list: %v", err)
	}
	v, err := s.folder.view(ctx, r)
	if err != nil {
		return nil, err
	}
	defer v.close()
	return s.page(ctx, v, after)
}

// page is the page of the list after a path: full, or as much as is in so many
// directories.
func (s *server) page(ctx context.Context, v *view, after string) (*mcp.ListResourcesResult, error) {
	result := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
	dirs, last := 0, ""
	err := v.walk(ctx, ".", after, func(at *spot, info fs.FileInfo, err error) error {
		switch {
		case err != nil: // what cannot be read cannot be offered
			return nil
		case len(result.Resources) == listPage, dirs == listDirs:
			result.NextCursor = cursorAfter(last)
			return fs.SkipAll
		case info.IsDir():
			dirs++
		default:
			result.Resources = append(result.Resources, s.folder.resource(at.shown, info))
		}
		last = at.shown
		return nil
	})
	s.log.Debug("resources listed", "files", len(result.Resources), "directories", dirs)
	return result, err
}

// A cursor is the path of the last file or directory of a page, so that it stays good while
// files come and go.
func cursorAfter(p string) *string {
	c := base64.RawURLEncoding.EncodeToString([]byte(p))
	return &c
}

// listedBefore reads the cursor in the parameters of a list; "": there is none.
func listedBefore(params json.RawMessage) (string, error) {
	var members map[string]json.RawMessage // so that "Cursor" is none
	var cursor *string
	if params != nil {
		if err := json.Unmarshal(params, &members); err != nil {
			return "", err
		}
	}
	if text, ok := members["cursor"]; ok {
		if err := json.Unmarshal(text, &cursor); err != nil {
			return "", fmt.Errorf("cursor must be a string, not %.40s", text)
		}
	}
	if cursor == nil {
		return "", nil
	}
	after, err := base64.RawURLEncoding.Strict().DecodeString(*cursor)
	if err != nil || !fs.ValidPath(string(after)) || string(after) == "." {
		return "", fmt.Errorf("cursor %.100q is not one of this list", *cursor)
	}
	return string(after), nil
}

// readResource reads a file or directory, whether the URI is listed or not.
func (s *server) readResource(ctx context.Context, r *mcp.Request, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	v, err := s.folder.view(ctx, r)
	if err != nil {
		return nil, err
	}
	defer v.close()
	name, err := s.folder.pathOf(p.URI)
	if err != nil {
		return nil, mcp.ResourceNotFound(p.URI)
	}
	info, err := v.stat(name)
	if err != nil { // whether it is missing or refused is not told
		s.log.Debug("resource refused", "uri", p.URI, "error", err)
		return nil, mcp.ResourceNotFound(p.URI)
	}
	if info.IsDir() {
		text, err := v.names(name)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{mcp.TextContents(p.URI, directoryType, text)}}, err
	}
	d, err := v.document(name)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInternalError, "%v", err)
	}
	c := d.contents()
	c.URI = p.URI
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}

// names returns what is in a directory as text.
func (v *view) names(dir string) (string, error) {
	infos, more, err := v.list(dir, "", maxShown)
	var b strings.Builder
	for _, info := range infos {
		b.WriteString(oneLine(info.Name()))
		if info.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	if more {
		b.WriteString("…\n")
	}
	return b.String(), err
}

// complete suggests paths, for the template and the prompts, and depths.
func (s *server) complete(ctx context.Context, r *mcp.Request, p *mcp.CompleteParams) (*mcp.Completion, error) {
	if p.Argument.Name != "path" {
		return &mcp.Completion{Values: withPrefix(depths, p.Argument.Value)}, nil
	}
	v, err := s.folder.view(ctx, r)
	if err != nil {
		return nil, err
	}
	defer v.close()
	return &mcp.Completion{Values: v.complete(p.Argument.Value, p.Ref.Name == reviewFolder)}, nil
}

// complete returns the paths that begin with typed, one directory deep, those of
// directories with a slash.
func (v *view) complete(typed string, onlyDirs bool) []string {
	var all []string
	for _, a := range v.areas {
		if a.dir != "." {
			all = append(all, a.dir+"/") // a way to what can be reached
		}
	}
	dir, name := path.Split(typed)
	infos, _, err := v.list(dir, name, maxEntries)
	if err != nil {
		infos = nil // there is nothing to suggest
	}
	for _, info := range infos {
		switch {
		case info.IsDir():
			all = append(all, dir+info.Name()+"/")
		case info.Mode().IsRegular() && !onlyDirs:
			all = append(all, dir+info.Name())
		}
	}
	return withPrefix(all, typed)
}

func withPrefix(values []string, prefix string) []string {
	some := []string{}
	for _, value := range values {
		if strings.HasPrefix(value, prefix) {
			some = append(some, value)
		}
	}
	return some
}

// subscribe lets a client follow what exists. It cannot ask for the client's roots
// here; those that are known count.
func (s *server) subscribe(_ context.Context, r *mcp.Request, uri string) error {
	p, err := s.folder.pathOf(uri)
	if err != nil {
		return mcp.ResourceNotFound(uri)
	}
	if dirs := knownDirs(r).Load(); dirs != nil && !slices.ContainsFunc(*dirs, func(dir string) bool { return within(p, dir) }) {
		return mcp.ResourceNotFound(uri)
	}
	if !s.watch.add(uri) {
		return mcp.ResourceNotFound(uri)
	}
	return nil
}

// stamp looks at what a URI of the folder names.
func (s *server) stamp(uri string) stamp {
	p, err := s.folder.pathOf(uri)
	if err != nil {
		return stamp{}
	}
	info, err := s.folder.whole().stat(p)
	if err != nil {
		return stamp{}
	}
	return stamp{exists: true, dir: info.IsDir(), size: info.Size(), modified: info.ModTime().UnixNano()}
}

// changed tells the clients of what the watcher saw.
func (s *server) changed(uri string, before, now stamp) {
	if before.exists != now.exists || now.dir { // as far as it is noticed; nobody walks the folder for it
		s.mcp.ResourcesChanged()
	}
	s.mcp.ResourceUpdated(uri)
}

// places are the directories whose events are about a URI: the one that what it names is
// in, and where that is a directory, itself.
func (s *server) places(uri string) ([]place, error) {
	p, err := s.folder.pathOf(uri)
	if err != nil {
		return nil, err
	}
	at, err := s.folder.whole().find(p, true)
	if err != nil {
		return nil, err
	}
	defer at.close()
	if len(at.below) > 0 {
		return nil, fs.ErrNotExist
	}
	name := at.name
	if name == "." {
		name = ""
	}
	in, err := at.dir.Open(".")
	if err != nil {
		return nil, err
	}
	list := []place{{in, name}}
	if dir, err := at.enter(); err == nil && name != "" {
		defer dir.Close()
		if in, err := dir.Open("."); err == nil {
			list = append(list, place{in, ""})
		}
	}
	return list, nil
}
