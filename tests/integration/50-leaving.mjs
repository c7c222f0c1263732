// SPDX-License-Identifier: ISC
// Callers that leave, in every state; fairness; heartbeat; back-pressure; what idle costs.
import fs from 'node:fs';
import net from 'node:net';
import { Olpd, assert, equal, finish, head, quantile, rss, sleep, test, until } from '../lib/olp.mjs';

const d = await Olpd.start({ global: 'limit runs 4\nheartbeat 1s\nlimit queue 256 per-key 128', provider: '\tlimit runs 4' });
const idle = await Olpd.start();
await idle.chat(idle.key('once'), 'say:x').end;
const a = d.key('alice', '--runs', '4');
const b = d.key('bob', '--runs', '4');

// Until no process of the key range is left; ms.
async function gone(t0) {
  while (d.clients().length > 0) {
    if (performance.now() - t0 > 3000) return 3000;
    await new Promise((r) => setImmediate(r));
  }
  return performance.now() - t0;
}

async function leaving(name, prompt, stream, when) {
  await test(`caller leaves ${name}: namespace empty, p99 at most 50 ms, outcome caller_gone`, async () => {
    const times = [];
    const before = d.lines('OLP_OUTCOME=caller_gone').length;
    for (let i = 0; i < 100; i++) {
      const c = d.chat(a, prompt, { stream });
      await when(c);
      const t0 = performance.now();
      if (i % 2) c.sock.resetAndDestroy(); else c.sock.destroy();
      times.push(await gone(t0));
    }
    console.log(`#   p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`);
    assert(quantile(times, 0.99) <= 50, `p99 ${quantile(times, 0.99)}`);
    await until('outcome lines', () => d.lines('OLP_OUTCOME=caller_gone').length === before + 100, 3000);
  });
}
await leaving('in a stream', 'say:up hang', true, (c) => c.first);
await leaving('before the first byte', 'hang', true, () => until('running', () => d.clients().length > 0));
await leaving('during a plain request', 'hang', false, () => until('running', () => d.clients().length > 0));

await test('caller leaves while queued: never starts', async () => {
  const busy = [...Array(4)].map(() => d.chat(a, 'say:up hang', { stream: true }));
  await Promise.all(busy.map((c) => c.first));
  const starts = d.lines('OLP_RUN_ID', 'start').length;
  const waiting = [...Array(5)].map(() => d.chat(a, 'say:late'));
  await sleep(200);
  for (const w of waiting) w.sock.destroy();
  await sleep(200);
  for (const c of busy) c.sock.destroy();
  await until('all gone', () => d.clients().length === 0);
  await sleep(200);
  equal(d.lines('OLP_RUN_ID', 'start').length, starts);
});

await test('fair: one request of B starts within slots + 1 starts although A queues 100', async () => {
  const as = [...Array(100)].map(() => d.chat(a, 'sleep:20 say:a'));
  await sleep(100);
  const began = () => d.log.filter((l) => / began \[/.test(l));
  const n = began().length;
  const c = d.chat(b, 'say:b');
  await c.end;
  equal(c.text, 'b');
  const at = await until('its start line', () => began().findIndex((l) => l.includes(c.headers['x-olp-request-id'])) + 1);
  console.log(`#   B began as number ${at - n} after it asked`);
  // Two more than slots + 1: the log lags behind by what is on its way.
  assert(n > 0 && at - n <= 7, `${at - n} starts`);
  const ends = await Promise.all(as.map((x) => x.end));
  equal(ends.filter((x) => x.text === 'a').length, 100);
});

await test('a full queue answers 429 with Retry-After', async () => {
  const cs = [...Array(140)].map(() => d.chat(a, 'sleep:10 say:x'));
  await Promise.all(cs.map((c) => c.end));
  const full = cs.filter((c) => c.status === 429);
  equal(cs.filter((c) => c.status === 200).length + full.length, 140);
  assert(full.length > 0 && full.every((c) => Number(c.headers['retry-after']) > 0 && c.json.error.code === 'queue_full'), `${full.length}`);
}, 90000);

await test('heartbeat: headers and a harmless chunk after silence; then the answer', async () => {
  const c = d.chat(a, 'sleep:2500 say:late', { stream: true });
  await c.ready;
  assert(!c.text && c.status === 200, 'no heartbeat before the text');
  await c.end;
  equal(c.text, 'late');
  assert(c.done && c.finish === 'stop' && c.events.every((e) => !e.bad));
});

await test('a caller that stops reading holds the client back by its pipe, and loses nothing', async () => {
  const http = d.worker('olpd-http');
  const before = rss(http);
  const prompt = `${'bytes:60000 '.repeat(300)}say:end`;
  const body = JSON.stringify({ model: 'sonnet', stream: true, messages: [{ role: 'user', content: prompt }] });
  const s = net.connect({ port: d.port, host: '127.0.0.1' });
  s.write(head('POST', '/v1/chat/completions', { Authorization: `Bearer ${a}`, 'Content-Type': 'application/json' }, body));
  s.pause();
  await sleep(2000);
  const grown = rss(http) - before;
  console.log(`#   olpd-http grew by ${grown} KB`);
  assert(grown < 2048, `${grown} KB`);
  let n = 0; let last = '';
  s.on('data', (x) => { n += x.length; last = (last + x.toString('latin1')).slice(-400); });
  s.resume();
  await new Promise((r) => { s.on('close', r); });
  assert(n > 18e6 && last.includes('[DONE]') && last.includes('"stop"'), `${n} bytes`);
});

await test('idle: at most 20 MB and 2 wake-ups a second in all', async () => {
  // Long enough without a run that the credential's egress has ended by itself.
  await until('olpd-egress ended itself', () => !idle.worker('olpd-egress'), 90000, 250);
  const ids = [idle.proc.pid, ...Object.values(idle.children()).flat()];
  const mb = ids.map(rss).reduce((x, y) => x + y, 0) / 1024;
  const switches = () => ids.map((p) => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${p}/status`, 'utf8'))[1]))
    .reduce((x, y) => x + y, 0);
  const w0 = switches();
  await sleep(10000);
  const perSecond = (switches() - w0) / 10;
  console.log(`#   ${ids.length} processes, ${mb.toFixed(1)} MB RSS, ${perSecond.toFixed(1)} wake-ups a second`);
  equal(ids.length, 3);
  assert(mb <= 20, `${mb} MB`);
  assert(perSecond <= 2, `${perSecond} wake-ups`);
}, 120000);

await d.stop();
await idle.stop();
await finish();
