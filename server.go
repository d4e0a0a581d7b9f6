package mcp

// The server: what it offers (a registry of tools, resources and prompts), the
// Request that every handler gets, the session of a client, and one function per
// method.
//
// A request comes from a peer to session.request, which opens a Request by the
// rules of its era, calls the method's function through the interceptors, and
// closes the result by the rules of the era. Nothing between these two edges asks
// for the era or the transport.
//
// It stands on the peer (jsonrpc.go), and is reached over a Conn (stdio.go: Run) or HTTP
// (streamable.go: HTTPHandler). The methods of tasks are in tasks.go, the edges of the
// stateless era in stateless.go.

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultPage      = 1000                  // items on a page of a list
	maxCompletions   = 100                   // values in a completion (Completion, Response)
	maxSubscriptions = 10_000                // of one session
	maxKept          = 8 << 10               // bytes of a URI or id from the peer that is kept beyond its message
	maxElicitations  = 1_000                 // URL elicitations of one session that are not complete
	maxMail          = 256                   // notifications without a request that wait in one session
	maxBuckets       = 10_000                // callers that a rate limit keeps apart
	coalesce         = 10 * time.Millisecond // list changes this close together are one
	askTimeout       = 10 * time.Minute      // for an answer to a question: a person may have to think
	progressBurst    = 256                   // progress notifications of one request at once
	progressRate     = 50                    // and then, each second
	maxMissedPings   = 3
	stateLife        = 30 * time.Minute // of a requestState
	cancelWait       = 2 * time.Second  // for a client to take that its task is not needed
)

// ServerOptions are the settings of a server. The zero value is right for most.
type ServerOptions struct {
	// Instructions tell the client's model how to use the server; "" for none.
	Instructions string
	// Logger gets what the server has to say about itself; nil: nothing is said.
	Logger *slog.Logger
	// PageSize is the most items on a page of a list; 0 means 1000.
	PageSize int

	// HasTools, HasResources and HasPrompts offer these before any is registered.
	// Otherwise a feature is offered once something was registered for it.
	HasTools, HasResources, HasPrompts bool

	// Complete suggests values for arguments of prompts and of resource templates;
	// nil: completion is not offered. More than 100 values are cut.
	Complete func(ctx context.Context, r *Request, p *CompleteParams) (*Completion, error)

	// Subscribe is asked before a client follows the updates of a resource; nil:
	// subscriptions are not offered. It must not ask the client. Tell of updates with
	// Server.ResourceUpdated.
	Subscribe func(ctx context.Context, r *Request, uri string) error
	// Unsubscribed is told when a session no longer follows a resource.
	Unsubscribed func(uri string)

	// RootsChanged is called when a client says that its roots have changed; ask for
	// them with Request.Roots.
	RootsChanged func(ctx context.Context, r *Request)

	// NoLogging does not offer logging: what handlers log goes to Logger only.
	NoLogging bool
	// LogLevel is the least important level that a client gets before it chooses one;
	// "" means info.
	LogLevel LoggingLevel

	// Visible reports whether a caller may know of a tool ("tool", by name), prompt
	// ("prompt", by name), resource ("resource", by URI) or template ("template", by
	// template). What is hidden is unknown to lists, calls and all else. nil: all is
	// visible.
	Visible func(r *Request, kind, name string) bool
	// Intercept wraps every request, the first one outermost.
	Intercept []Interceptor

	// KeepAlive is the time between pings of the client; 0: none. Three in a row
	// without an answer end the connection. Over Streamable HTTP, where sessions without
	// a connection are fine, there are none: see HTTPHandler.IdleTimeout.
	KeepAlive time.Duration
	// AskTimeout is how long a question to the client may take; 0 means 10 minutes.
	AskTimeout time.Duration
	// MaxRequests is how many requests one connection may run at once; 0 means 1024.
	MaxRequests int
	// Revisions are the names of the revisions to serve; nil: all.
	Revisions []string

	// Cache has the hints of 2026-07-28 on how long results stay good, by method: the
	// lists, "server/discover" and "resources/read", whose results may say otherwise.
	// Without a hint a result is private and at once stale.
	Cache map[string]CacheHint
	// StateKeys seal what a client of 2026-07-28 carries for a request that asks it
	// something: with the first, while all are good for opening. Replicas need the same
	// ones. nil: a random one. StateLife is how long it is good; 0 means 30 minutes. It
	// may come more than once: what must not is for an Interceptor to refuse, which
	// finds it in Params.
	StateKeys [][]byte
	StateLife time.Duration

	// Tasks is how tools that are marked for tasks run as such.
	Tasks TaskOptions
	// Extensions are what of the protocol's extensions the application supports. Each
	// is named by a _meta key with a prefix; its settings are a JSON object.
	Extensions Extensions

	// CrashOnPanic lets a panic of a handler end the process, after it was logged.
	CrashOnPanic bool
}

// TaskOptions are the settings for tasks.
type TaskOptions struct {
	// Store keeps the tasks; nil: in memory. Replicas may share one.
	Store TaskStore
	// TTL is how long a task is kept, from its creation, if the client does not say; 0
	// means one hour. MaxTTL is the most that a client may ask for; 0 means 24 hours. A
	// task that still runs then is cancelled.
	TTL, MaxTTL time.Duration
	// PollInterval is how long clients should wait between two looks at a task; 0 means
	// one second.
	PollInterval time.Duration
}

// A TaskStore keeps tasks. Its methods may be called at once. What it does not have,
// any more, or not for that owner, is ErrNoTask. With any other error it gives up a
// task: the handler is ended if Wait fails, and a result lost if Update does.
type TaskStore interface {
	// Create keeps a copy of a record whose ID is new.
	Create(ctx context.Context, t *TaskRecord) error
	// Update changes a record atomically, adds one to its version, and returns it. change
	// may be called again; if it fails nothing has changed.
	Update(ctx context.Context, owner, id string, change func(*TaskRecord) error) (*TaskRecord, error)
	// Wait returns a record as soon as its version is above after; at once for -1.
	Wait(ctx context.Context, owner, id string, after int64) (*TaskRecord, error)
	// List returns at most n records of an owner, in a fixed order, that come after a
	// cursor, "" for the beginning; and the cursor for the rest, "" if there is none.
	List(ctx context.Context, owner, cursor string, n int) (page []*TaskRecord, next string, err error)
}

// ErrNoTask is what a TaskStore returns where it has no such task.
var ErrNoTask = errors.New("mcp: no such task")

// A TaskRecord is all that is known of a task. It is written to JSON and back without
// loss.
type TaskRecord struct {
	Owner         string                // who may know of it; "": who knows its ID
	ID            string                // 128 random bits, or more: a secret where Owner is ""
	Version       int64                 // grows by one with each Update
	Method        string                // of the request
	Status        TaskStatus            // from TaskWorking to one that is over
	StatusMessage string                // for people; may be ""
	Created       time.Time             // when the task began
	Updated       time.Time             // when the status changed last
	TTL           time.Duration         // from Created on; then the record may be forgotten
	PollInterval  time.Duration         // between two looks at it, for the requestor
	Questions     []TaskQuestion        `json:",omitempty"` // that are open
	Answers       map[string]TaskAnswer `json:",omitempty"` // by name of the question
	Result        json.RawMessage       `json:",omitempty"` // nil: none
	Error         *Error                `json:",omitempty"` // nil: none
	ToolFailed    bool                  // Result is that of a tool, and has IsError
}

// A TaskQuestion is what a task wants to know of its requestor.
type TaskQuestion struct {
	Name    string          // tells it apart from the other questions of the task
	Method  string          // such as "elicitation/create"
	Params  json.RawMessage `json:",omitempty"`
	Claimed time.Time       `json:",omitzero"` // until when somebody is asking it
}

// A TaskAnswer is the answer to a TaskQuestion: one of the two.
type TaskAnswer struct {
	Result json.RawMessage `json:",omitempty"`
	Error  *Error          `json:",omitempty"`
}

// An Interceptor wraps the serving of a request of any method: it may refuse, look at
// the result of next, or replace it. What next returns is a pointer to the result type
// of the method, or for lists an opaque value. Interceptors run concurrently, as handlers
// do, and for a request that is made again in rounds once in each. An *[Error] that one
// returns is answered as it is, any other error without its text.
type Interceptor func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error)

// Handlers serve requests: see ToolHandler.
type (
	// A ToolHandler serves tools/call. An error becomes a tool error with its text, an
	// *[Error] the answer itself. See [AddTool] for the usual form.
	//
	// Handlers of all kinds run concurrently. ctx ends when the client cancels the request
	// (context.Cause tells: a *[CancelledError]), when the session is over, and from
	// 2026-07-28 on when the HTTP request is. A panic is logged and answered as an internal
	// error. p is the handler's own.
	ToolHandler func(ctx context.Context, r *Request, p *CallToolParams) (*CallToolResult, error)

	// A ResourceHandler serves resources/read, concurrently as a [ToolHandler] does. An
	// error that is [ResourceNotFound]'s is answered like an unknown resource, an *[Error]
	// as it is, any other without its text. For a template, r.Variables has the values.
	ResourceHandler func(ctx context.Context, r *Request, p *ReadResourceParams) (*ReadResourceResult, error)

	// A PromptHandler serves prompts/get, concurrently as a [ToolHandler] does. Required
	// arguments are there. An *[Error] is answered as it is, any other error without its
	// text.
	PromptHandler func(ctx context.Context, r *Request, p *GetPromptParams) (*GetPromptResult, error)
)

// A Server offers tools, resources and prompts to any number of clients. Its
// methods may be called at any time, from any goroutine.
type Server struct {
	info Implementation
	opts ServerOptions
	log  *slog.Logger

	memory     sync.Once     // makes ownTasks
	ownTasks   TaskStore     // where options name none
	infoText   []byte        // the _meta member of results of 2026-07-28
	seals      []cipher.AEAD // of requestState
	introduced introductions

	mu        sync.RWMutex // guards the fields below
	tools     registry[*tool]
	resources registry[*resourceEntry]
	templates registry[*templateEntry]
	prompts   registry[*promptEntry]
	had       mailBits                           // of what something was registered
	hadTasks  bool                               // a tool was registered that may run as a task
	caps      atomic.Pointer[ServerCapabilities] // what is offered; set with had
	capsAlone atomic.Pointer[ServerCapabilities] // what is offered to lone requests; set with had
	served    bool                               // a session was opened
	failed    error                              // the first registration that failed before
	hearers   map[hearer]struct{}
}

// A hearer is told of what no request caused.
type hearer interface {
	changed(mailBits)
	updated(uri string)
}

func (s *Server) hear(h hearer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hearers[h] = struct{}{}
}

func (s *Server) unhear(h hearer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hearers, h)
}

// NewServer makes a server, and starts nothing. info, which has a Name and a Version, is
// what clients are told of it; nil options are the zero ones. Both are copied, and what
// is wrong with them is an error of serving.
func NewServer(info *Implementation, opts *ServerOptions) *Server {
	s := &Server{info: *info, introduced: introductions{seed: maphash.MakeSeed()}, hearers: map[hearer]struct{}{}}
	if opts != nil {
		s.opts = *opts
		s.opts.Intercept, s.opts.Revisions = slices.Clone(opts.Intercept), slices.Clone(opts.Revisions)
	}
	s.log = cmp.Or(s.opts.Logger, slog.New(slog.DiscardHandler))
	s.opts.PageSize = cmp.Or(max(s.opts.PageSize, 0), defaultPage)
	s.opts.AskTimeout = cmp.Or(s.opts.AskTimeout, askTimeout)
	s.opts.LogLevel = cmp.Or(s.opts.LogLevel, LevelInfo)
	s.opts.StateLife = cmp.Or(s.opts.StateLife, stateLife)
	s.offer()
	s.failed = s.check()
	return s
}

