// Package mcp implements the Model Context Protocol, as server and as client,
// with nothing but the standard library.
//
// The protocol lets a program that works with a language model, the client, use what
// another program, the server, has to offer: tools that the model can call, resources
// that can be read, prompts that a person can choose. The package speaks all its
// revisions, over stdin and stdout, over HTTP, or over what an application brings.
//
// # A server
//
// A server offers what is registered with it. This program has one tool, made from an
// ordinary function, and serves the client that has started it:
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"example.com/mcp"
//	)
//
//	type input struct {
//		Name string `json:"name" jsonschema:"whom to greet"`
//	}
//
//	func greet(ctx context.Context, r *mcp.Request, in input) (string, error) {
//		return "Hello, " + in.Name, nil
//	}
//
//	func main() {
//		s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0"}, nil)
//		mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Says hello"}, greet)
//		if err := s.Run(context.Background(), mcp.Stdio()); err != nil {
//			log.Fatal(err) // to stderr: stdout belongs to the protocol
//		}
//	}
//
// [AddTool] derives the schema of the arguments from the type. They are validated
// against it before they are decoded, and an error that the function returns reaches the
// model as a tool error. Resources and prompts are registered with [Server.AddResource],
// [Server.AddResourceTemplate] and [Server.AddPrompt]; a [ServerOptions] has the rest.
//
// # A client
//
// A client starts or reaches a server through a [Transport], and then has one method for
// each of its features. This program starts the server above, which was built as greeter:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os/exec"
//
//		"example.com/mcp"
//	)
//
//	func main() {
//		ctx := context.Background()
//		c := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1.0"}, nil)
//		session, err := c.Connect(ctx, &mcp.CommandTransport{Command: exec.Command("./greeter")})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer session.Close()
//		result, err := session.CallTool(ctx, "greet", map[string]any{"name": "Ada"})
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(result.Text()) // Hello, Ada
//	}
//
// # Speaking back
//
// While it runs, a handler can speak to its caller through its [Request]: tell how far it
// is with [Request.Progress], log with [Request.Logger], and ask the person in front of
// the client with [Request.Elicit], the client's model with [Request.Sample], or for the
// folders that the client works in with [Request.Roots]. Its context ends when the caller
// gives up. On the client's side each of these questions and notices has a field in
// [ClientOptions]; what is nil there is not offered, and cannot be asked.
//
// # Over HTTP
//
// An [HTTPHandler] serves a server to many clients; an [HTTPTransport] reaches one:
//
//	err := (&mcp.HTTPHandler{Server: s}).ListenAndServe(ctx, ":8080", nil)
//
//	session, err := c.Connect(ctx, &mcp.HTTPTransport{URL: "http://localhost:8080"})
//
// # Words
//
// Both sides:
//
//   - A message is a request, which has an ID and gets exactly one response (a result or
//     an error), or a notification, which gets none. A call is a request and the wait for
//     its response; to cancel it is to tell the other side that nobody waits.
//   - A server offers; a client uses what is offered. A host is the application, with its
//     person and its model, that a client is a part of. A peer is either end.
//   - A connection or an HTTP exchange carries messages. A transport is a way to make
//     them; a [Conn] is any framed duplex that can be a connection. A stream is where the
//     messages leave that one cause has: a connection has one, an HTTP exchange its own.
//   - A revision is a published version of the protocol, named by its date. An era is what
//     revisions have in common that begin alike; there are two, see below. A session is
//     what one initialize request opens, and in this package also a client's tie to a
//     server of the other era, a [ClientSession].
//   - A capability is what one side tells the other that it can do; an extension is one
//     that the protocol itself does not have.
//
// What servers offer:
//
//   - A [Tool] is a function that the model calls. A [Resource] is data with a URI; a
//     [ResourceTemplate] stands for all that match it; to subscribe is to hear when one
//     changes. A [Prompt] is messages, with blanks to fill in, that a person chooses.
//     [Content] is what their results are made of.
//   - Completion suggests values for the arguments of prompts and templates.
//   - A handler is the application's function behind any of these, and a [Request] all it
//     knows of the request that it serves. An [Interceptor] stands around all handlers.
//
// What clients answer:
//
//   - Elicitation is a question to the person: a form, or a visit to a URL. Sampling is a
//     question to the model. A root is a folder that the client works in.
//   - A round is how a request that stands alone asks: the server answers it with the
//     question, and the client makes it again, with the answer.
//
// What takes time, and who calls:
//
//   - Progress is how far a request is. A task is a request that goes on after its answer.
//   - An [Identity] says who calls. An access token proves that; an authorization server
//     issues tokens, and a resource server, such as an MCP server, takes them. A scope is
//     what a token lets its bearer do.
//
// # Revisions
//
// The two eras differ in how they begin. Up to 2025-11-25, in the session era, a client
// opens a session with initialize, and both sides may send requests in it. From 2026-07-28
// on, in the stateless era, each request stands alone and says itself all that a server
// has to know; what the server wants of the client it asks for in rounds. A [Server]
// serves both at once, with the same handlers; a [Client] finds out what the server
// speaks, the newest first. [ServerOptions] and [ClientOptions] can restrict that. What a
// revision lacks is not sent to a peer that speaks it; where the text of it can stand for
// what is lost, that is sent instead.
//
// # Tasks
//
// A tool whose Execution says so may run as a task, in either era: the call is answered at
// once, and [ClientSession.CallTool] waits for the end of the task, or
// [ClientSession.StartTool] hands it out. A handler may also decide late, with
// [Request.Detach].
//
// # Authorization
//
// An [OAuthTransport] gets tokens where servers ask for them: it finds the
// authorization server, registers, has a person log in, and keeps the tokens:
//
//	auth := &mcp.OAuthTransport{Login: (&mcp.LoopbackLogin{}).Login}
//	session, err := c.Connect(ctx, &mcp.HTTPTransport{URL: url, Client: &http.Client{Transport: auth}})
//
// A [ProtectedResource] is the other end, for [HTTPHandler.Authorize]: it judges tokens
// by a [Verifier], such as that of a [JWTVerifier]. A server without an authorization
// server elsewhere can bring its own, an [AuthorizationServer].
//
// # Errors
//
// There are three kinds. An *[Error] is one of the protocol: a handler returns it to answer
// with its code, and a client's method returns what the server answered; errors.As finds
// it, and errors.Is compares codes. A failure of a tool is no error but a result for the
// model, with IsError. All others are of this side and are never sent; those that callers
// tell apart have names, such as [ErrClosed] and [TimeoutError].
//
// # Protocol types
//
// The comment of a type of the protocol ends with the name of the schema's type that it is
// the Go form of, and the revisions that have it, if not all do. A field's tag json is the
// member's name; since and until name the first and the last revision that has it. With
// omitempty, a nil or zero value means that the member is not there. Members that a type
// does not name are kept in its Extra. encoding/json reads the form of any revision, and
// writes that of the newest.
//
// # Reading order
//
// The package is meant to be read. A file uses only what the files above it declare:
//
//   - mcp.go: the vocabulary. json.go: JSON text in and out. jsonrpc.go: messages, and the
//     peers that exchange them. schema.go: JSON Schema.
//   - stdio.go, with stdio_unix.go and stdio_windows.go: connections. uritemplate.go: URI
//     templates. mirror.go: what of a request stands in HTTP headers, too. ask.go: what
//     servers ask of clients.
//   - server.go and client.go: the two sides. tasks.go: what goes on after its answer.
//     stateless.go: the two edges of the stateless era.
//   - streamable.go and streamableclient.go: the two ends of HTTP.
//   - jose.go: what is signed. oauth.go: what the parties of authorization share.
//     oauthclient.go, oauthresource.go and oauthserver.go: the three parties.
//
// Four questions that readers have, and where they are answered. Where does a POST become
// a Request? At the top of streamable.go, and at eraRules in server.go. What ends a
// session? At session in server.go and httpSession in streamable.go; for clients at
// [ClientSession.Wait]. Who closes a stream? At stream in jsonrpc.go, and httpStream in
// streamable.go. Where would a new revision go? At revisions, in this file.
package mcp

