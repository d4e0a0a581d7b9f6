package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/mcp"
)

// What a terminal cannot show is kept in new files; no file is replaced, and none is
// written where a program reads the result.
func TestMedia(t *testing.T) {
	dir := t.TempDir()
	const first, second = "mcp-image-1.png", "mcp-image-2.png"
	must(t, os.WriteFile(filepath.Join(dir, first), []byte("mine"), 0o600))
	(&trial{folder: dir}).run("call", "draw", "--", "x").is(t, exitOK, "A picture:\n[image image/png 8 bytes]\n[resource test:///b image/png]\n{\n  \"ok\": true\n}\n", "")
	if tr := (&trial{folder: dir, terminal: true}).run("call", "draw", "-json", "--", "x"); strings.Contains(tr.stdout.String(), "saved") {
		t.Errorf("%s", tr.stdout.String())
	}
	files(t, dir, first)
	(&trial{folder: dir, terminal: true}).run("call", "draw", "--", "x").
		is(t, exitOK, "A picture:\n[image image/png 8 bytes, saved as "+second+"]\n[resource test:///b image/png]\n{\n  \"ok\": true\n}\n", "")
	(&trial{folder: dir, terminal: true}).run("read", "test:///b", "--", "x").
		is(t, exitOK, "[resource test:///b image/png 8 bytes, saved as mcp-image-3.png]\n", "")
	files(t, dir, first, second, "mcp-image-3.png")
	for name, want := range map[string]string{first: "mine", second: testPNG} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
	out := filepath.Join(dir, "out")
	(&trial{folder: dir, terminal: true}).run("read", "test:///b", "-o", out, "--", "x").
		is(t, exitOK, "[resource test:///b image/png 8 bytes]\n", "wrote 8 bytes to "+out+"\n")
	files(t, dir, first, second, "mcp-image-3.png", "out")
	if tr := (&trial{folder: filepath.Join(dir, "none"), terminal: true}).run("read", "test:///b", "--", "x"); tr.code != exitOK ||
		!strings.HasPrefix(tr.stdout.String(), "[resource test:///b image/png 8 bytes, not saved: ") {
		t.Errorf("exit code %d, %s", tr.code, tr.stdout.String())
	}
}

// A server chooses neither the name of a file nor any extension.
func TestMediaNames(t *testing.T) {
	p := &program{terminal: true, folder: t.TempDir()}
	for _, c := range []struct{ mimeType, want string }{
		{"image/png", "mcp-image-1.png"}, {"IMAGE/JPEG; q=1", "mcp-image-1.jpg"}, {"audio/wav", "mcp-audio-1.wav"}, {"audio/wav", "mcp-audio-2.wav"},
		{"video/mp4", "mcp-video-1.mp4"}, {"application/pdf", "mcp-data-1.pdf"}, {"", "mcp-data-1.bin"}, {"text/html", "mcp-data-2.bin"},
		{"image/../../x", "mcp-data-3.bin"}, {"application/x-msdownload", "mcp-data-4.bin"},
	} {
		m := &medium{"image", c.mimeType, mcp.EncodeBase64([]byte("x"))}
		if got, want := p.kept(m), oneLine("[image "+c.mimeType+" 1 bytes, saved as "+c.want+"]"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// files checks which files a folder has.
func files(t *testing.T, dir string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, f := range list {
		got = append(got, f.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}
