//go:build unix

package mcp_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"example.com/mcp"
)

// A server is a command most of the time, such as exec.Command("mcp-server", "notes").
// Here it is this test itself, which serves on its stdin and stdout if it is told so.
// Closing the session ends it.
func ExampleCommandTransport() {
	ctx := context.Background()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "MCP_TEST_CHILD=serve")

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{
		Command: command,
		Stderr:  func(line string) { fmt.Println("server:", line) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for tool, err := range session.Tools(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(session.ServerInfo().Name, "has", tool.Name)
	}
	fmt.Println(session.Close())
	// Output:
	// child has environment
	// child has pid
	// child has shout
	// child has wait
	// <nil>
}
