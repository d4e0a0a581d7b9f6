package mcp

// The stateless era, 2026-07-28: each request says itself what a server has to know
// (Base Protocol, Statelessness), and whatever a server wants of the client is in a
// result, which the client answers with another request (Multi Round-Trip Requests).
// Here are the two edges of that era, on both sides; the handlers between them are
// those of the session era. It stands on server.go, client.go and tasks.go, which reach
// it by their switches alone: serverEra, eraOf and serverMethod. streamable.go asks it
// which POSTs are of its era.

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxState     = 256 << 10 // bytes of a requestState
	maxQuestions = 1000      // of one request
)

// alone reports whether a message over HTTP is of the stateless era: if its body or
// its header says so, or nothing else is served.
func (s *Server) alone(m *message, header http.Header) bool {
	rev := parseRevision(header.Get(headerRevision))
	return s.speaksAlone(m.params) || rev.alone() && s.serves(rev)
}

// openStateless fills in a Request of the stateless era. What is wrong is found in a
// fixed order, so that each fault has one answer.
func openStateless(ss *session, in *incoming) (*Request, *Error) {
	s := ss.s
	meta := in.params.member("_meta")
	var version, caps, info, level value
	for name, v := range meta.members() {
		switch string(name.text()) {
		case metaRevision:
			version = v
		case metaCapabilities:
			caps = v
		case metaClient:
			info = v
		case metaLevel:
			level = v
		}
	}
	if refused := s.checkRevision(version, in.a.header); refused != nil {
		return nil, refused
	}
	if in.a.header != nil {
		if refused := checkMirrored(in.a.header, in.method, in.params); refused != nil {
			return nil, refused
		}
	}
	r := &Request{ID: in.id, Method: in.method, Params: in.params.raw(), Identity: in.a.identity, Header: in.a.header,
		Session: &sync.Map{}, server: s, session: ss, in: in, rev: in.rev, Revision: in.rev.String(), level: len(loggingLevels)}
	c, refused := s.introduced.read(caps, info)
	if refused != nil {
		return nil, refused
	}
	r.Capabilities, r.Client = &c.caps, &c.info
	if m := serverMethod(in.method); m.serve == nil || m.era == onlySession {
		return nil, Errorf(CodeMethodNotFound, "method %.100q not found", in.method).WithHTTP(http.StatusNotFound, nil)
	}
	if level.present() {
		if r.level = LoggingLevel(level.str()).rank(); r.level < 0 {
			return nil, badRequest(CodeInvalidParams, "_meta: %s must be one of %q, not %.100s", metaLevel, loggingLevels, level.raw())
		}
	}
	if refused := r.takeMeta(meta, metaRevision, metaCapabilities, metaClient, metaLevel); refused != nil {
		return nil, refused
	}
	if refused := r.checkParamHeaders(); refused != nil {
		return nil, refused
	}
	r.voice = replyVoice{r}
	return r, r.takeAnswers()
}

// read reads an introduction, which was perhaps read before.
func (k *introductions) read(caps, info value) (*introduction, *Error) {
	slot := &k.slots[(maphash.Bytes(k.seed, caps.raw())^maphash.Bytes(k.seed, info.raw()))%uint64(len(k.slots))]
	if c := slot.Load(); c != nil && c.capsText == string(caps.raw()) && c.infoText == string(info.raw()) {
		return c, nil
	}
	if caps.kind() != kindObject {
		return nil, badRequest(CodeInvalidParams, "_meta: %s must be an object", metaCapabilities)
	}
	c := &introduction{capsText: string(caps.raw()), infoText: string(info.raw())} // copies, which outlive the message
	if err := decodeJSON(caps.raw(), &c.caps); err != nil {
		return nil, badRequest(CodeInvalidParams, "_meta: %s: %v", metaCapabilities, err)
	}
	if info.present() {
		if err := decodeJSON(info.raw(), &c.info); err != nil {
			return nil, badRequest(CodeInvalidParams, "_meta: %s: %v", metaClient, err)
		}
	}
	if len(c.capsText)+len(c.infoText) <= maxIntroduction {
		slot.Store(c)
	}
	return c, nil
}

// checkRevision compares the revision of a request with its header, and with what the
// server speaks.
func (s *Server) checkRevision(v value, header http.Header) *Error {
	names := header.Values(headerRevision)
	switch name := v.str(); {
	case header != nil && len(names) == 0:
		return badRequest(CodeHeaderMismatch, "the header MCP-Protocol-Version is missing; this server speaks %s", strings.Join(s.revisions(), ", "))
	case v.kind() != kindString:
		return badRequest(CodeInvalidParams, "_meta: %s must name the revision; this server speaks %s", metaRevision, strings.Join(s.revisions(), ", "))
	case header != nil && (len(names) > 1 || names[0] != name):
		return badRequest(CodeHeaderMismatch, "MCP-Protocol-Version is %.100q, but _meta says %.100q", strings.Join(names, ", "), name)
	case !parseRevision(name).alone() || !s.serves(parseRevision(name)):
		return badRequest(CodeUnsupportedProtocolVersion, "revision %.100q is not served", name).
			withData(map[string]any{"supported": s.revisions(), "requested": name})
	}
	return nil
}

// checkParamHeaders compares the headers of a tool call with its arguments.
func (r *Request) checkParamHeaders() *Error {
	if r.Header == nil || r.Method != methodToolsCall {
		return nil
	}
	t, _ := lookup(r.server, &r.server.tools, r.in.params.member("name").str())
	if t == nil || len(t.mirrors) == 0 || !r.visible("tool", t.def.Name) { // nothing to compare, or no tool for this caller, which is found out later
		return nil
	}
	for i := range t.mirrors {
		if refused := t.mirrors[i].check(r.Header, r.arguments()); refused != nil {
			return refused
		}
	}
	return nil
}