// The vocabulary: the revisions and what each changed, the names of methods, and one Go
// type for each type of the schema. There is no behaviour here but what a value knows of
// itself. This file uses no other; all others use it.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Revisions of the protocol, newest last. The newest has no handshake: each of its
// requests says itself all that a server has to know.
const (
	Revision20241105 = "2024-11-05"
	Revision20250326 = "2025-03-26"
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28"
)

// A revision is an index into revisions: a later revision is a greater number.
// Zero is no revision, before one is agreed on.
type revision int8

// revisions says what each revision can do that others cannot. Members of types
// that only some revisions have carry that in their "since" and "until" tags
// instead.
//
// A new revision goes here: a name, a row, and the tags of what it adds or drops. Its
// methods get a line in serverMethod or clientServes, its content blocks a kind in
// newContent and a way for older revisions to do without (revise in json.go). If its
// requests begin in another way, it is an era of its own: one more case in serverEra and
// eraOf, and a file with its two edges, as stateless.go is one.
var revisions = [...]struct {
	name    string
	batches bool // arrays of messages are messages
	elicits bool // elicitation exists
	rich    bool // defaults, titled and multiple choice in forms; URL mode; tools in sampling; content lists in sampling
	audio   bool // audio content
	links   bool // resource links
	schemas bool // tools have output schemas, and structured results
	polls   bool // a server may end a stream early and be polled
	tasks   bool // tools may run as tasks
	alone   bool // each request stands alone: no handshake, no session, no requests of the server
}{
	{},
	{name: Revision20241105, batches: true},
	{name: Revision20250326, batches: true, audio: true},
	{name: Revision20250618, elicits: true, audio: true, links: true, schemas: true},
	{name: Revision20251125, elicits: true, rich: true, audio: true, links: true, schemas: true, polls: true, tasks: true},
	{name: Revision20260728, elicits: true, rich: true, audio: true, links: true, schemas: true, tasks: true, alone: true},
}

const (
	newest        = revision(len(revisions) - 1)
	newestSession = newest - 1 // the newest that opens with initialize
)

func (r revision) String() string { return revisions[r].name }
func (r revision) batches() bool  { return revisions[r].batches }
func (r revision) elicits() bool  { return revisions[r].elicits }
func (r revision) rich() bool     { return revisions[r].rich }
func (r revision) audio() bool    { return revisions[r].audio }
func (r revision) links() bool    { return revisions[r].links }
func (r revision) schemas() bool  { return revisions[r].schemas }
func (r revision) polls() bool    { return revisions[r].polls }
func (r revision) tasks() bool    { return revisions[r].tasks }
func (r revision) alone() bool    { return revisions[r].alone }

// parseRevision finds a revision by its whole name; zero if it is not known.
func parseRevision(name string) revision {
	for i := range revisions {
		if revisions[i].name == name {
			return revision(i)
		}
	}
	return 0
}

// Revisions returns the names of the supported revisions, newest first.
func Revisions() []string {
	var names []string
	for i := newest; i > 0; i-- {
		names = append(names, revisions[i].name)
	}
	return names
}

// Names of the methods, as the schema has them.
const (
	methodInitialize    = "initialize"
	methodPing          = "ping"
	methodToolsList     = "tools/list"
	methodToolsCall     = "tools/call"
	methodResourcesList = "resources/list"
	methodTemplatesList = "resources/templates/list"
	methodResourcesRead = "resources/read"
	methodSubscribe     = "resources/subscribe"
	methodUnsubscribe   = "resources/unsubscribe"
	methodPromptsList   = "prompts/list"
	methodPromptsGet    = "prompts/get"
	methodComplete      = "completion/complete"
	methodSetLevel      = "logging/setLevel"
	methodRootsList     = "roots/list"
	methodCreateMessage = "sampling/createMessage"
	methodElicit        = "elicitation/create"
	methodDiscover      = "server/discover"
	methodListen        = "subscriptions/listen"
	methodTasksGet      = "tasks/get"
	methodTasksResult   = "tasks/result"
	methodTasksList     = "tasks/list"
	methodTasksUpdate   = "tasks/update"
	methodTasksCancel   = "tasks/cancel"

	noteInitialized         = "notifications/initialized"
	noteCancelled           = "notifications/cancelled"
	noteProgress            = "notifications/progress"
	noteMessage             = "notifications/message"
	noteToolsChanged        = "notifications/tools/list_changed"
	noteResourcesChanged    = "notifications/resources/list_changed"
	notePromptsChanged      = "notifications/prompts/list_changed"
	noteRootsChanged        = "notifications/roots/list_changed"
	noteResourceUpdated     = "notifications/resources/updated"
	noteElicitationComplete = "notifications/elicitation/complete"
	noteAcknowledged        = "notifications/subscriptions/acknowledged"
	noteTaskStatus          = "notifications/tasks/status" // 2025-11-25
	noteTask                = "notifications/tasks"        // 2026-07-28
)

// Keys of _meta that the protocol gives a meaning, from 2026-07-28 on (Base Protocol,
// _meta).
const (
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaLevel        = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"

	metaRelatedTask = "io.modelcontextprotocol/related-task"             // 2025-11-25
	metaImmediate   = "io.modelcontextprotocol/model-immediate-response" // 2025-11-25
)

// Codes of errors on the wire. Application errors should lie outside
// -32768 to -32000.
const (
	CodeParseError       = -32700 // the text is not JSON
	CodeInvalidRequest   = -32600 // the JSON is not a valid message
	CodeMethodNotFound   = -32601 // the method does not exist, or is not offered
	CodeInvalidParams    = -32602 // the parameters are wrong
	CodeInternalError    = -32603 // the receiver failed
	CodeResourceNotFound = -32002 // no such resource, up to 2025-11-25

	// CodeURLElicitationRequired answers a request that cannot go on until the
	// elicitations in the error's data are done (2025-11-25; Elicitation, URL
	// Elicitation Required Error).
	CodeURLElicitationRequired = -32042

	// Codes of 2026-07-28: what HTTP headers say is not what the body says; the client
	// cannot do what the request needs (the error's data says what); the server does
	// not speak the revision (the data says which it speaks).
	CodeHeaderMismatch                  = -32020
	CodeMissingRequiredClientCapability = -32021
	CodeUnsupportedProtocolVersion      = -32022

	// CodeUserRejected answers a sampling request that the person refused
	// (Sampling, Error Handling).
	CodeUserRejected = -1
)

