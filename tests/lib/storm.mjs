// SPDX-License-Identifier: ISC
// Workers killed and stopped under busy callers: what the callers got, what
// the journal says of each request, what is left afterwards.
import fs from 'node:fs';
import { assert, equal, pids, quantile, sleep, stat, uidOf, until } from './olp.mjs';

const field = (line, name) => new RegExp(`${name}=(\\S+?)[\\] ]`).exec(line)?.[1];
const fds = (pid) => { try { return fs.readdirSync(`/proc/${pid}/fd`).length; } catch { return -1; } };

// Half of the work goes through the broker, half to the client that answers by
// itself; half is streamed. Each prompt has a text of its own, which the
// stand-in provider sees: `tag` of the broker's half.
let serial = 0;
function work(n) {
  const tag = `t${process.pid}x${++serial}x`;
  switch (n % 4) {
    case 0: return { tag, prompt: `tag:${tag} sleep:60 http:1 say:done`, stream: true };
    case 1: return { tag, prompt: `tag:${tag} http:1 words:6 pace:15 say:done`, stream: false };
    case 2: return { tag, prompt: `tag:${tag} words:8 pace:10 say:done`, stream: true };
    default: return { prompt: `${tag} one two three four five six done`, model: 'demo', stream: serial % 2 === 0 };
  }
}

export class Storm {
  constructor(d, { callers = 16, ms = 45000, keys }) { Object.assign(this, { d, callers, ms, keys }); }

  async caller(n) {
    while (!this.over) {
      const w = work(n);
      const c = this.d.chat(this.keys[n % this.keys.length], w.prompt, { ...w, ms: this.ms });
      c.work = w;
      await c.end;
      this.done.push(c);
      if (c.status === 0) await sleep(10);
    }
  }

  // Runs f() among busy callers; what came of it all is judged.
  async run(name, f) {
    const { d } = this;
    const model = d.o.model;
    await until('everybody is there', () => ['olpd-http', 'olpd-spawn', 'olpd-egress'].every((w) => d.worker(w)), 30000);
    await model.reset();
    this.name = name; this.done = []; this.over = false;
    const before = this.count();
    const mark = d.log.length;
    const callers = [...Array(this.callers).keys()].map((n) => this.caller(n));
    try {
      await sleep(300);
      await f();
      await sleep(300);
    } finally {
      this.over = true;
      await Promise.all(callers);
    }
    // One second, and nothing of it is left.
    await sleep(1000);
    this.left = this.leftovers();
    const after = this.count();
    this.growth = {};
    for (const [w, [pid, n]] of Object.entries(before)) if (after[w]?.[0] === pid) this.growth[w] = after[w][1] - n;
    this.log = d.log.slice(mark);
    this.upstream = await model.requests();
  }

  count() {
    const c = { olpd: [this.d.proc.pid, fds(this.d.proc.pid)] };
    for (const [w, [pid]] of Object.entries(this.d.children())) c[w] = [pid, fds(pid)];
    return c;
  }

  leftovers() {
    const { d } = this;
    const left = d.clients().map((p) => `client ${p}`);
    for (const pid of pids()) {
      let t = '';
      try { t = fs.readFileSync(`/proc/${pid}/mountinfo`, 'latin1'); } catch { continue; }
      for (const m of t.matchAll(/ (\S+) \S+ .*- tmpfs .*[,]uid=(\d+)/g))
        if (Number(m[2]) >= d.lo && Number(m[2]) < d.lo + 100) left.push(`mount ${m[1]} of ${pid}`);
    }
    const at = d.lines('cgroups: ')[0]?.replace(/.*cgroups: /, '');
    if (at?.startsWith('/')) {
      const dir = `/proc/${d.proc.pid}/root${at}`;
      for (const e of fs.readdirSync(dir, { withFileTypes: true }))
        if (e.isDirectory() && e.name !== 'worker') left.push(`cgroup ${e.name}`);
    }
    return left;
  }

  outcomes() {
    const t = {};
    for (const c of this.done) {
      const k = c.error?.code === 'ECONNREFUSED' ? 'refused' : c.error?.message === 'no end of the answer' ? 'hanging'
        : c.status === 200 && c.finish === 'stop' && !c.fault ? 'answered'
          : c.status === 0 || (!c.fault && !c.complete) ? 'connection closed'
            : c.fault ? (c.status === 200 ? `in stream: ${c.fault.code}` : `${c.status} ${c.fault.code}`) : `${c.status} odd`;
      t[k] = (t[k] ?? 0) + 1;
    }
    return t;
  }

