// SPDX-License-Identifier: ISC
// The harness of the integration tests: an olpd of its own in a temporary
// folder, a modelapi behind TLS, keys, requests by hand, a look at processes.
// Everything it starts it ends by pid; everything it makes it removes.
import { spawn, execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const build = path.resolve(process.env.OLP_BUILD ?? path.join(root, 'build'));
export const fakeCli = path.join(build, 'tests/fake-cli/fake-cli');
export const claudePath = process.env.OLP_CLAUDE ?? '';
export const asRoot = process.getuid() === 0;
export const secret = 'sk-ant-dummy-0123456789-not-a-real-one';

// How much slower than hardware this machine is: bounds on time that are no law of ours grow by it (tests/vm).
export const slow = Number(process.env.OLP_SLOW ?? 1);
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

export async function until(what, cond, ms = 5000, step = 10) {
  const end = Date.now() + ms * slow;
  for (;;) {
    const v = await cond();
    if (v) return v;
    if (Date.now() > end) throw new Error(`waited ${ms} ms for: ${what}`);
    await sleep(step);
  }
}

export function assert(cond, message) {
  if (!cond) throw new Error(message ?? 'assertion failed');
}
export function equal(got, want, message = '') {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  if (g !== w) throw new Error(`${message} got ${g?.slice(0, 400)}, want ${w?.slice(0, 400)}`.trim());
}

// ------------------------------------------------------------------ results

const results = { passed: 0, failed: 0 };
const only = process.argv[2]?.split('|'); // parts of names

export async function test(name, fn, ms = 60000) {
  if (only && !only.some((o) => name.includes(o))) return;
  const t0 = Date.now();
  let timer;
  try {
    await Promise.race([fn(), new Promise((_, no) => {
      timer = setTimeout(() => no(new Error(`still running after ${ms * slow} ms`)), ms * slow);
    })]);
    results.passed++;
    console.log(`ok - ${name} (${Date.now() - t0} ms)`);
  } catch (e) {
    results.failed++;
    console.log(`not ok - ${name}: ${e?.message ?? e}`);
    if (process.env.OLP_STACK) console.log(e?.stack);
  } finally {
    clearTimeout(timer);
  }
}

// Whatever ends this process ends what it started: by pid, and at once.
const live = new Set();
process.on('exit', () => { for (const t of live) t.proc?.kill('SIGKILL'); });
for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => process.exit(1));
export async function finish() {
  for (const thing of [...live]) await thing.stop().catch(() => {});
  console.log(`# ${results.passed} passed, ${results.failed} failed`);
  process.exit(results.failed ? 1 : 0);
}

// ----------------------------------------------------------------- machines

export function tempDir(tag = 'test') {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), `olpd-${tag}-`));
  fs.chmodSync(dir, 0o755);
  return dir;
}

export async function freePort() {
  return new Promise((yes, no) => {
    const s = net.createServer().on('error', no);
    s.listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => yes(port)); });
  });
}

let certDir;
export function certs() {
  if (certDir) return certDir;
  const d = tempDir('certs');
  const run = (...a) => execFileSync('openssl', a, { cwd: d, stdio: 'ignore' });
  run('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'ca.key',
    '-out', 'ca.pem', '-days', '2', '-subj', '/CN=olpd test CA');
  run('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key.pem', '-out',
    'req.pem', '-subj', '/CN=localhost');
  fs.writeFileSync(path.join(d, 'ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  run('x509', '-req', '-in', 'req.pem', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-out', 'cert.pem',
    '-days', '2', '-extfile', 'ext');
  fs.chmodSync(path.join(d, 'key.pem'), 0o600);
  certDir = d;
  process.on('exit', () => fs.rmSync(d, { recursive: true, force: true }));
  return d;
}

let shared;
// The stand-in for a provider, behind TLS.
export class Model {
  static async start(args = []) {
    const m = new Model();
    const c = certs();
    m.proc = spawn(process.execPath, [path.join(root, 'tests/modelapi/modelapi.mjs'), '--port', '0', '--tls-cert',
      path.join(c, 'cert.pem'), '--tls-key', path.join(c, 'key.pem'), '--ttl', '1800', ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] });
    m.port = await new Promise((yes) => m.proc.stdout.once('data', (b) => yes(Number(String(b)))));
    live.add(m);
    return m;
  }

  static shared() { return (shared ??= Model.start()); }

  get(pathname) {
    return new Promise((yes, no) => {
      import('node:https').then(({ default: https }) => https.get({ host: '127.0.0.1', port: this.port, path: pathname,
        rejectUnauthorized: false, agent: false }, (res) => {
        const parts = [];
        res.on('data', (b) => parts.push(b)).on('end', () => yes(JSON.parse(Buffer.concat(parts))));
      }).on('error', no));
    });
  }

  log() { return this.get('/_log'); }

  async requests() { return (await this.log()).filter((e) => e.kind === 'request'); }

  reset() { return this.get('/_reset'); }

  async stop() { live.delete(this); this.proc.kill('SIGKILL'); }
}

