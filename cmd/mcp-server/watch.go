package main

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// pollInterval is the time between two looks at what clients follow, as long as there
	// are changes that the system does not tell of. Each look that sees none doubles it.
	pollInterval = 2 * time.Second
	maxInterval  = 30 * time.Second
	lookShare    = 50                     // what a look takes is at most one part of so many of the time
	settling     = 100 * time.Millisecond // from what the system tells to the look
)

// A stamp is what tells that a file has changed.
type stamp struct {
	exists, dir    bool
	size, modified int64
}

// A watcher looks at the resources that clients follow, and at nothing else. Its
// goroutines run while there are any. Where the system tells of changes, it looks when that
// does. Now and then it looks all the same, since no system tells of everything: of what
// other machines do, of a directory above that is moved, of more than it has room for.
type watcher struct {
	look    func(uri string) stamp
	changed func(uri string, before, now stamp)
	running sync.WaitGroup
	wake    chan struct{} // there are hints or new URIs; holds one, never closed

	// places returns the directories whose events are about a URI. nil: the system is not
	// asked. It is set before anything is followed, as is log.
	places func(uri string) ([]place, error)
	log    *slog.Logger

	mu       sync.Mutex // guards the fields below
	followed map[string]*followed
	stop     chan struct{}                      // closed to end the goroutines; nil: none runs
	events   *events                            // of the system; nil: it tells nothing
	marks    map[int]map[string]map[string]bool // the URIs that an event is about, by watch and name
	hints    map[string]bool                    // URIs that may have changed
	added    bool                               // since the last look
}

// followed is a resource that sessions follow.
type followed struct {
	sessions int
	last     stamp
	marks    []mark // none: the system does not tell of it
}

// A place is a directory of which events are wanted, and the name in it that they are
// about; "": all of them. The watcher closes it.
type place struct {
	dir  *os.File
	name string
}

// A mark is a place as events name it.
type mark struct {
	watch int
	name  string
}

func newWatcher(look func(uri string) stamp, changed func(uri string, before, now stamp)) *watcher {
	return &watcher{look: look, changed: changed, wake: make(chan struct{}, 1), log: slog.New(slog.DiscardHandler),
		followed: map[string]*followed{}, marks: map[int]map[string]map[string]bool{}, hints: map[string]bool{}}
}

// add begins to follow a resource for a session. It reports whether it exists.
func (w *watcher) add(uri string) bool {
	now := w.look(uri)
	if !now.exists {
		return false
	}
	w.mu.Lock()
	f := w.followed[uri]
	fresh := f == nil
	if fresh {
		f = &followed{last: now}
		w.followed[uri] = f
		w.added = true
		w.wakeUp()
	}
	f.sessions++
	if w.stop == nil {
		w.startLocked()
	}
	w.mu.Unlock()
	if fresh {
		w.mark(uri)
	}
	return true
}

// startLocked starts the goroutines, which end with the last resource, or close.
func (w *watcher) startLocked() {
	stop := make(chan struct{})
	w.stop = stop
	w.running.Go(func() { w.poll(stop) })
	if w.places == nil {
		return
	}
	e, err := newEvents()
	if err != nil {
		w.log.Info("the system does not tell of changes, so that they are looked for", "error", err)
		return
	}
	w.events = e
	w.running.Go(func() { w.listen(e) })
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
		w.unmarkLocked(uri, f)
		delete(w.followed, uri)
	}
	if len(w.followed) == 0 {
		w.stopLocked()
	}
}

// close ends the goroutines and waits for them.
func (w *watcher) close() {
	w.mu.Lock()
	w.stopLocked()
	w.mu.Unlock()
	w.running.Wait()
}

func (w *watcher) stopLocked() {
	if w.stop == nil {
		return
	}
	close(w.stop)
	w.stop = nil
	if w.events != nil {
		w.events.close()
		w.events = nil
	}
	clear(w.marks)
	clear(w.hints)
}

func (w *watcher) poll(stop <-chan struct{}) {
	interval := pollInterval
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var settled <-chan time.Time
	for {
		select {
		case <-timer.C:
			start := time.Now()
			interval = w.next(interval, w.check())
			timer.Reset(max(interval, lookShare*time.Since(start)))
		case <-w.wake:
			if settled == nil {
				settled = time.After(settling)
			}
			if w.newcomers() {
				interval = pollInterval
				timer.Reset(interval)
			}
		case <-settled: // of many events there is one look
			settled = nil
			w.checkThose(w.hinted())
		case <-stop:
			return
		}
	}
}