// An Identity says who calls, as far as the transport could establish it. Two callers
// are the same if Issuer and Subject are.
type Identity struct {
	Issuer   string          // who says so; empty: the application itself
	Subject  string          // unique name of the caller at its issuer; a machine's is its client id
	ClientID string          // the OAuth client that acts for the caller; empty: not known
	Scopes   []string        // what the caller may do
	Expires  time.Time       // end of the identity's validity; zero: none
	Claims   json.RawMessage // what is known beyond that, a JSON object; nil: nothing

	still func(context.Context) bool // whether it is still good; nil: until it expires
}

// Meta is the "_meta" member of a message or value: data that belongs to the
// protocol or to the application. A key is a name with an optional prefix in
// reverse DNS order ("com.example/name"); see [CheckMetaKey].
// Numbers that were received are json.Number.
type Meta map[string]any

// Extra holds the members of a received value that its Go type does not name, as
// raw JSON text by name. They are written back when the value is sent on.
type Extra map[string]json.RawMessage

// A Role is who speaks in a prompt or sampling message: "user" or "assistant".
// Schema: Role.
type Role string

// The two roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// An Implementation describes a client or server. Name and Version are required.
// Schema: Implementation.
type Implementation struct {
	Name        string `json:"name" mcp:"required"`
	Title       string `json:"title,omitempty" since:"2025-06-18"` // for display
	Version     string `json:"version" mcp:"required"`
	Description string `json:"description,omitempty" since:"2025-11-25"`
	Icons       []Icon `json:"icons,omitempty" since:"2025-11-25"`
	WebsiteURL  string `json:"websiteUrl,omitempty" since:"2025-11-25"`
	Extra       Extra  `json:"-"`
}

// An Icon is a picture for display. Receivers must treat it as untrusted: see
// [Icon.Check]. The package never fetches one.
// Schema: Icon, from 2025-11-25 on.
type Icon struct {
	Source   string   `json:"src"` // https: or data: URI
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty" mcp:"list"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitempty"`            // "light", "dark", or "" for both
	Extra    Extra    `json:"-"`
}

// Annotations tell a client how to use or show a value.
// Schema: Annotations, from 2025-03-26 on; Annotated.annotations, of 2024-11-05.
type Annotations struct {
	Audience     []Role   `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`                        // 0 (least) to 1 (most important)
	LastModified string   `json:"lastModified,omitempty" since:"2025-06-18"` // ISO 8601
	Extra        Extra    `json:"-"`
}

// ServerCapabilities tells what a server offers; a nil member is not offered.
// Schema: ServerCapabilities.
type ServerCapabilities struct {
	Experimental map[string]any      `json:"experimental,omitempty"`
	Logging      *Empty              `json:"logging,omitempty"`
	Completions  *Empty              `json:"completions,omitempty" since:"2025-03-26"`
	Prompts      *PromptCapability   `json:"prompts,omitempty"`
	Resources    *ResourceCapability `json:"resources,omitempty"`
	Tools        *ToolCapability     `json:"tools,omitempty"`
	Tasks        *TaskCapability     `json:"tasks,omitempty" since:"2025-11-25" until:"2025-11-25"`
	Extensions   Extensions          `json:"extensions,omitempty" since:"2026-07-28"`
	Extra        Extra               `json:"-"`
}

// ExtensionTasks is the extension of 2026-07-28 by which tools may run as tasks. For a
// client that does not name it a tool runs within its call, or, if it must be a task,
// the call is refused.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// TaskCapability is present in a side that runs some of its requests as tasks
// (2025-11-25; Tasks).
// Schema: ServerCapabilities.tasks and ClientCapabilities.tasks, of 2025-11-25.
type TaskCapability struct {
	List     *Empty       `json:"list,omitempty"`
	Cancel   *Empty       `json:"cancel,omitempty"`
	Requests TaskRequests `json:"requests,omitzero"`
}

// TaskRequests are the requests that may run as tasks.
// Schema: ServerCapabilities.tasks.requests and ClientCapabilities.tasks.requests, of
// 2025-11-25.
type TaskRequests struct {
	Tools       *ToolTasks     `json:"tools,omitempty"`
	Sampling    *SamplingTasks `json:"sampling,omitempty"`
	Elicitation *ElicitTasks   `json:"elicitation,omitempty"`
}

type (
	// ToolTasks says with Call that tools/call may run as a task.
	// Schema: ServerCapabilities.tasks.requests.tools, of 2025-11-25.
	ToolTasks struct {
		Call *Empty `json:"call,omitempty"`
	}
	// SamplingTasks says with CreateMessage that sampling/createMessage may.
	// Schema: ClientCapabilities.tasks.requests.sampling, of 2025-11-25.
	SamplingTasks struct {
		CreateMessage *Empty `json:"createMessage,omitempty"`
	}
	// ElicitTasks says with Create that elicitation/create may.
	// Schema: ClientCapabilities.tasks.requests.elicitation, of 2025-11-25.
	ElicitTasks struct {
		Create *Empty `json:"create,omitempty"`
	}
)

// Extensions are the extensions of the protocol that a side supports, with their
// settings, by identifier ("com.example/name"). Settings are a JSON object.
// Schema: ServerCapabilities.extensions and ClientCapabilities.extensions, from
// 2026-07-28 on.
type Extensions map[string]json.RawMessage

// Empty is an object without members that are known.
type Empty struct {
	Extra Extra `json:"-"`
}

// PromptCapability is present in a server that has prompts.
// Schema: ServerCapabilities.prompts.
type PromptCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
}

// ResourceCapability is present in a server that has resources.
// Schema: ServerCapabilities.resources.
type ResourceCapability struct {
	Subscribe   bool `json:"subscribe,omitempty"`
	ListChanged bool `json:"listChanged,omitempty"`
}

// ToolCapability is present in a server that has tools.
// Schema: ServerCapabilities.tools.
type ToolCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
}

// ClientCapabilities tells what a client offers; a nil member is not offered.
// Schema: ClientCapabilities.
type ClientCapabilities struct {
	Experimental map[string]any         `json:"experimental,omitempty"`
	Roots        *RootCapability        `json:"roots,omitempty"`
	Sampling     *SamplingCapability    `json:"sampling,omitempty"`
	Elicitation  *ElicitationCapability `json:"elicitation,omitempty" since:"2025-06-18"`
	Tasks        *TaskCapability        `json:"tasks,omitempty" since:"2025-11-25" until:"2025-11-25"`
	Extensions   Extensions             `json:"extensions,omitempty" since:"2026-07-28"`
	Extra        Extra                  `json:"-"`
}

// RootCapability is present in a client that has roots.
// Schema: ClientCapabilities.roots.
type RootCapability struct {
	ListChanged bool `json:"listChanged,omitempty" until:"2025-11-25"`
}

// SamplingCapability is present in a client that can sample a model.
// Schema: ClientCapabilities.sampling.
type SamplingCapability struct {
	Tools   *Empty `json:"tools,omitempty" since:"2025-11-25"`   // with tools
	Context *Empty `json:"context,omitempty" since:"2025-11-25"` // with context from servers
}

// ElicitationCapability is present in a client that can ask its user.
// Without Form and URL it means forms only.
// Schema: ClientCapabilities.elicitation, from 2025-06-18 on.
type ElicitationCapability struct {
	Form *Empty `json:"form,omitempty" since:"2025-11-25"`
	URL  *Empty `json:"url,omitempty" since:"2025-11-25"`
}

func (c *ElicitationCapability) form() bool { return c != nil && (c.Form != nil || c.URL == nil) }
func (c *ElicitationCapability) url() bool  { return c != nil && c.URL != nil }

// InitializeParams opens a session (Lifecycle, Initialization).
// Schema: InitializeRequest.params, until 2025-11-25.
type InitializeParams struct {
	Meta            Meta                `json:"_meta,omitempty"`
	ProtocolVersion string              `json:"protocolVersion" mcp:"required"`
	Capabilities    *ClientCapabilities `json:"capabilities" mcp:"required"`
	ClientInfo      *Implementation     `json:"clientInfo" mcp:"required"`
}

// InitializeResult is the server's answer to initialize. Instructions is nil
// where the server gives none.
// Schema: InitializeResult, until 2025-11-25.
type InitializeResult struct {
	Meta            Meta                `json:"_meta,omitempty"`
	ProtocolVersion string              `json:"protocolVersion" mcp:"required"`
	Capabilities    *ServerCapabilities `json:"capabilities" mcp:"required"`
	ServerInfo      *Implementation     `json:"serverInfo" mcp:"required"`
	Instructions    *string             `json:"instructions,omitempty"`
	Extra           Extra               `json:"-"`
}

// CacheableResult is what the results of lists and of reading have in common: how long
// they stay good, and for whom (2026-07-28; Caching). It is a hint: this package
// caches nothing.
// Schema: CacheableResult, from 2026-07-28 on.
type CacheableResult struct {
	TTL        *Milliseconds `json:"ttlMs,omitempty" since:"2026-07-28"`      // from its arrival on; nil or 0: at once stale
	CacheScope string        `json:"cacheScope,omitempty" since:"2026-07-28"` // "public": good for any caller; else only for this one
}

// Milliseconds is a duration on the wire. What is no count of milliseconds is read as
// 0, and what is more than 100 years as that.
type Milliseconds int64

const maxMilliseconds = Milliseconds(100 * 365 * 24 * time.Hour / time.Millisecond)

// Duration is m as a Duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// UnmarshalJSON reads a number.
func (m *Milliseconds) UnmarshalJSON(data []byte) error {
	*m = 0
	f, err := strconv.ParseFloat(string(data), 64)
	if f > float64(maxMilliseconds) { // also where err says that it is beyond all numbers
		*m = maxMilliseconds
	} else if err == nil && f > 0 && f == math.Trunc(f) {
		*m = Milliseconds(f)
	}
	return nil
}

// DiscoverResult tells what a server can do, without a handshake (2026-07-28;
// Discovery).
// Schema: DiscoverResult, from 2026-07-28 on.
type DiscoverResult struct {
	Meta              Meta                `json:"_meta,omitempty"`
	SupportedVersions []string            `json:"supportedVersions" mcp:"required"` // revisions, newest first
	Capabilities      *ServerCapabilities `json:"capabilities" mcp:"required"`
	Instructions      *string             `json:"instructions,omitempty"`
	CacheableResult
	Extra Extra `json:"-"`
}

// A SubscriptionFilter says what a client wants to be told of (2026-07-28;
// Subscriptions).
// Schema: SubscriptionFilter, from 2026-07-28 on.
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"` // URIs
	TaskIDs               []string `json:"taskIds,omitempty"`               // where the client has declared ExtensionTasks
}

