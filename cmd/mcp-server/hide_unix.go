//go:build !windows

package main

import (
	"os"
	"os/exec"
)

// hideInput keeps a terminal from showing what is typed, until restore is called.
func hideInput(terminal *os.File) (restore func(), err error) {
	stty := func(arg string) error {
		cmd := exec.Command("stty", arg)
		cmd.Stdin = terminal
		return cmd.Run()
	}
	if err := stty("-echo"); err != nil {
		return nil, err
	}
	return func() { _ = stty("echo") }, nil
}