// next is the time to the look after one.
func (w *watcher) next(interval time.Duration, changes bool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := true
	for _, f := range w.followed {
		told = told && f.marks != nil
	}
	switch {
	case told:
		return maxInterval
	case changes:
		return pollInterval
	}
	return min(2*interval, maxInterval)
}

func (w *watcher) newcomers() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	added := w.added
	w.added = false
	return added
}

func (w *watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// check looks at all resources now and tells of those that have changed. It reports
// whether there are any.
func (w *watcher) check() bool {
	w.mu.Lock()
	uris := make([]string, 0, len(w.followed))
	for uri := range w.followed {
		uris = append(uris, uri)
	}
	w.mu.Unlock()
	return w.checkThose(uris)
}

func (w *watcher) checkThose(uris []string) (changes bool) {
	for _, uri := range uris {
		w.mu.Lock()
		f := w.followed[uri]
		if f == nil {
			w.mu.Unlock()
			continue
		}
		last, unmarked := f.last, w.events != nil && f.marks == nil
		w.mu.Unlock()
		now := w.look(uri)
		if now.exists != last.exists || unmarked { // the directory may be another
			w.mark(uri)
		}
		if now != last && w.note(uri, last, now) {
			changes = true
			w.changed(uri, last, now)
		}
	}
	return changes
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

// mark asks the system for the events about a resource, anew if that was done before. What
// it cannot tell of is looked at.
func (w *watcher) mark(uri string) {
	if w.places == nil {
		return
	}
	places, err := w.places(uri)
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.followed[uri]
	if f != nil {
		w.unmarkLocked(uri, f)
	}
	for _, p := range places {
		if f != nil && w.events != nil && err == nil {
			err = w.markLocked(uri, f, p)
		}
		err = errors.Join(err, p.dir.Close())
	}
	switch {
	case f == nil || w.events == nil:
	case err == nil: // it may have changed before
		w.hints[uri] = true
		w.wakeUp()
	default:
		w.unmarkLocked(uri, f)
		w.log.Debug("a resource is looked at, since the system does not tell of it", "uri", uri, "error", err)
	}
}

func (w *watcher) markLocked(uri string, f *followed, p place) error {
	watch, err := w.events.add(p.dir)
	if err != nil {
		return err
	}
	names := w.marks[watch]
	if names == nil {
		names = map[string]map[string]bool{}
		w.marks[watch] = names
	}
	if names[p.name] == nil {
		names[p.name] = map[string]bool{}
	}
	names[p.name][uri] = true
	f.marks = append(f.marks, mark{watch, p.name})
	return nil
}

// unmarkLocked lets the system forget a resource.
func (w *watcher) unmarkLocked(uri string, f *followed) {
	for _, m := range f.marks {
		names := w.marks[m.watch]
		delete(names[m.name], uri)
		if len(names[m.name]) == 0 {
			delete(names, m.name)
		}
		if names != nil && len(names) == 0 {
			delete(w.marks, m.watch)
			if w.events != nil {
				w.events.remove(m.watch)
			}
		}
	}
	f.marks = nil
}

// listen takes events until they are closed. Without them all is looked at.
func (w *watcher) listen(e *events) {
	err := e.read(w.hear)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events != e {
		return
	}
	w.log.Warn("the system tells of no more changes", "error", err)
	for uri, f := range w.followed {
		w.unmarkLocked(uri, f)
	}
	e.close()
	w.events = nil
}

// hear takes an event: of a name in a directory, or of the directory, which may be
// gone. A negative watch: some were lost.
func (w *watcher) hear(watch int, name string, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if watch < 0 {
		for uri := range w.followed {
			w.hints[uri] = true
		}
	}
	if gone {
		for _, uris := range maps.Clone(w.marks[watch]) {
			for uri := range maps.Clone(uris) {
				w.hints[uri] = true
				w.unmarkLocked(uri, w.followed[uri]) // the next look marks it again
			}
		}
	}
	if isDraft(name) { // news of the directory only when it gets its name
		return
	}
	for _, of := range []string{name, ""} {
		for uri := range w.marks[watch][of] {
			w.hints[uri] = true
		}
	}
	if len(w.hints) > 0 {
		w.wakeUp()
	}
}

// hinted takes the URIs that may have changed.
func (w *watcher) hinted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	uris := slices.Collect(maps.Keys(w.hints))
	clear(w.hints)
	return uris
}
