//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/mcp"
)

// A sampler gets the request as JSON and prints the result; the person approves both, or
// has said -yes.
func TestSampler(t *testing.T) {
	file := filepath.Join(t.TempDir(), "request")
	const result = `{"role":"assistant","model":"m","stopReason":"maxTokens","content":{"type":"text","text":"hat\u001b"}}`
	sampler := "cat >" + shellText([]string{file}) + "; echo careful >&2; echo '" + result + "'"
	const let, sent = "Let the sampler answer? y yes, d refuse: ", "This will be sent, as by m (maxTokens):\n  hat\\x1b\n" + sendIt
	for _, c := range []struct {
		typed, flag, stdout, stderr, shown string
		code                               int
		ran                                bool
	}{
		{"y\ny\n", "-q", "m: hat\x1b\n", "", sampleShown + let + sent, exitOK, true},
		{"y\ny\n", "-json=false", "m: hat\x1b\n", "sampler: careful\n", sampleShown + let + sent, exitOK, true},
		{"", "-yes", "m: hat\x1b\n", "sampler: careful\nthe sampler answered: hat\\x1b\n", "", exitOK, true},
		{"d\n", "-q", "", "", sampleShown + let, exitProtocol, false},
		{"y\nd\n", "-q", "", "", sampleShown + let + sent, exitProtocol, true},
	} {
		os.Remove(file)
		tr := &trial{typed: c.typed}
		if c.code != exitOK {
			c.stderr = `mcp-client: tools/call: the server asks for "1": User rejected sampling request (code -1)` + "\n"
		}
		tr.run("call", "sample", c.flag, "-sampler", sampler, "--", "x").is(t, c.code, c.stdout, c.stderr)
		if got := tr.screen.String(); got != c.shown {
			t.Errorf("%q: shown:\n%s\nwant:\n%s", c.typed, got, c.shown)
		}
		request, err := os.ReadFile(file)
		const want = `{"messages":[{"role":"user","content":{"type":"text","text":"What rhymes with cat?"}}],"systemPrompt":"Rhyme.","maxTokens":9}`
		if c.ran && string(request) != want || !c.ran && err == nil {
			t.Errorf("%q: the sampler got %s, %v; want %s", c.typed, request, err, want)
		}
	}
}

// The server learns that the sampler failed, the person why.
func TestSamplerFails(t *testing.T) {
	for _, c := range []struct{ sampler, why string }{
		{"echo '{}'; echo secret >&2; exit 3", "sampler: secret\nthe sampler failed: exit status 3\n"},
		{"echo hat", "the sampler failed: invalid character 'h' looking for beginning of value\n"},
		{"echo '{}'", "the sampler failed: role: missing\n"},
		{"while echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; do :; done", "the sampler failed: it printed more than 4194304 bytes\n"},
	} {
		tr := &trial{speaks: mcp.Revisions()[1:]}
		tr.run("call", "sample", "-yes", "-sampler", c.sampler, "--", "x")
		if got := tr.stderr.String(); !strings.HasPrefix(got, c.why) || strings.Contains(tr.stdout.String(), "secret") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want it to begin with %q", c.sampler, tr.code, tr.stdout.String(), got, c.why)
		}
	}
}

// A sampler that takes too long, or is not wanted any more, is ended.
func TestSamplerEnds(t *testing.T) {
	p := &program{screen: &screen{w: io.Discard}, flags: flags{sampler: "echo begun >&2; exec sleep 600", timeout: 100 * time.Millisecond}}
	_, err := p.sampled(t.Context(), &mcp.CreateMessageParams{})
	if err == nil || err.Error() != "the sampler failed: no answer within 100ms" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p.timeout = 0
	p.screen.w = writerFunc(func(b []byte) (int, error) { cancel(errInterrupted); return len(b), nil }) // when it has begun
	if _, err := p.sampled(ctx, &mcp.CreateMessageParams{}); !errors.Is(err, errInterrupted) {
		t.Error(err)
	}
}