// check says what is wrong with the server's description and options.
func (s *Server) check() error {
	if s.info.Name == "" || s.info.Version == "" {
		return errors.New("mcp: a server's Implementation needs a Name and a Version")
	}
	if err := checkListed(s.info.Icons, nil, nil); err != nil {
		return fmt.Errorf("mcp: server's Implementation: %w", err)
	}
	for _, name := range s.opts.Revisions {
		if parseRevision(name) == 0 {
			return fmt.Errorf("mcp: unknown revision %q in ServerOptions.Revisions", name)
		}
	}
	if s.opts.LogLevel.rank() < 0 {
		return fmt.Errorf("mcp: unknown level %q in ServerOptions.LogLevel", s.opts.LogLevel)
	}
	for _, method := range sortedKeys(s.opts.Cache) {
		if hint := s.opts.Cache[method]; !slices.Contains(cacheable, method) || hint.TTL < 0 {
			return fmt.Errorf("mcp: ServerOptions.Cache: %q is not one of %q, or its TTL is negative", method, cacheable)
		}
	}
	if err := s.opts.Extensions.check(); err != nil {
		return fmt.Errorf("mcp: ServerOptions.Extensions: %w", err)
	}
	if _, own := s.opts.Extensions[ExtensionTasks]; own {
		return fmt.Errorf("mcp: ServerOptions.Extensions: %q is offered where a tool may run as a task: see Tool.Execution", ExtensionTasks)
	}
	text, err := appendJSON([]byte(`"_meta":{"`+metaServer+`":`), &s.info, newest)
	if err != nil {
		return fmt.Errorf("mcp: server's Implementation: %w", err)
	}
	s.infoText = append(text, '}')
	if s.seals, err = newSeals(s.opts.StateKeys); err != nil {
		return fmt.Errorf("mcp: ServerOptions: %w", err)
	}
	return nil
}

// cacheable are the methods whose results have a hint.
var cacheable = []string{methodDiscover, methodToolsList, methodPromptsList, methodResourcesList, methodTemplatesList, methodResourcesRead}

// A CacheHint says how long a result stays good, and for whom (Caching). Public means
// that any caller may be shown it, even if it was given to somebody with credentials.
type CacheHint struct {
	TTL    time.Duration // from the arrival of the result on
	Public bool          // else it is for the caller only
}

// newSeals makes the ciphers of requestState. Without keys a random one is made.
func newSeals(keys [][]byte) ([]cipher.AEAD, error) {
	if len(keys) == 0 {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		keys = [][]byte{key}
	}
	seals := make([]cipher.AEAD, len(keys))
	for i, key := range keys {
		if len(key) < 16 {
			return nil, fmt.Errorf("a key of StateKeys has at least 16 bytes, not %d", len(key))
		}
		sum := sha256.Sum256(key)
		block, err := aes.NewCipher(sum[:])
		if err == nil {
			seals[i], err = cipher.NewGCM(block)
		}
		if err != nil {
			return nil, err
		}
	}
	return seals, nil
}

// Run serves one client over c until the client is gone, for which it returns nil, or
// ctx ends, for which it returns the cause of that. Requests that run at the end of input
// have half a second to finish. It closes c. A fault in the server's options, or in a
// registration before anybody was served, is returned at once. Run may be called for
// many clients at once.
func (s *Server) Run(ctx context.Context, c Conn) error {
	if err := s.registered(); err != nil {
		_ = c.Close()
		return err
	}
	ss := s.newSession()
	d := newDuplex(c, ss.p)
	ss.connect(d, d.windDown)
	defer ss.end()
	defer func() { _ = ss.host.end(over) }()
	return d.run(ctx, nil)
}

// registered is the first error of a registration.
func (s *Server) registered() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failed
}

// add registers e, of which err says what is wrong, and tells the clients. It keeps
// the first error of what comes before all serving: later ones must not cost new
// clients what works.
func add[T entry](s *Server, g *registry[T], bit mailBits, kind string, e T, err error) error {
	s.mu.Lock()
	i, found := g.find(e.name())
	switch {
	case err != nil:
		err = fmt.Errorf("mcp: %s %q: %w", kind, e.name(), err)
	case found:
		err = fmt.Errorf("mcp: %s %q is registered already", kind, e.name())
	default:
		g.entries, g.order = slices.Insert(g.entries, i, e), append(g.order, e)
		clear(g.joined[:])
		s.had |= bit
		if t, ok := any(e).(*tool); ok {
			may, _ := t.def.tasks()
			s.hadTasks = s.hadTasks || may
		}
		s.offer()
	}
	if err != nil && !s.served {
		s.failed = cmp.Or(s.failed, err)
	}
	s.mu.Unlock()
	if err == nil {
		s.eachHearer(func(h hearer) { h.changed(bit) })
	}
	return err
}

func (s *Server) eachHearer(f func(hearer)) {
	s.mu.RLock()
	list := slices.Collect(maps.Keys(s.hearers))
	s.mu.RUnlock()
	for _, h := range list {
		f(h)
	}
}

func (s *Server) eachSession(f func(*session)) {
	s.eachHearer(func(h hearer) {
		if ss, ok := h.(*session); ok {
			f(ss)
		}
	})
}

// A registry holds things by name, sorted, so that lists are stable and a cursor
// (the last name of a page) stays good while the list changes.
type registry[T entry] struct {
	entries []T
	order   []T                    // the same in the order of registration; never changed below its length
	joined  [len(revisions)][]byte // all encoded entries of a list that fits one page; nil: not made
}

type entry interface {
	name() string
	encoded(revision) []byte
}

// A listed thing is what entries have in common: a name, and JSON texts by revision.
type listed struct {
	key  string
	text [len(revisions)][]byte
}

func (l *listed) name() string                { return l.key }
func (l *listed) encoded(rev revision) []byte { return l.text[rev] }

// describe checks what all listed things have, and encodes def for every revision,
// which also shows that it can be.
func (l *listed) describe(def any, name string, handled bool, icons []Icon, meta Meta, a *Annotations) error {
	switch {
	case name == "":
		return errors.New("no Name")
	case !handled:
		return errors.New("no handler")
	}
	err := checkListed(icons, meta, a)
	for rev := revision(1); rev <= newest && err == nil; rev++ {
		l.text[rev], err = appendJSON(nil, def, rev)
	}
	return err
}

func (g *registry[T]) find(name string) (int, bool) {
	return slices.BinarySearchFunc(g.entries, name, func(e T, name string) int {
		return cmp.Compare(e.name(), name)
	})
}

func (g *registry[T]) remove(name string) bool {
	i, ok := g.find(name)
	if ok {
		g.entries = slices.Delete(g.entries, i, i+1)
		g.order = slices.DeleteFunc(slices.Clone(g.order), func(e T) bool { return e.name() == name })
		clear(g.joined[:])
	}
	return ok
}

// A tool is a registered tool.
type tool struct {
	listed
	def     Tool
	input   *Schema
	output  *Schema // nil: no output schema
	mirrors []mirror
	handler ToolHandler
}

type resourceEntry struct {
	listed
	def     Resource
	handler ResourceHandler
}

type templateEntry struct {
	listed
	def      ResourceTemplate
	template *uriTemplate
	handler  ResourceHandler
}

type promptEntry struct {
	listed
	def     Prompt
	handler PromptHandler
}

// AddTool registers a tool whose handler takes its arguments as a Go value and
// returns its result as one.
//
// The input schema, unless t has one, is derived from In (see [SchemaFor]), which
// must be a struct or map. Arguments are validated before they are decoded; what
// does not fit is a tool error that the model can read.
//
// A string that the handler returns becomes a text block, [Content] and []Content
// are themselves, a *[CallToolResult] is the result itself. Any other value is
// structured content, with its JSON also as text; its type gives the output schema,
// unless t has one. An error becomes a tool error with its text, unless there is a
// result with content beside it; an *[Error] is answered as it is.
//
// AddTool returns an error that names what is wrong with t; if nobody looks at it
// and nobody was served yet, serving reports it.
func AddTool[In, Out any](s *Server, t *Tool, h func(ctx context.Context, r *Request, in In) (Out, error)) error {
	e := newTool(t, nil)
	if err := e.derive(reflect.TypeFor[In](), reflect.TypeFor[Out]()); err != nil {
		return s.addTool(e, err)
	}
	if h == nil {
		return s.addTool(e, nil) // which says so
	}
	e.handler = func(ctx context.Context, r *Request, p *CallToolParams) (*CallToolResult, error) {
		var in In
		if err := decode(r.arguments(), &in); err != nil {
			return toolError("arguments: " + err.Error()), nil
		}
		out, err := h(ctx, r, in)
		if err != nil {
			result, _ := any(out).(*CallToolResult)
			return result, err
		}
		return toResult(out)
	}
	return s.addTool(e, nil)
}

// derive fills in the schemas that the tool does not have, from the types of its
// arguments and of its result where that is structured.
func (e *tool) derive(in, out reflect.Type) error {
	if e.def.InputSchema == nil {
		d := derive(in)
		if d.err != nil {
			return fmt.Errorf("InputSchema: %w", d.err)
		}
		e.def.InputSchema, e.input = d.text, d.schema
	}
	plain := out.Kind() == reflect.String || out.Implements(contentType) || out.Kind() == reflect.Interface ||
		out == contentsType || out == reflect.TypeFor[*CallToolResult]()
	if plain || e.def.OutputSchema != nil {
		return nil
	}
	d := derive(out)
	if d.err != nil {
		return fmt.Errorf("OutputSchema: %w", d.err)
	}
	e.def.OutputSchema, e.output = d.text, d.schema
	return nil
}

