package mcp

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A supportRow is a row of README's table of support. What its cells say comes from the
// tables by which the package itself decides, and tests show it.
type supportRow struct {
	name  string
	cell  func(revision) string
	tests string // with spaces between
}

// supportTable are the rows. A word that no table has, such as how something is done where
// there are no sessions, stands beside the tests that show it.
var supportTable = []supportRow{
	{"opened by", func(r revision) string {
		return either(served(r, methodInitialize), "initialize", either(served(r, methodDiscover), "each request alone, discover", "–"))
	}, "TestServerNegotiates TestClientNegotiates TestStatelessMethods TestProbe"},
	{"ping", func(r revision) string { return either(served(r, methodPing), "yes", "by discover") },
		"TestConversation TestClientMethods TestBUG055PingThenList mcp-server.TestRevisions"},
	{"cancellation, progress", func(revision) string { return "yes" },
		"TestCancelRequest TestStatelessCancel TestBUG206Tokens TestStatelessStreams TestStatelessGivingUp mcp-server.TestRevisions"},
	{"batches, received", func(r revision) string { return either(r.batches(), "yes", "refused") },
		"TestBatches TestBatchesRefused TestOnlyStateless"},
	{"tools, resources, templates, prompts, pagination", func(r revision) string {
		all := served(r, methodToolsList) && served(r, methodToolsCall) && served(r, methodResourcesList) && served(r, methodTemplatesList) &&
			served(r, methodResourcesRead) && served(r, methodPromptsList) && served(r, methodPromptsGet) && hasMember[ListParams](r, "Cursor")
		return either(all, either(hasMember[ListToolsResult](r, "TTL"), "with cache hints", "yes"), "–")
	}, "TestMatrix TestStatelessMatrix TestBUG235Pages TestStatelessResults TestClientMethods mcp-server.TestRevisions"},
	{"subscriptions, changed lists", func(r revision) string {
		return either(served(r, methodSubscribe), "yes", either(served(r, methodListen), "by listen", "–"))
	}, "TestBUG179Subscriptions TestListChanged TestListen TestListenAtConnect mcp-server.TestRevisions"},
	{"logging", func(r revision) string { return either(served(r, methodSetLevel), "yes", "by request") },
		"TestLogLevels TestStatelessStreams TestStatelessCalls mcp-server.TestRevisions"},
	{"completion", func(r revision) string {
		return either(served(r, methodComplete), either(hasMember[CompleteParams](r, "Context"), "with context", "yes"), "–")
	}, "TestBUG182Completion TestClientCompleteEarly TestStatelessMatrix mcp-server.TestRevisions"},
	{"tool annotations, audio content", func(r revision) string { return yes(r.audio() && hasMember[Tool](r, "Annotations")) },
		"TestMatrix TestStatelessMatrix mcp-server.TestRevisions"},
	{"structured results, output schemas, resource links, titles", func(r revision) string {
		all := r.schemas() && r.links() && hasMember[Tool](r, "OutputSchema") && hasMember[CallToolResult](r, "StructuredContent") && hasMember[Tool](r, "Title")
		return either(all && r.alone(), "any JSON", yes(all))
	}, "TestMatrix TestStatelessMatrix TestStructuredNull mcp-server.TestRevisions"},
	{"icons", func(r revision) string { return yes(hasMember[Tool](r, "Icons")) }, "TestMatrix TestStatelessMatrix"},
	{"arguments mirrored into headers", func(r revision) string { return yes(r.alone()) },
		"TestHTTPMirrorsArguments TestStatelessHeaders"},
	{"roots, sampling", func(r revision) string { return either(r.alone(), "in rounds", "yes") },
		"TestAskRoots TestSample TestClientRoots TestClientSample TestStatelessAsk TestRounds mcp-server.TestRevisions"},
	{"sampling with tools", func(r revision) string { return either(r.rich() && r.alone(), "in rounds", yes(r.rich())) },
		"TestBUG191SamplingContentLists TestClientSampleTools TestStatelessAskRefused"},
	{"elicitation: forms", func(r revision) string {
		full := either(r.rich(), "with defaults, titled and multiple choice", "yes")
		return either(r.elicits(), either(r.alone(), "the same, in rounds", full), "–")
	}, "TestElicitForm TestElicitChoices TestClientElicit TestStatelessAsk TestRounds mcp-server.TestRevisions"},
	{"elicitation: URLs", func(r revision) string { return either(r.rich() && r.alone(), "in rounds", yes(r.rich())) },
		"TestElicitVisit TestURLElicitationRequired TestStatelessVisits"},
	{"tasks", func(r revision) string {
		return either(r.tasks(), either(served(r, methodTasksResult), "of both sides", "of the server, as the extension"), "–")
	}, "TestBUG194TaskResult TestClientRunsTasks TestNoTasks TestTaskExtension TestClientTaskExtension mcp-server.TestRevisions"},
	{"stdio, custom connections", func(revision) string { return "yes" }, "TestConversation TestCustomConn TestStdio TestEras mcp-server.TestRevisions"},
	{"Streamable HTTP", func(r revision) string {
		first := either(r == 1, "sessions, resuming, or sessionless", "the same")
		return either(r.alone(), "without sessions", either(r.polls(), "with polling", first))
	}, "TestHTTPConversation TestHTTPMessages TestHTTPResumeByID TestBUG089TwoReplicas TestHTTPPause TestErasOnOneEndpoint"},
	{"HTTP+SSE, if asked for", func(r revision) string { return yes(!r.alone()) }, "TestSSE TestBUG122Fallback TestBUG056NotOverSSE"},
	{"authorization", func(r revision) string {
		return either(r == 1, "over HTTP+SSE, as later ones", either(r == 2, "servers without metadata, too", "yes"))
	}, "TestHostile56TwoUsersSSE TestOAuthOldServers TestOAuthFlow TestHostile55Credentials"},
}

