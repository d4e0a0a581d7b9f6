// Drives mcp-client against the reference server "everything": every tool it lists,
// every prompt, every resource it lists, a resource of each template.
// Usage: node everything.mjs MCP-CLIENT SERVER-SCRIPT stdio|streamableHttp|sse
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';

const [client, server, transport] = process.argv.slice(2);
const target = transport === 'stdio' ? ['--', process.execPath, server, 'stdio'] : [await serve()];

// serve starts the server over HTTP, until this process ends, and returns its URL.
async function serve() {
  const probe = createServer().listen(0);
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  const child = spawn(process.execPath, [server, transport], { env: { ...process.env, PORT: port }, stdio: 'ignore' });
  child.unref();
  process.on('exit', () => child.kill());
  for (let i = 0; i < 200; i++) {
    const socket = connect(port, '127.0.0.1');
    const up = await new Promise((done) => socket.on('connect', () => done(true)).on('error', () => done(false)));
    socket.destroy();
    if (up) break;
    assert.equal(child.exitCode, null, 'the server ended');
    await new Promise((done) => setTimeout(done, 50));
  }
  return `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`;
}

// run runs a subcommand and returns the JSON values that it printed.
function run(args, { code = 0, flags = [] } = {}) {
  const r = spawnSync(client, ['-json', '-q', '-yes', ...flags, ...args, ...target], { encoding: 'utf8', timeout: 60_000, input: '' });
  assert.equal(r.status, code, `${args.join(' ')}: exit ${r.status}, want ${code}\n${r.stdout}\n${r.stderr}`);
  return r.stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

// typed runs a subcommand on a terminal of its own and types answers: each when its
// prompt is seen, the last one as often as it takes to come to the end.
async function typed(args, answers) {
  const quote = (a) => `'${a.replaceAll("'", `'\\''`)}'`;
  const line = [client, '-q', ...args, ...target].map(quote).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], { timeout: 60_000 });
  let screen = '', at = 0;
  child.stdout.on('data', (data) => {
    screen += data;
    for (const [prompt, answer] of answers) {
      const found = screen.slice(at).search(prompt);
      if (found < 0) continue;
      at = screen.length;
      child.stdin.write(answer + '\n');
      return;
    }
  });
  const code = await new Promise((done) => child.on('close', done));
  assert.equal(code, 0, screen);
  return screen;
}

const text = (result) => result.content.filter((c) => c.type === 'text').map((c) => c.text).join('\n');
const calls = {
  'echo': [{ message: 'héllo <&> \u2028' }, (r) => assert.equal(text(r), 'Echo: héllo <&> \u2028')],
  'get-annotated-message': [{ messageType: 'error', includeImage: true }, (r) => {
    assert.equal(r.content[0].annotations.priority, 1);
    assert.equal(r.content[1].type, 'image');
  }],
  'get-env': [{}, (r) => assert.ok('PATH' in JSON.parse(text(r)))],
  'get-resource-links': [{ count: 4 }, (r) => assert.equal(r.content.filter((c) => c.type === 'resource_link').length, 4)],
  'get-resource-reference': [{ resourceType: 'Blob', resourceId: 2 }, (r) => assert.ok(r.content.find((c) => c.type === 'resource').resource.blob)],
  'get-structured-content': [{ location: 'Chicago' }, (r) => assert.equal(typeof r.structuredContent.temperature, 'number')],
  'get-sum': [{ a: 2, b: 40 }, (r) => assert.match(text(r), /42/)],
  'get-tiny-image': [{}, (r) => assert.ok(r.content.some((c) => c.type === 'image' && c.mimeType === 'image/png'))],
  'gzip-file-as-resource': [{ name: 'x.gz', data: 'data:text/plain,hello', outputType: 'resource' }, (r) => assert.equal(r.content[0].type, 'resource')],
  'toggle-simulated-logging': [{}, (r) => assert.match(text(r), /logging/i)],
  'toggle-subscriber-updates': [{}, (r) => assert.match(text(r), /updat/i)],
  'trigger-long-running-operation': [{ duration: 1, steps: 4 }, (r) => assert.match(text(r), /Steps: 4/)],
  'get-roots-list': [{}, (r) => assert.match(text(r), /file:\/\//), { flags: ['-root', tmpdir()] }],
  // Without a person at a terminal the client declines what it cannot fill in, and
  // refuses to sample.
  'trigger-elicitation-request': [{}, (r) => assert.match(text(r), /declined/)],
  'trigger-sampling-request': [{ prompt: 'hi' }, (r) => assert.ok(r.isError), { code: 1 }],
  'trigger-url-elicitation': [{ url: 'https://example.com/x' }, (r) => assert.match(text(r), /"action": "accept"/)],
  // Runs only as a task.
  'simulate-research-query': [{ topic: 'x' }, (r) => assert.match(text(r), /^# Research Report: x/)],
};

const info = run(['info'])[0];
assert.equal(info.protocolVersion, '2025-11-25');

const tools = run(['tools'], { flags: ['-root', tmpdir()] });
for (const tool of tools) {
  assert.ok(calls[tool.name], `no call is known for tool ${tool.name}`);
  const [args, check, options] = calls[tool.name];
  const out = run(['call', tool.name, JSON.stringify(args)], options);
  if (check) check(out[0]);
  console.log('tool', tool.name);
}
assert.ok(tools.length >= 13, `only ${tools.length} tools were listed`);

const values = { city: 'Paris', department: 'Engineering', name: 'Alice', resourceType: 'Text', resourceId: '1' };
const prompts = run(['prompts']);
for (const p of prompts) {
  const args = (p.arguments ?? []).filter((a) => a.required).map((a) => `${a.name}=${values[a.name]}`);
  assert.ok(run(['prompt', p.name, ...args])[0].messages.length > 0, p.name);
  console.log('prompt', p.name);
}
assert.ok(prompts.length >= 4);

const listed = run(['resources']);
const uris = listed.map((r) => r.uri).filter(Boolean);
for (const uri of [...uris, 'demo://resource/dynamic/text/1', 'demo://resource/dynamic/blob/2']) {
  const [{ contents }] = run(['read', uri]);
  assert.equal(contents[0].uri, uri);
  assert.ok('text' in contents[0] || 'blob' in contents[0], uri);
  console.log('resource', uri);
}
assert.ok(uris.length >= 5);
run(['read', 'demo://resource/nope'], { code: 4 });

const [completion] = run(['complete', 'prompt:completable-prompt', 'department', 'E']);
assert.ok((completion.values ?? completion.completion.values).includes('Engineering'));
console.log('completion');

const form = await typed(['call', 'trigger-elicitation-request'],
  [[/Send it\?.*: $/, 'y'], [/String.*\r?\n.*legal name\r?\n> $/, 'Ada'], [/> $/, '']]);
assert.match(form, /"action": "accept"/);
assert.match(form, /"name": "Ada"/);
console.log('elicitation on a terminal');

const sampled = await typed(['call', 'trigger-sampling-request', 'prompt=hi'], [[/nothing\s+before it refuses\.\s+> $/, 'It is fine\n.'], [/Send it\? y yes, r again, d refuse: $/, 'y']]);
assert.match(sampled, /"text": "It is fine"/);
console.log('sampling on a terminal');