// A running olpd with its own folder, port, ids and keys.
// Key numbers of this process's instances: a hundred each, apart from those of
// suites that run at the same time.
let nextRange = (process.pid * 7) % 2000;
export class Olpd {
  constructor(o = {}) { this.o = o; }

  static async start(o = {}) {
    const d = new Olpd(o);
    await d.prepare();
    await d.launch();
    return d;
  }

  async prepare() {
    const { o } = this;
    // A provider's client without a provider behind it answers nothing.
    if (o.client !== null && o.model === undefined) o.model = await Model.shared();
    this.dir = tempDir('run');
    this.port = o.port ?? await freePort();
    this.slot = nextRange; nextRange = (nextRange + 1) % 2000;
    this.lo = 300000 + 100 * this.slot;
    fs.mkdirSync(path.join(this.dir, 'keys.d'), { mode: 0o700 });
    fs.writeFileSync(path.join(this.dir, 'cred'), `${secret}\n`, { mode: 0o600 });
    this.conf = path.join(this.dir, 'olpd.conf');
    this.writeConf();
  }

  text() {
    const { o } = this;
    const model = o.model ? `\tupstream "https://localhost:${o.model.port}" ca file "${certs()}/ca.pem" `
      + 'allow address 127.0.0.1, ::1\n' : '';
    const client = o.client === undefined ? fakeCli : o.client;
    return `${o.listen ?? `listen on 127.0.0.1 port ${this.port}`}
stop-timeout ${o.stopTimeout ?? '2s'}
state directory "${this.dir}/state"
runtime directory "${this.dir}/run"
instance "t${this.port}"
${asRoot ? `uid-range ${this.lo} to ${this.lo + 99}\nservice-ids ${600000 + 4 * this.slot}` : ''}
${o.global ?? ''}
${asRoot ? '' : 'enforcement allow partial'}
provider demo {}
${client ? `provider claude {
	command "${client}"
	credential api-key file "${this.dir}/cred"
${model}${o.provider ?? ''}
}
model "sonnet" { chain claude "claude-sonnet-4-6" }
model "die-early" { chain claude "die-early" }
` : ''}${o.more ?? ''}`;
  }

  writeConf(text = this.text()) { fs.writeFileSync(this.conf, text, { mode: 0o600 }); }

