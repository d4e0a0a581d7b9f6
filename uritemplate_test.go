package mcp

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// The examples of RFC 6570, sections 1.2 and 3.2, behind a scheme. Left out are those that
// need lists, the prefix modifier, or one variable twice.
func TestURITemplateExpand(t *testing.T) {
	all := map[string]string{
		"var": "value", "hello": "Hello World!", "path": "/foo/bar", "empty": "",
		"x": "1024", "y": "768", "base": "http://example.com/home/", "half": "50%",
		"who": "fred", "dub": "me/too", "v": "6", "list": "red/green/blue",
		"escape": "a%2Fb%zz", "caf": "é/ü",
	}
	for _, test := range []struct{ template, want string }{
		{"{var}", "value"},
		{"{hello}", "Hello%20World%21"},
		{"{half}", "50%25"},
		{"O{empty}X", "OX"},
		{"O{undef}X", "OX"},
		{"map?{x,y}", "map?1024,768"},
		{"{x,hello,y}", "1024,Hello%20World%21,768"},
		{"?{x,empty}", "?1024,"},
		{"?{x,undef}", "?1024"},
		{"?{undef,y}", "?768"},

		{"{+var}", "value"},
		{"{+hello}", "Hello%20World!"},
		{"{+half}", "50%25"},
		{"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
		{"{+base}index", "http://example.com/home/index"},
		{"O{+empty}X", "OX"},
		{"O{+undef}X", "OX"},
		{"{+path}/here", "/foo/bar/here"},
		{"here?ref={+path}", "here?ref=/foo/bar"},
		{"up{+path}{var}/here", "up/foo/barvalue/here"},
		{"{+x,hello,y}", "1024,Hello%20World!,768"},
		{"{+path,x}/here", "/foo/bar,1024/here"},

		{"{#var}", "#value"},
		{"{#hello}", "#Hello%20World!"},
		{"{#half}", "#50%25"},
		{"foo{#empty}", "foo#"},
		{"foo{#undef}", "foo"},
		{"{#x,hello,y}", "#1024,Hello%20World!,768"},
		{"{#path,x}/here", "#/foo/bar,1024/here"},

		{"{.who}", ".fred"},
		{"{.half,who}", ".50%25.fred"},
		{"X{.var}", "X.value"},
		{"X{.x,y}", "X.1024.768"},
		{"X{.empty}", "X."},
		{"X{.undef}", "X"},

		{"{/who}", "/fred"},
		{"{/half,who}", "/50%25/fred"},
		{"{/who,dub}", "/fred/me%2Ftoo"},
		{"{/var}", "/value"},
		{"{/var,empty}", "/value/"},
		{"{/var,undef}", "/value"},
		{"{/var,x}/here", "/value/1024/here"},
		{"{/list*}", "/red/green/blue"},

		{"{;who}", ";who=fred"},
		{"{;half}", ";half=50%25"},
		{"{;empty}", ";empty"},
		{"{;v,empty,who}", ";v=6;empty;who=fred"},
		{"{;v,bar,who}", ";v=6;who=fred"},
		{"{;x,y}", ";x=1024;y=768"},
		{"{;x,y,empty}", ";x=1024;y=768;empty"},
		{"{;x,y,undef}", ";x=1024;y=768"},

		{"{?who}", "?who=fred"},
		{"{?half}", "?half=50%25"},
		{"{?x,y}", "?x=1024&y=768"},
		{"{?x,y,empty}", "?x=1024&y=768&empty="},
		{"{?x,y,undef}", "?x=1024&y=768"},

		{"{&who}", "&who=fred"},
		{"{&half}", "&half=50%25"},
		{"?fixed=yes{&x}", "?fixed=yes&x=1024"},
		{"{&x,y,empty}", "&x=1024&y=768&empty="},
		{"{&x,y,undef}", "&x=1024&y=768"},

		// 3.2.3: escapes in a value pass through {+x} only.
		{"{+escape}/{caf}", "a%2Fb%25zz/%C3%A9%2F%C3%BC"},
		{"{escape}{/caf*}", "a%252Fb%25zz/%C3%A9/%C3%BC"},
		// 3.1: literals are percent-encoded where a URI needs it.
		{"é \"%41/{undef}", "%C3%A9%20%22%41/"},
		// 2.4.2: explode does nothing to a string.
		{"{who*}{?x*}", "fred?x=1024"},
	} {
		tmpl := mustURITemplate(t, "x:"+test.template)
		vars := maps.Clone(all)
		maps.DeleteFunc(vars, func(name, _ string) bool { return !slices.Contains(tmpl.names(), name) })
		got, err := ExpandURITemplate("x:"+test.template, vars)
		if want := "x:" + test.want; err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", test.template, got, err, want)
		}
	}
}

