package mcp

import (
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// features are what an SDK for the protocol is expected to have, and which example shows
// each.
var features = []struct{ feature, examples string }{
	{"tools: listing", "ClientSession_Tools"},
	{"tools: calling", "ClientSession_CallTool"},
	{"tools: text", "TextContent"},
	{"tools: image", "ImageContent"},
	{"tools: audio", "AudioContent"},
	{"tools: embedded resource", "EmbeddedResource"},
	{"tools: error", "AddTool_error"},
	{"tools: change notice", "Server_RemoveTools"},
	{"resources: listing", "ClientSession_Resources"},
	{"resources: text", "TextContents"},
	{"resources: binary", "BlobContents"},
	{"resources: templates", "ClientSession_ResourceTemplates"},
	{"resources: template reading", "Server_AddResourceTemplate"},
	{"resources: subscribing", "ClientSession_Subscribe"},
	{"resources: unsubscribing", "ClientSession_Unsubscribe"},
	{"resources: change notice", "Server_RemoveResources"},
	{"prompts: listing", "ClientSession_Prompts"},
	{"prompts: simple", "ClientSession_GetPrompt"},
	{"prompts: with arguments", "Server_AddPrompt"},
	{"prompts: embedded resource", "Server_AddPrompt_embeddedResource"},
	{"prompts: image", "Server_AddPrompt_image"},
	{"prompts: change notice", "Server_RemovePrompts"},
	{"sampling", "Request_Sample"},
	{"elicitation: form", "Request_Elicit"},
	{"elicitation: URL", "Visit"},
	{"elicitation: schema validation", "FormSchema_Check"},
	{"elicitation: defaults", "FormSchema_Fill"},
	{"elicitation: enums", "FormFor"},
	{"elicitation: completion notice", "Server_ElicitationComplete"},
	{"roots: listing", "Request_Roots"},
	{"roots: change", "Client_SetRoots"},
	{"logging: messages", "Request_Logger"},
	{"logging: level", "ClientSession_SetLoggingLevel"},
	{"completion: resource", "ClientSession_Complete_resource"},
	{"completion: prompt", "ClientSession_Complete"},
	{"ping", "ClientSession_Ping"},
	{"Streamable HTTP: client", "HTTPTransport"},
	{"Streamable HTTP: server", "HTTPHandler"},
	{"HTTP+SSE: client", "HTTPTransport_sse"},
	{"HTTP+SSE: server", "HTTPHandler_SSE"},
	{"stdio: client", "CommandTransport"},
	{"stdio: server", "Stdio"},
	{"progress", "Request_Progress"},
	{"cancellation", "CancelledError"},
	{"pagination", "ClientSession_ListTools"},
	{"capability negotiation", "ClientCapabilities"},
	{"version negotiation", "ClientSession_Revision"},
	{"JSON Schema 2020-12", "CompileSchema"},

	{"tasks", "ClientSession_StartTool Request_Detach"},
	{"authorization: server", "ProtectedResource Verifier"},
	{"authorization: authorization server and client", "AuthorizationServer"},
}

// TestFeatureExamples: each feature has an example that runs, and whose output is
// checked. With -v it tells which.
func TestFeatureExamples(t *testing.T) {
	checked := checkedExamples(t)
	for _, f := range features {
		for name := range strings.FieldsSeq(f.examples) {
			file, ok := checked[name]
			if !ok {
				t.Errorf("%s: there is no Example%s whose output is checked", f.feature, name)
			}
			t.Logf("%-47s Example%s, %s", f.feature, name, file)
		}
	}
}

// checkedExamples are the files of the examples with an output, by name.
func checkedExamples(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Examples(file) {
			if e.Output != "" {
				checked[e.Name] = name
			}
		}
	}
	return checked
}
