package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A screen is stderr: lines, and one line of progress that overwrites itself where
// it is a terminal. Lines are made safe, whoever wrote them.
type screen struct {
	terminal bool

	mu      sync.Mutex // guards the fields below
	w       io.Writer
	current string            // the line of progress that is shown
	held    bool              // the person is asked something: no progress
	said    map[string]string // by key; what the last message that has such a member says
}

const eraseLine = "\r\x1b[K"

// line shows a line.
func (s *screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lineLocked(text)
}

func (s *screen) lineLocked(text string) {
	s.eraseLocked()
	fmt.Fprintln(s.w, oneLine(text))
}

// repeated are the members that every message has from 2026-07-28 on.
var repeated = []string{"clientCapabilities", "clientInfo", "protocolVersion", "serverInfo"}

// message shows a message that goes over the wire. Of what every message says, "…" stands
// for what is said as before.
func (s *screen) message(way string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lineLocked(way + " " + s.newsLocked(string(data)))
}

func (s *screen) newsLocked(text string) string {
	const place = "\x00" // which is in no JSON
	if strings.Contains(text, place) {
		return text
	}
	if s.said == nil {
		s.said = map[string]string{}
	}
	for _, name := range repeated {
		key := `"io.modelcontextprotocol/` + name + `":`
		before, after, found := strings.Cut(text, key)
		d := json.NewDecoder(strings.NewReader(after))
		if !found || d.Decode(new(json.RawMessage)) != nil {
			continue
		}
		value, rest := after[:d.InputOffset()], after[d.InputOffset():]
		if s.said[name] == value {
			text = before + place + rest
		}
		s.said[name] = value
	}
	for strings.Contains(text, place+","+place) {
		text = strings.Replace(text, place+","+place, place, 1)
	}
	return strings.ReplaceAll(text, place, "…")
}

// progress shows progress; "" ends it.
func (s *screen) progress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = oneLine(text)
	switch {
	case !s.terminal && text != "":
		fmt.Fprintln(s.w, text)
	case !s.terminal || s.held:
	default:
		s.eraseLocked()
		if runes := []rune(text); len(runes) > maxProgress {
			text = string(runes[:maxProgress-1]) + "…" // a line that wraps could not be erased
		}
		fmt.Fprint(s.w, text)
		s.current = text
	}
}

const maxProgress = 79

func (s *screen) eraseLocked() {
	if s.current != "" {
		fmt.Fprint(s.w, eraseLine)
		s.current = ""
	}
}

// hold keeps progress away while the person is asked something.
func (s *screen) hold(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eraseLocked()
	s.held = on
}

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// oneLine makes foreign text safe to show in a line: what could control a terminal
// is shown as an escape.
func oneLine(text string) string { return escape(text, "\t") }

// manyLines makes foreign text safe to show.
func manyLines(text string) string { return escape(text, "\t\n") }

func escape(text, keep string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strings.ContainsRune(keep, r) || !dangerous(r):
			b.WriteString(text[:size])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.String()
}

// dangerous reports whether a terminal could take r for more than text.
func dangerous(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
