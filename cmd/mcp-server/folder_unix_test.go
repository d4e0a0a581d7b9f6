//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A FIFO that takes the place of a file costs the request, and not the server.
func TestFIFOInPlaceOfFile(t *testing.T) {
	f, err := openFolder(files{"a": ""}.write(t))
	check(t, err)
	defer f.close()
	check(t, syscall.Mkfifo(filepath.Join(f.path, "fifo"), 0o600))
	_, _, err = f.whole().open("fifo")
	equal(t, "error", err, `path "fifo" is not a regular file`)
}
