package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// What is told of in a directory, and of the directory itself.
const (
	wanted = syscall.IN_MODIFY | syscall.IN_ATTRIB | syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM |
		syscall.IN_MOVED_TO | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR
	goneAway = syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_UNMOUNT | syscall.IN_IGNORED
)

// events are an inotify instance. Its methods are called one at a time, but for read.
type events struct {
	fd   int
	file *os.File // of fd
}

func newEvents() (*events, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	return &events{fd, os.NewFile(uintptr(fd), "inotify")}, nil
}

// add begins to watch a directory that is open, whatever has its name, and returns what
// its events are called.
func (e *events) add(dir *os.File) (watch int, err error) {
	conn, err := dir.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := conn.Control(func(fd uintptr) {
		watch, err = syscall.InotifyAddWatch(e.fd, fmt.Sprintf("/proc/self/fd/%d", fd), wanted)
	})
	if failed != nil {
		err = failed
	}
	return watch, os.NewSyscallError("inotify_add_watch", err)
}

func (e *events) remove(watch int) {
	_, _ = syscall.InotifyRmWatch(e.fd, uint32(watch)) // which fails if it is gone
}

func (e *events) close() { e.file.Close() }

// read calls hear with each event until there are no more.
func (e *events) read(hear func(watch int, name string, gone bool)) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := e.file.Read(buf)
		if err != nil {
			return err
		}
		for b := buf[:n]; len(b) >= syscall.SizeofInotifyEvent; {
			watch, mask := int(int32(binary.NativeEndian.Uint32(b))), binary.NativeEndian.Uint32(b[4:])
			size := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			hear(watch, strings.TrimRight(string(b[syscall.SizeofInotifyEvent:size]), "\x00"), mask&goneAway != 0)
			b = b[size:]
		}
	}
}
