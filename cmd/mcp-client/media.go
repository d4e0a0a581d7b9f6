package main

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"strings"

	"example.com/mcp"
)

const maxNames = 1_000 // that are tried for a new file, so that a server cannot fill a folder

// extensions are those of new files, by MIME type. They are few, and none is of a kind that
// runs when it is opened, since the server chooses the type.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/bmp": ".bmp", "image/tiff": ".tif",
	"image/svg+xml": ".svg", "audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/wave": ".wav",
	"audio/ogg": ".ogg", "audio/flac": ".flac", "audio/mp4": ".m4a", "audio/webm": ".webm", "video/mp4": ".mp4", "video/webm": ".webm",
	"application/pdf": ".pdf", "application/zip": ".zip", "application/gzip": ".gz", "application/json": ".json", "text/plain": ".txt", "text/csv": ".csv",
}

// keep writes binary data to a new file in the current folder, if a person reads the
// result and named no file: a terminal cannot show it. It returns the name, or why there
// is none; both are empty if none was to be written.
func (p *program) keep(mimeType string, data []byte) (name string, err error) {
	if !p.terminal || p.json || p.output != "" {
		return "", nil
	}
	root, err := os.OpenRoot(p.folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	mimeType, _, _ = mime.ParseMediaType(mimeType)
	ext, ok := extensions[mimeType]
	if !ok {
		ext = ".bin"
	}
	kind, _, _ := strings.Cut(mimeType, "/")
	if kind != "image" && kind != "audio" && kind != "video" {
		kind = "data"
	}
	for n := 1; n <= maxNames; n++ {
		name := fmt.Sprintf("mcp-%s-%d%s", kind, n, ext)
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if _, err := f.Write(data); err != nil {
			return "", errors.Join(err, f.Close(), root.Remove(name))
		}
		return name, f.Close()
	}
	return "", fmt.Errorf("there are %d files of such a name", maxNames)
}

// A medium is what is no text in a block of content.
type medium struct {
	what     string // for people
	mimeType string
	data     mcp.Base64
}

// mediumOf is the medium in a block; nil if it has none.
func mediumOf(c mcp.Content) *medium {
	switch c := c.(type) {
	case *mcp.ImageContent:
		return &medium{"image", c.MIMEType, c.Data}
	case *mcp.AudioContent:
		return &medium{"audio", c.MIMEType, c.Data}
	case *mcp.EmbeddedResource:
		if !c.Resource.Blob.IsZero() {
			return &medium{"resource " + c.Resource.URI, c.Resource.MIMEType, c.Resource.Blob}
		}
	}
	return nil
}

// text tells of a medium in a line, which ends with what became of it.
func (m *medium) text(became string) string {
	raw, err := m.data.Bytes()
	if err != nil {
		return oneLine(fmt.Sprintf("[%s %s, which is no base64]", m.what, m.mimeType))
	}
	return oneLine(fmt.Sprintf("[%s %s %d bytes%s]", m.what, m.mimeType, len(raw), became))
}

// kept keeps a medium and tells of it.
func (p *program) kept(m *medium) string {
	raw, err := m.data.Bytes()
	if err != nil {
		return m.text("")
	}
	switch name, err := p.keep(m.mimeType, raw); {
	case err != nil:
		return m.text(", not saved: " + err.Error())
	case name != "":
		return m.text(", saved as " + name)
	}
	return m.text("")
}

// save writes the first binary data of a result to the file of -o, if there is one. A
// file of that name is replaced.
func (p *program) save(blocks []mcp.Content) error {
	if p.output == "" {
		return nil
	}
	for _, c := range blocks {
		m := mediumOf(c)
		if m == nil {
			continue
		}
		raw, err := m.data.Bytes()
		if err != nil {
			return fmt.Errorf("%w: binary data: %w", mcp.ErrInvalidResponse, err)
		}
		if err := os.WriteFile(p.output, raw, 0o644); err != nil {
			return usagef("-o: %v", err)
		}
		p.note(fmt.Sprintf("wrote %d bytes to %s", len(raw), p.output))
		return nil
	}
	return usagef("-o: nothing in the result is binary, so that %s is not written", p.output)
}