// takeAnswers reads what the client has been asked before. Those methods that cannot
// ask have no use for it.
func (r *Request) takeAnswers() *Error {
	if !mayAsk(r.Method) {
		return nil
	}
	p := r.in.params
	answers, state := p.member("inputResponses"), p.member("requestState")
	r.asker = replayAsker{}
	switch {
	case answers.kind() != kindNone && answers.kind() != kindObject:
		return Errorf(CodeInvalidParams, "inputResponses must be an object, not %.40s", answers.raw())
	case state.present() && state.kind() != kindString:
		return Errorf(CodeInvalidParams, "requestState must be a string, not %.40s", state.raw())
	}
	if answers.present() || state.present() {
		r.round.answers = map[string]json.RawMessage{}
	}
	for name, answer := range answers.members() {
		r.round.answers[name.str()] = answer.raw()
	}
	if state.present() {
		earlier, err := r.server.openState(state.str(), r.stateBinding())
		if err != nil {
			r.server.log.Warn("mcp: requestState refused", "method", r.Method, "error", err)
			return Errorf(CodeInvalidParams, "requestState is not one that this request was given, or has expired")
		}
		for name, answer := range earlier {
			r.round.answers[name] = answer
		}
	}
	return nil
}

// mayAsk reports whether a request may be answered with questions (Multi Round-Trip
// Requests).
func mayAsk(method string) bool {
	return method == methodToolsCall || method == methodPromptsGet || method == methodResourcesRead
}

// A replayAsker answers with what the request carries, and notes what it lacks.
type replayAsker struct{}

func (replayAsker) ask(_ context.Context, r *Request, questions []Question) ([]Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.round.names == nil {
		r.round.used, r.round.names = map[string]json.RawMessage{}, map[string]bool{}
	}
	if len(r.round.names)+len(questions) > maxQuestions {
		return nil, fmt.Errorf("mcp: more than %d questions in one request", maxQuestions)
	}
	answers := make([]Answer, len(questions))
	for i := range questions {
		q := &questions[i]
		q.Name = r.round.nameFor(q.Name)
		raw, ok := r.round.answers[q.Name]
		if !ok {
			r.round.open = append(r.round.open, *q)
			continue
		}
		r.round.used[q.Name] = raw
		var err error
		if answers[i], err = q.read(raw); err != nil {
			return nil, Errorf(CodeInvalidParams, "inputResponses: %q: %v", q.Name, err)
		}
	}
	if len(r.round.open) > 0 {
		return nil, ErrInputRequired
	}
	return answers, nil
}

// closeStateless makes of a result, or an error, what the era has for it.
func closeStateless(r *Request, result any, err error) (any, error) {
	if err == nil && !r.isOpen() {
		return &statelessResult{r, result}, nil
	}
	var e *Error
	if errors.As(err, &e) && e.Code == CodeURLElicitationRequired {
		result, err = r.askVisits(e)
	}
	switch {
	case r.isOpen() && !errors.As(err, new(*Error)): // which decides, whatever was asked before
		return r.inputRequired()
	case err == nil: // a visit that was not agreed to
		return &statelessResult{r, result}, nil
	case !errors.As(err, &e):
		return nil, err
	case e.Code == CodeResourceNotFound:
		c := *e
		c.Code = CodeInvalidParams
		return nil, &c
	case e.Code == CodeMethodNotFound && e.status == 0:
		return nil, e.WithHTTP(http.StatusNotFound, nil)
	}
	return nil, err
}

// askVisits asks for the visits that an error of 2025-11-25 wants first. They are asked
// for again until the error is no more, or the person does not agree to one.
func (r *Request) askVisits(e *Error) (any, error) {
	visits, err := requiredVisits(e)
	if err != nil {
		return nil, err
	}
	questions := make([]Question, len(visits))
	for i, p := range visits {
		questions[i] = Question{Name: fmt.Sprintf("visit-%d", i+1), Elicit: p}
	}
	answers, err := r.Ask(context.Background(), questions...)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, a := range answers {
		if !a.Elicit.Accepted() {
			return r.fails(e.Message)
		}
		delete(r.round.used, questions[i].Name) // the next answer may be another
	}
	r.round.open = questions
	return nil, ErrInputRequired
}

// inputRequired is the result that asks the client (Multi Round-Trip Requests).
func (r *Request) inputRequired() (any, error) {
	state, err := r.server.sealState(r.round.used, r.stateBinding())
	if err != nil {
		return nil, err
	}
	return &inputRequiredResult{r, state}, nil
}

type inputRequiredResult struct {
	r     *Request
	state string
}

func (i *inputRequiredResult) appendTo(b []byte, rev revision) ([]byte, error) {
	b = append(append(b, `{"resultType":"input_required",`...), i.r.server.infoText...)
	b = append(b, `,"inputRequests":`...)
	b, err := appendQuestions(b, i.r.round.open, rev)
	b = appendString(append(b, `,"requestState":`...), i.state)
	return append(b, '}'), err
}

// A statelessResult is a result with what every result of the era has, in place of
// what the result itself says of it.
type statelessResult struct {
	r      *Request
	result any
}

