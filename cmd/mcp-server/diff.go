package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPreview = 30      // lines of a preview
	maxWidth   = 120     // characters of its lines
	maxLead    = 40      // of them before the first that differs, in a line that is longer
	maxCompare = 1 << 20 // pairs of lines that are compared for it
)

// preview shows what changes from one text to another: lines with - that go and with +
// that come, up to a number, of which half is kept for either if there are so many.
func preview(old, text string) string {
	list, gone, come := changes(differing(old, text))
	room := map[string]int{"-": maxPreview - min(come, maxPreview/2), "+": maxPreview - min(gone, maxPreview/2)}
	left := gone + come
	var shown strings.Builder
	for _, c := range list {
		if room[c.sign]--; room[c.sign] >= 0 {
			fmt.Fprintf(&shown, "\n%s %s", c.sign, printable(c.line, c.other))
			left--
		}
	}
	if left > 0 {
		fmt.Fprintf(&shown, "\n… and %d more lines that go or come", left)
	}
	return shown.String()
}

// differing cuts off the lines with which both texts begin, and end.
func differing(a, b string) (string, string) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n < max(len(a), len(b)) {
		n = strings.LastIndexByte(a[:n], '\n') + 1
	}
	a, b = a[n:], b[n:]
	for n = 0; n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n]; {
		n++
	}
	if first := strings.IndexByte(a[len(a)-n:], '\n'); first >= 0 {
		n -= first + 1
	} else {
		n = 0
	}
	return a[:len(a)-n], b[:len(b)-n]
}

// A change is a line that goes or comes.
type change struct {
	sign, line string
	other      string // what perhaps stands in place of it, or stood
}

// changes lists what changes, and counts the lines that go and come. Where the texts
// differ too much to be compared line by line, all goes and all comes, and the list ends
// where a preview does.
func changes(old, text string) (list []change, gone, come int) {
	gone, come = lines(old), lines(text)
	if (gone+1)*(come+1) > maxCompare {
		a, b := beginning(old), beginning(text)
		for i, line := range a {
			list = append(list, change{"-", line, lineAt(b, i)})
		}
		for i, line := range b {
			list = append(list, change{"+", line, lineAt(a, i)})
		}
		return list, gone, come
	}
	a, b := slices.Collect(strings.Lines(old)), slices.Collect(strings.Lines(text))
	common := longest(a, b)
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j, gone, come = i+1, j+1, gone-1, come-1
		case i < len(a) && (j == len(b) || common(i+1, j) >= common(i, j+1)):
			list = append(list, change{"-", a[i], lineAt(b, j)})
			i++
		default:
			list = append(list, change{"+", b[j], lineAt(a, i-1)})
			j++
		}
	}
	return list, gone, come
}

// lineAt is the line with a number; empty if there is none.
func lineAt(list []string, i int) string {
	if i < 0 || i >= len(list) {
		return ""
	}
	return list[i]
}

// lines counts the lines of a text.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// beginning is as many lines of a text as a preview may show.
func beginning(text string) (list []string) {
	for line := range strings.Lines(text) {
		if len(list) == maxPreview {
			break
		}
		list = append(list, line)
	}
	return list
}

// longest returns a function that tells how many lines the rests of two texts from i and j
// on have in common, in order.
func longest(a, b []string) func(i, j int) int {
	wide := len(b) + 1
	table := make([]int32, (len(a)+1)*wide)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			table[i*wide+j] = max(table[(i+1)*wide+j], table[i*wide+j+1])
			if a[i] == b[j] {
				table[i*wide+j] = table[(i+1)*wide+j+1] + 1
			}
		}
	}
	return func(i, j int) int { return int(table[i*wide+j]) }
}

// printable is a line of a file for a person: bounded, and what could be taken for
// something else is spelled out. If it is too long, what makes it another line than other
// is in what is shown.
func printable(line, other string) string {
	line, ended := strings.CutSuffix(line, "\n")
	var b strings.Builder
	if start := firstShown(line, other); start > 0 {
		b.WriteString("…")
		line = line[start:]
	}
	n := 0
	for _, r := range line {
		if n++; n > maxWidth {
			b.WriteString("…")
			break
		}
		if r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	if !ended {
		b.WriteString(" (no line feed)")
	}
	return b.String()
}

// firstShown is where the part of a line begins that is shown of it.
func firstShown(line, other string) int {
	n := 0
	for n < min(len(line), len(other)) && line[n] == other[n] {
		n++
	}
	if utf8.RuneCountInString(line[:n]) < maxWidth {
		return 0
	}
	for range maxLead {
		_, size := utf8.DecodeLastRuneInString(line[:n])
		n -= size
	}
	return n
}
