// SPDX-License-Identifier: ISC
// A provider that does as a test says, byte by byte, over TLS or less; and a
// name server whose answers are queued.
import { execFileSync } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { certs } from './olp.mjs';

let serial = 0;
// A certificate for names; days may be negative, ca: another one's folder-less name.
export function cert({ san = 'DNS:localhost,IP:127.0.0.1,DNS:up.olpd.test', days = 2, ca = 'ca' } = {}) {
  const d = certs(), n = `up${++serial}`;
  const run = (...a) => execFileSync('openssl', a, { cwd: d, stdio: 'ignore' });
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  if (!fs.existsSync(path.join(d, `${ca}.pem`)))
    run('req', '-x509', ...ec, '-keyout', `${ca}.key`, '-out', `${ca}.pem`, '-days', '2', '-subj', '/CN=olpd test CA');
  run('req', ...ec, '-keyout', `${n}.key`, '-out', `${n}.req`, '-subj', '/CN=up');
  fs.writeFileSync(path.join(d, `${n}.ext`), `subjectAltName=${san}\n`);
  run('x509', '-req', '-in', `${n}.req`, '-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-out', `${n}.pem`,
    '-days', String(days), '-extfile', `${n}.ext`);
  return { key: fs.readFileSync(path.join(d, `${n}.key`)), cert: fs.readFileSync(path.join(d, `${n}.pem`)) };
}

export class Upstream {
  static async start(host = '127.0.0.1', port = 0) {
    const u = new Upstream();
    Object.assign(u, { conns: 0, requests: [], open: new Set(), tls: cert(), play: (s) => s.write(good('ok')), secure: true });
    u.server = net.createServer((raw) => u.accept(raw));
    await new Promise((yes, no) => u.server.on('error', no).listen(port, host, yes));
    u.port = u.server.address().port;
    return u;
  }

  accept(raw) {
    this.conns++;
    this.open.add(raw);
    raw.on('close', () => this.open.delete(raw)).on('error', () => {});
    raw.setNoDelay(true);
    if (this.raw) { raw.resume(); this.raw(raw); return; }
    const s = this.secure ? new tls.TLSSocket(raw, { isServer: true, ...this.tls }) : raw;
    s.on('error', () => {});
    s.rawSocket = raw;
    let head = '', body = 0, want = -1, parts = [];
    s.on('data', (b) => {
      if (want < 0) {
        head += b.toString('latin1');
        const at = head.indexOf('\r\n\r\n');
        if (at < 0) return;
        b = Buffer.from(head.slice(at + 4), 'latin1');
        head = head.slice(0, at);
        want = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      }
      if (body < 65536) parts.push(b);
      body += b.length;
      if (body < want) return;
      const r = { head, bytes: body, text: Buffer.concat(parts).toString() };
      parts = [];
      this.requests.push(r);
      this.play(s, r);
    });
  }

  stop() {
    for (const s of this.open) s.destroy();
    this.server.close();
  }
}

const event = (type, o) => `event: ${type}\ndata: ${JSON.stringify({ type, ...o })}\n\n`;
export const sse = (text) => event('message_start', { message: { model: 'm', usage: { input_tokens: 3, output_tokens: 1 } } })
  + event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
  + event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } }) + event('message_stop', {});
export const chunk = (s) => `${Buffer.byteLength(s).toString(16)}\r\n${s}\r\n`;
// An answer's head with the stream's type; fields: lines.
export const head = (fields = [], status = '200 OK') => `HTTP/1.1 ${[status, 'Content-Type: text/event-stream', ...fields].join('\r\n')}\r\n\r\n`;
export const good = (text, fields = []) => head([...fields, 'Transfer-Encoding: chunked']) + chunk(sse(text)) + chunk('').replace(/\r\n$/, '\r\n');

// Writes on and on, no faster than it is taken; gives bytes the kernel took.
export function pour(s, piece, max = Infinity) {
  const b = Buffer.from(piece);
  const t = { sent: 0, over: false };
  const more = () => {
    while (!t.over && t.sent < max) { t.sent += b.length; if (!s.write(b)) return; }
  };
  s.on('drain', more).on('close', () => { t.over = true; });
  more();
  return t;
}

// answers: for each question for A, a list of addresses; the last stays.
export class Dns {
  static async start() {
    const d = new Dns();
    Object.assign(d, { asked: 0, answers: [[]], silent: false });
    d.sock = dgram.createSocket('udp4');
    d.sock.on('message', (q, from) => d.answer(q, from));
    await new Promise((yes) => d.sock.bind(0, '127.0.0.1', yes));
    d.port = d.sock.address().port;
    return d;
  }

  answer(q, from) {
    let at = 12;
    while (q[at]) at += q[at] + 1;
    const type = q.readUInt16BE(at + 1), question = q.subarray(12, at + 5);
    if (this.silent) return;
    if (this.mangle) { this.sock.send(this.mangle(q), from.port, from.address); return; }
    let list = [];
    if (type === 1) {
      this.asked++;
      this.now = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
      list = this.now.filter((a) => net.isIPv4(a)).map((a) => Buffer.from(a.split('.').map(Number)));
    } else if (type === 28) {
      list = (this.now ?? this.answers[0]).filter((a) => net.isIPv6(a)).map(ip6);
    }
    const head = Buffer.from([q[0], q[1], 0x85, 0x80, 0, 1, 0, list.length, 0, 0, 0, 0]);
    const rr = list.map((a) => Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, a.length]), a]));
    this.sock.send(Buffer.concat([head, question, ...rr]), from.port, from.address);
  }

  stop() { this.sock.close(); }
}

function ip6(text) {
  const v4 = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  if (v4) text = v4[1] + [[v4[2], v4[3]], [v4[4], v4[5]]].map(([a, b]) => (Number(a) * 256 + Number(b)).toString(16)).join(':');
  const [a, b] = text.split('::').map((s) => (s ? s.split(':') : []));
  const w = b === undefined ? a : [...a, ...Array(8 - a.length - b.length).fill('0'), ...b];
  return Buffer.from(w.flatMap((x) => { const n = parseInt(x, 16); return [n >> 8, n & 255]; }));
}
