package main

import (
	"os"
	"syscall"
)

const enableEchoInput = 0x4

// hideInput keeps a terminal from showing what is typed, until restore is called.
func hideInput(terminal *os.File) (restore func(), err error) {
	set := syscall.NewLazyDLL("kernel32.dll").NewProc("SetConsoleMode")
	console := syscall.Handle(terminal.Fd())
	var mode uint32
	if err := syscall.GetConsoleMode(console, &mode); err != nil {
		return nil, err
	}
	if ok, _, err := set.Call(uintptr(console), uintptr(mode&^enableEchoInput)); ok == 0 {
		return nil, err
	}
	return func() { _, _, _ = set.Call(uintptr(console), uintptr(mode)) }, nil
}
