package main

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"example.com/mcp"
)

const maxVisits = 1_000 // of which it is known where they lead

// visits are those that the person agreed to and that are not complete: their hosts, by id.
type visits struct {
	mu    sync.Mutex // guards the field below
	hosts map[string]string
}

func (v *visits) add(id, host string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hosts == nil {
		v.hosts = map[string]string{}
	}
	if id != "" && len(v.hosts) < maxVisits {
		v.hosts[id] = host
	}
}

func (v *visits) take(id string) (host string, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	host, ok = v.hosts[id]
	delete(v.hosts, id)
	return host, ok
}

// visit asks whether to visit a page, and opens it in the browser only then. -yes agrees
// to visits but opens none.
func (p *program) visit(ctx context.Context, cs *mcp.ClientSession, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if err := q.SafeToOpen(); err != nil {
		p.screen.line(fmt.Sprintf("declined to visit %s: %s", q.URL, strings.TrimPrefix(err.Error(), "mcp: ")))
		return answer(nil, errDeclined)
	}
	u, err := url.Parse(q.URL)
	if err != nil {
		return nil, err
	}
	if p.yes {
		p.screen.line("open this URL: " + q.URL)
		p.visits.add(q.ElicitationID, u.Host)
		return answer(nil, nil)
	}
	ctx, done := p.line.question(ctx)
	defer done()
	err = p.sitting(ctx, func() error {
		p.introduce(cs, q.Message)
		p.person.say("It wants you to visit a page. Check where it leads:")
		p.person.say("  host: %s", visible(u.Host))
		for _, warning := range warnings(u) {
			p.person.say("        CAREFUL: %s", warning)
		}
		p.person.whole("  URL:  " + visible(q.URL))
		return p.consent(ctx, q.URL)
	})
	if p.person.err != nil {
		p.screen.line(fmt.Sprintf("declined, since %v (-yes accepts): visit %s", p.person.err, q.URL))
		err = errDeclined
	}
	if err == nil {
		p.visits.add(q.ElicitationID, u.Host)
	}
	return answer(nil, err)
}

// consent asks whether to open a page, and does it.
func (p *program) consent(ctx context.Context, u string) error {
	prompt := "Open it in your browser? y yes, m yes, but I open it myself, d decline, c cancel: "
	if p.noBrowser {
		prompt = "Do you open it in your browser? y yes, d decline, c cancel: "
	}
	letter, err := p.person.choose(ctx, prompt, "ym")
	if err != nil {
		return err
	}
	if letter == 'y' && !p.noBrowser {
		if err := p.browse(ctx, u); err == nil {
			return nil
		} else {
			p.person.say("%v", err)
		}
	}
	p.person.say("Open this URL in your browser:")
	p.person.whole(u)
	return nil
}

// visited tells that a visit that the person agreed to is complete, once.
func (p *program) visited(_ context.Context, _ *mcp.ClientSession, c *mcp.ElicitationCompleteParams) {
	if host, ok := p.visits.take(c.ElicitationID); ok {
		p.note("the server says that your visit to " + host + " is complete")
	}
}

// visible is text in which letters beyond ASCII are escaped, since they may look like
// others.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r > unicode.MaxASCII {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// warnings says what is odd about where a URL leads.
func warnings(u *url.URL) (list []string) {
	add := func(odd bool, warning string) {
		if odd {
			list = append(list, warning)
		}
	}
	host := strings.ToLower(u.Hostname())
	label := func(of func(string) bool) bool {
		for part := range strings.SplitSeq(host, ".") {
			if of(part) {
				return true
			}
		}
		return false
	}
	_, err := netip.ParseAddr(host)
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	digits := last != "" && strings.Trim(last, "0123456789.") == "" || strings.HasPrefix(last, "0x")
	add(u.User != nil, "what stands before the @ is no host")
	add(visible(host) != host || label(func(s string) bool { return strings.HasPrefix(s, "xn--") }),
		"the host has letters that may look like others; a known name may be imitated")
	add(err == nil || digits, "the host is a number, not a name")
	add(host == "localhost" || strings.HasSuffix(host, ".localhost"), "the host is this machine")
	add(u.Port() != "" && u.Port() != "443", "port "+u.Port()+" is not the usual one")
	add(u.Scheme != "https", "the connection is not encrypted")
	return list
}
