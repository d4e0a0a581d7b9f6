// A person at a browser and a terminal: gets in, is refused, allows more, logs out.
// Usage: node login.mjs DIR-OF-OUR-COMMANDS WORK-DIR SHOTS-DIR-OR-EMPTY
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { Chromium } from './chromium.mjs';

const [bin, work, shots] = process.argv.slice(2);
const password = 'correct horse battery';
const config = `${work}/config`, folder = `${work}/folder`, users = `${work}/users`;
const printed = []; // by both programs
const secrets = new Set([password]);

for (const dir of [config, folder, `${work}/bin`]) mkdirSync(dir);
writeFileSync(`${folder}/a.txt`, 'hello');

// The command that opens a browser tells us what for.
writeFileSync(`${work}/bin/xdg-open`, `#!/bin/sh
exec '${process.execPath}' -e 'require("net").connect(process.argv[1]).end(process.argv[2])' '${work}/opened' "$1"
`, { mode: 0o755 });
let opened = () => assert.fail('the browser was opened');
createServer(async (socket) => opened(String(Buffer.concat(await socket.toArray())))).listen(`${work}/opened`);

// step says what is shown next.
const step = (text) => console.log(`   ${text}`);

// passwd makes the user, at a terminal, which must not show the password.
async function passwd() {
  const child = spawn('script', ['-qec', `'${bin}/mcp-server' passwd '${users}' ada`, '/dev/null']);
  let screen = '', asked = 0;
  child.stdout.on('data', (data) => {
    screen += data;
    const prompts = screen.match(/(Password|Again): /g)?.length ?? 0;
    for (; asked < prompts; asked++) child.stdin.write(password + '\n');
  });
  assert.equal(await new Promise((done) => child.on('close', done)), 0, screen);
  assert.equal(screen.replaceAll('\r', ''), 'Password: \nAgain: \n');
  assert.equal(statSync(users).mode & 0o777, 0o600);
}

// serve starts the server, whose tokens live so long, and returns its URL, and what ends it.
async function serve(port, lifetime) {
  const child = spawn(`${bin}/mcp-server`, ['-v', '-http', `127.0.0.1:${port}`, '-auth', users, '-token-lifetime', lifetime, folder]);
  process.on('exit', () => child.kill());
  let log = '';
  const url = await new Promise((done) => child.stderr.on('data', (data) => {
    printed.push(String(data));
    log += data;
    const at = log.match(/serving at (\S+)\n/);
    if (at) done(at[1]);
  }));
  const stop = async () => {
    child.kill();
    assert.equal(await new Promise((done) => child.on('close', done)), 0, 'the server ends well');
  };
  return { url, stop };
}