// SubscriptionsListenParams opens a subscription, and with the part of the filter
// that the server honours, acknowledges it.
// Schema: SubscriptionsListenRequest.params and
// SubscriptionsAcknowledgedNotification.params, from 2026-07-28 on.
type SubscriptionsListenParams struct {
	Meta          Meta                `json:"_meta,omitempty"`
	Notifications *SubscriptionFilter `json:"notifications" mcp:"required"`
}

// EmptyResult is the answer of methods that have nothing to say.
// Schema: EmptyResult.
type EmptyResult struct {
	Meta Meta `json:"_meta,omitempty"`
}

// ListParams asks for a page of a list. A nil cursor asks for the first.
// Schema: PaginatedRequest.params.
type ListParams struct {
	Meta   Meta    `json:"_meta,omitempty"`
	Cursor *string `json:"cursor,omitempty"`
}

// A Tool is a function that a model can call (Tools).
// Schema: Tool.
type Tool struct {
	Name        string `json:"name" mcp:"required"`
	Title       string `json:"title,omitempty" since:"2025-06-18"` // for display; see DisplayName
	Description string `json:"description,omitempty"`
	// InputSchema is the JSON Schema of the arguments, an object whose type is
	// "object". AddTool derives it where it is nil.
	InputSchema json.RawMessage `json:"inputSchema" mcp:"required"`
	// OutputSchema is the JSON Schema of the structured result, if there is one.
	OutputSchema json.RawMessage  `json:"outputSchema,omitempty" since:"2025-06-18"`
	Annotations  *ToolAnnotations `json:"annotations,omitempty" since:"2025-03-26"`
	Icons        []Icon           `json:"icons,omitempty" since:"2025-11-25"`
	Meta         Meta             `json:"_meta,omitempty" since:"2025-06-18"`
	// Execution says whether the tool may, or must, run as a task; nil: it does not.
	// Clients of 2026-07-28 are not told: there the server decides, for those that can
	// take a task.
	Execution *ToolExecution `json:"execution,omitempty" since:"2025-11-25" until:"2025-11-25"`
	// LateTask lets a call run in its request until its handler calls Request.Detach.
	LateTask bool `json:"-"`
	// ImmediateResponse is a text for the model to go on with while a task runs
	// (2025-11-25); "": none.
	ImmediateResponse string `json:"-"`
	Extra             Extra  `json:"-"`
}

// ToolExecution says how a tool runs. TaskSupport is "optional" or "required"; ""
// and "forbidden" mean that it is no task.
// Schema: ToolExecution, of 2025-11-25.
type ToolExecution struct {
	TaskSupport string `json:"taskSupport,omitempty"`
}

// tasks reports whether the tool may run as a task, and whether it must.
func (t *Tool) tasks() (may, must bool) {
	if t.Execution == nil {
		return false, false
	}
	must = t.Execution.TaskSupport == "required"
	return must || t.Execution.TaskSupport == "optional", must
}