// toResult makes a result of what a typed handler returned.
func toResult(out any) (*CallToolResult, error) {
	switch v := out.(type) {
	case string:
		return textResult(v), nil
	case *CallToolResult:
		return v, nil
	case Content:
		return &CallToolResult{Content: []Content{v}}, nil
	case []Content:
		return &CallToolResult{Content: v}, nil
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.String {
		return textResult(v.String()), nil
	}
	text, err := marshal(out)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return &CallToolResult{StructuredContent: text}, nil
}

func textResult(text string) *CallToolResult {
	return &CallToolResult{Content: []Content{&TextContent{Text: text}}}
}

func toolError(text string) *CallToolResult {
	r := textResult(text)
	r.IsError = true
	return r
}

// AddTool registers a tool in its raw form: the handler gets the arguments as JSON,
// which fits the input schema. A nil input schema means no arguments. A second tool of
// the same name is an error; remove the first. t is copied. See the function [AddTool]
// for the usual form, and for its errors.
func (s *Server) AddTool(t *Tool, h ToolHandler) error {
	return s.addTool(newTool(t, h), nil)
}

func newTool(t *Tool, h ToolHandler) *tool {
	return &tool{listed: listed{key: t.Name}, def: *t, handler: h}
}

// addTool registers a tool, unless something is wrong with it already.
func (s *Server) addTool(e *tool, err error) error {
	if err == nil {
		err = e.prepare()
	}
	return add(s, &s.tools, toolsBit, "tool", e, err)
}

func (e *tool) prepare() (err error) {
	if err := checkName(e.def.Name); err != nil {
		return err
	}
	if e.def.InputSchema == nil {
		e.def.InputSchema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	if e.input == nil {
		if e.input, err = CompileSchema(e.def.InputSchema); err != nil {
			return fmt.Errorf("InputSchema: %w", err)
		}
	}
	if !objectSchema(e.def.InputSchema) {
		return errors.New(`InputSchema: type must be "object"`)
	}
	if e.mirrors, err = mirrorsOf(e.def.InputSchema); err != nil {
		return fmt.Errorf("InputSchema: %w", err)
	}
	if e.def.OutputSchema != nil && e.output == nil {
		if e.output, err = CompileSchema(e.def.OutputSchema); err != nil {
			return fmt.Errorf("OutputSchema: %w", err)
		}
	}
	return e.describe(&e.def, e.def.Name, e.handler != nil, e.def.Icons, e.def.Meta, nil)
}

// checkName checks a tool's name (Tools, Tool Names).
func checkName(name string) error {
	if len(name) < 1 || len(name) > 128 {
		return fmt.Errorf("a Name has 1 to 128 characters, not %d", len(name))
	}
	for _, c := range name {
		if !(c < 0x80 && (metaLabel(string(c), "", false) || strings.ContainsRune("_-.", c))) {
			return fmt.Errorf("a Name has only letters, digits, '_', '-' and '.', not %q", c)
		}
	}
	return nil
}

// checkListed checks what all listed things have.
func checkListed(icons []Icon, meta Meta, a *Annotations) error {
	for i := range icons {
		if err := icons[i].Check(); err != nil {
			return fmt.Errorf("in Icons: %w", err)
		}
	}
	for _, key := range sortedKeys(meta) {
		if err := CheckMetaKey(key); err != nil {
			return fmt.Errorf("in Meta: %w", err)
		}
	}
	return a.check()
}

// check says why annotations must not be sent.
func (a *Annotations) check() error {
	if a == nil {
		return nil
	}
	for _, role := range a.Audience {
		if role != RoleUser && role != RoleAssistant {
			return fmt.Errorf("Annotations: Audience must be user or assistant, not %q", role)
		}
	}
	if a.Priority != nil && !(*a.Priority >= 0 && *a.Priority <= 1) {
		return fmt.Errorf("Annotations: Priority must be 0 to 1, not %v", *a.Priority)
	}
	return nil
}

// checkContent says why blocks that a handler returned must not be sent.
func checkContent(blocks ...Content) error {
	for i, c := range blocks {
		if err := checkBlock(c); err != nil {
			return fmt.Errorf("content block %d: %w", i, err)
		}
	}
	return nil
}

func checkBlock(c Content) error {
	if c == nil || reflect.ValueOf(c).IsNil() {
		return errors.New("nil")
	}
	switch c := c.(type) {
	case *TextContent:
		return c.Annotations.check()
	case *ImageContent:
		if c.MIMEType == "" {
			return errors.New("no MIMEType")
		}
		return c.Annotations.check()
	case *AudioContent:
		if c.MIMEType == "" {
			return errors.New("no MIMEType")
		}
		return c.Annotations.check()
	case *ResourceLink:
		if c.URI == "" || c.Name == "" {
			return errors.New("a ResourceLink needs a URI and a Name")
		}
		return c.Annotations.check()
	case *EmbeddedResource:
		if c.Resource == nil || c.Resource.URI == "" {
			return errors.New("an EmbeddedResource needs a Resource with a URI")
		}
		return c.Annotations.check()
	case *ToolUseContent, *ToolResultContent:
		return fmt.Errorf("content of type %s is for sampling only", c.kind())
	}
	return nil
}

// AddResource registers a resource. It wins over templates that match its URI. Errors
// are as in [AddTool]; a second resource of the same URI is one.
func (s *Server) AddResource(res *Resource, h ResourceHandler) error {
	e := &resourceEntry{listed: listed{key: res.URI}, def: *res, handler: h}
	err := checkURI(res.URI)
	if err == nil {
		err = e.describe(&e.def, res.Name, h != nil, res.Icons, res.Meta, res.Annotations)
	}
	return add(s, &s.resources, resourcesBit, "resource", e, err)
}

// AddResourceTemplate registers the resources whose URIs follow a template (RFC
// 6570, levels 1 to 3, and {/name*}). Among templates that match, the first
// registered serves. A simple {name} does not match a slash, {+name} does. Errors are as
// in [AddTool].
func (s *Server) AddResourceTemplate(t *ResourceTemplate, h ResourceHandler) error {
	e := &templateEntry{listed: listed{key: t.URITemplate}, def: *t, handler: h}
	var err error
	if e.template, err = parseURITemplate(t.URITemplate); err == nil {
		err = e.describe(&e.def, t.Name, h != nil, t.Icons, t.Meta, t.Annotations)
	}
	return add(s, &s.templates, resourcesBit, "resource template", e, err)
}

// AddPrompt registers a prompt. Errors are as in [AddTool]; a second prompt of the same
// name is one.
func (s *Server) AddPrompt(p *Prompt, h PromptHandler) error {
	e := &promptEntry{listed: listed{key: p.Name}, def: *p, handler: h}
	err := e.describe(&e.def, p.Name, h != nil, p.Icons, p.Meta, nil)
	names := map[string]bool{}
	for _, a := range p.Arguments {
		if a == nil || a.Name == "" || names[a.Name] {
			err = errors.New("all Arguments must have names, and no two the same")
			break
		}
		names[a.Name] = true
	}
	return add(s, &s.prompts, promptsBit, "prompt", e, err)
}

// RemoveTools removes tools by name, and tells the clients. Names that are not
// registered are ignored; calls that run go on.
func (s *Server) RemoveTools(names ...string) { remove(s, toolsBit, &s.tools, names) }

// RemoveResources removes resources by URI, as RemoveTools does.
func (s *Server) RemoveResources(uris ...string) { remove(s, resourcesBit, &s.resources, uris) }

// RemovePrompts removes prompts by name, as RemoveTools does.
func (s *Server) RemovePrompts(names ...string) { remove(s, promptsBit, &s.prompts, names) }

// RemoveResourceTemplates removes resource templates by URI template, as RemoveTools
// does.
func (s *Server) RemoveResourceTemplates(templates ...string) {
	remove(s, resourcesBit, &s.templates, templates)
}

func remove[T entry](s *Server, kind mailBits, g *registry[T], names []string) {
	var any bool
	s.mu.Lock()
	for _, name := range names {
		any = g.remove(name) || any
	}
	s.mu.Unlock()
	if any {
		s.eachHearer(func(h hearer) { h.changed(kind) })
	}
}

// ResourceUpdated tells the clients that follow uri, or a URI above it that ends in a
// slash, that the resource has changed. It does not wait for them: what is not sent yet
// is told once.
func (s *Server) ResourceUpdated(uri string) {
	s.eachHearer(func(h hearer) { h.updated(uri) })
}

// ResourcesChanged tells the clients that the list of resources has changed. Only a
// server that makes the list itself, in Intercept, needs it.
func (s *Server) ResourcesChanged() {
	s.eachHearer(func(h hearer) { h.changed(resourcesBit) })
}

// Log sends a message that no request caused to every session whose level lets it
// pass; clients of 2026-07-28, which have none, do not get it. It does not wait for them.
// data is any value that has a JSON form, and must hold no secrets. Inside a handler, use
// [Request.Logger].
func (s *Server) Log(level LoggingLevel, logger string, data any) error {
	p, err := logParams(level, logger, data)
	if err != nil {
		return err
	}
	s.eachSession(func(ss *session) {
		if ss.logs(level) {
			ss.mail.post(mailItem{noteMessage, p})
		}
	})
	return nil
}

func logParams(level LoggingLevel, logger string, data any) (*LoggingMessageParams, error) {
	if level.rank() < 0 {
		return nil, fmt.Errorf("mcp: unknown log level %q", level)
	}
	raw, err := marshal(data)
	if err != nil {
		return nil, fmt.Errorf("mcp: log data: %w", err)
	}
	return &LoggingMessageParams{Level: level, Logger: logger, Data: raw}, nil
}

// ElicitationComplete tells the session that was asked to visit a URL, with that
// ElicitationID, that what the person does there is done (2025-11-25; Elicitation,
// Completion Notifications). An unknown ID is ignored.
func (s *Server) ElicitationComplete(id string) {
	s.eachSession(func(ss *session) {
		if ss.elicited(id, false) {
			ss.mail.post(mailItem{noteElicitationComplete, &ElicitationCompleteParams{ElicitationID: id}})
		}
	})
}

// offer computes what the server offers, also to lone requests, which have no use for
// what comes later.
func (s *Server) offer() {
	s.caps.Store(s.capabilities(true))
	s.capsAlone.Store(s.capabilities(false))
}

func (s *Server) capabilities(later bool) *ServerCapabilities {
	c := &ServerCapabilities{}
	if s.opts.HasTools || s.had&toolsBit != 0 {
		c.Tools = &ToolCapability{ListChanged: later}
	}
	if s.opts.HasPrompts || s.had&promptsBit != 0 {
		c.Prompts = &PromptCapability{ListChanged: later}
	}
	if s.opts.HasResources || s.had&resourcesBit != 0 {
		c.Resources = &ResourceCapability{ListChanged: later, Subscribe: later && s.opts.Subscribe != nil}
	}
	if !s.opts.NoLogging {
		c.Logging = &Empty{}
	}
	if s.opts.Complete != nil {
		c.Completions = &Empty{}
	}
	c.Extensions = maps.Clone(s.opts.Extensions)
	if s.hadTasks && later {
		c.Tasks = &TaskCapability{Cancel: &Empty{}, Requests: TaskRequests{Tools: &ToolTasks{Call: &Empty{}}}}
		if c.Extensions == nil {
			c.Extensions = Extensions{}
		}
		c.Extensions[ExtensionTasks] = json.RawMessage("{}")
	}
	return c
}

// offers is what the session can have of it.
func (ss *session) offers() *ServerCapabilities {
	if ss.alone {
		return ss.s.capsAlone.Load()
	}
	return ss.s.caps.Load()
}

// revisions names the revisions that the server may speak, newest first.
func (s *Server) revisions() []string {
	return slices.DeleteFunc(Revisions(), func(name string) bool { return !s.serves(parseRevision(name)) })
}

// serves reports whether the server may speak rev.
func (s *Server) serves(rev revision) bool {
	return rev > 0 && (s.opts.Revisions == nil || slices.Contains(s.opts.Revisions, rev.String()))
}

// negotiate chooses the revision for a client that asks for one (Lifecycle, Version
// Negotiation); zero if the server speaks none that is negotiated.
func (s *Server) negotiate(asked string) revision {
	if rev := parseRevision(asked); s.serves(rev) && !rev.alone() {
		return rev
	}
	for rev := newestSession; rev > 0; rev-- {
		if s.serves(rev) {
			return rev
		}
	}
	return 0
}

// speaksAlone reports whether a request on a connection is of the stateless era: it
// names a revision, and that is none which opens with initialize.
func (s *Server) speaksAlone(params value) bool {
	if !s.serves(newest) {
		return false
	}
	v := params.member("_meta").member(metaRevision)
	rev := parseRevision(v.str())
	return v.kind() != kindNone && (rev == 0 || rev.alone()) || s.negotiate("") == 0
}

// A Request is a request that a handler serves: all it may know, and how to speak
// back while the request runs. Its fields must not be changed, nor what Client and
// Capabilities point to, which requests share. Its methods may be called from any
// goroutine, but Detach by the handler's own only. When the request is answered, those that
// would speak to the client return [ErrRequestOver]; what is logged then goes to the
// server's own logger.
type Request struct {
	ID           ID                  // by which the client knows it
	Method       string              // such as "tools/call"
	Params       json.RawMessage     // as received; nil: none
	Meta         Meta                // of the parameters; from 2026-07-28 on without revision, client, capabilities and log level
	Revision     string              // that the client speaks
	Client       *Implementation     // who calls, as it says of itself
	Capabilities *ClientCapabilities // what the client can be asked
	Identity     *Identity           // who calls, as the transport established; nil: not known
	Header       http.Header         // of the HTTP request that carried it; nil elsewhere
	Variables    map[string]string   // of the resource template that matched
	Session      *sync.Map           // for what the application keeps as long as the caller's session lasts; from 2026-07-28 on, the request

	server  *Server
	session *session
	in      *incoming
	rev     revision
	level   int // rank of the least important level that the client wants

	late *lateTask // the call is, or may become, a task; nil: it will not

	mu       sync.Mutex // guards the fields below
	asker    asker      // nil: the client cannot be asked
	detached bool       // the request is answered, and goes on as a task
	related  string     // id of the task that is asked for; "": none
	round    round      // of questions, where the client answers with another request
	voice    voice      // nil: the request is over
	token    ID         // for progress; zero: none wanted
	bucket   bucket     // limits progress
	progress Progress   // the last one
	held     bool       // progress was not sent yet
	asked    int        // questions without a name
}

var (
	// ErrInputRequired is the error of a question that the client answers with another
	// request. The handler has to return it; what becomes of the request does not hang
	// on it.
	ErrInputRequired = errors.New("mcp: the answer comes with another request, which runs the handler again")
	// ErrCannotAsk is returned, wrapped, by questions in a request that has no way to
	// ask: from 2026-07-28 on only tools/call, prompts/get and resources/read have.
	ErrCannotAsk = errors.New("mcp: the client cannot be asked")
)

// A round is what a request carries of the questions that it was asked before.
type round struct {
	answers map[string]json.RawMessage // by name of the question
	used    map[string]json.RawMessage // of these, what was asked
	open    []Question                 // without an answer
	names   map[string]bool            // of all questions so far
}

// nameFor makes of the name of a question one that no other of the request has.
func (r *round) nameFor(name string) string {
	unique := name
	for n := 2; r.names[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	if r.names == nil {
		r.names = map[string]bool{}
	}
	r.names[unique] = true
	return unique
}

// An asker asks the client, in the way of the place where the request runs.
type asker interface {
	ask(ctx context.Context, r *Request, questions []Question) ([]Answer, error)
}

// A voice carries what a request says beside its result.
type voice interface {
	say(ctx context.Context, method string, params any) error
}

// Ask asks the client several questions at once and waits for all answers. What
// the client cannot answer is an error before anything is sent, and so is a
// question that its revision cannot express. An error that the client answers is
// told by its code: errors.Is(err, &Error{Code: CodeUserRejected}).
//
// A handler must ask its questions in a fixed order, or name them, and must do what
// cannot be undone after its last question: where the client speaks a revision
// without server requests, the handler is run again from its start with the answers
// so far. It must return the error of a question as it is.
func (r *Request) Ask(ctx context.Context, questions ...Question) ([]Answer, error) {
	r.mu.Lock()
	asker := r.asker
	r.mu.Unlock()
	switch {
	case asker == nil:
		return nil, fmt.Errorf("%w in %s", ErrCannotAsk, r.Method)
	case r.isOver():
		return nil, ErrRequestOver
	}
	list := slices.Clone(questions)
	needs, missing := &ClientCapabilities{}, []string(nil)
	for i := range list {
		q := &list[i]
		if lack := r.Capabilities.missing(q.needs(), r.rev); lack != nil {
			needs.add(q.needs())
			missing = append(missing, lack...)
		}
		if err := q.check(r.rev); err != nil {
			return nil, err
		}
		if q.Name == "" {
			r.mu.Lock()
			r.asked++
			q.Name = fmt.Sprint(r.asked)
			r.mu.Unlock()
		}
	}
	if missing != nil && r.rev.alone() {
		return nil, MissingCapability(needs)
	}
	if missing != nil {
		slices.Sort(missing)
		return nil, fmt.Errorf("mcp: the client did not declare %s", strings.Join(slices.Compact(missing), ", "))
	}
	return asker.ask(ctx, r, list)
}

// Elicit asks the person in front of the client; see [Confirm] and [Visit]. The
// content of an accepted form fits its schema; a person who declines is no error. Never
// ask for secrets by form. It is Ask with one question, and its rules are those of
// [Request.Ask].
func (r *Request) Elicit(ctx context.Context, p *ElicitParams) (*ElicitResult, error) {
	answers, err := r.Ask(ctx, Question{Elicit: p})
	if err != nil {
		return nil, err
	}
	return answers[0].Elicit, nil
}

// Sample asks the client's model. It is Ask with one question, and its rules are those
// of [Request.Ask].
//
// Deprecated: by the protocol from 2026-07-28 on; it works.
func (r *Request) Sample(ctx context.Context, p *CreateMessageParams) (*CreateMessageResult, error) {
	answers, err := r.Ask(ctx, Question{Sample: p})
	if err != nil {
		return nil, err
	}
	return answers[0].Sample, nil
}

// Roots asks for the folders that the client works in. They inform; they are no
// permission. It is Ask with one question, and its rules are those of [Request.Ask].
//
// Deprecated: by the protocol from 2026-07-28 on; it works.
func (r *Request) Roots(ctx context.Context) ([]*Root, error) {
	answers, err := r.Ask(ctx, Question{Roots: true})
	if err != nil {
		return nil, err
	}
	return answers[0].Roots, nil
}

// Progress reports how far the request is, if the client wants to know: total is 0
// if unknown. A value that does not grow is dropped, as the protocol demands. At
// most 256 reports are sent at once, and then 50 a second; the last one is always
// sent, at the latest before the answer.
func (r *Request) Progress(ctx context.Context, value, total float64, message string) error {
	if math.IsNaN(value) || math.IsInf(value, 0) || math.IsNaN(total) || math.IsInf(total, 0) {
		return fmt.Errorf("mcp: progress of %v of %v is not a number that JSON has", value, total)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.voice == nil:
		return ErrRequestOver
	case r.token.IsZero() || r.bucket.used && value <= r.progress.Value:
		return nil
	}
	r.progress = Progress{value, total, message}
	r.held = !r.bucket.take(progressRate, progressBurst)
	if r.held {
		return nil
	}
	return r.sayProgressLocked(ctx)
}

func (r *Request) sayProgressLocked(ctx context.Context) error {
	r.held = false
	return r.voice.say(ctx, noteProgress, &ProgressParams{r.token.text, r.progress})
}

// Pause lets go of the HTTP connection while the request goes on, so that nothing
// is held open through a long wait; the client comes back after retry, and whenever
// it loses the connection (2025-11-25; Streamable HTTP, Sending Messages, item 6).
// Elsewhere it does nothing.
func (r *Request) Pause(retry time.Duration) error {
	r.mu.Lock()
	detached := r.detached
	r.mu.Unlock()
	if r.in.a.pause == nil || detached {
		return nil
	}
	return r.in.a.pause(retry)
}

// Notify sends a notification of the application's own, such as
// "notifications/example/done". params must be JSON's idea of an object, or nil.
func (r *Request) Notify(ctx context.Context, method string, params any) error {
	if strings.HasPrefix(method, noteTask) {
		return fmt.Errorf("mcp: %s is the protocol's own", method)
	}
	return r.say(ctx, method, params)
}

func (r *Request) say(ctx context.Context, method string, params any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.voice == nil {
		return ErrRequestOver
	}
	return r.voice.say(ctx, method, params)
}

// Log sends a log message to the client if its level lets it pass. data is any
// JSON value and must hold no secrets. When the request is over, it goes to the
// server's own logger.
func (r *Request) Log(ctx context.Context, level LoggingLevel, logger string, data any) error {
	p, err := logParams(level, logger, data)
	if err != nil || !r.logs(level) {
		return err
	}
	if err := r.say(ctx, noteMessage, p); err != ErrRequestOver {
		return err
	}
	r.server.log.Log(ctx, level.slog(), "mcp: log message after the end of its request", "logger", logger, "data", string(p.Data))
	return nil
}

// Logger returns a logger whose records reach the client, if its level lets them
// pass, as an object with the record's attributes and "msg". An attribute "logger"
// with a string becomes the message's logger.
func (r *Request) Logger() *slog.Logger { return slog.New(&logHandler{r: r}) }

// over silences the request, after the last progress.
func (r *Request) over() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.detached {
		return // as the task it speaks on
	}
	r.flushLocked()
	r.voice = nil
}

// flushLocked sends the last progress if that was held back.
func (r *Request) flushLocked() {
	if r.held && r.voice != nil {
		_ = r.sayProgressLocked(context.Background()) // the answer follows on the same way
	}
}

func (r *Request) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.voice == nil
}

// isOpen reports whether a question has no answer.
func (r *Request) isOpen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.round.open) > 0
}

