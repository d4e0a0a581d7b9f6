package mcp

// Connections: what carries whole messages. A Conn is the seam for any framed
// duplex; here are the ones of the stdio transport (lines over a reader and a
// writer, this process's own stdin and stdout, a child process) and one in memory.
// A duplex joins a Conn and a peer.
//
// It knows frames and peers, not what they say. Server.Run serves over a Conn, and a
// client's transports that are not HTTP make one.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultLine   = 16 << 20               // bytes of one line
	hopelessLine  = 16                     // times the limit: not a line any more
	headSize      = 4 << 10                // bytes that are kept of a line over the limit
	maxQueued     = 4 << 20                // bytes that wait to be written, or to be read in a Pipe
	inputGrace    = 500 * time.Millisecond // for running requests, after the end of input
	defaultGrace  = 2 * time.Second        // between the steps of ending a child process
	closeLimit    = 10 * time.Second       // for a Conn to close
	stderrTail    = 2 << 10                // bytes of a child's stderr for errors
	maxStderrLine = 64 << 10
)

// A Conn carries whole messages between two peers: on a server's side for
// [Server.Run], on a client's for a [ConnTransport]. There are [Stdio], [Lines] and
// [Pipe]; an application can bring its own. Read and Write are each called by one
// goroutine at a time, and both at once.
type Conn interface {
	// Read returns the next message, which then belongs to the caller. A *FrameError
	// costs that message; io.EOF says that the other side is done; any other error
	// ends the connection.
	Read() ([]byte, error)
	// Write sends messages, in order. It may use the spare capacity of each; none may
	// be kept. An error ends the connection.
	Write(messages ...[]byte) error
	// Close ends the connection and makes Read and Write return. It may be called
	// more than once.
	Close() error
}

// A FrameError is returned by Conn.Read for a message that could not be read
// whole. The connection goes on.
type FrameError struct {
	Head []byte // the beginning of the message, from which the ID of a request is read
	Err  error  // why it could not be read
}

// Error returns the reason.
func (e *FrameError) Error() string { return fmt.Sprint("mcp: unreadable message: ", e.Err) }

// Unwrap returns Err.
func (e *FrameError) Unwrap() error { return e.Err }

// Lines makes a Conn of a reader and a writer that carry one message a line, as
// the stdio transport does (Transports, stdio). It owns both. Lines of more than
// limit bytes cost one message each; 0 means 16 MiB. Blank lines, a byte order
// mark at the start, and CR before LF are ignored; a last line needs no LF.
func Lines(r io.ReadCloser, w io.WriteCloser, limit int) Conn {
	if limit <= 0 {
		limit = defaultLine
	}
	return &lines{r: r, w: w, in: bufio.NewReaderSize(r, 64<<10), limit: limit, first: true}
}

type lines struct {
	r     io.ReadCloser
	w     io.WriteCloser
	limit int
	in    *bufio.Reader // used by Read only
	first bool          // nothing was read yet; used by Read only
	out   []byte        // memory; used by Write only
}

func (c *lines) Read() ([]byte, error) {
	for {
		line, err := c.line()
		if c.first {
			line = trimBOM(line)
			c.first = false
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
		if err != nil {
			return nil, err
		}
	}
}

// line returns the next line without its end. A last line without an end comes
// without an error.
func (c *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		switch {
		case len(line)+len(part) > c.limit+1:
			return nil, c.skip(append(line, part...), err)
		case err == nil && line == nil:
			return bytes.Clone(part[:len(part)-1]), nil
		}
		line = append(line, part...)
		if err == nil {
			return line[:len(line)-1], nil
		}
		if err != bufio.ErrBufferFull {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return line, nil
			}
			return nil, err
		}
	}
}

