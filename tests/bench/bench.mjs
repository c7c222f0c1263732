// SPDX-License-Identifier: ISC
// The table of DESIGN.md section 12 as far as it reaches without ready clients
// and cache: olpd with its product settings against floors taken in the same
// run. Only the ratios of one run mean anything; a busy machine makes all of it
// slower. On request: tests/check bench. OLP_BENCH_STREAMS sets the streams held.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { Model, Olpd, asRoot, assert, build, finish, head, quantile, rss, sleep, stat, test, until, pids, uidOf } from '../lib/olp.mjs';

const streams = Number(process.env.OLP_BENCH_STREAMS ?? 200);
const stub = path.join(build, 'tests/bench/bench-stub');
// Figures in us, one a line, from a program of this folder.
const measure = async (name, ...args) => (await promisify(execFile)(path.join(build, 'tests/bench', `bench-${name}`), args.map(String), { maxBuffer: 1 << 26 }))
  .stdout.trim().split('\n').filter(Boolean).map((x) => Number(x) / 1000);
const rows = [];
const note = (what, got, must, aim) => { rows.push([what, got, must, aim]); console.log(`#   ${what}: ${got} (must ${must}, aim ${aim})`); };
const ms = (x) => (x < 10 ? x.toFixed(2) : x.toFixed(0));
const pp = (v) => `p50 ${ms(quantile(v, 0.5))} ms, p99 ${ms(quantile(v, 0.99))} ms`;
const us = () => Number(process.hrtime.bigint() / 1000n);

const model = await Model.start();
const global = `limit runs ${streams + 24}\nlimit connections ${streams * 2 + 200}\nlimit queue 1024 per-key 1024\nhome size 1MB inodes 64`;
const make = async (o = {}) => {
  const d = new Olpd({ model, global, provider: `\tlimit runs ${streams + 24}`, more: 'model "demo" { chain demo "demo" }\n', ...o });
  await d.prepare();
  d.writeConf(d.text().replace('provider demo {}', `provider demo { command "${stub}" limit runs ${streams + 24} }`));
  return d;
};
const d = await make();
await d.launch();
const token = d.key('bench', '--runs', String(streams + 24));
const demo = (prompt, o = {}) => d.chat(token, prompt, { model: 'demo', ms: 120000, ...o });
const procs = (x = d) => [x.proc.pid, ...Object.values(x.children()).flat()];
const sum = (x = d) => procs(x).map(rss).reduce((a, b) => a + b, 0) / 1024;

// A request when the last one's run is gone, 20 ms later: what the kernel still
// takes away would be counted as ours.
let run = NaN;
await test('own share of a plain answer, c=1', async () => {
  const body = JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'twenty words' }] });
  const all = { olpd: [], floor: [], models: [] };
  for (let round = 0; round < 5; round++) {
    all.models.push(...await measure('ask', 20, 20, d.port, token, '/v1/models'));
    all.olpd.push(...await measure('ask', 20, 20, d.port, token, '/v1/chat/completions', body));
    if (asRoot) all.floor.push(...await measure('floor', 20, 20, path.join(build, 'libexec/olpd'), stub, d.lo + 90, 'twenty words'));
  }
  for (const f of fs.readdirSync('/tmp').filter((x) => x.startsWith('bench-floor.'))) fs.rmdirSync(`/tmp/${f}`);
  const [a, b] = [quantile(all.olpd, 0.5), asRoot ? (run = quantile(all.floor, 0.5)) : NaN];
  console.log(`#   olpd ${pp(all.olpd)}; bwrap + shim + stub by hand ${asRoot ? pp(all.floor) : 'needs root'}; /v1/models ${pp(all.models)}`);
  note('olpd\'s own share, c=1, p50', `${ms(a - b)} ms, ${(a / b).toFixed(2)} x the floor`, '<= 1.0 ms', '<= 0.4 ms');
}, 120000);

await test('first content after the client\'s first delta; token transit', async () => {
  const first = [];
  for (let i = 0; i < 40; i++) {
    let age = 0;
    const c = demo('stamps 2 5', { stream: true, on: (e) => {
      const t = Number(e.json?.choices?.[0]?.delta?.content);
      if (t) age ||= (us() - t) / 1000;
    } });
    await c.end;
    first.push(age);
  }
  note('first content after the client\'s first delta, c=1', pp(first), '<= 5 ms', '<= 1 ms');
  const args = [streams, Math.ceil(20 + streams / 10), 500];
  const through = await measure('stamps', ...args, d.port, token);
  const bare = await measure('stamps', ...args, 'pipe', stub);
  assert(through.length > 1000 && bare.length > 1000, `${through.length} and ${bare.length} texts`);
  note(`token transit, ${streams} streams`, `${pp(through)}; bare pipes ${pp(bare)}`, '0.2 / 3 ms at 500', '0.1 / 0.5 ms');
}, 240000);

