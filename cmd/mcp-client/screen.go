package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// A screen is stderr: lines, and one line of progress that overwrites itself where
// it is a terminal. Lines are made safe, whoever wrote them.
type screen struct {
	terminal bool       // it obeys control sequences
	colour   bool       // likewise, and colours are wanted
	width    func() int // in columns; nil: 80

	mu      sync.Mutex // guards the fields below
	w       io.Writer
	current string      // the line of progress that is shown
	drawn   time.Time   // when
	next    string      // the line of progress that is to be shown
	timer   *time.Timer // which shows it; nil: there is none
	held    bool        // the person is asked something: no progress, and lines wait
	waiting []string    // lines
	dropped int         // more lines, which were too many to wait
	waits   string      // the prompt that stands there; "": none
}

const maxWaiting = 1_000 // lines, while the person is asked

const (
	eraseLine = "\r\x1b[K"
	redraw    = 100 * time.Millisecond // between two lines of progress on a terminal
)

// A span is a part of a line, in a style.
type span struct{ style, text string }

// line shows a line.
func (s *screen) line(text string) { s.spans(span{text: text}) }

// spans shows a line of several styles. A line of progress stays below it.
func (s *screen) spans(parts ...span) {
	var b strings.Builder
	for _, p := range parts {
		text := oneLine(p.text)
		if s.terminal && len(parts) == 1 {
			text = folded(text, s.columns())
		}
		b.WriteString(paint(s.colour, p.style, text))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.held:
		s.lineLocked(b.String())
	case len(s.waiting) < maxWaiting:
		s.waiting = append(s.waiting, b.String())
	default:
		s.dropped++
	}
}

// lineLocked shows a line above the one of progress.
func (s *screen) lineLocked(line string) {
	progress := s.current
	s.showLocked("")
	if s.waits != "" {
		fmt.Fprintln(s.w)
	}
	fmt.Fprintln(s.w, line)
	fmt.Fprint(s.w, s.waits)
	s.showLocked(progress)
}

// prompt shows a prompt on w. Until it is prompted, lines come before the prompt, which is
// shown again, where w and the screen are the same terminal.
func (s *screen) prompt(w io.Writer, text string) {
	if s == nil {
		fmt.Fprint(w, text)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(w, text)
	if s.terminal {
		s.waits = text
	}
}

// prompted ends a prompt.
func (s *screen) prompted() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waits = ""
	}
}

// erase takes away what a terminal shows in the line by itself, such as ^C.
func (s *screen) erase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		fmt.Fprint(s.w, eraseLine)
	}
}

// progress shows how far something is; "" ends it. On a terminal it overwrites what it
// showed before, but not more often than one can see.
func (s *screen) progress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = oneLine(text)
	if !s.terminal {
		if text != "" {
			fmt.Fprintln(s.w, text)
		}
		return
	}
	s.next = text
	switch wait := redraw - time.Since(s.drawn); {
	case text == "" || s.held:
		s.nextLocked()
	case s.timer != nil:
	case wait > 0:
		s.timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.nextLocked()
		})
	default:
		s.nextLocked()
	}
}

// nextLocked shows the line of progress that is to be shown, if there may be one.
func (s *screen) nextLocked() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.held {
		s.next = ""
	}
	s.showLocked(clip(s.next, s.columns()-1)) // a line that wraps could not be erased
	s.drawn, s.next = time.Now(), ""
}

// showLocked shows a line of progress in place of the one there is.
func (s *screen) showLocked(text string) {
	if s.current != "" {
		fmt.Fprint(s.w, eraseLine)
	}
	fmt.Fprint(s.w, text)
	s.current = text
}

func (s *screen) columns() int { return columnsOf(s.width) }

// hold keeps progress and lines away while the person is asked something: else a server
// could put other words in place of the question. The lines are shown afterwards.
func (s *screen) hold(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held = on; on {
		s.nextLocked()
		return
	}
	for _, line := range s.waiting {
		s.lineLocked(line)
	}
	if s.dropped > 0 {
		s.lineLocked(fmt.Sprintf("(%d lines more were not shown meanwhile)", s.dropped))
	}
	s.waiting, s.dropped = nil, 0
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
