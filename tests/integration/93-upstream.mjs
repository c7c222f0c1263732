// SPDX-License-Identifier: ISC
// The broker between a client and a provider that may be anybody: names that
// lead home, certificates that prove nothing, answers that are no HTTP, and
// more than anyone can hold.
import fs from 'node:fs';
import { Olpd, assert, equal, finish, quantile, rss, secret, sleep, test, until } from '../lib/olp.mjs';
import { MODEL, body, req, user, wire } from '../lib/wire.mjs';
import { Dns, Upstream, cert, chunk, good, head, pour, sse } from '../lib/upstream.mjs';

const up = await Upstream.start();
const d = await Olpd.start({ model: { port: up.port }, provider: '\tlimit runs 12\n\ttimeout 20s',
  global: 'limit runs 16\nlimit queue 64 per-key 32\ntimeout first-byte 3s, idle 20s' });
const token = d.key('alice', '--runs', '12');
const table = [];
const MB = 1 << 20;
const egress = (o = d) => o.worker('olpd-egress');
const said = (o, id) => o.log.filter((l) => l.includes(id) && / provider \S+ port /.test(l)).map((l) => l.replace(/.* port \d+: /, '').replace(/ \[OLP.*/, ''));

// One answer of the provider and what becomes of it.
// code, status: the caller's; none: the client's answer counts.  client: what
// the client must and must not (not) have been sent; log: olpd-egress's word.
function answers(name, play, { code, status = 502, client, not, log, ms = 2500, o = d, u = up, setup = () => {}, asked = 1 } = {}) {
  return test(name, async () => {
    const keep = { play: u.play, tls: u.tls, secure: u.secure, raw: u.raw };
    u.play = play ?? u.play;
    setup(u);
    try {
      const before = u.requests.length;
      const tail = code ? 'no-stop exit:1' : 'say:fine';
      const t = o === d ? token : o.token;
      const s = o.chat(t, `tcp tx:${wire(req({}))} rx:4000 ${tail}`, { stream: true, ms: 30000 });
      await s.end;
      const p = o.chat(t, `tcp tx:${wire(req({}))} rx:4000 ${tail}`, { ms: 30000 });
      await p.end;
      const why = said(o, s.headers['x-olp-request-id']);
      table.push({ name, client: /<(?:HTTP\/1\.1%20(\d+))?/.exec(s.text)?.[1] ?? 'ended', caller: `${p.status} ${p.fault?.code ?? p.finish}`, ms: s.ms, reason: why[0] ?? '' });
      equal(`${p.status} ${p.fault?.code ?? p.finish}`, code ? `${status} ${code}` : '200 stop', `plain (${why[0]})`);
      equal(s.fault?.code ?? s.finish, code ?? 'stop', 'stream');
      equal(u.requests.length - before, 2 * asked, 'requests at the provider');
      if (log) assert(why.length && log.test(why[0]), `olpd-egress said: ${why}`);
      if (client) assert(client.test(s.text), `the client got ${s.text.slice(0, 600)}`);
      if (not) assert(!not.test(s.text), `the client got ${s.text.slice(0, 900)}`);
      assert(s.ms < ms, `${s.ms.toFixed(0)} ms`);
      equal(o.lines('OLP_WORKER=olpd-egress', 'signal').length, 0, 'olpd-egress died');
      await until('the connections to the provider end', () => u.open.size === 0, 3000);
    } finally { Object.assign(u, keep); }
  });
}

const S = (text) => (s) => s.write(text);
const E = (text) => (s) => s.end(text);

// ------------------------------------------------------------------ in order

await answers('an answer in order', S(good('hello')), { client: /hello/ });
await answers('a credential of ours only goes to the provider', (s, r) => {
  assert(r.head.includes(`x-api-key: ${secret}`) && !/olp-run/.test(r.head)); s.write(good('hello'));
}, { client: /hello/ });
await answers('an answer without a length, ended by TLS', E(head() + sse('hello')), { client: /hello.*message_stop.*eof/ });
await answers('HTTP/1.0', E(`HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${sse('hello')}`), { client: /hello/ });
await answers('cookies, organisation, place and server stay outside', S(good('hello', ['Set-Cookie: a=MARK1', 'Set-Cookie2: MARK2', 'anthropic-organization-id: MARK3',
  'anthropic-workspace-id: MARK3', 'Location: https://MARK4', 'Content-Location: /MARK4', 'cf-ray: MARK5', 'Server: MARK6', 'X-Anything: MARK7', 'Link: <MARK8>', 'Refresh: 0; url=MARK9',
  'Alt-Svc: h2="MARKa"', 'Strict-Transport-Security: MARKb', 'WWW-Authenticate: MARKc', 'Via: MARKd', 'Trailer: MARKe', 'Upgrade: h2c', 'Keep-Alive: MARKf', 'request-id: req_1'])),
{ client: /request-id/i, not: /MARK|upgrade|cookie/i });
await answers('Connection names a field: it means nothing', S(good('hello', ['Connection: close, content-type, request-id', 'request-id: req_1'])), { client: /request-id/i });
await answers('trailers stay outside', S(head(['Transfer-Encoding: chunked']) + chunk(sse('hello')) + '0\r\nrequest-id: MARK\r\nSet-Cookie: MARK\r\n\r\n'), { client: /hello/, not: /MARK/ });
await answers('chunk extensions stay outside', S(`${head(['Transfer-Encoding: chunked'])}${chunk(sse('hello')).replace('\r\n', ';x=MARK\r\n')}0;MARK\r\n\r\n`), { client: /hello/, not: /MARK/ });
await answers('more bytes than its length', S(head([`Content-Length: ${sse('hello').length}`]) + sse('hello') + 'HTTP/1.1 200 OK\r\nX: MARK\r\n\r\nMARK'), { client: /hello/, not: /MARK/ });
await answers('a second answer behind it', S(good('hello') + good('MARK')), { client: /hello/, not: /MARK/ });
await answers('8 interim answers', S(`${'HTTP/1.1 103 Early Hints\r\nLink: <MARK>\r\n\r\n'.repeat(8)}${good('hello')}`), { client: /hello/, not: /MARK/ });
await answers('figures that are none', S(head(['Transfer-Encoding: chunked', 'anthropic-ratelimit-unified-reset: 99999999999999999999999', 'Retry-After: -1'])
  + chunk(sse('hello').replace('"output_tokens":7', '"output_tokens":-7,"input_tokens":1e300,"cache_read_input_tokens":9223372036854775808')) + '0\r\n\r\n'), { client: /hello/ });

// ------------------------------------------------------------------ no HTTP

const provider = 'provider_error', cut = 'provider_cut';
for (const s of ['301 Moved', '302 Found', '303 See Other', '307 Temporary', '308 Permanent', '300 Choices', '304 Not Modified'])
  await answers(`status ${s}`, S(head([`Location: https://localhost:${up.port}/other`, 'Content-Length: 0'], s)), { code: provider, not: /location/i, log: /redirects/ });
for (const [name, text, log] of [
  ['101', head(['Upgrade: websocket', 'Connection: Upgrade'], '101 Switching'), /interim/], ['9 interim answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(9), /interim/],
  ['Content-Length and chunked', head(['Content-Length: 5', 'Transfer-Encoding: chunked']) + chunk(sse('x')), /both/],
  ['two lengths', head(['Content-Length: 5', 'Content-Length: 50']), /more than one/], ['a length of +5', head(['Content-Length: +5']), /digits/],
  ['gzip, chunked', head(['Transfer-Encoding: gzip, chunked']), /chunked alone/], ['identity', head(['Transfer-Encoding: identity']), /chunked alone/],
  ['Content-Encoding: gzip', head(['Content-Encoding: gzip', 'Transfer-Encoding: chunked']), /coding/], ['a length of 2 GB', head([`Content-Length: ${2 ** 31}`]), /too large/],
  ['status 999', head([], '999 X'), /status/], ['status 600', head([], '600 X'), /status/], ['no status', 'HTTP/1.1\r\n\r\n', /status|version/], ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n', /version/],
  ['the preface of HTTP/2', Buffer.from('000012040000000000000300000080', 'hex'), /control|CR|status/], ['SSH', 'SSH-2.0-x\r\n', /status|version/], ['HTTP/0.9', '<html></html>\r\n', /status/],
  ['a line without a colon', head(['nonsense']), /token/], ['a folded line', head(['request-id: a\r\n b']), /blank/], ['LF alone', 'HTTP/1.1 200 OK\nX: y\n\n', /LF/],
  ['a NUL in a field', head(['request-id: a\0b']), /control/], ['CR in a field', head(['request-id: a\rSet-Cookie: b']), /CR/], ['101 fields', head(Array.from({ length: 101 }, (_, i) => `x${i}: y`)), /many/]])
  await answers(`head: ${name}`, S(text), { code: provider, log });
for (const [name, text, log] of [['no hexadecimal', 'zz\r\n', /chunk size/], ['-5', '-5\r\n', /chunk size/], ['0x5', '0x5\r\n', /chunk size/], ['16 digits', 'ffffffffffffffff\r\n', /chunk size/],
  ['2 GB', '80000000\r\n', /too large/], ['shorter than its data', '2\r\nabcd\r\n', /longer/], ['an endless extension', `5;${'x'.repeat(9000)}`, /too long/], ['LF alone', '5\nhello\n', /LF/],
  ['an endless trailer', `0\r\n${'x: y\r\n'.repeat(3000)}`, /too long/]])
  await answers(`chunk: ${name}`, S(head(['Transfer-Encoding: chunked']) + chunk('data: {}\n\n') + text), { code: cut, log, client: /HTTP\/1\.1%20200/, not: /%0A0%0D%0A%0D%0A\|/ });
await answers('cut inside a chunk, by TLS', E(`${head(['Transfer-Encoding: chunked'])}ffff\r\ndata: {}\n\n`), { code: cut, log: /broke off/, not: /%0A0%0D%0A%0D%0A\|/ });
await answers('cut inside a chunk, by a reset', (s) => { s.write(`${head(['Transfer-Encoding: chunked'])}ffff\r\ndata: {}\n\n`); setTimeout(() => s.rawSocket.resetAndDestroy(), 50); },
  { code: cut, log: /broke off/ });
await answers('less than its length', E(head(['Content-Length: 5000']) + sse('x')), { code: cut, log: /broke off/ });
await answers('without a length, cut below TLS: not whole', (s) => { s.write(head() + sse('x').slice(0, 200)); setTimeout(() => s.rawSocket.destroy(), 50); },
  { code: cut, log: /broke off/, not: /%0A0%0D%0A%0D%0A\|/ });
await answers('closes without an answer', (s) => s.end(), { code: cut, log: /without an answer/ });
await answers('closes in its head', E('HTTP/1.1 200 OK\r\nContent-Ty'), { code: cut, log: /without an answer/ });
await answers('a stream that ends in order but says no end', S(head(['Transfer-Encoding: chunked']) + chunk('data: {"type":"ping"}\n\n') + '0\r\n\r\n'), { code: cut });

// ------------------------------------------------------------ time and amount

await answers('no head ever', () => {}, { code: 'first_byte_timeout', status: 504, ms: 4500 });
await answers('no handshake ever', null, { code: 'first_byte_timeout', status: 504, ms: 4500, asked: 0, setup: (u) => { u.raw = () => {}; } });
await answers('a head of a byte each 100 ms', (s) => { let i = 0; const h = head(['X: '.padEnd(2000, 'y')]); const t = setInterval(() => (i < h.length && !s.destroyed ? s.write(h[i++]) : clearInterval(t)), 100); },
  { code: 'first_byte_timeout', status: 504, ms: 4500 });
let sent = {};
await answers('a head of 100 MB in one field', (s) => { s.write('HTTP/1.1 200 OK\r\nX: '); sent = pour(s, 'x'.repeat(65536), 100 * MB); }, { code: provider, log: /too long/ });
await answers('a head of 100 MB in many', (s) => { s.write('HTTP/1.1 200 OK\r\n'); sent = pour(s, 'x: y\r\n'.repeat(5000), 100 * MB); }, { code: provider, log: /too long|many/ });
await answers('a status line of 100 MB', (s) => { s.write('HTTP/1.1 200 '); sent = pour(s, 'x'.repeat(65536), 100 * MB); }, { code: provider, log: /too long/ });
await answers('interim answers without end', (s) => { sent = pour(s, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2000), 100 * MB); }, { code: provider, log: /interim/ });
await test('of a head of 100 MB little is taken', async () => { assert(sent.sent < 32 * MB, `${sent.sent}`); });
await answers('a body without end: comments', (s) => { s.write(head(['Transfer-Encoding: chunked'])); sent = pour(s, chunk(': x\n'.repeat(8000))); }, { code: 'first_byte_timeout', status: 504, ms: 5000 });
await answers('a body without end: one line', (s) => { s.write(head()); sent = pour(s, 'x'.repeat(65536)); }, { code: 'first_byte_timeout', status: 504, ms: 5000 });
await answers('1-byte chunks without end', (s) => { s.write(head(['Transfer-Encoding: chunked'])); sent = pour(s, '1\r\nx\r\n'.repeat(10000)); }, { code: 'first_byte_timeout', status: 504, ms: 6000 });
await answers('JSON of 30 MB', (s) => { s.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${30 * MB}\r\n\r\n`); sent = pour(s, ' '.repeat(65536), 30 * MB); }, { client: /\|314\d{5}\|eof/, ms: 8000 });
await test('olpd-egress is small after all that', async () => {
  await sleep(300);
  table.push({ name: 'after 100 MB heads and endless bodies', client: '', caller: '', ms: 0, reason: `olpd-egress has ${rss(egress())} KB` });
  assert(rss(egress()) < 24 * 1024, `${rss(egress())} KB`);
});

// A stream of another key, 20 ms a piece, through the same olpd-egress.
const other = d.key('bob', '--runs', '4');
const paced = (s, r) => {
  if (!r.text.includes('BYSTANDER')) return false;
  s.write(head(['Transfer-Encoding: chunked']));
  const t = setInterval(() => (s.destroyed ? clearInterval(t) : s.write(chunk(': tick\n'))), 20);
  return true;
};
async function beside(fn) {
  const gaps = []; let last = 0;
  const c = d.chat(other, `tcp tx:${wire(req({ body: body({ messages: user('BYSTANDER') }) }))} live`, { stream: true,
    on: (e) => { if (!e.json?.choices?.[0]?.delta?.content) return; if (last) gaps.push(e.at - last); last = e.at; } });
  await c.first;
  await sleep(500);
  const calm = gaps.length;
  await fn();
  const g = gaps.slice(calm), was = gaps.slice(0, calm);
  assert(!c.closed, 'the other stream ended');
  c.sock.destroy();
  return { n: g.length, p50: quantile(g, 0.5) ?? 9999, max: Math.max(...g), calm: quantile(was, 0.5), calmMax: Math.max(...was) };
}
const gapsOf = (g) => `other stream's gaps p50 ${g.p50.toFixed(0)} max ${g.max.toFixed(0)} ms, before ${g.calm.toFixed(0)}/${g.calmMax.toFixed(0)}`;

// TCP sockets of a namespace: ports, and bytes that wait in the kernel.
function queues(file, want) {
  try {
    return fs.readFileSync(file, 'latin1').split('\n').slice(1).filter(Boolean).map((l) => l.trim().split(/\s+/))
      .map((f) => ({ from: parseInt(f[1].split(':')[1], 16), to: parseInt(f[2].split(':')[1], 16), state: f[3],
        tx: parseInt(f[4].split(':')[0], 16), rx: parseInt(f[4].split(':')[1], 16) })).filter((q) => q.state === '01' && want(q));
  } catch { return []; }
}

await test('a body of 20 MB while another run streams', async () => {
  up.play = (s, r) => paced(s, r) || s.write(good('got'));
  const open = `{"model":"${MODEL}","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"x"}],"system":"`;
  const mem = rss(egress()); let c, top = 0;
  const g = await beside(async () => {
    const t = setInterval(() => { top = Math.max(top, rss(egress())); }, 20);
    c = d.chat(token, `say:x tcp tx:${wire(req({ body: open, length: open.length + 20 * MB + 2 }))} txn:${20 * MB}:a tx:"} rx say:fine`, { stream: true });
    await c.end;
    clearInterval(t);
  });
  equal(c.finish, 'stop', JSON.stringify(c.fault));
  assert(up.requests.at(-1).bytes > 20 * MB);
  table.push({ name: '20 MB body beside a stream', client: '200', caller: '200', ms: c.ms, reason: `${gapsOf(g)}; memory +${top - mem} KB` });
  // A busy machine gives the others their turn later; a body checked in one go would be one long gap.
  assert(g.p50 < g.calm + 80, `p50 ${g.p50}, before ${g.calm}`);
  assert(g.max < 500, `a gap of ${g.max} ms`);
  assert(top - mem < 48 * 1024, `${top - mem} KB`);
});
await test('clients that never read: the provider is held back', async () => {
  const pours = [];
  up.play = (s, r) => { if (paced(s, r)) return; s.write(head()); pours.push(pour(s, `: ${'x'.repeat(65000)}\n`)); };
  let cs, grown = 0, queued = [];
  const g = await beside(async () => {
    const mem = rss(egress());
    cs = Array.from({ length: 6 }, () => d.chat(token, `say:x tcp tx:${wire(req({}))} sleep:2500 exit:1`, { stream: true }));
    await sleep(2000);
    grown = rss(egress()) - mem;
    queued = [...queues('/proc/net/tcp', (q) => q.to === up.port && q.rx > 0).map((q) => q.rx),
      ...d.clients().flatMap((p) => queues(`/proc/${p}/net/tcp`, (q) => q.from === 3128).map((q) => q.tx))];
  });
  const took = pours.map((p) => p.sent / MB);
  table.push({ name: '6 clients that never read', client: 'held', caller: '-', ms: 2000, reason: `${gapsOf(g)}; memory +${grown} KB, in the kernel ${Math.max(...queued) >> 10} KB at most; the provider sent ${Math.max(...took).toFixed(1)} MB` });
  equal(pours.length, 6);
  assert(grown < 4 * 1024, `olpd-egress grew by ${grown} KB`);
  assert(queued.length >= 6 && Math.max(...queued) <= 512 * 1024, `in the kernel: ${queued}`);
  // 4 MB of it wait in its own socket.
  assert(Math.max(...took) < 6, `the provider could send ${Math.max(...took)} MB`);
  assert(g.max < 500, `a gap of ${g.max} ms`);
  await Promise.all(cs.map((c) => c.end));
  assert(cs.every((c) => c.fault && !c.finish), 'a part was served as success');
  await until('connections end', () => up.open.size === 0, 3000);
});
await test('100 connections of slow heads beside a stream', async () => {
  up.play = (s, r) => paced(s, r) || s.write(good('got'));
  const fds = () => fs.readdirSync(`/proc/${egress()}/fd`).length;
  const n0 = fds(); let more = 0, x;
  const g = await beside(async () => {
    const cs = [0, 1].map(() => d.chat(token, `tcp:50 ${Array.from({ length: 50 }, (_, i) => `use:${i} slow:1:POST%20/v1/mes`).join(' ')} sleep:500 exit:1`, { stream: true }));
    await sleep(700);
    more = fds() - n0;
    x = d.chat(token, `tcp tx:${wire(req({}))} rx say:fine`, { stream: true });
    await x.end;
    await Promise.all(cs.map((c) => c.end));
  });
  equal(x.finish, 'stop');
  table.push({ name: '100 slow connections of 2 runs', client: 'held', caller: '-', ms: x.ms, reason: `${gapsOf(g)}; ${more} descriptors more` });
  assert(more <= 2 * (8 + 1) + 4, `${more} descriptors`);
  assert(g.max < 500, `a gap of ${g.max} ms`);
});
up.play = (s) => s.write(good('ok'));

// ---------------------------------------------------------- who is at the end

const un = 'provider_unreachable', none = { code: un, asked: 0 };
await answers('another authority\'s certificate', null, { ...none, log: /self-signed|issuer/, setup: (u) => { u.tls = cert({ ca: 'rogue' }); } });
await answers('a certificate of yesterday', null, { ...none, log: /expired/, setup: (u) => { u.tls = cert({ days: -1 }); } });
await answers('another host\'s certificate', null, { ...none, log: /hostname|mismatch/i, setup: (u) => { u.tls = cert({ san: 'DNS:api.anthropic.com' }); } });
await answers('the name as a part of another', null, { ...none, log: /hostname|mismatch/i, setup: (u) => { u.tls = cert({ san: 'DNS:localhost.evil.test,DNS:xlocalhost' }); } });
for (const v of ['TLSv1', 'TLSv1.1'])
  await answers(`${v} only`, null, { ...none, log: /protocol|version|alert|handshake/i, setup: (u) => { u.tls = { ...cert(), minVersion: 'TLSv1', maxVersion: v, ciphers: 'DEFAULT@SECLEVEL=0' }; } });
await answers('TLSv1.2', null, { setup: (u) => { u.tls = { ...cert(), maxVersion: 'TLSv1.2' }; }, client: /ok/ });
await answers('no TLS at all', null, { ...none, log: /wrong version|packet|handshake/i, setup: (u) => { u.raw = (s) => s.write('HTTP/1.1 200 OK\r\n\r\n'); } });
await answers('closes in the handshake', null, { ...none, log: /./, setup: (u) => { u.raw = (s) => s.destroy(); } });
await test('the credential was shown to none of them', async () => {
  assert(!d.log.some((l) => l.includes(secret)), 'the secret in the log');
});
await d.stop();

// --------------------------------------------------------------------- names

const dns = await Dns.start();
const second = await Upstream.start('127.0.0.2', up.port);
const e = new Olpd({ model: { port: up.port }, global: `resolver 127.0.0.1 port ${dns.port}`, provider: '\tlimit runs 8' });
const text = Olpd.prototype.text;
e.text = function named() { return text.call(this).replace('https://localhost:', 'https://up.olpd.test:').replace('127.0.0.1, ::1', '127.0.0.1'); };
await e.prepare();
await e.launch();
e.token = e.key('alice', '--runs', '8');
const at = (...answers_) => ({ o: e, setup: () => { dns.answers = answers_; dns.asked = 0; } });

await answers('a name that leads to an allowed address', null, { ...at(['127.0.0.1']), client: /ok/ });
for (const [a, why] of [['127.0.0.2', /loopback/], ['10.0.0.1', /private/], ['192.168.1.1', /private/], ['172.16.0.1', /private/], ['169.254.169.254', /link-local/], ['100.64.0.1', /carrier/],
  ['0.0.0.0', /this host/], ['224.0.0.1', /multicast/], ['255.255.255.255', /reserved/], ['198.18.0.1', /benchmark/], ['::1', /loopback/], ['fd00::1', /private/], ['fe80::1', /link-local/],
  ['::ffff:127.0.0.2', /loopback/], ['::ffff:10.0.0.1', /private/], ['64:ff9b::7f00:2', /loopback/], ['2002:7f00:1::', /6to4/], ['::7f00:2', /reserved/], ['::', /reserved|this host/], ['2001:db8::1', /documentation/]])
  await answers(`a name that leads to ${a}`, null, { ...none, ...at([a]), log: why });
await answers('a name of both: only the allowed one is called', null, { ...at(['127.0.0.2', '10.0.0.1', '127.0.0.1']), client: /ok/ });
await test('a name that changes: each connection is judged by itself', async () => {
  dns.answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1']];
  const seen = [];
  for (let i = 0; i < 3; i++) {
    const c = e.chat(e.token, `tcp tx:${wire(req({}))} rx no-stop exit:1`); await c.end;
    seen.push(said(e, c.headers['x-olp-request-id'])[0] ?? 'connected');
  }
  equal(seen, ['connected', 'a loopback address', 'connected']);
  equal(second.conns, 0, 'connections to the private one');
});
await test('it is asked once for a connection: no second answer between check and connect', async () => {
  dns.answers = [['127.0.0.1'], ['127.0.0.2']]; dns.asked = 0;
  const c = e.chat(e.token, `tcp tx:${wire(req({}))} rx say:x`, { stream: true }); await c.end;
  equal([c.finish, dns.asked, second.conns], ['stop', 1, 0]);
});
await answers('a name without an address', null, { ...none, ...at([]), log: /no address|name resolution|known/i });
await answers('a name server that talks nonsense', null, { ...none, o: e, ms: 12000, setup: () => { dns.mangle = (q) => Buffer.concat([q.subarray(0, 2), Buffer.alloc(40, 0xff)]); } });
dns.mangle = null;
await answers('a name server that says a name points to itself', null, { ...none, o: e, ms: 12000,
  setup: () => { dns.mangle = (q) => Buffer.concat([q.subarray(0, 2), Buffer.from([0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]), q.subarray(12), Buffer.from([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 0, 0, 2, 0xc0, 12])]); } });
dns.mangle = null;
await answers('and is well again', null, { ...at(['127.0.0.1']), client: /ok/ });
await e.stop();

for (const [host, listed] of [['localhost', ''], ['127.0.0.1', ''], ['localhost', '127.0.0.2, ::2, 10.0.0.1'], ['[::1]', '127.0.0.1']]) {
  const f = new Olpd({ model: { port: up.port } });
  f.text = function unlisted() {
    return text.call(this).replace('https://localhost:', `https://${host}:`).replace(/allow address 127.0.0.1, ::1/, listed && `allow address ${listed}`);
  };
  await f.prepare();
  await f.launch();
  f.token = f.key('alice');
  await answers(`${host} where ${listed || 'nothing'} is allowed`, null, { ...none, o: f, log: /loopback/ });
  await f.stop();
}

console.log('#   the provider                                      | client | caller                      |    ms | olpd-egress says');
for (const r of table) console.log(`#   ${r.name.replace(/[^ -~]/g, '?').slice(0, 50).padEnd(50)}| ${r.client.padEnd(7)}| ${r.caller.padEnd(28)}| ${r.ms.toFixed(0).padStart(5)} | ${r.reason}`);
for (const x of [up, second, dns]) x.stop();
await finish();
