// SPDX-License-Identifier: ISC
// An installed olpd in which one program is replaced by a hostile one, and
// what its puppet (tests/hostile/as-http.c) needs: bytes of messages.
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { build, fakeCli, root, tempDir, until } from './olp.mjs';

// A copy of the build's sbin and libexec; `name` in it is tests/hostile/`by`,
// and the demo client the scripted one, which can be told to wait.
export function treeWith(name, by) {
  const dir = tempDir('tree');
  for (const sub of ['sbin', 'libexec/olpd']) {
    fs.mkdirSync(path.join(dir, sub), { recursive: true });
    for (const f of fs.readdirSync(path.join(build, sub))) fs.copyFileSync(path.join(build, sub, f), path.join(dir, sub, f));
  }
  fs.copyFileSync(path.join(build, 'tests/hostile', by), path.join(dir, 'libexec/olpd', name));
  fs.copyFileSync(fakeCli, path.join(dir, 'libexec/olpd/olp-demo'));
  process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
  return path.join(dir, 'sbin/olpd');
}

// The table a position's program prints, when it has come to its end.
export async function table(d) {
  await until('the position was tried', () => d.lines('hostile done=').length > 0, 30000);
  return Object.fromEntries(d.lines('hostile ').map((l) => /hostile (\S+)=(\S+)/.exec(l).slice(1)));
}

// ------------------------------------------------------------------ messages

const read = (f) => fs.readFileSync(path.join(root, f), 'utf8');
export const errors = [...read('proto/err.h').matchAll(/^\s+X\((ERR_\w+),/gm)].map((m) => m[1]);
export const MT = Object.fromEntries([...read('proto/msg.h').matchAll(/^\s+X\((\d+),\s+(\w+),/gm)].map((m) => [m[2], Number(m[1])]));
export const limit = (name) => Number(new RegExp(`^#define ${name}\\s+(\\d+)`, 'm').exec(read('common/limits.h'))[1]);

// msgpack, as far as our messages go: unsigned numbers, booleans, strings, bytes, arrays.
export function pack(v) {
  const u64 = (n) => { const b = Buffer.alloc(9); b[0] = 0xcf; b.writeBigUInt64BE(BigInt(n), 1); return b; };
  if (typeof v === 'bigint') return u64(v);
  if (typeof v === 'number') return v >= 0 && v < 128 ? Buffer.from([v]) : u64(v);
  if (typeof v === 'boolean') return Buffer.from([v ? 0xc3 : 0xc2]);
  if (typeof v === 'string') {
    const s = Buffer.from(v); const h = Buffer.alloc(3); h[0] = 0xda; h.writeUInt16BE(s.length, 1);
    return Buffer.concat([h, s]);
  }
  if (Buffer.isBuffer(v)) { const h = Buffer.alloc(3); h[0] = 0xc5; h.writeUInt16BE(v.length, 1); return Buffer.concat([h, v]); }
  return Buffer.concat([Buffer.from([0x90 | v.length]), ...v.map(pack)]);
}

export function unpack(buf) {
  let at = 0;
  const take = (n) => buf.subarray(at, at += n);
  const num = (n) => { let v = 0n; for (const b of take(n)) v = v * 256n + BigInt(b); return v; };
  const list = (n) => Array.from({ length: n }, () => one());
  function one() {
    const t = buf[at++];
    if (t < 0x80) return t;
    if ((t & 0xf0) === 0x90) return list(t & 15);
    if ((t & 0xe0) === 0xa0) return take(t & 31).toString();
    switch (t) {
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xcc: return Number(num(1));
      case 0xcd: return Number(num(2));
      case 0xce: return Number(num(4));
      case 0xcf: return num(8);
      case 0xd9: return take(Number(num(1))).toString();
      case 0xda: return take(Number(num(2))).toString();
      case 0xdc: return list(Number(num(2)));
      case 0xc4: return take(Number(num(1)));
      case 0xc5: return take(Number(num(2)));
      default: throw new Error(`msgpack type ${t}`);
    }
  }
  return one();
}

// -------------------------------------------------------------------- puppet

export class Puppet {
  constructor(d) { this.d = d; this.seen = []; this.run = 0; }

  // Everything worker-spawn ever told it.
  bytes() { return Buffer.concat(this.seen); }

  say(text, ms = 120000) {
    return new Promise((yes, no) => {
      const s = net.connect(this.d.port, '127.0.0.1');
      const parts = [];
      const t = setTimeout(() => { s.destroy(); no(new Error(`the puppet is silent: ${text.slice(0, 40)}`)); }, ms);
      s.on('error', (e) => { clearTimeout(t); no(e); });
      s.on('data', (b) => parts.push(b));
      s.on('close', () => { clearTimeout(t); yes(Buffer.concat(parts).toString().trim()); });
      s.write(`${text}\n`);
    });
  }

  async link() { return Number((await this.say('link', 3000).catch(() => 'link 0')).split(' ')[1]); }

  // Wired to worker-spawn by a pair newer than that.
  async wired(than = 0) {
    return until('the puppet is linked', async () => { const n = await this.link(); return n > than && n; }, 20000, 20);
  }

  send(bytes, fds = '') { return this.say(`send ${bytes.toString('hex')} ${fds}`); }

  // The next message: {type, f: fields, fds}, null after EOF, undefined when none came.
  async recv(ms = 2000, verb = 'recv') {
    const w = (await this.say(`${verb} ${ms}`)).split(' ');
    if (w[0] === 'eof') return null;
    if (w[0] !== 'msg') return undefined;
    const b = Buffer.from(w[1], 'hex');
    this.seen.push(b);
    const [type, ...f] = unpack(b);
    return { type, f, fds: Number(w[2]) };
  }

  // The next of these types; others (LOAD, POSTURE) are passed over.
  async next(types, ms = 8000, verb = 'recv') {
    const end = Date.now() + ms;
    for (;;) {
      const m = await this.recv(Math.max(1, end - Date.now()), verb);
      if (!m) return m;
      if (types.includes(m.type)) return m;
    }
  }

  async drain(ms = 150) { let m; do m = await this.recv(ms); while (m); return m; }

  auth(token, id = 1) { return pack([MT.AUTH, BigInt(id), token]); }

  // A grant, or the error's name.
  async login(token) {
    await this.send(this.auth(token));
    const m = await this.next([MT.AUTH_OK, MT.AUTH_NO]);
    if (!m) return 'no answer';
    return m.type === MT.AUTH_OK ? BigInt(m.f[1]) : errors[m.f[1]];
  }

  startBytes(o) {
    return pack([MT.RUN_START, BigInt(o.id ?? ++this.run), BigInt(o.grant), o.provider ?? 'demo', o.model ?? 'demo',
      'req_hostile', o.kind ?? 0, o.timeout ?? 20]);
  }

  // Ask for a run; "started", the error's name, or how the link ended. The run goes on.
  async start(o) {
    await this.send(this.startBytes(o), o.fds ?? 'memfd,empty,empty');
    const m = await this.next([MT.RUN_STARTED, MT.RUN_FAILED], 8000, o.verb);
    if (!m) return m === null ? 'eof' : 'no answer';
    return m.type === MT.RUN_STARTED ? 'started' : errors[m.f[1]];
  }

  // And wait for its end.
  async whole(o) {
    const r = await this.start(o);
    if (r === 'started') await this.next([MT.RUN_EXITED, MT.RUN_FAILED], 20000);
    return r;
  }
}

export const sha256 = (text) => crypto.createHash('sha256').update(text).digest();
