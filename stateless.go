package mcp

// The stateless era, 2026-07-28: each request says itself what a server has to know
// (Base Protocol, Statelessness), and whatever a server wants of the client is in a
// result, which the client answers with another request (Multi Round-Trip Requests).
// Here are the two edges of that era, on both sides; the handlers between them are
// those of the session era.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxState  = 256 << 10        // bytes of a requestState
	stateLife = 30 * time.Minute // of a requestState, if the options do not say

)

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
	refuse := func(code int, format string, args ...any) *Error {
		return Errorf(code, format, args...).WithHTTP(http.StatusBadRequest, nil)
	}
	in.rev = newest
	meta := in.params.member("_meta")
	if refused := s.checkRevision(meta.member(metaRevision), in.a.header); refused != nil {
		return nil, refused
	}
	if in.a.header != nil {
		if refused := checkMirrored(in.a.header, in.method, in.params); refused != nil {
			return nil, refused
		}
	}
	r := &Request{ID: in.id, Method: in.method, Params: in.params.raw(), Identity: in.a.identity, Header: in.a.header,
		Session: &sync.Map{}, server: s, session: ss, in: in, rev: in.rev, Revision: in.rev.String(),
		Client: &Implementation{}, Capabilities: &ClientCapabilities{}, level: len(loggingLevels)}
	if v := meta.member(metaCapabilities); v.kind() != kindObject {
		return nil, refuse(CodeInvalidParams, "_meta: %s must be an object", metaCapabilities)
	} else if err := decode(v, r.Capabilities); err != nil {
		return nil, refuse(CodeInvalidParams, "_meta: %s: %v", metaCapabilities, err)
	}
	if v := meta.member(metaClient); v.present() {
		if err := decode(v, r.Client); err != nil {
			return nil, refuse(CodeInvalidParams, "_meta: %s: %v", metaClient, err)
		}
	}
	if m := serverMethod(in.method); m.serve == nil || m.era == onlySession {
		return nil, Errorf(CodeMethodNotFound, "method %.100q not found", in.method).WithHTTP(http.StatusNotFound, nil)
	}
	if v := meta.member(metaLevel); v.present() {
		if r.level = LoggingLevel(v.str()).rank(); r.level < 0 {
			return nil, refuse(CodeInvalidParams, "_meta: %s must be one of %q, not %.100s", metaLevel, loggingLevels, v.raw())
		}
	}
	if refused := r.takeMeta(meta); refused != nil {
		return nil, refused
	}
	if refused := r.checkParamHeaders(); refused != nil {
		return nil, refused
	}
	r.voice = replyVoice{r}
	return r, r.takeAnswers()
}

// checkRevision compares the revision of a request with its header, and with what the
// server speaks.
func (s *Server) checkRevision(v value, header http.Header) *Error {
	refuse := func(code int, format string, args ...any) *Error {
		return Errorf(code, format, args...).WithHTTP(http.StatusBadRequest, nil)
	}
	speaks := s.revisions()
	names := header.Values(headerRevision)
	switch name := v.str(); {
	case header != nil && len(names) == 0:
		return refuse(CodeHeaderMismatch, "the header MCP-Protocol-Version is missing; this server speaks %s", strings.Join(speaks, ", "))
	case v.kind() != kindString:
		return refuse(CodeInvalidParams, "_meta: %s must name the revision; this server speaks %s", metaRevision, strings.Join(speaks, ", "))
	case header != nil && (len(names) > 1 || names[0] != name):
		return refuse(CodeHeaderMismatch, "MCP-Protocol-Version is %.100q, but _meta says %.100q", strings.Join(names, ", "), name)
	case !parseRevision(name).alone() || !slices.Contains(speaks, name):
		return refuse(CodeUnsupportedProtocolVersion, "revision %.100q is not served", name).
			withData(map[string]any{"supported": speaks, "requested": name})
	}
	return nil
}