func (c *statelessResult) appendTo(b []byte, rev revision) ([]byte, error) {
	b = append(append(append(b, `{"resultType":"`...), resultType(c.result)...), `",`...)
	b = append(b, c.r.server.infoText...)
	if isPlain(c.result) {
		b = c.r.appendHints(b, c.result)
		start := len(b)
		b, err := appendJSON(b, c.result, rev)
		if err == nil {
			b[start] = ',' // instead of its brace
		}
		return b, err
	}
	text, err := appendJSON(nil, c.result, rev)
	if err != nil {
		return b, err
	}
	ix, err := scan(text)
	if err != nil || ix.root().kind() != kindObject {
		return b, fmt.Errorf("the result is %.40s, not an object", text)
	}
	b = appendOthers(b[:len(b)-1], ix.root().member("_meta"), metaServer)
	b = c.r.appendHints(append(b, '}'), c.result)
	own := []string{"resultType", "_meta", "ttlMs", "cacheScope"}
	if !slices.Contains(cacheable, c.r.Method) {
		own = own[:2] // the others are no hints
	}
	return append(appendOthers(b, ix.root(), own...), '}'), nil
}

// resultType says what a result is.
func resultType(result any) string {
	if _, ok := result.(*CreateTaskResult); ok {
		return "task"
	}
	return "complete"
}

// isPlain reports whether a result is an object with members, and none of those that
// every result has.
func isPlain(result any) bool {
	switch v := result.(type) {
	case *listPage, *DiscoverResult:
		return true
	case *CallToolResult:
		return v != nil && v.Meta == nil && v.Extra == nil
	case *GetPromptResult:
		return v != nil && v.Meta == nil && v.Extra == nil
	case *ReadResourceResult:
		return v != nil && v.Meta == nil && v.Extra == nil && v.CacheableResult == CacheableResult{}
	case *CompleteResult:
		return v != nil && v.Meta == nil && v.Extra == nil
	}
	return false
}

// appendOthers appends the members of an object but for some, each after a comma.
func appendOthers(b []byte, object value, but ...string) []byte {
	for name, v := range object.members() {
		if !slices.Contains(but, name.str()) {
			b = append(append(append(append(b, ','), name.raw()...), ':'), v.raw()...)
		}
	}
	return b
}

// appendHints writes the cache hint of a result.
func (r *Request) appendHints(b []byte, result any) []byte {
	if !slices.Contains(cacheable, r.Method) {
		return b
	}
	hint := r.server.opts.Cache[r.Method]
	ttl, public, scope := hint.TTL.Milliseconds(), hint.Public, "private"
	if v, ok := result.(*ReadResourceResult); ok && v != nil {
		if v.TTL != nil {
			ttl = int64(*v.TTL)
		}
		if v.CacheScope != "" {
			public = v.CacheScope == "public"
		}
	}
	if public {
		scope = "public"
	}
	return fmt.Appendf(b, `,"ttlMs":%d,"cacheScope":"%s"`, max(ttl, 0), scope)
}

func (s *Server) discover(_ context.Context, r *Request, _ any) (any, error) {
	result := &DiscoverResult{SupportedVersions: s.revisions(), Capabilities: r.session.offers()}
	if s.opts.Instructions != "" {
		result.Instructions = &s.opts.Instructions
	}
	return result, nil
}

// stateBinding is what a requestState is good for: this call of this caller. The
// parameters count by their meaning, since a retry may be spelled differently.
func (r *Request) stateBinding() []byte {
	h := sha256.New()
	if i := r.Identity; i != nil {
		fmt.Fprintf(h, "%q %q", i.Issuer, i.Subject)
	}
	fmt.Fprintf(h, "\n%s\n", r.Method)
	members := map[string]value{}
	for name, v := range r.in.params.members() {
		members[name.str()] = v
	}
	for _, name := range sortedKeys(members) {
		if name != "_meta" && name != "inputResponses" && name != "requestState" {
			fmt.Fprintf(h, "%q%s\n", name, appendCanonical(nil, members[name]))
		}
	}
	return h.Sum(nil)
}

// sealedState is what a requestState holds.
type sealedState struct {
	Expires int64                      `json:"exp"` // Unix seconds
	Answers map[string]json.RawMessage `json:"answers"`
}

// sealState makes a requestState, which nobody else can read or change.
func (s *Server) sealState(answers map[string]json.RawMessage, binding []byte) (string, error) {
	text, err := json.Marshal(&sealedState{time.Now().Add(s.opts.StateLife).Unix(), answers})
	if err != nil {
		return "", fmt.Errorf("requestState: %w", err)
	}
	nonce := make([]byte, s.seals[0].NonceSize(), s.seals[0].NonceSize()+len(text)+s.seals[0].Overhead())
	_, _ = rand.Read(nonce) // never fails
	state := base64.RawURLEncoding.EncodeToString(s.seals[0].Seal(nonce, nonce, text, binding))
	if len(state) > maxState {
		return "", fmt.Errorf("the answers of the client make a requestState of %d bytes; the limit is %d", len(state), maxState)
	}
	return state, nil
}

// openState reads a requestState.
func (s *Server) openState(state string, binding []byte) (map[string]json.RawMessage, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(state) > maxState {
		return nil, errors.New("not made here")
	}
	for _, seal := range s.seals {
		if len(data) < seal.NonceSize() {
			break
		}
		text, err := seal.Open(nil, data[:seal.NonceSize()], data[seal.NonceSize():], binding)
		if err != nil {
			continue
		}
		var st sealedState
		if err := json.Unmarshal(text, &st); err != nil {
			return nil, err
		}
		if time.Now().Unix() >= st.Expires {
			return nil, errors.New("expired")
		}
		return st.Answers, nil
	}
	return nil, errors.New("changed, of another call or caller, or of other keys")
}