  async launch({ wait = true, ready = '/ready', program = path.join(build, 'sbin/olpd') } = {}) {
    this.log = [];
    this.exited = null;
    this.proc = spawn(program, ['-d', ...(process.env.OLP_VERBOSE ? ['-v'] : []), '-f', this.conf],
      { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
    live.add(this);
    let rest = '';
    this.proc.stderr.on('data', (b) => {
      const lines = (rest + b).split('\n');
      rest = lines.pop();
      this.log.push(...lines);
      if (process.env.OLP_LOG) for (const l of lines) console.error(l);
    });
    this.proc.on('exit', (code, signal) => { this.exited = { code, signal }; });
    if (!wait) return;
    await until('olpd is ready', async () => {
      if (this.exited) throw new Error(`olpd ended: ${JSON.stringify(this.exited)} ${this.log.slice(-5).join(' | ')}`);
      const r = await this.request({ path: ready }).catch(() => null);
      return r?.status === 200;
    }, 15000, 25);
  }

  ctl(...args) {
    const r = spawnSync(path.join(build, 'sbin/olpctl'), ['-f', this.conf, ...args], { encoding: 'utf8', timeout: 30000 });
    return { code: r.status, out: r.stdout, err: r.stderr };
  }

  key(id, ...args) {
    const has = args.some((a) => a === '--providers');
    const r = this.ctl('key', 'add', id, ...(has ? [] : ['--providers', this.o.client === null ? 'demo' : 'demo,claude']),
      '--json', ...args);
    if (r.code !== 0) throw new Error(`key add ${id}: ${r.code} ${r.err}${r.out}`);
    return JSON.parse(r.out).token;
  }

  // Log lines that hold every one of these.
  lines(...parts) { return this.log.filter((l) => parts.every((p) => l.includes(p))); }

  // One request over a socket of its own; the answer whole.
  request({ method = 'GET', path: p = '/', headers = {}, body, token, raw, ms = 60000 } = {}) {
    return new Promise((yes, no) => {
      const s = net.connect(this.port, '127.0.0.1');
      const parts = [];
      const t = setTimeout(() => { s.destroy(); no(new Error(`no answer in ${ms} ms`)); }, ms);
      s.on('error', (e) => { clearTimeout(t); no(e); });
      s.on('data', (b) => parts.push(b));
      s.on('close', () => {
        clearTimeout(t);
        try { yes(parseAnswer(Buffer.concat(parts))); } catch (e) { no(e); }
      });
      s.write(raw ?? head(method, p, { ...(token && { Authorization: `Bearer ${token}` }), ...headers }, body));
    });
  }

  // A chat request. on(event) sees each streamed event as it comes.
  chat(token, prompt, o = {}) {
    const messages = Array.isArray(prompt) ? prompt : [{ role: 'user', content: prompt }];
    const body = JSON.stringify({ model: o.model ?? 'sonnet', messages, stream: !!o.stream, ...o.extra });
    const t0 = performance.now();
    const c = { events: [], text: '', status: 0, headers: {}, done: false, error: null, closed: false };
    c.sock = net.connect(this.port, '127.0.0.1');
    c.ready = new Promise((yes) => { c.gotHead = yes; });
    c.first = new Promise((yes) => { c.gotText = yes; });
    c.end = new Promise((yes) => {
      let buf = Buffer.alloc(0); let inBody = null;
      const t = setTimeout(() => { c.error = new Error('no end of the answer'); c.sock.destroy(); }, o.ms ?? 60000);
      c.sock.on('error', (e) => { c.error ??= e; });
      c.sock.on('data', (b) => {
        buf = Buffer.concat([buf, b]);
        if (!inBody) {
          const at = buf.indexOf('\r\n\r\n');
          if (at < 0) return;
          Object.assign(c, parseHead(buf.subarray(0, at)));
          if (c.status === 100) { buf = buf.subarray(at + 4); return; }
          inBody = new Body(c.headers);
          buf = buf.subarray(at + 4);
          c.gotHead(c);
        }
        inBody.feed(buf, (e) => {
          e.at = performance.now() - t0;
          c.events.push(e);
          const d = e.json?.choices?.[0]?.delta?.content;
          if (d) { c.text += d; c.gotText(c); }
          o.on?.(e, c);
        });
        buf = Buffer.alloc(0);
      });
      c.sock.on('close', () => {
        clearTimeout(t);
        c.closed = true;
        c.ms = performance.now() - t0;
        if (inBody) {
          c.body = inBody.whole();
          c.complete = inBody.complete;
          if (!/event-stream/.test(c.headers['content-type'] ?? '')) {
            try { c.json = JSON.parse(c.body); } catch { /* not JSON */ }
            c.text = c.json?.choices?.[0]?.message?.content ?? '';
          }
        }
        c.done = c.events.some((e) => e.data === '[DONE]');
        c.finish = c.events.map((e) => e.json?.choices?.[0]?.finish_reason).find(Boolean) ?? c.json?.choices?.[0]?.finish_reason;
        c.fault = c.events.map((e) => e.json?.error).find(Boolean) ?? c.json?.error;
        c.usage = c.events.map((e) => e.json?.usage).find(Boolean) ?? c.json?.usage;
        c.gotHead(c); c.gotText(c);
        yes(c);
      });
    });
    c.sock.write(head('POST', '/v1/chat/completions', { ...(token && { Authorization: `Bearer ${token}` }),
      'Content-Type': 'application/json', ...o.headers }, body));
    return c;
  }

  // --- processes

  children() {
    const out = {};
    for (const pid of pids()) {
      const st = stat(pid);
      if (st && st.ppid === this.proc.pid) (out[st.comm] ??= []).push(pid);
    }
    return out;
  }

  worker(name) { return this.children()[name]?.[0]; }

  // Every process whose real uid is in the key range.
  clients() {
    return pids().filter((pid) => { const u = uidOf(pid); return u >= this.lo && u <= this.lo + 99; });
  }

  // Everything below olpd, clients included.
  all() {
    const tree = new Map();
    for (const pid of pids()) { const st = stat(pid); if (st) tree.set(pid, st.ppid); }
    const mine = new Set([this.proc.pid]);
    for (let grew = true; grew;) {
      grew = false;
      for (const [pid, ppid] of tree) if (!mine.has(pid) && mine.has(ppid)) { mine.add(pid); grew = true; }
    }
    mine.delete(this.proc.pid);
    return [...mine];
  }

  async stop() {
    live.delete(this);
    if (this.proc && !this.exited) {
      this.proc.kill('SIGTERM');
      await until('olpd ends', () => this.exited, 30000).catch(() => this.proc.kill('SIGKILL'));
    }
    fs.rmSync(this.dir, { recursive: true, force: true });
    return this.exited;
  }
}

// -------------------------------------------------------------------- bytes

export function head(method, p, headers, body) {
  const b = body === undefined ? null : Buffer.from(body);
  const lines = [`${method} ${p} HTTP/1.1`, 'Host: localhost', 'Connection: close'];
  for (const [k, v] of Object.entries(headers)) lines.push(`${k}: ${v}`);
  if (b && !Object.keys(headers).some((k) => k.toLowerCase() === 'content-length')) lines.push(`Content-Length: ${b.length}`);
  const h = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  return b ? Buffer.concat([h, b]) : h;
}

export function parseHead(buf) {
  const [first, ...rest] = buf.toString('latin1').split('\r\n');
  const headers = {};
  for (const l of rest) { const i = l.indexOf(':'); headers[l.slice(0, i).toLowerCase()] = l.slice(i + 1).trim(); }
  return { status: Number(first.split(' ')[1]), headers };
}

export function parseAnswer(buf) {
  let at = buf.indexOf('\r\n\r\n');
  if (at < 0) throw new Error(`no answer: ${JSON.stringify(buf.toString('latin1').slice(0, 80))}`);
  let a = parseHead(buf.subarray(0, at));
  if (a.status === 100) {
    buf = buf.subarray(at + 4);
    at = buf.indexOf('\r\n\r\n');
    a = parseHead(buf.subarray(0, at));
    a.continued = true;
  }
  const b = new Body(a.headers);
  b.feed(buf.subarray(at + 4), () => {});
  a.body = b.whole().toString();
  a.complete = b.complete;
  try { a.json = JSON.parse(a.body); } catch { /* not JSON */ }
  return a;
}

// A body by its framing; server-sent events as they come.
class Body {
  constructor(headers) {
    this.chunked = /chunked/i.test(headers['transfer-encoding'] ?? '');
    this.length = headers['content-length'] === undefined ? -1 : Number(headers['content-length']);
    this.sse = /event-stream/.test(headers['content-type'] ?? '');
    this.parts = []; this.got = 0; this.raw = Buffer.alloc(0); this.text = Buffer.alloc(0); this.complete = this.length === 0;
  }

  feed(data, on) {
    if (!this.chunked) { this.take(data, on); if (this.length >= 0 && this.got >= this.length) this.complete = true; return; }
    this.raw = Buffer.concat([this.raw, data]);
    for (;;) {
      const nl = this.raw.indexOf('\r\n');
      if (nl < 0) return;
      const n = parseInt(this.raw.subarray(0, nl).toString(), 16);
      if (this.raw.length < nl + 4 + n) return;
      if (n === 0) { this.complete = true; return; }
      this.take(this.raw.subarray(nl + 2, nl + 2 + n), on);
      this.raw = this.raw.subarray(nl + 4 + n);
    }
  }

  take(b, on) {
    this.parts.push(Buffer.from(b)); this.got += b.length;
    if (!this.sse) return;
    this.text = Buffer.concat([this.text, b]);
    for (let at; (at = this.text.indexOf('\n\n')) >= 0; this.text = this.text.subarray(at + 2)) {
      const frame = this.text.subarray(0, at).toString();
      if (!frame.startsWith('data: ') || frame.includes('\n')) { on({ data: frame, bad: true }); continue; }
      const e = { data: frame.slice(6) };
      if (e.data !== '[DONE]') { try { e.json = JSON.parse(e.data); } catch { e.bad = true; } }
      on(e);
    }
  }

  whole() { return Buffer.concat(this.parts); }
}

// ---------------------------------------------------------------- processes

export function pids() { return fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n)).map(Number); }

export function stat(pid) {
  try {
    const t = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    const close = t.lastIndexOf(')');
    const f = t.slice(close + 2).split(' ');
    return { comm: t.slice(t.indexOf('(') + 1, close), state: f[0], ppid: Number(f[1]) };
  } catch { return null; }
}

export function uidOf(pid) {
  try { return Number(/^Uid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))[1]); } catch { return -1; }
}

export function rss(pid, field = 'VmRSS') {
  try { return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))[1]); } catch { return 0; }
}

// By nearest rank: of a hundred the 99th, so that one hiccup of the machine is not the p99.
export function quantile(values, q) {
  const v = [...values].sort((a, b) => a - b);
  return v[Math.max(0, Math.ceil(q * v.length) - 1)];
}
