package main

import (
	"os"
	"runtime"
	"strconv"
)

// Styles, as the parameters of the control sequence for them.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint is text in a style, if styles are on. The text is safe already.
func paint(on bool, style, text string) string {
	if !on || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[m"
}

// obeys reports whether a terminal of the given environment understands control
// sequences.
func obeys(getenv func(string) string) bool {
	term := getenv("TERM")
	return term != "dumb" && (runtime.GOOS != "windows" || term != "" || getenv("WT_SESSION") != "")
}

// colourful reports likewise whether colours are wanted, too (no-color.org).
func colourful(getenv func(string) string) bool {
	return obeys(getenv) && getenv("NO_COLOR") == ""
}

const usualColumns = 80

// columns returns how many columns the terminal f has; it may change.
func columns(f *os.File) func() int {
	return func() int {
		if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
			return n
		}
		return windowColumns(f)
	}
}

// columnsOf is a number of columns that one can work with.
func columnsOf(width func() int) int {
	if width != nil {
		if n := width(); n > 0 {
			return min(max(n, 10), 1000)
		}
	}
	return usualColumns
}