// checkParamHeaders compares the headers of a tool call with its arguments.
func (r *Request) checkParamHeaders() *Error {
	if r.Header == nil || r.Method != methodToolsCall {
		return nil
	}
	t, ok := find(r, &r.server.tools, "tool", r.in.params.member("name").str())
	if !ok {
		return nil // which is found out later
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
	if r.Method != methodToolsCall && r.Method != methodPromptsGet && r.Method != methodResourcesRead {
		return nil
	}
	p := r.in.params
	answers, state := p.member("inputResponses"), p.member("requestState")
	r.asker = replayAsker{}
	r.round.answers, r.round.used = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	switch {
	case answers.kind() != kindNone && answers.kind() != kindObject:
		return Errorf(CodeInvalidParams, "inputResponses must be an object, not %.40s", answers.raw())
	case state.present() && state.kind() != kindString:
		return Errorf(CodeInvalidParams, "requestState must be a string, not %.40s", state.raw())
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

// A replayAsker answers with what the request carries, and notes what it lacks.
type replayAsker struct{}

func (replayAsker) ask(_ context.Context, r *Request, questions []Question) ([]Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := make([]Answer, len(questions))
	for i := range questions {
		q := &questions[i]
		raw, ok := r.round.answers[q.Name]
		if !ok {
			r.round.open = append(r.round.open, *q)
			continue
		}
		r.round.used[q.Name] = raw
		ix, err := scan(raw)
		if err == nil {
			answers[i], err = q.answer(ix.root())
		}
		if err != nil {
			return nil, Errorf(CodeInvalidParams, "inputResponses: %q: %v", q.Name, err)
		}
	}
	if len(r.round.open) > 0 {
		return nil, errInputRequired
	}
	return answers, nil
}

// isOpen reports whether a question has no answer.
func (r *Request) isOpen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.round.open) > 0
}

// closeStateless makes of a result, or an error, what the era has for it.
func closeStateless(r *Request, result any, err error) (any, error) {
	var e *Error
	if errors.As(err, &e) && e.Code == CodeURLElicitationRequired {
		if err = r.askVisits(e); err == errInputRequired {
			err = nil
		}
	}
	switch {
	case r.isOpen() && !r.isRefusal(err):
		return r.inputRequired()
	case err == nil:
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

// isRefusal reports whether an error of the protocol decided the request, whatever
// was asked before.
func (r *Request) isRefusal(err error) bool { return errors.As(err, new(*Error)) }

// askVisits asks for the visits that an error of 2025-11-25 wants first.
func (r *Request) askVisits(e *Error) error {
	visits, err := requiredVisits(e)
	if err != nil {
		return err
	}
	questions := make([]Question, len(visits))
	for i, p := range visits {
		questions[i] = Question{Name: fmt.Sprintf("visit-%d", i+1), Elicit: p}
	}
	if _, err = r.Ask(context.Background(), questions...); err == nil {
		r.mu.Lock()
		r.round.open = questions // the person was there, but it is not done
		r.mu.Unlock()
	}
	return nil
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

// appendQuestions writes questions as an object: what is asked by name.
func appendQuestions(b []byte, questions []Question, rev revision) (_ []byte, err error) {
	b = append(b, '{')
	for i := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		method, params := questions[i].method()
		b = appendString(append(appendString(b, questions[i].Name), `:{"method":`...), method)
		if b, err = appendJSON(append(b, `,"params":`...), params, rev); err != nil {
			return b, err
		}
		b = append(b, '}')
	}
	return append(b, '}'), nil
}

// A statelessResult is a result with what every result of the era has.
type statelessResult struct {
	r      *Request
	result any
}

func (c *statelessResult) appendTo(b []byte, rev revision) ([]byte, error) {
	b = append(append(b, `{"resultType":"complete",`...), c.r.server.infoText...)
	result, meta := splitMeta(c.result)
	if len(meta) > 0 {
		var err error
		b[len(b)-1] = ','
		start := len(b)
		if b, err = appendJSON(b, meta, rev); err != nil {
			return b, err
		}
		b = append(b[:start], b[start+1:]...) // its brace
	}
	b = c.r.appendHints(b, c.result)
	start := len(b)
	b, err := appendJSON(b, result, rev)
	if err != nil || b[start] != '{' {
		return b, err
	}
	if string(b[start:]) == "{}" {
		return append(b[:start], '}'), nil
	}
	b[start] = ','
	return b, nil
}

// splitMeta takes the _meta out of a result.
func splitMeta(result any) (any, Meta) {
	switch v := result.(type) {
	case *CallToolResult:
		if len(v.Meta) > 0 {
			c := *v
			c.Meta = nil
			return &c, v.Meta
		}
	case *GetPromptResult:
		if len(v.Meta) > 0 {
			c := *v
			c.Meta = nil
			return &c, v.Meta
		}
	case *CompleteResult:
		if len(v.Meta) > 0 {
			c := *v
			c.Meta = nil
			return &c, v.Meta
		}
	case *EmptyResult:
		return &Empty{}, v.Meta
	case *ReadResourceResult:
		c := *v
		c.Meta, c.CacheableResult = nil, CacheableResult{}
		return &c, v.Meta
	}
	return result, nil
}

// appendHints writes the cache hint of a result.
func (r *Request) appendHints(b []byte, result any) []byte {
	if !slices.Contains(cacheable, r.Method) {
		return b
	}
	hint := r.server.opts.Cache[r.Method]
	ttl, scope := hint.TTL.Milliseconds(), "private"
	if hint.Public {
		scope = "public"
	}
	if v, ok := result.(*ReadResourceResult); ok {
		if v.TTL != nil {
			ttl = int64(*v.TTL)
		}
		if v.CacheScope != "" {
			scope = v.CacheScope
		}
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
	r    *Request
	id   ID
	want SubscriptionFilter // what is granted
	uris map[string]bool
	mail mailbox
}

// listen serves subscriptions/listen (2026-07-28; Subscriptions): it runs until the
// client goes, or the server ends.
func (s *Server) listen(ctx context.Context, r *Request, params any) (any, error) {
	p := params.(*SubscriptionsListenParams)
	sub := &subscription{r: r, id: r.ID, uris: map[string]bool{}}
	sub.mail.wake, sub.mail.log = make(chan struct{}, 1), s.log
	if refused := sub.grant(ctx, p.Notifications); refused != nil {
		return nil, refused
	}
	sub.mail.begin()
	s.hear(sub)
	defer sub.end()
	if err := sub.say(ctx, noteAcknowledged, &SubscriptionsListenParams{Notifications: &sub.want}); err != nil {
		return nil, err
	}
	for {
		select {
		case <-sub.mail.wake:
			if err := sub.deliver(ctx); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return sub.over(ctx)
		case <-r.in.p.done:
			return sub.over(ctx)
		}
	}
}

// grant settles what of a filter is honoured.
func (sub *subscription) grant(ctx context.Context, f *SubscriptionFilter) *Error {
	s, c := sub.r.server, sub.r.session.offers()
	sub.want = SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && c.Tools != nil,
		PromptsListChanged:   f.PromptsListChanged && c.Prompts != nil,
		ResourcesListChanged: f.ResourcesListChanged && c.Resources != nil,
	}
	if len(f.ResourceSubscriptions) > maxSubscriptions {
		return Errorf(CodeInvalidParams, "%d resourceSubscriptions: the limit is %d", len(f.ResourceSubscriptions), maxSubscriptions)
	}
	for _, uri := range f.ResourceSubscriptions {
		if !offersUpdates(c) || sub.uris[uri] || len(uri) > maxKept {
			continue
		}
		if h, _ := s.findResource(sub.r, uri); h == nil {
			continue
		}
		if err := s.opts.Subscribe(ctx, sub.r, uri); err != nil {
			s.log.Debug("mcp: subscription not granted", "uri", uri, "error", err)
			continue
		}
		sub.uris[uri] = true
		sub.want.ResourceSubscriptions = append(sub.want.ResourceSubscriptions, uri)
	}
	return nil
}

// say sends a notification with the id of the subscription.
func (sub *subscription) say(ctx context.Context, method string, params any) error {
	return sub.r.say(ctx, method, &subscribed{sub.id, params})
}

// subscribed are the parameters of a notification on a subscription.
type subscribed struct {
	id     ID
	params any // nil: none
}

func (p *subscribed) appendTo(b []byte, rev revision) ([]byte, error) {
	return appendParams(b, p.params, Meta{metaSubscription: p.id}, rev)
}

func (sub *subscription) changed(lists mailBits) {
	wanted := map[mailBits]bool{toolsBit: sub.want.ToolsListChanged, promptsBit: sub.want.PromptsListChanged, resourcesBit: sub.want.ResourcesListChanged}
	for bit, want := range wanted {
		if !want {
			lists &^= bit
		}
	}
	if lists != 0 {
		sub.mail.changed(lists)
	}
}

func (sub *subscription) updated(uri string) {
	if followed := follows(sub.uris, uri); followed != "" {
		sub.mail.updated(uri, followed)
	}
}

// deliver sends what waits.
func (sub *subscription) deliver(ctx context.Context) error {
	if sub.mail.onlyLists() {
		select {
		case <-time.After(coalesce):
		case <-ctx.Done():
			return nil
		}
	}
	for _, item := range sub.mail.empty() {
		if err := sub.say(ctx, item.method, item.params); err != nil {
			return err
		}
	}
	return nil
}

// over is the result that ends a subscription from this side. Where there is no
// exchange to end, the client is told in both of the ways that the texts have.
func (sub *subscription) over(ctx context.Context) (any, error) {
	if sub.r.Header == nil && ctx.Err() == nil {
		_ = sub.say(ctx, noteCancelled, &cancelledParams{sub.id, "the server ends the subscription"})
	}
	return &EmptyResult{Meta: Meta{metaSubscription: sub.id}}, nil
}

func (sub *subscription) end() {
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
