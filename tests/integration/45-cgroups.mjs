// SPDX-License-Identifier: ISC
// What a kernel with cgroup2's controllers bounds, asked of one that has them
// (tests/vm): memory and processes of each run and of all together, a run that
// is ended for its memory, what is left of a cgroup afterwards.
import fs from 'node:fs';
import path from 'node:path';
import { Model, Olpd, assert, equal, finish, pids, stat, test, until } from '../lib/olp.mjs';
import { limit } from '../lib/hostile.mjs';

const model = await Model.start();
const MB = 1 << 20;
const d = await Olpd.start({ model, global: 'memory-budget 1GB\nhome size 32MB\nlimit runs 8', provider: '\tmemory 128MB' });
const t = { a: d.key('a', '--runs', '4'), b: d.key('b'), owner: d.key('owner', '--tier', 'owner') };
const ask = async (token, prompt, o = {}) => { const c = d.chat(token, prompt, { ms: 120000, ...o }); await c.end; return c; };
const spawn = d.worker('olpd-spawn');

const mount = fs.readFileSync('/proc/mounts', 'latin1').split('\n').map((l) => l.split(' ')).find((l) => l[2] === 'cgroup2' && l[1].startsWith('/sys'))[1];
const top = path.join(mount, /cgroups: .*?\/cgroup(\/\S+)/.exec(d.log.find((l) => l.includes('cgroups: ')))[1]);
const of = (dir, f) => fs.readFileSync(path.join(dir, f), 'latin1').trim();
const leaves = () => fs.readdirSync(top).filter((f) => f.startsWith('run-')).map((f) => path.join(top, f));

await test('limits=cgroup is told in the answer, in /health and in the journal', async () => {
  const c = await ask(t.a, 'say:x');
  assert(/^full;.*; limits=cgroup$/.test(c.headers['x-olp-enforcement']), c.headers['x-olp-enforcement']);
  assert((await d.request({ path: '/health', token: t.owner })).body.includes('limits=cgroup'));
  assert(d.lines(c.headers['x-olp-request-id'], 'began', 'limits=cgroup').length === 1);
});

await test('a run is in a cgroup of its own with its limits, and so are all together', async () => {
  const c = d.chat(t.a, 'say:x hang', { stream: true });
  await c.first;
  equal(leaves().length, 1);
  const [leaf] = leaves();
  const got = Object.fromEntries(['memory.max', 'memory.swap.max', 'memory.oom.group', 'pids.max', 'cpu.weight'].map((f) => {
    try { return [f, of(leaf, f)]; } catch (e) { return [f, e.code]; }
  }));
  console.log(`#   ${JSON.stringify(got)}`);
  // The declared memory, and what its two folders may hold.
  equal([got['memory.max'], got['pids.max'], got['memory.oom.group']], [String(128 * MB + 2 * 32 * MB), String(limit('LIM_RUN_TASKS')), '1']);
  equal(got['memory.swap.max'] === 'ENOENT' ? '0' : got['memory.swap.max'], '0');
  const inside = of(leaf, 'cgroup.procs').split('\n').map(Number);
  for (const p of d.clients()) assert(inside.includes(p), `${p} is not in it`);
  console.log(`#   all: memory.max ${of(top, 'memory.max')} pids.max ${of(top, 'pids.max')}`);
  equal(of(top, 'memory.max'), String(1024 * MB + limit('LIM_ALL_RUNS_EXTRA') + 8 * 2 * 32 * MB));
  equal(of(top, 'pids.max'), String(8 * limit('LIM_ALL_RUNS_PIDS')));
  // worker-spawn may make leaves there and move nothing else of it.
  equal(fs.statSync(path.join(top, 'memory.max')).uid, 0, 'the owner of its limits');
  c.sock.destroy();
  await until('the cgroup is gone', () => leaves().length === 0, 3000);
});

for (const [name, prompt] of [['one process', 'alloc:400 say:alive'], ['many', 'alloc-many:20:40 say:alive'], ['with daemons', 'setsid:60000 setsid:60000 alloc:400 say:alive']])
  for (const stream of [false, true])
    await test(`out of memory by ${name}${stream ? ', after text' : ''}: that run alone is ended, and it is told`, async () => {
      const other = d.chat(t.b, 'say:first sleep:4000 say:last', { stream: true });
      const sibling = d.chat(t.a, 'say:first sleep:4000 say:last', { stream: true });
      await Promise.all([other.first, sibling.first]);
      const c = await ask(t.a, stream ? `say:text ${prompt}` : prompt, { stream });
      equal([c.status, (c.fault ?? c.json?.error)?.code, c.finish], stream ? [200, 'out_of_memory', undefined] : [502, 'out_of_memory', undefined], `${c.text} ${c.json ? c.body : ''}`);
      await until('the journal', () => d.lines(c.headers['x-olp-request-id'], 'olpd-spawn', 'out_of_memory').length === 1, 3000);
      await Promise.all([other.end, sibling.end]);
      equal([other.text, other.finish, sibling.text, sibling.finish], ['firstlast', 'stop', 'firstlast', 'stop'], 'others:');
      await until('nothing is left', () => leaves().length === 0 && d.clients().length === 0, 5000);
      console.log(`#   ${c.ms.toFixed(0)} ms`);
    }, 120000);

await test('processes of one run are bounded by its own cgroup, not by its key\'s other runs', async () => {
  const bomb = d.chat(t.a, 'fork-bomb say:over', { stream: true, ms: 100000 });
  let most = 0;
  const watch = setInterval(() => { for (const l of leaves()) try { most = Math.max(most, Number(of(l, 'pids.current'))); } catch { /* gone */ } }, 100);
  await bomb.end;
  clearInterval(watch);
  console.log(`#   ${bomb.text}; at most ${most} in a cgroup`);
  assert(/errno=EAGAIN over$/.test(bomb.text), bomb.text);
  assert(most > 100 && most <= limit('LIM_RUN_TASKS'), `${most}`);
  const c = await ask(t.a, 'forks:20 say:.');
  assert(/forks=20 errno=0/.test(c.text), c.text);
}, 120000);

await test('a home that is filled counts, and fills no more than it may', async () => {
  const c = await ask(t.a, 'fill-home say:ok');
  assert(/errno=ENOSPC ok$/.test(c.text), `${c.status} ${c.text}`);
});

await test('worker-spawn is the same, and nothing of it was ended', () => {
  equal(d.worker('olpd-spawn'), spawn);
  equal(d.lines('died').length, 0, d.lines('died')[0]);
});

await test('kill -9 of worker-spawn, then of the master: no cgroup is left, no process', async () => {
  const c = d.chat(t.a, 'say:x setsid:60000 hang', { stream: true });
  await c.first;
  process.kill(spawn, 'SIGKILL');
  await c.end;
  await until('its leaves are gone', () => d.worker('olpd-spawn') && leaves().length === 0, 5000);
  equal((await ask(t.a, 'say:again')).text, 'again');
  const e = d.chat(t.a, 'say:x setsid:60000 hang', { stream: true });
  await e.first;
  const mine = pids().filter((p) => d.all().includes(p));
  d.proc.kill('SIGKILL');
  await until('all are gone', () => d.exited && mine.every((p) => !stat(p)), 3000);
  await d.launch();
  equal(leaves(), [], 'cgroups after a new start:');
  equal((await ask(t.a, 'say:again')).text, 'again');
  await d.stop();
  assert(!fs.existsSync(top), `${top} is left`);
}, 60000);

await finish();
