package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/mcp"
)

// mimeTypes are the types of files by the end of their names. The table is the
// program's own, so that it says the same on every machine.
var mimeTypes = map[string]string{
	".cc": "text/x-c", ".cpp": "text/x-c", ".hpp": "text/x-c", ".diff": "text/x-diff", ".patch": "text/x-diff", ".ini": "text/plain",
	".jsx": "text/javascript", ".tsx": "text/x-typescript", ".mjs": "text/javascript", ".rb": "text/x-ruby", ".tsv": "text/tab-separated-values",
	".css": "text/css", ".csv": "text/csv", ".go": "text/x-go", ".htm": "text/html", ".html": "text/html",
	".c": "text/x-c", ".h": "text/x-c", ".java": "text/x-java", ".js": "text/javascript", ".md": "text/markdown",
	".py": "text/x-python", ".rs": "text/x-rust", ".sh": "text/x-shellscript", ".sql": "text/x-sql",
	".ts": "text/x-typescript", ".txt": "text/plain", ".log": "text/plain", ".toml": "application/toml",
	".json": "application/json", ".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml",
	".gif": "image/gif", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml",
	".webp": "image/webp", ".flac": "audio/flac", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".wav": "audio/wav",
	".gz": "application/gzip", ".pdf": "application/pdf", ".tar": "application/x-tar", ".wasm": "application/wasm",
	".zip": "application/zip", ".avif": "image/avif", ".bmp": "image/bmp", ".ico": "image/x-icon", ".m4a": "audio/mp4",
	".mp4": "video/mp4", ".webm": "video/webm", ".woff2": "font/woff2",
}

const directoryType = "inode/directory"

// mimeType tells a file's type by its name; "" if that does not tell.
func mimeType(name string) string { return mimeTypes[strings.ToLower(path.Ext(name))] }

// resource describes a file or directory, without a look at what is in it.
func (f *folder) resource(p string, info fs.FileInfo) *mcp.Resource {
	r := &mcp.Resource{URI: f.uri(p), Name: p, MIMEType: mimeType(p),
		Annotations: &mcp.Annotations{LastModified: timestamp(info)}}
	if info.IsDir() {
		r.URI, r.MIMEType = strings.TrimSuffix(r.URI, "/")+"/", directoryType
		return r
	}
	size := info.Size()
	r.Size = &size
	return r
}

func timestamp(info fs.FileInfo) string { return info.ModTime().UTC().Format(time.RFC3339) }

// A document is a file that was read.
type document struct {
	uri      string
	mimeType string
	data     []byte
	text     bool // data is text
	modified string
}

func (v *view) document(p string) (*document, error) {
	data, info, err := v.read(p)
	if err != nil {
		return nil, err
	}
	if p, err = cleanPath(p); err != nil {
		return nil, err
	}
	d := &document{uri: v.f.uri(p), mimeType: mimeType(p), data: data, text: isText(data), modified: timestamp(info)}
	if d.mimeType == "" && d.text {
		d.mimeType = "text/plain"
	}
	sniffed, charset, _ := strings.Cut(http.DetectContentType(data), "; ")
	d.mimeType = cmp.Or(d.mimeType, sniffed)
	if strings.HasPrefix(charset, "charset=utf-16") { // which JSON cannot carry as text
		d.mimeType += "; " + charset
	}
	return d, nil
}

// isText reports whether data is text that JSON can carry.
func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

// contents is the file as the contents of a resource.
func (d *document) contents() *mcp.ResourceContents {
	if d.text {
		return mcp.TextContents(d.uri, d.mimeType, string(d.data))
	}
	return mcp.BlobContents(d.uri, d.mimeType, d.data)
}

// media is a picture or sound as content; nil for other files.
func (d *document) media() mcp.Content {
	switch kind, _, _ := strings.Cut(d.mimeType, "/"); {
	case d.text:
		return nil
	case kind == "image":
		return &mcp.ImageContent{Data: mcp.EncodeBase64(d.data), MIMEType: d.mimeType}
	case kind == "audio":
		return &mcp.AudioContent{Data: mcp.EncodeBase64(d.data), MIMEType: d.mimeType}
	}
	return nil
}

// embedded is the file as content: what media makes of it, else a resource.
func (d *document) embedded() mcp.Content {
	if m := d.media(); m != nil {
		return m
	}
	return &mcp.EmbeddedResource{Resource: d.contents(), Annotations: &mcp.Annotations{LastModified: d.modified}}
}