await test(`${streams} held streams, then callers that leave`, async () => {
  const before = sum();
  const cs = [];
  for (let i = 0; i < streams; i++) {
    cs.push(demo('hold', { stream: true }));
    if (i % 16 === 15) await cs.at(-1).first;
  }
  await Promise.all(cs.map((c) => c.first));
  assert(cs.every((c) => c.status === 200), 'not all of them stream');
  const held = sum();
  note(`${streams} held streams, RSS of all olpd processes`, `${held.toFixed(1)} MB (idle ${before.toFixed(1)}); ${((held - before) * 1024 / streams).toFixed(1)} KB each`,
    '<= 20 MB at 500', '<= 10 MB');
  const t0 = performance.now();
  for (const c of cs) c.sock.destroy();
  await until('all gone', () => d.clients().length === 0, 20000, 5);
  console.log(`#   all ${streams} left at once: namespaces empty after ${ms(performance.now() - t0)} ms`);
}, 180000);

await test('a client that stops reading', async () => {
  const http = d.worker('olpd-http');
  const before = rss(http);
  const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'flood 64' }] });
  const socks = [...Array(10)].map(() => {
    const s = net.connect(d.port, '127.0.0.1');
    s.on('error', () => {});
    s.write(head('POST', '/v1/chat/completions', { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body));
    s.pause();
    return s;
  });
  await sleep(2500);
  const grown = rss(http) - before;
  const running = d.clients().length;
  for (const s of socks) s.destroy();
  note('a client that stops reading (10 of them, 64 MB each)', `${(grown / 10).toFixed(0)} KB each; clients held back: ${running > 0}`, '<= 512 KB', '<= 128 KB');
  await until('all gone', () => d.clients().length === 0, 5000);
});

await test('caller gone, namespace empty', async () => {
  const all = [];
  const uid = JSON.parse(d.ctl('key', 'show', 'bench', '--json').out).uid;
  for (const [name, stream, prompt] of [['streaming', true, 'hold'], ['buffered', false, 'hold']]) {
    const times = [];
    for (let i = 0; i < 40; i++) {
      const c = demo(prompt, { stream });
      if (stream) await c.first;
      let mine = [];
      await until('it runs', () => (mine = pids().filter((p) => uidOf(p) === uid)).length > 0, 10000, 2);
      const t0 = performance.now();
      c.sock.destroy();
      while (mine.some((p) => stat(p))) await new Promise((r) => { setImmediate(r); });
      times.push(performance.now() - t0);
    }
    console.log(`#   ${name}: ${pp(times)}`);
    all.push(...times);
  }
  note('caller gone: namespace empty, p99', `${ms(quantile(all, 0.99))} ms (p50 ${ms(quantile(all, 0.5))})`, '<= 50 ms', '<= 5 ms');
}, 60000);

await test('kill -9 of each process: service again', async () => {
  const worst = [];
  const warm = d.chat(token, 'http:1 say:x'); await warm.end;
  for (const name of ['olpd-http', 'olpd-spawn', 'olpd-egress']) {
    const times = [];
    for (let i = 0; i < 8; i++) {
      await until('it is there', async () => d.worker(name) || (await d.chat(token, 'http:1 say:x').end, false), 10000);
      await sleep(1200); // so that this is no second death
      const held = name === 'olpd-egress' ? null : demo('hold', { stream: true });
      await held?.first;
      const t0 = performance.now();
      process.kill(d.worker(name), 'SIGKILL');
      for (;;) {
        const c = name === 'olpd-egress' ? d.chat(token, 'http:1 say:x') : demo('twenty words');
        await c.end;
        if (c.status === 200) break;
      }
      times.push(performance.now() - t0);
      await sleep(1000 - Math.min(1000, performance.now() - t0));
      assert(d.clients().length === 0, 'clients are left after 1 s');
      worst.push(times.at(-1));
    }
    console.log(`#   ${name}: a new request answered after ${pp(times)}`);
  }
  note('kill -9 of any process: clients left after 1 s; service again', `0; ${pp(worst)}`, '0; <= 1 s', '0; <= 100 ms');
}, 120000);
await d.stop();

await test('start to first answer; idle', async () => {
  const times = [];
  const e = await make({ global: '' });
  e.writeConf(e.text().replace('provider demo {}', `provider demo { command "${stub}" }`));
  const t = e.key('one');
  for (let i = 0; i < 8; i++) {
    const t0 = performance.now();
    await e.launch({ wait: false });
    for (;;) {
      const c = e.chat(t, 'twenty words', { model: 'demo' });
      await c.end;
      if (c.status === 200) break;
      await sleep(1);
    }
    times.push(performance.now() - t0);
    if (i === 7) break;
    e.proc.kill('SIGTERM');
    await until('it ends', () => e.exited);
  }
  note('start to first answer', `${pp(times)}; ${(quantile(times, 0.5) / run).toFixed(1)} x one run by hand, of which it makes three`, '<= 100 ms', '<= 40 ms');
  await sleep(3000);
  const all = procs(e);
  const switches = () => all.map((p) => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${p}/status`, 'utf8'))[1]))
    .reduce((a, b) => a + b, 0);
  const s0 = switches();
  await sleep(10000);
  note('idle: RSS of all processes, wake-ups in all', `${sum(e).toFixed(1)} MB in ${all.length} processes, ${((switches() - s0) / 10).toFixed(1)} per s`, '<= 20 MB, <= 2 per s', '<= 12 MB');
  await e.stop();
}, 90000);

console.log(`#\n# ${'measure'.padEnd(62)}  got | must | aim`);
for (const r of rows) console.log(`# ${r[0].padEnd(62)}  ${r[1]} | ${r[2]} | ${r[3]}`);
await finish();