// DisplayName returns the tool's name for people: its title, else the title of
// its annotations, else its name.
func (t *Tool) DisplayName() string {
	switch {
	case t.Title != "":
		return t.Title
	case t.Annotations != nil && t.Annotations.Title != "":
		return t.Annotations.Title
	}
	return t.Name
}

// ToolAnnotations are hints on what a tool does. They come from the server, so
// that nothing may be permitted because of them. A nil hint means its default.
// Schema: ToolAnnotations, from 2025-03-26 on.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // default false
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // default true; of a tool that is not read-only
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // default false; of a tool that is not read-only
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // default true
	Extra           Extra  `json:"-"`
}

// Hints returns the hints with their defaults. It may be called on nil.
func (a *ToolAnnotations) Hints() (readOnly, destructive, idempotent, openWorld bool) {
	if a == nil {
		a = &ToolAnnotations{}
	}
	or := func(p *bool, otherwise bool) bool {
		if p != nil {
			return *p
		}
		return otherwise
	}
	return or(a.ReadOnlyHint, false), or(a.DestructiveHint, true), or(a.IdempotentHint, false), or(a.OpenWorldHint, true)
}

// ListToolsResult is a page of tools. A nil NextCursor marks the last page.
// Schema: ListToolsResult.
type ListToolsResult struct {
	Meta       Meta    `json:"_meta,omitempty"`
	Tools      []*Tool `json:"tools" mcp:"skip-bad"`
	NextCursor *string `json:"nextCursor,omitempty"`
	CacheableResult
	Extra Extra `json:"-"`
}

// CallToolParams calls a tool.
// Schema: CallToolRequest.params.
type CallToolParams struct {
	Meta      Meta            `json:"_meta,omitempty"`
	Name      string          `json:"name" mcp:"required"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object; nil: none
	Task      *TaskMetadata   `json:"task,omitempty" since:"2025-11-25" until:"2025-11-25"`
}

// TaskMetadata asks for a request to run as a task (2025-11-25; Tasks).
// Schema: TaskMetadata, of 2025-11-25.
type TaskMetadata struct {
	TTL *Milliseconds `json:"ttl,omitempty"` // how long its result is to be kept, from its creation; nil: as the receiver likes
}

// TaskParams are the parameters of tasks/get, tasks/result and tasks/cancel.
// Schema: GetTaskRequest.params and CancelTaskRequest.params, from 2025-11-25 on;
// GetTaskPayloadRequest.params, of 2025-11-25.
type TaskParams struct {
	Meta   Meta   `json:"_meta,omitempty"`
	TaskID string `json:"taskId" mcp:"required"`
}

// UpdateTaskParams answer what a task has asked (2026-07-28).
// Schema: UpdateTaskRequest.params, from 2026-07-28 on.
type UpdateTaskParams struct {
	TaskID         string          `json:"taskId" mcp:"required"`
	InputResponses json.RawMessage `json:"inputResponses" mcp:"required"`
}

// A TaskStatus is the state of a task. From completed, failed and cancelled it does
// not change any more.
// Schema: TaskStatus, of 2025-11-25; the extension's likewise.
type TaskStatus string

// The states of a task.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Over reports whether the task has ended.
func (s TaskStatus) Over() bool { return s == TaskCompleted || s == TaskFailed || s == TaskCancelled }

// A Task is what is told of a request that goes on after its answer (2025-11-25;
// Tasks. 2026-07-28; the extension io.modelcontextprotocol/tasks). TaskID names it to
// the server; Status says how it is.
// Schema: Task, of 2025-11-25; the extension's likewise.
type Task struct {
	_             struct{} // it has a text of its own for each revision: see native
	TaskID        string
	Status        TaskStatus
	StatusMessage string        // for people; may be ""
	CreatedAt     string        // ISO 8601
	LastUpdatedAt string        // ISO 8601; when the status changed last
	TTL           *Milliseconds // how long it is kept, from its creation; nil: for ever
	PollInterval  *Milliseconds // how long to wait between questions for it; nil: not said
}

// A CreateTaskResult is the answer to a request that goes on as a task.
// Schema: CreateTaskResult, from 2025-11-25 on.
type CreateTaskResult struct {
	Meta  Meta  // of the result
	Task  Task  // as it began
	Extra Extra // further members
}

// ListTasksResult is a page of tasks.
// Schema: ListTasksResult, of 2025-11-25.
type ListTasksResult struct {
	Tasks      []*Task `json:"tasks" mcp:"skip-bad"`
	NextCursor *string `json:"nextCursor,omitempty"`
}

// CallToolResult is what a tool answered. IsError marks a failure of the tool,
// described in Content for the model.
// Schema: CallToolResult.
type CallToolResult struct {
	Meta    Meta      `json:"_meta,omitempty"`
	Content []Content `json:"content"`
	// StructuredContent is the machine-readable result: JSON text that fits the
	// tool's output schema; nil: none. Revisions up to 2025-11-25 carry only objects.
	StructuredContent json.RawMessage `json:"structuredContent,omitempty" since:"2025-06-18" mcp:"object"`
	IsError           bool            `json:"isError,omitempty"`
	Extra             Extra           `json:"-"`
}

// Text returns the text blocks of the result, joined by newlines.
func (r *CallToolResult) Text() string {
	var texts []string
	for _, c := range r.Content {
		if t, ok := c.(*TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// A Resource is data that a server offers for reading (Resources).
// Schema: Resource.
type Resource struct {
	URI         string       `json:"uri" mcp:"required"`
	Name        string       `json:"name" mcp:"required"`
	Title       string       `json:"title,omitempty" since:"2025-06-18"`
	Description string       `json:"description,omitempty"`
	MIMEType    string       `json:"mimeType,omitempty"`
	Size        *int64       `json:"size,omitempty"` // bytes of the raw content
	Annotations *Annotations `json:"annotations,omitempty"`
	Icons       []Icon       `json:"icons,omitempty" since:"2025-11-25"`
	Meta        Meta         `json:"_meta,omitempty" since:"2025-06-18"`
	Extra       Extra        `json:"-"`
}

// A ResourceTemplate describes resources whose URIs follow an RFC 6570 template.
// Schema: ResourceTemplate.
type ResourceTemplate struct {
	URITemplate string       `json:"uriTemplate" mcp:"required"`
	Name        string       `json:"name" mcp:"required"`
	Title       string       `json:"title,omitempty" since:"2025-06-18"`
	Description string       `json:"description,omitempty"`
	MIMEType    string       `json:"mimeType,omitempty"` // only if all matching resources have it
	Annotations *Annotations `json:"annotations,omitempty"`
	Icons       []Icon       `json:"icons,omitempty" since:"2025-11-25"`
	Meta        Meta         `json:"_meta,omitempty" since:"2025-06-18"`
	Extra       Extra        `json:"-"`
}

// ListResourcesResult is a page of resources.
// Schema: ListResourcesResult.
type ListResourcesResult struct {
	Meta       Meta        `json:"_meta,omitempty"`
	Resources  []*Resource `json:"resources" mcp:"skip-bad"`
	NextCursor *string     `json:"nextCursor,omitempty"`
	CacheableResult
	Extra Extra `json:"-"`
}

// ListResourceTemplatesResult is a page of resource templates.
// Schema: ListResourceTemplatesResult.
type ListResourceTemplatesResult struct {
	Meta              Meta                `json:"_meta,omitempty"`
	ResourceTemplates []*ResourceTemplate `json:"resourceTemplates" mcp:"skip-bad"`
	NextCursor        *string             `json:"nextCursor,omitempty"`
	CacheableResult
	Extra Extra `json:"-"`
}

// ReadResourceParams asks for the contents of a resource.
// Schema: ReadResourceRequest.params.
type ReadResourceParams struct {
	Meta Meta   `json:"_meta,omitempty"`
	URI  string `json:"uri" mcp:"required"`
}

// ReadResourceResult is the contents of a resource: usually one entry, several
// for such as a folder.
// Schema: ReadResourceResult.
type ReadResourceResult struct {
	Meta     Meta                `json:"_meta,omitempty"`
	Contents []*ResourceContents `json:"contents"`
	CacheableResult
	Extra Extra `json:"-"`
}

// ResourceContents is text, or binary data where Blob is set. See [TextContents]
// and [BlobContents].
// Schema: TextResourceContents and BlobResourceContents.
type ResourceContents struct {
	URI      string `json:"uri" mcp:"required"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text" mcp:"unless-blob"`
	Blob     Base64 `json:"blob,omitzero"`
	Meta     Meta   `json:"_meta,omitempty" since:"2025-06-18"`
	Extra    Extra  `json:"-"`
}

