package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/mcp"
)

// maxServersFile is the most bytes of a file of servers.
const maxServersFile = 1 << 20

// A named server is one that a file of servers has a name for. Its exported fields are as
// they stand in the file, before anything is put in from the environment: so they are
// shown, and so they are allowed.
type namedServer struct {
	File, Name string // File is absolute
	Command    string
	Args       []string
	Env        map[string]string
	Cwd        string
	URL        string
	Headers    map[string]string
	Type       string

	// What is used.
	dir         string // of the command
	environment []string
	host        string   // that the URL leads to
	given       []string // names of the headers of the command line, which the URL gets, too
}

// serverSchema is what is wanted of a server in a file; what else is there is for others.
const serverSchema = `{"type":"object","properties":{
	"command":{"type":"string","minLength":1},"args":{"type":"array","items":{"type":"string"}},
	"env":{"type":"object","propertyNames":{"pattern":"^[^=]+$"},"additionalProperties":{"type":"string"}},"cwd":{"type":"string"},
	"url":{"type":"string","minLength":1},"headers":{"type":"object","additionalProperties":{"type":"string"}},
	"type":{"enum":["stdio","http","streamable-http","streamableHttp","sse"]}}}`

// servers lists the servers that have names. One that is not as it should be does not
// keep the others away.
func servers(ctx context.Context, p *program, _ []string) error {
	var seen []string
	var failed error // the last one, for the exit code; those before are told of at once
	fail := func(err error) {
		if err != nil && failed != nil {
			p.finish(ctx, failed)
		}
		failed = cmp.Or(err, failed)
	}
	for _, file := range p.serverFiles() {
		names, values, err := p.readServers(file)
		fail(err)
		for i, name := range names {
			if slices.Contains(seen, name) {
				continue // the file before is asked first
			}
			seen = append(seen, name)
			s, err := parseServer(file, name, values[i])
			if err == nil {
				err = p.listServer(s)
			}
			fail(err)
		}
	}
	if len(seen) == 0 && failed == nil {
		p.note("no servers are known; they would stand in " + strings.Join(p.serverFiles(), " or "))
	}
	return failed
}

func (p *program) listServer(s *namedServer) error {
	if !p.json {
		p.printf("%s: %s (%s)", s.Name, s.about(), s.File)
		return nil
	}
	return p.printJSON(struct {
		Name    string   `json:"name"`
		File    string   `json:"file"`
		Command []string `json:"command,omitempty"`
		URL     string   `json:"url,omitempty"`
	}{s.Name, s.File, s.words(), publicURL(s.URL)})
}

// named finds a server by its name, in the file of -config, or else in the first of the
// usual places that has it, and returns its URL or command.
func (p *program) named(name string) (target []string, err error) {
	for _, file := range p.serverFiles() {
		names, values, err := p.readServers(file)
		if err != nil {
			return nil, err
		}
		i := slices.Index(names, name)
		if i < 0 {
			continue
		}
		if p.entry, err = parseServer(file, name, values[i]); err != nil {
			return nil, err
		}
		if p.entry.URL != "" {
			return p.entry.online(&p.header)
		}
		return p.entry.local()
	}
	return nil, usagef("which server? %q is no URL, and no name in %s", name, strings.Join(p.serverFiles(), " or "))
}

// serverFiles are where servers have names.
func (p *program) serverFiles() []string {
	files := []string{".mcp.json"}
	if p.serversFile != "" {
		files[0] = p.serversFile
	} else if dir, err := p.config(); err == nil {
		files = append(files, filepath.Join(dir, "mcp-client", "servers.json"))
	}
	for i, file := range files {
		if abs, err := filepath.Abs(file); err == nil {
			files[i] = abs
		}
	}
	return files
}

// readServers reads a file of servers. That none is in a usual place is no error.
func (p *program) readServers(file string) (names []string, values []json.RawMessage, err error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && p.serversFile == "" { // a pipe would wait for its writer
		return nil, nil, usagef("%s is no ordinary file", file)
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) && p.serversFile == "" {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, usagef("%v", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxServersFile+1))
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var whole map[string]json.RawMessage
	switch {
	case err != nil:
		return nil, nil, usagef("%v", err)
	case len(data) > maxServersFile:
		return nil, nil, usagef("%s: more than %d bytes", file, maxServersFile)
	case syntax(data) != nil:
		return nil, nil, usagef("%s is no JSON: %v", file, syntax(data))
	case kindOf(bytes.TrimSpace(data)) != "object" || json.Unmarshal(data, &whole) != nil || whole["mcpServers"] == nil || kindOf(whole["mcpServers"]) != "object":
		return nil, nil, usagef(`%s: want an object with the member "mcpServers", an object of servers by their names`, file)
	}
	names, values = members(whole["mcpServers"])
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return nil, nil, usagef("%s: server %q stands there twice", file, name)
		}
		seen[name] = true
	}
	return names, values, nil
}