// A subscription is a request that listens, and what waits for it.
type subscription struct {
	r     *Request
	lists mailBits // of which it hears
	mail  mailbox
	tasks sync.WaitGroup // who follow tasks

	mu   sync.Mutex      // guards uris
	uris map[string]bool // resources that it follows
}

// listen serves subscriptions/listen (2026-07-28; Subscriptions): it runs until the
// client goes, or the server ends. What changes while it is set up is told after the
// acknowledgement.
func (s *Server) listen(ctx context.Context, r *Request, params any) (any, error) {
	f := params.(*SubscriptionsListenParams).Notifications
	if n := len(f.ResourceSubscriptions) + len(f.TaskIDs); n > maxSubscriptions {
		return nil, Errorf(CodeInvalidParams, "%d resourceSubscriptions and taskIds: the limit is %d", n, maxSubscriptions)
	}
	if len(f.TaskIDs) > 0 && !r.declaresTasks() {
		return nil, MissingCapability(needsTasks)
	}
	sub := &subscription{r: r, uris: map[string]bool{}}
	sub.mail.wake, sub.mail.log = make(chan struct{}, 1), s.log
	sub.mail.begin()
	granted := sub.grantLists(f)
	s.hear(sub)
	defer sub.end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	granted.ResourceSubscriptions, granted.TaskIDs = sub.follow(ctx, f.ResourceSubscriptions), sub.knownTasks(ctx, f.TaskIDs)
	if err := sub.say(ctx, noteAcknowledged, &SubscriptionsListenParams{Notifications: granted}); err != nil {
		return nil, err
	}
	say := func(item mailItem) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return sub.say(ctx, item.method, item.params)
	}
	for _, id := range granted.TaskIDs {
		sub.tasks.Go(func() { sub.followTask(ctx, id) }) // ends with ctx
	}
	for {
		select {
		case <-sub.mail.wake:
			if err := sub.mail.deliver(ctx.Done(), sub.follows, say); err != nil && ctx.Err() == nil {
				return nil, err
			}
		case <-ctx.Done():
			return sub.over(ctx)
		case <-r.in.p.done:
			return sub.over(ctx)
		}
	}
}

// grantLists settles which changes of lists are told.
func (sub *subscription) grantLists(f *SubscriptionFilter) *SubscriptionFilter {
	c := sub.r.session.offers()
	granted := &SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && c.Tools != nil,
		PromptsListChanged:   f.PromptsListChanged && c.Prompts != nil,
		ResourcesListChanged: f.ResourcesListChanged && c.Resources != nil,
	}
	if granted.ToolsListChanged {
		sub.lists |= toolsBit
	}
	if granted.PromptsListChanged {
		sub.lists |= promptsBit
	}
	if granted.ResourcesListChanged {
		sub.lists |= resourcesBit
	}
	return granted
}

// follow begins to follow resources, as far as the application agrees, which may tell
// of an update before it returns.
func (sub *subscription) follow(ctx context.Context, uris []string) (granted []string) {
	s := sub.r.server
	if !offersUpdates(sub.r.session.offers()) {
		return nil
	}
	asked := map[string]bool{}
	for _, uri := range uris {
		if len(uri) > maxKept || asked[uri] {
			continue
		}
		asked[uri] = true
		if h, _ := s.findResource(sub.r, uri); h == nil {
			continue
		}
		sub.setFollowed(uri, true)
		if err := s.opts.Subscribe(ctx, sub.r, uri); err != nil {
			s.log.Debug("mcp: subscription not granted", "uri", uri, "error", err)
			sub.setFollowed(uri, false)
			continue
		}
		granted = append(granted, uri)
	}
	return granted
}

// knownTasks are those of some tasks that the caller may know of, each once.
func (sub *subscription) knownTasks(ctx context.Context, ids []string) (known []string) {
	asked := map[string]bool{}
	for _, id := range ids {
		if asked[id] {
			continue
		}
		asked[id] = true
		if _, err := sub.r.server.taskStore().Wait(ctx, sub.r.owner(), id, -1); err == nil {
			known = append(known, id)
		}
	}
	return known
}

func (sub *subscription) setFollowed(uri string, on bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if on {
		sub.uris[uri] = true
	} else {
		delete(sub.uris, uri)
	}
}

func (sub *subscription) follows(uri string) string {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return follows(sub.uris, uri)
}

// say sends a notification with the id of the subscription.
func (sub *subscription) say(ctx context.Context, method string, params any) error {
	return sub.r.say(ctx, method, &subscribed{sub.r.ID, params})
}

// subscribed are the parameters of a notification on a subscription.
type subscribed struct {
	id     ID
	params any // nil: none
}

func (p *subscribed) appendTo(b []byte, rev revision) ([]byte, error) {
	return appendParams(b, p.params, nil, Meta{metaSubscription: p.id}, rev)
}

func (sub *subscription) changed(lists mailBits) {
	if lists &= sub.lists; lists != 0 {
		sub.mail.changed(lists)
	}
}

func (sub *subscription) updated(uri string) {
	if followed := sub.follows(uri); followed != "" {
		sub.mail.updated(uri, followed)
	}
}

// over is the result that ends a subscription from this side. Where there is no
// exchange to end, the client is told in both of the ways that the texts have, unless
// it has ended the subscription itself.
func (sub *subscription) over(ctx context.Context) (any, error) {
	if sub.r.Header == nil && sub.r.in.gone() == nil {
		_ = sub.say(ctx, noteCancelled, &cancelledParams{sub.r.ID, "the server ends the subscription"})
	}
	return &EmptyResult{Meta: Meta{metaSubscription: sub.r.ID}}, nil
}