// TextContents returns the contents of a text resource.
func TextContents(uri, mimeType, text string) *ResourceContents {
	return &ResourceContents{URI: uri, MIMEType: mimeType, Text: text}
}

// BlobContents returns the contents of a binary resource.
func BlobContents(uri, mimeType string, data []byte) *ResourceContents {
	return &ResourceContents{URI: uri, MIMEType: mimeType, Blob: EncodeBase64(data)}
}

// Base64 is binary data as it travels: base64 text, not checked until Bytes is
// asked for. The zero value is "absent", which differs from empty data.
type Base64 struct {
	text string
	set  bool
}

// EncodeBase64 encodes data in the standard alphabet with padding.
func EncodeBase64(data []byte) Base64 {
	return Base64{base64.StdEncoding.EncodeToString(data), true}
}

// Bytes decodes the data. Line breaks in the text are tolerated.
func (b Base64) Bytes() ([]byte, error) { return base64.StdEncoding.DecodeString(b.text) }

// String returns the text as it travels.
func (b Base64) String() string { return b.text }

// IsZero reports whether the data is absent.
func (b Base64) IsZero() bool { return !b.set }

// SubscribeParams names the resource whose updates are wanted, or no longer.
// Schema: SubscribeRequest.params and UnsubscribeRequest.params, until 2025-11-25.
type SubscribeParams struct {
	Meta Meta   `json:"_meta,omitempty"`
	URI  string `json:"uri" mcp:"required"`
}

// ResourceUpdatedParams tells that a subscribed resource, or a part of it, changed.
// Schema: ResourceUpdatedNotification.params.
type ResourceUpdatedParams struct {
	Meta Meta   `json:"_meta,omitempty"`
	URI  string `json:"uri" mcp:"required"`
}

// A Prompt is a template for messages that a person can choose (Prompts).
// Schema: Prompt.
type Prompt struct {
	Name        string            `json:"name" mcp:"required"`
	Title       string            `json:"title,omitempty" since:"2025-06-18"`
	Description string            `json:"description,omitempty"`
	Arguments   []*PromptArgument `json:"arguments,omitempty"`
	Icons       []Icon            `json:"icons,omitempty" since:"2025-11-25"`
	Meta        Meta              `json:"_meta,omitempty" since:"2025-06-18"`
	Extra       Extra             `json:"-"`
}

// A PromptArgument is a value that a prompt wants.
// Schema: PromptArgument.
type PromptArgument struct {
	Name        string `json:"name" mcp:"required"`
	Title       string `json:"title,omitempty" since:"2025-06-18"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Extra       Extra  `json:"-"`
}

// ListPromptsResult is a page of prompts.
// Schema: ListPromptsResult.
type ListPromptsResult struct {
	Meta       Meta      `json:"_meta,omitempty"`
	Prompts    []*Prompt `json:"prompts" mcp:"skip-bad"`
	NextCursor *string   `json:"nextCursor,omitempty"`
	CacheableResult
	Extra Extra `json:"-"`
}

// GetPromptParams asks for the messages of a prompt.
// Schema: GetPromptRequest.params.
type GetPromptParams struct {
	Meta      Meta              `json:"_meta,omitempty"`
	Name      string            `json:"name" mcp:"required"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// GetPromptResult is the messages of a prompt.
// Schema: GetPromptResult.
type GetPromptResult struct {
	Meta        Meta             `json:"_meta,omitempty"`
	Description string           `json:"description,omitempty"`
	Messages    []*PromptMessage `json:"messages"`
	Extra       Extra            `json:"-"`
}

// A PromptMessage is one message of a prompt, with one block of content.
// Schema: PromptMessage.
type PromptMessage struct {
	Role    Role    `json:"role" mcp:"required"`
	Content Content `json:"content" mcp:"required"`
	Extra   Extra   `json:"-"`
}

// CompleteParams asks how an argument of a prompt or of a resource template
// could go on (Completion).
// Schema: CompleteRequest.params.
type CompleteParams struct {
	Meta     Meta              `json:"_meta,omitempty"`
	Ref      CompleteReference `json:"ref" mcp:"required"`
	Argument CompleteArgument  `json:"argument" mcp:"required"`
	Context  *CompleteContext  `json:"context,omitempty" since:"2025-06-18"`
}

// A CompleteReference names a prompt (Type "ref/prompt", Name) or a resource
// template or resource (Type "ref/resource", URI).
// Schema: PromptReference; ResourceTemplateReference, from 2025-06-18 on;
// ResourceReference, until 2025-03-26.
type CompleteReference struct {
	Type  string `json:"type" mcp:"required"`
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty" since:"2025-06-18"`
	URI   string `json:"uri,omitempty"`
}

// A CompleteArgument is the argument to complete, and what was typed so far.
// Schema: CompleteRequest.params.argument.
type CompleteArgument struct {
	Name  string `json:"name" mcp:"required"`
	Value string `json:"value" mcp:"required"`
}

// CompleteContext holds the arguments that already have a value.
// Schema: CompleteRequest.params.context, from 2025-06-18 on.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitempty"`
}

// CompleteResult is the answer to a completion request.
// Schema: CompleteResult.
type CompleteResult struct {
	Meta       Meta       `json:"_meta,omitempty"`
	Completion Completion `json:"completion" mcp:"required"`
	Extra      Extra      `json:"-"`
}

// A Completion is the values that may follow, best first. On the wire there are
// at most 100 of them.
// Schema: CompleteResult.completion.
type Completion struct {
	Values  []string `json:"values"`
	Total   *int     `json:"total,omitempty"`
	HasMore bool     `json:"hasMore,omitempty"`
}

