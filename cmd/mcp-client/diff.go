package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	around     = 3         // lines that are the same, before and after a change
	maxPairs   = 4_000_000 // of lines that are compared; beyond, what differs is replaced as a whole
	maxChanged = 500       // lines of a diff that are shown
)

// An edit is a line of one text or both: '-' was in the first, '+' is in the second, ' '
// is in both.
type edit struct {
	op   byte
	line string
}

// diff tells how b differs from a, in the lines of a unified diff without its head; nil
// if it does not.
func diff(a, b string) (shown []string) {
	list := edits(slices.Collect(strings.Lines(a)), slices.Collect(strings.Lines(b)))
	near := make([]bool, len(list)) // there is a change, or it is around one
	for i, e := range list {
		for k := max(i-around, 0); e.op != ' ' && k < min(i+around+1, len(list)); k++ {
			near[k] = true
		}
	}
	var numbers [2]int
	for len(list) > 0 {
		n := 1
		for n < len(list) && near[n] == near[0] {
			n++
		}
		if near[0] {
			shown = append(shown, hunk(&numbers, list[:n])...)
		} else {
			counted(&numbers, list[:n])
		}
		list, near = list[n:], near[n:]
	}
	if more := len(shown) - maxChanged; more > 0 {
		shown = append(shown[:maxChanged], fmt.Sprintf(" … and %d lines more", more))
	}
	return shown
}

// counted goes on with the numbers of lines of both texts.
func counted(numbers *[2]int, list []edit) {
	for _, e := range list {
		if e.op != '+' {
			numbers[0]++
		}
		if e.op != '-' {
			numbers[1]++
		}
	}
}

// hunk is a part of a diff. The numbers are those of the lines before it, and become
// those of its last ones.
func hunk(numbers *[2]int, list []edit) []string {
	before := *numbers
	counted(numbers, list)
	span := func(i int) string {
		n := numbers[i] - before[i]
		return fmt.Sprintf("%d,%d", before[i]+min(n, 1), n)
	}
	lines := []string{"@@ -" + span(0) + " +" + span(1) + " @@"}
	for _, e := range list {
		line, ended := strings.CutSuffix(e.line, "\n")
		lines = append(lines, string(e.op)+line)
		if !ended {
			lines = append(lines, `\ No newline at the end`)
		}
	}
	return lines
}

// edits makes b of a, with few edits.
func edits(a, b []string) (list []edit) {
	same := func(lines []string) {
		for _, line := range lines {
			list = append(list, edit{' ', line})
		}
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	same(a[:head])
	list = append(list, shortest(a[head:len(a)-tail], b[head:len(b)-tail])...)
	same(a[len(a)-tail:])
	return list
}

// shortest makes b of a with the fewest edits, if that is not too much work.
func shortest(a, b []string) (list []edit) {
	width := len(b) + 1
	var common []int32 // common[i*width+j] lines can stay of a[i:] and b[j:]
	if len(a)*len(b) <= maxPairs {
		common = make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case common != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			list = append(list, edit{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common == nil || common[(i+1)*width+j] >= common[i*width+j+1]):
			list = append(list, edit{'-', a[i]})
			i++
		default:
			list = append(list, edit{'+', b[j]})
			j++
		}
	}
	return list
}