// arguments are the arguments of a tool call as they arrived.
func (r *Request) arguments() value { return r.in.params.member("arguments") }

// ProgressParams are the parameters of notifications/progress.
// Schema: ProgressNotification.params.
type ProgressParams struct {
	token string
	Progress
}

func (p *ProgressParams) appendTo(b []byte, rev revision) ([]byte, error) {
	b = append(append(b, `{"progressToken":`...), p.token...)
	start := len(b)
	b, err := appendJSON(b, &p.Progress, rev)
	b[start] = ','
	return b, err
}

// A logHandler is the slog.Handler behind Request.Logger.
type logHandler struct {
	r      *Request
	attrs  []slog.Attr // with their groups around them
	groups []string
}

// slog levels of the protocol's levels.
var slogLevels = map[LoggingLevel]slog.Level{LevelDebug: slog.LevelDebug, LevelInfo: slog.LevelInfo, LevelNotice: 2,
	LevelWarning: slog.LevelWarn, LevelError: slog.LevelError, LevelCritical: 12, LevelAlert: 16, LevelEmergency: 20}

func (l LoggingLevel) slog() slog.Level { return slogLevels[l] }

// levelOf is the most important protocol level that a slog level reaches.
func levelOf(l slog.Level) LoggingLevel {
	level := LevelDebug
	for _, p := range loggingLevels {
		if l >= p.slog() {
			level = p
		}
	}
	return level
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool {
	return h.r.logs(levelOf(l))
}

func (h *logHandler) Handle(ctx context.Context, rec slog.Record) error {
	attrs := slices.Clone(h.attrs)
	var own []slog.Attr
	rec.Attrs(func(a slog.Attr) bool { own = append(own, a); return true })
	attrs = append(attrs, inGroups(h.groups, own)...)
	logger, data := "", map[string]any{}
	for _, a := range attrs {
		if a.Key == "logger" && a.Value.Kind() == slog.KindString {
			logger = a.Value.String()
			continue
		}
		addAttr(data, a)
	}
	data["msg"] = rec.Message
	return h.r.Log(ctx, levelOf(rec.Level), logger, data)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(slices.Clone(h.attrs), inGroups(h.groups, attrs)...)
	return &c
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.groups = append(slices.Clone(h.groups), name)
	return &c
}

// inGroups puts attributes into nested groups.
func inGroups(groups []string, attrs []slog.Attr) []slog.Attr {
	for _, g := range slices.Backward(groups) {
		if len(attrs) > 0 {
			attrs = []slog.Attr{{Key: g, Value: slog.GroupValue(attrs...)}}
		}
	}
	return attrs
}

// addAttr adds an attribute to an object. Groups of one name are merged.
func addAttr(data map[string]any, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" {
			return
		}
		x := v.Any()
		switch y := x.(type) {
		case error:
			x = y.Error()
		case time.Duration:
			x = y.String()
		}
		raw, err := marshal(x)
		if err != nil { // JSON has no such value, which must not cost the message
			raw = appendString(nil, fmt.Sprint(x))
		}
		data[a.Key] = raw
		return
	}
	into := data
	if a.Key != "" {
		group, ok := data[a.Key].(map[string]any)
		if !ok {
			group = map[string]any{}
		}
		into = group
		if len(v.Group()) > 0 {
			data[a.Key] = group
		}
	}
	for _, b := range v.Group() {
		addAttr(into, b)
	}
}