// A LoggingLevel is the importance of a log message.
// Schema: LoggingLevel.
type LoggingLevel string

// The levels, least important first (Logging, Log Levels).
const (
	LevelDebug     LoggingLevel = "debug"
	LevelInfo      LoggingLevel = "info"
	LevelNotice    LoggingLevel = "notice"
	LevelWarning   LoggingLevel = "warning"
	LevelError     LoggingLevel = "error"
	LevelCritical  LoggingLevel = "critical"
	LevelAlert     LoggingLevel = "alert"
	LevelEmergency LoggingLevel = "emergency"
)

var loggingLevels = []LoggingLevel{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency}

// rank orders levels; -1 is not a level.
func (l LoggingLevel) rank() int { return slices.Index(loggingLevels, l) }

// SetLevelParams sets the least important level that a session gets.
// Schema: SetLevelRequest.params, until 2025-11-25.
type SetLevelParams struct {
	Meta  Meta         `json:"_meta,omitempty"`
	Level LoggingLevel `json:"level" mcp:"required"`
}

// LoggingMessageParams is a log message from a server. Data is any JSON value.
// Schema: LoggingMessageNotification.params.
type LoggingMessageParams struct {
	Meta   Meta            `json:"_meta,omitempty"`
	Level  LoggingLevel    `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data" mcp:"any"`
}

// A Progress reports how far a request is. Value grows; Total is 0 if unknown.
// Schema: ProgressNotification.params.
type Progress struct {
	Value   float64 `json:"progress" mcp:"required"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty" since:"2025-03-26"`
}

// ListRootsParams asks for the client's roots.
// Schema: ListRootsRequest.params.
type ListRootsParams struct {
	Meta Meta `json:"_meta,omitempty"`
}

// ListRootsResult is the client's roots.
// Schema: ListRootsResult.
type ListRootsResult struct {
	Meta  Meta    `json:"_meta,omitempty" until:"2025-11-25"`
	Roots []*Root `json:"roots" mcp:"required"`
	Extra Extra   `json:"-"`
}

// A Root is a folder or file that a client works in. It informs; it is no
// permission to read it (Roots).
// Schema: Root.
type Root struct {
	URI   string `json:"uri" mcp:"required"` // a file:// URI
	Name  string `json:"name,omitempty"`
	Meta  Meta   `json:"_meta,omitempty" since:"2025-06-18"`
	Extra Extra  `json:"-"`
}

// CreateMessageParams asks the client to sample its model (Sampling).
// Schema: CreateMessageRequest.params.
type CreateMessageParams struct {
	Meta             Meta               `json:"_meta,omitempty"`
	Messages         []*SamplingMessage `json:"messages" mcp:"required"`
	ModelPreferences *ModelPreferences  `json:"modelPreferences,omitempty"`
	SystemPrompt     string             `json:"systemPrompt,omitempty"`
	IncludeContext   string             `json:"includeContext,omitempty"` // "none" (also ""), "thisServer" or "allServers"
	Temperature      *float64           `json:"temperature,omitempty"`
	MaxTokens        int64              `json:"maxTokens" mcp:"required"`
	StopSequences    []string           `json:"stopSequences,omitempty"`
	Metadata         map[string]any     `json:"metadata,omitempty"` // for the model's provider
	Tools            []*Tool            `json:"tools,omitempty" since:"2025-11-25"`
	ToolChoice       *ToolChoice        `json:"toolChoice,omitempty" since:"2025-11-25"`
	Task             *TaskMetadata      `json:"task,omitempty" since:"2025-11-25" until:"2025-11-25"`
	Extra            Extra              `json:"-"`
}

// A SamplingMessage is one turn of a conversation with a model. Before 2025-11-25
// it has exactly one block.
// Schema: SamplingMessage.
type SamplingMessage struct {
	Role    Role      `json:"role" mcp:"required"`
	Content []Content `json:"content" mcp:"required,list"`
	Meta    Meta      `json:"_meta,omitempty" since:"2025-11-25"`
	Extra   Extra     `json:"-"`
}

// CreateMessageResult is what the model said. StopReason is open: "endTurn",
// "stopSequence", "maxTokens", "toolUse", or another word.
// Schema: CreateMessageResult.
type CreateMessageResult struct {
	Meta       Meta      `json:"_meta,omitempty"`
	Role       Role      `json:"role" mcp:"required"`
	Content    []Content `json:"content" mcp:"required,list"`
	Model      string    `json:"model" mcp:"required"`
	StopReason string    `json:"stopReason,omitempty"`
	Extra      Extra     `json:"-"`
}

// ModelPreferences says which model a server would like. Priorities are 0 to 1.
// Schema: ModelPreferences.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitempty"`
	CostPriority         *float64    `json:"costPriority,omitempty"`
	SpeedPriority        *float64    `json:"speedPriority,omitempty"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitempty"`
	Extra                Extra       `json:"-"`
}

// A ModelHint is a part of the name of a model.
// Schema: ModelHint.
type ModelHint struct {
	Name  string `json:"name,omitempty"`
	Extra Extra  `json:"-"`
}

// ChooseModel returns the first of the given models that matches a hint, hints in
// order, as a substring; "" if none does. It may be called on nil.
func (p *ModelPreferences) ChooseModel(models []string) string {
	if p == nil {
		return ""
	}
	for _, h := range p.Hints {
		for _, m := range models {
			if h.Name != "" && strings.Contains(m, h.Name) {
				return m
			}
		}
	}
	return ""
}

// ToolChoice says whether a model may, must or must not use tools: Mode is
// "auto" (also ""), "required" or "none".
// Schema: ToolChoice, from 2025-11-25 on.
type ToolChoice struct {
	Mode string `json:"mode,omitempty"`
}

// ElicitParams asks the person in front of the client (Elicitation): for the
// values of a form, or to visit a URL. See [Confirm], [FormFor] and [Visit].
// Schema: ElicitRequest.params, from 2025-06-18 on.
type ElicitParams struct {
	Meta            Meta          `json:"_meta,omitempty"`
	Mode            string        `json:"mode,omitempty" since:"2025-11-25"` // "form" (also "") or "url"
	Message         string        `json:"message" mcp:"required"`
	RequestedSchema *FormSchema   `json:"requestedSchema,omitempty"`
	URL             string        `json:"url,omitempty"`
	ElicitationID   string        `json:"elicitationId,omitempty" until:"2025-11-25"` // URL mode; the server makes one where it is ""
	Task            *TaskMetadata `json:"task,omitempty" since:"2025-11-25" until:"2025-11-25"`
	Extra           Extra         `json:"-"`
}

// A FormSchema describes a flat form.
// Schema: ElicitRequest.params.requestedSchema, from 2025-06-18 on.
type FormSchema struct {
	Schema     string     `json:"$schema,omitempty" since:"2025-11-25"`
	Type       string     `json:"type"` // "object"; also written where it is ""
	Properties Properties `json:"properties"`
	Required   []string   `json:"required,omitempty"`
	Extra      Extra      `json:"-"`
}

