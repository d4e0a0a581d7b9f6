// Drives mcp-client against reference servers with the words that a person types: every
// tool, prompt and resource that they list, in one shell and alone ("everything" not alone:
// everything.mjs does that). Nobody is at a terminal.
// Usage: node words.mjs MCP-CLIENT FOLDER-OF-SERVERS
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [client, servers] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), 'words-'));
process.on('exit', () => rmSync(dir, { recursive: true }));
const file = (name) => join(dir, name);

// What is called, in this order: words, and what the answer must have.
const peers = {
  'server-filesystem': { args: [dir], calls: [
    [`create_directory path=${file('sub')}`, /sub/],
    [`write_file path=${file('a.txt')} content=@${file('in.txt')}`, /wrote/i],
    [`write_file path=${file('at.txt')} content=@@home`, /wrote/i],
    [`read_file path=${file('at.txt')}`, /^@home$/m],
    [`read_text_file path=${file('a.txt')} head=1`, /^one$/m],
    [`read_media_file path=${file('dot.png')}`, /image\/png/],
    [`read_multiple_files paths='["${file('a.txt')}"]'`, /one/],
    [`edit_file path=${file('a.txt')} edits='[{"oldText":"two","newText":"2"}]' dryRun=true`, /\+2/],
    [`list_directory path=${dir}`, /\[DIR\] sub/],
    [`list_directory_with_sizes path=${dir} sortBy=size`, /\[DIR\] sub/],
    [`directory_tree path=${dir} excludePatterns:='["*.png"]'`, /a\.txt/],
    [`search_files path=${dir} pattern='**/*.txt'`, /a\.txt/],
    [`get_file_info path=${file('a.txt')}`, /size: 8/],
    ['list_allowed_directories', /words-/],
    [`move_file source=${file('a.txt')} destination=${file('b.txt')}`, /moved/i],
    [`move_file source=${file('b.txt')} destination=${file('a.txt')}`, /moved/i],
  ] },
  'server-memory': { args: [], env: { MEMORY_FILE_PATH: file('memory.jsonl') }, calls: [
    [`create_entities entities='[{"name":"Ada","entityType":"person","observations":["counts"]},{"name":"Bob","entityType":"person","observations":[]}]'`, /Ada/],
    [`create_relations relations='[{"from":"Ada","to":"Bob","relationType":"knows"}]'`, /knows/],
    [`add_observations observations='[{"entityName":"Bob","contents":["listens"]}]'`, /listens/],
    ['read_graph', /knows/],
    ['search_nodes query=counts', /Ada/],
    [`open_nodes names='["Bob"]'`, /listens/],
    [`delete_observations deletions='[{"entityName":"Bob","observations":["listens"]}]'`, /deleted/i],
    [`delete_relations relations='[{"from":"Ada","to":"Bob","relationType":"knows"}]'`, /deleted/i],
    [`delete_entities entityNames='["Ada","Bob"]'`, /deleted/i],
  ] },
  'server-everything': { args: ['stdio'], flags: ['-root', dir], calls: [
    [`echo message="a 'b' \\"c\\" $HOME"`, /Echo: a 'b' "c" \$HOME/],
    ['get-annotated-message messageType=error includeImage=true', /image\/png/],
    ['get-env', /PATH/],
    ['get-resource-links count=3', /resource/],
    ['get-resource-reference resourceType=Blob resourceId=2', /demo:/],
    ["get-structured-content location='New York'", /temperature/],
    ['get-sum a=2 b=40', /42/],
    ['get-tiny-image', /image\/png/],
    ["gzip-file-as-resource name=x.gz data='data:text/plain,hello' outputType=resource", /gzip/],
    ['toggle-simulated-logging', /logging/i],
    ['toggle-subscriber-updates', /updat/i],
    ['trigger-long-running-operation duration=1 steps=2', /Steps: 2/],
    ['get-roots-list', /file:\/\//],
    ['trigger-elicitation-request', /declined/],
    ['trigger-url-elicitation url=https://example.com/x', /decline/],
    ['trigger-sampling-request prompt=hi', /reject/i, 1],
    ['simulate-research-query topic=x', /Research Report: x/],
  ], prompts: ['simple-prompt', 'args-prompt city=Paris', 'completable-prompt department=Engineering name=Alice', 'resource-prompt resourceType=Text resourceId=1'],
    uris: ['demo://resource/dynamic/text/1', 'demo://resource/dynamic/blob/2'] },
};

// run runs the client with words, and stdin.
function run(peer, words, input = '') {
  const line = [...words, ...(peer.flags ?? []), '--', process.execPath, peer.script, ...peer.args];
  return spawnSync(client, ['-q', ...line], { encoding: 'utf8', timeout: 120_000, input, cwd: dir, env: { ...process.env, ...peer.env } });
}

// split splits a line as a shell does.
const split = (line) => spawnSync('sh', ['-c', `HOME='$HOME'; printf '%s\\0' ${line}`], { encoding: 'utf8' }).stdout.split('\0').slice(0, -1);

// list lists what a subcommand lists, as JSON.
function list(peer, what) {
  const r = run(peer, ['-json', what]);
  assert.ok(r.status === 0 || r.status === 4 && /does not offer/.test(r.stderr), `${what}: ${r.stderr}`);
  return r.stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

for (const [name, peer] of Object.entries(peers)) {
  peer.script = join(servers, name, 'dist', 'index.js');
  writeFileSync(file('in.txt'), 'one\ntwo\n');
  writeFileSync(file('dot.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'));
  const tools = list(peer, 'tools').map((t) => t.name);
  assert.deepEqual([...new Set(peer.calls.map(([line]) => line.split(' ')[0]))].sort(), [...tools].sort(), `${name}: the tools called are not those listed`);
  const prompts = list(peer, 'prompts').map((p) => p.name);
  assert.deepEqual((peer.prompts ?? []).map((line) => line.split(' ')[0]).sort(), prompts.sort());
  const uris = [...list(peer, 'resources').map((r) => r.uri).filter(Boolean), ...(peer.uris ?? [])];

  const lines = [...peer.calls.map(([line, want, code]) => ['call ' + line, want, code ?? 0]),
    ...(peer.prompts ?? []).map((line) => ['prompt ' + line, /user:/, 0]), ...uris.map((uri) => [`read ${uri}`, /./, 0])];
  for (const [line, want, code] of name === 'server-everything' ? [] : lines) {
    const r = run(peer, split(line));
    assert.equal(r.status, code, `${name}: ${line}: exit ${r.status}, want ${code}\n${r.stdout}\n${r.stderr}`);
    assert.match(r.stdout, want, `${name}: ${line}`);
  }

  // In one shell; what follows is asked for before each line.
  rmSync(file('memory.jsonl'), { force: true });
  const asked = lines.flatMap(([line]) => [line.split(' ').slice(0, 2).join(' ') + ' ?', line]);
  const shell = run(peer, ['shell'], asked.join('\n') + '\n');
  assert.equal(shell.status, lines.find(([, , code]) => code)?.[2] ?? 0, `${name}: shell: ${shell.stderr}`);
  let at = 0;
  for (const [line, want] of lines) {
    const found = shell.stdout.slice(at).search(want);
    assert.ok(found >= 0, `${name}: ${line}: not in what the shell printed`);
    at += found;
  }
  const bench = run(peer, ['bench', '-n', '50', '-c', '5', '-json', ...split(peer.calls.find(([line]) => /^(get-sum|read_graph|list_allowed)/.test(line))[0])]);
  assert.equal(JSON.parse(bench.stdout).calls, 50, bench.stderr);
  console.log(`${name}: ${tools.length} tools, ${prompts.length} prompts, ${uris.length} resources`);
}