// followTask tells a subscription of a task's present state, and of each change.
func (sub *subscription) followTask(ctx context.Context, id string) {
	for after := int64(-1); ; {
		rec, err := sub.r.server.taskStore().Wait(ctx, sub.r.owner(), id, after)
		if err != nil {
			return
		}
		after = rec.Version
		sub.mail.post(mailItem{noteTask, detailedTask{rec, sub.r.Capabilities}})
		if rec.Status.Over() {
			return
		}
	}
}

func (sub *subscription) end() {
	sub.tasks.Wait()
	s := sub.r.server
	s.unhear(sub)
	if f := s.opts.Unsubscribed; f != nil {
		for _, uri := range sortedKeys(sub.uris) {
			f(uri)
		}
	}
}

type cancelledParams struct {
	RequestID ID     `json:"requestId"`
	Reason    string `json:"reason"`
}

// What the client does, from here on.

const (
	probeTimeout = 5 * time.Second        // for the answer to the first request, where silence is one
	listenWait   = 500 * time.Millisecond // for a subscription at the beginning of a session
)

// statelessEra makes calls that stand alone.
type statelessEra struct{}

// open asks the server what it is (Discovery).
func (statelessEra) open(ctx context.Context, cs *ClientSession, revs []revision) (old bool, err error) {
	c := cs.conn
	for offer, tried := revs[0], map[revision]int{}; ; {
		if err := c.introduce(offer); err != nil {
			return false, err
		}
		o := cs.statelessOptions(offer, &clientCall{method: methodDiscover})
		o.opens = true
		if c.link.place() == "" {
			o.idle = probeTimeout
		}
		v, err := c.p.call(ctx, c.link, methodDiscover, nil, o)
		tried[offer]++
		var speaks []string
		switch {
		case err == nil:
			if speaks, err = c.meet(v, offer); err == nil {
				cs.listenAtFirst(ctx)
				return false, nil
			}
			if speaks == nil { // without the member it is not what was asked for, whatever it is
				return !v.member("supportedVersions").present(), err
			}
		case errors.Is(err, &Error{Code: CodeUnsupportedProtocolVersion}):
			speaks = supportedBy(err)
		default:
			return c.seemsOld(err), err
		}
		next := slices.IndexFunc(revs, func(r revision) bool { return r.alone() && slices.Contains(speaks, r.String()) && tried[r] < 2 })
		if next < 0 {
			old := slices.ContainsFunc(c.revs, func(r revision) bool { return slices.Contains(speaks, r.String()) })
			return old, fmt.Errorf("mcp: the server speaks revisions %q, this client %v: %w", speaks, revs, err)
		}
		offer = revs[next]
	}
}

// introduce settles what each request says of the client, in the words of a revision.
func (c *clientConn) introduce(rev revision) error {
	info, err := appendJSON(nil, &c.c.info, rev)
	if err != nil {
		return fmt.Errorf("mcp: client's Implementation: %w", err)
	}
	caps, err := appendJSON(nil, c.c.capabilities(), rev)
	c.says = fmt.Appendf(nil, "%q:%s,", metaCapabilities, caps)
	if !c.c.opts.Anonymous {
		c.says = fmt.Appendf(c.says, "%q:%s,", metaClient, info)
	}
	c.says = fmt.Appendf(c.says, "%q:%q", metaRevision, rev)
	return err
}

// supportedBy are the revisions that an error names as supported.
func supportedBy(err error) []string {
	var e *Error
	var data struct {
		Supported []string `json:"supported"`
	}
	if errors.As(err, &e) && len(e.Data) > 0 {
		_ = decodeJSON(e.Data, &data) // what cannot be read names none
	}
	return data.Supported
}

// seemsOld judges the failure of the first request. What is no answer at all says
// nothing, but on a pipe silence and the end of the server do.
func (c *clientConn) seemsOld(err error) bool {
	var e *Error
	var h *HTTPError
	switch {
	case errors.As(err, &e):
		return !isModern(err)
	case errors.As(err, &h):
		return tellsEra(h.Status)
	case c.link.place() == "":
		return errors.As(err, new(*TimeoutError)) || c.p.over() != nil
	}
	return false
}

// meet takes the answer to server/discover. Without an error the revision is settled;
// with one, speaks is what the server speaks instead.
func (c *clientConn) meet(v value, offer revision) (speaks []string, err error) {
	result := &DiscoverResult{}
	if err := cmp.Or(checkComplete(v), decode(v, result)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalidResponse, methodDiscover, err)
	}
	if !slices.Contains(result.SupportedVersions, offer.String()) {
		return result.SupportedVersions, fmt.Errorf("%w: %s names %q", ErrInvalidResponse, methodDiscover, result.SupportedVersions)
	}
	info := &Implementation{}
	at := v.member("_meta").member(metaServer)
	if !at.present() {
		at = v.member("serverInfo")
	}
	if decode(at, info) != nil {
		info = &Implementation{} // it is for display only
	}
	c.opened.Store(&greeting{offer, &InitializeResult{ProtocolVersion: offer.String(), Capabilities: result.Capabilities,
		ServerInfo: info, Instructions: result.Instructions}})
	c.link.settled(offer)
	return nil, nil
}