// skip passes over the rest of a line whose beginning is too long already.
func (c *lines) skip(line []byte, err error) error {
	fe := &FrameError{bytes.Clone(line[:min(len(line), headSize)]), fmt.Errorf("more than %d bytes", c.limit)}
	for size := len(line); ; {
		if size/hopelessLine > c.limit {
			return fmt.Errorf("a line of more than %d bytes", hopelessLine*c.limit)
		}
		if err != bufio.ErrBufferFull {
			break
		}
		var part []byte
		part, err = c.in.ReadSlice('\n')
		size += len(part)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return fe
}

func (c *lines) Write(messages ...[]byte) error {
	if len(messages) == 1 {
		_, err := c.w.Write(append(messages[0], '\n'))
		return err
	}
	c.out = c.out[:0]
	for _, m := range messages {
		c.out = append(append(c.out, m...), '\n')
	}
	_, err := c.w.Write(c.out)
	if cap(c.out) > maxQueued {
		c.out = nil
	}
	return err
}

func (c *lines) Close() error { return errors.Join(c.r.Close(), c.w.Close()) }

// Stdio returns a Conn over this process's stdin and stdout (Transports, stdio), for
// [Server.Run]. Nothing else may read stdin or write to stdout; stderr is free for logs.
func Stdio() Conn { return Lines(pollable(os.Stdin), os.Stdout, 0) }

// interruptible reads from f on a goroutine, so that a blocked Read ends when the
// result is closed.
func interruptible(f *os.File) io.ReadCloser {
	r, w := io.Pipe()
	go func() { // ends at the next input or end of input; nothing can wait for it
		_, err := io.Copy(w, f)
		w.CloseWithError(err)
	}()
	return r
}

// Pipe returns the two ends of a connection in memory, one for [Server.Run] and one for
// a [ConnTransport]. Each direction holds 4 MiB; then Write waits. Closing one end ends
// both.
func Pipe() (Conn, Conn) {
	a, b := newPipeQueue(), newPipeQueue()
	return &pipeEnd{a, b}, &pipeEnd{b, a}
}

type pipeEnd struct{ in, out *pipeQueue }

func (e *pipeEnd) Read() ([]byte, error)          { return e.in.get() }
func (e *pipeEnd) Write(messages ...[]byte) error { return e.out.put(messages) }
func (e *pipeEnd) Close() error                   { e.in.close(); e.out.close(); return nil }

// A pipeQueue is one direction of a Pipe.
type pipeQueue struct {
	mu       sync.Mutex // guards the fields below
	changed  sync.Cond
	messages [][]byte
	memory   [][]byte // where messages began
	size     int
	closed   bool
}

func newPipeQueue() *pipeQueue {
	q := &pipeQueue{}
	q.changed.L = &q.mu
	return q
}

func (q *pipeQueue) get() ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.messages) == 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.messages) == 0 {
		return nil, io.EOF
	}
	m := q.messages[0]
	q.messages[0] = nil
	if q.messages = q.messages[1:]; len(q.messages) == 0 {
		q.messages = q.memory[:0]
	}
	if q.size >= maxQueued {
		q.changed.Broadcast()
	}
	q.size -= len(m)
	return m, nil
}

func (q *pipeQueue) put(messages [][]byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range messages {
		for q.size >= maxQueued && !q.closed {
			q.changed.Wait()
		}
		if q.closed {
			return io.ErrClosedPipe
		}
		q.messages = append(q.messages, bytes.Clone(m))
		q.memory = q.messages[:0]
		q.size += len(m)
		q.changed.Broadcast()
	}
	return nil
}

