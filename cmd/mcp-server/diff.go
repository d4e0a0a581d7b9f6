package main

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	maxPreview = 30      // lines of a preview
	maxWidth   = 120     // characters of its lines
	maxCompare = 1 << 20 // pairs of lines that are compared for it
)

// preview shows what changes from one text to another: lines with - that go and with +
// that come, up to a number. Where the texts differ too much to be compared line by line,
// all between the first and the last difference goes.
func preview(old, text string) string {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(text, "\n")
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	a, b = a[first:], b[first:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var shown strings.Builder
	lines, left := 0, 0
	say := func(sign, line string) {
		if line == "" { // behind the last line feed
			return
		}
		if lines++; lines > maxPreview {
			left++
			return
		}
		fmt.Fprintf(&shown, "\n%s %s", sign, printable(line))
	}
	common := longest(a, b)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common(i+1, j) >= common(i, j+1)):
			say("-", a[i])
			i++
		default:
			say("+", b[j])
			j++
		}
	}
	if left > 0 {
		fmt.Fprintf(&shown, "\n… and %d more lines that go or come", left)
	}
	return shown.String()
}

// longest returns a function that tells how many lines the rests of two texts from i and j
// on have in common, in order; always 0 where that costs too much.
func longest(a, b []string) func(i, j int) int {
	if (len(a)+1)*(len(b)+1) > maxCompare {
		return func(int, int) int { return 0 }
	}
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
// something else is spelled out.
func printable(line string) string {
	line, ended := strings.CutSuffix(line, "\n")
	var b strings.Builder
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
