//go:build unix

package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/mcp"
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

// A file of servers in a usual place that is none is not waited for.
func TestServersFilePipe(t *testing.T) {
	dir := inFolder(t, nil)
	if err := syscall.Mkfifo(filepath.Join(dir, ".mcp.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	new(trial).with(func(*program, []string) (mcp.Transport, error) { panic("no server may be reached") }).run("tools", "x").
		is(t, exitUsage, "", "mcp-client: "+filepath.Join(dir, ".mcp.json")+" is no ordinary file\n")
}