// statelessOptions are those of a call that says itself what the server has to know.
func (cs *ClientSession) statelessOptions(rev revision, c *clientCall) callOptions {
	o := cs.callOptions()
	o.rev, o.says = rev, cs.conn.says
	cs.conn.mu.Lock()
	level := cs.conn.level
	cs.conn.mu.Unlock()
	if len(o.meta) > 0 || level != "" || o.progress != nil {
		o.meta = make(Meta, len(cs.opts.Meta)+2) // a level and a progress token may come
		maps.Copy(o.meta, cs.opts.Meta)
		delete(o.meta, metaRevision) // which the client itself says
		delete(o.meta, metaCapabilities)
		if !cs.conn.c.opts.Anonymous {
			delete(o.meta, metaClient)
		}
		if level != "" {
			o.meta[metaLevel] = level
		}
	}
	if cs.conn.link.place() == "" {
		return o
	}
	given := o.header
	o.header = http.Header{}
	for name, values := range given {
		o.header[http.CanonicalHeaderKey(name)] = values
	}
	o.header[headerRevision] = []string{rev.String()}
	o.header[headerMethod] = []string{c.method}
	return o
}

func (statelessEra) prepare(cs *ClientSession, c *clientCall) (callOptions, error) {
	o := cs.statelessOptions(cs.conn.rev(), c)
	if o.header == nil {
		return o, nil
	}
	params := c.params
	if c.round != nil {
		params = c.round.params
	}
	if name, ok := nameIn(params); ok {
		o.header[headerName] = []string{encodeHeader(name)}
	}
	p, ok := params.(*CallToolParams)
	if !ok {
		return o, nil
	}
	cs.conn.mu.Lock()
	mirrors := cs.conn.mirrors[p.Name]
	cs.conn.mu.Unlock()
	if len(mirrors) == 0 || len(p.Arguments) == 0 {
		return o, nil
	}
	args, err := scan(p.Arguments)
	if err == nil {
		err = setMirrors(o.header, mirrors, args.root())
	}
	if err != nil {
		return o, fmt.Errorf("mcp: arguments of tool %q: %w", p.Name, err)
	}
	return o, nil
}

// nameIn is nameOf's member of parameters that are not encoded yet; not ok: they have
// none.
func nameIn(params any) (name string, ok bool) {
	switch p := params.(type) {
	case *CallToolParams:
		return p.Name, true
	case *GetPromptParams:
		return p.Name, true
	case *ReadResourceParams:
		return p.URI, true
	case *TaskParams:
		return p.TaskID, true
	case *UpdateTaskParams:
		return p.TaskID, true
	}
	return "", false
}

// ping asks for something that is always there: the revision has no ping.
func (statelessEra) ping(ctx context.Context, cs *ClientSession) error {
	return cs.call(ctx, &clientCall{method: methodDiscover}, &DiscoverResult{})
}

// setLevel only takes note: each request says the level.
func (statelessEra) setLevel(_ context.Context, cs *ClientSession, level LoggingLevel) error {
	if !cs.opts.Force && !offersLogging(cs.ServerCapabilities()) {
		return fmt.Errorf("%w logging", ErrNotOffered)
	}
	cs.conn.remember(func(c *clientConn) { c.level = level })
	return nil
}

// listed notes what the arguments of listed tools put into headers, and leaves out
// tools that break the rules for that.
func (statelessEra) listed(c *clientConn, tools []*Tool) []*Tool {
	if c.link.place() == "" {
		return tools
	}
	kept := make([]*Tool, 0, len(tools))
	for _, t := range tools {
		mirrors, err := mirrorsOf(t.InputSchema)
		if err != nil {
			c.c.log.Warn("mcp: tool left out of the list", "tool", t.Name, "reason", err)
			continue
		}
		kept = append(kept, t)
		c.remember(func(c *clientConn) {
			if c.mirrors[t.Name] = mirrors; mirrors == nil {
				delete(c.mirrors, t.Name)
			}
		})
	}
	return kept
}

func (a *clientRound) appendTo(b []byte, rev revision) ([]byte, error) {
	start := len(b)
	b, err := appendJSON(b, a.params, rev)
	if err != nil || b[len(b)-1] != '}' {
		return b, err
	}
	b = b[:len(b)-1]
	add := func(name string) {
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
	}
	if a.answers != nil {
		add("inputResponses")
		b = append(b, '{')
		for i, name := range sortedKeys(a.answers) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(appendString(b, name), ':'), a.answers[name]...)
		}
		b = append(b, '}')
	}
	if a.state != nil {
		add("requestState")
		b = append(b, a.state...)
	}
	return append(b, '}'), nil
}

func (statelessEra) settle(ctx context.Context, cs *ClientSession, c *clientCall, v value, err error) (bool, error) {
	if c.round == nil {
		c.round = &clientRound{params: c.params}
	}
	if err != nil {
		return cs.again(ctx, c, err)
	}
	switch kind := v.member("resultType"); {
	case kind.is("task") && c.method == methodToolsCall && !cs.conn.c.opts.NoTasks:
		c.created = v
		return false, nil
	case kind.is("input_required") && mayAsk(c.method):
		err = cs.answerRound(ctx, c, v)
		return err == nil, err
	}
	if err = checkComplete(v); err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrInvalidResponse, c.method, err)
	}
	return false, err
}

// checkComplete says why a result is not a final one. Without a type it is.
func checkComplete(v value) error {
	if kind := v.member("resultType"); kind.present() && !kind.is("complete") {
		return fmt.Errorf("resultType is %.40s", kind.raw())
	}
	return nil
}