// Properties are the fields of a form, in the order in which they are shown.
// Schema: ElicitRequest.params.requestedSchema.properties, from 2025-06-18 on.
type Properties []Property

// A Property is a named field of a form.
type Property struct {
	Name   string           // of the member of the content
	Schema *PrimitiveSchema // of its value; must be set
}

// A PrimitiveSchema describes one field of a form: a string, number, integer or
// boolean, a choice of one (Enum, or OneOf with titles), or a choice of several
// (Type "array" and Items).
// Schema: PrimitiveSchemaDefinition, from 2025-06-18 on.
type PrimitiveSchema struct {
	Type        string          `json:"type" mcp:"required"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MinLength   *int            `json:"minLength,omitempty"`
	MaxLength   *int            `json:"maxLength,omitempty"`
	Pattern     string          `json:"pattern,omitempty"`
	Format      string          `json:"format,omitempty"` // "email", "uri", "date", "date-time"
	Minimum     *float64        `json:"minimum,omitempty"`
	Maximum     *float64        `json:"maximum,omitempty"`
	Enum        []string        `json:"enum,omitempty"`
	EnumNames   []string        `json:"enumNames,omitempty"` // titles in the older style
	OneOf       []EnumOption    `json:"oneOf,omitempty"`
	Items       *EnumItems      `json:"items,omitempty"`
	MinItems    *int            `json:"minItems,omitempty"`
	MaxItems    *int            `json:"maxItems,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"` // JSON text of the value that is filled in
	Extra       Extra           `json:"-"`
}

// An EnumOption is a choice with a title.
// Schema: TitledSingleSelectEnumSchema.oneOf, from 2025-11-25 on.
type EnumOption struct {
	Const string `json:"const" mcp:"required"`
	Title string `json:"title"`
}

// EnumItems are the choices of a multiple choice: Type "string" and Enum, or AnyOf
// with titles.
// Schema: UntitledMultiSelectEnumSchema.items and TitledMultiSelectEnumSchema.items,
// from 2025-11-25 on.
type EnumItems struct {
	Type  string       `json:"type,omitempty"`
	Enum  []string     `json:"enum,omitempty"`
	AnyOf []EnumOption `json:"anyOf,omitempty"`
}

// ElicitResult is the person's answer. Content is present for an accepted form:
// a flat JSON object.
// Schema: ElicitResult, from 2025-06-18 on.
type ElicitResult struct {
	Meta    Meta            `json:"_meta,omitempty" until:"2025-11-25"`
	Action  string          `json:"action" mcp:"required"` // "accept", "decline" or "cancel"
	Content json.RawMessage `json:"content,omitempty"`
	Extra   Extra           `json:"-"`
}

// Accepted reports whether the person agreed.
func (r *ElicitResult) Accepted() bool { return r != nil && r.Action == "accept" }

// ElicitationCompleteParams tells that what a URL elicitation asked for is done.
// Schema: ElicitationCompleteNotification.params, of 2025-11-25.
type ElicitationCompleteParams struct {
	Meta          Meta   `json:"_meta,omitempty"`
	ElicitationID string `json:"elicitationId" mcp:"required"`
}

// Content is a block of a tool result, a prompt or a sampling message:
// [*TextContent], [*ImageContent], [*AudioContent], [*ResourceLink],
// [*EmbeddedResource], in sampling also [*ToolUseContent] and
// [*ToolResultContent], or an [*UnknownContent] that was received.
// Schema: ContentBlock, from 2025-06-18 on; SamplingMessageContentBlock, from
// 2025-11-25 on.
type Content interface {
	// kind is the value of the block's "type" member.
	kind() string
}

// TextContent is text.
// Schema: TextContent.
type TextContent struct {
	Text        string       `json:"text" mcp:"required"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitempty" since:"2025-06-18"`
	Extra       Extra        `json:"-"`
}

// ImageContent is a picture.
// Schema: ImageContent.
type ImageContent struct {
	Data        Base64       `json:"data" mcp:"required"`
	MIMEType    string       `json:"mimeType" mcp:"required"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitempty" since:"2025-06-18"`
	Extra       Extra        `json:"-"`
}

// AudioContent is sound. Before 2025-03-26 it becomes text that tells of it.
// Schema: AudioContent, from 2025-03-26 on.
type AudioContent struct {
	Data        Base64       `json:"data" mcp:"required"`
	MIMEType    string       `json:"mimeType" mcp:"required"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitempty" since:"2025-06-18"`
	Extra       Extra        `json:"-"`
}

// ResourceLink points at a resource, which need not be listed. Before 2025-06-18
// it becomes text with the URI.
// Schema: ResourceLink, from 2025-06-18 on.
type ResourceLink Resource

// EmbeddedResource is a resource with its contents.
// Schema: EmbeddedResource.
type EmbeddedResource struct {
	Resource    *ResourceContents `json:"resource" mcp:"required"`
	Annotations *Annotations      `json:"annotations,omitempty"`
	Meta        Meta              `json:"_meta,omitempty" since:"2025-06-18"`
	Extra       Extra             `json:"-"`
}

// ToolUseContent is a model's wish to call a tool (sampling, 2025-11-25).
// Schema: ToolUseContent, from 2025-11-25 on.
type ToolUseContent struct {
	ID    string          `json:"id" mcp:"required"`
	Name  string          `json:"name" mcp:"required"`
	Input json.RawMessage `json:"input" mcp:"required"` // a JSON object; nil is written as {}
	Meta  Meta            `json:"_meta,omitempty"`
	Extra Extra           `json:"-"`
}

// ToolResultContent is the result of a tool call for a model (sampling, 2025-11-25).
// Schema: ToolResultContent, from 2025-11-25 on.
type ToolResultContent struct {
	ToolUseID         string          `json:"toolUseId" mcp:"required"`
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty" mcp:"object"`
	IsError           bool            `json:"isError,omitempty"`
	Meta              Meta            `json:"_meta,omitempty"`
	Extra             Extra           `json:"-"`
}

// UnknownContent is a received block of a type this package does not know.
type UnknownContent struct {
	Type string          // its "type"
	Raw  json.RawMessage // the whole block
}

func (*TextContent) kind() string       { return "text" }
func (*ImageContent) kind() string      { return "image" }
func (*AudioContent) kind() string      { return "audio" }
func (*ResourceLink) kind() string      { return "resource_link" }
func (*EmbeddedResource) kind() string  { return "resource" }
func (*ToolUseContent) kind() string    { return "tool_use" }
func (*ToolResultContent) kind() string { return "tool_result" }
func (c *UnknownContent) kind() string  { return c.Type }

// newContent returns an empty block of a type, nil if the type is not known.
func newContent(kind string) Content {
	switch kind {
	case "text":
		return &TextContent{}
	case "image":
		return &ImageContent{}
	case "audio":
		return &AudioContent{}
	case "resource_link":
		return &ResourceLink{}
	case "resource":
		return &EmbeddedResource{}
	case "tool_use":
		return &ToolUseContent{}
	case "tool_result":
		return &ToolResultContent{}
	}
	return nil
}
