// SPDX-License-Identifier: ISC
// Each process but the master is killed with -9 ten times under 8 busy
// callers, then stopped; the master dies last and takes everything with it.
import { Model, Olpd, assert, equal, finish, pids, sleep, stat, test, uidOf, until } from '../lib/olp.mjs';

const model = await Model.start();
// Half of the work goes through the broker (the fake client makes a real request), half does not.
const d = await Olpd.start({ model, global: 'limit runs 8', provider: '\tlimit runs 8' });
const token = d.key('alice', '--runs', '8');
let stop = false;
const done = [];

async function caller(n) {
  for (let i = 0; !stop; i++) {
    const prompt = n % 2 ? 'sleep:30 http:1 say:done' : 'words:20 pace:10 say:done';
    const c = d.chat(token, prompt, { stream: n % 4 < 2, ms: 20000 });
    await c.end;
    done.push(c);
    if (c.status === 0) await sleep(5);
  }
}

function outcomes() {
  const t = {};
  for (const c of done) {
    const ok = c.status === 200 && c.finish === 'stop';
    const k = c.error?.code === 'ECONNREFUSED' ? 'refused' : c.error?.message === 'no end of the answer' ? 'hanging'
      : ok ? 'answered' : c.status === 0 || (!c.fault && !c.complete) ? 'connection closed'
        : c.fault ? `${c.status} ${c.fault.code}` : `${c.status} odd`;
    t[k] = (t[k] ?? 0) + 1;
  }
  return t;
}

async function storm(name, signal, times) {
  done.length = 0; stop = false;
  await model.reset();
  const callers = [...Array(8).keys()].map(caller);
  for (let i = 0; i < times; i++) {
    await sleep(150 + Math.random() * 150);
    const pid = await until(`${name} is there`, () => d.worker(name), 20000);
    process.kill(pid, signal);
    await until(`${name} is replaced`, () => d.worker(name) && d.worker(name) !== pid, 25000).catch((e) => {
      if (name !== 'olpd-egress') throw e;
    });
  }
  await sleep(300);
  stop = true;
  await Promise.all(callers);
  const t = outcomes();
  console.log(`#   ${name}, ${signal} x ${times}: ${JSON.stringify(t)}`);
  assert(!t.refused, 'a connection was refused');
  assert(!t.hanging, 'a caller was left hanging');
  for (const k of Object.keys(t)) assert(/answered|connection closed|run_lost|200 |502 /.test(k), k);
  if (name !== 'olpd-http') assert(!t['connection closed'], 'a connection was closed without a word');
  // A fake client makes one request a run; a request of a caller must not show up twice at the provider.
  const ids = d.lines('OLP_OUTCOME').map((l) => /OLP_REQUEST_ID=(\S+?)[\] ]/.exec(l)?.[1]);
  equal(ids.length, new Set(ids).size, 'outcome lines and request ids:');
  await until('nothing is left', () => d.clients().length === 0, 1500);
}

await test('olpd-http killed ten times', () => storm('olpd-http', 'SIGKILL', 10), 120000);
await test('olpd-spawn killed ten times', () => storm('olpd-spawn', 'SIGKILL', 10), 120000);
await test('olpd-egress killed ten times', () => storm('olpd-egress', 'SIGKILL', 10), 120000);

await test('the commit point: before it a run starts again, after it never', async () => {
  for (const [prompt, ok] of [['sleep:800 http:1 say:done', true], ['http:1 say:x sleep:800 say:done', false]])
    for (const name of ['olpd-spawn', 'olpd-egress']) {
      await model.reset();
      const c = d.chat(token, prompt, { ms: 20000 });
      if (ok) await until('client runs', () => d.clients().length > 0);
      else await until('request out', async () => (await model.requests()).length === 1);
      if (ok) await sleep(100);
      process.kill(d.worker(name), 'SIGKILL');
      await c.end;
      const n = (await model.requests()).length;
      assert(n <= 1, `${name}: ${n} upstream requests for one request`);
      if (ok) equal([c.status, c.text.includes('done'), n], [200, true, 1], `${name} before: ${c.body}`);
      else equal([c.status, c.fault?.code], [502, 'run_lost'], `${name} after: ${c.body}`);
    }
}, 60000);

await test('a stopped worker is a dead one', async () => {
  for (const name of ['olpd-http', 'olpd-spawn']) {
    const pid = d.worker(name);
    process.kill(pid, 'SIGSTOP');
    const t0 = Date.now();
    await until('replaced', () => d.worker(name) && d.worker(name) !== pid, 25000, 50);
    console.log(`#   ${name} stopped: replaced after ${((Date.now() - t0) / 1000).toFixed(1)} s`);
    const c = d.chat(token, 'say:again', { ms: 10000 });
    await c.end;
    equal(c.text, 'again');
  }
}, 90000);

await test('the master\'s death takes everything with it within 1 s; a new one finds nothing left', async () => {
  const busy = [...Array(4)].map(() => d.chat(token, 'setsid:60000 ignore-term say:up hang', { stream: true }));
  await Promise.all(busy.map((c) => c.first));
  const all = d.all();
  const { lo } = d;
  process.kill(d.proc.pid, 'SIGKILL');
  const t0 = Date.now();
  const left = () => all.filter((p) => { const s = stat(p); return s && s.state !== 'Z'; })
    .concat(pids().filter((p) => uidOf(p) >= lo && uidOf(p) < lo + 100));
  await until('all gone', () => left().length === 0, 1000, 5);
  console.log(`#   ${all.length} processes gone after ${Date.now() - t0} ms`);
  await until('master reaped', () => d.exited);
  await d.launch();
  const c = d.chat(token, 'say:back');
  await c.end;
  equal(c.text, 'back');
}, 60000);

await d.stop();
await finish();