func parseServer(file, name string, text json.RawMessage) (*namedServer, error) {
	s := &namedServer{File: file, Name: name}
	schema, err := mcp.CompileSchema([]byte(serverSchema))
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(text); err != nil {
		return nil, s.wrong("%v", err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, s.wrong("%v", err)
	}
	for member, into := range map[string]any{"command": &s.Command, "args": &s.Args, "env": &s.Env, "cwd": &s.Cwd,
		"url": &s.URL, "headers": &s.Headers, "type": &s.Type} {
		if value, ok := given[member]; ok {
			if err := json.Unmarshal(value, into); err != nil {
				return nil, s.wrong("/%s: %v", member, err)
			}
		}
	}
	switch {
	case s.Command == "" && s.URL == "":
		return nil, s.wrong("command or url is missing")
	case s.Command != "" && s.URL != "":
		return nil, s.wrong("there is a command and a url: want one of them")
	case s.Type != "" && (s.Type == "stdio") != (s.Command != ""):
		return nil, s.wrong("type %q is not for what it has", s.Type)
	}
	return s, nil
}

func (s *namedServer) wrong(format string, args ...any) error {
	return usagef("%s: server %q: %s", s.File, s.Name, fmt.Sprintf(format, args...))
}

// local makes the command ready: it runs in cwd, which counts from the folder of the file
// as a command that is a path does, and is that folder if there is none. So it is the same
// command wherever this program runs.
func (s *namedServer) local() (command []string, err error) {
	expand := s.expander(&err)
	base := filepath.Dir(s.File)
	from := func(dir, path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	s.dir = from(base, expand("/cwd", s.Cwd))
	name := expand("/command", s.Command)
	if filepath.Base(name) != name {
		name = from(base, name)
	}
	command = []string{name}
	for i, arg := range s.Args {
		command = append(command, expand(fmt.Sprintf("/args/%d", i), arg))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		s.environment = append(s.environment, name+"="+expand("/env/"+name, s.Env[name]))
	}
	return command, err
}

// online returns the URL, and adds to the headers; those that are there hold.
func (s *namedServer) online(h *http.Header) (target []string, err error) {
	expand := s.expander(&err)
	u := expand("/url", s.URL)
	parsed, wrong := url.Parse(u)
	switch {
	case err != nil:
	case !isURL(u):
		err = s.wrong("/url: want one that begins with http:// or https://")
	case wrong != nil || parsed.Host == "":
		err = s.wrong("/url: it cannot be understood")
	default:
		s.host = parsed.Host
	}
	given := h.Clone()
	s.given = slices.Sorted(maps.Keys(given))
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value := expand("/headers/"+name, s.Headers[name])
		if _, ok := given[http.CanonicalHeaderKey(name)]; ok {
			continue
		}
		var headerErr error
		_ = headers{h, &headerErr}.Set(name + ":" + value) // which keeps its error apart
		if headerErr != nil || strings.Contains(name, ":") {
			err = s.wrong("/headers: %q is no header, or its value has control characters", name)
		}
	}
	return []string{u}, err
}

// reference is a part of a text that comes from the environment.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expander puts into texts what they take from the environment: for ${NAME} the variable,
// which must be set, and for ${NAME:-TEXT} the text where it is not. All else stays.
func (s *namedServer) expander(err *error) func(place, text string) string {
	return func(place, text string) string {
		return reference.ReplaceAllStringFunc(text, func(ref string) string {
			m := reference.FindStringSubmatch(ref)
			value, ok := os.LookupEnv(m[1])
			switch {
			case ok:
				return value
			case m[2] == "" && *err == nil:
				*err = s.wrong("%s: %s is not set, and there is no default", place, m[1])
			}
			return strings.TrimPrefix(m[2], ":-")
		})
	}
}

// allow makes sure that the person has agreed to what a file makes this program do: to
// start a command, or to send what the environment or the command line has to a URL. It
// asks the first time, and whenever the file says something else. -yes is no answer: who gets a file with a
// project has not read it by that.
func (p *program) allow(ctx context.Context) error {
	s := p.entry
	if s == nil || s.URL != "" && len(s.taken())+len(s.given) == 0 {
		return nil
	}
	lines, key, sum := s.shown(), s.File+"\x00"+s.Name, s.sum()
	var before []byte
	store, err := p.allowed()
	if err == nil {
		before, err = store.Load(ctx, key)
	}
	if err != nil {
		p.note("what was allowed cannot be read: " + err.Error())
	}
	if string(before) == sum {
		return nil
	}
	if before != nil {
		lines = append(lines, "This is not what you allowed before.")
	}
	err = p.sitting(ctx, func() error {
		for _, line := range lines {
			p.person.say("%s", line)
		}
		_, err := p.person.choose(ctx, "Allow it, now and later? y yes, d no: ", "y")
		return err
	})
	switch {
	case p.person.err != nil:
		for _, line := range lines {
			p.note(line)
		}
		return fmt.Errorf("server %q of %s is not used, since nobody has allowed it, and %w: run this once at a terminal, or name the command or URL itself", s.Name, s.File, p.person.err)
	case errors.Is(err, errDeclined), errors.Is(err, errDismissed):
		return fmt.Errorf("server %q of %s is not used, since you did not allow it", s.Name, s.File)
	case err != nil || store == nil:
		return err
	}
	if err := store.Save(ctx, key, []byte(sum)); err != nil {
		p.note("what you allow is not kept: " + err.Error())
	}
	return nil
}

func (p *program) allowed() (*mcp.FileStore, error) {
	dir, err := p.config()
	if err != nil {
		return nil, err
	}
	return &mcp.FileStore{Dir: filepath.Join(dir, "mcp-client", "allowed")}, nil
}

// shown tells a person all that counts, and no secret.
func (s *namedServer) shown() []string {
	if s.URL != "" {
		lines := []string{
			fmt.Sprintf("%s wants to use a server over HTTP, as %q:", s.File, s.Name),
			"  URL: " + publicURL(s.URL), "  host: " + visible(s.host)}
		if taken := s.taken(); len(taken) > 0 {
			lines = append(lines, "  It is sent from your environment: "+strings.Join(taken, ", "))
		}
		if len(s.given) > 0 {
			lines = append(lines, "  It is sent from your command line: "+strings.Join(s.given, ", "))
		}
		return lines
	}
	lines := []string{fmt.Sprintf("%s wants to start a server, as %q:", s.File, s.Name),
		"  command: " + s.about(), "  in the folder: " + s.dir}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value := shellText([]string{s.Env[name]})
		if secret(name, s.Env[name]) {
			value = "(not shown)"
		}
		lines = append(lines, "  with "+name+"="+value)
	}
	return lines
}