func TestURITemplateErrors(t *testing.T) {
	const scheme = `must begin with a scheme (a letter, then letters, digits, "+", "-" or ".") and ":"`
	const name = `is no variable name: want letters, digits, "_" and escapes, with single dots between`
	for template, want := range map[string]string{
		"":              scheme,
		"no scheme":     scheme,
		"/users{/id*}":  scheme,
		"{+base}:x":     scheme,
		"1x:{a}":        scheme,
		"my_scheme:{a}": scheme,
		"x:{a:3}":       `"{a:3}": the prefix modifier ":3" is not supported`,
		"x:{a}{b,a}":    `"{b,a}": the variable "a" stands twice in the template`,
		"x:{}":          `"{}": "" ` + name,
		"x:{?}":         `"{?}": "" ` + name,
		"x:{a,}":        `"{a,}": "" ` + name,
		"x:{a b}":       `"{a b}": "a b" ` + name,
		"x:{a-b}":       `"{a-b}": "a-b" ` + name,
		"x:{a..b}":      `"{a..b}": "a..b" ` + name,
		"x:{a%2}":       `"{a%2}": "a%2" ` + name,
		"x:{a**}":       `"{a**}": "a*" ` + name,
		"x:{|a}":        `"{|a}": "|a" ` + name,
		"x:{{a}}":       `"{{a}": "{a" ` + name,
		"x:{a":          `"{a" lacks its closing brace`,
		"x:a}b":         `'}' at byte 3 of "x:a}b" must be percent-encoded`,
		"x:{a}%4/":      `'%' at byte 0 of "%4/" must be percent-encoded`,
		"x:a\nb":        `'\n' at byte 3 of "x:a\nb" must be percent-encoded`,
		"x:{\x00a}":     `"{\x00a}": "\x00a" ` + name,
	} {
		_, err := parseURITemplate(template)
		if err == nil || !strings.HasSuffix(err.Error(), `": `+want) {
			t.Errorf("%q: got %v; want %s", template, err, want)
		}
	}
	_, err := ExpandURITemplate("x:{a}", map[string]string{"a": "1", "b": "2"})
	if want := `mcp: URI template "x:{a}" has no variable "b"`; err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
}