func (q *pipeQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// A duplex is a peer on a Conn: it reads for the peer, and is the stream of
// whatever leaves. Requests and notifications are written by a goroutine of the
// duplex, so that a caller can stop waiting; an answer is written by the goroutine
// that has it, if nobody is writing. Whoever writes goes on until the queue is empty.
type duplex struct {
	conn  Conn
	p     *peer
	cause func(error) error // makes of how reading or writing ended why calls fail
	limit time.Duration     // for conn to close
	stuck error             // what had not ended in time; set when run returns

	unasked atomic.Bool // nothing is answered, since nothing may be asked: a client in the stateless era

	wake chan struct{} // has room for one; from put to the writing goroutine
	over chan struct{} // closed by endLocked, with err

	mu      sync.Mutex // guards the fields below
	queue   []*buffer  // what waits to be written
	spare   []*buffer  // memory for the next queue
	list    [][]byte   // memory for whoever writes
	size    int        // bytes in queue, and of what is being written
	writing bool
	err     error // why nothing is written any more
	room    gate  // opened when something was written, or with err

	workers sync.WaitGroup // the duplex's own goroutines
}

func newDuplex(c Conn, p *peer) *duplex {
	return &duplex{conn: c, p: p, limit: closeLimit, wake: make(chan struct{}, 1), over: make(chan struct{}),
		cause: func(err error) error { return cmp.Or(err, io.EOF) }}
}

func (d *duplex) send(ctx context.Context, m *outgoing) error {
	err := d.put(ctx, m.data, true)
	if errors.Is(err, ErrClosed) { // the cause is known soon
		select {
		case <-d.p.done:
			return d.p.over()
		case <-ctx.Done():
		}
	}
	return err
}

func (d *duplex) answer(b *buffer, _ *Error) {
	if b != nil && d.unasked.Load() {
		b.free()
	} else if b != nil {
		_ = d.put(context.Background(), b, false) // fails only when nobody is there
	}
}

// abandon queues a notice if there is room for it.
func (d *duplex) abandon(m *outgoing, cause error) {
	_ = d.put(noWait, encodeCancel(m.id, cause), true) // best effort
}

// noWait is a context that has ended.
var noWait = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// put queues b and sees to it that it is written: by the writing goroutine if later,
// else by the caller. It waits for room as long as ctx lets it.
func (d *duplex) put(ctx context.Context, b *buffer, later bool) error {
	d.mu.Lock()
	for d.size >= maxQueued && d.err == nil {
		if err := d.waitRoomLocked(ctx); err != nil {
			d.mu.Unlock()
			b.free()
			return fmt.Errorf("mcp: the other side does not read: %w", err)
		}
	}
	if d.err != nil {
		defer d.mu.Unlock()
		b.free()
		return fmt.Errorf("%w: %w", ErrClosed, d.err)
	}
	d.queue = append(d.queue, b)
	d.size += len(b.b)
	busy := d.writing
	d.writing = busy || !later
	d.mu.Unlock()
	switch {
	case busy: // whoever writes goes on
	case later:
		nudge(d.wake)
	default:
		d.drain()
	}
	return nil
}

// waitRoomLocked waits until something was written. It lets go of the lock meanwhile.
func (d *duplex) waitRoomLocked(ctx context.Context) error {
	room := d.room.wait()
	d.mu.Unlock()
	defer d.mu.Lock()
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return causeOf(ctx)
	}
}

// drain writes until the queue is empty. The caller has set writing.
func (d *duplex) drain() {
	d.mu.Lock()
	for len(d.queue) > 0 && d.err == nil {
		queue, size, messages := d.queue, d.size, d.list[:0]
		d.queue, d.spare = d.spare[:0], nil
		d.mu.Unlock()
		for _, b := range queue {
			messages = append(messages, b.b)
		}
		err := d.conn.Write(messages...)
		for _, b := range queue {
			b.free()
		}
		clear(messages)
		clear(queue)
		d.mu.Lock()
		d.spare, d.list = queue[:0], messages[:0]
		d.size -= size
		d.room.open()
		if err != nil {
			d.endLocked(err)
		}
	}
	d.writing = false
	d.mu.Unlock()
}

// end stops writing and closes the Conn, so that reading ends, too.
func (d *duplex) end(err error) {
	d.mu.Lock()
	d.endLocked(err)
	d.mu.Unlock()
}

func (d *duplex) endLocked(err error) {
	if d.err != nil {
		return
	}
	d.err = err
	close(d.over)
	d.room.open()
	d.workers.Go(func() { // ends when the Conn is closed
		if err != ErrClosed { // a write failed
			d.p.failCalls(d.cause(err))
		}
		_ = d.conn.Close()
	})
}