// A bucket is a token bucket. The zero bucket is full.
type bucket struct {
	used  bool
	level float64 // tokens that are gone
	last  time.Time
}

// take takes a token, if there is one.
func (b *bucket) take(rate float64, burst int) bool {
	now := time.Now()
	b.level = max(0, b.level-rate*now.Sub(b.last).Seconds())
	if !b.used {
		b.level, b.used = 0, true
	}
	b.last = now
	if b.level+1 > float64(burst) {
		return false
	}
	b.level++
	return true
}

// RateLimit returns an Interceptor that lets each caller (by identity, else by
// session) make burst requests at once and then rate requests a second. ping is
// free. It answers others with an internal error and, over HTTP, status 429. Requests of
// 2026-07-28 over HTTP have no session: those without an identity count as one caller.
func RateLimit(rate float64, burst int) Interceptor {
	var mu sync.Mutex // guards buckets
	buckets := map[any]*bucket{}
	return func(ctx context.Context, r *Request, next func(context.Context) (any, error)) (any, error) {
		if r.Method == methodPing {
			return next(ctx)
		}
		var caller any = r.session
		if r.Identity != nil {
			caller = [2]string{r.Identity.Issuer, r.Identity.Subject}
		}
		mu.Lock()
		b := buckets[caller]
		if b == nil {
			if len(buckets) >= maxBuckets {
				clear(buckets) // full ones are as good as new
			}
			b = &bucket{}
			buckets[caller] = b
		}
		ok := b.take(rate, burst)
		mu.Unlock()
		if !ok {
			return nil, Errorf(CodeInternalError, "rate limit of %v requests a second exceeded", rate).
				WithHTTP(http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}})
		}
		return next(ctx)
	}
}

// A session is what a client opened with initialize: the side of a server's peer.
//
// What ends it: over a Conn the end of input, an error of the Conn, the context of Run,
// and three pings without an answer, all of which end the connection (duplex.run). Over
// HTTP see httpSession. A request of 2026-07-28 has no session to end: over a Conn it
// borrows that of the connection, over HTTP all share one that lasts as long as the
// HTTPHandler. Whoever made it calls end when its peer is over.
type session struct {
	s     *Server
	p     *peer
	mail  mailbox
	ready chan struct{} // closed by the notification that the client is initialized
	gone  chan struct{} // closed by end

	opened atomic.Pointer[opening] // nil before initialize
	level  atomic.Int32            // rank of the least important level that the client gets
	values sync.Map                // the application's
	host   *taskHost               // of tasks that begin in it
	alone  bool                    // serves one exchange: has no use for what outlives it
	turn   chan struct{}           // has room for one; sent to, and received from, by who changes subscribed

	mu          sync.Mutex // guards the fields below
	subscribed  map[string]bool
	asked       string      // the one of these that the application has not agreed to yet; "": none
	elicitation []string    // ids of visits that are not complete, oldest first
	begun       bool        // ready is closed
	out         stream      // for what no request caused
	hangUp      func(error) // ends the connection

	workers sync.WaitGroup // the carrier of mail and the keepalive
}

// An opening is what initialize settled; it never changes.
type opening struct {
	rev    revision
	client *Implementation
	caps   *ClientCapabilities
	offers *ServerCapabilities // what the client was told of
}

func (s *Server) newSession() *session {
	ss := &session{s: s, ready: make(chan struct{}), gone: make(chan struct{}), turn: make(chan struct{}, 1), host: &taskHost{}}
	ss.mail.wake = make(chan struct{}, 1)
	ss.mail.log = s.log
	ss.p = newPeer(ss, s.log)
	ss.p.crash = s.opts.CrashOnPanic
	if s.opts.MaxRequests > 0 {
		ss.p.limit = s.opts.MaxRequests
	}
	ss.level.Store(int32(s.opts.LogLevel.rank()))
	s.mu.Lock()
	s.hearers[ss] = struct{}{}
	s.served = true
	s.mu.Unlock()
	return ss
}

// connect says where messages go that no request caused, and how to end it all.
func (ss *session) connect(out stream, hangUp func(error)) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.out, ss.hangUp = out, hangUp
}

// open opens the session of a lone request, which no initialize comes before.
func (ss *session) open(rev revision) {
	ss.opened.Store(&opening{rev, &Implementation{}, &ClientCapabilities{}, ss.offers()})
	ss.initialized()
}

// end forgets the session.
func (ss *session) end() {
	ss.s.unhear(ss)
	close(ss.gone)
	ss.workers.Wait()
	ss.mu.Lock()
	delete(ss.subscribed, ss.asked) // which whoever asks takes back
	uris := sortedKeys(ss.subscribed)
	ss.subscribed = nil
	ss.mu.Unlock()
	if f := ss.s.opts.Unsubscribed; f != nil {
		for _, uri := range uris {
			f(uri)
		}
	}
}

// changed posts the news that lists have changed, of which only a client hears that
// was told that there are such lists.
func (ss *session) changed(lists mailBits) {
	o := ss.opened.Load()
	if o == nil {
		return
	}
	for _, l := range changeNotes {
		if !l.offered(o.offers) {
			lists &^= l.bit
		}
	}
	if lists != 0 {
		ss.mail.changed(lists)
	}
}

// post has the client told of something, as long as the session is there.
func (ss *session) post(item mailItem) {
	select {
	case <-ss.gone:
	default:
		ss.mail.post(item)
	}
}

func (ss *session) updated(uri string) {
	if followed := ss.follows(uri); followed != "" {
		ss.mail.updated(uri, followed)
	}
}

func (ss *session) follows(uri string) string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return follows(ss.subscribed, uri)
}

func (ss *session) batches() bool {
	o := ss.opened.Load()
	return o != nil && o.rev.batches()
}

func (ss *session) admit(in *incoming) (inOrder bool, refused *Error) {
	o := ss.opened.Load()
	if in.kind == requestMessage && in.a.header == nil && ss.s.speaksAlone(in.params) {
		in.rev = newest
		return false, nil
	}
	if in.kind == notificationMessage {
		if o == nil {
			return false, Errorf(CodeInvalidRequest, "not initialized: send initialize first")
		}
		if in.method == noteInitialized { // what comes after it counts on it
			ss.initialized()
		}
		return false, nil
	}
	in.rev = newestSession
	if o != nil {
		in.rev = o.rev
	}
	m := serverMethod(in.method)
	switch {
	case m.serve == nil || m.era == onlyAlone:
		return false, Errorf(CodeMethodNotFound, "method %.100q not found", in.method)
	case in.method == methodInitialize && o != nil:
		return false, Errorf(CodeInvalidRequest, "already initialized")
	case o == nil && in.method != methodInitialize && in.method != methodPing:
		return false, Errorf(CodeInvalidRequest, "not initialized: send initialize first")
	}
	return m.inOrder, nil
}

func (ss *session) request(ctx context.Context, in *incoming) (any, error) {
	era := serverEra(in)
	r, refused := era.open(ss, in)
	if refused != nil {
		return nil, refused
	}
	defer r.over() // also if the handler panics
	result, err := ss.s.serve(ctx, r)
	return era.close(r, result, err)
}

// An eraRules is the two edges of an era; nothing between them asks for it. open is where
// what arrived becomes a Request, the only place in each era that fills one in: a line
// of stdin and the body of a POST both end up here, by way of the peer and session.request.
type eraRules struct {
	open  func(*session, *incoming) (*Request, *Error)
	close func(*Request, any, error) (any, error)
}

// serverEra tells the era of a request.
func serverEra(in *incoming) eraRules {
	if in.rev.alone() {
		return eraRules{openStateless, closeStateless}
	}
	return eraRules{openSessionRequest, closeSessionRequest}
}

// openSessionRequest fills in a Request of the session era.
func openSessionRequest(ss *session, in *incoming) (*Request, *Error) {
	r := &Request{ID: in.id, Method: in.method, Params: in.params.raw(), Identity: in.a.identity, Header: in.a.header,
		Session: &ss.values, server: ss.s, session: ss, in: in}
	o := ss.opened.Load()
	if o == nil {
		o = &opening{rev: in.rev, client: &Implementation{}, caps: &ClientCapabilities{}}
	}
	r.rev, r.Client, r.Capabilities = o.rev, o.client, o.caps
	r.Revision = r.rev.String()
	if refused := r.takeMeta(in.params.member("_meta")); refused != nil {
		return nil, refused
	}
	if !serverMethod(in.method).inOrder { // else the answer could not be read
		r.asker = liveAsker{}
	}
	r.voice = replyVoice{r}
	return r, nil
}

// takeMeta reads the _meta of the parameters, but for members that others have read.
func (r *Request) takeMeta(meta value, but ...string) *Error {
	if !meta.present() {
		return nil
	}
	if meta.kind() != kindObject {
		return Errorf(CodeInvalidParams, "_meta: %v", mismatch("an object", meta))
	}
	r.Meta = decodeMeta(meta, but...)
	if token := meta.member("progressToken"); token.present() {
		var ok bool
		if r.token, ok = parseID(token); !ok {
			return Errorf(CodeInvalidParams, "_meta.progressToken must be a string or an integer, not %.40s", token.raw())
		}
	}
	return nil
}

// An introduction is what a client of the stateless era says of itself, in each request.
type introduction struct {
	capsText, infoText string
	caps               ClientCapabilities
	info               Implementation
}

// introductions are some of those that came last: most clients say the same each time, and
// what was read once need not be read again.
type introductions struct {
	seed  maphash.Seed
	slots [32]atomic.Pointer[introduction]
}

// maxIntroduction is how many bytes an introduction that is kept may have.
const maxIntroduction = 2 << 10

