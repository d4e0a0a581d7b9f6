// A headless Chromium, driven over a pipe by the DevTools protocol.
import { spawn } from 'node:child_process';

export class Chromium {
  #process; #last = 0; #calls = new Map(); #waiting = new Map(); #session;
  errors = []; // what pages did that their policy forbids, and the like

  // start starts one that keeps its files in a folder.
  static async start(folder) {
    const c = new Chromium();
    c.#process = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--remote-debugging-pipe',
      `--user-data-dir=${folder}`], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    c.#process.on('exit', () => c.#calls.forEach(({ reject }) => reject(new Error('chromium ended'))));
    c.#process.stdio[3].on('error', () => {}); // it has ended
    let rest = Buffer.alloc(0);
    c.#process.stdio[4].on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      for (let i; (i = rest.indexOf(0)) >= 0; rest = rest.subarray(i + 1)) c.#take(JSON.parse(rest.subarray(0, i)));
    });
    const { targetId } = await c.send('Target.createTarget', { url: 'about:blank' });
    c.#session = (await c.send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    for (const domain of ['Page', 'Runtime', 'Log']) await c.send(`${domain}.enable`);
    return c;
  }

  // close ends it, with all its processes.
  async close() {
    const ended = new Promise((done) => this.#process.on('close', done));
    await this.send('Browser.close');
    await ended;
  }

  kill() {
    this.#process.kill();
  }

  send(method, params = {}) {
    const id = ++this.#last;
    const session = this.#session && !/^(Target|Browser)\./.test(method) ? { sessionId: this.#session } : {};
    this.#process.stdio[3].write(JSON.stringify({ id, method, params, ...session }) + '\0');
    return new Promise((resolve, reject) => this.#calls.set(id, { method, resolve, reject }));
  }

  #take(message) {
    const call = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (call) return message.error ? call.reject(new Error(`${call.method}: ${message.error.message}`)) : call.resolve(message.result);
    if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error' && message.params.entry.source !== 'network') this.errors.push(message.params.entry.text);
    this.#waiting.get(message.method)?.(message.params);
    this.#waiting.delete(message.method);
  }

  // next waits for an event of the page.
  next(event) {
    return new Promise((resolve) => this.#waiting.set(event, resolve));
  }

  // leaving does what makes the page go, and waits for the next one.
  async leaving(act) {
    const loaded = this.next('Page.loadEventFired');
    await act();
    await loaded;
  }

  visit(url) {
    return this.leaving(() => this.send('Page.navigate', { url }));
  }

  // evaluate returns the value of an expression of the page's script.
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.text}`);
    return result.value;
  }

  type(text) {
    return this.send('Input.insertText', { text });
  }

  // press presses a key: Tab, Enter or Space.
  async press(key) {
    const code = { Tab: 9, Enter: 13, Space: 32 }[key];
    const text = { Enter: '\r', Space: ' ' }[key];
    const event = { key: key === 'Space' ? ' ' : key, code: key, windowsVirtualKeyCode: code };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...event, ...(text ? { text } : {}) });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  // look shows the page in a window of a size, light or dark, and returns a picture.
  async look(width, height, scheme) {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    const { data } = await this.send('Page.captureScreenshot', { captureBeyondViewport: true });
    return Buffer.from(data, 'base64');
  }
}