// write is the writing goroutine. It ends with the duplex.
func (d *duplex) write() {
	for {
		select {
		case <-d.wake:
		case <-d.over:
			return
		}
		d.mu.Lock()
		busy := d.writing
		d.writing = true
		d.mu.Unlock()
		if !busy {
			d.drain()
		}
	}
}

// flush waits until everything is written, at most for limit.
func (d *duplex) flush(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.size > 0 && d.err == nil && d.waitRoomLocked(ctx) == nil {
	}
}

// windDown ends the connection: calls fail with cause, handlers are cancelled but
// may still answer, what is queued is written.
func (d *duplex) windDown(cause error) {
	d.p.shut(cause)
	d.p.settleDown(inputGrace)
	d.flush(inputGrace)
	d.end(ErrClosed)
}

// run serves the connection until it is over, or ctx is. It returns nil at the end
// of input, else why the connection is over.
func (d *duplex) run(ctx context.Context, identity *Identity) error {
	d.workers.Go(d.write) // ends with the duplex
	wound := make(chan struct{})
	// What is begun when ctx ends, is waited for below.
	unhook := context.AfterFunc(ctx, func() { d.windDown(context.Cause(ctx)); close(wound) })
	err, hung := d.readUntilOver(context.WithoutCancel(ctx), identity)
	if over := d.p.over(); over != nil {
		err = over // this side hung up, which says more than how reading ended
	}
	cause := d.cause(err)
	if !unhook() {
		<-wound
		err = context.Cause(ctx)
	}
	d.p.failCalls(cause) // nothing can answer them any more
	if err == nil {
		d.p.settleDown(inputGrace)
	}
	d.windDown(cause)
	if !hung && within(d.limit, d.workers.Wait) { // a write to stdout cannot always be interrupted
		d.stuck = d.p.wait()
	} else {
		d.stuck = errors.New("mcp: the connection's Close, Read or Write does not return")
	}
	return errors.Join(err, d.stuck)
}

// readUntilOver reads until the end of input, or until this side hung up; reading then
// has some time to end.
func (d *duplex) readUntilOver(ctx context.Context, identity *Identity) (err error, hung bool) {
	ended := make(chan error, 1)
	go func() { ended <- d.read(ctx, identity) }() // ends when the Conn is closed, unless it hangs
	select {
	case err = <-ended:
		return err, false
	case <-d.over:
	}
	select {
	case err = <-ended:
		return err, false
	case <-time.After(d.limit):
		return nil, true
	}
}