// TestSupport compares the table of support in README with what it must be, and each of
// its rows with the tests that there are.
func TestSupport(t *testing.T) {
	tests := testNames(t)
	var b strings.Builder
	b.WriteString("| feature |")
	for r := revision(1); r <= newest; r++ {
		fmt.Fprintf(&b, " %s |", r)
	}
	b.WriteString("\n|---" + strings.Repeat("|---", int(newest)) + "|\n")
	for _, f := range supportTable {
		fmt.Fprintf(&b, "| %s |", f.name)
		for r := revision(1); r <= newest; r++ {
			fmt.Fprintf(&b, " %s |", f.cell(r))
		}
		b.WriteString("\n")
		for name := range strings.FieldsSeq(f.tests) {
			if !slices.Contains(tests, name) {
				t.Errorf("%s: there is no test %s", f.name, name)
			}
		}
	}
	compareBlock(t, "README.md", "support", b.String())
}

func yes(has bool) string { return either(has, "yes", "–") }

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// served reports whether a server that offers everything answers a method at a revision.
func served(r revision, name string) bool {
	m := serverMethod(name)
	return m.serve != nil && (m.era == everywhere || (m.era == onlyAlone) == r.alone())
}

// hasMember reports whether a field of a type is written at a revision.
func hasMember[T any](r revision, field string) bool {
	f, ok := reflect.TypeFor[T]().FieldByName(field)
	since, until := parseRevision(f.Tag.Get("since")), parseRevision(f.Tag.Get("until"))
	return ok && since <= r && (until == 0 || r <= until)
}

// testNames are the names of the tests, those of a command behind its name.
func testNames(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*_test.go", "cmd/*/*_test.go"} {
		eachTestFile(t, pattern, func(_ *token.FileSet, prefix string, file *ast.File) {
			for _, decl := range file.Decls {
				if f, isFunc := decl.(*ast.FuncDecl); isFunc && isTest(f) {
					names = append(names, prefix+f.Name.Name)
				}
			}
		})
	}
	return names
}

// compareBlock checks that what stands in a file between two marks is text, or with
// -update puts it there.
func compareBlock(t *testing.T, name, mark, text string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q with %q behind it", name, begin, end)
	}
	compareFile(t, name, before+begin+text+end+after)
}
