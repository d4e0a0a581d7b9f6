package main

import (
	"sync"
	"time"
)

// pollInterval is the time between two looks at what clients follow.
const pollInterval = 2 * time.Second

// A stamp is what tells that a file has changed.
type stamp struct {
	exists, dir    bool
	size, modified int64
}

// A watcher looks at the resources that clients follow. Its goroutine runs while
// there are any.
type watcher struct {
	look    func(uri string) stamp
	changed func(uri string, before, now stamp)
	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	followed map[string]*followed
	stop     chan struct{} // closed to end the goroutine; nil: none runs
}

// followed is a resource that sessions follow.
type followed struct {
	sessions int
	last     stamp
}

func newWatcher(look func(string) stamp, changed func(uri string, before, now stamp)) *watcher {
	return &watcher{look: look, changed: changed, followed: map[string]*followed{}}
}

// add begins to follow a resource for a session. It reports whether it exists.
func (w *watcher) add(uri string) bool {
	now := w.look(uri)
	if !now.exists {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.followed[uri]
	if f == nil {
		f = &followed{last: now}
		w.followed[uri] = f
	}
	f.sessions++
	if w.stop == nil {
		stop := make(chan struct{})
		w.stop = stop
		w.running.Go(func() { w.poll(stop) }) // ends with the last resource, or close
	}
	return true
}

// remove ends what add began.
func (w *watcher) remove(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.followed[uri]
	if f == nil {
		return
	}
	if f.sessions--; f.sessions == 0 {
		delete(w.followed, uri)
	}
	if len(w.followed) == 0 {
		w.stopLocked()
	}
}

// close ends the goroutine and waits for it.
func (w *watcher) close() {
	w.mu.Lock()
	w.stopLocked()
	w.mu.Unlock()
	w.running.Wait()
}

func (w *watcher) stopLocked() {
	if w.stop != nil {
		close(w.stop)
		w.stop = nil
	}
}

func (w *watcher) poll(stop <-chan struct{}) {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			w.check()
		case <-stop:
			return
		}
	}
}

// check looks at all resources now and tells of those that have changed.
func (w *watcher) check() {
	w.mu.Lock()
	before := make(map[string]stamp, len(w.followed))
	for uri, f := range w.followed {
		before[uri] = f.last
	}
	w.mu.Unlock()
	for uri, last := range before {
		if now := w.look(uri); now != last && w.note(uri, last, now) {
			w.changed(uri, last, now)
		}
	}
}

// note keeps a new stamp, unless another check was faster.
func (w *watcher) note(uri string, last, now stamp) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.followed[uri]
	if f == nil || f.last != last {
		return false
	}
	f.last = now
	return true
}