// within runs f and reports whether it returned before the limit.
func within(limit time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() { f(); close(done) }() // ends with f
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// read gives the peer what arrives, until the end of input, for which it returns nil.
func (d *duplex) read(ctx context.Context, identity *Identity) error {
	a := &arrival{out: d, identity: identity}
	for {
		data, err := d.conn.Read()
		if err == nil {
			d.p.accept(ctx, parseFrame(data), a)
			continue
		}
		var fe *FrameError
		switch {
		case errors.As(err, &fe):
			d.p.acceptHead(fe.Head, fe, a)
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// A Transport is the way to a server, for [Client.Connect]: a *[CommandTransport], a
// *[HTTPTransport], or a *[ConnTransport] for all else. One transport belongs to one
// session; its fields must not change once it is used.
type Transport interface {
	// dial connects. It may be called again by the same session only.
	dial(ctx context.Context, p *peer) (link, error)
}

// A link is the stream towards a server, for as long as it lasts.
type link interface {
	stream
	settled(rev revision) // what was negotiated
	place() string        // the origin of a server over HTTP, where a call is an exchange that can be closed; else empty
	listens() bool        // whether what no request causes is wanted
	close() error         // returns when all its goroutines have ended
}

// A connLink is a link over a Conn.
type connLink struct {
	*duplex
	ended chan struct{} // closed by the goroutine of dialConn when the connection is over
}

// dialConn starts to read from d's Conn. It does not end with ctx.
func dialConn(ctx context.Context, d *duplex) *connLink {
	l := &connLink{duplex: d, ended: make(chan struct{})}
	go func() { // ends with the connection; close waits for it
		_ = l.run(context.WithoutCancel(ctx), nil) // calls were told
		close(l.ended)
	}()
	return l
}

func (l *connLink) settled(rev revision) { l.unasked.Store(rev.alone()) }
func (l *connLink) place() string        { return "" }
func (l *connLink) listens() bool        { return true }

func (l *connLink) close() error {
	l.windDown(errors.New("closed by this side"))
	<-l.ended
	return l.stuck
}

// A ConnTransport reaches a server over a Conn, which the session then owns.
type ConnTransport struct {
	Conn Conn // must be set

	used claim
}

func (t *ConnTransport) dial(ctx context.Context, p *peer) (link, error) {
	if t.Conn == nil {
		return nil, errors.New("mcp: ConnTransport without a Conn")
	}
	if !t.used.take(nil) {
		return nil, errors.New("mcp: this ConnTransport was used before")
	}
	return dialConn(ctx, newDuplex(t.Conn, p)), nil
}

// A claim says whose a transport is.
type claim struct {
	mu    sync.Mutex // guards owner
	owner *peer
	taken bool
}

// take makes p the owner, or reports that another one is, in whose place p is not;
// nil is never the same.
func (c *claim) take(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken && (p == nil || c.owner != p && c.owner != p.before) {
		return false
	}
	c.owner, c.taken = p, true
	return true
}

// A CommandTransport starts a server as a child process and talks over its stdin
// and stdout (Transports, stdio). To end it, its stdin is closed; if it is still
// there after Grace, it gets SIGTERM, and after Grace again SIGKILL. Whatever it
// started and left behind in its process group is killed, too.
type CommandTransport struct {
	// Command is the process to start. It is copied, with its Path, Args, Env, Dir and
	// ExtraFiles; it must not have been started.
	Command *exec.Cmd
	// Grace is the time between the steps of ending it; 0 means 2 seconds.
	Grace time.Duration
	// Stderr is called with each line that the process writes to stderr, one at a
	// time; nil means that only the last lines are kept, for errors. Text on stderr
	// is no sign of failure.
	Stderr func(line string)
	// MaxMessage is the most bytes of a message from the process; 0 means 16 MiB.
	MaxMessage int
	// Wrap, unless nil, is given the connection to the process when it has started,
	// and returns the one to use: to watch what goes over it, for example.
	Wrap func(Conn) Conn

	used claim
}

func (t *CommandTransport) dial(ctx context.Context, p *peer) (link, error) {
	if t.Command == nil || t.Command.Process != nil {
		return nil, errors.New("mcp: CommandTransport needs a Command that was not started")
	}
	if !t.used.take(p) {
		return nil, errors.New("mcp: this CommandTransport belongs to another session")
	}
	c, err := t.start()
	if err != nil {
		return nil, fmt.Errorf("mcp: starting %s: %w", t.Command.Path, err)
	}
	conn := Conn(c)
	if t.Wrap != nil {
		conn = t.Wrap(conn)
	}
	d := newDuplex(conn, p)
	d.cause, d.limit = c.cause, closeLimit+2*c.grace
	return dialConn(ctx, d), nil
}

// A child is a running process, and the Conn over its pipes.
type child struct {
	Conn
	cmd    *exec.Cmd
	group  processGroup
	grace  time.Duration
	stdin  *os.File // closed to end the process
	stdout *os.File
	stderr *os.File
	hook   func(string)

	exited chan struct{} // closed by wait when the process has ended
	err    error         // how; set before exited is closed
	silent chan struct{} // closed by drainStderr when stderr has been read to its end
	once   sync.Once     // for Close
	closed chan struct{} // closed by Close when it is done

	tailMu sync.Mutex // guards tail
	tail   []byte     // the end of what came on stderr

	workers sync.WaitGroup
}

func (t *CommandTransport) start() (*child, error) {
	c := &child{grace: t.Grace, hook: t.Stderr,
		exited: make(chan struct{}), silent: make(chan struct{}), closed: make(chan struct{})}
	if c.grace <= 0 {
		c.grace = defaultGrace
	}
	from := t.Command
	c.cmd = &exec.Cmd{Path: from.Path, Args: from.Args, Env: from.Env, Dir: from.Dir, ExtraFiles: from.ExtraFiles,
		SysProcAttr: from.SysProcAttr, Err: from.Err}
	var theirs [3]*os.File
	var err error
	pipe := func(write bool, i int) *os.File {
		r, w, e := os.Pipe()
		err = errors.Join(err, e)
		if write {
			r, w = w, r
		}
		theirs[i] = w
		return r
	}
	c.stdin, c.stdout, c.stderr = pipe(true, 0), pipe(false, 1), pipe(false, 2)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err == nil {
		err = c.group.start(c.cmd)
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		c.stdin.Close()
		c.stdout.Close()
		c.stderr.Close()
		return nil, err
	}
	c.Conn = Lines(c.stdout, c.stdin, t.MaxMessage)
	c.workers.Go(c.wait)        // ends with the process
	c.workers.Go(c.drainStderr) // ends with stderr, or soon after the process
	return c, nil
}

// wait notes how the process ended, and lets reading end soon after, even if a
// process that it left behind keeps stdout open.
func (c *child) wait() {
	c.err = c.cmd.Wait()
	close(c.exited)
	_ = c.stdout.SetReadDeadline(time.Now().Add(inputGrace))
	_ = c.stderr.SetReadDeadline(time.Now().Add(inputGrace))
}

// drainStderr reads stderr all the time, so that the process never waits for it.
func (c *child) drainStderr() {
	defer close(c.silent)
	in := bufio.NewReaderSize(c.stderr, maxStderrLine)
	for {
		line, err := in.ReadSlice('\n')
		c.tailMu.Lock()
		c.tail = append(c.tail, line...)
		if len(c.tail) > stderrTail {
			c.tail = append(c.tail[:0], c.tail[len(c.tail)-stderrTail:]...)
		}
		c.tailMu.Unlock()
		if c.hook != nil && len(line) > 0 {
			c.hook(strings.TrimRight(string(line), "\r\n"))
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// cause says why the connection to the process is over.
func (c *child) cause(readErr error) error {
	select {
	case <-c.exited:
	case <-time.After(inputGrace):
		if readErr == nil || errors.Is(readErr, os.ErrClosed) {
			return fmt.Errorf("the server process closed its stdout%s", c.stderrText())
		}
		return readErr
	}
	within(inputGrace, func() { <-c.silent })
	if c.err == nil {
		return fmt.Errorf("the server process ended: exit status 0%s", c.stderrText())
	}
	return fmt.Errorf("the server process ended: %w%s", c.err, c.stderrText())
}

func (c *child) stderrText() string {
	c.tailMu.Lock()
	defer c.tailMu.Unlock()
	if text := strings.TrimSpace(strings.ToValidUTF8(string(c.tail), "?")); text != "" {
		return "; stderr: " + text
	}
	return ""
}

// Close ends the process, step by step, and everything in its process group.
func (c *child) Close() error {
	c.once.Do(func() {
		_ = c.stdin.Close()
		for _, step := range []func(){c.group.terminate, c.group.kill} {
			if within(c.grace, func() { <-c.exited }) {
				break
			}
			step()
		}
		<-c.exited
		c.group.kill()
		_ = c.stdout.SetReadDeadline(time.Now())
		_ = c.stderr.SetReadDeadline(time.Now())
		c.workers.Wait()
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		close(c.closed)
	})
	<-c.closed
	return nil
}
