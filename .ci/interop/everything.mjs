// Drives mcp-client against the reference server "everything" over stdio: every
// tool it lists, every prompt, every resource it lists, a resource of each template.
// Usage: node everything.mjs MCP-CLIENT SERVER-SCRIPT
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';

const [client, server] = process.argv.slice(2);
const target = ['--', process.execPath, server, 'stdio'];

// run runs a subcommand and returns the JSON values that it printed.
function run(args, { code = 0, flags = [] } = {}) {
  const r = spawnSync(client, ['-json', '-q', '-yes', ...flags, ...args, ...target], { encoding: 'utf8', timeout: 60_000, input: '' });
  assert.equal(r.status, code, `${args.join(' ')}: exit ${r.status}, want ${code}\n${r.stdout}\n${r.stderr}`);
  return r.stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
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
  'trigger-elicitation-request': [{}, (r) => assert.match(text(r), /accept|provided/i)],
  // Without a person at a terminal the client refuses to sample, and says so.
  'trigger-sampling-request': [{ prompt: 'hi' }, (r) => assert.ok(r.isError), { code: 1 }],
  // Runs only as a task, which this client does not ask for: a protocol error.
  'simulate-research-query': [{ topic: 'x' }, undefined, { code: 4 }],
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