// closeSessionRequest makes of an error what the client can take.
func closeSessionRequest(r *Request, result any, err error) (any, error) {
	if err == nil {
		return result, nil
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeURLElicitationRequired && e.Code != CodeMissingRequiredClientCapability {
		return result, err
	}
	if !r.rev.rich() || !r.Capabilities.Elicitation.url() || e.Code == CodeMissingRequiredClientCapability {
		return r.fails(e.Message)
	}
	visits, err := requiredVisits(e)
	if err != nil {
		return nil, err
	}
	for _, p := range visits {
		r.session.elicited(p.ElicitationID, true)
	}
	return nil, e
}

// fails is what a request ends with that the client cannot help with.
func (r *Request) fails(message string) (any, error) {
	if r.Method == methodToolsCall {
		return toolError(message), nil
	}
	return nil, Errorf(CodeInternalError, "%s", message)
}

// A replyVoice speaks on the stream of the request.
type replyVoice struct{ r *Request }

func (v replyVoice) say(ctx context.Context, method string, params any) error {
	if err := v.r.in.gone(); err != nil {
		return err
	}
	return v.r.in.p.notify(ctx, v.r.in.a.out, method, params, v.r.rev)
}

// A liveAsker sends the questions on the stream of the request and waits.
type liveAsker struct{}

func (liveAsker) ask(ctx context.Context, r *Request, questions []Question) ([]Answer, error) {
	if err := r.in.gone(); err != nil {
		return nil, err
	}
	select {
	case <-r.session.ready: // before that only pings are allowed (Lifecycle, Initialization)
	case <-ctx.Done():
		return nil, causeOf(ctx)
	case <-r.in.p.done:
		return nil, r.in.p.over()
	}
	answers, errs := make([]Answer, len(questions)), make([]error, len(questions))
	var all sync.WaitGroup
	for i := range questions {
		one := func() { answers[i], errs[i] = r.askOne(ctx, &questions[i]) }
		if i == len(questions)-1 {
			one()
			break
		}
		all.Go(one) // ends with the answer
	}
	all.Wait()
	return answers, errors.Join(errs...)
}

func (r *Request) askOne(ctx context.Context, q *Question) (Answer, error) {
	if q.Elicit != nil && q.Elicit.Mode == "url" {
		c := *q.Elicit
		c.ElicitationID = orNewID(c.ElicitationID)
		q.Elicit = &c
		r.session.elicited(c.ElicitationID, true)
	}
	asked := q.asTask(r.Capabilities, r.rev)
	method, params := asked.method()
	limit := r.server.opts.AskTimeout
	o := callOptions{rev: r.rev, idle: limit, max: limit}
	r.mu.Lock()
	if r.related != "" {
		o.meta = relatedTask(r.related)
	}
	r.mu.Unlock()
	result, err := r.in.p.call(ctx, r.in.a.out, method, params, o)
	if task := result.member("task"); err == nil && q.Task != nil && task.present() {
		params := &TaskParams{TaskID: task.member("taskId").str()}
		result, err = r.in.p.call(ctx, r.in.a.out, methodTasksResult, params, o)
		if err != nil && !errors.As(err, new(*Error)) { // nobody waits for it any more
			_, _ = r.in.p.call(context.WithoutCancel(ctx), r.in.a.out, methodTasksCancel, params, callOptions{rev: r.rev, idle: cancelWait})
		}
	}
	var e *Error
	if errors.As(err, &e) {
		err = &refusal{method, e}
	}
	var a Answer
	if err == nil {
		a, err = q.answer(result)
	}
	if q.Elicit != nil && q.Elicit.Mode == "url" && !a.Elicit.Accepted() {
		r.session.elicited(q.Elicit.ElicitationID, false) // nothing that could be complete
	}
	return a, err
}

// A refusal is the client's error for a question. To errors.Is it is an *Error of
// its code, but it is none to errors.As: that the client would not answer is not the
// answer to its request.
type refusal struct {
	method string
	cause  *Error
}

func (e *refusal) Error() string        { return fmt.Sprintf("mcp: %s: %v", e.method, e.cause) }
func (e *refusal) Is(target error) bool { return e.cause.Is(target) }

// serve calls the function of a method, through the interceptors.
func (s *Server) serve(ctx context.Context, r *Request) (any, error) {
	m := serverMethod(r.Method)
	if m.offered != nil && !m.offered(r.session.offers()) {
		return nil, Errorf(CodeMethodNotFound, "method %q is not offered by this server", r.Method)
	}
	next := func(ctx context.Context) (any, error) {
		p, refused := m.params(r)
		if refused != nil {
			return nil, refused
		}
		return m.serve(s, ctx, r, p)
	}
	for _, i := range slices.Backward(s.opts.Intercept) {
		inner := next
		next = func(ctx context.Context) (any, error) { return i(ctx, r, inner) }
	}
	return next(ctx)
}

// A method is how a server serves a method.
type method struct {
	params  func(*Request) (any, *Error) // decodes what serve gets: a pointer
	serve   func(s *Server, ctx context.Context, r *Request, params any) (any, error)
	offered func(*ServerCapabilities) bool // nil: always
	inOrder bool                           // over before the next message is looked at
	era     eras
}

// eras says in which eras a method exists.
type eras int8

const (
	everywhere eras = iota
	onlySession
	onlyAlone
)

func offersTools(c *ServerCapabilities) bool     { return c.Tools != nil }
func offersResources(c *ServerCapabilities) bool { return c.Resources != nil }
func offersPrompts(c *ServerCapabilities) bool   { return c.Prompts != nil }
func offersUpdates(c *ServerCapabilities) bool   { return c.Resources != nil && c.Resources.Subscribe }
func offersLogging(c *ServerCapabilities) bool   { return c.Logging != nil }
func offersValues(c *ServerCapabilities) bool    { return c.Completions != nil }
func offersTasks(c *ServerCapabilities) bool     { return c.Tasks != nil }

// serverMethod finds a method by name; its serve is nil if there is none.
func serverMethod(name string) method {
	switch name {
	case methodInitialize:
		return method{params[InitializeParams], (*Server).initialize, nil, true, onlySession}
	case methodPing:
		return method{noParams, (*Server).ping, nil, false, onlySession}
	case methodToolsList:
		return method{params[ListParams], (*Server).listTools, offersTools, false, everywhere}
	case methodToolsCall:
		return method{params[CallToolParams], (*Server).callToolOrTask, offersTools, false, everywhere}
	case methodTasksGet:
		return method{params[TaskParams], (*Server).getTask, offersTasks, false, everywhere}
	case methodTasksResult:
		return method{params[TaskParams], (*Server).taskResult, offersTasks, false, onlySession}
	case methodTasksList:
		return method{params[ListParams], (*Server).listTasks, offersTasks, false, onlySession}
	case methodTasksCancel:
		return method{params[TaskParams], (*Server).cancelTask, offersTasks, false, everywhere}
	case methodTasksUpdate:
		return method{params[UpdateTaskParams], (*Server).updateTask, offersTasks, false, onlyAlone}
	case methodResourcesList:
		return method{params[ListParams], (*Server).listResources, offersResources, false, everywhere}
	case methodTemplatesList:
		return method{params[ListParams], (*Server).listTemplates, offersResources, false, everywhere}
	case methodResourcesRead:
		return method{params[ReadResourceParams], (*Server).readResource, offersResources, false, everywhere}
	case methodSubscribe:
		return method{params[SubscribeParams], (*Server).subscribe, offersUpdates, true, onlySession}
	case methodUnsubscribe:
		return method{params[SubscribeParams], (*Server).unsubscribe, offersUpdates, true, onlySession}
	case methodPromptsList:
		return method{params[ListParams], (*Server).listPrompts, offersPrompts, false, everywhere}
	case methodPromptsGet:
		return method{params[GetPromptParams], (*Server).getPrompt, offersPrompts, false, everywhere}
	case methodComplete:
		return method{params[CompleteParams], (*Server).complete, offersValues, false, everywhere}
	case methodSetLevel:
		return method{params[SetLevelParams], (*Server).setLevel, offersLogging, true, onlySession}
	case methodDiscover:
		return method{noParams, (*Server).discover, nil, false, onlyAlone}
	case methodListen:
		return method{params[SubscriptionsListenParams], (*Server).listen, nil, false, onlyAlone}
	}
	return method{}
}

func noParams(*Request) (any, *Error) { return nil, nil }

// params decodes the parameters of a request.
func params[P any](r *Request) (any, *Error) {
	p := new(P)
	if err := decodeParams(r.in.params, p, r.Meta); err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: invalid parameters: %v", r.Method, err)
	}
	return p, nil
}

func (s *Server) initialize(_ context.Context, r *Request, params any) (any, error) {
	p := params.(*InitializeParams)
	rev := s.negotiate(p.ProtocolVersion)
	r.in.rev = rev
	offers, caps := r.session.offers(), p.Capabilities
	if r.session.alone {
		caps = &ClientCapabilities{} // an answer would find no way back
	}
	if offers.Tasks != nil && r.Identity != nil {
		c, tasks := *offers, *offers.Tasks
		tasks.List, c.Tasks = &Empty{}, &tasks
		offers = &c
	}
	r.session.opened.Store(&opening{rev, p.ClientInfo, caps, offers})
	result := &InitializeResult{ProtocolVersion: rev.String(), Capabilities: offers, ServerInfo: &s.info}
	if s.opts.Instructions != "" {
		result.Instructions = &s.opts.Instructions
	}
	return result, nil
}

func (s *Server) ping(context.Context, *Request, any) (any, error) { return &EmptyResult{}, nil }

func (s *Server) listTools(_ context.Context, r *Request, params any) (any, error) {
	return list(r, params.(*ListParams), &s.tools, "tool", "tools")
}

func (s *Server) listResources(_ context.Context, r *Request, params any) (any, error) {
	return list(r, params.(*ListParams), &s.resources, "resource", "resources")
}

func (s *Server) listTemplates(_ context.Context, r *Request, params any) (any, error) {
	return list(r, params.(*ListParams), &s.templates, "template", "resourceTemplates")
}

func (s *Server) listPrompts(_ context.Context, r *Request, params any) (any, error) {
	return list(r, params.(*ListParams), &s.prompts, "prompt", "prompts")
}

// A listPage is the result of a list method: encoded items.
type listPage struct {
	member string
	items  []byte // joined by commas
	next   string // cursor; "": there is no next page
}

func (p *listPage) appendTo(b []byte, _ revision) ([]byte, error) {
	b = append(append(appendString(append(b, '{'), p.member), ":["...), p.items...)
	b = append(b, ']')
	if p.next != "" {
		b = appendString(append(b, `,"nextCursor":`...), p.next)
	}
	return append(b, '}'), nil
}

// list makes a page of what the caller may see.
func list[T entry](r *Request, p *ListParams, g *registry[T], kind, member string) (any, error) {
	s, after := r.server, ""
	if p.Cursor != nil {
		var ok bool
		if after, ok = parseCursor(kind, *p.Cursor); !ok {
			return nil, Errorf(CodeInvalidParams, "cursor %.100q is not one of this list", *p.Cursor)
		}
	} else if s.opts.Visible == nil {
		if page := g.whole(s, r.rev, member); page != nil {
			return page, nil
		}
	}
	s.mu.RLock()
	i, found := g.find(after)
	if found {
		i++
	}
	entries := slices.Clone(g.entries[i:])
	s.mu.RUnlock()
	page := &listPage{member: member}
	for n, last := 0, ""; len(entries) > 0; entries = entries[1:] {
		e := entries[0]
		if !r.visible(kind, e.name()) {
			continue
		}
		if n == s.opts.PageSize {
			page.next = makeCursor(kind, last)
			break
		}
		if n > 0 {
			page.items = append(page.items, ',')
		}
		page.items = append(page.items, e.encoded(r.rev)...)
		n, last = n+1, e.name()
	}
	return page, nil
}

// whole returns the page of all entries, joined once; nil if they need more pages.
func (g *registry[T]) whole(s *Server, rev revision, member string) *listPage {
	s.mu.RLock()
	joined := g.joined[rev]
	s.mu.RUnlock()
	if joined == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(g.entries) > s.opts.PageSize {
			return nil
		}
		joined = []byte{}
		for i, e := range g.entries {
			if i > 0 {
				joined = append(joined, ',')
			}
			joined = append(joined, e.encoded(rev)...)
		}
		g.joined[rev] = joined
	}
	return &listPage{member: member, items: joined}
}

