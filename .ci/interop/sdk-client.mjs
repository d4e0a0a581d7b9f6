// Drives mcp-server with the client of the TypeScript SDK: initialize, list all, call
// with progress, cancel a call, read, subscribe and see an update, complete, set the
// level and see a log line, answer an elicitation and a sampling.
// Usage: node sdk-client.mjs MCP-SERVER stdio|mcp|sse
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync, existsSync, rmSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
  LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'sdk-client-')));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
writeFileSync(join(dir, 'notes.txt'), 'milk\nbread\n');
writeFileSync(join(dir, 'pixel.bin'), Buffer.from([0, 1, 2, 255]));
for (let i = 0; i < 200; i++) writeFileSync(join(dir, `file${i}.txt`), `line ${i}\n`.repeat(200));

const seen = { logs: [], updates: [], asked: [] };
const client = new Client({ name: 'sdk', version: '1' }, { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } });
client.setRequestHandler(ElicitRequestSchema, async (r) => { seen.asked.push(r.params.message); return { action: 'accept', content: {} }; });
client.setRequestHandler(CreateMessageRequestSchema, async () => ({ role: 'assistant', model: 'test', content: { type: 'text', text: 'a shopping list' } }));
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: pathToFileURL(dir).href, name: 'all' }] }));
client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => seen.logs.push(n.params));
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => seen.updates.push(n.params.uri));

// until waits for a condition, at most ten seconds.
async function until(what, condition) {
  for (let i = 0; i < 200; i++) {
    if (condition()) return console.log(what);
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(`did not see: ${what}`);
}
const text = (r) => r.content.map((c) => c.text ?? '').join('\n');

const [command, transport] = process.argv.slice(2);
const server = { exited: Promise.resolve(0) };
switch (transport) {
  case 'stdio':
    await client.connect(new StdioClientTransport({ command, args: [dir], stderr: 'inherit' }));
    break;
  case 'mcp':
    await client.connect(new StreamableHTTPClientTransport(await serve()));
    break;
  case 'sse':
    await client.connect(new SSEClientTransport(await serve()));
    break;
}

// serve starts the server over HTTP, until this process ends, and returns its URL.
async function serve() {
  server.process = spawn(command, ['-http', '127.0.0.1:0', '-sse', dir], { stdio: ['ignore', 'ignore', 'pipe'] });
  process.on('exit', () => server.process.kill('SIGKILL'));
  server.exited = once(server.process, 'exit').then(([code]) => code);
  let said = '';
  server.process.stderr.on('data', (data) => { said += data; });
  await until('serving', () => said.includes(`/${transport}\n`));
  return new URL(said.match(`http://\\S+/${transport}\n`)[0].trim());
}
assert.ok(client.getServerVersion().name);
console.log('initialize', client.getServerVersion().name);

const tools = (await client.listTools()).tools.map((t) => t.name);
const prompts = (await client.listPrompts()).prompts.map((p) => p.name);
const templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
const resources = [];
for (let cursor; ;) {
  const page = await client.listResources(cursor ? { cursor } : {});
  resources.push(...page.resources);
  if ((cursor = page.nextCursor) === undefined) break;
}
console.log('list', tools.length, 'tools,', prompts.length, 'prompts,', resources.length, 'resources,', templates.length, 'templates');
assert.ok(tools.length >= 6 && prompts.length >= 1 && templates.length >= 1);
assert.ok(resources.some((r) => r.uri.endsWith('/notes.txt')));

const uri = pathToFileURL(join(dir, 'notes.txt')).href;
assert.equal((await client.readResource({ uri })).contents[0].text, 'milk\nbread\n');
const blob = (await client.readResource({ uri: pathToFileURL(join(dir, 'pixel.bin')).href })).contents[0].blob;
assert.deepEqual([...Buffer.from(blob, 'base64')], [0, 1, 2, 255]);
await assert.rejects(client.readResource({ uri: uri + '.none' }), (e) => e.code === -32002);
await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }), (e) => e.code === -32002);
console.log('read');

const reports = [];
const found = await client.callTool({ name: 'search', arguments: { query: 'line 7' } }, undefined, { onprogress: (p) => reports.push(p.progress) });
assert.ok(!found.isError && found.structuredContent, text(found));
assert.ok(reports.length > 0 && reports.every((p, i) => i === 0 || p > reports[i - 1]));
console.log('call with', reports.length, 'progress reports');

const stop = new AbortController();
const slow = client.callTool({ name: 'checksum', arguments: {} }, undefined, { signal: stop.signal, onprogress: () => stop.abort('enough') });
await assert.rejects(slow);
await client.ping();
console.log('cancel');

await client.subscribeResource({ uri });
writeFileSync(join(dir, 'notes.txt'), 'milk\nbread\neggs\n');
await until('update', () => seen.updates.includes(uri));
await client.unsubscribeResource({ uri });

const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: prompts[0] }, argument: { name: 'path', value: 'not' } });
assert.deepEqual(completion.values, ['notes.txt']);
console.log('complete');

await client.setLoggingLevel('debug');
const written = await client.callTool({ name: 'write_file', arguments: { path: 'notes.txt', content: 'tea\n' } });
assert.ok(!written.isError, text(written));
assert.equal(readFileSync(join(dir, 'notes.txt'), 'utf8'), 'tea\n');
assert.ok(seen.asked.length > 0, 'nobody was asked before a file was overwritten');
await until('log line', () => seen.logs.length > 0);
console.log('elicitation:', seen.asked[0]);

const removed = await client.callTool({ name: 'delete_file', arguments: { path: 'file0.txt' } });
assert.ok(!removed.isError && !existsSync(join(dir, 'file0.txt')), text(removed));

const summary = await client.callTool({ name: 'summarise', arguments: { path: 'notes.txt' } });
assert.match(text(summary), /a shopping list/);
console.log('sampling');

for (const p of prompts) {
  const got = await client.getPrompt({ name: p, arguments: { path: p.includes('folder') ? '.' : 'notes.txt' } });
  assert.ok(got.messages.length > 0);
}
console.log('prompts');
if (client.transport.terminateSession) await client.transport.terminateSession();
await client.close();
server.process?.kill('SIGTERM');
assert.equal(await server.exited, 0);