// again tells whether a call that failed has a better chance now.
func (cs *ClientSession) again(ctx context.Context, c *clientCall, err error) (bool, error) {
	switch {
	case errors.Is(err, &Error{Code: CodeUnsupportedProtocolVersion}) && !c.round.again:
		c.round.again = true
		return slices.Contains(supportedBy(err), cs.conn.rev().String()), err
	case errors.Is(err, &Error{Code: CodeHeaderMismatch}) && c.method == methodToolsCall && cs.conn.link.place() != "" && !c.round.listed:
		c.round.listed = true
		opts := cs.opts
		opts.Progress = nil                                // which is the call's
		for _, listErr := range cs.With(opts).Tools(ctx) { // which tells what belongs into headers
			if listErr != nil {
				return false, err
			}
		}
		return true, err
	}
	return false, err
}

// answerRound gives the server what it wants, so that the call can be made again
// (Multi Round-Trip Requests).
func (cs *ClientSession) answerRound(ctx context.Context, c *clientCall, v value) error {
	a := c.round
	questions, state := v.member("inputRequests"), v.member("requestState")
	limit := cs.conn.c.opts.MaxRounds
	if limit <= 0 {
		limit = maxRounds
	}
	switch a.rounds++; {
	case a.rounds > limit:
		return fmt.Errorf("mcp: %s: the server wants something more after %d rounds; ClientOptions.MaxRounds allows more", c.method, limit)
	case questions.present() && questions.kind() != kindObject, state.present() && state.kind() != kindString:
		return fmt.Errorf("%w: %s: input_required with inputRequests that are no object, or a requestState that is no string", ErrInvalidResponse, c.method)
	case !questions.present() && !state.present():
		return fmt.Errorf("%w: %s: input_required without inputRequests or requestState", ErrInvalidResponse, c.method)
	}
	c.params, a.state, a.answers = a, nil, nil
	if state.present() {
		a.state = state.raw()
	}
	for name, q := range questions.members() { // before anybody is asked in vain
		if err := cs.checkQuestion(q); err != nil {
			return fmt.Errorf("mcp: %s: the server asks for %.100q: %w", c.method, name.str(), err)
		}
	}
	if questions.present() {
		a.answers = map[string]json.RawMessage{}
	}
	for name, q := range questions.members() {
		answer, err := a.answer(ctx, cs, name.str(), q)
		if err != nil {
			return fmt.Errorf("mcp: %s: the server asks for %.100q: %w", c.method, name.str(), err)
		}
		a.answers[name.str()] = answer
	}
	if len(a.answers) == 0 {
		return a.pause(ctx, cs)
	}
	return nil
}

// listenAtFirst subscribes to the changes that the application has functions for. A
// server that does not answer soon does not hold up the session.
func (cs *ClientSession) listenAtFirst(ctx context.Context) {
	o, caps := &cs.conn.c.opts, cs.ServerCapabilities()
	want := SubscriptionFilter{
		ToolsListChanged:     o.ToolsChanged != nil && caps.Tools != nil && caps.Tools.ListChanged,
		PromptsListChanged:   o.PromptsChanged != nil && caps.Prompts != nil && caps.Prompts.ListChanged,
		ResourcesListChanged: o.ResourcesChanged != nil && caps.Resources != nil && caps.Resources.ListChanged,
	}
	if !cs.conn.link.listens() || want.empty() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, listenWait)
	defer cancel()
	h := cs.conn.listen(want)
	select {
	case <-h.acked:
	case <-h.ended:
	case <-ctx.Done():
	}
}

// follow begins or ends to follow a resource: with another subscription in place of
// the one before, which ends when the new one is there.
func (statelessEra) follow(ctx context.Context, cs *ClientSession, uri string, on bool) error {
	c := cs.conn
	if !cs.opts.Force && !offersUpdates(cs.ServerCapabilities()) {
		return fmt.Errorf("%w %s", ErrNotOffered, methodSubscribe)
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return causeOf(ctx)
	}
	c.mu.Lock()
	before := c.hears
	c.mu.Unlock()
	want, heard := SubscriptionFilter{}, false
	if before != nil {
		want, heard = before.want, !before.over()
	}
	if slices.Contains(want.ResourceSubscriptions, uri) == on && (heard || !on) {
		return nil
	}
	want.ResourceSubscriptions = slices.DeleteFunc(slices.Clone(want.ResourceSubscriptions), func(u string) bool { return u == uri })
	if on {
		want.ResourceSubscriptions = append(want.ResourceSubscriptions, uri)
	}
	if want.empty() {
		c.remember(func(c *clientConn) { c.hears = nil })
	} else {
		h := c.listen(want)
		if err := cs.awaitGrant(ctx, h, uri, on); err != nil {
			h.stop(err)
			c.remember(func(c *clientConn) { c.hears = before })
			if errors.Is(err, ErrNotOffered) {
				return err
			}
			return fmt.Errorf("mcp: %s: %w", methodListen, err)
		}
	}
	if before != nil {
		before.stop(errListensElsewhere)
	}
	return nil
}

var errListensElsewhere = errors.New("another subscription takes its place")

// over reports whether it was given up.
func (h *listening) over() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

// awaitGrant waits until the server has said what it tells of, as long as a call may
// take.
func (cs *ClientSession) awaitGrant(ctx context.Context, h *listening, uri string, on bool) error {
	o := cs.callOptions()
	w := watchOf(methodListen, &o)
	t := time.NewTimer(w.left())
	defer t.Stop()
	select {
	case <-h.acked:
	case <-h.ended:
		return cmp.Or(h.err, errors.New("the server ends the subscription at once"))
	case <-t.C:
		return w.expired()
	case <-ctx.Done():
		return causeOf(ctx)
	}
	if granted := cs.Subscribed(); on && (granted == nil || !slices.Contains(granted.ResourceSubscriptions, uri)) {
		return fmt.Errorf("%w updates of resource %.100q", ErrNotOffered, uri)
	}
	return nil
}

