//go:build unix

package mcp

// What stdio.go needs of a unix: a child and all that it starts are one process group,
// which ends together, and reading stdin can be ended.

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// A processGroup is a child process and all that it starts.
type processGroup struct{ id int }

// start starts cmd in a group of its own.
func (g *processGroup) start(cmd *exec.Cmd) error {
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	attr.Setpgid, attr.Pgid = true, 0
	cmd.SysProcAttr = &attr
	if err := cmd.Start(); err != nil {
		return err
	}
	g.id = cmd.Process.Pid
	return nil
}

func (g *processGroup) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g *processGroup) kill()      { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// pollable makes a blocked read of f end when f is closed, where f is a pipe or
// socket. It also spares a thread.
func pollable(f *os.File) io.ReadCloser {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return interruptible(f)
	}
	fd := int(f.Fd())
	if syscall.SetNonblock(fd, true) != nil {
		return interruptible(f)
	}
	return os.NewFile(uintptr(fd), f.Name())
}
