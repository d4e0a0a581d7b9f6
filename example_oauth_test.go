package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"example.com/mcp"
)

// A person logs in with the browser, if the server wants that, and stays logged in.
func ExampleOAuthTransport() {
	home, _ := os.UserConfigDir()
	oauth := &mcp.OAuthTransport{
		Login:    (&mcp.LoopbackLogin{}).Login,
		Store:    &mcp.FileStore{Dir: filepath.Join(home, "my-app", "tokens")},
		Metadata: mcp.ClientMetadata{ClientName: "My app"},
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "my-app", Version: "1"}, nil)
	cs, err := client.Connect(context.Background(), &mcp.HTTPTransport{
		URL:    "https://mcp.example.com/mcp",
		Client: &http.Client{Transport: oauth},
	})
	switch {
	case errors.Is(err, mcp.ErrLoginDeclined):
		fmt.Println("as you like")
		return
	case err != nil:
		fmt.Println(err)
		return
	}
	defer cs.Close()
}

// A program without a person uses its own credentials.
func ExampleClientCredentials() {
	_ = &mcp.OAuthTransport{
		Grant:   &mcp.ClientCredentials{},
		Clients: []mcp.OAuthClient{{Issuer: "https://auth.example.com", ID: "nightly-report", Secret: os.Getenv("CLIENT_SECRET")}},
	}
}

// A login of one's own: asked for confirmation first, without a browser.
func ExampleLogin() {
	_ = &mcp.OAuthTransport{
		Login: func(ctx context.Context, l *mcp.Login) error {
			fmt.Printf("Log in at %s for %s? ", l.Issuer, l.Server)
			var yes string
			if _, _ = fmt.Scanln(&yes); yes != "y" {
				return mcp.ErrLoginDeclined
			}
			u, err := l.Begin(ctx, "https://my-app.example.com/callback")
			if err != nil {
				return err
			}
			fmt.Println("Open", u, "and paste where it leads:")
			var callback string
			if _, err := fmt.Scanln(&callback); err != nil {
				return err
			}
			return l.Finish(callback)
		},
	}
}