  // Every promise, by what callers, journal and provider saw. killed: the
  // worker whose connections may close without a word when it is http.
  judge(killed) {
    const t = this.outcomes();
    const is = (ok, what) => assert(ok, `${this.name}: ${what}; ${JSON.stringify(t)}`);
    is(!t.refused, 'a connection was refused');
    is(!t.hanging, 'a caller was left hanging');
    for (const k of Object.keys(t)) is(/^(answered|connection closed|502 run_lost|in stream: run_lost)$/.test(k), k);
    if (killed !== 'olpd-http') is(!t['connection closed'], 'a connection was closed without a word');
    for (const c of this.done) {
      // Nothing partial passes for an answer, and no answer is empty.
      if (c.status === 200 && c.finish === 'stop') is(c.work.model === 'demo' ? c.text.length > 0 : c.text.endsWith('done'), `answer ${c.text}`);
      if (c.fault) is(!c.finish, 'an error and a finish_reason');
    }
    const runs = this.runs();
    is(runs.together === 0, `${runs.together} requests had two runs alive at once`);
    is(runs.most <= 2, `${runs.most} starts of one request`);
    const ends = new Map();
    for (const l of this.log.filter((x) => x.includes('OLP_OUTCOME='))) {
      const id = field(l, 'OLP_REQUEST_ID');
      ends.set(id, (ends.get(id) ?? 0) + 1);
    }
    is([...ends.values()].every((n) => n === 1), 'two outcome lines of one request');
    const ids = this.done.map((c) => c.headers['x-olp-request-id']).filter(Boolean);
    if (killed !== 'olpd-http') equal(ids.filter((id) => !ends.has(id)), [], `${this.name}: requests without an outcome line`);
    // Several deltas of one client: the request it made first has the tag.
    const seen = new Map();
    for (const u of this.upstream) {
      const tag = /t\d+x\d+x/.exec(u.prompt)?.[0];
      seen.set(tag, (seen.get(tag) ?? 0) + 1);
    }
    is(!seen.has(undefined), 'an upstream request without a tag');
    is([...seen.values()].every((n) => n === 1), `two upstream requests: ${[...seen].filter(([, n]) => n > 1).map(([k, n]) => `${k}:${n}`)}`);
    is(this.left.length === 0, `left after 1 s: ${this.left.join(', ')}`);
    for (const [w, n] of Object.entries(this.growth)) is(n <= 2, `${w} has ${n} more descriptors`);
    return { t, runs, upstream: seen.size };
  }

  // Starts of each request by the journal, and whether two were alive at once.
  runs() {
    const alive = new Map(); const starts = new Map();
    let together = 0;
    for (const l of this.log) {
      if (/olpd: olpd-spawn, pid \d+: died/.test(l)) alive.clear(); // and the kernel with it all it had
      const id = field(l, 'OLP_REQUEST_ID');
      if (/olpd-spawn: run .* began \[/.test(l)) {
        if (alive.get(id)) together++;
        alive.set(id, true);
        starts.set(id, (starts.get(id) ?? 0) + 1);
      } else if (/olpd-spawn: run .* ended/.test(l)) alive.set(id, false);
    }
    const n = [...starts.values()];
    return { together, most: Math.max(0, ...n), again: n.filter((x) => x > 1).length };
  }
}

// Kills or stops one worker n times, each time until its successor is ready;
// the times of that in ms. An egress comes back when the next run needs it.
export async function each(d, name, signal, times, { wait = 25000, pause = () => 20 + Math.random() * 180 } = {}) {
  const back = [];
  for (let i = 0; i < times; i++) {
    await sleep(pause());
    const pid = await until(`${name} is there`, () => d.worker(name), wait);
    const ready = new RegExp(`${name}[^,]*, pid \\d+: ready`);
    const mark = d.log.length;
    const t0 = performance.now();
    process.kill(pid, signal);
    await until(`${name} is replaced`, () => {
      for (let k = mark; k < d.log.length; k++) if (ready.test(d.log[k]) && !d.log[k].includes(`pid ${pid}:`)) return true;
      return false;
    }, wait, 5);
    back.push(performance.now() - t0);
  }
  return back;
}

export function row(name, what, back, { t, runs, upstream }, growth) {
  const ms = (q) => quantile(back, q).toFixed(0);
  console.log(`#   ${name} ${what} x ${back.length}: back after p50 ${ms(0.5)}, p99 ${ms(0.99)} ms; `
    + `${JSON.stringify(t)}; started again ${runs.again}; upstream ${upstream}; fds ${JSON.stringify(growth)}`);
}

// Both sides of the commit point: before it a run starts again, after it never.
export async function commitPoint(d, token, model) {
  for (const [prompt, before] of [['sleep:800 http:1 say:done', true], ['http:1 say:x sleep:800 say:done', false]])
    for (const name of ['olpd-spawn', 'olpd-egress']) {
      await model.reset();
      const c = d.chat(token, prompt, { ms: 20000 });
      if (before) await until('client runs', () => d.clients().length > 0);
      else await until('request out', async () => (await model.requests()).length === 1);
      if (before) await sleep(100);
      process.kill(d.worker(name), 'SIGKILL');
      await c.end;
      const n = (await model.requests()).length;
      assert(n <= 1, `${name}: ${n} upstream requests for one request`);
      if (before) equal([c.status, c.text.includes('done'), n], [200, true, 1], `${name} before: ${c.body}`);
      else equal([c.status, c.fault?.code], [502, 'run_lost'], `${name} after: ${c.body}`);
    }
}

// The master's death takes everything with it within 1 s; a new one finds nothing left.
export async function masterDies(d, token) {
  const busy = [...Array(4)].map(() => d.chat(token, 'setsid:60000 ignore-term say:up hang', { stream: true }));
  await Promise.all(busy.map((c) => c.first));
  const all = d.all();
  const { lo } = d;
  process.kill(d.proc.pid, 'SIGKILL');
  const t0 = Date.now();
  const left = () => all.filter((p) => { const s = stat(p); return s && s.state !== 'Z'; })
    .concat(pids().filter((p) => uidOf(p) >= lo && uidOf(p) < lo + 100));
  await until('all gone', () => left().length === 0, 1000, 5);
  console.log(`#   ${all.length} processes gone ${Date.now() - t0} ms after the master`);
  await until('master reaped', () => d.exited);
  await d.launch();
  const c = d.chat(token, 'say:back');
  await c.end;
  equal(c.text, 'back');
  await until('its clients ended', () => d.clients().length === 0, 1000);
  equal(new Storm(d, {}).leftovers(), [], 'found by the new master:');
}
