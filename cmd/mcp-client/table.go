package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A table is lines of columns, for a person to read.
type table struct {
	heads []string
	rows  [][]string // a cell may have several lines; they are made safe
}

const (
	gap      = "  " // between two columns
	minTable = 24   // columns of the terminal; a table is no narrower
)

// print prints a table that is as wide as the terminal at most.
func (p *program) print(t table) {
	if len(t.rows) == 0 {
		return
	}
	for i, line := range t.lines(columnsOf(p.width)) {
		if i == 0 {
			line = paint(p.colour, bold, line)
		}
		fmt.Fprintln(p.stdout, line)
	}
}

// lines lays a table out. A column in which no row says something is left out.
func (t table) lines(width int) (lines []string) {
	widths := t.widths(max(width, minTable))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		var columns [][]string
		height := 1
		for i, w := range widths {
			var text string
			if i < len(row) && w > 0 {
				text = manyLines(row[i])
			}
			columns = append(columns, wrap(text, w))
			height = max(height, len(columns[i]))
		}
		for n := range height {
			var b strings.Builder
			for i, w := range widths {
				var text string
				if n < len(columns[i]) {
					text = columns[i][n]
				}
				if w > 0 {
					b.WriteString(text + strings.Repeat(" ", max(w-cells(text), 0)) + gap)
				}
			}
			lines = append(lines, strings.TrimRight(b.String(), " "))
		}
	}
	return lines
}

// widths shares the columns of the terminal out: the first column of the table, which one
// copies from, gets half of them at most, others a quarter, and the last one what is left.
func (t table) widths(width int) []int {
	widths := make([]int, len(t.heads))
	for i := range widths {
		for _, row := range t.rows {
			for line := range strings.Lines(manyLines(row[i])) {
				widths[i] = max(widths[i], cells(strings.TrimRight(line, "\n")))
			}
		}
		if widths[i] > 0 {
			widths[i] = max(widths[i], cells(t.heads[i]))
		}
	}
	left := width
	for i, w := range widths[:len(widths)-1] {
		most := 4
		if i == 0 {
			most = 2
		}
		if w > 0 {
			widths[i] = min(w, width/most)
			left -= widths[i] + len(gap)
		}
	}
	last := &widths[len(widths)-1]
	*last = min(*last, left)
	return widths
}

// wrap breaks safe text into lines that are not wider than a width: between words if that
// goes. Lines keep what they are indented by.
func wrap(text string, width int) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n \t"), "\t", "    ")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if len(indent) > width/2 {
			indent = ""
		}
		line = line[len(indent):]
		room := width - len(indent)
		for room > 0 && prefix(line, room) < len(line) {
			head := line[:prefix(line, room)]
			if head == "" {
				break // a character is wider than that
			}
			if at := strings.LastIndexByte(head, ' '); at > 0 && line[len(head)] != ' ' {
				head = head[:at]
			}
			lines = append(lines, indent+strings.TrimRight(head, " "))
			line = strings.TrimLeft(line[len(head):], " ")
		}
		lines = append(lines, indent+line)
	}
	return lines
}

// label is what a line begins with that goes on below what follows it.
var label = regexp.MustCompile(`^ *(\S+ {2,})?`)

// folded is safe text in lines that are not wider than a width, but for words that are: they
// stay whole, so that they can be copied. Lines go on below where the first one began to say
// something.
func folded(text string, width int) string {
	indent := cells(label.FindString(text))
	if indent > width/2 {
		indent = 0
	}
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		switch {
		case column > indent && column+1+cells(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += cells(word)
	}
	return b.String()
}

// clip is safe text that is not wider than a width.
func clip(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	return text[:prefix(text, max(width-1, 0))] + "…"
}

// prefix is the length of the longest beginning of text that is not wider than a width.
func prefix(text string, width int) int {
	for i, r := range text {
		if width -= cellsOf(r); width < 0 {
			return i
		}
	}
	return len(text)
}

// cells is how many columns safe text takes.
func cells(text string) (n int) {
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

// cellsOf is how many columns a rune takes: 0 what joins the one before, 2 most of East
// Asia's and pictures. What makes a picture of the one before counts 1.
func cellsOf(r rune) int {
	const picture = '\ufe0f'
	switch {
	case r < 0x300 || r == picture:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || 0x1160 <= r && r <= 0x11ff:
		return 0
	}
	if _, found := slices.BinarySearchFunc(wide, r, func(of [2]rune, r rune) int {
		switch {
		case of[1] < r:
			return -1
		case of[0] > r:
			return 1
		}
		return 0
	}); found {
		return 2
	}
	return 1
}

// wide are the ranges of runes that take two columns (Unicode Standard Annex #11).
var wide = [][2]rune{{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0}, {0x23f3, 0x23f3},
	{0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1}, {0x26aa, 0x26ab},
	{0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3}, {0x26f5, 0x26f5},
	{0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e},
	{0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50},
	{0x2b55, 0x2b55}, {0x2e80, 0x303e}, {0x3041, 0x4dbf}, {0x4e00, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
	{0xfe10, 0xfe19}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x18cff}, {0x1aff0, 0x1b2ff},
	{0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f64f},
	{0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}}