// client runs mcp-client; person gets the page that is opened, undefined: none may be.
async function client(args, { code = 0, person } = {}) {
  const child = spawn(`${bin}/mcp-client`, ['-yes', '-trace', ...args], {
    env: { ...process.env, PATH: `${work}/bin:${process.env.PATH}`, XDG_CONFIG_HOME: config }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '', stderr = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const ended = new Promise((done) => child.on('close', done));
  if (person) {
    const url = await Promise.race([new Promise((done) => (opened = done)), ended.then(() => assert.fail(`it opened no browser:\n${stderr}`))]);
    opened = () => assert.fail('the browser was opened again');
    assert.ok(stderr.includes(url), 'the URL is on stderr, too');
    await person(url);
  }
  assert.equal(await ended, code, `${args.join(' ')}:\n${stdout}\n${stderr}`);
  opened = () => assert.fail('the browser was opened');
  printed.push(stdout, stderr);
  return { stdout, stderr };
}

// token returns the access token that is stored.
function token() {
  const dir = `${config}/mcp-client/tokens`;
  assert.equal(statSync(dir).mode & 0o777, 0o700);
  for (const name of readdirSync(dir)) {
    assert.equal(statSync(`${dir}/${name}`).mode & 0o777, 0o600);
    const record = JSON.parse(readFileSync(`${dir}/${name}`));
    for (const member of ['access_token', 'refresh_token']) if (record[member]) secrets.add(record[member]);
    if (record.access_token) return record.access_token;
  }
}

// status is what the server says to a request with a token.
async function status(url, token) {
  const r = await fetch(url, {
    method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Authorization: `Bearer ${token}` },
  });
  await r.text();
  return r.status;
}

const browser = await Chromium.start(`${work}/chromium`);
process.on('exit', () => browser.kill());

// page looks at the page from all sides: it has the heading, and can be used by everybody.
async function page(name, heading) {
  const text = await browser.evaluate(`document.querySelector('h1')?.textContent`);
  assert.match(text ?? '', heading, name);
  for (const [width, height] of [[390, 844], [1280, 800]]) for (const scheme of ['light', 'dark']) {
    const picture = await browser.look(width, height, scheme);
    if (shots) writeFileSync(`${shots}/${name}-${width}-${scheme}.png`, picture);
    const faults = await browser.evaluate(`(${findFaults})()`);
    assert.deepEqual(faults, [], `${name} at ${width}, ${scheme}`);
  }
  const { nodes } = await browser.send('Accessibility.getFullAXTree');
  for (const n of nodes) if (['textbox', 'button'].includes(n.role?.value)) assert.ok(n.name?.value, `${name}: a ${n.role.value} without a name`);
}

// findFaults runs in the page.
function findFaults() {
  const faults = [];
  const fault = (bad, text) => bad && faults.push(text);
  fault(!document.documentElement.lang, 'no language');
  fault(!document.title, 'no title');
  fault(document.querySelectorAll('h1').length !== 1, 'not one heading');
  fault(document.querySelectorAll('main').length !== 1, 'not one main part');
  fault(document.scripts.length, 'scripts');
  fault(document.documentElement.scrollWidth > innerWidth, `wider than the window: ${document.documentElement.scrollWidth}`);
  const channel = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (color) => {
    const c = document.createElement('canvas').getContext('2d');
    c.fillStyle = color;
    c.fillRect(0, 0, 1, 1);
    const [r, g, b] = c.getImageData(0, 0, 1, 1).data;
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  };
  const shown = (e) => (e ? getComputedStyle(e).backgroundColor : 'Canvas');
  const behind = (e) => (shown(e) === 'rgba(0, 0, 0, 0)' ? behind(e.parentElement) : shown(e));
  const probe = document.body.appendChild(document.createElement('i'));
  for (const e of document.querySelectorAll('h1, h2, p, dt, dd, li, small, label, button, input:not([type=hidden])')) {
    probe.style.color = behind(e);
    const [a, b] = [light(getComputedStyle(e).color), light(getComputedStyle(probe).color)];
    fault((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5, `little contrast: ${e.textContent}`);
    fault(parseFloat(getComputedStyle(e).fontSize) < 12, `small text: ${e.textContent}`);
  }
  probe.remove();
  for (const e of document.querySelectorAll('button, input:not([type=hidden])')) fault(e.getBoundingClientRect().height < 40, `low: ${e.name}`);
  return faults;
}

// signIn fills in the form, with the keyboard alone.
async function signIn(word) {
  if ((await browser.evaluate(`document.activeElement.id`)) === 'name') {
    await browser.evaluate(`document.activeElement.select()`);
    await browser.type('ada');
    await browser.press('Tab');
  }
  assert.equal(await browser.evaluate(`document.activeElement.id`), 'password');
  await browser.type(word);
  await browser.leaving(() => browser.press('Enter'));
}

// decide presses a button of the consent page.
const decide = (label) => browser.leaving(() => browser.evaluate(`[...document.querySelectorAll('button')].find((b) => b.textContent === '${label}').click()`));

step('a user is made, at a terminal');
await passwd();
let server = await serve(0, '4s');
const { url } = server, origin = url.replace(/\/mcp$/, '');

step('the person types a wrong password, then the right one, and says no');
const no = await client(['call', 'read_file', 'path=a.txt', url], { code: 4, person: async (at) => {
  await browser.visit(at);
  await page('login', /^Sign in$/);
  await signIn('a wrong password');
  await page('login-wrong', /^Sign in$/);
  await signIn(password);
  await page('consent', /^Allow “mcp-client” to use http:\/\/localhost:\d+\/mcp\?$/);
  const text = await browser.evaluate(`document.body.innerText`);
  assert.match(text, /see, search and read the files of the folder “folder” \(files:read\)/);
  assert.match(text, /signed in as\s+ada/);
  assert.doesNotMatch(text, /files:write/);
  await decide('Cancel');
  await page('refused', /^You said no$/);
} });
assert.match(no.stderr, /access_denied/);

step('the person allows it, and the tool is called');
const allow = (name, words) => async (at) => {
  await browser.visit(at);
  assert.match(await browser.evaluate(`document.body.innerText`), words);
  await page(name, /^Allow “mcp-client”/);
  await decide('Allow');
  await page('done', /^You are logged in$/);
};
assert.equal((await client(['call', 'read_file', 'path=a.txt', url], { person: allow('consent', /files:read/) })).stdout.trim(), 'hello');

step('the token expires, and is refreshed without the person');
const first = token();
for (let i = 0; (await status(url, first)) !== 401; i++) {
  assert.ok(i < 100, 'the token never expires');
  await new Promise((done) => setTimeout(done, 100));
}
assert.equal((await client(['call', 'read_file', 'path=a.txt', url])).stdout.trim(), 'hello');
assert.notEqual(token(), first);

step('writing needs more, which the person allows');
await client(['call', 'write_file', 'path=b.txt', 'content=written', url], { person: allow('consent-more', /write, replace and delete files of the folder “folder” \(files:write\)/) });
assert.equal(readFileSync(`${folder}/b.txt`, 'utf8'), 'written');

step('the server forgets everything, and the person logs in anew');
await server.stop();
server = await serve(new URL(url).port, '1h');
await client(['call', 'read_file', 'path=a.txt', url], { person: async (at) => {
  await browser.visit(at);
  await page('login', /^Sign in$/);
  await signIn(password);
  await decide('Allow');
  await page('done', /^You are logged in$/);
} });

step('the client logs out, and its token is dead');
const last = token();
assert.notEqual(await status(url, last), 401);
await client(['logout', url]);
assert.equal(await status(url, last), 401);
assert.equal(token(), undefined);

step('the person signs out of the server');
await browser.visit(`${origin}/login`);
for (const { value } of (await browser.send('Network.getCookies')).cookies) secrets.add(value);
await page('signed-in', /^You are signed in as ada$/);
await browser.leaving(async () => {
  await browser.press('Tab');
  await browser.press('Enter');
});
await page('signed-out', /^Sign in$/);

assert.deepEqual(browser.errors, []);
for (const secret of secrets) for (const text of printed) assert.ok(!text.includes(secret), `a secret is printed: ${text}`);
assert.ok(secrets.size >= 6 && existsSync(users) && !readFileSync(users, 'utf8').includes(password));
await server.stop();
await browser.close();
console.log(`   ${secrets.size} secrets were nowhere else`);
process.exit(0);