// A cursor is the kind of a list and the last name of a page, not to be read by
// clients.
func makeCursor(kind, last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + last))
}

func parseCursor(kind, cursor string) (last string, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	last, ok = strings.CutPrefix(string(text), kind+":")
	return last, ok && err == nil && last != ""
}

// find finds what the caller may know of.
func find[T entry](r *Request, g *registry[T], kind, name string) (e T, ok bool) {
	e, ok = lookup(r.server, g, name)
	return e, ok && r.visible(kind, name)
}

func lookup[T entry](s *Server, g *registry[T], name string) (e T, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, ok := g.find(name)
	if ok {
		e = g.entries[i]
	}
	return e, ok
}

// visible asks the application whether the caller may know of something.
func (r *Request) visible(kind, name string) bool {
	f := r.server.opts.Visible
	return f == nil || f(r, kind, name)
}

// prepareCall finds a tool and validates the arguments; early is the result where they
// do not fit.
func (s *Server) prepareCall(r *Request, p *CallToolParams) (t *tool, early any, err error) {
	t, ok := find(r, &s.tools, "tool", p.Name)
	if !ok {
		return nil, nil, Errorf(CodeInvalidParams, "unknown tool %.200q", p.Name)
	}
	args := r.arguments()
	switch {
	case !args.present():
		args, p.Arguments = noArguments.root(), nil
	case args.kind() != kindObject:
		return nil, nil, Errorf(CodeInvalidParams, "tools/call: arguments must be an object, not %.40s", args.raw())
	}
	if err := t.input.validate(args); err != nil {
		return nil, toolError(fmt.Sprintf("invalid arguments for tool %q: %v", p.Name, err)), nil
	}
	return t, nil, nil
}

// noArguments is {}.
var noArguments, _ = scan([]byte("{}"))

// finish makes a right result of what a tool's handler returned.
func (t *tool) finish(s *Server, result *CallToolResult, err error) (any, error) {
	switch {
	case errors.As(err, new(*Error)) || errors.Is(err, ErrInputRequired):
		return nil, err
	case err != nil && result != nil && len(result.Content) > 0:
		c := *result
		c.IsError = true
		result = &c
	case err != nil:
		return toolError(err.Error()), nil
	case result == nil:
		result = &CallToolResult{}
	}
	if t.output != nil && !result.IsError {
		if err := t.checkOutput(result.StructuredContent); err != nil {
			s.log.Error("mcp: tool result does not fit its output schema", "tool", t.def.Name, "error", err)
			return toolError(fmt.Sprintf("tool %q returned a result that does not fit its output schema: %v", t.def.Name, err)), nil
		}
	}
	if err := checkContent(result.Content...); err != nil {
		return nil, fmt.Errorf("result of tool %q: %w", t.def.Name, err)
	}
	if result.StructuredContent != nil && len(result.Content) == 0 {
		c := *result
		c.Content = []Content{&TextContent{Text: string(result.StructuredContent)}}
		return &c, nil
	}
	return result, nil
}

func (t *tool) checkOutput(structured json.RawMessage) error {
	if structured == nil {
		return errors.New("there is no structured content")
	}
	return t.output.Validate(structured)
}

// ResourceNotFound is the error for a resource that does not exist (Resources,
// Error Handling). Each revision's clients get the code that it has for that.
func ResourceNotFound(uri string) *Error {
	return Errorf(CodeResourceNotFound, "resource not found").withData(map[string]string{"uri": uri})
}

func (s *Server) readResource(ctx context.Context, r *Request, params any) (any, error) {
	p := params.(*ReadResourceParams)
	if p.URI == "" {
		return nil, Errorf(CodeInvalidParams, "resources/read: uri is empty")
	}
	handler, mimeType := s.findResource(r, p.URI)
	if handler == nil {
		return nil, ResourceNotFound(p.URI)
	}
	result, err := handler(ctx, r, p)
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, fmt.Errorf("handler of resource %q returned neither contents nor an error", p.URI)
	}
	filled := *result // what the handler returned may be shared
	filled.Contents = make([]*ResourceContents, len(result.Contents))
	for i, c := range result.Contents {
		if c == nil {
			return nil, fmt.Errorf("handler of resource %q: contents %d are nil", p.URI, i)
		}
		one := *c
		one.URI, one.MIMEType = cmp.Or(c.URI, p.URI), cmp.Or(c.MIMEType, mimeType)
		filled.Contents[i] = &one
	}
	return &filled, nil
}

// findResource finds who serves a URI, and sets r.Variables; nil if nobody does.
func (s *Server) findResource(r *Request, uri string) (h ResourceHandler, mimeType string) {
	if e, ok := find(r, &s.resources, "resource", uri); ok {
		return e.handler, e.def.MIMEType
	}
	t, vars := s.matchTemplate(r, uri)
	if t == nil || !r.visible("resource", uri) {
		return nil, ""
	}
	r.Variables = vars
	return t.handler, t.def.MIMEType
}

// matchTemplate finds the first template that a URI matches, and its variables.
func (s *Server) matchTemplate(r *Request, uri string) (*templateEntry, map[string]string) {
	s.mu.RLock()
	templates := s.templates.order
	s.mu.RUnlock()
	for _, t := range templates {
		if vars, ok := t.template.match(uri); ok && r.visible("template", t.def.URITemplate) {
			return t, vars
		}
	}
	return nil, nil
}

func (s *Server) subscribe(ctx context.Context, r *Request, params any) (any, error) {
	p := params.(*SubscribeParams)
	if len(p.URI) > maxKept {
		return nil, Errorf(CodeInvalidParams, "a uri of %d bytes cannot be followed: the limit is %d", len(p.URI), maxKept)
	}
	if h, _ := s.findResource(r, p.URI); h == nil {
		return nil, ResourceNotFound(p.URI)
	}
	ss := r.session
	if err := ss.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer ss.giveTurn()
	ss.mu.Lock()
	followed, full := ss.subscribed[p.URI], len(ss.subscribed) >= maxSubscriptions
	ss.mu.Unlock()
	switch {
	case followed: // twice counts once
		return &EmptyResult{}, nil
	case full:
		return nil, Errorf(CodeInternalError, "too many subscriptions: the limit is %d", maxSubscriptions)
	}
	ss.mail.hold() // no update before the answer, and none lost from now on
	r.in.after = func(ok bool) {
		if !ok {
			ss.unfollow(p.URI)
		}
		ss.mail.release()
	}
	ss.follow(p.URI)
	err := s.opts.Subscribe(ctx, r, p.URI)
	if late := ss.settle(p.URI, err); late {
		if f := s.opts.Unsubscribed; f != nil {
			f(p.URI)
		}
		err = errSessionOver
	}
	if err != nil {
		return nil, err
	}
	return &EmptyResult{}, nil
}

var errSessionOver = Errorf(CodeInternalError, "the session is over")

// takeTurn waits until nobody else changes the session's subscriptions: over HTTP two
// requests may want to at once, and the application must hear of one end for each beginning.
func (ss *session) takeTurn(ctx context.Context) error {
	select {
	case ss.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return causeOf(ctx)
	}
}

func (ss *session) giveTurn() { <-ss.turn }

// follow notes a resource that the application is asked to follow.
func (ss *session) follow(uri string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.subscribed == nil {
		ss.subscribed = map[string]bool{}
	}
	ss.subscribed[uri], ss.asked = true, uri
}

// settle notes what the application has answered. It reports whether it follows the
// resource for nobody, since the session has ended meanwhile.
func (ss *session) settle(uri string, err error) (late bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	select {
	case <-ss.gone:
		late = err == nil
	default:
	}
	if ss.asked = ""; late || err != nil {
		delete(ss.subscribed, uri)
	}
	return late
}

func (s *Server) unsubscribe(ctx context.Context, r *Request, params any) (any, error) {
	if err := r.session.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer r.session.giveTurn()
	r.session.unfollow(params.(*SubscribeParams).URI)
	return &EmptyResult{}, nil
}

func (ss *session) unfollow(uri string) {
	ss.mu.Lock()
	followed := ss.subscribed[uri]
	delete(ss.subscribed, uri)
	ss.mu.Unlock()
	if f := ss.s.opts.Unsubscribed; f != nil && followed {
		f(uri)
	}
}

// follows returns the subscription by which updates of uri are wanted: of itself, or
// of what is above it and ends in a slash; "": they are not.
func follows(subscribed map[string]bool, uri string) string {
	if len(subscribed) == 0 {
		return ""
	}
	for end := len(uri); end > 0; end = strings.LastIndexByte(uri[:end-1], '/') + 1 {
		if subscribed[uri[:end]] {
			return uri[:end]
		}
	}
	return ""
}

func (s *Server) getPrompt(ctx context.Context, r *Request, params any) (any, error) {
	p := params.(*GetPromptParams)
	e, ok := find(r, &s.prompts, "prompt", p.Name)
	if !ok {
		return nil, Errorf(CodeInvalidParams, "unknown prompt %.200q", p.Name)
	}
	for _, a := range e.def.Arguments {
		if _, given := p.Arguments[a.Name]; a.Required && !given {
			return nil, Errorf(CodeInvalidParams, "prompt %q: argument %q is missing", p.Name, a.Name)
		}
	}
	result, err := e.handler(ctx, r, p)
	if err == nil && result == nil {
		err = fmt.Errorf("handler of prompt %q returned neither messages nor an error", p.Name)
	}
	if err != nil {
		return nil, err
	}
	for i, m := range result.Messages {
		if m == nil || m.Role != RoleUser && m.Role != RoleAssistant {
			return nil, fmt.Errorf("prompt %q: message %d needs the role user or assistant", p.Name, i)
		}
		if err := checkBlock(m.Content); err != nil {
			return nil, fmt.Errorf("prompt %q: content of message %d: %w", p.Name, i, err)
		}
	}
	return result, nil
}

func (s *Server) complete(ctx context.Context, r *Request, params any) (any, error) {
	p := params.(*CompleteParams)
	if refused := s.checkReference(r, p); refused != nil {
		return nil, refused
	}
	c, err := s.opts.Complete(ctx, r, p)
	if err != nil {
		return nil, err
	}
	if c == nil {
		c = &Completion{}
	}
	if len(c.Values) > maxCompletions {
		total := len(c.Values)
		if c.Total != nil {
			total = *c.Total
		}
		c = &Completion{Values: c.Values[:maxCompletions], Total: &total, HasMore: true}
	}
	return &CompleteResult{Completion: *c}, nil
}

// checkReference refuses completion for what does not exist.
func (s *Server) checkReference(r *Request, p *CompleteParams) *Error {
	var names []string
	switch p.Ref.Type {
	case "ref/prompt":
		e, ok := find(r, &s.prompts, "prompt", p.Ref.Name)
		if !ok {
			return Errorf(CodeInvalidParams, "unknown prompt %.200q", p.Ref.Name)
		}
		for _, a := range e.def.Arguments {
			names = append(names, a.Name)
		}
	case "ref/resource":
		t := s.findTemplate(r, p.Ref.URI)
		if t == nil {
			return Errorf(CodeInvalidParams, "unknown resource template %.200q", p.Ref.URI)
		}
		names = t.template.names()
	default:
		return Errorf(CodeInvalidParams, "ref.type must be ref/prompt or ref/resource, not %.100q", p.Ref.Type)
	}
	if !slices.Contains(names, p.Argument.Name) {
		return Errorf(CodeInvalidParams, "unknown argument %.200q", p.Argument.Name)
	}
	return nil
}

