package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/mcp"
)

const (
	maxUpdates  = 1_000           // resources whose updates wait to be told; more are dropped
	maxFollowed = 16              // resources of which one watch knows what they were
	maxCompared = 1 << 20         // bytes of a text that is compared line by line
	unsubscribe = 2 * time.Second // that the server may take for it
)

// An inbox holds the URIs of resources that the server says have changed, while somebody
// watches.
type inbox struct {
	mu   sync.Mutex // guards the fields below
	news chan struct{}
	uris []string // each once; the oldest first
}

// open begins to collect. There is something to take when news can be received from; it
// is never closed.
func (b *inbox) open() (news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news, b.uris = make(chan struct{}, 1), nil
	return b.news
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news = nil
}

func (b *inbox) put(_ context.Context, _ *mcp.ClientSession, u *mcp.ResourceUpdatedParams) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.news == nil || len(b.uris) >= maxUpdates || slices.Contains(b.uris, u.URI) {
		return
	}
	b.uris = append(b.uris, u.URI)
	select {
	case b.news <- struct{}{}:
	default: // they know
	}
}

func (b *inbox) take() (uris []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	uris, b.uris = b.uris, nil
	return uris
}

// watch tells of updates of a resource, and what they changed, until the session is over.
func watch(ctx context.Context, j *job) error {
	uri, err := j.uri(ctx)
	if err != nil {
		return err
	}
	news := j.updates.open()
	defer j.updates.close()
	if err := j.cs.Subscribe(ctx, uri); err != nil {
		return err
	}
	defer func() { // which is for sessions that go on; others end anyway
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribe)
		defer cancel()
		_ = j.cs.Unsubscribe(ctx, uri)
	}()
	before := map[string]string{}
	if !j.json {
		before[uri] = j.snapshot(ctx, uri)
	}
	j.note("watching " + uri + ", Ctrl-C ends it")
	for {
		select {
		case <-j.over.Done():
			return context.Cause(j.over)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news:
			for _, uri := range j.updates.take() {
				if err := j.updated(ctx, uri, before); err != nil {
					return err
				}
			}
		}
	}
}

// updated tells of an update, and what it changed if it is known what there was before.
func (j *job) updated(ctx context.Context, uri string, before map[string]string) error {
	if j.json {
		return j.printJSON(map[string]string{"uri": uri})
	}
	was, known := before[uri]
	is := j.snapshot(ctx, uri)
	j.printf("updated %s", uri)
	if known {
		for _, line := range diff(was, is) {
			fmt.Fprintln(j.stdout, paint(j.colour, styleOfLine(line), oneLine(line)))
		}
	}
	if known || len(before) < maxFollowed {
		before[uri] = is
	}
	return nil
}

// snapshot is what a resource is now: its text, or a line that tells of what is not text,
// is too long, or cannot be read.
func (j *job) snapshot(ctx context.Context, uri string) string {
	r, err := j.cs.ReadResource(ctx, uri)
	if err != nil {
		return "[it cannot be read: " + err.Error() + "]\n"
	}
	var b strings.Builder
	for _, c := range r.Contents {
		if len(r.Contents) > 1 {
			b.WriteString("[resource " + c.URI + "]\n")
		}
		switch data, err := c.Blob.Bytes(); {
		case err != nil:
			fmt.Fprintf(&b, "[%s, which is no base64]\n", c.MIMEType)
		case !c.Blob.IsZero():
			fmt.Fprintf(&b, "[%s %d bytes, SHA-256 %x]\n", c.MIMEType, len(data), sha256.Sum256(data))
		case len(c.Text) > maxCompared:
			fmt.Fprintf(&b, "[%s %d bytes, SHA-256 %x]\n", c.MIMEType, len(c.Text), sha256.Sum256([]byte(c.Text)))
		default:
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

func styleOfLine(line string) string {
	switch line[0] {
	case '+':
		return green
	case '-':
		return red
	case '@':
		return cyan
	}
	return ""
}
