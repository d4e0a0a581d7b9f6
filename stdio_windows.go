package mcp

// What stdio.go needs of Windows: a child and all that it starts are one job object,
// which ends together, and reading stdin can be ended.

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
)

// A processGroup is a child process and all that it starts: a job object.
type processGroup struct {
	job     uintptr // 0: there is none
	process *os.Process
}

// start starts cmd and puts it into a job of its own.
func (g *processGroup) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	g.process = cmd.Process
	const setQuotaAndTerminate = 0x0101
	process, err := syscall.OpenProcess(setQuotaAndTerminate, false, uint32(cmd.Process.Pid))
	if err != nil {
		return nil // it has ended already
	}
	defer syscall.CloseHandle(process)
	if job, _, _ := createJobObject.Call(0, 0); job != 0 {
		if ok, _, _ := assignProcessToJobObject.Call(job, uintptr(process)); ok != 0 {
			g.job = job
		} else {
			_ = syscall.CloseHandle(syscall.Handle(job))
		}
	}
	return nil
}

// terminate is kill: Windows has no request to end that a console program without
// a window would get.
func (g *processGroup) terminate() { g.kill() }

func (g *processGroup) kill() {
	if g.job == 0 {
		_ = g.process.Kill()
		return
	}
	_, _, _ = terminateJobObject.Call(g.job, 1)
	_ = syscall.CloseHandle(syscall.Handle(g.job))
	g.job = 0
}

// pollable makes a blocked read of f end when f is closed.
func pollable(f *os.File) io.ReadCloser { return interruptible(f) }