func TestURITemplateNames(t *testing.T) {
	tmpl := mustURITemplate(t, "x:{z,a.b%20}/{+c}{/d*}{?q,lang}")
	if got, want := tmpl.names(), []string{"z", "a.b%20", "c", "d", "q", "lang"}; !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

// FEAT-118
func TestURITemplateMatch(t *testing.T) {
	type vars = map[string]string
	for _, test := range []struct {
		template, uri string
		want          vars // nil: no match
	}{
		{"x:plain", "x:plain", vars{}},
		{"x:plain", "x:plainer", nil},
		{"x:plain", "x:plai", nil},
		{"x:plain", "", nil},

		{"test://template/{id}/data", "test://template/123/data", vars{"id": "123"}},
		{"test://template/{id}/data", "test://template/1/2/data", nil},
		{"test://template/{id}/data", "test://template//data", nil},
		{"x:/{id}", "x:/", nil},
		{"x:/{id}", "x:/a?b", nil},
		{"x:/{id}", "x:/a#b", nil},
		{"x:/{id}", "x:/a%3Fb%23%2f", vars{"id": "a?b#/"}},
		{"x:/{id}", "x:/10:30,me@host+1", vars{"id": "10:30,me@host+1"}},
		{"x:/{id}", "x:/%", nil},
		{"x:/{id}", "x:/a%4", nil},
		{"x:/{id}", "x:/a%zz", nil},
		{"x:/{id}", "x:/%C3%A9é", vars{"id": "éé"}},

		// The leftmost value is the shortest that lets the rest match.
		{"x:{a}-{b}", "x:1-2-3", vars{"a": "1", "b": "2-3"}},
		{"x:{a}{b}", "x:123", vars{"a": "1", "b": "23"}},
		{"x:{+dir}/{name}.{ext}", "x:a/b.c/d.tar.gz", vars{"dir": "a/b.c", "name": "d", "ext": "tar.gz"}},
		{"x:/{+path}/end", "x:/a/end/b/end", vars{"path": "a/end/b"}},
		{"x:{a,b,c}", "x:1,2", vars{"a": "1", "b": "2"}},
		{"x:{a,b,c}", "x:1,,3", vars{"a": "1", "b": "", "c": "3"}},

		{"x:{+path}", "x:a/b%2Fc%20d?e#f%2520", vars{"path": "a/b/c d?e#f%20"}},
		{"x:{+path}", "x:", nil},
		{"x:{+path}{?q}", "x:a/b?q=1", vars{"path": "a/b", "q": "1"}},
		{"x:a{#at}", "x:a#/b?c", vars{"at": "/b?c"}},
		{"x:a{#at}", "x:a", vars{}},
		{"x:a{#at}", "x:a#", vars{"at": ""}},
		{"x:a{.ext}", "x:a.go", vars{"ext": "go"}},
		{"x:a{.ext}", "x:a", vars{}},
		{"x:a{.b,c}", "x:a.1.2", vars{"b": "1", "c": "2"}},

		{"x:a{/b,c}", "x:a/1", vars{"b": "1"}},
		{"x:a{/b,c}", "x:a/1/2", vars{"b": "1", "c": "2"}},
		{"x:a{/b,c}", "x:a/1/2/3", nil},
		{"x:a{/b,c}", "x:a%2F1", nil},
		{"x:a{/path*}", "x:a", vars{}},
		{"x:a{/path*}", "x:a/", vars{"path": ""}},
		{"x:a{/path*}", "x:a/b/c%2fd/", vars{"path": "b/c/d/"}},
		{"x:a{/path*}/end", "x:a/b/c/end", vars{"path": "b/c"}},
		{"x:a{/path*}{?q}", "x:a/b/c?q=/", vars{"path": "b/c", "q": "/"}},

		{"x:a{;b,c}", "x:a;b=1;c", vars{"b": "1", "c": ""}},
		{"x:a{;b,c}", "x:a;c;b=1", vars{"b": "1", "c": ""}},
		{"x:a{;b,c}", "x:a;bc", nil},
		{"x:a{;b}=1", "x:a;b=1", vars{"b": ""}},

		{"x:a{?q,lang}", "x:a", vars{}},
		{"x:a{?q,lang}", "x:a?q=1", vars{"q": "1"}},
		{"x:a{?q,lang}", "x:a?lang=de", vars{"lang": "de"}},
		{"x:a{?q,lang}", "x:a?q=1&lang=de", vars{"q": "1", "lang": "de"}},
		{"x:a{?q,lang}", "x:a?lang=de&q=a%26b%3D+c=d", vars{"q": "a&b=+c=d", "lang": "de"}},
		{"x:a{?q,lang}", "x:a?q=&lang", vars{"q": "", "lang": ""}},
		{"x:a{?q,lang}", "x:a?q=1&q=2", nil},
		{"x:a{?q,lang}", "x:a?q=1&other=2", nil},
		{"x:a{?q,lang}", "x:a?q=1&", nil},
		{"x:a{?q,lang}", "x:a?", nil},
		{"x:a{?q,lang}", "x:a&q=1", nil},
		{"x:a?f=1{&q}", "x:a?f=1&q=2", vars{"q": "2"}},
		{"x:a?f=1{&q}", "x:a?f=1", vars{}},

		// An encoded reserved character is not the raw one; hexadecimal digits have no case.
		{"x:a/b%2Fc/{id}", "x:a/b%2fc/1", vars{"id": "1"}},
		{"x:a/b/{id}", "x:a%2Fb/1", nil},
		{"x:%7euser/{id}", "x:~us%65r/1", vars{"id": "1"}},
	} {
		got, ok := mustURITemplate(t, test.template).match(test.uri)
		if ok != (test.want != nil) || !maps.Equal(got, test.want) {
			t.Errorf("%s on %s: got %q, %v; want %q", test.template, test.uri, got, ok, test.want)
		}
	}
}

// What has one reading comes back as it was.
func TestURITemplateRoundTrip(t *testing.T) {
	values := []string{"a", "a/b", "é ü", "50%", "%2F", "a,b;c=d&e?f#g", "..", "+", "\x00", "{x}"}
	templates := []string{"x:{a}", "x:{a}/{b}", "x:{a}?{b}", "x:{/a,b}", "x:{;a,b}", "x:{?a,b}", "x:y{?a}{&b}", "x:{a}{?b}", "x:{a}{/b*}"}
	for _, template := range templates {
		for _, a := range values {
			for _, b := range values {
				tmpl := mustURITemplate(t, template)
				vars := map[string]string{"a": a, "b": b}
				if len(tmpl.names()) == 1 {
					delete(vars, "b")
				}
				uri, err := tmpl.expand(vars)
				got, ok := tmpl.match(uri)
				if err != nil || !ok || !maps.Equal(got, vars) || checkURI(uri) != nil {
					t.Errorf("%s: %q gave %s, %v, and that %q", template, vars, uri, err, got)
				}
			}
		}
	}
}

// BUG-173 Template variable with slashes and escapes
func TestBUG173TemplateVariables(t *testing.T) {
	id, path := mustURITemplate(t, "res://x/{id}"), mustURITemplate(t, "res://f/{+path}")
	if got, ok := id.match("res://x/a%2Fb"); !ok || got["id"] != "a/b" {
		t.Errorf("got %q, %v; want a/b", got, ok)
	}
	if got, ok := id.match("res://x/a/b"); ok {
		t.Errorf("got %q; want no match", got)
	}
	if got, ok := path.match("res://f/a/b.txt"); !ok || got["path"] != "a/b.txt" {
		t.Errorf("got %q, %v; want a/b.txt", got, ok)
	}
	if got, ok := id.match("res://x/a%2520b"); !ok || got["id"] != "a%20b" {
		t.Errorf("got %q, %v; want a%%20b", got, ok)
	}
}

// BUG-175 Non-ASCII or space literal in a template
func TestBUG175LiteralForms(t *testing.T) {
	for _, template := range []string{"file:///docs/my café/{n}", "file:///docs/my%20caf%C3%A9/{n}"} {
		for _, uri := range []string{"file:///docs/my café/1", "file:///docs/my%20caf%C3%A9/1", "file:///docs/my%20caf%c3%a9/1"} {
			if got, ok := mustURITemplate(t, template).match(uri); !ok || got["n"] != "1" {
				t.Errorf("%s on %s: got %q, %v; want n=1", template, uri, got, ok)
			}
		}
	}
}

// BUG-176 Pattern match blows up
func TestBUG176LinearMatch(t *testing.T) {
	long := strings.Repeat("user1,", 50000)
	const linear = 2 * time.Second // under the race detector, on a busy machine; square time is minutes
	for _, test := range []struct {
		template, uri string
		ok            bool
	}{
		{"x:/users{/id*}", "x:/users/" + long + "/", true},
		{"x:/users{/id*}", "x:/users/" + long + "/%", false},
		{"x:/users/{id}", "x:/users/" + long + "/", false},
		{"x:{+a}u{+b}s{+c}e{+d}!", "x:" + long[:60000], false},
		{"x:{a,b,c,d}!", "x:" + long[:60000], false},
		{"x:{+a}{&a1,b1}{&a2,b2}!", "x:" + strings.Repeat("&a1=&b1&a2&b2=", 2000), false},
		{"x:{+z}{;a,b,c,d,e,f,g,h}!", "x:" + strings.Repeat(";h;g;f;e;d;c;b;a", 2000), false},
	} {
		tmpl, start := mustURITemplate(t, test.template), time.Now()
		_, ok := tmpl.match(test.uri)
		if took := time.Since(start); ok != test.ok || took > linear {
			t.Errorf("%s: got %v after %v; want %v within %v", test.template, ok, took, test.ok, linear)
		}
	}
}

// BUG-178 Unusual URIs refused at registration
func TestBUG178UnusualURIs(t *testing.T) {
	tmpl := mustURITemplate(t, "repo://{owner}/{repo}/contents{/path*}")
	want := map[string]string{"owner": "o", "repo": "r", "path": "a/b.go"}
	if got, _ := tmpl.match("repo://o/r/contents/a/b.go"); !maps.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
	for _, uri := range []string{"urn:x:y", "memo:1"} {
		if err := checkURI(uri); err != nil {
			t.Error(err)
		}
	}
	if checkURI("no scheme") == nil {
		t.Error("accepted")
	}
}

// FEAT-123
func TestCheckURI(t *testing.T) {
	const scheme = `must begin with a scheme (a letter, then letters, digits, "+", "-" or ".") and ":"`
	for uri, want := range map[string]string{
		"urn:x:y":           "",
		"a+b-1.c:":          "",
		"file:///docs/café": "",
		"":                  `URI "": ` + scheme,
		":x":                `URI ":x": ` + scheme,
		"/a:b":              `URI "/a:b": ` + scheme,
		"no scheme":         `URI "no scheme": ` + scheme,
		"my_scheme:x":       `URI "my_scheme:x": ` + scheme,
		"1a:x":              `URI "1a:x": ` + scheme,
		"é:x":               `URI "é:x": ` + scheme,
		"x:a b":             `URI "x:a b": ' ' at byte 3 must be percent-encoded`,
		"x:a\x00":           `URI "x:a\x00": '\x00' at byte 3 must be percent-encoded`,
		"x:\u0085":          `URI "x:\u0085": '\u0085' at byte 2 must be percent-encoded`,
		"x:\u007f":          `URI "x:\x7f": '\x7f' at byte 2 must be percent-encoded`,
	} {
		got := ""
		if err := checkURI(uri); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}

// Whatever the texts are, reading ends soon, and what was read is an expansion.
func FuzzURITemplate(f *testing.F) {
	for _, seed := range [][2]string{
		{"x:{a}-{b}", "x:1-2-3"},
		{"x:{+a}/{b,c}{.d}", "x:a/b%2Fc,d.e"},
		{"x:é{/a*}{?q,lang}{&r}", "x:%C3%A9/1/2?lang=%26&q&r="},
		{"x:{;a,b}=1{#c}", "x:;b=;a=1#%2541"},
		{"x:{+a}~{;b,c}", "x:z~;b=1~;c=0;b=2"},
		{"x:{a:3}", "x:%zz"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		tmpl, err := parseURITemplate(template)
		if err != nil {
			return
		}
		start := time.Now()
		vars, ok := tmpl.match(uri)
		if took := time.Since(start); took > time.Second+time.Duration(len(template)*len(uri))*time.Microsecond {
			t.Fatalf("took %v", took)
		}
		if !ok {
			return
		}
		again, err := tmpl.expand(vars)
		if err != nil || checkURI(again) != nil {
			t.Fatalf("%q expands to %q, %v", vars, again, err)
		}
		if _, ok := tmpl.match(again); !ok {
			t.Fatalf("%q expands to %q, which does not match", vars, again)
		}
	})
}

func mustURITemplate(t *testing.T, s string) *uriTemplate {
	t.Helper()
	tmpl, err := parseURITemplate(s)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}