// findTemplate finds a template by its own text, else the first one that a URI
// matches.
func (s *Server) findTemplate(r *Request, ref string) *templateEntry {
	if t, ok := find(r, &s.templates, "template", ref); ok {
		return t
	}
	t, _ := s.matchTemplate(r, ref)
	return t
}

func (s *Server) setLevel(_ context.Context, r *Request, params any) (any, error) {
	p := params.(*SetLevelParams)
	if r.session.alone {
		return nil, Errorf(CodeMethodNotFound, "a log level needs a session, and this server has none")
	}
	rank := p.Level.rank()
	if rank < 0 {
		return nil, Errorf(CodeInvalidParams, "level must be one of %q, not %.100q", loggingLevels, p.Level)
	}
	r.session.level.Store(int32(rank))
	return &EmptyResult{}, nil
}

// logs reports whether a message of a level is for the client.
func (r *Request) logs(level LoggingLevel) bool {
	if r.rev.alone() {
		return !r.server.opts.NoLogging && level.rank() >= r.level
	}
	return r.session.logs(level)
}

func (ss *session) logs(level LoggingLevel) bool {
	return !ss.s.opts.NoLogging && level.rank() >= int(ss.level.Load())
}

// elicited notes the id of a visit that the client was asked for, or takes it back,
// and reports whether it was there.
func (ss *session) elicited(id string, begin bool) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	i := slices.Index(ss.elicitation, id)
	if i >= 0 {
		ss.elicitation = slices.Delete(ss.elicitation, i, i+1)
	}
	if begin {
		ss.elicitation = append(ss.elicitation, id)
		if n := len(ss.elicitation); n > maxElicitations {
			ss.elicitation = slices.Delete(ss.elicitation, 0, n-maxElicitations)
		}
	}
	return i >= 0
}

func (ss *session) notification(ctx context.Context, in *incoming) {
	switch in.method {
	case noteInitialized: // admit saw to it
	case noteRootsChanged:
		if f := ss.s.opts.RootsChanged; f != nil && ss.isReady() { // before, nobody can have asked for roots
			in.rev = ss.opened.Load().rev
			if r, refused := openSessionRequest(ss, in); refused == nil {
				defer r.over()
				f(ctx, r)
			}
		}
	default:
		ss.s.log.Debug("mcp: unknown notification ignored", "method", in.method)
	}
}

func (ss *session) isReady() bool {
	select {
	case <-ss.ready:
		return true
	default:
		return false
	}
}

// initialized begins normal work; a second time it does nothing.
func (ss *session) initialized() {
	if !ss.begin() {
		ss.s.log.Warn("mcp: initialized a second time, ignored")
	}
}

func (ss *session) begin() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.begun {
		return false
	}
	ss.begun = true
	close(ss.ready)
	ss.mail.begin()
	if out := ss.out; out != nil {
		ss.workers.Go(func() { ss.carry(out, ss.gone) }) // ends with the session
	}
	if ss.s.opts.KeepAlive > 0 && ss.out != nil {
		ss.workers.Go(func() { // ends with the session
			keepAlive(ss.p, ss.out, ss.s.opts.KeepAlive, ss.opened.Load().rev, ss.gone, ss.hangUp)
		})
	}
	return true
}

// carry brings what is in the mailbox to a stream, until done is closed.
func (ss *session) carry(out stream, done <-chan struct{}) {
	for {
		select {
		case <-ss.mail.wake:
		case <-done:
			return
		}
		if ss.deliverMail(out, done) != nil {
			return
		}
	}
}

// deliverMail brings what is in the mailbox to a stream, unless done is closed first.
func (ss *session) deliverMail(out stream, done <-chan struct{}) error {
	return ss.mail.deliver(done, ss.follows, func(item mailItem) error {
		return ss.p.notify(context.Background(), out, item.method, item.params, ss.opened.Load().rev)
	})
}

// keepAlive pings until done is closed. A peer that does not know ping is left
// alone; one that is silent several times is hung up on.
func keepAlive(p *peer, out stream, every time.Duration, rev revision, done <-chan struct{}, hangUp func(error)) {
	t := time.NewTicker(every)
	defer t.Stop()
	for missed := 0; ; {
		select {
		case <-t.C:
		case <-done:
			return
		}
		_, err := p.call(context.Background(), out, methodPing, nil, callOptions{rev: rev, idle: every})
		var e *Error
		var lost *lostSession
		switch {
		case errors.As(err, &lost): // which is an answer, too
			p.lose(lost)
			missed = 0
			continue
		case errors.As(err, &e) || errors.Is(err, ErrClosed):
			return
		case err == nil:
			missed = 0
			continue
		}
		missed++
		p.log.Warn("mcp: no answer to ping", "missed", missed, "error", err)
		if missed >= maxMissedPings {
			hangUp(fmt.Errorf("no answer to %d pings", missed))
			return
		}
	}
}

// mailBits tell which lists have changed.
type mailBits uint8

const (
	toolsBit mailBits = 1 << iota
	resourcesBit
	promptsBit
)

// changeNotes has the notifications that lists have changed, and who gets them.
var changeNotes = [...]struct {
	bit     mailBits
	note    string
	offered func(*ServerCapabilities) bool
}{{toolsBit, noteToolsChanged, offersTools}, {resourcesBit, noteResourcesChanged, offersResources}, {promptsBit, notePromptsChanged, offersPrompts}}

type mailItem struct {
	method string
	params any
}

// A mailbox holds what no request caused until somebody carries it to the client.
// Posting never waits.
type mailbox struct {
	log  *slog.Logger
	wake chan struct{} // has room for one; from whoever posts to the carrier

	mu    sync.Mutex // guards the fields below
	open  bool       // the client is initialized; before, nothing is kept
	held  int        // reasons to keep what is there
	lists mailBits
	uris  []string // updated resources, each once
	items []mailItem
}

func (m *mailbox) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = true
}

func (m *mailbox) put(change func()) {
	m.mu.Lock()
	if m.open {
		change()
	}
	m.mu.Unlock()
	m.nudge()
}

// nudge wakes whoever carries mail.
func (m *mailbox) nudge() { nudge(m.wake) }

// changed notes that lists have changed.
func (m *mailbox) changed(lists mailBits) { m.put(func() { m.lists |= lists }) }

// hold keeps in the mailbox what is there and what comes, until release.
func (m *mailbox) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held++
}

func (m *mailbox) release() {
	m.mu.Lock()
	m.held--
	m.mu.Unlock()
	m.put(func() {}) // wakes the carrier
}

// updated notes that a resource has changed, of which the client hears because it
// follows a URI. When too many wait, it hears of that URI, and there are no more of
// these than subscriptions.
func (m *mailbox) updated(uri, followed string) {
	m.put(func() {
		if len(m.uris) >= maxMail {
			uri = followed
		}
		if !slices.Contains(m.uris, uri) {
			m.uris = append(m.uris, uri)
		}
	})
}

// post adds a notification. When there are too many, the oldest is lost.
func (m *mailbox) post(item mailItem) {
	lost := ""
	m.put(func() {
		if len(m.items) >= maxMail {
			lost = m.items[0].method
			m.items = m.items[1:]
		}
		m.items = append(m.items, item)
	})
	if lost != "" {
		m.log.Warn("mcp: the client is slow, a notification is lost", "method", lost)
	}
}

func (m *mailbox) onlyLists() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lists != 0 && m.uris == nil && m.items == nil
}

// deliver says what is in the mailbox, unless done is closed first, but for updates of
// what is followed no more.
func (m *mailbox) deliver(done <-chan struct{}, follows func(uri string) string, say func(mailItem) error) error {
	if m.onlyLists() {
		select {
		case <-time.After(coalesce):
		case <-done:
			m.nudge()
			return ErrRequestOver
		}
	}
	for _, item := range m.empty() {
		if u, ok := item.params.(*ResourceUpdatedParams); ok && follows(u.URI) == "" {
			continue
		}
		if err := say(item); err != nil {
			return err
		}
	}
	return nil
}

// empty takes everything out.
func (m *mailbox) empty() (items []mailItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held > 0 {
		return nil
	}
	for _, l := range changeNotes {
		if m.lists&l.bit != 0 {
			items = append(items, mailItem{method: l.note})
		}
	}
	for _, uri := range m.uris {
		items = append(items, mailItem{noteResourceUpdated, &ResourceUpdatedParams{URI: uri}})
	}
	items = append(items, m.items...)
	m.lists, m.uris, m.items = 0, nil, nil
	return items
}

var errHostEnded = errors.New("mcp: the server ended before the task")

var errGone = errors.New("mcp: the client closed the connection")

// over is a context that has ended.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// A taskHost runs the handlers of tasks: those of a connection, or of an HTTP handler.
// The zero host is ready; end ends it.
type taskHost struct {
	mu     sync.Mutex // guards the fields below
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  bool
	work   sync.WaitGroup
}

// run runs f on a goroutine, until the host ends at the latest. ctx gives its values.
func (h *taskHost) run(ctx context.Context, f func(ctx context.Context, cancel context.CancelCauseFunc)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return errHostEnded
	}
	if h.ctx == nil {
		h.ctx, h.cancel = context.WithCancelCause(context.Background())
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(h.ctx, func() { cancel(errHostEnded) })
	h.work.Go(func() { // ends with f
		defer cancel(nil)
		defer stop()
		f(inner, cancel)
	})
	return nil
}

// end lets no more tasks begin, waits for those that run as long as ctx lets it, and
// then ends them, for which it returns the reason.
func (h *taskHost) end(ctx context.Context) (cause error) {
	h.mu.Lock()
	h.ended = true
	cancel := h.cancel
	h.mu.Unlock()
	if cancel == nil {
		return nil
	}
	done := make(chan struct{})
	go func() { h.work.Wait(); close(done) }() // ends with the tasks
	select {
	case <-done:
	case <-ctx.Done():
		cause = context.Cause(ctx)
		cancel(errHostEnded)
		select {
		case <-done:
		case <-time.After(handlersGrace):
		}
	}
	cancel(errHostEnded)
	return cause
}

// A runningTask is the handler of a task at work.
type runningTask struct {
	store  TaskStore
	owner  string
	id     string
	tell   func(*TaskRecord)       // that the status has changed; nil: nobody wants to know
	cancel context.CancelCauseFunc // ends the handler
}

// A lateTask is a call that is, or may become, a task.
type lateTask struct {
	t       *tool
	p       *CallToolParams
	created chan *CreateTaskResult // has room for the one that becomeTask sends
	told    chan struct{}          // closed when the client has that
	done    chan ending            // has room for the end of a call that was no task
	task    *runningTask           // set by becomeTask, on the handler's goroutine or before that begins
}

// An ending is how a call ended.
type ending struct {
	result any
	err    error
}

// relatedTask is the _meta of what belongs to a task (2025-11-25; Tasks, Associating
// Messages).
func relatedTask(id string) Meta {
	return Meta{metaRelatedTask: map[string]string{"taskId": id}}
}

// A related value, parameters or a result, belongs to a task, as its _meta says.
type related struct {
	task  Meta
	value any
}

func (p *related) appendTo(b []byte, rev revision) ([]byte, error) {
	return appendParams(b, p.value, nil, p.task, rev)
}