// listen opens a subscription, which goes on until it is stopped.
func (c *clientConn) listen(want SubscriptionFilter) *listening {
	h := &listening{want: want, acked: make(chan struct{}), ended: make(chan struct{})}
	ctx, stop := context.WithCancelCause(context.WithValue(c.life, inNotification{}, c.p)) // nothing is to wait for it
	h.stop = stop
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hears = h
	if c.life.Err() != nil {
		h.err = ErrClosed
		close(h.ended)
		return h
	}
	c.workers.Go(func() { h.keep(ctx, c) }) // ends with stop, or the session
	return h
}

// keep listens, and comes back where the subscription is lost.
func (h *listening) keep(ctx context.Context, c *clientConn) {
	defer h.stop(nil)
	defer close(h.ended)
	defer c.remember(func(*clientConn) { h.granted = nil })
	for fails := 0; fails < maxListenFails; fails++ {
		start := time.Now()
		h.err = h.once(ctx, c)
		refused := errors.As(h.err, new(*Error)) || errors.Is(h.err, ErrUnauthorized)
		if ctx.Err() != nil || c.p.over() != nil {
			return
		}
		if time.Since(start) > backoffMax {
			fails = 0
		}
		c.c.log.Debug("mcp: a subscription ended", "error", h.err)
		if refused || !pause(ctx, -1, fails) {
			break
		}
	}
	if ctx.Err() == nil {
		c.c.log.Warn("mcp: the server does not tell of changes any more", "error", h.err)
	}
}

// once makes the request that listens. It returns when that is over; nil: the server
// has ended it.
func (h *listening) once(ctx context.Context, c *clientConn) error {
	cs := c.session()
	o := cs.statelessOptions(c.rev(), &clientCall{method: methodListen})
	o.idle, o.max = -1, -1
	var key string
	o.started = func(id ID) {
		key = id.key()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listens[key] = h
	}
	_, err := c.p.call(ctx, c.link, methodListen, &SubscriptionsListenParams{Notifications: &h.want}, o)
	c.mu.Lock()
	delete(c.listens, key)
	c.mu.Unlock()
	return err
}

// subscriptionOf is the subscription that a notification belongs to; tagged reports
// whether it says that it belongs to one.
func (c *clientConn) subscriptionOf(in *incoming) (h *listening, tagged bool) {
	v := in.params.member("_meta").member(metaSubscription)
	id, _ := parseID(v)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listens[id.key()], v.present()
}

// arrived notes what a subscription grants, so that who waits for it is not held up
// by notifications before it.
func (statelessEra) arrived(c *clientConn, in *incoming) {
	h, _ := c.subscriptionOf(in)
	if in.method != noteAcknowledged || h == nil {
		return
	}
	var p SubscriptionsListenParams
	if err := decode(in.params, &p); err != nil {
		c.c.log.Warn("mcp: acknowledgement ignored", "error", err)
		return
	}
	c.remember(func(*clientConn) {
		h.granted = p.Notifications
		if h.acks++; h.acks == 1 {
			close(h.acked)
		}
	})
	if missing := h.want.without(p.Notifications); !missing.empty() {
		c.c.log.Warn("mcp: the server does not tell of all that it was asked for", "missing", missing)
	}
}

// heard reports whether a notification is for the application: what belongs to a
// subscription that is no more is not.
func (statelessEra) heard(ctx context.Context, c *clientConn, in *incoming) bool {
	h, tagged := c.subscriptionOf(in)
	if in.method != noteAcknowledged {
		return h != nil || !tagged
	}
	if h != nil {
		c.missed(ctx, h)
	}
	return false
}

// missed tells the application what may have changed while nothing was heard, if that
// was so.
func (c *clientConn) missed(ctx context.Context, h *listening) {
	c.mu.Lock()
	f, again := h.granted, h.acks > 1
	if again {
		clear(c.schemas)
	}
	c.mu.Unlock()
	if f == nil || !again {
		return
	}
	o, cs := &c.c.opts, c.session()
	for _, l := range []struct {
		granted bool
		tell    func(context.Context, *ClientSession)
	}{{f.ToolsListChanged, o.ToolsChanged}, {f.PromptsListChanged, o.PromptsChanged}, {f.ResourcesListChanged, o.ResourcesChanged}} {
		if l.granted && l.tell != nil {
			l.tell(ctx, cs)
		}
	}
	for _, uri := range h.want.ResourceSubscriptions {
		if o.ResourceUpdated != nil && slices.Contains(f.ResourceSubscriptions, uri) {
			o.ResourceUpdated(ctx, cs, &ResourceUpdatedParams{URI: uri})
		}
	}
}

// without is what of f another filter lacks.
func (f *SubscriptionFilter) without(other *SubscriptionFilter) *SubscriptionFilter {
	has := func(uri string) bool { return slices.Contains(other.ResourceSubscriptions, uri) }
	return &SubscriptionFilter{
		ToolsListChanged:      f.ToolsListChanged && !other.ToolsListChanged,
		PromptsListChanged:    f.PromptsListChanged && !other.PromptsListChanged,
		ResourcesListChanged:  f.ResourcesListChanged && !other.ResourcesListChanged,
		ResourceSubscriptions: slices.DeleteFunc(slices.Clone(f.ResourceSubscriptions), has),
	}
}

func (f *SubscriptionFilter) empty() bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0
}
