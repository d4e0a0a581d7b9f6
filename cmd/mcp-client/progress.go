package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/mcp"
)

const (
	lineEvery = time.Second // between two lines of progress where stderr is no terminal
	rateAfter = time.Second // before that, a rate would be a guess
	maxLeft   = 100 * time.Hour
)

// A meter shows how far a call is: as a bar on a terminal, else in lines.
type meter struct {
	p       *program
	first   mcp.Progress
	started time.Time // when first came; zero: it has not
	shown   time.Time // when the last line was, where stderr is no terminal
}

func (m *meter) report(r mcp.Progress) {
	now, done := time.Now(), r.Total > 0 && r.Value >= r.Total
	if m.started.IsZero() {
		m.first, m.started = r, now
	}
	s := m.p.screen
	switch {
	case m.p.quiet:
	case s.terminal:
		s.progress(m.bar(r, now.Sub(m.started), s.columns()-1))
	case done || m.shown.IsZero() || now.Sub(m.shown) >= lineEvery:
		m.shown = now
		s.progress(strings.TrimRight("progress: "+m.text(r, now.Sub(m.started))+" "+r.Message, " "))
	}
}

// bar is a line of progress that fits the width.
func (m *meter) bar(r mcp.Progress, past time.Duration, width int) string {
	text := strings.TrimRight(m.text(r, past)+" "+oneLine(r.Message), " ")
	if size := min(30, width/4); r.Total > 0 && size >= 5 {
		full := int(part(r) * float64(size))
		text = "[" + strings.Repeat("#", full) + strings.Repeat("-", size-full) + "] " + text
	}
	return clip(text, width)
}

// text tells how far a call is, how fast it goes, and when it may be done.
func (m *meter) text(r mcp.Progress, past time.Duration) string {
	facts := []string{count(r.Value)}
	if r.Total > 0 {
		facts[0] += " of " + count(r.Total)
	}
	if rate := (r.Value - m.first.Value) / past.Seconds(); past >= rateAfter && rate > 0 && !math.IsInf(rate, 1) {
		facts = append(facts, count(rounded(rate))+"/s")
		if left := (r.Total - r.Value) / rate; left > 0 && left < maxLeft.Seconds() {
			facts = append(facts, time.Duration(math.Ceil(left)*float64(time.Second)).String()+" left")
		}
	}
	text := strings.Join(facts, ", ")
	if r.Total > 0 {
		text = fmt.Sprintf("%3.0f%% (%s)", math.Floor(100*part(r)), text)
	}
	return text
}

// part is how much of a call is done, from 0 to 1.
func part(r mcp.Progress) float64 { return min(max(r.Value/r.Total, 0), 1) }

// rounded is a positive number in three digits, or more before the point.
func rounded(x float64) float64 {
	if x >= 100 {
		return math.Round(x)
	}
	digits := math.Pow(10, 2-math.Floor(math.Log10(x)))
	return math.Round(x*digits) / digits
}

// count is a number of whatever the server counts: exactly, or in short if it is large.
func count(x float64) string {
	if x >= 100_000 {
		short := x
		for _, unit := range []string{"k", "M", "G", "T"} {
			if short /= 1000; short < 1000 {
				return strconv.FormatFloat(rounded(short), 'f', -1, 64) + unit
			}
		}
	}
	return strconv.FormatFloat(x, 'g', 12, 64)
}