// about is what the server is, in a line.
func (s *namedServer) about() string {
	if s.URL != "" {
		return publicURL(s.URL)
	}
	return shellText(s.words())
}

func (s *namedServer) words() []string {
	if s.Command == "" {
		return nil
	}
	return append([]string{s.Command}, s.Args...)
}

// taken are the variables of the environment that the URL and the headers name.
func (s *namedServer) taken() (names []string) {
	for _, text := range append(slices.Collect(maps.Values(s.Headers)), s.URL) {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sum stands for all that the file says of the server.
func (s *namedServer) sum() string {
	text, _ := json.Marshal(s) // strings can always be encoded
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// secretName and secretValue tell what must not be shown. What is taken from the
// environment by its name is no secret, and by its value nothing is that may make a command
// run something else.
var (
	secretName  = regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|credential|cookie|dsn|(^|_)(pass|pwd|auth)$`)
	secretValue = regexp.MustCompile(`^[A-Za-z0-9+_=.-]{20,}$|^[a-z0-9+.-]+://[^/\s]*@[^\s]*$`)
	telling     = regexp.MustCompile(`(?i)^(LD|DYLD)_|(^|_)ENV$|PATH$|OPTS$|OPTIONS$|FLAGS$|STARTUP$|COMMAND$|PRELOAD`)
)

func secret(name, value string) bool {
	return reference.ReplaceAllString(value, "") != "" &&
		(secretName.MatchString(name) || secretValue.MatchString(value) && !telling.MatchString(name))
}

// publicURL is the URL of a server as it stands in a file, without what may be secret. It
// ends where a parser takes the path to end, lest another host is shown than is meant.
func publicURL(text string) string {
	if end := strings.IndexAny(text, "?#"); end >= 0 {
		text = text[:end]
	}
	return regexp.MustCompile(`://[^/]*@`).ReplaceAllString(text, "://")
}

// command is the command of the server of the target, with what its file says of it.
func (p *program) command(target []string) *exec.Cmd {
	cmd, shown := exec.Command(target[0], target[1:]...), target
	if s := p.entry; s != nil {
		cmd.Dir, cmd.Env, shown = s.dir, append(os.Environ(), s.environment...), s.words()
	}
	p.server = shellText(shown)
	p.note("starting: " + p.server)
	return cmd
}
