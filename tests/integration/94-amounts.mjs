// SPDX-License-Identifier: ISC
// Bounds that count bytes or connections hold in memory and in time too: lines
// of many values, bodies in many pieces, connections that say nothing, an
// answer that is taken slowly. Another caller is served all the while.
import net from 'node:net';
import tls from 'node:tls';
import { Olpd, assert, certs, equal, finish, freePort, quantile, rss, sleep, slow, test, until } from '../lib/olp.mjs';

const [port, tlsPort] = [await freePort(), await freePort()];
const d = await Olpd.start({ port, global: 'limit connections 64\nlimit queue 100 per-key 100',
  listen: `listen on 127.0.0.1 port ${port}\nlisten on 127.0.0.1 port ${tlsPort} tls cert "${certs()}/cert.pem" key "${certs()}/key.pem"` });
const token = d.key('alice');
const http = d.worker('olpd-http');
const chunked = 'GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
const post = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n`;

// Waits of somebody else, while fn goes on.
async function bystander(fn) {
  const waits = [];
  let on = true;
  const loop = (async () => {
    while (on) {
      const t0 = performance.now();
      equal((await d.request({ path: '/v1/models', token })).status, 200, 'another caller');
      waits.push(performance.now() - t0);
      await sleep(5);
    }
  })();
  try { await fn(); } finally { on = false; await loop; }
  return waits;
}
const mb = (kb) => (kb / 1024).toFixed(1);

// Keep-alive, a whole answer of 5 MB taken at 60 KB/s: longer than an idle connection may live.
const slowly = (async () => {
  const body = JSON.stringify({ model: 'sonnet', messages: [{ role: 'user', content: 'bytes:5000000' }] });
  const s = net.connect({ port, host: '127.0.0.1' });
  const r = { got: 0, want: 0, head: '', t0: performance.now() };
  s.on('error', (e) => { r.ended = e.code; });
  s.on('close', () => { r.ended ??= 'closed'; });
  s.on('data', (b) => {
    if (r.want) r.got += b.length;
    else {
      r.head += b.toString('latin1');
      const at = r.head.indexOf('\r\n\r\n');
      if (at > 0) { r.want = Number(/Content-Length: (\d+)/.exec(r.head)[1]); r.got = r.head.length - at - 4; }
    }
    s.pause();
    setTimeout(() => s.resume(), b.length / 60);
  });
  s.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  while (!r.ended && (!r.want || r.got < r.want) && performance.now() - r.t0 < 150000) await sleep(100);
  s.destroy();
  r.ms = performance.now() - r.t0;
  return r;
})();

for (const [name, prompt] of [['one of 3 MB', 'values:1000000 say:x'], ['one just under the longest', 'values:5500000 say:x'], ['three of them', 'values:5500000 values:5500000 values:5500000 say:x']])
  await test(`lines of too many values, ${name}: refused before they are parsed`, async () => {
    const before = rss(http, 'VmHWM');
    let c;
    const waits = await bystander(async () => { c = d.chat(token, prompt); await c.end; });
    equal([c.status, c.json?.error?.code], [502, 'client_unexpected'], c.body);
    equal(d.worker('olpd-http'), http, 'olpd-http is the same:');
    const grown = rss(http, 'VmHWM') - before;
    console.log(`#   peak +${mb(grown)} MB; another caller waited p50 ${quantile(waits, 0.5).toFixed(1)}, at most ${Math.max(...waits).toFixed(0)} ms`);
    assert(grown < 64 * 1024, `${grown} KB`);
    assert(Math.max(...waits) < 1000 * slow, `another caller waited ${Math.max(...waits)} ms`);
  });
await test('a line of as many values as may be is read', async () => {
  const c = d.chat(token, 'values:30000 say:x'); await c.end;
  equal([c.status, c.text], [200, 'x'], c.body);
});

// In segments and in TLS records of one byte each.
const small = (connect, start, n, count) => async () => {
  const socks = [];
  for (let i = 0; i < n; i++) {
    const s = await connect();
    s.setNoDelay(true);
    s.on('error', () => {});
    s.write(start);
    socks.push(s);
  }
  await sleep(200);
  const before = rss(http);
  const waits = await bystander(async () => {
    for (let i = 0; i < count; i++) { for (const s of socks) s.write('x'); await sleep(1); }
    await sleep(200);
  });
  const grown = rss(http) - before;
  console.log(`#   ${n} x ${count} bytes: +${mb(grown)} MB; another caller waited at most ${Math.max(...waits).toFixed(0)} ms`);
  for (const s of socks) s.destroy();
  assert(grown < 4 * 1024, `${grown} KB for ${n * count} bytes`);
};
const open = () => new Promise((yes) => { const s = net.connect(port, '127.0.0.1', () => yes(s)); });
const openTls = () => new Promise((yes) => { const s = tls.connect({ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false }, () => yes(s)); });
await test('a body in pieces of one byte, with a key', small(open, post, 30, 1500), 60000);
await test('a body in TLS records of one byte, with a key', small(openTls, post, 30, 1000), 60000);
await test('an endpoint without a body takes none in chunks either', async () => {
  const r = await d.request({ raw: `${chunked}5\r\nhello\r\n0\r\n\r\n` });
  equal(r.status, 413);
});

await test('connections that say nothing, or half of a head, make room for who has something to say', async () => {
  const idle = [];
  for (let i = 0; i < 80; i++) {
    const s = net.connect(port, '127.0.0.1');
    s.on('error', () => {});
    s.write(i % 2 ? 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n' : 'GET /health HTTP/1.1\r\nHo');
    if (i % 2) await new Promise((yes) => { s.once('data', yes); s.once('close', yes); });
    idle.push(s);
  }
  await sleep(1200);
  // As many as fit are there; each new one takes the place of the oldest.
  for (let i = 0; i < 40; i++) {
    const t0 = performance.now();
    const r = await d.request({ path: '/v1/models', token });
    equal(r.status, 200, `the ${i + 1}.: ${r.body}`);
    assert(performance.now() - t0 < 1000, 'late');
    const s = net.connect(port, '127.0.0.1').on('error', () => {});
    s.write('GET /health HTTP/1.1\r\nHo');
    idle.push(s);
  }
  await until('the oldest are gone', () => idle.slice(0, 30).every((s) => s.destroyed || s.readyState !== 'open'), 3000);
  for (const s of idle) s.destroy();
});
await test('those with a request in work are never closed for that: one more is told 503', async () => {
  const busy = [];
  const k = d.key('busy', '--runs', '2');
  for (let i = 0; i < 80; i++) busy.push(d.chat(k, 'say:x sleep:1500', { stream: true }));
  await sleep(500);
  const r = await d.request({ path: '/health' });
  equal([r.status, r.json?.error?.code], [503, 'overloaded'], r.body);
  assert(busy.slice(0, 60).every((c) => !c.closed), 'one in work was closed');
  for (const c of busy) c.sock.destroy();
  await until('served again', async () => (await d.request({ path: '/health' }).catch(() => null))?.status === 200, 5000);
});

await test('a whole answer that is taken slowly, but steadily, comes to its end', async () => {
  const r = await slowly;
  console.log(`#   ${r.got} bytes in ${(r.ms / 1000).toFixed(0)} s`);
  equal(r.got, r.want, `${r.ended ?? 'open'}:`);
  assert(r.ms > 76000, 'it was not slow enough to show anything');
}, 160000);
equal(d.worker('olpd-http'), http, 'olpd-http is the same:');
await d.stop();
await finish();
