//go:build !linux

package main

import (
	"errors"
	"os"
)

// events are those of the system, if the standard library had a way to them.
type events struct{}

func newEvents() (*events, error) { return nil, errors.ErrUnsupported }

func (*events) add(*os.File) (int, error)          { return 0, errors.ErrUnsupported }
func (*events) remove(int)                         {}
func (*events) close()                             {}
func (*events) read(func(int, string, bool)) error { return errors.ErrUnsupported }
