//go:build unix

package main

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

func TestBinaryInterrupt(t *testing.T) {
	_, self := client(t)
	cmd, _ := client(t, "call", "slow", "--", self, "test-server")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cancelled := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "progress: ") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
		cancelled = cancelled || strings.HasPrefix(lines.Text(), "server: slow: mcp: cancelled by the peer: ")
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !cancelled {
		t.Errorf("exit code %d, the server saw the cancellation: %v", code, cancelled)
	}
}
