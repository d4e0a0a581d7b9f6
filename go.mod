module example.com/mcp

go 1.26
